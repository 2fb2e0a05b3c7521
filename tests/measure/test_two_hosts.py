"""Two hosts, as network namespaces: load and coordinator on one, proxy and service on the other.

The coordinator is killed, or the cable between them is cut: the lease ends the fault.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.proxy.control.certificates import Certificates

_log = logging.getLogger(__name__)
PROJECT = Path(__file__).parents[2]
HERE, THERE = "10.213.77.1", "10.213.77.2"
PATIENCE_S = 90.0
SLOW_MS = 400
"""The delay of the fault; a request takes some milliseconds without it."""
PROBE = f"""
import time, urllib.request
began = time.monotonic()
urllib.request.urlopen("http://{THERE}:34000/", timeout=30).read()
print(1000 * (time.monotonic() - began))
"""
RULES = f"""
import json, ssl, urllib.request
tls = ssl.create_default_context(cafile="ca.pem")
tls.load_cert_chain("client.pem", "client.key")
asked = urllib.request.Request("https://{THERE}:7900/plan", headers={{"Authorization": "Bearer secret"}})
print(json.dumps(json.load(urllib.request.urlopen(asked, context=tls))["rules"]))
"""
SCENARIO = f"""
title: Two hosts
proxy: {{at: "https://{THERE}:7900", token_env: DRILL_TOKEN, ca: ca.pem, cert: client.pem, key: client.key}}
items:
  - call: {{method: GET, url: "http://{THERE}:34000/", timeout: 5000}}
    context:
      faults: [{{type: latency, mean: {SLOW_MS}, stddev: 0}}]
      strategy: {{mode: load, duration: 10m, clients: 1, rps: 5}}
    expect: {{status: 200}}
"""


@dataclass
class Host:
    """A network namespace."""

    name: str
    folder: Path
    stack: ExitStack

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Start a program on this host. The drill ends it, if it has not ended by then."""
        started = subprocess.Popen(
            ["ip", "netns", "exec", self.name, sys.executable, *command],
            cwd=self.folder,
            env={**os.environ, "DRILL_TOKEN": "secret", "FAULT_CONTROL_TOKEN": "secret"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.stack.callback(_end, started)
        return started

    def print_of(self, program: str) -> str:
        """Run a program on this host, and return what it prints."""
        command = ["ip", "netns", "exec", self.name, sys.executable, "-c", program]
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        return done.stdout

    def request_ms(self) -> float | None:
        """Return how long one request to the service takes from this host; None if it fails."""
        out = self.print_of(PROBE)
        return float(out) if out else None

    def is_slow(self) -> bool:
        """Return whether the fault acts on a request of this host."""
        took_ms = self.request_ms()
        return took_ms is not None and took_ms >= SLOW_MS

    def is_normal(self) -> bool:
        """Return whether a request of this host is answered, and no fault acts on it."""
        took_ms = self.request_ms()
        return took_ms is not None and took_ms < SLOW_MS

    def pids(self) -> list[int]:
        return [int(pid) for pid in _ip("netns", "pids", self.name).split()]


def _ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


@dataclass
class Drill:
    near: Host
    """Where the coordinator and the load are."""
    far: Host
    """Where the proxy and the service are."""

    def rules(self) -> object:
        """Return the rules of the proxy, as its control API has them."""
        return json.loads(self.near.print_of(RULES))

    def begin(self) -> subprocess.Popen[str]:
        """Start a run, and return it once its fault acts."""
        running = self.near.start(
            "-m", "faultkit", "scenario", "run", "--no-ui", "--no-baseline", "drill.yaml"
        )
        _until(self.near.is_slow, running)
        return running


@pytest.fixture(scope="module")
def drill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drill]:
    tmp_path = tmp_path_factory.mktemp("drill")
    if shutil.which("ip") is None:
        pytest.skip("there is no ip(8): install iproute2")
    names = [f"fk-{end}-{os.getpid()}" for end in ("near", "far")]
    with ExitStack() as stack:
        for name in names:
            made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
            if made.returncode:
                pytest.skip(f"no network namespace can be made: {made.stderr.strip()}")
            stack.callback(_remove, name)
        _ip("link", "add", f"fkn{os.getpid()}", "type", "veth", "peer", "name", f"fkf{os.getpid()}")
        near, far = (Host(name, tmp_path, stack) for name in names)
        for host, link, address in ((near, "fkn", HERE), (far, "fkf", THERE)):
            _ip("link", "set", f"{link}{os.getpid()}", "netns", host.name)
            _ip("-n", host.name, "link", "set", f"{link}{os.getpid()}", "name", "cable")
            _ip("-n", host.name, "address", "add", f"{address}/24", "dev", "cable")
            for device in ("lo", "cable"):
                _ip("-n", host.name, "link", "set", device, "up")
        authority = Certificates(tmp_path)
        authority.issue(THERE)
        authority.issue("client.test", file="client")
        (tmp_path / "drill.yaml").write_text(SCENARIO)
        service = far.start(str(PROJECT / "examples" / "service.py"), "8080")
        proxy = far.start(
            *("-m", "faultkit", "run", "--json", "--no-check", "--disable-http-proxy"),
            *("--control", f"{THERE}:7900", "--control-cert", "server.pem", "--control-key", "server.key"),
            *("--control-client-ca", "ca.pem", "--proxy", f"{THERE}:34000=http://127.0.0.1:8080"),
        )
        assert proxy.stdout is not None
        assert json.loads(proxy.stdout.readline())["event"] == "started"
        _until(near.is_normal, service)
        yield Drill(near, far)


def _remove(name: str) -> None:
    for pid in _ip("netns", "pids", name).split():
        os.kill(int(pid), signal.SIGKILL)
    _ip("netns", "delete", name)


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _until(is_so: Callable[[], bool], running: subprocess.Popen[str] | None = None) -> float:
    """Wait until it is so; return for how long. Fails if `running` ends before."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() < began + PATIENCE_S, "it took too long"
        if running is not None and running.poll() is not None:
            raise AssertionError(running.communicate())
    return time.monotonic() - began


pytestmark = pytest.mark.slow


def test_a_coordinator_that_is_killed_leaves_no_fault_and_no_process(drill: Drill) -> None:
    running = drill.begin()
    running.kill()
    running.communicate()
    assert drill.near.is_slow()  # Its lease holds for some seconds more.
    _log.info("normal again %.1f s after the kill", _until(drill.near.is_normal))
    assert drill.rules() == []
    _until(lambda: drill.near.pids() == [])


def test_a_run_that_is_terminated_ends_its_fault_at_once(drill: Drill) -> None:
    running = drill.begin()
    running.terminate()
    running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 143
    assert drill.rules() == []  # At once: a lease would have ended later.
    _until(drill.near.is_normal)
    assert drill.near.pids() == []


@pytest.mark.thorough
def test_a_cut_cable_ends_the_fault_there_and_the_item_here_is_inconclusive(drill: Drill) -> None:
    running = drill.begin()
    _ip("-n", drill.near.name, "link", "set", "cable", "down")
    assert drill.far.is_slow()
    _log.info("normal again %.1f s after the cut", _until(drill.far.is_normal))
    out, error = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 6, error
    assert "the proxies were out of reach, so what the faults did is not known" in " ".join(out.split())
    (item,) = json.loads((drill.near.folder / "results.json").read_text())["scenarios"][0]["items"]
    assert (item["verdict"], item["injection"]["injected"]) == ("inconclusive", 0)
    assert drill.near.pids() == []
