"""with_chaos around functions of every kind, and around blocks."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator

import pytest

from faultkit.chaos import ChaosFault, FaultRegistry, InjectedFault, with_chaos
from tests.chaos.waiting import PATIENCE_S, until_in_a_task

REFUSED = ChaosFault("db", "network_partition", 1, targets=("127.0.0.1:9",), duration_s=60)


@pytest.fixture
def registry() -> Iterator[FaultRegistry]:
    with FaultRegistry(seed=1) as faults:
        yield faults


@pytest.fixture
def broken(registry: FaultRegistry) -> FaultRegistry:
    registry.register(ChaosFault("db", "error", 1, error_message="no"))
    return registry


def test_a_function_suffers_the_fault_before_it_begins(broken: FaultRegistry) -> None:
    began = []

    @with_chaos(broken, "db")
    def load(key: str, *, twice: bool = False) -> str:
        """Load it."""
        began.append(key)
        return key * (2 if twice else 1)

    with pytest.raises(InjectedFault, match=r"^no$"):
        load("a")
    assert began == []
    broken.remove("db")
    assert load("a", twice=True) == "aa"


def test_name_text_and_signature_are_kept() -> None:
    @with_chaos(FaultRegistry(), "db")
    def load(key: str, *, twice: bool = False) -> str:
        """Load it."""
        return key

    assert (load.__name__, load.__doc__) == ("load", "Load it.")
    assert list(inspect.signature(load).parameters) == ["key", "twice"]


def test_an_async_function_stays_one(broken: FaultRegistry) -> None:
    @with_chaos(broken, "db")
    async def load() -> int:
        return 5

    assert inspect.iscoroutinefunction(load)
    with pytest.raises(InjectedFault):
        asyncio.run(load())
    broken.remove("db")
    assert asyncio.run(load()) == 5


def test_a_delay_before_an_async_function_does_not_hold_up_the_loop(registry: FaultRegistry) -> None:
    registry.register(ChaosFault("db", "latency", 1, duration_s=60))

    @with_chaos(registry, "db")
    async def load() -> int:
        return 5

    async def main() -> int:
        waiting = asyncio.create_task(load())
        await until_in_a_task(registry.active)
        registry.remove("db")
        return await asyncio.wait_for(waiting, PATIENCE_S)

    assert asyncio.run(main()) == 5


def test_generators_of_both_sorts_suffer_it_at_their_first_step(broken: FaultRegistry) -> None:
    @with_chaos(broken, "db")
    def rows() -> Iterator[int]:
        yield from (1, 2)

    @with_chaos(broken, "db")
    async def stream() -> AsyncIterator[int]:
        yield 1
        yield 2

    async def collect() -> list[int]:
        return [value async for value in stream()]

    assert inspect.isgeneratorfunction(rows)
    assert inspect.isasyncgenfunction(stream)
    with pytest.raises(InjectedFault):
        list(rows())
    with pytest.raises(InjectedFault):
        asyncio.run(collect())
    broken.remove("db")
    assert list(rows()) == asyncio.run(collect()) == [1, 2]


def test_a_method_is_bound_as_ever(broken: FaultRegistry) -> None:
    broken.remove("db")

    class Store:
        size = 3

        @with_chaos(broken, "db")
        def load(self) -> int:
            return self.size

    assert Store().load() == 3


def test_a_class_is_no_function() -> None:
    with pytest.raises(TypeError, match=r"^expected a function"):
        with_chaos(FaultRegistry(), "db")(int)


def test_a_block_suffers_it_where_it_begins(broken: FaultRegistry) -> None:
    with pytest.raises(InjectedFault), with_chaos(broken, "db"):
        pytest.fail("the block began")

    async def main() -> None:
        async with with_chaos(broken, "db"):
            pytest.fail("the block began")

    with pytest.raises(InjectedFault):
        asyncio.run(main())


def test_what_a_block_raises_comes_out_of_it(registry: FaultRegistry) -> None:
    with pytest.raises(KeyError), with_chaos(registry, "db"):
        raise KeyError("own")


def test_a_lasting_effect_ends_with_the_block_that_began_it(registry: FaultRegistry) -> None:
    registry.register(REFUSED)
    chaos = with_chaos(registry, "db")
    with chaos:
        assert [state.fault.name for state in registry.active()] == ["db"]
        with chaos:
            pass
        assert len(registry.active()) == 1, "the inner block did not begin it"
    assert registry.active() == []


def test_a_lasting_effect_ends_with_the_async_call_that_began_it(registry: FaultRegistry) -> None:
    registry.register(REFUSED)

    @with_chaos(registry, "db")
    async def load() -> int:
        return len(registry.active())

    assert asyncio.run(load()) == 1
    assert registry.active() == []


def test_one_block_object_serves_tasks_side_by_side(registry: FaultRegistry) -> None:
    registry.register(REFUSED)
    chaos = with_chaos(registry, "db")
    order: list[str] = []

    async def first(entered: asyncio.Event, may_leave: asyncio.Event) -> None:
        async with chaos:
            entered.set()
            await may_leave.wait()
            order.append("first leaves")

    async def main() -> None:
        entered, may_leave = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(first(entered, may_leave))
        await entered.wait()
        async with chaos:
            may_leave.set()
            await task
            order.append("second leaves")

    asyncio.run(asyncio.wait_for(main(), PATIENCE_S))
    assert order == ["first leaves", "second leaves"]
    assert registry.active() == []
