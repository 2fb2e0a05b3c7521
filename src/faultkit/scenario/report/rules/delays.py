"""Rules: what an added delay did to the response time."""

from __future__ import annotations

from math import inf

from faultkit.base.figures import counted, duration, rounded, signed
from faultkit.scenario.report.finding import Remark
from faultkit.scenario.report.model import Item
from faultkit.scenario.report.rules.clues import middle, phases
from faultkit.scenario.report.rules.growing import Growth, growth
from faultkit.scenario.report.rules.place import behind_service

_ENOUGH = 100
"""With fewer requests, that no difference is shown means little."""
_HIDDEN, _ONCE, _SEVERAL = 0.15, 0.75, 1.5
"""Up to so many times the delay are a delay that is hidden, paid in part, paid once."""


def delay_multiplied(item: Item) -> Remark | None:
    found = growth(item)
    if found is None or not found.within(_SEVERAL, inf):
        return None
    times = max(2, round(found.times))
    if found.every_read:
        cause = "The delay is added to every read, and an answer comes in several of them."
        advice = "Keep connections open, and make answers smaller or fewer."
    elif behind_service(item):
        cause = (
            f"The slowed dependency is called about {times} times, one after the other (N+1 queries, a "
            "page at a time), or a new connection with its handshakes is made each time (no keep-alive)."
        )
        advice = "Join the calls, make them at the same time, cache, and keep connections open."
    else:
        cause = (
            f"Between clients and the service, a request goes to and fro about {times} times: a new "
            "connection with its handshakes each time (no keep-alive), or an answer in several pieces."
        )
        advice = "Let clients keep connections open, and make answers smaller or fewer."
    return Remark(
        "risk",
        f"Each request pays for the delay about {times} times.",
        f"{_much(found)} (×\u00a0{rounded(found.times)}).",
        cause,
        advice,
    )


def delay_passed_on(item: Item) -> Remark | None:
    found = growth(item)
    if found is None or not found.within(_ONCE, _SEVERAL):
        return None
    if behind_service(item):
        cause = "The slowed path is on the way of every request, once; nothing hides it."
        advice = (
            "Fine if the delay is bearable. If not: cache, a shorter timeout with a fallback, or work "
            "after the answer."
        )
    else:
        cause = "The delay stands between clients and the service, where nothing can hide it."
        advice = (
            "Fine if the delay is bearable. If not: caches close to clients, and clients that hedge "
            "slow requests."
        )
    return Remark("note", "The delay reaches the user once, in full.", f"{_much(found)}.", cause, advice)


def delay_hidden(item: Item) -> Remark | None:
    found = growth(item)
    if found is None:
        return None
    injected, behind = sum(fault.injected for fault in item.faults), behind_service(item)
    if found.within(-inf, _HIDDEN) and injected >= max(10, item.run.requests * 0.5):
        much = (
            f"{_added(found)}, {counted(injected, 'time')}; {_what_grew(found)} changed by "
            f"{signed(duration(found.grown_ms))}."
        )
        if behind:
            return Remark(
                "good",
                "The delay hardly reaches the user.",
                much,
                "The answer does not wait for the slowed call: it is cached, asynchronous, or given up "
                "early.",
                "See that what is served meanwhile is still fresh enough.",
            )
        return Remark(
            "note",
            "The delay hardly reaches the user.",
            much,
            "It acts where clients do not wait: on connections that they share, or after the answer.",
            "To see what it does, let it act on answers, and make a connection for each request.",
        )
    if not found.within(_HIDDEN, _ONCE):
        return None
    return Remark(
        "note",
        f"Only a part of the delay reaches {'the response time' if found.calls else 'the median request'}.",
        f"{_much(found)} (×\u00a0{rounded(found.times)}).",
        "Some requests do without the slowed call, or share a connection that has paid already."
        if behind
        else "Requests share connections that have paid already.",
    )


def tail_only(item: Item) -> Remark | None:
    by_name = {each.name: each for each in item.impact}
    p50, tail = by_name.get("p50"), by_name.get("p99") or by_name.get("p95")
    if p50 is None or tail is None or not tail.shown:
        return None
    # A fault that acts for less than half of the run leaves the median of the run alone: look while it acts.
    acting = middle(phases(item).during, lambda each: each.p50_ms)
    middle_grown = p50.difference if acting is None else max(p50.difference, acting - p50.baseline)
    if tail.difference < 0.5 * max(tail.baseline, 1.0) or middle_grown > 0.1 * max(p50.baseline, 1.0):
        return None
    return Remark(
        "risk",
        "The tail grew, the median did not.",
        f"{tail.name} {duration(tail.baseline)} → {duration(tail.fault)}, p50 {duration(p50.baseline)} → "
        f"{duration(p50.fault)}.",
        "Only some requests meet the fault, and averages hide them: a retry after a timeout, a lost "
        "packet, a full "
        "pool of connections.",
        "Watch the high percentiles; hedge or bound the slow calls.",
    )


def no_difference(item: Item) -> Remark | None:
    if not item.impact or item.verdict in ("not exercised", "inconclusive", "unfinished"):
        return None
    if item.run.requests < _ENOUGH or item.baseline is None or item.baseline.requests < _ENOUGH:
        return None
    if any(each.shown for each in item.impact) or not any(fault.injected for fault in item.faults):
        return None
    mild = "the fault is too mild to be seen with so many requests."
    return Remark(
        "good",
        "The data show no difference between baseline and fault.",
        f"{counted(sum(fault.injected for fault in item.faults), 'injection')}, and every 95 % "
        "interval holds 0.",
        f"The service takes this fault in its stride, or {mild}"
        if behind_service(item)
        else f"Clients do not notice it: {mild}",
        "Try a stronger fault to learn where it ends.",
    )


def _much(found: Growth) -> str:
    return f"{_added(found)}, and {_what_grew(found)} grew by {duration(found.grown_ms)}"


def _added(found: Growth) -> str:
    if found.calls:
        return f"The delay grew by {duration(found.delay_ms)} over the steps"
    return f"{duration(found.delay_ms)} were added"


def _what_grew(found: Growth) -> str:
    """Of stepped calls there is no median: each has another delay."""
    return f"the response time (on a line through {found.calls} calls)" if found.calls else "the median"
