"""The pure modules of the portal, with exact values, in the browser that runs them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import pytest

from tests.report.chromium import Page
from tests.web.portal.browser import Browser
from tests.web.portal.serving import serving


@pytest.fixture(scope="module")
def browser(page: Page) -> Iterator[Browser]:
    with serving() as served:
        browser = Browser(page, served.page)
        browser.open()
        yield browser


def came_to(browser: Browser, module: str, expression: str) -> object:
    """Return the value of an expression in which `it` is the module."""
    return browser.run(f"import('/portal/js/{module}.js').then(async (it) => ({expression}))")


EXACT = [
    ("numerals", "[0, 0.004, 0.0567, 0.5, 1.234, 12.34, 123.4, 999.6].map(it.milliseconds)",
     ["0 ms", "<0.01 ms", "0.06 ms", "0.5 ms", "1.23 ms", "12.3 ms", "123 ms", "1 s"]),
    ("numerals", "[1500, 59949, 59999, 61500].map(it.milliseconds)",
     ["1.5 s", "59.9 s", "1 min 0 s", "1 min 2 s"]),
    ("numerals", "[0, 0.0001, 0.034, 0.5, 1].map(it.percent)", ["0%", "<0.1%", "3.4%", "50%", "100%"]),
    ("numerals", "[1, 1023, 1536, 5 << 20].map(it.bytes)", ["1 byte", "1,023 bytes", "1.5 KB", "5 MB"]),
    ("numerals", "[it.plural(1, 'call'), it.plural(1200, 'call')]", ["1 call", "1,200 calls"]),
    ("numerals", "[-5, -100, -7200, 86400].map((s) => it.ago(new Date(s * 1000), new Date(0)))",
     ["5 seconds ago", "2 minutes ago", "2 hours ago", "tomorrow"]),
    ("axis", "[0, 1, 3, 7, 40, 1234].map((most) => it.countTicks(most, 3))",
     [[0, 1], [0, 1], [0, 1, 2, 3], [0, 5, 10], [0, 20, 40], [0, 500, 1000, 1500]]),
    ("axis", "[it.decadeTicks(0.3, 2000), it.decadeTicks(0, 0), it.decadeTicks(1, 1)]",
     [[0.1, 1, 10, 100, 1000, 10000], [0.01, 0.1], [1, 10]]),
    ("axis", "it.timeTicks(0, 3600000, 4).step", 900000),
    ("axis", "it.timeTicks(0, 3600000, 4).ticks.length", 5),
    ("route", "(({ view, settings }) => [view, [...settings]])(it.here('#/calls?q=a%26b&param.x=1'))",
     ["calls", [["q", "a&b"], ["param.x", "1"]]]),
    ("route", "['', '#', '#view', '#/', '#/keys'].map((each) => it.here(each).view)",
     ["overview", "overview", "overview", "overview", "keys"]),
    ("route", "it.address('calls', { q: 'a b&c', tool: 'slow' })", "#/calls?q=a+b%26c&tool=slow"),
    ("route", "it.changed(new URLSearchParams('a=1&b=2'), { a: null, c: '3' }).toString()", "b=2&c=3"),
    ("difference", "it.difference('a\\nb\\nc', 'a\\nc\\nd').map(({ kind, text }) => kind + ' ' + text)",
     ["same a", "gone b", "same c", "come d"]),
    ("difference", "it.difference('a', 'a').map(({ kind }) => kind)", ["same"]),
    ("difference", "it.folded(it.difference('1\\n2\\n3\\n4\\n5\\n6', '1\\n2\\n3\\n4\\n5\\n7'))"
     ".map(({ kind, text, lines }) => [kind, text ?? lines])",
     [["left", 3], ["same", "4"], ["same", "5"], ["gone", "6"], ["come", "7"]]),
    ("difference", "it.folded(it.difference('1\\n2\\n3\\n4', '1\\n2\\n3\\n5')).map(({ kind }) => kind)",
     ["same", "same", "same", "gone", "come"]),
    ("json", "it.pretty(it.parseExactly('[9007199254740993,1.0,3e-05,5,\"x\"]')).replace(/\\s/g, '')",
     '[9007199254740993,1.0,3e-05,5,"x"]'),
    ("json", "it.coloured('{\"a\": [1, true, \"<b>\"]}').map((each) => each.className ?? each)",
     ["{", "json-key", ":", " [", "json-number", ", ", "json-word", ", ", "json-text", "]}"]),
    ("charts", "it.seriesOf({ points: [{ time: '1970-01-01T00:01:00Z', count: 0 }], bucket_s: 60 })",
     {"points": [{"time": "1970-01-01T00:01:00Z", "count": 0, "at": 60000}],
      "step": 60000, "from": 60000, "to": 120000}),
]  # fmt: skip


@pytest.mark.parametrize(("module", "expression", "value"), EXACT, ids=[each[1][:50] for each in EXACT])
def test_an_expression_comes_to_this(browser: Browser, module: str, expression: str, value: object) -> None:
    assert came_to(browser, module, expression) == value


PIECES = (
    ": connected\n\nid: 1\neve",
    'nt: audit\ndata: {"a":',
    "1}\n\ndata: x\r\ndata: y\r",
    "\n\r\nevent: cut\ndata: off",
)
READ = """
await (async (pieces) => {
  const stream = new ReadableStream({
    start(to) {
      for (const each of pieces) to.enqueue(new TextEncoder().encode(each));
      to.close();
    },
  });
  const all = [];
  for await (const each of it.readEvents(stream)) all.push(each);
  return all;
})(%s)
"""


@pytest.mark.parametrize(
    "pieces", [PIECES, "".join(PIECES), ["".join(PIECES)]], ids=["cut", "bytes", "whole"]
)
def test_events_are_read_however_their_bytes_are_cut(browser: Browser, pieces: Sequence[str]) -> None:
    assert came_to(browser, "sse", READ % json.dumps(list(pieces))) == [
        {"name": "audit", "data": '{"a":1}'},
        {"name": "message", "data": "x\ny"},
    ]
