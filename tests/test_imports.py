"""Import rules that import-linter has no words for: kernels are known by the end of their names."""

import grimp
import pytest

GRAPH = grimp.build_graph("shoal", include_external_packages=True)
KERNELS = sorted(one for one in GRAPH.modules if one.endswith("_kernel"))


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_import_nothing_of_ours_but_other_kernels(kernel):
    ours = {one for one in GRAPH.find_modules_directly_imported_by(kernel) if one.startswith("shoal")}
    assert ours <= set(KERNELS)


def test_what_compiles_is_a_kernel():
    """A function is compiled in a kernel only, so that whoever may not use numba can use no kernel either."""
    compiling = GRAPH.find_modules_that_directly_import("numba")
    assert compiling - set(KERNELS) == {"shoal.cli.compilation"}, "it listens to the compiler"
