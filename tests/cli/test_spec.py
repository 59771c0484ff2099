"""A spec file says what flags can say, and a flag overrides it."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any, get_origin

import click
import pytest
from tests.every import every

from shoal import About, audit
from shoal._core.validation import parameters_of
from shoal.algorithms import Cluster, GeneralizationVectors, PatternGuided
from shoal.algorithms.algorithm_list import ALGORITHMS
from shoal.cli.asking import arguments_for, saving_of
from shoal.cli.main import app
from shoal.errors import ParameterError, UsageError
from shoal.models import (
    AlphaKAnonymity,
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    KAnonymity,
    KEAnonymity,
    KMap,
    LDiversity,
    PopulationUniqueness,
    SampleUniqueness,
    TCloseness,
)
from shoal.models.ground_distance import OrderedDistance
from shoal.request.model_words import MODEL_WORDS, models_of
from shoal.request.request import Request
from shoal.request.request_fields import fields_in
from shoal.request.words import ALGORITHM_WORDS, WORDS, Words

FULL = """
input = "data/patients.csv"
rows = "/visits.csv"
output = "out"
algorithm = "tp+"
patterns = "/patterns.txt"
time_limit = "2.5"
suppression_limit = "1/20"
cost = "precision"
local = true
effort = 10
recoding = "generalization"
largest_set = 8
exact_ends = true
resist = "minimality"
seed = 7
keep_order = true
engine = "spark"
memory = "2GB"
master = "local[2]"
knows = 1
missing_person = "own"
rows_per_person = 2
kept_rows = "first"
order = "admitted"
link = true
missing_sensitive = "drop"
normalize = true
star = "?"
format = "parquet"
spreadsheet_safe = true
publish_proof = true
strict = true
force = true
json = true

[weights]
age = 2
"last, first" = 0.5

[limits]
age = [1, 3]

[coarsen]
age = "bins:10"
zip = "level:/trees/zip.csv:2"

[hierarchies]
zip = "/trees/zip.csv"

[lists]
income = ";"

[reading]
decimal = ","
delimiter = ";"
encoding = "latin-1"
sheet = "Patients"
header_row = 3

[reading.dates]
born = "%d.%m.%Y"

[reading.replace_values]
age = "99:"
zip = "D-10115,10115 Berlin:10115"

[reading.derive]
stay = "days:admitted:discharged"
years = "years:born:2025-12-31:%d.%m.%Y"

[report]
title = "Visits"
institution = "St. Mary's"
purpose = "Research"
contact = "data@example.org"
date = "May 2025"
notes = "Seen by the board."
signatures = ["Officer, data protection"]
expert = "Dr. Jane Doe"
recipient = "Institute of statistics"
controls = "Contract of 2026"
roles = "The board, in May."
decision = "conditions"
conditions = "Delete it after the study."
reviewed_by = "A. Officer"
valid_until = "May 2027"

[parameters]
gap = "0.5"
improve = "no"

[columns]
quasi_identifiers = ["age", "last, first"]
sensitive = ["disease"]
direct_identifiers = ["name"]
insensitive = ["visit_id"]
person = ["patient"]
key = ["patient"]
units = ["household"]
qi_sets = ['"last, first",age:3', "age"]

