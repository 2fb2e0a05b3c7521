"""Codemods by tables of texts before and after, and laws that hold for all of them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.code.changes import Source, apply_edits, codemods_for
from faultkit.code.languages import language_named
from faultkit.code.review.engine import RULES
from tests.code.changes.cases import CASES, LANGUAGES, Case, change_for, changed, codemod_named


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_codemod_gives_the_expected_text_once_and_names_its_rules(case: Case) -> None:
    change = change_for(case.before, case.language, case.codemod)
    assert change is not None
    assert apply_edits(case.before, change.edits) == case.after
    # A second application changes nothing.
    assert changed(case.after, case.language, case.codemod) == case.after
    # The result parses.
    source = Source(case.after, language_named(case.language))
    assert not source.syntax.has_errors
    if case.language == "python":
        compile(case.after, case.name, "exec")
    # The change names the rules that it answers.
    assert change.rules
    assert set(change.rules) <= {rule.id for rule in RULES if rule.slug in case.codemod.slugs}
    assert change.description
    # Without a finding there is no change.
    assert case.codemod.rewrite(Source(case.before, language_named(case.language)), ()) is None


@given(st.sampled_from(CASES), st.sampled_from(["\r\n", "\n"]), st.sampled_from(["", "# é ü 漢字 🎉"]))
def test_line_ends_and_surrounding_code_are_kept(case: Case, end: str, comment: str) -> None:
    before, after = (_dressed(text, case.language, end, comment) for text in (case.before, case.after))
    assert changed(before, case.language, case.codemod) == after


def _dressed(text: str, language: str, end: str, comment: str) -> str:
    """Return a case with other line ends, and with a comment at the end that is not ASCII."""
    sign = "#" if language == "python" else "//"
    more = f"{text}{sign}{comment[1:]}\n" if comment else text
    return more.replace("\n", end)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize(
    "case", [each for each in CASES if each.language == "javascript"], ids=lambda case: case.id
)
def test_node_parses_changed_javascript(case: Case, tmp_path: Path) -> None:
    file = tmp_path / ("a.mjs" if "import " in case.after or "export " in case.after else "a.cjs")
    file.write_text(case.after)
    done = subprocess.run(["node", "--check", file], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_line_with_an_ignore_comment_is_not_changed() -> None:
    text = "import requests\n\n\ndef load(url):\n    return requests.get(url)  # fault: ignore\n"
    assert [each.name for each in codemods_for("python") if change_for(text, "python", each)] == []


def test_the_end_of_a_text_is_kept() -> None:
    codemod = codemod_named("python", "context-managers")
    for end in ("", "\r", "\r\n", "\r\n\r", "\n\r"):
        text = f"def f(p):\r\n    f = open(p)\r\n    a = f.read()\r\n    return a{end}"
        new = changed(text, "python", codemod)
        assert new == f"def f(p):\r\n    with open(p) as f:\r\n        a = f.read()\r\n    return a{end}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_codemod_answers_existing_rules(language: str) -> None:
    slugs = {rule.slug for rule in RULES if language in rule.languages}
    assert {slug for each in codemods_for(language) for slug in each.slugs} <= slugs


LEFT_ALONE: dict[str, tuple[str, str]] = {
    "a clock whose other reading is kept in an object": (
        "monotonic",
        "import time\n\n\nclass A:\n    def is_old(self):\n        self.at = time.time()\n"
        "        now = time.time()\n        return now - self.at\n",
    ),
    "a time that is also shown": (
        "monotonic",
        "import time\n\n\ndef f(work):\n    start = time.time()\n    work()\n"
        "    print(start)\n    return time.time() - start\n",
    ),
    "a default that is a cache on purpose": (
        "mutable-default",
        "def f(key, cache={}):\n    cache[key] = 1\n    return cache\n",
    ),
    "a default that is made of what is known once": (
        "mutable-default",
        "def f(key, to=[NAME]):\n    to.append(key)\n    return to\n",
    ),
    "a file that a clean-up hook closes": (
        "context-managers",
        "def f(self, path):\n    f = open(path)\n    self.addCleanup(f.close)\n    return 1\n",
    ),
    "a client of a class that a subclass may replace": (
        "context-managers",
        "import ftplib\n\n\nclass A:\n    kind = ftplib.FTP\n\n    def f(self):\n"
        "        server = self.kind()\n        server.login()\n",
    ),
    "a file that is closed at once": (
        "context-managers",
        "def touch(path):\n    open(path, 'w').close()\n",
    ),
    "a client whose settings come with the request": (
        "shared-client",
        "import httpx\nfrom fastapi import FastAPI\n\napp = FastAPI()\n\n\n@app.get('/')\n"
        "async def index(base: str):\n    async with httpx.AsyncClient(base_url=base) as client:\n"
        "        return (await client.get('/')).json()\n",
    ),
    "a call with settings that a shared client has not": (
        "shared-client",
        "import httpx\nfrom fastapi import FastAPI\n\napp = FastAPI()\n\n\n@app.get('/')\n"
        "def index():\n    return httpx.get('http://a', proxy='http://b').json()\n",
    ),
    "a blocking call, whose retry would hide that it blocks": (
        "retry",
        "import requests\n\n\nasync def f(url):\n    return requests.get(url, timeout=1)\n",
    ),
    "a queue whose writers do not wait": (
        "queue-size",
        "import queue\n\njobs = queue.Queue()\n\n\ndef put(job):\n    jobs.put_nowait(job)\n",
    ),
    "a file that a lambda reads later": (
        "context-managers",
        "def f(path):\n    f = open(path)\n    read = lambda: f.read()\n    return read\n",
    ),
    "a file that a generator reads later": (
        "context-managers",
        "import sqlite3\n\n\ndef f(path):\n    db = sqlite3.connect(path)\n    rows = db.execute('x')\n"
        "    return (row[0] for row in rows)\n",
    ),
    "a file that another thread has": (
        "context-managers",
        "import threading\n\n\ndef f(path, work):\n    f = open(path)\n"
        "    threading.Thread(target=work, args=(f,)).start()\n",
    ),
    "a connection whose cursor is given back": (
        "context-managers",
        "import sqlite3\n\n\ndef f(path):\n    db = sqlite3.connect(path)\n    cursor = db.cursor()\n"
        "    return cursor.execute('x')\n",
    ),
    "an answer that is asked for with what another answer says": (
        "status-check",
        "import requests\n\n\ndef f(url):\n    return url and requests.get(requests.get(url).text).text\n",
    ),
    "a call that gives a name to what it asks for": (
        "blocking-calls",
        "import requests\n\n\nasync def f(url):\n    return requests.get((at := url)).text + at\n",
    ),
    "an async client of a script, which may run several event loops": (
        "shared-client",
        "import asyncio\nimport httpx\n\n\nasync def f(url):\n    async with httpx.AsyncClient() as client:\n"
        "        return (await client.get(url)).json()\n\n\nfor url in 'ab':\n    asyncio.run(f(url))\n",
    ),
    "a websocket, which has no status to answer with": (
        "error-mapping",
        "import requests\nfrom fastapi import FastAPI\n\napp = FastAPI()\n\n\n@app.websocket('/')\n"
        "async def feed(socket):\n    await socket.send_text(requests.get('http://a').text)\n",
    ),
    "a call that must not be repeated": (
        "retry",
        "import requests\n\n\ndef f(url):\n    return requests.post(url, timeout=1)\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "text"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_code_whose_meaning_would_change_is_left_alone(name: str, text: str) -> None:
    assert changed(text, "python", codemod_named("python", name)) == text


def test_uses_of_a_connection_stay_inside_its_block() -> None:
    text = (
        "import sqlite3\n\n\ndef f(path):\n    db = sqlite3.connect(path)\n"
        "    rows = db.execute('select 1')\n"
        "    total = 0\n    for row in rows:\n        total += row[0]\n    return total\n"
    )
    assert changed(text, "python", codemod_named("python", "context-managers")) == (
        "import sqlite3\nfrom contextlib import closing\n\n\ndef f(path):\n"
        "    with closing(sqlite3.connect(path)) as db:\n        rows = db.execute('select 1')\n"
        "        total = 0\n        for row in rows:\n            total += row[0]\n    return total\n"
    )
