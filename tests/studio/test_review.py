"""The screen of a reviewer counts and attacks what somebody published, and makes the document of a decision."""

from __future__ import annotations

import hashlib
import html
import json
import re
import shlex
import shutil
import stat

import polars as pl
import pytest
import xlsxwriter
from click.testing import CliRunner
from tests.studio.conftest import SECRET

import shoal
from shoal._core.words import percent
from shoal.attacks import homogeneity_attack
from shoal.cli.main import app
from shoal.report import describe_attack


@pytest.fixture
def published(browser, home):
    """A release that somebody else made: no private folder, and no open table."""
    shoal.anonymize(
        home / "patients.csv",
        quasi_identifiers=["age", "gender", "zip"],
        sensitive="disease",
        direct_identifiers=["name"],
        k=4,
        l=2,
    ).save(home / "theirs")
    shutil.rmtree(home / "theirs.private")
    browser.enter()
    return home / "theirs"


def review_patients(browser, home, zips, roles):
    """Review a table of one record for each age, with its ZIP code, and choose the roles of its columns."""
    rows = ["age,zip,disease", *(f"{age},{code},d{age % 3}" for age, code in zips.items())]
    (home / "reviewed.csv").write_text("\n".join(rows) + "\n")
    browser.enter()
    page = browser.send("/review", {"source": "reviewed.csv"}).text
    of = page.split('name="of" value="')[1].split('"')[0]
    return browser.send("/review/columns", {"of": of, **roles}).text


def test_a_release_is_recounted_attacked_and_decided_on(browser, published):
    page = browser.send("/review", {"source": "theirs"}).text
    audit = shoal.audit(published)
    assert "The cells have the figures that the certificate states" in page
    assert f"at most {percent(audit.risk.highest)}" in page
    assert "Open the document" not in page
    assert browser.client.get("/review/document").status_code == 404
    page = browser.send("/review/attack", {"original": "patients.csv"}).text
    found = homogeneity_attack(published, targets=shoal.io.read(published.parent / "patients.csv"))
    assert found.sentences()[0].replace("'", "&#39;") in page
    plain = describe_attack(found.to_dict())[0]
    assert plain in html.unescape(page)
    assert re.search(r"ttack “Linking”: \d+ of ", page)
    words = {"conditions": "Delete <it>.", "valid_until": "2028-01-31", "reviewed_by": "A. Officer", "purpose": "Study"}
    page = browser.send("/review/decision", {"reviewed_by": "An officer", "decision": "conditions", **words}).text
    assert "--set report.decision=conditions" in page
    for wrong, field in (({"conditions": ""}, "conditions"), ({"valid_until": "2020-01-31"}, "valid_until")):
        told = browser.send(
            "/review/decision", {"reviewed_by": "An officer", "decision": "conditions", **words, **wrong}
        )
        assert told.status_code == 422
        assert "of About" not in told.text, "a name of Python"
        assert 'role="alert"' in told.text.split(f'name="{field}"')[1].split("</span>")[0], field
    document = browser.client.get("/review/document")
    for shown in ("Approved with conditions", "Delete &lt;it&gt;.", "2028-01-31", "A. Officer", "Review of theirs"):
        assert shown in document.text, shown
    assert "Signature of the reviewer" in document.text
    assert "What attacks on the release found" in document.text
    assert plain in html.unescape(document.text), "the same sentence everywhere"
    assert SECRET not in document.text
    assert "default-src 'none'" in document.headers["content-security-policy"]
    assert "attachment" in browser.client.get("/review/document?download").headers["content-disposition"]


