"""What a release does for those who analyse it: tables to compute with, pictures, and the utility of predictions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.analysis.bounds import bounds_of, midpoints_of
from shoal.analysis.pictures import plot_distributions, plot_risk
from shoal.analysis.utility import Views, utility_of
from shoal.errors import ColumnError, ParameterError, near_matches
from shoal.report import distributions, risk_rows, size_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.figure import Figure

    from shoal.analysis.bounds import Computable
    from shoal.analysis.utility import Utility

__all__ = ["ForAnalysts"]


class ForAnalysts:
    """The part of a release that is for analysts; `shoal.release.Release` has all that it speaks of."""

    def as_bounds(self: Any) -> Any:
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
        return self._computable(bounds_of)

    def midpoints(self: Any) -> Any:
        """Return the same as `as_bounds` with one column in place of each two: the middle of the bounds.

        Numbers are floats, dates the day on or before the middle; null where a bound is missing. A column of which no
        cell was recoded is as it is.
        """
        return self._computable(midpoints_of)

    def plot(self: Any, columns: Sequence[str] | None = None) -> Figure:
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

    def plot_risk(self: Any) -> Figure:
        """Draw what adversaries find in the original and in the release, and how large the groups of people are.

        The figure is for the publisher: it shows the risk of the original table. It is that of the private report.

        Returns
        -------
        matplotlib Figure
        """
        facts = replace(self, pictures={}, trade_off=None)._facts(self.certificate, None)
        return plot_risk(risk_rows(facts), size_rows(facts))

    def utility(
        self: Any,
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
        scikit-learn: `pip install 'shoal[learn]'`.

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
        if target not in self.schema.published:
            raise ColumnError(f"The release has no column '{target}'. {near_matches(target, self.schema.published)}")
        table = self._table_of_rows
        if table is None or len(self.table_rows) != self.frame.height:
            raise ParameterError(
                "The utility is measured of a release that was made in memory. Make one of a sample of the table, with "
                "engine='memory'."
            )
        places = np.argsort(self.table_rows)[np.searchsorted(np.sort(self.table_rows), self.rows)]
        columns = [
            one.dictionary.gather(one.codes).alias(one.name) for one in (*table.quasi_identifiers, *table.sensitive)
        ]
        original = pl.DataFrame([*columns, *table.insensitive.get_columns()])[places]
        bounds, middles = (self._read(make).frame for make in (bounds_of, midpoints_of))
        views = Views(original=original, bounds=bounds, middles=middles)
        return utility_of(views, target, model, folds=folds, scoring=scoring, seed=seed)

    def _read(self: Any, make: Callable[..., Computable]) -> Computable:
        """Return the published table in a form to compute with."""
        # Text that became dates or numbers came as text; whether all of it did depends on what is not published.
        known = self.metrics.table.quasi_identifiers
        types = {one.name: pl.String() if one.name in self.forms else one.dictionary.dtype for one in known}
        shown = self.frame.with_columns(self.published.get_column(name) for name in self.forms if name in types)
        return make(shown, self.public_certificate.to_dict(), types)

    def _computable(self: Any, make: Callable[..., Computable]) -> Any:
        """Return a table to compute with as the caller's kind of table."""
        made = self._read(make)
        ordered = {name: one.ordered for name, one in made.categories.items()}
        text = [name for name in self._of_text if name in made.frame.columns and name not in ordered]
        text = [name for name in text if made.frame.schema[name] == pl.Enum]
        made = replace(made, frame=made.frame.with_columns(pl.col(text).cast(pl.String)))
        restore = self.restore.with_categories(made.frame, ordered)
        if restore is self.restore:  # Polars, or a library that gets no categories
            unordered = [
                pl.col(name).cast(pl.String).cast(pl.Categorical) for name, ranked in ordered.items() if not ranked
            ]
            return self._handed_on(made.frame.with_columns(unordered))
        return restore(made.frame)
