"""The numbers behind `shoal.datasets.census`: small tables of shares and odds, rounded, and the formulas between them.

Every array is a conditional distribution in the making: rows are contexts (an age, a race group, ...), columns are the
values of one attribute, entries are weights that need not sum to one. Nothing here is a record of a person.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "AGES",
    "BIRTH_KIND",
    "BIRTH_PLACES",
    "EDUCATIONS",
    "INCOME_AGE_BAND",
    "INCOME_BOUNDS",
    "INCOME_RACE",
    "OCCUPATIONS",
    "RACE_GROUP",
    "WORK_CLASSES",
    "age_weights",
    "birth_place_weights",
    "education_weights",
    "gender_weights",
    "income_weights",
    "marital_weights",
    "occupation_weights",
    "race_weights",
    "work_class_weights",
]

Weights = NDArray[np.float64]

AGES = np.arange(17, 96)
"""Ages of adults; code 0 of the age contexts is 17."""

RACE_GROUP = np.array([0, 1, 3, 3, 3, 2, 3, 3, 3])
"""Race (white, Black, American Indian, Alaska Native, native unspecified, Asian, Pacific, other, two or more) to one of
four groups: white, Black, Asian, any other."""

_STATE_WEIGHTS = """
AL 2600 930 9|AK 230 14 60|AZ 2000 70 140|AR 1700 360 9|CA 16000 1700 90|CO 2300 85 12|CT 2750 210 4
DE 470 85 1|DC 180 470 1|FL 6000 1150 14|GA 3900 1350 6|HI 320 17 3|ID 850 3 9|IL 9500 1600 11|IN 4900 390 6
IA 2850 38 5|KS 2200 120 12|KY 3250 250 4|LA 2750 1200 11|ME 1050 3 4|MD 3100 850 6|MA 5500 200 6
MI 7900 1100 30|MN 3850 45 30|MS 1500 870 6|MO 4300 500 10|MT 720 2 32|NE 1450 45 9|NV 500 40 11|NH 780 4 1
NJ 6100 850 7|NM 900 22 110|NY 14700 2250 33|NC 4200 1250 55|ND 620 2 18|OH 9500 1020 11|OK 2400 190 150
OR 2250 35 22|PA 10700 1030 9|RI 910 24 2|SC 2000 920 5|SD 640 2 42|TN 3500 680 5|TX 10500 1600 35
UT 1250 8 17|VT 480 1 1|VA 3950 950 8|WA 3500 95 50|WV 1780 65 2|WI 4350 160 24|WY 410 3 6
"""
"""Thousands of people born in each state, white, Black and native, about the middle of the adults' birth years."""

_STATES = [entry.split() for line in _STATE_WEIGHTS.split("\n") if line for entry in line.split("|")]

BIRTH_PLACES = (
    *(entry[0] for entry in _STATES),
    "outlying areas",
    "Latin America",
    "Asia",
    "Europe",
    "elsewhere",
)
"""The 56 birth places: 50 states and D.C., and five for everybody who was born elsewhere."""

BIRTH_KIND = np.array([0] * 52 + [1, 2, 2, 2])
"""Birth place to one of three kinds that matter to education: home, Latin America, further abroad."""

_HOME = np.array([0.905, 0.895, 0.93, 0.93, 0.85, 0.24, 0.70, 0.50, 0.80])
_ABROAD = np.array(
    [
        [0.006, 0.045, 0.012, 0.025, 0.007],
        [0.004, 0.050, 0.001, 0.003, 0.047],
        [0.003, 0.055, 0.004, 0.004, 0.004],
        [0.003, 0.055, 0.004, 0.004, 0.004],
        [0.005, 0.130, 0.005, 0.005, 0.005],
        [0.001, 0.010, 0.720, 0.012, 0.017],
        [0.060, 0.005, 0.045, 0.005, 0.185],
        [0.030, 0.430, 0.020, 0.012, 0.008],
        [0.015, 0.070, 0.060, 0.030, 0.025],
    ]
)
"""Share born in each place outside the states, by race."""

