"""A new value for every call in place of one that all calls share."""

from __future__ import annotations

import re

import libcst as cst

from faultkit.code.changes.python.codemod import Work, python_codemod
from faultkit.code.changes.python.names import variables_in
from faultkit.code.changes.python.tree import nodes_in

_ON_PURPOSE = re.compile(r"^_|cache|memo|state|registry|seen", re.IGNORECASE)


def _collect(work: Work) -> None:
    wanted = {each.span for each in work.findings}
    for function in nodes_in(work.tree.module, cst.FunctionDef):
        if not isinstance(function.body, cst.IndentedBlock):
            continue
        found = [
            param
            for param in nodes_in(function.params, cst.Param)
            if param.default is not None
            and work.tree.span(param.default) in wanted
            and _is_mistake(work, param.name.value, param.default)
        ]
        if not found:
            continue
        lines = ""
        for param in found:
            name, value = param.name.value, work.tree.code(param.default)  # type: ignore[arg-type]
            lines += f"if {name} is None:\n    {name} = {value}\n"
            work.new.replace(param, lambda each: _without_value(work, cst.ensure_type(each, cst.Param)))
        _at_start(work, function.body, function.get_docstring() is not None, lines)


def _is_mistake(work: Work, name: str, default: cst.BaseExpression) -> bool:
    """Some keep values from call to call on purpose, and some are made of what is known only once."""
    makers = {"list", "dict", "set"}
    return not _ON_PURPOSE.search(name) and all(
        each.value in makers for each in variables_in(work.tree, default)
    )


def _without_value(work: Work, param: cst.Param) -> cst.Param:
    annotation = param.annotation
    if annotation is not None and "None" not in work.tree.code(annotation.annotation):
        text = work.tree.code(annotation.annotation)
        if "Optional" not in text and not isinstance(annotation.annotation, cst.SimpleString):
            annotation = annotation.with_changes(annotation=work.new.expression(f"{text} | None"))
    return param.with_changes(default=cst.Name("None"), annotation=annotation)


def _at_start(work: Work, body: cst.IndentedBlock, has_docstring: bool, lines: str) -> None:
    first = body.body[0]
    assert isinstance(first, cst.BaseStatement)
    if has_docstring:
        work.new.after(first, lines)
    else:
        work.new.before(first, lines, below_comments=False)


CODEMOD = python_codemod(
    "mutable-default", ("mutable-default-argument",), "make a default value anew for every call", _collect
)
