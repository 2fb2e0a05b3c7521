"""The parts of a request: path values, query, headers and cookies, each in its style, and the body. Pure.

Optional parameters are left out: the smallest request is the most likely to work. A scenario's body is text,
so binary content is sent only as far as text can hold it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, quote_plus

from faultkit.base.text import one_line, printable_line
from faultkit.scenario.openapi.openapi_document import ReferenceResolver
from faultkit.scenario.openapi.request_example import Examples

DEFAULT_STYLES = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
_NOT_PARAMETERS = frozenset({"accept", "content-type", "authorization"})
"""Header parameters of these names are ignored, as OpenAPI demands."""
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
UNKNOWN_SEGMENT = "1"
"""The value of a path segment that no parameter describes."""


@dataclass(slots=True)
class RequestParameters:
    """The parameters of an operation, written for a request."""

    segments: dict[str, str] = field(default_factory=dict)
    """Values of `{name}` in the URL, not encoded."""
    inlined: dict[str, str] = field(default_factory=dict)
    """Path values that are encoded already, because their delimiters must stay."""
    query: list[tuple[str, str]] = field(default_factory=list)
    """The query, encoded."""
    headers: dict[str, str] = field(default_factory=dict)
    cookies: list[tuple[str, str]] = field(default_factory=list)


def merged_parameters(resolver: ReferenceResolver, *lists: object) -> list[Mapping[str, Any]]:
    """Return the parameters of all lists. A later list overrides an earlier one by name and place."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for each in lists:
        for raw in each if isinstance(each, list) else ():
            parameter = resolver.follow(raw)
            if isinstance(parameter, Mapping):
                name, place = parameter.get("name"), parameter.get("in")
                if isinstance(name, str) and name and isinstance(place, str):
                    found[name, place] = parameter
    return list(found.values())


def request_parameters(
    parameters: Iterable[Mapping[str, Any]], resolver: ReferenceResolver, examples: Examples
) -> RequestParameters:
    """Return the required parameters with example values, each written in its style."""
    given = RequestParameters()
    for parameter in parameters:
        place = parameter["in"]
        if place == "path" or (parameter.get("required") is True and place in DEFAULT_STYLES):
            _add(given, parameter, place, _value(parameter, resolver, examples))
    return given


def _value(parameter: Mapping[str, Any], resolver: ReferenceResolver, examples: Examples) -> Any:
    content = parameter.get("content")
    if isinstance(content, Mapping) and content:
        media = next(iter(content.values()))
        value = media_example(media, resolver, examples) if isinstance(media, Mapping) else ""
        return (
            value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        )
    value = media_example(parameter, resolver, examples)
    return value if value is not None else UNKNOWN_SEGMENT


def media_example(holder: Mapping[str, Any], resolver: ReferenceResolver, examples: Examples) -> Any:
    """Return the example of a parameter or a media type, else one of its schema."""
    if holder.get("example") is not None:
        return holder["example"]
    given = holder.get("examples")
    for each in given.values() if isinstance(given, Mapping) else ():
        example = resolver.follow(each)
        if isinstance(example, Mapping) and example.get("value") is not None:
            return example["value"]
    return examples.of(holder.get("schema", {}))


def _add(given: RequestParameters, parameter: Mapping[str, Any], place: str, value: Any) -> None:
    name = parameter["name"]
    style = parameter.get("style")
    style = style if isinstance(style, str) else DEFAULT_STYLES[place]
    explode = parameter.get("explode")
    explode = explode if isinstance(explode, bool) else style == "form"
    if place == "path":
        if style == "simple" and not isinstance(value, dict | list):
            given.segments[name] = text_of(value) or UNKNOWN_SEGMENT
        else:
            given.inlined[name] = in_path(name, value, style, explode)
    elif place == "query":
        encode = encode_allow_reserved if parameter.get("allowReserved") is True else encoded
        given.query += in_query(name, value, style, explode, encode)
    elif place == "header" and name.lower() not in _NOT_PARAMETERS and is_header_name(name):
        given.headers[name] = header_text(in_header(value, explode))
    elif place == "cookie":
        # A list is one pair in a cookie: most servers would use only the last of several.
        exploded = explode and isinstance(value, dict)
        given.cookies += in_query(name, value, style, exploded)


def header_text(text: str) -> str:
    """Return the text for a header: one line of Latin-1."""
    return printable_line(text).encode("latin-1", "replace").decode("latin-1")


def is_header_name(text: str) -> bool:
    """Return whether a text is a valid header name: a token of RFC 9110, section 5.6.2."""
    return _TOKEN.fullmatch(text) is not None


