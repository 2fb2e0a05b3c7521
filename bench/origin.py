"""The upstreams behind every relay: an HTTP origin (nginx), and loadgen's echo, sink and source."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from bench import load
from bench.configs import nginx_origin_config
from bench.machine import find_program, missing
from bench.processes import StartError, free_ports, running, wait_for_ports
from bench.relays import Setup


def start_upstreams(stack: ExitStack, setup: Setup, kinds: Sequence[str]) -> dict[str, int]:
    """Start each kind once; return their ports."""
    return {
        kind: _start_http(stack, setup) if kind == "http" else stack.enter_context(load.server(kind))
        for kind in kinds
    }


def _start_http(stack: ExitStack, setup: Setup) -> int:
    nginx = find_program("nginx")
    if nginx is None:
        raise StartError(missing("nginx") or "nginx")
    (port,) = free_ports(1)
    config = setup.folder / "nginx-origin.conf"
    config.write_text(nginx_origin_config(port, setup.open_files, setup.folder))
    log = setup.folder / "nginx-origin.log"
    process = stack.enter_context(running([nginx, "-c", str(config), "-e", "stderr"], log))
    wait_for_ports([port], process, "nginx (origin)", log)
    return port
