"""A published table whose cells are counted once: whether it is safe, what it achieves, and which models it fails.

Neither the encoding nor the algorithms are used here: the counted cells are those that readers of the release see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ColumnError, InternalError, ReleaseUnsafeError, near_matches
from shoal.models.base import GroupCounts, GroupModel
from shoal.models.domain import Domain
from shoal.models.release_counts import PeopleCounts, ReleaseCounts
from shoal.models.requirement import Requirement
from shoal.verification.achieved import Achieved, measure, measure_values
from shoal.verification.counting import Codes, code_cells, combine, count_codes, make_dense, without_text
from shoal.verification.failures import Failure
from shoal.verification.linked_rows import Bundles, find_bundles
from shoal.verification.owners import check_rows_per_owner
from shoal.verification.reading import published_domain

Fitting: TypeAlias = "Callable[[pl.DataFrame, NDArray[np.int64]], PeopleCounts]"
"""Function that counts the people of a population who fit groups, given one row of cells per group, and the group
sizes."""

_NO_MODEL = Requirement(models=(), sensitive=())


@dataclass(frozen=True, repr=False, eq=False)
class MeasuredTable:
    """A table, the counts of its groups, and what they mean for a requirement; everything is computed on first use.

    Judgement and measurement use the same counts. A missing cell (null or NaN) is a value of its own.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": ["*", "*", "*"], "disease": ["flu", "flu", "HIV"]})
    >>> MeasuredTable(frame, ["age"], ["disease"]).achieved.to_dict()
    {'k': 3, 'l': {'frequency': 1.5, 'distinct': 2, 'entropy': 1.8898}, 't': {'disease': 0.0}, 'alpha': 0.6667,
     'groups': 1}
    """

    frame: pl.DataFrame
    """Any table as its readers see it, fewer than 2**31 rows."""
    quasi_identifiers: Sequence[str]
    """Columns whose combinations make the groups; without any, all rows are one group."""
    sensitive: Sequence[str] = ()
    """Columns that must not be linked to a person."""
    requirement: Requirement = _NO_MODEL
    """The models, and the sensitive attributes that they apply to."""
    _: KW_ONLY
    times: NDArray[np.int64] | None = None
    """Multiplicity of each row, at least 1, if `frame` holds distinct rows only."""
    places: NDArray[np.int64] | None = None
    """The first row of each row in the whole table (from 0), ascending, if `frame` holds distinct rows only."""
    owners: pl.DataFrame | None = None
    """Private: the owner of each row, one column for each protected kind of owner (`find_owners`)."""
    fitting: Fitting | None = None
    """Counts the people of the population who fit groups, if a model needs it."""
    pseudonym: str | None = None
    """The column of pseudonyms of linked rows, whose bundles are measured, too."""
    every_figure: bool = False
    """Whether to measure what no model reads, too: in sets, values; in the whole table, what sets require of them."""
    _counted: dict[tuple[str | None, bool], GroupCounts] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        times = self.times
        if times is not None and not (times.shape == (self.frame.height,) and bool((times >= 1).all())):
            raise InternalError("each row needs a multiplicity of at least 1")
        if times is not None and bool((times == 1).all()):
            object.__setattr__(self, "times", None)  # single rows are counted without sorting their multiplicities

    @cached_property
    def _plain(self) -> pl.DataFrame:
        """The columns that are compared."""
        names = dict.fromkeys((*self.quasi_identifiers, *self.sensitive))
        for name in names:
            if name not in self.frame.columns:
                raise ColumnError(f"There is no column '{name}'. {near_matches(name, self.frame.columns)}")
        # By name, one after another: in a selection a name such as "^.*$" would be a pattern.
        return without_text(pl.DataFrame([self.frame.get_column(name) for name in names]))

    @cached_property
    def _groups(self) -> tuple[Codes, int]:
        """The code of each row's group, and an upper bound of the codes; groups are in the order of their codes."""
        group: Codes = np.zeros(self.frame.height, dtype=np.int32)
        width = 1
        for name in self.quasi_identifiers:
            group, width = combine(group, width, *code_cells(self._plain.get_column(name)))
        return group, width

    @property
    def group_of(self) -> Codes:
        """The code of each row's group."""
        return self._groups[0]

    @cached_property
    def first_rows(self) -> NDArray[np.int64]:
        """The first row of each group in the frame (from 0)."""
        return np.unique(self.group_of, return_index=True)[1]

    def _count(self, name: str | None, *, unit: bool = False) -> GroupCounts:
        """Count the values of a column in each group, or the rows of each owner; all rows are alike without a name."""
        key = name, unit
        if key not in self._counted:
            codes: Codes = np.zeros(self.frame.height, dtype=np.int32)
            size, domain = 1, Domain()
            if name is not None:
                column = self._known_owners.get_column(name) if unit else self.frame.get_column(name)
                codes, size = make_dense(*code_cells(column if unit else self._plain.get_column(name)))
                domain = published_domain(column, codes, size)
            self._counted[key] = count_codes(*self._groups, codes, size, domain, self.times)
        return self._counted[key]

    @property
    def counts(self) -> tuple[GroupCounts, ...]:
        """The values of each sensitive attribute in each group; if there is none, a single value."""
        return tuple(self._count(name) for name in self.sensitive or (None,))

    @property
    def counts_of_owners(self) -> dict[str, GroupCounts]:
        """The rows of each owner in each group, for each kind of owner."""
        return {} if self.owners is None else {kind: self._count(kind, unit=True) for kind in self.owners.columns}

    @property
    def _known_owners(self) -> pl.DataFrame:
        """The owners; a release whose rows have unknown owners is not safe."""
        owners = self.owners
        if (
            owners is None
            or not set(self.requirement.counting.counted) <= set(owners.columns)
            or owners.height != self.frame.height
        ):
            raise ReleaseUnsafeError(
                "The release counts persons, and it is not known whose its rows are. Nothing was published."
            )
        return owners

    @property
    def k(self) -> int:
        """Smallest group size that the models require; 1 if there is none."""
        return self.requirement.k if self.requirement.models else 1

    @cached_property
    def people(self) -> PeopleCounts | None:
        """Number of people of the population who fit each group, if a model needs it."""
        if self.requirement.population is None:
            return None
        if self.fitting is None:
            raise ReleaseUnsafeError(
                "The release cannot be checked because the population is missing. Nothing was published."
            )
        # The cells of a group are those of its first row; a person with several rows of a group counts once.
        cells = pl.DataFrame([self.frame.get_column(name).gather(self.first_rows) for name in self.quasi_identifiers])
        kinds = self.requirement.counting.counted
        return self.fitting(cells, self._count(kinds[0], unit=True).distinct if kinds else self.counts[0].sizes)

    @cached_property
    def release(self) -> ReleaseCounts:
        """The groups in the form that models of the whole release take."""
        asked = self.requirement
        owners = (
            [self._count(kind, unit=True).population for kind in asked.counting.counted] if asked.counts_units else []
        )
        return ReleaseCounts.of(self.counts[0].sizes, self.people, asked.fewest_owners(owners))

    @cached_property
    def bundles(self) -> Bundles | None:
        """The bundles of persons of linked rows, or the groups of rows with lists of values."""
        separators = self.requirement.counting.separators
        if self.pseudonym is None and not separators:
            return None
        return find_bundles(
            self.frame[self._each],
            pseudonym=self.pseudonym,
            quasi_identifiers=self.quasi_identifiers,
            sensitive=self.sensitive,
            separators=separators,
        )

    @property
    def _each(self) -> NDArray[np.int64]:
        """The row in the frame of each row of the table."""
        rows = np.arange(self.frame.height)
        return rows if self.times is None else np.repeat(rows, self.times)

    @cached_property
    def achieved(self) -> Achieved:
        """The measured privacy, which depends neither on the order of the rows nor on the types of their values.

        Raises
        ------
        ColumnError
            If a column does not exist.
        DataError
            If the table has no row, or if a column holds nested data or Python objects.
        """
        sets = self.requirement.counting.sets
        models = self.requirement.measured if self.every_figure or not sets else ()
        found = measure(self.counts, self.sensitive, models, self.release)
        return replace(found, bundles=self.bundles, sets=self._of_sets[1] if sets else None)

    @cached_property
    def failures(self) -> tuple[Failure, ...]:
        """The models of the requirement that the table fails; empty if it satisfies all."""
        models = self._models_of_bundles
        if not models:
            return self._failures_of_rows if self.requirement.models else ()
        assert self.bundles is not None
        failures = self.bundles.failures(models)
        first = self._each if self.places is None else self.places[self._each]
        return tuple(replace(one, first_rows=first[one.first_rows - 1] + 1) for one in failures)

    @property
    def _models_of_bundles(self) -> list[GroupModel]:
        # Lists that no model reads are measured only.
        models = self.requirement.models
        judged = self.requirement.counting.in_bundles(models)
        return [model for model in models if judged and isinstance(model, GroupModel)]

    @cached_property
    def _failures_of_rows(self) -> tuple[Failure, ...]:
        if self.requirement.counting.sets:
            return self._of_sets[0]
        return (*self._fail_as_whole(), *self._fail_groups())

    def _fail_as_whole(self) -> Iterator[Failure]:
        """Find the models of the whole release that fail: no single group fails them."""
        for whole in self.requirement.table_models:
            # A result that is not a truth value counts as a failure.
            if whole.satisfied(self.release) is not True:
                figures = whole.measure(self.release)
                yield Failure(
                    model=whole,
                    groups=self.release.groups,
                    found=whole.describe(self.release),
                    achieved=next(iter(figures.values())) if len(figures) == 1 else figures or None,
                )

    def _fail_groups(self) -> Iterator[Failure]:
        """Find the models of groups that fail, with the failing groups in the order of their numbers."""
        attributes = self.requirement.attributes
        kinds = self.requirement.counting.counted if self.requirement.counts_units else ()
        for model in self.requirement.group_models:
            for position in self.requirement.positions_of(model):
                attribute = attributes[position] if model.needs_sensitive else None
                counts = self.counts[0] if attribute is None else self._count(attribute, unit=position < len(kinds))
                failing = _find_failing(model, counts)
                if failing.any():
                    # Groups are numbered in the order of their first rows, as readers meet them.
                    first_rows = self.first_rows if self.places is None else self.places[self.first_rows]
                    order = np.argsort(first_rows)
                    numbers = np.flatnonzero(failing[order])
                    yield Failure(
                        model=model,
                        attribute=attribute,
                        groups=len(failing),
                        numbers=numbers + 1,
                        sizes=counts.sizes[order[numbers]].astype(np.int64),
                        first_rows=first_rows[order[numbers]] + 1,
                    )

    @cached_property
    def _of_sets(self) -> tuple[tuple[Failure, ...], dict[str, Any]]:
        """Judge and measure the groups of each set of quasi-identifiers by itself.

        The figures are the number of sets and the worst of all, and under "named" those of each set that was named.
        """
        asked = self.requirement
        reads = any(model.needs_sensitive and not model.of_units for model in asked.group_models)
        values = tuple(self.sensitive) if reads or (self.every_figure and not asked.counting.separators) else ()
        # Cells are compared only once: equal cells have equal codes.
        coded = [pl.Series(name, code_cells(self._plain.get_column(name))[0]) for name in self.quasi_identifiers]
        frame = self.frame.with_columns(coded)
        failures: list[Failure] = []
        measured: list[dict[str, Any]] = []
        named: list[dict[str, Any]] = []
        for one in asked.counting.sets:
            table = replace(
                self, frame=frame, quasi_identifiers=one.columns, sensitive=values, requirement=asked.of_set(one)
            )
            failures += (replace(failure, columns=one.columns) for failure in table._failures_of_rows)
            of_number = one.k is None and len(one.columns) == asked.counting.knows
            (measured if of_number else named).append({"columns": list(one.columns), **table._measure_set()})
        # The worst of the sets that a number of columns describes, if there are any.
        judged = measured or named
        worst: dict[str, Any] = {"k": min(one["k"] for one in judged)}
        if values:
            worst["l"] = {name: min(one["l"][name] for one in judged) for name in judged[0]["l"]}
            worst["alpha"] = max(one["alpha"] for one in judged)
        columns = min(judged, key=lambda one: one["k"])["columns"]
        return tuple(failures), {"sets": len(asked.counting.sets), **worst, "columns": columns, "named": named}

    def _measure_set(self) -> dict[str, Any]:
        found: dict[str, Any] = {"k": int(self.counts[0].sizes.min())}
        if self.sensitive:
            figures = measure_values(self.counts)
            found["l"] = {name: figures[f"l_{name}"] for name in ("frequency", "distinct", "entropy")}
            found["alpha"] = figures["alpha"]
        return found

    def verify(self, published: Sequence[str] | None = None) -> Achieved:
        """Check that the table is safe to publish; it is only if the method returns, and raises an error otherwise.

        Parameters
        ----------
        published : sequence of str, optional
            The allowed columns in their order; by default the quasi-identifiers and the sensitive attributes.

        Returns
        -------
        Achieved
            The privacy measured from the published cells alone.

        Raises
        ------
        ReleaseUnsafeError
            If the release fails. The message names the model and the number of failing groups, or the measured value of
            the whole release, or the columns that are not allowed.
        """
        # Columns are checked first, because nothing else may be read from a table with others.
        allowed = [*self.quasi_identifiers, *self.sensitive] if published is None else list(published)
        _check_columns(self.frame.columns, allowed)
        self._check_requirement()
        for one in self._failures_of_rows:
            if one.found is not None:
                raise ReleaseUnsafeError("The release fails ", one.model, f": {one.found}. Nothing was published.")
            about = "" if one.attribute is None else f" of '{one.attribute}'"
            about += f" for {_listed(one.columns)}" if one.columns else ""
            raise ReleaseUnsafeError(
                "The release fails ",
                one.model,
                f"{about} in {len(one.numbers)} of {one.groups} groups. Nothing was published.",
            )
        self._check_owners()
        self._check_bundles()
        return self.achieved

    def _check_requirement(self) -> None:
        """Check that no model would be skipped."""
        asked = self.requirement
        if tuple(asked.sensitive) != tuple(self.sensitive):
            raise ReleaseUnsafeError(
                f"The release cannot be checked for {_listed(self.sensitive)}, because the requirement applies to "
                f"{_listed(asked.sensitive)}. Nothing was published."
            )
        if not asked.models:
            raise ReleaseUnsafeError("The release cannot be checked without a model. Nothing was published.")
        if len(asked.group_models) + len(asked.table_models) != len(asked.parts):
            raise ReleaseUnsafeError(
                "The release cannot be checked for a model of unknown kind. Nothing was published."
            )
        if asked.counting.pseudonym is not None and self.pseudonym is None:
            raise ReleaseUnsafeError("Linked rows cannot be checked without pseudonyms. Nothing was published.")
        if asked.counting.most is not None:
            check_rows_per_owner(self._known_owners.to_series(0), self.times, asked.counting.most)
        for model in asked.group_models:
            if not asked.positions_of(model):
                raise ReleaseUnsafeError(
                    model, " cannot be checked without a sensitive attribute. Nothing was published."
                )
        if any(not one.columns or not set(one.columns) <= set(self.quasi_identifiers) for one in asked.counting.sets):
            raise ReleaseUnsafeError("A set has columns that are not quasi-identifiers. Nothing was published.")

    def _check_owners(self) -> None:
        """Check by their names alone that the rows of each group have k owners, without what models are replaced by."""
        asked = self.requirement
        if asked.counting.sets:  # their groups are those of some columns, and all columns together have smaller ones
            return
        k = max((int(getattr(model, "k", 1)) for model in asked.models if isinstance(model, GroupModel)), default=1)
        for kind in asked.counting.counted:
            rows = pl.DataFrame({"group": self.group_of, "owner": self._known_owners.get_column(kind)})
            if (rows.group_by("group").agg(pl.col("owner").n_unique())["owner"] < k).any():
                raise ReleaseUnsafeError(
                    f"A group of the release has fewer than {k} different values of '{kind}'. Nothing was published."
                )

    def _check_bundles(self) -> None:
        """Check bundles of linked rows or of lists, and that pseudonyms and owners are the same partition of rows."""
        if self.pseudonym is not None:
            pseudonyms = self.frame.get_column(self.pseudonym)
            if pseudonyms.null_count():
                raise ReleaseUnsafeError("A row of linked rows has no pseudonym. Nothing was published.")
            pairs = pl.DataFrame({"pseudonym": pseudonyms})
            pairs = pairs.with_columns(unit="pseudonym" if self.owners is None else self.owners.to_series()).unique()
            if not pairs.height == pairs["pseudonym"].n_unique() == pairs["unit"].n_unique():
                raise ReleaseUnsafeError(
                    "The pseudonyms of the release are not those of its persons. Nothing was published."
                )
        for one in () if self.bundles is None else self.bundles.failures(self._models_of_bundles):
            raise ReleaseUnsafeError("The bundles of the release fail ", one.model, ". Nothing was published.")

    def __repr__(self) -> str:
        return f"MeasuredTable(rows={self.frame.height}, columns={self.frame.width})"


def _find_failing(model: GroupModel, groups: GroupCounts) -> NDArray[np.bool_]:
    """Flag the groups that fail a model; all of them if the model does not return a truth value for each."""
    # A model with a broken result must not pass.
    accepted = model.acceptable(groups)
    if accepted.shape != groups.sizes.shape or accepted.dtype != np.bool_:
        return np.ones(groups.sizes.shape, dtype=np.bool_)
    return ~accepted


def _check_columns(found: Sequence[str], allowed: Sequence[str]) -> None:
    # An extra column is reported first: it may hold identifiers.
    extra = [name for name in found if name not in allowed]
    if extra:
        raise ReleaseUnsafeError(
            f"The release has columns that were not declared for publication: {_listed(extra)}. Nothing was published."
        )
    if list(found) != list(allowed):
        raise ReleaseUnsafeError(
            f"The release has the columns {_listed(found)} instead of {_listed(allowed)}. Nothing was published."
        )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) if names else "no column"
