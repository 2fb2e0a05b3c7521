"""Calls that lack one argument: a table of them for codemods that do no more than to add it."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from faultkit.code.changes.python.calls import takes_keywords, with_keyword
from faultkit.code.changes.python.codemod import Work


def add_keyword(work: Work, node: cst.Call, name: str, value: str) -> None:
    """Once, however many findings point at the call."""
    if work.new.has(node) or not takes_keywords(node):
        return
    expression = work.new.expression(value)
    work.new.replace(node, lambda each: with_keyword(cst.ensure_type(each, cst.Call), name, expression))


def add_keywords(work: Work, table: Mapping[str, tuple[str, str]]) -> None:
    """`table` has a keyword and its value by the resolved name of a function."""
    for _, call, node in work.calls():
        if call.name in table:
            add_keyword(work, node, *table[call.name])
