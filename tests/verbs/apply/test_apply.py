"""Plans and their application: by plain Python, over algorithms and coarsenings, refusals, files, what is public."""

from __future__ import annotations

import datetime as dt
import io
import itertools
import json
import pickle
import random
import stat
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.every import THOROUGH, every, few, some

import shoal
from shoal.algorithms.algorithm_list import ALGORITHMS
from shoal.errors import ColumnError, DataError, InfeasibleError, OutputError, ParameterError, UsageError
from shoal.report import public_facts, render_public
from shoal.verbs.apply.assignment import quotas

SECRET = "Zyzzyva"
QI = ["age", "town"]
Row = tuple[Any, ...]


def people(rows: int = 80, seed: int = 5, towns: str = "abc") -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 28, rows),
            "town": rng.choice([f"{SECRET} {letter}" for letter in towns], rows),
            "disease": rng.choice(["u", "v", "w", "x"], rows),
        }
    )


REQUEST: dict[str, Any] = {"quasi_identifiers": QI, "sensitive": "disease", "seed": 3}


def forms_of(release: shoal.Release) -> Counter[Row]:
    return Counter(release.data.select(pl.col(QI).cast(pl.String)).rows())


def covers(cell: str, value: Any) -> bool:
    """Say whether a cell covers a value, by the guide's words: a star, an interval of numbers, a set, or the value."""
    if cell == "*":
        return True
    if cell.startswith("["):
        low, high = cell[1:-1].split(", ")
        return int(low) <= value <= int(high)
    if cell.startswith("{"):
        return str(value) in cell[1:-1].split(", ")
    return cell == str(value)


