"""A request is the same after it was written as a spec file, as options of a command, or as Python source, and read."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.every import every

import shoal
from shoal import hierarchy, models
from shoal.cli.anonymize import anonymize
from shoal.errors import UsageError
from shoal.request.words import Words

NAMES = st.sampled_from(["age", "zip code", "a,b", 'say "x"', "it's", "-k", " edge ", "équipe", "\u202ename", "a\nb"])
COARSENINGS = st.sampled_from([
    shoal.Prefix(3),
    shoal.Bins(Fraction(5, 2)),
    shoal.Bins(cuts=[18, 65]),
    shoal.Bins(quantiles=4),
    shoal.DatePart("year"),
    shoal.Round(5),
    shoal.TopCode(90),
    shoal.BottomCode(18),
    shoal.grouping.Labels(k=50),
    hierarchy.ThreeDigitZip(),
])  # fmt: skip
MODELS = st.sampled_from([
    (models.KAnonymity(5),),
    (models.KAnonymity(5), models.LDiversity(Fraction(5, 2), variant="entropy")),
    (models.LDiversity(3, variant="recursive", c=2.5), models.TCloseness(0.25)),
    (models.AlphaKAnonymity(Fraction(1, 3), k=4),),
    (models.TCloseness(0.2, distance=models.OrderedDistance(["low", "a,b", "high"])),),
    (models.BetaLikeness(2), models.SampleUniqueness(0.05)),
])  # fmt: skip
ALGORITHMS = st.sampled_from(
    ["auto", "tp", "mondrian", shoal.algorithms.Mondrian(relaxed=True), shoal.algorithms.Cluster(effort=7)]
)
ABOUT = shoal.About(title="Visits of 2025", signatures=("Officer, data protection", "Head"), notes="Seen.")


@st.composite
def requests(draw: Any) -> shoal.Request:
    names = draw(st.lists(NAMES, unique=True, min_size=3))
    quasi, others = tuple(names[1:]), {name: st.none() | COARSENINGS for name in names[1:]}
    coarsen = {name: how for name, one in others.items() if (how := draw(one)) is not None}
    options = {
        "coarsen": coarsen or None,
        "direct_identifiers": draw(st.sampled_from([(), ("id", "last, first")])),
        "insensitive": draw(st.sampled_from([(), ("rest",)])),
        "keep_order": draw(st.booleans()),
        "seed": draw(st.none() | st.integers(min_value=0, max_value=2**40)),
        "star": draw(st.sampled_from(["*", "'?'"])),
        "dates": draw(st.none() | st.just({names[1]: "%d.%m.%Y"})),
        "delimiter": draw(st.none() | st.sampled_from([";", "\t", '"'])),
        "weights": draw(st.none() | st.just({names[1]: 2, names[2]: 0.5})),
        "limits": draw(st.none() | st.just({names[1]: (1, 3)})),
        "output": draw(st.none() | st.just("a folder")),
        "about": draw(st.none() | st.just(ABOUT)),
        "memory": draw(st.none() | st.just("2GB")),
    }
    if draw(st.booleans()):
        options |= {"person": ("patient",), "rows_per_person": 2, "kept_rows": "last", "order": names[1]}
    algorithm = "auto" if options["weights"] or options["limits"] else draw(ALGORITHMS)
    if draw(st.booleans()):
        options |= {"recoding": "generalization", "largest_set": draw(st.integers(1, 20))}
        options |= {"hierarchies": {names[1]: "trees/a b.csv"}}
    return shoal.Request(
        quasi_identifiers=quasi, sensitive=(names[0],), privacy=draw(MODELS), algorithm=algorithm, **options
    )


def plain(request: shoal.Request) -> dict[str, Any]:
    """Return the fields, with algorithms by parameters and ground distances as objects."""
    found = {name: value for name, value in vars(request).items() if name in request.__dataclass_fields__}
    found["privacy"] = [
        replace(one, distance=one.ground) if isinstance(one, models.TCloseness) else one for one in request.privacy
    ]
    found["algorithm"] = request.algorithm if request.algorithm == "auto" else request.chosen
    return found


def parsed(words: list[str]) -> shoal.Request:
    context = anonymize.make_context("anonymize", [*words])
    options = {name: (list(one) or None) if isinstance(one, tuple) else one for name, one in context.params.items()}
    return shoal.Request.from_words(Words.of_options(options))


@settings(max_examples=60, deadline=None)
@given(request=requests())
def test_a_request_is_read_as_it_was_written(request, tmp_path_factory):
    try:
        wanted = plain(request)
        text, words = request.to_toml(), request.to_cli()
    except UsageError:  # this algorithm does not serve these models
        with pytest.raises(UsageError):
            _ = request.chosen
        return
    file = tmp_path_factory.mktemp("spec") / "release.toml"
    file.write_text(text, encoding="utf-8")
    # Paths of a spec file start from its folder.
    read = shoal.Request.from_toml(file)
    assert shoal.Request.from_words(Words.of_content(tomllib.loads(text))) == parsed(words)
    assert read.output == (None if request.output is None else str(file.parent / "a folder"))
    assert plain(parsed(words)) == wanted
    made: dict[str, Any] = {}
    exec(request.to_python(), made)
    assert plain(made["request"]) == wanted


@every(
    "request_",
    [
        {"coarsen": {("lat", "lon"): shoal.grouping.Points(k=50)}},
        {"coarsen": {("in", "out"): shoal.SinceFirst(shoal.Bins(7))}, "person": ("id",)},
        {"k": 7, "suppression_limit": Fraction(1, 20), "recoding": "generalization"},
        {"k": 7, "algorithm": shoal.algorithms.GeneralizationVectors(gap=Fraction(1, 2)), "recoding": "generalization"},
        {"privacy": models.KMap(3, population="people.csv")},
        {"k": 3, "units": ["household"], "person": "patient"},
    ],
)
def test_requests_with_words_of_their_own(request_):
    request = shoal.Request(**{"quasi_identifiers": ["lat", "lon"], "l": 2, "sensitive": "d", **request_})
    again = parsed(request.to_cli())
    models_of = [sorted(map(str, one.requirement.to_list())) for one in (again, request)]
    assert models_of[0] == models_of[1]
    assert (again.chosen, again.coarsen, again.schema) == (request.chosen, request.coarsen, request.schema)


@every(
    "objects",
    [
        {"k": 3, "privacy": models.AlphaKAnonymity(0.5, k=4)},
        {"k": 3, "privacy": models.MUniqueness(4)},
        {"t": 0.1, "privacy": models.TCloseness(0.2)},
        {"k": 3, "coarsen": {"age": shoal.Bins(10, start=5)}},
        {"k": 3, "units": [("street", "number")]},
        {"k": 3, "recoding": "generalization", "hierarchies": {"age": shoal.Hierarchy.from_rows([("1", "*")])}},
        {"k": 3, "algorithm": shoal.algorithms.PatternGuided(patterns=shoal.algorithms.Patterns(["age"]))},
    ],
)
def test_what_has_no_words_is_not_written(objects):
    request = shoal.Request(quasi_identifiers=["age"], sensitive="d", **objects)
    with pytest.raises(UsageError, match=r"no words|no file"):
        request.to_toml()


HOSTILE = ("x=y", "a,b", 'say "x=1"', "-k", "a:b", " edge ", '"', "new\nline", '5" pipe', '"quoted"', "*", "=")


@every("name", HOSTILE)
def test_names_of_columns_with_special_characters(name):
    request = shoal.Request(
        quasi_identifiers=[name, "other"],
        k=2,
        coarsen={name: shoal.Prefix(1)},
        replace_values={name: {"a=b": None, "c,d": "e:f"}},
        derive={name: 'days:"a:b":"2025-12-31":%H:%M'},
        weights={name: 2},
        dates={name: "%d=%m"},
    )
    again = parsed(request.to_cli())
    points = {(name, "x=z"): shoal.grouping.Points(k=50)}
    both = shoal.Request(quasi_identifiers=[name, "x=z"], k=2, coarsen=points)
    assert parsed(both.to_cli()).coarsen == points
    for field in ("quasi_identifiers", "coarsen", "replace_values", "derive", "weights", "dates"):
        assert getattr(again, field) == getattr(request, field), field


def test_a_limit_of_memory_is_a_number_or_text(tmp_path):
    for written, limit in (("2000000000", 2_000_000_000), ('"2GB"', "2GB")):
        spec = tmp_path / "release.toml"
        spec.write_text(
            f'memory = {written}\n[columns]\nquasi_identifiers = ["age"]\n[privacy]\nk = 2\n', encoding="utf-8"
        )
        assert shoal.Request.from_toml(spec).memory == limit
