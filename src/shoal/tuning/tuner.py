"""`tune`: the coarsening that loses the least once the table is anonymized."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from fractions import Fraction
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from shoal._progress import Progress, interruptible, silent
from shoal._validation import Boolean, Integer, OneOf, Optional, RationalIn, validate
from shoal.algorithms import choose, table_counts
from shoal.errors import InfeasibleError, ParameterError
from shoal.models import Requirement
from shoal.publish import open_data, roles, rows_to_publish, trees_of, understood
from shoal.recoding import LARGEST_SET, METHODS
from shoal.tuning.evaluation import Evaluator, check_loss
from shoal.tuning.ladders import given_ladders, ladder_of
from shoal.tuning.result import Setting, Tuning
from shoal.tuning.search import lattice_search

if TYPE_CHECKING:
    import polars as pl

    from shoal.algorithms import Algorithm
    from shoal.hierarchy import Coarsening, Hierarchy
    from shoal.models import PrivacyModel
    from shoal.table import Schema
    from shoal.tuning.ladders import Ladder
    from shoal.tuning.search import Node

__all__ = ["tune"]

_PATIENCE = 10
"""After the descent so many settings for each rung may bring nothing before the search ends."""


class _TimeIsOverError(Exception):
    """The budget is spent."""


def tune(
    data: Any,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str | Sequence[str] | None = None,
    privacy: PrivacyModel | Sequence[PrivacyModel],
    loss: str | None = None,
    seconds: float = 30,
    ladders: Mapping[str | tuple[str, ...], Sequence[Coarsening]] | None = None,
    algorithm: str | Algorithm = "auto",
    coarsen: Mapping[str | tuple[str, ...], Coarsening] | None = None,
    hierarchies: Mapping[str, Hierarchy | str | PathLike[str]] | None = None,
    recoding: Literal["suppression", "generalization"] = "suppression",
    largest_set: int = LARGEST_SET,
    direct_identifiers: Sequence[str] = (),
    insensitive: Sequence[str] = (),
    missing_sensitive: str = "error",
    star: str = "*",
    keep_order: bool = False,
    seed: int | None = None,
    dates: Mapping[str, str] | None = None,
    decimal: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    progress: Progress | None = None,
) -> Tuning:
    """Search for the coarsening of the quasi-identifiers that loses the least once the table is anonymized.

    A coarser column needs fewer stars, and says less where there is none. What both cost together is measured against
    the original table, where a coarse cell stands for all original values in it. The search is never worse than no
    coarsening, which it tries first.

    Parameters
    ----------
    data, quasi_identifiers, sensitive, privacy, algorithm, recoding, largest_set
        As for `shoal.anonymize`.
    direct_identifiers, insensitive, missing_sensitive, star, keep_order, dates, decimal, delimiter, encoding
        As for `shoal.anonymize`.
    loss : {"kl_divergence", "gcp", "non_uniform_entropy"}, optional
        What to minimize; the KL-divergence under suppression, the global certainty penalty under generalization, unless
        named. With the KL-divergence names that occur rarely are dear to merge with frequent ones; the certainty
        penalty counts how many values a cell may be, however often they occur.
    seconds : number
        How long to search. The setting that is being tried when they are over is still finished.
    ladders : mapping of column to list of Coarsening, optional
        The coarsenings to choose from, the finest first; an empty list leaves a column untouched. By default the levels
        of the column's hierarchy where it has one, else what fits its values; see `shoal.tuning.ladder_of`.
    coarsen : mapping of column to Coarsening, optional
        Coarsenings that must be: these columns are not tuned. Their loss counts.
    hierarchies : mapping of column to Hierarchy or path, optional
        Whose levels are coarsenings to choose from. Under generalization they are used for recoding as well.
    seed : int, optional
        Of the algorithm's random choices, the same in every setting. Without one, a release that is made of the result
        draws its own, and may lose a little more or less than the setting did.
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
    The setting is chosen by the whole table. The public certificate of a release says that a search was made, and not
    what it found: readers see that in the published cells as far as these show it, and learn that other settings lost
    more, which says little of any person, but it is no formal guarantee. The table of all settings, the curve and the
    picture tell losses and stars of releases that were never published: they are in private files only.

    References
    ----------
    X. Xiao, K. Yi and Y. Tao, "The hardness and approximation algorithms for l-diversity", EDBT 2010, Section 5.6.
    """
    options = {
        "recoding": recoding,
        "largest_set": largest_set,
        "missing_sensitive": missing_sensitive,
        "keep_order": keep_order,
        "seed": seed,
    }
    _check(seconds=seconds, star=star, **options)
    loss = check_loss("tune", loss, recoding)
    start = time.perf_counter()
    told = progress or silent
    told("read", 0, 1)
    opened = open_data(data, delimiter=delimiter, encoding=encoding)
    schema = roles(quasi_identifiers, sensitive, direct_identifiers, insensitive)
    schema.check(opened.frame.columns)
    requirement = Requirement.of(privacy, schema.sensitive)
    trees = trees_of(hierarchies or {}, schema.quasi_identifiers)
    chosen, _ = choose(algorithm, requirement, recoding)
    meant, _ = understood(
        opened, schema, requirement, dates=dates, decimal=decimal, coarsen=coarsen, hierarchies=hierarchies
    )
    frame, _ = rows_to_publish(meant.frame, schema, missing_sensitive)
    always = coarsen or {}
    evaluator = Evaluator(
        frame=frame,
        schema=schema,
        requirement=requirement,
        algorithm=chosen,
        recoding=recoding,
        star=star,
        largest_set=largest_set,
        keep_order=keep_order,
        loss=loss,
        seed=0 if seed is None else seed,
        ladders=_ladders(frame, schema, always, ladders or {}, trees, hierarchies or {}),
        trees=trees if recoding == "generalization" else {},
        always=always,
    )
    requirement.check_feasible(table_counts(evaluator.table))
    settings, ended = _search(evaluator, start=start, seconds=float(seconds), progress=told)
    publishing = {"hierarchies": hierarchies} if hierarchies and recoding == "generalization" else {}
    request = {
        "quasi_identifiers": schema.quasi_identifiers,
        "sensitive": schema.sensitive,
        "privacy": privacy,
        "algorithm": algorithm,
        "direct_identifiers": schema.direct_identifiers,
        "insensitive": schema.insensitive,
        "star": star,
        "dates": dates,
        "decimal": decimal,
        **publishing,
        **options,
    }
    return Tuning(
        loss=loss,
        settings=tuple(settings.values()),
        best=_best(settings),
        ladders=tuple(evaluator.ladders),
        always=dict(always),
        ended=ended,
        seconds=time.perf_counter() - start,
        opened=opened,
        request=request,
    )


def _check(**options: Any) -> None:
    validate(
        "tune",
        options,
        {
            "seconds": RationalIn(low=Fraction(0), low_included=False),
            "recoding": OneOf(tuple(METHODS)),
            "largest_set": Integer(low=1),
            "missing_sensitive": OneOf(("error", "value", "drop")),
            "keep_order": Boolean(),
            "seed": Optional(Integer(low=0)),
        },
    )
    if not isinstance(options["star"], str) or not options["star"].strip():
        raise ParameterError("The 'star' parameter of tune must be a text that is not blank.")


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


def _search(
    evaluator: Evaluator, *, start: float, seconds: float, progress: Progress
) -> tuple[dict[Node, Setting], str]:
    """Try settings until all were tried, nothing better is in sight or the time is over, and say which."""
    settings: dict[Node, Setting] = {}

    def loss_of(node: Node) -> float:
        elapsed = time.perf_counter() - start
        if settings and elapsed >= seconds:
            raise _TimeIsOverError
        progress("search", min(int(elapsed * 1000), int(seconds * 1000)), max(int(seconds * 1000), 1))
        setting = settings[node] = evaluator.evaluate(node)
        if len(settings) == 1 and setting.error is not None and not isinstance(setting.error, InfeasibleError):
            raise setting.error
        return math.inf if setting.loss is None else setting.loss

    heights = [len(ladder.rungs) for ladder in evaluator.ladders]
    try:
        with interruptible():
            complete = lattice_search(heights, loss_of, patience=_PATIENCE * sum(heights))
    except _TimeIsOverError:
        return settings, "time"
    except KeyboardInterrupt:
        if all(setting.loss is None for setting in settings.values()):
            raise
        return settings, "interrupted"
    return settings, "complete" if complete else "settled"


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
