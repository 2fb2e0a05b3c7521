"""Findings checked by a language model, which confirms each or says why it is not worth acting on.

A question is about one file, or about a part of its findings if there are many. What the model refutes or
calls minor is hidden with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from faultkit.code.advice import answers, prompts
from faultkit.code.advice.model_questions import FileExcerpt
from faultkit.code.review.explanation import explanation_of
from faultkit.code.review.outcome import Hiding, JudgedFinding
from faultkit.code.rules.rule import Rule
from faultkit.code.source_files import SourceFile
from faultkit.llm.prompt import ModelPrompt

WHOLE_FILE = 24_000
"""Characters up to which the model receives a file whole."""
_LINES_BEFORE, _LINES_AFTER = 100, 80
"""Of a longer file, the model receives its first lines, and those around each finding."""
_HIDING: dict[str, Hiding] = {"defect": "", "minor": "minor", "wrong": "refuted"}


@dataclass(frozen=True, slots=True)
class CheckQuestion:
    """A question about findings of one file."""

    places: tuple[int, ...]
    """Positions of the findings among all findings, in the order of their numbers in the prompt."""
    prompt: ModelPrompt

    @property
    def schema(self) -> dict[str, Any]:
        return answers.CHECKS

    def problems(self, data: Any) -> list[str]:
        """Return what is wrong with an answer: a finding without a verdict, or with several."""
        received = sorted(each["finding"] for each in data["verdicts"])
        if received == list(range(1, len(self.places) + 1)):
            return []
        got = ", ".join(map(str, received))
        count = len(self.places)
        return [f"$.verdicts: expected one verdict for each finding from 1 to {count}, got {got}"]


def check_questions(
    findings: Sequence[JudgedFinding], source_of: Callable[[JudgedFinding], SourceFile]
) -> Iterator[CheckQuestion]:
    """Yield the questions about the findings that nothing hides, file by file."""
    by_file: dict[str, list[int]] = {}
    for place, each in enumerate(findings):
        if not each.hidden:
            by_file.setdefault(each.path, []).append(place)
    for places in by_file.values():
        for start in range(0, len(places), answers.MOST_CHECKED):
            part = tuple(places[start : start + answers.MOST_CHECKED])
            asked = [findings[place] for place in part]
            yield CheckQuestion(part, _prompt(asked, source_of(asked[0])))


def _prompt(asked: Sequence[JudgedFinding], source: SourceFile) -> ModelPrompt:
    found = [each.finding for each in asked]
    claims = (
        f"{number}. line {each.line}: {each.rule.title} ({each.rule.id}): {each.message}"
        for number, each in enumerate(found, 1)
    )
    return prompts.check_findings(
        _excerpt(source.source.decode("utf-8", "replace"), [each.line for each in found]),
        source.language.name,
        found[0].file,
        claims=claims,
        rules=map(_about, dict.fromkeys(each.rule for each in found)),
    )


def _about(rule: Rule) -> str:
    return f"{rule.id}: {rule.why} It does not matter {_lowered(explanation_of(rule).when_to_ignore)}"


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def _excerpt(text: str, lines: Sequence[int]) -> str:
    """Return a text with line numbers: all of it, or the parts that matter for findings at `lines`."""
    file = FileExcerpt(text.split("\n"))
    if len(text) <= WHOLE_FILE:
        return file.shown()
    near = (range(line - _LINES_BEFORE, line + _LINES_AFTER + 1) for line in lines)
    return file.shown({number for part in near for number in part})


def with_verdicts(
    findings: Sequence[JudgedFinding], answered: Iterable[tuple[CheckQuestion, Any]]
) -> list[JudgedFinding]:
    """Return the findings with their verdicts and reasons; what is not confirmed is hidden."""
    checked = list(findings)
    for question, data in answered:
        for each in data["verdicts"]:
            place, verdict = question.places[each["finding"] - 1], each["verdict"]
            checked[place] = replace(
                checked[place], hidden=_HIDING[verdict], detail=each["reason"], verdict=verdict
            )
    return checked
