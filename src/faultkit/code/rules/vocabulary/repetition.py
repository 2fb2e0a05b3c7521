"""Code that runs more than once: retries, and code that runs for each request, message or item.

A retry is a loop, a decorator, or a helper that calls a function until it works.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from faultkit.code.facts import Call, Facts, Loop, Scope, Try, is_within
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.http_requests import library_of
from faultkit.code.rules.vocabulary.waits import is_constant, waits_in

_WORD = re.compile(r"retr(y|ies|ier|ying)|backoff", re.IGNORECASE)
_CLIENTS = ("RetryClient", "retryablehttp", "RetryTransport", "HTTPAdapter")
_ON_CLIENT = ("transport", "retry", "retries", "retry_options", "adapter")
_CALLER_LEVELS = 3
"""Levels of callers that are examined."""
_COUNTED = re.compile(
    r"retr|attempt|backoff|delay|range|tries|trial|deadline|monotonic|max|left|<", re.IGNORECASE
)
"""Words in the head of a loop that retries, in contrast to one that iterates over work."""
_FAILURES = ("Error", "Exception", "Timeout", "Failure", "Fault", "Failed", "Unavailable", "Reset")
_SUCCESS = re.compile(r"\berr == nil\b|StatusCode")
_SIZE = re.compile(r"\.length\b|\.size\b|\blen\(")
_ROUND = re.compile(r"attempt|retr|tr(y|ies)|round|^_|^[inkx]$", re.IGNORECASE)
_NO_FAILURES = frozenset(
    {
        "BlockingIOError",
        "EOFError",
        "IndexError",
        "InterruptedError",
        "KeyError",
        "KeyboardInterrupt",
        "SSLWantReadError",
        "SSLWantWriteError",
        "StopIteration",
        "TypeError",
        "UnicodeDecodeError",
        "ValueError",
    }
)
_ANSWERS = frozenset(
    {"BlockingIOError", "FileExistsError", "InterruptedError", "SSLWantReadError", "SSLWantWriteError"}
)
"""Errors that mean "not yet", or "not under this name"."""
_LOCAL = frozenset({"list", "tuple", "set", "dict", "sorted", "len", "next", "iter", "max", "min", "sum"})
_OF_DATA = re.compile(r"(Header|Parse|Syntax|Decode|Format|Validation|Attribute|Lookup)Error$")
"""Errors of data, which will fail again."""
_CONVERTS = re.compile(r"raise|throw|convert|translate|(^|_)fail", re.IGNORECASE)
"""Names of functions that convert an error into another one and do not return."""
_WAITS = frozenset(
    {"result", "wait", "wait_for", "get", "join", "recv", "accept", "poll", "acquire", "input", "int"}
)
"""Calls that wait: waiting once more for something under way is no retry."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Code that is tried again after a failure."""

    how: Literal["loop", "decorator", "helper"]
    span: Span
    """The head of the loop, the decorator, or the call of the helper: where a finding points."""
    body: Span
    """The code that is tried again."""
    call: Call | None
    """The decorator or helper."""
    loop: Loop | None
    waits: bool | None
    """Whether it waits between tries; None if a helper decides."""
    waits_longer: bool | None
    limited: bool | None


@lru_cache(maxsize=4)
def retries(facts: Facts) -> tuple[Retry, ...]:
    """Return the retries of a text."""
    found = [_of_loop(loop, facts) for loop in facts.loops]
    found += [_of_decorator(scope, each) for scope in facts.scopes for each in scope.decorators]
    found += [_of_helper(call, facts) for call in facts.calls]
    return tuple(each for each in found if each is not None)


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
    if any(word in call.name for word in _CLIENTS):
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
    if not _WORD.search(call.name):
        return None
    name = call.name
    if name.startswith("tenacity.") or name == "retry" or call.method == "retry":
        known = name.startswith(("tenacity", "retrying")) or call.has("stop", "wait", "retry", "reraise")
        if not known:
            return Retry("decorator", call.span, scope.body, call, None, None, None, None)
        waits, limited = call.has("wait"), call.has("stop")
        wait = call.argument("wait")
        longer = wait is None or "fixed" not in wait.value.text
        return Retry("decorator", call.span, scope.body, call, None, waits, longer, limited)
    if name in ("backoff.on_exception", "backoff.on_predicate"):
        limited = call.has("max_tries", "max_time")
        return Retry("decorator", call.span, scope.body, call, None, True, True, limited)
    return Retry("decorator", call.span, scope.body, call, None, None, None, None)


