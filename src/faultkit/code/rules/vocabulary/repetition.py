"""Code that runs more than once: retries, and code that runs for each request, message or item.

A retry is a loop, a decorator, or a helper that calls a function until it works.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Literal, TypeAlias

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, Place, Scope, is_within
from faultkit.code.facts.facts import Placed
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.recursive_retries import recursive_retries
from faultkit.code.rules.vocabulary.retry_loops import Retry, retry_of_loop
from faultkit.code.rules.vocabulary.retry_operators import operators
from faultkit.code.rules.vocabulary.retry_policies import policies
from faultkit.code.rules.vocabulary.retrying_clients import NAMES_OF_CLIENTS
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_WORD = NamePattern(r"retr(y|ies|ier|ying)|backoff", re.IGNORECASE)
_OPERATORS = NamePattern(
    r"^(flatMap\w*|map|filter|then\w*|doOn\w*|onError\w*|switchIfEmpty|concatMap\w*|subscribe|handle|catch\w*|finally)$"
)
"""Steps of a chain behind its `retryWhen`, which repeats what comes before it."""
_ON_CLIENT = ("transport", "retry", "retries", "retry_options", "adapter")
_RETRY_PACKAGE = ("retry.retry", "retry.api.retry")
"""Without arguments, it tries again at once and for ever."""
_CALLER_LEVELS = 3
"""Levels of callers that are examined."""


@lru_cache(maxsize=4)
def retries(facts: Facts) -> tuple[Retry, ...]:
    """Return the retries of a text."""
    found = [retry_of_loop(loop, facts) for loop in facts.loops]
    found += [_of_decorator(scope, each) for scope in facts.scopes for each in scope.decorators]
    if facts.syntax.has_any(b"retr", b"backoff"):
        found += [_of_helper(call, facts) for call in facts.calls]
    found += policies(facts)
    found += operators(facts)
    found += recursive_retries(facts)
    known = [each for each in found if each is not None]
    return (*known, *_through_own_helpers(known, facts))


def _through_own_helpers(known: list[Retry], facts: Facts) -> Iterator[Retry]:
    """Yield what functions of this text are given to try again: `again(5, func() error { … })`."""
    given_already = {each.body for each in known}
    for retry in known:
        helper = facts.named_function_of(Place(retry.span)) if retry.how == "loop" else None
        names = set[str]() if helper is None else {each.name for each in helper.parameters}
        if helper is None or not any(
            call.written in names for call in facts.within(facts.calls, retry.body) if "." not in call.written
        ):
            continue
        for call in facts.callers_of(helper):
            for each in call.positional:
                if each.value.shape == "function" and each.value.span not in given_already:
                    # How the helper waits and when it gives up is said of its loop.
                    yield Retry("helper", call.callee, each.value.span, call, None, None, None, None)


def is_retried(call: Call, facts: Facts) -> bool:
    """Return whether a call is tried again when it fails, as far as this text shows."""
    return _is_retried(call, facts, retries(facts), 0)


def _is_retried(call: Call, facts: Facts, known: tuple[Retry, ...], depth: int) -> bool:
    if any(is_within(call.span, each.body) for each in known):
        return True
    if any(_WORD.search(each.written) for each in facts.calls_around(call)):
        return True
    if _client_retries(call, facts):
        return True
    scope = facts.named_function_of(call)
    if scope is None or depth == _CALLER_LEVELS:
        return False
    if _WORD.search(scope.short_name):
        return True
    for each in facts.calls:
        if _WORD.search(each.written) and any(
            argument.value.text == scope.short_name for argument in each.arguments
        ):
            return True
    callers = facts.callers_of(scope)
    outside = [each for each in callers if facts.named_function_of(each) is not scope]
    return bool(outside) and all(_is_retried(each, facts, known, depth + 1) for each in outside)


def _client_retries(call: Call, facts: Facts) -> bool:
    if any(word in call.name for word in NAMES_OF_CLIENTS):
        return True
    client = call.origin
    while client is not None:
        if client.has(*_ON_CLIENT) or _WORD.search(client.name):
            return True
        if any(each.method in ("mount", "interceptors") for each in facts.calls_on(client)):
            return True
        # axiosRetry(client, …) takes the client as an argument.
        names = {*client.assigned}
        for each in facts.calls:
            if _WORD.search(each.written) and any(one.value.text in names for one in each.arguments):
                return True
        client = client.origin
    return False


def _of_decorator(scope: Scope, call: Call) -> Retry | None:
    if call.method in ("task", "shared_task") and call.has("autoretry_for"):
        # Celery waits, and gives up after three tries, unless it is told otherwise.
        return Retry("decorator", call.span, scope.body, call, None, True, True, True)
    if not _WORD.search(call.name):
        return None
    if call.name.endswith("()") and call.origin is not None:
        # `again = retry(stop=…)`, and then `@again`
        made = _of_decorator(scope, call.origin)
        return None if made is None else replace(made, span=call.span)
    name = call.name
    if name in _RETRY_PACKAGE:
        limited, waits = call.has("tries") or len(call.positional) > 1, call.has("delay", "backoff")
        return Retry("decorator", call.span, scope.body, call, None, waits, None, limited or waits)
    if name.startswith("retrying."):
        limited = any(each.name.startswith("stop") for each in call.arguments)
        waits = any(each.name.startswith("wait") for each in call.arguments)
        return Retry("decorator", call.span, scope.body, call, None, waits, None, limited)
    if name.startswith("tenacity.") or name == "retry" or call.method == "retry":
        known = name.startswith("tenacity") or call.has("stop", "wait", "retry", "reraise")
        if not known:
            return Retry("decorator", call.span, scope.body, call, None, None, None, None)
        wait, stop = call.argument("wait"), call.argument("stop")
        waits = wait is not None and "wait_none" not in wait.value.text
        limited = stop is not None and "stop_never" not in stop.value.text
        longer = wait is None or "fixed" not in wait.value.text
        return Retry("decorator", call.span, scope.body, call, None, waits, longer, limited)
    if name in ("backoff.on_exception", "backoff.on_predicate"):
        limited = call.has("max_tries", "max_time")
        return Retry("decorator", call.span, scope.body, call, None, True, True, limited)
    return Retry("decorator", call.span, scope.body, call, None, None, None, None)


def _of_helper(call: Call, facts: Facts) -> Retry | None:
    """Find `pRetry(() => …)`, `retry.Do(func() …)`: a call that is given what to try."""
    if call.is_decorator or not _WORD.search(call.written) or _OPERATORS.match(call.method):
        return None
    if facts.language == "rust" and call.method == "retry":
        # backon: `operation.retry(policy)` with a closure, or `(|| …).retry(policy)`.
        for made in facts.assignments_to(call.receiver_written, call):
            if made.value is not None and made.value.shape == "function":
                return Retry("helper", call.callee, made.value.span, call, None, None, None, None)
        if facts.text(call.callee).startswith(("(||", "(move ||", "||")):
            return Retry("helper", call.callee, call.callee, call, None, None, None, None)
    given = [each for each in call.positional if each.value.shape == "function"]
    if given:
        return Retry("helper", call.callee, given[0].value.span, call, None, None, None, None)
    for each in call.positional:
        # `backoff.Retry(operation, policy)` with a function of this text.
        own = facts.functions_named(each.value.text.rpartition(".")[2]) if each.value.shape == "name" else ()
        if (
            len(own) == 1
            and not _WORD.search(own[0].short_name)
            and facts.named_function_of(call) is not own[0]
        ):
            return Retry("helper", call.callee, own[0].body, call, None, None, None, None)
    return None


# Frequency: code that runs for each request, message or item.


Frequency: TypeAlias = Literal["request", "message", "item"]

_JOBS = frozenset(
    (
        "task", "shared_task", "job", "actor", "KafkaListener", "RabbitListener", "SqsListener",
        "JmsListener", "EventListener", "MessagePattern", "EventPattern", "subscriber", "agent", "consumer",
    )
)  # fmt: skip
_JOB_NAMES = NamePattern(
    r"^(lambda_handler|handler|on_?message|handle_?(message|event|request|job|task)|process_?(message|event|job))$",
    re.IGNORECASE,
)
_ONCE = NamePattern(
    r"^(main|__main__|__init__|__new__|__aenter__|__enter__|__post_init__|constructor|init|setup|set_up|setUp"
    r"|lifespan|startup|on_?startup|start|run|cli|configure|bootstrap|connect|create_app|build_app|shutdown"
    r"|New[A-Z]\w*|[Ii]nit[A-Z]\w*|[Ii]nitiali[sz]e_?\w*|[Ss]eed(Async)?|init_\w+|setup_\w+|test_?\w*|create_?\w*client|make_?\w*client|build_?\w*client"
    r"|get_?\w*(client|session|http|engine|pool|db))$"
)
_CACHED = frozenset(
    ("lru_cache", "cache", "cached_property", "fixture", "asynccontextmanager", "contextmanager")
)
_MADE_ONCE = frozenset(("Bean", "PostConstruct", "BeforeAll", "BeforeEach", "Singleton", "on_event"))
_LENGTH = lazy_regex(r"\blen\(|\.(length|size\(\))")
_FIXED = lazy_regex(
    r"[\[({][^*]*[\])}]|(Object\.\w+\(|list\(|sorted\(|enumerate\()?([\w.]+\.)?_*[A-Z][A-Z0-9_]+(\.\w+\(\))?\)?",
    re.DOTALL,
)
"""Items that are written out: a literal, or a constant by its name, such as `HOSTS` or `HOSTS.items()`."""

_SCREENS = TextPattern(
    rb"^(using\s+(UnityEngine|System\.(Windows|Drawing)|Microsoft\.(UI|Maui)|Windows\.UI|Xamarin|Avalonia|Godot|Eto\.|Gtk)"
    rb"|import\s+(android|androidx|javafx)\.)",
    re.MULTILINE,
)
_SCREEN_WORDS = (
    b"Unity",
    b"System.",
    b"Microsoft.",
    b"Windows.UI",
    b"Xamarin",
    b"android",
    b"javafx",
    b"Avalonia",
    b"Godot",
    b"Eto.",
    b"Gtk",
)
"""One of them is in each text that `_SCREENS` matches; they are found faster."""


@lru_cache(maxsize=4)
def is_for_screen(facts: Facts) -> bool:
    """Return whether a text of C# or Kotlin is part of a program with a screen, which serves one user."""
    source = facts.syntax.source
    return any(word in source for word in _SCREEN_WORDS) and _SCREENS.search(source) is not None


