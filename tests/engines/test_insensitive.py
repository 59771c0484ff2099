"""Insensitive columns of a table that is read in pieces: each row keeps its own, and nothing of the order is told."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from tests.every import every, few

import shoal
from shoal.engines import MemoryBudget, attaching
from shoal.engines.sources import Streamed
from shoal.errors import DataError, InfeasibleError, ParameterError, ReleaseUnsafeError
from shoal.io import write_repeated
from shoal.release.streamed_rows import StreamedRows
from shoal.table.cells_kernel import shuffle_parts

if TYPE_CHECKING:
    from shoal.release.release import Release

QUASI = ["age", "sex"]
MODELS: dict[str, list[shoal.models.PrivacyModel]] = {
    "k": [shoal.KAnonymity(3)],
    "l": [shoal.LDiversity(2), shoal.KAnonymity(4)],
    "alpha": [shoal.AlphaKAnonymity(Fraction(3, 4), 3)],
}
BESIDE = ["visit", "cost", "note"]


def table(seed: int, rows: int = 80) -> pl.DataFrame:
    """A table whose column `visit` says which row of it a published one is."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": pl.Series(rng.integers(20, 24, rows), dtype=pl.Int32),
            "sex": pl.Series(rng.choice(["f", "m", None], rows, p=[0.5, 0.4, 0.1]).tolist(), dtype=pl.String),
            "ill": rng.choice(["a", "b", "c"], rows, p=[0.5, 0.3, 0.2]),
            "visit": pl.Series(rng.permutation(rows), dtype=pl.Int64),
            "cost": pl.Series(rng.choice([0.0, -0.0, 1.5, float("nan"), None], rows).tolist(), dtype=pl.Float64),
            "note": pl.Series(rng.choice(["", "x", "a longer note of a visit", None], rows).tolist(), dtype=pl.String),
        }
    )


def asked(privacy: Any = MODELS["k"], **options: Any) -> dict[str, Any]:
    return {
        "quasi_identifiers": QUASI,
        "sensitive": "ill",
        "insensitive": BESIDE,
        "privacy": privacy,
        "seed": 5,
        **options,
    }


def streamed(frame: pl.DataFrame, **options: Any) -> Release:
    made = shoal.anonymize(frame.lazy(), engine="stream", **asked(**options))
    assert isinstance(made.store, StreamedRows)
    assert made.store.attached is not None
    return made


def rows_of(frame: pl.DataFrame) -> list[tuple[str, ...]]:
    """The rows as text, which tells -0.0 from 0.0 and finds what is not a number."""
    return [tuple(map(repr, row)) for row in frame.iter_rows()]


def holds(data: pl.DataFrame, frame: pl.DataFrame) -> None:
    """Check that each row has the values of one row of the table, and shows what covers the others."""
    original = data[["visit"]].join(frame, on="visit", how="left", maintain_order="left")
    kept = ["ill", *BESIDE]
    assert rows_of(data[kept]) == rows_of(original[kept])
    assert sorted(data["visit"]) == sorted(frame["visit"])
    for name in QUASI:
        for shown, true in zip(data[name].cast(pl.String), original[name].cast(pl.String), strict=True):
            assert covers(shown, true)


def covers(shown: str | None, true: str | None) -> bool:
    """Whether a cell says nothing that is wrong: a value, a star, an interval or a set."""
    if shown in (true, "*"):
        return True
    if shown is None or true is None:
        return False
    inside = [part.strip() for part in shown[1:-1].split(",")]
    return true in inside if shown[0] == "{" else int(inside[0]) <= int(true) <= int(inside[1])


