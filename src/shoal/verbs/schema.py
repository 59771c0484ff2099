"""JSON Schemas of spec files and of the files of a release, made of the types that are read and written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from shoal._core.validation import OneOf
from shoal.request.words import Word

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SPEC = "urn:shoal:spec:1"


def schema(name: str) -> dict[str, Any]:
    """Make the JSON Schema of one kind of file.

    Parameters
    ----------
    name : str
        A key of `SCHEMAS`.

    Examples
    --------
    >>> schema("plan")["$id"]
    'urn:shoal:plan:1'
    """
    return {"$schema": _DIALECT, **SCHEMAS[name]()}


def _spec() -> dict[str, Any]:
    """Make the schema of spec files of the words of a request."""
    from shoal.request.words import WORDS

    sections: dict[str, dict[str, Any]] = {}
    for word in WORDS.values():
        sections.setdefault(word.section, {})[word.key] = _value_of(word)
    top = sections.pop("")
    return {
        "$id": _SPEC,
        "title": "The spec file of a release",
        **_closed({**top, **{name: _closed(keys) for name, keys in sections.items()}}),
    }


def _closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Make an object that has no other keys, because unknown keys of spec files are errors."""
    return {"type": "object", "properties": dict(properties), "additionalProperties": False}


def _value_of(word: Word) -> dict[str, Any]:
    """Make the schema of the value of one key."""
    made = msgspec.json.schema(word.kind)
    chosen = {"enum": list(word.declared.constraint.options)} if isinstance(word.declared.constraint, OneOf) else {}
    return {**made, **chosen, "description": word.declared.help}


def _certificate() -> dict[str, Any]:
    from shoal.release import certificate_files as files

    kinds = files.CertificateFile, files.PublicCertificateFile, files.SeriesFile, files.PublicSeriesFile
    return _any_of(files.SCHEMA, "A certificate of a release, or of a release of a series", *kinds)


def _plan() -> dict[str, Any]:
    from shoal.release.plan import SCHEMA, PlanFile

    return _any_of(SCHEMA, "The plan of a release", PlanFile)


def _report() -> dict[str, Any]:
    from shoal.report.facts import SCHEMA, PublicFacts, ReportFacts, heading

    made = _any_of(SCHEMA, "The facts of a report", ReportFacts, PublicFacts)
    # The heading of the file is no field of the facts.
    for kind in (ReportFacts, PublicFacts):
        found = made["$defs"][kind.__name__]
        found["properties"] = {key: {"const": value} for key, value in heading(kind).items()} | found["properties"]
        found["required"] = [*heading(kind), *found["required"]]
    return made


def _any_of(name: str, title: str, *kinds: type) -> dict[str, Any]:
    """Make a schema of files that have one of some types."""
    references, definitions = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    for one in definitions.values():  # the first line of the docstring
        one["description"] = one["description"].partition("\n")[0]
    return {"$id": name, "title": title, "anyOf": [*references], "$defs": definitions}


SCHEMAS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "spec": _spec,
    "certificate": _certificate,
    "plan": _plan,
    "report": _report,
}
"""The schema of each kind of file, by the name that users type."""
