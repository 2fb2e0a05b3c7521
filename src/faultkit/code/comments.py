"""Comments as plain text: the marks, stars and common indentation are taken off."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from textwrap import dedent

_LINE_MARK = re.compile(r"^[ \t]*(?://[/!]?|#+|--)")
_STAR = re.compile(r"^[ \t]*\*")


def comment_text(comments: Sequence[str]) -> str:
    """What neighbouring comments say: `["/// Adds.", "/// Twice."]` is `Adds.` and `Twice.` in two lines."""
    said: list[str] = []
    bare = (each.strip() for each in comments)
    for is_block, group in groupby(bare, lambda each: each.startswith("/*")):
        neighbours = list(group)
        lines = "\n".join(_LINE_MARK.sub("", each) for each in neighbours)
        said += map(_block, neighbours) if is_block else [dedent(lines)]
    return "\n".join(line.rstrip() for each in said for line in each.strip("\n").splitlines()).strip()


def _block(comment: str) -> str:
    lines = comment.removesuffix("*/")[2:].lstrip("*!").rstrip("*").splitlines()
    starred = all(_STAR.match(line) for line in lines[1:] if line.strip())
    rest = [_STAR.sub("", line) for line in lines[1:]] if starred else lines[1:]
    return "\n".join([*(line.strip() for line in lines[:1]), dedent("\n".join(rest))])
