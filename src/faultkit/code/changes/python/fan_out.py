"""A limit for `asyncio.gather` over as many items as there are."""

from __future__ import annotations

import libcst as cst

from faultkit.code.changes.python.codemod import Work, python_codemod
from faultkit.code.changes.python.names import free_name
from faultkit.code.changes.python.rewriting import Step, spaced
from faultkit.code.changes.python.tree import nodes_in

AT_ONCE = 10
_TASKS = ("asyncio.create_task", "asyncio.ensure_future")


def _collect(work: Work) -> None:
    done: set[cst.CSTNode] = set()
    for _, call, node in work.calls():
        line = work.tree.statement(node)
        if call.name != "asyncio.gather" or not isinstance(line, cst.BaseStatement) or line in done:
            continue
        function = work.tree.function(node)
        starred = [each for each in node.args if each.star == "*"]
        if (
            function is None
            or function.asynchronous is None
            or work.tree.block(line) is None
            or len(starred) != 1
        ):
            continue
        each = starred[0].value
        if not isinstance(each, (cst.GeneratorExp, cst.ListComp)) or any(nodes_in(each.elt, cst.Await)):
            continue
        awaitable = _started(work, each.elt)
        if awaitable is None:
            continue
        limit, limited = (free_name(work.tree, name, node) for name in ("limit", "limited"))
        work.new.before(
            line,
            f"{limit} = {work.new.need('asyncio')}.Semaphore({AT_ONCE})\n\n"
            f"async def {limited}(awaitable):\n"
            f"    async with {limit}:\n"
            f"        return await awaitable\n",
        )
        work.new.replace(line, lambda node: spaced(node, 1))
        work.new.replace(awaitable, _given_to(limited))
        done.add(line)


def _started(work: Work, each: cst.BaseExpression) -> cst.Call | None:
    """The call whose coroutine is awaited; of `create_task(f(x))` the inner one."""
    if not isinstance(each, cst.Call):
        return None
    known = {call.span: call.name for call in work.facts.calls}
    if known.get(work.tree.span(each)) not in _TASKS:
        return each
    inner = each.args[0].value if each.args else None
    return inner if isinstance(inner, cst.Call) else None


def _given_to(function: str) -> Step:
    def step(node: cst.CSTNode) -> cst.CSTNode:
        return cst.Call(cst.Name(function), [cst.Arg(cst.ensure_type(node, cst.Call))])

    return step


CODEMOD = python_codemod(
    "fan-out",
    ("unbounded-fan-out",),
    f"let {AT_ONCE} tasks run at a time, and not one for every item",
    _collect,
)
