"""Comments that suppress findings: which there are, what they cover, and which are wrong. Pure.

    x = call()  # fault: ignore[FK-R001] the server is on this machine
    # fault: ignore-next-line[http-call-without-timeout] the same
    # fault: ignore-file[FK-P] among the first lines of a file

`ignore` covers the findings of its line, and those of the statement that it stands in or behind, on
whichever line that begins. Without names it covers all rules. What follows the names is the reason. One
whose names cannot be read (no `]`, nothing between the brackets, an id or a slug without brackets) covers
nothing, nor does one with capitals (`FAULT: IGNORE[…]`) or another scope (`ignore-line[…]`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts.facts import Facts
from faultkit.code.languages import LANGUAGES
from faultkit.code.languages.syntax import Node, Span, Syntax, walk
from faultkit.code.review.model_rules import MODEL_RULES, names_model_rule
from faultkit.code.review.selection import exactness, near_rule
from faultkit.code.rules.rule import CERTAIN, Finding, Hit, Rule

Scope: TypeAlias = Literal["line", "next-line", "file"]

FILE_LINES = 20
"""The first lines of a file, in which `fault: ignore-file` stands."""

_COMMENT = lazy_regex(
    r"(?<![\w`\"'])(?P<head>fault:\s*ignore)(?:-(?P<scope>[\w-]*\w))?(?![\w-])"
    r"(?:[ \t]*\[(?P<names>[^\]\n]*)(?P<close>\])?)?[ \t]*[:—–-]*[ \t]*(?P<rest>[^\n]*)",
    re.IGNORECASE,
)
_SCOPES = (None, "next-line", "file")
_WRONG_SCOPE = lazy_regex(r"(?:this-?)?line|statement|next|nextline|next-statement|all|module", re.IGNORECASE)
"""Scopes that other tools have."""
_ID = lazy_regex(r"FK-?[A-Z]\d*", re.IGNORECASE)
_NEXT_COMMENT = lazy_regex(r"(?:^|\s)(?:#|//|/\*).*|\*/.*|-->.*")
_BODIES = frozenset(
    {
        "case_clause", "compilation_unit", "declaration_list", "default_case", "expression_case", "module",
        "program", "source_file", "statement_list", "switch_block_statement_group", "switch_case",
        "switch_default", "translation_unit", "type_case",
    }
)  # fmt: skip
"""Nodes whose children are statements, besides those whose type ends in `block` or `body`."""


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment that suppresses findings."""

    scope: Scope
    names: tuple[str, ...]
    """Names of rules, as written; empty: all."""
    reason: str
    text: str
    """`fault: ignore[FK-R001]`, without the reason."""
    span: Span
    line: int
    column: int
    target: int = 0
    """`next-line`: the line that is meant."""
    statement: Span | None = None
    """`line`: the statement that is meant, besides its line."""
    problem: str = ""
    """Why its names cannot be read, so that it suppresses nothing."""


def suppressions_in(syntax: Syntax, known: Iterable[Rule] = ()) -> tuple[Suppression, ...]:
    """Return the comments that suppress findings, in the order of the text.

    known: rules whose slugs are taken for names that lack brackets"""
    if not re.search(rb"(?i:fault:\s*ignore)", syntax.source):
        return ()
    comments = [node for node in walk(syntax.root) if _is_comment(node)]
    commented = {line for node in comments if not _text_before(node, syntax) for line in _lines(node, syntax)}
    slugs = frozenset(rule.slug for rule in known)
    return tuple(
        _suppression(found, comment, syntax, commented, slugs)
        for comment in comments
        for found in _COMMENT.finditer(syntax.text(comment))
        if _is_written_right(found) or _is_meant(found)
    )


def _is_written_right(found: re.Match[str]) -> bool:
    return found["head"].islower() and found["scope"] in _SCOPES


def _is_meant(found: re.Match[str]) -> bool:
    """Return whether a comment that is not written right is meant to suppress: it may be a sentence."""
    is_scope = found["head"].islower() and _WRONG_SCOPE.fullmatch(found["scope"] or "")
    # Ids and most slugs have a hyphen.
    has_names = "-" in (found["names"] or "")
    return has_names or bool(is_scope) or _ID.fullmatch(_first_word(found)) is not None


def _first_word(found: re.Match[str]) -> str:
    return (found["rest"].split() or [""])[0].rstrip(",:;.")


def _text_before(comment: Node, syntax: Syntax) -> bytes:
    """Return what stands on the line before a comment."""
    line_start = syntax.source.rfind(b"\n", 0, comment.start_byte) + 1
    return syntax.source[line_start : comment.start_byte].rstrip()


def _lines(node: Node, syntax: Syntax) -> range:
    return range(syntax.line(node.start_byte), syntax.line(max(node.start_byte, node.end_byte - 1)) + 1)


