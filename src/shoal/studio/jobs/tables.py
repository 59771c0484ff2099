"""Table jobs: inspection, risk, coarsenings, comparisons of levels and algorithms, and the release."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal._core.progress import Progress
from shoal.errors import ParameterError
from shoal.studio.jobs.parsing import (
    as_one_table,
    coarsen_other_columns,
    coarsen_parsed,
    count_replaced_cells,
    open_table,
    parse_other_columns,
    read_parsed,
)
from shoal.studio.requests import arguments_in, request_in

if TYPE_CHECKING:
    import polars as pl

    from shoal.findings import Remark

MOST_ROWS = 100
"""Largest number of records that are shown."""


def coarse_rows(*, content: Mapping[str, Any], count: int, progress: Progress) -> dict[str, Any]:
    """Select records of a table at random, before and after its coarsenings."""
    # Coarsenings of several columns may leave fewer columns.
    asked = arguments_in(content)
    frame, names = read_parsed(asked, progress)
    _, coarser, _ = coarsen_parsed(frame, names, asked)
    places = _sample(frame.height, count)
    kept = [name for name in names if name in coarser.frame.columns]
    before, after = frame[places].select(kept), coarser.frame[places].select(kept)
    # Columns that are not quasi-identifiers are shown if they are made coarser.
    if (others := coarsen_other_columns(asked)) is not None and others.finer is not None:
        more = others.finer.frame
        before = before.hstack(more[places].get_columns())
        after = after.hstack(others.frame.select(more.columns)[places].get_columns())
    return {"numbers": places, "columns": before.columns, "before": _texts(before), "after": _texts(after)}


def sample_levels(releases: Mapping[str, Any]) -> dict[str, Any] | None:
    """Select records that all compared releases publish, before and in each of them; None if there are none."""
    from shoal.table import dictionary_text

    first = next(iter(releases.values()), None)
    if first is None or first.store.original is None:
        return None
    # The same records of every release, wherever it publishes them.
    places = [{int(number): place for place, number in enumerate(one.rows)} for one in releases.values()]
    common = sorted(set(places[0]).intersection(*places[1:]))
    numbers = [common[at] for at in _sample(len(common), MOST_ROWS)]
    columns, raw = first.published.columns, first.store.original[numbers]
    empty = [None] * len(numbers)
    before = [dictionary_text(raw[name]).to_list() if name in raw.columns else empty for name in columns]
    return {
        "numbers": numbers,
        "columns": columns,
        "before": [list(row) for row in zip(*before, strict=True)],
        "levels": [
            [title, _texts(release.published[[place[number] for number in numbers]].select(columns))]
            for (title, release), place in zip(releases.items(), places, strict=True)
        ],
    }


def sample_release(release: Any) -> dict[str, Any] | None:
    """Select published records at random, before and after; None if the original table is not in memory."""
    try:
        pairs = release.side_by_side(MOST_ROWS)
    except ParameterError:  # the table was read in pieces
        return None
    columns = pairs.after.columns
    return {
        "numbers": list(pairs.numbers),
        "columns": columns,
        "before": pairs.before.rows(),
        "after": pairs.after.rows(),
    }


def _sample(height: int, count: int) -> list[int]:
    """Choose rows at random; the same ones at each call, so that a choice can be compared with another."""
    return random.Random(0).sample(range(height), min(count, height))


def _texts(frame: pl.DataFrame) -> list[list[str | None]]:
    """Return the rows of a frame as texts."""
    import polars as pl

    from shoal.table import dictionary_text

    return [list(row) for row in pl.DataFrame([dictionary_text(column) for column in frame]).rows()]


def warm_up() -> None:
    """Import the modules that every job needs."""


def inspect_table(
    *,
    source: str,
    demo: str | None,
    reading: Mapping[str, Any],
    show_values: bool,
    progress: Progress,
    rows: str | None = None,
    key: Sequence[str] = (),
) -> dict[str, Any]:
    """Inspect a table, or two that are joined; write it first if it is the bundled demo table."""
    from shoal.verbs.inspect import inspect

    if demo is not None and not Path(source).exists():
        from shoal.datasets import write_dataset

        write_dataset(demo, Path(source).parent)
    data, given = as_one_table(source, rows, key, reading)
    found = inspect(data, show_values=show_values, progress=progress, **given)
    warnings = [_plain_warning(one) for one in found.warnings]
    tables = {"data": source, "rows": rows, "key": key}
    replaced = count_replaced_cells({**tables, **reading}) if reading.get("replace_values") else {}
    return {**found.to_dict(), "warnings": warnings, "replaced": replaced}


def _plain_warning(one: Remark) -> dict[str, Any]:
    """Return a warning with its facts, which screens phrase."""
    return {"code": one.code, "column": one.column, "found": one.found, "advice": one.advice}


def sheets(*, source: str, progress: Progress) -> list[str]:
    """List the names of the sheets of a workbook, in the order of the workbook."""
    from shoal.io.workbooks import sheet_names

    progress("read", 0, 1)
    return sheet_names(source)


def describe_sheets(*, source: str, progress: Progress) -> list[tuple[int, int, int | None]]:
    """Count the rows and columns of each sheet of a workbook, and guess the row of its column names."""
    from shoal.io import workbooks

    progress("read", 0, 1)
    return workbooks.describe_sheets(source)


def measure_risk(
    *,
    source: str,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    person: str,
    sampling_fraction: str,
    suda: int | None,
    reading: Mapping[str, Any],
    progress: Progress,
    rows: str | None = None,
    key: Sequence[str] = (),
) -> dict[str, Any]:
    """Measure the disclosure risk of the original table, or of two that are joined."""
    from shoal._core.validation import number_in
    from shoal.errors import ParameterError
    from shoal.request.request_fields import fields_in
    from shoal.verbs.risk import risk

    fraction: Any = number_in(sampling_fraction) if sampling_fraction else None
    if isinstance(fraction, str):
        raise ParameterError("The share of the population must be a number above 0 and at most 100 percent.")
    data, given = as_one_table(source, rows, key, reading)
    found = risk(
        data,
        quasi_identifiers=quasi_identifiers,
        sensitive=list(sensitive) or None,
        person=person or None,
        sampling_fraction=fraction,
        suda=suda,
        progress=progress,
        **{name: value for name, value in given.items() if name in fields_in("reading", "cleaning")},
    )
    return {**found.to_dict(), "sentences": {**_sentences(found)}}


def _sentences(found: Any) -> dict[str, str]:
    from shoal.disclosure_risk import MEASURES

    facts = found.to_dict()
    sentences = ((measure.name, measure.sentence(facts)) for measure in MEASURES)
    return {name: sentence for name, sentence in sentences if sentence is not None}


def list_coarsenings(
    *,
    content: Mapping[str, Any],
    trees: Mapping[str, Sequence[str]],
    progress: Progress,
) -> dict[str, list[list[Any]]]:
    """List the coarsenings that fit each published column, with the number of values that each leaves.

    `trees` holds, for each column with a hierarchy made in the studio, its file and the name of it in commands.
    """
    from shoal.hierarchy import Hierarchy, coarsen_columns
    from shoal.verbs.explore import ladder_of

    # Coarsenings are offered for the original columns, independent of the current choice.
    asked = arguments_in({**content, "coarsen": {}})
    frame, names = read_parsed(asked, progress)
    frame, others = parse_other_columns(frame, asked)
    names += others
    found: dict[str, list[list[Any]]] = {}
    roots: set[str] = set()
    for place, name in enumerate(names):
        progress("coarsenings", place, len(names))
        column = frame.get_column(name)
        found[name] = [["", column.drop_nulls().n_unique()]]
        # A hierarchy made in the studio is offered before the built-in coarsenings.
        ladders = [ladder_of(column)]
        if name in trees:
            file, shown = trees[name]
            tree = Hierarchy.from_csv(file)
            ladders.insert(0, ladder_of(column, tree=tree, file=shown))
            roots.add(f"level:{shown}:{tree.height}")  # the root is a star, which "any" offers already
        # Each coarsening once, with the number of values that it leaves.
        for rung in (rung for ladder in ladders for rung in ladder.rungs):
            if rung.words is not None and rung.words not in (*roots, *(words for words, _ in found[name])):
                after = coarsen_columns(column.to_frame(), {name: rung.coarsening}, [name]).frame.to_series()
                found[name].append([rung.words, after.drop_nulls().n_unique()])
    return found


def preview(
    *,
    content: Mapping[str, Any],
    k: int,
    progress: Progress,
) -> dict[str, Any]:
    """Measure the class sizes before and after coarsening, and the information loss of the coarsening.

    No groups are formed yet. Coarsenings that can be drawn, such as maps, are returned with their pictures.
    """
    from shoal.verbs.explore import coarsening_losses
    from shoal.verbs.risk import risk

    asked = arguments_in(content)
    frame, names = read_parsed(asked, progress)
    relative, coarser, made = coarsen_parsed(frame, names, asked)
    coarsen_other_columns(asked)  # raises an error if a coarsening does not fit
    # Class sizes before and after, as measured by `risk` with a threshold of 1 / k.
    person = asked.get("person")
    columns = [*names, *(person or ())]
    figures: dict[str, Any] = {}
    for place, (when, table) in enumerate({"before": frame, "after": coarser.frame}.items()):
        progress(when, place, 3)
        found = risk(
            table.select(columns), quasi_identifiers=names, person=person, threshold=Fraction(1, k), combinations=1
        )
        figures[when] = {
            "classes": found.classes,
            "rows": found.rows,
            "alone": found.sample_uniques,
            "average": found.prosecutor.average,
            "below": found.prosecutor.records_above,
        }
    progress("loss", 2, 3)
    figures["loss"] = coarsening_losses(relative.select(names), made)
    figures["pictures"] = {columns: draw() for columns, draw in coarser.pictures.items()}
    return figures


def check_goal(*, content: Mapping[str, Any], progress: Progress) -> bool:
    """Check that a table can meet the goal of a request, which coarser columns do not change.

    Raises
    ------
    InfeasibleError
        If no release of the table can.
    """
    from shoal._core.progress import Clock
    from shoal.engines.memory import InMemory
    from shoal.pipeline.prepare import interpret, prepare

    progress("read", 0, 1)
    source = InMemory(opened=open_table(arguments_in(content)))
    request = request_in(content).resolve(source.columns)
    opened = interpret(source.serving(request).opened, request, dates=request.dates, decimal=request.decimal)
    prepare(opened, request, Clock(("coarsen", "encode"), progress))
    return True


def find_diversity(*, content: Mapping[str, Any], harmless: Sequence[str], progress: Progress) -> dict[str, Any]:
    """Find the largest l of any release, and what prevents l = 2: columns by their values, and steps of others."""
    from shoal.engines.memory import InMemory
    from shoal.models import LDiversity
    from shoal.studio.words import SCREENS
    from shoal.verbs.evaluate.goals import find_goals

    progress("read", 0, 1)
    source = InMemory(opened=open_table(arguments_in(content)))

    def ask(l: int) -> Any:
        model = LDiversity(l, harmless=tuple(harmless))
        request = replace(request_in(content), privacy=model, k=None, l=None, t=None, harmless=None)
        resolved = request.resolve(source.columns)
        return find_goals(source.serving(resolved).opened, resolved)[0][0]

    two = ask(2)
    largest = next(iter(ask(1 << 31).mend.get("privacy", ())), two.model) if two.feasible else None
    return {
        "uniform": [name for name in two.columns if name not in two.steps],
        "steps": two.render(SCREENS) if two.steps else "",
        "largest": None if largest is None else int(largest.l),
    }


def compare(
    *,
    content: Mapping[str, Any],
    k: Sequence[int],
    l: Sequence[int],
    progress: Progress,
) -> dict[str, Any]:
    """Make and measure a release for each of several levels of protection, without writing any."""
    from shoal._core.figures import svg_file
    from shoal.models import KAnonymity, LDiversity
    from shoal.studio.words import COMPARED, SCREENS
    from shoal.verbs.explore import explore

    asked = arguments_in(content)
    # The compared levels replace the models for k and l; the others, and harmless values, apply to every level.
    replaced = KAnonymity if l else KAnonymity | LDiversity
    others = [model for model in asked.pop("privacy") if not isinstance(model, replaced)]
    # One level names its algorithm, because all of them would be compared otherwise.
    asked.setdefault("algorithm", "auto")
    found = explore(
        asked.pop("data"),
        k=list(k),
        l=list(l) or None,
        algorithms=(asked["algorithm"],),
        privacy=others,
        progress=progress,
        **asked,
    )
    texts = {"level": [row.text for row in found.rows]}
    return {
        "columns": texts | {title: cells for title, cells in found.columns().items() if title in COMPARED},
        "marks": [found.mark(row) for row in found.rows],
        "levels": [{"k": row.k, "l": row.l} for row in found.rows],
        "sentences": list(found.sentences()),
        "failed": [f"{row.text}: {row.error.render(SCREENS)}" for row in found.rows if row.error is not None],
        "points": [
            None
            if row.release is None
            else {
                "risk": row.figures["average_risk"],
                "loss": row.loss,
                "least": row.release.certificate.cost.to_dict()["lower_bound"].get("gcp"),
            }
            for row in found.rows
        ],
        "picture": svg_file(found.plot()[0]),
        "sample": sample_levels({row.text: row.release for row in found.rows if row.release is not None}),
    }


def compare_algorithms(
    *,
    content: Mapping[str, Any],
    progress: Progress,
) -> dict[str, Any]:
    """Make and verify a release with each suitable algorithm, without writing any; return the loss of each."""
    from shoal.studio.words import SCREENS
    from shoal.verbs.explore import explore

    asked = arguments_in({name: value for name, value in content.items() if name != "algorithm"})
    # A comparison runs in memory and chooses its own algorithms.
    for name in ("algorithm", "engine", "memory"):
        asked.pop(name, None)
    found = explore(asked.pop("data"), algorithms="all", progress=progress, **asked)
    # Algorithms that failed are listed with the reason.
    return {
        "rows": [
            {
                "algorithm": row.algorithm,
                "loss": row.loss,
                "recoded": None if row.release is None else row.release.metrics.recoded_cells,
                "least": row.figures.get("lower_bound_recoded_cells"),
                "groups": row.figures["groups"],
                "seconds": row.seconds,
            }
            for row in found.measured
        ],
        "failed": [f"{row.text}: {row.error.render(SCREENS)}" for row in found.rows if row.error is not None],
    }


def publish(
    *,
    content: Mapping[str, Any],
    folder: str,
    progress: Progress,
) -> dict[str, Any]:
    """Make, verify and write a release; return its full certificate and the loss of each column."""
    from shoal._messages import set_audience
    from shoal.report import About, distributions
    from shoal.studio.words import SCREENS
    from shoal.verbs.anonymize import anonymize

    # `save` verifies the written files once more before they appear.
    release = anonymize(progress=progress, **arguments_in(content))
    progress("write", 0, 1)
    about = About(**content.get("report", {}))
    # Advice in the report and the certificate names screens instead of parameters.
    with set_audience(SCREENS):
        certificate = release.save(Path(folder), about=about).to_dict()
    recoding, metrics = release.metrics.recoding, release.metrics
    return {
        "certificate": certificate,
        "columns": [
            {
                "name": column.name,
                "before": int(table.size - table.has_missing),
                "after": release.published.get_column(column.name).drop_nulls().n_unique(),
                "kept": float(recoding.sizes[column.kept].sum()) / max(recoding.rows, 1),
                "stars": float(recoding.sizes[column.stars].sum()) / max(recoding.rows, 1),
                "loss": metrics.ncp[column.name],
            }
            for column, table in zip(recoding.columns, metrics.table.quasi_identifiers, strict=True)
        ],
        "spread": [
            {
                "name": one.name,
                "told": one.told,
                "bars": [{"label": bar.label, "before": bar.before, "after": bar.after} for bar in one.bars],
            }
            for one in distributions(metrics.table, recoding)
        ],
        "loss": dict(metrics.ncp),
        "sample": sample_release(release),
        "warnings": [_plain_warning(one) for one in release.warnings],
        "files": sorted(one.name for one in Path(folder).iterdir()),
        "private": sorted(one.name for one in Path(f"{folder}.private").iterdir()),
    }
