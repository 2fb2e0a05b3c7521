"""Finds liveness probes that ask a database or another service."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, Text
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.remote_calls import remote_calls

_PATH = lazy_regex(r"/(?:[\w-]+/)*(?:live|livez|liveness|alive)/?", re.IGNORECASE)
_ASKS = lazy_regex(
    r"^(ping|Ping|PingContext|PingAsync|pingDatabase|ping_database|isValid|CanConnectAsync|CanConnect)$"
    r"|^_?(check|test|probe)_?(db|database|redis|cache|dependenc|broker|kafka|upstream)\w*$",
    re.IGNORECASE,
)
"""Methods that ask whether something else works."""
_CHECKS = lazy_regex(
    r"\.(AddNpgSql|AddSqlServer|AddMySql|AddRedis|AddDbContextCheck|AddRabbitMQ|AddKafka|AddUrlGroup)\b"
)
_BEHIND = 600
"""Bytes behind a path in a `case` or a condition that are its answer, at most."""
_LEVELS = 2
"""Levels of functions of the text that are followed."""


def _check(facts: Facts) -> Iterator[Hit]:
    seen = set[Span]()
    for text in facts.texts.where(lambda start, end: _may_be_path(facts, start, end)):
        if not _PATH.fullmatch(text.text):
            continue
        found = _asked(_answer(text, facts), facts) or _all_checks(text, facts)
        if found is not None and found.span not in seen:
            seen.add(found.span)
            what = f"{found.written}() asks something else: when that is down, all instances are restarted"
            yield Hit(Span(text.span.start, max(text.span.end, found.span.end)), what, LIKELY)


def _may_be_path(facts: Facts, start: int, end: int) -> bool:
    return end - start < 60 and b"live" in facts.syntax.source[start:end].lower()


def _answer(text: Text, facts: Facts) -> Span:
    """Return the code that answers a path: its handler, the rest of its registration, or what follows."""
    for scope in facts.scopes:
        if scope.route is not None and scope.route.path == text.text:
            return scope.span
    around = [call for call in facts.calls_around(text) if len(call.positional) > 1]
    if around:
        named = {each.value.text.rpartition(".")[2] for each in around[-1].positional[1:]}
        handlers = facts.functions_named(*named)
        return handlers[0].span if handlers else around[-1].span
    outer = facts.named_function_of(text)
    end = len(facts.syntax.source) if outer is None else outer.body.end
    later = [each.span.start for each in facts.texts.within(Span(text.span.end, end)) if each.text[:1] == "/"]
    return Span(text.span.end, min([end, text.span.end + _BEHIND, *later]))


def _asked(answer: Span, facts: Facts, levels: int = _LEVELS) -> Call | None:
    """Return the first call in some code that asks another service, also through functions of the text."""
    remote = {each.call for each in remote_calls(facts)}
    for call in facts.within(facts.calls, answer):
        if call in remote or _ASKS.match(call.method):
            return call
        # Whatever object they belong to.
        for scope in facts.functions_named(call.method) if levels else ():
            if not _overlaps(scope, answer) and _asked(scope.body, facts, levels - 1) is not None:
                return call
    # A function that is given by its name: `check("database", ::databaseAnswers)`
    for name in re.findall(r"::(\w+)", facts.text(answer)) if levels else ():
        for scope in facts.functions_named(name):
            if not _overlaps(scope, answer):
                return _asked(scope.body, facts, levels - 1)
    return None


def _overlaps(scope: Scope, answer: Span) -> bool:
    return scope.span.start <= answer.start < scope.span.end or answer.start <= scope.span.start < answer.end


def _all_checks(text: Text, facts: Facts) -> Call | None:
    """Return `MapHealthChecks("/livez")` without a predicate, which runs the checks of all services (C#)."""
    if facts.language != "csharp" or _CHECKS.search(facts.whole_text) is None:
        return None
    around = [call for call in facts.calls_around(text) if call.method == "MapHealthChecks"]
    return around[-1] if around and len(around[-1].arguments) == 1 else None


RULE = Rule(
    id="FK-R166",
    slug="liveness-asks-others",
    title="Liveness probe that asks another service",
    why="When the database is down for a minute, the orchestrator restarts every instance, and their start "
    "makes the outage longer.",
    fix="Let liveness answer from the process alone, and ask for dependencies in the readiness probe.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(b"/live", b"/alive"),
)
