"""Synthetic tables of the documentation: hospital patients, their hierarchies, and a table that changes."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.validation import Integer, validate

_FIRST = {
    "F": (
        *("Alice", "Amelia", "Anna", "Beatriz", "Carla", "Chloe", "Clara", "Daniela", "Elena", "Emily", "Fatima"),
        *("Grace", "Hannah", "Ines", "Irene", "Isabel", "Julia", "Karin", "Laura", "Leila", "Lucia", "Maria", "Mei"),
        *("Nadia", "Nora", "Olivia", "Paula", "Priya", "Rosa", "Ruth", "Sara", "Sofia", "Teresa", "Vera", "Yuki"),
    ),
    "M": (
        *("Adam", "Ahmed", "Alex", "Andre", "Ben", "Carlos", "Daniel", "David", "Diego", "Emil", "Erik", "Felix"),
        *("Hassan", "Henry", "Ivan", "Jack", "James", "Jan", "Jonas", "Karl", "Leo", "Luca", "Marco", "Martin", "Max"),
        *("Noah", "Oscar", "Paul", "Peter", "Rafael", "Samuel", "Simon", "Thomas", "Victor", "Wei"),
    ),
}
_LAST = (
    *("Adams", "Ali", "Anderson", "Bauer", "Bell", "Brown", "Carter", "Chen", "Clark", "Costa", "Cruz", "Davis"),
    *("Diaz", "Evans", "Fischer", "Flores", "Garcia", "Gomez", "Green", "Hall", "Haddad", "Hansen", "Harris", "Hill"),
    *("Ito", "Jackson", "Jensen", "Johnson", "Jones", "Keller", "Khan", "Kim", "King", "Lang", "Lee", "Lewis"),
    *("Lopez", "Martin", "Meyer", "Miller", "Moore", "Morris", "Nguyen", "Novak", "Okafor", "Oliveira", "Patel"),
    *("Perez", "Petrov", "Reed", "Rivera", "Roberts", "Rossi", "Sanchez", "Schmidt", "Scott", "Sharma", "Silva"),
    *("Singh", "Smith", "Sousa", "Stone", "Suzuki", "Taylor", "Thomas", "Torres", "Turner", "Walker", "Wang", "Weber"),
    *("White", "Wilson", "Wright", "Yang", "Young", "Zimmermann"),
)
_ZIPS = {
    "02108": 3, "02109": 2, "02111": 4, "02113": 3, "02114": 6, "02115": 8, "02116": 7, "02118": 9, "02119": 7,
    "02120": 4, "02121": 6, "02124": 10, "02125": 8, "02126": 5, "02127": 7, "02128": 9, "02129": 4, "02130": 8,
    "02131": 7, "02132": 6, "02134": 6, "02135": 8, "02136": 6, "02138": 7, "02139": 8, "02140": 4, "02141": 3,
    "02143": 5, "02144": 5, "02145": 4,
}  # fmt: skip
"""ZIP codes of Boston and its surroundings, with approximate frequencies."""
_DISEASES: dict[str, tuple[str, tuple[float, float, float, float], float]] = {
    # Its group, how common it is below 18, below 45, below 70 and later, and the share of women among the ill.
    "asthma": ("lung", (9, 6, 4, 3), 0.5),
    "bronchitis": ("lung", (6, 5, 5, 6), 0.5),
    "pneumonia": ("lung", (4, 2, 4, 9), 0.45),
    "gastritis": ("stomach and bowel", (3, 6, 6, 4), 0.5),
    "appendicitis": ("stomach and bowel", (6, 5, 2, 1), 0.45),
    "ulcer": ("stomach and bowel", (0.5, 3, 5, 4), 0.4),
    "hypertension": ("heart and circulation", (0.2, 3, 11, 14), 0.5),
    "heart failure": ("heart and circulation", (0.2, 0.5, 5, 12), 0.45),
    "stroke": ("heart and circulation", (0.1, 0.5, 4, 9), 0.45),
    "depression": ("mind and nerves", (3, 8, 6, 3), 0.6),
    "migraine": ("mind and nerves", (3, 7, 5, 1), 0.7),
    "epilepsy": ("mind and nerves", (4, 3, 2, 2), 0.5),
    "HIV infection": ("infection", (0.3, 3, 2, 0.5), 0.3),
    "hepatitis C": ("infection", (0.3, 2, 4, 2), 0.4),
    "influenza": ("infection", (7, 5, 4, 6), 0.5),
}
_AGES = (18, 45, 70)
_MOST_VISITS = 12
"""Largest number of visits of one patient."""
_VISITS_LATER = 0.55
"""Probability that a patient with fewer visits comes once more: most come once or twice, and a few very often."""
_SAME_DISEASE = 0.5
"""Probability that a later visit is for the disease of the first one."""


def patients(rows: int = 1000, *, seed: int = 1) -> pl.DataFrame:
    """Generate synthetic patients of a hospital in Boston, one per row.

    Parameters
    ----------
    rows : int
        Number of patients, at least 1.
    seed : int
        Seed of the random numbers; the same seed yields the same table.

    Returns
    -------
    polars.DataFrame
        `name`; `visit_id`, a meaningless number; `age` in years, 0 to 99; `gender`, F or M; `zip`, five digits as text;
        `admitted`, a day of 2024; `disease`, one of fifteen, the most common with a share of 13 %.

    Examples
    --------
    >>> patients(3).columns
    ['name', 'visit_id', 'age', 'gender', 'zip', 'admitted', 'disease']
    """
    validate("patients", {"rows": rows, "seed": seed}, {"rows": Integer(low=1), "seed": Integer(low=0)})
    rng = np.random.default_rng(seed)
    ages = _ages(rng, rows)
    gender = np.where(rng.random(rows) < 0.52, "F", "M")
    # Names depend on the gender only.
    first = {letter: rng.choice(names, rows) for letter, names in _FIRST.items()}
    last = rng.choice(_LAST, rows)
    given = np.where(gender == "F", first["F"], first["M"])
    # ZIP codes and days are independent of the other columns.
    weights = np.array(list(_ZIPS.values()), dtype=np.float64)
    days = rng.integers(0, 366, rows)
    return pl.DataFrame(
        {
            "name": [f"{one} {other}" for one, other in zip(given, last, strict=True)],
            "visit_id": rng.permutation(np.arange(100_000, 100_000 + rows)),
            "age": ages,
            "gender": gender.tolist(),
            "zip": rng.choice(list(_ZIPS), rows, p=weights / weights.sum()).tolist(),
            "admitted": [dt.date(2024, 1, 1) + dt.timedelta(days=int(day)) for day in days],
            "disease": _diseases(rng, ages, gender),
        }
    )


def visits(people: int = 400, *, seed: int = 1) -> pl.DataFrame:
    """Generate visits of synthetic patients, who have one or several of them.

    The number of visits is skewed, and the diseases of a patient depend on the patient.

    Parameters
    ----------
    people : int
        Number of patients, at least 1.
    seed : int
        Seed of the random numbers; the same seed yields the same table.

    Returns
    -------
    polars.DataFrame
        `visit_id`; `patient_id`, the same in all visits of a patient, as are `age`, `gender` and `zip`; `admitted`, a
        day of 2024; `disease`. Visits are ordered by day.

    Examples
    --------
    >>> table = visits(100)
    >>> table["patient_id"].n_unique(), table.height
    (100, 216)
    """
    validate("visits", {"people": people, "seed": seed}, {"people": Integer(low=1), "seed": Integer(low=0)})
    rng = np.random.default_rng(seed)
    first = patients(people, seed=seed).select("age", "gender", "zip", "disease")
    first = first.insert_column(0, pl.Series("patient_id", rng.permutation(np.arange(7_000, 7_000 + people))))
    # A geometric number of visits, cut at the largest one.
    each = np.minimum(rng.geometric(1 - _VISITS_LATER, people), _MOST_VISITS)
    owners = np.repeat(np.arange(people), each)
    table = first[owners]
    again = np.ones(len(owners), dtype=np.bool_)
    again[np.cumsum(each) - each] = False
    # Later visits are for the first disease, or for one that suits the age and the gender.
    other = _diseases(rng, table["age"].to_numpy(), table["gender"].to_numpy())
    new = again & (rng.random(len(owners)) >= _SAME_DISEASE)
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 366, len(owners))]
    table = table.with_columns(
        disease=pl.when(pl.Series(new)).then(pl.Series(other)).otherwise("disease"), admitted=pl.Series(days)
    ).sort("admitted", "patient_id")
    numbers = pl.int_range(100_000, 100_000 + pl.len())
    return table.select(numbers.alias("visit_id"), "patient_id", "age", "gender", "zip", "admitted", "disease")


def _ages(rng: np.random.Generator, rows: int) -> NDArray[np.int64]:
    """Sample ages as in hospitals: some children, adults of all ages, and many old people."""
    # A mixture of three age groups.
    part = rng.choice(3, rows, p=(0.12, 0.48, 0.4))
    drawn = np.choose(part, (rng.gamma(2, 4, rows), rng.normal(43, 14, rows), rng.normal(72, 10, rows)))
    return np.clip(np.round(drawn), 0, 99).astype(np.int64)


def _diseases(rng: np.random.Generator, ages: NDArray[np.int64], gender: NDArray[Any]) -> list[str]:
    names = list(_DISEASES)
    # The disease depends on age and gender.
    part = np.searchsorted(_AGES, ages, side="right")
    common = np.array([_DISEASES[name][1] for name in names]).T[part]
    women = np.array([_DISEASES[name][2] for name in names])
    # Inverse transform sampling on cumulative weights, row by row.
    weight = np.cumsum(common * np.where((gender == "F")[:, None], women, 1 - women), axis=1)
    drawn = (weight < rng.random(len(ages))[:, None] * weight[:, -1:]).sum(axis=1)
    return [names[which] for which in drawn]


def disease_hierarchy() -> list[tuple[str, str, str]]:
    """Return a hierarchy of the diseases of `patients`: disease, part of the body, root.

    Examples
    --------
    >>> disease_hierarchy()[0]
    ('asthma', 'lung', '*')
    """
    return [(name, part, "*") for name, (part, _, _) in _DISEASES.items()]


def zip_hierarchy() -> list[tuple[str, ...]]:
    """Return a hierarchy of the ZIP codes of `patients`: five, four and three digits, root.

    Examples
    --------
    >>> zip_hierarchy()[0]
    ('02108', '0210*', '021**', '*')
    """
    return [(code, f"{code[:4]}*", f"{code[:3]}**", "*") for code in _ZIPS]


def quarters(rows: int = 300, *, seed: int = 1) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Generate two quarters of a table that changes over time, and a list of all people in it.

    Parameters
    ----------
    rows : int, default 300
        Number of people in the first quarter, at least 1.
    seed : int, default 1
        Seed of the random numbers; the same seed yields the same tables.

    Returns
    -------
    first, second : polars.DataFrame
        `patient_id`, `age`, `zip`, `disease`: most people of the first quarter stay, some leave, and others join.
    people : polars.DataFrame
        `patient_id`, `age`, `zip`, and in `releases` the quarters that contain the person: "1", "2" or "1-2".

    Examples
    --------
    >>> first, second, people = quarters(10)
    >>> first.height, second.height, people.height
    (10, 11, 12)
    """
    # A fifth of the people join, and a tenth of them leave.
    new, gone = rows // 5, rows // 10
    everybody = patients(rows + new, seed=seed).select(
        pl.int_range(1, rows + new + 1).alias("patient_id"), "age", "zip", "disease"
    )
    number = pl.col("patient_id")
    # Patient numbers ascend in order of arrival, so the first ones leave.
    first, second = everybody.filter(number <= rows), everybody.filter(number > gone)
    releases = pl.when(number <= gone).then(pl.lit("1")).when(number > rows).then(pl.lit("2")).otherwise(pl.lit("1-2"))
    return first, second, everybody.select("patient_id", "age", "zip", releases=releases)


def age_hierarchy() -> list[tuple[str, ...]]:
    """Return a hierarchy of the ages of `patients`: age, spans of five, ten and fifty years, root.

    Examples
    --------
    >>> age_hierarchy()[42]
    ('42', '40-44', '40-49', '0-49', '*')
    """
    return [
        (
            str(age),
            f"{age // 5 * 5}-{age // 5 * 5 + 4}",
            f"{age // 10 * 10}-{age // 10 * 10 + 9}",
            "0-49" if age < 50 else "50-99",
            "*",
        )
        for age in range(100)
    ]