# Styles: how `style` and `explode` write a value into a path, a query or a header (OpenAPI 3.1, 4.8.12)


Encode = Callable[[str], str]

RESERVED = ":/?#[]@!$&'()*+,;="
_DELIMITERS = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}


def text_of(value: Any) -> str:
    """Return a single value as text, as JSON writes it, without quotes."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return "" if value is None else json.dumps(value)


def encoded(text: str) -> str:
    """Return the text percent-encoded, reserved characters included."""
    return quote(text, safe="")


def encode_allow_reserved(text: str) -> str:
    """Encode as `allowReserved` asks, except characters that would end the query or the pair."""
    return quote(text, safe="".join(mark for mark in RESERVED if mark not in "#&[]+"))


def as_is(text: str) -> str:
    """Return the text unchanged: headers are not percent-encoded."""
    return text


def in_path(name: str, value: Any, style: str, explode: bool) -> str:
    """Return a path value in the style `simple`, `label` or `matrix`, encoded."""
    if style == "label":
        return "." + _simple(value, explode, encoded, "." if explode else ",")
    if style == "matrix":
        return _matrix(name, value, explode)
    return _simple(value, explode, encoded)


def in_header(value: Any, explode: bool) -> str:
    """Return a header value in the style `simple`, the only one of headers."""
    return _simple(value, explode, as_is)


def in_query(
    name: str, value: Any, style: str, explode: bool, encode: Encode = encoded
) -> list[tuple[str, str]]:
    """Return the pairs of a query, encoded."""
    key = encoded(name)
    if isinstance(value, dict) and style == "deepObject":
        return [(f"{key}%5B{encoded(each)}%5D", encode(text_of(value[each]))) for each in value]
    if isinstance(value, dict):
        if explode and style == "form":
            return [(encoded(each), encode(text_of(value[each]))) for each in value]
        flat = [piece for each in value for piece in (each, value[each])]
        return [(key, _DELIMITERS.get(style, ",").join(encode(text_of(piece)) for piece in flat))]
    if isinstance(value, list):
        pieces = [encode(text_of(each)) for each in value]
        if explode:
            return [(key, piece) for piece in pieces]
        return [(key, _DELIMITERS.get(style, ",").join(pieces))]
    return [(key, encode(text_of(value)))]


def _simple(value: Any, explode: bool, encode: Encode, delimiter: str = ",") -> str:
    if isinstance(value, dict):
        pairs = [(encode(each), encode(text_of(value[each]))) for each in value]
        return delimiter.join(("=" if explode else delimiter).join(pair) for pair in pairs)
    if isinstance(value, list):
        return delimiter.join(encode(text_of(each)) for each in value)
    return encode(text_of(value))


def _matrix(name: str, value: Any, explode: bool) -> str:
    key = encoded(name)
    if explode and isinstance(value, dict):
        return "".join(f";{encoded(each)}={encoded(text_of(value[each]))}" for each in value)
    if explode and isinstance(value, list):
        return "".join(f";{key}={encoded(text_of(each))}" for each in value)
    return f";{key}={_simple(value, False, encoded)}"


# The body


BOUNDARY = "faultkit-boundary"
_BODILESS = frozenset({"GET", "HEAD", "DELETE", "OPTIONS", "TRACE"})
"""Methods that have a body only if the document requires one."""
_FILE_FORMATS = ("binary", "byte", "base64")


def body_of(
    request_body: object, method: str, resolver: ReferenceResolver, examples: Examples
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
    _, instead, write = _WRITERS[_rank(chosen)]
    sent_type = instead or one_line(chosen)
    return sent_type, write(media_example(media, resolver, examples), media, examples)


BodyWriter = Callable[[Any, Mapping[str, Any], Examples], str]


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
    safe = one_line(name).replace("\\", "\\\\").replace('"', "%22")
    head = f'Content-Disposition: form-data; name="{safe}"'
    if schema.get("format") in _FILE_FORMATS or "contentMediaType" in schema or "contentEncoding" in schema:
        media_type = schema.get("contentMediaType", "application/octet-stream")
        return [f'{head}; filename="example.bin"', f"Content-Type: {media_type}"]
    return [head, "Content-Type: application/json"] if isinstance(part, dict | list) else [head]


def _text(value: Any, media: Mapping[str, Any], examples: Examples) -> str:
    return text_of(value)


_WRITERS: tuple[tuple[Callable[[str], bool], str | None, BodyWriter], ...] = (
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


def _rank(content_type: str) -> int:
    """Return the row of a content type, whose parameters such as `charset` do not count."""
    name = content_type.partition(";")[0].strip().lower()
    return next(rank for rank, row in enumerate(_WRITERS) if row[0](name))
