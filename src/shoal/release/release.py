"""The class `Release`: a verified release with its data, reports, plots, and methods for writing and analysis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from shoal._core.file_formats import FORMATS
from shoal._core.validation import Boolean, Instance, OneOf, Optional, validate
from shoal.release.analysis import (
    AnalystUtility,
    RowPairs,
    Utility,
    bounds_of,
    computable,
    measure_analyst_utility,
    measure_utility,
    midpoints_of,
    plot_distributions,
    plot_risk,
    select_row_pairs,
)
from shoal.release.certificate import Certificate
from shoal.release.report_facts import facts_for_publisher, facts_for_readers
from shoal.release.verified_table import VerifiedTable
from shoal.release.writer import write_release
from shoal.report import About, distributions, render, render_public, risk_rows, size_rows, write_report
from shoal.report.card import Card, HasCard
from shoal.report.figures import read_figures
from shoal.report.notebook import card_of_release

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Release(VerifiedTable, HasCard):
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
        """Write the release to a public and a private folder; both appear complete, or neither does.

        The written table is verified once more before the folders appear.

        Parameters
        ----------
        folder : path
            The public folder. All of its files may be published: `release.csv` (or another format; `persons.csv` and
            `rows.csv` if two tables came in), the public
            `certificate.json`, and a `report.html` made from these two, with its facts in `report.json`. The private
            folder has the same name followed by ".private", and only its owner can read it. It contains the full
            `certificate.json`, the full `report.html` and `report.json`, `salt.txt` (the key of the hash of the
            input), and `plan.json`, with which `shoal.apply` publishes other tables.
        force : bool
            Whether to replace existing folders of an earlier release.
        format : {"csv", "parquet", "xlsx", "ods", "dta", "sav", "xpt"}, optional
            The format of the input by default. In workbooks every cell has the type of its column, and none is a
            formula.
        spreadsheet_safe : bool
            Whether to quote cells that a spreadsheet would run as a formula.
        publish_proof : bool
            Whether the public certificate and report also state the algorithm, its costs and the lower bound. These
            depend on the original table, and reveal more than the published one to a reader who knows the algorithm.
        strict : bool
            Whether to reject a release with `warnings`.
        about : About, optional
            Title, institution, purpose and more, for the first sheet of the reports.

        Returns
        -------
        Certificate
            The full certificate, with the hashes of the files.

        Raises
        ------
        OutputError
            If the folder exists or cannot be written.
        ReleaseUnsafeError
            If the written table does not satisfy the request. No folder appears.
        WarnedError
            If the release has warnings and `strict` is true. No folder appears.
        """
        validate(
            "save",
            {"format": format, "publish_proof": publish_proof, "strict": strict, "about": about},
            {
                "format": Optional(OneOf(tuple(FORMATS))),
                "publish_proof": Boolean(),
                "strict": Boolean(),
                "about": Optional(Instance(About)),
            },
        )
        return write_release(
            self,
            Path(folder),
            force=force,
            name=f"{'persons' if self.store.personal else 'release'}.{format or self.source_format}",
            spreadsheet_safe=spreadsheet_safe,
            publish_proof=publish_proof,
            strict=strict,
            about=about,
        )

    def report(self, path: str | PathLike[str], *, public: bool = False, about: About | None = None) -> None:
        """Write the report, a single HTML file that needs no network.

        Parameters
        ----------
        path : path
            The file; it is replaced if it exists.
        public : bool
            Whether to write the report for readers, made from the public certificate and the published table alone. The
            default is the publisher's report with costs, bounds and losses, which depend on the original table; only
            its owner can read that file (0600).
        about : About, optional
            Title, institution, purpose and more, for the first sheet.
        """
        validate("report", {"about": about}, {"about": Optional(Instance(About))})
        # The public report is made from public objects only, so it cannot reveal more.
        if public:
            page = render_public(facts_for_readers(self, self.public_certificate, about))
        else:
            page = render(facts_for_publisher(self, self.certificate, about))
        write_report(page, path, private=not public)

    def as_bounds(self) -> Any:
        """Convert the published table for computation: numbers and dates to their bounds, other columns to categories.

        Only the published cells, the public certificate and the types of the columns are used. A quasi-identifier `age`
        of numbers, dates or times becomes two columns, `age_low` and `age_high`, even if no cell was recoded, so that
        the columns do not depend on the cells:

        * `[20, 30]` is 20 and 30, and so is `[20, 30)`: a half-open interval of numbers ends where it says; the last
          day of one of dates is the day before, so the year 1980 ends with 1980-12-31;
        * text that can be parsed as numbers or dates has bounds if some cell is an interval; codes are not numbers;
        * an unchanged value is both bounds; the bounds of a set are its least and its greatest member;
        * `>=65` has no upper bound (null); stars and missing values have no bounds, because a suppressed value may lie
          outside the published range. `data` distinguishes the two;
        * bounds are whole numbers where all of a column are, else floats; dates where all are days, else datetimes. A
          column of which no cell was recoded keeps its type.

        Any other quasi-identifier that was recoded is a column of categories: values, sets, nodes and stars in the
        order of the table. They are ordered where the values have a declared order, and a star, which has no place in
        it, is null then. Sensitive and insensitive columns have bounds if they were coarsened; all other columns are as
        in `data`.

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
        """Convert the published table like `as_bounds`, with the midpoint of the bounds in place of each pair.

        Midpoints of numbers are floats; a midpoint of dates is the day on or before it; null if a bound is missing. A
        column without recoded cells is unchanged.
        """
        return computable(self, midpoints_of)

    def side_by_side(self, count: int = 10, *, seed: int = 0) -> RowPairs:
        """Select some records at random, before and after; private, because they are records of the original table.

        Parameters
        ----------
        count : int
            The number of records; all of them if the release has fewer.
        seed : int
            The random seed of the selection.

        Returns
        -------
        RowPairs
            The numbers of the records in the input, from 0, and their cells `before` and `after` as frames of text.

        Raises
        ------
        ParameterError
            If the table was read in batches or by Spark.

        Examples
        --------
        >>> import polars as pl, shoal
        >>> people = pl.DataFrame({"age": [30, 31, 40, 41], "pay": [2, 3, 4, 5]})
        >>> release = shoal.anonymize(people, quasi_identifiers=["age"], sensitive="pay", k=4, seed=1)
        >>> pairs = release.side_by_side(4)
        >>> sorted(pairs.before["age"]), pairs.after["age"].to_list()
        (['30', '31', '40', '41'], ['*', '*', '*', '*'])
        """
        return select_row_pairs(self, count, seed=seed)

    def plot(self, columns: Sequence[str] | None = None) -> Figure:
        """Plot the distribution of each quasi-identifier in the original and in the published table.

        The figure is private, because it shows shares of the original table. Values that are not published have no
        bar of their own. The private report contains the same figure.

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
            If one of the columns is not a quasi-identifier.
        """
        return plot_distributions(distributions(self.metrics.table, self.metrics.recoding), columns)

    def plot_risk(self) -> Figure:
        """Plot the re-identification risk and the sizes of groups, in the original and in the release.

        The figure is private, because it shows the risk of the original table. The private report contains the same
        figure.

        Returns
        -------
        matplotlib Figure
        """
        # The facts of the private report, so that figure and report agree.
        facts = facts_for_publisher(self, self.certificate, None, drawn=False)
        return plot_risk(risk_rows(facts), size_rows(facts))

    @overload
    def utility(self) -> AnalystUtility: ...

    @overload
    def utility(
        self, target: str, model: Any = None, *, folds: int = 5, scoring: str | None = None, seed: int | None = 0
    ) -> Utility: ...

    def utility(
        self,
        target: str | None = None,
        model: Any = None,
        *,
        folds: int = 5,
        scoring: str | None = None,
        seed: int | None = 0,
    ) -> AnalystUtility | Utility:
        """Measure what analysts lose: a table of measures, or the loss of prediction quality for one column.

        Without a target, the measures are the propensity score, marginals, correlations and a regression. A published
        cell counts as each of its values with the same probability, independently of the other cells of its record; a
        star as each value of the column. No further package is required.

        With a target, the prediction is cross-validated on the original and on the published table. In each fold, one
        model is trained and evaluated on original values, and another one on the published cells of the same records.
        Both are scored against the true target. Numbers and dates are encoded by their bounds (two features each; a
        missing bound is replaced by the median, with an indicator), other columns by indicators of their cells.
        Requires scikit-learn: `pip install 'shoal-privacy[learn]'`.

        Parameters
        ----------
        target : str, optional
            The column to predict; the other parameters apply to this prediction alone. For a quasi-identifier, the
            training target is the midpoint of the bounds, or the class if the cell shows one.
        model : estimator, optional
            A classifier or regressor of scikit-learn, which is cloned. The default is a random forest: a regressor for
            numbers, and a classifier for other columns and for integers with at most 20 distinct values.
        folds : int
            The number of folds, at least 2.
        scoring : str, optional
            Name of a scikit-learn scorer; by default "accuracy", or "r2" for a regressor.
        seed : int, optional
            Random seed of the folds and of the default model; None for a different one in each call.

        Returns
        -------
        AnalystUtility or Utility
            Without a target, the table of measures; a measure that cannot be computed states why. With a target, the
            scores of each fold: `before`, `after`, and `baseline` of a model without features. Private, because both
            depend on the original table.

        Raises
        ------
        UsageError
            If the column does not exist, or there are too few rows to learn from.
        MissingExtraError
            If there is a target, and scikit-learn is not installed.

        Examples
        --------
        >>> import polars as pl, shoal
        >>> people = pl.DataFrame({"age": [30, 31, 40, 41] * 5, "sex": ["f", "m"] * 10, "pay": [2, 3, 4, 5] * 5})
        >>> release = shoal.anonymize(people, quasi_identifiers=["age", "sex"], sensitive="pay", k=5, seed=1)
        >>> release.utility()["margins"]
        0.0
        """
        validate("utility", {"target": target}, {"target": Optional(Instance(str))})
        if target is None:
            return measure_analyst_utility(self.metrics)
        return measure_utility(self, target, model, folds=folds, scoring=scoring, seed=seed)

    def _card(self) -> Card:
        """Make the card, with no more than the published table reveals."""
        shown = self.store.preview(self.as_written(self.store.distinct))
        return card_of_release(facts_for_readers(self, self.public_certificate, None), shown)

    def __repr__(self) -> str:
        k = min(figures["k"] for figures in read_figures(self.certificate.to_dict()).kinds)
        return (
            f"Release(rows={self.store.height}, columns={len(self.store.types)}, "
            f"algorithm={self.certificate.algorithm!r}, k={k}, stars={self.certificate.cost.stars}, "
            f"warnings={len(self.warnings)})"
        )
