"""Python: finds work in daemon threads, which are cut off when the process ends."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Facts
from faultkit.code.rules.rule import POSSIBLE, PYTHON, Hit, Rule

_WORKS = re.compile(
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
