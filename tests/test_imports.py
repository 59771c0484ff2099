"""Import rules that import-linter has no words for: kernels are known by the end of their names."""

import grimp

from tests.every import every

GRAPH = grimp.build_graph("shoal", include_external_packages=True)
KERNELS = sorted(one for one in GRAPH.modules if one.endswith("_kernel"))


@every("kernel", KERNELS)
def test_kernels_import_nothing_of_ours_but_other_kernels(kernel):
    ours = {one for one in GRAPH.find_modules_directly_imported_by(kernel) if one.startswith("shoal")}
    assert ours <= {*KERNELS, "shoal._core.compiling"}


def test_one_package_compiles_for_all_kernels():
    """Whoever may not use numba can use no kernel either: they reach it through their decorators."""
    compiling = GRAPH.find_modules_that_directly_import("numba")
    assert {one.rpartition(".")[0] for one in compiling} == {"shoal._core.compiling"}
    decorating = GRAPH.find_modules_that_directly_import("shoal._core.compiling")
    assert decorating <= {*KERNELS, "shoal.cli.warm_up"}, "which compiles without a call of its own"


def test_oracles_reach_no_kernel():
    """They are slow and independent: not even what they import may use a compiled loop."""
    graph = grimp.build_graph("shoal", "tests")
    assert "tests.oracles.oracles" in graph.modules
    for kernel in (*KERNELS, "shoal._core.compiling"):
        assert not graph.chain_exists(importer="tests.oracles", imported=kernel, as_packages=True), kernel
