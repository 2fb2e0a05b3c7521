"""The mock on real pipes and over HTTP, in both eras, with and without faults."""

from __future__ import annotations

from typing import Any

import pytest

from faultkit.base.errors import InputError
from faultkit.faults.call_fault import Transport
from faultkit.mcp.mock.manifest import parse_manifest
from faultkit.mcp.mock.mock_server import MockJob, check_mock_job
from faultkit.plan import Plan
from tests.mcp.mock.mock_client import (
    MODERN,
    Pipes,
    call,
    cancel,
    on_pipes,
    over_http,
    request,
    run,
    text_of,
)
from tests.mcp.specs import parse_specs

MANIFEST = parse_manifest(
    {
        "name": "shop",
        "tools": [
            {
                "name": "search",
                "input_schema": {"type": "object", "required": ["q"]},
                "responses": [
                    {"when": "has(args.n)", "sequence": ["one", "two"]},
                    {"result": "found ${args.q}"},
                ],
            },
            {"name": "plain", "response": "hello"},
            {"name": "echo", "response": "${args.x}"},
            {"name": "sampled", "sampling": True, "response": "it said ${sampling.content.text}"},
            {"name": "elicited", "elicitation": True, "response": "you said ${elicitation.content.answer}"},
            {"name": "rooted", "roots_list": True, "response": "first ${roots.roots.0.uri}"},
            {"name": "all", "sampling": True, "elicitation": True, "roots_list": True, "response": "${call}"},
        ],
        "resources": [{"uri": "mem://a", "text": "hi"}],
        "prompts": [{"name": "p", "text": "do ${args.x}"}],
    }
)
ANSWERS: dict[str, dict[str, Any]] = {
    "sampling/createMessage": {"role": "assistant", "content": {"type": "text", "text": "tea"}, "model": "m"},
    "elicitation/create": {"action": "accept", "content": {"answer": "milk"}},
    "roots/list": {"roots": [{"uri": "file:///a"}]},
}
ASKING = [
    ("sampled", "sampling/createMessage", "it said tea"),
    ("elicited", "elicitation/create", "you said milk"),
    ("rooted", "roots/list", "first file:///a"),
]


def job(*specs: str, front: Transport = "stdio") -> MockJob:
    return MockJob(MANIFEST, Plan(parse_specs(specs)), front, port=0)


def reply_to(question: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": question["id"], "result": ANSWERS[question["method"]]}


def test_arguments_that_a_modern_call_repeats_in_headers_are_compared() -> None:
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    manifest = parse_manifest([{"name": "a", "input_schema": schema, "response": "${args.region}"}])
    meta = {"_meta": MODERN}
    message = request(1, "tools/call", name="a", arguments={"region": "eu"}, **meta)
    own = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "a"}

    async def main() -> None:
        async with over_http(MockJob(manifest, front="http", port=0)) as web:
            for header, status in ((None, 400), ("us", 400), ("eu", 200), ("=?base64?ZXU=?=", 200)):
                more = {} if header is None else {"mcp-param-region": header}
                reply = await web.post(message, **own, **more)
                assert (header, reply.status_code) == (header, status)
                if status == 400:
                    assert reply.json()["error"]["code"] == -32020

    run(main)


# --- healthy ---------------------------------------------------------------------------------------


def test_on_pipes_the_old_era_is_answered() -> None:
    async def main() -> None:
        async with on_pipes(job()) as pipes:
            pipes.say(
                request(1, "initialize", protocolVersion="2025-06-18"),
                {"jsonrpc": "2.0", "method": "notifications/initialized"},
                request("two", "tools/list"),
                call(3, "search", q="x"),
                call(4, "search", q="x", n=1),
                call(5, "search", q="x", n=1),
                call(6, "search", q="x", n=1),
                request(7, "ping"),
                request(8, "resources/read", uri="mem://a"),
                request(9, "prompts/get", name="p", arguments={"x": "it"}),
            )
            heard = [await pipes.receive() for _ in range(9)]
            assert [reply["id"] for reply in heard] == [1, "two", 3, 4, 5, 6, 7, 8, 9]
            assert heard[0]["result"]["protocolVersion"] == "2025-06-18"
            assert [tool["name"] for tool in heard[1]["result"]["tools"]][:2] == ["search", "plain"]
            assert [text_of(reply) for reply in heard[2:6]] == ["found x", "one", "two", "two"]
            assert heard[6]["result"] == {}
            assert heard[7]["result"]["contents"][0]["text"] == "hi"
            assert heard[8]["result"]["messages"][0]["content"]["text"] == "do it"

    run(main)


def test_on_pipes_the_modern_era_is_answered_and_bad_requests_of_it_are_not() -> None:
    async def main() -> None:
        async with on_pipes(job()) as pipes:
            pipes.say(
                request(1, "server/discover", _meta=MODERN),
                request(2, "tools/call", name="plain", _meta=MODERN),
                request(3, "tools/call", name="plain"),
            )
            found, called, bad = [await pipes.receive() for _ in range(3)]
            assert found["result"]["supportedVersions"] == ["2026-07-28"]
            assert (called["result"]["resultType"], text_of(called)) == ("complete", "hello")
            assert bad["error"]["code"] == -32602

    run(main)


