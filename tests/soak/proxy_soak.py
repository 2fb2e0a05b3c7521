"""Soaks proxies: `fault run` with all faults in both modes under rule churn, and `fault toxiproxy`."""

from __future__ import annotations

import asyncio
import json
import random
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, TypeAlias

from faultkit.proxy.control.control_client import ControlClient
from tests.fuzz.api_fuzz import CONTROL, TOKEN
from tests.mcp.fuzz.fuzzed_process import FAULT, LIMIT_S, Broken, Subject, Usage, running
from tests.soak.rest import wait_for_rest
from tests.soak.soak_clients import SoakServer, one_client
from tests.soak.soak_plan import soak_rules, write_plan

Place: TypeAlias = tuple[int, str, str]
"""A port, the beginning of each target, and the host that is meant."""
_AT_ONCE = 30
_SHORT_S = 20.0
"""A shorter run ends its rules at the end, so that it need not wait until they let go by themselves."""
_WARM_SHARE = 0.2
"""Part of the time after which the memory is measured for the first time."""


async def _traffic(places: Sequence[Place], seconds: float, rng: random.Random) -> int:
    """Keep clients coming for so many seconds; return how many came. All have gone at the end."""
    end_s = time.monotonic() + seconds
    count = 0

    async def visit() -> None:
        nonlocal count
        while time.monotonic() < end_s:
            count += 1
            await one_client(*rng.choice(places), random.Random(f"{rng.random()}"))

    await asyncio.gather(*(visit() for _ in range(_AT_ONCE)))
    return count


async def _soak(
    subject: Subject,
    places: Sequence[Place],
    seconds: float,
    rng: random.Random,
    churn: Callable[[random.Random], None],
) -> tuple[int, Usage]:
    """Send traffic while `churn` is called again and again; return the clients, and what was held early."""
    start = subject.usage()
    count = await _traffic(places, seconds * _WARM_SHARE, rng)
    warm = subject.usage()
    before = replace(start, rss_bytes=warm.rss_bytes)
    end_s = time.monotonic() + seconds * (1 - _WARM_SHARE)
    traffic = asyncio.create_task(_traffic(places, seconds * (1 - _WARM_SHARE), rng))
    try:
        while time.monotonic() < end_s:
            await asyncio.to_thread(churn, rng)
            await asyncio.sleep(0.1)
        return count + await traffic, before
    finally:
        traffic.cancel()


def soak_run(seconds: float, seed: str) -> str:
    """Soak `fault run`, and return what was done. Raises Broken."""
    return asyncio.run(_soak_run(seconds, seed))


async def _soak_run(seconds: float, seed: str) -> str:
    rng = random.Random(seed)
    async with SoakServer() as server:
        with tempfile.TemporaryDirectory(prefix="soak-") as folder:
            words = ("run", "--no-ui", "--plan", write_plan(Path(folder), seed), "-u", "*")
            ports = ("--proxy-address", "127.0.0.1:0", "--control", "127.0.0.1:0")
            maps = ("--proxy", f"0=http://127.0.0.1:{server.port}", "--proxy", f"0=127.0.0.1:{server.port}")
            with running((*FAULT, *words, *ports, *maps), piped=False, FAULT_CONTROL_TOKEN=TOKEN) as subject:
                control_port = subject.port(CONTROL)
                control = ControlClient(f"http://127.0.0.1:{control_port}", TOKEN)
                places = _places(control.status()["proxies"], server.port)
                count, before = await _soak(subject, places, seconds, rng, partial(_change_rules, control))
                await server.leave()
                if seconds < _SHORT_S:
                    control.put_plan({"rules": []}, ttl_s=0)
                after = await asyncio.to_thread(wait_for_rest, subject, before, control_port)
    return f"{count:,} clients; {_figures(before, after)}"


def _places(proxies: Sequence[dict[str, Any]], upstream: int) -> list[Place]:
    """Return where clients go: by each proxy to the address, by the forward proxy to the name as well."""
    found = []
    for proxy in proxies:
        port = int(proxy["listen"].rpartition(":")[2])
        hosts = ["127.0.0.1"] if proxy["upstream"] else ["127.0.0.1", "localhost"]
        for host in hosts:
            origin = "" if proxy["upstream"] else f"http://{host}:{upstream}"
            found.append((port, origin, f"{host}:{upstream}"))
    return found


