"""Advice about code, by the offline rules or by a language model: what the command line and servers call.

Without a model the rules answer, and nothing leaves the machine. With one it is asked; if it fails, that is
an error, and never silently the rules' answer. What users give is checked here, whoever answers.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

from faultkit.base.errors import InputError, RunError
from faultkit.code.advice import by_rules
from faultkit.code.advice.answers import AnalysisAnswer, ChangeAnswer, ScoreAnswer, SloAnswer
from faultkit.code.advice.by_model import ByModel, Context
from faultkit.code.advice.changes import check_scores, check_text
from faultkit.code.advice.engine import RULES, Engine
from faultkit.code.advice.file import read_changeable
from faultkit.code.advice.proposal import Original
from faultkit.code.file import read_source
from faultkit.code.functions import list_functions
from faultkit.code.languages import Language, language_named
from faultkit.code.names import find_function
from faultkit.code.rules.rule import Kind
from faultkit.llm.ask.model import Model
from faultkit.llm.ask.schemas import check_concerns

__all__ = ["Advisor", "Context"]


class Advisor:
    """Ask it from any thread. The model, if there is one, is its maker's to close."""

    def __init__(self, model: Model | None = None, *, context: Context | None = None) -> None:
        self._model = model
        self._context = context

    @property
    def engine(self) -> Engine:
        """Who will answer."""
        return RULES if self._model is None else Engine(self._model.engine, self._model.settings.model)

    def score(
        self, snippet: str, language: str | Language, kind: Kind, *, cancel: threading.Event | None = None
    ) -> ScoreAnswer:
        """How well a function, or a few lines, will do in production, from 0 to 1."""
        if kind is None:
            raise InputError("kind", "expected reliability or performance, got nothing")
        check_scores(kind, None, 1.0)
        known = _language(language)
        check_text(snippet)
        asked = self._asked(cancel)
        if asked is None:
            return by_rules.score(snippet, known, kind)
        return asked.score(Original(snippet, known), kind)

    def suggest(
        self,
        snippet: str,
        language: str | Language,
        kind: Kind | None,
        *,
        score: float | None = None,
        target_score: float = 0.8,
        cancel: threading.Event | None = None,
    ) -> ChangeAnswer:
        """A change of a function or a few lines that brings its score to `target_score`, as far as it can.

        No kind is both."""
        return self._change(Original(snippet, _language(language)), kind, score, target_score, cancel)

    def change_file(
        self,
        path: str | os.PathLike[str],
        *,
        target_score: float = 1.0,
        language: str | Language | None = None,
        cancel: threading.Event | None = None,
    ) -> ChangeAnswer:
        """The same for a whole file, for reliability and performance together. The file is only read."""
        check_scores(None, None, target_score)
        file = read_changeable(path, None if language is None else _language(language))
        return self._change(Original(file.text, file.language, file.name), None, None, target_score, cancel)

    def slos(
        self,
        snippet: str,
        language: str | Language,
        *,
        function: str = "",
        cancel: threading.Event | None = None,
    ) -> SloAnswer:
        """Service level objectives for the snippet, or for the function of this name in it."""
        known = _language(language)
        check_text(snippet)
        asked = self._asked(cancel)
        if asked is None:
            return by_rules.slos(snippet, known, function)
        return asked.slos(snippet, known, function)

    def analyse(
        self,
        path: str | os.PathLike[str],
        function: str,
        *,
        language: str | Language | None = None,
        concerns: Sequence[str] = (),
        cancel: threading.Event | None = None,
    ) -> AnalysisAnswer:
        """Risks of one function of a file, by concern: reliability, performance, threat; all if none."""
        wanted = tuple(dict.fromkeys(check_concerns(tuple(concerns))))
        file = read_source(path, None if language is None else _language(language))
        if not file.source.strip():
            raise InputError(file.path, "expected source code, got an empty file")
        syntax = file.parse()
        try:
            found = find_function(list_functions(syntax), function)
        except InputError as error:
            raise InputError(f"{file.path}: {error.path}", error.problem) from None
        asked = self._asked(cancel)
        if asked is None:
            return by_rules.analysis(syntax, found, wanted, os.path.basename(file.path))
        return asked.analysis(syntax, found, wanted)

    def _change(
        self,
        original: Original,
        kind: Kind | None,
        score: float | None,
        target_score: float,
        cancel: threading.Event | None,
    ) -> ChangeAnswer:
        check_scores(kind, score, target_score)
        check_text(original.text, original.file)
        asked = self._asked(cancel)
        if asked is None:
            return by_rules.change(original.text, original.language, kind, score, target_score, original.file)
        return asked.change(original, kind, score, target_score)

    def _asked(self, cancel: threading.Event | None) -> ByModel | None:
        """The model, ready to be asked; None if the rules answer."""
        if cancel is not None and cancel.is_set():
            raise RunError("cancelled before an answer was found")
        return None if self._model is None else ByModel(self._model, self._context, cancel)


def _language(language: str | Language) -> Language:
    return language_named(language) if isinstance(language, str) else language
