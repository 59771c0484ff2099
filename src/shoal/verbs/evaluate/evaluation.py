"""Entry point `evaluate`: what is proposed, feasible and conspicuous of a request on a table, before any search."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Unpack, runtime_checkable

import polars as pl

from shoal._core.facts import Fact
from shoal._core.progress import Clock, Progress, silent
from shoal._core.validation import exact_fraction
from shoal._core.words import number
from shoal._messages import Audience, Suggestion, current_audience
from shoal.disclosure_risk import PersonEvidence
from shoal.engines.memory import InMemory
from shoal.errors import ParameterError, ShoalError, UsageError
from shoal.findings import Remark, warn_of_reading
from shoal.models import LDiversity
from shoal.pipeline.goals import Goal
from shoal.pipeline.input import OpenedData, open_data
from shoal.pipeline.run import STEPS, run
from shoal.report.card import Card, HasCard
from shoal.report.notebook import PRIVATE
from shoal.request.coarsening_words import in_words
from shoal.request.keywords import OF_STREAMS, request_of, takes_request
from shoal.request.options import ExploreOptions
from shoal.request.request import Request
from shoal.request.texts import derivation_in
from shoal.table import replace_values
from shoal.verbs.evaluate.findings import find_warnings
from shoal.verbs.evaluate.goals import find_goals
from shoal.verbs.evaluate.proposals import DIRECT, INSENSITIVE, PERSON, QUASI, SENSITIVE
from shoal.verbs.evaluate.survey import InspectedColumn, Survey, survey_table

_TRIAL_ROWS = 2_000
"""Number of rows of the trial release that estimates losses."""
_OFFERED_K, OFFERED_L = 5, 2
"""The goals that are offered if none is requested; the second needs a sensitive column."""
_OTHER_STAR = "**"
"""The symbol of suppressed cells if the usual one is a value."""
_ROLES = {"quasi_identifiers": QUASI, "sensitive": SENSITIVE, "direct_identifiers": DIRECT, "insensitive": INSENSITIVE}


@runtime_checkable
class Proposals(Protocol):
    """The part of an inspection that is a request: roles, steps, codes of missing values, and the symbol of stars."""

    @property
    def columns(self) -> tuple[InspectedColumn, ...]:
        """The columns with their proposals."""

    @property
    def star(self) -> str:
        """The symbol of suppressed cells that no value has."""

    @property
    def roles(self) -> dict[str, list[str]]:
        """The proposed roles as arguments of `shoal.anonymize`."""

    @property
    def person(self) -> str | None:
        """The column that is proposed to identify persons."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Evaluation(HasCard):
    """What holds of a request on a table before a release is made: roles, persons, goals, warnings and cost.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> result = shoal.evaluate(people)
    >>> result
    Evaluation(rows=400, goals=2, infeasible=0, warnings=0)
    >>> result.request.to_toml().splitlines()[0]
    'columns.quasi_identifiers = ["age", "gender"]'
    """

    survey: Survey
    """What the table shows by itself."""
    opened: OpenedData
    """The table."""
    request: Request
    """The request, completed by proposals for what it leaves open. It overrides nothing that was requested."""
    proposed: tuple[str, ...]
    """The columns whose role is a proposal."""
    goals: tuple[Goal, ...]
    """The models of the request, each with whether a release can satisfy it, and a change that mends it."""
    warnings: tuple[Remark, ...]
    """What the publisher should know first."""
    refused: UsageError | None = None
    """Why no release can be made of the proposals, apart from the goals; None if there is no such reason."""

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return self.opened.frame.height

    @property
    def columns(self) -> tuple[InspectedColumn, ...]:
        """The columns of the table, with what is proposed for each and why."""
        return self.survey.columns

    @property
    def persons(self) -> tuple[PersonEvidence, ...]:
        """Evidence that persons have several rows, the strongest first."""
        return self.survey.persons

    @cached_property
    def mended(self) -> Request:
        """The request with a change for each model that no release can satisfy."""
        request, goals = self.request, self.goals
        for _ in goals:
            goal = next((one for one in goals if one.mend), None)
            if goal is None:
                break
            request = goal.mended(request)
            goals = find_goals(*_source_of(self.opened, request))[0]
        return request

    @cached_property
    def losses(self) -> dict[str, float]:
        """An estimate of the information loss of each quasi-identifier, by a trial release of at most 2,000 records.

        Empty if the request is refused for so few records. The trial is made when it is first asked for.
        """
        opened, few = self.opened, self.rows > _TRIAL_ROWS
        if few:
            some = opened.frame.sample(_TRIAL_ROWS, seed=0)
            opened = replace(opened, frame=some, counts=opened.counts[:_TRIAL_ROWS])
        try:
            source = InMemory(opened=opened)
            request = replace(self.mended.resolve(source.columns), seed=0)
            release = run(request, source, Clock(STEPS, silent), dates=request.dates, decimal=request.decimal)
        except ShoalError:
            return {}
        return dict(release.metrics.ncp)

    def published_as(self, name: str) -> str:
        """Describe how a column is published: left out, coarser, in groups, or as it is."""
        schema = self.request.schema
        if name not in schema.published:
            return "not published"
        given: Mapping[Any, Any] = self.request.coarsen or {}
        coarsen = {column: one for key, one in given.items() for column in _names(key)}
        form = f"as {in_words(coarsen[name]) or type(coarsen[name]).__name__}" if name in coarsen else "as it is"
        return f"{form}, made alike in groups" if name in schema.quasi_identifiers else form

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as a dictionary, for JSON."""
        role_of = {name: role for role in (*_ROLES, "person") for name in _names(getattr(self.request, role))}
        return {
            "rows": self.rows,
            "person": self.request.person,
            "columns": [
                {
                    "name": one.name,
                    "role": role_of.get(one.name, "person"),
                    "proposed": one.name in self.proposed,
                    "why": one.why if one.name in self.proposed else None,
                    "published": self.published_as(one.name),
                }
                for one in self.columns
            ],
            "goals": [goal.to_dict() for goal in self.goals],
            "warnings": [remark.to_dict() for remark in self.warnings],
        }

    def to_json(self) -> str:
        """Return the evaluation as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def sentences(self, audience: Audience | None = None) -> list[str]:
        """Return the verdict on each goal, then the warnings, in the words of an audience (the current one)."""
        audience = current_audience() if audience is None else audience
        refused = () if self.refused is None else (self.refused,)
        return [one.render(audience) for one in (*refused, *self.goals, *self.warnings)]

    def _card(self) -> Card:
        """Make the card, which is for the publisher only and contains no value of the table."""
        facts = self.to_dict()["columns"]
        columns = {key: [one[key] or "" for one in facts] for key in ("name", "role", "published", "why")}
        return Card(
            title=f"Evaluation of a request for {number(self.rows)} rows",
            sentences=self.sentences(),
            columns={**columns, "role": [role.replace("_", " ") for role in columns["role"]]},
            caption="The role of each column, how it is published, and why this is proposed",
            private=PRIVATE,
        )

    def __repr__(self) -> str:
        infeasible = sum(not goal.feasible for goal in self.goals)
        counts = f"goals={len(self.goals)}, infeasible={infeasible}, warnings={len(self.warnings)}"
        return f"Evaluation(rows={self.rows}, {counts})"


