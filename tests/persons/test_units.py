"""k of units: nobody has more than one in k rows of a published group, whatever the algorithm and the engine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every
from tests.oracles.oracles import optimal_partition
from tests.oracles.persons import units_share

import shoal
from shoal._core.facts import Fact
from shoal.algorithms.base import Algorithm, Guarantee, Partition
from shoal.errors import ColumnError, DataError, InfeasibleError, ReleaseUnsafeError, UnsupportedError

SECRET = "Zyzzyva"
QI = ["age", "zip"]
ALGORITHMS = ["tp", "tp+", "hilbert", "mondrian", "mondrian-relaxed", "cluster", "sabre", "tds", "full-domain"]


def sixty() -> pl.DataFrame:
    """Sixty people with five visits each, every one with another disease: alone on their quasi-identifiers."""
    return pl.DataFrame(
        {
            "patient": [f"{SECRET} {person}" for person in range(60) for _ in range(5)],
            "age": [20 + person for person in range(60) for _ in range(5)],
            "zip": [f"0{person % 3}" for person in range(60) for _ in range(5)],
            "disease": ["abcde"[visit] for _ in range(60) for visit in range(5)],
        }
    )


def units_of_groups(made: shoal.Release, units: list[Hashable], names: list[str]) -> list[list[Hashable]]:
    """Return whose the rows of each published group are, found from the published text."""
    groups: dict[tuple[str, ...], list[Hashable]] = defaultdict(list)
    for row, cells in zip(made.rows.tolist(), made.data.select(names).rows(), strict=True):
        groups[tuple(map(str, cells))].append(units[row])
    return list(groups.values())


class TestTheExampleOfSixtyPeople:
    @every("recoding", ["suppression", "generalization"], drawn=True)
    @every("algorithm", ALGORITHMS)
    def test_it_is_protected(self, algorithm: str, recoding: Any) -> None:
        data = sixty()
        made = shoal.anonymize(
            data, quasi_identifiers=QI, sensitive="disease", person="patient", k=5, algorithm=algorithm,
            recoding=recoding,
        )  # fmt: skip
        groups = units_of_groups(made, data["patient"].to_list(), QI)
        assert all(units_share(group, 5) for group in groups)
        assert "patient" not in made.data.columns
        assert not [one for one in made.warnings if one.code == "repeated_person"]
        assert made.certificate.requested == [{"model": "k-anonymity", "k": 5, "of": "persons"}]

    def test_rows_would_do_without_the_column(self) -> None:
        """What is protected against: five rows of one person are five rows."""
        data = sixty()
        made = shoal.anonymize(data.drop("patient"), quasi_identifiers=QI, sensitive="disease", k=5, l=4)
        groups = units_of_groups(made, data["patient"].to_list(), QI)
        assert not any(units_share(group, 2) for group in groups)

    @pytest.mark.drawn
    @pytest.mark.parametrize("name", ["release.csv", "release.parquet", "release.xlsx"])
    def test_files_are_verified_with_the_units(self, tmp_path: Path, name: str) -> None:
        request: dict[str, Any] = {"quasi_identifiers": QI, "sensitive": "disease", "person": "patient", "k": 5, "l": 2}
        made = shoal.anonymize(sixty(), **request)
        made.save(tmp_path / "out", format=name.rsplit(".")[1])
        assert made.owners is not None
        alone = made.owners.with_columns(patient=pl.lit(0))
        object.__setattr__(made, "owners", alone)
        with pytest.raises(ReleaseUnsafeError, match="of persons"):
            made.save(tmp_path / "other", format=name.rsplit(".")[1])
        assert not (tmp_path / "other").exists()

    @pytest.mark.drawn
    def test_counted_tables(self, tmp_path: Path) -> None:
        """So many rows that their cells are counted, in memory, too."""
        data = pl.concat([sixty()] * 500)
        request: dict[str, Any] = {"quasi_identifiers": QI, "sensitive": "disease", "person": "patient", "k": 5}
        made = shoal.anonymize(data, **request)
        assert made.certificate.engine["cells"] == 300
        made.save(tmp_path / "csv")
        made.save(tmp_path / "parquet", format="parquet")
        assert all(units_share(group, 5) for group in units_of_groups(made, data["patient"].to_list(), QI))

    def test_several_kinds_of_units(self) -> None:
        data = sixty().with_columns(household=pl.Series([person // 6 for person in range(60) for _ in range(5)]))
        made = shoal.anonymize(
            data, quasi_identifiers=QI, sensitive="disease", person="patient", units=["household"], k=5
        )
        for names in ("patient", "household"):
            assert all(units_share(group, 5) for group in units_of_groups(made, data[names].to_list(), QI))
        with pytest.raises(InfeasibleError, match=r"of 'household': one has 30 of the 300 rows, .* k is 10"):
            shoal.anonymize(
                data, quasi_identifiers=QI, sensitive="disease", person="patient", units=["household"], k=11
            )

    def test_several_columns_of_one_kind(self) -> None:
        numbered = sixty().with_columns(
            household=pl.Series([person // 6 for person in range(60) for _ in range(5)]),
            member=pl.Series([person % 6 for person in range(60) for _ in range(5)]),
        )
        request: dict[str, Any] = {"quasi_identifiers": QI, "sensitive": "disease", "seed": 1, "k": 12}
        one = shoal.anonymize(sixty(), person="patient", **request)
        two = shoal.anonymize(numbered.drop("patient"), person=["household", "member"], **request)
        assert one.data.equals(two.data)
        both = shoal.anonymize(
            numbered.drop("patient"), units=["household", ["household", "member"]], **request | {"k": 9}
        )
        assert both.requirement.counting.counted == ("household", "household + member")


class _Alone(Algorithm):
    """An algorithm that leaves every row as it is."""

    name = "alone"

    def group_rows(self, problem: Any) -> Any:
        classes = problem.table.classes
        return Partition(
            groups=classes.of_rows.astype(np.int32),
            count=classes.count,
            guarantee=Guarantee(promise=Fact("nothing_proven")),
        )


def test_groups_of_one_person_do_not_come_out() -> None:
    request: dict[str, Any] = {"quasi_identifiers": QI, "sensitive": "disease", "person": "patient", "k": 5, "l": 4}
    with pytest.raises(ReleaseUnsafeError, match=r"fails k-anonymity of persons .* of 'patient' in 60 of 60") as raised:
        shoal.anonymize(sixty(), **request, algorithm=_Alone())
    assert SECRET not in str(raised.value)


@st.composite
def unit_tables(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], list[int], int]:
    """Draw quasi-identifiers of up to seven rows, whose they are (one person at least has several), and k."""
    k = draw(st.sampled_from([2, 2, 2, 3]))
    n = draw(st.integers(2 * k, 7))
    d = draw(st.integers(1, 3))
    rows = draw(st.lists(st.tuples(*[st.integers(0, 2)] * d), min_size=n, max_size=n))
    # Now and then a person has more rows than a release can hide.
    most = n // k + draw(st.sampled_from([0] * 7 + [1]))
    others = draw(st.permutations([person for person in range(1, 5) for _ in range(most)]))
    return rows, [0] * most + others[: n - most], k


@settings(max_examples=500, deadline=None)
@given(case=unit_tables(), l=st.sampled_from([1, 1, 2]), other=st.sampled_from(["tp+", "matching"]))
def test_the_optimum_is_that_of_all_partitions(
    case: tuple[list[tuple[int, ...]], list[int], int], l: int, other: str
) -> None:
    """What the exact method finds, what the heuristics and the lower bound say, against every partition."""
    rows, units, k = case
    names = [f"q{at}" for at in range(len(rows[0]))]
    values = [row % 3 for row in range(len(rows))]
    frame = pl.DataFrame(rows, schema=names, orient="row").with_columns(id=pl.Series(units), s=pl.Series(values))

    def acceptable(group: list[int]) -> bool:
        return units_share([units[row] for row in group], k) and units_share([values[row] for row in group], l)

    feasible = acceptable(list(range(len(rows))))
    optimum = optimal_partition(rows, range(len(rows)), acceptable, "stars")
    for algorithm in ("exact", "mondrian") if l > 1 else ("exact", other):
        try:
            made = shoal.anonymize(
                frame,
                quasi_identifiers=names,
                sensitive="s",
                person="id",
                privacy=[shoal.KAnonymity(k), *([shoal.LDiversity(l)] if l > 1 else [])],
                algorithm=algorithm,
                recoding="suppression",
                seed=0,
            )
        except InfeasibleError:
            assert not feasible
            continue
        except UnsupportedError:
            assert (algorithm, k == 2) == ("matching", False)
            continue
        assert feasible
        assert all(units_share(group, k) for group in units_of_groups(made, list(units), names))
        assert optimum is not None
        stars = made.certificate.cost.stars
        assert made.certificate.cost.bound.stars <= optimum[0] <= stars
        if algorithm in ("exact", "matching"):
            assert stars == optimum[0]


@pytest.mark.drawn
@settings(max_examples=25, deadline=None)
@given(case=unit_tables(), recoding=st.sampled_from(["suppression", "generalization"]), both=st.booleans())
def test_every_release_holds_for_persons(case: Any, recoding: Any, both: bool) -> None:
    rows, units, k = case
    names = [f"q{at}" for at in range(len(rows[0]))]
    values = [row % 2 for row in range(len(rows))]
    frame = pl.DataFrame(rows, schema=names, orient="row").with_columns(id=pl.Series(units), s=pl.Series(values))
    models: list[Any] = [shoal.KAnonymity(k), *([shoal.LDiversity(2, variant="distinct")] if both else [])]
    for algorithm in ("tp+", "hilbert", "mondrian", "cluster", "full-domain"):
        try:
            made = shoal.anonymize(
                frame, quasi_identifiers=names, sensitive="s", person="id", privacy=models, algorithm=algorithm,
                recoding=recoding,
            )  # fmt: skip
        except (InfeasibleError, UnsupportedError):
            continue
        assert all(units_share(group, k) for group in units_of_groups(made, list(units), names))
        assert both is False or all(len(set(group)) == 2 for group in units_of_groups(made, list(values), names))


class TestMissingPersons:
    REQUEST: dict[str, Any] = {"quasi_identifiers": QI, "sensitive": "disease", "person": "patient", "k": 5}  # noqa: RUF012

    def data(self) -> pl.DataFrame:
        return sixty().with_columns(patient=pl.when(pl.int_range(pl.len()) % 7 > 0).then("patient"))

    def test_they_are_an_error(self) -> None:
        with pytest.raises(DataError, match=r"43 row.* whose they are. .*missing_person='own'"):
            shoal.anonymize(self.data(), **self.REQUEST)

    def test_or_persons_of_their_own(self) -> None:
        data = self.data()
        made = shoal.anonymize(data, **self.REQUEST, missing_person="own")
        units = [row if name is None else name for row, name in enumerate(data["patient"])]
        assert all(units_share(group, 5) for group in units_of_groups(made, list(units), QI))

    def test_blanks_do_not_make_another_person(self) -> None:
        data = pl.DataFrame({"q": [1] * 4, "id": ["a", "a ", " a", "b"]})
        with pytest.raises(InfeasibleError, match="one has 3 of the 4 rows"):
            shoal.anonymize(data, quasi_identifiers=["q"], person="id", k=2)
        nobody = pl.DataFrame({"q": [1] * 4, "id": ["a", " ", "", "b"]})
        with pytest.raises(DataError, match="2 row"):
            shoal.anonymize(nobody, quasi_identifiers=["q"], person="id", k=2)


def test_a_column_has_one_role() -> None:
    for column in (*QI, "disease"):
        with pytest.raises(ColumnError, match="one role"):
            shoal.anonymize(sixty(), quasi_identifiers=QI, sensitive="disease", person=column, k=2)
    with pytest.raises(ColumnError, match=r"no column 'patint' \(person\).*patient"):
        shoal.anonymize(sixty(), quasi_identifiers=QI, sensitive="disease", person="patint", k=2)
    made = shoal.anonymize(sixty(), quasi_identifiers=QI, insensitive="rest", person="patient", k=2)
    assert made.data.columns == [*QI, "disease"]


def test_no_person_is_in_what_goes_with_a_release(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    request: dict[str, Any] = {"quasi_identifiers": QI, "sensitive": "disease", "person": "patient", "k": 5, "l": 2}
    made = shoal.anonymize(sixty(), **request)
    made.save(tmp_path / "out")
    assert SECRET not in caplog.text
    for path in (*(tmp_path / "out").iterdir(), *(tmp_path / "out.private").iterdir()):
        assert SECRET not in path.read_text()
    shown = [made, made.certificate, made.public_certificate, made.metrics, made.requirement, made.metrics.table.owners]
    assert not any(SECRET in repr(one) for one in shown)
    for k in (61, 1000):
        with pytest.raises(InfeasibleError) as raised:
            shoal.anonymize(sixty(), **request | {"k": k})
        assert SECRET not in str(raised.value)


def test_households_alone_are_units_and_no_persons(tmp_path: Path) -> None:
    data = sixty().with_columns(home=pl.col("patient").rank("dense") // 3).drop("patient")
    asked = {"quasi_identifiers": QI, "sensitive": "disease", "units": ["home"]}
    made = shoal.anonymize(data, **asked, k=3, l=2, seed=1)
    homes = data["home"].n_unique()
    assert [one.get("of") for one in made.certificate.requested] == ["units", None]
    assert (made.certificate.persons[0]["units"], made.certificate.persons[0]["of"]) == (homes, "units")
    made.save(tmp_path / "made")
    found = shoal.audit(data, **asked, k=3)
    risk = shoal.risk(data, **asked)
    # Each record is assumed to belong to a different person, and no figure of homes is one of persons.
    assert (found.unique_persons, risk.unit, [one.unit for one in risk.further]) == (None, None, ["home"])
    assert risk.prosecutor == shoal.risk(data, **asked | {"units": []}).prosecutor
    pages = [path.read_text() for path in (*tmp_path.rglob("report.html"), *tmp_path.rglob("certificate.json"))]
    said = [*pages, *found.violations, *risk.further[0].sentences(), *(one.text for one in made.warnings)]
    assert all(f"{homes} persons" not in text and "of persons" not in text for text in said)
    assert any("k-anonymity of units with k = 3 of 'home'" in text for text in said)
    both = shoal.risk(data.with_row_index("id"), **asked, person="id")
    assert any("All figures count units" in text for text in both.sentences())
