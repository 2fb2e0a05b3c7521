"""JavaScript that a change would break: files that are needed later, arguments that may be no URL.

The programs run before and after the safe changes.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.code.changes.cases import asked, boldly, safely
from tests.code.changes.upstream import Upstream

PATIENCE_S = 60.0

KEPT = {
    "a timer": """
function later(path) {
  const fd = fs.openSync(path, "r");
  const bytes = Buffer.alloc(5);
  setTimeout(() => {
    fs.readSync(fd, bytes, 0, 5, 0);
    console.log(bytes.toString());
  }, 1);
}
later("data");
""",
    "a callback": """
function later(path) {
  const fd = fs.openSync(path, "r");
  const bytes = Buffer.alloc(5);
  fs.read(fd, bytes, 0, 5, 0, () => fs.fstat(fd, (error) => console.log(error, bytes.toString())));
}
later("data");
""",
    "a function that is returned": """
async function reader(path) {
  const file = await fs.promises.open(path);
  const { size } = await file.stat();
  return { size, read: () => file.readFile("utf8") };
}
reader("data").then((found) => found.read()).then(console.log);
""",
    "lines that are returned": """
async function lines(path) {
  const file = await fs.promises.open(path);
  return file.readLines();
}
(async () => {
  for await (const line of await lines("data")) console.log(line);
})();
""",
    "a promise that is not awaited": """
async function both(path) {
  const file = await fs.promises.open(path);
  return Promise.all([file.readFile("utf8").then(async (text) => [text, (await file.stat()).size])]);
}
both("data").then((found) => console.log(JSON.stringify(found)));
""",
    "a file that is only opened": """
function hold(path) {
  const fd = fs.openSync(path, "r");
  console.log("held");
}
hold("data");
""",
}
"""Files that may be used when their function has ended: a change asks."""

OUTSIDE = {
    "a variable of the function": """
function put(path, on) {
  let fd;
  if (on) {
    fd = fs.openSync(path, "w");
    fs.writeSync(fd, "a");
  }
  if (fd) fs.writeSync(fd, "b");
  return fs.readFileSync(path, "utf8");
}
console.log(put("out", true));
""",
    "a var of a block": """
function put(path, on) {
  if (on) {
    var fd = fs.openSync(path, "w");
    fs.writeSync(fd, "a");
  }
  if (fd) fs.writeSync(fd, "b");
  return fs.readFileSync(path, "utf8");
}
console.log(put("out", true));
""",
    "a function that is called above": """
function head(path) {
  const size = most();
  const fd = fs.openSync(path, "r");
  const bytes = Buffer.alloc(size);
  fs.readSync(fd, bytes, 0, size, 0);
  function most() {
    return 5;
  }
  return bytes.toString();
}
console.log(head("data"));
""",
    "a variable that a function above uses": """
function head(path) {
  const show = () => bytes.toString();
  const fd = fs.openSync(path, "r");
  const bytes = Buffer.alloc(5);
  fs.readSync(fd, bytes, 0, 5, 0);
  return show();
}
console.log(head("data"));
""",
    "a text that goes on in the next line": """
function head(path) {
  const fd = fs.openSync(path, "r");
  const text = fs.readFileSync(fd, "utf8") + "a\\
b";
  return text;
}
console.log(head("data"));
""",
    "a template of two lines": """
function head(path) {
  const fd = fs.openSync(path, "r");
  const text = fs.readFileSync(fd, "utf8") + `c
d`;
  return text;
}
console.log(head("data"));
""",
    "a file that may be none": """
function head(path) {
  const fd = path ? fs.openSync(path, "r") : null;
  return fd === null ? "" : fs.readFileSync(fd, "utf8");
}
console.log(head("data"), head(""));
""",
    "a file that is closed on one way": """
function head(path, all) {
  const fd = fs.openSync(path, "r");
  if (!all) {
    fs.closeSync(fd);
    return "";
  }
  return fs.readFileSync(fd, "utf8");
}
console.log(head("data", true), head("data", false));
""",
}
"""Blocks whose rest cannot be put into another block: no change is known."""

ARGUMENTS = {
    "a request with a signal": """
const stop = new AbortController();
stop.abort();
async function ask() {
  const request = new Request(base, { signal: stop.signal });
  return (await fetch(request)).status;
}
ask().catch((error) => console.log(error.name));
""",
    "a request of a class of its own": """
const stop = new AbortController();
stop.abort();
class Call extends Request {}
const make = (where) => new Call(where, { signal: stop.signal });
async function ask(where) {
  return (await fetch(make(where))).status;
}
ask(base).catch((error) => console.log(error.name));
""",
    "a fetch of its own": """
globalThis.fetch = async (...given) => given.length;
async function ask() {
  return await fetch("http://a");
}
ask().then(console.log);
""",
    "options in a parameter that is named url": """
