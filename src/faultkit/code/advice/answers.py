"""Answers of an advisor, as values with a JSON form, and the JSON schemas of answers of a model.

Each answer names the engine that made it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from faultkit.base.errors import InputError
from faultkit.code.advice.selection import OpenQuestion
from faultkit.code.review.outcome import VERDICTS
from faultkit.code.rules.rule import KINDS


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine that made an answer: the offline rules, or a language model."""

    name: str
    """`rules`, or the provider as users name it: `openai`, `ollama` …"""
    model: str | None
    """The provider's name of the model; None for the rules."""


RULES = Engine("rules", None)


@dataclass(frozen=True, slots=True)
class ScoreAnswer:
    """A score with its explanation."""

    score: float
    """From 0 to 1."""
    explanation: str
    engine: str
    model: str | None

    def document(self) -> dict[str, Any]:
        return {
            "score": self.score,
            "explanation": self.explanation,
            "engine": self.engine,
            "model": self.model,
        }


@dataclass(frozen=True, slots=True)
class ChangeAnswer:
    """A suggested change, with the scores before and after it."""

    score: float
    """Score of the old code: by the rules where they know the language, else as given by the caller or
    model."""
    target_score: float
    score_after: float
    """Score of the new code, by the same measure."""
    explanation: str
    """The threats to the code, and the changes."""
    old: str
    new: str
    """The whole text after the change; the old text if there is none."""
    dependencies: tuple[str, ...]
    """Packages that the new code needs."""
    imports: tuple[str, ...]
    """Import statements that belong at the top of the file and have no place in the given text."""
    changes: tuple[str, ...]
    """Descriptions of the changes; empty for a model, which describes them in its explanation."""
    diff: str
    """Unified diff for `git apply`; empty if nothing is to be changed."""
    reason: str
    """Why the change goes no further, or why there is none."""
    engine: str
    model: str | None
    questions: tuple[OpenQuestion, ...] = ()
    """Questions of changes by the rules that are not safe, whether they were made or not."""

    def document(self) -> dict[str, Any]:
        return {
            "score": self.score,
            "explanation": self.explanation,
            "old": self.old,
            "new": self.new,
            "dependencies": list(self.dependencies),
            "diff": self.diff,
            "target_score": self.target_score,
            "score_after": self.score_after,
            "imports": list(self.imports),
            "changes": list(self.changes),
            "reason": self.reason,
            "questions": [each.document() for each in self.questions],
            "engine": self.engine,
            "model": self.model,
        }


@dataclass(frozen=True, slots=True)
class SloAnswer:
    """Suggested service level objectives."""

    slos: tuple[dict[str, Any], ...]
    """Objectives in the form of `answers.SLO`."""
    engine: str
    model: str | None
    reason: str = ""
    """Why there are none; empty if there are some."""

    def document(self) -> dict[str, Any]:
        return {
            "slos": list(self.slos),
            "reason": self.reason,
            "engine": self.engine,
            "model": self.model,
        }


@dataclass(frozen=True, slots=True)
class AnalysisAnswer:
    """The risks of one function."""

    evaluations: tuple[dict[str, Any], ...]
    """One for each concern, in the order asked for; see `answers.ANALYSIS`. Lines are those of
    the file."""
    prompts: tuple[str, ...]
    """Requests that a developer can hand to a coding assistant."""
    engine: str
    model: str | None

    def document(self) -> dict[str, Any]:
        return {
            "evaluations": list(self.evaluations),
            "prompts": list(self.prompts),
            "engine": self.engine,
            "model": self.model,
        }


# JSON schemas of the answers that a model is asked for.


CONCERNS = ("reliability", "performance", "threat")


def _text(most: int, **more: Any) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": most, **more}


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def _array(items: dict[str, Any], least: int, most: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


_RATIO = {"type": "number", "minimum": 0, "maximum": 1}
_LEVEL = {"enum": ["low", "medium", "high"]}

SCORE: dict[str, Any] = _object({"score": _RATIO, "explanation": _text(1000)})

_CLOUD_RUN = _object(
    {
        "displayName": _text(200),
        "goal": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "serviceLevelIndicator": {"type": "object"},
    },
    {"calendarPeriod": _text(20), "rollingPeriod": _text(20)},
)

SLO: dict[str, Any] = _object(
    {
        "type": {"enum": ["latency", "availability", "error"]},
        "title": _text(200),
        "objective": {"type": "number", "minimum": 0, "exclusiveMaximum": 100},
        "explanation": _text(1000),
        "threshold": {"type": "number", "minimum": 0},
        "unit": _text(20),
        "window": _text(10, pattern=r"^[0-9]+(s|m|h|d)$"),
        "sli": _object({"prometheus": _text(2000), "gcp/cloudrun": _CLOUD_RUN}),
    },
    {
        "period": _text(10, pattern=r"^[0-9]+d$"),
        "error_budget": _text(200),
        "exporter": {"type": "string", "maxLength": 40},
        "needs": _text(1000),
        "function": {"type": "string"},
        "route": {"type": "string"},
        "line": {"type": "integer", "minimum": 1},
    },
)

SLOS: dict[str, Any] = _array(SLO, 1, 6)

CHANGE: dict[str, Any] = _object(
    {
        "explanation": _text(4000),
        "score": _RATIO,
        "new": {"type": "string"},
        "dependencies": {"type": "array", "items": _text(100), "maxItems": 20},
    }
)
"""`new` is the whole code after the change; empty if nothing is worth changing. The diff is made from it
here."""

ANALYSIS: dict[str, Any] = _object(
    {
        "evaluations": _array(
            _object(
                {
                    "concern": {"enum": list(CONCERNS)},
                    "summary": _text(2000),
                    "risks": {
                        "type": "array",
                        "maxItems": 3,
                        "items": _object(
                            {
                                "title": _text(200),
                                "explanation": _text(2000),
                                "recommendation": _text(2000),
                                "impact": _LEVEL,
                                "likelihood": _LEVEL,
                                "cost": _LEVEL,
                            },
                            {"line": {"type": "integer", "minimum": 1}},
                        ),
                    },
                }
            ),
            1,
            len(CONCERNS),
        ),
        "prompts": {"type": "array", "items": _text(1000), "maxItems": 5},
    }
)

MOST_CHECKED = 20
"""Findings of one question."""
CHECKS: dict[str, Any] = _object(
    {
        "verdicts": _array(
            _object(
                {
                    "finding": {"type": "integer", "minimum": 1, "maximum": MOST_CHECKED},
                    "verdict": {"enum": list(VERDICTS)},
                    "reason": _text(600),
                }
            ),
            1,
            MOST_CHECKED,
        )
    }
)
"""One verdict for each finding, by its number in the prompt."""

DEFECTS: dict[str, Any] = _object(
    {
        "defects": {
            "type": "array",
            "maxItems": 8,
            "items": _object(
                {
                    "line": {"type": "integer", "minimum": 1},
                    "concern": {"enum": list(KINDS)},
                    "severity": _LEVEL,
                    "claim": _text(400),
                }
            ),
        }
    }
)
"""Defects by their lines; an empty list if there are none."""


def check_concerns(concerns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the concerns; all of them if none is named. Raises InputError for an unknown one."""
    for place, concern in enumerate(concerns):
        if concern not in CONCERNS:
            raise InputError(f"concerns[{place}]", f"expected one of {', '.join(CONCERNS)}, got {concern!r}")
    return concerns or CONCERNS
