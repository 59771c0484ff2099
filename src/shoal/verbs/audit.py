"""Auditing a published table, whoever made it: the privacy that it has, measured from its cells alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from shoal._core.facts import Fact
from shoal._core.validation import OneOf, validate
from shoal.disclosure_risk import make_people_counter, measure_persons, reidentification
from shoal.engines import chosen_engine, count_and_place_cells, persons_in_pieces
from shoal.errors import ColumnError, DataError, ParameterError
from shoal.findings import alike_warnings, persons_beside, repeated_person, sure_of_persons
from shoal.metrics import published_star_counts
from shoal.models import Requirement, collect_models
from shoal.pipeline.input import JudgedTable, judged, open_data, open_population, understood
from shoal.request.hierarchies import trees_of
from shoal.request.request import ENGINES
from shoal.table import Schema, roles
from shoal.table.counts import multiplicities
from shoal.verification import Achieved, Failure, collect_meanings, find_failures, measure, number_units
from shoal.verification.counting import people_of_groups
from shoal.verification.meaning import parameters_of

if TYPE_CHECKING:
    from os import PathLike

    import numpy as np
    from numpy.typing import NDArray

    from shoal.disclosure_risk import PersonEvidence, Reidentification
    from shoal.findings import Remark
    from shoal.hierarchy import Hierarchy
    from shoal.models import PeopleCounts, PrivacyModel

__all__ = ["Audit", "audit"]


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What a published table achieves."""

    achieved: Achieved
    """The privacy that was measured."""
    requested: tuple[dict[str, Any], ...] = ()
    """The models that were requested, as a certificate has them."""
    failures: tuple[Failure, ...] = field(default=(), compare=False)
    """The requested models that the table fails, and in which groups; empty where it satisfies all. Groups are numbered
    in the order in which the rows of the table name them."""
    rows: int
    """Rows of the table."""
    unique_rows: int
    """Rows that share their quasi-identifiers with nobody."""
    risk: Reidentification | None
    """How easily the row of somebody who is in the table is found; the acceptable risk is 1 / k for the k of the
    models, or 1 / 5. None where there is no quasi-identifier."""
    stars: int
    """Cells that show the star symbol."""
    suppressed_tuples: int
    """Rows with such a cell."""
    persons: tuple[dict[str, Any], ...] = ()
    """What was measured of each kind of unit that was named, as in a certificate's "persons"."""
    warnings: tuple[Remark, ...] = field(default=(), compare=False)
    """Columns with values that read alike, which were counted as different ones, and the column that names persons with
    several records each: groups count records."""

    @property
    def violations(self) -> tuple[str, ...]:
        """Which of the requested models the table fails, in words."""
        return tuple(failure.sentence for failure in self.failures)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as a dictionary; `achieved` has the keys of a certificate's.

        What is met and what fails is in it where models were requested only: `requested`, `violations` and `failures`.
        """
        facts: dict[str, Any] = {
            "rows": self.rows,
            "achieved": self.achieved.to_dict(),
            "unique_rows": self.unique_rows,
            "risk": None if self.risk is None else self.risk.to_dict(),
            "cost": {"stars": self.stars, "suppressed_tuples": self.suppressed_tuples},
            **({"persons": [dict(figures) for figures in self.persons]} if self.persons else {}),
            "warnings": [remark.to_dict() for remark in self.warnings],
        }
        if self.requested:
            facts["requested"] = [dict(model) for model in self.requested]
            facts["violations"] = list(self.violations)
            facts["failures"] = [failure.to_dict() for failure in self.failures]
        return facts

    def to_json(self) -> str:
        """Return the audit as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def _repr_html_(self) -> str:
        """Return what a notebook shows of it; it holds no cell."""
        from shoal.report.notebook import card_of_audit

        return card_of_audit(self.to_dict())


