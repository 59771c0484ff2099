"""t-closeness from the command line: every ground distance, in anonymize, audit and compare."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

ROLES = ("--qi", "age,zip", "--sensitive", "severity")
VALUES = ("mild", "severe", "fatal")
SECRET = "Zyzzyva"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    lines = ["age,zip,severity"]
    lines += [f"{20 + row % 5},{10001 + row % 3},{VALUES[row * 7 % 11 % 3]} {SECRET}" for row in range(120)]
    (tmp_path / "in.csv").write_text("\n".join(lines) + "\n")
    names = [f"{value} {SECRET}" for value in VALUES]
    (tmp_path / "tree.csv").write_text(
        "".join(f"{name};{'bad' if at else 'good'};*\n" for at, name in enumerate(names))
    )
    rows = [["", *names], *([name, *(abs(i - j) * 2 for j in range(3))] for i, name in enumerate(names))]
    with (tmp_path / "metric.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return tmp_path


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("distance", "described"),
    [
        ((), {"distance": "equal"}),
        (
            ("ordered", "--t-order", ",".join(f"{value} {SECRET}" for value in VALUES)),
            {"distance": "ordered", "order": "given"},
        ),
        (("hierarchy:{folder}/tree.csv",), {"distance": "hierarchical", "height": 2}),
        (("file:{folder}/metric.csv",), {"distance": "metric", "values": 3, "normalised": True}),
    ],
    ids=["equal", "ordered", "hierarchical", "metric"],
)
def test_every_distance_from_flags_to_the_audit(
    shoal: Any, files: Path, distance: tuple[str, ...], described: dict[str, Any]
) -> None:
    words = [word.format(folder=files) for word in (("--t-distance", *distance) if distance else ())]
    asked = (*ROLES, "-t", 0.15, *words)
    found = shoal("anonymize", files / "in.csv", *asked, "-k", 4, "-o", files / "out", "--json")
    assert found.code == 0, found.err
    certificate = json.loads((files / "out/certificate.json").read_text())
    assert certificate["requested"][1] == {"model": "t-closeness", **described, "t": 0.15}
    if distance:
        ((measured),) = certificate["achieved"]["closeness"]
        assert measured == {**described, "t": measured["t"]}
        assert 0 <= measured["t"]["severity"] <= 0.15
    else:
        assert certificate["achieved"]["t"]["severity"] <= 0.15
        assert "closeness" not in certificate["achieved"]
    page = (files / "out/report.html").read_text()
    judged = shoal("audit", files / "out/release.csv", *asked, "--json")
    assert judged.code == 0, judged.err
    assert judged.json["achieved"] == certificate["achieved"]
    said = shoal("audit", files / "out/release.csv", *asked)
    assert f"{described['distance']} distance" in " ".join(said.out.split())
    assert shoal("audit", files / "in.csv", *asked[: -len(words) or None][:-1], 0, *words).code == 3
    compared = shoal("explore", files / "in.csv", *asked, "--algorithms", "mondrian,tp")
    assert compared.code == 0, compared.err
    for text in (found.out, page, judged.out, said.out + said.err, compared.out + compared.err):
        assert SECRET not in text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("x,{0},{1}\n{0},0,1\n{1},1,0\n", "the metric misses 1 of its 3 values"),
        ("x,{0},{1}\n{0},0,1\n", "names 2 values in its first line, and has 1 lines below it"),
        ("x,{0},{1}\n{1},0,1\n{0},1,0\n", "another value in line 2"),
        ("x,{0},{1}\n{0},0,1\n{1},1\n", "1 distances in line 3 instead of 2"),
        ("x,{0},{1}\n{0},0,much\n{1},1,0\n", "something else than a number as distance 2 of line 2"),
        ("x,{0},{0}\n{0},0,1\n{0},1,0\n", "names a value twice, as number 1 and as number 2"),
        ("x,{0},{1}\n{0},0,1\n{1},2,0\n", "number 1 and 2 is not the same in both directions"),
    ],
)
def test_metrics_that_cannot_be(shoal: Any, files: Path, content: str, said: str) -> None:
    (files / "metric.csv").write_text(content.format(*(f"{value} {SECRET}" for value in VALUES)))
    found = shoal(
        "anonymize",
        files / "in.csv",
        *ROLES,
        "-t",
        0.2,
        "--t-distance",
        f"file:{files}/metric.csv",
        "-o",
        files / "out",
    )
    assert found.code == 2
    assert said in " ".join(found.err.split())
    assert SECRET not in found.err
    assert not (files / "out").exists()


def test_an_order_is_asked_for_where_there_is_none(shoal: Any, files: Path) -> None:
    words = ("anonymize", files / "in.csv", *ROLES, "-t", 0.2, "--t-distance", "ordered", "-o", files / "out")
    found = shoal(*words)
    assert found.code == 2
    assert "does not apply to 'severity': its values have no order" in " ".join(found.err.split())
    assert "--model t_order" in found.err
    found = shoal(*words, "--t-order", "mild,severe")
    assert found.code == 2
    assert "the order misses 3 of its 3 values" in " ".join(found.err.split())
    assert SECRET not in found.err
