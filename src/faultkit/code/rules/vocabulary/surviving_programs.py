"""Programs that go on after the wait for them has ended: the limit ends the wait, not the program."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, is_within

_WAITS = frozenset(("wait_with_output", "output", "wait", "status"))
_ENDED = lazy_regex(r"kill_on_drop\(\s*true|\.(?:start_)?kill\(|\bkillpg?\(|nix::sys::signal|ProcessGroup")
_DESTROYED = lazy_regex(r"\.destroy(?:Forcibly)?\(|\.[kK]ill\(|\.kill\b|::destroy")
_LIMITED = frozenset(("waitFor", "WaitForExit", "WaitForExitAsync"))


def surviving_programs(facts: Facts) -> Iterator[tuple[Call, str]]:
    """Yield waits with a limit for a program that nothing kills when the limit is over."""
    if facts.language == "rust":
        if b"tokio::process" in facts.syntax.source and not _ENDED.search(facts.whole_text):
            yield from _in_rust(facts)
    elif facts.language == "python":
        if not _SIGNALLED.search(facts.whole_text):
            yield from _in_python(facts)
    elif facts.language in ("java", "kotlin", "csharp") and not _DESTROYED.search(facts.whole_text):
        for call in facts.calls_of_method(*_LIMITED):
            if call.positional and _is_of_process(call, facts) and _is_noticed(call, facts):
                yield call, f"{call.written}() ends, and the program goes on: nothing kills it"


_SIGNALLED = lazy_regex(r"\.(?:kill|terminate|send_signal)\b|\bkillpg\(|psutil")


def _in_python(facts: Facts) -> Iterator[tuple[Call, str]]:
    for call in facts.calls_of_method("communicate", "wait"):
        made = call.origin
        if made is None or made.is_managed:
            continue
        by_tasks = made.name.startswith("asyncio.create_subprocess_")
        limited = (
            any(each.method in ("wait_for", "timeout") for each in facts.calls_around(call))
            if by_tasks
            else made.name == "subprocess.Popen" and call.has("timeout")
        )
        if limited and _is_noticed(call, facts):
            yield call, f"{call.written}() ends with its time, and the program goes on: nothing kills it"


def _in_rust(facts: Facts) -> Iterator[tuple[Call, str]]:
    for call in facts.calls_of_method("timeout"):
        waited = call.positional[1].value.span if len(call.positional) == 2 else None
        for each in facts.within(facts.calls, waited) if waited is not None else ():
            if each.method in _WAITS and (_starts(each) or each.method == "wait_with_output"):
                what = f"{each.written}() is dropped when the time is over, and the program goes on running"
                yield each, what
                break


def _starts(call: Call) -> bool:
    made = call.origin
    while made is not None:
        if made.name.endswith("Command.new") or made.method == "spawn":
            return True
        made = made.origin
    return "Command" in call.name


def _is_noticed(call: Call, facts: Facts) -> bool:
    """Return whether the function handles that the time is over: it is the place to kill the program."""
    if any(
        "Timeout" in name or "Cancel" in name
        for each in facts.tries_around(call)
        for handler in each.handlers
        for name in handler.types
    ):
        return True
    return any(
        step.kind == "branch" and call.written in step.text and is_within(call.span, step.span)
        for step in facts.own(facts.steps, facts.function_of(call))
    )


def _is_of_process(call: Call, facts: Facts) -> bool:
    if call.method != "waitFor":
        first = call.positional[0].value.text
        is_token = call.method == "WaitForExitAsync" and re.search(r"(?i)token|\bct\b|\bcts\b", first)
        return call.method == "WaitForExit" or is_token is not None
    return len(call.positional) == 2 and (b"ProcessBuilder" in facts.syntax.source or ".exec" in call.name)