def shared(size: int, weights: list[int]) -> list[int]:
    """Deal rows in proportion by the largest remainders, one after the other."""
    dealt = [size * weight // sum(weights) for weight in weights]
    while sum(dealt) < size:
        dealt[max(range(len(weights)), key=lambda at: (size * weights[at] - dealt[at] * sum(weights), -at))] += 1
    return dealt


def test_quotas_are_those_of_the_largest_remainders() -> None:
    rng = random.Random(2)
    for _ in range(few(200)):
        classes = rng.randint(1, 5)
        weights = [[rng.randint(1, 9) for _ in range(rng.randint(1, 4))] for _ in range(classes)]
        sizes = [rng.randint(0, 20) for _ in range(classes)]
        pairs = [at for at, own in enumerate(weights) for _ in own]
        flat = np.array([weight for own in weights for weight in own])
        found = quotas(np.array(sizes), np.array(pairs), flat).tolist()
        assert found == [one for size, own in zip(sizes, weights, strict=True) for one in shared(size, own)]


@every("recoding", ["suppression", "generalization"])
@every("algorithm", ["tp", "hilbert", "mondrian", "cluster", "full-domain"], drawn=True)
def test_rows_get_the_forms_of_their_class_or_the_best_that_covers_them(algorithm: str, recoding: Any) -> None:
    first = shoal.anonymize(people(), privacy=shoal.KAnonymity(3), algorithm=algorithm, recoding=recoding, **REQUEST)
    plan, known = first.plan, defaultdict(Counter)
    numbered = people().with_row_index()
    for form, row in zip(first.data.select(pl.col(QI).cast(pl.String)).rows(), first.rows.tolist(), strict=True):
        known[numbered.row(row)[1:3]][form] += 1
    assert plan.values.height == len(known)
    assert sum(plan.rows.tolist()) == 80
    forms = plan.cells.cast(pl.String).rows()
    assert forms_of(first) == Counter(dict(zip(forms, plan.rows.tolist(), strict=True)))
    table = people(200, seed=11, towns="abcd").with_columns(pl.col("age") + (pl.col("age") == 24))
    second = shoal.apply(plan, table, misfits="suppress", privacy=shoal.KAnonymity(1))
    got: dict[Row, Counter[Row]] = defaultdict(Counter)
    for form, row in zip(second.data.select(pl.col(QI).cast(pl.String)).rows(), second.rows.tolist(), strict=True):
        got[table.row(row)[:2]][form] += 1
    domain = {name: table[name].unique().to_list() for name in QI}
    strangers = stars = 0
    for values, dealt in got.items():
        size = sum(dealt.values())
        if values in known:
            own = [form for form in forms if form in known[values]]
            expected = shared(size, [known[values][form] for form in own])
            assert dealt == Counter({form: many for form, many in zip(own, expected, strict=True) if many})
            continue
        strangers += size
        able = [form for form in forms if all(map(covers, form, values))]
        if not able:
            assert set(dealt) == {("*", "*")}
            stars += size
            continue
        (chosen,) = dealt

        def says(form: Row) -> tuple[int, float]:
            reach = [sum(covers(cell, value) for value in domain[name]) for name, cell in zip(QI, form, strict=True)]
            return sum(cell == "*" for cell in form), round(float(np.log(reach).sum()), 9)

        assert says(chosen) == min(map(says, able))
    assert strangers > 0
    assert second.certificate.details == {"rows_of_unknown_classes": strangers, "rows_that_became_stars": stars}


SLOW = ("exact", "milp", "patterns", "patterns-optimal")


@every("recoding", ["suppression", "generalization"])
@every("algorithm", [name for name in ALGORITHMS if name not in SLOW], drawn=True)
def test_the_plan_of_a_table_gives_its_release_again(algorithm: str, recoding: Any) -> None:
    k = 2 if algorithm == "matching" else 3
    table = people(60).drop("disease")
    asked: dict[str, Any] = {"quasi_identifiers": QI, "privacy": shoal.KAnonymity(k), "seed": 1}
    try:
        first = shoal.anonymize(table, algorithm=algorithm, recoding=recoding, **asked)
    except shoal.errors.UnsupportedError:
        pytest.skip(f"{algorithm} does not serve this request")
    again = shoal.apply(first.plan, table)
    assert again.data.equals(first.data), "cells, types and order"
    assert again.public_certificate.to_json() == first.public_certificate.to_json()
    assert again.metrics.gcp == pytest.approx(first.metrics.gcp)
    assert again.metrics.stars == first.metrics.stars
    assert again.certificate.cost.bound == first.certificate.cost.bound


DATES = [f"{day:02}.0{month}.19{year}" for day in (3, 17) for month in (2, 8) for year in (71, 83)]
TREE = shoal.Hierarchy.from_rows([("a", "A", "*"), ("b", "A", "*"), ("c", "C", "*"), ("d", "C", "*")])
COARSENINGS: dict[str, tuple[Any, list[Any]]] = {
    "bins": (shoal.Bins(5), [20, 23, 26, 31, 32]),
    "quantiles": (shoal.Bins(quantiles=2), [20, 23, 26, 31, 32]),
    "rounded": (shoal.Round(10), [20, 23, 26, 31, 32]),
    "top-coded": (shoal.TopCode(30), [20, 23, 26, 31, 32]),
    "prefixes": (shoal.Prefix(2), ["0211", "0212", "0311", "0312"]),
    "years": (shoal.DatePart("year"), DATES),
    "labels": (shoal.grouping.Labels(k=2), list("abcde")),
    "levels": (
        shoal.Level(shoal.Hierarchy.from_rows([(v, (v in "ab" and "A") or "C", "*") for v in "abcd"]), 1),
        list("abcd"),
    ),
    "one value": (None, [20, 23, 26, 31, 32]),
    "dates": (None, DATES),
    "decimals": (None, ["1,5", "2,25", "3,75"]),
}


@every("recoding", ["suppression", "generalization"])
@every("name", COARSENINGS, drawn=True)
def test_whatever_was_done_to_a_column_holds_for_the_plan_in_a_file(name: str, recoding: Any, tmp_path: Path) -> None:
    coarsening, values = COARSENINGS[name]
    rng = random.Random(7)
    table = pl.DataFrame(
        {"q": rng.choices(values, k=60), "r": rng.choices("xy", k=60), "s": rng.choices("uvw", k=60)}, strict=False
    )
    coarsen = {} if coarsening is None else {"q": coarsening}
    first = shoal.anonymize(
        table, quasi_identifiers=["q", "r"], sensitive="s", privacy=shoal.KAnonymity(4), coarsen=coarsen,
        recoding=recoding, algorithm="mondrian", seed=1,
    )  # fmt: skip
    first.save(tmp_path / "out")
    file = tmp_path / "out.private" / "plan.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert next(iter(json.loads(file.read_text()))) == "private"
    again = shoal.apply(file, table[::-1])
    assert again.data.drop("s").equals(first.data.drop("s"))
    assert again.public_certificate.to_dict()["parameters"] == first.public_certificate.to_dict()["parameters"]
    assert shoal.results.ReleasePlan.load(file).to_dict() == first.plan.to_dict()
    again.save(tmp_path / "again")  # and it reads back


def test_hierarchies_hold_and_new_leaves_are_covered(tmp_path: Path) -> None:
    tree = shoal.Hierarchy.from_rows(
        [("a", "vowel", "*"), ("e", "vowel", "*"), ("b", "other", "*"), ("c", "other", "*")]
    )
    table = pl.DataFrame({"q": list("aaebbbbb"), "s": list("uvuvuvuv")})
    first = shoal.anonymize(
        table, quasi_identifiers=["q"], sensitive="s", privacy=shoal.KAnonymity(3), recoding="generalization",
        hierarchies={"q": tree}, algorithm="mondrian",
    )  # fmt: skip
    assert set(first.data["q"]) == {"vowel", "b"}
    first.plan.save(tmp_path / "plan.json")
    second = shoal.apply(tmp_path / "plan.json", pl.DataFrame({"q": list("eeeebbb"), "s": list("uvuvuvu")}))
    assert Counter(second.data["q"]) == {"vowel": 4, "b": 3}
    with pytest.raises(InfeasibleError, match="1 of 7 rows fit no published form"):
        shoal.apply(first.plan, pl.DataFrame({"q": list("ceeebbb"), "s": list("uvuvuvu")}))


def test_a_plan_that_does_not_hold_is_refused_without_a_cell() -> None:
    first = shoal.anonymize(people(), privacy=shoal.KAnonymity(3), recoding="suppression", **REQUEST)
    for table, said in (
        (people(60, seed=9, towns="xyz"), "56 of 60 rows fit no published form of the plan"),
        (people(12, seed=9), "of 12 rows are in groups that do not satisfy the models. The table fails k-anonymity"),
    ):
        with pytest.raises(InfeasibleError) as raised:
            shoal.apply(first.plan, table)
        assert said in str(raised.value)
        assert "misfits='suppress'" in str(raised.value)
        assert SECRET not in str(raised.value)
    with pytest.raises(InfeasibleError, match="even with all rows suppressed"):
        shoal.apply(first.plan, people(12, seed=9), misfits="suppress", privacy=shoal.models.MUniqueness(2))
    with pytest.raises(InfeasibleError, match="k can be at most 2"):
        shoal.apply(first.plan, people(2))


@pytest.mark.drawn
@every("seed", range(12))
@every("model", [shoal.KAnonymity(4), shoal.LDiversity(2), shoal.TCloseness(0.4)])
def test_what_is_suppressed_has_company(seed: int, model: Any) -> None:
    first = shoal.anonymize(people(80, seed), privacy=model, **REQUEST)
    table = people(60, seed + 100, towns="abcd")
    second = shoal.apply(first.plan, table, misfits="suppress", seed=seed)
    audit = shoal.audit(second.data, quasi_identifiers=QI, sensitive="disease", privacy=model)
    assert audit.violations == ()
    assert set(forms_of(second)) <= set(forms_of(first)) | {("*", "*")}
    assert sorted(second.rows.tolist()) == list(range(60))
    starred = forms_of(second)[("*", "*")]
    assert starred >= second.certificate.details["rows_that_became_stars"] > 0


def test_what_is_public_is_told_by_the_plan_and_the_published_table() -> None:
    """Originals with the same published table have the same public files, the same types and the same order."""
    base = pl.DataFrame({"q": [1, 2, 3, 4, 11, 12, 13], "r": list("aabbaab"), "s": list("xyxyxyx")})
    texts: dict[tuple[Row, ...], set[str]] = defaultdict(set)
    originals: dict[tuple[Row, ...], set[str]] = defaultdict(set)
    for recoding in ("suppression", "generalization"):
        plan = shoal.anonymize(
            base, quasi_identifiers=["q", "r"], sensitive="s", privacy=shoal.KAnonymity(2), recoding=recoding,
            algorithm="mondrian", seed=0,
        ).plan  # fmt: skip
        for ages in some(list(itertools.product((1, 3, 12), repeat=3))):
            table = pl.DataFrame({"q": [1, *ages], "r": list("aabb"), "s": list("xyxy")})
            try:
                release = shoal.apply(plan, table, misfits="suppress", seed=0)
            except InfeasibleError:
                continue
            parquet = io.BytesIO()
            release.published.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)).write_parquet(parquet)
            certificate = release.public_certificate
            page = render_public(public_facts(certificate.to_dict(), release.frame))
            key = (recoding, *sorted(map(str, release.data.rows())))
            texts[key].add(certificate.to_json() + page + release._repr_html_() + parquet.getvalue().hex())
            originals[key].add(str(table.rows()))
    assert all(len(found) == 1 for found in texts.values())
    assert sum(len(found) for found in originals.values() if len(found) > 1) > 15 or not THOROUGH


