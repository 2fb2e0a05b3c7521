"""Runs rules over a text: makes facts once, calls each rule, and turns hits into findings. Pure.

A comment `fault: ignore` suppresses all findings of its line, `fault: ignore[FK-R001, other-slug]` those of
the named rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from faultkit.base.errors import InputError
from faultkit.code.facts import Facts, facts_of
from faultkit.code.facts.build import GRAMMARS
from faultkit.code.languages import Language, language_named
from faultkit.code.languages.syntax import NAMELESS, Fragment, Span, Syntax, parse_fragment
from faultkit.code.rules.performance import PERFORMANCE
from faultkit.code.rules.reliability import RELIABILITY
from faultkit.code.rules.rule import Finding, Hit, Rule

RULES: tuple[Rule, ...] = (*RELIABILITY, *PERFORMANCE)
"""All rules, in the order in which they are shown and checked."""
DEFAULT_RULES: tuple[Rule, ...] = tuple(rule for rule in RULES if rule.by_default)
"""The rules that run unless others are selected."""

_IGNORE = re.compile(r"(?:#|//|/\*|--).*?\bfault:\s*ignore(?:\[([^\]]*)\])?")


def findings_of(
    text: str, language: str | Language, *, file: str = "", rules: Iterable[Rule] = DEFAULT_RULES
) -> tuple[Finding, ...]:
    """Return findings in a file, a function or a few indented lines, in the order of the text."""
    known = language_named(language) if isinstance(language, str) else language
    if not text.strip():
        raise InputError(file or "snippet", "expected source code, got nothing")
    if known.name not in GRAMMARS:
        return ()
    return _in_fragment(parse_fragment(text, known), file, rules)


def findings_in(
    syntax: Syntax, *, file: str = "", rules: Iterable[Rule] = DEFAULT_RULES
) -> tuple[Finding, ...]:
    """Return findings in a parsed text."""
    return () if syntax.language.name not in GRAMMARS else _in_fragment(Fragment(syntax), file, rules)


def _in_fragment(fragment: Fragment, file: str, rules: Iterable[Rule]) -> tuple[Finding, ...]:
    facts = facts_of(fragment.syntax)
    found = [
        finding
        for rule in rules
        if fragment.syntax.language.name in rule.languages
        for finding in _findings(rule, facts, file, fragment)
    ]
    found.sort(key=lambda each: (each.span.start, each.rule.id))
    return tuple(found)


def _findings(rule: Rule, facts: Facts, file: str, fragment: Fragment) -> Iterator[Finding]:
    seen: set[Span] = set()
    for hit in rule.check(facts):
        if hit.span in seen or _is_ignored(rule, hit, facts):
            continue
        seen.add(hit.span)
        yield _finding(rule, hit, facts, file, fragment)


def _finding(rule: Rule, hit: Hit, facts: Facts, file: str, fragment: Fragment) -> Finding:
    scope = facts.named_function_of(hit)
    name = "" if scope is None else scope.name
    line, column = _place(hit.span.start, fragment)
    end_line, end_column = _place(max(hit.span.start, hit.span.end), fragment)
    return Finding(
        rule=rule,
        file=file,
        function="" if fragment.shift and name == NAMELESS else name,
        span=Span(hit.span.start - fragment.shift, hit.span.end - fragment.shift),
        line=line,
        end_line=end_line,
        column=column,
        end_column=end_column,
        message=facts.in_words_of(hit, hit.message),
        severity=hit.severity or rule.severity,
        confidence=hit.confidence,
    )


def _place(offset: int, fragment: Fragment) -> tuple[int, int]:
    """Return line and column in the text as it was given."""
    line, column = fragment.syntax.line(offset), fragment.syntax.column(offset)
    if line == 1 and not fragment.lines:
        column -= fragment.shift
    return max(line - fragment.lines, 1), max(column, 1)


def _is_ignored(rule: Rule, hit: Hit, facts: Facts) -> bool:
    found = _IGNORE.search(facts.syntax.line_text(facts.syntax.line(hit.span.start)))
    if found is None:
        return False
    named = [each.strip() for each in (found[1] or "").split(",") if each.strip()]
    return not named or rule.id in named or rule.slug in named
