"""Rules that the code keeps: public names, documentation, sizes, and who may print."""

import ast
import importlib
import json
import pkgutil
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

import shoal
from shoal._core.optional import DISTRIBUTION
from tests.every import every

ROOT = Path(shoal.__file__).parent
SOURCES = {str(path.relative_to(ROOT.parent)): path for path in sorted(ROOT.rglob("*.py"))}
MODULES = sorted(module.name for module in pkgutil.walk_packages([str(ROOT)], "shoal."))
pytestmark = pytest.mark.xdist_group("house")  # so that one process parses every module, once


@cache
def tree_of(name: str) -> ast.Module:
    return ast.parse(SOURCES[name].read_text(encoding="utf-8"))


@cache
def nodes_of(name: str) -> tuple[ast.AST, ...]:
    """List what a module is made of."""
    return tuple(ast.walk(tree_of(name)))


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
    with pytest.raises(AttributeError, match="nonsense"):
        _ = shoal.nonsense
    with pytest.raises(AttributeError, match=r"shoal\.algorithms\.Mondrian"):
        _ = shoal.Mondrian
    assert len(dir(shoal)) <= 45


def test_what_type_checkers_see_is_what_is_there():
    """Type checkers read the stub, and so does the package: each name stands there once, and in its module's list."""
    statements = ast.parse((ROOT / "__init__.pyi").read_text(encoding="utf-8")).body
    assert all(isinstance(node, ast.ImportFrom) and node.level == 1 for node in statements)
    listed = [(node.module, alias) for node in statements for alias in node.names]
    assert sorted(alias.name for _, alias in listed) == sorted(shoal.__all__)
    for module, alias in listed:
        assert alias.asname == alias.name, "type checkers take it for public only so"
        if module is None:
            assert getattr(shoal, alias.name) is importlib.import_module(f"shoal.{alias.name}")
        else:
            home = importlib.import_module(f"shoal.{module}")
            assert alias.name in getattr(home, "__all__", vars(home))
            assert getattr(shoal, alias.name) is getattr(home, alias.name)


def test_no_public_name_is_that_of_a_module():
    """A submodule takes the place of what its package calls the same, as soon as anybody imports it."""
    modules = {module.split(".")[1] for module in MODULES}
    packages = ("algorithms", "attacks", "datasets", "errors", "grouping", "models", "results", "sklearn")
    assert modules & set(shoal.__all__) == set(packages)


def test_the_version_is_the_packages():
    assert shoal.__version__.split(".")[0].isdigit()


def test_importing_shoal_imports_nothing_heavy():
    heavy = ("numba", "polars", "pandas", "numpy", "pyarrow")
    script = f"import sys, shoal, shoal.errors; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@every("name", SOURCES)
def test_every_module_says_what_it_is(name):
    docstring = ast.get_docstring(tree_of(name))
    assert docstring, f"{name} has no docstring"
    assert docstring.splitlines()[0].endswith((".", ":")), "the first line is a sentence"


@every("module", [module for module in MODULES if not module.endswith("__main__")])
def test_every_listed_name_is_there(module):
    imported = importlib.import_module(module)
    listed = getattr(imported, "__all__", None)
    if not imported.__file__.endswith(("__init__.py", "_kernel.py")) and module not in (
        "shoal.errors",
        "shoal.results",
    ):
        assert listed is None, "only packages list their names"
        return
    assert listed is not None, "every package lists its names"
    assert len(set(listed)) == len(listed)
    for name in listed:
        assert hasattr(imported, name), f"{module} lists {name}, which is not there"


def test_listed_names_are_used_elsewhere():
    """A package lists what other modules, tests or benchmarks import of it; only public packages list more."""
    public = {f"shoal.{name}" for name in ("algorithms", "attacks", "datasets", "grouping", "models", "results")}
    here = Path(__file__).parent
    idle = set()
    for module in set(MODULES) - public:
        commands = {module.rpartition(".")[2].removesuffix("_all")} if module.startswith("shoal.cli.") else set()
        listed = set(getattr(importlib.import_module(module), "__all__", ()))
        idle |= {(module, name) for name in listed - commands}
    idle -= used_in([node for name in SOURCES for node in nodes_of(name)], idle)
    for path in [ROOT / "__init__.pyi", *here.rglob("*.py"), *(here.parent / "benchmarks").rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        if any(name in text for _, name in idle):
            idle -= used_in([*ast.walk(ast.parse(text))], idle)
    assert not idle


def used_in(nodes, names):
    """Return the names of modules that stand as attributes, or are imported from their modules."""
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    taken = {(f"shoal.{one.module}" if one.level else one.module, name.name) for one in imports for name in one.names}
    return {(module, name) for module, name in names if name in attributes or (module, name) in taken}


def test_nothing_guesses_what_an_algorithm_can_do():
    """Capabilities are declared in one value, and read from it: not asked for by name."""
    from dataclasses import fields

    from shoal.algorithms.base import Algorithm, Capabilities

    declared = {one.name for one in fields(Capabilities)} | {name for name in vars(Algorithm) if name[0] != "_"}
    calls = [node for name in SOURCES for node in nodes_of(name) if isinstance(node, ast.Call)]
    guesses = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id in ("getattr", "hasattr")]
    names = {call.args[1].value for call in guesses if isinstance(call.args[1], ast.Constant)}
    assert not names & (declared - {"name"})


