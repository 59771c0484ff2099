"""A published table as an adversary sees it: the meaning of its cells, its groups, and their sensitive values."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._messages import Subject, Suggestion
from shoal.attacks.compatible_rows import Coverage, require_matching
from shoal.attacks.value_forms import convert_to_form, unify_forms
from shoal.errors import ColumnError, DataError, NoRowsError, ParameterError, near_matches
from shoal.io import check_column_names, open_frame, read
from shoal.joins import distinct_rows
from shoal.models.counting import counting_stated
from shoal.models.promises import check_together
from shoal.verification.cell_syntax import cell_text
from shoal.verification.faithfulness import find_covered_values
from shoal.verification.linked_rows import Bundles, find_bundles
from shoal.verification.meaning import Meaning, Tree, collect_meanings, parameters_of, star_of
from shoal.verification.published_columns import ReadTable, read_table
from shoal.verification.published_folder import columns_with_role, read_published


class Reading(TypedDict, total=False):
    """How to read a published table: the keyword arguments that all attacks share.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.attacks import Reading, homogeneity_attack
    >>> reading: Reading = {"quasi_identifiers": ["age"], "sensitive": "disease"}
    >>> release = pl.DataFrame({"age": ["[20, 39]", "[20, 39]"], "disease": ["flu", "flu"]})
    >>> homogeneity_attack(release, **reading).to_dict()["successes"]
    2
    """

    quasi_identifiers: Sequence[str]
    """Columns that the adversary knows; by default those of the certificate."""
    sensitive: str | Sequence[str]
    """The sensitive attribute; if there are several, each is attacked alone, then their combination. By default that
    of the certificate."""
    star: str
    """The text of a suppressed cell; by default that of the certificate, else `*`."""
    certificate: Mapping[str, Any]
    """The certificate of the table. Without one, the form of the cells determines their meaning."""
    hierarchies: Mapping[str, Tree]
    """For columns whose cells are nodes of a hierarchy."""
    person: str | Sequence[str]
    """The column, or several together, that identifies persons with several rows: in the targets and controls or,
    without targets, in a copy of the release that has it. Persons are attacked then, and an attack succeeds for a
    person if it does for any of that person's rows. By default each row is another person's, except for linked rows,
    whose pseudonyms the certificate declares."""
    cells: Mapping[str, object]
    """The meaning of the cells of other columns: `"values"` for plain values, a coarsening, or all values in their
    order."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PublishedTable:
    """A published table with its columns and its groups: rows with the same cells in all quasi-identifiers."""

    frame: pl.DataFrame
    """The cells."""
    names: tuple[str, ...]
    """The quasi-identifiers."""
    secrets: tuple[str, ...]
    """The sensitive attributes."""
    star: str
    """The text of a suppressed cell."""
    reading: Reading
    """The arguments of the caller."""
    person: tuple[str, ...] = ()
    """The columns that identify persons; empty if each row is another person's."""
    pseudonyms: bool = False
    """Whether these are the pseudonyms of linked rows."""

    @property
    def certificate(self) -> Mapping[str, Any]:
        """The certificate of the table; empty if it has none."""
        return self.reading.get("certificate") or {}

    @property
    def several_records(self) -> bool:
        """Whether a person may have several records, as the certificate states."""
        return counting_stated(self.certificate).several

    @property
    def whose(self) -> dict[str, str]:
        """The entry of figures for what is attacked, if it is persons."""
        return {"of": "persons"} if self.person else {}

    def collect_meanings(self, names: Sequence[str]) -> dict[str, Meaning]:
        """Collect the interpretations of columns from the certificate and the caller."""
        trees, cells = self.reading.get("hierarchies"), self.reading.get("cells")
        return collect_meanings(names, parameters_of(self.certificate), trees=trees, cells=cells)

    def read(self, beside: pl.DataFrame | None = None) -> ReadTable:
        """Read the quasi-identifiers, next to true values if they are given.

        Raises
        ------
        NotUnderstoodError
            If the meaning of a column's cells is in doubt.
        """
        meanings = self.collect_meanings(self.names)
        understood = read_table(self.frame, self.names, star=self.star, meanings=meanings, true_values=beside)
        understood.require()
        return understood

    def select_sensitive(self, secrets: tuple[str, ...]) -> PublishedTable:
        """Select other sensitive columns of the same table; its groups are not counted again."""
        # The groups depend on the quasi-identifiers only: keep those that were counted.
        other = replace(self, secrets=secrets)
        for name in ("group_of", "owners", "bundled"):
            if name in self.__dict__:
                other.__dict__[name] = self.__dict__[name]
        return other

    def open_people(self, data: Any, what: str, further: Iterable[str] = ()) -> pl.DataFrame:
        """Open a table of people, with their true quasi-identifiers in the form that the release uses.

        Parameters
        ----------
        data : frame or path
            The table.
        what : str
            Its name in messages.
        further : iterable of str
            Further columns that it must have.
        """
        people = open_table(data)
        check_columns(people, (*further, *self.names), what)
        if not people.height:
            raise NoRowsError(f"There are no people in {what}: the table is empty.")
        return convert_to_form(self.read(people), people)

    def read_matching(self, people: pl.DataFrame, who: Coverage) -> ReadTable:
        """Read the quasi-identifiers, and check that they match people; see `require_matching`."""
        return require_matching(self.read(people), people, who)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.frame.height

    @cached_property
    def secret(self) -> pl.Series:
        """The sensitive value of each row, as text."""
        return combine_sensitive(self.frame, self.secrets)

    @cached_property
    def values(self) -> pl.Series:
        """The distinct sensitive values."""
        return self.secret.unique().sort()

    @cached_property
    def secret_codes(self) -> NDArray[np.int64]:
        """Code of each row's sensitive value in `values`."""
        return encode_column(self.secret, self.values)

    @cached_property
    def totals(self) -> NDArray[np.int64]:
        """Number of rows of each value: the marginal distribution that the release publishes."""
        return np.bincount(self.secret_codes, minlength=len(self.values))

    @cached_property
    def group_of(self) -> NDArray[np.int64]:
        """The group of each row."""
        cells = [cell_text(self.frame.get_column(name)) for name in self.names]
        coded = [encode_column(column, column.unique(maintain_order=True)) for column in cells]
        return np.asarray(distinct_rows(np.column_stack(coded).astype(np.int32))[1], dtype=np.int64)

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """The person of each row, from 0."""
        from shoal.attacks.persons import number_owners

        return number_owners(self.frame, self.person, "the release")

    @cached_property
    def bundled(self) -> Bundles:
        """The bundles of linked rows."""
        return find_bundles(self.frame, pseudonym=self.person[0], quasi_identifiers=self.names)

    @cached_property
    def counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Counts of each value in each group: the groups in ascending order, the values, and the counts."""
        width = len(self.values)
        keys, counts = np.unique(self.group_of * width + self.secret_codes, return_counts=True)
        return keys // width, keys % width, counts

    def __repr__(self) -> str:
        return f"PublishedTable(rows={self.rows}, columns={len(self.names) + len(self.secrets)})"


def open_table(data: Any) -> pl.DataFrame:
    """Open a table of any kind of frame, or of a file, in Polars."""
    if isinstance(data, str | os.PathLike):
        return read(data if isinstance(data, str) else Path(data))
    frame = open_frame(data).frame
    check_column_names(frame, in_file=False)
    return frame


def open_published(release: Any, reading: Reading, *, sensitive: bool = True) -> PublishedTable:
    """Open a published table, and assign the roles of its columns.

    Parameters
    ----------
    release : frame, path, or Release
        The table: a file, or the folder of a release. The result of `shoal.anonymize`, and what it saved, have their
        certificate.
    reading : Reading
        The arguments of the caller.
    sensitive : bool
        Whether a sensitive attribute is required.

    Raises
    ------
    ColumnError
        If a column is missing, or the roles of the columns are unknown.
    NoRowsError
        If the table has no row.
    """
    # A release in memory has its certificate; a folder has it next to the table.
    own = getattr(release, "public_certificate", None)
    if own is not None:
        release = release.data
        reading = {**reading, "certificate": reading.get("certificate") or own.to_dict()}
    frame, beside = open_release(release)
    certificate = reading.get("certificate") or beside
    reading = {**reading, "certificate": certificate}
    # Roles that the caller names come before those of the certificate.
    names = _check_names("quasi_identifiers", reading.get("quasi_identifiers"))
    names = names or columns_with_role(certificate, "quasi_identifiers")
    secrets = _check_names("sensitive", reading.get("sensitive")) or columns_with_role(certificate, "sensitive")
    if not names or (sensitive and not secrets):
        missing = "quasi-identifiers" if not names else "sensitive attributes"
        raise ColumnError(
            f"No certificate states the {missing} of the release. Name them with ",
            Suggestion("sensitive" if names else "quasi_identifiers"),
            ".",
        )
    check_columns(frame, (*names, *secrets), "the release")
    if not frame.height:
        raise NoRowsError("The release has no row: there is nothing to attack.")
    star = reading.get("star") or star_of(certificate)
    person = _check_names("person", reading.get("person"))
    pseudonym = None if person else counting_stated(certificate).pseudonym
    return PublishedTable(
        frame=frame,
        names=names,
        secrets=secrets,
        star=star,
        reading=reading,
        person=person if pseudonym is None else (pseudonym,),
        pseudonyms=pseudonym is not None,
    )


def refuse_linked(table: PublishedTable) -> None:
    """Refuse an attack on single records of a table if the records of a person are linked.

    Raises
    ------
    UnsupportedError
        If the rows of the release are linked.
    """
    check_together(["attack", *["link"] * table.pseudonyms])


def open_release(release: Any) -> tuple[pl.DataFrame, Mapping[str, Any]]:
    """Open a published table of any kind, and the certificate next to it, which is empty if there is none.

    Parameters
    ----------
    release : frame or path
        A frame, or the path of a file or of the folder of a release.
    """
    if isinstance(release, str | os.PathLike) and Path(release).exists():
        found = read_published(Path(release))
        return found.frame, found.certificate
    return open_table(release), {}


def check_columns(frame: pl.DataFrame, names: Iterable[str], what: str) -> None:
    """Check that all columns exist."""
    for name in names:
        if name not in frame.columns:
            raise ColumnError(f"There is no column '{name}' in {what}. {near_matches(name, frame.columns)}")


def _check_names(parameter: str, given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Check a parameter of column names."""
    if given is None:
        return ()
    names = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(name, str) for name in names):
        raise ParameterError(
            Subject("the attack", parameter), " must be names of columns. Got something that is not text."
        )
    if len(set(names)) < len(names):
        raise ColumnError(Subject("the attack", parameter), " names a column twice.")
    return names


