"""Which files people did not write: output of generators, bundlers and compilers. Pure."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.review.file_head import FileHead, leading_comment

_BUILT_BYTES = 400_000
_BUILT_LINE = 250
"""Characters of a line, on average, in what a builder wrote."""
_LONG_LINE = 500
"""Characters of a line that people do not write; the first lines of a licence are shorter."""
_DO_NOT_EDIT = lazy_regex(
    r"\bgenerated\b.{0,200}?\bdo\s+not\s+(?:edit|modify|change|touch)\b"
    r"|\bdo\s+not\s+(?:edit|modify|change)\b.{0,200}?\bgenerated\b"
    r"|(?<![\w.`])@generated\b|<auto-?generated",
    re.IGNORECASE | re.DOTALL,
)
_GENERATED = lazy_regex(
    r"^[^\w\n]*(?:note:? |warning:? )?(?:this (?:file|code|class|module|source)(?: is| was| has been)? )?"
    r"(?:auto-? ?|automatically |machine[- ])?generated (?:by|from|with|using|file|code)\b(?! django)",
    re.IGNORECASE | re.MULTILINE,
)
"""A line of a comment that begins so. Not of a docstring: that may be about something generated."""
_GOES_ON = lazy_regex(r"[\w,]\s*$")
_BUNDLE_MARKS = (
    "webpackBootstrap",
    "webpackUniversalModuleDefinition",
    "__webpack_require__",
    "/******/",
    "parcelRequire",
    'Object.defineProperty(exports, "__esModule"',
    "Object.defineProperty(exports, '__esModule'",
    *(
        f"var __{name} = "
        for name in ("create", "defProp", "commonJS", "toESM", "awaiter", "importDefault", "extends")
    ),
)


def is_generated(head: FileHead) -> bool:
    """Return whether the first comment of a file says that a program wrote it."""
    if "enerated" not in head.text and "GENERATED" not in head.text:
        return False
    lines = list(leading_comment(head.text))
    if _DO_NOT_EDIT.search("\n".join(text for _, text in lines)):
        return True
    # A sentence that goes on from the line before is about something else that is generated.
    begun = [
        text
        for (_, before), (quoted, text) in zip([(False, ""), *lines], lines, strict=False)
        if not quoted and not _GOES_ON.search(before)
    ]
    return _GENERATED.search("\n".join(begun)) is not None


def is_built(head: FileHead) -> bool:
    """Return whether a file is the output of a bundler or a minifier."""
    # Builds write JavaScript. TypeScript that looks like a bundle is about bundles.
    if head.language == "javascript" and (
        head.size > _BUILT_BYTES or any(mark in head.text for mark in _BUNDLE_MARKS)
    ):
        return True
    if len(head.text) <= 1000 or len(head.text) < _LONG_LINE // 4 * head.text.count("\n"):
        return False
    lines = head.text.splitlines()
    if head.language == "javascript" and len(head.text) > 4000 and len(head.text) > _BUILT_LINE * len(lines):
        return True
    # The last line is cut off by the end of the head, and may be a long text in a file of its own.
    return sum(len(line) > _LONG_LINE for line in lines) * 4 > len(lines)
