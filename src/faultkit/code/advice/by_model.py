"""Answers of a language model: what the model receives, and how its answer is checked.

The model receives the code, the findings of the rules and the results of a search of the project.
Redaction, schemas and the one round of repair belong to `faultkit.llm`; the checks beyond the schema are
here.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias

from faultkit.code.advice import answers as schemas
from faultkit.code.advice import prompts
from faultkit.code.advice.analysis import findings_inside, lowest_score, score_of
from faultkit.code.advice.answers import AnalysisAnswer, ChangeAnswer, ScoreAnswer, SloAnswer
from faultkit.code.advice.changed_text import parse_problem, removed_names
from faultkit.code.advice.improvement import finding_lines
from faultkit.code.advice.threats import threats_in
from faultkit.code.changes.change import Source, apply_diff, unified_diff
from faultkit.code.facts import facts_of
from faultkit.code.facts.build import GRAMMARS
from faultkit.code.functions import Function, find_function, list_functions
from faultkit.code.languages import Language
from faultkit.code.languages.syntax import Syntax, parse_snippet
from faultkit.code.review.engine import findings_of
from faultkit.code.rules.rule import KINDS, Finding, Kind
from faultkit.code.slos.indicators import promql_problem
from faultkit.llm.language_model import LanguageModel, ModelAnswer
from faultkit.llm.model_settings import Spending
from faultkit.llm.prompt import PromptSection

# A proposed change. The model sends the whole new code; the diff is made here. The code is accepted only if
# it parses, applies, and scores no worse by the rules. Each problem is a sentence for the model, so that it
# can repair the code.


_BOM = "\ufeff"
_FENCED = re.compile(r"\s*(?P<fence>`{3,}|~{3,})[^\n]*\n(?P<code>.*\n)(?P=fence)\s*", re.DOTALL)
_MOST_NAMED = 5


@dataclass(frozen=True)
class OriginalCode:
    """The code before the change, and the checks of a proposal against it."""

    text: str
    language: Language
    file: str = ""
    """The file name in the diff."""

    @property
    def is_judged(self) -> bool:
        """Whether the rules know the language."""
        return self.language.name in GRAMMARS

    @property
    def prompt_text(self) -> str:
        """The code as the model receives it: without a byte order mark, with `\\n` as line end."""
        text = self.text.removeprefix(_BOM)
        return text.replace("\r\n", "\n") if self._is_crlf else text

    @property
    def _is_crlf(self) -> bool:
        return "\r\n" in self.text and self.text.count("\r\n") == self.text.count("\n")

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        return findings_of(self.text.removeprefix(_BOM), self.language)

    def score(self, kind: Kind | None) -> float:
        return lowest_score(self.findings, kind)

    def score_of_new(self, new: str, kind: Kind | None) -> float:
        return lowest_score(findings_of(new.removeprefix(_BOM), self.language), kind)

    def normalised(self, new: str) -> str:
        """Return the received code with the byte order mark and line ends of the old text."""
        fenced = _FENCED.fullmatch(new)
        code = fenced["code"] if fenced is not None else new
        if not code.strip():
            return self.text
        code = code.removeprefix(_BOM)
        if self.prompt_text.endswith("\n") and not code.endswith("\n"):
            code += "\n"
        if self._is_crlf:
            code = code.replace("\r\n", "\n").replace("\n", "\r\n")
        return (_BOM if self.text.startswith(_BOM) else "") + code

    def diff(self, new: str) -> str:
        return unified_diff(self.text, new, self.file or f"snippet{self.language.endings[0]}")

    def problems(self, received: str) -> list[str]:
        """Return why the received code cannot be accepted; empty if it can."""
        new = self.normalised(received)
        if not received.strip():
            return []
        if new == self.text:
            return [
                "new: it is the code that you were given; if nothing is worth changing, send an empty text"
            ]
        problem = self._form_problem(new) or self._removal(new) or self._regression(new)
        return [f"new: {problem}"] if problem else []

    def _form_problem(self, new: str) -> str:
        if "\0" in new:
            return "it holds a NUL character"
        problem = parse_problem(self._source(self.text), self._source(new))
        if problem:
            return problem
        indent, new_indent = _indent(self.text), _indent(new)
        if self.language.name == "python" and indent != new_indent:
            return (
                f"its first line is indented by {len(new_indent)}, "
                f"that of the code you were given by {len(indent)}"
            )
        try:
            fits = apply_diff(self.text, self.diff(new)) == new
        except ValueError as error:
            return str(error)
        return "" if fits else "its diff does not apply to the code you were given"

    def _source(self, text: str) -> Source:
        return Source(text.removeprefix(_BOM), self.language)

    def _removal(self, new: str) -> str:
        """Return which definitions are missing; empty if all are there."""
        missing = removed_names(self._source(self.text), self._source(new))
        if not missing:
            return ""
        more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        return (
            f"it removes {', '.join(missing[:_MOST_NAMED])}{more}: keep every function, class and public name"
        )

    def _regression(self, new: str) -> str:
        """Return what is worse by the rules than before; empty if nothing is."""
        if not self.is_judged:
            return ""
        after = findings_of(new.removeprefix(_BOM), self.language)
        for kind in KINDS:
            old, new_score = self.score(kind), lowest_score(after, kind)
            if new_score < old:
                named = "; ".join(_added(self.findings, after, kind))
                return f"its {kind} is worse by our checker, {new_score:.2f}, than it was, {old:.2f}: {named}"
        return ""


def _added(before: tuple[Finding, ...], after: tuple[Finding, ...], kind: Kind) -> list[str]:
    """Return findings of rules that find more than before."""
    old, new = (Counter(each.rule.id for each in found) for found in (before, after))
    added = [each for each in score_of(after, kind).findings if new[each.rule.id] > old[each.rule.id]]
    listed = added or score_of(after, kind).findings
    return [f"{each.place}: {each.rule.title} ({each.message})" for each in listed[:_MOST_NAMED]]


def _indent(text: str) -> str:
    first = next((line for line in text.removeprefix(_BOM).splitlines() if line.strip()), "")
    return first[: len(first) - len(first.lstrip())]


# Questions to a model.


ProjectSearch: TypeAlias = Callable[[str, str], Sequence[tuple[str, str]]]
"""Searches the project: a query and the name of a language give titles and texts of related code."""

_MOST_RESULTS = 5


class ModelQuestion:
    """One question to a model, with its own event to cancel it."""

    def __init__(
        self, model: LanguageModel, context: ProjectSearch | None, cancel: threading.Event | None
    ) -> None:
        self._model = model
        self._context = context
        self._cancel = cancel or threading.Event()

    def score(self, original: OriginalCode, kind: Kind) -> ScoreAnswer:
        answer = self._score(original, kind, None)
        data = answer.data
        return ScoreAnswer(float(data["score"]), data["explanation"], answer.engine, answer.model)

    def change(
        self, original: OriginalCode, kind: Kind | None, given: float | None, target_score: float
    ) -> ChangeAnswer:
        budget = self._model.spending()
        before = original.score(kind) if original.is_judged else given
        if before is None:
            before = float(self._score(original, kind, budget).data["score"])
        shown = before if given is None else given
        prompt = prompts.suggest_change(
            original.prompt_text,
            original.language.name,
            kind,
            # A score that is good enough already would be a reason to do nothing.
            score=shown if shown < target_score else None,
            target_score=target_score,
            whole_file=bool(original.file),
            sections=self._sections_for(original, kind),
        )
        answer = self._model.ask(
            prompt,
            schemas.CHANGE,
            budget=budget,
            check=lambda data: original.problems(data["new"]),
            cancel=self._cancel,
        )
        return _change_answer(original, kind, before, target_score, answer)

    def slos(self, snippet: str, language: Language, function: str) -> SloAnswer:
        code, lines = snippet, finding_lines(findings_of(snippet, language))
        if function:
            syntax = parse_snippet(snippet, language).syntax
            found = find_function(list_functions(syntax), function)
            code = syntax.text(found.full)
            lines = finding_lines(findings_inside(syntax, found), first_line=found.start_line)
        sections = self._sections(code, language, lines, whole=snippet)
        answer = self._model.ask(
            prompts.suggest_slos(code, language.name, sections=sections),
            schemas.SLOS,
            check=_slo_problems,
            cancel=self._cancel,
        )
        return SloAnswer(tuple(answer.data), answer.engine, answer.model)

    def analysis(self, syntax: Syntax, function: Function, concerns: Sequence[str]) -> AnalysisAnswer:
        """Analyse a function. Lines sent and received count from the function, lines in the answer from
        the file."""
        code, language, first = syntax.text(function.full), syntax.language, function.start_line
        lines = finding_lines(findings_inside(syntax, function), first_line=first)
        if "threat" in concerns and language.name in GRAMMARS:
            lines += [
                f"line {each.line - first + 1}: {each.threat.title}: {each.message}"
                for each in threats_in(facts_of(syntax), function.full)
            ]
        whole = syntax.source.decode("utf-8", "replace")
        sections = self._sections(code, language, lines, whole=whole)
        answer = self._model.ask(
            prompts.deep_analysis(
                code, language.name, function.qualified_name, concerns=concerns, sections=sections
            ),
            schemas.ANALYSIS,
            check=partial(_analysis_problems, tuple(concerns), function.end_line - first + 1),
            cancel=self._cancel,
        )
        ordered = sorted(answer.data["evaluations"], key=lambda each: concerns.index(each["concern"]))
        evaluations = tuple({**each, "risks": _shifted(each["risks"], first - 1)} for each in ordered)
        return AnalysisAnswer(evaluations, tuple(answer.data["prompts"]), answer.engine, answer.model)

    def _score(self, original: OriginalCode, kind: Kind | None, budget: Spending | None) -> ModelAnswer:
        sections = self._sections_for(original, kind)
        prompt = prompts.score(original.prompt_text, original.language.name, kind, sections=sections)
        return self._model.ask(prompt, schemas.SCORE, budget=budget, cancel=self._cancel)

    def _sections_for(self, original: OriginalCode, kind: Kind | None) -> list[PromptSection]:
        own = (each for each in original.findings if kind in (None, each.rule.kind))
        return self._sections(original.prompt_text, original.language, finding_lines(own))

    def _sections(
        self, code: str, language: Language, findings: Iterable[str], *, whole: str = ""
    ) -> list[PromptSection]:
        """Return what the model receives besides the code, the most useful first among what may be left
        out."""
        sections: list[PromptSection] = []
        if language.name in GRAMMARS:
            sections.append(prompts.findings_section(findings))
        if len(whole.strip()) > len(code.strip()):
            sections.append(prompts.context_section("the file that it is in", whole, language.name))
        found = () if self._context is None else self._context(code, language.name)
        for title, text in found[:_MOST_RESULTS]:
            if text.strip() not in code:
                sections.append(prompts.context_section(title, text, language.name))
        return sections


def _change_answer(
    original: OriginalCode, kind: Kind | None, score: float, target_score: float, answer: ModelAnswer
) -> ChangeAnswer:
    data, claimed = answer.data, float(answer.data["score"])
    new = original.normalised(data["new"])
    diff = original.diff(new)
    after, reason = score, f"{answer.engine} found nothing that is worth changing"
    if diff:
        after = original.score_of_new(new, kind) if original.is_judged else claimed
        reason = f"{answer.engine} scores the new code {claimed:.2f}, and {target_score:.2f} was asked for"
    return ChangeAnswer(
        score=score,
        target_score=target_score,
        score_after=after,
        explanation=data["explanation"],
        old=original.text,
        new=new,
        dependencies=tuple(dict.fromkeys(each.strip() for each in data["dependencies"])) if diff else (),
        imports=(),
        changes=(),
        diff=diff,
        reason=reason,
        engine=answer.engine,
        model=answer.model,
    )


def _slo_problems(slos: Any) -> list[str]:
    return [
        f"$[{place}].sli.prometheus: expected PromQL: {problem}"
        for place, slo in enumerate(slos)
        if (problem := promql_problem(slo["sli"]["prometheus"])) is not None
    ]


def _analysis_problems(concerns: tuple[str, ...], line_count: int, data: Any) -> list[str]:
    problems = []
    received = [each["concern"] for each in data["evaluations"]]
    if sorted(received) != sorted(concerns):
        wanted = f"one evaluation for each of {', '.join(concerns)}"
        problems.append(f"$.evaluations: expected {wanted}, got {', '.join(received)}")
    lines = [risk.get("line", 1) for each in data["evaluations"] for risk in each["risks"]]
    if max(lines, default=1) > line_count:
        problems.append(f"$.evaluations: expected lines from 1 to {line_count}, got {max(lines)}")
    return problems


def _shifted(risks: Iterable[dict[str, Any]], by: int) -> list[dict[str, Any]]:
    return [{**risk, "line": risk["line"] + by} if "line" in risk else risk for risk in risks]
