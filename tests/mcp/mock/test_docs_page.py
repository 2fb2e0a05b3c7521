"""docs/mock.md: its manifest is served and answers as the page shows."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from faultkit.mcp.mock.manifest import load_manifest, read_manifest
from tests.mcp.mock.mock_client import call, request

PAGE = (Path(__file__).parents[3] / "docs" / "mock.md").read_text("utf-8")
MANIFEST = re.findall(r"```yml\n(.+?)```", PAGE, flags=re.DOTALL)


def mock(folder: Path, text: str) -> list[str]:
    """Return the answers of the page's mock to these lines."""
    (folder / "tools.yml").write_text(MANIFEST[0])
    command = [sys.executable, "-m", "faultkit", "mock", "--tools-from", "tools.yml"]
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, encoding="utf-8", cwd=folder, timeout=20
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_the_manifest_of_the_page_can_be_read() -> None:
    assert [tool.name for tool in read_manifest(MANIFEST[0]).tools] == ["search", "status"]


@pytest.mark.parametrize("text", MANIFEST[1:])
def test_the_other_examples_are_parts_of_a_manifest(text: str) -> None:
    read_manifest(text if text.startswith("tools:") else f"tools: []\n{text}")


def test_the_example_for_the_conformance_suite_can_be_read() -> None:
    manifest = load_manifest(Path(__file__).parents[3] / "examples/conformance.yml")
    assert {tool.name for tool in manifest.tools} >= {"test_tool_with_progress", "test_sampling"}
    assert (manifest.has_updates, sorted(manifest.changing_lists)) == (True, ["prompts", "tools"])


def test_the_example_says_what_the_page_shows(tmp_path: Path) -> None:
    shown = re.search(r"\$ echo ('.+?') \| fault mock --tools-from tools\.yml\n(.+?)\n```", PAGE)
    assert shown is not None
    assert mock(tmp_path, shlex.split(shown[1])[0] + "\n") == [shown[2]]


def test_the_manifest_of_the_page_answers_as_it_reads(tmp_path: Path) -> None:
    messages = [
        *(call(number, "search", q="latest") for number in range(1, 5)),
        call(5, "search", q="x" * 101),
        call(6, "search", q="tea"),
        request(7, "prompts/get", name="triage", arguments={"id": "42"}),
        request(8, "prompts/get", name="triage"),
        request(9, "resources/read", uri="mem://readme"),
    ]
    lines = mock(tmp_path, "".join(json.dumps(each) + "\n" for each in messages))
    replies = [json.loads(each) for each in lines]
    said = [reply.get("result", {}).get("content", [{}])[0].get("text") for reply in replies[:6]]
    assert said[0] == "nothing yet"
    assert replies[1]["error"] == {"code": -32000, "message": "index is rebuilding"}
    assert said[2:4] == ["report 42", "report 42"]
    assert (said[4], replies[4]["result"]["isError"]) == ("the question is too long", True)
    assert replies[5]["result"]["structuredContent"] == {"query": "tea", "found": 3}
    told = replies[6]["result"]["messages"][0]["content"]["text"]
    assert told == "Say what happened in incident 42."
    assert replies[7]["error"]["message"] == "missing required argument `id`"
    assert replies[8]["result"]["contents"][0]["text"] == "Read me first."


@pytest.mark.parametrize("key", ["mock_server", "a tool", "a response", "a resource", "a prompt"])
def test_the_page_names_every_key_of_the_manifest(key: str) -> None:
    from faultkit.mcp.mock import manifest_keys
    from faultkit.mcp.mock import manifest_responses as responses

    known = {
        "mock_server": manifest_keys.SERVER.names,
        "a tool": manifest_keys.TOOL.names,
        "a response": [key for key in responses.RESPONSE.names if key != "default"],
        "a resource": manifest_keys.RESOURCE.names,
        "a prompt": manifest_keys.PROMPT.names,
    }[key]
    title = re.escape(f"| key of `{key}` " if key == "mock_server" else f"| key of {key} ")
    table = re.search(title + r"\|.+?\n\n", PAGE, flags=re.DOTALL)
    assert table is not None
    named = set(re.findall(r"`(\w+)`", table[0]))
    assert set(known) <= named
