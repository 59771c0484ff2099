"""A table with many columns has a sentence for each kind of warning, with every column and its figure."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.wording import join_warnings

ROWS = 60
COLUMNS = {
    # Numbers that end as stars, text that reads alike, text of single records, and formulas.
    **{f"lab{at}": [(at + 7 * row) % ROWS for row in range(ROWS)] for at in range(12)},
    **{f"code{at}": ["A", "a", "b"] * (ROWS // 3) for at in range(6)},
    **{f"note{at}": [f"note {(at + row) % (ROWS - at)}" for row in range(ROWS)] for at in range(12)},
    **{f"flag{at}": ["=x" if row < 30 + at else "n" for row in range(ROWS)] for at in range(10)},
}
ROLES: dict[str, Any] = {
    "quasi_identifiers": [name for name in COLUMNS if name[:3] == "lab"],
    "sensitive": [name for name in COLUMNS if name[:4] == "code"],
    "insensitive": [name for name in COLUMNS if name[:4] in ("note", "flag")],
}


@pytest.mark.drawn
def test_each_kind_is_one_sentence_everywhere(tmp_path: Path) -> None:
    table = pl.DataFrame(COLUMNS)
    release = shoal.anonymize(table, **ROLES, k=5, recoding="suppression", seed=1)
    separate = [one.to_dict() for one in release.warnings]
    joined = join_warnings(separate)
    assert len(separate) == 40
    assert len(joined) == 4
    # Every column stands in the sentence of its kind, with its own figure, the most serious first.
    for one in separate:
        (text,) = [text for code, text in joined if code == one["code"]]
        assert f"'{one['column']}'" in text
    formulas = dict(joined)["formula_cells"]
    assert formulas.startswith("39 record(s) have a value of 'flag9'")
    assert "The same holds for 'flag8' (38), 'flag7' (37)" in formulas
    assert "'lab1' (100%; coarsen={'lab1': shoal.Bins(" in dict(joined)["mostly_stars"]
    # The terminal, the report and notebooks; the certificate has each column by itself.
    table.write_csv(tmp_path / "in.csv")
    words = [
        "anonymize",
        str(tmp_path / "in.csv"),
        "-k",
        "5",
        "--recoding",
        "suppression",
        "--seed",
        "1",
        "-o",
        str(tmp_path / "out"),
    ]
    for flag, names in zip(("--qi", "--sensitive", "--insensitive"), ROLES.values(), strict=True):
        words += [flag, ",".join(names)]
    said = CliRunner().invoke(app, words)
    assert said.exit_code == 0, said.stderr
    assert said.stdout.count("Warning: ") == 4
    for page in ("out", "out.private"):
        text = html.unescape((tmp_path / page / "report.html").read_text("utf-8"))
        assert text.count("The same holds for") == 4, page
    assert release._repr_html_().count("The same holds for") == 4
    assert len(release.certificate.to_dict()["warnings"]) == 40
    audited = CliRunner().invoke(app, ["audit", str(tmp_path / "out")])
    assert audited.stdout.count("Warning: ") == 2, "names that read alike, and columns that identify persons"
