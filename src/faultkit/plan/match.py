"""Match: which proxies, requests or calls a rule covers. It knows no fault.

Proxy names, paths and header values are globs (`*`, `?`, `[abc]`), matched whole and with case.
Header names and HTTP methods are compared without case. A status is one number, or all of a class (`5xx`).

A path glob is matched with the path of the request target: without the query, because `?` is a wildcard in a
glob, and without the scheme and host of a proxy request, because the proxy's name stands for them.

For calls, the server, the tool, the resource, the prompt and the method are globs. The subject implies the
method: `tools/call` for a tool, `resources/read` for a resource, `prompts/get` for a prompt.

For the messages of WebSocket connections, `flow` and `message` are compared beside what covers the request.

For requests to models, the model is a glob; `streamed` and `tool_use` are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias, get_args

from faultkit.base.documents.checks import shown

# Users name a side (a socket of the proxy) and a direction (read from it or written to it). The relay knows
# only flows: `_FLOWS` translates.
Flow: TypeAlias = Literal["to_upstream", "to_client"]

MessageKind: TypeAlias = Literal["text", "binary"]
"""What a WebSocket message has in it."""

Side: TypeAlias = Literal["client", "server"]
"""Which socket: the one to the client, or the one to the upstream server."""

Direction: TypeAlias = Literal["ingress", "egress", "both"]
"""Bytes that the proxy reads from that socket, bytes that it writes to it, or both."""

_FLOWS: dict[tuple[Side, Direction], tuple[Flow, ...]] = {
    ("server", "ingress"): ("to_client",),
    ("server", "egress"): ("to_upstream",),
    ("server", "both"): ("to_upstream", "to_client"),
    ("client", "ingress"): ("to_upstream",),
    ("client", "egress"): ("to_client",),
    ("client", "both"): ("to_upstream", "to_client"),
}

_SET = re.compile(r"\[!?+\]?+[^\]]*\]")
_GLOB_CHARACTER = re.compile(r"[*?\[]")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_STATUS = re.compile(r"[2-5](?:[0-9][0-9]|xx)")
_CALL_METHOD = re.compile(r"[\w$*?.\[\]!-]+(/[\w$*?.\[\]!-]+)*", re.ASCII)
_ABOUT: dict[str, tuple[str, ...]] = {
    "tool": ("tools/call",),
    "resource": ("resources/read", "resources/subscribe", "resources/unsubscribe", "completion/complete"),
    "prompt": ("prompts/get", "completion/complete"),
}
"""The methods whose calls name such a subject."""
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://[^/?#]*")

SUBJECTS: dict[str, str] = {"tool": "tools/call", "resource": "resources/read", "prompt": "prompts/get"}
"""The subjects of calls, and the method that a match on each implies."""


@dataclass(frozen=True, slots=True)
class Match:
    """The conditions of a rule. A condition that is None covers everything."""

    proxy: str = "*"
    side: Side = "server"
    direction: Direction = "ingress"
    method: str | tuple[str, ...] | None = None
    path: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    """Pairs of a name and a glob. Each must be met; one of several values of a name is enough."""
    status: tuple[str, ...] = ()
    """Statuses of the upstream's answer, such as `503` or `2xx`; one of them is enough."""
    flow: Flow | None = None
    """Which way a WebSocket message goes; None for both."""
    message: MessageKind | None = None
    server: str | None = None
    tool: str | None = None
    resource: str | None = None
    prompt: str | None = None
    model: str | None = None
    streamed: bool | None = None
    tool_use: bool | None = None
    """Whether a request to a model offers tools or brings results of some."""

    def __post_init__(self) -> None:
        if not self.proxy:
            raise ValueError('proxy: expected a name or a glob, got ""')
        for name, value, choices in (
            ("side", self.side, get_args(Side)),
            ("direction", self.direction, get_args(Direction)),
            ("flow", self.flow, (None, *get_args(Flow))),
            ("message", self.message, (None, *get_args(MessageKind))),
        ):
            if value not in choices:
                raise ValueError(
                    f"{name}: expected one of {', '.join(filter(None, choices))}, got {shown(value)}"
                )
        if self.method is not None and not self.methods:
            raise ValueError("method: expected at least one method, got none")
        for method in self.methods:
            if not _TOKEN.fullmatch(method) and not _CALL_METHOD.fullmatch(method):
                raise ValueError(f"method: expected a method such as GET or tools/call, got {shown(method)}")
        if self.path == "":
            raise ValueError('path: expected a glob such as "/api/*", got ""')
        for name in ("server", "model", *SUBJECTS):
            if getattr(self, name) == "":
                raise ValueError(f'{name}: expected a name or a glob, got ""')
        if self.model is not None and not _is_closed(self.model):
            raise ValueError(f"model: expected a ] behind each [ of a glob, got {shown(self.model)}")
        about = [name for name in SUBJECTS if getattr(self, name) is not None]
        if len(about) > 1:
            raise ValueError(f"{about[1]}: expected at most one of {', '.join(SUBJECTS)}, got {about[0]} too")
        if (
            about
            and self.method is not None
            and not any(fnmatchcase(method, glob) for method in _ABOUT[about[0]] for glob in self.methods)
        ):
            raise ValueError(
                f"method: expected {' or '.join(_ABOUT[about[0]])} beside {about[0]}, got {self.methods[0]}"
            )
        for status in self.status:
            if not _STATUS.fullmatch(status):
                raise ValueError(f"status: expected a status such as 503 or 2xx, got {shown(status)}")
        names: set[str] = set()
        for header, _ in self.headers:
            if not _TOKEN.fullmatch(header):
                raise ValueError(f"headers: expected a header name, got {shown(header)}")
            if header.lower() in names:
                raise ValueError(f"headers: expected each name once, got {shown(header)} again")
            names.add(header.lower())

    @classmethod
    def only(cls, proxy_name: str, side: Side = "server", direction: Direction = "ingress") -> Match:
        """Return a match of exactly the proxy of this name, whatever characters the name has."""
        return cls(escape_glob(proxy_name), side, direction)

    @property
    def flows(self) -> tuple[Flow, ...]:
        """The flows through the proxy that its side and direction mean."""
        return flows(self.side, self.direction)

    @property
    def methods(self) -> tuple[str, ...]:
        if self.method is None:
            return ()
        return (self.method,) if isinstance(self.method, str) else self.method

    @property
    def subject(self) -> str | None:
        """The subject that a call must have: `tool`, `resource`, `prompt`, or None for any."""
        return next((name for name in SUBJECTS if getattr(self, name) is not None), None)

    def call_methods(self, usual: tuple[str, ...]) -> tuple[str, ...]:
        """Return globs of the methods that it covers; `usual` if the match names none."""
        if self.method is not None:
            return self.methods
        return usual if self.subject is None else (SUBJECTS[self.subject],)

    @property
    def needs_http(self) -> bool:
        """True if it has conditions on requests, which can be met only where HTTP is understood."""
        return self.method is not None or self.path is not None or bool(self.headers)

    def covers_proxy(self, name: str) -> bool:
        """Return whether it covers the proxy of this name."""
        return fnmatchcase(name, self.proxy)

    @property
    def covers_any_request(self) -> bool:
        """Whether `covers_request` is true for all requests."""
        return self.method is None and self.path is None and not self.headers

    def covers_request(self, method: str, target: str, headers: Iterable[tuple[str, str]]) -> bool:
        """Return whether it covers a request; `target` is the request target, with its query."""
        if self.method is not None and method.upper() not in {m.upper() for m in self.methods}:
            return False
        if self.path is not None and not fnmatchcase(path_of(target), self.path):
            return False
        if not self.headers:
            return True
        given = [(name.lower(), value) for name, value in headers]
        return all(
            any(name == wanted.lower() and fnmatchcase(value, glob) for name, value in given)
            for wanted, glob in self.headers
        )

    def covers_status(self, status: int) -> bool:
        """Return whether it covers an answer with this status."""
        text = str(status)
        return not self.status or text in self.status or f"{text[0]}xx" in self.status

    def covers_message(self, flow: Flow, kind: MessageKind | None) -> bool:
        """Return whether it covers a WebSocket message; `kind` is None for a ping or pong."""
        return self.flow in (None, flow) and self.message in (None, kind)

    def covers_model(self, model: str, *, streamed: bool, tool_use: bool) -> bool:
        """Return whether it covers a request to a model, beyond what `covers_request` says of it."""
        return (
            (self.model is None or fnmatchcase(model, self.model))
            and self.streamed in (None, streamed)
            and self.tool_use in (None, tool_use)
        )

    def covers_call(self, server: str, method: str, name: str, usual: tuple[str, ...]) -> bool:
        """Return whether it covers a call; `name` is that of the tool, resource or prompt."""
        if self.server is not None and not fnmatchcase(server, self.server):
            return False
        if self.subject is not None and not fnmatchcase(name, getattr(self, self.subject)):
            return False
        return any(fnmatchcase(method, glob) for glob in self.call_methods(usual))


def _is_closed(glob: str) -> bool:
    """Return whether each set of characters in a glob has an end; fnmatch takes one without for a text."""
    return "[" not in _SET.sub("", glob)


def escape_glob(text: str) -> str:
    """Return the glob that matches `text` and nothing else."""
    return _GLOB_CHARACTER.sub(r"[\g<0>]", text)


def is_http_method(method: str) -> bool:
    """Return whether a text is an HTTP method: a token of RFC 9110 section 5.6.2."""
    return _TOKEN.fullmatch(method) is not None


def path_of(target: str) -> str:
    """Return the path of a request target (RFC 9112 §3.2); `*` and `host:port` are returned unchanged."""
    absolute = _ABSOLUTE.match(target)
    rest = target[absolute.end() :] if absolute else target
    path = rest.partition("?")[0].partition("#")[0]
    return path or "/"


def flows(side: Side, direction: Direction) -> tuple[Flow, ...]:
    """Return the flows that a side and a direction mean; for `both`, the request's flow comes first."""
    return _FLOWS[side, direction]
