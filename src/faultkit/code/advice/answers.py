"""What an advisor answers. Values only: each says which engine made it, and gives itself as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ScoreAnswer:
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
    score: float
    """Of the old code: by the rules where they know the language, else as the caller or the model has it."""
    target_score: float
    score_after: float
    """Of the new code, by the same measure."""
    explanation: str
    """What threatens the code, and what was changed."""
    old: str
    new: str
    """The whole text after the change; the old one if there is none."""
    dependencies: tuple[str, ...]
    """Packages that the new code needs."""
    imports: tuple[str, ...]
    """Statements that belong at the top of the file and have no place in the text that was given."""
    changes: tuple[str, ...]
    """What was done, one sentence each; a model tells it in its explanation only."""
    diff: str
    """Unified, for `git apply`; empty if nothing is to be changed."""
    reason: str
    """Why it goes no further, or why there is no change."""
    engine: str
    model: str | None

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
            "engine": self.engine,
            "model": self.model,
        }


@dataclass(frozen=True, slots=True)
class SloAnswer:
    slos: tuple[dict[str, Any], ...]
    """Each of the shape of `llm.schemas.SLO`."""
    engine: str
    model: str | None

    def document(self) -> dict[str, Any]:
        return {"slos": list(self.slos), "engine": self.engine, "model": self.model}


@dataclass(frozen=True, slots=True)
class AnalysisAnswer:
    evaluations: tuple[dict[str, Any], ...]
    """One a concern, in the order that was asked for; see `llm.schemas.ANALYSIS`. Lines are the file's."""
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
