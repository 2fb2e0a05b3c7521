"""The profile of a function: how it is called, and what it waits for. Pure.

A function is called by clients over HTTP, a queue, a schedule, or other code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from faultkit.code.facts import Facts, Scope, facts_of
from faultkit.code.facts.build import GRAMMARS
from faultkit.code.functions import Function, find_function, list_functions
from faultkit.code.languages import Language
from faultkit.code.languages.syntax import NAMELESS, Span, Syntax, parse_fragment, parse_snippet
from faultkit.code.rules.performance.blocking_in_async import RULE as BLOCKING
from faultkit.code.rules.vocabulary.repetition import runs_once
from faultkit.code.slos.costs import Dependency, EntryPoint, FunctionProfile, WorkKind
from faultkit.code.slos.dependencies import dependencies_of
from faultkit.code.slos.exporters import imported_exporter
from faultkit.code.slos.routes import (
    VERBS,
    is_middleware,
    made_handlers,
    registered_routes,
    routes_of,
    unread_registrations,
    wrapped_handlers,
)

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


def entries_of(scope: Scope | None, facts: Facts, name: str, line: int) -> tuple[EntryPoint, ...]:
    """Return how a function is called: one entry, or one for each of its routes.

    `name` is the function's name for people; `scope` is None for a text without functions."""
    if scope is None:
        return (EntryPoint("function", name, line=line),)
    if routed := tuple(_by_route(scope, facts, name, line)):
        is_stream = _streams(scope, facts)
        return tuple(replace(each, kind="stream") for each in routed) if is_stream else routed
    return (_without_route(scope, facts, name, line),)


def _without_route(scope: Scope, facts: Facts, name: str, line: int) -> EntryPoint:
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


def _by_route(scope: Scope, facts: Facts, name: str, line: int) -> Iterator[EntryPoint]:
    """Yield an entry for each route of a handler."""
    routes = routes_of(scope, facts)
    for each in routes:
        yield EntryPoint(
            "request", name, each.method, each.path, each.framework, line, unmounted=each.unmounted
        )
    names = tuple(each.name.lstrip("_") for each in scope.parameters[:2])
    is_node = names in (("req", "res"), ("request", "response"))
    is_next = facts.language in ("javascript", "typescript", "tsx") and scope.name in VERBS
    is_rpc = tuple(each.name for each in scope.parameters) == ("self", "request", "context")
    if not routes and not registered_routes(scope, facts) and (is_node or is_next or is_rpc):
        framework = "grpc" if is_rpc else "next" if is_next else ""
        yield EntryPoint("request", name, scope.name if is_next else "ANY", "", framework, line)


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
    facts, lines = _facts(text, language)
    if function:
        return _profiles(_named(function, facts), facts, lines)[0]
    scopes = [each for each in facts.scopes if _stands_alone(each, facts)]
    if not scopes:
        return _profiles(None, facts, lines)[0]
    profiles = [_profiles(each, facts, lines)[0] for each in scopes]
    best = min(range(len(profiles)), key=lambda place: (_rank(scopes[place], profiles[place]), place))
    return profiles[best]


def profiles_of(text: str, language: Language) -> tuple[FunctionProfile, ...]:
    """Return the profiles of all functions that are no parts of others, in the order of the text.

    A function with several routes has one for each."""
    if language.name not in GRAMMARS:
        snippet = parse_snippet(text, language)
        return tuple(_by_words(snippet.syntax, each) for each in list_functions(snippet.syntax))
    facts, lines = _facts(text, language)
    alone = [each for each in facts.scopes if _stands_alone(each, facts)]
    found = [profile for each in alone for profile in _profiles(each, facts, lines)]
    return tuple(sorted(found, key=lambda each: each.entry.line))


def unread_routes(text: str, language: Language) -> tuple[EntryPoint, ...]:
    """Return the registrations whose path is not a literal, or whose handler is not in this text."""
    if language.name not in GRAMMARS:
        return ()
    facts, lines = _facts(text, language)
    return tuple(
        EntryPoint("request", each.written, line=max(each.line - lines, 1))
        for each in unread_registrations(facts)
    )


@lru_cache(maxsize=1)
def _facts(text: str, language: Language) -> tuple[Facts, int]:
    """Return the facts of a text, and the lines that were put before it."""
    fragment = parse_fragment(text, language)
    return facts_of(fragment.syntax), fragment.lines


def _rank(scope: Scope, profile: FunctionProfile) -> int:
    ranks = {"request": 0, "stream": 0, "message": 1, "job": 2, "function": 4}
    rank = ranks[profile.entry.kind]
    if profile.entry.kind == "function" or profile.entry.name.rpartition(".")[2] == "main":
        rank = 3 if profile.dependencies else 4
    # A function that makes or starts something is seldom the one that callers wait for.
    return rank + 2 * (runs_once(scope) and not profile.entry.is_http)


def _stands_alone(scope: Scope, facts: Facts) -> bool:
    """Return whether it is no part of another function, and has a name or answers requests."""
    if scope in wrapped_handlers(facts):
        return True
    if not scope.name and scope.route is None:
        return False
    if scope.outer is not None and made_handlers(facts).get(scope.outer) is scope:
        return False
    if scope.outer is not None and not scope.name and is_middleware(scope.outer):
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


def _profiles(scope: Scope | None, facts: Facts, lines: int) -> tuple[FunctionProfile, ...]:
    """Return the profile of a function for each of its entries, the first one first."""
    name = "" if scope is None else _name(scope)
    line = 1 if scope is None else max(scope.line - lines, 1)
    entries = entries_of(scope, facts, name, line)
    body = (
        Span(0, len(facts.syntax.source))
        if scope is None
        else made_handlers(facts).get(scope, scope).body  # What makes it runs once.
    )
    # Lines out of a function are parsed inside an async function, though the code does not show that it is.
    is_wrapped = scope is not None and scope.name == NAMELESS
    blocked = [] if is_wrapped else [each for each in _blocking(facts) if _overlap(each, body)]
    broken = facts.syntax.broken_lines()
    first = FunctionProfile(
        entry=entries[0],
        dependencies=dependencies_of(body, entries[0].kind, facts, lines),
        blocks_loop=max(facts.syntax.line(min(blocked).start) - lines, 1) if blocked else 0,
        exporter=imported_exporter(facts.imports_any),
        broken_line=max(broken[0] - lines, 1) if broken else 0,
        others=max(sum(_stands_alone(each, facts) for each in facts.scopes) - 1, 0),
    )
    return (first, *(replace(first, entry=each) for each in entries[1:]))


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
