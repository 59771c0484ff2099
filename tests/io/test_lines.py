"""Tests of quick passes over the bytes of delimited text."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import example, given
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


_RECORDS = st.lists(st.lists(st.sampled_from(["", "a", "bc"]), min_size=1, max_size=4), min_size=1, max_size=8)


@given(records=_RECORDS, ended=st.booleans(), block=st.integers(1, 30))
@example(records=[["a"], ["a", "a", "a"]], ended=True, block=30)
@example(records=[[""], ["a", "", ""]], ended=True, block=30)
def test_counting_bytes_finds_the_faults_of_records(records: list[list[str]], ended: bool, block: int) -> None:
    # A short record and a long one have as many fields as two good ones together.
    content = ("a,b\n" + "\n".join(",".join(record) for record in records) + ("\n" if ended else "")).encode()

    def outcome() -> object:
        try:
            return read_delimited(content, "it", delimiter=",").frame.rows()
        except DataError as error:
            return str(error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_COUNTED", block)
        quick = outcome()
        patch.setattr(delimited, "_check_records", delimited._check_each_record)
        assert outcome() == quick


def test_long_records_are_refused_far_from_the_start() -> None:
    # 40,000 lines are parsed in several pieces; the last record but one is long, the last one short.
    content = b"a,b\n" + b"1,2\n" * 40_000 + b"1,2,3\n4\n"
    with pytest.raises(DataError, match=r"Line 40002 of it has 3 field"):
        read_delimited(content, "it", delimiter=",")


@pytest.mark.parametrize("block", [b"\xef\xbb\xbfa,b\n", b"a,b\r\n", b"a,\x01\n"])
def test_lines_that_the_parser_would_change_are_not_joined(block: bytes) -> None:
    assert run_rows._runs_in(b"a,c\n") == (["a,c"], [1])
    assert run_rows._runs_in(block) is None
