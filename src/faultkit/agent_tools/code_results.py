"""Schemas of what the tools about code answer, as structured content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultkit.agent_tools.arguments import either

TEXT: Mapping[str, Any] = {"type": "string"}
TEXTS: Mapping[str, Any] = {"type": "array", "items": TEXT}
SCORE: Mapping[str, Any] = {"type": "number", "minimum": 0, "maximum": 1}
WHOLE: Mapping[str, Any] = {"type": "integer", "minimum": 0}
ENGINE: Mapping[str, Mapping[str, Any]] = {
    "engine": {
        "type": "string",
        "description": "rules (offline), or the provider of the model that answered",
    },
    "model": {**either("string", "null"), "description": "The model that answered; null for the rules"},
}


def object_of(properties: Mapping[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required}


SCORED = object_of({"explanation": TEXT, "score": SCORE, **ENGINE})
CHANGED = object_of(
    {
        "score": {**SCORE, "description": "Of the code as it is"},
        "explanation": TEXT,
        "old": TEXT,
        "new": {**TEXT, "description": "The whole text after the change"},
        "dependencies": {**TEXTS, "description": "Packages that the new code needs"},
        "diff": {**TEXT, "description": "Unified, for `git apply`; empty if nothing is to be changed"},
        "target_score": SCORE,
        "score_after": {**SCORE, "description": "Of the code after the change"},
        "imports": {**TEXTS, "description": "Statements to add at the top of the file"},
        "changes": {**TEXTS, "description": "What was done, one sentence each"},
        "reason": {**TEXT, "description": "Why it goes no further, or why there is no change"},
        **ENGINE,
    }
)


PROOF: Mapping[str, Any] = {
    "type": "object",
    "description": "With verify: what both versions did under each fault, and which did better",
    "properties": {
        "judgement": {"enum": ["improved", "same", "worse", "not exercised", "inconclusive"]},
        "route": TEXT,
        "upstreams": TEXTS,
        "faults": {"type": "array", "items": {"type": "object"}},
    },
    "required": ["judgement", "route", "upstreams", "faults"],
}
