"""Render pages as single HTML files that need neither a network nor scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

from shoal._core.outcome import reason_of
from shoal._core.private_files import open_beside
from shoal._core.words import listed, number, percent, quote
from shoal.disclosure_risk import MEASURES
from shoal.disclosure_risk.measure_sentences import name_counted, total_of
from shoal.errors import OutputError
from shoal.findings import WARNINGS
from shoal.metrics import METRICS
from shoal.report import sentences
from shoal.report.about import About
from shoal.report.attack_sentences import describe_attack
from shoal.report.facts import (
    AnalystMeasure,
    AttributeConfidence,
    AttributeLoss,
    PublicFacts,
    ReportFacts,
    SizeShare,
    TradeOffFacts,
)
from shoal.report.figures import CountedFigures, read_figures
from shoal.report.remarks import counted, describe_audit, describe_left_out, describe_persons, gap_sentence
from shoal.report.review import collect_review
from shoal.report.sentences import fails_model
from shoal.report.templating import template
from shoal.verification.published_folder import COUNTERFEITS
from shoal.wording import join_warnings, say
from shoal.wording.descriptions import COUNTS_CERTAIN

_EXPLAINED_MEASURES = ("prosecutor", "sample_uniques")
"""The measures of risk that the reports of releases explain."""
_SHOWN_COMBINATIONS = 30
"""Largest number of combinations of columns on the page of a table's risk."""


def render(facts: ReportFacts) -> str:
    """Render the private report of a release as one HTML page.

    Parameters
    ----------
    facts : ReportFacts
        The facts of the release. They hold no cell of the input, so the page shows none.

    Returns
    -------
    str
        A complete HTML document for screens of any width, light and dark, and for paper.
    """
    # The same facts as in the certificate, plus those that only the publisher may see.
    certificate = facts.certificate
    source, rows = certificate["input"], _count_published_rows(certificate)
    return template("release.html.j2").render(
        private=True,
        title=facts.about.title or "Release report",
        beside="report.json",
        names_values=bool(facts.distributions),
        facts=facts,
        source=source,
        cells=rows * len(source["quasi_identifiers"]),
        left_out=[said] if (said := describe_left_out(source)) else (),
        rows_out=rows,
        measures=_list_measures(facts.metrics),
        utility=[_describe_utility(one) for one in facts.utility],
        **_collect_request(certificate, source, facts.insensitive),
        average_rows=[(one.name, one.average_before, one.average_after) for one in facts.sureness],
        highest_rows=[(one.name, one.highest_before, one.highest_after) for one in facts.sureness],
        size_rows=size_rows(facts),
        coarsened=any(one.coarsened for one in facts.losses),
        most_lost=_select_largest_losses(facts.losses),
        attacks=[collect_attack(one) for one in facts.attacks],
        **_collect_risk(certificate, source["quasi_identifiers"], rows, facts.sureness),
        persons=describe_persons(certificate),
        **collect_review(certificate, facts.attacks),
        **_collect_cost(certificate["cost"]),
    )


def render_public(facts: PublicFacts) -> str:
    """Render the public report of a release as one HTML page.

    Parameters
    ----------
    facts : PublicFacts
        Facts that derive from the public certificate and the published table alone.
    """
    certificate = facts.certificate
    # Only the public certificate and the published table are used.
    columns, parameters = certificate["columns"], certificate["parameters"]
    return template("public.html.j2").render(
        private=False,
        names_values=False,
        title=facts.about.title or "Release report",
        beside="report.json",
        facts=facts,
        columns=columns,
        coarsened=[name for columns in parameters["coarsen"] for name in (columns, *columns.split(","))],
        stars=sum(facts.stars.values()),
        cells=facts.rows * len(columns["quasi_identifiers"]),
        measures=_list_measures(facts.metrics),
        reading=sentences.reading(parameters),
        left_out=sentences.left_out(parameters),
        limit_warnings=say("limit_warnings"),
        prepared={name: parameters[name] for name in ("coarsen", "hierarchies") if parameters.get(name)},
        **_collect_request(certificate, columns, columns["insensitive"]),
        **_collect_risk(certificate, columns["quasi_identifiers"], facts.rows, ()),
        **(_collect_cost(certificate["cost"]) if "cost" in certificate else {"cost": None}),
    )