@every(
    ("algorithm", "model"),
    [(name, model) for name in ("tp", "tp+", "hilbert", "mondrian", "cluster") for model in MODELS]
    + [("m-approximation", "k")],
    drawn=True,
)
def test_each_row_keeps_its_own_and_the_stars_are_those_of_memory(algorithm: str, model: str) -> None:
    compared = 0
    for seed, recoding in enumerate(("suppression", "generalization", "suppression")):
        frame = table(seed)
        options = asked(MODELS[model], algorithm=algorithm, recoding=recoding)
        try:
            here = shoal.anonymize(frame, **options)
        except InfeasibleError:
            continue
        there = streamed(frame, privacy=MODELS[model], algorithm=algorithm, recoding=recoding)
        data = there.data.collect()
        holds(data, frame)
        assert data.columns == here.data.columns
        assert data.schema == here.data.schema
        assert not shoal.audit(data, quasi_identifiers=QUASI, sensitive="ill", privacy=MODELS[model]).failures
        if algorithm != "cluster":  # which starts from rows in an order that is drawn
            assert there.certificate.cost.stars == here.certificate.cost.stars
        assert there.public_certificate.columns == here.public_certificate.columns
        assert there.public_certificate.warnings == here.public_certificate.warnings
        compared += 1
    assert compared


def test_rows_stand_in_the_order_of_what_they_show_whatever_their_order_was() -> None:
    frame = table(1, 500)
    data = streamed(frame).data.collect()
    for seed in range(3):
        shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
        assert rows_of(streamed(shuffled).data.collect()) == rows_of(data)
    for _, alike in data.group_by([*QUASI, "ill"], maintain_order=True):
        assert alike["visit"].is_sorted()
    forms = data[[*QUASI, "ill"]]
    assert sum(form.height for form in forms.partition_by(forms.columns, maintain_order=True)) == data.height
    assert rows_of(pl.concat(forms.partition_by(forms.columns, maintain_order=True))) == rows_of(forms)


@pytest.mark.drawn
def test_chance_decides_which_row_of_a_cell_gets_which_form() -> None:
    """Of four old women with one illness, all equally likely, some have no company and lose a value."""
    frame = pl.DataFrame(
        {
            "age": ["1"] * 6 + ["2"] * 2,
            "sex": ["f"] * 8,
            "ill": ["a", "a", "a", "a", "b", "c", "b", "c"],
            "visit": range(8),
        }
    )
    starred: Counter[int] = Counter()
    rounds = few(80, least=24)
    for seed in range(rounds):
        options = asked([shoal.LDiversity(2)], seed=seed, insensitive=["visit"], algorithm="tp")
        data = shoal.anonymize(frame.lazy(), engine="stream", **options).data.collect()
        starred.update(data.filter(pl.col("age") == "*", pl.col("visit") < 4)["visit"].to_list())
    assert set(starred) == {0, 1, 2, 3}
    total = sum(starred.values())
    expected = total / 4
    assert total < 4 * rounds  # not all of them, so that something was drawn
    assert sum((starred[visit] - expected) ** 2 / expected for visit in range(4)) < 16.3  # 0.1 % of chi-square, 3


@pytest.mark.parametrize("shuffle", [shuffle_parts, shuffle_parts.py_func])
def test_all_orders_of_a_part_are_equally_likely(shuffle: Callable[..., None]) -> None:
    rng = np.random.default_rng(0)
    times = 3_000 if shuffle is shuffle_parts else 1_200
    items = np.tile(np.array([7, 0, 1, 2, 9], dtype=np.int32), times)
    begins = np.arange(times, dtype=np.int64) * 5 + 1
    shuffle(items, begins, begins + 3, rng.random(2 * times))
    parts = items.reshape(times, 5)
    assert (parts[:, [0, 4]] == [7, 9]).all()
    found = Counter(map(tuple, parts[:, 1:4].tolist()))
    assert len(found) == 6
    assert sum((count - times / 6) ** 2 / (times / 6) for count in found.values()) < 20.5  # 0.1 % of chi-square, 5


def test_a_draw_that_is_rounded_up_stays_in_its_part() -> None:
    items = np.arange(4, dtype=np.int32)
    shuffle_parts(items, np.array([0]), np.array([3]), np.array([1.0, 1.0]))
    assert items.tolist() == [0, 1, 2, 3]


