"""What a trade-off found: a release for each level of protection, its risk and loss side by side, and their knee."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from shoal._core.figures import svg_element, write_picture
from shoal._core.language import gettext as _
from shoal._core.language import language, marked, numeral
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
    """Releases for several levels of protection, to choose from. It is the publisher's: it holds the original table."""

    _instead: ClassVar[str] = "Pickle to_dict() of it."

    choices: tuple[Choice, ...]
    """One for each level, by l and then by k, ascending."""
    quasi_identifiers: tuple[str, ...]
    """What an adversary may know of a person."""
    sensitive: tuple[str, ...]
    """What must not be linked to a person."""
    rows: int
    """Rows of each release."""
    before: Reidentification
    """How easily people are found in these rows as they came."""
    ended: str
    """ "complete", or "interrupted": levels that were not measured are missing then."""
    warnings: tuple[Remark, ...] = ()
    """That persons have several records in the table, which nothing protects: every release would have it."""

    @cached_property
    def able(self) -> tuple[Choice, ...]:
        """The choices that have a release."""
        return tuple(choice for choice in self.choices if choice.release is not None)

    @cached_property
    def front(self) -> tuple[Choice, ...]:
        """The choices that no other one beats: protects at least as well, loses no more, and is better in one."""
        points = [(*choice.risks, choice.loss or 0.0) for choice in self.able]
        return tuple(self.able[at] for at in unbeaten(points))

    @cached_property
    def knee(self) -> Choice | None:
        """The choice of `front` from which on more protection costs more than before; None where there is none.

        There is none where the curve has no clear bend, and where k and l both differ: that is no curve. Protection is
        the highest risk where k differs, the confidence in a value where l does. The knee says where the curve bends
        (see `shoal.verbs.tradeoff.knee_of`), and nothing of which risk is acceptable.
        """
        if self.along is None:
            return None
        risks = [choice.risks[0 if self.along == "k" else -1] for choice in self.front]
        at = knee_of(risks, [choice.loss or 0.0 for choice in self.front])
        return None if at is None else self.front[at]

    @property
    def along(self) -> str | None:
        """What the levels differ in, "k" or "l"; None where in both."""
        differs = [name for name in ("k", "l") if len({getattr(choice, name) for choice in self.choices}) > 1]
        return None if len(differs) > 1 else (differs or ["k" if self.choices[0].l is None else "l"])[0]

    def choice(self, k: int | None = None, l: Real | float | None = None) -> Choice:
        """Return the choice of a level.

        Parameters
        ----------
        k, l : number, optional
            The level; what is not given may be any, where that leaves one.

        Raises
        ------
        ParameterError
            There is no such level, or there are several.
        """
        given = {name: value for name, value in (("k", k), ("l", l)) if value is not None}
        found = [choice for choice in self.choices if all(_same(getattr(choice, name), given[name]) for name in given)]
        if len(found) == 1:
            return found[0]
        levels = listed([choice.text for choice in (found or self.choices)], "or")
        raise ParameterError(f"{'Say which level is chosen' if found else 'There is no such level'}: {levels}.")

    def choose(self, k: int | None = None, l: Real | float | None = None) -> Release:
        """Return the release of a level, as it was measured; its private report shows the trade-off.

        Parameters
        ----------
        k, l : number, optional
            The level; what is not given may be any, where that leaves one.

        Raises
        ------
        ParameterError
            There is no such level, or there are several.
        ShoalError
            The level has no release: why.
        """
        chosen = self.choice(k, l)
        if chosen.release is None:
            assert chosen.error is not None, "a level without a release says why"
            raise chosen.error
        return replace(chosen.release, trade_off=lambda: self._for_report(chosen))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a dictionary, for JSON; `knee` and `front` are levels in words."""
        before = self.before
        return {
            "rows": self.rows,
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
        """Return everything as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_frame(self) -> pl.DataFrame:
        """Return the choices as a Polars frame, one row each."""
        import polars as pl

        left_out = ("requested", "loss_by_column")
        rows = [
            {name: value for name, value in choice.to_dict().items() if name not in left_out} for choice in self.choices
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def columns(self) -> dict[str, list[str]]:
        """Return the choices as a table to read, by the titles of its columns: risk first, then what is lost."""
        shown = self.choices
        table = {
            "level": [choice.text for choice in shown],
            "highest risk": [_one_in(choice.smallest_class) for choice in shown],
            "average risk": [_share(choice.average_risk) for choice in shown],
            "sure of a value": [_share(choice.confidence) for choice in shown],
            "cells kept": [_share(choice.kept_share) for choice in shown],
            "at most": [_share(choice.kept_share_at_most) for choice in shown],
            "loss": [_share(choice.loss) for choice in shown],
            "seconds": [_NONE if choice.seconds is None else numeral(f"{choice.seconds:.2f}") for choice in shown],
        }
        optional = ("sure of a value", "at most")
        return {name: cells for name, cells in table.items() if name not in optional or set(cells) != {_NONE}}

    def mark(self, choice: Choice) -> str:
        """Return what is to be said of a choice in a word: "knee", "beaten" or "no release"; mostly nothing."""
        if choice.release is None:
            return "no release"
        if choice is self.knee:
            return "knee"
        return "" if choice in self.front else "beaten"

    def sentences(self) -> tuple[str, ...]:
        """Return what the figures mean: the risk as it was, what protection costs, the knee, and what is beaten."""
        before = _(
            "In the {rows} rows as they came, somebody who knows {known} of a person finds the right row with a "
            "probability of {average} on average; {alone} of the rows are alone."
        ).format(
            rows=number(self.rows),
            known=listed(self.quasi_identifiers),
            average=percent(self.before.average),
            alone=percent(self.before.sample_uniques),
        )
        said = [before]
        first, last = self.able[0], self.able[-1]
        if first is not last:
            said.append(f"{_told(first)}; {_told(last)}.")
        if self.knee is not None:
            said.append(
                _(
                    "The knee is at {level}: up to it more protection costs less than beyond it. It says where the "
                    "curve bends, not which risk is acceptable."
                ).format(level=self.knee.text)
            )
        elif self.along is not None and len(self.front) > 2:
            said.append(
                _("The curve has no clear knee: no step of protection costs clearly more than those before it.")
            )
        beaten = [choice.text for choice in self.able if choice not in self.front]
        if beaten:
            said.append(
                _(
                    "Beaten: {levels}. Another level protects at least as well and loses no more, because algorithms "
                    "do not always find the best release."
                ).format(levels=listed(beaten))
            )
        if self.ended == "interrupted":
            said.append(_("The work was interrupted: levels that were not measured are missing."))
        return tuple(said)

    def plot(self, ax: Sequence[Axes] | None = None) -> Sequence[Axes]:
        """Draw the risk and what is kept side by side, by level, and return the two axes.

        Parameters
        ----------
        ax : two matplotlib Axes, optional
            Where to; new axes by default.
        """
        return plot_choices(self.able, self.before, knee=self.knee, axes=ax)

    def save_plot(self, path: str | PathLike[str]) -> None:
        """Write the picture as SVG or PNG, whichever the name ends in."""
        write_picture(self.plot()[0], path)

    def report(self, path: str | PathLike[str]) -> None:
        """Write the page of the trade-off: one HTML file that needs no network, and that only its owner can read."""
        write_report(render_trade_off(self.to_dict(), self._for_report(None)), path, private=True)

    def _for_report(self, chosen: Choice | None) -> TradeOffFacts:
        table = {"level": [], **{name: cells for name, cells in self.columns().items() if name != "level"}}
        for choice in self.choices:
            marks = [mark for mark in (self.mark(choice), marked("chosen") if choice is chosen else "") if mark]
            told = ", ".join(_(mark) for mark in marks)
            table["level"].append(f"{choice.text} ({told})" if marks else choice.text)
        return TradeOffFacts(
            title=_("Protection and loss"),
            sentences=(*self.sentences(), *(sentences((one.found, one.advice)) for one in self.warnings)),
            header=tuple(_(title)[:1].upper() + _(title)[1:] for title in table),
            rows=tuple(zip(*table.values(), strict=True)),
            caption=_("Each level was released and verified; risk is on the left, what is kept and lost on the right."),
            picture=svg_element(self.plot()[0]),
            language=language(),
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows of it, for the publisher."""
        told = self._for_report(None)
        return card(
            f"Levels of protection for {number(self.rows)} rows",
            sentences=told.sentences,
            columns=dict(zip(told.header, zip(*told.rows, strict=True), strict=True)),
            caption=told.caption,
            picture=told.picture,
            private=PRIVATE,
        )

    def __repr__(self) -> str:
        knee = "" if self.knee is None else f", knee={self.knee.text!r}"
        return f"TradeOff(choices={len(self.choices)}, rows={self.rows}{knee})"


_NONE = "-"
_TITLES = (
    *(marked("level"), marked("highest risk"), marked("average risk"), marked("sure of a value")),
    *(marked("cells kept"), marked("at most"), marked("loss"), marked("seconds")),
    *(marked("knee"), marked("beaten"), marked("no release")),
)
"""The titles of the table's columns, and what is said of a level."""


def _told(choice: Choice) -> str:
    return _(
        "{level} leaves {highest} at worst and {average} on average, keeps {kept} of the cells as they are and loses "
        "{lost} of the information"
    ).format(
        level=choice.text,
        highest=_one_in(choice.smallest_class),
        average=_share(choice.average_risk),
        kept=_share(choice.kept_share),
        lost=_share(choice.loss),
    )


def _share(value: float | None) -> str:
    return _NONE if value is None else percent(value)


def _one_in(people: int | None) -> str:
    return _NONE if people is None else _("1 in {many}").format(many=number(people))


def _same(value: Any, given: Any) -> bool:
    return value is not None and isinstance(given, Real) and exact_fraction(value) == exact_fraction(given)
