"""The shapes of the answers that we ask for, as JSON schemas. Pure."""

from __future__ import annotations

from typing import Any

from faultkit.base.errors import InputError

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
    }
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
"""`new` is the whole code after the change; empty if nothing is worth changing. The diff is ours to make."""

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


def check_concerns(concerns: tuple[str, ...]) -> tuple[str, ...]:
    """All of them if none is named."""
    for place, concern in enumerate(concerns):
        if concern not in CONCERNS:
            raise InputError(f"concerns[{place}]", f"expected one of {', '.join(CONCERNS)}, got {concern!r}")
    return concerns or CONCERNS
