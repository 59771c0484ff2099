"""What holds together: every proven cell by counting or by enumeration, every other cell is refused."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import fields
from fractions import Fraction
from itertools import permutations
from typing import Any

import polars as pl
import pytest
from tests.every import some

import shoal
from shoal.errors import UnsupportedError, UsageError
from shoal.models.promises import FEATURES, PROMISES, check_together

TREE = shoal.Hierarchy.from_rows([(str(age), f"{age // 2}s", "*") for age in range(12)])
LARGE = shoal.Hierarchy.from_rows([(value, value.upper(), "*") for value in "xyzw"])
SEXES = shoal.Hierarchy.from_rows([("m", "any", "*"), ("f", "any", "*")])
SPENDING = shoal.DifferentialPrivacy(1, 0.1)
ASKED: dict[str, dict[str, Any]] = {
    "groups": {"k": 2, "l": 2},
    "person": {"person": "id"},
    "units": {"units": ["id"]},
    "rows_per_person": {"person": "id", "rows_per_person": 1},
    "kept_rows": {"person": "id", "rows_per_person": 1, "kept_rows": "first", "order": "day"},
    "link": {"person": "id", "link": True, "k": 2},
    "lists": {"lists": {"dx": ";"}, "l": 2},
    "qi_sets": {"qi_sets": ["a", "b", "day"]},
    "knows": {"knows": 1},
    "harmless": {"harmless": "x", "l": 2},
    "missing_sensitive": {"missing_sensitive": "value"},
    "coarse_attributes": {"coarsen": {"dx": shoal.Level(LARGE, 1)}},
    "coarsen": {"coarsen": {"a": shoal.Round(2)}},
    "since_first": {"person": "id", "coarsen": {"day": shoal.SinceFirst()}},
    "hierarchies": {"hierarchies": {"a": TREE}, "recoding": "generalization"},
    "exact_ends": {"exact_ends": True, "recoding": "generalization"},
    "weights": {"weights": {"a": 2}},
    "limits": {"limits": {"a": (0, 1)}},
    "suppression_limit": {"suppression_limit": 0.5},
    "equal_forms": {},
    "keep_order": {"keep_order": True},
    "seed": {"seed": 1},
    "stream": {"engine": "stream"},
    "resist": {"resist": "minimality", "l": 2},
    "epsilon": {"privacy": [SPENDING]},
    "second_epsilon": {"privacy": [SPENDING, shoal.DifferentialPrivacy(2, 0.1)]},
    "of_release": {"privacy": [shoal.AverageRisk(0.5)]},
}
SILENT = {
    # What is read and how it is written, and roles, whose columns each promise is about.
    *("quasi_identifiers", "sensitive", "direct_identifiers", "insensitive", "missing_person", "order"),
    *("privacy", "k", "l", "t", "algorithm", "engine", "memory", "recoding", "largest_set", "star", "normalize"),
    *("dates", "decimal", "delimiter", "encoding", "sheet", "header_row", "replace_values", "derive", "about"),
    *("output", "format", "spreadsheet_safe", "publish_proof", "strict", "force"),
}


def request_for(names: Collection[str]) -> dict[str, Any]:
    """Ask for all of it together."""
    asked: dict[str, Any] = {"quasi_identifiers": ["a", "b", "day"], "sensitive": "dx", "direct_identifiers": ["id"]}
    for name in dict.fromkeys(names):
        for key, value in ASKED[name].items():
            together = asked.get(key)
            joined = [*together, *value] if key == "privacy" and together else value
            asked[key] = {**together, **value} if key == "coarsen" and together else joined
    if {"person", "units"} & {*asked}:
        asked["direct_identifiers"] = []
    if {"of_release", "stream"} <= {*names}:  # intervals and sets for it need hierarchies, which are not made in pieces
        asked["recoding"] = "suppression"
    if {"lists", "since_first"} <= {*names}:
        asked["rows_per_person"] = 1
    if any(isinstance(model, shoal.DifferentialPrivacy) for model in asked.get("privacy", ())):
        asked |= {"sensitive": None, "direct_identifiers": [*asked["direct_identifiers"], "dx"]}
        asked["hierarchies"] = {}
    if {"lists", "coarse_attributes"} <= {*names}:  # lists themselves are not made coarser
        asked |= {"quasi_identifiers": ["a", "day"], "insensitive": ["b"], "coarsen": {"b": shoal.Level(SEXES, 1)}}
    return asked


def visits(persons: int, rows: int) -> pl.DataFrame:
    """Make a table of persons with a few rows each."""
    at = range(persons * rows)
    return pl.DataFrame(
        {
            "id": [one // rows for one in at],
            "a": [one * 7 % 12 for one in at],
            "b": [("m", "f")[one * 5 // 3 % 2] for one in at],
            "day": [f"2020-0{1 + one % 3}-01" for one in at],
            "dx": [("x", "y", "z", "w")[one * 11 // 4 % 4] for one in at],
        }
    ).with_columns(pl.col("day").str.to_date())


def cells(judged: str, *promises: str) -> list[tuple[str, str]]:
    return [(name, one) for name in promises for one in FEATURES if PROMISES[name].judge(one)[0] == judged]


def test_the_table_knows_each_promise_and_each_field_of_a_request():
    for name, promise in PROMISES.items():
        stated = [*promise.proven.split(), *promise.measured.split()]
        stated += [one for features in promise.refused for one in features.split() if one not in stated]
        assert set(stated) <= set(FEATURES), name
        assert max(Counter(stated).values()) == 1, name
    # A new field of requests is judged beside each promise, or says nothing.
    assert {one.name for one in fields(shoal.Request)} - set(FEATURES) <= SILENT
    # What is in no cell is refused.
    with pytest.raises(UnsupportedError, match="nothing proves that the promise still holds"):
        check_together(["resist", "kept_rows"])


def test_what_units_do_not_go_with_says_to_leave_them_out():
    home = {"quasi_identifiers": ["a"], "person": "id", "units": ["home"], "rows_per_person": 1}
    table = visits(12, 2).select("id", "a", home=pl.col("id") // 2)
    with pytest.raises(UnsupportedError, match="Leave out the 'units' parameter or DifferentialPrivacy") as caught:
        shoal.anonymize(table, **home, privacy=SPENDING)
    assert "rows_per_person" not in str(caught.value)


def test_what_is_refused_is_refused_with_a_reason():
    for promise, feature in cells("refused", "resist", "epsilon", "qi_sets", "link", "lists", "of_release"):
        with pytest.raises(UsageError) as caught:
            shoal.anonymize(visits(12, 2), **request_for([promise, feature]))
        assert len(str(caught.value)) > 40, (promise, feature)
    for _, feature in cells("refused", "explore"):
        if feature != "second_epsilon":
            with pytest.raises(UnsupportedError, match="explore does not go together"):
                shoal.explore(visits(12, 2), **request_for([*["groups"] * (feature != "epsilon"), feature]))


def test_proven_cells_hold_by_counting():
    for promise, feature in some(cells("proven", "groups", "of_release", "qi_sets", "knows", "link", "lists")):
        if {"resist", "epsilon", "second_epsilon"} & {promise, feature}:
            continue  # enumerated below
        asked = request_for(dict.fromkeys(["groups", promise, feature]))
        table = visits(12, 1 if "rows_per_person" in asked else 2)
        release = shoal.anonymize(table.lazy() if feature == "stream" else table, **asked | {"seed": 3})
        data = release.data.lazy().collect().with_columns(pl.all().cast(pl.String))
        harmless = {"x"} if feature == "harmless" else set()
        known = {"qi_sets": [["a"], ["b"], ["day"]], "knows": [["a"], ["b"], ["day"]]}
        for names in known.get(promise, known.get(feature, [asked["quasi_identifiers"]])):
            for _, group in data.group_by(names):
                assert group.height >= 2, (promise, feature)
                values = Counter(group["dx"].to_list())
                most = max(n for one, n in values.items() if one not in harmless)
                assert 2 * most <= group.height, (promise, feature)


def largest_belief(values: list[str | None], ages: list[int], **asked: Any) -> Fraction:
    """Return the largest belief in a value of a row, for somebody who knows all of the table but the values."""
    columns = ["id", "a"] if "person" in asked else ["a"]
    table = visits(len(values), 1).with_columns(a=pl.Series(ages)).select(columns)
    asked |= {"direct_identifiers": []}
    found = defaultdict(Counter)
    for original in sorted(set(permutations(values)), key=str):
        data = table.with_columns(dx=pl.Series(original, dtype=pl.String))
        release = shoal.anonymize(data.lazy() if "engine" in asked else data, **asked | {"seed": 1})
        found[tuple(release.data.lazy().collect().rows())][original] += 1
    return max(
        Fraction(sum(n for originals, n in made.items() if originals[row] == value), sum(made.values()))
        for made in found.values()
        for row in range(len(values))
        for value in {*values} - {asked.get("harmless")}
    )


@pytest.mark.drawn
def test_proven_cells_of_minimality_hold_by_enumeration(monkeypatch):
    one = {"quasi_identifiers": ["a"]}
    # Half of the records have one value, so that none is drawn by chance, and each seed keeps the promise.
    for _, feature in some(cells("proven", "resist")):
        # Two records are a point, so that groups may publish the same.
        asked = request_for(["resist", feature]) | one
        values = ["x", "x", None, "z"] if feature == "missing_sensitive" else [*"xxyz"]
        assert largest_belief(values, [0, 1, 2, 2], **asked) <= Fraction(1, 2), feature
    # The enumeration finds what a refused cell gives away.
    monkeypatch.setattr("shoal.request.request.check_together", lambda asked: None)
    asked = request_for(["resist", "harmless", "exact_ends"]) | one
    assert largest_belief([*"xxxyyz"], [*range(6)], **asked) > Fraction(1, 2)


@pytest.mark.drawn
def test_proven_cells_of_differential_privacy_publish_large_classes_only():
    for _, feature in cells("proven", "epsilon"):
        table = visits(2_000, 1).with_columns(a=pl.lit(1), day=pl.col("day").dt.truncate("1y"))
        asked = request_for(["epsilon", feature])
        if feature == "hierarchies":
            paid = shoal.DifferentialPrivacy(1, 0.1, level_epsilon=0.1)
            asked |= {"privacy": paid, "hierarchies": {"a": TREE}}
        release = shoal.anonymize(table.lazy() if feature == "stream" else table, **asked)
        (stated,) = release.certificate.requested
        assert stated["epsilon"] == 1, feature
        sizes = release.data.lazy().group_by(["a", "b", "day"]).len().collect()["len"]
        assert sizes.min() >= stated["k"], feature
