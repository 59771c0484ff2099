"""The inference attack: a classifier that learned from a release predicts the sensitive values of people.

References
----------
.. [1] M. Giomi, F. Boenisch, C. Wehmeyer, B. Tasnadi: A unified framework for quantifying privacy risk in synthetic
   data. PoPETs 2023(2), Section 4.4. https://doi.org/10.56553/popets-2023-0055
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal._core.optional import require
from shoal._core.progress import Progress, silent
from shoal._core.validation import Integer, Optional, validate
from shoal._messages import Suggestion
from shoal.attacks.attack_result import AttackResult, share_right
from shoal.attacks.compatible_rows import why_not_matched
from shoal.attacks.each_column import attack_each
from shoal.attacks.people import known_people
from shoal.attacks.published_table import PublishedTable, Reading, open_published, truth_of
from shoal.errors import DataError, ParameterError
from shoal.verification.placing import place
from shoal.verification.published_columns import not_understood

if TYPE_CHECKING:
    from typing import Unpack

    import polars as pl
    from numpy.typing import NDArray

    from shoal.verification.covered_ranks import CoveredRanks

__all__ = ["inference_attack"]

_TREES, _LEAF = 100, 5


def inference_attack(
    release: Any,
    *,
    targets: Any,
    controls: Any,
    seed: int | None = None,
    progress: Progress = silent,
    **reading: Unpack[Reading],
) -> AttackResult:
    """Measure how much better a classifier predicts the values of people in a release than those of other people.

    A random forest (100 trees, at least 5 rows in a leaf) learns the sensitive value from the quasi-identifiers of the
    release, and predicts it for people whose quasi-identifiers the adversary knows. What it knows of people who are not
    in the release is statistics; only the difference comes from being in it.

    Formula: successes = targets whose value is predicted rightly; residual = (r - c) / (1 - c) for the rates r of
    targets and c of controls. Before it is learned from, each cell becomes one of the values of these people that it
    covers, drawn at random in proportion to how many have it. Baseline: the table's most common value is guessed.

    Assumes that targets and controls are drawn from one population, and that the adversary knows their
    quasi-identifiers. Another classifier may find more.

    Parameters
    ----------
    release : frame, path, or Release
        The published table, whoever made it: a frame, a file, or the folder of a release.
    targets : frame or path
        People who are in the release, with true quasi-identifiers and sensitive values.
    controls : frame or path
        The same of people who are not in it.
    seed : int, optional
        For the draws and the forest; from the operating system by default.
    progress : callable
        Called with (step, done, total) now and then.
    **reading : Reading
        `quasi_identifiers`, `sensitive`, `star`, `certificate`, `hierarchies`, `cells`: see `shoal.attacks.Reading`.

    Returns
    -------
    AttackResult
        With the figures `classifier` and `values_not_shown`. Of several sensitive columns it is the one whose rate is
        furthest above that of the controls; `each` has all of them and their combination.

    Raises
    ------
    MissingExtraError
        Where scikit-learn is not installed.
    NotUnderstoodError
        Where it is in doubt what the cells of a column stand for: then nothing was measured.
    UsageError
        Where the call or a table is wrong.

    References
    ----------
    [1]_ of this module, Section 4.4.
    """
    validate("inference_attack", {"seed": seed}, {"seed": Optional(Integer(low=0, high=2**32 - 1))})
    ensemble = require("sklearn.ensemble", extra="learn", purpose="The inference attack")
    table = open_published(release, reading)
    people, others = known_people(table, targets, controls, "inference")
    if others is None:
        raise ParameterError(
            "The inference attack means nothing without people who are not in the release: give them with ",
            Suggestion("controls"),
            ".",
        )
    problems = why_not_matched(table.read(people), people, "members")
    if problems:
        raise not_understood(problems)
    progress("features", 0, len(table.names))
    rows, known = _features(table, people, others, np.random.default_rng(seed))

    def attack(one: PublishedTable) -> AttackResult:
        truth, other_truth = truth_of(people, one), truth_of(others, one)
        if len(one.values) < 2:
            raise DataError("The release has one sensitive value: there is nothing to learn.")
        progress("forest", 0, 1)
        forest = ensemble.RandomForestClassifier(_TREES, min_samples_leaf=_LEAF, random_state=seed, n_jobs=-1)
        with warnings.catch_warnings():
            # Combinations of columns may well have nearly as many values as there are rows.
            warnings.filterwarnings("ignore", message="The number of unique classes")
            predicted = forest.fit(rows, one.secret_codes).predict(known)
        return AttackResult(
            attack="inference",
            outcome=share_right(predicted[: people.height] == truth),
            baseline=share_right(truth == int(one.totals.argmax())),
            control=share_right(predicted[people.height :] == other_truth),
            columns=one.names,
            figures={
                "classifier": f"random forest of {_TREES} trees",
                "values_not_shown": int((truth < 0).sum()),
            },
        )

    return attack_each(table, attack)


def _features(
    table: PublishedTable, people: pl.DataFrame, others: pl.DataFrame, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the quasi-identifiers of the rows, drawn, and of all people, as ranks of the people's values."""
    import polars as pl

    try:
        both = pl.concat([frame[list(table.names)] for frame in (people, others)])
    except pl.exceptions.PolarsError as error:
        raise DataError("A column has one type among the targets and another among the controls.") from error
    rows = np.empty((table.rows, len(table.names)))
    known = np.empty((both.height, len(table.names)))
    for at, column in enumerate(table.read(both).columns.values()):
        values, ranks = column.values(both.get_column(column.name))
        rows[:, at] = _drawn(place(column, values), np.asarray(column.codes), np.sort(ranks), rng)
        known[:, at] = ranks
    return rows, known


def _drawn(
    covered: CoveredRanks, cells: NDArray[np.integer], ranks: NDArray[np.int32], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return for each cell the rank of a person, drawn among those whom it covers; NaN where it covers nobody."""
    first = np.searchsorted(ranks, covered.low[cells], side="left")
    stop = np.searchsorted(ranks, covered.high[cells], side="right")
    stop = np.maximum(stop, first)
    drawn = np.minimum(first + (rng.random(len(cells)) * (stop - first)).astype(np.int64), len(ranks) - 1)
    found = np.where(stop > first, ranks[drawn], np.nan)
    listed = covered.starts[:-1] < covered.starts[1:]
    for cell in np.unique(cells[listed[cells]]).tolist():
        members = covered.members[covered.starts[cell] : covered.starts[cell + 1]]
        inside = ranks[np.isin(ranks, members)]
        here = np.flatnonzero(cells == cell)
        found[here] = rng.choice(inside, len(here)) if len(inside) else np.nan
    return found
