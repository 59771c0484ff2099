"""The page loads nothing, runs nothing, escapes what it is given, and says what the certificate says."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal._core.facts import Fact
from shoal.errors import OutputError, ParameterError
from shoal.release.analysis import measure_analyst_utility
from shoal.release.report_facts import facts_for_publisher
from shoal.report import (
    About,
    AttributeLoss,
    PublicFacts,
    ReportFacts,
    SizeBin,
    facts_in,
    public_facts,
    render,
    render_audit,
    render_public,
    write_report,
)


def certificate(**changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "format": 1,
        "shoal": "1.0.0",
        "algorithm": "tp+",
        "parameters": {"refine": "cascade", "recoding": "suppression"},
        "seed": 7,
        "input": {"rows": 100, "quasi_identifiers": ["age", "zip"], "sensitive": ["disease"], "sha256": "ab" * 32},
        "requested": [{"model": "l-diversity", "variant": "frequency", "l": 4}],
        "achieved": {
            "k": 5,
            "l": {"frequency": 4.5, "distinct": 5, "entropy": 4.6},
            "t": {"disease": 0.3},
            "groups": 12,
        },
        "cost": {
            "stars": 30,
            "suppressed_tuples": 20,
            "lower_bound": {
                "stars": 20,
                "suppressed_tuples": 20,
                "why": "residue after phase one: rows that no group of identical rows can hold",
                "why_fact": {"code": "residue", "arguments": {}},
            },
            "optimal": False,
        },
        "guarantee": {
            "algorithm": "None: the search was stopped before it proved anything.",
            "algorithm_fact": {"code": "nothing_proven", "arguments": {}},
            "recoded_tuples_ratio": 4,
            "recoded_cells_ratio": None,
            "phase": 2,
        },
        "seconds": {"read": 0.2, "total": 0.8},
        "output": {"files": {"release.csv": {"sha256": "cd" * 32, "rows": 100}}},
    }
    return made | changes


def facts(**changes: Any) -> ReportFacts:
    given: dict[str, Any] = {
        "certificate": certificate(),
        "losses": (
            AttributeLoss(name="age", changed=30, stars=30, loss=0.3),
            AttributeLoss(name="zip", changed=0, stars=0, loss=0.0),
        ),
        "class_sizes": (SizeBin(low=5, high=5, groups=10, rows=50), SizeBin(low=20, high=30, groups=2, rows=50)),
        "metrics": {"discernability": 1250, "kl_divergence": 0.25, "gcp": None},
    }
    return ReportFacts(**(given | changes))


class Elements(HTMLParser):
    """Collects the elements, their attributes and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "link", "img", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_loads_and_runs_nothing() -> None:
    page = render(facts())
    elements = Elements(page)
    assert not {"script", "link", "img", "iframe", "object", "form", "base"} & {tag for tag, _ in elements.found}
    assert not {"src", "href", "srcset", "action", "onload", "onclick"} & {
        name for _, given in elements.found for name in given
    }
    assert "http://" not in page
    assert "https://" not in page
    assert not re.search(r"url\(|@import", page)


def test_every_element_is_closed() -> None:
    assert Elements(render(facts())).open == []


def test_names_are_escaped() -> None:
    evil = "<script>alert('x')</script>"
    source = certificate()["input"] | {"quasi_identifiers": [evil, "zip"], "sensitive": ["a & b"]}
    page = render(
        facts(
            certificate=certificate(input=source),
            losses=(AttributeLoss(name=evil, changed=1, stars=1, loss=0.1),),
            insensitive=("<b>",),
            about=About(title="<i>title</i>", notes="<u>", signatures=("<s>",)),
        )
    )
    elements = Elements(page)
    assert not {"script", "b", "i", "u", "s"} & {tag for tag, _ in elements.found}
    assert evil in elements.text
    assert "a & b" in elements.text


def test_an_expert_gets_a_sheet_that_readers_do_not_see() -> None:
    about = About(expert="Dr. <Doe>", valid_until="2028-01-31", date="2026-01-31")
    page = render(facts(about=about, direct_identifiers=("name", "cost")))
    # Columns that are left out need not identify anyone.
    assert "direct identifier" not in page
    assert page.count("ot published</") == 2
    text = " ".join(Elements(page).text.split("Expert determination under HIPAA")[1].split())
    for shown in (
        "Dr. <Doe>",
        "2028-01-31",
        "known for every person: age and zip.",
        "an adversary: disease",
        "least 5",
    ):
        assert shown in text, shown
    for question in ("replicable", "available", "distinguishable"):
        assert f"Is it {question}?" in text
    assert "Expert determination" not in render(facts())
    assert about.for_readers() == About(date="2026-01-31")


