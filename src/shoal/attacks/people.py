"""The people that an attack is tried on: the rows of a release, or people whose true values are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal._core.progress import Progress, silent
from shoal._messages import Suggestion
from shoal.attacks.attack_result import share_right
from shoal.attacks.compatible_rows import Meeting, Shown, meet, shown_in_groups, shown_to, why_not_matched
from shoal.attacks.published_table import check_columns, frame_of, truth_of
from shoal.errors import DataError, NoRowsError, ParameterError
from shoal.verification.published_columns import not_understood

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl
    from numpy.typing import NDArray

    from shoal.attacks.published_table import PublishedTable
    from shoal.attacks.rates import Rate

__all__ = ["People", "known_people", "open_people"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Attacked:
    """What a release shows of the people that were attacked, and the truth about them."""

    shown: Shown
    """What it shows of each person."""
    control: Shown | None
    """The same of people who are not in the release."""
    known: bool
    """Whether the people are targets with true values, not the rows of the release."""

    def rates(self, right: Callable[[Shown], NDArray[np.bool_]]) -> tuple[Rate, Rate | None]:
        """Return how often an attack is right about people of the release, and about controls."""
        return share_right(right(self.shown)), None if self.control is None else share_right(right(self.control))

    @property
    def not_covered(self) -> int:
        """Records that are said to be in the release although no row is compatible with them."""
        return int((self.shown.rows == 0).sum())

    @property
    def lost(self) -> dict[str, int]:
        """The figures of records that no attack can be right about: whatever the reason, they are not measured."""
        wrong = {"values_not_shown": int((self.shown.truth < 0).sum())} if self.known else {}
        return {"not_covered": self.not_covered, **wrong}

    def __repr__(self) -> str:
        return f"Attacked(people={len(self.shown.rows)})"


def known_people(
    table: PublishedTable, targets: Any, controls: Any, attack: str
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Return people of the release and people who are not in it, with true quasi-identifiers and sensitive values.

    Raises
    ------
    ParameterError
        Where there are controls without targets.
    ColumnError
        Where a column is not there.
    NoRowsError
        Where a table has no row.
    """
    if targets is None:
        raise ParameterError(
            f"The {attack} attack compares controls with people who are in the release: give both, ",
            Suggestion("targets"),
            " and ",
            Suggestion("controls"),
            ".",
        )
    found = []
    for data, what in ((targets, "the targets"), (controls, "the controls")):
        frame = None if data is None else frame_of(data)
        if frame is not None:
            check_columns(frame, (*table.names, *table.secrets), what)
            if not frame.height:
                raise NoRowsError(f"There is nobody among {what}.")
            frame = table.matched(frame)
        found.append(frame)
    people, others = found
    assert people is not None
    return people, others


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class People:
    """The people that an attack is tried on, with what each may be in the release."""

    frames: tuple[pl.DataFrame, ...] = ()
    """Targets and, if there are any, controls; none of them: each row of the release is attacked in its group."""
    meetings: tuple[Meeting, ...] = ()
    """For each frame the rows that its people may be."""

    def attacked(
        self, table: PublishedTable, *, code_of: NDArray[np.int64] | None = None, progress: Progress = silent
    ) -> Attacked:
        """Return what a release shows of the sensitive columns of the people.

        Parameters
        ----------
        table : PublishedTable
        code_of : int64 array, optional
            What counts as the same value: a code for each value of the release; each value alone unless given.
        progress : Progress, optional

        Raises
        ------
        DataError
            If the columns of the people do not match those of the release: then nothing is measured.
        """
        codes = np.arange(len(table.values)) if code_of is None else code_of
        secret = codes[table.secret_codes]
        if not self.frames:
            return Attacked(shown=shown_in_groups(table.group_of, secret), control=None, known=False)
        found = [
            shown_to(meeting, secret, np.append(codes, -1)[truth_of(frame, table)], progress=progress)
            for frame, meeting in zip(self.frames, self.meetings, strict=True)
        ]
        if not found[0].rows.any():
            raise DataError(
                f"None of the {len(found[0].rows):,} targets fits a row of the release on {', '.join(table.names)}: "
                "nothing was measured. Give people who are in the release, with columns of the same form."
            )
        return Attacked(shown=found[0], control=found[1] if len(found) > 1 else None, known=True)

    def __repr__(self) -> str:
        return f"People(frames={len(self.frames)})"


def open_people(table: PublishedTable, targets: Any, controls: Any, *, attack: str) -> People:
    """Return the people that an attack is tried on.

    Parameters
    ----------
    table : PublishedTable
    targets : frame or path, optional
        People who are in the release, with true quasi-identifiers and sensitive values; by default each row of the
        release is a record whose group is known.
    controls : frame or path, optional
        The same of people who are not in it; only with targets.
    attack : str
        Its name, for messages.
    """
    if targets is None and controls is None:
        table.group_of  # noqa: B018 - counted once for all sensitive columns
        return People()
    people, others = known_people(table, targets, controls, attack)
    problems = why_not_matched(table.read(people), people, "members")
    if problems:
        raise not_understood(problems)
    frames = (people,) if others is None else (people, others)
    return People(frames=frames, meetings=tuple(meet(table.read(frame), frame) for frame in frames))
