"""The command `shoal warm-up`."""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from shoal._core.compiling import compiling
from shoal._core.optional import require
from shoal._core.threads import usable_cores
from shoal.cli.command import argument, option, takes
from shoal.cli.console import Terminal, plain
from shoal.errors import MissingExtraError, ParameterError, ReleaseWarning, UnsupportedError, did_you_mean

if TYPE_CHECKING:
    from shoal.request.words import Words

Names = Annotated[
    list[str] | None,
    argument(
        metavar="[ALGORITHM ...]",
        help="What to compile: names of algorithms, grouping, risk, republish. Default: all.",
    ),
]
Processes = Annotated[
    int | None,
    option("--processes", metavar="NUMBER", help="Number of parallel processes. Default: one per core.", min=1),
]
_ROWS = MappingProxyType({"exact": 14, "milp": 14, "matching": 60, "patterns-optimal": 60})
"""Table sizes for algorithms that prove an optimum; the others use 400 rows."""
_PHASES = MappingProxyType(
    {
        "age": "544412102350542242151405033550",
        "gender": "220110011220020112122221211002",
        "income": "020010000111301102132310313312",
    }
)
"""A table with one digit per row and column, for which TP runs all of its phases with l = 3."""
_NEEDS = MappingProxyType(
    {
        "matching": ("highspy", "exact"),
        "milp": ("highspy", "exact"),
        "patterns-optimal": ("highspy", "exact"),
        "republish": ("sqlalchemy", "ledger"),
    }
)
"""The package that a task needs, and the extra that installs it."""
_LONGEST_FIRST = ("cluster", "sabre", "full-domain", "mondrian", "matching", "tds")


@takes("json")
def warm_up(terminal: Terminal, words: Words, *, names: Names = None, processes: Processes = None) -> None:
    """Compile the kernels of algorithms in advance, which shortens their first runs.

    Example: shoal warm-up cluster tp+

    Compiled kernels are not compiled again. Machine code is cached in the package's
    folder or, if that is not writable, in the user's cache folder.
    """
    known, left_out = _tasks(), _find_left_out()
    for name in names or ():
        if name not in known:
            raise ParameterError(f"There is no algorithm '{plain(name)}' to compile. {did_you_mean(name, known)}")
        if name in left_out:
            raise MissingExtraError(left_out[name])
    # Start with the longest tasks, so that the processes end at about the same time.
    chosen = sorted(names or known.keys() - left_out.keys(), key=(*_LONGEST_FIRST, *known).index)
    start = time.perf_counter()
    terminal.note(f"Compiling, which takes minutes if nothing is compiled yet: {', '.join(sorted(chosen))}.")
    with terminal.progress() as progress:
        for done, _ in enumerate(_run_all(chosen, processes or usable_cores()), 1):
            if progress is not None:
                progress("compiling", done, len(chosen))
    seconds = time.perf_counter() - start
    if terminal.json:
        left = [] if names else sorted(left_out)
        terminal.result({"compiled": sorted(chosen), "left_out": left, "seconds": round(seconds, 2)})
        return
    terminal.say(f"Compiled or found compiled in {seconds:.1f} s: {', '.join(sorted(chosen))}.")
    for name, reason in () if names else sorted(left_out.items()):
        terminal.say(f"Left out: {name}. {reason}")


def _find_left_out() -> dict[str, str]:
    """Find what cannot be compiled because its extra is not installed, with the command that installs it."""
    left_out = {}
    for name, (module, extra) in _NEEDS.items():
        try:
            require(module, extra=extra, purpose=f"'{name}'")
        except MissingExtraError as error:
            left_out[name] = str(error)
    return left_out


