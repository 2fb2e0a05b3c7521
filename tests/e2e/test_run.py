"""The real `fault run`, as a process, with real sockets."""

from __future__ import annotations

import json
import os
import pty
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from faultkit.base.address import Endpoint

PATIENCE_S = 20.0
QUIET = {name: value for name, value in os.environ.items() if not name.startswith("FAULT_")}


class FaultRun:
    """A `fault run` process with methods that wait for its output."""

    def __init__(self, *args: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "faultkit", "run", *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env or QUIET,
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def line(self) -> str:
        """Return the next line; empty after the last one."""
        return self._lines.get(timeout=PATIENCE_S).rstrip("\n")

    def event(self, name: str) -> dict[str, Any]:
        """Return the next event of this name; earlier ones are skipped."""
        while line := self.line():
            document: dict[str, Any] = json.loads(line)
            if document["event"] == name:
                return document
        raise AssertionError(f"ended without {name}: {self.errors()}")

    def rest(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in iter(self.line, "")]

    def errors(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read()

    def stop(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE_S)
        self._thread.join(PATIENCE_S)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()


@contextmanager
def fault_run(*args: str, env: dict[str, str] | None = None) -> Iterator[FaultRun]:
    run = FaultRun(*args, env=env)
    try:
        yield run
    finally:
        run.close()


def port_of(started: dict[str, Any], index: int = 0) -> int:
    return int(started["proxies"][index]["listen"].rpartition(":")[2])


def round_trip_s(port: int, payload: bytes = b"ping") -> float:
    """Return the seconds of an echo, from before the send to its last byte."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as client:
        began = time.monotonic()
        client.sendall(payload)
        received = b""
        while len(received) < len(payload) and (chunk := client.recv(65536)):
            received += chunk
        assert received == payload
        return time.monotonic() - began


def to(upstream: Endpoint, *args: str) -> tuple[str, ...]:
    return ("--disable-http-proxy", "--proxy", f"0={upstream}", "--json", *args)


def test_latency_is_never_shorter_than_it_was_asked_to_be(echo: Endpoint) -> None:
    with fault_run(*to(echo, "--with-latency", "--latency-mean", "50")) as run:
        port = port_of(run.event("started"))
        assert [round_trip_s(port) >= 0.05 for _ in range(5)] == [True] * 5
        assert run.stop() == 0
        ended = run.event("ended")
    assert ended["injected"] == {"latency": 5}
    assert ended["lateness"]["early"] == 0
    assert ended["proxies"][0]["accepted"] == 5
    assert (ended["proxies"][0]["to_upstream_bytes"], ended["proxies"][0]["to_client_bytes"]) == (20, 20)


def injections(echo: Endpoint, seed: str) -> list[dict[str, Any]]:
    """Return what a run with random rules injects on eight connections, one after the other."""
    faults = (
        "--with-latency",
        "--latency-mean",
        "2",
        "--latency-stddev",
        "1",
        "--latency-probability",
        "0.5",
    )
    more = ("--with-corrupt", "--corrupt-rate", "0.5", "--corrupt-segment", "16", "--corrupt-side", "client")
    with fault_run(*to(echo, "--seed", seed, *faults, *more)) as run:
        port = port_of(run.event("started"))
        for _ in range(8):
            with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as client:
                client.sendall(bytes(200))
                client.shutdown(socket.SHUT_WR)
                while client.recv(65536):
                    pass
        assert run.stop() == 0
        found = [event for event in run.rest() if event["event"] == "injected"]
    for event in found:
        del event["t"]
    return found


def test_the_same_seed_injects_the_same_and_another_seed_something_else(echo: Endpoint) -> None:
    first = injections(echo, "1")
    assert {event["rule"] for event in first} == {"latency", "corrupt"}
    assert injections(echo, "1") == first
    assert injections(echo, "2") != first


def test_the_first_line_tells_what_runs(echo: Endpoint) -> None:
    with fault_run(*to(echo, "--seed", "7", "--with-jitter", "--duration", "1h")) as run:
        started = json.loads(run.line())
        assert run.stop(signal.SIGTERM) == 0
        assert run.event("ended")["reason"] == "terminate"
        assert run.errors() == ""
    port = port_of(started)
    assert started == {
        "event": "started",
        "t": 0.0,
        "seed": 7,
        "plan": started["plan"],
        "rules": ["jitter"],
        "proxies": [
            {
                "name": "0",
                "listen": f"127.0.0.1:{port}",
                "upstream": str(echo),
                "tls": False,
                "client_tls": False,
                "intercept": [],
                "speaks": "tcp",
            }
        ],
        "duration_s": 3600.0,
        "control": None,
    }


def test_ctrl_c_ends_live_connections_and_gives_the_port_back(echo: Endpoint) -> None:
    with fault_run(*to(echo)) as run:
        port = port_of(run.event("started"))
        with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as client:
            client.sendall(b"x")
            assert client.recv(1) == b"x"
            assert run.stop(signal.SIGINT) == 0
            assert [event["event"] for event in run.rest()] == ["opened", "closed", "ended"]
            with suppress(ConnectionResetError):
                assert client.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), PATIENCE_S)


def test_a_duration_ends_the_run_by_itself(echo: Endpoint) -> None:
    with fault_run(*to(echo, "--duration", "200ms")) as run:
        ended = run.event("ended")
        assert run.process.wait(PATIENCE_S) == 0
    assert ended["reason"] == "duration"
    assert ended["t"] >= 0.2


def test_a_schedule_is_told_as_it_goes_on_and_off(echo: Endpoint) -> None:
    sched = ("--latency-sched", "start:25%,duration:25%")
    with fault_run(*to(echo, "--duration", "4s", "--with-latency", *sched)) as run:
        events = run.rest()
    assert [event["active"] for event in events if event["event"] == "rules"] == [["latency"], []]


def test_tail_is_one_line_an_event(echo: Endpoint) -> None:
    with fault_run(
        "--disable-http-proxy", "--proxy", f"0={echo}", "--tail", "--with-latency", "--seed", "1"
    ) as run:
        first = run.line()
        lines = [run.line() for _ in range(2)]
        round_trip_s(int(first.partition(" → ")[0].rpartition(":")[2]))
        assert run.stop() == 0
        rest = list(iter(run.line, ""))
    assert first.startswith("0: 127.0.0.1:")
    assert lines == ["faults: latency", "seed: 1 (--seed 1 replays this run)"]
    assert [line.split()[3] for line in rest[:3]] == ["opened", "injected", "closed"]
    assert rest[1].endswith("latency to_client delay_ms=100")
    assert rest[3].startswith("ended (interrupt) after ")
    assert rest[4:6] == ["connections: 1, 4 B up, 4 B down", "injected: latency 1"]


def test_without_a_terminal_it_prints_little(echo: Endpoint) -> None:
    with fault_run(
        "--disable-http-proxy", "--proxy", f"0={echo}", "--seed", "1", "--duration", "100ms"
    ) as run:
        lines = list(iter(run.line, ""))
        assert run.process.wait(PATIENCE_S) == 0
    assert [line.partition(" ")[0] for line in lines] == [
        "0:",
        "faults:",
        "seed:",
        "ends",
        "ended",
        "connections:",
        "injected:",
    ]


def test_on_a_terminal_there_is_a_live_view(echo: Endpoint) -> None:
    ours, theirs = pty.openpty()
    args = [
        "--disable-http-proxy",
        "--proxy",
        f"0={echo}",
        "--with-latency",
        "--seed",
        "11",
        "--duration",
        "600ms",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "faultkit", "run", *args, "--latency-sched", "start:50%"],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env={**QUIET, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"},
    )
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:
        pass  # Linux raises EIO when the last writer has closed.
    os.close(ours)
    assert process.wait(PATIENCE_S) == 0
    assert process.stderr is not None
    with process.stderr as errors:
        assert errors.read() == b""
    text = shown.decode()
    assert f"→ {echo}" in text
    assert "seed 11" in text
    assert "░░░░" in text
    assert "ended (duration) after" in text


def test_a_taken_default_forward_proxy_is_a_warning(echo: Endpoint) -> None:
    # The default port may be free here, so bind it first if possible.
    try:
        holder = socket.create_server(("127.0.0.1", 3180))
    except OSError:
        holder = socket.socket()
    with holder, fault_run("--proxy", f"0={echo}", "--json") as run:
        started = run.event("started")
        assert run.stop() == 0
        said = run.errors()
    assert [proxy["name"] for proxy in started["proxies"]] == ["0"]
    assert said == (
        "warning: http: cannot listen on 127.0.0.1:3180: Address already in use; "
        "going on without the HTTP forward proxy (--disable-http-proxy leaves it out)\n"
    )


def test_the_log_file_has_every_connection_at_level_debug(echo: Endpoint, tmp_path: Path) -> None:
    log = tmp_path / "fault.log"
    args = ("run", "--disable-http-proxy", "--proxy", f"0={echo}", "--duration", "100ms")
    done = subprocess.run(
        [sys.executable, "-m", "faultkit", "--log-file", str(log), "--log-level", "debug", *args],
        capture_output=True,
        timeout=PATIENCE_S,
        env=QUIET,
    )
    assert done.returncode == 0
    assert "run ended: duration" in log.read_text()


def test_a_reader_that_leaves_ends_the_run_quietly(echo: Endpoint) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "faultkit", "run", *to(echo)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=QUIET,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        with process.stdout as stream:
            port = port_of(json.loads(stream.readline()))
        # A connection, so that there is something to report; the run may end before it serves it.
        socket.create_connection(("127.0.0.1", port), PATIENCE_S).close()
        assert process.wait(PATIENCE_S) == 141
    finally:
        process.kill()
        process.wait(PATIENCE_S)
        with process.stderr as stream:
            said = stream.read()
    assert said == ""