def _of_helper(call: Call, facts: Facts) -> Retry | None:
    """Find `pRetry(() => …)`, `retry.Do(func() …)`: a call that is given what to try."""
    if call.is_decorator or not _WORD.search(call.written):
        return None
    given = [each for each in call.positional if each.value.shape == "function"]
    if not given:
        return None
    return Retry("helper", call.callee, given[0].value.span, call, None, None, None, None)


def _of_loop(loop: Loop, facts: Facts) -> Retry | None:
    if loop.kind == "comprehension":
        return None
    again = _retried_body(loop, facts)
    if again is None:
        return None
    if loop.kind in ("each", "while") and not _COUNTED.search(loop.over):
        return None
    if loop.kind == "count" and _SIZE.search(loop.over) and not _ROUND.search(loop.over):
        return None
    waits = waits_in(loop, facts)
    head = Span(loop.span.start, min(loop.body.start, loop.span.end))
    longer = not waits or not all(map(is_constant, waits))
    return Retry("loop", head, again, None, loop, bool(waits), longer, _is_limited(loop, facts))


def _is_directly_in(loop: Loop, facts: Facts, place: Span) -> bool:
    if not is_within(place, loop.body):
        return False
    return not any(
        is_within(place, each.body) for each in facts.within(facts.loops, loop.body) if each != loop
    )


def _retried_body(loop: Loop, facts: Facts) -> Span | None:
    """Return what is tried, if a failure leads to the next round and a success out of the loop."""
    function = facts.function_of(loop)
    for each in facts.tries:
        if (
            not each.handlers
            or not _is_directly_in(loop, facts, each.span)
            or facts.function_of(each) is not function
        ):
            continue
        if facts.language == "go":
            if _go_retries(loop, each, facts):
                return loop.body
        elif (
            _tries_each_item(loop, each, facts)
            or _tries_another(loop, each, facts)
            or _is_answer(each)
            or _is_local(each, facts)
        ):
            continue
        elif any(
            _continues_loop(each, place, facts) for place in range(len(each.handlers))
        ) and _success_ends_loop(loop, each, facts):
            return each.body
    if facts.language == "go" and _go_leaves_on_success(loop, facts):
        return loop.body
    return None


def _tries_each_item(loop: Loop, each: Try, facts: Facts) -> bool:
    """Return whether each round tries another item: that is a search, not a retry."""
    items = [name for name in loop.targets if not _ROUND.search(name)]
    before = Span(loop.body.start, each.body.end)
    return any(facts.mentions(name, before) for name in items)


def _tries_another(loop: Loop, each: Try, facts: Facts) -> bool:
    """Return whether the next round tries something else, as after `path = path.parent`."""
    after = Span(each.body.end, loop.body.end)
    changed = {
        name
        for assigned in facts.within(facts.assignments, after)
        if assigned.operator == "=" and not assigned.targets[0].startswith("self.")
        for name in assigned.targets
        if name.isidentifier() and not _COUNTED.search(name) and not _ROUND.search(name)
    }
    return any(facts.mentions(name, each.body) for name in changed)


def _is_answer(each: Try) -> bool:
    """Return whether nothing failed, as in `except FileExistsError: continue`."""
    return any(
        handler.types and all(name.rpartition(".")[2] in _ANSWERS for name in handler.types)
        for handler in each.handlers
    )


def _is_local(each: Try, facts: Facts) -> bool:
    """Return whether only memory is read again, as in `list(things)` while another thread changes it."""
    calls = list(facts.within(facts.calls, each.body))
    return bool(calls) and all(call.name in _LOCAL for call in calls)