def frequency_of(place: Placed, facts: Facts) -> Frequency | None:
    """Return how often code runs: for each request, message or item; None if nothing shows that it
    repeats."""
    return _frequency_of(place, facts, 0)


def _frequency_of(place: Placed, facts: Facts, depth: int) -> Frequency | None:
    if facts.route_of(place) is not None or any(map(_is_handler, facts.functions_around(place))):
        return "request"
    if any(_is_job(scope) for scope in facts.functions_around(place)):
        return "message"
    if any(map(is_over_items, facts.loops_around(place))) and not is_in_retry_loop(place, facts):
        return "item"
    scope = facts.named_function_of(place)
    if scope is not None and _is_dependency(scope, facts):
        return "request"
    if scope is None or depth == _CALLER_LEVELS or runs_once(scope):
        return None
    for caller in facts.callers_of(scope):
        if facts.named_function_of(caller) is not scope and (
            found := _frequency_of(caller, facts, depth + 1)
        ):
            return found
    return None


def _is_dependency(scope: Scope, facts: Facts) -> bool:
    """Return whether FastAPI calls a function for each request: `session = Depends(get_session)`."""
    if facts.language != "python" or any(each.method in _CACHED for each in scope.decorators):
        return False
    return any(
        argument.value.text == scope.short_name
        for call in facts.calls_named("fastapi.Depends", "fastapi.params.Depends", "fastapi.Security")
        for argument in call.arguments
    )


