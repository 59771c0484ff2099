"""Verification of a release from its published cells; it shares no code with the algorithm that made the release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ReleaseUnsafeError
from shoal.verification import MeasuredTable, check_faithful, collect_meanings
from shoal.verification.published_folder import GROUP

_COUNT = "count"


def verify_release(
    published: pl.DataFrame,
    counterfeits: pl.DataFrame,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    m: int,
) -> dict[str, Any]:
    """Verify that a release is m-unique, and that its counterfeits are consistent.

    Parameters
    ----------
    published : DataFrame
        The published table.
    counterfeits : DataFrame
        Number of counterfeits of each group that has any.
    quasi_identifiers, sensitive : sequence of str
        The columns of the series.
    m : int
        Minimum number of rows of a group; their sensitive values must be distinct.

    Returns
    -------
    dict
        The measured privacy, with the keys of a certificate's "achieved"; `m` is the size of the smallest group.

    Raises
    ------
    ReleaseUnsafeError
        If the release violates a condition; it must not be published.
    """
    columns = [GROUP, *quasi_identifiers, *sensitive]
    # The form of the tables.
    if published.columns != columns or counterfeits.columns != [GROUP, _COUNT]:
        raise _make_error("its columns are not those of the series")
    if not published.height:
        raise _make_error("it has no rows")
    if any(published.get_column(name).null_count() for name in (GROUP, *sensitive)):
        raise _make_error("a group number or a sensitive value is missing")
    # Count rows, distinct values and distinct quasi-identifiers of each group.
    groups = published.select(pl.col(GROUP).cast(pl.Int64), pl.struct(quasi_identifiers).alias("shown"))
    values = published.select(pl.struct(sensitive).alias("value"))
    facts = (
        pl.concat([groups, values], how="horizontal")
        .group_by(GROUP)
        .agg(
            pl.len().alias("rows"),
            pl.col("value").n_unique().alias("values"),
            pl.col("shown").n_unique().alias("kinds"),
            pl.col("shown").first().alias("cells"),
        )
    )
    # m-uniqueness: at least m rows with distinct values and the same quasi-identifiers.
    if (facts["kinds"] != 1).any():
        raise _make_error("rows of one group have different quasi-identifiers")
    if (facts["rows"] < m).any():
        raise _make_error(f"{int((facts['rows'] < m).sum())} group(s) have fewer than {m} rows")
    if (facts["values"] != facts["rows"]).any():
        raise _make_error(
            f"{int((facts['values'] != facts['rows']).sum())} group(s) have a sensitive value more than once"
        )
    _check_counterfeits(facts, counterfeits)
    counted = counterfeits.select(pl.col(GROUP, _COUNT).cast(pl.Int64))
    real = facts.join(counted, on=GROUP, how="left").with_columns(pl.col("rows") - pl.col(_COUNT).fill_null(0))
    return {
        **MeasuredTable(published, [GROUP, *quasi_identifiers], sensitive).achieved.to_dict(),
        "m": facts["rows"].min(),
        "shown_alone": int((real.group_by("cells").agg(pl.col("rows").sum())["rows"] == 1).sum()),
    }


def count_group_sizes(published: pl.DataFrame) -> dict[int, int]:
    """Count the groups of a verified release by size, including counterfeits."""
    sizes = published.group_by(GROUP).len().group_by("len").len(name="groups").sort("len")
    return dict(zip(sizes["len"].to_list(), sizes["groups"].to_list(), strict=True))


def _check_counterfeits(facts: pl.DataFrame, counterfeits: pl.DataFrame) -> None:
    """Check that counterfeits are counted once per group, in existing groups, and never fill a whole group."""
    counted = counterfeits.select(pl.col(GROUP, _COUNT).cast(pl.Int64))
    joined = counted.join(facts, on=GROUP, how="left")
    if counted[GROUP].is_duplicated().any() or joined["rows"].null_count():
        raise _make_error("counterfeits are counted twice, or in groups that are not there")
    if ((joined[_COUNT] < 1) | (joined[_COUNT] >= joined["rows"])).any():
        raise _make_error("a group consists of counterfeits only, or is listed without any")


def _make_error(what: str) -> ReleaseUnsafeError:
    """Create the error for a failed verification."""
    return ReleaseUnsafeError(f"The release failed its verification: {what}. Nothing was published.")


def verify_real_people(
    published: pl.DataFrame,
    counterfeits: pl.DataFrame,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    min_real: int,
    groups: NDArray[np.integer] | None = None,
) -> None:
    """Verify that published quasi-identifiers always stand for enough real people.

    Every combination of published cells must stand for at least `min_real` people over all groups. So must every single
    group, unless there are too few people with its signature for all groups of that signature.

    Parameters
    ----------
    published, counterfeits : DataFrame
        A verified release.
    quasi_identifiers, sensitive : sequence of str
        The columns of the series.
    min_real : int
        Minimum number of real people.
    groups : array, optional
        Group of each person's row, one less than published, which only the publisher knows. By default the number of
        people of a group is its number of rows minus its counterfeits.

    Raises
    ------
    ReleaseUnsafeError
        If there are too few people, or if the groups disagree with the published counterfeits.
    """
    # The cells, signature, rows and people of each group.
    number = pl.col(GROUP).cast(pl.Int64)
    value = published.select(sensitive).unique().with_row_index("value")
    facts = (
        published.join(value, on=list(sensitive))
        .group_by(number)
        .agg(
            pl.struct(quasi_identifiers).first().alias("shown"),
            pl.col("value").sort().cast(pl.String).str.join(",").alias("values"),
            pl.len().cast(pl.Int64).alias("rows"),
        )
        .join(counterfeits.select(number, pl.col(_COUNT).cast(pl.Int64)), on=GROUP, how="left")
        .with_columns((pl.col("rows") - pl.col(_COUNT).fill_null(0)).alias("people"))
    )
    # Compare with the true number of people.
    if groups is not None:
        held = pl.DataFrame({GROUP: groups.astype(np.int64) + 1}).group_by(GROUP).agg(pl.len().alias("held"))
        facts = facts.join(held, on=GROUP, how="left")
        if facts["held"].null_count() or (facts["held"] != facts["people"]).any():
            raise _make_error("a group has other people than its counterfeits leave")
    # Every published combination, then every group whose signature has enough people.
    if (facts.group_by("shown").agg(pl.col("people").sum())["people"] < min_real).any():
        raise _make_error(f"quasi-identifiers are shown of fewer than {min_real} real people")
    thin = facts.with_columns(
        pl.col("people").sum().over("values").alias("all_people"), pl.len().over("values").alias("all_groups")
    ).filter((pl.col("people") < min_real) & (pl.col("all_people") >= min_real * pl.col("all_groups")))
    if thin.height:
        raise _make_error(f"{thin.height} group(s) have fewer than {min_real} real people, although there are enough")


def verify_invariance(
    *,
    groups: NDArray[np.integer],
    sensitive: NDArray[np.integer],
    counterfeit_groups: NDArray[np.integer],
    counterfeit_values: NDArray[np.integer],
    signature_of: NDArray[np.integer],
    signatures: Sequence[NDArray[np.integer]],
) -> None:
    """Verify that every known person is in a group with exactly the values of the person's signature.

    Parameters
    ----------
    groups, sensitive : array
        Group and sensitive code of each person's row.
    counterfeit_groups, counterfeit_values : array
        Group and sensitive code of each counterfeit.
    signature_of : array
        Number of each person's signature; -1 for a person who is new.
    signatures : sequence of arrays
        The codes of each signature.

    Raises
    ------
    ReleaseUnsafeError
        If a known person would be published with another set of values.
    """
    # All published values of each group, including counterfeits.
    shown = pl.DataFrame(
        {
            "group": np.concatenate((groups, counterfeit_groups)).astype(np.int64),
            "value": np.concatenate((sensitive, counterfeit_values)).astype(np.int64),
        }
    )
    known = signature_of >= 0
    # Join the known people's groups with the published and the expected values.
    held = pl.DataFrame(
        {"group": groups[known].astype(np.int64), "signature": signature_of[known].astype(np.int64)}
    ).unique()
    sets = pl.DataFrame(
        {"signature": range(len(signatures)), "expected": [sorted(one.tolist()) for one in signatures]},
        schema={"signature": pl.Int64, "expected": pl.List(pl.Int64)},
    )
    compared = held.join(shown.group_by("group").agg(pl.col("value").sort()), on="group").join(sets, on="signature")
    if compared.height != held.height or (compared["value"] != compared["expected"]).any():
        raise _make_error("people would be published with another set of sensitive values than before")


def verify_truth(
    published: pl.DataFrame,
    people: pl.DataFrame,
    groups: NDArray[np.integer],
    *,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
) -> None:
    """Verify that every person's group shows cells that cover the person's values, and the person's sensitive value.

    Parameters
    ----------
    published : DataFrame
        The published table, verified.
    people : DataFrame
        The true rows of the people.
    groups : array
        Group of each person's row, one less than published.
    quasi_identifiers, sensitive : sequence of str
        The columns of the series.

    Raises
    ------
    ReleaseUnsafeError
        If a cell is not true.
    """
    # All rows of a group show the same quasi-identifiers: compare with any of them.
    group = groups.astype(np.int64) + 1
    numbers = published[GROUP].cast(pl.Int64).to_numpy()
    # One row of each group.
    row_of = np.full(int(max(numbers.max(), group.max())) + 1, -1, dtype=np.int64)
    row_of[numbers] = np.arange(len(numbers))
    if (row_of[group] < 0).any():
        raise _make_error("a person's group is missing")
    check_faithful(
        published.select(quasi_identifiers)[pl.Series(row_of[group].astype(np.uint32))],
        people,
        np.arange(len(group)),
        meanings=collect_meanings(quasi_identifiers, {}),
    )
    # Every pair of group and sensitive value must be published.
    true, shown = [pl.Series(GROUP, group)], [published[GROUP].cast(pl.Int64)]
    for name in sensitive:
        pair = people.get_column(name), published.get_column(name)
        same = pair[0].dtype == pair[1].dtype and not pair[0].dtype.is_float()
        for columns, column in zip((true, shown), pair, strict=True):
            columns.append(column if same else _to_plain_text(column))
    if pl.DataFrame(true).join(pl.DataFrame(shown), on=[GROUP, *sensitive], how="anti").height:
        raise _make_error("a person's sensitive value is missing in the person's group")


def _to_plain_text(values: pl.Series) -> pl.Series:
    """Convert values to text; whole floats look like integers."""
    if not values.dtype.is_float():
        return values.cast(pl.String)
    whole = (values == values.round()) & (values.abs() < 2**53)
    integers = values.set(~whole, 0.0).cast(pl.Int64).cast(pl.String)
    return integers.zip_with(whole, values.cast(pl.Float64).cast(pl.String))


def count_people_by_signature(
    published: pl.DataFrame, counterfeits: pl.DataFrame, sensitive: Sequence[Sequence[str]]
) -> dict[frozenset[tuple[str, ...]], int]:
    """Count the people of all groups with each signature, from the published cells.

    Parameters
    ----------
    published, counterfeits : DataFrame
        A verified release.
    sensitive : sequence of sequences of str
        The cells of each sensitive attribute, as text.
    """
    fakes = dict(counterfeits.select(pl.col(GROUP, _COUNT).cast(pl.Int64)).iter_rows())
    # The signature of a group is the set of its values.
    values: dict[int, set[tuple[str, ...]]] = {}
    for group, value in zip(published[GROUP].cast(pl.Int64), zip(*sensitive, strict=True), strict=True):
        values.setdefault(group, set()).add(value)
    people: dict[frozenset[tuple[str, ...]], int] = {}
    for group, found in values.items():
        signature = frozenset(found)
        people[signature] = people.get(signature, 0) + len(found) - fakes.get(group, 0)
    return people