def test_over_http_both_eras_are_answered() -> None:
    async def main() -> None:
        async with over_http(job(front="http")) as web:
            assert text_of(await web.ask(call(1, "search", q="x"))) == "found x"
            modern = await web.ask_modern(call(1, "search", q="y"))
            assert (text_of(modern), modern["result"]["resultType"]) == ("found y", "complete")
            listed = await web.ask_modern(request(2, "tools/list"))
            assert listed["result"]["ttlMs"] == 0
            unknown = await web.ask(call(3, "nope"))
            assert unknown["error"] == {"code": -32602, "message": "tool `nope` is not declared in the mock"}

    run(main)


def test_arguments_that_can_be_read_but_not_written_do_not_end_the_mock() -> None:
    async def main() -> None:
        async with on_pipes(job()) as pipes:
            members = []
            for depth in range(100, 1000, 10):
                nested = b"[" * depth + b"]" * depth
                params = b'{"name":"echo","arguments":{"x":' + nested + b"}}"
                pipes.say(b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}' % (depth, params))
                heard = await pipes.receive()
                members.append("result" if "result" in heard else heard["error"]["message"])
            assert members[0] == "result"
            # Which of the two fails first depends on the depth of the stack.
            assert members[-1] != "result"
            assert all(each == "result" or "nested too deeply" in each for each in members)
            pipes.say(call(1, "plain"))
            assert text_of(await pipes.receive()) == "hello"

    run(main)


# --- tools that ask --------------------------------------------------------------------------------


@pytest.mark.parametrize(("tool", "method", "said"), ASKING)
def test_a_tool_asks_its_client_on_pipes(tool: str, method: str, said: str) -> None:
    async def main() -> None:
        async with on_pipes(job()) as pipes:
            pipes.say(call(1, tool))
            question = await pipes.receive()
            assert question["method"] == method
            pipes.say(request(2, "ping"), reply_to(question))
            assert (await pipes.receive())["id"] == 2
            assert text_of(await pipes.receive()) == said

    run(main)


@pytest.mark.parametrize(("tool", "method", "said"), ASKING)
def test_a_tool_asks_its_client_over_http(tool: str, method: str, said: str) -> None:
    async def main() -> None:
        async with over_http(job(front="http")) as web, web.stream(call(1, tool)) as messages:
            question = await anext(messages)
            assert question["method"] == method
            assert (await web.post(reply_to(question))).status_code == 202
            assert text_of(await anext(messages)) == said

    run(main)


@pytest.mark.parametrize(("tool", "method", "said"), ASKING)
def test_a_tool_asks_its_client_in_the_modern_era(tool: str, method: str, said: str) -> None:
    async def main() -> None:
        asks = {"sampled": "sampling", "elicited": "elicitation", "rooted": "roots"}[tool]
        async with over_http(job(front="http")) as web:
            asked = (await web.ask_modern(call(1, tool), **{asks: {}}))["result"]
            assert asked["resultType"] == "input_required"
            assert asked["inputRequests"][asks]["method"] == method
            again = request(2, "tools/call", name=tool, inputResponses={asks: ANSWERS[method]})
            assert text_of(await web.ask_modern(again, **{asks: {}})) == said
            refused = await web.ask_modern(call(3, tool))
            assert refused["error"]["data"] == {"requiredCapabilities": {asks: {}}}

    run(main)


def test_a_tool_asks_one_thing_after_the_other_and_a_refusal_ends_it() -> None:
    async def main() -> None:
        async with on_pipes(job()) as pipes:
            pipes.say(call(1, "all"))
            for method in ANSWERS:
                question = await pipes.receive()
                assert question["method"] == method
                pipes.say(reply_to(question))
            assert text_of(await pipes.receive()) == "1"
            pipes.say(call(2, "all"))
            question = await pipes.receive()
            error = {"code": -1, "message": "not supported"}
            pipes.say({"jsonrpc": "2.0", "id": question["id"], "error": error})
            assert (await pipes.receive())["error"] == {
                "code": -32603,
                "message": "the client did not answer sampling/createMessage",
                "data": error,
            }

    run(main)


def test_a_client_cannot_answer_for_another_session() -> None:
    async def main() -> None:
        async with over_http(job(front="http")) as web, web.stream(call(1, "sampled")) as messages:
            question = await anext(messages)
            mine, stranger = web._headers["mcp-session-id"], web
            await stranger.open()
            wrong = {**reply_to(question), "result": {"content": {"text": "poison"}}}
            assert (await stranger.post(wrong)).status_code == 202
            assert (await web.post(reply_to(question), **{"mcp-session-id": mine})).status_code == 202
            assert text_of(await anext(messages)) == "it said tea"

    run(main)


