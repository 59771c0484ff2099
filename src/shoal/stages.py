"""The stages of a release, with one type at each step: `Prepared`, `Recoded`, `Release`.

`shoal.publish.prepare` makes a `Prepared` of a table and a request, `partition_and_recode` a `Recoded` of that, and
`verified` a release. Whoever publishes a table, compares algorithms or tunes a coarsening goes this way; nobody makes
the middle of it again. Only what `verified` returns may be published.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal._background import begun
from shoal._progress import silent
from shoal.algorithms import Problem, least_losses, loss_bound, lower_bound, populations_of
from shoal.certificate import Certificate, Cost, coarsenings_for_readers
from shoal.disclosure_risk import fitting, reidentification
from shoal.errors import InfeasibleError, InternalError
from shoal.input_hash import encoded_as_it_came, input_hash
from shoal.io import DateForm, as_written
from shoal.metrics import Metrics
from shoal.population import people_of_nodes
from shoal.recoding import canonical_order, check_coverage, compose, published_frame, recode
from shoal.release import Release
from shoal.release_of_cells import CountedRelease
from shoal.release_of_runs import ReleaseOfRuns, rows_of_runs
from shoal.request import Request
from shoal.table import KEYED, check_seen_apart
from shoal.verification import check_faithful, check_same_rows, declared_meanings, names_read_as, verify
from shoal.warnings import how_to_coarsen, original_warnings, published_warnings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal._messages import Part
    from shoal._progress import Clock
    from shoal.algorithms import LeastLosses, Partition
    from shoal.algorithms.base import PeopleOfNodes
    from shoal.hierarchy import Hierarchy
    from shoal.io import Forms
    from shoal.models import Requirement
    from shoal.opening import OpenedData
    from shoal.recoding import Recoding
    from shoal.table import Column, Table
    from shoal.verification import Achieved, Meaning
    from shoal.verification.counting import Fitting
    from shoal.warnings import Remark

__all__ = [
    "STEPS",
    "Encoded",
    "Prepared",
    "Recoded",
    "Request",
    "drawn",
    "generator",
    "least_losses_meanwhile",
    "partition_and_recode",
    "verified",
]

STEPS = ("read", "coarsen", "encode", "partition", "recode", "verify", "bound", "certify")
"""The steps of a release, as progress and certificates name them."""
_SHOWN_ROWS = 20
"""Row numbers that a message lists; the error itself has them all."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Encoded:
    """Columns after coarsening, encoded, in the order of the input, and what became of them on the way."""

    table: Table
    """The columns as algorithms see them."""
    before: Mapping[str, Column] = field(default_factory=dict)
    """Those that were coarsened, as they were: what a release loses is measured against them."""
    trees: Mapping[str, Hierarchy]
    """The hierarchies of quasi-identifiers, over the values after coarsening."""
    automatic: frozenset[str]
    """Those whose hierarchy was built automatically."""
    coarsened: Mapping[str, Any]
    """The coarsenings as a certificate describes them."""
    classes: Mapping[str, Mapping[str, Sequence[str]]]
    """For each column whose values are names of classes now: the values that each name stands for."""
    pictures: Mapping[str, Callable[[], str]]
    """What draws them."""

    def check(self, requirement: Requirement, people: int | None = None) -> None:
        """Check that the hierarchies have all values, and that some release can satisfy a requirement.

        Parameters
        ----------
        requirement : Requirement
        people : int, optional
            People of the population that models ask about.

        Raises
        ------
        UsageError
            A hierarchy lacks values, or a model cannot be asked of a sensitive attribute.
        InfeasibleError
            No release can satisfy the models.
        """
        for column in self.table.quasi_identifiers:
            if column.name in self.trees:
                check_coverage(column, self.trees[column.name])
        check_seen_apart((column.name, column.dictionary) for column in self.table.sensitive)
        requirement.check_feasible(populations_of(self.table), people)

    def entries(self, rows: NDArray[np.integer], counts: NDArray[np.int64]) -> Encoded:
        """Return some rows, which may be named several times and stand for so many rows of the input each."""
        before = {name: column.gather(rows) for name, column in self.before.items()}
        return replace(self, table=self.table.entries(rows, counts), before=before)

    def coarser(self, columns: Encoded) -> Encoded:
        """Return the same with some quasi-identifiers exchanged for coarser ones."""
        changed = {column.name: column for column in columns.table.quasi_identifiers}
        classes = {name: named for name, named in self.classes.items() if name not in changed}
        finer = {column.name: column for column in self.table.quasi_identifiers if column.name in changed}
        return replace(
            self,
            table=self.table.with_quasi_identifiers(changed),
            before={**finer, **self.before},
            trees={**self.trees, **columns.trees},
            automatic=(self.automatic - frozenset(changed)) | columns.automatic,
            coarsened={**self.coarsened, **columns.coarsened},
            classes={**classes, **columns.classes},
            pictures={**self.pictures, **columns.pictures},
        )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Prepared:
    """A table that is ready to be partitioned: its rows are in an order that tells nothing of how they came in."""

    request: Request
    opened: OpenedData
    """The input, before rows were left out."""
    rows: NDArray[np.int32]
    """The number in the input of each row of `table`."""
    encoded: Encoded
    """The columns; its tables are these, in the same order."""
    coded: Sequence[Column]
    """The quasi-identifiers before any coarsening, in the order of the input."""
    rng: np.random.Generator
    """Source of every random choice."""
    people: pl.DataFrame | None = None
    """The quasi-identifiers of the population that models ask about; None where none does."""

    @cached_property
    def meanings(self) -> dict[str, Meaning]:
        """What the published cells of each quasi-identifier stand for, as they are verified."""
        return self._meanings({})

    def _meanings(self, forms: Forms) -> dict[str, Meaning]:
        encoded, names = self.encoded, self.request.schema.quasi_identifiers
        said = {"coarsen": encoded.coarsened, "read_as": {name: form.to_dict() for name, form in forms.items()}}
        return declared_meanings(names, said, classes=encoded.classes, trees=encoded.trees)

    def fitting(self, forms: Forms | None = None) -> Fitting | None:
        """Return what counts the people who fit cells, as they are or written in some forms; None: no model asks."""
        if self.people is None:
            return None
        return fitting(self.people, star=self.request.star, meanings=self._meanings(forms) if forms else self.meanings)

    @property
    def table(self) -> Table:
        """The table as algorithms see it."""
        return self.encoded.table

    @cached_property
    def original(self) -> Table:
        """The same rows before any coarsening: what a release loses is measured against them."""
        return self.table.with_quasi_identifiers(self.encoded.before)

    def entries(self, rows: NDArray[np.integer], counts: NDArray[np.int64]) -> Prepared:
        """Return some rows, which may be named several times and stand for so many rows of the input each."""
        return replace(
            self,
            opened=self.opened.entries(self.rows[rows], counts),
            rows=np.arange(len(rows), dtype=np.int32),
            encoded=self.encoded.entries(rows, counts),
            coded=[column.gather(rows) for column in self.coded],
        )

    def problem(self, clock: Clock) -> Problem:
        """Return the table, what its release must satisfy, and how it will be recoded."""
        return Problem(
            table=self.table,
            requirement=self.request.requirement,
            rng=self.rng,
            progress=clock.progress,
            recoding=self.request.recoding,
            hierarchies=self.encoded.trees,
            largest_set=self.request.largest_set,
            people=self.people_of_nodes,
            preferences=self.request.preferences,
        )

    @cached_property
    def people_of_nodes(self) -> PeopleOfNodes | None:
        """Which nodes the people of a population fit, for algorithms; None where no model asks for that."""
        if self.people is None:
            return None
        return people_of_nodes(
            self.table,
            self.people,
            meanings=self.meanings,
            trees=self.encoded.trees,
            recoding=self.request.recoding,
            star=self.request.star,
        )

    def __repr__(self) -> str:
        return f"Prepared(rows={len(self.rows)}, algorithm={self.request.algorithm.name!r})"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Recoded:
    """A partition of a prepared table, and what each of its groups would publish. Nothing of it is verified yet."""

    prepared: Prepared
    partition: Partition
    recoding: Recoding
    """What every group publishes, in values of the prepared table; its sizes are rows of the input."""
    whole: Prepared | None = None
    """What was prepared, where `prepared` has entries of a plan in its place: so many rows of a cell in one group each.
    None: they are the same."""
    cells: NDArray[np.integer] | None = None
    """The row of `whole` that each row of `prepared` is of; None: they are the same."""
    engine: Mapping[str, Any] = field(default_factory=lambda: {"name": "memory", "parts": 1})
    """How the groups were found, as the certificate says it."""
    losses: Callable[[], LeastLosses] | None = None
    """Waits for what the rows lose at least, where that was begun to look for; see `least_losses_meanwhile`."""

    @cached_property
    def composed(self) -> Recoding:
        """What every group publishes, in values of the original table: coarsening and recoding together."""
        return compose(self.prepared.original, self.prepared.table, self.recoding)

    @cached_property
    def forms(self) -> Forms:
        """How columns of text are written that became dates or numbers, by their cells that are published untouched.

        Whether days have a zero before them is what these show; a suppressed cell does not decide.
        """
        prepared, groups = self.prepared, self.partition.groups
        forms, came = dict(prepared.opened.forms), prepared.opened.as_it_came
        for column in self.recoding.columns:
            form = forms.get(column.name)
            if isinstance(form, DateForm):
                kept = column.kept[groups] & (column.name not in prepared.encoded.before)
                forms[column.name] = form.spelled_as(came.get_column(column.name).gather(prepared.rows[kept]))
        return forms

    def published(self) -> tuple[pl.DataFrame, NDArray[np.int32]]:
        """Return the published table, and the row of the input that each of its rows stands for."""
        prepared, keep_order, recoding = self.prepared, self.prepared.request.keep_order, self.recoding
        if prepared.table.counts is not None:  # each entry once
            recoding = replace(recoding, sizes=np.bincount(self.partition.groups, minlength=self.partition.count))
        frame, order = published_frame(
            prepared.table,
            recoding,
            self.partition.groups,
            keep_order=keep_order,
            compact=True,
            forms=self.forms,
            automatic=prepared.encoded.automatic,
        )
        rows = prepared.rows[order]
        return (frame[np.argsort(rows)], np.sort(rows)) if keep_order else (frame, rows)

    def __repr__(self) -> str:
        return f"Recoded(rows={self.recoding.rows}, groups={self.partition.count})"


