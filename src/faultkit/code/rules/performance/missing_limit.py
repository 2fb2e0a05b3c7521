"""Finds handlers that return a list without a limit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.rules.rule import EVERY_LANGUAGE, JAVASCRIPT, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.grown_lists import grown_lists, listed_by_repository
from faultkit.code.rules.vocabulary.row_queries import row_queries


def _check(facts: Facts) -> Iterator[Hit]:
    seen = set[Call]()
    for rows in row_queries(facts):
        route = facts.route_of(rows.call)
        if route is None or route.route is None or not rows.is_narrowed or rows.is_limited or rows.is_one:
            continue
        if facts.loops_around(rows.call):
            continue  # Reported by FK-P004.
        if _BY_KEYS.search(facts.text(rows.call.span)):
            continue  # As many as there are keys.
        if route.route.method not in ("GET", "ANY") or not _takes_many(rows.call, facts):
            continue
        seen.add(rows.call)
        yield Hit(rows.call.span, f"{rows.call.written}() gives out as many rows as there are", POSSIBLE)
    for call in _listed(facts):
        if call not in seen:
            seen.add(call)
            yield Hit(call.span, f"{call.written}() gives out as many rows as there are", POSSIBLE)
    for call in (*grown_lists(facts), *listed_by_repository(facts)):
        text = facts.text(call.span)
        if _is_one_model(call, facts) or _BY_KEYS.search(text) or _OF_FEW.search(text):
            continue
        if not any(is_within(call.span, each.span) or is_within(each.span, call.span) for each in seen):
            seen.add(call)
            yield Hit(call.span, f"{call.written}() gives out as many rows as there are", POSSIBLE)


def _is_one_model(call: Call, facts: Facts) -> bool:
    """Return whether a chain of Bookshelf ends in `fetch`, which gives one row; `fetchAll` gives all."""
    return facts.language in JAVASCRIPT and any(each.method == "fetch" for each in facts.calls_on(call))


_BY_KEYS = lazy_regex(
    r"\$in\b|\bin:\s*|\bIn\(|\.in_\(|__in=|\[Op\.in\]|\bwhereIn\(|\.Contains\(|=\s*ANY\s*\(|\bIN\s*\("
    r"|\b\w*ids?:\s*[\w.]+\.map\(|\bid:\s*\w*ids\b|\.eq_any\(",
    re.IGNORECASE,
)
_OF_FEW = lazy_regex(r"block(?:ed|s)\b|blocked_|moderator|[tT]eam\.find|settings\b")
"""Things of which one owner has few: those that it blocks, its moderators, its teams."""
_MANY = lazy_regex(
    r"audit|event|logs?\b|histor|message|transaction|notification|entr(y|ies)|activit|reading|measurement|click|visit|order"
    r"|comment|invoice|payment",
    re.IGNORECASE,
)
"""Things of which one owner gets more and more."""
_LISTS = lazy_regex(r"\b(Mutable)?(List|Collection|Set|Iterable)<")
_FOUND = lazy_regex(r"^(findAll|findBy|findAllBy|listBy|getBy|getAllBy|listAll)\w*$")


def _listed(facts: Facts) -> Iterator[Call]:
    """Yield lists of a repository, or of Kysely, that a handler asks for without a limit."""
    if facts.language in JAVASCRIPT:
        for call in facts.calls_of_method("execute"):
            if call.is_awaited and ".selectFrom()" in call.name and facts.route_of(call) is not None:
                text = facts.text(call.span)
                if not re.search(r"\.(limit|top|fetch|groupBy)\(|\bcount", text) and _MANY.search(text):
                    yield call
        return
    for call in facts.calls if facts.language == "java" else ():
        route = facts.route_of(call)
        if route is None or not call.is_returned or not _FOUND.match(call.method):
            continue
        if "Repository" not in call.name or not _MANY.search(call.name):
            continue
        head = facts.text(route.head)
        if _LISTS.search(head) and not re.search(
            r"Page|Slice|limit|Limit|Top|First", head + facts.text(call.span)
        ):
            yield call


def _takes_many(call: Call, facts: Facts) -> bool:
    if facts.language == "go" and call.method in ("Query", "QueryContext", "Queryx", "QueryxContext"):
        # Rows that are written as they are read are not held.
        scope = facts.function_of(call)
        return scope is not None and any(
            each.name == "append" for each in facts.within(facts.calls, scope.body)
        )
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
    languages=EVERY_LANGUAGE,
    check=_check,
)
