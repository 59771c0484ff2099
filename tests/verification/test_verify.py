"""A release that fails is never accepted, and nothing that goes wrong counts as success."""

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every
from tests.oracles import oracles

from shoal.errors import DataError, ParameterError, ReleaseUnsafeError
from shoal.models import AlphaKAnonymity, GroupModel, KAnonymity, KEAnonymity, LDiversity
from shoal.models.counting import CountedPersons, LinkedPersons, OneEachAmongUnits
from shoal.models.requirement import Requirement
from shoal.verification import MeasuredTable

FRAME = pl.DataFrame(
    {
        "age": ["*", "*", "*", "30", "30"],
        "zip": ["1", "1", "1", None, None],
        "disease": ["flu", "HIV", "flu", "HIV", "cold"],
        "income": [10, 20, 30, 5, 6],
    }
)


def check(models, sensitive=("disease",), frame=FRAME, published=None):
    shown = frame.select(["age", "zip", *sensitive]) if published is None else frame
    return MeasuredTable(
        shown,
        quasi_identifiers=["age", "zip"],
        sensitive=list(sensitive),
        requirement=Requirement.of(models, sensitive),
    ).verify(published)


def test_a_safe_release_passes_with_its_measurements():
    found = check([KAnonymity(2), LDiversity(2, variant="distinct")])
    assert found == MeasuredTable(FRAME, ["age", "zip"], ["disease"]).achieved
    assert (found.k, found.l_frequency, found.groups) == (2, 1.5, 2)


def test_the_error_names_the_model_and_how_many_groups_fail_but_no_cell():
    with pytest.raises(ReleaseUnsafeError) as caught:
        check([KAnonymity(2), LDiversity(2)])
    text = str(caught.value)
    assert "fails l-diversity with l = 2 of 'disease' in 1 of 2 groups" in text
    assert not any(cell in text for cell in ("flu", "HIV", "cold", "30"))
    with pytest.raises(ReleaseUnsafeError, match=r"fails k-anonymity with k = 3 in 1 of 2 groups"):
        check(KAnonymity(3))


def test_bundles_of_linked_rows_have_k_persons():
    """Six persons with two rows each: four have a row in each group, but a bundle has only two persons."""
    persons = [number for number in range(6) for _ in range(2)]
    frame = pl.DataFrame({"pseudonym": persons, "age": list("121213132323")})
    owners = pl.DataFrame({"id": persons})
    for k, safe in ((2, True), (3, False)):
        asked = Requirement.of(KAnonymity(k), (), LinkedPersons(kinds=(("id",),)))
        table = MeasuredTable(frame, ["age"], (), asked, owners=owners, pseudonym="pseudonym")
        assert table.k == k
        if safe:
            assert table.verify(["pseudonym", "age"]).bundles.k == 2
        else:
            with pytest.raises(ReleaseUnsafeError, match=r"bundles of the release fail k-anonymity with k = 3"):
                table.verify(["pseudonym", "age"])
    with pytest.raises(ReleaseUnsafeError, match="without pseudonyms"):
        MeasuredTable(frame[["age"]], ["age"], (), asked, owners=owners).verify()
    assert MeasuredTable(frame, ["age"]).k == 1


