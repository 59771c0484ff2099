"""The cards of releases, certificates, risks and audits.

Notebooks are shared together with their outputs. A card of a public object reveals no more than the published table;
any other card is labelled as private. No card shows an unpublished cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from shoal._core.words import number, percent
from shoal.disclosure_risk.measure_sentences import name_counted
from shoal.report.card import Card
from shoal.report.facts import PublicFacts
from shoal.report.figures import read_figures
from shoal.report.remarks import counted, describe_left_out, gap_sentence
from shoal.report.sentences import achieved_for, found, model_title, promise
from shoal.wording import join_warnings, say

_ROWS, _COLUMNS = 5, 12
"""Largest numbers of rows and columns of a published table on a card."""
PRIVATE = "This tells more than a published table does. Clear it before you share the notebook."
"""Label of cards that are for the publisher only."""
PROOF = "Its proof tells more than the published table does, as the publisher asked for."
"""Label of the card of a public certificate with a proof."""


def card_of_release(facts: PublicFacts, frame: pl.DataFrame) -> Card:
    """Make the card of a release from its public certificate and its table alone.

    Parameters
    ----------
    facts : PublicFacts
        The content of the public page.
    frame : polars.DataFrame
        The published table.
    """
    certificate = facts.certificate
    # Figures come from the certificate, so the card and the page agree.
    achieved, cells = certificate["achieved"], facts.rows * len(facts.stars)
    stars = sum(facts.stars.values())
    share = percent(stars / cells if cells else 0)
    figures = [
        *_list_achieved(certificate),
        ("groups", f"{number(achieved['groups'])}, the smallest of {number(achieved['k'])} rows"),
        *([("suppressed", f"{number(stars)} cells ({share}) in {number(facts.starred_rows)} rows")] if stars else []),
        *_risk_after(certificate),
        # Even their number may depend on what the table does not reveal.
        ("warnings", "for you alone: see the attribute warnings"),
    ]
    return Card(
        title=f"Release of {number(facts.rows)} rows, verified",
        figures=figures,
        sentences=[*_promises(certificate), say("limit_one_release"), *_warned(certificate)],
        columns=_head(frame),
        caption=f"The first rows of the published table, {number(frame.width)} columns",
    )


def card_of_series(certificate: Mapping[str, Any], frame: pl.DataFrame) -> Card:
    """Make the card of a release of a series, from its public certificate and its table."""
    series = certificate["series"]
    return Card(
        title=f"{series['name']}: release {number(series['release'])}, {number(frame.height)} rows, verified",
        figures=[
            ("asked", model_title(certificate["requested"][0])),
            ("counterfeits", number(certificate["cost"]["counterfeits"])),
        ],
        sentences=[certificate["guarantee"]["text"]],
        columns=_head(frame),
        caption=f"The first rows of the published table, {number(frame.width)} columns",
    )


def card_of_certificate(certificate: Mapping[str, Any]) -> Card:
    """Make the card of a full certificate, which is for the publisher."""
    cost, rows = certificate["cost"], certificate["input"]["rows"] - certificate["input"]["rows_left_out"]
    # The cost is counted in stars or in recoded cells.
    word, changed, touched, _ = counted(cost)
    cells = rows * len(certificate["input"]["quasi_identifiers"])
    share = percent((changed or 0) / cells if cells else 0)
    figures = [
        *_list_achieved(certificate),
        ("groups", number(certificate["achieved"]["groups"])),
        ("left out", describe_left_out(certificate["input"])),
        ("cost", f"{number(changed)} {word}, {share} of the cells, in {number(touched)} rows"),
        ("loss", f"{percent(cost['gcp'])} of the information (global certainty penalty)"),
        ("risk", found(read_figures(certificate))),
        ("bound", gap_sentence(cost)),
        ("algorithm", f"{certificate['algorithm']}: {certificate['reason']}"),
        ("time", f"{certificate['seconds']['total']:.2f} s"),
    ]
    return Card(
        title="Certificate of a release",
        figures=[(name, said) for name, said in figures if said],
        sentences=[*_promises(certificate), *_warned(certificate)],
        private=PRIVATE,
    )


def card_of_public_certificate(certificate: Mapping[str, Any]) -> Card:
    """Make the card of a public certificate."""
    guarantee = certificate["guarantee"]
    return Card(
        title="Public certificate of a release",
        figures=[*_list_achieved(certificate), *_risk_after(certificate)],
        sentences=[guarantee["text"], *guarantee["reservations"], *_warned(certificate)],
        private=PROOF if "proof" in certificate else "",
    )


def card_of_risk(facts: Mapping[str, Any], sentences: Sequence[str]) -> Card:
    """Make the card of a table's risk, which is for the publisher unless the table is published."""
    noun = name_counted(facts, 2, "row")
    # The columns that separate most pairs of records.
    ranked = [one for one in facts["quasi_identifiers"] if one["separation"] is not None][:_ROWS]
    return Card(
        title=f"Disclosure risk of {number(facts['rows'])} rows",
        figures=[
            ("highest risk", percent(facts["prosecutor"]["highest"])),
            ("average risk", percent(facts["prosecutor"]["average"])),
            ("at too high a risk", f"{percent(facts['prosecutor']['records_above'])} of the {noun}"),
            ("alone", f"{percent(facts['sample_uniques'])} of the {noun}"),
        ],
        sentences=sentences,
        columns={
            "columns": [", ".join(one["columns"]) for one in ranked],
            "pairs told apart": [percent(one["separation"]) for one in ranked],
        },
        caption="The columns that tell most rows apart",
        private=f"{PRIVATE} Of a table that is published, it tells nothing else.",
    )


