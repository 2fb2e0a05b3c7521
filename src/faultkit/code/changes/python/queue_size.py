"""Bounds for queues."""

from __future__ import annotations

import libcst as cst

from faultkit.code.changes.python.codemod import Work, python_codemod
from faultkit.code.changes.python.keywords import add_keyword

MOST_ITEMS = 1000
_QUEUES = (
    "queue.Queue", "queue.LifoQueue", "queue.PriorityQueue", "asyncio.Queue", "asyncio.LifoQueue",
    "asyncio.PriorityQueue", "multiprocessing.Queue",
)  # fmt: skip


def _collect(work: Work) -> None:
    for _, call, node in work.calls():
        # A full one raises an error there in place of waiting: somebody has to say what is to be done then.
        if call.name not in _QUEUES or any(each.method == "put_nowait" for each in work.facts.calls_on(call)):
            continue
        if not node.args:
            add_keyword(work, node, "maxsize", str(MOST_ITEMS))
        elif len(node.args) == 1 and node.args[0].keyword is None:
            work.new.swap(node.args[0].value, cst.Integer(str(MOST_ITEMS)))
        elif len(node.args) == 1:
            add_keyword(work, node, "maxsize", str(MOST_ITEMS))


CODEMOD = python_codemod(
    "queue-size",
    ("unbounded-queue",),
    f"let queues hold {MOST_ITEMS} items at most, then make writers wait",
    _collect,
)
