"""How objects show themselves in notebooks: one card of HTML for all of them, without a script.

Notebooks are shared with what their cells show. A card of something that is for readers tells no more than the
published table; any other one says that it is private. None shows a cell that is not published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.report.sentences import (
    achieved_for,
    counted,
    found,
    gap_sentence,
    model_title,
    number,
    percent,
    promise,
)
from shoal.report.templating import template

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from shoal.report.facts import PublicFacts

__all__ = [
    "PRIVATE",
    "card",
    "card_of_audit",
    "card_of_certificate",
    "card_of_public_certificate",
    "card_of_release",
    "card_of_risk",
    "card_of_series",
]

_ROWS, _COLUMNS = 5, 12
"""The rows and the columns of a published table that a card shows at most."""
PRIVATE = "This tells more than a published table does. Clear it before you share the notebook."
"""What a card says that is for the publisher only."""
PROOF = "Its proof tells more than the published table does, as the publisher asked for."
"""What the card of a public certificate says that has a proof."""


def card(
    title: str,
    *,
    figures: Sequence[tuple[str, str]] = (),
    sentences: Sequence[str] = (),
    columns: Mapping[str, Sequence[str]] | None = None,
    caption: str = "",
    picture: str = "",
    private: str = "",
) -> str:
    """Return a piece of HTML for the output of a notebook's cell.

    Parameters
    ----------
    title : str
    figures : sequence of pairs
        Names and what they are.
    sentences : sequence of str
        What they mean.
    columns : mapping of str to sequence of str, optional
        A table by the titles of its columns; what stands in the first one names the row.
    caption : str
        What the rows of the table are.
    picture : str
        An SVG element that we drew.
    private : str
        Why the card is for the publisher only; empty where it is for everybody.
    """
    table = columns or {}
    return template("notebook.html.j2").render(
        title=title,
        figures=figures,
        sentences=sentences,
        header=list(table),
        rows=list(zip(*table.values(), strict=True)),
        caption=caption,
        picture=picture,
        private=private,
    )


def card_of_release(facts: PublicFacts, frame: pl.DataFrame) -> str:
    """Return the card of a release: nothing but its public certificate and its table tell it.

    Parameters
    ----------
    facts : PublicFacts
        What the public page says.
    frame : polars.DataFrame
        The published table.
    """
    certificate = facts.certificate
    achieved, cells = certificate["achieved"], facts.rows * len(facts.stars)
    stars = sum(facts.stars.values())
    share = percent(stars / cells if cells else 0)
    figures = [
        *_asked(certificate),
        ("groups", f"{number(achieved['groups'])}, the smallest of {number(achieved['k'])} rows"),
        (
            "suppressed",
            f"{number(stars)} cells ({share}) in {number(facts.starred_rows)} rows",
        ),
        *_risk_after(certificate),
    ]
    return card(
        f"Release of {number(facts.rows)} rows, verified",
        figures=figures,
        sentences=[*_promises(certificate), *_warned(certificate)],
        columns=_head(frame),
        caption=f"The first rows of the published table, {number(frame.width)} columns",
    )


def card_of_series(certificate: Mapping[str, Any], frame: pl.DataFrame) -> str:
    """Return the card of a release of a series, from its public certificate and its table."""
    series = certificate["series"]
    return card(
        f"{series['name']}: release {number(series['release'])}, {number(frame.height)} rows, verified",
        figures=[
            ("asked", model_title(certificate["requested"][0])),
            ("counterfeits", number(certificate["cost"]["counterfeits"])),
        ],
        sentences=[certificate["guarantee"]["text"]],
        columns=_head(frame),
        caption=f"The first rows of the published table, {number(frame.width)} columns",
    )


def card_of_certificate(certificate: Mapping[str, Any]) -> str:
    """Return the card of a full certificate, which is the publisher's."""
    cost, rows = certificate["cost"], certificate["input"]["rows"] - certificate["input"]["rows_left_out"]
    word, changed, touched, _ = counted(cost)
    cells = rows * len(certificate["input"]["quasi_identifiers"])
    share = percent((changed or 0) / cells if cells else 0)
    figures = [
        *_asked(certificate),
        ("groups", number(certificate["achieved"]["groups"])),
        ("cost", f"{number(changed)} {word}, {share} of the cells, in {number(touched)} rows"),
        ("loss", f"{percent(cost['gcp'])} of the information (global certainty penalty)"),
        ("risk", found(certificate["risk"])),
        ("bound", gap_sentence(cost)),
        ("algorithm", f"{certificate['algorithm']}: {certificate['reason']}"),
        ("time", f"{certificate['seconds']['total']:.2f} s"),
    ]
    return card(
        "Certificate of a release",
        figures=[(name, said) for name, said in figures if said],
        sentences=[*_promises(certificate), *_warned(certificate)],
        private=PRIVATE,
    )


