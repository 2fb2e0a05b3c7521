"""The proxy where there is neither epoll nor splice, in processes that take themselves for macOS."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_ON_MACOS = (sys.executable, "-m", "tests.fake_macos")
_IMPORT_ALL = """
import importlib, pkgutil, sys
from tests.fake_macos import fake_macos
fake_macos()
import faultkit
for module in pkgutil.walk_packages(faultkit.__path__, "faultkit."):
    importlib.import_module(module.name)
from faultkit.proxy.event_loop import new_poller
print(sys.platform, type(new_poller()).__name__)
"""


@pytest.mark.thorough
def test_every_module_imports_on_macos() -> None:
    done = subprocess.run(
        (sys.executable, "-c", _IMPORT_ALL), cwd=_ROOT, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, "darwin SelectorsPoller\n"), done.stderr


def test_fault_run_delays_bytes_on_macos() -> None:
    with socket.create_server(("127.0.0.1", 0)) as upstream:
        proxy = f"0=127.0.0.1:{upstream.getsockname()[1]}"
        command = (
            *_ON_MACOS,
            "faultkit",
            "run",
            "--json",
            "--no-check",
            "--disable-http-proxy",
            "--proxy",
            proxy,
        )
        latency = ("--with-latency", "--latency-mean", "5", "--latency-direction", "egress")
        with subprocess.Popen((*command, *latency), cwd=_ROOT, stdout=subprocess.PIPE, text=True) as run:
            assert run.stdout is not None
            started = json.loads(run.stdout.readline())
            host, _, port = started["proxies"][0]["listen"].rpartition(":")
            with socket.create_connection((host, int(port))) as client:
                client.sendall(b"hello")
                server, _ = upstream.accept()
                with server:
                    assert server.recv(5) == b"hello"
            run.terminate()
            events = [json.loads(line) for line in run.stdout]
    assert run.returncode == 0
    assert events[-1]["injected"] == {"latency": 1}


@pytest.mark.parametrize(
    "file",
    [
        "test_live_plan.py",
        *(
            pytest.param(name, marks=pytest.mark.thorough)
            for name in (
                "test_relay.py",
                "test_layered_links.py",
                "test_http_faults.py",
                "test_forward_proxy.py",
                "test_tls.py",
            )
        ),
    ],
)
def test_the_data_plane_passes_its_tests_on_macos(file: str) -> None:
    command = (*_ON_MACOS, "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", f"tests/proxy/{file}")
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
