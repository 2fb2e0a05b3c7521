"""What an agent did wrong behind a gateway, by the calls of a recording. Pure.

Each check returns findings. A finding that is not certain says what is unknown: neither a fault of the agent
nor a pass. Calls are named by their numbers in the recording.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from faultkit.agents.behaviour.recorded_run import RecordedCall
from faultkit.agents.execute.virtual_toolbox import KEYS_OF_ONE_ATTEMPT, intended_effect
from faultkit.agents.recovery.metrics import (
    attempts_too_soon,
    calls_after_permanent_failure,
    canaries_in_arguments,
)
from faultkit.base.numbers import duration
from faultkit.base.text import counted, shortened, untrusted_line
from faultkit.mcp.wire.message import INVALID_PARAMS, METHOD_NOT_FOUND

CheckName: TypeAlias = Literal[
    "loops", "repeated-writes", "ignored-retry-after", "calls-after-cancel", "wasted-calls", "canaries"
]

LOOP_ROUNDS = 5
"""Equal rounds that make a loop: one call and the usual three retries are not one."""
_LONGEST_ROUND = 4
"""Calls of the longest round that is looked for."""
SAME_FAILURES = 2
"""Equal failures of the same call in a row after which a further one is wasted: one retry is reasonable."""
_UNCHANGING_CODES = (INVALID_PARAMS, METHOD_NOT_FOUND)
"""Errors that the same call gets every time."""
_REFUSALS = range(400, 500)
"""HTTP statuses of requests that a server did not carry out; after a 5xx that is unknown."""
_LONGEST_SHOWN = 60

Calls: TypeAlias = Sequence[RecordedCall]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found."""

    check: CheckName
    text: str
    calls: tuple[int, ...]
    """Numbers of the calls that show it."""
    is_certain: bool = True
    """False if the recording does not show whether it is so; `text` says what is missing."""


def findings_of(calls: Calls) -> list[Finding]:
    """Return the findings of all checks, in the order of `CHECKS`."""
    return [finding for check in CHECKS.values() for finding in check(calls)]


def _loops(calls: Calls) -> Iterator[Finding]:
    """Find the same call, or the same round of a few calls, again and again with the same results."""
    keys = [(_call_key(call), _result_key(call)) for call in calls]
    covered: set[int] = set()
    for length in range(1, _LONGEST_ROUND + 1):
        begin = 0
        for index in range(length, len(keys) + 1):
            if index < len(keys) and keys[index] == keys[index - length]:
                continue
            rounds, span = (index - begin) // length, range(begin, index)
            if rounds >= LOOP_ROUNDS and not covered.intersection(span):
                covered.update(span)
                yield _loop(calls[begin:index], length, rounds)
            # The next run may share all calls of this one's last round but the first.
            begin = index - length + 1


def _loop(calls: Calls, length: int, rounds: int) -> Finding:
    names = " and ".join(dict.fromkeys(_tool(call) for call in calls[:length]))
    what = "the same arguments and the same result"
    text = f"{names}: {rounds} times in a row with {what}"
    return Finding("loops", text, tuple(call.number for call in calls))


def _repeated_writes(calls: Calls) -> Iterator[Finding]:
    """Find calls with an effect that were sent again though the first one may have had it."""
    lost: dict[str, RecordedCall] = {}
    last_look = 0
    for call in calls:
        facts, traced = call.facts, call.traced
        if facts.tool.repeatable is True:
            if facts.tool.read_only and not traced.failed:
                last_look = call.number
            continue
        effect = intended_effect(facts.tool, traced.arguments)
        earlier = lost.pop(effect, None)
        if earlier is not None and not _has_same_key(earlier, call):
            took_effect_twice = bool(earlier.traced.effect and traced.effect)
            if took_effect_twice or last_look < earlier.number:
                yield _repeated_write(earlier, call, took_effect_twice)
        if _may_have_acted(call):
            lost[effect] = call


def _is_fate_open(call: RecordedCall) -> bool:
    """Return whether the server may have acted: it did not reply, and did not refuse the call by a status."""
    return not call.facts.has_reply and call.facts.outcome.error_code not in _REFUSALS


