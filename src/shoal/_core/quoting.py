"""Names of columns and values as words of a command: in lists, before an equals sign, and for the shell."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Sequence


def listed_name(name: str) -> str:
    """Quote a column name for lists, which are lines of CSV, if it contains a comma, quotes or a line break."""
    if name == name.strip() and not set(name) & set(',"\r\n'):
        return name
    written = io.StringIO()
    csv.writer(written, lineterminator="", quoting=csv.QUOTE_ALL).writerow([name])
    return written.getvalue()


def listed_names(names: str | Sequence[str]) -> str:
    """Write a name, or several, as a line of CSV, the value of an option.

    Examples
    --------
    >>> listed_names(["age", "last, first"])
    'age,"last, first"'
    """
    return ",".join(map(listed_name, (names,) if isinstance(names, str) else names))


def assigned(names: Sequence[str], words: str, *, listed: bool = False) -> str:
    """Write `NAME=VALUE` for one column, or for several together; names with an equals sign or quotes stand in quotes.

    Examples
    --------
    >>> assigned(["age"], "bins:10"), assigned(["x=y"], "bins:10"), assigned(["a, b"], "any", listed=True)
    ('age=bins:10', '"x=y"=bins:10', '"a, b"=any')
    """
    # In a list, other characters need quotes, too.
    quoted = [
        '"' + one.replace('"', '""') + '"' if set(one) & set('="') else listed_name(one) if listed else one
        for one in names
    ]
    return f"{','.join(quoted)}={words}"


def quote_for_shell(word: str) -> str:
    """Quote a word for the shell; characters that are not printable are escaped in the syntax of bash and zsh."""
    if word.isprintable():
        return shlex.quote(word)
    inside = word.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + "".join(one if one.isprintable() else escaped(one) for one in inside) + "'"


def escaped(one: str) -> str:
    """Escape a character by its number, as shells and TOML read it."""
    return f"\\u{ord(one):04x}" if ord(one) < 0x10000 else f"\\U{ord(one):08x}"
