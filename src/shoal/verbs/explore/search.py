"""The search for the coarsening with the lowest loss after anonymization, as candidates of `explore`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.progress import Progress, interruptible
from shoal.algorithms.base import Algorithm
from shoal.engines.memory import InMemory
from shoal.errors import InfeasibleError, ParameterError, UnsupportedError
from shoal.findings import Remark, repeated_person, respelled_persons, uncounted_persons
from shoal.hierarchy import Coarsening, Hierarchy
from shoal.pipeline.input import OpenedData
from shoal.pipeline.prepare import interpret
from shoal.release.release import Release
from shoal.request.request import Request
from shoal.table import Schema
from shoal.verbs.explore.candidate import Candidate
from shoal.verbs.explore.evaluation import Evaluator
from shoal.verbs.explore.exploration import Exploration, Searched
from shoal.verbs.explore.ladders import Ladder, given_ladders, ladder_of
from shoal.verbs.explore.lattice import Node, lattice_search


def warn_of_persons(opened: OpenedData, rows: NDArray[np.int32], request: Request) -> tuple[Remark, ...]:
    """Return the warnings that every release of a table has if persons have several records that nothing protects.

    Parameters
    ----------
    opened : OpenedData
        The table, row by row, with all columns.
    rows : int32 array
        The rows that may be published.
    request : Request
        What is requested of the releases; columns may lack a role.
    """
    schema = request.schema
    # Any other column may identify the persons; none of them is published here.
    others = [name for name in opened.frame.columns if name not in (*schema.published, *schema.owner_columns)]
    hidden = replace(schema, direct_identifiers=tuple(others))
    persons = InMemory(opened=opened).persons(opened, rows, hidden)
    return (
        *repeated_person(persons),
        *respelled_persons(opened.raw_frame, schema),
        *uncounted_persons(request.requirement.to_list()),
    )


_PATIENCE = 10
"""Settings per rung without improvement after the descent, before the search ends."""
_FEW = 500
"""Tables of at most this size need no stand-in: every algorithm is fast on them."""
_SCREENING = 0.5
"""Share of the time for the search with the stand-in; the remainder is for evaluating its best settings."""
_PROMISING = 4
"""Settings that are evaluated because they have the lowest loss with the stand-in."""
_OF_TRADE_OFF = 6
"""Further settings from the trade-off between both kinds of loss, from the finest to the coarsest."""


class _TimeIsOverError(Exception):
    """Raised when the time limit is reached."""


def search_coarsenings(
    opened: OpenedData,
    request: Request,
    *,
    ladders: Mapping[str | tuple[str, ...], Sequence[Coarsening]],
    loss: str,
    seconds: float,
    progress: Progress,
    publish: Callable[..., Release],
) -> Exploration:
    """Search for the coarsening with the lowest loss; the parameters are those of `explore`, and `publish`.

    Raises
    ------
    UsageError
        If nothing can be coarsened, or the request does not allow a search.
    InfeasibleError
        If no coarsening that was tried has a release.
    """
    start = time.perf_counter()
    # The levels of hierarchies are coarsenings to choose from; only generalization recodes to their nodes.
    recoded = request if request.recoding == "generalization" else replace(request, hierarchies=None)
    resolved = recoded.resolve(opened.frame.columns)
    schema, always = resolved.schema, {**resolved.coarsenings, **resolved.attribute_coarsenings}
    if resolved.requirement.population is not None:
        raise ParameterError(
            "A model that needs a population does not allow a search for coarsenings, which change the values that "
            "link its people. Use anonymize, with hierarchies."
        )
    if "resist" in request.features:
        raise UnsupportedError(
            "A search for coarsenings does not resist adversaries who know the method: its result depends on many "
            "releases. Use anonymize."
        )
    opened = opened.normalized(schema.quasi_identifiers + schema.sensitive) if resolved.normalize else opened
    opened = interpret(
        opened, replace(resolved, hierarchies=request.trees), dates=resolved.dates, decimal=resolved.decimal
    )
    # The evaluator encodes the rows once; settings replace single columns.
    frame, rows = opened.select_publishable(schema, resolved.missing_sensitive)
    evaluator = Evaluator(
        opened=opened,
        frame=frame,
        rows=rows,
        request=replace(resolved, seed=resolved.seed or 0),
        loss=loss,
        ladders=_ladders(frame, schema, always, ladders, request.trees, request.hierarchies or {}),
    )
    evaluator.untouched.check(resolved.requirement)
    # Slow algorithms are replaced by a fast one for most of the search.
    stand_in = resolved.chosen.capabilities.stand_in if len(rows) > _FEW else None
    found = _Search(evaluator=evaluator, deadline=start + seconds, seconds=seconds, progress=progress)
    ended = found.run(stand_in)
    settings = tuple(found.settings.values())
    if not any(one.able for one in settings):
        raise settings[0].error or InfeasibleError("No setting can satisfy the request.")
    searched = Searched(
        ladders=tuple(evaluator.ladders),
        always=dict(always),
        screened=len(found.screened),
        stand_in=None if stand_in is None else stand_in.name,
        seconds=time.perf_counter() - start,
    )
    return Exploration(
        rows=settings,
        loss=loss,
        quasi_identifiers=schema.quasi_identifiers,
        sensitive=schema.sensitive,
        records=len(rows),
        searched=searched,
        ended=ended,
        warnings=warn_of_persons(opened, rows, resolved),
        publish=partial(publish, searched),
    )


def _ladders(
    frame: pl.DataFrame,
    schema: Schema,
    always: Mapping[str | tuple[str, ...], Coarsening],
    given: Mapping[str | tuple[str, ...], Sequence[Coarsening]],
    trees: Mapping[str, Hierarchy],
    hierarchies: Mapping[str, Hierarchy | str | PathLike[str]],
) -> list[Ladder]:
    """Return the non-empty ladders: those passed by the caller, and default ones for the other columns."""
    names = schema.quasi_identifiers
    files = {
        name: str(given) if isinstance(given, str | PathLike) else trees[name].source or f"{name}.csv"
        for name, given in hierarchies.items()
    }
    # Columns have a given ladder, a fixed coarsening, or an automatic ladder.
    own = given_ladders(given, names, files)
    taken = {name for columns in own for name in columns}
    fixed = {name for key in always for name in ((key,) if isinstance(key, str) else key)}
    both = sorted(taken & fixed)
    if both:
        raise ParameterError(f"The column '{both[0]}' has a fixed coarsening and a ladder: give only one of them.")
    automatic = {
        (name,): ladder_of(frame.get_column(name), tree=trees.get(name), file=files.get(name, ""))
        for name in names
        if name not in taken | fixed
    }
    ladders = [ladder for ladder in (own | automatic).values() if ladder.rungs]
    if not ladders:
        raise ParameterError(
            "No quasi-identifier can be made coarser: none that is open to tuning has two values. "
            "Name a hierarchy, or ladders of coarsenings."
        )
    return sorted(ladders, key=lambda ladder: names.index(ladder.columns[0]))


@dataclass(kw_only=True, repr=False, eq=False)
class _Search:
    """A search that ends early on timeout or Ctrl-C, with the settings evaluated so far."""

    evaluator: Evaluator
    deadline: float
    """The end of the search, in the time of `time.perf_counter`."""
    seconds: float
    progress: Progress
    settings: dict[Node, Candidate] = field(default_factory=dict)
    """The evaluated settings in their order; the untouched setting comes first."""
    screened: dict[Node, Candidate] = field(default_factory=dict)
    """The settings evaluated with the stand-in."""

    def run(self, stand_in: Algorithm | None) -> str:
        """Run the search and return the reason why it ended: "complete", "settled", "time" or "interrupted"."""
        # The patience grows with the size of the lattice.
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
        # The untouched setting is always evaluated with the requested algorithm.
        self._try((0,) * len(heights))
        left = max(self.deadline - time.perf_counter(), 0.0)
        until = time.perf_counter() + left * _SCREENING

        def screen(node: Node) -> float:
            if self.screened and time.perf_counter() >= until:
                raise _TimeIsOverError
            self._report_progress()
            setting = self.screened[node] = self.evaluator.evaluate(node, stand_in)
            return math.inf if setting.loss is None else setting.loss

        ended = "settled"
        try:
            lattice_search(heights, screen, patience=patience)
        except _TimeIsOverError:
            ended = "time"
        # Evaluate the most promising settings with the requested algorithm.
        for node in _worth_trying(self.screened):
            if node not in self.settings:
                self._try(node, even_late=len(self.settings) == 1)
        return ended

    def _try(self, node: Node, *, even_late: bool = False) -> float:
        if self.settings and not even_late and time.perf_counter() >= self.deadline:
            raise _TimeIsOverError
        self._report_progress()
        setting = self.settings[node] = self.evaluator.evaluate(node)
        # An error of the untouched setting is one of the request, unless a coarsening may help.
        if len(self.settings) == 1 and setting.error is not None and not isinstance(setting.error, InfeasibleError):
            raise setting.error
        return math.inf if setting.loss is None else setting.loss

    def _report_progress(self) -> None:
        total = max(int(self.seconds * 1000), 1)
        left = max(int((self.deadline - time.perf_counter()) * 1000), 0)
        self.progress("search", max(total - left, 0), total)


def _worth_trying(screened: Mapping[Node, Candidate]) -> list[Node]:
    """Return the settings with the lowest loss by the stand-in, then some of its trade-off."""
    # Rank by loss, then spread further settings over the trade-off.
    able = {node: setting for node, setting in screened.items() if setting.loss is not None}
    ranked = sorted(able, key=lambda node: (able[node].loss, sum(node), node))
    front: list[Node] = []
    # In ascending order of one loss, a setting is optimal if and only if its other loss is a new minimum.
    for node in sorted(able, key=lambda node: able[node].losses):
        if not front or able[node].losses[1] < able[front[-1]].losses[1]:
            front.append(node)
    step = max(len(front) / _OF_TRADE_OFF, 1.0)
    spread = [front[int(at * step)] for at in range(min(len(front), _OF_TRADE_OFF))]
    return list(dict.fromkeys([*ranked[:_PROMISING], *spread]))
