"""No loop reads or writes outside of its arrays: the loops run uncompiled, with arrays that check every index.

Compiled loops check nothing: an index that is too large reads or writes foreign memory, and a negative one counts from
the end. `make test-bounds` runs the tests of the algorithms compiled, with numba's check of the upper bound.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.algorithms.conftest import make_problem
from tests.every import THOROUGH, few, some

import shoal
from shoal._core.compiling import Kernel
from shoal._core.compiling.kernels import Role
from shoal.algorithms import cluster
from shoal.algorithms.algorithm_list import ALGORITHMS, PROVING
from shoal.algorithms.local_search.groups import WorkingPartition
from shoal.errors import ShoalError
from shoal.models import KAnonymity, LDiversity

MAKERS = frozenset(("arange", "diff", "empty", "empty_like", "flatnonzero", "full", "maximum", "ones", "zeros"))
"""Functions of numpy by which loops make arrays."""


SHORT = {"sabre": shoal.algorithms.Sabre(effort=1), "full-domain": shoal.algorithms.FullDomain(most_nodes=20)}
"""Algorithms that would take long uncompiled."""


class Checked(np.ndarray):
    """An array that refuses negative indices; numpy itself refuses those that are too large."""

    reads = 0

    def __getitem__(self, at: Any) -> Any:
        Checked.reads += 1
        refuse_negative(at)
        return super().__getitem__(at)

    def __setitem__(self, at: Any, value: Any) -> None:
        refuse_negative(at)
        super().__setitem__(at, value)


def refuse_negative(at: Any) -> None:
    for one in at if isinstance(at, tuple) else (at,):
        if isinstance(one, int | np.integer) and one < 0:
            raise IndexError(f"the index {one} counts from the end")


def converted(value: Any, kind: type[np.ndarray]) -> Any:
    """Return a value with all arrays, also those in tuples, as views of a kind."""
    if isinstance(value, np.ndarray):
        return value.view(kind)
    if isinstance(value, tuple):
        parts = [converted(part, kind) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


class CheckedNumpy:
    """Numpy, but the arrays that it makes are checked."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        return (lambda *given, **named: converted(found(*given, **named), Checked)) if name in MAKERS else found


def uncompiled(kernel: Kernel) -> Callable[..., Any]:
    def run(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):  # compiled loops do not warn
            return converted(kernel.py_func(*(converted(one, Checked) for one in arguments)), np.ndarray)

    return run


def kernel_modules() -> Iterator[ModuleType]:
    for module in pkgutil.walk_packages(shoal.__path__, "shoal."):
        if module.name.endswith("_kernel"):
            yield importlib.import_module(module.name)


@pytest.fixture(scope="module", autouse=True)
def checked_loops() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        # A short search is enough.
        patch.setattr(cluster, "_DEFAULT_EFFORT", 2)
        patch.setattr(cluster, "_MIN_EFFORT", 2)
        patch.setattr(cluster, "_MIN_SEARCH_ROWS", 20)
        patch.setattr(cluster, "_MAX_ROWS_OF_FULL_SABRE", 0)
        for module in kernel_modules():
            if hasattr(module, "np"):
                patch.setattr(module, "np", CheckedNumpy())
            for one in vars(module).values():
                if isinstance(one, Kernel) and one.role is Role.KERNEL and one.py_func.__module__ == module.__name__:
                    patch.setattr(one, "_called", uncompiled(one))
        yield


