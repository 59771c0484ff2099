"""Tests of quick passes over the bytes of delimited text."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError
from shoal.io import delimited, read_delimited
from shoal.release import run_rows

_LINES = st.lists(st.sampled_from([b"", b"a", b"ab", b"b", b"a,b", b"a,", b'"x"', b'"']), max_size=12)


@given(lines=_LINES, block=st.integers(1, 9))
def test_runs_of_lines_are_found_across_blocks(
    lines: list[bytes], block: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("lines") / "table.csv"
    path.write_bytes(b"".join(line + b"\n" for line in (b"head", *lines)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_rows, "_BLOCK", block)
        found = run_rows._runs_of_lines(path)
    if any(line.count(b'"') % 2 for line in lines):
        assert found is None
        return
    expected = [(line, len(list(equal))) for line, equal in groupby(lines)]
    assert found is not None
    assert found[0] == b"".join(line + b"\n" for line in (b"head", *(line for line, _ in expected)))
    assert found[1].tolist() == [count for _, count in expected]


@given(
    records=st.lists(st.lists(st.sampled_from(["", "a", "bc"]), min_size=1, max_size=4), min_size=1, max_size=8),
    ended=st.booleans(),
    block=st.integers(1, 30),
)
def test_plain_records_are_counted(records: list[list[str]], ended: bool, block: int) -> None:
    text = "\n".join(",".join(record) for record in records) + ("\n" if ended else "")
    *lines, rest = text.split("\n")
    right = lines and not rest and all(line.count(",") == 2 for line in lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_BLOCK", block)
        found = delimited._count_plain_records(text.encode(), ",", 3)
    assert found == (len(lines) if right else None)


@pytest.mark.parametrize("lines", [["1,2", "3,4"], ["1,2", "3"], ["1,2", "", "3,4"], ["1,2", "3,4,5"], ["1,2,3", "4"]])
def test_the_quick_count_changes_nothing(lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    content = "\n".join(["a,b", *lines, ""]).encode()

    def told() -> object:
        try:
            return read_delimited(content, "it").frame.rows()
        except DataError as error:
            return str(error)

    quick = told()
    monkeypatch.setattr(delimited, "_count_plain_records", lambda *_: None)
    assert told() == quick
