"""Every notebook of the documentation runs from above, in pandas, and shows nothing that it should not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import shoal

HOME = Path(shoal.__file__).parents[2] / "docs/notebooks"
NOTEBOOKS = sorted(HOME.glob("*.ipynb"))


@pytest.mark.skipif(not HOME.exists(), reason="an installed package has no notebooks beside it")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::DeprecationWarning:zmq")
def test_a_notebook_runs_from_above(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook: Any = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "what is kept has no outputs, which get old"
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HOME.parents[1] / "src"), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("PYTHONWARNINGS", "ignore::DeprecationWarning")
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [output for cell in code for output in cell.outputs]
    assert all(cell.execution_count for cell in code)
    assert {output.output_type for output in outputs} == {"execute_result"}, "no error, no warning, nothing printed"
    shown = "\n".join(str(text) for output in outputs for text in output.data.values())
    cards = [output.data["text/html"] for output in outputs if "shoal-card" in output.data.get("text/html", "")]
    assert len(cards) == 8
    assert sum("image/png" in output.data for output in outputs) == 2, "figures show themselves"

    patients = shoal.datasets.patients(1000, seed=1)
    assert not [name for name in patients["name"].unique() if name in shown]
    # Of the quasi-identifiers only coarse forms are shown, never a whole ZIP code or a day.
    assert not [value for name in ("zip", "admitted") for value in patients[name].cast(str).unique() if value in shown]

    published = pd.read_csv(tmp_path / "patients" / "release.csv")
    audit = shoal.audit(published, quasi_identifiers=["age", "gender", "zip"], sensitive="disease")
    assert audit.achieved.k >= 10
    assert len(published) == 1000
    assert (tmp_path / "patients.private" / "certificate.json").exists()


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS or not HOME.exists()
