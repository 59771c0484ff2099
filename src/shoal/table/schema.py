"""The roles of the columns of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shoal._messages import Suggestion
from shoal.errors import ColumnError, ParameterError, near_matches

REST = "rest"
"""Placeholder for the insensitive columns: all columns without another role."""
_ROLES = ("quasi_identifiers", "sensitive", "direct_identifiers", "insensitive", "kinds")


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Roles of the columns; every column of the table has exactly one.

    Examples
    --------
    >>> Schema(quasi_identifiers=("age", "zip"), sensitive=("disease",), direct_identifiers=("name",)).published
    ('age', 'zip', 'disease')
    """

    quasi_identifiers: tuple[str, ...]
    """Columns that an adversary may know from other sources: generalized or suppressed."""
    sensitive: tuple[str, ...] = ()
    """Columns that must not be linked to a person: published unchanged."""
    direct_identifiers: tuple[str, ...] = ()
    """Columns that identify a person: never published."""
    insensitive: tuple[str, ...] = ()
    """All other columns: published unchanged, at the discretion of the publisher."""
    kinds: tuple[tuple[str, ...], ...] = ()
    """Whose the rows are, such as persons and households: the columns that together identify one of each kind. They are
    read, but never published."""

    @property
    def owner_columns(self) -> tuple[str, ...]:
        """Distinct columns that identify whose a row is."""
        return tuple(dict.fromkeys(name for kind in self.kinds for name in kind))

    @property
    def private(self) -> tuple[str, ...]:
        """Columns that are never published."""
        return self.direct_identifiers + self.owner_columns

    @property
    def published(self) -> tuple[str, ...]:
        """Columns of a release, in the order of their roles."""
        return self.quasi_identifiers + self.sensitive + self.insensitive

    def with_rest(self, columns: Sequence[str]) -> Schema:
        """Make all columns without a role insensitive, if the schema requests it.

        It does if its insensitive columns are `"rest"` and the table has no column of that name.
        """
        if self.insensitive != (REST,) or REST in columns:
            return self
        named = {*self.quasi_identifiers, *self.sensitive, *self.private}
        return replace(self, insensitive=tuple(name for name in columns if name not in named))

    def check(self, columns: Sequence[str]) -> None:
        """Check that every column of a table has exactly one role.

        Raises
        ------
        ColumnError
            If a column is unknown, is named twice, or has no role.
        """
        self.check_known(columns)
        named = {name for role in _ROLES for name in self._columns_of(role)}
        without = [name for name in columns if name not in named]
        if without:
            # A long list of names would hide the message.
            shown = ", ".join(f"'{name}'" for name in without[:10]) + (" and more" if len(without) > 10 else "")
            few = "1 column has" if len(without) == 1 else f"{len(without)} columns have"
            raise ColumnError(
                f"{few} no role: {shown}. Name each in ",
                _suggest("quasi_identifiers"),
                " (what others may know of a person), ",
                _suggest("sensitive"),
                ", ",
                _suggest("direct_identifiers"),
                " (dropped) or ",
                _suggest("insensitive"),
                " (published as it is). shoal.inspect(data) (shoal inspect) proposes a role for each.",
            )

    def check_known(self, columns: Sequence[str]) -> None:
        """Check that the columns with a role exist and have one role each; other columns are allowed.

        Raises
        ------
        ColumnError
            If a column is unknown or is named twice.
        """
        role_of: dict[str, str] = {}
        for role in _ROLES:
            names = self._columns_of(role)
            if len(names) > len(columns):  # some are cells, perhaps: no message shows one of them
                raise ColumnError(
                    f"{len(names)} names are given ({_spell(role)}), but the table has {len(columns)} column(s). Give "
                    "names of columns, each once."
                )
            for name in names:
                if name not in columns:
                    raise ColumnError(f"There is no column '{name}' ({_spell(role)}). {near_matches(name, columns)}")
                if name in role_of:
                    other = _spell(role_of[name])
                    again = f"twice as {other}" if role_of[name] == role else f"as {other} and as {_spell(role)}"
                    raise ColumnError(f"The column '{name}' is named {again}. A column has one role.")
                role_of[name] = role
        # Polars would select other columns by such a name.
        patterns = [name for name in self.published if name.startswith("^") and name.endswith("$")]
        if patterns:
            raise ColumnError(
                f"The column '{patterns[0]}' has a name that starts with ^ and ends with $, which Polars takes for a "
                "pattern. Rename it."
            )

    def _columns_of(self, role: str) -> tuple[str, ...]:
        columns: tuple[str, ...] = self.owner_columns if role == "kinds" else getattr(self, role)
        return columns


_ROLE_NAMES = {"quasi_identifiers": "quasi-identifier", "direct_identifiers": "direct identifier", "kinds": "person"}


def _suggest(role: str) -> Suggestion:
    return Suggestion(role, python=role)


def _spell(role: str) -> str:
    return _ROLE_NAMES.get(role, role)


def roles(
    quasi_identifiers: Sequence[str],
    sensitive: str | Sequence[str] | None,
    direct_identifiers: Sequence[str] = (),
    insensitive: Sequence[str] = (),
    person: str | Sequence[str] | None = None,
    units: Sequence[str | Sequence[str]] = (),
) -> Schema:
    """Make a schema of the roles as callers give them: a name, several, or none."""
    named: dict[str, Any] = {
        "quasi_identifiers": quasi_identifiers,
        "sensitive": () if sensitive is None else sensitive,
        "direct_identifiers": direct_identifiers,
        "insensitive": insensitive,
    }
    kinds = [] if person is None else [_names("person", person)]
    several = (units,) if isinstance(units, str) else units
    if type(units).__name__ in _COLUMNS or not isinstance(several, Iterable):
        _names("units", units)
    kinds += [_names("units", kind) for kind in several]
    found: dict[str, Any] = {role: _names(role, names) for role, names in named.items()}
    return Schema(
        **found,
        kinds=tuple(dict.fromkeys(kind for kind in kinds if kind)),
    )


def _names(role: str, names: Any) -> tuple[str, ...]:
    """Return the columns that a parameter names: one, or several."""
    kind = type(names).__name__
    if kind in _COLUMNS or not isinstance(names, Iterable):
        raise ParameterError(f"The '{role}' parameter must be names of columns: a text or a list. Got {kind}.")
    columns = (names,) if isinstance(names, str) else tuple(names)
    if not all(isinstance(name, str) for name in columns):
        raise ParameterError(f"The '{role}' parameter must be names of columns. Got something that is not text.")
    return columns


_COLUMNS = ("Series", "Expr", "ChunkedArray")
"""What callers may give by mistake in place of a name; its cells must not be taken for names, and shown."""
