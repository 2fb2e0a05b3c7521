"""An impact run as a scenario: one call, one load, faults during the whole of it. Pure: it runs nothing.

What is wrong is told by the names of the impact tools' arguments: `url`, `rps`, `proxies[1]`. How much a
caller may ask for is not known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from faultkit.base.address import ProxyMap
from faultkit.base.documents.reading import Reading
from faultkit.base.documents.shape import shown
from faultkit.base.errors import InputError
from faultkit.base.secrets import mask_url
from faultkit.load.load import Load
from faultkit.load.slo import Slo
from faultkit.plan import Rule
from faultkit.scenario.call import CALL_KEYS, Config, parse_call
from faultkit.scenario.faults import TYPES
from faultkit.scenario.model import Call, Item, Scenario, Sustained, WrittenFault

TITLE = "Evaluating runtime performance of"
"""The URL follows."""
SLOS = (Slo("latency", "99% @ 350ms", 99.0, 350.0), Slo("latency", "95% @ 200ms", 95.0, 200.0))

_JSON = ("content-type", "application/json")
_WRITTEN = {kind: type_ for type_, kind in TYPES.items()}
"""The type that scenario files have for a kind: the older name where there is one."""
_ARGUMENTS = {"duration_s": "duration", "rate_rps": "rps", "clients": "num_clients"}


@dataclass(frozen=True, slots=True)
class Impact:
    url: str
    rules: tuple[Rule, ...]
    method: str = "GET"
    body: str = ""
    """Empty: none. Sent as JSON, unless a header says what it is."""
    headers: tuple[tuple[str, str], ...] = ()
    duration_s: float = 10.0
    clients: int = 1
    rps: float = 3.0
    """Of each client."""
    timeout_s: float = 10.0
    proxies: tuple[ProxyMap, ...] = ()
    """Given: faults act on what the service sends through them, and calls go straight to the URL.
    None: faults act between the caller and the service, in a proxy on a free port."""
    slos: tuple[Slo, ...] = SLOS


def scenario_of(impact: Impact) -> Scenario:
    _check_maps(impact)
    item = Item(
        _call(impact),
        tuple(WrittenFault(_WRITTEN.get(rule.fault.kind, rule.fault.kind), rule) for rule in impact.rules),
        Sustained(_load(impact), impact.clients, impact.rps),
        impact.slos,
        maps=impact.proxies,
        http_proxy=not impact.proxies,
    )
    return Scenario(f"{TITLE} {mask_url(impact.url)}", (item,))


def _call(impact: Impact) -> Call:
    if {"{", "}"} & set(impact.url):
        raise InputError("url", f"expected a URL whose segments are filled in, got {shown(impact.url)}")
    headers = dict(impact.headers)
    if impact.body and not any(name.lower() == _JSON[0] for name in headers):
        headers[_JSON[0]] = _JSON[1]
    document: dict[str, object] = {"method": impact.method, "url": impact.url, "headers": headers}
    if impact.body:
        document["body"] = impact.body
    problems: list[InputError] = []
    call = parse_call(Reading(document, CALL_KEYS, "", problems), Config())
    if problems:
        # What is wrong with the call as a whole is told as below it, and below nothing there is a dot.
        raise InputError(problems[0].path.lstrip("."), problems[0].problem)
    return replace(call, timeout_s=impact.timeout_s)


def _load(impact: Impact) -> Load:
    try:
        return Load(impact.duration_s, impact.clients * impact.rps, keep_alive=False)
    except ValueError as error:
        field, _, problem = str(error).partition(": ")
        raise InputError(_ARGUMENTS.get(field, field), problem) from None


def _check_maps(impact: Impact) -> None:
    needs_http = any(rule.fault.level == "http" for rule in impact.rules)
    for index, given in enumerate(impact.proxies):
        problem = _problem(given, impact.proxies[:index], needs_http=needs_http)
        if problem is not None:
            raise InputError(f"proxies[{index}]", problem)


def _problem(given: ProxyMap, before: Sequence[ProxyMap], *, needs_http: bool) -> str | None:
    if not given.listen.port:
        return "expected a port from 1 to 65535 left of the =, since the service must know it, got 0"
    if given.listen in (other.listen for other in before):
        return f"expected each map to listen elsewhere, got {given.listen} again"
    if given.upstream.port == given.listen.port and _is_here(given.upstream.host):
        return f"expected an upstream elsewhere, got {given.upstream}, which is the map itself"
    if needs_http and given.speaks != "http":
        return (
            "expected a map of HTTP, with http:// or https:// before its upstream, since this fault answers "
            f'requests, got "{given}"'
        )
    return None


def _is_here(host: str) -> bool:
    return host == "localhost" or host.startswith("127.") or host in ("::1", "0.0.0.0", "::")
