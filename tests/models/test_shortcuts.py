"""`k=`, `l=` and `t=` in place of models, columns by "rest", and progress that draws itself."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import ColumnError, ParameterError
from shoal.models.shortcuts import collect_models

PEOPLE = pl.DataFrame({"age": [1, 1, 2, 2] * 5, "ill": ["a", "b", "a", "b"] * 5, "x": list(range(20)), "y": ["q"] * 20})
ROLES: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": "ill", "seed": 1}


def test_letters_are_models() -> None:
    models = [shoal.KAnonymity(3), shoal.LDiversity(2), shoal.TCloseness(0.4)]
    assert list(collect_models(None, k=3, l=2, t=0.4)) == models
    assert list(collect_models(shoal.KEAnonymity(2, 1), k=3)) == [shoal.KEAnonymity(2, 1), models[0]]
    assert collect_models(models) is models
    by_letters = shoal.anonymize(PEOPLE, insensitive="rest", k=3, l=2, t=0.4, **ROLES)
    by_models = shoal.anonymize(PEOPLE, insensitive=["x", "y"], privacy=models, **ROLES)
    assert by_letters.data.equals(by_models.data)
    assert by_letters.certificate.requested == by_models.certificate.requested
    audit = shoal.audit(by_letters.data, quasi_identifiers=["age"], sensitive="ill", k=100, l=2)
    assert [failure.model for failure in audit.failures] == [shoal.KAnonymity(100)]
    found = shoal.explore(PEOPLE.drop("x", "y"), k=3, algorithms=["mondrian"], **ROLES)
    assert found.rows[0].error is None


def test_something_must_be_asked_for() -> None:
    with pytest.raises(ParameterError, match=r"what a release must satisfy: k=10, l=4, t=0.2, or models"):
        shoal.anonymize(PEOPLE, insensitive="rest", **ROLES)
    with pytest.raises(ParameterError, match=r"'k' parameter of KAnonymity must be an int >= 1. Got 0"):
        shoal.anonymize(PEOPLE, insensitive="rest", k=0, **ROLES)


def test_the_rest_is_published_as_it_is() -> None:
    release = shoal.anonymize(PEOPLE, insensitive="rest", k=2, **ROLES)
    assert release.schema.insensitive == ("x", "y")
    assert shoal.explore(PEOPLE, insensitive="rest", k=[2, 3], **ROLES).choose(k=2).schema == release.schema
    assert shoal.explore(PEOPLE, insensitive="rest", k=2, coarsenings=True, seconds=1, **ROLES).best
    without = shoal.anonymize(PEOPLE, insensitive="rest", direct_identifiers=["x"], k=2, **ROLES)
    assert without.schema.insensitive == ("y",)


def test_a_column_that_is_called_so_is_that_column() -> None:
    table = PEOPLE.rename({"x": "rest"})
    with pytest.raises(ColumnError, match=r"1 column has no role: 'y'"):
        shoal.anonymize(table, insensitive="rest", k=2, **ROLES)
    assert shoal.anonymize(table.drop("y"), insensitive="rest", k=2, **ROLES).schema.insensitive == ("rest",)


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_draws_itself(terminal: bool, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    shoal.anonymize(PEOPLE, insensitive="rest", k=2, progress=True, **ROLES)
    shown = capsys.readouterr()
    assert shown.out == ""
    if terminal:
        assert "verify" in shown.err
        assert "[####" in shown.err
        assert shown.err.rpartition("\r")[2] == "", "nothing is left of it"
        assert "\n" not in shown.err
    else:
        assert shown.err.splitlines()[:2] == ["read", "coarsen"]
    shoal.anonymize(PEOPLE, insensitive="rest", k=2, progress=False, **ROLES)
    assert capsys.readouterr().err == ""
