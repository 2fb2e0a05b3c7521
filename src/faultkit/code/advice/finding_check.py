"""Findings checked by a language model, which confirms each or says why it is not worth acting on.

A question is about one file, or about a part of its findings if there are many. What the model refutes or
calls minor is hidden with its reason. Verdicts are stored, so that nothing is asked again as long as neither
the file nor its findings change.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Any

from faultkit.code.advice import answers, prompts
from faultkit.code.review.cache import ReviewCache
from faultkit.code.review.explanation import explanation_of
from faultkit.code.review.outcome import Hiding, JudgedFinding
from faultkit.code.rules.rule import Rule
from faultkit.code.source_files import SourceFile
from faultkit.llm.language_model import LanguageModel
from faultkit.llm.prompt import ModelPrompt

_AT_ONCE = 4
"""Questions that are open at the same time."""
_WHOLE_FILE = 24_000
"""Characters up to which the model receives a file whole."""
_HEAD_LINES = 60
_LINES_BEFORE, _LINES_AFTER = 100, 80
"""Of a longer file, the model receives its first lines, and those around each finding."""
_LONGEST_LINE = 300
_HIDING: dict[str, Hiding] = {"defect": "", "minor": "minor", "wrong": "refuted"}


@dataclass(frozen=True, slots=True)
class CheckQuestion:
    """A question about findings of one file."""

    places: tuple[int, ...]
    """Positions of the findings among all findings, in the order of their numbers in the prompt."""
    prompt: ModelPrompt


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
    every = text.split("\n")
    wanted = set(range(1, len(every) + 1))
    if len(text) > _WHOLE_FILE:
        near = (range(line - _LINES_BEFORE, line + _LINES_AFTER + 1) for line in lines)
        wanted &= {*range(1, _HEAD_LINES + 1), *(number for part in near for number in part)}
    shown = list[str]()
    last = 0
    for number in sorted(wanted):
        if number != last + 1:
            shown.append("...")
        shown.append(f"{number:5} {every[number - 1][:_LONGEST_LINE].rstrip()}")
        last = number
    if last < len(every):
        shown.append("...")
    return "\n".join(shown)


class FindingCheck:
    """Asks a model about findings, several questions at a time."""

    def __init__(self, model: LanguageModel, cache: ReviewCache | None = None) -> None:
        self._model = model
        self._cache = cache
        self._cancel = threading.Event()

    def verdicts(
        self, questions: Sequence[CheckQuestion]
    ) -> Iterator[tuple[CheckQuestion, list[dict[str, Any]]]]:
        """Yield each question with its verdicts, in the order in which they come.

        Raises RunError or TargetError if the model gives none; the verdicts so far are stored."""
        unknown = []
        for each in questions:
            stored = None if self._cache is None else self._cache.get(self._key(each))
            if stored is None:
                unknown.append(each)
            else:
                yield each, json.loads(stored)
        if not unknown:
            return
        pool = ThreadPoolExecutor(_AT_ONCE, "check")
        try:
            asked = {pool.submit(self.ask, each): each for each in unknown}
            for done in as_completed(asked):
                question, data = asked[done], done.result()
                if self._cache is not None:
                    self._cache.put(self._key(question), json.dumps(data))
                yield question, data
        finally:
            self._cancel.set()
            pool.shutdown(cancel_futures=True)

    def ask(self, question: CheckQuestion) -> list[dict[str, Any]]:
        """Return the verdicts of one question."""
        check = partial(_problems, len(question.places))
        answer = self._model.ask(question.prompt, answers.CHECKS, check=check, cancel=self._cancel)
        verdicts: list[dict[str, Any]] = answer.data["verdicts"]
        return verdicts

    def _key(self, question: CheckQuestion) -> bytes:
        digest = blake2b(digest_size=20)
        settings = self._model.settings
        for part in (self._model.engine, settings.model, question.prompt.task, question.prompt.text()):
            digest.update(part.encode() + b"\0")
        return digest.digest()


def _problems(count: int, data: Any) -> list[str]:
    received = sorted(each["finding"] for each in data["verdicts"])
    if received == list(range(1, count + 1)):
        return []
    got = ", ".join(map(str, received))
    return [f"$.verdicts: expected one verdict for each finding from 1 to {count}, got {got}"]


def with_verdicts(
    findings: Sequence[JudgedFinding], answered: Iterable[tuple[CheckQuestion, Sequence[dict[str, Any]]]]
) -> list[JudgedFinding]:
    """Return the findings with their verdicts and reasons; what is not confirmed is hidden."""
    checked = list(findings)
    for question, verdicts in answered:
        for each in verdicts:
            place, verdict = question.places[each["finding"] - 1], each["verdict"]
            checked[place] = replace(
                checked[place], hidden=_HIDING[verdict], detail=each["reason"], verdict=verdict
            )
    return checked
