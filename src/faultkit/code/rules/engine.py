"""Rules over a text: facts are made once, each rule is asked, and its hits become findings. Pure.

A line that says `fault: ignore` in a comment, or `fault: ignore[FK-R001, other-slug]`, has no findings of all
rules or of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from faultkit.base.errors import InputError
from faultkit.code.facts import Facts, facts_of
from faultkit.code.facts.build import GRAMMARS
from faultkit.code.languages import Language, language_named
from faultkit.code.rules.piece import NAMELESS, Piece, parse_piece
from faultkit.code.rules.rule import Finding, Hit, Rule
from faultkit.code.rules.table import RULES
from faultkit.code.syntax import Span, Syntax

_IGNORE = re.compile(r"(?:#|//|/\*|--).*?\bfault:\s*ignore(?:\[([^\]]*)\])?")


def findings_of(
    text: str, language: str | Language, *, file: str = "", rules: Iterable[Rule] = RULES
) -> tuple[Finding, ...]:
    """Findings in a file, a function or a few indented lines, in the order of the text."""
    known = language_named(language) if isinstance(language, str) else language
    if not text.strip():
        raise InputError(file or "snippet", "expected source code, got nothing")
    if known.name not in GRAMMARS:
        return ()
    return _in_piece(parse_piece(text, known), file, rules)


def findings_in(syntax: Syntax, *, file: str = "", rules: Iterable[Rule] = RULES) -> tuple[Finding, ...]:
    """Of a whole text that is parsed already."""
    return () if syntax.language.name not in GRAMMARS else _in_piece(Piece(syntax), file, rules)


def _in_piece(piece: Piece, file: str, rules: Iterable[Rule]) -> tuple[Finding, ...]:
    facts = facts_of(piece.syntax)
    found = [
        finding
        for rule in rules
        if piece.syntax.language.name in rule.languages
        for finding in _findings(rule, facts, file, piece)
    ]
    found.sort(key=lambda each: (each.span.start, each.rule.id))
    return tuple(found)


def _findings(rule: Rule, facts: Facts, file: str, piece: Piece) -> Iterator[Finding]:
    seen: set[Span] = set()
    for hit in rule.check(facts):
        if hit.span in seen or _is_ignored(rule, hit, facts):
            continue
        seen.add(hit.span)
        yield _finding(rule, hit, facts, file, piece)


def _finding(rule: Rule, hit: Hit, facts: Facts, file: str, piece: Piece) -> Finding:
    scope = facts.named_function_of(hit)
    name = "" if scope is None else scope.name
    line, column = _place(hit.span.start, piece)
    end_line, end_column = _place(max(hit.span.start, hit.span.end), piece)
    return Finding(
        rule=rule,
        file=file,
        function="" if piece.shift and name == NAMELESS else name,
        span=Span(hit.span.start - piece.shift, hit.span.end - piece.shift),
        line=line,
        end_line=end_line,
        column=column,
        end_column=end_column,
        message=facts.in_words_of(hit, hit.message),
        severity=hit.severity or rule.severity,
        confidence=hit.confidence,
    )


def _place(offset: int, piece: Piece) -> tuple[int, int]:
    """Line and column in the text as it was given."""
    line, column = piece.syntax.line(offset), piece.syntax.column(offset)
    if line == 1 and not piece.lines:
        column -= piece.shift
    return max(line - piece.lines, 1), max(column, 1)


def _is_ignored(rule: Rule, hit: Hit, facts: Facts) -> bool:
    found = _IGNORE.search(facts.syntax.line_text(facts.syntax.line(hit.span.start)))
    if found is None:
        return False
    named = [each.strip() for each in (found[1] or "").split(",") if each.strip()]
    return not named or rule.id in named or rule.slug in named
