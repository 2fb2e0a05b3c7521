"""Calls and small expressions of a libcst tree with something added, in the layout that they have. Pure."""

from __future__ import annotations

import libcst as cst


def keyword_of(call: cst.Call, name: str) -> cst.Arg | None:
    return next((each for each in call.args if each.keyword is not None and each.keyword.value == name), None)


def takes_keywords(call: cst.Call) -> bool:
    """Not so after `f(x for x in y)`, whose generator needs parentheses first."""
    return not (
        len(call.args) == 1
        and isinstance(call.args[0].value, cst.GeneratorExp)
        and not call.args[0].value.lpar
    )


def with_keyword(call: cst.Call, name: str, value: cst.BaseExpression) -> cst.Call:
    """With one argument more at the end; on a line of its own if the others are. A keyword that is there
    keeps its place and has the new value."""
    old = keyword_of(call, name)
    if old is not None:
        args = [each.with_changes(value=value) if each is old else each for each in call.args]
        return call.with_changes(args=args)
    equal = cst.AssignEqual(
        whitespace_before=cst.SimpleWhitespace(""), whitespace_after=cst.SimpleWhitespace("")
    )
    return with_argument(call, cst.Arg(value, keyword=cst.Name(name), equal=equal))


def with_argument(call: cst.Call, made: cst.Arg) -> cst.Call:
    """With one argument more behind the others."""
    if not call.args:
        return call.with_changes(args=[made])
    *others, last = call.args
    between = _between(call)
    made = made.with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)
    last = last.with_changes(comma=between, whitespace_after_arg=cst.SimpleWhitespace(""))
    return call.with_changes(args=[*others, last, made])


def _between(call: cst.Call) -> cst.Comma:
    """The comma that separates the arguments as they are laid out."""
    for each in call.args[:-1]:
        if isinstance(each.comma, cst.Comma):
            return each.comma
    own_line = isinstance(call.whitespace_before_args, cst.ParenthesizedWhitespace)
    space = call.whitespace_before_args if own_line else cst.SimpleWhitespace(" ")
    return cst.Comma(whitespace_after=space)


def without_keyword(call: cst.Call, name: str) -> cst.Call:
    gone = keyword_of(call, name)
    if gone is None:
        return call
    args = list(call.args)
    at = args.index(gone)
    del args[at]
    if args and at == len(args):
        args[-1] = args[-1].with_changes(comma=gone.comma, whitespace_after_arg=gone.whitespace_after_arg)
    return call.with_changes(args=args)


def with_first(call: cst.Call, function: cst.BaseExpression, first: cst.BaseExpression) -> cst.Call:
    """`function(first, …)` with the arguments of the call."""
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")) if call.args else cst.MaybeSentinel.DEFAULT
    return call.with_changes(func=function, args=[cst.Arg(first, comma=comma), *call.args])


def parenthesised(node: cst.BaseExpression) -> cst.BaseExpression:
    if node.lpar:
        return node
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
