"""Expressions that are given to RE2 first find what `re` finds."""

from __future__ import annotations

import re
import sys

import pytest

from faultkit.base.patterns import LinearPattern
from faultkit.code.review.engine import RULES
from faultkit.code.rules.vocabulary.text_pattern import TextPattern, linear_expression
from tests.code.rules.test_rules import CASES

PAUSE = "pause() " * 12
"""More than the characters up to which `re` is asked alone."""


@pytest.mark.parametrize(
    ("expression", "flags", "texts"),
    [
        (r"(?<![bc])lock|\bmu\b", re.IGNORECASE, ("a.Lock()", "block", "mutex MU", "clock", "")),
        (r"x(?=\s*\()|y(?!\w)", re.NOFLAG, ("x (", "x\v(", "x.", "y", "yy")),
        (r"end$|top\Z", re.NOFLAG, ("end", "end\n", "end\n\n", "top", "top\n")),
        (r"^end$", re.MULTILINE, ("a\nend\nb", "an end", "end")),
        (r"a.b", re.DOTALL, ("a\nb", "ab", "a-b")),
        (r"a.b", re.NOFLAG, ("a\nb", "a-b")),
        (r"[\s,]a[^\s]", re.NOFLAG, ("\x1cab", ",a ", " ab", "xab")),
        (r"\(\?=|[(?=]+x", re.NOFLAG, ("(?=", "=x", "y")),
        (r"größe|\bk\b", re.IGNORECASE, ("GRÖSSE", "Größe", "\N{KELVIN SIGN}", "K")),
        (r"(?P<a>\w+)=(?-i:B)", re.IGNORECASE, ("x=B", "x=b")),
        (r"\bid\b|[\w-]+=1|\d{2};", re.NOFLAG, ("id", "xid", "éid", "é=1", "-=1", "٣٤;", "3;")),
        (r"a\sb|[^\W]+!|\W\?", re.NOFLAG, ("a\u00a0b", "é!", "é?", "-?")),
        (r"[\s,]x[^\s]", re.NOFLAG, ("\u2003xé", "éx ", ",x\u00a0")),
        (r"idle|task", re.IGNORECASE, ("\u0130dle", "\u0131dle", "TA\u017fK", "tas\u212a")),
    ],
)
def test_a_pattern_finds_what_re_finds(expression: str, flags: re.RegexFlag, texts: tuple[str, ...]) -> None:
    plain, pattern = re.compile(expression, flags), TextPattern(expression, flags)
    for text in texts:
        for whole in (text, f"{PAUSE}{text}", f"{PAUSE}\n{text}\n", f"{PAUSE}ü\n{text}\n"):
            one, other = plain.search(whole), pattern.search(whole)
            assert (one and one.span()) == (other and other.span()), whole
            assert pattern.is_in(whole) == (one is not None), whole
            assert pattern.findall(whole) == plain.findall(whole)
            assert [each.span() for each in pattern.finditer(whole)] == [
                each.span() for each in plain.finditer(whole)
            ]
            assert pattern.sub("-", whole) == plain.sub("-", whole)


def test_bytes_are_searched_as_bytes() -> None:
    pattern = TextPattern(rb"\bpan\b", re.IGNORECASE)
    found = pattern.search(f"{PAUSE} PAN".encode())
    assert found is not None
    assert found[0] == b"PAN"
    assert pattern.search(f"{PAUSE} panel".encode()) is None


def test_a_text_without_a_match_is_not_given_to_re(monkeypatch: pytest.MonkeyPatch) -> None:
    pattern = TextPattern("lock")
    monkeypatch.setattr(pattern, "_compiled", None)
    assert pattern.__dict__["_compiled"] is None
    assert pattern.search(PAUSE) is None
    assert pattern.search(f"{PAUSE} für") is None


def _patterns() -> list[TextPattern[str]]:
    modules = [module for name, module in sys.modules.items() if name.startswith("faultkit.code.rules.")]
    found = {id(each): each for module in modules for each in vars(module).values()}
    return [each for each in found.values() if isinstance(each, TextPattern)]


def test_patterns_of_rules_are_read_by_re2() -> None:
    assert RULES
    patterns = _patterns()
    assert len(patterns) > 50
    for pattern in patterns:
        compiled = pattern._compiled
        expression = compiled.pattern if isinstance(compiled.pattern, str) else compiled.pattern.decode()
        assert compiled.flags & ~re.UNICODE == pattern._flags, expression
        linear = LinearPattern(linear_expression(expression, compiled.flags))
        wider = LinearPattern(linear_expression(expression, compiled.flags, only_ascii=False))
        for case in CASES[::40]:
            text = case.code if isinstance(compiled.pattern, str) else case.code.encode()
            if case.code.isascii() and compiled.search(text) is not None:
                assert linear.found_in_utf8(case.code.encode()), (expression, case.code)
                assert wider.found_in_utf8(case.code.encode()), (expression, case.code)
