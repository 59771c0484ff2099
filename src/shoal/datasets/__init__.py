"""Example tables: synthetic patients and census records, and real tables of other packages."""

from shoal.datasets._bundled import DemoTable, attendance, demo, fair, names
from shoal.datasets._census import QUASI_IDENTIFIERS, census
from shoal.datasets._files import FILES, DatasetFile, write_dataset
from shoal.datasets._patients import age_hierarchy, disease_hierarchy, patients, quarters, visits, zip_hierarchy

__all__ = [
    "FILES",
    "QUASI_IDENTIFIERS",
    "DatasetFile",
    "DemoTable",
    "age_hierarchy",
    "attendance",
    "census",
    "demo",
    "disease_hierarchy",
    "fair",
    "names",
    "patients",
    "quarters",
    "visits",
    "write_dataset",
    "zip_hierarchy",
]
