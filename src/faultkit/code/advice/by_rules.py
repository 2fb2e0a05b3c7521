"""Answers of the offline rules. Pure: the same code has the same answer, and nothing leaves the machine."""

from __future__ import annotations

from collections.abc import Sequence

from faultkit.code.advice.analysis import analyse_function, check_rules_know
from faultkit.code.advice.answers import AnalysisAnswer, ChangeAnswer, ScoreAnswer, SloAnswer
from faultkit.code.advice.changes import improve
from faultkit.code.advice.engine import RULES
from faultkit.code.advice.explaining import explain_change
from faultkit.code.advice.score import score_of
from faultkit.code.function import Function
from faultkit.code.languages import Language
from faultkit.code.rules.engine import findings_of
from faultkit.code.rules.piece import parse_piece
from faultkit.code.rules.rule import Kind
from faultkit.code.slos import suggest_slos
from faultkit.code.syntax import Syntax


def score(snippet: str, language: Language, kind: Kind) -> ScoreAnswer:
    check_rules_know(language)
    found = score_of(findings_of(snippet, language), kind)
    unread = _unread(parse_piece(snippet, language).syntax)
    return ScoreAnswer(found.value, f"{found.explanation}{unread}", RULES.name, RULES.model)


def change(
    text: str, language: Language, kind: Kind | None, given: float | None, target_score: float, file: str
) -> ChangeAnswer:
    check_rules_know(language)
    better = improve(text, language, kind, given, target_score, file=file)
    return ChangeAnswer(
        score=better.score_before,
        target_score=target_score,
        score_after=better.score_after,
        explanation=explain_change(better),
        old=text,
        new=better.new,
        dependencies=better.dependencies,
        imports=better.imports,
        changes=better.changes,
        diff=better.diff,
        reason=better.reason,
        engine=RULES.name,
        model=RULES.model,
    )


def slos(snippet: str, language: Language, function: str) -> SloAnswer:
    found = suggest_slos(snippet, language, function=function)
    return SloAnswer(tuple(each.document() for each in found), RULES.name, RULES.model)


def analysis(syntax: Syntax, function: Function, concerns: Sequence[str], file: str) -> AnalysisAnswer:
    found = analyse_function(syntax, function, concerns=concerns, file=file)
    return AnalysisAnswer(tuple(found["evaluations"]), tuple(found["prompts"]), RULES.name, RULES.model)


def _unread(syntax: Syntax) -> str:
    broken = syntax.broken_lines()
    if not broken:
        return ""
    return f" Line {broken[0]} cannot be read as {syntax.language.title}, so something may be missed."
