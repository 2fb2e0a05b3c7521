"""The body of a request: which of its content types to send, and a text in it.

A scenario's body is text, so binary content is sent only as far as text can hold it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote_plus

from faultkit.scenario.openapi.parameters import encoded, in_query, media_example, text_of
from faultkit.scenario.openapi.references import Resolver
from faultkit.scenario.openapi.request_example import Examples

BOUNDARY = "faultkit-boundary"
_BODILESS = frozenset({"GET", "HEAD", "DELETE", "OPTIONS", "TRACE"})
"""Methods that have a body only if the document requires one."""
_FILE_FORMATS = ("binary", "byte", "base64")


def body_of(
    request_body: object, method: str, resolver: Resolver, examples: Examples
) -> tuple[str, str] | None:
    """Return the content type and the body."""
    body = resolver.follow(request_body)
    content = body.get("content") if isinstance(body, Mapping) else None
    if not isinstance(content, Mapping) or not content:
        return None
    if method in _BODILESS and body.get("required") is not True:
        return None
    offered = [each for each in content if isinstance(content[each], Mapping)]
    if not offered:
        return None
    chosen = min(offered, key=_rank)
    media = content[chosen]
    sent_type, write = _writer(chosen)
    return sent_type, write(media_example(media, resolver, examples), media, examples)


Writer = Callable[[Any, Mapping[str, Any], Examples], str]


def _json(value: Any, media: Mapping[str, Any], examples: Examples) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _form(value: Any, media: Mapping[str, Any], examples: Examples) -> str:
    if not isinstance(value, dict):
        return text_of(value)
    encodings = media.get("encoding")
    pairs: list[tuple[str, str]] = []
    for name, each in value.items():
        encoding = encodings.get(name) if isinstance(encodings, Mapping) else None
        encoding = encoding if isinstance(encoding, Mapping) else {}
        if isinstance(each, dict) and "style" not in encoding:
            pairs.append((encoded(name), quote_plus(text_of(each))))
            continue
        style = str(encoding.get("style", "form"))
        pairs += in_query(name, each, style, bool(encoding.get("explode", style == "form")), quote_plus)
    return "&".join(f"{name}={each}" for name, each in pairs)


def _multipart(value: Any, media: Mapping[str, Any], examples: Examples) -> str:
    members = value if isinstance(value, dict) else {"value": value}
    properties = examples.flat(media.get("schema", {})).get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    lines: list[str] = []
    for name, each in members.items():
        schema = examples.flat(properties.get(name))
        item = examples.flat(schema.get("items")) if isinstance(each, list) else schema
        for part in each if isinstance(each, list) else [each]:
            lines += [f"--{BOUNDARY}", *_part_head(name, part, item), "", text_of(part)]
    return "\r\n".join([*lines, f"--{BOUNDARY}--", ""])


def _part_head(name: str, part: Any, schema: Mapping[str, Any]) -> list[str]:
    safe = " ".join(name.split()).replace("\\", "\\\\").replace('"', "%22")
    head = f'Content-Disposition: form-data; name="{safe}"'
    if schema.get("format") in _FILE_FORMATS or "contentMediaType" in schema or "contentEncoding" in schema:
        media_type = schema.get("contentMediaType", "application/octet-stream")
        return [f'{head}; filename="example.bin"', f"Content-Type: {media_type}"]
    return [head, "Content-Type: application/json"] if isinstance(part, dict | list) else [head]


def _text(value: Any, media: Mapping[str, Any], examples: Examples) -> str:
    return text_of(value)


_WRITERS: tuple[tuple[Callable[[str], bool], str | None, Writer], ...] = (
    (lambda name: name == "application/json", None, _json),
    (lambda name: name in ("*/*", "application/*"), "application/json", _json),
    (lambda name: name.endswith("+json") or name == "text/json", None, _json),
    (lambda name: name == "application/x-www-form-urlencoded", None, _form),
    (lambda name: name == "multipart/form-data", f"multipart/form-data; boundary={BOUNDARY}", _multipart),
    (lambda name: name == "text/*", "text/plain", _text),
    (lambda name: name.startswith("text/"), None, _text),
    (lambda name: name == "application/octet-stream", None, _text),
    (lambda name: name.startswith("multipart/"), f"multipart/form-data; boundary={BOUNDARY}", _multipart),
    (lambda name: True, None, _text),
)
"""Content types, the most useful first: whether a row is theirs, what is sent instead, how to write it."""


def _essence(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _rank(content_type: str) -> int:
    return next(rank for rank, row in enumerate(_WRITERS) if row[0](_essence(content_type)))


def _writer(content_type: str) -> tuple[str, Writer]:
    _, instead, write = _WRITERS[_rank(content_type)]
    return instead or " ".join(content_type.split()), write
