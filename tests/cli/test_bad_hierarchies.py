"""What is wrong with a hierarchy or a coarsening: the file, the column, how many or which line, never a cell."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import shoal as library
from shoal.errors import ShoalError

from .conftest import SECRET

ROLES = ("--qi", "age,gender,zip", "--sensitive", "disease", "--id", "name", "--insensitive", "visit_id")
GOOD = [f"{age};{age // 20 * 20}s;*" for age in (20, 30, 40, 50)]


def said(text: str) -> str:
    """A message as one line, without the frame that a terminal draws around it."""
    return re.sub(r"[\s│]+", " ", text)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            GOOD[:2],
            "The hierarchy 'age.csv' misses 2 of the 4 values of the column 'age', the first in row 3 .line 4 of",
        ),
        ([*GOOD[:3], f"50;50s;{SECRET}"], "The hierarchy 'age.csv' has 2 roots: .*line 4"),
        (
            ["20;a;b;*", "30;a;c;*", *[f"{age};d;b;*" for age in (40, 50)]],
            "'age.csv' gives a node .* two parents: line 2",
        ),
        ([*GOOD, "20;others;*"], "'age.csv' has the value of line 5 twice"),
        (
            [*GOOD[:3], "", "50;*"],
            "'age.csv' has 3 level.s. in its first line and 2 in line 5. Every value needs as many",
        ),
        ([*GOOD[:3], "50;;*"], "'age.csv' has a node without a name in line 4"),
        ([*GOOD[:3], '50;"40s;*'], "Line 4 of 'age.csv' has quotation marks that do not match"),
        ([], "'age.csv' is empty"),
    ],
)
def test_a_file_that_is_no_hierarchy_of_the_column(
    shoal: Any, patients: Path, tmp_path: Path, lines: list[str], message: str
) -> None:
    tree = tmp_path / "age.csv"
    tree.write_text("".join(line + "\n" for line in lines))
    flags = ("--hierarchy", f"age={tree}", "--recoding", "generalization", "-k", 2, "-o", tmp_path / "out")
    found = shoal("anonymize", patients, *ROLES, *flags)
    assert found.code == 2
    assert re.search(message, said(found.err))
    assert SECRET not in found.err
    assert not (tmp_path / "out").exists()
    with pytest.raises(ShoalError, match=message) as caught:
        library.anonymize(
            patients,
            quasi_identifiers=["age", "gender", "zip"],
            sensitive="disease",
            direct_identifiers=["name"],
            insensitive=["visit_id"],
            privacy=library.KAnonymity(2),
            recoding="generalization",
            hierarchies={"age": tree},
        )
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("age=cuts:40,30", "must ascend. Got 30 after 40"),
        ("gender=date:year", "Column 'gender': DatePart cannot read row 1"),
        ("gender=bins:10", "Column 'gender': Bins needs numbers"),
        ("age=date:year", "Column 'age': DatePart cannot read row 1"),
        ("name=prefix:2", "'name'"),
        ("age=level:{tree}:9", "level must be a whole number from 0 to 2. Got 9"),
        ("age=level:{tree}:1", "misses 2 of the 4 values of the column 'age'"),
    ],
)
def test_a_coarsening_that_a_column_cannot_have(
    shoal: Any, patients: Path, tmp_path: Path, words: str, message: str
) -> None:
    tree = tmp_path / "age.csv"
    tree.write_text("\n".join(GOOD[:2]) + "\n")
    flags = ("--coarsen", words.format(tree=tree), "-k", 2, "-o", tmp_path / "out")
    found = shoal("anonymize", patients, *ROLES, *flags)
    assert found.code == 2
    assert re.search(message, said(found.err)), said(found.err)
    assert SECRET not in found.err
    assert not (tmp_path / "out").exists()
