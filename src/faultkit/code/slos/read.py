"""From a text to what one function of it does: which function is meant, who calls it, what it waits for."""

from __future__ import annotations

from functools import lru_cache

from faultkit.code.facts import Facts, Scope, facts_of
from faultkit.code.facts.build import GRAMMARS
from faultkit.code.functions import list_functions
from faultkit.code.languages import Language
from faultkit.code.names import find_function
from faultkit.code.rules.performance.blocking_in_async import RULE as BLOCKING
from faultkit.code.rules.piece import NAMELESS, parse_piece
from faultkit.code.rules.vocabulary.often import is_done_once
from faultkit.code.slos.dependencies import dependencies_of
from faultkit.code.slos.entry import entry_of
from faultkit.code.slos.plain import work_of_words
from faultkit.code.slos.work import Entry, Work
from faultkit.code.snippet import parse_snippet
from faultkit.code.syntax import Span

_NO_INPUT = frozenset(
    (
        "self", "cls", "request", "req", "_req", "res", "response", "w", "rw", "writer", "r", "c", "ctx",
        "context", "next", "reply", "websocket", "background_tasks", "model", "args", "kwargs",
    )
)  # fmt: skip
"""Parameters that every handler has, whatever a client sends."""


def work_of(text: str, language: Language, function: str) -> Work:
    """Without a name, the function that matters most: a route, then a job, then what leaves the process."""
    if language.name not in GRAMMARS:
        snippet = parse_snippet(text, language)
        return work_of_words(snippet.syntax, function, snippet.start)
    piece = parse_piece(text, language)
    facts = facts_of(piece.syntax)
    if function:
        return _work(_named(function, facts), facts, piece.lines)
    scopes = [each for each in facts.scopes if _stands_alone(each)]
    if not scopes:
        return _work(None, facts, piece.lines)
    works = [_work(each, facts, piece.lines) for each in scopes]
    best = min(range(len(works)), key=lambda place: (_rank(scopes[place], works[place]), place))
    return works[best]


def _rank(scope: Scope, work: Work) -> int:
    ranks = {"request": 0, "stream": 0, "message": 1, "job": 2, "function": 4}
    rank = ranks[work.entry.kind]
    if work.entry.kind == "function" or work.entry.name.rpartition(".")[2] == "main":
        rank = 3 if work.dependencies else 4
    # What makes or starts things is seldom what somebody waits for.
    return rank + 2 * (is_done_once(scope) and not work.entry.is_http)


def _stands_alone(scope: Scope) -> bool:
    """Not a part of another function, and has a name or answers requests."""
    if not scope.name and scope.route is None:
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


def _work(scope: Scope | None, facts: Facts, lines: int) -> Work:
    name = "" if scope is None else _name(scope)
    line = 1 if scope is None else max(scope.line - lines, 1)
    entry = entry_of(scope, facts, name, line)
    body = Span(0, len(facts.syntax.source)) if scope is None else scope.body
    # Lines out of a function are read as if it were asynchronous, which they do not say.
    is_wrapped = scope is not None and scope.name == NAMELESS
    blocked = [] if is_wrapped else [each for each in _blocking(facts) if _overlap(each, body)]
    broken = facts.syntax.broken_lines()
    return Work(
        entry=entry,
        dependencies=dependencies_of(body, entry.kind, facts, lines),
        blocks_loop=max(facts.syntax.line(min(blocked).start) - lines, 1) if blocked else 0,
        takes_input=entry.is_http and _takes_input(entry, scope),
        broken_line=max(broken[0] - lines, 1) if broken else 0,
        others=max(sum(map(_stands_alone, facts.scopes)) - 1, 0),
    )


@lru_cache(maxsize=2)
def _blocking(facts: Facts) -> tuple[Span, ...]:
    return tuple(each.span for each in BLOCKING.check(facts))


def _name(scope: Scope) -> str:
    name = scope.name.removeprefix(f"{NAMELESS}.")
    return "" if name == NAMELESS else name


def _takes_input(entry: Entry, scope: Scope | None) -> bool:
    """A client can ask for what is not there, or send what is not right."""
    if entry.method in ("POST", "PUT", "PATCH") or any(each in entry.path for each in "{<:*"):
        return True
    if scope is None:
        return False
    return any(
        each.name not in _NO_INPUT and "Depends(" not in (each.default.text if each.default else "")
        for each in scope.parameters
    )
