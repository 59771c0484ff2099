"""Models of whole tables beside their definitions: uniqueness, k-map and delta-presence; who serves them."""

import json
import re
from datetime import date, timedelta
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from tests.every import THOROUGH, few, some
from tests.oracles.full_domain import people_of_groups
from tests.oracles.oracles import STAR

import shoal
from shoal.algorithms.algorithm_list import ALGORITHMS, choose, unsupported
from shoal.cli.command import Flags
from shoal.disclosure_risk import make_people_counter, population_uniques
from shoal.errors import ColumnError, DataError, InfeasibleError, ParameterError, ReleaseUnsafeError, UnsupportedError
from shoal.hierarchy import automatic_hierarchy
from shoal.models import DeltaPresence, KAnonymity, KMap, LDiversity, PopulationUniqueness, SampleUniqueness
from shoal.models.release_counts import ReleaseCounts
from shoal.models.requirement import Requirement
from shoal.models.unique_estimates import SampleHistogram
from shoal.report.sentences import promise
from shoal.verification import MeasuredTable

PEOPLE = shoal.datasets.census(1_500, quasi_identifiers=["age", "gender", "race"], seed=3)
TABLE = PEOPLE.sample(300, seed=1)
QIS = ["age", "gender", "race"]
REQUEST = {"quasi_identifiers": QIS, "sensitive": "income", "seed": 1}


@pytest.mark.drawn
def test_uniqueness_is_decided_by_counting():
    rng = np.random.default_rng(58)
    answers = {SampleUniqueness: set(), PopulationUniqueness: set()}
    for _ in range(200):
        sizes = rng.integers(1, rng.integers(2, 9), rng.integers(1, 30)).astype(np.int64)
        release = ReleaseCounts.of(sizes)
        exact = Fraction(int((sizes == 1).sum()), int(sizes.sum()))
        for share in (exact, exact + Fraction(1, 10**30), exact - Fraction(1, 10**30), Fraction(1, 10)):
            if 0 <= share <= 1:
                answers[SampleUniqueness].add(SampleUniqueness(share).satisfied(release))
                assert SampleUniqueness(share).satisfied(release) == (exact <= share)
                assert PopulationUniqueness(share, sampling_fraction=1).satisfied(release) == (exact <= share)
        p = Fraction(int(rng.integers(1, 10)), 20)
        estimate = population_uniques(SampleHistogram.of(sizes), p).dankar
        for share, expected in ((min(estimate * 1.001, 1), True), (estimate * 0.999, estimate == 0)):
            answer = PopulationUniqueness(share, sampling_fraction=p).satisfied(release)
            assert answer is expected
            answers[PopulationUniqueness].add(answer)
    assert all(found == {True, False} for found in answers.values())


def random_release(rng):
    """The people of a population, and the cells of some of them with stars here and there."""
    values, d = ["a", "b", "c"], int(rng.integers(1, 4))
    people = [tuple(rng.choice(values, d).tolist()) for _ in range(rng.integers(3, 25))]
    rows = [people[row] for row in rng.choice(len(people), rng.integers(1, len(people) + 1), replace=False)]
    hidden = rng.random() < 0.5
    if hidden:  # by columns, so that groups do not overlap, and some rows wholly
        columns, gone = rng.random(d) < 0.4, rng.random(len(values) ** d) < 0.3
        key = {person: at for at, person in enumerate(sorted(set(people)))}
        cells = [tuple("*" if starred else value for value, starred in zip(row, columns, strict=True)) for row in rows]
        shown = {}
        for row, cell in zip(rows, cells, strict=True):
            shown.setdefault(cell, bool(gone[key[row]]))
        cells = [("*",) * d if shown[cell] else cell for cell in cells]
    else:
        cells = [tuple("*" if rng.random() < 0.3 else value for value in row) for row in rows]
    return people, cells


