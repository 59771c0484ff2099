"""Check figures in the facts of a report: only elements that our figures consist of may get into a page."""

from __future__ import annotations

import re

from shoal.errors import DataError

_NAMESPACE, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_ELEMENTS = frozenset(
    ("svg", "defs", "style", "g", "path", "use", "text", "tspan", "clipPath", "rect", "image", "pattern", "circle")
)
_ATTRIBUTES = frozenset(
    (
        *("id", "d", "x", "y", "cx", "cy", "r", "width", "height", "transform", "viewBox", "version", "type", "style"),
        *("clip-path", "fill", "patternUnits", "preserveAspectRatio", _LINK),
    )
)
_STYLE_SHEET = "*{stroke-linejoin: round; stroke-linecap: butt}"
"""The only style sheet, which matplotlib writes."""
_COMMENT = re.compile(r"<!--(?:(?!--)[^<>])*-->")
"""A comment that ends in the same place for every parser."""
_TAG = re.compile(r"</?([^\s/>]*)")
_REFERENCE = re.compile(r"#[\w-]+|data:image/png;base64,[A-Za-z0-9+/=\s]*")
_ELSEWHERE = re.compile(r"url\((?!#[\w-]+\))|[\\@<>]|/\*|expression|javascript:", re.IGNORECASE)


def check_svg(text: str) -> None:
    """Check that a picture is an SVG element like those of our figures, which can neither run nor load anything.

    Only listed elements and attributes are allowed, and links within the picture. No markup may be ambiguous: there are
    no declarations or other sections, no prefixes of elements, and no markup in comments.

    Raises
    ------
    DataError
        If it is not.
    """
    from xml.etree import ElementTree as ET

    if not text:
        return
    try:
        # Markup that an HTML parser may read differently from an XML parser is rejected first.
        text = _COMMENT.sub("", text)
        if "<!" in text or "<?" in text or not {found[1] for found in _TAG.finditer(text)} <= _ELEMENTS:
            raise ValueError
        for element in ET.fromstring(text).iter():
            # Then only listed elements, attributes and links remain.
            plain = element.tag.removeprefix(_NAMESPACE)
            if plain == element.tag or plain not in _ELEMENTS:
                raise ValueError
            if plain == "style" and (element.text != _STYLE_SHEET or len(element)):
                raise ValueError
            for name, value in element.attrib.items():
                held = _REFERENCE.fullmatch(value) if name == _LINK else not _ELSEWHERE.search(value)
                if name not in _ATTRIBUTES or not held:
                    raise ValueError
    except (ValueError, ET.ParseError):
        raise DataError(
            "The report.json holds a picture that shoal did not draw, which could run a script in the page. Make the "
            "release again, or ask the publisher for the files as shoal wrote them."
        ) from None
