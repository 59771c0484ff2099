"""Format facts as sentences, in the words of the audience."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any

from shoal._core.facts import Fact
from shoal._core.words import listed, number, percent, quote, quote_columns
from shoal._messages import Audience, current_audience
from shoal.errors import InternalError
from shoal.wording.sentences import CODES, SENTENCES


def sentence(fact: Fact | Mapping[str, Any], audience: Audience | None = None) -> str:
    """Format a fact as a sentence.

    Parameters
    ----------
    fact : Fact or mapping
        The fact, or its `Fact.to_dict`.
    audience : Audience, optional
        The audience of suggestions; by default that of the current call.

    Raises
    ------
    InternalError
        The code has no sentence.

    Examples
    --------
    >>> stopped = Fact("search_stopped", more=1204)
    >>> sentence(stopped)
    'At most 1204 recoded cells more than the fewest possible: the search was stopped.'
    """
    fact = Fact.of(fact) if isinstance(fact, Mapping) else fact
    form = SENTENCES.get(fact.code)
    if form is None:
        raise InternalError(f"the code '{fact.code}' has no sentence in shoal.wording.sentences")
    # Singular and plural are sentences of their own.
    if isinstance(form, tuple):
        form = form[fact.arguments["count"] != 1]
    return _Words(current_audience() if audience is None else audience).vformat(form, (), fact.arguments)


def sentences(facts: Iterable[Fact | Mapping[str, Any] | None], audience: Audience | None = None) -> str:
    """Format several facts one after another, skipping None."""
    return " ".join(sentence(fact, audience) for fact in facts if fact is not None)


def code_in_words(code: object) -> str:
    """Format a value or a name of a certificate in words; other values are unchanged."""
    return CODES[code] if isinstance(code, str) and code in CODES else str(code)


@dataclass(frozen=True)
class Sentence:
    """A fact as a part of a message, such as an error or a log record."""

    fact: Fact
    """The fact."""

    def render(self, audience: Audience) -> str:
        """Phrase the fact for an audience."""
        return sentence(self.fact, audience)


class _Words(Formatter):
    """Formatter of the placeholders of a sentence."""

    def __init__(self, audience: Audience) -> None:
        self._audience = audience

    def format_field(self, value: Any, format_spec: str) -> str:
        """Format an argument as its placeholder specifies."""
        # Formats of our own; any other one is a format of Python.
        match format_spec:
            case "percent":
                return percent(value)
            case "number":
                return number(value)
            case "value":
                return f"{value:,.0f}" if value >= 1000 else f"{value:.6g}"
            case "names":
                return quote_columns(value)
            case "list":
                return listed(value)
            case "list_and_others":
                return listed([*value, _OTHERS])
            case "shares":
                return ", ".join(f"{quote(name)} ({percent(share)})" for name, share in value)
        return self._plain(value, format_spec)

    def _plain(self, value: Any, format_spec: str) -> str:
        """Format a part of a message, a fact, a name or a number."""
        # Facts may be nested; parts of messages depend on the audience.
        if isinstance(value, Fact):
            return sentence(value, self._audience)
        if hasattr(value, "render"):
            return str(value.render(self._audience))
        return value if isinstance(value, str) else format(value, format_spec)


_OTHERS = "others"