@every("name", [name for name in SOURCES if not name.startswith("shoal/cli/")])
def test_only_the_command_line_prints(name):
    talk = ("print", "input", "breakpoint")
    called = [node for node in nodes_of(name) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    assert not [node.lineno for node in called if node.func.id in talk]


@every("name", SOURCES)
def test_no_bare_except_and_nothing_left_undone(name):
    text = SOURCES[name].read_text(encoding="utf-8")
    assert "TODO" not in text
    assert "FIXME" not in text
    for node in nodes_of(name):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, f"line {node.lineno}: a bare except"
        if isinstance(node, ast.Raise) and node.exc is not None:
            assert not ast.unparse(node.exc).startswith("NotImplementedError"), f"line {node.lineno}"


MANY_PARAMETERS = {
    "shoal/verbs/apply/apply_plan.py: apply",
    "shoal/verbs/risk.py: risk",
    "shoal/verbs/audit.py: audit",
    "shoal/verbs/anonymize.py: anonymize",
    "shoal/republication/series.py: publish",
}
"""The verbs that take a table and all that may be asked of it, by keyword."""


@every("name", [name for name in SOURCES if not name.endswith("_kernel.py")])
def test_functions_fit_a_screen_and_take_few_parameters(name):
    """At most 80 lines below the docstring, and 12 parameters outside the command line."""
    for function in nodes_of(name):
        if not isinstance(function, ast.FunctionDef):
            continue
        told = function.body[0].end_lineno - function.body[0].lineno + 1 if ast.get_docstring(function) else 0
        lines = function.end_lineno - function.lineno + 1 - told
        place = f"{name}: {function.name}"
        assert lines <= 80, place
        taken = function.args
        own = [one for one in taken.posonlyargs + taken.args + taken.kwonlyargs if one.arg not in ("self", "cls")]
        count = len(own) + bool(taken.vararg) + bool(taken.kwarg)
        assert count <= 12 or place in MANY_PARAMETERS or name.startswith("shoal/cli/"), place


@every("name", [name for name in SOURCES if name.endswith("_kernel.py")])
def test_kernels_take_what_belongs_together_as_one(name):
    """At most 12 parameters: arrays that belong together are a named tuple, whose fields say what they are."""
    functions = [node for node in tree_of(name).body if isinstance(node, ast.FunctionDef)]
    taken = {function.name: function.args.posonlyargs + function.args.args for function in functions}
    assert {called: len(arguments) for called, arguments in taken.items() if len(arguments) > 12} == {}
    assert [function.name for function in functions if function.args.kwonlyargs or function.args.vararg] == []


def test_a_class_means_one_thing_in_the_tree():
    """But kernels have records of their own."""
    homes: dict[str, list[str]] = {}
    for name in SOURCES:
        tree = tree_of(name)
        if not name.endswith("_kernel.py"):
            for node in tree.body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    homes.setdefault(node.name, []).append(name)
    # The regions of an audit's cells give way to sub-domains.
    assert {name for name, places in homes.items() if len(places) > 1} <= {"Regions"}


def test_kernels_are_functions_without_tricks():
    for name in SOURCES:
        tree = tree_of(name)
        if not name.endswith("_kernel.py"):
            continue
        for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
            written = [ast.unparse(decorator) for decorator in function.decorator_list]
            roles = (["kernel"], ["linear_kernel"], ["kernel_step"], ["allocating_step"], ["inlined"])
            assert written in roles, f"{name}: {function.name}"
            nested = [node for node in ast.walk(function) if isinstance(node, ast.FunctionDef | ast.Lambda)]
            assert nested == [function], f"{name}: {function.name} has a closure"


def returned_by(function):
    """The expressions that a function returns, those within tuples and conditions included."""
    waiting = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Tuple):
            waiting += node.elts
        elif isinstance(node, ast.IfExp):
            waiting += [node.body, node.orelse]
        elif isinstance(node, ast.BoolOp):
            waiting += node.values
        else:
            yield node


def returns_arrays(function, *, elements):
    """Whether a function may return an array: what it indexes itself, what it gets from another, and elements of it."""
    indexed = {
        node.value.id
        for node in ast.walk(function)
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.value, ast.Name)
    }
    numbers = ("int", "float", "bool", "min", "max", "round", "np.int32", "np.int64")
    return any(
        (isinstance(node, ast.Name) and node.id in indexed)
        or (isinstance(node, ast.Attribute) and ast.unparse(node.value) != "np")
        or (isinstance(node, ast.Subscript) and (elements or isinstance(node.slice, ast.Slice)))
        or (isinstance(node, ast.Call) and not elements and ast.unparse(node.func) not in numbers)
        for node in returned_by(function)
    )


