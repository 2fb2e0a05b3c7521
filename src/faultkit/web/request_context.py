"""The context that a handler gets: the request, its sender, and the services to answer from."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar
from urllib.parse import parse_qsl

from faultkit.audit.access.access import Access
from faultkit.audit.access.identity import Identity
from faultkit.audit.access.management_rows import ManagementAction, management_row
from faultkit.audit.access.rate_limits import RateLimiter
from faultkit.audit.row import AuditEntry
from faultkit.audit.store import Store
from faultkit.audit.writer import AuditWriter
from faultkit.base.documents.jsonc import refuse_constant
from faultkit.base.errors import InputError
from faultkit.base.http.http_exchange import HttpRequest, ResponseWriter
from faultkit.mcp.failures.failure_service import FailureService, ServeSettings
from faultkit.mcp.failures.failure_tool import FailureTool
from faultkit.web.live_stream import LiveStream
from faultkit.web.metrics import Metrics
from faultkit.web.routing import HttpError

MOST_BODY_BYTES = 1 << 20
MOST_PARAMETERS = 100
DATABASE_S = 20.0
"""Time that a response waits for the database. The query itself is not cancelled."""
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AuditLog:
    """The audit log: its store and its writer."""

    store: Store
    writer: AuditWriter


@dataclass(slots=True)
class SiteServices:
    """Everything that handlers answer from, shared by all of them."""

    settings: ServeSettings
    server: FailureService
    tools: dict[str, FailureTool]
    audit: AuditLog | None
    access: Access
    metrics: Metrics
    live: LiveStream | None
    replays: RateLimiter
    """Rate limit of replays, per caller."""
    threads: Executor
    started_us: int
    sessions: Callable[[], int] = lambda: 0
    """Returns the number of open MCP sessions."""
    draining: bool = False


@dataclass(frozen=True, slots=True)
class RequestContext:
    """One authenticated request, with helpers to read it."""

    request: HttpRequest
    answer: ResponseWriter
    path_names: dict[str, str]
    """Values of the path's parts in braces, by name."""
    identity: Identity
    services: SiteServices

    def log_action(self, action: ManagementAction) -> None:
        """Add a row for an action that is not a call, if there is a log."""
        if self.services.audit is not None:
            row = management_row(action, self.identity, self.request.peer)
            self.services.audit.writer.add(AuditEntry(row), wait=False)

    @property
    def audit(self) -> AuditLog:
        """The audit log. Raises HttpError if the server runs without one."""
        if self.services.audit is None:
            raise HttpError(503, "there is no audit log: the server was started with --no-audit")
        return self.services.audit

    def query(self) -> list[tuple[str, str]]:
        """Return the parameters of the query, in order. Raises InputError."""
        query = self.request.target.partition("?")[2]
        try:
            text = query.encode("latin-1").decode("utf-8")
            found = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MOST_PARAMETERS)
        except UnicodeDecodeError:
            raise InputError("query", "expected UTF-8 in percent signs, got other bytes") from None
        except ValueError:
            raise InputError("query", f"expected at most {MOST_PARAMETERS} parameters, got more") from None
        return found

    def body(self) -> dict[str, Any]:
        """Return the JSON object in the body; an empty body counts as an empty object."""
        raw = self.request.body
        if len(raw) > MOST_BODY_BYTES:
            raise HttpError(413, f"body: expected at most {MOST_BODY_BYTES} bytes, got {len(raw)}")
        if not raw:
            return {}
        kind = self.request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HttpError(415, f'content-type: expected application/json, got "{kind[:60]}"')
        try:
            found = json.loads(raw.decode("utf-8"), parse_constant=refuse_constant)
        except (ValueError, RecursionError) as error:
            raise InputError("body", f"expected JSON: {str(error)[:100]}") from None
        if not isinstance(found, dict):
            raise InputError("body", f"expected a JSON object, got {type_name(found)}")
        return found

    async def in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a blocking database query in a thread, so that the event loop keeps serving calls."""
        loop = asyncio.get_running_loop()
        asked = loop.run_in_executor(self.services.threads, lambda: work(*args, **kwargs))
        try:
            return await asyncio.wait_for(asked, DATABASE_S)
        except TimeoutError:
            raise HttpError(503, f"the database did not answer within {DATABASE_S:g} s") from None


_TYPES = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", type(None): "null"}


def type_name(value: object) -> str:
    """Return the name of a JSON value's type, for messages."""
    return _TYPES.get(type(value), "a number")


def split_parameters(
    pairs: list[tuple[str, str]], *names: str
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return the parameters of these names, each given at most once, and the remaining pairs."""
    found: dict[str, str] = {}
    others = []
    for name, text in pairs:
        if name not in names:
            others.append((name, text))
        elif name in found:
            raise InputError(name, "expected once, got it twice")
        else:
            found[name] = text
    return found, others


def reject_parameters(pairs: list[tuple[str, str]]) -> None:
    """Raise InputError if there are any query parameters."""
    if pairs:
        raise InputError(pairs[0][0][:60], "expected no parameters here, got this one")
