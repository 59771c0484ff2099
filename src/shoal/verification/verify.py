"""Verify a release from its published cells alone; a release that fails is not published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ReleaseUnsafeError
from shoal.models import TableModel
from shoal.models.base import GroupCounts, GroupModel
from shoal.models.column_sets import ColumnSet
from shoal.models.release_counts import PeopleCounts, ReleaseCounts
from shoal.models.requirement import Requirement
from shoal.verification.achieved import Achieved, measure_counts
from shoal.verification.column_sets import measure_sets
from shoal.verification.counting import Fitting, count_groups, people_of_groups
from shoal.verification.linked_rows import Bundles, verify_linked
from shoal.verification.units import name_units


def verify(
    frame: pl.DataFrame,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    requirement: Requirement,
    published: Sequence[str] | None = None,
    fitting: Fitting | None = None,
    times: NDArray[np.int64] | None = None,
    units: pl.DataFrame | None = None,
    pseudonym: str | None = None,
) -> Achieved:
    """Check that every group of a release satisfies every model, and measure what the release achieves.

    The release is safe only if the function returns; in every other case it raises an error.

    Parameters
    ----------
    frame : polars.DataFrame
        The release as its readers will see it.
    quasi_identifiers, sensitive : sequence of str
        Roles of its columns.
    requirement : Requirement
        The models, and the sensitive attributes that they apply to.
    published : sequence of str, optional
        The allowed columns in their order; by default the quasi-identifiers and the sensitive attributes.
    fitting : Fitting, optional
        Function that counts the people of the population who fit groups, if a model needs it.
    times : int64 array, optional
        Multiplicity of each row, if `frame` holds distinct rows only.
    units : polars.DataFrame, optional
        Private: the unit of each row of `frame`, one column for each protected kind of unit (`number_units`).
    pseudonym : str, optional
        The column of pseudonyms of linked rows: the bundles of persons must satisfy the models, too.

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
    _check_columns(frame.columns, [*quasi_identifiers, *sensitive] if published is None else list(published))
    if tuple(requirement.sensitive) != tuple(sensitive):
        raise ReleaseUnsafeError(
            f"The release cannot be checked for {_listed(sensitive)}, because the requirement applies to "
            f"{_listed(requirement.sensitive)}. Nothing was published."
        )
    if requirement.sets:
        return _verify_sets(frame, quasi_identifiers, requirement, times, units)
    # Judgement and measurement use the same counts.
    counts = count_groups(frame, quasi_identifiers, sensitive, times=times)
    people = _people(frame, quasi_identifiers, requirement, fitting, units, times)
    of_units = _of_units(frame, quasi_identifiers, requirement, units, times)
    by_position = {**dict(zip(sensitive, counts, strict=False)), **of_units}
    asked = [by_position[name] for name in requirement.attributes] or counts
    _check_models(asked, requirement, people)
    found = measure_counts(counts, sensitive, requirement.measured, people)
    if pseudonym is None and not requirement.lists:
        return found
    rows = frame if times is None else frame[np.repeat(np.arange(frame.height), times)]
    return replace(found, bundles=_check_bundles(rows, pseudonym, quasi_identifiers, requirement, units))


def _verify_sets(
    frame: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    requirement: Requirement,
    times: NDArray[np.int64] | None,
    units: pl.DataFrame | None,
) -> Achieved:
    """Check that every group of every set of quasi-identifiers satisfies every model, and measure what they achieve."""
    if requirement.counts_units:
        _of_units(frame, quasi_identifiers, requirement, units, times)

    def check_set(known: ColumnSet, counts: Sequence[GroupCounts]) -> None:
        if not known.columns or not set(known.columns) <= set(quasi_identifiers):
            raise ReleaseUnsafeError("A set has columns that are not quasi-identifiers. Nothing was published.")
        _check_models(counts, requirement.of_set(known), of_set=f" for {_listed(known.columns)}")

    found = measure_sets(frame, quasi_identifiers, requirement, times=times, units=units, judge=check_set)
    whole = measure_counts(
        count_groups(frame, quasi_identifiers, requirement.sensitive, times=times), requirement.sensitive
    )
    return replace(whole, sets=found)


