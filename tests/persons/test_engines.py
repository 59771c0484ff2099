"""The sixty people of five visits each, through every door: protected, or refused."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from tests.every import THOROUGH, every, some
from tests.oracles.linked import is_linked_safe
from tests.oracles.persons import units_share
from tests.persons.test_units import QI, sixty, units_of_groups
from tests.test_published_files import Enumeration, files_of

import shoal
from shoal.cli.main import app

ASKED: dict[str, Any] = {"quasi_identifiers": QI, "sensitive": "disease", "person": "patient"}


@every("models", [{"k": 5}, {"k": 5, "l": 4}, {"l": 4}], drawn=True)
@every("way", ["parquet", "csv", "lazy", "folder"], drawn=True)
def test_in_pieces(tmp_path: Path, way: str, models: dict[str, int]) -> None:
    data = sixty()
    data.write_csv(tmp_path / "t.csv")
    (tmp_path / "folder").mkdir()
    data[:123].write_parquet(tmp_path / "folder/a.parquet")
    data[123:].write_parquet(tmp_path / "folder/b.parquet")
    data.write_parquet(tmp_path / "t.parquet")
    source = {
        "parquet": tmp_path / "t.parquet",
        "csv": tmp_path / "t.csv",
        "lazy": data.lazy(),
        "folder": tmp_path / "folder",
    }[way]
    made = shoal.anonymize(source, **ASKED, **models, engine="stream")
    made.save(tmp_path / "out")
    here = shoal.anonymize(data, **ASKED, **models)
    assert made.certificate.requested == here.certificate.requested
    (figures,) = made.certificate.persons
    assert (figures["records"], figures["units"], figures["most_records"]) == (300, 60, 5)
    if "k" in models:
        assert figures["largest_share"] <= 0.2
        assert figures["least_in_group"] >= 5
    assert made.data.collect_schema().names() == [*QI, "disease"]
    assert shoal.provenance(data, made.certificate.to_dict(), salt=made.salt)


@pytest.mark.parametrize("missing", [False, True])
def test_in_pieces_with_insensitive_columns(tmp_path: Path, missing: bool) -> None:
    data = sixty().with_columns(ward=pl.int_range(pl.len()) % 4)
    if missing:
        data = data.with_columns(patient=pl.when(pl.int_range(pl.len()) % 7 > 0).then("patient"))
        with pytest.raises(shoal.errors.ParameterError, match="engine='memory'"):
            shoal.anonymize(data.lazy(), **ASKED, k=5, engine="stream", insensitive=["ward"], missing_person="own")
        return
    made = shoal.anonymize(data.lazy(), **ASKED, k=5, engine="stream", insensitive=["ward"])
    made.save(tmp_path / "out")
    released = made.data.collect()
    assert sorted(released["ward"]) == sorted(data["ward"])
    assert sorted(zip(released["disease"], released["ward"], strict=True)) == sorted(
        zip(data["disease"], data["ward"], strict=True)
    )


def test_persons_that_are_missing_in_pieces() -> None:
    data = sixty().with_columns(
        patient=pl.when(pl.int_range(pl.len()) % 7 > 0).then("patient"), age=20 + pl.int_range(pl.len()) % 2
    )
    with pytest.raises(shoal.errors.DataError, match="43 row"):
        shoal.anonymize(data.lazy(), **ASKED, k=5, engine="stream")
    made = shoal.anonymize(data.lazy(), **ASKED, k=5, engine="stream", missing_person="own")
    assert made.certificate.persons[0]["units"] == 60 + 43


def test_the_command_line(tmp_path: Path) -> None:
    sixty().write_csv(tmp_path / "t.csv")
    words = f"--qi age,zip --sensitive disease --person patient -k 5 -o {tmp_path / 'out'} --json"
    called = CliRunner().invoke(app, ["anonymize", str(tmp_path / "t.csv"), *words.split()])
    assert called.exit_code == 0, called.output
    certificate = json.loads((tmp_path / "out.private/certificate.json").read_text())
    assert certificate["persons"][0]["largest_share"] <= 0.2
    assert certificate["requested"] == [{"model": "k-anonymity", "k": 5, "of": "persons"}]
    again = CliRunner().invoke(app, ["anonymize", str(tmp_path / "t.csv"), *words.split()[:-1], "--force"])
    said = " ".join(again.output.split())
    assert "60 (patient) with 300 records, at most 5 of one; a group has records of at least" in said
    assert "persons; the smallest has" in said
    public = (tmp_path / "out/certificate.json").read_text()
    assert "of 5 or more persons" in public
    assert "Each record is assumed to belong to a different person" not in public
    assert "patient" not in public
    (tmp_path / "t.toml").write_text(
        'input = "t.csv"\noutput = "other"\n[columns]\nquasi_identifiers = ["age", "zip"]\nsensitive = ["disease"]\n'
        'person = ["patient"]\n[privacy]\nk = 61\n'
    )
    refused = CliRunner().invoke(app, ["anonymize", "--spec", str(tmp_path / "t.toml")])
    assert refused.exit_code != 0
    assert "one has 5 of the 300 rows, so the largest feasible k is 60" in " ".join(refused.stderr.split())


@every("models", [[shoal.KAnonymity(2)], [shoal.KAnonymity(2), shoal.LDiversity(2)]], drawn=True)
@every("algorithm", ["auto", "mondrian", "cluster"], drawn=True)
def test_public_files_do_not_depend_on_whose_the_rows_are(models: list[Any], algorithm: str) -> None:
    """All ways to give six rows to one, two or three persons: one text for each published table."""
    found = Enumeration()
    # Persons are named in the order of their first rows: other names are the same ways.
    ways = [way for way in itertools.product("abc", repeat=6) if [*dict.fromkeys(way)] == [*"abc"[: len(set(way))]]]
    for owners in some(ways, least=40):
        table = pl.DataFrame({"q": [1, 1, 2, 2, 3, 3], "s": list("xyxyxy"), "id": owners})
        found.add(table, quasi_identifiers=["q"], person="id", privacy=models, algorithm=algorithm)
    assert found.check() > (60 if THOROUGH else 5)


@every("models", [[shoal.KAnonymity(2)], [shoal.KAnonymity(2), shoal.LDiversity(2)]], drawn=True)
@every("recoding", ["suppression", "generalization"], drawn=True)
def test_public_files_do_not_depend_on_how_the_rows_of_persons_were_aligned(
    models: list[Any], recoding: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linked rows of three persons with two rows each, of which all values and sensitive values are tried."""
    monkeypatch.setattr("shoal.pipeline.kept_rows.secrets.randbits", lambda _: 5)
    found = Enumeration()
    for values in some(itertools.product((1, 2), repeat=5), least=16):
        for sensitive in ("xyxyzw", "xyyzzx")[: 3 - len(models)]:
            table = pl.DataFrame({"q": [1, *values], "r": list("abbaba"), "s": list(sensitive), "id": list("aabbcc")})
            found.add(table, quasi_identifiers=["q", "r"], person="id", link=True, privacy=models, recoding=recoding)
    assert found.check() > 5 or not THOROUGH


