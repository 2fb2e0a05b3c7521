"""Finds times that are given in another unit than the one that is expected."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Argument, Call, Facts, is_within
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CERTAIN, EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.http_requests import http_requests, library_of
from faultkit.code.rules.vocabulary.text_pattern import TextPattern
from faultkit.code.rules.vocabulary.time_units import (
    MILLIS,
    NAMED,
    SECONDS,
    documented_unit,
    is_in_millis,
    wrong_lifetimes,
)

_SECONDS, _MILLIS, _NANOS = SECONDS, MILLIS, "nanoseconds"
_TAKES = {
    "python": {
        "time.sleep": _SECONDS,
        "asyncio.sleep": _SECONDS,
        "anyio.sleep": _SECONDS,
        "trio.sleep": _SECONDS,
    },
    "javascript": {"setTimeout": _MILLIS, "setInterval": _MILLIS, "AbortSignal.timeout": _MILLIS},
    "java": {"Thread.sleep": _MILLIS, "java.lang.Thread.sleep": _MILLIS},
    "kotlin": {"Thread.sleep": _MILLIS, "delay": _MILLIS, "kotlinx.coroutines.delay": _MILLIS},
    "csharp": {"Thread.Sleep": _MILLIS, "Task.Delay": _MILLIS, "System.Threading.Thread.Sleep": _MILLIS},
    "go": {},
    "rust": {},
}
_MAKERS = {
    "ofSeconds": _SECONDS, "ofMillis": _MILLIS, "ofMinutes": "minutes", "FromSeconds": _SECONDS,
    "FromMilliseconds": _MILLIS, "FromMinutes": "minutes", "from_secs": _SECONDS, "from_millis": _MILLIS,
}  # fmt: skip
_GO = {
    "time.Sleep": 0, "time.After": 0, "time.NewTimer": 0, "time.NewTicker": 0, "time.Tick": 0,
    "time.AfterFunc": 0, "context.WithTimeout": 1,
}  # fmt: skip
_GO_FIELD = lazy_regex(r"(Timeout|Interval|Delay|Backoff|TTL|MaxLifetime|IdleTime)$")
_GO_TYPES = lazy_regex(
    r"^(net/http\.(Client|Server|Transport)|net\.Dialer|github\.com/(redis/)?go-redis/.*Options)$"
)
_NUMBER = lazy_regex(r"\d[\d_]*")
_TIMES = TextPattern(rb"\*\s*[\d_]")
"""What stands in each product of numbers; it is found faster."""
_PRODUCT = lazy_regex(r"[\d_]+(\s*\*\s*[\d_]+)+")
_LARGEST = 2**31 - 1
_SETTERS = frozenset(
    ("setConnectTimeout", "setReadTimeout", "setSoTimeout", "setSocketTimeout", "setConnectionRequestTimeout")
)
_BRIEF = lazy_regex(r"close|abort|shutdown|kill|drain|stale|healthy|alive|probe|peek", re.IGNORECASE)
_EXPIRY = lazy_regex(r"(^|\.)(exp|iat|nbf)$")


def _check(facts: Facts) -> Iterator[Hit]:
    language = facts.syntax.language.family
    takes = _TAKES[language]
    # To look at each call takes long, and few files set such a limit.
    sets_limits = facts.syntax.has_any(b"timeout", b"setinterval")
    for call in facts.calls:
        if unit := takes.get(call.name):
            place = 1 if language == "javascript" and call.method != "timeout" else 0
            yield from _named(call, call.argument(place=place), unit, facts)
        elif unit := _MAKERS.get(call.method):
            yield from _named(call, call.argument(place=0), unit, facts)
        elif language == "go":
            yield from _go(call, facts)
        if unit or sets_limits:
            yield from _literal(call, language, facts)
        if sets_limits:
            yield from _option(call, language, facts)
    yield from wrong_lifetimes(facts)
    if language == "kotlin":
        yield from _extended(facts)
    if language == "javascript" and facts.syntax.has_any(b"exp", b"iat", b"nbf"):
        yield from _expiry(facts)
    yield from _clock(facts)
    if language in ("java", "kotlin", "csharp") and _TIMES.search(facts.syntax.source):
        yield from _overflow(facts)


def _named(call: Call, given: Argument | None, unit: str, facts: Facts) -> Iterator[Hit]:
    """Yield an argument whose name tells another unit than the one that the function takes."""
    if given is None or given.value.shape != "name":
        return
    name = given.value.text.rpartition(".")[2].rpartition("::")[2].removesuffix("()")
    if facts.language == "kotlin" and name in ("seconds", "minutes", "milliseconds"):
        return  # `5.seconds` is a Duration, which carries its unit.
    for other, pattern in NAMED.items():
        if other != unit and pattern.search(name) and not _has_unit(name, facts):
            yield Hit(
                call.span, f"{call.written}() takes {unit}, and {given.value.text} holds {other}", LIKELY
            )


def _has_unit(name: str, facts: Facts) -> bool:
    """Return whether this text declares it with a type that has its unit: `RefreshSeconds time.Duration`."""
    word = re.escape(name)
    return TextPattern(
        rf"\b{word}\s*:?\s*[\w.*?]*(?:Duration|TimeSpan)\b|\b(?:Duration|TimeSpan|timedelta)\??\s+{word}\b",
    ).is_in(facts.whole_text)


_EXTENDED = lazy_regex(r"(\w+)\.(seconds|milliseconds|minutes)$")


def _extended(facts: Facts) -> Iterator[Hit]:
    """Yield `timeoutMs.seconds`: the name of a number and the unit that it is given differ (Kotlin)."""
    for each in facts.accesses if facts.syntax.has_any(b".seconds", b".milliseconds", b".minutes") else ():
        found = _EXTENDED.search(each.written)
        held = found and next((unit for unit, pattern in NAMED.items() if pattern.search(found[1])), "")
        if found and held and held != found[2] and found[1] not in NAMED and not _has_unit(found[1], facts):
            yield Hit(each.span, f"{found[1]} holds {held}, and is taken for {found[2]}", LIKELY)


def _option(call: Call, language: str, facts: Facts) -> Iterator[Hit]:
    """Yield `timeout` of an HTTP client whose value has a name that tells another unit."""
    unit = {"python": _SECONDS, "javascript": _MILLIS}.get(language)
    start, end = call.span
    # To read the arguments of all calls takes long, and few have this one.
    if unit is None or facts.syntax.source.find(b"timeout", start, end) < 0:
        return
    given = call.argument("timeout")
    if given is None:
        return
    known = call.name.startswith(("axios", "got", "requests.", "httpx.")) or library_of(call, facts.language)
    if known or any(each.call is call for each in http_requests(facts)):
        yield from _named(call, given, unit, facts)


def _is_too_long(text: str) -> bool:
    """Return whether a pause in seconds is written in milliseconds: `min(30000, 200 * 2 ** n)`."""
    numbers = [int(each.replace("_", "")) for each in re.findall(r"(?<![\w.])\d[\d_]*(?![\w.])", text)]
    return any(each >= 5000 and each % 500 == 0 and each % 3600 for each in numbers) and "/" not in text


def _number(text: str) -> int:
    """Return the value of a whole number or a product of them; 0 if it is none."""
    bare = text.strip()
    if not (_NUMBER.fullmatch(bare) or _PRODUCT.fullmatch(bare)):
        return 0
    value = 1
    for each in bare.split("*"):
        digits = each.strip().replace("_", "")
        value *= int(digits) if digits else 0
    return value


def _go(call: Call, facts: Facts) -> Iterator[Hit]:
    if call.name in _GO:
        given = call.argument(place=_GO[call.name])
        if given is not None and 1 < _number(given.value.text) < 100_000 and given.value.shape == "number":
            yield Hit(call.span, f"{call.written}({given.value.text}) are {_NANOS}", CERTAIN)
    elif call.name == "time.Duration":
        yield from _multiplied(call, facts)
        yield from _duration(call, facts)
    elif call.constructs and _GO_TYPES.search(call.name):
        for each in call.arguments:
            if (
                _GO_FIELD.search(each.name)
                and each.value.shape == "number"
                and 0 < _number(each.value.text) < 100_000
            ):
                yield Hit(each.value.span, f"{each.name} of {each.value.text} are {_NANOS}", CERTAIN)


def _duration(call: Call, facts: Facts) -> Iterator[Hit]:
    """Yield `time.Duration(seconds)`, which no unit is multiplied with."""
    given = call.argument(place=0)
    if given is None or given.value.shape != "name":
        return
    name = given.value.text.rpartition(".")[2]
    if not any(pattern.search(name) for pattern in NAMED.values()) or _has_unit(name, facts):
        return
    source = facts.syntax.source
    before, after = (
        source[max(0, call.span.start - 3) : call.span.start],
        source[call.span.end : call.span.end + 3],
    )
    if b"*" in before or b"*" in after or not (call.is_returned or facts.calls_around(call)):
        return
    multiplied = any(
        step.word == "*" and is_within(call.span, step.span) for step in facts.steps_of("binary")
    )
    if not multiplied:
        yield Hit(
            call.span, f"{call.written}({given.value.text}) are {_NANOS}: no unit is multiplied", LIKELY
        )


_GO_UNITS = {
    "time.Second": _SECONDS, "time.Millisecond": _MILLIS, "time.Minute": "minutes", "time.Nanosecond": _NANOS,
}  # fmt: skip


def _multiplied(call: Call, facts: Facts) -> Iterator[Hit]:
    """Yield `time.Duration(timeoutMS) * time.Second`: the name and the factor tell different units."""
    given = call.argument(place=0)
    if given is None or given.value.shape != "name":
        return
    name = given.value.text.rpartition(".")[2]
    held = next((unit for unit, pattern in NAMED.items() if pattern.search(name)), "")
    if not held or _has_unit(name, facts):
        return
    for step in facts.within(facts.steps_of("binary"), _line_of(call, facts)):
        if step.word != "*" or not any(each.span == call.span for each in step.sides):
            continue
        for side in step.sides:
            unit = _GO_UNITS.get(side.text, held)
            if unit != held:
                yield Hit(step.span, f"{given.value.text} holds {held}, and is multiplied with {side.text}")


def _line_of(call: Call, facts: Facts) -> Span:
    """Return the statement around a call, as far as it is on the same line."""
    source = facts.syntax.source
    end = source.find(b"\n", call.span.end)
    return Span(source.rfind(b"\n", 0, call.span.start) + 1, len(source) if end < 0 else end)


def _literal(call: Call, language: str, facts: Facts) -> Iterator[Hit]:
    """Yield numbers that make sense in another unit only."""
    if language == "python" and call.method == "sleep" and call.name in _TAKES["python"]:
        given = call.argument(place=0)
        text = "" if given is None or given.value.shape in ("name", "text") else given.value.text
        if _is_too_long(text) and not any(loop.kind == "endless" for loop in facts.loops_around(call)):
            yield Hit(call.span, f"{call.written}({text}) is in seconds", LIKELY)
    elif language == "python" and library_of(call, facts.language) is not None:
        given = call.argument("timeout")
        if (
            given is not None
            and given.value.shape == "number"
            and _number(given.value.text) >= 1000
            and _number(given.value.text) % 500 == 0
        ):
            yield Hit(given.value.span, f"a timeout of {given.value.text} is in seconds", LIKELY)
    elif language == "javascript" and (call.name == "AbortSignal.timeout" or call.name.startswith("axios")):
        given = call.argument(place=0) if call.method == "timeout" else call.argument("timeout")
        if given is not None and given.value.shape == "number" and 0 < _number(given.value.text) <= 60:
            yield Hit(given.value.span, f"a timeout of {given.value.text} is in milliseconds", LIKELY)
    elif language == "javascript" and call.name in ("setTimeout", "setInterval"):
        given = call.argument(place=1)
        if given is not None and _number(given.value.text) > _LARGEST:
            what = f"{call.written}() fires at once: it takes at most 24.8 days"
            yield Hit(call.span, what, CERTAIN)
    elif language in ("java", "kotlin") and call.method in _SETTERS and len(call.arguments) == 1:
        given = call.argument(place=0)
        value = 0 if given is None or given.value.shape != "number" else _number(given.value.text)
        if given is not None and 1 < value <= 60 and not _is_short_by_intent(call, facts):
            yield Hit(call.span, f"{call.written}({given.value.text}) is in milliseconds", LIKELY)


def _is_short_by_intent(call: Call, facts: Facts) -> bool:
    """Return whether a limit holds for a probe, after which the old one is set, or while a socket closes."""
    scope = facts.named_function_of(call)
    if call.method not in ("setSoTimeout", "setReadTimeout") or scope is None:
        return False
    return (
        _BRIEF.search(scope.short_name) is not None
        or re.search(r"\bget(So|Read)Timeout\(|\.(soTimeout|readTimeout)\b", facts.text(scope.body))
        is not None
    )


def _expiry(facts: Facts) -> Iterator[Hit]:
    """Yield comparisons of the times in a token, in seconds, with the clock, in milliseconds."""
    for step in facts.steps_of("binary"):
        if step.word not in ("<", ">", "<=", ">=", "-") or len(step.sides) != 2:
            continue
        left, right = (each.text.replace("!", "").replace("?", "") for each in step.sides)
        for one, other in ((left, right), (right, left)):
            if one in ("Date.now()", "new Date().getTime()") and _EXPIRY.search(other):
                yield Hit(step.span, f"{other} is in seconds and {one} in milliseconds", LIKELY)


_CLOCKS = {
    _MILLIS: lazy_regex(
        r"Date\.now\(\)|new Date\(\)\.getTime\(\)|System\.currentTimeMillis\(\)|time\.Now\(\)\.UnixMilli\(\)"
        r"|\w+\.ToUnixTimeMilliseconds\(\)|int\(time\.time\(\) \* 1000\)|clock\.millis\(\)"
    ),
    _SECONDS: lazy_regex(
        r"time\.time\(\)|int\(time\.time\(\)\)|time\.monotonic\(\)|time\.Now\(\)\.Unix\(\)|\w+\.ToUnixTimeSeconds\(\)"
        r"|Instant\.now\(\)\.getEpochSecond\(\)|Math\.floor\(Date\.now\(\) / 1000\)"
    ),
}
_READS_CLOCK = (
    b"now()", b"ime()", b"onds()", b"illi()", b"illis()", b"monotonic()", b"Unix()", b"econd()"
)  # fmt: skip
"""Of which one stands in each text that one of `_CLOCKS` matches; they are found faster."""
_LASTS = lazy_regex(r"(^|[._])(expires_?[iI]n|expiresIn|ExpiresIn|max_?age|maxAge)(\(\))?$")
"""Durations that protocols give in seconds."""


def _clock(facts: Facts) -> Iterator[Hit]:
    """Yield sums of a clock and a duration in another unit, and comparisons of it with a time in another
    unit: `Date.now() + expires_in`, `Date.now() > expiresAtSeconds`."""
    source = facts.syntax.source
    clocks = [clock for clock in _READS_CLOCK if clock in source]
    for step in facts.steps_of("binary") if clocks else ():
        if not any(source.find(clock, *step.span) >= 0 for clock in clocks):
            continue
        if step.word not in ("+", "-", *_COMPARES) or len(step.sides) != 2:
            continue
        for one, other in (step.sides, step.sides[::-1]):
            unit = next((name for name, clock in _CLOCKS.items() if clock.fullmatch(one.text)), "")
            text = other.text.replace("!", "").replace("?", "")
            if not unit or re.fullmatch(r"[\w.]+(\(\))?", text) is None:
                continue
            last = text.rpartition(".")[2].removesuffix("()")
            held = documented_unit(last, facts) if step.word != "+" else ""
            if step.word not in _COMPARES and _LASTS.search(text) and not _is_own(text, step, facts):
                held = _MILLIS if is_in_millis(text, step, facts) else _SECONDS
            held = next((name for name, named in NAMED.items() if named.search(last)), held)
            if held and held != unit:
                yield Hit(step.span, f"{text} is in {held} and {one.text} in {unit}", LIKELY)


_COMPARES = ("<", ">", "<=", ">=")
_AGE = lazy_regex(r"(max_?age|maxAge)(\(\))?")


def _is_own(text: str, place: Placed, facts: Facts) -> bool:
    """Return whether an age comes from callers or from constants, which have any unit, and from no header."""
    if _AGE.fullmatch(text) is None:
        return False
    made = facts.assignments_to(text, place)
    return all(each.value is None or each.value.shape in ("number", "name") for each in made)


def _overflow(facts: Facts) -> Iterator[Hit]:
    """Yield products of whole numbers that are larger than 32 bits hold."""
    outer: Span | None = None
    for step in facts.steps_of("binary"):
        if step.word != "*" or (outer is not None and is_within(step.span, outer)):
            continue
        text = facts.text(step.span)
        if _PRODUCT.fullmatch(text) and _number(text) > _LARGEST:
            outer = step.span
            yield Hit(step.span, f"{text} is larger than 32 bits hold, and overflows", CERTAIN)


RULE = Rule(
    id="FK-R133",
    slug="wrong-time-unit",
    title="Time in the wrong unit",
    why="A limit of 5000 seconds is none, one of 5 milliseconds fails every call, and a pause of 500 "
    "nanoseconds is a busy loop.",
    fix="Convert where the value is handed over, or use a type that carries its unit.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(
        b"sleep", b"Sleep", b"imeout", b"elay", b"time.", b"ofSec", b"ofMil", b"ofMin", b"FromSec",
        b"FromMil", b"FromMin", b"from_secs", b"from_millis", b".exp", b"xpires", b"ax_age", b"axAge",
        b"setInterval", b"setex", b"setEx", b"expire(", b" ex=", b"EX", b".seconds", b".mi",
        b"* 1000", b"* 60", b"* 24", b"Date.now", b"Millis", b"UnixMilli",
    ),
)  # fmt: skip
