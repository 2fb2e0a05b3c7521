from __future__ import annotations

import pytest

from faultkit.base.documents.values import read_pattern
from faultkit.base.errors import InputError
from faultkit.base.patterns import LinearPattern


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
