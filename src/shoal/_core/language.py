"""Stand-ins for translation functions, until their calls are gone: messages are in English."""

from __future__ import annotations

__all__ = ["gettext", "marked", "ngettext", "numeral", "percentage"]


def gettext(message: str) -> str:
    """Return a message."""
    return message


def ngettext(one: str, many: str, count: int) -> str:
    """Choose the singular or the plural of a message."""
    return one if count == 1 else many


def marked(message: str) -> str:
    """Return a message."""
    return message


def numeral(english: str) -> str:
    """Return a formatted number."""
    return english


def percentage(english: str) -> str:
    """Format a percentage."""
    return f"{english}%"
