"""Retries by libraries that are told once how to repeat: Polly, resilience4j, Spring, Reactor, axios-retry …

The values are those of the libraries: without a delay, `RetryAsync` of Polly, `retry(n)` of Reactor,
axios-retry and `Retry` of urllib3 try again at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Handler, Loop, is_within
from faultkit.code.facts.fact_values import Value
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.call_paths import makers_of_parts
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.retry_loops import Retry
from faultkit.code.rules.vocabulary.waits import is_constant, is_sleep

_ZERO = lazy_regex(
    r"^(0|0\.0|TimeSpan\.Zero|Duration\.ZERO|Duration\.of\w+\(0L?\)|0\.\w+|(\(\)|_|\w+)\s*=>\s*0)$"
)
_CONSTANT_SPAN = lazy_regex(r"^(\(?\w+\)?)\s*=>\s*TimeSpan\.From\w+\(\s*[\d._]+\s*\)$")
_ENDLESS = lazy_regex(
    r"^(Infinity|int\.MaxValue|Integer\.MAX_VALUE|Int\.MAX_VALUE|Long\.MAX_VALUE|-1|None|true)$"
)
_POLICY = lazy_regex(r"[rR]etry|[pP]olicy|[pP]ipeline|[rR]esilien")
_RUNS = frozenset(
    ("executeSupplier", "executeCallable", "executeRunnable", "executeCheckedSupplier", "decorateSupplier",
     "decorateCallable", "decorateCheckedSupplier", "decorateRunnable", "executeSuspendFunction", "execute",
     "executeCompletionStage")
)  # fmt: skip
_METHODS = {
    "java": (*_RUNS, "waitDuration", "maxAttempts", "Retryable", "retry", "indefinitely", "infiniteRetry",
             "noBackoff", "withMaxRetries", "retryWhen", "build", "ofDefaults", "FixedBackOff", "atMost",
             "max", "maxInARow"),
    "go": ("Attempts", "Retry", "RetryNotify"),
    "python": ("Retrying", "AsyncRetrying", "Retry"),
}  # fmt: skip
"""The methods that are looked at, where they are few."""
_METHODS["kotlin"] = _METHODS["java"]
_URLLIB3 = ("urllib3.util.retry.Retry", "urllib3.util.Retry", "urllib3.Retry")
_GO_ATTEMPTS = NamePattern(r"retry-go(/v\d)?\.Attempts$")
_GO_BACKOFF = NamePattern(r"cenkalti/backoff(/v\d)?\.(Retry|RetryNotify)$")
_RUST_ENDLESS = lazy_regex(r"max_elapsed_time:\s*None|with_max_elapsed_time\(None\)")
_GO_ENDLESS = lazy_regex(r"\.MaxElapsedTime\s*=\s*0\b|WithMaxElapsedTime\(0\)")
_GO_LIMITS = lazy_regex(r"WithMaxRetries|WithContext|MaxElapsedTime|Context\(")


def policies(facts: Facts) -> Iterator[Retry]:
    """Yield the retries that a text configures."""
    find = {
        "csharp": _csharp,
        "java": _java,
        "kotlin": _java,
        "go": _go,
        "python": _python,
        "rust": _rust,
        "javascript": _javascript,
        "typescript": _javascript,
        "tsx": _javascript,
    }.get(facts.language)
    methods = _METHODS.get(facts.language)
    if find is not None:
        for call in facts.calls if methods is None else facts.calls_of_method(*methods):
            yield from find(call, facts)
    if facts.language == "kotlin":
        yield from _repeated(facts)


def _retry(call: Call, waits: bool | None, longer: bool | None, limited: bool | None) -> Retry:
    # What is tried stands elsewhere: the body is the policy itself.
    return Retry("helper", call.span, call.span, call, None, waits, longer, limited)


def _csharp(call: Call, facts: Facts) -> Iterator[Retry]:
    method = call.method.removesuffix("Async")
    is_policy = "Policy" in call.name or "Handle" in call.name or "OrResult" in call.name
    if method in ("WaitAndRetryForever", "RetryForever") and is_policy:
        waits = method.startswith("Wait")
        yield _retry(call, waits or None, None, False)
    elif method == "Retry" and is_policy and "Wait" not in call.name and not _is_run_by(call):
        yield _retry(call, False, None, True)
    elif method == "WaitAndRetry" and is_policy:
        wait = call.argument(place=1)
        text = "" if wait is None else " ".join(wait.value.text.split())
        is_zero = text.endswith("TimeSpan.Zero")
        yield _retry(call, not is_zero, not _CONSTANT_SPAN.match(text), True)
    elif call.method in ("RetryStrategyOptions", "HttpRetryStrategyOptions") and call.constructs:
        limit, delay = call.argument("MaxRetryAttempts"), call.argument("Delay")
        endless = limit is not None and _ENDLESS.match(limit.value.text) is not None
        at_once = delay is not None and delay.value.text == "TimeSpan.Zero"
        yield _retry(call, not at_once, None, not endless)
    elif method == "Execute" and _POLICY.search(f"{call.name} {call.receiver_written}"):
        for argument in call.positional[:1]:
            body = _function_in(argument.value, call, facts)
            if body is not None:
                yield Retry("helper", call.callee, body, call, None, None, None, None)


def _is_run_by(call: Call) -> bool:
    """Return whether a policy that is made elsewhere is given the work: `policy.Retry(Send)`."""
    first = call.argument(place=0)
    is_work = first is not None and (
        first.value.shape == "function" or (first.value.shape == "name" and first.value.text[:1].isupper())
    )
    return is_work and re.search(r"(?<![.\w])Policy\b|\)$", call.receiver_written) is None


def _java(call: Call, facts: Facts) -> Iterator[Retry]:
    if call.method == "waitDuration" and "RetryConfig" in call.name and _ZERO.match(_first(call)):
        yield _retry(call, False, None, None)
    elif call.method == "maxAttempts" and "RetryConfig" in call.name and _ENDLESS.match(_first(call)):
        yield _retry(call, None, None, False)
    elif call.method == "Retryable":
        limit = call.argument("maxAttempts", "maxRetries")
        if limit is not None and _ENDLESS.match(limit.value.text):
            yield _retry(call, None, None, False)
    elif call.method == "retry" and re.search(
        r"\b(bodyToMono|bodyToFlux|Mono|Flux|exchangeToMono)\b", call.name
    ):
        yield _retry(call, False, None, bool(call.arguments))
    elif call.method == "retryWhen" and "Retry." in _first(call):
        yield _retry(call, None, None, None)
    elif call.method in ("indefinitely", "infiniteRetry") and re.search("[rR]etry", call.name):
        yield _retry(call, None, None, False)
    elif call.method == "noBackoff" and "Retry" in call.name:
        yield _retry(call, False, None, None)
    elif call.method == "withMaxRetries" and "RetryPolicy" in call.name and _first(call) == "-1":
        yield _retry(call, None, None, False)
    elif call.method in ("build", "ofDefaults"):
        yield from _java_builder(call, facts)
    elif call.method == "FixedBackOff" and len(call.positional) == 2:
        pause, tries = (each.value.text for each in call.positional)
        endless = _ENDLESS.match(tries) is not None or tries.endswith("UNLIMITED_ATTEMPTS")
        at_once = _ZERO.match(pause.rstrip("L")) is not None
        yield _retry(call, None if endless else not at_once, None, not endless)
    elif call.method == "atMost" and call.name.endswith(".retry().atMost"):
        if "withBackOff" not in facts.text(call.span):
            yield _retry(call, False, None, True)
    elif call.method in ("max", "maxInARow") and call.receiver_written == "Retry":
        endless = _ENDLESS.match(_first(call)) is not None
        yield _retry(call, None if endless else False, None, not endless)
    elif call.method in _RUNS and re.search(r"[rR]etry", f"{call.name} {call.receiver_written}"):
        for argument in call.positional:
            body = _function_in(argument.value, call, facts)
            if body is not None:
                yield Retry("helper", call.callee, body, call, None, None, None, None)


def _function_in(value: Value, place: Call, facts: Facts) -> Span | None:
    """Return the function that is given, also by a variable that holds it."""
    if value.shape == "function":
        return value.span
    made = facts.assignments_to(value.text, place) if value.shape == "name" else ()
    held = [each.value for each in made if each.value is not None and each.value.shape == "function"]
    return held[0].span if len(held) == 1 else None


_BUILDERS = (
    (
        lazy_regex(r"\bRetryerBuilder\b"),
        lazy_regex(r"\.withWaitStrategy\("),
        lazy_regex(r"\.withStopStrategy\("),
    ),
    (lazy_regex(r"\bRetryTemplate\.builder\("), lazy_regex(r"[bB]ack[oO]ff|\.infiniteRetry"), None),
    (
        lazy_regex(r"\bRetryPolicy\.(<[^()]*>)?(builder|ofDefaults)\("),
        lazy_regex(r"\.(withDelay|withBackoff|withRandomDelay|withDelayFn)\w*\("),
        None,
    ),
)
"""Builders that try again at once unless a pause is stated, and for ever where a limit must be."""


def _java_builder(call: Call, facts: Facts) -> Iterator[Retry]:
    """Yield guava-retrying, Spring's RetryTemplate and Failsafe without a pause or a limit."""
    text = facts.text(call.span)
    for made, pause, limit in _BUILDERS:
        if made.search(text) is None or "springframework" in call.name:
            continue  # `RetryPolicy` of Spring waits a second unless it is told otherwise.
        waits = pause.search(text) is not None
        if limit is not None and limit.search(text) is None:
            yield _retry(call, None, None, False)
        elif not waits:
            yield _retry(call, False, None, True)


