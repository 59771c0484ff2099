"""Certify a verified release: its cost, its risks, warnings for the publisher, and the properties of its input."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shoal._core.facts import Fact
from shoal._core.progress import Clock
from shoal._messages import Suggestion
from shoal._version import __version__
from shoal.disclosure_risk import PersonEvidence, measure_persons, reidentification
from shoal.disclosure_risk.frequencies import count_pairs
from shoal.disclosure_risk.reidentification import reidentification_of_persons
from shoal.findings import (
    Remark,
    exact_ends,
    how_to_coarsen,
    original_warnings,
    published_warnings,
    respelled_persons,
    sure_of_persons,
    uncounted_persons,
    warn_of_reading,
)
from shoal.hierarchy import Hierarchy, Level, as_hierarchy
from shoal.io import format_as_input
from shoal.metrics import Metrics
from shoal.pipeline.bound import ReleaseBounds
from shoal.pipeline.input_hash import compute_input_hash, encode_raw
from shoal.pipeline.prepare import PreparedTable
from shoal.pipeline.recoded import RecodedTable
from shoal.pipeline.source import PublishedRuns, Source
from shoal.pipeline.verify import PublishedRows
from shoal.recoding import count_singled_out
from shoal.release.certificate import Certificate, Cost, coarsenings_for_readers
from shoal.release.release import Release
from shoal.table import KEYED
from shoal.verification import Achieved, MeasuredTable, scale_of_names


def certify_release(
    recoded: RecodedTable,
    verified: PublishedRows,
    bounds: Callable[[], ReleaseBounds],
    source: Source,
    clock: Clock,
) -> Release:
    """Create the release of a verified table, with its certificate.

    Parameters
    ----------
    recoded : RecodedTable
    verified : PublishedRows
    bounds : callable
        Waits for the lower bounds for any release (`start_bounds`).
    source : Source
        The source of the table.
    clock : Clock
        Measures the step "certify".
    """
    prepared, whole, request = recoded.prepared, recoded.whole, recoded.prepared.request
    table, entries = verified
    published, achieved = table.frame, table.achieved
    with clock.step("certify"):
        # Input and risk.
        digest, salt = _hash_input(whole)
        metrics = Metrics(
            prepared.original,
            recoded.composed,
            recoded.partition.groups,
            k=request.requirement.k,
            as_rows=source.in_memory,
            finer=None if prepared.opened.finer is None else prepared.opened.finer.frame[prepared.rows],
        )
        risk = _measure_risk(prepared, achieved)
        # Evidence about persons with several rows.
        persons = _count_in_groups(source, recoded, verified)
        figures = measure_persons(table)
        _add_risk_before(figures, prepared)
        # Warnings about the release, then about the original table.
        warnings = (
            *_find_published_warnings(table, prepared),
            *warn_of_reading(prepared.opened.below, prepared.opened.derived),
            *original_warnings(persons, prepared.opened.unread, request.schema),
            *respelled_persons(whole.opened.raw_frame, request.schema),
            *uncounted_persons(request.requirement.to_list()),
            *_find_exact_ends(recoded),
            *sure_of_persons(figures, table, request.features),
        )
        # The engine and the size of its work.
        engine = source.facts(whole.table.rows, recoded.parts)
    least = bounds()
    with clock.step("certify"):
        cost = Cost.of(recoded.recoding, least.cells, gcp=metrics.gcp, least=least.loss)
    return Release(
        store=source.row_store(published, entries, recoded),
        schema=request.schema,
        requirement=request.requirement,
        certificate=_make_certificate(
            recoded,
            achieved,
            risk,
            cost,
            warnings,
            persons=figures,
            engine=engine,
            digest=digest,
            lost=least.lost,
            seconds=clock.seconds(),
        ),
        metrics=metrics,
        salt=salt,
        source_format=whole.opened.format,
        dialect=whole.opened.dialect,
        codebook=whole.opened.codebook,
        restore=whole.opened.restore.of(format_as_input(published, recoded.forms, star=request.star)),
        forms=recoded.forms,
        pictures=prepared.encoded.pictures,
        fitting=prepared.make_people_counter(recoded.forms),
        owners=table.owners,
        meanings=prepared.meanings,
    )


def _count_in_groups(source: Source, recoded: RecodedTable, verified: PublishedRows) -> tuple[PersonEvidence, ...]:
    """Search for persons with several rows, and count those of each column in the published groups."""
    whole, schema, (table, entries) = recoded.whole, recoded.prepared.request.schema, verified
    found = source.persons(whole.opened, whole.rows, schema)
    counted = {one.column for one in found if one.column is not None} - {*schema.quasi_identifiers}
    if not counted:
        return found
    runs = PublishedRuns(
        cells=whole.opened,
        cell_of_run=whole.rows[recoded.cells[entries]],
        times=recoded.prepared.counts[entries],
        group_of_run=table.group_of,
    )
    return tuple(
        replace(one, fewest=source.count_persons(runs, str(one.column), schema)) if one.column in counted else one
        for one in found
    )


def _hash_input(whole: PreparedTable) -> tuple[str, str]:
    """Compute the keyed hash of the input, and its key."""
    opened, schema = whole.opened, whole.request.schema
    raw = opened.raw_frame
    # Converted text is hashed in its original form, unless both have the same values; so are coarser columns.
    unchanged = opened.reads_alike and opened.kept is None and opened.finer is None
    if opened.finer is not None:
        raw = raw.with_columns(opened.finer.unconverted.get_columns())
    original = whole.original if unchanged else encode_raw(raw, schema, opened.counts)
    return compute_input_hash(raw, original, counts=opened.counts)


def _measure_risk(prepared: PreparedTable, achieved: Achieved) -> dict[str, dict[str, Any]]:
    """Measure the re-identification risk of the original rows and of the published cells."""
    if not prepared.table.quasi_identifiers:
        return {}
    before, k = prepared.original.classes.sizes_counted, prepared.request.requirement.k
    sizes = {"before": before, "after": achieved.release.sizes}
    return {when: reidentification(counted, k=k).to_dict() for when, counted in sizes.items()}


def _add_risk_before(figures: Sequence[dict[str, Any]], prepared: PreparedTable) -> None:
    """Add to the figures of each kind of owner the risk of its owners in the original rows."""
    if not prepared.table.quasi_identifiers:
        return
    classes = prepared.original.classes
    for one, column in zip(figures, prepared.table.owners, strict=False):
        groups, persons, _ = count_pairs(classes.of_rows, classes.count, column.codes, column.size)
        risk = reidentification_of_persons(groups, persons, k=prepared.request.requirement.k)
        one["risk_before"] = risk.to_dict()


def _find_published_warnings(table: MeasuredTable, prepared: PreparedTable) -> Iterator[Remark]:
    """Find the warnings that a privacy officer would raise about a release, with a suggestion for each."""
    request = prepared.request
    coarse = [name for key in request.coarsenings for name in ((key,) if isinstance(key, str) else key)]

    # How to coarsen a column, for the warnings that suggest it.
    def coarser(name: str) -> Suggestion | Fact:
        known = {one.name: one.dictionary for one in prepared.original.quasi_identifiers}
        values = known[name] if name in known else table.frame.get_column(name).unique(maintain_order=True)
        return how_to_coarsen(values.drop_nulls(), name, recoding=request.recoding)

    return published_warnings(table, request.schema, star=request.star, coarse=coarse, coarser=coarser)


def _find_exact_ends(recoded: RecodedTable) -> Iterator[Remark]:
    """Yield a warning if intervals end at values of single records because exact ends were requested."""
    prepared, request = recoded.prepared, recoded.prepared.request
    if request.exact_ends and request.few > 1:
        classes = {name for name, meaning in prepared.meanings.items() if meaning.ends_at_values}
        before = {name: column for name, column in prepared.encoded.before.items() if name in classes}
        found = count_singled_out(prepared.table, recoded.recoding, request.few, coarse=prepared.coarse, before=before)
        yield from exact_ends(found, prepared.table.people)


def _make_certificate(
    recoded: RecodedTable,
    achieved: Achieved,
    risk: Mapping[str, Mapping[str, Any]],
    cost: Cost,
    warnings: Sequence[Remark],
    *,
    persons: Sequence[Mapping[str, Any]],
    engine: Mapping[str, Any],
    digest: str,
    lost: int | None,
    seconds: Mapping[str, float],
) -> Certificate:
    """Create the certificate of a release."""
    prepared, partition = recoded.prepared, recoded.partition
    request, encoded, finer = prepared.request, prepared.encoded, prepared.opened.finer
    read_as = {name: _describe_names(encoded.trees[name]) for name in request.trees}
    # Cells at a level of a hierarchy are nodes, too.
    levels = {key: one for key, one in request.coarsenings.items() if isinstance(key, str) and isinstance(one, Level)}
    of_levels = {key: _describe_names(as_hierarchy("Level", one.hierarchy)) for key, one in levels.items()}
    shared_by = {"shared_by": request.shared_by} if request.shared_by > 1 else {}
    about_cells = request.about_cells | ({"two_tables": True} if recoded.whole.opened.joined else {})
    # Most parameters are for the publisher only; `for_readers` has those of the public certificate.
    return Certificate(
        version=__version__,
        algorithm=request.chosen.name,
        reason=request.reason,
        parameters={
            **request.preferences.to_dict(),
            **request.chosen.parameters(),
            "coarsen": {**_add_facts(encoded.coarsened, of_levels), **({} if finer is None else finer.described)},
            "hierarchies": {
                name: {**tree.to_dict(), "automatic": name in encoded.automatic, **read_as.get(name, {})}
                for name, tree in encoded.trees.items()
            },
            "recoding": request.recoding,
            **({"largest_set": request.largest_set} if request.recoding == "generalization" else {}),
            **shared_by,
            **about_cells,
            **({"order": request.order} if request.kept_rows != "random" else {}),
            "read_as": {name: form.to_dict() for name, form in prepared.opened.forms.items()},
        },
        seed=request.seed,
        input=_describe_input(recoded, digest, lost),
        engine=engine,
        requested=request.requirement.to_list(),
        achieved=achieved.to_dict(),
        risk=risk,
        cost=cost,
        guarantee=partition.guarantee,
        details=partition.facts,
        seconds=seconds,
        warnings=warnings,
        persons=persons,
        for_readers={
            "recoding": request.recoding,
            **shared_by,
            **about_cells,
            "coarsen": _add_facts(
                coarsenings_for_readers({**request.coarsenings, **request.attribute_coarsenings}), of_levels
            ),
            "hierarchies": {
                **{name: {"automatic": True} for name in (request.schema.quasi_identifiers if request.climbs else ())},
                **{name: {"height": tree.height, **read_as[name]} for name, tree in request.trees.items()},
            },
        },
    )


def _add_facts(described: Mapping[str, Any], more: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    return {**described, **{key: {**described[key], **facts} for key, facts in more.items() if facts}}


def _describe_names(tree: Hierarchy) -> dict[str, str]:
    """Describe the scale of node names for the certificate, if the names state the values below the nodes."""
    scale = scale_of_names(tree)
    return {} if scale is None else {"read_as": scale}


def _find_constant(whole: PreparedTable) -> dict[str, list[str]]:
    """Find the quasi-identifiers that are the same in all rows of each person: they are columns of persons."""
    assert whole.opened.bundled is not None
    persons = whole.opened.bundled.persons[whole.rows]
    found = []
    for column in whole.original.quasi_identifiers:
        # Any code of each person must be that of all rows.
        of_persons = np.zeros(persons.max() + 1, dtype=column.codes.dtype)
        of_persons[persons] = column.codes
        if np.array_equal(of_persons[persons], column.codes):
            found.append(column.name)
    return {"constant": found}


def _describe_input(recoded: RecodedTable, digest: str, lost: int | None) -> dict[str, Any]:
    """Describe the input for the certificate."""
    schema, rows = recoded.prepared.request.schema, recoded.whole.opened.rows
    bundled = recoded.whole.opened.bundled
    joined = recoded.whole.opened.joined
    fewest = {} if lost is None else {"fewest_cells_lost": lost}
    return {
        "rows": rows,
        "rows_left_out": rows - recoded.prepared.table.people,
        **(
            {"linked": bundled.to_dict() | fewest | _find_constant(recoded.whole)}
            if bundled and not bundled.alone
            else {}
        ),
        **({"persons_without_rows": joined.without_rows} if joined else {}),
        "quasi_identifiers": list(schema.quasi_identifiers),
        "sensitive": list(schema.sensitive),
        "insensitive": list(schema.insensitive),
        "direct_identifiers": list(schema.direct_identifiers),
        "sha256": digest,
        "keyed": KEYED,
    }
