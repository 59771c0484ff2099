"""Figure 7 of Du, Eppstein, Goodrich, Lueker 2009: overfull ratios of the names of the census, and ours beside them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

import shoal
from benchmarks.results import Grid, Part, Target
from shoal import grouping

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.settings import Settings

__all__ = ["measure"]

_TABLES = {"female": "FEMALE-1990", "male": "MALE-1990", "last": "LAST-1990"}
_RIVALS = {
    "random fold": ("fold", "random"),
    "random spread": ("spread-simplified", "random"),
    "sorted fold": ("fold", "sorted"),
    "sorted spread": ("spread-simplified", "sorted"),
}
_SUBRANGES = 10


def measure(settings: Settings) -> Part:
    """Group the names for values of k from the most common name's frequency to the one that leaves two classes."""
    part = Part(name="figure7", title="Labels: overfull ratios of the names of the census (the paper's Figure 7)")
    part.say(
        "Largest class / k; the maximum of each subrange of k, as in the figure. Sizes are frequencies in units of "
        f"0.001 %. {settings.label_ks} values of k per table, evenly spread over the paper's range."
    )
    for table, name in _TABLES.items():
        _measure_table(part, table, name, settings)
    return part


def _measure_table(part: Part, table: str, name: str, settings: Settings) -> None:
    sizes = shoal.datasets.names(table)["count"].to_numpy()  # type: ignore[arg-type]
    ks = np.unique(np.linspace(sizes.max(), sizes.sum() // 2, settings.label_ks).astype(np.int64))
    grouping.labels(sizes, int(ks[0]), seed=settings.seed)  # compiles
    rows, proven, gaps, times, beaten = [], 0, [], [], 0
    for subrange in np.array_split(ks, _SUBRANGES):
        worst = dict.fromkeys([*_RIVALS, "ours", "lower bound"], 0.0)
        for k in subrange.tolist():
            start = time.perf_counter()
            ours = grouping.labels(sizes, k, seed=settings.seed)
            times.append(time.perf_counter() - start)
            proven += ours.optimal
            gaps.append(ours.gap)
            ratios = {"ours": ours.overfull_ratio, "lower bound": ours.lower_bound / k}
            ratios |= {rival: _ratio(sizes, k, *how, settings.seed) for rival, how in _RIVALS.items()}
            beaten += min(ratios[rival] for rival in _RIVALS) < ratios["ours"]
            worst = {what: max(highest, ratios[what]) for what, highest in worst.items()}
        rows.append((f"{subrange[0]} to {subrange[-1]}", *(round(ratio, 4) for ratio in worst.values())))
    part.show(Grid(title=f"{name}, {len(sizes):,} names", header=("k", *_RIVALS, "ours", "lower bound"), rows=rows))
    part.targets += [
        Target(what=f"{name}: share of k without a proof", limit=5, measured=100 * (1 - proven / len(ks)), unit=" %"),
        Target(what=f"{name}: farthest above the lower bound", limit=1, measured=100 * max(gaps), unit=" %"),
        Target(what=f"{name}: slowest k", limit=1, measured=max(times), unit=" s"),
        Target(what=f"{name}: values of k for which a rival is better", limit=0, measured=beaten),
    ]


def _ratio(sizes: NDArray[np.int64], k: int, method: str, order: str, seed: int) -> float:
    return grouping.labels(sizes, k, method=method, order=order, seed=seed).overfull_ratio
