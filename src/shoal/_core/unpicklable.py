"""Objects that hold the original table or a secret, and must stay in their process."""

from __future__ import annotations

from typing import ClassVar, NoReturn, SupportsIndex

from shoal.errors import NotPicklableError


class Unpicklable:
    """Base class of objects that cannot be pickled, and so neither copied nor sent to another process.

    A pickle of such an object would silently contain data that its readers must not have.
    """

    __slots__ = ()
    _holds: ClassVar[str] = "the original table"
    """The data that a pickle would contain."""
    _instead: ClassVar[str] = ""
    """The alternative, as a sentence."""

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> NoReturn:
        # The message names the type and the alternative, never the data.
        name = type(self).__name__
        raise NotPicklableError(
            f"A {name} is neither pickled nor copied: it holds {self._holds}. {self._instead}".rstrip()
        )
