"""Calls of tools: in threads, with progress, cancelled and abandoned; the first calls import their code."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import anyio.to_thread
import pytest

from faultkit.agent_tools.tool import IMPORT_LOCK, Services, ToolResult
from faultkit.agent_tools.tool_catalog import TOOLS
from faultkit.agent_tools.tool_runner import (
    LONGEST_PROBLEM,
    ProgressReporter,
    ToolFailure,
    ToolRunner,
    _function,
)
from tests.agent_tools.sample_tools import PATIENCE_S, SAMPLES, began, ended, release

Sent = list[tuple[float, float | None, str]]


@pytest.fixture(autouse=True)
def propagated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let records reach pytest: the command line, if a test ran it before, turns propagation off."""
    log = logging.getLogger("faultkit")
    monkeypatch.setattr(log, "propagate", True)
    monkeypatch.setattr(log, "level", logging.NOTSET)


def play(scene: Callable[[], Awaitable[Any]]) -> Any:
    async def bounded() -> Any:
        with anyio.fail_after(PATIENCE_S):
            return await scene()

    return anyio.run(bounded)


async def ignore_progress(done: float, of: float | None, message: str) -> None:
    pass


async def happened(event: threading.Event) -> None:
    assert await anyio.to_thread.run_sync(event.wait, PATIENCE_S)


def outcome_of(name: str, given: dict[str, Any] | None = None) -> Any:
    async def scene() -> Any:
        return await ToolRunner(Services()).run(SAMPLES[name], given or {}, ignore_progress)

    return play(scene)


def test_a_tool_gets_its_arguments_read_and_complete() -> None:
    found = outcome_of("echo", {"word": "hi", "count": "3", "superfluous": 1})
    assert found == ToolResult("hi", {"values": {"word": "hi", "ratio": 0.5, "count": 3}})


def test_wrong_arguments_are_an_outcome_and_the_tool_is_not_called() -> None:
    assert outcome_of("echo", {"ratio": 2}) == ToolFailure(
        'word: is required, got nothing (for example "hello")\n'
        "ratio: expected a number from 0 to 1, got 2 (for example 0.5)"
    )


def test_an_error_for_users_is_an_outcome() -> None:
    assert outcome_of("refuse") == ToolFailure('key: expected better, got this (for example "a")')


def test_an_error_that_quotes_a_long_argument_is_cut() -> None:
    async def scene() -> Any:
        tool = replace(SAMPLES["echo"], run="faultkit.base.errors:" + "x" * 9000)
        return await ToolRunner(Services()).run(tool, {"word": "hi"}, ignore_progress)

    found = play(scene)
    assert (len(found.text), found.text[-1]) == (LONGEST_PROBLEM, "…")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("crash", "unexpected KeyError: 'a secret place\\nin the code'"),
        ("leave", "unexpected SystemExit: 7"),
        ("infinite", "unexpected ValueError: Out of range float values are not JSON compliant: inf"),
    ],
)
def test_an_unexpected_error_is_one_line_and_its_traceback_is_logged(
    name: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "faultkit.agent_tools.tool_runner"):
        found = outcome_of(name)
    assert isinstance(found, ToolFailure)
    assert found.text.startswith(said.split(": inf")[0])
    assert "\n" not in found.text
    assert [record.exc_info is not None for record in caplog.records] == [True]


def test_a_name_that_is_no_utf8_does_not_break_the_wire() -> None:
    assert outcome_of("odd") == ToolResult("caf?", {"names": ["caf?"]})


def test_progress_grows_ends_with_the_last_and_does_not_flood() -> None:
    sent: Sent = []

    async def send(done: float, of: float | None, message: str) -> None:
        sent.append((done, of, message))

    async def scene() -> Any:
        return await ToolRunner(Services()).run(SAMPLES["count"], {"times": 5000}, send)

    assert play(scene) == ToolResult("counted", {"times": 5000})
    values = [done for done, _, _ in sent]
    assert values == sorted(set(values))
    assert sent[-1] == (5000, 5000, "5000 of 5000")
    assert len(sent) < 50


