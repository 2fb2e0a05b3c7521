"""Rules: what an added delay did to the response time."""

from __future__ import annotations

from faultkit.report.figures import counted, duration, rounded, signed
from faultkit.report.finding import Remark
from faultkit.report.model import Item
from faultkit.report.rules.clues import growth, middle, phases

_ENOUGH = 100
"""With fewer requests, that no difference is shown means little."""


def delay_multiplied(item: Item) -> Remark | None:
    found = growth(item)
    if found is None or found.times < 1.5:
        return None
    times = round(found.times)
    if found.every_read:
        cause = "The delay is added to every read, and an answer comes in several of them."
    else:
        cause = (
            f"The slowed dependency is called about {times} times, one after the other (N+1 queries, "
            "a page at a "
            "time), or a new connection with its handshakes is made each time (no keep-alive)."
        )
    return Remark(
        "risk",
        f"Each request pays for the delay about {times} times.",
        f"{_added(found.delay_ms)}, and the median grew by {duration(found.grown_ms)} "
        f"(×\u00a0{rounded(found.times)}).",
        cause,
        "Join the calls, make them at the same time, cache, and keep connections open.",
    )


def delay_passed_on(item: Item) -> Remark | None:
    found = growth(item)
    if found is None or not 0.75 <= found.times < 1.5:
        return None
    return Remark(
        "note",
        "The delay reaches the user once, in full.",
        f"{_added(found.delay_ms)}, and the median grew by {duration(found.grown_ms)}.",
        "The slowed path is on the way of every request, once; nothing hides it.",
        "Fine if the delay is bearable. If not: cache, a shorter timeout with a fallback, or work "
        "after the answer.",
    )


def delay_hidden(item: Item) -> Remark | None:
    found = growth(item)
    injected = sum(fault.injected for fault in item.faults)
    if found is None or found.times >= 0.75 or item.run.errors > item.run.requests * 0.5:
        return None
    if found.times < 0.15 and injected >= max(10, item.run.requests * 0.5):
        return Remark(
            "good",
            "The delay hardly reaches the user.",
            f"{_added(found.delay_ms)}, {counted(injected, 'time')}; the median changed by "
            f"{signed(duration(found.grown_ms))}.",
            "The answer does not wait for the slowed call: it is cached, asynchronous, or given up early.",
            "See that what is served meanwhile is still fresh enough.",
        )
    return Remark(
        "note",
        "Only a part of the delay reaches the median request.",
        f"{_added(found.delay_ms)}; the median grew by {duration(found.grown_ms)} (× "
        f"{rounded(found.times)}).",
        "Some requests do without the slowed call, or share a connection that has paid already.",
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
    return Remark(
        "good",
        "The data show no difference between baseline and fault.",
        f"{counted(sum(fault.injected for fault in item.faults), 'injection')}, and every 95 % "
        "interval holds 0.",
        "The service takes this fault in its stride, or the fault is too mild to be seen with so "
        "many requests.",
        "Try a stronger fault to learn where it ends.",
    )


def _added(delay_ms: float) -> str:
    return f"{duration(delay_ms)} were added"
