"""Which rules act on a connection or a look-up, and how stream rules are bound to a live connection. Those of
requests and answers are in `request_rules`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from faultkit.faults.fault import (
    ConnectionFault,
    HandshakeVerdict,
    NameFault,
    Stream,
    StreamFault,
    StreamFilter,
    TlsFault,
)
from faultkit.plan import Flow
from faultkit.proxy.active_plan import ActiveStreamRule, in_flow
from faultkit.proxy.direction import Direction
from faultkit.proxy.proxy_state import ProxyState
from faultkit.proxy.rule_delay import Delays
from faultkit.proxy.sockets import NO_SOCKET


class BoundLink(Protocol):
    """A connection, as far as rules are concerned."""

    proxy: ProxyState
    ordinal: int
    up: Direction
    down: Direction
    upstream: int
    dead: bool
    exempt: bool
    client_exempt: bool
    hits: dict[ActiveStreamRule, bool] | None

    def abort(self) -> None:
        """End both connections after a defect."""


def rebind_rules(link: BoundLink, now: float) -> None:
    """Let exactly the rules that act now act on this connection."""
    proxy = link.proxy
    if link.hits:
        known = proxy.services.active.rules
        link.hits = {active: hit for active, hit in link.hits.items() if active in known}
    rules = [
        active
        for active in proxy.stream_rules
        if not (link.client_exempt if active.rule.match.side == "client" else link.exempt)
        and _is_hit(link, active)
    ]
    if proxy.spec.upstream is None and link.upstream == NO_SOCKET:
        # A forward proxy's client has no upstream yet. Rules on the server's side begin with the upstream,
        # and anew with each one: a reset bound before would end nothing, and then keep everything from
        # passing.
        rules = [active for active in rules if active.rule.match.side == "client"]
    up, down = link.up, link.down
    up.bind_rules(
        in_flow(rules, "to_upstream", "client"),
        in_flow(rules, "to_upstream", "server"),
        _filter_opener(link, "to_upstream", now),
        now,
    )
    if link.dead:
        return
    down.bind_rules(
        in_flow(rules, "to_client", "server"),
        in_flow(rules, "to_client", "client"),
        _filter_opener(link, "to_client", now),
        now,
    )


def _is_hit(link: BoundLink, active: ActiveStreamRule) -> bool:
    """Drawn once for a connection and a rule, and kept for its life."""
    if active.rule.trigger.always:
        return True
    if link.hits is None:
        link.hits = {}
    if active not in link.hits:
        link.hits[active] = active.fires(link.proxy.name, str(link.ordinal))
    return link.hits[active]


def _filter_opener(link: BoundLink, flow: Flow, now: float) -> Callable[[ActiveStreamRule], StreamFilter]:
    proxy, ordinal = link.proxy, link.ordinal

    def open_filter(active: ActiveStreamRule) -> StreamFilter:
        fault = active.rule.fault
        assert isinstance(fault, StreamFault)
        count = 0

        def note(effect: str, value: float) -> None:
            nonlocal count
            proxy.record_injection(active, ordinal, flow, count, effect, value)
            count += 1

        rng = active.unit_rng(proxy.name, ordinal, flow)
        return fault.open(Stream(now, rng, note, active.shared(proxy.name, flow)))

    return open_filter


def judge_admission(proxy: ProxyState, rules: tuple[ActiveStreamRule, ...], ordinal: int) -> Delays | None:
    """Let connection rules act on a new connection: return by how much each delays it, None if refused."""
    delays: Delays = {}
    for active in rules:
        fault = active.rule.fault
        assert isinstance(fault, ConnectionFault)
        if not active.fires(proxy.name, str(ordinal)):
            continue
        admission = fault.admit(active.unit_rng(proxy.name, ordinal, "admit"))
        if admission.refuse:
            proxy.record_injection(active, ordinal, None, 0, "refused", 1.0)
            return None
        proxy.record_injection(active, ordinal, None, 0, "delay_ms", admission.delay_s * 1000)
        delays[active] = admission.delay_s
    return delays


def judge_name(link: BoundLink) -> tuple[Delays, bool]:
    """Return by how much each rule delays looking up the upstream's name, and whether it fails."""
    proxy, ordinal = link.proxy, link.ordinal
    delays: Delays = {}
    for active in () if link.exempt else proxy.rules_of("name"):
        fault = active.rule.fault
        assert isinstance(fault, NameFault)
        if not active.fires(proxy.name, str(ordinal)):
            continue
        resolution = fault.resolve(active.unit_rng(proxy.name, ordinal, "name"))
        if resolution.delay_s:
            delays[active] = resolution.delay_s
            proxy.record_injection(active, ordinal, None, 0, "delay_ms", resolution.delay_s * 1000)
        if resolution.fail:
            proxy.record_injection(active, ordinal, None, 0, "name_not_found", 1.0)
            return delays, True
    return delays, False


def judge_handshake(link: BoundLink) -> tuple[HandshakeVerdict, Delays, ActiveStreamRule | None]:
    """Return what TLS rules do to the handshake with a client, the part of each in its delay, and the rule
    that truncates its end, which is recorded when it comes.

    Delays add up; of everything else the first counts."""
    proxy, ordinal = link.proxy, link.ordinal
    delays: Delays = {}
    verdict = HandshakeVerdict()
    truncating: ActiveStreamRule | None = None
    for active in () if link.exempt else proxy.rules_of("tls"):
        fault = active.rule.fault
        assert isinstance(fault, TlsFault)
        if not active.fires(proxy.name, str(ordinal)):
            continue
        own = fault.shake(active.unit_rng(proxy.name, ordinal, "tls"))
        if own.delay_s:
            delays[active] = own.delay_s
            proxy.record_injection(active, ordinal, None, 0, "delay_ms", own.delay_s * 1000)
        if own.end is not None and verdict.end is None:
            proxy.record_injection(active, ordinal, None, 0, f"handshake_{own.end}", 1.0)
        if own.flaw is not None and verdict.flaw is None:
            proxy.record_injection(active, ordinal, None, 0, f"certificate_{own.flaw}", 1.0)
        if own.version is not None and verdict.version is None:
            proxy.record_injection(active, ordinal, None, 0, "tls_version", float(own.version))
        if own.truncates and truncating is None:
            truncating = active
        verdict = HandshakeVerdict(
            verdict.delay_s + own.delay_s,
            verdict.end or own.end,
            verdict.alert if verdict.end is not None else own.alert,
            verdict.flaw or own.flaw,
            verdict.version or own.version,
            verdict.truncates or own.truncates,
        )
    return verdict, delays, truncating
