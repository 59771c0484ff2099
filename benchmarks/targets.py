"""Every target that was ever set, with its limit as it was set: the list that the summary is held against."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

__all__ = ["TARGETS", "Named"]


@dataclass(frozen=True)
class Named:
    """A target, whether or not it was measured."""

    part: str
    """The part that measures it."""
    what: str
    """What it is called there; `*` stands for anything."""
    limit: str
    """The limit, as it was set."""

    def fits(self, what: str) -> bool:
        """Return whether a measured target is this one."""
        return fnmatchcase(what, self.what.replace("[", "[[]"))


TARGETS = (
    Named("speed", "encode + partition, tp, d = 4, over one group_by", "1.5 x"),
    Named("speed", "encode + partition, tp+, d = 4, over one group_by", "4 x"),
    Named("speed", "encode + partition, tp+, d = 7, over one group_by", "12 x"),
    Named("speed", "anonymize(), tp, d = 4, over one group_by", "8 x, then 2.5 x"),
    Named("speed", "anonymize(), tp+, d = 4, over one group_by", "12 x, then 2.5 x"),
    Named("speed", "encode + partition, *: 6,000,000 rows over 600,000", "12 x; tp 11 x"),
    Named("speed", "anonymize(), *: 6,000,000 rows over 600,000", "12 x"),
    Named("speed", "peak memory of anonymize(), *", "6 times the Arrow size and 300 MB"),
    Named("speed", "shoal version", "0.4 s"),
    Named("speed", "shoal anonymize, CSV of 30,000 rows, kernels compiled before", "3 s"),
    Named("speed", "shoal anonymize, CSV of 30,000 rows, the very first time", "20 s"),
    Named("stars", "SAL: tp+ / tp+ hilbert, l = 2..10, d = 4", "0.40"),
    Named("stars", "SAL: tp+ / tp+ hilbert, d = 1..7, l = 6", "0.40"),
    Named("stars", "OCC: tp+ / tp+ hilbert, l = 2..10, d = 4", "0.40"),
    Named("stars", "OCC: tp+ / tp+ hilbert, d = 1..7, l = 6", "0.40"),
    Named("stars", "*: tp+ / bound, d = 1, l = 6", "1.03"),
    Named("stars", "*: tp+ / bound, d = 2, l = 6", "1.03"),
    Named("stars", "*: tp+ / bound, d = 3, l = 6", "1.03"),
    Named("stars", "*: tp+ / bound, d = 4, l = 6", "1.03"),
    Named("stars", "*: tp+ / bound, d = 7, l = 6", "1.35"),
    Named("stars", "*: tp+ / bound, d = 4, l = 2..10", "1.03; with an effort of a minute 1.15"),
    Named("effort", "SAL: tp+ with * orders / best bound, d = 4, l = 2..10", "1.15"),
    Named("effort", "OCC: tp+ with * orders / best bound, d = 4, l = 2..10", "1.15"),
    Named("divergence", "KL-divergence of tp+ over that of tds, averages over the grid, SAL", "1"),
    Named("divergence", "KL-divergence of tp+ over that of tds, averages over the grid, OCC", "1"),
    Named("divergence", "TDS on 600,000 rows, d = 7, l = 6", "10 s"),
    Named("emd", "100,000 groups, equal distance", "50 ms"),
    Named("emd", "100,000 groups, ordered distance", "50 ms"),
    Named("exact", "exact, 14 distinct rows", "1 s"),
    Named("exact", "exact, 16 distinct rows", "3 s"),
    Named("exact", "exact, 18 distinct rows", "30 s"),
    Named("exact", "milp, gap after two minutes at most", "2 %"),
    Named("matching", "200 rows of Adult, proven optimal, slowest", "60 s"),
    Named("matching", "4,000 rows with two sensitive values, proven optimal", "60 s"),
    Named("closeness", "Adult, t = 0.2, k = 5: gcp", "40 %"),
    Named("closeness", "Adult, t = 0.2, k = 5", "10 s"),
    Named("figure7", "*: share of k without a proof", "5 %"),
    Named("figure7", "*: farthest above the lower bound", "1 %"),
    Named("figure7", "*: slowest k", "1 s"),
    Named("figure7", "*: values of k for which a rival is better", "0"),
    Named("regions", "counties, k = *: excess, over half of the tree's", "half"),
    Named("regions", "counties, k = *: wall time", "5 s"),
    Named("regions", "maps of libpysal, 10 minutes each: not proven, of 30", "3"),
    Named("points", "10,000,000 * points, seconds", "10 s"),
    Named("points", "10,000,000 * points, memory", "2 GB"),
    Named("points", "* points, largest / bound of Theorem 4", "1"),
    Named("points", "*: seconds per point at *", "linear growth"),
    Named("ordered", "1,000,000 *, seconds", "2 s"),
    Named("patterns", "greedy, 600,000 rows, over one group_by", "25 x"),
    Named("patterns", "*, 10,000,000 rows", "60 s"),
    Named("patterns", "*, 10,000,000 rows: peak memory", "4 GB"),
    Named("patterns", "Adult, k = *: improved greedy over the bound", "1.10"),
    Named("patterns", "Adult, k = *: improved greedy over Mondrian", "1"),
    Named("patterns", "Adult, k = 5, at most three stars: gap of the program within ten minutes", "1 %, then 2 %"),
    Named("patterns", "300 rows of Adult, k = 5, at most three stars, *: gap", "0 %"),
    Named("patterns", "500 rows of Adult, k = 5, at most three stars, *: gap", "0 %"),
    Named("patterns", "1,500 rows of Adult, k = 5, at most three stars, *: gap", "0.7 %"),
    Named("republish", "*: average counterfeits", "2.5"),
    Named("republish", "*: most counterfeits of a release", "12"),
    Named("republish", "*: median seconds", "1 s"),
    Named("republish", "*: vulnerable people", "0"),
    Named("republish", "*: greatest confidence", "1/m"),
    Named("republish", "*: worst query error", "0.1; then 0.12"),
    Named("republish", "*: whole publish into SQLite", "3 s"),
    Named("republish", "2,000,000 people alive: a release is published", "it works"),
    Named("republish", "size of the ledger after 81 releases", "linear in people"),
    Named("full-domain", "Adult, * attributes, k = 5, limit 5%: the optimum", "2 s"),
    Named("full-domain", "Adult, * attributes, k = 5, limit 100%: the optimum", "2 s"),
    Named("full-domain", "Adult, k = 5: gcp of local recoding", "3.3 %, a leading tool's"),
    Named("full-domain", "Adult, l = 3 (distinct), k = 5: gcp of local recoding", "11.4 %, a leading tool's"),
    Named("local", "Adult, with intervals and sets, k = 5: gcp of cluster", "1.1 %"),
    Named("local", "Adult, with intervals and sets, l = 3 (distinct), k = 5: gcp of cluster", "1.5 %"),
    Named("local", "Adult, with hierarchies, k = 5: gcp of cluster", "2.5 %"),
    Named("local", "Adult, with hierarchies, k = 5, *: gcp of cluster by leaves", "2.40 %, then 2.2 %"),
    Named("local", "Adult, with hierarchies, l = 3 (distinct), k = 5: gcp of cluster", "4.5 %"),
    Named("local", "Adult, with hierarchies, l = 3 (distinct), k = 5, *: gcp of cluster by leaves", "2.6 %"),
    Named("local", "600,000 census-like rows, with intervals, *", "15 s"),
    Named("tune", "Adult, l = *: KL-divergence after TP+ with the best coarsening, over that without any", "below 1"),
    Named("tune", "Adult, l = *: found after", "60 s"),
    Named("compiling", "compiling what tp+ uses, CPU", "8 s"),
    Named("compiling", "compiling what mondrian uses, CPU", "12 s"),
    Named("compiling", "compiling what cluster uses, CPU", "20 s"),
    Named("compiling", "compiling what sabre uses, CPU", "20 s"),
    Named("starting", "shoal anonymize, 400 rows, warm, CPU in units of import polars, numba", "1.3"),
    Named("automatic", "auto behind the best algorithm of its time, the worst of * requests", "3 %"),
    Named("demanding", "101,766 rows x 15, entropy l = 2: stars of auto over the fewest", "1.03"),
    Named("demanding", "99,762 rows, 299 attributes: seconds of cluster", "200 s"),
    Named("demanding", "99,762 rows, 3 attributes of many values, two sensitive ones: seconds of cluster", "200 s"),
    Named("demanding", "1,048,575 rows x 8, k = 10 and l = 2: stars over the bound", "2.15, as it was"),
    Named("risk", "Adult: furthest from a reference value", "1e-10; 19,502 classes"),
    Named("risk", "everything but special uniques and log-linear models", "10 group_bys"),
    Named("risk", "special uniques of 100,000 rows, up to 4 of 8 columns", "60 s"),
    Named("risk", "wildcards, the release alone", "10 group_bys"),
    Named("risk", "wildcards, and a population", "10 group_bys"),
    Named("large", "100,000,000 rows, d = 4: time over one group_by and one copy", "3"),
    Named("large", "100,000,000 rows, d = 4: peak memory", "1.5 GB"),
    Named("large", "* rows, d = 4: share of the time that is in no step", "0.02"),
    Named("large", "* rows, d = 4: temporary files left behind", "0"),
    Named("large", "100,000,000 rows, d = 4: time over the other tree", "0.18"),
    Named("large", "100,000,000 rows, an insensitive column: time over one group_by and one copy", "6"),
    Named("large", "100,000,000 rows, an insensitive column: peak memory", "4 GB"),
    Named("large", "* rows, d = 4, in pieces: stars over those in memory", "1"),
    Named("large", "* rows, d = 4, Spark on local[2]: stars over those in memory", "1"),
    Named("large", "* rows, d = 7, in pieces: loss over that of a tenth of the rows in memory", "1.05"),
    Named("large", "* rows, partition and verify: two cores over one", "1 / 1.6"),
    Named("billion", "1,000,000,000 rows, d = 4: time over one group_by and one copy", "3"),
    Named("billion", "1,000,000,000 rows, d = 4: peak memory", "2 GB"),
    Named("billion", "* rows, d = 4: share of the time that is in no step", "0.02"),
    Named("billion", "* rows, d = 4: temporary files left behind", "0"),
    Named("attacks", "linking 600,000 rows with as many people", "minutes"),
)
"""By part, in the order of the parts. A target that no part measures yet is in the summary as one that was not run."""
