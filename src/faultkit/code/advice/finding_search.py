"""Defects that a language model finds where the rules find none.

The model receives a file in parts and names defects by line. They become findings of `MODEL_RULES`, which
comments, settings and baselines treat like others, and which the model then checks like others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from faultkit.code.advice import answers, prompts
from faultkit.code.advice.finding_check import WHOLE_FILE
from faultkit.code.advice.model_questions import FileExcerpt
from faultkit.code.languages.syntax import Syntax
from faultkit.code.review.engine import findings_at
from faultkit.code.review.model_rules import PERFORMANCE_BY_MODEL, RELIABILITY_BY_MODEL
from faultkit.code.review.review_files import ReviewedFile
from faultkit.code.rules.rule import LIKELY, Hit, Rule
from faultkit.code.source_files import SourceFile
from faultkit.llm.prompt import ModelPrompt

_RULES = {"reliability": RELIABILITY_BY_MODEL, "performance": PERFORMANCE_BY_MODEL}

IsWanted = Callable[[str, int], bool]
"""Whether a defect at a line of a file, by its absolute path, is asked for."""


@dataclass(frozen=True, slots=True)
class SearchQuestion:
    """A question for the defects of a part of a file."""

    path: str
    lines: range
    prompt: ModelPrompt

    @property
    def schema(self) -> dict[str, Any]:
        return answers.DEFECTS

    def problems(self, data: Any) -> list[str]:
        """Return what is wrong with an answer: a line that the part does not have."""
        first, last = self.lines[0], self.lines[-1]
        return [
            f"$.defects[{place}].line: expected a line from {first} to {last}, got {each['line']}"
            for place, each in enumerate(data["defects"])
            if each["line"] not in self.lines
        ]


def is_searched(file: ReviewedFile) -> bool:
    """Return whether a model is asked for defects of a file: it was reviewed, as production code."""
    return not file.skipped and not file.context


def search_questions(
    files: Iterable[ReviewedFile], source_of: Callable[[str], SourceFile]
) -> Iterator[SearchQuestion]:
    """Yield the questions for defects in files; `source_of` returns a text by its absolute path."""
    for file in filter(is_searched, files):
        source = source_of(file.path)
        lines = source.source.decode("utf-8", "replace").split("\n")
        known = [f"line {each.line}: {each.rule.title}: {each.message}" for each in file.findings]
        parts = _parts(lines)
        for part in parts:
            shown = FileExcerpt(lines).shown(None if len(parts) == 1 else set(part))
            prompt = prompts.find_defects(
                shown, source.language.name, file.file, first=part[0], last=part[-1], known=known
            )
            yield SearchQuestion(file.path, part, prompt)


def _parts(lines: Sequence[str]) -> list[range]:
    """Return the numbers of the lines in parts of up to WHOLE_FILE characters."""
    parts = list[range]()
    first, size = 1, 0
    for number, line in enumerate(lines, 1):
        if size and size + len(line) > WHOLE_FILE:
            parts.append(range(first, number))
            first, size = number, 0
        size += len(line) + 1
    return [*parts, range(first, len(lines) + 1)]


def with_defects(
    files: Iterable[ReviewedFile],
    answered: Iterable[tuple[SearchQuestion, Any]],
    source_of: Callable[[str], SourceFile],
    rules: Sequence[Rule],
    is_wanted: IsWanted,
) -> list[ReviewedFile]:
    """Return the files with what the model found, as findings of those of MODEL_RULES that are in `rules`.

    A defect on a line that has a finding already is left out: it is the same, or is seen with it."""
    found: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for question, data in answered:
        found[question.path] += [
            each
            for each in data["defects"]
            if _RULES[each["concern"]] in rules and is_wanted(question.path, each["line"])
        ]
    return [
        _with_defects(file, found[file.path], source_of(file.path).parse()) if found[file.path] else file
        for file in files
    ]


def _with_defects(file: ReviewedFile, defects: Sequence[Mapping[str, Any]], syntax: Syntax) -> ReviewedFile:
    taken = {each.line for each in (*file.findings, *(each for each, _ in file.suppressed))}
    hits = []
    for each in defects:
        if each["line"] not in taken:
            taken.add(each["line"])
            hit = Hit(syntax.line_span(each["line"]), each["claim"].rstrip("."), LIKELY, each["severity"])
            hits.append((_RULES[each["concern"]], hit))
    found = findings_at(syntax, hits, file=file.file)
    suppressed = tuple((finding, by.reason) for finding, by in found.suppressed)
    return replace(
        file,
        findings=tuple(sorted((*file.findings, *found.findings), key=lambda each: each.span.start)),
        suppressed=(*file.suppressed, *suppressed),
    )
