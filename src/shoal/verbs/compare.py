"""Entry point `compare`: run several algorithms on one request, and measure their losses and running times."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Unpack

from shoal._core.compiling.notices import Stopwatch, listening
from shoal._core.figures import new_axes, write_picture
from shoal._core.progress import Progress, silent
from shoal._core.validation import OneOf, validate
from shoal._core.words import number, percent
from shoal.algorithms import ALGORITHMS, PROVING, unsupported
from shoal.errors import InfeasibleError, MissingExtraError, ShoalError, UnsupportedError
from shoal.metrics import METRICS
from shoal.models.promises import check_together
from shoal.pipeline.input import convert_text, open_data
from shoal.pipeline.prepare import select_publishable_rows
from shoal.report.notebook import PRIVATE, card
from shoal.request.keywords import OF_STREAMS, request_of, takes_request
from shoal.request.request_fields import fields_in
from shoal.verbs.anonymize import anonymize
from shoal.verbs.table_warnings import warn_of_persons
from shoal.wording import sentence

if TYPE_CHECKING:
    from os import PathLike

    import polars as pl
    from matplotlib.axes import Axes

    from shoal.algorithms import Algorithm
    from shoal.findings import Remark
    from shoal.models import DifferentialPrivacy
    from shoal.release.release import Release
    from shoal.request.options import ComparedOptions
    from shoal.request.request import Request

__all__ = ["Comparison", "compare", "fitting_algorithms"]

_MARKERS = "osD^vPX*<>hp"
_SHOWN = ("stars", "suppressed_tuples", "groups", "mean_class_size", "gcp", "kl_divergence", "seconds")
"""The metrics and other figures in the displayed table."""
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison:
    """The results of several algorithms on one request, one row per algorithm.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> result = shoal.compare(
    ...     people, quasi_identifiers=["age", "gender"], sensitive="income", l=2, algorithms=["mondrian", "hilbert"]
    ... )
    >>> len(result.rows), result.loss
    (2, 'gcp')
    """

    rows: tuple[dict[str, Any], ...]
    """Per algorithm: its name, seconds, every metric of `shoal.metrics.METRICS`, groups, guarantee, lower_bound_stars
    and lower_bound_recoded_cells (lower bounds for any release; stars are avoidable under generalization, so their
    bound is 0 there), and error (the reason of a failure, or None). A release with differential privacy has published,
    the share of the records in it; its gcp counts all others as lost, and the metrics that cannot be compared with
    those of a release of all records are None."""
    loss: str = "gcp"
    """The metric on the vertical axis of the chart."""
    errors: Mapping[str, ShoalError] = field(default_factory=dict)
    """The errors of the algorithms that failed, by name."""
    warnings: tuple[Remark, ...] = ()
    """A warning if persons have several records in the table and no model protects them: it holds for every release."""

    def __repr__(self) -> str:
        # The representation names the best algorithm and its loss, without any cell.
        best = self.measured[0] if self.measured else None
        least = "" if best is None else f", least={best['algorithm']!r}, {self.loss}={best[self.loss]:.4g}"
        return f"Comparison(algorithms={len(self.rows)}{least})"

    @property
    def measured(self) -> tuple[dict[str, Any], ...]:
        """The rows of the algorithms that succeeded and have a value for the loss, the best first."""
        able = [row for row in self.rows if row["error"] is None and row[self.loss] is not None]
        # Metrics differ in direction, so each defines a badness to sort by.
        badness = METRICS[self.loss].badness
        return tuple(sorted(able, key=lambda row: (badness(row[self.loss]), row["seconds"])))

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as a dictionary."""
        warnings = [one.to_dict() for one in self.warnings]
        return {"rows": [dict(row) for row in self.rows], "loss": self.loss, "warnings": warnings}

    def to_json(self) -> str:
        """Return the comparison as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_frame(self) -> pl.DataFrame:
        """Return the comparison as a Polars frame."""
        import polars as pl

        return pl.DataFrame(list(self.rows), infer_schema_length=None)

    def columns(self) -> dict[str, list[str]]:
        """Return the comparison as display columns, keyed by their headings."""
        titles = {name: METRICS[name].heading if name in METRICS else name for name in _SHOWN}
        cells = {
            title: ["-" if row.get(name) is None else number(row[name]) for row in self.rows]
            for name, title in titles.items()
        }
        if any("published" in row for row in self.rows):
            cells["published"] = ["-" if row["error"] else percent(row.get("published", 1)) for row in self.rows]
        # The measures of analysts, if they were requested.
        measured: dict[str, Any] = next((row["utility"] for row in self.rows if "utility" in row), {})
        for name in measured:
            values = [row.get("utility", {}).get(name) for row in self.rows]
            cells[name] = ["-" if value is None else number(value) for value in values]
        # The attacks of each release; one that was not run has no rate.
        tried: dict[str, Any] = next((row["attacks"] for row in self.rows if "attacks" in row), {})
        for name in tried:
            rates = [row.get("attacks", {}).get(name, {}).get("rate") for row in self.rows]
            cells[name] = ["-" if rate is None else percent(rate) for rate in rates]
        return {"algorithm": [row["algorithm"] for row in self.rows], **cells}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the loss of each algorithm against its running time.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw into; new ones by default.

        Returns
        -------
        matplotlib Axes
        """
        ax = new_axes(7, 4.6) if ax is None else ax
        # One marker and colour per algorithm.
        for at, row in enumerate(self.measured):
            ax.plot(
                row["seconds"],
                row[self.loss],
                _MARKERS[at % len(_MARKERS)],
                color=_COLOURS[at % len(_COLOURS)],
                markersize=8,
                linestyle="none",
                label=row["algorithm"],
            )
        ax.set(xlabel="seconds", ylabel=METRICS[self.loss].title)
        if self.measured:
            ax.set_xscale("log")
            ax.set_ylim(bottom=0)
            ax.margins(x=0.1)
            # The legend stands outside the axes: labels at the points would overlap if algorithms are alike.
            ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5), title="best first")
        return ax

    def _repr_html_(self) -> str:
        """Return the HTML table for notebooks; it is for the publisher only."""
        failed = [f"{row['algorithm']}: {row['error']}" for row in self.rows if row["error"]]
        sentences = [*failed, *(one.text for one in self.warnings)]
        return card("Algorithms side by side", columns=self.columns(), sentences=sentences, private=PRIVATE)

    def save_plot(self, path: str | PathLike[str]) -> None:
        """Save the chart of loss against time as SVG or PNG, depending on the file extension."""
        write_picture(self.plot(), path)


