"""`shoal.sklearn.Anonymizer`: a transformer by scikit-learn's conventions, whose rows are releases."""

from __future__ import annotations

import pickle
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.errors import DataError, InfeasibleError, ParameterError

pytestmark = pytest.mark.skipif(find_spec("sklearn") is None, reason="scikit-learn is not installed")


def people(rows: int = 200) -> pd.DataFrame:
    ages = [20 + at * 7 % 40 for at in range(rows)]
    frame = pd.DataFrame({"age": ages, "town": ["a", "b"] * (rows // 2), "weight": np.linspace(50, 99, rows)})
    return frame.set_index(pd.Index(range(1000, 1000 + rows)))


def anonymizer(**changes: Any) -> Any:
    told = {"k": 5, "options": {"recoding": "generalization", "seed": 1}, **changes}
    return shoal.sklearn.Anonymizer(["age", "town"], **told)


def test_parameters_are_kept_as_they_are_given() -> None:
    from sklearn.base import clone

    one = anonymizer(form="cells")
    assert one.get_params()["k"] == 5
    other = clone(one).set_params(k=7)
    assert (one.k, other.k, other.form) == (5, 7, "cells")
    assert set(one.get_params()) >= {"quasi_identifiers", "sensitive", "privacy", "k", "l", "t", "form", "options"}
    assert "k=5" in repr(one)
    with pytest.raises(ValueError, match="Invalid parameter"):
        one.set_params(m=3)
    with pytest.raises(ParameterError, match="'form'"):
        anonymizer(form="text").fit(people())


def test_rows_stay_in_their_order_and_are_those_of_the_release() -> None:
    frame, one = people(), anonymizer()
    made = one.fit_transform(frame)
    assert isinstance(made, pd.DataFrame)
    assert made.index.equals(frame.index)
    assert (made["weight"] == frame["weight"]).all()
    assert (made["age_low"] <= frame["age"]).all()
    assert (frame["age"] <= made["age_high"]).all()
    assert one.release_.certificate.achieved["k"] >= 5
    assert list(one.get_feature_names_out()) == list(made.columns)
    assert one.feature_names_in_.tolist() == list(frame.columns)
    assert one.n_features_in_ == 3
    assert frame.equals(people()), "the input is not changed"


@pytest.mark.drawn
def test_other_rows_get_the_same_forms_in_a_release_of_their_own() -> None:
    from sklearn.base import clone

    one = anonymizer().fit(people())
    later = people(400)[200:]
    made = one.transform(later)
    assert made.index.equals(later.index)
    assert (made["weight"] == later["weight"]).all()
    forms = set(map(tuple, one.release_.as_bounds()[["age_low", "age_high"]].to_numpy().tolist()))
    found = set(map(tuple, made[["age_low", "age_high"]].dropna().to_numpy().tolist()))
    assert found <= forms
    assert len(one.transform(later[:3])) == 3, "predictions may be about few"
    careful = clone(one).set_params(protect_transformed=True).fit(people())
    with pytest.raises(InfeasibleError):
        careful.transform(later[:3])
    kept = careful.transform(people(800)[400:])
    assert kept.groupby(["age_low", "age_high", "town"], dropna=False, observed=True).size().min() >= 5
    strange = later.assign(age=99)
    assert one.transform(strange)["age_low"].isna().all()
    with pytest.raises(InfeasibleError):
        clone(one).set_params(misfits="refuse").fit(people()).transform(strange)


def test_before_it_is_fitted() -> None:
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        anonymizer().transform(people())
    with pytest.raises(NotFittedError):
        anonymizer().get_feature_names_out()


@pytest.mark.drawn
def test_in_a_pipeline_with_cross_validation() -> None:
    from sklearn.compose import ColumnTransformer
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    frame = people()
    target = (frame["age"] >= 40).astype(int)
    names = ColumnTransformer([("town", OneHotEncoder(handle_unknown="ignore"), ["town"])], remainder="passthrough")
    steps = make_pipeline(anonymizer(form="midpoints", k=3), names, DecisionTreeClassifier(random_state=0))
    assert cross_val_score(steps, frame, target, cv=3).mean() > 0.8


@pytest.mark.drawn
def test_outputs_of_other_kinds() -> None:
    frame = people().reset_index(drop=True)
    assert isinstance(anonymizer().set_output(transform="pandas").fit_transform(frame), pd.DataFrame)
    table = pl.from_pandas(frame)
    assert isinstance(anonymizer().fit_transform(table), pl.DataFrame)
    assert isinstance(anonymizer().set_output(transform="polars").fit_transform(table), pl.DataFrame)
    array = frame[["age", "weight"]].to_numpy()
    one = shoal.sklearn.Anonymizer(k=5, form="midpoints", options={"recoding": "generalization", "seed": 1})
    made = one.fit_transform(array)
    assert isinstance(made, np.ndarray)
    assert made.shape == array.shape
    assert one.get_feature_names_out().tolist() == ["x0", "x1"]
    assert one.release_.schema.quasi_identifiers == ("x0", "x1")
    with pytest.raises(DataError, match="rows and columns"):
        one.fit(np.arange(5))


def test_roles() -> None:
    frame = people()
    frame["ill"] = ["x", "y"] * 100
    one = shoal.sklearn.Anonymizer(sensitive="ill", l=2, options={"direct_identifiers": ["weight"]}).fit(frame)
    assert one.release_.schema.quasi_identifiers == ("age", "town")
    assert one.release_.schema.sensitive == ("ill",)
    frame.loc[[1000, 1001], "ill"] = None
    dropping = shoal.sklearn.Anonymizer(sensitive="ill", l=2, options={"missing_sensitive": "drop"})
    with pytest.raises(DataError, match="2 row"):
        dropping.fit_transform(frame)


@pytest.mark.drawn
def test_without_scikit_learn_all_else_is_there() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from shoal import *\n"
        "import shoal, pydoc\n"
        "pydoc.render_doc(shoal.sklearn)\n"
        "try:\n    shoal.sklearn.Anonymizer\n"
        "except shoal.errors.MissingExtraError as error:\n    print(error)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'shoal-privacy[learn]'" in found.stdout


@pytest.mark.drawn
def test_held_out_rows_that_no_form_covers_are_scored() -> None:
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    frame = pd.DataFrame({"age": [20 + at * at % 61 for at in range(200)], "town": ["a", "b"] * 100})
    names = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(handle_unknown="ignore"), ["town"]))
    steps = make_pipeline(anonymizer(form="midpoints"), names, LogisticRegression())
    assert cross_val_score(steps, frame, frame["age"] > 45, cv=3).min() > 0.7
    for convert in (lambda one: one, pl.from_pandas, lambda one: pa.Table.from_pandas(one, preserve_index=False)):
        one = anonymizer(form="midpoints").fit(convert(frame))
        mean = np.mean(np.array(one.release_.midpoints()["age"], dtype=float))
        ages = np.array(one.transform(convert(pd.DataFrame({"age": [900.0, None], "town": "a"})))["age"], dtype=float)
        assert ages[0] == pytest.approx(mean)
        assert np.isnan(ages[1])


def test_what_is_not_a_table_is_refused_in_words() -> None:
    from scipy.sparse import csr_matrix
    from sklearn.base import clone

    rows = [[20, 1], [20, 1], [30, 2], [30, 2]]
    one = shoal.sklearn.Anonymizer(k=2, form="midpoints", options={"recoding": "generalization", "seed": 1})
    assert one.fit_transform(rows).shape == (4, 2)
    with pytest.raises(DataError, match="X has 1 features, but Anonymizer is expecting 2 features as input"):
        one.transform(np.ones((3, 1)))
    for wrong in ({"a": [1]}, pd.Series([1, 2]), pl.Series([1, 2]), csr_matrix(np.eye(3)), [1, 2], "ab", None):
        for call in (one.fit, one.fit_transform, clone(one).fit(rows).transform):
            with pytest.raises(DataError, match=r"not a table|rows and columns|sparse matrix"):
                call(wrong)
    assert one.__sklearn_tags__().input_tags.allow_nan


@pytest.mark.drawn
def test_a_fitted_transformer_is_pickled_without_its_release() -> None:
    for form in ("bounds", "midpoints", "cells"):
        one = anonymizer(form=form).fit(people())
        other = pickle.loads(pickle.dumps(one))
        assert not hasattr(other, "release_")
        assert other.get_feature_names_out().tolist() == one.get_feature_names_out().tolist()
        later = people(400)[200:]
        assert other.transform(later).equals(one.transform(later))
    assert pickle.loads(pickle.dumps(anonymizer())).get_params() == anonymizer().get_params()
