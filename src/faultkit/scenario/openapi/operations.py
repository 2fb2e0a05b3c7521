"""The operations of an OpenAPI document, each as a call that can be made: URL, headers, body, status. Pure.

The URL begins with a server of the document, whose variables are filled in. Credentials are placeholders for
the user to replace, never values that look like a secret. Faults are added by
`faultkit.scenario.openapi.scenario_generator`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from faultkit.base.address import SCHEMES, parse_endpoint
from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError
from faultkit.base.text import printable_line
from faultkit.scenario.http_call import PLACEHOLDER
from faultkit.scenario.openapi.openapi_document import DocumentSource, OpenApiDocument, ReferenceResolver
from faultkit.scenario.openapi.request_example import Examples
from faultkit.scenario.openapi.request_parts import (
    UNKNOWN_SEGMENT,
    RequestParameters,
    body_of,
    encoded,
    header_text,
    is_header_name,
    merged_parameters,
    request_parameters,
)

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")

_SEGMENT = re.compile(r"\{([^{}]*)\}")
_STATUS = re.compile(r"2(\d\d|[xX]{2})")


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation as a request that can be sent."""

    operation_id: str
    """The operationId of the document, or one made of method and path; unique."""
    method: str
    path: str
    """The path in the document."""
    base: str
    """The URL of the server, without a closing slash."""
    url: str
    """The absolute URL, with `{name}` for each segment."""
    segments: dict[str, str]
    """The values of the segments, not encoded."""
    config_headers: dict[str, str]
    """Headers with credentials."""
    headers: dict[str, str]
    body: str | None
    status: int | None
    """The smallest 2xx status that the document promises."""
    deprecated: bool
    placeholders: dict[str, str]
    """Placeholders that the user has to replace, each with a description of its replacement."""


@dataclass(frozen=True, slots=True)
class _Document:
    spec: OpenApiDocument
    resolver: ReferenceResolver
    examples: Examples
    schemes: Any
    server: str | None


@dataclass(frozen=True, slots=True)
class _DocumentedOperation:
    path: str
    item: Mapping[str, Any]
    method: str
    operation: Mapping[str, Any]


def operations_of(spec: OpenApiDocument, server: str | None = None) -> list[Operation]:
    """Return all operations in the order of the document. `server` takes the place of its servers."""
    resolver = ReferenceResolver(spec)
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
        _operation(document, entry, _unique(_operation_id(entry), taken))
        for entry in _entries(spec, resolver)
    ]


def _entries(spec: OpenApiDocument, resolver: ReferenceResolver) -> Iterator[_DocumentedOperation]:
    paths = resolver.follow(spec.document.get("paths"))
    for path, raw in paths.items() if isinstance(paths, Mapping) else ():
        if not path.startswith("/"):  # An extension, such as x-internal.
            continue
        item = _path_item(raw, resolver)
        for method in METHODS:
            operation = item.get(method)
            if isinstance(operation, Mapping):
                yield _DocumentedOperation(path, item, method, operation)


def _path_item(raw: Any, resolver: ReferenceResolver) -> Mapping[str, Any]:
    """Return a path item with the keys beside its `$ref`, which count in 3.0 too."""
    item = resolver.follow(raw)
    if not isinstance(item, Mapping):
        return {}
    return {**item, **{key: each for key, each in raw.items() if key != "$ref"}}


def _operation(document: _Document, entry: _DocumentedOperation, operation_id: str) -> Operation:
    resolver, examples, root = document.resolver, document.examples, document.spec.document
    item, operation, method = entry.item, entry.operation, entry.method.upper()
    servers = (level.get("servers") for level in (operation, item, root))
    base = document.server or base_url(document.spec.source, *servers)
    parameters = merged_parameters(resolver, item.get("parameters"), operation.get("parameters"))
    given = request_parameters(parameters, resolver, examples)
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
    given: RequestParameters, access: Credentials, body: tuple[str, str] | None
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the headers of the scenario and of the call. A call's win, so all cookies are in one place."""
    config, own = dict(access.headers), dict(given.headers)
    if body is not None:
        own = {"Content-Type": body[0], **own}
    cookies = "; ".join(f"{name}={value}" for name, value in (*access.cookies, *given.cookies))
    if cookies:
        (config if access.cookies else own)["Cookie"] = cookies
    names = {name.lower() for name in config}
    return config, {name: value for name, value in own.items() if name.lower() not in names}


