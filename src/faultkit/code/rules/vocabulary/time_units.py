"""Units of times: what names, comments and values tell, and lifetimes that a store takes in another one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Argument, Call, Facts
from faultkit.code.facts.facts import Placed
from faultkit.code.rules.rule import JAVASCRIPT, LIKELY, Hit
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

SECONDS, MILLIS = "seconds", "milliseconds"
NAMED = {
    SECONDS: lazy_regex(r"(?i:_|^)(sec|secs|seconds)$|(Sec|Secs|Seconds)$|_(SEC|SECS|SECONDS|S)$"),
    MILLIS: lazy_regex(
        r"(?i:_|^)(ms|msec|msecs|millis|milliseconds)$|(Ms|Millis|Milliseconds|MS)$|_(MS|MILLIS)$"
    ),
    "minutes": lazy_regex(r"(?i:_|^)(mins|minutes)$|(Mins|Minutes)$|_(MINS|MINUTES)$"),
}
"""Units that a name tells."""
_SINCE = r"(?:unix|epoch|since\s+1970)"
_SAYS = {
    SECONDS: r"(?:sec|secs|seconds)",
    MILLIS: r"(?:ms|millis|milliseconds)",
}
_EPOCH = {
    unit: TextPattern(rf"(?i)(?:#|//|\*)[^\n]*(?:\b{_SINCE}\b[^\n]*\b{word}\b|\b{word}\b[^\n]*\b{_SINCE}\b)")
    for unit, word in _SAYS.items()
}
"""Comments that say in which unit a point in time is."""


def documented_unit(name: str, facts: Facts) -> str:
    """Return the unit that the comment at each declaration of a field tells; empty if one tells none.

    `// Unix time in seconds` on the line above `validUntil: z.number()`, or behind it."""
    if not name.isidentifier() or not facts.syntax.has_any(b"unix", b"epoch", b"1970"):
        return ""
    units = {
        unit
        for unit, pattern in _EPOCH.items()
        for found in pattern.finditer(facts.whole_text)
        if _declares(name, facts.whole_text, found.start(), found.end())
    }
    return units.pop() if len(units) == 1 else ""


def _declares(name: str, text: str, start: int, end: int) -> bool:
    """Return whether a comment stands behind the declaration of a field, or on the line above it."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    beside = before if before.strip(" \t/*#") else text[end:].partition("\n")[2].partition("\n")[0]
    declared = rf"\s*(?:[\w<>?]+\s+)*{re.escape(name)}\??(?:\s*[:;,]|\s+[\w*.]+)"
    return re.match(declared, beside) is not None


_IN_MILLIS = lazy_regex(
    r"\.(?:toMillis|inWholeMilliseconds|TotalMilliseconds|as_millis)\b(?:\(\))?$|/\s*(?:\w+\.)?timedelta\(milliseconds=1\)\)*$"
)
"""Ends of expressions that are milliseconds."""
_PRODUCT = lazy_regex(r"(?<![\w.])60\s*\*\s*1_?000(?![\w.])|(?<![\w.])1_?000\s*\*\s*60(?![\w.])")
"""The milliseconds of a minute."""
_ONE = lazy_regex(r"(?:^|_)(SECOND|MINUTE|HOUR|DAY)$|^(?:one)?(second|minute|hour|day)$", re.IGNORECASE)
_LENGTHS = {"second": 1000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
_TIMES = lazy_regex(r"[\w.]+(?:\s*\*\s*[\w.]+)*")
_CHOICE = lazy_regex(r"[^?]*\?(?![.?])(?P<one>[^:?]*):(?P<other>[^:?]*)", re.DOTALL)
_CALL = lazy_regex(r"(?:await\s+)?(?:this\.|self\.)?(\w+)\(")
_LEVELS = 4


def wrong_lifetimes(facts: Facts) -> Iterator[Hit]:
    """Yield lifetimes in milliseconds that a store such as Redis takes for seconds."""
    if not facts.syntax.has_any(b"setex", b" ex=", b"expire(", b"'ex'", b'"ex"', b"ex:"):
        return
    for call in facts.calls_of_method("setex", "setEx", "expire", "set"):
        given = _lifetime(call, facts)
        if given is None or not call.receiver_written:
            continue
        text = given.value.text
        if is_in_millis(text, call, facts):
            yield Hit(call.span, f"{call.written}() takes {SECONDS}, and {text} holds {MILLIS}", LIKELY)


def _lifetime(call: Call, facts: Facts) -> Argument | None:
    """Return the argument of a call that is a lifetime in seconds."""
    if call.method != "set":
        return call.argument("time", place=1) if len(call.arguments) > 1 else None
    if facts.language not in JAVASCRIPT:
        return call.argument("ex")
    # `set(key, value, 'EX', 60)` of ioredis, `set(key, value, { EX: 60 })` of node-redis
    flagged = (
        after
        for flag, after in zip(call.positional[2:], call.positional[3:], strict=False)
        if flag.value.text.strip("'\"`").upper() == "EX"
    )
    return next(flagged, None) or call.argument("EX")


def is_in_millis(text: str, place: Placed, facts: Facts, levels: int = _LEVELS) -> bool:
    """Return whether an expression is in milliseconds, by its name or by the values that it is made of.

    Variables, parameters and functions are followed to where this text sets, gives or returns them."""
    bare = text.strip().removesuffix(";")
    if (choice := _CHOICE.fullmatch(bare)) is not None:
        return any(is_in_millis(each, place, facts, levels) for each in choice.groups())
    if _IN_MILLIS.search(bare):
        return True
    if levels == 0 or "/" in bare:
        return False
    if _PRODUCT.search(bare) and re.fullmatch(r"[\w.*\s]+", bare):
        return True
    if _TIMES.fullmatch(bare):
        factors = [each.strip() for each in bare.split("*")]
        if len(factors) == 1 and NAMED[MILLIS].search(bare.rpartition(".")[2]):
            return True
        return any(_holds_millis(each, place, facts, levels - 1) for each in factors)
    called = _CALL.match(bare)
    return called is not None and bare.endswith(")") and _returns_millis(called[1], facts, levels - 1)


def _holds_millis(name: str, place: Placed, facts: Facts, levels: int) -> bool:
    """Return whether a variable or a parameter is in milliseconds: `MINUTE` with the value 60000 is."""
    if not name.isidentifier():
        return False
    made = [each for each in facts.assignments_to(name, place) if each.value is not None]
    length = _ONE.search(name)
    for each in made:
        if each.value is None or name not in each.targets:
            continue
        if length is not None and each.value.text.replace("_", "") == str(_LENGTHS[_word(length)]):
            return True
        if is_in_millis(each.value.text, each, facts, levels):
            return True
    scope = None if made else facts.function_of(place)
    names = [] if scope is None else [each.name for each in scope.parameters if each.name != "self"]
    if scope is None or name not in names:
        return False
    return any(
        given is not None and is_in_millis(given.value.text, call, facts, levels)
        for call in facts.callers_of(scope)
        for given in [call.argument(name, place=names.index(name))]
    )


def _word(length: re.Match[str]) -> str:
    return (length[1] or length[2]).lower()


def _returns_millis(name: str, facts: Facts, levels: int) -> bool:
    return any(
        step.kind == "return" and is_in_millis(step.text.removeprefix("return").strip(), step, facts, levels)
        for scope in facts.functions_named(name)
        for step in facts.own(facts.steps, scope)
    )
