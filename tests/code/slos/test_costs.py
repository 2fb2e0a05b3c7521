"""Thresholds: costs of calls, the bounds of timeouts and tries, and the promise that follows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.code.slos import suggest_slos
from faultkit.code.slos.costs import (
    COSTS,
    OBJECTIVES,
    STEPS_S,
    Dependency,
    EntryPoint,
    FunctionProfile,
    WorkKind,
    cost_s,
    promise_of,
    stepped,
)
from tests.code.slos.support import latencies, one, only_call, work

JOB = "def nightly(orders):\n    for order in orders:\n        requests.post(url, json=order, timeout=5)\n"

FIGURES = {
    # What a function does, and what it can promise at the 95th and the 99th percentile, in seconds.
    "nothing": ("def f():\n    return 1\n", (0.05, 0.1)),
    "a cache": ("def f():\n    return redis.get('a')\n", (0.1, 0.15)),
    "a file": ("def f():\n    with open('a') as file:\n        return file.read()\n", (0.1, 0.2)),
    "a query": ("def f():\n    return cur.execute('SELECT 1 FROM a')\n", (0.1, 0.3)),
    "a write": ("def f():\n    cur.execute('INSERT INTO a VALUES (1)')\n", (0.15, 0.4)),
    "another service": ("def f():\n    return requests.get(u, timeout=2)\n", (0.3, 1.0)),
    "another service, writing": ("def f():\n    return requests.post(u, timeout=2)\n", (0.5, 1.5)),
    "two services": ("def f():\n    httpx.get(a, timeout=2)\n    httpx.get(b, timeout=2)\n", (0.6, 2.0)),
    "a broker": ("def f():\n    producer.send('topic', b'a')\n", (0.1, 0.3)),
    "a program": ("import subprocess\ndef f():\n    subprocess.run(['a'])\n", (1.5, 4.0)),
    "a model": ("def f():\n    return client.chat.completions.create(model='a')\n", (10.0, 30.0)),
    "a wait": ("import time\ndef f():\n    time.sleep(0.25)\n", (0.3, 0.4)),
    "both at once": (
        "import asyncio\nasync def f():\n    await asyncio.gather(httpx.get(a), httpx.get(b))\n",
        (0.3, 2.0),
    ),
    "one for each item": ("def f(ids):\n    return [httpx.get(i, timeout=2) for i in ids]\n", (3.0, 4.0)),
    # Timeouts and tries.
    "a short timeout": ("def f():\n    return requests.get(u, timeout=0.1)\n", (0.15, 0.2)),
    "three tries": (
        "@retry(stop=stop_after_attempt(3))\ndef f():\n    return requests.get(u, timeout=5)\n",
        (0.3, 6.0),
    ),
    "blocked": ("async def f():\n    return requests.get(u, timeout=2)\n", (0.3, 2.0)),
    # Calls that only run after a failure.
    "only when it fails": (
        "def f():\n    try:\n        return redis.get('a')\n"
        "    except RedisError:\n        return httpx.get(u)\n",
        (0.1, 0.15),
    ),
}


@pytest.mark.parametrize(("text", "expected"), FIGURES.values(), ids=FIGURES)
def test_thresholds_come_from_what_a_function_does(text: str, expected: tuple[float, float]) -> None:
    assert latencies(text) == expected


TRIED = {
    "requests.get(u, timeout=5)": ("python", 5.0, "given", 1),
    "requests.get(u, timeout=(3, 5))": ("python", 8.0, "given", 1),
    "requests.get(u)": ("python", None, "missing", 1),
    "httpx.get(u)": ("python", 5.0, "default", 1),
    "httpx.get(u, timeout=httpx.Timeout(3.0, connect=1))": ("python", 3.0, "given", 1),
    "httpx.get(u, timeout=limit / 1000)": ("python", None, "given", 1),
    "httpx.Client(timeout=4).get(u)": ("python", 4.0, "given", 1),
    "fetch(u, {signal: AbortSignal.timeout(5000)})": ("javascript", 5.0, "given", 1),
    "fetch(u)": ("javascript", None, "missing", 1),
    "axios.get(u, {timeout: 3 * 1000})": ("typescript", 3.0, "given", 1),
    "http.Get(u)": ("go", None, "missing", 1),
}
HEADS = {"python": "def f():\n    {}\n", "go": "func f() {{ {} }}\n"}


@pytest.mark.parametrize(
    ("call", "language", "timeout_s", "timeout_is", "tries"), [(key, *value) for key, value in TRIED.items()]
)
def test_the_timeout_of_a_call_is_read(
    call: str, language: str, timeout_s: float | None, timeout_is: str, tries: int
) -> None:
    found = only_call(HEADS.get(language, "function f() {{ {} }}\n").format(call), language)
    assert (found.timeout_s, found.timeout_is, found.tries) == (timeout_s, timeout_is, tries)


def test_a_timeout_by_its_name_is_looked_up() -> None:
    assert only_call("TIMEOUT_S = 7\ndef f():\n    requests.get(u, timeout=TIMEOUT_S)\n").timeout_s == 7.0


def test_a_block_bounds_what_is_in_it() -> None:
    text = "async def f():\n    async with asyncio.timeout(2):\n        await httpx.AsyncClient().get(u)\n"
    assert only_call(text).timeout_s == 2.0


def test_a_client_and_a_context_bound_a_call_in_go() -> None:
    text = (
        "var client = &http.Client{Timeout: 5 * time.Second}\n"
        "func f(ctx context.Context) {\n"
        "  ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)\n"
        "  defer cancel()\n"
        "  client.Get(u)\n"
        "}\n"
    )
    assert only_call(f"package a\n{text}", "go").timeout_s == 0.5
    assert only_call("package a\n" + text.replace("WithTimeout", "WithCancel"), "go").timeout_s == 5.0


def test_a_timeout_of_a_request_is_read_in_java() -> None:
    text = (
        "import java.net.http.*;\nclass A { void f() {\n"
        "var r = HttpRequest.newBuilder(u).timeout(Duration.ofMillis(1500)).build();\n"
        "HttpClient.newHttpClient().send(r, h); } }\n"
    )
    assert only_call(text, "java").timeout_s == 1.5


TRIES = {
    "for attempt in range(4):\n        try:\n            return requests.get(u)\n        except OSError:\n"
    "            pass": 4,
    "for attempt in range(1, 4):\n        try:\n            return requests.get(u)\n        except OSError:\n"
    "            pass": 3,
    "while True:\n        try:\n            return requests.get(u)\n        except OSError:\n"
    "            time.sleep(1)": None,
    "return requests.get(u)": 1,
}


@pytest.mark.parametrize(("body", "tries"), TRIES.items())
def test_how_often_a_call_is_tried_is_read(body: str, tries: int | None) -> None:
    assert only_call_but_waits(f"def f():\n    {body}\n").tries == tries


def only_call_but_waits(text: str) -> Dependency:
    (found,) = [each for each in work(text).dependencies if each.kind != "wait"]
    return found


@pytest.mark.parametrize(
    ("decorator", "tries"),
    [
        ("retry(stop=stop_after_attempt(5))", 5),
        ("backoff.on_exception(backoff.expo, OSError, max_tries=4)", 4),
    ],
)
def test_how_often_a_decorator_tries_is_read(decorator: str, tries: int) -> None:
    assert only_call(f"@{decorator}\ndef f():\n    return requests.get(u)\n").tries == tries


def test_a_timeout_of_five_seconds_and_three_tries_are_explained() -> None:
    slow = one(FIGURES["three tries"][0], "latency")
    assert "requests.get on line 3 has a timeout of 5 s and is tried up to 3 times." in slow.explanation
    assert "In the worst case it waits for 15 s." in slow.explanation


def test_an_unbounded_call_is_explained() -> None:
    slow = one("def f():\n    return requests.get(u)\n", "latency")
    assert (
        "requests.get on line 2 has no timeout: nothing bounds the slowest requests until it gets one."
        in slow.explanation
    )
    assert "worst case" not in slow.explanation


def test_a_blocked_event_loop_is_explained() -> None:
    assert "Line 2 blocks the event loop" in one(FIGURES["blocked"][0], "latency").explanation


def test_lines_out_of_a_function_do_not_count_as_blocking_an_event_loop() -> None:
    assert work("    requests.get(u, timeout=2)\n    return 1\n").blocks_loop == 0


def test_the_assumed_number_of_items_is_explained() -> None:
    (job,) = work(JOB).dependencies
    assert job.times == 1000
    assert latencies(JOB) == (600.0,)
    (loop,) = work(FIGURES["one for each item"][0]).dependencies
    assert loop.times == 10
    assert "10 are assumed" in suggest_slos(FIGURES["one for each item"][0], "python")[0].explanation


def test_a_consumer_is_measured_by_the_message() -> None:
    text = "async def read(consumer):\n    async for message in consumer:\n        httpx.post(u, timeout=1)\n"
    (call,) = work(text).dependencies
    assert call.times == 1


def test_a_call_of_a_function_of_the_same_text_counts() -> None:
    text = (
        "def fetch():\n    return requests.get(u, timeout=9)\n\n@app.get('/')\ndef a():\n    return fetch()\n"
    )
    (call,) = work(text).dependencies
    assert (call.call, call.line, call.kind, call.timeout_s) == ("fetch", 6, "request", 9.0)


PROMISES = {
    "nothing": ("def f():\n    return 1\n", 99.9),
    "one": ("def f():\n    httpx.get(a)\n", 99.9),
    "two": ("def f():\n    httpx.get(a)\n    httpx.get(b)\n", 99.5),
    "two, tried again": (
        "@retry(stop=stop_after_attempt(3))\ndef f():\n    httpx.get(a)\n    httpx.get(b)\n",
        99.9,
    ),
    "two, one can fail": (
        "def f():\n    httpx.get(a)\n    try:\n        httpx.get(b)\n"
        "    except httpx.HTTPError:\n        x = 1\n",
        99.9,
    ),
    "two, one fails with the other": (
        "def f():\n    httpx.get(a)\n    try:\n        httpx.get(b)\n    except httpx.HTTPError:\n"
        "        return Response(status_code=502)\n",
        99.5,
    ),
    "many": ("def f(ids):\n    for i in ids:\n        httpx.get(i)\n", 99.0),
    "a model": ("def f():\n    client.chat.completions.create(model='a')\n", 99.0),
}


@pytest.mark.parametrize(("text", "promise"), PROMISES.values(), ids=PROMISES)
def test_availability_is_no_better_than_that_of_the_dependencies(text: str, promise: float) -> None:
    assert one(f"@app.get('/')\n{text}", "availability").objective == promise


def test_a_threshold_is_the_next_step_up() -> None:
    assert [stepped(each) for each in (0.0, 0.05, 0.051, 0.05 + 0.25, 59, 90_000)] == [
        0.05, 0.05, 0.1, 0.3, 60.0, 86_400.0,
    ]  # fmt: skip


DEPENDENCIES = st.builds(
    Dependency,
    kind=st.sampled_from(list[WorkKind](COSTS)),
    call=st.just("f"),
    line=st.just(1),
    times=st.sampled_from([1, 10, 100, 1000]),
    is_concurrent=st.booleans(),
    is_soft=st.booleans(),
    timeout_s=st.none() | st.floats(0.001, 3600),
    tries=st.none() | st.integers(1, 10),
    wait_s=st.just(0.0) | st.floats(0, 60),
)
WORKS = st.builds(
    FunctionProfile,
    entry=st.sampled_from(["request", "stream", "message", "job", "function"]).map(
        lambda kind: EntryPoint(kind, "f")  # type: ignore[arg-type]
    ),
    dependencies=st.lists(DEPENDENCIES, max_size=5).map(tuple),
    blocks_loop=st.sampled_from([0, 3]),
)


@given(WORKS)
def test_figures_are_always_common_steps(work: FunctionProfile) -> None:
    found = promise_of(work)
    assert found.p95_s in STEPS_S
    assert found.p99_s in STEPS_S
    assert found.p95_s < found.p99_s or found.p99_s in (60.0, STEPS_S[-1])
    assert found.availability in OBJECTIVES
    assert 1 <= found.errors <= 20


@given(WORKS, DEPENDENCIES)
def test_one_more_call_never_improves_a_promise(work: FunctionProfile, more: Dependency) -> None:
    before, after = (
        promise_of(work),
        promise_of(replace(work, dependencies=(*work.dependencies, more))),
    )
    assert after.p99_s >= before.p99_s
    assert after.availability <= before.availability


@given(DEPENDENCIES)
def test_a_call_takes_no_longer_than_its_timeouts(each: Dependency) -> None:
    p95_s, p99_s = cost_s(each)
    assert p95_s <= p99_s
    if each.timeout_s is not None and each.tries is not None:
        assert p99_s <= each.timeout_s * each.tries * each.times + 1e-9


JDBC = """
import java.sql.*;
class Orders {
  @GetMapping("/orders/{id}")
  String order(long id) throws SQLException {
    try (Connection c = DriverManager.getConnection(url);
         Statement s = c.createStatement();
         ResultSet rows = s.executeQuery(%s)) {
      return rows.getString(1);
    }
  }
}
"""


@pytest.mark.parametrize("sql", ['"SELECT name FROM orders WHERE id = " + id', "sql", "SELECT_ORDER"])
def test_connections_and_queries_of_jdbc_leave_the_process(sql: str) -> None:
    found = work(JDBC % sql, "java").dependencies
    assert [(each.call, each.kind) for each in found] == [
        ("DriverManager.getConnection", "query"),
        ("s.executeQuery", "query"),
    ]
