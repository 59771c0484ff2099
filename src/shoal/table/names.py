"""Hints about the roles of columns from their names, in English, German, French, Spanish, Italian and Dutch."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from shoal._core.file_formats import read_data_file

_LONG = 6
"""Smallest length of words that are also searched within compounds (such as "Hauptdiagnose")."""


@cache
def _words(group: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the words of a group of `names.toml` that are also searched within compounds, and all of its words."""
    listed = [
        word.strip() for words in read_data_file(__package__, "names.toml")[group].values() for word in words.split(",")
    ]
    return tuple(word for word in listed if len(word) >= _LONG and word[0] != "="), frozenset(
        word.lstrip("=") for word in listed
    )


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
    return _has_one(name, "sensitive")


def suggests_known(name: str) -> bool:
    """Test if a name suggests an attribute that others may know about a person."""
    return _has_one(name, "known") or suggests_individual(name)


def suggests_remarks(name: str) -> bool:
    """Test if a name suggests remarks in words of one's own."""
    return _has_one(name, "remarks")


def suggests_individual(name: str) -> bool:
    """Test if a name suggests age, gender or birth, which vary within a household."""
    return _has_one(name, "individual")


def suggests_personal(name: str) -> bool:
    """Test if a name suggests another attribute of persons that seldom changes, such as education."""
    return _has_one(name, "personal")


def suggests_place(name: str) -> bool:
    """Test if a name suggests a place of residence, including postal codes."""
    return suggests_postal_code(name) or _has_one(name, "places")


def suggests_person_number(name: str) -> bool:
    """Test if a name suggests a number or code of a person.

    Examples
    --------
    >>> suggests_person_number("Patienten-Nr"), suggests_person_number("codice_fiscale"), suggests_person_number("ward")
    (True, True, False)
    """
    return _has_one(name, "person_numbers")


def suggests_thing(name: str) -> bool:
    """Test if a name suggests a product, a household or an institution, rather than a person."""
    return _has_one(name, "things") and not suggests_person_number(name)


def suggests_measured(name: str) -> bool:
    """Test if a name suggests a measurement, rather than an identifier."""
    return _has_one(name, "measured") and not suggests_numbering(name)


def suggests_numbering(name: str) -> bool:
    """Test if a name suggests an identifier.

    Examples
    --------
    >>> suggests_numbering("case_no"), suggests_numbering("id_stay"), suggests_numbering("number_of_visits")
    (True, True, False)
    """
    words = words_of(name)
    return bool(words) and (words[-1] in _words("numbering")[1] or words[0] == "id")


def suggests_postal_code(name: str) -> bool:
    """Test if a name suggests postal codes."""
    return not _words("postal")[1].isdisjoint(words_of(name))


def _has_one(name: str, group: str) -> bool:
    words = words_of(name)
    joined = "".join(words)
    # Short words must match exactly, because they occur within many other words.
    within, exact = _words(group)
    return not exact.isdisjoint(words) or any(word in joined for word in within)