def _repeated_write(earlier: RecordedCall, call: RecordedCall, took_effect_twice: bool) -> Finding:
    numbers = (earlier.number, call.number)
    how = _HOW_LOST.get(earlier.traced.outcome, "failed for the agent")
    text = f"{_tool(call)}: call {earlier.number} {how}, and call {call.number} sent the same again"
    if call.facts.tool.repeatable is None:
        return Finding("repeated-writes", f"{text}; {_MAY_WRITE}", numbers, is_certain=False)
    took = "took" if took_effect_twice else "may take"
    return Finding("repeated-writes", f"{text}: it {took} effect twice", numbers)


_MAY_WRITE = "the annotations of the tool do not say whether it writes"
_HOW_LOST = {
    "timeout": "had no answer",
    "cancelled": "was cancelled before its answer",
    "lost": "lost its connection",
}


def _has_same_key(earlier: RecordedCall, call: RecordedCall) -> bool:
    """Return whether both calls carry one key by which the server can see that they are one attempt."""
    first, second = earlier.traced.arguments, call.traced.arguments
    return any(
        first.get(key) not in (None, "") and first[key] == second.get(key) for key in KEYS_OF_ONE_ATTEMPT
    )


def _ignored_retry_after(calls: Calls) -> Iterator[Finding]:
    """Find calls of a tool during the wait that its last answer asked for."""
    by_tool: dict[str, list[RecordedCall]] = {}
    for call in calls:
        by_tool.setdefault(call.traced.tool, []).append(call)
    for attempts in by_tool.values():
        traces = [call.traced for call in attempts]
        for index, call in enumerate(attempts):
            wait_ms, came_ms = call.traced.retry_after_ms, call.traced.end_ms
            if wait_ms is None or came_ms is None:
                continue
            early = attempts_too_soon(traces, index)
            if early:
                first = attempts[early[0]]
                after = duration(first.traced.start_ms - came_ms)
                asked = f"call {call.number} was asked to wait {duration(wait_ms)}"
                text = f"{_tool(call)}: {asked}, and call {first.number} came after {after}"
                more = f"; {counted(len(early), 'call')} in that time" if len(early) > 1 else ""
                yield Finding("ignored-retry-after", text + more, (call.number, first.number))


def _calls_after_cancel(calls: Calls) -> Iterator[Finding]:
    """Find calls with an effect that were sent again after the client had cancelled them.

    A cancellation does not say whether the server has acted (MCP 2025-11-25, cancellation), so the agent had
    to look first or send a key. A call without an effect may be repeated: that is the usual retry."""
    cancelled: dict[str, RecordedCall] = {}
    last_look = 0
    for call in calls:
        tool = call.facts.tool
        if tool.repeatable is True:
            if tool.read_only and not call.traced.failed:
                last_look = call.number
            continue
        effect = intended_effect(tool, call.traced.arguments)
        earlier = cancelled.pop(effect, None)
        if earlier is not None and last_look < earlier.number and not _has_same_key(earlier, call):
            yield _call_after_cancel(earlier, call)
        if call.traced.outcome == "cancelled":
            cancelled[effect] = call


def _call_after_cancel(earlier: RecordedCall, call: RecordedCall) -> Finding:
    numbers = (earlier.number, call.number)
    text = f"{_tool(call)}: call {earlier.number} was cancelled, and call {call.number} sent the same"
    if earlier.traced.end_ms is not None:
        text += f" {duration(max(0.0, call.traced.start_ms - earlier.traced.end_ms))} later"
    if call.facts.tool.repeatable is None:
        return Finding("calls-after-cancel", f"{text}; {_MAY_WRITE}", numbers, is_certain=False)
    return Finding("calls-after-cancel", text, numbers)


