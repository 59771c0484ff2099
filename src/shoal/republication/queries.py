"""Count queries on a published table: how many people satisfy some conditions, corrected for counterfeits.

Each group contributes (rows - counterfeits) * (share of its sub-domains that the ranges overlap) * (share of its rows
that satisfy the conditions on sensitive values), as if its people were spread evenly over its sub-domains.

References
----------
.. [1] X. Xiao, Y. Tao: m-Invariance: towards privacy preserving re-publication of dynamic datasets. SIGMOD 2007,
   Section 5.2. https://doi.org/10.1145/1247480.1247556
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ColumnError, DataError, ParameterError, near_matches
from shoal.republication.column_predicate import ColumnPredicate, UniformEstimator
from shoal.republication.questions import Condition, read_question
from shoal.verification import Meaning, ReadColumn, read_table
from shoal.verification.cell_syntax import cell_text
from shoal.verification.published_columns import ReadingProblem, not_understood_error, suggest_declaration
from shoal.verification.published_folder import GROUP
from shoal.verification.sub_domains import AnyOf, Everything, Listed, SubDomain

_COUNT = "count"


@dataclass(frozen=True, kw_only=True)
class Count:
    """The answer to a count query: an estimate and exact bounds."""

    estimate: float
    """Expected number of people if those of a group are spread evenly over its sub-domains."""
    at_least: int
    """Number of people who satisfy the conditions for certain."""
    at_most: int
    """Largest number of people who can satisfy the conditions."""

    def to_dict(self) -> dict[str, Any]:
        """Convert the answer to the keys of its JSON form."""
        return {"count": self.estimate, "at_least": self.at_least, "at_most": self.at_most}


class PublishedGroups:
    """The groups of a published table, prepared for count queries.

    Parameters
    ----------
    release : polars.DataFrame
        The published table. Its groups are those of a column `group_id` if there is one, else rows with equal
        quasi-identifiers.
    quasi_identifiers : sequence of str
        The recoded columns; all other columns are plain values.
    counterfeits : polars.DataFrame, optional
        Columns `group_id` and `count`: the number of counterfeits of each group that has any.
    star : str
        The text of a suppressed cell.
    domains : mapping of str to str, optional
        For a quasi-identifier with stars, the values that a star stands for, as a cell such as "[17, 95]" or "{f, m}".
        By default any value; the estimate then uses the range of the other cells.
    meanings : mapping of str to Meaning, optional
        Declared meanings of the quasi-identifiers' cells (`shoal.verification.collect_meanings`).
    empty_is_missing : bool
        Whether an empty text was read as a missing value, as in CSV. If so, the bounds hold for both readings.

    Examples
    --------
    >>> import polars as pl
    >>> release = pl.DataFrame({"age": ["[30, 39]"] * 2 + ["[40, 49]"] * 2, "disease": ["flu", "cough", "flu", "gout"]})
    >>> PublishedGroups(release, quasi_identifiers=["age"]).count("age < 35 and disease = flu")
    Count(estimate=0.5, at_least=0, at_most=1)
    """

    def __init__(
        self,
        release: pl.DataFrame,
        *,
        quasi_identifiers: Sequence[str],
        counterfeits: pl.DataFrame | None = None,
        star: str = "*",
        domains: Mapping[str, str] | None = None,
        meanings: Mapping[str, Meaning] | None = None,
        empty_is_missing: bool = False,
    ) -> None:
        _check(release, quasi_identifiers, counterfeits)
        self._release = release
        self._quasi_identifiers = tuple(quasi_identifiers)
        # Groups, their sizes and their counterfeits.
        first, self._group_of = _groups(release, self._quasi_identifiers)
        self._sizes = np.bincount(self._group_of, minlength=len(first))
        self._count_counterfeits = _count_counterfeits(release, counterfeits, first)
        # All rows of a group show the same cells: read one of each.
        self._read = read_table(release[first], self._quasi_identifiers, star=star, meanings=meanings)
        self._domains = dict(domains or {})
        self._empty_is_missing = empty_is_missing
        self._columns: dict[str, _Column] = {}

    def find_unknown_values(self, question: str | Sequence[Condition]) -> tuple[str, ...]:
        """List the columns for which a query names a value that occurs neither in the release nor in a declared domain.

        Such a value is more often misspelt than intended. Ranges are not checked, nor are columns that show only stars.
        """
        conditions = read_question(question) if isinstance(question, str) else tuple(question)
        return tuple(
            dict.fromkeys(
                condition.column
                for condition in conditions
                if condition.values is not None
                and condition.column in self._release.columns
                and condition.column != GROUP
                and not all(self._knows(condition.column, value) for value in condition.values)
            )
        )

    def _knows(self, name: str, value: str) -> bool:
        """Check whether a value may occur in a column."""
        if name in self._quasi_identifiers:
            return self._column(name).shows(value)
        alone = Condition(column=name, values=(value,))
        return bool(_select_matching(self._release.get_column(name), [alone]).any())

    def _column(self, name: str) -> _Column:
        """Read a quasi-identifier for queries.

        Raises
        ------
        NotUnderstoodError
            If the meaning of its cells is in doubt.
        """
        if name not in self._columns:
            problem = self._read[name].problem
            # Between names in no known order there may be any of them, which is a bound, too.
            if problem is not None and not problem.order_only:
                raise not_understood_error([problem])
            self._columns[name] = _Column(
                self._read[name], self._domains.get(name), empty_is_missing=self._empty_is_missing
            )
        return self._columns[name]

    def count(self, question: str | Sequence[Condition]) -> Count:
        """Count the people who satisfy a query: an estimate, and exact bounds.

        Parameters
        ----------
        question : str
            Such as "age in [30, 50) and disease = flu"; a blank query counts all people.

        Returns
        -------
        Count
            The estimate, and the bounds that hold for certain.

        Raises
        ------
        ColumnError
            If the query names a column that is not published.
        NotUnderstoodError
            If the meaning of the cells of a named column is in doubt.
        ParameterError
            If the query cannot be parsed.
        """
        conditions = read_question(question) if isinstance(question, str) else tuple(question)
        by_column: dict[str, list[Condition]] = {}
        for condition in conditions:
            if condition.column not in self._release.columns or condition.column == GROUP:
                known = [name for name in self._release.columns if name != GROUP]
                raise ColumnError(
                    f"The release has no column '{condition.column}'. {near_matches(condition.column, known)}"
                )
            by_column.setdefault(condition.column, []).append(condition)
        # Conditions on quasi-identifiers hold for groups, conditions on other columns for rows.
        share = np.ones(len(self._sizes))
        may, must = np.ones(len(self._sizes), dtype=np.bool_), np.ones(len(self._sizes), dtype=np.bool_)
        fulfils = perhaps = np.ones(self._release.height, dtype=np.bool_)
        for name, asked in by_column.items():
            if name in self._quasi_identifiers:
                may_here, must_here, share_here = self._column(name).answers(asked)
                may, must, share = may & may_here, must & must_here, share * share_here
            else:
                column = self._release.get_column(name)
                found = _select_matching(column, asked)
                empty = self._empty_is_missing and all(condition.holds("") for condition in asked)
                fulfils, perhaps = fulfils & found, perhaps & (found | (column.is_null().to_numpy() & empty))
        rows, most = (np.bincount(self._group_of[one], minlength=len(self._sizes)) for one in (fulfils, perhaps))
        # Counterfeits are unknown rows: subtract them from the lower bound, and cap the upper one.
        people = self._sizes - self._count_counterfeits
        return Count(
            estimate=float((people * share * (rows / self._sizes)).sum()),
            at_least=int(np.where(must, np.maximum(rows - self._count_counterfeits, 0), 0).sum()),
            at_most=int(np.where(may, np.minimum(most, people), 0).sum()),
        )


def _check(release: pl.DataFrame, names: Sequence[str], counterfeits: pl.DataFrame | None) -> None:
    """Check that the columns and the counterfeits fit the release."""
    for name in names:
        if name not in release.columns:
            raise ColumnError(f"The release has no column '{name}'. {near_matches(name, release.columns)}")
    if not release.height:
        raise DataError("The release has no rows: there is nothing to count.")
    if counterfeits is not None and counterfeits.height and GROUP not in release.columns:
        raise DataError(f"The counterfeits are counted by '{GROUP}', but the release has no such column.")


def _groups(release: pl.DataFrame, names: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Assign the rows to groups.

    Returns
    -------
    first : array
        One row of each group.
    of_row : array
        The group of each row.
    """
    keys = [release.get_column(GROUP)] if GROUP in release.columns else [release.get_column(name) for name in names]
    # Combine the columns into one number per row.
    number = np.zeros(release.height, dtype=np.int64)
    for column in keys:
        codes = column.rank("dense").fill_null(0).to_numpy().astype(np.int64)
        _, number = np.unique(number * (int(codes.max()) + 1) + codes, return_inverse=True)
    _, first, of_row = np.unique(number, return_index=True, return_inverse=True)
    return first, of_row


