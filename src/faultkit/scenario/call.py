"""The call of an item: method, URL with its segments filled in, headers, body, time-out.

Also what `config` gives to all calls of a scenario. Nothing is sent here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from faultkit.base.address import SCHEMES, parse_endpoint
from faultkit.base.documents.reading import Reading
from faultkit.base.documents.shape import joined, shown
from faultkit.base.documents.values import line, time_limit_s
from faultkit.base.errors import InputError
from faultkit.base.secrets import is_secret, mask_url
from faultkit.load.route import route_of
from faultkit.load.target import Target
from faultkit.scenario.model import Call

CONFIG_KEYS = ("http",)
HTTP_KEYS = ("headers", "paths")
PATHS_KEYS = ("segments",)
CALL_KEYS = ("method", "url", "headers", "body", "timeout", "meta")
META_KEYS = ("operation_id",)

URL = 'an absolute URL such as "http://localhost:8080/path"'
METHOD = "an HTTP method such as GET"
TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_TOKEN = re.compile(TOKEN)
_SEGMENT = re.compile(r"\{([^{}]*)\}")
_URL_CHARACTERS = re.compile(r"[!-~]+")
_HEADER_CHARACTERS = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")
_JSON_HEADER = ("content-type", "application/json")

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Config:
    headers: Headers = ()
    segments: tuple[tuple[str, str], ...] = ()


def parse_config(reading: Reading) -> Config:
    http = reading.inner("http", HTTP_KEYS)
    paths = http.inner("paths", PATHS_KEYS)
    return Config(
        http.take("headers", _headers, ()),
        tuple(paths.take("segments", _segments, {}).items()),
    )


def parse_call(reading: Reading, config: Config) -> Call:
    own = reading.take("headers", _headers, ())
    body, is_json = reading.take("body", _body, (None, False))
    headers = _merged(config.headers, own)
    if is_json and not any(name.lower() == _JSON_HEADER[0] for name, _ in headers):
        headers = (*headers, _JSON_HEADER)
    segments = dict(config.segments)
    call = Call(
        reading.need("method", _method, "GET", METHOD),
        reading.need("url", lambda value: _url(value, segments), "", URL),
        headers,
        body,
        reading.take("timeout", time_limit_s, None),
        reading.inner("meta", META_KEYS).take("operation_id", line, None),
    )
    if call.url:
        _check_sending(reading, call)
    return call


def _check_sending(reading: Reading, call: Call) -> None:
    """What can be written but not sent is better told now than in the middle of a run."""
    try:
        route_of(Target(call.method, call.url, call.headers, (call.body or "").encode()))
    except InputError as error:
        reading.problems.append(error.within(reading.path))


def _method(value: object) -> str:
    if not isinstance(value, str) or not _TOKEN.fullmatch(value):
        raise InputError("", f"expected {METHOD}, got {shown(value)}")
    if value.upper() == "CONNECT":
        raise InputError("", 'expected a method with an answer of its own, got "CONNECT"')
    return value.upper()


def _url(value: object, segments: Mapping[str, str]) -> str:
    if not isinstance(value, str):
        raise InputError("", f"expected {URL}, got {shown(value)}")
    url = _filled(value.strip(), segments)
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise InputError("", f"expected {URL}, got {shown(value)}: {str(error).lower()}") from None
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InputError("", f"expected {URL}, got {shown(value)}")
    if not _URL_CHARACTERS.fullmatch(url):
        raise InputError("", f"expected an URL with other characters percent-encoded, got {shown(value)}")
    for mark, part, what in (("@", parts.netloc, "a user"), ("#", url, "a fragment")):
        if mark in part:
            raise InputError("", f"expected an URL without {what}, got {shown(mask_url(value))}")
    if parts.netloc.startswith(":"):
        raise InputError("", f"expected an URL with a host, got {shown(value)}")
    parse_endpoint(parts.netloc, SCHEMES[parts.scheme].port, path="")
    return url


def _filled(url: str, segments: Mapping[str, str]) -> str:
    for name in _SEGMENT.findall(url):
        if name not in segments:
            raise InputError(
                "", f'expected a value for "{{{name}}}" in config.http.paths.segments, got nothing'
            )
    filled = _SEGMENT.sub(lambda found: quote(segments[found[1]], safe=""), url)
    if "{" in filled or "}" in filled:
        raise InputError("", f"expected braces around the names of segments only, got {shown(url)}")
    return filled


def _segments(value: object) -> dict[str, str]:
    return dict(_texts(value, "names of segments to texts"))


def _headers(value: object) -> Headers:
    headers = _texts(value, "header names to texts", may_be_empty=True)
    names: set[str] = set()
    for name, content in headers:
        if not _TOKEN.fullmatch(name):
            raise InputError("", f"expected a header name, got {shown(name)}")
        if not _HEADER_CHARACTERS.fullmatch(content):
            came = "something else" if is_secret(name) else shown(content)
            raise InputError(name, f"expected a text on one line with characters of Latin-1, got {came}")
        if name.lower() in names:
            raise InputError(name, "expected each name once, got it again in other letters")
        names.add(name.lower())
    return headers


def _texts(value: object, what: str, *, may_be_empty: bool = False) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, Mapping):
        raise InputError("", f"expected a mapping of {what}, got {shown(value)}")
    for name, content in value.items():
        if not isinstance(name, str):
            raise InputError("", f"expected a mapping of {what}, got the key {shown(name)}")
        if not isinstance(content, str):
            raise InputError(joined("", name), f"expected a text in quotes, got {shown(content)}")
        if not content and not may_be_empty:
            raise InputError(joined("", name), 'expected a text that is not empty, got ""')
    return tuple(value.items())


def _merged(common: Headers, own: Headers) -> Headers:
    names = {name.lower() for name, _ in own}
    return (*(pair for pair in common if pair[0].lower() not in names), *own)


def _body(value: object) -> tuple[str | None, bool]:
    """The body, and whether it was made JSON here."""
    if isinstance(value, str):
        return value, False
    if not isinstance(value, Mapping | list):
        raise InputError("", f"expected a text, or a mapping or a list to send as JSON, got {shown(value)}")
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_not_json), True
    except ValueError:
        raise InputError("", "expected values that JSON has, got a number without an end") from None
    except TypeError:
        raise InputError("", "expected texts as the keys of JSON, got others") from None


def _not_json(value: object) -> object:
    raise InputError("", f"expected values that JSON has, got {shown(value)} (text needs quotes)")