def _continues_loop(each: Try, place: int, facts: Facts) -> bool:
    """Return whether the handler lets the loop continue, at least sometimes."""
    handler = each.handlers[place]
    if handler.types and all(name.rpartition(".")[2] in _NO_FAILURES for name in handler.types):
        return False
    if handler.types and not any(map(_is_failure, handler.types)):
        return False
    inside = list(facts.within(facts.calls, handler.body))
    if handler.uses_error and len(inside) == 1 and _CONVERTS.search(inside[0].method):
        return False
    if not handler.exits:
        return True
    leaving = [
        step
        for step in facts.within(facts.steps, handler.body)
        if step.kind in ("return", "break", "raise") and step.span.end <= handler.body.end
    ]
    guards = [step for step in facts.within(facts.steps, handler.body) if step.kind == "branch"]
    return all(any(is_within(step.span, guard.span) for guard in guards) for step in leaving)


def _is_failure(name: str) -> bool:
    """Return whether an error type is a failure: `InvalidResponse` of a prompt is none."""
    last = name.rpartition(".")[2]
    if _OF_DATA.search(last):
        return False
    return not last[:1].isupper() or last.endswith(_FAILURES) or len(last) < 3


def _success_ends_loop(loop: Loop, each: Try, facts: Facts) -> bool:
    """Return whether success ends the loop."""
    calls = list(facts.within(facts.calls, each.body))
    if calls and all(call.method in _WAITS and library_of(call, facts.language) is None for call in calls):
        return False
    handlers = [handler.span for handler in each.handlers]
    branches = [step.span for step in facts.within(facts.steps, loop.body) if step.kind == "branch"]
    for step in facts.within(facts.steps, loop.body):
        if step.kind not in ("return", "break") or step.span.start < each.span.start:
            continue
        if any(is_within(step.span, handler) for handler in handlers):
            continue
        # A conditional exit belongs to a loop that continues on success, except a `return answer` inside the
        # tried body.
        under = any(is_within(step.span, branch) for branch in branches)
        gives = step.kind == "return" and bool(step.text) and is_within(step.span, each.body)
        if (gives or not under) and facts.function_of(step) is facts.function_of(loop):
            return True
    return False


def _go_retries(loop: Loop, each: Try, facts: Facts) -> bool:
    if loop.kind == "each":
        return False
    if any(handler.exits for handler in each.handlers):
        return False
    steps = list(facts.within(facts.steps, loop.body))
    branches = [step for step in steps if step.kind == "branch"]
    return any(
        step.kind in ("return", "break")
        and all(_SUCCESS.search(branch.text) for branch in branches if is_within(step.span, branch.span))
        for step in steps
    )


def _go_leaves_on_success(loop: Loop, facts: Facts) -> bool:
    if loop.kind == "each":
        return False
    for step in facts.within(facts.steps, loop.body):
        if step.kind == "branch" and _SUCCESS.search(step.text):
            inside = facts.within(facts.steps, step.span)
            if any(one.kind in ("return", "break") for one in inside):
                return True
    return False


def _ends_with_context(loop: Loop, facts: Facts) -> bool:
    """Return whether a Go loop has `case <-ctx.Done(): return`."""
    return facts.language == "go" and any(
        call.method == "Done" and "ctx" in call.receiver_written.lower()
        for call in facts.within(facts.calls, loop.body)
    )


def _is_limited(loop: Loop, facts: Facts) -> bool:
    if loop.kind != "endless" or _ends_with_context(loop, facts):
        return True
    for each in facts.tries:
        for handler in each.handlers:
            if is_within(handler.span, loop.body) and handler.exits:
                return True
    counters = {
        target
        for each in facts.within(facts.assignments, loop.span)
        if each.operator in ("+=", "-=", "++", "--")
        for target in each.targets
    }
    return any(
        step.kind == "branch" and any(re.search(rf"\b{re.escape(name)}\b", step.text) for name in counters)
        for step in facts.within(facts.steps, loop.body)
    )


# Frequency: code that runs for each request, message or item.


Frequency: TypeAlias = Literal["request", "message", "item"]

