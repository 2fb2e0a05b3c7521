"""The headers that a provider gets from a client library, and those that are none of its business. Pure."""

from __future__ import annotations

from typing import Any

OURS = {
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "host",
    "x-stainless-raw-response",  # The library looks at it when the answer comes.
}
"""The headers that a provider other than OpenAI gets. The library adds more from variables meant for OpenAI:
an organization, a project, headers of the user's own."""


def keep_ours(request: Any) -> None:
    for name in [name for name in request.headers if name.lower() not in OURS]:
        del request.headers[name]
