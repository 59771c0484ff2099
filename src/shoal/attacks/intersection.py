"""The intersection attack: what several releases of a table that changes disclose together.

An adversary knows the quasi-identifiers of all people and who is in which release. In each release a person's candidate
sensitive set is the union of the sensitive values of all groups that cover the person; over the releases the sets are
intersected. If one value is left, it is certain, no matter which privacy model each single release satisfies.

References
----------
.. [1] X. Xiao, Y. Tao: m-Invariance: towards privacy preserving re-publication of dynamic datasets. SIGMOD 2007,
   Definition 15, Lemmas 1 and 2. https://doi.org/10.1145/1247480.1247556
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal._messages import Subject
from shoal.attacks.attack_result import Rate, list_column_sets
from shoal.attacks.compatible_rows import CompatibilityJoin, join_compatible
from shoal.attacks.published_table import (
    PublishedTable,
    Reading,
    check_columns,
    combine_sensitive,
    encode_column,
    open_release,
    open_table,
)
from shoal.attacks.value_forms import convert_to_form
from shoal.errors import DataError, ParameterError
from shoal.joins import PointTree
from shoal.verification.meaning import Tree, star_of

Bits = NDArray[np.uint64]


_WORD = 64


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class IntersectionAttack:
    """The result of an intersection attack on several releases.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.attacks import intersection_attack
    >>> people = pl.DataFrame({"name": ["Ann", "Bob"], "age": [21, 35]})
    >>> release = pl.DataFrame({"age": ["[20, 39]", "[20, 39]"], "disease": ["flu", "ulcer"]})
    >>> found = intersection_attack(
    ...     [release, release], [people, people], identifier="name", quasi_identifiers=["age"], sensitive="disease"
    ... )
    >>> found.releases, found.single_release
    (2, (0, 0))
    """

    releases: int
    """Number of releases."""
    persons: pl.DataFrame
    """Private: `id`, `releases` (number of releases with the person), `candidates` (number of sensitive values left
    over the releases that cover the person; null if none does), `first_known` (the release that left one value; null
    if more are left)."""
    single_release: tuple[int, ...]
    """For each release, the number of people whose value it discloses alone."""
    not_covered: tuple[int, ...]
    """For each release, the number of its people whom no group covers."""
    baseline: Rate
    """Success rate of guessing the most common value of all releases for every row."""
    values_left: Bits
    """Private: the candidate set of each person as bits, in words of 64."""
    values: tuple[str, ...]
    """Sensitive values by bit."""
    sensitive: tuple[str, ...] = ()
    """The attacked sensitive column, or several columns if the combination of their values was attacked."""
    each: tuple[IntersectionAttack, ...] = ()
    """If there are several sensitive columns, the results of each column alone and of their combination. The figures
    of this result are those of the worst, with the most vulnerable people."""

    @property
    def people(self) -> int:
        """Number of people whom at least one release covers."""
        return int(self.persons["candidates"].count())

    @property
    def vulnerable(self) -> int:
        """Number of people whose sensitive value is certain (Lemma 1)."""
        return int((self.persons["candidates"] == 1).sum())

    @property
    def contradicted(self) -> int:
        """Number of people without any candidate value, for whom the population or a release must be wrong."""
        return int((self.persons["candidates"] == 0).sum())

    @property
    def sizes(self) -> dict[int, int]:
        """Number of people by the size of their candidate set."""
        counted = self.persons["candidates"].drop_nulls().value_counts().sort("candidates")
        return dict(zip(counted["candidates"].to_list(), counted["count"].to_list(), strict=True))

    def confidence(self) -> dict[str, float | None]:
        """Compute the greatest and the mean confidence if all candidate values are equally likely."""
        left = self.persons["candidates"].drop_nulls()
        # People without any candidate are contradicted, not disclosed.
        left = left.filter(left > 0)
        if not len(left):
            return {"max": None, "mean": None}
        return {"max": 1 / int(left.min()), "mean": float((1 / left).mean())}  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """Convert the result to the keys of its JSON form; no person is identified."""
        return {
            "attack": "intersection",
            "attempts": self.people,
            "successes": self.vulnerable,
            **Rate(successes=self.vulnerable, attempts=self.people).to_dict(),
            "baseline": self.baseline.to_dict(),
            "control": None,
            "releases": self.releases,
            "people": self.people,
            "vulnerable": self.vulnerable,
            "vulnerable_in_one_release": list(self.single_release),
            "candidates": {str(size): people for size, people in self.sizes.items()},
            "confidence": self.confidence(),
            "not_covered": list(self.not_covered),
            "contradicted": self.contradicted,
            "columns_not_understood": [],
            "sensitive": list(self.sensitive),
            "each": [one.to_dict() for one in self.each],
            "not_measured": [],
        }

    def disclosed(self) -> pl.DataFrame:
        """List the vulnerable people and their value: `id`, `value`, `first_known`. Private.

        If there are several sensitive columns, there is a row for each column with a certain value, named in
        `sensitive`.
        """
        if self.each:
            alone = [one for one in self.each if len(one.sensitive) == 1]
            return pl.concat(
                one.disclosed().select(pl.lit(one.sensitive[0]).alias("sensitive"), pl.all()) for one in alone
            ).sort("id", "sensitive")
        # Decode the single bit of each vulnerable person.
        known = np.flatnonzero((self.persons["candidates"] == 1).fill_null(value=False).to_numpy())
        words = self.values_left[known]
        where = (words != 0).argmax(axis=1)
        word = words[np.arange(len(known)), where]
        bit = np.zeros(len(known), dtype=np.int64)
        for shift in range(_WORD):
            bit[word == np.uint64(1) << np.uint64(shift)] = shift
        values = pl.Series("value", self.values, dtype=pl.String).gather(pl.Series(where * _WORD + bit))
        people = self.persons[known]
        return pl.DataFrame([people["id"], values, people["first_known"]])

    def __repr__(self) -> str:
        return f"IntersectionAttack(releases={self.releases}, people={self.people}, vulnerable={self.vulnerable})"


def intersection_attack(
    releases: Sequence[Any],
    populations: Sequence[Any],
    *,
    identifier: str,
    quasi_identifiers: Sequence[str],
    sensitive: str | Sequence[str],
    star: str | None = None,
    certificates: Sequence[Mapping[str, Any]] | None = None,
    hierarchies: Mapping[str, Tree] | None = None,
    cells: Mapping[str, object] | None = None,
    progress: Progress = silent,
) -> IntersectionAttack:
    """Measure what an adversary learns from several releases of a table that changes.

    Parameters
    ----------
    releases : sequence of frame or path
        Published tables of any tool: frames, files, or folders of releases. A quasi-identifier's cell is a plain value,
        a
        star, an interval or a set (`shoal.verification.cell_syntax`), or what the three parameters below declare;
        further
        columns (group numbers) are ignored.
    populations : sequence of frame or path
        For each release its people: an identifier and the true quasi-identifiers.
    identifier : str
        The column that identifies a person in all populations.
    quasi_identifiers : sequence of str
        Columns of the releases and of the populations.
    sensitive : str or sequence of str
        The sensitive attribute of the releases. If there are several, each is attacked alone, then their combination.
    star : str, optional
        The text of a suppressed cell; by default that of the certificate, else `*`.
    certificates : sequence of mapping, optional
        The certificate of each release, an empty one if it has none. By default the certificates next to the files.
    hierarchies : mapping of column to Hierarchy, optional
        For columns whose cells are nodes of a hierarchy.
    cells : mapping of column to object, optional
        The meaning of the cells of other columns: `"values"` for plain values, a coarsening such as `shoal.Prefix(3)`,
        or
        all values in their order.
    progress : callable
        Called with (step, done, total) from time to time.

    Returns
    -------
    IntersectionAttack

    Raises
    ------
    NotUnderstoodError
        If the meaning of a column's cells is in doubt, or its plain values do not match the people's values.
    ColumnError
        If a column is missing.
    DataError
        If an identifier is missing or repeated, or there is nothing to attack.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"name": ["Ann", "Bob"], "age": [21, 35]})
    >>> first = pl.DataFrame({"age": ["[20, 39]", "[20, 39]"], "disease": ["flu", "ulcer"]})
    >>> second = pl.DataFrame({"age": ["[20, 29]", "[30, 39]"], "disease": ["flu", "ulcer"]})
    >>> intersection_attack(
    ...     [first, second], [people, people], identifier="name", quasi_identifiers=["age"], sensitive="disease"
    ... )
    IntersectionAttack(releases=2, people=2, vulnerable=2)
    """
    if isinstance(releases, str | PathLike) or isinstance(populations, str | PathLike):
        raise ParameterError("Several releases are compared, each with its population: give lists of them.")
    # Read the releases, with the certificates next to them, and the populations.
    opened = [open_release(release) for release in releases]
    releases, beside = [frame for frame, _ in opened], [certificate for _, certificate in opened]
    populations = [open_table(people) for people in populations]
    secrets = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    names = tuple(quasi_identifiers)
    _check(releases, populations, identifier, names, secrets)
    joins = []
    # Join each release with its people, whose values take the form of the release.
    for number, (release, people, stated) in enumerate(zip(releases, populations, certificates or beside, strict=True)):
        progress("read", number, len(releases))
        reading = Reading(certificate=stated, hierarchies=hierarchies or {}, cells=cells or {})
        table = PublishedTable(
            frame=release, names=names, secrets=secrets, star=star or star_of(stated), reading=reading
        )
        same = convert_to_form(table.read(people), people)
        joins.append(join_compatible(table.read_matching(same, "exactly"), same) if same.height else None)
    ids = [people.get_column(identifier).cast(pl.String) for people in populations]
    found = []
    # Attack each set of sensitive columns.
    for number, columns in enumerate(list_column_sets(secrets)):
        progress("attack", number, len(secrets))
        found.append(_intersect([combine_sensitive(release, columns) for release in releases], ids, joins, columns))
    return found[0] if len(found) == 1 else replace(max(found, key=lambda one: one.vulnerable), each=tuple(found))


def _intersect(
    secrets: Sequence[pl.Series],
    ids: Sequence[pl.Series],
    joins: Sequence[CompatibilityJoin | None],
    columns: tuple[str, ...],
) -> IntersectionAttack:
    """Intersect the candidate sets of all releases for one sensitive column or combination."""
    values = pl.concat(secrets).unique().sort()
    persons = pl.concat(ids).unique().sort()
    # All values are possible at first.
    left = np.full((len(persons), -(-len(values) // _WORD)), ~np.uint64(0))
    seen = np.zeros(len(persons), dtype=np.int64)
    covered_ever = np.zeros(len(persons), dtype=np.bool_)
    first_known = np.zeros(len(persons), dtype=np.int64)
    alone, not_covered = [], []
    for number, (secret, names, join) in enumerate(zip(secrets, ids, joins, strict=True), start=1):
        # Intersect the candidates of this release with those of the releases before.
        found = _collect_candidates(join, secret, values)
        who = persons.search_sorted(names).cast(pl.Int64).to_numpy()
        covered = found.any(axis=1)
        left[who[covered]] &= found[covered]
        seen[who] += 1
        covered_ever[who[covered]] = True
        # Count the people whom this release discloses alone, and those whom the releases so far disclose.
        alone.append(int((_count_bits(found) == 1).sum()))
        not_covered.append(int((~covered).sum()))
        now_known = covered_ever & (first_known == 0)
        now_known[now_known] = _count_bits(left[now_known]) == 1
        first_known[now_known] = number
    # People whom no release covers have no candidate set.
    sizes = pl.Series("candidates", _count_bits(left)).set(pl.Series(~covered_ever), None)
    rows = encode_column(pl.concat(secrets), values)
    return IntersectionAttack(
        releases=len(secrets),
        persons=pl.DataFrame(
            {
                "id": persons,
                "releases": seen,
                "candidates": sizes,
                "first_known": pl.Series(first_known).replace(0, None),
            }
        ),
        single_release=tuple(alone),
        not_covered=tuple(not_covered),
        baseline=Rate(successes=int(np.bincount(rows).max(initial=0)), attempts=len(rows)),
        values_left=left,
        values=tuple(values.to_list()),
        sensitive=columns,
    )


def _check(
    releases: Sequence[pl.DataFrame],
    populations: Sequence[pl.DataFrame],
    identifier: str,
    names: Sequence[str],
    secrets: Sequence[str],
) -> None:
    """Check that there is a population for each release, with the columns and one row per person."""
    if not releases or not names or not secrets:
        raise DataError("There is nothing to attack: give releases, quasi-identifiers and a sensitive attribute.")
    if len(releases) != len(populations):
        raise ParameterError(
            Subject("intersection_attack", "populations"),
            f" must have one table for each release. Got {len(populations)} for {len(releases)} release(s).",
        )
    for number, (release, people) in enumerate(zip(releases, populations, strict=True), start=1):
        for frame, what, wanted in (
            (release, f"release {number}", (*names, *secrets)),
            (people, f"the population of release {number}", (identifier, *names)),
        ):
            check_columns(frame, wanted, what)
        # Each person of a population has one row.
        ids = people.get_column(identifier)
        if ids.null_count() or ids.is_duplicated().any():
            raise DataError(
                f"The population of release {number} misses an identifier, or has one more than once: a person is in a "
                "release once. Name another column, or keep one row of each person."
            )


def _count_bits(bits: Bits) -> NDArray[np.int64]:
    """Count the candidate values of each person."""
    return np.asarray(np.bitwise_count(bits).sum(axis=1), dtype=np.int64)


def _collect_candidates(join: CompatibilityJoin | None, secret: pl.Series, values: pl.Series) -> Bits:
    """Collect each person's candidate sensitive set in one release, as bits."""
    words = -(-len(values) // _WORD)
    if join is None:
        return np.zeros((0, words), dtype=np.uint64)
    # Each box carries the set of its values as bits; the union over compatible boxes is a bitwise or.
    codes = encode_column(secret, values)
    carried = np.zeros((len(join.boxes), words), dtype=np.uint64)
    np.bitwise_or.at(carried, (join.box_of, codes // _WORD), np.uint64(1) << (codes % _WORD).astype(np.uint64))
    points = PointTree(join.covered.low[join.points])
    return points.collect(join.boxes, join.covered, carried)[join.point_of]
