"""Rules about failures: what failed, how often, and whether it ended with the fault."""

from __future__ import annotations

from faultkit.base.numbers import duration, percentage, seconds, share_of
from faultkit.base.sample_statistics import proportion_interval
from faultkit.base.text import counted
from faultkit.faults.http.http_error import HttpError
from faultkit.scenario.report.item_evidence import (
    behind_service,
    makes_requests_fail,
    off_schedule,
    phases,
    recovery,
    requests_and_errors,
    rules_of,
)
from faultkit.scenario.report.report_model import ItemReport
from faultkit.scenario.report.review_model import Remark
from faultkit.scenario.report.trust_rules import not_trusted


def client_gave_up(item: ItemReport) -> Remark | None:
    """Report requests that ended at the client's own timeout."""
    count, limit = item.run.failures.get("timeout", 0), item.call.timeout_ms
    if not count or not limit or item.run.service.max_ms < 0.95 * limit:
        return None
    much = (
        f"{counted(count, 'request')} ({share_of(count, item.run.requests)}) ended at the client's own "
        f"limit of {duration(limit)}."
    )
    if not item.faults:
        return Remark(
            "broken",
            "Clients waited to their own limit and gave up.",
            much,
            "No fault was applied: the service hangs, or is too slow at this load.",
            "See what it waits for.",
        )
    if not behind_service(item):
        return Remark(
            "broken",
            "Clients waited to their own limit and gave up.",
            much,
            "The faults stand between clients and the service: requests or answers did not come through "
            "in time. It says nothing about the timeouts of the service itself.",
            f"If {duration(limit)} are more than users accept, let clients give up earlier, and try again "
            "what is safe to repeat, on a new connection; or hedge: send a second request when the first "
            "is slow.",
        )
    return Remark(
        "broken",
        "The service never gave up by itself: the client did.",
        much,
        "The service has no timeout of its own on the broken call, so its worker waits as long as "
        "the client does, and longer.",
        f"Give that call a timeout well below {duration(limit)}, answer 503 or a fallback when it "
        "expires, and add a circuit breaker.",
    )


def error_classes(item: ItemReport) -> Remark | None:
    """Report the most frequent class of new errors."""
    usual = item.baseline.failures if item.baseline else {}
    new = [
        (count, label)
        for label, count in item.run.failures.items()
        if label in _CLASSES and count > usual.get(label, 0)
    ]
    if not new or not_trusted(item) is not None:
        return None
    count, label = max(new, key=lambda each: (each[0], each[1]))
    what, cause, advice = _CLASSES[label]
    if label == "status_5xx" and not behind_service(item):
        what, cause, advice = _server_error_words(item)
    others = ", ".join(f"{name} {number:,}" for number, name in sorted(new, reverse=True) if name != label)
    return Remark(
        "broken",
        what,
        f"{counted(count, 'request')} ({share_of(count, item.run.requests)})"
        + (f"; besides: {others}." if others else "."),
        cause,
        advice,
    )


def _server_error_words(item: ItemReport) -> tuple[str, str, str]:
    """Explain server errors where the faults are between clients and the service."""
    if any(
        fault.kind in ("http_error", "http_quota", "overloaded", "server_error") and fault.injected
        for fault in item.faults
    ):
        return (
            "Clients are answered with server errors.",
            "The fault answers in the place of the service; what it stands for never got there, or back.",
            "Let clients try again what is safe to repeat, after a pause that grows, and show what they do "
            "without an answer.",
        )
    if not item.faults:
        return (
            "The service answers with server errors.",
            "No fault was applied: it fails by itself.",
            "Look into the log of the service at that time.",
        )
    return (
        "The service answers with server errors.",
        "The faults stand between clients and the service, so it fails by itself: under the load, or because "
        "requests come slow, cut or altered.",
        "Look into the log of the service at that time.",
    )


