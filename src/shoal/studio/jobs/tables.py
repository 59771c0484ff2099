"""Table jobs: inspection, risk, coarsenings, comparisons of levels and algorithms, and the release."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal._core.progress import Progress
from shoal.errors import ParameterError
from shoal.studio.jobs.parsing import (
    RELEASES,
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
    from shoal.pipeline.goals import Goal
    from shoal.pipeline.input import OpenedData
    from shoal.request.request import Request
    from shoal.verbs.evaluate.counting import CountedColumn
    from shoal.verbs.explore.exploration import Exploration

MOST_ROWS = 10
"""Largest number of records that are shown before and after."""
FIRST_ROWS = 25
"""Number of rows of a table that its screen shows."""
_TRIAL_CELLS, _LEAST_TRIAL_ROWS = 20_000, 200
"""Largest number of cells that others may know in a trial release, and records that it has in any case."""
_QUICK_CELLS = 1_000_000
"""Largest number of published cells of a trial by an algorithm that takes a second for so many."""
_MOST_CELLS_KEPT = 10_000_000
"""Largest number of cells of compared releases that are kept: a few hundred megabytes."""
_EXAMPLE_ROWS = 60
"""Number of rows of the table that is tried before there is another: so few that nothing is compiled for it."""
_BARS = 16
"""Largest number of bars of the small chart of a column."""
_FEW_VALUES, _WORD = 20, 4
"""Largest number of values that are compared for spellings, and the shortest word that a letter may stand for."""


def sample_levels(releases: Mapping[str, Any]) -> dict[str, Any] | None:
    """Select records that all compared releases publish, before and in each of them; None if there are none."""
    from shoal.table import dictionary_text

    first = next(iter(releases.values()), None)
    if first is None or first.store.original is None:
        return None
    # The same records of every release, wherever it publishes them.
    places = [{int(number): place for place, number in enumerate(one.rows)} for one in releases.values()]
    common = sorted(set(places[0]).intersection(*places[1:]))
    # The same ones at each call, so that a choice can be compared with another.
    numbers = random.Random(0).sample(common, min(len(common), MOST_ROWS))
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


def _texts(frame: pl.DataFrame) -> list[list[str | None]]:
    """Return the rows of a frame as texts."""
    import polars as pl

    from shoal.table import dictionary_text

    return [list(row) for row in pl.DataFrame([dictionary_text(column) for column in frame]).rows()]


def import_modules(*, progress: Progress) -> None:
    """Import the modules that every job needs."""
    import shoal.pipeline.run
    import shoal.report.figures
    import shoal.verbs.evaluate.evaluation
    import shoal.verbs.explore
    import shoal.verbs.risk  # noqa: F401


def try_example(*, progress: Progress) -> None:
    """Run what the first screens run, on an example: what they need is imported, and loaded if it was compiled."""
    from shoal.algorithms.local_search.exchange_kernel import exchange_rows
    from shoal.datasets import patients
    from shoal.pipeline.input import open_data
    from shoal.request.request import Request
    from shoal.verbs.evaluate.evaluation import evaluate

    if not exchange_rows.is_kept:  # as Python it takes ten seconds
        return
    request = Request(quasi_identifiers=("age", "gender", "zip"), sensitive=("disease",), k=2, l=2)
    example = patients(_EXAMPLE_ROWS)[["age", "gender", "zip", "disease"]]
    evaluate(example, progress=progress)
    _try_release(request, open_data(example), ())


WARM_UP = (import_modules, try_example)
"""Work without an outcome, after which the first jobs take less time."""


def inspect_table(
    *,
    source: str,
    demo: str | None,
    reading: Mapping[str, Any],
    progress: Progress,
    rows: str | None = None,
    key: Sequence[str] = (),
) -> dict[str, Any]:
    """Survey a table, or two that are joined, with its first rows; write it first if it is the bundled demo table."""
    from shoal.request.request import Request
    from shoal.verbs.evaluate.evaluation import evaluate_survey, survey_opened

    if demo is not None and not Path(source).exists():
        from shoal.datasets import write_dataset

        write_dataset(demo, Path(source).parent)
    tables = {"data": source, "rows": rows, "key": key}
    progress("read", 0, 1)
    opened, given = open_table({**tables, **reading}), Request(quasi_identifiers=(), **reading)
    survey = survey_opened(opened, given, show_values=True, progress=progress)
    warnings = evaluate_survey(survey, opened, given).warnings
    return {
        "rows": opened.frame.height,
        "encoding": opened.encoding,
        "delimiter": opened.delimiter,
        "sheet": opened.sheet,
        "header_row": reading.get("header_row"),
        "decimal": survey.decimal,
        "evidence": [one.to_dict() for one in survey.persons],
        "columns": [
            {
                **one.to_dict(),
                "ends": _find_ends(counts, one.kind),
                "spark": _spark(counts),
                "spellings": _find_spellings(counts),
            }
            for one, counts in zip(survey.columns, survey.counted, strict=True)
        ],
        "warnings": [_plain_warning(one) for one in warnings],
        "replaced": count_replaced_cells({**tables, **reading}) if reading.get("replace_values") else {},
        "first": _texts(opened.frame.head(FIRST_ROWS)),
    }


def _spark(column: CountedColumn) -> list[float]:
    """Measure the bars of a small chart of a column: a histogram, or the most frequent values; the highest is 1."""
    import numpy as np
    import polars as pl

    counts, values = column.counts[: column.distinct], column.dictionary
    if values.dtype.is_numeric() or values.dtype.is_temporal():
        physical = values if values.dtype.is_decimal() else values.to_physical()
        numbers = physical.cast(pl.Float64, strict=False).to_numpy()
        finite = np.isfinite(numbers)
        numbers, counts = numbers[finite], counts[finite]
        if len(numbers):
            counts = np.histogram(numbers, bins=min(_BARS, len(numbers)), weights=counts)[0]
    else:
        counts = np.sort(counts)[::-1][:_BARS]
    return [round(float(one), 3) for one in counts / counts.max()] if len(counts) else []


def _find_ends(column: CountedColumn, kind: str) -> list[str]:
    """Find the smallest and the largest value of a column of numbers or dates; other values have none."""
    import polars as pl

    from shoal.table import dictionary_text

    if kind not in ("number", "date"):
        return []
    values = column.dictionary
    ordered = values.cast(pl.Float64, strict=False) if values.dtype == pl.String else values
    places = [place for place in (ordered.arg_min(), ordered.arg_max()) if place is not None]
    return dictionary_text(values.gather(places)).to_list()


def _find_spellings(column: CountedColumn) -> dict[str, str]:
    """Find values of a short list that look like other spellings of a more frequent one: w and W of weiblich."""
    import polars as pl

    if column.distinct > _FEW_VALUES or column.dictionary.dtype != pl.String:
        return {}
    counts = dict(zip(column.dictionary.to_list(), column.counts.tolist(), strict=False))
    groups: dict[str, list[str]] = {}
    for value in counts:
        groups.setdefault(value.strip().casefold(), []).append(value)
    # One letter that begins exactly one longer word, and no other one.
    for letter in [one for one in groups if len(one) == 1]:
        words = [one for one in groups if one.startswith(letter) and one != letter]
        if len(words) == 1 and len(words[0]) >= _WORD and words[0].isalpha():
            groups[words[0]] += groups.pop(letter)
    found: dict[str, str] = {}
    for spelled in (one for one in groups.values() if len(one) > 1):
        usual = max(spelled, key=lambda one: counts[one])
        found |= {one: usual for one in spelled if one != usual}
    return found


def _plain_warning(one: Remark) -> dict[str, Any]:
    """Return a warning with its facts, which screens phrase."""
    return {"code": one.code, "column": one.column, "found": one.found, "advice": one.advice}


def sheets(*, source: str, progress: Progress) -> list[tuple[str, int, int, int | None]]:
    """List the sheets of a workbook: name, rows, columns, and the row that looks like the names of columns."""
    from shoal.io import workbooks

    progress("read", 0, 1)
    shapes = workbooks.describe_sheets(source)
    return [(name, *shape) for name, shape in zip(workbooks.sheet_names(source), shapes, strict=True)]


def count_alone(
    *,
    source: str,
    quasi_identifiers: Sequence[str],
    person: str,
    reading: Mapping[str, Any],
    progress: Progress,
    rows: str | None = None,
    key: Sequence[str] = (),
) -> dict[str, float]:
    """Count who is alone with what others may know, and how likely one is found, as `shoal.risk` does."""
    from shoal.disclosure_risk import count_frequencies, prosecutor_risk, sample_uniques
    from shoal.disclosure_risk.frequencies import EachRow, PersonRows
    from shoal.table import Schema, encode
    from shoal.verification import find_owners

    progress("read", 0, 1)
    frame = open_table({"data": source, "rows": rows, "key": key, **reading}).frame
    schema = Schema(quasi_identifiers=tuple(quasi_identifiers))
    columns = encode(frame[[*quasi_identifiers]], schema).quasi_identifiers
    owners = find_owners(frame[[person]], [[person]]).to_series() if person else None
    persons = EachRow(frame.height) if owners is None else PersonRows.of(columns, owners)
    entries = tuple(column.gather(persons.first_rows) for column in columns)
    classes = persons.count_distinct(count_frequencies(entries))
    found = persons.at_risk(classes, classes.sample)
    chance = prosecutor_risk(found.sample, found.rows_of, Fraction(1))
    return {
        "alone": sample_uniques(found.sample, found.rows_of),
        "average": chance.average,
        "highest": chance.highest,
    }


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
    from shoal.disclosure_risk import MEASURES
    from shoal.verbs.risk import risk

    fraction: Any = number_in(sampling_fraction) if sampling_fraction else None
    found = risk(
        open_table({"data": source, "rows": rows, "key": key, **reading}).frame,
        quasi_identifiers=quasi_identifiers,
        sensitive=list(sensitive) or None,
        person=person or None,
        sampling_fraction=fraction,
        suda=suda,
        progress=progress,
    )
    facts = found.to_dict()
    sentences = {one.name: one.sentence(facts) for one in MEASURES}
    return {**facts, "sentences": {name: text for name, text in sentences.items() if text is not None}}


def list_coarsenings(
    *,
    content: Mapping[str, Any],
    trees: Mapping[str, Sequence[str]],
    progress: Progress,
) -> dict[str, list[list[Any]]]:
    """List the coarsenings that fit each published column, with the number of values that each leaves.

    `trees` holds, for each column with a hierarchy made in the studio, its file and the name of it in commands.
    """
    from shoal.hierarchy import Hierarchy
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
                found[name].append([rung.words, rung.left])
    return found


def try_goal(*, content: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Evaluate a goal: what is feasible for the whole table and what mends the rest, and a release of a part of it.

    The trial of a large table takes a quick algorithm or a part of the records, whole persons where a column identifies
    them.
    """
    from shoal._core.progress import silent
    from shoal._core.threads import start_in_thread
    from shoal.engines.memory import InMemory
    from shoal.studio.words import SCREENS
    from shoal.verbs.evaluate.goals import find_goals

    asked, request = arguments_in(content), request_in(content)
    progress("read", 0, 1)
    source = InMemory(opened=open_table(asked))
    # All values are made coarser in the background, which raises an error if a coarsening does not fit.
    coarsened = start_in_thread(lambda: coarsen_parsed(*read_parsed(asked, silent), asked))
    resolved = request.resolve(source.columns)
    opened = source.serving(resolved).opened
    goals, _ = find_goals(opened, resolved)
    progress("trial", 1, 2)
    feasible = all(one.feasible for one in goals)
    trial = _try_release(request, opened, asked.get("person") or ()) if feasible else None
    _, coarser, named = coarsened()
    frame = coarser.frame
    return {
        "left": {name: frame.get_column(name).drop_nulls().n_unique() for name in named if name in frame.columns},
        "pictures": {one: draw() for one, draw in coarser.pictures.items()},
        "goals": [
            {"feasible": one.feasible, "text": one.render(SCREENS), "mend": _mend_in_words(one)} for one in goals
        ],
        "trial": trial,
    }


