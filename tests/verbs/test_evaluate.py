"""Proposals agree with goals: what is proposed can be published, or the evaluation says why not and mends it."""

from __future__ import annotations

import datetime as dt
import json
import random
import re
import tempfile
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from tests.every import DRAW, THOROUGH, every, few

import shoal
from shoal._messages import PYTHON
from shoal.cli.main import app
from shoal.errors import InfeasibleError, UsageError, WarnedError
from shoal.hierarchy.fitting import suggest_steps
from shoal.request.coarsening_words import coarsenings_of

FIRST = ("Ada", "Bo", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hal", "Ira", "Joy")
LAST = ("Muster", "Beispiel", "Ejemplo", "Nguyen", "Kunz", "Smith", "Rossi", "Novak")
TALK = (
    "patient",
    "reports",
    "pain",
    "after",
    "the",
    "fall",
    "and",
    "was",
    "sent",
    "home",
    "to",
    "rest",
    "some",
    "days",
)
NOMINAL: dict[str, tuple[str, ...]] = {
    "diagnosis": tuple(f"D{at:02}" for at in range(12)),
    "disease": ("flu", "hiv", "asthma", "ulcer"),
    "religion": ("none", "a", "b", "c", "d"),
    "party": ("red", "blue"),
    "treatment": ("none", "A", "B"),
}
OTHERS: dict[str, tuple[str, ...]] = {
    "smoker": ("no", "yes"),
    "region": ("north", "south", "east", "west"),
    "occupation": tuple(f"job {at}" for at in range(25)),
    "survey": ("2020",),
    "answer_3": ("strongly agree", "agree", "neither agree nor disagree", "disagree", "strongly disagree"),
}


def numbers_of(rng: random.Random) -> dict[str, Any]:
    """Return a function that draws a number for each of some column names: skewed, heaped, spread, and few."""
    return {
        "income": lambda: int(rng.lognormvariate(10, 1)),
        "revenu": lambda: int(rng.lognormvariate(9, 2)),
        "salary": lambda: round(rng.gauss(50_000, 9_000), 2),
        "debt": lambda: 0 if rng.random() < 0.7 else rng.randrange(100, 90_000),
        "score": lambda: rng.randrange(0, 101),
        "bmi": lambda: round(rng.gauss(27, 5), 1),
        "capital_gain": lambda: 0 if rng.random() < 0.9 else int(rng.expovariate(1 / 8000)),
        "cost": lambda: rng.randrange(0, 60) * 500,
        "wage": lambda: rng.choice([1000, 1500, 2000, 2500, 3000, 9000]),
        "grade": lambda: round(rng.uniform(1, 6), 3),
        "glucose": lambda: rng.randrange(60, 300),
        "claims": lambda: min(int(rng.expovariate(0.5)), 30),
        "x1": lambda: rng.randrange(10**4, 10**5),
    }


def draw_table(seed: int) -> tuple[pl.DataFrame, set[str]]:
    """Draw a table of some persons, and the names of its columns that must not be published."""
    rng = random.Random(seed)
    rows, secret = rng.choice([40, 60, 90, 200, 300]), set()
    several = rng.random() < 0.3
    persons = max(12, rows // rng.choice([2, 3, 5])) if several else rows
    whose = [rng.randrange(persons) for _ in range(rows)] if several else list(range(rows))
    ages = [rng.randrange(18, 91) for _ in range(persons)]
    names = [f"{rng.choice(FIRST)} {rng.choice(LAST)}{at}" for at in range(persons)]
    start, columns = dt.date(2022, 1, 1), {"age": [ages[at] for at in whose]}
    sexes, places = ([rng.choice(given) for _ in range(persons)] for given in ("mf", ("10115", "10117", "20719")))
    columns[rng.choice(["sex", "Geschlecht"])] = [sexes[at] for at in whose]
    columns[rng.choice(["zip", "plz"])] = [places[at] for at in whose]

    def identify(share: float, called: tuple[str, ...], values: list[Any]) -> None:
        if rng.random() < share:
            name = rng.choice(called)
            columns[name] = [values[at] for at in whose] if len(values) == persons else values
            secret.add(name)

    identify(1 if several else 0.4, ("patient_no", "pid", "Kundennummer"), rng.sample(range(10**5, 10**6), persons))
    identify(0.3, ("name", "patient_name"), names)
    identify(0.2, ("email",), [f"{one.replace(' ', '.').lower()}@mail.example" for one in names])
    identify(0.2, ("notes", "Kommentar"), [" ".join(rng.choices(TALK, k=rng.randrange(6, 15))) for _ in range(rows)])
    identify(0.15, ("record_id", "case_no"), [f"R{rng.randrange(10**8):08}" for _ in range(rows)])
    if rng.random() < 0.3:
        born = [dt.date(2020 - age, rng.randrange(1, 13), rng.randrange(1, 29)) for age in ages]
        columns["birth_date"] = [born[at].isoformat() for at in whose]
    if rng.random() < 0.3:
        columns["admission_date"] = [(start + dt.timedelta(rng.randrange(700))).isoformat() for _ in range(rows)]
    for name in rng.sample([*NOMINAL], rng.choice([0, 1, 1, 2])):
        first, *others = NOMINAL[name]
        share = rng.choice([0.1, 0.3, 0.45, 0.6, 0.9])
        columns[name] = [first if rng.random() < share else rng.choice(others) for _ in range(rows)]
    for name in rng.sample([*OTHERS], rng.choice([0, 1, 2])):
        columns[name] = rng.choices(OTHERS[name], k=rows)
    drawn = numbers_of(rng)
    for name in rng.sample([*drawn], rng.choice([0, 1, 2, 3])):
        columns[name] = [drawn[name]() for _ in range(rows)]
        trick = rng.random()
        if trick < 0.3:  # missing, as a number or as a word
            code = None if trick < 0.1 else -99 if trick < 0.2 else "n/a"
            kept = [one if rng.random() < 0.95 else code for one in columns[name]]
            columns[name] = [None if one is None else str(one) for one in kept] if code == "n/a" else kept
    order = [*columns]
    rng.shuffle(order)
    return pl.DataFrame({name: columns[name] for name in order}, strict=False), secret


@every("seed", range(200))
def test_proposed_steps_leave_room_for_diversity(seed: int) -> None:
    rng = random.Random(seed)
    name, draw = rng.choice([*numbers_of(rng).items()])
    values = pl.Series(name, [float(draw()) for _ in range(rng.choice([12, 40, 100, 600, 3000]))])
    counted, l = values.value_counts(), rng.choice([2, 3, 4])
    counts = counted["count"].to_numpy().astype(np.int64)
    found = suggest_steps(counted[name], counts, name, l=l)
    if found is None:
        assert counted.height <= 10
        return
    coarse = coarsenings_of({name: found.words})[name].apply((values,))[0].cast(pl.String).value_counts()["count"]
    assert coarse.max() <= max(len(values) / (2 * l), counts.max())  # type: ignore[operator]
    assert eval(found.python, {"shoal": shoal}).apply((values,))[0].n_unique() == len(coarse)


@every("seed", range(40))
def test_a_code_of_missing_values_changes_no_role(seed: int) -> None:
    rng = random.Random(seed)
    table = draw_table(seed)[0]
    able = [one for one in table if one.dtype.is_numeric() or one.name.endswith("_date")]
    gone = {one.name: pl.Series([rng.random() < 0.04 for _ in range(table.height)]) for one in able}
    bare = table.with_columns(pl.when(~gone[one.name]).then(one) for one in able)
    wanted = {one.name: (one.role, one.coarsen) for one in shoal.inspect(bare).columns}
    for word, number, day in (("n/a", " ", "9999-99-99"), ("unknown", "-9999", "1900-01-01")):
        codes = {one.name: day if one.dtype == pl.String else number if one.min() >= 0 else word for one in able}
        coded = bare.with_columns(
            pl.when(gone[one.name]).then(pl.lit(codes[one.name])).otherwise(one.cast(pl.String)).alias(one.name)
            for one in able
        )
        assert {one.name: (one.role, one.coarsen) for one in shoal.inspect(coded).columns} == wanted


def check_proposals(table: pl.DataFrame, secret: Collection[str] = (), *, written: bool = True) -> None:
    """Check that the proposals of a table can be published, with mends of what the evaluation calls infeasible."""
    found = shoal.evaluate(table)
    schema = found.request.schema
    assert found.refused is None, str(found.refused)
    assert not {*secret} & {*schema.published}
    if not all(goal.feasible for goal in found.goals):
        assert all(goal.mend for goal in found.goals if not goal.feasible)
        assert not any(goal.steps for goal in found.goals), "steps of our own make nothing impossible"
        with pytest.raises(InfeasibleError) as refused:
            shoal.anonymize(table, found.request, seed=1)
        assert str(refused.value) == next(goal.render(PYTHON) for goal in found.goals if not goal.feasible)
    release = shoal.anonymize(table, found.mended, seed=1)
    for name in schema.sensitive + schema.insensitive:
        counts = release.published[name].drop_nulls().value_counts()["count"]
        assert (counts == 1).sum() <= 0.05 * table.height, name
    if not written:
        return
    # The spec file that `inspect` writes requests the same, and runs as it is.
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "release.toml"
        spec.write_text(shoal.inspect(table).to_toml(folder=folder), encoding="utf-8")
        spec_request = shoal.Request.from_toml(spec)
    assert (spec_request.schema, spec_request.coarsen) == (schema, found.request.coarsen)
    k = spec_request.requirement.k
    assert shoal.anonymize(table, spec_request, seed=1).certificate.achieved["k"] >= k
    assert k == 5 or not all(goal.feasible for goal in found.goals), "a smaller k is written only if 5 is not possible"


@every("number", range(500) if THOROUGH else sorted(random.Random(DRAW).sample(range(500), few(100))))
def test_what_is_proposed_can_be_published(number: int) -> None:
    check_proposals(*draw_table(number), written=number % 4 == 0)


BUNDLED = {
    "patients": lambda: shoal.datasets.patients(400),
    "visits": lambda: shoal.datasets.visits(100),
    "quarters": lambda: shoal.datasets.quarters()[0],
    "census": lambda: shoal.datasets.census(500, seed=1),
    "demo": lambda: shoal.datasets.demo().frame.sample(3_000, seed=1),
    "attendance": lambda: shoal.datasets.attendance().sample(3_000, seed=1),
    "a release": lambda: shoal.datasets.patients(200).with_columns(
        gender=pl.when(pl.col("age") > 40).then(pl.lit("*")).otherwise("gender")
    ),
    "names": lambda: shoal.datasets.names("male"),
}


@pytest.mark.drawn
@every("name", [*BUNDLED], drawn=True)
def test_bundled_tables_are_published_as_proposed(name: str) -> None:
    check_proposals(BUNDLED[name]())


def two_names(persons: int = 120) -> pl.DataFrame:
    """Make two records of each person; several persons have one name."""
    rng = random.Random(5)
    people = [
        {"patient_no": 5000 + at, "name": f"{('Bob', 'Ann')[at % 2]} {LAST[at % 8]}", "sex": "mf"[at % 2]}
        | {"zip": rng.choice(["10115", "10117", "10119"])}
        for at in range(persons)
    ]
    rows = [{**person, "diagnosis": rng.choice(["flu", "ulcer", "stroke", "asthma"])} for person in people * 2]
    return pl.DataFrame(rows).sort("patient_no")


def test_a_number_beats_a_name_that_is_constant_within_it() -> None:
    found = shoal.evaluate(two_names())
    assert found.request.person == "patient_no"
    assert [one.code for one in found.warnings] == ["repeated_person", "sure_of_persons"], "the question is asked"
    assert "The proposal names it as the column of persons: groups count persons." in found.warnings[0].text
    assert [goal.render(PYTHON).partition("with ")[2] for goal in found.goals] == [
        *("k = 5, of persons: possible.", "l = 2, of one record of a person: possible.")
    ]
    named = shoal.evaluate(two_names(), person="patient_no", k=5)
    assert [one.code for one in named.warnings] == ["sure_of_persons"], "it is answered by one record of each"
    assert shoal.evaluate(two_names(), person="patient_no", k=5, rows_per_person=1).warnings == ()
    release = shoal.anonymize(two_names(), named.request, seed=1)
    assert "repeated_person" not in [one.code for one in release.warnings]
    # A visit does not hold the records of a person together: its patient is no namesake.
    visits = two_names().with_row_index("visit")
    found = shoal.evaluate(visits.drop("name"), person="visit", k=5)
    assert ("repeated_person", "patient_no") in [(one.code, one.column) for one in found.warnings]


def test_sensitive_columns_that_single_out_together_are_reported_before_the_release() -> None:
    rng = np.random.default_rng(7)
    table = pl.DataFrame({
        "age": rng.integers(20, 80, 400),
        "diagnosis": rng.choice([f"D{at:02}" for at in range(20)], 400),
        "bmi": rng.integers(80, 140, 400) / 4,
        "ward_cost": rng.integers(0, 60, 400) * 500,
    })  # fmt: skip
    found = shoal.evaluate(table, quasi_identifiers=["age"], sensitive=["diagnosis", "bmi", "ward_cost"], k=5)
    (warned,) = (one for one in found.warnings if one.code == "near_unique_insensitive")
    assert warned.found.code == "own_together"
    assert warned.found.arguments["records"] > 300
    # The advice was tried: the columns that it drops leave nothing to warn of, and all but the last are needed.
    drop = eval(re.search(r"direct_identifiers=(\[.*?\])", warned.render(PYTHON))[1])  # type: ignore[index]
    assert 0 < len(drop) < 3

    def together(dropped: list[str]) -> list[str]:
        left = [name for name in ("diagnosis", "bmi", "ward_cost") if name not in dropped]
        again = shoal.evaluate(table, quasi_identifiers=["age"], sensitive=left, direct_identifiers=dropped, k=5)
        return [one.found.code for one in again.warnings if one.code == "near_unique_insensitive"]

    assert (together(drop), together(drop[:-1])) == ([], ["own_together"])


@every("seed", range(20))
def test_advice_on_columns_that_single_out_together_works(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, names = int(rng.choice([40, 400])), [f"c{at}" for at in range(rng.integers(2, 7))]
    table = pl.DataFrame({name: rng.integers(0, rng.choice([2, 4, 12, 30]), rows) for name in names})
    table = table.with_columns(age=pl.Series(rng.integers(20, 80, rows)))
    count = int(rng.integers(0, len(names) + 1))

    def warnings(dropped: Collection[str] = ()) -> list[Any]:
        plain, sensitive = ([name for name in some if name not in dropped] for some in (names[count:], names[:count]))
        roles = {"quasi_identifiers": ["age"], "insensitive": plain, "sensitive": sensitive}
        found = shoal.evaluate(table, **roles, direct_identifiers=[*dropped], k=2).warnings
        return [one for one in found if one.found.code == "own_together"]

    for one in warnings():
        assert warnings(one.advice.arguments["columns"]) == []


def test_the_population_of_a_request_is_read_and_counted(tmp_path: Path) -> None:
    table = shoal.datasets.patients(100).select("age", "gender", "disease")
    people = pl.concat([table, table]).drop("disease")
    roles: dict[str, Any] = {"quasi_identifiers": ["age", "gender"], "sensitive": "disease"}
    # What anonymize refuses is refused: a population without a column, without the rows, or that is not there.
    for source in (people.drop("age"), people[:50], tmp_path / "missing.csv"):
        for model in (shoal.KMap(2, population=source), shoal.DeltaPresence(0, 0.5, population=source)):
            with pytest.raises(UsageError) as refused:
                shoal.anonymize(table, **roles, privacy=model)
            with pytest.raises(UsageError) as evaluated:
                shoal.evaluate(table, **roles, privacy=model)
            assert str(evaluated.value) == str(refused.value)
    for k, feasible in ((200, True), (201, False)):
        (goal,) = shoal.evaluate(table, **roles, privacy=shoal.KMap(k, population=people)).goals
        assert goal.feasible == feasible
    # Persons with several records are in the population once.
    visits = pl.concat([table, table]).with_columns(id=pl.int_range(200) % 100)
    (goal,) = shoal.evaluate(visits, **roles, person="id", privacy=shoal.KMap(2, population=people)).goals
    assert goal.feasible
    # Proposed quasi-identifiers are not coarsened, because the people are compared with the original values.
    open_ones = shoal.evaluate(table, sensitive="disease", privacy=shoal.KMap(2, population=people))
    assert open_ones.request.schema.quasi_identifiers == ("age", "gender")
    assert shoal.anonymize(table, open_ones.request, seed=1).certificate.achieved["k_map"] >= 2
    (goal,) = shoal.evaluate(table, **roles, privacy=shoal.DeltaPresence(0, 0.3, population=people)).goals
    with pytest.raises(InfeasibleError) as refused:
        shoal.anonymize(table, **roles, privacy=goal.model)
    assert goal.render(PYTHON) == str(refused.value)


def test_a_hierarchy_that_lacks_what_coarsening_makes_is_refused_as_by_a_release() -> None:
    table = pl.DataFrame({"age": [20 + row % 40 for row in range(200)], "ill": ["flu", "gout"] * 100})
    tree = shoal.Hierarchy.from_rows([(str(age), "*") for age in range(20, 60)])
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": "ill", "k": 3, "hierarchies": {"age": tree}}
    assert shoal.evaluate(table, **asked).goals[0].feasible
    for call in (shoal.evaluate, shoal.anonymize):
        with pytest.raises(shoal.errors.DataError, match="hierarchy misses 4 of the 4 values"):
            call(table, **asked, coarsen={"age": "bins:10"})


def test_a_strict_request_is_refused_for_what_its_evaluation_finds(tmp_path: Path) -> None:
    table = shoal.datasets.patients(200).select("age", "gender", "disease")
    table = table.with_columns(age=pl.when(pl.int_range(pl.len()) < 3).then(999).otherwise("age"))
    roles: dict[str, Any] = {"quasi_identifiers": ["age", "gender"], "sensitive": "disease", "k": 5, "l": 2}
    (code,) = (one.code for one in shoal.evaluate(table, **roles).warnings)
    assert code == "missing_codes"
    assert shoal.anonymize(table, **roles).warnings == ()
    with pytest.raises(WarnedError, match=r"The request has 1 warning(?s:.)*999"):
        shoal.anonymize(table, **roles, strict=True, output=tmp_path / "out")
    table.write_csv(tmp_path / "t.csv")
    words = ["anonymize", str(tmp_path / "t.csv"), "--qi", "age,gender", "--sensitive", "disease", "-k", "5", "-l", "2"]
    made = CliRunner().invoke(app, [*words, "--strict", "-o", str(tmp_path / "out")])
    dry = CliRunner().invoke(app, [*words, "--strict", "-o", str(tmp_path / "out"), "--dry-run"])
    assert (made.exit_code, dry.exit_code) == (1, 1)
    assert [" ".join(one.output.split()).count("'999' among them") for one in (made, dry)] == [1, 1]
    assert not (tmp_path / "out").exists()
    assert CliRunner().invoke(app, [*words, "-o", str(tmp_path / "out")]).exit_code == 0


@every("seed", range(10))
def test_one_record_of_each_person_is_advised_with_a_model_that_it_can_have(seed: int) -> None:
    rng = np.random.default_rng(seed)
    persons, most = int(rng.choice([20, 60, 300])), int(rng.choice([2, 5]))
    table = pl.DataFrame({"pid": rng.integers(0, persons, persons * most), "age": 30})
    share = rng.choice([0.1, 0.45, 0.8])
    ill = [f"d{at % 7}" if rng.random() > share else "flu" for at in range(table.height)]
    table = table.with_columns(age=pl.col("pid") % 50, ill=pl.Series(ill))
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": "ill", "person": "pid", "k": 2}
    before = [one for one in shoal.evaluate(table, **asked).warnings if one.code == "sure_of_persons"]
    after = [one for one in shoal.anonymize(table, **asked).warnings if one.code == "sure_of_persons"]
    for one in (*before, *after):
        other = one.advice.arguments["other"]
        model = {"l": other.arguments["most"]} if other.code == "l_of_one_each" else {"t": 0.2}
        for drawn in range(5):
            shoal.anonymize(table, **asked, rows_per_person=1, **model, seed=drawn)


def test_what_all_records_of_a_person_tell_is_reported_before_the_release() -> None:
    # 20 persons have four records, 40 have one; "flu" is 30 of the 120 values.
    table = pl.DataFrame({
        "pid": [row // 4 if row < 80 else row for row in range(120)],
        "age": [20 + row % 10 for row in range(120)],
        "ill": ["flu" if row % 4 == 0 else f"d{row % 12}" for row in range(120)],
        "stage": [f"s{row % 6}" for row in range(120)],
    })  # fmt: skip
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": ["stage", "ill"], "person": "pid", "k": 2}
    (warned,) = (one for one in shoal.evaluate(table, **asked).warnings if one.code == "sure_of_persons")
    # With four of 120 records: 1 - C(90, 4) / C(120, 4) = 0.689 for flu, 1 - C(100, 4) / C(120, 4) = 0.523 for a stage.
    facts = warned.found.arguments
    assert {name: facts[name] for name in ("several", "units", "most", "above", "column", "limit")} == {
        "several": 20, "units": 60, "most": 4, "above": 20, "column": "stage", "limit": "1/2",
    }  # fmt: skip
    # The mend works; a model of values lowers the limit, and values that need no protection do not count.
    assert "rows_per_person=1" in warned.render(PYTHON)
    mended = shoal.evaluate(table, **asked, rows_per_person=1)
    assert "sure_of_persons" not in [one.code for one in mended.warnings]
    release = shoal.anonymize(table, mended.request, seed=1)
    assert "sure_of_persons" not in [one.code for one in release.warnings]
    (strict,) = (one for one in shoal.evaluate(table, **asked, l=4).warnings if one.code == "sure_of_persons")
    assert strict.found.arguments["above"] == 20
    # With a model of values, linked records are the other mend, unless something else that is asked for refuses them.
    made = [one for one in shoal.anonymize(table, **asked, l=2).warnings if one.code == "sure_of_persons"]
    assert made
    for one in (strict, *made):
        assert one.render(PYTHON).endswith(", with rows_per_person=1, or link the records of each, with link=True.")
    linked = shoal.anonymize(table, **asked, l=2, link=True)
    assert "sure_of_persons" not in [one.code for one in linked.warnings]
    harmless = shoal.evaluate(table, **asked, l=4, harmless="d1").warnings
    assert "link" not in next(one.render(PYTHON) for one in harmless if one.code == "sure_of_persons")
    # A household with several records is no person, and has no "one record of each".
    households = shoal.evaluate(table, **{**asked, "person": None, "units": ["pid"]})
    assert "sure_of_persons" not in [one.code for one in households.warnings]
    alone = shoal.evaluate(table.unique("pid"), **asked)
    assert "sure_of_persons" not in [one.code for one in alone.warnings]


def test_steps_of_the_request_are_named_and_mended_and_no_choice_is_overwritten() -> None:
    rng = random.Random(3)
    table = pl.DataFrame({
        "age": [rng.randrange(20, 80) for _ in range(300)],
        "income": [int(rng.lognormvariate(9.5, 0.8)) for _ in range(300)],
        "hiv": [rng.choices(["no", "yes"], [9, 1])[0] for _ in range(300)],
    })  # fmt: skip
    asked = {"quasi_identifiers": ["age"], "k": 3, "l": 2, "coarsen": {"income": "bins:20000"}, "seed": 1}
    found = shoal.evaluate(table, sensitive=["income"], direct_identifiers=["hiv"], **asked)
    assert (found.proposed, found.request.coarsen) == ((), {"income": shoal.Bins(20_000)})
    goal = next(one for one in found.goals if not one.feasible)
    assert (goal.columns, goal.steps) == (("income",), ("income",))
    with pytest.raises(InfeasibleError) as refused:
        shoal.anonymize(table, found.request)
    assert str(refused.value) == goal.render(PYTHON)
    # The mend is what the message says, literally.
    said = str(refused.value).partition("Finer steps make it possible: coarsen=")[2].removesuffix(".")
    literal = eval(said, {"shoal": shoal})
    assert literal == found.mended.coarsen
    assert shoal.anonymize(table, replace(found.request, coarsen=literal)).certificate.achieved["l"]["frequency"] >= 2
    # A value that most records have needs another model; the steps of another column are still mended.
    both = shoal.evaluate(table, sensitive=["income", "hiv"], **asked)
    (goal,) = (one for one in both.goals if not one.feasible)
    assert (goal.columns, goal.steps) == (("income", "hiv"), ("income",))
    assert "one value of 'hiv'" in goal.render(PYTHON)
    assert shoal.anonymize(table, both.mended).certificate.achieved["t"]
    # A lower l is the mend if it bounds anything, and a smaller k.
    lower = shoal.evaluate(table, quasi_identifiers=["age"], sensitive="hiv", direct_identifiers=["income"], k=400)
    assert [one.k for one in lower.mended.requirement.models] == [300]
    stars = shoal.evaluate(shoal.datasets.patients(), recoding="suppression")
    assert stars.request.recoding == "suppression"


@every(
    "asked",
    [
        {"k": 3, "l": 50},
        {"k": 400, "l": 2},
        {"knows": 2, "k": 300},
        {"privacy": [shoal.LDiversity(50, variant="entropy")]},
        {"privacy": [shoal.LDiversity(3, variant="recursive", c=0.01), shoal.KAnonymity(2)]},
        {"privacy": shoal.AlphaKAnonymity(alpha=0.01, k=3)},
        {"person": "patient_id", "k": 500},
        {"person": "patient_id", "k": 300, "link": True},
    ],
)
def test_mends_of_other_requests_work_or_are_not_offered(asked: dict[str, Any]) -> None:
    table = shoal.datasets.visits(60).drop("visit_id", "admitted")
    roles = {"quasi_identifiers": ["age", "gender", "zip"], "sensitive": "disease"}
    left_out = [] if "person" in asked else ["patient_id"]
    found = shoal.evaluate(table, **roles, direct_identifiers=left_out, **asked, seed=1)
    assert not all(goal.feasible for goal in found.goals)
    with pytest.raises(InfeasibleError):
        shoal.anonymize(table, found.request)
    assert bool(found.mended != found.request) == ("link" not in asked)
    if "link" not in asked:
        assert shoal.anonymize(table, found.mended).certificate.achieved


@pytest.mark.drawn
def test_a_dry_run_prints_the_evaluation_and_writes_nothing(tmp_path: Path) -> None:
    two_names().write_csv(tmp_path / "t.csv")
    words = ["anonymize", str(tmp_path / "t.csv"), "--qi", "sex,zip", "--sensitive", "diagnosis", "--id", "name"]
    made = CliRunner().invoke(
        app, [*words, "--person", "patient_no", "-k", "5", "-o", str(tmp_path / "out"), "--dry-run"]
    )
    assert made.exit_code == 0, made.output
    assert "240 records. Nothing was written." in made.output
    assert [one.name for one in tmp_path.iterdir()] == ["t.csv"]
    made = CliRunner().invoke(app, [*words, "-k", "500", "--dry-run", "--json"])
    assert made.exit_code == 1
    assert [one["feasible"] for one in json.loads(made.stdout.partition("\n}\n")[0] + "}")["goals"]] == [False]