def _change_rules(control: ControlClient, rng: random.Random) -> None:
    """Add a rule, remove one, or replace the plan."""
    rule = {**rng.choice(soak_rules()), "name": f"churn-{rng.randrange(5)}"}
    changes: list[tuple[str, str, object]] = [
        ("POST", f"/rules?ttl={rng.choice([0.2, 5.0])}", rule),
        ("DELETE", f"/rules/{rule['name']}", None),
        ("PUT", "/plan?ttl=0.3", {"rules": rng.sample(soak_rules(), 6)}),
    ]
    reply = control.send(*rng.choice(changes), timeout_s=LIMIT_S)
    if reply.status not in (200, 201, 404, 409):  # A name may be taken, or not there.
        raise Broken(f"the control API answered {reply.status}: {reply.body!r}")


def soak_toxiproxy(seconds: float, seed: str) -> str:
    """Soak `fault toxiproxy`, and return what was done. Raises Broken."""
    return asyncio.run(_soak_toxiproxy(seconds, seed))


async def _soak_toxiproxy(seconds: float, seed: str) -> str:
    rng = random.Random(seed)
    async with SoakServer() as server:
        with running((*FAULT, "toxiproxy", "--port", "0", "--seed", seed), piped=False) as subject:
            api = Toxiproxy(subject.port(re.compile(r"API on http://127\.0\.0\.1:(\d+)")))
            api.ask("GET", "/version")
            start = subject.usage()
            host = f"127.0.0.1:{server.port}"
            made = api.ask("POST", "/proxies", {"name": "p", "listen": "127.0.0.1:0", "upstream": host})
            places = [(int(made["listen"].rpartition(":")[2]), "", host)]
            count, before = await _soak(subject, places, seconds, rng, partial(_change_toxics, api, host))
            await server.leave()
            for name in api.ask("GET", "/proxies"):
                api.ask("DELETE", f"/proxies/{name}")
            before = replace(start, rss_bytes=before.rss_bytes)
            after = await asyncio.to_thread(wait_for_rest, subject, before)
    return f"{count:,} clients; {_figures(before, after)}"


class Toxiproxy:
    """A client of Toxiproxy's API, with a connection for each request."""

    def __init__(self, port: int) -> None:
        self._port = port

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Return the document of the answer, whatever its status."""
        with closing(HTTPConnection("127.0.0.1", self._port, timeout=LIMIT_S)) as connection:
            connection.request(method, path, None if body is None else json.dumps(body))
            return json.loads(connection.getresponse().read() or b"null")


_TOXICS: dict[str, dict[str, int]] = {
    "latency": {"latency": 5, "jitter": 3},
    "bandwidth": {"rate": 1000},
    "slow_close": {"delay": 50},
    "timeout": {"timeout": 50},
    "reset_peer": {"timeout": 20},
    "slicer": {"average_size": 2000, "size_variation": 500},
    "limit_data": {"bytes": 5000},
}


def _change_toxics(api: Toxiproxy, upstream: str, rng: random.Random) -> None:
    """Add, change or remove a toxic; add, disable or remove another proxy; or reset everything."""
    kind = rng.choice(list(_TOXICS))
    stream = rng.choice(["upstream", "downstream"])
    toxic = {"type": kind, "stream": stream, "toxicity": 0.3, "attributes": _TOXICS[kind]}
    name = f"churn-{rng.randrange(3)}"
    other = {"name": name, "listen": "127.0.0.1:0", "upstream": upstream}
    changes: list[tuple[str, str, object]] = [
        ("POST", "/proxies/p/toxics", toxic),
        ("PATCH", f"/proxies/p/toxics/{kind}_{stream}", toxic),
        ("DELETE", f"/proxies/p/toxics/{kind}_{stream}", None),
        ("POST", "/proxies", other),
        ("POST", f"/proxies/{name}", {"enabled": rng.random() < 0.5}),
        ("DELETE", f"/proxies/{name}", None),
        ("POST", "/populate", [other]),
        ("POST", "/reset", None),
    ]
    api.ask(*rng.choice(changes))


def _figures(before: Usage, after: Usage) -> str:
    return (
        f"sockets {before.sockets} to {after.sockets}, threads {before.threads} to {after.threads}, "
        f"memory {before.rss_bytes >> 20} to {after.rss_bytes >> 20} MiB"
    )
