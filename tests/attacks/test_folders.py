"""Attacks on what shoal saved: a folder, the file in it, and the release itself are one and the same."""

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal import attacks
from shoal.cli.main import app
from shoal.errors import DataError, ParameterError

PEOPLE = shoal.datasets.census(200, quasi_identifiers=["age", "gender"], seed=5).with_row_index("id")
ROLES = {"quasi_identifiers": ["age", "gender"], "sensitive": "income"}


@pytest.mark.drawn
def test_a_folder_says_itself_what_it_is(tmp_path):
    made = shoal.anonymize(
        PEOPLE, privacy=shoal.LDiversity(3), star="?", direct_identifiers=["id"], algorithm="tp+", seed=1, **ROLES
    )
    made.save(tmp_path / "out")
    for attack, more in (
        (attacks.homogeneity_attack, {"targets": PEOPLE}),
        (attacks.background_knowledge_attack, {"targets": PEOPLE}),
        (attacks.skewness_attack, {}),
    ):
        results = [
            attack(source, **more).to_dict() for source in (made, tmp_path / "out", str(tmp_path / "out/release.csv"))
        ]
        assert results[0] == results[1] == results[2]
    PEOPLE.write_csv(tmp_path / "people.csv")
    found = attacks.linking_attack(tmp_path / "out", tmp_path / "people.csv", identifier="id")
    assert found.to_dict() == attacks.linking_attack(made, PEOPLE, identifier="id").to_dict()
    asked = {"identifier": "id", "quasi_identifiers": ["age", "gender"], "sensitive": "income"}
    by_folder = attacks.intersection_attack([tmp_path / "out"] * 2, [tmp_path / "people.csv"] * 2, **asked)
    by_frame = attacks.intersection_attack([made.data] * 2, [PEOPLE] * 2, star="?", **asked)
    assert by_folder.to_dict()["successes"] == by_frame.to_dict()["successes"]
    with pytest.raises(ParameterError, match="give lists"):
        attacks.intersection_attack(tmp_path / "out", [PEOPLE], **asked)


def test_a_file_that_was_changed_is_not_the_release(tmp_path):
    shoal.anonymize(PEOPLE, privacy=shoal.KAnonymity(3), direct_identifiers=["id"], seed=1, **ROLES).save(
        tmp_path / "out"
    )
    table = tmp_path / "out" / "release.csv"
    frame = pl.read_csv(table, infer_schema=False)
    frame[:-1].write_csv(table)
    with pytest.raises(DataError, match="is not the one that its certificate names"):
        attacks.homogeneity_attack(tmp_path / "out")
    assert attacks.homogeneity_attack(table, **ROLES).to_dict()["attempts"] == 199


@pytest.mark.drawn
def test_a_release_in_pieces_is_judged_as_one_in_a_file(tmp_path):
    """Engines for large tables write a folder of Parquet files in place of a file."""
    roles = ROLES | {"direct_identifiers": ["id"]}
    made = shoal.anonymize(PEOPLE.lazy(), l=2, engine="stream", seed=1, output=tmp_path / "out", **roles)
    expected = shoal.audit(made.data.collect(), **ROLES).achieved
    PEOPLE.write_parquet(tmp_path / "people.parquet")
    for released in (tmp_path / "out", str(tmp_path / "out" / "release.parquet")):
        assert shoal.audit(released).achieved == expected
        assert shoal.risk(released).to_dict() == shoal.risk(made.data.collect(), **ROLES).to_dict()
        assert attacks.homogeneity_attack(released).attempts == 200
        outcome = CliRunner().invoke(app, ["report", str(released), "--utility", str(tmp_path / "people.parquet")])
        assert outcome.exit_code == 0, outcome.output
    [piece] = (tmp_path / "out" / "release.parquet").iterdir()
    for change, what in (
        (lambda: piece.with_name("part-9.parquet").write_bytes(piece.read_bytes()), "does not hold the files"),
        (lambda: (piece.with_name("part-9.parquet").unlink(), PEOPLE.write_parquet(piece)), "is not the one"),
        (lambda: piece.rename(piece.with_name("part-9.parquet")), "does not hold the files"),
    ):
        change()
        with pytest.raises(DataError, match=what):
            shoal.audit(tmp_path / "out")
