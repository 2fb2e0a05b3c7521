"""The compiled steps of a request do what the steps in Python do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.load.engine import Engine
from faultkit.load.load import Load, Target
from faultkit.load.native import native
from faultkit.load.response import NOT_HTTP, Failure, ResponseReader
from faultkit.load.route import route_of
from faultkit.proxy.event_loop import Loop, SelectorsPoller
from faultkit.proxy.native import PURE_VARIABLE
from tests.load.servers import OK, Run, answering, in_turn, serving, target_of

ROOT = Path(__file__).parents[2]
COMPILED = pytest.mark.skipif(native is None, reason="not compiled here")


@pytest.fixture(params=[pytest.param(False, marks=COMPILED), True], ids=["compiled", "python"])
def steps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param:
        monkeypatch.setattr("faultkit.load.engine.new_exchange", lambda *parts: None)


# --- heads -----------------------------------------------------------------------------------

CERTAIN = [
    (OK, (200, True)),
    (b"HTTP/1.1 404 Not Found\r\nserver: x\r\ncontent-length:  0 \r\n\r\n", (404, True)),
    (b"HTTP/1.1 201 \r\nConnection: Close\r\nContent-Length: 3\r\n\r\nabc", (201, False)),
    (b"HTTP/1.1 499 a\r\nConnection: keep-alive\r\nX: \r\nContent-Length: 1\r\n\r\n\n", (499, True)),
]
UNCERTAIN = [
    b"",
    OK[:-1],
    OK + b"x",
    OK[:20],
    OK.replace(b"1.1", b"1.0"),
    OK.replace(b"200 OK", b"200\tOK"),
    OK.replace(b"200", b"199"),
    OK.replace(b"200", b"500"),
    OK.replace(b"200", b"2x0"),
    b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n\r\n",
    b"HTTP/1.1 200 OK\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 0000000002\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\n Content-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: a\x00b\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: \xe9\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close, x\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nUpgrade: h2c\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
]


@COMPILED
@pytest.mark.parametrize(("raw", "expected"), [*CERTAIN, *((raw, None) for raw in UNCERTAIN)])
def test_only_answers_that_are_whole_and_usual_are_read_in_c(
    raw: bytes, expected: tuple[int, bool] | None
) -> None:
    assert native is not None
    assert native.scan_response(raw) == expected


_PIECES = st.sampled_from(
    [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 404 \r\n",
        b"Content-Length: 2\r\n",
        b"Content-Length: 0\r\n",
        b"content-length:2\r\n",
        b"Connection: close\r\n",
        b"connection: Keep-Alive\r\n",
        b"Server: a b; c\r\n",
        b"X:\r\n",
        b"\r\n",
        b"ok",
        b"\n",
        b" ",
        b":",
        b"\x00",
        b"\xff",
    ]
)


@COMPILED
@given(st.lists(_PIECES, max_size=6), st.booleans())
def test_what_is_read_in_c_is_read_the_same_in_python(pieces: list[bytes], sized: bool) -> None:
    assert native is not None
    raw = b"HTTP/1.1 200 OK\r\n" + (b"Content-Length: 2\r\n" if sized else b"") + b"".join(pieces)
    seen = native.scan_response(raw)
    if seen is None:
        return
    answer = ResponseReader()
    try:
        assert answer.feed(raw)
    except NOT_HTTP as error:
        pytest.fail(f"{raw!r} is no answer: {error}")
    assert (answer.status, answer.keep_alive) == seen


# --- requests --------------------------------------------------------------------------------

CHUNKED = b"HTTP/1.1 201 Made\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
BUSY = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
CLOSING = b"HTTP/1.1 404 No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"


class Turns:
    """A requester that asks until it has this many answers."""

    def __init__(self, engine: Engine, count: int) -> None:
        self.engine = engine
        self.left = count

    def over(self, now: float) -> None:
        self.left -= 1
        if self.left:
            self.engine.ask(self, None)
        else:
            self.engine.finish()


@pytest.mark.usefixtures("steps")
def test_samples_are_in_the_order_of_the_answers_whichever_code_reads_them() -> None:
    answers = [OK, CHUNKED, OK, BUSY, OK, OK, CHUNKED, CLOSING]
    with serving(answering(*answers)) as server:
        loop = Loop()
        engine = Engine(route_of(target_of(server)), loop, loop.clock())
        try:
            turns = Turns(engine, len(answers) + 1)
            engine.ask(turns, None)
            engine.run()
            assert engine.started == len(answers) + 1
            rows = list(engine.take_samples())
        finally:
            engine.close()
            loop.close()
    assert [row.status for row in rows] == [200, 201, 200, 503, 200, 200, 201, 404, 200]
    assert [row.received for row in rows] == [*(len(each) for each in answers), len(OK)]
    assert [row.failure for row in rows] == [Failure.STATUS if row.status == 503 else 0 for row in rows]
    assert [row.connect_s == row.connect_s for row in rows] == [True, *[False] * 7, True]
    assert rows == sorted(rows, key=lambda row: row.started)
    assert all(0 <= row.first_byte_s <= row.total_s for row in rows)
    assert (engine.errors, len(engine.pending), engine.started) == (1, 0, 9)


@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize("keep_alive", [True, False])
def test_a_closed_load_counts_each_request_once(keep_alive: bool) -> None:
    with serving(answering(OK)) as server:
        run = Run(target_of(server), Load(0.1, None, 3, "closed", keep_alive=keep_alive))
    rows = run.rows()
    assert {(row.status, row.failure, row.received) for row in rows} == {(200, 0, len(OK))}
    assert (run.counts.started, run.counts.errors, run.counts.in_flight) == (len(rows), 0, 0)
    fresh = sum(row.connect_s == row.connect_s for row in rows)
    assert fresh == (3 if keep_alive else len(rows))
    assert all(row.intended == row.started for row in rows)


@pytest.mark.usefixtures("steps")
def test_a_large_request_is_sent_to_its_end() -> None:
    with serving(answering(OK)) as server:
        rows = in_turn(target_of(server, "POST", bytes(8_000_000)), 2)
    assert [(row.status, row.failure) for row in rows] == [(200, 0)] * 2


def test_python_is_used_where_the_loop_has_no_epoll() -> None:
    loop = Loop(SelectorsPoller())
    engine = Engine(route_of(Target("GET", "http://127.0.0.1:1/")), loop, 0.0)
    assert engine.exchange is None
    engine.close()
    loop.close()


@COMPILED
@pytest.mark.parametrize(
    ("method", "scheme", "is_compiled"),
    [("GET", "http", True), ("HEAD", "http", False), ("GET", "https", False)],
)
def test_python_is_used_for_tls_and_head(method: str, scheme: str, is_compiled: bool) -> None:
    loop = Loop()
    engine = Engine(route_of(Target(method, f"{scheme}://127.0.0.1:1/")), loop, 0.0)
    assert (engine.exchange is not None) == is_compiled
    engine.close()
    loop.close()


@pytest.mark.thorough
def test_the_load_engine_works_without_compiled_code() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not thorough"]
    command += ["tests/load/test_native.py", "tests/measure/test_load_engine.py"]
    done = subprocess.run(
        ["env", f"{PURE_VARIABLE}=1", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
