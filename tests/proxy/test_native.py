"""The compiled loop does what the loop in Python does. `test_macos.py` runs the data plane without it."""

from __future__ import annotations

import inspect
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faultkit.proxy.direction_fields import PureFields
from faultkit.proxy.event_loop import READABLE, Loop
from faultkit.proxy.link_fields import PureLinkFields
from faultkit.proxy.native import PURE_VARIABLE, load_native, native

ROOT = Path(__file__).parents[2]
COMPILED = pytest.param(False, marks=pytest.mark.skipif(native is None, reason="not compiled here"))


@pytest.fixture(params=[COMPILED, True], ids=["compiled", "python"])
def run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[Loop], None]:
    if request.param:
        monkeypatch.setattr("faultkit.proxy.event_loop.native", None)

    def run_and_close(loop: Loop) -> None:
        try:
            loop.run()
        finally:
            loop.close()

    return run_and_close


def test_the_variable_chooses_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PURE_VARIABLE, "1")
    assert load_native() is None


@pytest.mark.skipif(native is None, reason="not compiled here")
@pytest.mark.parametrize(("name", "pure"), [("DirectionFields", PureFields), ("LinkFields", PureLinkFields)])
def test_compiled_objects_have_the_fields_of_those_in_python(name: str, pure: Any) -> None:
    fields = {key for key, kind in vars(getattr(native, name)).items() if inspect.ismemberdescriptor(kind)}
    assert fields == set(pure.__slots__)


def test_timers_run_in_order_and_never_early(run: Callable[[Loop], None]) -> None:
    loop = Loop()
    begin = loop.clock()
    ran: list[str] = []
    early: list[float] = []

    def note(name: str, at: float) -> None:
        ran.append(name)
        if loop.clock() < at:
            early.append(at)

    for name, after_s in (("c", 0.02), ("a", 0.0), ("b", 0.012), ("b again", 0.012), ("d", 0.0201)):
        loop.call_at(begin + after_s, lambda at, name=name: note(name, at), None)  # type: ignore[misc]
    loop.call_at(begin + 0.021, lambda at: loop.stop(), None)
    run(loop)
    assert ran == ["a", "b", "b again", "c", "d"]
    assert early == []


def test_work_that_is_queued_by_queued_work_runs_in_the_next_round(run: Callable[[Loop], None]) -> None:
    loop = Loop()
    ran: list[str] = []

    def first() -> None:
        ran.append("first")
        loop.call_soon(lambda: (ran.append("third"), loop.stop())[0], None)  # type: ignore[func-returns-value]

    loop.call_soon(first, None)
    loop.call_soon(lambda: ran.append("second"), None)
    run(loop)
    assert ran == ["first", "second", "third"]


def test_a_defect_calls_what_was_given_for_it_and_ends_nothing_else(
    run: Callable[[Loop], None], caplog: pytest.LogCaptureFixture
) -> None:
    loop = Loop()
    aborted: list[str] = []

    class Handler:
        def ready(self, flags: int) -> None:
            raise ValueError(f"flags {flags}")

        def abort(self) -> None:
            aborted.append("handler")

    def fail(*at: float) -> None:
        raise ValueError("work")

    near, far = socket.socketpair()
    with near, far:
        loop.handlers[near.fileno()] = Handler().ready
        loop.poller.add(near.fileno())
        far.send(b"x")
        now = loop.clock()
        loop.call_at(now, fail, lambda: aborted.append("timer"))
        loop.call_soon(fail, lambda: aborted.append("soon"))
        loop.call_from_thread(fail, lambda: aborted.append("call"))
        loop.call_at(now + 0.01, lambda at: loop.stop(), None)
        run(loop)
    assert sorted(aborted) == ["call", "handler", "soon", "timer"]
    assert f"ValueError: flags {READABLE}" in caplog.text
    assert caplog.text.count("ValueError: work") == 3


def test_what_is_no_defect_ends_the_loop(run: Callable[[Loop], None]) -> None:
    loop = Loop()

    def interrupt() -> None:
        raise KeyboardInterrupt

    loop.call_soon(interrupt, None)
    with pytest.raises(KeyboardInterrupt):
        run(loop)


def test_a_socket_without_a_handler_is_passed_over(run: Callable[[Loop], None]) -> None:
    loop = Loop()
    near, far = socket.socketpair()
    with near, far:
        loop.poller.add(near.fileno())
        far.send(b"x")
        loop.call_at(loop.clock() + 0.001, lambda at: loop.stop(), None)
        run(loop)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "file", ["test_relay.py", "test_live_plan.py", "test_data_plane.py", "test_limits.py"]
)
def test_the_data_plane_passes_its_tests_in_python_on_epoll(file: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow and not thorough", f"tests/proxy/{file}"]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, PURE_VARIABLE: "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
