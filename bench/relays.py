"""The relays that are measured, one row each, with the way to start it and its fault.

A relay is between clients and several upstreams (`http`, `echo`, `sink`, `source`) and has one port for each.
The metrics are defined elsewhere.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from bench.configs import haproxy_config, nginx_stream_config
from bench.layers import HAPROXY, MITMPROXY, NGINX, Layer, haproxy_layer_config, nginx_layer_config
from bench.machine import OUT, find_program, missing
from bench.processes import StartError, free_ports, running, wait_for_ports, with_children
from bench.tls_files import TlsFiles, make_tls_files

MITMDUMP = OUT / "mitmproxy" / "bin" / "mitmdump"

OURS = "faultkit"
OURS_PLAIN = "faultkit, no fault"
"""The row of our pass-through in a cell in which a fault acts."""


@dataclass(frozen=True, slots=True)
class Injection:
    """One fault as a setting of each relay. None: the relay cannot inject it."""

    flags: tuple[str, ...] = ()
    toxics: tuple[Mapping[str, Any], ...] | None = ()
    prototype: tuple[str, ...] | None = ()
    is_http: bool = False
    """Whether it acts on requests: our relay then has to know that the upstream speaks HTTP."""
    layer: Layer | None = None
    """What the relay speaks to either side, if it does more than pass bytes."""
    is_peerless: bool = False
    """Whether peers with the layer are left out, because they cannot do what is measured."""


NO_FAULT = Injection()


@dataclass(frozen=True, slots=True)
class Setup:
    """The user's choices, and the folder for files of relays."""

    folder: Path
    open_files: int
    fault: str | None = None
    toxiproxy: str | None = None
    prototype: str | None = None
    pin: bool = False
    workers: int = 1
    """The number of processes of our relay; the peers use one."""
    root: Path | None = None
    """The folder that all relays and origins of a run share, if `folder` is one below it."""

    def tls_files(self) -> TlsFiles:
        """Return the certificates of this run; they are made once."""
        return _tls_files(self.root or self.folder)


@cache
def _tls_files(folder: Path) -> TlsFiles:
    return make_tls_files(folder)


@dataclass(frozen=True, slots=True)
class Relay:
    name: str
    ports: Mapping[str, int]
    """The port for each upstream."""
    roots: tuple[int, ...]
    events: Path | None = None
    """The file to which our relay writes one JSON event a line."""
    workers: int = 1
    """The number of processes that share the connections."""
    is_pass_through: bool = True
    """Whether it injects no fault."""
    upstreams: Mapping[str, int] = field(default_factory=dict)
    """The ports of the upstreams, for clients that name them to a forward proxy."""

    def pids(self) -> list[int]:
        return with_children(self.roots)


Start = Callable[[ExitStack, Setup, Mapping[str, int], Injection], Relay]


@dataclass(frozen=True, slots=True)
class RelayKind:
    name: str
    start: Start
    why_not: Callable[[Setup], str | None]
    """Return None if it can be measured; otherwise what is missing."""
    can: Callable[[Injection], bool]
    optional: bool = False
    """Whether it is measured only if the user names its program."""


def find_fault() -> str | None:
    """Return the `fault` of the environment that runs the benchmark, else the one on the path."""
    beside = Path(sys.executable).parent / "fault"
    return str(beside) if beside.exists() else find_program("fault")


def _start_direct(
    stack: ExitStack, setup: Setup, upstreams: Mapping[str, int], injection: Injection
) -> Relay:
    return Relay("direct", upstreams, ())


def _start_fault(stack: ExitStack, setup: Setup, upstreams: Mapping[str, int], injection: Injection) -> Relay:
    if injection.layer is not None:
        return _start_layered_fault(stack, setup, upstreams, injection, injection.layer)
    ports = dict(zip(upstreams, free_ports(len(upstreams)), strict=True))
    command = [str(setup.fault), "run", "--no-ui", "--disable-http-proxy", *injection.flags]
    for name, upstream in upstreams.items():
        scheme = "http" if injection.is_http else "tcp"
        command += ["--proxy", f"{ports[name]}={scheme}://127.0.0.1:{upstream}"]
    if setup.workers > 1:
        command += ["--workers", str(setup.workers)]
    events = setup.folder / "fault-events.jsonl" if "--json" in injection.flags else None
    return replace(_start_one(stack, setup, OURS, command, ports, events), workers=setup.workers)


