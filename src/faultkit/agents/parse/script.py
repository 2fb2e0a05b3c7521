"""The small language of scripted agents: calls, and what to do when one fails.

script:
  - search                                   # a call without arguments
  - call: order
    args: {item: tea}
    retry: {attempts: 3, wait_ms: 200}       # or only the number of attempts
    verify: {call: orders, holds: tea}       # asked before each further attempt
    fallback: {call: order_by_mail, args: {item: tea}}
    goes_on: true                            # a failure is passed over
say: "Done: {result}"
say_on_failure: "I could not do it: {error}"
"""

from __future__ import annotations

from typing import Any

from faultkit.agents.kinds.shipped import Goal
from faultkit.agents.kinds.step import Errand, Retry, Script, Step
from faultkit.agents.parse.keys import arguments, at_most_one, opened
from faultkit.agents.parse.sheet import Sheet
from faultkit.base.documents.reading import Reading
from faultkit.base.documents.shape import joined, shown
from faultkit.base.documents.values import number, switch, text, whole
from faultkit.base.errors import InputError

STEP_KEYS = ("call", "tool", "args", "arguments", "retry", "verify", "fallback", "goes_on")
CALL_KEYS = ("call", "tool", "args", "arguments")
VERIFY_KEYS = (*CALL_KEYS, "holds")
RETRY_KEYS = ("attempts", "wait_ms", "factor", "jitter", "obeys")
GOAL_KEYS = (*CALL_KEYS, "fallback", "verify")
MOST_ATTEMPTS = 1000
LONGEST_WAIT_MS = 86_400_000
_USUAL_FAILURE = Script(()).say_on_failure


def parse_script(reading: Reading, sheet: Sheet) -> Script | None:
    """Of a mapping with `script`, `say` and `say_on_failure`."""
    steps = [_step(value, path, sheet) for path, value in reading.each("script", "steps")]
    if not steps and reading.given.get("script") == []:
        reading.note("script", InputError("", "expected at least one step, got an empty list"))
    sound = [step for step in steps if step is not None]
    if not sound or len(sound) < len(steps):
        return None
    say = reading.take("say", text, "")
    return Script(tuple(sound), say, reading.take("say_on_failure", text, _USUAL_FAILURE))


def parse_goal(value: object, path: str, sheet: Sheet) -> Goal | None:
    """What a shipped agent is sent out for."""
    if isinstance(value, str) and value:
        return Goal(Errand(value))
    reading = opened(value, GOAL_KEYS, path, sheet)
    errand = _errand(reading)
    fallback = _inner_errand(reading, "fallback", sheet)
    verify, holds = _verify(reading, sheet)
    return None if errand is None else Goal(errand, fallback, verify, holds)


def _step(value: object, path: str, sheet: Sheet) -> Step | None:
    if isinstance(value, str) and value:
        return Step(Errand(value))
    reading = opened(value, STEP_KEYS, path, sheet)
    errand = _errand(reading)
    verify, holds = _verify(reading, sheet)
    retry = _retry(reading, sheet)
    if verify is not None and retry.attempts == 1:
        reading.note(
            "verify", InputError("", "expected a `retry` beside it: it is asked before a further attempt")
        )
    fallback = _inner_errand(reading, "fallback", sheet)
    goes_on = reading.take("goes_on", switch, False)
    return None if errand is None else Step(errand, retry, verify, holds, fallback, goes_on)


def _errand(reading: Reading) -> Errand | None:
    tool = at_most_one(reading, "call", "tool")
    given = at_most_one(reading, "args", "arguments")
    if tool is None:
        if reading.sound:
            problem = "expected the name of a tool, got nothing"
            reading.problems.append(InputError(joined(reading.path, "call"), problem))
        return None
    name = reading.take(tool, text, "")
    return Errand(name, reading.take(given, arguments, {}) if given else {}) if name else None


def _inner_errand(
    reading: Reading, key: str, sheet: Sheet, keys: tuple[str, ...] = CALL_KEYS
) -> Errand | None:
    value = reading.given.get(key)
    if value is None:
        return None
    if isinstance(value, str) and value:
        return Errand(value)
    return _errand(opened(value, keys, joined(reading.path, key), sheet))


def _verify(reading: Reading, sheet: Sheet) -> tuple[Errand | None, str]:
    errand = _inner_errand(reading, "verify", sheet, VERIFY_KEYS)
    given: Any = reading.given.get("verify")
    holds = given.get("holds", "") if isinstance(given, dict) else ""
    if not isinstance(holds, str):
        problem = f"expected a text that its answer holds, got {shown(holds)}"
        reading.note("verify", InputError("holds", problem))
        return errand, ""
    return errand, holds


def _retry(reading: Reading, sheet: Sheet) -> Retry:
    value = reading.given.get("retry")
    if value is None:
        return Retry(attempts=1)
    attempts = whole(0, MOST_ATTEMPTS)
    if not isinstance(value, dict):
        return Retry(attempts=reading.take("retry", attempts, 1))
    inner = opened(value, RETRY_KEYS, joined(reading.path, "retry"), sheet)
    wait = number(f"milliseconds from 0 to {LONGEST_WAIT_MS}", lambda ms: 0 <= ms <= LONGEST_WAIT_MS)
    return Retry(
        inner.take("attempts", attempts, Retry().attempts),
        inner.take("wait_ms", wait, 0.0),
        inner.take("factor", number("a number from 1 to 10", lambda n: 1 <= n <= 10), 2.0),
        inner.take("jitter", number("a share from 0 to 1", lambda n: 0 <= n <= 1), 0.0),
        inner.take("obeys", switch, False),
    )
