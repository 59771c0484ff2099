"""Columns that look like identifiers, by their names and by their values; and columns that do not."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.every import every

import shoal
from shoal.disclosure_risk import detect_identifiers
from shoal.disclosure_risk.identifier_kinds import KINDS

SECRET = "zyzzyva"

VALUES = {
    ("email", "F"): [f"{SECRET}@example.org", "b.c+d@sub.example.co.uk"],
    ("telephone", "D"): ["+49 30 123456", "(555) 123-4567", "+33 1 23 45 67 89"],
    ("IP address", "O"): ["192.168.0.1", "10.0.0.255", "2001:db8::1"],
    ("social security", "G"): ["123-45-6789", "219-09-9999"],
    ("date", "C"): ["2020-01-31", "1999-12-01"],
    ("zip", "B"): ["02139", "10001", "94107-1234"],
    ("IBAN", "J"): ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432", "FR1420041010050500013M02606"],
    ("account", "J"): ["4111 1111 1111 1111", "5500-0055-5555-5559"],
    ("URL", "N"): ["https://example.org/a?b", "www.example.org"],
    ("vehicle", "L"): ["1M8GDM9AXKP042788", "11111111111111111"],
    ("device", "M"): ["00:1A:2b:3c:4d:5e", "00-1A-2B-3C-4D-5E"],
    ("unique number", "R"): ["123e4567-e89b-12d3-a456-426614174000", "{00000000-0000-0000-0000-000000000000}"],
}
NAMES = {
    ("name", "A"): ["name", "Vorname", "lastName", "FULL_NAME", "Prénom", "patient.name", "apellidos"],
    ("address", "B"): ["street", "Wohnort", "home_address", "latitude", "calle", "Straße"],
    ("zip", "B"): ["zip", "zip_code", "PLZ", "postalCode", "código postal"],
    ("date", "C"): ["date_of_birth", "DOB", "Geburtsdatum", "admissionDate"],
    ("telephone", "D"): ["phone", "Telefonnummer", "mobile_1"],
    ("fax", "E"): ["fax"],
    ("email", "F"): ["email", "E-Mail", "emailAddress"],
    ("social security", "G"): ["ssn", "SSN_2", "sozialversicherungsnummer", "passport"],
    ("medical record", "H"): ["mrn", "patient_id", "Fallnummer"],
    ("health plan", "I"): ["member_id", "Versichertennummer"],
    ("account", "J"): ["account_number", "iban"],
    ("certificate or license", "K"): ["driverLicense", "license_no"],
    ("vehicle", "L"): ["licence_plate", "VIN", "Kennzeichen"],
    ("device", "M"): ["device_id", "serialNumber", "IMEI"],
    ("URL", "N"): ["homepage"],
    ("IP address", "O"): ["ip", "ipAddress"],
    ("biometric", "P"): ["fingerprint"],
    ("photograph", "Q"): ["photo", "Lichtbild"],
    ("unique number", "R"): ["id", "PersonID", "user_name", "Personalnummer"],
}
HARMLESS = {
    "age": [20, 89],
    "height": [1.5, 1.83],
    "drug_name": ["a", "b"],
    "marital-status": ["single", "married"],
    "native-country": ["US", "DE"],
    "capital_gain": ["12000", "52113"],
    "score": ["1.234.567", "2.345.678"],
    "ratio": ["1 234 567", "2 345 678"],
    "code": ["AB12", "CD34"],
    "year": ["1999", "2020"],
    "automobile": ["yes", "no"],
    "longitudinal": ["a", "b"],
    "valid": ["yes", "no"],
    "note": ["nothing to tell", "at home @ night"],
    "version": ["1.2", "3.4"],
    "time": ["12:30", "08:15"],
    "range": ["20-29", "30-39"],
    "interval": ["[20, 30)", "[30, 40)"],
    "flag": [True, False],
    "groupId": [1, 2],
}


@every("kind", VALUES)
@every("as_category", [False, True])
def test_forms_of_values(kind, as_category):
    series = pl.Series("x", [*VALUES[kind], None, f" {VALUES[kind][0]} "])
    frame = series.cast(pl.Categorical).to_frame() if as_category else series.to_frame()
    found = detect_identifiers(frame)
    assert [(one.kind, one.category, one.by) for one in found] == [(*kind, "values")]
    assert found[0].share == 1 or kind[0] == "zip"
    assert SECRET not in found[0].text
    assert "'x'" in found[0].text


@every("kind", NAMES)
def test_words_of_names(kind):
    for name in NAMES[kind]:
        found = detect_identifiers(pl.DataFrame({name: ["x.y@1234", "y.z@5678"]}))
        assert kind in [(one.kind, one.category) for one in found], name
        assert all(one.by == "name" and one.share is None for one in found)


def test_columns_of_which_nothing_is_said():
    assert detect_identifiers(pl.DataFrame(HARMLESS, strict=False)) == ()
    assert detect_identifiers(pl.DataFrame({"x": [None, None], "y": ["", " "]})) == ()
    assert detect_identifiers(shoal.datasets.census(1000, seed=1).drop("age")) == ()


def test_checksums_and_ranges_must_hold():
    wrong = {
        "iban": ["DE89 3704 0044 0532 0130 01"],
        "card": ["4111 1111 1111 1112"],
        "ssn": ["666-45-6789", "000-11-2222", "900-11-2222", "123-00-4567", "123-45-0000"],
        "ip": ["300.1.1.1"],
        "date": ["2020-13-45"],
        "vin": ["1M8GDM9A1KP042788"],
    }
    for name, values in wrong.items():
        by_values = [one for one in detect_identifiers(pl.DataFrame({f"{name}x": values})) if "values" in one.by]
        assert by_values == [], name


def test_dates_by_their_type_and_ages_by_their_size():
    frame = pl.DataFrame({"d": ["2020-01-31"], "age": [91], "height": [180], "alter": ["95"]})
    found = detect_identifiers(frame.with_columns(pl.col("d").str.to_date()))
    assert [(one.column, one.kind) for one in found] == [
        ("d", "date"),
        ("age", "age over 89"),
        ("alter", "age over 89"),
    ]


def test_a_few_addresses_in_free_text_are_found():
    texts = [f"row {at}" for at in range(500)] + [f"write to {at}@example.org" for at in range(5)]
    found = detect_identifiers(pl.DataFrame({"x": texts}))
    assert [one.kind for one in found] == ["email"]
    assert found[0].share == pytest.approx(5 / 505)


def test_many_values_are_sampled_whatever_their_order():
    rng = np.random.default_rng(1)
    texts = np.array([f"{at}@example.org" if at % 3 else f"row {at}" for at in range(50_000)])
    found = detect_identifiers(pl.DataFrame({"x": texts}))
    assert found[0].share == pytest.approx(2 / 3, abs=0.02)
    assert detect_identifiers(pl.DataFrame({"x": rng.permutation(texts)})) == found


def test_the_kinds_cover_the_rule():
    assert {kind.category for kind in KINDS} == set("ABCDEFGHIJKLMNOPQR")
    for kind in KINDS:
        assert kind.words or kind.form
        assert all(word == word.lower() and word.isascii() for word in kind.words)


def test_published_cells_are_read_as_what_they_show():
    # An interval of years, a year, a star, and the beginning of a code are no dates and no ZIP codes; members of sets
    # are shown, and an interval within a year is.
    quiet = {
        "birth_date": ["[1930, 1949]", "1950", "*", "1951-1960", "{1961, 1962}", "<1930"],
        "DOB": ["[1990-03-04, 1995-12-31]", "[2001-01, 2005-06]"],
        "zip": ["*", "*****"],
        "patient_id": ["[1, 300]", "(300, 600]"],
        "phone": ["*"],
    }
    for name, cells in quiet.items():
        assert detect_identifiers(pl.DataFrame({name: cells})) == (), name
    shown = {
        ("birth_date", "date", "its name says so"): ["[1930, 1949]", "1950-03"],
        ("dob", "date", "its name says so"): ["[1990-03-04, 1990-12-31]"],
        ("contact", "email", "its values have that form"): ["{a@example.org, b@example.org}", "*"],
        ("zip", "zip", "the first 3 digits of postal codes"): ["101", "[101, 120]", "*"],
        ("plz", "zip", "the first digit of postal codes"): ["1...", "*", "{1, 2}"],
        ("postcode", "zip", "its name says so"): ["8001", "[10115, 10119]"],
        ("zip code", "zip", "its name says so"): [10115, 12043],
    }
    for (name, kind, words), cells in shown.items():
        found = detect_identifiers(pl.DataFrame({name: cells}))
        assert [one.kind for one in found] == [kind], name
        assert words in found[0].text, name
