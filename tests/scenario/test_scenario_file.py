"""Scenario files and folders, and the errors for mistakes in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.faults.stream.latency import Latency
from faultkit.scenario.scenario_file import load_scenarios, read_scenarios, validate

GOOD = """\
title: {title}
items:
  - call: {{method: GET, url: "http://localhost/"}}
"""
HEAD = """\
title: a
items:
  - call:
      method: GET
      url: http://localhost/
    context:
"""


def messages(text: str) -> list[str]:
    return [str(problem) for problem in read_scenarios(text, "x.yaml")[1]]


def within_context(lines: str) -> str:
    return HEAD + "".join(f"      {line}\n" for line in lines.splitlines())


def test_every_document_of_a_file_is_a_scenario(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text("---\n" + GOOD.format(title="one") + "---\n# nothing\n---\n" + GOOD.format(title="two"))
    found = load_scenarios(file)
    assert [(each.title, each.document, each.file) for each in found] == [
        ("one", 1, str(file)),
        ("two", 3, str(file)),
    ]
    assert load_scenarios(str(file)) == found
    assert validate(file) == []


def test_a_folder_gives_its_yaml_files_in_order_and_those_below_it(tmp_path: Path) -> None:
    for name in ("b.yml", "a.yaml", "c/deep/x.yaml", "c/notes.txt", ".hidden.yaml", ".git/y.yaml"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(GOOD.format(title=name))
    assert [each.title for each in load_scenarios(tmp_path)] == ["a.yaml", "b.yml", "c/deep/x.yaml"]


def test_all_mistakes_of_all_files_are_reported_and_the_first_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("set").mkdir()
    Path("set/a.yaml").write_text(GOOD.format(title="''") + "---\ntitle: b\nitmes: []\n")
    Path("set/b.yaml").write_text("title: [\n")
    Path("set/c.yaml").write_text("# nothing\n")
    Path("set/d.yaml").write_bytes(b"title: caf\xe9\n")
    expected = [
        'set/a.yaml: document 1, line 1: title: expected a text, got ""',
        "set/a.yaml: document 2, line 5: items: expected a list of at least one item, got nothing",
        'set/a.yaml: document 2, line 6: itmes: unknown key; did you mean "items"?',
        "set/b.yaml: line 2, column 1: expected the node content, but found '<stream end>'",
        "set/c.yaml: expected a scenario, got a file without one",
        "set/d.yaml: expected UTF-8 text, got byte 0xe9",
    ]
    assert [str(problem) for problem in validate("set")] == expected
    with pytest.raises(InputError) as caught:
        load_scenarios("set")
    assert str(caught.value) == expected[0]


def test_a_path_that_has_no_scenario_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    for path, message in (
        ("nowhere", "nowhere: cannot be read: no such file or directory"),
        ("empty", "empty: expected YAML files (*.yaml, *.yml), got a folder without any"),
    ):
        with pytest.raises(InputError) as caught:
            load_scenarios(path)
        assert str(caught.value) == message


def test_documents_before_broken_yaml_are_checked_too() -> None:
    assert messages(GOOD.format(title="''") + "---\nb: [\n") == [
        'x.yaml: line 1: title: expected a text, got ""',
        "x.yaml: line 6, column 1: expected the node content, but found '<stream end>'",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a", ["line 1: expected a mapping, got a list"]),
        ("title: a\nitems: {}\n", ["line 2: items: expected a list of at least one item, got a mapping"]),
        ("title: a\nitems: []\n", ["line 2: items: expected a list of at least one item, got an empty list"]),
        ("title: a\nitems: [1]\n", ["line 2: items[0]: expected a mapping, got 1"]),
        ("title: a\nitems:\n  - {}\n", ["line 3: items[0].call: expected a mapping, got nothing"]),
        (
            'title: "a\\nb"\nitems: [{call: {method: GET, url: "http://h"}}]\n',
            ['line 1: title: expected a text on one line, got "a\\nb"'],
        ),
        ("title: a\ntitle: b\n", ['line 2, column 1: key "title" is given twice']),
        (
            "title: a\nconfig: {htp: 1}\nitems: [{call: {method: GET, url: 'http://h'}}]\n",
            ['line 2: config.htp: unknown key; did you mean "http"?'],
        ),
        (
            "title: a\nconfig:\n  http:\n    paths:\n      segments: {id: 5, b: ''}\n"
            "items: [{call: {method: GET, url: 'http://h'}}]\n",
            ["line 5: config.http.paths.segments.id: expected a text in quotes, got 5"],
        ),
        (
            "title: a\nconfig:\n  http:\n    paths:\n      segments:\n        b: ''\n"
            "items: [{call: {method: GET, url: 'http://h'}}]\n",
            ['line 6: config.http.paths.segments.b: expected a text that is not empty, got ""'],
        ),
    ],
)
def test_mistakes_at_the_top_have_their_line(text: str, expected: list[str]) -> None:
    assert messages(text) == [f"x.yaml: {each}" for each in expected]


MS = 'expected a number of milliseconds above 0 or a duration with its unit such as "500ms"'
KINDS = (
    "latency, error, availability, first_event, gap, early_end, tool_error, "
    "time_to_first_token, token_gap, tokens_per_second, refusal"
)
LONG = 'expected a duration with its unit such as "10s" or "1h 30m"'
URL = 'expected an absolute URL such as "http://localhost:8080/path"'


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("{url: 'http://h'}", "method: expected an HTTP method such as GET, got nothing"),
        ("{method: 'G T', url: 'http://h'}", 'method: expected an HTTP method such as GET, got "G T"'),
        (
            "{method: connect, url: 'http://h'}",
            'method: expected a method with an answer of its own, got "CONNECT"',
        ),
        ("{method: GET}", f"url: {URL}, got nothing"),
        ("{method: GET, url: 5}", f"url: {URL}, got 5"),
        ("{method: GET, url: localhost/x}", f'url: {URL}, got "localhost/x"'),
        ("{method: GET, url: 'ftp://h/'}", f'url: {URL}, got "ftp://h/"'),
        ("{method: GET, url: 'http:///x'}", f'url: {URL}, got "http:///x"'),
        ("{method: GET, url: 'http://[::1/x'}", f'url: {URL}, got "http://[::1/x": invalid ipv6 url'),
        ("{method: GET, url: 'http://:80/x'}", 'url: expected a URL with a host, got "http://:80/x"'),
        (
            "{method: GET, url: 'http://h:99999/x'}",
            'url: expected a port from 0 to 65535, got "99999" in "h:99999"',
        ),
        (
            "{method: GET, url: 'http://a..b/x'}",
            'url: expected a host name or an IP address, got "a..b" in "a..b"',
        ),
        (
            "{method: GET, url: 'http://u:p@h/x'}",
            'url: expected a URL without a user, got "http://xxxxxx@h/x"',
        ),
        ("{method: GET, url: 'http://h/#x'}", 'url: expected a URL without a fragment, got "http://h/#x"'),
        (
            "{method: GET, url: 'http://h/a b'}",
            'url: expected a URL with other characters percent-encoded, got "http://h/a b"',
        ),
        (
            "{method: GET, url: 'http://h/{id}/{other}'}",
            'url: expected a value for "{id}" in config.http.paths.segments, got nothing',
        ),
        (
            "{method: GET, url: 'http://h/}x{'}",
            'url: expected braces around the names of segments only, got "http://h/}x{"',
        ),
        ("{method: GET, url: 'http://h', headers: {a: 5}}", "headers.a: expected a text in quotes, got 5"),
        ("{method: GET, url: 'http://h', headers: {'a b': c}}", 'headers: expected a header name, got "a b"'),
        (
            "{method: GET, url: 'http://h', headers: {a: b, A: c}}",
            "headers.A: expected each name once, got it again in other letters",
        ),
        (
            '{method: GET, url: "http://h", headers: {a: "b\\nc"}}',
            'headers.a: expected a text on one line with characters of Latin-1, got "b\\nc"',
        ),
        (
            "{method: GET, url: 'http://h', headers: [a]}",
            "headers: expected a mapping of header names to texts, got a list",
        ),
        (
            "{method: GET, url: 'http://h', body: 5}",
            "body: expected a text, or a mapping or a list to send as JSON, got 5",
        ),
        (
            "{method: GET, url: 'http://h', body: [2024-01-02]}",
            "body: expected values that JSON has, got 2024-01-02 (text needs quotes)",
        ),
        (
            "{method: GET, url: 'http://h', body: [.nan]}",
            "body: expected values that JSON has, got a number without an end",
        ),
        (
            "{method: GET, url: 'http://h', timeout: 0}",
            f"timeout: {MS}, got 0",
        ),
        (
            "{method: GET, url: 'http://h', timeout: '5'}",
            f'timeout: {MS}, got "5"',
        ),
        (
            "{method: GET, url: 'http://h', meta: {operationId: x}}",
            'meta.operationId: unknown key; did you mean "operation_id"?',
        ),
    ],
)
def test_a_mistake_in_a_call_is_named(call: str, expected: str) -> None:
    text = f"title: a\nitems:\n  -\n    call: {call}\n"
    assert messages(text) == [f"x.yaml: line 4: items[0].call.{expected}"]


PERCENT = 'expected times such as "10s", got "start:10%": percentages need a strategy of mode load'


@pytest.mark.parametrize(
    ("context", "line", "expected"),
    [
        ("upstream: []", 7, 'upstream: unknown key; did you mean "upstreams"?'),
        ("upstreams: a.example", 7, 'upstreams: expected a list of hosts, got "a.example"'),
        (
            "upstreams:\n- a\n- 'a b'",
            9,
            'upstreams[1]: expected a host name or an IP address, got "a b" in "a b"',
        ),
        ("upstreams: ['']", 7, 'upstreams[0]: expected a host or a URL, got ""'),
        ("faults: {type: dns}", 7, "faults: expected a list of faults, got a mapping"),
        (
            "faults:\n- type: dns\n- type: latency\n  mean: -5",
            10,
            "faults[1].mean: expected a number of at least 0, got -5.0",
        ),
        ("faults:\n- type: jitter\n  period: start:10%", 9, f"faults[0].period: {PERCENT}"),
        (
            "strategy: {mode: repeat, step: 0, count: 2}\nfaults:\n- type: jitter\n  period: start:10%",
            10,
            f"faults[0].period: {PERCENT}",
        ),
        (
            "strategy: {mode: load, duration: 10s, rps: 1}\n"
            "faults:\n- {type: jitter, period: 'duration:50%,every:4s'}",
            9,
            'faults[0].period: every: expected at least the duration ("50%"), got "4s"',
        ),
        ("strategy: load", 7, 'strategy: expected a mapping, got "load"'),
        (
            "strategy: {duration: 10s}",
            7,
            "strategy.mode: expected one of single, repeat, load, search, got nothing",
        ),
        (
            "strategy:\n  mode: laod",
            8,
            'strategy.mode: expected one of single, repeat, load, search, got "laod"; did you mean "load"?',
        ),
        (
            "strategy:\n  mode: load\n  rps: 1\n  duration: '10'",
            10,
            f'strategy.duration: {LONG}, got "10"',
        ),
        (
            "strategy:\n  mode: load\n  rps: 1\n  duration: 10",
            10,
            f"strategy.duration: {LONG}, got 10",
        ),
        (
            "strategy: {mode: load, rps: 1, duration: 10 parsecs}",
            7,
            f'strategy.duration: {LONG}, got "10 parsecs"',
        ),
        (
            "strategy: {mode: load, rps: 1, duration: 0s}",
            7,
            f'strategy.duration: {LONG}, got "0s"',
        ),
        (
            "strategy: {mode: load, duration: 1s}",
            7,
            "strategy.rps: expected a number of requests a second above 0, got nothing",
        ),
        (
            "strategy: {mode: load, duration: 1s, rps: -1}",
            7,
            "strategy.rps: expected a number of requests a second above 0, got -1",
        ),
        (
            "strategy: {mode: load, duration: 1s, rps: 1, clients: 0}",
            7,
            "strategy.clients: expected a whole number from 1 to 1000000, got 0",
        ),
        (
            "strategy: {mode: load, duration: 1s, rps: 1, ramp: 2s}",
            7,
            "strategy.ramp: expected from 0 to the duration, got 2.0",
        ),
        (
            "strategy: {mode: load, duration: 1s, rps: 1, model: opne}",
            7,
            'strategy.model: expected one of open, closed, got "opne"; did you mean "open"?',
        ),
        (
            "strategy: {mode: load, duration: 1s, rps: 1, keep_alive: 1}",
            7,
            "strategy.keep_alive: expected true or false, got 1",
        ),
        ("strategy: {mode: single, count: 5}", 7, "strategy.count: unknown key; expected one of mode"),
        ("slo: [5]", 7, "slo[0]: expected a mapping, got 5"),
        (
            "slo:\n- {objective: 95, threshold: 5}",
            8,
            f"slo[0].type: expected one of {KINDS}, got nothing",
        ),
        (
            "slo:\n- {slo_type: speed, objective: 95}",
            8,
            f'slo[0].slo_type: expected one of {KINDS}, got "speed"',
        ),
        (
            "slo:\n- {type: error, slo_type: error, objective: 95, threshold: 5}",
            8,
            'slo[0].slo_type: expected it or "type", got both',
        ),
        (
            "slo:\n- type: error\n  objective: 100\n  threshold: 5",
            9,
            "slo[0].objective: expected a percentage above 0 and below 100, got 100",
        ),
        (
            "slo:\n- {type: error, objective: 95}",
            8,
            "slo[0].threshold: expected a percentage above 0 and at most 100, got nothing",
        ),
        (
            "slo:\n- {type: error, objective: 95, threshold: 200}",
            8,
            "slo[0].threshold: expected a percentage above 0 and at most 100, got 200",
        ),
        (
            "slo:\n- {type: latency, objective: 95}",
            8,
            "slo[0].threshold: expected a number of milliseconds above 0, got nothing",
        ),
        (
            "slo:\n- {type: latency, objective: 95, threshold: 5, window: 10}",
            8,
            f"slo[0].window: {LONG}, got 10",
        ),
        (
            "proxy: {disable_http_proxies: true}\nfaults: [{type: dns}]",
            7,
            "proxy.disable_http_proxies: expected false, or proxies for the faults to act in, "
            "got true and no proxies",
        ),
        ("proxy:\n  proxies:\n  - 9090", 9, "proxy.proxies[0]: expected a text, got 9090"),
        (
            "proxy: {proxies: ['9090']}",
            7,
            'proxy.proxies[0]: expected PORT=HOST:PORT such as "9090=https://example.com", '
            'got no "=" in "9090"',
        ),
        (
            "proxy: {proxies: ['9090=a:1', '9090=b:2']}",
            7,
            "proxy.proxies[1]: expected each map to listen elsewhere, got 127.0.0.1:9090 again",
        ),
        (
            "runs_on: {platform: kubernetes}",
            7,
            "runs_on: expected nothing, got a platform: scenarios run on this machine only",
        ),
    ],
)
def test_a_mistake_in_a_context_is_named_with_its_line(context: str, line: int, expected: str) -> None:
    assert messages(within_context(context)) == [f"x.yaml: line {line}: items[0].context.{expected}"]


@pytest.mark.parametrize(
    ("expect", "expected"),
    [
        ("{status: 99}", "status: expected a whole number from 100 to 599, got 99"),
        ("{status: ok}", 'status: expected a whole number from 100 to 599, got "ok"'),
        (
            "{response_time_under: -1}",
            "response_time_under: expected a number of milliseconds above 0 or a duration "
            'with its unit such as "500ms", got -1',
        ),
        ("{all_slo_are_valid: 1}", "all_slo_are_valid: expected true or false, got 1"),
        ("{stauts: 200}", 'stauts: unknown key; did you mean "status"?'),
    ],
)
def test_a_mistake_in_an_expectation_is_named(expect: str, expected: str) -> None:
    text = HEAD + f"      faults: []\n    expect: {expect}\n"
    assert messages(text) == [f"x.yaml: line 8: items[0].expect.{expected}"]


def test_a_fault_behind_an_alias_is_shown_where_it_was_written() -> None:
    text = (
        "title: a\nitems:\n- &one\n  call: {method: GET, url: 'http://h'}\n  context:\n    faults:\n"
        "    - &slow\n      type: latency\n      mean: -5\n- <<: *one\n  expect: {status: 200}\n"
    )
    problem = "mean: expected a number of at least 0, got -5.0"
    assert messages(text) == [
        f"x.yaml: line 9: items[0].context.faults[0].{problem}",
        f"x.yaml: line 9: items[1].context.faults[0].{problem}",
    ]


def test_mistakes_come_in_the_order_of_lines() -> None:
    text = "items:\n- call:\n    url: x\n    method: 5\n    bdoy: a\ntitle: ''\n"
    assert [message.split(": ")[1:3] for message in messages(text)] == [
        ["line 3", "items[0].call.url"],
        ["line 4", "items[0].call.method"],
        ["line 5", "items[0].call.bdoy"],
        ["line 6", "title"],
    ]


def test_samples_of_a_fault_are_read_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "measured.txt").write_text("10\n30\n20\n")
    file = tmp_path / "one.yaml"
    table = "faults:\n- type: latency\n  distribution: table\n  samples: {}\n"
    file.write_text(within_context(table.format("measured.txt")))
    (scenario,) = load_scenarios(file)
    fault = scenario.items[0].faults[0].rule.fault
    assert isinstance(fault, Latency)
    assert (fault.samples, dict(fault.percentiles)["p50"], dict(fault.percentiles)["p100"]) == (
        None,
        20.0,
        30.0,
    )
    file.write_text(within_context(table.format("missing.txt")))
    place = f"{file}: line 10: items[0].context.faults[0].samples"
    missing = tmp_path / "missing.txt"
    assert [str(each) for each in validate(file)] == [
        f"{place}: {missing}: cannot be read: no such file or directory"
    ]