def test_models_come_from_the_file_or_are_named_again(tmp_path: Path) -> None:
    table = people().with_columns(disease=pl.col("age") % 5)
    whole = [shoal.KAnonymity(3), shoal.LDiversity(2, variant="entropy"), shoal.TCloseness(1)]
    partly = [shoal.TCloseness(1, distance=shoal.models.OrderedDistance(order=list("01234")))]
    for models, kept in ((whole, True), (partly, False)):
        plan = shoal.anonymize(table, privacy=models, algorithm="mondrian", **REQUEST).plan
        plan.save(tmp_path / f"{kept}.json")
        read = shoal.results.ReleasePlan.load(tmp_path / f"{kept}.json")
        assert (read.privacy is not None) == kept
        assert shoal.apply(plan, table, seed=1, misfits="suppress").certificate.requested == list(plan.requested)
    assert shoal.results.ReleasePlan.load(tmp_path / "True.json").privacy == tuple(whole)
    with pytest.raises(UsageError, match="Name the models again: the 'privacy' parameter"):
        shoal.apply(tmp_path / "False.json", table)
    with pytest.raises(OutputError, match="exists already"):
        plan.save(tmp_path / "True.json")


def test_files_that_are_no_plans(tmp_path: Path) -> None:
    plan = shoal.anonymize(people(), privacy=shoal.KAnonymity(3), **REQUEST).plan
    good = plan.to_dict()
    bad: list[Any] = [[], {}, {**good, "format": 2}, {**good, "requested": [{"model": "hope"}], "columns": {}}]
    bad += [{**good, "forms": {**good["forms"], "rows": [1]}}, {**good, "parameters": {}}]
    bad += [{**good, "pairs": {**good["pairs"], "form": [9999] * len(good["pairs"]["form"])}}]
    bad += [{name: value for name, value in good.items() if name != missing} for missing in ("meanings", "classes")]
    for at, facts in enumerate(bad):
        path = tmp_path / f"{at}.json"
        path.write_text(json.dumps(facts))
        with pytest.raises(DataError, match="not a plan"):
            shoal.results.ReleasePlan.load(path)
    (tmp_path / "text.json").write_text("{")
    for name in ("text.json", "nowhere.json"):
        with pytest.raises(DataError, match="cannot be read"):
            shoal.apply(tmp_path / name, people())


