"""Whether a change of the code changed what is published: hashes of releases for a fixed seed.

A release of every algorithm is compared by its table; a release of every way to count persons, lists and sets of
columns by all its files, and by the results of `audit`, `check_release`, `risk` and an attack.

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
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
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
COUNTED: dict[str, dict[str, Any]] = {
    "records": {},
    "persons": {"person": "patient_id"},
    "persons and homes": {"person": "patient_id", "units": ["home"]},
    "one record each": {"person": "patient_id", "rows_per_person": 1},
    "first record each": {"person": "patient_id", "rows_per_person": 1, "kept_rows": "first", "order": "admitted"},
    "last record each, homes": {
        "person": "patient_id", "units": ["home"], "rows_per_person": 1, "kept_rows": "last", "order": "admitted",
    },
    "three records each": {"person": "patient_id", "rows_per_person": 3},
    "linked persons": {"person": "patient_id", "link": True},
    "linked persons, lists": {"person": "patient_id", "link": True, "lists": {"disease": "; "}},
    "lists": {"lists": {"disease": "; "}},
    "lists, one record each": {"person": "patient_id", "rows_per_person": 1, "lists": {"disease": "; "}},
    "sets of columns": {"person": "patient_id", "qi_sets": ["age,gender", "zip:5"]},
    "known columns": {"knows": 2},
    "k-map": {"person": "patient_id", "privacy": "KMap"},
    "average risk": {"person": "patient_id", "privacy": "AverageRisk"},
    "average risk, one record each": {"person": "patient_id", "rows_per_person": 1, "privacy": "AverageRisk"},
}  # fmt: skip
"""What is counted in a release, and what is asked for besides k and l."""
CHANGING = (r"\b[0-9a-f]{64}\b", r"<th scope=\"row\">Time</th>.*", r"\"seconds\": \{[^}]*\}", r"\"shoal\": \"[^\"]*\"")
"""What differs between two runs: hashes with a salt, times, the version."""


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
    parser.add_argument("--only", metavar="NAMES", help="algorithms, or what is counted; all by default")
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
    for name in COUNTED:
        if chosen is None or chosen & {"counted", name}:
            start = time.perf_counter()
            yield _of_counted(name) | {"seconds": round(time.perf_counter() - start, 2)}


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


def _of_counted(name: str) -> dict[str, Any]:
    """Return the hashes of all files of a release of visits, and of what is measured of it and of its input."""
    import polars as pl

    import shoal

    asked, visits = dict(COUNTED[name]), shoal.datasets.visits(150, seed=3)
    visits = visits.with_columns(home=pl.col("patient_id") // 3).drop("visit_id")
    if "lists" in asked:
        visits = visits.with_columns(disease=pl.col("disease") + "; " + pl.col("disease").reverse())
    if model := asked.pop("privacy", None):
        people = visits.select("age", "gender", "zip")
        asked["privacy"] = shoal.KMap(4, population=people) if model == "KMap" else shoal.AverageRisk(0.25)
    elif "knows" not in asked:
        asked["l"] = 2
    roles: dict[str, Any] = {"quasi_identifiers": ["age", "gender", "zip"], "sensitive": "disease"}
    owner = {one: asked[one] for one in ("person", "units") if one in asked}
    dropped = {"patient_id", "home", "admitted"} - {asked.get("person"), *asked.get("units", ())}
    request = shoal.Request(
        **roles, k=3, direct_identifiers=sorted(dropped), recoding="generalization", seed=SEED, **asked
    )
    with tempfile.TemporaryDirectory() as folder:
        public = Path(folder, "release")
        made = shoal.anonymize(visits, request)
        made.save(public)
        said: dict[str, Callable[[], Any]] = {
            "check": lambda: shoal.check_release(made.data, request).shape,
            "audit": lambda: shoal.audit(public).to_dict(),
            "audit of persons": lambda: shoal.audit(visits, **roles, **owner, k=3).to_dict(),
            "risk": lambda: shoal.risk(public, suda=2).to_dict(),
            "risk of persons": lambda: shoal.risk(visits, **roles, **owner, suda=2, sampling_fraction=0.1).to_dict(),
            "attack": lambda: shoal.attacks.homogeneity_attack(public).to_dict(),
            "attack on persons": lambda: shoal.attacks.homogeneity_attack(
                visits, **roles, person=asked.get("person", ())
            ).to_dict(),
        }
        texts = {
            "rows": _without_pseudonyms(made.data),
            "card": made.public_certificate._repr_html_(),
            "repr": repr(made),
        }
        for path in sorted(Path(folder).rglob("*.*")):
            if path.suffix in (".json", ".html"):
                texts[str(path.relative_to(folder))] = path.read_text(encoding="utf-8")
        for what, say in said.items():
            try:
                texts[what] = json.dumps(say(), default=str)
            except shoal.errors.ShoalError as error:
                texts[what] = f"{type(error).__name__}: {error}"
    lasting = {what: re.sub("|".join(CHANGING), "", text).replace(folder, "").encode() for what, text in texts.items()}
    known = (f"{what}: {hashlib.sha256(text).hexdigest()[:12]}" for what, text in lasting.items())
    return {"release": f"visits, {name}", "sha256": ", ".join(known)}


def _without_pseudonyms(frame: pl.DataFrame) -> str:
    """Return the rows in their order, then those of each linked person: pseudonyms are drawn without a seed."""
    rows = frame.drop("pseudonym", strict=False)
    linked = [] if rows.width == frame.width else frame.partition_by("pseudonym", include_key=False)
    return rows.write_csv() + json.dumps(sorted(sorted(map(str, one.rows())) for one in linked))


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
