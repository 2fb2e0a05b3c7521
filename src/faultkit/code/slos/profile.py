"""The profile of a function: how it is called, and what it waits for. Pure.

A function is called by clients over HTTP, a queue, a schedule, or other code.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from faultkit.code.facts import Call, Facts, Scope, facts_of, is_within
from faultkit.code.facts.build import GRAMMARS
from faultkit.code.functions import Function, find_function, list_functions
from faultkit.code.languages import Language
from faultkit.code.languages.syntax import NAMELESS, Span, Syntax, parse_fragment, parse_snippet
from faultkit.code.rules.performance.blocking_in_async import RULE as BLOCKING
from faultkit.code.rules.vocabulary.repetition import runs_once
from faultkit.code.slos.costs import Dependency, EntryPoint, FunctionProfile, WorkKind
from faultkit.code.slos.dependencies import dependencies_of
from faultkit.code.slos.exporters import imported_exporter

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
_HANDLERS = re.compile(r"\bhttp\.Handler(Func)?\b")
_PREFIXES = frozenset(("RequestMapping", "Controller", "Path"))
_DEFINES_ROUTE = frozenset(
    (*_METHODS, *_VERBS, "route", "Route", "path", "re_path", "url", "add_route", "add_api_route",
     "add_url_rule", "add_api_websocket_route", "HandleFunc", "Handle", "Any", "all", "use", "addRoute")
)  # fmt: skip


def entry_of(scope: Scope | None, facts: Facts, name: str, line: int) -> EntryPoint:
    """Return the entry. `name` is the function's name for people; `scope` is None for a text without
    functions."""
    if scope is None:
        return EntryPoint("function", name, line=line)
    entry = _by_route(_made_handlers(facts).get(scope, scope), scope, facts, name, line)
    if entry is not None:
        return replace(entry, kind="stream") if _streams(scope, facts) else entry
    marks = {each.method for each in scope.decorators}
    if marks & _MESSAGE_MARKS or _takes_messages(scope, facts):
        return EntryPoint("message", name, line=line)
    if _MESSAGE_NAMES.match(scope.short_name):
        return EntryPoint("message", name, line=line, by_name=True)
    if marks & _JOB_MARKS:
        return EntryPoint("job", name, line=line)
    if JOB_NAMES.search(scope.short_name):
        return EntryPoint("job", name, line=line, by_name=True)
    return EntryPoint("function", name, line=line)


def _by_route(handler: Scope, scope: Scope, facts: Facts, name: str, line: int) -> EntryPoint | None:
    route = handler.route
    method, path = (
        _registered(scope, facts) if route is None or not route.path else (route.method, route.path)
    )
    if route is not None:
        method = route.method if route.method != "ANY" else method
        path = _prefix(scope, facts, route.framework) + path
        return EntryPoint("request", name, method, path, route.framework, line)
    names = tuple(each.name.lstrip("_") for each in scope.parameters[:2])
    is_node = names in (("req", "res"), ("request", "response"))
    is_next = facts.language in ("javascript", "typescript", "tsx") and scope.name in _VERBS
    is_rpc = tuple(each.name for each in scope.parameters) == ("self", "request", "context")
    if not (path or is_node or is_next or is_rpc):
        return None
    framework = "grpc" if is_rpc else "next" if is_next else ""
    return EntryPoint("request", name, scope.name if is_next else method, path, framework, line)


@lru_cache(maxsize=2)
def _made_handlers(facts: Facts) -> dict[Scope, Scope]:
    """Return the handlers of requests that functions make, by function: `func users(db) http.HandlerFunc`.

    Not one that a function registers itself, and not one around another handler."""
    inner: dict[Scope, list[Scope]] = {}
    for each in facts.scopes:
        if each.outer is not None and each.route is not None:
            inner.setdefault(each.outer, []).append(each)
    return {
        outer: made[0]
        for outer, made in inner.items()
        if len(made) == 1
        and outer.name
        and outer.route is None
        and not _is_middleware(outer)
        and not made[0].name
        and not (made[0].route and made[0].route.path)
        and not _registrations_around(made[0], facts)
    }


def _is_middleware(scope: Scope) -> bool:
    """Return whether a function takes a handler of Go, to make another one around it."""
    return any(_HANDLERS.search(each.type) for each in scope.parameters)


def _registrations_around(scope: Scope, facts: Facts) -> list[Call]:
    return [
        each
        for each in facts.calls
        if each.method in _DEFINES_ROUTE and is_within(scope.span, each.span) and not each.is_decorator
    ]


def _registered(scope: Scope, facts: Facts) -> tuple[str, str]:
    """Find `mux.HandleFunc("/users", users)`, `Route("/", endpoint=index)`, `path("a/", views.users)`."""
    if not scope.short_name:
        around = _registrations_around(scope, facts)
        calls = [min(around, key=lambda each: each.span.end - each.span.start)] if around else []
    else:
        calls = [
            each
            for each in facts.calls
            if each.method in _DEFINES_ROUTE
            and any(_names(given.value.text, scope.short_name) for given in each.arguments)
        ]
    for call in calls:
        texts = [each.value.literal for each in call.arguments if each.value.shape == "text"]
        if not texts:
            continue
        if found := _WITH_METHOD.match(texts[0]):
            return found[1], found[2]
        path = texts[0] if texts[0].startswith("/") else f"/{texts[0].lstrip('^').rstrip('$')}"
        return _method(call), path
    return "ANY", ""


def _names(written: str, name: str) -> bool:
    """Return whether an argument is a function, what it makes (`users(db)`), or what is around it."""
    called = rf"(?:[\w.]+\()*(?:[\w.]+\.)?{re.escape(name)}(?:\.as_view)?(?:\([^()]*\))?\)*"
    return re.fullmatch(called, written) is not None


def _method(call: Call) -> str:
    if call.method.upper() in _VERBS and call.method != "Any":
        return call.method.upper()
    methods = call.argument("methods")
    named = [] if methods is None else re.findall(r"[A-Za-z]+", methods.value.text)
    return named[0].upper() if len(named) == 1 else "ANY"


def _prefix(scope: Scope, facts: Facts, framework: str) -> str:
    """Return the start of a path, which Spring, Nest and JAX-RS write at the class, others at the router."""
    if framework not in ("spring", "nest"):
        return _prefix_of_router(scope)
    if not scope.owner:
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


def _prefix_of_router(scope: Scope) -> str:
    """Return the prefix of `APIRouter(prefix="/api")` and `Blueprint(…, url_prefix="/api")`."""
    for each in scope.decorators:
        given = None if each.origin is None else each.origin.argument("prefix", "url_prefix")
        if given is not None and given.value.shape == "text":
            return given.value.literal.rstrip("/")
    return ""


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


# The function of a text that is profiled.


def profile_of(text: str, language: Language, function: str) -> FunctionProfile:
    """Return the profile of a function; without a name, of the most important one.

    A route comes before a job, a job before other functions that leave the process.
    """
    if language.name not in GRAMMARS:
        snippet = parse_snippet(text, language)
        return profile_by_words(snippet.syntax, function, snippet.start)
    fragment = parse_fragment(text, language)
    facts = facts_of(fragment.syntax)
    if function:
        return _profile(_named(function, facts), facts, fragment.lines)
    scopes = [each for each in facts.scopes if _stands_alone(each, facts)]
    if not scopes:
        return _profile(None, facts, fragment.lines)
    profiles = [_profile(each, facts, fragment.lines) for each in scopes]
    best = min(range(len(profiles)), key=lambda place: (_rank(scopes[place], profiles[place]), place))
    return profiles[best]


def profiles_of(text: str, language: Language) -> tuple[FunctionProfile, ...]:
    """Return the profiles of all functions that are no parts of others, in the order of the text."""
    if language.name not in GRAMMARS:
        snippet = parse_snippet(text, language)
        return tuple(_by_words(snippet.syntax, each) for each in list_functions(snippet.syntax))
    fragment = parse_fragment(text, language)
    facts = facts_of(fragment.syntax)
    found = [_profile(each, facts, fragment.lines) for each in facts.scopes if _stands_alone(each, facts)]
    return tuple(sorted(found, key=lambda each: each.entry.line))


def _rank(scope: Scope, profile: FunctionProfile) -> int:
    ranks = {"request": 0, "stream": 0, "message": 1, "job": 2, "function": 4}
    rank = ranks[profile.entry.kind]
    if profile.entry.kind == "function" or profile.entry.name.rpartition(".")[2] == "main":
        rank = 3 if profile.dependencies else 4
    # A function that makes or starts something is seldom the one that callers wait for.
    return rank + 2 * (runs_once(scope) and not profile.entry.is_http)


def _stands_alone(scope: Scope, facts: Facts) -> bool:
    """Return whether it is no part of another function, and has a name or answers requests."""
    if not scope.name and scope.route is None:
        return False
    if scope.outer is not None and _made_handlers(facts).get(scope.outer) is scope:
        return False
    if scope.outer is not None and not scope.name and _is_middleware(scope.outer):
        return False
    return scope.outer is None or scope.route is not None


def _named(function: str, facts: Facts) -> Scope | None:
    found = find_function(list_functions(facts.syntax), function)
    inside = [each for each in facts.scopes if _overlap(each.body, found.full)]
    return max(
        inside,
        key=lambda each: (
            each.name == found.qualified_name,
            _overlap(each.body, found.body),
            -each.span.start,
        ),
        default=None,
    )


def _overlap(one: Span, other: Span) -> int:
    return max(min(one.end, other.end) - max(one.start, other.start), 0)


def _profile(scope: Scope | None, facts: Facts, lines: int) -> FunctionProfile:
    name = "" if scope is None else _name(scope)
    line = 1 if scope is None else max(scope.line - lines, 1)
    entry = entry_of(scope, facts, name, line)
    body = (
        Span(0, len(facts.syntax.source))
        if scope is None
        else _made_handlers(facts).get(scope, scope).body  # What makes it runs once.
    )
    # Lines out of a function are parsed inside an async function, though the code does not show that it is.
    is_wrapped = scope is not None and scope.name == NAMELESS
    blocked = [] if is_wrapped else [each for each in _blocking(facts) if _overlap(each, body)]
    broken = facts.syntax.broken_lines()
    return FunctionProfile(
        entry=entry,
        dependencies=dependencies_of(body, entry.kind, facts, lines),
        blocks_loop=max(facts.syntax.line(min(blocked).start) - lines, 1) if blocked else 0,
        exporter=imported_exporter(facts.imports_any),
        broken_line=max(broken[0] - lines, 1) if broken else 0,
        others=max(sum(_stands_alone(each, facts) for each in facts.scopes) - 1, 0),
    )


@lru_cache(maxsize=2)
def _blocking(facts: Facts) -> tuple[Span, ...]:
    return tuple(each.span for each in BLOCKING.check(facts))


def _name(scope: Scope) -> str:
    name = scope.name.removeprefix(f"{NAMELESS}.")
    return "" if name == NAMELESS else name


# Languages without facts: routes are found by attributes, calls by words. The explanation states this.


_ROUTE = re.compile(
    r"(?:Http)?(get|post|put|patch|delete|route)(?:Mapping)?\s*\(\s*(?:path\s*=\s*|value\s*=\s*)?[\"'](/?[^\"']*)",
    re.IGNORECASE,
)
_BARE_ROUTE = re.compile(r"\[Http(Get|Post|Put|Patch|Delete)\]|@(Get|Post|Put|Patch|Delete)Mapping\b")
_JOB = re.compile(r"@?(Scheduled|Cron|KafkaListener|RabbitListener)\b")
_TYPE_NAME = re.compile(r"::[A-Z]\w*(?![\w.]|::|\s*[({!])")
"""Follows the name of a library where only a type of it is named: `reqwest::Error`."""
_COMMENT = re.compile(r"^\s*(//|#(?!\[)|/?\*|--).*$")
_WORDS: tuple[tuple[WorkKind, re.Pattern[str]], ...] = (
    (
        "request",
        re.compile(
            r"\b(reqwest|hyper|ureq|HttpClient|WebClient|Net::HTTP|Faraday|HTTParty|RestClient|curl_exec|Guzzle"
            r"|URLSession|Alamofire|OkHttp\w*|okhttp\w*|ktor|sttp|RestTemplate|curl_easy_perform|file_get_contents)\b"
            r"|\b(curl|wget)\s+-?[\w\"']|\bHttp::(get|post|put|patch|delete)\b|\.(GetAsync|PostAsync|SendAsync|GetStringAsync)\b"
        ),
    ),
    (
        "query",
        re.compile(
            r"\b(sqlx|diesel|ActiveRecord|DbContext|PDO|mysqli|JdbcTemplate|Exposed|slick|doobie|sqlite3_\w+|PQexec)\b"
            r"|[\"'`]\s*(SELECT|INSERT|UPDATE|DELETE)\s|\b(psql|mysql)\s+-"
            r"|\.(find_by|where|SaveChangesAsync|FindAsync|ToListAsync|fetch_one|fetch_all)\b"
        ),
    ),
    ("cache", re.compile(r"\b(redis|Redis|memcached?|Memcached?)\b")),
    (
        "program",
        re.compile(r"\b(Command::new|Process\.Start|shell_exec|proc_open|Open3|posix_spawn|popen)\b"),
    ),
    (
        "file",
        re.compile(
            r"\b(File::open|std::fs|fopen|ifstream|ofstream|File\.(read|open|write)\w*|FileManager)\b"
        ),
    ),
)


def profile_by_words(syntax: Syntax, function: str, shift: int) -> FunctionProfile:
    """Return the profile of a function in a language without facts."""
    functions = list_functions(syntax)
    chosen = find_function(functions, function) if function else _main_function(functions)
    return _by_words(syntax, chosen, shift, max(len(functions) - 1, 0))


def _by_words(syntax: Syntax, chosen: Function | None, shift: int = 0, others: int = 0) -> FunctionProfile:
    # The signature is left out: a type of a library in it is no call.
    span = chosen.body if chosen is not None else Span(shift, len(syntax.source))
    found = list[Dependency]()
    first = syntax.line(span.start)
    for line in range(first, syntax.line(max(span.start, span.end - 1)) + 1):
        text = syntax.line_text(line)
        if line == first:
            text = syntax.source[span.start : span.end].decode("utf-8", "replace").partition("\n")[0]
        kind = None if _COMMENT.match(text) else _kind(text)
        if kind is not None:
            word = kind[1].strip(" .\"'`").split(" ")[0]
            found.append(Dependency(kind[0], word, line))
    return FunctionProfile(
        entry=EntryPoint("function", "") if chosen is None else _entry(chosen),
        dependencies=tuple(found),
        others=others,
        language_by_words=syntax.language.title,
    )


def _main_function(functions: tuple[Function, ...]) -> Function | None:
    routes = [each for each in functions if _entry(each).is_http]
    return next(iter((*routes, *functions)), None)


def _entry(function: Function) -> EntryPoint:
    name, line = function.qualified_name.removeprefix("_."), function.line
    marks = " ".join(function.decorators)
    if found := _ROUTE.search(marks):
        method = "ANY" if found[1].lower() == "route" else found[1].upper()
        return EntryPoint("request", name, method, f"/{found[2].lstrip('/')}", line=line)
    if found := _BARE_ROUTE.search(marks):
        return EntryPoint("request", name, (found[1] or found[2]).upper(), line=line)
    if found := _JOB.search(marks):
        return EntryPoint("message" if "Listener" in found[1] else "job", name, line=line)
    is_job = JOB_NAMES.search(function.name) is not None
    return EntryPoint("job" if is_job else "function", name, line=line, by_name=is_job)


def _kind(line: str) -> tuple[WorkKind, str] | None:
    for kind, words in _WORDS:
        for found in words.finditer(line):
            if not _TYPE_NAME.match(line, found.end()):
                return kind, found[0]
    return None
