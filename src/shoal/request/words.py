"""A request in words: what the options of commands and the keys of spec files write, and how it is read.

Every word is declared once: with a field of `shoal.Request`, of a model, of an algorithm, or of `shoal.About`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_origin

import msgspec

from shoal._core.validation import Boolean, Parameter, parameters_of
from shoal.algorithms import ALGORITHMS, PREFERENCES, choose
from shoal.errors import UsageError, near_matches
from shoal.io.readers import STANDARD_INPUT
from shoal.models import Requirement
from shoal.report import About
from shoal.request.coarsening_words import beside, coarsenings_of
from shoal.request.model_words import MODEL_WORDS, key_of, models_of
from shoal.request.request import Request
from shoal.request.texts import columns_and_words, names_in

if TYPE_CHECKING:
    from shoal.algorithms import Algorithm
    from shoal.models import PrivacyModel

__all__ = ["ALGORITHM_WORDS", "WORDS", "Word", "Words", "flag_of"]

_PANELS = {
    "columns": "Columns",
    "method": "Method",
    "engine": "Method",
    "recoding": "Recoding",
    "preferences": "For some algorithms",
    "forms": "Files",
    "reading": "Files",
    "output": "Files",
    "model": "Privacy",
    "algorithms": "For some algorithms",
    "report": "First sheet of the reports",
    "input": "Files",
    "call": "Files",
}
"""Where the help shows the words of each group."""
_SECTIONS = ("columns", "privacy", "report")
"""The sections of spec files that hold more than one value per column."""
_NUMBER = int | float | str
_IMPLIED = {"patterns": "patterns", "suppression_limit": "full-domain"}
"""The algorithm of a parameter that no other one has, if none is named."""
_READ_FROM = ("file:", "hierarchy:")
"""What `t_distance` starts with if a file says how far apart two values are."""


@dataclass(frozen=True, kw_only=True)
class Word:
    """A key of spec files, and an option of commands."""

    key: str
    """The key in its section; no two sections share one."""
    section: str
    """One of `_SECTIONS`; empty at the top level."""
    group: str
    """What belongs together: a section of the fields of `Request`, "report", "algorithms", "input" or "call"."""
    flags: tuple[str, ...]
    """The names of the option; none for an argument."""
    kind: Any
    """The type of its value in a spec file."""
    declared: Parameter
    """The declaration that it is made of."""

    @property
    def panel(self) -> str:
        """Where the help shows it."""
        return _PANELS[self.group]

    @property
    def switch(self) -> bool:
        """Whether the option takes no value."""
        return self.kind is bool or isinstance(self.declared.constraint, Boolean)

    @property
    def many(self) -> bool:
        """Whether an option may be repeated."""
        return get_origin(self.kind) in (tuple, dict)

    def from_option(self, given: Any) -> Any:
        """Return the value of an option as spec files have it."""
        flag = self.flags[0] if self.flags else ""
        if get_origin(self.kind) is dict:
            words = columns_and_words(flag, given) or {}
            return {name: self.declared.value_of(one) for name, one in words.items()}
        if self.many:
            return names_in(flag, given) if self.declared.read is None else tuple(given)
        return str(given) if isinstance(given, os.PathLike) else given

    def from_file(self, given: Any, what: str) -> Any:
        """Validate the value of a key.

        Raises
        ------
        UsageError
            It has another type; `what` is the subject of the message.
        """
        try:
            return msgspec.convert(given, self.kind if self.kind is Any else self.kind | None)
        except msgspec.ValidationError as error:
            problem, _, place = str(error).partition(" - at ")
            key = f"{self.section}.{self.key}" if self.section else self.key
            raise UsageError(f"{what}, {key}{place.strip('`').removeprefix('$')}: {problem}.") from error


def _word(key: str, declared: Parameter, *, group: str, section: str = "", kind: Any = str) -> Word:
    flag = declared.flag or ""
    if isinstance(declared.constraint, Boolean):
        flag = f"{flag}/--no-{flag.lstrip('-')}"
    flags = (flag,) if flag else ()
    return Word(key=key, group=group, section=section, flags=flags, kind=kind, declared=declared)


def _plain(flag: str | None, metavar: str, help: str) -> Parameter:  # noqa: A002
    return Parameter(constraint=None, help=help, flag=flag, metavar=metavar, read=None, many=False)


ALGORITHM_WORDS: Mapping[str, tuple[str, Parameter]] = {
    key_of(declared): (name, declared)
    for algorithm in reversed([*ALGORITHMS.values()])
    for name, declared in parameters_of(algorithm).items()
    if declared.flag is not None
}
"""The parameters of algorithms that have an option of their own: by key, their name and declaration."""


def _of_algorithms() -> Iterator[Word]:
    for key, (name, declared) in ALGORITHM_WORDS.items():
        able = [called for called, algorithm in ALGORITHMS.items() if name in parameters_of(algorithm)]
        helped = replace(declared, help=f"{declared.help} For {', '.join(able)}.")
        yield _word(key, helped, group="algorithms", kind=Any)
    yield _word("parameters", _ANY_PARAMETER, group="algorithms", kind=dict[str, Any])


def _of_requests() -> Iterator[Word]:
    declared: Any
    for name, declared in parameters_of(Request).items():
        if name == "privacy":
            for key, one in MODEL_WORDS.items():
                yield _word(key, one, group="model", section="privacy", kind=tuple[str, ...] if one.many else _NUMBER)
        elif name == "suppression_limit":
            yield from _of_algorithms()
        elif name == "about":
            for key, one in parameters_of(About).items():
                yield _word(key, one, group="report", section="report", kind=tuple[str, ...] if one.many else str)
        elif declared.flag is not None:
            word = _word(name, declared, group=declared.section, section=declared.key, kind=declared.kind)
            yield replace(word, flags=(*word.flags, declared.short)) if declared.short else word


_ANY_PARAMETER = _plain(
    "--param", "NAME=VALUE", "Any parameter of the algorithm; repeat it for others. `shoal list algorithms` tells them."
)
_INPUT = _plain(
    None,
    "INPUT",
    "CSV (also packed: .gz, .zst), Excel, OpenDocument, Parquet or Arrow file, - for standard input, "
    "sqlite:///file.db::table, or any SQLAlchemy URL with ::table or ::query.",
)
_MASTER = _plain(
    "--master",
    "URL",
    "With --engine spark: the cluster, or local[2] for two threads of this machine; what Spark's configuration says "
    "unless given.",
)
_JSON = _plain("--json", "", "Print one JSON object on standard output and nothing else there.")
WORDS: Mapping[str, Word] = {
    word.key: word
    for word in (
        _word("input", _INPUT, group="input"),
        *_of_requests(),
        _word("master", _MASTER, group="engine"),
        _word("json", _JSON, group="call", kind=bool),
    )
}
"""Every word of a request, by its key."""


def flag_of(key: str) -> str:
    """Return the flag of a key, with or without its section before it; empty for an argument."""
    flags = WORDS[key.rpartition(".")[2]].flags
    return flags[0].partition("/")[0] if flags else ""


@dataclass(frozen=True)
class Words:
    """A request in words; what is not said is not there."""

    said: Mapping[str, Any]
    """The values of words as spec files have them, by their keys."""

    @classmethod
    def of_options(cls, options: Mapping[str, Any]) -> Words:
        """Read the options of a call, on top of its spec file if it names one.

        Parameters
        ----------
        options : mapping of str to object
            The options by the keys of their words; None for those that are not given.
        """
        given = {key: WORDS[key].from_option(options[key]) for key in WORDS if options.get(key) not in (None, [])}
        words = cls({key: value for key, value in given.items() if value is not None})
        file = options.get("spec")
        return words if file is None else cls.of_file(file).overridden_by(words)

    @classmethod
    def of_file(cls, path: str | os.PathLike[str]) -> Words:
        """Read a spec file. Relative paths in it start from its folder.

        Raises
        ------
        UsageError
            The file cannot be read, is not TOML, or has a key or a value that it cannot have.
        """
        path = Path(path)
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8-sig"))  # Windows editors write a mark first
        except OSError as error:
            raise UsageError(f"The spec file '{path}' cannot be read: {error.strerror}.") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"The spec file '{path}' is no TOML: {error}.") from error
        return cls.of_content(content, f"The spec file '{path}'")._beside(path)

    @classmethod
    def of_content(cls, content: Mapping[str, Any], what: str = "The request") -> Words:
        """Read the content of a spec file, its paths as they stand.

        Raises
        ------
        UsageError
            A key is unknown, or its value has another type; `what` is the subject of the message.
        """
        said: dict[str, Any] = {}
        for section in ("", *_SECTIONS):
            found = content if not section else content.get(section, {})
            if not isinstance(found, Mapping):
                raise UsageError(f"{what}, {section}: Expected `object`, got `{type(found).__name__}`.")
            for key, value in found.items():
                if not section and key in _SECTIONS:
                    continue
                if key not in WORDS or WORDS[key].section != section:
                    raise UsageError(_unknown_key(what, section, key))
                said[key] = WORDS[key].from_file(value, what)
        return cls(said)

    def overridden_by(self, other: Words) -> Words:
        """Return these words with what others say in their place; of columns one by one."""
        merged = dict(self.said)
        for key, value in other.said.items():
            merged[key] = {**merged.get(key, {}), **value} if isinstance(value, dict) else value
        return Words(merged)

    def get(self, key: str) -> Any:
        """Return the value of a word; None if it is not said."""
        return self.said.get(key)

    def models(self, **more: Any) -> list[PrivacyModel]:
        """Build the models; `more` are words in the place of those that are said."""
        return models_of({**self.said, **more})

    def requested_models(self) -> list[PrivacyModel]:
        """Build the models of a request that needs one.

        Raises
        ------
        UsageError
            There is none, or its parameters are invalid.
        """
        models = self.models()
        if not models:
            raise UsageError("Name at least one privacy model: -k 10, -l 4, ... (or [privacy] in the spec file).")
        return models

    def about(self) -> About | None:
        """Return what the first sheet of the reports states; None if nothing is said."""
        said = {key: self.said[key] for key in parameters_of(About) if key in self.said}
        return About(**said) if said else None

    def fields(self) -> dict[str, Any]:
        """Return the values of fields of a request that are said, but for its models and its algorithm."""
        made = {"algorithm", "suppression_limit", "about"}
        found = {key: self.said[key] for key in parameters_of(Request) if key in self.said and key not in made}
        for key in ("k", "l", "t"):
            found.pop(key, None)
        if self.said.get("coarsen"):
            found["coarsen"] = coarsenings_of(self.said["coarsen"])
        for key in ("weights", "limits"):
            if key in found:
                read = WORDS[key].declared.value_of
                found[key] = {name: read(given) for name, given in found[key].items()}
        return found

    def request(self, *, models: list[PrivacyModel] | None = None, algorithm: str | None = None) -> Request:
        """Build the request.

        Parameters
        ----------
        models : list of PrivacyModel, optional
            The models; those that are said by default.
        algorithm : str, optional
            Its name, if what is said of algorithms is for several others.

        Raises
        ------
        UsageError
            Something of it is missing or invalid.
        """
        found = self.fields()
        if "quasi_identifiers" not in found:
            raise UsageError(f"Name the quasi-identifiers with {flag_of('quasi_identifiers')}.")
        privacy = self.requested_models() if models is None else models
        chosen = self.algorithms()[0] if algorithm is None else algorithm
        return Request(**found, privacy=privacy, algorithm=chosen, about=self.about())

    def algorithms(self, *algorithms: str) -> list[str | Algorithm]:
        """Build algorithms: by name, or with the parameters of their own that are said.

        Parameters
        ----------
        *algorithms : str
            Their names; the one that is said by default.

        Raises
        ------
        UsageError
            A parameter is said that none of them has; names those that do.
        """
        unnamed = next((name for key, name in _IMPLIED.items() if self.get(key) is not None), "auto")
        names = algorithms or (self.get("algorithm") or unnamed,)
        said = {name: self.get(key) for key, (name, _) in ALGORITHM_WORDS.items()}
        said |= {name.replace("-", "_"): value for name, value in (self.get("parameters") or {}).items()}
        said = {name: value for name, value in said.items() if value is not None}
        if names == ("auto",) and said:
            names = self._served_by_auto(set(said))
        changed: dict[str, Any] = {}
        for change, value in said.items():
            able = {name: one for name, one in ALGORITHMS.items() if change in parameters_of(one)}
            if not able:
                known = {change for one in ALGORITHMS.values() for change in parameters_of(one)}
                raise UsageError(f"No algorithm has a parameter '{change}'. {near_matches(change, sorted(known))}")
            if not set(able) & set(names):
                by_key = {name: one.flag for name, one in ALGORITHM_WORDS.values()}
                flag = by_key.get(change, f"{flag_of('parameters')} {change}")
                raise UsageError(f"{flag} needs an algorithm that has one: {', '.join(able)}. Name it.")
            for name in set(able) & set(names):
                read = parameters_of(able[name])[change].value_of(value)
                changed[name] = replace(changed.get(name, ALGORITHMS[name]), **{change: read})
        return [changed.get(name, name) for name in names]

    def _served_by_auto(self, changes: set[str]) -> tuple[str, ...]:
        """Return the name of the algorithm that `auto` picks if it has the parameters that are said, else `auto`."""
        try:
            models = self.requested_models()
        except UsageError:  # which is said where the models are needed
            return ("auto",)
        if any(self.get(name) for name in PREFERENCES):
            return ("auto",)
        requirement = Requirement.of(models, tuple(self.get("sensitive") or ()))
        picked, _ = choose("auto", requirement, self.get("recoding") or "suppression")
        return (picked.name,) if changes & set(parameters_of(picked)) else ("auto",)

    def _beside(self, path: Path) -> Words:
        """Return the words with relative paths that start from the folder of their file."""
        folder, said = path.parent, dict(self.said)
        start, colon, file = str(said.get("t_distance", "")).partition(":")
        if file and start + colon in _READ_FROM:
            said["t_distance"] = f"{start}:{folder / file}"
        if "coarsen" in said:
            said["coarsen"] = {name: beside(folder, words) for name, words in said["coarsen"].items()}
        if "hierarchies" in said:
            said["hierarchies"] = {name: str(folder / file) for name, file in said["hierarchies"].items()}
        if "input" in said:
            said["input"] = _source_beside(path, said["input"])
        files = {key for key, (_, declared) in ALGORITHM_WORDS.items() if declared.metavar == "FILE"}
        for key in {"population", "output", *files} & set(said):
            if isinstance(said[key], str):
                said[key] = str(folder / said[key])
        return Words(said)


def _unknown_key(what: str, section: str, key: str) -> str:
    known = [one.key for one in WORDS.values() if one.section == section] + ([] if section else list(_SECTIONS))
    hint = near_matches(key, known)
    if key in WORDS:
        home = WORDS[key].section
        hint = f"It belongs {f'in [{home}]' if home else 'above the first section'}."
    return f"{what} has an unknown key '{key}'{f' in [{section}]' if section else ''}. {hint}"


def _source_beside(path: Path, source: str) -> str:
    """Return an input that a spec file names, if relative paths start from the file's folder."""
    relative_database = "sqlite:///"
    if source.startswith(relative_database) and not source.startswith(relative_database + "/"):
        return relative_database + str(path.parent.resolve() / source.removeprefix(relative_database))
    return source if "://" in source or source == STANDARD_INPUT else str(path.parent / source)
