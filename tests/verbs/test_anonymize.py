"""The facade: what a caller gets from `anonymize`, `audit` and `explore`, whatever kind of table goes in."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest
from polars.testing import assert_frame_equal

import shoal
from shoal._core.facts import Fact
from shoal.algorithms.base import Algorithm, Capabilities, Guarantee, Partition
from shoal.errors import (
    DataError,
    InfeasibleError,
    OutputError,
    ParameterError,
    ReleaseUnsafeError,
    UnsupportedError,
    UsageError,
)
from shoal.wording import sentence

SECRET = "Zyzzyva"
"""Part of every name and disease of the table."""
ROWS = 240
QI = ["age", "gender", "zip"]


@pytest.fixture(scope="module")
def patients() -> pl.DataFrame:
    rng = np.random.default_rng(7)
    return pl.DataFrame(
        {
            "name": [f"{SECRET} {row}" for row in range(ROWS)],
            "age": rng.integers(20, 28, ROWS),
            "gender": rng.choice(["F", "M"], ROWS),
            "zip": rng.choice(["01001", "01002", "94107"], ROWS),
            "disease": [f"{SECRET} disease {value}" for value in rng.integers(0, 6, ROWS)],
            "visit": np.arange(900_000, 900_000 + ROWS),
        }
    )


REQUEST: dict[str, Any] = {
    "quasi_identifiers": QI,
    "sensitive": "disease",
    "direct_identifiers": ["name"],
    "insensitive": ["visit"],
    "privacy": [shoal.LDiversity(4), shoal.KAnonymity(10)],
    "recoding": "suppression",
}


@pytest.fixture(scope="module")
def release(patients: pl.DataFrame) -> shoal.Release:
    return shoal.anonymize(patients, **REQUEST, seed=7)


def groups_of(frame: pl.DataFrame, names: list[str] = QI) -> dict[tuple[Any, ...], list[tuple[Any, ...]]]:
    """Return the rows of a published table by their quasi-identifiers, without any code of the product."""
    found: dict[tuple[Any, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for row in frame.rows(named=True):
        found[tuple(row[name] for name in names)].append(tuple(row.values()))
    return found


class TestTheExampleOfTheDocumentation:
    def test_it_runs(self, tmp_path: Path) -> None:
        people = shoal.datasets.census(2_000, quasi_identifiers=4, seed=1)
        qi = ["age", "gender", "race", "marital_status"]
        made = shoal.anonymize(
            people,
            quasi_identifiers=qi,
            sensitive="income",
            privacy=[shoal.LDiversity(4), shoal.KAnonymity(10)],
        )
        groups = groups_of(made.data, qi)
        at = made.data.columns.index("income")
        assert all(len(rows) >= 10 for rows in groups.values())
        assert all(4 * max(Counter(row[at] for row in rows).values()) <= len(rows) for rows in groups.values())
        made.save(tmp_path / "out")
        assert {file.name for file in (tmp_path / "out").iterdir()} == {
            "release.csv",
            "certificate.json",
            "report.html",
            "report.json",
        }

    def test_public_names_are_those_that_are_listed(self) -> None:
        assert sorted(shoal.__all__) == sorted(set(shoal.__all__)) == dir(shoal)
        assert all(getattr(shoal, name) is not None for name in shoal.__all__)
        with pytest.raises(AttributeError, match="anonymise"):
            shoal.anonymise  # noqa: B018


class TestWhatIsPublished:
    def test_columns_and_rows(self, patients: pl.DataFrame, release: shoal.Release) -> None:
        assert release.data.columns == [*QI, "disease", "visit"]
        assert release.data.height == ROWS
        assert SECRET + " 1" not in release.data.drop("disease").write_csv()
        assert release.data["zip"].dtype == pl.String

    def test_rows_lead_back_to_the_input(self, patients: pl.DataFrame, release: shoal.Release) -> None:
        original = patients[release.rows]
        assert sorted(release.rows.tolist()) == list(range(ROWS))
        assert release.data["visit"].to_list() == original["visit"].to_list()
        assert release.data["disease"].to_list() == original["disease"].to_list()
        for name in QI:
            for cell, value in zip(release.data[name], original[name].cast(pl.String), strict=True):
                assert str(cell) in ("*", value)

    def test_every_group_is_acceptable(self, release: shoal.Release) -> None:
        groups = groups_of(release.data)
        assert all(len(rows) >= 10 for rows in groups.values())
        assert all(4 * max(Counter(row[3] for row in rows).values()) <= len(rows) for rows in groups.values())

    def test_a_star_where_rows_differ_and_only_there(self, patients: pl.DataFrame, release: shoal.Release) -> None:
        original = patients[release.rows].with_columns(*(release.data[name].alias(f"published {name}") for name in QI))
        for rows in original.partition_by([f"published {name}" for name in QI]):
            for name in QI:
                assert (rows[f"published {name}"][0] == "*") == (rows[name].n_unique() > 1)

    def test_keep_order(self, patients: pl.DataFrame) -> None:
        made = shoal.anonymize(patients, **REQUEST, keep_order=True)
        assert made.data["visit"].to_list() == patients["visit"].to_list()
        assert made.rows.tolist() == list(range(ROWS))

    def test_another_star(self, patients: pl.DataFrame) -> None:
        made = shoal.anonymize(patients, **REQUEST, star="(hidden)")
        assert made.certificate.cost.stars == sum((made.data[name].cast(pl.String) == "(hidden)").sum() for name in QI)

    @pytest.mark.parametrize(
        "star", ["90+", "[20, 29]", "31.12.1980", "1,5", "2003-Q3", "07", "{a, b}", "\u200b", "a\nb"]
    )
    def test_a_star_that_reads_like_something_else(self, patients: pl.DataFrame, star: str) -> None:
        with pytest.raises(ParameterError, match="'star' parameter of anonymize must be a text that can be seen"):
            shoal.anonymize(patients, **REQUEST, star=star)

    def test_generalization(self, patients: pl.DataFrame) -> None:
        made = shoal.anonymize(patients, **REQUEST | {"recoding": "generalization"})
        ages = made.data["age"].cast(pl.String)
        original = patients[made.rows]["age"]
        assert ages.str.contains(r"^\[\d\d, \d\d\]$").any()
        for cell, value in zip(ages, original, strict=True):
            low, high = (20, 27) if cell == "*" else map(int, (cell.strip("[]").split(", ") * 2)[:2])
            assert low <= value <= high
        assert made.metrics.gcp < shoal.anonymize(patients, **REQUEST, algorithm="mondrian").metrics.gcp

    def test_several_sensitive_attributes(self, patients: pl.DataFrame) -> None:
        table = patients.with_columns(region=pl.Series([row * 5 % 7 % 4 for row in range(ROWS)]))
        request = {**REQUEST, "sensitive": ["disease", "region"], "privacy": shoal.LDiversity(2)}
        made = shoal.anonymize(table, **request)
        groups = groups_of(made.data)
        for at in (3, 4):
            assert all(2 * max(Counter(row[at] for row in rows).values()) <= len(rows) for rows in groups.values())
        assert set(made.certificate.achieved["t"]) == {"disease", "region"}

    def test_without_sensitive_attribute(self, patients: pl.DataFrame) -> None:
        made = shoal.anonymize(patients.select(QI), quasi_identifiers=QI, privacy=shoal.KAnonymity(7))
        assert made.data.columns == QI
        assert min(len(rows) for rows in groups_of(made.data).values()) == made.certificate.achieved["k"] >= 7


class TestMissingSensitiveValues:
    @pytest.fixture
    def gaps(self, patients: pl.DataFrame) -> pl.DataFrame:
        some = pl.Series([row % 40 == 3 for row in range(ROWS)])
        return patients.with_columns(disease=pl.when(some).then(None).otherwise("disease"))

    def test_they_are_an_error(self, gaps: pl.DataFrame) -> None:
        with pytest.raises(DataError, match=r"^6 rows have no sensitive value\. .*missing_sensitive"):
            shoal.anonymize(gaps, **REQUEST)

    def test_they_are_a_value(self, gaps: pl.DataFrame) -> None:
        made = shoal.anonymize(gaps, **REQUEST, missing_sensitive="value")
        assert made.data["disease"].null_count() == 6
        assert all(Counter(row[3] for row in rows)[None] * 4 <= len(rows) for rows in groups_of(made.data).values())

    def test_their_rows_are_left_out(self, gaps: pl.DataFrame) -> None:
        made = shoal.anonymize(gaps, **REQUEST, missing_sensitive="drop")
        assert made.data.height == ROWS - 6
        assert made.data["visit"].to_list() == gaps[made.rows]["visit"].to_list()
        assert (made.certificate.input["rows"], made.certificate.input["rows_left_out"]) == (ROWS, 6)

    def test_nothing_is_left(self, patients: pl.DataFrame) -> None:
        nothing = patients.with_columns(disease=pl.lit(None, dtype=pl.String))
        with pytest.raises(DataError, match="Every row"):
            shoal.anonymize(nothing, **REQUEST, missing_sensitive="drop")

    def test_nan_is_missing(self) -> None:
        table = pl.DataFrame({"a": [1, 1, 1], "s": [0.5, float("nan"), 1.5]})
        request: dict[str, Any] = {"quasi_identifiers": ["a"], "sensitive": "s", "privacy": shoal.KAnonymity(2)}
        with pytest.raises(DataError, match="1 row"):
            shoal.anonymize(table, **request)
        assert shoal.anonymize(table, **request, missing_sensitive="drop").data.height == 2


KINDS: dict[str, tuple[Callable[[pl.DataFrame], Any], type]] = {
    "polars": (lambda frame: frame, pl.DataFrame),
    "lazy": (lambda frame: frame.lazy(), pl.DataFrame),
    "pandas": (lambda frame: frame.to_pandas(), pd.DataFrame),
    "pandas with Arrow": (lambda frame: frame.to_pandas(use_pyarrow_extension_array=True), pd.DataFrame),
    "arrow": (lambda frame: frame.to_arrow(), pa.Table),
}


class TestKindsOfTables:
    @pytest.mark.drawn
    @pytest.mark.parametrize("kind", KINDS)
    def test_the_same_kind_comes_back_with_the_same_cells(
        self, patients: pl.DataFrame, release: shoal.Release, kind: str
    ) -> None:
        make, expected = KINDS[kind]
        given = make(patients)
        made = shoal.anonymize(given, **REQUEST, seed=7)
        assert type(made.data) is expected
        assert_frame_equal(pl.DataFrame(made.data), release.data)
        audit = shoal.audit(made.data, quasi_identifiers=QI, sensitive="disease", privacy=REQUEST["privacy"])
        assert audit.achieved.to_dict() == made.certificate.achieved
        assert audit.violations == ()
        assert audit.stars == made.certificate.cost.stars
        assert audit.suppressed_tuples == made.certificate.cost.suppressed_tuples

    @pytest.mark.drawn
    @pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "pq", "arrow"])
    def test_files(self, patients: pl.DataFrame, tmp_path: Path, suffix: str) -> None:
        path = tmp_path / f"patients.{suffix}"
        if suffix in ("csv", "tsv"):
            patients.write_csv(path, separator="\t" if suffix == "tsv" else ",")
        elif suffix == "arrow":
            pyarrow.feather.write_feather(patients.to_arrow(), str(path))
        else:
            patients.write_parquet(path)
        written = "csv" if suffix in ("csv", "tsv") else "parquet"
        for source in (path, str(path)):
            made = shoal.anonymize(source, **REQUEST, seed=7)
            made.save(tmp_path / "out", force=True)
            assert (tmp_path / f"out/release.{written}").is_file()
            audit = shoal.audit(tmp_path / f"out/release.{written}", quasi_identifiers=QI, sensitive="disease")
            assert audit.achieved.to_dict() == made.certificate.achieved

    @pytest.mark.drawn
    def test_nothing_that_goes_in_is_changed(self, patients: pl.DataFrame) -> None:
        frame, table, polars = patients.to_pandas(), patients.to_arrow(), patients.clone()
        before = frame.copy(deep=True)
        request, columns = copy.deepcopy(REQUEST), list(frame.columns)
        for given in (frame, table, polars):
            made = shoal.anonymize(given, **request | {"recoding": "generalization"})
            shoal.audit(given, quasi_identifiers=QI, sensitive="disease")
            assert made.data is not given
        pd.testing.assert_frame_equal(frame, before)
        assert list(frame.columns) == columns
        assert table.equals(patients.to_arrow())
        assert_frame_equal(polars, patients)
        assert request == REQUEST

    def test_changing_what_comes_out_changes_nothing_else(self, patients: pl.DataFrame) -> None:
        frame = patients.to_pandas()
        made = shoal.anonymize(frame, **REQUEST)
        made.data.loc[:, "disease"] = "changed"
        assert (frame["disease"] != "changed").all()
        assert "changed" not in made.frame["disease"].to_list()


class TestReproducibility:
    def test_a_seed_decides_everything(self, patients: pl.DataFrame, release: shoal.Release) -> None:
        again = shoal.anonymize(patients, **REQUEST, seed=7)
        assert_frame_equal(again.data, release.data)
        assert again.rows.tolist() == release.rows.tolist()
        said, told = again.certificate.to_dict(), release.certificate.to_dict()
        assert said["input"].pop("sha256") != told["input"].pop("sha256"), "the salt is never the same"
        assert said | {"seconds": 0} == told | {"seconds": 0}
        assert again.public_certificate == release.public_certificate
        assert release.certificate.to_dict()["randomness"] == "reproducible from the seed"

    @pytest.mark.drawn
    def test_without_a_seed_chance_decides_between_equal_rows(self, patients: pl.DataFrame) -> None:
        made = [shoal.anonymize(patients, **REQUEST, algorithm="tp") for _ in range(5)]
        assert {one.certificate.seed for one in made} == {None}
        assert len({one.data.write_csv() for one in made}) > 1
        assert len({one.certificate.cost.stars for one in made}) == 1

    @pytest.mark.drawn
    def test_a_call_leaves_no_state_for_the_next(self, patients: pl.DataFrame, release: shoal.Release) -> None:
        other = patients.with_columns(disease=pl.Series([f"other {row % 9}" for row in range(ROWS)]))
        shoal.anonymize(other, **REQUEST | {"recoding": "generalization"})
        with pytest.raises(InfeasibleError):
            shoal.anonymize(patients, **REQUEST | {"privacy": shoal.LDiversity(50)})
        assert_frame_equal(shoal.anonymize(patients, **REQUEST, seed=7).data, release.data)


KEYS = {
    "$schema", "format", "shoal", "private", "algorithm", "reason", "reason_fact", "parameters", "seed", "randomness",
    "input", "columns", "requested", "achieved", "risk", "warnings", "cost", "guarantee", "details", "engine",
    "seconds", "output",
}  # fmt: skip


class TestTheCertificate:
    def test_its_keys(self, patients: pl.DataFrame, tmp_path: Path) -> None:
        made = shoal.anonymize(patients, **REQUEST, seed=7)
        said = made.save(tmp_path / "out").to_dict()
        assert json.loads((tmp_path / "out.private/certificate.json").read_text()) == said
        assert set(said) == KEYS
        assert said["format"] == 1
        assert said["seed"] == 7
        assert said["parameters"].items() >= {"recoding": "suppression", "star": "*", "refine": "cascade"}.items()
        assert set(said["input"]) >= {"rows", "quasi_identifiers", "sensitive", "sha256"}
        assert said["input"]["rows"] == ROWS
        assert said["requested"] == [
            {"model": "l-diversity", "variant": "frequency", "l": 4},
            {"model": "k-anonymity", "k": 10},
        ]
        assert set(said["achieved"]) == {"k", "l", "t", "alpha", "groups"}
        assert set(said["achieved"]["l"]) == {"frequency", "distinct", "entropy"}
        assert set(said["cost"]) == {
            "stars", "suppressed_tuples", "recoded_cells", "recoded_tuples", "gcp", "lower_bound", "optimal",
        }  # fmt: skip
        assert set(said["cost"]["lower_bound"]) >= {"stars", "suppressed_tuples", "why"}
        assert set(said["guarantee"]) == {
            "algorithm", "algorithm_fact", "phase", "recoded_cells_ratio", "recoded_tuples_ratio",
        }  # fmt: skip
        steps = {"read", "coarsen", "encode", "partition", "recode", "verify", "bound", "certify"}
        steps |= {"write", "verify again", "report"}
        assert set(said["seconds"]) - {"compile"} == {*steps, "total"}

    def test_it_knows_the_files(self, release: shoal.Release, tmp_path: Path) -> None:
        said = release.save(tmp_path / "out").to_dict()
        content = (tmp_path / "out/release.csv").read_bytes()
        expected = {"release.csv": {"sha256": hashlib.sha256(content).hexdigest(), "rows": ROWS}}
        assert said["output"]["files"] == expected
        assert release.certificate.to_dict()["output"]["files"] == {}

    def test_costs_are_those_of_the_cells(self, release: shoal.Release) -> None:
        stars = np.column_stack([(release.data[name].cast(pl.String) == "*").to_numpy() for name in QI])
        cost = release.certificate.to_dict()["cost"]
        assert cost["stars"] == cost["recoded_cells"] == release.metrics.stars == stars.sum()
        assert cost["suppressed_tuples"] == release.metrics.suppressed_tuples == stars.any(axis=1).sum()
        sizes = [len(rows) for rows in groups_of(release.data).values()]
        assert release.metrics.discernability == sum(size**2 for size in sizes)
        assert release.metrics.average_class_size == pytest.approx(ROWS / len(sizes) / 10)
        assert release.metrics.gcp == pytest.approx(stars.mean())
        assert set(release.metrics.to_dict()) >= {"kl_divergence", "gcp", "by_attribute"}

    def test_the_choice_and_its_reason(self, patients: pl.DataFrame) -> None:
        def chosen(**change: Any) -> tuple[str, str]:
            certificate = shoal.anonymize(patients, **REQUEST | change).certificate
            return certificate.algorithm, sentence(certificate.reason)

        assert chosen(privacy=shoal.LDiversity(3))[0] == "tp+"
        assert chosen(privacy=shoal.KAnonymity(3))[0] == "m-approximation"
        assert chosen(algorithm="mondrian") == ("mondrian", "asked for")
        assert chosen(algorithm=shoal.algorithms.ThreePhase(refine="hilbert"), privacy=shoal.LDiversity(3))[0] == "tp+"
        with pytest.raises(UnsupportedError, match=r"m-approximation.*These can:.*tp"):
            chosen(algorithm="m-approximation")


class TestSaving:
    def test_the_report(self, release: shoal.Release, tmp_path: Path) -> None:
        release.report(tmp_path / "report.html")
        page = (tmp_path / "report.html").read_text()
        assert "l-diversity (frequency), l = 4" in page
        assert SECRET not in page
        modes = []
        for public in (True, False, True):  # in the place of one that others could read
            path = tmp_path / f"{public}.html"
            path.unlink(missing_ok=True)
            path.write_text(" " * 1_000_000)
            path.chmod(0o644)
            release.report(path, public=public)
            modes.append(path.stat().st_mode & 0o777)
            assert path.read_text().strip().endswith("</html>")
        assert (tmp_path / "report.html").stat().st_mode & 0o777 == 0o600
        assert modes == [0o644, 0o600, 0o644]
        with pytest.raises(OutputError, match="cannot be written"):
            release.report(tmp_path / "missing/report.html")

    def test_formats(self, release: shoal.Release, tmp_path: Path) -> None:
        release.save(tmp_path / "a", format="parquet")
        release.save(tmp_path / "b")
        binary, text = (
            pl.read_parquet(tmp_path / "a/release.parquet"),
            pl.read_csv(tmp_path / "b/release.csv", infer_schema=False),
        )
        assert binary["visit"].dtype == pl.Int64
        assert binary["disease"].to_list() == text["disease"].to_list()
        with pytest.raises(ParameterError, match="'format' parameter of save"):
            release.save(tmp_path / "c", format="docx")
        assert not (tmp_path / "c").exists()

    def test_an_existing_folder(self, release: shoal.Release, tmp_path: Path) -> None:
        release.save(tmp_path / "out")
        before = (tmp_path / "out/certificate.json").read_bytes()
        with pytest.raises(OutputError, match="force"):
            release.save(tmp_path / "out")
        assert (tmp_path / "out/certificate.json").read_bytes() == before
        release.save(tmp_path / "out", force=True)
        assert sorted(file.name for file in tmp_path.iterdir()) == ["out", "out.private"]

    @pytest.mark.parametrize("name", ["\0", "x" * 300, ""])
    def test_folders_that_cannot_be(
        self, release: shoal.Release, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(OutputError):
            release.save(name)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.drawn
    @pytest.mark.parametrize("force", [False, True])
    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_a_file_that_is_not_the_release_never_appears(
        self, release: shoal.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, force: bool, kind: str
    ) -> None:
        from shoal.release import row_store

        write = row_store.write_table
        if force:
            release.save(tmp_path / "out", format=kind)
        wrong = {
            "a group lost a row": release.frame[1:],
            "the raw table": pl.concat([release.frame[:0].cast(pl.String), release.frame.cast(pl.String)]).with_columns(
                age=pl.Series([str(row) for row in range(ROWS)])
            ),
            "a whole group is gone": release.frame.filter(pl.col("age") != release.frame["age"][0]),
            "a column more": release.frame.with_columns(row=pl.Series(release.rows)),
            "a column less": release.frame.drop("visit"),
            "one group of all": release.frame.with_columns(pl.col(QI).cast(pl.String).replace_strict({}, default="*")),
        }
        for change, frame in wrong.items():
            monkeypatch.setattr(row_store, "write_table", lambda _, path, frame=frame, **kw: write(frame, path, **kw))
            with pytest.raises(ReleaseUnsafeError, match="Nothing was published") as raised:
                release.save(tmp_path / "out", force=force, format=kind)
            assert SECRET not in str(raised.value), change
            assert sorted(file.name for file in tmp_path.iterdir()) == (["out", "out.private"] if force else [])
        if force:
            monkeypatch.undo()
            audit = shoal.audit(tmp_path / f"out/release.{kind}", quasi_identifiers=QI, sensitive="disease")
            assert audit.achieved.to_dict() == release.certificate.achieved

    def test_an_interrupt_of_the_work_leaves_nothing(self, patients: pl.DataFrame) -> None:
        told: list[str] = []

        def interrupt(step: str, done: int, total: int, /) -> None:
            assert 0 <= done <= total
            told.append(step)
            if step == "verify":
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            shoal.anonymize(patients, **REQUEST, progress=interrupt)
        assert [step for step in told if step in ("read", "encode", "recode", "verify")] == [
            "read", "encode", "recode", "verify",
        ]  # fmt: skip


class TestRisk:
    @pytest.mark.drawn
    @pytest.mark.parametrize("privacy", [shoal.KAnonymity(10), shoal.LDiversity(3)])
    @pytest.mark.parametrize("recoding", ["suppression", "generalization"])
    def test_before_and_after(self, patients: pl.DataFrame, privacy: Any, recoding: Any) -> None:
        """Before: rows as they came, uncoarsened, without those that are dropped; after: cells that are published."""
        missing = pl.when(pl.int_range(ROWS) < 9).then(None).otherwise(pl.col("disease")).alias("disease")
        release = shoal.anonymize(
            patients.with_columns(missing),
            quasi_identifiers=QI,
            sensitive="disease",
            direct_identifiers=["name"],
            insensitive=["visit"],
            privacy=privacy,
            recoding=recoding,
            coarsen={"age": shoal.Bins(4)},
            missing_sensitive="drop",
        )
        k = release.requirement.k
        for when, table in (("before", patients[9:]), ("after", release.data)):
            figures = shoal.risk(table, quasi_identifiers=QI, threshold=Fraction(1, k) if k > 1 else 0.2)
            expected = {**figures.prosecutor.to_dict(), "sample_uniques": figures.sample_uniques}
            assert release.certificate.risk[when] == expected
        assert release.public_certificate.risk == {"after": release.certificate.risk["after"]}
        assert release.certificate.risk["before"]["sample_uniques"] > 0

    def test_without_quasi_identifiers_there_is_none(self, patients: pl.DataFrame) -> None:
        release = shoal.anonymize(
            patients[["disease"]], quasi_identifiers=[], sensitive="disease", privacy=shoal.KAnonymity(2)
        )
        assert release.certificate.to_dict()["risk"] == release.public_certificate.to_dict()["risk"] == {}
        assert shoal.audit(patients, quasi_identifiers=[], sensitive="disease").to_dict()["risk"] is None


class TestAudits:
    def test_the_raw_table(self, patients: pl.DataFrame) -> None:
        audit = shoal.audit(patients, quasi_identifiers=QI, sensitive="disease", privacy=[shoal.KAnonymity(50)])
        assert audit.rows == ROWS
        assert audit.achieved.k == min(len(rows) for rows in groups_of(patients).values())
        assert len(audit.violations) == 1
        assert "k-anonymity with k = 50" in audit.violations[0]
        assert json.loads(audit.to_json()) == audit.to_dict()
        assert set(audit.to_dict()) == {
            *("rows", "achieved", "unique_rows", "risk", "cost", "homogeneous", "requested", "violations", "failures"),
            "warnings",
        }

    def test_every_model_is_judged_by_itself(self, patients: pl.DataFrame) -> None:
        asked = [shoal.KAnonymity(1), shoal.LDiversity(6), shoal.LDiversity(6, variant="distinct")]
        audit = shoal.audit(patients, quasi_identifiers=QI, sensitive="disease", privacy=asked)
        assert [text.split(" in ")[0] for text in audit.violations] == [
            "The table fails l-diversity with l = 6 of 'disease'",
            "The table fails l-diversity (distinct) with l = 6 of 'disease'",
        ]

    def test_without_any_column(self, patients: pl.DataFrame) -> None:
        with pytest.raises(shoal.errors.ColumnError, match="No column"):
            shoal.audit(patients, quasi_identifiers=[])


class TestComparisons:
    def test_one_row_for_each_algorithm(self, patients: pl.DataFrame) -> None:
        names = ["tp", "tp+", "mondrian", shoal.algorithms.ThreePhase(refine="hilbert"), "m-approximation"]
        found = shoal.explore(patients.to_pandas(), **REQUEST, algorithms=names, seed=1)
        rows = found.to_dict()["rows"]
        assert [row["algorithm"] for row in rows] == ["tp", "tp+", "mondrian", "tp+", "m-approximation"]
        assert rows[4]["error"].startswith("The algorithm 'm-approximation' cannot serve this request")
        assert rows[1]["stars"] <= rows[0]["stars"]
        bounds = [row["lower_bound_recoded_cells"] for row in rows[:4]]
        assert max(bounds) <= min(row["stars"] for row in rows[:4])
        assert found.to_frame().height == 5
        assert json.loads(found.to_json()) == found.to_dict()

    @pytest.mark.drawn
    def test_one_name_and_no_name(self, patients: pl.DataFrame) -> None:
        assert [row.algorithm for row in shoal.explore(patients, **REQUEST, algorithms="tp").rows] == ["tp"]
        able = [row.algorithm for row in shoal.explore(patients, **REQUEST).rows]
        assert able == [
            "tp",
            "tp+",
            "hilbert",
            "mondrian",
            "mondrian-relaxed",
            "sabre",
            "cluster",
            "tds",
            "full-domain",
            "transparent",
        ]


class _OneGroup(Algorithm):
    """An algorithm of a caller's own: all rows in one group, which publishes the first level of every hierarchy."""

    name = "one group"
    capabilities = Capabilities(hierarchical=True)

    def group_rows(self, problem):
        d = len(problem.levels)
        return Partition(
            groups=np.zeros(problem.table.rows, dtype=np.int32),
            count=1,
            guarantee=Guarantee(promise=Fact("clustering")),
            least=np.ones((1, d), dtype=np.int32),
        )


