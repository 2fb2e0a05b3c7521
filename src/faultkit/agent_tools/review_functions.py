"""The function of the tool that reviews code. Imported when it is called first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from faultkit.agent_tools.code_functions import as_json, blame_argument
from faultkit.agent_tools.tool import ToolCall, ToolResult
from faultkit.base.errors import InputError, RunError
from faultkit.code.review.baseline import against, read_baseline
from faultkit.code.review.changed_lines import ChangedLines, changed_lines
from faultkit.code.review.config_file import config_for
from faultkit.code.review.explanation import explanation_of
from faultkit.code.review.new_findings import hide_old
from faultkit.code.review.outcome import judge_all, most_urgent_first, shown
from faultkit.code.review.review_files import ReviewedFile, find_files, review_all
from faultkit.code.review.settings import ReviewFlags, judgement_of, path_choice, rules_of
from faultkit.code.rules.rule import POSSIBLE, Finding, Rule

_MOST_SKIPPED = 20


def review_code(call: ToolCall) -> ToolResult:
    """Review a file or a folder, and say for each rule when its findings do not matter."""
    path, since = call.values["path"], call.values["since"]
    flags = ReviewFlags(min_severity=call.values["min_severity"])
    with blame_argument("path", path):
        config = config_for((path,))
        found = find_files((path,), call.values["lang"], path_choice(config, flags))
        baseline = None if config.baseline_path is None else read_baseline(config.baseline_path)
    if not found.wanted and not found.excluded:
        raise InputError(
            "path", f'expected source files of a language that the rules know, got none in "{path}"'
        )
    rules, by = rules_of(config, flags), judgement_of(config, flags, POSSIBLE)
    changed = None if since is None else _changed(since, path)
    wanted = [each for each in found.wanted if changed is None or changed.has_file(each.path)]
    files = list(_watched(call, review_all(wanted, rules), len(wanted)))
    findings = judge_all(files, by)
    if baseline is not None:
        findings, _ = against(baseline, findings, {})
    if changed is not None:
        findings = hide_old(findings, wanted, changed, by, lambda old: review_all(old, rules))
    ordered = shown(most_urgent_first(findings))
    listed = ordered[: call.values["most"]]
    document = {
        "findings": [_finding_document(each) for each in listed],
        "rules": {each.id: _rule_document(each) for each in dict.fromkeys(each.rule for each in listed)},
        "more": len(ordered) - len(listed),
        "files": sum(not file.skipped and not file.is_left_out for file in files),
        "left_out": sum(file.is_left_out for file in files) + found.excluded,
        "skipped": [
            {"path": file.file, "why": why} for file in (*files, *found.skipped) if (why := _why_not(file))
        ][:_MOST_SKIPPED],
    }
    return ToolResult(as_json(document), document)


def _changed(since: str, path: str) -> ChangedLines:
    try:
        return changed_lines(since, [path])
    except InputError as error:
        raise InputError("since", error.problem) from None


def _watched(call: ToolCall, files: Iterable[ReviewedFile], count: int) -> Iterator[ReviewedFile]:
    """Yield the files; report each, and end if the call is cancelled."""
    for done, each in enumerate(files, 1):
        if call.cancelled.is_set():
            raise RunError(f"stopped after {done - 1} of {count} files: the call was cancelled")
        call.progress(done, count, f"{done} of {count} files reviewed")
        yield each


def _why_not(file: ReviewedFile) -> str:
    """Return why a file was not reviewed, or not all of it; empty if it was."""
    if file.skipped or not file.broken_lines:
        return file.skipped
    return f"not all of it could be read: see line {file.broken_lines[0]}"


def _finding_document(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule.id,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "file": finding.file,
        "line": finding.line,
        "function": finding.function,
        "message": finding.message,
    }


def _rule_document(rule: Rule) -> dict[str, str]:
    return {
        "title": rule.title,
        "why": rule.why,
        "fix": rule.fix,
        "when_to_ignore": explanation_of(rule).when_to_ignore,
    }
