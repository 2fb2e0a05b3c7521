"""Bounds for results that functions remember."""

from __future__ import annotations

import libcst as cst

from faultkit.code.changes.python.calls import with_keyword
from faultkit.code.changes.python.codemod import Work, python_codemod
from faultkit.code.changes.python.names import variables_in
from faultkit.code.changes.python.tree import nodes_in
from faultkit.code.facts.facts import is_within

MOST_ITEMS = 1024
_ENDLESS = ("functools.cache", "cache")


def _collect(work: Work) -> None:
    for scope in work.facts.scopes:
        for each in scope.decorators:
            if not any(is_within(each.span, finding.span) for finding in work.findings):
                continue
            node = _decorator(work, each.span.start, each.span.end)
            if node is None:
                continue
            if each.name in _ENDLESS:
                bounded = _renamed_import(work) or work.new.need("functools", "lru_cache")
                made = work.new.expression(f"{bounded}(maxsize={MOST_ITEMS})")
                work.new.swap(node.decorator, made)
            elif isinstance(node.decorator, cst.Call):
                _bounded(work, node.decorator)


def _bounded(work: Work, call: cst.Call) -> None:
    size = cst.Integer(str(MOST_ITEMS))
    if call.args and call.args[0].keyword is None:
        work.new.swap(call.args[0].value, size)
    else:
        work.new.swap(call, with_keyword(call, "maxsize", size))


def _renamed_import(work: Work) -> str:
    """`from functools import cache`, if nothing else uses it, imports the other one instead."""
    used = [each for each in variables_in(work.tree, work.tree.module) if each.value == "cache"]
    if len(used) != 2 or any(each.value == "lru_cache" for each in nodes_in(work.tree.module, cst.Name)):
        return ""
    for alias in nodes_in(work.tree.module, cst.ImportAlias):
        if alias.name is used[0] and alias.asname is None:
            work.new.swap(alias.name, cst.Name("lru_cache"))
            return "lru_cache"
    return ""


def _decorator(work: Work, start: int, end: int) -> cst.Decorator | None:
    for node in nodes_in(work.tree.module, cst.Decorator):
        span = work.tree.span(node)
        if span.start <= start and end <= span.end:
            return node
    return None


CODEMOD = python_codemod(
    "cache-size", ("unbounded-cache",), f"let functions remember {MOST_ITEMS} results at most", _collect
)
