"""Serves the files of the portal from the installed package.

The content security policy lets the page load only these files: inline scripts cannot run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

from faultkit.base.http.http_exchange import Headers, HttpRequest, ResponseWriter

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
        # The page shows what callers sent; trusted types keep texts from becoming markup by mistake.
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_ALWAYS: Headers = [
    # Revalidated each time, so a new version of the server has its new page at once.
    ("cache-control", "no-cache"),
    ("content-security-policy", _POLICY),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
]


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file of the page, in memory."""

    type: str
    body: bytes
    etag: str


def serve(request: HttpRequest, answer: ResponseWriter) -> int:
    """Answer a request for a file of the page, and return the status.

    The page is public: the data that it shows comes from the API, which checks access."""
    if request.method not in ("GET", "HEAD"):
        answer.respond(405, [("allow", "GET, HEAD"), *_ALWAYS])
        return 405
    file = page_files().get(request.path.removeprefix(PREFIX).lstrip("/") or "index.html")
    if file is None:
        answer.respond(404, [("content-type", "text/plain; charset=utf-8"), *_ALWAYS], b"file not found")
        return 404
    headers = [*_ALWAYS, ("etag", file.etag)]
    if file.etag in request.headers.get("if-none-match", ""):
        answer.respond_without_body(304, headers)
        return 304
    headers.append(("content-type", file.type))
    if request.method == "HEAD":
        answer.respond_without_body(200, [*headers, ("content-length", str(len(file.body)))])
    else:
        answer.respond(200, headers, file.body)
    return 200


@cache
def page_files() -> dict[str, PageFile]:
    """Return the files by path below the prefix. They are few and small, so they are read once."""
    return dict(_below(files(__package__) / "portal", ""))


def _below(folder: Traversable, path: str) -> list[tuple[str, PageFile]]:
    found: list[tuple[str, PageFile]] = []
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        if each.is_dir():
            found += _below(each, f"{path}{each.name}/")
        elif (type := _TYPES.get(each.name[each.name.rfind(".") :])) is not None:
            body = each.read_bytes()
            found.append((path + each.name, PageFile(type, body, f'"{sha256(body).hexdigest()[:16]}"')))
    return found