def test_people_are_counted_as_by_trying_everybody():
    rng = np.random.default_rng(581)
    answers, overlapped = set(), 0
    for _ in range(few(300)):
        people, cells = random_release(rng)
        names = [f"q{a}" for a in range(len(people[0]))]
        frame = pl.DataFrame(dict(zip(names, zip(*cells, strict=True), strict=True)))
        population = pl.DataFrame(dict(zip(names, zip(*people, strict=True), strict=True)))
        groups = {cell: cells.count(cell) for cell in cells}
        shown = [(tuple(STAR if one == "*" else one for one in cell), size) for cell, size in groups.items()]
        ways = [{value: (value, "*") for value in "abc"} for _ in names]
        fit, outside, overlapping = people_of_groups(shown, people, ways)
        asked = Requirement.of(KMap(1, population=population), ())
        found = MeasuredTable(frame, names, (), asked, fitting=make_people_counter(population)).people
        pairs = sorted(zip(groups.values(), fit, strict=True))
        assert sorted(pair for pair, times in found.counted.items() for _ in range(times)) == pairs
        assert (found.members, found.outside, found.overlapping) == (len(people), outside, overlapping)
        overlapped += overlapping
        release = ReleaseCounts.of(np.array(list(groups.values())), found)
        for k in (1, 2, 4):
            assert KMap(k, population=population).satisfied(release) == (min(fit) >= k)
        for low, high in ((0, 0.5), (0.2, 1), (0, 1), (0.25, 0.75)):
            inside = all(size <= big for size, big in pairs) and all(
                Fraction(str(low)) * big <= size <= Fraction(str(high)) * big for size, big in pairs
            )
            expected = inside and not overlapping and not (low and outside)
            assert DeltaPresence(low, high, population=population).satisfied(release) == expected
            answers.add((low, expected))
        model = DeltaPresence(0, 1, population=population)
        audit = shoal.audit(frame, quasi_identifiers=names, privacy=[model, KMap(2, population=model.population)])
        assert ("k_map", min(fit)) in audit.achieved.to_dict().items()
        assert len(audit.failures) == (not model.satisfied(release)) + (min(fit) < 2)
    if THOROUGH:
        assert answers == {(low, answer) for low in (0, 0.2, 0.25) for answer in (True, False)}
    assert few(20) < overlapped < few(280)


@pytest.mark.parametrize("recoding", ["suppression", "generalization"])
def test_a_release_is_what_was_asked_by_its_own_cells(recoding, tmp_path):
    asked = [KMap(12, population=PEOPLE), DeltaPresence(0.05, 0.5, population=PEOPLE), SampleUniqueness(0)]
    release = shoal.anonymize(TABLE, privacy=asked, recoding=recoding, **REQUEST)
    achieved = release.certificate.achieved
    assert release.certificate.algorithm == "full-domain"
    assert achieved["k_map"] >= 12
    assert achieved["sample_uniqueness"] == 0
    assert 0.05 <= achieved["delta_presence"]["low"] <= achieved["delta_presence"]["high"] <= 0.5
    release.save(tmp_path / "out")
    text = (tmp_path / "out" / "certificate.json").read_text()
    said = json.loads(text)
    assert {"model": "k-map", "k": 12, "population": True} in said["requested"]
    assert said["achieved"] == json.loads(json.dumps(achieved))
    assert "people of the population fit" in said["guarantee"]["text"] + (tmp_path / "out/report.html").read_text()
    stated = shoal.audit(release.data, quasi_identifiers=QIS, privacy=SampleUniqueness(0))
    assert not stated.failures


