"""Delimited text: what is read, and each way in which a file is no table, with its line."""

import csv
import gzip
import io

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal.io.delimited as module
from shoal.errors import ColumnError, DataError
from shoal.io import read, read_table
from shoal.io.delimited import read_delimited


@pytest.fixture
def table(tmp_path):
    def write_and_read(content, name="table.csv", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read(path, **options)

    return write_and_read


class TestReading:
    def test_every_column_is_text(self, table):
        frame = table("zip,age\n007,41\n1.0,-3\n")
        assert frame.schema == {"zip": pl.String, "age": pl.String}
        assert frame.rows() == [("007", "41"), ("1.0", "-3")]

    def test_empty_fields_are_missing_in_quotation_marks_or_not(self, table):
        assert table('a,b\n,""\n"",x\n').rows() == [(None, None), (None, "x")]

    def test_spaces_and_number_signs_are_content(self, table):
        assert table("a,b\n x ,#\n#y,NA\n").rows() == [(" x ", "#"), ("#y", "NA")]

    def test_quoted_fields_may_hold_everything(self, table):
        assert table('a,b\n"x, ""y""","two\nlines"\n"""","\r\n"\n').rows() == [('x, "y"', "two\nlines"), ('"', "\r\n")]

    def test_names_may_hold_delimiters_and_line_ends(self, table):
        assert table('"a, b","c\nd"\n1,2\n').columns == ["a, b", "c\nd"]

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    @pytest.mark.parametrize("last", ["", "\n", "\n\n\n"])
    def test_line_ends(self, table, end, last):
        content = f"a,b\n1,2\n3,\n4,5{last}".replace("\n", end)
        assert table(content).rows() == [("1", "2"), ("3", None), ("4", "5")]

    def test_one_column_may_have_empty_lines(self, table):
        assert table("a\n1\n\n3\n").rows() == [("1",), (None,), ("3",)]
        assert table("a\r\n\r\n3").rows() == [(None,), ("3",)]

    @pytest.mark.parametrize("delimiter", list(",;\t|"))
    @pytest.mark.parametrize("name", ["t.txt", "t.csv", "t.tsv"])
    def test_the_delimiter_is_detected(self, table, delimiter, name):
        others = ",;\t|".replace(delimiter, "")
        content = f'name{delimiter}"b{others}"\n"1{delimiter}{others}"{delimiter}2\nx{delimiter}y{others[0]}\n'
        assert table(content, name).columns == ["name", f"b{others}"]

    def test_decimal_commas_do_not_delimit(self, table):
        assert table("size;weight\n1,5;2,5\n1,7;3,5\n").columns == ["size", "weight"]

    def test_a_delimiter_can_be_given(self, table):
        assert table("a:b\n1:2\n", delimiter=":").columns == ["a", "b"]
        assert table("a,x\tb\n1,y\t2\n", delimiter="tab").columns == ["a,x", "b"]
        assert table("a;b\n1;2\n", delimiter=",").columns == ["a;b"]

    def test_a_packed_file(self, table):
        assert table(gzip.compress(b"a;b\n1;2\n"), "t.csv.gz").rows() == [("1", "2")]

    def test_records_across_blocks(self, table, monkeypatch):
        monkeypatch.setattr(module, "_BLOCK", 16)
        rows = [(f"{row}", f'text "{row}"\n' * (row % 5 + 1)) for row in range(40)]
        text = io.StringIO()
        csv.writer(text).writerows([("a", "b"), *rows])
        assert table(text.getvalue()).rows() == rows


PLAIN = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6)