def render_publication(certificate: Mapping[str, Any], *, private: bool) -> str:
    """Render the report of one release of a series as one HTML page.

    Parameters
    ----------
    certificate : mapping
        The certificate as a dictionary. It holds no cell of the input, so the page shows none.
    private : bool
        Whether it is the full certificate, for the publisher, or the public one.
    """
    # A release of a series has counterfeits, which are rows without a person.
    series, files = certificate["series"], certificate["output"]["files"]
    rows = int(sum(file["rows"] for name, file in files.items() if name != COUNTERFEITS))
    people = rows - certificate["cost"]["counterfeits"]
    return template("publication.html.j2").render(
        private=private,
        title=f"{series['name']}: release {series['release']}",
        guarantee=certificate["guarantee"]["text"],
        beside="certificate.json",
        names_values=False,
        certificate=certificate,
        left_out=describe_left_out(certificate["input"]) if private else "",
        warnings=certificate.get("published_despite", []) if private else [],
        series=series,
        columns=certificate["columns"],
        m=certificate["parameters"]["m"],
        cost=certificate["cost"],
        achieved=certificate["achieved"],
        people=people,
        rows=rows,
        **_collect_risk(certificate, certificate["columns"]["quasi_identifiers"], rows, (), people=people),
    )


def render_risk(facts: Mapping[str, Any], *, title: str) -> str:
    """Render the disclosure risk of a table as one HTML page.

    Parameters
    ----------
    facts : mapping
        `shoal.results.Risk.to_dict()`. It holds no cell of the table, so the page shows none.
    title : str
        The heading.
    """
    ranked = facts["quasi_identifiers"]
    return template("risk.html.j2").render(
        title=title,
        facts=facts,
        total=total_of(facts),
        rests_on=say("rests_on_records" if facts["unit"] is None else "rests_on_persons"),
        # Sentences of all measures that were computed.
        measured=[
            (measure, sentence)
            for one in (facts, *facts["further"])
            for measure in MEASURES
            if measure.name != "identifiers" and (sentence := measure.sentence(one)) is not None
        ],
        combinations=ranked[:_SHOWN_COMBINATIONS],
        more=max(len(ranked) - _SHOWN_COMBINATIONS, 0),
    )


