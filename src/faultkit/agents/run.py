"""Runs suites: servers first, then tests side by side, each within its time. There is always a result."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from faultkit.agents.execute.agent_test import run_agent_test
from faultkit.agents.execute.options import Options
from faultkit.agents.execute.servers import Connected, connected
from faultkit.agents.execute.snapshots import Snapshots
from faultkit.agents.execute.tool_test import run_tool_test
from faultkit.agents.model import AgentTest, CommandAgent, Suite
from faultkit.agents.parse.targets import missed_targets
from faultkit.agents.result import Results, Row, SuiteResult
from faultkit.agents.select import Chosen, Test
from faultkit.base.errors import FaultkitError
from faultkit.base.times import now_us, time_text
from faultkit.mcp.targets import Inventory

_PROGRAMS_END_S = 5.0


@dataclass(frozen=True, slots=True)
class Ended:
    results: Results
    signal: int | None
    """The one that cut it short."""


def run_to_end(
    chosen: Sequence[Chosen], options: Options, on_row: Callable[[Row], None] = lambda row: None
) -> Ended:
    """For those who have no event loop. SIGINT and SIGTERM end it in good order, with what there is."""

    async def main() -> Ended:
        stopping = asyncio.Event()
        came: list[int] = []

        def stop(number: int) -> None:
            came.append(number)
            stopping.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop, number)
        started_at, began = time_text(now_us()), perf_counter()
        results = await run_suites(chosen, options, on_row, stopping)
        took_ms = (perf_counter() - began) * 1000
        return Ended(replace(results, started_at=started_at, duration_ms=took_ms), came[0] if came else None)

    return asyncio.run(main())


async def run_suites(
    chosen: Sequence[Chosen],
    options: Options,
    on_row: Callable[[Row], None] = lambda row: None,
    stopping: asyncio.Event | None = None,
) -> Results:
    """`on_row` is told of each row as it comes; the results are in the order of the files. `stopping` ends it
    with what there is by then. A suite whose faults cannot be met by what its servers have has a problem, and
    no rows."""
    stopping = stopping or asyncio.Event()
    suites = [await _run_suite(each, options, on_row, stopping) for each in chosen]
    seed = options.seed if options.seed is not None else (chosen[0].suite.seed if chosen else 0)
    results = Results(tuple(suites), seed, options.clock)
    has_bailed = options.bail and any(row.fails for row in results.rows)
    return replace(results, interrupted=stopping.is_set() and not has_bailed, bailed=has_bailed)


async def _run_suite(
    chosen: Chosen, options: Options, on_row: Callable[[Row], None], stopping: asyncio.Event
) -> SuiteResult:
    suite, rows, problem = chosen.suite, list[Row](), ""
    needed = _needed(chosen.tests)
    snapshots = Snapshots(suite.file, update=options.update_snapshots)
    try:
        async with AsyncExitStack() as stack:
            own = [server for server in suite.servers if server.name in needed]
            opening = connected(own, options.timeout_s)
            servers = await _opened(stack.enter_async_context(opening), stopping)
            if servers is not None:
                _check_targets(suite, servers)
                rows = await _run_tests(chosen, servers, options, snapshots, on_row, stopping)
        snapshots.save()
    except FaultkitError as error:
        problem = str(error)
    return SuiteResult(suite.file, tuple(rows), problem)


async def _opened(opening: Coroutine[Any, Any, Connected], stopping: asyncio.Event) -> Connected | None:
    """None if it is to stop meanwhile."""
    work = asyncio.ensure_future(opening)
    stop = asyncio.ensure_future(stopping.wait())
    try:
        await asyncio.wait([work, stop], return_when="FIRST_COMPLETED")
        return work.result() if work.done() else None
    finally:
        stop.cancel()
        work.cancel()
        await asyncio.gather(work, stop, return_exceptions=True)


def _needed(tests: Sequence[Test]) -> set[str]:
    """Programs get servers of their own, behind gateways."""
    names: set[str] = set()
    for test in tests:
        if test.skip or (isinstance(test, AgentTest) and isinstance(test.agent, CommandAgent)):
            continue
        names.update(test.servers if isinstance(test, AgentTest) else [test.server])
    return names


def _check_targets(suite: Suite, servers: Connected) -> None:
    listed = {
        name: Inventory(tools=tuple(tool.name for tool in server.tools))
        for name, server in servers.live.items()
    }
    for missed in missed_targets(suite, listed):
        raise missed


async def _run_tests(
    chosen: Chosen,
    servers: Connected,
    options: Options,
    snapshots: Snapshots,
    on_row: Callable[[Row], None],
    stopping: asyncio.Event,
) -> list[Row]:
    room = asyncio.Semaphore(max(1, options.parallel))

    async def one(test: Test) -> tuple[Row, ...]:
        async with room:
            if stopping.is_set():
                return ()
            rows = await _run_test(chosen.suite, test, servers, options, snapshots)
        for row in rows:
            on_row(row)
            if options.bail and row.fails:
                stopping.set()
        return rows

    work = [asyncio.ensure_future(one(test)) for test in chosen.tests]
    stop = asyncio.ensure_future(stopping.wait())
    everything: asyncio.Future[Any] = asyncio.ensure_future(asyncio.gather(*work))
    try:
        await asyncio.wait([everything, stop], return_when="FIRST_COMPLETED")
    finally:
        stop.cancel()
        for each in work:
            each.cancel()
        await asyncio.gather(*work, everything, return_exceptions=True)
    return [row for each in work if not each.cancelled() for row in each.result()]


async def _run_test(
    suite: Suite, test: Test, servers: Connected, options: Options, snapshots: Snapshots
) -> tuple[Row, ...]:
    if test.skip:
        return (Row(test.name, "passed", "", test.place, 0.0, tags=test.tags, skipped=test.skip),)
    began = perf_counter()

    def took_ms() -> float:
        return (perf_counter() - began) * 1000

    try:
        async with asyncio.timeout(options.timeout_s + _grace_s(test)):
            if isinstance(test, AgentTest):
                return await run_agent_test(suite, test, servers, options, snapshots)
            return (await run_tool_test(suite, test, servers, options, snapshots),)
    except TimeoutError:
        return (_problem(test, f"it did not end within {options.timeout_s:g} s (--timeout)", took_ms()),)
    except FaultkitError as error:
        return (_problem(test, str(error), took_ms()),)
    except Exception as error:
        # A mistake of ours, or of an agent that is plugged in: the other tests have their results still.
        return (_problem(test, f"{type(error).__name__}: {error}", took_ms()),)


def _grace_s(test: Test) -> float:
    """A program is ended by its own run, which can still tell what it did."""
    return _PROGRAMS_END_S if isinstance(test, AgentTest) and isinstance(test.agent, CommandAgent) else 0.0


def _problem(test: Test, message: str, took_ms: float) -> Row:
    return Row(test.name, "error", message, test.place, took_ms, tags=test.tags)
