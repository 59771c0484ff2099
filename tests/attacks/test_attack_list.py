"""The table of attacks, the page of the documentation and the command line are the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shoal import attacks
from shoal.algorithms.algorithm_list import CATALOGUE
from shoal.attacks.attack_list import ATTACKS, render_documentation
from shoal.cli.attack import METHODS

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "attacks.md"


def test_the_page_of_the_documentation_has_the_table():
    if not PAGE.exists():
        pytest.skip("an installed package has no documentation beside it")
    assert render_documentation() in PAGE.read_text(encoding="utf-8"), (
        "write shoal.attacks.attack_list.render_documentation() into this file"
    )


def test_what_was_measured_of_algorithms_is_one_thing_in_the_page_and_in_their_table():
    if not PAGE.exists():
        pytest.skip("an installed package has no documentation beside it")
    rows = re.findall(r"^\| `([^`]+)`,[^|]*\| ([0-9.]+) % \| ([0-9.]+) \|$", PAGE.read_text(encoding="utf-8"), re.M)
    told = {name: (float(share), float(belief)) for name, share, belief in rows}
    marked = {entry.algorithm.name: entry.minimality for entry in CATALOGUE if entry.minimality is not None}
    assert told == {name: (round(100 * one.share, 1), round(one.belief, 2)) for name, one in marked.items()}
    assert not any(one.share == 0 for one in marked.values()), "the page says that none resists"


def test_every_attack_is_a_function_and_a_method():
    assert set(METHODS) == set(ATTACKS)
    for one in ATTACKS.values():
        assert callable(getattr(attacks, one.function))
        assert one.function in attacks.__all__
