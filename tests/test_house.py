"""The house keeps its own rules: public names, documentation, and who may print."""

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import shoal

ROOT = Path(shoal.__file__).parent
SOURCES = {str(path.relative_to(ROOT.parent)): path for path in sorted(ROOT.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in SOURCES.items()}
MODULES = sorted(module.name for module in pkgutil.walk_packages([str(ROOT)], "shoal."))


def test_the_public_names():
    assert len(set(shoal.__all__)) == len(shoal.__all__)
    assert dir(shoal) == sorted(shoal.__all__)
    for name in shoal.__all__:
        thing = getattr(shoal, name)
        assert thing is not None
        if callable(thing):
            assert thing.__doc__, f"{name} has no docstring"
            assert thing.__name__ == name
    namespace: dict[str, object] = {}
    exec("from shoal import *", namespace)
    assert set(namespace) - {"__builtins__"} == set(shoal.__all__)


def test_nothing_else_is_there():
    with pytest.raises(AttributeError, match="module 'shoal' has no attribute 'nonsense'"):
        _ = shoal.nonsense
    homes = {*vars(shoal)["_HOME"], "datasets", "errors", "grouping", "__version__"}
    assert homes == set(shoal.__all__), "what is found on demand is what is listed"


def test_what_type_checkers_see_is_what_is_there():
    imported = {
        alias.asname or alias.name
        for node in TREES["shoal/__init__.py"].body
        if isinstance(node, ast.If)
        for statement in node.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert imported | {"__version__"} == set(shoal.__all__)


def test_no_public_name_is_that_of_a_module():
    """A submodule takes the place of what its package calls the same, as soon as anybody imports it."""
    modules = {module.split(".")[1] for module in MODULES}
    assert modules & set(shoal.__all__) == {"datasets", "errors", "grouping"}


def test_the_version_is_the_packages():
    assert shoal.__version__.split(".")[0].isdigit()


def test_importing_shoal_imports_nothing_heavy():
    heavy = ("numba", "polars", "pandas", "numpy", "pyarrow")
    script = f"import sys, shoal, shoal.errors; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("name", TREES)
def test_every_module_says_what_it_is(name):
    docstring = ast.get_docstring(TREES[name])
    assert docstring, f"{name} has no docstring"
    assert docstring.splitlines()[0].endswith((".", ":")), "the first line is a sentence"


@pytest.mark.parametrize("module", [module for module in MODULES if not module.endswith("__main__")])
def test_every_listed_name_is_there(module):
    imported = importlib.import_module(module)
    listed = getattr(imported, "__all__", None)
    if listed is None:
        assert not imported.__file__.endswith("__init__.py"), "every room lists its names"
        return
    assert len(set(listed)) == len(listed)
    for name in listed:
        assert hasattr(imported, name), f"{module} lists {name}, which is not there"


@pytest.mark.parametrize("name", [name for name in TREES if not name.startswith("shoal/cli/")])
def test_only_the_command_line_prints(name):
    talk = ("print", "input", "breakpoint")
    called = [node for node in ast.walk(TREES[name]) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    assert not [node.lineno for node in called if node.func.id in talk]


@pytest.mark.parametrize("name", TREES)
def test_no_long_file_no_bare_except_nothing_left_undone(name):
    text = SOURCES[name].read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 600
    assert "TODO" not in text
    assert "FIXME" not in text
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, f"line {node.lineno}: a bare except"
        if isinstance(node, ast.Raise) and node.exc is not None:
            assert not ast.unparse(node.exc).startswith("NotImplementedError"), f"line {node.lineno}"


def test_kernels_are_cached_functions_without_tricks():
    for name, tree in TREES.items():
        if not name.endswith("_kernel.py"):
            continue
        for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
            written = [ast.unparse(decorator) for decorator in function.decorator_list]
            assert written in (["njit(cache=True)"], ["njit(cache=True, inline='always')"]), f"{name}: {function.name}"
            nested = [node for node in ast.walk(function) if isinstance(node, ast.FunctionDef | ast.Lambda)]
            assert nested == [function], f"{name}: {function.name} has a closure"


def test_the_errors_and_their_exit_codes():
    from shoal import errors

    codes = {name: getattr(errors, name).exit_code for name in errors.__all__ if name.endswith("Error")}
    assert codes == {
        "ShoalError": 70,
        "InternalError": 70,
        "UsageError": 2,
        "ColumnError": 2,
        "DataError": 2,
        "OutputError": 2,
        "LedgerError": 2,
        "LedgerBusyError": 2,
        "MissingExtraError": 2,
        "NoRowsError": 2,
        "NotUnderstoodError": 2,
        "ParameterError": 2,
        "UnsupportedError": 2,
        "InfeasibleError": 1,
        "ReleaseUnsafeError": 3,
    }
    drawn = errors.__doc__
    for name, error in ((name, getattr(errors, name)) for name in codes):
        assert name in drawn, "the tree is drawn in the docstring"
        assert issubclass(error, errors.ShoalError)


def test_the_pages_that_the_readme_names_are_there():
    home = ROOT.parents[1]
    pages = [home / "README.md", *sorted((home / "docs").rglob("*.md"))]
    if not pages[0].exists():
        pytest.skip("an installed package has no README beside it")
    named = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in pages
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
        if "://" not in link
    }
    assert [str(path.relative_to(home)) for path in sorted(named) if not path.exists()] == []
    assert set((home / "docs" / "guide").glob("*.md")) <= named, "every page of the guide is linked from somewhere"