EDUCATIONS = (
    "no schooling",
    "nursery to grade 4",
    "grade 5-6",
    "grade 7-8",
    "grade 9",
    "grade 10",
    "grade 11",
    "grade 12, no diploma",
    "high school diploma",
    "equivalent diploma",
    "college, less than a year",
    "college, no degree",
    "associate",
    "bachelor",
    "master",
    "professional",
    "doctorate",
)
"""The 17 levels of education."""

WORK_CLASSES = (
    "private company",
    "non-profit",
    "local government",
    "state government",
    "federal government",
    "self-employed",
    "self-employed, incorporated",
    "family, unpaid",
    "last work long ago",
)
"""The nine classes of workers."""

_MARITAL_KNOTS = np.array([17, 18.5, 20.5, 22.5, 24.5, 26.5, 28.5, 32, 37, 42, 47, 52, 57, 62, 67, 72, 77, 85])
_MARITAL_MEN = np.array(
    # married, spouse absent, widowed, divorced, separated, never married; per mille
    [
        [1, 6, 0, 0, 0, 993],
        [6, 4, 0, 1, 0, 989],
        [12, 10, 0, 1, 0, 977],
        [48, 16, 0, 4, 1, 931],
        [108, 19, 1, 11, 3, 858],
        [182, 25, 1, 15, 4, 773],
        [272, 27, 1, 25, 7, 668],
        [445, 36, 1, 42, 13, 463],
        [590, 34, 2, 68, 19, 287],
        [643, 34, 4, 100, 21, 198],
        [665, 33, 6, 116, 20, 160],
        [648, 30, 10, 140, 21, 151],
        [672, 30, 17, 147, 18, 116],
        [692, 29, 26, 131, 17, 105],
        [715, 25, 37, 122, 17, 84],
        [715, 22, 58, 117, 14, 74],
        [735, 23, 85, 110, 10, 37],
        [650, 30, 195, 90, 5, 30],
    ]
)
_MARITAL_WOMEN = np.array(
    [
        [2, 7, 0, 0, 1, 990],
        [8, 11, 1, 1, 1, 978],
        [26, 20, 1, 2, 1, 950],
        [88, 21, 1, 5, 3, 882],
        [145, 25, 1, 13, 6, 810],
        [238, 24, 2, 22, 12, 702],
        [352, 26, 3, 32, 18, 569],
        [500, 30, 3, 50, 22, 395],
        [582, 32, 6, 95, 26, 259],
        [605, 27, 10, 128, 26, 204],
        [608, 26, 13, 155, 30, 168],
        [592, 28, 23, 172, 30, 155],
        [580, 27, 46, 188, 26, 133],
        [578, 18, 75, 198, 19, 112],
        [545, 14, 132, 190, 14, 105],
        [495, 15, 185, 206, 16, 83],
        [415, 20, 250, 210, 15, 90],
        [250, 28, 490, 170, 10, 52],
    ]
)
_MARITAL_BY_RACE = np.array(
    [
        [1.22, 0.8, 0.95, 1.0, 0.7, 0.9],
        [0.52, 2.0, 1.8, 1.3, 2.4, 1.75],
        [1.2, 2.1, 0.8, 0.5, 0.5, 0.75],
        [0.8, 2.0, 1.1, 1.05, 1.8, 1.05],
    ]
)

