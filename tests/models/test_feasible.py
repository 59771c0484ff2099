"""Advice is followed to the letter, in Python and at the command line, and a release is made of it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from tests.every import every

import shoal
from shoal._core.words import listed, quote
from shoal._messages import PYTHON
from shoal.cli.main import app
from shoal.errors import InfeasibleError
from shoal.models.feasible import SensitiveCounts, advise_diversity
from shoal.wording import sentence

ROWS = 60
BASE = {"age": [20 + row * 7 % 40 for row in range(ROWS)], "town": [f"t{row % 3}" for row in range(ROWS)]}
DISEASE = [f"d{row % 4}" for row in range(ROWS)]
COMMON = ["no"] * 45 + ["yes", "perhaps", "maybe"] * 5
SAME = ["no"] * ROWS
TABLES: dict[str, dict[str, list[str]]] = {
    "feasible": {"a": ["wxyz"[row * 7 % 40 // 10] for row in range(ROWS)], "b": DISEASE},
    "common": {"a": DISEASE, "b": COMMON, "c": COMMON[::-1]},
    "same": {"a": DISEASE, "b": SAME},
    "both": {"a": SAME, "b": COMMON, "c": DISEASE},
    "many": {f"s{at}": COMMON for at in range(34)},
}


def table_of(name: str) -> pl.DataFrame:
    return pl.DataFrame(BASE | TABLES[name])


def made(frame: pl.DataFrame, sensitive: list[str], **request: Any) -> shoal.Release:
    dropped = list(request.get("direct_identifiers", ()))
    return shoal.anonymize(
        frame,
        quasi_identifiers=["age", "town"],
        sensitive=[name for name in sensitive if name not in dropped],
        seed=0,
        recoding="generalization",
        **request,
    )


def followed(frame: pl.DataFrame, sensitive: list[str], advice: str) -> int:
    """Do everything that a sentence offers, each alone; return how much that was."""
    first = re.search(r"drop it first \(direct_identifiers=(\[.*?\])\)", advice)
    if first is not None:
        sensitive = [name for name in sensitive if name not in eval(first[1])]
        frame, advice = frame.drop(eval(first[1])), advice[first.end() :]
    offers = re.findall(r"shoal\.\w+\([^()]*\)|direct_identifiers=\[[^\]]*\]", advice)
    for offer in offers:
        if offer.startswith("direct"):
            dropped = [name for name in eval(offer.partition("=")[2]) if name in frame.columns]
            made(frame, sensitive, direct_identifiers=dropped, privacy=[shoal.KAnonymity(2), shoal.LDiversity(2)])
        else:
            made(frame, sensitive, privacy=[shoal.KAnonymity(2), eval(offer)])
    return len(offers)


@pytest.mark.drawn
@pytest.mark.parametrize("name", ["feasible", "common", "same", "both"])
def test_the_advice_of_warnings_works(name: str) -> None:
    frame, sensitive = table_of(name), [*TABLES[name]]
    release = made(frame, sensitive, privacy=shoal.KAnonymity(2), algorithm="mondrian")
    raised = [one for one in release.warnings if one.code == "small_l"]
    assert len(raised) == 1
    assert followed(frame, sensitive, raised[0].render(PYTHON)) >= 1
    if name == "feasible":
        feasible = int(re.search(r"up to (\d+) is feasible", raised[0].text)[1])  # type: ignore[index]
        made(frame, sensitive, privacy=shoal.LDiversity(feasible))
        with pytest.raises(InfeasibleError):
            made(frame, sensitive, privacy=shoal.LDiversity(feasible + 1))
    else:
        assert "LDiversity(2)" not in raised[0].text


@every("name", ["common", "same", "both", "many"])
@every("l", [2, 3], drawn=True)
def test_the_advice_of_an_infeasible_request_works(name: str, l: int) -> None:
    frame, sensitive = table_of(name), [*TABLES[name]]
    with pytest.raises(InfeasibleError, match="No release can satisfy") as caught:
        made(frame, sensitive, privacy=shoal.LDiversity(l))
    if name == "many":
        assert "34 more" not in str(caught.value)
        assert "30 more columns" in str(caught.value)
        assert str(caught.value).count("largest feasible") == 1
        return
    assert "coarser quasi-identifiers do not change that" in str(caught.value) or name == "same"
    assert followed(frame, sensitive, str(caught.value)) >= 1


@pytest.mark.parametrize(
    "model",
    [
        shoal.LDiversity,
        lambda l: shoal.LDiversity(l, variant="distinct"),
        lambda l: shoal.LDiversity(float(l), variant="entropy"),
    ],
)
def test_the_best_of_all_columns_is_named_at_once(model: Any) -> None:
    frame = table_of("feasible")
    with pytest.raises(InfeasibleError) as caught:
        made(frame, ["a", "b"], privacy=model(9))
    best = [float(one) for one in re.findall(r"largest feasible l is (\d+(?:\.\d+)?)", str(caught.value))]
    assert "'a'" in str(caught.value)
    assert "'b'" in str(caught.value)
    least = min(best)
    made(frame, ["a", "b"], privacy=model(int(least) if least == int(least) else least))


@every("name", ["feasible", "common", "same"], drawn=True)
def test_the_advice_works_at_the_command_line(name: str, tmp_path: Path) -> None:
    table_of(name).write_csv(tmp_path / "table.csv")
    columns = [*TABLES[name]]

    def ran(*words: str, sensitive: list[str] = columns) -> Any:
        call = ["anonymize", str(tmp_path / "table.csv"), "--qi", "age,town", "--sensitive", ",".join(sensitive)]
        return CliRunner().invoke(
            app, [*call, "--seed", "0", "--recoding", "generalization", "--force", "-o", str(tmp_path / "out"), *words]
        )

    warned = ran("-k", "2", "--algorithm", "mondrian")
    refused = ran("-l", "9")
    assert (warned.exit_code, refused.exit_code) == (0, 1)
    for said in (" ".join(one.output.split()) for one in (warned, refused)):
        offers = re.findall(r"(?:--id|-t|-l) \S+(?: --model l_variant=distinct)?(?=[,) ])", said.replace("(-l 9)", ""))
        for offer in offers:
            words = shlex.split(offer.rstrip(",).;"))
            left = [one for one in columns if words[0] != "--id" or one not in words[1].split(",")]
            if f"Drop {listed([*map(quote, set(columns) - set(left))])} ({offer}" in said:
                # That is for columns which single out together.
                alone = ran(*words, "-k", "2", "--algorithm", "mondrian", sensitive=left)
                assert alone.exit_code == 0, offer
                assert "unique by the columns that are published" not in " ".join(alone.output.split()), offer
            elif words[0] == "--id":
                assert ran(*words, "-k", "2", "-l", "2", sensitive=left).exit_code == 0, offer
            else:
                assert ran(*words, "-k", "2").exit_code == 0, offer
        assert offers or name == "feasible"


@pytest.mark.drawn
def test_columns_of_a_kind_are_one_warning() -> None:
    frame, sensitive = table_of("many"), [*TABLES["many"]]
    release = made(frame, sensitive, privacy=shoal.KAnonymity(5), algorithm="mondrian")
    codes = [one.code for one in release.warnings]
    assert codes.count("small_l") == codes.count("dominant_value") == 1
    said = " ".join(one.text for one in release.warnings)
    assert said.startswith("34 columns have groups in which all records share one value")
    assert all(f"'{name}'" in said for name in sensitive), "each is named"
    assert "Ask for shoal.LDiversity(2) " not in said


def test_what_is_advised_depends_on_every_column() -> None:
    good = SensitiveCounts(name="a", rows=10, height=2, distinct=5)
    common = SensitiveCounts(name="b", rows=10, height=6, distinct=2)
    assert "up to 5 is feasible" in sentence(advise_diversity([good]))
    assert "shoal.LDiversity(2, variant='distinct')" in sentence(advise_diversity([good, common]))
    assert "direct_identifiers=['b']" in sentence(advise_diversity([good, common]))