_CLASSES = {
    "status_5xx": (
        "The service answers with server errors.",
        "It turns the failure of its dependency into a failure of its own.",
        "Catch the failure where it enters: retry once, serve what is cached, or leave that part out "
        "of the answer.",
    ),
    "refused": (
        "Connections were refused.",
        "Nothing listens there while the fault acts: the fault refuses, the service died, or its "
        "backlog is full.",
        "See whether the service still runs; let callers retry with a pause that grows.",
    ),
    "reset": (
        "Connections were reset in the middle.",
        "The other end closed the connection, and the request was not retried.",
        "Retry requests that are safe to repeat, once and on a new connection.",
    ),
    "closed": (
        "Connections ended before the answer did.",
        "The answer was cut off; without a check of its length a client may take the half for the whole.",
        "Check lengths, and retry what is safe to repeat.",
    ),
    "dns": (
        "Names could not be resolved.",
        "Every request asks the resolver, and nothing remembers the last good answer.",
        "Keep connections open, cache addresses, and try a second resolver.",
    ),
    "unreachable": (
        "The host could not be reached.",
        "There is no route to it, or something on the way drops the traffic.",
        "Let callers give up early and use another instance.",
    ),
    "tls": (
        "TLS failed.",
        "The handshake was cut, delayed or altered, or the certificate is not trusted.",
        "Bound the handshake with its own timeout; see that verification fits the environment.",
    ),
    "protocol": (
        "What came back was not HTTP.",
        "Bytes were altered or cut, or the proxy would not let the request through.",
        "Treat a broken answer as a failed one, and close that connection.",
    ),
    "status_4xx": (
        "The service turns requests away.",
        "It answers with a status from 400 to 499 where an event stream or a reply of MCP was expected.",
        "See whether the address and the credentials fit, and whether the service forgets sessions.",
    ),
    "early_end": (
        "Event streams ended early.",
        "The service ended them in good order before they were complete.",
        "Let clients notice an unfinished stream, and resume it after the last event that they have.",
    ),
    "no_stream": (
        "The answers were no event streams.",
        "The service answers with another content type.",
        "See whether the address is that of the stream.",
    ),
    "exited": (
        "The MCP server ended.",
        "Its process died while calls waited for their replies; it was started again.",
        "Look into what it wrote to its standard error.",
    ),
    "invalid_reply": (
        "Replies were no JSON-RPC.",
        "What came back is no reply to the call, or its result is none of a tool.",
        "Treat such a reply as a failed call.",
    ),
    "rpc_error": (
        "Calls were answered with JSON-RPC errors.",
        "The server does not know the tool, refuses its arguments, or failed before it could call it.",
        "Compare the call with what tools/list says; retry only what the server calls temporary.",
    ),
    "tool_error": (
        "The tool reports errors.",
        "It was called, and its result says isError: it may have lost a dependency of its own.",
        "Read the text of the result; let the agent see it, so that it can try another way.",
    ),
    "model_error": (
        "Answers of the model ended with an error.",
        "The status was a success; the error came as an event of the answer, often from overload.",
        "Treat an error event as a failed request: keep what came before, and ask again after a pause.",
    ),
    "malformed_event": (
        "Events of the model's answers were no JSON.",
        "The provider, or a proxy before it, cut an event.",
        "Treat such an answer as a failed request; do not skip the event.",
    ),
}
"""By label of `Failure`: what happened, the likely cause, what to try. Timeouts have their own rules."""


def timeouts(item: ItemReport) -> Remark | None:
    """Report timeouts that are not the client's own limit."""
    count = item.run.failures.get("timeout", 0)
    if not count or client_gave_up(item) is not None:
        return None
    return Remark(
        "broken",
        "Requests timed out.",
        f"{counted(count, 'request')} ({share_of(count, item.run.requests)}).",
        None,
        "Compare the limits along the way: each caller must wait a little longer than what it calls.",
    )


