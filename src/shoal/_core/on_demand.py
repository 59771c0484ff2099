"""Fields of frozen dataclasses that accept a function, which is called when the field is first read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

_T = TypeVar("_T")


class OnDemand(Generic[_T]):
    """A field that accepts a function, which is called when the field is first read; its result is kept.

    The declared type itself cannot be callable. The field has no default.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, holder: None, owner: type) -> _T: ...
    @overload
    def __get__(self, holder: object, owner: type) -> _T: ...
    def __get__(self, holder: object | None, owner: type) -> _T:
        if holder is None:
            raise AttributeError  # the field has no default
        # The result replaces the function, so it is called only once.
        held: _T | Callable[[], _T] = holder.__dict__[self._name]
        if callable(held):
            held = holder.__dict__[self._name] = held()
        return held

    def __set__(self, holder: Any, value: _T | Callable[[], _T]) -> None:
        holder.__dict__[self._name] = value
