"""The registry: repeatable rolls, registered and removed faults, effects on the caller, failed undos."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.errors import InputError, RunError
from faultkit.chaos import ChaosFault, FaultRegistry, InjectedFault, Injection, KillSwitch, Limits
from faultkit.chaos.effects.lasting_effect import LastingEffect, Measured, UndoLog
from faultkit.chaos.safety.undo import UndoResult
from faultkit.mcp.failures.tool_catalogue import roll_of
from tests.chaos.waiting import PATIENCE_S, until, until_in_a_task

CALLS = 10_000


@pytest.fixture
def registry() -> Iterator[FaultRegistry]:
    with FaultRegistry(seed=42) as faults:
        yield faults


def triggers(registry: FaultRegistry, count: int, name: str = "flaky") -> list[bool]:
    return [registry.inject(name).was_triggered for _ in range(count)]


# --- dice ---------------------------------------------------------------------------------------


def test_ten_thousand_calls_trigger_as_often_as_they_should_and_repeat_exactly() -> None:
    fault = ChaosFault("flaky", "error", probability=0.3)
    sequences = []
    for _ in range(2):
        registry = FaultRegistry(seed="one seed")
        registry.register(fault)
        sequences.append(triggers(registry, CALLS))
    assert sequences[0] == sequences[1]
    # Outside of four standard deviations once in 16,000 seeds; this seed is inside.
    expected, deviation = CALLS * 0.3, math.sqrt(CALLS * 0.3 * 0.7)
    assert abs(sum(sequences[0]) - expected) < 4 * deviation


def test_the_sequence_is_the_same_when_threads_share_it(registry: FaultRegistry) -> None:
    registry.register(ChaosFault("flaky", "error", probability=0.5))
    alone = dict(enumerate(triggers(registry, 400)))
    registry.register(ChaosFault("flaky", "error", probability=0.5))
    with ThreadPoolExecutor(8) as pool:
        shared = list(pool.map(lambda _: registry.inject("flaky"), range(400)))
    assert {injection.call: injection.was_triggered for injection in shared} == alone
    assert registry.states()[0].times_triggered == sum(alone.values())


def test_tasks_share_it_too(registry: FaultRegistry) -> None:
    registry.register(ChaosFault("flaky", "latency", probability=0.5))
    alone = dict(enumerate(triggers(registry, 100)))
    registry.register(ChaosFault("flaky", "latency", probability=0.5))

    async def all_at_once() -> list[Injection]:
        return await asyncio.gather(*(registry.ainject("flaky") for _ in range(100)))

    shared = asyncio.run(all_at_once())
    assert {injection.call: injection.was_triggered for injection in shared} == alone


def test_a_call_id_gives_the_same_roll_from_any_thread_and_every_time(registry: FaultRegistry) -> None:
    registry.register(ChaosFault("flaky", "error", probability=0.5))
    by_number = triggers(registry, 50)
    assert [registry.inject("flaky", call_id=number).was_triggered for number in range(50)] == by_number
    assert {registry.inject("flaky", call_id="order-17").roll for _ in range(5)} == {
        registry.inject("flaky", call_id="order-17").roll
    }


def test_the_roll_is_the_generator_of_the_flaky_tool(registry: FaultRegistry) -> None:
    registry.register(ChaosFault("db", "error", probability=0.5, seed="abc"))
    assert registry.inject("db", call_id=6).roll == roll_of("abc|db", 6)


@given(seed=st.integers() | st.text(max_size=20), probability=st.sampled_from([0.0, 1.0]))
def test_zero_never_triggers_and_one_always_does(seed: int | str, probability: float) -> None:
    registry = FaultRegistry(seed)
    registry.register(ChaosFault("x", "error", probability))
    assert set(triggers(registry, 20, "x")) == {probability == 1}


def test_a_registry_without_a_seed_makes_one_and_shows_it() -> None:
    fault = ChaosFault("flaky", "error", probability=0.5)
    first, other = FaultRegistry(), FaultRegistry()
    assert first.seed != other.seed
    again = FaultRegistry(first.seed)
    first.register(fault)
    again.register(fault)
    assert triggers(first, 200) == triggers(again, 200)


def test_faults_of_other_names_and_seeds_roll_otherwise(registry: FaultRegistry) -> None:
    for fault in (
        ChaosFault("a", "error", 0.5),
        ChaosFault("b", "error", 0.5),
        ChaosFault("c", "error", 0.5, seed=7),
    ):
        registry.register(fault)
    sequences = {name: tuple(triggers(registry, 100, name)) for name in "abc"}
    assert len(set(sequences.values())) == 3


# --- register and remove -------------------------------------------------------------------------


def test_to_register_again_puts_the_new_one_in_its_place_and_begins_anew(registry: FaultRegistry) -> None:
    registry.register(ChaosFault("x", "error", 1))
    registry.inject("x")
    registry.register(ChaosFault("x", "latency", 0.25))
    (state,) = registry.states()
    assert (state.fault.fault_type, state.fault.probability) == ("latency", 0.25)
    assert (state.calls, state.times_triggered, state.last_triggered_at) == (0, 0, None)


def test_remove_returns_whether_there_was_one(registry: FaultRegistry) -> None:
    registry.register(ChaosFault("x", "error"))
    assert (registry.remove("x"), registry.remove("x")) == (True, False)
    assert registry.states() == []


def test_injecting_an_unregistered_fault_is_an_error(registry: FaultRegistry) -> None:
    with pytest.raises(InputError, match=r'^name: there is no fault named "absent"$'):
        registry.inject("absent")
    assert registry.maybe("absent") is None


@pytest.mark.parametrize("call_id", [True, 1.5, b"x"])
def test_a_wrong_call_id_is_an_error(registry: FaultRegistry, call_id: object) -> None:
    registry.register(ChaosFault("x", "error"))
    with pytest.raises(InputError, match=r"^call_id: expected a whole number or a text"):
        registry.inject("x", call_id)  # type: ignore[arg-type]


def test_an_expired_fault_is_removed(registry: FaultRegistry) -> None:
    registry.register(ChaosFault("x", "error", 1), ttl_s=0)
    assert "x" not in registry
    assert registry.states() == []
    registry.register(ChaosFault("y", "error", 1), ttl_s=60)
    (state,) = registry.states()
    assert state.expires_in_s is not None
    assert 0 < state.expires_in_s <= 60


def test_a_state_has_when_and_how_often_it_triggered(registry: FaultRegistry) -> None:
    registry.register(ChaosFault("x", "error", 1))
    for _ in range(3):
        registry.inject("x")
    (state,) = registry.states()
    assert (state.calls, state.times_triggered, state.seed, state.active) == (3, 3, 42, False)
    assert state.last_triggered_at is not None
    assert state.last_triggered_at.endswith("Z")


# --- effects on the caller ----------------------------------------------------------------------


def test_an_error_is_returned_by_inject_and_raised_by_maybe(registry: FaultRegistry) -> None:
    registry.register(ChaosFault("x", "error", 1, error_message="DB unavailable"))
    effect = registry.inject("x").effect
    assert effect is not None
    assert (effect.raised, effect.message, effect.says) == (
        "InjectedFault",
        "DB unavailable",
        "InjectedFault: DB unavailable",
    )
    with pytest.raises(InjectedFault, match=r"^DB unavailable$"):
        registry.maybe("x")


def test_an_error_may_be_any_built_in_one(registry: FaultRegistry) -> None:
    registry.register(ChaosFault("x", "error", 1, metadata={"raises": "ConnectionResetError"}))
    with pytest.raises(ConnectionResetError, match=r"^Injected fault$"):
        registry.maybe("x")


def test_a_timeout_waits_and_then_raises(registry: FaultRegistry) -> None:
    registry.register(ChaosFault("x", "timeout", 1, duration_s=0.02, error_message="too slow"))
    effect = registry.inject("x").effect
    assert effect is not None
    assert effect.slept_s >= 0.02
    assert (effect.raised, effect.message) == ("TimeoutError", "too slow")
    with pytest.raises(TimeoutError, match=r"^too slow$"):
        registry.maybe("x")


def test_a_delay_in_a_task_does_not_hold_up_the_loop(registry: FaultRegistry) -> None:
    registry.register(ChaosFault("x", "latency", 1, duration_s=60))

    async def main() -> Injection:
        waiting = asyncio.create_task(registry.ainject("x"))
        await until_in_a_task(registry.active)  # Passes only if the event loop is not blocked.
        registry.remove("x")
        return await asyncio.wait_for(waiting, PATIENCE_S)

    effect = asyncio.run(main()).effect
    assert effect is not None
    assert effect.slept_s < 60


def test_a_cancelled_delay_leaves_nothing_behind(registry: FaultRegistry) -> None:
    registry.register(ChaosFault("x", "latency", 1, duration_s=60))

    async def main() -> None:
        waiting = asyncio.create_task(registry.ainject("x"))
        await until_in_a_task(registry.active)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(main())
    assert registry.active() == []


def test_delayed_callers_continue_without_the_exception_when_the_fault_is_removed(
    registry: FaultRegistry,
) -> None:
    registry.register(ChaosFault("x", "timeout", 1, duration_s=60))
    came: list[object] = []
    thread = threading.Thread(target=lambda: came.append(registry.maybe("x")))
    thread.start()
    until(registry.active)
    registry.remove("x")
    thread.join(PATIENCE_S)
    assert len(came) == 1, "it was let go, and nothing was raised"


# --- limits and the kill switch ------------------------------------------------------------------


def test_limits_hold_for_durations_amounts_targets_and_environments() -> None:
    registry = FaultRegistry(limits=Limits(most_duration_s=5, most_memory_bytes=8 << 20))
    for fault, path, problem in (
        (ChaosFault("x", "latency", duration_s=6), "duration_s", "expected at most 5, got 6"),
        (
            ChaosFault("x", "resource_exhaustion", metadata={"amount": 9}),
            "metadata.amount",
            "expected at most 8 MiB, got 9",
        ),
        (
            ChaosFault("x", "network_partition", targets=("127.0.0.1:1", "example.com:80")),
            "targets[1]",
            '"example.com:80" is not among the targets that may be broken',
        ),
    ):
        with pytest.raises(InputError) as caught:
            registry.register(fault)
        assert caught.value.path == path
        assert caught.value.problem.startswith(problem)
    with pytest.raises(InputError, match=r"^environment: "):
        FaultRegistry(limits=Limits(environment="production")).register(ChaosFault("x", "error"))


def test_without_limits_amounts_and_durations_are_capped_all_the_same(registry: FaultRegistry) -> None:
    with pytest.raises(InputError, match=r"^metadata\.amount: expected at most 1024 MiB, got 2048"):
        registry.register(ChaosFault("x", "resource_exhaustion", metadata={"amount": 2048}))
    with pytest.raises(InputError, match=r"^duration_s: expected at most 600"):
        registry.register(ChaosFault("x", "timeout", duration_s=601))


def test_a_pulled_kill_switch_lets_nothing_start(tmp_path: Path) -> None:
    kill_switch = KillSwitch(tmp_path)
    registry = FaultRegistry(kill_switch=kill_switch)
    registry.register(ChaosFault("x", "error", 1))
    kill_switch.pull("enough")
    for begin in (lambda: registry.inject("x"), lambda: registry.register(ChaosFault("y", "error"))):
        with pytest.raises(RunError, match=r"^the kill switch is pulled: nothing new begins \(enough\)$"):
            begin()
    assert registry.remove("x")


# --- effects that cannot be undone ---------------------------------------------------------------


class Stuck:
    """A StartableEffect and LastingEffect that cannot be undone."""

    says = "stuck"
    is_active = True

    def check(self, limits: Limits, *, targets_too: bool) -> None:
        pass

    def begin(self, name: str, lasts_s: float, lease: UndoLog | None) -> LastingEffect:
        return self

    def measure(self) -> Measured:
        return {}

    def hits(self) -> int:
        return 0

    def end(self) -> UndoResult:
        return UndoResult(False, "the door is locked")


@pytest.fixture
def stuck_registry(monkeypatch: pytest.MonkeyPatch) -> FaultRegistry:
    monkeypatch.setattr(ChaosFault, "effect", lambda self: Stuck())
    return FaultRegistry(1)


def test_remove_raises_and_removes_the_fault_all_the_same(stuck_registry: FaultRegistry) -> None:
    stuck_registry.register(ChaosFault("x", "resource_exhaustion", 1, 60))
    stuck_registry.inject("x")
    with pytest.raises(RunError, match=r"^x: its effect could not be undone: the door is locked$"):
        stuck_registry.remove("x")
    assert "x" not in stuck_registry


def test_close_tries_all_before_it_raises(stuck_registry: FaultRegistry) -> None:
    for name in ("x", "y"):
        stuck_registry.register(ChaosFault(name, "resource_exhaustion", 1, 60))
        stuck_registry.inject(name)
    with pytest.raises(RunError, match=r"^x: .*; y: "):
        stuck_registry.close()
    assert stuck_registry.states() == []


def test_ending_one_injection_raises(stuck_registry: FaultRegistry) -> None:
    stuck_registry.register(ChaosFault("x", "resource_exhaustion", 1, 60))
    injection = stuck_registry.inject("x")
    with pytest.raises(RunError, match=r"the door is locked$"):
        stuck_registry.end(injection)


def test_one_whose_time_is_over_is_in_trouble(stuck_registry: FaultRegistry) -> None:
    stuck_registry.register(ChaosFault("x", "resource_exhaustion", 1, 0.01))
    stuck_registry.inject("x")
    until(lambda: stuck_registry.states()[0].trouble)
    assert stuck_registry.states()[0].trouble == "the door is locked"
