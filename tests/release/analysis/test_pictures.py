"""Pictures of a release draw the facts of the private report, in its colours, and no cell that is not published."""

from __future__ import annotations

import io
import re
from importlib import resources
from typing import Any

import polars as pl
import pytest

import shoal
from shoal._core import figures as _figures
from shoal._core.words import percent
from shoal.errors import ColumnError
from shoal.report import distributions

EVIL = "<script>$x$</script>"


@pytest.fixture(scope="module")
def release() -> shoal.Release:
    table = shoal.datasets.patients(200, seed=1).rename({"gender": EVIL})
    return shoal.anonymize(
        table.select("age", EVIL, "zip", "disease"),
        quasi_identifiers=["age", EVIL, "zip"],
        sensitive="disease",
        k=4,
        coarsen={"age": shoal.Bins(20)},
        seed=1,
    )


def texts(figure: Any) -> list[str]:
    import matplotlib.text

    figure.draw_without_rendering()
    return [one.get_text() for one in figure.findobj(matplotlib.text.Text) if one.get_text()]


def lengths(ax: Any) -> list[float]:
    return [bar.get_width() for bar in ax.patches]


@pytest.mark.drawn
def test_bars_are_the_facts_of_the_report(release: shoal.Release) -> None:
    figure = release.plot()
    facts = distributions(release.metrics.table, release.metrics.recoding)
    assert len(facts) == 3
    for ax, one in zip(figure.axes, facts, strict=False):
        assert ax.get_title(loc="left") == one.name
        assert lengths(ax) == [bar.before for bar in one.bars] + [bar.after for bar in one.bars]
        assert [label.get_text() for label in ax.get_yticklabels()] == [bar.label for bar in one.bars]
    shown = texts(figure)
    assert any("Private" in text for text in shown)
    assert {"before", "after"} <= set(shown)
    assert len(figure.savefig(written := io.BytesIO(), format="png") or written.getvalue()) > 1000


def test_some_columns_and_none_that_are_not_there(release: shoal.Release) -> None:
    assert len(release.plot([EVIL]).axes) == 1
    assert len(release.plot("zip").axes) == 1
    with pytest.raises(ColumnError, match="'disease' is not a quasi-identifier"):
        release.plot(["disease"])


def test_a_column_of_stars_says_so() -> None:
    table = pl.DataFrame({"name": [f"Zyzzyva {at}" for at in range(20)]})
    starred = shoal.anonymize(table, quasi_identifiers=["name"], k=5)
    shown = " ".join(texts(starred.plot()))
    assert "Every cell is a star" in shown
    assert "Zyzzyva" not in shown


@pytest.mark.drawn
def test_no_value_that_is_not_published_has_a_label(release: shoal.Release) -> None:
    for path in ("plot", "plot_risk"):
        written = io.StringIO()
        getattr(release, path)().savefig(written, format="svg")
        hidden = set(release.metrics.table.quasi_identifiers[2].dictionary) - set(release.data["zip"])
        assert hidden
        shown = " ".join(texts(getattr(release, path)()))
        assert not [value for value in hidden if value in shown]


@pytest.mark.drawn
def test_the_risk_is_that_of_the_certificate(release: shoal.Release) -> None:
    figure = release.plot_risk()
    left, right = figure.axes
    risk = release.certificate.risk
    names = ("highest", "average", "records_above", "sample_uniques")
    widths = lengths(left)
    half = len(widths) // 2
    assert widths[: len(names)] == [risk["before"][name] for name in names]
    assert widths[half : half + len(names)] == [risk["after"][name] for name in names]
    assert sum(lengths(right)[: len(lengths(right)) // 2]) == pytest.approx(1)
    assert sum(lengths(right)[len(lengths(right)) // 2 :]) == pytest.approx(1)
    assert percent(risk["after"]["highest"]) in texts(figure)


def test_the_risk_is_of_what_the_report_counts() -> None:
    visits = pl.DataFrame({"who": [*range(12)] * 2, "home": [*range(6)] * 4, "town": [*"xyz"] * 8, "s": [*"uvw"] * 8})
    asked: dict[str, Any] = {"quasi_identifiers": ["town"], "person": "who", "k": 3, "seed": 1}
    one, linked = (shoal.anonymize(visits.drop("home", "s"), link=link, **asked) for link in (False, True))
    for made, names in ((one, ("records_above", "sample_uniques")), (linked, ())):
        said = {text for text in texts(made.plot_risk()) if "found" in text}
        assert all("person" in text for text in said)
        assert len(said) == 2 + len(names)
    risk = one.certificate.persons[0]
    assert lengths(one.plot_risk().axes[0])[0] == risk["risk_before"]["highest"]


@pytest.mark.drawn
def test_a_notebook_shows_it(release: shoal.Release) -> None:
    assert release.plot_risk()._repr_png_().startswith(b"\x89PNG")


def test_one_palette() -> None:
    style = resources.files("shoal.report").joinpath("templates/style.css").read_text(encoding="utf-8")
    light = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", style.partition("@media")[0]))
    assert light["bar"] == _figures.AFTER
    assert light["bar-soft"] == _figures.BEFORE
    assert light["bar-line"] == _figures.BEFORE_EDGE
    assert light["ink"] == _figures.INK
    assert light["line"] == _figures.GRID
