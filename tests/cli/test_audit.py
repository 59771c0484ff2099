"""`shoal audit` judges any table, and says it by its exit code too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SECRET = "Zyzzyva"


@pytest.fixture
def release(shoal: Any, patients: Path, roles: tuple[str, ...], tmp_path: Path) -> Path:
    assert shoal("anonymize", patients, *roles, "-l", 4, "-o", tmp_path / "out").code == 0
    return tmp_path / "out/release.csv"


def test_a_release_agrees_with_its_certificate(shoal: Any, release: Path, roles: tuple[str, ...]) -> None:
    import json

    certificate = json.loads((release.parent / "certificate.json").read_text())
    found = shoal("audit", release, *roles[:4], "--json")
    assert found.code == 0
    assert found.json["achieved"] == certificate["achieved"]
    assert {"requested", "violations", "failures"} & set(found.json) == set(), "nothing was asked"
    assert SECRET not in found.out


def test_it_is_said_in_sentences(shoal: Any, release: Path, roles: tuple[str, ...]) -> None:
    found = shoal("audit", release, *roles[:4], "-l", 4)
    assert found.code == 0, found.err
    assert "l (frequency)" in found.out
    assert "Every record shares its quasi-identifiers with at least" in " ".join(found.out.split())
    assert SECRET not in found.out
    sets = shoal("audit", release, *roles[:4], "--knows", 1)
    assert all(f"{name} (sets" in sets.out for name in ("k", "l", "alpha"))


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("words", "code"), [(("-k", 2), 0), (("-k", 200), 3), (("-l", 40), 3), (("-l", 4, "-k", 2), 0)]
)
def test_the_exit_code_says_whether_a_requirement_is_met(
    shoal: Any, release: Path, roles: tuple[str, ...], words: tuple[object, ...], code: int
) -> None:
    found = shoal("audit", release, *roles[:4], *words)
    assert found.code == code, found.err
    assert bool(found.err) == (code == 3)
    as_json = shoal("audit", release, *roles[:4], *words, "--json")
    assert as_json.code == code
    assert bool(as_json.json["violations"]) == (code == 3)


def test_only_what_fails_is_named_with_its_groups(shoal: Any, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    rows = [*[f"b,{SECRET}"] * 3, "a,flu", f"a,{SECRET}-2", *[f"c,{SECRET}"] * 7, *["c,flu"] * 2]
    table.write_text("\n".join(["age,disease", *rows]) + "\n")
    words = ("audit", table, "--qi", "age", "--sensitive", "disease", "-k", 2, "-l", "2", "-t", "0.5")
    found = shoal(*words)
    out, err = " ".join(found.out.split()), " ".join(found.err.split())
    assert found.code == 3
    assert "It satisfies k-anonymity, k = 2." in out
    assert "It does not satisfy l-diversity (frequency), l = 2; t-closeness (equal distance), t = 0.5." in out
    # The groups b and c have too much of one disease; a is far from the table.
    assert "The table fails l-diversity" in err
    assert "in 2 of 3 groups, with 12 records. Groups by number (records; first row): 1 (3; row 1), 3 (9; row 6)" in err
    assert "in 1 of 3 groups, with 2 records. Groups by number (records; first row): 2 (2; row 4)." in err
    assert "1 in 1" not in out
    assert SECRET not in found.out + found.err
    told = shoal(*words, "--json").json
    assert [failure["failing"] for failure in told["failures"]] == [
        [{"group": 1, "size": 3, "first_row": 1}, {"group": 3, "size": 9, "first_row": 6}],
        [{"group": 2, "size": 2, "first_row": 4}],
    ]
    assert len(told["requested"]) == 3
    assert len(told["violations"]) == 2


def test_a_confidence_is_said_as_a_share(shoal: Any, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("age,disease\n" + "a,flu\n" * 9 + "a,cold\n" * 2)
    said = " ".join(shoal("audit", table, "--qi", "age", "--sensitive", "disease").out.split())
    assert "with a confidence above 81.9%." in said


def test_unique_rows_are_warned_of(shoal: Any, tmp_path: Path) -> None:
    table = tmp_path / "raw.csv"
    table.write_text(f"age,zip,disease\n1,1,{SECRET}\n1,1,{SECRET}\n2,2,flu\n3,3,flu\n")
    found = shoal("audit", table, "--qi", "age,zip", "--sensitive", "disease")
    said = " ".join(found.out.split())
    assert found.code == 0
    assert "Warning: k = 1. 2 records are unique" in said
    assert "Warning: l = 1" in said
    assert SECRET not in found.out + found.err


def test_a_spec_names_columns_and_requirement(shoal: Any, release: Path, tmp_path: Path) -> None:
    spec = tmp_path / "release.toml"
    spec.write_text(
        '[columns]\nquasi_identifiers = ["age", "gender", "zip"]\nsensitive = ["disease"]\ninsensitive = ["visit_id"]\n'
        "[privacy]\nk = 200\n"
    )
    assert shoal("audit", release, "--spec", spec).code == 3
    assert shoal("audit", release, "--spec", spec, "-k", 2).code == 0


@pytest.mark.drawn
@pytest.mark.parametrize("words", [(), ("--qi", "aeg"), ("--qi", "age", "--sensitive", "diseas")])
def test_wrong_columns(shoal: Any, release: Path, words: tuple[str, ...]) -> None:
    (release.parent / "certificate.json").unlink()  # which would name them
    found = shoal("audit", release, *words)
    assert found.code == 2
    assert SECRET not in found.err


def test_a_file_that_is_not_there(shoal: Any, tmp_path: Path) -> None:
    found = shoal("audit", tmp_path / "none.csv", "--qi", "age")
    assert found.code == 2
    assert "none.csv" in found.err


@pytest.mark.drawn
@pytest.mark.parametrize("command", ["audit", "risk"])
def test_the_folder_of_a_release_names_its_columns(
    shoal: Any, release: Path, roles: tuple[str, ...], command: str
) -> None:
    told = shoal(command, release, *roles[:4], "--json")
    assert told.code == 0, told.err
    for source in (release.parent, release):
        found = shoal(command, source, "--json")
        assert found.code == 0, found.err
        assert found.json == told.json
    assert shoal(command, release.parent, "-k", 200).code == (3 if command == "audit" else 2)  # risk takes no model
    (release.parent / "certificate.json").unlink()
    assert "Name the quasi-identifiers with --qi" in shoal(command, release.parent).err


def test_words_of_cells_that_say_nothing(shoal: Any, release: Path) -> None:
    found = shoal("risk", release.parent, "--stars", "wildcard", "--cells", "age=ordr:1,2")
    assert found.code == 2
    said = " ".join(found.err.split())
    assert "--cells age=ordr:1,2 does not declare a meaning of cells. Did you mean 'order'" in said
    assert "values (as they stand), order:A,B,C (all values in their order), or a coarsening: prefix:3" in said


def test_one_rounding_rule_of_distances(shoal: Any, release: Path) -> None:
    """An audit and the attack state the same t, rounded against the publisher."""
    (stated,) = shoal("audit", release.parent, "--json").json["achieved"]["t"].values()
    assert shoal("attack", "--method", "skewness", release.parent, "--json").json["largest_distance"] == stated


def test_lists_are_not_taken_for_one_value(shoal: Any, tmp_path: Path) -> None:
    """All lists differ, and everybody has `a`."""
    rows = "".join(f"{20 + row // 4},a;{row % 4}\n" for row in range(16))
    (tmp_path / "table.csv").write_text(f"age,codes\n{rows}")
    roles = ("--qi", "age", "--sensitive", "codes", "--list", "codes=;")
    assert shoal("anonymize", tmp_path / "table.csv", *roles, "-k", 4, "-o", tmp_path / "out").code == 0
    found = shoal("audit", tmp_path / "out", "-k", 4)
    assert found.code == 0, found.err
    assert "It satisfies k-anonymity, k = 4." in found.out
    assert "Warning: l = 1." in found.out
    assert "confidence above" not in found.out
    refused = shoal("audit", tmp_path / "out", "-l", 2)
    assert refused.code == 2
    assert "checks no model" in " ".join(refused.err.split())


def test_the_verdict_about_persons_is_that_of_the_failures(shoal: Any, tmp_path: Path) -> None:
    file = tmp_path / "visits.csv"
    file.write_text("pat,age,dx\n1,20,a\n2,20,a\n3,30,a\n4,30,b\n")
    persons = ["audit", str(file), "--qi", "age", "--sensitive", "dx", "--person", "pat"]
    for models in (
        ["-l", "2"],
        ["-l", "2", "--harmless", "b"],
        ["-k", "3"],
        ["-k", "3", "--alpha", "0.6"],
        ["-t", "0.1"],
    ):
        for more in ([], ["--link"]) if "--harmless" not in models else ([],):
            run = shoal(*persons, *models, *more)
            assert run.code == 3
            assert "It satisfies" not in " ".join(run.out.split())
            assert "It does not satisfy" in " ".join(run.out.split())
    run = shoal(*persons, "-k", "2", "-l", "2")
    assert "It satisfies k-anonymity" in " ".join(run.out.split())
    assert "It does not satisfy l-diversity" in " ".join(run.out.split())
