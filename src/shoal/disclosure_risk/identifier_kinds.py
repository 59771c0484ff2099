"""Kinds of identifiers: words of column names, forms of values, checksums, and categories of the Safe Harbor rule."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of identifier."""

    name: str
    """Short name."""
    title: str
    """Description of the column's content, as part of a sentence."""
    category: str
    """Letter of the category in 45 CFR 164.514(b)(2)(i)."""
    advice: str
    """How to treat such a column."""
    words: frozenset[str] = frozenset()
    """Words of column names, in lower case and without accents; the words of a phrase must be consecutive."""
    excluded: frozenset[str] = frozenset()
    """Words that give a name another meaning."""
    whole: frozenset[str] = frozenset()
    """Whole names of columns, in lower case, if their texts look like names of persons."""
    form: str | None = None
    """Regular expression for the values, in the syntax of Polars (no look-around)."""
    check: Callable[[str], bool] | None = None
    """Further test of a value of the form, such as a checksum or a range."""
    least: float = 0.8
    """Smallest share of the distinct values that must have the form."""
    every: str | None = None
    """Wider form that nearly all values must have."""
    temporal: bool = False
    """Whether a column of type date has the form."""
    above: int | None = None
    """For numeric columns of this name: report only if a value exceeds this."""


_DATE = r"^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))([T ]\d{1,2}:\d{2}.*)?$"
_DROP = "Make it a direct identifier (dropped)."
_CODE = "Make it a direct identifier (dropped), or replace it by a code that is random and kept apart."


def _split_list(words: str) -> frozenset[str]:
    """Split a list of words."""
    return frozenset(part.strip() for part in words.split(","))