@pytest.mark.drawn
def test_dates_and_numbers_of_the_population_are_read_as_those_of_the_table(tmp_path):
    born = [date(1980, 1, 1) + timedelta(days=37 * at) for at in range(40)]
    people = pl.DataFrame({"born": [f"{day:%d.%m.%Y}" for day in born] * 2, "size": ["1,5", "2,5"] * 40})
    people.write_csv(tmp_path / "people.csv", separator=";")
    table = people[:30].with_columns(disease=pl.Series(["flu", "cold", "HIV"] * 10))
    for recoding in ("suppression", "generalization"):
        release = shoal.anonymize(
            table,
            quasi_identifiers=["born", "size"],
            sensitive="disease",
            privacy=KMap(4, population=tmp_path / "people.csv"),
            recoding=recoding,
        )
        assert 4 <= release.certificate.achieved["k_map"] < 80
        release.save(tmp_path / recoding)


def test_only_full_domain_serves_them_and_others_say_so_in_two_voices():
    for model in (
        SampleUniqueness(0.1),
        PopulationUniqueness(0.1, sampling_fraction=0.1),
        KMap(5, population="people.csv"),
        DeltaPresence(0.1, 0.5, population="people.csv"),
    ):
        requirement = Requirement.of([model], ())
        able = [name for name, algorithm in ALGORITHMS.items() if unsupported(algorithm, requirement) is None]
        assert able == ["full-domain"]
        with pytest.raises(UnsupportedError, match="is asked of the release as a whole") as caught:
            choose("mondrian", requirement, "suppression")
        assert model.words in str(caught.value)
        flags = caught.value.render(Flags({}))
        assert "--" in flags
        with pytest.raises(UnsupportedError, match="local recoding"):
            choose(shoal.algorithms.FullDomain(local=True), requirement, "suppression")
    assert "(--model k_map=5 --population people.csv)" in KMap(5, population="people.csv").render(Flags({}))
    compared = shoal.explore(TABLE, privacy=KMap(5, population=PEOPLE), **REQUEST)
    assert [(row.algorithm, row.error) for row in compared.rows] == [("full-domain", None)]


def test_estimated_k_map_is_k_anonymity_that_every_algorithm_serves():
    model = KMap(20, sampling_fraction=0.1)
    (part,) = model.parts
    assert part.k == 7
    requirement = Requirement.of(model, ["s"])
    assert (requirement.k, requirement.table_models, requirement.frequency_form().k) == (7, (), 7)
    assert all(unsupported(algorithm, requirement) is None for algorithm in (ALGORITHMS["tp+"], ALGORITHMS["mondrian"]))
    release = shoal.anonymize(TABLE, privacy=model, algorithm="mondrian", **REQUEST)
    assert release.certificate.achieved["k"] >= 7
    asked = {"model": "k-map", "k": 20, "sampling_fraction": 0.1, "significance": 0.01, "least_group": 7}
    assert release.certificate.requested == [asked]
    found = shoal.audit(TABLE, quasi_identifiers=QIS, privacy=model)
    assert "k-map with k = 20 and sampling_fraction = 0.1, for which every group needs 7 records" in found.violations[0]


def test_estimated_k_map_holds_in_a_population_that_is_known():
    # In this population most people share their age, sex and zip with few others.
    people = shoal.datasets.census(60_000, quasi_identifiers=5, seed=3)
    names = people.columns[:5]
    people = people.select(names)
    fits = people.group_by(names).len("F")
    for p, k in some(((0.001, 9), (0.004, 5), (0.02, 3), (0.02, 12))):
        model = KMap(k, sampling_fraction=p)
        (part,) = model.parts
        assert 2 <= part.k <= k
        sample = people.sample(fraction=p, seed=1)
        # Of the classes that fewer than k people have and that occur, at most 1 % are large enough to be published.
        small = sample.group_by(names).len().join(fits, on=names).filter(pl.col("F") < k)
        assert (small["len"] >= part.k).sum() <= max(0.01 * small.height, 1), (p, k)
        release = shoal.anonymize(sample, quasi_identifiers=names, privacy=model, recoding="suppression", seed=1)
        groups = release.data.group_by(names).len().rows()
        assert min(size for *_, size in groups) >= part.k
        wrong = 0
        for *cells, size in groups:
            shown = [pl.col(a).cast(pl.String) == str(b) for a, b in zip(names, cells, strict=True) if b != "*"]
            wrong += size * (people.filter(shown).height < k)
        assert wrong <= max(0.01 * sample.height, part.k), (p, k, wrong)
        assert f"every group has at least {part.k} records" in promise(release.certificate.requested[0], [])
    assert KMap(1, sampling_fraction=0.001).parts[0].k == 1, "a row is a person of the population"
    # A unique row of a small sample says nothing of the population.
    assert shoal.risk(people.sample(60, seed=1), quasi_identifiers=names, sampling_fraction=0.001).k_map.estimated == 1


