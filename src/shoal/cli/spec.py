"""A request as a value, from flags or from a TOML file: both say the same things, and flags override the file.

`ReleaseSpec` declares what a request may say. Its fields are the keys of a file and the options of the commands that
take them (see `shoal.cli.signature`); the parameters of models and algorithms are declared with their classes.
"""

from __future__ import annotations

import inspect
import os
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from shoal._core.validation import parameters_of
from shoal.algorithms import ALGORITHMS, PREFERENCES, choose
from shoal.cli import options
from shoal.cli.coarsenings import beside, coarsenings_of, columns_and_words, limits_of, weights_of
from shoal.cli.declared import Declared, declared_in, of_parameter
from shoal.cli.options import names_in
from shoal.cli.privacy import Privacy, key_of
from shoal.errors import UsageError, near_matches
from shoal.io.readers import STANDARD_INPUT
from shoal.models import Requirement

if TYPE_CHECKING:
    from shoal._core.validation import Parameter
    from shoal.algorithms import Algorithm
    from shoal.models import PrivacyModel
    from shoal.report import About

__all__ = ["FLAGGED", "Columns", "Privacy", "ReleaseSpec", "Report", "read_spec", "request_in", "request_of"]

FLAGGED: Mapping[str, tuple[str, Parameter]] = {
    key_of(declared): (name, declared)
    for algorithm in reversed([*ALGORITHMS.values()])
    for name, declared in parameters_of(algorithm).items()
    if declared.flag is not None
}
"""The parameters of algorithms that have an option of their own: by key, their name and what declares them."""
_READ_FROM = ("file:", "hierarchy:")
"""What `t_distance` starts with where a file says how far apart two values are."""


_ALGORITHM = Annotated[
    str | None,
    typer.Option(
        "--algorithm",
        metavar="NAME",
        help=f"auto (unless given), which picks by models and recoding, or by name: {', '.join(ALGORITHMS)}. "
        "`shoal list algorithms` says what each does.",
        rich_help_panel=options.METHOD_PANEL,
    ),
]
Names = tuple[str, ...] | None
Said = dict[str, str] | None
"""What is said of each column."""


