"""Loader of a user's own IPUMS extract of the American Community Survey, in the shape of SAL and OCC."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from shoal._core.validation import OneOf, validate
from shoal.datasets._census import QUASI_IDENTIFIERS
from shoal.errors import DataError

if TYPE_CHECKING:
    import os

    import polars as pl

__all__ = ["ipums"]

_COLUMNS = {
    "age": "AGE",
    "gender": "SEX",
    "race": "RACE",
    "marital_status": "MARST",
    "birth_place": "BPL",
    "education": "EDUC",
    "work_class": "CLASSWKR",
    "income": "INCTOT",
    "occupation": "OCC",
}
_DETAILED = {"work_class": "CLASSWKRD", "education": "EDUCD"}
_EDUCATION_STARTS = (0, 10, 20, 24, 30, 40, 50, 60, 62, 64, 65, 70, 80, 90, 110, 115, 116)
"""Smallest EDUCD code of each of the 17 levels of education."""
_CLASSES = 50
_NO_INCOME = (9_999_998, 9_999_999)
"""INCTOT codes of people whose income is unknown or not applicable."""
_FIRST_ABROAD = {100: 100, 150: 600, 200: 200, 400: 400, 500: 500, 600: 600}
"""Maps the smallest BPL code of each part of the world to its new code: outlying areas (100), Latin America (200),
Europe (400), Asia (500), elsewhere (600, including Canada and its neighbours). Smaller codes are states and are
kept."""


def ipums(path: str | os.PathLike[str], *, sensitive: Literal["income", "occupation"] = "income") -> pl.DataFrame:
    """Load an extract from IPUMS USA, in the shape of the paper's SAL or OCC.

    Parameters
    ----------
    path : str or path
        CSV or CSV.gz file with the columns AGE, SEX, RACE, MARST, BPL, EDUC, CLASSWKR and, depending on `sensitive`,
        INCTOT or OCC, in any order and case. If EDUCD and CLASSWKRD are present, they replace EDUC and CLASSWKR: only
        the detailed versions have as many values as the paper's education (17) and work class (9).
    sensitive : {"income", "occupation"}, default "income"
        The sensitive attribute.

    Returns
    -------
    polars.DataFrame
        The seven quasi-identifiers of `QUASI_IDENTIFIERS` and the sensitive attribute, all of type Int16, for people
        from 17 to 95 years (95 includes all higher ages) whose sensitive value is known. Quasi-identifiers keep the
        codes of IPUMS, except that birth places outside the states (BPL above 99) become five parts of the world, and
        EDUCD becomes 17 levels, numbered from 0.

    Raises
    ------
    ParameterError
        If `sensitive` is neither of the two.
    DataError
        If the file does not exist, if columns are missing (the message names them), or if a code is not an integer.

    Notes
    -----
    * Income: 50 classes of nearly equal frequency among the people of the extract. A value is never split between two
      classes, so there may be fewer. Class 0 contains the smallest incomes.
    * Occupation: codes other than 0 (none) are sorted, and adjacent codes, which IPUMS keeps close in meaning, are
      merged into at most 50 groups of nearly equal frequency.

    References
    ----------
    IPUMS USA, University of Minnesota, https://usa.ipums.org, doi:10.18128/D010.

    Examples
    --------
    >>> import tempfile
    >>> lines = ["AGE,SEX,RACE,MARST,BPL,EDUC,CLASSWKR,INCTOT", "34,1,1,1,6,10,2,41000", "52,2,1,6,36,6,2,18000"]
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     for line in lines:
    ...         print(line, file=file, flush=True)
    ...     ipums(file.name).columns
    ['age', 'gender', 'race', 'marital_status', 'birth_place', 'education', 'work_class', 'income']
    """
    import polars as pl

    validate("ipums", {"sensitive": sensitive}, {"sensitive": OneOf(("income", "occupation"))})
    source = _read(Path(path), sensitive)
    # Keep adults with a known sensitive value.
    known = (~pl.col(sensitive).is_in(_NO_INCOME)) if sensitive == "income" else pl.col(sensitive) > 0
    people = source.drop_nulls().filter(pl.col("age") >= 17, known)
    if people.is_empty():
        raise DataError(
            f"The extract has no person from 17 years upwards with a known {sensitive}. "
            "Check what was selected at IPUMS."
        )
    birth = pl.col("birth_place")
    # The last matching start determines the part of the world.
    abroad = pl.lit(None, dtype=pl.Int64)
    for start, part in _FIRST_ABROAD.items():
        abroad = pl.when(birth >= start).then(part).otherwise(abroad)
    return people.select(
        *(pl.col(name) for name in QUASI_IDENTIFIERS),
        _classify_equally(people[sensitive]).alias(sensitive),
    ).with_columns(
        pl.all().exclude("age", "birth_place").cast(pl.Int16),
        pl.col("age").clip(upper_bound=95).cast(pl.Int16),
        pl.coalesce(abroad, birth).cast(pl.Int16).alias("birth_place"),
    )


def _read(path: Path, sensitive: str) -> pl.DataFrame:
    """Read the required columns under new names, as 64-bit integers."""
    import polars as pl

    if not path.is_file():
        raise DataError(f"There is no file {path}.")
    wanted = {name: _COLUMNS[name] for name in (*QUASI_IDENTIFIERS, sensitive)}
    try:
        # Column names are matched case-insensitively; detailed versions take precedence.
        header = {column.upper(): column for column in pl.read_csv(path, n_rows=0).columns}
    except pl.exceptions.NoDataError as error:
        raise DataError(f"The file {path} is empty.") from error
    wanted |= {name: detailed for name, detailed in _DETAILED.items() if detailed in header}
    missing = [column for column in wanted.values() if column not in header]
    if missing:
        raise DataError(
            f"The extract has no column {', '.join(missing)}. Add it to the extract at IPUMS, and choose CSV."
        )
    columns = [header[column] for column in wanted.values()]
    # Codes are read as text, so that labels can be reported as errors.
    text = pl.read_csv(path, columns=columns, schema_overrides=dict.fromkeys(columns, pl.String))
    numbers = text.select(
        pl.col(header[column]).str.strip_chars().cast(pl.Int64, strict=False).alias(name)
        for name, column in wanted.items()
    )
    # A value that is lost by the conversion is not an integer.
    for name, column in wanted.items():
        lost = int(numbers[name].null_count() - text[header[column]].null_count())
        if lost:
            raise DataError(
                f"{lost} row(s) of column {column} hold no whole number. Choose codes, not labels, at IPUMS."
            )
    # The number of starts up to a code is its level.
    if wanted["education"] == "EDUCD":
        levels = pl.sum_horizontal(pl.col("education") >= start for start in _EDUCATION_STARTS) - 1
        numbers = numbers.with_columns(education=pl.when(pl.col("education").is_not_null()).then(levels))
    return numbers


def _classify_equally(values: pl.Series) -> pl.Series:
    """Assign each value to a class, numbered in order of the values, with frequencies as equal as ties allow."""
    # The average rank decides, so that equal values share a class; empty classes are left out.
    middle = (values.rank("average") - 0.5) / len(values)
    return (middle * _CLASSES).floor().rank("dense") - 1
