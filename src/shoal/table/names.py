"""What the names of columns say of their roles, in English, German, French and Spanish."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["means_known", "means_postal_code", "means_sensitive", "words_of"]

_LONG = 6
"""Letters of a word that is also looked for within compounds (Hauptdiagnose)."""
_SENSITIVE = (
    *("disease", "diseases", "diagnosis", "diagnoses", "diagnose", "diagnosen", "diag", "icd", "illness", "krankheit"),
    *("erkrankung", "condition", "symptom", "symptoms", "medication", "medikament", "drug", "drugs", "treatment"),
    *("therapy", "therapie", "behandlung", "procedure", "surgery", "operation", "hiv", "befund", "allergy", "vaccine"),
    *("maladie", "diagnostic", "traitement", "medicament", "enfermedad", "diagnostico", "tratamiento", "pregnant"),
    *("salary", "income", "wage", "wages", "earnings", "gehalt", "einkommen", "lohn", "salaire", "revenu", "salario"),
    *("ingresos", "debt", "schulden", "credit", "religion", "konfession", "religious", "attendance", "party", "partei"),
    *(
        "vote",
        "voted",
        "political",
        "union",
        "gewerkschaft",
        "orientation",
        "conviction",
        "offence",
        "offense",
        "crime",
    ),
    *("straftat", "disability", "behinderung", "handicap", "grade", "grades", "score", "note", "result", "outcome"),
)
"""What people would not want to be known of them: health, money, belief, opinion, offences, results."""
_KNOWN = (
    *("age", "alter", "edad", "gender", "sex", "geschlecht", "sexe", "sexo", "race", "ethnicity", "ethnic", "marital"),
    *("familienstand", "education", "bildung", "schulabschluss", "occupation", "beruf", "job", "profession", "work"),
    *("nationality", "citizenship", "country", "land", "pays", "pais", "birth", "birthplace", "geburt", "children"),
    *("kinder", "household", "haushalt", "language", "sprache", "employer", "region", "state", "bundesland", "county"),
    *(
        "district",
        "kreis",
        "city",
        "town",
        "year",
        "jahr",
        "height",
        "weight",
        "groesse",
        "grosse",
        "gewicht",
        "length",
        "stay",
    ),
)
"""What neighbours, colleagues and registers know of people."""
_POSTAL = ("zip", "zipcode", "postcode", "postal", "postalcode", "plz", "postleitzahl", "cp", "codigo")


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a column's name, in lower case and without accents.

    Examples
    --------
    >>> words_of("Haupt-Diagnose_2"), words_of("zipCode")
    (('haupt', 'diagnose'), ('zip', 'code'))
    """
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", plain)
    return tuple(re.findall(r"[a-z]+", apart.lower()))


def means_sensitive(name: str) -> bool:
    """Return whether a name says that a column should not be linked to a person."""
    return _has_one(name, _SENSITIVE)


def means_known(name: str) -> bool:
    """Return whether a name says that others may know a column of a person."""
    return _has_one(name, _KNOWN)


def means_postal_code(name: str) -> bool:
    """Return whether a name says that a column holds postal codes."""
    return any(word in _POSTAL for word in words_of(name))


def _has_one(name: str, listed: tuple[str, ...]) -> bool:
    words = words_of(name)
    joined = "".join(words)
    return any(word in words or (len(word) >= _LONG and word in joined) for word in listed)
