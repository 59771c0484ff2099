"""Whether a change of the code changed what is published: a hash of every algorithm's release for a fixed seed.

`python benchmarks/same_releases.py` prints a line for each release; `--compare SRC` makes the same releases with the
package of another checkout as well, each in a process of its own, and shows where they differ. Only the public names
of `shoal` are used, so that any version of the package can be asked; this file imports nothing else of the benchmarks.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

__all__ = ["main"]

ALGORITHMS = (
    "tp", "tp+", "hilbert", "mondrian", "mondrian-relaxed", "m-approximation", "patterns", "sabre", "cluster", "tds",
    "full-domain",
)  # fmt: skip
"""Algorithms for tables of any size."""
PROVING = ("patterns-optimal", "matching", "exact", "milp")
"""Those that prove an optimum: they get few rows, on which they end before their limits of time."""
RECODINGS = ("suppression", "generalization")
ROOT = Path(__file__).resolve().parent.parent
ADULT = ROOT.parent / "shared" / "data" / "adult" / "adult.csv"
ADULT_ROWS = 30_162
"""Rows of the census-like table that stands for Adult where there is no copy of it."""
SEED = 20100322


@dataclass(frozen=True, kw_only=True)
class Source:
    """A table with its roles and its hierarchies."""

    name: str
    frame: pl.DataFrame
    quasi_identifiers: tuple[str, ...]
    sensitive: str
    insensitive: tuple[str, ...] = ()
    hierarchies: dict[str, Path] | None = None
    k: int = 5
    l: int = 3
    t: float = 0.3


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each release, or the differences between two versions of the package.

    Returns
    -------
    int
        1 where two versions differ, else 0.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", type=Path, metavar="SRC", help="the src folder of another checkout")
    parser.add_argument("--rows", type=int, default=60_000, help="rows of the census-like table")
    parser.add_argument("--adult", type=Path, default=ADULT, help="a copy of Adult, fields separated by ';'")
    parser.add_argument("--adult-rows", type=int, metavar="ROWS", help="the first so many rows of it; all by default")
    parser.add_argument("--few", type=int, default=20, metavar="ROWS", help="rows of the table for proven optima")
    parser.add_argument("--exact-ends", action="store_true", help="smallest intervals, by versions that widen them")
    parser.add_argument("--only", metavar="NAMES", help="algorithms, separated by commas; all by default")
    options = parser.parse_args(arguments)
    if options.compare is None:
        for release in _releases(options):
            print(json.dumps(release), flush=True)
        return 0
    given = sys.argv[1:] if arguments is None else list(arguments)
    return _compare(options.compare, [one for one in given if one != "--compare" and one != str(options.compare)])


def _compare(other: Path, arguments: Sequence[str]) -> int:
    """Make the releases with both versions, and print every one that differs."""
    import shoal

    ours = Path(shoal.__file__).resolve().parent.parent
    found = {}
    for version, source in (("here", ours), ("there", other.resolve())):
        environment = {**os.environ, "PYTHONPATH": str(source)}
        command = [sys.executable, str(Path(__file__).resolve()), *arguments]
        run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        # The solver may print a line of its own.
        lines = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
        found[version] = {line.pop("release"): line for line in lines}
    names = list(dict.fromkeys([*found["here"], *found["there"]]))
    differing = [name for name in names if _outcome(found["here"].get(name)) != _outcome(found["there"].get(name))]
    for name in differing:
        print(f"{name}\n    here  {found['here'].get(name)}\n    there {found['there'].get(name)}")
    published = sum("sha256" in line for line in found["here"].values())
    print(f"{len(names)} requests, {published} releases, {len(differing)} of them differ from those of {other}.")
    return 1 if differing else 0


def _outcome(line: dict[str, Any] | None) -> object:
    return None if line is None else line.get("sha256", line.get("error"))


def _releases(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield what is known of each release: its name, its hash or why there is none, its cost."""
    chosen = None if options.only is None else set(options.only.split(","))
    adult = _adult(options.adult, options.adult_rows)
    census = _census(options.rows)
    few = _few(adult, options.few)
    for source, algorithms in ((adult, ALGORITHMS), (census, ALGORITHMS), (few, PROVING)):
        for algorithm in algorithms:
            if chosen is None or algorithm in chosen:
                yield from _of_algorithm(source, algorithm, exact_ends=options.exact_ends)


