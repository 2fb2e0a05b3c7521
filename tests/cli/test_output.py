"""The outputs of a run as exact text, without a run."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO

import pytest

from faultkit.base.address import Endpoint, UpstreamSet
from faultkit.cli.run_output import (
    JsonLines,
    PlainLines,
    RunEnding,
    StartedRun,
    Warnings,
    end_lines,
    human_bytes,
    tail_line,
    target_text,
)
from faultkit.plan import read_plan
from faultkit.proxy.data_plane import LatenessSummary, ProxyCounts, ProxySpec, Snapshot
from faultkit.proxy.plane_events import (
    Closed,
    DialFailed,
    Directed,
    Injected,
    Opened,
    PlaneEvent,
    Requested,
    RulesChanged,
    Trouble,
)

HERE, THERE = Endpoint("127.0.0.1", 9000), Endpoint("db", 5432)
COUNTS = ProxyCounts("9000", HERE, THERE, 3, 0, 1500, 2_000_000, 0, 7, 1)
LATE = LatenessSummary(12, 20.0, 90.4, 100.6, 0)
ENDING = RunEnding("interrupt", 12.34, Snapshot((COUNTS,), ("latency",), {"latency": 7}, LATE, 0, 5))


@pytest.mark.parametrize(
    ("happening", "line"),
    [
        (Opened(11.5, "9000", 0, "127.0.0.1:4"), "    1.500000  9000   #0     opened    from 127.0.0.1:4"),
        (
            Closed(12.0, "9000", 0, "end", 10, 2500, 0.25),
            "    2.000000  9000   #0     closed    end, 10 B up, 2.5 kB down, 0.250 s",
        ),
        (
            Injected(11.0, "9000", 1, "to_client", "slow", "latency", 0, "delay_ms", 100.0),
            "    1.000000  9000   #1     injected  slow to_client delay_ms=100",
        ),
        (
            Requested(11.0, "http", 2, "GET", "/a", ("bad",)),
            "    1.000000  http   #2     request   GET /a  [bad]",
        ),
        (
            Requested(11.0, "http", 2, "GET", "/h?password=hunter2zz&q=1", ()),
            "    1.000000  http   #2     request   GET /h?password=xxxxxx&q=1",
        ),
        (
            DialFailed(11.0, "9000", 3, "db:5432", "refused"),
            "    1.000000  9000   #3     no dial   db:5432: refused",
        ),
        (
            Requested(11.0, "http", 2, "GET", "/\x9b31m\u202e", ()),
            "    1.000000  http   #2     request   GET /\\x9b31m\\u202e",
        ),
        (RulesChanged(11.0, "*", ()), "    1.000000  *             rules     none act"),
        (
            Trouble(11.0, "9000", "out of descriptors"),
            "    1.000000  9000          trouble   out of descriptors",
        ),
    ],
)
def test_tail_shows_when_where_and_what(happening: PlaneEvent, line: str) -> None:
    assert tail_line(happening, began=10.0) == line


def test_the_summary_has_what_went_through_what_was_done_and_how_exactly() -> None:
    assert end_lines(ENDING) == [
        "ended (interrupt) after 12.3 s",
        "connections: 3 (1 could not reach the upstream), 1.5 kB up, 2.0 MB down",
        "injected: latency 7",
        "lateness of 12 releases: p50 20 µs, p99 90 µs, max 101 µs",
        "warning: 5 events were not shown: too many at once",
    ]


def test_json_lines_are_one_object_each_with_times_since_the_start() -> None:
    stream = StringIO()
    output = JsonLines(stream)
    plan = read_plan("seed: 7\nrules: [{fault: latency}]")
    output.started(StartedRun(plan, ((ProxySpec("9000", HERE, THERE), HERE),), began=10.0))
    output.happened([Opened(11.5000004, "9000", 0, "c")])
    output.ended(ENDING)
    started, opened, ended = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (started["seed"], started["plan"], started["rules"]) == (7, plan.digest, ["latency"])
    assert opened == {"event": "opened", "t": 1.5, "proxy": "9000", "connection": 0, "client": "c"}
    assert (ended["event"], ended["t"], ended["dropped_happenings"]) == ("ended", 12.34, 5)
    assert (ended["proxies"][0]["listen"], ended["proxies"][0]["upstream"]) == ("127.0.0.1:9000", "db:5432")


def test_json_lines_mask_the_secrets_in_a_request_target() -> None:
    stream = StringIO()
    JsonLines(stream).happened([Requested(1.0, "http", 2, "GET", "http://u:p@h/a?q=1&token=abc", ("bad",))])
    assert json.loads(stream.getvalue()) == {
        "event": "request",
        "t": 1.0,
        "proxy": "http",
        "connection": 2,
        "method": "GET",
        "target": "http://xxxxxx@h/a?q=1&token=xxxxxx",
        "injected": ["bad"],
    }


def test_plain_output_has_only_warnings_between_start_and_end() -> None:
    stream = StringIO()
    PlainLines(stream).happened([Opened(1.0, "9000", 0, "c"), Trouble(1.0, "9000", "accepting pauses")])
    assert stream.getvalue() == "warning: 9000: accepting pauses\n"


def test_connections_without_a_descriptor_are_not_those_of_an_unreachable_upstream() -> None:
    counts = replace(COUNTS, shortages=2)
    ending = RunEnding("interrupt", 2.0, Snapshot((counts,), (), {}, LatenessSummary(), 0, 0))
    assert end_lines(ending)[1] == (
        "connections: 3 (1 could not reach the upstream; 2 got no descriptor on this machine, "
        "see `ulimit -n`), 1.5 kB up, 2.0 MB down"
    )


def test_what_llm_rules_could_not_read_is_not_exercised() -> None:
    counts = replace(COUNTS, untouched=1200)
    ending = RunEnding("interrupt", 2.0, Snapshot((counts,), (), {}, LatenessSummary(), 0, 0))
    assert end_lines(ending)[3] == "not exercised by LLM rules: 1,200 requests or answers that passed"


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (ProxySpec("a", HERE, THERE), "db:5432"),
        (ProxySpec("a", HERE, THERE, tls=True), "db:5432 (TLS)"),
        (ProxySpec("a", HERE), "any host (HTTP proxy; faults act on all)"),
        (ProxySpec("a", HERE, broken=UpstreamSet()), "any host (HTTP proxy; faults act on none)"),
        (
            ProxySpec("a", HERE, broken=UpstreamSet.parse(["x:1,y"])),
            "any host (HTTP proxy; faults act on x:1, y)",
        ),
    ],
)
def test_a_proxy_is_shown_with_its_target(spec: ProxySpec, text: str) -> None:
    assert target_text(spec) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1.5e9, "1.5 GB"), (2e15, "2000.0 TB")]
)
def test_bytes_are_counted_in_thousands(count: float, text: str) -> None:
    assert human_bytes(count) == text


def test_plain_lines_tell_once_why_an_upstream_cannot_be_reached() -> None:
    stream = StringIO()
    output = PlainLines(stream)
    for number in range(3):
        output.happened(
            [DialFailed(1.0, "9000", number, "api.test:443", "TLS: the certificate is not trusted")]
        )
    assert stream.getvalue() == (
        "warning: 9000: cannot reach api.test:443: TLS: the certificate is not trusted "
        "(--cacert names an authority, --insecure checks none)\n"
    )


@pytest.mark.parametrize(("spared", "text"), [(False, "to        a:80"), (True, "to        a:80 (spared)")])
def test_a_line_names_the_destination_in_a_forward_proxy(spared: bool, text: str) -> None:
    assert tail_line(Directed(1.0, "http", 4, "a:80", spared), 0.0).endswith(text)


def test_a_name_that_a_rule_lost_is_no_warning_whatever_its_text() -> None:
    lost = DialFailed(11.0, "9000", 3, "db:5432", "cannot resolve db: injected failure", injected=True)
    failed = DialFailed(11.0, "9000", 4, "db:5432", "not an injected failure")
    assert Warnings().new([lost, failed]) == ["9000: cannot reach db:5432: not an injected failure"]


def test_json_lines_do_not_control_the_terminal_and_show_utf_8() -> None:
    stream = StringIO()
    target = "/h?q=\u009b31mü".encode().decode("latin-1")  # As the bytes of a head are read.
    JsonLines(stream).happened([Requested(1.0, "http", 2, "GET", target, ())])
    assert '"target":"/h?q=\\u009b31mü"' in stream.getvalue()
    assert tail_line(Requested(1.0, "http", 2, "GET", target, ()), 0.0).endswith("GET /h?q=\\x9b31mü")
    assert Requested(1.0, "http", 2, "GET", "/\xff", ()).masked_target == "/\xff"