@takes_request(without=("algorithm", *OF_STREAMS))
def compare(
    data: Any,
    request: Request | None = None,
    *,
    algorithms: Sequence[str | Algorithm] | None = None,
    loss: str = "gcp",
    utility: bool = False,
    attacks: bool = False,
    progress: Progress | None = None,
    **options: Unpack[ComparedOptions],
) -> Comparison:
    """Run several algorithms on the same request and measure what each loses.

    Parameters
    ----------
    data, request
        As for `anonymize`.
    **options
        The fields of `shoal.Request`. Differential privacy next to other models adds one more row, `safepub`, whose
        release has differential privacy alone and is made of the same columns.
    algorithms : sequence of str or Algorithm, optional
        By default every algorithm that supports the request, except those that prove an optimum; request these by name.
    loss : str
        The metric on the vertical axis of the chart, a name of `shoal.metrics.METRICS`. All metrics are computed,
        against the table before any coarsening.
    utility : bool
        Whether to measure what analysts lose as well (`Release.utility`); each row then has `utility`, with the
        values by key.
    attacks : bool
        Whether to attack each release with knowledge of the whole original table; each row then has `attacks`, with the
        rate and its interval by attack. An attack that cannot be run has no rate, and the reason in `not_measured`.
    progress : callable, optional
        Called regularly with (algorithm, done, total).

    Returns
    -------
    Comparison
        An algorithm that does not support the request, or finds no release that satisfies it, has the reason in
        `error`. All other releases were verified. Each time is that of one run, which may include compilation.

    Raises
    ------
    ParameterError
        The option does not exist.
    InfeasibleError
        No algorithm finds a release that satisfies the request.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.census(200, quasi_identifiers=["age", "gender"], seed=1)
    >>> result = shoal.compare(
    ...     table, quasi_identifiers=["age", "gender"], sensitive="income", l=2, algorithms=["mondrian", "hilbert"]
    ... )
    >>> sorted(row["algorithm"] for row in result.rows)
    ['hilbert', 'mondrian']
    """
    request = request_of(compare, request, options)
    request, sampled = _split_sampling(request)
    check_together(request.asked | {"compare"})
    _ = request.models  # reject invalid models before the table is read
    validate("compare", {"loss": loss}, {"loss": OneOf(tuple(METRICS))})
    # Read and parse the table once; every algorithm gets the same rows.
    opened = open_data(data, **request.reading)
    # Columns that are not measured play no part in the comparison.
    schema = replace(request.schema, direct_identifiers=(), insensitive=())
    schema.check_known(opened.frame.columns)
    if request.normalize:
        opened = opened.normalized(schema.quasi_identifiers + schema.sensitive)
    _, to_publish = select_publishable_rows(opened, schema, request.missing_sensitive)
    opened = convert_text(
        opened,
        schema,
        request.requirement,
        dates=request.dates,
        decimal=request.decimal,
        coarsen=request.coarsen,
        hierarchies=request.hierarchies,
        rows=to_publish,
    )
    if isinstance(algorithms, str):
        algorithms = [algorithms]
    if algorithms is None:
        algorithms = fitting_algorithms(request)
    # The table is parsed already, so the options of reading are cleared.
    read: dict[str, Any] = dict.fromkeys(fields_in("forms", "reading", "cleaning"))
    base = replace(request, engine="auto", memory=None, output=None, **read)
    runs = [replace(base, algorithm=one) for one in algorithms]
    if sampled is not None:
        # Every column is part of the classes, and nothing repeats the draw. The release itself is dropped.
        published = (*schema.quasi_identifiers, *schema.sensitive)
        # Hierarchies are for levels that it draws itself, of columns that are not coarsened.
        unlike: dict[str, Any] = dict.fromkeys(("k", "l", "t", "harmless", "seed", "sensitive"))
        drawn = request.hierarchies if sampled.level_epsilon else None
        alone: dict[str, Any] = {
            "quasi_identifiers": published,
            "privacy": sampled,
            "algorithm": "safepub",
            "keep_order": False,
            "hierarchies": drawn,
        }
        runs.append(replace(base, **unlike, **alone))
    found = [_measure(opened.frame, one, progress or silent, base, utility=utility, attacks=attacks) for one in runs]
    rows = [row for row, _ in found]
    # If no algorithm has a release, the comparison fails like `anonymize` does.
    infeasible = [error for _, error in found if isinstance(error, InfeasibleError)]
    if infeasible and all(row["error"] for row in rows):
        raise infeasible[0]
    # Each bound holds for every release of the table, so the best one is valid for all rows.
    bounds = ("lower_bound_stars", "lower_bound_recoded_cells")
    # A release with differential privacy has fewer records, and other columns.
    whole = [row for row in rows if row["error"] is None and row.get("published", 1) == 1]
    best = {name: max((row[name] for row in whole), default=None) for name in bounds}
    return Comparison(
        rows=tuple(row if row["error"] or "published" in row else row | best for row in rows),
        loss=loss,
        errors={row["algorithm"]: error for row, error in found if error is not None},
        warnings=warn_of_persons(opened, to_publish, request),
    )


