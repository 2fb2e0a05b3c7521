"""Finds blocking calls in async code, which stop the whole event loop."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Facts
from faultkit.code.rules.rule import CERTAIN, JAVASCRIPT, LIKELY, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.repetition import frequency_of

_WAITS = frozenset(
    (
        "time.sleep", "urllib.request.urlopen", "urllib3.request", "urllib3.PoolManager.request",
        "os.system", "subprocess.run", "subprocess.call", "subprocess.check_call",
        "subprocess.check_output", "os.popen", "socket.create_connection", "socket.getaddrinfo",
        "socket.gethostbyname", "smtplib.SMTP", "subprocess.Popen.wait", "subprocess.Popen.communicate",
        "concurrent.futures.wait", "ftplib.FTP", "psycopg2.connect", "psycopg.connect", "pymysql.connect",
        "MySQLdb.connect", "mysql.connector.connect", "pyodbc.connect", "boto3.client",
        "shutil.copyfileobj", "shutil.copytree", "shutil.rmtree",
    )
)  # fmt: skip
_HTTP = re.compile(
    r"(requests|httpx|requests\.(Session|session\(\))|httpx\.Client)\.(get|post|put|patch|delete|head|request)$"
)
_SQL = re.compile(
    r"(psycopg2|psycopg|pymysql|MySQLdb|mysql\.connector|pyodbc|sqlite3)\.connect\(\)(\.cursor\(\))?"
    r"\.(execute|executemany|fetchall|fetchone|commit)$"
)
_FILES = re.compile(r"^(open|io\.open|pathlib\.Path\.(read_text|read_bytes|write_text|write_bytes))$")
_SYNC = re.compile(
    r"^(fs|child_process|zlib|crypto)\.(readFile|writeFile|appendFile|readdir|stat|exists|mkdir|unlink|copyFile|rename"
    r"|exec|execFile|spawn|gzip|gunzip|deflate|inflate|pbkdf2|scrypt|rm|access|open|read|write)Sync$"
)
_ELSEWHERE = ("to_thread", "run_in_executor", "run_sync", "run_in_threadpool", "submit", "sync_to_async")


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language == "python":
        yield from _python(facts)
    else:
        yield from _javascript(facts)


def _python(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls:
        waits = call.name in _WAITS or _HTTP.match(call.name) or _SQL.match(call.name)
        reads = not waits and _FILES.match(call.name)
        if not waits and not reads:
            continue
        is_elsewhere = any(each.method in _ELSEWHERE for each in facts.calls_around(call))
        if not facts.is_in_async(call) or call.is_awaited or is_elsewhere:
            continue
        if reads:
            yield Hit(call.span, f"{call.written}() reads a file while the event loop waits", LIKELY, "low")
        else:
            yield Hit(call.span, f"{call.written}() stops the event loop until it is done", CERTAIN)


def _javascript(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls:
        if not _SYNC.match(call.name):
            continue
        scope = facts.function_of(call)
        if scope is None:
            continue
        if frequency_of(call, facts) in ("request", "message"):
            yield Hit(call.span, f"{call.written}() stops every request until it is done", CERTAIN)
        elif scope.is_async and not call.method.startswith("exists"):
            yield Hit(call.span, f"{call.written}() stops the event loop in an async function", LIKELY)


RULE = Rule(
    id="FK-P001",
    slug="blocking-call-in-async-code",
    title="Blocking call in async code",
    why="While it waits, no other request of the process is served: one slow call makes all of them slow.",
    fix="Await an async client or API instead, or hand the call to a thread (asyncio.to_thread).",
    kind="performance",
    severity="high",
    languages=(*PYTHON, *JAVASCRIPT),
    check=_check,
)