def test_an_algorithm_that_climbs_hierarchies_has_one_for_every_attribute():
    table = pl.DataFrame({"age": [1, 1, 1, 1], "day": ["2020-01-01"] * 4, "job": ["a"] * 4, "none": [None] * 4})
    asked = {"quasi_identifiers": ["age", "day", "job"], "privacy": shoal.KAnonymity(2), "algorithm": _OneGroup()}
    tree = shoal.Hierarchy.from_rows([("a", "b", "*"), ("x", "b", "*"), ("y", "c", "*")])
    release = shoal.anonymize(table, direct_identifiers=["none"], hierarchies={"job": tree}, **asked)
    assert release.data.rows() == [("*", "*", "b")] * 4
    told = release.certificate.parameters["hierarchies"]
    assert {name: one["automatic"] for name, one in told.items()} == {"age": True, "day": True, "job": False}
    starred = shoal.anonymize(table, direct_identifiers=["none"], recoding="suppression", **asked)
    assert starred.data.rows() == [("*", "*", "*")] * 4
    assert starred.certificate.parameters["hierarchies"] == {}
    empty = shoal.anonymize(table, recoding="generalization", **(asked | {"quasi_identifiers": ["none"]}),
                            insensitive=["age"], direct_identifiers=["day", "job"])  # fmt: skip
    assert empty.data["none"].to_list() == ["*"] * 4