def test_wrong_calls() -> None:
    first = shoal.anonymize(
        people().with_columns(name=pl.lit(SECRET)), direct_identifiers=["name"], privacy=shoal.KAnonymity(3), **REQUEST
    )
    shoal.apply(first.plan, people())  # direct identifiers may be missing
    with pytest.raises(ColumnError, match="no column 'town'"):
        shoal.apply(first.plan, people().drop("town"))
    with pytest.raises(ColumnError, match="has no role: 'more'"):
        shoal.apply(first.plan, people().with_columns(more=pl.lit(1)))
    with pytest.raises(ParameterError, match="The 'misfits' parameter of apply"):
        shoal.apply(first.plan, people(), misfits="drop")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="a plan, or the path of its file"):
        shoal.apply(first, people())  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="models that need a population"):
        shoal.apply(first.plan, people(), privacy=shoal.KMap(3, population=people()))
    with pytest.raises(shoal.errors.NotPicklableError):
        pickle.dumps(first.plan)
    assert repr(first.plan) == f"ReleasePlan(classes={first.plan.values.height}, forms={len(first.plan.rows)})"
    assert SECRET not in " ".join(first.plan.sentences()) + repr(first.plan)
    assert first.plan.to_frame()["rows"].to_list() == sorted(first.plan.rows.tolist(), reverse=True)


def test_missing_values_and_pandas() -> None:
    table = people().with_columns(town=pl.when(pl.col("age") < 23).then(pl.col("town")))
    first = shoal.anonymize(table.to_pandas(), privacy=shoal.KAnonymity(3), **REQUEST)
    again = shoal.apply(first.plan, table.to_pandas())
    assert again.data[QI].equals(first.data[QI])
    assert again.data["town"].isna().any()


def test_values_that_readers_cannot_tell_apart_are_refused_as_elsewhere() -> None:
    plan = shoal.anonymize(people(), privacy=shoal.KAnonymity(4), **REQUEST).plan
    twins = people().with_columns(disease=pl.Series(["\u00e9", "e\u0301"] * 40))
    with pytest.raises(DataError, match="read like another one"):
        shoal.apply(plan, twins)


