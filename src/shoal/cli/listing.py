"""The command `shoal list`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import click

from shoal.cli.command import argument, takes
from shoal.cli.console import Terminal, lines_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shoal._core.validation import Parameter
    from shoal.request.words import Words

_TABLES = ("algorithms", "models", "metrics", "measures", "attacks", "warnings", "keys")

What = Annotated[str, argument(metavar="|".join(_TABLES), help="What to list.")]


@takes("json")
def tables(terminal: Terminal, words: Words, *, what: What) -> None:
    """List the algorithms with their parameters, the models, metrics, measures of risk, attacks, warnings or keys.

    Example: shoal list algorithms
    """
    if what not in _TABLES:
        raise click.BadParameter(f"'{what}' is none of {', '.join(_TABLES)}.", param_hint="what")
    found = _entries(what)
    if terminal.json:
        terminal.result({what: found})
        return
    # Each entry has a description, and algorithms also have measurements and parameters.
    lines = []
    for one in found:
        lines.append((one["name"], one["help"]))
        if one.get("minimality"):
            lines.append(("", _minimality(one["minimality"])))
        if one.get("refinement"):
            lines.append(("", _refinement(one["refinement"])))
        lines.extend(("", f"{name}: {text}") for name, text in one.get("parameters", {}).items())
    terminal.say("", lines_of(lines), "")


def _algorithms() -> list[dict[str, Any]]:
    from shoal._core.validation import parameters_of
    from shoal.algorithms.algorithm_list import CATALOGUE

    return [
        {
            "name": entry.algorithm.name,
            "help": entry.help,
            "minimality": None if entry.minimality is None else asdict(entry.minimality),
            "refinement": None if entry.refinement is None else asdict(entry.refinement),
            "parameters": _describe_parameters(parameters_of(entry.algorithm), "--param {}=..."),
        }
        for entry in CATALOGUE
    ]


def _minimality(measured: Mapping[str, float]) -> str:
    """Describe how much knowledge of an algorithm adds to what its releases reveal."""
    from shoal._core.words import percent

    return (
        f"Knowing the algorithm gave a belief above 1/2 in a person's value for {percent(measured['share'])} of "
        f"the originals of four tables of six people with l = 2, and at most {percent(measured['belief'])}; other "
        "tables can reveal more (see shoal attack --method minimality)."
    )


def _refinement(measured: Mapping[str, Any]) -> str:
    """Describe what the public table of an algorithm gave away."""
    from shoal._core.words import percent

    known = "what the coarser cells were was not measured"
    if measured["known"] == 0:
        known = "no coarser cell is known exactly"
    elif measured["known"] is not None:
        known = (
            f"{percent(measured['known'])} of the coarser cells are known exactly, where values drawn from the margins "
            f"give {percent(measured['by_chance'])}"
        )
    return (
        f"From a release of Adult with k = 5, by {measured['recoding']}: {known}; "
        f"{percent(measured['singled_out'])} of the people are singled out (see shoal attack --method refinement and "
        "singling-out)."
    )


def _models() -> list[dict[str, Any]]:
    from shoal._core.validation import parameters_of
    from shoal.models.model_list import MODELS

    return [
        {
            "name": name,
            "help": str(model.__doc__).partition("\n")[0],
            "parameters": _describe_parameters(parameters_of(model), "{} (in Python)"),
        }
        for name, model in MODELS.items()
    ]


def _entries(what: str) -> list[dict[str, Any]]:
    """Return the entries of a list as plain facts."""
    from shoal.attacks import ATTACKS
    from shoal.disclosure_risk import MEASURES
    from shoal.findings import WARNINGS
    from shoal.metrics import METRICS
    from shoal.request.words import WORDS

    match what:
        case "algorithms":
            return _algorithms()
        case "models":
            return _models()
        case "metrics":
            named = [(one.name, f"{one.title}: {one.meaning}.") for one in METRICS.values()]
        case "measures":
            named = [(one.name, f"{one.title}: {one.meaning}") for one in MEASURES]
        case "attacks":
            named = [(one.name, one.meaning) for one in ATTACKS.values()]
        case "warnings":
            named = [(one.code, f"{one.title}. {one.when} {one.why}") for one in WARNINGS.values()]
        case _:
            named = [(one.path, one.declared.help) for one in WORDS.values()]
    return [{"name": name, "help": text} for name, text in named]


def _describe_parameters(declared: Mapping[str, Parameter], otherwise: str) -> dict[str, str]:
    """Return the help of parameters, keyed by their names on the command line."""
    from shoal.request.model_words import key_of
    from shoal.request.words import flag_of

    return {flag_of(key_of(one)) if one.flag else otherwise.format(name): one.help for name, one in declared.items()}
