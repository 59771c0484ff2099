"""A verified release, and the ways to hand it on: data, folders, reports, pictures, and tables to compute with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal._core.validation import Boolean, Instance, OneOf, Optional, validate
from shoal.io import FORMATS
from shoal.release.analysis import (
    bounds_of,
    computable,
    measure_utility,
    midpoints_of,
    plot_distributions,
    plot_risk,
)
from shoal.release.report_facts import facts_for_publisher, facts_for_readers
from shoal.release.verified_table import VerifiedTable
from shoal.release.writer import write_release
from shoal.report import About, distributions, render, render_public, risk_rows, size_rows, write_report
from shoal.report.notebook import card_of_release

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.figure import Figure

    from shoal.release.analysis import Utility
    from shoal.release.certificate import Certificate

__all__ = ["Release"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Release(VerifiedTable):
    """A table that may be published: its cells were verified before this object was made.

    `data` and `public_certificate` are for readers. The object itself is the publisher's: it holds the original table.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> release = shoal.anonymize(people, quasi_identifiers=["age", "gender"], sensitive="income", l=2, seed=1)
    >>> release.data.columns
    ['age', 'gender', 'income']
    >>> release.certificate.achieved["k"]
    2
    """

    def save(
        self,
        folder: str | PathLike[str],
        *,
        force: bool = False,
        format: str | None = None,  # noqa: A002
        spreadsheet_safe: bool = False,
        publish_proof: bool = False,
        strict: bool = False,
        about: About | None = None,
    ) -> Certificate:
        """Write the release to a folder, and what is the publisher's to a private one; both appear whole or neither.

        The table is verified once more as it was written, before the folders appear.

        Parameters
        ----------
        folder : path
            Where to. All of it may be published: `release.csv` (or another format), the public `certificate.json`, and
            a `report.html` made of these two, with its facts in `report.json`. The private folder lies beside it, with
            ".private" behind its name, and only its owner can read it: the full `certificate.json`, the full
            `report.html` and `report.json`, `salt.txt`, the key of the hash of the input, and `plan.json`, by which
            `shoal.apply` publishes other tables.
        force : bool
            Whether to replace existing folders of an earlier release.
        format : {"csv", "parquet", "xlsx", "ods"}, optional
            By default as the input was. In workbooks every cell has the type of its column, and none is a formula.
        spreadsheet_safe : bool
            Whether to quote cells that a spreadsheet would run as a formula.
        publish_proof : bool
            Whether the public certificate and report state the algorithm, its costs and the lower bound, too. They
            depend on the original table, and tell more than the published one to whoever knows the algorithm.
        strict : bool
            Whether a release with `warnings` is refused.
        about : About, optional
            Title, institution, purpose and more, for the first sheet of the reports.

        Returns
        -------
        Certificate
            The full one, with the hashes of the files.

        Raises
        ------
        OutputError
            The folder exists, or cannot be written.
        ReleaseUnsafeError
            What was written does not satisfy the request; nothing appears.
        WarnedError
            The release has warnings, and `strict` is set; nothing appears.
        """
        validate(
            "save",
            {"format": format, "publish_proof": publish_proof, "strict": strict, "about": about},
            {
                "format": Optional(OneOf(FORMATS)),
                "publish_proof": Boolean(),
                "strict": Boolean(),
                "about": Optional(Instance(About)),
            },
        )
        return write_release(
            self,
            Path(folder),
            force=force,
            name=f"release.{format or self.source_format}",
            spreadsheet_safe=spreadsheet_safe,
            publish_proof=publish_proof,
            strict=strict,
            about=about,
        )

    def report(self, path: str | PathLike[str], *, public: bool = False, about: About | None = None) -> None:
        """Write the page that explains the release: one HTML file that needs no network.

        Parameters
        ----------
        path : path
            The file; it is replaced if it exists.
        public : bool
            Whether to write the page for readers, made of the public certificate and the published table alone. By
            default it is the publisher's, which tells more: costs, bounds and losses depend on the original table. Only
            its owner can read that file (0600).
        about : About, optional
            Title, institution, purpose and more, for the first sheet.
        """
        validate("report", {"about": about}, {"about": Optional(Instance(About))})
        if public:
            page = render_public(facts_for_readers(self, self.public_certificate, about))
        else:
            page = render(facts_for_publisher(self, self.certificate, about))
        write_report(page, path, private=not public)

    def as_bounds(self) -> Any:
        """Return the published table to compute with: numbers and dates as their bounds, all else as categories.

        Nothing but the published cells, the public certificate and the types of the columns is used. A quasi-identifier
        `age` of numbers, dates or times has two columns, `age_low` and `age_high`, whatever became of its cells, so
        that the columns do not depend on them:

        * `[20, 30]` is 20 and 30, and so is `[20, 30)`: a half-open interval of numbers ends where it says; the last
          day of one of dates is the day before, so the year 1980 ends with 1980-12-31;
        * text that reads as numbers or dates has bounds where some cell is an interval; codes are no numbers;
        * a value that was kept is both bounds, a set its least and its greatest member;
        * `>=65` has no upper bound (null), a star and a missing value none at all: what a star hides may lie outside of
          all that is published. `data` tells the two apart;
        * bounds are whole numbers where all of a column are, else floats; dates where all are days, else datetimes. A
          column of which no cell was recoded keeps its type.

        Any other quasi-identifier that was recoded is a column of categories: values, sets, nodes and stars in the
        order of the table. They are ordered where the values have a declared order, and a star, which has no place in
        it, is null then. All other columns are as in `data`.

        Returns
        -------
        frame
            The kind of table that came in; categories are pandas' or Arrow's own, Enum (ordered) or Categorical in
            Polars.

        Raises
        ------
        ColumnError
            A column of the release is called like a bound.
        """
        return computable(self, bounds_of)

    def midpoints(self) -> Any:
        """Return the same as `as_bounds` with one column in place of each two: the middle of the bounds.

        Numbers are floats, dates the day on or before the middle; null where a bound is missing. A column of which no
        cell was recoded is as it is.
        """
        return computable(self, midpoints_of)

    def plot(self, columns: Sequence[str] | None = None) -> Figure:
        """Draw how the values of each quasi-identifier are spread in the original, and as the published cells tell it.

        The figure is for the publisher: it shows shares of the original table. Values that are not published have no
        bar of their own. It is that of the private report.

        Parameters
        ----------
        columns : sequence of str, optional
            Quasi-identifiers; all by default.

        Returns
        -------
        matplotlib Figure
            A notebook shows it; `figure.savefig("spread.svg")` writes it.

        Raises
        ------
        ColumnError
            One of the columns is no quasi-identifier.
        """
        return plot_distributions(distributions(self.metrics.table, self.metrics.recoding), columns)

    def plot_risk(self) -> Figure:
        """Draw what adversaries find in the original and in the release, and how large the groups of people are.

        The figure is for the publisher: it shows the risk of the original table. It is that of the private report.

        Returns
        -------
        matplotlib Figure
        """
        facts = facts_for_publisher(self, self.certificate, None, drawn=False)
        return plot_risk(risk_rows(facts), size_rows(facts))

    def utility(
        self,
        target: str,
        model: Any = None,
        *,
        folds: int = 5,
        scoring: str | None = None,
        seed: int | None = 0,
    ) -> Utility:
        """Measure what a prediction loses: cross-validated scores before and after, of the same held-out people.

        In each fold a model learns from the original values of the other folds and is asked about the original values
        of this one; another one learns from the published cells of the same people and is asked about the published
        cells of the same people. Both are held against the true target. Numbers and dates go in as their bounds (two
        features each; without a bound the median, and an indicator), all else as indicators of cells. It needs
        scikit-learn: `pip install 'shoal-privacy[learn]'`.

        Parameters
        ----------
        target : str
            The column to predict. A quasi-identifier is learned from the middles of its bounds, or from the cells that
            show a class.
        model : estimator, optional
            A classifier or a regressor of scikit-learn, which is cloned; a random forest by default: a regressor for
            numbers, a classifier for all else and for whole numbers of at most 20 different values.
        folds : int
            How many, from 2 on.
        scoring : str, optional
            A name of scikit-learn's; "accuracy", or "r2" for a regressor.
        seed : int, optional
            Of the folds and of the model by default; None: another one in each call.

        Returns
        -------
        Utility
            `before`, `after` and `baseline`, what a model scores that looks at nothing; a score for each fold. It
            depends on the original table: keep it.

        Raises
        ------
        UsageError
            There is no such column, or too little to learn from.
        MissingExtraError
            scikit-learn is not installed.
        """
        return measure_utility(self, target, model, folds=folds, scoring=scoring, seed=seed)

    def _repr_html_(self) -> str:
        """Return what a notebook shows of it: no more than the published table reveals."""
        shown = self.store.preview(self.as_written(self.store.distinct))
        return card_of_release(facts_for_readers(self, self.public_certificate, None), shown)

    def __repr__(self) -> str:
        achieved = self.certificate.achieved
        return (
            f"Release(rows={self.store.height}, columns={len(self.store.types)}, "
            f"algorithm={self.certificate.algorithm!r}, k={achieved['k']}, stars={self.certificate.cost.stars})"
        )
