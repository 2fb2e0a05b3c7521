"""Functions that run again for each request, connection or message, and the objects that outlive such a run.

export function routes(bus) {                  `bus` is bound outside of the handler, so it
  app.get("/events", (req, res) => {           outlives each run of it; `req` and `res` do not.
    bus.on("change", (e) => res.write(e));
  });
}
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.facts.facts import Placed
from faultkit.code.rules.vocabulary.connections import CLIENT_NAMES, is_client, opens_connection
from faultkit.code.rules.vocabulary.failures import is_handler
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_LEVELS = 2
"""Levels of callers that are examined."""
_EVENTS = {
    "connection": "connection", "secureConnection": "connection", "session": "connection",
    "upgrade": "connection", "stream": "connection", "request": "request", "message": "message",
}  # fmt: skip
"""Events that come again and again, and what they come for."""
_LISTENS = frozenset(("on", "addListener", "addEventListener"))
_QUEUES = ("consumer", "worker", "queue", "subscription")
_STREAMS = NamePattern(r"(^|\.)(Flux|Mono|Observable|Flowable|Multi)(<.*>)?$")
_OF_MESSAGES = frozenset(("process", "consume", "eachMessage", "eachBatch", "basicConsume", "handleMessage"))
"""Calls and options that are given what to do with each message or job."""
_OF_CONNECTIONS = NamePattern(r"^(webSocket\w*|sse|webSocketRaw|ws|websocket)$")
_JOBS = NamePattern(
    r"^(task|shared_task|actor|KafkaListener|RabbitListener|SqsListener|JmsListener|MessagePattern|EventPattern"
    r"|SubscribeMessage|Process|subscriber)$"
)
_OF_REQUEST = NamePattern(
    r"^(net/http\.(ResponseWriter|Request)|.*gin\.Context|.*echo(/v\d)?\.Context|.*fiber(/v\d)?\.Ctx|.*chi\.Context"
    r"|.*\bStreamObserver|.*\.HttpServletRequest|HttpServletRequest|.*\bServerCallContext|.*\bIServerStreamWriter"
    r"|.*\w_\w+Server|.*\bServerWebExchange|aiohttp\.web\.Request|starlette\.requests\.Request|fastapi\.Request"
    r"|.*grpc\.(Server|Bidi|Client)StreamingServer|tonic\.Request|(.*\.)?(HttpServletResponse|HttpExchange|RoutingContext"
    r"|AsyncContext|ServerHttpRequest|ServicerContext|Server(Writable|Duplex|Readable)Stream|ServerUnaryCall)|actix_web\.HttpRequest)$"
)
"""Types of parameters that there is one of for every request or call."""
_ONE_CLIENT = NamePattern(
    r"(Session|Connection|Conn|Peer|ClientHandler|Subscription|Viewer|Player|Participant)$"
)
_OF_CONSUMER = NamePattern(r"(WebsocketConsumer|WebSocketHandler|WebSocketEndpoint|WebSocketServerProtocol)$")
"""Bases of classes of which each connection has an object."""
_BEGINS_CONSUMER = frozenset(("connect", "open", "on_connect", "websocket_connect", "onOpen"))
_OF_STREAM = NamePattern(
    r"(\$|[sS]tream|[wW]atch|[cC]hanges|[eE]vents|[uU]pdates|[oO]bserve|[fF]eed|[lL]ive|[tT]icks|^[oO]f|[sS]ubscri\w+)$"
)
"""Methods that give a stream of what happens, which ends with the program."""
_OF_SERVER = lazy_regex(r"^(req|request|ctx|context|c|call)\.(app|application|server|fastify)\b")
"""Ways from a request to what serves all of them."""
_SHARED = NamePattern(r"(bus|emitter|events|hub|feed|pub_?sub|broker|registry|notifier)$", re.IGNORECASE)
"""Names of what many objects listen to."""
_LOOKS_UP = NamePattern(
    r"^(get|find|lookup|room|channel|topic|getOrCreate|get_or_create|computeIfAbsent|Get|GetOrAdd)"
)
_FOR_ALL = NamePattern(r"(^|[.:])(Arc|State|Data|Extension)(<.*>)?$")
"""Types of Rust by which many requests have the same object."""
_MAKES = frozenset(("constructor", "__init__", "init"))
_WORD = lazy_regex(r"[A-Za-z_$][\w$]*")
_OR_MADE = lazy_regex(r"([\w$.#?]+\.get\([^()]*\))\s*(?:\?\?|\|\||\?:)\s*(?:new\b|\[|\{|mutable\w+)")
"""What a collection has for a key, or something new."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """A function that runs again and again."""

    scope: Scope
    of: str
    """What each run is for: `request`, `connection`, `message` or `stream`."""
    caller: Call | None = None
    """A call in another function of this kind that leads here."""


def is_one_client(owner: str) -> bool:
    """Return whether each client has an object of a type, by its name."""
    return _ONE_CLIENT.search(owner) is not None


def repeated_around(place: Placed, facts: Facts, levels: int = _LEVELS) -> Repeated | None:
    """Return the outermost function around a place that runs again and again; None if nothing shows one."""
    around = [*facts.functions_around(place)]
    for scope in around:
        if of := _runs_for(scope, facts):
            return Repeated(scope, of)
    named = next((scope for scope in reversed(around) if scope.name), None)
    if named is None or levels == 0 or named.short_name in _MAKES:
        return None
    for caller in facts.callers_of(named):
        if facts.named_function_of(caller) is not named and (
            found := repeated_around(caller, facts, levels - 1)
        ):
            return Repeated(named, found.of, caller)
    return None


def _runs_for(scope: Scope, facts: Facts) -> str:
    if scope.route is not None or is_handler(scope):
        return "request"
    if scope.short_name in _BEGINS_CONSUMER and _is_consumer(scope, facts):
        return "connection"
    if opens_connection(scope) or any(is_client(one.type) for one in scope.parameters):
        return "connection"
    if any(one.name.lstrip("_") in CLIENT_NAMES and not one.type for one in scope.parameters[:2]):
        return "connection" if scope.short_name not in _MAKES else ""
    if any(_OF_REQUEST.match(one.type) for one in scope.parameters):
        return "request"
    if facts.language == "python" and [one.name for one in scope.parameters if one.name != "self"][:1] == [
        "request"
    ]:
        return "request"
    if any(_JOBS.match(each.method) for each in scope.decorators):
        return "message"
    if scope.is_async and not scope.decorators and facts.syntax.has_any(b"yield"):
        # An async generator runs for each consumer of its items.
        own = facts.own(facts.steps_of("yield"), scope)
        return "stream" if next(own, None) is not None else ""
    given = _given_functions(facts)
    return given.get(scope.span.start, "") or given.get(scope.name, "")


def _is_consumer(scope: Scope, facts: Facts) -> bool:
    """Return whether each connection has an object of a class, by what the class is made from."""
    return any(_OF_CONSUMER.search(base) for base in facts.classes.get(scope.owner, ()))


@lru_cache(maxsize=4)
def _given_functions(facts: Facts) -> dict[int | str, str]:
    """Return functions that are given to be called for each event, by their places or names."""
    found: dict[int | str, str] = {}
    for call, of in _takers(facts):
        for each in call.arguments:
            if each.value.shape == "function":
                found[each.value.span.start] = of
            elif each.value.shape in ("name", "call"):
                # `this.onJob`, and `this.onJob.bind(this)`.
                path = re.match(r"(?:(?:this|self)(?:\.|::))?([\w$]+)(?:\.bind\(.*)?$", each.value.text)
                for scope in facts.functions_named(path[1]) if path is not None else ():
                    found[scope.name] = of
    return found


def _takers(facts: Facts) -> Iterator[tuple[Call, str]]:
    for call in facts.calls_of_method(*_LISTENS):
        first = call.argument(place=0)
        of = "" if first is None else _EVENTS.get(first.value.literal, "")
        if of and (of != "message" or call.receiver_written in _QUEUES):
            yield call, of
    for call in facts.calls_of_method(*_OF_MESSAGES):
        yield call, "message"
    for call in facts.calls_of_method("run", "Worker", "subscribe"):
        if call.has("eachMessage", "eachBatch") or call.name in ("bullmq.Worker", "bull.Worker"):
            yield call, "message"
    for call in facts.calls_of_method("Observable", "ReadableStream"):
        if call.constructs:
            yield call, "stream"
    for call in facts.calls_of_method("create", "push"):
        if _STREAMS.search(call.receiver_written):
            yield call, "stream"
    if facts.language == "kotlin":
        yield from ((call, "connection") for call in facts.calls_with_method(_OF_CONNECTIONS.match))


def outlives(path: str, place: Placed, run: Repeated, facts: Facts, levels: int = 3) -> bool:
    """Return whether an object, by its path as written, lives longer than a run of a function."""
    path = path.replace("?.", ".").replace("!", "")
    if _OF_SERVER.match(path):
        return True
    found = _WORD.match(path)
    if found is None or levels == 0:
        return False
    head = found[0]
    if "(" in path and not _is_lookup(path):
        return False
    if head in ("self", "this"):
        return _is_long_field(path, run, facts)
    inside = _inside(place, run.scope, facts)
    if any(head == one.name for scope in inside if scope is not run.scope for one in scope.parameters):
        return False
    if any(head == one.name and _FOR_ALL.search(one.type) for one in run.scope.parameters):
        return True
    if any(head in _names(one.name) for one in run.scope.parameters):
        return _is_given_longer(head, run, facts, levels)
    for each in facts.assignments:
        if each.operator not in ("=", ":="):
            continue
        if each.scope in inside and any(head in _names(target) for target in each.targets):
            found_or_made = None if each.value is None else _OR_MADE.match(each.value.text)
            if found_or_made is not None:
                # `rooms.get(id) ?? new Set()`
                return outlives(found_or_made[1], each, run, facts, levels - 1)
            if each.value is None or each.value.shape not in ("name", "call"):
                return False
            text = facts.text(each.value.span).removeprefix("await ").strip()
            if each.value.shape == "call":
                text = (
                    ""
                    if each.call is None or not _is_looked_up(each.call, facts)
                    else each.call.receiver_written
                )
            return bool(text) and outlives(text, each, run, facts, levels - 1)
    return True


def gives_endless(path: str, place: Placed, run: Repeated, facts: Facts) -> bool:
    """Return whether a path is a stream of what lives longer than a run: `this.quotes.stream$(pair)`."""
    found = re.match(r"([\w$.#?!]+)\.([\w$]+)\([^()]*\)$", path)
    if found is None or not _OF_STREAM.search(found[2]):
        return False
    return outlives(found[1], place, run, facts)


def _is_long_field(path: str, run: Repeated, facts: Facts) -> bool:
    """Return whether a field of the object itself holds what lives longer than a run."""
    owner = run.scope.owner.rpartition(".")[2]
    field = ".".join(path.split(".")[:2])
    if _is_consumer(run.scope, facts):
        own = field.partition(".")[2]
        return any(own in each.targets and each.scope is None and each.owner for each in facts.assignments)
    bare = field.rpartition(".")[2].lstrip("_#")
    if run.scope.short_name in (*_MAKES, owner) or _ONE_CLIENT.search(owner):
        # An object for one client: what it was given to share lives longer.
        makers = [
            each
            for each in facts.scopes
            if each.owner == run.scope.owner and each.short_name in (*_MAKES, owner)
        ]
        given = {one.name.lstrip("_") for each in makers for one in each.parameters}
        return bare in given and _SHARED.search(bare) is not None
    return not any(field in each.targets and each.scope is run.scope for each in facts.assignments)


def _is_looked_up(call: Call, facts: Facts) -> bool:
    """Return whether a call finds an object that others use, too: `rooms.get(id)`, no request."""
    if call.is_awaited or not _LOOKS_UP.match(call.method):
        return False
    source = facts.imports.names.get(call.receiver_written.partition(".")[0], ".")
    return source.startswith((".", "@/", "~/")) or source == "logging"


def _is_lookup(path: str) -> bool:
    last = path.rpartition("(")[0].rpartition(".")[2]
    return _LOOKS_UP.match(last) is not None


def _names(target: str) -> list[str]:
    """Return the names in a target, of which `{ bus, log: logger }` has several."""
    return [target] if target.isidentifier() else [] if "." in target else _WORD.findall(target)


def _inside(place: Placed, scope: Scope, facts: Facts) -> list[Scope]:
    """Return the functions around a place from a function inwards."""
    around = [*facts.functions_around(place)]
    return around[around.index(scope) :] if scope in around else around


def _is_given_longer(head: str, run: Repeated, facts: Facts, levels: int) -> bool:
    """Return whether the function that leads here hands on what outlives it."""
    if run.caller is None:
        return _SHARED.search(head) is not None
    above = repeated_around(run.caller, facts)
    own = [one.name for one in run.scope.parameters if one.name not in ("self", "cls")]
    if above is None or head not in own:
        return False
    given = run.caller.argument(head, place=own.index(head))
    return (
        given is not None
        and given.value.shape == "name"
        and outlives(given.value.text.replace("this.", "self."), run.caller, above, facts, levels - 1)
    )
