"""Durations by a clock that does not jump.

Only where a time is used for nothing but differences: one that is also stored or shown must stay what it is.
"""

from __future__ import annotations

import libcst as cst

from faultkit.code.changes.python.codemod import Work, python_codemod
from faultkit.code.changes.python.names import variables_in
from faultkit.code.changes.python.tree import nodes_in
from faultkit.code.facts import Call
from faultkit.code.facts.facts import is_within
from faultkit.code.syntax import Span


def _collect(work: Work) -> None:
    clocks = work.facts.calls_named("time.time")
    differences = [each.span for each in work.findings]
    for finding in work.findings:
        node = work.tree.at(finding.span, cst.BinaryOperation)
        if node is None:
            continue
        scope: cst.CSTNode = work.tree.function(node) or work.tree.module
        sides = [_clocks_of(work, side, clocks, scope) for side in (node.left, node.right)]
        held = {each.value for each in (node.left, node.right) if isinstance(each, cst.Name)}
        if not all(sides) or not all(_is_for_differences(work, scope, name, differences) for name in held):
            continue
        for call in {each for side in sides for each in side}:
            function = call.func
            if not work.new.has(function):
                work.new.swap(function, work.new.expression(work.new.member("time", "monotonic")))


def _clocks_of(
    work: Work, side: cst.BaseExpression, clocks: tuple[Call, ...], scope: cst.CSTNode
) -> list[cst.Call]:
    """Calls of the clock that a side is, or that its name holds; none if it has other values, too."""
    nodes = {node: call for call in clocks if (node := work.node(call)) is not None}
    if isinstance(side, cst.Call):
        return [side] if side in nodes else []
    if not isinstance(side, cst.Name):
        return []
    values = [
        assign.value
        for assign in nodes_in(scope, cst.Assign)
        for target in assign.targets
        if isinstance(target.target, cst.Name) and target.target.value == side.value
    ]
    found = [each for each in values if isinstance(each, cst.Call) and each in nodes]
    return found if len(found) == len(values) else []


def _is_for_differences(work: Work, scope: cst.CSTNode, name: str, differences: list[Span]) -> bool:
    """Nothing else reads or sets it."""
    return all(
        isinstance(work.tree.parent(each), cst.AssignTarget)
        or any(is_within(work.tree.span(each), span) for span in differences)
        for each in variables_in(work.tree, scope)
        if each.value == name
    )


CODEMOD = python_codemod(
    "monotonic", ("wall-clock-for-durations",), "measure durations with a clock that is never set", _collect
)
