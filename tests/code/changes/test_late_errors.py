"""Errors of what runs later: a try around the call of a generator cannot catch them, so that none is made.

The programs call their handler, which reaches an upstream that refuses connections, and print the error.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.code.changes.cases import boldly

PATIENCE_S = 60.0

_HEAD = """
import asyncio
import requests
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

app = FastAPI()


"""
_EVENTS = """def events():
    yield requests.get("http://127.0.0.1:1/", timeout=5).status_code


"""
_NESTED = """@app.get("/")
def index():
    def events():
        yield requests.get("http://127.0.0.1:1/", timeout=5).status_code

    return StreamingResponse(events())
"""
_COROUTINE = """async def load():
    return requests.get("http://127.0.0.1:1/", timeout=5).status_code


@app.get("/")
async def index():
    {}


def sent():
    asyncio.run(index())
"""
_TASK = "task = asyncio.create_task(load())\n    return await task"
_SENT = """

def sent():
    async def take():
        return [piece async for piece in index().body_iterator]

    return asyncio.run(take())
"""
_TAIL = """

try:
    sent()
except Exception as error:
    print(type(error).__name__)
"""


def _route(*lines: str) -> str:
    return '@app.get("/")\ndef index():\n' + "".join(f"    {each}\n" for each in lines)


LATER = {
    "a generator": _EVENTS + _route('return StreamingResponse(events(), media_type="text/plain")') + _SENT,
    "a generator of a function": (
        f"{_EVENTS}def answer():\n    return StreamingResponse(events())\n\n\n"
        f"{_route('return answer()')}{_SENT}"
    ),
    "a generator in the handler": _NESTED + _SENT,
    "a generator in a try": (
        _EVENTS
        + _route(
            "try:", "    return StreamingResponse(events())", "except OSError as e:", "    return str(e)"
        )
        + _SENT
    ),
    "a task": _COROUTINE.format(_TASK),
}
AT_ONCE = {
    "a list": _EVENTS + _route("return list(events())") + "\n\nsent = index\n",
    "a loop": (
        _EVENTS + _route("for each in events():", "    print(each)", "return 1") + "\n\nsent = index\n"
    ),
    "a coroutine": _COROUTINE.format("return await load()"),
    "coroutines together": _COROUTINE.format("return await asyncio.gather(load())"),
}


def _output(text: str, folder: Path) -> str:
    path = folder / "program.py"
    path.write_text(text + _TAIL)
    done = subprocess.run(
        [sys.executable, "-B", str(path)], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", LATER)
def test_no_handler_is_put_where_it_can_never_run(name: str, tmp_path: Path) -> None:
    found = boldly(_HEAD + LATER[name])
    assert "504" not in found.new
    assert "FK-R011" in {each.rule.id for each in found.left}
    assert "FK-R011" not in {each.rule.id for each in found.answered}
    assert _output(found.new, tmp_path) == _output(_HEAD + LATER[name], tmp_path) == "ConnectionError\n"


@pytest.mark.parametrize("name", AT_ONCE)
def test_errors_of_what_is_waited_for_are_mapped(name: str, tmp_path: Path) -> None:
    found = boldly(_HEAD + AT_ONCE[name])
    assert _output(_HEAD + AT_ONCE[name], tmp_path) == "ConnectionError\n"
    assert _output(found.new, tmp_path) == "HTTPException\n"
