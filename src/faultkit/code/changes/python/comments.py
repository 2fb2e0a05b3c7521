"""Comments in lists of arguments and of names, which libcst keeps in the white space after commas. Pure."""

from __future__ import annotations

from typing import TypeVar

import libcst as cst

W = TypeVar("W", bound="cst.CSTNode | cst.MaybeSentinel")


def comment_of(node: cst.CSTNode | cst.MaybeSentinel) -> cst.TrailingWhitespace | None:
    """Return the end of the line after a comma, or at the start of white space, if it has a comment."""
    space = node.whitespace_after if isinstance(node, cst.Comma) else node
    if isinstance(space, cst.ParenthesizedWhitespace) and space.first_line.comment is not None:
        return space.first_line
    return None


def without_comment(node: W) -> W:
    """Return a comma or white space without comments, with the same line ends."""
    if isinstance(node, cst.Comma):
        return node.with_changes(whitespace_after=without_comment(node.whitespace_after))
    if not isinstance(node, cst.ParenthesizedWhitespace):
        return node
    first = node.first_line.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))
    return node.with_changes(first_line=first, empty_lines=())


def with_comment(comma: cst.Comma, comment: cst.TrailingWhitespace) -> cst.Comma:
    """Return a comma with a comment after it. The next line is indented as the parts around it."""
    space = comma.whitespace_after
    if not isinstance(space, cst.ParenthesizedWhitespace):
        space = cst.ParenthesizedWhitespace(indent=True, last_line=cst.SimpleWhitespace("    "))
    return comma.with_changes(whitespace_after=space.with_changes(first_line=comment))
