"""The calls of a function that its latency and availability depend on. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.code.facts import Call, Facts, Loop, is_within
from faultkit.code.rules.vocabulary.often import is_over_items, is_tried_again
from faultkit.code.rules.vocabulary.remote import Remote, remotes
from faultkit.code.rules.vocabulary.waits import SLEEPS
from faultkit.code.slos.patience import patience_of
from faultkit.code.slos.seconds import seconds_of
from faultkit.code.slos.work import Dependency, EntryKind, WorkKind
from faultkit.code.syntax import Span

ITEMS: dict[EntryKind, int] = {"request": 10, "stream": 10, "message": 10, "job": 1000, "function": 10}
"""How many items a loop is taken to go over, if the code does not tell: an answer to a person holds a page,
a job goes over a table."""
ITEMS_WITHIN = 10
"""In a loop inside a loop."""

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
    """In the order of the text. `lines` is what was put before the text to read it."""
    found = sorted(_work(body, kind, facts), key=lambda each: (each[1].span.start, each[1].span.end))
    made, seen = list[Dependency](), set[Span]()
    for work, call, inner in found:
        # What only runs when something else failed is not what people wait for every day.
        if call.span in seen or _is_in_handler(call, body, facts):
            continue
        seen.add(call.span)
        made.append(_dependency(work, call, inner, kind, facts, lines))
    return tuple(made)


@lru_cache(maxsize=2)
def _remotes(facts: Facts) -> tuple[Remote, ...]:
    return remotes(facts)


def _work(body: Span, kind: EntryKind, facts: Facts) -> Iterator[tuple[WorkKind, Call, Call]]:
    """What it is, the call in the function, and the call that leaves the process."""
    calls = {call.span: call for call in facts.within(facts.calls, body)}
    own = [each for each in _remotes(facts) if each.call.span in calls]
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
            work = next((work for work, names in _NAMED if names.search(call.name)), None)
            if work is not None:
                yield work, call, call


def _is_model(call: Call, facts: Facts) -> bool:
    if _MODELS.search(call.name):
        return True
    return _MODEL_MESSAGES.search(call.name) is not None and (
        facts.imports_any(*_MODEL_LIBRARIES) or "nthropic" in call.name
    )


def _dependency(
    work: WorkKind, call: Call, inner: Call, kind: EntryKind, facts: Facts, lines: int
) -> Dependency:
    patience = patience_of(inner, facts)
    together = _is_concurrent(call, facts)
    wait_s = 0.0
    if work == "wait":
        given = call.argument(place=0)
        wait_s = (None if given is None else seconds_of(given.value.text, facts)) or 0.0
    return Dependency(
        kind=work,
        call=_SPACES.sub(" ", facts.in_words_of(call, call.written))[-_LONGEST_NAME:],
        line=max(call.line - lines, 1),
        times=1 if together else _times(call, kind, facts),
        is_concurrent=together,
        is_soft=_is_soft(call, facts),
        timeout_s=patience.timeout_s,
        timeout_is=patience.timeout_is,
        tries=patience.tries,
        library=patience.library,
        wait_s=0.0 if is_tried_again(call, facts) else wait_s,
    )


def _times(call: Call, kind: EntryKind, facts: Facts) -> int:
    loops = [each for each in facts.loops_around(call) if is_over_items(each)]
    if is_tried_again(call, facts):
        loops = [each for each in loops if each != facts.loops_around(call)[-1]]
    if kind == "message" and loops and _is_inbox(loops[0]):
        loops = loops[1:]
    if not loops:
        return 1
    return ITEMS[kind] * (ITEMS_WITHIN if len(loops) > 1 else 1)


def _is_inbox(loop: Loop) -> bool:
    """Goes over messages as they come: each round is a piece of work of its own."""
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
    """Its failure is caught, and what is done then is not to fail as well."""
    tries = facts.tries_around(call)
    if not tries or facts.language == "go" or is_tried_again(call, facts):
        return False
    return all(
        not handler.raises and not _SERVER_ERROR.search(facts.text(handler.body))
        for handler in tries[-1].handlers
    )
