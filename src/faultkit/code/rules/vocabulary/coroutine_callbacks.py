"""Python: async functions that are given to code that only calls them, so that they never run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Argument, Call, Facts
from faultkit.code.languages.syntax import Span

_PLACES = {
    "call_soon": 0,
    "call_soon_threadsafe": 0,
    "call_later": 1,
    "call_at": 1,
    "add_signal_handler": 1,
    "add_done_callback": 0,
    "add_reader": 1,
    "add_writer": 1,
}
"""Methods of event loops and futures that call a function and drop what it returns."""
_NAMED = {"signal.signal": 1, "atexit.register": 0, "threading.Timer": 1, "sched.scheduler.enter": 2}
_TARGETS = ("threading.Thread", "multiprocessing.Process")


def coroutines_never_run(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield callbacks that make a coroutine which nothing awaits."""
    names = {
        scope.short_name for scope in facts.scopes if scope.is_async and scope.name and not scope.decorators
    }
    names -= {scope.short_name for scope in facts.scopes if not scope.is_async}
    if not names:
        return
    for call in (*facts.calls_of_method(*_PLACES), *facts.calls_named(*_NAMED, *_TARGETS)):
        given = _callback(call)
        found = None if given is None else _CALLED.fullmatch(given.value.text)
        if found is not None and found[1].removeprefix("self.") in names:
            yield call.span, f"{found[1]}() is async, and {call.written}() only calls it: it never runs"


_CALLED = lazy_regex(r"(?:lambda[^:]*:\s*)?((?:self\.)?\w+)(?:\(.*\))?", re.DOTALL)


def _callback(call: Call) -> Argument | None:
    if call.name in _TARGETS:
        return call.argument("target")
    place = _NAMED.get(call.name, _PLACES.get(call.method, -1))
    given = call.argument("callback", "func", "function", place=place)
    # `call_soon(make())` is given what make returns.
    return None if given is None or given.value.shape == "call" else given