def _is_ip_address(text: str) -> bool:
    """Check whether a text is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_social_security(text: str) -> bool:
    """Check whether area, group and serial number are valid."""
    found = re.search(r"\b(\d{3})-(\d{2})-(\d{4})\b", text)
    if found is None:
        return False
    area, group, serial = found.groups()
    return area not in {"000", "666"} and area < "900" and group != "00" and serial != "0000"


def _is_iban(text: str) -> bool:
    """Check the checksum of ISO 13616."""
    code = re.sub(r"\s", "", text)
    # The first four characters move to the end, and letters become numbers from 10 on.
    moved = code[4:] + code[:4]
    return int("".join(str(int(one, 36)) for one in moved)) % 97 == 1


def _is_luhn(text: str) -> bool:
    """Check the checksum of ISO/IEC 7812."""
    digits = [int(one) for one in re.sub(r"\D", "", text)]
    # Every second digit from the right counts double, as the sum of its digits.
    doubled = [digit if at % 2 == 0 else sum(divmod(2 * digit, 10)) for at, digit in enumerate(reversed(digits))]
    return 13 <= len(digits) <= 19 and sum(doubled) % 10 == 0


def _is_telephone(text: str) -> bool:
    """Check whether a text of digits and separators can be a telephone number, and has no other form."""
    digits = re.sub(r"\D", "", text)
    separators = len(re.findall(r"[ ()/.-]+", text))
    other = any(re.fullmatch(form, text) for form in _NO_TELEPHONE)
    return 7 <= len(digits) <= 15 and (text.startswith("+") or separators >= 2) and not other


_NO_TELEPHONE = (r"\d{5}-\d{4}", r"\d{3}-\d{2}-\d{4}", r"\d{1,3}(\.\d{1,3}){2,}", r"\d{1,3}( \d{3})+", _DATE)
"""ZIP codes, social security numbers, IP addresses, numbers with thousands separators, dates."""


def _is_vehicle(text: str) -> bool:
    """Check the check digit of a vehicle identification number (North America)."""
    values = dict(zip("ABCDEFGHJKLMNPRSTUVWXYZ", map(int, "12345678123457923456789"), strict=True))
    weights = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
    code = text.upper()
    # Position 9 is the check digit: the weighted sum modulo 11, with X for 10.
    total = sum(
        weight * (int(one) if one.isdigit() else values[one]) for weight, one in zip(weights, code, strict=True)
    )
    return code[8] == "0123456789X"[total % 11]


def _is_date(text: str) -> bool:
    """Check whether a text contains a valid date in one of the usual orders."""
    found = re.match(r"(\d+)[-/.](\d+)[-/.](\d+)", text)
    if found is None or re.fullmatch(_DATE, text) is None:
        return False
    first, second, third = (int(part) for part in found.groups())
    # Year first, or day and month in either order.
    year_first = len(found[1]) == 4
    orders = [(first, second, third)] if year_first else [(third, second, first), (third, first, second)]
    for year, month, day in orders:
        try:
            date(year + 2000 if year < 100 else year, month, day)
        except ValueError:
            continue
        return True
    return False


KINDS: tuple[Kind, ...] = (
    Kind(
        name="name",
        title="names of people",
        category="A",
        advice=_DROP,
        words=_split_list(
            "name, names, first name, last name, full name, family name, given name, surname, forename, maiden name, "
            "patient name, firstname, lastname, fullname, vorname, nachname, familienname, geburtsname, patientenname, "
            "prenom, nom, nom de famille, nombre, apellido, apellidos, initials, cognome, nome, nazwisko, imie, "
            "achternaam, voornaam, sobrenome, efternamn, fornamn, etternavn, fornavn, sukunimi, etunimi, prijmeni"
        ),
        excluded=_split_list(
            "drug, product, file, column, variable, hospital, clinic, company, brand, test, item, site, study, "
            "medication, dataset, table, field, school, station, model, organisation, organization, user"
        ),
        whole=_split_list(
            "first, last, middle, maiden, given, family, person, patient, doctor, physician, nurse, client, customer, "
            "employee, student, teacher, author, owner, arzt, \u59d3, \u540d, \u59d3\u540d, \u6c0f\u540d, "
            "\u540d\u524d, \uc774\ub984, \uc131\uba85, \u0438\u043c\u044f, "
            "\u0444\u0430\u043c\u0438\u043b\u0438\u044f, \u0444\u0438\u043e"
        ),
    ),
    Kind(
        name="address",
        title="addresses, or places smaller than a state",
        category="B",
        advice="Drop it, or coarsen it to a region of many people.",
        words=_split_list(
            "address, street, house number, city, town, county, precinct, parish, adresse, strasse, hausnummer, ort, "
            "wohnort, gemeinde, stadt, rue, ville, commune, direccion, calle, ciudad, municipio, latitude, longitude, "
            "lat, lon, lng, geocode, coordinates"
        ),
        excluded=_split_list("email, mail, ip, web, mac"),
    ),
    Kind(
        name="zip",
        title="ZIP or postal codes",
        category="B",
        advice="Drop it, or keep the first three digits of U.S. codes, and 000 where 20,000 people or fewer live.",
        words=_split_list(
            "zip, zipcode, zip code, postcode, postal code, postalcode, postleitzahl, plz, code postal, codigo postal"
        ),
        form=r"^(0\d{4}|\d{5}-\d{4})$",  # other numbers of five digits do not begin with 0
        least=0.02,
        every=r"^\d{5}(-\d{4})?$",
    ),
    Kind(
        name="date",
        title="dates more precise than a year",
        category="C",
        advice="Coarsen it to years, or drop it.",
        words=_split_list(
            "date of birth, birth date, birthdate, birthday, dob, admission date, discharge date, date of death, "
            "geburtsdatum, geburtstag, aufnahmedatum, entlassungsdatum, sterbedatum, todesdatum, date de naissance, "
            "fecha de nacimiento, fecha"
        ),
        form=_DATE,
        check=_is_date,
        temporal=True,
    ),
    Kind(
        name="age over 89",
        title="ages over 89",
        category="C",
        advice="Make one category of the ages from 90 on.",
        words=_split_list("age, ages, alter, lebensalter, edad"),
        above=89,
    ),
    Kind(
        name="telephone",
        title="telephone numbers",
        category="D",
        advice=_DROP,
        words=_split_list(
            "phone, telephone, tel, mobile, cell, cellphone, phone number, telefon, telefonnummer, handy, mobil, "
            "portable, telefono, movil"
        ),
        form=r"^\+?[0-9(][0-9 ()./-]{5,20}[0-9]$",
        check=_is_telephone,
    ),
    Kind(
        name="fax",
        title="fax numbers",
        category="E",
        advice=_DROP,
        words=_split_list("fax, fax number, faxnummer, telefax"),
    ),
    Kind(
        name="email",
        title="e-mail addresses",
        category="F",
        advice=_DROP,
        words=_split_list("email, e mail, mail, emailaddress, courriel, correo"),
        form=r"[A-Za-z0-9._%+'-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}",
        least=0.005,
    ),
    Kind(
        name="social security",
        title="social security or other national numbers of people",
        category="G",
        advice=_DROP,
        words=_split_list(
            "ssn, social security, social security number, socialsecurity, national id, nationalid, nino, nhs number, "
            "sozialversicherungsnummer, svnr, rentenversicherungsnummer, steuernummer, steuerid, nir, "
            "numero de securite sociale, bsn, codice fiscale, "
            "dni, nif, tax id, taxid, passport, passnummer, personalausweis, pasaporte"
        ),
        form=r"\b\d{3}-\d{2}-\d{4}\b",
        check=_is_social_security,
        least=0.005,
    ),
    Kind(
        name="medical record",
        title="medical record numbers",
        category="H",
        advice=_CODE,
        words=_split_list(
            "mrn, medical record, medical record number, patient id, patientid, patient number, patient no, "
            "patient nbr, patient nr, patientennummer, patienten id, patienten nr, pat nr, patnr, pid, fallnummer, "
            "fall nr, fallnr, case number, chart number, numero de dossier, historia clinica"
        ),
    ),
    Kind(
        name="health plan",
        title="health plan beneficiary numbers",
        category="I",
        advice=_DROP,
        words=_split_list(
            "beneficiary, member id, memberid, insurance number, insurance id, policy number, health plan, "
            "versichertennummer, versicherten nr, "
            "versicherungsnummer, krankenversicherungsnummer, kvnr, numero d assure"
        ),
    ),
    Kind(
        name="account",
        title="account or card numbers",
        category="J",
        advice=_DROP,
        words=_split_list(
            "account, account number, accountnumber, credit card, card number, bank account, iban, bic, kontonummer, "
            "kreditkarte, numero de compte, carte bancaire, cuenta, tarjeta"
        ),
        form=r"^\d{4}[ -]?\d{4}[ -]?\d{4}[ -]?\d{1,7}$",
        check=_is_luhn,
        least=0.5,
    ),
    Kind(
        name="IBAN",
        title="international bank account numbers",
        category="J",
        advice=_DROP,
        form=r"^[A-Za-z]{2}\d{2}[ ]?[A-Za-z0-9]([ ]?[A-Za-z0-9]){10,29}$",
        check=_is_iban,
        least=0.1,
    ),
    Kind(
        name="certificate or license",
        title="numbers of certificates or licenses",
        category="K",
        advice=_DROP,
        words=_split_list(
            "license number, licence number, license no, licence no, drivers license, driver license, driving licence, "
            "certificate number, fuehrerscheinnummer, fuhrerscheinnummer, permis de conduire"
        ),
    ),
    Kind(
        name="vehicle",
        title="vehicle identifiers or license plates",
        category="L",
        advice=_DROP,
        words=_split_list(
            "vin, license plate, licence plate, number plate, plate number, registration plate, kennzeichen, "
            "fahrgestellnummer, immatriculation, matricula"
        ),
        form=r"^[A-HJ-NPR-Za-hj-npr-z0-9]{17}$",
        check=_is_vehicle,
        least=0.5,
    ),
    Kind(
        name="device",
        title="identifiers of devices",
        category="M",
        advice=_DROP,
        words=_split_list(
            "device id, deviceid, serial number, serialnumber, serial no, imei, imsi, udid, mac address, macaddress, "
            "seriennummer, geraetenummer, numero de serie"
        ),
        form=r"^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$",
        least=0.5,
    ),
    Kind(
        name="URL",
        title="web addresses",
        category="N",
        advice=_DROP,
        words=_split_list("url, website, web site, homepage, webpage"),
        form=r"(?i)\b(https?://|www\.)[a-z0-9-]+(\.[a-z0-9-]+)+",
        least=0.005,
    ),
    Kind(
        name="IP address",
        title="internet addresses",
        category="O",
        advice=_DROP,
        words=_split_list("ip, ip address, ipaddress, ipv, client ip, remote addr"),
        form=r"^(\d{1,3}(\.\d{1,3}){3}|[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*)$",
        check=_is_ip_address,
        least=0.5,
    ),
    Kind(
        name="biometric",
        title="biometric identifiers",
        category="P",
        advice=_DROP,
        words=_split_list(
            "fingerprint, voiceprint, iris scan, retina scan, biometric, fingerabdruck, empreinte, huella"
        ),
    ),
    Kind(
        name="photograph",
        title="photographs or paths to them",
        category="Q",
        advice=_DROP,
        words=_split_list("photo, photograph, portrait, face image, picture, foto, lichtbild, photographie"),
    ),
    Kind(
        name="unique number",
        title="another number that names one person each",
        category="R",
        advice=_CODE,
        words=_split_list(
            "id, uid, uuid, guid, person id, personid, subject id, subjectid, participant id, participantid, "
            "respondent id, customer id, customerid, employee id, employeeid, user id, userid, username, user name, "
            "login, account id, identifier, personalnummer, kundennummer, matrikelnummer, identifiant"
        ),
        excluded=_split_list("group, class, site, region, hospital, product, item, store, ward"),
        form=r"^\{?[0-9A-Fa-f]{8}-([0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}\}?$",
        least=0.5,
    ),
)
"""All kinds, in the order of the rule."""
