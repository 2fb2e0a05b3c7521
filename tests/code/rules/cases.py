"""Cases of the rule tests: snippets with the lines that a rule must find, or none."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True)
class Case:
    rule: str
    """The slug of the rule."""
    language: str
    code: str
    lines: tuple[int, ...]
    """Lines of the findings; empty if there must be none."""

    def __str__(self) -> str:
        first = next(line for line in self.code.splitlines() if line.strip())
        return f"{self.rule}-{self.language}-{'bad' if self.lines else 'good'}-{first.strip()[:30]}"


def bad(rule: str, language: str, code: str, *lines: int) -> Case:
    return Case(rule, language, dedent(code).strip("\n") + "\n", lines)


def good(rule: str, language: str, code: str) -> Case:
    return Case(rule, language, dedent(code).strip("\n") + "\n", ())