def _check_bundles(
    frame: pl.DataFrame,
    pseudonym: str | None,
    quasi_identifiers: Sequence[str],
    requirement: Requirement,
    units: pl.DataFrame | None,
) -> Bundles:
    """Check bundles of linked rows or of lists, and that pseudonyms and units are the same partition of the rows."""
    if units is not None and pseudonym is not None:
        pairs = pl.DataFrame({"pseudonym": frame[pseudonym], "unit": units.to_series()}).unique()
        if not pairs.height == pairs["pseudonym"].n_unique() == pairs["unit"].n_unique():
            raise ReleaseUnsafeError(
                "The pseudonyms of the release are not those of its persons. Nothing was published."
            )
    # Lists that no model reads are measured only.
    judged = requirement.linked or requirement.reads_lists
    return verify_linked(
        frame,
        pseudonym=pseudonym,
        quasi_identifiers=quasi_identifiers,
        sensitive=requirement.sensitive,
        models=[model for model in requirement.models if judged and isinstance(model, GroupModel)],
        lists=dict(requirement.lists),
    )


def _of_units(
    frame: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    requirement: Requirement,
    units: pl.DataFrame | None,
    times: NDArray[np.int64] | None,
) -> dict[str, GroupCounts]:
    """Count the rows of each unit in each group, for each kind of unit that some model counts."""
    if not requirement.counts_units:
        return {}
    with_units, named = name_units(frame, _known_units(frame, requirement, units))
    counts = count_groups(with_units, quasi_identifiers, list(named.values()), times=times)
    return dict(zip(named, counts, strict=True))


def _known_units(frame: pl.DataFrame, requirement: Requirement, units: pl.DataFrame | None) -> pl.DataFrame:
    """Select the protected kinds of units; a release whose rows have unknown units is not safe."""
    if units is None or not set(requirement.units) <= set(units.columns) or units.height != frame.height:
        raise ReleaseUnsafeError(
            "The release was to be checked for units whose rows are not known. Nothing was published."
        )
    return units[list(requirement.units)]


def _people(
    frame: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    requirement: Requirement,
    fitting: Fitting | None,
    units: pl.DataFrame | None,
    times: NDArray[np.int64] | None,
) -> PeopleCounts | None:
    """Count the people who fit each group, if a model needs it; a person with several rows of a group counts once."""
    if requirement.population is None:
        return None
    if fitting is None:
        raise ReleaseUnsafeError(
            "The release cannot be checked because the population is missing. Nothing was published."
        )
    owners = _known_units(frame, requirement, units).to_series(0) if requirement.units else None
    return people_of_groups(frame, quasi_identifiers, fitting, owners, times)


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


def _check_models(
    counts: Sequence[GroupCounts], requirement: Requirement, people: PeopleCounts | None = None, *, of_set: str = ""
) -> None:
    if not requirement.models:
        raise ReleaseUnsafeError("The release cannot be checked without a model. Nothing was published.")
    # A model that is neither of groups nor of the whole release would be skipped below.
    if len(requirement.group_models) + len(requirement.table_models) != len(requirement.parts):
        raise ReleaseUnsafeError("The release cannot be checked for a model of unknown kind. Nothing was published.")
    for whole in requirement.table_models:
        units = requirement.fewest_units([one.population for one in counts])
        release = ReleaseCounts.of(counts[0].sizes, people, units)
        if release_fails(whole, release):
            raise ReleaseUnsafeError(
                "The release fails ", whole, f": {whole.describe(release)}. Nothing was published."
            )
    # Models of groups are checked for each sensitive attribute, if they need one.
    for model in requirement.group_models:
        asked = requirement.positions_of(model)
        if not asked:
            raise ReleaseUnsafeError(model, " cannot be checked without a sensitive attribute. Nothing was published.")
        for position in asked:
            failing = find_failing_groups(model, counts[position])
            if failing.any():
                about = f" of '{requirement.attributes[position]}'" if model.needs_sensitive else ""
                raise ReleaseUnsafeError(
                    "The release fails ",
                    model,
                    f"{about}{of_set} in {int(failing.sum())} of {len(failing)} groups. Nothing was published.",
                )


def release_fails(model: TableModel, release: ReleaseCounts) -> bool:
    """Check whether a release fails a model of the whole release."""
    # A result that is not a truth value counts as a failure.
    return model.satisfied(release) is not True


def find_failing_groups(model: GroupModel, groups: GroupCounts) -> NDArray[np.bool_]:
    """Flag the groups that fail a model; all of them if the model does not return a truth value for each."""
    # A model with a broken result must not pass.
    accepted = model.acceptable(groups)
    if accepted.shape != groups.sizes.shape or accepted.dtype != np.bool_:
        return np.ones(groups.sizes.shape, dtype=np.bool_)
    return ~accepted


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) if names else "no column"
