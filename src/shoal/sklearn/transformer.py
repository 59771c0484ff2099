"""`Anonymizer`: a table is published between the steps of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shoal._core.optional import require
from shoal._core.validation import Boolean, Instance, OneOf, Optional, validate
from shoal.errors import DataError
from shoal.models import KAnonymity
from shoal.verbs.anonymize import anonymize
from shoal.verbs.apply import apply

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.models import PrivacyModel
    from shoal.release.release import Release

__all__ = ["Anonymizer"]

_base: Any = require("sklearn.base", extra="learn", purpose="shoal.sklearn")
_validation: Any = require("sklearn.utils.validation", extra="learn", purpose="shoal.sklearn")

_FORMS = {
    "bounds": lambda release: release.as_bounds(),
    "midpoints": lambda release: release.midpoints(),
    "cells": lambda release: release.data,
}


class Anonymizer(_base.TransformerMixin, _base.BaseEstimator):  # type: ignore[misc]
    """Publish a table within a pipeline: later steps see the published cells of its rows, in the order that they had.

    The rows that `fit` gets are one release, verified like any other (`release_`): a model in a later step has learned
    from nothing else. `transform` gives other rows the forms of that release (`shoal.apply`), for predictions about
    them: each cell is true of its row, and unless `protect_transformed` is set nothing is asked of the groups of these
    rows, which may be few. Then what `transform` returns must not be published.

    As with scikit-learn's `TargetEncoder`, `fit_transform(X)` is not `fit(X).transform(X)`: the former has the rows of
    the release itself, while the latter deals rows that have several forms to them by chance.

    Parameters
    ----------
    quasi_identifiers : sequence of str, optional
        As for `shoal.anonymize`; by default all columns that have no other role.
    sensitive, privacy, k, l, t
        As for `shoal.anonymize`.
    insensitive : sequence of str or "rest"
        As for `shoal.anonymize`; "rest" (the default) where quasi-identifiers are named.
    form : {"bounds", "midpoints", "cells"}
        What later steps get: `Release.as_bounds`, `Release.midpoints` or `Release.data`.
    misfits : {"suppress", "refuse"}
        What becomes of rows to which `transform` cannot give one of the forms; see `shoal.apply`.
    protect_transformed : bool
        Whether the rows that `transform` gets are a release of their own, which satisfies the same models. Rows of
        groups that do not become stars, or are refused (`misfits`).
    options : mapping of str to object, optional
        What else `shoal.anonymize` takes: `{"recoding": "generalization", "seed": 1}`. The order is kept anyway.

    Attributes
    ----------
    release_ : Release
        That of the fitted rows. Private.
    n_features_in_ : int
        Columns that were fitted.
    feature_names_in_ : object array of str
        Their names; `x0`, `x1`, ... of arrays.

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
            As for `shoal.anonymize`; of an array the columns are called x0, x1, ...
        y : object, optional
            Ignored. A target that must not be linked to people is a sensitive column of `X`.

        Raises
        ------
        UsageError, InfeasibleError
            As `shoal.anonymize` does.
        """
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
        frame = _framed(X)
        names = [str(name) for name in (frame.column_names if hasattr(frame, "column_names") else frame.columns)]
        known = self.quasi_identifiers
        if known is None:
            told = [self.sensitive] if isinstance(self.sensitive, str) else list(self.sensitive or ())
            others = [] if self.insensitive == "rest" else [self.insensitive, *self.insensitive]
            dropped = (self.options or {}).get("direct_identifiers", ())
            known = [name for name in names if name not in (*told, *others, *dropped)]
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
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        return self

    def fit_transform(self, X: Any, y: object = None, **fit_params: object) -> Any:
        """Make a release of a table, and return its rows in their order: a frame, or an array where `X` is one."""
        return self.fit(X, y)._formed(self.release_, X)

    def transform(self, X: Any) -> Any:
        """Return other rows in the forms of the release, in their order.

        Raises
        ------
        InfeasibleError
            No form covers some of them, or they were to satisfy the models and do not.
        """
        _validation.check_is_fitted(self)
        asked = None if self.protect_transformed else KAnonymity(1)
        made = apply(self.release_.plan, _framed(X), misfits=self.misfits, privacy=asked, keep_order=True)
        return self._formed(made, X)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Return the names of the columns that come out."""
        _validation.check_is_fitted(self)
        shown = _FORMS[self.form](self.release_)
        return np.array(list(shown.column_names if hasattr(shown, "column_names") else shown.columns), dtype=object)

    def _formed(self, release: Release, given: Any) -> Any:
        """Return a release in the form that was asked for, as rows of what was given."""
        shown = _FORMS[self.form](release)
        if len(shown) != len(given):
            raise DataError(
                f"{len(given) - len(shown)} row(s) are not published, and later steps need all: leave out "
                "missing_sensitive='drop', and drop rows before the pipeline."
            )
        if isinstance(given, np.ndarray):
            return shown.to_numpy()
        if hasattr(shown, "index") and hasattr(given, "index"):
            shown.index = given.index
        return shown


def _framed(X: Any) -> Any:
    if not isinstance(X, np.ndarray):
        return X
    if X.ndim != 2:
        raise DataError("An array must have rows and columns.")
    import polars as pl

    return pl.DataFrame({f"x{at}": X[:, at].tolist() for at in range(X.shape[1])})
