"""Finds thread pools and event loops that are created for one call."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Facts
from faultkit.code.rules.rule import JAVA, LIKELY, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.repetition import frequency_of

_POOLS = frozenset(
    (
        "concurrent.futures.ThreadPoolExecutor", "concurrent.futures.ProcessPoolExecutor",
        "multiprocessing.Pool", "java.util.concurrent.Executors.newFixedThreadPool",
        "java.util.concurrent.Executors.newCachedThreadPool",
        "java.util.concurrent.Executors.newSingleThreadExecutor",
        "java.util.concurrent.Executors.newWorkStealingPool", "asyncio.run", "asyncio.new_event_loop",
    )
)  # fmt: skip


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_named(*_POOLS):
        frequency = frequency_of(call, facts)
        if frequency is None or call.is_returned or any("." in name for name in call.assigned):
            continue
        yield Hit(call.span, f"{call.written}() is started and ended again for every {frequency}", LIKELY)


RULE = Rule(
    id="FK-P021",
    slug="pool-per-call",
    title="Thread pool or event loop for each call",
    why="Threads are expensive to start, and a pool in each request is no limit for the process: load adds "
    "threads without end.",
    fix="Make one pool for the process and submit to it; run one event loop around the whole program.",
    kind="performance",
    severity="medium",
    languages=(*PYTHON, *JAVA),
    check=_check,
)