_EDUCATION_KNOTS = np.array([17, 18.5, 20.5, 22.5, 24.5, 27, 32, 37, 42, 47, 52, 57, 62, 67, 72, 77, 85])
_EDUCATION = np.array(
    # none, to 4, 5-8, 9-12 without diploma, diploma, equivalent,
    # some college, associate, bachelor, master, professional, doctorate; per mille
    [
        [1, 2, 8, 900, 66, 6, 17, 1, 1, 0, 0, 0],
        [1, 0, 4, 151, 313, 12, 510, 7, 3, 1, 0, 0],
        [2, 0, 2, 53, 255, 18, 598, 44, 28, 1, 0, 0],
        [5, 0, 1, 41, 190, 27, 284, 58, 377, 15, 1, 1],
        [6, 0, 6, 31, 182, 29, 168, 66, 420, 78, 11, 3],
        [7, 0, 5, 35, 145, 30, 172, 68, 374, 130, 22, 12],
        [6, 0, 7, 38, 130, 31, 176, 76, 299, 160, 44, 33],
        [11, 0, 13, 39, 133, 35, 150, 76, 272, 180, 48, 43],
        [10, 0, 15, 38, 136, 35, 160, 78, 257, 177, 48, 46],
        [10, 0, 15, 37, 148, 33, 161, 69, 257, 180, 46, 44],
        [9, 0, 15, 47, 176, 34, 169, 79, 235, 158, 43, 35],
        [10, 0, 14, 42, 190, 34, 182, 80, 231, 135, 46, 36],
        [8, 1, 13, 40, 191, 34, 198, 84, 217, 135, 50, 31],
        [7, 1, 12, 40, 161, 26, 190, 75, 228, 156, 57, 47],
        [8, 1, 13, 36, 147, 23, 162, 56, 218, 190, 76, 70],
        [8, 1, 18, 45, 171, 29, 198, 44, 156, 177, 85, 68],
        [14, 2, 36, 45, 217, 22, 163, 42, 151, 137, 100, 71],
    ]
)
_EDUCATION_PARTS = (
    (0, 1.0),
    (1, 1.0),
    (2, 0.35),
    (2, 0.65),
    (3, 0.17),
    (3, 0.3),
    (3, 0.37),
    (3, 0.16),
    (4, 1.0),
    (5, 1.0),
    (6, 0.3),
    (6, 0.7),
    (7, 1.0),
    (8, 1.0),
    (9, 1.0),
    (10, 1.0),
    (11, 1.0),
)
"""For each of the 17 levels the one of the 12 that it is a part of, and its share there."""
_EDUCATION_BY_GENDER = np.array([1.0, 1.0, 1.2, 1.13, 1.15, 1.15, 0.98, 0.87, 0.94, 0.9, 1.1, 1.13])
"""Odds of men; those of women are the inverse."""
_EDUCATION_BY_RACE = np.array(
    [
        [0.7, 0.8, 0.7, 0.8, 0.95, 0.9, 0.97, 1.0, 1.1, 1.07, 1.1, 1.0],
        [1.6, 1.0, 1.0, 1.6, 1.45, 1.5, 1.25, 1.2, 0.62, 0.6, 0.35, 0.32],
        [1.4, 2.0, 1.2, 0.6, 0.45, 0.35, 0.55, 0.45, 1.2, 1.75, 1.6, 2.6],
        [1.9, 1.5, 2.2, 2.0, 1.4, 1.55, 1.1, 1.0, 0.55, 0.5, 0.4, 0.35],
    ]
)
_EDUCATION_BY_BIRTH = np.array(
    [
        [0.6, 0.5, 0.3, 0.95, 1, 1.05, 1.02, 1.05, 1, 1, 1, 0.9],
        [4, 8, 14, 2.2, 1.0, 0.6, 0.6, 0.7, 0.6, 0.5, 0.5, 0.5],
        [1.6, 3, 1.6, 0.9, 0.9, 0.5, 0.7, 0.8, 1.1, 1.25, 1.2, 2.0],
    ]
)
_EDUCATION_BY_MARRIAGE = np.array([0.6, 0.5, 0.5, 0.57, 0.8, 0.55, 0.85, 1.0, 1.12, 1.35, 1.6, 1.3])
"""Odds of the married, against everybody else's."""

