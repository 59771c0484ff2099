"""Publishing a table, step by step: read, encode, partition, recode, verify."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

import numpy as np

from shoal._messages import Suggestion
from shoal._progress import Clock, Progress
from shoal._validation import Boolean, Constraint, Integer, NotBlank, OneOf, Optional, validate
from shoal.algorithms import Problem, choose, lower_bound, table_counts
from shoal.certificate import Certificate, Cost
from shoal.errors import ColumnError, DataError, InfeasibleError, InternalError, ParameterError, near_matches
from shoal.hierarchy import Coarsening, as_hierarchy, automatic_hierarchy, coarsen_columns, tree_after
from shoal.io import as_written, reads_alike
from shoal.metrics import Metrics
from shoal.models import Requirement
from shoal.opening import open_data, roles, understood
from shoal.recoding import LARGEST_SET, METHODS, canonical_order, check_coverage, compose, published_frame, recode
from shoal.release import Release
from shoal.table import KEYED, Schema, encode, fingerprint, new_salt
from shoal.verification import verify

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.algorithms import Algorithm, Partition
    from shoal.hierarchy import Hierarchy
    from shoal.models import PrivacyModel
    from shoal.table import Column, Table

__all__ = [
    "CONSTRAINTS",
    "Options",
    "all_options",
    "anonymize",
    "automatic_trees",
    "coarsenings_for_readers",
    "columns_before",
    "drawn_order",
    "input_hash",
    "rows_to_publish",
    "trees_of",
]


class Options(TypedDict, total=False):
    """What else `anonymize` takes, for those who call it: parameters of the same names, with the same meaning."""

    coarsen: Mapping[str | tuple[str, ...], Coarsening] | None
    hierarchies: Mapping[str, Hierarchy | str | PathLike[str]] | None
    recoding: Literal["suppression", "generalization"]
    largest_set: int
    direct_identifiers: Sequence[str]
    insensitive: Sequence[str]
    missing_sensitive: str
    star: str
    keep_order: bool
    seed: int | None
    dates: Mapping[str, str] | None
    decimal: str | None
    delimiter: str | None
    encoding: str | None
    sheet: str | None


_STEPS = ("read", "coarsen", "encode", "partition", "recode", "verify", "bound")
_SHOWN_ROWS = 20
"""Row numbers that a message lists; the error itself has them all."""


def anonymize(
    data: Any,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str | Sequence[str] | None = None,
    privacy: PrivacyModel | Sequence[PrivacyModel],
    algorithm: str | Algorithm = "auto",
    coarsen: Mapping[str | tuple[str, ...], Coarsening] | None = None,
    hierarchies: Mapping[str, Hierarchy | str | PathLike[str]] | None = None,
    recoding: Literal["suppression", "generalization"] = "suppression",
    largest_set: int = LARGEST_SET,
    direct_identifiers: Sequence[str] = (),
    insensitive: Sequence[str] = (),
    missing_sensitive: str = "error",
    star: str = "*",
    keep_order: bool = False,
    seed: int | None = None,
    dates: Mapping[str, str] | None = None,
    decimal: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    progress: Progress | None = None,
) -> Release:
    """Make a release of a table in which every group of rows satisfies the privacy models, and verify it.

    Parameters
    ----------
    data : frame or path
        A pandas, Polars or Arrow table (anything that narwhals takes), or a path to CSV, Parquet, Arrow or a workbook
        (.xlsx, .ods), or a database URL with a table. One row per person. It is not changed.
    quasi_identifiers : sequence of str
        Columns that an adversary knows from elsewhere. A missing value is a value of its own.
    sensitive : str or sequence of str, optional
        Columns that must not be linked to a person.
    privacy : PrivacyModel or sequence of PrivacyModel
        What every group must satisfy; several hold together.
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
    direct_identifiers : sequence of str
        Columns that name a person: dropped.
    insensitive : sequence of str
        Columns that are published as they are.
    missing_sensitive : {"error", "value", "drop"}
        What a missing sensitive value is: an error, a value like any other, or a reason to leave the row out.
    star : str
        What a suppressed cell shows; it must not be a value of the data.
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
    progress : callable, optional
        Called with (step, done, total) now and then.

    Returns
    -------
    Release
        `release.data` is the same kind of table as `data`.

    Raises
    ------
    UsageError
        The call or the data is wrong; the message says what to change.
    InfeasibleError
        No release can satisfy the models; the message names the best that is feasible.
    ReleaseUnsafeError
        The release failed its verification. Please report it.
    """
    validate(
        "anonymize",
        {
            "recoding": recoding,
            "largest_set": largest_set,
            "missing_sensitive": missing_sensitive,
            "star": star,
            "keep_order": keep_order,
            "seed": seed,
        },
        CONSTRAINTS,
    )
    clock = Clock(_STEPS, progress)
    with clock.step("read"):
        opened = open_data(data, delimiter=delimiter, encoding=encoding, sheet=sheet)
        schema = roles(quasi_identifiers, sensitive, direct_identifiers, insensitive)
        schema.check(opened.frame.columns)
        _check_published(schema)
        requirement = Requirement.of(privacy, schema.sensitive)
        came = opened.frame
        opened, forms = understood(
            opened, schema, requirement, dates=dates, decimal=decimal, coarsen=coarsen, hierarchies=hierarchies
        )
        _check_hierarchies(hierarchies, recoding)
        given = trees_of(hierarchies or {}, schema.quasi_identifiers)
        chosen, reason = choose(algorithm, requirement, recoding)
        frame, rows = rows_to_publish(opened.frame, schema, missing_sensitive)
    with clock.step("coarsen"):
        coarse, coarsened, pictures = coarsen_columns(frame, coarsen or {}, schema.quasi_identifiers)
        trees = {name: tree_after(tree, (coarsen or {}).get(name)) for name, tree in given.items()}
    with clock.step("encode"):
        table = encode(coarse, schema)
        before = columns_before(frame, coarsen or {})
        made: dict[str, Hierarchy] = {}
        if recoding == "generalization" and getattr(chosen, "hierarchical", False):
            told = coarse.get_column(table.sensitive[0].name) if table.sensitive else None
            made = automatic_trees(coarse.select(schema.quasi_identifiers), told, known=trees)
            trees |= made
        for column in table.quasi_identifiers:
            if column.name in trees:
                check_coverage(column, trees[column.name])
        requirement.check_feasible(table_counts(table))
        rng = np.random.default_rng(secrets.randbits(256) if seed is None else seed)
        shuffled = drawn_order(table, rng, keep_order=keep_order)
        if shuffled is not None:
            table, rows = table.gather(shuffled), rows[shuffled]
            before = {name: column.gather(shuffled) for name, column in before.items()}
        original = table.with_quasi_identifiers(before)
        digest, salt = input_hash(
            came, original if reads_alike(came, opened.frame, forms) else _as_it_came(came, schema)
        )
    with clock.step("partition"):
        try:
            partition = chosen.partition(
                Problem(
                    table=table,
                    requirement=requirement,
                    rng=rng,
                    progress=clock.progress,
                    recoding=recoding,
                    hierarchies=trees,
                    largest_set=largest_set,
                )
            )
        except InfeasibleError as error:
            raise _with_row_numbers(error, rows) from error
        _check_partition(partition, table.rows, len(table.quasi_identifiers))
    with clock.step("recode"):
        recoded = recode(
            table,
            partition.groups,
            partition.count,
            method=recoding,
            star=star,
            hierarchies=trees,
            least=partition.least,
            largest_set=largest_set,
        )
        published, order = published_frame(table, recoded, partition.groups, keep_order=keep_order, compact=True)
        rows = rows[order]
        del order  # as much memory as a column of the input
        if keep_order:
            published, rows = published[np.argsort(rows)], np.sort(rows)
    with clock.step("verify"):
        if published.height != table.rows:
            raise InternalError("a release has more or fewer rows than were to be published")
        achieved = verify(
            published,
            quasi_identifiers=schema.quasi_identifiers,
            sensitive=schema.sensitive,
            requirement=requirement,
            published=schema.published,
        )
    with clock.step("bound"):
        bound = lower_bound(table, requirement, target=recoded.recoded_cells)
        bound = bound.sharpened(partition.guarantee)
        if bound.stars > recoded.recoded_cells:
            raise InternalError("a lower bound exceeds what a release costs")
    metrics = Metrics(
        original,
        compose(original, table, recoded),
        partition.groups,
        k=requirement.k,
    )
    certificate = Certificate(
        version=version("shoal"),
        algorithm=chosen.name,
        reason=reason,
        parameters={
            **chosen.parameters(),
            "coarsen": coarsened,
            "hierarchies": {name: {**tree.to_dict(), "automatic": name in made} for name, tree in trees.items()},
            "recoding": recoding,
            **({"largest_set": largest_set} if recoding == "generalization" else {}),
            "star": star,
            "keep_order": keep_order,
            "missing_sensitive": missing_sensitive,
            "read_as": {name: form.to_dict() for name, form in forms.items()},
        },
        seed=seed,
        input=_described(schema, rows=opened.frame.height, published=table.rows, digest=digest),
        requested=requirement.to_list(),
        achieved=achieved.to_dict(),
        cost=Cost.of(recoded, bound, gcp=metrics.gcp),
        guarantee=partition.guarantee,
        details=partition.facts,
        seconds=clock.seconds(),
        for_readers={
            "recoding": recoding,
            "star": star,
            "keep_order": keep_order,
            "missing_sensitive": missing_sensitive,
            "coarsen": coarsenings_for_readers(coarsen or {}),
            "hierarchies": {name: {"height": tree.height} for name, tree in given.items()},
        },
    )
    return Release(
        frame=published,
        schema=schema,
        requirement=requirement,
        certificate=certificate,
        metrics=metrics,
        rows=rows,
        salt=salt,
        source_format=opened.format,
        restore=opened.restore.of(as_written(published, forms, star=star)),
        forms=forms,
        pictures=pictures,
    )


def _described(schema: Schema, *, rows: int, published: int, digest: str) -> dict[str, Any]:
    """Return what the certificate says of the input."""
    return {
        "rows": rows,
        "rows_left_out": rows - published,
        "quasi_identifiers": list(schema.quasi_identifiers),
        "sensitive": list(schema.sensitive),
        "insensitive": list(schema.insensitive),
        "direct_identifiers": list(schema.direct_identifiers),
        "sha256": digest,
        "keyed": KEYED,
    }


def coarsenings_for_readers(coarsen: Mapping[str | tuple[str, ...], Coarsening]) -> dict[str, dict[str, Any]]:
    """Return coarsenings as they were asked for: without what became of them on a table, and without a seed."""
    return {
        key if isinstance(key, str) else ",".join(key): {
            name: value for name, value in coarsening.to_dict().items() if name != "seed"
        }
        for key, coarsening in coarsen.items()
    }


def input_hash(frame: pl.DataFrame, table: Table, salt: str | None = None) -> tuple[str, str]:
    """Return the keyed hash of an input: of all of its rows, before any coarsening, without the direct identifiers.

    A release does not depend on the direct identifiers, so that its provenance can be shown with a copy of the table
    from which they were removed.

    Parameters
    ----------
    frame : polars.DataFrame
        The input.
    table : Table
        Its rows as they were before any coarsening, encoded, in any order; some may be left out.
    salt : str, optional
        The key, as hexadecimal digits; a new one by default.

    Returns
    -------
    digest, salt : str
    """
    salt = new_salt() if salt is None else salt
    if table.rows != frame.height:
        table = _as_it_came(frame, table.schema)
    order = canonical_order(table) if _told_apart(table) else None
    return fingerprint(table, order, key=bytes.fromhex(salt)), salt


def _as_it_came(frame: pl.DataFrame, schema: Schema) -> Table:
    return encode(frame.select(schema.published), replace(schema, direct_identifiers=()))


def _told_apart(table: Table) -> bool:
    """Return whether rows differ in more than what classes and cells tell: algorithms do not see all columns then."""
    return bool(table.insensitive.width) or len(table.sensitive) > 1


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


def drawn_order(table: Table, rng: np.random.Generator, *, keep_order: bool = False) -> NDArray[np.int64] | None:
    """Return an order for the rows that tells nothing of how they came in, or None where theirs does not matter.

    Rows that an algorithm takes for equal differ to a reader where there are columns that it does not see: chance
    decides between them then, not the order that they came in.
    """
    if keep_order or _told_apart(table):
        return rng.permutation(canonical_order(table))
    return None


def columns_before(frame: pl.DataFrame, coarsen: Mapping[str | tuple[str, ...], Coarsening]) -> dict[str, Column]:
    """Return the columns that are coarsened as they were before: what a release loses is measured against them."""
    names = [name for key in coarsen for name in ((key,) if isinstance(key, str) else key)]
    if not names:
        return {}
    table = encode(frame.select(names), Schema(quasi_identifiers=tuple(names)))
    return {column.name: column for column in table.quasi_identifiers}


def _check_hierarchies(hierarchies: object, recoding: str) -> None:
    if hierarchies and recoding != "generalization":
        raise ParameterError(
            "Hierarchies need ",
            Suggestion("recoding", "generalization"),
            ": suppression publishes values and stars only.",
        )


def _check_published(schema: Schema) -> None:
    if not schema.published:
        raise ColumnError("No column is left to publish. Name quasi-identifiers, sensitive or insensitive columns.")
    if "" in schema.published:
        raise ColumnError("A column without a name cannot be published. Name it, or make it a direct identifier.")


def _with_row_numbers(error: InfeasibleError, rows: NDArray[np.int32]) -> InfeasibleError:
    """Return the error with the numbers that its rows have in the input, the first ones in its message."""
    if error.rows is None:
        return error
    numbers = np.sort(rows[error.rows])
    shown = ", ".join(map(str, numbers[:_SHOWN_ROWS].tolist())) + (", ..." if len(numbers) > _SHOWN_ROWS else "")
    return InfeasibleError(error, f" Numbers of these rows, counted from 0: {shown}.", rows=numbers)


def _check_partition(partition: Partition, rows: int, attributes: int) -> None:
    """Check what compiled code relies on: an algorithm may be the caller's own."""
    groups = partition.groups
    if groups.shape != (rows,) or not np.issubdtype(groups.dtype, np.integer):
        raise InternalError("an algorithm returned something else than one group number for each row")
    if groups.min() < 0 or groups.max() >= partition.count or not np.bincount(groups, minlength=partition.count).all():
        raise InternalError("an algorithm returned group numbers that are not 0, 1, ... without a gap")
    if partition.least is not None and partition.least.shape != (partition.count, attributes):
        raise InternalError("an algorithm returned something else than one least level for each group and attribute")


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
    "star": NotBlank(),
    "keep_order": Boolean(),
    "seed": Optional(Integer(low=0)),
}
"""What the options of a request may be."""


def rows_to_publish(
    frame: pl.DataFrame, schema: Schema, missing_sensitive: str
) -> tuple[pl.DataFrame, NDArray[np.int32]]:
    """Return the rows whose sensitive values are there (or may be missing), and their numbers."""
    rows = np.arange(frame.height, dtype=np.int32)
    if frame.height == 0:
        raise DataError("The table has no rows: there is nothing to publish.")
    if missing_sensitive == "value" or not schema.sensitive:
        return frame, rows
    absent = np.zeros(frame.height, dtype=np.bool_)
    for name in schema.sensitive:
        column = frame.get_column(name)
        absent |= (column.fill_nan(None) if column.dtype.is_float() else column).is_null().to_numpy()
    count = int(np.count_nonzero(absent))
    if count == 0:
        return frame, rows
    if missing_sensitive == "error":
        raise DataError(
            f"{count} row(s) miss a sensitive value. Say what that means: ",
            Suggestion("missing_sensitive", "value"),
            " makes it a value like any other, ",
            Suggestion("missing_sensitive", "drop"),
            " leaves the rows out.",
        )
    if count == frame.height:
        raise DataError("Every row misses a sensitive value: there is nothing to publish.")
    return frame.filter(~absent), rows[~absent]
