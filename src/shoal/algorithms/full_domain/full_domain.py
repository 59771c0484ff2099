"""Optimal full-domain generalization, and iterated local recoding on top of it.

References
----------
.. [1] P. Samarati: Protecting respondents' identities in microdata release. IEEE TKDE 13(6), 2001.
   https://doi.org/10.1109/69.971193
.. [2] K. LeFevre, D. J. DeWitt, R. Ramakrishnan: Incognito: efficient full-domain k-anonymity. SIGMOD 2005.
   https://doi.org/10.1145/1066157.1066164
.. [3] K. El Emam, F. K. Dankar, R. Issa, et al.: A globally optimal k-anonymity method for the de-identification of
   health data. JAMIA 16(5), 2009. https://doi.org/10.1197/jamia.M3144
.. [4] F. Kohlmayer, F. Prasser, C. Eckert, A. Kemper, K. A. Kuhn: Flash: efficient, stable and optimal k-anonymity.
   PASSAT 2012. https://doi.org/10.1109/SocialCom-PASSAT.2012.52
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.validation import (
    Boolean,
    Integer,
    OneOf,
    RationalIn,
    exact_fraction,
    parameter,
)
from shoal._messages import Suggestion
from shoal.algorithms.base import TIME_LIMIT, Algorithm, Capabilities, Guarantee, Partition, Problem
from shoal.algorithms.full_domain.lattice import Judge, Lattice, Node
from shoal.algorithms.full_domain.lattice_costs import COSTS, OF_CELLS, CellCost, CellLosses, cost_of, places_of
from shoal.algorithms.full_domain.lattice_kernel import ACCEPTED, Classes
from shoal.algorithms.full_domain.lattice_search import Best, Budget, Search, WholeRelease
from shoal.algorithms.lattice import draw_groups_of_rows, usual_moves
from shoal.errors import InfeasibleError
from shoal.metrics import METRICS, Metrics, ncp
from shoal.models.requirement import Requirement
from shoal.recoding import STAR_LEVEL, Recoding, recode

_CHARGES = (1 / 64, 3 / 1000), (1 / 16, 0.0), (1.0, 0.0)
"""For the first rounds of local recoding: the cost of a suppressed cell relative to the loss of a star, and the
smallest share of all rows that a round groups. If later rounds can win rows back, the first rounds need not coarsen
many rows to save a few, and should not be spent on few."""
_GROWTH = 1.125
"""Factor on the cost of a suppressed cell if a round makes no further group."""
_BEYOND = 32
"""Number of nodes that a round evaluates beyond a descent, if a suppressed cell counts a part; at its full loss the
first round finds the optimum, so that local recoding never loses more."""
_ROUND_SHARE = 6
"""A round may take one part in this many of the remaining seconds."""
_SHARE_OF_COUNTED = 2
"""The same if a round has few nodes, so that the clock hardly ever ends it."""

_COSTS = [f"{name} (maximized)" if METRICS[name].higher_is_better else name for name in COSTS]

_WEIGHED_LOCALLY = ("gcp", "stars")
"""The metrics for which local recoding supports weights of attributes."""

_ANY_STAR = "\ue000star"
"""A placeholder for a star that is not a value of any table."""


@dataclass(frozen=True)
class FullDomain(Algorithm):
    """One level of its hierarchy for each attribute, the same for all rows: the levels of least loss.

    Parameters
    ----------
    suppression_limit : number, default 1
        The largest share of rows that may be suppressed, from 0 to 1: published as stars only, so that the others keep
        more.
    cost : str, default "gcp"
        The metric to minimize, by its name in `shoal.metrics`; the precision is maximized.
    local : bool, default False
        Whether the search is repeated on the suppressed rows as long as it gains something. Groups keep their own
        levels then, and the result is not an optimum.
    time_limit : number, default 20
        Seconds, > 0, after which the best node so far is published, with its gap.
    most_nodes : int, default 200,000
        Nodes that may be evaluated, at least 1; the same for every run on any machine.

    Notes
    -----
    All nodes of the lattice of levels are searched except for those that a bound rules out. Deviations from the
    algorithms of the literature, which walk the lattice by paths or level by level:

    * boxes of nodes are branched on and bounded, best first. The loss of a generalization is known of every node
      beforehand, or bounds that of all above; rows that stay unacceptable in every finer partition (too few of them,
      too few distinct values) are suppressed at all nodes below. Nothing is assumed of models that are not monotone in
      this sense: a box is ruled out because of its highest node only if the limit is 0, or by such rows;
    * the suppressed rows are a group like every other, and must satisfy the requirement. If they do not, acceptable
      classes join them, smallest first (ties in the order of their values), until they do; a node where more rows than
      the limit are suppressed then is infeasible;
    * the same holds for models of the whole release: acceptable classes join the suppressed rows, smallest first, until
      the release is acceptable. If its sizes are judged by an estimate, numbers of joining classes above 16 are skipped
      and bisected;
    * classes are suppressed as a whole, and no other choice of them is tried: the optimum is one of these releases;
    * rows of stars only count as suppressed, for any reason: the node of stars everywhere is feasible only
      if all rows may be suppressed;
    * levels that publish the same as the one below do not count, nor do names of the root below the last level;
    * ties go to the node of the lowest global certainty penalty, then to the first in the order of levels.

    In local recoding by a metric that is a sum over cells, the rounds are run three times: with a suppressed cell at
    its full loss, and at two small parts of it that grow if rounds find no group; with the smallest, a round groups at
    least three in a thousand of all rows as long as possible. With both, a round evaluates few nodes beyond a descent
    from the top. The best result is used. A group is published at its lowest common ancestors if that loses no more.
    For t-closeness by the equal distance, groups like the table are drawn from the rows of each node by `cluster`'s
    first steps, too, if the metric is the global certainty penalty; the better result is used.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> release = shoal.anonymize(
    ...     people,
    ...     quasi_identifiers=["age", "gender"],
    ...     sensitive="income",
    ...     k=5, algorithm=shoal.algorithms.FullDomain(), recoding="generalization", seed=1,
    ... )
    >>> release.certificate.achieved["k"] >= 5
    True
    """

    suppression_limit: Real | float = field(
        default=1,
        metadata=parameter(
            RationalIn(low=Fraction(0), high=Fraction(1)),
            "The largest share of records that may be suppressed, 0 to 1 (0.05, 1/20).",
            flag="--suppression-limit",
            metavar="SHARE",
        ),
    )
    cost: str = field(
        default="gcp",
        metadata=parameter(
            OneOf(COSTS), f"The metric to minimize: {', '.join(_COSTS)}.", flag="--cost", metavar="METRIC"
        ),
    )
    local: bool = field(
        default=False,
        metadata=parameter(
            Boolean(),
            "Repeat the search among the suppressed records, which get levels of their own, until the loss no longer "
            "decreases.",
            flag="--local",
        ),
    )
    time_limit: Real | float = field(
        default=20, metadata=parameter(RationalIn(low=Fraction(0), low_included=False), **TIME_LIMIT)
    )
    most_nodes: int = field(default=200_000, metadata=parameter(Integer(low=1), "Nodes that may be evaluated."))
    name: ClassVar[str] = "full-domain"
    """Name of the algorithm in requests and certificates."""
    capabilities: ClassVar[Capabilities] = Capabilities(
        hierarchical=True, judges_releases=True, weights=True, limits=True
    )
    """Capabilities of the algorithm; suppressed rows are stars at any limits of levels."""

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as they appear in a certificate."""
        return {
            "suppression_limit": float(self.suppression_limit),
            "cost": self.cost,
            "local": self.local,
            "time_limit": float(self.time_limit),
            "most_nodes": int(self.most_nodes),
        }

    def refused_weights(self) -> str | None:
        """Explain why attributes have no weights in its loss, in words that follow "because"; None if they have."""
        if self.cost not in OF_CELLS:
            return f"attributes have weights only in a cost that is a sum over cells: {', '.join(OF_CELLS)}"
        if self.local and self.cost not in _WEIGHED_LOCALLY:
            return f"local recoding weighs attributes for {' and '.join(_WEIGHED_LOCALLY)} only"
        return None

    def unsupported(self, requirement: Requirement) -> str | None:
        """Explain why a requirement cannot be served, in words that follow "because"."""
        if self.local and requirement.table_models:
            return "local recoding decides about some groups after others; without it, models of a release are served"
        return super().unsupported(requirement)

    def group_rows(self, problem: Problem) -> Partition:
        """Find the groups; see `Algorithm.partition`.

        Raises
        ------
        InfeasibleError
            If every node suppresses more rows than the limit allows; describes the nearest node.
        """
        most = int(exact_fraction(self.suppression_limit) * problem.table.rows)
        task = Task.of(problem, self.cost)
        budget = Budget(nodes=int(self.most_nodes), until=time.perf_counter() + float(self.time_limit))
        # Local recoding repeats the search; otherwise a single search decides.
        if self.local:
            return _local(task, most, budget, self)
        search = task.search(task.judge.classes, most)
        best = search.run(budget, self.name, problem.progress)
        if best.node is None:
            raise _infeasible(task, best, self)
        layers = _Layers(task)
        layers.add(search, best.node)
        layers.close()
        return Partition(
            groups=layers.groups,
            count=len(layers.least),
            guarantee=_guarantee(task, best),
            facts=_facts(task, best),
            least=np.array(layers.least, dtype=np.int32).reshape(len(layers.least), -1),
        )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Task:
    """A problem with its lattice, its requirement and its costs."""

    problem: Problem
    lattice: Lattice
    judge: Judge
    places: tuple[tuple[int, ...], ...]
    cells: CellLosses
    """The losses by the metric, or by the second metric if it is not a sum over cells."""
    penalty: CellLosses
    """The losses by the second metric."""
    cost: str
    whole: WholeRelease | None = None
    """Rules on a release as a whole, in place of those of the requirement."""

    @classmethod
    def of(cls, problem: Problem, cost: str) -> Task:
        """Lay out a problem and a metric."""
        table, levels, preferred = problem.table, problem.levels, problem.preferences
        lattice = Lattice.of(levels, [preferred.limits.get(column.name) for column in table.quasi_identifiers])
        penalty = CellLosses.of("gcp", lattice, levels, table, preferred.weights)
        summed = cost in ("precision", "non_uniform_entropy", "stars")
        return cls(
            problem=problem,
            lattice=lattice,
            judge=Judge.of(problem, combinations=cost == "kl_divergence"),
            places=places_of(lattice),
            cells=CellLosses.of(cost, lattice, levels, table, preferred.weights) if summed else penalty,
            penalty=penalty,
            cost=cost,
        )

    def search(self, classes: Classes, most: int, charge: float = 1.0) -> Search:
        """Create a search of the rows of given classes, with a suppressed cell at a part of the loss of a star."""
        cells = self.cells if charge == 1 else self.cells.charged(charge)
        problem = self.problem
        return Search(
            self.lattice,
            self.judge,
            classes,
            cost=cost_of(self.cost, problem, self.lattice, self.judge, classes, cells),
            second=CellCost(name="gcp", cells=self.penalty, totals=self.penalty.totals(self.lattice, classes), row=1),
            places=self.places,
            surcharges=np.stack([cells.surcharges(), self.penalty.surcharges()]),
            most=most,
            whole=self.whole,
        )

    def value(self, cost: int) -> float:
        """Convert a cost of all rows to the metric."""
        metric = cost_of(self.cost, self.problem, self.lattice, self.judge, self.judge.classes, self.cells)
        return metric.value(cost)

    def levels_of(self, node: Node) -> dict[str, int]:
        """Map each attribute's name to its level."""
        columns = self.problem.table.quasi_identifiers
        return {
            column.name: kept[place] for column, kept, place in zip(columns, self.lattice.levels, node, strict=True)
        }