_WORK_BY_AGE_KNOTS = np.array([17, 25, 35, 45, 55, 65, 75, 90])
_WORK_BY_AGE = np.array(
    [
        [880, 50, 25, 28, 6, 18, 5, 4, 34],
        [770, 72, 48, 45, 20, 28, 9, 1, 14],
        [665, 88, 70, 50, 32, 54, 28, 1, 9],
        [610, 88, 82, 50, 40, 68, 45, 1, 9],
        [585, 92, 82, 50, 40, 82, 52, 1, 10],
        [535, 100, 75, 48, 36, 125, 60, 3, 12],
        [445, 95, 68, 40, 30, 220, 80, 5, 12],
        [400, 95, 60, 30, 20, 290, 85, 10, 12],
    ]
)
_WORK_BY_EDUCATION = np.array(
    [
        # up to grade 8, no diploma, diploma, some college, associate, bachelor, master, professional, doctorate
        [1.15, 0.3, 0.45, 0.3, 0.1, 1.5, 0.5, 2, 2],
        [1.12, 0.4, 0.45, 0.4, 0.2, 1.05, 0.55, 2, 2.5],
        [1.1, 0.6, 0.7, 0.65, 0.75, 1.0, 0.8, 1, 1.3],
        [1.05, 0.85, 0.85, 0.95, 1.1, 0.9, 0.9, 0.8, 1],
        [1.0, 1.1, 1.0, 0.95, 1.2, 0.9, 0.9, 0.7, 0.8],
        [0.95, 1.25, 1.15, 1.1, 1.2, 0.9, 1.2, 0.6, 0.6],
        [0.68, 1.8, 2.3, 1.7, 1.6, 0.95, 1.2, 0.4, 0.4],
        [0.62, 1.3, 0.8, 1.2, 1.4, 1.9, 2.9, 0.3, 0.3],
        [0.55, 2.1, 0.8, 3.6, 1.7, 1.1, 1.2, 0.2, 0.2],
    ]
)
_WORK_EDUCATION_GROUP = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8])
_WORK_BY_GENDER = np.array([1.06, 0.66, 0.78, 0.87, 1.03, 1.17, 1.4, 0.8, 0.8])
"""Odds of men; those of women are the inverse."""

_OCCUPATION_TABLE = """
chief executives|14|.28|13|2.5|m|.1
operations managers|38|.34|12|2.8|m|.5
financial managers|16|.52|13|2.2|m|.3
education managers|10|.64|14|1.3|p|.1
health managers|9|.70|13|2|n|.2
other managers|32|.40|12.5|2.6|m|.3
accountants|16|.60|13.2|1.2|o|.3
business specialists|34|.55|13|1.8|o|.5
computer scientists|36|.26|13.3|1.6|o|.5
architects and engineers|22|.15|13.4|1.4|o|.4
engineering technicians|8|.22|11.5|1.8|o|.6
life and social scientists|11|.46|14.6|1.5|g|.4
community workers|17|.66|13.4|1.6|n|.5
lawyers|11|.38|15|.7|l|.1
legal support|6|.84|12.5|1.8|l|.5
college teachers|15|.50|15|1.3|s|.7
school teachers|42|.76|13.7|.9|t|.3
teaching assistants|14|.86|11.5|1.8|t|1.3
artists and designers|12|.50|12.8|1.8|f|.8
media and sports|12|.44|12.8|1.8|f|1.8
physicians and dentists|11|.40|15.2|.7|h|.1
nurses|26|.88|13|1.1|h|.4
therapists and pharmacists|13|.72|13.9|1.4|h|.3
health technicians|19|.76|11.8|1.4|h|.9
nursing aides|22|.87|9.5|2|h|1.4
other health support|13|.83|11|1.8|h|1.1
police officers|10|.18|12|1.7|p|.4
fire fighters and guards|12|.22|10.8|2|p|1.2
cooks|24|.40|8|2.4|b|2.5
waiters and bartenders|25|.68|9.6|2.3|b|4
food counter workers|15|.60|8.5|2.2|b|5
cleaners|30|.42|7.6|2.6|c|1.2
groundskeepers|10|.07|7.8|2.6|c|1.4
child care|13|.94|10|2.2|c|2
personal care|24|.80|10.2|2.3|c|1.2
cashiers|26|.72|8.9|2.2|b|5.5
retail salespeople|34|.50|10|2.3|b|3.2
sales supervisors|29|.43|10.8|2.4|m|.8
sales representatives|26|.38|12|2.2|b|.6
agents and brokers|18|.48|12.3|2|f|.3
secretaries|32|.94|10.8|1.9|a|.7
bookkeepers|15|.86|10.8|1.9|a|.4
information clerks|38|.72|10.4|2.1|a|1.7
material clerks|26|.32|9.8|2.1|a|1.6
farm workers|9|.24|6|3.5|x|1.2
construction workers|42|.03|8.3|2.3|x|.9
mechanics|29|.04|9.3|1.9|b|.8
assemblers|20|.38|8.7|2.3|b|.8
machine operators|30|.24|8.6|2.2|b|.8
drivers and movers|62|.19|8.7|2.2|b|1.5
"""
OCCUPATIONS = tuple(line.split("|")[0] for line in _OCCUPATION_TABLE.split("\n") if line)
"""The 50 groups of occupations."""
_OCCUPATION_NUMBERS = [line.split("|")[1:] for line in _OCCUPATION_TABLE.split("\n") if line]
"""Per mille, share of women, usual level of education and its spread, sector, odds of the young."""
_SECTOR_BY_WORK_CLASS = {
    # company, non-profit, local, state, federal, self-employed, incorporated, unpaid, long ago
    "m": [1.0, 0.8, 0.5, 0.5, 0.8, 0.9, 2.6, 1, 0.4],
    "p": [0.15, 0.4, 6.5, 4.0, 4.0, 0.05, 0.1, 0.1, 0.4],
    "n": [0.3, 4.0, 1.8, 3.0, 1.0, 0.3, 0.4, 0.5, 0.4],
    "o": [1.1, 0.7, 0.7, 1.1, 2.0, 0.7, 1.0, 0.3, 0.4],
    "g": [0.7, 1.3, 0.9, 3.0, 4.0, 0.5, 0.6, 0.2, 0.4],
    "l": [0.8, 0.5, 0.9, 1.4, 2.0, 1.6, 2.8, 0.3, 0.3],
    "s": [0.25, 2.3, 0.8, 8.0, 0.2, 0.1, 0.1, 0.2, 0.4],
    "t": [0.22, 1.2, 8.0, 2.4, 0.2, 0.1, 0.1, 0.3, 0.8],
    "f": [0.8, 0.8, 0.2, 0.3, 0.3, 3.2, 2.8, 1, 0.8],
    "h": [0.95, 2.6, 0.6, 1.1, 1.0, 0.45, 1.0, 0.2, 0.5],
    "b": [1.25, 0.2, 0.15, 0.12, 0.3, 0.6, 0.7, 1.5, 2.0],
    "c": [0.85, 0.8, 0.8, 0.8, 0.3, 2.6, 0.7, 1, 1.6],
    "a": [0.95, 1.1, 1.3, 1.3, 2.0, 0.25, 0.4, 1.8, 1.0],
    "x": [1.0, 0.1, 0.4, 0.4, 0.3, 2.6, 1.9, 5, 1.4],
}

