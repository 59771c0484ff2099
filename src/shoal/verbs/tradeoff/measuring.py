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
from shoal._core.validation import Constraint, Integer, RationalIn, exact_fraction, parameters_of, spoken, validate
from shoal._messages import Allowed
from shoal.disclosure_risk import reidentification
from shoal.engines import InMemory
from shoal.errors import ColumnError, InfeasibleError, MissingExtraError, ParameterError, ShoalError, UnsupportedError
from shoal.models import KAnonymity, LDiversity, Requirement
from shoal.pipeline.encoded import encoded_table
from shoal.pipeline.input import open_data, roles
from shoal.pipeline.prepare import interpret, ready, rows_to_publish
from shoal.pipeline.run import STEPS, partition_and_recode, verified
from shoal.verbs.anonymize import (
    CONSTRAINTS,
    Options,
    all_options,
    check_recodable,
    requested,
    trees_of,
)
from shoal.verbs.tradeoff.choice import Choice
from shoal.verbs.tradeoff.trade_off import TradeOff

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from shoal.algorithms import Algorithm
    from shoal.models import PrivacyModel
    from shoal.pipeline.encoded import Encoded
    from shoal.pipeline.input import OpenedData
    from shoal.release.release import Release
    from shoal.request.request import Request
    from shoal.table import Schema

__all__ = ["USUAL", "tradeoff"]

USUAL = (3, 5, 10, 20, 50)
"""The levels of k that are compared unless others are named."""
_FAILS = (InfeasibleError, UnsupportedError, MissingExtraError)
"""Why a level may have no release, while others have one."""


def tradeoff(
    data: Any,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str | Sequence[str] | None = None,
    k: int | Sequence[int] | None = None,
    l: Real | float | Sequence[Real | float] | None = None,
    privacy: PrivacyModel | Sequence[PrivacyModel] = (),
    algorithm: str | Algorithm = "auto",
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> TradeOff:
    """Make a release for each of several levels of protection, and measure the risk and the loss of each.

    Every release is verified, and can be chosen from the result as it was measured.

    Parameters
    ----------
    data, quasi_identifiers, sensitive, algorithm
        As for `shoal.anonymize`.
    k : int or sequence of int, optional
        Levels of k. 3, 5, 10, 20 and 50 where no level of k or l is named, and those of `privacy`.
    l : number or sequence of numbers, optional
        Levels of l; at 1 no l-diversity is asked for. Every level of k is combined with every level of l.
    privacy : PrivacyModel or sequence of PrivacyModel, optional
        What holds at every level. Models that have a `k` or an `l` take those of the level; where none has one,
        `shoal.KAnonymity` and `shoal.LDiversity` do.
    progress : callable, optional
        Called with (level, done, total) now and then.
    **options
        What else `shoal.anonymize` takes: hierarchies, coarsen, recoding, seed, ...

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
    given = all_options(tradeoff, options)
    validate("tradeoff", dict(given), CONSTRAINTS)
    models: tuple[Any, ...] = tuple(privacy) if isinstance(privacy, Iterable) else (privacy,)
    schema = roles(quasi_identifiers, sensitive, given["direct_identifiers"], given["insensitive"])
    if models:
        Requirement.of(models, schema.sensitive)  # before they are asked for their parameters
    levels = _levels(_numbers("k", k, Integer(low=1)), _numbers("l", l, RationalIn(low=Fraction(1))), models)
    told = progress or silent
    told("read", 0, 1)
    opened = open_data(data, delimiter=given["delimiter"], encoding=given["encoding"], sheet=given["sheet"])
    schema = schema.with_rest(opened.frame.columns)
    check_recodable(schema, opened.frame.columns, given)
    if not schema.quasi_identifiers:
        raise ColumnError("Name at least one quasi-identifier: without one there is nothing to protect, or to lose.")
    Requirement.of([model for level in levels for model in level.models], schema.sensitive)
    given = {**given, "hierarchies": trees_of(given["hierarchies"] or {}, schema.quasi_identifiers)}
    work = _Work.of(opened, schema, levels, algorithm, given)
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
        raise ParameterError.refusing("tradeoff", name, what, got=spoken("none"))
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
        schema: Schema,
        levels: Sequence[_Level],
        algorithm: str | Algorithm,
        options: Options,
    ) -> _Work:
        asked: list[tuple[_Level, Request | ShoalError]] = []
        for level in levels:
            try:
                asked.append((level, requested(schema, level.models, algorithm, options)))
            except _FAILS as error:
                asked.append((level, error))
        able = [request for _, request in asked if not isinstance(request, ShoalError)]
        if not able:
            raise next(error for _, error in asked if isinstance(error, ShoalError))
        # All levels read the table alike: the last one asks for everything that any of them asks for.
        opened = opened.normalized(schema.quasi_identifiers + schema.sensitive) if able[-1].normalize else opened
        opened = interpret(opened, able[-1], dates=options["dates"], decimal=options["decimal"])
        frame, rows = rows_to_publish(opened, schema, able[-1].missing_sensitive)
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
            self.encoded[request.climbs] = encoded_table(self.frame, self.opened.counts[self.rows], request, clock)
        encoded = self.encoded[request.climbs]
        with clock.step("encode"):
            prepared = ready(encoded, request, self.opened, self.rows)
        source = InMemory(opened=self.opened)
        return verified(partition_and_recode(prepared, source, clock), source, clock)
