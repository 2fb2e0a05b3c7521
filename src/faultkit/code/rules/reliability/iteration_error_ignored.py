"""Finds loops over rows or lines whose error is never looked at (Go, Rust).

It is shown if what is read is a query, a cursor, a file or a stream, which can break in the middle.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, Place
from faultkit.code.rules.rule import GO, LIKELY, POSSIBLE, RUST, Hit, Rule, Severity
from faultkit.code.rules.vocabulary.ended_by_failure import errors_that_end_loops

_NEXT = lazy_regex(r"^(\w+)\.(Next|Scan)\((\w*|context\.\w+\(\))\)$")
_QUERIES = frozenset(
    (
        "Query",
        "QueryContext",
        "Queryx",
        "QueryxContext",
        "NamedQuery",
        "NamedQueryContext",
        "Rows",
        "QueryRows",
    )
)
_CURSORS = frozenset(("Find", "Aggregate", "Watch"))
_ROWS = lazy_regex(r"(^|[./])(sql|sqlx|pgx(/v\d)?)\.Rows$|mongo\.Cursor$")
_CHANNEL = lazy_regex(r"ReceiverStream<|\bReceiver<")
"""Parameters that are filled by another task of the program, which may send no error at all."""
_IN_MEMORY = lazy_regex(r"strings\.NewReader|bytes\.New(Reader|Buffer)|os\.Stdin")


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language == "rust":
        for span, what in errors_that_end_loops(facts):
            scope = facts.named_function_of(Place(span))
            is_channel = scope is not None and _CHANNEL.search(facts.text(scope.head)) is not None
            yield Hit(span, what, POSSIBLE if is_channel else LIKELY, "high")
        return
    for loop in facts.loops:
        found = _NEXT.match(loop.over.strip()) if loop.kind == "while" else None
        if found is None:
            continue
        name = found[1]
        what, severity = _kind(name, found[2], loop, facts)
        if what and not _is_looked_at(name, loop, facts):
            yield Hit(loop.head, f"{name}.Err() is never checked: {what}", LIKELY, severity)


def _kind(name: str, method: str, loop: Loop, facts: Facts) -> tuple[str, Severity | None]:
    """Return what an error means for what the loop reads; empty if it reads something else."""
    made = [each.call for each in facts.assignments_to(name, loop) if each.call is not None]
    if method == "Scan":
        if made and all(each.name == "bufio.NewScanner" and not _is_in_memory(each, facts) for each in made):
            return "a read error or a line that is too long looks like the end of the input", None
        return "", None
    declared = any(
        each.name == name and _ROWS.search(each.type)
        for scope in facts.functions_around(loop)
        for each in scope.parameters
    )
    is_cursor = facts.imports_any("go.mongodb.org/mongo-driver") and any(
        each.method in _CURSORS for each in made
    )
    if declared or is_cursor or any(each.method in _QUERIES for each in made):
        return "a lost connection looks like the end of the rows", "high"
    return "", None


def _is_in_memory(call: Call, facts: Facts) -> bool:
    return _IN_MEMORY.search(facts.text_with_values(call)) is not None


def _is_looked_at(name: str, loop: Loop, facts: Facts) -> bool:
    scope = next(facts.functions_around(loop), None)
    if scope is None:
        return True
    word = re.escape(name)
    # `return rows` and `scan(rows)` pass it on, with its error.
    return (
        re.search(
            rf"\b{word}\.Err\(\)|return [^\n]*\b{word}\b(?!\.)|\(\s*&?{word}\s*[,)]|,\s*&?{word}\s*[,)]",
            facts.text(scope.body),
        )
        is not None
    )


RULE = Rule(
    id="FK-R130",
    slug="iteration-error-ignored",
    title="Error of an iteration not checked",
    why="The loop ends early and what was read is taken for the whole: totals are wrong, rows are missing.",
    fix="Check rows.Err() or scanner.Err() after the loop; in Rust, pass the error on with `?`.",
    kind="reliability",
    severity="medium",
    languages=(*GO, *RUST),
    check=_check,
    words=(b".Next(", b".Scan(", b"Ok(Some(", b"Some(Ok(", b".flatten()", b"Result::ok", b".ok()"),
)
