"""Hostile arguments over the wire: the server always sends a valid result, and keeps running.

Arguments are made from each tool's schema as the server lists it, and then changed. Impact tools have limits
so low that a run takes no time, and an app that exists one time in three.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from faultkit.agent_tools.listed_schemas import input_schema
from faultkit.agent_tools.tool_catalog import TOOLS
from faultkit.code import local_path
from tests.agent_tools.impact_app import app
from tests.agent_tools.schema_values import arguments_for
from tests.agent_tools.test_stdio import Served, served

EXAMPLES = {"code": 50, "impact": 6} if os.environ.get("ALL") else {"code": 12, "impact": 3}
LIMITS = ("--max-duration", "50ms", "--max-clients", "2", "--max-rps", "100", "--max-timeout", "100ms")
NOWHERE = "http://127.0.0.1:9/"
REFUSALS = (types.PARSE_ERROR, types.INVALID_REQUEST)
CODE = """\
import os
import httpx
from fastapi import FastAPI
app = FastAPI()

@app.get("/")
def index():
    while True:
        httpx.get(os.environ["UPSTREAM"] + "/x")

class Store:
    def save(self, rows):
        for row in rows:
            open(row).write("x")
"""
SNIPPETS = (
    *(CODE, "def f(:\n", "(" * 2000, "@" * 2000, "\x00\x01", "```\n--- a\n+++ b\n```", "\ufeffdef f(): pass"),
    *("func main() { http.Get(url) }", "class A { void m() { } }", "fn f() { loop { get(); } }", "\r" * 500),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create files that are hard to read."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "good.py").write_text(CODE)
    (folder / "latin.py").write_bytes("x = 'é'\n".encode("latin-1"))
    (folder / "null.py").write_bytes(b"def f():\0 pass\n")
    (folder / "noise.py").write_bytes(bytes(range(256)) * 40)
    (folder / "deep.py").write_text("f(" * 3000)
    (folder / "loop.py").symlink_to(folder / "loop.py")
    os.mkfifo(folder / "pipe.py")
    os.truncate(os.open(folder / "huge.py", os.O_CREAT | os.O_WRONLY), 1 << 33)
    return folder


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    index = str(tmp_path_factory.mktemp("index"))
    command = [sys.executable, "-m", "faultkit", "agent", "tool", "--index-dir", index, *LIMITS]
    with served(command, NO_PROXY="*") as server:
        server.shake_hands()
        yield server
        code, left, errors = server.end()
    assert (code, left) == (0, [])
    assert "Traceback" not in errors, errors


@pytest.fixture(scope="module")
def app_url() -> Iterator[str]:
    with app() as service:
        yield service.url


def good(place: Path, app_url: str) -> dict[str, st.SearchStrategy[Any]]:
    """Return sensible arguments of a tool; the others can be any value that the schema allows."""
    return {
        "file": st.just(str(place / "good.py")),
        "source_dir": st.just(str(place)),
        "func": st.sampled_from(["index", "Store.save", "save:12"]),
        "lang": st.sampled_from(["python", "py"]),
        "snippet": st.sampled_from(SNIPPETS),
        "verify": st.just(False),
        "url": st.sampled_from([app_url, NOWHERE, NOWHERE]),
        "method": st.sampled_from(["GET", "POST", "get"]),
        "duration": st.sampled_from(["50ms", 0.05, "0.05s"]),
        "num_clients": st.sampled_from([1, "1", 2]),
        "rps": st.sampled_from([20, "20", 40.0]),
        "timeout": st.sampled_from([0.05, "0.1"]),
        "proxies": st.just([]),
        "slos": st.lists(st.sampled_from(["99% < 350ms", "latency:99:1s", "99.9% available"]), max_size=2),
        "headers": st.just({}),
        "baseline": st.just(False),
        "seed": st.integers(0) | st.just("a"),
        "vary": st.sampled_from(["faults.latency.mean=0..9ms", "load.rps=1..9"]),
        # Too small to decide anything, so that nothing is sent.
        "budget": st.sampled_from(["1s", "9", "9 requests"]),
        "fail_below": st.none(),
    }


def bad(place: Path) -> dict[str, st.SearchStrategy[Any]]:
    files = sorted(str(path) for path in place.iterdir())
    nonsense: dict[str, list[Any]] = {
        "file": [*files, f"file://{files[0]}", str(place), "/dev/zero", "/proc/self/mem", f"{place}/%00"],
        "func": ["absent", ":", "index:99999999999999999999", "a" * 999],
        "lang": ["klingon", "go", "rust", "tsx", "bash"],
        "url": [
            "http://192.0.2.1/",
            f"{NOWHERE}?a=%00&b={{x}}",
            "http://[::1",
            "http://a:b@127.0.0.1:99999/",
        ],
        "method": ["G E T", "TRACE\r\nX: y", "a" * 33],
        "duration": ["1h", "0s", "-1s", "1e9s", "9" * 400],
        "num_clients": [0, 10**9, 1.5],
        "rps": [0, 1e9, 1e-300],
        "timeout": [0, 1e300],
        "proxies": [
            ["0=a:1"],
            ["70000=a:1"],
            ["x"],
            ["1=http://:0"],
            ["20001=a:1", "20001=b:1"],
            ["[::1]:0=h"],
        ],
        "slos": [["%"], ["1e9% < 1h"], ["latency:0:0s"], ["99% < 1"]],
        "headers": [{"a\r\nb": "c"}, {"host": "x"}, {"": ""}, {"a": "b\r\nc: d"}, {"content-length": "9"}],
        "seed": [-1, "", "\0"],
        "vary": ["x", "=..", "load.rps=9..9", "faults.latency.mean=0..1e999", "faults[0].mean=0..1"],
        "budget": ["0", "1h", "-1", "9" * 30],
        "fail_below": ["x", "-1", "1e999"],
    }
    return {name: st.sampled_from(values) for name, values in nonsense.items()}


def tamed(arguments: dict[str, Any]) -> dict[str, Any]:
    """Skip calls that would index the whole machine or run code for a minute: allowed, but slow."""
    folder, verify = arguments.get("source_dir"), arguments.get("verify")
    changed = dict(arguments)
    if verify is True or (isinstance(verify, str) and verify.strip().lower() == "true"):
        changed["verify"] = False
    if isinstance(folder, str) and "hostile" not in folder and _is_folder(folder.strip()):
        del changed["source_dir"]
    return changed


def _is_folder(path: str) -> bool:
    return "\0" not in path and os.path.isdir(local_path(path))


@pytest.mark.parametrize("name", TOOLS)
def test_whatever_arguments_come_the_answer_is_valid(
    server: Served, place: Path, app_url: str, name: str
) -> None:
    kind = "impact" if "_impact_" in name or name == "fault_find_breaking_point" else "code"
    schema = input_schema(TOOLS[name])
    values = arguments_for(schema, good(place, app_url), bad(place)).map(tamed)

    @settings(max_examples=EXAMPLES[kind], suppress_health_check=list(HealthCheck))
    @given(values)
    def check(arguments: dict[str, Any]) -> None:
        reply = asked(server, name, arguments)
        if is_plain(arguments):
            check_result(name, reply)
        elif "error" in reply:
            assert types.JSONRPCError.model_validate(reply).error.code in REFUSALS, reply

    check()
    assert server.ask("alive", "ping")["result"] == {}


def is_plain(arguments: dict[str, Any]) -> bool:
    """Return whether a value can be written as JSON in UTF-8."""
    try:
        json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        return False
    return True


@cache
def output_of(name: str) -> Draft202012Validator:
    return Draft202012Validator(TOOLS[name].output)


def check_result(name: str, reply: dict[str, Any]) -> None:
    types.JSONRPCResponse.model_validate(reply)
    result = types.CallToolResult.model_validate(reply["result"])
    [content] = result.content
    assert isinstance(content, types.TextContent)
    assert content.text
    if result.is_error:
        assert result.structured_content is None
        assert not content.text.startswith("unexpected "), content.text
        assert "Traceback" not in content.text
        assert 'File "' not in content.text
        assert len(content.text) < 5000
    else:
        output_of(name).validate(result.structured_content)


_ids = iter(range(1, sys.maxsize))


def asked(server: Served, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the reply to a line; the reply to a line that is not JSON has no id."""
    id = next(_ids)
    params = {"name": name, "arguments": arguments}
    server.send_raw(
        json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).encode()
    )
    reply = server.receive()
    assert reply["id"] in (id, None)
    return reply
