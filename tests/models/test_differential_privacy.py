"""Differential privacy by sampling: parameters against an exact count of the mechanism, and releases."""

import math
from fractions import Fraction
from math import comb

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from tests.every import every
from tests.oracles.safepub import power_of_e as power

import shoal
from shoal.cli.main import app
from shoal.errors import InfeasibleError, ParameterError, UnsupportedError, UsageError
from shoal.models.sampling import SAMPLING_SCALE, least_class, sampling_threshold
from shoal.pipeline import sampling
from shoal.pipeline.memory_budget import MemoryBudget

ONE = shoal.DifferentialPrivacy(epsilon=1, delta=1e-6)
DRAWN = {"quasi_identifiers": ["age", "ill"], "privacy": ONE}


LEVELS = shoal.DifferentialPrivacy(epsilon=1, delta=1e-6, level_epsilon=0.1)
TREES = {
    "age": shoal.Hierarchy.from_rows([(str(n), f"{n // 10}0s", "*") for n in range(20, 90)]),
    "ill": shoal.Hierarchy.from_rows([["no", "*"], ["yes", "*"], ["zebra", "*"]]),
}
DRAWN_LEVELS = {
    "quasi_identifiers": ["age", "ill"], "privacy": LEVELS, "hierarchies": TREES, "recoding": "generalization",
}  # fmt: skip


def table(counts):
    return pl.DataFrame(
        [row for row, count in counts.items() for _ in range(count)], schema=["age", "ill"], orient="row"
    )


BIG = table({(30, "no"): 900, (30, "yes"): 300, (41, "no"): 500, (77, "zebra"): 12})


@pytest.mark.parametrize(("epsilon", "ks"), [("1/2", [39, 63, 101]), ("1", [47, 74, 118]), ("2", [81, 131, 200])])
def test_the_least_classes_are_the_published_ones(epsilon, ks):
    assert [least_class(Fraction(epsilon), Fraction(1, 10**digits)) for digits in (4, 6, 9)] == ks


@every("epsilon", [Fraction(1, 100), Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(5)])
def test_the_threshold_is_the_largest_that_the_proof_allows(epsilon):
    threshold, stays = sampling_threshold(epsilon), 1 - 1 / power(epsilon)
    assert Fraction(threshold, SAMPLING_SCALE) <= stays < Fraction(threshold + 1, SAMPLING_SCALE)


def published_sizes(n, beta, k):
    """How probable each published size of a class of n records is; 0: it is left out."""
    sizes = {}
    for m in range(n + 1):
        size = m if m >= k else 0
        sizes[size] = sizes.get(size, 0) + comb(n, m) * beta**m * (1 - beta) ** (n - m)
    return sizes


def excess(left, right, factor):
    """The least delta with P[left in S] <= factor * P[right in S] + delta for every set S of outcomes."""
    return sum(max(0, share - factor * right.get(size, 0)) for size, share in left.items())


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1/100"), ("2", "1/20"), ("1/2", "1/10")])
def test_a_record_more_or_less_changes_no_odds_by_more_than_the_factor(epsilon, delta):
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    # Rounded to small denominators on the safe side, so that the exact sums stay short.
    beta = Fraction(int((1 - 1 / power(epsilon)) * 10**4), 10**4)
    factor, k = power(epsilon), least_class(epsilon, delta)

    def worst(k):
        pairs = [(published_sizes(n, beta, k), published_sizes(n + 1, beta, k)) for n in range(3 * k)]
        return max(max(excess(one, other, factor), excess(other, one, factor)) for one, other in pairs)

    assert worst(k) <= delta
    assert worst(1) > delta  # without classes of a least size it does not hold


def test_equal_rows_that_were_counted_are_drawn_one_by_one(monkeypatch):
    numbers = [5, 1, 9, 0, 3, 7, 2, 8]
    monkeypatch.setattr(sampling.os, "urandom", lambda size: b"".join(n.to_bytes(8, "little") for n in numbers))
    assert sampling.draw_counts(np.array([3, 0, 4, 1]), 4).tolist() == [1, 0, 3, 0]


def test_draws_of_several_blocks_add_up(monkeypatch):
    monkeypatch.setattr(sampling, "_ROWS_AT_ONCE", 7)
    counts = np.array([5, 20, 0, 100])
    assert sampling.draw_counts(counts, 2**64 - 1).tolist() == counts.tolist()
    assert sampling.draw_counts(counts, 0).tolist() == [0, 0, 0, 0]
    half = sampling.draw_counts(np.array([40_000, 60_000]), 2**63)
    assert abs(half[0] - 20_000) < 1_000
    assert abs(half[1] - 30_000) < 1_000


