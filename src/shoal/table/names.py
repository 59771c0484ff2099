"""Hints about the roles of columns from their names, in English, German, French and Spanish."""

from __future__ import annotations

import re
import unicodedata

_LONG = 6
"""Smallest length of words that are also searched within compounds (such as "Hauptdiagnose")."""
_SENSITIVE = (
    *("disease", "diseases", "diagnosis", "diagnoses", "diagnose", "diagnosen", "diag", "icd", "illness", "krankheit"),
    *("erkrankung", "condition", "symptom", "symptoms", "medication", "medikament", "drug", "drugs", "treatment"),
    *("therapy", "therapie", "behandlung", "procedure", "surgery", "operation", "hiv", "befund", "allergy", "vaccine"),
    *("maladie", "diagnostic", "traitement", "medicament", "enfermedad", "diagnostico", "tratamiento", "pregnant"),
    *("salary", "income", "wage", "wages", "earnings", "gehalt", "einkommen", "lohn", "salaire", "revenu", "salario"),
    *("ingresos", "debt", "schulden", "credit", "religion", "konfession", "religious", "attendance", "party", "partei"),
    *("vote", "voted", "political", "union", "gewerkschaft", "orientation", "conviction", "offence", "offense"),
    "crime",
    *("straftat", "disability", "behinderung", "handicap", "grade", "grades", "score", "note", "result", "outcome"),
)
"""Words for sensitive attributes: health, finances, beliefs, opinions, offences, results."""
_KNOWN = (
    *("age", "alter", "edad", "gender", "sex", "geschlecht", "sexe", "sexo", "race", "ethnicity", "ethnic", "marital"),
    *("familienstand", "education", "bildung", "schulabschluss", "occupation", "beruf", "job", "profession", "work"),
    *("nationality", "citizenship", "country", "land", "pays", "pais", "birth", "birthplace", "geburt", "children"),
    *("kinder", "household", "haushalt", "language", "sprache", "employer", "region", "state", "bundesland", "county"),
    *("district", "kreis", "city", "town", "year", "jahr", "height", "weight", "groesse", "grosse", "gewicht"),
    *("length", "stay"),
)
"""Words for attributes that neighbours, colleagues and registers know."""
_INDIVIDUAL = (
    *("age", "alter", "edad", "eta", "leeftijd", "gender", "sex", "geschlecht", "sexe", "sexo", "sesso", "geslacht"),
    *("birth", "birthday", "birthdate", "birthyear", "dob", "yob", "born", "geburt", "geboren", "geburtsdatum"),
    *("naissance", "nacimiento", "nascita", "geboortedatum", "jahrgang"),
)
"""Words for attributes that vary within a household or a place, but not over time for one person."""
_PERSONAL = (
    *("race", "ethnicity", "ethnic", "ethnie", "black", "white", "hispanic", "hisp", "asian", "nationality"),
    *("citizenship", "citizen", "nationalitaet", "education", "educ", "schooling", "bildung", "schulabschluss"),
    *("marital", "married", "familienstand", "religion", "konfession", "language", "sprache", "height", "groesse"),
    *("grosse", "weight", "gewicht", "occupation", "beruf", "veteran", "firstname", "lastname", "surname", "vorname"),
    *("nachname", "children", "kinder"),
)
"""Words for attributes of persons, rather than places or things, that seldom change."""
_PLACES = (
    *("country", "land", "pays", "pais", "region", "state", "bundesland", "county", "district", "kreis", "city"),
    "town",
    *("ort", "wohnort", "gemeinde", "stadt", "ville", "commune", "ciudad", "municipio", "address", "street", "adresse"),
    *("strasse", "rue", "calle", "puma", "tract"),
)
"""Words for places of residence."""
_PERSON_NUMBERS = (
    *("patient", "patienten", "patnr", "pat", "pid", "pcode", "person", "personen", "persnr", "subject"),
    *("proband", "participant", "teilnehmer", "respondent", "client", "klient", "customer", "kunde"),
    *("kunden", "member", "mitglied", "employee", "mitarbeiter", "student", "pupil", "schueler", "versicherter"),
    *("versicherten", "versichertennummer", "insured", "beneficiary", "mrn", "ssn", "bsn", "nhs", "nir", "nino"),
    *("fiscale", "fiscal", "matrikel", "matrikelnummer", "user", "nutzer", "enrollee", "paciente", "persona"),
)
"""Words for numbers of persons."""
_THINGS = (
    *("product", "produkt", "item", "article", "artikel", "sku", "drug", "medication", "medikament", "brand", "model"),
    *("store", "shop", "filiale", "household", "haushalt", "menage", "hogar", "family", "famille", "school", "schule"),
    *("hospital", "krankenhaus", "clinic", "klinik", "ward", "station", "firm", "company", "unternehmen", "category"),
)
"""Words for numbered objects that are not persons."""
_MEASURED = (
    *("glucose", "pressure", "systolic", "diastolic", "blutdruck", "cholesterol", "bmi", "pulse", "puls"),
    *("temperature", "temperatur", "haemoglobin", "hemoglobin", "creatinine", "dose", "dosis", "amount", "betrag"),
    *("cost", "costs", "kosten", "charge", "charges", "price", "preis", "menge", "quantity", "hours", "minutes"),
    *("stunden", "duration", "dauer", "value", "wert", "volume", "capital", "gain", "loss", "total", "expenses"),
)
"""Words for measurements and totals."""
_NUMBERING = (
    *("id", "ids", "nr", "no", "nbr", "num", "number", "nummer", "numero", "code", "kode", "key", "index", "ref"),
    *("kennung", "kennzeichen", "identifier", "uid"),
)
"""Words that mark a number as an identifier."""
_POSTAL = ("zip", "zipcode", "postcode", "postal", "postalcode", "plz", "postleitzahl", "cp", "codigo")


