"""Limits of levels with every algorithm that groups rows by similarity."""

from __future__ import annotations

from random import Random
from typing import Any

import polars as pl
import pytest
from tests.every import THOROUGH, every, few
from tests.oracles.level_limits import allowed_cells, fewest_suppressed_rows

import shoal
from shoal.algorithms.algorithm_list import ALGORITHMS
from shoal.errors import ParameterError, ReleaseUnsafeError, UnsupportedError
from shoal.verification import check_level_limits
from shoal.wording import sentence

SERVING = [name for name, one in ALGORITHMS.items() if one.capabilities.serves_limits]
TREE = [
    ("a", "ab", "early", "*"),
    ("b", "ab", "early", "*"),
    ("c", "cd", "early", "*"),
    ("d", "cd", "early", "*"),
    ("e", "e", "late", "*"),
    ("f", "f", "late", "*"),
]
FLAT = {value: (value, "*") for value in "xyz"}


def small_table(random: Random, rows: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "code": [random.choice("abcde") for _ in range(rows)],
            "kind": [random.choice("xyz") for _ in range(rows)],
            "age": [random.randrange(20, 25) for _ in range(rows)],
        }
    )


@every("name", SERVING, drawn=True)
def test_published_cells_are_within_the_limits_and_no_more_rows_are_suppressed(name: str) -> None:
    random, seen = Random(7), set()
    for trial in range(few(12)):
        k = 2 if name == "matching" else random.choice([2, 3])
        table = small_table(random, 2 * random.randrange(4, 10))
        recoding = random.choice(["suppression", "generalization"])
        climbs = recoding == "generalization"
        height = 3 if climbs else 1
        low = random.randrange(height)
        # A node of one value moves up.
        tree = [row if not low or row[0] in "abcd" else (row[0], "late", "late", "*") for row in TREE]
        ways = [{row[0]: row for row in tree} if climbs else {value: (value, "*") for value in "abcde"}, FLAT]
        limits = {"code": (low, random.randrange(low, height + 1)), "kind": random.choice([(0, 0), (0, 1), (1, 1)])}
        hierarchies = {"code": shoal.Hierarchy.from_rows(TREE)} if climbs else {}
        if ALGORITHMS[name].capabilities.hierarchical and climbs:
            flat = [(value, "*") for value in "xyz"]
            hierarchies["kind"] = shoal.Hierarchy.from_rows(flat)
        release = shoal.anonymize(
            table,
            quasi_identifiers=table.columns,
            k=k,
            algorithm=name,
            recoding=recoding,
            hierarchies=hierarchies,
            limits=limits,
            keep_order=True,
            seed=trial,
        )
        rows, cells = table.rows(), release.data.with_columns(pl.all().cast(pl.String)).rows()
        suppressed = [row for row in cells if set(row) == {"*"}]
        for row, shown in zip(rows, cells, strict=True):
            if set(shown) == {"*"}:
                continue
            assert shown[0] in allowed_cells(ways[0][row[0]], limits["code"], stars_from=height)
            assert (shown[1] == row[1]) or limits["kind"][1] == 1
            assert (shown[1] == "*") or limits["kind"][0] == 0
        fewest = fewest_suppressed_rows([row[:2] for row in rows], ways, [*limits.values()], k)
        assert len(suppressed) >= fewest
        assert release.certificate.parameters["limits"] == {key: list(pair) for key, pair in limits.items()}
        seen.add(bool(suppressed))
    assert seen == {True, False} or not THOROUGH


