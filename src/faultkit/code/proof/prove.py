"""Proving a change: the same faults on the old version and on the new one, by the scenario engine.

The service runs as a process of its own, on a free port. What it calls is reached through a proxy, behind
which stands what the user names, or a stand-in of ours. The user's file is never written to.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from faultkit.base.address import ProxyMap, parse_map
from faultkit.base.errors import InputError, RunError
from faultkit.code.proof.compare import Compared, Figures, Judgement, compare, figures_of, whole_judgement
from faultkit.code.proof.process import RunningService
from faultkit.code.proof.service import Service, Upstream, service_of
from faultkit.code.proof.stand_in import StandIn
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.latency import Latency
from faultkit.plan import Rule
from faultkit.scenario.impact import SLOS, Impact, scenario_of
from faultkit.scenario.run import Settings, run_scenarios

Watch = Callable[[str, int, int], None]
"""Told what is being done, as which step of how many."""


@dataclass(frozen=True, slots=True)
class ProofSettings:
    upstreams: Mapping[str, str] = field(default_factory=dict)
    """What stands behind each variable; a stand-in where it is not said."""
    route: str | None = None
    python: str = sys.executable
    duration_s: float = 1.0
    """Of each run; calls that are under way then are waited for."""
    latency_ms: float = 2000.0
    clients: int = 2
    rps: float = 3.0
    timeout_s: float = 10.0
    """A caller that has no answer by then gives up."""
    seed: int | str = 0


@dataclass(frozen=True, slots=True)
class Proof:
    url: str
    """The route that was called."""
    upstreams: tuple[str, ...]
    """What stood behind the service, in words."""
    compared: tuple[Compared, ...]
    judgement: Judgement

    def document(self) -> dict[str, Any]:
        return {
            "judgement": self.judgement,
            "route": self.url,
            "upstreams": list(self.upstreams),
            "faults": [each.document() for each in self.compared],
        }


def prove(
    path: str,
    old: str,
    new: str,
    settings: ProofSettings,
    watch: Watch = lambda what, step, of: None,
    stop: threading.Event | None = None,
) -> Proof:
    """Both versions under each fault. TargetError if one does not start, RunError if it was stopped."""
    file = Path(path)
    service = service_of(old, path, route=settings.route)
    _check(service, settings, path)
    stop = stop or threading.Event()
    with ExitStack() as stack:
        stand_in = stack.enter_context(StandIn())
        ways = [_Way(each, settings.upstreams.get(each.variable), stand_in.url) for each in service.upstreams]
        env = {way.upstream.variable: way.url for way in ways}
        maps = tuple(way.map for way in ways)
        counts = stand_in.taken if all(way.target == stand_in.url for way in ways) else None
        cases = _cases(settings)
        found: dict[str, list[Figures]] = {name: [] for name, _ in cases}
        for turn, (version, text) in enumerate((("before", None), ("after", new))):
            with RunningService(file, service, env, settings.python, text=text, stop=stop) as running:
                for number, (name, rules) in enumerate(cases, 1 + turn * len(cases)):
                    watch(f"{version} the change: {name}", number, 2 * len(cases))
                    impact = _impact(running.url, rules, maps, settings)
                    found[name].append(_measured(impact, settings, stop, counts))
    compared = tuple(
        compare(name, before, after, healthy=name == _HEALTHY) for name, (before, after) in found.items()
    )
    behind = tuple(f"{way.upstream.variable}: {way.told(stand_in.url)}" for way in ways)
    return Proof(service.route, behind, compared, whole_judgement(compared))


_HEALTHY = "healthy"


class _Way:
    """How the service reaches something that it calls."""

    def __init__(self, upstream: Upstream, given: str | None, stand_in: str) -> None:
        self.upstream = upstream
        self.target = target = given or stand_in
        port = _free_port()
        # A path that the user gives goes before that of the default.
        path = upstream.path if given is None else urlsplit(given).path
        self.url = f"http://127.0.0.1:{port}{path}"
        try:
            # A reverse proxy: the upstream is called by its own name, not by that of our port.
            self.map: ProxyMap = parse_map(f"http://127.0.0.1:{port}={_origin(target)}")
        except InputError as error:
            raise InputError("--upstream", f"{upstream.variable}: {error.problem}") from None

    def told(self, stand_in: str) -> str:
        return "a stand-in on this machine" if self.target == stand_in else self.target


def _origin(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if rest else url


def _check(service: Service, settings: ProofSettings, path: str) -> None:
    known = {each.variable for each in service.upstreams}
    for variable in settings.upstreams:
        if variable not in known:
            names = ", ".join(sorted(known)) or "none"
            raise InputError(
                "--upstream", f"expected a variable that {path} reads a URL from ({names}), got {variable}"
            )
    if not known:
        raise InputError(
            path,
            "expected a service whose upstream can be set by a variable of the environment, such as "
            'os.getenv("UPSTREAM_URL", …): without one, no fault can be put between the two',
        )


def _cases(settings: ProofSettings) -> tuple[tuple[str, tuple[Rule, ...]], ...]:
    # From the dependency to the service: what it has sent is lost or late on its way back. So every attempt
    # reaches it and is counted.
    slow = Latency(mean_ms=settings.latency_ms, per="operation")
    return (
        (_HEALTHY, ()),
        ("blackhole", (Rule("blackhole", Blackhole()),)),
        (f"latency of {settings.latency_ms / 1000:g} s", (Rule("latency", slow),)),
    )


def _impact(url: str, rules: tuple[Rule, ...], maps: tuple[ProxyMap, ...], settings: ProofSettings) -> Impact:
    return Impact(
        url,
        rules,
        duration_s=settings.duration_s,
        clients=settings.clients,
        rps=settings.rps,
        timeout_s=settings.timeout_s,
        proxies=maps,
        slos=SLOS,
    )


def _measured(
    impact: Impact, settings: ProofSettings, stop: threading.Event, counts: Callable[[], int] | None
) -> Figures:
    if counts is not None:
        counts()
    outcome = run_scenarios(
        [scenario_of(impact)], Settings(seed=settings.seed, baseline=False), lambda event: None, stop
    )
    if stop.is_set():
        raise RunError("it was stopped before its end")
    if outcome.trouble is not None:
        raise outcome.trouble
    return figures_of(outcome.report.items[0], None if counts is None else counts())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
