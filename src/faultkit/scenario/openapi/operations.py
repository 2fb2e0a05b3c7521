"""The operations of an OpenAPI document, each as a call that can be made: URL, headers, body, status.

What is broken around a call is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from faultkit.scenario.openapi.bodies import body_of
from faultkit.scenario.openapi.example import Examples
from faultkit.scenario.openapi.parameters import UNKNOWN, Given, given_parameters, merged_parameters
from faultkit.scenario.openapi.read import Spec
from faultkit.scenario.openapi.resolve import Resolver
from faultkit.scenario.openapi.security import Credentials, credentials
from faultkit.scenario.openapi.servers import base_url, checked_base
from faultkit.scenario.openapi.styles import one_line

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")

_SEGMENT = re.compile(r"\{([^{}]*)\}")
_STATUS = re.compile(r"2(\d\d|[xX]{2})")


@dataclass(frozen=True, slots=True)
class Operation:
    operation_id: str
    """The document's, or one made of method and path; unlike all others."""
    method: str
    path: str
    """As the document has it."""
    base: str
    """The server's URL, without a slash at its end."""
    url: str
    """Absolute, with `{name}` for each of the segments."""
    segments: dict[str, str]
    """Not encoded."""
    config_headers: dict[str, str]
    """What it takes to be let in."""
    headers: dict[str, str]
    body: str | None
    status: int | None
    """The smallest 2xx status that the document promises."""
    deprecated: bool
    placeholders: dict[str, str]
    """What the user has to replace, and by what."""


@dataclass(frozen=True, slots=True)
class _Document:
    spec: Spec
    resolver: Resolver
    examples: Examples
    schemes: Any
    server: str | None


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    item: Mapping[str, Any]
    method: str
    operation: Mapping[str, Any]


def operations_of(spec: Spec, server: str | None = None) -> list[Operation]:
    """All operations in the order of the document; `server` instead of the document's own servers."""
    resolver = Resolver(spec)
    components = resolver.follow(spec.document.get("components"))
    document = _Document(
        spec,
        resolver,
        Examples(resolver),
        components.get("securitySchemes") if isinstance(components, Mapping) else None,
        None if server is None else checked_base(server, "server"),
    )
    taken: set[str] = set()
    return [
        _operation(document, entry, _fresh(_operation_id(entry), taken)) for entry in _entries(spec, resolver)
    ]


def _entries(spec: Spec, resolver: Resolver) -> Iterator[_Entry]:
    paths = resolver.follow(spec.document.get("paths"))
    for path, raw in paths.items() if isinstance(paths, Mapping) else ():
        if not path.startswith("/"):  # An extension, such as x-internal.
            continue
        item = _path_item(raw, resolver)
        for method in METHODS:
            operation = item.get(method)
            if isinstance(operation, Mapping):
                yield _Entry(path, item, method, operation)


def _path_item(raw: Any, resolver: Resolver) -> Mapping[str, Any]:
    """What stands beside the `$ref` of a path goes along with it, in 3.0 as well."""
    item = resolver.follow(raw)
    if not isinstance(item, Mapping):
        return {}
    return {**item, **{key: each for key, each in raw.items() if key != "$ref"}}


def _operation(document: _Document, entry: _Entry, operation_id: str) -> Operation:
    resolver, examples, root = document.resolver, document.examples, document.spec.document
    item, operation, method = entry.item, entry.operation, entry.method.upper()
    servers = (level.get("servers") for level in (operation, item, root))
    base = document.server or base_url(document.spec.source, *servers)
    parameters = merged_parameters(resolver, item.get("parameters"), operation.get("parameters"))
    given = given_parameters(parameters, resolver, examples)
    access = credentials(operation.get("security", root.get("security")), document.schemes, resolver)
    body = body_of(operation.get("requestBody"), method, resolver, examples)
    config_headers, headers = _headers(given, access, body)
    url, segments = _url(base, entry.path, given, access)
    return Operation(
        operation_id,
        method,
        entry.path,
        base,
        url,
        segments,
        config_headers,
        headers,
        None if body is None else body[1],
        _status(operation.get("responses"), resolver),
        operation.get("deprecated") is True,
        access.placeholders,
    )


def _headers(
    given: Given, access: Credentials, body: tuple[str, str] | None
) -> tuple[dict[str, str], dict[str, str]]:
    """Those of the scenario and those of the call. A call's win, so all cookies stand in one place."""
    config, own = dict(access.headers), dict(given.headers)
    if body is not None:
        own = {"Content-Type": body[0], **own}
    cookies = "; ".join(f"{name}={value}" for name, value in (*access.cookies, *given.cookies))
    if cookies:
        (config if access.cookies else own)["Cookie"] = cookies
    names = {name.lower() for name in config}
    return config, {name: value for name, value in own.items() if name.lower() not in names}


def _url(base: str, path: str, given: Given, access: Credentials) -> tuple[str, dict[str, str]]:
    segments: dict[str, str] = {}

    def fill(match: re.Match[str]) -> str:
        name = match[1]
        if name in given.inlined:
            return given.inlined[name]
        segments[name] = given.segments.get(name, UNKNOWN)
        return f"{{{name}}}"

    # A fragment never reaches a server; some documents use one to tell operations apart.
    template = path.partition("#")[0]
    names = [match[0] for match in _SEGMENT.finditer(template)]
    texts = [quote(text, safe="/?:@!$&'()*+,;=~%") for text in _split(template, names)]
    filled = [_SEGMENT.sub(fill, name) for name in names]
    url = base + "".join(text + name for text, name in zip(texts, [*filled, ""], strict=True))
    pairs = "&".join(f"{name}={value}" for name, value in (*given.query, *access.query))
    mark = "&" if "?" in template else "?"
    return f"{url}{mark}{pairs}" if pairs else url, segments


def _split(text: str, names: list[str]) -> list[str]:
    """What stands between the names."""
    pieces = []
    for name in names:
        before, _, text = text.partition(name)
        pieces.append(before)
    return [*pieces, text]


def _status(responses: object, resolver: Resolver) -> int | None:
    declared = resolver.follow(responses)
    statuses = [
        int(code.upper().replace("X", "0"))
        for code in (declared if isinstance(declared, Mapping) else ())
        if _STATUS.fullmatch(code)
    ]
    return min(statuses, default=None)


def _operation_id(entry: _Entry) -> str:
    given = entry.operation.get("operationId")
    if isinstance(given, str) and one_line(given):
        return one_line(given)
    words = re.sub(r"[^A-Za-z0-9]+", "_", entry.path).strip("_")
    return f"{entry.method}_{words}" if words else entry.method


def _fresh(name: str, taken: set[str]) -> str:
    fresh, number = name, 1
    while fresh in taken:
        number += 1
        fresh = f"{name}_{number}"
    taken.add(fresh)
    return fresh
