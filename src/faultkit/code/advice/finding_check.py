"""Findings checked by a language model, which confirms each or says why it is not worth acting on.

A question is about one file, or about a part of its findings if there are many or they are far apart. What
the model refutes or calls minor is hidden with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from faultkit.base.text import printable_line, with_utf8
from faultkit.code.advice import answers, prompts
from faultkit.code.advice.file_excerpt import WHOLE_FILE, FileExcerpt, excerpt_of
from faultkit.code.review.explanation import explanation_of
from faultkit.code.review.outcome import Hiding, JudgedFinding, Verdict
from faultkit.code.rules.rule import Finding, Rule
from faultkit.code.source_files import SourceFile
from faultkit.llm.prompt import ModelPrompt

_LINES_BEFORE, _LINES_AFTER = 100, 80
"""Lines around a finding that the model receives of a long file, besides its first lines."""
_LONGEST_EXCERPT = 2 * WHOLE_FILE
"""Characters of the lines of one question; a single finding may have more."""
_HIDING: dict[Verdict, Hiding] = {"defect": "", "minor": "minor", "wrong": "refuted"}


@dataclass(frozen=True, slots=True)
class CheckQuestion:
    """A question about findings of one file."""

    file: str
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
    findings: Sequence[JudgedFinding], source_of: Callable[[str], SourceFile]
) -> Iterator[CheckQuestion]:
    """Yield the questions about the findings that nothing hides, file by file.

    source_of: returns a file by its absolute path"""
    by_file: dict[str, list[int]] = {}
    for place, each in enumerate(findings):
        if not each.hidden:
            by_file.setdefault(each.path, []).append(place)
    for path, places in by_file.items():
        source = source_of(path)
        file = excerpt_of(source)
        for part, lines in _parts(places, [findings[place].finding for place in places], file):
            found = [findings[place].finding for place in part]
            yield CheckQuestion(found[0].file, part, _prompt(found, source.language.name, file.shown(lines)))


def _parts(
    places: Sequence[int], found: Sequence[Finding], file: FileExcerpt
) -> Iterator[tuple[tuple[int, ...], set[int]]]:
    """Yield the findings of each question with the numbers of the lines that it shows."""
    everything = set(file.numbers) if file.is_short else set[int]()
    part, lines = list[int](), set[int]()
    for place, finding in zip(places, found, strict=True):
        near = everything or file.around(finding.line, _LINES_BEFORE, _LINES_AFTER)
        if part and (len(part) == answers.MOST_CHECKED or file.size(lines | near) > _LONGEST_EXCERPT):
            yield tuple(part), lines
            part, lines = [], set()
        part.append(place)
        lines |= near
    yield tuple(part), lines


def _prompt(found: Sequence[Finding], language: str, shown: str) -> ModelPrompt:
    claims = (
        f"{number}. line {each.line}: {each.rule.title} ({each.rule.id}): {each.message}"
        for number, each in enumerate(found, 1)
    )
    rules = map(_about, dict.fromkeys(each.rule for each in found))
    return prompts.check_findings(shown, language, with_utf8(found[0].file), claims=claims, rules=rules)


def _about(rule: Rule) -> str:
    return f"{rule.id}: {rule.why} It does not matter {_lowered(explanation_of(rule).when_to_ignore)}"


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def with_verdicts(
    findings: Sequence[JudgedFinding], answered: Iterable[tuple[CheckQuestion, Any]]
) -> list[JudgedFinding]:
    """Return the findings with their verdicts and reasons; what is not confirmed is hidden."""
    checked = list(findings)
    for question, data in answered:
        for each in data["verdicts"]:
            # A whole number may be written as 1.0 in JSON.
            place = question.places[int(each["finding"]) - 1]
            checked[place] = replace(
                checked[place],
                hidden=_HIDING[each["verdict"]],
                detail=printable_line(each["reason"]),
                verdict=each["verdict"],
            )
    return checked
