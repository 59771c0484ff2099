"""The risk of re-identification that a certificate states of persons, if it protects persons with several records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal._core.words import listed, number, percent

PERSON_OUTCOMES = (
    ("highest", "a person is found: the highest probability"),
    ("average", "a person is found: the average over all persons"),
    ("records_above", "persons found with a probability of more than {}"),
    ("sample_uniques", "persons found for certain"),
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
    return (
        "Somebody who knows the quasi-identifiers of all records of a person takes a pseudonym for that "
        f"person's rightly with a probability of at most {percent(figures['highest'])}, and of "
        f"{percent(figures['average'])} on average: {number(linked['units'])} persons are in "
        f"{number(linked['bundles'])} bundles, which publish the same records."
    )


def describe_persons(certificate: Mapping[str, Any]) -> list[str]:
    """Describe the persons of a release and their records for the publisher, and what linking left out.

    Parameters
    ----------
    certificate : mapping
        The full certificate as a dictionary.
    """
    said = [
        (
            f"{number(figures['units'])} ({figures['unit']}) with {number(figures['records'])} records, at most "
            f"{number(figures['most_records'])} of one; in a group at least {number(figures['least_in_group'])}, "
            f"on average {number(figures['average_in_group'])}, and one has at most "
            f"{percent(figures['largest_share'])} of its records"
        )
        for figures in certificate.get("persons", ())
    ]
    linked = certificate["input"].get("linked") or {}
    if linked.get("constant"):
        said.append(f"{listed(linked['constant'])}: constant in all records of each person")
    # Records are left out so that enough persons have equally many, and more of them if values are too frequent.
    fewest = linked.get("fewest_rows_left_out", 0)
    more = linked.get("rows_left_out", 0) - fewest
    if fewest:
        said.append(f"{number(fewest)} records left out, so that enough persons publish equally many")
    if more:
        said.append(f"{number(more)} records left out, because values would be too frequent")
    without = certificate["input"].get("persons_without_rows")
    if without:
        said.append(f"persons without records, left out: {number(without)}")
    return said
