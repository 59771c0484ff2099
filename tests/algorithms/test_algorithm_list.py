"""The algorithms by name, and what `auto` chooses."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from tests.every import every

from shoal._core.facts import Fact
from shoal._core.validation import parameters_of
from shoal.algorithms import MApproximation, ThreePhase
from shoal.algorithms.algorithm_list import ALGORITHMS, CATALOGUE, PROVING, choose
from shoal.algorithms.base import Algorithm, Capabilities, Guarantee, Partition
from shoal.algorithms.preferences import Preferences
from shoal.errors import ParameterError, UnsupportedError
from shoal.models import (
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
    DifferentialPrivacy,
    KAnonymity,
    LDiversity,
    MUniqueness,
    TCloseness,
)
from shoal.models.requirement import Requirement
from shoal.wording import sentence


def asked(*models, sensitive=("s",)):
    return Requirement.of(models, sensitive)


def test_every_name_is_its_algorithms():
    assert list(ALGORITHMS) == [algorithm.name for algorithm in ALGORITHMS.values()]
    assert list(ALGORITHMS) == [
        "tp",
        "tp+",
        "hilbert",
        "mondrian",
        "mondrian-relaxed",
        "m-approximation",
        "patterns",
        "patterns-optimal",
        "matching",
        "sabre",
        "cluster",
        "tds",
        "full-domain",
        "transparent",
        "safepub",
        "exact",
        "milp",
    ]
    assert [entry.algorithm for entry in CATALOGUE] == list(ALGORITHMS.values())
    assert all(entry.help.endswith(".") for entry in CATALOGUE)
    assert PROVING == ("patterns-optimal", "matching", "exact", "milp")
    assert "auto" not in ALGORITHMS
    with pytest.raises(TypeError):
        ALGORITHMS["mine"] = ThreePhase()


@every("algorithm", ALGORITHMS.values())
def test_every_parameter_is_declared_with_what_it_may_be(algorithm):
    declared = parameters_of(algorithm)
    assert set(declared) == {field.name for field in dataclasses.fields(algorithm)}
    for name, one in declared.items():
        assert one.help.endswith(".")
        assert one.constraint is not None or one.read is not None, "the command line can read it"
        if one.constraint is not None:
            assert one.constraint.accepts(getattr(algorithm, name))
            for wrong in one.constraint.refused():
                with pytest.raises(ParameterError) as caught:
                    dataclasses.replace(algorithm, **{name: wrong})
                assert caught.value.parameter == name


@every("algorithm", ALGORITHMS.values())
def test_parameters_make_the_same_algorithm_again(algorithm):
    again = type(algorithm)(**algorithm.parameters())
    assert again == algorithm
    assert again.name == algorithm.name
    assert type(algorithm).__doc__
    assert "Notes" in type(algorithm).__doc__, "deviations from the paper are listed"


@every(
    ("requirement", "recoding", "name"),
    [
        (asked(LDiversity(4)), "suppression", "tp+"),
        (asked(LDiversity(4), KAnonymity(10)), "suppression", "tp+"),
        (asked(AlphaKAnonymity(0.3, 10)), "suppression", "tp+"),
        (asked(KAnonymity(10)), "suppression", "m-approximation"),
        (asked(KAnonymity(10), sensitive=()), "suppression", "m-approximation"),
        (asked(LDiversity(4)), "generalization", "cluster"),
        (asked(KAnonymity(10)), "generalization", "cluster"),
        (asked(LDiversity(4, variant="entropy")), "suppression", "cluster"),
        (asked(LDiversity(4), sensitive=("s", "t")), "suppression", "cluster"),
        (asked(LDiversity(2, variant="distinct"), KAnonymity(10)), "suppression", "cluster"),
        (asked(LDiversity(4, variant="entropy")), "generalization", "cluster"),
        (asked(TCloseness(0.2), KAnonymity(5)), "generalization", "cluster"),
        (asked(TCloseness(0.2, distance="ordered")), "suppression", "cluster"),
        (asked(BetaLikeness(1), LDiversity(2)), "generalization", "cluster"),
        (asked(DeltaDisclosure(1)), "suppression", "cluster"),
    ],
)
def test_auto(requirement, recoding, name):
    algorithm, reason = choose("auto", requirement, recoding)
    assert algorithm is ALGORITHMS[name]
    assert algorithm.unsupported(requirement) is None
    assert ":" in sentence(reason)


def test_auto_where_nobody_can():
    with pytest.raises(UnsupportedError, match=r"No algorithm can serve this request\. None can: .* Use audit"):
        choose("auto", asked(MUniqueness(3)), "suppression")


def test_auto_serves_the_preferences_or_refuses():
    private = Requirement.of(DifferentialPrivacy(1, Fraction(1, 100)), ())
    with pytest.raises(UnsupportedError, match=r"'safepub' cannot serve .*: it has no limit of suppressed rows"):
        choose("auto", private, "generalization", Preferences.of((), suppression_limit=0.1))


def test_a_name_or_an_object():
    assert choose("tp", asked(LDiversity(2)), "suppression") == (ALGORITHMS["tp"], Fact("requested"))
    mine = ThreePhase(refine="hilbert")
    assert choose(mine, asked(LDiversity(2)), "suppression") == (mine, Fact("requested"))


def test_the_alternatives_to_one_that_cannot():
    with pytest.raises(UnsupportedError) as error:
        choose("m-approximation", asked(LDiversity(2)), "suppression")
    assert str(error.value) == (
        "The algorithm 'm-approximation' cannot serve this request: it serves k-anonymity alone. "
        "These can: tp, tp+, hilbert, mondrian, mondrian-relaxed, matching, sabre, cluster, tds, full-domain, "
        "transparent, exact, milp."
    )


def test_unknown_names_and_things_that_are_no_algorithm():
    with pytest.raises(ParameterError, match=r"Got 'mondrain'\. Did you mean 'mondrian'"):
        choose("mondrain", asked(LDiversity(2)), "suppression")
    for wrong in (None, 3, ["tp"]):
        with pytest.raises(ParameterError, match=rf"Got {type(wrong).__name__}\."):
            choose(wrong, asked(LDiversity(2)), "suppression")
    with pytest.raises(ParameterError, match="an algorithm object such as"):
        choose(MApproximation, asked(LDiversity(2)), "suppression")


def test_an_algorithm_of_ones_own():
    class Alone(Algorithm):
        name = "alone"

        def unsupported(self, requirement):
            return None if requirement.monotone else "it is simple"

        def group_rows(self, problem):
            groups = np.zeros(problem.table.rows, dtype=np.int32)
            return Partition(groups=groups, count=1, guarantee=Guarantee(promise=Fact("nothing_proven")))

    mine: Algorithm = Alone()
    assert (mine.parameters(), mine.capabilities) == ({}, Capabilities())
    assert choose(mine, asked(LDiversity(2)), "suppression")[0] is mine
    with pytest.raises(UnsupportedError, match="The algorithm 'alone' cannot serve this request: it is simple"):
        choose(mine, asked(MUniqueness(2)), "suppression")


def test_what_is_not_derived_from_algorithm_is_refused():
    class Alike:
        name = "alike"

        def partition(self, problem):
            raise AssertionError

    with pytest.raises(
        ParameterError, match=r"an algorithm object such as shoal.algorithms.ThreePhase\(\)\. Got Alike"
    ):
        choose(Alike(), asked(LDiversity(2)), "suppression")
    with pytest.raises(TypeError, match="abstract"):
        type("Unfinished", (Algorithm,), {"name": "unfinished"})()


CAPABLE = {
    "hierarchical": {"tds", "full-domain"},
    "judges_releases": {"full-domain"},
    "weights": {"patterns", "patterns-optimal", "full-domain"},
    "sums_columns": {"exact", "matching", "milp", "sabre", "cluster"},
    "limits": {"full-domain"},
    "keeps_classes": {"safepub"},
    "resists_minimality": {"transparent"},
    "divisible": {"tp", "tp+", "hilbert", "mondrian", "mondrian-relaxed", "m-approximation", "sabre", "cluster"},
    "stand_in": {"sabre", "cluster"},
}


def test_capabilities_are_declared():
    for name, expected in CAPABLE.items():
        assert {called for called, one in ALGORITHMS.items() if getattr(one.capabilities, name)} == expected, name
    others = {"bytes_per_row", "bytes_per_code", "makes_ends", "reason"}
    assert set(CAPABLE) | others == {one.name for one in dataclasses.fields(Capabilities)}
    assert {(one.capabilities.makes_ends, one.capabilities.reason) for one in ALGORITHMS.values()} == {
        (True, "requested")
    }
    bytes_of_row = {called: one.capabilities.bytes_of_row(7) for called, one in ALGORITHMS.items()}
    expected = {"tp": 75, "tp+": 75, "m-approximation": 90, "sabre": 400, "cluster": 200, "safepub": 30}
    assert bytes_of_row == dict.fromkeys(ALGORITHMS, 150) | expected


@every("algorithm", ALGORITHMS.values())
def test_without_quasi_identifiers_all_rows_are_one_group(problem_of, algorithm):
    found = algorithm.partition(problem_of([], [list("abab")], KAnonymity(2)))
    assert (found.groups.tolist(), found.count) == ([0] * 4, 1)
    assert (found.guarantee.stars_ratio, found.guarantee.tuples_ratio) == (1, 1)
