"""Hierarchies: trees over values, in ARX's file form."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.every import every

from shoal.errors import DataError
from shoal.hierarchy import Hierarchy

ROWS = [("a", "x", "*"), ("b", "y", "*"), ("c", "x", "*")]


@st.composite
def trees(draw):
    values = draw(
        st.lists(
            st.text(st.characters(min_codepoint=1, exclude_categories=["Cs"]), min_size=1, max_size=4)
            .map(str.strip)
            .filter(bool),
            min_size=1,
            max_size=12,
            unique=True,
        )
    )
    height = draw(st.integers(0 if len(values) == 1 else 1, 4))
    rows = [[value] for value in values]
    nodes = list(range(len(values)))
    for level in range(1, height + 1):
        fewer = draw(st.lists(st.integers(0, 3), min_size=max(4, len(values)), max_size=max(4, len(values))))
        nodes = [0 if level == height else fewer[node] for node in nodes]
        for row, node in zip(rows, nodes, strict=True):
            row.append(f"node {level}/{node}")  # longer than any value
    return rows


def test_nodes_of_each_level():
    tree = Hierarchy.from_rows(ROWS)
    assert tree.values == ("a", "b", "c")
    assert tree.height == 2
    assert tree.levels.tolist() == [[0, 1, 2], [0, 1, 0], [0, 0, 0]]
    assert tree.labels == (("a", "b", "c"), ("x", "y"), ("*",))
    assert [leaves.tolist() for leaves in tree.leaves] == [[1, 1, 1], [2, 1], [3]]
    assert tree.rows() == ROWS
    assert "a" not in repr(tree).replace("Hierarchy", "").replace("values", "")


def test_positions_of_a_columns_values():
    tree = Hierarchy.from_rows(ROWS)
    assert tree.positions(["c", None, "a"], column="letter").tolist() == [2, -1, 0]
    with pytest.raises(DataError, match="misses 2 of the 3 values of the column 'letter'") as caught:
        tree.positions(["secret", "a", "other"], column="letter")
    assert "secret" not in str(caught.value)


def test_a_line_without_a_value_is_that_of_the_missing_one_unless_the_column_has_empty_text():
    tree = Hierarchy.from_rows([("", "unknown", "*"), ("a", "known", "*")])
    assert tree.positions(["a", None], column="letter").tolist() == [1, 0]
    assert tree.positions(["", "a", None], column="letter").tolist() == [0, 1, -1]


def test_whole_numbers_and_dates_that_a_frame_keeps_as_something_else():
    tree = Hierarchy.from_rows([("30", "30s", "*"), ("31", "30s", "*"), ("2020-01-31", "2020", "*")])
    assert tree.positions(["31.0", None, "30.0"], column="age").tolist() == [1, -1, 0]
    assert tree.positions(["2020-01-31T00:00:00"], column="day").tolist() == [2]
    with pytest.raises(DataError, match="misses 1 of the 2 values"):  # two values would become one
        tree.positions(["30", "30.0"], column="age")
    with pytest.raises(DataError, match="misses 1 of the 1 values"):
        tree.positions(["30.5"], column="age")


@every("rows", [None, "secret", ["secret"], [("secret", "*"), (3, "*")], [[]], [None]])
def test_what_holds_no_names(rows):
    with pytest.raises(DataError) as caught:
        Hierarchy.from_rows(rows)
    assert "secret" not in str(caught.value)


@every(
    ("rows", "message"),
    [
        ([], "has no value"),
        ([("a", "x", "*"), ("b", "*")], "3 level.* in its first row and 2 in row 2"),
        ([("a", "x", "*"), ("a", "x", "*")], "value of row 2 twice"),
        ([("a", "", "*")], "node without a name in row 1"),
        ([("a", "x", "*"), ("b", "x", "**")], "gives a node of level 1 two parents: row 2"),
        ([("a", "x", "*"), ("b", "y", "**")], "2 roots.*row 2"),
        ([("a", "p", "g", "*"), ("b", "p", "h", "*")], "node of level 1 two parents: row 2"),
        ([("a", "b", "*"), ("b", "b", "*")], "stands for different values at level 0 and at level 1"),
    ],
)
def test_what_is_no_tree(rows, message):
    with pytest.raises(DataError, match=message):
        Hierarchy.from_rows(rows)


def test_a_node_may_keep_its_only_values_name():
    assert Hierarchy.from_rows([("a", "a", "*"), ("b", "b", "*")]).height == 2


@pytest.mark.drawn
@given(rows=trees())
@example(rows=[["\x1b$"]])  # no text of ISO 2022, though it begins like one
def test_round_trips(rows, tmp_path_factory):
    tree = Hierarchy.from_rows(rows)
    path = tmp_path_factory.mktemp("tree") / "tree.csv"
    tree.to_csv(path)
    again = Hierarchy.from_csv(path, delimiter=";")
    assert again.rows() == tree.rows() == [tuple(row) for row in rows]
    assert Hierarchy.from_csv(path).rows() == tree.rows()
    assert again.source == "tree.csv"


def test_files_as_arx_writes_them(tmp_path):
    file = tmp_path / "sex.csv"
    file.write_bytes("\ufeffMale;*\r\nFemale;*\r\n\r\n".encode())
    assert Hierarchy.from_csv(file).values == ("Male", "Female")
    file.write_bytes(b'\xef\xbb\xbf"18; 20";"<50";"*"\r\n"say ""x""";"<50";"*"\r\n\r\n')
    assert Hierarchy.from_csv(file).rows() == [("18; 20", "<50", "*"), ('say "x"', "<50", "*")]
    file.write_text('"a, b";x;*\nc;x;*\n', encoding="utf-8")
    assert Hierarchy.from_csv(file).values == ("a, b", "c")
    file.write_text("a,x,*\nb,x,*\n", encoding="utf-8")
    assert Hierarchy.from_csv(file).height == 2