def combine_sensitive(frame: pl.DataFrame, names: Sequence[str]) -> pl.Series:
    """Convert the sensitive cells to text, one text for the combination of several attributes."""
    columns = [cell_text(frame.get_column(name)).fill_null("(missing)") for name in names]
    # One column is its own text; several are joined to one.
    if len(columns) == 1:
        return columns[0].alias("secret")
    frame = pl.DataFrame([column.alias(str(at)) for at, column in enumerate(columns)])
    return frame.select(pl.concat_str(pl.all(), separator=" & ").alias("secret")).to_series()


def encode_column(column: pl.Series, distinct: pl.Series) -> NDArray[np.int64]:
    """Encode each cell by its index among the distinct ones; -1 if it is not among them."""
    left = pl.DataFrame({"cell": column})
    right = pl.DataFrame({"cell": distinct, "place": np.arange(len(distinct))})
    joined = left.join(right, on="cell", how="left", nulls_equal=True, maintain_order="left")
    return np.asarray(joined["place"].fill_null(-1).to_numpy(), dtype=np.int64)


def encode_true_values(frame: pl.DataFrame, table: PublishedTable) -> NDArray[np.int64]:
    """Encode each person's true sensitive value by the values of the release; -1 for any other value.

    Values are compared as text. If some differ, they are compared by their meaning: numbers by value (`1.50` equals
    `1.5`), dates in any format by day. In a column that was coarsened, each value takes the cell that covers
    it.
    """
    coarsened = (parameters_of(table.certificate) or {}).get("coarsen") or {}
    # People whose values are given as published need no meaning of the cells.
    known = {name: cell_text(table.frame[name]).implode() for name in table.secrets if name in coarsened}
    coarse = [name for name, cells in known.items() if not cell_text(frame[name]).drop_nulls().is_in(cells).all()]
    if coarse:
        frame = _coarsen_as_published(frame, coarse, table)
    # First compare texts.
    codes = encode_column(combine_sensitive(frame, table.secrets), table.values)
    if (codes >= 0).all():
        return codes
    # Some differ: compare values in a common form.
    pairs = [unify_forms(table.frame.get_column(name), frame.get_column(name)) for name in table.secrets]
    shown, true = (combine_sensitive(pl.DataFrame(side), table.secrets) for side in zip(*pairs, strict=True))
    first = shown.is_first_distinct()
    place = np.append(table.secret_codes[first.to_numpy()], -1)
    return np.where(codes < 0, place[encode_column(true, shown.filter(first))], codes)