def test_the_files_are_the_release_and_everything_beside_them_speaks_of_the_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.release.streamed_rows._FILE_ROWS", 150)
    monkeypatch.setattr("shoal.engines.attaching._BLOCK", 37)
    monkeypatch.setattr("shoal.engines.attaching._HASHED", 29)
    monkeypatch.setattr("shoal.verification.same_rows._ROWS_PER_BLOCK", 41)
    frame = table(2, 400)
    made = streamed(frame, output=tmp_path / "out")
    data = made.data.collect()
    holds(data, frame)
    assert rows_of(pl.read_parquet(tmp_path / "out/release.parquet/*.parquet")) == rows_of(data)
    assert len([*(tmp_path / "out/release.parquet").iterdir()]) == 3
    public, private = (
        json.loads((tmp_path / name / "certificate.json").read_text()) for name in ("out", "out.private")
    )
    assert public["columns"]["insensitive"] == private["input"]["insensitive"] == BESIDE
    assert "visit" in (tmp_path / "out/report.html").read_text()
    assert [one["code"] for one in public["warnings"]] == ["near_unique_insensitive"]
    assert shoal.provenance(frame, tmp_path / "out.private")
    assert not shoal.provenance(frame.with_columns(pl.col("visit") + 1), tmp_path / "out.private")
    assert made.data.select("note", "age").head(7).collect().equals(data.select("note", "age").head(7))
    assert made.data.filter(pl.col("visit") < 3).collect().height == 3
    assert set(BESIDE) < set(made.as_bounds().collect_schema())
    assert "visit" in made._repr_html_()


def test_rows_that_are_left_out_are_in_the_hash_alone() -> None:
    frame = table(3, 300).with_columns(pl.when(pl.col("visit") % 7 > 0).then("ill"))
    made = streamed(frame, missing_sensitive="drop")
    data = made.data.collect()
    holds(data, frame.drop_nulls("ill"))
    assert made.certificate.input["rows_left_out"] == frame["ill"].null_count()
    assert shoal.provenance(frame, made.certificate.to_dict(), salt=made.salt)
    number = frame.with_columns(ill=pl.when(pl.col("visit") % 7 > 0).then(pl.col("visit") % 3 + 0.5).otherwise(np.nan))
    assert streamed(number, missing_sensitive="drop", privacy=MODELS["k"]).store.height == data.height
    holds(streamed(frame, missing_sensitive="value").data.collect(), frame)


def test_columns_of_all_types_that_have_an_order(tmp_path: Path) -> None:
    frame = table(4, 120)
    codes = (frame["visit"] % 3).to_list()
    frame = frame.with_columns(
        pl.Series("*", [date(2020, 1, 1 + code) for code in codes]),
        pl.Series("cell", ["low" if code else "high" for code in codes], dtype=pl.Enum(["low", "high", "never"])),
        pl.Series("rows", [str(code) for code in codes], dtype=pl.Categorical),
        pl.Series("0", [Decimal(code) / 4 for code in codes], dtype=pl.Decimal(10, 2)),
        pl.Series("part", [bytes([code]) for code in codes]),
        pl.Series("sure", [None if code else True for code in codes], dtype=pl.Boolean),
        pl.Series("when", frame["visit"] * 1000).cast(pl.Datetime("us", "UTC")),
    )
    names = ["*", "cell", "rows", "0", "part", "sure", "when", *BESIDE]
    made = streamed(frame, insensitive="rest", output=tmp_path / "out", header_row=1)
    data = made.data.collect()
    assert data.columns == [*QUASI, "ill", *[name for name in frame.columns if name in names]]
    original = frame.sort("visit")[data["visit"]]
    text = [pl.col("cell", "rows").cast(pl.String)]
    assert rows_of(data[names].with_columns(text)) == rows_of(original[names].with_columns(text))
    assert rows_of(pl.read_parquet(tmp_path / "out/release.parquet/*.parquet")) == rows_of(data)
    assert shoal.provenance(frame, made.certificate.to_dict(), salt=made.salt, header_row=1)
    listed = table(4).with_columns(note=pl.concat_list("visit"))
    with pytest.raises(DataError, match="'note' has the type List"):
        streamed(listed, insensitive="rest")