INCOME_BOUNDS = np.array(
    [
        0,
        *range(2500, 50_001, 2500),
        *range(55_000, 100_001, 5000),
        *range(110_000, 200_001, 10_000),
        225_000,
        250_000,
        275_000,
        300_000,
        350_000,
        400_000,
        500_000,
        700_000,
    ]
)
"""Class i of the 50 income classes holds what is above bound i - 1 and at most bound i (dollars a year)."""
_ROUND_INCOMES = (
    10_000,
    15_000,
    20_000,
    25_000,
    30_000,
    35_000,
    40_000,
    45_000,
    50_000,
    60_000,
    70_000,
    75_000,
    80_000,
    90_000,
    100_000,
    120_000,
    150_000,
    200_000,
    250_000,
    300_000,
)
"""Incomes that people like to state."""
INCOME_AGE_BAND = np.searchsorted(
    np.array([18, 20, 22, 24, 26, 28, 31, 36, 41, 48, 55, 62, 68, 75]), AGES, side="right"
)
"""Age to one of the bands that matter to income."""
INCOME_RACE = np.array([0, 1, 1, 1, 1, 0, 1, 1, 1])
"""Race to one of two kinds that matter to income."""
_INCOME_AGE = np.array([7.6, 8.3, 8.85, 9.45, 9.9, 10.1, 10.22, 10.35, 10.45, 10.5, 10.5, 10.47, 10.4, 10.38, 10.3])
"""Logarithm of the usual income of an unmarried man with a high school diploma in a company, by band of age."""
_INCOME_EDUCATION = np.array(
    [-0.32, -0.35, -0.42, -0.38, -0.33, -0.3, -0.28, -0.22, 0, -0.13, 0.1, 0.18, 0.3, 0.7, 0.95, 1.4, 1.15]
)
_INCOME_WORK_CLASS = np.array([0.02, -0.08, 0.0, -0.04, 0.28, -0.3, 0.3, -1.3, -1.5])
_INCOME_BY_MARRIAGE = np.array([[0.0, 0.38], [-0.2, -0.22]])
"""What is added for the unmarried and the married: men, women."""
_INCOME_BY_RACE = np.array([0.05, -0.24])
_INCOME_SPREAD = np.array([0.6] * 4 + [0.52] * 2 + [0.46] * 9)
_INCOME_NONE = np.array(
    [0.07, 0.07, 0.07, 0.06, 0.05, 0.045, 0.04, 0.037, 0.035, 0.033, 0.032, 0.03, 0.022, 0.01, 0.01]
)
"""Share of people without an income, by band of age."""


