"""Codemods that replace one expression: mutable defaults, wall clocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst
from libcst.helpers import get_full_name_for_node

from faultkit.code.changes.change import Source
from faultkit.code.changes.python.codemod import CodemodContext, python_codemod
from faultkit.code.changes.python.names import SEES_LOCALS, bound_names, classes, replaces_parts_of
from faultkit.code.changes.python.rewriting import known_name
from faultkit.code.changes.python.tree import nodes_in, variables_in
from faultkit.code.changes.questions import always, faked_question
from faultkit.code.rules.rule import Finding

# Mutable defaults. A default that is changed, returned or stored may keep values on purpose, so the change
# always asks; one that is only read is not found.


_MAY_BE_NONE = re.compile(r"\bOptional\[|\bNone\b")
_ON_PURPOSE = re.compile(r"^_|cache|memo|state|registry|seen", re.IGNORECASE)
_MAKERS = frozenset(("list", "dict", "set"))


def _collect_mutable_default(context: CodemodContext) -> None:
    wanted = {each.span for each in context.findings}
    optional = _none_of(context)
    for function in nodes_in(context.tree.module, cst.FunctionDef):
        if not isinstance(function.body, cst.IndentedBlock) or _shares_docstring_line(function):
            continue
        found = [
            param
            for param in nodes_in(function.params, cst.Param)
            if param.default is not None
            and context.tree.span(param.default) in wanted
            and _is_mistake(context, param.name.value, param.default)
            and not _handles_none(context, param, function.body)
            and (optional or param.annotation is None)
        ]
        if not found:
            continue
        lines = ""
        for param in found:
            name, value = param.name.value, context.tree.code(param.default)  # type: ignore[arg-type]
            lines += f"if {name} is None:\n    {name} = {value}\n"
            context.new.replace(
                param, lambda each: _without_value(context, cst.ensure_type(each, cst.Param), optional)
            )
        _at_start(context, function.body, function.get_docstring() is not None, lines)


def _shares_docstring_line(function: cst.FunctionDef) -> bool:
    """Return whether the docstring shares its line with a statement, before which there is no place."""
    first = function.body.body[0]
    is_shared = isinstance(first, cst.SimpleStatementLine) and len(first.body) > 1
    return is_shared and function.get_docstring() is not None


def _is_mistake(context: CodemodContext, name: str, default: cst.BaseExpression) -> bool:
    """Return whether a mutable default is a mistake: some keep values on purpose, some are built only
    once."""
    makers = _MAKERS - {*bound_names(context.code)}
    return not _ON_PURPOSE.search(name) and all(
        each.value in makers for each in variables_in(context.tree, default)
    )


def _handles_none(context: CodemodContext, param: cst.Param, body: cst.CSTNode) -> bool:
    """Return whether None has a meaning of its own there already: the annotation allows it, or the function
    compares the value with it, or asks for the type of the value."""
    if param.annotation is not None and _MAY_BE_NONE.search(context.tree.code(param.annotation.annotation)):
        return True
    name = param.name.value
    tests = (
        *(each for each in nodes_in(body, cst.Comparison) if "None" in _names_in(each)),
        *(each.subject for each in nodes_in(body, cst.Match)),
        *(each for each in nodes_in(body, cst.Call) if {"isinstance", "type"} & _names_in(each.func)),
    )
    return any(name in _names_in(each) for each in tests)


def _names_in(node: cst.CSTNode) -> set[str]:
    return {each.value for each in nodes_in(node, cst.Name)}


def _none_of(context: CodemodContext) -> str:
    """Return the form of `x or None` in annotations; empty if the project has none that is sure to work."""
    is_late = known_name(context.tree.module, "__future__", "annotations") is not None
    if is_late or context.project.supports_python(3, 10):
        return "{} | None"
    known = known_name(context.tree.module, "typing", "Optional")
    return "" if known is None else f"{known}[{{}}]"


def _without_value(context: CodemodContext, param: cst.Param, optional: str) -> cst.Param:
    annotation = param.annotation
    if annotation is not None and _is_type(context, annotation.annotation):
        text = context.tree.code(annotation.annotation)
        annotation = annotation.with_changes(annotation=context.new.expression(optional.format(text)))
    return param.with_changes(default=cst.Name("None"), annotation=annotation)


_TYPES = frozenset(
    (
        "bytearray",
        "bytes",
        "dict",
        "float",
        "frozenset",
        "int",
        "list",
        "object",
        "set",
        "str",
        "tuple",
        "type",
    )
)
_TYPING = ("typing", "typing_extensions", "collections")


def _is_type(context: CodemodContext, annotation: cst.BaseExpression) -> bool:
    """Return whether an annotation is sure to be a type, and may be joined with None: `[int]`, "Item" in
    quotes or a name from elsewhere may not."""
    if isinstance(annotation, cst.Subscript):
        return _is_type(context, annotation.value)
    if isinstance(annotation, cst.BinaryOperation):
        sides = annotation.left, annotation.right
        return isinstance(annotation.operator, cst.BitOr) and all(_is_type(context, each) for each in sides)
    if not isinstance(annotation, (cst.Name, cst.Attribute)):
        return False
    name = get_full_name_for_node(annotation) or ""
    origins = bound_names(context.code).get(name.partition(".")[0])
    if origins is None:
        return name in _TYPES
    is_typing = all(each.partition(".")[0] in _TYPING for each in origins)
    return (is_typing and name.rpartition(".")[2] != "Any") or name in classes(context.code)


def _at_start(context: CodemodContext, body: cst.IndentedBlock, has_docstring: bool, lines: str) -> None:
    first = body.body[0]
    assert isinstance(first, cst.BaseStatement)
    if has_docstring:
        context.new.after(first, lines)
    else:
        context.new.before(first, lines, below_comments=False)


MUTABLE_DEFAULT = python_codemod(
    "mutable-default",
    ("mutable-default-argument",),
    "make a default value anew for every call",
    _collect_mutable_default,
    asks=always(
        "Is nothing kept in the default from one call to the next on purpose, and does nothing pass None "
        "there, or read the default, as decorators may?"
    ),
)


# Durations by `time.monotonic`. A clock is replaced only where its time is used for nothing but differences
# in the same function, of which both sides are replaced: a time that is also stored or shown stays a date.


_OF_FRAMES = frozenset(("_getframe", "currentframe", "f_locals", "stack"))
"""Names by which a text may read the variables of another function."""


@dataclass(frozen=True, slots=True)
class _Difference:
    """A difference of two times, the function that it is in, and the clocks that its sides read."""

    node: cst.BinaryOperation
    function: cst.FunctionDef
    clocks: tuple[cst.Call, ...]

    @property
    def names(self) -> set[str]:
        return {each.value for each in (self.node.left, self.node.right) if isinstance(each, cst.Name)}


def _collect_monotonic(context: CodemodContext) -> None:
    if replaces_parts_of(context.code, frozenset(("time",))) or _names_in(context.tree.module) & _OF_FRAMES:
        return
    differences = [*_differences(context)]
    kept: list[_Difference] = []
    # A name that one difference cannot have is lost for the others, too.
    while kept != differences:
        kept, differences = (
            differences,
            [each for each in differences if _is_closed(each, differences, context)],
        )
    for function in {clock.func: None for each in kept for clock in each.clocks}:
        context.new.swap(function, context.new.expression(context.new.member("time", "monotonic")))


def _differences(context: CodemodContext) -> Iterator[_Difference]:
    clocks = {found for call in context.facts.calls_named("time.time") if (found := context.node(call))}
    for finding in context.findings:
        node = context.tree.at(finding.span, cst.BinaryOperation)
        function = None if node is None else context.tree.function(node)
        if node is None or function is None or not isinstance(node.operator, cst.Subtract):
            continue
        sides = [_clocks_of(side, clocks, function) for side in (node.left, node.right)]
        if all(sides) and not _names_in(function) & SEES_LOCALS:
            yield _Difference(node, function, tuple(each for side in sides for each in side))


def _clocks_of(side: cst.BaseExpression, clocks: set[cst.Call], scope: cst.CSTNode) -> list[cst.Call]:
    """Return clock calls that a side is, or that its name holds; none if the name has other values, too."""
    if isinstance(side, cst.Call):
        return [side] if side in clocks else []
    if not isinstance(side, cst.Name):
        return []
    values = [
        assign.value
        for assign in nodes_in(scope, cst.Assign)
        for target in assign.targets
        if isinstance(target.target, cst.Name) and target.target.value == side.value
    ]
    found = [each for each in values if isinstance(each, cst.Call) and each in clocks]
    return found if len(found) == len(values) else []


def _is_closed(difference: _Difference, all_of_them: list[_Difference], context: CodemodContext) -> bool:
    """Return whether its names are set and read in its function only, and read in such differences only."""
    sides = {
        side
        for each in all_of_them
        if each.function is difference.function
        for side in (each.node.left, each.node.right)
    }
    return all(
        context.tree.function(each) is difference.function
        and (each in sides or isinstance(context.tree.parent(each), cst.AssignTarget))
        for each in variables_in(context.tree, difference.function)
        if each.value in difference.names
    )


def _clock_question(source: Source, finding: Finding) -> str:
    return faked_question(source.project, "time.time")


MONOTONIC = python_codemod(
    "monotonic",
    ("wall-clock-for-durations",),
    "measure durations with a clock that is never set",
    _collect_monotonic,
    asks=_clock_question,
)
