"""Makes facts from a syntax tree. Pure.

    collect    one walk over the tree: scopes, calls, bindings, still as nodes
    resolve    names of calls and accesses, independent of local spelling
    routes     the routes of functions that answer requests
    build      this module: values, with the handlers of errors

What differs by language is in the `Grammar` of each.
"""

from __future__ import annotations

from faultkit.code.facts.arms import all_arms
from faultkit.code.facts.collect import collect
from faultkit.code.facts.collected import CollectedNodes, span
from faultkit.code.facts.csharp import CSHARP
from faultkit.code.facts.expressions import text_fact
from faultkit.code.facts.fact_values import Call, Handler, Imports, Try
from faultkit.code.facts.facts import Facts, is_within
from faultkit.code.facts.go import GO
from faultkit.code.facts.grammar import CatchParts, Grammar
from faultkit.code.facts.java import JAVA
from faultkit.code.facts.javascript import JAVASCRIPT
from faultkit.code.facts.kotlin import KOTLIN
from faultkit.code.facts.made_later import MadeLater
from faultkit.code.facts.project import NO_PROJECT, Project
from faultkit.code.facts.python import PYTHON
from faultkit.code.facts.resolve import Resolver
from faultkit.code.facts.routes import with_routes
from faultkit.code.facts.rust import RUST
from faultkit.code.languages.dialect import text_of
from faultkit.code.languages.syntax import Node, Span, Syntax

GRAMMARS: dict[str, Grammar] = {
    "python": PYTHON,
    "javascript": JAVASCRIPT,
    "typescript": JAVASCRIPT,
    "tsx": JAVASCRIPT,
    "go": GO,
    "java": JAVA,
    "rust": RUST,
    "csharp": CSHARP,
    "kotlin": KOTLIN,
}
"""Grammars of the languages that have facts."""


def facts_of(syntax: Syntax, project: Project = NO_PROJECT) -> Facts:
    """Return the facts of any text, broken or not. Raises KeyError if the language is not in GRAMMARS."""
    grammar = GRAMMARS[syntax.language.name]
    found: CollectedNodes = collect(syntax, grammar)
    grammar = found.grammar
    resolver = Resolver(found)
    calls = resolver.calls()
    scopes = with_routes(found, resolver)
    return Facts(
        syntax=syntax,
        imports=Imports(found.imports, frozenset(found.modules)),
        scopes=tuple(sorted(scopes, key=lambda scope: (scope.span.start, -scope.span.end))),
        calls=calls,
        loops=tuple(sorted(found.loops, key=lambda loop: (loop.span.start, -loop.span.end))),
        assignments=resolver.assignments(),
        accesses=MadeLater(found.accesses, resolver.access),
        texts=MadeLater(found.texts, lambda raw: text_fact(grammar, raw[0])),
        steps=tuple(found.steps),
        classes={name: tuple(map(resolver.imported_name, bases)) for name, bases in found.classes.items()},
        managed=resolver.managed(),
        make_arms=lambda: all_arms(found.forks, grammar),
        make_tries=lambda facts: tries_of(found, facts, resolver),
        forget=resolver.forget,
        project=project,
    )


# Tries, and what their handlers do with an error: nothing, log it, or pass it on.


_LOG_WORDS = (
    "debug", "info", "warning", "warn", "error", "exception", "critical", "log", "trace", "fatal", "print",
    "information", "writeline", "eprintln", "printStackTrace", "severe",
)  # fmt: skip
_LOG_ENDINGS = ("", "f", "w", "ln", "context", "ctx", "fmt")
_LOG_METHODS = frozenset(word + ending for word in _LOG_WORDS for ending in _LOG_ENDINGS)
"""Also `errorf`, `Errorw` and `ErrorContext`."""
_LOG_EVENTS = frozenset(("msg", "msgf", "send"))
"""What ends an event of zerolog: `log.Error().Err(err).Msg("…")`."""
_LOG_OWNERS = (
    "log",
    "logger",
    "logging",
    "console",
    "slog",
    "zap",
    "warnings",
    "system.out",
    "system.err",
    "console.error",
    "console.out",
    "e",
    "err",
)


