"""What a run measures: sizes, parameters, repetitions."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from shoal._core.threads import usable_cores

__all__ = ["ROOT", "Settings"]

ROOT = Path(__file__).resolve().parent.parent
"""The checkout."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that decides what is measured; two runs with equal settings measure the same."""

    rows: int = 600_000
    """Rows of the census-like tables."""
    many_rows: int = 6_000_000
    """Rows of the long table that shows how time and memory grow."""
    drawn_rows: int = 5_000_000
    """Rows of the largest table that is drawn from Adult."""
    against: Path | None = None
    """The sources of another checkout, which whole processes are measured against."""
    csv_rows: int = 30_000
    """Rows of the table that other tools publish where there is no copy of Adult."""
    figure_rows: tuple[int, ...] = (100_000, 200_000, 300_000, 400_000, 500_000, 600_000)
    """Table sizes of the paper's Figure 6."""
    l_values: tuple[int, ...] = (2, 3, 4, 5, 6, 7, 8, 9, 10)
    """The values of l of the paper's Figures 2 and 4."""
    fixed_l: int = 6
    """The l of the figures that vary something else."""
    fixed_d: int = 4
    """The number of quasi-identifiers of the figures that vary something else."""
    dimensions: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7)
    """The numbers of quasi-identifiers of the paper's Figures 3 and 5."""
    tables: int | None = None
    """How many choices of d of the seven quasi-identifiers are averaged, the first d always among them; None: all."""
    timed_tables: int = 3
    """The same for the figures that show seconds."""
    repeats: int = 5
    """How often a time is measured; the median counts."""
    many_repeats: int = 3
    """The same for the long table."""
    label_ks: int = 240
    """Values of k for each table of names."""
    raised_work: int = 100_000_000
    """Operations that the lower bound may take where it is computed again with patience."""
    raised_l: tuple[int, ...] = (2, 4, 6, 8, 10)
    """The values of l for which it is computed again, at the fixed d."""
    workers: int = field(default_factory=lambda: min(usable_cores(), 8))
    """Processes side by side where stars, errors and attacks are counted; what is timed runs alone."""
    seed: int = 0
    """Of the tables and of the choices of quasi-identifiers."""
    adult: Path = ROOT.parent / "shared" / "data" / "adult" / "adult.csv"
    """A copy of the Adult table; measured where it exists."""
    alive: int = 200_000
    """People in each release of a history of re-publication."""
    fixed_m: int = 10
    """The m of the figures that vary something else."""
    m_values: tuple[int, ...] = (2, 4, 6, 8, 10)
    """The values of m of the figures over m."""
    fixed_volume: int = 5_000
    """People who are replaced at each release of the long history."""
    update_volumes: tuple[int, ...] = (5_000, 10_000, 20_000, 40_000)
    """The same of the figures over it."""
    swept_volume: int = 5_000
    """The same of the figures over m."""
    diverse_volumes: tuple[int, ...] = (5_000, 10_000, 20_000, 40_000)
    """The same of the histories that are published with l-diversity."""
    diverse_l: tuple[int, ...] = (2, 4, 6, 8, 10)
    """The values of l of these."""
    queries: int = 1_000
    """Counting queries that a release is asked."""
    many_queries: int = 10_000
    """The same of the histories whose error is shown release by release."""
    queried_releases: int = 5
    """Releases of a history that are asked."""
    rival_seconds: float = 200
    """How long another tool may take; one that takes longer is not asked for more than that."""
    arx: Path | None = None
    """A jar of ARX, which is measured where it is given."""
    quick: bool = False
    """Whether this is a short run, whose figures do not enter RESULTS.md."""
    results: Path = ROOT / "benchmarks" / "results"
    """Where the figures of each part go."""

    @classmethod
    def short(cls) -> Settings:
        """Return settings for a run of about two minutes."""
        return cls(
            quick=True,
            tables=3,
            timed_tables=1,
            l_values=(2, 6, 10),
            raised_l=(6, 10),
            figure_rows=(100_000, 300_000, 600_000),
            repeats=3,
            many_repeats=1,
            label_ks=40,
            m_values=(2, 10),
            fixed_volume=40_000,
            update_volumes=(40_000,),
            swept_volume=40_000,
            diverse_volumes=(40_000,),
            diverse_l=(2, 10),
            queries=200,
            many_queries=200,
            queried_releases=2,
            rival_seconds=60,
        )
