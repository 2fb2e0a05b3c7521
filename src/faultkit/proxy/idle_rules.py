"""Rules that can never act on the proxies of a run, or hardly as meant, and why: for warnings. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from faultkit.base.address import UpstreamSet
from faultkit.plan import Rule
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.dial import literal_address

_BEGINS_OF_PATHS = "/*?["
"""A path begins with a slash, or is `*`; a glob of paths begins with one of these."""


def idle_warnings(rules: Sequence[Rule], proxies: Sequence[ProxySpec]) -> list[str]:
    """Return a warning for each rule that can never act on these proxies."""
    found = ((rule.name, _why_idle(rule, proxies)) for rule in rules)
    return [f"{name} touches nothing: {why}" for name, why in found if why is not None]


def caveats(rules: Sequence[Rule]) -> list[str]:
    """Return a warning for each rule whose settings do something that is hardly meant."""
    return [why for rule in rules if (why := rule.caveat)]


def late_warnings(rules: Sequence[Rule], total_s: float, ends: str) -> list[str]:
    """Return a warning for each rule whose schedule first lets it act when `total_s` seconds are over.

    `ends` says why they are: `the run ends after 60 s (--duration)`."""
    first_s = {rule.name: rule.schedule.resolve(total_s).first_s for rule in rules}
    return [
        f"{name} touches nothing: its schedule begins after {begin_s:g} s, and {ends}"
        for name, begin_s in first_s.items()
        if begin_s >= total_s
    ]


def _why_idle(rule: Rule, proxies: Sequence[ProxySpec]) -> str | None:
    """Return why a rule can never act on these proxies; None if it can."""
    covered = [spec for spec in proxies if rule.match.covers_proxy(spec.name)]
    if not covered:
        names = ", ".join(spec.name for spec in proxies)
        return f'no proxy is named "{rule.match.proxy}" (there are {names})'
    if rule.fault.level in ("http", "llm") and not any(_understands_http(spec) for spec in covered):
        return "it needs an http:// or https:// upstream, or --upstream"
    if rule.fault.level == "tls" and not any(spec.client_tls is not None for spec in covered):
        return "it needs a map that speaks TLS to clients (https:PORT=…), or --intercept"
    if rule.fault.level == "name" and not any(_resolves_names(spec) for spec in covered):
        return "it needs an upstream with a name: an IP address is not looked up"
    if rule.match.path is not None and rule.match.path[0] not in _BEGINS_OF_PATHS:
        return f'no path of a request matches "{rule.match.path}": expected a glob such as "/api/*"'
    if rule.trigger.probability == 0:
        return "its trigger.probability is 0"
    return None


def _resolves_names(spec: ProxySpec) -> bool:
    if spec.upstream is None:
        return spec.broken != UpstreamSet()
    return literal_address(spec.upstream.host, spec.upstream.port) is None


def _understands_http(spec: ProxySpec) -> bool:
    return spec.speaks == "http" if spec.upstream is not None else spec.broken != UpstreamSet()
