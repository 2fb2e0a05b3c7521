"""Finds consumers that only log a failure, after which the queue counts the message as done."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Facts, Scope, Try
from faultkit.code.facts.build import is_logging
from faultkit.code.rules.rule import JAVA, JAVASCRIPT, LIKELY, PYTHON, Hit, Rule

_LISTENERS = frozenset({"KafkaListener", "RabbitListener", "SqsListener", "JmsListener"})
_RECORDS = re.compile(r"""\[["']Records["']\]|\.get\(["']Records["']""")
_COMMENT = re.compile(r"(?:#|//|/\*)\W*\w")
_PARSES = frozenset({"loads", "parse", "toString", "decode", "readValue", "get", "String", "value"})


def _check(facts: Facts) -> Iterator[Hit]:
    for scope, returns_to in _consumers(facts):
        for each in facts.own(facts.tries, scope):
            if not _works(each, facts):
                continue
            for handler in each.handlers:
                if handler.is_broad and handler.only_logs and not _COMMENT.search(facts.text(handler.span)):
                    what = f"the failure is only logged, so {returns_to} counts the message as done"
                    yield Hit(handler.head, what, LIKELY)


def _consumers(facts: Facts) -> Iterator[tuple[Scope, str]]:
    """Yield functions that are called for each message and fail it by raising, with who calls them."""
    if facts.language in JAVASCRIPT:
        for call in facts.calls_of_method("run"):
            given = call.argument("eachMessage", "eachBatch")
            for scope in facts.scopes if given is not None else ():
                by_name = scope.name and given is not None and _names(given.value.text, scope)
                if given is not None and (scope.span == given.value.span or by_name):
                    yield scope, "the consumer"
    elif facts.language == "java":
        for scope in facts.scopes:
            if any(each.method in _LISTENERS for each in scope.decorators):
                yield scope, "the listener"
    elif b"batchItemFailures" not in facts.syntax.source:
        for scope in facts.scopes:
            if [each.name for each in scope.parameters] == ["event", "context"] and any(
                _RECORDS.search(loop.over) for loop in facts.own(facts.loops, scope)
            ):
                yield scope, "the event source"


def _names(given: str, scope: Scope) -> bool:
    """Return whether an argument is a function of this text, or passes its message on to it."""
    word = rf"(await )?(this\.)?{re.escape(scope.short_name)}(\.bind\(this\)|\(.*\))?"
    return re.fullmatch(rf"((async\s*)?\(?[\w{{}}, ]*\)?\s*=>\s*)?{word}", given, re.DOTALL) is not None


def _works(each: Try, facts: Facts) -> bool:
    """Return whether more is tried than to parse the message: one that cannot be read never can."""
    return any(
        call.method not in _PARSES and not call.constructs and not is_logging(call)
        for call in facts.within(facts.calls, each.body)
    )


RULE = Rule(
    id="FK-R076",
    slug="failed-message-dropped",
    title="Failed message counted as done",
    why="The function returns as if all went well: the offset moves on or the message is deleted, and the "
    "work is lost.",
    fix="Let the error go up so that the message comes again, or send it to a dead-letter queue first.",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *JAVASCRIPT, *JAVA),
    check=_check,
)
