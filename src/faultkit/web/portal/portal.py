"""Serves the files of the page, from wherever the package is installed. It knows nothing of what they do.

The page may load what is served here, and nothing else: no script stands in it, and none can be put into it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

from faultkit.base.http.server import Answer, Headers, Request

PREFIX = "/portal"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        # What a caller sent is on the page as well: markup cannot be made of texts, not even by mistake.
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_ALWAYS: Headers = [
    # Asked for each time, and sent if it has changed: a new version of the server has a new page at once.
    ("cache-control", "no-cache"),
    ("content-security-policy", _POLICY),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
]


@dataclass(frozen=True, slots=True)
class File:
    type: str
    body: bytes
    etag: str


def serve(request: Request, answer: Answer) -> int:
    """Anybody may have the page: what it shows, it must ask for with a key. Returns the status."""
    if request.method not in ("GET", "HEAD"):
        answer.whole(405, [("allow", "GET, HEAD"), *_ALWAYS])
        return 405
    file = page_files().get(request.path.removeprefix(PREFIX).lstrip("/") or "index.html")
    if file is None:
        answer.whole(404, [("content-type", "text/plain; charset=utf-8"), *_ALWAYS], b"there is no such file")
        return 404
    headers = [*_ALWAYS, ("etag", file.etag)]
    if file.etag in request.headers.get("if-none-match", ""):
        answer.bodiless(304, headers)
        return 304
    headers.append(("content-type", file.type))
    if request.method == "HEAD":
        answer.bodiless(200, [*headers, ("content-length", str(len(file.body)))])
    else:
        answer.whole(200, headers, file.body)
    return 200


@cache
def page_files() -> dict[str, File]:
    """By path below the prefix. They are few and small, and are read once."""
    return dict(_below(files(__package__) / "page", ""))


def _below(folder: Traversable, path: str) -> list[tuple[str, File]]:
    found: list[tuple[str, File]] = []
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        if each.is_dir():
            found += _below(each, f"{path}{each.name}/")
        elif (type := _TYPES.get(each.name[each.name.rfind(".") :])) is not None:
            body = each.read_bytes()
            found.append((path + each.name, File(type, body, f'"{sha256(body).hexdigest()[:16]}"')))
    return found
