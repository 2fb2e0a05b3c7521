"""Codemod that reads files line by line, without a list of all lines first.

It is safe if the loop cannot change the file or ask where it is read: nothing else uses the file, and
the loop only computes, with functions and methods that are known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

import libcst as cst

from faultkit.code.changes.change import Source
from faultkit.code.changes.python.codemod import CodemodContext, context_of, python_codemod
from faultkit.code.changes.python.names import PURE
from faultkit.code.changes.python.tree import is_binding, nodes_in, variables_in
from faultkit.code.rules.rule import Finding

_FILE = re.compile(
    r"^((io\.|gzip\.|bz2\.|lzma\.|codecs\.|pathlib\.Path\.)?open\(\)|os\.fdopen\(\)|io\.(StringIO|BytesIO)"
    r"|tempfile\.\w*TemporaryFile(\(\))?)\.readlines$"
)
_EAGER = frozenset(("all", "any", "dict", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple"))
"""Functions that are done with a generator when they return."""
_FUNCTIONS = PURE - {"type"} | {"all", "any", "chr", "divmod", "format", "hash", "hex", "ord", "print"}
_OF_MODULES = re.compile(
    r"^(ast\.literal_eval|json\.(loads|dumps)|(base64|binascii|collections|datetime|decimal|fractions|hashlib"
    r"|html|itertools|math|operator|os\.path|re|string|struct|textwrap|unicodedata|urllib\.parse)\..+)$"
)
"""Functions that change no file. `print` may be given one."""
_ACTS: tuple[type[cst.CSTNode], ...] = (
    cst.Await, cst.Yield, cst.With, cst.Import, cst.ImportFrom, cst.FunctionDef, cst.ClassDef,
)  # fmt: skip
_COLLECTIONS = (cst.BaseComp, cst.List, cst.Tuple, cst.Dict, cst.Set)
_COLLECTS = re.compile(
    r"^(dict|enumerate|frozenset|list|max|min|reversed|set|sorted|sum|tuple|zip|(collections|itertools)\..+)$"
)
"""Those of them whose results hold what they are given."""
_Kind: TypeAlias = int
_UNKNOWN, _COLLECTION, _DATA = range(3)
"""An object that may do anything; a collection, of which only the own methods are known to change no file; a
text, a number, or what is made of them alone."""


def _collect_line_by_line(context: CodemodContext) -> None:
    for _, call, node in context.calls():
        if call.method != "readlines" or node.args or not isinstance(node.func, cst.Attribute):
            continue
        parts = _parts(context, node)
        if parts and not _is_used_otherwise(context, node, node.func.value, parts):
            context.new.swap(node, node.func.value)


def _parts(context: CodemodContext, node: cst.Call) -> list[cst.CSTNode]:
    """Return what is evaluated for each line; empty if the list of lines may be used more than once or
    later."""
    above = context.tree.parent(node)
    if isinstance(above, cst.For) and above.iter is node:
        return [above.target, above.body]
    whole = None if above is None else context.tree.parent(above)
    if not isinstance(above, cst.CompFor) or above.iter is not node or not isinstance(whole, cst.BaseComp):
        return []
    if isinstance(whole, cst.GeneratorExp) and not _is_read_at_once(context, whole):
        return []
    return [each for each in (*whole.children, *above.children) if each not in (above, node)]


def _is_read_at_once(context: CodemodContext, generator: cst.GeneratorExp) -> bool:
    argument = context.tree.parent(generator)
    call = None if argument is None else context.tree.parent(argument)
    return isinstance(call, cst.Call) and context.resolved_name(call) in _EAGER


def _is_used_otherwise(
    context: CodemodContext, node: cst.Call, file: cst.BaseExpression, parts: list[cst.CSTNode]
) -> bool:
    """Return whether the loop, or what follows it, may ask for the place where the file is read."""
    names = {each.value for each in variables_in(context.tree, file)}
    if any(each.value in names for part in parts for each in variables_in(context.tree, part)):
        return True
    if not isinstance(file, cst.Name):
        return False
    function = context.tree.function(node)
    around = [each for each in context.tree.around(node) if isinstance(each, (cst.For, cst.While))]
    repeated = [each for each in around if each is not context.tree.parent(node)]
    others = [
        each
        for each in variables_in(context.tree, function or context.tree.module)
        if each.value == file.value and each is not file and not is_binding(context.tree, each)
    ]
    return any(
        context.tree.function(each) is not function
        or not _is_called(context, each)
        or (_is_after(context, each, file) and not _is_closed(context, each))
        or any(each in _reads(context, loop) for loop in repeated)
        for each in others
    )


def _is_called(context: CodemodContext, name: cst.Name) -> bool:
    """Return whether only a method of the file is called: it gets no other name."""
    member = context.tree.parent(name)
    call = None if member is None else context.tree.parent(member)
    return isinstance(member, cst.Attribute) and isinstance(call, cst.Call) and call.func is member


def _reads(context: CodemodContext, loop: cst.CSTNode) -> Iterator[cst.Name]:
    """Yield names that a loop around reads again, unless it binds them first."""
    found = list(variables_in(context.tree, loop))
    bound = {each.value for each in found if is_binding(context.tree, each)}
    return (each for each in found if each.value not in bound)


def _is_after(context: CodemodContext, node: cst.CSTNode, other: cst.CSTNode) -> bool:
    return context.tree.span(node).start > context.tree.span(other).start


def _is_closed(context: CodemodContext, name: cst.Name) -> bool:
    above = context.tree.parent(name)
    return isinstance(above, cst.Attribute) and above.attr.value == "close"


# Whether a loop only computes.


def _only_computes(context: CodemodContext, part: cst.CSTNode) -> bool:
    own = {each.name.value for each in nodes_in(context.tree.module, cst.FunctionDef)}
    own |= {each.name.value for each in nodes_in(context.tree.module, cst.ClassDef)}
    return (
        not any(True for kind in _ACTS for _ in nodes_in(part, kind))
        and not any(each.value in own for each in variables_in(context.tree, part))
        and all(_is_computed(context, each, frozenset()) for each in nodes_in(part, cst.Call))
    )


def _is_computed(context: CodemodContext, call: cst.Call, asked: frozenset[str]) -> bool:
    """Return whether a call is of a known function, or of a method of data."""
    name = context.resolved_name(call)
    if _computes(name):
        return not any(each.keyword is not None and each.keyword.value == "file" for each in call.args)
    return isinstance(call.func, cst.Attribute) and _kind(context, call.func.value, asked) != _UNKNOWN


def _computes(name: str) -> bool:
    return name in _FUNCTIONS or _OF_MODULES.match(name) is not None


def _kind(context: CodemodContext, value: cst.BaseExpression | None, asked: frozenset[str]) -> _Kind:
    """Return what is known of a value whose methods are called."""
    if isinstance(value, cst.Subscript):
        return _held(_kind(context, value.value, asked))
    if isinstance(value, cst.Call):
        name = context.resolved_name(value)
        if _computes(name):
            return _COLLECTION if _COLLECTS.match(name) else _DATA
        is_method = isinstance(value.func, cst.Attribute)
        return (
            _held(_kind(context, cst.ensure_type(value.func, cst.Attribute).value, asked))
            if is_method
            else _UNKNOWN
        )
    if isinstance(value, cst.BinaryOperation):
        return min(_kind(context, value.left, asked), _kind(context, value.right, asked))
    if not isinstance(value, cst.Name):
        is_data = isinstance(value, (cst.BaseString, cst.BaseNumber, cst.Comparison))
        return _DATA if is_data else _COLLECTION if isinstance(value, _COLLECTIONS) else _UNKNOWN
    if value.value in asked:
        return _DATA
    scope = context.tree.function(value) or context.tree.module
    uses = [each for each in variables_in(context.tree, scope) if each.value == value.value]
    bindings = [each for each in uses if is_binding(context.tree, each)]
    asked |= {value.value}
    return min((_bound_kind(context, each, asked) for each in bindings), default=_UNKNOWN)


def _held(kind: _Kind) -> _Kind:
    """Return the kind of what a value of a kind holds or gives."""
    return _DATA if kind == _DATA else _UNKNOWN


def _bound_kind(context: CodemodContext, name: cst.Name, asked: frozenset[str]) -> _Kind:
    """Return the kind of what a name is bound to in one place."""
    for above in context.tree.around(name):
        if isinstance(above, (cst.AnnAssign, cst.AugAssign, cst.NamedExpr)):
            return _kind(context, above.value, asked)
        if isinstance(above, cst.Assign):
            return min(_part_kind(context, each.target, above.value, name, asked) for each in above.targets)
        if isinstance(above, (cst.For, cst.CompFor)):
            return _kind_in_loop(context, above.iter, asked)
        if isinstance(above, (cst.Param, cst.BaseCompoundStatement)):
            return _UNKNOWN
    return _UNKNOWN


def _part_kind(
    context: CodemodContext,
    target: cst.CSTNode,
    value: cst.BaseExpression,
    name: cst.Name,
    asked: frozenset[str],
) -> _Kind:
    """Return the kind of what a name gets of an assignment: `found, total = [], 0`."""
    if target is name:
        return _kind(context, value, asked)
    if (
        isinstance(target, cst.Tuple)
        and isinstance(value, cst.Tuple)
        and len(target.elements) == len(value.elements)
    ):
        pairs = zip(target.elements, value.elements, strict=True)
        return next(
            (_kind(context, part.value, asked) for each, part in pairs if each.value is name), _UNKNOWN
        )
    return _held(_kind(context, value, asked))


def _kind_in_loop(context: CodemodContext, value: cst.BaseExpression, asked: frozenset[str]) -> _Kind:
    """Return the kind of what a loop over a value gives: lines, numbers, or parts of data."""
    if isinstance(value, cst.Call):
        is_lines = isinstance(value.func, cst.Attribute) and value.func.attr.value == "readlines"
        if is_lines or context.resolved_name(value) == "range":
            return _DATA
    return _held(_kind(context, value, asked))


def _question(source: Source, finding: Finding) -> str:
    call, context = source.call_at(finding), context_of(source, (finding,))
    node = None if context is None else context.tree.at(finding.span, cst.Call)
    if call is None or context is None or node is None or not isinstance(node.func, cst.Attribute):
        return ""
    if not _FILE.match(call.name) or isinstance(node.func.value, cst.Attribute):
        return f"Is {call.receiver_written} a file, so that a loop over it gives the same lines?"
    if all(_only_computes(context, each) for each in _parts(context, node)):
        return ""
    return "Does the loop leave the file as it is? With the change, lines are read while the loop runs."


LINE_BY_LINE = python_codemod(
    "line-by-line",
    ("whole-file-loaded",),
    "read a file line by line, and not all of it at once",
    _collect_line_by_line,
    asks=_question,
)