def test_rows_without_a_group_are_suppressed_together_with_the_smallest_groups() -> None:
    """One `z` cannot be hidden among others: a group of two joins it, rather than the one of four."""
    table = pl.DataFrame({"kind": ["x"] * 4 + ["y"] * 2 + ["z"], "age": [1, 1, 1, 1, 3, 3, 4]})
    release = shoal.anonymize(
        table, quasi_identifiers=table.columns, k=2, algorithm="mondrian", limits={"kind": (0, 0)}, keep_order=True
    )
    assert release.data["kind"].to_list() == ["x"] * 4 + ["*"] * 3
    assert release.certificate.details["suppressed_rows"] == 3
    assert "suppressed if that left too few" in sentence(release.certificate.guarantee.promise)
    # Sensitive values count in the same way.
    table = table.with_columns(ill=pl.Series(["p", "q", "p", "q", "p", "q", "r"]))
    diverse = shoal.anonymize(
        table.drop("age"),
        quasi_identifiers=["kind"],
        sensitive="ill",
        l=2,
        algorithm="cluster",
        limits={"kind": (0, 0)},
    )
    assert diverse.data.sort("kind")["kind"].to_list() == ["*"] * 3 + ["x"] * 4


def test_a_lowest_level_does_not_keep_values_apart() -> None:
    """Below the lowest level, the values of `code` are equal: each pair of rows is a group, and ages stay."""
    table = pl.DataFrame({"code": ["a", "b", "c", "d"], "age": [20, 20, 30, 30]})
    tree = shoal.Hierarchy.from_rows(TREE)
    release = shoal.anonymize(
        table,
        quasi_identifiers=table.columns,
        k=2,
        algorithm="exact",
        recoding="generalization",
        hierarchies={"code": tree},
        limits={"code": (1, 2)},
        keep_order=True,
    )
    assert release.data["code"].to_list() == ["ab", "ab", "cd", "cd"]
    assert release.data["age"].cast(pl.String).to_list() == ["20", "20", "30", "30"]


def test_a_limit_publishes_no_node_of_one_value() -> None:
    jobs = pl.DataFrame(
        {"job": ["nurse"] * 12 + ["pope", "smith", "clerk", "cook"] * 4, "age": list(range(20, 24)) * 7}
    )
    asked: dict[str, Any] = {"quasi_identifiers": jobs.columns, "k": 2, "recoding": "generalization", "seed": 1}
    # Automatic hierarchies: an odd number of jobs, and as many intervals as there are ages.
    for name in ("job", "age"):
        release = shoal.anonymize(jobs, limits={name: (1, 1)}, **asked)
        shown = set(release.data[name].cast(pl.String)) - {"*"}
        assert shown
        assert not shown & set(jobs[name].cast(pl.String)), shown
        assert all("," in cell for cell in shown) or name == "age"
    # A node of one value joins the other nodes of its parent, in each algorithm.
    tree = [("clerk", "clerk", "office", "*"), ("cook", "care", "office", "*"), ("nurse", "care", "office", "*")]
    tree += [("pope", "trade", "craft", "*"), ("smith", "trade", "craft", "*")]
    for algorithm in ("auto", "full-domain", "mondrian", "cluster"):
        given = {"job": shoal.Hierarchy.from_rows(tree)}
        release = shoal.anonymize(jobs, hierarchies=given, limits={"job": (1, 2)}, algorithm=algorithm, **asked)
        assert set(release.data["job"]) <= {"office", "trade", "craft", "*"}, algorithm
    # Directly below the root there is no other node to join.
    given = {"job": shoal.Hierarchy.from_rows([(row[0], row[1], "*") for row in tree])}
    with pytest.raises(ParameterError, match="level 1 of its hierarchy has a node of one value"):
        shoal.anonymize(jobs, hierarchies=given, limits={"job": (1, 1)}, **asked)
    assert set(shoal.anonymize(jobs, hierarchies=given, limits={"job": (2, 2)}, **asked).data["job"]) == {"*"}
    # A missing value is a value: without a line in the hierarchy it would stay as it is.
    missing = jobs.with_columns(job=pl.col("job").replace("pope", None))
    given = {"job": shoal.Hierarchy.from_rows([*tree[:3], tree[4]])}
    for more in ({"hierarchies": given}, {}, {"algorithm": "full-domain"}):
        with pytest.raises(ParameterError, match="would publish missing values exactly: level 1"):
            shoal.anonymize(missing, limits={"job": (1, 1)}, **asked, **more)
    given = {
        "job": shoal.Hierarchy.from_rows([*tree[:3], ("smith", "trade", "craft", "*"), ("", "trade", "craft", "*")])
    }
    release = shoal.anonymize(missing, hierarchies=given, limits={"job": (1, 2)}, **asked)
    assert set(release.data["job"]) <= {"office", "trade", "craft", "*"}