def _start_layered_fault(
    stack: ExitStack, setup: Setup, upstreams: Mapping[str, int], injection: Injection, layer: Layer
) -> Relay:
    files, (port,) = setup.tls_files(), free_ports(1)
    command = ["env", f"FAULT_CA_DIR={files.authority}", str(setup.fault), "run", "--no-ui", *injection.flags]
    command += ["--cacert", str(files.trusted)]
    if layer.intercepts:
        command += ["--proxy-address", f"127.0.0.1:{port}", "--intercept", "127.0.0.1"]
    else:
        upstream = upstreams[layer.upstream]
        command += ["--disable-http-proxy"]
        command += ["--proxy", f"{layer.to_clients}:{port}={layer.to_upstream}://127.0.0.1:{upstream}"]
        if layer.to_clients in ("tls", "https"):
            command += ["--tls-cert", str(files.server), "--tls-key", str(files.server)]
    return _start_one(stack, setup, OURS, command, {layer.upstream: port})


def _start_mitmproxy(
    stack: ExitStack, setup: Setup, upstreams: Mapping[str, int], injection: Injection
) -> Relay:
    assert injection.layer is not None
    (port,) = free_ports(1)
    command = [str(MITMDUMP), "--quiet", "--listen-host", "127.0.0.1", "--listen-port", str(port)]
    for option in (
        f"confdir={setup.folder / MITMPROXY}",
        f"ssl_verify_upstream_trusted_ca={setup.tls_files().trusted}",
    ):
        command += ["--set", option]
    return _start_one(stack, setup, MITMPROXY, command, {injection.layer.upstream: port})


def _start_haproxy(
    stack: ExitStack, setup: Setup, upstreams: Mapping[str, int], injection: Injection
) -> Relay:
    ports = dict(zip(upstreams, free_ports(len(upstreams)), strict=True))
    config = setup.folder / "haproxy.cfg"
    if (layer := injection.layer) is None:
        config.write_text(haproxy_config(upstreams, ports, setup.open_files))
    else:
        ports = {layer.upstream: ports[layer.upstream]}
        config.write_text(
            haproxy_layer_config(
                layer,
                upstreams[layer.upstream],
                ports[layer.upstream],
                setup.tls_files(),
                setup.open_files // 4,
            )
        )
    return _start_one(stack, setup, "haproxy", [_program("haproxy"), "-db", "-f", str(config)], ports)


def _start_nginx(stack: ExitStack, setup: Setup, upstreams: Mapping[str, int], injection: Injection) -> Relay:
    ports = dict(zip(upstreams, free_ports(len(upstreams)), strict=True))
    config = setup.folder / "nginx-stream.conf"
    if (layer := injection.layer) is None:
        config.write_text(nginx_stream_config(upstreams, ports, setup.open_files, setup.folder))
    else:
        ports = {layer.upstream: ports[layer.upstream]}
        config.write_text(
            nginx_layer_config(
                layer,
                upstreams[layer.upstream],
                ports[layer.upstream],
                setup.tls_files(),
                setup.open_files,
                setup.folder,
            )
        )
    command = [_program("nginx"), "-c", str(config), "-e", "stderr"]
    return _start_one(stack, setup, "nginx", command, ports)


