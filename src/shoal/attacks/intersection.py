"""The intersection attack: what several releases of one table that changes tell together of each person.

An adversary knows everybody's quasi-identifiers and who is in which release. In each release a person's candidate
sensitive set is the union of the sensitive values of all groups that cover the person; over the releases the sets are
intersected. Where one value is left, it is known for certain, whatever the releases were made to satisfy.

References
----------
.. [1] X. Xiao, Y. Tao: m-Invariance: towards privacy preserving re-publication of dynamic datasets. SIGMOD 2007,
   Definition 15, Lemmas 1 and 2. https://doi.org/10.1145/1247480.1247556
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal._core.progress import Progress, silent
from shoal._messages import Subject
from shoal.attacks.compatible_rows import meet, why_not_matched
from shoal.attacks.each_column import subjects
from shoal.attacks.published_table import check_columns, codes_of, frame_of, opened_release, secret_of
from shoal.attacks.rates import Rate
from shoal.attacks.same_values import in_form_of
from shoal.errors import DataError, ParameterError
from shoal.joins import PointTree
from shoal.verification.meaning import declared_meanings, parameters_of
from shoal.verification.published_columns import not_understood, read_table

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.attacks.compatible_rows import Meeting
    from shoal.verification.meaning import Tree
    from shoal.verification.published_columns import ReadTable

    Bits = NDArray[np.uint64]

__all__ = ["IntersectionAttack", "intersection_attack"]

_WORD = 64


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class IntersectionAttack:
    """What an adversary learns from some releases."""

    releases: int
    """Number of releases."""
    persons: pl.DataFrame
    """Private: `id`, `releases` (in how many the person is), `candidates` (how many sensitive values are left, over
    the releases that cover the person; null where none does), `first_known` (the release that left one value; null
    where more than one is left)."""
    single_release: tuple[int, ...]
    """For each release, the people whose value it tells alone."""
    not_covered: tuple[int, ...]
    """For each release, the people who are said to be in it although no group covers them."""
    baseline: Rate
    """How often guessing the most common value of all releases would be right about their rows."""
    values_left: Bits
    """Private: the candidate set of each person as bits, in words of 64."""
    values: tuple[str, ...]
    """The sensitive values that the bits stand for."""
    sensitive: tuple[str, ...] = ()
    """The sensitive columns whose value was attacked: one, or several for the combination of their values."""
    each: tuple[IntersectionAttack, ...] = ()
    """With several sensitive columns, the results of each column alone and of their combination. The figures of this
    result are those of the worst: with the most vulnerable people."""

    @property
    def people(self) -> int:
        """Number of people that some release covers."""
        return int(self.persons["candidates"].count())

    @property
    def vulnerable(self) -> int:
        """Number of people whose sensitive value is known for certain (Lemma 1)."""
        return int((self.persons["candidates"] == 1).sum())

    @property
    def contradicted(self) -> int:
        """Number of people of whom no value is left: then the population, or a release, is wrong about them."""
        return int((self.persons["candidates"] == 0).sum())

    @property
    def sizes(self) -> dict[int, int]:
        """How many people have a candidate set of each size."""
        counted = self.persons["candidates"].drop_nulls().value_counts().sort("candidates")
        return dict(zip(counted["candidates"].to_list(), counted["count"].to_list(), strict=True))

    def confidence(self) -> dict[str, float | None]:
        """Return the greatest and the mean confidence, where the values left are equally likely to the adversary."""
        left = self.persons["candidates"].drop_nulls()
        left = left.filter(left > 0)
        if not len(left):
            return {"max": None, "mean": None}
        return {"max": 1 / int(left.min()), "mean": float((1 / left).mean())}  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as JSON takes them; nobody is named."""
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
        """Return who is vulnerable and which value is left of each: `id`, `value`, `first_known`. Private.

        With several sensitive columns there is a row for each column of which a value is certain, named in `sensitive`.
        """
        import polars as pl

        if self.each:
            alone = [one for one in self.each if len(one.sensitive) == 1]
            return pl.concat(
                one.disclosed().select(pl.lit(one.sensitive[0]).alias("sensitive"), pl.all()) for one in alone
            ).sort("id", "sensitive")
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
    star: str = "*",
    certificates: Sequence[Mapping[str, Any]] | None = None,
    hierarchies: Mapping[str, Tree] | None = None,
    cells: Mapping[str, object] | None = None,
    progress: Progress = silent,
) -> IntersectionAttack:
    """Find out what an adversary learns who has some releases of a table that changes.

    Parameters
    ----------
    releases : sequence of frame or path
        Published tables, made by any tool: frames, files, or folders of releases. A quasi-identifier's cell is a plain
        value, a star, an interval or a set (`shoal.verification.cell_syntax`), or what the three parameters below say;
        further columns (group numbers) are not needed.
    populations : sequence of frame or path
        For each release who is in it: an identifier and the true quasi-identifiers.
    identifier : str
        The column that tells the same person in different populations.
    quasi_identifiers : sequence of str
        Columns of the releases and of the populations.
    sensitive : str or sequence of str
        The sensitive attribute of the releases; of several, each alone and their combination.
    star : str
        How the releases write a suppressed cell.
    certificates : sequence of mapping, optional
        The certificate of each release, an empty one where there is none; by default those that lie beside the files.
    hierarchies : mapping of column to Hierarchy, optional
        For columns whose cells are nodes of a hierarchy.
    cells : mapping of column to object, optional
        What the cells of other columns are: `"values"` as they stand, a coarsening (`shoal.Prefix(3)`), or all values
        in their order.
    progress : callable
        Called with (step, done, total) now and then.

    Returns
    -------
    IntersectionAttack

    Raises
    ------
    NotUnderstoodError
        Where it is in doubt what the cells of a column stand for, or that they are values although people have others.
    ColumnError
        Where a column is not there.
    DataError
        Where an identifier is missing or repeated, or there is nothing to attack.
    """
    import polars as pl

    if isinstance(releases, str | PathLike) or isinstance(populations, str | PathLike):
        raise ParameterError("Several releases are compared, each with its population: give lists of them.")
    opened = [opened_release(release) for release in releases]
    releases, beside = [frame for frame, _ in opened], [certificate for _, certificate in opened]
    populations = [frame_of(people) for people in populations]
    secrets = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    names = tuple(quasi_identifiers)
    _check(releases, populations, identifier, names, secrets)
    saids = [parameters_of(one) for one in certificates or beside]
    meanings = [declared_meanings(names, said, trees=hierarchies, cells=cells) for said in saids]
    meetings = []
    for number, (release, people) in enumerate(zip(releases, populations, strict=True)):
        progress("read", number, len(releases))
        understood = read_table(release, names, star=star, meanings=meanings[number], beside=people)
        understood.require()
        same = in_form_of(understood, people)
        understood = read_table(release, names, star=star, meanings=meanings[number], beside=same)
        meetings.append(_meeting(understood, same))
    ids = [people.get_column(identifier).cast(pl.String) for people in populations]
    found = []
    for number, columns in enumerate(subjects(secrets)):
        progress("attack", number, len(secrets))
        found.append(_intersect([secret_of(release, columns) for release in releases], ids, meetings, columns))
    return found[0] if len(found) == 1 else replace(max(found, key=lambda one: one.vulnerable), each=tuple(found))