def card_of_audit(facts: Mapping[str, Any]) -> Card:
    """Make the card of an audit: the achieved privacy of a table of any origin, and its failures."""
    # Without requested models an audit only measures.
    requested, achieved = facts.get("requested", ()), facts["achieved"]
    asked = [(model_title(model), achieved_for(model, achieved)) for model in requested]
    figures = [
        *asked,
        ("groups", f"{number(achieved['groups'])}, the smallest of {number(achieved['k'])} rows"),
        ("alone", f"{number(facts['unique_rows'])} rows"),
        ("suppressed", f"{number(facts['cost']['stars'])} cells in {number(facts['cost']['suppressed_tuples'])} rows"),
        *_risk_after(facts),
    ]
    fails = list(facts.get("violations", ()))
    return Card(
        title=f"Audit of {number(facts['rows'])} rows",
        figures=figures,
        sentences=[
            *(fails or (["The table satisfies what was asked for."] if requested else [])),
            *_warned(facts),
        ],
    )


def _list_achieved(certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
    achieved = certificate["achieved"]
    return [(model_title(model), achieved_for(model, achieved)) for model in certificate["requested"]]


def _promises(certificate: Mapping[str, Any]) -> list[str]:
    sensitive = certificate["columns"]["sensitive"]
    return [promise(model, sensitive) for model in certificate["requested"]]


def _warned(certificate: Mapping[str, Any]) -> list[str]:
    """List the warnings of a certificate or an audit."""
    return [f"Warning: {text}" for _, text in join_warnings(certificate.get("warnings", ()))]


def _risk_after(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    said = found(read_figures(facts))
    return [("risk", said)] if said else []


def _head(frame: pl.DataFrame) -> dict[str, list[str]]:
    """Convert the first rows of a published table to text."""
    shown = frame.head(_ROWS)
    # Further columns are indicated by dots.
    more = {"...": ["..."] * shown.height} if frame.width > _COLUMNS else {}
    cells = {name: ["" if cell is None else str(cell) for cell in shown[name]] for name in shown.columns[:_COLUMNS]}
    return {"": [str(at) for at in range(1, shown.height + 1)], **cells, **more}
