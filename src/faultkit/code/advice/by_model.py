"""Answers of a language model: what it receives, and how its answer is checked.

The model receives the code, the findings of the rules and the results of a search of the project.
Redaction, schemas and the one round of repair belong to `faultkit.llm.ask`; here are the checks beyond the
schema.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeAlias

from faultkit.code.advice import answers as schemas
from faultkit.code.advice import prompts
from faultkit.code.advice.analysis import findings_inside
from faultkit.code.advice.answers import AnalysisAnswer, ChangeAnswer, ScoreAnswer, SloAnswer
from faultkit.code.advice.improvement import finding_lines
from faultkit.code.advice.proposal import Original
from faultkit.code.advice.threats import threats_in
from faultkit.code.facts import facts_of
from faultkit.code.facts.build import GRAMMARS
from faultkit.code.functions import Function, find_function, list_functions
from faultkit.code.languages import Language
from faultkit.code.languages.syntax import Syntax
from faultkit.code.review.engine import findings_of
from faultkit.code.rules.rule import Kind
from faultkit.code.slos.indicators import promql_problem
from faultkit.code.snippets import parse_snippet
from faultkit.llm.ask.language_model import Model, ModelAnswer
from faultkit.llm.ask.model_settings import Spending
from faultkit.llm.ask.prompt import Section

Context: TypeAlias = Callable[[str, str], Sequence[tuple[str, str]]]
"""Searches the project: a query and the name of a language give titles and texts of related code."""

_MOST_RESULTS = 5


class ByModel:
    """One question to a model, with its own event to cancel it."""

    def __init__(self, model: Model, context: Context | None, cancel: threading.Event | None) -> None:
        self._model = model
        self._context = context
        self._cancel = cancel or threading.Event()

    def score(self, original: Original, kind: Kind) -> ScoreAnswer:
        answer = self._score(original, kind, None)
        data = answer.data
        return ScoreAnswer(float(data["score"]), data["explanation"], answer.engine, answer.model)

    def change(
        self, original: Original, kind: Kind | None, given: float | None, target_score: float
    ) -> ChangeAnswer:
        budget = self._model.spending()
        before = original.score(kind) if original.is_judged else given
        if before is None:
            before = float(self._score(original, kind, budget).data["score"])
        told = before if given is None else given
        prompt = prompts.suggest_change(
            original.sent,
            original.language.name,
            kind,
            # A score that is good enough already would be a reason to do nothing.
            score=told if told < target_score else None,
            target_score=target_score,
            whole_file=bool(original.file),
            sections=self._about(original, kind),
        )
        answer = self._model.ask(
            prompt,
            schemas.CHANGE,
            budget=budget,
            check=lambda data: original.problems(data["new"]),
            cancel=self._cancel,
        )
        return _proposed(original, kind, before, target_score, answer)

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
        evaluations = tuple({**each, "risks": _moved(each["risks"], first - 1)} for each in ordered)
        return AnalysisAnswer(evaluations, tuple(answer.data["prompts"]), answer.engine, answer.model)

    def _score(self, original: Original, kind: Kind | None, budget: Spending | None) -> ModelAnswer:
        sections = self._about(original, kind)
        prompt = prompts.score(original.sent, original.language.name, kind, sections=sections)
        return self._model.ask(prompt, schemas.SCORE, budget=budget, cancel=self._cancel)

    def _about(self, original: Original, kind: Kind | None) -> list[Section]:
        own = (each for each in original.findings if kind in (None, each.rule.kind))
        return self._sections(original.sent, original.language, finding_lines(own))

    def _sections(
        self, code: str, language: Language, findings: Iterable[str], *, whole: str = ""
    ) -> list[Section]:
        """Return what the model receives besides the code, the most useful first among what may be left
        out."""
        sections: list[Section] = []
        if language.name in GRAMMARS:
            sections.append(prompts.findings_section(findings))
        if len(whole.strip()) > len(code.strip()):
            sections.append(prompts.context_section("the file that it is in", whole, language.name))
        found = () if self._context is None else self._context(code, language.name)
        for title, text in found[:_MOST_RESULTS]:
            if text.strip() not in code:
                sections.append(prompts.context_section(title, text, language.name))
        return sections


def _proposed(
    original: Original, kind: Kind | None, score: float, target_score: float, answer: ModelAnswer
) -> ChangeAnswer:
    data, told = answer.data, float(answer.data["score"])
    new = original.taken(data["new"])
    diff = original.diff(new)
    after, reason = score, f"{answer.engine} found nothing that is worth changing"
    if diff:
        after = original.score_of_new(new, kind) if original.is_judged else told
        reason = f"{answer.engine} scores the new code {told:.2f}, and {target_score:.2f} was asked for"
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
    came = [each["concern"] for each in data["evaluations"]]
    if sorted(came) != sorted(concerns):
        wanted = f"one evaluation for each of {', '.join(concerns)}"
        problems.append(f"$.evaluations: expected {wanted}, got {', '.join(came)}")
    lines = [risk.get("line", 1) for each in data["evaluations"] for risk in each["risks"]]
    if max(lines, default=1) > line_count:
        problems.append(f"$.evaluations: expected lines from 1 to {line_count}, got {max(lines)}")
    return problems


def _moved(risks: Iterable[dict[str, Any]], by: int) -> list[dict[str, Any]]:
    return [{**risk, "line": risk["line"] + by} if "line" in risk else risk for risk in risks]
