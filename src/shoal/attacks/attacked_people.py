"""The people whom an attack targets: the rows of a release, or people whose true values are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.progress import Progress, silent
from shoal._messages import Suggestion
from shoal.attacks.attack_result import Rate, rate_of_persons
from shoal.attacks.compatible_rows import (
    CompatibilityJoin,
    CompatibleValues,
    join_compatible,
    summarize_compatible,
    summarize_groups,
)
from shoal.attacks.persons import (
    count_excludable,
    count_together,
    number_owners,
    same_candidates,
    summarize_bundles,
)
from shoal.attacks.published_table import PublishedTable, require_true_values
from shoal.errors import DataError, ParameterError
from shoal.verification.meaning import parameters_of


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class AttackedRecords:
    """Sensitive values of the rows compatible with the attacked people, and the true values."""

    shown: CompatibleValues
    """Values for people in the release."""
    control: CompatibleValues | None
    """Values for people who are not in the release."""
    known: bool
    """Whether the people are targets with true values rather than rows of the release."""
    owners: tuple[NDArray[np.int64], ...]
    """The person of each row of the targets and the controls."""

    def rate(self, right: NDArray[np.bool_]) -> Rate:
        """Compute the success rate of an attack among people of the release, who succeed with any of their rows."""
        return rate_of_persons(right, self.owners[0])

    def rates(self, right: Callable[[CompatibleValues], NDArray[np.bool_]]) -> tuple[Rate, Rate | None]:
        """Compute the success rates of an attack among people of the release, and among controls."""
        if self.control is None:
            return self.rate(right(self.shown)), None
        return self.rate(right(self.shown)), rate_of_persons(right(self.control), self.owners[1])

    @property
    def not_covered(self) -> int:
        """Number of records that are claimed to be in the release although no row is compatible with them."""
        return int((self.shown.rows == 0).sum())

    @property
    def lost(self) -> dict[str, Any]:
        """Numbers of records that no attack can be right about."""
        # A negative code stands for a true value that does not occur in the release.
        wrong = {"values_not_shown": int((self.shown.truth < 0).sum())} if self.known else {}
        return {"not_covered": self.not_covered, **wrong}

    def __repr__(self) -> str:
        return f"AttackedRecords(people={len(self.shown.rows)})"


def open_known_people(
    table: PublishedTable, targets: Any, controls: Any, attack: str
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Open targets and controls, with true quasi-identifiers and sensitive values.

    Raises
    ------
    ParameterError
        If there are controls without targets.
    ColumnError
        If a column is missing.
    NoRowsError
        If a table has no row.
    """
    if targets is None:
        raise ParameterError(
            f"The {attack} attack compares controls with people who are in the release: give both, ",
            Suggestion("targets"),
            " and ",
            Suggestion("controls"),
            ".",
        )
    people = table.open_people(targets, "the targets", table.secrets)
    return people, None if controls is None else table.open_people(controls, "the controls", table.secrets)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class People:
    """The people whom an attack targets, joined with the release."""

    frames: tuple[pl.DataFrame, ...] = ()
    """Targets and, if there are any, controls. If empty, each row of the release is attacked in its group."""
    joins: tuple[CompatibilityJoin, ...] = ()
    """For each frame, its join with the release."""
    owners: tuple[NDArray[np.int64], ...] = ()
    """For each frame, the person of each row."""

    def collect_values(
        self,
        table: PublishedTable,
        *,
        code_of: NDArray[np.int64] | None = None,
        excluded: int | None = None,
        progress: Progress = silent,
    ) -> AttackedRecords:
        """Collect the sensitive values of the rows that are compatible with the people.

        Parameters
        ----------
        table : PublishedTable
            The release, with the attacked columns.
        code_of : int64 array, optional
            A code for each value of the release; values with equal codes count as the same. By default all differ.
        excluded : int, optional
            Number of values that the adversary excludes of each person: `CompatibleValues.excludable` is found.
        progress : Progress, optional
            Called from time to time.

        Raises
        ------
        DataError
            If the columns of the people do not match those of the release. Nothing is measured then.
        """
        # Attacks on similarity merge the codes of similar values.
        codes = np.arange(len(table.values)) if code_of is None else code_of
        secret = codes[table.secret_codes]
        # Without targets the group of each row is assumed to be known.
        if not self.frames:
            return _attack_rows(table, secret, excluded)
        found = [
            summarize_compatible(
                join, secret, np.append(codes, -1)[require_true_values(frame, table)], progress=progress
            )
            for frame, join in zip(self.frames, self.joins, strict=True)
        ]
        # No target matches any row: the columns have different forms.
        if not found[0].rows.any():
            raise DataError(
                f"None of the {len(found[0].rows):,} targets fits a row of the release on {', '.join(table.names)}: "
                "nothing was measured. Give people who are in the release, with columns of the same form."
            )
        # Rows of a person that are compatible with the same rows are matched with them together.
        for at, (owners, join) in enumerate(zip(self.owners, self.joins, strict=True)):
            found[at] = replace(found[at], together=count_together(owners, partial(same_candidates, join)))
            if excluded is not None:
                count = partial(join.count_values, secret)
                rows_out = count_excludable(count, len(table.values), join.point_of, owners, found[at].truth, excluded)
                found[at] = replace(found[at], excludable=rows_out)
        return AttackedRecords(
            shown=found[0], control=found[1] if len(found) > 1 else None, known=True, owners=self.owners
        )

    def __repr__(self) -> str:
        return f"People(frames={len(self.frames)})"