def test_a_decision_is_a_sheet_with_the_residual_risk() -> None:
    about = About(
        decision="conditions",
        conditions="Only <inside>.",
        reviewed_by="A. Officer",
        valid_until="2028-01-31",
        date="2026-01-31",
        recipient="Institute",
        controls="Contract",
        roles="The board, in May.",
    )
    figures = {"highest": 0.2, "average": 0.1, "records_above": 0, "threshold": 0.2, "sample_uniques": 0}
    measured = certificate(risk={"before": figures, "after": figures})
    page = render(facts(certificate=measured, about=about, direct_identifiers=("name",)))
    text = " ".join(Elements(page).text.split())
    sheet = text.split(" Decision ")[1].split("Technical part")[0]
    for shown in (
        *("Approved with conditions", "Only <inside>.", "RecipientInstitute", "ControlsContract"),
        *("not publishedname", "Records are counted", "with a probability of at most 20%", "A. Officer", "2028-01-31"),
    ):
        assert shown in sheet, shown
    assert "Who decided it, and why: The board, in May." in text
    assert about.for_readers() == About(date="2026-01-31")
    without = " ".join(Elements(render(facts(certificate=measured))).text.split())
    assert "Signature of the reviewer" not in without
    for threat in ("Singling out", "Linkability", "Inference"):
        assert threat in without.split("Residual risk")[1].split("What this release")[0]
    refused = render(facts(about=About(decision="refused", conditions="Too small.")))
    assert "Reasons" in Elements(refused).text
    with pytest.raises(ParameterError, match="must be one of approved, conditions, refused"):
        About(decision="perhaps")
    with pytest.raises(ParameterError, match="given for the decision"):
        About(decision="conditions")
    with pytest.raises(ParameterError, match="a day that is not past"):
        About(valid_until="2020-01-31")


def test_it_says_what_the_certificate_says() -> None:
    text = " ".join(Elements(render(facts())).text.split())
    for said in (
        "l-diversity (frequency), l = 4",
        "l = 4.5",
        "at most 1 in 4 (25%)",
        "within a factor of 1.5",
        "residue after phase one",
        "None: the search was stopped before it proved anything.",
        "at most 4 times the fewest possible",
        "ab" * 32,
        "cd" * 32,
        "Discernability",
        "1,250",
        "the same input, request and version give the same release",
    ):
        assert said in text
    assert "Global certainty penalty" not in text


@pytest.mark.parametrize("light", ["prefers-color-scheme: dark", "@media print", "width=device-width"])
def test_it_is_made_for_every_screen_and_for_paper(light: str) -> None:
    assert light in render(facts())


def test_every_bar_has_its_value_beside_it() -> None:
    page = render(facts())
    rows = [row for row in re.findall(r"<tr>.*?</tr>", page, flags=re.DOTALL) if 'class="bar' in row]
    assert len(rows) == 1 + 2 + 2
    assert all('aria-hidden="true"' in row and re.search(r'<td class="n">[\d,.%]+</td>', row) for row in rows)


def test_how_columns_were_prepared_is_told() -> None:
    prepared = {
        "coarsen": {"zip": {"coarsening": "prefix", "n": 3}},
        "hierarchies": {"age": {"values": 90, "height": 4}},
    }
    page = render(
        facts(certificate=certificate(parameters=prepared, reason="asked for", reason_fact=Fact("requested").to_dict()))
    )
    assert '<th scope="row">coarsened: zip</th><td>the first 3 characters</td>' in page
    assert '<th scope="row">hierarchies: age</th><td>values 90; height 4</td>' in page
    assert '<th scope="row">Why this one</th><td>asked for</td>' in page


def test_a_minimal_certificate_is_enough() -> None:
    bare = certificate(seed=None, guarantee=None, seconds={}, parameters={}, output={})
    bare["cost"] = {
        "stars": 0,
        "suppressed_tuples": 0,
        "lower_bound": {"stars": 0, "suppressed_tuples": 0},
        "optimal": True,
    }
    bare["input"] = bare["input"] | {"rows": 0, "quasi_identifiers": [], "sensitive": []}
    page = render(ReportFacts(certificate=bare))
    assert "proved optimal" in page
    assert "drawn from the operating system" in page


