"""The transformer `Anonymizer`, which publishes a table within a pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from shoal._core.optional import require
from shoal._core.validation import Boolean, Instance, OneOf, Optional, validate
from shoal.errors import DataError, ReleaseWarning
from shoal.models import KAnonymity, PrivacyModel
from shoal.release.plan import plan_in
from shoal.release.release import Release
from shoal.request.request import ROLES
from shoal.verbs.anonymize import anonymize
from shoal.verbs.apply import apply

_base: Any = require("sklearn.base", extra="learn", purpose="shoal.sklearn")
_validation: Any = require("sklearn.utils.validation", extra="learn", purpose="shoal.sklearn")

_FORMS = {
    "bounds": lambda release: release.as_bounds(),
    "midpoints": lambda release: release.midpoints(),
    "cells": lambda release: release.data,
}


class Anonymizer(_base.TransformerMixin, _base.BaseEstimator):  # type: ignore[misc]
    """Publish a table within a pipeline, so that later steps see only published cells, in the original row order.

    The rows passed to `fit` become one release, verified like any other (`release_`), and a model in a later step
    learns from this release only. `transform` recodes other rows with the forms of that release (`shoal.apply`), such
    as for predictions: each cell is true for its row, but the groups of these rows may be small unless
    `protect_transformed` is set. Without it, the result of `transform` must not be published.

    As with scikit-learn's `TargetEncoder`, `fit_transform(X)` differs from `fit(X).transform(X)`: the former returns
    the rows of the release itself, while the latter assigns rows with several possible forms at random.

    Parameters
    ----------
    quasi_identifiers : sequence of str, optional
        As for `shoal.anonymize`; by default all columns without another role.
    sensitive, privacy, k, l, t
        As for `shoal.anonymize`.
    insensitive : sequence of str or "rest"
        As for `shoal.anonymize`; "rest" (the default) is useful if quasi-identifiers are given.
    form : {"bounds", "midpoints", "cells"}
        The output for later steps: `Release.as_bounds`, `Release.midpoints` or `Release.data`. With "midpoints", a
        number that is suppressed becomes the mean of its column in the release, because later steps need numbers.
    misfits : {"suppress", "refuse"}
        The treatment of rows that no form covers in `transform`; see `shoal.apply`.
    protect_transformed : bool
        Whether the rows passed to `transform` become a release of their own that satisfies the same models. Rows of
        groups that fail are suppressed or refused (`misfits`).
    options : mapping of str to object, optional
        Further options of `shoal.anonymize`, such as `{"recoding": "generalization", "seed": 1}`, or
        `{"person": "patient"}` if persons have several rows. The row order is always kept.

    Attributes
    ----------
    release_ : Release
        The release of the fitted rows. Private.
    plan_ : ReleasePlan
        Its forms, with which `transform` recodes. Private. A pickle of a fitted transformer holds the plan, which has
        values of the table, and no release: keep it as private as the table.
    n_features_in_ : int
        Number of fitted columns.
    feature_names_in_ : object array of str
        Their names; `x0`, `x1`, ... for arrays.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(400, quasi_identifiers=["age", "gender"], seed=1)
    >>> anonymizer = shoal.sklearn.Anonymizer(["age", "gender"], k=5)
    >>> anonymizer.fit_transform(people).columns
    ['age_low', 'age_high', 'gender_low', 'gender_high', 'income']
    """

    def __init__(
        self,
        quasi_identifiers: Sequence[str] | None = None,
        sensitive: str | Sequence[str] | None = None,
        privacy: PrivacyModel | Sequence[PrivacyModel] | None = None,
        *,
        k: int | None = None,
        l: float | None = None,
        t: float | None = None,
        insensitive: str | Sequence[str] = "rest",
        form: Literal["bounds", "midpoints", "cells"] = "bounds",
        misfits: Literal["suppress", "refuse"] = "suppress",
        protect_transformed: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.quasi_identifiers = quasi_identifiers
        self.sensitive = sensitive
        self.privacy = privacy
        self.k = k
        self.l = l
        self.t = t
        self.insensitive = insensitive
        self.form = form
        self.misfits = misfits
        self.protect_transformed = protect_transformed
        self.options = options

    def fit(self, X: Any, y: object = None) -> Anonymizer:
        """Make a release of a table.

        Parameters
        ----------
        X : frame or array of shape (rows, columns)
            As for `shoal.anonymize`; the columns of an array are named x0, x1, ...
        y : object, optional
            Ignored. If a target must not be linked to people, make it a sensitive column of `X`.

        Returns
        -------
        Anonymizer

        Raises
        ------
        UsageError, InfeasibleError
            As for `shoal.anonymize`.
        """
        # Scikit-learn requires that parameters are validated in `fit`, not in the constructor.
        validate(
            "Anonymizer",
            {
                "form": self.form,
                "misfits": self.misfits,
                "protect_transformed": self.protect_transformed,
                "options": self.options,
            },
            {
                "protect_transformed": Boolean(),
                "form": OneOf(tuple(_FORMS)),
                "misfits": OneOf(("suppress", "refuse")),
                "options": Optional(Instance(Mapping)),
            },
        )
        # By default, all columns without another role are quasi-identifiers.
        frame = _framed(_table(X))
        names = _names_of(frame)
        known = self.quasi_identifiers
        if known is None:
            sensitive = [self.sensitive] if isinstance(self.sensitive, str) else list(self.sensitive or ())
            others = [] if self.insensitive == "rest" else [self.insensitive, *self.insensitive]
            for role in ROLES:
                given = (self.options or {}).get(role) or ()
                others += [given] if isinstance(given, str) else given
            known = [name for name in names if name not in (*sensitive, *others)]
        self.release_: Release = anonymize(
            frame,
            quasi_identifiers=known,
            sensitive=self.sensitive,
            privacy=self.privacy,
            k=self.k,
            l=self.l,
            t=self.t,
            insensitive=self.insensitive,
            **{**(self.options or {}), "keep_order": True},
        )
        # Attributes that scikit-learn defines for every fitted estimator.
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        self.plan_ = self.release_.plan
        shown = _FORMS[self.form](self.release_)
        self._names_out = _names_of(shown)
        self._means = _means_of(shown) if self.form == "midpoints" else {}
        return self

    def fit_transform(self, X: Any, y: object = None, **fit_params: object) -> Any:
        """Make a release of a table, and return its rows in their order: a frame, or an array if `X` is one."""
        return self.fit(X, y)._formed(self.release_, _table(X))

    def transform(self, X: Any) -> Any:
        """Recode other rows with the forms of the release, in their order.

        Raises
        ------
        InfeasibleError
            If no form covers some rows, or the rows fail the models while `protect_transformed` is set.
        """
        _validation.check_is_fitted(self)
        X = _table(X)
        if isinstance(X, np.ndarray) and X.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {X.shape[1]} features, but Anonymizer is expecting {self.n_features_in_} features as input."
            )
        privacy = None if self.protect_transformed else KAnonymity(1)
        with warnings.catch_warnings():
            if not self.protect_transformed:  # these rows are not published
                warnings.simplefilter("ignore", ReleaseWarning)
            made = apply(self.plan_, _framed(X), misfits=self.misfits, privacy=privacy, keep_order=True)
        return self._formed(made, X)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Return the names of the output columns."""
        _validation.check_is_fitted(self)
        return np.array(self._names_out, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in super().__getstate__().items() if name != "release_"}
        return state | ({"plan_": self.plan_.to_dict()} if "plan_" in state else {})

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state | ({"plan_": plan_in(state["plan_"])} if "plan_" in state else {}))

    def _formed(self, release: Release, given: Any) -> Any:
        """Convert a release to the requested output, aligned with the input rows."""
        # Later steps need one output row per input row.
        shown = _FORMS[self.form](release)
        if len(shown) != len(given):
            raise DataError(
                f"{len(given) - len(shown)} row(s) are not published, but later steps need all rows: leave out "
                "missing_sensitive='drop' and rows_per_person, and drop rows before the pipeline."
            )
        for name, mean in self._means.items():
            shown = _filled(shown, name, mean, _framed(given))
        # The output has the type and the index of the input.
        if isinstance(given, np.ndarray):
            return shown.to_numpy()
        if hasattr(shown, "index") and hasattr(given, "index"):
            shown.index = given.index
        return shown


