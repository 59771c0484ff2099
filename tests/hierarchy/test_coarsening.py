"""Coarsening columns before a table is anonymized: the frame around every coarsening."""

from dataclasses import dataclass
from typing import ClassVar

import polars as pl
import pytest
from tests.every import every

import shoal
from shoal.errors import ColumnError, DataError, InternalError, ParameterError
from shoal.hierarchy import Coarsening, CoarseningResult, coarsen_columns


@dataclass(frozen=True)
class Halves(Coarsening):
    at: int

    def apply(self, columns):
        (column,) = columns
        if not column.dtype.is_numeric():
            raise DataError("it must hold numbers.")
        return ((column < self.at).replace_strict({True: "low", False: "high"}, return_dtype=pl.String),)

    def to_dict(self):
        return {"coarsening": "halves", "at": self.at}


@dataclass(frozen=True)
class Together(Coarsening):
    takes: ClassVar[int] = 2

    def apply(self, columns):
        return columns[:1] if columns[0].name == "broken" else columns

    def to_dict(self):
        return {"coarsening": "together"}


FRAME = pl.DataFrame({"age": [1, 5, 9], "zip": ["a", "b", "c"], "broken": [1, 2, 3], "disease": ["x", "y", "x"]})
ALLOWED = ["age", "zip", "broken"]


def test_a_column_becomes_coarser_and_the_others_stay():
    made = coarsen_columns(FRAME, {"age": Halves(5), ("zip", "broken"): Together()}, ALLOWED)
    coarse, described, pictures = made.frame, made.described, made.pictures
    assert coarse["age"].to_list() == ["low", "high", "high"]
    assert coarse.drop("age").equals(FRAME.drop("age"))
    assert FRAME["age"].to_list() == [1, 5, 9]
    assert described == {"age": {"coarsening": "halves", "at": 5}, "zip,broken": {"coarsening": "together"}}
    assert pictures == {}


class Drawn(Halves):
    def coarsen(self, columns):
        return CoarseningResult(
            columns=self.apply(columns), facts={"classes": 2}, picture=lambda: "<svg id='halves'></svg>"
        )


def test_a_coarsening_may_say_and_draw_what_it_did(tmp_path):
    made = coarsen_columns(FRAME, {"age": Drawn(5)}, ALLOWED)
    assert made.described == {"age": {"coarsening": "halves", "at": 5, "classes": 2}}
    assert made.pictures["age"]() == "<svg id='halves'></svg>"
    table = pl.DataFrame({"age": [*range(20)], "disease": ["x", "y"] * 10})
    asked = {"quasi_identifiers": ["age"], "sensitive": "disease", "privacy": shoal.LDiversity(2)}
    shoal.anonymize(table, coarsen={"age": Drawn(10)}, **asked).report(tmp_path / "drawn.html")
    assert "Coarsened before: age" in (tmp_path / "drawn.html").read_text()
    assert "<svg id='halves'></svg>" in (tmp_path / "drawn.html").read_text()


@every(
    ("coarsen", "error", "message"),
    [
        ({"ages": Halves(5)}, ColumnError, "'ages' cannot be coarsened.*Did you mean 'age'"),
        ({"disease": Halves(5)}, ColumnError, "not a quasi-identifier"),
        ({"age": Halves(5), ("age", "zip"): Together()}, ColumnError, "coarsened twice"),
        ({"age": Halves}, ParameterError, "Got the class Halves"),
        ({"age": 3}, ParameterError, "Got int"),
        ({"age": Together()}, ParameterError, "takes 2 column"),
        ([("age", Halves(5))], ParameterError, "must map"),
        ({"zip": Halves(5)}, DataError, "^Column 'zip': it must hold numbers"),
        ({("broken", "zip"): Together()}, InternalError, "other columns"),
    ],
)
def test_what_cannot_be_coarsened(coarsen, error, message):
    with pytest.raises(error, match=message):
        coarsen_columns(FRAME, coarsen, ALLOWED)


def test_a_release_of_a_coarsened_table():
    table = pl.DataFrame({"age": [*range(20)], "disease": ["x", "y"] * 10})
    release = shoal.anonymize(
        table,
        quasi_identifiers=["age"],
        sensitive="disease",
        privacy=shoal.LDiversity(2),
        coarsen={"age": Halves(10)},
        seed=1,
    )
    assert sorted(release.data["age"].unique()) == ["high", "low"]
    assert release.certificate.cost.stars == 0
    assert release.certificate.parameters["coarsen"] == {"age": {"coarsening": "halves", "at": 10}}