def test_verification_does_not_take_it_on_trust():
    frame = pl.DataFrame({"q": ["a", "a", "b"]})
    people = pl.DataFrame({"q": ["a", "a", "b", "b", "b"]})
    requirement = Requirement.of(KMap(3, population=people), ())
    roles = {"quasi_identifiers": ["q"], "sensitive": [], "requirement": requirement}
    with pytest.raises(ReleaseUnsafeError, match="because the population is missing"):
        MeasuredTable(frame, **roles).verify()
    with pytest.raises(ReleaseUnsafeError, match="the cells of some group fit 2 people of the population only"):
        MeasuredTable(frame, **roles, fitting=make_people_counter(people)).verify()
    asked = Requirement.of(DeltaPresence(0.5, 0.9, population=people), ())
    with pytest.raises(ReleaseUnsafeError, match=r"it is from 0\.3333 to 1\.0"):
        MeasuredTable(frame, **{**roles, "requirement": asked}, fitting=make_people_counter(people)).verify()


def test_an_audit_in_pieces_counts_rows_not_cells(tmp_path):
    """Equal rows are counted once in pieces, but 8 of 10 people are in the table however often they are read."""
    rows = pl.DataFrame({"a": ["x"] * 8 + ["y"] * 8, "s": ["u", "v"] * 8})
    rows.write_parquet(tmp_path / "t.parquet")
    people = pl.DataFrame({"a": ["x"] * 10 + ["y"] * 40})
    roles = {"quasi_identifiers": ["a"], "sensitive": "s", "privacy": [DeltaPresence(0, 0.5, population=people)]}
    for engine in ("memory", "stream"):
        found = shoal.audit(tmp_path / "t.parquet", **roles, engine=engine)
        assert found.achieved.to_dict()["delta_presence"] == {"low": 0.2, "high": 0.8}
        assert len(found.violations) == 1


def test_values_that_only_others_have_fit_intervals_that_hold_them():
    """An interval of the release is read of everybody: who has 0 fits `<2`, and not the rows of stars only."""
    table = pl.DataFrame({"visits": [1.0, 1.5, 2.0, 2.0, 2.0], "job": list("badbe"), "disease": list("abbcd")})
    visits = [2.0, 1.0, 2.0, 1.0, 1.0, 1.5, 0.0, 3.0, 2.0, 2.0, 1.0, 1.0]
    people = pl.DataFrame({"visits": visits, "job": list("bbeddaccdddd")})
    roles = {"quasi_identifiers": ["visits", "job"], "sensitive": "disease", "recoding": "generalization"}
    asked = [DeltaPresence(0, 0.5, population=people), LDiversity(2)]
    release = shoal.anonymize(table, algorithm="full-domain", privacy=asked, seed=1, **roles)
    own = Requirement.of(asked[0], ())
    counter = make_people_counter(people)
    counted = MeasuredTable(release.data, ["visits", "job"], (), own, fitting=counter).people.counted
    assert round(max(rows / fit for rows, fit in counted), 4) == release.certificate.achieved["delta_presence"]["high"]
    tree = automatic_hierarchy([1.0, 1.5, 2.0, 3.0])
    with pytest.raises(DataError, match="misses 1 of the 5 values of the column 'visits' of the population"):
        shoal.anonymize(table, hierarchies={"visits": tree}, privacy=asked, **roles)


