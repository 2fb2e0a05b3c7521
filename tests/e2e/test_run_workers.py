"""`fault run --workers 2` as users run it: one command, two processes that share a port, none left
running."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from faultkit.base.address import Endpoint
from tests.e2e.test_run import PATIENCE_S, FaultRun, fault_run, port_of, round_trip_s, to

MANY = 24
linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="several workers need Linux")
pytestmark = linux


def children(run: FaultRun) -> list[int]:
    pid = run.process.pid
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def ask(control: str, token: str, method: str, path: str, body: object = None) -> tuple[int, Any]:
    connection = HTTPConnection(control, timeout=PATIENCE_S)
    try:
        sent = None if body is None else json.dumps(body)
        connection.request(method, path, sent, {"Authorization": f"Bearer {token}"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def test_two_workers_serve_one_port_and_end_as_one(echo: Endpoint) -> None:
    args = to(echo, "--workers", "2", "--with-latency", "--latency-mean", "5", "--seed", "7")
    with fault_run(*args) as run:
        port = port_of(run.event("started"))
        workers = children(run)
        assert len(workers) == 2
        assert all(round_trip_s(port) >= 0.005 for _ in range(MANY))
        assert run.stop() == 0
        events = run.rest()
        assert [is_gone(pid) for pid in workers] == [True, True]
    ended = events[-1]
    assert (ended["event"], ended["reason"], ended["injected"]) == ("ended", "interrupt", {"latency": MANY})
    assert ended["lateness"]["early"] == 0
    assert ended["proxies"][0]["accepted"] == MANY
    opened = [event["connection"] for event in events if event["event"] == "opened"]
    assert len(set(opened)) == len(opened) == MANY
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), PATIENCE_S)


def test_a_signal_for_the_whole_group_ends_it_in_good_order(echo: Endpoint) -> None:
    with fault_run(*to(echo, "--workers", "2")) as run:
        port = port_of(run.event("started"))
        round_trip_s(port)
        for pid in children(run):
            os.kill(pid, signal.SIGTERM)
        assert run.stop(signal.SIGTERM) == 0
        assert run.event("ended")["proxies"][0]["accepted"] == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_in_a_row_are_one(echo: Endpoint, number: signal.Signals) -> None:
    with fault_run(*to(echo, "--workers", "2")) as run:
        port = port_of(run.event("started"))
        round_trip_s(port)
        for _ in range(4):
            run.process.send_signal(number)
            time.sleep(0.02)
        assert run.stop(number) == 0
        assert run.event("ended")["proxies"][0]["accepted"] == 1


def test_a_worker_that_dies_ends_the_run_and_says_so(echo: Endpoint) -> None:
    with fault_run(*to(echo, "--workers", "2")) as run:
        run.event("started")
        workers = children(run)
        os.kill(workers[0], signal.SIGKILL)
        assert run.process.wait(PATIENCE_S) == 4
        assert run.errors() == "error: the proxy's process 1 of 2 was ended by SIGKILL\n"
        assert [is_gone(pid) for pid in workers] == [True, True]


def test_workers_end_with_a_command_that_is_killed(echo: Endpoint) -> None:
    with fault_run(*to(echo, "--workers", "2")) as run:
        port = port_of(run.event("started"))
        run.process.kill()
        # The workers inherit the command's stderr: it ends when the last of them has exited.
        assert run.errors() == ""
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), PATIENCE_S)


def test_the_control_api_steers_all_workers(echo: Endpoint) -> None:
    slow = {"name": "slow", "fault": "latency", "with": {"mean_ms": 1, "per": "operation"}}
    with ExitStack() as stack:
        run = stack.enter_context(fault_run(*to(echo, "--workers", "2", "--control", "127.0.0.1:0")))
        started = run.event("started")
        assert run.process.stderr is not None
        token = run.process.stderr.readline().removeprefix("control token: ").strip()
        control = started["control"]
        clients = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port_of(started)), PATIENCE_S))
            for _ in range(MANY)
        ]
        assert ask(control, token, "POST", "/rules", slow)[0] == 201
        for client in clients:
            client.sendall(b"x")
            assert client.recv(1) == b"x"
        status, state = ask(control, token, "GET", "/status")
        assert (status, state["injected"], state["acting"]) == (200, {"slow": MANY}, ["slow"])
        assert (state["proxies"][0]["live"], len(state["proxies"])) == (MANY, 1)

        first = {"fault": "reset", "trigger": {"first": 1}}
        status, answer = ask(control, token, "POST", "/rules", first)
        assert (status, answer["error"]["path"]) == (400, "trigger.first")
        status, answer = ask(control, token, "PUT", "/plan", {"rules": [slow, {**first, "name": "r"}]})
        assert (status, answer["error"]["path"]) == (400, "rules[1].trigger.first")
        assert [rule["name"] for rule in ask(control, token, "GET", "/plan")[1]["rules"]] == ["slow"]
        assert run.stop() == 0
