"""Finds queries that load every row of a table.

Evidence that it matters: the program keeps only a part of the rows, or a job or an export works on all of
them. A query that only lists a table is possible: whether the table grows is not in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.broad_queries import broad_queries
from faultkit.code.rules.vocabulary.data_sizes import is_data
from faultkit.code.rules.vocabulary.exported_rows import exported_rows
from faultkit.code.rules.vocabulary.job_rows import job_rows
from faultkit.code.rules.vocabulary.jobs import is_job
from faultkit.code.rules.vocabulary.listing_loops import works_on_items
from faultkit.code.rules.vocabulary.repetition import is_for_screen
from faultkit.code.rules.vocabulary.row_queries import RowQuery, row_queries
from faultkit.code.rules.vocabulary.sifted_rows import is_looked_up, sifted_rows

_PER_USE = lazy_regex(
    r"(session|token|request|attempt|login|subscription|audit|activity|activitie)s?$", re.IGNORECASE
)
"""Tables that get a row for each login, request or similar act of a client."""


def _check(facts: Facts) -> Iterator[Hit]:
    whole = [*_whole(facts)]
    yield from whole
    reported = {each.span for each in whole}
    for call in exported_rows(facts):
        if call.span not in reported:
            reported.add(call.span)
            what = f"{call.written}() holds every row of the export before the first is written"
            yield Hit(call.span, what, LIKELY)
    for call in job_rows(facts):
        if call.span in reported:
            continue
        what = f"{call.written}() takes every row that matches at once, in a job that works on all of them"
        yield Hit(call.span, what, LIKELY)


def _whole(facts: Facts) -> Iterator[Hit]:
    for rows in row_queries(facts):
        if rows.is_narrowed or rows.is_limited or rows.is_one or facts.function_of(rows.call) is None:
            continue
        if facts.language == "go" and not _collects(rows.call, facts):
            continue
        if facts.language == "rust" and rows.call.method not in ("fetch_all", "query"):
            continue
        if not _may_be_long(rows, facts):
            continue
        sure = LIKELY if _is_work_on_all(rows.call, facts) else POSSIBLE
        yield Hit(rows.call.span, f"{rows.call.written}() takes every row of the table", sure)
    for call in broad_queries(facts):
        yield Hit(call.span, f"{call.written}() holds every row that matches, however many", POSSIBLE)


def _may_be_long(rows: RowQuery, facts: Facts) -> bool:
    """Return whether the table grows with the data, or the caller waits for all of it."""
    if rows.table is not None and is_looked_up(rows.table):
        return False
    if facts.route_of(rows.call) is not None or rows.table is None:
        return True
    return is_data(rows.table) or is_data(f"{rows.table}s") or _PER_USE.search(rows.table) is not None


def _collects(call: Call, facts: Facts) -> bool:
    if call.method == "Find":
        return True
    scope = facts.function_of(call)
    return scope is not None and any(each.name == "append" for each in facts.within(facts.calls, scope.body))


def _is_work_on_all(call: Call, facts: Facts) -> bool:
    """Return whether a job goes through the rows of a table, or the program keeps a part of them."""
    if is_for_screen(facts):
        return False
    if any(each.load is call for each in sifted_rows(facts)) and _is_chosen_by_input(call, facts):
        return True
    scope = facts.named_function_of(call)
    if scope is None or not is_job(scope) or _is_streamed(call, facts) or _ONCE.search(scope.short_name):
        return False
    # Next to a request or a write for each row, the rows themselves matter little.
    names = {*call.assigned}
    names.add(facts.text(call.span))
    over = [loop for loop in facts.within(facts.loops, scope.body) if loop.over.strip() in names]
    return not any(works_on_items(loop, facts) for loop in over) and not facts.loops_around(call)


_ONCE = lazy_regex(r"migrat|seed|upgrade|backfill", re.IGNORECASE)
_CHOOSES = lazy_regex(
    r"\b(?:filter|Where|Skip|Take|find|first\w*|First\w*|Any|any\w*|slice|subList|skip|limit|if)\b[^;\n]*(?:\n[^;\n]*){0,2}"
)


def _is_chosen_by_input(call: Call, facts: Facts) -> bool:
    """Return whether what is kept of the rows depends on what the function is given.

    A filter by a constant may keep nearly all of them."""
    scope = facts.named_function_of(call)
    if scope is None:
        return False
    given = {each.name for each in scope.parameters} - {"self", "cls"}
    given |= {name for each in facts.own(facts.assignments, scope) for name in each.targets} - {
        *call.assigned
    }
    after = facts.text(Span(call.span.end, scope.body.end))
    if not call.assigned:
        after = after.partition(";")[0]  # The rest of a chain.
    words = {word for each in _CHOOSES.findall(after) for word in _WORD.findall(each)}
    return not given.isdisjoint(words)


_WORD = lazy_regex(r"(?<![\w.\"'])[A-Za-z_]\w*")


def _is_streamed(call: Call, facts: Facts) -> bool:
    """Return whether rows are read one by one: `for row in cursor`, `rows.Next()`."""
    if call.method in ("all", "toArray", "findMany", "findAll", "fetchall", "getResultList", "Find"):
        return False
    names = {*call.assigned, call.receiver_written}
    return any(loop.over in names or facts.text(call.span) == loop.over for loop in facts.loops)


RULE = Rule(
    id="FK-P012",
    slug="whole-table-loaded",
    title="Whole table loaded",
    why="It is quick while the table is small; with real data it takes all memory and the database's time.",
    fix="Add a condition and a LIMIT, go through it page by page, or let the database do the sum.",
    kind="performance",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