def audit(
    data: Any,
    *,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: str | Sequence[str] | None = None,
    privacy: PrivacyModel | Sequence[PrivacyModel] | None = None,
    k: int | None = None,
    l: float | None = None,
    t: float | None = None,
    person: str | Sequence[str] | None = None,
    units: Sequence[str | Sequence[str]] = (),
    star: str | None = None,
    hierarchies: Mapping[str, Hierarchy | str | PathLike[str]] | None = None,
    cells: Mapping[str, object] | None = None,
    dates: Mapping[str, str] | None = None,
    decimal: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    engine: Literal["auto", "memory", "stream", "spark"] = "auto",
    memory: int | str | None = None,
) -> Audit:
    """Measure the privacy of a table from its cells, and check it against models where some are given.

    Cells are compared as they stand: a star, an interval and a missing value are values like any other, and rows in
    another order or a frame with another index give the same audit.

    Parameters
    ----------
    data : frame, path, or Release
        As for `anonymize`, or the folder of a release. Columns without a role are ignored.
    quasi_identifiers : sequence of str, optional
        Columns that an adversary knows; unless given, columns have the roles that a release's certificate says.
    sensitive : str or sequence of str, optional
        Columns that must not be linked to a person.
    privacy : PrivacyModel or sequence of PrivacyModel, optional
        What the table should satisfy; what it does not is in `Audit.failures`, and in words in `Audit.violations`.
    k, l, t : numbers, optional
        Short for models, as for `anonymize`.
    person : str or sequence of str, optional
        The column, or several together, that identifies persons, in a copy of a release that has it, or in an original:
        k counts persons then, and `Audit.persons` states their figures. A row without a person is one of its own.
    units : sequence of str or of sequences of str, optional
        Further kinds of units, as for `anonymize`.
    star : str, optional
        What a suppressed cell shows; as the certificate of a release says, or `*`.
    hierarchies : mapping of column to Hierarchy or path, optional
        Where a model asks about a population: for columns whose cells are nodes of a hierarchy.
    cells : mapping of column to object, optional
        There, what the cells of other columns are where they do not say it, as for `risk`.
    dates, decimal
        How sensitive dates and numbers are written, where a model looks at them; as for `anonymize`.
    delimiter, encoding : str, optional
        Of a CSV file; detected by default.
    sheet : str, optional
        Of a workbook; needed where it has several.
    engine, memory
        As for `anonymize`: a folder of Parquet files, or a table that does not fit into memory, is read in pieces, and
        a PySpark DataFrame by Spark. Rows of Spark have no order: groups are numbered as the rows are sorted.

    Returns
    -------
    Audit

    Raises
    ------
    UsageError
        The call or the data is wrong.
    """
    validate("audit", {"engine": engine}, {"engine": OneOf(ENGINES)})
    table = judged(data, quasi_identifiers, sensitive, star)
    data, star = table.data, table.star
    by, places = chosen_engine(engine, memory, data), None
    schema = roles(table.quasi_identifiers, table.sensitive, person=person, units=units)
    if by.streams:
        source = by.open(data, delimiter=delimiter, encoding=encoding)
        _check_roles(schema, source.columns)
        opened, places = count_and_place_cells(source, schema, by.budget)
        persons = [one for one in persons_in_pieces(source, opened, schema) if _is_beside(one, schema)]
    else:
        opened = open_data(data, delimiter=delimiter, encoding=encoding, sheet=sheet)
        schema.check_known(opened.frame.columns)
        if opened.frame.height == 0:
            raise DataError("The table has no rows: there is nothing to audit.")
        _check_roles(schema, opened.frame.columns)
        persons = list(persons_beside(opened.frame, schema.published))
    if not (privacy is None and k is None and l is None and t is None):
        privacy = collect_models(privacy, k=k, l=l, t=t)
    requirement = None if privacy is None else Requirement.of(privacy, schema.sensitive, schema.units)
    # Quasi-identifiers are compared as they stand.
    values = Schema(quasi_identifiers=(), sensitive=schema.sensitive)
    opened = understood(opened, values, requirement, dates=dates, decimal=decimal)
    frame = opened.frame[list(schema.published)]
    models = () if requirement is None else requirement.models
    times = opened.counts
    people = _people(frame, schema, requirement, table, hierarchies, cells)
    owners = number_units(opened.frame[list(schema.unit_columns)], schema.units) if schema.units else None
    figures = measure_persons(
        frame,
        owners,
        quasi_identifiers=schema.quasi_identifiers,
        sensitive=schema.sensitive,
        limit=None if requirement is None else requirement.value_share,
        times=times,
    )
    achieved = measure(frame, schema.quasi_identifiers, schema.sensitive, models, people=people, times=times)
    stars, starred = published_star_counts(frame, schema.quasi_identifiers, star, times)
    return Audit(
        achieved=achieved,
        requested=() if requirement is None else tuple(requirement.to_list()),
        failures=()
        if requirement is None
        else find_failures(
            frame, schema.quasi_identifiers, requirement, people, times=times, places=places, units=owners
        ),
        rows=opened.rows,
        unique_rows=achieved.sizes_counted.get(1, 0),
        risk=reidentification(achieved.sizes_counted, k=1 if requirement is None else requirement.k)
        if schema.quasi_identifiers
        else None,
        stars=sum(stars.values()),
        suppressed_tuples=starred,
        persons=tuple(figures),
        warnings=(*_alike(frame, times), *repeated_person(() if schema.units else persons), *sure_of_persons(figures)),
    )


def _alike(frame: pl.DataFrame, times: NDArray[np.int64] | None) -> Iterator[Remark]:
    """Yield the warnings about values that read alike, without the advice for the release of a table of one's own."""
    for column in frame:
        for remark in alike_warnings(column, pl.Series(multiplicities(len(column), times))):
            yield replace(remark, advice=Fact("publisher_writes_alike"))


def _is_beside(evidence: PersonEvidence, schema: Schema) -> bool:
    """Return whether a column without a role names persons: the rows of a group agree as those of a person do."""
    return evidence.column is not None and evidence.column not in schema.published


def _check_roles(schema: Schema, columns: Sequence[str]) -> None:
    schema.check_known(columns)
    if not schema.published:
        raise ColumnError("No column has a role: name the quasi-identifiers, the sensitive columns, or both.")


def _people(
    frame: pl.DataFrame,
    schema: Schema,
    requirement: Requirement | None,
    table: JudgedTable,
    hierarchies: Mapping[str, Hierarchy | str | PathLike[str]] | None,
    cells: Mapping[str, object] | None,
) -> PeopleCounts | None:
    """Count the people who fit the groups of a table, where a model asks for that."""
    if requirement is None or requirement.population is None:
        if hierarchies or cells:
            raise ParameterError(
                "What cells stand for matters where a model asks about a population only: do not say it."
            )
        return None
    names = schema.quasi_identifiers
    if not names:
        raise ColumnError("Name at least one quasi-identifier: people of a population are compared by them.")
    population = open_population(requirement.population.source, names)
    said = parameters_of(table.certificate)
    meanings = collect_meanings(names, said, trees=trees_of(hierarchies or {}, names), cells=cells)
    return people_of_groups(frame, names, make_people_counter(population, star=table.star, meanings=meanings))