def write_report(page: str, path: str | PathLike[str], *, private: bool) -> None:
    """Write a page to a file; an existing file is replaced.

    Parameters
    ----------
    page : str
        The page.
    path : path
        The file.
    private : bool
        Whether only its owner may read the file.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    try:
        with open_beside(path, private=private) as file:
            file.write(page)
    except OSError as error:
        raise OutputError(f"The report cannot be written to '{path}': {reason_of(error)}.") from error


def _collect_request(
    certificate: Mapping[str, Any], columns: Mapping[str, Sequence[str]], insensitive: Sequence[str]
) -> dict[str, Any]:
    """Collect the request and its achieved values, for both pages."""
    requested, missing_person = certificate["requested"], certificate["parameters"].get("missing_person")
    return {
        "asked_for": "; ".join(sentences.model_title(request) for request in requested),
        "certificate": certificate,
        "achieved": certificate["achieved"],
        "guarantee": certificate.get("guarantee") or {},
        "promises": [
            (
                sentences.model_title(request),
                sentences.promise(request, columns["sensitive"]),
                sentences.achieved_for(request, certificate["achieved"]),
            )
            for request in requested
        ],
        "unguarded": "" if sentences.guards_values(requested) else f"; {say('unguarded')}",
        "protections": sentences.protections(requested, columns["quasi_identifiers"], missing_person),
        "reservations": sentences.reservations(requested, columns["quasi_identifiers"], insensitive, missing_person),
    }


def _collect_risk(
    certificate: Mapping[str, Any],
    known: Sequence[str],
    rows: int,
    sureness: Sequence[AttributeConfidence],
    *,
    people: int | None = None,
) -> dict[str, Any]:
    """Collect the figures of disclosure risk, their meanings and their assumptions.

    In a series the original has as many rows as persons; the release has counterfeits in addition.
    """
    figures = read_figures(certificate)
    explained = [one for one in MEASURES if one.name in _EXPLAINED_MEASURES]
    # Each measure explains its figure for the original and for the release.
    told: dict[str, list[str | None]] = {}
    for when, risk in figures.risk.items():
        of_rows = people if when == "before" and people is not None else rows
        facts = {**figures.kinds[0], "rows": of_rows, "columns": known, "prosecutor": risk}
        if figures.of == "bundles":
            told[when] = [say("risk_of_bundles", **facts, **risk)]
        else:
            told[when] = [one.sentence({**facts, "sample_uniques": risk["sample_uniques"]}) for one in explained]
    return {
        "risk": figures.risk,
        "risk_rows": list(_iterate_risk_rows(certificate, sureness)),
        "both": "before" in figures.risk,
        "found": told,
        "of_persons": figures.of != "records",
        "explained": explained,
        "rests_on": say(f"rests_on_{figures.about}"),
        "sensitive_shown": _SENSITIVE_SHOWN,
        "warned": _group_by_kind(certificate.get("warnings") or ()),
    }


def _group_by_kind(warnings: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, list[str]]]:
    """Group warnings by kind: title, reason, and the texts of all warnings of the kind."""
    # Warnings of one kind share its title and its reason.
    kinds: dict[str, list[str]] = {}
    for code, text in join_warnings(warnings):
        kinds.setdefault(code, []).append(text)
    return [
        (WARNINGS[code].title, WARNINGS[code].why, texts) if code in WARNINGS else (code, "", texts)
        for code, texts in kinds.items()
    ]


_LOSSES_SHOWN = 12
"""Largest number of columns on the first sheet, those with the largest loss first."""
_SENSITIVE_SHOWN = 3
"""Largest number of sensitive columns in the figure of risk, those with the highest confidence first."""
_OUTCOMES = (
    ("highest", "a {noun} is found{by}: the highest probability"),
    ("average", "a {noun} is found{by}: the average over all {noun}s"),
    ("records_above", "{noun}s found{by} with a probability of more than {above}"),
    ("sample_uniques", "{noun}s found{by} for certain"),
)
"""Outcomes of re-identification by figure: their probability, or the share of records or persons that they apply to."""


def _list_outcomes(figures: CountedFigures) -> list[tuple[str, float | None, float]]:
    """List outcomes of re-identification with their probabilities before, None if not measured, and after."""
    after, before = figures.after, figures.risk.get("before", {})
    by = " from one record" if figures.of == "persons" and figures.several else ""
    words = {"noun": figures.noun, "above": percent(after.get("threshold", 0)), "by": by}
    return [(label.format(**words), before.get(name), after[name]) for name, label in _OUTCOMES if name in after]


def _iterate_risk_rows(
    certificate: Mapping[str, Any], sureness: Sequence[AttributeConfidence]
) -> Iterator[tuple[str, float | None, float]]:
    """Yield outcomes of attacks with their probabilities before, None if not measured, and after."""
    figures = read_figures(certificate)
    yield from _list_outcomes(figures)
    if figures.of == "bundles" or not figures.after:
        # Shares of records would understate what is known of linked persons; the promises state l of persons.
        return
    # Of many sensitive columns those with the highest confidence are shown, in the order of the release.
    worst = sorted(sureness, key=lambda one: (-one.highest_after, -one.average_after))[:_SENSITIVE_SHOWN]
    by = " from one record of the person" if figures.several else ""
    for one in sureness:
        if one in worst:
            guessed = f"the value of '{one.name}' is guessed rightly"
            yield f"{guessed}{by}: the highest probability", one.highest_before, one.highest_after
            yield f"{guessed}{by}: the average over all records", one.average_before, one.average_after
            if figures.surest is not None:
                together = f"{guessed} from all records of the person together: the highest probability"
                yield together, None, figures.kinds[0]["confidence"][one.name]["largest"]
    # Certificates without the original still bound the confidence after publication.
    alpha = certificate["achieved"].get("alpha")
    if not sureness and alpha is not None:
        what = listed([*map(quote, certificate.get("columns", {}).get("sensitive", ()))], "or")
        yield f"the value of {what} is guessed rightly{by}: the highest probability", None, alpha


def risk_rows(facts: ReportFacts) -> list[tuple[str, float | None, float]]:
    """List outcomes of attacks with their probabilities before and after: the rows of the figure of risk."""
    return list(_iterate_risk_rows(facts.certificate, facts.sureness))


def size_rows(facts: ReportFacts) -> list[tuple[str, float, float]]:
    """List ranges of group sizes with the shares of the records in them, before and after."""
    return [(_format_sizes(one), one.before, one.after) for one in facts.sizes]


def _format_sizes(shares: SizeShare) -> str:
    if shares.low == shares.high:
        return number(shares.low)
    return f"{number(shares.low)} to {number(shares.high)}"


def _select_largest_losses(losses: Sequence[AttributeLoss]) -> list[AttributeLoss]:
    """Select the columns of the first sheet, in their order."""
    # The largest losses are selected, but shown in the order of the release.
    most = sorted(losses, key=lambda one: (-one.loss, -one.changed))[:_LOSSES_SHOWN]
    return [one for one in losses if one in most]


def list_rates(facts: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """List the rates of an attack, of guessing, and of the attack on other people, each with a label."""
    guessing = "someone who guesses by what is published of the whole table"
    others = "the same attack on people who are not in the release"
    if facts["attack"] == "refinement":
        guessing = "the same without knowing the method"
        others = "the same claims about a table drawn from what is published"
    if facts["attack"] == "singling-out":
        guessing = "random descriptions that fit as rarely"
    guessed = None if facts["attack"] in COUNTS_CERTAIN else facts["baseline"]
    labelled = (("the attack", facts), (guessing, guessed), (others, facts["control"]))
    return [(name, one) for name, one in labelled if one is not None and one["rate"] is not None]


def list_column_rates(facts: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """List the rates of an attack on each of several sensitive columns, in descending order, with labels.

    Linking also has rates of a single sensitive column: the shares of persons whose value is certain.
    """
    # Linking reports values in addition to records.
    values = facts.get("values_of_each") or [facts["values"]] if facts.get("values") else ()
    each = [one for one in values or facts.get("each") or () if "sensitive" in one]
    shown = sorted((one for one in each if one["rate"] is not None), key=lambda one: -one["rate"])
    return [(_format_columns(one["sensitive"]), one) for one in shown]


def _format_columns(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    if len(names) > _MAX_COLUMNS_NAMED:
        return f"all {number(len(names))} together"
    return f"together: {listed(names)}"


_MAX_COLUMNS_NAMED = 4
"""Largest number of columns that a table row names."""


def collect_attack(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Collect the content of the page for the result of an attack."""
    from shoal.attacks import ATTACKS

    # The figures of the attack are formatted by the template.
    attack = ATTACKS[facts["attack"]]
    return {
        "title": attack.title,
        "meaning": attack.meaning,
        "plain": describe_attack(facts),
        "columns": facts["quasi_identifiers"],
        "attempts": facts["attempts"],
        "rates": list_rates(facts),
        "attacked": facts.get("sensitive") or (),
        "each": list_column_rates(facts),
        "values": facts.get("values") is not None,
        "unmatched": facts.get("not_covered", 0),
        "not_measured": [(_format_columns(one["sensitive"]), one["why"]) for one in facts.get("not_measured", ())],
    }