def _table(X: Any) -> Any:
    """Check that an input is a frame, or an array of rows and columns, which lists become."""
    if isinstance(X, list | tuple):
        X = np.array(X, dtype=object)
    if hasattr(X, "toarray"):
        raise DataError("A sparse matrix has no columns to anonymize. Give a frame, or X.toarray().")
    if isinstance(X, np.ndarray) and X.ndim != 2:
        raise DataError("An array must have rows and columns.")
    if not (isinstance(X, np.ndarray) or hasattr(X, "columns") or hasattr(X, "column_names")):
        raise DataError(f"A {type(X).__name__} is not a table. Give a frame, or an array of rows and columns.")
    return X


def _framed(X: Any) -> Any:
    if not isinstance(X, np.ndarray):
        return X
    import polars as pl

    return pl.DataFrame({f"x{at}": X[:, at].tolist() for at in range(X.shape[1])})


def _names_of(frame: Any) -> list[str]:
    return [str(name) for name in (frame.column_names if hasattr(frame, "column_names") else frame.columns)]


def _means_of(shown: Any) -> dict[str, float]:
    """Return the means of the columns of numbers that have some."""
    columns = nw.from_native(shown, eager_only=True).iter_columns()
    means = {one.name: one.mean() for one in columns if one.dtype.is_numeric()}
    return {name: float(mean) for name, mean in means.items() if mean is not None and np.isfinite(mean)}


def _filled(shown: Any, name: str, mean: float, given: Any) -> Any:
    """Replace the numbers of a column that are suppressed by a mean; those that the input lacks stay missing."""
    frame, came = nw.from_native(shown, eager_only=True), nw.from_native(given, eager_only=True)
    column = frame[name]
    holes = (column.is_null() | column.is_nan()).fill_null(value=True).to_numpy().astype(bool)
    if name in came.columns:
        holes &= ~came[name].is_null().to_numpy().astype(bool)
    if not holes.any():
        return shown
    return frame.with_columns(column.cast(nw.Float64).scatter(np.flatnonzero(holes).tolist(), mean)).to_native()
