"""Prediction utility: models trained on the original and on the release, scored on the same held-out records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.optional import require
from shoal._core.validation import Integer, Optional, validate
from shoal.errors import DataError, ParameterError
from shoal.report.card import Card, HasCard
from shoal.report.notebook import PRIVATE
from shoal.verification.cell_syntax import cell_text

_CLASSES = 20
"""Maximum number of distinct integers that are predicted as classes instead of numbers."""
_CATEGORIES = 100
"""Maximum number of indicators of a column; rare values share one."""


@dataclass(frozen=True, kw_only=True)
class Utility(HasCard):
    """Scores of predicting a column from the others, before and after. Private: they depend on the original table."""

    target: str
    """The predicted column."""
    model: str
    """The class name of the model."""
    score: str
    """The name of the scikit-learn scorer, such as "accuracy" or "r2"; higher is better."""
    before: tuple[float, ...]
    """Score in each fold of a model trained and evaluated on the original values."""
    after: tuple[float, ...]
    """Score in each fold of a model trained and evaluated on published cells, against the same true target."""
    baseline: tuple[float, ...]
    """Score in each fold of a model without features: it predicts the original's most frequent class or mean."""
    rows: int
    """Number of predicted rows: those with a target value."""

    def to_dict(self) -> dict[str, Any]:
        """Return the scores and their means over the folds."""
        means = {name: float(np.mean(getattr(self, name))) for name in ("before", "after", "baseline")}
        folds = {name: list(getattr(self, name)) for name in means}
        return {
            "target": self.target,
            "model": self.model,
            "score": self.score,
            "rows": self.rows,
            **means,
            "folds": folds,
        }

    def _card(self) -> Card:
        """Make the card, which is for the publisher only; no cell is shown."""
        facts = self.to_dict()
        return Card(
            title=f"Prediction of '{self.target}'",
            figures=[
                ("model", self.model),
                ("score", f"{self.score}, mean of {len(self.before)} folds of {self.rows} rows in all"),
            ],
            columns={
                "trained and asked with": ["the original", "the release", "nothing"],
                self.score: [f"{facts[name]:.3f}" for name in ("before", "after", "baseline")],
            },
            caption="The same people are predicted in each line",
            private=PRIVATE,
        )

    def __repr__(self) -> str:
        facts = self.to_dict()
        return (
            f"Utility(target={self.target!r}, {self.score}: before {facts['before']:.3f}, after {facts['after']:.3f}, "
            f"baseline {facts['baseline']:.3f})"
        )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Views:
    """Original and published values of the same records in the same order."""

    original: pl.DataFrame
    """The published columns with their original values."""
    bounds: pl.DataFrame
    """Bounds of numbers and dates, and other columns as published."""
    middles: pl.DataFrame
    """The same with midpoints in place of bounds."""

    def __repr__(self) -> str:
        return f"Views(rows={self.original.height})"


def utility_of(
    views: Views, target: str, model: Any = None, *, folds: int = 5, scoring: str | None = None, seed: int | None = 0
) -> Utility:
    """Measure how well a column is predicted before and after; see `Release.utility`."""
    validate("utility", {"folds": folds, "seed": seed}, {"folds": Integer(low=2), "seed": Optional(Integer(low=0))})
    require("sklearn", extra="learn", purpose="The utility of a release")
    from sklearn import base, dummy, metrics, model_selection

    # Rows without a target value can be neither learned nor scored.
    truth = views.original.get_column(target)
    present = truth.is_not_null() & (truth.is_not_nan() if truth.dtype.is_float() else True)
    views = Views(**{name: getattr(views, name).filter(present) for name in ("original", "bounds", "middles")})
    truth, rows = truth.filter(present), views.original.height
    if rows < 2 * folds:
        raise DataError(f"{rows} row(s) have a value of '{target}': too few for {folds} folds. Ask for fewer.")
    # Integers with few distinct values are treated as classes.
    numeric = truth.dtype.is_numeric() and (truth.dtype.is_float() or truth.n_unique() > _CLASSES)
    # A given model determines the kind of prediction.
    numeric = base.is_regressor(model) if model is not None else numeric or truth.dtype.is_temporal()
    if numeric and not (truth.dtype.is_numeric() or truth.dtype.is_temporal()):
        raise ParameterError(f"The column '{target}' holds no numbers, and a regressor predicts numbers.")
    # The target and its bounds must not be among the features.
    features = {
        "before": _matrix(views.original, [target]),
        "after": _matrix(views.bounds, [target, f"{target}_low", f"{target}_high"]),
    }
    said = [_number(one) for one in truth] if numeric else cell_text(truth).to_list()
    answers = np.array(said, dtype=np.float64 if numeric else object)
    told = {"before": answers, "after": _published_answers(views.middles.get_column(target), answers)}
    estimator = _default(numeric, seed) if model is None else model
    scoring = scoring or ("r2" if numeric else "accuracy")
    scored = metrics.get_scorer(scoring)
    # Stratification needs every class in every fold.
    common = numeric or np.unique(answers, return_counts=True)[1].min() >= folds
    splits = model_selection.StratifiedKFold if common and not numeric else model_selection.KFold
    found: dict[str, list[float]] = {"before": [], "after": [], "baseline": []}
    # The same folds for all three models.
    for learned, asked in splits(folds, shuffle=True, random_state=seed).split(answers[:, None], answers):
        for name, (matrix, transformer) in features.items():
            # Published targets without a value are left out of training, never out of scoring.
            known = learned[[one is not None for one in told[name][learned]]]
            if not len(known):
                raise DataError(f"No published cell of '{target}' is a value, or has a middle: nothing can be learned.")
            trained = _pipeline(transformer(), base.clone(estimator))
            trained.fit(matrix[known], _plain(told[name][known], numeric))
            found[name].append(float(scored(trained, matrix[asked], answers[asked])))
        nothing = dummy.DummyRegressor() if numeric else dummy.DummyClassifier(strategy="most_frequent")
        nothing.fit(np.zeros((len(learned), 1)), answers[learned])
        found["baseline"].append(float(scored(nothing, np.zeros((len(asked), 1)), answers[asked])))
    return Utility(
        target=target,
        model=type(estimator).__name__,
        score=scoring,
        rows=rows,
        **{name: tuple(scores) for name, scores in found.items()},
    )


