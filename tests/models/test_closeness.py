"""t-closeness: the paper's tables, the values that it can be asked of, and arithmetic at the edge of 64 bits."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every

import shoal
from shoal.algorithms.common.compiled import populations_of
from shoal.algorithms.common.emd_kernel import within_metric, within_ordered
from shoal.algorithms.common.predicate_kernel import CLOSE_METRIC
from shoal.errors import DataError, ParameterError, ReleaseUnsafeError
from shoal.hierarchy import Hierarchy
from shoal.models import LDiversity, TCloseness
from shoal.models.base import GroupCounts
from shoal.models.domain import Domain
from shoal.models.ground_distance import EqualDistance, OrderedDistance, compile_limit, distances, smallest_group
from shoal.models.hierarchical_distance import HierarchicalDistance
from shoal.models.metric_distance import MetricDistance
from shoal.models.naming import places_of
from shoal.models.population import Population
from shoal.models.requirement import Requirement
from shoal.models.transport import cheapest_transport
from shoal.recoding import recode
from shoal.release.row_store import read_back
from shoal.table import Schema, encode
from shoal.verification import MeasuredTable

# Table 1 of Liang and Yuan: ZIP code, age and education, then the disease.
PAPER = """
98765 38 Bachelor  Viral
98654 39 Doctorate Heart
98543 32 Master    Heart
97654 65 Bachelor  Cancer
96689 45 Bachelor  Viral
97427 33 Bachelor  Viral
96552 54 Bachelor  Heart
97017 69 Doctorate Cancer
97023 55 Master    Cancer
97009 62 Bachelor  Cancer
"""


def paper_table():
    rows = [line.split() for line in PAPER.strip().splitlines()]
    digits = [[*zip_code, *age, education, disease] for zip_code, age, education, disease in rows]
    names = ["z1", "z2", "z3", "z4", "z5", "a1", "a2", "education", "disease"]
    frame = pl.DataFrame(digits, schema=names, orient="row")
    return encode(frame, Schema(quasi_identifiers=tuple(names[:-1]), sensitive=("disease",)))


def published(partition):
    """The paper's table by suppression, and how many stars it has."""
    table = paper_table()
    groups = np.empty(10, dtype=np.int32)
    for number, rows in enumerate(partition):
        groups[[row - 1 for row in rows]] = number
    recoded = recode(table, groups, len(partition), method="suppression", star="*")
    columns = [column.labels.gather(pl.Series(column.group_codes[groups])) for column in recoded.columns]
    disease = table.sensitive[0].dictionary.gather(pl.Series(table.sensitive[0].codes))
    return pl.DataFrame([*columns, disease.alias("disease")]), recoded.stars


TABLE_2 = [[1, 2, 3], [4, 5, 6, 7], [8, 9, 10]]
TABLE_3 = [[1, 2], [3, 5, 8, 9], [4, 6, 7, 10]]
TABLE_5 = [[1, 2, 4, 3, 5, 8, 9], [6, 7, 10]]


def audited(partition, *models):
    frame, _ = published(partition)
    names = frame.columns[:-1]
    return shoal.audit(frame, quasi_identifiers=names, sensitive="disease", privacy=models or None)


def test_the_papers_table_1_has_the_distribution_of_section_2():
    (whole,) = populations_of(paper_table())
    shares = dict(zip(whole.domain.labels, whole.totals.tolist(), strict=True))
    assert shares == {"Viral": 3, "Heart": 3, "Cancer": 4}


def test_the_papers_table_2_is_3_anonymous_and_has_54_stars():
    frame, stars = published(TABLE_2)
    assert stars == 54
    assert frame.select(pl.all().exclude("disease")).row(0) == ("9", "8", "*", "*", "*", "3", "*", "*")
    assert audited(TABLE_2, shoal.KAnonymity(3)).violations == ()
    assert audited(TABLE_2, shoal.KAnonymity(4)).violations


def test_the_papers_table_3_is_2_diverse_but_its_first_group_is_at_distance_0_4():
    assert audited(TABLE_3, LDiversity(2)).violations == ()
    assert "fails t-closeness with t = 0.3 of" in audited(TABLE_3, TCloseness(0.3)).violations[0]
    assert audited(TABLE_3, TCloseness(0.4)).violations == ()
    frame, _ = published(TABLE_3)
    (counts,) = MeasuredTable(frame, frame.columns[:-1], ["disease"]).counts
    found = dict(zip(counts.sizes.tolist(), distances(counts, EqualDistance()), strict=True))
    assert found[2] == Fraction(2, 5)
    assert audited(TABLE_3).achieved.t == {"disease": 0.4}


