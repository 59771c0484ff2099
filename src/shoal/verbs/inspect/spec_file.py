"""A first request as a spec file with a comment on every line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from shoal.request.notation import quote_for_toml, toml_key
from shoal.request.texts import replacement_text
from shoal.verbs.inspect.inspected_column import InspectedColumn

_ROLES = {
    "quasi_identifiers": (("quasi_identifier",), "what others may know about a person: published less precisely"),
    "sensitive": (("sensitive",), "what must not be linked to a person: published as it is"),
    "direct_identifiers": (("direct_identifier",), "what identifies a person: never published"),
    "person": (("person",), "identifies the person of each record, never published: k counts persons"),
    "insensitive": (("insensitive",), "what reveals nothing about a person: published as it is"),
}
"""The role keys of a spec, the proposals that each contains, and their meanings."""
_CLEANING = {"replace_values": "values to replace before anything else", "derive": "a column to derive from dates"}


def spec_text(
    columns: Sequence[InspectedColumn],
    read: Mapping[str, str | int | None],
    *,
    k: int,
    folder: Path,
    cleaned: Mapping[str, Mapping[str, str]],
) -> str:
    """Return the spec of a request that follows the proposals of an inspection.

    Parameters
    ----------
    columns : sequence of InspectedColumn
        The columns with their proposals.
    read : mapping
        The input, encoding, delimiter, sheet, header row and decimal sign of the table; None if there is none.
    k : int
        The k of k-anonymity.
    folder : Path
        The folder of the spec file; the path of the input is relative to it.
    cleaned : mapping
        The given replacements of values and columns to derive, as text by column, by their key.
    """
    return "\n".join(_lines(columns, read, k, folder, cleaned)) + "\n"


def _lines(
    columns: Sequence[InspectedColumn],
    read: Mapping[str, str | int | None],
    k: int,
    folder: Path,
    cleaned: Mapping[str, Mapping[str, str]],
) -> Iterator[str]:
    # The header states how to use the file, and which question to answer first.
    yield "# A first proposal. Look at every line: only you know what others know about the people in the table."
    yield "# Then: shoal anonymize --spec THIS_FILE -o OUT"
    if any(column.role == "person" for column in columns):
        yield "# Does each row stand for one person? If it does, columns.person is a direct identifier."
    yield from _input(columns, read, folder)
    for key, texts in cleaned.items():
        for name, text in texts.items():
            yield f"reading.{key}.{toml_key(name)} = {quote_for_toml(text)}  # {_CLEANING[key]}"
    for column in columns:
        if column.missing_codes:
            text = quote_for_toml(replacement_text(dict.fromkeys(column.missing_codes)))
            yield f"# reading.replace_values.{toml_key(column.name)} = {text}  # missing? remove the first # to use it"
    # One key per role, with the reason for each column.
    for key, (roles, meaning) in _ROLES.items():
        having = [column for column in columns if column.role in roles]
        if not having:
            # The key of an unused role is shown, so that columns can be moved there.
            if key != "person":
                yield f'# columns.{key} = ["NAME"]  # {meaning} (remove the first # to use it)'
            continue
        yield f"columns.{key} = [  # {meaning}"
        for column in having:
            yield f"  {quote_for_toml(column.name)},  # {_remark(column.why)}"
        yield "]  # " + (f"{len(having)} columns" if len(having) > 1 else "one column")
    # The models, the treatment of missing values, and the recoding.
    yield f"privacy.k = {k}  # every record shares its quasi-identifiers with at least {k - 1} others"
    yield "# privacy.l = 2  # no sensitive value on more than half of a group: remove the first # to request that"
    if any(column.missing for column in columns if column.role == "sensitive"):
        yield 'missing_sensitive = "value"  # a missing sensitive value counts as a value; "drop" leaves its record out'
    if any(column.missing for column in columns if column.role == "person"):
        yield 'missing_person = "own"  # a record without a person is that of a person of its own; "error" refuses it'
    yield 'recoding = "generalization"  # intervals, sets and nodes of hierarchies; "suppression" publishes stars only'
    for column in columns:
        if column.coarsen is not None:
            why = _COARSER[column.coarsen.partition(":")[0]]
            yield f"coarsen.{toml_key(column.name, listed=True)} = {quote_for_toml(column.coarsen)}  # {why}"


_COARSER = {
    "date": "dates as years or months: days identify nearly every person",
    "prefix": "the first characters of the codes: larger places",
    "bins": "numbers in bins of this width",
}


_READING = (
    ("encoding", "utf-8", "the encoding of the text, as detected"),
    ("delimiter", ",", "the separator of fields, as detected"),
    ("sheet", None, "the sheet of the workbook"),
    ("header_row", None, "the row of the column names"),
    ("decimal", None, "the decimal separator, as detected"),
)
"""The options of reading that are written unless they have the usual value."""


def _input(columns: Sequence[InspectedColumn], read: Mapping[str, str | int | None], folder: Path) -> Iterator[str]:
    source = read["input"]
    if source is None:
        yield '# input = "..."  # the table: name its file here, or on the command line'
    else:
        path = quote_for_toml(_from(folder, str(source)))
        yield f"input = {path}  # the table; its path starts from the folder of this file"
    # Only reading options that differ from their default are written.
    for name, usual, meaning in _READING:
        value = read[name]
        if value is not None and value != usual:
            yield f"reading.{name} = {quote_for_toml(value) if isinstance(value, str) else value}  # {meaning}"
    for column in columns:
        if column.date_format is not None and column.role in ("quasi_identifier", "sensitive"):
            key = toml_key(column.name)
            yield f"reading.dates.{key} = {quote_for_toml(column.date_format)}  # the format of the dates, as detected"


def _from(folder: Path, source: str) -> str:
    if "://" in source:
        return source
    try:
        return os.path.relpath(Path(source).expanduser(), folder)
    except ValueError:  # on another drive
        return str(Path(source).resolve())


def _remark(why: str) -> str:
    return " ".join(why.split())