def _default(numeric: bool, seed: int | None) -> Any:
    from sklearn import ensemble

    kind = ensemble.RandomForestRegressor if numeric else ensemble.RandomForestClassifier
    return kind(n_estimators=50, min_samples_leaf=2, random_state=seed)


def _plain(answers: NDArray[Any], numeric: bool) -> NDArray[Any]:
    return answers.astype(np.float64) if numeric else answers


def _published_answers(cells: pl.Series, answers: NDArray[Any]) -> NDArray[Any]:
    """Interpret a published target as a number, the midpoint of an interval, or a class; None for other cells."""
    # Text among the midpoints is a cell without a number.
    if answers.dtype == np.float64:
        values: list[Any] = [None if one is None or isinstance(one, str) else _number(one) for one in cells]
    else:
        classes = set(answers.tolist())
        values = [text if text in classes else None for text in cell_text(cells)]
    said = np.empty(len(values), dtype=object)
    said[:] = values
    return said


def _matrix(frame: pl.DataFrame, without: Sequence[str]) -> tuple[NDArray[Any], Callable[[], Any]]:
    """Return features as an object array, and a factory of encoders, to be fitted to the training rows."""
    used = [column for column in frame if column.name not in without and not column.dtype.is_nested()]
    if not used:
        raise ParameterError("No other column is published: there is nothing to predict from.")
    matrix = np.empty((frame.height, len(used)), dtype=object)
    numbers: list[int] = []
    # Numbers, dates and truth values become floats; all other columns become names for the one-hot encoder.
    for place, column in enumerate(used):
        if column.dtype.is_numeric() or column.dtype.is_temporal() or column.dtype == pl.Boolean:
            numbers.append(place)
            matrix[:, place] = [_number(one) for one in column]
        else:
            matrix[:, place] = column.cast(pl.String).fill_null("").to_list()
    names = [place for place in range(len(used)) if place not in numbers]

    def transformer() -> Any:
        from sklearn import compose, impute, preprocessing

        floats = preprocessing.FunctionTransformer(_as_floats)
        # The same encoding for both tables, so that the scores differ by the data only.
        filled = impute.SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        scaled = preprocessing.StandardScaler()
        indicators = preprocessing.OneHotEncoder(
            handle_unknown="infrequent_if_exist", max_categories=_CATEGORIES, sparse_output=False
        )
        return compose.ColumnTransformer(
            [("numbers", _pipeline(floats, filled, scaled), numbers), ("names", indicators, names)]
        )

    return matrix, transformer


def _as_floats(matrix: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(matrix, dtype=np.float64)


def _pipeline(*steps: Any) -> Any:
    from sklearn import pipeline

    return pipeline.make_pipeline(*steps)


def _number(value: Any) -> float:
    if value is None:
        return float("nan")
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, date):
        return float(value.toordinal())
    if isinstance(value, time):
        return value.hour * 3600.0 + value.minute * 60 + value.second
    return float(value.total_seconds() if hasattr(value, "total_seconds") else value)
