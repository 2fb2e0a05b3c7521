"""Proofs of services in JavaScript, with real processes."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from faultkit.base.errors import TargetError
from faultkit.code.proof.exercised import RanLines
from faultkit.code.proof.healthy_answers import Answer
from faultkit.code.proof.prove import ProofSettings, prove
from faultkit.code.proof.running import RunningService
from faultkit.code.proof.service import Service

NODE = shutil.which("node") or ""
pytestmark = pytest.mark.skipif(not NODE, reason="needs node on the PATH")

FETCH = """
const http = require('http');
const UPSTREAM_URL = process.env.UPSTREAM_URL || 'https://example.com';

http.createServer(async (req, res) => {
  const answer = await fetch(`${UPSTREAM_URL}/todos/1`);
  res.end(JSON.stringify(await answer.json()));
}).listen(process.env.PORT || 3000);
"""
BOUNDED = """
const http = require('http');
const UPSTREAM_URL = process.env.UPSTREAM_URL || 'https://example.com';

http.createServer(async (req, res) => {
  try {
    const answer = await fetch(`${UPSTREAM_URL}/todos/1`, { signal: AbortSignal.timeout(500) });
    res.end(JSON.stringify(await answer.json()));
  } catch (error) {
    res.statusCode = 502;
    res.end();
  }
}).listen(process.env.PORT || 3000);
"""
REQUEST = """
import http from 'node:http';

function load(callback) {
  const request = http.request('http://api.example.com/todos/1', (answer) => {
    const parts = [];
    answer.on('data', (part) => parts.push(part));
    answer.on('end', () => callback(200, Buffer.concat(parts)));
  });
  request.on('error', () => callback(502, ''));
  request.end();
}