def fitting_algorithms(request: Request) -> list[str]:
    """Return the names of the algorithms that support a request, except those that take long to prove an optimum."""
    request, _ = _split_sampling(request)
    # Algorithms that prove an optimum may run for minutes, so the caller must name them.
    quick = [name for name in ALGORITHMS if name not in PROVING]
    return [name for name in quick if unsupported(ALGORITHMS[name], request.requirement, request.preferences) is None]


def _split_sampling(request: Request) -> tuple[Request, DifferentialPrivacy | None]:
    """Separate differential privacy from the other models of a request, if there are others."""
    model = request.requirement.sampling
    if model is None:
        return request, None
    listed = request.privacy if isinstance(request.privacy, Sequence) else (request.privacy,)
    others = tuple(one for one in listed if one is not None and one != model)
    if not others and request.k is request.l is request.t is None:
        return request, None
    return replace(request, privacy=others or None), model


def _measure(
    frame: pl.DataFrame,
    request: Request,
    progress: Progress,
    compared: Request,
    *,
    utility: bool,
    attacks: bool,
) -> tuple[dict[str, Any], ShoalError | None]:
    """Run one algorithm, and return its row and the error if it failed."""
    name = request.algorithm if isinstance(request.algorithm, str) else request.algorithm.name

    def report_step(step: str, done: int, total: int, /) -> None:
        progress(name, done, total)

    # Only expected failures become rows of the comparison; other errors are raised.
    start, compiling = time.perf_counter(), Stopwatch()
    try:
        with listening(compiling):
            release = anonymize(frame, request, progress=report_step)
    except (UnsupportedError, InfeasibleError, MissingExtraError) as error:
        empty = dict.fromkeys(_MEASURES)
        return {"algorithm": name, "seconds": None, **empty, "error": str(error)}, error
    # A first run compiles, which is no property of the algorithm.
    seconds = time.perf_counter() - start - compiling.spent
    certificate = release.certificate
    # Metrics are those of the release; bounds and the guarantee come from its certificate.
    bound = certificate.cost.to_dict()["lower_bound"]
    sampled = request.requirement.sampling is not None
    names = compared.schema.quasi_identifiers
    measures = {
        **(_measure_sampled(release, names, frame.height) if sampled else release.metrics.totals()),
        "lower_bound_stars": None if sampled else bound["stars"],
        "lower_bound_recoded_cells": None if sampled else bound["recoded_cells"],
        "groups": certificate.achieved["groups"],
        "guarantee": sentence(certificate.guarantee.promise),
    }
    if utility:
        measures["utility"] = {one.name: one.value for one in release.utility().measures}
    if attacks:
        from shoal.verbs.compared_attacks import measure_attacks

        measures["attacks"] = measure_attacks(release, frame, compared, name)
    return {"algorithm": name, "seconds": round(seconds, 4), **measures, "error": None}, None


def _measure_sampled(release: Release, attributes: Sequence[str], rows: int) -> dict[str, Any]:
    """Compute the measures of a sample that can be compared with those of a release of all records."""
    # The penalty is that of the compared quasi-identifiers; records that were left out lose everything.
    metrics, published = release.metrics, release.data.height / rows
    columns, total = metrics.ncp, sum(metrics.ncp.values())
    share = sum(columns[name] for name in attributes) / total if total else 0
    penalty = metrics.gcp * share * len(columns) / len(attributes)
    # The other metrics are of other records or of more columns.
    return {
        **dict.fromkeys(METRICS),
        "gcp": 1 - published * (1 - penalty),
        "mean_class_size": metrics.mean_class_size,
        "published": published,
    }


_MEASURES = (
    *METRICS,
    *("lower_bound_stars", "lower_bound_recoded_cells", "groups", "guarantee"),
)
