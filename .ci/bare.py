"""Go on as a user does who installed the wheel alone: no extra, nothing compiled, an empty home folder.

    python .ci/bare.py WHEEL FOLDER [STEP ...]

The environment is made in FOLDER, and stays there. All steps run, or those that are named; those that fail are named at
the end. The last one adds what the guide's pipeline needs.
"""

from __future__ import annotations

import copy
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
UV = Path(sys.executable).with_name("uv")
PATIENTS = ("--qi", "age,gender,zip", "--sensitive", "disease", "--id", "name,admitted,visit_id", "-l", "2")
PERSONS = "visit;patient_no;age;ward;diagnosis\n" + "".join(
    f"{visit};{person};{30 + person % 40};{'ABC'[person % 3]};{('flu', 'asthma', 'ulcer', 'gout')[visit * 7 % 4]}\n"
    for visit, person in enumerate(person for person in range(60) for _ in range(1 + person % 3))
)
"""Persons with one to three rows."""
GERMAN = "Alter;Geschlecht;PLZ;Größe;Diagnose\n" + "".join(
    f"{20 + at * 7 % 60};{'mw'[at % 2]};{80331 + at % 9};1,{60 + at % 30};{('Grippe', 'Asthma', 'Gicht')[at % 3]}\n"
    for at in range(90)
)
INCOMES = "age,sex,income\n" + "".join(
    f"{20 + at * 11 % 45},{'fm'[at % 2]},{0 if at % 5 < 2 else 18_000 + at * 937 % 60_000}\n" for at in range(120)
)
"""Two of five persons have no income."""