@settings(deadline=None)
@given(
    rows=st.lists(st.lists(PLAIN, min_size=3, max_size=3), min_size=1, max_size=8),
    delimiter=st.sampled_from(",;\t|"),
    end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    block=st.sampled_from([1, 8, 1 << 20]),
)
def test_what_other_software_writes_is_read_back(tmp_path_factory, rows, delimiter, end, quoting, block):
    if quoting == csv.QUOTE_MINIMAL:
        # Python leaves a carriage return without quotation marks where lines end otherwise.
        rows = [[value.replace("\r", "\n") for value in row] for row in rows]
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows([["a", "b", "c"], *rows])
    path = tmp_path_factory.mktemp("written") / "t.csv"
    path.write_bytes(text.getvalue().encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK", block)
        found = read_delimited(path.read_bytes(), "it", delimiter=delimiter, encoding="utf-8", whole=True)
    frame = found.frame
    assert frame.rows() == [tuple(value or None for value in row) for row in rows]


class TestBadFiles:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("", "is empty"),
            ("\n\n", "is empty"),
            ("a,b", "no row"),
            ("a,b\n", "no row"),
            ("a,b\r\n\r\n", "no row"),
            ("a,b\nCELL,2\nCELL\n", r"Line 3 .* has 1 field\(s\), but the header has 2"),
            ("a,b,c\nCELL,2\nCELL,2,3\n", "Line 2 .* has 2 field"),
            ("a,b\n1,2\nCELL,2,3\n", "Line 3 .* has 3 field"),
            ('a,b\n"CELL\n\n",2\n3\n', "Line 5 .* has 1 field"),
            ("a,b\r\n1,2\r\nCELL\r\n", "Line 3 .* has 1 field"),
            ("a,b\n1,2\n\n3,4\n", "Line 3 .* is empty"),
            ("a,b\r\n1,2\r\n\r\n3,4\r\n", "Line 3 .* is empty"),
            ("a,b\n1,2\n3,CE\0LL\n", "Line 3 .* NUL byte"),
            ("a,b,a\n1,2,3\n", "2 of 3 columns have the name of another one in line 1 of .*: column 1, 3. Give"),
            ("CELL,CELL,CELL\n1,2,3\n", "column 1, 2, 3.*If the line holds data"),
            ("a,,b\n1,2,3\n", "1 of 3 columns have no name in line 1 of .*: column 2"),
            ("\na,b\n1,2\n", "1 of 1 columns have no name in line 1"),
            ('a,b\n1,2\n3,"CELL\n5,6\n', "Line 3 .* opened and never closed"),
            ('"a,b\n1,2\n', "misplaced|never closed"),
            ('a,b\n1,2\n3,CE"LL\n', "Line 3 .* quotation mark in a field"),
            ('a,b\n"CELL" more,2\n', "Line 2 .* quotation mark in a field"),
            ('a,b\n1,"CELL"" "x"\n', "Line 2 .* quotation mark in a field"),
            ("a,b\n1,2\n3,CE\rLL\n5,6\n", "Line 3 .* carriage return"),
        ],
    )
    def test_the_line_is_named_and_no_cell(self, table, content, message):
        with pytest.raises((DataError, ColumnError), match=message) as raised:
            table(content)
        assert "CELL" not in str(raised.value)

    def test_the_line_is_right_beyond_the_first_block(self, table, monkeypatch):
        monkeypatch.setattr(module, "_BLOCK", 16)
        good = 'a,b\n"1\n2",3\n' + "4,5\n" * 20
        with pytest.raises(DataError, match=r"Line 24 of"):
            table(good + "6\n7,8\n")
        with pytest.raises(DataError, match=r"Line 24 .* never closed"):
            table(good + '6,"7\n7,8\n')
        with pytest.raises(DataError, match=r"Line 24 .* quotation mark in a field"):
            table(good + '6,x"7\n7,8\n')

    def test_a_packed_file_that_is_cut_off(self, table):
        packed = gzip.compress(b"a,b\n1,2\n" * 99)
        for content in (packed[:30], b"a,b\n1,2\n"):
            with pytest.raises(DataError, match="not a gzip file, or is cut off"):
                table(content, "t.csv.gz")

    @pytest.mark.drawn
    def test_a_small_packed_file_of_a_huge_table(self, table):
        with pytest.raises(DataError, match="unpacks to more than 67,108,864, which tables do not"):
            table(gzip.compress(b"a,b\n" + b"1,2\n" * (1 << 24)), "t.csv.gz")


def test_a_short_row_is_found_wherever_it_is():
    for at in range(1, 30):
        lines = ["a,b,c"] + ["1,2,3"] * 29
        lines[at] = "1,2"
        with pytest.raises(DataError, match=f"Line {at + 1} of"):
            module._check_records("\n".join(lines).encode(), ",", 3, "it", 0)


def test_notes_and_sums_below_text_are_not_records(tmp_path):
    def below(end, start="a;b;c\n" + "x;1;2\n" * 4):
        (tmp_path / "t.csv").write_bytes((start + end).encode())
        found = read_table(tmp_path / "t.csv")
        return found.below, found.frame.height

    # As spreadsheets write empty rows, and as people do.
    for end, left in (
        *((";;\nSumme;4;8\n", 2), ("\nSumme;4;8\n", 2), ("\r\nSumme;;8", 2), ("Total;4;8\n", 1)),
        ('\n\n"Source; ward 7"\n2024\n', 4),
    ):
        assert below(end) == (left, 4), end
    # What may be a record is an error, or a record.
    for end in ("\ny;2;3\n", "\nSumme;4;8\ny;2\n", "\n1;2;3;4\n", "x;1;\n\ny;2\n"):
        with pytest.raises(DataError, match="is empty: delete it"):
            below(end)
    for end in ("Total;m;8\n", ";;\ny;2;3\n", 'x;1;"two\n\nlines"\n', 'x;1;"\n\nlines"\ny;"\n";2\n'):
        assert below(end)[0] == 0, end
    assert below("Total;2;3\n", "a;b;c\n" + "total;1;2\nTotal;1;2\n") == (0, 3)
