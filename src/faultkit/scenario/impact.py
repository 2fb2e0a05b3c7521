"""An impact run as a scenario: one call, one load, and faults during all of it. Pure.

Errors name the arguments of the impact tools: `url`, `rps`, `proxies[1]`. Limits on the arguments are the
caller's concern.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from faultkit.base.address import ProxyMap, is_loopback
from faultkit.base.documents.checks import shown
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.errors import InputError
from faultkit.base.secrets import mask_url
from faultkit.load.load import Load
from faultkit.load.slo import Slo
from faultkit.plan import Rule
from faultkit.scenario.http_call import CALL, CallConfig, parse_http_call
from faultkit.scenario.scenario_model import HttpCall, LoadStrategy, Scenario, ScenarioItem, WrittenFault
from faultkit.scenario.written_faults import TYPES

TITLE = "Evaluating runtime performance of"
"""The beginning of the scenario's title; the URL follows."""
SLOS = (Slo("latency", "99% @ 350ms", 99.0, 350.0), Slo("latency", "95% @ 200ms", 95.0, 200.0))

_JSON = ("content-type", "application/json")
_WRITTEN = {kind: type_ for type_, kind in TYPES.items()}
"""By kind: its type in scenario files, the older name where there is one."""
_ANY_ADDRESS = ("0.0.0.0", "::")
_ARGUMENTS = {"duration_s": "duration", "rate_rps": "rps", "clients": "num_clients"}


@dataclass(frozen=True, slots=True)
class Impact:
    """An impact run: the call, its load, the faults and the objectives."""

    url: str
    rules: tuple[Rule, ...]
    method: str = "GET"
    body: str = ""
    """Body of the request, empty for none. Sent as JSON unless a header has another content type."""
    headers: tuple[tuple[str, str], ...] = ()
    duration_s: float = 10.0
    clients: int = 1
    rps: float = 3.0
    """Requests a second of each client."""
    timeout_s: float = 10.0
    proxies: tuple[ProxyMap, ...] = ()
    """Proxies between the service and its dependencies; faults then act there, and calls go straight to the
    URL. Without any, faults act between the caller and the service, in a proxy on a free port."""
    slos: tuple[Slo, ...] = SLOS


def scenario_of(impact: Impact) -> Scenario:
    """Return the impact run as a scenario with one item. Raises InputError."""
    _check_maps(impact)
    item = ScenarioItem(
        _call(impact),
        tuple(WrittenFault(_WRITTEN.get(rule.fault.kind, rule.fault.kind), rule) for rule in impact.rules),
        LoadStrategy(_load(impact), impact.clients, impact.rps),
        impact.slos,
        maps=impact.proxies,
        http_proxy=not impact.proxies,
    )
    return Scenario(f"{TITLE} {mask_url(impact.url)}", (item,))


def _call(impact: Impact) -> HttpCall:
    if {"{", "}"} & set(impact.url):
        raise InputError("url", f"expected a URL whose segments are filled in, got {shown(impact.url)}")
    headers = dict(impact.headers)
    if impact.body and not any(name.lower() == _JSON[0] for name in headers):
        headers[_JSON[0]] = _JSON[1]
    document: dict[str, object] = {"method": impact.method, "url": impact.url, "headers": headers}
    if impact.body:
        document["body"] = impact.body
    problems: list[InputError] = []
    call = parse_http_call(MappingReader(document, CALL, "", problems), CallConfig())
    if problems:
        # An error of the call as a whole has the path of the call, which is empty: drop the dot.
        raise InputError(problems[0].path.lstrip("."), problems[0].problem)
    return replace(call, timeout_s=impact.timeout_s)


def _load(impact: Impact) -> Load:
    try:
        return Load(impact.duration_s, impact.clients * impact.rps, keep_alive=False)
    except ValueError as error:
        field, _, problem = str(error).partition(": ")
        raise InputError(_ARGUMENTS.get(field, field), problem) from None


def _check_maps(impact: Impact) -> None:
    needs_http = any(rule.fault.level in ("http", "llm") for rule in impact.rules)
    for index, given in enumerate(impact.proxies):
        problem = _map_problem(given, impact.proxies[:index], needs_http=needs_http)
        if problem is not None:
            raise InputError(f"proxies[{index}]", problem)


def _map_problem(given: ProxyMap, before: Sequence[ProxyMap], *, needs_http: bool) -> str | None:
    if not given.listen.port:
        return "expected a port from 1 to 65535 left of the =, since the service must know it, got 0"
    if given.listen in (other.listen for other in before):
        return f"expected each map to listen elsewhere, got {given.listen} again"
    upstream = given.upstream
    if upstream.port == given.listen.port and (is_loopback(upstream.host) or upstream.host in _ANY_ADDRESS):
        return f"expected an upstream elsewhere, got {given.upstream}, which is the map itself"
    if needs_http and given.speaks != "http":
        return (
            "expected a map of HTTP, with http:// or https:// before its upstream, since this fault answers "
            f'requests, got "{given}"'
        )
    return None
