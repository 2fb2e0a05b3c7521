"""Planes elsewhere for the items of a run: one lease for each control API, what items must not ask of them,
and the route of calls through their proxies.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from ipaddress import ip_address

from faultkit.base.address import Endpoint, is_loopback
from faultkit.base.errors import InputError
from faultkit.proxy.control.leased_plane import LeasedPlane, OpenProxy
from faultkit.scenario.control_api import ControlApi
from faultkit.scenario.routes import FORWARD, FRONT, Routes
from faultkit.scenario.scenario_model import Scenario, ScenarioItem


def hold_planes(
    stack: ExitStack, scenarios: Sequence[Scenario], given: ControlApi | None
) -> dict[ControlApi, LeasedPlane]:
    """Take a lease at each control API that the scenarios name, or at the `given` one in place of all.

    The stack ends the leases. Raises InputError for an item that does not fit, before anything runs."""
    apis: dict[ControlApi, LeasedPlane] = {}
    for scenario in scenarios:
        api = given or scenario.control
        for index, item in enumerate(scenario.items):
            _check_item(item, f"{_place(scenario)}: items[{index}].context", api)
    for scenario in scenarios:
        api = given or scenario.control
        if api is None or api in apis:
            continue
        try:
            client = api.client(FLAGS if given else None)
        except InputError as error:
            raise error if given else error.at(f"{_place(scenario)}: proxy.{error.path}") from None
        apis[api] = stack.enter_context(LeasedPlane(client))
    for scenario in scenarios:
        api = given or scenario.control
        if api is not None:
            for index, item in enumerate(scenario.items):
                _check_proxies(item, f"{_place(scenario)}: items[{index}].context", api, apis[api].proxies)
    return apis


FLAGS = {name: f"--proxy-{name.replace('_', '-')}" for name in ("at", "token_env", "ca", "cert", "key")}
"""The flags of `fault scenario run` for the fields of a `ControlApi`."""


def _place(scenario: Scenario) -> str:
    return scenario.file or scenario.title


def _check_item(item: ScenarioItem, path: str, api: ControlApi | None) -> None:
    """Refuse keys that mean nothing for a proxy that runs elsewhere, or only there."""
    if api is None:
        if item.through is not None:
            expected = "a control API beside it (`proxy` of the scenario, or --proxy-at)"
            raise InputError(f"{path}.proxy.through", f"expected {expected}, got none")
    elif item.upstreams.upstreams:
        got = ", ".join(str(upstream) for upstream in item.upstreams.upstreams)
        expected = f"none with the proxy at {api.at}, whose own --upstream names the hosts"
        raise InputError(f"{path}.upstreams", f"expected {expected}, got {got}")
    elif item.through is not None and not item.http_proxy:
        raise InputError(f"{path}.proxy.through", "expected none with disable_http_proxies, got both")


def _check_proxies(item: ScenarioItem, path: str, api: ControlApi, proxies: Sequence[OpenProxy]) -> None:
    """Refuse an item that needs a proxy which is not open at the control API."""
    there = _there(api, proxies)
    for index, given in enumerate(item.maps):
        if not any((p.listen.port, p.upstream) == (given.listen.port, given.upstream) for p in proxies):
            expected = f"a proxy that is open at {there}"
            raise InputError(f"{path}.proxy.proxies[{index}]", f'expected {expected}, got "{given}"')
    for index, fault in enumerate(item.faults):
        if not any(fault.rule.match.covers_proxy(proxy.name) for proxy in proxies):
            got = fault.rule.match.proxy
            where = f"{path}.faults[{index}].match.proxy"
            raise InputError(where, f'expected the name of a proxy at {there}, got "{got}"')
    if item.through is not None:
        _through(item.through, f"{path}.proxy.through", api, proxies)


def _there(api: ControlApi, proxies: Sequence[OpenProxy]) -> str:
    """Return the place of a control API with the names of its proxies, for a message."""
    return f"{api.at} (there are {', '.join(proxy.name for proxy in proxies) or 'none'})"


def _through(
    name: str, path: str, api: ControlApi, proxies: Sequence[OpenProxy]
) -> tuple[OpenProxy, Endpoint]:
    """Return the proxy of that name, and where this machine reaches it."""
    proxy = next((each for each in proxies if each.name == name), None)
    if proxy is None:
        raise InputError(path, f'expected the name of a proxy at {_there(api, proxies)}, got "{name}"')
    host = proxy.listen.host
    if ip_address(host).is_unspecified:
        host = api.host
    elif is_loopback(host) and not is_loopback(api.host):
        expected = f"a proxy at {api.at} that this machine can reach"
        raise InputError(path, f'expected {expected}, got "{name}", which listens on {proxy.listen} there')
    return proxy, Endpoint(host, proxy.listen.port)


def remote_routes(
    item: ScenarioItem, api: ControlApi, proxies: Sequence[OpenProxy]
) -> tuple[Routes, dict[str, Endpoint]]:
    """Return the route of an item's calls, straight or through the proxy that it names, and where that is."""
    if item.through is None:
        return Routes((), None), {}
    proxy, endpoint = _through(item.through, "through", api, proxies)
    name = FORWARD if proxy.upstream is None else FRONT
    return Routes((), name), {name: endpoint}


def remote_route_text(proxy: OpenProxy, api: ControlApi) -> str:
    """Return a proxy as the report shows it."""
    leads = "any host (HTTP proxy)" if proxy.upstream is None else str(proxy.upstream)
    return f"{proxy.listen} → {leads}, at {api.at}"
