"""Sentences of facts, in the language of the page that is being made and in the words of those who read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any

from shoal._core.facts import Fact
from shoal._core.language import ENGLISH, marked, numeral, written_in
from shoal._core.language import gettext as _
from shoal._core.words import listed, number, percent, quote_columns
from shoal._messages import Voice, speaking
from shoal.wording.sentences import CODES, SENTENCES

__all__ = ["Sentence", "code_in_words", "english", "sentence", "sentences"]


def sentence(fact: Fact | Mapping[str, Any], voice: Voice | None = None) -> str:
    """Put a fact into words, in the language that is written in.

    Parameters
    ----------
    fact : Fact or mapping
        The fact, or what `Fact.to_dict` made of it.
    voice : Voice, optional
        In whose words suggestions are; by default in those of the call that is being answered.

    Examples
    --------
    >>> stopped = Fact("search_stopped", more=1204)
    >>> sentence(stopped)
    'At most 1204 recoded cells more than the fewest possible: the search was stopped.'
    >>> with written_in("de"):
    ...     sentence(stopped)
    'Höchstens 1204 vergröberte Zellen mehr als die kleinstmögliche Zahl: Die Suche wurde vorzeitig beendet.'
    """
    fact = Fact.of(fact) if isinstance(fact, Mapping) else fact
    form = SENTENCES[fact.code]
    if isinstance(form, tuple):
        form = form[fact.arguments["count"] != 1]
    return _Words(speaking() if voice is None else voice).vformat(_(form), (), fact.arguments)


def english(fact: Fact | Mapping[str, Any], voice: Voice | None = None) -> str:
    """Put a fact into English words, whatever the language of the page: for certificates, messages and terminals."""
    with written_in(ENGLISH):
        return sentence(fact, voice)


def sentences(facts: Iterable[Fact | Mapping[str, Any] | None], voice: Voice | None = None) -> str:
    """Put facts into words, one after another; there is nothing for None."""
    return " ".join(sentence(fact, voice) for fact in facts if fact is not None)


def code_in_words(code: object) -> str:
    """Put a value or a name of a certificate into words of the page; what is not a code stays."""
    return _(CODES[code]) if isinstance(code, str) and code in CODES else str(code)


@dataclass(frozen=True)
class Sentence:
    """A fact as a part of a message: an error or a line of a log, which are in English."""

    fact: Fact
    """The fact."""

    def told(self, voice: Voice) -> str:
        """Return the words."""
        return english(self.fact, voice)


class _Words(Formatter):
    """Fills in the placeholders of a sentence."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice

    def format_field(self, value: Any, format_spec: str) -> str:
        """Write an argument as its placeholder asks for."""
        match format_spec:
            case "percent":
                return percent(value)
            case "number":
                return number(value)
            case "value":
                return numeral(f"{value:,.0f}" if value >= 1000 else f"{value:.6g}")
            case "names":
                return quote_columns(value)
            case "list":
                return listed(value)
            case "list_and_others":
                return listed([*value, _(_OTHERS)])
            case "shares":
                return ", ".join(f"'{name}' ({percent(share)})" for name, share in value)
        return self._plain(value, format_spec)

    def _plain(self, value: Any, format_spec: str) -> str:
        """Write a part of a message, a fact, a name or a number."""
        if isinstance(value, Fact):
            return sentence(value, self._voice)
        if hasattr(value, "told"):
            return str(value.told(self._voice))
        return value if isinstance(value, str) else numeral(format(value, format_spec))


_OTHERS = marked("others")
