"""Runs suites: connects the servers first, then runs tests in parallel, each within its time limit.

There is always a result: an error in a test becomes the row of that test, and a stop ends the run with the
rows so far.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, TypeAlias

from faultkit.agents.execute.connected_servers import ConnectedServers, connect_servers
from faultkit.agents.execute.expectations import Snapshots
from faultkit.agents.execute.run_agent import JudgedRun, run_agent_test, run_once
from faultkit.agents.execute.run_tool import run_tool_test
from faultkit.agents.parse.suite_targets import missed_targets
from faultkit.agents.suite.agent_interface import Purse
from faultkit.agents.suite.definition import AgentTest, CommandAgent, Suite, SuiteTest
from faultkit.agents.suite.gate import ClockKind
from faultkit.agents.suite.results import ResultRow, SuiteResult, SuiteResults
from faultkit.agents.suite.run_options import RunOptions, SelectedTests
from faultkit.base.errors import FaultkitError
from faultkit.base.signals import handle_signals
from faultkit.base.times import now_us, time_text
from faultkit.mcp.targets import Inventory
from faultkit.plan import dump_rule

PROGRAM_GRACE_S = 5.0
"""Extra time for an external program: its own run ends it at the time limit and still reports its calls."""
CUT_OFF = "the run was interrupted before it had ended"


@dataclass(frozen=True, slots=True)
class SuitePiece:
    """A test, or one of its runs."""

    test: SuiteTest
    run: int | None = None
    """The number of the run, from 0; None for the whole test."""


@dataclass(frozen=True, slots=True)
class PieceOutcome:
    """What came of a piece: of a single run the run itself, which rows are made of when all have ended."""

    rows: tuple[ResultRow, ...] = ()
    judged: JudgedRun | None = None
    took_ms: float = 0.0


OnPiece: TypeAlias = Callable[[SuitePiece, PieceOutcome], None]


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """The results of a run, and the signal that ended it early."""

    results: SuiteResults
    signal: int | None
    """None if the run ended by itself."""


def run_suites_blocking(
    chosen: Sequence[SelectedTests],
    options: RunOptions,
    on_row: Callable[[ResultRow], None] = lambda row: None,
) -> FinishedRun:
    """Run suites in a new event loop; blocks. A signal ends the run with the rows so far."""

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
    options: RunOptions,
    on_row: Callable[[ResultRow], None] = lambda row: None,
    stopping: asyncio.Event | None = None,
) -> SuiteResults:
    """Run suites and return their results in the order of the files.

    `on_row` is called with each row as soon as it is known. `stopping` ends the run with the rows so far. A
    suite with a fault that targets no tool of its servers gets a problem instead of rows.
    """
    stopping = stopping or asyncio.Event()
    suites = [await _run_suite(each, options, on_row, stopping) for each in chosen]
    results = results_of(chosen, options, suites)
    has_bailed = options.bail and any(row.fails and row.message != CUT_OFF for row in results.rows)
    return replace(results, interrupted=stopping.is_set() and not has_bailed, bailed=has_bailed)


def results_of(
    chosen: Sequence[SelectedTests], options: RunOptions, suites: Sequence[SuiteResult]
) -> SuiteResults:
    """Return the results of a run of these tests."""
    seed = options.seed if options.seed is not None else (chosen[0].suite.seed if chosen else 0)
    return SuiteResults(tuple(suites), seed, options.clock, planned_clocks=_clocks(chosen, options))


def _clocks(chosen: Sequence[SelectedTests], options: RunOptions) -> frozenset[ClockKind]:
    return frozenset(
        "real" if isinstance(test, AgentTest) and isinstance(test.agent, CommandAgent) else options.clock
        for each in chosen
        for test in each.tests
    )


async def _run_suite(
    chosen: SelectedTests, options: RunOptions, on_row: Callable[[ResultRow], None], stopping: asyncio.Event
) -> SuiteResult:
    def on_piece(piece: SuitePiece, outcome: PieceOutcome) -> None:
        for row in outcome.rows:
            on_row(row)

    pieces = [SuitePiece(test) for test in chosen.tests]
    rows, problem = await run_pieces(chosen.suite, pieces, options, on_piece, stopping)
    lanes = lane_rows(chosen)
    for row in lanes:
        on_row(row)
    return SuiteResult(chosen.suite.file, (*rows, *lanes), problem)


async def run_pieces(
    suite: Suite,
    pieces: Sequence[SuitePiece],
    options: RunOptions,
    on_piece: OnPiece,
    stopping: asyncio.Event,
) -> tuple[list[ResultRow], str]:
    """Run tests of one suite; return the rows of whole tests in their order, or why none could be run.

    `on_piece` is called with each piece as soon as it has ended."""
    rows, problem = list[ResultRow](), ""
    options = replace(options, purse=Purse(suite.most_usd, options.purse))
    needed = _servers_to_connect([piece.test for piece in pieces])
    snapshots = Snapshots(suite.file, update=options.update_snapshots)
    try:
        async with AsyncExitStack() as stack:
            own = [server for server in suite.servers if server.name in needed]
            opening = connect_servers(own, options.timeout_s)
            servers = await _wait_for_servers(stack.enter_async_context(opening), stopping)
            if servers is not None:
                _check_targets(suite, servers)
                rows = await _run_all(suite, pieces, servers, options, snapshots, on_piece, stopping)
        snapshots.save()
    except FaultkitError as error:
        problem = str(error)
    return rows, problem


def lane_rows(chosen: SelectedTests) -> list[ResultRow]:
    """Return a skipped row for each part of a suite that is not run, if all its tests are."""
    if len(chosen.tests) < len(chosen.suite.tests):
        return []
    return [
        ResultRow(f"lane {lane.name}", "not_exercised", "", lane.place, 0.0, skipped=lane.reason)
        for lane in chosen.suite.unrun_lanes
    ]


async def _wait_for_servers(
    opening: Coroutine[Any, Any, ConnectedServers], stopping: asyncio.Event
) -> ConnectedServers | None:
    """Return the connected servers, or None if the run is stopped meanwhile."""
    opened = asyncio.ensure_future(opening)
    stopped = asyncio.ensure_future(stopping.wait())
    try:
        await asyncio.wait([opened, stopped], return_when="FIRST_COMPLETED")
        return opened.result() if opened.done() else None
    finally:
        stopped.cancel()
        opened.cancel()
        await asyncio.gather(opened, stopped, return_exceptions=True)


def _servers_to_connect(tests: Sequence[SuiteTest]) -> set[str]:
    """Return the names of the servers that tests need. External programs start their own, behind gateways."""
    names: set[str] = set()
    for test in tests:
        if test.skip or (isinstance(test, AgentTest) and isinstance(test.agent, CommandAgent)):
            continue
        names.update(test.server_names)
    return names


def _check_targets(suite: Suite, servers: ConnectedServers) -> None:
    """Raise InputError for the first fault that targets no tool of the connected servers."""
    listed = {
        name: Inventory(tools=tuple(tool.name for tool in server.tools))
        for name, server in servers.live.items()
    }
    missed = missed_targets(suite, listed)
    if missed:
        raise missed[0]


async def _run_all(
    suite: Suite,
    pieces: Sequence[SuitePiece],
    servers: ConnectedServers,
    options: RunOptions,
    snapshots: Snapshots,
    on_piece: OnPiece,
    stopping: asyncio.Event,
) -> list[ResultRow]:
    slots = asyncio.Semaphore(max(1, options.parallel))
    has_bailed = False

    async def run(piece: SuitePiece) -> tuple[ResultRow, ...]:
        nonlocal has_bailed
        async with slots:
            if stopping.is_set():
                return ()
            began = perf_counter()
            try:
                outcome = await _run_piece(suite, piece, servers, options, snapshots)
            except asyncio.CancelledError:
                if has_bailed or not stopping.is_set():
                    raise
                outcome = PieceOutcome((error_row(piece.test, CUT_OFF, (perf_counter() - began) * 1000),))
        on_piece(piece, outcome)
        if options.bail and any(row.fails for row in outcome.rows) and not stopping.is_set():
            has_bailed = True
            stopping.set()
        return outcome.rows

    runs = [asyncio.ensure_future(run(piece)) for piece in pieces]
    stopped = asyncio.ensure_future(stopping.wait())
    all_runs: asyncio.Future[Any] = asyncio.ensure_future(asyncio.gather(*runs))
    try:
        await asyncio.wait([all_runs, stopped], return_when="FIRST_COMPLETED")
    finally:
        stopped.cancel()
        for each in runs:
            each.cancel()
        await asyncio.gather(*runs, all_runs, return_exceptions=True)
    return [row for each in runs if not each.cancelled() for row in each.result()]


async def _run_piece(
    suite: Suite, piece: SuitePiece, servers: ConnectedServers, options: RunOptions, snapshots: Snapshots
) -> PieceOutcome:
    """Run a piece. A whole test is run again while it does not pass, and the rows of the last attempt say
    which it was."""
    attempt, test = 1, piece.test
    outcome = await _try_piece(suite, piece, servers, options, snapshots)
    if piece.run is not None:
        return outcome
    while attempt <= options.retries and any(row.fails for row in outcome.rows):
        attempt += 1
        outcome = await _try_piece(suite, piece, servers, options, snapshots)
    rows = with_injected(suite, test, outcome.rows)
    if attempt > 1:
        rows = tuple(replace(row, details=(*row.details, ("attempt", attempt))) for row in rows)
    return replace(outcome, rows=rows)


def with_injected(suite: Suite, test: SuiteTest, rows: Sequence[ResultRow]) -> tuple[ResultRow, ...]:
    """Return the rows of a test with the rules of the faults that it injects."""
    rules = {fault.name: fault.rule for fault in suite.faults}
    injected = {} if test.skip else {name: dump_rule(rules[name]) for name in test.inject}
    return tuple(replace(row, injected=injected) for row in rows)


async def _try_piece(
    suite: Suite, piece: SuitePiece, servers: ConnectedServers, options: RunOptions, snapshots: Snapshots
) -> PieceOutcome:
    test = piece.test
    if test.skip:
        return PieceOutcome((skipped_row(test),))
    began = perf_counter()

    def took_ms() -> float:
        return (perf_counter() - began) * 1000

    try:
        is_program = isinstance(test, AgentTest) and isinstance(test.agent, CommandAgent)
        async with asyncio.timeout(options.timeout_s + (PROGRAM_GRACE_S if is_program else 0.0)):
            if not isinstance(test, AgentTest):
                return PieceOutcome((await run_tool_test(suite, test, servers, options, snapshots),))
            if test.breakpoint is not None:
                # Few suites need it, and it imports the search.
                from faultkit.agents.execute.run_breakpoint import run_breakpoint_test

                return PieceOutcome(await run_breakpoint_test(suite, test, servers, options, snapshots))
            if piece.run is None:
                return PieceOutcome(await run_agent_test(suite, test, servers, options, snapshots))
            judged = await run_once(suite, test, servers, options, snapshots, piece.run)
            return PieceOutcome(judged=judged, took_ms=took_ms())
    except TimeoutError:
        why = f"it did not end within {options.timeout_s:g} s (--timeout)"
    except FaultkitError as error:
        why = str(error)
    except Exception as error:
        # A defect of Faultkit or of an agent must not end the other tests.
        why = f"{type(error).__name__}: {error}"
    return PieceOutcome((error_row(test, why, took_ms()),))


def skipped_row(test: SuiteTest) -> ResultRow:
    """Return the row of a test that is skipped."""
    return ResultRow(test.name, "passed", "", test.place, 0.0, tags=test.tags, skipped=test.skip)


def error_row(test: SuiteTest, message: str, took_ms: float) -> ResultRow:
    """Return the row of a test that could not be run to its end."""
    return ResultRow(test.name, "error", message, test.place, took_ms, tags=test.tags)
