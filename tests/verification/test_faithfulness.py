"""Every published cell holds the value of its row: for all coarsenings, recodings and hierarchies, against an oracle.

The oracle knows what each coarsening means, and reads cells by a few lines of its own.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every, few

import shoal
from shoal.errors import InfeasibleError, ReleaseUnsafeError
from shoal.grouping import Labels, Ordered, Points, Regions
from shoal.hierarchy import (
    Bins,
    BottomCode,
    Coarsening,
    DatePart,
    Hierarchy,
    Level,
    OneValue,
    Prefix,
    Round,
    ThreeDigitZip,
    TopCode,
    quantile_hierarchy,
)
from shoal.pipeline import recoded
from shoal.pipeline import verify as checking
from shoal.verification import check_faithful, collect_meanings
from shoal.verification.meaning import KINDS
from shoal.verification.published_columns import ReadColumn

CODES = ["02139", "02140", "03601", "10001", "10456", "90210"]
NEIGHBOURS = [*pairwise(CODES)]
JOBS = ["cook", "nurse", "pilot", "smith"]
TREE = Hierarchy.from_rows([(job, "indoors" if job < "p" else "outdoors", "*") for job in JOBS])

# What the oracle knows.


def place(text: str) -> Any:
    return dt.date.fromisoformat(text) if text[4:5] == "-" else Fraction(text)


def ends(cell: str) -> tuple[str, str]:
    """Return the two ends of an interval; both are the cell where it is none."""
    low, high = cell[1:-1].split(", ") if cell[0] == "[" else (cell, cell)
    return low, high


def stretch(cell: str) -> tuple[Any, Any, bool]:
    """Return the least and the greatest number or date of a cell, and whether the greatest belongs to it."""
    low, high = ends(cell)
    least = None if low[0] == "<" else place(low.removeprefix(">=").removesuffix("+"))
    greatest = None if high[-1] == "+" or high[0] == ">" else place(high.lstrip("<="))
    return least, greatest, not cell.endswith(")") and (high[0] != "<" or high[1] == "=")


def holds_number(cell: str, value: Any) -> bool:
    least, greatest, included = stretch(cell)
    exact = Fraction(repr(value)) if isinstance(value, float) else value
    above = least is None or least <= exact
    return bool(above and (greatest is None or exact < greatest or (included and exact == greatest)))


def holds_rounded(cell: str, value: Any, step: float) -> bool:
    half = Fraction(repr(step)) / 2
    return any(holds_number(cell, Fraction(repr(value)) + move) for move in (half, 0, -half)) or (
        cell[0] != "[" and abs(Fraction(cell) - Fraction(repr(value))) <= half
    )


def holds_part(cell: str, value: dt.date, part: str) -> bool:
    quarter = f"{value.year}-Q{(value.month + 2) // 3}"
    told = {"year": str(value.year), "quarter": quarter, "month": f"{value:%Y-%m}"}[part]
    low, high = ends(cell)
    return (low.startswith("<=") or low <= told) and told <= high.removeprefix("<=")


def holds_prefix(cell: str, prefixes: list[str]) -> bool:
    low, high = ends(cell)
    return any(one in cell or (cell[0] == "[" and int(low) <= int(one) <= int(high)) for one in prefixes)


def holds(cell: str | None, value: Any, how: Coarsening | None, tree: Hierarchy | None) -> bool:
    """Return whether a reader who knows the coarsening and the hierarchy finds a value in a cell."""
    if cell is None or value is None:
        return cell == "*" or (cell is None and value is None)
    if cell in ("*", "any", "any job"):
        return True
    if isinstance(how, TopCode | BottomCode) and how.label is not None:
        cell = cell.replace(how.label, f"{how.at}+" if isinstance(how, TopCode) else f"<={how.at}")
    if tree is not None:
        return any(str(value) == row[0] and cell in row for row in tree.rows())
    return holds_coarse(cell, value, how)


def holds_coarse(cell: str, value: Any, how: Coarsening | None) -> bool:
    if isinstance(how, Labels | Regions):
        return value in cell  # all names and codes are told apart by their letters
    if isinstance(how, Level):
        return TREE.rows()[JOBS.index(value)][how.level] in cell
    if isinstance(how, Prefix | ThreeDigitZip):
        return holds_prefix(cell, [value[: how.n]] if isinstance(how, Prefix) else [value[:3], "000"])
    if isinstance(how, Round):
        return holds_rounded(cell, value, how.to)  # type: ignore[arg-type]
    if isinstance(how, DatePart):
        return holds_part(cell, value, how.part)
    return value in cell if isinstance(value, str) else holds_number(cell, value)


def untrue(made: shoal.Release, case: Case) -> list[str]:
    """Return the columns of the cells that do not hold the value of their row."""
    how = {name: one for key, one in case.coarsen.items() for name in ((key,) if isinstance(key, str) else key)}
    return [
        name
        for name in made.schema.quasi_identifiers
        for cell, row in zip(made.data[name].to_list(), made.rows.tolist(), strict=True)
        if not holds(None if cell is None else str(cell), case.table[name][row], how.get(name), case.trees.get(name))
    ]


# Tables, coarsenings and hierarchies of every kind.


@dataclass
class Case:
    table: pl.DataFrame
    coarsen: dict[Any, Coarsening]
    trees: dict[str, Hierarchy]
    options: dict[str, Any]

    def release(self) -> shoal.Release:
        return shoal.anonymize(
            self.table,
            quasi_identifiers=[name for name in self.table.columns if name not in ("s", "note")],
            sensitive="s",
            insensitive=["note"],
            coarsen=self.coarsen,
            hierarchies=self.trees,
            **self.options,
        )


NUMBERS = [
    Bins(10),
    Bins(cuts=[18, 65]),
    Bins(quantiles=3),
    Round(5),
    Round(0.5),
    TopCode(60),
    TopCode(60, label="old"),
    BottomCode(20),
    BottomCode(20, label="young"),
    Ordered(k=2),
    OneValue(),
]
OF_COLUMN: dict[str, list[Coarsening]] = {
    "age": NUMBERS,
    "weight": NUMBERS,
    "zip": [
        Prefix(2),
        Prefix(3),
        ThreeDigitZip(),
        Labels(k=2),
        Regions(NEIGHBOURS, k=2),
        OneValue(),
    ],
    "day": [*(DatePart(part) for part in ("year", "quarter", "month")), DatePart("year", earliest=2003), Ordered(k=2)],
    "job": [Level(TREE, 1), Labels(k=2), OneValue(label="any job")],
}


@st.composite
def cases(draw: st.DrawFn, *, min_rows: int = 4) -> Case:
    n = draw(st.integers(min_rows, 24))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns = {
        "age": pl.Series(rng.integers(0, 111, n)),
        "weight": pl.Series(rng.integers(0, 1000, n) / 10),
        "zip": pl.Series(rng.choice(CODES, n)),
        "day": pl.Series([dt.date(2003, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 900, n)]),
        "job": pl.Series(rng.choice(JOBS, n)),
    }
    names = draw(st.lists(st.sampled_from(list(columns)), min_size=1, max_size=3, unique=True))
    table = {name: columns[name].alias(name) for name in names}
    for name in names:
        if draw(st.integers(0, 3)) == 0:
            table[name] = table[name].set(pl.Series(rng.random(n) < 0.2), None)
    recoding = draw(st.sampled_from(["generalization", "generalization", "suppression"]))
    coarsen: dict[Any, Coarsening] = {}
    trees: dict[str, Hierarchy] = {}
    for name in names:
        kind = draw(st.sampled_from(["coarse", "coarse", "tree", "plain"]))
        if kind == "coarse":
            coarsen[name] = draw(st.sampled_from(OF_COLUMN[name]))
        elif kind == "tree" and recoding == "generalization" and name in ("age", "job"):
            known = table[name].null_count() < n
            trees |= {name: TREE if name == "job" else quantile_hierarchy(table[name], 4)} if known else {}
    if draw(st.integers(0, 2)) == 0:
        table |= {"x": pl.Series(rng.integers(0, 100, n)), "y": pl.Series(rng.integers(0, 100, n) / 8)}
        coarsen["x", "y"] = Points(k=draw(st.integers(1, 4)))
    table |= {"s": pl.Series(rng.choice(["a", "b"], n)), "note": pl.Series(rng.integers(0, 9, n))}
    options = {
        "privacy": shoal.KAnonymity(draw(st.integers(1, max(n // 3, 1)))),
        "algorithm": draw(st.sampled_from(["mondrian", "hilbert"])),
        "recoding": recoding,
        "keep_order": draw(st.booleans()),
        "seed": draw(st.integers(0, 9)),
    }
    return Case(table=pl.DataFrame(table), coarsen=coarsen, trees=trees, options=options)


@settings(max_examples=100, deadline=None)
@given(cases())
def test_every_cell_of_every_release_holds_the_value_of_its_row(case: Case) -> None:
    try:
        made = case.release()
    except InfeasibleError:  # of a coarsening: fewer values than k
        return
    assert untrue(made, case) == []


# The check, against single cells that are changed.


def arguments(case: Case, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    """Return what the check of the release of a case is given."""
    seen: list[Any] = []

    def spy(*args: Any, **named: Any) -> None:
        seen.append((args, named))
        check_faithful(*args, **named)

    with monkeypatch.context() as patch:
        patch.setattr(checking, "check_faithful", spy)
        case.release()
    ((args, named),) = seen
    return args, named


def test_a_cell_that_is_changed_is_noticed_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = 0

    @settings(max_examples=few(25, least=6), deadline=None)
    @given(cases(min_rows=8), st.randoms(use_true_random=False))
    def every_time(case: Case, random: Any) -> None:
        nonlocal tried
        try:
            (published, original, rows), named = arguments(case, monkeypatch)
        except InfeasibleError:
            return
        how = {name: one for key, one in case.coarsen.items() for name in ((key,) if isinstance(key, str) else key)}
        for name in [*named["meanings"], *named["unchanged"]]:
            texts = published[name].cast(pl.String).to_list()
            at = random.randrange(len(texts))
            value = original[name][int(rows[at])]
            for other in sorted({*texts, None} - {texts[at]}, key=str)[:5]:
                plain = name in named["unchanged"]
                if not plain and holds(other, value, how.get(name), case.trees.get(name)):
                    continue
                changed = published[name].to_list()
                changed[at] = None if other is None else published[name][texts.index(other)]
                column = pl.Series(name, changed, dtype=published[name].dtype)
                with pytest.raises(ReleaseUnsafeError, match=rf"1 of '{name}'"):
                    check_faithful(published.with_columns(column), original, rows, **named)
                tried += 1

    every_time()
    assert tried > few(50)


def test_rows_that_stand_for_others_are_noticed() -> None:
    original = pl.DataFrame({"age": [1, 2, 3], "s": ["a", "b", "c"]})
    meanings = collect_meanings(["age"], {})
    check_faithful(original, original, np.array([0, 1, 2]), meanings=meanings, unchanged=["s"])
    with pytest.raises(ReleaseUnsafeError, match=r"2 of 'age', 2 of 's'"):
        check_faithful(original, original, np.array([1, 0, 2]), meanings=meanings, unchanged=["s"])
    for rows in ([0, 0, 2], [0, 1]):
        with pytest.raises(ReleaseUnsafeError, match="one to one to rows of the input"):
            check_faithful(original, original, np.array(rows), meanings=meanings)


def test_the_points_whose_rectangles_overlap() -> None:
    rng = np.random.default_rng(7)
    table = pl.DataFrame({"x": rng.integers(0, 100, 16), "y": rng.integers(0, 100, 16)})
    table = table.with_columns(s=pl.Series([str(value) for value in rng.integers(0, 5, 16)]))
    made = shoal.anonymize(
        table,
        quasi_identifiers=["x", "y"],
        sensitive="s",
        privacy=shoal.KAnonymity(6),
        algorithm="mondrian",
        recoding="generalization",
        coarsen={("x", "y"): Points(k=3)},
        keep_order=True,
        seed=1,
        exact_ends=True,
    )
    assert table["x"][0] == 94
    assert made.data["x"][0] == "[57, 94]"
    for name in ("x", "y"):
        assert all(holds_number(cell, value) for cell, value in zip(made.data[name], table[name], strict=True))


def test_an_untrue_release_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def swapped(*args: Any, **named: Any) -> Any:
        frame, rows = real(*args, **named)
        return frame, rows[::-1].copy()

    real = recoded.publish_frame
    table = pl.DataFrame({"age": [20, 20, 20, 60, 60, 60], "s": ["a", "b", "c"] * 2})
    monkeypatch.setattr(recoded, "publish_frame", swapped)
    with pytest.raises(ReleaseUnsafeError, match=r"6 of 'age'") as caught:
        shoal.anonymize(table, quasi_identifiers=["age"], sensitive="s", privacy=shoal.KAnonymity(3))
    assert "20" not in str(caught.value)


@dataclass(frozen=True)
class Halves(Coarsening):
    """One of the caller's own: it is believed what it makes of each value."""

    described: str = "halves"

    def apply(self, columns: tuple[pl.Series, ...]) -> tuple[pl.Series, ...]:
        (column,) = columns
        return ((column < 50).replace_strict({True: "[0, 50)", False: "high"}, return_dtype=pl.String),)

    def to_dict(self) -> dict[str, Any]:
        return {"coarsening": self.described}


