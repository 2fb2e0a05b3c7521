"""From what a manifest says a call gives to the `result` of a reply. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from faultkit.mcp.mock.template import filled, has_names


@dataclass(frozen=True, slots=True)
class Result:
    """What a call gives."""

    value: Any
    """As written: a text, a mapping, a list, or a whole result with `content`."""
    has_names: bool
    """Something in it is to be filled in."""

    def document(self, names: Mapping[str, Any]) -> dict[str, Any]:
        """The result of the reply."""
        return _as_result(filled(self.value, names) if self.has_names else self.value)


def result_of(value: Any) -> Result:
    return Result(value, has_names(value))


def _as_result(value: Any) -> dict[str, Any]:
    if isinstance(value, dict) and ("content" in value or "structuredContent" in value):
        result = dict(value)
        content = result.get("content", [])
        result["content"] = content if _is_content(content) else [_text_block(content)]
        return result
    if isinstance(value, dict):
        return {"content": [_text_block(value)], "structuredContent": dict(value)}
    if value and _is_content(value):
        return {"content": value}
    return {"content": [_text_block(value)]}


def _is_content(value: Any) -> bool:
    """Blocks of content already."""
    return isinstance(value, list) and all(isinstance(each, dict) and "type" in each for each in value)


def _text_block(value: Any) -> dict[str, Any]:
    said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return {"type": "text", "text": said}
