"""Which changes are wanted, and the questions that some of them ask. Pure.

A safe change keeps what working code does. Any other change asks a question that only the author of the code
can answer; it is made only if the author wants it, by `unsafe` or by the name of its rule. `AsReviewed`
leaves the changes that answer what a review of the file finds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from faultkit.base.errors import InputError
from faultkit.code.changes import codemods_for
from faultkit.code.facts import NO_PROJECT, Project
from faultkit.code.review.config_file import ReviewConfig
from faultkit.code.review.context_rules import rules_in
from faultkit.code.review.engine import DEFAULT_RULES, RULES
from faultkit.code.review.outcome import Judgement
from faultkit.code.review.review_files import FileToReview
from faultkit.code.review.selection import exactness, near_rule, rule_named
from faultkit.code.review.settings import ReviewFlags, judgement_of, rules_of
from faultkit.code.rules.rule import Finding, Rule


@dataclass(frozen=True, slots=True)
class Selection:
    """The changes that are wanted."""

    rules: frozenset[str] = frozenset()
    """Ids of rules; empty for all."""
    unsafe: bool = False
    """Whether changes that ask a question are made, too."""
    ignored: frozenset[str] = frozenset()
    """Ids of rules that do not run in the file."""
    by: Judgement | None = None
    """What a review shows of all that it finds; None: all."""
    manifest: Project = NO_PROJECT
    """What the manifest above the file says."""

    def includes(self, finding: Finding) -> bool:
        """Return whether a change for findings of this rule is wanted in the file."""
        if finding.rule.id in self.ignored:
            return False
        return not self.rules or finding.rule.id in self.rules

    def shows(self, finding: Finding) -> bool:
        """Return whether a change for this finding is wanted unasked, if it is safe: a review shows it, or
        its rule is named, or all changes are wanted."""
        return self.unsafe or bool(self.rules) or self.by is None or self.by.shows(finding)

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


class AsReviewed:
    """The changes that answer what a review of a file finds, by a configuration.

    Rules that are named stand in place of those that it selects and ignores, as with `--select`."""

    def __init__(self, selection: Selection, config: ReviewConfig) -> None:
        off = tuple(rule.id for rule in RULES if not rule.by_default)
        named = tuple(sorted(selection.rules))
        flags = ReviewFlags(select=named) if named else ReviewFlags(extend_select=off)
        self._selection, self._by = selection, judgement_of(config, flags)
        self._rules = rules_of(config, flags)

    def of(self, file: FileToReview, context: str) -> Selection:
        """Return the selection for a file in a context."""
        ignored = self._by.ignored_in(file.path, file.relative or file.shown)
        on = {
            rule
            for rule in rules_in(context, self._rules)
            if not any(exactness(name, rule) for name in ignored)
        }
        return replace(
            self._selection,
            ignored=frozenset(rule.id for rule in RULES if rule not in on),
            by=self._by,
            manifest=file.project,
        )


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question that a change asks."""

    rules: tuple[str, ...]
    lines: tuple[int, ...]
    """Lines of the given text, before all changes."""
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
