"""A table that is read in pieces: which sources, what is refused, what is written, and what is left behind."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from tests.every import every

import shoal
from shoal.engines import Engine, MemoryBudget, chosen_engine, parse_bytes
from shoal.errors import DataError, ParameterError, ReleaseUnsafeError, UsageError
from shoal.io import scanning
from shoal.pipeline import memory_budget
from shoal.release.streamed_rows import StreamedRows
from shoal.table import roles
from shoal.wording import sentence

if TYPE_CHECKING:
    from shoal.release.release import Release

ASKED: dict[str, Any] = {
    "quasi_identifiers": ["age", "gender", "race"],
    "sensitive": "income",
    "privacy": [shoal.LDiversity(3), shoal.KAnonymity(5)],
    "recoding": "suppression",
    "seed": 1,
}


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return shoal.datasets.census(6_000, quasi_identifiers=3, seed=2)


@pytest.fixture(scope="module")
def folder(people: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("people")
    for number in range(3):
        people[2_000 * number : 2_000 * (number + 1)].write_parquet(made / f"{number}.parquet")
    return made


@pytest.fixture(scope="module")
def release(folder: Path) -> Release:
    made = shoal.anonymize(folder, **ASKED)
    assert isinstance(made.store, StreamedRows)
    return made


def test_a_folder_a_file_csv_and_a_lazy_frame_give_the_release_of_memory(
    people: pl.DataFrame, folder: Path, release: Release, tmp_path: Path
) -> None:
    people.write_parquet(tmp_path / "people.parquet")
    people.write_csv(tmp_path / "people.csv", separator=";", line_terminator="\r\n")
    expected = shoal.anonymize(people, **ASKED)
    assert release.data.collect().equals(expected.data)
    for source in (tmp_path / "people.parquet", people.lazy(), people.to_pandas()):
        made = shoal.anonymize(source, engine="stream", **ASKED)
        assert made.data.collect().equals(expected.data)
    text = shoal.anonymize(tmp_path / "people.csv", engine="stream", **ASKED)
    assert text.data.collect().equals(shoal.anonymize(tmp_path / "people.csv", **ASKED).data)


@pytest.mark.drawn
def test_a_column_with_the_name_of_all_columns_is_counted(people: pl.DataFrame, tmp_path: Path) -> None:
    named = people.rename({"age": "*"})
    asked = {**ASKED, "quasi_identifiers": ["*", "gender", "race"]}
    made = shoal.anonymize(named.lazy(), engine="stream", output=tmp_path / "out", **asked)
    known = shoal.anonymize(named, **asked).data
    assert known.schema["income"] == people.schema["income"]
    assert made.data.collect().equals(known)
    written = tmp_path / "out/release.parquet"
    told = {name: asked[name] for name in ("quasi_identifiers", "sensitive", "privacy")}
    assert not shoal.audit(written, engine="stream", **told).failures


def said(path: Path) -> list[str]:
    """The lines of a file that have no hash and no time in them."""
    return [line for line in path.read_text().splitlines() if "<code>" not in line and "s in all" not in line]


@pytest.mark.drawn
def test_both_folders_are_written_and_what_is_public_is_that_of_memory(
    people: pl.DataFrame, release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.release.streamed_rows._FILE_ROWS", 2_500)
    release.save(tmp_path / "out")
    known = shoal.anonymize(people, **ASKED)
    known.save(tmp_path / "known", format="parquet")
    files = sorted(path.name for path in (tmp_path / "out" / "release.parquet").iterdir())
    assert files == ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    assert pl.read_parquet(tmp_path / "out/release.parquet/*.parquet").equals(
        pl.read_parquet(tmp_path / "known/release.parquet")
    )
    public, other = (json.loads((tmp_path / name / "certificate.json").read_text()) for name in ("out", "known"))
    written = public.pop("output")["files"]
    assert [facts["rows"] for facts in written.values()] == [2_500, 2_500, 1_000]
    assert set(written) == {f"release.parquet/{name}" for name in files}
    assert {**other, "output": None} == {**public, "output": None}
    assert sorted(os.listdir(tmp_path / "out")) == sorted(os.listdir(tmp_path / "known"))
    private = tmp_path / "out.private"
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in private.iterdir())
    facts = json.loads((private / "certificate.json").read_text())
    assert said(tmp_path / "out/report.html") == said(tmp_path / "known/report.html")
    for name in ("plan.json", "report.html"):
        assert said(tmp_path / "out.private" / name) == said(tmp_path / "known.private" / name)
    assert facts["engine"]["name"] == "stream"
    assert facts["engine"]["cells"] > release.frame.height // 2
    assert facts["cost"] == json.loads((tmp_path / "known.private/certificate.json").read_text())["cost"]
    assert "engine" not in public


@pytest.mark.drawn
@pytest.mark.parametrize("kind", ["folder", "csv"])
def test_the_rows_of_files_are_counted_some_at_a_time(
    kind: str, people: pl.DataFrame, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = folder if kind == "folder" else tmp_path / "people.csv"
    people.write_csv(tmp_path / "people.csv")
    expected = shoal.anonymize(source, engine="stream", **ASKED)
    asked: list[int] = []
    counting = scanning.collect_in_memory

    def noted(lazy: pl.LazyFrame, at_once: scanning.AtOnce) -> pl.DataFrame:
        found = counting(lazy, at_once)
        asked.extend(int(found[counts].sum()) for counts in {"m0", "rows"}.intersection(found.columns))
        return found

    monkeypatch.setattr(scanning, "collect_in_memory", noted)
    few = scanning.AtOnce(pieces=1, rows=1_700)
    monkeypatch.setattr(MemoryBudget, "at_once", few)
    made = shoal.anonymize(source, engine="stream", **ASKED)
    assert asked == [1_700, 1_700, 1_700, 900]
    assert made.data.collect().equals(expected.data.collect())
    assert made.certificate.cost == expected.certificate.cost
    asked.clear()
    made.save(tmp_path / "out")
    assert asked == [1_700, 1_700, 1_700, 900], "the written rows are counted again"
    asked.clear()
    shoal.anonymize(people.lazy(), engine="stream", **ASKED)
    assert asked == [people.height]


def test_the_hash_of_the_input_is_that_of_the_same_table_in_memory(people: pl.DataFrame) -> None:
    for sensitive in ("income", ["income", "gender"]):
        asked = {**ASKED, "quasi_identifiers": ["age", "race"], "sensitive": sensitive, "privacy": shoal.KAnonymity(4)}
        asked["direct_identifiers"] = ["gender"] if sensitive == "income" else []
        made = shoal.anonymize(people, engine="stream", **asked)
        assert shoal.provenance(people, made.certificate.to_dict(), salt=made.salt)
        assert not shoal.provenance(people[1:], made.certificate.to_dict(), salt=made.salt)


def test_rows_that_miss_a_sensitive_value_are_counted_by_rows(people: pl.DataFrame) -> None:
    holes = people.with_columns(pl.when(pl.col("income") != 7).then("income"))
    missing = holes["income"].null_count()
    with pytest.raises(DataError, match=rf"^{missing} row"):
        shoal.anonymize(holes, engine="stream", **ASKED)
    here, there = (
        shoal.anonymize(holes, engine=one, missing_sensitive="drop", **ASKED) for one in ("memory", "stream")
    )
    assert there.data.collect().equals(here.data)
    assert there.certificate.input["rows_left_out"] == missing
    assert shoal.provenance(holes, there.certificate.to_dict(), salt=there.salt)


@pytest.mark.drawn
def test_dates_numbers_and_declared_orders_are_read_and_written_as_in_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(
        {
            "born": [f"{day:02d}.{month:02d}.1980" for day, month in rng.integers(1, 13, (300, 2))],
            "paid": [f"{euro},5" for euro in rng.integers(1, 9, 300)],
            "grade": pl.Series(rng.choice(["low", "mid", "high"], 300), dtype=pl.Enum(["low", "mid", "high"])),
        }
    ).with_columns(pl.when(pl.int_range(300) > 0).then("born").otherwise(pl.lit("31.12.1979")))
    for sensitive, quasi in (("grade", ["born", "paid"]), ("paid", ["born"])):
        asked: dict[str, Any] = {
            "quasi_identifiers": quasi,
            "sensitive": sensitive,
            "privacy": shoal.TCloseness(0.4, distance="ordered"),
            "direct_identifiers": [name for name in frame.columns if name not in (sensitive, *quasi)],
            "algorithm": "mondrian",
            "recoding": "generalization",
            "coarsen": {"born": shoal.DatePart("month")},
            "seed": 2,
        }
        here, there = (shoal.anonymize(frame, engine=one, **asked) for one in ("memory", "stream"))
        here.save(tmp_path / f"{sensitive}-here", format="parquet")
        there.save(tmp_path / f"{sensitive}-there")
        assert pl.read_parquet(tmp_path / f"{sensitive}-there/release.parquet/*.parquet").equals(
            pl.read_parquet(tmp_path / f"{sensitive}-here/release.parquet")
        )


def test_output_saves_the_release(folder: Path, tmp_path: Path) -> None:
    made = shoal.anonymize(folder, output=tmp_path / "out", **ASKED)
    assert made.data.select(pl.len()).collect().item() == 6_000
    assert (tmp_path / "out/release.parquet/part-00000.parquet").is_file()
    assert made.data.filter(pl.col("gender").cast(pl.String) == "0").select("gender").head(3).collect().height == 3


def test_a_release_whose_files_are_not_what_was_verified_does_not_appear(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = StreamedRows.write

    def spoiled(change: Any) -> Any:
        def wrong(self: Any, shown: pl.DataFrame, path: Path, **options: Any) -> Any:
            written = write(self, shown, path, **options)
            part = path / "part-00000.parquet"
            change(pl.read_parquet(part)).write_parquet(part)
            return written

        return wrong

    changes = [
        lambda frame: frame[1:],
        lambda frame: pl.concat([frame, frame[:1]]),
        lambda frame: frame.with_columns(income=pl.col("income").reverse()),
        lambda frame: frame.with_row_index(),
        lambda frame: frame.with_columns(age=pl.lit("*")),
    ]
    for change in changes:
        monkeypatch.setattr(StreamedRows, "write", spoiled(change))
        with pytest.raises(ReleaseUnsafeError):
            release.save(tmp_path / "out")
        assert os.listdir(tmp_path) == []


def test_a_folder_of_files_is_audited_like_one_table(people: pl.DataFrame, folder: Path) -> None:
    asked: dict[str, Any] = {
        "quasi_identifiers": ["age", "gender"],
        "sensitive": ["income", "race"],
        "privacy": [shoal.KAnonymity(40), shoal.LDiversity(2), shoal.TCloseness(0.2), shoal.AverageRisk(0.001)],
    }
    here, there = shoal.audit(people, **asked), shoal.audit(folder, **asked)
    assert there.to_dict() == here.to_dict()
    assert here.failures
    assert [one.to_dict() for one in there.failures] == [one.to_dict() for one in here.failures]


def test_a_notebook_shows_rows_as_often_as_they_are_published(people: pl.DataFrame, release: Release) -> None:
    assert release._repr_html_() == shoal.anonymize(people, **ASKED)._repr_html_()


def test_what_cannot_be_done_in_pieces_says_what_to_do_instead(people: pl.DataFrame, folder: Path) -> None:
    def refused(**options: Any) -> str:
        with pytest.raises(ParameterError) as caught:
            shoal.anonymize(people, engine="stream", **{**ASKED, **options})
        return str(caught.value)

    assert "engine='memory'" in refused(keep_order=True)
    assert "engine='memory'" in refused(coarsen={"age": shoal.Bins(quantiles=3)})
    assert "engine='memory'" in refused(coarsen={"age": shoal.grouping.Labels(k=3)})
    assert "hierarchies" in refused(recoding="generalization", algorithm="tds")
    with pytest.raises(ParameterError, match="engine='stream'"):
        shoal.anonymize(people, engine="memory", memory="4GB", **ASKED)
    with pytest.raises(ParameterError, match="at least 1GB"):
        shoal.anonymize(people, memory="12MB", **ASKED)
    made = shoal.anonymize(folder, **ASKED)
    with pytest.raises(ParameterError, match="folder of Parquet files"):
        made.save("never", format="csv")
    assert not Path("never").exists()
    with pytest.raises(UsageError, match="kl_divergence"):
        _ = made.metrics.kl_divergence
    assert made.metrics.gcp == pytest.approx(shoal.anonymize(people, **ASKED).metrics.gcp)


def test_sources_that_are_no_tables_say_so(people: pl.DataFrame, tmp_path: Path) -> None:
    def refused(source: object, words: str) -> None:
        with pytest.raises(DataError, match=words):
            shoal.anonymize(source, engine="stream", **ASKED)

    people.write_parquet(tmp_path / "one.parquet")
    (tmp_path / "notes.txt").write_text("x")
    refused(tmp_path, "that are not Parquet")
    refused(tmp_path / "none.parquet", "no file")
    (tmp_path / "table.xlsx").write_text("x")
    refused(tmp_path / "table.xlsx", "read in pieces")
    (tmp_path / "bad.parquet").write_text("x")
    refused(tmp_path / "bad.parquet", "as Parquet")
    csv = tmp_path / "a.csv"
    for content, words in (
        (b"age,gender,race,income\n1,2,3\n", "Line 2"),
        (b"age,gender,race,income\n1,2,3,\xff\n", "UTF-8"),
        (b"age,gender,race,income\n", "no row"),
        (b"", "empty"),
        (b"age,gender,race,income\n1,2,3,4\n\n\n", "Empty lines"),
        (b"age,gender,race,income\n1,2,3,\0\n", "NUL"),
        (b'age,gender,race,income\n1,2,3,"4\n', "never closed"),
    ):
        csv.write_bytes(content)
        refused(csv, words)
    refused(people[:0], "no rows")


def test_csv_that_is_longer_than_a_block_is_checked_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.io.delimited._BLOCK", 64)
    path = tmp_path / "a.csv"
    rows = [f'{20 + row % 3},"é, {row % 2}",3,"a ""b"" {row % 5}"' for row in range(400)]
    path.write_text("\ufeffage,gender,race,income\n" + "\n".join(rows), encoding="utf-8")
    asked = {**ASKED, "privacy": shoal.KAnonymity(2)}
    made = shoal.anonymize(path, engine="stream", **asked)
    assert made.data.collect().equals(shoal.anonymize(path, **asked).data)
    path.write_text(path.read_text(encoding="utf-8") + "\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match="Line 402"):
        shoal.anonymize(path, engine="stream", **asked)


def test_the_engine_fits_the_table(people: pl.DataFrame, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def taken(data: object, engine: str = "auto", allowed: int | str | None = None) -> str:
        return chosen_engine(engine, allowed, data).name

    assert taken(people) == "memory"
    assert taken(folder / "0.parquet") == "memory"
    assert taken(folder / "0.parquet", allowed="2GB") == "stream"
    assert taken(folder) == "stream"
    monkeypatch.setattr("shoal.engines.choice.available_memory", lambda: 100_000)
    assert taken(folder / "0.parquet") == "stream"
    assert taken(folder / "0.parquet", "memory") == "memory"


def test_memory_is_written_as_people_do() -> None:
    assert parse_bytes("4GB") == parse_bytes(" 4 gb") == parse_bytes("4G") == 4 * 10**9
    assert parse_bytes("1.5GiB") == 3 * 2**29
    for wrong in ("much", "", "4 XB", "-4GB", 1.5, True, 999_999_999):
        with pytest.raises(ParameterError):
            parse_bytes(wrong)  # type: ignore[arg-type]


def test_more_cells_than_fit_are_refused_before_they_are_counted(people: pl.DataFrame) -> None:
    class Tiny(MemoryBudget):
        max_cells = 10  # type: ignore[assignment]

    from shoal.engines import Streamed, count_cells
    from shoal.io import scan_table

    schema = roles(["age", "gender", "race"], "income")
    with pytest.raises(DataError, match=r"memory='\d+"):
        count_cells(Streamed(table=scan_table(people)), schema, Tiny(10**9))


def test_rows_that_cannot_be_divided_say_how_much_memory_would_do(people: pl.DataFrame) -> None:
    class Few(MemoryBudget):
        def max_rows(self, cells: int, each: int = 1) -> int:
            return 500

    engine = Engine(name="stream", budget=Few(10**9))
    assert engine.streams
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.engines.choice.MemoryBudget", Few)
        with pytest.raises(DataError, match=r"matching decides about all rows together.*memory='"):
            shoal.anonymize(
                people, engine="stream", **{**ASKED, "privacy": shoal.KAnonymity(2), "algorithm": "matching"}
            )
        risk = {"privacy": shoal.AverageRisk(0.2), "recoding": "suppression"}
        with pytest.raises(DataError, match="release as a whole"):
            shoal.anonymize(people, engine="stream", **{**ASKED, **risk})
    assert memory_budget.format_bytes(1) == "0.1GB"


@pytest.mark.drawn
@pytest.mark.parametrize(("dimensions", "most"), [(3, 20_000), (4, 50_000)])
def test_what_no_class_keeps_finds_more_rows_in_more_parts_where_they_can_be_cut(
    dimensions: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Few(MemoryBudget):
        def max_rows(self, cells: int, each: int = 1) -> int:
            return most

    frame = pl.concat([shoal.datasets.census(5_000, quasi_identifiers=dimensions, seed=5)] * 20)
    asked = {"quasi_identifiers": frame.columns[:-1], "sensitive": "income", "l": 6, "algorithm": "tp+", "seed": 1}

    def solved(too_few: int) -> tuple[int, int]:
        monkeypatch.setattr("shoal.pipeline.division._MIN_ROWS_PER_NEEDED", too_few)
        certificate = shoal.anonymize(frame, engine="stream", **asked).certificate
        return certificate.engine["parts"], certificate.cost.stars

    monkeypatch.setattr("shoal.engines.choice.MemoryBudget", Few)
    monkeypatch.setattr("shoal.pipeline.division._MIN_KEPT_GROUPS", 1)
    fitting, more = solved(0), solved(10)
    assert more[0] > fitting[0]
    if dimensions == 3:
        assert more[1] < fitting[1]
    else:
        monkeypatch.setattr("shoal.pipeline.division._cut_at_median", lambda *_: None)
        assert solved(10)[0] > fitting[0], "rows that are too much alike are halved"
        monkeypatch.setattr("shoal.pipeline.division._halve", lambda *_: None)
        assert solved(10) == fitting, "as many as fit at once, where more cannot be cut"


@every("algorithm", ["tp", "tp+", "m-approximation"])
def test_what_computes_with_cells_gets_no_single_rows(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = shoal.datasets.census(2_000, quasi_identifiers=2, seed=2)
    asked = {"quasi_identifiers": ["age", "gender"], "sensitive": "income", "algorithm": algorithm, "seed": 1}
    asked |= {"privacy": shoal.KAnonymity(5) if algorithm == "m-approximation" else shoal.LDiversity(4)}
    rows = shoal.anonymize(frame, recoding="suppression", **asked).data
    monkeypatch.setattr("shoal.pipeline.partition._expand_rows", None)
    release = shoal.anonymize(frame, engine="stream", recoding="suppression", **asked)
    assert release.data.collect().equals(rows)


def test_rows_that_are_too_much_alike_are_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    class Few(MemoryBudget):
        def max_rows(self, cells: int, each: int = 1) -> int:
            return 100

    # The old have two values, and the young two others: no cut leaves both sides acceptable.
    frame = pl.DataFrame({"age": ["old", "young"] * 500, "ill": ["a", "b", "c", "d"] * 250})
    monkeypatch.setattr("shoal.engines.choice.MemoryBudget", Few)
    monkeypatch.setattr("shoal.pipeline.division._MIN_KEPT_GROUPS", 1)
    monkeypatch.setattr(
        "shoal.pipeline.division._choose_rows_to_set_aside",
        lambda table, *_, **__: np.zeros(table.rows, dtype=np.int64),
    )
    asked = {"quasi_identifiers": ["age"], "sensitive": "ill", "l": 3, "algorithm": "tp+", "seed": 1}
    release = shoal.anonymize(frame, engine="stream", **asked)
    assert release.certificate.engine["parts"] == 16  # of 62 or 63 rows
    said = "The table was solved in 16 parts: nothing is promised of the whole beyond the lower bound."
    assert sentence(release.certificate.guarantee.promise) == said, "no rows are aside"
    made = release.data.collect()
    assert sorted(made["ill"]) == sorted(frame["ill"])
    assert not shoal.audit(made, quasi_identifiers=["age"], sensitive="ill", privacy=shoal.LDiversity(3)).failures
    monkeypatch.setattr("shoal.pipeline.division._halve", lambda *_: None)
    with pytest.raises(DataError, match=r"cannot be told apart further.*1,000 rows"):
        shoal.anonymize(frame, engine="stream", **asked)


def test_what_is_not_a_coarsening_is_refused_as_for_any_table() -> None:
    table = shoal.datasets.census(100, quasi_identifiers=2)
    for data, engine in ((table, "memory"), (table.lazy(), "stream")):
        with pytest.raises(ParameterError, match=r"The coarsening of 'age' must be a shoal.Coarsening. Got int"):
            shoal.anonymize(
                data, quasi_identifiers=["age", "gender"], sensitive="income", k=2, coarsen={"age": 5}, engine=engine
            )
