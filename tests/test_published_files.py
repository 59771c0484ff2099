"""What is published beside a table tells no more than the table: it is the same for every original that gives it.

Small originals are enumerated; those that give the same published table must have the same public files to the byte.
"""

from __future__ import annotations

import datetime as dt
import io
import itertools
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithms.algorithm_list import ALGORITHMS
from shoal.errors import InfeasibleError, UnsupportedError
from shoal.models.requirement import Requirement
from shoal.report import public_facts, render_public
from tests.every import THOROUGH, every, few, some

QI = ["q", "r"]
EDGES = [("a", "b"), ("b", "c"), ("c", "d")]
TREE = shoal.Hierarchy.from_rows([(value, "ab" if value in "ab" else "cd", "*") for value in "abcd"])


def public_text(release: shoal.Release) -> str:
    """Return everything that is published, as it would be written: the binary form of the table, and what is beside.

    What notebooks show of a release is shared with them, and counts.
    """
    certificate = release.public_certificate
    parquet = io.BytesIO()  # as `write_table` does it
    release.published.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)).write_parquet(parquet)
    page = render_public(public_facts(certificate.to_dict(), release.frame))
    shown = release._repr_html_() + certificate._repr_html_()
    for computed in (release.as_bounds(), release.midpoints()):
        shown += f"{computed.schema}\n{computed.write_csv()}"
    return certificate.to_json() + page + shown + parquet.getvalue().hex()


def published(release: shoal.Release) -> str:
    """Return the published table with its types, as its readers see it."""
    return f"{release.data.schema} {release.published.schema}\n{release.data.write_csv()}"


class Enumeration:
    """Releases of many originals, by what is published."""

    def __init__(self) -> None:
        self.texts: dict[str, set[str]] = defaultdict(set)
        self.orders: dict[tuple[Any, ...], set[str]] = defaultdict(set)
        self.originals: dict[str, set[str]] = defaultdict(set)

    def add(self, original: pl.DataFrame, **request: Any) -> None:
        try:
            release = shoal.anonymize(original, sensitive="s", seed=0, **request)
        except InfeasibleError:
            return
        table = published(release)
        self.texts[table].add(public_text(release))
        self.originals[table].add(original.write_csv())
        self.orders[tuple(sorted(map(str, release.data.rows())))].add(table)

    def check(self) -> int:
        """Check that every table has one text; return how many originals share theirs with another one."""
        assert all(len(texts) == 1 for texts in self.texts.values())
        assert all(len(orders) == 1 for orders in self.orders.values()), "not even the order of the rows tells more"
        return sum(len(originals) for originals in self.originals.values() if len(originals) > 1)


def originals(column: Iterable[Any], step: int = 3) -> Iterator[pl.DataFrame]:
    """Yield some tables of four rows, the first of which has the first of three values."""
    values = list(column)
    for others in itertools.islice(itertools.product(values, repeat=3), 0, None, step):
        yield pl.DataFrame({"q": [values[0], *others], "r": list("aabb"), "s": list("xyxy")}, strict=False)


def test_all_tables_of_four_rows() -> None:
    """Every table of four rows with three ages: what suppression and generalization by groups of two publish."""
    shared = 0
    for recoding, algorithm in (("suppression", "tp+"), ("generalization", "mondrian")):
        found = Enumeration()
        for ages in some(list(itertools.product((20, 30, 40), repeat=4))):
            table = pl.DataFrame({"q": ages, "s": ["x", "y", "x", "y"]})
            found.add(
                table, quasi_identifiers=["q"], privacy=shoal.LDiversity(2), recoding=recoding, algorithm=algorithm
            )
        shared += found.check()
    assert shared > (100 if THOROUGH else 1)


