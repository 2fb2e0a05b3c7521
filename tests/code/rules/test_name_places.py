"""Names are found in texts as an expression for each of them would find them."""

from __future__ import annotations

import re

import pytest

from faultkit.code.facts import facts_of
from faultkit.code.languages import language_named
from faultkit.code.languages.syntax import parse_fragment
from faultkit.code.rules.vocabulary.name_places import ends_of_name, has_name, is_boundary, is_followed
from faultkit.code.rules.vocabulary.stores import has_size_check

NAMES = ("a", "aa", "#a", "a.a", "a[0]", "größe", "_x")
TEXTS = (
    "", "a", "aa a", "a.a.a", "x.#a = this.#a", "a[0]x a[0]", "größe = _größe + größe2", "_x(__x, _x1, _x)",
    "éa a",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", TEXTS)
def test_a_name_ends_where_the_expression_for_it_ends(name: str, text: str) -> None:
    # A look-ahead finds names that overlap, too.
    plain = re.compile(rf"(?<!\w)(?=({re.escape(name)})\b)")
    expected = [found.end(1) for found in plain.finditer(text)]
    assert list(ends_of_name(name, text)) == expected
    assert has_name(name, text) == bool(expected)


@pytest.mark.parametrize("text", TEXTS)
def test_a_boundary_is_that_of_an_expression(text: str) -> None:
    places = [found.start() for found in re.finditer(r"\b", text)]
    assert [place for place in range(len(text) + 1) if is_boundary(text, place)] == places


def test_no_name_stands_nowhere() -> None:
    assert not list(ends_of_name("", "a b"))


def test_what_follows_a_name_begins_right_behind_it() -> None:
    asks = re.compile(r"\??\.get\(")
    assert is_followed("cache", asks, "caches.get(1); cache?.get(2)")
    assert not is_followed("cache", asks, "caches.get(1); cache .get(2)")


@pytest.mark.parametrize(
    ("text", "is_checked"),
    [
        ("if len(self.seen) > 9:", True),
        ("if (seen.size() >= MAX)", True),
        ("const n = this.seen.length; if (n > 9) drop()", True),
        ("gauge.set(len(seen))", False),
        ("if len(unseen) > 9:", False),
        ("if (seen.get(key) > 9)", False),
    ],
)
def test_the_size_of_a_collection_is_checked(text: str, is_checked: bool) -> None:
    assert has_size_check("seen", text) == is_checked


def test_calls_are_found_by_a_test_of_their_names_in_the_order_of_the_text() -> None:
    code = "import os\nb.close()\nos.remove(a.close())\nclose(x)\nb.close()\nos.rename(a, b)\n"
    facts = facts_of(parse_fragment(code, language_named("python")).syntax)
    closes, of_os = re.compile(r"close$"), re.compile(r"^os\.")
    assert facts.calls_with_method(closes.match) == tuple(
        call for call in facts.calls if closes.match(call.method)
    )
    assert [call.written for call in facts.calls_with_name(of_os.search)] == ["os.remove", "os.rename"]
    assert facts.calls_with_name(re.compile("^sys").match) == ()
