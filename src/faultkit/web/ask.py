"""What a handler is given: the request, who sent it, and all that it may use to answer."""

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
from faultkit.audit.access.rates import Buckets
from faultkit.audit.store import Store
from faultkit.audit.writer import Writer
from faultkit.base.errors import InputError
from faultkit.base.http.server import Answer, Request
from faultkit.mcp.failures.service import FailureServer, ServeSettings
from faultkit.mcp.failures.tool import FailureTool
from faultkit.web.live import Live
from faultkit.web.metrics import Metrics
from faultkit.web.reply import Refused

MOST_BODY_BYTES = 1 << 20
MOST_PARAMETERS = 100
DATABASE_S = 20.0
"""How long an answer may wait for the database. What it was asked goes on behind it."""
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Audit:
    """The log, where there is one."""

    store: Store
    writer: Writer


@dataclass(slots=True)
class Parts:
    """What handlers answer from. One for all of them."""

    settings: ServeSettings
    server: FailureServer
    tools: dict[str, FailureTool]
    audit: Audit | None
    access: Access
    metrics: Metrics
    live: Live | None
    replays: Buckets
    """How often somebody may have a call made again."""
    threads: Executor
    started_us: int
    sessions: Callable[[], int] = lambda: 0
    """Of MCP clients, how many there are just now."""
    draining: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    request: Request
    answer: Answer
    names: dict[str, str]
    """What stands in the path for the parts in braces."""
    by: Identity
    parts: Parts

    @property
    def audit(self) -> Audit:
        if self.parts.audit is None:
            raise Refused(503, "there is no audit log: the server was started with --no-audit")
        return self.parts.audit

    def pairs(self) -> list[tuple[str, str]]:
        """The parameters of the query."""
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
        """An object; an empty body is an empty one."""
        raw = self.request.body
        if len(raw) > MOST_BODY_BYTES:
            raise Refused(413, f"body: expected at most {MOST_BODY_BYTES} bytes, got {len(raw)}")
        if not raw:
            return {}
        kind = self.request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refused(415, f'content-type: expected application/json, got "{kind[:60]}"')
        try:
            found = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise InputError("body", f"expected JSON, got something else: {str(error)[:100]}") from None
        if not isinstance(found, dict):
            raise InputError("body", f"expected a JSON object, got {type_name(found)}")
        return found

    async def database(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Away from the loop, which serves calls meanwhile."""
        loop = asyncio.get_running_loop()
        asked = loop.run_in_executor(self.parts.threads, lambda: work(*args, **kwargs))
        try:
            return await asyncio.wait_for(asked, DATABASE_S)
        except TimeoutError:
            raise Refused(503, f"the database did not answer within {DATABASE_S:g} s") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


_TYPES = {dict: "an object", list: "a list", str: "a text", bool: "a truth", type(None): "null"}


def type_name(value: object) -> str:
    return _TYPES.get(type(value), "a number")


def taken(pairs: list[tuple[str, str]], *names: str) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """The parameters of these names, each of which may be given once; and the others."""
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


def nothing_else(pairs: list[tuple[str, str]]) -> None:
    if pairs:
        raise InputError(pairs[0][0][:60], "expected no parameters here, got this one")
