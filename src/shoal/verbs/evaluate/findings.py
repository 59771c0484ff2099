"""What a publisher should know about a request and a table before a release is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from shoal._core.facts import Fact
from shoal._messages import Suggestion
from shoal.findings import (
    Remark,
    original_warnings,
    predicted_warnings,
    published_persons,
    repeated_person,
    respelled_persons,
    sure_of_all_records,
    uncounted_persons,
    unprotected_persons,
)
from shoal.findings.finding_kinds import MOST_QUASI
from shoal.io.forms import format_of
from shoal.io.number_forms import SIGNS
from shoal.request.request import Request
from shoal.request.texts import column_and_words, replacement_text
from shoal.verbs.evaluate.counting import CountedColumn
from shoal.verbs.evaluate.missing_codes import find_bound
from shoal.verbs.evaluate.survey import InspectedColumn, Survey

_RECODED = r"^(?:\*+|[\[(\]]-?[0-9][^\[\]()]*[,;][^\[\]()]*[\])\[]|[0-9A-Za-z]+\*+|\{.+,.+\})$"
"""Matches a star, an interval, a masked code or a set, as written by shoal, ARX and sdcMicro."""
_MANY_RECODED = 0.05
"""Share of the rows with such cells above which a column is considered anonymized."""


def find_warnings(
    survey: Survey, request: Request, published: pl.DataFrame | None, *, answered: bool
) -> Iterator[Remark]:
    """Yield what the publisher should know first, without what the request answers already.

    Parameters
    ----------
    survey : Survey
        The table.
    request : Request
        The request, with a role for each column.
    published : polars.DataFrame, optional
        The rows that may be published, with coarser sensitive and insensitive columns; None if they are not known.
    answered : bool
        Whether the publisher named the persons of the records; what is only proposed remains a question.
    """
    schema, frame = request.schema, survey.parsed.frame
    # Persons with several rows change the meaning of every group, so they come first.
    if not answered:
        yield from repeated_person(survey.persons)
        yield from published_persons(survey.persons, schema)
    elif request.rows_per_person is None and not request.link:
        yield from original_warnings(unprotected_persons(survey.persons, lambda _: frame, schema), {}, schema)
        yield from uncounted_persons(request.requirement.to_list())
    yield from respelled_persons(frame, schema)
    if published is not None and request.person and not request.link:
        asked = request.requirement, request.features
        yield from sure_of_all_records(published, schema.kinds[0], schema.sensitive, *asked)
    yield from _warn_of_reading(survey, request)
    # Columns that are published as they are, alone and together.
    if published is not None:
        coarse = {name for key in request.coarsen or () for name in ((key,) if isinstance(key, str) else key)}
        distinct = {one.name: one.dictionary for one in survey.counted}
        yield from predicted_warnings(published, schema, request.requirement, coarse=coarse, distinct=distinct)
    if not schema.sensitive:
        yield Remark(code="no_sensitive", column=None, found=Fact("none_sensitive"), advice=Fact("name_sensitive"))
    # Too many quasi-identifiers.
    many = len(schema.quasi_identifiers)
    if many > MOST_QUASI:
        found = Fact("many_quasi", count=many)
        yield Remark(code="many_quasi_identifiers", column=None, found=found, advice=Fact("fewer_quasi"))


def _warn_of_reading(survey: Survey, request: Request) -> Iterator[Remark]:
    """Yield the warnings about values that were not parsed, mean missing, or were anonymized before."""
    replaced, parsed = request.replace_values or {}, survey.parsed
    for name, why in parsed.unread.items():
        if not (survey.column(name).replace_first and name in replaced):
            yield Remark(code="unread_dates", column=name, found=why)
    for name, meanings in parsed.ambiguous.items():
        numbers = set(meanings) <= set(SIGNS)
        say = [Suggestion("decimal", one) if numbers else format_of(name, one) for one in meanings[:2]]
        yield Remark(
            code="ambiguous_numbers" if numbers else "ambiguous_dates",
            column=name,
            found=Fact("two_ways", column=name),
            advice=Fact("say_which", one=say[0], other=say[1]),
        )
    for facts in survey.columns:
        if facts.missing_codes:
            yield _warn_of_codes(facts)
    for one in survey.counted:
        bounded = find_bound(one)
        if bounded is not None:
            yield _warn_of_bound(one.name, *bounded, missing=survey.column(one.name).missing_codes)
    # Columns that were anonymized before.
    recoded = tuple(f"'{column.name}'" for column in survey.counted if _has_recoded_cells(column))
    if recoded:
        found = Fact("cells_look_recoded", columns=recoded)
        yield Remark(code="recoded_cells", column=None, found=found, advice=Fact("audit_or_go_back"))


def _warn_of_codes(facts: InspectedColumn) -> Remark:
    """Warn of codes that mean missing, with their replacement."""
    asked = {facts.name: dict.fromkeys(facts.missing_codes)}
    text = column_and_words(facts.name, replacement_text(asked[facts.name]))
    return Remark(
        code="missing_codes",
        column=facts.name,
        found=Fact("codes_among_values", column=facts.name, codes=tuple(map(repr, facts.missing_codes))),
        advice=Fact("make_missing", asked=Suggestion("replace_values", text, python=f"replace_values={asked!r}")),
    )


def _warn_of_bound(name: str, bound: str, at: str, end: str, *, missing: Sequence[str]) -> Remark:
    """Warn of a bound among numbers, with the replacement and the coarsening that keep its meaning."""
    # One replacement of a column overrides another, so it has the words that mean missing, too.
    replaced = {**dict.fromkeys(missing), bound: at}
    text = column_and_words(name, replacement_text(replaced))
    kind = "TopCode" if end == "top" else "BottomCode"
    return Remark(
        code="bounds_among_numbers",
        column=name,
        found=Fact("bound_among_values", column=name, bound=repr(bound)),
        advice=Fact(
            "replace_bound",
            asked=Suggestion("replace_values", text, python=f"replace_values={ {name: replaced}!r}"),
            coarsen=Suggestion(
                "coarsen", column_and_words(name, f"{end}:{at}"), python=f"coarsen={{{name!r}: shoal.{kind}({at})}}"
            ),
        ),
    )


def _has_recoded_cells(column: CountedColumn) -> bool:
    """Return True if at least a twentieth of the cells of a text column look like published cells."""
    # Only text can contain stars, intervals or sets.
    values = column.dictionary
    if values.dtype not in (pl.String, pl.Categorical, pl.Enum) or not len(values):
        return False
    recoded = values.cast(pl.String).str.contains(_RECODED).fill_null(value=False)
    rows = pl.Series(column.counts[: len(values)]).filter(recoded).sum()
    return bool(rows >= _MANY_RECODED * column.rows)
