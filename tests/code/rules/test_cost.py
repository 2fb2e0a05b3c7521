"""The cost of rules grows with a text, and not with its square: counted in calls, the same each time."""

from __future__ import annotations

import sys
from textwrap import dedent

import pytest

from faultkit.code.facts import Facts, facts_of
from faultkit.code.languages import language_named
from faultkit.code.languages.syntax import parse
from faultkit.code.rules.rule import Rule
from tests.code.rules.test_rules import BY_SLUG, CASES

SHARE = 30
"""Cases of a language that make up a text."""
MOST = 2.6
"""Calls for twice the text, as a multiple of those for the text."""
ASIDE = 1000
"""Calls that do not count: what a rule compiles or asks once."""


def _facts(language: str, times: int) -> Facts:
    """Return the facts of some cases."""
    codes = [dedent(case.code) for case in CASES if case.language == language]
    chosen = codes[:: max(1, len(codes) // SHARE)]
    text = "\n".join(code for _ in range(times) for code in chosen)
    return facts_of(parse(text.encode(), language_named(language)))


def _copies(code: str, language: str, times: int) -> Facts:
    """Return the facts of copies of a text; `@` in it is the number of the copy."""
    text = "".join(code.replace("@", str(each)) for each in range(times))
    return facts_of(parse(text.encode(), language_named(language)))


def _calls(rule: Rule, facts: Facts) -> int:
    """Return the number of calls of functions, also of generators that go on, while a rule runs."""
    count = 0

    def on_event(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += 1

    hits = iter(rule.check(facts))
    sys.setprofile(on_event)
    try:
        for _ in hits:
            pass
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    ("slug", "language"),
    [
        ("lock-held-over-io", "java"),
        ("missing-limit", "python"),
        ("secret-in-log", "python"),
        ("released-on-success-only", "python"),
        ("http-call-without-timeout", "go"),
    ],
)
def test_twice_the_text_takes_twice_the_calls(slug: str, language: str) -> None:
    rule = BY_SLUG[slug]
    once, twice = (_calls(rule, _facts(language, times)) for times in (2, 4))
    assert twice <= MOST * once + ASIDE, (once, twice)


REQUEST = "import requests\n\ndef f@(url):\n    r = requests.get(url)\n    return r.json()\n"
FAN_OUT = """\
const { Pool } = require("pg");
const pool@ = new Pool();
async function row@(id) { return pool@.query("select * from a where id = $1", [id]); }
async function one@(id) { return row@(id); }
async function all@(ids) { return Promise.all(ids.map((id) => fetch("https://a.example/" + id))); }
"""
LISTENERS = """\
class Show@ {
  start() { const seen = this.items.get(1); this.bus@.on("tick", (tick) => this.show@(tick)); }
  stop() { this.bus@.off("tick", this.show@); }
  show@(tick) { return tick; }
}
"""
COPIES = """\
const fs = require("fs");
function copy@(source) {
  const out@ = fs.createWriteStream("a@");
  source.on("data", (part) => { out@.write(part); });
}
"""
PAGES = """\
const querystring = { type: "object", properties: { limit: { type: "integer", minimum: 1 } } };
export async function routes@(app) {
  app.get("/rows@", { schema: { querystring } }, async (request) => {
    return db.selectFrom("row").selectAll().limit(request.query.limit).execute();
  });
}
"""


@pytest.mark.parametrize(
    ("slug", "language", "code"),
    [
        ("unchecked-response-status", "python", REQUEST),
        ("http-call-without-timeout", "python", REQUEST),
        ("unbounded-fan-out", "javascript", FAN_OUT),
        ("listener-leak", "javascript", LISTENERS),
        ("backpressure-ignored", "javascript", COPIES),
        ("unbounded-page-size", "javascript", PAGES),
    ],
)
def test_twice_as_many_copies_take_twice_the_calls(slug: str, language: str, code: str) -> None:
    once, twice = (_calls(BY_SLUG[slug], _copies(code, language, times)) for times in (100, 200))
    assert once > 100
    assert twice <= MOST * once + ASIDE, (once, twice)


def test_a_name_that_many_functions_set_is_looked_up_by_function() -> None:
    facts = _copies(REQUEST, "python", 50)
    found = [facts.assignments_to("r", scope) for scope in facts.scopes]
    assert [[facts.text(each.span) for each in row] for row in found] == [[]] * 50
    inside = [facts.assignments_to("r", call) for call in facts.calls_named("requests.get")]
    assert [len(row) for row in inside] == [1] * 50
