"""Requests as text: the options of commands and the keys of spec files, and their parser.

Every word is declared once: with a field of `shoal.Request`, of a model, of an algorithm, or of `shoal.About`.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, get_origin

import msgspec

from shoal._core.outcome import reason_of
from shoal._core.quoting import listed_names
from shoal._core.validation import Boolean, Parameter, parameters_of
from shoal.algorithms.algorithm_list import ALGORITHMS, choose
from shoal.algorithms.base import Algorithm
from shoal.algorithms.preferences import PREFERENCES
from shoal.errors import UsageError, near_matches
from shoal.hierarchy import Coarsening, Hierarchy
from shoal.io.readers import STANDARD_INPUT
from shoal.models import PrivacyModel
from shoal.models.requirement import Requirement
from shoal.models.shortcuts import collect_models
from shoal.report import About
from shoal.request.coarsening_words import coarsenings_of, in_words, with_file
from shoal.request.model_words import (
    MODEL_OPTIONS,
    MODEL_WORDS,
    key_of,
    model_flag,
    models_of,
    word_of,
    words_of_models,
)
from shoal.request.notation import option_words, toml_key, toml_lines
from shoal.request.request_fields import RequestFields
from shoal.request.texts import (
    as_switch,
    as_whole_number,
    column_and_words,
    columns_and_words,
    named_values,
    names_in,
    replacement_text,
    replacements_in,
    with_columns_of_sets,
)

_PANELS = {
    "columns": "Columns",
    "method": "Method",
    "engine": "Method",
    "recoding": "Recoding",
    "preferences": "For some algorithms",
    "forms": "Files",
    "reading": "Files",
    "cleaning": "Files",
    "output": "Files",
    "model": "Privacy",
    "algorithms": "For some algorithms",
    "report": "First sheet of the reports",
    "input": "Files",
    "tables": "Columns",
    "call": "Files",
}
"""The help panel of each group of words."""
_SECTIONS = ("columns", "privacy", "reading", "report")
"""The sections of spec files."""
_OF_STUDIO = "studio"
"""The section of project files that only the studio reads."""
_NUMBER = int | float | str
SHOWN = frozenset(
    {
        *("input", "rows", "key", "quasi_identifiers", "sensitive", "direct_identifiers", "insensitive", "person"),
        *("rows_per_person", "link", *MODEL_OPTIONS, "recoding", "hierarchies", "coarsen", "algorithm", "parameters"),
        *("seed", "engine", "memory", "output", "format", "force", "strict", "json"),
    }
)
"""The keys that have an option in the help. Every key can be set with `--set`, a model also with `--model`."""
_IMPLIED = {"patterns": "patterns", "suppression_limit": "full-domain"}
"""The algorithm implied by a parameter that no other algorithm has, if none is named."""
_READ_FROM = ("file:", "hierarchy:")
"""Prefixes of `t_distance` if a file defines the distance."""


@dataclass(frozen=True, kw_only=True)
class Word:
    """A key of spec files, and an option of commands."""

    key: str
    """The key in its section; keys are unique among all sections."""
    section: str
    """One of `_SECTIONS`; empty at the top level."""
    group: str
    """The group: a section of the fields of `Request`, "report", "algorithms", "input" or "call"."""
    flags: tuple[str, ...]
    """The names of the option; empty for an argument."""
    kind: Any
    """The type of the value in a spec file."""
    declared: Parameter
    """The underlying declaration."""

    @property
    def panel(self) -> str:
        """The panel of the help that shows it."""
        return _PANELS[self.group]

    @property
    def path(self) -> str:
        """The key with its section, as in `--set`."""
        return f"{self.section}.{self.key}" if self.section else self.key

    @property
    def switch(self) -> bool:
        """True if the option takes no value."""
        return self.kind is bool or isinstance(self.declared.constraint, Boolean)

    @property
    def many(self) -> bool:
        """True if the option may be repeated."""
        return get_origin(self.kind) in (tuple, dict)

    def from_option(self, given: Any) -> Any:
        """Convert the value of an option to the form of spec files."""
        flag = self.flags[0] if self.flags else ""
        if get_origin(self.kind) is dict:
            words = columns_and_words(flag, given, listed=self.key == "coarsen") or {}
            return {name: self.declared.value_of(one) for name, one in words.items()}
        if self.many:
            return names_in(flag, given) if self.declared.read is None else tuple(given)
        return str(given) if isinstance(given, os.PathLike) else given

    def from_file(self, given: Any, what: str) -> Any:
        """Validate the value of a key.

        Raises
        ------
        UsageError
            If the value has the wrong type; `what` is the subject of the message.
        """
        try:
            return msgspec.convert(given, self.kind if self.kind is Any else self.kind | None)
        except msgspec.ValidationError as error:
            problem, _, place = str(error).partition(" - at ")
            raise UsageError(f"{what}, {self.path}{place.strip('`').removeprefix('$')}: {problem}.") from error


def _word(key: str, declared: Parameter, *, group: str, section: str = "", kind: Any = str) -> Word:
    # Boolean options have a negative form, which overrides a spec file.
    flag = declared.flag or ""
    if isinstance(declared.constraint, Boolean):
        flag = f"{flag}/--no-{flag.lstrip('-')}"
    flags = (flag,) if flag else ()
    return Word(key=key, group=group, section=section, flags=flags, kind=kind, declared=declared)


def _plain(flag: str | None, metavar: str, help: str) -> Parameter:  # noqa: A002
    return Parameter(constraint=None, help=help, flag=flag, metavar=metavar, read=None, many=False)


_SHORTCUTS = ("k", "l", "t", "harmless")
"""Fields that are short for models."""
ALGORITHM_WORDS: Mapping[str, tuple[str, Parameter]] = {
    key_of(declared): (name, declared)
    for algorithm in reversed([*ALGORITHMS.values()])
    for name, declared in parameters_of(algorithm).items()
    if declared.flag is not None
}
"""The parameters of algorithms that have an option: by key, their name and declaration."""


def _of_algorithms() -> Iterator[Word]:
    # The help names the algorithms that have the parameter.
    for key, (name, declared) in ALGORITHM_WORDS.items():
        able = [called for called, algorithm in ALGORITHMS.items() if name in parameters_of(algorithm)]
        helped = replace(declared, help=f"{declared.help} For {', '.join(able)}.")
        yield _word(key, helped, group="algorithms", kind=Any)
    yield _word("parameters", _ANY_PARAMETER, group="algorithms", kind=dict[str, Any])


def _of_requests() -> Iterator[Word]:
    declared: Any
    # Fields that are objects are replaced by the words of their parameters.
    for name, declared in parameters_of(RequestFields).items():
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
    "--param", "NAME=VALUE", "Any parameter of the algorithm; repeat it for others. See `shoal list algorithms`."
)
_INPUT = _plain(
    None,
    "INPUT",
    "CSV (also compressed: .gz, .zst), Excel, OpenDocument, Parquet or Arrow file, - for standard input, "
    "sqlite:///file.db::table, or any SQLAlchemy URL with ::table or ::query.",
)
_ROWS = _plain(
    "--rows",
    "FILE",
    "A second table: the records of the persons of INPUT, which has one record of each. Needs --key and --link.",
)
_KEY = Parameter(
    constraint=None,
    help="The columns of both tables that identify a person, if the records are in --rows. Never published.",
    flag="--key",
    metavar="NAMES",
    read=None,
    many=True,
)
_MASTER = _plain(
    "--master",
    "URL",
    "With --engine spark: the cluster, or local[2] for two threads of this machine. Default: Spark's configuration.",
)
_JSON = _plain("--json", "", "Print exactly one JSON object on standard output.")
WORDS: Mapping[str, Word] = {
    word.key: word
    for word in (
        _word("input", _INPUT, group="input"),
        _word("rows", _ROWS, group="tables"),
        _word("key", _KEY, group="tables", section="columns", kind=tuple[str, ...]),
        *_of_requests(),
        _word("master", _MASTER, group="engine"),
        _word("json", _JSON, group="call", kind=bool),
    )
}
"""Every word of a request, by key."""


_SET, _PARAM, _MODEL = "--set", "--param", "--model"


def flag_of(key: str) -> str:
    """Return the option of a key, with or without its section as a prefix; empty for an argument.

    Examples
    --------
    >>> [flag_of(key) for key in ("columns.sensitive", "decimal", "beta", "time_limit")]
    ['--sensitive', '--set reading.decimal', '--model beta', '--param time_limit']
    """
    word = WORDS[key.rpartition(".")[2]]
    if word.key in SHOWN:
        return word.flags[0].partition("/")[0] if word.flags else ""
    if word.group == "model":
        return model_flag(word.key)
    return f"{_PARAM} {ALGORITHM_WORDS[word.key][0]}" if word.key in ALGORITHM_WORDS else f"{_SET} {word.path}"


def _settings(texts: Sequence[str], models: Sequence[str]) -> dict[str, Any]:
    """Parse the values of `--set` and `--model` to options by key."""
    given: dict[str, Any] = {}
    for text in texts:
        found = _PATH.fullmatch(text)
        path, value = found.groups() if found else ("", "")
        try:
            names = _path_of(tomllib.loads(f"{path} = 0"))
        except tomllib.TOMLDecodeError:
            names = []
        if not names:
            raise UsageError(f"{_SET} has the form KEY=VALUE, with a key of spec files, such as reading.decimal=, .")
        section = names.pop(0) if names[0] in _SECTIONS else ""
        key, column = (*names, "", "")[:2]
        if key not in WORDS or WORDS[key].section != section:
            raise UsageError(_unknown_key(_SET, section, key))
        _add_option(given, key, column_and_words(column, value, listed=key == "coarsen") if column else value)
    for text in models:
        first = ""
        for name, value in named_values(_MODEL, text, "l=3,variant=entropy").items():
            key = name if name in MODEL_WORDS else f"{first}_{name}"
            if key not in MODEL_WORDS:
                raise UsageError(f"{_MODEL} has no parameter '{name}'. {near_matches(name, list(MODEL_WORDS))}")
            first = first or key
            _add_option(given, key, value)
    return given


_PATH = re.compile(r"""((?:[^="']|"(?:[^"\\]|\\.)*"|'[^']*')+)=(.*)""", re.DOTALL)
"""A key of TOML, whose quoted parts may hold any character, and a value."""


def _path_of(content: Any) -> list[str]:
    """Return the keys of nested mappings with one entry each."""
    return [name for key, one in content.items() for name in (key, *_path_of(one))] if isinstance(content, dict) else []


def _add_option(given: dict[str, Any], key: str, value: str) -> None:
    """Add the text of an option to options by key."""
    if WORDS[key].many:
        given.setdefault(key, []).append(value)
    elif WORDS[key].switch:
        given[key] = as_switch(WORDS[key].path, value)
    else:
        given[key] = as_whole_number(WORDS[key].path, value) if WORDS[key].kind is int else value


@dataclass(frozen=True)
class Words:
    """A parsed request in the form of a spec file, with only the given words."""

    said: Mapping[str, Any]
    """The values of the given words in the form of spec files, by key."""

    @classmethod
    def of_options(cls, options: Mapping[str, Any]) -> Words:
        """Parse the options of a call, on top of its spec file if there is one.

        Parameters
        ----------
        options : mapping of str to object
            The options by key of their words; None for those that are not given.
        """
        # Options override the spec file, key by key.
        file = options.get("spec")
        words = cls({}) if file is None else cls.of_file(file)
        for own in (_settings(options.get("settings") or (), options.get("models") or ()), options):
            given = {key: WORDS[key].from_option(own[key]) for key in WORDS if own.get(key) not in (None, [])}
            words = words.overridden_by(cls({key: value for key, value in given.items() if value is not None}))
        return words

    @classmethod
    def of_file(cls, path: str | os.PathLike[str]) -> Words:
        """Read a spec file. Relative paths in it start from its folder.

        Raises
        ------
        UsageError
            If the file cannot be read, is not TOML, or has an unknown key or an invalid value.
        """
        path = Path(path)
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8-sig"))  # with or without a byte order mark
        except OSError as error:
            raise UsageError(f"The spec file '{path}' cannot be read: {reason_of(error)}.") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"The spec file '{path}' is not valid TOML: {error}.") from error
        return cls.of_content(content, f"The spec file '{path}'")._relative_to(path)

    @classmethod
    def of_content(cls, content: Mapping[str, Any], what: str = "The request") -> Words:
        """Parse the content of a spec file, with unchanged paths.

        Raises
        ------
        UsageError
            If a key is unknown, or its value has the wrong type; `what` is the subject of the message.
        """
        values: dict[str, Any] = {}
        for section in ("", *_SECTIONS):
            found = content if not section else content.get(section, {})
            if not isinstance(found, Mapping):
                raise UsageError(f"{what}, {section}: Expected `object`, got `{type(found).__name__}`.")
            # Keys of a section are unique, so their values need no nesting.
            for key, value in found.items():
                if not section and key in (*_SECTIONS, _OF_STUDIO):
                    continue
                if key not in WORDS or WORDS[key].section != section:
                    raise UsageError(_unknown_key(what, section, key))
                values[key] = WORDS[key].from_file(value, what)
        return cls(values)

    @classmethod
    def of_request(cls, request: RequestFields) -> Words:
        """Return the words of a request; fields with their default value have none.

        Raises
        ------
        UsageError
            If a field holds an object that has no words, such as a frame or an algorithm of one's own.
        """
        said: dict[str, Any] = {}
        for one in fields(request):
            value = getattr(request, one.name)
            if value is None or one.name in _SHORTCUTS or (value == one.default and one.name != "privacy"):
                continue
            # Fields whose words differ from their value.
            match one.name:
                case "algorithm":
                    said |= _words_of_algorithm(value)
                case "about":
                    said |= {key: text for key, text in vars(value).items() if text}
                case "coarsen":
                    said["coarsen"] = {listed_names(name): _coarsening_words(name, how) for name, how in value.items()}
                case "hierarchies":
                    said["hierarchies"] = {name: _file_of(name, tree) for name, tree in value.items()}
                case "privacy":
                    pass
                case _ if isinstance(value, Mapping):
                    said[one.name] = {name: _word_of_column(given) for name, given in value.items()}
                case _:
                    text = (value,) if WORDS[one.name].many and isinstance(value, str) else value
                    said[one.name] = str(text) if one.name == "memory" else word_of(text, f"'{one.name}'")
        models = collect_models(request.privacy, k=request.k, l=request.l, t=request.t, harmless=request.harmless)
        return cls({**said, **words_of_models(models if isinstance(models, Sequence) else [models])})

    def to_toml(self) -> str:
        """Write a spec file.

        Examples
        --------
        >>> print(Words.of_content({"input": "a.csv", "columns": {"sensitive": ["d"]}, "privacy": {"k": 5}}).to_toml())
        input = "a.csv"
        columns.sensitive = ["d"]
        privacy.k = 5
        """
        content: dict[str, Any] = {}
        for key, value in self.said.items():
            section = WORDS[key].section
            (content.setdefault(section, {}) if section else content)[key] = value
        return "\n".join(toml_lines(content))

    def options(self) -> list[tuple[str, str | None]]:
        """Return the options of a command: each flag with its value, None if it takes none. The input is not one."""
        found: list[tuple[str, str | None]] = []
        for key, value in self.said.items():
            word, flag = WORDS[key], flag_of(key)
            shown = key in SHOWN
            # Switches, mappings, lists of names, and single values.
            if word.switch and isinstance(value, bool):
                plain = (flag if value else f"--no-{flag.lstrip('-')}", None)
                found.append(plain if shown else (flag, str(value).lower()))
            elif isinstance(value, Mapping) and not shown:
                found += [(f"{flag}.{toml_key(name)}", _option_text(one)) for name, one in value.items()]
            elif isinstance(value, Mapping):
                together = key == "coarsen"  # its names are lists of columns
                found += [
                    (flag, column_and_words(name, _option_text(one), listed=together)) for name, one in value.items()
                ]
            elif word.many and word.declared.read is None:
                found.append((flag, listed_names(value)))
            elif flag:
                found += [(flag, str(one)) for one in (value if word.many else [value])]
        return found

    def to_cli(self) -> list[str]:
        """Return the words of a command line, such as `["patients.csv", "--qi", "age,zip", "-k", "5"]`."""
        source = [str(self.said["input"])] if "input" in self.said else []
        return source + [word for flag, value in self.options() for word in option_words(flag, value)]

    def overridden_by(self, other: Words) -> Words:
        """Return these words overridden by others; values of columns are merged."""
        # Dictionaries by column are merged, all other values are replaced.
        merged = dict(self.said)
        for key, value in other.said.items():
            merged[key] = {**merged.get(key, {}), **value} if isinstance(value, dict) else value
        return Words(merged)

    def get(self, key: str) -> Any:
        """Return the value of a word; None if it is not given."""
        return self.said.get(key)

    def models(self, **more: Any) -> list[PrivacyModel]:
        """Build the models; `more` overrides the given words."""
        return models_of({**self.said, **more})

    def requested_models(self) -> list[PrivacyModel]:
        """Build the models of a request, which must have at least one.

        Raises
        ------
        UsageError
            If there are none, or the parameters are invalid.
        """
        models = self.models()
        if not models:
            raise UsageError("Name at least one privacy model: -k 10, -l 4, ... (or [privacy] in the spec file).")
        return models

    def about(self) -> About | None:
        """Return the entries for the first sheet of the reports; None if there are none."""
        said = {key: self.said[key] for key in parameters_of(About) if key in self.said}
        return About(**said) if said else None

    def fields(self) -> dict[str, Any]:
        """Return the given fields of the request, without its models and its algorithm."""
        # Models, algorithms and the first sheet of reports have their own builders.
        made = {"algorithm", "suppression_limit", "about"}
        found = {key: self.said[key] for key in parameters_of(RequestFields) if key in self.said and key not in made}
        for key in _SHORTCUTS:
            found.pop(key, None)
        # The key of two tables identifies persons.
        if "key" in self.said:
            found.setdefault("person", self.said["key"])
        # Sets name the quasi-identifiers if nothing else does.
        found = with_columns_of_sets(found)
        # Texts become coarsenings, replacements, weights and limits.
        if self.said.get("coarsen"):
            found["coarsen"] = coarsenings_of(self.said["coarsen"])
        if "replace_values" in found:
            found["replace_values"] = {name: replacements_in(text) for name, text in found["replace_values"].items()}
        for key in ("weights", "limits"):
            if key in found:
                read = WORDS[key].declared.value_of
                found[key] = {name: read(given) for name, given in found[key].items()}
        return found

    def arguments(self, *, models: list[PrivacyModel] | None = None, algorithm: str | None = None) -> dict[str, Any]:
        """Build all fields of the request; see `Request.from_words`."""
        found = self.fields()
        if "quasi_identifiers" not in found:
            raise UsageError(f"Name the quasi-identifiers with {flag_of('quasi_identifiers')}.")
        found["privacy"] = self.requested_models() if models is None else models
        chosen = self.algorithms()[0] if algorithm is None else algorithm
        return {**found, "algorithm": chosen, "about": self.about()}

    def algorithms(self, *algorithms: str) -> list[str | Algorithm]:
        """Build algorithms, by name and with their given parameters.

        Parameters
        ----------
        *algorithms : str
            The names; by default the given one.

        Raises
        ------
        UsageError
            If none of them has a given parameter; the message names the algorithms that have it.
        """
        # A parameter that only one algorithm has implies the algorithm.
        given = {**(self.get("parameters") or {}), **self.said}
        unnamed = next((name for key, name in _IMPLIED.items() if given.get(key) is not None), "auto")
        names = algorithms or (self.get("algorithm") or unnamed,)
        # Parameters are given by options of their own, or by `parameters`.
        said = {name: self.get(key) for key, (name, _) in ALGORITHM_WORDS.items()}
        said |= {name.replace("-", "_"): value for name, value in (self.get("parameters") or {}).items()}
        said = {name: value for name, value in said.items() if value is not None}
        if names == ("auto",) and said:
            names = self._served_by_auto(set(said))
        # Apply each parameter to the algorithms that have it.
        changed: dict[str, Any] = {}
        for change, value in said.items():
            # Report unknown parameters, and those of algorithms that were not requested.
            able = {name: one for name, one in ALGORITHMS.items() if change in parameters_of(one)}
            if not able:
                known = {change for one in ALGORITHMS.values() for change in parameters_of(one)}
                raise UsageError(f"No algorithm has a parameter '{change}'. {near_matches(change, sorted(known))}")
            if not set(able) & set(names):
                raise UsageError(f"{_PARAM} {change} needs an algorithm that has one: {', '.join(able)}. Name it.")
            for name in set(able) & set(names):
                read = parameters_of(able[name])[change].value_of(value)
                changed[name] = replace(changed.get(name, ALGORITHMS[name]), **{change: read})
        return [changed.get(name, name) for name in names]

    def _served_by_auto(self, changes: set[str]) -> tuple[str, ...]:
        """Return the name of the algorithm that `auto` chooses if it has the given parameters, else `auto`."""
        try:
            models = self.requested_models()
        except UsageError:  # reported when the models are needed
            return ("auto",)
        if any(self.get(name) for name in (*PREFERENCES, "qi_sets", "knows")):
            return ("auto",)
        requirement = Requirement.of(models, tuple(self.get("sensitive") or ()))
        picked, _ = choose("auto", requirement, self.get("recoding") or "suppression")
        return (picked.name,) if changes & set(parameters_of(picked)) else ("auto",)

    def _relative_to(self, path: Path) -> Words:
        """Make relative paths start from the folder of the spec file."""
        said = dict(self.with_files(lambda file: str(path.parent / file)).said)
        for key in {"input", "rows"} & set(said):
            said[key] = _source_relative_to(path, said[key])
        if isinstance(said.get("output"), str):
            said["output"] = str(path.parent / said["output"])
        return Words(said)

    def with_files(self, place: Callable[[str], str]) -> Words:
        """Apply a function to the name of every file that the words read, except the tables of the input.

        Every word with a file is listed here, for paths in spec files and for the limits of the studio.
        """
        said = dict(self.said)
        start, colon, file = str(said.get("t_distance", "")).partition(":")
        if file and start + colon in _READ_FROM:
            said["t_distance"] = f"{start}:{place(file)}"
        if "coarsen" in said:
            said["coarsen"] = {name: with_file(words, place) for name, words in said["coarsen"].items()}
        if "hierarchies" in said:
            said["hierarchies"] = {name: place(file) for name, file in said["hierarchies"].items()}
        files = {key for key, (_, declared) in ALGORITHM_WORDS.items() if declared.metavar == "FILE"}
        for key in {"population", *files} & set(said):
            if isinstance(said[key], str):
                said[key] = place(said[key])
        return Words(said)


def _coarsening_words(name: str | Sequence[str], coarsening: Coarsening) -> str:
    tree = getattr(coarsening, "hierarchy", None)
    words = in_words(coarsening, file="" if tree is None else _file_of(listed_names(name), tree))
    if words is None:
        raise UsageError(f"The coarsening of {listed_names(name)} has no words for commands and spec files.")
    return words


def _file_of(name: str, tree: Hierarchy | str | os.PathLike[str]) -> str:
    file = tree.source if isinstance(tree, Hierarchy) else os.fspath(tree)
    if not file:
        raise UsageError(f"The hierarchy of '{name}' has no file to name in commands and spec files.")
    return file


def _words_of_algorithm(algorithm: str | Algorithm) -> dict[str, Any]:
    """Return the name of an algorithm, and its parameters that differ from those of the name."""
    if isinstance(algorithm, str):
        return {"algorithm": algorithm}
    # Only algorithms of the table have words; parameters with their default need none.
    usual = ALGORITHMS.get(algorithm.name)
    if type(usual) is not type(algorithm):
        raise UsageError("An algorithm of one's own has no words for commands and spec files.")
    keys = {name: key for key, (name, _) in ALGORITHM_WORDS.items()}
    words: dict[str, Any] = {"algorithm": algorithm.name}
    for name in parameters_of(algorithm):
        value = getattr(algorithm, name)
        if value != getattr(usual, name):
            text = word_of(value, f"'{name}'")
            (words if name in keys else words.setdefault("parameters", {}))[keys.get(name, name)] = text
    return words


def _word_of_column(given: Any) -> Any:
    """Return the value of a column: a text, a number, a pair of levels, or replacements as text."""
    if isinstance(given, Mapping):
        return replacement_text(given)
    return tuple(given) if isinstance(given, tuple | list) else word_of(given, "The value of a column")


def _option_text(value: Any) -> str:
    """Return the value of a column in an option; levels are written LOW:HIGH."""
    return ":".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def _unknown_key(what: str, section: str, key: str) -> str:
    known = [one.key for one in WORDS.values() if one.section == section] + ([] if section else list(_SECTIONS))
    hint = near_matches(key, known)
    if key in WORDS:
        # A known key in the wrong section is reported with its section.
        home = WORDS[key].section
        hint = f"It belongs {f'in [{home}]' if home else 'above the first section'}."
    return f"{what} has an unknown key '{key}'{f' in [{section}]' if section else ''}. {hint}"


def _source_relative_to(path: Path, source: str) -> str:
    """Make the path of an input relative to the folder of the spec file; URLs and standard input stay unchanged."""
    relative_database = "sqlite:///"
    if source.startswith(relative_database) and not source.startswith(relative_database + "/"):
        return relative_database + str(path.parent.resolve() / source.removeprefix(relative_database))
    return source if "://" in source or source == STANDARD_INPUT else str(path.parent / source)
