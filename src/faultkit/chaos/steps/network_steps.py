"""Steps over the network: `http`, `tcp`, `promql` and `mcp`. For each: its keys, its work, and its builder.

An `http` check returns the response; as an action, a status of 400 or more is a failure. `tcp` returns
whether a port is open; a refused connection is a valid answer. `promql` asks the HTTP API of Prometheus or a
compatible server. `mcp` calls a tool over stdio or streamable HTTP.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import urlencode, urlsplit

from faultkit.base.address import Endpoint, parse_endpoint
from faultkit.base.documents.checks import shown
from faultkit.base.documents.key_tables import Key, KeyTable
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import SWITCH_SCHEMA, TEXT_SCHEMA, switch, text
from faultkit.base.errors import FaultkitError, InputError
from faultkit.base.http.http_client import ConnectionLost, HttpClient
from faultkit.chaos.safety.chaos_limits import Limits
from faultkit.chaos.safety.undo import Undo
from faultkit.chaos.steps.function_steps import read_arguments
from faultkit.chaos.steps.process_steps import ARGV_SCHEMA, read_argv
from faultkit.chaos.steps.step_work import (
    ANY_MAPPING_SCHEMA,
    TEXTS_SCHEMA,
    USUAL_STEP_LIMIT_S,
    StepContext,
    StepFailed,
    json_text,
    read_texts,
    system_message,
)
from faultkit.mcp.mcp_client import McpClient, ServerAddress

_MOST_HTTP_BYTES = 4 << 20
URL_FORM = "a URL such as http://127.0.0.1:8000/health"


def read_url(value: object) -> str:
    """Return an HTTP address. Raises InputError for anything else."""
    given = text(value)
    try:
        parts = urlsplit(given)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise InputError("", f"expected {URL_FORM}, got {shown(value)}")
    return given


# --- http ------------------------------------------------------------------------------------------


METHODS = (
    *("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "SEARCH", "LINK", "UNLINK"),
    *("COPY", "MOVE", "LOCK", "UNLOCK", "MKCOL", "PROPFIND", "PROPPATCH", "REPORT", "PURGE", "BAN"),
)
"""The methods in use, of HTTP, WebDAV and caches: any other is more likely a typing mistake."""


def read_method(value: object) -> str:
    """Return a method in upper case. Raises InputError for an unknown one."""
    given = text(value).upper()
    if given not in METHODS:
        raise InputError("", f"expected a method such as GET or POST, got {shown(value)}")
    return given


HTTP = KeyTable(
    Key(
        "url", read_url, TEXT_SCHEMA, "", "The address. A text in place of the mapping is the URL.", URL_FORM
    ),
    Key("method", read_method, TEXT_SCHEMA, "GET", "The method; GET by default."),
    Key("headers", read_texts, TEXTS_SCHEMA, {}, "Headers by name."),
    Key("body", text, TEXT_SCHEMA, help="The body as a text."),
    Key("json", json_text, help="The body as JSON, in place of `body`; adds its content type."),
    Key("verify", switch, SWITCH_SCHEMA, True, "Whether the certificate of the server is checked."),
)


@dataclass(frozen=True, slots=True)
class HttpCall:
    """An HTTP request."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    verify: bool = True
    kind: ClassVar[str] = "http"
    usual_limit_s: ClassVar[float] = USUAL_STEP_LIMIT_S

    @property
    def says(self) -> str:
        parts = urlsplit(self.url)
        # Without query and user: they may contain a key or a password.
        return f"{self.method} {parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def resolve(self, context: StepContext) -> None:
        """Accept: whether the server answers is known only at run time."""

    def check_target(self, limits: Limits) -> None:
        """Raise InputError if the limits do not allow this host. For actions: checks may ask any host."""
        parts = urlsplit(self.url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        limits.check_target(parts.hostname or "", port, "url")

    async def perform(self, context: StepContext) -> Any:
        return await send_request(self.method, self.url, self.headers, self.body, verify=self.verify)

    async def act(self, context: StepContext) -> Any:
        response = await self.perform(context)
        if response["status"] >= 400:
            raise StepFailed(f"{self.says} answered {response['status']}")
        return response

    def undo(self, context: StepContext, limit_s: float) -> Undo:
        data = {
            "method": self.method,
            "url": self.url,
            "headers": dict(self.headers),
            "body": self.body,
            "verify": self.verify,
        }
        return Undo("http", data, self.says, limit_s)


async def send_request(
    method: str, url: str, headers: Mapping[str, str], body: str | None = None, *, verify: bool = True
) -> dict[str, Any]:
    """Send a request; return `status`, `headers`, `body` (parsed if it is JSON) and `elapsed_ms`.

    Raises StepFailed if no response came."""
    client = HttpClient(url, verify=verify)
    began = time.monotonic()
    try:
        reply = await client.request(method, list(headers.items()), (body or "").encode())
        raw = await reply.body(_MOST_HTTP_BYTES)
    except ConnectionLost as lost:
        raise StepFailed(f"{client.host}:{client.port}: {lost}") from None
    except OSError as error:
        raise StepFailed(f"{client.host}:{client.port}: {system_message(error)}") from None
    finally:
        client.close()
    elapsed_ms = round((time.monotonic() - began) * 1000, 3)
    content: Any = raw.decode("utf-8", "replace")
    if reply.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json":
        with contextlib.suppress(ValueError):
            content = json.loads(content)
    return {"status": reply.status, "headers": reply.headers, "body": content, "elapsed_ms": elapsed_ms}


def build_http(reader: MappingReader) -> HttpCall:
    """Return the work of a step `http`."""
    url, method = reader.take("url"), reader.take("method")
    headers, body = dict(reader.take("headers")), reader.take("body")
    if "json" in reader.given:
        if body is not None:
            reader.note("json", InputError("", 'expected it or "body", got both'))
        body = reader.take("json")
        headers.setdefault("content-type", "application/json")
    return HttpCall(url, method, headers, body, reader.take("verify"))


# --- tcp -------------------------------------------------------------------------------------------


ADDRESS_FORM = "an address such as 127.0.0.1:6379"
TCP_STATUSES = ("open", "refused", "unreachable")
_MOST_TCP_BYTES = 64 << 10


def read_address(value: object) -> Endpoint:
    """Return a host and a port. Raises InputError for anything else."""
    written = str(value) if isinstance(value, int) and not isinstance(value, bool) else text(value)
    try:
        return parse_endpoint(written)
    except InputError as error:
        raise InputError("", f"expected {ADDRESS_FORM}: {error.problem}") from None


TCP = KeyTable(
    Key(
        "address",
        read_address,
        {"type": ["string", "integer"]},
        Endpoint("", 0),
        "HOST:PORT, or a port of this machine. Either may stand in place of the mapping.",
        ADDRESS_FORM,
    ),
    Key("send", text, TEXT_SCHEMA, help="A text to send; the first bytes of the answer are then `reply`."),
)


@dataclass(frozen=True, slots=True)
class TcpCall:
    """A TCP connection."""

    address: Endpoint
    send: str | None = None
    kind: ClassVar[str] = "tcp"
    usual_limit_s: ClassVar[float] = USUAL_STEP_LIMIT_S

    @property
    def says(self) -> str:
        return f"connect to {self.address}"

    def resolve(self, context: StepContext) -> None:
        """Accept: whether the port is open is known only at run time."""

    async def perform(self, context: StepContext) -> Any:
        """Return `status`: open, refused or unreachable; and `reply`: the first bytes, if `send` is given."""
        began = time.monotonic()
        output: dict[str, Any] = {"status": "open"}
        try:
            reader, writer = await asyncio.open_connection(self.address.host, self.address.port)
        except ConnectionRefusedError:
            output["status"] = "refused"
        except OSError as error:
            output |= {"status": "unreachable", "why": system_message(error)}
        else:
            try:
                if self.send is not None:
                    writer.write(self.send.encode())
                    output["reply"] = (await reader.read(_MOST_TCP_BYTES)).decode("utf-8", "replace")
            finally:
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()
        return {**output, "elapsed_ms": round((time.monotonic() - began) * 1000, 3)}


def build_tcp(reader: MappingReader) -> TcpCall:
    """Return the work of a step `tcp`."""
    return TcpCall(reader.take("address"), reader.take("send"))


# --- promql ----------------------------------------------------------------------------------------


PROMQL = KeyTable(
    Key("url", read_url, TEXT_SCHEMA, "", "The address of Prometheus, without /api.", URL_FORM),
    Key("query", text, TEXT_SCHEMA, "", "The query in PromQL.", "a query such as up == 0"),
    Key("headers", read_texts, TEXTS_SCHEMA, {}, "Headers by name, such as authorization."),
)


@dataclass(frozen=True, slots=True)
class PromqlQuery:
    """A query to Prometheus."""

    url: str
    query: str
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: ClassVar[str] = "promql"
    usual_limit_s: ClassVar[float] = USUAL_STEP_LIMIT_S

    @property
    def says(self) -> str:
        return f"query {self.query}"

    def resolve(self, context: StepContext) -> None:
        """Accept: whether the server answers is known only at run time."""

    async def perform(self, context: StepContext) -> Any:
        """Return a number for a single value, otherwise a list of `metric` and `value`, empty for no
        series."""
        url = f"{self.url.rstrip('/')}/api/v1/query?{urlencode({'query': self.query})}"
        response = await send_request("GET", url, {"accept": "application/json", **self.headers})
        body = response["body"]
        if not isinstance(body, Mapping) or body.get("status") != "success":
            why = body.get("error") if isinstance(body, Mapping) else None
            raise StepFailed(
                f"{self.url} answered {response['status']}: {why or 'this is no answer of Prometheus'}"
            )
        try:
            return _query_value(body["data"]["resultType"], body["data"]["result"])
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise StepFailed(f"{self.url}: this is no answer of Prometheus: {error!r}") from None


def _query_value(kind: str, result: Any) -> Any:
    if kind == "scalar":
        return float(result[1])
    if kind == "string":
        return result[1]
    if kind != "vector":
        raise ValueError(f"expected a scalar or a vector, got a {kind}")
    series = [{"metric": each["metric"], "value": float(each["value"][1])} for each in result]
    return series[0]["value"] if len(series) == 1 else series


def build_promql(reader: MappingReader) -> PromqlQuery:
    """Return the work of a step `promql`."""
    return PromqlQuery(reader.take("url"), reader.take("query"), reader.take("headers"))


# --- mcp -------------------------------------------------------------------------------------------


MCP_STATUSES = ("ok", "tool_error", "error")
MCP = KeyTable(
    Key("command", read_argv, ARGV_SCHEMA, (), "The command of a server over stdio."),
    Key("url", read_url, TEXT_SCHEMA, help="The address of a server over HTTP, in place of `command`."),
    Key("tool", text, TEXT_SCHEMA, "", "The tool to call.", "the name of a tool"),
    Key("arguments", read_arguments, ANY_MAPPING_SCHEMA, {}, "The arguments of the call."),
    Key("env", read_texts, TEXTS_SCHEMA, {}, "Environment variables added for the command."),
    Key("headers", read_texts, TEXTS_SCHEMA, {}, "Headers by name, for a server over HTTP."),
)


@dataclass(frozen=True, slots=True)
class McpCall:
    """A call of an MCP tool."""

    tool: str
    arguments: Mapping[str, Any]
    argv: tuple[str, ...] = ()
    url: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: ClassVar[str] = "mcp"
    usual_limit_s: ClassVar[float] = 30.0

    @property
    def says(self) -> str:
        return f"call tool {self.tool} of {self.url or self.argv[0]}"

    def resolve(self, context: StepContext) -> None:
        if self.argv and shutil.which(self.argv[0]) is None:
            raise InputError("command", f'expected a program that can be run, got "{self.argv[0]}"')

    async def perform(self, context: StepContext) -> Any:
        """Return `status`: ok, tool_error, or error (of the protocol); and `text`, `structured`, `error`,
        `elapsed_ms`."""
        address = ServerAddress(self.argv, self.url or "", self.env, self.headers)
        began = time.monotonic()
        try:
            async with McpClient(address) as client:
                reply = await client.call(self.tool, self.arguments)
        except FaultkitError as error:
            raise StepFailed(str(error)) from None
        return {**_call_output(reply), "elapsed_ms": round((time.monotonic() - began) * 1000, 3)}


def _call_output(reply: Mapping[str, Any]) -> dict[str, Any]:
    if "error" in reply:
        return {"status": "error", "error": reply["error"]}
    result = reply["result"] if isinstance(reply.get("result"), dict) else {}
    content = result.get("content")
    texts = [
        block.get("text", "")
        for block in (content if isinstance(content, list) else [])
        if isinstance(block, dict) and block.get("type") == "text"
    ]
    return {
        "status": "tool_error" if result.get("isError") else "ok",
        "text": "\n".join(str(each) for each in texts),
        "structured": result.get("structuredContent"),
    }


def build_mcp(reader: MappingReader) -> McpCall:
    """Return the work of a step `mcp`."""
    if reader.sound and ("command" in reader.given) == ("url" in reader.given):
        both = "both" if "url" in reader.given else "neither"
        problem = f"expected a command or a url of an MCP server, got {both}"
        reader.problems.append(InputError(reader.path, problem))
    return McpCall(
        tool=reader.take("tool"),
        argv=reader.take("command"),
        url=reader.take("url"),
        arguments=reader.take("arguments"),
        env=reader.take("env"),
        headers=reader.take("headers"),
    )