def _meeting(understood: ReadTable, people: pl.DataFrame) -> Meeting | None:
    """Return which rows of a release its people may be; None if there are no people."""
    if not people.height:
        return None
    problems = why_not_matched(understood, people, "exactly")
    if problems:
        raise not_understood(problems)
    return meet(understood, people)


def _intersect(
    secrets: Sequence[pl.Series],
    ids: Sequence[pl.Series],
    meetings: Sequence[Meeting | None],
    columns: tuple[str, ...],
) -> IntersectionAttack:
    """Intersect what all releases leave of the values of one sensitive column, or of a combination."""
    import polars as pl

    values = pl.concat(secrets).unique().sort()
    persons = pl.concat(ids).unique().sort()
    left = np.full((len(persons), -(-len(values) // _WORD)), ~np.uint64(0))
    seen = np.zeros(len(persons), dtype=np.int64)
    covered_ever = np.zeros(len(persons), dtype=np.bool_)
    first_known = np.zeros(len(persons), dtype=np.int64)
    alone, not_covered = [], []
    for number, (secret, names, meeting) in enumerate(zip(secrets, ids, meetings, strict=True), start=1):
        found = _candidates(meeting, secret, values)
        who = _places(names, persons)
        covered = found.any(axis=1)
        left[who[covered]] &= found[covered]
        seen[who] += 1
        covered_ever[who[covered]] = True
        alone.append(int((_sizes(found) == 1).sum()))
        not_covered.append(int((~covered).sum()))
        now_known = covered_ever & (first_known == 0)
        now_known[now_known] = _sizes(left[now_known]) == 1
        first_known[now_known] = number
    sizes = pl.Series("candidates", _sizes(left)).set(pl.Series(~covered_ever), None)
    rows = codes_of(pl.concat(secrets), values)
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
        ids = people.get_column(identifier)
        if ids.null_count() or ids.is_duplicated().any():
            raise DataError(
                f"The population of release {number} misses an identifier, or has one more than once: a person is in a "
                "release once. Name another column, or remove the repetitions."
            )


def _places(ids: pl.Series, persons: pl.Series) -> NDArray[np.int64]:
    """Return the place of each id among all persons, which are sorted."""
    import polars as pl

    return persons.search_sorted(ids).cast(pl.Int64).to_numpy()


def _sizes(bits: Bits) -> NDArray[np.int64]:
    return np.asarray(np.bitwise_count(bits).sum(axis=1), dtype=np.int64)


def _candidates(meeting: Meeting | None, secret: pl.Series, values: pl.Series) -> Bits:
    """Return each person's candidate sensitive set in one release, as bits."""
    words = -(-len(values) // _WORD)
    if meeting is None:
        return np.zeros((0, words), dtype=np.uint64)
    codes = codes_of(secret, values)
    carried = np.zeros((len(meeting.boxes), words), dtype=np.uint64)
    np.bitwise_or.at(carried, (meeting.box_of, codes // _WORD), np.uint64(1) << (codes % _WORD).astype(np.uint64))
    points = PointTree(meeting.covered.low[meeting.points])
    return points.collect(meeting.boxes, meeting.covered, carried)[meeting.point_of]