def _collect_cost(cost: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "cost": cost,
        "bound": cost.get("lower_bound") or {},
        "shown": counted(cost),
        "gap": gap_sentence(cost),
    }


def _count_published_rows(certificate: Mapping[str, Any]) -> int:
    # A certificate that was not saved has no output, so the input counts.
    written = [file["rows"] for file in certificate.get("output", {}).get("files", {}).values() if "rows" in file]
    if written:
        return int(sum(written))
    return int(certificate["input"]["rows"] - certificate["input"].get("rows_left_out", 0))


def _list_measures(metrics: Mapping[str, float | int | None]) -> list[tuple[str, str, str]]:
    """List the measures beyond the cost section with their names, meanings and values."""
    rows = []
    for name, value in metrics.items():
        metric = METRICS[name]
        if value is not None and not metric.of_cost:
            title = metric.title
            rows.append((title[0].upper() + title[1:], metric.meaning, number(value)))
    return rows


def _describe_utility(measure: AnalystMeasure) -> tuple[str, str, str, str]:
    """Return the title, the meaning or the reason why there is no value, the value and the best value."""
    title = measure.title
    said = measure.meaning if measure.reason is None else f"Not measured: {measure.reason}."
    value = "" if measure.value is None else number(measure.value)
    return title[0].upper() + title[1:], said, value, number(measure.best)


