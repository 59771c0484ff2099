"""Entry point `explore`: make releases for several requests of one table, and measure their risks and losses."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from numbers import Real
from typing import Any, Unpack

from shoal._core.progress import Progress, interruptible, silent
from shoal._core.validation import (
    Constraint,
    Integer,
    OneOf,
    RationalIn,
    exact_fraction,
    format_value,
    parameters_of,
    validate,
)
from shoal._core.words import number
from shoal._messages import Allowed
from shoal.algorithms.algorithm_list import ALGORITHMS, PROVING, unsupported
from shoal.algorithms.base import Algorithm
from shoal.errors import ColumnError, InfeasibleError, MissingExtraError, ParameterError, UnsupportedError
from shoal.hierarchy import Coarsening
from shoal.metrics import METRICS
from shoal.models import DifferentialPrivacy, KAnonymity, LDiversity, PrivacyModel
from shoal.models.counting import counting_of
from shoal.models.promises import check_together
from shoal.models.requirement import Requirement
from shoal.pipeline.input import OpenedData, open_data
from shoal.pipeline.prepare import interpret
from shoal.release.certificate import coarsenings_for_readers
from shoal.release.release import Release
from shoal.report.figures import read_figures
from shoal.request.keywords import OF_STREAMS, request_of, takes_request
from shoal.request.options import ExploreOptions
from shoal.request.request import Request
from shoal.table import Schema
from shoal.verbs.anonymize import make_release
from shoal.verbs.explore.candidate import Candidate, figures_of
from shoal.verbs.explore.exploration import Exploration, Searched
from shoal.verbs.explore.search import search_coarsenings, warn_of_persons

_USUAL = (3, 5, 10, 20, 50)
"""The default levels of k."""
_SECONDS = RationalIn(low=Fraction(0), low_included=False)
_FAILS = (InfeasibleError, UnsupportedError, MissingExtraError)
"""Errors of a single candidate, while others may have a release."""
_ONLY_MEASURED = ("resist", "epsilon")
"""Promises that a choice among several releases breaks: their releases are measured, and cannot be chosen."""


@takes_request(without=OF_STREAMS)
def explore(
    data: Any,
    request: Request | None = None,
    *,
    k: int | Sequence[int] | None = None,
    l: Real | float | Sequence[Real | float] | None = None,
    algorithms: str | Sequence[str | Algorithm] | None = None,
    coarsenings: bool | Mapping[str | tuple[str, ...], Sequence[Coarsening]] = False,
    loss: str = "gcp",
    seconds: float = 30,
    utility: bool = False,
    attacks: bool = False,
    progress: Progress | None = None,
    **options: Unpack[ExploreOptions],
) -> Exploration:
    """Make releases for several levels of protection, algorithms or coarsenings, and compare their risk and loss.

    Every release is verified, and can be taken from the result unchanged.

    Parameters
    ----------
    data, request
        As for `shoal.anonymize`.
    **options
        The fields of `shoal.Request`. The models of `privacy` hold at every level. Models with a parameter `k` or `l`
        get that of the level; if there are none, `shoal.KAnonymity` and `shoal.LDiversity` are added.
    k : int or sequence of int, optional
        Levels of k. If nothing at all is requested, they are 3, 5, 10, 20, 50.
    l : number or sequence of numbers, optional
        Levels of l; 1 means no l-diversity. Every level of k is combined with every level of l.
    algorithms : str or sequence of str or Algorithm, optional
        The algorithms to compare. "all" means every algorithm that supports the request, except those that prove an
        optimum. The default is "all" if nothing else varies and no algorithm is requested. Differential privacy next to
        other models adds one more row, `safepub`, whose release has differential privacy alone.
    coarsenings : bool or mapping of column to list of Coarsening
        Search for the coarsening of the quasi-identifiers with the lowest loss after anonymization. True chooses
        from the levels of a column's hierarchy, or from suitable coarsenings (see `shoal.verbs.explore.ladder_of`).
        A mapping names those to choose from, the finest first; an empty list leaves a column untouched.
    loss : str
        The metric that compares the candidates, a name of `shoal.metrics.METRICS`: against the table before any
        coarsening. A search minimizes "gcp", "kl_divergence" or "non_uniform_entropy".
    seconds : number
        The time limit of a search. A coarsening that has been started is finished. An algorithm with a long search of
        its own evaluates only the most promising coarsenings, which a fast stand-in selects.
    utility : bool
        Whether to measure what analysts lose as well (`Release.utility`).
    attacks : bool
        Whether to attack each release with knowledge of the whole original table.
    progress : callable, optional
        Called regularly with (candidate, done, total).

    Returns
    -------
    Exploration
        One `Candidate` for each combination, in order of increasing protection. A candidate without a release has the
        reason. Ctrl-C ends the work and keeps what was measured so far; see `ended`.

    Raises
    ------
    UsageError
        The call or the data is invalid; the message names the remedy.
    InfeasibleError
        No candidate has a release.

    Notes
    -----
    The figures depend on the original table, and those of unpublished releases reveal more than the published release.
    They are for the publisher only. The public certificate of a chosen level is that of the same request without an
    exploration; that of a searched coarsening states that a search was made, but not its result.

    Columns in `coarsen` keep that coarsening in a search. The result of a search is never worse than no coarsening,
    which is tried first. The same input gives the same result, unless the time limit or Ctrl-C ended the search. A
    release without a seed makes its own random choices, so its loss may differ slightly from that of the search.

    References
    ----------
    X. Xiao, K. Yi and Y. Tao, "The hardness and approximation algorithms for l-diversity", EDBT 2010, Section 5.6.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=3, seed=1)
    >>> found = shoal.explore(people, quasi_identifiers=["age", "gender", "race"], sensitive="income", k=[2, 4], l=2)
    >>> [(row.text, row.error) for row in found.rows]
    [('k = 2, l = 2', None), ('k = 4, l = 2', None)]
    >>> found.choose(k=4).certificate.achieved["k"] >= 4
    True
    """
    options.setdefault("privacy", () if request is None else request.privacy or ())
    request = request_of(explore, request, options)
    tunable = tuple(name for name, metric in METRICS.items() if metric.tunable)
    validate("explore", {"loss": loss}, {"loss": OneOf(tuple(METRICS) if coarsenings is False else tunable)})
    validate("explore", {"seconds": seconds}, {"seconds": _SECONDS})
    request, levels, sampled = _levels_of(request, k, l)
    check_together(request.features | {"explore"})
    report = progress or silent
    report("read", 0, 1)
    # Read the table once; every candidate has the same rows.
    opened = open_data(data, **request.reading)
    read: dict[str, Any] = dict.fromkeys(request.reading)  # the table was read and cleaned
    base = replace(request, **read)
    if coarsenings is not False:
        if len(levels) > 1 or algorithms is not None or utility or attacks:
            raise ParameterError(
                "A search for coarsenings has one level of protection and one algorithm, and measures the loss only. "
                "Name a privacy model, and leave out other levels, algorithms, utility and attacks."
            )
        asked = replace(base, privacy=levels[0].models)
        return search_coarsenings(
            opened,
            asked,
            ladders={} if coarsenings is True else coarsenings,
            loss=loss,
            seconds=float(seconds),
            progress=report,
            publish=partial(_publish_coarsened, opened, asked),
        )
    union = replace(request, privacy=[model for level in levels for model in level.models])
    resolved = union.resolve_columns(opened.frame.columns)
    schema = resolved.schema
    if not schema.quasi_identifiers:
        raise ColumnError("Name at least one quasi-identifier: without one there is nothing to protect.")
    _, rows = opened.select_publishable(schema, request.missing_sensitive)
    if attacks:
        # Attacks compare values, so text becomes numbers and dates beforehand.
        union, base = (replace(one, dates=None, decimal=None) for one in (union, base))
        opened = interpret(opened, resolved, dates=request.dates, decimal=request.decimal)
        opened = replace(opened, unconverted=None)
    warnings = warn_of_persons(opened, rows, resolved)
    runs = _combine(base, levels, algorithms)
    if sampled is not None:
        runs.append(_sampled_run(base, schema, sampled, levels[0]))
    work = _Work(opened=opened, compared=union, loss=loss, utility=utility, attacks=attacks, report=report)
    candidates, ended = work.measure(runs)
    errors = [one.error for one in candidates if one.error is not None]
    # If nothing has a release, the exploration fails like `anonymize` does.
    if len(errors) == len(candidates):
        raise next((error for error in errors if isinstance(error, InfeasibleError)), errors[0])
    if "algorithm" in {name for run in runs for name in run.varied}:
        candidates = _share_bounds(candidates)
    return Exploration(
        rows=tuple(candidates),
        loss=loss,
        quasi_identifiers=schema.quasi_identifiers,
        sensitive=schema.sensitive,
        records=len(rows),
        ended=ended,
        warnings=warnings,
        publish=_refuse,
        **work.before,
    )


@dataclass(frozen=True, kw_only=True)
class _Level:
    """One level of protection and its models."""

    k: int | None
    l: Real | float | None
    models: tuple[PrivacyModel, ...]

    @property
    def text(self) -> str:
        levels = {"k": self.k, "l": self.l}
        return ", ".join(
            f"{name} = {number(value) if isinstance(value, int | float) else value}"
            for name, value in levels.items()
            if value is not None
        )


def _levels_of(request: Request, k: Any, l: Any) -> tuple[Request, list[_Level], DifferentialPrivacy | None]:
    """Return a request without its models of groups, the levels, and the model of an additional sample."""
    models: tuple[Any, ...] = tuple(request.privacy) if isinstance(request.privacy, Iterable) else (request.privacy,)
    if models:
        # Reject invalid models before their parameters are read.
        Requirement.of(models, request.schema.sensitive, counting_of(request.schema.kinds))
    k, l = (request.k if k is None else k), (request.l if l is None else l)
    if request.harmless is not None and l is not None:
        # Every level of l takes its harmless values from this model.
        models = (*models, LDiversity(2, harmless=request.harmless))
        request = replace(request, harmless=None)
    ks, ls = _numbers("k", k, Integer(low=1)), _numbers("l", l, RationalIn(low=Fraction(1)))
    # Differential privacy alone is refused, because it covers one release; next to other models it is compared.
    sampled = next((one for one in models if isinstance(one, DifferentialPrivacy)), None)
    others = tuple(one for one in models if one is not sampled)
    if not (others or ks or ls or request.t):
        sampled, others = None, models
        ks = None if models else _USUAL
    pairs = itertools.product(ls or (None,), ks or (None,))
    levels = [_Level(k=one, l=other, models=_models(others, one, other, request.t)) for other, one in pairs]
    return replace(request, k=None, l=None, privacy=others or levels[0].models), levels, sampled


def _numbers(name: str, given: Any, constraint: Constraint) -> tuple[Any, ...] | None:
    """Return the levels of a parameter in ascending order without repeats; None if there are none."""
    if given is None:
        return None
    # A single number is a list of one level.
    several = isinstance(given, Sequence) and not isinstance(given, str)
    numbers = tuple(given) if several else (given,)
    if not numbers:
        what = Allowed("a number or a list of them", "one number or several, separated by commas")
        raise ParameterError.refusing("explore", name, what, got=format_value("none"))
    for one in numbers:
        validate("explore", {name: one}, {name: constraint})
    return tuple(sorted(set(numbers), key=exact_fraction))


def _models(privacy: Sequence[PrivacyModel], k: int | None, l: Any, t: float | None) -> tuple[PrivacyModel, ...]:
    """Return the models of a level: the given models with its k and its l, and the default models if needed."""
    level = {name: value for name, value in (("k", k), ("l", l)) if value is not None}
    found: list[Any] = []
    # Models with the parameter take the level's value; l = 1 removes l-diversity.
    for model in privacy:
        taken = {name: value for name, value in level.items() if _has(name, model)}
        if taken.get("l") != 1:
            found.append(replace(model, **taken) if taken else model)
    if k is not None and not any(_has("k", model) for model in privacy):
        found.append(KAnonymity(k))
    if l not in (None, 1) and not any(_has("l", model) for model in privacy):
        found.append(LDiversity(l))
    return tuple(found) or (() if t is not None else (KAnonymity(1),))


def _has(name: str, model: PrivacyModel) -> bool:
    """Return True if a model has the k or the l of the option; the k of a population is a different parameter."""
    declared = parameters_of(model).get(name)
    return declared is not None and declared.flag == f"-{name}"


@dataclass(frozen=True, kw_only=True)
class _Run:
    """A request to measure."""

    request: Request
    level: _Level
    varied: tuple[str, ...]
    """What differs between runs, "level" and "algorithm"."""

    @property
    def algorithm(self) -> str:
        asked = self.request.algorithm
        return asked if isinstance(asked, str) else asked.name

    @property
    def about(self) -> dict[str, Any]:
        texts = [
            self.level.text if "level" in self.varied else "",
            self.algorithm if "algorithm" in self.varied else "",
        ]
        return {
            "text": ", ".join(text for text in texts if text) or self.level.text or self.algorithm,
            "k": self.level.k,
            "l": self.level.l,
            "algorithm": self.algorithm,
            "requested": tuple(self.request.requirement.to_list()),
        }


def _combine(base: Request, levels: Sequence[_Level], algorithms: str | Sequence[str | Algorithm] | None) -> list[_Run]:
    """Return a run for each level and algorithm."""
    if algorithms is None:
        algorithms = "all" if len(levels) == 1 and base.algorithm == "auto" else (base.algorithm,)
    every = algorithms == "all"
    named: Sequence[str | Algorithm] = (algorithms,) if isinstance(algorithms, str) else algorithms
    varied = (*(("level",) if len(levels) > 1 else ()), *(("algorithm",) if every or len(named) > 1 else ()))
    runs = []
    for level in levels:
        asked = replace(base, privacy=level.models)
        listed = fitting_algorithms(asked) if every else named
        runs += [_Run(request=replace(asked, algorithm=one), level=level, varied=varied) for one in listed]
    return runs


def fitting_algorithms(request: Request) -> list[str]:
    """Return the names of the algorithms that support a request, except those that take long to prove an optimum."""
    # Algorithms that prove an optimum may run for minutes, so the caller must name them.
    quick = [name for name in ALGORITHMS if name not in PROVING]
    return [name for name in quick if unsupported(ALGORITHMS[name], request.requirement, request.preferences) is None]


def _sampled_run(base: Request, schema: Schema, sampled: DifferentialPrivacy, level: _Level) -> _Run:
    """Return the run of a sample with differential privacy alone."""
    # Every column is part of the classes, and nothing repeats the draw. It draws levels of hierarchies itself.
    alone: dict[str, Any] = {
        **dict.fromkeys(("t", "harmless", "seed", "sensitive")),
        "quasi_identifiers": (*schema.quasi_identifiers, *schema.sensitive),
        "privacy": sampled,
        "algorithm": "safepub",
        "keep_order": False,
        "hierarchies": base.hierarchies if sampled.level_epsilon else None,
    }
    return _Run(request=replace(base, **alone), level=level, varied=("algorithm",))


@dataclass(kw_only=True, repr=False, eq=False)
class _Work:
    """A table, and what to measure of its releases."""

    opened: OpenedData
    compared: Request
    """The request with the roles of the columns and the models of all levels."""
    loss: str
    utility: bool
    attacks: bool
    report: Progress

    def __post_init__(self) -> None:
        self.before: dict[str, Any] = {}
        """The risk of the original rows, and the number of persons in them."""

    def measure(self, runs: Sequence[_Run]) -> tuple[list[Candidate], str]:
        """Measure each run; return the candidates, and "complete" or "interrupted"."""
        candidates: list[Candidate] = []
        try:
            with interruptible():
                candidates.extend(map(self._measure_run, runs))
        except KeyboardInterrupt:
            if not any(one.able for one in candidates):
                raise
            return candidates, "interrupted"
        return candidates, "complete"

    def _measure_run(self, run: _Run) -> Candidate:
        about = {**run.about, "metric": self.loss}

        def report_step(step: str, done: int, total: int, /) -> None:
            self.report(about["text"], done, total)

        # Only expected errors become candidates without a release; other errors are raised.
        try:
            release = _publish(self.opened, run.request, progress=report_step)
        except _FAILS as error:
            return Candidate(**about, error=error)
        sampled = run.request.requirement.sampling is not None
        if not self.before and not sampled:
            counted = read_figures(release.certificate.to_dict())
            self.before = {"before": counted.risk["before"], "persons": counted.persons}
        # The compilation of code is not an algorithm's time.
        steps = release.certificate.seconds
        about["seconds"] = steps["total"] - steps.get("start", 0.0) - steps.get("compile", 0.0)
        if self.utility:
            about["utility"] = {one.name: one.value for one in release.utility().measures}
        if self.attacks:
            from shoal.verbs.explore.attacking import measure_attacks

            known = replace(self.compared, privacy=run.level.models)
            about["attacks"] = measure_attacks(release, self.opened.raw_frame, known, run.algorithm)
        if sampled:
            names = self.compared.schema.quasi_identifiers
            return Candidate(**about, measured=_measure_sampled(release, names, self.opened.frame.height))
        if set(_ONLY_MEASURED) & run.request.features:
            return Candidate(**about, measured=figures_of(release) | release.metrics.totals())
        return Candidate(**about, release=release)


def _publish(opened: OpenedData, request: Request, *, progress: Progress | bool | None = None) -> Release:
    """Make a release of a table that is open, like one of the original input."""
    release = make_release(opened.raw_frame, request, progress=progress)
    restore = opened.restore.of(release.published)
    kept = replace(release, source_format=opened.format, dialect=opened.dialect, codebook=opened.codebook)
    return replace(kept, restore=restore)


def _publish_coarsened(
    opened: OpenedData,
    request: Request,
    searched: Searched,
    candidate: Candidate,
    *,
    progress: Progress | bool | None = None,
) -> Release:
    """Make the release of a coarsening that a search found."""
    coarsen = {**searched.always, **{key: rung.coarsening for key, rung in candidate.rungs.items()}}
    # The levels of hierarchies are coarsenings; only generalization recodes to their nodes.
    trees = request.hierarchies if request.recoding == "generalization" else None
    release = _publish(opened, replace(request, coarsen=coarsen, hierarchies=trees), progress=progress)
    # Readers see only the coarsenings of the request, and that a search was made, whose result depends on the table.
    certificate, always = release.certificate, coarsenings_for_readers(searched.always)
    columns = {column for ladder in searched.ladders for column in ladder.columns}
    # Only those who know the result of the search may see if the sets of a column are of exact values.
    kept = [one for one in certificate.warnings if one.code != "large_sets" or one.column not in columns]
    parameters = {**certificate.for_readers, "coarsen": always, "tuned": True}
    return replace(release, certificate=replace(certificate, for_readers=parameters, warnings=tuple(kept)))


def _refuse(candidate: Candidate, *, progress: Progress | bool | None = None) -> Release:
    """Refuse to publish a candidate that was only measured."""
    raise ParameterError(
        f"The release of {candidate.text} was only measured: its promise does not allow a choice among several "
        "releases. Make it with anonymize, without looking at others."
    )


def _measure_sampled(release: Release, attributes: Sequence[str], rows: int) -> dict[str, Any]:
    """Compute the measures of a sample that can be compared with those of a release of all records."""
    # The penalty is that of the compared quasi-identifiers; records that were left out lose everything.
    metrics, published = release.metrics, release.data.height / rows
    columns, total = metrics.ncp, sum(metrics.ncp.values())
    share = sum(columns[name] for name in attributes) / total if total else 0
    penalty = metrics.gcp * share * len(columns) / len(attributes)
    # The other metrics are of other records or of more columns.
    return {
        "gcp": 1 - published * (1 - penalty),
        "mean_class_size": metrics.mean_class_size,
        "published": published,
        "groups": int(release.certificate.achieved["groups"]),
    }


def _share_bounds(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Give all candidates of a level the highest bound of any of them, because each holds for every release."""
    names = ("lower_bound_stars", "lower_bound_recoded_cells")
    for one in candidates:
        level = [other for other in candidates if (other.k, other.l) == (one.k, one.l)]
        for name in names:
            bounds = [other.figures[name] for other in level if other.figures.get(name) is not None]
            if one.figures.get(name) is not None:
                one.figures[name] = max(bounds)  # type: ignore[index]
    return list(candidates)