def test_no_size_is_no_division_by_zero() -> None:
    assert "How large the groups are" not in render(facts(class_sizes=()))


def test_writing(tmp_path: Any) -> None:
    for private, mode in ((True, 0o600), (False, 0o644)):
        path = tmp_path / f"report-{private}.html"
        write_report(render(facts()), path, private=private)
        assert path.read_text(encoding="utf-8") == render(facts())
        assert path.stat().st_mode & 0o777 & mode == path.stat().st_mode & 0o777


def test_writing_where_there_is_no_folder(tmp_path: Any) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        write_report(render(facts()), tmp_path / "missing" / "report.html", private=False)


RISK = {
    "before": {"highest": 1.0, "average": 0.5, "threshold": 0.2, "records_above": 0.6, "sample_uniques": 0.11},
    "after": {"highest": 0.25, "average": 0.125, "threshold": 0.2, "records_above": 0.04, "sample_uniques": 0.0},
}


def test_risk_before_and_after() -> None:
    page = Elements(render(facts(certificate=certificate(risk=RISK))))
    said = " ".join(page.text.split())
    assert "Of 100 records in the file, 11 could be found by someone who knows age and zip" in said
    assert "None of the 100 records in the file can be told from all others by age and zip" in said
    average = "a probability of at most 1 in 4, and of 12.5% on average over all records."
    assert f"{average} For 4 of 100 records it is more than 20%" in said
    assert "records found with a probability of more than 20%60%4%" in said
    assert "highest 1 / min f; average u / n" in said
    assert "El Emam and F. K. Dankar" in said
    readers = Elements(render_public(public(risk={"after": RISK["after"]})))
    assert "a record is found: the highest probability25%" in " ".join(readers.text.split())
    assert "before" not in readers.text.partition("How easily records are found")[2].partition("guarantees")[0]
    assert "How easily records are found" not in render(facts()), "nothing is said of what was not measured"


def test_facts_show_no_names_of_values() -> None:
    assert repr(facts()) == "ReportFacts(algorithm='tp+', attributes=2)"


def public(**changes: Any) -> PublicFacts:
    said: dict[str, Any] = {
        "format": 1,
        "shoal": "1.0.0",
        "requested": certificate()["requested"],
        "achieved": certificate()["achieved"],
        "parameters": {
            "recoding": "generalization",
            "star": "?",
            "keep_order": False,
            "missing_sensitive": "drop",
            "coarsen": {"zip": {"coarsening": "prefix", "n": 3}},
            "hierarchies": {"age": {"height": 4}},
        },
        "columns": {"quasi_identifiers": ["age", "zip"], "sensitive": ["disease"], "insensitive": ["<b>"]},
        "guarantee": {"text": "what the models promise", "reservations": []},
        "output": {"files": {"release.csv": {"sha256": "cd" * 32, "rows": 4}}},
    }
    table = pl.DataFrame({"age": ["[2, 3]", "[2, 3]", "?", "?"], "zip": [1, 1, 2, 2], "disease": list("abab")})
    return public_facts(said | changes, table)


def test_the_page_for_readers_is_made_of_the_table() -> None:
    found = public()
    assert (found.rows, found.stars, found.starred_rows) == (4, {"age": 2, "zip": 0}, 2)
    assert [(one.low, one.groups) for one in found.class_sizes] == [(2, 2)]
    assert found.metrics == {"discernability": 8, "mean_class_size": 2}
    assert repr(found) == "PublicFacts(rows=4, attributes=2)"


def test_coarsened_columns_are_described_in_words_with_their_role() -> None:
    coarsen = {
        "disease": {"coarsening": "bins", "width": 20_000, "start": 0},
        "zip": {"coarsening": "labels", "k": 1_200, "labels": "members"},
    }
    parameters = {**public().certificate["parameters"], "coarsen": coarsen}
    text = " ".join(Elements(render_public(public(parameters=parameters))).text.split())
    assert "sensitive: must not be linked to a person; published coarser: in steps of 20,000" in text
    assert "rare values joined until each class has 1,200 records" in text
    assert "published as it is" not in text.replace("insensitive: published as it is", "")