def test_linked_persons_are_published_with_stars() -> None:
    """The column of pseudonyms is empty while their rows are grouped."""
    for values in list(itertools.product((1, 2), repeat=5))[::5]:
        table = pl.DataFrame({"q": [1, *values], "r": list("abbaba"), "s": list("xyxyzw"), "id": list("aabbcc")})
        asked: dict[str, Any] = {"quasi_identifiers": ["q", "r"], "sensitive": "s", "person": "id", "link": True}
        made = shoal.anonymize(table, **asked, k=2, recoding="suppression", seed=1)
        assert set(made.data.columns) == {"pseudonym", "q", "r", "s"}


@pytest.mark.drawn
@pytest.mark.parametrize("seed", range(4))
def test_linked_persons_with_all_diseases_are_not_refused(seed: int) -> None:
    """Each of the sixty has all five diseases: one record of each stays, and no draw makes a disease too frequent."""
    release = shoal.anonymize(sixty(), **ASKED, link=True, l=4, seed=seed)
    rows = [
        (unit, tuple(known), value) for unit, *known, value in release.data.select("pseudonym", *QI, "disease").rows()
    ]
    assert is_linked_safe(rows, 4, 4)
    assert len(rows) == 60


def test_public_folders_do_not_depend_on_whose_the_rows_are(tmp_path: Path) -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for number, owners in enumerate(["aabbcc", "abcabc", "abcdef", "aabcde"]):
        table = pl.DataFrame({"q": [1, 1, 2, 2, 3, 3], "s": list("xyxyxy"), "id": list(owners)})
        made = shoal.anonymize(
            table, quasi_identifiers=["q"], sensitive="s", person="id", k=3, rows_per_person=2, seed=0
        )
        made.save(tmp_path / str(number))
        found[made.data.write_csv()].add(str(files_of(tmp_path / str(number))))
    assert all(len(texts) == 1 for texts in found.values())
    assert len(found) < 4


