"""The people that an attack is tried on: the rows of a release, or people whose true values are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal._messages import Suggestion
from shoal._progress import Progress, silent
from shoal.attacks.compatible import Shown, meet, shown_in_groups, shown_to, why_not_matched
from shoal.attacks.published import check_columns, frame_of, truth_of
from shoal.attacks.result import share_right
from shoal.errors import NoRowsError, ParameterError
from shoal.verification.columns import not_understood

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl
    from numpy.typing import NDArray

    from shoal.attacks.published import PublishedTable
    from shoal.attacks.rates import Rate

__all__ = ["Attacked", "attack_people", "known_people"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Attacked:
    """What a release shows of the people that were attacked, and the truth about them."""

    shown: Shown
    """What it shows of each person."""
    control: Shown | None
    """The same of people who are not in the release."""

    def rates(self, right: Callable[[Shown], NDArray[np.bool_]]) -> tuple[Rate, Rate | None]:
        """Return how often an attack is right about people of the release, and about controls."""
        return share_right(right(self.shown)), None if self.control is None else share_right(right(self.control))

    @property
    def not_covered(self) -> int:
        """People who are said to be in the release although no row is compatible with them."""
        return int((self.shown.rows == 0).sum())

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
        found.append(frame)
    people, others = found
    assert people is not None
    return people, others


def attack_people(
    table: PublishedTable,
    targets: Any,
    controls: Any,
    *,
    attack: str,
    code_of: NDArray[np.int64] | None = None,
    progress: Progress = silent,
) -> Attacked:
    """Return what a release shows of people.

    Parameters
    ----------
    table : PublishedTable
    targets : frame or path, optional
        People who are in the release, with true quasi-identifiers and sensitive values; by default each row of the
        release is somebody whose group is known.
    controls : frame or path, optional
        The same of people who are not in it; only with targets.
    attack : str
        Its name, for messages.
    code_of : int64 array, optional
        What counts as the same value: a code for each value of the release; each value alone unless given.
    progress : Progress, optional
    """
    codes = np.arange(len(table.values)) if code_of is None else code_of
    if targets is None and controls is None:
        return Attacked(shown=shown_in_groups(table.group_of, codes[table.secret_codes]), control=None)
    people, others = known_people(table, targets, controls, attack)
    problems = why_not_matched(table.read(people), people, "members")
    if problems:
        raise not_understood(problems)
    found = [
        shown_to(
            meet(table.read(frame), frame),
            codes[table.secret_codes],
            np.append(codes, -1)[truth_of(frame, table)],
            progress=progress,
        )
        for frame in (people, others)
        if frame is not None
    ]
    return Attacked(shown=found[0], control=found[1] if len(found) > 1 else None)