@dataclass(frozen=True)
class Wrong(Bins):
    """A coarsening that is called like one of shoal's, and does another thing."""

    def coarsen(self, columns: tuple[pl.Series, ...]) -> Any:
        (column,) = columns
        return super().coarsen(((column + 10).alias(column.name),))


def test_coarsenings_of_the_callers_own() -> None:
    table = pl.DataFrame({"age": [3, 40, 60, 99], "s": ["a", "b", "a", "b"]})
    request: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": "s", "privacy": shoal.KAnonymity(2)}
    made = shoal.anonymize(table, **request, coarsen={"age": Halves()})
    assert made.data["age"].unique().sort().to_list() == ["[0, 50)", "high"]
    with pytest.raises(ReleaseUnsafeError, match=r"of 'age'"):
        shoal.anonymize(table, **request, recoding="generalization", algorithm="mondrian", coarsen={"age": Wrong(10)})


def test_every_coarsening_says_what_its_cells_are() -> None:
    for coarsening in [one for some in OF_COLUMN.values() for one in some] + [Points(k=1)]:
        assert coarsening.to_dict()["coarsening"] in KINDS
        assert type(coarsening).self_evident is not isinstance(coarsening, Labels | Regions | Level)


@every(
    ("values", "coarsening"),
    [
        (["123456789012345678.5", "123456789012345679.5"], Round(0.5)),
        ([10**20, 10**20 + 3], Round(7)),
        ([0.1, 0.5, 1e-7], Round(Fraction(1, 3))),
        ([0.1, 0.5, 1.0], TopCode(Fraction(1, 3))),
        ([0.1, 0.5, 1.0], BottomCode(Fraction(1, 3), label="few")),
    ],
)
def test_numbers_that_floats_do_not_hold(values: list[Any], coarsening: Coarsening) -> None:
    kind = pl.String if isinstance(values[0], str) else pl.Int128 if values[0] == 10**20 else pl.Float64
    table = pl.DataFrame({"q": pl.Series(values, dtype=kind), "s": ["a"] * len(values)})
    shoal.anonymize(
        table, quasi_identifiers=["q"], sensitive="s", privacy=shoal.KAnonymity(1), coarsen={"q": coarsening}
    )


