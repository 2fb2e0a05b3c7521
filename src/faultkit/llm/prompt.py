"""A question to a model: its prompt, and the reading of JSON in the answer. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from faultkit.base.documents.jsonc import refuse_constant
from faultkit.base.text import one_line

_FENCES = re.compile(r"`{3,}")


@dataclass(frozen=True, slots=True)
class PromptSection:
    """Material of a prompt: code, findings, search results. Never instructions."""

    title: str
    text: str
    language: str = "text"
    optional: bool = False
    """May be left out of a prompt that is too long; the last such section is left out first."""


@dataclass(frozen=True, slots=True)
class ModelPrompt:
    """The task of a model, and sections of material for it."""

    task: str
    sections: tuple[PromptSection, ...]
    code_fields: tuple[str, ...] = ()
    """Members of the answer that contain code, in which secrets are restored."""

    def text(self) -> str:
        """Return the sections, each in a fence that nothing inside it can close."""
        return "\n\n".join(map(_render_section, self.sections))

    def shorter(self) -> ModelPrompt | None:
        """Return the prompt without its last optional section, or None if it has none."""
        for place in range(len(self.sections) - 1, -1, -1):
            if self.sections[place].optional:
                return replace(self, sections=self.sections[:place] + self.sections[place + 1 :])
        return None


def _render_section(section: PromptSection) -> str:
    longest = max(map(len, _FENCES.findall(section.text)), default=2)
    fence = "`" * (longest + 1)
    language = re.sub(r"[^\w+#-]", "", section.language) or "text"
    title = one_line(section.title)
    return f"## {title}\n{fence}{language}\n{section.text}\n{fence}"


# The JSON of an answer: bare, in a code fence, or surrounded by words


_LONGEST_ANSWER = 1_000_000
_MOST_STARTS = 200
_FENCE = re.compile(r"`{3,}|~{3,}")
_THINKING_END_TAGS = ("</think>", "</thinking>", "</reasoning>")
_START = re.compile(r"[{\[]")


def json_values(text: str) -> Iterator[Any]:
    """Yield the JSON objects and arrays in `text`, the likeliest first.

    These are the whole text if it is JSON, else the contents of code fences, else everything that begins with
    a bracket. The thoughts of a reasoning model are left out.
    """
    text = text[:_LONGEST_ANSWER].strip().lstrip("\ufeff")
    whole = _parse(text)
    if whole is not None:
        yield whole
        return
    for end in _THINKING_END_TAGS:
        text = text.rpartition(end)[2]
    fenced = [value for block in _fenced_blocks(text) if (value := _parse(block)) is not None]
    yield from fenced or _unfenced_values(text)


def _fenced_blocks(text: str) -> Iterator[str]:
    """Yield the contents of each closed code fence."""
    fence, lines = "", list[str]()
    for line in text.split("\n"):
        bare = line.strip()
        if fence and bare.startswith(fence) and not bare.strip(fence[0]):
            yield "\n".join(lines)
            fence = ""
        elif fence:
            lines.append(line)
        elif opening := _FENCE.match(bare):
            fence, lines = opening[0], []


def _unfenced_values(text: str) -> Iterator[Any]:
    decoder = _decoder()
    at = 0
    for _ in range(_MOST_STARTS):
        start = _START.search(text, at)
        if start is None:
            return
        try:
            value, at = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            at = start.start() + 1
            continue
        if _is_encodable(value):
            yield value


def _parse(text: str) -> Any | None:
    try:
        value = _decoder().decode(text.strip())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) and _is_encodable(value) else None


def _decoder() -> json.JSONDecoder:
    # Not strict, because many models write raw line breaks inside strings.
    return json.JSONDecoder(parse_constant=refuse_constant, strict=False)


def _is_encodable(value: Any) -> bool:
    """Return whether a value has a UTF-8 encoding: half of a surrogate pair is valid JSON and has none."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        return False
    return True


# The schema of an answer

_WRAPPER_KEY = "answer"
_MOST_PROBLEMS = 8
_LONGEST_QUOTE = 160


def schema_problems(value: Any, schema: dict[str, Any]) -> list[str]:
    """Return how a value violates a schema: a path and a sentence for each problem."""
    from jsonschema import Draft202012Validator

    errors = sorted(Draft202012Validator(schema).iter_errors(value), key=lambda error: error.json_path)
    return [f"{error.json_path}: {_shorten(error.message)}" for error in errors[:_MOST_PROBLEMS]]


def wire_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema as providers accept it: the outermost value must be an object."""
    if schema.get("type") == "object":
        return schema
    return {
        "type": "object",
        "properties": {_WRAPPER_KEY: schema},
        "required": [_WRAPPER_KEY],
        "additionalProperties": False,
    }


def unwrapped(value: Any, schema: dict[str, Any]) -> Any:
    """Undo `wire_schema` in an answer. An answer without the wrapper is accepted too."""
    wrapped = schema.get("type") != "object" and isinstance(value, dict) and set(value) == {_WRAPPER_KEY}
    return value[_WRAPPER_KEY] if wrapped else value


def _shorten(text: str) -> str:
    return (
        text
        if len(text) <= _LONGEST_QUOTE
        else f"{text[: _LONGEST_QUOTE // 2]} … {text[-_LONGEST_QUOTE // 2 :]}"
    )
