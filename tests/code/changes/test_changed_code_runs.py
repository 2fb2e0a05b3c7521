"""Changed code that is run: every codemod changes a small program, and both versions print the same.

Python runs in processes of its own, JavaScript in Node.js. Go is checked by its parser and by the names of
its package, because there is no compiler here.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from faultkit.code.changes import codemods_for
from tests.code.changes.cases import changed, codemod_named
from tests.code.changes.upstream import Upstream

PATIENCE_S = 60.0

PYTHON: dict[str, str] = {
    "http-timeout": """
import sys
import requests
import urllib.request


def load(url):
    with urllib.request.urlopen(url) as answer:
        return requests.get(url).json(), answer.status


print(load(sys.argv[1]))
""",
    "shared-client": """
import sys
import requests
from flask import Flask

app = Flask(__name__)


@app.route("/")
def index():
    return requests.get(sys.argv[1], timeout=5).json()


print(index())
""",
    "socket-timeout": """
import asyncio
import socket
import sys

host, port = sys.argv[1].removeprefix("http://").split(":")


def ask():
    with socket.create_connection((host, int(port))) as peer:
        return peer.getpeername()[0]


async def connect():
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.close()
    return type(reader).__name__


print(ask(), asyncio.run(connect()))
""",
    "subprocess-timeout": """
import subprocess


def name():
    return subprocess.check_output(["echo", "hello"], text=True)


print(name())
""",
    "status-check": """
import sys
import requests


def load(url):
    return requests.get(url, timeout=5).json()


print(load(sys.argv[1]))
""",
    "retry": """
import sys
import requests


def load(url):
    return requests.get(url, timeout=5).status_code


print(load(sys.argv[1]))
""",
    "retry-bounds": """
import tenacity

tries = []


@tenacity.retry
def work():
    tries.append(1)
    if len(tries) < 2:
        raise OSError("again")
    return len(tries)


print(work())
""",
    "error-mapping": """
import sys
import httpx
from fastapi import FastAPI

app = FastAPI()


@app.get("/")
def index():
    return httpx.get(sys.argv[1]).raise_for_status().json()


print(index())
""",
    "context-managers": """
import os
import sqlite3
import sys


def first(path):
    file = open(path)
    line = file.readline()
    return line.strip()


def names(path):
    db = sqlite3.connect(path)
    cursor = db.execute("select 'a' union select 'b' order by 1 limit 5")
    return [row[0] for row in cursor.fetchall()]


print(first(__file__), names(":memory:"))
""",
    "exit-status": """
import subprocess


def run():
    subprocess.run(["true"], timeout=9)
    return "ran"


print(run())
""",
    "queue-size": """
import queue

jobs = queue.Queue()


def add(job):
    jobs.put(job)


for job in range(5):
    add(job)
print(jobs.qsize())
""",
    "cache-size": """
import functools


@functools.cache
def square(n):
    return n * n


print([square(n) for n in range(9)], square.cache_info().misses)
""",
    "fan-out": """
import asyncio
import sys
import httpx


async def load(client, number):
    answer = await client.get(f"{sys.argv[1]}/{number}")
    return answer.status_code, number


async def main(numbers):
    async with httpx.AsyncClient(timeout=20, trust_env=False) as client:
        return await asyncio.gather(*(load(client, number) for number in numbers))


print(asyncio.run(main(range(12))))
""",
    "mutable-default": '''
def add(item, to=[], options: dict[str, int] = {}):
    """Add it."""
    to.append(item)
    options[item] = 1
    return to, sorted(options)


print(add("a"), add("b", []), add("c", ["b"], {"d": 2}))
''',
    "monotonic": """
import time


def elapsed():
    start = time.time()
    return time.time() - start


print(elapsed() < 60)
""",
    "line-by-line": """
def count(path):
    with open(path) as file:
        return sum(1 for line in file.readlines() if line.strip())


print(count(__file__) > 3)
""",
    "blocking-calls": """
import asyncio
import socket
import time


async def find():
    time.sleep(0)
    return socket.getaddrinfo("127.0.0.1", 80)[0][4]