@pytest.mark.parametrize("names", [("{a, b, c, d}", "*"), ("[1;2)", "*"), ("a\tb", "c|d", "*"), ('say "x, y, z"', "*")])
def test_names_with_delimiters_are_read_back(names, tmp_path):
    rows = [("a, b, c", *names), ("b; c; d; e", *names)]
    Hierarchy.from_rows(rows).to_csv(tmp_path / "tree.csv")
    assert Hierarchy.from_csv(tmp_path / "tree.csv").rows() == rows
    alone = Hierarchy.from_rows([(names[0],)])
    alone.to_csv(tmp_path / "tree.csv")
    assert Hierarchy.from_csv(tmp_path / "tree.csv").rows() == [(names[0],)]


@pytest.mark.parametrize("delimiter", [",", "\t", "|"])
def test_another_delimiter_than_the_one_in_the_names(delimiter, tmp_path):
    lines = [("1", "1; 2", "*"), ("2", "1; 2", "*"), ("3", "3", "*")]
    (tmp_path / "tree.csv").write_text("".join(delimiter.join(line) + "\n" for line in lines), encoding="utf-8")
    assert Hierarchy.from_csv(tmp_path / "tree.csv").rows() == lines


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"a;*\n\nb\n", "in its first line and 1 in line 3"),
        (b"a;\0*\n", "NUL"),
        (b'"a;*\nb;*\n', "Line 2 of 'bad.csv' has quotation marks"),
    ],
)
def test_bad_files(tmp_path, content, message):
    file = tmp_path / "bad.csv"
    file.write_bytes(content)
    with pytest.raises(DataError, match=message):
        Hierarchy.from_csv(file)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        Hierarchy.from_csv(tmp_path / "none.csv")


ADULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "adult"
NODES = {
    "age": (100, 20, 10, 5, 1),
    "education": (16, 5, 3, 1),
    "marital-status": (7, 2, 1),
    "native-country": (41, 5, 1),
    "occupation": (14, 3, 1),
    "workclass": (8, 3, 1),
    "race": (5, 1),
    "salary-class": (2, 1),
    "sex": (2, 1),
}


@pytest.mark.skipif(not ADULT.exists(), reason="the table is not here")
@every("name", NODES)
def test_the_adult_tables_hierarchies_load_and_cover_it(name):
    tree = Hierarchy.from_csv(ADULT / f"adult_hierarchy_{name}.csv")
    assert tuple(map(len, tree.labels)) == NODES[name]
    values = pl.read_csv(ADULT / "adult.csv", separator=";", infer_schema=False, columns=[name])[name].unique()
    assert tree.positions(values.to_list(), column=name).min() >= 0


def test_names_may_repeat_in_a_tree_of_distances() -> None:
    """A name under two parents, and at two levels for different values, is refused unless nodes are known by paths."""
    rows = [("a", "p", "g", "*"), ("b", "p", "h", "*"), ("c", "g", "h", "*")]
    with pytest.raises(DataError, match="two parents"):
        Hierarchy.from_rows(rows)
    tree = Hierarchy.from_rows(rows, by_path=True)
    assert tree.levels.tolist() == [[0, 1, 2], [0, 1, 2], [0, 1, 1], [0, 0, 0]]
    assert tree.labels[1:] == (("p < g < *", "p < h < *", "g < h < *"), ("g < *", "h < *"), ("*",))
    with pytest.raises(DataError, match="2 roots"):
        Hierarchy.from_rows([("a", "p", "*"), ("b", "p", "**")], by_path=True)


def test_a_line_of_names_is_no_value(tmp_path, caplog):
    path = tmp_path / "h.csv"
    path.write_text("value;group;all\n1;low;*\n2;low;*\n9;high;*\n")
    assert Hierarchy.from_csv(path).values == ("1", "2", "9")
    assert "first line of 'h.csv'" in caplog.text
    path.write_text("age,sex\n1,m\n1,f\n")
    with pytest.raises(DataError, match="It may be another file"):
        Hierarchy.from_csv(path)


def test_a_value_that_several_lines_name_is_at_the_line_of_its_spelling_or_at_any_that_agree_with_it():
    def tree_of(node):
        return Hierarchy.from_rows([("+5", "A", "*"), ("5", node, "*"), ("7.0", "B", "*"), ("unknown", "C", "*")])

    for node, values, positions in (
        ("B", ["5", "+5", "7.0"], [1, 0, 2]),
        ("B", ["5.0", "unknown"], [1, 3]),  # as pandas writes 5
        ("A", ["5"], [1]),
    ):
        assert tree_of(node).positions(values, column="x").tolist() == positions
    numbers = [("+5", "A", "*"), ("5", "A", "*"), ("7.5", "B", "*")]
    assert Hierarchy.from_rows(numbers).positions(["5,0", "7,5"], column="x").tolist() == [0, 2]
    with pytest.raises(DataError, match="misses 1 of the 2 values"):  # whose lines disagree
        Hierarchy.from_rows([numbers[0], ("5", "B", "*"), numbers[2]]).positions(["5,0", "7,5"], column="x")


def test_the_number_of_values_that_are_missed_leaves_out_those_in_another_notation():
    tree = Hierarchy.from_rows([("30", "*"), ("31", "*")])
    with pytest.raises(DataError, match="misses 1 of the 3 values"):
        tree.positions(["30.0", "31.0", "99"], column="age")