def random_table(random: Random, rows: int) -> pl.DataFrame:
    # A block of a table, or a part of it, has fewer rows than an attribute has values.
    spread = random.choice((3, 8, 60))
    return pl.DataFrame(
        {
            "person": [random.randrange(1 + rows // 2) for _ in range(rows)],
            "code": [f"c{random.randrange(spread):02}" for _ in range(rows)],
            "kind": [random.choice(("x", "y", None)) for _ in range(rows)],
            "age": [random.randrange(20, 20 + spread) for _ in range(rows)],
            "illness": [random.choice(("flu", "flu", "cold", "gout")) for _ in range(rows)],
        }
    )


TREE = [(f"c{code:02}", f"g{code // 4}", f"h{code // 20}", "*") for code in range(60)]


def random_request(random: Random, name: str) -> dict[str, Any]:
    """Draw options; those that an algorithm does not serve are refused."""
    models = ({"k": 2}, {"k": 3}, {"k": 2, "l": 2}, {"l": 1.5}, {"t": 0.4}, {"k": 4, "t": 0.5})
    request: dict[str, Any] = {**random.choice(models), "algorithm": name}
    capabilities = ALGORITHMS[name].capabilities if name in ALGORITHMS else None
    if name == "matching":
        request = {"k": 2, "algorithm": name}
    if name in ("tds", "full-domain") or random.random() < 0.6:
        request["recoding"] = "generalization"
        if random.random() < 0.7:
            request["hierarchies"] = {"code": shoal.Hierarchy.from_rows(TREE)}
            if capabilities is not None and capabilities.serves_limits and random.random() < 0.6:
                low = random.randrange(3)
                request["limits"] = {"code": (low, random.randrange(low, 4))}
    if random.random() < 0.2:
        request["weights"] = {"age": 2}
    if name == "auto" and random.random() < 0.8:
        request.pop("limits", None)
        special = random.choice(({"person": "person"}, {"qi_sets": [["code", "age"], ["age", "kind"]]}))
        request |= special
    return request


def publish(seed: str, name: str, rows: int) -> bool:
    """Publish a random table of fewer rows; return whether the request was served."""
    random = Random(seed)
    table = random_table(random, random.randrange(4, rows))
    request = random_request(random, name)
    if "person" not in request:
        table = table.drop("person")
    columns = {"quasi_identifiers": ["code", "kind", "age"], "sensitive": "illness"}
    if name in SHORT:
        request["algorithm"] = SHORT[name]
    try:
        shoal.anonymize(table, **columns, **request, seed=random.randrange(9))
    except ShoalError:
        return False
    return True


@pytest.mark.drawn
@pytest.mark.parametrize("name", ["auto", *ALGORITHMS])
def test_no_index_is_outside_of_an_array(name: str) -> None:
    rows, tables = (8, 4) if name in PROVING else (18, 20)
    served = sum(publish(f"{name} {number}", name, rows) for number in some(range(tables)))
    assert served or name == "safepub" or not THOROUGH


def test_a_block_has_fewer_rows_than_an_attribute_has_nodes() -> None:
    table = pl.DataFrame({"code": [f"c{code:02}" for code in range(60)] * 2, "kind": ["x", "y"] * 60})
    release = shoal.anonymize(
        table,
        quasi_identifiers=["code", "kind"],
        k=2,
        algorithm="mondrian",
        recoding="generalization",
        hierarchies={"code": shoal.Hierarchy.from_rows(TREE)},
        limits={"code": (0, 1)},
    )
    assert set(release.data["code"]) <= {row[1] for row in TREE} | {row[0] for row in TREE}


def reads_of_growing(rows: int) -> int:
    """Count the reads of growing groups if the rows that are left have the most frequent value alone."""
    frequent = rows * 9 // 20
    values = ["flu"] * frequent + [("cold", "gout")[row % 2] for row in range(rows - frequent)]
    frame = [[[20] * frequent + [21] * (rows - frequent)], [values]]
    problem = make_problem(*frame, [KAnonymity(5), LDiversity(2)], {})
    work = WorkingPartition(problem)
    cluster._find_near_classes(problem, work)
    Checked.reads = 0
    cluster._grow(work)
    return Checked.reads


@pytest.mark.drawn
def test_growing_groups_takes_time_in_proportion_to_the_rows() -> None:
    rows = few(400, least=120)
    assert reads_of_growing(rows) < 3 * reads_of_growing(rows // 2)


@pytest.mark.parametrize("at", [-1, (0, -1), 9, (0, 9)])
def test_indices_outside_are_found(at: Any) -> None:
    with pytest.raises(IndexError):
        np.zeros((3, 3)).view(Checked)[at]