def render_trade_off(facts: Mapping[str, Any], told: TradeOffFacts) -> str:
    """Render the candidates of an exploration as one HTML page.

    Parameters
    ----------
    facts : mapping
        `Exploration.to_dict()`. It holds no cell of the input, so the page shows none.
    told : TradeOffFacts
        Its sentences, its table and its figure.
    """
    return template("trade_off.html.j2").render(
        title=told.title,
        facts=facts,
        told=told,
        able=[row for row in facts["rows"] if row["loss_by_column"] is not None],
        failed=[row for row in facts["rows"] if row["error"] is not None],
        columns=facts["quasi_identifiers"],
    )


_GROUPS = 50
"""Largest number of failing groups that a page shows for each model."""


def render_audit(
    facts: Mapping[str, Any],
    *,
    title: str,
    about: About | None = None,
    attacks: Sequence[Mapping[str, Any]] = (),
    failed: Sequence[tuple[str, str]] = (),
    removed: Sequence[str] = (),
    checked: Mapping[str, Any] | None = None,
) -> str:
    """Render the audit of a table as one HTML page, with numbers and sizes of failing groups, but no cell.

    Parameters
    ----------
    facts : mapping
        `shoal.results.Audit.to_dict()`.
    title : str
        The heading, which names the table; it stands below a title of `about`.
    about : About, optional
        The words of the page; with a decision, the page has a sheet for it.
    attacks : sequence of mapping
        Results of attacks on the table, as `AttackResult.to_dict()`.
    failed : sequence of (str, str)
        The names of attacks that could not run, with their reasons.
    removed : sequence of str
        The columns of the original that are not published, if they are known.
    checked : mapping, optional
        "known", the quasi-identifiers; "stated", those of the certificate if the reviewer took others; "certified",
        whether a certificate was compared with the cells; "different", its figures that the cells do not have; "raw",
        columns that identify persons; "suspected", a sentence about harmless columns that others may know; and "files",
        the SHA-256 of each file of the table.
    """
    from shoal.attacks import ATTACKS

    about, figures = about or About(), read_figures(facts)
    # A model that fails for some attribute or set fails as a whole.
    failures = facts.get("failures", ())
    return template("audit.html.j2").render(
        title=about.title or title,
        subject=title,
        facts=facts,
        removed=removed,
        checked=checked,
        about=about.dated() if about.decision else about,
        attacks=[collect_attack(one) for one in attacks],
        failed=[
            (listed([ATTACKS[name].title for name, other in failed if other == reason]), reason)
            for reason in dict.fromkeys(reason for _name, reason in failed)
        ],
        **collect_review(facts, attacks),
        achieved=facts["achieved"],
        remarks=describe_audit(facts),
        verdicts=[
            (
                sentences.model_title(model),
                sentences.achieved_for(model, facts["achieved"]),
                not fails_model(model, failures),
            )
            for model in facts.get("requested", ())
        ],
        failures=[(sentences.model_title({**one["model"], **_set_of(one)}), one) for one in failures[:_GROUPS]],
        most=_GROUPS,
        counted=figures,
        risk_rows=_list_outcomes(figures),
    )


def _set_of(failure: Mapping[str, Any]) -> dict[str, Any]:
    """Return the set of quasi-identifiers of a failure as the part of a requested model, if it has one."""
    return {"columns": failure["columns"]} if "columns" in failure else {}


def render_attack(facts: Mapping[str, Any], *, title: str, said: Sequence[str], attack: Mapping[str, str]) -> str:
    """Render the result of an attack as one HTML page: its rate, the baseline and the control, without any person.

    Parameters
    ----------
    facts : mapping
        `AttackResult.to_dict()`.
    title : str
        The heading.
    said : sequence of str
        The result, in sentences.
    attack : mapping of str to str
        "title", "meaning", "assumptions", "formula" and "reference" of the attack.
    """
    return template("attack.html.j2").render(
        title=title,
        facts=facts,
        said=said,
        attack=attack,
        rates=list_rates(facts),
        each=list_column_rates(facts),
    )


PERSON_QUESTION = "Does each row stand for one person?"
"""The first question of an inspection, because groups count rows."""
PERSON_ANSWER = "Several rows seem to be of one person."
"""The answer in its place if the table shows it."""
ROLES = (
    ("person", "Person", "whose record each row is; never published"),
    ("direct_identifier", "Direct identifier", "never published"),
    ("quasi_identifier", "Quasi-identifier", "what others may know of a person"),
    ("sensitive", "Sensitive", "what must not be linked to a person"),
    ("insensitive", "Insensitive", "published as it is"),
)
"""The roles in the order of presentation, with their meanings."""
_PAIRS = 15
"""Largest number of pairs of columns on the page."""


