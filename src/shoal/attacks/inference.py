"""The inference attack: a classifier that is trained on a release predicts the sensitive values of people.

References
----------
.. [1] M. Giomi, F. Boenisch, C. Wehmeyer, B. Tasnadi: A unified framework for quantifying privacy risk in synthetic
   data. PoPETs 2023(2), Section 4.4. https://doi.org/10.56553/popets-2023-0055
"""

from __future__ import annotations

import warnings
from typing import Any, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal._core.optional import require
from shoal._core.progress import Progress, silent
from shoal._core.validation import Integer, Optional, validate
from shoal._messages import Suggestion
from shoal.attacks.attack_result import AttackResult, attack_each_column, rate_of_persons
from shoal.attacks.attacked_people import open_known_people
from shoal.attacks.persons import number_owners
from shoal.attacks.published_table import PublishedTable, Reading, open_published, require_true_values
from shoal.errors import DataError, ParameterError
from shoal.verification.covered_ranks import CoveredRanks
from shoal.verification.placing import place_cells

# Size of the forest, and smallest number of rows in a leaf.
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

    A random forest (100 trees, at least 5 rows in a leaf) is trained on the quasi-identifiers and sensitive values of
    the release, and predicts the values of people whose quasi-identifiers the adversary knows. Its success with people
    outside the release is statistics; only the difference is due to being in the release.

    Formula: successes = targets whose value is predicted correctly; residual = (r - c) / (1 - c) for the rates r of
    targets and c of controls. For training, each cell is replaced by one of the people's values that it covers, drawn
    at random with the frequencies of these values. Baseline: the table's most common value is guessed.

    It is assumed that targets and controls are drawn from one population, and that the adversary knows their
    quasi-identifiers. Another classifier may be better.

    Parameters
    ----------
    release : frame, path, or Release
        The published table of any tool: a frame, a file, or the folder of a release.
    targets : frame or path
        People who are in the release, with true quasi-identifiers and sensitive values.
    controls : frame or path
        The same for people who are not in the release.
    seed : int, optional
        For the draws and the forest; from the operating system by default.
    progress : callable
        Called with (step, done, total) from time to time.
    **reading : Reading
        `quasi_identifiers`, `sensitive`, `star`, `certificate`, `hierarchies`, `cells`: see `shoal.attacks.Reading`.

    Returns
    -------
    AttackResult
        With the figures `classifier` and `values_not_shown`. If there are several sensitive columns, it is the one
        whose
        rate exceeds that of the controls most; `each` has all of them and their combination.

    Raises
    ------
    MissingExtraError
        If scikit-learn is not installed.
    NotUnderstoodError
        If the meaning of a column's cells is in doubt. Nothing is measured then.
    UsageError
        If the call or a table is invalid.

    References
    ----------
    [1]_ of this module, Section 4.4.

    Examples
    --------
    >>> import polars as pl
    >>> ages, diseases = [age for age in range(20, 60) for _ in range(2)], ["flu"] * 40 + ["gout"] * 40
    >>> decades = [f"[{age // 10 * 10}, {age // 10 * 10 + 9}]" for age in ages]
    >>> release = pl.DataFrame({"age": decades, "disease": diseases})
    >>> people = pl.DataFrame({"age": ages, "disease": diseases})
    >>> found = inference_attack(
    ...     release, targets=people[::2], controls=people[1::2], seed=0, quasi_identifiers=["age"], sensitive="disease"
    ... )
    >>> found.attempts, found.rate > found.baseline.rate
    (40, True)
    """
    validate("inference_attack", {"seed": seed}, {"seed": Optional(Integer(low=0, high=2**32 - 1))})
    ensemble = require("sklearn.ensemble", extra="learn", purpose="The inference attack")
    table = open_published(release, reading)
    people, others = open_known_people(table, targets, controls, "inference")
    if others is None:
        raise ParameterError(
            "The inference attack means nothing without people who are not in the release: give them with ",
            Suggestion("controls"),
            ".",
        )
    # Members of the release must match its plain columns.
    owners, other_owners = (
        number_owners(frame, table.person, "the targets and controls") for frame in (people, others)
    )
    table.read_matching(people, "members")
    progress("features", 0, len(table.names))
    # Features are the same for all sensitive columns.
    rows, known = _build_features(table, people, others, np.random.default_rng(seed))

    def attack(one: PublishedTable) -> AttackResult:
        truth, other_truth = require_true_values(people, one), require_true_values(others, one)
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
            outcome=rate_of_persons(predicted[: people.height] == truth, owners),
            baseline=rate_of_persons(truth == int(one.totals.argmax()), owners),
            control=rate_of_persons(predicted[people.height :] == other_truth, other_owners),
            columns=one.names,
            figures={
                "classifier": f"random forest of {_TREES} trees",
                "values_not_shown": int((truth < 0).sum()),
                **one.whose,
            },
        )

    return attack_each_column(table, attack)


def _build_features(
    table: PublishedTable, people: pl.DataFrame, others: pl.DataFrame, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Build the features of the rows and of the people: ranks of the people's values, drawn at random for cells."""
    try:
        both = pl.concat([frame[list(table.names)] for frame in (people, others)])
    except pl.exceptions.PolarsError as error:
        raise DataError("A column has one type among the targets and another among the controls.") from error
    rows = np.empty((table.rows, len(table.names)))
    known = np.empty((both.height, len(table.names)))
    for at, column in enumerate(table.read(both).columns.values()):
        # Ranks among the values of targets and controls together.
        values, ranks = column.values(both.get_column(column.name))
        rows[:, at] = _draw_ranks(place_cells(column, values), np.asarray(column.codes), np.sort(ranks), rng)
        known[:, at] = ranks
    return rows, known


def _draw_ranks(
    covered: CoveredRanks, cells: NDArray[np.integer], ranks: NDArray[np.int32], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw for each cell the rank of a person whom it covers; NaN if it covers no person."""
    # A cell that covers a range of ranks draws from the sorted people.
    first = np.searchsorted(ranks, covered.low[cells], side="left")
    stop = np.searchsorted(ranks, covered.high[cells], side="right")
    stop = np.maximum(stop, first)
    drawn = np.minimum(first + (rng.random(len(cells)) * (stop - first)).astype(np.int64), len(ranks) - 1)
    found = np.where(stop > first, ranks[drawn], np.nan)
    # A cell of several ranks draws from the people who have them.
    listed = covered.starts[:-1] < covered.starts[1:]
    # In the order of their rows: codes of text have an order of their own in each process.
    met = cells[np.sort(np.unique(cells, return_index=True)[1])]
    for cell in met[listed[met]].tolist():
        members = covered.members[covered.starts[cell] : covered.starts[cell + 1]]
        inside = ranks[np.isin(ranks, members)]
        here = np.flatnonzero(cells == cell)
        found[here] = rng.choice(inside, len(here)) if len(inside) else np.nan
    return found
