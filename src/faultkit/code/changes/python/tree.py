"""Python code as a libcst tree: finds nodes by the byte spans of findings, and answers which names are free.

A method that was given without its class is indented. It is parsed under an `if` line of its own, and
`shift` is the length of that line in bytes. Nothing here changes a tree.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper, ParentNodeProvider

from faultkit.code.languages.syntax import Span

_HEAD = "if True:\n"
_BODY_OF = (cst.IndentedBlock, cst.Module)
N = TypeVar("N", bound=cst.CSTNode)


class Tree:
    """A parsed Python text with the byte positions of its nodes."""

    def __init__(self, text: str) -> None:
        """Parse the text. Raises libcst.ParserSyntaxError if it is not Python."""
        first = next((line for line in text.splitlines() if line.strip() and line.lstrip()[0] != "#"), "")
        self.is_indented = first[:1] in (" ", "\t")
        self.head = _HEAD if self.is_indented else ""
        self.shift = len(self.head)
        wrapper = MetadataWrapper(cst.parse_module(self.head + text), unsafe_skip_copy=True)
        self.module = wrapper.module
        self.tail = "\r" if text.endswith("\r") and not self.module.code.endswith("\r") else ""
        """A line end after the last line that the parser drops."""
        self._spans = wrapper.resolve(ByteSpanPositionProvider)
        self._parents: Mapping[cst.CSTNode, cst.CSTNode] = wrapper.resolve(ParentNodeProvider)
        self._by_span: dict[tuple[int, int], list[cst.CSTNode]] = {}
        for node, span in self._spans.items():
            key = (span.start - self.shift, span.start + span.length - self.shift)
            self._by_span.setdefault(key, []).append(node)

    def at(self, span: Span, kind: type[N]) -> N | None:
        """Return the node of this kind that has exactly these bytes, with or without parentheses."""
        found = self._by_span.get((span.start, span.end), ())
        return next((node for node in found if isinstance(node, kind)), None)

    def span(self, node: cst.CSTNode) -> Span:
        found = self._spans[node]
        return Span(found.start - self.shift, found.start + found.length - self.shift)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return self._parents.get(node)

    def around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield parents from the nearest to the module."""
        above = self.parent(node)
        while above is not None:
            yield above
            above = self.parent(above)

    def statement(self, node: cst.CSTNode) -> cst.BaseStatement | None:
        """Return the innermost statement that it is or is in: a line, or a compound one."""
        for each in (node, *self.around(node)):
            if isinstance(each, cst.BaseStatement):
                return each
        return None

    def block(self, statement: cst.CSTNode) -> cst.IndentedBlock | cst.Module | None:
        """Return the block whose statement it is; None if the block is written on one line."""
        above = self.parent(statement)
        return above if isinstance(above, _BODY_OF) else None

    def function(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """Return the innermost function whose body contains it; None in a lambda or a class body."""
        below = node
        for each in self.around(node):
            if isinstance(each, (cst.Lambda, cst.ClassDef)):
                return None
            if isinstance(each, cst.FunctionDef) and below is each.body:
                return each
            below = each
        return None

    def top(self, node: cst.CSTNode) -> cst.BaseStatement | None:
        """Return the top-level statement that contains it."""
        for each in (node, *self.around(node)):
            if self.parent(each) is self.module and isinstance(each, cst.BaseStatement):
                return each
        return None

    def code(self, node: cst.CSTNode) -> str:
        return self.module.code_for_node(node)


def nodes_in(
    top: cst.CSTNode, kind: type[N], enters: Callable[[cst.CSTNode], bool] | None = None
) -> Iterator[N]:
    """Yield a node and all below it in the order of the text, entering only those that `enters` accepts."""
    todo: list[cst.CSTNode] = [top]
    while todo:
        node = todo.pop()
        if isinstance(node, kind):
            yield node
        if enters is None or node is top or enters(node):
            todo += reversed(node.children)


_LATER = (cst.Lambda, cst.IfExp, cst.BooleanOperation, cst.BaseComp, cst.Comparison, cst.FormattedString)
"""Expressions whose parts are evaluated later, more than once, or not at all."""
_PURE = (cst.Name, cst.BaseString, cst.BaseNumber, cst.Ellipsis)


def is_unconditional(tree: Tree, node: cst.CSTNode, statement: cst.CSTNode) -> bool:
    """Return whether a part of a statement is evaluated exactly once whenever the statement is."""
    for inner, above in _steps(tree, node, statement):
        if isinstance(above, _LATER) or (isinstance(above, cst.Assert) and above.msg is inner):
            return False
    return True


def is_evaluated_first(tree: Tree, node: cst.CSTNode, statement: cst.CSTNode) -> bool:
    """Return whether a part of a statement is evaluated exactly once, and nothing with an effect before
    it."""
    return is_unconditional(tree, node, statement) and all(
        _is_pure(each, above)
        for inner, above in _steps(tree, node, statement)
        for each in _evaluated_before(above, inner)
    )


def _steps(
    tree: Tree, node: cst.CSTNode, statement: cst.CSTNode
) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """Yield pairs of a part and its parent, from a node to the statement that it is in."""
    for above in tree.around(node):
        if node is statement:
            return
        yield node, above
        node = above


def _evaluated_before(above: cst.CSTNode, inner: cst.CSTNode) -> list[cst.CSTNode]:
    """Return the parts of an expression or a statement before one of them. Targets of an assignment come
    last."""
    if isinstance(above, (cst.Assign, cst.AnnAssign)):
        return []
    return list(itertools.takewhile(lambda each: each is not inner, above.children))


def _is_pure(part: cst.CSTNode, above: cst.CSTNode) -> bool:
    """Return whether a part does nothing but give a value: a name, a literal, or the name of what is
    called."""
    if isinstance(above, cst.Call) and part is above.func:
        while isinstance(part, cst.Attribute):
            part = part.value
    if isinstance(part, _PURE):
        return not any(nodes_in(part, cst.FormattedStringExpression))
    if isinstance(part, cst.BaseExpression) and not isinstance(part, (cst.Tuple, cst.List, cst.Dict)):
        return False
    return all(_is_pure(each, part) for each in part.children)


# Names: which are free, which are known at the top of the file, which are read in a part.


_BUILT_IN = frozenset(
    {"True", "False", "None", "str", "int", "float", "dict", "list", "set", "tuple", "bool"}
)


def free_name(tree: Tree, wanted: str, near: cst.CSTNode | None = None) -> str:
    """Return the name, or one with a number, that nothing in the function around `near` or in the file
    uses."""
    where = (tree.function(near) if near is not None else None) or tree.module
    used = {each.value for each in nodes_in(where, cst.Name)}
    name, number = wanted, 2
    while name in used:
        name, number = f"{wanted}_{number}", number + 1
    return name


def variables_in(tree: Tree, top: cst.CSTNode) -> Iterator[cst.Name]:
    """Yield names that stand for values: neither attributes nor keywords of calls."""
    for name in nodes_in(top, cst.Name):
        above = tree.parent(name)
        if isinstance(above, cst.Attribute) and above.attr is name:
            continue
        if isinstance(above, cst.Arg) and above.keyword is name:
            continue
        yield name


def is_binding(tree: Tree, name: cst.Name) -> bool:
    """Return whether a name is given a value there, and not read."""
    inner: cst.CSTNode = name
    for above in tree.around(name):
        if isinstance(above, (cst.AssignTarget, cst.AsName, cst.ImportAlias, cst.NameItem)):
            return True
        if isinstance(above, (cst.For, cst.CompFor, cst.AnnAssign, cst.AugAssign, cst.NamedExpr)):
            return above.target is inner
        if isinstance(above, (cst.Param, cst.FunctionDef, cst.ClassDef)):
            return above.name is inner
        if not isinstance(above, (cst.Element, cst.StarredElement, cst.Tuple, cst.List)):
            return False
        inner = above
    return False


def is_known_before(tree: Tree, part: cst.CSTNode, statement: cst.CSTNode) -> bool:
    """Return whether everything that a part reads is bound at the top of the file before a statement."""
    known = {*_BUILT_IN}
    for line in tree.module.body:
        if line is statement:
            break
        if isinstance(line, cst.SimpleStatementLine):
            for small in line.body:
                known |= _bound_by(small)
    return all(name.value in known for name in variables_in(tree, part))


def _bound_by(small: cst.BaseSmallStatement) -> set[str]:
    if isinstance(small, cst.Assign):
        return {each.target.value for each in small.targets if isinstance(each.target, cst.Name)}
    if isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name):
        return {small.target.value}
    if isinstance(small, (cst.Import, cst.ImportFrom)) and not isinstance(small.names, cst.ImportStar):
        return {(each.evaluated_alias or each.evaluated_name).partition(".")[0] for each in small.names}
    return set()