def test_weights_and_limits_together() -> None:
    table = small_table(Random(1), 60)
    release = shoal.anonymize(
        table, quasi_identifiers=table.columns, k=3, algorithm="cluster", weights={"age": 3}, limits={"kind": (0, 0)}
    )
    assert set(release.data.filter(pl.col("kind") == "*")["code"]) <= {"*"}
    assert release.certificate.parameters["weights"] == {"age": 3}


def test_parts_of_a_streamed_table_are_within_the_limits(tmp_path: Any) -> None:
    table = small_table(Random(2), 400)
    table.write_csv(tmp_path / "in.csv")
    release = shoal.anonymize(
        tmp_path / "in.csv",
        quasi_identifiers=table.columns,
        k=4,
        limits={"kind": (0, 0)},
        algorithm="cluster",
        engine="stream",
    )
    assert (
        release.data.lazy().filter(pl.col("kind") == "*").select((pl.all() == "*").all()).collect().row(0)
        == (True,) * 3
    )


def test_the_verifier_finds_cells_outside_of_the_limits() -> None:
    tree = shoal.Hierarchy.from_rows(TREE)
    frame = pl.DataFrame({"code": ["a", "ab", "early", "*", "*"], "kind": ["x", "x", "x", "x", "*"]})

    def check(limit: tuple[int, int], rows: int | None = None, **more: Any) -> None:
        asked: dict[str, Any] = {"limits": {"code": limit}, "trees": {"code": tree}, "values": {}, **more}
        check_level_limits(frame[:rows], quasi_identifiers=frame.columns, **asked)

    check((0, 3))
    check((0, 2), 3)
    check((0, 1), 2)
    # A node of one value is the value.
    lone = pl.DataFrame({"code": ["e"], "kind": ["x"]})
    with pytest.raises(ReleaseUnsafeError, match="'code' outside of the limits"):
        check_level_limits(
            lone, quasi_identifiers=lone.columns, limits={"code": (1, 2)}, trees={"code": tree}, values={}
        )
    for limit, rows in (((0, 2), 4), ((1, 3), None), ((0, 1), 3), ((1, 1), 1)):
        with pytest.raises(ReleaseUnsafeError, match="'code' outside of the limits"):
            check(limit, rows)
    # Without a hierarchy: values, or anything else.
    ages = pl.DataFrame({"age": ["20", "[20, 30)", "{1, 2}"], "kind": "x"})
    for shown, values, level in ((["20"], {"20"}, 0), (["[20, 30)"], {"20"}, 1), (["[20, 30)"], {"[20, 30)"}, 0)):
        few = ages.filter(pl.col("age").is_in(shown))
        asked: dict[str, Any] = {"quasi_identifiers": ages.columns, "trees": {}, "values": {"age": values}}
        check_level_limits(few, limits={"age": (level, level)}, **asked)
        with pytest.raises(ReleaseUnsafeError):
            check_level_limits(few, limits={"age": (1 - level, 1 - level)}, **asked)


def test_algorithms_that_cannot_keep_limits_are_refused_with_those_that_can() -> None:
    table = small_table(Random(3), 30)
    for name in set(ALGORITHMS) - set(SERVING):
        with pytest.raises(UnsupportedError, match=r"cannot serve this request|together with limits of levels"):
            shoal.anonymize(
                table.with_columns(ill=pl.Series(["p", "q", "r"] * 10)),
                quasi_identifiers=table.columns,
                sensitive="ill",
                l=2,
                algorithm=name,
                limits={"kind": (0, 0)},
            )