@pytest.mark.parametrize("many", [1, 30])  # few rows, and so many that equal ones are counted
def test_a_release_is_a_sample_in_large_classes(many):
    data = pl.concat([BIG] * many)
    release = shoal.anonymize(data, **DRAWN)
    before, after = (
        {row[:-1]: row[-1] for row in frame.group_by("age", "ill").len().iter_rows()} for frame in (data, release.data)
    )
    assert set(after) <= set(before)
    assert all(74 <= count <= before[row] for row, count in after.items())
    assert 0.55 < sum(after.values()) / data.height < 0.7
    assert release.certificate.achieved["k"] == min(after.values())
    assert many > 1 or (77, "zebra") not in after


def test_public_files_show_nothing_of_records_that_were_left_out(tmp_path):
    shoal.anonymize(BIG, **DRAWN).save(tmp_path / "out")
    shoal.anonymize(BIG, **DRAWN, coarsen={"ill": shoal.Level(TREES["ill"], 0)}).save(tmp_path / "files.parquet")
    for file in [*(tmp_path / "out").iterdir(), *(tmp_path / "files.parquet").iterdir()]:
        read = file.read_bytes()
        assert b"zebra" not in read
        assert str(BIG.height).encode() not in read or file.suffix == ".parquet"  # that number is of the original


def test_losses_are_measured_if_some_values_were_left_out():
    # Of values that no published record has, an entropy would be that of no record, and a share one over 0.
    release = shoal.anonymize(BIG, **DRAWN, coarsen={"age": shoal.Bins(50)})
    assert all(math.isfinite(value) for value in release.metrics.totals().values())
    assert release.metrics.precision == 0.5
    assert all(one.value is None or math.isfinite(one.value) for one in release.utility().measures)


def test_no_class_is_large_enough():
    with pytest.raises(InfeasibleError, match="No 74 of the records"):
        shoal.anonymize(BIG.head(70), **DRAWN)


@every(
    ("more", "message"),
    [
        ({"quasi_identifiers": ["age"], "sensitive": "ill"}, "name all that are published"),
        ({"quasi_identifiers": ["age"], "insensitive": "ill"}, "name all that are published"),
        ({"seed": 1}, "Leave out the 'seed'"),
        ({"keep_order": True}, "order of the input"),
        ({"coarsen": {"age": shoal.Bins(quantiles=4)}}, "depends on the records"),
        ({"person": "who"}, "rows_per_person"),
        (
            {"hierarchies": {"ill": shoal.Hierarchy.from_rows([["no", "*"], ["yes", "*"], ["zebra", "*"]])},
             "recoding": "generalization"},
            "level_epsilon=0.1",
        ),
        ({"privacy": LEVELS}, "name them with the 'hierarchies'"),
        (
            {"privacy": LEVELS, "hierarchies": TREES, "recoding": "generalization", "coarsen": {"age": shoal.Bins(9)}},
            "Choose one",
        ),
    ],
)  # fmt: skip
def test_requests_for_which_the_proof_does_not_hold(more, message):
    data = BIG.with_row_index("who") if "person" in more else BIG
    with pytest.raises(UsageError, match=message):
        shoal.anonymize(data, **{**DRAWN, **more})


def test_other_algorithms_are_refused():
    with pytest.raises(UnsupportedError, match="safepub"):
        shoal.anonymize(BIG, **DRAWN, algorithm="mondrian")
    with pytest.raises(UnsupportedError, match="differential privacy alone"):
        shoal.anonymize(BIG, quasi_identifiers=["age", "ill"], k=5, algorithm="safepub")


def test_verbs_that_make_many_releases_refuse():
    with pytest.raises(UnsupportedError, match="covers one release"):
        shoal.explore(BIG, **DRAWN)


def test_one_record_of_each_person_is_drawn(monkeypatch):
    visits = pl.concat([BIG.with_row_index("who")] * 3)
    release = shoal.anonymize(visits, **DRAWN, person="who", rows_per_person=1)
    assert release.data.height < 0.7 * BIG.height
    assert release.data.columns == ["age", "ill"]


