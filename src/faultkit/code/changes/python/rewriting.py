"""Collects what is to be done to a tree and does it at once, so that codemods need no visitor of their own.

New statements are given as text. Nothing that is not named here changes by a byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

import libcst as cst

from faultkit.code.changes.python.imports import Wanted, imports_from, known_name, with_imports
from faultkit.code.changes.python.tree import Tree

Replaced: TypeAlias = "cst.CSTNode | cst.FlattenSentinel[cst.CSTNode]"
Step: TypeAlias = Callable[[cst.CSTNode], cst.CSTNode]


class Rewriting:
    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.left_out: list[Wanted] = []
        """Imports for which there is no place in the text."""
        self._steps: dict[cst.CSTNode, list[Step]] = {}
        self._before: dict[cst.CSTNode, list[cst.BaseStatement]] = {}
        self._after: dict[cst.CSTNode, list[cst.BaseStatement]] = {}
        self._unwrapped: set[cst.CSTNode] = set()
        self._wanted: list[Wanted] = []

    @property
    def is_empty(self) -> bool:
        return not (self._steps or self._before or self._after or self._unwrapped)

    def has(self, node: cst.CSTNode) -> bool:
        """Whether something is to be done to this very node."""
        return node in self._steps

    def replace(self, node: cst.CSTNode, step: Step) -> None:
        """Steps on one node follow each other; what is in it has been changed before."""
        self._steps.setdefault(node, []).append(step)

    def swap(self, node: cst.CSTNode, new: cst.CSTNode) -> None:
        """Something else in its place."""
        self.replace(node, lambda _: new)

    def unwrap(self, block: cst.With) -> None:
        """Its body in its place, without its head."""
        self._unwrapped.add(block)

    def before(self, statement: cst.BaseStatement, text: str, *, below_comments: bool = True) -> None:
        """Below the comments that stand above the statement, if they speak of the new lines as well."""
        made = self.statements(text)
        if below_comments and statement not in self._before:
            made[0] = made[0].with_changes(leading_lines=getattr(statement, "leading_lines", ()))
            self.replace(statement, lambda node: node.with_changes(leading_lines=()))
        self._before.setdefault(statement, []).extend(made)

    def after(self, statement: cst.BaseStatement, text: str) -> None:
        self._after.setdefault(statement, []).extend(self.statements(text))

    def above(self, statement: cst.BaseStatement, text: str) -> None:
        """At the top of the file, in front of a statement of it, with as many blank lines as PEP 8 wants."""
        made = self.statements(text)
        body = list(self.tree.module.body)
        at = body.index(statement)  # type: ignore[arg-type]
        above = (self._before.get(statement) or body[:at])[-1:]
        if above:
            made[0] = cast(cst.BaseStatement, spaced(made[0], 2 if _is_definition(above[0], made[0]) else 1))
        self._before.setdefault(statement, []).extend(made)
        lines = 2 if _is_definition(statement, made[-1]) else 1
        self.replace(statement, lambda node: spaced(node, lines))

    def statements(self, text: str) -> list[cst.BaseStatement]:
        module = cst.parse_module(text, config=self.tree.module.config_for_parsing)
        return [_without_blanks(cast(cst.BaseStatement, each)) for each in module.body]

    def expression(self, text: str) -> cst.BaseExpression:
        return cst.parse_expression(text, config=self.tree.module.config_for_parsing)

    def need(self, module: str, name: str = "") -> str:
        """How the text calls a module, or something in it; it is imported if it is not yet."""
        found = known_name(self.tree.module, module, name)
        if found is not None:
            return found
        wanted = Wanted(module, name)
        if wanted not in self._wanted:
            self._wanted.append(wanted)
        return name or module

    def member(self, module: str, name: str) -> str:
        """As `need` of something in a module, in the way in which the file imports from that module."""
        found = known_name(self.tree.module, module, name)
        if found is not None:
            return found
        return (
            self.need(module, name)
            if imports_from(self.tree.module, module)
            else f"{self.need(module)}.{name}"
        )

    def done(self) -> str:
        """The new text."""
        changed = self.tree.module.visit(_Visitor(self._steps, self._before, self._after, self._unwrapped))
        assert isinstance(changed, cst.Module)
        if self.tree.is_indented:
            self.left_out = list(self._wanted)
        else:
            changed = with_imports(changed, self._wanted)
        return changed.code[self.tree.shift :]


class _Visitor(cst.CSTTransformer):
    def __init__(
        self,
        steps: dict[cst.CSTNode, list[Step]],
        before: dict[cst.CSTNode, list[cst.BaseStatement]],
        after: dict[cst.CSTNode, list[cst.BaseStatement]],
        unwrapped: set[cst.CSTNode],
    ) -> None:
        super().__init__()
        self._steps, self._before, self._after, self._unwrapped = steps, before, after, unwrapped

    def on_leave(self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT) -> Replaced:  # type: ignore[override]
        node: cst.CSTNode = updated_node
        for step in self._steps.get(original_node, ()):
            node = step(node)
        around = self._before.get(original_node, []), self._after.get(original_node, [])
        if original_node in self._unwrapped:
            inner = _first_lines(original_node, cst.ensure_type(node, cst.With).body.body)  # type: ignore[arg-type]
            return cst.FlattenSentinel([*around[0], *inner, *around[1]])
        if any(around):
            return cst.FlattenSentinel([*around[0], node, *around[1]])
        return node


def _first_lines(gone: cst.CSTNode, made: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
    """Comments above a statement that is gone stay above what comes in its place."""
    if not made:
        return []
    lines = (*getattr(gone, "leading_lines", ()), *getattr(made[0], "leading_lines", ()))
    return [made[0].with_changes(leading_lines=lines), *made[1:]]


def _is_definition(*nodes: cst.CSTNode) -> bool:
    return any(isinstance(each, (cst.FunctionDef, cst.ClassDef)) for each in nodes)


def _without_blanks(node: cst.BaseStatement) -> cst.BaseStatement:
    """Blank lines in an indented block are empty."""
    lines = [
        each.with_changes(indent=False) if each.comment is None else each
        for each in getattr(node, "leading_lines", ())
    ]
    return node.with_changes(leading_lines=lines)


def spaced(node: cst.CSTNode, blank_lines: int) -> cst.CSTNode:
    """With at least this many blank lines above it; comments that belong to it stay with it."""
    lines = list(getattr(node, "leading_lines", ()))
    have = next((at for at, line in enumerate(lines) if line.comment is not None), len(lines))
    missing = [cst.EmptyLine(indent=False) for _ in range(blank_lines - have)]
    return node.with_changes(leading_lines=(*missing, *lines))
