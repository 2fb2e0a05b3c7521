"""Which changes are wanted, and the questions that some of them ask. Pure.

A safe change keeps what working code does. Any other change asks a question that only the author of the code
can answer; it is made only if the author wants it, by `unsafe` or by the name of its rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from faultkit.base.errors import InputError
from faultkit.code.changes import codemods_for
from faultkit.code.review.engine import DEFAULT_RULES, RULES
from faultkit.code.review.selection import near_rule, rule_named
from faultkit.code.rules.rule import Finding, Rule


@dataclass(frozen=True, slots=True)
class Selection:
    """The changes that are wanted."""

    rules: frozenset[str] = frozenset()
    """Ids of rules; empty for all."""
    unsafe: bool = False
    """Whether changes that ask a question are made, too."""
    ignored: frozenset[str] = frozenset()
    """Ids of rules that the configuration switches off; those that are named count all the same."""

    def includes(self, finding: Finding) -> bool:
        """Return whether a change for this finding is wanted, if it is safe."""
        return finding.rule.id in self.rules if self.rules else finding.rule.id not in self.ignored

    def rules_for(self, language: str) -> tuple[Rule, ...]:
        """Return the rules to apply: the default ones, those that are named, and with `unsafe` all that a
        codemod answers."""
        slugs = (
            {slug for codemod in codemods_for(language) for slug in codemod.slugs} if self.unsafe else set()
        )
        return tuple(
            rule
            for rule in RULES
            if rule in DEFAULT_RULES or rule.id in self.rules or (rule.slug in slugs and not self.rules)
        )


EVERY_CHANGE = Selection(unsafe=True)


def selection_of(names: Iterable[str], unsafe: bool | None = None) -> Selection:
    """Return the selection of rules by ids or slugs; naming a rule also means its changes that ask.

    unsafe: False leaves those out, True makes those of all rules; None: only those of named rules"""
    found: set[str] = set()
    for name in names:
        rule = rule_named(name, RULES)
        if rule is None:
            hint = near_rule(name, RULES, groups=False)
            raise InputError(
                "--rule", f'expected the id or name of a rule such as FK-R001, got "{name}"{hint}'
            )
        found.add(rule.id)
    return Selection(frozenset(found), bool(found) if unsafe is None else unsafe)


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question that a change asks."""

    rules: tuple[str, ...]
    lines: tuple[int, ...]
    """Lines of the text before the change."""
    question: str
    change: str
    """What the change does, in one sentence without a full stop."""
    dependencies: tuple[str, ...]
    """Packages that it needs and the project does not declare."""
    is_applied: bool

    def document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "rules": list(self.rules),
            "lines": list(self.lines),
            "question": self.question,
            "change": self.change,
            "dependencies": list(self.dependencies),
            "applied": self.is_applied,
        }

    def text(self) -> str:
        """Return the question with its rules and lines, on one line."""
        lines = f"line{'s' if len(self.lines) > 1 else ''} {', '.join(map(str, self.lines[:5]))}"
        return f"{', '.join(self.rules)}, {lines}: {self.question}"
