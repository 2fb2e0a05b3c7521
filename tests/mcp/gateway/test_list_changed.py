"""Rules that change the list of tools while a gateway runs: its clients are notified, as by a server."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from faultkit.base.http.http_client import HttpClient
from faultkit.base.http.http_server import HttpServer
from faultkit.mcp.gateway.http_relay import HttpRelay
from faultkit.mcp.injector import Injector
from faultkit.mcp.wire.message import encode
from faultkit.plan import Plan
from tests.mcp.gateway.gateway_peers import LINE_SERVER, http_request, run, scripted
from tests.mcp.gateway.test_stdio_robust import gateway
from tests.mcp.specs import parse_specs

TOKEN = "for-tests-only"
CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {}}
LISTEN = {
    "jsonrpc": "2.0",
    "id": "l1",
    "method": "subscriptions/listen",
    "params": {"notifications": {"toolsListChanged": True}},
}
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def test_a_client_on_stdio_is_notified_when_such_a_rule_comes_and_when_it_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FAULT_CONTROL_TOKEN", TOKEN)
    with gateway("--control", "127.0.0.1:0", "--", *LINE_SERVER) as client:
        assert client.process.stderr is not None
        url = client.process.stderr.readline().decode().removeprefix("control: ").strip()
        assert client.ask(1, "tools/call", name="a")["content"][0]["text"] == "a"

        def change(method: str, path: str, rule: dict[str, Any] | None = None) -> None:
            async def main() -> None:
                at = HttpClient(f"{url}/")
                body = b"" if rule is None else json.dumps(rule).encode()
                headers = [("authorization", f"Bearer {TOKEN}")]
                assert (await at.request(method, headers, body, path)).status in (200, 201)
                at.close()

            run(main)

        change("POST", "/rules", {"name": "gone", "fault": "vanished_tools"})
        assert json.loads(client.stdout.readline()) == CHANGED
        change("POST", "/rules", {"name": "late", "fault": "slow", "with": {"delay_ms": 1}})
        assert client.ask(2, "tools/call", name="a")["content"][0]["text"] == "a"
        change("DELETE", "/rules/gone")
        assert json.loads(client.stdout.readline()) == CHANGED
        client.ended()


@pytest.mark.parametrize(
    ("method", "body", "params"),
    [
        ("GET", b"", {}),
        ("POST", encode(LISTEN), {"_meta": {"io.modelcontextprotocol/subscriptionId": "l1"}}),
    ],
    ids=["legacy", "modern"],
)
def test_a_client_over_http_is_notified_on_the_stream_that_it_listens_to(
    method: str, body: bytes, params: dict[str, Any]
) -> None:
    goes_on = asyncio.Event()

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await http_request(reader)
        writer.write(STREAM + chunk(b"data: {}\n\n") + chunk(b"data: {"))
        await goes_on.wait()
        writer.write(chunk(b"}\n\n") + b"0\r\n\r\n")
        await writer.drain()

    async def main() -> None:
        async with scripted(upstream) as url:
            relay = HttpRelay(url, Injector(Plan()))
            server = HttpServer(relay.handle)
            host, port = await server.start("127.0.0.1", 0)
            client = HttpClient(f"http://{host}:{port}{relay.path}")
            headers = [("accept", "text/event-stream"), ("content-type", "application/json")]
            reply = await client.request(method, headers, body)
            text = b""
            while not text.endswith(b"data: {"):
                text += await reply.chunk()
            relay.on_plan(Plan(parse_specs(["vanished_tools"])))
            goes_on.set()
            while data := await reply.chunk():
                text += data
            event = b"event: message\ndata: %b\n\n" % encode({**CHANGED, "params": params})
            # The notification waits for the end of the event that the upstream was sending.
            assert text == b"data: {}\n\ndata: {}\n\n" + event
            client.close()
            await relay.stop()
            await server.stop()

    run(main)
