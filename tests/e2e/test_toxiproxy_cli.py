"""`fault toxiproxy` as a process: its flags, its config file, and its exit."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from faultkit.base.address import Endpoint
from faultkit.cli.main import invoke
from faultkit.cli.toxiproxy import command
from tests.proxy.toxiproxy.harness import Api, connect, read_exactly, text_of, upstream

FAULT = [sys.executable, "-m", "faultkit", "toxiproxy"]
Refused = Callable[..., tuple[int, str]]
"""Run a command line in this process; return its exit code and stderr."""


@contextmanager
def running(*flags: str, end_by: signal.Signals = signal.SIGTERM) -> Iterator[tuple[Api, str]]:
    """Start the command on a port of its own; it must exit with 0 on the signal."""
    process = subprocess.Popen([*FAULT, "--port", "0", *flags], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.match(r"Toxiproxy API on http://127\.0\.0\.1:(\d+), ", line)
        assert found, line
        yield Api(Endpoint("127.0.0.1", int(found[1]))), line
        process.send_signal(end_by)
        assert process.wait(timeout=20) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    def run(*flags: str) -> tuple[int, str]:
        code = invoke(["toxiproxy", *flags])
        return code, capsys.readouterr().err

    return run


@pytest.mark.parametrize("end_by", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_told_to_stop_and_gives_its_ports_back(end_by: signal.Signals) -> None:
    with upstream() as origin:
        with running(end_by=end_by) as (api, _):
            listen = api.ok("POST", "/proxies", {"name": "p", "upstream": text_of(origin)})["listen"]
            connect(listen).close()
        with pytest.raises(ConnectionRefusedError):
            connect(listen)


def test_proxies_of_the_config_file_are_open_when_it_says_so(tmp_path: Path) -> None:
    with upstream() as origin:
        config = tmp_path / "toxiproxy.json"
        wanted = {"name": "db", "listen": "127.0.0.1:0", "upstream": text_of(origin), "enabled": True}
        config.write_text(json.dumps([wanted]))
        # Flags of the original have one hyphen.
        with running("-config", str(config), "-seed=7", "-proxy-metrics") as (api, line):
            assert line.endswith(", proxies 1, seed 7\n")
            with connect(api.ok("GET", "/proxies/db")["listen"]) as client:
                server, _ = origin.accept()
                with server:
                    client.sendall(b"ask")
                    assert read_exactly(server, 3) == b"ask"


def test_it_listens_where_clients_look_for_it() -> None:
    defaults = {parameter.name: parameter.default for parameter in command.params}
    assert (defaults["host"], defaults["port"]) == ("localhost", 8474)


def test_a_port_in_use_is_no_target() -> None:
    with upstream() as taken:
        host, port = taken.getsockname()
        # As a process, because scripts see its exit code.
        command = [*FAULT, "--port", str(port)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 3
    assert f"cannot listen on {host}:{port}" in done.stderr


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "expected JSON"),
        ('{"name": "p"}', "expected a list of proxies"),
        ('[{"name": "p"}]', "missing required field: upstream at proxy 1"),
    ],
)
def test_a_wrong_config_file_is_wrong_input(
    tmp_path: Path, text: str, problem: str, refused: Refused
) -> None:
    config = tmp_path / "toxiproxy.json"
    config.write_text(text)
    code, message = refused("--port", "0", "--config", str(config))
    assert code == 2
    assert f"{config}: " in message
    assert problem in message


def test_a_config_file_that_is_not_there_is_wrong_input(tmp_path: Path, refused: Refused) -> None:
    code, message = refused("--port", "0", "--config", str(tmp_path / "nowhere.json"))
    assert code == 2
    assert "cannot be read" in message


def test_a_config_that_wants_a_taken_port_is_no_target(tmp_path: Path, refused: Refused) -> None:
    config = tmp_path / "toxiproxy.json"
    with upstream() as taken:
        config.write_text(json.dumps([{"name": "p", "listen": text_of(taken), "upstream": "127.0.0.1:1"}]))
        code, message = refused("--port", "0", "--config", str(config))
    assert code == 3
    assert "p: cannot listen on" in message
