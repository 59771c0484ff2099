"""What an adversary, or a bug, would look for: traces of the input's order, of rows, of who has which value, and ways
around the verification. Releases are judged here by plain Python alone.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import logging
import struct
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
import shoal.pipeline.recode
import shoal.pipeline.recoded
from shoal._core.facts import Fact
from shoal.algorithms.base import Algorithm, Guarantee, Partition
from shoal.errors import InternalError, ReleaseUnsafeError, ShoalError, UnsupportedError
from shoal.io import write_table
from tests.every import every
from tests.oracles.oracles import optimal_partition, predicate_of
from tests.oracles.strategies import CodeTable, code_tables, requirements

SECRET = "Zyzzyva"
ALGORITHMS: dict[str, Any] = {
    **{name: name for name in ("tp", "tp+", "hilbert", "mondrian", "mondrian-relaxed", "m-approximation", "tds")},
    "tp+ with hilbert": shoal.algorithms.ThreePhase(refine="hilbert"),
}
QI = ["age", "zip"]


def table(rows: int = 200) -> pl.DataFrame:
    rng = np.random.default_rng(11)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 30, rows),
            "zip": rng.choice(["01001", "01002", "94107"], rows),
            "disease": rng.choice([f"{SECRET} {value}" for value in "abcdef"], rows),
            "region": rng.choice(list("nesw"), rows),
            "visit": np.arange(rows),
        }
    )


class TestOrder:
    """Nobody can tell from a release in which order the rows came, unless that was asked for."""

    @every("algorithm", ALGORITHMS, drawn=True)
    @every("recoding", ["suppression", "generalization"])
    @every("more", ["nothing", "a sensitive attribute", "an insensitive one"])
    @every("model", [shoal.KAnonymity(7), shoal.LDiversity(3), shoal.LDiversity(2, variant="entropy")])
    def test_the_published_file_is_the_same(
        self, tmp_path: Path, algorithm: str, recoding: Any, more: str, model: Any
    ) -> None:
        request: dict[str, Any] = {"quasi_identifiers": QI, "privacy": model, "recoding": recoding}
        request["sensitive"] = ["disease", "region"] if more == "a sensitive attribute" else ["disease"]
        request["insensitive"] = ["visit"] if more == "an insensitive one" else []
        # Chance decides between rows that an algorithm takes for equal, and readers do not: here always the same.
        request["seed"] = None if more == "nothing" else 5
        data = table().select(*QI, *request["sensitive"], *request["insensitive"])
        files = set()
        for rows in (np.arange(200), np.arange(200)[::-1], np.random.default_rng(0).permutation(200)):
            try:
                made = shoal.anonymize(data[rows], **request, algorithm=ALGORITHMS[algorithm])
            except UnsupportedError:
                return
            write_table(made.frame, tmp_path / "release.csv")
            files.add((tmp_path / "release.csv").read_bytes())
        assert len(files) == 1

    def test_categories_come_in_no_order_of_appearance(self) -> None:
        data = table().with_columns(pl.col("zip", "region").cast(pl.Categorical))
        request: dict[str, Any] = {
            "quasi_identifiers": QI,
            "sensitive": "disease",
            "insensitive": ["region"],
            "seed": 1,
        }
        made = [
            shoal.anonymize(frame.drop("visit"), **request, privacy=shoal.LDiversity(2)).data.write_csv()
            for frame in (data, data.reverse())
        ]
        assert made[0] == made[1]

    def test_the_audit_is_the_same(self) -> None:
        data = table()
        audits = [
            shoal.audit(data[rows], quasi_identifiers=QI, sensitive=["disease", "region"], privacy=shoal.LDiversity(2))
            for rows in (np.arange(200), np.arange(200)[::-1], np.random.default_rng(0).permutation(200))
        ]
        assert audits[0] == audits[1] == audits[2]

    def test_which_of_the_equal_rows_gets_a_star_is_chance(self) -> None:
        """Six rows are alike in every column that is grouped by; four must leave their group, and any of them may."""
        data = pl.DataFrame({"q": [1] * 8 + [2] * 4, "s": [0] * 6 + [1] * 2 + [2, 3] * 2, "visit": range(12)})
        request: dict[str, Any] = {"quasi_identifiers": ["q"], "sensitive": "s", "insensitive": ["visit"]}
        starred: Counter[int] = Counter()
        for seed in range(20):
            made = shoal.anonymize(data, **request, privacy=shoal.LDiversity(2), algorithm="tp", seed=seed)
            starred.update(made.data.filter((pl.col("q") == "*") & (pl.col("s") == 0))["visit"].to_list())
        assert set(starred) == set(range(6))


class TestTheCertificate:
    def test_its_hash_confirms_no_guess(self) -> None:
        """Whoever knows the register must not be able to try all assignments of the values of a group, and find one."""
        data = pl.DataFrame({"age": [21, 22, 23, 24], "disease": ["a", "b", "c", "d"]})
        request: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": "disease", "privacy": shoal.LDiversity(4)}
        made = shoal.anonymize(data, **request)
        assert made.data["age"].unique().to_list() == ["*"]
        assert made.certificate.input["sha256"] not in made.public_certificate.to_json()
        # Not even the publisher's certificate does, without the salt: the same table has another hash each time.
        again = shoal.anonymize(data, **request)
        assert made.certificate.input["sha256"] != again.certificate.input["sha256"]
        assert made.salt not in made.certificate.to_json() + repr(made)
        confirmed = [
            values
            for values in itertools.permutations("abcd")
            if shoal.provenance(
                data.with_columns(disease=pl.Series(values)), made.certificate.to_dict(), salt=made.salt
            )
        ]
        assert confirmed == [("a", "b", "c", "d")], "with the salt, it is the rows that are shown"

    @pytest.mark.drawn
    @pytest.mark.parametrize("sensitive", [["disease"], ["disease", "zip"]])
    @pytest.mark.parametrize("insensitive", [[], ["region"]])
    def test_its_hash_is_that_of_the_rows(self, sensitive: list[str], insensitive: list[str]) -> None:
        names = [name for name in ("age", "zip", "region") if name not in (*sensitive, *insensitive)]
        request: dict[str, Any] = {"sensitive": sensitive, "insensitive": insensitive, "direct_identifiers": ["visit"]}
        request |= {"coarsen": {"age": shoal.Bins(10)}, "privacy": shoal.LDiversity(2)}
        data = table()
        made = shoal.anonymize(data, quasi_identifiers=names, **request)

        def shown(guess: Any) -> bool:
            return shoal.provenance(guess, made.certificate.to_dict(), salt=made.salt)

        same = [data, data.reverse(), data.to_pandas(), data.to_arrow(), data.with_columns(visit=0), data.drop("visit")]
        assert all(map(shown, same))
        for column, value in (("age", 99), ("zip", "1001"), ("disease", "g"), ("region", "x"), ("region", None)):
            changed = pl.when(pl.int_range(pl.len()) == 3).then(pl.lit(value)).otherwise(column).alias(column)
            assert not shown(data.with_columns(changed))
        swapped = data["disease"].gather([1, 0, *range(2, 200)])
        assert data["disease"][0] != data["disease"][1]
        assert not shown(data.with_columns(disease=swapped)), "columns alone are the same"
        assert not shown(data[1:])
        assert not shown(pl.concat([data, data[:1]]))

    def test_its_hash_counts_rows_that_are_left_out(self) -> None:
        data = table().with_columns(disease=pl.when(pl.col("visit") > 3).then("disease")).drop("visit", "region")
        request: dict[str, Any] = {"quasi_identifiers": QI, "sensitive": "disease", "privacy": shoal.LDiversity(2)}
        made = shoal.anonymize(data, **request, missing_sensitive="drop")
        assert made.certificate.input["rows_left_out"] == 4
        assert shoal.provenance(data, made.certificate.to_dict(), salt=made.salt)
        assert not shoal.provenance(data[1:], made.certificate.to_dict(), salt=made.salt)

    def test_its_hash_is_made_as_it_says(self) -> None:
        """The documented form, put together by hand."""
        data = pl.DataFrame({"age": [30, 7, 30, 7, 7], "ill": ["b", "a", "b", "b", None]})
        request: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": "ill", "missing_sensitive": "value"}
        made = shoal.anonymize(data, **request, privacy=shoal.KAnonymity(2))
        form = b"quasi-identifier\0age\x002\0" + struct.pack("<qq", 1, 2) + b"730"
        form += b"sensitive\0ill\x003\0" + struct.pack("<qqq", 1, 1, -1) + b"ab"
        form += b"cells\x004\0" + struct.pack("<iiii", 1, 1, 1, 2) + bytes([0, 0, 0, 1]) + bytes([0, 1, 2, 1])
        expected = hmac.new(bytes.fromhex(made.salt), form, hashlib.sha256).hexdigest()
        assert made.certificate.input["sha256"] == expected

    def test_no_cell_is_in_what_goes_with_a_release(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        data = table().with_columns(
            (pl.lit(f"{SECRET} ") + pl.col(name).cast(pl.String)).alias(name)
            for name in ("age", "zip", "region", "visit")
        )
        data.write_csv(tmp_path / "in.csv", separator=";")
        request: dict[str, Any] = {"sensitive": "disease", "insensitive": ["region"], "direct_identifiers": ["visit"]}
        for recoding in ("suppression", "generalization"):
            with caplog.at_level(logging.DEBUG):
                made = shoal.anonymize(
                    tmp_path / "in.csv", quasi_identifiers=QI, **request, privacy=shoal.LDiversity(3), recoding=recoding
                )
                made.save(tmp_path / "out", force=True, publish_proof=recoding == "suppression")
            assert SECRET not in caplog.text
            written = [*(tmp_path / "out").iterdir(), *(tmp_path / "out.private").iterdir()]
            assert len(written) == 9
            named = {path.relative_to(tmp_path).as_posix() for path in written if SECRET in path.read_text()}
            told = {"out/release.csv", "out.private/plan.json", "out.private/report.html", "out.private/report.json"}
            assert named <= told, "the plan has classes, and the publisher's page values that the release shows"
            for name in ("plan.json", "report.html", "report.json"):
                text = (tmp_path / "out.private" / name).read_text()
                assert not any(visit in text for visit in data["visit"] if len(visit) == len(SECRET) + 4), (
                    "no direct identifier is anywhere"
                )
            objects = [
                made,
                made.certificate,
                made.public_certificate,
                made.restore,
                made.metrics,
                made.metrics.table,
                made.metrics.recoding,
                made.schema,
            ]
            objects += [*made.metrics.table.quasi_identifiers, *made.metrics.recoding.columns, made.requirement]
            objects += [made.metrics.table.classes, made.metrics.recoding.classes, made.metrics.divergence]
            objects += [shoal.audit(made.data, quasi_identifiers=QI, sensitive="disease")]
            assert not any(SECRET in repr(one) for one in objects)
            assert "visit" not in made.data.columns


def groups_of(made: shoal.Release, quasi_identifiers: list[str]) -> list[list[int]]:
    """Return the original row numbers of every published group, found from the published text."""
    groups: dict[tuple[str | None, ...], list[int]] = defaultdict(list)
    cells = made.data.select(quasi_identifiers).rows() if quasi_identifiers else [()] * made.data.height
    for row, published in zip(made.rows.tolist(), cells, strict=True):
        groups[tuple(None if cell is None else str(cell) for cell in published)].append(row)
    return list(groups.values())


def check_achieved(achieved: dict[str, Any], groups: list[list[int]], sensitive: list[list[int]]) -> None:
    """Check that what was measured is true, and rounded against the publisher by less than the last digit."""
    last = Fraction(1, 10_000)
    counts = [[Counter(values[row] for row in group) for group in groups] for values in sensitive]
    alpha = max(Fraction(max(one.values()), one.total()) for attribute in counts for one in attribute)
    assert achieved["k"] == min(map(len, groups))
    assert achieved["groups"] == len(groups)
    assert alpha <= Fraction(str(achieved["alpha"])) < alpha + last
    assert 1 / alpha - last < Fraction(str(achieved["l"]["frequency"])) <= 1 / alpha
    assert achieved["l"]["distinct"] == min(len(one) for attribute in counts for one in attribute)
    entropy = min(
        sum(-count / one.total() * np.log(count / one.total()) for count in one.values())
        for attribute in counts
        for one in attribute
    )
    assert np.exp(entropy) - 1.001e-4 < achieved["l"]["entropy"] <= np.exp(entropy) + 1e-9
    for number, attribute in enumerate(counts):
        whole = sum(attribute, Counter())
        distance = max(
            sum(
                abs(Fraction(one[value], one.total()) - Fraction(count, whole.total()))
                for value, count in whole.items()
            )
            / 2
            for one in attribute
        )
        assert distance <= Fraction(str(achieved["t"][f"s{number}"])) < distance + last


def stands_for(cell: str, value: int) -> bool:
    """Return whether a cell is a value, an interval around it, a bin of an automatic hierarchy, or a star."""
    if cell.startswith(("<", ">=")):
        return value < int(cell[1:]) if cell[0] == "<" else value >= int(cell[2:])
    if cell.startswith("["):
        low, high = map(int, cell[1:-1].split(", "))
        return low <= value < high + cell.endswith("]")
    return cell in (str(value), "*")


class TestEveryRelease:
    @settings(max_examples=30, deadline=None)
    @given(data=st.data(), codes=code_tables(max_rows=7, max_columns=3), second=st.booleans(), keep_order=st.booleans())
    def test_is_what_its_certificate_says(
        self, data: st.DataObject, codes: CodeTable, second: bool, keep_order: bool
    ) -> None:
        models = data.draw(requirements(codes))
        n = len(codes.values)
        sensitive = [codes.values, data.draw(st.permutations(codes.values))][: 1 + second]
        predicates = [(values, predicate_of(model, values)) for values in sensitive for model in models]
        names = [f"q{number}" for number in range(codes.quasi_identifiers.shape[1])]
        frame = pl.DataFrame(
            {name: [row[at] for row in codes.rows] for at, name in enumerate(names)}
            | {f"s{number}": values for number, values in enumerate(sensitive)}
        )

        def acceptable(group: list[int]) -> bool:
            return all(predicate([values[row] for row in group]) for values, predicate in predicates)

        optimum = {
            cost: optimal_partition(codes.rows, range(n), acceptable, cost)[0]  # type: ignore[index]
            for cost in ("stars", "tuples")
        }
        for algorithm, recoding in itertools.product(ALGORITHMS.values(), ("suppression", "generalization")):
            request: dict[str, Any] = {"algorithm": algorithm, "recoding": recoding, "keep_order": keep_order}
            try:
                made = shoal.anonymize(
                    frame,
                    quasi_identifiers=names,
                    sensitive=[f"s{i}" for i in range(1 + second)],
                    privacy=models,
                    **request,
                )
            except UnsupportedError:
                continue
            groups = groups_of(made, names)
            assert sorted(itertools.chain(*groups)) == list(range(n))
            assert all(map(acceptable, groups))
            check_achieved(made.certificate.achieved, groups, sensitive)
            assert made.data.select(frame.columns[len(names) :]).rows() == [
                tuple(values[row] for values in sensitive) for row in made.rows
            ]
            self._check_cost(made, frame.select(names), optimum)

    @staticmethod
    def _check_cost(made: shoal.Release, original: pl.DataFrame, optimum: dict[str, int]) -> None:
        cells, rows = 0, 0
        for row, published in zip(made.rows, made.data.select(original.columns).rows(), strict=True):
            recoded = 0
            for cell, value in zip(published, original.row(int(row)), strict=True):
                recoded += str(cell) != str(value)
                assert stands_for(str(cell), value)
            cells, rows = cells + recoded, rows + (recoded > 0)
        said = made.certificate.to_dict()
        cost, bound, promised = said["cost"], said["cost"]["lower_bound"], said["guarantee"]
        assert (cost["recoded_cells"], cost["recoded_tuples"]) == (cells, rows)
        assert bound["stars"] <= bound["recoded_cells"] <= optimum["stars"] <= cells
        assert bound["suppressed_tuples"] <= bound["recoded_tuples"] <= optimum["tuples"] <= rows
        assert cost["optimal"] <= (cells == optimum["stars"])
        if promised["recoded_cells_ratio"] is not None:
            assert cells <= Fraction(str(promised["recoded_cells_ratio"])) * optimum["stars"]
        if promised["recoded_tuples_ratio"] is not None:
            assert rows <= Fraction(str(promised["recoded_tuples_ratio"])) * optimum["tuples"]

    @every(
        "models",
        [
            [shoal.LDiversity(3)],
            [shoal.LDiversity(2), shoal.KAnonymity(12)],
            [shoal.AlphaKAnonymity(0.4, 5), shoal.LDiversity(3, variant="distinct")],
            [shoal.LDiversity(2.5, variant="entropy"), shoal.BetaLikeness(3, variant="enhanced")],
            [shoal.LDiversity(3, variant="recursive", c=1.5)],
            [shoal.models.DeltaDisclosure(2)],
        ],
        drawn=True,
    )
    @every("several", [False, True])
    def test_satisfies_every_model_for_every_attribute(self, models: list[Any], several: bool) -> None:
        data, names = table(600), ["disease", "region"][: 1 + several]
        predicates = [(data[name], predicate_of(model, data[name].to_list())) for name in names for model in models]
        lowest, bounds = [], []
        for algorithm, recoding in itertools.product(ALGORITHMS.values(), ("suppression", "generalization")):
            try:
                made = shoal.anonymize(
                    data.select(*QI, *names),
                    quasi_identifiers=QI,
                    sensitive=names,
                    privacy=models,
                    algorithm=algorithm,
                    recoding=recoding,
                )
            except UnsupportedError:
                continue
            for group in groups_of(made, QI):
                assert all(predicate([values[row] for row in group]) for values, predicate in predicates)
            lowest.append(made.certificate.cost.recoded_cells)
            bounds.append(made.certificate.to_dict()["cost"]["lower_bound"]["recoded_cells"])
        assert len(lowest) >= 6
        assert max(bounds) <= min(lowest)


class _Careless(Algorithm):
    """An algorithm of the caller's own that returns whatever it was told to."""

    name = "careless"

    def __init__(self, groups: Any, count: int) -> None:
        self.groups, self.count = groups, count

    def group_rows(self, _: Any) -> Any:
        return Partition(groups=self.groups, count=self.count, guarantee=Guarantee(promise=Fact("nothing_proven")))