@pytest.mark.drawn
def test_csv_has_text_beside_the_cells(tmp_path: Path) -> None:
    frame = table(5, 200).with_columns(pl.col("note").replace("", "y"), pl.col("cost").fill_nan(None))
    frame.write_csv(tmp_path / "in.csv")
    there = shoal.anonymize(tmp_path / "in.csv", engine="stream", **asked())
    here = shoal.anonymize(tmp_path / "in.csv", **asked())
    assert there.data.collect().schema == here.data.schema
    assert there.certificate.cost.stars == here.certificate.cost.stars
    assert sorted(there.data.collect()["note"].to_list(), key=str) == sorted(frame["note"].to_list(), key=str)
    assert shoal.provenance(tmp_path / "in.csv", there.certificate.to_dict(), salt=there.salt)


def test_repeated_people_and_pairs_are_found_as_in_memory() -> None:
    frame = table(6, 300).sort("visit")
    frame = frame.with_columns(
        pl.col("age", "sex").gather(pl.col("visit") % 150),  # two visits of each person
        email=pl.format("p{}@example.org", pl.col("visit") % 150),
        one=pl.col("visit") % 20,
        other=pl.col("visit") // 20,
    )
    names = ["email", "one", "other"]
    options = asked(insensitive=names, direct_identifiers=BESIDE)
    here = shoal.anonymize(frame, **options)
    there = shoal.anonymize(frame.lazy(), engine="stream", **options)
    told = [[one.to_dict() for one in release.warnings] for release in (here, there)]
    assert told[0] == told[1]
    assert {one["code"] for one in told[0]} >= {"near_unique_insensitive", "repeated_person", "published_person"}


def swapped(places: np.ndarray[Any, Any], cell_of_run: Any, times: Any, *_: Any) -> np.ndarray[Any, Any]:
    """Exchange the rows of the first and the last place, which are those of different cells."""
    assert cell_of_run[0] != cell_of_run[-1]
    places[[0, -1]] = places[[-1, 0]]
    return places


def doubled(places: np.ndarray[Any, Any], *_: Any) -> np.ndarray[Any, Any]:
    places[0] = places[1]
    return places


def shortened(places: np.ndarray[Any, Any], *_: Any) -> np.ndarray[Any, Any]:
    return places[:-1].copy()


