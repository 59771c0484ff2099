"""`tune`: the coarsening that loses the least once the table is anonymized."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

from shoal._core.progress import Progress, interruptible, silent
from shoal._core.validation import RationalIn, validate
from shoal.errors import InfeasibleError, ParameterError
from shoal.pipeline.input import open_data
from shoal.pipeline.prepare import interpret, rows_to_publish
from shoal.request.keywords import OF_STREAMS, request_of, takes_request
from shoal.verbs.table_warnings import warn_of_persons
from shoal.verbs.tune.evaluation import Evaluator, check_loss
from shoal.verbs.tune.ladders import given_ladders, ladder_of
from shoal.verbs.tune.search import lattice_search
from shoal.verbs.tune.tuning import Setting, Tuning, trade_off_of

if TYPE_CHECKING:
    import polars as pl

    from shoal.algorithms import Algorithm
    from shoal.hierarchy import Coarsening, Hierarchy
    from shoal.request.options import TunedOptions
    from shoal.request.request import Request
    from shoal.table import Schema
    from shoal.verbs.tune.ladders import Ladder
    from shoal.verbs.tune.search import Node

__all__ = ["tune"]

_SECONDS = RationalIn(low=Fraction(0), low_included=False)
"""How long a search may take."""
_PATIENCE = 10
"""Settings per rung that may bring nothing after the descent, before the search ends."""
_FEW = 500
"""Tables of so many rows need no stand-in: every algorithm is quick with them."""
_SCREENING = 0.5
"""Share of the time for the stand-in's search; the rest is for trying what it found."""
_PROMISING = 4
"""Settings that are tried because they lose least with the stand-in."""
_OF_TRADE_OFF = 6
"""Further ones, from the finest to the coarsest, that no other beats in both kinds of loss."""


class _TimeIsOverError(Exception):
    """The budget is spent."""


