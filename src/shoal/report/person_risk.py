"""The risk of re-identification that a certificate states of persons, if it protects persons with several records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal._core.language import gettext as _
from shoal._core.language import marked
from shoal._core.words import listed, number, percent

__all__ = ["PERSON_OUTCOMES", "bundle_sentence", "describe_persons", "risk_figures"]

PERSON_OUTCOMES = (
    ("highest", marked("a person is found: the highest probability")),
    ("average", marked("a person is found: the average over all persons")),
    ("records_above", marked("persons found with a probability of more than {}")),
    ("sample_uniques", marked("persons found for certain")),
)
"""Outcomes of re-identification by figure, as for records."""


def risk_figures(certificate: Mapping[str, Any]) -> tuple[Mapping[str, Mapping[str, Any]], str]:
    """Return the figures of risk before and after, and what they count: "records", "persons" or "bundles".

    The persons of a release whose rows are not linked are known to the publisher only; a public certificate then has
    the figures of records. Bundles follow from the published table: a person is one of b with a probability of 1 / b.

    Parameters
    ----------
    certificate : mapping
        A certificate as a dictionary, public or private.

    Examples
    --------
    >>> linked = {"achieved": {"linked": {"units": 10, "bundles": 2, "k": 4}}}
    >>> risk_figures(linked)
    ({'after': {'highest': 0.25, 'average': 0.2}}, 'bundles')
    """
    linked = certificate["achieved"].get("linked")
    if linked is not None:
        return {"after": {"highest": 1 / linked["k"], "average": linked["bundles"] / linked["units"]}}, "bundles"
    persons = certificate.get("persons") or ()
    if persons and "risk_before" in persons[0]:
        return {"before": persons[0]["risk_before"], "after": persons[0]["risk"]}, "persons"
    return certificate.get("risk") or {}, "records"


def bundle_sentence(certificate: Mapping[str, Any]) -> str:
    """Describe the risk of the persons of a release of linked rows."""
    linked = certificate["achieved"]["linked"]
    figures = risk_figures(certificate)[0]["after"]
    return _(
        "Somebody who knows the quasi-identifiers of all records of a person takes a pseudonym for that person's "
        "rightly with a probability of at most {highest}, and of {average} on average: {persons} persons are in "
        "{bundles} bundles, which publish the same records."
    ).format(
        highest=percent(figures["highest"]),
        average=percent(figures["average"]),
        persons=number(linked["units"]),
        bundles=number(linked["bundles"]),
    )


def describe_persons(certificate: Mapping[str, Any]) -> list[str]:
    """Describe the persons of a release and their records for the publisher, and what linking left out.

    Parameters
    ----------
    certificate : mapping
        The full certificate as a dictionary.
    """
    said = [
        _(
            "{units} ({unit}) with {records} records, at most {most} of one; in a group at least {least}, on average "
            "{average}, and one has at most {share} of its records"
        ).format(
            units=number(figures["units"]),
            unit=figures["unit"],
            records=number(figures["records"]),
            most=number(figures["most_records"]),
            least=number(figures["least_in_group"]),
            average=number(figures["average_in_group"]),
            share=percent(figures["largest_share"]),
        )
        for figures in certificate.get("persons", ())
    ]
    linked = certificate["input"].get("linked") or {}
    if linked.get("constant"):
        said.append(_("{columns}: constant in all records of each person").format(columns=listed(linked["constant"])))
    # Records are left out so that enough persons have equally many, and more of them if values are too frequent.
    fewest = linked.get("fewest_rows_left_out", 0)
    more = linked.get("rows_left_out", 0) - fewest
    if fewest:
        said.append(
            _("{count} records left out, so that enough persons publish equally many").format(count=number(fewest))
        )
    if more:
        said.append(_("{count} records left out, because values would be too frequent").format(count=number(more)))
    without = certificate["input"].get("persons_without_rows")
    if without:
        said.append(_("persons without records, left out: {count}").format(count=number(without)))
    return said