def amplified(item: ItemReport) -> Remark | None:
    """Report that more requests fail than the fault hits."""
    found = _failures_and_probability(item)
    if found is None:
        return None
    chance, observed, low, _ = found
    if low <= chance or observed < 1.2 * chance:
        return None
    behind = behind_service(item)
    return Remark(
        "broken",
        "More requests fail than the fault breaks.",
        f"The fault hits {percentage(100 * chance)}, and {percentage(100 * observed)} of the requests fail.",
        "One request makes several calls that may each fail, failures spread (a shared pool, a "
        "tripped breaker), or retries meet the fault again and add load."
        if behind
        else "A request meets the fault more than once (its connection and its answer, say), or others "
        "that share the connection fail with it.",
        "Count the calls a request makes; limit retries by a budget, and space them."
        if behind
        else "See which classes of errors there are, and whether requests share connections.",
    )


def retries_work(item: ItemReport) -> Remark | None:
    """Report that fewer requests fail than the fault hits."""
    # The load never retries: only a service can, on its way to a dependency.
    found = _failures_and_probability(item) if behind_service(item) else None
    if found is None:
        return None
    chance, observed, _, high = found
    if high >= chance or observed > 0.8 * chance:
        return None
    return Remark(
        "good",
        "Fewer requests fail than the fault breaks.",
        f"The fault hits {percentage(100 * chance)}, and {percentage(100 * observed)} of the requests fail.",
        "Retries or a fallback work.",
        "See what they cost: the tail of the response time, and the load on the dependency.",
    )


def _failures_and_probability(item: ItemReport) -> tuple[float, float, float, float] | None:
    """Return the probability of the only failing fault, the share of failed requests, and its interval."""
    rules = [rule for rule in rules_of(item) if makes_requests_fail(rule.fault)]
    if len(rules) != 1 or len(item.faults) != 1:
        return None
    trigger, fault = rules[0].trigger, rules[0].fault
    if trigger.first is not None or trigger.after or trigger.every != 1 or not 0 < trigger.probability < 1:
        return None
    if isinstance(fault, HttpError) and fault.status < 500:
        return None
    requests, errors = requests_and_errors(phases(item).during)
    if requests < 30:
        return None
    observed = errors / requests
    low, high = proportion_interval(errors, requests)
    return trigger.probability, observed, low, high


def no_recovery(item: ItemReport) -> Remark | None:
    """Report that figures did not return to normal after the fault."""
    found = recovery(item)
    # Requests that Faultkit sends late or drops may look like a failing service.
    if found is None or found.took_s is not None or off_schedule(item):
        return None
    requests, errors = requests_and_errors(phases(item).after)
    going_on = f", {share_of(errors, requests)} of the requests after it still failed" if errors else ""
    behind = behind_service(item)
    return Remark(
        "broken",
        "The service did not recover after the fault was over."
        if behind
        else "Requests did not recover after the fault was over.",
        f"The fault ended at {seconds(found.after_s)}; watched for {seconds(found.watched_s)}{going_on}.",
        "Something keeps the damage: a queue that must drain, broken connections kept in a pool, a "
        "breaker that stays open, a cache of failures."
        if behind
        else "Something keeps the damage: a queue of the service that must drain, or broken connections that "
        "clients keep.",
        "Watch for longer; drop broken connections, bound queues, and let breakers probe."
        if behind
        else "Watch for longer; let clients drop broken connections, and let the service bound its queues.",
    )


def recovers(item: ItemReport) -> Remark | None:
    """Report how fast figures returned to normal after the fault."""
    found = recovery(item)
    if found is None or found.took_s is None:
        return None
    slow = found.took_s > 2 * found.resolution_s + 1e-9
    errors = "its usual share of errors" if item.baseline and item.baseline.errors else "without errors"
    # The precision is a slice: recovery lies somewhere within the first normal one.
    within = seconds(found.took_s + found.resolution_s)
    return Remark(
        "risk" if slow else "good",
        "It recovers slowly." if slow else "It recovers as soon as the fault is over.",
        f"Back to its usual p95 and {errors} within {within} after the fault.",
        "A backlog had to drain, or connections and breakers had to be renewed." if slow else None,
        "Bound queues, and drop requests whose callers have given up." if slow else None,
    )