@takes_request(without=OF_STREAMS)
def tune(
    data: Any,
    request: Request | None = None,
    *,
    loss: str | None = None,
    seconds: float = 30,
    ladders: Mapping[str | tuple[str, ...], Sequence[Coarsening]] | None = None,
    progress: Progress | None = None,
    **options: Unpack[TunedOptions],
) -> Tuning:
    """Search for the coarsening of the quasi-identifiers that loses the least once the table is anonymized.

    A coarser column needs fewer stars, and says less where there is none. What both cost together is measured against
    the original table, where a coarse cell stands for all original values in it. The search is never worse than no
    coarsening, which it tries first.

    Parameters
    ----------
    data, request
        As for `shoal.anonymize`.
    **options
        The fields of `shoal.Request`.
    loss : {"gcp", "kl_divergence", "non_uniform_entropy"}, optional
        What to minimize; the global certainty penalty unless named, which counts how many values a cell may be, however
        often they occur. With the KL-divergence names that occur rarely are dear to merge with frequent ones.
    seconds : number
        How long to search. The setting that is being tried when they are over is still finished. An algorithm that
        searches long itself (`cluster`, `sabre`) is asked for the settings only that lose least, or trade one kind of
        loss for the other, with a quick one in its place.
    ladders : mapping of column to list of Coarsening, optional
        The coarsenings to choose from, the finest first; an empty list leaves a column untouched. By default the levels
        of the column's hierarchy where it has one, else what fits its values; see `shoal.verbs.tune.ladder_of`.
    progress : callable, optional
        Called with (step, done, total) now and then.

    Returns
    -------
    Tuning
        The best setting, ready for `coarsen=`, and all that were tried. The same input gives the same result, unless
        the clock (or Ctrl-C, which ends the search and keeps what it found) cut it off: `ended` says so.

    Raises
    ------
    UsageError
        The call or the data is wrong; the message says what to change.
    InfeasibleError
        No setting that was tried can satisfy the request.

    Notes
    -----
    The columns of `coarsen` are coarsened like that and not tuned; their loss counts. The levels of `hierarchies` are
    coarsenings to choose from; under generalization they are used for recoding as well. With a `seed` the algorithm's
    random choices are the same in every setting; without one, a release that is made of the result draws its own, and
    may lose a little more or less than the setting did.

    The setting is chosen by the whole table. The public certificate of a release says that a search was made, and not
    what it found: readers see that in the published cells as far as these show it, and learn that other settings lost
    more, which says little of any person, but it is no formal guarantee. The table of all settings, the curve and the
    picture tell losses and stars of releases that were never published: they are in private files only.

    References
    ----------
    X. Xiao, K. Yi and Y. Tao, "The hardness and approximation algorithms for l-diversity", EDBT 2010, Section 5.6.
    """
    request = request_of(tune, request, options)
    validate("tune", {"seconds": seconds}, {"seconds": _SECONDS})
    loss = check_loss("tune", loss)
    start = time.perf_counter()
    told = progress or silent
    told("read", 0, 1)
    opened = open_data(data, delimiter=request.delimiter, encoding=request.encoding, sheet=request.sheet)
    # The levels of hierarchies are coarsenings to choose from; only generalization recodes to their nodes.
    recoded = request if request.recoding == "generalization" else replace(request, hierarchies=None)
    asked = recoded.resolve(opened.frame.columns)
    schema, always = asked.schema, asked.coarsenings
    if asked.requirement.population is not None:
        raise ParameterError(
            "A model that asks about a population cannot be tuned: coarsening changes what its people are compared by. "
            "Use anonymize, with hierarchies."
        )
    opened = opened.normalized(schema.quasi_identifiers + schema.sensitive) if asked.normalize else opened
    opened = interpret(opened, replace(asked, hierarchies=request.trees), dates=asked.dates, decimal=asked.decimal)
    frame, rows = rows_to_publish(opened, schema, asked.missing_sensitive)
    evaluator = Evaluator(
        opened=opened,
        frame=frame,
        rows=rows,
        request=replace(asked, seed=asked.seed or 0),
        loss=loss,
        ladders=_ladders(frame, schema, always, ladders or {}, request.trees, request.hierarchies or {}),
    )
    evaluator.untouched.check(asked.requirement)
    stand_in = asked.chosen.capabilities.stand_in if len(rows) > _FEW else None
    found = _Search(evaluator=evaluator, deadline=start + float(seconds), seconds=float(seconds), progress=told)
    ended = found.run(stand_in)
    return Tuning(
        loss=loss,
        settings=tuple(found.settings.values()),
        best=_best(found.settings),
        screened=len(found.screened),
        stand_in=None if stand_in is None else stand_in.name,
        ladders=tuple(evaluator.ladders),
        always=dict(always),
        ended=ended,
        seconds=time.perf_counter() - start,
        warnings=warn_of_persons(opened, rows, asked),
        opened=opened,
        request=replace(recoded, coarsen=None, delimiter=None, encoding=None, sheet=None),
    )


def _ladders(
    frame: pl.DataFrame,
    schema: Schema,
    always: Mapping[str | tuple[str, ...], Coarsening],
    given: Mapping[str | tuple[str, ...], Sequence[Coarsening]],
    trees: Mapping[str, Hierarchy],
    hierarchies: Mapping[str, Hierarchy | str | PathLike[str]],
) -> list[Ladder]:
    """Return the ladders that have a rung: those that were given, and what fits the columns that are not fixed."""
    names = schema.quasi_identifiers
    files = {
        name: str(given) if isinstance(given, str | PathLike) else trees[name].source or f"{name}.csv"
        for name, given in hierarchies.items()
    }
    own = given_ladders(given, names, files)
    taken = {name for columns in own for name in columns}
    fixed = {name for key in always for name in ((key,) if isinstance(key, str) else key)}
    both = sorted(taken & fixed)
    if both:
        raise ParameterError(f"The column '{both[0]}' has a coarsening that must be and a ladder: give one of them.")
    automatic = {
        (name,): ladder_of(frame.get_column(name), tree=trees.get(name), file=files.get(name, ""))
        for name in names
        if name not in taken | fixed
    }
    ladders = [ladder for ladder in (own | automatic).values() if ladder.rungs]
    if not ladders:
        raise ParameterError(
            "No quasi-identifier can be made coarser: there is none whose coarsening is open and that has two values. "
            "Name a hierarchy, or ladders of coarsenings."
        )
    return sorted(ladders, key=lambda ladder: names.index(ladder.columns[0]))


