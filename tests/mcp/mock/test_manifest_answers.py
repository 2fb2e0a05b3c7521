"""Answers of a manifest in both eras, request by request, and the names that rules can target."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faultkit.faults.call_fault import Era
from faultkit.mcp.mock.answer_source import PendingAnswer
from faultkit.mcp.mock.manifest import parse_manifest, read_manifest
from faultkit.mcp.mock.manifest_answers import ManifestAnswers
from faultkit.mcp.mock.mock_recording import read_recording
from faultkit.mcp.targets import METHODS, Inventory
from faultkit.mcp.wire.era import CAPABILITIES_KEY, SERVER_INFO_KEY, VERSION_KEY

MANIFEST = parse_manifest(
    {
        "name": "shop",
        "version": "1",
        "instructions": "Be kind.",
        "tools": [
            {
                "name": "search",
                "input_schema": {"type": "object", "required": ["q"]},
                "responses": [
                    {"when": 'args.q == "a"', "result": "found ${args.q} in ${tool}, call ${call}"},
                    {"when": "call > 3", "error": {"code": -7, "message": "tired"}},
                    {
                        "when": 'args.q == "s"',
                        "sequence": ["one", {"error": {"code": -6, "message": "no", "data": [1]}}, {"n": 3}],
                    },
                ],
            },
            {"name": "fails", "responses": [{"error": "broken"}]},
            {"name": "asks", "sampling": True, "roots_list": True, "response": "${sampling} ${roots.x}"},
        ],
        "resources": [{"uri": "mem://a", "text": "hi"}],
        "prompts": [
            {
                "name": "p",
                "arguments": [{"name": "x", "required": True}, {"name": "y"}],
                "text": "do ${args.x}",
            }
        ],
    }
)
BARE = parse_manifest([{"name": "a"}])
INFO = {"name": "shop", "version": "1"}
META = {SERVER_INFO_KEY: INFO}


def ask(
    answers: ManifestAnswers, method: str, params: dict[str, Any] | None = None, era: Era = "legacy"
) -> Any:
    member = answers.answer(method, params or {}, era)
    assert isinstance(member, bytes)
    return json.loads(b"{" + member + b"}")


def call(answers: ManifestAnswers, name: str, era: Era = "legacy", **arguments: Any) -> Any:
    return ask(answers, "tools/call", {"name": name, "arguments": arguments}, era)


def text(said: str) -> dict[str, Any]:
    return {"result": {"content": [{"type": "text", "text": said}]}}


def test_the_welcome_names_what_there_is() -> None:
    capabilities = {
        "tools": {"listChanged": False},
        "resources": {"listChanged": False, "subscribe": False},
        "prompts": {"listChanged": False},
    }
    answers = ManifestAnswers(MANIFEST)
    for asked, given in (("2024-11-05", "2024-11-05"), ("2025-11-25", "2025-11-25"), ("1999", "2025-11-25")):
        assert ask(answers, "initialize", {"protocolVersion": asked})["result"] == {
            "protocolVersion": given,
            "capabilities": capabilities,
            "serverInfo": INFO,
            "instructions": "Be kind.",
        }
    assert ask(answers, "server/discover", era="modern")["result"] == {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": capabilities,
        "instructions": "Be kind.",
        "_meta": META,
    }
    bare = ask(ManifestAnswers(BARE), "initialize")["result"]
    assert bare["capabilities"] == {"tools": {"listChanged": False}}
    assert "instructions" not in bare


@pytest.mark.parametrize(
    ("method", "era"),
    [
        ("nope", "legacy"),
        ("initialize", "modern"),
        ("ping", "modern"),
        ("server/discover", "legacy"),
        ("completion/complete", "legacy"),
    ],
)
def test_what_is_not_there_is_no_method(method: str, era: Era) -> None:
    problem = {"code": -32601, "message": f"method `{method}` is not there in the mock"}
    assert ask(ManifestAnswers(MANIFEST), method, era=era) == {"error": problem}


@pytest.mark.parametrize(
    "method", ["resources/list", "resources/read", "resources/templates/list", "prompts/get"]
)
def test_without_resources_and_prompts_there_are_no_methods_for_them(method: str) -> None:
    assert ask(ManifestAnswers(BARE), method)["error"]["code"] == -32601


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_lists_resources_and_prompts_are_answered_in_both_eras(era: Era) -> None:
    answers = ManifestAnswers(MANIFEST)
    cached = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "_meta": META}
    more = cached if era == "modern" else {}
    listed = {"tools": [tool.listed for tool in MANIFEST.tools]}
    assert ask(answers, "tools/list", era=era) == {"result": {**more, **listed}}
    assert ask(answers, "resources/templates/list", era=era) == {"result": {**more, "resourceTemplates": []}}
    contents = [{"uri": "mem://a", "mimeType": "text/plain", "text": "hi"}]
    assert ask(answers, "resources/read", {"uri": "mem://a"}, era) == {
        "result": {**more, "contents": contents}
    }
    prompt = ask(answers, "prompts/get", {"name": "p", "arguments": {"x": "it"}}, era)["result"]
    assert prompt["messages"] == [{"role": "user", "content": {"type": "text", "text": "do it"}}]
    assert ("resultType" in prompt, "ttlMs" in prompt) == (era == "modern", False)


def test_ping_is_of_the_old_era() -> None:
    assert ask(ManifestAnswers(MANIFEST), "ping") == {"result": {}}


@pytest.mark.parametrize(
    ("method", "params", "code", "message"),
    [
        ("tools/call", {"name": "nope"}, -32602, "tool `nope` is not declared in the mock"),
        ("tools/call", {}, -32602, "tool `None` is not declared in the mock"),
        ("tools/call", {"name": ["x"]}, -32602, "tool `['x']` is not declared in the mock"),
        ("tools/call", {"name": "search"}, -32602, "missing required argument `q`"),
        ("tools/call", {"name": "search", "arguments": [1]}, -32602, "expected an object as arguments"),
        ("resources/read", {"uri": "mem://b"}, -32002, "resource `mem://b` is not declared in the mock"),
        ("resources/read", {"uri": 5}, -32002, "resource `5` is not declared in the mock"),
        ("prompts/get", {"name": "q"}, -32602, "prompt `q` is not declared in the mock"),
        ("prompts/get", {"name": "p"}, -32602, "missing required argument `x`"),
    ],
)
def test_what_was_not_declared_is_refused(
    method: str, params: dict[str, Any], code: int, message: str
) -> None:
    error = ask(ManifestAnswers(MANIFEST), method, params)["error"]
    assert (error["code"], error["message"]) == (code, message)


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("tools/call", {"name": "late"}, "tool `late` is not there now, by its listed_when"),
        ("resources/read", {"uri": "mem://l"}, "resource `mem://l` is not there now, by its listed_when"),
        ("prompts/get", {"name": "p"}, "prompt `p` is not there now, by its listed_when"),
    ],
)
def test_what_is_declared_and_not_there_is_refused_with_the_reason(
    method: str, params: dict[str, Any], message: str
) -> None:
    late = {"listed_when": "calls.login > 0"}
    manifest = parse_manifest(
        {
            "tools": [{"name": "login"}, {"name": "late", **late}],
            "resources": [{"uri": "mem://l", "text": "l", **late}],
            "prompts": [{"name": "p", **late}],
        }
    )
    assert ask(ManifestAnswers(manifest), method, params)["error"]["message"] == message


def test_a_missing_resource_has_another_code_in_the_modern_era() -> None:
    error = ask(ManifestAnswers(MANIFEST), "resources/read", {"uri": "x"}, "modern")["error"]
    assert (error["code"], error["data"]) == (-32602, {"uri": "x"})


def test_conditions_sequences_and_counts() -> None:
    answers = ManifestAnswers(MANIFEST)
    assert call(answers, "search", q="a") == text("found a in search, call 1")
    assert call(answers, "search", q="s") == text("one")
    assert call(answers, "search", q="s") == {"error": {"code": -6, "message": "no", "data": [1]}}
    # The fourth call: the second condition holds now, but the first still comes before it.
    assert call(answers, "search", q="s") == {"error": {"code": -7, "message": "tired"}}
    assert call(answers, "search", q="a") == text("found a in search, call 5")
    assert call(answers, "fails") == {
        "result": {"content": [{"type": "text", "text": "broken"}], "isError": True}
    }


def test_the_last_of_a_sequence_stays_and_what_nothing_covers_is_answered() -> None:
    tool = {"name": "a", "responses": [{"when": "args.x == 1", "sequence": ["one", "two"]}]}
    answers = ManifestAnswers(parse_manifest([tool]))
    given = [call(answers, "a", x=1), call(answers, "a", x=1), call(answers, "a"), call(answers, "a", x=1)]
    assert given == [text("one"), text("two"), text("mock a"), text("two")]


def test_each_sequence_has_its_own_count() -> None:
    tool = {
        "name": "a",
        "responses": [
            {"when": "args.x == 1", "sequence": ["one", "two"]},
            {"when": "args.x == 2", "sequence": ["uno", "dos"]},
        ],
    }
    answers = ManifestAnswers(parse_manifest([tool, {**tool, "name": "b"}]))
    calls = (("a", 1), ("a", 2), ("a", 1), ("b", 1), ("b", 2))
    given = [call(answers, name, x=x)["result"]["content"][0]["text"] for name, x in calls]
    assert given == ["one", "uno", "two", "one", "uno"]


def test_results_of_the_modern_era_say_that_they_are_whole() -> None:
    answers = ManifestAnswers(MANIFEST)
    result = call(answers, "search", "modern", q="a")["result"]
    assert (result["resultType"], result["_meta"]) == ("complete", META)
    assert call(answers, "fails", "modern")["result"]["resultType"] == "complete"
    assert "resultType" not in call(answers, "fails")["result"]


def test_a_tool_that_asks_says_what_and_goes_on_with_what_it_heard() -> None:
    answers = ManifestAnswers(MANIFEST)
    asking = answers.answer("tools/call", {"name": "asks"}, "legacy")
    assert isinstance(asking, PendingAnswer)
    assert [question.method for question in asking.questions] == ["sampling/createMessage", "roots/list"]
    member = asking.then({"sampling": {"text": "yes"}, "roots": {"x": 2}})
    assert json.loads(b"{" + member + b"}") == text('{"text": "yes"} 2')


def modern_params(*able: str, **more: Any) -> dict[str, Any]:
    meta = {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {name: {} for name in able}}
    return {"name": "asks", "_meta": meta, **more}


def test_in_the_modern_era_a_tool_asks_by_a_result_and_is_called_again() -> None:
    answers = ManifestAnswers(MANIFEST)
    asked = ask(answers, "tools/call", modern_params("sampling", "roots"), "modern")["result"]
    assert asked["resultType"] == "input_required"
    assert {key: value["method"] for key, value in asked["inputRequests"].items()} == {
        "sampling": "sampling/createMessage",
        "roots": "roots/list",
    }
    half = modern_params("sampling", "roots", inputResponses={"sampling": 1})
    assert ask(answers, "tools/call", half, "modern")["result"]["resultType"] == "input_required"
    whole = modern_params("sampling", "roots", inputResponses={"sampling": {"s": 1}, "roots": {"x": 3}})
    given = ask(answers, "tools/call", whole, "modern")["result"]
    assert given["content"] == [{"type": "text", "text": '{"s": 1} 3'}]


def test_a_modern_client_that_cannot_be_asked_is_told_what_it_lacks() -> None:
    error = ask(ManifestAnswers(MANIFEST), "tools/call", modern_params("sampling"), "modern")["error"]
    assert error == {
        "code": -32021,
        "message": "tool `asks` asks its client for roots",
        "data": {"requiredCapabilities": {"roots": {}}},
    }


# --- inventories -----------------------------------------------------------------------------------


def recorded(*asked: tuple[str, dict[str, Any], dict[str, Any]]) -> str:
    """Return a recording of these methods, their parameters and the members of their replies."""
    lines = []
    for id, (method, params, reply) in enumerate(asked, 1):
        request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        lines.append({"t": 0, "session": "s", "from": "client", "message": request})
        answer = {"jsonrpc": "2.0", "id": id, **reply}
        lines.append({"t": 0, "session": "s", "from": "server", "message": answer})
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def test_a_manifest_has_what_it_lists() -> None:
    text = "{name: db, tools: [{name: a}], resources: [{uri: 'm://r'}], prompts: [{name: p}, {name: q}]}"
    assert read_manifest(text).inventory == Inventory("db", ("a",), ("m://r",), ("p", "q"), METHODS)


def test_a_recording_has_what_it_listed_and_what_was_asked_of_it_and_there() -> None:
    missing = {"error": {"code": -32002, "message": "no"}}
    text = recorded(
        ("tools/list", {}, {"result": {"tools": [{"name": "a"}]}}),
        ("resources/list", {}, {"result": {"resources": [{"uri": "m://r"}, {"name": "odd"}]}}),
        ("resources/read", {"uri": "m://t/1"}, {"result": {"contents": []}}),
        ("resources/read", {"uri": "m://none"}, missing),
        ("prompts/get", {"name": "p"}, {"result": {"messages": []}}),
        ("acme/do", {}, {"result": {}}),
    )
    found = read_recording(text).inventory
    assert (found.tools, found.resources, found.prompts) == (("a",), ("m://r", "m://t/1"), ("p",))
    assert found.methods == (*METHODS, "acme/do")
