"""Interrupts reach whoever waits for them, wherever they strike."""

from __future__ import annotations

import signal

import pytest

import shoal._core.progress
from shoal._core.progress import Clock, interruptible


def _as_compiled_code_raises(cause: BaseException) -> None:
    """Raise what Python makes of an exception on the way out of a compiled function: one SystemError of another."""
    try:
        try:
            raise cause
        except BaseException as struck:
            raise SystemError("returned a result with an exception set") from struck
    except SystemError as first:
        raise SystemError("returned a result with an exception set") from first


def test_an_interrupt_of_a_compiled_function_is_one() -> None:
    with pytest.raises(KeyboardInterrupt), interruptible():
        _as_compiled_code_raises(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt), Clock(("work",)).step("work"):
        _as_compiled_code_raises(KeyboardInterrupt())


@pytest.mark.parametrize(("sent", "expected"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_an_interrupt_that_polars_drops_is_one(sent: signal.Signals, expected: type[BaseException]) -> None:
    def fail(*, struck: bool) -> None:
        with interruptible():
            if struck:
                signal.raise_signal(sent)
            raise TypeError("not a data type")

    former = signal.signal(sent, lambda *_: None)  # what it raises would be dropped
    try:
        with pytest.raises(expected):
            fail(struck=True)
        with pytest.raises(TypeError):
            fail(struck=False)
        assert signal.getsignal(sent) is not former
    finally:
        signal.signal(sent, former)


def test_another_failure_stays_what_it_is() -> None:
    with pytest.raises(SystemError, match="exception set"), interruptible():
        _as_compiled_code_raises(ValueError("no"))
    with pytest.raises(KeyError), Clock(("work",)).step("work"):
        raise KeyError


def test_a_compilation_counts_only_for_the_steps_in_which_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may begin in one step and end in another, in a thread of its own: no step takes a negative time."""
    now = 0.0
    monkeypatch.setattr(shoal._core.progress.time, "perf_counter", lambda: now)
    clock = Clock(("verify", "bound"))
    with clock.step("verify"):
        now = 1.0
        clock.begin()
        now = 4.0
    with clock.step("bound"):
        now = 5.0
        clock.end()
        now = 7.0
    assert clock.seconds() == {"verify": 1.0, "compile": 4.0, "bound": 2.0, "total": 7.0}
