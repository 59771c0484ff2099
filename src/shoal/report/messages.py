"""Collect all messages of the reports for translators: `python -m shoal.report.messages` updates the catalogues.

It adds new messages to `src/shoal/locale/CODE.po` with an empty translation, and removes unused ones.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from shoal._core.language import ENGLISH, languages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from babel.messages import Catalog

__all__ = ["messages", "renew"]

_SOURCES = Path(__file__).parents[1]
_OPTIONS = {"trimmed": "true", "newstyle_gettext": "true"}
_KEYWORDS: dict[str, tuple[int, ...] | None] = {
    "_": None,
    "gettext": None,
    "marked": None,
    "ngettext": (1, 2),
    "Text": None,
}
_ERRORS: dict[str, tuple[int, ...] | None] = {"UsageError": None, "FieldError": None}
"""Errors of the studio, whose literal messages are translated when a screen shows them."""
_OF_OTHER_TABLES = ("journalist", "marketer", "delta_presence", "individual", "household")
"""Measures that need a table of the population or survey weights, which no screen takes."""

_HEADER = """msgid ""
msgstr ""
"Language: {code}\\n"
"Plural-Forms: {plurals}\\n"
"Content-Type: text/plain; charset=utf-8\\n"

"""


def messages() -> Catalog:
    """Build a catalogue of all messages of the reports, without translations."""
    from babel.messages import Catalog

    found = Catalog()
    for message in (*_extracted(), *_listed()):
        if message:  # empty if the argument is not a literal: then the message is listed elsewhere
            found.add(message)
    return found


def _extracted() -> Iterator[str | tuple[str, ...]]:
    """Yield the messages in templates and modules that are arguments of a look-up."""
    from babel.messages.extract import extract
    from jinja2.ext import babel_extract

    # Templates first, then modules that use the translation functions.
    for path in sorted(_SOURCES.rglob("*.j2")):
        with path.open("rb") as file:
            for _, _, message, _ in babel_extract(file, ("_", "gettext", "ngettext"), (), _OPTIONS):
                forms = (message,) if isinstance(message, str) else tuple(form for form in message or () if form)
                yield forms if len(forms) > 1 else "".join(forms)
    for path in sorted(_SOURCES.rglob("*.py")):
        studio = path.parent.name == "studio" or path.parents[1].name == "studio"
        if studio or re.search(r"shoal\._core\.language|_messages import .*\bText\b", path.read_text(encoding="utf-8")):
            with path.open("rb") as file:
                for _, message, _, _ in extract("python", file, _KEYWORDS | (_ERRORS if studio else {})):
                    yield message


def _listed() -> Iterator[str]:
    """Yield the messages of the lists of measures, metrics, warnings and attacks that reports show."""
    from shoal.attacks import ATTACKS
    from shoal.disclosure_risk import MEASURES
    from shoal.findings import WARNINGS
    from shoal.metrics import METRICS

    # Only texts that reports and screens show need a translation.
    for measure in MEASURES:
        if measure.name not in _OF_OTHER_TABLES:
            yield from (measure.title, measure.meaning, measure.assumptions)
    for metric in METRICS.values():
        if not metric.of_cost:
            yield from (metric.title, metric.meaning)
    for warning in WARNINGS.values():
        if "release" in warning.by:
            yield from (warning.title, warning.why)
    for attack in ATTACKS.values():
        yield from (attack.title, attack.meaning, attack.assumptions)


def renew(folder: Path = _SOURCES / "locale") -> None:
    """Update every catalogue of a folder, so that it has exactly the current messages."""
    from babel.messages.pofile import read_po, write_po

    # The catalogues are rewritten in place, with their translations.
    now = messages()
    for code in languages():
        path = folder / f"{code}.po"
        if code == ENGLISH or not path.exists():
            continue
        with path.open("rb") as file:
            catalogue = read_po(file, locale=code)
        # A fuzzy match would show a wrong translation; a new message stays empty instead.
        catalogue.update(now, no_fuzzy_matching=True, update_header_comment=False)
        catalogue.obsolete.clear()
        with path.open("wb") as file:
            file.write(_HEADER.format(code=code, plurals=catalogue.plural_forms).encode())
            write_po(file, catalogue, width=120, no_location=True, omit_header=True)


if __name__ == "__main__":
    renew()
