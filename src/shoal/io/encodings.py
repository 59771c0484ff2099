"""Which encoding a text that is not UTF-8 is in: the one that makes plausible words of its bytes, if there is one.

An encoding is plausible where the words with letters beyond ASCII read like words: of one script, with capitals at the
start or throughout, with the accents of one language, with the characters of everyday Chinese, Japanese or Korean.
Where several encodings are plausible and read differently, nobody can be sure.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby, pairwise

__all__ = ["likely_encodings"]

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
"""Encodings of the Latin script, and the letters of languages that are written in them; likelier ones first."""
_SCRIPTS: Mapping[str, str] = {
    **dict.fromkeys(("cp1251", "koi8_r", "iso8859_5", "cp866", "mac_cyrillic"), "CYRILLIC"),
    **dict.fromkeys(("cp1253", "iso8859_7"), "GREEK"),
    **dict.fromkeys(("cp1255",), "HEBREW"),
    **dict.fromkeys(("cp1256", "iso8859_6"), "ARABIC"),
}
"""Encodings of one other alphabet."""
_IDEOGRAPHIC: Mapping[str, tuple[str, int, int]] = {
    "cp932": ("euc_jp", 0xB0, 0xCF),
    "euc_jp": ("euc_jp", 0xB0, 0xCF),
    "gb18030": ("gb2312", 0xB0, 0xD7),
    "big5": ("big5", 0xA4, 0xC6),
    "cp949": ("euc_kr", 0xB0, 0xC8),
}
"""Encodings of two bytes, and where the everyday characters are: a standard and its first and last row of these."""
_ENOUGH = 0.9
"""Share of plausible words from which on an encoding is a candidate."""
_ABOUT = 0.02
"""Shares that differ by less are about the same."""
_CLEARLY = 0.15
"""By how much a language must fit better in one encoding than in another one."""
_PUNCTUATION = frozenset(
    "\u00a0¡¢£¥§«»¿©®°±²³µ·¹º¼½¾×–—‘’‚“”„†•…‰‹›€™、。・「」『』（）：；，！？～ー々〇〒【】《》"  # noqa: RUF001
)
_BESIDE_LETTERS = frozenset("¡¿«»‘’‚“”„–—‹›·²³µº…、。・「」『』（）：；，！？～ー々〇【】《》")  # noqa: RUF001
_FULL_WIDTH = ("HIRAGANA", "KATAKANA", "CJK", "HANGUL", "FULLWIDTH", "IDEOGRAPHIC")


def likely_encodings(sample: bytes) -> list[str]:
    """Return the encodings that a text may be in: one where that is sure, several where it is not, or none.

    Parameters
    ----------
    sample : bytes
        Lines that hold bytes beyond ASCII; they are not UTF-8.
    """
    if b"\x1b$" in sample and sample.isascii():
        return ["iso2022_jp"]
    readings: dict[str, tuple[float, str]] = {}
    for name in (*_LATIN, *_SCRIPTS, *_IDEOGRAPHIC):
        text = _decoded(sample, name)
        if text is not None:
            share = _plausible_share(name, text)
            if share >= _ENOUGH and text not in (other for _, other in readings.values()):
                readings[name] = (share, text)
    best = max((share for share, _ in readings.values()), default=0.0)
    names = [name for name, (share, _) in readings.items() if share >= best - _ABOUT]
    if len(names) > 1 and all(name in _LATIN for name in names):
        return [max(names, key=lambda name: readings[name][0])]  # the likelier one: what differs are accents
    return names if len(names) < 2 else _by_language(sample, names)


def _decoded(sample: bytes, name: str) -> str | None:
    try:
        return sample.decode(name)
    except UnicodeDecodeError:
        return None


def _plausible_share(name: str, text: str) -> float:
    """Return the share of plausible words, or everyday ideographs, among those that are not plain ASCII."""
    judged: list[bool] = []
    at = 0
    for (letters, _), run in groupby(text, key=_kind):
        word = "".join(run)
        at += len(word)
        if not word.isascii():
            beside = text[max(at - len(word) - 1, 0) : at - len(word)] + text[at : at + 1]
            if letters and name in _IDEOGRAPHIC and not _oddly_mixed(word):
                judged += [_is_everyday(name, one) for one in word if not one.isascii()]
            else:
                judged.append(_is_plausible(name, word, beside, letters=letters))
    return sum(judged) / len(judged) if judged else 0.0


def _kind(character: str) -> tuple[bool, bool]:
    """Return whether a character is a letter or belongs to one, and whether it is another one of ASCII."""
    letter = character.isalpha() or unicodedata.combining(character) > 0
    return letter, not letter and character.isascii()


def _is_plausible(name: str, word: str, beside: str, *, letters: bool) -> bool:
    """Judge a run of letters, some of them beyond ASCII, or of other characters, given what stands beside it."""
    if not letters:
        allowed = _BESIDE_LETTERS if any(one.isalpha() for one in beside) else _PUNCTUATION
        return all(one in allowed for one in word)
    if name in _IDEOGRAPHIC or _strange_capital(word):
        return False
    if name in _SCRIPTS:
        return all(unicodedata.name(one, "").startswith(_SCRIPTS[name]) for one in word)
    accents = {one for one in word.lower() if not one.isascii() and one != "\u0307"}  # the dot of a Turkish capital i
    plain = len(word) < 3 or any(one.isascii() for one in word)
    return plain and any(accents <= set(alphabet) for alphabet in _LATIN[name])


def _strange_capital(word: str) -> bool:
    """Return whether a capital stands after the first letter of a word with small ones, one of the two beyond ASCII."""
    return any(
        (one.islower() and other.isupper()) or (one.isupper() and other.islower() and at > 0)
        for at, (one, other) in enumerate(pairwise(word))
        if not (one + other).isascii()
    )


def _oddly_mixed(word: str) -> bool:
    """Return whether one ideograph stands among small Latin letters, or narrow kana alone or among Latin ones."""
    plain = [one for one in word if one.isascii()]
    half = any(unicodedata.name(one, "").startswith("HALFWIDTH") for one in word)
    if half:
        return bool(plain) or len(word) < 2
    return len(plain) == len(word) - 1 and any(one.islower() for one in plain)


@cache
def _is_everyday(name: str, character: str) -> bool:
    """Return whether a character is one that most texts of a language are made of."""
    standard, first, last = _IDEOGRAPHIC[name]
    called = unicodedata.name(character, "")
    japanese = standard == "euc_jp"
    if called.startswith(("HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA")):
        return japanese
    if called.startswith("FULLWIDTH"):
        return True
    if called.startswith("HANGUL") != (standard == "euc_kr") or not called.startswith(_FULL_WIDTH):
        return False
    try:
        return first <= character.encode(standard)[0] <= last
    except UnicodeEncodeError:
        return False


def _by_language(sample: bytes, names: Sequence[str]) -> list[str]:
    """Return the encoding in which the text fits a language clearly better than in all others, else all of them."""
    from charset_normalizer import from_bytes

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