def test_the_page_for_readers_says_how_to_read_the_table() -> None:
    page = render_public(public())
    elements = Elements(page)
    assert elements.open == []
    assert not {"script", "link", "img", "b"} & {tag for tag, _ in elements.found}
    assert "http" not in page.replace("http-equiv", "")
    text = " ".join(elements.text.split())
    for said in (
        "4 records, 12 groups",
        "at most 1 in 4 (25%)",
        "A cell ? was suppressed",
        "[21, 25] is an interval",
        "zip: made less precise",
        "the first 3 characters",
        "that miss a sensitive value, if there were any, are left out",
        "The rows are sorted by what is published",
        "cd" * 32,
    ):
        assert said in text
    for untold in ("Private.", "tp+", "What it cost", "Seed", "input", "Global certainty penalty"):
        assert untold not in text.replace("no cell of the original table", "")


def test_a_proof_is_marked_as_one() -> None:
    cost = certificate()["cost"]
    proof = {
        "cost": cost,
        "proof_fact": Fact("proof_tells_more").to_dict(),
        "guarantee": {"algorithm_fact": Fact("nothing_proven").to_dict()},
    }
    text = " ".join(Elements(render_public(public(**proof))).text.split())
    for said in (
        "What it cost, and what it must cost",
        "What the bound may tell The algorithm, its costs, bounds and ratios depend on the original table",
        "None: the search was stopped before it proved anything.",
    ):
        assert said in text


def test_an_order_and_a_search_are_told() -> None:
    parameters = public().certificate["parameters"] | {"keep_order": True, "tuned": True, "recoding": "suppression"}
    text = " ".join(Elements(render_public(public(parameters=parameters))).text.split())
    assert "in the order of the original table" in text
    assert "searched for coarsenings that lose little" in text
    assert "is an interval" not in text


def test_the_publishers_page_says_that_it_is_private() -> None:
    assert "Private. This page depends on the original table" in " ".join(Elements(render(facts())).text.split())


def test_what_analysts_lose_is_in_their_own_measures_and_a_missing_one_states_why() -> None:
    people = shoal.datasets.census(300, quasi_identifiers=["age", "gender"], seed=1)
    release = shoal.anonymize(people, quasi_identifiers=["age", "gender"], sensitive="income", l=2, seed=1)
    found = facts_for_publisher(release, release.certificate, About())
    values = {one.name: one.value for one in found.utility}
    expected = release.utility()
    assert values == {one.name: None if one.value is None else float(f"{one.value:.4g}") for one in expected.measures}
    assert facts_in(found.to_json()).utility == found.utility
    page = Elements(render(found)).text
    assert all(one.meaning in page or one.reason in page for one in found.utility)
    # A measure that scans too much is not computed for a report.
    few = measure_analyst_utility(release.metrics, most=100)
    assert {one.name for one in few.measures if one.value is not None} == {"margins"}
    page = Elements(render(facts(utility=few.measures))).text
    assert page.count("Not measured: it takes long on a table of this size; shoal report --utility computes it.") == 5
    assert "What analysts lose, in their own measures" not in render(facts())


def test_numbers_whose_squares_exceed_floating_point_count_as_categories() -> None:
    people = pl.DataFrame({"age": [1, 1, 2, 2] * 5, "pay": [1e200, 2e200, 3e200, 4e200] * 5})
    release = shoal.anonymize(people, quasi_identifiers=["age"], sensitive="pay", k=5, seed=1)
    found = facts_for_publisher(release, release.certificate, About())
    assert "NaN" not in found.to_json()
    values = {one.name: one.value for one in found.utility}
    assert values["marginals"] == 1000
    assert values["correlations"] is None


def test_invisible_characters_of_names_are_escaped_on_every_page(tmp_path: Path) -> None:
    name = "age\u202e\u200b"
    table = pl.DataFrame({name: [1, 1, 2, 2] * 10, "s": ["a", "b"] * 20})
    release = shoal.anonymize(table, quasi_identifiers=[name], sensitive="s", k=2, insensitive=[], seed=1)
    audited = shoal.audit(release.data, quasi_identifiers=[name], sensitive="s")
    for public in (False, True):
        release.report(tmp_path / f"{public}.html", public=public)
    pages = [(tmp_path / f"{public}.html").read_text("utf-8") for public in (False, True)]
    for page in (*pages, release._repr_html_(), render_audit(audited.to_dict(), title=name)):
        assert "\u202e" not in page
        assert "\u200b" not in page
        assert r"age\u202e\u200b" in page
