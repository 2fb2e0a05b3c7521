"""Effects that cannot be undone are reported as such."""

from __future__ import annotations

import pytest

from faultkit.base.errors import RunError
from faultkit.chaos import ChaosFault, FaultRegistry, Limits
from faultkit.chaos.effects.lasting_effect import LastingEffect, Measured, UndoLog
from faultkit.chaos.safety.undo import UndoResult
from tests.chaos.waiting import until


class Stuck:
    """Startable and Lasting in one."""

    says = "stuck"
    at_work = True

    def check(self, limits: Limits, *, targets_too: bool) -> None:
        pass

    def begin(self, name: str, lasts_s: float, lease: UndoLog | None) -> LastingEffect:
        return self

    def measure(self) -> Measured:
        return {}

    def end(self) -> UndoResult:
        return UndoResult(False, "the door is locked")


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> FaultRegistry:
    monkeypatch.setattr(ChaosFault, "effect", lambda self: Stuck())
    return FaultRegistry(1)


def test_remove_says_so_and_the_fault_is_gone_all_the_same(registry: FaultRegistry) -> None:
    registry.register(ChaosFault("x", "resource_exhaustion", 1, 60))
    registry.inject("x")
    with pytest.raises(RunError, match=r"^x: its effect could not be taken back: the door is locked$"):
        registry.remove("x")
    assert "x" not in registry


def test_close_tries_all_before_it_says_so(registry: FaultRegistry) -> None:
    for name in ("x", "y"):
        registry.register(ChaosFault(name, "resource_exhaustion", 1, 60))
        registry.inject(name)
    with pytest.raises(RunError, match=r"^x: .*; y: "):
        registry.close()
    assert registry.states() == []


def test_to_end_one_injection_says_so(registry: FaultRegistry) -> None:
    registry.register(ChaosFault("x", "resource_exhaustion", 1, 60))
    injection = registry.inject("x")
    with pytest.raises(RunError, match=r"the door is locked$"):
        registry.end(injection)


def test_one_whose_time_is_over_is_in_trouble(registry: FaultRegistry) -> None:
    registry.register(ChaosFault("x", "resource_exhaustion", 1, 0.01))
    registry.inject("x")
    until(lambda: registry.states()[0].trouble)
    assert registry.states()[0].trouble == "the door is locked"
