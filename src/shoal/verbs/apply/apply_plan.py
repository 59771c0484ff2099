"""Entry point `apply`: recode the rows of another table by a plan, and verify the result or refuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.facts import Fact
from shoal._core.progress import Clock, Progress
from shoal._core.validation import Boolean, Constraint, Integer, OneOf, Optional, validate
from shoal._core.words import number
from shoal._messages import Suggestion
from shoal.algorithms.base import Algorithm, Capabilities, Guarantee, Partition, Problem
from shoal.engines import InMemory
from shoal.errors import InfeasibleError, ParameterError, UsageError
from shoal.findings import warn_caller
from shoal.models import PrivacyModel
from shoal.models.counting import counting_of
from shoal.models.promises import FEATURES, check_together
from shoal.models.requirement import Requirement
from shoal.pipeline.encoded import EncodedTable
from shoal.pipeline.input import OpenedData, convert_text, open_data
from shoal.pipeline.kept_rows import keep_rows
from shoal.pipeline.prepare import PreparedTable, shuffle_rows
from shoal.pipeline.recoded import RecodedTable
from shoal.pipeline.run import STEPS, verify_and_certify
from shoal.pipeline.verify import count_published
from shoal.recoding import LARGEST_SET
from shoal.release.plan import ReleasePlan
from shoal.release.release import Release
from shoal.request.request import Request
from shoal.table import Schema, encode
from shoal.verbs.apply.assignment import UNKNOWN, assigned_forms, recoded_by
from shoal.verification import Failure

MISFITS = ("refuse", "suppress")
"""Treatments of rows that do not fit a plan."""
_CONSTRAINTS: Mapping[str, Constraint] = {
    "misfits": OneOf(MISFITS),
    "keep_order": Boolean(),
    "seed": Optional(Integer(low=0)),
}


def apply(
    plan: ReleasePlan | str | PathLike[str],
    data: Any,
    *,
    misfits: Literal["refuse", "suppress"] = "refuse",
    privacy: PrivacyModel | Sequence[PrivacyModel] | None = None,
    keep_order: bool = False,
    seed: int | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    replace_values: Mapping[str, Mapping[str, str | None]] | None = None,
    derive: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Release:
    """Publish the rows of another table, such as a later one, in the published forms of a release.

    A row gets the form that rows with its quasi-identifiers have in the plan. If the plan has several such forms, rows
    are assigned to them at random in the same proportions. A row whose values are unknown to the plan gets the most
    informative form that covers them. The result is verified like any release: every cell against its row, every group
    against the models. If the verification fails, nothing is published.

    Parameters
    ----------
    plan : ReleasePlan or path
        `Release.plan`, or the file in the private folder of a saved release.
    data : frame or path
        As for `shoal.anonymize`, with the columns of the plan; direct identifiers may be missing. One row per person.
    misfits : {"refuse", "suppress"}
        The treatment of rows that no form covers, and of groups that do not satisfy the models: an error with their
        number, or a star in every quasi-identifier. The starred rows must satisfy the models, too.
    privacy : PrivacyModel or sequence of PrivacyModel, optional
        The models that the release must satisfy; by default those of the plan's release.
    keep_order : bool
        If True, keep the row order of the input, which may reveal something about the rows.
    seed : int, optional
        Seed for reproducible experiments; by default randomness comes from the operating system.
    delimiter, encoding, sheet, header_row, replace_values, derive, progress
        As for `shoal.anonymize`.

    Returns
    -------
    Release
        The `details` of its certificate count the rows unknown to the plan, and the suppressed rows.

    Raises
    ------
    UsageError
        The call or the data is invalid; the message names the remedy.
    InfeasibleError
        The plan does not suit this table; the message counts the rows and groups that do not fit.
    ReleaseUnsafeError
        The release failed its verification. Please report it.

    Notes
    -----
    The forms do not depend on the sensitive values of the new table, nor on its other rows, until a group fails. The
    stars (or the refusal) then reveal the failure. People who are in both tables are in two releases, and no model of a
    single release limits the disclosure of both together. Publish such tables as a series.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(2_000, quasi_identifiers=2, seed=1)
    >>> first = shoal.anonymize(
    ...     people[:1000], quasi_identifiers=["age", "gender"], sensitive="income", privacy=shoal.KAnonymity(5)
    ... )
    >>> second = shoal.apply(first.plan, people[1000:], misfits="suppress")
    >>> second.certificate.achieved["k"] >= 5
    True
    """
    validate("apply", {"misfits": misfits, "keep_order": keep_order, "seed": seed}, _CONSTRAINTS)
    clock = Clock(STEPS, progress)
    # Read the table with the formats of the plan's table.
    with clock.step("read"):
        plan = _opened_plan(plan)
        # The limit of suppression is that of the algorithm, which is not run again.
        asked = {name for name in FEATURES if plan.parameters.get(name)} - {"suppression_limit"}
        if set(plan.schema.sensitive + plan.schema.insensitive) & set(plan.for_readers["coarsen"]):
            asked.add("coarse_attributes")
        check_together({*asked, "apply"})
        reading: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet, "derive": derive}
        opened = open_data(data, **reading, header_row=header_row, replace_values=replace_values)
        present = tuple(name for name in plan.schema.direct_identifiers if name in opened.frame.columns)
        schema = replace(plan.schema, direct_identifiers=present)
        schema.check(opened.frame.columns)
        request = _requested(plan, schema, privacy, keep_order=keep_order, seed=seed)
        opened = opened.normalized(schema.quasi_identifiers + schema.sensitive) if request.normalize else opened
        opened = _parse_as_planned(plan, opened, request)
    # Encode the rows, and check that the models can be satisfied at all.
    frame, rows = opened.select_publishable(schema, request.missing_sensitive)
    with clock.step("encode"):
        table = replace(encode(frame, schema), counts=opened.publishable_counts[rows], owners=opened.owners_of(rows))
        meanings = dict(plan.meanings)  # the meanings of the cells, for the verification
        encoded = EncodedTable(
            table=table, trees={}, automatic=frozenset(), coarsened=meanings, classes={}, pictures={}
        )
        encoded.check(request.requirement, may_normalize=False)
        prepared = shuffle_rows(encoded, request, opened, rows)
    # Assign forms to rows, suppress rows and groups that do not fit, and verify the release.
    with clock.step("partition"):
        dealt = _Dealt.of(plan, prepared)
        dealt = dealt.with_stars(dealt.forms == UNKNOWN, misfits, "fit no published form of the plan")
    recoded = dealt.fitting(misfits, clock)
    release = _describe(plan, verify_and_certify(recoded, InMemory(opened=opened), clock))
    warn_caller(release.warnings)
    return release


def _opened_plan(plan: object) -> ReleasePlan:
    if isinstance(plan, ReleasePlan):
        return plan
    if isinstance(plan, str | PathLike):
        return ReleasePlan.load(plan)
    raise ParameterError.refusing("apply", "plan", "a plan, or the path of its file", got=f"{type(plan).__name__}")


def _requested(plan: ReleasePlan, schema: Schema, privacy: Any, *, keep_order: bool, seed: int | None) -> Request:
    """Build the request for the new table from the plan's parameters."""
    # The models of the plan are the default; files may lack tables that models need.
    models = plan.privacy if privacy is None else privacy
    if models is None:
        raise UsageError(
            "The file of the plan lacks data of its models (such as an order or a table of distances). Name the models "
            "again: ",
            Suggestion("privacy"),
            ".",
        )
    parameters = plan.parameters
    requirement = Requirement.of(models, schema.sensitive, counting_of(schema.kinds))
    if requirement.sampling is not None:
        check_together(["apply", "epsilon"])
    if requirement.population is not None:
        raise ParameterError(
            "A plan does not support models that need a population: its people are compared with the forms of a "
            "release, and the forms of a plan do not depend on them. Use anonymize, or name other models: ",
            Suggestion("privacy"),
            ".",
        )
    # Units without persons among them: households of records, for example.
    of_units = "rows_per_person" not in parameters and any(one.get("of") == "units" for one in plan.requested)
    kept = parameters.get("kept_rows") or "random"
    if kept != "random" and "order" not in parameters:
        raise UsageError(
            "The file of the plan does not name the column by whose order records are kept: it is of an older version. "
            "Make a new release, and apply its plan."
        )
    return Request(
        quasi_identifiers=schema.quasi_identifiers,
        sensitive=schema.sensitive,
        direct_identifiers=schema.direct_identifiers,
        insensitive=schema.insensitive,
        person=schema.kinds[0] if schema.kinds and not of_units else None,
        units=schema.kinds if of_units else schema.kinds[1:],
        privacy=models,
        algorithm=PlannedForms(plan),
        recoding=parameters["recoding"],
        largest_set=parameters.get("largest_set", LARGEST_SET),
        star=plan.star,
        keep_order=keep_order,
        missing_sensitive=parameters["missing_sensitive"],
        missing_person=parameters.get("missing_person", "error"),
        rows_per_person=parameters.get("rows_per_person"),
        kept_rows=kept,
        order=parameters.get("order"),
        normalize=parameters.get("normalize", False),
        seed=seed,
        coarsen=_coarsenings_of(plan),
    )