def _of_algorithm(source: Source, algorithm: str, *, exact_ends: bool) -> Iterator[dict[str, Any]]:
    import shoal

    # Older versions publish the smallest intervals only, and have no word for that.
    widens = "exact_ends" in inspect.signature(shoal.anonymize).parameters
    more: dict[str, Any] = {"exact_ends": True} if exact_ends and widens else {}
    requests: dict[str, list[Any]] = {
        f"k = {source.k}": [shoal.KAnonymity(source.k)],
        f"l = {source.l}": [shoal.LDiversity(source.l)],
        f"t = {source.t}, k = {source.k}": [shoal.TCloseness(source.t), shoal.KAnonymity(source.k)],
    }
    kinds: list[tuple[str, str, Any]] = [(recoding, recoding, None) for recoding in RECODINGS]
    if source.hierarchies:
        kinds.append(("generalization by hierarchies", "generalization", source.hierarchies))
    for request, privacy in requests.items():
        for kind, recoding, hierarchies in kinds:
            line: dict[str, Any] = {"release": f"{source.name}, {request}, {kind}: {algorithm}"}
            start = time.perf_counter()
            try:
                made = shoal.anonymize(
                    source.frame,
                    quasi_identifiers=source.quasi_identifiers,
                    sensitive=source.sensitive,
                    insensitive=source.insensitive,
                    privacy=privacy,
                    algorithm=algorithm,
                    recoding=recoding,  # type: ignore[arg-type]
                    hierarchies=hierarchies,
                    seed=SEED,
                    **more,
                )
            except shoal.errors.ShoalError as error:
                line["error"] = type(error).__name__
            else:
                line["sha256"] = hashlib.sha256(made.data.write_csv().encode()).hexdigest()
                line["stars"], line["gcp"] = made.certificate.cost.stars, made.certificate.cost.gcp
            yield line | {"seconds": round(time.perf_counter() - start, 2)}


def _adult(path: Path, rows: int | None) -> Source:
    import polars as pl

    if not path.exists():
        return _census(ADULT_ROWS if rows is None else rows, name="as many as Adult", seed=1)
    names = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")
    trees = {name: path.parent / f"adult_hierarchy_{name}.csv" for name in names}
    frame = pl.read_csv(path, separator=";")
    return Source(
        name="Adult",
        frame=frame if rows is None else frame.head(rows),
        quasi_identifiers=names,
        sensitive="occupation",
        insensitive=("salary-class",),
        hierarchies=trees if all(tree.exists() for tree in trees.values()) else None,
    )


def _census(rows: int, *, name: str = "census-like", seed: int = 0) -> Source:
    import shoal

    names = ("age", "gender", "race", "marital_status")
    frame = shoal.datasets.census(rows, quasi_identifiers=names, seed=seed)
    return Source(name=name, frame=frame, quasi_identifiers=names, sensitive="income")


def _few(source: Source, rows: int) -> Source:
    """Return few rows of a table, with those quasi-identifiers in which people are alike."""
    names = tuple(
        name for name in source.quasi_identifiers if name in ("sex", "gender", "race", "marital-status", "workclass")
    )
    return Source(
        name=f"{rows} rows",
        frame=source.frame.select(*names, source.sensitive).head(rows),
        quasi_identifiers=names,
        sensitive=source.sensitive,
        k=2,
        l=2,
    )


if __name__ == "__main__":
    sys.exit(main())