def runs_once(scope: Scope) -> bool:
    """Return whether a name or decorator shows that a function makes or starts something once."""
    names = {each.method for each in scope.decorators}
    if names & _CACHED or names & _MADE_ONCE:
        return True
    return (
        _ONCE.match(scope.short_name) is not None or scope.short_name == scope.owner.rpartition(".")[2] != ""
    )


def is_static(place: Placed, facts: Facts) -> bool:
    """Return whether a place stands in the initial value of a `static`, which is made once (Rust)."""
    if facts.language != "rust":
        return False
    return any(
        each.is_constant and is_within(place.span, each.span) and facts.text(each.span).startswith("static")
        for each in facts.own(facts.assignments, facts.named_function_of(place))
    )


def is_over_items(loop: Loop) -> bool:
    """Return whether a loop has an unknown number of items: no literal list, range or endless loop."""
    if loop.kind == "count" or loop.over.startswith("range("):
        # With a step, each round is a batch.
        return _LENGTH.search(loop.over) is not None and loop.over.count(",") < 2
    if loop.kind not in ("each", "comprehension"):
        return False
    return _FIXED.fullmatch(loop.over) is None


_RANGE = lazy_regex(r"range\(([^,]+)(?:,([^,]+))?\)")
_CLAUSE = lazy_regex(
    r"\b(\w+)\s*:?=([^;]{1,200});\s*\1\s*<(=?)([^;]{1,200});\s*(?:\1\+\+|\+\+\1|\1\s*\+=\s*[1-4]\b)"
)
"""The clause of `for (let i = 0; i < n; i++)` and of its relatives in Go and Java."""
_SMALL = lazy_regex(r"\d{1,9}")
_FEW = 3