[privacy]
k = 10
l = 4
l_variant = "recursive"
c = 2.5
harmless = ["mild, or so"]
alpha = "1/3"
beta = 2
beta_variant = "basic"
delta = 1.5
epsilon = 2
level_epsilon = 0.5
average_risk = "1/20"
sample_uniqueness = "1/50"
population_uniqueness = 0.01
sampling_fraction = 0.2
k_map = 7
population = "/people.csv"
significance = 0.05
presence_low = 0.1
presence_high = "1/2"
e = 100
t = 0.2
t_distance = "ordered"
t_order = ["mild", "severe, fatal"]
"""

SAME_AS_FLAGS: dict[str, Any] = {
    "rows": "/visits.csv",
    "key": ["patient"],
    "algorithm": "tp+",
    "time_limit": "2.5",
    "suppression_limit": "1/20",
    "cost": "precision",
    "local": True,
    "effort": 10,
    "parameters": ["gap=0.5", "improve=no"],
    "patterns": "/patterns.txt",
    "weights": ["age=2", "last, first=0.5"],
    "limits": ["age=1:3"],
    "coarsen": ["age=bins:10", "zip=level:/trees/zip.csv:2"],
    "hierarchies": ["zip=/trees/zip.csv"],
    "recoding": "generalization",
    "largest_set": 8,
    "exact_ends": True,
    "resist": "minimality",
    "seed": 7,
    "keep_order": True,
    "engine": "spark",
    "memory": "2GB",
    "master": "local[2]",
    "knows": 1,
    "missing_person": "own",
    "rows_per_person": 2,
    "kept_rows": "first",
    "order": "admitted",
    "link": True,
    "missing_sensitive": "drop",
    "normalize": True,
    "star": "?",
    "dates": ["born=%d.%m.%Y"],
    "lists": ["income=;"],
    "decimal": ",",
    "delimiter": ";",
    "encoding": "latin-1",
    "sheet": "Patients",
    "header_row": 3,
    "replace_values": ["age=99:", "zip=D-10115,10115 Berlin:10115"],
    "derive": ["stay=days:admitted:discharged", "years=years:born:2025-12-31:%d.%m.%Y"],
    "format": "parquet",
    "spreadsheet_safe": True,
    "publish_proof": True,
    "strict": True,
    "title": "Visits",
    "institution": "St. Mary's",
    "purpose": "Research",
    "contact": "data@example.org",
    "date": "May 2025",
    "notes": "Seen by the board.",
    "signatures": ["Officer, data protection"],
    "expert": "Dr. Jane Doe",
    "recipient": "Institute of statistics",
    "controls": "Contract of 2026",
    "roles": "The board, in May.",
    "decision": "conditions",
    "conditions": "Delete it after the study.",
    "reviewed_by": "A. Officer",
    "valid_until": "May 2027",
    "force": True,
    "json": True,
    "quasi_identifiers": ["age", '"last, first"'],
    "sensitive": ["disease"],
    "direct_identifiers": ["name"],
    "insensitive": ["visit_id"],
    "person": ["patient"],
    "units": ["household"],
    "qi_sets": ['"last, first",age:3', "age"],
    "k": 10,
    "l": 4,
    "l_variant": "recursive",
    "c": 2.5,
    "harmless": ["mild, or so"],
    "alpha": "1/3",
    "beta": 2,
    "beta_variant": "basic",
    "delta": 1.5,
    "epsilon": 2,
    "level_epsilon": 0.5,
    "e": 100,
    "average_risk": "1/20",
    "sample_uniqueness": "1/50",
    "population_uniqueness": 0.01,
    "sampling_fraction": 0.2,
    "k_map": 7,
    "population": "/people.csv",
    "significance": 0.05,
    "presence_low": 0.1,
    "presence_high": "1/2",
    "t": 0.2,
    "t_distance": "ordered",
    "t_order": ['mild,"severe, fatal"'],
}

FORMS, READING, ENGINE = fields_in("forms"), fields_in("reading", "cleaning"), ("engine", "memory", "master")
COLUMNS = {key for key, word in WORDS.items() if word.section == "columns"} - {"key"}
REPORT = {key for key, word in WORDS.items() if word.section == "report"}
BY_COLUMN = ("weights", "limits", "coarsen", "hierarchies", "dates", "lists", "replace_values", "derive", "parameters")
WRITTEN = {"output", "format", "spreadsheet_safe", "publish_proof", "strict", "force"}
TOLD_BY_NAME = {("tp", "refine")}


def options_of(name: str) -> dict[str, str]:
    """Return the options of a command by the names of its parameters."""
    whole = app.get_command(None, name).whole
    return {one.name: one.opts[0] for one in whole} | {"help": "--help"}


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def written(text: str) -> Path:
        path = tmp_path / "release.toml"
        path.write_text(text)
        return path

    return written


def test_file_and_flags_say_the_same(write: Any, tmp_path: Path) -> None:
    flags = SAME_AS_FLAGS | {"input": str(tmp_path / "data/patients.csv"), "output": tmp_path / "out"}
    assert Words.of_file(write(FULL)) == Words.of_options(flags)


def test_every_flag_of_anonymize_is_a_key() -> None:
    flags = set(options_of("anonymize")) - {"spec", "help", "show", "settings", "models", "dry_run"}
    assert flags == set(WORDS)
    assert set(SAME_AS_FLAGS) == flags - {"output", "input"}


def test_each_command_takes_what_its_function_does() -> None:
    whole = {name: flag for name, flag in options_of("anonymize").items() if name != "show"}
    in_memory = {name: flag for name, flag in whole.items() if name not in (*ENGINE, "rows", "key", "dry_run")}
    assert options_of("explore") == in_memory | {
        "levels": "--levels",
        "algorithms": "--algorithms",
        "coarsenings": "--coarsenings",
        "seconds": "--seconds",
        "loss": "--loss",
        "utility": "--utility",
        "attacks": "--attacks",
        "chart": "--chart",
        "choose": "--choose",
    }
    judged = {
        "quasi_identifiers",
        "sensitive",
        "person",
        "units",
        "link",
        "qi_sets",
        "knows",
        "star",
        "hierarchies",
        "cells",
        "spec",
        "json",
        "help",
    }
    judged |= {*FORMS, *READING, *ENGINE, "settings", "models", "against", "salt", "stars"}
    assert set(options_of("audit")) == judged | REPORT | set(MODEL_WORDS) | {"source", "attacks", "output", "force"}
    seen = {"k", *FORMS, *READING, "input", "output", "force", "json", "settings", "help"}
    assert set(options_of("inspect")) == seen | {"spec_out", "show_values"}


def test_every_parameter_of_an_algorithm_can_be_said() -> None:
    for name, algorithm in ALGORITHMS.items():
        for parameter, declared in parameters_of(algorithm).items():
            value = getattr(algorithm, parameter)
            if declared.constraint is None or (name, parameter) in TOLD_BY_NAME:
                continue
            words = {"True": "yes", "False": "no", "None": "none"}.get(str(value), str(value))
            (chosen,) = Words({"algorithm": name, "parameters": {parameter: words}}).algorithms()
            assert chosen == algorithm
    (weighted,) = Words.of_options({"algorithm": "patterns", "parameters": ["weights=age=2,zip=1/2"]}).algorithms()
    assert weighted == PatternGuided(weights={"age": 2, "zip": Fraction(1, 2)})
    (patient,) = Words.of_options({"algorithm": "milp", "parameters": ["gap=0.1"], "time_limit": "5"}).algorithms()
    assert patient == GeneralizationVectors(gap=0.1, time_limit=5)
    (quick,) = Words.of_options({"algorithm": "cluster", "effort": "10"}).algorithms()
    assert quick == Cluster(effort=10)
    assert Words.of_options({"k": "5", "recoding": "generalization", "effort": "10"}).algorithms() == [
        Cluster(effort=10)
    ]
    diverse = {"l": "3", "l_variant": "distinct", "recoding": "generalization", "effort": "10"}
    assert Words.of_options({**diverse, "sensitive": ["disease"]}).algorithms() == [Cluster(effort=10)]
    with pytest.raises(UsageError, match="needs a sensitive attribute"):
        Words.of_options(diverse).algorithms()
    with pytest.raises(
        UsageError, match="--param effort needs an algorithm that has one"
    ):  # auto takes m-approximation
        Words.of_options({"k": "5", "effort": "10"}).algorithms()
    with pytest.raises(UsageError, match=r"No algorithm has a parameter 'efort'. Did you mean 'effort'"):
        Words({"parameters": {"efort": 3}}).algorithms("cluster")
    with pytest.raises(UsageError, match="--param gap needs an algorithm that has one: milp"):
        Words({"parameters": {"gap": 3}}).algorithms("cluster")


def test_no_setting_gets_lost_on_the_way_to_the_library(write: Any) -> None:
    words = Words.of_file(write(FULL))
    words = Words({**words.said, "coarsen": {"age": "bins:10"}, "hierarchies": {}, "algorithm": "full-domain"})
    words = Words({**words.said, "link": False})  # linked rows have no number of rows for each person
    words = Words({key: value for key, value in words.said.items() if key not in {*ALGORITHM_WORDS, "parameters"}})
    made = {"parameters", *ALGORITHM_WORDS, *MODEL_WORDS, *REPORT}
    settings = set(WORDS) - made - {"input", "rows", "key", "json", "master", "algorithm"}
    assert set(saving_of(words)) == WRITTEN - {"output"} | {"about"}
    assert saving_of(words)["about"] == About(**{key: words.said[key] for key in REPORT})
    assert set(words.fields()) == settings
    request = Request.from_words(words, models=[KAnonymity(10)])
    assert {name: getattr(request, name) for name in settings} == words.fields()
    assert request.about == saving_of(words)["about"]
    assert request.algorithm == "full-domain"
    assert {name for name in parameters_of(Request) if getattr(request, name) is None} == {
        "k", "l", "t", "harmless", "suppression_limit"
    }  # fmt: skip
    of_audit = {"quasi_identifiers", "sensitive", "person", "units", "link", "star", "hierarchies", "qi_sets", "knows"}
    of_audit |= {*FORMS, *READING, *ENGINE} - {"master", "replace_values", "derive"}
    assert set(arguments_for(words, audit)) == of_audit


@pytest.mark.drawn
@every("name", [name for name in SAME_AS_FLAGS if name not in {*COLUMNS, *BY_COLUMN}])
def test_each_flag_overrides_the_file(write: Any, name: str) -> None:
    given = {
        "k": "3",
        "seed": 0,
        "keep_order": False,
        "spreadsheet_safe": False,
        "publish_proof": False,
        "strict": False,
        "force": False,
        "json": False,
    }
    value = given.get(name, "other")
    many = name in ("t_order", "harmless", "signatures", "key", "qi_sets")
    merged = Words.of_options({"spec": write(FULL), name: [value] if many else value})
    assert merged.get(name) == ((value,) if many else value)
    assert {**merged.said, name: 0} == {**Words.of_file(write(FULL)).said, name: 0}


def test_a_flag_overrides_the_coarsening_of_its_column_only(write: Any, tmp_path: Path) -> None:
    merged = Words.of_options({"spec": write(FULL), "coarsen": ["age=round:5", "visit=date:year"]})
    assert merged.get("coarsen") == {"age": "round:5", "zip": "level:/trees/zip.csv:2", "visit": "date:year"}
    beside = Words.of_file(write('[coarsen]\nzip = "level:trees/zip.csv:2"\nage = "bins:10"'))
    near = Words.of_file(write('[coarsen]\ncounty = "regions:edges.csv:50"'))
    assert near.get("coarsen") == {"county": f"regions:{tmp_path}/edges.csv:50"}
    assert beside.get("coarsen") == {"zip": f"level:{tmp_path}/trees/zip.csv:2", "age": "bins:10"}
    trees = Words.of_file(write('[hierarchies]\nzip = "trees/zip.csv"'))
    assert trees.get("hierarchies") == {"zip": f"{tmp_path}/trees/zip.csv"}


def test_columns_override_the_file(write: Any) -> None:
    merged = Words.of_options({"spec": write(FULL), "quasi_identifiers": ["zip"], "sensitive": [""]})
    assert merged.get("quasi_identifiers") == ("zip",)
    assert merged.get("sensitive") == ()
    assert merged.get("direct_identifiers") == ("name",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('algorithmm = "tp"', "unknown key 'algorithmm'. Did you mean 'algorithm'?"),
        ("[privacy]\nll = 4", "unknown key 'll' in [privacy]"),
        ("l = 4", "unknown key 'l'. It belongs in [privacy]."),
        ("[privacy]\nseed = 4", "It belongs above the first section."),
        ('[columns]\nsensitiv = ["a"]', "Did you mean 'sensitive' or"),
        ('seed = "7"', "seed: Expected `int | null`, got `str`"),
        ("[privacy]\nk = [1]", "privacy.k: Expected"),
        ("[columns]\nquasi_identifiers = [1]", "columns.quasi_identifiers[0]: Expected `str`"),
        ("columns = 1", "columns: Expected"),
        ("seed = ", "is not valid TOML"),
        ("seed = true", "seed: Expected"),
    ],
)
def test_what_is_wrong_in_a_file_is_said(write: Any, shoal: Any, text: str, said: str) -> None:
    path = write(text)
    with pytest.raises(UsageError, match=re.escape(said)):
        Words.of_file(path)
    assert shoal("anonymize", "--spec", path).code == 2


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "release.toml"
    path.write_text('output = "out"\nprivacy.k = 4\n', encoding="utf-8-sig")
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    assert Words.of_file(path).get("k") == 4


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        Words.of_file(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("patients.csv", "{folder}/patients.csv"),
        ("/data/patients.csv", "/data/patients.csv"),
        ("sqlite:///clinic.db::patients", "sqlite:///{folder}/clinic.db::patients"),
        ("sqlite:////data/clinic.db::patients", "sqlite:////data/clinic.db::patients"),
        ("postgresql+psycopg://host/db::patients", "postgresql+psycopg://host/db::patients"),
    ],
)
def test_paths_start_from_the_folder_of_the_file(write: Any, tmp_path: Path, given: str, expected: str) -> None:
    spec = Words.of_file(write(f'input = "{given}"'))
    assert spec.get("input") == expected.format(folder=tmp_path)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("file:metric.csv", "file:{folder}/metric.csv"),
        ("hierarchy:/data/tree.csv", "hierarchy:/data/tree.csv"),
        ("ordered", "ordered"),
    ],
)
def test_so_do_paths_of_distances(write: Any, tmp_path: Path, given: str, expected: str) -> None:
    spec = Words.of_file(write(f'privacy.t = 0.2\nprivacy.t_distance = "{given}"'))
    assert spec.get("t_distance") == expected.format(folder=tmp_path)


def test_paths_on_the_command_line_do_not(write: Any) -> None:
    assert Words.of_options({"spec": write(FULL), "input": "here.csv"}).get("input") == "here.csv"
    assert Words.of_options({"spec": write(FULL), "output": Path("there")}).get("output") == "there"


def test_the_example_in_the_help_is_a_spec(shoal: Any, write: Any) -> None:
    lines = [line.strip() for line in shoal("anonymize", "--help").out.splitlines()]
    example = [line for line in lines if re.match(r"[a-z_.]+ = ", line)]
    assert len(example) == 9
    spec = Words.of_file(write("\n".join(example)))
    assert spec.get("quasi_identifiers") == ("age", "gender", "zip")
    assert (spec.get("l"), spec.get("k"), spec.get("seed")) == (4, 10, 7)


def test_specs_are_values() -> None:
    with pytest.raises(AttributeError):
        Words({}).said = {"seed": 3}  # type: ignore[misc]
    assert Words({}) == Words.of_content({})


@every(
    ("given", "expected"),
    [
        ({"k": 5}, [KAnonymity(5)]),
        ({"l": "4", "k": "10"}, [KAnonymity(10), LDiversity(4)]),
        ({"l": 2.5, "l_variant": "entropy"}, [LDiversity(2.5, variant="entropy")]),
        ({"l": 3, "l_variant": "recursive", "c": "1/2"}, [LDiversity(3, variant="recursive", c=Fraction(1, 2))]),
        ({"alpha": "1/3", "k": 4}, [AlphaKAnonymity(alpha=Fraction(1, 3), k=4)]),
        ({"e": 10, "k": 4}, [KEAnonymity(k=4, e=10)]),
        ({"beta": 2}, [BetaLikeness(2)]),
        ({"beta": 2, "beta_variant": "enhanced", "l": 2}, [LDiversity(2), BetaLikeness(2, variant="enhanced")]),
        ({"delta": 1.5}, [DeltaDisclosure(1.5)]),
        ({"average_risk": "1/20", "k": 2}, [KAnonymity(2), AverageRisk(Fraction(1, 20))]),
        ({"sample_uniqueness": 0}, [SampleUniqueness(0)]),
        ({"k_map": 5, "sampling_fraction": 0.1, "significance": 0.05}, [KMap(5, None, 0.1, 0.05)]),
        ({"population_uniqueness": 0.01, "sampling_fraction": "1/9"}, [PopulationUniqueness(0.01, Fraction(1, 9))]),
        (
            {"k_map": 5, "presence_low": 0, "presence_high": 0.5, "population": "p.csv"},
            [KMap(5, "p.csv"), DeltaPresence(0, 0.5, "p.csv")],
        ),
        ({"t": "1/5"}, [TCloseness(Fraction(1, 5))]),
        ({"t": 0.2, "t_distance": "ordered", "k": 3}, [KAnonymity(3), TCloseness(0.2, distance=OrderedDistance())]),
        (
            {"t": 0.2, "t_distance": "ordered", "t_order": ("b", "a")},
            [TCloseness(0.2, distance=OrderedDistance(["b", "a"]))],
        ),
        ({}, []),
    ],
)
def test_parameters_request_their_models(given: dict[str, Any], expected: list[Any]) -> None:
    assert models_of(given) == expected


@every("given", [{"k": 0}, {"k": 2.5}, {"l": -1}, {"l": 2, "l_variant": "other"}, {"l": 2, "c": 3}])
def test_models_refuse_what_they_cannot_be(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        models_of(given)


@every(
    ("given", "said"),
    [
        ({"t_distance": "equal"}, "--model t_distance needs -t"),
        ({"t": 0.2, "t_order": ("a",)}, "--model t_order needs --model t_distance"),
        ({"t": 0.2, "t_distance": "equal", "t_order": ("a",)}, "--model t_order is for --model t_distance=ordered"),
        ({"t": 0.2, "t_distance": "near"}, "must be equal, ordered, file:METRIC.csv or hierarchy:TREE.csv. Got 'near'"),
        ({"t": 0.2, "t_distance": "file:"}, "Got 'file:'"),
        ({"t": 0.2, "t_distance": "file:none.csv"}, "'none.csv' cannot be read"),
        ({"t": 0.2, "t_distance": "hierarchy:none.csv"}, "'none.csv' cannot be read"),
        ({"t": 1.2}, "must be a number >= 0 and <= 1. Got 1.2"),
    ],
)
def test_distances_that_cannot_be(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        models_of(given)


def test_a_time_limit_goes_to_the_algorithms_that_have_one() -> None:
    request = Words({"time_limit": "1/2"})
    named, limited = request.algorithms("tp", "milp")
    assert named == "tp"
    assert (limited.name, limited.parameters()["time_limit"]) == ("milp", 0.5)
    assert Words({}).algorithms("milp", "tp") == ["milp", "tp"]
    for names in (("tp",), ("auto",), ("magic", "exact")):
        with pytest.raises(UsageError, match=r"--param time_limit needs an algorithm that has one: .*milp"):
            request.algorithms(*names)
    with pytest.raises(ParameterError, match="'time_limit' parameter of milp must be a number > 0"):
        Words({"time_limit": 0}).algorithms("milp")


def test_full_domain_takes_a_limit_a_metric_and_local_recoding() -> None:
    request = Words({"suppression_limit": "1/20", "cost": "stars", "local": True})
    (chosen,) = request.algorithms("full-domain")
    assert not isinstance(chosen, str)
    assert {"suppression_limit": 0.05, "cost": "stars", "local": True}.items() <= chosen.parameters().items()
    with pytest.raises(UsageError, match="--param suppression_limit needs an algorithm that has one: full-domain"):
        request.algorithms("auto")


def test_the_help_of_anonymize_shows_what_there_is(shoal: Any) -> None:
    """At most 40 options, and every key of spec files by one of them, whatever it is."""
    shown = [
        one for one in app.get_command(None, "anonymize").whole if isinstance(one, click.Option) and not one.hidden
    ]
    assert 25 <= len(shown) + 1 <= 40  # with --help
    listed = {one["name"] for one in shoal("list", "keys", "--json").json["keys"]}
    assert listed == {word.path for word in WORDS.values()}


def test_every_key_can_be_set() -> None:
    """`--set` means what the spec file does: with the section, a column behind a dot, and TOML's quotes."""
    settings = []
    for key, given in SAME_AS_FLAGS.items():
        word = WORDS[key]
        for text in given if isinstance(given, list) else [str(given).lower() if given is True else given]:
            column, _, how = str(text).partition("=") if get_origin(word.kind) is dict else ("", "", text)
            settings.append(f'{word.path}."{column}"={how}' if column else f"{word.path}={how}")
    by_set, by_flags = Words.of_options({"settings": settings}).said, Words.of_options(SAME_AS_FLAGS).said
    assert {key: str(value) for key, value in by_set.items()} == {key: str(value) for key, value in by_flags.items()}
    for wrong in ("decimal=,", "reading.decimal", "reading.decmal=,", "=1", "reading=x", "nothing.at.all=1"):
        with pytest.raises(UsageError):
            Words.of_options({"settings": [wrong]})


