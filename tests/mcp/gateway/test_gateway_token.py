"""The token of a gateway over HTTP."""

from __future__ import annotations

import asyncio
import http.client
import subprocess

import pytest

from faultkit.base.http.http_client import HttpClient
from faultkit.mcp.gateway.gateway_run import GatewayJob, run_gateway
from tests.mcp.gateway.gateway_peers import (
    LINE_SERVER,
    PATIENCE_S,
    http_answer,
    http_request,
    relayed,
    request,
    run,
    scripted,
)
from tests.mcp.gateway.gateway_processes import FAULT

CONTENT = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")]
OPENING = request(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={})
RIGHT = ("authorization", "Bearer right")
WRONG = [[], [("authorization", "Bearer wrong")], [("authorization", "Basic right")]]


@pytest.mark.parametrize("wrong", WRONG)
def test_the_relay_serves_only_callers_with_its_token_and_keeps_it(wrong: list[tuple[str, str]]) -> None:
    heads: list[bytes] = []

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, _ = await http_request(reader)
        heads.append(head.lower())
        writer.write(http_answer(b"{}"))

    async def main() -> None:
        added = [("x-api-key", "secret")]
        async with scripted(upstream) as url, relayed(url, token="right", headers=added) as client:
            refused = await client.request("POST", [*CONTENT, *wrong], request(1, "ping"))
            assert refused.status == 401
            refused.close()
            assert heads == []
            served = await client.request("POST", [*CONTENT, RIGHT], request(1, "ping"))
            assert served.status == 200
            served.close()
        assert b"x-api-key: secret" in heads[0]
        assert b"authorization" not in heads[0]

    run(main)


def test_a_gateway_that_starts_processes_starts_none_for_a_caller_without_the_token() -> None:
    async def main() -> None:
        said: asyncio.Queue[str] = asyncio.Queue()
        job = GatewayJob(tuple(LINE_SERVER), front="http", port=0, token="right")
        running = asyncio.get_running_loop().create_task(run_gateway(job, said.put_nowait))
        try:
            address = (await said.get()).removeprefix("gateway on ").partition(",")[0]
            client = HttpClient(address)
            for headers, status in (([], 401), ([RIGHT], 200)):
                reply = await client.request("POST", [*CONTENT, *headers], OPENING)
                assert reply.status == status
                reply.close()
            client.close()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    run(main)


@pytest.mark.parametrize(
    ("words", "needs_one"),
    [
        (("--front", "http", "--", *LINE_SERVER), True),
        (("--upstream", "http://127.0.0.1:9/mcp", "--header", "authorization: x"), True),
        (("--upstream", "http://127.0.0.1:9/mcp"), False),
        (("--upstream", "http://127.0.0.1:9/mcp", "--host", "0.0.0.0"), True),
        (("--front", "http", "--no-token", "--", *LINE_SERVER), False),
    ],
)
def test_a_token_is_made_where_callers_could_do_harm(
    words: tuple[str, ...], needs_one: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FAULT_GATEWAY_TOKEN", raising=False)
    command = [*FAULT, "gateway", "--port", "0", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("gateway on http://")
        process.terminate()
        rest = process.stderr.read()
        assert process.wait(PATIENCE_S) == 0
    assert rest.startswith("gateway token: ") == needs_one


@pytest.mark.parametrize(
    "words", [("--upstream", "http://127.0.0.1:9/mcp"), ("--front", "http", "--", *LINE_SERVER)]
)
def test_an_open_gateway_that_other_machines_reach_does_not_serve_pages_of_other_sites(
    words: tuple[str, ...],
) -> None:
    command = [*FAULT, "gateway", "--port", "0", "--host", "0.0.0.0", "--no-token", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        port = int(process.stderr.readline().partition("/mcp")[0].rpartition(":")[2])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        headers = {**dict(CONTENT), "origin": "http://evil.example"}
        connection.request("POST", "/mcp", OPENING, headers)
        assert connection.getresponse().status == 403
        connection.close()
        process.terminate()


def test_an_open_gateway_that_other_machines_reach_is_a_warning() -> None:
    words = ("--upstream", "http://127.0.0.1:9/mcp", "--host", "0.0.0.0", "--no-token")
    with subprocess.Popen(
        [*FAULT, "gateway", "--port", "0", *words], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        process.stderr.readline()
        assert process.stderr.readline() == (
            "warning: every machine that reaches 0.0.0.0 may call the server (--no-token)\n"
        )
        process.terminate()