class Columns(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which column plays which role."""

    quasi_identifiers: Annotated[Names, Declared(options.QuasiIdentifiers, names_in)] = None
    sensitive: Annotated[Names, Declared(options.Sensitive, names_in)] = None
    direct_identifiers: Annotated[Names, Declared(options.DirectIdentifiers, names_in)] = None
    insensitive: Annotated[Names, Declared(options.Insensitive, names_in)] = None


def _lines(_: str, given: Any) -> tuple[str, ...]:
    return tuple(given)


class Report(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the publisher says of a release on the first sheet of its reports."""

    title: options.Title = None
    institution: options.Institution = None
    purpose: options.Purpose = None
    contact: options.Contact = None
    date: options.ReportDate = None
    notes: options.Notes = None
    signatures: Annotated[Names, Declared(options.Signatures, _lines)] = None
    language: options.Language = None

    def about(self) -> About | None:
        """Return it as the library takes it; None where nothing was said."""
        from shoal.report import About

        said = {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}
        return About(**said) if said else None


def _weights(option: str, given: Any) -> dict[str, Any]:
    return dict(weights_of(columns_and_words(option, given) or {}))


def _limits(option: str, given: Any) -> dict[str, Any]:
    return dict(limits_of(columns_and_words(option, given) or {}))


def _text(_: str, given: object) -> str:
    return str(given)


class _Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that a request can say; None where nothing was said."""

    input: Annotated[str | None, Declared(options.Source, _text)] = None
    columns: Columns = Columns()
    missing_sensitive: options.MissingSensitive = None
    normalize: options.Normalize = None
    star: options.Star = None
    privacy: Privacy = Privacy()
    algorithm: Annotated[str | None, Declared(_ALGORITHM)] = None
    seed: options.Seed = None
    keep_order: options.KeepOrder = None
    engine: options.Engine = None
    memory: options.Memory = None
    master: options.Master = None
    recoding: options.Recoding = None
    largest_set: options.LargestSet = None
    exact_ends: options.ExactEnds = None
    hierarchies: Annotated[Said, Declared(options.Hierarchies, columns_and_words)] = None
    coarsen: Annotated[Said, Declared(options.Coarsen, columns_and_words)] = None
    weights: Annotated[dict[str, float | str] | None, Declared(options.Weights, _weights)] = None
    limits: Annotated[dict[str, tuple[int, int] | str] | None, Declared(options.Limits, _limits)] = None
    parameters: Annotated[dict[str, Any] | None, Declared(options.Parameters, columns_and_words)] = None
    dates: Annotated[Said, Declared(options.Dates, columns_and_words)] = None
    decimal: options.Decimal = None
    delimiter: options.Delimiter = None
    encoding: options.Encoding = None
    sheet: options.Sheet = None
    report: Report = Report()
    output: Annotated[str | None, Declared(options.Output, _text)] = None
    format: options.Format = None
    spreadsheet_safe: options.SpreadsheetSafe = None
    publish_proof: options.PublishProof = None
    strict: options.Strict = None
    force: options.Force = None
    json: options.Json = None

    def overridden_by(self, flags: ReleaseSpec) -> ReleaseSpec:
        """Return the request with whatever the flags say in place of what this one says."""
        merged: ReleaseSpec = _overridden(self, flags)
        return merged

    def source(self, command: str = "anonymize") -> str:
        """Return the input.

        Raises
        ------
        UsageError
            Where none was named.
        """
        if self.input is None:
            raise UsageError(f"Name the table to read: shoal {command} INPUT ... (or input = ... in the spec file).")
        return self.input

    def folder(self) -> Path:
        """Return the output folder.

        Raises
        ------
        UsageError
            Where none was named.
        """
        if self.output is None:
            raise UsageError("Name the folder for the release with -o OUT (or output = ... in the spec file).")
        return Path(self.output)

    def saving(self) -> dict[str, Any]:
        """Return how to save a release, as arguments of `Release.save`."""
        flags = {name: bool(getattr(self, name)) for name in _SWITCHES}
        return {"format": self.format, "about": self.report.about(), **flags}

    @contextmanager
    def on_engine(self) -> Iterator[None]:
        """Have what the engine needs for as long as the context lasts: a Spark session, where it is Spark.

        Raises
        ------
        UsageError
            Where a master was named for another engine, or Spark is missing.
        """
        if self.engine != "spark":
            if self.master is not None:
                raise UsageError("--master is for --engine spark. Name that, or leave --master out.")
            yield
            return
        from shoal.io import open_session

        with open_session(self.master):
            yield

    def reading(self) -> dict[str, Any]:
        """Return what was said of how the table is to be read, as arguments of a call."""
        said = {name: getattr(self, name) for name in (*options.FORMS, *options.READING)}
        return {name: value for name, value in said.items() if value is not None}

    def _columns_to_choose_from(self, source: str | None) -> str:
        """Return the end of a message to somebody who named no columns: which there are, and what to do."""
        source = source or self.input
        if source is None or source == STANDARD_INPUT:
            return " shoal inspect INPUT proposes a role for each column."
        from shoal.io import read_table

        try:
            found = read_table(source, delimiter=self.delimiter, encoding=self.encoding, sheet=self.sheet).frame.columns
        except UsageError:
            return ""
        listed = ", ".join(found[:40]) + (", ..." if len(found) > 40 else "")
        where = "INPUT" if "://" in source else shlex.quote(source)  # a URL may hold a password
        return f" The columns are {listed}. shoal inspect {where} proposes a role for each."

    def arguments(
        self, function: Callable[..., Any], *, source: str | None = None, named: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Return what was said of the parameters of a function that a request asks to call.

        Parameters
        ----------
        function : callable
            `shoal.anonymize`, say: whatever fields of a request are called like its parameters are its arguments, and
            where it takes any options, those that are called like parameters of `shoal.anonymize`.
        source : str, optional
            The table, where it is not the request's own input; its columns are named to those who named none.
        named : sequence of str
            The quasi-identifiers by the certificate of the table, which count where the request names none.

        Raises
        ------
        UsageError
            Where no quasi-identifiers were named, or a coarsening is none.
        """
        if self.columns.quasi_identifiers is None and not named:
            raise UsageError(
                "Name the quasi-identifiers with --qi age,zip,... (or quasi_identifiers = [...] in the spec file)."
                f"{self._columns_to_choose_from(source)}"
            )
        values = msgspec.structs.asdict(self.columns) | {
            name: getattr(self, name) for name in self.__struct_fields__ if name not in _MADE
        }
        values["coarsen"] = coarsenings_of(self.coarsen) if self.coarsen else None
        values["weights"] = weights_of(self.weights) if self.weights else None
        values["limits"] = limits_of(self.limits) if self.limits else None
        taken = _taken_by(function)
        return {
            name: value for name, value in values.items() if value is not None and name in taken and name not in _SAVED
        }

    def chosen(self, *algorithms: str) -> list[str | Algorithm]:
        """Return algorithms as the library takes them: by name, or with the parameters of their own that were given.

        Parameters
        ----------
        *algorithms : str
            Their names; what the request names unless given.

        Raises
        ------
        UsageError
            Where a parameter was given that none of them has; names those that do.
        """
        unnamed = next((name for key, name in _IMPLIED.items() if self._given(key) is not None), "auto")
        names = algorithms or (self.algorithm or unnamed,)
        said = {name: self._given(key) for key, (name, _) in FLAGGED.items()}
        said |= {name.replace("-", "_"): value for name, value in (self.parameters or {}).items()}
        if names == ("auto",) and any(value is not None for value in said.values()):
            names = self._meant_by_auto({change for change, value in said.items() if value is not None})
        changed: dict[str, Any] = {}
        for change, value in said.items():
            if value is None:
                continue
            able = {name: one for name, one in ALGORITHMS.items() if change in parameters_of(one)}
            if not able:
                known = {change for one in ALGORITHMS.values() for change in parameters_of(one)}
                raise UsageError(f"No algorithm has a parameter '{change}'. {near_matches(change, sorted(known))}")
            if not set(able) & set(names):
                flag = next((one.flag for name, one in FLAGGED.values() if name == change), f"--param {change}")
                raise UsageError(f"{flag} needs an algorithm that has one: {', '.join(able)}. Name it.")
            for name in set(able) & set(names):
                read = parameters_of(able[name])[change].value_of(value)
                changed[name] = replace(changed.get(name, ALGORITHMS[name]), **{change: read})
        return [changed.get(name, name) for name in names]

    def _meant_by_auto(self, changes: set[str]) -> tuple[str, ...]:
        """Return the name of the algorithm that `auto` picks where it has parameters that were given, else `auto`."""
        try:
            models = self.requested_models()
        except UsageError:  # which is said where the models are needed
            return ("auto",)
        if any(self._given(name) for name in PREFERENCES if name in self.__struct_fields__):
            return ("auto",)
        requirement = Requirement.of(models, tuple(self.columns.sensitive or ()))
        picked, _ = choose("auto", requirement, self.recoding or "suppression")
        return (picked.name,) if changes & set(parameters_of(picked)) else ("auto",)

    def _given(self, key: str) -> Any:
        return getattr(self, key)

    def requested_models(self) -> list[PrivacyModel]:
        """Return the requested models.

        Raises
        ------
        UsageError
            Where there is none, or its parameters do not fit.
        """
        models = self.privacy.models()
        if not models:
            raise UsageError("Name at least one privacy model: -k 10, -l 4, ... (or [privacy] in the spec file).")
        return models


_IMPLIED = {"patterns": "patterns", "suppression_limit": "full-domain"}
"""The algorithm that a parameter means which no other one has, where none is named."""
_SAVED = ("format", "force", "spreadsheet_safe", "publish_proof", "strict")
"""Fields of how a release is saved, which the command does itself."""
_SWITCHES = ("force", "spreadsheet_safe", "publish_proof", "strict")
"""Fields of what `Release.save` does or does not."""
_MADE = ("columns", "privacy", "algorithm", "parameters", "coarsen", "weights", "limits", "output", "suppression_limit")
"""Fields whose values are made before a function can take them, where the command itself writes to, and a parameter of
algorithms that functions have as well."""


def _declared(key: str) -> Declared:
    name, one = FLAGGED[key]
    able = [called for called, algorithm in ALGORITHMS.items() if name in parameters_of(algorithm)]
    return of_parameter(one, f"{one.help} For {', '.join(able)}.", options.OF_SOME)


if TYPE_CHECKING:

    class ReleaseSpec(_Request, frozen=True):
        """Everything that a request can say, with the parameters of algorithms that have an option."""

        def __init__(self, **said: Any) -> None: ...

else:
    ReleaseSpec = msgspec.defstruct(
        "ReleaseSpec",
        [(key, Annotated[Any, _declared(key)], None) for key in FLAGGED],
        bases=(_Request,),
        module=__name__,
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
    )


def _taken_by(function: Callable[..., Any]) -> set[str]:
    from shoal.request.request import Request

    taken = inspect.signature(function).parameters
    if any(one.kind == one.VAR_KEYWORD for one in taken.values()):
        return {*taken, *parameters_of(Request)}
    return set(taken)


def request_of(flags: Mapping[str, Any]) -> ReleaseSpec:
    """Return the request that the flags of a call make, on top of its spec file if it names one.

    Parameters
    ----------
    flags : mapping of str to object
        The options of a command by the names of the fields; what is missing or None was not said.
    """
    request = ReleaseSpec(
        columns=Columns(**_said(Columns, flags)),
        privacy=Privacy(**_said(Privacy, flags)),
        report=Report(**_said(Report, flags)),
        **_said(ReleaseSpec, flags),
    )
    file = flags.get("spec")
    return request if file is None else read_spec(file).overridden_by(request)


def _said(section: type[msgspec.Struct], flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return what flags say of the fields of a section, as the section has it."""
    said = {}
    for name, declared in declared_in(section).items():
        given = flags.get(name)
        if given is not None:
            said[name] = declared.read(declared.flag, given)
    return {name: value for name, value in said.items() if value is not None}


def read_spec(path: str | os.PathLike[str]) -> ReleaseSpec:
    """Read a request from a TOML file.

    Parameters
    ----------
    path : path
        The file. Relative paths in it start from its folder.

    Returns
    -------
    ReleaseSpec
        The request, checked for unknown keys and wrong types.

    Raises
    ------
    UsageError
        Where the file cannot be read, is no TOML, or has a key or a value that it cannot have.
    """
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))  # Windows editors write a mark first
    except OSError as error:
        raise UsageError(f"The spec file '{path}' cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"The spec file '{path}' is no TOML: {error}.") from error
    _refuse_unknown_keys(path, content)
    return _beside(path, request_in(content, f"The spec file '{path}'"))


def request_in(content: Mapping[str, Any], what: str = "The request") -> ReleaseSpec:
    """Return the request that the content of a spec file makes, its paths as they stand.

    Raises
    ------
    UsageError
        Where a key has a value that it cannot have; `what` is the subject of the message.
    """
    try:
        spec: ReleaseSpec = msgspec.convert(content, ReleaseSpec)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at ")
        raise UsageError(f"{what}, {place.strip('`$.') or 'top level'}: {problem}.") from error
    return spec


def _beside(path: Path, spec: ReleaseSpec) -> ReleaseSpec:
    """Return a request whose relative paths start from the folder of its file."""
    folder, privacy = path.parent, spec.privacy
    start, colon, file = (privacy.t_distance or "").partition(":")
    if file and start + colon in _READ_FROM:
        privacy = msgspec.structs.replace(privacy, t_distance=f"{start}:{folder / file}")
    if privacy.population is not None:
        privacy = msgspec.structs.replace(privacy, population=str(folder / privacy.population))
    coarsen = {name: beside(folder, words) for name, words in (spec.coarsen or {}).items()}
    trees = {name: str(folder / file) for name, file in (spec.hierarchies or {}).items()}
    files = {key: getattr(spec, key) for key, (_, declared) in FLAGGED.items() if declared.metavar == "FILE"}
    return msgspec.structs.replace(
        spec,
        privacy=privacy,
        coarsen=coarsen or None,
        hierarchies=trees or None,
        input=None if spec.input is None else _source_beside(path, spec.input),
        output=None if spec.output is None else str(folder / spec.output),
        **{key: str(folder / file) for key, file in files.items() if isinstance(file, str)},
    )


def _refuse_unknown_keys(path: Path, content: Mapping[str, Any]) -> None:
    sections: dict[str, type[msgspec.Struct]] = {
        "": ReleaseSpec,
        "columns": Columns,
        "privacy": Privacy,
        "report": Report,
    }
    for section, struct in sections.items():
        found = content if not section else content.get(section, {})
        for key in found if isinstance(found, Mapping) else ():
            if key in struct.__struct_fields__:
                continue
            elsewhere = [name for name, other in sections.items() if key in other.__struct_fields__]
            hint = (
                f"It belongs {f'in [{elsewhere[0]}]' if elsewhere[0] else 'above the first section'}."
                if elsewhere
                else near_matches(key, struct.__struct_fields__)
            )
            raise UsageError(
                f"The spec file '{path}' has an unknown key '{key}'{f' in [{section}]' if section else ''}. {hint}"
            )


def _source_beside(path: Path, source: str) -> str:
    """Return an input that a spec file names, where relative paths start from the file's folder."""
    relative_database = "sqlite:///"
    if source.startswith(relative_database) and not source.startswith(relative_database + "/"):
        return relative_database + str(path.parent.resolve() / source.removeprefix(relative_database))
    return source if "://" in source or source == STANDARD_INPUT else str(path.parent / source)


def _overridden(base: Any, by: Any) -> Any:
    """Return a struct with the fields of another one of its kind where those were given, section by section."""
    changes = {}
    for name in base.__struct_fields__:
        value = getattr(by, name)
        if isinstance(value, msgspec.Struct):
            changes[name] = _overridden(getattr(base, name), value)
        elif isinstance(value, dict):  # what is said of one column leaves the others as they are
            changes[name] = {**(getattr(base, name) or {}), **value}
        elif value is not None:
            changes[name] = value
    return msgspec.structs.replace(base, **changes)