def _is_comment(node: Node) -> bool:
    return node.is_named and "comment" in node.type and not node.type.endswith("_content")


def _suppression(
    found: re.Match[str], comment: Node, syntax: Syntax, commented: set[int], slugs: frozenset[str]
) -> Suppression:
    scope = _scope(found)
    written = "fault: ignore" if scope == "line" else f"fault: ignore-{scope}"
    names = tuple(name.strip() for name in (found["names"] or "").split(",") if name.strip())
    start = syntax.place_of(found, comment.start_byte).start
    line = syntax.line(start)
    return Suppression(
        scope,
        names,
        _NEXT_COMMENT.sub("", found["rest"]).strip(),
        f"{written}[{', '.join(names)}]" if names else written,
        Span(start, start + len(found[0].rstrip().encode())),
        line,
        syntax.column(start),
        _next_code_line(comment, syntax, commented) if scope == "next-line" else 0,
        _statement_of(comment, syntax) if scope == "line" else None,
        _problem(found, written, names, slugs),
    )


def _scope(found: re.Match[str]) -> Scope:
    """Return the scope of a comment; of one that is not written right, the scope that is probably meant."""
    scope = (found["scope"] or "").lower()
    if "next" in scope:
        return "next-line"
    return "file" if "file" in scope or scope == "module" else "line"


def _problem(found: re.Match[str], written: str, names: tuple[str, ...], slugs: frozenset[str]) -> str:
    """Return why the names of a comment cannot be read, or nothing."""
    if not _is_written_right(found):
        given = " ".join(found["head"].split()) + (f"-{found['scope']}" if found["scope"] else "")
        listed = f"[{', '.join(names)}]" if names else ""
        return f"{given} suppresses nothing: write {written}{listed}"
    if found["names"] is None:
        first = _first_word(found)
        # A slug of one word, such as deadlock, may begin a reason.
        is_name = _ID.fullmatch(first) or ("-" in first and first.lower() in slugs)
        return f"{written} {first} suppresses nothing: write {written}[{first}]" if is_name else ""
    if found["close"] is None:
        return f"{written}[ suppresses nothing: there is no ] behind its names"
    return "" if names else f"{written}[] suppresses nothing: write names of rules, or no brackets for all"


def _next_code_line(comment: Node, syntax: Syntax, commented: set[int]) -> int:
    """Return the first line behind a comment that has more than a comment; 0 if there is none."""
    below = range(_lines(comment, syntax).stop, syntax.line_count + 1)
    return next((line for line in below if line not in commented and syntax.line_text(line).strip()), 0)


def _statement_of(comment: Node, syntax: Syntax) -> Span | None:
    """Return the statement that a comment stands in or, on its line, behind."""
    before = _text_before(comment, syntax)
    if before:
        last = syntax.source.rfind(b"\n", 0, comment.start_byte) + len(before)
        return statement_at(Span(last, last), syntax)
    around = comment.parent
    # In Python, a comment before the first statement of a body stands beside the body.
    if around is None or _is_body(around) or any(map(_is_body, around.children)):
        return None
    return statement_at(Span(comment.start_byte, comment.end_byte), syntax)


def statement_at(span: Span, syntax: Syntax) -> Span | None:
    """Return the innermost statement around a place: of a loop or a function, the whole."""
    node = syntax.root.descendant_for_byte_range(span.start, max(span.start, span.end))
    while node is not None:
        if node.is_named and _is_body(node.parent):
            return Span(node.start_byte, node.end_byte)
        node = node.parent
    return None


def _is_body(node: Node | None) -> bool:
    return node is not None and (node.type in _BODIES or node.type.endswith(("block", "body")))


class Coverage:
    """The suppressions of a text, and which of them cover a finding."""

    __slots__ = ("_statements", "_syntax", "_used", "suppressions")

    def __init__(self, syntax: Syntax, known: Iterable[Rule] = ()) -> None:
        self._syntax = syntax
        self._statements: dict[Span, Span | None] = {}
        self._used: set[tuple[Span, str]] = set()
        self.suppressions = suppressions_in(syntax, known)

    def suppression_of(self, rule: Rule, span: Span) -> Suppression | None:
        """Return the first suppression that covers a hit of a rule; all that do count as used."""
        first = None
        for each in self.suppressions:
            names = [name for name in each.names if exactness(name, rule)] if each.names else [""]
            if names and self._covers(each, span):
                self._used |= {(each.span, name) for name in names}
                first = first or each
        return first

    def _covers(self, suppression: Suppression, span: Span) -> bool:
        if suppression.problem:
            return False
        if suppression.scope == "file":
            return suppression.line <= FILE_LINES
        line = self._syntax.line(span.start)
        if line == (suppression.line if suppression.scope == "line" else suppression.target):
            return True
        if span not in self._statements:
            self._statements[span] = statement_at(span, self._syntax)
        statement = self._statements[span]
        if statement is None:
            return False
        if suppression.scope == "line":
            return statement == suppression.statement
        return self._syntax.line(statement.start) == suppression.target

    def unused(self) -> dict[Suppression, tuple[str, ...]]:
        """Return the suppressions that have covered no hit so far, each with its names that have not."""
        found = {
            each: tuple(name for name in each.names or ("",) if (each.span, name) not in self._used)
            for each in self.suppressions
            if not each.problem
        }
        return {each: names for each, names in found.items() if names}