def test_a_call_that_is_cancelled_while_it_asks_gets_no_reply() -> None:
    async def main() -> None:
        async with on_pipes(job()) as pipes:
            pipes.say(call(1, "sampled"))
            question = await pipes.receive()
            pipes.say(cancel(1), reply_to(question), call(2, "plain"))
            assert (await pipes.receive())["id"] == 2
            pipes.hang_up()
            assert await pipes.rest() == b""

    run(main)


def test_a_call_that_is_cancelled_while_it_asks_ends_its_stream() -> None:
    async def main() -> None:
        async with over_http(job(front="http")) as web, web.stream(call(1, "sampled")) as messages:
            await anext(messages)
            await web.post(cancel(1))
            assert [message async for message in messages] == []

    run(main)


# --- with faults -----------------------------------------------------------------------------------


async def last_words(pipes: Pipes) -> bytes:
    pipes.hang_up()
    return await pipes.rest()


@pytest.mark.parametrize("spec", ["hang", "wedged"])
def test_no_call_is_answered_while_all_else_is(spec: str) -> None:
    async def main() -> None:
        async with on_pipes(job(spec)) as pipes:
            pipes.say(
                request(1, "initialize", protocolVersion="2025-11-25"),
                call(2, "plain"),
                request(3, "tools/list"),
                request(4, "ping"),
                request(5, "resources/read", uri="mem://a"),
                request(6, "prompts/get", name="p"),
                call(7, "plain"),
                cancel(2),
                request(8, "ping"),
            )
            assert [(await pipes.receive())["id"] for _ in range(6)] == [1, 3, 4, 5, 6, 8]
            assert await last_words(pipes) == b""

    run(main)


def test_frozen_stops_everything_from_the_first_call_on() -> None:
    async def main() -> None:
        async with on_pipes(job("frozen")) as pipes:
            pipes.say(request(1, "ping"), request(2, "tools/list"))
            assert [(await pipes.receive())["id"] for _ in range(2)] == [1, 2]
            pipes.say(
                call(3, "plain"), request(4, "ping"), request(5, "tools/list"), call(6, "plain"), cancel(3)
            )
            assert await last_words(pipes) == b""

    run(main)


def test_recover_after_two_answers_the_third_call() -> None:
    async def main() -> None:
        async with on_pipes(job("recover-after:2")) as pipes:
            pipes.say(*(call(number, "plain") for number in (1, 2, 3, 4)))
            assert [(await pipes.receive())["id"] for _ in range(2)] == [3, 4]
            assert await last_words(pipes) == b""

    run(main)


def test_slow_is_late_and_silent_if_cancelled() -> None:
    async def main() -> None:
        async with on_pipes(job("slow:100")) as pipes:
            pipes.say(call(1, "plain"), call(2, "plain"), cancel(1), request(3, "ping"))
            assert [(await pipes.receive())["id"] for _ in range(2)] == [3, 2]
            assert await last_words(pipes) == b""

    run(main)


def test_a_fault_of_one_tool_leaves_the_others_alone() -> None:
    async def main() -> None:
        async with on_pipes(job("hang@search", "tool_error:no@echo")) as pipes:
            pipes.say(call(1, "search", q="x"), call(2, "plain"), call(3, "echo"))
            plain, echo = await pipes.receive(), await pipes.receive()
            assert (plain["id"], text_of(plain)) == (2, "hello")
            assert (echo["id"], text_of(echo), echo["result"]["isError"]) == (3, "no", True)
            assert await last_words(pipes) == b""

    run(main)


def test_a_fault_acts_on_a_tool_that_asks() -> None:
    async def main() -> None:
        async with on_pipes(job("slow:1@sampled", "hang@rooted")) as pipes:
            pipes.say(call(1, "sampled"), call(2, "rooted"))
            question = await pipes.receive()
            pipes.say(reply_to(question))
            assert text_of(await pipes.receive()) == "it said tea"
            assert await last_words(pipes) == b""

    run(main)


def test_a_hang_ends_with_a_sentinel() -> None:
    async def main() -> None:
        async with on_pipes(job("hang:0.05")) as pipes:
            pipes.say(call(1, "plain"))
            error = (await pipes.receive())["error"]
            assert error["message"].startswith("server unresponsive (fault injected): call to `plain`")

    run(main)


def test_faults_act_over_http_in_both_eras() -> None:
    async def main() -> None:
        async with over_http(job("http_status:503@plain", front="http")) as web:
            assert (await web.post(call(1, "plain"))).status_code == 503
            assert text_of(await web.ask_modern(call(2, "search", q="x"))) == "found x"

    run(main)


def test_a_port_of_zero_is_told_and_a_job_that_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match=r'rules\[0\].match.tool: no tool is named "serch"; did you mean'):
        check_mock_job(job("hang@serch"))
    with pytest.raises(InputError, match="fits stdio in the legacy or modern era"):
        check_mock_job(job("tcp_reset"))
    check_mock_job(job("tcp_reset", front="http"))
