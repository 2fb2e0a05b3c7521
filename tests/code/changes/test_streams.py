"""Answers that are read piece by piece: a time limit would cut them off, so that it asks."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from faultkit.code.changes.questions import STREAM
from tests.code.changes.cases import boldly, safely
from tests.code.changes.upstream import Upstream

PATIENCE_S = 60.0

NODE = {
    "a body that is piped": """
const { Readable } = require("stream");
async function show(url) {
  const r = await fetch(url);
  Readable.fromWeb(r.body).pipe(process.stdout);
}
show(`${base}/a`);
""",
    "a body in a pipeline": """
const { pipeline } = require("stream/promises");
async function show(url) {
  const r = await fetch(url);
  await pipeline(r.body, process.stdout, { end: false });
}
show(`${base}/a`);
""",
    "a body in a loop": """
async function show(url) {
  const r = await fetch(url);
  for await (const piece of r.body) process.stdout.write(piece);
}
show(`${base}/a`);
""",
    "a body that is taken by a callback": """
const { Readable } = require("stream");
fetch(`${base}/a`).then((r) => Readable.fromWeb(r.body).pipe(process.stdout));
""",
    "a body of another answer": """
async function copy(url) {
  const r = await fetch(url);
  return new Response(r.body, { status: r.status });
}
copy(`${base}/a`).then((r) => r.text()).then(console.log);
""",
    "pieces of Node that are passed on": """
const http = require("http");
http.get(`${base}/a`, { agent: false }, (r) => {
  r.on("data", (piece) => process.stdout.write(piece));
}).on("error", (error) => console.log(error.name));
""",
    "pieces of Node that are parsed": """
const http = require("http");
let rest = "";
http.get(`${base}/a`, { agent: false }, (r) => {
  r.on("data", (piece) => {
    rest += piece;
    console.log(JSON.parse(rest).id);
  });
}).on("error", (error) => console.log(error.name));
""",
    "a request of Node that is returned": """
