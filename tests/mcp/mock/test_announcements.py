"""Changes of a mock by its calls: what is listed and read, and who is told, in both eras."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from faultkit.faults.call_fault import Era
from faultkit.mcp.mock.manifest import parse_manifest
from faultkit.mcp.mock.mock_server import MockJob
from faultkit.mcp.wire.era import SERVER_INFO_KEY, SUBSCRIPTION_KEY
from faultkit.plan import Plan
from faultkit.testing import run_virtual
from tests.mcp.mock.memory_exchange import MemoryClient, mock_of
from tests.mcp.mock.mock_client import MODERN, call, cancel, on_pipes, over_http, request, run
from tests.mcp.specs import parse_specs

MANIFEST = parse_manifest(
    {
        "name": "notes",
        "tools": [
            {"name": "login"},
            {"name": "add", "response": "${calls.login} ${calls.add}", "listed_when": "calls.login % 2 == 1"},
        ],
        "resources": [
            {"uri": "mem://count", "text": "${calls.add}"},
            {"uri": "mem://last", "text": "last ${calls.add}", "listed_when": "calls.add > 0"},
            {"uri": "mem://fixed", "text": "${HOME}"},
        ],
        "resource_templates": [{"uri_template": "mem://n/{id}", "text": "${args.id} of ${calls.add}"}],
        "prompts": [{"name": "p", "listed_when": "calls.add == 1"}],
    }
)
FIXED = parse_manifest(
    {"tools": [{"name": "a"}], "resources": [{"uri": "mem://a"}], "prompts": [{"name": "p"}]}
)
EVERYTHING = {
    "toolsListChanged": True,
    "resourcesListChanged": True,
    "promptsListChanged": True,
    "resourceSubscriptions": ["mem://count", "mem://n/7", "mem://nope"],
}


def reply_to(client: MemoryClient, method: str, **params: Any) -> Any:
    client.ask(99, method, **params)
    _, reply = client.received.pop()
    return reply.get("result", reply.get("error"))


def test_what_is_listed_and_read_depends_on_the_calls() -> None:
    async def main() -> None:
        client = MemoryClient(mock_of(MANIFEST))

        def seen() -> tuple[Any, ...]:
            return (
                [each["name"] for each in reply_to(client, "tools/list")["tools"]],
                [each["uri"] for each in reply_to(client, "resources/list")["resources"]],
                len(reply_to(client, "prompts/list")["prompts"]),
                reply_to(client, "resources/read", uri="mem://count")["contents"][0]["text"],
                reply_to(client, "resources/read", uri="mem://n/7")["contents"][0]["text"],
            )

        three = ["mem://count", "mem://last", "mem://fixed"]
        assert seen() == (["login"], [three[0], three[2]], 0, "0", "7 of 0")
        assert reply_to(client, "tools/call", name="add")["code"] == -32602
        assert reply_to(client, "resources/read", uri="mem://last")["code"] == -32002
        assert reply_to(client, "prompts/get", name="p")["code"] == -32602
        client.call(1, "login")
        assert seen() == (["login", "add"], [three[0], three[2]], 0, "0", "7 of 0")
        assert reply_to(client, "tools/call", name="add")["content"][0]["text"] == "1 1"
        assert seen() == (["login", "add"], three, 1, "1", "7 of 1")
        assert "messages" in reply_to(client, "prompts/get", name="p")
        client.call(2, "add")
        assert seen() == (["login", "add"], three, 0, "2", "7 of 2")
        client.call(3, "login")
        assert seen() == (["login"], three, 0, "2", "7 of 2")
        assert reply_to(client, "resources/read", uri="mem://fixed")["contents"][0]["text"] == "${HOME}"

    run_virtual(main())


def test_sessions_are_told_of_lists_before_the_reply_and_subscribers_of_updates() -> None:
    async def main() -> None:
        mock = mock_of(MANIFEST)
        one, two = MemoryClient(mock), MemoryClient(mock, name="two")
        assert reply_to(one, "resources/subscribe", uri="mem://count") == {}
        assert reply_to(one, "resources/subscribe", uri="mem://n/7") == {}
        one.call(1, "login")
        assert one.methods == ["notifications/tools/list_changed", "reply"]
        assert two.messages == [
            {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {}}
        ]
        one.received.clear()
        two.received.clear()
        two.call(1, "add")
        lists = ["notifications/resources/list_changed", "notifications/prompts/list_changed"]
        assert two.methods == [*lists, "reply"]
        assert one.methods == [*lists, "notifications/resources/updated", "notifications/resources/updated"]
        assert [each["params"] for each in one.messages[2:]] == [{"uri": "mem://count"}, {"uri": "mem://n/7"}]
        one.received.clear()
        assert reply_to(one, "resources/unsubscribe", uri="mem://count") == {}
        two.call(2, "add")
        assert one.messages[1:] == [
            {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "mem://n/7"}}
        ]
        one.received.clear()
        one.close()
        two.call(3, "add")
        assert one.received == []

    run_virtual(main())


def test_a_session_that_is_not_initialized_is_told_nothing() -> None:
    async def main() -> None:
        mock = mock_of(MANIFEST)
        quiet = MemoryClient(mock, "modern")
        quiet.session.era = "legacy"
        MemoryClient(mock, name="two").call(1, "login")
        assert quiet.received == []

    run_virtual(main())


@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
def test_a_resource_that_is_not_there_cannot_be_subscribed_to(method: str) -> None:
    async def main() -> None:
        client = MemoryClient(mock_of(MANIFEST))
        unknown: list[Any] = ["mem://last", "nope", None, []]
        for uri in unknown:
            assert reply_to(client, method, uri=uri)["code"] == -32002
        assert reply_to(MemoryClient(mock_of(FIXED)), method, uri="mem://a")["code"] == -32601
        assert (
            reply_to(MemoryClient(mock_of(MANIFEST), "modern"), method, uri="mem://count")["code"] == -32601
        )

    run_virtual(main())


def test_a_resource_that_is_gone_can_be_unsubscribed_from() -> None:
    manifest = parse_manifest(
        {
            "tools": [{"name": "a"}],
            "resources": [{"uri": "mem://a", "text": "${calls.a}", "listed_when": "calls.a < 2"}],
        }
    )

    async def main() -> None:
        client = MemoryClient(mock_of(manifest))
        assert reply_to(client, "resources/subscribe", uri="mem://a") == {}
        client.call(1, "a")
        client.call(2, "a")
        assert client.methods == [
            "notifications/resources/updated",
            "reply",
            "notifications/resources/list_changed",
            "reply",
        ]
        assert reply_to(client, "resources/unsubscribe", uri="mem://a") == {}
        assert reply_to(client, "resources/unsubscribe", uri="mem://a")["code"] == -32002

    run_virtual(main())


@pytest.mark.parametrize(("era", "opening"), [("legacy", "initialize"), ("modern", "server/discover")])
def test_changes_are_announced_only_if_something_can_change(era: Era, opening: str) -> None:
    async def main() -> None:
        able = {"listChanged": True}
        assert reply_to(MemoryClient(mock_of(MANIFEST), era), opening)["capabilities"] == {
            "tools": able,
            "resources": {**able, "subscribe": True},
            "prompts": able,
        }
        unable = {"listChanged": False}
        assert reply_to(MemoryClient(mock_of(FIXED), era), opening)["capabilities"] == {
            "tools": unable,
            "resources": {**unable, "subscribe": False},
            "prompts": unable,
        }

    run_virtual(main())


# --- modern -----------------------------------------------------------------------------------------


def test_a_listener_gets_what_it_asked_for_until_it_cancels() -> None:
    async def main() -> None:
        mock = mock_of(MANIFEST)
        client, other = MemoryClient(mock, "modern"), MemoryClient(mock, name="two")
        client.ask(5, "subscriptions/listen", notifications=EVERYTHING)
        client.ask(
            6, "subscriptions/listen", notifications={"toolsListChanged": True, "promptsListChanged": False}
        )
        meta, sixth = {SUBSCRIPTION_KEY: 5}, {SUBSCRIPTION_KEY: 6}
        agreed = {**EVERYTHING, "resourceSubscriptions": ["mem://count", "mem://n/7"]}
        assert [each["params"] for each in client.messages] == [
            {"_meta": meta, "notifications": agreed},
            {"_meta": sixth, "notifications": {"toolsListChanged": True}},
        ]
        assert client.methods == ["notifications/subscriptions/acknowledged"] * 2
        client.received.clear()
        other.call(1, "login")
        other.call(2, "add")
        assert [
            (each["method"].removeprefix("notifications/"), each["params"]) for each in client.messages
        ] == [
            ("tools/list_changed", {"_meta": meta}),
            ("tools/list_changed", {"_meta": sixth}),
            ("resources/list_changed", {"_meta": meta}),
            ("prompts/list_changed", {"_meta": meta}),
            ("resources/updated", {"uri": "mem://count", "_meta": meta}),
            ("resources/updated", {"uri": "mem://n/7", "_meta": meta}),
        ]
        client.received.clear()
        client.session.cancel(5)
        other.call(3, "login")
        assert [each["params"] for each in client.messages] == [{"_meta": sixth}]
        client.received.clear()
        client.close()
        assert client.messages == [
            {
                "jsonrpc": "2.0",
                "id": 6,
                "result": {
                    "resultType": "complete",
                    "_meta": {SERVER_INFO_KEY: {"name": "notes", "version": "1.0.0"}, **sixth},
                },
            }
        ]
        assert not client.session.exchanges

    run_virtual(main())


def test_there_is_nothing_to_listen_to_if_nothing_changes() -> None:
    async def main() -> None:
        listen = "subscriptions/listen"
        assert reply_to(MemoryClient(mock_of(FIXED), "modern"), listen, notifications={})["code"] == -32601
        assert reply_to(MemoryClient(mock_of(MANIFEST)), listen, notifications={})["code"] == -32601
        error = reply_to(MemoryClient(mock_of(MANIFEST), "modern"), listen)
        assert error["message"] == "Invalid params: notifications: expected an object, got nothing"

    run_virtual(main())


# --- faults -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "told_ms"), [("hang", None), ("lost_reply", 0.0), ("slow:500", 500.0), ("truncated_reply", 0.0)]
)
def test_a_call_that_reaches_the_mock_changes_it_whatever_becomes_of_the_reply(
    spec: str, told_ms: float | None
) -> None:
    async def main() -> None:
        mock = mock_of(MANIFEST, f"{spec}@login")
        client = MemoryClient(mock)
        client.call(1, "login")
        await asyncio.sleep(10)
        told = [
            at for at, each in client.received if each.get("method") == "notifications/tools/list_changed"
        ]
        assert told == ([] if told_ms is None else [told_ms])
        await mock.stop()

    run_virtual(main())


def test_a_late_subscription_is_acknowledged_late() -> None:
    async def main() -> None:
        mock = mock_of(MANIFEST, "slow:500@subscriptions/listen")
        client, other = MemoryClient(mock, "modern"), MemoryClient(mock, name="two")
        client.ask(5, "subscriptions/listen", notifications={"toolsListChanged": True})
        other.call(1, "login")
        await asyncio.sleep(1)
        other.call(2, "login")
        assert [(at, each["method"]) for at, each in client.received] == [
            (500, "notifications/subscriptions/acknowledged"),
            (1000, "notifications/tools/list_changed"),
        ]
        await mock.stop()

    run_virtual(main())


def test_a_frozen_session_is_told_nothing() -> None:
    async def main() -> None:
        mock = mock_of(MANIFEST, "frozen@add")
        one, two = MemoryClient(mock), MemoryClient(mock, name="two")
        one.call(1, "login")
        one.call(2, "add")
        one.received.clear()
        two.call(3, "login")
        assert one.received == []
        assert two.methods[-2:] == ["notifications/tools/list_changed", "reply"]
        await mock.stop()

    run_virtual(main())


# --- on the wire ------------------------------------------------------------------------------------


def test_over_http_notices_come_on_the_stream_of_the_session() -> None:
    async def main() -> None:
        async with over_http(MockJob(MANIFEST, front="http", port=0)) as web:
            await web.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
            assert (await web.ask(call(1, "login")))["id"] == 1
            async with web.own_stream() as events:
                assert (await anext(events))["method"] == "notifications/tools/list_changed"

    run(main)


def test_over_http_a_modern_client_listens_on_a_stream() -> None:
    async def main() -> None:
        async with over_http(MockJob(MANIFEST, front="http", port=0)) as web:
            listen = request(7, "subscriptions/listen", notifications={"toolsListChanged": True})
            async with web.modern_stream(listen) as events:
                assert (await anext(events))["method"] == "notifications/subscriptions/acknowledged"
                await web.ask(call(1, "login"))
                assert (await anext(events))["params"] == {"_meta": {SUBSCRIPTION_KEY: 7}}
            assert (await web.ask(call(2, "login")))["id"] == 2

    run(main)


def test_on_pipes_a_modern_client_cancels_its_subscription() -> None:
    async def main() -> None:
        async with on_pipes(MockJob(MANIFEST, Plan(parse_specs(("slow:1@subscriptions/listen",))))) as pipes:
            listen = request(
                7, "subscriptions/listen", notifications={"toolsListChanged": True}, _meta=MODERN
            )
            pipes.say(listen)
            assert (await pipes.receive())["method"] == "notifications/subscriptions/acknowledged"
            pipes.say(request(1, "tools/call", name="login", _meta=MODERN))
            assert (await pipes.receive())["method"] == "notifications/tools/list_changed"
            assert (await pipes.receive())["id"] == 1
            pipes.say(cancel(7), request(2, "tools/call", name="login", _meta=MODERN))
            assert (await pipes.receive())["id"] == 2

    run(main)