@dataclass(kw_only=True, repr=False, eq=False)
class _Search:
    """A search that a clock or Ctrl-C may end, and what it has found."""

    evaluator: Evaluator
    deadline: float
    """When it must end, by the clock of `time.perf_counter`."""
    seconds: float
    progress: Progress
    settings: dict[Node, Setting] = field(default_factory=dict)
    """What was tried, in this order; the untouched setting comes first."""
    screened: dict[Node, Setting] = field(default_factory=dict)
    """What was tried with the stand-in."""

    def run(self, stand_in: Algorithm | None) -> str:
        """Try settings until all were tried, nothing better is in sight or the time is over, and say which."""
        heights = [len(ladder.rungs) for ladder in self.evaluator.ladders]
        patience = _PATIENCE * sum(heights)
        try:
            with interruptible():
                if stand_in is None:
                    complete = lattice_search(heights, self._try, patience=patience)
                    return "complete" if complete else "settled"
                return self._run_with(stand_in, heights, patience)
        except _TimeIsOverError:
            return "time"
        except KeyboardInterrupt:
            if all(setting.loss is None for setting in self.settings.values()):
                raise
            return "interrupted"

    def _run_with(self, stand_in: Algorithm, heights: Sequence[int], patience: int) -> str:
        self._try((0,) * len(heights))
        left = max(self.deadline - time.perf_counter(), 0.0)
        until = time.perf_counter() + left * _SCREENING

        def screen(node: Node) -> float:
            if self.screened and time.perf_counter() >= until:
                raise _TimeIsOverError
            self._tell()
            setting = self.screened[node] = self.evaluator.evaluate(node, stand_in)
            return math.inf if setting.loss is None else setting.loss

        ended = "settled"
        try:
            lattice_search(heights, screen, patience=patience)
        except _TimeIsOverError:
            ended = "time"
        for node in _worth_trying(self.screened):
            if node not in self.settings:
                self._try(node, even_late=len(self.settings) == 1)
        return ended

    def _try(self, node: Node, *, even_late: bool = False) -> float:
        if self.settings and not even_late and time.perf_counter() >= self.deadline:
            raise _TimeIsOverError
        self._tell()
        setting = self.settings[node] = self.evaluator.evaluate(node)
        if len(self.settings) == 1 and setting.error is not None and not isinstance(setting.error, InfeasibleError):
            raise setting.error
        return math.inf if setting.loss is None else setting.loss

    def _tell(self) -> None:
        total = max(int(self.seconds * 1000), 1)
        left = max(int((self.deadline - time.perf_counter()) * 1000), 0)
        self.progress("search", max(total - left, 0), total)


def _worth_trying(screened: Mapping[Node, Setting]) -> list[Node]:
    """Return the settings that lose least with the stand-in, then some of its trade-off."""
    able = {node: setting for node, setting in screened.items() if setting.loss is not None}
    ranked = sorted(able, key=lambda node: (able[node].loss, sum(node), node))
    front = trade_off_of(able)
    step = max(len(front) / _OF_TRADE_OFF, 1.0)
    spread = [front[int(at * step)] for at in range(min(len(front), _OF_TRADE_OFF))]
    return list(dict.fromkeys([*ranked[:_PROMISING], *spread]))


def _best(settings: Mapping[Node, Setting]) -> Setting:
    """Return the setting with the least loss, the least coarse of equal ones.

    Raises
    ------
    InfeasibleError
        Where none can be published: the untouched setting's.
    """
    able = {node: setting.loss for node, setting in settings.items() if setting.loss is not None}
    if not able:
        error = next(iter(settings.values())).error
        raise error if error is not None else InfeasibleError("No setting can satisfy the request.")
    return settings[min(able, key=lambda node: (able[node], sum(node), node))]