@takes_request(without=OF_STREAMS)
def evaluate(
    data: Any,
    request: Request | None = None,
    *,
    roles: Proposals | None = None,
    progress: Progress | None = None,
    **options: Unpack[ExploreOptions],
) -> Evaluation:
    """Evaluate a request on a table before a release is made, and complete it by proposals.

    Columns without a role get the proposed one, and the coarsening that suits it. Without any model, k = 5 and, if a
    column is sensitive, l = 2 are evaluated. A choice that was made is never overridden.

    Parameters
    ----------
    data : frame or path
        As for `shoal.anonymize`. It is read into memory.
    request : Request, optional
        What is requested. The keywords below are its fields, all of them optional; those that are given override it.
    **options
        The fields of `shoal.Request`.
    roles : Inspection, optional
        The result of `shoal.inspect`, as for `shoal.anonymize`. By default the table is inspected.
    progress : callable, optional
        Called regularly with (step, done, total).

    Returns
    -------
    Evaluation
        Goals, warnings, proposals, and the completed request, which `shoal.anonymize` takes.

    Raises
    ------
    UsageError
        The call or the data is invalid.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> steps = {"income": shoal.Bins(1_000)}
    >>> found = shoal.evaluate(people, sensitive="income", coarsen=steps, l=2)
    >>> [goal.feasible for goal in found.goals], found.goals[0].steps
    ([False], ('income',))
    >>> shoal.anonymize(people, found.mended, seed=1).certificate.achieved["l"]["frequency"] >= 2
    True
    """
    plain: Any = {} if request is not None else {"quasi_identifiers": ()}
    asked = given = request_of(evaluate, request, {**plain, **options})
    if roles is not None:
        given = request_of(evaluate, request, {**plain, **with_proposals("evaluate", options, roles, request)})
    opened = open_data(data, **given.reading)
    survey = survey_opened(opened, given, progress=progress or silent)
    found = evaluate_survey(survey, opened, given, asked=asked)
    return replace(found, warnings=tuple(name_in_proposal(found.warnings, found.request.person)))


