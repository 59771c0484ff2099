"""The table of measures and the page of the documentation are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.disclosure_risk.measures import MEASURES, page

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "risk-measures.md"


def test_the_page_of_the_documentation_is_the_table():
    if not PAGE.exists():
        pytest.skip("an installed package has no documentation beside it")
    assert PAGE.read_text(encoding="utf-8") == page(), "write shoal.disclosure_risk.measures.page() to this file"


def test_every_measure_has_a_name_and_a_title_of_its_own():
    assert len({measure.name for measure in MEASURES}) == len({measure.title for measure in MEASURES}) == len(MEASURES)
