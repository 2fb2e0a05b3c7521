"""`fault demo run` as a process: its output, and how it ends."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from faultkit.cli import main

PATIENCE_S = 20
FREE = ("127.0.0.1", "0", "--upstream-port", "0")
ENV = {name: value for name, value in os.environ.items() if not name.upper().endswith("_PROXY")}


@contextlib.contextmanager
def running(*args: str, **env: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "faultkit", "demo", "run", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**ENV, **env},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def get(address: str, path: str) -> int:
    connection = http.client.HTTPConnection(address, timeout=PATIENCE_S)
    with contextlib.closing(connection):
        connection.request("GET", path)
        return connection.getresponse().status


def address_in(line: str) -> str:
    told = re.fullmatch(r"demo on http://(127\.0\.0\.1:\d+), upstream http://127\.0\.0\.1:\d+/\n", line)
    assert told, line
    return told[1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_a_signal_and_ends_well(number: signal.Signals) -> None:
    with running(*FREE) as process:
        address = address_in(first_line(process))
        assert get(address, "/ping") == 200
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert re.fullmatch(r"GET /ping 200 \d+\.\d{3}ms\n", out)
    assert (process.returncode, err) == (0, "")


def test_address_port_and_upstream_may_be_given() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    env = {"FAULT_DEMO_ADDR": "127.0.0.1", "FAULT_DEMO_PORT": str(port)}
    with running("--upstream", "http://127.0.0.1:1/x", "--upstream-port", "0", **env) as process:
        line = f"demo on http://127.0.0.1:{port}, upstream http://127.0.0.1:1/x"
        assert first_line(process).startswith(f"{line} (the built-in one listens on 127.0.0.1:")
        assert get(f"127.0.0.1:{port}", "/ping") == 502


def test_it_stops_when_the_reader_of_its_output_closes_it() -> None:
    with running(*FREE) as process:
        address = address_in(first_line(process))
        assert process.stdout is not None
        process.stdout.close()
        assert get(address, "/") == 200
        assert process.wait(PATIENCE_S) == 141


def test_a_port_in_use_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with running("127.0.0.1", str(port)) as process:
            out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (3, "")
    assert err == f"error: demo: cannot listen on 127.0.0.1:{port}: Address already in use\n"


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (("127.0.0.1", "70000"), "Invalid value for '[PORT]'"),
        (
            ("127.0.0.1", "0", "--upstream", "nowhere"),
            '--upstream: expected an http or https URL, got "nowhere"',
        ),
        (("127.0.0.1", "0", "--upstream-timeout", "0"), "Invalid value for '--upstream-timeout'"),
    ],
)
def test_wrong_input_is_an_error(
    args: tuple[str, ...], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.invoke(["demo", "run", *args]) == 2
    assert problem in capsys.readouterr().err


def test_help_names_the_endpoints_and_loads_no_server() -> None:
    code = (
        "import sys\n"
        "from faultkit.cli.main import invoke\n"
        "invoke(['demo', 'run', '--help'])\n"
        "print([name for name in ('uvicorn', 'starlette', 'httpx', 'asyncio') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S)
    assert "POST /uppercase" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"