def _start_prototype(
    stack: ExitStack, setup: Setup, upstreams: Mapping[str, int], injection: Injection
) -> Relay:
    """Start it: it serves one upstream a process, and cannot splice delayed bytes."""
    ports = dict(zip(upstreams, free_ports(len(upstreams)), strict=True))
    mode = "epoll" if injection.prototype else "epollsplice"
    roots: list[int] = []
    for name, upstream in upstreams.items():
        words = [str(setup.prototype), mode, str(ports[name]), str(upstream), *(injection.prototype or ())]
        relay = _start_one(stack, setup, f"prototype-{name}", [sys.executable, *words], {name: ports[name]})
        roots.extend(relay.roots)
    return Relay("prototype", ports, tuple(roots))


def _start_toxiproxy(
    stack: ExitStack, setup: Setup, upstreams: Mapping[str, int], injection: Injection
) -> Relay:
    *fronts, api = free_ports(len(upstreams) + 1)
    ports = dict(zip(upstreams, fronts, strict=True))
    command = [str(setup.toxiproxy), "-host", "127.0.0.1", "-port", str(api)]
    relay = _start_one(stack, setup, "toxiproxy", command, {"api": api})
    for name, upstream in upstreams.items():
        proxy = {"name": name, "listen": f"127.0.0.1:{ports[name]}", "upstream": f"127.0.0.1:{upstream}"}
        _post(api, "/proxies", proxy)
        for toxic in injection.toxics or ():
            _post(api, f"/proxies/{name}/toxics", toxic)
    return Relay("toxiproxy", ports, relay.roots)


def _post(port: int, path: str, body: Mapping[str, Any]) -> None:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        data=json.dumps(body).encode(),
        # It refuses user agents of browsers, so the client sends its own.
        headers={"Content-Type": "application/json", "User-Agent": "faultkit-bench"},
    )
    urllib.request.urlopen(request, timeout=5).close()


def _start_one(
    stack: ExitStack,
    setup: Setup,
    name: str,
    command: Sequence[str],
    ports: Mapping[str, int],
    events: Path | None = None,
) -> Relay:
    if setup.pin:
        command = ["taskset", "-c", "0", *command]
    log = setup.folder / f"{name}.log"
    process: subprocess.Popen[bytes] = stack.enter_context(running(command, log, events))
    wait_for_ports(list(ports.values()), process, name, log)
    return Relay(name, ports, (process.pid,), events)


def _program(name: str) -> str:
    program = find_program(name)
    if program is None:
        raise StartError(missing(name) or name)
    return program


def _is_pass_through(injection: Injection) -> bool:
    return injection == NO_FAULT


def _relays(name: str) -> Callable[[Injection], bool]:
    """Return whether the peer of this name can do the same without a fault: pass bytes, or have the layer."""

    def can(injection: Injection) -> bool:
        layer = injection.layer
        if layer is None:
            return injection == NO_FAULT
        return name in layer.peers and not injection.is_peerless

    return can


def _always(injection: Injection) -> bool:
    return True


RELAYS: tuple[RelayKind, ...] = (
    RelayKind("direct", _start_direct, lambda setup: None, _is_pass_through),
    RelayKind(
        OURS,
        _start_fault,
        lambda setup: None if setup.fault else "the fault command is not installed: pip install -e .",
        _always,
    ),
    RelayKind("haproxy", _start_haproxy, lambda setup: missing("haproxy"), _relays(HAPROXY)),
    RelayKind("nginx", _start_nginx, lambda setup: missing("nginx"), _relays(NGINX)),
    RelayKind(
        MITMPROXY,
        _start_mitmproxy,
        lambda setup: None if MITMDUMP.exists() else "mitmproxy is not installed: run bench/install.sh",
        lambda injection: injection.layer is not None and _relays(MITMPROXY)(injection),
    ),
    RelayKind(
        "toxiproxy",
        _start_toxiproxy,
        lambda setup: None if setup.toxiproxy else "no --toxiproxy PATH was given",
        lambda injection: injection.toxics is not None,
        optional=True,
    ),
    RelayKind(
        "prototype",
        _start_prototype,
        lambda setup: None if setup.prototype else "no --prototype PATH was given",
        lambda injection: injection.prototype is not None,
        optional=True,
    ),
)