def generator(seed: int | None) -> np.random.Generator:
    """Return a source of random choices: the operating system's randomness unless a seed is given."""
    return np.random.default_rng(secrets.randbits(256) if seed is None else seed)


def drawn(encoded: Encoded, request: Request, opened: OpenedData, rows: NDArray[np.int32]) -> Prepared:
    """Bring encoded rows into an order that tells nothing of how they came in, where theirs matters.

    Rows that an algorithm takes for equal differ to a reader where there are columns that it does not see: chance
    decides between them then, not the order that they came in.

    Parameters
    ----------
    encoded : Encoded
        The columns, in the order of the input.
    request : Request
    opened : OpenedData
        The input.
    rows : int32 array
        The number in the input of each row.
    """
    rng, table = generator(request.seed), encoded.table
    coded = table.with_quasi_identifiers(encoded.before).quasi_identifiers
    if table.counts is None and (request.keep_order or table.told_apart):
        order = rng.permutation(canonical_order(table))
        before = {name: column.gather(order) for name, column in encoded.before.items()}
        encoded, rows = replace(encoded, table=table.gather(order), before=before), rows[order]
    return Prepared(request=request, opened=opened, rows=rows, encoded=encoded, coded=coded, rng=rng)


def partition_and_recode(prepared: Prepared, clock: Clock) -> Recoded:
    """Partition a table with the algorithm of its request, and recode the groups.

    Parameters
    ----------
    prepared : Prepared
    clock : Clock
        Measures the steps "partition" and "recode".

    Raises
    ------
    InfeasibleError
        The algorithm finds no partition that satisfies the request.
    """
    request, table, trees = prepared.request, prepared.table, prepared.encoded.trees
    with clock.step("partition"):
        try:
            partition = request.algorithm.partition(prepared.problem(clock))
        except InfeasibleError as error:
            raise _with_row_numbers(error, prepared.rows) from error
        partition.check(table.rows, len(table.quasi_identifiers))
    with clock.step("recode"):
        recoding = recode(
            table,
            partition.groups,
            partition.count,
            method=request.recoding,
            star=request.star,
            hierarchies=trees,
            least=partition.least,
            largest_set=request.largest_set,
        )
    return Recoded(prepared=prepared, partition=partition, recoding=recoding)