def test_the_command_line_and_its_audit(tmp_path):
    BIG.write_csv(tmp_path / "people.csv")
    words = ["--qi", "age,ill", "--epsilon", "1", "--delta", "1e-6"]
    made = CliRunner().invoke(app, ["anonymize", str(tmp_path / "people.csv"), *words, "-o", str(tmp_path / "out")])
    assert made.exit_code == 0, made.output
    assert "records are not published" in " ".join(made.output.split())
    seen = CliRunner().invoke(app, ["audit", str(tmp_path / "out" / "release.csv"), *words])
    assert seen.exit_code == 0, seen.output
    assert "delta-disclosure" not in seen.output
    alone = CliRunner().invoke(app, ["anonymize", str(tmp_path / "people.csv"), *words[:4], "-o", str(tmp_path / "no")])
    assert alone.exit_code == 2
    assert "--model epsilon needs --model delta" in alone.output


def test_a_folder_that_is_streamed(tmp_path, monkeypatch):
    monkeypatch.setattr(MemoryBudget, "max_rows", lambda *_: 1)  # rows are counted, never expanded
    for number in range(3):
        (tmp_path / "in").mkdir(exist_ok=True)
        BIG.write_parquet(tmp_path / "in" / f"{number}.parquet")
    release = shoal.anonymize(tmp_path / "in", engine="stream", **DRAWN)
    release.save(tmp_path / "out")
    published = pl.concat([pl.read_parquet(file) for file in (tmp_path / "out").rglob("*.parquet") if file.is_file()])
    sizes = published.group_by("age", "ill").len()["len"]
    assert sizes.min() >= 74
    assert 0.55 < published.height / (3 * BIG.height) < 0.7


def test_an_epsilon_of_levels_is_a_part_of_epsilon():
    assert LEVELS.k == least_class(Fraction(9, 10), Fraction(1, 10**6)) != ONE.k
    assert LEVELS.threshold == sampling_threshold(Fraction(9, 10))
    with pytest.raises(ParameterError, match="must be less than epsilon"):
        shoal.DifferentialPrivacy(epsilon=1, delta=1e-6, level_epsilon=1)


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_levels_are_drawn_that_keep_most_records_and_values(tmp_path, engine):
    # Ages are one by one too rare, their decades are not; both values of the other column are frequent.
    people = pl.DataFrame({"age": [20 + n % 40 for n in range(4000)], "ill": ["no", "yes", "no", "no", "yes"] * 800})
    people.write_parquet(tmp_path / "people.parquet")
    release = shoal.anonymize(tmp_path / "people.parquet", engine=engine, **DRAWN_LEVELS)
    facts = release.certificate.to_dict()["parameters"]["coarsen"]
    assert {name: (one["level"], one["drawn"]) for name, one in facts.items()} == {"age": (1, True), "ill": (0, True)}
    release.save(tmp_path / "out")
    public = (tmp_path / "out" / "certificate.json").read_text()
    assert '"level_epsilon": 0.1' in public
    assert '"drawn": true' in public
    assert "Of the epsilon of 1, 0.1 pays for that" in public
    published = pl.concat([pl.read_parquet(file) for file in (tmp_path / "out").rglob("*.parquet") if file.is_file()])
    assert set(published["age"].unique()) == {"20s", "30s", "40s", "50s"}
    assert published.group_by("age", "ill").len()["len"].min() >= LEVELS.k


def test_the_levels_are_drawn_from_all_records_before_the_sample(monkeypatch):
    seen = []
    monkeypatch.setattr(sampling, "score_levels", lambda columns, counts, least: seen.append(counts.sum()) or [0] * 6)
    monkeypatch.setattr(sampling, "draw_levels", lambda scores, rate: 5)  # all stars
    release = shoal.anonymize(pl.concat([BIG, BIG]), **DRAWN_LEVELS)
    assert seen == [2 * BIG.height]
    assert release.data["age"].unique().to_list() == ["any"]
    assert release.data.height < 1.3 * BIG.height


def test_its_words_are_those_of_its_parameters(tmp_path):
    request = shoal.Request(quasi_identifiers=["age", "ill"], privacy=ONE)
    assert request.to_cli()[2:] == ["--model", "epsilon=1", "--model", "delta=1e-06"]
    (tmp_path / "release.toml").write_text(request.to_toml())
    assert shoal.Request.from_toml(tmp_path / "release.toml").privacy == (ONE,)
    assert shoal.Request(quasi_identifiers=["age"], privacy=LEVELS).to_cli()[-2:] == ["--model", "level_epsilon=0.1"]