def name_in_proposal(warnings: Sequence[Remark], person: object) -> Iterator[Remark]:
    """Yield the warnings, of which that of repeated persons states that the completed request names them."""
    one_each = Suggestion("rows_per_person", 1, command="shoal anonymize --rows-per-person 1")
    return name_persons(warnings, person, "persons_in_proposal", Fact("fewer_records_each", one=one_each))


def name_persons(warnings: Sequence[Remark], person: object, code: str, advice: Fact) -> Iterator[Remark]:
    """Yield the warnings, of which that of repeated persons has another finding if these are named.

    Parameters
    ----------
    warnings : sequence of Remark
    person : str or sequence of str or None
        The column that is named.
    code : str
        The sentence of the finding.
    advice : Fact
        What remains to decide, unless another warning advises that.
    """
    told = any(one.code == "sure_of_persons" for one in warnings)
    for one in warnings:
        if one.code == "repeated_person" and one.column is not None and one.column == person:
            named = Fact(code, column=one.column, evidence=one.found.arguments["evidence"])
            yield replace(one, found=named, advice=None if told else advice)
        else:
            yield one


def survey_opened(
    opened: OpenedData, request: Request, *, show_values: bool = False, progress: Progress = silent
) -> Survey:
    """Survey an opened table with the formats and the l of a request; see `survey_table`."""
    asked: list[Any] = [] if request.l is None else [request.l]
    asked += [one.l for one in _listed(request.privacy) if isinstance(one, LDiversity)]
    derived = (request.derive or {}).values()
    return survey_table(
        opened.frame,
        dates=request.dates,
        decimal=request.decimal,
        in_place={derivation_in(words)[1] for words in derived if words.startswith("years")},
        l=max([2, *(-int(-exact_fraction(l) // 1) for l in asked)]),
        show_values=show_values,
        progress=progress,
    )


def evaluate_survey(
    survey: Survey, opened: OpenedData, given: Request, *, k: int = _OFFERED_K, asked: Request | None = None
) -> Evaluation:
    """Evaluate a request on a table that was surveyed before; see `evaluate`.

    Parameters
    ----------
    survey : Survey
    opened : OpenedData
        The table.
    given : Request
        The request.
    k : int
        The k that is offered without models.
    asked : Request, optional
        The request without what is only proposed in it; it is all requested by default.
    """
    asked = given if asked is None else asked
    request = _complete(given, survey, opened.frame.columns)
    proposed = _find_open(asked, opened.frame.columns)
    offered = request.privacy is None and request.k is request.l is request.t is None
    if offered:
        request = replace(request, k=k, l=OFFERED_L if request.schema.sensitive else None)
    # Words among numbers that the proposals replace are missing from here on.
    new = {
        name: one for name, one in (request.replace_values or {}).items() if name not in (given.replace_values or {})
    }
    if new:
        opened = replace(opened, frame=replace_values(opened.frame.lazy(), new).collect())
    goals: tuple[Goal, ...] = ()
    published, refused = None, None
    try:
        goals, published = find_goals(*_source_of(opened, request))
    except UsageError as error:
        if len(proposed) < opened.frame.width:
            raise
        refused = error
    # A model of values that is only offered is part of the advice.
    warned = replace(request, l=None) if offered else request
    warnings = find_warnings(survey, warned, published, answered=bool(asked.schema.kinds))
    return Evaluation(
        survey=survey,
        opened=opened,
        request=request,
        proposed=proposed,
        goals=goals,
        warnings=(*warn_of_reading(opened.below, opened.derived), *warnings),
        refused=refused,
    )


def _source_of(opened: OpenedData, request: Request) -> tuple[OpenedData, Request]:
    """Return a table as a release reads it, and the request resolved for its columns."""
    resolved = request.resolve(opened.frame.columns)
    return InMemory(opened=opened).serving(resolved).opened, resolved


def _find_open(given: Request, names: Sequence[str]) -> tuple[str, ...]:
    """Find the columns without a role."""
    schema = given.schema.with_rest(names)
    named = {*schema.quasi_identifiers, *schema.sensitive, *schema.insensitive, *schema.private}
    return tuple(name for name in names if name not in named)


def _complete(given: Request, survey: Survey, names: list[str]) -> Request:
    """Complete a request by proposals for the columns without a role."""
    schema = given.schema.with_rest(names)
    schema.check_known(names)
    open_ones = [one for one in survey.columns if one.name in _find_open(given, names)]
    if not open_ones:
        return given
    # A column is the person only if none was named, and becomes a direct identifier otherwise.
    person = next((one.name for one in open_ones if one.role == PERSON), None) if not schema.kinds else None
    role_of = {one.name: DIRECT if one.role == PERSON else one.role for one in open_ones if one.name != person}
    changes: dict[str, Any] = {
        field: (*_names(getattr(schema, field)), *(name for name, role in role_of.items() if role == proposal))
        for field, proposal in _ROLES.items()
    }
    if person is not None:
        changes["person"] = person
    changes |= prepare_proposed(survey.columns, {one.name for one in open_ones}, {**vars(given), **changes})
    # A table that was recoded before has stars already.
    grouped = (one.dictionary for one in survey.counted if one.name in changes["quasi_identifiers"])
    if given.star == "*" and any(one.dtype == pl.String and "*" in one for one in grouped):
        changes["star"] = _OTHER_STAR
    return replace(given, **changes)


def prepare_proposed(
    columns: Sequence[InspectedColumn], proposed: Collection[str], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the coarsenings and replacements that come with proposed roles, unless a column has a coarsening.

    Parameters
    ----------
    columns : sequence of InspectedColumn
        All columns.
    proposed : collection of str
        The columns whose role is a proposal.
    given : mapping
        The fields of the request, with the completed roles.
    """
    changes: dict[str, Any] = {}
    coarsened = {name for key in given.get("coarsen") or () for name in _names(key)}
    able = [one for one in columns if one.name in proposed and one.name not in coarsened]
    if any(getattr(model, "people", None) is not None for model in _listed(given.get("privacy"))):
        able = [
            one for one in able if one.role != QUASI
        ]  # people of a population are compared with the original values
    if steps := {one.name: one.coarsen for one in able if one.coarsen is not None}:
        changes["coarsen"] = {**(given.get("coarsen") or {}), **steps}
    words = {one.name: dict.fromkeys(one.missing_codes) for one in able if one.replace_first}
    if words:
        changes["replace_values"] = {**words, **(given.get("replace_values") or {})}
    missing = {one.name for one in columns if one.missing or one.name in words}
    if given.get("missing_sensitive", "error") == "error" and not missing.isdisjoint(_names(given.get("sensitive"))):
        changes["missing_sensitive"] = "value"
    if given.get("missing_person", "error") == "error" and not missing.isdisjoint(_names(given.get("person"))):
        changes["missing_person"] = "own"
    return changes


def with_proposals(verb: str, given: Mapping[str, Any], inspection: object, request: Request | None) -> dict[str, Any]:
    """Add the proposed role of each column that the caller names in none, with its coarsening and replacement.

    Parameters
    ----------
    verb : str
        The function that was called, for messages.
    given : mapping
        The keywords of the caller.
    inspection : Inspection
        The proposals.
    request : Request, optional
        The request of the caller, which the keywords override.
    """
    if not isinstance(inspection, Proposals):
        raise ParameterError.refusing(verb, "roles", "the result of shoal.inspect", got=type(inspection).__name__)
    asked = {**({} if request is None else vars(request)), **given}
    named = {role: asked.get(role) or () for role in (*inspection.roles, "person", "units")}
    found = {role: [names] if isinstance(names, str) else list(names) for role, names in named.items()}
    taken = {name for names in found.values() for name in names}
    if not found["person"] and inspection.person is not None and inspection.person not in taken:
        found["person"], taken = [inspection.person], taken | {inspection.person}
    proposed: set[str] = set()
    for role, names in inspection.roles.items():
        added = [name for name in names if name not in taken and named[role] != "rest"]
        found[role] += added
        proposed |= set(added)
    roles = {role: "rest" if named[role] == "rest" else names for role, names in found.items() if names}
    star = {} if inspection.star == "*" or "star" in given else {"star": inspection.star}
    return {**given, **roles, **star, **prepare_proposed(inspection.columns, proposed, {**asked, **roles})}


def _names(given: Any) -> tuple[str, ...]:
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)


def _listed(given: Any) -> tuple[Any, ...]:
    return () if given is None else tuple(given) if isinstance(given, list | tuple) else (given,)