@pytest.mark.thorough
@pytest.mark.xdist_group("spark")
def test_spark(tmp_path: Path, spark: Any) -> None:
    data = sixty()
    frame = spark.createDataFrame(data.to_arrow())
    made = shoal.anonymize(frame, **ASKED, k=5, l=4)
    made.save(tmp_path / "out")
    (figures,) = made.certificate.persons
    assert figures["largest_share"] <= 0.2
    assert "patient" not in made.data.columns


@pytest.mark.drawn
def test_other_verbs_take_persons() -> None:
    data = sixty()
    compared = shoal.explore(data, **ASKED, k=5, algorithms=["tp+", "mondrian"])
    assert not any(row.error for row in compared.rows)
    found = shoal.explore(data, **ASKED, k=[2, 5, 61])
    assert [choice.error is None for choice in found.rows] == [True, True, False]
    for choice in found.rows[:2]:
        assert choice.release is not None
        assert all(
            units_share(group, choice.k or 1)
            for group in units_of_groups(choice.release, data["patient"].to_list(), QI)
        )
    tuned = shoal.explore(data, **ASKED, k=5, coarsenings={"age": [shoal.Bins(10)]}, seed=0).choose()
    assert tuned.certificate.persons[0]["largest_share"] <= 0.2


def test_steps_of_scikit_learn_protect_persons() -> None:
    data = sixty()
    step = shoal.sklearn.Anonymizer(sensitive="disease", k=5, protect_transformed=True, options={"person": "patient"})
    made = step.fit_transform(data)
    assert made.columns == ["age_low", "age_high", "zip", "disease"]
    assert step.release_.certificate.persons[0]["largest_share"] <= 0.2
    assert step.transform(data).height == 300
    # Five records of each of fewer than five persons.
    with pytest.raises(shoal.errors.InfeasibleError):
        step.transform(data[:20])
    with pytest.raises(shoal.errors.DataError, match="rows_per_person"):
        step.set_params(options={"person": "patient", "rows_per_person": 1}).fit_transform(data)


@pytest.mark.parametrize("link", [False, True])
def test_what_a_release_shows_of_itself_counts_persons(link: bool) -> None:
    release = shoal.anonymize(sixty(), **ASKED, k=5, link=link, seed=1)
    achieved = release.certificate.achieved
    k = achieved["linked"]["k"] if link else release.certificate.persons[0]["k"]
    assert f" k={k}, " in repr(release)
    assert k < achieved["k"]


def test_plans_protect_persons(tmp_path: Path) -> None:
    made = shoal.anonymize(sixty(), **ASKED, k=5)
    made.save(tmp_path / "out")
    again = shoal.apply(tmp_path / "out.private/plan.json", sixty())
    assert again.certificate.persons[0]["largest_share"] <= 0.2
    alone = sixty().with_columns(patient=pl.when(pl.col("age") < 79).then(pl.lit("one")).otherwise("patient"))
    with pytest.raises(shoal.errors.InfeasibleError, match="largest feasible k is 1"):
        shoal.apply(tmp_path / "out.private/plan.json", alone)