def test_the_papers_table_5_is_even_0_1_close():
    assert audited(TABLE_5, TCloseness(0.1)).violations == ()
    assert audited(TABLE_5).achieved.t == {"disease": 0.0667}


# Which values a distance can be asked of.


def whole(values, dtype=None):
    frame = pl.DataFrame({"q": [0] * len(values), "s": pl.Series(values, dtype=dtype)})
    return populations_of(encode(frame, Schema(quasi_identifiers=("q",), sensitive=("s",))))[0]


def from_cells(values, dtype=None):
    frame = pl.DataFrame({"q": range(len(values)), "s": pl.Series(values, dtype=dtype)})
    return MeasuredTable(frame, ["q"], ["s"]).counts[0]


LEVELS = pl.Enum(["low", "middle", "high"])
DAYS = [dt.date(2020, 3, 1), dt.date(2019, 3, 1), dt.date(2021, 1, 1)]


@every(
    ("values", "dtype", "order"),
    [
        ([10, 9, 200], None, [9, 10, 200]),
        ([0.5, -1e-7, 1e20], None, [-1e-7, 0.5, 1e20]),
        ([0.7, 0.2], pl.Float32, [0.2, 0.7]),
        ([Decimal("1.50"), Decimal("-2.25")], None, [Decimal("-2.25"), Decimal("1.50")]),
        (["10", "9", "-1", "9.0"], None, ["-1", "9", "9.0", "10"]),
        (["high", "low"], LEVELS, ["low", "high"]),
        (["2020-03-01", "2019-12-24"], None, ["2019-12-24", "2020-03-01"]),
        (DAYS, None, sorted(DAYS)),
        ([dt.datetime(2020, 1, 1, 5), dt.datetime(2020, 1, 1, 4)], None, None),
        ([dt.timedelta(3), dt.timedelta(1)], None, None),
    ],
)
def test_the_order_of_values_is_the_same_for_both_readers(values, dtype, order):
    for counts in (whole(values, dtype), from_cells(values, dtype)):
        labels, ranks = counts.domain.labels, counts.domain.ranks
        assert sorted(ranks.tolist()) == list(range(len(values)))
        by_rank = [labels[code] for code in np.argsort(ranks)]
        if order is not None:
            assert places_of(by_rank, order).tolist() == list(range(len(values)))
        else:
            assert by_rank == sorted(values)


@every(
    ("values", "dtype"),
    [
        (["b", "a"], None),
        (["b", "a"], pl.Categorical),
        ([True, False], None),
        (["1", "007"], None),
        ([None, None], None),
    ],
)
def test_other_values_have_none_and_the_error_says_what_to_do(values, dtype):
    for counts in (whole(values, dtype), from_cells(values, dtype)):
        assert counts.domain.ranks is None
        model = TCloseness(0.5, distance="ordered")
        for ask in (model.acceptable, model.rules):
            with pytest.raises(ParameterError, match=r"have no order.*OrderedDistance\(order=\[\.\.\.\]\)"):
                ask(counts)
        with pytest.raises(ParameterError, match="apply to 'disease': its values have no order"):
            Requirement.of(model, ["disease"]).check_feasible([counts])


def test_an_order_can_be_given():
    counts = from_cells(["mild", "fatal", "severe", "mild"])
    order = OrderedDistance(["none", "mild", "severe", "fatal"])
    # Three of the four values occur: the way from mild to fatal has length 1 all the same.
    found = distances(counts, order)
    assert sorted(found) == [Fraction(3, 8), Fraction(3, 8), Fraction(3, 8), Fraction(5, 8)]
    assert repr(order) == "OrderedDistance(order of 4 values)"
    with pytest.raises(ParameterError, match="the order misses 2 of its 3 values"):
        TCloseness(0.5, distance=OrderedDistance(["mild", "dead"])).acceptable(counts)


def test_a_missing_value_needs_a_place():
    for counts in (GroupCounts.whole(whole([3, None, 1])), from_cells([3, None, 1])):
        with pytest.raises(ParameterError, match=r"a missing value has no place.*missing_sensitive='drop'"):
            TCloseness(0.5, distance="ordered").acceptable(counts)
        assert TCloseness(1, distance=OrderedDistance([1, 3, None])).acceptable(counts).all()
        assert TCloseness(1, distance=OrderedDistance(["1", "3", ""])).acceptable(counts).all()
        assert TCloseness(1).acceptable(counts).all()


