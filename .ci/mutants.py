"""Mutation testing of models, verification and TP's kernels: a seeded sample, each against the tests that reach it.

Needs cosmic-ray and coverage beside what the tests need. Mutants are made by cosmic-ray's operators in a
copy of the sources; which tests reach a line is measured first (coverage, a context for each test). Kernels run as
they were written (tests with `plain` in their name), so that no mutant is compiled. A mutant is killed if one of the
tests that reach its line fails, and survives if none does, or if none reaches it. Survivors that
`mutants.json` explains are counted apart; it ends with 1 where another one survived.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator
from coverage import CoverageData

ROOT = Path(__file__).resolve().parent.parent
AREAS = {
    "models": ("models/*.py", "tests/models", "tests/disclosure_risk/test_population_uniques.py"),
    "verification": ("verification/*.py", "tests/verification"),
    "tp": ("algorithms/tp/*_kernel.py", "tests/algorithms/tp"),
}
"""Sources below src/shoal, and the tests that are responsible."""
EXPLAINED = ROOT / ".ci" / "mutants.json"
"""Survivors that were looked at: where, the line before and after, and why no test fails."""
OPERATORS = [
    *(f"ReplaceComparisonOperator_{pair}" for pair in ("Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Lt_Gt", "GtE_LtE")),
    *(f"ReplaceComparisonOperator_{pair}" for pair in ("Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is")),
    *(f"ReplaceBinaryOperator_{pair}" for pair in ("Add_Sub", "Sub_Add", "Mul_Add", "FloorDiv_Mul", "Div_Mul")),
    *(f"ReplaceBinaryOperator_{pair}" for pair in ("Mod_Mul", "BitAnd_BitOr", "RShift_LShift", "LShift_RShift")),
    *("ReplaceUnaryOperator_Delete_USub", "ReplaceUnaryOperator_Delete_Not", "AddNot", "NumberReplacer"),
    *("ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
    *("ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ZeroIterationForLoop"),
]
FIRST, LIMIT = 12, 120
"""Tests that are tried at first, the quickest; seconds that the tests of a mutant may take (then it is killed)."""


@dataclass(frozen=True, order=True)
class Mutant:
    """A place, and what is done there."""

    area: str
    path: str
    line: int
    operator: str
    occurrence: int


def mutants_of(area: str, root: Path) -> Iterator[Mutant]:
    """Yield all mutants of an area that are Python."""
    for path in sorted((root / "src/shoal").glob(AREAS[area][0])):
        tree = get_ast(path.read_text(encoding="utf-8"))
        for name in OPERATORS:
            operator = get_operator(f"core/{name}")()
            places = (place for node in ast_nodes(tree) for place in operator.mutation_positions(node))
            for occurrence, ((line, _), _) in enumerate(places):
                yield Mutant(area, str(path.relative_to(root)), line, name, occurrence)


def run(root: Path, *arguments: str, seconds: float | None = None) -> bool:
    """Run Python in the copy, and return whether it ended well in time."""
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1", "SHOAL_THOROUGH": "1"}
    try:
        return not subprocess.run(
            [sys.executable, *arguments], cwd=root, env=environment, capture_output=True, timeout=seconds, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        return False


def reached(root: Path, areas: list[str]) -> dict[tuple[str, int], list[str]]:
    """Return the tests that reach each line, the quickest first."""
    folders = [folder for area in areas for folder in AREAS[area][1:]]
    (root / "coveragerc").write_text("[run]\ndynamic_context = test_function\nsource = src/shoal\n")
    tests = ("pytest", "-n", "0", "-q", "-p", "no:cacheprovider", "-k", "not compiled", *folders)
    if not run(root, "-m", "coverage", "run", "--rcfile=coveragerc", "-m", *tests, "--junitxml=times.xml"):
        sys.exit("The tests fail without any mutant.")
    took: Counter[str] = Counter()
    for case in ET.parse(root / "times.xml").iter("testcase"):
        name = str(case.get("name")).partition("[")[0]
        took[f"{case.get('classname')}.{name}"] += float(case.get("time") or 0)
    data = CoverageData(str(root / ".coverage"))
    data.read()
    found: dict[tuple[str, int], list[str]] = {}
    for file in data.measured_files():
        for line, contexts in data.contexts_by_lineno(file).items():
            tests_of_line = sorted((one for one in contexts if one in took), key=lambda one: (took[one], one))
            found[str(Path(file).relative_to(root)), line] = tests_of_line
    return found


def judged(root: Path, mutant: Mutant, tests: list[str]) -> tuple[str, str]:
    """Return what becomes of a mutant, and how it differs."""
    path = root / mutant.path
    code = path.read_text(encoding="utf-8")
    mutated = mutate_code(code, get_operator(f"core/{mutant.operator}")(), mutant.occurrence)
    try:
        compile(mutated or "", mutant.path, "exec")
    except SyntaxError:
        return "no Python", ""
    lines = difflib.unified_diff(code.splitlines(), (mutated or "").splitlines(), lineterm="", n=0)
    said = "\n".join(list(lines)[3:])
    if not tests:
        return "not reached", said
    names = ["{}.py::{}".format(*one.replace(".", "/").rsplit("/", 1)) for one in tests]
    asked = ["-m", "pytest", "-n", "0", "-x", "-q", "-p", "no:cacheprovider", "-k", "not compiled"]
    try:
        path.write_text(mutated or "", encoding="utf-8")
        for some in (names[:FIRST], names[FIRST:]):
            if some and not run(root, *asked, *some, seconds=LIMIT):
                return "killed", said
    finally:
        path.write_text(code, encoding="utf-8")
    return "survived", said


def explained(root: Path) -> set[tuple[str, str]]:
    """Return the survivors that were looked at; an explanation of a line that is no longer there is an error."""
    found = set()
    for one in json.loads(EXPLAINED.read_text(encoding="utf-8")):
        if one["before"] not in (root / one["path"]).read_text(encoding="utf-8").splitlines():
            sys.exit(f"{EXPLAINED.name} explains a line that {one['path']} no longer has: {one['before'].strip()}")
        found.add((one["path"], f"-{one['before']}\n+{one['after']}"))
    return found


def main() -> None:
    """Draw a sample, judge it, and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("areas", nargs="*", default=list(AREAS), metavar="AREA", help=", ".join(AREAS))
    parser.add_argument("--sample", type=int, default=100, help="mutants of each area; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "mutants.jsonl", help="a line for each mutant")
    options = parser.parse_args()
    found: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder, options.out.open("w", encoding="utf-8") as out:
        root = Path(folder)
        for name in ("src", "tests", "pyproject.toml"):
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
            copy(ROOT / name, root / name)
        known = explained(root)
        tests = reached(root, options.areas)
        for area in options.areas:
            everything = list(mutants_of(area, root))
            chance = random.Random(options.seed)
            some = sorted(chance.sample(everything, min(options.sample or len(everything), len(everything))))
            sys.stdout.write(f"{area}: {len(some)} of {len(everything):,} mutants\n")
            for mutant in some:
                state, said = judged(root, mutant, tests.get((mutant.path, mutant.line), []))
                if state == "survived" and (mutant.path, said) in known:
                    state = "explained"
                found[area, state] += 1
                out.write(json.dumps({**asdict(mutant), "state": state, "difference": said}) + "\n")
                out.flush()
                if state in {"survived", "not reached"}:
                    sys.stdout.write(f"{state}: {mutant.path}:{mutant.line} {mutant.operator}\n{said}\n")
                    sys.stdout.flush()
    for (area, state), count in sorted(found.items()):
        sys.stdout.write(f"{area}: {count} {state}\n")
    sys.exit(any(state == "survived" for _, state in found))


if __name__ == "__main__":
    main()
