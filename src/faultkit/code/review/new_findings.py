"""Which findings are new since a git ref: those on lines that changed, and those that the old text lacks.

A change may cause a finding on a line that it does not touch: a deleted `timeout=`, `close()` or comment that
suppressed it, a function that became async. So the old text of each changed file is reviewed, too.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from faultkit.code.review.changed_lines import ChangedLines
from faultkit.code.review.outcome import JudgedFinding, Judgement, hide, judge_all
from faultkit.code.review.review_files import FileToReview, ReviewedFile

Place: TypeAlias = tuple[str, str, int, int]
"""Rule, path, line and column."""


def hide_old(
    findings: Sequence[JudgedFinding],
    wanted: Iterable[FileToReview],
    changed: ChangedLines,
    by: Judgement,
    review: Callable[[list[FileToReview]], Iterable[ReviewedFile]],
) -> list[JudgedFinding]:
    """Return the findings; those on lines that did not change are hidden if the old text has them, too.

    wanted: the files of the findings
    by:     judges the findings of old texts, as it judged these
    review: reviews old texts, in place of those of the files"""
    paths = {each.path for each in findings if not each.hidden and not _is_touched(each, changed)}
    old = [
        replace(each, source=source)
        for each in wanted
        if os.path.abspath(each.path) in paths and (source := changed.old_source(each.path)) is not None
    ]
    known = Counter(
        _place(each, each.finding.line)
        for each in (judge_all(review(old), by) if old else ())
        if not each.hidden
    )

    def is_old(each: JudgedFinding) -> bool:
        place = _place(each, changed.old_line(each.path, each.finding.line))
        if _is_touched(each, changed) or not known[place]:
            return False
        known[place] -= 1
        return True

    return hide(findings, "unchanged", is_old)


def _is_touched(judged: JudgedFinding, changed: ChangedLines) -> bool:
    return changed.touch(judged.path, judged.finding.line, judged.finding.end_line)


def _place(judged: JudgedFinding, line: int) -> Place:
    return judged.finding.rule.id, judged.path, line, judged.finding.column
