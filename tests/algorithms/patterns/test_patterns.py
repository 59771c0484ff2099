"""Patterns as values: names, bits, rules and files."""

from fractions import Fraction

import pytest
from tests.every import every

from shoal.algorithms import PatternRule, Patterns
from shoal.errors import ColumnError, DataError, ParameterError

NAMES = ("age", "gender", "zip, long")


def starred(patterns):
    return patterns.resolve(NAMES).starred.astype(int).tolist()


def test_ways_to_write_a_pattern():
    assert starred(Patterns(["age, gender", '"zip, long"', "", "110"[:0] + "011"])) == [
        [0, 0, 1],
        [1, 1, 0],
        [1, 1, 1],
        [1, 0, 0],
    ]
    assert starred(Patterns([["zip, long", "age"], ()])) == [[0, 1, 0], [1, 1, 1]]


def test_a_column_may_be_named_like_bits():
    assert Patterns(["10", "01"]).resolve(["10", "01"]).starred.tolist() == [[False, True], [True, False]]


@every(
    ("patterns", "error", "message"),
    [
        ([], ParameterError, "at least one pattern"),
        ("age", ParameterError, "must be a list of patterns.*Got str"),
        ({"age": 1}, ParameterError, "Got dict"),
        (5, ParameterError, "Got int"),
        ([3], ParameterError, "Got int"),
        ([["age", 3]], ParameterError, "Got list"),
        (["age", "agee"], ColumnError, "Pattern 2 keeps 'agee'.*Did you mean 'age'"),
        (["10"], ParameterError, "Pattern 1 has 2 bits, but there are 3"),
        (["age, gender", "gender,age"], ParameterError, "Pattern 2 is the same as pattern 1"),
        (["100", "age"], ParameterError, "Pattern 2 is the same as pattern 1"),
        (['"age'], ParameterError, "quotation marks"),
    ],
)
def test_what_is_no_list_of_patterns(patterns, error, message):
    with pytest.raises(error, match=message):
        Patterns(patterns).resolve(NAMES)


def test_rules():
    assert starred(PatternRule(most_stars=1)) == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]
    assert starred(PatternRule(keeping=["gender"], all_star=False)) == [[0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 0, 1]]
    assert len(starred(PatternRule())) == 8
    assert len(PatternRule(most_stars=3).resolve([str(a) for a in range(30)]).starred) == 1 + 30 + 435 + 4060 + 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"most_stars": -1}, ParameterError, "int >= 0"),
        ({"keeping": "age"}, ParameterError, "list of names"),
        ({"keeping": ["zip"]}, ColumnError, "'zip' is not a quasi-identifier"),
        ({"all_star": 1}, ParameterError, "True or False"),
    ],
)
def test_what_is_no_rule(arguments, error, message):
    with pytest.raises(error, match=message):
        PatternRule(**arguments).resolve(NAMES)


def test_too_many_patterns():
    with pytest.raises(ParameterError, match="patterns with at most 30 stars on 30 attributes, more than 16384"):
        PatternRule().resolve([str(a) for a in range(30)])


def test_weights_are_exact():
    patterns = Patterns(["age", "", "111"]).resolve(NAMES)
    costs, unit = patterns.costs({"age": 0.1, "gender": 2, "zip, long": Fraction(1, 3)})
    assert (costs.tolist(), unit) == ([70, 73, 0], 30)
    assert patterns.costs(None)[0].tolist() == [2, 3, 0]


@every(
    ("weights", "error", "message"),
    [
        ({"age": 1}, ParameterError, "misses 'gender', 'zip, long'"),
        ({"age": 1, "gender": -1, "zip, long": 1}, ParameterError, "weight of 'gender' must be a number > 0. Got -1"),
        ({"age": 0, "gender": 1, "zip, long": 1}, ParameterError, "Got 0"),
        ({"age": 1, "gender": 1, "zip, long": 1, "agee": 1}, ColumnError, "'agee', which is not a quasi-identifier"),
        ({"age": 1e-9, "gender": 1, "zip, long": 1}, ParameterError, "too many digits"),
        ([1, 2, 3], ParameterError, "Got list"),
    ],
)
def test_bad_weights(weights, error, message):
    with pytest.raises(error, match=message):
        Patterns(["age"]).resolve(NAMES).costs(weights)


@every(
    ("name", "content"),
    [
        ("p.txt", '# kept together\nage, gender\n"zip, long"\n\n'),
        ("p.json", '["age, gender", "\\"zip, long\\"", ""]'),
        ("p.json", '[["age", "gender"], ["zip, long"], []]'),
        ("p.txt", '["age, gender", "\\"zip, long\\"", ""]'),
        ("p.toml", 'patterns = ["age, gender", ["zip, long"], ""]'),
    ],
)
def test_files(tmp_path, name, content):
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert starred(Patterns.from_file(tmp_path / name)) == [[0, 0, 1], [1, 1, 0], [1, 1, 1]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.json", b"{}", "must hold a list"),
        ("p.json", b"[1", "is not JSON"),
        ("p.toml", b"pattern = 3", "must hold a list"),
        ("p.txt", b"\xff\xfe\x00", "not text in UTF-8"),
    ],
)
def test_bad_files(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        Patterns.from_file(tmp_path / name)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        Patterns.from_file(tmp_path / "none.txt")