@pytest.mark.parametrize("original", ["", "patients.csv"])
def test_what_stands_beside_the_review_makes_the_same_document(browser, published, monkeypatch, original):
    browser.send("/review", {"source": "theirs"})
    browser.send("/review/attack", {"original": original})
    page = browser.send("/review/decision", {"decision": "approved", "reviewed_by": "A. O'Fficer"}).text
    shown = {name: html.unescape(text) for name, text in re.findall(r'data-same="(\w+)">(.*?)</code>', page, re.DOTALL)}
    home = published.parent
    monkeypatch.chdir(home)
    for line in shown["command"].replace("\\\n", " ").splitlines():
        told = CliRunner().invoke(app, shlex.split(line)[1:])
        assert told.exit_code == 0, told.stderr
    (home / "release.toml").write_text(shown["spec"])
    told = CliRunner().invoke(app, ["audit", "theirs", "--spec", "release.toml", "-o", "of-spec.html"])
    assert told.exit_code == 0, told.stderr
    exec(shown["python"], {})
    for file in ("review/report.html", "of-spec.html", "review.html"):
        document = (home / file).read_text()
        assert "A. O&#39;Fficer" in document, file
        assert ("What attacks on the release found" in document) == (file != "of-spec.html"), file


def test_the_open_workbook_is_the_original_as_its_screen_reads_it(browser, published):
    table = pl.read_csv(published.parent / "patients.csv", infer_schema=False)
    with xlsxwriter.Workbook(str(published.parent / "patients.xlsx")) as book:
        pl.DataFrame({"note": ["All patients of a year"]}).write_excel(book, worksheet="Cover")
        table.write_excel(book, worksheet="Patients")
    browser.send("/open", {"path": "patients.xlsx"})
    browser.send("/review", {"source": "theirs"})
    page = browser.send("/review/attack", {"original": "patients.xlsx"}).text
    assert "has 2 sheets" not in page
    assert re.search(r"ttack “Linking”: \d+ of ", page)


def test_the_document_lists_attacks_that_failed_and_names_the_release(browser, published):
    # Without their quasi-identifiers nobody can be attacked.
    (published.parent / "others.csv").write_text("name,city\nAnn,Ulm\n")
    browser.send("/review", {"source": "theirs"})
    page = browser.send("/review/attack", {"original": "others.csv"}).text
    assert 'class="wrong"' in page
    browser.send(
        "/review/decision",
        {"reviewed_by": "An officer", "decision": "approved", "title": "My title", "institution": "The board"},
    )
    document = browser.client.get("/review/document").text
    stated = ("The cells have the figures that the certificate states.", "The adversary knows")
    for shown in ("This attack could not run:", "My title", "Review of theirs", "Institution of the reviewer", *stated):
        assert shown in document, shown
    assert "Published by" not in document


def test_one_table_without_a_certificate_needs_roles(browser, published):
    table = next(published.glob("release.*"))
    table.rename(published.parent / "alone.csv")
    page = browser.send("/review", {"source": "alone.csv"}).text
    assert "There is no certificate that says it" in page
    assert re.search(r'aria-labelledby="name-2">.*?"known" selected', page)  # zip is proposed
    assert "What was counted" not in page
    columns = (published.parent / "alone.csv").read_text().splitlines()[0].split(",")
    of = page.split('name="of" value="')[1].split('"')[0]
    roles = {f"role-{columns.index(name)}": role for name, role in (("zip", "known"), ("disease", "sensitive"))}
    assert "Choose at least one column" in browser.send("/review/columns", {"of": of}).text
    page = browser.send("/review/columns", {"of": of, **roles}).text
    assert "What was counted" in page
    assert "certificate states" not in page
    assert "--qi zip --sensitive disease" in page


