"""Prompts: a task, and sections of material that it is about. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from faultkit.base.text import one_line

_FENCES = re.compile(r"`{3,}")


@dataclass(frozen=True, slots=True)
class Section:
    """Material to judge: code, findings, search results. Never instructions."""

    title: str
    text: str
    language: str = "text"
    optional: bool = False
    """May be left out of a prompt that is too long; the last such section goes first."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked, and the material for it."""

    task: str
    sections: tuple[Section, ...]
    code_fields: tuple[str, ...] = ()
    """Members of the answer that contain code, in which secrets are restored."""

    def text(self) -> str:
        """Return the sections, each in a fence that nothing inside it can close."""
        return "\n\n".join(map(_rendered, self.sections))

    def shorter(self) -> Prompt | None:
        """Return the prompt without its last optional section, or None if it has none."""
        for place in range(len(self.sections) - 1, -1, -1):
            if self.sections[place].optional:
                return replace(self, sections=self.sections[:place] + self.sections[place + 1 :])
        return None


def _rendered(section: Section) -> str:
    longest = max(map(len, _FENCES.findall(section.text)), default=2)
    fence = "`" * (longest + 1)
    language = re.sub(r"[^\w+#-]", "", section.language) or "text"
    title = one_line(section.title)
    return f"## {title}\n{fence}{language}\n{section.text}\n{fence}"


# Reading JSON out of a model's text, and checking it against a schema.
#
# The JSON may be bare, in a code fence, or surrounded by words.


_MOST_CHARS = 1_000_000
_MOST_STARTS = 200
_FENCE = re.compile(r"`{3,}|~{3,}")
_THOUGHT_ENDS = ("</think>", "</thinking>", "</reasoning>")
_START = re.compile(r"[{\[]")


def json_values(text: str) -> Iterator[Any]:
    """Yield the JSON objects and arrays in `text`, the likeliest first.

    The whole text if it is JSON; else the contents of code fences; else all that begins with a bracket. The
    thoughts of a reasoning model are left out.
    """
    text = text[:_MOST_CHARS].strip().lstrip("\ufeff")
    whole = _parsed(text)
    if whole is not None:
        yield whole
        return
    for end in _THOUGHT_ENDS:
        text = text.rpartition(end)[2]
    fenced = [value for block in _fenced(text) if (value := _parsed(block)) is not None]
    yield from fenced or _loose(text)


def _fenced(text: str) -> Iterator[str]:
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


def _loose(text: str) -> Iterator[Any]:
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
        if _is_sound(value):
            yield value


def _parsed(text: str) -> Any | None:
    try:
        value = _decoder().decode(text.strip())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) and _is_sound(value) else None


def _decoder() -> json.JSONDecoder:
    # Many models write raw line breaks inside strings, whose meaning is clear.
    return json.JSONDecoder(parse_constant=_refuse, strict=False)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def _is_sound(value: Any) -> bool:
    """Return whether a value can be encoded: half a surrogate pair is valid JSON but no valid text."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        return False
    return True


_ANSWER = "answer"
_MOST_PROBLEMS = 8
_MOST_QUOTED = 160


def problems_of(value: Any, schema: dict[str, Any]) -> list[str]:
    """Return how a value violates a schema, one sentence with a path for each problem."""
    from jsonschema import Draft202012Validator

    errors = sorted(Draft202012Validator(schema).iter_errors(value), key=lambda error: error.json_path)
    return [f"{error.json_path}: {_short(error.message)}" for error in errors[:_MOST_PROBLEMS]]


def wire_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema as providers accept it: the outermost value must be an object."""
    if schema.get("type") == "object":
        return schema
    return {
        "type": "object",
        "properties": {_ANSWER: schema},
        "required": [_ANSWER],
        "additionalProperties": False,
    }


def unwrapped(value: Any, schema: dict[str, Any]) -> Any:
    """Undo `wire_schema` in an answer. An answer without the wrapper is accepted too."""
    wrapped = schema.get("type") != "object" and isinstance(value, dict) and set(value) == {_ANSWER}
    return value[_ANSWER] if wrapped else value


def _short(text: str) -> str:
    return (
        text if len(text) <= _MOST_QUOTED else f"{text[: _MOST_QUOTED // 2]} … {text[-_MOST_QUOTED // 2 :]}"
    )
