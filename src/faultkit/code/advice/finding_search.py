"""Defects that a language model finds where the rules find none.

The model receives a file in parts and names defects by line. They become findings of `MODEL_RULES`, which
comments, settings and baselines treat like others, and which the model then checks like others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from faultkit.base.text import printable_line, with_utf8
from faultkit.code.advice import answers, prompts
from faultkit.code.advice.file_excerpt import FileExcerpt, excerpt_of
from faultkit.code.languages.syntax import Syntax
from faultkit.code.review.engine import findings_at
from faultkit.code.review.model_rules import PERFORMANCE_BY_MODEL, RELIABILITY_BY_MODEL
from faultkit.code.review.review_files import ReviewedFile
from faultkit.code.rules.rule import LIKELY, Finding, Hit, Rule
from faultkit.code.source_files import SourceFile
from faultkit.llm.prompt import ModelPrompt

_RULES = {"reliability": RELIABILITY_BY_MODEL, "performance": PERFORMANCE_BY_MODEL}
_MOST_KNOWN = 40
"""Findings of the rules that a question names."""


@dataclass(frozen=True, slots=True)
class SearchQuestion:
    """A question for the defects of a part of a file."""

    file: str
    path: str
    """The absolute path."""
    source: SourceFile
    part: range
    """Lines that the question is about."""
    wanted: frozenset[int]
    """Those of them whose defects count."""
    reported: tuple[Finding, ...]
    """What the rules report in the file."""
    prompt: ModelPrompt

    @property
    def schema(self) -> dict[str, Any]:
        return answers.DEFECTS

    def problems(self, data: Any) -> list[str]:
        """Return what is wrong with an answer: a line that the part does not have, a claim without words."""
        first, last = self.part[0], self.part[-1]
        problems = []
        for place, each in enumerate(data["defects"]):
            if each["line"] not in self.part:
                expected = f"expected a line from {first} to {last}, got {each['line']}"
                problems.append(f"$.defects[{place}].line: {expected}")
            if not _claim(each):
                problems.append(f"$.defects[{place}].claim: expected a sentence, got {each['claim']!r}")
        return problems


def is_searched(file: ReviewedFile) -> bool:
    """Return whether a model is asked for defects of a file: it was reviewed, as production code."""
    return not file.skipped and not file.context


def search_questions(
    files: Iterable[ReviewedFile],
    source_of: Callable[[str], SourceFile],
    reported_in: Callable[[ReviewedFile], Iterable[Finding]],
    is_wanted: Callable[[str, int], bool],
) -> Iterator[SearchQuestion]:
    """Yield the questions for defects in files.

    source_of:   returns a file by its absolute path
    reported_in: returns what is reported in a file already
    is_wanted:   tells whether a defect at a line of a file counts"""
    for file in filter(is_searched, files):
        source = source_of(file.path)
        text = excerpt_of(source)
        reported = tuple(reported_in(file))
        for part in text.parts():
            lines = (line for line in part if text.lines[line - 1] and is_wanted(file.path, line))
            if wanted := frozenset(lines):
                prompt = _prompt(file, source.language.name, text, part, reported)
                yield SearchQuestion(file.file, file.path, source, part, wanted, reported, prompt)


def _prompt(
    file: ReviewedFile, language: str, text: FileExcerpt, part: range, reported: Sequence[Finding]
) -> ModelPrompt:
    known = [f"line {each.line}: {each.rule.title}: {each.message}" for each in reported if each.line in part]
    shown = text.shown({*text.around(1, 0, 0), *part})
    return prompts.find_defects(
        shown, language, with_utf8(file.file), first=part[0], last=part[-1], known=known[:_MOST_KNOWN]
    )


def with_defects(
    files: Iterable[ReviewedFile], answered: Iterable[tuple[SearchQuestion, Any]], rules: Sequence[Rule]
) -> list[ReviewedFile]:
    """Return the files with what the model found, as findings of those of MODEL_RULES that are in `rules`."""
    by_path: defaultdict[str, list[tuple[SearchQuestion, Any]]] = defaultdict(list)
    for question, data in answered:
        by_path[question.path].append((question, data))
    return [
        _with_defects(file, by_path[file.path], rules) if file.path in by_path else file for file in files
    ]


def _with_defects(
    file: ReviewedFile, answered: Sequence[tuple[SearchQuestion, Any]], rules: Sequence[Rule]
) -> ReviewedFile:
    syntax = answered[0][0].source.parse()
    hits = [hit for question, data in answered for hit in _hits(question, data, rules, syntax)]
    found = findings_at(syntax, hits, file=file.file)
    suppressed = tuple((finding, by.reason) for finding, by in found.suppressed)
    return replace(
        file,
        findings=tuple(sorted((*file.findings, *found.findings), key=lambda each: each.span.start)),
        suppressed=(*file.suppressed, *suppressed),
    )


def _hits(
    question: SearchQuestion, data: Any, rules: Sequence[Rule], syntax: Syntax
) -> Iterator[tuple[Rule, Hit]]:
    """Yield the defects that are wanted; one of a kind for a line, and none where a finding of the kind is
    reported already: it is the same, or is seen with it."""
    taken = {(each.line, each.rule.kind) for each in question.reported}
    for each in data["defects"]:
        # A whole number may be written as 3.0 in JSON.
        rule, line = _RULES[each["concern"]], int(each["line"])
        if rule in rules and line in question.wanted and (line, rule.kind) not in taken:
            taken.add((line, rule.kind))
            yield rule, Hit(syntax.line_span(line), _claim(each), LIKELY, each["severity"])


def _claim(defect: Any) -> str:
    """Return the claim as the message of a finding: one line, without a full stop."""
    return printable_line(defect["claim"]).rstrip(" .")
