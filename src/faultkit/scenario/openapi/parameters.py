"""The parameters that a request needs, and what they add to it: path values, a query, headers, cookies.

Optional parameters are left out: the least request is the one that most surely works.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from faultkit.scenario.openapi.example import Examples
from faultkit.scenario.openapi.resolve import Resolver
from faultkit.scenario.openapi.styles import (
    encoded,
    encoded_but_reserved,
    in_header,
    in_path,
    in_query,
    one_line,
    text_of,
)

DEFAULT_STYLES = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
_NOT_PARAMETERS = frozenset({"accept", "content-type", "authorization"})
"""Header parameters of these names mean nothing: other parts of the document say what they are."""
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
UNKNOWN = "1"
"""For a part of a path that no parameter describes."""


@dataclass(slots=True)
class Given:
    """What the parameters of an operation come to."""

    segments: dict[str, str] = field(default_factory=dict)
    """Values that the URL's `{name}` stand for, not encoded."""
    inlined: dict[str, str] = field(default_factory=dict)
    """Path values whose delimiters must not be encoded; they are encoded already."""
    query: list[tuple[str, str]] = field(default_factory=list)
    """Encoded."""
    headers: dict[str, str] = field(default_factory=dict)
    cookies: list[tuple[str, str]] = field(default_factory=list)


def merged_parameters(resolver: Resolver, *lists: object) -> list[Mapping[str, Any]]:
    """Those of the path, then those of the operation, which win by name and place."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for each in lists:
        for raw in each if isinstance(each, list) else ():
            parameter = resolver.follow(raw)
            if isinstance(parameter, Mapping):
                name, place = parameter.get("name"), parameter.get("in")
                if isinstance(name, str) and name and isinstance(place, str):
                    found[name, place] = parameter
    return list(found.values())


def given_parameters(
    parameters: Iterable[Mapping[str, Any]], resolver: Resolver, examples: Examples
) -> Given:
    given = Given()
    for parameter in parameters:
        place = parameter["in"]
        if place == "path" or (parameter.get("required") is True and place in DEFAULT_STYLES):
            _add(given, parameter, place, _value(parameter, resolver, examples))
    return given


def _value(parameter: Mapping[str, Any], resolver: Resolver, examples: Examples) -> Any:
    content = parameter.get("content")
    if isinstance(content, Mapping) and content:
        media = next(iter(content.values()))
        value = media_example(media, resolver, examples) if isinstance(media, Mapping) else ""
        return (
            value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        )
    value = media_example(parameter, resolver, examples)
    return value if value is not None else UNKNOWN


def media_example(holder: Mapping[str, Any], resolver: Resolver, examples: Examples) -> Any:
    """Of a parameter or a media type: its own example, the first of its examples, else one of its schema."""
    if holder.get("example") is not None:
        return holder["example"]
    given = holder.get("examples")
    for each in given.values() if isinstance(given, Mapping) else ():
        example = resolver.follow(each)
        if isinstance(example, Mapping) and example.get("value") is not None:
            return example["value"]
    return examples.of(holder.get("schema", {}))


def _add(given: Given, parameter: Mapping[str, Any], place: str, value: Any) -> None:
    name = parameter["name"]
    style = parameter.get("style")
    style = style if isinstance(style, str) else DEFAULT_STYLES[place]
    explode = parameter.get("explode")
    explode = explode if isinstance(explode, bool) else style == "form"
    if place == "path":
        if style == "simple" and not isinstance(value, dict | list):
            given.segments[name] = text_of(value) or UNKNOWN
        else:
            given.inlined[name] = in_path(name, value, style, explode)
    elif place == "query":
        encode = encoded_but_reserved if parameter.get("allowReserved") is True else encoded
        given.query += in_query(name, value, style, explode, encode)
    elif place == "header" and name.lower() not in _NOT_PARAMETERS and is_header_name(name):
        given.headers[name] = header_text(in_header(value, explode))
    elif place == "cookie":
        # Cookies of lists have one pair: most servers would see only the last of several.
        exploded = explode and isinstance(value, dict)
        given.cookies += in_query(name, value, style, exploded)


def header_text(text: str) -> str:
    """A header holds one line of what Latin-1 can say."""
    return one_line(text).encode("latin-1", "replace").decode("latin-1")


def is_header_name(text: str) -> bool:
    return _TOKEN.fullmatch(text) is not None
