"""Runs rules over a text: makes facts once, calls each rule, and turns hits into findings. Pure.

Comments that suppress findings are the matter of `suppressions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from faultkit.base.errors import InputError, RunError
from faultkit.base.text import escaped_line
from faultkit.code.facts import NO_PROJECT, Facts, Project, facts_of
from faultkit.code.facts.build import GRAMMARS
from faultkit.code.languages import Language, language_named
from faultkit.code.languages.syntax import NAMELESS, Fragment, Span, Syntax, parse_fragment
from faultkit.code.review.model_rules import MODEL_RULES
from faultkit.code.review.rule_words import rule_words
from faultkit.code.review.suppressions import SUPPRESSION_RULES, Coverage, Suppression, findings_about
from faultkit.code.review.unit_tests import UnitTests
from faultkit.code.rules.performance import PERFORMANCE
from faultkit.code.rules.reliability import RELIABILITY
from faultkit.code.rules.rule import Finding, Hit, Rule

RULES: tuple[Rule, ...] = (*RELIABILITY, *PERFORMANCE)
"""All rules, in the order in which they are shown and checked."""
DEFAULT_RULES: tuple[Rule, ...] = tuple(rule for rule in RULES if rule.by_default)
"""The rules that run unless others are selected."""
ALL_RULES: tuple[Rule, ...] = (*RULES, *SUPPRESSION_RULES, *MODEL_RULES)
"""All rules, those about comments that suppress findings, and those of what a model finds."""


class RuleError(RunError):
    """A rule failed in a text, by a mistake of the rule. The other rules can review it."""

    def __init__(self, rule: Rule, file: str, error: Exception) -> None:
        cause = type(error).__name__ + (f": {error}" if str(error) else "")
        self.problem = f"{rule.id} failed ({cause}); --ignore {rule.id} reviews it without this rule"
        super().__init__(f"{file}: {self.problem}" if file else self.problem)


@dataclass(frozen=True, slots=True)
class TextReview:
    """Everything that rules found in a text."""

    findings: tuple[Finding, ...]
    suppressed: tuple[tuple[Finding, Suppression], ...] = ()
    """Findings that a comment suppresses."""


def findings_of(
    text: str,
    language: str | Language,
    *,
    file: str = "",
    rules: Iterable[Rule] = DEFAULT_RULES,
    project: Project = NO_PROJECT,
) -> tuple[Finding, ...]:
    """Return findings in a file, a function or a few indented lines, in the order of the text."""
    known = language_named(language) if isinstance(language, str) else language
    if not text.strip():
        raise InputError(file or "snippet", "expected source code, got nothing")
    if known.name not in GRAMMARS:
        return ()
    return _in_fragment(parse_fragment(text, known), file, rules, project)


def findings_in(
    syntax: Syntax, *, file: str = "", rules: Iterable[Rule] = DEFAULT_RULES
) -> tuple[Finding, ...]:
    """Return findings in a parsed text."""
    return () if syntax.language.name not in GRAMMARS else _in_fragment(Fragment(syntax), file, rules)


def review_text(
    syntax: Syntax,
    *,
    file: str = "",
    rules: Iterable[Rule] = DEFAULT_RULES,
    project: Project = NO_PROJECT,
) -> TextReview:
    """Return findings in a parsed text, those that comments suppress, and those about such comments.

    `rules` may hold rules of SUPPRESSION_RULES."""
    if syntax.language.name not in GRAMMARS:
        return TextReview(())
    listed = tuple(rules)
    fragment, facts, coverage = Fragment(syntax), facts_of(syntax, project), Coverage(syntax, ALL_RULES)
    found = list(_reviewed(fragment, facts, coverage, file, listed))
    if coverage.unused() and any(rule in listed for rule in SUPPRESSION_RULES):
        # A rule that was not asked for may be the one that a comment suppresses.
        others = tuple(rule for rule in RULES if rule not in listed)
        list(_reviewed(fragment, facts, coverage, file, others))
    facts.forget()
    found += [(each, None) for each in findings_about(coverage, file, listed, RULES)]
    found.sort(key=lambda each: (each[0].span.start, each[0].rule.id))
    return _text_review(found)


def findings_at(syntax: Syntax, hits: Iterable[tuple[Rule, Hit]], *, file: str = "") -> TextReview:
    """Return hits that come from elsewhere as findings, in their own words; none in unit tests beside the
    code."""
    fragment, facts, coverage = Fragment(syntax), facts_of(syntax), Coverage(syntax, ALL_RULES)
    tests = UnitTests(syntax)
    found = [
        (
            replace(_finding(rule, hit, facts, file, fragment), message=hit.message),
            coverage.suppression_of(rule, hit.span),
        )
        for rule, hit in hits
        if not tests.hold(hit.span)
    ]
    facts.forget()
    return _text_review(found)


def _text_review(found: Sequence[tuple[Finding, Suppression | None]]) -> TextReview:
    return TextReview(
        tuple(finding for finding, by in found if by is None),
        tuple((finding, by) for finding, by in found if by is not None),
    )


def _in_fragment(
    fragment: Fragment, file: str, rules: Iterable[Rule], project: Project = NO_PROJECT
) -> tuple[Finding, ...]:
    syntax = fragment.syntax
    reviewed = _reviewed(fragment, facts_of(syntax, project), Coverage(syntax, ALL_RULES), file, rules)
    return tuple(
        sorted(
            (finding for finding, by in reviewed if by is None),
            key=lambda each: (each.span.start, each.rule.id),
        )
    )


def _reviewed(
    fragment: Fragment, facts: Facts, coverage: Coverage, file: str, rules: Iterable[Rule]
) -> Iterator[tuple[Finding, Suppression | None]]:
    """Yield findings, each with the comment that suppresses it; none in unit tests beside the code."""
    tests = UnitTests(fragment.syntax)
    known = rule_words(tuple(rules), facts.language)
    for rule in known.candidates(fragment.syntax.source, fragment.syntax.words):
        seen: set[Span] = set()
        for hit in _hits(rule, facts, file):
            if hit.span not in seen and not tests.hold(hit.span):
                seen.add(hit.span)
                yield _finding(rule, hit, facts, file, fragment), coverage.suppression_of(rule, hit.span)


def _hits(rule: Rule, facts: Facts, file: str) -> Iterator[Hit]:
    try:
        yield from rule.check(facts)
    except Exception as error:
        raise RuleError(rule, file, error) from error


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
        message=escaped_line(facts.in_words_of(hit, hit.message)),
        severity=hit.severity or rule.severity,
        confidence=hit.confidence,
    )


def _place(offset: int, fragment: Fragment) -> tuple[int, int]:
    """Return line and column in the text as it was given."""
    line, column = fragment.syntax.line(offset), fragment.syntax.column(offset)
    if line == 1 and not fragment.lines:
        column -= fragment.shift
    return max(line - fragment.lines, 1), max(column, 1)