def _said_of(call: Call, facts: Facts) -> str:
    """Return the text of a call with the values that it is given, and the functions that make them."""
    made = (facts.text(each.body) for each in makers_of_parts(call, facts))
    return "\n".join((facts.text_with_values(call), *made))


def _first(call: Call) -> str:
    first = call.argument(place=0)
    return "" if first is None else first.value.text


def _go(call: Call, facts: Facts) -> Iterator[Retry]:
    if _GO_ATTEMPTS.search(call.name):
        if call.arguments and call.arguments[0].value.text == "0":
            around = [each for each in facts.calls_around(call) if each.method == "Do"]
            if not any("Context(" in facts.text(each.span) for each in around):
                yield _retry(call, None, None, False)
    elif _GO_BACKOFF.search(call.name):
        text = _said_of(call, facts)
        if "NewConstantBackOff" in text or "ZeroBackOff" in text:
            yield _retry(call, "ZeroBackOff" not in text, False, bool(_GO_LIMITS.search(text)))
        elif _GO_ENDLESS.search(text) and not _GO_LIMITS.search(_GO_ENDLESS.sub("", text)):
            yield _retry(call, None, None, False)


def _python(call: Call, facts: Facts) -> Iterator[Retry]:
    if call.name in ("tenacity.Retrying", "tenacity.AsyncRetrying"):
        wait, stop = call.argument("wait"), call.argument("stop")
        waits = wait is not None and "wait_none" not in wait.value.text
        limited = stop is not None and "stop_never" not in stop.value.text
        yield _retry(call, None if call.spreads else waits, None, None if call.spreads else limited)
    elif call.name in _URLLIB3 and not call.spreads and not call.has("backoff_factor"):
        total = call.argument("total", place=0)
        if total is not None and total.value.text not in ("0", "1", "False", "None"):
            yield _retry(call, False, None, True)