def test_a_release_raises_its_warnings_where_it_was_called() -> None:
    frame = pl.DataFrame(
        {"age": [30, 31] * 4, "name": [f"n{row}" for row in range(8)], "ill": ["a", "a", "b", "b"] * 2}
    )
    roles: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": "ill", "insensitive": ["name"], "seed": 1}
    for publish in (
        lambda: shoal.anonymize(frame, **roles, k=4),
        lambda: shoal.apply(shoal.anonymize(frame, **roles, k=4).plan, frame, seed=1),
    ):
        with pytest.warns(shoal.ReleaseWarning, match="'name'") as caught:
            release = publish()
        assert {one.filename for one in caught} == {__file__}
        texts = [str(one) for one in release.warnings]
        assert [str(one.message) for one in caught][-len(texts) :] == texts
        assert repr(release).endswith(f"warnings={len(texts)})")
        # A printed list of warnings reads as sentences.
        assert all(text in repr(release.warnings) for text in texts)
    # Releases that are only compared raise nothing, the one that is chosen does.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = shoal.explore(frame, **roles, k=[2, 4])
    with pytest.warns(shoal.ReleaseWarning, match="'name'"):
        found.choose(k=4)
    # Code that is executed may have no module.
    with pytest.warns(shoal.ReleaseWarning, match="'name'"):
        exec("shoal.anonymize(frame, **roles, k=4)", {"shoal": shoal, "frame": frame, "roles": roles})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shoal.anonymize(frame.drop("name"), **{**roles, "insensitive": []}, k=4)