def least_losses_meanwhile(prepared: Prepared, clock: Clock) -> Callable[[], LeastLosses] | None:
    """Begin to look for what the rows of a table lose at least, beside its partition, which that does not depend on.

    Parameters
    ----------
    prepared : Prepared
        There is memory for both.
    clock : Clock
        It hears nothing of this work: that of the partition tells how far it is.

    Returns
    -------
    callable or None
        Waits for what is found; None where no bound asks for it.
    """
    if prepared.request.recoding == "suppression" or prepared.encoded.coarsened:
        return None
    problem = replace(prepared.problem(clock), progress=silent)
    _ = problem.table.classes  # else each thread would look for them
    return begun(partial(least_losses, problem))


def verified(recoded: Recoded, clock: Clock) -> Release:
    """Make the published table of a recoded one, verify its cells, and certify what they achieve.

    This is the only way to a release.

    Parameters
    ----------
    recoded : Recoded
    clock : Clock
        Measures the steps "recode", "verify", "bound" and "certify".

    Raises
    ------
    ReleaseUnsafeError
        The published cells do not satisfy the request.
    """
    prepared, recoding, whole = recoded.prepared, recoded.recoding, recoded.whole or recoded.prepared
    request, opened, partition = prepared.request, whole.opened, recoded.partition
    with clock.step("recode"):
        published, rows = recoded.published()
    with clock.step("verify"):
        achieved = _checked(published, rows, prepared)
    with clock.step("bound"):
        bound = lower_bound(prepared.table, request.requirement, target=recoding.recoded_cells)
        bound = bound.sharpened(partition.guarantee)
        if bound.stars > recoding.recoded_cells:
            raise InternalError("a lower bound exceeds what a release costs")
        # What coarsening lost is in the loss of the release, and depends on columns that the bound does not see.
        least = None
        if not prepared.encoded.coarsened:
            least = loss_bound(prepared.problem(clock), bound, partition.guarantee, found=recoded.losses)
    with clock.step("certify"):
        came, alike = opened.as_it_came, opened.reads_alike
        original = whole.original if alike else encoded_as_it_came(came, request.schema, opened.counts)
        digest, salt = input_hash(came, original, counts=opened.counts)
        metrics = Metrics(
            prepared.original,
            recoded.composed,
            partition.groups,
            k=request.requirement.k,
            as_rows=opened.origin is not None,
        )
        cost = Cost.of(recoding, bound, gcp=metrics.gcp, least=least)
        risk = _risk(prepared, achieved)
        warnings = _warnings(published, rows, prepared, achieved)
    release = Release(
        frame=published,
        schema=request.schema,
        requirement=request.requirement,
        certificate=_certificate(recoded, achieved, risk, cost, warnings, digest=digest, seconds=clock.seconds()),
        metrics=metrics,
        rows=rows,
        table_rows=prepared.rows,
        salt=salt,
        source_format=opened.format,
        restore=opened.restore.of(as_written(published, recoded.forms, star=request.star)),
        forms=recoded.forms,
        pictures=prepared.encoded.pictures,
        fitting=prepared.fitting(recoded.forms),
        meanings=prepared.meanings,
    )
    times = _times(prepared, rows)
    if times is None:
        return release
    if opened.origin is None or recoded.cells is None:
        return CountedRelease.of(release, times)
    placed = partial(rows_of_runs, opened.origin.frame, opened.frame, whole.rows[recoded.cells[rows]], times)
    return ReleaseOfRuns.of_runs(release, times, placed)


