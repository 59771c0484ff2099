"""What the names of columns say of their roles, in English, German, French and Spanish."""

from __future__ import annotations

import re
import unicodedata

__all__ = [
    "means_individual",
    "means_known",
    "means_measured",
    "means_numbering",
    "means_person_number",
    "means_personal",
    "means_place",
    "means_postal_code",
    "means_sensitive",
    "means_thing",
    "words_of",
]

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
_INDIVIDUAL = (
    *("age", "alter", "edad", "eta", "leeftijd", "gender", "sex", "geschlecht", "sexe", "sexo", "sesso", "geslacht"),
    *("birth", "birthday", "birthdate", "birthyear", "dob", "yob", "born", "geburt", "geboren", "geburtsdatum"),
    *("naissance", "nacimiento", "nascita", "geboortedatum", "jahrgang"),
)
"""What differs between the members of a household and the people of a place, and stays the same in one person."""
_PERSONAL = (
    *("race", "ethnicity", "ethnic", "ethnie", "black", "white", "hispanic", "hisp", "asian", "nationality"),
    *("citizenship", "citizen", "nationalitaet", "education", "educ", "schooling", "bildung", "schulabschluss"),
    *("marital", "married", "familienstand", "religion", "konfession", "language", "sprache", "height", "groesse"),
    *("grosse", "weight", "gewicht", "occupation", "beruf", "veteran", "firstname", "lastname", "surname", "vorname"),
    *("nachname", "children", "kinder"),
)
"""What is said of a person rather than of a place or a thing, and seldom changes."""
_PLACES = (
    *(
        "country",
        "land",
        "pays",
        "pais",
        "region",
        "state",
        "bundesland",
        "county",
        "district",
        "kreis",
        "city",
        "town",
    ),
    *("ort", "wohnort", "gemeinde", "stadt", "ville", "commune", "ciudad", "municipio", "address", "street", "adresse"),
    *("strasse", "rue", "calle", "puma", "tract"),
)
"""Where people live."""
_PERSON_NUMBERS = (
    *("patient", "patienten", "patnr", "pat", "pid", "pcode", "person", "personen", "persnr", "subject"),
    *("proband", "participant", "teilnehmer", "respondent", "client", "klient", "customer", "kunde"),
    *("kunden", "member", "mitglied", "employee", "mitarbeiter", "student", "pupil", "schueler", "versicherter"),
    *("versicherten", "versichertennummer", "insured", "beneficiary", "mrn", "ssn", "bsn", "nhs", "nir", "nino"),
    *("fiscale", "fiscal", "matrikel", "matrikelnummer", "user", "nutzer", "enrollee", "paciente", "persona"),
)
"""What numbers of people are called."""
_THINGS = (
    *("product", "produkt", "item", "article", "artikel", "sku", "drug", "medication", "medikament", "brand", "model"),
    *("store", "shop", "filiale", "household", "haushalt", "menage", "hogar", "family", "famille", "school", "schule"),
    *("hospital", "krankenhaus", "clinic", "klinik", "ward", "station", "firm", "company", "unternehmen", "category"),
)
"""What has numbers, too, and is not a person."""
_MEASURED = (
    *("glucose", "pressure", "systolic", "diastolic", "blutdruck", "cholesterol", "bmi", "pulse", "puls"),
    *("temperature", "temperatur", "haemoglobin", "hemoglobin", "creatinine", "dose", "dosis", "amount", "betrag"),
    *("cost", "costs", "kosten", "charge", "charges", "price", "preis", "menge", "quantity", "hours", "minutes"),
    *("stunden", "duration", "dauer", "value", "wert", "volume", "capital", "gain", "loss", "total", "expenses"),
)
"""What is measured or summed up."""
_NUMBERING = (
    *("id", "ids", "nr", "no", "nbr", "num", "number", "nummer", "numero", "code", "kode", "key", "index", "ref"),
    *("kennung", "kennzeichen", "identifier", "uid"),
)
"""What makes a number one that names things."""
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


def means_individual(name: str) -> bool:
    """Return whether a name stands for age, gender or birth, which differ between the people of one household."""
    return _has_one(name, _INDIVIDUAL)


def means_personal(name: str) -> bool:
    """Return whether a name stands for another property of persons that seldom changes, such as education."""
    return _has_one(name, _PERSONAL)


def means_place(name: str) -> bool:
    """Return whether a name stands for where people live, postal codes among it."""
    return means_postal_code(name) or _has_one(name, _PLACES)


def means_person_number(name: str) -> bool:
    """Return whether a name stands for a number or code that a person has.

    Examples
    --------
    >>> means_person_number("Patienten-Nr"), means_person_number("codice_fiscale"), means_person_number("ward")
    (True, True, False)
    """
    return _has_one(name, _PERSON_NUMBERS)


def means_thing(name: str) -> bool:
    """Return whether a name stands for a product, a household or an institution rather than for persons."""
    return _has_one(name, _THINGS) and not means_person_number(name)


def means_measured(name: str) -> bool:
    """Return whether a name stands for something that is measured, and for no number that names things."""
    return _has_one(name, _MEASURED) and not means_numbering(name)


def means_numbering(name: str) -> bool:
    """Return whether a name stands for a number or code that names things.

    Examples
    --------
    >>> means_numbering("case_no"), means_numbering("id_stay"), means_numbering("number_of_visits")
    (True, True, False)
    """
    words = words_of(name)
    return bool(words) and (words[-1] in _NUMBERING or words[0] == "id")


def means_postal_code(name: str) -> bool:
    """Return whether a name says that a column holds postal codes."""
    return any(word in _POSTAL for word in words_of(name))


def _has_one(name: str, listed: tuple[str, ...]) -> bool:
    words = words_of(name)
    joined = "".join(words)
    return any(word in words or (len(word) >= _LONG and word in joined) for word in listed)
