"""Files that a program writes again and again under the same name, for others to read.

The path is the same each time: a constant, a member or a setting. The code that writes it runs for each
request, by a schedule or in a loop that waits; or a name says that it publishes. Files of which each has a
name of its own, logs and reports are none.
"""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.repetition import frequency_of
from faultkit.code.rules.vocabulary.stores import words
from faultkit.code.rules.vocabulary.text_pattern import TextPattern
from faultkit.code.rules.vocabulary.waits import waits_in

_PUBLISHES = NamePattern(r"^_?(re_?)?publish|^_?(Re)?[pP]ublish|[pP]ublish(er)?$|_publish$")
_PUBLISHER = NamePattern(r"Publisher$")
_OTHERS = NamePattern(
    r"log|report|trace|dump|debug|export|(^|_|\.)out(put)?(_|$)|dest|archive|backup|upload|download|pid|lock|tmp|temp|test|csv"
    r"|image|img|photo|pdf|file_?name|attachment",
    re.IGNORECASE,
)
"""Names of files of which each is written once, or that nothing reads while they are written."""
_VARIES = lazy_regex(
    r"\bid\b|[iI]d\b|uuid|nanoid|Guid|now\(|Now|date|Date|time|stamp|random|hash|name\b|Name\b|\bkey\b|index|\bi\b|version|seq|slug",
)
_TIMERS = frozenset(
    ("setInterval", "scheduleAtFixedRate", "scheduleWithFixedDelay", "schedule", "scheduleJob", "add_job",
     "CronJob", "AddFunc", "fixedRateTimer", "Timer", "every", "run_repeating")
)  # fmt: skip
_TICKS = TextPattern(
    r"NewTicker|time\.Tick\(|\.tick\(\)\.await|PeriodicTimer|WaitForNextTickAsync|interval\(|Task\.Delay|\bsleep\(|\.C\b"
    r"|\.wait\(|\bdelay\("
)
_SCHEDULED = frozenset(
    ("Scheduled", "Schedules", "Cron", "Interval", "scheduled_job", "periodic_task", "on_schedule", "cron")
)
_LEVELS = 3
_SETTING = lazy_regex(
    r"(?:(?:self|this|cls|config|cfg|settings?|options?|opts|conf|_?config|env|props|\w*[cC]onfig|\w*[oO]ptions|\w*[sS]ettings)[.:]+)+"
    r"[#\w.]+|[A-Z][A-Z0-9_]+(?:\.\w+)*|(?:[a-z]\.)?_?(?:[a-z]\w*)?(?:[pP]ath|[fF]ile|[tT]arget|[lL]ocation)"
)


def is_published(path: str, call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a function writes a document under the same name again and again."""
    if _OTHERS.search(path) or _OTHERS.search(scope.short_name) or not _is_fixed(path, call, scope, facts):
        return False
    if _PUBLISHES.search(scope.short_name) or _PUBLISHER.search(scope.owner):
        return True
    return runs_again(call, scope, facts)


def _is_fixed(path: str, call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a path is a constant, a member, a setting or a parameter, and not put together here."""
    bare = re.sub(
        r"\.(?:toFile|toPath|as_path|clone|as_ref|toString|absolute|resolve)\(\)$", "", path
    ).lstrip("&*")
    if bare[:1] in "\"'`":
        return re.fullmatch(r"([\"'`])[^\"'`${]+\1", bare) is not None
    if not _SETTING.fullmatch(bare):
        return False
    made = [
        each.value.text
        for each in facts.assignments_to(bare, call)
        if each.value is not None and each.scope is scope
    ]
    given = {each.name for each in scope.parameters} - {"self", "cls", "ctx", "config", "settings", "options"}
    return not any(_VARIES.search(text) or words(text) & given for text in made)


def runs_again(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether code runs for each request or message, by a schedule, or in a loop that waits."""
    if frequency_of(call, facts) in ("request", "message"):
        return True
    return _is_periodic(call, scope, facts, 0)


def _is_periodic(place: Call, scope: Scope | None, facts: Facts, depth: int) -> bool:
    for loop in facts.loops_around(place):
        is_round = loop.kind in ("endless", "while") or loop.is_async
        if is_round and (waits_in(loop, facts) or _TICKS.search(facts.text(loop.span))):
            return True
        if loop.kind in ("each", "count", "comprehension") and not _TICKS.search(loop.over):
            return False  # A file for each item.
    if any(each.method in _TIMERS for each in facts.calls_around(place)):
        return True
    if scope is None or depth == _LEVELS:
        return False
    if any(each.method in _SCHEDULED for each in scope.decorators):
        return True
    name = scope.short_name
    for call in facts.calls_of_method(*_TIMERS) if name else ():
        if any(re.search(rf"\b{re.escape(name)}\b", each.value.text) for each in call.arguments):
            return True
    return any(
        _is_periodic(call, facts.named_function_of(call), facts, depth + 1)
        for call in facts.callers_of(scope)
        if not is_within(call.span, scope.span)
    )