def _checked(published: pl.DataFrame, rows: NDArray[np.int32], prepared: Prepared) -> Achieved:
    """Check a published table against what was asked and what it was made of; everything that is checked is here."""
    request, schema, opened, times = prepared.request, prepared.request.schema, prepared.opened, _times(prepared, rows)
    if published.height != prepared.table.rows:
        raise InternalError("a release has more or fewer rows than were to be published")
    achieved = verify(
        published,
        quasi_identifiers=schema.quasi_identifiers,
        sensitive=schema.sensitive,
        requirement=request.requirement,
        published=schema.published,
        times=times,
        fitting=prepared.fitting(),
    )
    check_faithful(
        published,
        opened.frame,
        rows,
        meanings=prepared.meanings,
        unchanged=schema.sensitive + schema.insensitive,
        star=request.star,
        coded_before={column.name: (column.codes, column.dictionary) for column in prepared.coded},
    )
    if opened.origin is not None and times is not None:  # what the rows stand for was counted, and not by us
        check_same_rows(opened.as_it_came[list(schema.published)][rows], times, opened.origin.frame)
    return achieved


def _times(prepared: Prepared, rows: NDArray[np.int32]) -> NDArray[np.int64] | None:
    """Return how often each published row stands in the release; None: once."""
    return None if prepared.table.counts is None else prepared.table.counts[rows]


def _risk(prepared: Prepared, achieved: Achieved) -> dict[str, dict[str, Any]]:
    """Return how easily people were found in the rows as they came, and are found in the published cells."""
    if not prepared.table.quasi_identifiers:
        return {}
    before, k = prepared.original.classes.sizes_counted, prepared.request.requirement.k
    sizes = {"before": before, "after": achieved.sizes_counted}
    return {when: reidentification(counted, k=k).to_dict() for when, counted in sizes.items()}