def test_a_table_with_names_is_no_release_and_the_form_has_the_words_of_the_report(browser, published):
    page = browser.send("/review", {"source": "patients.csv"}).text
    assert "This is no release" in page
    assert "No release has name" in page
    page = browser.send("/review", {"source": "theirs"}).text
    assert "This is no release" not in page
    assert 'name="purpose" type="text" size="70" value=""' in page
    facts = json.loads((published / "report.json").read_text())
    facts["about"] |= {"title": "Wards", "purpose": "Teaching <b>"}
    (published / "report.json").write_text(json.dumps(facts))
    page = browser.look("/review").text
    assert 'value="Review of Wards"' in page
    assert 'value="Teaching &lt;b&gt;"' in page
    # The report beside it in a private folder is one's own.
    words = {"institution": "St. Mary", "recipient": "A <team>", "controls": "C", "roles": "R", "notes": "N"}
    own = shoal.anonymize(published / "release.csv", quasi_identifiers=["age"], insensitive="rest", k=1)
    own.save(published.with_name("own"), about=shoal.About(title="Wards", purpose="Own", **words))
    published.with_name("own.private").rename(published.with_name("theirs.private"))
    page = browser.look("/review").text
    for name, value in {"title": "Review of Wards", "purpose": "Own", **words}.items():
        assert re.search(rf'name="{name}"[^>]*value="{re.escape(html.escape(value))}"', page), name
    # What the reviewer left empty stays so.
    page = browser.send(
        "/review/decision", {"reviewed_by": "An officer", "decision": "refused", "purpose": "Other"}
    ).text
    assert 'name="recipient" type="text" size="70" value=""' in page
    # The first screen leads to it.
    first = browser.look("/").text
    assert '<input type="hidden" name="source" value="theirs"><button class="plain">review it</button>' in first


def test_figures_that_the_cells_do_not_have_are_named(browser, published):
    file = published / "certificate.json"
    certificate = json.loads(file.read_text())
    certificate["achieved"]["k"] += 1
    file.write_text(json.dumps(certificate))
    assert "The certificate states other figures than the cells have: k." in browser.send(
        "/review", {"source": "theirs"}
    ).text  # fmt: skip


def test_tables_of_the_folder_are_offered_and_a_mistyped_name_is_said(browser, published):
    assert 'name="source" value="patients.csv"' in browser.look("/review").text
    for source in ("their", "patients"):
        assert "There is no such file or folder." in browser.send("/review", {"source": source}).text
    assert "There is no such file" in browser.send("/open", {"path": "patients"}).text


