"""Recoding: from a partition to published values, by suppression or by generalization to intervals and sets."""

from shoal.recoding.frame import canonical_order, published_frame
from shoal.recoding.methods import METHODS, recode
from shoal.recoding.recoded import PublishedClasses, RecodedColumn, Recoding, SubDomains

__all__ = [
    "METHODS",
    "PublishedClasses",
    "RecodedColumn",
    "Recoding",
    "SubDomains",
    "canonical_order",
    "published_frame",
    "recode",
]
