"""Entry point `tune`: search for the coarsening with the lowest loss after anonymization."""

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
from shoal.models.promises import check_together
from shoal.pipeline.input import open_data
from shoal.pipeline.prepare import interpret, select_publishable_rows
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
"""The time limit of a search."""
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

    A coarser column needs fewer stars, but keeps less information in the other cells. The total loss is measured
    against the original table, in which a coarse cell represents all its original values. The result is never worse
    than no coarsening, which is tried first.

    Parameters
    ----------
    data, request
        As for `shoal.anonymize`.
    **options
        The fields of `shoal.Request`.
    loss : {"gcp", "kl_divergence", "non_uniform_entropy"}, optional
        The loss to minimize. The default is the global certainty penalty, which counts the possible values of a cell
        regardless of their frequencies. The KL-divergence penalizes merging rare names with frequent ones.
    seconds : number
        The time limit. A setting that has been started is finished. An algorithm with a long search of its own (such as
        `cluster` or `sabre`) evaluates only the most promising settings, which a fast stand-in selects.
    ladders : mapping of column to list of Coarsening, optional
        The coarsenings to choose from, the finest first; an empty list leaves a column untouched. By default these are
        the levels of the column's hierarchy if it has one, else suitable coarsenings; see `shoal.verbs.tune.ladder_of`.
    progress : callable, optional
        Called regularly with (step, done, total).

    Returns
    -------
    Tuning
        The best setting, in the form of `coarsen=`, and all settings that were tried. The same input gives the same
        result, unless the time limit or Ctrl-C ended the search (which keeps what was found): see `ended`.

    Raises
    ------
    UsageError
        The call or the data is invalid; the message names the remedy.
    InfeasibleError
        No setting that was tried satisfies the request.

    Notes
    -----
    Columns in `coarsen` keep that coarsening and are not tuned, but their loss counts. The levels of `hierarchies` are
    coarsenings to choose from; under generalization they are used for recoding as well. With a `seed`, the random
    choices of the algorithm are the same in every setting. Without a seed, a release made from the result makes its own
    random choices, so its loss may differ slightly.

    The choice of the setting depends on the whole table. The public certificate of a release states that a search was
    made, but not its result. Readers see the setting in the published cells, and learn that other settings had a higher
    loss. This reveals little about any person, but there is no formal guarantee. The table of all settings, the curve
    and the chart contain losses and stars of releases that were never published: they are written to private files
    only.

    References
    ----------
    X. Xiao, K. Yi and Y. Tao, "The hardness and approximation algorithms for l-diversity", EDBT 2010, Section 5.6.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.census(200, quasi_identifiers=["age", "gender"], seed=1)
    >>> result = shoal.tune(table, quasi_identifiers=["age", "gender"], sensitive="income", l=2, seconds=5)
    >>> result.best.loss <= result.untouched.loss
    True
    """
    request = request_of(tune, request, options)
    check_together(request.asked | {"tune"})
    validate("tune", {"seconds": seconds}, {"seconds": _SECONDS})
    loss = check_loss("tune", loss)
    start = time.perf_counter()
    report = progress or silent
    report("read", 0, 1)
    opened = open_data(data, **request.reading)
    # The levels of hierarchies are coarsenings to choose from; only generalization recodes to their nodes.
    recoded = request if request.recoding == "generalization" else replace(request, hierarchies=None)
    resolved = recoded.resolve(opened.frame.columns)
    schema, always = resolved.schema, {**resolved.coarsenings, **resolved.attribute_coarsenings}
    if resolved.requirement.population is not None:
        raise ParameterError(
            "A model that needs a population cannot be tuned: coarsening changes the values that link its people. "
            "Use anonymize, with hierarchies."
        )
    opened = opened.normalized(schema.quasi_identifiers + schema.sensitive) if resolved.normalize else opened
    original = opened
    opened = interpret(
        opened, replace(resolved, hierarchies=request.trees), dates=resolved.dates, decimal=resolved.decimal
    )
    # The evaluator encodes the rows once; settings replace single columns.
    frame, rows = select_publishable_rows(opened, schema, resolved.missing_sensitive)
    evaluator = Evaluator(
        opened=opened,
        frame=frame,
        rows=rows,
        request=replace(resolved, seed=resolved.seed or 0),
        loss=loss,
        ladders=_ladders(frame, schema, always, ladders or {}, request.trees, request.hierarchies or {}),
    )
    evaluator.untouched.check(resolved.requirement)
    # Slow algorithms are replaced by a fast one for most of the search.
    stand_in = resolved.chosen.capabilities.stand_in if len(rows) > _FEW else None
    found = _Search(evaluator=evaluator, deadline=start + float(seconds), seconds=float(seconds), progress=report)
    ended = found.run(stand_in)
    raw: dict[str, Any] = dict.fromkeys(request.reading)  # the table was read and cleaned
    # The result keeps the table and the request, so that a release can be made from it.
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
        warnings=warn_of_persons(opened, rows, resolved),
        opened=original,
        request=replace(recoded, coarsen=None, **raw),
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
    settings: dict[Node, Setting] = field(default_factory=dict)
    """The evaluated settings in their order; the untouched setting comes first."""
    screened: dict[Node, Setting] = field(default_factory=dict)
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


def _worth_trying(screened: Mapping[Node, Setting]) -> list[Node]:
    """Return the settings with the lowest loss by the stand-in, then some of its trade-off."""
    # Rank by loss, then spread further settings over the trade-off.
    able = {node: setting for node, setting in screened.items() if setting.loss is not None}
    ranked = sorted(able, key=lambda node: (able[node].loss, sum(node), node))
    front = trade_off_of(able)
    step = max(len(front) / _OF_TRADE_OFF, 1.0)
    spread = [front[int(at * step)] for at in range(min(len(front), _OF_TRADE_OFF))]
    return list(dict.fromkeys([*ranked[:_PROMISING], *spread]))


def _best(settings: Mapping[Node, Setting]) -> Setting:
    """Return the setting with the lowest loss; of several, the least coarse.

    Raises
    ------
    InfeasibleError
        If no setting can be published; the error is that of the untouched setting.
    """
    able = {node: setting.loss for node, setting in settings.items() if setting.loss is not None}
    if not able:
        error = next(iter(settings.values())).error
        raise error if error is not None else InfeasibleError("No setting can satisfy the request.")
    return settings[min(able, key=lambda node: (able[node], sum(node), node))]