def _warnings(
    published: pl.DataFrame, rows: NDArray[np.int32], prepared: Prepared, achieved: Achieved
) -> tuple[Remark, ...]:
    """Return what a privacy officer would raise about a release, and what to do next."""
    request, schema, opened = prepared.request, prepared.request.schema, prepared.opened
    coarse = [name for key in request.coarsen for name in ((key,) if isinstance(key, str) else key)]

    def coarser(name: str) -> Part:
        values = next(one.dictionary for one in prepared.original.quasi_identifiers if one.name == name)
        return how_to_coarsen(values.drop_nulls(), name, recoding=request.recoding)

    found = published_warnings(
        published,
        schema,
        achieved=achieved.to_dict(),
        star=request.star,
        coarse=coarse,
        coarser=coarser,
        times=_times(prepared, rows),
    )
    places, came = pl.Series(prepared.rows), opened.origin or opened
    looked = {
        name: came.frame.get_column(name).alias("")
        for name in (*schema.direct_identifiers, *schema.insensitive)
        if came.counts is None  # else they were not looked at
    }
    if opened.counts is None and len(places) < opened.frame.height:
        looked = {name: column.gather(places) for name, column in looked.items()}
    return (*found, *original_warnings(looked, opened.unread))


def _certificate(
    recoded: Recoded,
    achieved: Achieved,
    risk: Mapping[str, Mapping[str, Any]],
    cost: Cost,
    warnings: Sequence[Remark],
    *,
    digest: str,
    seconds: Mapping[str, float],
) -> Certificate:
    """Return everything that is known of a release."""
    prepared, partition = recoded.prepared, recoded.partition
    request, encoded = prepared.request, prepared.encoded
    read_as = {name: _named(encoded.trees[name]) for name in request.hierarchies}
    return Certificate(
        version=version("shoal"),
        algorithm=request.algorithm.name,
        reason=request.reason,
        parameters={
            **request.preferences.to_dict(),
            **request.algorithm.parameters(),
            "coarsen": dict(encoded.coarsened),
            "hierarchies": {
                name: {**tree.to_dict(), "automatic": name in encoded.automatic, **read_as.get(name, {})}
                for name, tree in encoded.trees.items()
            },
            "recoding": request.recoding,
            **({"largest_set": request.largest_set} if request.recoding == "generalization" else {}),
            "star": request.star,
            "keep_order": request.keep_order,
            "missing_sensitive": request.missing_sensitive,
            "read_as": {name: form.to_dict() for name, form in prepared.opened.forms.items()},
        },
        seed=request.seed,
        input=_described(recoded, digest),
        engine=recoded.engine,
        requested=request.requirement.to_list(),
        achieved=achieved.to_dict(),
        risk=risk,
        cost=cost,
        guarantee=partition.guarantee,
        details=partition.facts,
        seconds=seconds,
        warnings=warnings,
        for_readers={
            "recoding": request.recoding,
            "star": request.star,
            "keep_order": request.keep_order,
            "missing_sensitive": request.missing_sensitive,
            "coarsen": coarsenings_for_readers(request.coarsen),
            "hierarchies": {
                **{name: {"automatic": True} for name in (request.schema.quasi_identifiers if request.climbs else ())},
                **{name: {"height": tree.height, **read_as[name]} for name, tree in request.hierarchies.items()},
            },
        },
    )


def _named(tree: Hierarchy) -> dict[str, str]:
    """Return what a certificate says of the names of nodes, where they say themselves what is below them."""
    scale = names_read_as(tree)
    return {} if scale is None else {"read_as": scale}


def _described(recoded: Recoded, digest: str) -> dict[str, Any]:
    """Return what the certificate says of the input."""
    schema, rows = recoded.prepared.request.schema, (recoded.whole or recoded.prepared).opened.rows
    return {
        "rows": rows,
        "rows_left_out": rows - recoded.prepared.table.people,
        "quasi_identifiers": list(schema.quasi_identifiers),
        "sensitive": list(schema.sensitive),
        "insensitive": list(schema.insensitive),
        "direct_identifiers": list(schema.direct_identifiers),
        "sha256": digest,
        "keyed": KEYED,
    }


def _with_row_numbers(error: InfeasibleError, rows: NDArray[np.int32]) -> InfeasibleError:
    """Return the error with the numbers that its rows have in the input, the first ones in its message."""
    if error.rows is None:
        return error
    numbers = np.sort(rows[error.rows])
    shown = ", ".join(map(str, numbers[:_SHOWN_ROWS].tolist())) + (", ..." if len(numbers) > _SHOWN_ROWS else "")
    return InfeasibleError(error, f" Numbers of these rows, counted from 0: {shown}.", rows=numbers)