def test_blanks_at_the_ends_of_members_stay() -> None:
    table = pl.DataFrame({"q": [" a", "a", " a", "c ", "c", "d"], "s": ["x"] * 6})
    made = shoal.anonymize(
        table,
        quasi_identifiers=["q"],
        sensitive="s",
        privacy=shoal.KAnonymity(2),
        recoding="generalization",
        algorithm="mondrian",
        exact_ends=True,
    )
    assert set(made.data["q"]) == {'{" a", a}', '{c, "c ", d}'}


@pytest.mark.parametrize("largest", [2**64 - 1, 2**63 - 1])
def test_the_largest_whole_numbers(largest: int) -> None:
    kind = pl.UInt64 if largest >= 2**63 else pl.Int64
    table = pl.DataFrame({"q": pl.Series([largest] * 2 + [None] * 2, dtype=kind), "s": list("xyxy")})
    release = shoal.anonymize(table, quasi_identifiers=["q"], sensitive="s", privacy=shoal.KAnonymity(2))
    assert release.data["q"].drop_nulls().to_list() == [largest] * 2


@pytest.mark.parametrize("algorithm", ["mondrian", "full-domain", "cluster"])
def test_a_node_over_the_empty_line_holds_missing_values(algorithm: str) -> None:
    tree = shoal.Hierarchy.from_rows([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("", "y", "*")])
    given: dict[str, Any] = {"privacy": shoal.KAnonymity(2), "hierarchies": {"q": tree}, "seed": 0}
    for cells, shown in (
        (["a", "b", "c", None], ["x", "x", "y", "y"]),
        (["a", "b", None, None], ["x", "x", None, None]),
        (["a", "b", "", None], ["x", "x", "*", "*"]),  # the line is that of the text: a missing value is elsewhere
    ):
        table = pl.DataFrame({"q": cells, "s": list("vuvu")})
        release = shoal.anonymize(
            table, quasi_identifiers=["q"], sensitive="s", algorithm=algorithm, recoding="generalization", **given
        )
        if cells[2:] != [None, None] or algorithm != "full-domain":
            assert Counter(release.data["q"].to_list()) == Counter(shown)


def test_only_cells_that_occur_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dates and numbers have a code for each value between the first and the last; most have no row."""
    frame = pl.DataFrame(
        {"day": [dt.date(1900, 1, 1), dt.date(2020, 1, 1), None], "number": [70_000, 1, 5], "text": ["a", "b", "a"]}
    )
    read, reading = [], ReadColumn.sub_domain
    monkeypatch.setattr(ReadColumn, "sub_domain", lambda self, text: read.append(text) or reading(self, text))
    meanings = collect_meanings(frame.columns, {}, trees={})
    check_faithful(frame, frame, np.arange(3), meanings=meanings)
    assert {"1900-01-01", "2020-01-01", "70000", "1", "5", "a", "b", None} == set(read)
    with pytest.raises(ReleaseUnsafeError):
        check_faithful(frame, frame, np.array([1, 0, 2]), meanings=meanings)
    with pytest.raises(ReleaseUnsafeError):
        check_faithful(frame, frame, np.array([2, 1, 0]), meanings=meanings)
