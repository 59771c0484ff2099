"""Entry point `tradeoff`: make a verified release for each level of protection, and measure its cost."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from shoal._core.progress import Clock, Progress, interruptible, silent
from shoal._core.validation import (
    Constraint,
    Integer,
    RationalIn,
    exact_fraction,
    format_value,
    parameters_of,
    validate,
)
from shoal._messages import Allowed
from shoal.disclosure_risk import reidentification
from shoal.disclosure_risk.frequencies import count_pairs
from shoal.disclosure_risk.reidentification import reidentification_of_persons
from shoal.engines import InMemory
from shoal.errors import ColumnError, InfeasibleError, MissingExtraError, ParameterError, ShoalError, UnsupportedError
from shoal.models import KAnonymity, LDiversity, Requirement
from shoal.models.promises import check_together
from shoal.pipeline.encoded import encode_table
from shoal.pipeline.input import open_data
from shoal.pipeline.prepare import interpret, select_publishable_rows, validate_and_shuffle
from shoal.pipeline.run import STEPS, partition_and_recode, verify_and_certify
from shoal.request.keywords import OF_STREAMS, request_of, takes_request
from shoal.verbs.table_warnings import warn_of_persons
from shoal.verbs.tradeoff.choice import Choice
from shoal.verbs.tradeoff.trade_off import TradeOff

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.disclosure_risk import Reidentification
    from shoal.models import PrivacyModel
    from shoal.pipeline.encoded import EncodedTable
    from shoal.pipeline.input import OpenedData
    from shoal.release.release import Release
    from shoal.request.options import LevelOptions
    from shoal.request.request import Request

__all__ = ["USUAL", "tradeoff"]

USUAL = (3, 5, 10, 20, 50)
"""The default levels of k."""
_FAILS = (InfeasibleError, UnsupportedError, MissingExtraError)
"""Errors of a single level, while others may have a release."""


@takes_request(without=OF_STREAMS)
def tradeoff(
    data: Any,
    request: Request | None = None,
    *,
    k: int | Sequence[int] | None = None,
    l: Real | float | Sequence[Real | float] | None = None,
    progress: Progress | None = None,
    **options: Unpack[LevelOptions],
) -> TradeOff:
    """Make a release for each of several levels of protection, and measure the risk and the loss of each.

    Every release is verified, and can be taken from the result unchanged.

    Parameters
    ----------
    data, request
        As for `shoal.anonymize`.
    **options
        The fields of `shoal.Request`. The models of `privacy` hold at every level. Models with a parameter `k` or `l`
        get that of the level; if there are none, `shoal.KAnonymity` and `shoal.LDiversity` are added.
    k : int or sequence of int, optional
        Levels of k. By default 3, 5, 10, 20, 50 and those of `privacy`, if no level of k or l is given.
    l : number or sequence of numbers, optional
        Levels of l; 1 means no l-diversity. Every level of k is combined with every level of l.
    progress : callable, optional
        Called regularly with (level, done, total).

    Returns
    -------
    TradeOff
        One `Choice` for each level, in order of increasing protection. A level without a release has the reason. Ctrl-C
        ends the work and keeps the levels measured so far; see `ended`.

    Raises
    ------
    UsageError
        The call or the data is invalid; the message names the remedy.
    InfeasibleError
        No level can be satisfied.

    Notes
    -----
    The figures depend on the original table, and the figures of unpublished levels reveal more than the published
    release. They are for the publisher only. The public certificate of a chosen release is that of the same request
    without a trade-off. If the level is chosen by the figures, the choice depends on the table.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=3, seed=1)
    >>> found = shoal.tradeoff(people, quasi_identifiers=["age", "gender", "race"], sensitive="income", k=[2, 4], l=2)
    >>> [(choice.text, choice.error) for choice in found.choices]
    [('k = 2, l = 2', None), ('k = 4, l = 2', None)]
    >>> found.choices[1].release.certificate.achieved["k"] >= 4
    True
    """
    options.setdefault("privacy", () if request is None else request.privacy or ())
    request = request_of(tradeoff, request, options)
    check_together(request.asked | {"tradeoff"})
    # Collect the models, and combine the levels of k with those of l.
    models: tuple[Any, ...] = tuple(request.privacy) if isinstance(request.privacy, Iterable) else (request.privacy,)
    if models:
        Requirement.of(
            models, request.schema.sensitive, request.schema.units
        )  # rejects invalid models before their parameters are read
    k, l = (request.k if k is None else k), (request.l if l is None else l)
    if request.harmless is not None and l is not None:
        # Every level of l takes its harmless values from this model.
        models = (*models, LDiversity(2, harmless=request.harmless))
        request = replace(request, harmless=None)
    levels = _levels(_numbers("k", k, Integer(low=1)), _numbers("l", l, RationalIn(low=Fraction(1))), models)
    report = progress or silent
    report("read", 0, 1)
    # Read the table once; every level uses the same rows.
    opened = open_data(data, **request.reading)
    request = replace(request, k=None, l=None, privacy=[model for level in levels for model in level.models])
    schema = request.resolve_columns(opened.frame.columns).schema
    if not schema.quasi_identifiers:
        raise ColumnError("Name at least one quasi-identifier: without one there is nothing to protect.")
    _ = request.requirement
    work = _Work.of(opened, replace(request, hierarchies=request.trees), levels)
    choices, ended = work.measure(report)
    if all(choice.release is None for choice in choices):
        errors = [choice.error for choice in choices if choice.error is not None]
        raise next((error for error in errors if isinstance(error, InfeasibleError)), errors[0])
    return TradeOff(
        choices=tuple(choices),
        quasi_identifiers=schema.quasi_identifiers,
        sensitive=schema.sensitive,
        rows=len(work.rows),
        persons=work.persons,
        before=work.measure_risk_before(),
        ended=ended,
        warnings=warn_of_persons(work.opened, work.rows, request),
    )


@dataclass(frozen=True, kw_only=True)
class _Level:
    """One level of protection and its models."""

    k: int | None
    l: Real | float | None
    models: tuple[PrivacyModel, ...]


def _numbers(name: str, given: Any, constraint: Constraint) -> tuple[Any, ...] | None:
    """Return the levels of a parameter in ascending order without repeats; None if there are none."""
    if given is None:
        return None
    # A single number is a list of one level.
    several = isinstance(given, Sequence) and not isinstance(given, str)
    numbers = tuple(given) if several else (given,)
    if not numbers:
        what = Allowed("a number or a list of them", "one number or several, separated by commas")
        raise ParameterError.refusing("tradeoff", name, what, got=format_value("none"))
    for number in numbers:
        validate("tradeoff", {name: number}, {name: constraint})
    return tuple(sorted(set(numbers), key=exact_fraction))


def _levels(
    ks: tuple[int, ...] | None, ls: tuple[Any, ...] | None, privacy: Sequence[PrivacyModel]
) -> tuple[_Level, ...]:
    """Return all combinations of the levels, in order of increasing protection."""
    # Without levels, the k of given models joins the default levels.
    if ks is None and ls is None:
        own = {int(getattr(model, "k")) for model in privacy if _has("k", model)}  # noqa: B009
        ks = tuple(sorted(own | set(USUAL)))
    return tuple(
        _Level(k=k, l=l, models=_models(privacy, k, l)) for l, k in itertools.product(ls or (None,), ks or (None,))
    )


def _models(privacy: Sequence[PrivacyModel], k: int | None, l: Any) -> tuple[PrivacyModel, ...]:
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
    return tuple(found) or (KAnonymity(1),)


def _has(name: str, model: PrivacyModel) -> bool:
    """Return True if a model has the k or the l of the option; the k of a population is a different parameter."""
    declared = parameters_of(model).get(name)
    return declared is not None and declared.flag == f"-{name}"


@dataclass(kw_only=True, repr=False, eq=False)
class _Work:
    """A table that is read and encoded once, for all levels."""

    original: pl.DataFrame
    """The raw table."""
    opened: OpenedData
    frame: pl.DataFrame
    rows: NDArray[np.int32]
    levels: Sequence[tuple[_Level, Request | ShoalError]]
    encoded: dict[bool, EncodedTable] = field(default_factory=dict)
    """The encoded columns, with hierarchies for every quasi-identifier and without."""

    @classmethod
    def of(
        cls,
        opened: OpenedData,
        request: Request,
        levels: Sequence[_Level],
    ) -> _Work:
        resolved: list[tuple[_Level, Request | ShoalError]] = []
        # Levels that no algorithm supports keep their error as the result.
        for level in levels:
            try:
                fitted = replace(request, privacy=level.models).resolve(opened.frame.columns)
                resolved.append((level, fitted))
            except _FAILS as error:
                resolved.append((level, error))
        able = [request for _, request in resolved if not isinstance(request, ShoalError)]
        if not able:
            raise next(error for _, error in resolved if isinstance(error, ShoalError))
        # All levels read the table in the same way: the last one has the union of their requirements.
        schema, original = able[-1].schema, opened.raw_frame
        opened = opened.normalized(schema.quasi_identifiers + schema.sensitive) if request.normalize else opened
        opened = interpret(opened, able[-1], dates=request.dates, decimal=request.decimal)
        frame, rows = select_publishable_rows(opened, schema, request.missing_sensitive)
        return cls(original=original, opened=opened, frame=frame, rows=rows, levels=resolved)

    @property
    def persons(self) -> int | None:
        """The number of persons in the rows to publish; None if no column identifies them."""
        units = next(iter(self.encoded.values())).table.units
        return len(np.unique(units[0].codes)) if units else None

    def measure_risk_before(self) -> Reidentification:
        """Measure the risk of the persons, or of the rows, before the release."""
        encoded = next(iter(self.encoded.values()))
        classes = encoded.table.with_quasi_identifiers(encoded.before).classes
        if not encoded.table.units:
            return reidentification(classes.sizes_counted)
        column = encoded.table.units[0]
        groups, persons, _ = count_pairs(classes.of_rows, classes.count, column.codes, column.size)
        return reidentification_of_persons(groups, persons)

    def measure(self, progress: Progress) -> tuple[list[Choice], str]:
        """Measure each level; return the choices, and "complete" or "interrupted"."""
        choices: list[Choice] = []
        try:
            with interruptible():
                for level, request in self.levels:
                    choices.append(self._measure_level(level, request, progress))
        except KeyboardInterrupt:
            if all(choice.release is None for choice in choices):
                raise
            return choices, "interrupted"
        return choices, "complete"

    def _measure_level(self, level: _Level, request: Request | ShoalError, progress: Progress) -> Choice:
        about: dict[str, Any] = {
            "k": level.k,
            "l": level.l,
            "requested": tuple(model.to_dict() for model in level.models),
        }
        if isinstance(request, ShoalError):
            return Choice(**about, error=request)
        title = Choice(**about).text

        def report_step(step: str, done: int, total: int, /) -> None:
            progress(title, done, total)

        # Only expected errors become choices without a release.
        start = time.perf_counter()
        try:
            release = self._make_release(request, Clock(STEPS, report_step))
        except _FAILS as error:
            return Choice(**about, error=error, seconds=time.perf_counter() - start)
        return Choice(**about, release=release, seconds=time.perf_counter() - start)

    def _make_release(self, request: Request, clock: Clock) -> Release:
        # Encodings differ only in the use of hierarchies, so at most two are made.
        if request.climbs not in self.encoded:
            self.encoded[request.climbs] = encode_table(
                self.frame,
                self.opened.publishable_counts[self.rows],
                request,
                clock,
                units=self.opened.units_of(self.rows),
            )
        encoded = self.encoded[request.climbs]
        with clock.step("encode"):
            prepared = validate_and_shuffle(encoded, request, self.opened, self.rows)
        source = InMemory(opened=self.opened, raw=self.original)
        return verify_and_certify(partition_and_recode(prepared, source, clock), source, clock)