def test_only_what_may_be_read_is_reviewed(browser, published, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    for source in (str(tmp_path / "elsewhere"), "", "../elsewhere", "nothing.csv"):
        answer = browser.send("/review", {"source": source})
        assert answer.status_code == 422, source
    assert (
        "No release is open"
        in browser.send("/review/decision", {"reviewed_by": "An officer", "decision": "approved"}).text
    )
    browser.send("/review", {"source": "theirs"})
    assert "Choose what you decide" in browser.send("/review/decision", {"reviewed_by": "A"}).text


def test_each_sensitive_column_persons_and_columns_that_were_left_out_are_shown(browser, home):
    lines = ["visit,who,age,zip,disease,ward"]
    for row in range(160):
        of = row // 4
        ward = ("north", "south", "west")[row % 3]
        lines.append(f"{row},P{of:03},{20 + of % 10},{10001 + of % 2},d{row * 7 % 11 % 4},{ward}")
    (home / "visits.csv").write_text("\n".join(lines) + "\n")
    quasi = {"quasi_identifiers": ["age", "zip"], "sensitive": ["disease", "ward"]}
    shoal.anonymize(home / "visits.csv", **quasi, direct_identifiers=["visit"], person="who", k=3).save(home / "theirs")
    browser.enter()
    page = browser.send("/review", {"source": "theirs"}).text
    assert page.count("The publisher states that persons are counted, who may have several records") == 2
    assert "assumed to belong to a different person" not in page
    assert 'name="person"' not in page
    page = browser.send("/review/attack", {"original": "visits.csv"}).text
    assert re.search(r'<option value="1" selected>who</option>', page), "the likely one of its columns is chosen"
    assert "Not published of the original: visit and who." in page
    assert "It could not run" not in page
    alike = page.split("<h3>Homogeneity</h3>")[1].split("<h3>")[0]
    assert "of 40 people" in alike
    for column in ("disease", "ward", "together: disease and ward"):
        assert f"<bdi>{column}</bdi>" in alike, column
    browser.send("/review/decision", {"reviewed_by": "An officer", "decision": "approved"})
    document = browser.client.get("/review/document").text
    assert re.search(r"<dt>Columns not published</dt><dd>visit and who</dd>", document)
    assert "--population visits.csv --id who --person who" in page
    browser.studio.review = None
    again = browser.send("/review", {"source": "theirs"}).text
    assert re.search(r'<option value="1" selected>who</option>', again)
    of = re.search(r'name="of" value="(\w+)"><label>Its column', again)[1]
    alone = browser.send("/review/attack", {"original": "visits.csv", "of": of, "person": ""}).text
    assert "--person" not in alone
    assert "of 40 people" not in alone


def test_a_decision_is_said_to_be_saved_and_conditions_are_typed_where_they_are_missing(browser, published):
    browser.send("/review", {"source": "theirs"})
    refused = browser.send("/review/decision", {"reviewed_by": "An officer", "decision": "conditions"})
    assert re.search(r'name="conditions"[^>]*aria-invalid="true"', refused.text)
    assert "Type the conditions." in refused.text
    answer = browser.send(
        "/review/decision", {"reviewed_by": "An officer", "decision": "conditions", "conditions": "Delete it."}
    )
    assert "✓ Saved: Approved with conditions, " in answer.text


def test_a_table_that_identifies_persons_is_not_approved(browser, home):
    names = [f"{first} {last}" for first in ("Anna", "Ben", "Clara", "David") for last in ("Koch", "Lang", "Wolf")]
    rows = ["name,age,disease", *(f"{name},{20 + at},{'flu' if at % 2 else 'gout'}" for at, name in enumerate(names))]
    (home / "raw.csv").write_text("\n".join(rows) + "\n")
    browser.enter()
    page = browser.send("/review", {"source": "raw.csv"}).text
    assert "This is no release" in page
    of = page.split('name="of" value="')[1].split('"')[0]
    browser.send("/review/columns", {"of": of, "role-1": "known", "role-2": "sensitive"})
    refused = browser.send("/review/decision", {"decision": "approved", "reviewed_by": "A. Officer"})
    assert "It cannot be approved." in refused.text
    assert "✓ Saved" not in refused.text
    assert (
        "✓ Saved: Refused"
        in browser.send("/review/decision", {"reviewed_by": "An officer", "decision": "refused"}).text
    )


def test_certainty_and_lost_use_do_not_look_calm(browser, home):
    zips = {age: "*" if age % 4 else "10001" for age in range(20, 60)}
    page = review_patients(browser, home, zips, {"role-0": "known", "role-1": "known"})
    assert '<p class="wrong">Someone who knows all values that others may know' in page
    assert '<span class="high">! 100%</span>' in page
    assert "<bdi>zip</bdi>: 75% of the cells are stars, so the column is hardly of use." in page


def test_a_review_is_saved_and_opened_again_with_all_fields(browser, published):
    home = published.parent
    browser.send("/review", {"source": "theirs"})
    assert not list(home.glob("*.shoal-review.toml")), "nothing was decided"
    browser.send("/review/attack", {"original": "patients.csv"})
    words = {
        "conditions": "Delete it.",
        "valid_until": "2031-01-31",
        "reviewed_by": 'A. "O" Fficer',
        "notes": "n",
        "title": "T",
        "institution": "I",
        "purpose": "P",
        "recipient": "R",
        "controls": "C",
        "roles": "The board did.",
    }
    page = browser.send("/review/decision", {"reviewed_by": "An officer", "decision": "conditions", **words}).text
    assert "theirs.shoal-review.toml</bdi>, which only you can read" in page
    before = browser.client.get("/review/document").text
    assert "The board did." in before
    (file,) = home.glob("*.shoal-review.toml")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert SECRET not in file.read_text()
    # Another studio knows nothing but the folder.
    browser.studio.review = None
    assert f'name="review" value="{file.name}"' in browser.look("/").text, "it is recent work"
    listed = browser.look("/review").text
    assert "Approved with conditions, " in listed
    assert "valid until 2031-01-31" in listed
    for form in ({"review": file.name}, {"source": "theirs"}):
        browser.studio.review = None
        page = browser.send("/review", form).text
        for name, given in words.items():
            assert re.search(f'name="{name}"[^>]*value="{re.escape(given)}" auto', html.unescape(page)), name
        assert 'value="conditions" checked' in page
        assert re.search(r"ttack “Linking”: \d+ of ", page), "its results, too"
        assert "other figures than when" not in page
        assert browser.client.get("/review/document").text == before
    assert len(list(home.glob("*.shoal-review.toml"))) == 1
    told = CliRunner().invoke(app, ["audit", str(published), "--spec", str(file), "-o", str(home / "again.html")])
    assert told.exit_code == 0, told.stderr
    assert "Delete it." in (home / "again.html").read_text()


def test_a_saved_review_is_not_believed(browser, published):
    home, table = published.parent, published.parent / "alone.csv"
    next(published.glob("release.*")).rename(table)
    page = browser.send("/review", {"source": "alone.csv"}).text
    columns = table.read_text().splitlines()[0].split(",")
    of = page.split('name="of" value="')[1].split('"')[0]
    browser.send("/review/columns", {"of": of, f"role-{columns.index('zip')}": "known"})
    browser.send("/review/decision", {"reviewed_by": "An officer", "decision": "approved"})
    (file,) = home.glob("*.shoal-review.toml")
    saved = file.read_text()
    # The table changes: its decision stays, with a warning, until it is made again.
    table.write_text("\n".join(table.read_text().splitlines()[:-1]) + "\n")
    browser.studio.review = None
    assert "other figures than when this review was saved" in browser.send("/review", {"review": file.name}).text
    assert file.read_text() == saved
    assert (
        "other figures"
        not in browser.send("/review/decision", {"reviewed_by": "An officer", "decision": "refused"}).text
    )
    assert 'decision = "refused"' in file.read_text()
    # Paths and words are checked as typed ones are.
    for old, new in (("alone.csv", "../elsewhere"), ("refused", "perhaps"), ("version = 1", "version = 2"), ("[", "")):
        file.write_text(saved.replace('"approved"', '"refused"').replace(old, new))
        assert browser.send("/review", {"review": file.name}).status_code == 422, new
    assert browser.send("/review", {"review": "../x.shoal-review.toml"}).status_code == 422
    assert browser.look("/review").status_code == 200
    # A larger file than any review is not parsed.
    file.write_text(saved + "#" * 5_000_000)
    assert "larger than 5 MB" in browser.send("/review", {"review": file.name}).text
    assert browser.look("/review").status_code == 200


def test_damaged_files_beside_a_review_do_not_stop_it(browser, published):
    home = published.parent
    (home / "deep.shoal-review.toml").write_text("a = " + "[" * 100_000)
    (home / "deep.shoal.toml").write_text("a = " + "[" * 100_000)
    assert browser.send("/open/project", {"project": "deep.shoal.toml"}).status_code == 422
    browser.send("/review", {"source": "theirs"})
    browser.send("/review/decision", {"decision": "approved", "reviewed_by": "A"})
    file = home / "theirs.shoal-review.toml"
    # Somebody damages the file while the review is open: it is saved again.
    file.write_bytes(b"\xff\xfe")
    assert browser.send("/review/decision", {"decision": "refused", "reviewed_by": "A"}).status_code == 200
    assert 'report.decision = "refused"' in file.read_text()


@pytest.mark.parametrize("private", ["kept", "lost"])
def test_nodes_of_a_hierarchy_are_read_from_their_names_the_private_folder_or_a_chosen_file(browser, home, private):
    zips = [f"1{number:04}" for number in range(9)] * 8
    rows = "\n".join(f"{zips[row]},{'abcd'[row % 4]}" for row in range(72))
    (home / "few.csv").write_text(f"area,disease\n{rows}\n")
    tree = shoal.Hierarchy.from_rows([(one, "north" if int(one) % 2 else "south", "*") for one in zips[:9]])
    tree.to_csv(home / "areas.csv")
    made = {"quasi_identifiers": ["area"], "sensitive": "disease", "k": 4, "coarsen": {"area": shoal.Level(tree, 1)}}
    shoal.anonymize(shoal.io.read(home / "few.csv").cast(str), **made).save(home / "ours")
    if private == "lost":
        (home / "ours.private").rename(home / "elsewhere")
    browser.enter()
    browser.send("/review", {"source": "ours"})
    page = browser.send("/review/attack", {"original": ""}).text
    if private == "lost":
        said = "The cells of 'area' are not understood. If they are nodes of a hierarchy, choose its file"
        assert html.unescape(page).count(said) == 1
        assert "command line" not in page.partition('id="decision"')[0].partition('id="attack"')[2]
        page = browser.send("/review/attack", {"original": "", "hierarchy-0": "areas.csv"}).text
        assert "--hierarchy area=areas.csv" in page
    assert "not understood" not in page
    assert "It needs cells that are the smallest of their groups" in page
    assert "--smallest" not in page.partition('id="decision"')[0]


def test_levels_whose_nodes_list_their_values_need_no_hierarchy(tmp_path):
    levels = shoal.hierarchy.frequency_hierarchy([f"E{number}" for number in range(150) for _ in range(number + 4)])
    assert any("node" in name for names in levels.labels for name in names), "numbered nodes above"
    table = pl.DataFrame({"level": [f"E{row % 150}" for row in range(1500)], "disease": ["a", "b", "c"] * 500})
    made = shoal.anonymize(
        table, quasi_identifiers=["level"], sensitive="disease", k=4, coarsen={"level": shoal.Level(levels, 1)}
    )
    made.save(tmp_path / "ours")
    assert made.public_certificate.to_dict()["parameters"]["coarsen"]["level"]["read_as"] == "text"
    attacked = homogeneity_attack(tmp_path / "ours", targets=table)
    assert attacked.to_dict()["attempts"] == 1500


def test_a_reviewer_says_which_column_identifies_somebody(browser, published):
    (published / "certificate.json").unlink()
    page = browser.send("/review", {"source": "theirs"}).text
    of = page.split('name="of" value="')[1].split('"')[0]
    roles = {"role-0": "known", "role-1": "known", "role-3": "sensitive"}
    page = browser.send("/review/columns", {"of": of, **roles, "role-2": "identifies"}).text
    assert "No release has zip: it identifies persons." in page
    assert "--qi age,gender --sensitive disease" in page
    assert (
        "It cannot be approved."
        in browser.send("/review/decision", {"reviewed_by": "An officer", "decision": "approved"}).text
    )
    assert (
        "✓ Saved: Refused"
        in browser.send("/review/decision", {"reviewed_by": "An officer", "decision": "refused"}).text
    )
    assert "This is no release: zip identifies persons." in browser.client.get("/review/document").text
    browser.studio.review = None
    page = browser.send("/review", {"source": "theirs"}).text
    assert re.search(r'name="role-2".*value="identifies" selected', page)
    assert "No release has zip" in page


def test_the_document_names_the_file_that_was_reviewed(browser, published):
    table = next(published.glob("release.*"))
    browser.send("/review", {"source": "theirs"})
    browser.send("/review/decision", {"reviewed_by": "An officer", "decision": "approved"})
    digest = hashlib.sha256(table.read_bytes()).hexdigest()
    assert f"SHA-256 of {table.name}: <code>{digest}</code>" in browser.client.get("/review/document").text
    # A changed file is only read by its own name: the document says that it is not the certified one.
    table.write_bytes(table.read_bytes() + table.read_bytes().splitlines(keepends=True)[-1])
    page = browser.send("/review", {"source": f"theirs/{table.name}"}).text
    of = page.split('name="of" value="')[1].split('"')[0]
    page = browser.send("/review/columns", {"of": of, "role-0": "known"}).text
    assert "than the cells have: the SHA-256 of the file." in page
    browser.send("/review/decision", {"reviewed_by": "An officer", "decision": "refused"})
    document = browser.client.get("/review/document").text
    assert "than the cells have: the SHA-256 of the file." in document
    assert hashlib.sha256(table.read_bytes()).hexdigest() in document


def test_a_decision_is_about_the_figures_that_were_seen(browser, published):
    columns = next(published.glob("release.*")).read_text().splitlines()[0].split(",")
    page = browser.send("/review", {"source": "theirs"}).text
    assert "Type who decides." in browser.send("/review/decision", {"decision": "refused"}).text
    assert "✓ Saved: Approved" in browser.send("/review/decision", {"decision": "approved", "reviewed_by": "A"}).text
    (file,) = published.parent.glob("*.shoal-review.toml")
    assert 'report.decision = "approved"' in file.read_text()
    of = page.split('name="of" value="')[1].split('"')[0]
    roles = {f"role-{columns.index(name)}": role for name, role in (("age", "known"), ("disease", "known"))}
    page = browser.send("/review/columns", {"of": of, **roles}).text
    assert "Not decided: what is counted or attacked has changed." in page
    assert "The certificate says age, gender and zip; you judged otherwise." in page
    assert "report.decision" not in file.read_text()
    assert browser.client.get("/review/document").status_code == 404
    browser.send("/review/decision", {"decision": "refused", "reviewed_by": "A"})
    # The same roles once more change nothing, an attack does.
    assert "✓ Saved: Refused" in browser.send("/review/columns", {"of": of, **roles}).text
    assert "names age, gender and zip; the reviewer judged otherwise." in browser.client.get("/review/document").text
    assert "Not decided" in browser.send("/review/attack", {"original": ""}).text


def test_what_is_certain_is_not_simply_approved(browser, home):
    review_patients(browser, home, dict.fromkeys(range(20, 60), "10001"), {"role-0": "known", "role-2": "sensitive"})
    decided = {"decision": "approved", "reviewed_by": "A"}
    assert "A record or a value is certain in it." in browser.send("/review/decision", decided).text
    decided |= {"decision": "conditions", "conditions": "Nobody else reads it."}
    assert "✓ Saved: Approved with conditions" in browser.send("/review/decision", decided).text


def test_harmless_columns_that_others_may_know_and_persons_with_several_records_are_counted(browser, home):
    rows = [
        {"number": f"P{row // 2:04}", "age": 20 + row // 2 % 3, "days": 1 + row * row % 31, "disease": f"d{row % 4}"}
        for row in range(120)
    ]
    pl.DataFrame(rows).write_csv(home / "visits.csv")
    roles = {"quasi_identifiers": ["age"], "sensitive": "disease", "insensitive": ["days"]}
    shoal.anonymize(home / "visits.csv", **roles, direct_identifiers=["number"], k=4).save(home / "theirs")
    shutil.rmtree(home / "theirs.private")
    browser.enter()
    page = html.unescape(browser.send("/review", {"source": "theirs"}).text)
    wider = shoal.audit(home / "theirs", quasi_identifiers=["age", "days"], sensitive="disease")
    k = wider.to_dict()["achieved"]["k"]
    assert k < 4
    assert f"calls 'days' harmless, and others may well know that of a person: then the smallest group has {k}," in page
    assert "120 records are of" not in page
    page = browser.send("/review/attack", {"original": "visits.csv"}).text
    assert "120 records are of 60 persons" in page
    browser.send("/review/decision", {"decision": "refused", "reviewed_by": "A"})
    assert "120 records are of 60 persons" in browser.client.get("/review/document").text


def test_the_groups_of_a_series_have_numbers_and_some_the_same_cells(browser, home):
    rows = [f"P{row:04},{'fm'[row % 2]},{10001 + row % 2},d{row % 5}" for row in range(120)]
    (home / "q1.csv").write_text("number,gender,zip,disease\n" + "\n".join(rows) + "\n")
    browser.enter()
    browser.send("/open", {"path": "q1.csv"})
    browser.send("/table", {"do": "next"})
    browser.send("/series/start", {"ledger": "l.db", "name": "s", "identifier": "0", "m": "2", "place": "beside"})
    browser.send("/series", {"series": "s", "do": "publish", "folder": "made"})
    table = pl.read_csv(home / "made/release.csv")
    assert table["group_id"].n_unique() > len(table[["gender", "zip"]].unique())
    page = browser.send("/review", {"source": "made"}).text
    assert "The cells have the figures that the certificate states" in page
    assert "group_id" not in page.partition('id="found"')[2].partition("</section>")[0]