class _Layers:
    """Groups that are made round by round, each with its levels; rows left at the end are stars."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self.left = np.ones(len(task.judge.classes.sizes), dtype=np.bool_)
        self.least: list[list[int]] = []
        self._group = np.full(len(self.left), -1, dtype=np.int32)

    def add(self, search: Search, node: Node) -> None:
        """Make the acceptable classes at a node groups; the search was of the remaining classes."""
        found, number = search.classes_at(node)
        accepted = found.verdict == ACCEPTED
        group = np.where(accepted, len(self.least) + np.cumsum(accepted) - 1, -1)
        self._group[self.left] = group[number]
        levels = [kept[place] for kept, place in zip(self._task.lattice.levels, node, strict=True)]
        self.least += [levels] * int(np.count_nonzero(accepted))
        self.left = self._group < 0

    def close(self) -> None:
        """Make one group of stars of the remaining classes."""
        if self.left.any():
            self._group[self.left] = len(self.least)
            self.least.append([STAR_LEVEL] * len(self._task.lattice.levels))

    @property
    def rest(self) -> Classes:
        """The remaining classes."""
        return self._task.judge.classes.chosen(self.left)

    @property
    def groups(self) -> NDArray[np.int32]:
        """The group of each row."""
        return self._group[self._task.judge.class_of_row]


def _guarantee(task: Task, best: Best) -> Guarantee:
    preferred = task.problem.preferences
    searched = {
        "metric": Fact("weighted_metric", metric=task.cost) if preferred.weights else task.cost,
        "releases": Fact("full_domain_within_limits" if preferred.limits else "full_domain"),
    }
    if best.proven:
        return Guarantee(promise=Fact("full_domain_optimal", **searched))
    found, bound = task.value(best.cost), task.value(best.bound)
    return Guarantee(promise=Fact("full_domain_stopped", **searched, found=float(found), bound=float(bound)))


def _facts(task: Task, best: Best) -> dict[str, Any]:
    assert best.node is not None
    found, bound = task.value(best.cost), task.value(best.bound)
    larger = max(abs(found), abs(bound))
    return {
        "metric": task.cost,
        "value": found,
        "bound": bound,
        "gap": 0.0 if best.proven or larger == 0 else abs(found - bound) / larger,
        "optimal": best.proven,
        "nodes": task.lattice.size,
        "evaluated": best.evaluated,
        "pruned": task.lattice.size - best.evaluated if best.proven else None,
        "levels": task.levels_of(best.node),
        "suppressed_rows": best.suppressed,
        "joined_rows": best.joined,
    }


def _infeasible(task: Task, best: Best, asked: FullDomain) -> InfeasibleError:
    """Describe the node that suppresses the fewest rows."""
    rows, node = best.nearest
    total = task.problem.table.rows
    share = Fraction(rows, total)
    levels = ", ".join(f"{name} {level}" for name, level in task.levels_of(node).items())
    whole = task.problem.requirement.table_models
    locally = () if whole else (", or recode locally with ", Suggestion("local", True))
    searched = "" if best.proven else f" of {best.evaluated:,} nodes out of {task.lattice.size:,}"
    # The limit may be met by the unacceptable classes alone.
    joined: tuple[str | Suggestion, ...] = ()
    if share <= exact_fraction(asked.suppression_limit):
        joined = (
            " The smallest other classes that join them do not make the release acceptable within the limit.",
            " No other choice of rows was searched",
            *(() if whole else (": ", Suggestion("algorithm", "cluster"), " groups rows one by one, without a limit")),
            ".",
        )
    return InfeasibleError(
        f"No full-domain generalization that suppresses at most {float(asked.suppression_limit):.4%} of the rows, in "
        f"whole classes and the smallest first, meets the request. In the nearest one{searched}, with the levels "
        f"{levels}, {rows:,} of {total:,} rows ({float(share):.4%}) must be suppressed.",
        *joined,
        " Allow more with ",
        Suggestion("suppression_limit"),
        ", ask for less, give hierarchies with more levels"
        if locally
        else ", ask for less, or give hierarchies with more levels",
        *locally,
        ".",
    )


def _local(task: Task, most: int, budget: Budget, asked: FullDomain) -> Partition:
    """Repeat the search on the remaining rows, with several charges for a suppressed cell; return the best result."""
    problem = task.problem
    charges = _CHARGES if task.cost in ("gcp", "precision", "non_uniform_entropy") else _CHARGES[-1:]
    began = time.perf_counter()
    results: list[tuple[float, int, bool, _Layers, list[dict[str, int]]]] = []
    # One series of rounds for each charge.
    for number, (charge, fewest) in enumerate(charges):
        share = Budget(
            nodes=budget.nodes,
            beyond=_BEYOND if charge < 1 else None,
            until=budget.until if number == len(charges) - 1 else began + 0.8 * (budget.until - began),
        )

        fewest_rows = int(fewest * problem.table.rows)
        layers, rounds = _rounds(task, most, charge, fewest_rows, share, (number, len(charges)))
        if layers is None:
            continue
        ways = (False,) if problem.preferences.limits else (False, True)  # common ancestors may be below a limit
        results += [(_loss(task, layers, tight=tight), number, tight, layers, rounds) for tight in ways]
    # Choose by loss, then by the order of the charges.
    if not results:
        raise _infeasible_locally(task, asked)
    problem.progress(asked.name, 1, 1)
    value, number, tight, layers, rounds = min(results, key=lambda result: result[:3])
    drawn = _drawn(task, most)
    if drawn is not None and drawn[0] < value:
        return Partition(
            groups=drawn[1],
            count=int(drawn[1].max()) + 1,
            guarantee=Guarantee(promise=Fact("local_recoding_drew")),
            facts={"metric": task.cost, "value": drawn[0], "nodes": task.lattice.size, "rounds": []},
        )
    return Partition(
        groups=layers.groups,
        count=len(layers.least),
        guarantee=Guarantee(promise=Fact("local_recoding")),
        facts={
            "metric": task.cost,
            "value": 1 - value if task.cost == "precision" else value,
            "nodes": task.lattice.size,
            "rounds": rounds,
            "charge": charges[number][0],
            "lowest_common_ancestors": tight,
        },
        least=None if tight else np.array(layers.least, dtype=np.int32).reshape(len(layers.least), -1),
    )


def _drawn(task: Task, most: int) -> tuple[float, NDArray[np.int32]] | None:
    """Draw groups from the rows of each node of the lattice; return their loss and the group of each row.

    None if no groups can be drawn for the request, if the metric is another, or if too many rows are stars only.
    """
    problem = task.problem
    if task.cost != "gcp" or problem.preferences.weights or problem.preferences.limits:
        return None
    groups = draw_groups_of_rows(problem, usual_moves(problem.table.rows))
    if groups is None:
        return None
    recoded = _recoded(task, groups, int(groups.max()) + 1, None)
    stars = np.all([column.stars for column in recoded.columns], axis=0)
    return None if recoded.sizes[stars].sum() > most else (Metrics(problem.table, recoded, groups).gcp, groups)


def _rounds(
    task: Task, most: int, charge: float, fewest: int, budget: Budget, part: tuple[int, int]
) -> tuple[_Layers | None, list[dict[str, int]]]:
    """Search, and search the suppressed rows again, until all of them would be suppressed again.

    A round groups at least `fewest` rows as long as possible. Returns no layers if more than `most` rows are left at
    the end.
    """
    layers = _Layers(task)
    rounds: list[dict[str, int]] = []
    rows = task.problem.table.rows

    def progress(step: str, done: int, total: int) -> None:
        grouped = rows - classes.rows
        task.problem.progress(step, part[0] * rows + grouped, part[1] * rows)

    # Each round searches the classes without a group.
    while layers.left.any():
        classes = layers.rest
        now = time.perf_counter()
        parts = _ROUND_SHARE if budget.beyond is None else _SHARE_OF_COUNTED
        share = replace(budget, until=now + (budget.until - now) / parts)
        search = task.search(classes, max(classes.rows - fewest, 0), charge)
        best = search.run(share, FullDomain.name, progress)
        # No node groups enough rows: allow fewer.
        if fewest and best.node is None:
            fewest = 0
            continue
        # No further group at this charge: raise it.
        if best.suppressed == classes.rows and charge < 1:
            charge = min(_GROWTH * charge, 1.0)
            continue
        # Too many rows are left: a last search must meet the limit.
        if best.suppressed == classes.rows > most:
            search = task.search(classes, most)
            best = search.run(budget, FullDomain.name, progress)
            if best.node is None:
                return None, rounds
        if best.suppressed == classes.rows:
            break
        assert best.node is not None
        layers.add(search, best.node)
        rounds.append({**task.levels_of(best.node), "rows": classes.rows - best.suppressed})
    layers.close()
    return layers, rounds


def _loss(task: Task, layers: _Layers, *, tight: bool) -> float:
    """Compute the metric of a local recoding, lower for better: at its groups' levels, or at the lowest possible."""
    problem = task.problem
    least = None if tight else np.array(layers.least, dtype=np.int32).reshape(len(layers.least), -1)
    recoded = _recoded(task, layers.groups, len(layers.least), least)
    weights = problem.preferences.weights
    if weights:
        return _weighed(recoded, task.cost, weights)
    value = getattr(Metrics(problem.table, recoded, layers.groups), task.cost)
    if value is None:  # a divergence that takes too long
        return float("inf")
    return 1 - value if task.cost == "precision" else float(value)


