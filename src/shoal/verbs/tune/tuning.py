"""The result of a search: the best setting, all evaluated settings, and the trade-off between two kinds of loss."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from shoal._core.figures import svg_element, write_picture
from shoal._core.quoting import listed_names
from shoal._core.unpicklable import Unpicklable
from shoal.metrics import METRICS
from shoal.release.certificate import coarsenings_for_readers
from shoal.report import TradeOffFacts
from shoal.report.notebook import PRIVATE, card
from shoal.report.sentences import number, percent
from shoal.request.coarsening_words import in_words
from shoal.request.notation import toml_lines
from shoal.verbs.anonymize import anonymize
from shoal.verbs.tune.tuning_chart import plot_trade_off

if TYPE_CHECKING:
    from os import PathLike

    import polars as pl
    from matplotlib.axes import Axes

    from shoal._core.progress import Progress
    from shoal.errors import ShoalError
    from shoal.findings import Remark
    from shoal.hierarchy import Coarsening
    from shoal.pipeline.input import OpenedData
    from shoal.release.release import Release
    from shoal.request.request import Request
    from shoal.verbs.tune.ladders import Ladder, Rung

__all__ = ["Setting", "Tuning", "trade_off_of"]

_Key = TypeVar("_Key")

_TITLES = (
    *("setting", "cells kept", "loss", "by coarsening"),
    *("by anonymization", "stars"),
    "untouched",
)
"""The column titles of the table, and the name of the setting without a coarsening."""

_ENDS = {
    "complete": "every setting was tried",
    "settled": "nothing better was in sight",
    "time": "the time was over",
    "interrupted": "it was interrupted",
}


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Setting:
    """One coarsening of the table, and the loss of a release with it."""

    rungs: Mapping[str | tuple[str, ...], Rung]
    """The coarsening of each tuned column that has one, in addition to the fixed coarsenings."""
    seconds: float
    """Time of the evaluation."""
    loss: float | None = None
    """Total loss of coarsening and anonymization against the original table; None if there is no release."""
    loss_of_coarsening: float | None = None
    """Loss of the coarsening alone, as if the coarse table were published unchanged."""
    kept_share: float | None = None
    """Share of the cells of quasi-identifiers that are published with their original values."""
    stars: int | None = None
    """Suppressed cells of the release."""
    stars_share: float | None = None
    """Suppressed cells as a share of all cells of quasi-identifiers."""
    suppressed_tuples: int | None = None
    """Rows of the release with a star."""
    groups: int | None = None
    """Equivalence classes of the release."""
    error: ShoalError | None = None
    """The reason if there is no release."""

    @property
    def loss_of_anonymization(self) -> float | None:
        """Loss that anonymization adds to the loss of the coarsening."""
        if self.loss is None or self.loss_of_coarsening is None:
            return None
        return self.loss - self.loss_of_coarsening

    @property
    def losses(self) -> tuple[float, float]:
        """Loss of the coarsening alone, and loss added by anonymization; infinite if there is no release."""
        if self.loss is None or self.loss_of_coarsening is None:
            return math.inf, math.inf
        return self.loss_of_coarsening, self.loss - self.loss_of_coarsening

    @property
    def text(self) -> str:
        """The coarsenings as text, such as `age=bins:5 zip=prefix:3`."""
        return " ".join(f"{listed_names(key)}={rung.text}" for key, rung in self.rungs.items()) or "untouched"

    def to_dict(self) -> dict[str, Any]:
        """Return the setting and its figures as a dictionary, for JSON."""
        return {
            "coarsen": {listed_names(key): rung.text for key, rung in self.rungs.items()},
            "loss": self.loss,
            "loss_of_coarsening": self.loss_of_coarsening,
            "loss_of_anonymization": self.loss_of_anonymization,
            "kept_share": self.kept_share,
            "stars": self.stars,
            "stars_share": self.stars_share,
            "suppressed_tuples": self.suppressed_tuples,
            "groups": self.groups,
            "seconds": round(self.seconds, 4),
            "error": None if self.error is None else str(self.error),
        }

    def __repr__(self) -> str:
        return f"Setting({self.text!r}, loss={self.loss})"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Tuning(Unpicklable):
    """The result of a search for the best coarsening.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> result = shoal.tune(people, quasi_identifiers=["age", "gender"], sensitive="income", l=2, seconds=1)
    >>> result.untouched.text
    'untouched'
    >>> result.best.loss <= result.untouched.loss
    True
    """

    _instead: ClassVar[str] = "Pickle to_dict() of it, or its words."

    loss: str
    """The minimized metric."""
    best: Setting
    """The setting with the lowest loss."""
    settings: tuple[Setting, ...]
    """All evaluated settings, in their order; the first one leaves the tuned columns untouched."""
    screened: int = 0
    """Settings evaluated with a fast stand-in first, if the requested algorithm has a long search of its own."""
    stand_in: str | None = None
    """The stand-in, if one was used."""
    ladders: tuple[Ladder, ...]
    """The coarsenings to choose from."""
    always: Mapping[str | tuple[str, ...], Coarsening] = field(default_factory=dict)
    """The coarsenings that every setting has."""
    ended: str
    """The reason for the end of the search: "complete" (all settings were tried), "settled" (no improvement was in
    sight), "time" or "interrupted". After "time" or "interrupted", another run may have another result."""
    seconds: float
    """Time of the search."""
    warnings: tuple[Remark, ...] = ()
    """A warning if persons have several records in the table and no model protects them: it holds for every release."""
    opened: OpenedData
    """The table. Private."""
    request: Request
    """The request, without its coarsenings."""

    @property
    def untouched(self) -> Setting:
        """The setting without coarsenings (except the fixed ones)."""
        return self.settings[0]

    @property
    def size(self) -> int:
        """The number of possible settings."""
        return math.prod(len(ladder.rungs) + 1 for ladder in self.ladders)

    @property
    def coarsen(self) -> dict[str | tuple[str, ...], Coarsening]:
        """The best coarsenings, in the form of `shoal.anonymize(coarsen=...)`."""
        return {**self.always, **{key: rung.coarsening for key, rung in self.best.rungs.items()}}

    @property
    def words(self) -> dict[str, str]:
        """The best coarsenings in the syntax of the command line and of spec files, by column.

        A level of a hierarchy names its file. Coarsenings that cannot be written in this syntax are missing.
        """
        texts = {key: in_words(coarsening) for key, coarsening in self.always.items()}
        texts |= {key: rung.words for key, rung in self.best.rungs.items()}
        return {listed_names(key): words for key, words in texts.items() if words is not None}

    def to_toml(self) -> str:
        """Return the best coarsenings as a section of a spec file."""
        return "\n".join(["[coarsen]", *toml_lines(self.words), ""])

    @cached_property
    def trade_off(self) -> tuple[Setting, ...]:
        """The Pareto-optimal settings in both kinds of loss, from the finest to the coarsest.

        From one setting to the next, the loss of the coarsening increases and the loss added by anonymization
        decreases. The best setting is one of them.
        """
        able = {at: setting for at, setting in enumerate(self.settings) if setting.loss is not None}
        return tuple(able[at] for at in trade_off_of(able))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a dictionary, for JSON."""
        return {
            "loss": self.loss,
            "ended": self.ended,
            "seconds": round(self.seconds, 4),
            "settings": self.size,
            "screened": self.screened,
            "stand_in": self.stand_in,
            "coarsen": self.words,
            "best": self.best.to_dict(),
            "untouched": self.untouched.to_dict(),
            "trade_off": [setting.to_dict() for setting in self.trade_off],
            "tried": [setting.to_dict() for setting in self.settings],
            "warnings": [one.to_dict() for one in self.warnings],
        }

    def to_json(self) -> str:
        """Return the result as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_frame(self) -> pl.DataFrame:
        """Return all evaluated settings as a Polars frame, in their order."""
        import polars as pl

        rows = [{**setting.to_dict(), "coarsen": setting.text} for setting in self.settings]
        return pl.DataFrame(rows, infer_schema_length=None).rename({"coarsen": "setting"})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the loss added by anonymization against the loss of the coarsening, and return the axes."""
        able = [setting.losses for setting in self.settings if setting.loss is not None]
        front = [setting.losses for setting in self.trade_off]
        return plot_trade_off(able, front, self.best.losses, loss=METRICS[self.loss].title, ax=ax)

    def save_plot(self, path: str | PathLike[str]) -> None:
        """Save the chart of the trade-off as SVG or PNG, depending on the file extension."""
        write_picture(self.plot(), path)

    def release(self, *, progress: Progress | bool | None = None, **changes: Any) -> Release:
        """Anonymize the table with the best coarsening, and verify it. The report shows the trade-off.

        Parameters
        ----------
        progress : callable or bool, optional
            As for `shoal.anonymize`.
        **changes
            Fields of the request that replace those used in the search.
        """
        # Changes of the caller override the request, and even the coarsening.
        request = replace(self.request, **{"coarsen": self.coarsen, **changes})
        release = anonymize(self.opened.raw_frame, request, progress=progress)
        # Readers see only the fixed coarsenings, and that a search was made.
        certificate = release.certificate
        if "coarsen" not in changes:  # the result of the search depends on the table
            parameters = {**certificate.for_readers, "coarsen": coarsenings_for_readers(self.always), "tuned": True}
            searched = {column for ladder in self.ladders for column in ladder.columns}
            # Only those who know the result of the search may see if the sets of a column are of exact values.
            kept = [one for one in certificate.warnings if one.code != "large_sets" or one.column not in searched]
            certificate = replace(certificate, for_readers=parameters, warnings=tuple(kept))
        return replace(
            release,
            certificate=certificate,
            source_format=self.opened.format,
            codebook=self.opened.codebook,
            restore=self.opened.restore.of(release.published),
            trade_off=self._for_report,
        )

    def shown_loss(self, loss: float | None) -> str:
        """Format a loss for display: as a percentage, unless it is a divergence."""
        if loss is None:
            return "-"
        return number(loss) if self.loss == "kl_divergence" else percent(max(loss, 0.0))

    def columns(self) -> dict[str, list[str]]:
        """Return the settings of the trade-off as display columns, keyed by their headings.

        The columns are the share of unchanged cells, the losses by coarsening and by anonymization, and the stars if
        there are any.
        """
        # Stars are listed only if a setting has any.
        shown = self.trade_off
        table = {
            "setting": [setting.text for setting in shown],
            "cells kept": [percent(setting.kept_share or 0.0) for setting in shown],
            "loss": [self.shown_loss(setting.loss) for setting in shown],
            "by coarsening": [self.shown_loss(setting.losses[0]) for setting in shown],
            "by anonymization": [self.shown_loss(setting.losses[1]) for setting in shown],
        }
        if any(setting.stars for setting in shown):
            table["stars"] = [percent(setting.stars_share or 0.0) for setting in shown]
        return table

    def sentences(self) -> tuple[str, ...]:
        """Return sentences about the extent of the search, the reason for its end, and the recommendation."""
        tried = (
            "{tried} of {all} settings were tried in {seconds} s, until {ended}."
            if self.stand_in is None
            else (
                "{screened} of {all} settings were screened with {algorithm}, which is fast, and the {tried} "
                "most promising ones were tried in {seconds} s, until {ended}."
            )
        ).format(
            tried=number(len(self.settings)),
            screened=number(self.screened),
            all=number(self.size),
            algorithm=self.stand_in,
            seconds=f"{self.seconds:.1f}",
            ended=_ENDS[self.ended],
        )
        return tried, self._recommendation()

    def _recommendation(self) -> str:
        # The recommendation compares the best setting with the untouched one.
        best, untouched = self.best, self.untouched
        sentence = (
            "Recommended: {what}. It keeps {kept} of the cells as they are and loses {loss} ({metric})"
            if self.loss == "kl_divergence"
            else (
                "Recommended: {what}. It keeps {kept} of the cells as they are and loses {loss} of the "
                "information ({metric})"
            )
        ).format(
            what="no coarsening" if best is untouched else best.text,
            kept=percent(best.kept_share or 0.0),
            loss=self.shown_loss(best.loss),
            metric=METRICS[self.loss].title,
        )
        if len(self.settings) == 1:
            return sentence + "; there was no time to try a coarsening."
        if best is untouched:
            return sentence + "; every coarsening that was tried loses more."
        if untouched.loss is None:
            return sentence + "; without a coarsening there is no release."
        return sentence + (
            f", in place of {percent(untouched.kept_share or 0.0)} kept and {self.shown_loss(untouched.loss)} "
            "lost without a coarsening."
        )

    def _for_report(self) -> TradeOffFacts:
        # The best setting is marked in the table.
        table = self.columns()
        table["setting"] = [
            f"{text} ({'best'})" if setting is self.best else text
            for text, setting in zip(table["setting"], self.trade_off, strict=True)
        ]
        return TradeOffFacts(
            title="How coarse was best",
            caption="The settings that no other one beats in both kinds of loss, from the finest to the coarsest.",
            sentences=self.sentences(),
            header=tuple(title[:1].upper() + title[1:] for title in table),
            rows=tuple(zip(*table.values(), strict=True)),
            picture=svg_element(self.plot()),
        )

    def _repr_html_(self) -> str:
        """Return the HTML table for notebooks; it is for the publisher only."""
        facts = self._for_report()
        return card(
            "Coarsenings that were tried",
            sentences=(*facts.sentences, *(one.text for one in self.warnings)),
            columns=dict(zip(facts.header, zip(*facts.rows, strict=True), strict=True)),
            caption=facts.caption,
            private=PRIVATE,
        )

    def __repr__(self) -> str:
        return (
            f"Tuning(best={self.best.text!r}, loss={self.best.loss}, untouched={self.untouched.loss}, "
            f"tried={len(self.settings)} of {self.size}, ended={self.ended!r})"
        )


def trade_off_of(able: Mapping[_Key, Setting]) -> list[_Key]:
    """Return the Pareto-optimal settings in both kinds of loss, from the finest to the coarsest.

    Parameters
    ----------
    able : mapping of key to Setting
        Settings that can be published.
    """
    front: list[_Key] = []
    # In ascending order of one loss, a setting is optimal if and only if its other loss is a new minimum.
    for key in sorted(able, key=lambda key: able[key].losses):
        if not front or able[key].losses[1] < able[front[-1]].losses[1]:
            front.append(key)
    return front