const server = http.createServer((req, res) => load((status, body) => {
  res.statusCode = status;
  res.end(body);
}));
server.listen({ port: 3000 }, () => console.log('serving'));
"""
EXPRESS = """
const express = require('express');
const app = express();
app.get('/', async (req, res) => {
  const answer = await fetch(process.env.UPSTREAM_URL);
  res.status(answer.status).json(await answer.json());
});
app.listen(3000, '0.0.0.0', () => console.log('serving'));
"""
QUICK = ProofSettings(duration_s=1.0, timeout_s=1.5, faults=("healthy", "blackhole", "bursts of resets"))


def running(file: Path, text: str, **options: object) -> RunningService:
    file.write_text("throw new Error('the file itself is not run')\n")
    service = Service("node", str(file.parent), "/", ())
    return RunningService(file, service, {}, NODE, text=text, **options)  # type: ignore[arg-type]


def status_of(url: str) -> int:
    """Return the status of a call that uses no proxy of the environment."""
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_service_that_hung_and_broke_down_and_now_answers_is_better(tmp_path: Path) -> None:
    file = tmp_path / "app.js"
    file.write_text(FETCH)
    proof = prove(str(file), FETCH, BOUNDED, QUICK)
    healthy, black, resets = proof.compared
    assert (healthy.verdict, black.verdict, resets.verdict) == ("no difference", "better", "better")
    assert (black.before.answered, set(black.after.statuses)) == (0, {502})
    assert resets.before.ended, "an unhandled rejection ends the process"
    assert set(resets.after.statuses) == {200, 502}
    assert (proof.verdict, proof.not_exercised) == ("better", ())
    assert file.read_text() == FETCH


def test_a_new_version_that_ends_by_itself_is_worse_and_its_last_words_are_told(tmp_path: Path) -> None:
    """Its lines ran, and no other fault is tried: each would find it dead."""
    file = tmp_path / "app.js"
    file.write_text(FETCH)
    crashing = FETCH.replace("}).listen", "  if (answer.ok) throw new Error('bad config');\n}).listen")
    proof = prove(str(file), FETCH, crashing, QUICK)
    (healthy,) = proof.compared
    assert (proof.verdict, healthy.after.ended) == ("worse", True)
    assert healthy.endings == ("the process of the new version ended: exit code 1. Error: bad config",)
    assert proof.not_exercised == ()


@pytest.mark.parametrize("name", ["app.mjs", "app.js"])
def test_modules_of_ecmascript_and_urls_in_texts_are_replaced(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    (tmp_path / "package.json").write_text('{"type": "module"}')
    file.write_text(REQUEST)
    limited = REQUEST.replace("todos/1', (", "todos/1', { timeout: 500 }, (").replace(
        "  request.end();", "  request.on('timeout', () => request.destroy());\n  request.end();"
    )
    proof = prove(
        str(file), REQUEST, limited, ProofSettings(duration_s=1.0, timeout_s=1.5, faults=("blackhole",))
    )
    assert proof.upstreams == ("http://api.example.com: a stand-in on this machine",)
    (black,) = proof.compared
    assert (black.before.answered, set(black.after.statuses)) == (0, {502})
    assert (proof.verdict, proof.not_exercised) == ("better", ())


def test_the_lines_that_ran_are_known(tmp_path: Path) -> None:
    text = (
        "const http = require('http');\n"
        "/* A comment\n"
        "   of two lines. */\n"
        "http.createServer((req, res) => {\n"
        "  // Only for x.\n"
        "  if (req.url === '/x') {\n"
        "    res.statusCode = 418;\n"
        "  }\n"
        "  res.end('ä');\n"
        "}).listen(1);\n"
    )
    with running(tmp_path / "app.js", text) as service:
        assert service.ran_lines() == RanLines(frozenset({1, 4, 6, 7, 9, 10}), frozenset({1, 4, 10}))
        assert status_of(service.url) == 200
        assert service.ran_lines().ran == {1, 4, 6, 9, 10}
        assert status_of(service.url + "x") == 418
        assert service.ran_lines().ran == {1, 4, 6, 7, 9, 10}


def test_the_answers_of_a_service_are_counted(tmp_path: Path) -> None:
    text = (
        "require('http').createServer((req, res) => {\n"
        "  res.statusCode = req.url === '/x' ? 404 : 200;\n"
        "  if (req.url === '/empty') return res.writeHead(200, { 'Content-Type': 'text/html' }).end();\n"
        "  res.write('id 12, ');\n"
        "  res.write(Buffer.from('path '));\n"
        "  res.end('2f79', 'hex', () => {});\n"
        "}).listen(1);\n"
    )
    with running(tmp_path / "app.js", text) as service:
        for path in ("", "", "x", "empty"):
            status_of(service.url + path)
        service.ran_lines()
        given = service.answers
    # The same digests as those of a service in Python: of the text, and of `id 0, path /y`.
    digests = [hashlib.sha256(each).hexdigest()[:16] for each in (b"id 12, path /y", b"id 0, path /y", b"")]
    assert given == {
        Answer(200, digests[0], digests[1], 14, "id 12, path /y"): 2,
        Answer(200, digests[2], digests[2], 0, "", "text/html"): 1,
    }


def test_a_line_with_the_code_of_a_function_has_run_when_the_function_has(tmp_path: Path) -> None:
    text = (
        "const routes = {};\n"
        "routes['/a'] = (res) => res.end('a');\n"
        "routes['/b'] = function (res) { res.end('b'); }; // Not asked for.\n"
        "routes['/c'] = (res) => [\n"
        "  res.end('c'),\n"
        "];\n"
        "routes['/d'] = (res) => { // It has two lines.\n"
        "  res.end('d');\n"
        "};\n"
        "const server = require('http').createServer((req, res) => routes[req.url](res));\n"
        "server.on('clientError', () => {});\n"
        "server.listen(1);\n"
    )
    with running(tmp_path / "app.js", text) as service:
        at_start = {1, 7, 11, 12}
        assert service.ran_lines().ran == at_start
        for path, ran in (("a", {2, 10}), ("c", {2, 4, 5, 10}), ("d", {2, 4, 5, 8, 10})):
            assert status_of(service.url + path) == 200
            assert service.ran_lines().ran == at_start | ran


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("require('nosuchpackage')", r"npm install nosuchpackage"),
        ("throw new Error('cannot go on')", "cannot go on"),
        ("setInterval(() => {}, 1000)", "does not serve after 1.5 s"),
    ],
)
def test_a_service_that_does_not_start_is_reported_with_its_reason(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(TargetError, match=words):
        running(tmp_path / "app.js", text, start_s=1.5 if "setInterval" in text else 30.0).__enter__()


def test_a_framework_listens_on_loopback_only(tmp_path: Path) -> None:
    packages = Path(__file__).parents[1] / "mcp" / "conformance" / "node_modules"
    if not (packages / "express").is_dir():
        pytest.skip("needs express: tests/mcp/conformance/install.sh")
    (tmp_path / "node_modules").symlink_to(packages)
    with running(
        tmp_path / "app.js", EXPRESS.replace("process.env.UPSTREAM_URL", "'http://127.0.0.1:1'")
    ) as service:
        port = int(service.url.rpartition(":")[2].rstrip("/"))
        listening = subprocess.run(["ss", "-Hltn", f"sport = :{port}"], capture_output=True, text=True).stdout
        assert f"127.0.0.1:{port}" in listening
        assert "0.0.0.0:{port}" not in listening
