"""Which rules act on an HTTP request and on the upstream's answer to it, and the ledger of what was done.

It knows no version of HTTP: a layer asks it, and carries out what it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from faultkit.faults.http2_fault import Http2Effect, Http2Fault
from faultkit.faults.http_fault import (
    AnswerContext,
    AnswerFault,
    AnswerFilter,
    HttpFault,
    HttpVerdict,
    RequestContext,
)
from faultkit.faults.websocket_fault import WebSocketFault
from faultkit.proxy.active_plan import ActiveStreamRule
from faultkit.proxy.plane_events import Executed, Requested
from faultkit.proxy.proxy_state import ProxyState
from faultkit.proxy.rule_delay import Delays

_PASSES = HttpVerdict()


class RequestLink(Protocol):
    """A connection, as far as requests are concerned."""

    proxy: ProxyState
    ordinal: int


class Request(Protocol):
    """The head of an HTTP request. Header fields are parsed only when they are read."""

    @property
    def method(self) -> str: ...

    @property
    def target(self) -> str: ...

    @property
    def headers(self) -> Iterable[tuple[str, str]]: ...


@dataclass(frozen=True, slots=True)
class ActingEffect:
    """What an HTTP/2 rule does to a request."""

    rule: ActiveStreamRule
    effect: Http2Effect
    note: Callable[[str, float], None]
    """Records that it was done."""


def judge_request(
    link: RequestLink, head: Request, *, spared: bool, effects: list[ActingEffect] | None = None
) -> tuple[HttpVerdict, Delays]:
    """Return what HTTP rules do to a request, and the part of each in its delay.

    Delays add up, the first status counts.

    `spared`: no rule acts, because the request goes to an upstream that is not to be broken.
    `effects`: gets what HTTP/2 rules do; None if the client speaks HTTP/1.1, where they cannot act."""
    proxy = link.proxy
    services = proxy.services
    ordinal = services.worker.number(proxy.requests)
    proxy.requests += 1
    injected: list[str] = []
    delays: Delays = {}
    verdict = _PASSES
    for active in () if spared else proxy.http_rules:
        if not _covers(active, head):
            continue
        fault = active.request_fault
        if fault is None:
            if _has_effect(link, active, head, ordinal, effects):
                injected.append(active.rule.name)
            continue
        if not active.fires(proxy.name, str(ordinal)):
            continue
        own = active.constant_verdict
        if own is None:
            rng = active.unit_rng(proxy.name, ordinal, "http")
            memory = active.shared(proxy.name, "to_upstream")
            own = fault.judge(RequestContext(services.loop.clock(), rng, memory))
        if own.status is None and not own.delay_s:
            continue
        before, verdict = verdict, own if verdict is _PASSES else _both(verdict, own)
        if own.delay_s:
            delays[active] = own.delay_s
            proxy.record_injection(active, link.ordinal, None, ordinal, "delay_ms", own.delay_s * 1000)
        if own.status is not None and before.status is None:
            proxy.record_injection(active, link.ordinal, None, ordinal, "status", own.status)
        injected.append(active.rule.name)
    if services.observed:
        at = services.loop.clock()
        services.emit(Requested(at, proxy.name, link.ordinal, head.method, head.target, tuple(injected)))
    return verdict, delays


def _has_effect(
    link: RequestLink,
    active: ActiveStreamRule,
    head: Request,
    ordinal: int,
    effects: list[ActingEffect] | None,
) -> bool:
    """Let a rule act whose fault does not judge requests. True if it is one of HTTP/2 that acts on this."""
    fault, proxy = active.rule.fault, link.proxy
    if isinstance(fault, WebSocketFault) and effects is not None and head.method == "CONNECT":
        proxy.report_once(f"{active.rule.name} cannot act on WebSocket over HTTP/2: it passes")
    if not isinstance(fault, Http2Fault):
        return False
    if effects is None:
        proxy.report_once(f"{active.rule.name} acts on HTTP/2 only: HTTP/1.1 passes")
    elif fault.acts_on(head) and active.fires(proxy.name, str(ordinal)):
        effects.append(ActingEffect(active, fault.effect(), _recorder(link, active, ordinal)))
        return True
    return False


def _both(first: HttpVerdict, second: HttpVerdict) -> HttpVerdict:
    """Return what two rules do to a request: delays add up, the first status counts."""
    answering = second if first.status is None and second.status is not None else first
    return replace(answering, delay_s=first.delay_s + second.delay_s)


def judge_answer(
    link: RequestLink, head: Request, number: int, status: int, *, dropped: bool
) -> dict[ActiveStreamRule, AnswerFilter]:
    """Return the filters of the rules that act on an answer, in the order of the plan.

    `number` counts the requests of the connection from 0. `dropped`: the client gets another answer, so only
    the ledger is kept. An answer goes into the ledger if a rule that hides answers covers its request."""
    proxy = link.proxy
    filters: dict[ActiveStreamRule, AnswerFilter] = {}
    in_ledger = lost = False
    for active in proxy.answer_rules:
        fault = active.rule.fault
        assert isinstance(fault, HttpFault)
        if not _covers(active, head):
            continue
        in_ledger = in_ledger or fault.hides_answers
        if not isinstance(fault, AnswerFault) or dropped or not active.rule.match.covers_status(status):
            continue
        unit = f"{link.ordinal}.{number}"
        if active.fires(proxy.name, unit):
            lost = lost or fault.hides_answers
            rng = active.unit_rng(proxy.name, unit, "answer")
            filters[active] = fault.open(AnswerContext(rng, _note(link, active)))
    if in_ledger:
        lost = lost or dropped
        proxy.ledger.add(head.method, head.target, status, lost=lost)
        if proxy.services.observed:
            at = proxy.services.loop.clock()
            proxy.services.emit(
                Executed(at, proxy.name, link.ordinal, head.method, head.target, status, not lost)
            )
    return filters


def plans_messages(link: RequestLink, head: Request) -> bool:
    """Return whether any rule may act, now or later, on the messages of a WebSocket connection which this
    request opens."""
    proxy = link.proxy
    return any(
        isinstance(active.rule.fault, WebSocketFault)
        and active.rule.match.covers_proxy(proxy.name)
        and _covers(active, head)
        for active in proxy.services.active.rules
    )


def paces(active: ActiveStreamRule) -> bool:
    """Return whether a rule sends the content of answers later than it comes."""
    fault = active.rule.fault
    return (isinstance(fault, AnswerFault) and fault.paces) or fault.level == "llm"


def _recorder(link: RequestLink, active: ActiveStreamRule, ordinal: int) -> Callable[[str, float], None]:
    def note(effect: str, value: float) -> None:
        link.proxy.record_injection(active, link.ordinal, None, ordinal, effect, value)

    return note


def _note(link: RequestLink, active: ActiveStreamRule) -> Callable[[str, float], None]:
    count = 0

    def note(effect: str, value: float) -> None:
        nonlocal count
        link.proxy.record_injection(active, link.ordinal, "to_client", count, effect, value)
        count += 1

    return note


def _covers(active: ActiveStreamRule, head: Request) -> bool:
    return active.any_request or active.rule.match.covers_request(head.method, head.target, head.headers)
