"""The result of a trade-off: releases for several levels of protection, their risks and losses, and the knee."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from shoal._core.figures import svg_element, write_picture
from shoal._core.unpicklable import Unpicklable
from shoal._core.validation import exact_fraction
from shoal._core.words import listed, number, percent
from shoal.errors import ParameterError
from shoal.report import TradeOffFacts, render_trade_off, write_report
from shoal.report.notebook import PRIVATE, card
from shoal.verbs.tradeoff.knee import knee_of, unbeaten
from shoal.verbs.tradeoff.trade_off_chart import plot_choices
from shoal.wording import sentences

if TYPE_CHECKING:
    from os import PathLike

    import polars as pl
    from matplotlib.axes import Axes

    from shoal.disclosure_risk import Reidentification
    from shoal.findings import Remark
    from shoal.release.release import Release
    from shoal.verbs.tradeoff.choice import Choice

__all__ = ["TradeOff"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TradeOff(Unpicklable):
    """Releases for several levels of protection, to choose from. Private: it holds the original table.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> result = shoal.tradeoff(people, quasi_identifiers=["age", "gender"], sensitive="income", k=[2, 10])
    >>> [(choice.k, choice.highest_risk <= 1 / choice.k) for choice in result.choices]
    [(2, True), (10, True)]
    """

    _instead: ClassVar[str] = "Pickle to_dict() of it."

    choices: tuple[Choice, ...]
    """One choice for each level, sorted by l and then by k."""
    quasi_identifiers: tuple[str, ...]
    """The columns that an adversary may know."""
    sensitive: tuple[str, ...]
    """The columns that must not be linked to a person."""
    rows: int
    """Rows of each release."""
    persons: int | None = None
    """Persons of the table, if a column identifies them; risks are theirs then."""
    before: Reidentification
    """The risk of re-identification in the original rows."""
    ended: str
    """"complete", or "interrupted" if levels are missing."""
    warnings: tuple[Remark, ...] = ()
    """A warning if persons have several records in the table and no model protects them: it holds for every release."""

    @cached_property
    def able(self) -> tuple[Choice, ...]:
        """The choices that have a release."""
        return tuple(choice for choice in self.choices if choice.release is not None)

    @cached_property
    def front(self) -> tuple[Choice, ...]:
        """The Pareto-optimal choices: no other choice protects as well, loses no more, and is better in one."""
        points = [(*choice.risks, choice.loss or 0.0) for choice in self.able]
        return tuple(self.able[at] for at in unbeaten(points))

    @cached_property
    def knee(self) -> Choice | None:
        """The choice of `front` beyond which more protection costs more than before; None if there is none.

        There is none if the curve has no clear bend, or if k and l both differ, because that is not a curve. Protection
        is measured by the highest risk if k differs, and by the confidence in a value if l does. The knee marks the
        bend of the curve (see `shoal.verbs.tradeoff.knee_of`), not an acceptable risk.
        """
        # Levels that differ in k and in l do not form a curve.
        if self.along is None:
            return None
        risks = [choice.risks[0 if self.along == "k" else -1] for choice in self.front]
        at = knee_of(risks, [choice.loss or 0.0 for choice in self.front])
        return None if at is None else self.front[at]

    @property
    def along(self) -> str | None:
        """The parameter in which the levels differ, "k" or "l"; None if both differ."""
        differs = [name for name in ("k", "l") if len({getattr(choice, name) for choice in self.choices}) > 1]
        return None if len(differs) > 1 else (differs or ["k" if self.choices[0].l is None else "l"])[0]

    def choice(self, k: int | None = None, l: Real | float | None = None) -> Choice:
        """Return the choice of a level.

        Parameters
        ----------
        k, l : number, optional
            The level. A parameter may be omitted if the rest determines the level.

        Raises
        ------
        ParameterError
            There is no such level, or several.
        """
        # Find the only level that matches all given parameters.
        given = {name: value for name, value in (("k", k), ("l", l)) if value is not None}
        found = [choice for choice in self.choices if all(_same(getattr(choice, name), given[name]) for name in given)]
        if len(found) == 1:
            return found[0]
        levels = listed([choice.text for choice in (found or self.choices)], "or")
        raise ParameterError(f"{'Several levels match, name one' if found else 'There is no such level'}: {levels}.")

    def choose(self, k: int | None = None, l: Real | float | None = None) -> Release:
        """Return the measured release of a level; its private report shows the trade-off.

        Parameters
        ----------
        k, l : number, optional
            The level. A parameter may be omitted if the rest determines the level.

        Raises
        ------
        ParameterError
            There is no such level, or several.
        ShoalError
            The reason why the level has no release.
        """
        chosen = self.choice(k, l)
        if chosen.release is None:
            assert chosen.error is not None, "a level without a release has an error"
            raise chosen.error
        return replace(chosen.release, trade_off=lambda: self._for_report(chosen))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a dictionary, for JSON; `knee` and `front` are levels as text."""
        before = self.before
        return {
            "rows": self.rows,
            "persons": self.persons,
            "quasi_identifiers": list(self.quasi_identifiers),
            "sensitive": list(self.sensitive),
            "before": {
                "highest_risk": before.highest,
                "average_risk": before.average,
                "sample_uniques": before.sample_uniques,
            },
            "choices": [choice.to_dict() for choice in self.choices],
            "front": [choice.text for choice in self.front],
            "knee": None if self.knee is None else self.knee.text,
            "ended": self.ended,
            "warnings": [one.to_dict() for one in self.warnings],
        }

    def to_json(self) -> str:
        """Return the result as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_frame(self) -> pl.DataFrame:
        """Return the choices as a Polars frame, one row per choice."""
        import polars as pl

        left_out = ("requested", "loss_by_column")
        rows = [
            {name: value for name, value in choice.to_dict().items() if name not in left_out} for choice in self.choices
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def columns(self) -> dict[str, list[str]]:
        """Return the choices as display columns, keyed by their headings: first risk, then loss."""
        shown = self.choices
        table = {
            "level": [choice.text for choice in shown],
            "highest risk": [_one_in(choice.smallest_class) for choice in shown],
            "average risk": [_share(choice.average_risk) for choice in shown],
            "sure of a value": [_share(choice.confidence) for choice in shown],
            "cells kept": [_share(choice.kept_share) for choice in shown],
            "at most": [_share(choice.kept_share_at_most) for choice in shown],
            "loss": [_share(choice.loss) for choice in shown],
            "seconds": [_NONE if choice.seconds is None else f"{choice.seconds:.2f}" for choice in shown],
        }
        # Columns without any figure are omitted.
        optional = ("sure of a value", "at most")
        return {name: cells for name, cells in table.items() if name not in optional or set(cells) != {_NONE}}

    def mark(self, choice: Choice) -> str:
        """Return the remark on a choice: "knee", "beaten", "no release" or nothing."""
        if choice.release is None:
            return "no release"
        if choice is self.knee:
            return "knee"
        return "" if choice in self.front else "beaten"

    def sentences(self) -> tuple[str, ...]:
        """Return sentences about the original risk, the cost of protection, the knee, and the beaten levels."""
        # Start with the risk of the original rows.
        found = (
            (
                "In the {rows} rows as they came, somebody who knows {known} of a person finds the right row "
                "with a probability of {average} on average; {alone} of the rows are alone."
            )
            if self.persons is None
            else (
                "In the {rows} rows of {persons} persons as they came, somebody who knows {known} of a person "
                "finds that person with a probability of {average} on average; {alone} of the persons are "
                "alone."
            )
        )
        before = found.format(
            rows=number(self.rows),
            persons=number(self.persons or 0),
            known=listed(self.quasi_identifiers),
            average=percent(self.before.average),
            alone=percent(self.before.sample_uniques),
        )
        sentences = [before]
        # Compare the lowest with the highest level.
        first, last = self.able[0], self.able[-1]
        if first is not last:
            sentences.append(f"{_describe(first)}; {_describe(last)}.")
        if self.knee is not None:
            sentences.append(
                f"The knee is at {self.knee.text}: up to it more protection costs less than beyond it. It "
                "says where the curve bends, not which risk is acceptable."
            )
        elif self.along is not None and len(self.front) > 2:
            sentences.append(
                "The curve has no clear knee: no step of protection costs clearly more than those before it."
            )
        # Levels that another one dominates.
        beaten = [choice.text for choice in self.able if choice not in self.front]
        if beaten:
            sentences.append(
                f"Beaten: {listed(beaten)}. Another level protects at least as well and loses no more, "
                "because algorithms do not always find the best release."
            )
        if self.ended == "interrupted":
            sentences.append("The work was interrupted: levels that were not measured are missing.")
        return tuple(sentences)

    def plot(self, ax: Sequence[Axes] | None = None) -> Sequence[Axes]:
        """Plot the risk and the kept information as two panels, by level.

        Parameters
        ----------
        ax : two matplotlib Axes, optional
            The axes to draw into; new ones by default.

        Returns
        -------
        sequence of two matplotlib Axes
        """
        return plot_choices(self.able, self.before, knee=self.knee, axes=ax)

    def save_plot(self, path: str | PathLike[str]) -> None:
        """Save the chart as SVG or PNG, depending on the file extension."""
        write_picture(self.plot()[0], path)

    def report(self, path: str | PathLike[str]) -> None:
        """Write the page of the trade-off: one HTML file without network access, readable by its owner only."""
        write_report(render_trade_off(self.to_dict(), self._for_report(None)), path, private=True)

    def _for_report(self, chosen: Choice | None) -> TradeOffFacts:
        # Mark the knee, beaten levels and the chosen level in the first column.
        table = {"level": [], **{name: cells for name, cells in self.columns().items() if name != "level"}}
        for choice in self.choices:
            marks = [mark for mark in (self.mark(choice), "chosen" if choice is chosen else "") if mark]
            remarks = ", ".join(mark for mark in marks)
            table["level"].append(f"{choice.text} ({remarks})" if marks else choice.text)
        return TradeOffFacts(
            title="Protection and loss",
            sentences=(*self.sentences(), *(sentences((one.found, one.advice)) for one in self.warnings)),
            header=tuple(title[:1].upper() + title[1:] for title in table),
            rows=tuple(zip(*table.values(), strict=True)),
            caption="Each level was released and verified; risk is on the left, what is kept and lost on the right.",
            picture=svg_element(self.plot()[0]),
        )

    def _repr_html_(self) -> str:
        """Return the HTML table for notebooks; it is for the publisher only."""
        facts = self._for_report(None)
        return card(
            f"Levels of protection for {number(self.rows)} rows",
            sentences=facts.sentences,
            columns=dict(zip(facts.header, zip(*facts.rows, strict=True), strict=True)),
            caption=facts.caption,
            picture=facts.picture,
            private=PRIVATE,
        )

    def __repr__(self) -> str:
        knee = "" if self.knee is None else f", knee={self.knee.text!r}"
        return f"TradeOff(choices={len(self.choices)}, rows={self.rows}{knee})"


_NONE = "-"
_TITLES = (
    *("level", "highest risk", "average risk", "sure of a value"),
    *("cells kept", "at most", "loss", "seconds"),
    *("knee", "beaten", "no release"),
)
"""The column titles of the table, and the remarks on a level."""


def _describe(choice: Choice) -> str:
    return (
        f"{choice.text} leaves {_one_in(choice.smallest_class)} at worst and {_share(choice.average_risk)} on "
        f"average, keeps {_share(choice.kept_share)} of the cells as they are and loses {_share(choice.loss)} of "
        "the information"
    )


def _share(value: float | None) -> str:
    return _NONE if value is None else percent(value)


def _one_in(people: int | None) -> str:
    return _NONE if people is None else f"1 in {number(people)}"


def _same(value: Any, given: Any) -> bool:
    return value is not None and isinstance(given, Real) and exact_fraction(value) == exact_fraction(given)
