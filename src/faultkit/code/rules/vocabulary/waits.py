"""Calls that wait for a time, and calls that limit the time of the code inside them."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, is_within
from faultkit.code.facts.facts import Placed

SLEEPS = frozenset(
    {
        "time.sleep",
        "asyncio.sleep",
        "anyio.sleep",
        "trio.sleep",
        "gevent.sleep",
        "eventlet.sleep",
        "time.Sleep",
        "time.After",
        "time.NewTimer",
        "time.Tick",
        "Thread.sleep",
        "setTimeout",
        "timers/promises.setTimeout",
    }
)
_WAIT_WORDS = lazy_regex(
    r"^_*(sleep|delay|pause|wait(?!_?time)|backoff|back_off)|(sleep|backoff|delay|_wait|Wait)$", re.IGNORECASE
)


NO_TIME = lazy_regex(
    r"[-+]?0+(\.0*)?[fFdDlL]?|0\.(milli|micro|nano)?seconds|(\w+\.)*Zero|([\w:]+::)?Duration::ZERO|Duration\.ZERO"
    r"|0\s*\*\s*time\.\w+|(Duration|TimeSpan)(\.|::)(of|from_|From)\w+\(0\)"
)
_YIELDS = lazy_regex(
    r"^(Task|Thread|java\.lang\.Thread|runtime|tokio\.task|std\.thread|thread|task|futures_lite\.future|kotlinx\.coroutines"
    r"|anyio\.lowlevel|trio\.lowlevel|os|timers/promises|scheduler|timers/promises\.scheduler)\."
    r"(Yield|yield|yield_now|Gosched|onSpinWait|SpinWait|checkpoint|sched_yield|setImmediate)$"
    r"|^yield$|^std\.hint\.spin_loop$|^(hint\.)?spin_loop$"
)


def is_yield(call: Call) -> bool:
    """Return whether a call only lets others run, and comes back at once: `await asyncio.sleep(0)`."""
    if _YIELDS.match(call.name):
        return True
    given = call.positional
    return (
        1 <= len(given) <= 2
        and (call.name in SLEEPS or _WAIT_WORDS.search(call.method) is not None)
        and NO_TIME.fullmatch(given[-1 if call.method == "setTimeout" else 0].value.text) is not None
    )


def is_sleep(call: Call) -> bool:
    """Return whether it is a known sleep, or a function whose name suggests that it waits.

    A wait of no time is none."""
    return _may_sleep(call) and not is_yield(call)


def _may_sleep(call: Call) -> bool:
    if call.name in SLEEPS or (
        call.method == "sleep" and call.receiver.startswith("java.util.concurrent.TimeUnit")
    ):
        return True
    if call.method in ("wait_for", "waitFor") or call.method.lower().endswith("nowait"):
        return False
    return _WAIT_WORDS.search(call.method) is not None


def waits_in(loop: Loop, facts: Facts) -> tuple[Call, ...]:
    """Return the waits in the body of a loop."""
    return tuple(call for call in facts.within(facts.calls, loop.body) if is_sleep(call))


_SELECT = lazy_regex(
    r"\bselect!\s*\{(?P<arms>[^;]*?\b(?:sleep(?:_until)?|tick|delay)\((?:[^()]|\([^()]*\))*\)\s*=>.*?)\n\s*\}\s*\n",
    re.DOTALL,
)
LEAVES_SELECT = lazy_regex(r"=>\s*(?:\{[^{}]*?)?\b(?:return|break)\b")


def select_with_wait(loop: Loop, facts: Facts) -> str:
    """Return the arms of a `select!` of which one waits for a time, whose calls are no facts; or nothing."""
    found = _SELECT.search(facts.text(loop.body))
    return "" if found is None else found["arms"]


def is_constant(call: Call) -> bool:
    """Return whether it waits the same time in every call."""
    text = " ".join(each.value.text for each in call.positional)
    return bool(call.positional) and re.fullmatch(r"[\d._\s*]+|[\d\s*]*time\.\w+[\d\s*]*", text) is not None


# Time limits around code: `asyncio.timeout`, `Promise.race` and similar calls.


_BLOCKS = frozenset(
    {
        "asyncio.timeout",
        "asyncio.timeout_at",
        "async_timeout.timeout",
        "anyio.fail_after",
        "anyio.move_on_after",
        "trio.fail_after",
        "trio.move_on_after",
    }
)
_FUNCTIONS = frozenset({"asyncio.wait_for", "asyncio.wait", "Promise.race", "p-timeout", "pTimeout"})
_BOUND_WORDS = ("timeout", "deadline")


def is_bounded(call: Call, facts: Facts) -> bool:
    """Return whether something around a call ends it after a time."""
    if any(each.name in _BLOCKS or _is_limit(each) for each in facts.managed_around(call)):
        return True
    return any(each.name in _FUNCTIONS or _is_limit(each) for each in facts.calls_around(call))


def _is_limit(call: Call) -> bool:
    """Return whether a name says that a function limits the time of others: `with_deadline`."""
    return any(word in call.method.lower() for word in _BOUND_WORDS)


# Coroutines of Kotlin.


_COROUTINES = frozenset(
    (
        "launch", "async", "withContext", "coroutineScope", "supervisorScope", "withTimeout",
        "withTimeoutOrNull", "flow", "channelFlow", "callbackFlow", "produce", "actor", "future", "mono",
        "flux", "launchWhenStarted", "launchWhenCreated", "launchWhenResumed", "repeatOnLifecycle",
    )
)  # fmt: skip
_OTHER_THREADS = frozenset(("thread", "Thread", "submit", "execute", "Runnable", "Callable", "post"))


def is_in_coroutine(place: Placed, facts: Facts) -> bool:
    """Return whether a coroutine of Kotlin runs code: a suspended function, or a lambda that one is made of.

    Other lambdas run where they stand: `use { … }`, `forEach { … }`.
    """
    scope = facts.named_function_of(place)
    for call in reversed(facts.calls_around(place)):
        if scope is not None and not is_within(call.span, scope.span):
            break
        if call.method in _COROUTINES or call.method in _OTHER_THREADS:
            return call.method in _COROUTINES
    route = facts.route_of(place)
    if route is not None and route.route is not None and route.route.framework == "ktor":
        return True
    return scope is not None and scope.is_async