def test_several_calls_run_at_a_time() -> None:
    keys = [uuid4().hex for _ in range(8)]

    async def scene() -> None:
        calls = ToolRunner(Services())
        async with anyio.create_task_group() as group:
            for key in keys:
                group.start_soon(calls.run, SAMPLES["deaf"], {"key": key}, ignore_progress)
            for key in keys:
                await happened(began[key])
            for key in keys:
                release[key].set()

    play(scene)
    assert all(ended[key].is_set() for key in keys)


def test_a_cancelled_call_is_awaited_and_sends_no_more_progress() -> None:
    key = uuid4().hex
    sent: list[str] = []

    async def send(done: float, of: float | None, message: str) -> None:
        sent.append(message)

    async def scene() -> bool:
        calls = ToolRunner(Services(), progress_every_s=0)
        async with anyio.create_task_group() as group:
            group.start_soon(calls.run, SAMPLES["wait"], {"key": key}, send)
            await happened(began[key])
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        return ended[key].is_set()

    assert play(scene)
    assert sent == ["waiting"]


def test_a_call_that_waits_for_its_turn_is_cancelled_at_once_and_never_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("faultkit.agent_tools.tool_runner.MOST_AT_ONCE", 1)
    first, second = uuid4().hex, uuid4().hex

    async def scene() -> None:
        calls = ToolRunner(Services())
        async with anyio.create_task_group() as group:
            group.start_soon(calls.run, SAMPLES["deaf"], {"key": first}, ignore_progress)
            await happened(began[first])
            async with anyio.create_task_group() as waiting:
                waiting.start_soon(calls.run, SAMPLES["deaf"], {"key": second}, ignore_progress)
                await anyio.wait_all_tasks_blocked()
                waiting.cancel_scope.cancel()
            release[first].set()

    play(scene)
    assert ended[first].is_set()
    assert not began[second].is_set()


def test_a_tool_that_ignores_cancellation_is_abandoned_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    key = uuid4().hex

    async def scene() -> None:
        calls = ToolRunner(Services(), end_s=0.05)
        async with anyio.create_task_group() as group:
            group.start_soon(calls.run, SAMPLES["deaf"], {"key": key}, ignore_progress)
            await happened(began[key])
            group.cancel_scope.cancel()
        assert not ended[key].is_set()
        release[key].set()
        await happened(ended[key])

    with caplog.at_level(logging.WARNING, "faultkit.agent_tools.tool_runner"):
        play(scene)
    assert "given up" in caplog.text


def test_when_the_server_stops_calls_end_and_still_answer() -> None:
    key = uuid4().hex

    async def scene() -> Any:
        calls = ToolRunner(Services())
        found = []

        async def call() -> None:
            found.append(await calls.run(SAMPLES["wait"], {"key": key}, ignore_progress))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await happened(began[key])
            calls.stop()
        return found

    assert play(scene) == [ToolFailure("cancelled as asked")]


def test_a_report_after_the_end_of_the_loop_is_ignored() -> None:
    async def scene() -> ProgressReporter:
        return ProgressReporter(ignore_progress)

    progress = play(scene)
    progress.report(1, None, "too late")


PROJECT = Path(__file__).parents[2]
IMPORTS_S = 60.0


@pytest.mark.parametrize("attempt", [0, *(pytest.param(more, marks=pytest.mark.thorough) for more in (1, 2))])
def test_concurrent_first_calls_do_not_disturb_each_other(attempt: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.agent_tools.first_calls", str(tmp_path)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=IMPORTS_S)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_a_tool_is_imported_by_one_thread_at_a_time() -> None:
    asked = threading.Event()

    def import_one() -> object:
        asked.set()
        return _function(TOOLS["fault_list_function_names"].run)

    with ThreadPoolExecutor(1) as threads:
        with IMPORT_LOCK:
            imported = threads.submit(import_one)
            assert asked.wait(PATIENCE_S)
            assert not imported.done()
        assert callable(imported.result(PATIENCE_S))