def age_weights() -> Weights:
    """Return the weights of the ages: one context."""
    knots = [17, 18, 22, 30, 34, 41, 45, 57, 60, 63, 65, 68, 70, 75, 80, 85, 90, 95]
    heights = [9, 16.7, 17.8, 20.5, 18.9, 17, 18.3, 19.6, 18.2, 16, 14, 9.5, 7.2, 3, 1.3, 0.65, 0.2, 0.1]
    return np.interp(AGES, knots, heights)[None, :]


def gender_weights() -> Weights:
    """Return the weights of (man, woman) by age."""
    women = np.interp(AGES, [17, 62, 67, 95], [0.499, 0.505, 0.47, 0.44])
    return np.stack([1 - women, women], axis=1)


def race_weights() -> Weights:
    """Return the weights of the races by age."""
    table = np.array(
        [
            [660, 159, 17, 0.3, 4.0, 75, 1.5, 41, 42],
            [655, 168, 18, 0.3, 1.6, 88, 0.8, 36, 27],
            [735, 165, 14, 0.2, 2.0, 50, 0.7, 18, 12],
            [830, 115, 9, 0.1, 0.8, 40, 0.5, 5, 5],
        ]
    )
    return _interpolated(np.array([20, 40, 60, 80]), table)


def marital_weights() -> Weights:
    """Return the weights of the marital statuses by (age, gender, race group)."""
    by_gender = np.stack([_interpolated(_MARITAL_KNOTS, table) for table in (_MARITAL_MEN, _MARITAL_WOMEN)], axis=1)
    return _by_context(by_gender[:, :, None, :] * _MARITAL_BY_RACE)


def birth_place_weights() -> Weights:
    """Return the weights of the birth places by race."""
    white, black, native = np.array([[float(number) for number in entry[1:]] for entry in _STATES]).T
    index = {entry[0]: position for position, entry in enumerate(_STATES)}
    asian, mixed = 0.015 * white, 0.5 * white + 0.3 * black
    for state, people in {"CA": 900, "HI": 480, "NY": 200, "WA": 70, "IL": 90, "TX": 90, "NJ": 90}.items():
        asian[index[state]] += people
    for state, people in {"CA": 9000, "TX": 5000, "NM": 700, "AZ": 900, "NY": 1500, "HI": 600, "OK": 700}.items():
        mixed[index[state]] += people
    pacific = np.where(np.arange(51) == index["HI"], 300.0, 0.008 * white)
    alaskan = np.where(np.arange(51) == index["AK"], 300.0, 0.002 * white)
    by_race = [white, black, native, alaskan, native + 0.003 * white, asian, pacific, mixed, mixed]
    home = np.stack([weights / weights.sum() for weights in by_race]) * _HOME[:, None]
    return np.concatenate([home, _ABROAD], axis=1)