class TestTheLastDoor:
    """Whatever goes wrong before it, a release that violates its request does not come out."""

    REQUEST: dict[str, Any] = {  # noqa: RUF012
        "quasi_identifiers": QI,
        "sensitive": "disease",
        "direct_identifiers": ["region", "visit"],
        "privacy": [shoal.LDiversity(2), shoal.KAnonymity(4)],
    }

    @every(
        ("groups", "count"),
        [
            (np.full(200, -1, dtype=np.int32), 1),
            (np.full(200, 2**31 - 1, dtype=np.int32), 1),
            (np.arange(200, dtype=np.int32), 3),
            (np.zeros(199, dtype=np.int32), 1),
            (np.zeros((200, 1), dtype=np.int32), 1),
            (np.zeros(200), 1),
            (np.ones(200, dtype=np.int32), 2),
        ],
    )
    def test_group_numbers_that_are_none(self, groups: Any, count: int) -> None:
        with pytest.raises(InternalError, match="group number"):
            shoal.anonymize(table(), **self.REQUEST, algorithm=_Careless(groups, count))

    def test_groups_that_are_not_acceptable(self) -> None:
        alone = np.arange(200, dtype=np.int32)
        with pytest.raises(ReleaseUnsafeError, match=r"fails l-diversity with .* of 'disease' in \d+ of \d+") as raised:
            shoal.anonymize(table(), **self.REQUEST, algorithm=_Careless(alone, 200))
        assert SECRET not in str(raised.value)

    def test_a_recoding_that_keeps_too_much(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def keep_everything(table: Any, groups: Any, count: int, **options: Any) -> Any:
            return recode(table, table.classes.order * 0 + class_of(table), table.classes.count, **options)

        def class_of(table: Any) -> Any:
            classes = table.classes
            result = np.empty(table.rows, dtype=np.int32)
            result[classes.order] = np.repeat(np.arange(classes.count, dtype=np.int32), classes.class_sizes)
            return result

        def frame(table: Any, recoding: Any, groups: Any, **options: Any) -> Any:
            sizes = np.bincount(class_of(table), minlength=table.classes.count)
            return published(table, replace(recoding, sizes=sizes), class_of(table), **options)

        recode, published = shoal.pipeline.recode.recode, shoal.pipeline.recoded.publish_frame
        monkeypatch.setattr(shoal.pipeline.recode, "recode", keep_everything)
        monkeypatch.setattr(shoal.pipeline.recoded, "publish_frame", frame)
        with pytest.raises(ReleaseUnsafeError, match="Nothing was published"):
            shoal.anonymize(table(), **self.REQUEST)

    @every(
        "change",
        [
            lambda frame: frame.with_columns(row=pl.int_range(pl.len())),
            lambda frame: frame.with_columns(age=pl.int_range(pl.len()).cast(pl.String)),
            lambda frame: frame.drop("disease"),
            lambda frame: frame.select(reversed(frame.columns)),
            lambda frame: frame.with_columns(disease=pl.lit("the same")),
            lambda frame: frame[:0],
            lambda frame: frame[:3],
            lambda frame: frame.filter(pl.col("age").cast(pl.String) != frame["age"].cast(pl.String)[0]),
        ],
    )
    def test_a_published_table_that_is_another(self, monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
        published = shoal.pipeline.recoded.publish_frame

        def tampered(*given: Any, **options: Any) -> Any:
            frame, rows = published(*given, **options)
            return change(frame), rows

        monkeypatch.setattr(shoal.pipeline.recoded, "publish_frame", tampered)
        with pytest.raises(ShoalError) as raised:
            shoal.anonymize(table(), **self.REQUEST)
        assert SECRET not in str(raised.value)