def _javascript(call: Call, facts: Facts) -> Iterator[Retry]:
    if call.name in ("axios-retry", "axios-retry.default") or call.written == "axiosRetry":
        if (
            call.spreads
            or not call.arguments
            or any(each.value.shape in ("name", "call") for each in call.positional[1:])
        ):
            return
        delay, tries = call.argument("retryDelay"), call.argument("retries")
        waits = delay is not None and not _ZERO.match(" ".join(delay.value.text.split()))
        endless = tries is not None and _ENDLESS.match(tries.value.text) is not None
        yield _retry(call, waits, None, not endless)
    elif call.name == "cockatiel.retry" and len(call.positional) > 1:
        if call.positional[1].value.shape == "object" and not call.spreads:
            waits = call.has("backoff") and "ConstantBackoff(0)" not in facts.text(call.span)
            limited = call.has("maxAttempts") and not any(
                _ENDLESS.match(each.value.text) for each in call.arguments if each.name == "maxAttempts"
            )
            yield _retry(call, waits if limited else None, None, limited)
    elif call.name in ("p-retry", "async-retry", "promise-retry", "pRetry") and call.has(
        "forever", "retries"
    ):
        given = call.argument("forever", "retries")
        if given is not None and _ENDLESS.match(given.value.text):
            yield _retry(call, None, None, False)


