"""A suggested objective, and the object that users and clients are given for it. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

SloType: TypeAlias = Literal["latency", "availability", "error"]


@dataclass(frozen=True, slots=True)
class SuggestedSlo:
    type: SloType
    title: str
    objective: float
    """In percent, below 100."""
    explanation: str
    threshold: float
    unit: str
    window: str
    """`300s`."""
    prometheus: str
    """The indicator as a PromQL expression."""
    cloud_run: Mapping[str, Any]
    """The objective as a resource of Google's Cloud Monitoring."""

    def document(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "title": self.title,
            "objective": self.objective,
            "explanation": self.explanation,
            "threshold": self.threshold,
            "unit": self.unit,
            "window": self.window,
            "sli": {"prometheus": self.prometheus, "gcp/cloudrun": dict(self.cloud_run)},
        }