@dataclass(frozen=True)
class _DescribedCoarsening:
    """Placeholder for a coarsening that a plan has applied already: only its public description is left."""

    facts: Mapping[str, Any]
    ends_at_values: ClassVar[bool] = False
    """The ends are those of the plan's table, so they reveal nothing about the new rows."""

    def to_dict(self) -> dict[str, Any]:
        """Return the description for a certificate."""
        return dict(self.facts)


def _coarsenings_of(plan: ReleasePlan) -> dict[str | tuple[str, ...], Any]:
    """Return the public descriptions of the coarsenings of the plan's release, keyed by columns."""
    # Coarsenings of two columns are keyed by a pair of names.
    names, public = plan.schema.quasi_identifiers, plan.for_readers["coarsen"]
    pairs = {f"{one},{other}": (one, other) for one in names for other in names}
    return {key if key in names else pairs.get(key, key): _DescribedCoarsening(facts) for key, facts in public.items()}


def _parse_as_planned(plan: ReleasePlan, opened: OpenedData, request: Request) -> OpenedData:
    """Parse dates and numbers with the formats of the plan's table."""
    # Only text columns need a format; typed ones are parsed already.
    read_as: Mapping[str, Mapping[str, str]] = plan.parameters.get("read_as") or {}
    text = [name for name in read_as if opened.frame.schema.get(name) == pl.String]
    decimals = {read_as[name]["decimal"] for name in text if "decimal" in read_as[name]}
    opened = keep_rows(opened, request)
    _, rows = opened.select_publishable(request.schema, request.missing_sensitive)
    return convert_text(
        opened,
        request.schema,
        request.requirement,
        dates={name: read_as[name]["dates"] for name in text if "dates" in read_as[name]},
        decimal=decimals.pop() if len(decimals) == 1 else None,
        hierarchies=dict.fromkeys(name for name in request.schema.quasi_identifiers if name not in read_as),
        rows=rows,
    )