def _url(base: str, path: str, given: RequestParameters, access: Credentials) -> tuple[str, dict[str, str]]:
    segments: dict[str, str] = {}

    def fill(match: re.Match[str]) -> str:
        name = match[1]
        if name in given.inlined:
            return given.inlined[name]
        segments[name] = given.segments.get(name, UNKNOWN_SEGMENT)
        return f"{{{name}}}"

    # A fragment never reaches a server; some documents use one to tell operations apart.
    template = path.partition("#")[0]
    names = [match[0] for match in _SEGMENT.finditer(template)]
    texts = [quote(text, safe="/?:@!$&'()*+,;=~%") for text in _texts_between(template, names)]
    filled = [_SEGMENT.sub(fill, name) for name in names]
    url = base + "".join(text + name for text, name in zip(texts, [*filled, ""], strict=True))
    pairs = "&".join(f"{name}={value}" for name, value in (*given.query, *access.query))
    mark = "&" if "?" in template else "?"
    return f"{url}{mark}{pairs}" if pairs else url, segments


def _texts_between(text: str, names: list[str]) -> list[str]:
    """Return the text between the names."""
    pieces = []
    for name in names:
        before, _, text = text.partition(name)
        pieces.append(before)
    return [*pieces, text]


def _status(responses: object, resolver: ReferenceResolver) -> int | None:
    declared = resolver.follow(responses)
    statuses = [
        int(code.upper().replace("X", "0"))
        for code in (declared if isinstance(declared, Mapping) else ())
        if _STATUS.fullmatch(code)
    ]
    return min(statuses, default=None)


def _operation_id(entry: _DocumentedOperation) -> str:
    given = entry.operation.get("operationId")
    if isinstance(given, str) and printable_line(given):
        return printable_line(given)
    words = re.sub(r"[^A-Za-z0-9]+", "_", entry.path).strip("_")
    return f"{entry.method}_{words}" if words else entry.method


def _unique(name: str, taken: set[str]) -> str:
    fresh, number = name, 1
    while fresh in taken:
        number += 1
        fresh = f"{name}_{number}"
    taken.add(fresh)
    return fresh


# Credentials


_SCHEMES = {"bearer": "Bearer", "basic": "Basic", "digest": "Digest"}


@dataclass(slots=True)
class Credentials:
    """Placeholders of credentials, by where a request carries them."""

    headers: dict[str, str] = field(default_factory=dict)
    query: list[tuple[str, str]] = field(default_factory=list)
    cookies: list[tuple[str, str]] = field(default_factory=list)
    placeholders: dict[str, str] = field(default_factory=dict)
    """Each placeholder, and a description of its replacement."""


def credentials(requirements: object, schemes: object, resolver: ReferenceResolver) -> Credentials:
    """Return the credentials of the first security requirement; none if one of them is empty."""
    found = Credentials()
    ways = [way for way in requirements if isinstance(way, Mapping)] if isinstance(requirements, list) else []
    if not ways or any(not way for way in ways):
        return found
    for name in ways[0]:
        scheme = resolver.follow(schemes.get(name)) if isinstance(schemes, Mapping) else None
        if isinstance(scheme, Mapping):
            _add(found, str(name), scheme)
    return found


