"""Objects that hold the original table or a secret: they stay in the process that made them."""

from __future__ import annotations

from typing import ClassVar, NoReturn, SupportsIndex

from shoal.errors import NotPicklableError

__all__ = ["Unpicklable"]


class Unpicklable:
    """Base of objects that refuse to be pickled, and so to be copied by pickle's protocol or sent to a process.

    A pickle of such an object would hold, unseen, what the object needs and its readers must not have.
    """

    __slots__ = ()
    _holds: ClassVar[str] = "the original table"
    """What a pickle would hold."""
    _instead: ClassVar[str] = ""
    """What to do instead, in a sentence."""

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> NoReturn:
        name = type(self).__name__
        raise NotPicklableError(
            f"A {name} is neither pickled nor copied: it holds {self._holds}. {self._instead}".rstrip()
        )