print(asyncio.run(find()))
""",
}
DIFFERENT = {"mutable-default": "(['a'], ['a']) (['b'], ['b']) (['b', 'c'], ['c', 'd'])\n"}
"""What the new version prints, where the old one shows the defect."""
FLASK = """
class Flask:
    def __init__(self, name):
        pass

    def route(self, path):
        return lambda function: function
"""


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()


def test_every_codemod_for_python_is_run() -> None:
    assert {each.name for each in codemods_for("python")} == {*PYTHON}
    assert {each.name for each in codemods_for("javascript")} == {*JAVASCRIPT}


@pytest.mark.parametrize("name", PYTHON)
def test_changed_python_prints_what_it_printed(name: str, upstream: Upstream, tmp_path: Path) -> None:
    text = PYTHON[name]
    new = changed(text, "python", codemod_named("python", name))
    assert new != text
    (tmp_path / "flask.py").write_text(FLASK)
    outputs = []
    for at, version in enumerate((text, new)):
        file = tmp_path / f"program{at}.py"
        file.write_text(version)
        done = subprocess.run(
            [sys.executable, file, upstream.url],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[1] == DIFFERENT.get(name, outputs[0])
    assert outputs[1].strip()


# JavaScript. Each function of a program is awaited, and its result printed.


JAVASCRIPT: dict[str, str] = {
    "http-timeout": """
const http = require("http");
const url = process.argv[2];
const { hostname, port } = new URL(url);
const options = { hostname, port, path: "/" };

function read(make) {
  return new Promise((resolve, reject) => {
    make((res) => res.resume().on("end", () => resolve(res.statusCode))).on("error", reject).end();
  });
}

async function main() {
  const fetched = await fetch(url);
  const posted = await fetch(url, { method: "GET" });
  const first = await new Promise((resolve, reject) => {
    http.request(options, (res) => resolve(res.resume().statusCode)).on("error", reject).end();
  });
  const second = await new Promise((resolve, reject) => {
    http.get(url, (res) => resolve(res.resume().statusCode)).on("error", reject);
  });
  const third = await new Promise((resolve, reject) => {
    http.get(new URL(url), { agent: false }, (res) => resolve(res.resume().statusCode)).on("error", reject);
  });
  const fourth = await new Promise((resolve, reject) => {
    http.request({ hostname, port }, (res) => resolve(res.resume().statusCode)).on("error", reject).end();
  });
  console.log(JSON.stringify([fetched.status, posted.status, first, second, third, fourth]));
  process.exit(0);
}
main();
""",
    "status-check": """
async function load(url) {
  const res = await fetch(url, { signal: AbortSignal.timeout(5000) });
  return await res.json();
}
load(process.argv[2]).then((found) => console.log(JSON.stringify(found)));
""",
    "closing": """
const { open } = require("fs/promises");

async function read(path) {
  const handle = await open(path);
  const text = await handle.readFile("utf8");
  return text.length;
}
read(__filename).then((size) => console.log(size > 10));
""",
}


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize("name", JAVASCRIPT)
def test_changed_javascript_prints_what_it_printed(name: str, upstream: Upstream, tmp_path: Path) -> None:
    text = JAVASCRIPT[name]
    new = changed(text, "javascript", codemod_named("javascript", name))
    assert new != text
    outputs = []
    for at, version in enumerate((text, new)):
        file = tmp_path / f"program{at}.cjs"
        file.write_text(version)
        done = subprocess.run(
            ["node", file, upstream.url], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    json.loads(outputs[1])


@pytest.mark.skipif(shutil.which("go") is None, reason="needs a Go compiler")
def test_changed_go_compiles(tmp_path: Path) -> None:
    text = (
        'package main\n\nimport "net/http"\n\nfunc main() {\n\tr, err := http.Get("http://127.0.0.1:1")\n'
        "\tif err != nil {\n\t\treturn\n\t}\n\tr.Body.Close()\n}\n"
    )
    (tmp_path / "main.go").write_text(changed(text, "go", codemod_named("go", "http-timeout")))
    (tmp_path / "go.mod").write_text("module a\n\ngo 1.21\n")
    subprocess.run(["go", "vet", "."], cwd=tmp_path, check=True, timeout=PATIENCE_S)
