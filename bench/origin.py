"""The upstreams behind every relay: HTTP (nginx), gRPC, WebSocket, loadgen's echo, sink and source."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack

from bench import load
from bench.configs import nginx_origin_config
from bench.machine import find_program, missing
from bench.processes import StartError, free_ports, running, wait_for_ports
from bench.relays import Setup

_PYTHON_SERVERS = {"grpc": "bench.grpc_calls", "websocket": "bench.websocket_messages"}


def start_upstreams(stack: ExitStack, setup: Setup, kinds: Sequence[str]) -> dict[str, int]:
    """Start each kind once; return their ports."""
    return {kind: _start(stack, setup, kind) for kind in kinds}


def _start(stack: ExitStack, setup: Setup, kind: str) -> int:
    if kind in ("http", "https", "h2c"):
        return _start_nginx(stack, setup, kind)
    if kind in _PYTHON_SERVERS:
        return _start_python(stack, setup, kind)
    return stack.enter_context(load.server(kind))


def _start_nginx(stack: ExitStack, setup: Setup, kind: str) -> int:
    nginx = find_program("nginx")
    if nginx is None:
        raise StartError(missing("nginx") or "nginx")
    (port,) = free_ports(1)
    config = setup.folder / f"nginx-{kind}-origin.conf"
    pem = setup.tls_files().server if kind == "https" else None
    config.write_text(nginx_origin_config(port, setup.open_files, setup.folder, kind, pem))
    log = setup.folder / f"nginx-{kind}-origin.log"
    process = stack.enter_context(running([nginx, "-c", str(config), "-e", "stderr"], log))
    wait_for_ports([port], process, "nginx (origin)", log)
    return port


def _start_python(stack: ExitStack, setup: Setup, kind: str) -> int:
    (port,) = free_ports(1)
    log = setup.folder / f"{kind}-origin.log"
    command = [sys.executable, "-m", _PYTHON_SERVERS[kind], "serve", str(port)]
    process = stack.enter_context(running(command, log))
    wait_for_ports([port], process, f"the {kind} server", log)
    return port
