"""Advice about code, by the offline rules or by a language model: called by commands and tool servers.

Without a model the rules answer, and nothing leaves the machine. With a model, a failure of it is an error:
the rules never answer silently in its place. Input of users is checked here, for both.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence

from faultkit.base.errors import InputError, RunError
from faultkit.code.advice.analysis import analyse_function, check_language_has_rules, score_of
from faultkit.code.advice.answers import (
    RULES,
    AnalysisAnswer,
    ChangeAnswer,
    Engine,
    ScoreAnswer,
    SloAnswer,
    check_concerns,
)
from faultkit.code.advice.by_model import ModelQuestion, OriginalCode, ProjectSearch
from faultkit.code.advice.improvement import check_scores, check_text, explain_change, improve
from faultkit.code.advice.project_settings import project_of
from faultkit.code.advice.selection import EVERY_CHANGE, Selection
from faultkit.code.changes.project import NO_PROJECT, Project
from faultkit.code.functions import Function, find_function, list_functions
from faultkit.code.languages import Language, language_named
from faultkit.code.languages.syntax import Syntax, parse_fragment
from faultkit.code.review.engine import findings_of
from faultkit.code.rules.rule import Kind
from faultkit.code.slos import BY_CODE, MetricChoice, objectives_of
from faultkit.code.source_files import read_changeable, read_source
from faultkit.llm.language_model import LanguageModel

__all__ = ["Advisor", "ProjectSearch"]


class Advisor:
    """Answers questions about code. Safe to call from any thread.

    The model is closed by the caller that made it.
    """

    def __init__(self, model: LanguageModel | None = None, *, context: ProjectSearch | None = None) -> None:
        self._model = model
        self._context = context

    @property
    def engine(self) -> Engine:
        """The engine that will answer."""
        return RULES if self._model is None else Engine(self._model.engine, self._model.settings.model)

    def score(
        self, snippet: str, language: str | Language, kind: Kind, *, cancel: threading.Event | None = None
    ) -> ScoreAnswer:
        """Score how well a function, or a few lines, will do in production, from 0 to 1."""
        if kind is None:
            raise InputError("kind", "expected reliability or performance, got nothing")
        check_scores(kind, None, 1.0)
        known = _language(language)
        check_text(snippet)
        model = self._question(cancel)
        if model is None:
            return _score_by_rules(snippet, known, kind)
        return model.score(OriginalCode(snippet, known), kind)

    def suggest(
        self,
        snippet: str,
        language: str | Language,
        kind: Kind | None,
        *,
        score: float | None = None,
        target_score: float = 0.8,
        selection: Selection = EVERY_CHANGE,
        project: Project = NO_PROJECT,
        file: str = "",
        cancel: threading.Event | None = None,
    ) -> ChangeAnswer:
        """Suggest a change of a function or a few lines that brings its score to `target_score`, if possible.

        Without a kind, both are improved. `selection` and `project` are for the rules.
        """
        original = OriginalCode(snippet, _language(language), file)
        return self._change(original, kind, score, target_score, cancel, selection, project)

    def change_file(
        self,
        path: str | os.PathLike[str],
        *,
        kind: Kind | None = None,
        target_score: float = 1.0,
        language: str | Language | None = None,
        selection: Selection = EVERY_CHANGE,
        changed: Mapping[str, str] | None = None,
        cancel: threading.Event | None = None,
    ) -> ChangeAnswer:
        """Suggest a change of a whole file; without a kind, for reliability and performance together. The
        file is only read.

        changed: texts by real path that other files are going to have"""
        check_scores(kind, None, target_score)
        file = read_changeable(path, None if language is None else _language(language))
        original = OriginalCode(file.text, file.language, file.name)
        project = project_of(file.path, changed)
        return self._change(original, kind, None, target_score, cancel, selection, project)

    def slos(
        self,
        snippet: str,
        language: str | Language,
        *,
        function: str = "",
        metrics: MetricChoice = BY_CODE,
        cancel: threading.Event | None = None,
    ) -> SloAnswer:
        """Suggest service level objectives for the snippet, or for the function of this name in it.

        `metrics` is for the rules.
        """
        known = _language(language)
        check_text(snippet)
        model = self._question(cancel)
        if model is None:
            return _slos_by_rules(snippet, known, function, metrics)
        return model.slos(snippet, known, function)

    def analyse(
        self,
        path: str | os.PathLike[str],
        function: str,
        *,
        language: str | Language | None = None,
        concerns: Sequence[str] = (),
        cancel: threading.Event | None = None,
    ) -> AnalysisAnswer:
        """Analyse the risks of one function of a file by concern: reliability, performance, threat; all
        if none."""
        wanted = tuple(dict.fromkeys(check_concerns(tuple(concerns))))
        file = read_source(path, None if language is None else _language(language))
        if not file.source.strip():
            raise InputError(file.path, "expected source code, got an empty file")
        syntax = file.parse()
        try:
            found = find_function(list_functions(syntax), function)
        except InputError as error:
            raise error.at(f"{file.path}: {error.path}") from None
        model = self._question(cancel)
        if model is None:
            return _analyse_by_rules(syntax, found, wanted, os.path.basename(file.path))
        return model.analysis(syntax, found, wanted)

    def _change(
        self,
        original: OriginalCode,
        kind: Kind | None,
        score: float | None,
        target_score: float,
        cancel: threading.Event | None,
        selection: Selection,
        project: Project,
    ) -> ChangeAnswer:
        check_scores(kind, score, target_score)
        check_text(original.text, original.file)
        model = self._question(cancel)
        if model is None:
            return _change_by_rules(original, kind, score, target_score, selection, project)
        return model.change(original, kind, score, target_score)

    def _question(self, cancel: threading.Event | None) -> ModelQuestion | None:
        """Return a question to the model; None if the rules answer."""
        if cancel is not None and cancel.is_set():
            raise RunError("cancelled before an answer was found")
        return None if self._model is None else ModelQuestion(self._model, self._context, cancel)


def _language(language: str | Language) -> Language:
    return language_named(language) if isinstance(language, str) else language


# Answers of the offline rules. Pure: the same code gets the same answer, and nothing leaves the machine.


def _score_by_rules(snippet: str, language: Language, kind: Kind) -> ScoreAnswer:
    """Score a text by the rules."""
    check_language_has_rules(language)
    found = score_of(findings_of(snippet, language), kind)
    explanation = found.explanation
    broken = parse_fragment(snippet, language).syntax.broken_lines()
    if broken and found.value == 1.0:
        raise _no_score("snippet", language, broken[0])
    if broken:
        explanation += f" Line {broken[0]} cannot be read as {language.title}, so something may be missed."
    return ScoreAnswer(found.value, explanation, RULES.name, RULES.model)


def _no_score(place: str, language: Language, line: int) -> InputError:
    """Return the error for code in which no rule finds anything because it cannot be parsed."""
    problem = f"expected code that can be read as {language.title}, got something else on line {line}"
    return InputError(place, f"{problem}: it has no score")


def _change_by_rules(
    original: OriginalCode,
    kind: Kind | None,
    given: float | None,
    target_score: float,
    selection: Selection,
    project: Project,
) -> ChangeAnswer:
    """Suggest a change by codemods."""
    text, language, file = original.text, original.language, original.file
    check_language_has_rules(language)
    improvement = improve(
        text, language, kind, given, target_score, file=file, project=project, selection=selection
    )
    broken = parse_fragment(text, language).syntax.broken_lines()
    if broken and improvement.score_before == 1.0 and given is None:
        raise _no_score(file or "snippet", language, broken[0])
    return ChangeAnswer(
        score=improvement.score_before,
        target_score=target_score,
        score_after=improvement.score_after,
        explanation=explain_change(improvement),
        old=text,
        new=improvement.new,
        dependencies=improvement.dependencies,
        imports=improvement.imports,
        changes=improvement.changes,
        diff=improvement.diff,
        reason=improvement.reason,
        engine=RULES.name,
        model=RULES.model,
        questions=improvement.questions,
    )


def _slos_by_rules(snippet: str, language: Language, function: str, metrics: MetricChoice) -> SloAnswer:
    """Suggest objectives from what the code does."""
    found = objectives_of(snippet, language, function=function, metrics=metrics)
    return SloAnswer(tuple(each.document() for each in found.slos), RULES.name, RULES.model, found.reason)


def _analyse_by_rules(
    syntax: Syntax, function: Function, concerns: Sequence[str], file: str
) -> AnalysisAnswer:
    """Analyse the risks of a function by the rules."""
    found = analyse_function(syntax, function, concerns=concerns, file=file)
    return AnalysisAnswer(tuple(found["evaluations"]), tuple(found["prompts"]), RULES.name, RULES.model)
