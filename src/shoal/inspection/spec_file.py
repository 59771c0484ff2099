"""A first request as a spec file, in which every line says why it is there."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shoal.inspection.result import Inspection

__all__ = ["spec_text"]

_ROLES = {
    "quasi_identifier": ("quasi_identifiers", "what others may know of a person: published less precisely"),
    "sensitive": ("sensitive", "what must not be linked to a person: published as it is"),
    "direct_identifier": ("direct_identifiers", "what names a person: never published"),
    "insensitive": ("insensitive", "what tells nothing of a person: published as it is"),
}


def spec_text(inspection: Inspection, *, k: int, folder: Path) -> str:
    """Return the spec of a request that follows the proposals of an inspection."""
    return "\n".join(_lines(inspection, k, folder)) + "\n"


def _lines(inspection: Inspection, k: int, folder: Path) -> Iterator[str]:
    yield "# A first proposal. Look at every line: only you know what others know of the people in the table."
    yield "# Then: shoal anonymize --spec THIS_FILE -o OUT"
    yield from _input(inspection, folder)
    for role, (key, meaning) in _ROLES.items():
        columns = [column for column in inspection.columns if column.role == role]
        if not columns:
            continue
        yield f"columns.{key} = [  # {meaning}"
        for column in columns:
            yield f"  {_quoted(column.name)},  # {_remark(column.why)}"
        yield "]  # " + (f"{len(columns)} columns" if len(columns) > 1 else "one column")
    yield f"privacy.k = {k}  # every record shares its quasi-identifiers with at least {k - 1} others"
    yield "# privacy.l = 2  # no sensitive value on more than half of a group: take the first # away to ask for that"
    if inspection.names_of("sensitive") and _misses_sensitive(inspection):
        yield 'missing_sensitive = "value"  # a missing sensitive value counts as a value; "drop" leaves its record out'
    yield 'recoding = "generalization"  # intervals, sets and nodes of hierarchies; "suppression" publishes stars only'
    for column in inspection.columns:
        if column.role == "quasi_identifier" and column.coarsen is not None:
            why = _COARSER[column.coarsen.partition(":")[0]]
            yield f"coarsen.{_key(column.name)} = {_quoted(column.coarsen)}  # {why}"


_COARSER = {
    "date": "dates as years or months: days tell nearly everybody apart",
    "prefix": "the first characters of the codes: larger places",
    "bins": "numbers in bins of this width",
}


def _input(inspection: Inspection, folder: Path) -> Iterator[str]:
    source = inspection.source
    if source is None:
        yield '# input = "..."  # the table: name its file here, or on the command line'
    else:
        yield f"input = {_quoted(_from(folder, source))}  # the table; its path starts from the folder of this file"
    if inspection.encoding not in (None, "utf-8"):
        yield f"encoding = {_quoted(inspection.encoding or '')}  # how its text is encoded: found out"
    if inspection.delimiter not in (None, ","):
        yield f"delimiter = {_quoted(inspection.delimiter or '')}  # what separates its fields: found out"
    if inspection.sheet is not None:
        yield f"sheet = {_quoted(inspection.sheet)}  # the sheet of the workbook"
    if inspection.decimal is not None:
        yield f"decimal = {_quoted(inspection.decimal)}  # what stands before decimals: found out"
    for column in inspection.columns:
        if column.date_format is not None and column.role in ("quasi_identifier", "sensitive"):
            key = _key(column.name, plain=True)
            yield f"dates.{key} = {_quoted(column.date_format)}  # how its dates are written: found out"


def _from(folder: Path, source: str) -> str:
    if "://" in source:
        return source
    try:
        return os.path.relpath(Path(source).expanduser(), folder)
    except ValueError:  # on another drive
        return str(Path(source).resolve())


def _misses_sensitive(inspection: Inspection) -> bool:
    return any(column.missing for column in inspection.columns if column.role == "sensitive")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str, *, plain: bool = False) -> str:
    """Return a key of TOML; one of coarsen lists columns, so a name with a comma stands in quotes of its own."""
    if not plain and ("," in name or '"' in name or name != name.strip()):
        written = io.StringIO()
        csv.writer(written, lineterminator="", quoting=csv.QUOTE_ALL).writerow([name])
        name = written.getvalue()
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _remark(why: str) -> str:
    return " ".join(why.split())