def test_steps_that_count_no_references_return_no_arrays():
    """Their callers would release an array that they never held, or keep one forever."""
    made = {
        "empty_sides",
        "count_left",
        "_table_of",
        "_chain_by_projection",
        "_collect_fragments",
        "_find_classes",
        "_find_runs",
    }
    found = set()
    for name in SOURCES:
        if not name.endswith("_kernel.py"):
            continue
        for function in (node for node in tree_of(name).body if isinstance(node, ast.FunctionDef)):
            (role,) = (ast.unparse(decorator) for decorator in function.decorator_list)
            if role == "allocating_step" and returns_arrays(function, elements=False):
                found.add(function.name)
            if role not in ("kernel_step", "inlined"):
                continue
            assert not returns_arrays(function, elements=True), f"{name}: {function.name}"
            called = {ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
            assert not called & {*made, "_with_room"}, f"{name}: {function.name}"
    assert found == {*made, "_with_room"}


OTHERS = [name for name in SOURCES if not name.startswith(("shoal/cli/", "shoal/republication/"))]


@every("name", OTHERS)
def test_only_the_command_line_speaks_of_its_flags(name):
    """Errors refer to parameters, and the audience of the command line calls them by their flags."""
    said = [
        (node.lineno, node.value)
        for raised in nodes_of(name)
        if isinstance(raised, ast.Raise | ast.Return)
        for node in ast.walk(raised)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert [(line, text) for line, text in said if re.search(r"--[a-z]", text) and "pip install" not in text] == []


@every("name", OTHERS)
def test_parameters_are_refused_in_one_shape(name):
    """Whose parameter it is, and which, are known to the error, not written into its words."""
    raised = [node for node in nodes_of(name) if isinstance(node, ast.Raise)]
    texts = [node for one in raised for node in ast.walk(one) if isinstance(node, ast.Constant)]
    assert [node.lineno for node in texts if isinstance(node.value, str) and "' parameter of " in node.value] == []


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
        "NotPicklableError": 2,
        "LedgerError": 2,
        "LedgerBusyError": 2,
        "MissingExtraError": 2,
        "NoRowsError": 2,
        "PeopleError": 2,
        "NotUnderstoodError": 2,
        "ParameterError": 2,
        "UnsupportedError": 2,
        "InfeasibleError": 1,
        "WarnedError": 1,
        "ReleaseUnsafeError": 3,
    }
    drawn = errors.__doc__
    for name, error in ((name, getattr(errors, name)) for name in codes):
        assert name in drawn, "the tree is drawn in the docstring"
        assert issubclass(error, errors.ShoalError)


def test_the_citation_names_the_version():
    file = ROOT.parents[1] / "CITATION.cff"
    if file.exists():
        assert f"\nversion: {shoal.__version__}\n" in file.read_text(encoding="utf-8")


def test_nothing_installs_the_project_of_another_name():
    """In the package index `shoal` is somebody else's: hints, pages, tests and metadata name `shoal-privacy`."""
    home = ROOT.parents[1]
    if not (home / "pyproject.toml").exists():
        pytest.skip("an installed package has no pyproject.toml beside it")
    wrong = re.compile(
        r"pip install(?: --?[\w-]+)* ['\"]?shoal(?!-privacy)\b"
        r"|\bshoal\\*\[[a-z]+[],]|(?:version|requires)\(['\"]shoal['\"]\)"
    )
    files = [*home.glob("*.*"), *(home / "Makefile", home / ".ci/package", home / ".ci/run")]
    for folder in ("src", "tests", "docs", "benchmarks", ".github"):
        files += [file for file in (home / folder).rglob("*.*") if not {"_build", "__pycache__"} & set(file.parts)]
    texts = {file: file.read_text("utf-8", errors="ignore") for file in files if file.is_file()}
    assert [str(file.relative_to(home)) for file, text in texts.items() if wrong.search(text)] == []
    project = tomllib.loads(texts[home / "pyproject.toml"])["project"]
    assert project["name"] == DISTRIBUTION == "shoal-privacy"
    assert project["dynamic"] == ["version"], "it stands in shoal/_version.py alone"


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
    for index in (home / "docs").rglob("index.md"):
        listed = index.read_text(encoding="utf-8").split("```{toctree}")[1:]
        assert any("\n*\n" in one or "\n:hidden:" in one or "generated" in one or "\n0*\n" in one for one in listed), (
            f"a page that is put beside {index.relative_to(home)} is in the navigation"
        )


def test_mutants_that_are_explained_are_of_lines_that_are_there():
    home = Path(__file__).resolve().parent.parent
    explained = json.loads((home / ".ci" / "mutants.json").read_text(encoding="utf-8"))
    assert len(explained) > 5
    for one in explained:
        assert one["before"] in (home / one["path"]).read_text(encoding="utf-8").splitlines(), one
        assert one["before"] != one["after"]
        assert one["why"].endswith(".")