def test_coarsenings_may_be_text() -> None:
    given = {"age": "bins:10", ("lat", "lon"): "points:4", "zip": shoal.Prefix(2)}
    request = shoal.Request(quasi_identifiers=["age", "lat", "lon", "zip"], k=2, coarsen=given)
    meant = {"age": shoal.Bins(10), ("lat", "lon"): shoal.grouping.Points(k=4), "zip": shoal.Prefix(2)}
    assert request == shoal.Request(quasi_identifiers=["age", "lat", "lon", "zip"], k=2, coarsen=meant)
    frame = pl.DataFrame({"age": [30, 31, 40, 41], "pay": [1, 2, 3, 4]})
    release = shoal.anonymize(
        frame, quasi_identifiers=["age"], sensitive="pay", k=2, coarsen={"age": "bins:10", "pay": "round:5"}, seed=1
    )
    assert release.data.rows() == [("[30, 40)", 0), ("[30, 40)", 0), ("[40, 50)", 5), ("[40, 50)", 5)]
    with pytest.raises(UsageError, match=r"coarsen=\{'age': 'bins:0'\} is invalid\. .* > 0"):
        shoal.anonymize(frame, quasi_identifiers=["age"], sensitive="pay", k=2, coarsen={"age": "bins:0"})
    with pytest.raises(UsageError, match=r"'bin' is not a coarsening\. Did you mean 'bins'"):
        shoal.Request(quasi_identifiers=["age"], k=2, coarsen={"age": "bin:3"})


