"""`shoal series`: a series from the first release to the last, by the command line alone."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

SECRET = "Zyzzyva"


@pytest.fixture
def quarters(tmp_path: Path) -> list[Path]:
    """Three tables of patients: some leave, some are new, all of the first return."""
    paths = []
    for number, people in enumerate((range(60), range(20, 80), range(70)), start=1):
        path = tmp_path / f"q{number}.csv"
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["name", "patient_id", "age", "zip", "disease"])
            for one in people:
                writer.writerow(
                    [
                        f"{SECRET} {one}",
                        f"{SECRET}-{one}",
                        20 + one * 7 % 53,
                        10_000 + one * 13 % 97,
                        f"{SECRET}-{one % 7}",
                    ]
                )
        paths.append(path)
    return paths


@pytest.fixture
def ledger(shoal: Any, tmp_path: Path) -> Path:
    path = tmp_path / "releases.db"
    words = ("--id", "patient_id", "--qi", "age,zip", "--sensitive", "disease", "-m", 4, "--drop", "name")
    found = shoal("series", "start", path, "--series", "admissions", *words)
    assert found.code == 0, found.err
    said = " ".join(found.out.split())
    assert "Back up the ledger after every release" in said
    assert str(tmp_path / "releases.db.anchor") in said
    assert "lies in the folder of the ledger" in " ".join(found.err.split())
    return path


@pytest.mark.drawn
def test_strictness_refuses_known_people_under_other_ids(
    shoal: Any, ledger: Path, quarters: list[Path], tmp_path: Path
) -> None:
    assert shoal("series", "publish", ledger, quarters[0], "-o", tmp_path / "out1").code == 0
    coded = tmp_path / "coded.csv"
    coded.write_text(quarters[1].read_text().replace(f"{SECRET}-25,", f"{SECRET}-9925,"))
    found = shoal("series", "publish", ledger, coded, "-o", tmp_path / "out2", "--strict")
    assert found.code == 1
    assert "1 of 21 new people has the quasi-identifiers of someone who is known" in " ".join(found.err.split())
    assert SECRET not in found.err
    assert not (tmp_path / "out2").exists()
    found = shoal("series", "publish", ledger, coded, "-o", tmp_path / "out2")
    assert found.code == 0
    assert "1 of 21 new people" in " ".join(found.err.split())


def test_a_series_from_the_first_release_to_the_last(
    shoal: Any, ledger: Path, quarters: list[Path], tmp_path: Path
) -> None:
    for number, table in enumerate(quarters, start=1):
        found = shoal("series", "publish", ledger, table, "-o", tmp_path / f"out{number}", "--json")
        assert found.code == 0, found.err
        assert found.json["series"] == {**found.json["series"], "name": "admissions", "release": number}
        assert found.json["counts"]["new"] == (60, 20, 0)[number - 1]
        assert SECRET not in found.out + found.err
    assert found.json["counts"]["returned"] == 20
    assert "20 people return" in found.err
    names = {path.name for path in (tmp_path / "out3").iterdir()}
    assert names == {"release.csv", "counterfeits.csv", "certificate.json", "report.html"}

    listed = shoal("series", "history", ledger, "--json")
    assert [one["number"] for one in listed.json["series"][0]["releases"]] == [1, 2, 3]
    said = shoal("series", "history", ledger)
    assert "admissions (m = 4)" in said.out
    assert "published" in said.out

    verified = shoal("series", "verify", ledger, "--certificate", tmp_path / "series.json")
    assert verified.code == 0, verified.err
    assert "4-invariant" in verified.out
    certificate = json.loads((tmp_path / "series.json").read_text())
    assert [one["number"] for one in certificate["releases"]] == [1, 2, 3]
    assert str(tmp_path) not in json.dumps(certificate)

    with (tmp_path / "out2/release.csv").open("a") as file:
        file.write("1,2,3,4\n")
    changed = shoal("series", "verify", ledger, "--json")
    assert changed.code == 3
    assert str(tmp_path / "out2/release.csv") in changed.json["problems"][0]
    assert shoal("series", "verify", ledger, tmp_path / "out1", tmp_path / "out3").code == 0

    kept = shoal("series", "undo", ledger)
    assert (kept.code, "--unpublished" in kept.err) == (2, True)
    taken = shoal("series", "undo", ledger, "--unpublished")
    assert taken.code == 0
    assert "Release 3 was taken back" in taken.out
    assert "remove them" in taken.out
    after = "".join(shoal("series", "history", ledger).out.split())  # a long path is broken where the line ends
    said = f"3 withdrawn: its number is not given again; its folder still exists: {tmp_path / 'out3'}"
    assert "".join(said.split()) in after
    # A folder that is gone is not reported, and a later release with the folder of the withdrawn one keeps its folder.
    for place in (tmp_path / "out3", tmp_path / "out3.private"):
        shutil.rmtree(place)
    assert "still exists" not in shoal("series", "history", ledger).out
    again = shoal("series", "publish", ledger, quarters[2], "-o", tmp_path / "out3")
    assert again.code == 0, again.err
    assert "its folder still exists" not in " ".join(shoal("series", "history", ledger).out.split())
    assert shoal("series", "undo", ledger, "--interrupted").out.strip() == "Nothing was interrupted."
    assert shoal("series", "undo", ledger, "--interrupted", "--json").json == {"recovered": []}


def test_it_is_said_in_a_few_lines(shoal: Any, ledger: Path, quarters: list[Path], tmp_path: Path) -> None:
    found = shoal("series", "publish", ledger, "--series", "admissions", quarters[0], "-o", tmp_path / "out")
    assert found.code == 0, found.err
    said = " ".join(found.out.split())
    assert "60 in all, 0 stayed, 60 are new" in said
    assert "confidence above 1/4" in said
    assert str(tmp_path / "out.private/report.html") in found.out
    assert SECRET not in found.out
    # The confidence in a value was not measured before, so the report has no figure and no bar of it.
    report = (tmp_path / "out.private/report.html").read_text()
    row = report.partition("&#39;disease&#39; is guessed rightly")[2].partition("</tr>")[0]
    assert '<td class="n"></td><td class="n">25' in row, row
    assert "bar before" not in row


def test_exit_codes(shoal: Any, ledger: Path, quarters: list[Path], tmp_path: Path) -> None:
    skewed = tmp_path / "skewed.csv"
    lines = [f"{SECRET},{SECRET}{one},{20 + one},1000,{SECRET}-flu" for one in range(40)]
    skewed.write_text("\n".join(["name,patient_id,age,zip,disease", *lines]))
    out = tmp_path / "out"
    infeasible = shoal("series", "publish", ledger, skewed, "-o", out, "--json")
    assert infeasible.code == 1
    assert infeasible.json["exit_code"] == 1
    assert SECRET not in infeasible.out + infeasible.err
    assert not out.exists()
    wrong = [
        ("publish", ledger, tmp_path / "none.csv", "-o", out),
        ("publish", ledger, quarters[0], "-o", tmp_path),
        ("publish", ledger, "--series", "other", quarters[0], "-o", out),
        ("publish", ledger, quarters[0], "-o", out, "--missing-sensitive", "maybe"),
        ("publish", ledger, quarters[0], "-o", out, "--hold-back"),
        ("publish", ledger, quarters[0], "-o", out, "--changed-sensitive", "withhold"),
        ("verify", ledger, "--backup"),
        ("verify", ledger, "--backup", "--risk", "--last", 0),
        (
            "start",
            ledger,
            "--series",
            "x",
            "--id",
            "a",
            "--qi",
            "b",
            "--sensitive",
            "c",
            "-m",
            2,
            "--counterfeits",
            "no",
        ),
        ("publish", ledger, quarters[0], "-o", out, "--key", tmp_path / "none.key"),
        ("history", tmp_path / "none.db"),
        ("verify", tmp_path / "none.db"),
        ("start", ledger, "--series", "admissions", "--id", "a", "--qi", "b", "--sensitive", "c", "-m", 2),
        ("start", ledger, "--series", "x", "--id", "a", "--qi", "b", "--sensitive", "c", "-m", 1),
        ("start", ledger, "--series", "x", "--id", "a", "--qi", "a", "--sensitive", "c", "-m", 2),
        ("start", ledger, "--series", "x", "--id", "a", "--sensitive", "c", "-m", 2),
    ]
    for words in wrong:
        found = shoal("series", *words, "--json")
        assert (found.code, found.json["exit_code"]) == (2, 2), words
        assert found.json["error"]
    assert not out.exists()
    assert not (tmp_path / "none.db").exists()


@pytest.mark.drawn
def test_options_of_a_publish(shoal: Any, ledger: Path, quarters: list[Path], tmp_path: Path) -> None:
    first = shoal("series", "publish", ledger, quarters[0], "-o", tmp_path / "a", "--seed", 5, "--format", "parquet")
    assert first.code == 0, first.err
    assert (tmp_path / "a/release.parquet").exists()
    before = quarters[0].read_text()
    words = ("series", "publish", ledger, quarters[0], "-o", tmp_path / "b")
    quarters[0].write_text(before.replace(f"{SECRET}-3\n", f"{SECRET}-4\n"))
    changed = shoal(*words)
    assert (changed.code, "have another sensitive value now" in " ".join(changed.err.split())) == (2, True)
    quarters[0].write_text(before.replace(f",{SECRET}-5\n", ",\n"))
    assert shoal(*words).code == 2
    found = shoal(*words, "--signatures", "far")
    assert (found.code, "--signatures" in found.err) == (2, True)
    found = shoal(*words, "--missing-sensitive", "drop", "--min-real", 500)
    assert (found.code, "fewer" in found.err) == (1, True)
    found = shoal(*words, "--missing-sensitive", "drop", "--signatures", "near", "--min-real", 2, "--json")
    assert found.code == 0, found.err
    assert found.json["parameters"]["signatures"] == "near"
    assert found.json["parameters"]["min_real"] == 2
    assert found.json["counts"]["missing_sensitive"] > 0
    assert len(found.json["notes"]) == 1


@pytest.mark.drawn
def test_words_of_the_publisher(shoal: Any, ledger: Path, quarters: list[Path], tmp_path: Path) -> None:
    """People in two series, and a ledger in the place of a lost one: what to say in either case is said in flags."""
    publish = ("series", "publish", ledger, quarters[0])
    assert shoal(*publish, "-o", tmp_path / "a").code == 0
    words = ("--id", "patient_id", "--qi", "age,zip", "--sensitive", "disease", "-m", 4, "--drop", "name")
    second = shoal("series", "start", ledger, "--series", "second", *words)
    assert second.code == 0
    assert "know nothing of each other" in " ".join(second.err.split())
    refused = shoal(*publish, "--series", "second", "-o", tmp_path / "b")
    assert (refused.code, (tmp_path / "b").exists()) == (2, False)
    assert "60 of 60 people are in the series 'admissions'" in refused.err
    assert "allow it: --overlap allow." in refused.err
    assert shoal(*publish, "--series", "second", "-o", tmp_path / "b", "--overlap", "allow").code == 0
    start = ("series", "start", tmp_path / "another.db", "--series", "admissions", *words)
    refused = shoal(*start)
    assert refused.code == 2
    assert "they are others: --anew." in refused.err
    assert shoal(*start, "--anew").code == 0


def test_reports_of_a_series_are_not_rewritten(shoal: Any, ledger: Path, quarters: list[Path], tmp_path: Path) -> None:
    assert shoal("series", "publish", ledger, quarters[0], "-o", tmp_path / "q1").code == 0
    for folder in ("q1", "q1.private"):
        for name in ("report.html", "certificate.json"):
            assert "m-invariance with m = 4: no one" in (tmp_path / folder / name).read_text()
    refused = shoal("report", tmp_path / "q1", "--title", "New")
    assert (refused.code, "so they are not rewritten." in " ".join(refused.err.split())) == (2, True)
    assert shoal("series", "verify", ledger).code == 0


def test_two_series_need_a_name(shoal: Any, ledger: Path, quarters: list[Path], tmp_path: Path) -> None:
    words = ("--id", "patient_id", "--qi", "age,zip", "--sensitive", "disease", "-m", 2, "--drop", "name")
    assert shoal("series", "start", ledger, "--series", "b", *words, "--json").json["m"] == 2
    found = shoal("series", "publish", ledger, quarters[0], "-o", tmp_path / "out")
    assert found.code == 2
    assert "--series: 'admissions', 'b'" in found.err
    assert "no release yet" in shoal("series", "history", ledger).out


@pytest.mark.parametrize(("content", "what"), [("", "is empty"), ("id,age,disease\n", "a header but no rows")])
def test_a_table_of_nobody_says_what_to_do(shoal: Any, tmp_path: Path, content: str, what: str) -> None:
    ledger, table = tmp_path / "ledger.db", tmp_path / "q1.csv"
    roles = ("--id", "id", "--qi", "age", "--sensitive", "disease", "-m", 2)
    assert shoal("series", "start", ledger, "--series", "s", *roles).code == 0
    table.write_text(content)
    found = shoal("series", "publish", ledger, "--series", "s", table, "-o", tmp_path / "out")
    assert found.code == 2
    assert f"'q1.csv' {what}" in found.err or f"'q1.csv' has {what}" in found.err
    assert "leave this release out. No one is forgotten" in found.err
    assert not (tmp_path / "out").exists()


@pytest.mark.drawn
def test_a_ledger_from_a_backup_and_another_key(shoal: Any, ledger: Path, quarters: list[Path], tmp_path: Path) -> None:
    """What a publisher does after a disaster, by the command line alone."""
    publish = ("series", "publish", ledger)
    assert shoal(*publish, quarters[0], "-o", tmp_path / "out1").code == 0
    backup = ledger.read_bytes()
    assert shoal(*publish, quarters[1], "-o", tmp_path / "out2").code == 0
    ledger.write_bytes(backup)
    refused = shoal(*publish, quarters[2], "-o", tmp_path / "out3")
    assert refused.code == 2
    assert "The ledger forgot" in refused.err
    assert "shoal series verify --backup" in refused.err
    assert shoal("series", "verify", ledger).code == 3
    told = shoal("series", "verify", ledger, "--backup")
    assert (told.code, "may betray" in told.err, "--risk" in told.err) == (2, True, True)
    accepted = shoal("series", "verify", ledger, "--backup", "--risk", "--json")
    assert "lost release 2 to 2" in accepted.json["accepted"][0]
    assert shoal("series", "verify", ledger, "--backup", "--risk").out.strip() == "No problems."
    made = shoal(*publish, quarters[2], "-o", tmp_path / "out3", "--json")
    assert made.code == 0, made.err
    assert made.json["series"]["release"] == 3
    assert "does not hold for people who were first published in release 2" in made.json["guarantee"]["text"]
    assert "lost: it was published" in shoal("series", "history", ledger).out

    old = (tmp_path / "releases.db.key").read_text()
    (tmp_path / "vault").mkdir()
    moved = tmp_path / "vault" / "l.key"
    rotated = shoal("series", "rotate", ledger, "--new-key", moved)
    assert rotated.code == 0, rotated.err
    assert (tmp_path / "vault" / "l.anchor").exists()
    assert not (tmp_path / "releases.db.anchor").exists()
    assert moved.read_text() != old
    assert shoal("series", "history", ledger).code == 2
    assert shoal("series", "verify", ledger, "--key", moved).code == 0
    again = shoal("series", "rotate", ledger, "--key", moved, "--json")
    assert again.json["key"] == str(moved)
    assert "lies beside" not in again.err


@pytest.mark.drawn
def test_people_are_erased_by_options_and_by_standard_input(
    shoal: Any, ledger: Path, quarters: list[Path], tmp_path: Path
) -> None:
    assert shoal("series", "publish", ledger, quarters[0], "-o", tmp_path / "out1").code == 0
    found = shoal("series", "erase", ledger, "--id", f"{SECRET}-3")
    assert (found.code, "in all: 1." in " ".join(found.out.split())) == (0, True)
    words = ("--id", "-", "--id", f"{SECRET}-3", "--json")
    found = shoal("series", "erase", ledger, *words, stdin=f"{SECRET}-4\n\n{SECRET}-5\n")
    assert found.json == {"series": "admissions", "erased": 3}
    refused = shoal("series", "publish", ledger, quarters[0], "-o", tmp_path / "out2")
    assert (refused.code, "3 of 60 people were erased" in " ".join(refused.err.split())) == (2, True)
    assert SECRET not in refused.err
    unknown = shoal("series", "erase", ledger, "--id", f"{SECRET}-99")
    assert (unknown.code, "does not know 1 of 1" in " ".join(unknown.err.split())) == (2, True)
    assert shoal("series", "verify", ledger).code == 0


@pytest.mark.drawn
def test_people_who_prevent_a_release_are_listed_privately(
    shoal: Any, ledger: Path, quarters: list[Path], tmp_path: Path
) -> None:
    assert shoal("series", "publish", ledger, quarters[0], "-o", tmp_path / "out1").code == 0
    # The ids are in the file only; it is private, and never replaced.
    words = ("series", "publish", ledger, quarters[1], "-o", tmp_path / "out2", "--refused", tmp_path / "ids.txt")
    lines = quarters[1].read_text().splitlines()
    lines[1] = f"{lines[1].rpartition(',')[0]},{SECRET}-corrected"
    quarters[1].write_text("\n".join(lines) + "\n")
    found = shoal(*words)
    assert (found.code, "1 of 40 people who were published before has" in " ".join(found.err.split())) == (2, True)
    assert "--refused" not in found.err, "the file is there already"
    assert "--refused FILE" in shoal(*words[:-2]).err
    assert "erase them with 'shoal series erase'" in " ".join(found.err.split())
    assert SECRET not in found.err + found.out
    assert (tmp_path / "ids.txt").read_text() == f"{SECRET}-20\n"
    assert (tmp_path / "ids.txt").stat().st_mode & 0o777 == 0o600
    again = shoal(*words)
    assert (again.code, "File exists" in again.err) == (2, True)
    # The way on: erase the person, and leave the row out.
    assert shoal("series", "erase", ledger, "--id", "-", stdin=(tmp_path / "ids.txt").read_text()).code == 0
    (tmp_path / "ids.txt").unlink()
    assert shoal(*words).code == 2
    assert (tmp_path / "ids.txt").read_text() == f"{SECRET}-20\n"
    quarters[1].write_text("\n".join([lines[0], *lines[2:]]) + "\n")
    assert shoal(*words).code == 0


@pytest.mark.drawn
def test_the_same_file_twice_is_noticed(shoal: Any, ledger: Path, quarters: list[Path], tmp_path: Path) -> None:
    assert shoal("series", "publish", ledger, quarters[0], "-o", tmp_path / "out1").code == 0
    strict = shoal("series", "publish", ledger, quarters[0], "-o", tmp_path / "out2", "--strict")
    assert (strict.code, "is it the same file?" in " ".join(strict.err.split())) == (1, True)
    warned = shoal("series", "publish", ledger, quarters[0], "-o", tmp_path / "out2")
    assert (warned.code, "is it the same file?" in " ".join(warned.err.split())) == (0, True)
    other = shoal("series", "publish", ledger, quarters[1], "-o", tmp_path / "out3")
    assert (other.code, "is it the same file?" in " ".join(other.err.split())) == (0, False)
    # Everybody stays and one zip code differs: another table.
    moved = tmp_path / "moved.csv"
    moved.write_text(quarters[1].read_text().replace(",100", ",101", 1))
    other = shoal("series", "publish", ledger, moved, "-o", tmp_path / "out4")
    assert (other.code, "is it the same file?" in " ".join(other.err.split())) == (0, False)


def test_a_series_of_files_with_semicolons_is_verified_from_its_files(shoal: Any, tmp_path: Path) -> None:
    rows = [f"{at};{20 + at % 7};{('Grippe', 'Schnupfen', 'Hüfte')[at % 3]}" for at in range(60)]
    (tmp_path / "german.csv").write_bytes("\r\n".join(["Nummer;Alter;Befund", *rows, ""]).encode("cp1252"))
    ledger, out = tmp_path / "ledger.db", tmp_path / "first"
    roles = ("--id", "Nummer", "--qi", "Alter", "--sensitive", "Befund")
    assert shoal("series", "start", ledger, "--series", "visits", "-m", 2, *roles).code == 0
    made = shoal("series", "publish", ledger, tmp_path / "german.csv", "-o", out)
    assert made.code == 0, made.err
    assert (out / "release.csv").read_bytes().decode("utf-8-sig").startswith("group_id;Alter;Befund\n")
    verified = shoal("series", "verify", ledger)
    assert verified.code == 0, verified.out + verified.err
