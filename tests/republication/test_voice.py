"""Messages of republication name parameters in Python, and flags or commands in the command line; never both."""

import ast
import re
from pathlib import Path

from tests.every import every

import shoal
from shoal._messages import PYTHON, Phrase
from shoal.cli.command import Flags
from shoal.republication.ledger import advice

FILES = sorted((Path(shoal.__file__).parent / "republication").rglob("*.py"))
BOTH = re.compile(r"(?<![\w-])--[a-z]|shoal series|\w=\.\.\.|\w=True\b")


def texts(path: Path) -> list[str]:
    """Return the texts of a file but for docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [node.value for node in constants if id(node) not in docstrings]


@every("path", [path for path in FILES if path.name != "advice.py"])
def test_no_text_names_a_flag_or_a_parameter_itself(path: Path) -> None:
    assert [text for text in texts(path) if BOTH.search(text)] == []


@every("name", [name for name in vars(advice) if name.isupper()])
def test_advice_has_the_voice_of_its_reader(name: str) -> None:
    told = Phrase(getattr(advice, name))
    assert "--" not in str(told)
    assert "shoal " not in str(told)
    in_shell = told.render(Flags({}))
    assert re.search(r"--[a-z]|shoal series", in_shell)
    assert "=" not in in_shell
    assert str(told) == told.render(PYTHON)
