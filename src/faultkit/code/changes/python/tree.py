"""A Python text as libcst reads it, found by the bytes that findings name. Read only.

A method that was given without its class is indented: it is read under an `if` of its own, and `shift` is how
many bytes that took.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper, ParentNodeProvider

from faultkit.code.syntax import Span

_HEAD = "if True:\n"
_BODY_OF = (cst.IndentedBlock, cst.Module)
N = TypeVar("N", bound=cst.CSTNode)


class Tree:
    def __init__(self, text: str) -> None:
        """Raises libcst.ParserSyntaxError if it is not Python."""
        first = next((line for line in text.splitlines() if line.strip() and line.lstrip()[0] != "#"), "")
        self.is_indented = first[:1] in (" ", "\t")
        self.head = _HEAD if self.is_indented else ""
        self.shift = len(self.head)
        wrapper = MetadataWrapper(cst.parse_module(self.head + text), unsafe_skip_copy=True)
        self.module = wrapper.module
        self._spans = wrapper.resolve(ByteSpanPositionProvider)
        self._parents: Mapping[cst.CSTNode, cst.CSTNode] = wrapper.resolve(ParentNodeProvider)
        self._by_span: dict[tuple[int, int], list[cst.CSTNode]] = {}
        for node, span in self._spans.items():
            key = (span.start - self.shift, span.start + span.length - self.shift)
            self._by_span.setdefault(key, []).append(node)

    def at(self, span: Span, kind: type[N]) -> N | None:
        """The node of this kind that has exactly these bytes, with or without parentheses around it."""
        found = self._by_span.get((span.start, span.end), ())
        return next((node for node in found if isinstance(node, kind)), None)

    def span(self, node: cst.CSTNode) -> Span:
        found = self._spans[node]
        return Span(found.start - self.shift, found.start + found.length - self.shift)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return self._parents.get(node)

    def around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """From the nearest to the module."""
        above = self.parent(node)
        while above is not None:
            yield above
            above = self.parent(above)

    def statement(self, node: cst.CSTNode) -> cst.BaseStatement | None:
        """The innermost statement that it is or is in: a line, or a compound one."""
        for each in (node, *self.around(node)):
            if isinstance(each, cst.BaseStatement):
                return each
        return None

    def block(self, statement: cst.CSTNode) -> cst.IndentedBlock | cst.Module | None:
        """The block whose statement it is; None if the block is written on one line."""
        above = self.parent(statement)
        return above if isinstance(above, _BODY_OF) else None

    def function(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """The innermost one whose body (and not head) it is in; None in a lambda or a body of a class."""
        below = node
        for each in self.around(node):
            if isinstance(each, (cst.Lambda, cst.ClassDef)):
                return None
            if isinstance(each, cst.FunctionDef) and below is each.body:
                return each
            below = each
        return None

    def top(self, node: cst.CSTNode) -> cst.BaseStatement | None:
        """The statement of the file that it stands in."""
        for each in (node, *self.around(node)):
            if self.parent(each) is self.module and isinstance(each, cst.BaseStatement):
                return each
        return None

    def code(self, node: cst.CSTNode) -> str:
        return self.module.code_for_node(node)


def nodes_in(
    top: cst.CSTNode, kind: type[N], enters: Callable[[cst.CSTNode], bool] | None = None
) -> Iterator[N]:
    """It and all below it, in the order of the text; into those only that `enters` allows."""
    todo: list[cst.CSTNode] = [top]
    while todo:
        node = todo.pop()
        if isinstance(node, kind):
            yield node
        if enters is None or node is top or enters(node):
            todo += reversed(node.children)


def is_unconditional(tree: Tree, node: cst.CSTNode, statement: cst.CSTNode) -> bool:
    """Whether a part of a statement is evaluated exactly once whenever the statement is."""
    lazy = (
        cst.Lambda, cst.IfExp, cst.BooleanOperation, cst.BaseComp, cst.Comparison, cst.FormattedString,
    )  # fmt: skip
    for each in tree.around(node):
        if each is statement:
            return True
        if isinstance(each, lazy):
            return False
    return node is statement
