"""`risk` counts persons if a column identifies them: distinct persons of a class, the highest risk of their rows."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Hashable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from tests.every import every
from tests.oracles.person_risk import (
    alone_in,
    compatible_persons,
    distinct_persons,
    household_risks,
    risk_of_persons,
    summed_weights,
)
from tests.oracles.persons import confidence_by_matchings
from tests.persons.test_units import QI, SECRET, sixty

import shoal
from shoal.cli.main import app
from shoal.disclosure_risk.individual import individual_risks
from shoal.errors import DataError, ParameterError

if TYPE_CHECKING:
    from tests.oracles.disclosure_risk import Row

ASKED: dict[str, Any] = {"quasi_identifiers": ["a", "b", "c"], "sensitive": "s", "person": "u"}


def table(seed: int) -> pl.DataFrame:
    """Draw up to ten rows of up to four persons, whose quasi-identifiers may change."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 11))
    drawn = {name: rng.integers(0, size, rows) for name, size in (("a", 2), ("b", 2), ("c", 3), ("s", 3), ("u", 4))}
    return pl.DataFrame({**drawn, "home": rng.integers(0, 2, rows), "w": rng.choice([1.0, 2.5, 8.0], rows)})


def parts(frame: pl.DataFrame) -> tuple[list[Row], list[Hashable]]:
    return frame["a", "b", "c"].rows(), frame["u"].to_list()


@every("seed", range(120))
def test_figures_are_those_of_the_definition(seed: int) -> None:
    frame = table(seed)
    rows, owners = parts(frame)
    sizes = distinct_persons(rows, owners, rows)
    expected = risk_of_persons(sizes, owners)
    found = shoal.risk(frame, **ASKED, threshold=Fraction(1, 2), suda=2, sampling_fraction=0.1)
    assert (found.rows, found.units, found.smallest_class) == (len(rows), len(expected), min(sizes))
    assert found.prosecutor.highest == float(max(expected.values()))
    assert found.prosecutor.average == pytest.approx(float(sum(expected.values()) / len(expected)))
    assert found.prosecutor.records_above == sum(one > Fraction(1, 2) for one in expected.values()) / len(expected)
    assert found.sample_uniques == sum(one == 1 for one in expected.values()) / len(expected)
    for k, share in found.small_classes.items():
        assert share == sum(one > Fraction(1, k) for one in expected.values()) / len(expected)
    shares = [
        Fraction(sum((row, one) == (other, owner) for other, owner in zip(rows, owners, strict=True)), rows.count(row))
        for row, one in zip(rows, owners, strict=True)
    ]
    assert found.largest_share == float(max(shares))
    assert found.records["prosecutor"].to_list() == [1 / size for size in sizes]
    # Special uniques: a person has those of any row.
    special = {owner for owner, sets in zip(owners, alone_in(rows, owners, 2), strict=True) if sets}
    assert found.suda is not None
    assert found.suda.records == len(special) / len(expected)
    # Population uniques are estimated only if each person is in one class.
    moved = len(set(zip(rows, owners, strict=True))) > len(expected)
    assert not (moved and found.population_uniques is not None)


@every("seed", range(60))
def test_confidence_counts_all_matchings(seed: int) -> None:
    frame = table(seed)[:6]
    groups: dict[Row, list[tuple[Hashable, Hashable]]] = defaultdict(list)
    for row, owner, value in zip(*parts(frame), frame["s"].to_list(), strict=True):
        groups[row].append((owner, value))
    held, values = list(groups.values()), set(frame["s"].to_list())
    expected = {owner: max(confidence_by_matchings(held, owner, one) for one in values) for owner in parts(frame)[1]}
    found = shoal.risk(frame, **ASKED, l=2).attribute_disclosure["s"]
    assert found.highest == float(max(expected.values()))
    assert found.average == pytest.approx(float(sum(expected.values()) / len(expected)))
    assert found.records_above == sum(one > Fraction(1, 2) for one in expected.values()) / len(expected)


@every("seed", range(100))
def test_a_population_with_the_rows_of_persons(seed: int) -> None:
    frame, more = table(seed), table(seed + 1_000).with_columns(pl.col("u") + 4)
    population = pl.concat([frame, more])
    rows, owners = parts(frame)
    big = distinct_persons(*parts(population), rows)
    expected = risk_of_persons(big, owners)
    found = shoal.risk(frame, **ASKED, population=population, threshold=Fraction(1, 3))
    assert found.journalist is not None
    assert found.marketer is not None
    assert found.journalist.highest == float(max(expected.values()))
    assert found.journalist.records_above == sum(one > Fraction(1, 3) for one in expected.values()) / len(expected)
    assert found.marketer.average == pytest.approx(float(sum(expected.values()) / len(expected)))
    assert found.k_map is not None
    assert found.k_map.k == min(big)
    all_rows, all_owners = parts(population)
    inside = distinct_persons(rows, owners, all_rows)
    outside = distinct_persons(all_rows, all_owners, all_rows)
    assert found.delta_presence is not None
    assert found.delta_presence.lowest == float(min(map(Fraction, inside, outside)))
    assert found.delta_presence.highest == float(max(map(Fraction, inside, outside)))