def test_owners_are_counted_whatever_models_are_replaced_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a way of counting left out the model of persons, the rows of one person would pass as a group."""
    ways = {"persons": CountedPersons(kinds=(("id",),)), "homes": OneEachAmongUnits(kinds=(("id",), ("home",)), most=1)}
    for way, model in product(ways.values(), (KAnonymity(2), AlphaKAnonymity(1, 2))):
        frame = pl.DataFrame({"age": [1, 1, 1, 2, 2], "disease": list("ababa")})
        safe = pl.DataFrame({"id": range(5), "home": [0, 1, 1, 0, 1]})
        names = [" + ".join(kind) for kind in way.kinds]
        with monkeypatch.context() as without:
            without.setattr(CountedPersons, "parts_of", lambda self, model: model.parts)
            asked = Requirement.of(model, ["disease"], way)
            assert MeasuredTable(frame, ["age"], ["disease"], asked, owners=safe[names]).verify().groups == 2
            for owners in ([0, 1, 1, 2, 2], [3, 3, 3, 0, 1]):
                alone = pl.DataFrame({"id": range(5) if way.most else owners, "home": owners})
                with pytest.raises(ReleaseUnsafeError, match="fewer than 2 different"):
                    MeasuredTable(frame, ["age"], ["disease"], asked, owners=alone[names]).verify()


def test_every_sensitive_attribute_must_pass():
    job = FRAME.with_columns(job=pl.lit("clerk"))
    with pytest.raises(ReleaseUnsafeError, match=r"fails .* of 'job' in 2 of 2 groups"):
        check(LDiversity(2, variant="distinct"), sensitive=("disease", "job"), frame=job)


def test_models_of_numbers_get_them():
    assert check(KEAnonymity(2, 1), sensitive=("income",)).k == 2
    with pytest.raises(ReleaseUnsafeError, match=r"fails .* with k = 2 and e = 2 of 'income' in 1 of 2 groups"):
        check(KEAnonymity(2, 2), sensitive=("income",))
    with pytest.raises(ParameterError, match="needs a numeric sensitive attribute"):
        check(KEAnonymity(2, 1))


@settings(max_examples=200, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=20),
    model=st.one_of(
        st.builds(KAnonymity, st.integers(1, 5)),
        st.builds(LDiversity, st.integers(1, 3), variant=st.sampled_from(["frequency", "distinct", "entropy"])),
    ),
)
def test_a_release_is_accepted_exactly_when_every_group_is_acceptable(rows, model):
    frame = pl.DataFrame(rows, schema={"age": pl.Int64, "disease": pl.Int64}, orient="row")
    holds = oracles.predicate_of(model, [row[1] for row in rows])
    safe = all(holds([row[1] for row in rows if row[0] == age]) for age in {row[0] for row in rows})
    requirement = Requirement.of(model, ["disease"])
    try:
        MeasuredTable(frame, quasi_identifiers=["age"], sensitive=["disease"], requirement=requirement).verify()
        accepted = True
    except ReleaseUnsafeError:
        accepted = False
    assert accepted == safe


# Only the declared columns.


def test_a_column_that_was_not_declared_is_not_published():
    with pytest.raises(ReleaseUnsafeError, match="not declared for publication: 'income'"):
        check(KAnonymity(2), published=["age", "zip", "disease"])
    with pytest.raises(ReleaseUnsafeError, match="not declared for publication: 'income'"):
        MeasuredTable(
            FRAME,
            quasi_identifiers=["age", "zip"],
            sensitive=["disease"],
            requirement=Requirement.of(KAnonymity(2), ["disease"]),
        ).verify()


def test_declared_columns_are_there_and_in_their_order():
    assert check(KAnonymity(2), published=["age", "zip", "disease", "income"]).k == 2
    with pytest.raises(ReleaseUnsafeError, match="instead of"):
        check(KAnonymity(2), published=["zip", "age", "disease", "income"])
    with pytest.raises(ReleaseUnsafeError, match="instead of"):
        check(KAnonymity(2), published=["age", "zip", "disease", "income", "visit"])


# Fail closed.


@dataclass(frozen=True, repr=False)
class Answering(GroupModel):
    """A model with a bug."""

    answer: object
    name: ClassVar[str] = "answering"

    def acceptable(self, groups):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def rules(self, table):
        return ()

    def to_dict(self):
        return {}

    def best_feasible(self, table):
        return ""


@every(
    "answer",
    [
        np.array([], dtype=np.bool_),
        np.array([True]),
        np.array([True, True, True]),
        np.array([[True, True]]),
        np.array([1, 1]),
        np.array([np.nan, np.nan]),
        np.array([True, False]),
        np.bool_(True),
    ],
)
def test_an_answer_that_is_not_yes_for_every_group_is_no(answer):
    with pytest.raises(ReleaseUnsafeError):
        check(Answering(answer))


@pytest.mark.parametrize("failure", [ValueError("x"), IndexError("x"), ZeroDivisionError("x"), MemoryError("x")])
def test_a_failure_inside_a_model_is_no_acceptance(failure):
    with pytest.raises(type(failure)):
        check(Answering(failure))


def test_a_check_of_nothing_is_no_acceptance():
    nothing = Requirement(models=(), sensitive=("disease",))
    shown = FRAME.select("age", "zip", "disease")
    with pytest.raises(ReleaseUnsafeError, match="without a model"):
        MeasuredTable(shown, quasi_identifiers=["age", "zip"], sensitive=["disease"], requirement=nothing).verify()
    other = Requirement.of(LDiversity(2), ["income"])
    with pytest.raises(ReleaseUnsafeError, match="the requirement applies to 'income'"):
        MeasuredTable(shown, quasi_identifiers=["age", "zip"], sensitive=["disease"], requirement=other).verify()
    unbound = Requirement(models=(LDiversity(2),), sensitive=())
    with pytest.raises(ReleaseUnsafeError, match="cannot be checked without a sensitive attribute"):
        MeasuredTable(
            FRAME.select("age", "zip"), quasi_identifiers=["age", "zip"], sensitive=[], requirement=unbound
        ).verify()


def test_a_release_without_rows_is_no_acceptance():
    with pytest.raises(DataError, match="no row"):
        check(KAnonymity(2), frame=FRAME.clear())
