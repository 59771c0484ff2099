"""Pictures of a foreign report.json: what shoal draws passes, and nothing else gets into a page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.every import every

import shoal
from shoal._core.figures import new_axes, svg_element
from shoal.errors import DataError
from shoal.report import render_again
from shoal.report.svg import check_svg

NAMES = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
FOREIGN = {
    "a script": "<script>alert(1)</script>",
    "a script in capitals": "<SCRIPT>alert(1)</SCRIPT>",
    "a handler": '<g onload="alert(1)"/>',
    "HTML": "<foreignObject><body/></foreignObject>",
    "an image from elsewhere": '<image xlink:href="https://example.org/a.png"/>',
    "an image of SVG": '<image xlink:href="data:image/svg+xml;base64,AAAA"/>',
    "a link": '<a xlink:href="javascript:alert(1)"><text>x</text></a>',
    "a plain link": '<use href="https://example.org/#a"/>',
    "an animation": '<set attributeName="href" to="javascript:alert(1)"/>',
    "a style sheet": "<style>@import url(https://example.org)</style>",
    "a style that loads": '<g style="fill: url(https://example.org)"/>',
    "an escaped style that loads": '<g style="fill: u\\rl(https://example.org)"/>',
    "a comment": "<!-- --!><script>alert(1)</script> -->",
    "a comment that ends early": "<!--><script>alert(1)</script>-->",
    "a section": "<g><![CDATA[<script>alert(1)</script>]]></g>",
    "an instruction": "<?xml-stylesheet href='https://example.org'?>",
    "a prefix": '<x:script xmlns:x="http://www.w3.org/2000/svg">alert(1)</x:script>',
    "another namespace": '<g xmlns="http://www.w3.org/1999/xhtml"/>',
    "a title": "<title><text/></title>",
    "no end": "<g>",
}


@every("name", FOREIGN)
def test_what_our_figures_do_not_have_is_refused(name: str) -> None:
    check_svg(f'<svg {NAMES}><g id="a" style="fill: url(#b)"/></svg>')
    with pytest.raises(DataError, match="a picture that shoal did not draw"):
        check_svg(f"<svg {NAMES}>{FOREIGN[name]}</svg>")


def test_what_follows_a_picture_is_refused() -> None:
    for text in (f"<svg {NAMES}/><script>alert(1)</script>", "alert(1)", "<svg/>"):
        with pytest.raises(DataError, match="a picture"):
            check_svg(text)


def test_figures_with_hatches_images_and_markers_pass() -> None:
    axes = new_axes()
    axes.bar([1, 2], [3, 4], hatch="//", label="a < b & c")
    axes.imshow([[1, 2], [3, 4]], extent=(0, 1, 0, 1))
    axes.plot([1, 2], [3, 4], marker="o")
    axes.set_title("two\nlines: $x^2$ <script>")
    axes.legend()
    check_svg(svg_element(axes))


@pytest.mark.drawn
def test_reports_are_made_again_of_our_pictures_alone(tmp_path: Path) -> None:
    table = shoal.datasets.census(200, quasi_identifiers=["age", "gender"], seed=1)
    asked = {"quasi_identifiers": ["age", "gender"], "sensitive": "income", "privacy": shoal.LDiversity(2)}
    coarse = {"age": shoal.grouping.Ordered(k=20)}
    release = shoal.anonymize(table, coarsen=coarse, seed=1, **asked)  # type: ignore[arg-type]
    release.save(tmp_path / "out")
    file = tmp_path / "out.private" / "report.json"
    page = file.with_name("report.html").read_bytes()
    assert b"<svg" in page
    render_again(tmp_path / "out")
    assert file.with_name("report.html").read_bytes() == page
    facts = json.loads(file.read_bytes())
    assert facts["pictures"]
    script = "<script>alert(1)</script></svg>"
    facts["pictures"] = {name: text.replace("</svg>", script) for name, text in facts["pictures"].items()}
    file.write_text(json.dumps(facts), encoding="utf-8")
    with pytest.raises(DataError, match="did not draw"):
        render_again(tmp_path / "out")
    assert file.with_name("report.html").read_bytes() == page
