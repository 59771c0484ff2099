"""Linked rows from a table to a verified release: what is promised to persons, and what no file may show."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import THOROUGH, every, few, some
from tests.oracles.linked import bundles_of, can_choose_rows, fewest_left_out, is_linked_safe, unit_shares

import shoal
from shoal.algorithms.bundles import linking
from shoal.errors import ColumnError, InfeasibleError, ParameterError, ReleaseUnsafeError, UnsupportedError
from shoal.pipeline import verify as checking

ROLES: dict[str, Any] = {"quasi_identifiers": ["age", "gender", "ward"], "sensitive": "disease", "person": "pcode"}


def visits(seed: int, persons: int, most: int = 4, diseases: str = "abcdefghij") -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(persons), rng.integers(1, most + 1, persons))
    return pl.DataFrame(
        {
            "pcode": [f"p{one:03}" for one in person],
            "age": rng.integers(20, 40, persons)[person],
            "gender": rng.choice(["f", "m"], persons)[person],
            "ward": rng.choice(["x", "y", "z"], len(person)),
            "disease": rng.choice(list(diseases), len(person)),
        }
    )


def rows_of(release: shoal.Release) -> list[tuple[Any, tuple[Any, ...], Any]]:
    names = ["pseudonym", "age", "gender", "ward", "disease"]
    return [(unit, (age, gender, ward), value) for unit, age, gender, ward, value in release.data.select(names).rows()]


@settings(max_examples=40)
@given(
    st.integers(0, 10**6), st.integers(2, 8), st.integers(1, 3), st.integers(1, 3),
    st.sampled_from(["suppression", "generalization"]),
)  # fmt: skip
def test_every_release_keeps_its_promise_to_persons(seed: int, persons: int, k: int, l: int, recoding: Any) -> None:
    table = visits(seed, persons, most=3)
    try:
        release = shoal.anonymize(table, **ROLES, link=True, k=k, l=l, recoding=recoding, seed=seed)
    except InfeasibleError:
        # Too few persons, or no choice of a row of each person has every value rarely enough.
        held = [[{value} for value in values] for values in table.group_by("pcode").agg("disease")["disease"]]
        assert persons < max(k, l) or not can_choose_rows(held, 1, persons // l)
        return
    rows = rows_of(release)
    assert is_linked_safe(rows, k, l)
    assert len({unit for unit, _, _ in rows}) == persons
    linked = release.certificate.input["linked"]
    lengths = table["pcode"].value_counts()["count"].to_list()
    assert linked["fewest_rows_left_out"] == fewest_left_out(lengths, max(k, l)) <= linked["rows_left_out"]
    assert linked["rows_left_out"] == table.height - len(rows)
    achieved = release.certificate.achieved["linked"]
    assert (achieved["units"], achieved["bundles"]) == (persons, len(bundles_of(rows)))


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("privacy", "t", "beta"),
    [([shoal.TCloseness(0.25)], Fraction(1, 4), None), ([shoal.BetaLikeness(1), shoal.KAnonymity(2)], 1, Fraction(1))],
)
def test_distances_count_persons(privacy: Any, t: Any, beta: Any, tmp_path: Path) -> None:
    """The shares of records may differ by more: no bound on them follows, and none is stated or required."""
    table = visits(8, 40, diseases="abcd")
    release = shoal.anonymize(table, **ROLES, privacy=privacy, link=True, seed=1, output=tmp_path / "out")
    rows = rows_of(release)
    assert is_linked_safe(rows, 1, 1, t, beta)
    differences = [abs(share - overall) for pairs in unit_shares(rows).values() for share, overall in pairs]
    assert release.certificate.achieved["linked"]["t"]["disease"] >= float(max(differences))
    said = release.public_certificate.to_dict()["guarantee"]["text"]
    assert ("differs by at most 25%" if beta is None else "at most 1 + 1 times the share of all persons") in said


@pytest.mark.drawn
@pytest.mark.parametrize("algorithm", ["auto", "tp", "matching"])
def test_distances_on_several_attributes_are_served_by_algorithms_that_know_one(algorithm: str) -> None:
    """A distance implies an l on both attributes, which such algorithms do not serve: bundles are joined instead."""
    table = visits(1, 30, diseases="abcde").with_columns(place=pl.col("disease").reverse())
    models = [shoal.KAnonymity(2), shoal.BetaLikeness(0.2)]
    asked = ROLES | {"sensitive": ["disease", "place"], "privacy": models}
    release = shoal.anonymize(table, **asked, link=True, algorithm=algorithm, seed=1)
    names = ["pseudonym", "age", "gender", "ward"]
    for name in ("disease", "place"):
        rows = [(row[0], row[1:4], row[4]) for row in release.data.select(*names, name).rows()]
        assert is_linked_safe(rows, 2, 1, 1, Fraction(1, 5))


def test_sixty_people_with_five_visits_are_protected(tmp_path: Path) -> None:
    table = visits(3, 60, diseases="abcdefghijklmnopqrstuvwxyz")
    release = shoal.anonymize(table, **ROLES, link=True, k=5, l=2, seed=1, output=tmp_path / "out")
    assert is_linked_safe(rows_of(release), 5, 2)
    written = pl.read_csv(tmp_path / "out" / "release.csv")
    assert "pcode" not in written.columns
    assert sorted(written["pseudonym"].unique().to_list()) == list(range(1, 61))


def test_each_person_keeps_one_pseudonym_and_true_cells() -> None:
    table = visits(5, 30).with_row_index("visit")
    release = shoal.anonymize(
        table, **ROLES, link=True, k=3, direct_identifiers=["visit"], recoding="suppression", keep_order=True, seed=1,
    )  # fmt: skip
    came = table[np.asarray(release.rows)]
    pairs = set(zip(came["pcode"], release.data["pseudonym"], strict=True))
    assert len(pairs) == len({person for person, _ in pairs}) == len({pseudonym for _, pseudonym in pairs}) == 30
    for name in ("age", "gender", "ward"):
        cells = zip(release.data[name].cast(pl.String), came[name].cast(pl.String), strict=True)
        assert all(cell in ("*", value) for cell, value in cells)
    assert release.data["disease"].to_list() == came["disease"].to_list()


@pytest.mark.drawn
@pytest.mark.parametrize("recoding", ["suppression", "generalization"])
def test_columns_of_persons_stay_constant(recoding: Any) -> None:
    """Hence a published table can be divided into one of persons and one of rows."""
    release = shoal.anonymize(visits(7, 60), **ROLES, link=True, k=3, recoding=recoding, seed=1)
    assert release.data.select("pseudonym", "age", "gender").unique().height == 60


def test_rows_are_linked_in_the_order_of_a_column() -> None:
    table = pl.DataFrame(
        {
            "pcode": ["a", "a", "a", "b", "b", "b"],
            "age": [30] * 6,
            "gender": ["f"] * 6,
            "ward": ["x", "y", "z", "z", "x", "y"],
            "day": [1, 2, 3, 3, 1, 2],
            "disease": list("pqrstu"),
        }
    )
    release = shoal.anonymize(table, **ROLES, link=True, order="day", direct_identifiers=["day"], k=2, seed=1)
    assert release.certificate.cost.stars == 0
    assert Counter(release.data["ward"]) == Counter("xxyyzz")


@every("recoding", ["suppression", "generalization"], drawn=True)
def test_rows_without_an_order_take_the_positions_that_lose_less(
    recoding: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = visits(3, few(60, least=30)).with_columns(
        age=20 + pl.int_range(pl.len()) * 7 % 5, gender=pl.col("ward").shuffle(2)
    )
    release = shoal.anonymize(table, **ROLES, link=True, k=2, recoding=recoding, seed=1)
    assert is_linked_safe(rows_of(release), 2, 1)
    by_day = {**ROLES, "link": True, "order": "day", "direct_identifiers": ["day"], "k": 3, "recoding": recoding}
    days = table.with_columns(day=pl.int_range(pl.len()))
    ordered = shoal.anonymize(days, **by_day, seed=1)
    monkeypatch.setattr(linking, "align_positions", lambda problem, rows, bundles, count: rows)
    before = shoal.anonymize(table, **ROLES, link=True, k=2, recoding=recoding, seed=1)
    assert release.certificate.cost.gcp < before.certificate.cost.gcp
    # The order of a column is a fact.
    again = shoal.anonymize(days, **by_day, seed=1)
    assert sorted(map(str, ordered.data.drop("pseudonym").rows())) == sorted(
        map(str, again.data.drop("pseudonym").rows())
    )


def test_generalized_bundles_lose_at_least_what_the_changed_cells_must() -> None:
    better = 0
    for seed in some(range(6), least=2):
        # Columns of two values lose everything in a changed cell; of four, a third of it.
        table = visits(seed, 12).select("pcode", "gender", "disease", ward="ward")
        four = table.with_columns(ward=pl.col("disease").replace_strict(list("abcdefghij"), list("wxyzwxyzwx")))
        for one, step in ((table.with_columns(ward=pl.col("ward").replace("z", "y")), 1), (four, 1 / 3)):
            request: dict[str, Any] = {
                "quasi_identifiers": ["gender", "ward"],
                "insensitive": "disease",
                "person": "pcode",
            }
            cost = shoal.anonymize(
                one, **request, link=True, k=3, recoding="generalization", seed=1
            ).certificate.cost  # fmt: skip
            cells = cost.rows * 2
            assert cost.bound.stars * step / cells - 1e-9 <= cost.least.gcp <= cost.gcp
            better += cost.least.why.code == "bundles"
    assert better > 3 or not THOROUGH


@pytest.mark.drawn
@pytest.mark.parametrize("seed", [None, 1])
def test_pseudonyms_are_drawn_anew(seed: int | None) -> None:
    """With a seed, too: whoever guesses it would know whose the pseudonyms are, by the order of all persons."""
    table = visits(5, 30)
    seen = {
        tuple(zip(table["pcode"].gather(np.asarray(one.rows)), one.data["pseudonym"], strict=True))
        for one in (shoal.anonymize(table, **ROLES, link=True, k=3, keep_order=True, seed=seed) for _ in range(2))
    }
    assert len(seen) == 2


def test_the_person_column_shows_nowhere(tmp_path: Path) -> None:
    table = visits(5, 30)
    release = shoal.anonymize(table, **ROLES, link=True, k=3, seed=1, output=tmp_path / "out")
    files = [*(tmp_path / "out").iterdir(), *(tmp_path / "out.private").iterdir()]
    assert len(files) > 4
    for file in files:
        assert "p01" not in file.read_text(encoding="utf-8"), file.name
    assert "p01" not in repr(release) + release._repr_html_()


@pytest.mark.drawn
def test_the_names_of_persons_change_nothing_that_is_published(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    table = visits(5, 30)
    others = table.with_columns(pcode=pl.col("pcode").str.replace("p", "q"))
    monkeypatch.setattr("shoal.pipeline.kept_rows.secrets.randbits", lambda _: 5)
    for name, one in (("a", table), ("b", others)):
        shoal.anonymize(one, **ROLES, link=True, k=3, seed=1, output=tmp_path / name)
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes(), file.name


def test_a_release_whose_pseudonyms_are_mixed_up_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def mixed(frame: pl.DataFrame, *roles: Any, **named: Any) -> Any:
        return measured(frame.with_columns(pseudonym=pl.col("pseudonym").shuffle(1)), *roles, **named)

    measured = checking.MeasuredTable
    monkeypatch.setattr(checking, "MeasuredTable", mixed)
    with pytest.raises(ReleaseUnsafeError, match="pseudonyms"):
        shoal.anonymize(visits(5, 30), **ROLES, link=True, k=3, seed=1)


@every(
    ("changed", "error", "says"),
    [
        ({"person": None}, ParameterError, "person"),
        (
            {"units": ["ward"], "quasi_identifiers": ["age", "gender"]},
            ParameterError,
            "Leave out the .units. parameter",
        ),
        ({"k": 31}, InfeasibleError, "30 persons"),
        ({"privacy": shoal.LDiversity(2, variant="distinct")}, UnsupportedError, "l-diversity by frequency"),
        ({"engine": "stream"}, ParameterError, "pieces"),
    ],
)
def test_what_cannot_be_linked_is_refused(
    changed: dict[str, Any], error: type[Exception], says: str, tmp_path: Path
) -> None:
    table = visits(5, 30)
    path = tmp_path / "visits.csv"
    table.write_csv(path)
    request = {**ROLES, "link": True, "k": 3} | changed
    if changed.get("person", "") is None:
        request["direct_identifiers"] = ["pcode"]
    with pytest.raises(error, match=says):
        shoal.anonymize(path, **request)


def test_a_column_of_the_pseudonyms_name_is_refused() -> None:
    table = visits(5, 30).with_columns(pseudonym=pl.lit("x"))
    with pytest.raises(ColumnError, match="Rename"):
        shoal.anonymize(table, **ROLES, insensitive=["pseudonym"], link=True, k=3)


def test_a_plan_of_linked_rows_is_not_applied() -> None:
    table = visits(5, 30)
    release = shoal.anonymize(table, **ROLES, link=True, k=3, seed=1)
    with pytest.raises(UnsupportedError, match="plan of linked rows"):
        shoal.apply(release.plan, table)


@pytest.mark.drawn
def test_certificates_promise_bundles_of_persons(tmp_path: Path) -> None:
    release = shoal.anonymize(visits(5, 30), **ROLES, link=True, k=3, l=2, seed=1, output=tmp_path / "out")
    public = release.public_certificate.to_dict()
    assert [one["of"] for one in public["requested"]] == ["linked_persons"] * 2
    assert "pseudonym" in public["guarantee"]["text"]
    assert "at most 50% have any one value of 'disease'" in public["guarantee"]["text"]
    assert any("records of a person are linked" in one for one in public["guarantee"]["reservations"])
    assert public["achieved"]["linked"]["k"] >= 3
    assert not [one for one in release.warnings if one.code == "repeated_person"]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "of persons whose records are linked" in page


def test_verbs_that_do_not_link_rows_refuse_with_a_reason() -> None:
    data = pl.DataFrame({"id": [0, 0, 1, 1], "age": [1, 2, 1, 2], "value": list("abab")})
    with pytest.raises(UnsupportedError, match="does not link rows"):
        shoal.explore(data, quasi_identifiers=["age"], sensitive="value", person="id", link=True, k=2)


def test_a_value_that_all_linked_persons_have_is_not_called_uncertain(tmp_path: Path) -> None:
    """Everybody has `a` in one of two records: groups of records share no value, and `a` is certain of each person."""
    data = pl.DataFrame(
        {
            "id": [person for person in range(30) for _ in range(2)],
            "age": [20 + person for person in range(30) for _ in range(2)],
            "value": [value for person in range(30) for value in ("a", "bc"[person % 2])],
        }
    )
    request: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": "value", "person": "id", "k": 3, "seed": 1}
    linked = shoal.anonymize(data, **request, link=True)
    (found,) = [one for one in linked.warnings if one.code == "small_l"]
    assert "it is known of each of them" in found.text
    assert "small_l" in linked.public_certificate.to_json()
    for release, saved in ((linked, "linked"), (shoal.anonymize(data, **request), "rows")):
        release.save(tmp_path / saved)
        said = " ".join(shoal.attacks.homogeneity_attack(tmp_path / saved).sentences())
        assert "tell together was not" in said
    alone = shoal.anonymize(data.rename({"id": "row"}), **request | {"person": None}, direct_identifiers=["row"])
    assert "tell together" not in " ".join(shoal.attacks.homogeneity_attack(alone).sentences())


def test_values_that_linked_persons_do_not_share_raise_nothing() -> None:
    data = pl.DataFrame({"id": range(12), "age": [1] * 12, "value": list("abcd") * 3})
    release = shoal.anonymize(data, quasi_identifiers=["age"], sensitive="value", person="id", link=True, k=3, l=2)
    assert "small_l" not in [one.code for one in release.warnings]


def test_linked_rows_with_a_number_of_rows_are_refused() -> None:
    request = shoal.Request(quasi_identifiers=["age"], person="id", link=True, rows_per_person=2, k=2)
    with pytest.raises(UnsupportedError, match="Leave out the 'rows_per_person' parameter or link=True"):
        request.resolve(["id", "age"])


@pytest.mark.drawn
@pytest.mark.parametrize("algorithm", ["tds", "full-domain"])
@pytest.mark.parametrize("recoding", ["suppression", "generalization"])
def test_algorithms_that_choose_levels_link_rows(algorithm: str, recoding: str) -> None:
    request: dict[str, Any] = {**ROLES, "link": True, "k": 2, "seed": 1}
    release = shoal.anonymize(visits(3, 8), **request, algorithm=algorithm, recoding=recoding)
    assert release.certificate.achieved["k"] >= 2
    with pytest.raises(UnsupportedError, match="neither weights nor limits"):
        shoal.anonymize(visits(3, 8), **request, algorithm=algorithm, recoding=recoding, weights={"age": 2})