def _rust(call: Call, facts: Facts) -> Iterator[Retry]:
    if call.name.endswith("tokio_retry.Retry.spawn") and call.arguments:
        text = _said_of(call, facts)
        if ".take(" not in text:
            yield _retry(call, None, None, False)
    elif (
        call.method in ("retry", "retry_notify")
        and "backoff" in call.name
        and _RUST_ENDLESS.search(_said_of(call, facts))
    ):
        yield _retry(call, None, None, False)


_STRATEGY = lazy_regex(r"(^|\.)(reconnectStrategy|retryStrategy|clusterRetryStrategy)$")


def reconnect_strategies(facts: Facts) -> Iterator[Span]:
    """Yield strategies of clients of Redis that connect again at once: `reconnectStrategy: () => 0`."""
    if facts.language not in ("javascript", "typescript", "tsx") or b"Strategy" not in facts.syntax.source:
        return
    for call in facts.calls:
        for each in call.arguments if b"Strategy" in facts.syntax.source[slice(*call.span)] else ():
            if _STRATEGY.search(each.name) and _ZERO.match(" ".join(each.value.text.split())):
                yield each.value.span


def _repeated(facts: Facts) -> Iterator[Retry]:
    """Yield `repeat(n) { try { return … } catch … }` of Kotlin."""
    for call in facts.calls_of_method("repeat"):
        given = [each for each in call.positional if each.value.shape == "function"]
        if call.receiver_written or len(call.positional) != 2 or not given:
            continue
        body = given[0].value.span
        for each in facts.within(facts.tries, body):
            leaves = any(step.kind == "return" for step in facts.within(facts.steps, each.body))
            goes_on = any(not _always_leaves(handler, facts) for handler in each.handlers)
            if not leaves or not goes_on:
                continue
            waits = [one for one in facts.within(facts.calls, body) if is_sleep(one)]
            longer = not waits or not all(map(is_constant, waits))
            loop = Loop("count", call.span, body, call.line)
            head = call.callee
            yield Retry("loop", head, each.body, None, loop, bool(waits), longer, True)
            break


def _always_leaves(handler: Handler, facts: Facts) -> bool:
    """Return whether a handler returns or throws outside of any condition."""
    branches = [step.span for step in facts.within(facts.steps, handler.body) if step.kind == "branch"]
    return any(
        step.kind in ("return", "raise") and not any(is_within(step.span, span) for span in branches)
        for step in facts.within(facts.steps, handler.body)
    )


# Connections that are made again as soon as they end.


_ENDS = lazy_regex(r"^(close|end|error|disconnect|closed)$")
_OPENS = lazy_regex(
    r"(^|\.)(WebSocket|ws|net\.(connect|createConnection)|amqplib\.connect|EventSource|mqtt\.connect|createConnection)$"
    r"|^ws\.WebSocket$"
)


def reconnects(facts: Facts) -> Iterator[Call]:
    """Yield calls of a function that connects, made at once by its listener for the end of the connection."""
    if facts.language not in ("javascript", "typescript", "tsx"):
        return
    opens = {facts.named_function_of(call) for call in facts.calls_with_name(_OPENS.search)}
    for scope in opens:
        if scope is None:
            continue
        for call in facts.callers_of(scope):
            if scope not in facts.functions_around(call) or facts.function_of(call) is scope:
                continue
            inner = facts.function_of(call)
            delayed = any(is_sleep(each) or each.method == "setTimeout" for each in facts.calls_around(call))
            slept = inner is not None and any(
                is_sleep(each) or each.method == "setTimeout"
                for each in facts.within(facts.calls, inner.body)
            )
            if inner is not None and not delayed and not slept and _is_listener(inner.span, facts):
                yield call


def _is_listener(span: Span, facts: Facts) -> bool:
    """Return whether a function is given to `.on("close", …)` or set as `onclose`."""
    for call in facts.calls_of_method("on", "once", "addEventListener"):
        first = call.argument(place=0)
        ends = first is not None and _ENDS.match(first.value.literal) is not None
        if ends and any(each.value.span == span for each in call.positional):
            return True
    return any(
        each.value is not None
        and each.value.span == span
        and re.search(r"\.on(close|error|end)$", each.targets[0]) is not None
        for each in facts.assignments
    )