@every("seed", range(60))
def test_weights_and_households(seed: int) -> None:
    frame = table(seed)
    rows, owners = parts(frame)
    sums = summed_weights(rows, owners, frame["w"].to_list())
    sizes = np.array(distinct_persons(rows, owners, rows), dtype=np.int64)
    of_rows = individual_risks(sizes, np.array([float(one) for one in sums]))
    expected = {owner: max(of_rows[at] for at, one in enumerate(owners) if one == owner) for owner in owners}
    found = shoal.risk(frame, **ASKED, weights="w", household="home")
    assert found.individual is not None
    assert found.individual.highest == pytest.approx(max(expected.values()))
    assert found.individual.expected == pytest.approx(sum(expected.values()))
    homes = household_risks(expected, owners, frame["home"].to_list())
    assert found.household is not None
    assert found.household.expected == pytest.approx(sum(homes.values()))
    assert found.household.highest == pytest.approx(max(homes.values()))


@every("seed", range(60))
def test_wildcards_count_a_person_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(2, 12))
    cells = {name: rng.choice(["0", "1", "2", "*"], rows).tolist() for name in "ab"}
    owners = rng.integers(0, 4, rows).tolist()
    domains = {**{one: [one] for one in "012"}, "*": ["0", "1", "2", "other"]}
    boxes = [[domains[cells[name][at]] for name in "ab"] for at in range(rows)]
    expected = compatible_persons(boxes, owners)
    frame = pl.DataFrame({**cells, "u": owners})
    found = shoal.risk(frame, quasi_identifiers=["a", "b"], person="u", stars="wildcard")
    assert [round(1 / one) for one in found.records["prosecutor"]] == expected
    assert found.prosecutor.average == pytest.approx(
        float(sum(risk_of_persons(expected, owners).values()) / len(set(owners)))
    )


def test_one_row_of_each_person_is_what_it_was() -> None:
    frame = table(5).with_row_index("id")
    roles: dict[str, Any] = {"quasi_identifiers": ["a", "b", "c"], "sensitive": "s"}
    known = {**roles, "suda": 2, "sampling_fraction": 0.2}
    by_rows = shoal.risk(frame, **known, log_linear="two-way").to_dict()
    by_persons = shoal.risk(frame, **known, log_linear="two-way", person="id").to_dict()
    changed = {"unit", "units", "largest_share", "persons", "identifiers"}
    assert {name for name in by_rows if by_rows[name] != by_persons[name]} <= changed


class TestTheExampleOfSixtyPeople:
    def test_in_python(self) -> None:
        by_records = shoal.risk(sixty(), quasi_identifiers=QI, sensitive="disease")
        assert (by_records.prosecutor.highest, by_records.sample_uniques) == (0.2, 0.0)
        assert by_records.attribute_disclosure["disease"].highest == 0.2
        found = shoal.risk(sixty(), quasi_identifiers=QI, sensitive="disease", person="patient")
        assert (found.rows, found.units, found.classes, found.smallest_class) == (300, 60, 60, 1)
        assert (found.prosecutor.highest, found.sample_uniques, found.largest_share) == (1.0, 1.0, 1.0)
        assert found.attribute_disclosure["disease"].highest == 1.0
        assert found.persons == ()
        said = " ".join(found.sentences())
        assert "Of 60 persons in the file, 60 could be found" in said
        assert SECRET not in found.to_json() + said + repr(found) + found._repr_html_()

    def test_on_the_command_line(self, tmp_path: Path) -> None:
        sixty().write_csv(tmp_path / "t.csv")
        words = ["risk", str(tmp_path / "t.csv"), "--qi", "age,zip", "--sensitive", "disease", "--person", "patient"]
        called = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "page")])
        assert called.exit_code == 0, called.output
        assert "60 persons" in called.stdout
        assert "100% of the persons" in " ".join(called.stdout.split())
        page = next((tmp_path / "page").glob("*.html")).read_text()
        assert "Persons in small classes" in page
        assert "another person: of" not in page
        assert SECRET not in page + called.stdout
        facts = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
        assert (facts["unit"], facts["units"], facts["sample_uniques"]) == ("patient", 60, 1.0)

    def test_households_are_further_units(self) -> None:
        data = sixty().with_columns(home=pl.int_range(300) // 10)
        found = shoal.risk(data, quasi_identifiers=["zip"], person="patient", units=["home"])
        (further,) = found.further
        assert (found.unit, found.units, further.unit, further.units) == ("patient", 60, "home", 30)
        assert found.to_dict()["further"][0]["unit"] == "home"


def test_errors() -> None:
    frame = pl.DataFrame({"a": [1, 2, 1], "b": [1, 1, 1], "u": [7, 7, 8], "w": [2, 2, 2]})
    with pytest.raises(DataError, match="one row of each person"):
        shoal.risk(frame, quasi_identifiers=["a"], person="u", sampling_fraction=0.1, log_linear="independence")
    with pytest.raises(ParameterError, match="wildcards"):
        shoal.risk(frame, quasi_identifiers=["a"], person="u", stars="wildcard", weights="w")
    with pytest.raises(DataError, match="one row of each person"):
        shoal.risk(frame, quasi_identifiers=["a"], person="u", stars="wildcard", population=frame)


def test_linked_rows_are_for_the_audit() -> None:
    made = shoal.anonymize(sixty(), quasi_identifiers=QI, sensitive="disease", person="patient", k=5, link=True, seed=1)
    with pytest.raises(ParameterError, match="audit"):
        shoal.risk(made)
    assert shoal.risk(made, person="pseudonym").units == 60
