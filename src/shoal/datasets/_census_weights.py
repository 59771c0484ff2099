"""Conditional distributions of `shoal.datasets.census`, computed from the parameters in `census.toml`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal._core.file_formats import read_data_file

Weights = NDArray[np.float64]

_NUMBERS = read_data_file(__package__, "census.toml")
_AGES = np.arange(17, 96)
"""Ages of adults; code 0 of the age contexts is 17."""
_SELF_EMPLOYED = (5, 6)
"""Work classes of the self-employed, incorporated or not."""

RACE_GROUP = np.array(_NUMBERS["race"]["group"])
"""Maps race to one of four groups."""
BIRTH_KIND = np.array(_NUMBERS["birth_place"]["kind"])
"""Maps birth place to one of three kinds."""
INCOME_AGE_BAND = np.searchsorted(np.array(_NUMBERS["income"]["age_bands"]), _AGES, side="right")
"""Maps age to a band that affects income."""
INCOME_RACE = np.array(_NUMBERS["income"]["race_kind"])
"""Maps race to one of two kinds that affect income."""


def _age() -> Weights:
    """Compute the weights of the ages: one context."""
    # Linear interpolation between the given ages.
    weights: Weights = np.interp(_AGES, _array("age", "ages"), _array("age", "weights"))
    return weights[None, :]


def _gender() -> Weights:
    """Compute the weights of (man, woman) by age."""
    numbers = _NUMBERS["gender"]
    # Codes are 0 for men and 1 for women.
    women = np.interp(_AGES, numbers["ages"], numbers["share_of_women"])
    return np.stack([1 - women, women], axis=1)


def _race() -> Weights:
    """Compute the weights of the races by age."""
    return _interpolate("race", "weights")


def _marital_status() -> Weights:
    """Compute the weights of the marital statuses by (age, gender, race group)."""
    # Race groups multiply the odds of each status.
    by_gender = np.stack([_interpolate("marital_status", gender) for gender in ("men", "women")], axis=1)
    return _by_context(by_gender[:, :, None, :] * _array("marital_status", "odds_by_race_group"))


def _birth_place() -> Weights:
    """Compute the weights of the birth places by race."""
    numbers = _NUMBERS["birth_place"]
    states = list(numbers["states"])
    white, black, native = np.array(list(numbers["states"].values()), dtype=np.float64).T
    # Races without own numbers by state are mixtures, with exceptions for some states.
    asian, mixed = 0.015 * white, 0.5 * white + 0.3 * black
    for more, by_state in ((asian, numbers["asian"]), (mixed, numbers["mixed"])):
        for state, people in by_state.items():
            more[states.index(state)] += people
    pacific = np.where(np.arange(51) == states.index("HI"), 300.0, 0.008 * white)
    alaskan = np.where(np.arange(51) == states.index("AK"), 300.0, 0.002 * white)
    by_race = [white, black, native, alaskan, native + 0.003 * white, asian, pacific, mixed, mixed]
    # Births at home are distributed over the states, births abroad over parts of the world.
    home = np.stack([weights / weights.sum() for weights in by_race]) * np.array(numbers["share_home"])[:, None]
    return np.concatenate([home, np.array(numbers["share_abroad"])], axis=1)


def _education() -> Weights:
    """Compute the weights of the levels of education by (age, gender, race group, kind of birth, married)."""
    # The effect of marriage grows with age from 20 to 32.
    grown = np.interp(_AGES, [20, 32], [0, 1])[:, None]
    married, men = _array("education", "odds_of_married"), _array("education", "odds_of_men")
    by_marriage = np.stack([married ** (-0.5 * grown), married ** (0.5 * grown)], axis=1)
    odds = (
        np.stack([men, 1 / men])[:, None, None, :]
        * _array("education", "odds_by_race_group")[:, None, :]
        * _array("education", "odds_by_birth_kind")
    )
    by_age = _interpolate("education", "weights")
    coarse = by_age[:, None, None, None, None, :] * odds[:, :, :, None, :] * by_marriage[:, None, None, None, :, :]
    # Coarse levels of education are split into fine ones.
    source, share = _array("education", "parts").T
    return _by_context(coarse[..., source.astype(int)] * share)


def _work_class() -> Weights:
    """Compute the weights of the work classes by (age, education, gender)."""
    # The odds of women are the reciprocals of those of men.
    men = _array("work_class", "odds_of_men")
    by_education = _array("work_class", "odds_by_education_group")[_array("work_class", "education_group")]
    by_age = _interpolate("work_class", "weights")
    return _by_context(by_age[:, None, None, :] * by_education[:, None, :] * np.stack([men, 1 / men]))


def _occupation() -> Weights:
    """Compute the weights of the occupations by (three bands of age, education, gender, work class)."""
    _, share, women, level, spread, sectors, young = zip(*_NUMBERS["occupation"]["occupations"], strict=True)
    sector = np.array([_NUMBERS["occupation"]["sectors"][name] for name in sectors])
    levels = len(_NUMBERS["education"]["parts"])
    # Occupations have a typical level of education, with a spread.
    distance = (np.arange(levels)[:, None] - np.array(level)) / np.array(spread)
    by_education = np.exp(-0.5 * np.minimum(distance**2, 16)) / np.array(spread) + 0.004
    by_age = np.stack([np.array(young, dtype=np.float64) ** power for power in (1.2, 0.25, -0.15)])
    by_gender = np.stack([1 - np.array(women), np.array(women)])
    weights = by_age[:, None, None, None, :] * by_education[:, None, None, :] * by_gender[:, None, :] * sector.T
    return _by_context(weights * np.array(share))


def _income() -> Weights:
    """Compute the weights of the income classes by (age, education, gender, work class, married, race).

    Ages are in bands, and races are of two kinds. Incomes are log-logistic around a typical income, with a share of
    people without income and a preference for round numbers.
    """
    # Typical income on a logarithmic scale, as a sum of effects.
    usual = (
        _array("income", "usual_by_age")[:, None, None, None, None, None]
        + _array("income", "by_education")[:, None, None, None, None]
        + _array("income", "by_marriage")[:, None, :, None]
        + _array("income", "by_work_class")[:, None, None]
        + _array("income", "by_race_kind")
    )
    own_business = np.isin(np.arange(usual.shape[3]), _SELF_EMPLOYED)
    spread = _array("income", "spread_by_age")[:, None, None, None, None, None]
    spread = spread + np.where(own_business, 0.14, 0.0)[:, None, None]
    bounds = _array("income", "bounds")[1:]
    # Log-logistic distribution function at the bounds of the classes.
    below = 1 / (1 + np.exp(-(np.log(bounds) - usual[..., None]) / spread[..., None]))
    zero, one = np.zeros((*usual.shape, 1)), np.ones((*usual.shape, 1))
    shares = np.diff(np.concatenate([zero, below, one], axis=-1), axis=-1)
    shares[..., :-1] *= np.where(np.isin(bounds, _NUMBERS["income"]["round"]), 1.35, 0.75)
    by_gender = _array("income", "none_by_gender")[:, None, None, None]
    by_work = _array("income", "none_by_work_class")[:, None, None]
    # Share of people without any income, the first class.
    none = _array("income", "none_by_age")[:, None, None, None, None, None] * by_gender * by_work
    none = np.broadcast_to(none, usual.shape)[..., None]
    return _by_context(np.concatenate([none, (1 - none) * shares], axis=-1))


WEIGHTS = {
    "age": _age,
    "gender": _gender,
    "race": _race,
    "marital_status": _marital_status,
    "birth_place": _birth_place,
    "education": _education,
    "work_class": _work_class,
    "income": _income,
    "occupation": _occupation,
}
"""By attribute, the function that computes its weights, of shape (contexts, values)."""


def _array(attribute: str, name: str) -> NDArray[Any]:
    """Return a parameter array of an attribute."""
    return np.array(_NUMBERS[attribute][name])


def _interpolate(attribute: str, name: str) -> Weights:
    """Interpolate the rows of a table, given at some ages, for every age."""
    ages = _NUMBERS[attribute]["ages"]
    return np.stack([np.interp(_AGES, ages, column) for column in _array(attribute, name).T], axis=1)


def _by_context(weights: Weights) -> Weights:
    """Reshape an array to (contexts, values)."""
    return weights.reshape(-1, weights.shape[-1])
