"""Facts and their sentences: every code has one, with the arguments of its fact."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path
from string import Formatter

import pytest

import shoal
from shoal._core.facts import Fact
from shoal._messages import PYTHON, Phrase, Suggestion, text_of
from shoal.cli.command import Flags
from shoal.errors import InternalError
from shoal.wording import SENTENCES, Sentence, code_in_words, sentence, sentences

SOURCES = Path(shoal.__file__).parent


@cache
def made() -> list[tuple[str, str, set[str], bool]]:
    """Return where the package makes facts: the place, the code as a pattern, and the names of arguments."""
    found = []
    for path in sorted(SOURCES.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        makers = ("Fact", "_of_columns", *["say"] * (path.parent.name in ("attacks", "report")))
        for node in ast.walk(ast.parse(text)) if re.search(r"\b(Fact|_of_columns|say)\(", text) else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in makers and node.args:
                for code in codes(node.args[0]):
                    names = {one.arg for one in node.keywords if one.arg is not None}
                    names |= {"count", "columns"} if node.func.id == "_of_columns" else set()  # type: ignore[attr-defined]
                    more = any(one.arg is None for one in node.keywords)
                    # Sentences of pages share the facts of a certificate: none needs all of them.
                    found.append((path.name, code, set() if node.func.id == "say" and more else names, more))  # type: ignore[attr-defined]
    return found


def codes(node: ast.expr) -> list[str]:
    """Return the patterns of the codes that an expression may be."""
    if isinstance(node, ast.Constant):
        return [re.escape(str(node.value))]
    if isinstance(node, ast.IfExp):
        return codes(node.body) + codes(node.orelse)
    if isinstance(node, ast.JoinedStr):
        return ["".join(re.escape(one.value) if isinstance(one, ast.Constant) else r"\w*" for one in node.values)]  # type: ignore[arg-type]
    return []


def placeholders(code: str) -> set[str]:
    form = SENTENCES[code]
    texts = (form,) if isinstance(form, str) else form
    named = {name for text in texts for _, name, _, _ in Formatter().parse(text) if name}
    return named | ({"count"} if isinstance(form, list) else set())


def test_every_fact_of_the_package_has_a_sentence_with_its_arguments() -> None:
    found = made()
    assert len(found) > 80
    for place, pattern, names, more in found:
        fitting = [code for code in SENTENCES if re.fullmatch(pattern, code)]
        assert fitting, f"{place}: {pattern}"
        for code in fitting:
            named = placeholders(code)
            assert named >= names - {"count"} if more else named - names == set(), f"{place}: {code}"


def test_every_sentence_belongs_to_a_fact() -> None:
    texts = "\n".join(
        path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py") if path.parent.name != "wording"
    )
    patterns = [pattern for _, pattern, _, _ in made()]
    # Pages choose sentences about models by the names of their parameters.
    for path in (*(SOURCES / "report").glob("*.py"), *(SOURCES / "attacks").glob("*.py")):
        built = [
            node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.JoinedStr)
        ]
        patterns += [code for node in built for code in codes(node) if re.match("[a-z]+_", code)]
    unused = [
        code
        for code in SENTENCES
        if not any(re.fullmatch(pattern, code) for pattern in patterns) and f'"{code}"' not in texts
    ]
    assert unused == []


def filled(code: str) -> Fact:
    """Return a fact with some argument for every placeholder."""
    form = SENTENCES[code]
    arguments: dict[str, object] = {}
    for text in (form,) if isinstance(form, str) else form:
        for _, name, spec, _ in Formatter().parse(text):
            if name:
                lists = dict.fromkeys(("names", "quoted", "list", "list_and_others"), ("plz",))
                some = {**lists, "shares": (("plz", 0.125),)}
                arguments[name] = some.get(spec or "", 0.125 if spec in ("percent", "share") else 3 if spec else "plz")
    return Fact(code, **({"count": 3} if isinstance(form, list) else {}) | arguments)


def test_sentences_are_the_same_from_json() -> None:
    for fact in map(filled, SENTENCES):
        told = sentence(fact)
        assert re.search(r"\{\w*[:}]", told) is None
        assert sentence(json.loads(json.dumps(fact.to_dict()))) == told
        assert Fact.of(json.loads(json.dumps(fact.to_dict()))) == fact


def test_figures_have_their_format() -> None:
    shares = Fact("shared_values", count=2, columns=(("plz", 0.125), ("alter", 1.0)), rows=80)
    stopped = Fact("full_domain_stopped", metric="gcp", releases=Fact("full_domain"), found=1234.5, bound=0.25)
    gap = Fact("patterns_gap", gap=3.2, proof=Fact("lagrangian"))
    many = Fact("drop_same", columns=tuple("abcdefg"), drop="-")
    assert "them: 'plz' (12.5%), 'alter' (100%) of 80 records." in sentence(shares)
    assert "gcp is 1,234, and" in sentence(stopped)
    assert "than 0.25." in sentence(stopped)
    assert sentence(gap).startswith("At most 3.20 % more than the fewest stars")
    assert "value of 'a', 'b', 'c', 'd' and 3 more columns:" in sentence(many)


def test_one_and_several() -> None:
    assert sentence(Fact("solved_in_parts", count=1)).startswith("The table was solved in 1 part:")
    assert sentence(Fact("solved_in_parts", count=2)).startswith("The table was solved in 2 parts:")
    assert sentence(Fact("smallest_group", count=1, least=3)).startswith("The smallest group has 1 record.")


def test_suggestions_speak_to_those_who_read_them() -> None:
    fact = Fact("ask_for_k", asked=Suggestion("k", 5, python="shoal.KAnonymity(5)"))
    flags = Flags({"k": "-k"})
    assert sentence(fact, PYTHON) == "Ask for more as well: shoal.KAnonymity(5)."
    assert sentence(fact, flags) == "Ask for more as well: -k 5."
    assert fact.to_dict(flags)["arguments"] == {"asked": "-k 5"}
    assert text_of((Phrase("A: ", Sentence(fact)),), flags) == "A: Ask for more as well: -k 5."
    inner = Fact("with", one=Suggestion("hierarchies", "zip=FILE"), other=Suggestion("recoding", "generalization"))
    assert sentence(Fact("coarsen_first", coarser=inner)).count(" with ") == 1


def test_sentences_follow_one_another_and_words_stay() -> None:
    assert sentences((Fact("spell_persons_alike"), None)).endswith(".")
    assert code_in_words("complete") == "all of its work was done"
    assert code_in_words("suppression") == "suppression"


def test_a_code_without_a_sentence_is_a_bug_that_names_it() -> None:
    with pytest.raises(InternalError, match="'never_heard_of' has no sentence"):
        sentence(Fact("never_heard_of"))
