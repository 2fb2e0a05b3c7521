"""Lists that pass through the gateway: a missing target is warned of once, and nothing else changes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from faultkit.mcp.gateway.interception import Listings
from faultkit.mcp.injector import Injector
from faultkit.mcp.wire.message import Incoming, encode, read
from faultkit.plan import Plan
from tests.mcp.gateway.gateway_peers import (
    http_answer,
    http_request,
    on_pipes,
    relayed,
    request,
    run,
    scripted,
    to_lines,
)
from tests.mcp.specs import parse_specs


def listed(**result: Any) -> bytes:
    return encode({"jsonrpc": "2.0", "id": 1, "result": result})


def named(*names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


def reply(**result: Any) -> Incoming:
    return read(listed(**result))


def watched(*specs: str) -> tuple[Listings, list[str], Injector]:
    said: list[str] = []
    injector = Injector(Plan(parse_specs(specs)))
    return Listings(injector, said.append), said, injector


@pytest.mark.parametrize(
    ("spec", "list", "warning"),
    [
        (
            "hang@serch",
            {"tools": named("search", "fetch")},
            'rule "hang": no tool is named "serch"; did you mean \'search\'? (tools: fetch, search)',
        ),
        ("vanished_tools:x*", {"tools": []}, 'rule "vanished_tools": no tool is named "x*" (tools: none)'),
        (
            "hang@prompt:a",
            {"prompts": named("b")},
            'rule "hang": no prompt is named "a" (prompts: b)',
        ),
        (
            "hang@resource:mem://a",
            {"resources": [{"uri": "mem://b", "name": "mem://a"}]},
            'rule "hang": no resource is named "mem://a"; did you mean \'mem://b\'? (resources: mem://b)',
        ),
    ],
)
def test_a_target_that_a_list_does_not_have_is_told_once(
    spec: str, list: dict[str, Any], warning: str
) -> None:
    listings, said, _ = watched(spec)
    for _ in range(2):
        listings.learn(reply(**list))
    assert said == [warning]


def test_a_target_that_is_there_and_a_reply_that_lists_nothing_are_passed_over() -> None:
    listings, said, _ = watched("hang@se*", "slow:5", "hang@tools/list", "hang@prompt:p")
    listings.learn(reply(content=[]))
    listings.learn(reply(tools="search"))
    listings.learn(reply(tools=[3, {"name": 4}, {"name": "search"}]))
    listings.learn(read(b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no \\"tools\\""}}'))
    listings.learn(read(b'{"jsonrpc":"2.0","method":"x","params":{"prompts":[]}}'))
    assert said == []


def test_only_the_last_page_of_a_list_shows_what_is_nowhere() -> None:
    listings, said, _ = watched("hang@b", "slow:5@c")
    listings.learn(reply(tools=named("b"), nextCursor="2"))
    assert said == []
    listings.learn(reply(tools=named("a")))
    assert said == ['rule "slow": no tool is named "c" (tools: a, b)']


def test_a_plan_that_is_set_meanwhile_is_held_against_the_next_list() -> None:
    listings, said, injector = watched("hang@a")
    listings.learn(reply(tools=named("x")))
    injector.set_plan(Plan(parse_specs(["hang@a", "slow:5@b"])))
    listings.learn(reply(tools=named("x")))
    assert [line.partition(":")[0] for line in said] == ['rule "hang"', 'rule "slow"']


def test_a_list_without_end_fills_no_memory_and_is_no_reason_to_warn() -> None:
    listings, said, _ = watched("hang@a")
    listings.learn(reply(tools=named(*map(str, range(10_001))), nextCursor="2"))
    listings.learn(reply(tools=[]))
    assert said == []


def test_only_lists_that_are_of_use_are_read() -> None:
    listings, _, _ = watched("hang@prompt:a")
    wanted = [each for each in ("tools/list", "prompts/list", "resources/list") if listings.wants(each)]
    assert wanted == ["tools/list", "prompts/list"]


def test_the_gateway_passes_the_list_as_it_is_and_says_what_is_missing() -> None:
    async def work() -> None:
        said: list[str] = []
        plan = Plan(parse_specs(["hang@serch"]))
        async with on_pipes(to_lines(), plan, warn=said.append) as client:
            client.say(request(1, "say", say=[listed(tools=named("search")).hex()]))
            assert await client.line() == listed(tools=named("search"))
        assert said == ['rule "hang": no tool is named "serch"; did you mean \'search\'? (tools: search)']

    run(work)


def test_the_relay_does_so_too() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await http_request(reader)
        writer.write(http_answer(listed(prompts=named("a"))))
        await writer.drain()

    async def work() -> None:
        said: list[str] = []
        plan = Plan(parse_specs(["hang@prompt:b"]))
        async with scripted(serve) as url, relayed(url, plan, warn=said.append) as client:
            headers = [("content-type", "application/json")]
            reply = await client.request("POST", headers, request(1, "prompts/list"))
            assert await reply.body(1000) == listed(prompts=named("a"))
        assert said == ['rule "hang": no prompt is named "b" (prompts: a)']

    run(work)
