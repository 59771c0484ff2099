"""A publisher shows which table a release was made of, by revealing a salt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import ColumnError, DataError, ParameterError

TABLE = pl.DataFrame(
    {"name": list("ABCD"), "age": [20, 31, 45, 31], "zip": ["01", "02", "01", "03"], "s": list("xyxy")}
)
REQUEST: dict[str, Any] = {
    "quasi_identifiers": ["age", "zip"],
    "sensitive": "s",
    "direct_identifiers": ["name"],
    "privacy": shoal.LDiversity(2),
}


@pytest.fixture
def private(tmp_path: Path) -> Path:
    TABLE.write_csv(tmp_path / "in.csv")
    shoal.anonymize(tmp_path / "in.csv", **REQUEST).save(tmp_path / "out", publish_proof=True)
    return tmp_path / "out.private"


def test_everything_that_a_certificate_can_be(private: Path) -> None:
    source, salt = private.parent / "in.csv", (private / "salt.txt").read_text().strip()
    facts = json.loads((private / "certificate.json").read_text())
    for certificate in (private, str(private), private / "certificate.json"):
        assert shoal.provenance(source, certificate)
        assert shoal.provenance(source, certificate, salt=salt)
    assert shoal.provenance(source, facts, salt=salt)
    assert shoal.provenance(source, private.parent / "out", salt=salt), "one that was published with a proof"
    assert not shoal.provenance(source, private, salt="0" * 64)
    TABLE.reverse().drop("name").write_csv(private.parent / "other.csv")
    assert shoal.provenance(private.parent / "other.csv", private)


def test_what_is_wrong(private: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    shoal.anonymize(source, **REQUEST).save(tmp_path / "plain")
    with pytest.raises(ParameterError, match="This one has none"):
        shoal.provenance(source, tmp_path / "plain", salt="0" * 64)
    with pytest.raises(ParameterError, match=r"no salt\.txt in the folder of the certificate"):
        shoal.provenance(source, tmp_path / "out")
    with pytest.raises(ParameterError, match="64 hexadecimal digits"):
        shoal.provenance(source, private, salt="salt")
    with pytest.raises(ParameterError, match="Got int"):
        shoal.provenance(source, 3)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="cannot be read"):
        shoal.provenance(source, tmp_path / "nothing.json")
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(DataError, match="not one that shoal wrote"):
        shoal.provenance(source, tmp_path / "list.json")
    with pytest.raises(ColumnError, match="no column 'zip'"):
        shoal.provenance(TABLE.drop("zip"), private)


def test_from_the_command_line(private: Path, tmp_path: Path) -> None:
    from click.testing import CliRunner

    from shoal.cli.main import app

    def call(*words: object) -> tuple[int, str]:
        called = CliRunner().invoke(app, ["audit", str(words[1]), "--against", str(words[0]), *map(str, words[2:])])
        return called.exit_code, called.output

    code, said = call(tmp_path / "in.csv", private)
    assert (code, said.strip()) == (0, "The release was made from this table.")
    TABLE.with_columns(s=pl.Series(list("yxxy"))).write_csv(tmp_path / "other.csv")
    code, said = call(tmp_path / "other.csv", private, "--json")
    assert (code, json.loads(said)) == (3, {"same": False})
    code, said = call(tmp_path / "in.csv", tmp_path / "out")
    assert code == 2
    assert "--salt" in said
    code, said = call(tmp_path / "in.csv", private, "--salt", "x")
    assert "--salt must be 64 hexadecimal digits" in said
