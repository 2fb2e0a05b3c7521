"""Python: finds work in daemon threads, which are cut off when the process ends."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import POSSIBLE, PYTHON, Hit, Rule

_WORKS = lazy_regex(
    r"write|save|send|flush|upload|commit|persist|process|worker|job|queue|publish", re.IGNORECASE
)


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_named("threading.Thread"):
        daemon = call.argument("daemon")
        target = call.argument("target", place=1)
        if daemon is None or daemon.value.shape != "true" or target is None:
            continue
        if _WORKS.search(target.value.text) and not facts.calls_of_method("join"):
            yield Hit(
                call.span,
                f"{target.value.text} runs in a daemon thread and may be cut off half done",
                POSSIBLE,
            )

    yield from _of_classes(facts)


_SAVES = lazy_regex(
    r"(?:^|_)(write|save|send|flush|insert|upload|commit|persist|publish|store)", re.IGNORECASE
)


def _of_classes(facts: Facts) -> Iterator[Hit]:
    """Yield classes of daemon threads that write what they take from a queue, and that nothing joins."""
    for owner, bases in facts.classes.items():
        if "threading.Thread" not in bases or any(map(_is_wait, facts.calls_of_method("join"))):
            continue
        made = [
            call
            for call in facts.calls_of_method("__init__")
            if (scope := facts.named_function_of(call)) is not None and scope.owner == owner
        ]
        daemon = [call for call in made if (given := call.argument("daemon")) and given.value.shape == "true"]
        inside = [
            call for scope in facts.scopes if scope.owner == owner for call in facts.own(facts.calls, scope)
        ]
        takes = any(call.method in ("get", "get_nowait", "popleft") for call in inside)
        if daemon and takes and any(_SAVES.search(call.method) for call in inside):
            what = f"{owner} is a daemon thread that nothing joins: what it holds is lost at exit"
            yield Hit(daemon[0].span, what, POSSIBLE)


def _is_wait(call: Call) -> bool:
    """Return whether it waits for a thread, and does not join texts or paths."""
    return (
        call.receiver_written != ""
        and "path" not in call.name
        and (not call.arguments or call.has("timeout"))
    )


RULE = Rule(
    id="FK-R031",
    slug="daemon-thread-cut-off",
    title="Work in a daemon thread",
    why="Daemon threads are stopped in the middle of a statement at exit: what they write may be half there.",
    fix="Stop the thread with an event and join it, with a timeout, when the process ends.",
    kind="reliability",
    severity="low",
    languages=PYTHON,
    check=_check,
)
