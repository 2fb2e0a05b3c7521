"""Codemods from functions that collect what is to be rewritten: parses the text and writes it back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import libcst as cst

from faultkit.code.changes.change import SAFE, Asks, Change, Codemod, Source, edits_between
from faultkit.code.changes.project import Project
from faultkit.code.changes.python.comments import comment_of, with_comment, without_comment
from faultkit.code.changes.python.layout import wrapped
from faultkit.code.changes.python.names import NameTakenError
from faultkit.code.changes.python.rewriting import Rewriting
from faultkit.code.changes.python.tree import Tree
from faultkit.code.facts import Call, Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import Finding


@dataclass(frozen=True)
class CodemodContext:
    """What a codemod receives: the text, its tree, the findings, and the rewriting to collect changes in."""

    source: Source
    tree: Tree
    findings: tuple[Finding, ...]
    new: Rewriting
    dependencies: list[str] = field(default_factory=list)

    @property
    def code(self) -> str:
        """The text of the tree: one that is indented has a line above it."""
        return f"{self.tree.head}{self.source.text}"

    @property
    def facts(self) -> Facts:
        return self.source.facts

    @property
    def project(self) -> Project:
        return self.source.project

    def calls(self) -> Iterator[tuple[Finding, Call, cst.Call]]:
        """Yield findings that point at a call, with the call as a fact and as a node."""
        for finding in self.findings:
            call, node = self.source.call_at(finding), self.tree.at(finding.span, cst.Call)
            if call is not None and node is not None:
                yield finding, call, node

    def node(self, call: Call) -> cst.Call | None:
        return self.tree.at(call.span, cst.Call)

    def resolved_name(self, node: cst.Call) -> str:
        """Return the full name of a called function, as imports give it; empty if it is unknown."""
        return self._names.get(self.tree.span(node), "")

    @cached_property
    def _names(self) -> Mapping[Span, str]:
        shift = self.source.shift
        return {Span(each.span.start - shift, each.span.end - shift): each.name for each in self.facts.calls}


@lru_cache(maxsize=2)
def _tree(text: str) -> Tree:
    """Parse a text once: trees are read-only and shared by all codemods that are tried on it."""
    return Tree(text)


def context_of(source: Source, findings: tuple[Finding, ...]) -> CodemodContext | None:
    """Return what a codemod receives; None if the text cannot be read."""
    try:
        tree = _tree(source.text)
    except cst.ParserSyntaxError:
        return None
    return CodemodContext(source, tree, findings, Rewriting(tree, source.project.own))


def python_codemod(
    name: str,
    slugs: tuple[str, ...],
    description: str,
    collect: Callable[[CodemodContext], None],
    *,
    asks: Asks = SAFE,
    stage: int = 0,
) -> Codemod:
    """Return a codemod from its collecting function."""

    def rewrite(source: Source, findings: tuple[Finding, ...]) -> Change | None:
        context = context_of(source, findings)
        if context is None:
            return None
        try:
            collect(context)
        except NameTakenError:
            return None
        if context.new.is_empty:
            return None
        edits = tuple(
            replace(each, text=wrapped(each.text, source.project.line_length))
            for each in edits_between(source.text, context.new.done())
        )
        if not edits:
            return None
        return Change(
            rules=tuple(sorted({each.rule.id for each in findings})),
            description=description,
            edits=edits,
            imports=tuple(each.statement for each in context.new.left_out),
            dependencies=tuple(sorted({*context.dependencies})),
        )

    return Codemod(name, slugs, rewrite, stage, asks)


# Calls and small expressions of a libcst tree with something added, in the layout that they have.


def keyword_of(call: cst.Call, name: str) -> cst.Arg | None:
    """Return the keyword argument of this name, or None."""
    return next((each for each in call.args if each.keyword is not None and each.keyword.value == name), None)


def takes_keywords(call: cst.Call) -> bool:
    """Return whether a keyword can be added: not after `f(x for x in y)`, whose generator needs
    parentheses."""
    return not (
        len(call.args) == 1
        and isinstance(call.args[0].value, cst.GeneratorExp)
        and not call.args[0].value.lpar
    )


def with_keyword(call: cst.Call, name: str, value: cst.BaseExpression) -> cst.Call:
    """Return the call with one more argument at the end, on a line of its own if the others are.

    An existing keyword keeps its place and gets the new value.
    """
    old = keyword_of(call, name)
    if old is not None:
        args = [each.with_changes(value=value) if each is old else each for each in call.args]
        return call.with_changes(args=args)
    equal = cst.AssignEqual(
        whitespace_before=cst.SimpleWhitespace(""), whitespace_after=cst.SimpleWhitespace("")
    )
    return with_argument(call, cst.Arg(value, keyword=cst.Name(name), equal=equal))


def with_argument(call: cst.Call, argument: cst.Arg) -> cst.Call:
    """Return the call with one more argument after the others. Comments stay with their arguments."""
    if not call.args:
        return call.with_changes(args=[argument])
    *others, last = call.args
    between, comma, after = _between(call), last.comma, last.whitespace_after_arg
    comment = comment_of(comma) or comment_of(after)
    if comment is not None:
        between = with_comment(between, comment)
        comma, after = without_comment(comma), without_comment(after)
    argument = argument.with_changes(comma=comma, whitespace_after_arg=after)
    last = last.with_changes(comma=between, whitespace_after_arg=cst.SimpleWhitespace(""))
    return call.with_changes(args=[*others, last, argument])


def _between(call: cst.Call) -> cst.Comma:
    """Return the comma that separates the arguments as they are laid out."""
    for each in call.args[:-1]:
        if isinstance(each.comma, cst.Comma):
            return without_comment(each.comma)
    own_line = isinstance(call.whitespace_before_args, cst.ParenthesizedWhitespace)
    space = without_comment(call.whitespace_before_args) if own_line else cst.SimpleWhitespace(" ")
    return cst.Comma(whitespace_after=space)


def without_keyword(call: cst.Call, name: str) -> cst.Call:
    """Return the call without one keyword argument."""
    removed = keyword_of(call, name)
    if removed is None:
        return call
    args = list(call.args)
    at = args.index(removed)
    del args[at]
    if args and at == len(args):
        args[-1] = args[-1].with_changes(
            comma=removed.comma, whitespace_after_arg=removed.whitespace_after_arg
        )
    return call.with_changes(args=args)


def with_first(call: cst.Call, function: cst.BaseExpression, first: cst.BaseExpression) -> cst.Call:
    """Return `function(first, …)` with the arguments of the call."""
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")) if call.args else cst.MaybeSentinel.DEFAULT
    return call.with_changes(func=function, args=[cst.Arg(first, comma=comma), *call.args])


def parenthesised(node: cst.BaseExpression) -> cst.BaseExpression:
    """Return the expression in parentheses; unchanged if it has some."""
    if node.lpar:
        return node
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


# Codemods that add one keyword argument, as a table of calls.


def add_keyword(context: CodemodContext, node: cst.Call, name: str, value: str) -> None:
    """Add a keyword once, however many findings point at the call."""
    if context.new.has(node) or not takes_keywords(node):
        return
    expression = context.new.expression(value)
    context.new.replace(node, lambda each: with_keyword(cst.ensure_type(each, cst.Call), name, expression))


def add_keywords(context: CodemodContext, table: Mapping[str, tuple[str, str]]) -> None:
    """Add keywords from a table: a keyword and its value by the resolved name of a function."""
    for _, call, node in context.calls():
        if call.name in table:
            add_keyword(context, node, *table[call.name])
