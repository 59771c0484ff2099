"""Publishing a table: what is asked of it is read and checked, the table prepared; `shoal.stages` has the rest."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

import numpy as np

from shoal._compiling.notices import listening
from shoal._messages import Suggestion
from shoal._progress import Clock, Progress, shown_progress
from shoal._validation import Boolean, Constraint, Integer, OneOf, Optional, Symbol, validate
from shoal.algorithms import PREFERENCES, Preferences, choose
from shoal.engines import ENGINES, Streamed, cells_in_memory, chosen_engine, count_cells, partition_cells, with_values
from shoal.errors import ColumnError, DataError, InfeasibleError, ParameterError, near_matches
from shoal.hierarchy import as_hierarchy, automatic_hierarchy, coarsen_columns, tree_after
from shoal.models import Requirement, asked_models
from shoal.opening import open_data, roles, understood
from shoal.population import population_of
from shoal.recoding import LARGEST_SET, METHODS
from shoal.release_of_cells import CountedRelease
from shoal.stages import (
    STEPS,
    Encoded,
    Prepared,
    Request,
    drawn,
    least_losses_meanwhile,
    partition_and_recode,
    verified,
)
from shoal.table import Schema, encode

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.algorithms import Algorithm
    from shoal.engines import Engine, Source
    from shoal.hierarchy import Coarsening, Hierarchy
    from shoal.models import PrivacyModel
    from shoal.opening import OpenedData
    from shoal.release import Release
    from shoal.stages import Recoded
    from shoal.table import Column

__all__ = [
    "CONSTRAINTS",
    "Options",
    "all_options",
    "anonymize",
    "automatic_trees",
    "check_recodable",
    "columns_before",
    "encoded_columns",
    "encoded_table",
    "meant",
    "prepare",
    "ready",
    "requested",
    "rows_to_publish",
    "rows_without",
    "trees_of",
]


class Options(TypedDict, total=False):
    """What else `anonymize` takes, for those who call it: parameters of the same names, with the same meaning."""

    coarsen: Mapping[str | tuple[str, ...], Coarsening] | None
    hierarchies: Mapping[str, Hierarchy | str | PathLike[str]] | None
    recoding: Literal["suppression", "generalization"]
    largest_set: int
    weights: Mapping[str, float] | None
    limits: Mapping[str, tuple[int, int]] | None
    suppression_limit: float | None
    direct_identifiers: Sequence[str]
    insensitive: str | Sequence[str]
    missing_sensitive: str
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
    weights: Mapping[str, float] | None = None,
    limits: Mapping[str, tuple[int, int]] | None = None,
    suppression_limit: float | None = None,
    direct_identifiers: Sequence[str] = (),
    insensitive: str | Sequence[str] = (),
    missing_sensitive: str = "error",
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
        "weights": weights,
        "limits": limits,
        "suppression_limit": suppression_limit,
        "direct_identifiers": direct_identifiers,
        "insensitive": insensitive,
        "missing_sensitive": missing_sensitive,
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
            by = chosen_engine(engine, memory, data)
            schema = roles(quasi_identifiers, sensitive, direct_identifiers, insensitive)
            if by.streams:
                source = by.open(data, delimiter=delimiter, encoding=encoding)
                schema = schema.with_rest(source.columns)
                check_recodable(schema, source.columns, options)
                request = requested(schema, privacy, algorithm, options)
                request = _of_cells(request, source, by)
                opened = meant(count_cells(source, request.schema, by.budget), request, options)
            else:
                opened = open_data(data, delimiter=delimiter, encoding=encoding, sheet=sheet)
                schema = schema.with_rest(opened.frame.columns)
                check_recodable(schema, opened.frame.columns, options)
                request = requested(schema, privacy, algorithm, options)
                counted = cells_in_memory(opened, request)
                opened = meant(opened if counted is None else counted, request, options)
        try:
            recoded = _recoded(opened, request, by, clock)
        except InfeasibleError:
            recoded = _recoded(_by_rows(opened, request, options, clock), request, by, clock)
        release = verified(recoded, clock)
        if by.streams and isinstance(release, CountedRelease):
            release = _of_rows(source.released(release), recoded, source, schema, by, clock)
    if output is not None:
        release.save(output)
    return release


def _of_cells(request: Request, source: Source, by: Engine) -> Request:
    """Return what is asked of the cells of a table: insensitive columns are put beside their release (`_of_rows`).

    It is checked first that the engine can do all of it.
    """
    by.check(request)
    names = request.schema.insensitive
    if names and isinstance(source, Streamed):
        source.check_values(names, by.budget)
    return replace(request, schema=replace(request.schema, insensitive=()))


def _of_rows(
    release: CountedRelease, recoded: Recoded, source: Source, schema: Schema, by: Engine, clock: Clock
) -> CountedRelease:
    """Return the release of a table, made of that of its cells."""
    if not schema.insensitive or not isinstance(source, Streamed):
        return release
    return with_values(release, recoded, source, schema, by.budget, clock)


def _by_rows(opened: OpenedData, request: Request, options: Options, clock: Clock) -> OpenedData:
    """Return the rows of a table that was counted in memory; else let the error pass that is being handled."""
    if opened.origin is None:
        raise  # noqa: PLE0704
    with clock.step("read"):  # the message names rows
        return meant(opened.origin, request, options)


def _recoded(opened: OpenedData, request: Request, by: Engine, clock: Clock) -> Recoded:
    """Prepare, partition and recode an input: cells with counts, or rows."""
    prepared = prepare(opened, request, clock)
    losses = None if by.streams else least_losses_meanwhile(prepared, clock)
    counted = opened.counts is not None
    recoded = partition_cells(prepared, by, clock) if counted else partition_and_recode(prepared, clock)
    return replace(recoded, losses=losses)


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
        star=options["star"],
        keep_order=options["keep_order"],
        missing_sensitive=options["missing_sensitive"],
        seed=options["seed"],
        coarsen=options["coarsen"] or {},
        hierarchies=trees,
        preferences=preferences,
    )


def meant(opened: OpenedData, request: Request, options: Options) -> OpenedData:
    """Return an input with dates and numbers in place of the text that they are written as; see `understood`."""
    _, rows = rows_to_publish(opened.frame, request.schema, request.missing_sensitive, opened.counts)
    return understood(
        opened,
        request.schema,
        request.requirement,
        dates=options["dates"],
        decimal=options["decimal"],
        coarsen=options["coarsen"],
        hierarchies=options["hierarchies"],
        rows=rows,
    )


def prepare(opened: OpenedData, request: Request, clock: Clock) -> Prepared:
    """Make an input ready for the algorithm of a request: leave rows out, coarsen, encode, and check what is asked.

    Parameters
    ----------
    opened : OpenedData
        The input; it has the columns that the request speaks of.
    request : Request
    clock : Clock
        Measures the steps "coarsen" and "encode".

    Raises
    ------
    UsageError
        The data does not fit the request.
    InfeasibleError
        No release can satisfy it.
    """
    frame, rows = rows_to_publish(opened.frame, request.schema, request.missing_sensitive, opened.counts)
    encoded = encoded_table(frame, request, clock)
    if opened.counts is not None:
        encoded = replace(encoded, table=replace(encoded.table, counts=opened.counts[rows]))
    with clock.step("encode"):
        return ready(encoded, request, opened, rows)


def ready(encoded: Encoded, request: Request, opened: OpenedData, rows: NDArray[np.int32]) -> Prepared:
    """Check what is asked of encoded columns, and bring them into the order in which they are partitioned.

    Parameters
    ----------
    encoded, request, opened, rows
        As for `shoal.stages.drawn`.

    Raises
    ------
    UsageError
        The data does not fit the request.
    InfeasibleError
        No release can satisfy it.
    """
    trees = encoded.trees
    request.preferences.check_heights(
        {name: trees[name].height if name in trees else 1 for name in request.schema.quasi_identifiers}
    )
    people = population_of(request.requirement, opened, encoded.table, request.coarsen)
    encoded.check(request.requirement, None if people is None else people.height)
    return replace(drawn(encoded, request, opened, rows), people=people)


def encoded_table(frame: pl.DataFrame, request: Request, clock: Clock) -> Encoded:
    """Coarsen and encode the rows to publish, as a request has it."""
    told = frame.get_column(request.schema.sensitive[0]) if request.schema.sensitive else None
    encoded = encoded_columns(frame, request.schema, request, told, clock)
    with clock.step("encode"):
        return replace(encoded, before=columns_before(frame, request.coarsen))


def encoded_columns(
    frame: pl.DataFrame, schema: Schema, request: Request, told: pl.Series | None, clock: Clock
) -> Encoded:
    """Coarsen and encode columns, with the hierarchies that they need.

    Parameters
    ----------
    frame : polars.DataFrame
        The columns.
    schema : Schema
        Their roles.
    request : Request
        What of its coarsenings and hierarchies concerns these columns is done.
    told : series, optional
        The (first) sensitive attribute, for hierarchies that are built automatically.
    clock : Clock
        Measures the steps "coarsen" and "encode".
    """
    names = schema.quasi_identifiers
    with clock.step("coarsen"):
        coarsened = coarsen_columns(frame, request.coarsen, names)
        trees = {
            name: tree_after(tree, request.coarsen.get(name))
            for name, tree in request.hierarchies.items()
            if name in names
        }
    with clock.step("encode"):
        table = encode(coarsened.frame, schema, of_intervals=coarsened.of_intervals)
        made = automatic_trees(coarsened.frame.select(names), told, known=trees) if request.climbs else {}
        return Encoded(
            table=table,
            trees=trees | made,
            automatic=frozenset(made),
            coarsened=coarsened.described,
            classes=coarsened.classes,
            pictures=coarsened.pictures,
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


def automatic_trees(
    columns: Iterable[pl.Series], told: pl.Series | None, *, known: Container[str] = ()
) -> dict[str, Hierarchy]:
    """Return a hierarchy for each quasi-identifier that has none, and has a value.

    Parameters
    ----------
    columns : iterable of series
        The quasi-identifiers as they will be partitioned.
    told : series, optional
        The (first) sensitive attribute.
    known : container of str
        The names of those that have one.
    """
    return {
        column.name: automatic_hierarchy(column, told)
        for column in columns
        if column.name not in known and column.null_count() < len(column)
    }


def columns_before(frame: pl.DataFrame, coarsen: Mapping[str | tuple[str, ...], Coarsening]) -> dict[str, Column]:
    """Return the columns that are coarsened as they were before: what a release loses is measured against them."""
    names = [name for key in coarsen for name in ((key,) if isinstance(key, str) else key)]
    if not names:
        return {}
    table = encode(frame.select(names), Schema(quasi_identifiers=tuple(names)))
    return {column.name: column for column in table.quasi_identifiers}


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
    "missing_sensitive": OneOf(("error", "value", "drop")),
    "star": Symbol(),
    "keep_order": Boolean(),
    "seed": Optional(Integer(low=0)),
}
"""What the options of a request may be."""


def rows_to_publish(
    frame: pl.DataFrame, schema: Schema, missing_sensitive: str, counts: NDArray[np.int64] | None = None
) -> tuple[pl.DataFrame, NDArray[np.int32]]:
    """Return the rows whose sensitive values are there (or may be missing), and their numbers.

    `counts` says how many rows of the input each row stands for, where that is not one.
    """
    rows = np.arange(frame.height, dtype=np.int32)
    if frame.height == 0:
        raise DataError("The table has no rows: there is nothing to publish.")
    if missing_sensitive == "value" or not schema.sensitive:
        return frame, rows
    absent = rows_without(frame, schema.sensitive)
    count = int(np.count_nonzero(absent))
    if count == 0:
        return frame, rows
    if missing_sensitive == "error":
        rows_missing = count if counts is None else int(counts[absent].sum())
        raise DataError(
            f"{rows_missing} row(s) miss a sensitive value. Say what that means: ",
            Suggestion("missing_sensitive", "value"),
            " makes it a value like any other, ",
            Suggestion("missing_sensitive", "drop"),
            " leaves the rows out.",
        )
    if count == frame.height:
        raise DataError("Every row misses a sensitive value: there is nothing to publish.")
    return frame.filter(~absent), rows[~absent]


def rows_without(frame: pl.DataFrame, names: Sequence[str]) -> NDArray[np.bool_]:
    """Return which rows miss a value of some column: null or NaN."""
    absent = np.zeros(frame.height, dtype=np.bool_)
    for name in names:
        column = frame.get_column(name)
        absent |= (column.fill_nan(None) if column.dtype.is_float() else column).is_null().to_numpy()
    return absent
