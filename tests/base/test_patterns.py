from __future__ import annotations

import gc
import re

import pytest

from faultkit.base.documents.values import read_pattern
from faultkit.base.errors import InputError
from faultkit.base.patterns import LinearPattern, _LazyRegex, lazy_regex


def test_a_pattern_that_backtracks_elsewhere_ends_at_once() -> None:
    text = "a" * 4000 + "!"
    assert not LinearPattern("^(a+)+$").found_in(text)
    assert not LinearPattern("^(?:(?:a?){30}a{30})$").found_in("a" * 29)
    assert LinearPattern("a!$").found_in(text)


def test_a_text_without_a_form_in_utf_8_is_searched() -> None:
    assert LinearPattern("b$").found_in("a\ud800b")


@pytest.mark.parametrize("pattern", ["(", "(?=a)b", r"(a)\1", "\ud800"])
def test_what_re2_does_not_support_is_refused_with_the_reason(pattern: str) -> None:
    with pytest.raises(InputError, match=r"expected a regular expression, got .*RE2"):
        read_pattern(pattern)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("schön", "schön"),
        (r"\1é\g<end>", "gé😀"),
        (r"\0", "g o😀"),
        (r"a\tb\\1\q", "a\tb\\1\\q"),
    ],
)
def test_a_template_takes_groups_and_any_character(template: str, text: str) -> None:
    assert LinearPattern("(g) o(?P<end>.)").next_in("ä g o😀", 0, template) == (2, 6, text)


def test_a_lazy_expression_is_compiled_when_it_is_used_and_answers_as_re_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled = list[object]()
    compile_ = re.compile

    def counted(*arguments: object) -> object:
        compiled.append(arguments)
        return compile_(*arguments)  # type: ignore[call-overload]

    monkeypatch.setattr(re, "compile", counted)
    lazy = lazy_regex(r"(a)(b+)", re.IGNORECASE)
    assert compiled == []
    found = lazy.search("xABb")
    assert found is not None
    assert found.groups() == ("A", "Bb")
    assert lazy.sub("-", "abab") == "--"
    assert lazy.fullmatch("ac") is None
    assert [each[0] for each in lazy.finditer("ab abb")] == ["ab", "abb"]
    assert lazy.pattern == r"(a)(b+)"
    assert len(compiled) == 1
    assert lazy_regex(rb"\d").findall(b"a1b2") == [b"1", b"2"]


def test_every_lazy_expression_of_the_rules_can_be_compiled() -> None:
    import faultkit.cli.review  # noqa: F401

    gc.unfreeze()  # Frozen objects are not listed.
    lazy = [each for each in gc.get_objects() if type(each) is _LazyRegex]
    assert len(lazy) > 1000
    for each in lazy:
        assert isinstance(each._compiled, re.Pattern)