@every(
    ("make", "said"),
    [
        (lambda: TCloseness(0.5, distance="near"), r"'equal', 'ordered', or a ground distance.*Got 'near'\."),
        (lambda: TCloseness(0.5, distance=3), "Got int"),
        (lambda: TCloseness(0.5, distance=EqualDistance), "Got ABCMeta"),
        (lambda: OrderedDistance("abc"), "must be a list of the values in their order. Got str"),
        (lambda: OrderedDistance(3), "Got int"),
        (lambda: OrderedDistance(["Zyzzyva", "b", "Zyzzyva"]), "a value twice, as number 1 and as number 3"),
        (lambda: HierarchicalDistance("tree.csv"), "must be a Hierarchy. Got str"),
        (lambda: MetricDistance("ab", [[0, 1], [1, 0]]), "must be a list of values. Got str"),
        (lambda: MetricDistance(["a", "b"], [[0, 1]]), "a row and a column for each of the 2 values"),
        (lambda: MetricDistance(["a", "b"], 3), "a row and a column for each of the 2 values"),
        (
            lambda: MetricDistance(["Zyzzyva", "Zyzzyva"], [[0, 1], [1, 0]]),
            "a value twice, as number 1 and as number 2",
        ),
        (lambda: MetricDistance(["a", "b"], [[0, "1"], [1, 0]]), "no finite number for the values number 1 and 2"),
        (lambda: MetricDistance(["a", "b"], [[0, 1], [float("nan"), 0]]), "no finite number.*number 2 and 1"),
        (lambda: MetricDistance(["a", "b"], [[0, -1], [-1, 0]]), "the values number 1 and 2 is negative"),
        (lambda: MetricDistance(["a", "b"], [[0, 1], [1, 2]]), "number 2 and 2 is not zero"),
        (lambda: MetricDistance(["a", "b"], [[0, 1], [2, 0]]), "number 1 and 2 is not the same in both directions"),
        (lambda: MetricDistance(["a", "b"], [[0, 0], [0, 0]]), "no distance above 0"),
        (
            lambda: MetricDistance(["Zyzzyva", "b", "c"], [[0, 1, 3], [1, 0, 1], [3, 1, 0]]),
            r"number 1 and 3 is more than the way through number 2 \(triangle inequality\)",
        ),
    ],
)
def test_distances_that_cannot_be(make, said):
    with pytest.raises(ParameterError, match=said) as caught:
        make()
    assert "Zyzzyva" not in str(caught.value)


def test_a_metric_is_exact_and_at_most_1():
    metric = MetricDistance(["a", "b", "c"], [[0, 0.1, 0.3], [0.1, 0, Decimal("0.2")], [0.3, Fraction(1, 5), 0]])
    assert metric.matrix[0] == (0, Fraction(1, 3), 1)
    assert metric.normalised
    assert metric.to_dict() == {"distance": "metric", "values": 3, "normalised": True}
    assert repr(TCloseness(0.1, distance=metric)) == "TCloseness(0.1, distance=MetricDistance(3 values))"
    plain = MetricDistance(np.array(["a", "b"]), np.array([[0, 1], [1, 0]]))
    assert not plain.normalised
    assert plain == MetricDistance(["a", "b"], [[0, 1.0], [1.0, 0]])
    assert len({plain, MetricDistance(["a", "b"], [[0, 1], [1, 0]])}) == 1


def test_a_metric_or_hierarchy_that_misses_values_is_an_error_for_every_attribute():
    counts = whole(["a", "b", "c", "c"])
    metric = MetricDistance(["a", "b"], [[0, 1], [1, 0]])
    tree = HierarchicalDistance(Hierarchy.from_rows([("a", "*")]))
    for distance, said in ((metric, "the metric misses 1 of its 3 values"), (tree, "the hierarchy misses 2 of its 3")):
        model = TCloseness(0.5, distance=distance)
        for ask, of in ((model.acceptable, GroupCounts.whole(counts)), (model.rules, counts)):
            with pytest.raises(ParameterError, match=said):
                ask(of)
        with pytest.raises(ParameterError, match=f"apply to 'second': {said}"):
            Requirement.of(model, ["first", "second"]).check_feasible([whole(["a", "a"]), counts])
    with pytest.raises(ParameterError, match="only the frequencies of its values are known"):
        TCloseness(0.5, distance=metric).acceptable(GroupCounts.whole(Population(totals=counts.totals)))