def test_models_are_named_with_their_parameters() -> None:
    one = Words.of_options({"models": ["l=3,variant=entropy", "beta=2,variant=basic", "harmless=a, b and c"], "k": "5"})
    assert dict(one.said) == {
        "l": "3", "l_variant": "entropy", "beta": "2", "beta_variant": "basic", "harmless": ("a, b and c",), "k": "5"
    }  # fmt: skip
    assert Words.of_options({"models": ["t=0.2,distance=ordered,order=mild,severe"]}).get("t_order") == (
        "mild",
        "severe",
    )
    for wrong in ("gamma=3", "l", "l=3,variance=entropy"):
        with pytest.raises(UsageError, match="--model has "):
            Words.of_options({"models": [wrong]})


def test_an_option_that_is_no_longer_listed_states_its_key(
    shoal: Any, patients: Path, roles: Any, tmp_path: Path
) -> None:
    said = shoal("anonymize", patients, *roles, "-k", "5", "--star", "?", "-o", tmp_path / "old")
    assert said.code == 0
    assert "--star will go. Write --set star=..., or the key star of a spec file." in " ".join(said.err.split())
    new = shoal("anonymize", patients, *roles, "-k", "5", "--set", "star=?", "-o", tmp_path / "new")
    assert new.code == 0
    assert "--star" not in new.err
    wrong = shoal("anonymize", patients, *roles, "-k", "5", "--model", "beta=-1", "-o", tmp_path / "wrong")
    assert "--model beta must be" in " ".join(wrong.err.split())
