"""What goes wrong is said in flags at the command line, and of models in words that fit both kinds of users."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.every import every

import shoal as library
from shoal._messages import PYTHON, Suggestion
from shoal.cli.command import Flags
from shoal.errors import InfeasibleError, ParameterError, UsageError


@every(
    ("model", "words"),
    [
        (library.KAnonymity(5), "k-anonymity with k = 5 (-k 5)"),
        (library.LDiversity(20), "l-diversity with l = 20 (-l 20)"),
        (
            library.LDiversity(3, variant="recursive", c=0.5),
            "l-diversity (recursive) with l = 3 and c = 0.5 (-l 3 --model l_variant=recursive --model c=0.5)",
        ),
        (
            library.AlphaKAnonymity(alpha=0.3, k=2),
            "(alpha, k)-anonymity with alpha = 0.3 and k = 2 (--model alpha=0.3 -k 2)",
        ),
        (library.TCloseness(0.2), "t-closeness with t = 0.2 (-t 0.2)"),
        (
            library.TCloseness(0.2, distance=library.models.OrderedDistance()),
            "t-closeness (ordered) with t = 0.2 (-t 0.2 --model t_distance=ordered)",
        ),
        (library.models.MUniqueness(3), "m-uniqueness with m = 3"),
    ],
)
def test_models_in_words(model: library.models.PrivacyModel, words: str) -> None:
    flags = Flags({"m": "-m"})
    assert model.render(flags) == words
    assert model.render(PYTHON) == model.words == words.partition(" (-")[0]


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        (("-l", 20), 1, "No release can satisfy l-diversity with l = 20 (-l 20) of 'disease': the largest feasible l"),
        (("-l", 0), 2, "-l must be a whole number >= 1. Got 0."),
        (("-t", 2), 2, "-t must be a number >= 0 and <= 1. Got 2."),
        (("-l", 2, "--l-variant", "distint"), 2, "--model l_variant must be one of 'frequency',"),
        (("-l", 2, "--l-variant", "distint"), 2, "Did you mean 'distinct'?"),
        (("-t", 0.1, "--t-distance", "orderd"), 2, "Did you mean 'ordered'?"),
        (("-k", 2, "--algorithm", "hilbrt"), 2, "--algorithm must be one of auto,"),
        (("-k", 2, "--algorithm", "hilbrt"), 2, "Got 'hilbrt'. Did you mean 'hilbert'?"),
        (("-k", 2, "--recoding", "generalisation"), 2, "--recoding must be one of 'suppression', 'generalization'."),
        (("-k", 2, "--recoding", "generalisation"), 2, "Did you mean 'generalization'?"),
        (("-k", 2, "--seed", -1), 2, "--seed must be a whole number >= 0. Got -1."),
        (("-k", 2, "--star", 20), 2, "--set star must be a text that can be seen, without digits and commas."),
        (("-k", 2, "--star", "F"), 2, "Choose another symbol with --set star."),
        (("-k", 2, "--coarsen", "age=bin:3"), 2, "Did you mean 'bins'?"),
        (("-k", 2, "--coarsen", "age=bins:0"), 2, "--coarsen age=bins:0 is invalid. Its width must be a number > 0."),
        (("-k", 2, "--coarsen", "age=labels:0"), 2, "Its k must be a whole number >= 1. Got 0."),
        (("-k", 2, "--senstive", "x"), 2, "--sensitive"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said_in_flags(
    shoal: Any, patients: Path, roles: tuple[str, ...], tmp_path: Path, flags: Any, code: int, said: str
) -> None:
    found = shoal("anonymize", patients, *roles, *flags, "-o", tmp_path / "out")
    assert found.code == code
    assert said in found.err
    assert "' parameter of " not in found.err


def test_algorithms_to_compare(shoal: Any, patients: Path, roles: tuple[str, ...]) -> None:
    found = shoal("explore", patients, *roles, "-k", 2, "--algorithms", "tp,hilbrt")
    assert found.err.startswith("Error: --algorithms must be one of auto,")


def test_an_error_speaks_to_those_who_made_it() -> None:
    flags = Flags({"star": "--star", "local": "--local/--no-local", "recoding": "--recoding"})
    error = InfeasibleError("Use ", Suggestion("recoding", "suppression"), " or ", Suggestion("star"), ".", rows=None)
    assert str(error) == "Use recoding='suppression' or the 'star' parameter."
    assert error.render(flags) == "Use --recoding suppression or --star."
    longer = UsageError("Column 'age': ", error)
    assert longer.render(flags) == "Column 'age': Use --recoding suppression or --star."
    assert str(UsageError(Suggestion("force", True), "!")) == "force=True!"


def test_what_has_no_flag_is_told_as_python_has_it() -> None:
    error = ParameterError.refusing("paint", "tint", "a colour", got="3", hint="Red?")
    assert (
        error.render(Flags({"k": "-k"})) == str(error) == "The 'tint' parameter of paint must be a colour. Got 3. Red?"
    )
    assert (error.owner, error.parameter, error.allowed, error.got) == ("paint", "tint", "a colour", "3")


def test_parameters_of_algorithms() -> None:
    for effort in (-1, "much"):
        with pytest.raises(ParameterError) as caught:
            library.algorithms.Cluster(effort=effort)  # type: ignore[arg-type]
        said = caught.value.render(Flags({}))
        assert said.startswith("--param effort must be a whole number from 0 to 1000000. Got ")
    with pytest.raises(ParameterError) as caught:
        library.algorithms.Exact(most_steps=0)
    assert caught.value.render(Flags({})) == "--param most_steps must be a whole number >= 1. Got 0."
