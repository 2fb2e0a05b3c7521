"""Finds handlers that return a list without a limit."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import GO, JAVA, JAVASCRIPT, POSSIBLE, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.row_queries import row_queries


def _check(facts: Facts) -> Iterator[Hit]:
    for rows in row_queries(facts):
        route = facts.route_of(rows.call)
        if route is None or route.route is None or not rows.is_narrowed or rows.is_limited or rows.is_one:
            continue
        if facts.loops_around(rows.call):
            continue  # Reported by FK-P004.
        if route.route.method not in ("GET", "ANY") or not _takes_many(rows.call, facts):
            continue
        yield Hit(rows.call.span, f"{rows.call.written}() gives out as many rows as there are", POSSIBLE)


def _takes_many(call: Call, facts: Facts) -> bool:
    if facts.language == "python" and call.method == "execute":
        scope = facts.function_of(call)
        return scope is not None and any(
            each.method in ("fetchall", "all") for each in facts.within(facts.calls, scope.body)
        )
    return True


RULE = Rule(
    id="FK-P013",
    slug="missing-limit",
    title="List without a limit",
    why="The answer grows with the data until it times out, and one caller can make it do so.",
    fix="Page it: a limit with a maximum, and a cursor or offset.",
    kind="performance",
    severity="medium",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA),
    check=_check,
)
