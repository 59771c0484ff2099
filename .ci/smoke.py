"""What an installed shoal must do without its checkout: publish, judge, keep a ledger, read and write workbooks.

It has the extras for data, workbooks, ledgers and plots. With the argument `beside` it shares its environment with
libraries that data scientists have, and that depend on the same ones. Without extras it is tried by `bare.py`.
"""

import subprocess
import sys
import warnings
from pathlib import Path

import polars as pl

import shoal

# Any other warning is an error here.
warnings.simplefilter("ignore", shoal.ReleaseWarning)


def said(*words: str) -> str:
    """Run shoal as its users do, and return what it prints."""
    done = subprocess.run(
        [Path(sys.executable).with_name("shoal"), *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"shoal {' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


assert Path(sys.prefix) in Path(shoal.__file__).parents, shoal.__file__
assert said("--version").split()[-1] == shoal.__version__
if sys.argv[1:] == ["beside"]:
    import numpy as np
    import pandas as pd
    import pyspark  # noqa: F401
    import umap
    from sklearn.pipeline import make_pipeline

    import shoal.accessors
    import shoal.sklearn

    plane = umap.UMAP(n_neighbors=4, n_epochs=10, init="random").fit_transform(np.random.default_rng(1).random((40, 3)))
    people = pd.DataFrame({"place": plane[:, 0].round(), "zip": [80331, 80333] * 20})
    assert people.shoal.anonymize(quasi_identifiers=["place", "zip"], k=4, seed=1).certificate.achieved["k"] >= 4
    make_pipeline(shoal.sklearn.Anonymizer(k=4)).fit_transform(people)
said("anonymize", "--help")
roles = ("--qi", "age,gender,zip", "--sensitive", "disease")
rest = ("--id", "name,admitted,visit_id")
said("datasets", "patients.csv", "quarter-1.csv")
said("inspect", "patients.csv", "--spec-out", "release.toml", "-o", "inspection.html")
said("anonymize", "patients.csv", *roles, *rest, "-l", "2", "--format", "xlsx", "-o", "out")
assert "2" in said("audit", "out/release.xlsx", *roles, "-l", "2")
said("risk", "patients.csv", *roles)
said("demo", "-o", "demo")
columns = ("--id", "patient_id", "--qi", "age,zip", "--sensitive", "disease")
said("series", "start", "releases.db", "--series", "quarters", *columns, "-m", "4")
said("series", "publish", "releases.db", "--series", "quarters", "quarter-1.csv", "-o", "q1")
said("series", "verify", "releases.db")
census = shoal.datasets.census(400, quasi_identifiers=3, seed=1)
assert isinstance(census, pl.DataFrame)
release = shoal.anonymize(
    census, quasi_identifiers=census.columns[:3], sensitive="income", privacy=shoal.KAnonymity(3), algorithm="hilbert"
)
assert release.certificate.achieved["k"] >= 3
release.report("report.html")
sys.stdout.write(f"shoal {shoal.__version__} works in {sys.prefix}\n")