def _count_counterfeits(
    release: pl.DataFrame, counterfeits: pl.DataFrame | None, first: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count the counterfeits of each group."""
    if counterfeits is None or not counterfeits.height:
        return np.zeros(len(first), dtype=np.int64)
    # Compare group numbers as text, because files may change their type.
    counted = dict(zip(cell_text(counterfeits[GROUP]).to_list(), counterfeits[_COUNT].to_list(), strict=True))
    numbers = cell_text(release.get_column(GROUP).gather(first)).to_list()
    if not counted.keys() <= set(numbers):
        raise DataError("The counterfeits belong to groups that the release does not have: are both of one release?")
    return np.array([counted.get(number, 0) for number in numbers], dtype=np.int64)


def _select_matching(column: pl.Series, asked: Sequence[Condition]) -> NDArray[np.bool_]:
    """Select the rows whose plain value satisfies all conditions."""
    texts = cell_text(column)
    distinct = texts.unique()
    good = [text for text in distinct.to_list() if all(condition.holds(text) for condition in asked)]
    return texts.is_in(pl.Series(good, dtype=pl.String).implode()).fill_null(value=False).to_numpy()


class _Column:
    """A recoded column: the sub-domain of each group's cell."""

    def __init__(self, cells: ReadColumn, domain: str | None, *, empty_is_missing: bool) -> None:
        self.cells, self._empty_is_missing = cells, empty_is_missing
        self._domain = None if domain is None else _domain(cells, domain)
        # A domain holds values only. If the column has missing values, a star may hide one, too.
        hidden = (Listed(texts=(None,)),) * (None in cells.labels)
        self._star = None if self._domain is None else AnyOf(parts=(self._domain, *hidden))
        self._evenly = UniformEstimator(cells, self._domain)

    def answers(self, asked: Sequence[Condition]) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.float64]]:
        """Evaluate the conditions for each group.

        Returns
        -------
        may, must : arrays of bool
            Whether a person's value may, and whether every person's value must, satisfy all conditions.
        share : array of float
            Estimated share of the people who satisfy them.
        """
        self._check_plain(asked)
        held = ColumnPredicate(self.cells, asked, self._star, empty_is_missing=self._empty_is_missing)
        judged = [held.evaluate(label) for label in self.cells.labels]
        may, must = (np.array([getattr(one, name) for one in judged], dtype=np.bool_) for name in ("may", "must"))
        shares = np.array([self._evenly.estimate_share(label, held) for label in self.cells.labels])
        # The estimate must agree with the certain answers.
        shares = np.where(must, 1.0, np.where(may, np.clip(shares, 0.0, 1.0), 0.0))
        return may[self.cells.codes], must[self.cells.codes], shares[self.cells.codes]

    def shows(self, value: str) -> bool:
        """Check whether any cell that is not a star, or the declared domain of stars, may stand for a value."""
        alone = Condition(column=self.cells.name, values=(value,))
        held = ColumnPredicate(self.cells, [alone], self._star, empty_is_missing=self._empty_is_missing)
        starred = [isinstance(one, Everything) for one in self.cells.sub_domains]
        if all(starred) and self._star is None:
            return True  # nothing is known
        labels = zip(self.cells.labels, starred, strict=True)
        return any(held.evaluate(label).may for label, star in labels if not star or self._star is not None)

    def _check_plain(self, asked: Sequence[Condition]) -> None:
        """Check that requested values occur in a column whose cells have no declared meaning."""
        named = [value for one in asked if one.values is not None and not one.negated for value in one.values]
        if self.cells.is_plain and not all(map(self.shows, named)):
            why = "the question names a value that no cell shows, and nothing says that cells are values as they stand"
            raise not_understood_error(
                [ReadingProblem(column=self.cells.name, why=why, how=suggest_declaration(self.cells.name))]
            )


def _domain(cells: ReadColumn, domain: str) -> SubDomain:
    """Parse the declared domain of stars, whose ends are plain values for any form of the column."""
    stated = ReadColumn(cells.name, [domain], np.zeros(1, dtype=np.int64), meaning=Meaning())
    if stated.problem is not None:
        raise ParameterError(
            f"The domain of '{cells.name}' cannot be read: an interval such as [17, 95] of numbers or dates, or a set "
            "such as {f, m} of all values must stand there."
        )
    # A column of stars only takes its scale from the domain.
    if cells.scale == "text" and all(isinstance(one, Everything) for one in cells.sub_domains):
        cells.scale = stated.scale  # of stars alone nothing else is known
    # The domain must be read on the scale of the cells.
    if stated.scale != cells.scale and cells.meaning.kind not in _CODES:
        stated = ReadColumn(cells.name, [domain], stated.codes, meaning=Meaning(kind="values"), scale=cells.scale)
    return stated.sub_domain(domain)


_CODES = ("prefix", "three-digit-zip")
