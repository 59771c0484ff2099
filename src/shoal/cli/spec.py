"""A request as a value, from flags or from a TOML file: both say the same things, and flags override the file."""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from shoal.cli.coarsenings import beside, coarsenings_of, columns_and_words
from shoal.cli.options import as_number, names_in
from shoal.errors import UsageError, did_you_mean, near_matches
from shoal.io.readers import STANDARD_INPUT

if TYPE_CHECKING:
    from shoal.algorithms import Algorithm
    from shoal.models import GroundDistance, PrivacyModel

__all__ = ["Columns", "Privacy", "ReleaseSpec", "read_spec", "request_of"]

Number = int | float | str
"""A number, or a text that is one ("1/3")."""


class Columns(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which column plays which role."""

    quasi_identifiers: tuple[str, ...] | None = None
    sensitive: tuple[str, ...] | None = None
    direct_identifiers: tuple[str, ...] | None = None
    insensitive: tuple[str, ...] | None = None


class Privacy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parameters of the requested models; a model is requested by its parameter."""

    k: Number | None = None
    l: Number | None = None
    l_variant: str | None = None
    c: Number | None = None
    alpha: Number | None = None
    beta: Number | None = None
    beta_variant: str | None = None
    delta: Number | None = None
    e: Number | None = None
    t: Number | None = None
    t_distance: str | None = None
    t_order: tuple[str, ...] | None = None

    def models(self) -> list[PrivacyModel]:
        """Return the requested models.

        Raises
        ------
        UsageError
            Where a parameter lacks the one that it belongs to, or a model refuses its parameters.
        """
        from shoal.models import (
            AlphaKAnonymity,
            BetaLikeness,
            DeltaDisclosure,
            KAnonymity,
            KEAnonymity,
            LDiversity,
            TCloseness,
        )

        for dependent, needed in _BELONGS_TO.items():
            if getattr(self, dependent) is not None and getattr(self, needed) is None:
                raise UsageError(f"{_flag(dependent)} needs {_flag(needed)}: give both.")
        given: dict[str, Any] = {
            name: as_number(_flag(name), value) if name in _NUMBERS else value
            for name, value in msgspec.structs.asdict(self).items()
            if value is not None
        }
        k = {"k": given["k"]} if "k" in given else {}
        models: list[PrivacyModel] = []
        if "l" in given:
            kept = {"l_variant": "variant", "c": "c"}
            models.append(LDiversity(given["l"], **{kept[name]: given[name] for name in kept if name in given}))
        if "alpha" in given:
            models.append(AlphaKAnonymity(alpha=given["alpha"], **k))
        if "e" in given:
            models.append(KEAnonymity(e=given["e"], **k))
        if k and not {"alpha", "e"} & set(given):
            models.append(KAnonymity(**k))
        if "beta" in given:
            variant = {"variant": given["beta_variant"]} if "beta_variant" in given else {}
            models.append(BetaLikeness(given["beta"], **variant))
        if "delta" in given:
            models.append(DeltaDisclosure(given["delta"]))
        if "t" in given:
            models.append(TCloseness(given["t"], distance=_ground_distance(self.t_distance or "equal", self.t_order)))
        return models


_NUMBERS = ("k", "l", "c", "alpha", "beta", "delta", "e", "t")
_BELONGS_TO = {
    "l_variant": "l",
    "c": "l",
    "alpha": "k",
    "beta_variant": "beta",
    "e": "k",
    "t_distance": "t",
    "t_order": "t_distance",
}
_OF_ALGORITHMS = ("time_limit", "suppression_limit", "cost", "local", "patterns")
"""Settings that are parameters of single algorithms."""
_READ_FROM = ("file:", "hierarchy:")
"""What `t_distance` starts with where a file says how far apart two values are."""


def _ground_distance(named: str, order: Sequence[str] | None) -> GroundDistance:
    """Return the ground distance that --t-distance names."""
    from shoal.hierarchy import Hierarchy
    from shoal.models import Equal, Hierarchical, MetricDistance, Ordered

    kind, colon, path = named.partition(":")
    if order is not None and named != "ordered":
        raise UsageError("--t-order is for --t-distance ordered. Leave it out, or name that distance.")
    if named == "equal":
        return Equal()
    if named == "ordered":
        return Ordered() if order is None else Ordered(order)
    if kind == "file" and path:
        return MetricDistance.from_csv(path)
    if kind == "hierarchy" and path:
        return Hierarchical(Hierarchy.from_csv(path))
    raise UsageError(
        "--t-distance must be equal, ordered, file:METRIC.csv or hierarchy:TREE.csv. "
        f"Got '{kind}{colon}{path}'. {did_you_mean(kind, ('equal', 'ordered', 'file', 'hierarchy'))}".rstrip()
    )


class ReleaseSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that the flags of `shoal anonymize` can say; None where nothing was said."""

    input: str | None = None
    output: str | None = None
    columns: Columns = Columns()
    privacy: Privacy = Privacy()
    algorithm: str | None = None
    time_limit: Number | None = None
    suppression_limit: Number | None = None
    cost: str | None = None
    local: bool | None = None
    patterns: str | tuple[str | tuple[str, ...], ...] | None = None
    coarsen: dict[str, str] | None = None
    hierarchies: dict[str, str] | None = None
    recoding: str | None = None
    largest_set: int | None = None
    seed: int | None = None
    keep_order: bool | None = None
    missing_sensitive: str | None = None
    star: str | None = None
    dates: dict[str, str] | None = None
    decimal: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    format: str | None = None
    spreadsheet_safe: bool | None = None
    publish_proof: bool | None = None
    force: bool | None = None
    json: bool | None = None

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
        flags = {name: bool(getattr(self, name)) for name in ("force", "spreadsheet_safe", "publish_proof")}
        return {"format": self.format, **flags}

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

    def arguments(self, *names: str, source: str | None = None) -> dict[str, Any]:
        """Return the columns, and those of the named settings that were given, as arguments of a call.

        Parameters
        ----------
        *names : str
            The settings.
        source : str, optional
            The table, where it is not the request's own input; its columns are named to those who named none.

        Raises
        ------
        UsageError
            Where no quasi-identifiers were named.
        """
        if self.columns.quasi_identifiers is None:
            raise UsageError(
                "Name the quasi-identifiers with --qi age,zip,... (or quasi_identifiers = [...] in the spec file)."
                f"{self._columns_to_choose_from(source)}"
            )
        values = msgspec.structs.asdict(self.columns) | {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value is not None}

    def preparations(self) -> dict[str, Any]:
        """Return the coarsenings and the hierarchies of columns, as arguments of a call.

        Raises
        ------
        UsageError
            Where a coarsening is none.
        """
        coarsen = {"coarsen": coarsenings_of(self.coarsen)} if self.coarsen else {}
        return coarsen | ({"hierarchies": self.hierarchies} if self.hierarchies else {})

    def chosen(self, *algorithms: str) -> list[str | Algorithm]:
        """Return algorithms as the library takes them: by name, or with the parameters of their own that were given.

        Raises
        ------
        UsageError
            Where a parameter was given that none of them has; names those that do.
        """
        given = {name: getattr(self, name) for name in _OF_ALGORITHMS if getattr(self, name) is not None}
        if not given:
            return list(algorithms)
        from shoal.algorithms import ALGORITHMS, Patterns

        changed: dict[str, Any] = {}
        for change, said in given.items():
            value = said
            if change == "patterns":
                value = Patterns.from_file(said) if isinstance(said, str) else Patterns(said)
            elif change in ("time_limit", "suppression_limit"):
                value = as_number(_flag(change), said)
            able = [name for name, one in ALGORITHMS.items() if change in getattr(one, "__dataclass_fields__", {})]
            if not set(able) & set(algorithms):
                raise UsageError(f"{_flag(change)} needs an algorithm that has one: {', '.join(able)}. Name it.")
            for name in set(able) & set(algorithms):
                changed[name] = replace(changed.get(name, ALGORITHMS[name]), **{change: value})
        return [changed.get(name, name) for name in algorithms]

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


def request_of(flags: Mapping[str, Any]) -> ReleaseSpec:
    """Return the request that the flags of a call make, on top of its spec file if it names one.

    Parameters
    ----------
    flags : mapping of str to object
        The parameters of a command by their Python names; what is missing or None was not said.
    """
    lists = {
        "quasi_identifiers": "--qi",
        "sensitive": "--sensitive",
        "direct_identifiers": "--id",
        "insensitive": "--insensitive",
    }
    columns = {name: names_in(option, flags.get(name)) for name, option in lists.items()}
    said = {name: flags[name] for name in ReleaseSpec.__struct_fields__ if flags.get(name) is not None}
    if "output" in said:
        said["output"] = str(said["output"])
    for name, option in {"coarsen": "--coarsen", "hierarchies": "--hierarchy", "dates": "--date"}.items():
        if name in said:
            said[name] = columns_and_words(option, said[name])
    privacy = {name: flags.get(name) for name in Privacy.__struct_fields__}
    privacy["t_order"] = names_in("--t-order", flags.get("t_order"))
    request = ReleaseSpec(
        columns=Columns(**columns),
        privacy=Privacy(**privacy),
        **({"input": flags["source"]} if flags.get("source") is not None else {}),
        **said,
    )
    file = flags.get("spec")
    return request if file is None else read_spec(file).overridden_by(request)


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
    try:
        spec = msgspec.convert(content, ReleaseSpec)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at ")
        raise UsageError(f"The spec file '{path}', {place.strip('`$.') or 'top level'}: {problem}.") from error
    start, colon, file = (spec.privacy.t_distance or "").partition(":")
    privacy = spec.privacy
    if file and start + colon in _READ_FROM:
        privacy = msgspec.structs.replace(privacy, t_distance=f"{start}:{path.parent / file}")
    coarsen = {name: beside(path.parent, words) for name, words in (spec.coarsen or {}).items()}
    trees = {name: str(path.parent / file) for name, file in (spec.hierarchies or {}).items()}
    return msgspec.structs.replace(
        spec,
        privacy=privacy,
        coarsen=coarsen or None,
        hierarchies=trees or None,
        input=None if spec.input is None else _beside(path, spec.input),
        output=None if spec.output is None else str(path.parent / spec.output),
        patterns=str(path.parent / spec.patterns) if isinstance(spec.patterns, str) else spec.patterns,
    )


def _refuse_unknown_keys(path: Path, content: Mapping[str, Any]) -> None:
    sections: dict[str, type[msgspec.Struct]] = {"": ReleaseSpec, "columns": Columns, "privacy": Privacy}
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


def _beside(path: Path, source: str) -> str:
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


def _flag(name: str) -> str:
    return f"-{name}" if name in ("k", "l", "t") else f"--{name.replace('_', '-')}"