# Findings about the comments themselves.


def _no_hits(facts: Facts) -> tuple[Hit, ...]:
    """Find nothing: these rules look at comments, not at facts."""
    return ()


def _rule(number: int, slug: str, title: str, why: str, fix: str, *, by_default: bool = True) -> Rule:
    return Rule(
        id=f"FK-S{number:03}",
        slug=slug,
        title=title,
        why=why,
        fix=fix,
        kind="suppression",
        severity="low",
        languages=tuple(LANGUAGES),
        check=_no_hits,
        by_default=by_default,
    )


UNKNOWN = _rule(
    1,
    "unknown-rule-suppressed",
    "Suppression of an unknown rule",
    "A name that is misspelt or cannot be read suppresses nothing, and the finding comes back when it is "
    "least expected.",
    "Write the id or the slug of a rule in brackets, as `fault review` shows it.",
)
UNUSED = _rule(
    2,
    "unused-suppression",
    "Suppression that suppresses nothing",
    "The code has changed, and the comment would hide the next fault on its line.",
    "Remove the comment, or the name in it.",
)
WITHOUT_REASON = _rule(
    3,
    "suppression-without-reason",
    "Suppression without a reason",
    "Readers cannot see whether the finding was judged, or only silenced.",
    "Write the reason behind the comment: fault: ignore[FK-R001] the server is on this machine.",
    by_default=False,
)
SUPPRESSION_RULES: tuple[Rule, ...] = (UNKNOWN, UNUSED, WITHOUT_REASON)


def findings_about(
    coverage: Coverage, file: str, rules: Sequence[Rule], known: Sequence[Rule]
) -> Iterator[Finding]:
    """Yield what is wrong with the suppressions of a text, by those of SUPPRESSION_RULES that are in `rules`.

    All rules of `known` must have been run, so that a suppression without a hit is unused. One of a model's
    findings never is: without a model it cannot be known."""
    unused = coverage.unused()
    everything = (*known, *SUPPRESSION_RULES, *MODEL_RULES)
    for each in coverage.suppressions:
        for rule, message in _wrong(each, unused.get(each, ()), everything):
            if rule in rules and not _is_silenced(rule, each, coverage.suppressions):
                yield _finding(rule, each, file, message)


def _wrong(each: Suppression, unused: Iterable[str], known: Sequence[Rule]) -> Iterator[tuple[Rule, str]]:
    """Yield what is wrong with a suppression, each with the rule about it."""
    if each.problem:
        yield UNKNOWN, each.problem
        return
    unknown = [name for name in each.names if not any(exactness(name, rule) for rule in known)]
    for name in unknown:
        yield UNKNOWN, f'no rule is named "{name}"{near_rule(name, known)}'
    stale = [name for name in unused if name not in unknown and not _cannot_be_stale(name)]
    if stale:
        yield UNUSED, _why_unused(each, stale)
    if not each.reason:
        yield WITHOUT_REASON, f"{each.text} has no reason behind it"


def _is_silenced(rule: Rule, about: Suppression, suppressions: Iterable[Suppression]) -> bool:
    """Return whether a comment names this rule about comments, for the file or on the same line."""
    return any(
        exactness(name, rule) > 1
        and (each.line <= FILE_LINES if each.scope == "file" else each.line == about.line)
        for each in suppressions
        for name in each.names
    )


def _cannot_be_stale(name: str) -> bool:
    return names_model_rule(name) or any(exactness(name, rule) > 1 for rule in SUPPRESSION_RULES)


def _why_unused(suppression: Suppression, names: Iterable[str]) -> str:
    if suppression.scope == "file" and suppression.line > FILE_LINES:
        return f"{suppression.text} has no effect below line {FILE_LINES}"
    listed = ", ".join(name for name in names if name)
    if suppression.scope == "line" and suppression.statement is None:
        return f"{suppression.text} stands on a line of its own; fault: ignore-next-line covers the next one"
    return (
        f"{suppression.text}: there is no finding of {listed}"
        if listed
        else f"{suppression.text}: no finding"
    )


def _finding(rule: Rule, suppression: Suppression, file: str, message: str) -> Finding:
    return Finding(
        rule=rule,
        file=file,
        function="",
        span=suppression.span,
        line=suppression.line,
        end_line=suppression.line,
        column=suppression.column,
        end_column=suppression.column + len(suppression.text),
        message=message,
        severity=rule.severity,
        confidence=CERTAIN,
    )