def test_values_are_found_by_what_they_are():
    day, moment = dt.date(2020, 1, 2), dt.datetime(2020, 1, 2, 3, 4)
    names = ["true", "2020-01-02", "2020-01-02T03:04:00", "1e3", "007", "", "0.50"]
    values = [True, day, moment, Fraction(1000), "007", None, Fraction(1, 2), Fraction(7), "7", False]
    assert places_of(values, names).tolist() == [0, 1, 2, 3, 4, 5, 6, 4, -1, -1]


# Files.


def test_a_metric_is_read_from_a_square_table(tmp_path):
    path = tmp_path / "metric.csv"
    path.write_text("value;flu;cold\nflu;0;1/2\ncold;.5;0\n")
    metric = MetricDistance.from_csv(path)
    assert (metric.values, metric.normalised) == (("flu", "cold"), True)
    path.write_text("value\n")
    with pytest.raises((DataError, ParameterError)):
        MetricDistance.from_csv(path)


@pytest.mark.drawn
@every("form", ["csv", "safe", "parquet"])
@every("kind", ["enum", "moments", "formulas", "numbers"])
def test_what_text_does_not_tell_is_still_verified_on_the_file(tmp_path, form, kind):
    values = {
        "enum": pl.Series(["high", "low", "middle"], dtype=LEVELS),
        "moments": pl.Series([dt.datetime(2020, 1, day) for day in (3, 1, 2)]),
        "formulas": pl.Series(["=1+1", "", "-x"]),
        "numbers": pl.Series([1e20, 0.1, 3.0]),
    }[kind]
    data = pl.DataFrame({"q": [row // 10 for row in range(60)], "s": values.gather(pl.Series([0, 1, 2] * 20))})
    distance = OrderedDistance(values.to_list()) if kind == "formulas" else "ordered"
    model = TCloseness(0.1, distance=distance)
    made = shoal.anonymize(data, quasi_identifiers=["q"], sensitive="s", privacy=model, algorithm="mondrian")
    made.save(tmp_path / "out", format="parquet" if form == "parquet" else "csv", spreadsheet_safe=form == "safe")
    ((measured),) = made.certificate.achieved["closeness"]
    assert 0 < measured["t"]["s"] <= 0.1


def test_a_file_that_holds_other_values_is_refused():
    published = pl.Series("s", ["low", "high", "low"], dtype=LEVELS)
    assert read_back(pl.Series("s", ["low", "'high", "low"]), published, published).dtype == LEVELS
    moments = pl.Series("s", [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2), dt.datetime(2020, 1, 1)])
    for column in (published, moments):
        with pytest.raises(ReleaseUnsafeError, match="other values of 's'"):
            read_back(pl.Series("s", ["low", "high", "high"]), column, column)
    # Dates and numbers in forms of their own.
    born = pl.Series("s", [dt.date(2020, 1, 31), None])
    assert read_back(pl.Series("s", ["31.01.2020", None]), pl.Series("s", ["31.01.2020", None]), born) is born
    with pytest.raises(ReleaseUnsafeError, match="other values of 's'"):
        read_back(pl.Series("s", ["31.01.2021", None]), pl.Series("s", ["31.01.2020", None]), born)


# Arithmetic at the edge.


@settings(max_examples=300, deadline=None)
@given(
    t=st.fractions(0, 1) | st.sampled_from([Fraction(1, 3), Fraction(10**17 + 1, 10**18), Fraction(1)]),
    unit=st.integers(1, 10**6),
    rows=st.integers(1, 2**31 - 1),
    data=st.data(),
)
def test_limits_fit_into_64_bits_and_are_never_laxer(t, unit, rows, data):
    size = data.draw(st.integers(1, rows))
    a, b, c, s = compile_limit(t, unit, rows)
    assert max(a * size + b * size // c, b * size, c, a) < 2**63
    assert (s == 0) == (unit * rows**2 < 2**62)
    exact = t * unit * size * rows
    cost = max(int(exact) + data.draw(st.integers(-2, 2)), 0)
    kernel = (cost + 2**s - 1) >> s <= a * size + b * size // c
    assert kernel == (cost <= exact) if s == 0 else (not kernel or cost <= exact)


@settings(max_examples=100, deadline=None)
@given(
    totals=st.lists(st.integers(1, 10**9), min_size=2, max_size=6).filter(lambda totals: sum(totals) < 2**31),
    data=st.data(),
    which=st.sampled_from([0, 1]),
)
def test_huge_tables_are_decided_exactly_by_models_and_never_laxer_by_kernels(totals, data, which):
    counts = [data.draw(st.integers(0, total)) for total in totals]
    if not any(counts):
        return
    present = np.flatnonzero(counts)
    m, rows, size = len(totals), sum(totals), sum(counts)
    groups = GroupCounts(
        sizes=np.array([size]),
        starts=np.array([0, len(present)]),
        values=present,
        counts=np.array(counts)[present],
        population=Population(totals=np.array(totals), domain=Domain.of(labels=list(range(m)), ranks=np.arange(m))),
    )
    line = MetricDistance(range(m), [[Fraction(abs(i - j), m - 1) for i in range(m)] for j in range(m)])
    prefix = [sum(counts[: i + 1]) * rows - sum(totals[: i + 1]) * size for i in range(m)]
    exact = Fraction(sum(map(abs, prefix)), size * rows * (m - 1))
    assert distances(groups, OrderedDistance()) == distances(groups, line) == [exact]
    beside = data.draw(st.sampled_from([0, Fraction(1, 10**20), -Fraction(1, 10**20), Fraction(1, 50)]))
    t = Fraction(min(max(exact + beside, 0), 1))
    for distance, kernel in ((OrderedDistance(), within_ordered), (line, within_metric)):
        rule = distance.rule(groups.population, t)
        here = np.array(counts)
        touched = present.astype(np.int32)
        decide = (kernel, kernel.py_func)[which]
        answer = decide(size, touched, len(touched), here, 0, m, rule.a, rule.b, rule.c, rule.bounds, 0)
        assert not answer or exact <= t
        if t > exact + Fraction(1, 100) and distance is not line:
            assert answer
        assert TCloseness(t, distance=distance).acceptable(groups).tolist() == [exact <= t]


def test_products_of_a_huge_table_do_not_wrap_around():
    totals = np.array([1, 753_413_056, 10**9])
    one = GroupCounts(
        sizes=np.array([1]),
        starts=np.array([0, 1]),
        values=np.array([2]),
        counts=np.array([1]),
        population=Population(totals=totals, domain=Domain.of(ranks=np.arange(3))),
    )
    assert int(totals.sum()) ** 2 * 3 > 2**63
    assert distances(one, OrderedDistance()) == [Fraction(1 + 753_413_057, 2 * int(totals.sum()))]


def test_transports_are_solved_once_for_groups_and_a_metric():
    counts = whole(["a", "b", "b"] * 3)
    one, other = (MetricDistance(["a", "b"], [[0, far], [far, 0]]) for far in (1, 1))
    groups = GroupCounts.whole(counts)
    costs, _ = one.costs(groups)
    costs += 1  # a copy
    assert one.costs(groups)[0].tolist() == other.costs(groups)[0].tolist() == [0]
    half = MetricDistance(["a", "b", "c"], [[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    groups = from_cells(["a", "b"])
    assert distances(groups, one) == [Fraction(1, 2)] * 2
    assert distances(groups, half) == [Fraction(1, 4)] * 2


def test_distances_too_fine_for_64_bits_are_rounded_up():
    fine = MetricDistance(["a", "b", "c"], [[0, Fraction(1, 3**45), 1], [Fraction(1, 3**45), 0, 1], [1, 1, 0]])
    counts = whole(["a", "b", "c"] * 1000)
    (rule,) = TCloseness(0.5, distance=fine).rules(counts)
    assert rule.kind == CLOSE_METRIC
    unit = int(rule.bounds[1])
    assert rule.bounds[5:].reshape(3, 3).tolist() == [[0, 1, unit], [1, 0, unit], [unit, unit, 0]]
    assert unit * 3000**2 < 2**62


@settings(max_examples=200, deadline=None)
@given(totals=st.lists(st.integers(1, 9), min_size=1, max_size=5), t=st.fractions(0, 1, max_denominator=20))
def test_the_smallest_group_is_the_smallest(totals, t):
    rows = sum(totals)

    def closest(size, left):
        """The least equal distance of any group of so many rows, in units of 1 / (size n)."""
        if not left:
            return 0 if size == 0 else None
        best = None
        for count in range(size + 1):
            rest = closest(size - count, left[1:])
            if rest is not None:
                one = max(count * rows - left[0] * asked, 0) + rest
                best = one if best is None else min(best, one)
        return best

    bound = smallest_group(np.array(totals), t, Fraction(1))
    for asked in range(1, min(bound + 1, 9)):
        close = closest(asked, totals) <= t * asked * rows
        assert not (close and asked < bound)
        assert close or asked != bound


def test_the_least_transport():
    assert cheapest_transport([], [], []) == 0
    assert cheapest_transport([5], [2, 3], [[1, 7]]) == 23
    # The cheapest way for the first would be the only one for the second.
    assert cheapest_transport([1, 1], [1, 1], [[1, 2], [1, 9]]) == 3
