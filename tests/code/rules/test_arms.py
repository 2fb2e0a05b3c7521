"""Alternatives: which places of a function cannot both be reached in one run."""

from __future__ import annotations

import textwrap

import pytest

from faultkit.code.facts import Facts, facts_of
from faultkit.code.languages import language_named
from faultkit.code.languages.syntax import parse_fragment


def facts(language: str, text: str) -> Facts:
    return facts_of(parse_fragment(text, language_named(language)).syntax)


def are_exclusive(language: str, text: str) -> bool:
    found = facts(language, textwrap.dedent(text))
    (a,), (b,) = found.calls_named("a"), found.calls_named("b")
    assert found.are_exclusive(a, b) == found.are_exclusive(b, a)
    return found.are_exclusive(a, b)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "def f():\n if x:\n  a()\n else:\n  b()"),
        ("python", "def f():\n if x:\n  a()\n elif y:\n  c()\n elif b():\n  d()"),
        ("python", "def f():\n if x:\n  if y:\n   a()\n  return 1\n b()"),
        ("python", "def f():\n if x:\n  with y:\n   a()\n   raise E\n b()"),
        ("python", "def f():\n match x:\n  case 1:\n   a()\n  case _:\n   b()"),
        ("python", "x = a() if y else b()"),
        ("python", "def f():\n try:\n  a()\n except E:\n  b()"),
        ("python", "def f():\n try:\n  c()\n except E:\n  a()\n else:\n  b()"),
        ("python", "def f():\n for x in y:\n  if x:\n   a()\n   continue\n  b()"),
        ("python", "def f():\n if x:\n  if y:\n   a()\n   return 1\n  else:\n   return 2\n b()"),
        ("javascript", "function f() { if (x) a(); else b(); }"),
        ("javascript", "function f() { if (x) return a(); b(); }"),
        ("javascript", "function f() { switch (x) { case 1: a(); break; case 2: b(); } }"),
        ("javascript", "const f = () => x ? a() : b();"),
        ("typescript", "function f() { try { a(); } catch (e) { b(); } }"),
        ("go", "func f() { if x { a() } else if y { b() } }"),
        ("go", "func f() { switch x { case 1: a()\n default: b() } }"),
        ("go", "func f() { switch x := y.(type) { case int: a()\n case string: b() } }"),
        ("go", "func f() { select { case <-x: a()\n case <-y: b() } }"),
        ("go", "func f() error { if err != nil { a()\n return err }\n b()\n return nil }"),
        ("java", "void f() { if (x) { a(); } else { b(); } }"),
        ("java", "void f() { switch (x) { case 1 -> a(); default -> b(); } }"),
        ("java", "void f() { switch (x) { case 1: a(); break; default: b(); } }"),
        ("java", "void f() { try { a(); } catch (E e) { b(); } }"),
    ],
)
def test_alternatives_exclude_each_other(language: str, text: str) -> None:
    assert are_exclusive(language, text)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "def f():\n a()\n b()"),
        ("python", "def f():\n if x:\n  a()\n b()"),
        ("python", "def f():\n if a():\n  b()"),
        ("python", "def f():\n if x:\n  a()\n if y:\n  b()"),
        ("python", "def f():\n try:\n  a()\n finally:\n  b()"),
        ("python", "def f():\n try:\n  a()\n except E:\n  pass\n else:\n  b()"),
        ("python", "def f():\n for x in y:\n  if x:\n   a()\n   break\n b()"),
        ("python", "def f():\n def g():\n  if x:\n   a()\n   return 1\n b()"),
        ("javascript", "function f() { switch (x) { case 1: a(); case 2: b(); } }"),
        ("javascript", "function f() { switch (x) { case 1: a(); break; } b(); }"),
        ("go", "func f() { if err := a(); err != nil { b() } }"),
        ("go", "func f() { switch x { case 1: a()\n b() } }"),
        ("java", "void f() { switch (x) { case 1: a(); case 2: b(); } }"),
    ],
)  # fmt: skip
def test_what_both_can_run_does_not(language: str, text: str) -> None:
    assert not are_exclusive(language, text)
