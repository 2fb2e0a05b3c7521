"""Which rules act on a connection, and how they are put to work on it: at first, and on any change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultkit.faults.fault import FOREVER, NameFault, Stream, StreamFault, StreamFilter
from faultkit.plan import Flow
from faultkit.proxy.active import ActiveRule, in_flow
from faultkit.proxy.lane import Lane
from faultkit.proxy.sockets import NONE

if TYPE_CHECKING:
    from faultkit.proxy.half import Half
    from faultkit.proxy.link import Link


def restage(link: Link, now: float) -> None:
    """Let exactly the rules that act now act on this connection."""
    if link.hits:
        known = link.plane.active.rules
        link.hits = {state: hit for state, hit in link.hits.items() if state in known}
    rules = [] if link.exempt else [rule for rule in link.proxy.stream_rules if _is_hit(link, rule)]
    if link.proxy.spec.upstream is None and link.upstream == NONE:
        # A forward proxy's client has no upstream yet. What acts on one begins with it, and anew with each:
        # a reset that came before would end nothing, and then keep everything from passing.
        rules = [state for state in rules if state.rule.match.side == "client"]
    for half in (link.up, link.down):
        _restage_half(link, half, rules, now)
        if link.dead:
            return


def _restage_half(link: Link, half: Half, rules: list[ActiveRule], now: float) -> None:
    near = in_flow(rules, half.flow, "client" if half is link.up else "server")
    far = in_flow(rules, half.flow, "server" if half is link.up else "client")

    def open_filter(state: ActiveRule) -> StreamFilter:
        return _open_filter(link, state, half.flow, now)

    half.release(now)
    if link.dead:
        return
    half.paced_at = FOREVER
    if half.far is not None and half.lane is not None:
        half.far.restage(far, open_filter, now)
        half.lane.restage(near, open_filter, now)
    elif near or far or half.lane is not None:
        if half.lane is None:
            half.lane = Lane()
        half.lane.restage(near + far, open_filter, now)
        if not half.lane.blind:
            half.unseal()
    else:
        return
    half.pump_again()


def _is_hit(link: Link, state: ActiveRule) -> bool:
    """Drawn once for a connection and a rule, and kept for its life."""
    if state.rule.trigger.always:
        return True
    if link.hits is None:
        link.hits = {}
    if state not in link.hits:
        link.hits[state] = state.fires(link.proxy.name, str(link.ordinal))
    return link.hits[state]


def _open_filter(link: Link, state: ActiveRule, flow: Flow, now: float) -> StreamFilter:
    fault = state.rule.fault
    assert isinstance(fault, StreamFault)
    count = 0

    def note(effect: str, value: float) -> None:
        nonlocal count
        link.note(state, flow, count, effect, value)
        count += 1

    rng = state.rng(link.proxy.name, link.ordinal, flow)
    return fault.open(Stream(now, rng, note, state.shared(link.proxy.name, flow)))


def judge_name(link: Link) -> tuple[float, bool]:
    """How long looking up the upstream's name takes longer, and whether it is not found."""
    delay_s = 0.0
    for state in () if link.exempt else link.proxy.rules_of("name"):
        fault = state.rule.fault
        assert isinstance(fault, NameFault)
        if not state.fires(link.proxy.name, str(link.ordinal)):
            continue
        resolution = fault.resolve(state.rng(link.proxy.name, link.ordinal, "name"))
        delay_s += resolution.delay_s
        if resolution.delay_s:
            link.note(state, None, 0, "delay_ms", resolution.delay_s * 1000)
        if resolution.fail:
            link.note(state, None, 0, "name_not_found", 1.0)
            return delay_s, True
    return delay_s, False
