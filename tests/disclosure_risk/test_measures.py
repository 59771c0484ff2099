"""The table of measures and the page of the documentation are the same."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from shoal.disclosure_risk.measures import MEASURES, page
from shoal.models import TableModel
from shoal.models.model_list import MODELS
from shoal.verbs.risk_result import Risk

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "risk-measures.md"


def test_the_page_of_the_documentation_is_the_table():
    if not PAGE.exists():
        pytest.skip("an installed package has no documentation beside it")
    assert PAGE.read_text(encoding="utf-8") == page(), "write shoal.disclosure_risk.measures.page() to this file"


def test_every_measure_has_a_name_and_a_title_of_its_own():
    assert len({measure.name for measure in MEASURES}) == len({measure.title for measure in MEASURES}) == len(MEASURES)


def test_no_figure_lacks_a_section():
    """Whatever `Risk` measures has a measure, and by that a section of the page, which its anchor names."""
    described = {"columns", "stars", "rows", "classes", "smallest_class", "by_row", "units", "largest_share"}
    described |= {"further", "of"}
    assert {field.name for field in fields(Risk)} - described == {measure.name for measure in MEASURES}
    titles = re.findall(r"^## (.*)$", page(), re.M)
    assert titles == [measure.title for measure in MEASURES]
    anchors = [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]
    assert len(set(anchors)) == len(anchors)


def test_every_model_of_whole_tables_is_in_the_guide():
    if not PAGE.exists():
        pytest.skip("an installed package has no documentation beside it")
    guide = PAGE.with_name("risk.md").read_text(encoding="utf-8")
    models = [model for model in MODELS.values() if issubclass(model, TableModel)]
    assert [model.__name__ for model in models if f"`{model.__name__}`" not in guide] == []