def education_weights() -> Weights:
    """Return the weights of the levels of education by (age, gender, race group, kind of birth, married or not)."""
    by_age = _interpolated(_EDUCATION_KNOTS, _EDUCATION)
    grown = np.interp(AGES, [20, 32], [0, 1])[:, None]
    by_marriage = np.stack([_EDUCATION_BY_MARRIAGE ** (-0.5 * grown), _EDUCATION_BY_MARRIAGE ** (0.5 * grown)], axis=1)
    odds = (
        np.stack([_EDUCATION_BY_GENDER, 1 / _EDUCATION_BY_GENDER])[:, None, None, :]
        * _EDUCATION_BY_RACE[:, None, :]
        * _EDUCATION_BY_BIRTH
    )
    coarse = by_age[:, None, None, None, None, :] * odds[:, :, :, None, :] * by_marriage[:, None, None, None, :, :]
    source, share = (np.array(part) for part in zip(*_EDUCATION_PARTS, strict=True))
    return _by_context(coarse[..., source.astype(int)] * share)


def work_class_weights() -> Weights:
    """Return the weights of the work classes by (age, education, gender)."""
    by_age = _interpolated(_WORK_BY_AGE_KNOTS, _WORK_BY_AGE)
    gender = np.stack([_WORK_BY_GENDER, 1 / _WORK_BY_GENDER])
    by_education = _WORK_BY_EDUCATION[_WORK_EDUCATION_GROUP]
    return _by_context(by_age[:, None, None, :] * by_education[:, None, :] * gender)


def occupation_weights() -> Weights:
    """Return the weights of the occupations by (three bands of age, education, gender, work class)."""
    share, women, level, spread = (np.array([float(row[j]) for row in _OCCUPATION_NUMBERS]) for j in range(4))
    young = np.array([float(row[5]) for row in _OCCUPATION_NUMBERS])
    sector = np.array([_SECTOR_BY_WORK_CLASS[row[4]] for row in _OCCUPATION_NUMBERS])
    distance = (np.arange(len(EDUCATIONS))[:, None] - level) / spread
    by_education = np.exp(-0.5 * np.minimum(distance**2, 16)) / spread + 0.004
    by_age = np.stack([young**1.2, young**0.25, young**-0.15])
    by_gender = np.stack([1 - women, women])
    weights = by_age[:, None, None, None, :] * by_education[:, None, None, :] * by_gender[:, None, :] * sector.T
    return _by_context(weights * share)


def income_weights() -> Weights:
    """Return the weights of the income classes by (age, education, gender, work class, married or not, race).

    Age is a band of ages, race one of two kinds. Incomes are log-logistic around a usual income, with a share
    of people without any, and a taste for round numbers.
    """
    usual = (
        _INCOME_AGE[:, None, None, None, None, None]
        + _INCOME_EDUCATION[:, None, None, None, None]
        + _INCOME_BY_MARRIAGE[:, None, :, None]
        + _INCOME_WORK_CLASS[:, None, None]
        + _INCOME_BY_RACE
    )
    own_business = np.isin(np.arange(len(WORK_CLASSES)), [5, 6])
    spread = _INCOME_SPREAD[:, None, None, None, None, None] + np.where(own_business, 0.14, 0.0)[:, None, None]
    below = 1 / (1 + np.exp(-(np.log(INCOME_BOUNDS[1:]) - usual[..., None]) / spread[..., None]))
    zero, one = np.zeros((*usual.shape, 1)), np.ones((*usual.shape, 1))
    shares = np.diff(np.concatenate([zero, below, one], axis=-1), axis=-1)
    shares[..., :-1] *= np.where(np.isin(INCOME_BOUNDS[1:], _ROUND_INCOMES), 1.35, 0.75)
    by_work = np.array([0.85, 0.8, 0.6, 0.6, 0.4, 1.2, 0.8, 10, 10])[:, None, None]
    none = _INCOME_NONE[:, None, None, None, None, None] * np.array([0.8, 1.3])[:, None, None, None] * by_work
    none = np.broadcast_to(none, usual.shape)[..., None]
    return _by_context(np.concatenate([none, (1 - none) * shares], axis=-1))


def _interpolated(knots: Weights, table: Weights) -> Weights:
    """Return the rows of a table, given at some ages, for every age."""
    return np.stack([np.interp(AGES, knots, column) for column in table.T], axis=1)


def _by_context(weights: Weights) -> Weights:
    """Return an array with all contexts along one axis, the values along the other."""
    return weights.reshape(-1, weights.shape[-1])
