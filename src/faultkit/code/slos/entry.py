"""Who calls a function: clients over HTTP, a queue, a schedule, or other code. By what is written. Pure."""

from __future__ import annotations

import re
from dataclasses import replace

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.slos.work import Entry

_METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
_VERBS = frozenset(each.upper() for each in _METHODS)
_MESSAGE_MARKS = frozenset(
    (
        "KafkaListener", "RabbitListener", "SqsListener", "JmsListener", "EventListener", "MessagePattern",
        "EventPattern", "subscriber", "agent", "consumer", "StreamListener", "actor",
        "task", "shared_task",
    )
)  # fmt: skip
_JOB_MARKS = frozenset(
    ("job", "Scheduled", "scheduled_job", "periodic_task", "cron", "Cron",
     "repeat_every", "flow", "Interval")
)  # fmt: skip
_MESSAGE_NAMES = re.compile(
    r"^(lambda_handler|on_?message|on_?event|handle_?(message|event)s?|process_?(message|event)s?|consume\w*"
    r"|\w+_?consumer)$",
    re.IGNORECASE,
)
JOB_NAMES = re.compile(
    r"^main$|(^|_)(job|cron|nightly|hourly|daily|weekly|batch|backup|cleanup)(_|$)|(Job|Cron|Batch)$"
)
_TAKES_MESSAGE = re.compile(
    r"(^|\.)(poll|receive_messages?|receiveMessage|basic_consume|ReadMessage|FetchMessage|xread|xreadgroup|brpop|blpop"
    r"|getone|getmany|Consume|Receive|next_msg|reserve)$|(^|[._])(queue|inbox|\w*_queue)\.get$"
)
_STREAMS = re.compile(
    r"(^|\.)(StreamingResponse|EventSourceResponse|StreamingHttpResponse|SseEmitter|StreamingResponseBody|SSEvent"
    r"|stream_with_context|streamSSE|Flush|accept_ws|websocket_accept)$"
)
_SOCKETS = frozenset(("websocket", "websocket_route", "ws"))
_WITH_METHOD = re.compile(rf"^({'|'.join(sorted(_VERBS))})\s+(?:[\w.-]+)?(/.*)$")
_PREFIXES = frozenset(("RequestMapping", "Controller", "Path"))
_DEFINES_ROUTE = frozenset(
    (*_METHODS, *_VERBS, "route", "Route", "path", "re_path", "url", "add_route", "add_api_route",
     "add_url_rule", "add_api_websocket_route", "HandleFunc", "Handle", "Any", "all", "use", "addRoute")
)  # fmt: skip


def entry_of(scope: Scope | None, facts: Facts, name: str, line: int) -> Entry:
    """`name` is what the function is called by people; `scope` None stands for a text without functions."""
    if scope is None:
        return Entry("function", name, line=line)
    entry = _by_route(scope, facts, name, line)
    if entry is not None:
        return replace(entry, kind="stream") if _streams(scope, facts) else entry
    marks = {each.method for each in scope.decorators}
    if marks & _MESSAGE_MARKS or _MESSAGE_NAMES.match(scope.short_name) or _takes_messages(scope, facts):
        return Entry("message", name, line=line)
    if marks & _JOB_MARKS or JOB_NAMES.search(scope.short_name):
        return Entry("job", name, line=line)
    return Entry("function", name, line=line)


def _by_route(scope: Scope, facts: Facts, name: str, line: int) -> Entry | None:
    route = scope.route
    method, path = (
        _registered(scope, facts) if route is None or not route.path else (route.method, route.path)
    )
    if route is not None:
        method = route.method if route.method != "ANY" else method
        path = _prefix(scope, facts, route.framework) + path
        return Entry("request", name, method, path, route.framework, line)
    names = tuple(each.name.lstrip("_") for each in scope.parameters[:2])
    is_node = names in (("req", "res"), ("request", "response"))
    is_next = facts.language in ("javascript", "typescript", "tsx") and scope.name in _VERBS
    is_rpc = tuple(each.name for each in scope.parameters) == ("self", "request", "context")
    if not (path or is_node or is_next or is_rpc):
        return None
    framework = "grpc" if is_rpc else "next" if is_next else ""
    return Entry("request", name, scope.name if is_next else method, path, framework, line)


def _registered(scope: Scope, facts: Facts) -> tuple[str, str]:
    """`mux.HandleFunc("/users", users)`, `Route("/", endpoint=index)`, `path("a/", views.users)`."""
    if not scope.short_name:
        return "ANY", ""
    for call in facts.calls:
        if call.method not in _DEFINES_ROUTE or not any(
            _names(each.value.text, scope.short_name) for each in call.arguments
        ):
            continue
        texts = [each.value.literal for each in call.arguments if each.value.shape == "text"]
        if not texts:
            continue
        if found := _WITH_METHOD.match(texts[0]):
            return found[1], found[2]
        path = texts[0] if texts[0].startswith("/") else f"/{texts[0].lstrip('^').rstrip('$')}"
        return _method(call), path
    return "ANY", ""


def _names(written: str, name: str) -> bool:
    return re.fullmatch(rf"(?:[\w.]+\.)?{re.escape(name)}(?:\.as_view\(\))?", written) is not None


def _method(call: Call) -> str:
    if call.method.upper() in _VERBS and call.method != "Any":
        return call.method.upper()
    methods = call.argument("methods")
    named = [] if methods is None else re.findall(r"[A-Za-z]+", methods.value.text)
    return named[0].upper() if len(named) == 1 else "ANY"


def _prefix(scope: Scope, facts: Facts, framework: str) -> str:
    """Spring, Nest and JAX-RS write the beginning of a path at the class."""
    if framework not in ("spring", "nest") or not scope.owner:
        return ""
    own = {each.span for other in facts.scopes for each in other.decorators}
    before = [
        each
        for each in facts.calls
        if each.is_decorator
        and each.method in _PREFIXES
        and each.span not in own
        and each.span.end <= scope.span.start
    ]
    given = before[-1].argument("value", "path", place=0) if before else None
    text = "" if given is None else given.value.literal.strip("/")
    return f"/{text}" if text else ""


def _streams(scope: Scope, facts: Facts) -> bool:
    if any(each.method in _SOCKETS for each in scope.decorators):
        return True
    if any(_STREAMS.search(each.name) for each in facts.within(facts.calls, scope.body)):
        return True
    return any("text/event-stream" in each.text for each in facts.within(facts.texts, scope.body))


def _takes_messages(scope: Scope, facts: Facts) -> bool:
    loops = [each for each in facts.within(facts.loops, scope.body) if facts.function_of(each) is scope]
    for loop in loops:
        if loop.kind in ("endless", "while") and any(
            _TAKES_MESSAGE.search(each.written) for each in facts.within(facts.calls, loop.span)
        ):
            return True
        if loop.kind == "each" and re.search(
            r"(^|[._])(consumer|subscription|subscriber|messages)\b", loop.over
        ):
            return True
    return False
