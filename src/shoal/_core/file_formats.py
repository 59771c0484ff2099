"""The formats of files with tables, the one list of what can be read and written, and shoal's own data files."""

from __future__ import annotations

import json
import tomllib
from importlib import resources
from typing import Any

TEXT = (".csv", ".tsv", ".txt")
"""Name endings of delimited text."""
COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
"""Name endings of compressed files, which follow those of text."""
DELIMITED = (*TEXT, *(text + packed for packed in COMPRESSED for text in TEXT))
"""Name endings of delimited text, compressed or not."""
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc", ".orc")
"""Name endings of other files with typed columns."""
WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods")
"""Name endings of workbooks, which may have several sheets."""
STAT_FILES = {
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
"""Name endings of files of Stata, SPSS and SAS, with the functions of pyreadstat that read them."""
_OTHERS = (*PARQUET, *ARROW, *WORKBOOKS, *STAT_FILES)
READABLE = (*DELIMITED, *_OTHERS)
"""Name endings of all files that can be read."""
LISTED = (*TEXT, ".csv.gz", ".csv.zst", *_OTHERS)
"""The same for messages, with the usual compressed ones only."""
FORMATS = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "dta": "application/x-stata-dta",
    "sav": "application/x-spss-sav",
    "xpt": "application/x-sas-xport",
}
"""Formats in which a table can be written, by ending, with their media types."""
RELEASED = {".zsav": "sav", ".por": "sav", ".sas7bdat": "xpt"}
"""Formats in which releases of the files of Stata, SPSS and SAS are written that are only read."""


def read_data_file(package: str | None, name: str) -> dict[str, Any]:
    """Read a TOML or JSON file that is installed with a package of shoal.

    Parameters
    ----------
    package : str or None
        `__package__` of the caller.
    name : str
        Name of the file.
    """
    text = resources.files(str(package)).joinpath(name).read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text) if name.endswith(".json") else tomllib.loads(text)
    return content
