"""Entry points `audit` and `check_release`: measure the privacy of any published table from its cells alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import chain
from os import PathLike
from typing import Any, Literal, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.validation import Constraint, Integer, OneOf, Optional, validate
from shoal._messages import Suggestion
from shoal.disclosure_risk import (
    PersonEvidence,
    Reidentification,
    count_compatible,
    count_frequencies,
    make_people_counter,
    measure_persons,
    prosecutor_risk,
    reidentification,
    sample_uniques,
)
from shoal.disclosure_risk.reidentification import ACCEPTABLE
from shoal.engines import Engine, chosen_engine, count_and_place_cells, persons_in_pieces
from shoal.errors import ColumnError, DataError, ParameterError, ReleaseUnsafeError, UnsupportedError
from shoal.findings import (
    Remark,
    alike_warnings,
    column_warnings,
    persons_beside,
    repeated_person,
    sure_of_persons,
)
from shoal.hierarchy import Hierarchy
from shoal.io import open_frame
from shoal.metrics import published_star_counts
from shoal.models import KAnonymity, PrivacyModel
from shoal.models.base import GroupModel
from shoal.models.counting import Records, counting_of, counting_stated, words_stated
from shoal.models.requirement import Requirement
from shoal.models.shortcuts import collect_models
from shoal.pipeline.input import AssessedTable, OpenedData, convert_text, open_assessed, open_data, open_population
from shoal.pipeline.kept_rows import encode_values
from shoal.report.card import Card, HasCard
from shoal.report.notebook import card_of_audit
from shoal.request.request import Request, trees_of
from shoal.request.request_fields import ENGINES
from shoal.table import Schema, roles
from shoal.table.counts import multiplicities
from shoal.verbs.evaluate.proposed_roles import roles_to_choose_from
from shoal.verification import Achieved, Failure, Fitting, MeasuredTable, collect_meanings, find_owners
from shoal.verification.meaning import parameters_of
from shoal.verification.published_folder import GROUP

_CONSTRAINTS: Mapping[str, Constraint] = {
    "engine": OneOf(ENGINES),
    "knows": Optional(Integer(low=1)),
    "stars": OneOf(("own", "wildcard")),
}
_UNIT = "unit of the row"
"""Column of the persons of linked rows."""


@dataclass(frozen=True, kw_only=True)
class Audit(HasCard):
    """The privacy that a published table achieves.

    Examples
    --------
    >>> import polars as pl
    >>> import shoal
    >>> table = pl.DataFrame({"age": ["20-29", "20-29", "30-39"], "disease": ["flu", "ulcer", "flu"]})
    >>> shoal.audit(table, quasi_identifiers=["age"], sensitive="disease", k=2).violations
    ('The table fails k-anonymity with k = 2 in 1 of 2 groups, with 1 records.',)
    """

    achieved: Achieved
    """The measured privacy."""
    requested: tuple[dict[str, Any], ...] = ()
    """The requested models, in the form of a certificate."""
    failures: tuple[Failure, ...] = field(default=(), compare=False)
    """The requested models that the table fails, each with the failing groups; empty if it satisfies all. Groups are
    numbered in the order of their first rows."""
    rows: int
    """Rows of the table."""
    unique_rows: int
    """Rows whose combination of quasi-identifiers is unique."""
    unique_persons: int | None = None
    """If persons are counted: those with a row whose quasi-identifiers no other person has; with linked rows, those
    whose rows together no other person has."""
    risk: Reidentification | None
    """The risk of re-identification: of persons if they are counted, who have the highest risk of any of their rows,
    and of rows otherwise. The acceptable risk is 1 / k for the k of the models, or 1 / 5 without models. None if there
    are no quasi-identifiers."""
    stars: int
    """Cells that show the star symbol."""
    suppressed_tuples: int
    """Rows with at least one such cell."""
    homogeneous: tuple[str, ...] = ()
    """The sensitive columns of which some group has one value only."""
    wildcards: bool = False
    """Whether a star matches any value: then k and the risk are of the rows that are compatible with a row."""
    persons: tuple[dict[str, Any], ...] = ()
    """The figures of each kind of unit, in the form of a certificate's "persons"."""
    warnings: tuple[Remark, ...] = field(default=(), compare=False)
    """Warnings about columns without a role that identify persons (not if the table is read in batches), about
    sensitive columns with values that a record shares with no other, about columns with different values that look
    alike, and about a column that identifies persons with several records (groups count records)."""
    stated: tuple[str, ...] = ()
    """What the models of the certificate count, such as "one_record_each", if the table is audited without a column of
    persons: cells alone do not show it. Empty if there is no certificate."""

    @property
    def violations(self) -> tuple[str, ...]:
        """The requested models that the table fails, as sentences."""
        return tuple(failure.sentence for failure in self.failures)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as a dictionary; the keys of `achieved` are those of a certificate.

        The keys `requested`, `violations` and `failures` are present only if models were requested.
        """
        facts: dict[str, Any] = {
            "rows": self.rows,
            "achieved": self.achieved.to_dict(),
            "unique_rows": self.unique_rows,
            **({} if self.unique_persons is None else {"unique_persons": self.unique_persons}),
            "risk": None if self.risk is None else self.risk.to_dict(),
            "cost": {"stars": self.stars, "suppressed_tuples": self.suppressed_tuples},
            **({"homogeneous": list(self.homogeneous)} if self.homogeneous else {}),
            **({"wildcards": True} if self.wildcards else {}),
            **({"persons": [dict(figures) for figures in self.persons]} if self.persons else {}),
            **({"stated": list(self.stated)} if self.stated else {}),
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

    def _card(self) -> Card:
        """Make the card, which contains no cell."""
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
    harmless: str | Sequence[str] | None = None,
    person: str | Sequence[str] | None = None,
    units: Sequence[str | Sequence[str]] = (),
    link: bool | None = None,
    qi_sets: Sequence[str | Sequence[str]] = (),
    knows: int | None = None,
    stars: Literal["own", "wildcard"] = "own",
    star: str | None = None,
    hierarchies: Mapping[str, Hierarchy | str | PathLike[str]] | None = None,
    cells: Mapping[str, object] | None = None,
    dates: Mapping[str, str] | None = None,
    decimal: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    engine: Literal["auto", "memory", "stream", "spark"] = "auto",
    memory: int | str | None = None,
) -> Audit:
    """Measure the privacy of a table from its cells, and check it against privacy models if any are given.

    Cells are compared as they stand: a star, an interval and a missing value are values like any other, and rows in
    another order or a frame with another index give the same audit.

    Parameters
    ----------
    data : frame, path, or Release
        As for `anonymize`, or the folder of a release. Columns without a role are ignored.
    quasi_identifiers : sequence of str, optional
        Columns that an adversary knows. By default, columns have the roles stated in the certificate of a release.
    sensitive : str or sequence of str, optional
        Columns that must not be linked to a person.
    privacy : PrivacyModel or sequence of PrivacyModel, optional
        The models that the table should satisfy. `Audit.failures` holds those that it does not, `Audit.violations` as
        sentences.
    k, l, t : numbers, optional
        Short for models, as for `anonymize`.
    harmless : str or sequence of str, optional
        Sensitive values that need no protection, so that `l` does not count them.
    person : str or sequence of str, optional
        The column, or several together, that identifies persons, in a copy of a release that has it, or in an original:
        k counts persons then, and `Audit.persons` states their figures. A row without a person is one of its own.
    units : sequence of str or of sequences of str, optional
        Further kinds of units, as for `anonymize`.
    link : bool, optional
        Whether the table shows which rows are of one person, in the columns of `person`, such as pseudonyms. The models
        are then those of bundles: persons who publish the same rows of quasi-identifiers. By default as the certificate
        of a release declares.
    qi_sets : sequence of str or of sequences of str, optional
        Sets of quasi-identifiers that different adversaries know, as for `anonymize`: the models are then those of each
        set by itself. By default as the certificate of a release declares.
    knows : int, optional
        The number of quasi-identifiers that an adversary knows, whichever they are; as for `anonymize`.
    stars : {"own", "wildcard"}
        If "own", a star (an interval, a set) is a value of its own. If "wildcard", it matches any of its values, as in
        sdcMicro: k is then the smallest number of rows that are compatible with a row. Such rows form no groups, so
        only k-anonymity can be checked, and no sensitive column is measured.
    star : str, optional
        The symbol of a suppressed cell. By default that of the release's certificate, or `*`.
    hierarchies : mapping of column to Hierarchy or path, optional
        Hierarchies of columns whose cells are nodes, with wildcards or if a model needs a population.
    cells : mapping of column to object, optional
        Meanings of the cells of other columns if they are ambiguous, in the same cases, as for `risk`.
    dates, decimal
        The formats of sensitive dates and numbers if a model depends on their values; as for `anonymize`.
    delimiter, encoding : str, optional
        Of a CSV file; detected by default.
    sheet : str, optional
        Of a workbook; required if it has several.
    header_row : int, optional
        Of a CSV file or a workbook: the row with the names of the columns.
    engine, memory
        As for `anonymize`. A folder of Parquet files, or a table that does not fit into memory, is read in batches, and
        a PySpark DataFrame by Spark. Spark rows have no order, so groups are numbered in sorted order.

    Returns
    -------
    Audit

    Raises
    ------
    UsageError
        The call or the data is invalid.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"age": ["20-29", "20-29", "30-39"], "disease": ["flu", "ulcer", "flu"]})
    >>> result = audit(table, quasi_identifiers=["age"], sensitive="disease", k=2)
    >>> result.unique_rows, len(result.violations)
    (1, 1)
    """
    validate("audit", {"engine": engine, "knows": knows, "stars": stars}, _CONSTRAINTS)
    as_text: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet, "header_row": header_row}
    propose = partial(roles_to_choose_from, **as_text)
    table = open_assessed(data, quasi_identifiers, sensitive, star, qi_sets, knows, propose=propose)
    data, star = table.data, table.star
    by = chosen_engine(engine, memory, data)
    stated, words = counting_stated(table.certificate), words_stated(table.certificate)
    if person is None and link is not False and stated.pseudonym is not None:
        person, link = stated.pseudonym, True
    if link and person is None:
        raise ColumnError("Linked rows need a column that identifies persons: name it with ", Suggestion("person"), ".")
    schema = roles(table.quasi_identifiers, table.sensitive, person=person, units=units)
    opened, places, others, persons = _open(by, data, schema, as_text)
    if any(model.get("model") == "m-invariance" for model in table.certificate.get("requested") or ()):
        # The number of a group is made for the release: no one knows it, and it repeats because groups do.
        others = [name for name in others if name != GROUP]
        persons = [one for one in persons if one.column != GROUP]
    if any(one is not None for one in (privacy, k, l, t, harmless)):
        privacy = collect_models(privacy, k=k, l=l, t=t, harmless=harmless)
    if stars == "wildcard":
        others_asked = bool(schema.kinds or table.sets or not schema.quasi_identifiers)
        _check_wildcards(privacy, streams=by.streams, others=others_asked)
        found = _audit_wildcards(opened.frame, schema, privacy, table, hierarchies, cells)
        return replace(found, warnings=tuple(_find_value_warnings(opened, schema, others, {})), stated=words)
    counting = counting_of(schema.kinds, persons=bool(person), link=bool(link), sets=table.sets, knows=table.knows)
    requirement = _require(privacy, schema, counting)
    # Quasi-identifiers are compared as they stand.
    opened = convert_text(opened, replace(schema, quasi_identifiers=()), requirement, dates=dates, decimal=decimal)
    fitting = _fitting(schema, requirement, table, hierarchies, cells)
    separators = _find_separators(stated, schema, requirement)
    frame = opened.frame[list(schema.published)]
    owners = find_owners(opened.frame[list(schema.owner_columns)], schema.kinds) if schema.kinds else None
    if link and owners is not None:
        frame = frame.with_columns(owners.to_series().alias(_UNIT))
    measured = MeasuredTable(
        frame,
        schema.quasi_identifiers,
        schema.sensitive,
        replace(requirement, counting=replace(counting, separators=separators)),
        times=opened.counts,
        places=places,
        owners=owners,
        fitting=fitting,
        pseudonym=_UNIT if link else None,
        every_figure=True,
    )
    words, unnamed = ((), ()) if schema.kinds else (words, persons)
    warnings = chain(_find_value_warnings(opened, schema, others, separators), repeated_person(unnamed))
    return _describe(measured, opened.rows, star=star, stated=words, warnings=warnings)


def _open(
    by: Engine, data: Any, schema: Schema, as_text: Mapping[str, Any]
) -> tuple[OpenedData, NDArray[np.int64] | None, list[str], list[PersonEvidence]]:
    """Open a table; return it with the first row of each cell, other columns, and columns of persons among them."""
    # Large tables are counted cell by cell, so that only the distinct cells are held in memory.
    if by.streams:
        source = by.open(data, **{name: one for name, one in as_text.items() if name != "sheet"})
        _check_roles(schema, source.columns)
        opened, places = count_and_place_cells(source, schema, by.budget)
        # Only the cells of columns with a role are read.
        return opened, places, [], [one for one in persons_in_pieces(source, opened, schema) if _is_beside(one, schema)]
    opened = open_data(data, **as_text)
    _check_roles(schema, opened.frame.columns)
    if opened.frame.height == 0:
        raise DataError("The table has no rows: there is nothing to audit.")
    others = [name for name in opened.frame.columns if name not in {*schema.published, *schema.owner_columns}]
    return opened, None, others, list(persons_beside(opened.frame, schema.published))


def _check_wildcards(privacy: object, *, streams: bool, others: bool) -> None:
    """Check that rows compatible with each other can be counted.

    Raises
    ------
    UnsupportedError
        If there are other models than k-anonymity, persons, or sets of columns, or the table is read in batches.
    """
    models = [privacy] if isinstance(privacy, PrivacyModel) else list(privacy or ())  # type: ignore[call-overload]
    if streams or others or not all(isinstance(model, KAnonymity) for model in models):
        raise UnsupportedError(
            "If a star matches any value, only k-anonymity of single records is counted, of a table that is read as a "
            "whole: rows that are compatible with each other form no groups. Count a star as a value of its own for "
            "all else: ",
            Suggestion("stars", "own"),
            ".",
        )


def _audit_wildcards(
    frame: pl.DataFrame,
    schema: Schema,
    privacy: PrivacyModel | Sequence[PrivacyModel] | None,
    table: AssessedTable,
    hierarchies: Mapping[str, Hierarchy | str | PathLike[str]] | None,
    cells: Mapping[str, object] | None,
) -> Audit:
    """Audit a table by the rows that are compatible with each row."""
    names, said = schema.quasi_identifiers, parameters_of(table.certificate)
    meanings = collect_meanings(names, said, trees=trees_of(hierarchies or {}, names), cells=cells)
    models: list[Any] = [privacy] if isinstance(privacy, PrivacyModel) else list(privacy or ())
    known = frame[list(names)]
    classes = count_frequencies(encode_values(known, names))
    matching = count_compatible(known, classes, star=table.star, meanings=meanings).sample
    # Classes are numbered in the order of their first rows.
    first = np.unique(classes.class_of, return_index=True)[1]
    number = np.argsort(np.argsort(first)) + 1
    failures = []
    for model in models:
        failing = np.flatnonzero(matching < model.k)
        failing = failing[np.argsort(number[failing])]
        if len(failing):
            found = Failure(
                model=model,
                groups=classes.classes,
                numbers=number[failing],
                sizes=classes.rows_of[failing],
                first_rows=first[failing] + 1,
            )
            failures.append(found)
    k = max((int(model.k) for model in models), default=1)
    risk = prosecutor_risk(matching, classes.rows_of, Fraction(1, k) if k > 1 else ACCEPTABLE)
    shown, starred = published_star_counts(known, names, table.star)
    return Audit(
        achieved=Achieved(k=int(matching.min()), groups=classes.classes),
        requested=tuple(Requirement.of(models, ()).to_list()) if models else (),
        failures=tuple(failures),
        rows=frame.height,
        unique_rows=int(classes.rows_of[matching == 1].sum()),
        risk=Reidentification(**vars(risk), sample_uniques=sample_uniques(matching, classes.rows_of)),
        stars=sum(shown.values()),
        suppressed_tuples=starred,
        wildcards=True,
    )


def _describe(
    table: MeasuredTable, rows: int, *, star: str, stated: tuple[str, ...], warnings: Iterable[Remark]
) -> Audit:
    """Describe a measured table of so many rows, and the models that it fails."""
    # Warnings come last: then the cells are known to be comparable.
    achieved, sizes = table.achieved, table.achieved.release.sizes
    figures = measure_persons(table)
    stars, starred = published_star_counts(table.frame, table.quasi_identifiers, star, table.times)
    alone = None
    risk = reidentification(sizes, k=table.k) if table.quasi_identifiers else None
    if table.pseudonym is not None:
        assert achieved.bundles is not None
        of_persons = achieved.bundles.sizes
        risk, alone = reidentification(Counter(of_persons.tolist()), k=table.k), int((of_persons == 1).sum())
    elif figures and not table.requirement.counting.noted:
        risk = Reidentification(**figures[0]["risk"])
        alone = round(risk.sample_uniques * figures[0]["units"])
    return Audit(
        achieved=achieved,
        requested=tuple(table.requirement.to_list()) if table.requirement.models else (),
        failures=table.failures,
        rows=rows,
        unique_rows=sizes.get(1, 0),
        unique_persons=alone,
        risk=risk,
        stars=sum(stars.values()),
        suppressed_tuples=starred,
        homogeneous=tuple(
            name for name, one in zip(table.sensitive, table.counts, strict=False) if (one.distinct == 1).any()
        ),
        persons=tuple(figures),
        warnings=(*warnings, *sure_of_persons(figures, table)),
        stated=stated,
    )


def _find_value_warnings(
    opened: OpenedData, schema: Schema, others: Sequence[str], separators: Mapping[str, str]
) -> Iterator[Remark]:
    """Yield warnings about the values of columns, without the advice that only a publisher could follow."""
    each = pl.Series(multiplicities(opened.frame.height, opened.counts))
    published = {"quasi_identifiers": schema.quasi_identifiers, "sensitive": schema.sensitive}
    for remark in column_warnings(opened.frame, others, **published, times=each, declared=separators):
        yield replace(remark, advice=None)
    for name in schema.published:
        for remark in alike_warnings(opened.frame[name], each):
            yield replace(remark, advice=Fact("publisher_writes_alike"))


def _find_separators(stated: Records, schema: Schema, requirement: Requirement) -> Mapping[str, str]:
    """Return the separator of each sensitive column whose cells are lists, as the certificate declares.

    Raises
    ------
    UnsupportedError
        If a model of sensitive values is requested, which would take each list for one value.
    """
    separators = {name: separator for name, separator in stated.separators.items() if name in schema.sensitive}
    if Records(separators=separators).in_bundles(requirement.models):
        raise UnsupportedError(
            "The release has lists of sensitive values, of which an audit measures l and t, but checks no model. Leave "
            "out the models of sensitive values."
        )
    return separators


def _require(privacy: PrivacyModel | Sequence[PrivacyModel] | None, schema: Schema, counting: Records) -> Requirement:
    """Make the requirement of an audit, without models if none are asked; linked rows refuse models of single rows."""
    if privacy is None:
        return Requirement(models=(), sensitive=schema.sensitive, counting=counting)
    requirement = Requirement.of(privacy, schema.sensitive, counting)
    for model in requirement.models if counting.pseudonym else ():
        if model.needs_sensitive and isinstance(model, GroupModel) and model.share_limits(Fraction(0)) is None:
            raise ParameterError(
                model,
                " cannot be asked of linked rows. Leave it out, or count rows with ",
                Suggestion("link", value=False),
                ".",
            )
    return requirement


def _is_beside(evidence: PersonEvidence, schema: Schema) -> bool:
    """Return True if a column without a role identifies persons: rows of a group agree as those of one person would."""
    return evidence.column is not None and evidence.column not in schema.published


def _check_roles(schema: Schema, columns: Sequence[str]) -> None:
    schema.check_known(columns)
    if not schema.published:
        raise ColumnError("No column has a role: name the quasi-identifiers, the sensitive columns, or both.")


def _fitting(
    schema: Schema,
    requirement: Requirement,
    table: AssessedTable,
    hierarchies: Mapping[str, Hierarchy | str | PathLike[str]] | None,
    cells: Mapping[str, object] | None,
) -> Fitting | None:
    """Make the function that counts the population members who match each group, if a model needs a population."""
    # Meanings that no model uses are rejected, because they would have no effect.
    if requirement.population is None:
        if hierarchies or cells:
            raise ParameterError(
                "The meaning of cells matters only if a model needs a population: leave out hierarchies and cells."
            )
        return None
    names = schema.quasi_identifiers
    if not names:
        raise ColumnError("Name at least one quasi-identifier: they link the groups to the population.")
    population = open_population(requirement.population.source, names, kinds=schema.kinds)
    # The certificate of a release declares the meaning of its cells; the caller may add to it.
    said = parameters_of(table.certificate)
    meanings = collect_meanings(names, said, trees=trees_of(hierarchies or {}, names), cells=cells)
    # A person with several rows counts once in a group.
    return make_people_counter(population, star=table.star, meanings=meanings, several_groups=bool(schema.kinds))


_Frame = TypeVar("_Frame")


def check_release(frame: _Frame, spec: Request | str | PathLike[str]) -> _Frame:
    """Return a published table unchanged if it satisfies its spec, or raise an error.

    The columns must be those that the spec publishes, and the groups must satisfy its models. A table does not show
    which records are of one person: if the spec names a person, records are counted instead, unless they are linked.

    Parameters
    ----------
    frame : frame
        The published table, as for `audit`.
    spec : Request or path
        The request, or its spec file.

    Returns
    -------
    frame
        The same object, so that the check can be a step of a chain: `frame.pipe(shoal.check_release, "release.toml")`.

    Raises
    ------
    ReleaseUnsafeError
        The table has another column, or fails a model.
    UsageError
        The call or the table is invalid, such as a missing column.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"age": ["20-29", "20-29", "30-39"]})
    >>> check_release(table, Request(quasi_identifiers=["age"], k=2))
    Traceback (most recent call last):
    shoal.errors.ReleaseUnsafeError: The table fails k-anonymity with k = 2 in 1 of 2 groups, with 1 records.
    """
    # A file is read again for each check, because it may have changed.
    request = spec if isinstance(spec, Request) else Request.from_toml(spec)
    if request.privacy is None and request.k is request.l is request.t is None:
        raise ParameterError("The spec requests no model, so there is nothing to check.")
    columns = list(open_frame(frame).frame.columns)
    schema = request.schema
    # With "rest" any other column may be published, but none that identifies people.
    hidden = {*schema.direct_identifiers, *schema.owner_columns}
    allowed = {*schema.published, request.counting.pseudonym}
    odd = [name for name in columns if name in hidden or (request.insensitive != "rest" and name not in allowed)]
    if odd:
        listed = ", ".join(f"'{name}'" for name in odd)
        raise ReleaseUnsafeError(f"The table has columns that its spec does not publish: {listed}.")
    # The same measurement as that of any table, with the models and the meaning of cells of the spec.
    found = audit(
        frame,
        quasi_identifiers=schema.quasi_identifiers,
        sensitive=schema.sensitive,
        privacy=request.models,
        star=request.star,
        hierarchies=request.hierarchies,
        dates=request.dates,
        decimal=request.decimal,
        qi_sets=request.qi_sets,
        knows=request.knows,
        person=request.counting.pseudonym,
        link=request.link or None,
    )
    if found.violations:
        raise ReleaseUnsafeError(" ".join(found.violations))
    return frame
