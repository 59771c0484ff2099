"""Models of the whole release if persons have several records: average risk, k-map and delta-presence count persons."""

from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np
import polars as pl
import pytest
from tests.every import every

import shoal
from shoal.errors import DataError, InfeasibleError, ParameterError, ReleaseUnsafeError
from shoal.models.counting import CountedPersons
from shoal.models.requirement import Requirement
from shoal.report.sentences import achieved_for
from shoal.verification import MeasuredTable

QUASI = ["age", "zip"]


def visits(seed, persons=12, most=4):
    """Make visits of persons whose ages may differ from visit to visit."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(persons), rng.integers(1, most + 1, persons))
    return pl.DataFrame(
        {
            "person": person,
            "age": 30 + person % 5 + rng.integers(0, 2, len(person)),
            "zip": person % 3,
            "disease": rng.choice(["flu", "cold", "HIV"], len(person)),
        }
    )


def publish(table, model, **options):
    roles = {"quasi_identifiers": QUASI, "sensitive": "disease", "seed": 1, "person": "person"}
    return shoal.anonymize(table, **(roles | options), privacy=model)


def persons_of_rows(release, table):
    return release.frame.with_columns(person=table["person"].gather(release.rows))


@every("seed", range(12))
def test_average_risk_bounds_the_mean_probability_of_finding_a_person(seed):
    table, limit = visits(seed), Fraction(10 + 4 * seed, 100)
    release = publish(table, shoal.AverageRisk(limit))
    counted = persons_of_rows(release, table).group_by(*QUASI, "person").len()
    shares = {person: [] for person in counted["person"]}
    for _, group in counted.group_by(QUASI):
        size = group["len"].sum()
        for person, rows in group.select("person", "len").iter_rows():
            shares[person].append(Fraction(rows, size))
    found = [1 - prod((1 - share for share in several), start=Fraction(1)) for several in shares.values()]
    assert len(found) == 12
    assert sum(found) / len(found) <= limit
    assert release.certificate.achieved["groups"] <= limit * 12
    (asked,) = release.certificate.requested
    assert asked["of"] == "persons"
    assert "average_risk" not in release.certificate.achieved, "it would disclose the number of persons"


def test_average_risk_of_records_allows_more_groups():
    table = visits(3)
    of_records = shoal.anonymize(
        table.drop("person"), quasi_identifiers=QUASI, sensitive="disease", privacy=shoal.AverageRisk(0.2), seed=1
    )
    groups = publish(table, shoal.AverageRisk(0.2)).certificate.achieved["groups"]
    assert of_records.certificate.achieved["groups"] > 12 / 5 >= groups


def test_verification_counts_the_persons_of_average_risk():
    table = pl.DataFrame({"age": [1, 1, 1, 2, 2, 2], "disease": list("abcabc")})
    requirement = Requirement.of(shoal.AverageRisk(0.5), ["disease"], CountedPersons(kinds=(("person",),)))
    check = {"quasi_identifiers": ["age"], "sensitive": ["disease"], "requirement": requirement}
    assert MeasuredTable(table, owners=pl.DataFrame({"person": [0, 1, 1, 2, 3, 3]}), **check).verify().groups == 2
    with pytest.raises(ReleaseUnsafeError, match=r"average risk.*0\.6667"):
        MeasuredTable(table, owners=pl.DataFrame({"person": [0, 1, 1, 2, 2, 2]}), **check).verify()
    with pytest.raises(ReleaseUnsafeError, match="not known whose its rows are"):
        MeasuredTable(table, owners=None, **check).verify()


def test_the_smallest_feasible_average_risk_is_that_of_one_group():
    table = visits(0, persons=8)
    assert publish(table, shoal.AverageRisk(Fraction(1, 8))).certificate.achieved["groups"] == 1
    with pytest.raises(InfeasibleError, match=r"smallest feasible risk is 0\.125"):
        publish(table, shoal.AverageRisk(0.124))
    # A model of the three diseases does not change how many persons there are.
    with pytest.raises(InfeasibleError, match=r"smallest feasible risk is 0\.125"):
        publish(table, [shoal.AverageRisk(0.124), shoal.LDiversity(2, variant="distinct")])


def test_the_kind_of_unit_with_the_fewest_units_counts():
    table = visits(1).with_columns(home=pl.col("person") // 3)
    release = publish(table, shoal.AverageRisk(0.5), person=None, units=["person", "home"])
    assert release.certificate.achieved["groups"] <= 2, "four homes"
    with pytest.raises(InfeasibleError, match=r"smallest feasible risk is 0\.25"):
        publish(table, shoal.AverageRisk(0.2), person=None, units=["person", "home"])


def test_the_figure_of_one_record_each_is_published_and_homes_bound_it():
    table = visits(1).with_columns(home=pl.col("person") // 3)
    release = publish(table, shoal.AverageRisk(0.5), units=["home"], rows_per_person=1)
    achieved = release.certificate.achieved
    assert achieved["groups"] == 2, "of four homes"
    assert achieved["average_risk"] == 0.1667, "2 groups of 12 persons, whose records readers count"
    (asked,) = release.certificate.requested
    assert asked["of"] == "one_record_each"
    assert achieved_for(asked, achieved) == "average risk = 0.167"
    with pytest.raises(InfeasibleError, match=r"smallest feasible risk is 0\.25"):
        publish(table, shoal.AverageRisk(0.2), units=["home"], rows_per_person=1)


def test_a_population_has_no_rows_of_homes():
    """Presence of homes is less than that of their persons, who have a row each in the population."""
    table = visits(1).with_columns(home=pl.col("person") // 3)
    population = pl.concat([table.select(QUASI)] * 2)
    for model in (shoal.KMap(2, population=population), shoal.DeltaPresence(low=0, high=1, population=population)):
        with pytest.raises(ParameterError, match="Name one kind of unit"):
            publish(table, model, units=["home"], rows_per_person=1)


def test_k_map_by_a_sampling_fraction_has_persons_in_every_group():
    model = shoal.KMap(3, sampling_fraction=0.5)
    (plain,) = model.parts
    table = visits(5, persons=40, most=3)
    release = publish(table, model)
    persons = persons_of_rows(release, table).group_by(QUASI).agg(pl.col("person").n_unique())
    assert persons["person"].min() >= plain.k
    assert release.certificate.requested[0]["of"] == "persons"


def test_a_population_has_one_row_of_each_person():
    table = visits(2).with_columns(age=30 + pl.col("person") % 5)
    people = table.select("person", "age", "zip").unique()
    population = pl.concat([people, people.with_columns(person=pl.col("person") + 1000)])
    release = publish(table, shoal.KMap(4, population=population))
    assert release.certificate.achieved["k_map"] >= 4
    assert release.certificate.requested[0]["of"] == "persons"
    with pytest.raises(DataError, match="36 rows of 24 persons"):
        publish(table, shoal.KMap(4, population=pl.concat([population, people])))
    with pytest.raises(ParameterError, match="Name one kind of unit"):
        publish(
            table.with_columns(home=pl.col("person") // 3),
            shoal.KMap(4, population=population),
            person=None,
            units=["person", "home"],
        )


def test_presence_of_persons_has_an_upper_bound_only():
    table = visits(2).with_columns(age=30 + pl.col("person") % 5)
    people = table.select("person", "age", "zip").unique()
    population = pl.concat([people.with_columns(person=pl.col("person") + 100 * copy) for copy in range(6)])
    release = publish(table, shoal.DeltaPresence(low=0, high=0.8, population=population))
    present = persons_of_rows(release, table)
    cells = present.with_columns(row=release.rows).sort("row").select(QUASI)
    groups = table.with_columns(group=cells.to_struct().rank("dense"))
    for _, group in groups.group_by("group"):
        fitting = population.join(group.select("age", "zip").unique(), on=QUASI).height
        assert Fraction(group["person"].n_unique(), fitting) <= Fraction(8, 10)
    assert "delta_presence" not in release.certificate.achieved, "its low end counts rows"
    with pytest.raises(ParameterError, match="lower bound"):
        publish(table, shoal.DeltaPresence(low=0.1, high=0.8, population=population))


def test_audit_counts_the_persons_of_average_risk():
    table = pl.DataFrame({"person": [0, 1, 1, 2, 2, 2], "age": [1, 1, 1, 2, 2, 2], "disease": list("abcabc")})
    judged = {"quasi_identifiers": ["age"], "sensitive": "disease", "privacy": shoal.AverageRisk(0.5)}
    assert not shoal.audit(table.drop("person"), **judged).failures
    of_persons = shoal.audit(table, **judged, person="person")
    (failure,) = of_persons.failures
    assert "0.6667" in failure.found


def test_no_warning_denies_that_a_model_counts_persons():
    def codes(model):
        return [warning.code for warning in publish(visits(4), model).certificate.warnings]

    assert "uncounted_persons" not in codes(shoal.AverageRisk(0.3))
    assert "uncounted_persons" in codes(shoal.LDiversity(2))
