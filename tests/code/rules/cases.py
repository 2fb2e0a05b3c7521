"""A table of snippets: what each rule must find, and what it must leave alone."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True)
class Case:
    rule: str
    """A slug."""
    language: str
    code: str
    lines: tuple[int, ...]
    """Where it is found; empty if it must not be."""

    def __str__(self) -> str:
        first = next(line for line in self.code.splitlines() if line.strip())
        return f"{self.rule}-{self.language}-{'bad' if self.lines else 'good'}-{first.strip()[:30]}"


def bad(rule: str, language: str, code: str, *lines: int) -> Case:
    return Case(rule, language, dedent(code).strip("\n") + "\n", lines)


def good(rule: str, language: str, code: str) -> Case:
    return Case(rule, language, dedent(code).strip("\n") + "\n", ())
