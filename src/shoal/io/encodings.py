"""Find the encoding of a text that is not UTF-8: the one in which its words are plausible, if there is one.

An encoding is plausible if the words with letters beyond ASCII look like words: of one script, with capitals at the
start or throughout, with the accents of one language, or with the characters of everyday Chinese, Japanese or Korean.
If several encodings are plausible and differ in their text, the encoding is ambiguous.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby, pairwise

_WESTERN = (
    "äöüß",  # German
    "àâæçéèêëîïôœùûüÿ",  # French
    "áéíñóúüçàèïòºª",  # Spanish, Catalan
    "áâãàçéêíóôõúü",  # Portuguese
    "àèéìîòóù",  # Italian
    "æøåéóòäö",  # Danish, Norwegian, Swedish, Finnish
    "áðéíóúýþæö",  # Icelandic
    "áèéêëíïóöúü",  # Dutch
)
_CENTRAL = (
    "ąćęłńóśźż",  # Polish
    "áčďéěíňóřšťúůýž",  # Czech
    "áäčďéíĺľňóôŕšťúýž",  # Slovak
    "áéíóöőúüű",  # Hungarian
    "čćđšž",  # Croatian, Slovene
    "ăâîşţ",  # Romanian
    "äöüß",
)
_LATIN: Mapping[str, Sequence[str]] = {
    "cp1252": _WESTERN,
    "cp1250": _CENTRAL,
    "iso8859_2": _CENTRAL,
    "cp1254": ("çğıöşüâîû",),  # Turkish
    "cp1257": ("ąčęėįšųūž", "āčēģīķļņšūž", "äöõüšž"),  # Lithuanian, Latvian, Estonian
    "cp850": _WESTERN,
    "mac_roman": _WESTERN,
    "cp852": _CENTRAL,
}
"""Encodings of the Latin script, with the letters of languages that use them; likelier ones first."""
_SCRIPTS: Mapping[str, str] = {
    **dict.fromkeys(("cp1251", "koi8_r", "iso8859_5", "cp866", "mac_cyrillic"), "CYRILLIC"),
    **dict.fromkeys(("cp1253", "iso8859_7"), "GREEK"),
    **dict.fromkeys(("cp1255",), "HEBREW"),
    **dict.fromkeys(("cp1256", "iso8859_6"), "ARABIC"),
}
"""Encodings of a single other alphabet."""
_IDEOGRAPHIC: Mapping[str, tuple[str, int, int]] = {
    "cp932": ("euc_jp", 0xB0, 0xCF),
    "euc_jp": ("euc_jp", 0xB0, 0xCF),
    "gb18030": ("gb2312", 0xB0, 0xD7),
    "big5": ("big5", 0xA4, 0xC6),
    "cp949": ("euc_kr", 0xB0, 0xC8),
}
"""Encodings of two bytes, with a standard and its first and last row of everyday characters."""
_ENOUGH = 0.9
"""Smallest share of plausible words of a candidate."""
_ABOUT = 0.02
"""Largest difference of shares that count as equal."""
_CLEARLY = 0.15
"""Smallest lead in coherence of an encoding that is chosen by its language."""
_PUNCTUATION = frozenset(
    "\u00a0¡¢£¥§«»¿©®°±²³µ·¹º¼½¾×–—‘’‚“”„†•…‰‹›€™、。・「」『』（）：；，！？～ー々〇〒【】《》"  # noqa: RUF001
)
_NEXT_TO_LETTERS = frozenset("¡¿«»‘’‚“”„–—‹›·²³µº…、。・「」『』（）：；，！？～ー々〇【】《》")  # noqa: RUF001
_FULL_WIDTH = ("HIRAGANA", "KATAKANA", "CJK", "HANGUL", "FULLWIDTH", "IDEOGRAPHIC")


def likely_encodings(sample: bytes) -> list[str]:
    """List the possible encodings of a text: one if it is certain, several if it is ambiguous, or none.

    Parameters
    ----------
    sample : bytes
        Lines that hold bytes beyond ASCII; they are not UTF-8.
    """
    if b"\x1b$" in sample and sample.isascii():
        return ["iso2022_jp"]
    # Candidates have enough plausible words; of encodings with the same text only the first is kept.
    readings: dict[str, tuple[float, str]] = {}
    for name in (*_LATIN, *_SCRIPTS, *_IDEOGRAPHIC):
        text = decoded(sample, name)
        if text is not None:
            share = _plausible_share(name, text)
            if share >= _ENOUGH and text not in (other for _, other in readings.values()):
                readings[name] = (share, text)
    # Candidates about as good as the best one compete, by language if need be.
    best = max((share for share, _ in readings.values()), default=0.0)
    names = [name for name, (share, _) in readings.items() if share >= best - _ABOUT]
    if len(names) > 1 and all(name in _LATIN for name in names):
        return [
            max(names, key=lambda name: readings[name][0])
        ]  # they differ in accents only, so the likelier one is chosen
    return names if len(names) < 2 else _by_language(sample, names)


def decoded(sample: bytes, name: str) -> str | None:
    """Decode text, or return None if it is not in that encoding."""
    try:
        return sample.decode(name)
    except UnicodeDecodeError:
        return None


def _plausible_share(name: str, text: str) -> float:
    """Compute the share of plausible words, or everyday ideographs, among those that are not plain ASCII."""
    judged: list[bool] = []
    at = 0
    for (letters, _), run in groupby(text, key=_kind):
        word = "".join(run)
        at += len(word)
        if not word.isascii():
            neighbours = text[max(at - len(word) - 1, 0) : at - len(word)] + text[at : at + 1]
            # Ideographs are judged one by one, because they have no words between blanks.
            if letters and name in _IDEOGRAPHIC and not _oddly_mixed(word):
                judged += [_is_everyday(name, one) for one in word if not one.isascii()]
            else:
                judged.append(_is_plausible(name, word, neighbours, letters=letters))
    return sum(judged) / len(judged) if judged else 0.0


def _kind(character: str) -> tuple[bool, bool]:
    """Classify a character: whether it belongs to a word, and whether it is another ASCII character."""
    letter = character.isalpha() or unicodedata.combining(character) > 0
    return letter, not letter and character.isascii()


def _is_plausible(name: str, word: str, neighbours: str, *, letters: bool) -> bool:
    """Judge a run of letters, some of them beyond ASCII, or a run of other characters, given its neighbours."""
    # Punctuation and signs: fewer of them occur next to letters.
    if not letters:
        allowed = _NEXT_TO_LETTERS if any(one.isalpha() for one in neighbours) else _PUNCTUATION
        return all(one in allowed for one in word)
    if name in _IDEOGRAPHIC or _strange_capital(word):
        return False
    if name in _SCRIPTS:
        return all(unicodedata.name(one, "").startswith(_SCRIPTS[name]) for one in word)
    accents = {one for one in word.lower() if not one.isascii() and one != "\u0307"}  # the dot of a Turkish capital i
    # Longer words of languages with accents have plain letters as well.
    plain = len(word) < 3 or any(one.isascii() for one in word)
    return plain and any(accents <= set(alphabet) for alphabet in _LATIN[name])


def _strange_capital(word: str) -> bool:
    """Check whether a capital beyond ASCII follows the first letter of a lower-case word."""
    return any(
        (one.islower() and other.isupper()) or (one.isupper() and other.islower() and at > 0)
        for at, (one, other) in enumerate(pairwise(word))
        if not (one + other).isascii()
    )


def _oddly_mixed(word: str) -> bool:
    """Check whether a single ideograph is among lower-case letters, or narrow kana are alone or among letters."""
    plain = [one for one in word if one.isascii()]
    half = any(unicodedata.name(one, "").startswith("HALFWIDTH") for one in word)
    if half:
        return bool(plain) or len(word) < 2
    return len(plain) == len(word) - 1 and any(one.islower() for one in plain)


@cache
def _is_everyday(name: str, character: str) -> bool:
    """Check whether most texts of the language use a character."""
    standard, first, last = _IDEOGRAPHIC[name]
    called = unicodedata.name(character, "")
    japanese = standard == "euc_jp"
    if called.startswith(("HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA")):
        return japanese
    if called.startswith("FULLWIDTH"):
        return True
    # Hangul belongs to Korean only, and other characters to their standard's common rows.
    if called.startswith("HANGUL") != (standard == "euc_kr") or not called.startswith(_FULL_WIDTH):
        return False
    try:
        return first <= character.encode(standard)[0] <= last
    except UnicodeEncodeError:
        return False


def _by_language(sample: bytes, names: Sequence[str]) -> list[str]:
    """Choose the encoding whose text fits a language clearly better than the others; all of them if none does."""
    from charset_normalizer import from_bytes

    # The coherence with a language is the last evidence for or against an encoding.
    coherence = dict.fromkeys(names, 0.0)
    for match in from_bytes(sample, cp_isolation=list(names)):
        for name in _same(match.encoding, names):
            coherence[name] = max(coherence[name], match.coherence)
    ranked = sorted(names, key=lambda name: -coherence[name])
    if coherence[ranked[0]] >= coherence[ranked[1]] + _CLEARLY:
        return ranked[:1]
    return list(names)


def _same(found: str, names: Iterable[str]) -> list[str]:
    import codecs

    return [name for name in names if codecs.lookup(name).name == codecs.lookup(found).name]