const http = require("http");
function ask() {
  const request = http.get(`${base}/a`, { agent: false });
  request.on("error", (error) => console.log(error.name));
  return request;
}
ask().once("response", (r) => r.pipe(process.stdout));
""",
}
"""Programs that print an answer. They break with any limit: in them, every limit is over at once."""

_HEAD = "AbortSignal.timeout = () => AbortSignal.abort();\nconst base = process.argv[2];\n"

TEXTS = {
    "a type of axios in a variable": (
        "javascript",
        "import axios from 'axios';\nconst responseType = 'stream';\n"
        "export const get = (u) => axios.get(u, { responseType });\n",
    ),
    "a type of axios in a template": (
        "javascript",
        "import axios from 'axios';\nexport const get = (u) => axios.get(u, { responseType: `stream` });\n",
    ),
    "a stream of got": (
        "javascript",
        "import got from 'got';\nconst s = got('http://a', { isStream: true });\npipeline(s, out, done);\n",
    ),
    "an answer that is exported": ("javascript", "export const r = await fetch('/a');\n"),
    "a stream that a variable may ask for": (
        "python",
        "import requests\n\n\ndef ask(url, stream):\n    return requests.get(url, stream=stream)\n",
    ),
    "lines of urlopen": (
        "python",
        "from urllib.request import urlopen\n\n\ndef show(url):\n    with urlopen(url) as r:\n"
        "        for line in r:\n            print(line)\n",
    ),
    "pieces of urlopen": (
        "python",
        "from urllib.request import urlopen\n\n\ndef show(url):\n    with urlopen(url) as r:\n"
        "        while piece := r.read(9):\n            print(piece)\n",
    ),
    "an answer of urlopen that is returned": (
        "python",
        "from urllib.request import urlopen\n\n\ndef ask(url):\n    return urlopen(url)\n",
    ),
}


def _go(used: str, lines: str, made: str = "") -> str:
    imports = "".join(f'\t"{each}"\n' for each in sorted((*used.split(), "net/http")))
    called = "c" if made else "http"
    return (
        f"package a\n\nimport (\n{imports})\n\nfunc Show(u string, w io.Writer) error {{\n{made}"
        f"\tr, err := {called}.Get(u)\n\tif err != nil {{\n\t\treturn err\n\t}}\n\tdefer r.Body.Close()\n"
        f"{lines}\treturn nil\n}}\n"
    )


_PIECES = (
    "\tpiece := make([]byte, 9)\n\tfor {\n\t\tn, err := r.Body.Read(piece)\n"
    "\t\tif err != nil {\n\t\t\treturn err\n\t\t}\n\t\tw.Write(piece[:n])\n\t}\n"
)
_VALUES = (
    "\td := json.NewDecoder(r.Body)\n\tfor d.More() {\n\t\tvar v any\n"
    "\t\tif err := d.Decode(&v); err != nil {\n\t\t\treturn err\n\t\t}\n\t}\n"
)
_WHOLE = (
    "\tfor name := range r.Header {\n\t\tio.WriteString(w, name)\n\t}\n"
    "\tif _, err := io.ReadAll(r.Body); err != nil {\n\t\treturn err\n\t}\n"
)
_CLIENT = "\tc := &http.Client{}\n"
GO = {
    "pieces of Go": _go("io", _PIECES),
    "pieces of a client of Go": _go("io", _PIECES, _CLIENT),
    "values of Go, one by one": _go("encoding/json io", _VALUES),
    "a body of Go that is copied while it is read": _go("io", "\tio.ReadAll(io.TeeReader(r.Body, w))\n"),
}


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()


def _output(text: str, folder: Path, url: str) -> str:
    (folder / "program.cjs").write_text(text)
    done = subprocess.run(
        ["node", "program.cjs", url], cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize("name", NODE)
def test_an_answer_that_is_passed_on_is_not_cut_off(name: str, upstream: Upstream, tmp_path: Path) -> None:
    text = _HEAD + NODE[name]
    before = _output(text, tmp_path, upstream.url)
    assert "1" in before
    assert _output(safely(text, "javascript").new, tmp_path, upstream.url) == before


STREAMS = (
    {name: ("javascript", _HEAD + text) for name, text in NODE.items()}
    | TEXTS
    | {name: ("go", text) for name, text in GO.items()}
)


@pytest.mark.parametrize(("language", "text"), STREAMS.values(), ids=STREAMS)
def test_a_limit_for_an_answer_that_is_passed_on_asks(language: str, text: str) -> None:
    found = safely(text, language)
    assert found.diff == ""
    assert STREAM in {each.question for each in found.questions if "FK-R001" in each.rules}
    assert boldly(text, language).new != text


WHOLE = {
    "an answer of Go": ("go", _go("io", _WHOLE)),
    "an answer of a client of Go": ("go", _go("io", _WHOLE, _CLIENT)),
    "an answer of urlopen": (
        "python",
        "import json\nfrom urllib.request import urlopen\n\n\ndef load(url):\n    with urlopen(url) as r:\n"
        "        return r.status, json.load(r)\n",
    ),
    "pieces of Node that are kept": (
        "javascript",
        "const http = require('http');\nhttp.get('http://a', (r) => {\n  const all = [];\n"
        "  r.on('data', (piece) => all.push(piece));\n  r.on('end', () => show(Buffer.concat(all)));\n"
        "}).on('error', log);\n",
    ),
    "a text of axios": (
        "javascript",
        "import axios from 'axios';\nexport const get = (u) => axios.get(u, { responseType: 'text' });\n",
    ),
}


@pytest.mark.parametrize(("language", "text"), WHOLE.values(), ids=WHOLE)
def test_an_answer_that_is_read_as_a_whole_gets_a_limit(language: str, text: str) -> None:
    assert "FK-R001" in {each.rule.id for each in safely(text, language).answered}
