"""Cases of one rule as rounds of one test, which names the case that failed."""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import random
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

THOROUGH = os.environ.get("SHOAL_THOROUGH") == "1"
"""The lane of `make test-all`: every seed, combination and example."""
DRAW = os.environ.setdefault("SHOAL_DRAW", str(random.randrange(10**6)))
"""What is drawn in the lane of each commit; all processes of a run draw the same."""
SEEDS = ("seed", "block")
"""What names random tables: a tenth of them is drawn for each commit."""


def few(number: int, least: int = 2) -> int:
    """Return how many rounds, rows or seconds a test takes: a tenth, and `least`, in the lane of each commit."""
    return number if THOROUGH else min(max(number // 10, least), number)


def in_pairs(axes: list[list[Any]]) -> Iterator[tuple[Any, ...]]:
    """Yield combinations such that each two values of two lists meet at least once."""
    places = [list(enumerate(values)) for values in axes]
    seen: set[tuple[Any, ...]] = set()
    for row in itertools.product(*places):
        pairs = set(itertools.combinations(enumerate(place for place, _ in row), min(2, len(row))))
        if not pairs <= seen:
            seen |= pairs
            yield tuple(value for _, value in row)


def every(
    names: str | tuple[str, ...], values: Iterable[Any] | Callable[[], Iterable[Any]], *, drawn: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for each value within one case: for what `parametrize` would collect and report one by one.

    Several of these over one another take all combinations, or those of each two values in the lane of each commit.
    Of seeds, and of values that are to be `drawn`, that lane takes `few`, others each time. Each round has its own
    `tmp_path`, `monkeypatch` and `capsys`; other fixtures are shared. A function makes large values as they are needed.
    """
    called = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        axes = [
            (called, values if callable(values) else list(values), drawn or called[0] in SEEDS),
            *getattr(function, "axes", ()),
        ]
        test = getattr(function, "one_round", function)
        given = {name for taken, *_ in axes for name in taken}

        @functools.wraps(test)
        def rounds(*args: Any, **fixtures: Any) -> None:
            made = [(taken, values() if callable(values) else values, few) for taken, values, few in axes]
            run = [some(values, name=f"{test.__name__} {taken}") if few else values for taken, values, few in made]
            skipped = count = 0
            for count, row in enumerate(itertools.product(*run) if THOROUGH else in_pairs(run), 1):
                case = {}
                for (taken, *_), value in zip(axes, row, strict=True):
                    case |= zip(taken, value if len(taken) > 1 else [value], strict=True)
                with ExitStack() as own:
                    try:
                        test(*args, **own_fixtures(fixtures, count, own), **case)
                    except pytest.skip.Exception:
                        skipped += 1
                    except BaseException as error:
                        error.add_note(f"in the case {', '.join(f'{name}={shown(one)}' for name, one in case.items())}")
                        raise
            if skipped == count:
                pytest.skip("every case was skipped")

        signature = inspect.signature(test)
        kept = [one for name, one in signature.parameters.items() if name not in given]
        assert len(kept) + len(given) == len(signature.parameters), f"{test.__name__} takes each of {sorted(given)}"
        rounds.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        rounds.axes, rounds.one_round = axes, test  # type: ignore[attr-defined]
        return rounds

    return decorate


def some(values: Iterable[Any], least: int = 1, *, name: str = "") -> list[Any]:
    """Draw a few of seeds or other values in the lane of each commit; others each time, and for each name."""
    listed = list(values)
    drawn = random.Random(f"{DRAW} {name}").sample(range(len(listed)), few(len(listed), least))
    return [listed[at] for at in sorted(drawn)]


def first(cases: Iterable[Any], kept: int = 1) -> list[Any]:
    """Mark the cases of `parametrize` as thorough, but for the first ones."""
    listed = [one if isinstance(one, tuple) else (one,) for one in cases]
    return [pytest.param(*one, marks=[pytest.mark.thorough] * (at >= kept)) for at, one in enumerate(listed)]


def own_fixtures(fixtures: dict[str, Any], count: int, own: ExitStack) -> dict[str, Any]:
    """Give a round a folder and patches that are not those of the rounds before it."""
    given = dict(fixtures)
    if "tmp_path" in given:
        given["tmp_path"] = fixtures["tmp_path"] / f"round{count}"
        given["tmp_path"].mkdir()
    if "monkeypatch" in given:
        given["monkeypatch"] = own.enter_context(pytest.MonkeyPatch.context())
    if "capsys" in given:
        given["capsys"].readouterr()
    return given


def shown(value: object) -> str:
    """Write a value of a case, in short."""
    text = getattr(value, "__name__", None) or repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
