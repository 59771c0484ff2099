"""Tests of passes over the bytes of delimited text."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import release_of_runs
from shoal.errors import DataError
from shoal.io import delimited, read_delimited
from shoal.io.lines_kernel import count_plain_records, runs_of_lines

_TEXTS = st.lists(st.sampled_from([b"", b"a", b"ab", b"b", b"a,b", b"a,", b'"x"', b'"']), max_size=12)


@given(lines=_TEXTS, ended=st.booleans(), written=st.booleans())
def test_runs_are_those_of_equal_lines(lines: list[bytes], ended: bool, written: bool) -> None:
    text = b"\n".join(lines) + (b"\n" if ended else b"")
    content = np.frombuffer(text, dtype=np.uint8)
    each = text.splitlines(keepends=True)
    starts, times = np.empty((2, len(each) + 1), dtype=np.int64)
    runs = (runs_of_lines.py_func if written else runs_of_lines)(content, starts, times)
    if any(line.count(b'"') % 2 for line in each):
        assert runs == -1
        return
    expected = [(line, len(list(equal))) for line, equal in groupby(each)]
    assert runs == len(expected)
    assert times[:runs].tolist() == [count for _, count in expected]
    ends = np.append(starts[1:runs], len(text))[:runs]
    for (line, count), start, end in zip(expected, starts[:runs], ends, strict=True):
        assert text[start:end] == line * count


@given(lines=_TEXTS, ended=st.booleans(), block=st.integers(1, 9))
def test_runs_are_found_across_blocks(
    lines: list[bytes], ended: bool, block: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = b"\n".join([b"head", *lines]) + (b"\n" if ended else b"")
    path = tmp_path_factory.mktemp("lines") / "table.csv"
    path.write_bytes(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(release_of_runs, "_BLOCK", block)
        found = release_of_runs._runs_of_lines(path)
    header, *each = text.splitlines(keepends=True)
    if any(line.count(b'"') % 2 for line in each):
        assert found is None
        return
    expected = [(line, len(list(equal))) for line, equal in groupby(each)]
    assert found is not None
    assert found[0] == header + b"".join(line for line, _ in expected)
    assert found[1].tolist() == [count for _, count in expected]


@given(
    records=st.lists(st.lists(st.sampled_from(["", "a", "bc"]), min_size=1, max_size=4), min_size=1, max_size=8),
    ended=st.booleans(),
)
def test_plain_records_are_counted(records: list[list[str]], ended: bool) -> None:
    text = ("\n".join(",".join(record) for record in records) + ("\n" if ended else "")).encode()
    right = ended and all(len(record) == 3 for record in records)
    found = count_plain_records(np.frombuffer(text, dtype=np.uint8), ord(","), 3)
    assert found == (len(records) if right else -1)


@pytest.mark.parametrize(
    "lines", [["1,2", "3,4"], ["1,2", "3"], ["1,2", "", "3,4"], ["1,2", "3,4,5"], ['1,"2"', "3,4"]]
)
def test_long_texts_are_read_like_short_ones(lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    content = "\n".join(["a,b", *lines, ""]).encode()

    def told() -> object:
        try:
            return read_delimited(content, "it").frame.rows()
        except DataError as error:
            return str(error)

    short = told()
    monkeypatch.setattr(delimited, "_LONG", 0)
    assert told() == short
