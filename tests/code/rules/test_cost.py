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
