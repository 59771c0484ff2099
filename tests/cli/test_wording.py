"""What goes wrong is said in flags at the command line, and of models in words that fit both kinds of users."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shoal as library
from shoal.cli.wording import in_flags


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (library.KAnonymity(5), "k-anonymity with k = 5 (-k 5)"),
        (library.LDiversity(20), "l-diversity with l = 20 (-l 20)"),
        (
            library.LDiversity(3, variant="recursive", c=0.5),
            "l-diversity (recursive) with l = 3 and c = 0.5 (-l 3 --l-variant recursive --c 0.5)",
        ),
        (
            library.AlphaKAnonymity(alpha=0.3, k=2),
            "(alpha, k)-anonymity with alpha = 0.3 and k = 2 (--alpha 0.3 -k 2)",
        ),
        (library.TCloseness(0.2), "t-closeness with t = 0.2 (-t 0.2)"),
        (
            library.TCloseness(0.2, distance=library.models.OrderedDistance()),
            "t-closeness (ordered) with t = 0.2 (-t 0.2 --t-distance ordered)",
        ),
        (library.MUniqueness(3), "m-uniqueness with m = 3"),
    ],
    ids=repr,
)
def test_models_in_words(model: library.models.PrivacyModel, words: str) -> None:
    assert model.words == words


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        (("-l", 20), 1, "No release can satisfy l-diversity with l = 20 (-l 20) of 'disease': the largest feasible l"),
        (("-l", 0), 2, "-l must be a whole number >= 1. Got 0."),
        (("-t", 2), 2, "-t must be a number >= 0 and <= 1. Got 2."),
        (("-l", 2, "--l-variant", "distint"), 2, "--l-variant must be one of 'frequency',"),
        (("-l", 2, "--l-variant", "distint"), 2, "Did you mean 'distinct'?"),
        (("-t", 0.1, "--t-distance", "orderd"), 2, "Did you mean 'ordered'?"),
        (("-k", 2, "--algorithm", "hilbrt"), 2, "--algorithm must be one of auto,"),
        (("-k", 2, "--algorithm", "hilbrt"), 2, "Got 'hilbrt'. Did you mean 'hilbert'?"),
        (("-k", 2, "--recoding", "generalisation"), 2, "--recoding must be one of 'suppression', 'generalization'."),
        (("-k", 2, "--recoding", "generalisation"), 2, "Did you mean 'generalization'?"),
        (("-k", 2, "--seed", -1), 2, "--seed must be a whole number >= 0. Got -1."),
        (("-k", 2, "--star", 20), 2, "Choose another symbol with --star."),
        (("-k", 2, "--coarsen", "age=bin:3"), 2, "Did you mean 'bins'?"),
        (("-k", 2, "--coarsen", "age=bins:0"), 2, "--coarsen age=bins:0 will not do. Its width must be a number > 0."),
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
    found = shoal("compare", patients, *roles, "-k", 2, "--algorithms", "tp,hilbrt")
    assert found.err.startswith("Error: --algorithms must be one of auto,")


@pytest.mark.parametrize(
    "message",
    [
        "There is no column 'The (--k) parameter'.",
        "Say what that means: missing_sensitive='value' makes it a value like any other (--missing-sensitive).",
        "The 'tint' parameter of paint must be a colour.",
    ],
)
def test_other_messages_stay(message: str) -> None:
    assert in_flags(message, {"k": "-k"}) == message
