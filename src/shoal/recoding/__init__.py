"""Recoding of a partition to published values: suppression, or generalization to intervals, sets and nodes."""

from shoal.recoding.ancestors import check_coverage
from shoal.recoding.composition import compose, sub_domain_penalty
from shoal.recoding.extents_kernel import group_extents
from shoal.recoding.frame import canonical_order, publish_frame
from shoal.recoding.levels import STAR_LEVEL, Levels
from shoal.recoding.methods import METHODS, recode
from shoal.recoding.order import rank
from shoal.recoding.penalty import LARGEST_SET
from shoal.recoding.recoded import RecodedColumn, Recoding, SubDomains, build_sub_domains
from shoal.recoding.singled_out import count_singled_out
from shoal.recoding.suppression import keep_column
from shoal.recoding.wide_ends import widen_classes

__all__ = [
    "LARGEST_SET",
    "METHODS",
    "STAR_LEVEL",
    "Levels",
    "RecodedColumn",
    "Recoding",
    "SubDomains",
    "canonical_order",
    "check_coverage",
    "compose",
    "group_extents",
    "publish_frame",
    "rank",
    "recode",
    "count_singled_out",
    "sub_domain_penalty",
    "build_sub_domains",
    "keep_column",
    "widen_classes",
]