def render_inspection(facts: Mapping[str, Any], *, file: str | None = None) -> str:
    """Render an inspection as one HTML page.

    Parameters
    ----------
    facts : mapping
        `Inspection.to_dict()`.
    file : str, optional
        The name of the table's file.
    """
    return template("inspection.html.j2").render(
        facts=facts,
        title=file or "A table",
        file=file or "INPUT",
        roles=ROLES,
        by_separation=sorted(facts["columns"], key=lambda column: -(column["separation"] or 0.0)),
        pairs=pairs_of(facts, _PAIRS),
        person=person_sentences(facts),
        risk=risk_sentences(facts),
        read=how_it_was_read(facts),
        warned=[text for _code, text in join_warnings(facts["warnings"])],
        shown_values=any("values" in column for column in facts["columns"]),
    )


def person_sentences(facts: Mapping[str, Any]) -> list[str]:
    """List the question whether each row stands for one person or its answer, the evidence, and what the proposal does.

    Parameters
    ----------
    facts : mapping
        `Inspection.to_dict()`.
    """
    # The question stays even without evidence against it.
    person = facts["person"]
    if not person["evidence"]:
        return [person["question"], "No column suggests otherwise, but only you know."]
    found = [f"{one['text']}." for one in person["evidence"]]
    then = (
        "A group of several rows may then be one person alone: make it one row per person."
        if person["column"] is None
        else f"The proposal names '{person['column']}' as the person of each row, so that groups count persons."
    )
    return [person["question"], *found, then]


def pairs_of(facts: Mapping[str, Any], most: int) -> list[Mapping[str, Any]]:
    """Select the pairs of columns that separate most records."""
    return [one for one in facts["combinations"] if len(one["columns"]) == 2][:most]


def risk_sentences(facts: Mapping[str, Any]) -> list[str]:
    """Describe the risk by the proposed quasi-identifiers, in sentences.

    Parameters
    ----------
    facts : mapping
        `Inspection.to_dict()`.
    """
    risk = {"rows": facts["rows"], **facts["risk"]}
    if not risk["quasi_identifiers"]:
        return ["No column is taken for a quasi-identifier: no one could be recognized by what is published."]
    # Many columns are not repeated in the sentence.
    known = listed(risk["quasi_identifiers"]) if len(risk["quasi_identifiers"]) <= 12 else "the quasi-identifiers above"
    what, total = name_counted(risk, 1), total_of(risk)
    some, others = name_counted(risk, 2), number(risk["smallest_class"] - 1)
    # Zero is a statement of its own, followed by the next interesting figure.
    alone = (
        f"{number(round(risk['sample_uniques'] * total))} of {number(total)} {some} would share {known} with no other"
        if risk["sample_uniques"]
        else f"each of {number(total)} {some} would share {known} with at least {others} others"
    )
    below = number(round(risk["below_k"] * total)) if risk["below_k"] else "none"
    fewer = number(risk["k"] - 1)
    groups = f"If all columns were published as they are, {alone}, and {below} with fewer than {fewer} others."
    # The prosecutor's risk, for an adversary who knows that the person is in the table.
    chance = (
        f"Someone who knows that of a person in the table would find the right {what} with a probability of "
        f"{percent(risk['average'])} on average. A release makes these columns less precise, which lowers that."
    )
    if risk.get("unit") is not None:
        return [groups, chance, f"These figures count persons, whom '{risk['unit']}' identifies by the proposal."]
    return [groups, chance]


def how_it_was_read(facts: Mapping[str, Any]) -> list[str]:
    """Describe how a file was read, as parts of a sentence."""
    # Names for invisible or small characters.
    delimiter = {"\t": "a tab", ",": "a comma", ";": "a semicolon", "|": "a bar"}
    said = []
    if facts["encoding"] is not None:
        said.append(f"encoding {facts['encoding']}")
    if facts["delimiter"] is not None:
        separator = delimiter.get(facts["delimiter"], repr(facts["delimiter"]))
        said.append(f"fields separated by {separator}")
    if facts["sheet"] is not None:
        said.append(f"sheet '{facts['sheet']}'")
    if facts["header_row"] is not None:
        said.append(f"names of columns in row {facts['header_row']}")
    if facts["decimal"] is not None:
        said.append("decimals behind a comma")
    return said
