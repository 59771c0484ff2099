"""Proposals agree with goals: what is proposed can be published, or the evaluation says why not and mends it."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import numpy as np
import polars as pl
from tests.every import every

import shoal
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
    rows, secret = rng.choice([40, 90, 200, 500]), set()
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
    for word, number, day in (("n/a", "n/a", "9999-99-99"), ("unknown", "-9999", "1900-01-01")):
        codes = {one.name: day if one.dtype == pl.String else number if one.min() >= 0 else word for one in able}
        coded = bare.with_columns(
            pl.when(gone[one.name]).then(pl.lit(codes[one.name])).otherwise(one.cast(pl.String)).alias(one.name)
            for one in able
        )
        assert {one.name: (one.role, one.coarsen) for one in shoal.inspect(coded).columns} == wanted
