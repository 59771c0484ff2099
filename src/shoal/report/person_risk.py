"""The risk of re-identification that a certificate states of persons, if it protects persons with several records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal._core.language import gettext as _
from shoal._core.language import marked
from shoal._core.words import number, percent

__all__ = ["PERSON_OUTCOMES", "bundle_sentence", "risk_figures"]

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