def _add(found: Credentials, name: str, scheme: Mapping[str, Any]) -> None:
    placeholder = f"{PLACEHOLDER}_{re.sub(r'[^A-Za-z0-9_]+', '_', name).strip('_') or 'TOKEN'}"
    kind, key, place = scheme.get("type"), scheme.get("name"), scheme.get("in")
    if kind == "apiKey" and isinstance(key, str) and key:
        found.placeholders[placeholder] = printable_line(f"the key for {key} ({place})")
        if place == "query":
            found.query.append((encoded(key), placeholder))
        elif place == "cookie":
            found.cookies.append((encoded(key), placeholder))
        elif is_header_name(key):
            found.headers[key] = placeholder
    elif kind == "http":
        word = str(scheme.get("scheme", "bearer")).strip()
        prefix = _SCHEMES.get(word.lower(), header_text(word))
        found.headers["Authorization"] = f"{prefix} {placeholder}"
        what = "user:password in base64" if prefix == "Basic" else "the token"
        found.placeholders[placeholder] = f"{what} after Authorization: {prefix}"
    elif kind in ("oauth2", "openIdConnect"):
        found.headers["Authorization"] = f"Bearer {placeholder}"
        found.placeholders[placeholder] = "an access token"


# Servers


DEFAULT_SERVER = "http://localhost"
"""The server of a document that names none and was read from a file."""
_VARIABLE = re.compile(r"\{([^{}]*)\}")


def base_url(source: DocumentSource, *levels: object) -> str:
    """Return the first http(s) server of the innermost level that has any, without a closing slash.

    Levels go from the operation outward. A relative URL is resolved against the URL of the document, or
    against `http://localhost` if the document is a file."""
    for servers in levels:
        found = servers if isinstance(servers, list) else []
        urls = [_fill_variables(server, source) for server in found if isinstance(server, Mapping)]
        usable = [url for url in (_absolute_url(url, source) for url in urls) if url is not None]
        if usable:
            return usable[0]
    home = source.location if source.is_url else DEFAULT_SERVER
    parts = urlsplit(home)
    return _clean_url(f"{parts.scheme}://{parts.netloc}", source)


def checked_base(url: str, path: str) -> str:
    """Return the base URL that the user gave. Raises InputError if it is not an http or https URL."""
    try:
        parts = urlsplit(url.strip())
        fits = parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment)
    except ValueError:
        fits = False
    if not fits:
        raise InputError(
            path, f"expected an http or https URL such as {DEFAULT_SERVER}:8080, got {shown(url)}"
        )
    return _clean_url(url.strip(), DocumentSource(path))


def origin(base: str) -> str:
    """Return the scheme, host and port of a base URL."""
    parts = urlsplit(base)
    return f"{parts.scheme}://{parts.netloc}"


def _fill_variables(server: Mapping[str, Any], source: DocumentSource) -> str:
    url = server.get("url")
    if not isinstance(url, str):
        raise InputError(source.shown, f"servers: expected a url, got {shown(url)}")
    variables = server.get("variables")
    variables = variables if isinstance(variables, Mapping) else {}

    def value_of(match: re.Match[str]) -> str:
        variable = variables.get(match[1])
        variable = variable if isinstance(variable, Mapping) else {}
        choices = variable.get("enum")
        value = variable.get("default", choices[0] if isinstance(choices, list) and choices else None)
        if value is None:
            name = shown(match[1])
            raise InputError(source.shown, f"servers: the variable {name} of {shown(url)} has no default")
        return str(value)

    return _VARIABLE.sub(value_of, url.strip())


def _absolute_url(url: str, source: DocumentSource) -> str | None:
    """Return the URL of a server; None for other protocols than HTTP."""
    try:
        joined = urljoin(source.location if source.is_url else f"{DEFAULT_SERVER}/", url)
        parts = urlsplit(joined)
    except ValueError:
        raise InputError(source.shown, f"expected a server's URL, got {shown(url)}") from None
    return _clean_url(joined, source) if parts.scheme in ("http", "https") and parts.hostname else None


def _clean_url(url: str, source: DocumentSource) -> str:
    """Return the URL without user, query and closing slash. Raises InputError without a valid host."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        parse_endpoint(host, SCHEMES[parts.scheme].port)
    except (ValueError, InputError):
        raise InputError(source.shown, f"expected a server's URL, got {shown(url)}") from None
    path = quote(parts.path, safe="/:@!$&'()*+,;=~%").rstrip("/")
    return urlunsplit((parts.scheme, host, path, "", ""))
