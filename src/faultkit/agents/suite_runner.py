"""Running suites: servers first, then tests in parallel, each within its time limit.

There is always a result: an error in one test becomes its row, and a stop ends the run with the rows so far.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from faultkit.agents.execute.run_agent import run_agent_test
from faultkit.agents.execute.run_tool import run_tool_test
from faultkit.agents.execute.snapshots import Snapshots
from faultkit.agents.execute.suite_servers import ConnectedServers, connect_servers
from faultkit.agents.parse.suite_targets import missed_targets
from faultkit.agents.selection import SelectedTests, SuiteTest
from faultkit.agents.suite.definition import AgentTest, CommandAgent, Suite
from faultkit.agents.suite.results import Results, Row, SuiteResult
from faultkit.agents.suite.run_options import Options
from faultkit.base.errors import FaultkitError
from faultkit.base.signals import handle_signals
from faultkit.base.times import now_us, time_text
from faultkit.mcp.targets import Inventory

_PROGRAMS_END_S = 5.0


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """The results of a run, and the signal that ended it early."""

    results: Results
    signal: int | None
    """None if the run ended by itself."""


def run_suites_blocking(
    chosen: Sequence[SelectedTests], options: Options, on_row: Callable[[Row], None] = lambda row: None
) -> FinishedRun:
    """Run suites in an event loop of their own; blocks. A signal ends the run with the rows so far."""

    async def main() -> FinishedRun:
        stopping = asyncio.Event()
        received: list[int] = []

        def stop(number: int) -> None:
            received.append(number)
            stopping.set()

        started_at, began = time_text(now_us()), perf_counter()
        with handle_signals(stop):
            results = await run_suites(chosen, options, on_row, stopping)
        took_ms = (perf_counter() - began) * 1000
        return FinishedRun(
            replace(results, started_at=started_at, duration_ms=took_ms), received[0] if received else None
        )

    return asyncio.run(main())


async def run_suites(
    chosen: Sequence[SelectedTests],
    options: Options,
    on_row: Callable[[Row], None] = lambda row: None,
    stopping: asyncio.Event | None = None,
) -> Results:
    """Run suites and return their results in the order of the files.

    `on_row` is called with each row as soon as it is known. `stopping` ends the run with the rows so far. A
    suite with a fault that targets no tool of its servers gets a problem instead of rows.
    """
    stopping = stopping or asyncio.Event()
    suites = [await _run_suite(each, options, on_row, stopping) for each in chosen]
    seed = options.seed if options.seed is not None else (chosen[0].suite.seed if chosen else 0)
    results = Results(tuple(suites), seed, options.clock)
    has_bailed = options.bail and any(row.fails for row in results.rows)
    return replace(results, interrupted=stopping.is_set() and not has_bailed, bailed=has_bailed)


async def _run_suite(
    chosen: SelectedTests, options: Options, on_row: Callable[[Row], None], stopping: asyncio.Event
) -> SuiteResult:
    suite, rows, problem = chosen.suite, list[Row](), ""
    needed = _needed(chosen.tests)
    snapshots = Snapshots(suite.file, update=options.update_snapshots)
    try:
        async with AsyncExitStack() as stack:
            own = [server for server in suite.servers if server.name in needed]
            opening = connect_servers(own, options.timeout_s)
            servers = await _opened(stack.enter_async_context(opening), stopping)
            if servers is not None:
                _check_targets(suite, servers)
                rows = await _run_tests(chosen, servers, options, snapshots, on_row, stopping)
        snapshots.save()
    except FaultkitError as error:
        problem = str(error)
    return SuiteResult(suite.file, tuple(rows), problem)


async def _opened(
    opening: Coroutine[Any, Any, ConnectedServers], stopping: asyncio.Event
) -> ConnectedServers | None:
    """Return the connected servers, or None if the run is stopped meanwhile."""
    work = asyncio.ensure_future(opening)
    stop = asyncio.ensure_future(stopping.wait())
    try:
        await asyncio.wait([work, stop], return_when="FIRST_COMPLETED")
        return work.result() if work.done() else None
    finally:
        stop.cancel()
        work.cancel()
        await asyncio.gather(work, stop, return_exceptions=True)


def _needed(tests: Sequence[SuiteTest]) -> set[str]:
    """Return the servers to connect. External programs get servers of their own, behind gateways."""
    names: set[str] = set()
    for test in tests:
        if test.skip or (isinstance(test, AgentTest) and isinstance(test.agent, CommandAgent)):
            continue
        names.update(test.servers if isinstance(test, AgentTest) else [test.server])
    return names


def _check_targets(suite: Suite, servers: ConnectedServers) -> None:
    listed = {
        name: Inventory(tools=tuple(tool.name for tool in server.tools))
        for name, server in servers.live.items()
    }
    for missed in missed_targets(suite, listed):
        raise missed


async def _run_tests(
    chosen: SelectedTests,
    servers: ConnectedServers,
    options: Options,
    snapshots: Snapshots,
    on_row: Callable[[Row], None],
    stopping: asyncio.Event,
) -> list[Row]:
    room = asyncio.Semaphore(max(1, options.parallel))

    async def one(test: SuiteTest) -> tuple[Row, ...]:
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
    suite: Suite, test: SuiteTest, servers: ConnectedServers, options: Options, snapshots: Snapshots
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
        # A defect in Faultkit or in an agent must not cost the other tests their results.
        return (_problem(test, f"{type(error).__name__}: {error}", took_ms()),)


def _grace_s(test: SuiteTest) -> float:
    """Return the extra time of a program, whose own run ends it at the limit and still reports its calls."""
    return _PROGRAMS_END_S if isinstance(test, AgentTest) and isinstance(test.agent, CommandAgent) else 0.0


def _problem(test: SuiteTest, message: str, took_ms: float) -> Row:
    return Row(test.name, "error", message, test.place, took_ms, tags=test.tags)
