"""Generalization hierarchies, and coarsenings that reduce the precision of columns before anonymization."""

from shoal.hierarchy.builders import (
    automatic_hierarchy,
    co_occurrence_hierarchy,
    cut_hierarchy,
    date_hierarchy,
    flat_hierarchy,
    frequency_hierarchy,
    interval_hierarchy,
    prefix_hierarchy,
    quantile_hierarchy,
)
from shoal.hierarchy.coarsening import Coarsening, CoarseningResult, coarsen_columns
from shoal.hierarchy.dates import DatePart
from shoal.hierarchy.editing import insert_level, join_nodes
from shoal.hierarchy.level import Level, as_hierarchy, drop_coarsened_levels
from shoal.hierarchy.numeric import Bins, BottomCode, Round, TopCode
from shoal.hierarchy.one_value import OneValue
from shoal.hierarchy.postal import SPARSE_ZIP3, Prefix, ThreeDigitZip
from shoal.hierarchy.presets import safe_harbor
from shoal.hierarchy.proposals import propose_hierarchy
from shoal.hierarchy.since_first import SinceFirst
from shoal.hierarchy.tree import Hierarchy

__all__ = [
    "SPARSE_ZIP3",
    "Bins",
    "BottomCode",
    "CoarseningResult",
    "Coarsening",
    "DatePart",
    "Hierarchy",
    "Level",
    "OneValue",
    "Prefix",
    "Round",
    "SinceFirst",
    "ThreeDigitZip",
    "TopCode",
    "as_hierarchy",
    "automatic_hierarchy",
    "co_occurrence_hierarchy",
    "cut_hierarchy",
    "date_hierarchy",
    "flat_hierarchy",
    "frequency_hierarchy",
    "interval_hierarchy",
    "join_nodes",
    "prefix_hierarchy",
    "propose_hierarchy",
    "quantile_hierarchy",
    "coarsen_columns",
    "safe_harbor",
    "drop_coarsened_levels",
    "insert_level",
]