@dataclass(frozen=True, repr=False, eq=False)
class PlannedForms(Algorithm):
    """Assign the rows to the forms of a plan, one group per form; `apply` verifies the groups."""

    plan: ReleasePlan
    name: ClassVar[str] = "plan"
    """The name in certificates."""
    capabilities = Capabilities(judges_releases=True, makes_ends=False, reason="forms_of_plan")

    def unsupported(self, requirement: Requirement) -> str | None:
        """Return None: the groups are verified afterwards, for any models."""
        return None

    def group_rows(self, problem: Problem) -> Partition:
        """Group the rows by their forms; rows without a form are one group."""
        forms, known = assigned_forms(self.plan, problem.table, problem.rng)
        return partition_by_form(forms, strangers=int(np.count_nonzero(~known)))


def partition_by_form(forms: NDArray[np.int64], *, strangers: int, suppressed: int = 0) -> Partition:
    """Group rows by their forms, in the order of the forms.

    Parameters
    ----------
    forms : int64 array
        The form of each row.
    strangers : int
        Rows with quasi-identifiers unknown to the plan.
    suppressed : int
        Rows suppressed because they do not fit the plan.
    """
    # Forms are renumbered without gaps, because groups must all occur.
    groups = np.unique(forms, return_inverse=True)[1].astype(np.int32)
    guarantee = Guarantee(promise=Fact("cost_of_plan"))
    facts = {"rows_of_unknown_classes": strangers, "rows_that_became_stars": suppressed}
    return Partition.of(groups, guarantee, facts=facts)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Dealt:
    """The assigned form of each row of a prepared table; the number after the last form denotes suppressed rows."""

    plan: ReleasePlan
    prepared: PreparedTable
    forms: NDArray[np.int64]
    strangers: int
    """Rows with quasi-identifiers unknown to the plan."""
    suppressed: int = 0
    """Rows suppressed because they do not fit the plan."""

    @classmethod
    def of(cls, plan: ReleasePlan, prepared: PreparedTable) -> _Dealt:
        forms, known = assigned_forms(plan, prepared.table, prepared.rng)
        return cls(plan=plan, prepared=prepared, forms=forms, strangers=int(np.count_nonzero(~known)))

    @property
    def starred(self) -> NDArray[np.bool_]:
        """The starred cells of each form; the last line is for suppressed rows."""
        # The line after the last form is the form of suppressed rows.
        stars = self.plan.starred
        return np.vstack((stars, np.ones((1, stars.shape[1]), dtype=np.bool_)))

    @property
    def all_stars(self) -> int:
        """The form of suppressed rows: a form of the plan if one consists of stars only."""
        return int(self.starred.all(axis=1).argmax())

    def with_stars(self, which: NDArray[np.bool_], misfits: str, why: str) -> _Dealt:
        """Suppress some rows.

        Raises
        ------
        InfeasibleError
            If there are such rows and misfits are refused.
        """
        # Either refuse all such rows, or replace their forms.
        count = int(np.count_nonzero(which))
        if count and misfits == "refuse":
            raise InfeasibleError(
                f"The plan does not suit this table: {number(count)} of {number(len(which))} rows {why}. Make a new "
                "release of the table, or suppress these rows if enough of them are alike then: ",
                Suggestion("misfits", "suppress"),
                ".",
            )
        forms = np.where(which, self.all_stars, self.forms)
        return replace(self, forms=forms, suppressed=self.suppressed + count)

    def fitting(self, misfits: str, clock: Clock) -> RecodedTable:
        """Suppress groups until all groups satisfy the models, and return the recoded table.

        Suppressed rows form a group that must satisfy the models, too. As long as only this group fails, the smallest
        other groups join it, twice as many in each round.

        Raises
        ------
        InfeasibleError
            If no such table exists.
        """
        dealt, joining = self, 1
        while True:
            recoded = dealt.recoded(clock)
            with clock.step("verify"):
                table, entries = count_published(recoded)
                found = table.failures
            if not found:
                return recoded
            sentences = " ".join(one.sentence for one in found)
            others = dealt.smallest_groups()
            if misfits == "suppress" and not len(others):
                raise InfeasibleError(
                    f"The plan does not suit this table, even with all rows suppressed. {sentences} Make a new "
                    "release of the table."
                )
            # Suppress the failing groups; if only the suppressed rows fail, join the smallest groups to them.
            failing = np.setdiff1d(dealt.forms_in(found, entries), [dealt.all_stars])
            if not len(failing):
                failing, joining = others[:joining], 2 * joining
            why = f"are in groups that do not satisfy the models. {sentences.removesuffix('.')}"
            dealt = dealt.with_stars(np.isin(dealt.forms, failing), misfits, why)

    def forms_in(self, found: Sequence[Failure], entries: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the forms of the failing groups; `entries` maps published rows to rows of the table."""
        # The first row of a failing group determines its form.
        firsts = np.concatenate([one.first_rows for one in found]).astype(np.int64) - 1
        return np.unique(self.forms[entries[firsts]])

    def smallest_groups(self) -> NDArray[np.int64]:
        """Return the assigned forms by ascending number of rows, without the form of suppressed rows."""
        forms, sizes = np.unique(self.forms, return_counts=True)
        ascending = forms[np.argsort(sizes, kind="stable")]
        return np.asarray(ascending[ascending != self.all_stars])

    def recoded(self, clock: Clock) -> RecodedTable:
        """Recode the rows with their assigned forms."""
        prepared, plan = self.prepared, self.plan
        partition = partition_by_form(self.forms, strangers=self.strangers, suppressed=self.suppressed)
        with clock.step("recode"):
            used, largest = np.unique(self.forms), prepared.request.largest_set
            recoding = recoded_by(plan, prepared.table, partition.groups, used, self.starred[used], largest_set=largest)
        return RecodedTable.of_rows(prepared, partition, recoding)


def _describe(plan: ReleasePlan, release: Release) -> Release:
    """Describe the cells of a release in its certificate as the plan's release did."""
    # The description of cells comes from the plan, the rest from this release.
    certificate = release.certificate
    names = [name for name in ("coarsen", "hierarchies", "shared_by") if name in plan.parameters]
    own = {name: certificate.for_readers[name] for name in ("keep_order", "missing_sensitive")}
    return replace(
        release,
        certificate=replace(
            certificate,
            parameters={**certificate.parameters, **{name: plan.parameters[name] for name in names}},
            for_readers={**plan.for_readers, **own},
        ),
    )