@every("ends", [True, False])
@every("algorithm", ["mondrian", "hilbert"], drawn=True)
@every(
    "values",
    [(21, 24, 38), (-3.5, 0.25, 7.0), (dt.date(1987, 3, 12), dt.date(1987, 5, 1), dt.date(1999, 1, 1)), tuple("abc")],
    drawn=True,
)
def test_ends_that_are_exact_or_not(values: tuple[Any, ...], algorithm: str, ends: bool) -> None:
    """Every table of five or six rows with three values: how far an end went out is in the published table alone."""
    found = Enumeration()
    rows = 6 if isinstance(values[0], int | dt.date) else 5
    asked: dict[str, Any] = {"quasi_identifiers": ["q"], "privacy": shoal.KAnonymity(2), "recoding": "generalization"}
    # The same records in any other order are the same table: each is released in two orders.
    several = itertools.combinations_with_replacement
    pairs = itertools.product(several(values, (rows + 1) // 2), several(values, rows // 2))
    for of_x, of_y in some([pair for pair in pairs if pair[0][0] == values[0]]):
        table = pl.DataFrame({"q": [*of_x, *of_y], "s": ["x"] * len(of_x) + ["y"] * len(of_y)})
        found.add(table, algorithm=algorithm, exact_ends=ends, **asked)
        found.add(table.reverse(), algorithm=algorithm, exact_ends=ends, **asked)
    assert found.check() > few(10)


@every("recoding", ["suppression", "generalization"], drawn=True)
@every("algorithm", ALGORITHMS, drawn=True)
def test_every_algorithm(algorithm: str, recoding: Any) -> None:
    privacy: list[Any] = [shoal.LDiversity(2), shoal.KAnonymity(3)]
    if ALGORITHMS[algorithm].unsupported(Requirement.of(privacy, ("s",))) is not None:
        privacy = [shoal.KAnonymity(2)] if algorithm == "matching" else [shoal.KAnonymity(3)]
    found = Enumeration()
    for table in originals((20, 30, 40), step=2 if algorithm == "matching" else 3):
        try:
            found.add(table, quasi_identifiers=QI, privacy=privacy, algorithm=algorithm, recoding=recoding)
        except UnsupportedError:
            return
    assert found.check() > 1


ZIPS = ["10001", "10002", "10444"]
DATES = [dt.date(2020, 1, 1), dt.date(2020, 2, 3), dt.date(2021, 5, 6)]
HARBOR = shoal.safe_harbor(dates="date", births="birth", zips="zip", ages="age", on=dt.date(2024, 1, 1))
COARSENINGS: dict[str, tuple[Any, list[Any]]] = {
    "bins": (shoal.Bins(10), [31, 34, 58]),
    "bins with cuts": (shoal.Bins(cuts=[40]), [31, 34, 58]),
    "bins of quantiles": (shoal.Bins(quantiles=2), [31, 34, 58]),
    "rounded": (shoal.Round(10), [31, 34, 58]),
    "top-coded": (shoal.TopCode(90), [92, 101, 30]),
    "bottom-coded": (shoal.BottomCode(18), [3, 11, 30]),
    "both ends coded": (shoal.TopCode(90, bottom=18), [3, 11, 30, 92, 101]),
    "parts of dates": (shoal.DatePart("quarter"), DATES),
    "prefixes": (shoal.Prefix(3), ZIPS),
    "levels": (shoal.Level(TREE, 1), ["a", "b", "c"]),
    "labels": (shoal.grouping.Labels(k=2), ["a", "b", "c"]),
    "numbered labels": (shoal.grouping.Labels(k=2, labels="numbers"), ["a", "b", "c"]),
    "ordered": (shoal.grouping.Ordered(k=2), [31, 34, 58]),
    "regions": (shoal.grouping.Regions(EDGES, k=2), ["a", "b", "d"]),
    "numbered regions": (shoal.grouping.Regions(EDGES, k=2, labels="numbers"), ["a", "b", "d"]),
    "dates of Safe Harbor": (HARBOR["date"], DATES),
    "births of Safe Harbor": (HARBOR["birth"], [dt.date(1921, 1, 1), dt.date(1930, 1, 1), dt.date(1980, 1, 1)]),
    "ZIP codes of Safe Harbor": (HARBOR["zip"], ZIPS),
    "ages of Safe Harbor": (HARBOR["age"], [92, 101, 30]),
}


@every("recoding", ["suppression", "generalization"], drawn=True)
@every("name", COARSENINGS, drawn=True)
def test_every_coarsening(name: str, recoding: Any) -> None:
    coarsening, values = COARSENINGS[name]
    found = Enumeration()
    algorithm = "auto" if recoding == "suppression" else "mondrian"
    for table in originals(values):
        found.add(
            table,
            quasi_identifiers=QI,
            privacy=[shoal.LDiversity(2), shoal.KAnonymity(2)],
            coarsen={"q": coarsening},
            recoding=recoding,
            algorithm=algorithm,
        )
    assert found.check() > 1


@pytest.mark.drawn
@pytest.mark.parametrize("recoding", ["suppression", "generalization"])
def test_points_and_hierarchies(recoding: Any) -> None:
    """Coarsenings of two columns; hierarchies that were given, and those that are made of the data."""
    found = {name: Enumeration() for name in ("points", "cluster", "tds")}
    request: dict[str, Any] = {"quasi_identifiers": QI, "privacy": shoal.LDiversity(2), "recoding": recoding}
    for x, y in itertools.product((1, 2, 3), repeat=2):
        table = pl.DataFrame({"q": [0, x, 7, 8], "r": [0, y, 9, 8], "s": ["x", "y", "x", "y"]})
        found["points"].add(table, **request, coarsen={("q", "r"): shoal.grouping.Points(k=4)})
    for value, other in itertools.product(some([*"abcd"]), repeat=2) if recoding == "generalization" else ():
        table = pl.DataFrame({"q": ["a", value, other, "d"], "r": ["a", "b", "c", "d"], "s": ["x", "y", "x", "y"]})
        given = {"hierarchies": {"q": TREE}, "privacy": [shoal.LDiversity(2), shoal.KAnonymity(4)]}
        for algorithm in ("cluster", "tds"):
            found[algorithm].add(table, **request | given, algorithm=algorithm)
    assert all(one.check() > 5 or not THOROUGH for one in found.values() if one.originals)


@every(
    "options",
    [
        {"keep_order": True},
        {"missing_sensitive": "drop"},
        {"missing_sensitive": "value"},
        {"star": "?"},
        {"privacy": [shoal.TCloseness(0.6), shoal.KAnonymity(3)]},
        {"privacy": [shoal.BetaLikeness(2), shoal.AlphaKAnonymity(0.5, 3)]},
    ],
    drawn=True,
)
def test_every_option(options: dict[str, Any]) -> None:
    found = Enumeration()
    drops = options.get("missing_sensitive") == "drop"
    for table in originals((20, 30, 40)):
        left_out = pl.DataFrame({"q": [20] * (len(found.texts) % 3), "r": "a"}) if drops else table[:0]
        original = pl.concat([table, left_out], how="diagonal")
        found.add(original, **{"quasi_identifiers": QI, "privacy": shoal.LDiversity(2), **options})
    assert found.check() > 1


def test_declared_categories_and_direct_identifiers() -> None:
    """Types of the data that came in, and columns that are not published."""
    found = Enumeration()
    for values, name in itertools.product((["a", "b", "a", "b"], ["a", "c", "a", "c"], ["c", "b", "a", "a"]), "AB"):
        kind = pl.Enum(sorted({*values, "z"}))
        table = pl.DataFrame({"q": pl.Series(values, dtype=kind), "s": ["x", "y", "x", "y"], "name": [name] * 4})
        found.add(table, quasi_identifiers=["q"], direct_identifiers=["name"], privacy=shoal.KAnonymity(4))
    assert found.check() == 6


OLDEST = range(92, 92 + few(20, least=6))


@pytest.fixture(scope="module")
def twenty() -> list[shoal.Release]:
    """A hundred people, the oldest of whom is 92 or up to 19 years older: one and the same release."""
    ages = np.random.default_rng(1).integers(20, 90, 99).tolist()
    rows = {"sex": ["f", "m"] * 50, "s": [f"d{row % 4}" for row in range(100)]}
    request: dict[str, Any] = {
        "quasi_identifiers": ["age", "sex"],
        "sensitive": "s",
        "algorithm": "mondrian",
        "seed": 0,
    }
    request |= {"coarsen": {"age": shoal.TopCode(90)}, "recoding": "generalization", "privacy": shoal.LDiversity(2)}
    return [shoal.anonymize(pl.DataFrame({"age": [*ages, oldest], **rows}), **request) for oldest in OLDEST]


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


class TestFolders:
    """The files themselves."""

    @pytest.mark.drawn
    @pytest.mark.parametrize("options", [{}, {"format": "parquet"}, {"spreadsheet_safe": True}], ids=repr)
    def test_the_age_of_the_oldest_cannot_be_read_off(
        self, twenty: list[shoal.Release], tmp_path: Path, options: dict[str, Any]
    ) -> None:
        found, private = [], set()
        for number, release in enumerate(twenty[::4]):
            release.save(tmp_path / str(number), **options)
            found.append(files_of(tmp_path / str(number)))
            private.add((tmp_path / f"{number}.private/certificate.json").read_text())
        assert set(found[0]) == {
            f"release.{options.get('format', 'csv')}",
            "certificate.json",
            "report.html",
            "report.json",
        }
        assert all(one == found[0] for one in found)
        assert len(private) == len(found)

    def test_what_the_publisher_has_does_tell_it(self, twenty: list[shoal.Release]) -> None:
        """Why there are two folders."""
        assert len({release.data.write_csv() for release in twenty}) == 1
        assert len({release.certificate.cost.gcp for release in twenty}) == len(OLDEST)
        assert len({public_text(release) for release in twenty}) == 1

    def test_from_the_command_line(self, tmp_path: Path) -> None:
        from click.testing import CliRunner

        from shoal.cli.main import app

        for name, age in (("a", 92), ("b", 111)):
            ages = [20, 25, 30, 35, age, 95]
            table = pl.DataFrame({"age": ages, "name": [f"{name}{row}" for row in range(6)], "s": list("xyxyxy")})
            table.write_csv(tmp_path / f"{name}.csv")
            words = f"--qi age --sensitive s --id name -l 2 --coarsen age=top:90 -o {tmp_path / name}"
            called = CliRunner().invoke(app, ["anonymize", str(tmp_path / f"{name}.csv"), *words.split()])
            assert called.exit_code == 0, called.output
        assert files_of(tmp_path / "a") == files_of(tmp_path / "b")
        assert files_of(tmp_path / "a.private") != files_of(tmp_path / "b.private")

    def test_the_page_is_made_of_what_is_published(self, twenty: list[shoal.Release], tmp_path: Path) -> None:
        """Anybody can make it again, and recount what the certificate says is achieved."""
        from shoal.io import read

        twenty[0].save(tmp_path / "out")
        certificate = json.loads((tmp_path / "out/certificate.json").read_text())
        table = read(tmp_path / "out/release.csv")
        page = render_public(public_facts(certificate, table))
        assert (tmp_path / "out/report.html").read_text() == page + "\n"
        twenty[0].report(tmp_path / "page.html", public=True)
        assert 'class="private"' not in (tmp_path / "page.html").read_text()
        audit = shoal.audit(
            table,
            privacy=twenty[0].requirement.models,
            **{role: certificate["columns"][role] for role in ("quasi_identifiers", "sensitive")},
        )
        assert audit.achieved.to_dict() == certificate["achieved"]
        assert audit.to_dict()["risk"] == certificate["risk"]["after"]

    def test_the_public_certificate_has_nothing_else(self, twenty: list[shoal.Release]) -> None:
        said = twenty[0].public_certificate.to_dict()
        assert set(said) == {
            *(
                "$schema",
                "format",
                "shoal",
                "requested",
                "achieved",
                "risk",
                "warnings",
                "parameters",
                "columns",
                "guarantee",
            ),
            "output",
        }
        assert set(said["risk"]) == {"after"}, "what the risk was before depends on the original"
        assert set(twenty[0].certificate.to_dict()["risk"]) == {"before", "after"}
        assert set(said["guarantee"]) == {"text", "reservations"}
        assert set(said["parameters"]) == {
            *("recoding", "shared_by", "star", "keep_order", "missing_sensitive", "coarsen", "hierarchies")
        }
        assert "mondrian" not in json.dumps(said)

    def test_a_proof_is_added_on_request(self, twenty: list[shoal.Release], tmp_path: Path) -> None:
        full = twenty[0].save(tmp_path / "out", publish_proof=True).to_dict()
        said = json.loads((tmp_path / "out/certificate.json").read_text())
        assert said["cost"] == {name: value for name, value in full["cost"].items() if name != "gcp"}
        assert said["cost"]["lower_bound"]["why"]
        assert said["algorithm"] == "mondrian"
        assert said["guarantee"]["algorithm"] == full["guarantee"]["algorithm"]
        assert said["input"] == {name: full["input"][name] for name in ("sha256", "keyed")}
        assert "depend on the original table" in said["proof"]
        page = (tmp_path / "out/report.html").read_text()
        assert "depend on the original table" in page
        assert "Any release that meets the same request" in page
        with pytest.raises(shoal.errors.ParameterError, match="'publish_proof' parameter of save"):
            twenty[0].save(tmp_path / "other", publish_proof="yes")  # type: ignore[arg-type]


@pytest.mark.drawn
def test_what_was_tuned_is_not_told(tmp_path: Path) -> None:
    """The coarsening that loses least depends on the table; where its column ends as stars, readers do not see it."""
    found: dict[str, set[str]] = defaultdict(set)
    chosen = set()
    for ages in itertools.combinations_with_replacement((20, 21, 30, 31), 4):
        table = pl.DataFrame({"age": ages, "s": ["x", "y", "x", "y"]})
        request: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": "s", "privacy": shoal.KAnonymity(2)}
        tuning = shoal.explore(table, **request, coarsenings={"age": [shoal.Bins(10), shoal.Bins(20)]}, seed=0)
        release = tuning.choose()
        found[published(release)].add(public_text(release))
        chosen.add(str(release.certificate.parameters["coarsen"]))
    assert all(len(texts) == 1 for texts in found.values())
    assert len(chosen) > 1


@pytest.mark.drawn
def test_releases_of_a_series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for re-publication: inputs, rows that were left out, and counts of people do not show."""
    from dataclasses import replace

    from shoal.report import render_publication

    ledger = shoal.Ledger(tmp_path / "releases.db", create=True)
    found: dict[str, set[str]] = defaultdict(set)
    inputs: dict[str, set[str]] = defaultdict(set)
    rng = np.random.default_rng(3)
    for number in range(few(40, least=12)):
        ages = [20, *rng.choice([20, 40], 2).tolist(), 40]
        values = ["x", "y", "x", "y", *([None] * (number % 3))]
        rows = {"id": [*range(len(values))], "age": [*ages, *([30] * (number % 3))], "s": values}
        series = ledger.start(str(number), m=2, identifier="id", quasi_identifiers=["age"], sensitive="s")
        made = series.publish(pl.DataFrame(rows), missing_sensitive="drop", overlap="allow", seed=number)
        table = made.data.write_csv() + made.counterfeits.write_csv()
        files = {"release.csv": {"sha256": "", "rows": made.frame.height}}
        certificate = replace(made.certificate, series="one", series_id="one", files=files).public()
        found[table].add(json.dumps(certificate) + render_publication(certificate, private=False))
        inputs[table].add(str(rows))
    assert all(len(texts) == 1 for texts in found.values())
    assert sum(len(originals) for originals in inputs.values() if len(originals) > 1) > few(10)


TRADES = shoal.Hierarchy.from_rows(
    [
        *((value, "office", "*") for value in ("actor", "lawyer", "writer")),
        *((value, "hand", "*") for value in ("baker", "tailor")),
    ]
)
THIRDS = shoal.Hierarchy.from_rows([(str(value), "pqr"[value % 3], "*") for value in range(12)])
GERMAN = ["31.12.1980", "01.02.1990", "15.01.1985", "unknown"]
HIDDEN: dict[str, tuple[list[Any], list[Any], dict[str, Any]]] = {
    # Four values of which each stands in two rows, and those that the last two rows may have instead.
    "numbers in text": (["9", "10"], ["7", "8", "100", "unknown", "007"], {}),
    "codes with zeros": (["021", "100"], ["7", "8", "unknown"], {}),
    "dates in text": (GERMAN[:2], GERMAN[2:], {}),
    "dates without zeros": (["5.11.2020", "15.1.2020"], ["02.01.1999", "3.1.1999", "unknown"], {}),
    "dates with zeros": (["05.11.2020", "15.01.2020"], ["02.01.1999", "3.1.1999"], {}),
    "dates with two digits": (["15.11.2020", "16.12.2020"], ["02.01.1999", "3.1.1999", "unknown"], {}),
    "decimal commas": (["9,5", "10,25"], ["3,75", "2", "unknown"], {}),
    "levels of numbers": ([6, 7], [*range(3, 10)], {"coarsen": {"q": shoal.Level(THIRDS, 1)}}),
    "levels of categories": (["a", "b"], [*"abcd"], {"coarsen": {"q": shoal.Level(TREE, 1)}}),
    "sets of labels": (["9", "10"], ["9", "10", "100", "unknown"], {"coarsen": {"q": shoal.grouping.Labels(k=3)}}),
    "halves": ([1.0, 2.0], [3.0, 4.0, 3.5], {"coarsen": {"q": shoal.Round(0.5)}}),
    "early years": (
        [dt.date(990, 1, 1), dt.date(2020, 1, 1)],
        [dt.date(1990, 1, 1), dt.date(1991, 1, 1), dt.date(890, 1, 1)],
        {"coarsen": {"q": shoal.DatePart("year", earliest=900)}},
    ),
}


@every("recoding", ["suppression", "generalization"])
@every("name", HIDDEN, drawn=True)
def test_suppressed_values_decide_neither_order_nor_spelling(name: str, recoding: Any) -> None:
    """Two rows of their own are suppressed: whatever they hold, the others read the same and stand where they stood."""
    values, others, options = HIDDEN[name]
    found = Enumeration()
    for pair in itertools.product(some(others), repeat=2):
        kind = pl.Enum("abcd") if name == "levels of categories" else None
        table = pl.DataFrame({"q": pl.Series([*values, *values, *pair], dtype=kind), "s": list("xxyyxy")})
        given = {"quasi_identifiers": ["q"], "privacy": shoal.KAnonymity(2), "recoding": recoding, **options}
        found.add(table, algorithm="m-approximation", **given)
    assert found.check() > 1 or recoding == "generalization" or not THOROUGH


@pytest.mark.drawn
@pytest.mark.parametrize("algorithm", ["mondrian", "full-domain", "cluster"])
def test_nodes_are_in_the_order_of_the_hierarchy_as_it_was_given(algorithm: str) -> None:
    """Which of its values a table has does not decide which node comes first."""
    found = Enumeration()
    office, hand = ("actor", "lawyer", "writer"), ("baker", "tailor")
    for pair in itertools.combinations(office, 2):
        for other in (hand, hand[:1] * 2, hand[1:] * 2):
            table = pl.DataFrame({"q": [*pair, *other], "r": list("aabb"), "s": list("xyxy")})
            given = {"hierarchies": {"q": TRADES}, "recoding": "generalization", "algorithm": algorithm}
            found.add(table, quasi_identifiers=QI, privacy=shoal.KAnonymity(2), **given)
    assert found.check() > 1


def test_what_is_left_out_does_not_order_what_is_published() -> None:
    """Numbers with a decimal comma in a sensitive column, of which a row that is left out may have another text."""
    found = Enumeration()
    for other in ("3,5", "unknown"):
        table = pl.DataFrame({"q": ["a"] * 5, "s": ["10,5", "9,25", "10,5", "9,25", other], "t": [*"xyxy", None]})
        release = shoal.anonymize(
            table,
            quasi_identifiers=["q"],
            sensitive=["s", "t"],
            privacy=shoal.KAnonymity(2),
            missing_sensitive="drop",
            seed=0,
        )
        found.orders["both",].add(published(release))
    assert len(found.orders["both",]) == 1


LEFT_OUT: dict[str, tuple[list[str], list[str], list[str | None]]] = {
    # Quasi-identifiers, sensitive values, and what a row that is left out may have as the first of them.
    "decimal commas": (["1,5", "2,5", "7", "7"], [*"uvuv"], ["3,5", "10.25", "unknown", "1,000,000", None]),
    "decimal points": (["2.5", "7", "7", "2.5"], [*"uvuv"], ["10,25", "unknown", "1.000,5", None]),
    "numbers": (["7", "2.5", "10", "1.5"], [*"uvuv"], ["10,25", "unknown", "007", None]),
    "dates": (["05.11.2020", "02.01.1999"] * 2, [*"uvuv"], ["5.1.2020", "unknown", "2020-01-01", None]),
    "dates without zeros": (["5.11.2020", "2.1.1999"] * 2, [*"uvuv"], ["05.01.2020", "unknown", None]),
    "days and months": (["13/02/2020", "01/05/2020"] * 2, [*"uvuv"], ["02/13/2020", "unknown", None]),
    "sensitive numbers": (["7", "7", "8", "8"], ["10,5", "9,25", "100,5", "9,75"], ["1,5", "1.5", "unknown", None]),
}


@every("recoding", ["suppression", "generalization"], drawn=True)
@every("name", LEFT_OUT, drawn=True)
def test_what_is_left_out_does_not_say_how_text_is_read(name: str, recoding: Any) -> None:
    """Neither the release nor what is beside it differs, nor what tuning and comparisons find."""
    cells, values, others = LEFT_OUT[name]
    found = set()
    for other in others:
        table = pl.DataFrame({"q": [*cells, other], "s": [*values, None]})
        privacy = [shoal.KAnonymity(2), shoal.TCloseness(1.0, distance="ordered")]
        if name != "sensitive numbers":
            privacy.pop()
        given: dict[str, Any] = {"quasi_identifiers": ["q"], "sensitive": "s", "privacy": privacy}
        given |= {"missing_sensitive": "drop", "recoding": recoding, "seed": 0}
        release = shoal.anonymize(table, algorithm="mondrian", **given)
        compared = shoal.explore(table, algorithms=["mondrian"], **given).to_dict()["rows"][0]
        tuned = shoal.explore(table, algorithm="mondrian", coarsenings={"q": [shoal.grouping.Labels(k=2)]}, **given)
        losses = [setting.losses for setting in tuned.rows]
        found.add((published(release), public_text(release), compared["gcp"], str(losses)))
        assert shoal.provenance(table, release.certificate.to_dict(), salt=release.salt)
    assert len(found) == 1


@pytest.mark.drawn
def test_suppressed_dates_do_not_put_zeros_before_kept_ones() -> None:
    for kept in (["5.11.2020", "15.1.2020"], ["05.11.2020", "15.01.2020"], ["15.11.2020", "16.12.2020"]):
        for other in ("02.01.1999", "3.1.1999"):
            table = pl.DataFrame({"q": [*kept, *kept, other, "17.12.2020"], "s": list("xxyyxy")})
            given: dict[str, Any] = {"privacy": shoal.KAnonymity(2), "algorithm": "m-approximation", "seed": 0}
            release = shoal.anonymize(table, quasi_identifiers=["q"], sensitive="s", **given)
            assert set(release.data["q"]) == {*kept, "*"}


@pytest.mark.drawn
def test_suppressed_cells_do_not_say_how_another_column_is_read() -> None:
    """A sensitive `1,234` is asked for, whatever a quasi-identifier looks like; once it is said, all releases agree."""
    pay = ["1,234", "567", "2,345", "600"]
    privacy = [shoal.KAnonymity(4), shoal.TCloseness(1.0, distance="ordered")]
    given: dict[str, Any] = {"quasi_identifiers": ["q"], "privacy": privacy, "algorithm": "mondrian"}
    found = {sign: Enumeration() for sign in (",", ".")}
    for other in ("1,5", "1.5", "1", "unknown", "1,234"):
        table = pl.DataFrame({"q": [other, "2", "2", "2"], "s": pay})
        with pytest.raises(shoal.errors.DataError, match=r"two ways.*decimal=','"):
            shoal.anonymize(table, sensitive="s", **given)
        for sign, releases in found.items():
            releases.add(table, **given, decimal=sign)
    assert [releases.check() for releases in found.values()] == [5, 5]


@pytest.mark.parametrize(("smaller", "larger"), [("2,5", "10,5"), ("31.12.2019", "01.02.2020"), ("2'000", "1'000'000")])
def test_categories_that_are_written_again_as_they_came(smaller: str, larger: str) -> None:
    table = pl.DataFrame({"q": [smaller, larger] * 2, "s": list("xxyy")})
    given: dict[str, Any] = {
        "privacy": shoal.KAnonymity(2),
        "coarsen": {"q": shoal.grouping.Ordered(k=2)},
        "exact_ends": True,
    }
    release = shoal.anonymize(table, quasi_identifiers=["q"], sensitive="s", seed=0, **given)
    assert sorted(release.data["q"].cast(pl.String)) == sorted(table["q"])


def test_undeclared_categories_of_pandas_are_in_no_order_of_their_own() -> None:
    pd = pytest.importorskip("pandas")
    found = set()
    for categories in (["b", "a", "z"], ["a", "z", "b"]):
        column = pd.Series(["a", "b", "b", "a"], dtype=pd.CategoricalDtype(categories))
        table = pd.DataFrame({"q": column, "s": list("xyyx")})
        release = shoal.anonymize(table, quasi_identifiers=["q"], sensitive="s", privacy=shoal.KAnonymity(2), seed=0)
        found.add((str(release.data.dtypes["q"]), tuple(release.data["q"].cat.categories), release.data.to_csv()))
    assert len(found) == 1


NOTE = "of a row that is left out, and long"


@pytest.mark.parametrize("keep_order", [False, True])
def test_memory_of_insensitive_columns_holds_published_text_only(keep_order: bool) -> None:
    """Polars keeps long texts beside a column; gathered rows share them with those that are left out."""
    import pickle

    told = ["long enough to be kept elsewhere", "another text that is kept elsewhere"] * 2
    columns = {
        "text": pl.Series([*told, NOTE]),
        "bytes": pl.Series([*(text.encode() for text in told), NOTE.encode()]),
        "list": pl.Series([*([text] for text in told), [NOTE]]),
        "part": pl.Series([*({"a": text} for text in told), {"a": NOTE}]),
    }
    table = pl.DataFrame({"q": [1, 1, 2, 2, 3], "s": ["x", "y", "x", "y", None], **columns})
    given: dict[str, Any] = {"privacy": shoal.KAnonymity(2), "missing_sensitive": "drop", "keep_order": keep_order}
    release = shoal.anonymize(table, quasi_identifiers=["q"], sensitive="s", insensitive=list(columns), **given)
    written = io.BytesIO()
    release.data.write_ipc(written)
    for content in (pickle.dumps(release.data), pickle.dumps(release.frame), written.getvalue()):
        assert told[0].encode() in content
        assert NOTE.encode() not in content
    shown = release.data["text"].to_list()
    assert shown == told if keep_order else sorted(shown) == sorted(told)


@pytest.mark.parametrize("kind", ["list", "array", "structure", "lists of structures"])
def test_declared_categories_within_lists_and_structures(kind: str, tmp_path: Path) -> None:
    found = set()
    for absent in ("never", "seldom"):
        leaf = pl.Enum(["b", "a", absent])
        inside, made = {
            "list": (pl.List(leaf), lambda value: [value]),
            "array": (pl.Array(leaf, 1), lambda value: [value]),
            "structure": (pl.Struct({"x": leaf}), lambda value: {"x": value}),
            "lists of structures": (pl.List(pl.Struct({"x": leaf})), lambda value: [{"x": value}]),
        }[kind]
        cells = pl.Series([made(value) for value in "abab"], dtype=inside)
        table = pl.DataFrame({"q": [1, 1, 2, 2], "s": list("xyxy"), "i": cells})
        given: dict[str, Any] = {"privacy": shoal.KAnonymity(2), "insensitive": ["i"], "seed": 0}
        release = shoal.anonymize(table, quasi_identifiers=["q"], sensitive="s", **given)
        release.save(tmp_path / absent, format="parquet")
        found.add((str(release.data.schema), str(files_of(tmp_path / absent))))
        assert sorted(map(str, release.data["i"].to_list())) == sorted(map(str, map(made, "aabb")))
    assert len(found) == 1
    assert "never" not in str(found)


@pytest.mark.drawn
@pytest.mark.parametrize("made", [lambda value: [value], lambda value: {"x": value}], ids=["list", "structure"])
def test_zeros_within_lists_do_not_keep_the_order_of_the_input(made: Any) -> None:
    found = set()
    for cells in itertools.permutations([0.0, -0.0, 1.0]):
        table = pl.DataFrame({"q": [1] * 3, "s": ["x"] * 3, "i": [made(cell) for cell in cells]})
        given: dict[str, Any] = {"privacy": shoal.KAnonymity(2), "insensitive": ["i"]}
        release = shoal.anonymize(table, quasi_identifiers=["q"], sensitive="s", **given)
        found.add(str(release.data["i"].to_list()))
    assert len(found) == 1
