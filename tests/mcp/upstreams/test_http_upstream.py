"""A client on pipes with a server over HTTP that redirects, answers with other ids, or closes its streams."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from faultkit.base.http.http_exchange import HttpRequest, ResponseWriter
from faultkit.mcp.upstreams import http_upstream as http_upstream
from faultkit.mcp.wire.message import encode
from tests.mcp.gateway.gateway_peers import on_pipes, request, run, to_url
from tests.mcp.gateway.test_relayed_exchange import BATCH, JSON, REPLY, STREAM, upstream


def test_a_server_that_sends_its_client_on_to_another_place_of_its_own_is_followed() -> None:
    def handle(asked: HttpRequest, answer: ResponseWriter) -> None:
        if asked.path == "/mcp/":
            answer.respond(307, [("location", f"http://{asked.headers['host']}/mcp")])
        else:
            answer.respond(200, [JSON], REPLY)

    async def main() -> None:
        async with upstream(handle) as url, on_pipes(to_url(f"{url}/")) as client:
            client.say(request(1, "tools/call", name="a"))
            assert await client.line() == REPLY

    run(main)


@pytest.mark.parametrize(
    ("status", "location"), [(308, "https://elsewhere.example/mcp"), (301, "/other"), (307, "/mcp")]
)
def test_a_redirect_that_is_not_followed_is_named(status: int, location: str) -> None:
    def handle(asked: HttpRequest, answer: ResponseWriter) -> None:
        answer.respond(status, [("location", location)])

    async def main() -> None:
        async with upstream(handle) as url, on_pipes(to_url(url)) as client:
            client.say(request(1, "tools/call", name="a"))
            error = (await client.message())["error"]
            assert error["message"] == (
                f"the upstream answered {status}: it sends us on to {location}; give that as --upstream"
            )
            assert error["data"] == {"status": status, "location": location}

    run(main)


@pytest.mark.parametrize("other", [2, "1"])
def test_a_reply_to_another_call_is_handed_on_and_the_call_ends(other: object) -> None:
    reply = encode({"jsonrpc": "2.0", "id": other, "result": {}})

    def handle(asked: HttpRequest, answer: ResponseWriter) -> None:
        answer.respond(200, [JSON], reply)

    async def main() -> None:
        async with upstream(handle) as url, on_pipes(to_url(url)) as client:
            client.say(request(1, "tools/call", name="a"))
            assert await client.line() == reply
            error = await client.message()
            assert (error["id"], error["error"]["code"]) == (1, -32000)
            assert error["error"]["message"] == f"the upstream answered with another id: {other!r}"

    run(main)


def test_what_a_batch_is_owed_is_waited_for_at_the_end_of_input() -> None:
    async def main() -> None:
        asked = asyncio.Event()

        def handle(request: HttpRequest, answer: ResponseWriter) -> None:
            replies: list[object] = [{"jsonrpc": "2.0", "id": id, "result": {}} for id in (1, 2)]
            asyncio.get_running_loop().call_later(0.2, answer.respond, 200, [JSON], encode(replies))
            asked.set()

        async with upstream(handle) as url, on_pipes(to_url(url)) as client:
            client.say(BATCH)
            await asked.wait()
            client.hang_up()
            assert [each["id"] for each in await client.message()] == [1, 2]

    run(main)


def test_a_batch_that_is_refused_has_an_error_for_each_of_its_calls() -> None:
    def handle(asked: HttpRequest, answer: ResponseWriter) -> None:
        answer.respond(503, [("retry-after", "3")])

    async def main() -> None:
        async with upstream(handle) as url, on_pipes(to_url(url)) as client:
            client.say(BATCH)
            for id in (1, 2):
                answer = await client.message()
                assert answer["id"] == id
                assert answer["error"]["data"] == {"status": 503, "retryAfter": "3"}

    run(main)


def test_a_stream_that_is_closed_at_once_is_asked_for_less_and_less_and_then_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []

    async def no_sleep(seconds: float) -> None:
        waits.append(seconds)

    class Asyncio:
        """The clock of the upstream stands still, for a wait between streams."""

        sleep = staticmethod(no_sleep)

        def __getattr__(self, name: str) -> Any:
            return getattr(asyncio, name)

    def handle(asked: HttpRequest, answer: ResponseWriter) -> None:
        if asked.method == "GET":
            answer.respond(200, [STREAM], b"retry: 0\ndata:\n\n" if not waits else b": nothing\n\n")
        elif b"initialize" in asked.body and b"notifications" not in asked.body:
            answer.respond(200, [JSON], b'{"jsonrpc":"2.0","id":1,"result":{}}')
        else:
            answer.respond(202)

    async def main() -> None:
        monkeypatch.setattr(http_upstream, "asyncio", Asyncio())
        async with upstream(handle) as url, on_pipes(to_url(url)) as client:
            await client.ask(1, "initialize")
            client.say(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())
            while len(waits) < 11:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)

    run(main)
    assert waits == [0.1, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2]
