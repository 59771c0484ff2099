"""What every engine promises: on the same tables, the release of each is the one that memory gives, or as good.

Where the plan is made of the whole histogram, the published table is the same, row for row, and so are the costs. Where
it is made in parts, the release is verified and true, its rows are those of the table, and what it achieves is what
counting all of it again gives.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.every import THOROUGH, some
from tests.oracles.oracles import predicate_of

import shoal
from shoal.engines import MemoryBudget
from shoal.errors import InfeasibleError, ParameterError, UsageError
from shoal.release.report_facts import facts_for_publisher, facts_for_readers

ENGINES = ("stream", pytest.param("spark", marks=pytest.mark.xdist_group("spark")))
"""The engines beside memory; a new one is a name here and in `given_to`, and passes everything below."""
EVERY = {"stream": 1, "spark": 3} if THOROUGH else {"stream": 5, "spark": 9}
"""One in so many algorithms is tried with each model, another one with the next: jobs of Spark take a while."""
QUASI = ["age", "sex", "area"]
LOCAL = ("tp", "tp+", "hilbert", "mondrian", "mondrian-relaxed", "m-approximation", "cluster", "sabre")
"""The algorithms that are solved in parts."""
QUICK: dict[str, Any] = {"cluster": shoal.algorithms.Cluster(effort=2), "sabre": shoal.algorithms.Sabre(effort=2)}
"""Those that search, with little of it."""
MODELS: dict[str, list[shoal.models.PrivacyModel]] = {
    "k": [shoal.KAnonymity(3)],
    "l": [shoal.LDiversity(2)],
    "l, k": [shoal.LDiversity(2), shoal.KAnonymity(4)],
    "distinct": [shoal.LDiversity(2, variant="distinct")],
    "entropy": [shoal.LDiversity(Fraction(3, 2), variant="entropy"), shoal.KAnonymity(2)],
    "t": [shoal.TCloseness(0.4), shoal.KAnonymity(2)],
    "beta": [shoal.BetaLikeness(2)],
    "alpha": [shoal.AlphaKAnonymity(Fraction(3, 4), 3)],
    "average": [shoal.KAnonymity(2), shoal.AverageRisk(Fraction(1, 4))],
}


def table(seed: int, *, rows: int = 60, sensitive: int = 1) -> pl.DataFrame:
    """A small table with missing values, numbers in text, and columns of all kinds."""
    rng = np.random.default_rng(seed)
    age = pl.Series("age", rng.integers(20, 26, rows)).cast(pl.Int32 if seed % 2 else pl.String)
    columns = [
        age,
        pl.Series("sex", rng.choice(["f", "m", None], rows, p=[0.5, 0.4, 0.1]).tolist(), dtype=pl.String),
        pl.Series("area", rng.choice(["007", "102", "1", "x"], rows)),
        pl.Series("name", [f"person {row}" for row in range(rows)]),
    ]
    for number in range(sensitive):
        values = rng.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1])
        columns.append(pl.Series(f"s{number}", values if seed % 3 else [f"value {value}" for value in values]))
    return pl.DataFrame(columns)


@dataclass(frozen=True)
class Few(MemoryBudget):
    """A budget for so few rows at once that small tables are solved in parts."""

    most: int = 25

    def max_rows(self, cells: int, each: int = 1) -> int:
        return self.most


@pytest.fixture
def given_to(request: pytest.FixtureRequest) -> Callable[[str, pl.DataFrame], Any]:
    """What makes a table what an engine takes."""

    def given(engine: str, frame: pl.DataFrame) -> Any:
        return request.getfixturevalue("spark").createDataFrame(frame.to_arrow()) if engine == "spark" else frame

    return given


def rows_of(release: Any) -> pl.DataFrame:
    """The rows of a release, as its engine makes them."""
    data = release.data
    return data.collect() if isinstance(data, pl.LazyFrame) else pl.DataFrame(pl.from_arrow(data.toArrow()))


def asked(frame: pl.DataFrame, models: list[shoal.models.PrivacyModel], **options: Any) -> dict[str, Any]:
    sensitive = [name for name in frame.columns if name.startswith("s") and name != "sex"]
    options["algorithm"] = QUICK.get(options["algorithm"], options["algorithm"])
    return {
        "quasi_identifiers": QUASI,
        "sensitive": sensitive,
        "privacy": models,
        "direct_identifiers": ["name"],
        "seed": 5,
        **options,
    }


def of(function: Any, *given: Any, **options: Any) -> Any:
    """What a call returns, or the kind of error that it raises."""
    try:
        return function(*given, **options)
    except (InfeasibleError, UsageError) as error:
        return type(error)


@pytest.mark.drawn
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("model", MODELS)
def test_the_whole_histogram_gives_the_release_of_memory(
    engine: str, model: str, given_to: Callable[[str, pl.DataFrame], Any]
) -> None:
    compared = 0
    tried = (*LOCAL, "full-domain", "matching")
    name = f"{engine} {model}"
    for algorithm in some(("auto", *tried[[*MODELS].index(model) % EVERY[engine] :: EVERY[engine]]), name=name):
        for seed, recoding in some(enumerate(("suppression", "generalization")), name=f"{name} {algorithm}"):
            frame = table(seed, sensitive=1 + seed * (algorithm in ("mondrian", "hilbert")))
            arguments = asked(frame, MODELS[model], algorithm=algorithm, recoding=recoding)
            here = of(shoal.anonymize, frame, **arguments)
            given = given_to(engine, frame.sample(fraction=1, shuffle=True, seed=seed))
            there = of(shoal.anonymize, given, engine=engine, **arguments)
            if isinstance(here, type) or isinstance(there, type):
                # What needs hierarchies of the table itself is refused: nothing else is.
                assert here == there or (there is ParameterError and here.certificate.algorithm == "full-domain")
                continue
            if len(here.schema.sensitive) == 1:
                same(here, there)
            else:  # chance decides between rows that differ in what an algorithm does not look at
                holds(there, frame, MODELS[model])
            compared += 1
            assert there.certificate.engine["name"] == engine
    assert compared >= 2 or not THOROUGH


def same(here: Any, there: Any) -> None:
    told, known = there.certificate.to_dict(), here.certificate.to_dict()
    assert told["achieved"] == known["achieved"]
    assert told["risk"] == known["risk"]
    assert told["engine"]["parts"] == 1
    assert rows_of(there).equals(here.data)
    assert there.public_certificate.to_dict() == here.public_certificate.to_dict()
    assert rounded(facts_of(there)) == rounded(facts_of(here))
    assert rounded(told["cost"]) == rounded(known["cost"])
    assert told["guarantee"] == known["guarantee"]


@pytest.mark.drawn
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("algorithm", LOCAL)
def test_parts_satisfy_what_was_asked_of_the_whole(
    engine: str, algorithm: str, monkeypatch: pytest.MonkeyPatch, given_to: Callable[[str, pl.DataFrame], Any]
) -> None:
    monkeypatch.setattr("shoal.engines.choice.MemoryBudget", Few)
    monkeypatch.setattr("shoal.pipeline.division._MIN_KEPT_GROUPS", 1)
    parts = set()
    for number, models in [*enumerate(MODELS.values())][:: EVERY[engine]]:
        for seed in (number % 4, (number + 2) % 4):
            frame = table(seed, rows=200, sensitive=1 + seed % 2 * (algorithm not in ("tp", "tp+")))
            recoding = "generalization" if seed > 1 else "suppression"
            arguments = asked(frame, models, algorithm=algorithm, recoding=recoding)
            release = of(shoal.anonymize, given_to(engine, frame), engine=engine, **arguments)
            if isinstance(release, type):
                continue
            parts.add(release.certificate.engine["parts"])
            holds(release, frame, models)
    assert max(parts) > 2


def facts_of(release: Any) -> dict[str, Any]:
    """What the pages of a release say, but for what is new in every run, and what the two engines call differently."""
    public, full = release.public_certificate, release.certificate
    private = json.loads(facts_for_publisher(release, full, None).to_json())
    changing = ("input", "seconds", "engine", "details")
    private["certificate"] = {name: said for name, said in private["certificate"].items() if name not in changing}
    return {"public": json.loads(facts_for_readers(release, public, None).to_json()), "private": private}


def rounded(facts: dict[str, Any]) -> dict[str, Any]:
    """Facts whose sums may have been added up in another order."""

    def one(fact: Any) -> Any:
        if isinstance(fact, list):
            return [one(part) for part in fact]
        return rounded(fact) if isinstance(fact, dict) else round(fact, 9) if isinstance(fact, float) else fact

    return {name: one(fact) for name, fact in facts.items()}


def holds(release: Any, frame: pl.DataFrame, models: list[shoal.models.PrivacyModel]) -> None:
    """Check a release from its rows, by the definitions of the models."""
    data = rows_of(release)
    sensitive = list(release.schema.sensitive)
    assert data.height == frame.height == release.store.height
    for name in sensitive:
        assert data[name].cast(pl.String).sort().equals(frame[name].cast(pl.String).sort())
        predicates = [
            predicate_of(one, frame[name].to_list()) for one in models if isinstance(one, shoal.models.GroupModel)
        ]
        for group in data.partition_by(QUASI):
            values = group[name].cast(frame[name].dtype).to_list()
            assert all(predicate(values) for predicate in predicates)
    stars = sum(int((data[name].cast(pl.String) == "*").sum()) for name in QUASI)
    assert release.certificate.cost.stars == stars
    assert not shoal.audit(data, quasi_identifiers=QUASI, sensitive=sensitive, privacy=models).failures
