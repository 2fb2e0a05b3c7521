"""Resource templates of a mock: listed, read by their variables in both eras, and hit by faults."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faultkit.base.errors import InputError
from faultkit.faults.call_fault import Era
from faultkit.mcp.mock.manifest import parse_manifest
from faultkit.mcp.mock.manifest_answers import ManifestAnswers
from faultkit.mcp.mock.mock_model import Manifest
from faultkit.mcp.mock.mock_server import MockJob, check_mock_job
from faultkit.plan import Plan
from tests.mcp.mock.mock_client import on_pipes, request, run
from tests.mcp.specs import parse_specs

MANIFEST = parse_manifest(
    {
        "tools": [],
        "resources": [{"uri": "mem://notes/first", "text": "the first"}],
        "resource_templates": [
            {
                "uri_template": "mem://notes/{id}",
                "name": "note",
                "title": "A note",
                "description": "By id.",
                "annotations": {"audience": ["user"]},
                "text": "note ${args.id}",
            },
            {"uriTemplate": "file:///{+path}", "mimeType": "image/png", "blob": "aGk="},
        ],
    }
)


def ask(method: str, era: Era = "legacy", manifest: Manifest = MANIFEST, **params: Any) -> Any:
    member = ManifestAnswers(manifest).answer(method, params, era)
    assert isinstance(member, bytes)
    return json.loads(b"{" + member + b"}")


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_templates_are_listed(era: Era) -> None:
    assert ask("resources/templates/list", era)["result"]["resourceTemplates"] == [
        {
            "uriTemplate": "mem://notes/{id}",
            "name": "note",
            "mimeType": "text/plain",
            "title": "A note",
            "description": "By id.",
            "annotations": {"audience": ["user"]},
        },
        {"uriTemplate": "file:///{+path}", "name": "file:///{+path}", "mimeType": "image/png"},
    ]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_resource_is_read_by_its_template(era: Era) -> None:
    assert ask("resources/read", era, uri="mem://notes/a%20b")["result"]["contents"] == [
        {"mimeType": "text/plain", "text": "note a b", "uri": "mem://notes/a%20b"}
    ]
    assert ask("resources/read", era, uri="file:///a/b.png")["result"]["contents"] == [
        {"mimeType": "image/png", "blob": "aGk=", "uri": "file:///a/b.png"}
    ]


def test_a_resource_with_the_uri_comes_before_templates() -> None:
    assert ask("resources/read", uri="mem://notes/first")["result"]["contents"][0]["text"] == "the first"


@pytest.mark.parametrize(("era", "code"), [("legacy", -32002), ("modern", -32602)])
def test_a_uri_that_fits_no_template_is_not_found(era: Era, code: int) -> None:
    assert ask("resources/read", era, uri="mem://notes/a/b")["error"]["code"] == code


def test_templates_alone_announce_resources() -> None:
    alone = parse_manifest({"tools": [], "resource_templates": [{"uri_template": "mem://{id}"}]})
    assert "resources" in ask("initialize", manifest=alone)["result"]["capabilities"]
    assert ask("resources/list", manifest=alone) == {"result": {"resources": []}}


def test_faults_hit_what_a_template_gives() -> None:
    async def main() -> None:
        job = MockJob(MANIFEST, Plan(parse_specs(("protocol_error@resource:mem://notes/7",))))
        async with on_pipes(job) as pipes:
            pipes.say(
                request(1, "resources/read", uri="mem://notes/7"),
                request(2, "resources/read", uri="mem://notes/8"),
            )
            replies = {reply["id"]: reply for reply in [await pipes.receive(), await pipes.receive()]}
            assert "error" in replies[1]
            assert replies[2]["result"]["contents"][0]["text"] == "note 8"

    run(main)


@pytest.mark.parametrize("target", ["mem://notes/7", "mem://notes/*", "mem://*", "*", "file:///a"])
def test_targets_that_a_template_may_give_are_accepted(target: str) -> None:
    check_mock_job(MockJob(MANIFEST, Plan(parse_specs((f"hang@resource:{target}",)))))


@pytest.mark.parametrize("target", ["mem://note", "http://*", "mem:/"])
def test_targets_that_no_template_can_give_are_refused(target: str) -> None:
    with pytest.raises(InputError, match="no resource is named"):
        check_mock_job(MockJob(MANIFEST, Plan(parse_specs((f"hang@resource:{target}",)))))