def _coarsen_as_published(frame: pl.DataFrame, names: Sequence[str], table: PublishedTable) -> pl.DataFrame:
    """Replace the true values of coarse columns by the published cell that covers them, if there is just one."""
    meanings = table.collect_meanings(names)
    understood = read_table(table.frame, names, star=table.star, meanings=meanings, true_values=frame)
    understood.require()
    converted = convert_to_form(understood, frame)
    columns = []
    for name in names:
        cells = cell_text(table.frame[name]).drop_nulls().unique().sort()
        given = converted[name]
        distinct = given.drop_nulls().unique()
        # A value that several cells cover, or none, stays as it is.
        covered = find_covered_values(cells.to_list(), distinct, meaning=meanings[name], star=table.star)
        one = covered.sum(axis=0) == 1
        cell = [cells[int(at)] if alone else None for at, alone in zip(covered.argmax(axis=0), one, strict=True)]
        shown = given.replace_strict(distinct, pl.Series(cell, dtype=pl.String), default=None, return_dtype=pl.String)
        columns.append(shown.fill_null(cell_text(given)).alias(name))
    return frame.with_columns(columns)


def require_true_values(frame: pl.DataFrame, table: PublishedTable) -> NDArray[np.int64]:
    """Encode true values as `encode_true_values` does, and raise if the columns do not match.

    Raises
    ------
    DataError
        If no person has a value of the release.
    """
    codes = encode_true_values(frame, table)
    if len(codes) and not (codes >= 0).any():
        listed = ", ".join(f"'{name}'" for name in table.secrets)
        raise DataError(
            f"None of the {len(codes):,} records has a value of {listed} that the release shows: the columns do not "
            "match. Compare how their values are written."
        )
    return codes
