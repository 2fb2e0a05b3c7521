"""A reviewed file as text: what a worker process returns and what the cache keeps.

The text holds nothing of where the file is, so it fits every copy of the same file in the same project.
"""

from __future__ import annotations

import json
import os
from typing import Any

from faultkit.code.languages.syntax import Span
from faultkit.code.review.engine import ALL_RULES
from faultkit.code.review.review_files import FileToReview, ReviewedFile
from faultkit.code.rules.rule import Finding

_BY_ID = {rule.id: rule for rule in ALL_RULES}


def stored_text(reviewed: ReviewedFile) -> str:
    """Return a reviewed file as text."""
    return json.dumps(
        [
            reviewed.language,
            [_values(each) for each in reviewed.findings],
            [[_values(each), reason] for each, reason in reviewed.suppressed],
            reviewed.broken_lines,
            reviewed.skipped,
            reviewed.context,
        ],
        separators=(",", ":"),
        ensure_ascii=False,
    )


def stored_review(text: str, wanted: FileToReview) -> ReviewedFile:
    """Return the reviewed file of a text. Raises ValueError, KeyError or TypeError if it is not one."""
    language, findings, suppressed, broken, skipped, context = json.loads(text)
    return ReviewedFile(
        wanted.shown,
        language,
        tuple(_finding(each, wanted.shown) for each in findings),
        tuple((_finding(each, wanted.shown), reason) for each, reason in suppressed),
        tuple(broken),
        skipped,
        context,
        os.path.abspath(wanted.path),
        wanted.relative or wanted.shown,
    )


def _values(each: Finding) -> list[Any]:
    return [
        each.rule.id,
        each.function,
        each.span.start,
        each.span.end,
        each.line,
        each.end_line,
        each.column,
        each.end_column,
        each.message,
        each.severity,
        each.confidence,
    ]


def _finding(values: list[Any], file: str) -> Finding:
    rule, function, start, end, line, end_line, column, end_column, message, severity, confidence = values
    return Finding(
        _BY_ID[rule],
        file,
        function,
        Span(start, end),
        line,
        end_line,
        column,
        end_column,
        message,
        severity,
        confidence,
    )