def tries_of(found: CollectedNodes, facts: Facts, resolver: Resolver) -> tuple[Try, ...]:
    """Return the tries of a text with their handlers."""
    tries = []
    for node, parts in found.tries:
        handlers = tuple(_handler(each, facts, found.grammar, resolver) for each in parts.handlers)
        final = None if parts.finally_ is None else span(parts.finally_)
        tries.append(Try(span(node), span(parts.body), facts.syntax.line(node.start_byte), handlers, final))
    return tuple(tries)


def _handler(parts: CatchParts, facts: Facts, grammar: Grammar, resolver: Resolver) -> Handler:
    types = tuple(resolver.imported_name(text_of(each)) for each in parts.types)
    name = text_of(parts.name)
    body = span(parts.body)
    statements = [child for child in parts.body.named_children if not child.is_extra]
    # In Go a plain `return` returns the named results, the error among them.
    bare_return = facts.language != "go"
    work = [each for each in statements if not _does_nothing(each, grammar, bare_return)]
    calls = list(facts.within(facts.calls, body))
    steps = list(facts.within(facts.steps, body))
    forwards = any(call.method in grammar.forwards_error for call in calls)
    rejects = any(call.name.startswith("Promise.reject") for call in calls)
    return Handler(
        types=types,
        name=name,
        span=span(parts.node),
        body=body,
        line=facts.syntax.line(parts.node.start_byte),
        is_broad=not types or any(each in grammar.broad for each in types),
        is_empty=not work,
        only_logs=bool(work) and all(_is_log(each, grammar, calls) for each in work),
        raises=any(step.kind == "raise" for step in steps)
        or forwards
        or rejects
        or (
            facts.language == "go"
            and any(step.kind == "return" and _returns_error(step.text) for step in steps)
        ),
        uses_error=bool(name) and _uses(facts, name, body),
        exits=any(step.kind in ("return", "break", "raise") for step in steps),
    )


def _returns_error(returned: str) -> bool:
    """Return whether the last returned value is the error (Go)."""
    last = returned.rpartition(",")[2].strip()
    return bool(last) and last not in ("nil", "true", "false")


def _does_nothing(node: Node, grammar: Grammar, bare_return: bool) -> bool:
    if node.type in grammar.empty:
        return True
    if grammar.step_words.get(text_of(node)) == "continue":
        return True
    if node.type in grammar.statements:
        inner = node.named_children
        return not inner or (len(inner) == 1 and inner[0].type in ("ellipsis", "string"))
    return bare_return and grammar.steps.get(node.type) == "return" and not node.named_children


def _is_log(node: Node, grammar: Grammar, calls: list[Call]) -> bool:
    if node.type not in grammar.statements and node.type not in grammar.calls:
        return False
    place = span(node)
    inside = [call for call in calls if is_within(call.span, place)]
    return bool(inside) and is_logging(inside[0])


def is_logging(call: Call) -> bool:
    """Return whether a call only logs or prints."""
    owner = call.written.rpartition(".")[0].lower()
    if call.name.startswith(("tracing.", "log.", "timber.log.Timber.")) and call.method in _LOG_METHODS:
        return True
    # C# has capitals: `_log.LogError`, `Console.WriteLine`.
    word = call.method.lower()
    if call.method not in _LOG_METHODS and word.removeprefix("log") not in _LOG_METHODS:
        return word in _LOG_EVENTS and _is_log_chain(owner)
    if not owner:
        return call.method in ("print", "println", "eprintln")
    return _is_log_owner(owner) or _is_log_chain(owner)


def _is_log_chain(owner: str) -> bool:
    """Return whether an object was made by a logger: `log.WithError(err).Error("…")`."""
    return ")" in owner and _is_log_owner(owner.partition("(")[0].rpartition(".")[0])


def _is_log_owner(owner: str) -> bool:
    return (
        owner.rpartition(".")[2] in _LOG_OWNERS or owner in _LOG_OWNERS or owner.endswith(("logger", "log"))
    )


def _uses(facts: Facts, name: str, body: Span) -> bool:
    if facts.syntax.source.find(name.encode(), *body) < 0:
        return False
    # Reads are made when they are asked for, which takes long.
    return any(
        each.written.partition(".")[0].partition("(")[0] == name for each in facts.within(facts.calls, body)
    ) or any(each.written.partition(".")[0] == name for each in facts.within(facts.accesses, body))