def card_of_public_certificate(certificate: Mapping[str, Any]) -> str:
    """Return the card of a public certificate."""
    return card(
        "Public certificate of a release",
        figures=[*_asked(certificate), *_risk_after(certificate)],
        sentences=[*_promises(certificate), *certificate["guarantee"]["reservations"], *_warned(certificate)],
        private=PROOF if "proof" in certificate else "",
    )


def card_of_risk(facts: Mapping[str, Any], sentences: Sequence[str]) -> str:
    """Return the card of a table's risk, which is for the publisher unless the table is published."""
    ranked = [one for one in facts["quasi_identifiers"] if one["separation"] is not None][:_ROWS]
    return card(
        f"Disclosure risk of {number(facts['rows'])} rows",
        figures=[
            ("highest risk", percent(facts["prosecutor"]["highest"])),
            ("average risk", percent(facts["prosecutor"]["average"])),
            ("at too high a risk", f"{percent(facts['prosecutor']['records_above'])} of the rows"),
            ("alone", f"{percent(facts['sample_uniques'])} of the rows"),
        ],
        sentences=sentences,
        columns={
            "columns": [", ".join(one["columns"]) for one in ranked],
            "pairs told apart": [percent(one["separation"]) for one in ranked],
        },
        caption="The columns that tell most rows apart",
        private=f"{PRIVATE} Of a table that is published, it tells nothing else.",
    )


def card_of_audit(facts: Mapping[str, Any]) -> str:
    """Return the card of an audit: what a table achieves, whoever made it, and what it fails."""
    requested, achieved = facts.get("requested", ()), facts["achieved"]
    asked = [(model_title(model), achieved_for(model, achieved)) for model in requested]
    figures = [
        *asked,
        ("groups", f"{number(achieved['groups'])}, the smallest of {number(achieved['k'])} rows"),
        ("alone", f"{number(facts['unique_rows'])} rows"),
        ("suppressed", f"{number(facts['cost']['stars'])} cells in {number(facts['cost']['suppressed_tuples'])} rows"),
    ]
    if facts["risk"] is not None:
        figures += _risk_after({"risk": {"after": facts["risk"]}})
    fails = list(facts.get("violations", ()))
    return card(
        f"Audit of {number(facts['rows'])} rows",
        figures=figures,
        sentences=[
            *(fails or (["The table satisfies what was asked for."] if requested else [])),
            *(f"Warning: {remark['text']}" for remark in facts.get("warnings", ())),
        ],
    )


def _asked(certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
    achieved = certificate["achieved"]
    return [(model_title(model), achieved_for(model, achieved)) for model in certificate["requested"]]


def _promises(certificate: Mapping[str, Any]) -> list[str]:
    sensitive = certificate["columns"]["sensitive"]
    return [promise(model, sensitive) for model in certificate["requested"]]


def _warned(certificate: Mapping[str, Any]) -> list[str]:
    """Return what a privacy officer would raise, as the certificate says it."""
    return [f"Warning: {remark['text']}" for remark in certificate.get("warnings", ())]


def _risk_after(certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
    said = found({when: figures for when, figures in certificate["risk"].items() if when == "after"})
    return [("risk", said)] if said else []


def _head(frame: pl.DataFrame) -> dict[str, list[str]]:
    """Return the first rows of a published table as text."""
    shown = frame.head(_ROWS)
    more = {"...": ["..."] * shown.height} if frame.width > _COLUMNS else {}
    cells = {name: ["" if cell is None else str(cell) for cell in shown[name]] for name in shown.columns[:_COLUMNS]}
    return {"": [str(at) for at in range(1, shown.height + 1)], **cells, **more}