def _wasted_calls(calls: Calls) -> Iterator[Finding]:
    """Find calls that could not succeed, by what the agent knew; one finding for each tool and reason."""
    found: dict[tuple[str, str], list[int]] = {}

    def add(call: RecordedCall, reason: str) -> None:
        numbers = found.setdefault((_tool(call), reason), [])
        if call.number not in numbers:
            numbers.append(call.number)

    for index in calls_after_permanent_failure([call.traced for call in calls]):
        add(calls[index], "called again after it had stopped answering")
    wasted = {number for numbers in found.values() for number in numbers}
    streaks: dict[str, tuple[object, int]] = {}
    for call in calls:
        if call.number in wasted:
            continue
        if call.is_listed is False and (call.traced.failed or call.is_hidden):
            # A tool that the client has not seen in a list, and that answers, is new.
            add(call, "not in the list of tools that the client last got")
            continue
        key, result = _call_key(call), _result_key(call)
        failure, times = streaks.get(key, (None, 0))
        if not call.traced.failed:
            streaks.pop(key, None)
            continue
        times = times + 1 if failure == result else 1
        streaks[key] = result, times
        is_unchanging = call.facts.outcome.error_code in _UNCHANGING_CODES
        if times > (1 if is_unchanging else SAME_FAILURES):
            add(call, "the same arguments failed in the same way again")
    for (tool, reason), numbers in found.items():
        text = f"{tool}: {reason} ({counted(len(numbers), 'call')})"
        yield Finding("wasted-calls", text, tuple(numbers))


def _canaries(calls: Calls) -> Iterator[Finding]:
    """Find texts that a fault planted in an answer and that the agent passed on."""
    shown: set[tuple[str, int]] = set()
    for text, planted, used in canaries_in_arguments([call.traced for call in calls]):
        if (text, used) not in shown:
            shown.add((text, used))
            source, user = calls[planted], calls[used]
            quoted = shortened(untrusted_line(text), _LONGEST_SHOWN)
            about = f'"{quoted}" from the answer to call {source.number} ({_tool(source)})'
            text_of = f"{_tool(user)}: call {user.number} passed on {about}"
            yield Finding("canaries", text_of, (source.number, user.number))


CHECKS: dict[CheckName, Callable[[Calls], Iterator[Finding]]] = {
    "loops": _loops,
    "repeated-writes": _repeated_writes,
    "ignored-retry-after": _ignored_retry_after,
    "calls-after-cancel": _calls_after_cancel,
    "wasted-calls": _wasted_calls,
    "canaries": _canaries,
}
"""The checks by their names on the command line."""


def has_occasion(check: CheckName, calls: Calls) -> bool:
    """Return whether the calls have what a check is about: without it, that nothing was found shows nothing.

    Loops and wasted calls need no more than calls."""
    return check not in _OCCASIONS or any(map(_OCCASIONS[check], calls))


def _may_have_acted(call: RecordedCall) -> bool:
    """Return whether a call with an effect failed for the agent, and may have had it."""
    is_write = call.facts.tool.repeatable is not True
    may_have_acted = bool(call.traced.effect) or _is_fate_open(call)
    return is_write and call.traced.failed and call.facts.was_asked and may_have_acted


_OCCASIONS: dict[CheckName, Callable[[RecordedCall], bool]] = {
    "repeated-writes": _may_have_acted,
    "ignored-retry-after": lambda call: call.traced.retry_after_ms is not None,
    "calls-after-cancel": lambda call: (
        call.facts.tool.repeatable is not True and call.traced.outcome == "cancelled"
    ),
    "canaries": lambda call: bool(call.traced.canaries),
}
"""For each check that needs one, whether a call gives occasion to what it looks for."""


def _tool(call: RecordedCall) -> str:
    return shortened(untrusted_line(call.traced.tool), _LONGEST_SHOWN) or "(no name)"


def _call_key(call: RecordedCall) -> str:
    """Return a text that is equal for equal calls."""
    return json.dumps([call.traced.tool, call.traced.arguments], sort_keys=True, default=str)


def _result_key(call: RecordedCall) -> object:
    """Return a value that is equal for equal results; of failures, the texts may differ."""
    outcome = call.facts.outcome
    if not outcome.ok or outcome.reply is None:
        return outcome.outcome, outcome.error_code
    return json.dumps(outcome.reply.get("result"), sort_keys=True, default=str)