def _mend_in_words(goal: Goal) -> dict[str, dict[str, str]]:
    """Write the change that mends a goal in the words of a plan; empty if there is none."""
    from shoal.models import KAnonymity, LDiversity, TCloseness

    found: dict[str, dict[str, str]] = {}
    if goal.steps:
        found["coarsen"] = {name: str(goal.mend["coarsen"][name]) for name in goal.steps}
    if models := goal.mend.get("privacy"):
        kinds: dict[type, str] = {KAnonymity: "k", LDiversity: "l", TCloseness: "t"}
        if all(type(one) in kinds for one in models):
            found["privacy"] = {kinds[type(one)]: str(getattr(one, kinds[type(one)])) for one in models}
    return found


def _try_release(request: Request, opened: OpenedData, person: Sequence[str]) -> dict[str, Any]:
    """Make a release of a part of the table, which is not written: risk, loss, and some records before and after."""
    from shoal._core.progress import Clock, silent
    from shoal.engines.memory import InMemory
    from shoal.errors import ShoalError
    from shoal.pipeline.run import STEPS, run
    from shoal.report.figures import read_figures
    from shoal.studio.words import SCREENS

    frame, table_rows = opened.frame, opened.frame.height
    columns, quick = max(1, len(request.schema.quasi_identifiers)), None
    if table_rows * columns > _TRIAL_CELLS:
        quick = _find_quick(request)
    fitting = _TRIAL_CELLS // columns if quick is None else _QUICK_CELLS // len(request.schema.published)
    rows = max(_LEAST_TRIAL_ROWS, fitting)
    few = table_rows > rows
    if few and person:
        # Whole persons, as many as have about so many records.
        owners = frame.select(person).unique(maintain_order=True)
        share = max(1, owners.height * rows // table_rows)
        chosen = owners.sample(min(share, owners.height), seed=0)
        frame = frame.join(chosen, on=list(person), how="semi", nulls_equal=True)
    elif few:
        frame = frame.sample(rows, seed=0)
    part = replace(opened, frame=frame, counts=opened.counts[: frame.height])
    try:
        source = InMemory(opened=part)
        resolved = replace((quick or request).resolve(source.columns), seed=0)
        release = run(resolved, source, Clock(STEPS, silent), dates=request.dates, decimal=request.decimal)
    except ShoalError as error:
        return {"rows": frame.height, "of": table_rows, "error": error.render(SCREENS)}
    figures = read_figures(release.certificate.to_dict()).risk
    sample = sample_release(release)
    return {
        "rows": frame.height,
        "of": table_rows,
        "quick": quick not in (None, request),
        "error": None,
        "risk": figures.get("after"),
        "loss": dict(release.metrics.ncp),
        "sample": sample,
    }


def _find_quick(request: Request) -> Request | None:
    """Find an algorithm that takes a second for a large table, and serves a request; None if there is none."""
    from shoal.errors import UnsupportedError

    if request.algorithm != "auto":
        return None
    if request.recoding == "suppression":
        return request if request.chosen.name in ("tp+", "m-approximation") else None
    found = replace(request, algorithm="mondrian")
    try:
        _ = found.chosen
    except UnsupportedError:
        return None
    return found


def compare(
    *,
    content: Mapping[str, Any],
    k: Sequence[int],
    l: Sequence[int],
    progress: Progress,
) -> dict[str, Any]:
    """Make and measure a release for each of several levels of protection, without writing any."""
    from shoal.models import LDiversity
    from shoal.studio.words import COMPARED, SCREENS
    from shoal.verbs.explore import explore

    asked = arguments_in(content)
    opened = open_table(asked)
    # The compared levels replace k and l; other models, and harmless values, apply to every level.
    others = [model for model in asked.pop("privacy") if l or not isinstance(model, LDiversity)]
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
    _keep_compared(found, content, opened)
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
    opened = open_table(asked)
    # A comparison runs in memory and chooses its own algorithms.
    for name in ("algorithm", "engine", "memory"):
        asked.pop(name, None)
    found = explore(asked.pop("data"), algorithms="all", progress=progress, **asked)
    _keep_compared(found, content, opened)
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


def _keep_compared(found: Exploration, content: Mapping[str, Any], opened: OpenedData) -> None:
    """Keep the releases of a comparison while its table is open, if they are not too many cells."""
    made = {_name_release(content, row.requested, row.algorithm): row.release for row in found.rows if row.release}
    cells = opened.frame.height * opened.frame.width
    if cells * len({**RELEASES, **made}) > _MOST_CELLS_KEPT:
        RELEASES.clear()
    if cells * len(made) <= _MOST_CELLS_KEPT:
        RELEASES.update(made)


def _name_release(content: Mapping[str, Any], models: Iterable[Mapping[str, Any]], algorithm: str) -> str:
    """Name a release by all that decides it; words for the report do not."""
    plan = {name: value for name, value in content.items() if name not in ("privacy", "algorithm", "report")}
    return json.dumps([plan, algorithm, sorted(map(repr, models))], sort_keys=True)


def publish(
    *,
    content: Mapping[str, Any],
    folder: str,
    progress: Progress,
) -> dict[str, Any]:
    """Make, verify and write a release; return its full certificate and the loss of each column.

    The release of a comparison is written if this plan was one of it, because its figures were shown.
    """
    from shoal._messages import set_audience
    from shoal.report import About, ReportFacts, facts_in
    from shoal.studio.words import REPORTS
    from shoal.verbs.anonymize import anonymize

    # `save` verifies the written files once more before they appear.
    asked = arguments_in(content)
    open_table(asked)  # another state of it has no compared releases
    models = request_in(content).requirement.to_list()
    release = RELEASES.get(_name_release(content, models, content.get("algorithm", "auto")))
    release = release or anonymize(progress=progress, **asked)
    progress("write", 0, 1)
    about = About(**content.get("report", {}))
    # Advice in the report and the certificate names screens instead of parameters.
    with set_audience(REPORTS):
        certificate = release.save(Path(folder), about=about).to_dict()
    private = Path(f"{folder}.private")
    # The screen shows the figures of the publisher's report.
    facts = facts_in((private / "report.json").read_bytes())
    assert isinstance(facts, ReportFacts)
    rows = max(release.metrics.recoding.rows, 1)
    return {
        "certificate": certificate,
        "columns": [
            {
                "name": one.name,
                "before": int(column.size - column.has_missing),
                "after": release.published.get_column(one.name).drop_nulls().n_unique(),
                "kept": 1 - one.changed / rows,
                "stars": one.stars / rows,
                "loss": one.loss,
            }
            for one, column in zip(facts.losses, release.metrics.table.quasi_identifiers, strict=True)
        ],
        "spread": [
            {
                "name": one.name,
                "told": one.told,
                "bars": [{"label": bar.label, "before": bar.before, "after": bar.after} for bar in one.bars],
            }
            for one in facts.distributions
        ],
        "sample": sample_release(release),
        "warnings": [_plain_warning(one) for one in release.warnings],
        "files": sorted(one.name for one in Path(folder).iterdir()),
        "private": sorted(one.name for one in private.iterdir()),
        "others": _find_others(Path(folder), asked),
    }


def _find_others(folder: Path, asked: Mapping[str, Any]) -> list[str]:
    """List the other releases in the folder of one that were made from the same table, by their private hashes."""
    from shoal.errors import ShoalError
    from shoal.verbs.provenance import provenance

    found = []
    for private in sorted(folder.parent.glob("*.private")):
        made = private.with_suffix("")
        try:
            if made != folder and made.is_dir() and provenance(open_table(asked).frame, private):
                found.append(made.name)
        except ShoalError:  # of other columns, linked, or no release
            continue
    return found
