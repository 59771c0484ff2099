"""The result of `explore`: candidates for a release, their risks and losses, and the choice of one."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from shoal._core.figures import svg_element, write_picture
from shoal._core.progress import Progress
from shoal._core.quoting import listed_names
from shoal._core.unpicklable import Unpicklable
from shoal._core.validation import exact_fraction
from shoal._core.words import listed, number, percent
from shoal.errors import ParameterError
from shoal.findings import Remark, warn_caller
from shoal.hierarchy import Coarsening
from shoal.metrics import METRICS
from shoal.release.release import Release
from shoal.report import TradeOffFacts, render_trade_off, write_report
from shoal.report.card import Card, HasCard
from shoal.report.notebook import PRIVATE
from shoal.request.coarsening_words import in_words
from shoal.request.notation import toml_lines
from shoal.verbs.explore.candidate import Candidate, knee_of, unbeaten
from shoal.verbs.explore.charts import plot_coarsenings, plot_levels, plot_times
from shoal.verbs.explore.ladders import Ladder
from shoal.wording import sentences

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NONE = "-"
_ENDS = {
    "complete": "every setting was tried",
    "settled": "nothing better was in sight",
    "time": "the time was over",
    "interrupted": "it was interrupted",
}


@dataclass(frozen=True, kw_only=True)
class Searched:
    """The extent of a search for coarsenings."""

    ladders: tuple[Ladder, ...]
    """The coarsenings to choose from."""
    always: Mapping[str | tuple[str, ...], Coarsening] = field(default_factory=dict)
    """The coarsenings of the request, which every candidate has."""
    screened: int = 0
    """Settings evaluated with a fast stand-in first, if the requested algorithm has a long search of its own."""
    stand_in: str | None = None
    """The stand-in, if one was used."""
    seconds: float
    """Time of the search."""

    @property
    def size(self) -> int:
        """The number of possible settings."""
        return math.prod(len(ladder.rungs) + 1 for ladder in self.ladders)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Exploration(Unpicklable, HasCard):
    """Candidates for a release, to choose from. Private: it holds the original table.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> result = shoal.explore(people, quasi_identifiers=["age", "gender"], sensitive="income", k=[2, 10])
    >>> [(row.k, row.figures["highest_risk"] <= 1 / row.k) for row in result.rows]
    [(2, True), (10, True)]
    """

    _instead: ClassVar[str] = "Pickle to_dict() of it."

    rows: tuple[Candidate, ...]
    """The candidates: by level and algorithm, or in the order of the search, which leaves all columns untouched first.
    """
    loss: str = "gcp"
    """The metric that compares them."""
    quasi_identifiers: tuple[str, ...]
    """The columns that an adversary may know."""
    sensitive: tuple[str, ...]
    """The columns that must not be linked to a person."""
    records: int
    """The rows of the table to publish."""
    persons: int | None = None
    """Persons of the table, if a column identifies them; risks are theirs then."""
    before: Mapping[str, Any] | None = None
    """The risk of re-identification in the original rows; None after a search for coarsenings."""
    searched: Searched | None = None
    """The extent of the search for coarsenings, if there was one."""
    ended: str
    """"complete", "interrupted" if candidates are missing, or the end of a search: "settled" (no improvement was in
    sight) or "time". After "time" or "interrupted", another run may have another result."""
    warnings: tuple[Remark, ...] = ()
    """A warning if persons have several records in the table and no model protects them: it holds for every release."""
    publish: Callable[..., Release]
    """Makes the release of a candidate that was only measured."""

    @cached_property
    def able(self) -> tuple[Candidate, ...]:
        """The candidates with a release."""
        return tuple(row for row in self.rows if row.able)

    @cached_property
    def measured(self) -> tuple[Candidate, ...]:
        """The candidates with a loss, the best first; of equal ones, the least coarse."""
        found = [row for row in self.able if row.loss is not None]
        return tuple(sorted(found, key=lambda row: (row.badness, row.losses[0])))

    @property
    def best(self) -> Candidate | None:
        """The candidate with the lowest loss, often one of little protection; None if no loss is known."""
        return self.measured[0] if self.measured else None

    @cached_property
    def front(self) -> tuple[Candidate, ...]:
        """The candidates that no other one beats, which is as good in every measure and better in one.

        The measures are the risks and the loss; after a search, the loss of the coarsening and the loss that
        anonymization adds. From one candidate to the next, the first increases and the second decreases.
        """
        if self.searched is not None:
            found: list[Candidate] = []
            # In ascending order of one loss, a setting is optimal if and only if its other loss is a new minimum.
            for row in sorted((row for row in self.able if row.loss is not None), key=lambda row: row.losses):
                if not found or row.losses[1] < found[-1].losses[1]:
                    found.append(row)
            return tuple(found)
        # The risks of a sample with differential privacy are not comparable.
        able = [row for row in self.able if "highest_risk" in row.figures]
        return tuple(able[at] for at in unbeaten([(*row.risks, row.badness) for row in able]))

    @cached_property
    def knee(self) -> Candidate | None:
        """The candidate of `front` beyond which more protection costs more than before; None if there is none.

        There is none if the curve has no clear bend, or if more than one of k, l and the algorithm varies, because that
        is not a curve. Protection is measured by the highest risk if k differs, and by the confidence in a value if l
        does. The knee marks the bend of the curve (see `shoal.verbs.explore.candidate`), not an acceptable risk.
        """
        if len(self.varied) != 1 or self.varied[0] == "algorithm" or self.searched is not None:
            return None
        risks = [row.risks[0 if self.varied == ("k",) else -1] for row in self.front]
        at = knee_of(risks, [row.badness for row in self.front])
        return None if at is None else self.front[at]

    @property
    def varied(self) -> tuple[str, ...]:
        """The parameters in which the candidates differ, among "k", "l" and "algorithm"."""
        return tuple(name for name in ("k", "l", "algorithm") if len({getattr(row, name) for row in self.rows}) > 1)

    def find(self, *, k: int | None = None, l: Real | float | None = None, algorithm: str | None = None) -> Candidate:
        """Return the candidate of a level; among several algorithms or coarsenings, the one with the lowest loss.

        Parameters
        ----------
        k, l : number, optional
            The level. It may be omitted if there is only one.
        algorithm : str, optional
            The algorithm.

        Raises
        ------
        ParameterError
            There is no such candidate, or several levels match.
        """
        given = {name: value for name, value in (("k", k), ("l", l), ("algorithm", algorithm)) if value is not None}
        found = [row for row in self.rows if all(_same(getattr(row, name), given[name]) for name in given)]
        levels = {(row.k, row.l) for row in found}
        if len(levels) == 1:
            return min(found, key=lambda row: (not row.able, row.badness, row.losses[0]))
        texts = listed(list(dict.fromkeys(row.text for row in found or self.rows)), "or")
        raise ParameterError(f"{'Several levels match, name one' if found else 'There is no such candidate'}: {texts}.")

    def choose(
        self,
        row: Candidate | None = None,
        *,
        k: int | None = None,
        l: Real | float | None = None,
        algorithm: str | None = None,
        progress: Progress | bool | None = None,
    ) -> Release:
        """Return the verified release of a candidate; its private report shows all candidates.

        Parameters
        ----------
        row : Candidate, optional
            One of `rows`.
        k, l, algorithm : optional
            The candidate, if no row is given; see `find`.
        progress : callable or bool, optional
            As for `shoal.anonymize`, if the release was not made yet.

        Raises
        ------
        ParameterError
            There is no such candidate, or several.
        ShoalError
            The reason why the candidate has no release.
        """
        chosen = self.find(k=k, l=l, algorithm=algorithm) if row is None else row
        if chosen.error is not None:
            raise chosen.error
        release = chosen.release or self.publish(chosen, progress=progress)
        warn_caller(release.warnings)
        return replace(release, trade_off=lambda: self._facts(chosen))

    @property
    def coarsen(self) -> dict[str | tuple[str, ...], Coarsening]:
        """The coarsenings of the best candidate, in the form of `shoal.anonymize(coarsen=...)`."""
        searched, best = self.searched, self.best
        if searched is None or best is None:
            return {}
        return {**searched.always, **{key: rung.coarsening for key, rung in best.rungs.items()}}

    @property
    def words(self) -> dict[str, str]:
        """The coarsenings of the best candidate in the syntax of the command line and of spec files, by column.

        A level of a hierarchy names its file. Coarsenings that cannot be written in this syntax are missing.
        """
        texts = {key: in_words(coarsening) for key, coarsening in self.coarsen.items()}
        texts |= {} if self.best is None else {key: rung.words for key, rung in self.best.rungs.items()}
        return {listed_names(key): words for key, words in texts.items() if words is not None}

    def to_toml(self) -> str:
        """Return the coarsenings of the best candidate as a section of a spec file."""
        return "\n".join(["[coarsen]", *toml_lines(self.words), ""])

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a dictionary, for JSON; `best`, `knee` and `front` are texts of rows."""
        searched = self.searched
        return {
            "rows": [row.to_dict() for row in self.rows],
            "loss": self.loss,
            "records": self.records,
            "persons": self.persons,
            "quasi_identifiers": list(self.quasi_identifiers),
            "sensitive": list(self.sensitive),
            "before": None if self.before is None else dict(self.before),
            "best": None if self.best is None else self.best.text,
            "front": [row.text for row in self.front],
            "knee": None if self.knee is None else self.knee.text,
            "coarsen": self.words,
            "settings": None if searched is None else searched.size,
            "screened": None if searched is None else searched.screened,
            "stand_in": None if searched is None else searched.stand_in,
            "ended": self.ended,
            "warnings": [one.to_dict() for one in self.warnings],
        }

    def to_json(self) -> str:
        """Return the result as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_frame(self) -> pl.DataFrame:
        """Return the candidates as a Polars frame, one row per candidate."""
        nested = ("requested", "loss_by_column", "coarsen", "utility", "attacks")
        rows = [{name: one for name, one in row.to_dict().items() if name not in nested} for row in self.rows]
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def shown(self) -> tuple[Candidate, ...]:
        """The candidates to show: all, or those that no other one beats after a search."""
        return self.rows if self.searched is None else self.front

    def columns(self) -> dict[str, list[str]]:
        """Return the candidates to show as display columns, keyed by their headings: first risk, then loss."""
        shown, alike = self.shown, set(self.varied) <= {"k", "l"} and self.searched is None
        first = "setting" if self.searched is not None else "level" if {"k", "l"} & set(self.varied) else "algorithm"

        def column(name: str, form: Callable[[Any], str]) -> list[str]:
            return [_NONE if (value := row.figures.get(name)) is None else form(value) for row in shown]

        table = {
            first: [row.text for row in shown],
            "highest risk": column("smallest_class", _one_in),
            "average risk": column("average_risk", percent),
            "sure of a value": column("confidence", percent),
            "cells kept": column("kept_share", percent),
            "at most": column("kept_share_at_most", percent),
            self.title_of_loss: [self.show_loss(row.loss) for row in shown],
            "by coarsening": column("loss_of_coarsening", self.show_loss),
            "by anonymization": [self.show_loss(row.losses[1] if row.losses[1] < math.inf else None) for row in shown],
            "stars": [] if alike else column("stars_share", percent),
            "groups": [] if alike or self.searched is not None else column("groups", number),
            "published": column("published", percent),
            "seconds": [_NONE if row.seconds is None else f"{row.seconds:.2f}" for row in shown],
        }
        # The measures of analysts, and the attacks of each release, if they were requested.
        for name in next((row.utility for row in shown if row.utility), {}):
            values = [(row.utility or {}).get(name) for row in shown]
            table[name] = [_NONE if value is None else number(value) for value in values]
        for name in next((row.attacks for row in shown if row.attacks), {}):
            rates = [(row.attacks or {}).get(name, {}).get("rate") for row in shown]
            table[name] = [_NONE if rate is None else percent(rate) for rate in rates]
        # Columns without any figure are omitted, and so are releases of all records and of no stars.
        empty = {"published": {"100%", _NONE}, "stars": {"0%", _NONE} if self.searched is not None else {_NONE}}
        left_out = ("seconds",) if self.searched is not None else ()
        return {
            name: cells
            for name, cells in table.items()
            if name == first or (name not in left_out and not set(cells) <= empty.get(name, {_NONE}))
        }

    @property
    def title_of_loss(self) -> str:
        """The heading of the loss: that of the metric, unless it is the default."""
        return "loss" if self.loss == "gcp" else METRICS[self.loss].title

    def show_loss(self, loss: float | None) -> str:
        """Format a loss for display: as a percentage if it is a share."""
        if loss is None:
            return _NONE
        return percent(max(loss, 0.0)) if self.loss in ("gcp", "non_uniform_entropy") else number(loss)

    def mark(self, row: Candidate) -> str:
        """Return the remark on a candidate: "best", "knee", "beaten", "no release" or nothing."""
        if not row.able:
            return "no release"
        if row is self.knee:
            return "knee"
        if row is self.best and ("k" not in self.varied and "l" not in self.varied):
            return "best"
        return "" if row in self.front or "highest_risk" not in row.figures else "beaten"

    def sentences(self) -> tuple[str, ...]:
        """Return sentences about the risk of the original rows, the cost of protection, and the recommendation."""
        if self.searched is not None:
            return self._say_search(self.searched), self._recommend()
        said = [self._say_before()]
        # Compare the lowest with the highest level.
        first, last = (self.find(k=row.k, l=row.l) for row in (self.able[0], self.able[-1]))
        if {"k", "l"} & set(self.varied) and first is not last:
            said.append(f"{self._describe(first)}; {self._describe(last)}.")
        elif self.best is not None and len(self.rows) > 1:
            said.append(f"The lowest loss: {self._describe(self.best)}.")
        if self.knee is not None:
            said.append(
                f"The knee is at {self.knee.text}: up to it more protection costs less than beyond it. It says where "
                "the curve bends, not which risk is acceptable."
            )
        elif len(self.varied) == 1 and self.varied[0] != "algorithm" and len(self.front) > 2:
            said.append("The curve has no clear knee: no step of protection costs clearly more than those before it.")
        # Candidates that another one dominates.
        beaten = [row.text for row in self.able if row not in self.front]
        if beaten and "algorithm" not in self.varied:
            said.append(
                f"Beaten: {listed(beaten)}. Another level protects at least as well and loses no more, because "
                "algorithms do not always find the best release."
            )
        if self.ended == "interrupted":
            said.append("The work was interrupted: candidates that were not measured are missing.")
        return tuple(said)

    def _say_before(self) -> str:
        before, known = self.before or {}, listed(self.quasi_identifiers)
        average, alone = percent(before["average"]), percent(before["sample_uniques"])
        if self.persons is None:
            return (
                f"In the {number(self.records)} rows as they came, someone who knows {known} of a person finds the "
                f"right row with a probability of {average} on average; {alone} of the rows are alone."
            )
        return (
            f"In the {number(self.records)} rows of {number(self.persons)} persons as they came, someone who knows "
            f"{known} of a person finds that person with a probability of {average} on average; {alone} of the persons "
            "are alone."
        )

    def _describe(self, row: Candidate) -> str:
        figures = row.figures
        kept, average = figures.get("kept_share"), figures.get("average_risk")
        lost = "" if self.loss == "gcp" else f" ({METRICS[self.loss].title})"
        return (
            f"{row.text} leaves {_one_in(figures.get('smallest_class'))} at worst and "
            f"{_NONE if average is None else percent(average)} on average, keeps "
            f"{_NONE if kept is None else percent(kept)} of the cells as they are and loses "
            f"{self.show_loss(row.loss)}{lost or ' of the information'}"
        )

    def _say_search(self, searched: Searched) -> str:
        tried, size = number(len(self.rows)), number(searched.size)
        end = f"in {searched.seconds:.1f} s, until {_ENDS[self.ended]}."
        if searched.stand_in is None:
            return f"{tried} of {size} settings were tried {end}"
        return (
            f"{number(searched.screened)} of {size} settings were screened with {searched.stand_in}, which is fast, "
            f"and the {tried} most promising ones were tried {end}"
        )

    def _recommend(self) -> str:
        # The recommendation compares the best candidate with the untouched one.
        best, untouched = self.best, self.rows[0]
        assert best is not None, "a search without a release raises an error"
        share = "" if self.loss == "kl_divergence" else " of the information"
        said = (
            f"Recommended: {'no coarsening' if best is untouched else best.text}. It keeps "
            f"{percent(best.figures['kept_share'])} of the cells as they are and loses {self.show_loss(best.loss)}"
            f"{share} ({METRICS[self.loss].title})"
        )
        if len(self.rows) == 1:
            return f"{said}; there was no time to try a coarsening."
        if best is untouched:
            return f"{said}; every coarsening that was tried loses more."
        if untouched.loss is None:
            return f"{said}; without a coarsening there is no release."
        kept = percent(untouched.figures["kept_share"])
        return f"{said}, in place of {kept} kept and {self.show_loss(untouched.loss)} lost without a coarsening."

    def plot(self, ax: Any = None) -> Sequence[Axes]:
        """Plot the candidates, and return the axes.

        Levels have two panels, of the risk and of the kept information; algorithms are points of loss and running time;
        coarsenings are points of the loss of the coarsening and of the loss that anonymization adds.

        Parameters
        ----------
        ax : matplotlib Axes, or two of them for levels, optional
            The axes to draw into; new ones by default.
        """
        title = METRICS[self.loss].title
        if self.searched is not None:
            assert self.best is not None, "a search without a release raises an error"
            return (
                plot_coarsenings([row for row in self.able if row.loss is not None], self.front, self.best, title, ax),
            )
        if not {"k", "l"} & set(self.varied):
            return (plot_times([row for row in self.measured if row.seconds is not None], title, ax),)
        along = "k" if "k" in self.varied else "l"
        others = [name for name in self.varied if name != along]

        def series_of(row: Candidate) -> str:
            values = [(name, getattr(row, name)) for name in others]
            return ", ".join(str(value) if name == "algorithm" else f"{name} = {value}" for name, value in values)

        rows = [row for row in self.able if row.release is not None]
        average = (self.before or {})["average"]
        return plot_levels(rows, average, along=along, series_of=series_of, knee=self.knee, axes=ax)

    def save_plot(self, path: str | PathLike[str]) -> None:
        """Save the chart as SVG or PNG, depending on the file extension."""
        write_picture(self.plot()[0], path)

    def report(self, path: str | PathLike[str]) -> None:
        """Write the page of the candidates: one HTML file without network access, readable by its owner only."""
        write_report(render_trade_off(self.to_dict(), self._facts(None)), path, private=True)

    def _facts(self, chosen: Candidate | None) -> TradeOffFacts:
        # Remarks and the chosen candidate are marked in the first column.
        table = self.columns()
        first = next(iter(table))
        texts = []
        for text, row in zip(table[first], self.shown, strict=True):
            marks = [mark for mark in (self.mark(row), "chosen" if row is chosen else "") if mark]
            texts.append(f"{text} ({', '.join(marks)})" if marks else text)
        search = self.searched is not None
        return TradeOffFacts(
            title="How coarse was best" if search else "Protection and loss",
            sentences=(*self.sentences(), *(sentences((one.found, one.advice)) for one in self.warnings)),
            header=tuple(title[:1].upper() + title[1:] for title in table),
            rows=tuple(zip(*{**table, first: texts}.values(), strict=True)),
            caption="The settings that no other one beats in both kinds of loss, from the finest to the coarsest."
            if search
            else "Each candidate was released and verified; risk is on the left, what is kept and lost on the right.",
            picture=svg_element(self.plot()[0]),
        )

    def _card(self) -> Card:
        """Make the card, which is for the publisher only."""
        facts = self._facts(None)
        failed = [f"{row.text}: {row.error}" for row in self.rows if row.error and self.searched is None]
        return Card(
            title=f"Candidates for a release of {number(self.records)} rows",
            sentences=(*facts.sentences, *failed),
            columns=dict(zip(facts.header, zip(*facts.rows, strict=True), strict=True)),
            caption=facts.caption,
            picture=facts.picture,
            private=PRIVATE,
        )

    def __repr__(self) -> str:
        # The representation names the best candidate and its loss, without any cell.
        best = "" if self.best is None else f", best={self.best.text!r}, {self.loss}={self.best.loss:.4g}"
        return f"Exploration(rows={len(self.rows)}{best}, ended={self.ended!r})"


def _one_in(people: int | None) -> str:
    return _NONE if people is None else f"1 in {number(people)}"


def _same(value: Any, given: Any) -> bool:
    if isinstance(given, str) or isinstance(value, str):
        return bool(value == given)
    return value is not None and isinstance(given, Real) and exact_fraction(value) == exact_fraction(given)
