"""What an HTTP request gets. Values only; and the errors that become one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from faultkit.base.http.server import Headers

SAFETY: Headers = [
    ("cache-control", "no-store"),
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
]
"""With every answer: nothing of what is told here may be kept, framed, or taken for a page."""
JSON_TYPE = "application/json; charset=utf-8"
TEXT_TYPE = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes = b""
    type: str = ""
    headers: tuple[tuple[str, str], ...] = ()


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, text: str, **headers: str) -> None:
        super().__init__(text)
        self.reply = error_reply(status, text, tuple(headers.items()))


def json_reply(document: Any, status: int = 200) -> Reply:
    return Reply(status, json_bytes(document), JSON_TYPE)


def text_reply(text: str, status: int = 200, type: str = TEXT_TYPE) -> Reply:
    return Reply(status, text.encode(), type)


def error_reply(status: int, text: str, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    return Reply(status, json_bytes({"error": text}), JSON_TYPE, headers)


def json_bytes(document: Any) -> bytes:
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")