_JOBS = frozenset(
    (
        "task", "shared_task", "job", "actor", "KafkaListener", "RabbitListener", "SqsListener",
        "JmsListener", "EventListener", "MessagePattern", "EventPattern", "subscriber", "agent", "consumer",
    )
)  # fmt: skip
_JOB_NAMES = re.compile(
    r"^(lambda_handler|on_?message|handle_?(message|event|request|job|task)|process_?(message|event|job))$",
    re.IGNORECASE,
)
_ONCE = re.compile(
    r"^(main|__main__|__init__|__new__|__aenter__|__enter__|__post_init__|constructor|init|setup|set_up|setUp"
    r"|lifespan|startup|on_?startup|start|run|cli|configure|bootstrap|connect|create_app|build_app|shutdown"
    r"|New[A-Z]\w*|[Ii]nit[A-Z]\w*|init_\w+|setup_\w+|test_?\w*|create_?\w*client|make_?\w*client|build_?\w*client"
    r"|get_?\w*(client|session|http|engine|pool|db))$"
)
_CACHED = frozenset(
    ("lru_cache", "cache", "cached_property", "fixture", "asynccontextmanager", "contextmanager")
)
_MADE_ONCE = frozenset(("Bean", "PostConstruct", "BeforeAll", "BeforeEach", "Singleton", "on_event"))
_LENGTH = re.compile(r"\blen\(|\.(length|size\(\))")
_FIXED = re.compile(
    r"[\[({][^*]*[\])}]|(Object\.\w+\(|list\(|sorted\(|enumerate\()?([\w.]+\.)?_*[A-Z][A-Z0-9_]+(\.\w+\(\))?\)?",
    re.DOTALL,
)
"""Items that are written out: a literal, or a constant by its name, such as `HOSTS` or `HOSTS.items()`."""


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
    if scope is None or depth == _CALLER_LEVELS or runs_once(scope):
        return None
    for caller in facts.callers_of(scope):
        if facts.named_function_of(caller) is not scope and (
            found := _frequency_of(caller, facts, depth + 1)
        ):
            return found
    return None


def runs_once(scope: Scope) -> bool:
    """Return whether a name or decorator shows that a function makes or starts something once."""
    names = {each.method for each in scope.decorators}
    if names & _CACHED or names & _MADE_ONCE:
        return True
    return (
        _ONCE.match(scope.short_name) is not None or scope.short_name == scope.owner.rpartition(".")[2] != ""
    )


def is_over_items(loop: Loop) -> bool:
    """Return whether a loop has an unknown number of items: no literal list, range or endless loop."""
    if loop.kind == "count" or loop.over.startswith("range("):
        # With a step, each round is a batch.
        return _LENGTH.search(loop.over) is not None and loop.over.count(",") < 2
    if loop.kind not in ("each", "comprehension"):
        return False
    return _FIXED.fullmatch(loop.over) is None


_RANGE = re.compile(r"range\(([^,]+)(?:,([^,]+))?\)")
_CLAUSE = re.compile(
    r"\b(\w+)\s*:?=([^;]{1,200});\s*\1\s*<(=?)([^;]{1,200});\s*(?:\1\+\+|\+\+\1|\1\s*\+=\s*1\b)"
)
"""The clause of `for (let i = 0; i < n; i++)` and of its relatives in Go and Java."""
_SMALL = re.compile(r"\d{1,9}")
_FEW = 3


def counter_of(loop: Loop, facts: Facts) -> str:
    """Return the variable of a loop that counts by one; empty if it does not, or if it has few rounds.

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
    text = facts.text(call.span)
    return any(re.search(rf"(?<![\w.]){re.escape(name)}\b", text) for name in names - {"_"})


def _is_handler(scope: Scope) -> bool:
    """Return whether the parameters are `(req, res)` or `(req, res, next)`, registered in another file."""
    names = tuple(each.name for each in scope.parameters[:2])
    return names in (("req", "res"), ("request", "response"), ("_req", "res"))


def _is_job(scope: Scope) -> bool:
    if _JOB_NAMES.match(scope.short_name):
        return True
    return any(each.method in _JOBS for each in scope.decorators)