def _attack_rows(table: PublishedTable, secret: NDArray[np.int64], excluded: int | None) -> AttackedRecords:
    """Summarize the values of the group of each row, or of the bundle of each person, if rows are linked."""
    owners = table.owners
    # Linked rows are attacked together; other rows group by group.
    if table.pseudonyms:
        shown = summarize_bundles(table.bundled, secret)
    else:
        shown = summarize_groups(table.group_of, secret)
        shown = replace(shown, together=count_together(owners, lambda: table.group_of))
        if excluded is not None:
            group, groups = table.group_of, int(table.group_of.max()) + 1

            def count(start: int, stop: int) -> NDArray[np.int64]:
                here = (secret >= start) & (secret < stop)
                width = stop - start
                keys = group[here] * width + secret[here] - start
                return np.bincount(keys, minlength=groups * width).reshape(groups, width)

            rows_out = count_excludable(count, len(table.values), group, owners, secret, excluded)
            shown = replace(shown, excludable=rows_out)
    return AttackedRecords(shown=shown, control=None, known=False, owners=(owners,))


def open_people(table: PublishedTable, targets: Any, controls: Any, *, attack: str) -> People:
    """Open the people whom an attack targets, and join them with the release.

    Parameters
    ----------
    table : PublishedTable
        The release.
    targets : frame or path, optional
        People who are in the release, with true quasi-identifiers and sensitive values. By default each row of the
        release
        is a record whose group is known.
    controls : frame or path, optional
        The same for people who are not in it; only with targets.
    attack : str
        Name of the attack, for messages.
    """
    if targets is None and controls is None:
        table.group_of, table.owners  # noqa: B018 - counted once for all sensitive columns
        return People()
    if table.pseudonyms:
        raise ParameterError(
            "Targets are compared with single rows, and the rows of the release are linked: leave targets out."
        )
    people, others = open_known_people(table, targets, controls, attack)
    table.read_matching(people, "members")
    # The joins are computed once and shared by the attacks on all sensitive columns.
    frames = (people,) if others is None else (people, others)
    owners = tuple(number_owners(frame, table.person, "the targets and controls") for frame in frames)
    _check_published_records(table, owners[:1])
    return People(
        frames=frames, joins=tuple(join_compatible(table.read(frame), frame) for frame in frames), owners=owners
    )


def _check_published_records(table: PublishedTable, owners: Sequence[NDArray[np.int64]]) -> None:
    """Refuse targets with more records of a person than the release has, because each would count as published."""
    most = (parameters_of(table.certificate) or {}).get("rows_per_person")
    if most is not None and any(np.bincount(one).max(initial=0) > most for one in owners):
        raise DataError(
            f"The release has at most {most} record(s) of each person, and the targets have more of some. Give the "
            "records that were published, or leave out ",
            Suggestion("person"),
            ".",
        )