def words_of(name: str) -> tuple[str, ...]:
    """Split a column's name into words, in lower case and without accents.

    Examples
    --------
    >>> words_of("Haupt-Diagnose_2"), words_of("zipCode")
    (('haupt', 'diagnose'), ('zip', 'code'))
    """
    # Decompose accented letters, then drop the accents.
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
    # Split camel case.
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", plain)
    return tuple(re.findall(r"[a-z]+", apart.lower()))


def suggests_sensitive(name: str) -> bool:
    """Test if a name suggests a sensitive attribute."""
    return _has_one(name, _SENSITIVE)


def suggests_known(name: str) -> bool:
    """Test if a name suggests an attribute that others may know about a person."""
    return _has_one(name, _KNOWN)


def suggests_individual(name: str) -> bool:
    """Test if a name suggests age, gender or birth, which vary within a household."""
    return _has_one(name, _INDIVIDUAL)


def suggests_personal(name: str) -> bool:
    """Test if a name suggests another attribute of persons that seldom changes, such as education."""
    return _has_one(name, _PERSONAL)


def suggests_place(name: str) -> bool:
    """Test if a name suggests a place of residence, including postal codes."""
    return suggests_postal_code(name) or _has_one(name, _PLACES)


def suggests_person_number(name: str) -> bool:
    """Test if a name suggests a number or code of a person.

    Examples
    --------
    >>> suggests_person_number("Patienten-Nr"), suggests_person_number("codice_fiscale"), suggests_person_number("ward")
    (True, True, False)
    """
    return _has_one(name, _PERSON_NUMBERS)


def suggests_thing(name: str) -> bool:
    """Test if a name suggests a product, a household or an institution, rather than a person."""
    return _has_one(name, _THINGS) and not suggests_person_number(name)


def suggests_measured(name: str) -> bool:
    """Test if a name suggests a measurement, rather than an identifier."""
    return _has_one(name, _MEASURED) and not suggests_numbering(name)


def suggests_numbering(name: str) -> bool:
    """Test if a name suggests an identifier.

    Examples
    --------
    >>> suggests_numbering("case_no"), suggests_numbering("id_stay"), suggests_numbering("number_of_visits")
    (True, True, False)
    """
    words = words_of(name)
    return bool(words) and (words[-1] in _NUMBERING or words[0] == "id")


def suggests_postal_code(name: str) -> bool:
    """Test if a name suggests postal codes."""
    return any(word in _POSTAL for word in words_of(name))


def _has_one(name: str, listed: tuple[str, ...]) -> bool:
    words = words_of(name)
    joined = "".join(words)
    # Short words must match exactly, because they occur within many other words.
    return any(word in words or (len(word) >= _LONG and word in joined) for word in listed)