def counter_of(loop: Loop, facts: Facts) -> str:
    """Return the variable of a loop that counts by one or in small steps; empty if it has few rounds.

    Few are at most three, or as many as a constant says by its name."""
    if found := _RANGE.fullmatch(loop.over):
        name, more = (loop.targets or ("",))[0], 0
        first, last = ("0", found[1]) if found[2] is None else (found[1], found[2])
    elif loop.kind == "count" and (found := _CLAUSE.search(facts.text(loop.head))):
        name, first, last, more = found[1], found[2], found[4], len(found[3])
    else:
        return ""
    first, last = first.strip(), last.strip()
    if _SMALL.fullmatch(first) and _SMALL.fullmatch(last):
        return name if int(last) + more - int(first) > _FEW else ""
    return "" if _FIXED.fullmatch(last) else name


def is_in_retry_loop(place: Placed, facts: Facts) -> bool:
    """Return whether a loop repeats one thing until it works."""
    around = facts.loops_around(place)
    return bool(around) and any(each.loop == around[-1] for each in retries(facts) if each.loop is not None)


def uses_item(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether the arguments or the object of a call change with the item."""
    names = {word for target in loop.targets for word in re.findall(r"[A-Za-z_]\w*", target)} - {"_"}
    for each in facts.within(facts.assignments, loop.body):
        # Not `rows[0]` or `this.x`: what is stored there is not the item.
        bare = [target for target in each.targets if not re.search(r"\w[.\[]", target)]
        names.update(word for target in bare for word in re.findall(r"[A-Za-z_]\w*", target))
    texts = [facts.text(call.span)]
    if not call.arguments and call.receiver_written:
        # `statement.setLong(1, order.id())`, then `statement.executeQuery()`.
        texts += [
            facts.text(each.span)
            for each in facts.within(facts.calls, loop.body)
            if each.receiver_written == call.receiver_written and each.method.startswith(("set", "bind"))
        ]
    return any(re.search(rf"(?<![\w.]){re.escape(name)}\b", text) for name in names - {"_"} for text in texts)


def _is_handler(scope: Scope) -> bool:
    """Return whether the parameters are those of a handler, registered in another file: `(req, res)`."""
    names = tuple(each.name for each in scope.parameters[:2])
    return names in (
        ("req", "res"), ("request", "response"), ("_req", "res"), ("ctx", "next"), ("request", "reply"),
        ("req", "reply"), ("c", "next"), ("context", "next"), ("request", "call_next"),
    )  # fmt: skip


def _is_job(scope: Scope) -> bool:
    if _JOB_NAMES.match(scope.short_name):
        return True
    return any(each.method in _JOBS for each in scope.decorators)
