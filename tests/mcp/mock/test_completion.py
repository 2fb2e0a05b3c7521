"""Completion of a mock: values of prompt arguments and template variables, in both eras."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faultkit.faults.call_fault import Era
from faultkit.mcp.mock.manifest import parse_manifest
from faultkit.mcp.mock.manifest_answers import ManifestAnswers
from faultkit.mcp.mock.mock_model import Manifest
from faultkit.mcp.mock.mock_server import MockJob
from faultkit.plan import Plan
from tests.mcp.mock.mock_client import on_pipes, request, run
from tests.mcp.specs import parse_specs

NUMBERS = [f"n{number:03}" for number in range(150)]
MANIFEST = parse_manifest(
    {
        "tools": [],
        "resource_templates": [{"uri_template": "mem://{city}/{n}", "complete": {"n": NUMBERS}}],
        "prompts": [
            {
                "name": "p",
                "arguments": [
                    {"name": "city", "required": True, "complete": ["Oslo", "Oss", "Paris"]},
                    {"name": "other"},
                ],
            }
        ],
    }
)
BARE = parse_manifest({"tools": [], "prompts": [{"name": "p", "arguments": [{"name": "city"}]}]})
PROMPT = {"type": "ref/prompt", "name": "p"}
TEMPLATE = {"type": "ref/resource", "uri": "mem://{city}/{n}"}


def ask(method: str, era: Era = "legacy", manifest: Manifest = MANIFEST, **params: Any) -> Any:
    member = ManifestAnswers(manifest).answer(method, params, era)
    assert isinstance(member, bytes)
    return json.loads(b"{" + member + b"}")


def completed(ref: Any, name: Any, value: Any, era: Era = "legacy") -> Any:
    return ask("completion/complete", era, ref=ref, argument={"name": name, "value": value})


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize(
    ("begun", "values"),
    [("", ["Oslo", "Oss", "Paris"]), ("Os", ["Oslo", "Oss"]), ("os", []), ("Oslo", ["Oslo"])],
)
def test_values_that_begin_so_are_offered(begun: str, values: list[str], era: Era) -> None:
    reply = completed(PROMPT, "city", begun, era)["result"]
    assert reply["completion"] == {"values": values, "total": len(values), "hasMore": False}


def test_at_most_a_hundred_values_are_sent() -> None:
    reply = completed(TEMPLATE, "n", "n")["result"]["completion"]
    assert reply == {"values": NUMBERS[:100], "total": 150, "hasMore": True}
    reply = completed(TEMPLATE, "n", "n14")["result"]["completion"]
    assert reply == {"values": NUMBERS[140:], "total": 10, "hasMore": False}


@pytest.mark.parametrize(("ref", "name"), [(PROMPT, "other"), (TEMPLATE, "city")])
def test_an_argument_without_values_gets_none(ref: Any, name: str) -> None:
    assert completed(ref, name, "x")["result"]["completion"] == {"values": [], "total": 0, "hasMore": False}


@pytest.mark.parametrize(
    ("ref", "name", "value", "problem"),
    [
        (None, "city", "", "ref.type: expected ref/prompt or ref/resource, got nothing"),
        ({"type": "x"}, "city", "", 'ref.type: expected ref/prompt or ref/resource, got "x"'),
        ({"type": "ref/prompt", "name": "q"}, "city", "", 'ref.name: expected a prompt of the mock, got "q"'),
        (
            {"type": "ref/resource", "uri": []},
            "n",
            "",
            "ref.uri: expected a template of the mock, got a list",
        ),
        (PROMPT, "town", "", 'argument.name: expected one of city, other, got "town"'),
        (PROMPT, [], "", "argument.name: expected one of city, other, got a list"),
        (PROMPT, "city", 5, "argument.value: expected a text, got 5"),
    ],
)
def test_what_is_not_there_is_refused(ref: Any, name: Any, value: Any, problem: str) -> None:
    assert completed(ref, name, value)["error"] == {"code": -32602, "message": f"Invalid params: {problem}"}


def test_the_capability_is_announced_only_if_something_is_completed() -> None:
    assert ask("initialize")["result"]["capabilities"]["completions"] == {}
    assert ask("server/discover", "modern")["result"]["capabilities"]["completions"] == {}
    assert "completions" not in ask("initialize", manifest=BARE)["result"]["capabilities"]
    assert ask("completion/complete", manifest=BARE, ref=PROMPT)["error"]["code"] == -32601


def test_the_list_of_prompts_does_not_show_the_values() -> None:
    assert ask("prompts/list")["result"]["prompts"] == [
        {"name": "p", "arguments": [{"name": "city", "required": True}, {"name": "other"}]}
    ]


def test_faults_hit_completion() -> None:
    async def main() -> None:
        async with on_pipes(
            MockJob(MANIFEST, Plan(parse_specs(("protocol_error@completion/complete",))))
        ) as pipes:
            pipes.say(request(1, "completion/complete", ref=PROMPT, argument={"name": "city", "value": ""}))
            assert "error" in await pipes.receive()

    run(main)
