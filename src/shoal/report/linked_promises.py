"""Explain what models promise to persons whose records are published together, and for lists of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from shoal._core.words import number, percent


def share_text(share: object) -> str:
    """Format a share as it stands in a certificate."""
    return percent(float(share)) if isinstance(share, int | float) else str(share)


def promise_to_linked_persons(request: Mapping[str, Any], what: str) -> str:
    """Explain the guarantee of a requested model for persons whose records are linked.

    Parameters
    ----------
    request : mapping
        One entry of the certificate's "requested".
    what : str
        The sensitive attributes, as they stand in a sentence.
    """
    said = []
    if "k" in request:
        k = number(request["k"])
        said.append(
            f"The records of a person stand together under a pseudonym, and at least {k} persons publish the same "
            "records of quasi-identifiers: whoever knows the quasi-identifiers of all records of a person cannot tell "
            f"which of {k} or more pseudonyms is that person's."
        )
    share = request.get("alpha") or (1 / request["l"] if request.get("l") else None)
    if share is not None:
        said.append(
            f"Of the persons who publish the same records of quasi-identifiers, at most {share_text(share)} "
            f"have any one value of {what}, in whichever of their records."
        )
    if "t" in request:
        said.append(
            f"For each value of {what}, the share of persons who have it in any of their records differs by "
            f"at most {share_text(request['t'])} between all persons and those who publish the same records "
            "of quasi-identifiers."
        )
    if "beta" in request:
        said.append(
            "Of the persons who publish the same records of quasi-identifiers, the share with any one value "
            f"of {what} in any of their records is at most 1 + {number(request['beta'])} times the share of "
            "all persons."
        )
    return " ".join(said)


def promise_of_lists(request: Mapping[str, Any], what: str) -> str:
    """Explain the guarantee of a requested model for records whose cells are lists of values.

    Parameters
    ----------
    request : mapping
        One entry of the certificate's "requested", with a parameter about sensitive values.
    what : str
        The sensitive attributes, as they stand in a sentence.
    """
    if "t" in request:
        return (
            f"For each value of {what}, the share of records that have it, alone or among others, differs by at "
            f"most {share_text(request['t'])} between the whole table and the records with the same published "
            "quasi-identifiers."
        )
    if "beta" in request:
        return (
            f"Of the records with the same published quasi-identifiers, the share with any one value of {what}, "
            f"alone or among others, is at most 1 + {number(request['beta'])} times its share in the whole "
            "table."
        )
    return (
        "Of the records with the same published quasi-identifiers, at most "
        f"{share_text(request.get('alpha') or 1 / request['l'])} have any one value of {what}, alone or among "
        "others."
    )


def records_of_persons(requested: Sequence[Mapping[str, Any]], *, alone: bool) -> list[str]:
    """Explain the limits for persons with several records, given the requested models, in sentences."""
    whose = {request.get("of") for request in requested}
    said = [describe_counted(requested, alone=alone)]
    if "lists" in whose:
        said.append("A record may have several sensitive values: whoever knows some of them may find the others.")
    if any(request.get("of") == "records" and "sampling_fraction" in request for request in requested):
        said.append(
            "Estimates of people of the population take each record for another person's: where persons "
            "have several, fewer people than estimated fit a record, and more are alone."
        )
    if alone:
        said.append(
            "A record that did not show whose it is was taken for another person's: of a person with "
            "several of them more may be learned than is said here."
        )
    if "linked_persons" not in whose and whose & {"persons", "records"}:
        said.append(
            "Figures of how easily a record is found are about one record: somebody who picks any record of "
            "a group picks one of a person with several records there more often."
        )
    return said


def describe_counted(requested: Sequence[Mapping[str, Any]], *, alone: bool = False) -> str:
    """Explain what the requested models count, records or persons, and what that means for persons.

    Parameters
    ----------
    requested : sequence of mapping
        The certificate's "requested".
    alone : bool
        Whether a record that does not show its person was counted as another person.
    """
    whose = {request.get("of") for request in requested}
    persons = whose & {"persons", "linked_persons"} or ("one_record_each" in whose and not alone)
    counted = "Persons are counted." if persons else "Records are counted."
    return f"{counted} {_what_records_tell(whose, alone=alone)}"


def describe_audited_unit(stated: Set[str]) -> str:
    """Explain what an audit without a column of persons counts, and what its certificate states of persons.

    Parameters
    ----------
    stated : set of str
        What the models of the certificate count ("of" of its "requested"); empty if there is none.
    """
    # Cells alone show no persons, so the statement is passed on as one.
    if "one_record_each" in stated:
        return (
            "The publisher states that each person has one record in it: without a column of persons this "
            "cannot be recounted."
        )
    if stated & {"persons", "linked_persons"}:
        return (
            "The publisher states that persons are counted, who may have several records: without a column of "
            "persons this cannot be recounted, and records are counted here."
        )
    return describe_counted(())


def _what_records_tell(whose: Set[str | None], *, alone: bool) -> str:
    if "linked_persons" in whose:
        return (
            "The records of a person are linked: whoever knows some sensitive values of a person, such as two "
            "of the diagnoses, may find the others."
        )
    if "one_record_each" in whose and not alone:
        return "No person has more than one record in it, so that what is said of records holds for persons."
    if "records" in whose:
        return (
            "What is said of sensitive values is about one record of a person: all records of a person together "
            "may tell more, up to all that they say."
        )
    if "persons" in whose:
        return "Persons may have several records, and it does not limit what all records of a person tell together."
    return (
        "Each record is taken for another person: of a person with several records more may be learned than is "
        "said here, up to all that they say."
    )
