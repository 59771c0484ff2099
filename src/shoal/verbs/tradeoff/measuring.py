"""`tradeoff`: a release for each level of protection, verified, and what it costs."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any, Unpack

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
from shoal.engines import InMemory
from shoal.errors import ColumnError, InfeasibleError, MissingExtraError, ParameterError, ShoalError, UnsupportedError
from shoal.models import KAnonymity, LDiversity, Requirement
from shoal.pipeline.encoded import encoded_table
from shoal.pipeline.input import open_data
from shoal.pipeline.prepare import interpret, ready, rows_to_publish
from shoal.pipeline.run import STEPS, partition_and_recode, verified
from shoal.request.keywords import OF_STREAMS, request_of, takes_request
from shoal.verbs.table_warnings import warn_of_persons
from shoal.verbs.tradeoff.choice import Choice
from shoal.verbs.tradeoff.trade_off import TradeOff

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from shoal.models import PrivacyModel
    from shoal.pipeline.encoded import Encoded
    from shoal.pipeline.input import OpenedData
    from shoal.release.release import Release
    from shoal.request.options import LevelOptions
    from shoal.request.request import Request

__all__ = ["USUAL", "tradeoff"]

USUAL = (3, 5, 10, 20, 50)
"""The levels of k that are compared unless others are named."""
_FAILS = (InfeasibleError, UnsupportedError, MissingExtraError)
"""Why a level may have no release, while others have one."""


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

    Every release is verified, and can be chosen from the result as it was measured.

    Parameters
    ----------
    data, request
        As for `shoal.anonymize`.
    **options
        The fields of `shoal.Request`. The models of `privacy` hold at every level: those that have a `k` or an `l` take
        those of the level; if none has one, `shoal.KAnonymity` and `shoal.LDiversity` do.
    k : int or sequence of int, optional
        Levels of k. 3, 5, 10, 20 and 50 where no level of k or l is named, and those of `privacy`.
    l : number or sequence of numbers, optional
        Levels of l; at 1 no l-diversity is asked for. Every level of k is combined with every level of l.
    progress : callable, optional
        Called with (level, done, total) now and then.

    Returns
    -------
    TradeOff
        One `Choice` for each level, from the least protection to the most. A level that no release can meet says why.
        Ctrl-C ends the work and keeps the levels that were measured; `ended` says so.

    Raises
    ------
    UsageError
        The call or the data is wrong; the message says what to change.
    InfeasibleError
        No level can be met.

    Notes
    -----
    The figures depend on the original table, and those of levels that are not published tell more than the release
    that is: they are the publisher's. The public certificate of a chosen release is that of the same request without
    a trade-off; who chooses the level by the figures lets the table have a say in it.

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
    models: tuple[Any, ...] = tuple(request.privacy) if isinstance(request.privacy, Iterable) else (request.privacy,)
    if models:
        Requirement.of(
            models, request.schema.sensitive, request.schema.units
        )  # before they are asked for their parameters
    k, l = (request.k if k is None else k), (request.l if l is None else l)
    levels = _levels(_numbers("k", k, Integer(low=1)), _numbers("l", l, RationalIn(low=Fraction(1))), models)
    told = progress or silent
    told("read", 0, 1)
    opened = open_data(data, delimiter=request.delimiter, encoding=request.encoding, sheet=request.sheet)
    request = replace(request, k=None, l=None, privacy=[model for level in levels for model in level.models])
    schema = request.resolve_columns(opened.frame.columns).schema
    if not schema.quasi_identifiers:
        raise ColumnError("Name at least one quasi-identifier: without one there is nothing to protect, or to lose.")
    _ = request.requirement
    work = _Work.of(opened, replace(request, hierarchies=request.trees), levels)
    choices, ended = work.measured(told)
    if all(choice.release is None for choice in choices):
        errors = [choice.error for choice in choices if choice.error is not None]
        raise next((error for error in errors if isinstance(error, InfeasibleError)), errors[0])
    return TradeOff(
        choices=tuple(choices),
        quasi_identifiers=schema.quasi_identifiers,
        sensitive=schema.sensitive,
        rows=len(work.rows),
        before=reidentification(work.sizes_before),
        ended=ended,
        warnings=warn_of_persons(work.opened, work.rows, request),
    )


@dataclass(frozen=True, kw_only=True)
class _Level:
    """What one level asks for."""

    k: int | None
    l: Real | float | None
    models: tuple[PrivacyModel, ...]


def _numbers(name: str, given: Any, constraint: Constraint) -> tuple[Any, ...] | None:
    """Return the levels of a parameter, ascending, each once; None where none are named."""
    if given is None:
        return None
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
    """Return what each level asks for, from the least protection to the most."""
    if ks is None and ls is None:
        own = {int(getattr(model, "k")) for model in privacy if _has("k", model)}  # noqa: B009
        ks = tuple(sorted(own | set(USUAL)))
    return tuple(
        _Level(k=k, l=l, models=_models(privacy, k, l)) for l, k in itertools.product(ls or (None,), ks or (None,))
    )


def _models(privacy: Sequence[PrivacyModel], k: int | None, l: Any) -> tuple[PrivacyModel, ...]:
    """Return the models of a level: those that hold anyway, with its k and its l."""
    asked = {name: value for name, value in (("k", k), ("l", l)) if value is not None}
    found: list[Any] = []
    for model in privacy:
        taken = {name: value for name, value in asked.items() if _has(name, model)}
        if taken.get("l") != 1:
            found.append(replace(model, **taken) if taken else model)
    if k is not None and not any(_has("k", model) for model in privacy):
        found.append(KAnonymity(k))
    if l not in (None, 1) and not any(_has("l", model) for model in privacy):
        found.append(LDiversity(l))
    return tuple(found) or (KAnonymity(1),)


def _has(name: str, model: PrivacyModel) -> bool:
    """Return whether a model has the k or the l that is meant: people of a population are another k."""
    declared = parameters_of(model).get(name)
    return declared is not None and declared.flag == f"-{name}"


@dataclass(kw_only=True, repr=False, eq=False)
class _Work:
    """A table that is read and encoded once, for all levels."""

    opened: OpenedData
    frame: pl.DataFrame
    rows: NDArray[np.int32]
    asked: Sequence[tuple[_Level, Request | ShoalError]]
    encoded: dict[bool, Encoded] = field(default_factory=dict)
    """The columns, with hierarchies for every quasi-identifier and without."""

    @classmethod
    def of(
        cls,
        opened: OpenedData,
        request: Request,
        levels: Sequence[_Level],
    ) -> _Work:
        asked: list[tuple[_Level, Request | ShoalError]] = []
        for level in levels:
            try:
                fitted = replace(request, privacy=level.models).resolve(opened.frame.columns)
                asked.append((level, fitted))
            except _FAILS as error:
                asked.append((level, error))
        able = [request for _, request in asked if not isinstance(request, ShoalError)]
        if not able:
            raise next(error for _, error in asked if isinstance(error, ShoalError))
        # All levels read the table alike: the last one asks for everything that any of them asks for.
        schema = able[-1].schema
        opened = opened.normalized(schema.quasi_identifiers + schema.sensitive) if request.normalize else opened
        opened = interpret(opened, able[-1], dates=request.dates, decimal=request.decimal)
        frame, rows = rows_to_publish(opened, schema, request.missing_sensitive)
        return cls(opened=opened, frame=frame, rows=rows, asked=asked)

    @property
    def sizes_before(self) -> Mapping[int, int]:
        """How many classes have each size, in the rows to publish as they came."""
        encoded = next(iter(self.encoded.values()))
        return encoded.table.with_quasi_identifiers(encoded.before).classes.sizes_counted

    def measured(self, progress: Progress) -> tuple[list[Choice], str]:
        """Return what each level gives, and whether all were measured."""
        choices: list[Choice] = []
        try:
            with interruptible():
                for level, request in self.asked:
                    choices.append(self._choice(level, request, progress))
        except KeyboardInterrupt:
            if all(choice.release is None for choice in choices):
                raise
            return choices, "interrupted"
        return choices, "complete"

    def _choice(self, level: _Level, request: Request | ShoalError, progress: Progress) -> Choice:
        about: dict[str, Any] = {
            "k": level.k,
            "l": level.l,
            "requested": tuple(model.to_dict() for model in level.models),
        }
        if isinstance(request, ShoalError):
            return Choice(**about, error=request)
        title = Choice(**about).text

        def told(step: str, done: int, total: int, /) -> None:
            progress(title, done, total)

        start = time.perf_counter()
        try:
            release = self._released(request, Clock(STEPS, told))
        except _FAILS as error:
            return Choice(**about, error=error, seconds=time.perf_counter() - start)
        return Choice(**about, release=release, seconds=time.perf_counter() - start)

    def _released(self, request: Request, clock: Clock) -> Release:
        if request.climbs not in self.encoded:
            self.encoded[request.climbs] = encoded_table(
                self.frame, self.opened.publishable[self.rows], request, clock, units=self.opened.units_of(self.rows)
            )
        encoded = self.encoded[request.climbs]
        with clock.step("encode"):
            prepared = ready(encoded, request, self.opened, self.rows)
        source = InMemory(opened=self.opened)
        return verified(partition_and_recode(prepared, source, clock), source, clock)