def test_roles_may_be_those_of_an_inspection() -> None:
    table = shoal.datasets.patients(300, seed=1)
    found = shoal.inspect(table)
    release = shoal.anonymize(table, roles=found, k=5, coarsen={"admitted": "date:year"}, seed=1)
    assert release.schema == shoal.Request(**found.roles, k=5).schema
    # What is named by hand goes before what is proposed.
    release = shoal.anonymize(table, roles=found, k=2, sensitive=["gender"], person="visit_id", seed=1)
    assert release.schema.quasi_identifiers == ("age", "zip", "admitted")
    assert release.schema.sensitive == ("gender", "disease")
    assert (release.schema.kinds, release.schema.direct_identifiers) == ((("visit_id",),), ("name",))
    rows = shoal.datasets.patients(300, seed=1).with_columns(patient_id=pl.int_range(300) // 3).drop("visit_id", "name")
    found = shoal.inspect(rows)
    assert shoal.anonymize(rows, roles=found, k=2, seed=1).schema.kinds == ((found.person,),)
    # A proposal is a role with its steps and its missing values: the incomes are not published one by one.
    incomes = pl.DataFrame(
        {
            "age": [str(20 + row % 40) if row % 50 else "n/a" for row in range(400)],
            "sex": ["f", "m"] * 200,
            "income": [None if row % 90 == 0 else 20_000 + 37 * (row % 380) for row in range(400)],
            "born": [9999 if row % 70 == 0 else 1950 + row % 45 for row in range(400)],
        }
    )
    found = shoal.inspect(incomes)
    release = shoal.anonymize(incomes, roles=found, k=5, seed=1)
    assert release.published["income"].n_unique() <= 12
    assert not release.published["born"].cast(pl.String).str.contains("10000|9999").any()
    assert shoal.evaluate(incomes, k=5).request.replace_values == {"age": {"n/a": None}, "born": {"9999": None}}
    exact = shoal.anonymize(incomes, roles=found, k=5, coarsen={"income": "bins:10000"}, seed=1)
    assert exact.published["income"].n_unique() < release.published["income"].n_unique()
    # What a request names goes before it, too, and an evaluation takes the same words.
    asked = shoal.Request(quasi_identifiers=["age"], sensitive="sex", coarsen={"income": "bins:10000"}, k=5)
    evaluation = shoal.evaluate(incomes, asked, roles=found)
    assert evaluation.request.schema == shoal.anonymize(incomes, asked, roles=found, seed=1).schema
    assert evaluation.request.schema.sensitive == ("sex", "income")
    assert evaluation.proposed == ("income", "born") == shoal.evaluate(incomes, asked).proposed
    assert shoal.evaluate(table, roles=shoal.inspect(table)).to_dict() == shoal.evaluate(table).to_dict()
    for verb in (shoal.anonymize, shoal.evaluate):
        with pytest.raises(ParameterError, match=r"result of shoal\.inspect\. Got dict"):
            verb(table, roles={"age": "sensitive"}, k=2)


def test_a_saved_release_is_loaded_and_takes_the_frame_that_anonymize_took(tmp_path: Path) -> None:
    table = shoal.datasets.patients(300, seed=1)
    release = shoal.anonymize(
        table,
        quasi_identifiers=["age", "gender", "admitted"],
        sensitive="disease",
        insensitive=["zip"],
        direct_identifiers=["name", "visit_id"],
        k=5,
        recoding="generalization",
        coarsen={"admitted": "date:month"},
        seed=1,
    )
    release.save(tmp_path / "out")
    loaded = shoal.load(tmp_path / "out")
    assert_frame_equal(loaded.data, release.data)
    assert loaded.public_certificate["achieved"]["k"] == 5
    assert loaded.certificate["algorithm"] == release.certificate.algorithm
    assert loaded.warnings == tuple(str(one) for one in release.warnings)
    assert repr(loaded) == f"SavedRelease(rows=300, columns=5, k=5, warnings={len(release.warnings)})"
    # Tables of any kind that anonymize takes; the figures are those of the release in memory.
    expected = [one.value for one in release.utility().measures]
    for original in (table, table.to_pandas(), table.to_arrow()):
        assert [one.value for one in loaded.utility(original).measures] == pytest.approx(expected)
    with pytest.raises(ParameterError, match="target"):
        release.utility(table)  # type: ignore[call-overload]
    # Verbs take it as they take the release.
    for verb in (shoal.audit, shoal.risk, shoal.attacks.homogeneity_attack):
        assert verb(loaded).to_dict() == verb(release).to_dict()
    again = shoal.apply(loaded.plan, table, seed=1)
    assert_frame_equal(again.data, shoal.apply(release.plan, table, seed=1).data)
    # Only the public folder is there.
    shutil.move(tmp_path / "out.private", tmp_path / "kept")
    loaded = shoal.load(tmp_path / "out")
    assert loaded.plan is None
    assert loaded.certificate == loaded.public_certificate
    # The private folder of another release, a changed table, and a folder of something else.
    shoal.anonymize(table[["age"]], quasi_identifiers=["age"], k=5, seed=1).save(tmp_path / "other")
    shutil.move(tmp_path / "other.private", tmp_path / "out.private")
    with pytest.raises(DataError, match="private folder of another release"):
        shoal.load(tmp_path / "out")
    shutil.rmtree(tmp_path / "out.private")
    (tmp_path / "out" / "release.csv").write_text("age\n1\n")
    with pytest.raises(DataError, match="not the one that its certificate names"):
        shoal.load(tmp_path / "out")
    with pytest.raises(DataError, match="not the folder of a release"):
        shoal.load(tmp_path)


def test_numba_is_loaded_while_a_large_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = shoal.datasets.census(300, quasi_identifiers=2, seed=1)
    frame.write_csv(path := tmp_path / "table.csv")
    asked = {"quasi_identifiers": ["age", "gender"], "sensitive": "income", "k": 5, "seed": 1}
    started = []
    monkeypatch.setattr("shoal.verbs.anonymize.start_in_thread", started.append)
    small = shoal.anonymize(str(path), **asked).data
    assert not started
    monkeypatch.setattr("shoal.verbs.anonymize._LARGE_FILE", path.stat().st_size)
    assert_frame_equal(shoal.anonymize(str(path), **asked).data, small)
    (load,) = started
    assert [len(one) for one in load()] == [0, 0]
    shoal.anonymize(frame, **asked)
    assert len(started) == 1, "a table in memory is there"