@pytest.mark.drawn
@pytest.mark.parametrize("form", [str, lambda day: f"{day:%d.%m.%Y}", lambda day: day])
def test_dates_that_a_hierarchy_keeps_are_dates_again(form: Any, tmp_path: Path) -> None:
    days = [form(dt.date(2056, 9, 6))] * 4 + [form(dt.date(2065, 2, 28))] * 4
    table = pl.DataFrame({"day": [*days, None, None], "sex": list("xxyyxxyyxx")})
    for algorithm in ("full-domain", "tds"):
        asked: dict[str, Any] = {"algorithm": algorithm, "recoding": "generalization", "keep_order": True}
        release = shoal.anonymize(table, quasi_identifiers=["day", "sex"], k=2, **asked)
        release.plan.save(tmp_path / f"{algorithm}.json")
        again = shoal.apply(tmp_path / f"{algorithm}.json", table, keep_order=True)
        assert again.data.equals(release.data)
        assert "*" not in again.data["day"].cast(pl.String).to_list()


def test_a_plan_groups_rows_by_their_forms() -> None:
    from shoal.algorithms.base import Problem
    from shoal.models.requirement import Requirement
    from shoal.table import Schema, encode
    from shoal.verbs.apply.apply_plan import PlannedForms

    release = shoal.anonymize(people(), privacy=shoal.KAnonymity(4), **REQUEST)
    schema = Schema(quasi_identifiers=tuple(QI), sensitive=("disease",))
    table = encode(people(), schema)
    asked = Requirement.of(shoal.KAnonymity(4), ("disease",))
    found = PlannedForms(release.plan).partition(Problem(table=table, requirement=asked, rng=np.random.default_rng(1)))
    found.check(table)
    assert np.bincount(found.groups).tolist() == release.plan.rows.tolist()
    assert found.facts == {"rows_of_unknown_classes": 0, "rows_that_became_stars": 0}


def test_a_plan_keeps_the_records_that_its_release_kept(tmp_path: Path) -> None:
    visits = pl.DataFrame(
        [
            {
                "who": person,
                "age": 30 + person % 3,
                "day": f"2020-0{1 + visit}-{10 + person % 18}",
                "disease": "uvwx"[visit],
            }
            for person in range(30)
            for visit in range(person % 3, person % 3 + 2)
        ]
    ).sample(fraction=1, shuffle=True, seed=2)
    first = visits.group_by("who").agg(pl.col("day").min(), last=pl.col("day").max())
    for kept, column in (("first", "day"), ("last", "last")):
        made = shoal.anonymize(
            visits, quasi_identifiers=["age"], sensitive="disease", insensitive=["day"], person="who", k=2, seed=1,
            rows_per_person=1, kept_rows=kept, order="day",
        )  # fmt: skip
        made.save(tmp_path / kept)
        for plan in (made.plan, tmp_path / f"{kept}.private" / "plan.json"):
            days = shoal.apply(plan, visits).data["day"]
            assert sorted(days) == sorted(first[column]), kept
    older = json.loads((tmp_path / "first.private" / "plan.json").read_text())
    older["parameters"].pop("order")
    (tmp_path / "older.json").write_text(json.dumps(older))
    with pytest.raises(UsageError, match="of an older version"):
        shoal.apply(tmp_path / "older.json", visits)


def test_a_release_of_a_plan_counts_what_its_release_counted() -> None:
    table = people(160).with_columns(who=pl.int_range(160) // 2, home=pl.int_range(160) // 4)
    for counted in (
        {"person": "who"},
        {"units": ["home"]},
        {"person": "who", "units": ["home"]},
        {"person": "who", "units": ["home"], "rows_per_person": 1},
    ):
        unread = {"who", "home"} - {counted.get("person"), *counted.get("units", ())}
        made = shoal.anonymize(
            table, quasi_identifiers=QI, sensitive="disease", direct_identifiers=sorted(unread), k=2, seed=1, **counted
        )
        applied = shoal.apply(made.plan, table, misfits="suppress", seed=1)
        assert applied.certificate.requested == made.certificate.requested, counted


def test_a_plan_of_lists_is_refused_for_its_lists() -> None:
    table = people().with_columns(disease=pl.col("disease") + "; y")
    made = shoal.anonymize(
        table, quasi_identifiers=QI, sensitive="disease", lists={"disease": "; "}, k=2, recoding="generalization",
        algorithm="full-domain",
    )  # fmt: skip
    with pytest.raises(shoal.errors.UnsupportedError, match="does not go together with lists of values"):
        shoal.apply(made.plan, table)