@pytest.mark.parametrize("spoil", [swapped, doubled, shortened])
def test_rows_that_are_drawn_wrongly_stop_the_release(spoil: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = attaching._drawn
    monkeypatch.setattr(attaching, "_drawn", lambda *given: spoil(drawn(*given), *given))
    with pytest.raises(ReleaseUnsafeError, match="insensitive values of the rows of the table"):
        streamed(table(7, 200))


def test_a_value_that_is_read_wrongly_stops_the_release(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Streamed.values

    def changed(self: Streamed, *given: Any) -> Any:
        of_row, values = read(self, *given)
        return of_row, values.with_columns(pl.when(pl.col("visit") == 3).then(-1).otherwise("visit").alias("visit"))

    monkeypatch.setattr(Streamed, "values", changed)
    with pytest.raises(ReleaseUnsafeError, match="insensitive values of the rows of the table"):
        streamed(table(7, 200))


@pytest.mark.parametrize("spoil", [swapped, doubled])
def test_rows_that_are_sorted_wrongly_stop_the_release(spoil: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sort = attaching._sort_forms

    def spoiled(values: Any, places: Any, *given: Any) -> None:
        sort(values, places, *given)
        spoil(places, [0, 1], None)

    monkeypatch.setattr(attaching, "_sort_forms", spoiled)
    with pytest.raises(ReleaseUnsafeError, match="insensitive values of the rows of the table"):
        streamed(table(7, 200))


def test_a_table_that_changes_while_it_is_read_stops_the_release(tmp_path: Path) -> None:
    first = table(8, 200)
    first.write_parquet(tmp_path / "in.parquet")
    for other in (first[1:], first.with_columns(age=pl.lit(77, dtype=pl.Int32))):
        first.write_parquet(tmp_path / "in.parquet")
        with pytest.MonkeyPatch.context() as changing:
            read = Streamed.values

            def changed(self: Streamed, *given: Any, other: pl.DataFrame = other, read: Any = read) -> Any:
                other.write_parquet(tmp_path / "in.parquet")
                return read(self, *given)

            changing.setattr(Streamed, "values", changed)
            with pytest.raises(DataError, match=r"was changed while it was read|cannot be read"):
                shoal.anonymize(tmp_path / "in.parquet", engine="stream", **asked())


@pytest.mark.drawn
@pytest.mark.parametrize("what", ["swapped", "changed", "lost", "type"])
def test_files_with_other_rows_stop_the_release(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def spoiled(frame: pl.DataFrame, times: Any, path: Path, beside: pl.DataFrame) -> None:
        if what == "swapped":
            beside = beside[[beside.height - 1, *range(1, beside.height - 1), 0]]
        elif what == "changed":
            beside = beside.with_columns(cost=pl.Series([2.5, *beside["cost"][1:]]))
        elif what == "type":
            beside = beside.with_columns(pl.col("visit").cast(pl.Int32))
        else:
            times, beside = np.append(times[:-1], times[-1] - 1), beside[:-1]
        write_repeated(frame, times, path, beside)

    made = streamed(table(9, 200))
    assert made.frame[0, "ill"] != made.frame[-1, "ill"]
    monkeypatch.setattr("shoal.release.streamed_rows.write_repeated", spoiled)
    with pytest.raises(ReleaseUnsafeError, match="Nothing was published"):
        made.save(tmp_path / "out")
    assert [*tmp_path.iterdir()] == []
    monkeypatch.undo()
    made.save(tmp_path / "out")


def test_values_that_do_not_fit_are_refused_before_the_table_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = MemoryBudget(4 * 10**9)
    budget.check_values(100_000_000, 8, 8)  # as issue and specification have it
    with pytest.raises(DataError, match=r"100,000,000 rows do not fit into 4GB.*memory='7\.1GB'"):
        budget.check_values(100_000_000, 36, 16)
    with pytest.raises(DataError, match=r"do not fit"):
        budget.check_values(100_000_000, 8, 8, largest=50_000_000)
    with pytest.raises(DataError, match=r"memory\. Drop some"):
        MemoryBudget(10**15).check_values(1 << 31, 1, 1)

    def counted(*_: Any) -> None:
        raise AssertionError("the table was counted")

    monkeypatch.setattr(Streamed, "histogram", counted)
    monkeypatch.setattr("shoal.pipeline.memory_budget._ATTACHING_BYTES", 0)
    monkeypatch.setattr("shoal.pipeline.memory_budget._RESIDENT_BYTES", 10**9 - 5_000)
    with pytest.raises(DataError, match=r"insensitive columns of 80 rows do not fit into 1GB.*direct_identifiers"):
        streamed(table(0), memory="1GB")
    long = table(0).with_columns(note=pl.lit("x" * 200))
    monkeypatch.setattr("shoal.pipeline.memory_budget._RESIDENT_BYTES", 10**9 - 20_000)
    with pytest.raises(AssertionError):
        streamed(table(0), memory="1GB")
    with pytest.raises(DataError, match="do not fit"):
        streamed(long, memory="1GB")


def test_order_is_still_not_kept() -> None:
    with pytest.raises(ParameterError, match="does not keep its order"):
        streamed(table(0), keep_order=True)