class Bare:
    """A fresh environment, an empty home folder, and a folder to work in."""

    def __init__(self, folder: Path, wheel: str) -> None:
        self.folder, self.work = folder, folder / "work"
        self.python = folder / "bin/python"
        subprocess.run([UV, "venv", "--quiet", "--allow-existing", "--python", sys.executable, folder], check=True)
        self.install(wheel)
        self.home = folder / "home"
        for made in (self.home, self.work):
            made.mkdir()
        kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
        path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        self.environ = {**kept, "PATH": path, "HOME": str(self.home), "COLUMNS": "100"}

    def install(self, *wanted: str) -> None:
        """Install packages."""
        subprocess.run([UV, "pip", "install", "--quiet", "--python", self.python, *wanted], check=True)

    def run(self, *words: str, code: int = 0, **environ: str) -> str:
        """Run a program, and return all that it says."""
        done = subprocess.run(
            words,
            cwd=self.work,
            env={**self.environ, **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == code, f"{' '.join(words)[:200]}: exit code {done.returncode}\n{done.stdout[-1500:]}"
        return done.stdout

    def shoal(self, *words: str, code: int = 0, **environ: str) -> str:
        """Run shoal."""
        said = self.run("shoal", *words, code=code, **environ)
        assert "Traceback" not in said, said[-1500:]
        return said

    def script(self, text: str) -> str:
        """Run Python, of which warnings other than those of releases are errors."""
        quiet = "import warnings, shoal; warnings.simplefilter('ignore', shoal.errors.ReleaseWarning)\n"
        return self.run("python", "-P", "-W", "error", "-c", quiet + text)


def run_page(bare: Bare, page: str) -> None:
    """Run the blocks of a page in their order, as they are printed there, in a folder of its own."""
    bare.work = bare.folder / "work" / Path(page).stem
    bare.work.mkdir(parents=True)
    blocks = r"(<!-- skip: next -->\n+)?^```(sh|python)\n(.*?)^```"
    for skipped, language, block in re.findall(blocks, (HOME / page).read_text("utf-8"), re.M | re.S):
        if skipped:
            continue
        if language == "sh":
            bare.run("bash", "-euc", block)
        elif ">>>" in block:
            (bare.work / "block.txt").write_text(block, encoding="utf-8")
            bare.run("python", "-P", "-m", "doctest", "block.txt")
        else:
            bare.script(block)


def look_around(bare: Bare) -> None:
    """List what the package has."""
    assert "anonymize" in bare.run("python", "-P", "-c", "import shoal; help(shoal)")
    bare.script("from shoal import *\nanonymize, Request")
    bare.script("import shoal, inspect\nassert len(inspect.getmembers(shoal)) > 30")
    bare.run("python", "-P", "-c", "import shoal.sklearn; help(shoal.sklearn)")


def demonstrate(bare: Bare) -> None:
    """Run the demonstration, and describe a release for catalogues."""
    bare.shoal("demo", "-o", "demo")
    bare.shoal("datasets", "patients.csv")
    bare.shoal("anonymize", "patients.csv", *PATIENTS, "-o", "described")
    (bare.work / "described/croissant.json").write_text(bare.shoal("report", "described", "--metadata", "croissant"))


def complete(bare: Bare) -> None:
    """Complete words in three shells."""
    for shell, words in {"bash": "complete -o nosort", "zsh": "#compdef shoal", "fish": "complete --no-files"}.items():
        assert words in bare.shoal(_SHOAL_COMPLETE=f"{shell}_source"), f"completion of {shell}"
    found = bare.shoal(_SHOAL_COMPLETE="bash_complete", COMP_WORDS="shoal ins", COMP_CWORD="1")
    assert found == "plain,inspect\n", found
    found = bare.shoal(_SHOAL_COMPLETE="fish_complete", COMP_WORDS="shoal anonymize --recod", COMP_CWORD="--recod")
    assert "--recoding" in found, found


def read_addresses(bare: Bare) -> None:
    """Refuse addresses that cannot be read, with what to do."""
    for address in ("s3://people/t.parquet", "gs://people/t.csv", "https://example.org/t.csv"):
        said = bare.shoal("inspect", address, code=2)
        assert "Copy the file to this machine" in said, said


def refuse_extras(bare: Bare) -> None:
    """Name the extra that a request needs."""
    bare.shoal("datasets", "quarter-1.csv")
    roles = ("--id", "patient_id", "--qi", "age,zip", "--sensitive", "disease")
    for words in (
        ("anonymize", "quarter-1.csv", *roles, "-k", "2", "--format", "xlsx", "-o", "workbook"),
        ("series", "start", "releases.db", "--series", "quarters", *roles, "-m", "2"),
        ("studio", "--no-browser"),
    ):
        assert "pip install 'shoal-privacy[" in bare.shoal(*words, code=2)


def warm_up(bare: Bare) -> None:
    """Compile one algorithm; begin with all that need no extra, and stop at Ctrl-C."""
    bare.shoal("warm-up", "hilbert")
    began = time.monotonic()
    assert "pip install 'shoal-privacy[exact]'" in bare.shoal("warm-up", "milp", code=2)
    assert time.monotonic() - began < 60, "what cannot be compiled is known before anything is"
    process = subprocess.Popen(
        ["shoal", "warm-up"],
        cwd=bare.work,
        env=bare.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    said = process.stdout.readline()
    time.sleep(2)
    os.killpg(process.pid, signal.SIGINT)
    said += process.communicate(timeout=60)[0]
    assert process.returncode == 130, said
    assert said.startswith("Compiling"), said
    assert ": cluster, " in said, said
    assert not re.search("milp|Traceback|bug", said), said


def publish_tables(bare: Bare) -> None:
    """Inspect three tables, publish them as proposed, and judge what was published."""
    for name, text in {"persons": PERSONS, "german": GERMAN, "incomes": INCOMES}.items():
        (bare.work / f"{name}.csv").write_text(text, encoding="utf-8")
        bare.shoal("inspect", f"{name}.csv", "--spec-out", f"{name}.toml")
        bare.shoal("anonymize", "--spec", f"{name}.toml", "-k", "3", "-o", name)
        bare.shoal("audit", name)
        bare.shoal("risk", f"{name}/release.csv", "--spec", f"{name}.toml")


def run_nightly(bare: Bare) -> None:
    """Run the guide's nightly release, and once more on the same day."""
    run_page(bare, "docs/guide/scheduling.md")
    bare.run("sh", "nightly.sh")


def run_pipeline(bare: Bare) -> None:
    """Run the notebook guide's pipeline, with the extras that it needs."""
    bare.install("pandas", "scikit-learn")
    text = (HOME / "docs/guide/notebooks.md").read_text("utf-8")
    (pipeline,) = (one for one in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S) if "make_pipeline" in one)
    bare.script(
        "import shoal\npatients = shoal.datasets.patients(300, seed=1).to_pandas()\n"
        f"{pipeline}\nfrom sklearn.model_selection import cross_val_score\n"
        "scores = cross_val_score(steps, known, patients['age'] > 50, cv=3)\nassert (scores > 0).all(), scores"
    )


STEPS: dict[str, Callable[[Bare], None]] = {
    "README": lambda bare: run_page(bare, "README.md"),
    "help, import * and members": look_around,
    "completion": complete,
    "s3://, gs://, https://": read_addresses,
    "demo": demonstrate,
    "three tables": publish_tables,
    "missing extras": refuse_extras,
    "warm-up": warm_up,
    "nightly.sh, twice": run_nightly,
    "first tutorial": lambda bare: run_page(bare, "docs/tutorials/hospital.md"),
    "pipeline": run_pipeline,
}


def main(wheel: str, folder: str, *names: str) -> int:
    """Run the steps, and return 1 if one fails."""
    began, failed = time.monotonic(), []
    bare = Bare(Path(folder), wheel)
    size = sum(file.lstat().st_blocks for file in (bare.folder / "lib").rglob("*")) * 512 / 1e6
    sys.stdout.write(f"{size:.0f} MB without extras\n")

    def try_step(name: str) -> None:
        since, own = time.monotonic(), copy.copy(bare)
        try:
            STEPS[name](own)
        except (AssertionError, subprocess.SubprocessError) as error:
            failed.append(name)
            sys.stdout.write(f"FAILED: {name}\n{error}\n")
        sys.stdout.write(f"{time.monotonic() - since:6.1f} s: {name}\n")
        sys.stdout.flush()

    # Two at once, since most compile with one core; the last one adds packages.
    wanted = [*(names or STEPS)]
    alone = [wanted.pop()] if wanted[-1] == "pipeline" else []
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(try_step, wanted))
    for name in alone:
        try_step(name)
    passed = time.monotonic() - began
    sys.stdout.write(f"shoal, bare and cold, took {passed:.0f} s; failed: {', '.join(failed) or 'nothing'}\n")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
