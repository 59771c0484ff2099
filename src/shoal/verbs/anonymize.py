"""Entry point `anonymize`: validate the request, prepare the table, run the pipeline."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

from shoal._core.compiling.notices import listening
from shoal._core.progress import Clock, Progress, shown_progress
from shoal._core.validation import Boolean, Constraint, Integer, OneOf, Optional, Symbol, validate
from shoal._messages import Suggestion
from shoal.algorithms import PREFERENCES, Preferences, choose
from shoal.engines import ENGINES, open_source
from shoal.errors import ColumnError, ParameterError, near_matches
from shoal.hierarchy import as_hierarchy
from shoal.models import Requirement, asked_models
from shoal.pipeline.input import roles
from shoal.pipeline.run import STEPS, run
from shoal.recoding import LARGEST_SET, METHODS
from shoal.request.request import Request

if TYPE_CHECKING:
    from shoal.algorithms import Algorithm
    from shoal.hierarchy import Coarsening, Hierarchy
    from shoal.models import PrivacyModel
    from shoal.release.release import Release
    from shoal.table import Schema

__all__ = [
    "CONSTRAINTS",
    "Options",
    "all_options",
    "anonymize",
    "check_recodable",
    "requested",
    "trees_of",
]


class Options(TypedDict, total=False):
    """What else `anonymize` takes, for those who call it: parameters of the same names, with the same meaning."""

    coarsen: Mapping[str | tuple[str, ...], Coarsening] | None
    hierarchies: Mapping[str, Hierarchy | str | PathLike[str]] | None
    recoding: Literal["suppression", "generalization"]
    largest_set: int
    exact_ends: bool
    weights: Mapping[str, float] | None
    limits: Mapping[str, tuple[int, int]] | None
    suppression_limit: float | None
    direct_identifiers: Sequence[str]
    insensitive: str | Sequence[str]
    missing_sensitive: str
    normalize: bool
    star: str
    keep_order: bool
    seed: int | None
    dates: Mapping[str, str] | None
    decimal: str | None
    delimiter: str | None
    encoding: str | None
    sheet: str | None


def anonymize(
    data: Any,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str | Sequence[str] | None = None,
    privacy: PrivacyModel | Sequence[PrivacyModel] | None = None,
    k: int | None = None,
    l: float | None = None,
    t: float | None = None,
    algorithm: str | Algorithm = "auto",
    coarsen: Mapping[str | tuple[str, ...], Coarsening] | None = None,
    hierarchies: Mapping[str, Hierarchy | str | PathLike[str]] | None = None,
    recoding: Literal["suppression", "generalization"] = "suppression",
    largest_set: int = LARGEST_SET,
    exact_ends: bool = False,
    weights: Mapping[str, float] | None = None,
    limits: Mapping[str, tuple[int, int]] | None = None,
    suppression_limit: float | None = None,
    direct_identifiers: Sequence[str] = (),
    insensitive: str | Sequence[str] = (),
    missing_sensitive: str = "error",
    normalize: bool = False,
    star: str = "*",
    keep_order: bool = False,
    seed: int | None = None,
    dates: Mapping[str, str] | None = None,
    decimal: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    engine: Literal["auto", "memory", "stream", "spark"] = "auto",
    memory: int | str | None = None,
    output: str | PathLike[str] | None = None,
    progress: Progress | bool | None = None,
) -> Release:
    """Make a release of a table that satisfies the privacy models, in every group of rows or as a whole, and verify it.

    Parameters
    ----------
    data : frame or path
        A pandas, Polars or Arrow table (anything that narwhals takes), a PySpark DataFrame, or a path to CSV, Parquet,
        Arrow or a workbook (.xlsx, .ods), or a database URL with a table. One row per person. It is not changed.
    quasi_identifiers : sequence of str
        Columns that an adversary knows from elsewhere. A missing value is a value of its own.
    sensitive : str or sequence of str, optional
        Columns that must not be linked to a person.
    privacy : PrivacyModel or sequence of PrivacyModel, optional
        What every group, or the release as a whole, must satisfy; several hold together.
    k, l, t : numbers, optional
        Short for `KAnonymity(k)`, `LDiversity(l)` and `TCloseness(t)`, which are added to `privacy`.
    algorithm : str or Algorithm, default "auto"
        A name ("tp+", "mondrian", ...) or an object such as `shoal.ThreePhase(refine="hilbert")`.
    coarsen : mapping of column to Coarsening, optional
        Quasi-identifiers to make less precise beforehand; a tuple of columns where a coarsening takes several.
    hierarchies : mapping of column to Hierarchy or path, optional
        For generalization: quasi-identifiers whose values become the lowest common ancestor of a group's values, in a
        tree or a file of it (a line per value, from the value to the root). The root reads as a star.
    recoding : {"suppression", "generalization"}
        Whether a value that differs within a group becomes a star, or the smallest interval or set that covers them.
    largest_set : int
        For generalization: a set of more values than this becomes a star. A set shows exact values, and whoever knows a
        person's finds out whether it is there; coarsen the column, or give it a hierarchy, for less precise groups.
    exact_ends : bool
        For generalization without a hierarchy. By default an interval has no end, and a set no member, that is the
        exact value of fewer than k records of the table (the k that is asked for, and at least 3): an end goes outward,
        to months, quarters, years, decades or to round numbers, until k records lie that near; a set becomes a star.
        True publishes the smallest intervals and sets, whose ends are mostly the value of a single record.
    weights : mapping of column to number, optional
        How much the loss of quasi-identifiers counts, each > 0, those that are not named 1: `{"age": 2}` keeps ages
        more precise at the cost of the others. The weighted loss is what the algorithm minimizes, so it must be one
        that minimizes a loss with weights ("full-domain", which "auto" takes then, "patterns", "patterns-optimal").
    limits : mapping of column to pair of int, optional
        The lowest and the highest level of its hierarchy, both included, at which a quasi-identifier may be published:
        0 is the values, the last one a star. Without a hierarchy there are these two. Suppressed rows are stars all the
        same. For algorithms that choose levels ("full-domain", which "auto" takes then).
    suppression_limit : number, optional
        The largest share of rows that may be suppressed, from 0 to 1, for algorithms that have such a limit
        ("full-domain", which "auto" takes then).
    direct_identifiers : sequence of str
        Columns that name a person: dropped.
    insensitive : sequence of str, or "rest"
        Columns that are published as they are; "rest" is all columns that have no other role. Look at them first: a
        column that nobody thought of may name people.
    missing_sensitive : {"error", "value", "drop"}
        What a missing sensitive value is: an error, a value like any other, or a reason to leave the row out.
    normalize : bool
        Whether to strip blanks at the ends and invisible characters (zero-width characters, soft hyphens, marks of
        direction) from sensitive values and quasi-identifiers that are text, and to compose their characters (Unicode
        NFC), before anything else; text of which nothing is left is missing. The normalized values are published.
        Without it, sensitive values that differ in this alone are an error.
    star : str
        What a suppressed cell shows; it must not be a value of the data, and has neither digits nor commas: numbers,
        dates, intervals and sets have them.
    keep_order : bool
        Whether the rows stay in the order of the input. By default they are sorted by what is published, which tells
        nothing of the input's order.
    seed : int, optional
        For reproducible experiments; by default randomness comes from the operating system.
    dates : mapping of column to str, optional
        How the dates of columns of text are written, as `strptime` has it ("%d.%m.%Y"). By default the one format that
        fits a whole column; where two fit, it must be said. What is published untouched is written as it was.
    decimal : {",", "."}, optional
        What stands before decimals in columns of text; found out by default.
    delimiter, encoding : str, optional
        Of a CSV file; detected by default.
    sheet : str, optional
        Of a workbook; needed where it has several.
    engine : {"auto", "memory", "stream", "spark"}
        "memory" reads the table as a whole. "stream" reads it in pieces, within `memory`, as a table may be that is
        larger: `data` is a path to Parquet or CSV, a folder of Parquet files, or a lazy frame, the values of
        insensitive columns must fit into the memory, and `release.data` is a lazy frame. "spark" lets Spark read and
        write it: `data` is a PySpark DataFrame, or Parquet by a path or URI that the active session reads; there are no
        insensitive columns, and `release.data` is a PySpark DataFrame. "auto" takes "spark" for PySpark DataFrames, and
        "stream" for folders, for tables that do not fit, and where `memory` is given.
    memory : int or str, optional
        How much memory the engines "stream" and "spark" may take in this process, in bytes or in words ("4GB"); half of
        the machine's by default. Spark's own processes take what its settings give them.
    output : path, optional
        A folder to save the release to, as `Release.save` does.
    progress : callable or bool, optional
        Called with (step, done, total) now and then; True draws a line with the steps, in notebooks and terminals.

    Returns
    -------
    Release
        `release.data` is the same kind of table as `data`, or a lazy frame.

    Raises
    ------
    UsageError
        The call or the data is wrong; the message says what to change.
    InfeasibleError
        No release can satisfy the models; the message names the best that is feasible.
    ReleaseUnsafeError
        The release failed its verification. Please report it.
    """
    options: Options = {
        "coarsen": coarsen,
        "hierarchies": hierarchies,
        "recoding": recoding,
        "largest_set": largest_set,
        "exact_ends": exact_ends,
        "weights": weights,
        "limits": limits,
        "suppression_limit": suppression_limit,
        "direct_identifiers": direct_identifiers,
        "insensitive": insensitive,
        "missing_sensitive": missing_sensitive,
        "normalize": normalize,
        "star": star,
        "keep_order": keep_order,
        "seed": seed,
        "dates": dates,
        "decimal": decimal,
    }
    validate("anonymize", {**options, "engine": engine}, {**CONSTRAINTS, "engine": OneOf(ENGINES)})
    privacy = asked_models(privacy, k=k, l=l, t=t)
    with shown_progress(progress) as told, listening(clock := Clock(STEPS, told)):
        with clock.step("read"):
            source = open_source(
                data, engine=engine, memory=memory, delimiter=delimiter, encoding=encoding, sheet=sheet
            )
            schema = roles(quasi_identifiers, sensitive, direct_identifiers, insensitive).with_rest(source.columns)
            check_recodable(schema, source.columns, options)
            request = requested(schema, privacy, algorithm, options)
        release = run(request, source, clock, dates=dates, decimal=decimal)
    if output is not None:
        release.save(output)
    return release


def requested(
    schema: Schema, privacy: PrivacyModel | Sequence[PrivacyModel], algorithm: str | Algorithm, options: Options
) -> Request:
    """Return what is asked for a table, with the algorithm chosen; `options` are complete but for those of reading.

    Raises
    ------
    UsageError
        Something of it is wrong.
    """
    requirement = Requirement.of(privacy, schema.sensitive)
    trees = trees_of(options["hierarchies"] or {}, schema.quasi_identifiers)
    preferred: dict[str, object] = {name: options[name] for name in PREFERENCES}  # type: ignore[literal-required]
    preferences = Preferences.of(schema.quasi_identifiers, **preferred)
    chosen, reason = choose(algorithm, requirement, options["recoding"], preferences)
    return Request(
        schema=schema,
        requirement=requirement,
        algorithm=chosen,
        reason=reason,
        recoding=options["recoding"],
        largest_set=options["largest_set"],
        exact_ends=options["exact_ends"],
        star=options["star"],
        keep_order=options["keep_order"],
        missing_sensitive=options["missing_sensitive"],
        normalize=options["normalize"],
        seed=options["seed"],
        coarsen=options["coarsen"] or {},
        hierarchies=trees,
        preferences=preferences,
    )


def check_recodable(schema: Schema, columns: Sequence[str], options: Options) -> None:
    """Check that a table has the columns of a schema, and that something of it can be published as it is asked."""
    schema.check(columns)
    if not schema.published:
        raise ColumnError("No column is left to publish. Name quasi-identifiers, sensitive or insensitive columns.")
    if "" in schema.published:
        raise ColumnError("A column without a name cannot be published. Name it, or make it a direct identifier.")
    if options["hierarchies"] and options["recoding"] != "generalization":
        raise ParameterError(
            "Hierarchies need ",
            Suggestion("recoding", "generalization"),
            ": suppression publishes values and stars only.",
        )


def trees_of(
    hierarchies: Mapping[str, Hierarchy | str | PathLike[str]], allowed: Sequence[str]
) -> dict[str, Hierarchy]:
    """Return the hierarchies of columns, read from their files where paths were given."""
    if not isinstance(hierarchies, Mapping):
        raise ParameterError(
            f"The 'hierarchies' parameter must map names of columns to hierarchies. Got {type(hierarchies).__name__}."
        )
    for name in hierarchies:
        if name not in allowed:
            raise ColumnError(
                f"The column '{name}' cannot have a hierarchy: it is no quasi-identifier. {near_matches(name, allowed)}"
            )
    return {name: as_hierarchy(f"The hierarchy of '{name}'", given) for name, given in hierarchies.items()}


def all_options(owner: Callable[..., Any], given: Options) -> Options:
    """Return the options of a request, with the defaults of `anonymize` for those that were not given.

    Raises
    ------
    ParameterError
        There is no such option.
    """
    own = [name for name, one in inspect.signature(owner).parameters.items() if one.kind != one.VAR_KEYWORD]
    for name in given:
        if name not in Options.__annotations__:
            hint = near_matches(name, [*own, *Options.__annotations__])
            raise ParameterError(f"{owner.__name__} has no parameter '{name}'. {hint}")
    defaults = {name: one.default for name, one in inspect.signature(anonymize).parameters.items()}
    complete: Any = {name: defaults[name] for name in Options.__annotations__} | given
    return cast(Options, complete)


CONSTRAINTS: Mapping[str, Constraint] = {
    "recoding": OneOf(tuple(METHODS)),
    "largest_set": Integer(low=1),
    "exact_ends": Boolean(),
    "missing_sensitive": OneOf(("error", "value", "drop")),
    "normalize": Boolean(),
    "star": Symbol(),
    "keep_order": Boolean(),
    "seed": Optional(Integer(low=0)),
}
"""What the options of a request may be."""