def _recoded(task: Task, groups: NDArray[np.int32], count: int, least: NDArray[np.int32] | None) -> Recoding:
    """Recode groups at levels not below the given ones."""
    problem = task.problem
    return recode(
        problem.table,
        groups,
        count,
        method=problem.recoding,  # type: ignore[arg-type]
        star=_ANY_STAR,
        hierarchies=problem.hierarchies,
        largest_set=problem.largest_set,
        least=least,
    )


def _weighed(recoded: Recoding, cost: str, weights: Mapping[str, Fraction]) -> float:
    """Compute a metric of a recoding with weights of attributes, for the metrics that support weights."""
    weight = [float(weights.get(column.name, 1)) for column in recoded.columns]
    if cost == "stars":
        stars = [float(recoded.sizes[column.stars].sum()) for column in recoded.columns]
        return math.fsum(each * count for each, count in zip(weight, stars, strict=True))
    lost = ncp(recoded)
    return math.fsum(each * lost[column.name] for each, column in zip(weight, recoded.columns, strict=True)) / (
        math.fsum(weight) or 1.0
    )


def _infeasible_locally(task: Task, asked: FullDomain) -> InfeasibleError:
    total = task.problem.table.rows
    return InfeasibleError(
        f"Local recoding of these {total:,} rows leaves more than {float(asked.suppression_limit):.4%} of them "
        "completely suppressed. Allow more with ",
        Suggestion("suppression_limit"),
        ", ask for less, or give hierarchies with more levels.",
    )
