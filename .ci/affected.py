"""Print the tests that a change concerns: of the packages that it changes, and what imports their modules.

python .ci/affected.py [--since COMMIT] [--packages]: what is different from COMMIT (where the branch left main, or the
commit before), committed or not. With --packages, the folders of tests of the changed packages alone.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import grimp

EVERYTHING = ("pyproject.toml", "tests/conftest.py", "tests/every.py")


def git(*words: str) -> list[str]:
    """Return the lines that git prints; none if it fails."""
    return subprocess.run(["git", *words], capture_output=True, text=True, check=False).stdout.splitlines()


def changed(since: str | None) -> list[Path]:
    """Return what is different from a commit, in the checkout."""
    head = git("rev-parse", "HEAD")
    bases = [base for name in ("origin/main", "main") for base in git("merge-base", "HEAD", name) if [base] != head]
    start = since or (bases[0] if bases else "HEAD~1")
    names = git("diff", "--name-only", start) + git("ls-files", "--others", "--exclude-standard")
    return sorted({Path(name) for name in names})


def folder_of_tests(path: Path) -> Path | None:
    """Return the folder of tests that is nearest to a module of the package; None for the top of the package."""
    place = Path("tests", *path.parts[2:-1])
    while not place.is_dir():
        place = place.parent
    return place if place != Path("tests") else None


def main() -> None:
    """Print paths, one a line, for pytest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--since")
    parser.add_argument("--packages", action="store_true")
    options = parser.parse_args()
    paths = changed(options.since)
    code = [path for path in paths if path.suffix == ".py" and path.parts[:2] == ("src", "shoal")]
    found = {folder for path in code if (folder := folder_of_tests(path)) is not None}
    if not options.packages:
        if any(str(path) in EVERYTHING for path in paths):
            sys.stdout.write("tests\n")
            return
        tests = [path for path in paths if path.suffix == ".py" and path.parts[0] == "tests" and path.exists()]
        sys.path.insert(0, ".")
        graph = grimp.build_graph("shoal", "tests", cache_dir=None)
        for path in [*code, *tests]:
            parts = path.with_suffix("").parts
            name = ".".join(parts[1:] if parts[0] == "src" else parts).removesuffix(".__init__")
            reached = {name, *graph.find_downstream_modules(name)} if name in graph.modules else set()
            found |= {Path(*one.split(".")).with_suffix(".py") for one in reached if ".test_" in one}
        found |= {Path("tests/docs") for path in paths if path.suffix == ".md"}
    inside = [path for path in sorted(found) if path.exists() and not set(path.parents) & found]
    sys.stdout.write("".join(f"{path}\n" for path in inside))


if __name__ == "__main__":
    main()