def test_what_is_wrong_with_a_population_is_said():
    ask = {"privacy": None, **REQUEST}

    def refused(model, error, match, **options):
        with pytest.raises(error, match=match) as caught:
            shoal.anonymize(TABLE, **{**ask, "privacy": model, **options})
        return str(caught.value)

    refused(KMap(5, population=PEOPLE[:100]), DataError, "has 100 row.* fewer than the 300 of the table")
    without = PEOPLE.join(TABLE.select(QIS)[:1], on=QIS, how="anti")
    said = refused(KMap(5, population=without), DataError, "of the table are not in the population")
    assert "wildcard" not in said
    other = PEOPLE.with_columns(gender=pl.lit("x"))
    refused(DeltaPresence(0, 1, population=other), DataError, r"do not match: 'gender' \(300 row")
    refused(KMap(5, population=PEOPLE.drop("race")), ColumnError, "no column 'race'")
    refused(KMap(2000, population=PEOPLE), InfeasibleError, "No release can satisfy k-map")
    refused(DeltaPresence(0, 0.1, population=PEOPLE), InfeasibleError, "lies outside of these bounds")
    refused(
        KMap(5, population=PEOPLE), ParameterError, "nothing can be coarsened", coarsen={"age": shoal.Bins(width=10)}
    )
    both = [KMap(5, population=PEOPLE), DeltaPresence(0, 1, population=PEOPLE.clone())]
    refused(both, ParameterError, "must be given the same population table")
    with pytest.raises(ParameterError, match="does not allow a search"):
        shoal.explore(TABLE, privacy=KMap(5, population=PEOPLE), coarsenings=True, **REQUEST)
    with pytest.raises(ParameterError, match="only if a model needs a population"):
        shoal.audit(TABLE, quasi_identifiers=QIS, privacy=KAnonymity(2), cells={"age": "values"})
    with pytest.raises(ParameterError, match=r"needs to know the population.*Got none of the two"):
        KMap(5)
    with pytest.raises(ParameterError, match="Got both"):
        KMap(5, population=PEOPLE, sampling_fraction=0.1)
    with pytest.raises(ParameterError, match="a frame or a path"):
        KMap(5, population=3)
    with pytest.raises(ParameterError, match="'low' parameter of DeltaPresence must be at most high"):
        DeltaPresence(0.5, 0.2, population=PEOPLE)
    for wrong in (0, 1.5, -1):
        with pytest.raises(ParameterError, match="sampling_fraction"):
            PopulationUniqueness(0.1, sampling_fraction=wrong)
        with pytest.raises(ParameterError, match="sampling_fraction"):
            KMap(5, sampling_fraction=wrong)
    assert "gender" not in repr(KMap(5, population=PEOPLE))
    assert KMap(5, population=PEOPLE) == KMap(5, population=PEOPLE) != KMap(5, population=PEOPLE.clone())


def test_a_bound_that_a_float_rounds_says_how_to_write_it() -> None:
    people = pl.DataFrame({"age": [1, 1, 1, 2, 2, 2]})
    asked = {"quasi_identifiers": ["age"], "seed": 1}
    table = pl.DataFrame({"age": [1, 1, 2, 2]})
    with pytest.raises(InfeasibleError, match=re.escape("write high=Fraction(2, 3)")):
        shoal.anonymize(table, **asked, privacy=DeltaPresence(0, 2 / 3, population=people))
    with pytest.raises(InfeasibleError, match=r"outside of these bounds\.$"):
        shoal.anonymize(table, **asked, privacy=DeltaPresence(0, 0.5, population=people))
    assert shoal.anonymize(table, **asked, privacy=DeltaPresence(0, Fraction(2, 3), population=people)).data.height == 4
