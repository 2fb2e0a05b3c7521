"""Requests whose work failed and that are answered with success all the same, so that no client tries again.

The failure is logged and the function goes on to its answer, or the handler answers itself. A function
that answers has a route, a parameter to answer through, or a result that is an answer; or one that has
returns what it returns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Handler, Place, Scope, Try, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.answers import is_answer, responder_of
from faultkit.code.rules.vocabulary.brokers import is_published
from faultkit.code.rules.vocabulary.dropped_failures import (
    dropped_failures,
    is_failure_of_work,
    only_logs_or_counts,
    swallowing_calls,
)
from faultkit.code.rules.vocabulary.failures import (
    has_comment,
    is_count_or_report,
    is_for_one_code,
    node_at,
)
from faultkit.code.rules.vocabulary.local_memory import is_of_local
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.remote_calls import RemoteCall, remote_calls
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

WRITES = NamePattern(
    r"^_?(?i:save|insert|update|delete|create|store|put|publish|charge|commit|exec|execute|upsert|persist|debit|credit"
    r"|transfer|mark|record|decrement|deduct|allocate|withdraw|redeem|settle|issue|book|reserve|place|submit|register|cancel|refund|capture|apply|append|write|enqueue"
    r"|subscribe|enrol|enroll|pay|order|ship|activate|provision)(?![a-z])"
)
_TAKES_IN = NamePattern(
    r"^_?(?i:handle|process|dispatch|ingest|forward|sync|deliver|emit|import|accept|send|produce|consume|add|complete"
    r"|confirm|settle|fulfil+|grant|assign|on|receive|reconcile|post|queue|schedule)(?![a-z])"
)
"""Work on what a webhook is sent, besides writes."""
_BESIDE = NamePattern(
    r"cache|metric|audit|\blog|logger|analytic|notif|mail|event|telemetry|track|stats|hook|slack|index|search|redis"
    r"|history|session|prefetch|warm|lock|seen$|last_?(?:pull|used|login|access|active|visit)|touch|usage|counter"
    r"|(?:register|record|count|add)_?\w*(?:view|click|hit|impression)s?$",
    re.IGNORECASE,
)
"""Receivers of work that the answer does not depend on."""
_BESIDE_BY_NAME = NamePattern(
    r"cache|metric|audit|log(?!in)|analytic|notif|mail|telemetry|track|stats|slack|publish|emit|seen",
    re.IGNORECASE,
)
"""Names of functions that do such work."""
_BESIDE_OF_WEBHOOK = NamePattern(r"cache|metric|audit|\blog|logger|analytic|telemetry|stats|slack", re.I)
_WEBHOOK = NamePattern(r"hook|callback|postback|(?<![a-z])ipn(?![a-z])|inbound", re.IGNORECASE)
_ANSWERS = lazy_regex(
    r"\b(?:IResult|I?ActionResult|ResponseEntity|HttpResponseData|APIGatewayProxy\w*|IntoResponse|Responder"
    r"|NextResponse|JSONResponse|JsonResponse|PlainTextResponse|Results<|Response<\w+>,\s*(?:tonic::)?Status>)"
)
_ANSWERS_ANYWHERE = TextPattern(
    _ANSWERS.pattern.encode()
    + rb"|statusCode|Servicer\b|ServerCallContext|ImplBase|use server|grpc|pb\.\w+Request"
)


def is_beside(call: Call) -> bool:
    """Return whether a call does work that the answer does not depend on."""
    if call.receiver_written:
        return _BESIDE.search(call.written) is not None
    return _BESIDE_BY_NAME.search(call.method) is not None


@lru_cache(maxsize=4)
def _remote(facts: Facts) -> dict[Call, RemoteCall]:
    return {each.call: each for each in remote_calls(facts)}


def is_write(call: Call, facts: Facts) -> bool:
    """Return whether a call changes something that is kept."""
    if call.is_deferred:
        return False
    if is_commit(call):
        return True
    if is_beside(call) or call.method in ("create_task", "ensure_future"):
        return False
    if call.method.lower().startswith("enqueue") and re.search(r"(?i)mail|notif", facts.text(call.span)):
        return False
    found = _remote(facts).get(call)
    # A function of this text may read first and write then.
    if found is not None and found.kind != "cache" and (found.through is None or not found.is_read):
        return not found.is_read and not _ENDS_TRANSACTION.search(facts.text(call.span))
    if _is_event_or_dictionary(call, facts):
        return False
    named = WRITES.match(call.method) is not None and bool(call.arguments)
    return named and not is_of_local(call, facts)


def _is_event_or_dictionary(call: Call, facts: Facts) -> bool:
    """Return whether it captures an event of use, by its name, or updates a dictionary (Python)."""
    if call.method == "capture":
        first = call.argument("event", place=0)
        return first is None or first.value.shape == "text" or bool(first.name)
    return facts.language == "python" and call.method == "update" and bool(call.positional)


COMMITS = frozenset(
    ("commit", "Commit", "CommitAsync", "commitTransaction", "SaveChanges", "SaveChangesAsync")
)
_OF_TRANSACTION = NamePattern(
    r"(?:^|[._])_?(?:\w*(?:tx|trx|txn|transaction|session|unit_?of_?work|uow|runner|context)|conn?|connection|db|\w+db"
    r"|em|database|scope)$",
    re.IGNORECASE,
)


def is_commit(call: Call) -> bool:
    """Return whether a call ends a transaction so that its writes are kept."""
    if call.method not in COMMITS or (call.arguments and call.method in ("commit", "Commit")):
        return False
    made = call.origin
    if made is not None and made.method.lower().startswith(
        ("begin", "start", "open", "get_session", "session")
    ):
        return True
    return _OF_TRANSACTION.search(call.receiver_written) is not None


_ENDS_TRANSACTION = lazy_regex(r"[\"'`]\s*(?:rollback|begin)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AnsweredFailure:
    """A failure after which a request is answered with success."""

    span: Span
    """From what lets the failure go to the answer."""
    let_go: Span
    """The handler, or the call of a function that says nothing of a failure."""
    work: Call
    """What failed."""


def answered_failures(facts: Facts) -> Iterator[AnsweredFailure]:
    """Yield the failures after which a request is answered with success."""
    # Most handlers pass the error on. To look for the function that answers takes longer.
    is_go = facts.language == "go"
    tries = [each for each in facts.tries if is_go or not all(one.raises for one in each.handlers)]
    # Only a result of Kotlin holds a failure without a try.
    if not (tries or facts.language == "kotlin") or not _may_answer(facts):
        return
    for each in tries:
        scope = _answering(each, facts)
        if scope is None or facts.handlers_around(each):
            continue
        work = _work_in(_made_by(each, facts), scope, facts)
        for handler in each.handlers if work is not None else ():
            if work is not None and _is_let_go(handler, each, scope, facts):
                yield AnsweredFailure(_to_answer(handler.span, scope, facts), handler.span, work)
                break
    if facts.language == "kotlin":
        yield from _outcomes(facts)
    for dropped in swallowing_calls(facts):
        scope = _answering(dropped, facts)
        if scope is None or facts.handlers_around(dropped) or facts.tries_around(dropped):
            continue
        call = next(
            (one for one in facts.within(facts.calls, dropped.span) if one.span == dropped.span), None
        )
        if call is not None and not facts.loops_around(call) and _succeeds_after(call.span.end, scope, facts):
            own = next((one for one in facts.functions_named(call.method)), None)
            if own is not None and _work_in(own.body, scope, facts) is not None:
                yield AnsweredFailure(_to_answer(call.span, scope, facts), call.span, call)


def _made_by(each: Try, facts: Facts) -> Span:
    """Return what may fail: of `match updated { … }` the value of `updated` (Rust)."""
    name = facts.text(each.body) if facts.language == "rust" else ""
    made = facts.assignments_to(name, each) if name.isidentifier() else ()
    value = made[-1].value if made else None
    return each.body if value is None else value.span


def _outcomes(facts: Facts) -> Iterator[AnsweredFailure]:
    """Yield `runCatching { save(order) }.onFailure { log.error(…) }` before an answer (Kotlin)."""
    for dropped in dropped_failures(facts) if facts.calls_named("runCatching") else ():
        scope = _answering(dropped, facts)
        if scope is None or facts.text(dropped.work)[:11] != "runCatching":
            continue
        work = _work_in(dropped.work, scope, facts)
        if work is not None and _succeeds_after(dropped.span.end, scope, facts):
            yield AnsweredFailure(_to_answer(dropped.span, scope, facts), dropped.span, work)


def _to_answer(let_go: Span, scope: Scope, facts: Facts) -> Span:
    """Return the code from what lets a failure go to the first answer behind it."""
    ends = [each.end for each in answers_in(scope.body, scope, facts) if each.start >= let_go.end]
    return Span(let_go.start, min(ends, default=let_go.end))


def _may_answer(facts: Facts) -> bool:
    return any(scope.route is not None or responder_of(scope, facts) for scope in facts.scopes) or (
        _ANSWERS_ANYWHERE.is_in(facts.syntax.source)
    )


_STARTS = frozenset(
    ("spawn", "spawn_blocking", "create_task", "ensure_future", "launch", "submit", "setImmediate",
     "setTimeout", "runAsync", "supplyAsync", "StartNew", "run_in_executor", "Run", "waitUntil", "after")
)  # fmt: skip
"""Calls whose function runs beside the one that answers."""


def _runs_beside(scope: Scope, facts: Facts) -> bool:
    """Return whether a lambda is given to a call that starts it as a task, or is a goroutine."""
    given = facts.calls_around(scope)[-1:]
    if any(call.method in _STARTS and not call.is_awaited for call in given):
        return True
    return facts.language == "go" and facts.is_launched(scope)


def _answering(place: Placed, facts: Facts) -> Scope | None:
    """Return the function around a place that answers; lambdas in it run where they stand."""
    for scope in reversed([*facts.functions_around(place)]):
        if scope.is_anonymous and _runs_beside(scope, facts):
            return None
        if _answers(scope, facts):
            return scope
        if scope.name:
            return None
    return None


def _answers(scope: Scope, facts: Facts) -> bool:
    if scope.route is not None:
        return scope.route.method not in ("GET", "HEAD")
    if responder_of(scope, facts) or scope.name in _NEXT_ROUTES:
        return True
    head = facts.text(scope.head)
    before, _, after = head.partition("(")
    result = before if facts.language in ("java", "csharp") else after.rpartition(")")[2]
    if _ANSWERS.search(result):
        return True
    if _is_gateway(scope, facts) or is_rpc(scope, facts) or _is_action(scope, facts):
        return True
    routed = (call for call in facts.callers_of(scope) if call.is_returned)
    return bool(scope.name) and any(
        (outer := facts.function_of(call)) is not None
        and outer.route is not None
        and outer.route.method not in ("GET", "HEAD")
        for call in routed
    )


_NEXT_ROUTES = ("POST", "PUT", "PATCH", "DELETE")
"""Functions that Next.js calls for a route."""
_USE_SERVER = lazy_regex(rb"\s*[\"']use server[\"']")


def _is_action(scope: Scope, facts: Facts) -> bool:
    """Return whether a browser calls the function: an action of Next.js."""
    is_script = facts.syntax.language.family == "javascript" and scope.is_async and scope.outer is None
    return is_script and bool(scope.name) and _USE_SERVER.match(facts.syntax.source) is not None


_RPC_RESULT = lazy_regex(r"\(\s*\*\w+\.\w+\s*,\s*(?:err\s+)?error\s*\)\s*$")
_RUST_RPC = lazy_regex(r"Response<[^;{]*>,\s*(?:tonic::)?Status>")
_OF_PB = lazy_regex(r"\*\w*(?:pb|proto)\w*\.\w+Request\b")
_GENERATED = lazy_regex(r"(?:pb|proto|grpc|gen)(?:[/.\-\d]|$)")


def is_rpc(scope: Scope, facts: Facts) -> bool:
    """Return whether a function of a gRPC server answers with what it returns."""
    types = [each.type for each in scope.parameters]
    if facts.language == "go":
        asked = types[1] if len(types) == 2 and types[0] == "context.Context" else ""
        head = facts.text(scope.head)
        is_message = (
            asked.endswith("Request") and (_GENERATED.search(asked) or _OF_PB.search(head)) is not None
        )
        return is_message and _RPC_RESULT.search(facts.text(scope.head).rstrip("{ ")) is not None
    if facts.language == "csharp":
        return any(each.endswith("ServerCallContext") for each in types)
    if facts.language == "java":
        return any(each.endswith("StreamObserver") for each in types)
    if facts.language == "rust":
        return _RUST_RPC.search(facts.text(scope.head)) is not None
    if facts.language in ("python", "kotlin"):
        bases = facts.classes.get(scope.owner, ()) if scope.is_method else ()
        return any(each.partition("(")[0].endswith(("Servicer", "CoroutineImplBase")) for each in bases)
    return False


_GATEWAY = lazy_regex(r"[\"']?statusCode[\"']?\s*:")


def _is_gateway(scope: Scope, facts: Facts) -> bool:
    """Return whether a function answers a gateway of AWS, as `{ statusCode: 200 }`."""
    if b"statusCode" not in facts.syntax.source or not scope.parameters:
        return False
    return any(step.kind == "return" and _GATEWAY.search(step.text) for step in facts.own(facts.steps, scope))


_MANAGES = lazy_regex(
    r"_*(?i:test|create|update|delete|list|get|add|remove|trigger|rerun|resend|retry|register|edit|save)(?=_|[A-Z]|$)"
)
"""Names of functions that users call to keep their webhooks, rather than senders."""


def is_webhook(scope: Scope) -> bool:
    """Return whether another service calls a function, and calls again until it succeeds."""
    path = "" if scope.route is None else scope.route.path
    if _MANAGES.match(scope.short_name):
        return False
    return any(_WEBHOOK.search(each) for each in (path, scope.name, scope.owner))


def _work_in(body: Span, scope: Scope, facts: Facts) -> Call | None:
    """Return what is done for a request in a block."""
    taken_in, responder = is_webhook(scope), responder_of(scope, facts)
    for call in facts.within(facts.calls, body):
        if is_logging(call) or is_count_or_report(call) or call.constructs:
            continue
        if responder and (
            call.receiver_written.startswith(responder)
            or any(each.value.text == responder for each in call.positional[:1])
        ):
            continue  # It writes the answer itself.
        if is_write(call, facts):
            return call
        if is_published(call, facts) and (taken_in or not has_write_before(body, scope, facts)):
            return call
        if taken_in and takes_in(call):
            return call
    return None


def takes_in(call: Call) -> bool:
    """Return whether a call works on what a webhook was sent."""
    named = _TAKES_IN.match(call.method) or WRITES.match(call.method)
    return named is not None and bool(call.arguments) and _BESIDE_OF_WEBHOOK.search(call.written) is None


def has_write_before(body: Span, scope: Scope, facts: Facts) -> bool:
    """Return whether the request was stored before: what follows it is then no part of the answer."""
    before = Span(scope.body.start, max(scope.body.start, body.start))
    return any(
        is_write(call, facts) and not facts.are_exclusive(call, Place(body))
        for call in facts.within(facts.calls, before)
    )


def _is_let_go(handler: Handler, each: Try, scope: Scope, facts: Facts) -> bool:
    if not is_failure_of_work(handler) or is_for_one_code(handler, facts):
        return False
    if _passes_on(handler, scope, facts):
        return False
    if has_comment(facts.text(handler.span)) and not is_webhook(scope):
        return False
    answers = [*answers_in(handler.body, scope, facts)]
    if not answers:
        leaves = any(
            step.kind in ("return", "break", "continue", "raise")
            for step in facts.within(facts.steps, handler.body)
        )
        quiet = only_logs_or_counts(handler.body, facts) and (handler.only_logs or handler.is_empty)
        quiet = quiet or _rolls_back_and_logs(handler.body, facts)
        if not quiet or leaves:
            return False
        final = [] if each.finally_ is None else answers_in(each.finally_, scope, facts)
        end = max(each.span.end, handler.span.end)
        return (bool(final) and is_success(facts.text(final[-1]))) or _succeeds_after(end, scope, facts)
    last = answers[-1]
    if any(
        is_within(last, arm.span)
        for arm in facts.arms
        if is_within(arm.span, handler.body) and arm.span != handler.body
    ):
        return False
    others = [
        call
        for call in facts.within(facts.calls, handler.body)
        if not any(is_within(call.span, one) for one in answers)
    ]
    logs = [
        call for call in others if is_logging(call) or is_count_or_report(call) or call.method in _ROLLBACKS
    ]
    quiet = bool(logs) and all(any(is_within(call.span, log.span) for log in logs) for call in others)
    chosen = _chooses(handler.body, last, facts)
    return quiet and not chosen and is_success(facts.text(last))


_ROLLBACKS = frozenset(("rollback", "Rollback", "RollbackAsync", "rollbackTransaction"))


def _rolls_back_and_logs(body: Span, facts: Facts) -> bool:
    """Return whether a block undoes a transaction, and says no more of it than a line in the log."""
    calls = [*facts.within(facts.calls, body)]
    undoes = [call for call in calls if call.method in _ROLLBACKS and call.is_discarded]
    others = [call for call in calls if not any(is_within(call.span, each.span) for each in undoes)]
    logs = [call for call in others if is_logging(call)]
    return (
        bool(undoes and logs)
        and all(any(is_within(call.span, log.span) for log in logs) for call in others)
        and not any(facts.within(facts.assignments, body))
    )


def _chooses(body: Span, last: Span, facts: Facts) -> bool:
    """Return whether a handler sets something that a later answer is made of."""
    return any(
        each.operator in ("=", ":=") and not is_within(each.span, last)
        for each in facts.within(facts.assignments, body)
    )


def _passes_on(handler: Handler, scope: Scope, facts: Facts) -> bool:
    """Return whether a handler raises, or returns the error; `return c.JSON(…)` of Go is an answer."""
    if facts.language != "go" or not handler.raises:
        return handler.raises
    responder = responder_of(scope, facts)
    returns = [step for step in facts.within(facts.steps, handler.body) if step.kind == "return"]
    return not responder or not all(step.text.startswith(f"{responder}.") for step in returns if step.text)


def answers_in(block: Span, scope: Scope, facts: Facts) -> list[Span]:
    """Return what a block answers with, in the order of the text."""
    found: dict[Span, None] = {}
    responder = responder_of(scope, facts)
    for call in facts.within(facts.calls, block):
        if (responder and is_answer(call, responder, facts)) or _RESPONDS.match(call.written):
            found[call.span] = None
    for step in facts.within(facts.steps, block):
        if step.kind != "return" or facts.function_of(step) is not scope:
            continue
        if _BARE.fullmatch(facts.text(step.span)) is None:
            found[step.span] = None
    tail = _tail(block, facts)
    if tail is not None:
        found[tail] = None
    return sorted(found)


_RESPONDS = NamePattern(r"^call\.respond\w*$")
_BARE = lazy_regex(r"return(@\w+)?\s*;?")
"""A return without a value; of Kotlin also `return@post`."""


def _tail(block: Span, facts: Facts) -> Span | None:
    """Return the last expression of a block, which is its value (Rust)."""
    node = node_at(block, facts) if facts.language == "rust" else None
    inside = [] if node is None else [each for each in node.named_children if not each.is_extra]
    if not inside or node is None or node.type != "block":
        return None
    last = inside[-1]
    if last.type.endswith(("_statement", "_declaration", "_item")) or last.type == "macro_invocation":
        return None
    return Span(last.start_byte, last.end_byte)


_WITHOUT_ANSWER = ("fastapi", "spring", "nest", "aspnet", "litestar", "net/http")
"""Frameworks that answer with success where a function says nothing."""


def _succeeds_after(end: int, scope: Scope, facts: Facts) -> bool:
    """Return whether the answers behind a place are of success, all that there are."""
    rest = Span(end, scope.body.end)
    answers = [each for each in answers_in(rest, scope, facts) if each.start >= end]
    if facts.language == "rust" and (tail := _tail(scope.body, facts)) is not None and tail.start >= end:
        answers.append(tail)
    if not answers:
        return (
            scope.route is not None
            and scope.route.framework in _WITHOUT_ANSWER
            and not any(step.kind == "raise" for step in facts.within(facts.steps, rest))
            and not facts.text(rest).strip("} \n\t);")
        )
    return all(is_success(facts.text(each)) for each in answers) and not any(
        step.kind == "raise" for step in facts.within(facts.steps, rest)
    )


_FAILED = lazy_regex(
    r"\b[45]\d\d\b|(?i:error|fail|unavailable|bad_?request|bad_?gateway|problem|not_?found|unauthori|forbid|conflict"
    r"|unprocess|too_?many|time_?d?_?out|retry|abort|reject|invalid|exception|queued|later|partial|skipp|ignor"
    r"|duplicate|already|exists|set_code|\bcallback\(\s*(?!null|undefined)|\braise\b|\bthrow\b|degraded|redirect)|\breturn\s+(?:None|null|nil|false|False)\b"
)


def is_success(text: str) -> bool:
    """Return whether an answer, as written, has a status of success, and says nothing of a failure."""
    return _FAILED.search(text) is None