const http = require("http");
const { hostname, port } = new URL(base);
function ask(url, done) {
  http.get(url, (answer) => done(answer.resume().statusCode)).on("error", (error) => done(error.code));
}
ask({ hostname, port, agent: false }, console.log);
""",
}


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()


def _program(text: str) -> str:
    return f'const fs = require("fs");\nconst base = process.argv[2];\n{text}'


def _output(text: str, folder: Path, *given: str) -> str:
    (folder / "data").write_text("hello\n")
    (folder / "program.cjs").write_text(text)
    done = subprocess.run(
        ["node", "program.cjs", *given], cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


PROGRAMS = KEPT | OUTSIDE | ARGUMENTS


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize("name", PROGRAMS)
def test_safely_changed_javascript_prints_what_it_printed(
    name: str, upstream: Upstream, tmp_path: Path
) -> None:
    text = _program(PROGRAMS[name])
    before = _output(text, tmp_path, upstream.url)
    assert before.strip()
    assert _output(safely(text, "javascript").new, tmp_path, upstream.url) == before


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_change_that_may_break_a_program_is_not_safe(name: str) -> None:
    assert safely(_program(PROGRAMS[name]), "javascript").diff == ""


@pytest.mark.parametrize("text", [KEPT["a timer"], KEPT["a function that is returned"]])
def test_a_file_that_is_kept_asks(text: str) -> None:
    assert "FK-R013" in asked(_program(text), "javascript")


@pytest.mark.parametrize("text", OUTSIDE.values(), ids=OUTSIDE)
def test_a_block_that_cannot_be_put_into_another_is_left_alone(text: str) -> None:
    assert boldly(_program(text), "javascript").new == _program(text)


AXIOS = {
    "a parameter": ("const get = async (where) => (await axios(where)).data;\n", "axios(where)"),
    "options in a parameter": (
        "const get = async (o) => (await axios.request(o)).data;\n",
        "axios.request(o)",
    ),
    "a parameter of a function whose calls are seen": (
        "const get = async (u) => (await axios(u)).data;\nget('/a').then(show);\nget(`/${b}`).then(show);\n",
        "axios(u, { timeout: 30000 })",
    ),
    "a parameter that one call gives options": (
        "const get = async (u) => (await axios(u)).data;\nget('/a').then(a);\nget({ url: '/b' }).then(a);\n",
        "axios(u)",
    ),
    "a parameter of an exported function": (
        "export async function get(url) {\n  return (await axios(url)).data;\n}\nget('/a').then(show);\n",
        "axios(url)",
    ),
    "a variable": (
        "const base = process.env.API ?? 'http://a';\nconst u = base + '/b';\naxios(u).then(show);\n",
        "axios(u, { timeout: 30000 })",
    ),
    "a variable with two values": (
        "let u = 'http://a';\nif (b) u = { url: u };\naxios(u).then(show);\n",
        "axios(u)",
    ),
    "options in a variable": (
        "const o = { url: 'http://a' };\naxios(o).then(show);\n",
        "axios({ timeout: 30000, ...o })",
    ),
}


@pytest.mark.parametrize(("text", "wanted"), AXIOS.values(), ids=AXIOS)
def test_axios_gets_options_where_its_first_argument_is_known(text: str, wanted: str) -> None:
    new = boldly(f"import axios from 'axios';\n{text}", "javascript").new
    assert f"{wanted}." in new or f"{wanted})" in new


FETCHED = {
    "a text": ("const r = await fetch('/a');\n", True),
    "a URL": ("const r = await fetch(new URL(path, base));\n", True),
    "a sum": ("const ask = async (path) => (await fetch(BASE + '/' + path)).status;\n", True),
    "a parameter with a type": ("const ask = async (u: string | URL) => (await fetch(u)).status;\n", True),
    "a parameter with another type": (
        "const ask = async (u: RequestInfo) => (await fetch(u)).status;\n",
        False,
    ),
    "a parameter without a type": ("export const ask = async (u) => (await fetch(u)).status;\n", False),
    "an item": ("for (const u of urls) {\n  const r = await fetch(u);\n  console.log(r.status);\n}\n", False),
    "a result": ("const r = await fetch(make('/a'));\nconsole.log(r.status);\n", False),
}


@pytest.mark.parametrize(("text", "is_safe"), FETCHED.values(), ids=FETCHED)
def test_fetch_gets_a_signal_without_a_question_only_for_a_url(text: str, is_safe: bool) -> None:
    assert ("AbortSignal" in safely(text, "typescript").new) is is_safe
    assert "AbortSignal" in boldly(text, "typescript").new


CLIENTS = {
    "a stream": (
        "const api = axios.create();\nconst a = api.get('/a');\napi.get('/b', { responseType: 'stream' });\n"
    ),
    "an exported client": "export const api = axios.create();\nconst a = await api.get('/a');\n",
    "a client that is passed on": "const api = axios.create();\nuse(api);\nconst a = await api.get('/a');\n",
}


@pytest.mark.parametrize("text", CLIENTS.values(), ids=CLIENTS)
def test_a_limit_of_a_client_that_may_transfer_asks(text: str) -> None:
    whole = f"import axios from 'axios';\n{text}"
    assert safely(whole, "javascript").diff == ""
    assert "axios.create({ timeout: 30000 })" in boldly(whole, "javascript").new