def _run_all(names: list[str], processes: int) -> Iterator[None]:
    """Run tasks in processes, and yield when one is done; end the processes if the caller is interrupted."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed

    pool = ProcessPoolExecutor(min(processes, len(names)), mp_context=multiprocessing.get_context("spawn"))
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes: this one ends the others
    try:
        running = [pool.submit(_run, name) for name in names]
    finally:
        signal.signal(signal.SIGINT, handler)
    try:
        for finished in as_completed(running):
            yield finished.result()
    except BaseException:
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _run(name: str) -> None:
    """Run one task in a separate process, without the warnings of its releases."""
    with compiling(), warnings.catch_warnings(action="ignore", category=ReleaseWarning):
        _tasks()[name](name)


def _tasks() -> Mapping[str, Callable[[str], None]]:
    """Return the tasks by name, each of which compiles all kernels of its name."""
    from shoal.algorithms.algorithm_list import ALGORITHMS

    return {**dict.fromkeys(ALGORITHMS, _publish), "grouping": _group, "risk": _measure, "republish": _republish}


def _publish(algorithm: str) -> None:
    """Publish a small table with an algorithm, in all ways that it supports."""
    import shoal
    from shoal.hierarchy import frequency_hierarchy

    # All recodings with all kinds of models, because each has kernels of its own.
    frame = shoal.datasets.census(_ROWS.get(algorithm, 400), quasi_identifiers=3, seed=1)
    trees = {"age": frequency_hierarchy(frame["age"])}
    ways: list[dict[str, Any]] = [{"recoding": "suppression"}, {"recoding": "generalization"}]
    ways.append({"recoding": "generalization", "hierarchies": trees})
    all_trees = {name: frequency_hierarchy(frame[name]) for name in frame.columns[:3]}
    ways.append({"recoding": "generalization", "hierarchies": all_trees})
    for way in ways:
        for model in (shoal.KAnonymity(2), shoal.LDiversity(2), shoal.TCloseness(0.9)):
            try:
                shoal.anonymize(
                    frame,
                    quasi_identifiers=frame.columns[:3],
                    sensitive="income",
                    privacy=model,
                    algorithm=algorithm,
                    seed=1,
                    **way,
                )
            except UnsupportedError:
                continue
    for table, request in _more(algorithm):
        shoal.anonymize(table, sensitive="income", seed=1, **request)


def _more(algorithm: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield tables and requests for the kernels of an algorithm that `_publish` does not reach."""
    import polars as pl

    import shoal
    from shoal.hierarchy import frequency_hierarchy

    # Small random tables do not reach every phase of these algorithms.
    if algorithm in ("tp", "tp+"):
        table = pl.DataFrame({name: [int(digit) for digit in digits] for name, digits in _PHASES.items()})
        yield table, {"quasi_identifiers": ["age", "gender"], "privacy": shoal.LDiversity(3), "algorithm": algorithm}
    elif algorithm == "cluster":
        frame = shoal.datasets.census(400, quasi_identifiers=3, seed=1)
        trees = {name: frequency_hierarchy(frame[name]) for name in frame.columns[:3]}
        longer = shoal.algorithms.Cluster(effort=200)
        request = {"quasi_identifiers": frame.columns[:3], "privacy": shoal.KAnonymity(3), "algorithm": longer}
        yield frame, {**request, "recoding": "generalization", "hierarchies": trees}
    elif algorithm == "full-domain":
        frame = shoal.datasets.census(100, quasi_identifiers=2, seed=1)
        least = shoal.algorithms.FullDomain(cost="kl_divergence")
        request = {"quasi_identifiers": frame.columns[:2], "privacy": shoal.KAnonymity(2), "algorithm": least}
        yield frame, {**request, "recoding": "generalization"}
    elif algorithm == "patterns-optimal":
        frame = shoal.datasets.census(60, quasi_identifiers=6, seed=1)
        proving = shoal.algorithms.PatternGuided(optimal=True, time_limit=60)
        yield frame, {"quasi_identifiers": frame.columns[:6], "privacy": shoal.KAnonymity(3), "algorithm": proving}


def _group(_: str) -> None:
    """Group labels, numbers, points and regions."""
    from shoal import grouping

    # Every method of grouping, with small inputs.
    counts = [at % 7 + 1 for at in range(40)]
    grouping.labels(counts, k=10)
    grouping.labels([6, 6, 9, 11, 1, 2, 10, 11, 3, 4, 10, 5], k=11)
    grouping.labels([5, 4, 3, 3, 2, 1], k=9, method="scheme")
    grouping.ordered(list(range(40)), k=10, counts=counts)
    grouping.points([(at * 7 % 40, at * 3 % 40) for at in range(40)], k=5)
    edges = [(at, at + 1) for at in range(99) if at % 10 < 9] + [(at, at + 10) for at in range(90)]
    weights = [at * at % 7 + 1 for at in range(100)]
    grouping.regions(edges, dict(enumerate(weights)), k=20)


def _measure(_: str) -> None:
    """Measure the risk and the losses of small tables."""
    import shoal

    frame = shoal.datasets.census(400, quasi_identifiers=3, seed=1)
    names = frame.columns[:3]
    shoal.risk(frame, quasi_identifiers=names, sensitive="income", suda=3)
    for recoding in ("suppression", "generalization"):
        # Compile the kernels of both recodings, of metrics and of risk.
        release = shoal.anonymize(
            frame,
            quasi_identifiers=names,
            sensitive="income",
            privacy=shoal.KAnonymity(2),
            algorithm="mondrian",
            recoding=recoding,
            seed=1,
        )
        release.metrics.to_dict()
        shoal.risk(release.data, quasi_identifiers=names, population=frame, stars="wildcard")


def _republish(_: str) -> None:
    """Publish two quarters of a changing table, and query the releases."""
    import shoal

    first, second, _people = shoal.datasets.quarters()
    with TemporaryDirectory() as folder:
        place = Path(folder)
        vault = place / "vault"
        vault.mkdir(mode=0o700)
        with shoal.Ledger(str(place / "ledger.db"), key=vault / "ledger.key", create=True) as ledger:
            columns: dict[str, Any] = {"quasi_identifiers": ["age", "zip"], "sensitive": "disease"}
            series = ledger.start("quarters", m=4, identifier="patient_id", **columns)
            for number, table in enumerate((first, second)):
                series.publish(table, place / f"q{number}").count("age in [30, 50) and disease = flu")
