"""Models of a release as a whole: who serves them, who refuses them, and that verification checks them."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithms.algorithm_list import ALGORITHMS, choose, unsupported
from shoal.cli.command import Flags
from shoal.errors import InfeasibleError, ParameterError, ReleaseUnsafeError, UnsupportedError
from shoal.models import AverageRisk, KAnonymity, LDiversity, TableModel
from shoal.models.population import Population
from shoal.models.release_counts import ReleaseCounts
from shoal.models.requirement import Requirement
from shoal.verification import MeasuredTable

FRAME = shoal.datasets.census(500, quasi_identifiers=["age", "race"], seed=3)
REQUEST = {"quasi_identifiers": ["age", "race"], "sensitive": "income", "seed": 1}


def average(cells):
    """The average over the records of the probability of picking the right one, from the published cells."""
    sizes = {cell: cells.count(cell) for cell in cells}
    return sum(Fraction(1, sizes[cell]) for cell in cells) / len(cells)


@pytest.mark.drawn
def test_it_is_decided_exactly_and_algorithms_ask_the_same():
    rng = np.random.default_rng(48)
    answers = set()
    for _ in range(400):
        labels = rng.integers(0, rng.integers(1, 12), rng.integers(1, 40)).tolist()
        exact = average(labels)
        (groups,) = MeasuredTable(pl.DataFrame({"q": labels}), ["q"], []).counts
        near = [exact + Fraction(sign, 10**30) for sign in (-1, 0, 1)]
        for risk in (*near, Fraction(int(rng.integers(1, 10)), 10)):
            if not 0 < risk <= 1:
                continue
            model = AverageRisk(risk)
            answer = model.satisfied(ReleaseCounts.of(groups.sizes))
            assert answer == (exact <= risk)
            rules = model.release_rules(groups.population)
            assert all(len(groups.sizes) <= rule.max_groups for rule in rules) == answer
            answers.add(answer)
    assert answers == {True, False}


@pytest.mark.drawn
@pytest.mark.parametrize("recoding", ["suppression", "generalization"])
def test_a_release_has_at_most_that_risk(recoding):
    for risk in (0.004, 0.02, Fraction(1, 7)):
        asked = [AverageRisk(risk), LDiversity(2)]
        release = shoal.anonymize(FRAME, privacy=asked, recoding=recoding, **REQUEST)
        cells = release.data.select("age", "race").cast(pl.String).rows()
        assert average(cells) <= Fraction(str(risk))
        certificate = release.certificate
        assert certificate.algorithm == "full-domain"
        achieved = Fraction(str(certificate.achieved["average_risk"]))
        assert achieved >= average(cells) > achieved - Fraction(1, 10**4)
        said = release.public_certificate.to_dict()
        assert {"model": "average risk", "risk": float(risk)} in said["requested"]
        assert "on average over all records" in said["guarantee"]["text"]


def test_algorithms_that_judge_groups_refuse_it_in_two_voices():
    requirement = Requirement.of([AverageRisk(0.05), KAnonymity(2)], ())
    able = [name for name, algorithm in ALGORITHMS.items() if unsupported(algorithm, requirement) is None]
    assert able == ["full-domain"]
    with pytest.raises(UnsupportedError) as caught:
        choose("mondrian", requirement, "suppression")
    told = (
        "it decides group by group, and average risk with risk = 0.05{} is asked of the release as a whole. These can: "
    )
    assert told.format("") + "full-domain." in str(caught.value)
    assert told.format(" (--model average_risk=0.05)") in caught.value.render(Flags({}))
    with pytest.raises(UnsupportedError, match="local recoding decides about some groups after others"):
        choose(shoal.algorithms.FullDomain(local=True), requirement, "suppression")
    assert choose("auto", requirement, "generalization")[0].name == "full-domain"
    compared = shoal.explore(FRAME, privacy=[AverageRisk(0.05)], **REQUEST)
    assert [row.algorithm for row in compared.rows] == ["full-domain"]


def test_verification_checks_it_and_an_audit_says_what_fails():
    frame = pl.DataFrame({"q": [0, 0, 0, 1], "s": ["a", "b", "a", "b"]})
    roles = {"quasi_identifiers": ["q"], "sensitive": ["s"]}
    assert (
        MeasuredTable(frame, **roles, requirement=Requirement.of(AverageRisk(0.5), ["s"]))
        .verify()
        .to_dict()["average_risk"]
        == 0.5
    )
    strict = Requirement.of(AverageRisk(0.49), ["s"])
    with pytest.raises(
        ReleaseUnsafeError, match=r"average risk with risk = 0\.49: over all of its groups it is 0\.5\."
    ):
        MeasuredTable(frame, **roles, requirement=strict).verify()
    found = shoal.audit(frame, **roles, privacy=[AverageRisk(0.4), KAnonymity(1)])
    assert found.violations == ("The table fails average risk with risk = 0.4: over all of its groups it is 0.5.",)
    assert found.achieved.to_dict()["average_risk"] == 0.5
    asked = {"model": "average risk", "risk": 0.4}
    assert found.to_dict()["failures"] == [{"model": asked, "attribute": None, "groups": 2, "found": 0.5}]


def test_a_table_that_is_too_small_is_told_what_would_do():
    with pytest.raises(InfeasibleError, match=r"No release can satisfy average risk .*smallest feasible risk is 0.002"):
        shoal.anonymize(FRAME, privacy=AverageRisk(0.0019), **REQUEST)
    limited = shoal.algorithms.FullDomain(suppression_limit=0)
    with pytest.raises(InfeasibleError, match="No full-domain generalization that suppresses at most") as caught:
        shoal.anonymize(FRAME, privacy=AverageRisk(0.003), algorithm=limited, **REQUEST)
    assert "local" not in str(caught.value)


@dataclass(frozen=True, repr=False)
class Answering(TableModel):
    """A model with a bug: it answers with something that is no truth value."""

    name: ClassVar[str] = "answering"
    needs_sensitive: ClassVar[bool] = False

    def measure(self, release):
        return {}

    def describe(self, release):
        return "it is no answer"

    def release_rules(self, table):
        return ()

    def satisfied(self, release):
        return "yes"

    def to_dict(self):
        return {}

    def best_feasible(self, table):
        return ""


def test_verification_fails_closed():
    frame = pl.DataFrame({"q": [0, 0]})
    with pytest.raises(ReleaseUnsafeError, match="fails answering"):
        MeasuredTable(
            frame, quasi_identifiers=["q"], sensitive=[], requirement=Requirement.of(Answering(), ())
        ).verify()
    odd = Requirement(models=(object(),), sensitive=())
    with pytest.raises(ReleaseUnsafeError, match="unknown kind"):
        MeasuredTable(frame, quasi_identifiers=["q"], sensitive=[], requirement=odd).verify()


def test_large_tables_do_not_overflow():
    (rule,) = AverageRisk(Fraction(1, 3)).release_rules(Population(totals=np.array([2**62])))
    assert rule.max_groups == 2**62 // 3
    with pytest.raises(ParameterError):
        AverageRisk(0)
