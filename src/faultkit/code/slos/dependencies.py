"""The calls that a function depends on, with their timeouts and tries. Pure.

First times and counts as code writes them (`5 * time.Second`, `AbortSignal.timeout(5000)`, `RETRIES`), then
the limits of one call, then the calls of a function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from faultkit.code.facts import Call, Facts, Loop, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.http_requests import HttpRequest, http_requests
from faultkit.code.rules.vocabulary.remote_calls import remote_calls
from faultkit.code.rules.vocabulary.repetition import (
    is_in_retry_loop,
    is_over_items,
    is_retried,
    retries,
)
from faultkit.code.rules.vocabulary.retry_loops import Retry
from faultkit.code.rules.vocabulary.waits import SLEEPS
from faultkit.code.slos.costs import Dependency, EntryKind, WorkKind

_NUMBER = r"[0-9][0-9_]*(?:\.[0-9]+)?|\.[0-9]+"
_PRODUCT = re.compile(rf"(?:{_NUMBER})[fFdDlL]?(?:\s*\*\s*(?:{_NUMBER}))*")
_UNITS_S: dict[str, float] = {
    "nanosecond": 1e-9,
    "microsecond": 1e-6,
    "millisecond": 1e-3,
    "milli": 1e-3,
    "second": 1.0,
    "minute": 60.0,
    "hour": 3600.0,
}
_UNIT = "(nanosecond|microsecond|millisecond|milli|second|minute|hour)s?"
_GO = re.compile(rf"(?:({_NUMBER})\s*\*\s*)?time\.{_UNIT}(?:\s*\*\s*({_NUMBER}))?", re.IGNORECASE)
_BUILT = re.compile(
    rf"[\w.]*(?:Duration\.of{_UNIT}\(\s*|timedelta\(\s*{_UNIT}\s*=\s*)({_NUMBER})\s*\)", re.IGNORECASE
)
_PAIR = re.compile(rf"[(\[]\s*({_NUMBER})\s*,\s*({_NUMBER})\s*[)\]]")
_HOLDER = re.compile(r"[\w.]*timeout\w*\(.*\)|\{.*\}", re.IGNORECASE | re.DOTALL)
_KEY = re.compile(rf"\b(?:total|timeout|request|response|read)\s*[=:]\s*({_NUMBER})")
_FIRST = re.compile(rf"[\w.]*\(\s*({_NUMBER})\s*[,)]")
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_DEEPEST = 3
_DEFAULT_UNIT_S = {"javascript": 0.001, "typescript": 0.001, "tsx": 0.001}
_LONGEST_S = 86_400.0


def seconds_of(text: str, facts: Facts) -> float | None:
    """Return a fixed time in seconds; None if it is not constant, or not in a known form."""
    found = _seconds(text.strip(), facts, 0)
    return found if found is not None and 0 < found <= _LONGEST_S else None


def count_of(text: str, facts: Facts) -> int | None:
    """Return a whole number, literal or by name."""
    bare = _look_up(text.strip(), facts, 0)
    return int(bare) if re.fullmatch(r"[0-9]{1,6}", bare) else None


def _seconds(text: str, facts: Facts, depth: int) -> float | None:
    unit_s = _DEFAULT_UNIT_S.get(facts.language, 1.0)
    if _PRODUCT.fullmatch(text):
        return _product(text) * unit_s
    if _NAME.fullmatch(text) and not text.startswith("time."):
        value = _assigned(text, facts)
        return None if value is None or depth == _DEEPEST else _seconds(value, facts, depth + 1)
    if found := _GO.fullmatch(text):
        return _product(f"{found[1] or 1} * {found[3] or 1}") * _UNITS_S[found[2].lower()]
    if found := _BUILT.fullmatch(text):
        return _number(found[3]) * _UNITS_S[(found[1] or found[2]).lower()]
    if found := _PAIR.fullmatch(text):
        # (connect, read): both may be used up.
        return (_number(found[1]) + _number(found[2])) * unit_s
    if _HOLDER.fullmatch(text) and (found := _KEY.search(text) or _FIRST.match(text)):
        return _number(found[1]) * unit_s
    return None


def _product(text: str) -> float:
    value = 1.0
    for each in re.findall(_NUMBER, text):
        value *= _number(each)
    return value


def _number(text: str) -> float:
    return float(text.replace("_", ""))


def _look_up(text: str, facts: Facts, depth: int) -> str:
    if depth == _DEEPEST or not _NAME.fullmatch(text):
        return text
    value = _assigned(text, facts)
    return text if value is None else _look_up(value, facts, depth + 1)


def _assigned(name: str, facts: Facts) -> str | None:
    """Return the value of a name that is assigned once in this text."""
    values = {
        each.value.text.strip()
        for each in facts.assignments
        if name in each.targets and each.value is not None and each.operator in ("=", ":=")
    }
    return values.pop() if len(values) == 1 else None


# Limits of a call: its timeout and its number of tries.


USUAL_TRIES = 3
"""Assumed tries where code retries without stating a number."""
_MOST_TRIES = 1000

_BLOCKS = ("timeout", "fail_after", "move_on_after")
_WRAPPERS = ("wait_for", "timeout", "withTimeout", "orTimeout")
_GO_CONTEXTS = ("context.WithTimeout", "context.WithTimeoutCause")
_COUNTS = re.compile(
    r"(?:stop_after_attempt\(|max_tries\s*=|tries\s*=|attempts\s*[=:(]|maxAttempts\s*[=:])\s*([\w.]+)"
)
_AGAIN = re.compile(r"(?:retries|max_retries|maxRetries|retry|total)\s*[=:(]\s*([\w.]+)")
"""Option names that count tries after the first."""
_RANGE = re.compile(r"range\(\s*(?:([\w.]+)\s*,\s*)?([\w.]+)\s*\)")
_BELOW = re.compile(r"<(=?)\s*([\w.]+)")


@dataclass(frozen=True, slots=True)
class CallLimits:
    """How long a call can take, and how often it is tried."""

    timeout_s: float | None = None
    timeout_is: Literal["given", "default", "missing", "unknown"] = "unknown"
    tries: int | None = 1
    library: str = ""


def limits_of(call: Call, facts: Facts) -> CallLimits:
    """Return the limits of a call: its own timeout, the one around it, and its tries."""
    tries = tries_of(call, facts)
    around_s = _around_s(call, facts)
    request = next((each for each in http_requests(facts) if each.call is call), None)
    if request is None:
        return CallLimits(around_s, "given" if around_s is not None else "unknown", tries)
    library = request.library.name
    own_s = _own_s(request, facts)
    given = [each for each in (own_s, around_s) if each is not None]
    if given:
        return CallLimits(min(given), "given", tries, library)
    if request.timeout is not False:
        return CallLimits(None, "given" if request.timeout else "unknown", tries, library)
    default_s = request.library.default_s
    return CallLimits(default_s, "missing" if default_s is None else "default", tries, library)


def _own_s(request: HttpRequest, facts: Facts) -> float | None:
    call, library = request.call, request.library
    argument = call.argument(*library.timeouts, place=library.place) if library.timeouts else None
    if argument is None and call.origin is not None and library.on_client:
        argument = call.origin.argument(*library.on_client)
    if argument is not None and argument.value.shape != "none":
        return seconds_of(argument.value.text, facts)
    if library.name == "java.net.http":
        found = re.search(r"\.timeout\(\s*([^()]*\([^()]*\)|\w+)", _built(call, facts))
        return None if found is None else seconds_of(found[1], facts)
    return None


def _built(call: Call, facts: Facts) -> str:
    """Return the builder chain of a Java request."""
    given = call.argument(place=0)
    text = "" if given is None else given.value.text
    values = [
        each.value.text for each in facts.assignments if text in each.targets and each.value is not None
    ]
    return values[-1] if values else text


def _around_s(call: Call, facts: Facts) -> float | None:
    """Return the limit of `async with asyncio.timeout(5)`, `wait_for(…, 5)`, or a Go context with a
    deadline."""
    bounds = [
        each.argument("delay", place=0) for each in facts.managed_around(call) if each.method in _BLOCKS
    ]
    bounds += [
        each.argument("timeout", place=1) for each in facts.calls_around(call) if each.method in _WRAPPERS
    ]
    if facts.language == "go":
        function = facts.named_function_of(call)
        bounds += [
            each.argument(place=1)
            for each in facts.calls_named(*_GO_CONTEXTS)
            if facts.named_function_of(each) is function
        ]
    found = [seconds_of(each.value.text, facts) for each in bounds if each is not None]
    return min((each for each in found if each is not None), default=None)


def tries_of(call: Call, facts: Facts) -> int | None:
    """Return the number of tries; None if it is tried without end."""
    around = [each for each in retries(facts) if is_within(call.span, each.body)]
    if around:
        return _count_tries(around[0], facts)
    if not is_retried(call, facts):
        return 1
    client = call.origin
    found = None if client is None else _AGAIN.search(facts.text(client.span))
    count = None if found is None else count_of(found[1], facts)
    return USUAL_TRIES if count is None else min(count + 1, _MOST_TRIES)


def _count_tries(retry: Retry, facts: Facts) -> int | None:
    if retry.limited is False:
        return None
    text = "" if retry.call is None else facts.text(retry.call.span)
    if retry.loop is not None:
        return _loop_rounds(retry.loop.over, facts)
    if (found := _COUNTS.search(text)) and (count := count_of(found[1], facts)):
        return min(count, _MOST_TRIES)
    if (found := _AGAIN.search(text)) and (count := count_of(found[1], facts)) is not None:
        return min(count + 1, _MOST_TRIES)
    return USUAL_TRIES


def _loop_rounds(over: str, facts: Facts) -> int:
    if found := _RANGE.search(over):
        first, last = count_of(found[1] or "0", facts), count_of(found[2], facts)
        if first is not None and last is not None and last > first:
            return min(last - first, _MOST_TRIES)
    if (found := _BELOW.search(over)) and (count := count_of(found[2], facts)):
        return min(count + bool(found[1]), _MOST_TRIES)
    return USUAL_TRIES


# The calls of a function that its latency and availability depend on.


ITEMS: dict[EntryKind, int] = {"request": 10, "stream": 10, "message": 10, "job": 1000, "function": 10}
"""Assumed number of items of a loop by kind of entry: a response holds a page, a job processes a table."""
ITEMS_WITHIN = 10
"""Assumed number of items of a nested loop."""

_MODEL_LIBRARIES = (
    "openai",
    "anthropic",
    "google.generativeai",
    "google.genai",
    "ollama",
    "litellm",
    "mistralai",
)
_MODELS = re.compile(
    r"\b(chat\.completions|completions|responses|embeddings)\.(create|parse|stream)$|\bgenerate_content(_stream)?$"
    r"|^(ollama|litellm)\.\w+$|\.(generateContent|generateText|streamText)$"
)
_MODEL_MESSAGES = re.compile(r"\bmessages\.(create|stream|parse)$")
_NAMED: tuple[tuple[WorkKind, re.Pattern[str]], ...] = (
    (
        "program",
        re.compile(
            r"^subprocess\.(run|call|check_call|check_output|Popen)$|^os\.(system|popen)$"
            r"|^asyncio\.create_subprocess_(exec|shell)$|^child_process\.\w+$|^os/exec\.Command(Context)?$"
            r"|\bProcessBuilder\b.*\.start$|Runtime\.getRuntime\(\)\.exec$"
        ),
    ),
    (
        "file",
        re.compile(
            r"^open$|^(io|aiofiles)\.open$|\.(read_text|read_bytes|write_text|write_bytes)$"
            r"|^fs(/promises)?\.(promises\.)?(read|write|append|copy|open)\w*$"
            r"|^os\.(Open|OpenFile|Create|ReadFile|WriteFile)$"
            r"|\bFiles\.(read|write|lines|copy|newBuffered|newInput|newOutput)\w*$|\bFile(Input|Output)Stream$"
        ),
    ),
    (
        "publish",
        re.compile(
            r"\.(basic_publish|send_and_wait|convertAndSend|WriteMessages)$"
            r"|(producer|publisher|sqs|sns|kafka\w*|queue|bus|nats|nc|broker)\w*"
            r"(\(\))?\.(send|send_message|sendMessage|publish|produce|Publish|SendMessage)$",
            re.IGNORECASE,
        ),
    ),
    ("write", re.compile(r"\.executeUpdate$")),
    (
        "query",
        re.compile(
            r"\.executeQuery$|\bDriverManager\.getConnection$"
            r"|^(psycopg2?|asyncpg|pymysql|MySQLdb|pyodbc|mysql\.connector)\.connect$"
        ),
    ),
    ("send", re.compile(r"\.(put_object|upload_file|upload_fileobj|putObject|PutObject|delete_object)$")),
    (
        "request",
        re.compile(r"\.(get_object|download_file|getObject|GetObject|head_object)$|[sS]tub\.[A-Z]\w+$"),
    ),
)
_REMOTE: dict[tuple[str, bool], WorkKind] = {
    ("http", True): "request",
    ("http", False): "send",
    ("database", True): "query",
    ("database", False): "write",
    ("cache", True): "cache",
    ("cache", False): "cache",
}
_TOGETHER = frozenset(
    ("gather", "create_task", "start_soon", "ensure_future", "submit", "all", "allSettled", "add_task", "Go")
)
_MESSAGES = re.compile(r"consum|message|queue|subscri|channel|record|stream|poll|recv|deliver", re.IGNORECASE)
_SERVER_ERROR = re.compile(
    r"\b5\d\d\b|StatusInternalServerError|StatusBadGateway|INTERNAL_SERVER|BAD_GATEWAY"
)
_SPACES = re.compile(r"\s+")
_LONGEST_NAME = 60


def dependencies_of(body: Span, kind: EntryKind, facts: Facts, lines: int) -> tuple[Dependency, ...]:
    """Return dependencies in the order of the text. `lines` were put before the text to parse it."""
    found = sorted(_work(body, kind, facts), key=lambda each: (each[1].span.start, each[1].span.end))
    dependencies, seen = list[Dependency](), set[Span]()
    for profile, call, inner in found:
        # A call that runs only after a failure does not shape the usual latency.
        if call.span in seen or _is_in_handler(call, body, facts):
            continue
        seen.add(call.span)
        dependencies.append(_dependency(profile, call, inner, kind, facts, lines))
    return tuple(dependencies)


def _work(body: Span, kind: EntryKind, facts: Facts) -> Iterator[tuple[WorkKind, Call, Call]]:
    """Yield the kind, the call in the function, and the call that leaves the process."""
    calls = {call.span: call for call in facts.within(facts.calls, body)}
    own = [each for each in remote_calls(facts) if each.call.span in calls]
    known = {each.call.span for each in own}
    for each in own:
        yield _REMOTE[each.kind, each.is_read], each.call, each.through or each.call
    for span, call in calls.items():
        if span in known or call.is_decorator:
            continue
        if call.name in SLEEPS and call.name not in (
            "setTimeout",
            "time.After",
            "time.NewTimer",
            "time.Tick",
        ):
            yield "wait", call, call
        elif _is_model(call, facts):
            yield "token" if kind == "stream" else "model", call, call
        else:
            profile = next((profile for profile, names in _NAMED if names.search(call.name)), None)
            if profile is not None:
                yield profile, call, call


def _is_model(call: Call, facts: Facts) -> bool:
    if _MODELS.search(call.name):
        return True
    return _MODEL_MESSAGES.search(call.name) is not None and (
        facts.imports_any(*_MODEL_LIBRARIES) or "nthropic" in call.name
    )


def _dependency(
    profile: WorkKind, call: Call, inner: Call, kind: EntryKind, facts: Facts, lines: int
) -> Dependency:
    limits = limits_of(inner, facts)
    together = _is_concurrent(call, facts)
    wait_s = 0.0
    if profile == "wait":
        given = call.argument(place=0)
        wait_s = (None if given is None else seconds_of(given.value.text, facts)) or 0.0
    return Dependency(
        kind=profile,
        call=_SPACES.sub(" ", facts.in_words_of(call, call.written))[-_LONGEST_NAME:],
        line=max(call.line - lines, 1),
        times=1 if together else _times(call, kind, facts),
        is_concurrent=together,
        is_soft=_is_soft(call, facts),
        timeout_s=limits.timeout_s,
        timeout_is=limits.timeout_is,
        tries=limits.tries,
        library=limits.library,
        wait_s=0.0 if is_in_retry_loop(call, facts) else wait_s,
    )


def _times(call: Call, kind: EntryKind, facts: Facts) -> int:
    loops = [each for each in facts.loops_around(call) if is_over_items(each)]
    if is_in_retry_loop(call, facts):
        loops = [each for each in loops if each != facts.loops_around(call)[-1]]
    if kind == "message" and loops and _is_inbox(loops[0]):
        loops = loops[1:]
    if not loops:
        return 1
    return ITEMS[kind] * (ITEMS_WITHIN if len(loops) > 1 else 1)


def _is_inbox(loop: Loop) -> bool:
    """Return whether a loop receives messages: each round is a separate unit of work."""
    return loop.is_async or _MESSAGES.search(loop.over) is not None


def _is_concurrent(call: Call, facts: Facts) -> bool:
    if call.is_launched or any(each.method in _TOGETHER for each in facts.calls_around(call)):
        return True
    return any(each.is_launched and is_within(call.span, each.span) for each in facts.calls)


def _is_in_handler(call: Call, body: Span, facts: Facts) -> bool:
    return any(
        is_within(call.span, handler.body) and is_within(handler.span, body)
        for each in facts.tries
        for handler in each.handlers
        if facts.language != "go"
    )


def _is_soft(call: Call, facts: Facts) -> bool:
    """Return whether its failure is handled without failing the function."""
    tries = facts.tries_around(call)
    if not tries or facts.language == "go" or is_in_retry_loop(call, facts):
        return False
    return all(
        not handler.raises and not _SERVER_ERROR.search(facts.text(handler.body))
        for handler in tries[-1].handlers
    )
