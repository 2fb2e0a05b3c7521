"""Queries for all rows of one owner, of a kind of which it gets more and more: messages, events, readings.

What makes such a query is known by its text, that of the variables in it included: a condition, an order, and
no limit. A query of a job that takes what is due is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from operator import itemgetter

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.service_clients import type_of_receiver

_METHODS = {
    "python": ("all", "fetchall", "fetch", "filter", "order_by"),
    "javascript": ("find", "findAll", "findMany", "query", "any", "manyOrNone", "getMany", "lean", "toArray"),
    "go": ("Find", "Query", "QueryContext", "Queryx", "Select", "SelectContext"),
    "java": ("query", "getResultList", "queryForList", "list", "fetch", "into"),
    "kotlin": ("query", "getResultList", "queryForList", "list", "toList", "map", "into"),
    "csharp": ("ToListAsync", "ToList", "ToArrayAsync", "QueryAsync", "Query"),
    "rust": ("fetch_all", "load", "all"),
}
_SHAPE = {
    "python": lazy_regex(r"\bselect\(|\.query\(|\.objects\b|\bSELECT\b", re.IGNORECASE),
    "javascript": lazy_regex(r"\bwhere\b|\bSELECT\b|[rR]epo|\.find\("),
    "go": lazy_regex(r"\.Where\(|\bSELECT\b|\bselect\b.*\bfrom\b", re.DOTALL),
    "java": lazy_regex(r"\bSELECT\b|\bselect\b.*\bfrom\b|\bselectFrom\(|\.find\(.*\.into\(", re.DOTALL),
    "kotlin": lazy_regex(
        r"\bSELECT\b|\bselect\b.*\bfrom\b|\.selectAll\(\)|\bselect\s*\{|\.find\(.*\.(?:into|toList)\(",
        re.DOTALL,
    ),
    "csharp": lazy_regex(r"\.Where\(|\bSELECT\b"),
    "rust": lazy_regex(r"\bSELECT\b|\.filter\("),
}
_GROWS = (
    r"(?:audit\w*|events?|\w*logs?|\w*histor(?:y|ies)|\w*messages?|notifications?|\w*readings?|\w*measurements?"
    r"|\w*transactions?|activit(?:y|ies)|visits?|clicks?|telemetry|samples|(?:ledger|journal|time|log)_?entr(?:y|ies)"
    r"|comments?|orders|invoices|payments|alerts|deliveries|shipments|tickets|bookings|statements|\w*[eE]vents?"
    r"|\w*Entr(?:y|ies)|posts|reviews|trips|calls|sessions)"
)
_THINGS = lazy_regex(
    rf"\b(?:FROM|from|selectFrom\(|select\(|query\(|Find\(&|collection\(['\"])\s*\"?(?:\w+\.)?{_GROWS}\b"
    rf"|\b(?:Repository<|\w+\.)?{_GROWS}\.(?:selectAll|select|filter|objects|find\w*|findMany|findAll|Where|where)\b"
    rf"|\b{_GROWS}\b\s*\.(?:objects|filter|find|findMany|findAll|selectAll)\b|(?:_db|db|[cC]ontext)\.{_GROWS}\b",
    re.IGNORECASE,
)
_CHOOSES = lazy_regex(
    r"\.find\(\s*\{\s*[\w\"']|\bwhere\b|\bfilter\w*\b|\.Where\(|\bfind(?:All)?By", re.IGNORECASE
)
_ORDERS = lazy_regex(
    r"order\s*_?by|\border\s*:|\.sort\(|orderByDescending|\.order\(|\.Order\(|order_by_desc", re.IGNORECASE
)
_LIMITED = lazy_regex(
    r"limit|\btake\b|page|\btop\b|\bfirst\b|offset|cursor|skip|batch|chunk|iterator|max_?results|yield_per|stream"
    r"|fetch\s+(?:first|next)|\bbetween\b|count\b|\bsum\b|\bmax\(|\bmin\(|group\s*_?by|exists|\bin\s*\(|\bin_\(|any\(|\bIn\("
    r"|for\s+update|distinct|having|findOne|\bone\b|\.first|__in\b|\bin:|latest",
    re.IGNORECASE,
)
_BY_TIME = lazy_regex(
    r"(?:order\s*_?by\w*|\border\s*:|\.sort\(|\.order\(|\.Order\(|OrderBy\w*)[^;\n]{0,60}?"
    r"(?:\w(?:_at|_on|_ts|_time|_date|[a-z]At|[a-z]On|[a-z]Time|[a-z]Date|[tT]imestamp)\b|\b(?:at|ts|time|timestamp)\b)",
    re.IGNORECASE,
)
"""An order by time: there are more rows each day."""
_SINCE = lazy_regex(
    r"(?:_at|_on|_ts|_time|_date|At|On|Time|Date|\bat|\bts|\btime)\W{0,12}(?:>=?|\$?gte?\b|__gte?|\.ge\(|after|since|greater)"
    r"|[sS]ince|[fF]rom[A-Z_]\w*(?:Date|Time)|interval"
)
"""Only rows of some time."""
_OF_ONE = lazy_regex(r"\w[_.][iI]d[\"']?\s*(?:=|,|\))|[a-z]Id\s*(?:==|:|,)|_id\s*=")
"""Conditions by a key: two of them leave few rows."""
_PAGED = lazy_regex(r"[pP]aginat|\[[^\]\n\[]*:[^\]\n\[]*\]|islice\(|\.iterator\(|page_?size", re.IGNORECASE)
_BY_KEY = lazy_regex(r"where\s*\(?\s*(?:\w+\.)?(?:id|uuid|key|token)\s*=(?!=)", re.IGNORECASE)
_OF_JOBS = lazy_regex(
    r"claim|pending|\bdue|unsent|unpublished|purge|delete|archive|migrat|expire|clean|queue|retry|outbox|dispatch|relay"
    r"|reindex|backfill|rebuild|replay|snapshot|\btest",
    re.IGNORECASE,
)

_DUE = lazy_regex(
    r"['\"](?:pending|queued|new|ready|open|unsent)['\"]|skip\s+locked|pending|isNull|IS NULL", re.IGNORECASE
)


def _query_text(call: Call, facts: Facts) -> str:
    """Return a query as written, with the variables and constants that it is made of."""
    chain, each = [call], call.origin
    while each is not None and len(chain) < 12:
        chain.append(each)
        each = each.origin
    names = {one.value.text for part in chain for one in part.positional if one.value.shape == "name"}
    names.add(call.receiver_written.partition(".")[0].partition("(")[0])
    scope = facts.named_function_of(call) or facts.function_of(call)
    texts = [facts.text(_whole_chain(call, facts))]
    if facts.language == "go":
        texts += [f"from {found}" for found in _types_of_rows(call, facts)]
    if call.method == "fetchall" and scope is not None:
        run = [each for each in facts.calls_of_method("execute") if facts.function_of(each) is scope]
        texts += [facts.text(each.span) for each in run] if len(run) == 1 else []
    known = _by_last_name(facts)
    given = {place: one for name in names for place, one in known.get(name, ())}
    for _, one in sorted(given.items(), key=itemgetter(0)):
        if one.value is None:
            continue
        if one.scope is None or (facts.named_function_of(one) or facts.function_of(one)) is scope:
            texts.append(one.value.text[:2000])
    return _IN_PARTS.sub("", "\n".join(texts))


_IN_PARTS = lazy_regex(r"\.cursor\(\)|\.(?:batch_?[sS]ize|setFetchSize|fetchSize)\([^()]*\)")
"""How rows travel says nothing about how many there are."""


@lru_cache(maxsize=4)
def _by_last_name(facts: Facts) -> dict[str, list[tuple[int, Assignment]]]:
    """Return assignments by the last parts of what they set, each with its place among all."""
    found: dict[str, list[tuple[int, Assignment]]] = {}
    for place, each in enumerate(facts.assignments):
        for name in {target.rpartition(".")[2] for target in each.targets}:
            found.setdefault(name, []).append((place, each))
    return found


def _whole_chain(call: Call, facts: Facts) -> Span:
    """Return the span of a call with what follows it: `.find(…).sort(…).limit(…)`."""
    end, todo = call.span.end, [call]
    while todo and end - call.span.start < 4000:
        later = [each for each in facts.calls_on(todo.pop()) if each.span.start == call.span.start]
        todo += later
        end = max([end, *(each.span.end for each in later)])
    return Span(call.span.start, end)


def _types_of_rows(call: Call, facts: Facts) -> list[str]:
    """Return the types of the slices that a query of Go fills: of `var rows []Message` that is `Message`."""
    names = [each.value.text[1:] for each in call.positional if each.value.text.startswith("&")]
    given = [facts.text(one.span) for name in names for one in facts.assignments_to(name, call)]
    return [found for text in given for found in re.findall(r"\[\]\*?(?:\w+\.)?(\w+)", text)]


def grown_lists(facts: Facts) -> Iterator[Call]:
    """Yield queries that load everything of one owner, in an order that a reader wants, without a limit."""
    family = facts.syntax.language.family
    methods = _METHODS.get(family)
    seen = list[Call]()
    for call in facts.calls_of_method(*methods) if methods is not None else ():
        scope = facts.named_function_of(call) or facts.function_of(call)
        if scope is None or facts.loops_around(call) or any(is_within(call.span, each.span) for each in seen):
            continue
        if call.method in ("filter", "order_by") and ".objects" not in facts.text(call.callee):
            continue
        text = _query_text(call, facts)
        if not _SHAPE[family].search(text) and not _is_repository(call, facts):
            continue
        if not _CHOOSES.search(text) or not _ORDERS.search(text) or _LIMITED.search(text):
            continue
        by_time = _BY_TIME.search(text) is not None and not _SINCE.search(text)
        by_time = by_time and not _PAGED.search(facts.text(scope.span)) and len(_OF_ONE.findall(text)) < 2
        if _BY_KEY.search(text) or not (by_time or _is_of_growing(call, text, facts)):
            continue
        if _OF_JOBS.search(scope.name) or _DUE.search(text) or not _is_given_out(call, scope.span.end, facts):
            continue
        seen.append(call)
        yield call


_WRITES_ROW = frozenset(
    (
        "writerow", "write", "writeln", "WriteLine", "WriteLineAsync", "Fprintf", "Fprintln", "printRecord",
        "println", "write_record", "serialize", "writeNext", "WriteRecord", "WriteAsync",
        "write_all", "Write",
    )
)  # fmt: skip
"""Calls that write one row to a file or an answer."""


def _is_repository(call: Call, facts: Facts) -> bool:
    return re.search(r"(?:Repository|Model)$", type_of_receiver(call, facts)) is not None


def _is_of_growing(call: Call, text: str, facts: Facts) -> bool:
    if _THINGS.search(text):
        return True
    # `this.messages.find({ … })`, `messageRepo.find({ … })`
    owner = re.sub(r"_?(?:[rR]epo(?:sitory)?|[mM]odel|[dD]ao)$", "", call.receiver_written.rpartition(".")[2])
    return re.fullmatch(_GROWS, owner, re.IGNORECASE) is not None


def _is_given_out(call: Call, end: int, facts: Facts) -> bool:
    """Return whether a function returns the rows, or answers with them, rather than working through them."""
    if call.is_returned or facts.route_of(call) is not None:
        return True
    names = {name for name in call.assigned if name.isidentifier()} - {"err", "_"}
    if facts.language == "go":
        names |= {each.value.text[1:] for each in call.positional if each.value.text.startswith("&")}
        if call.method.startswith("Query"):
            return True
    if not names:
        return True
    if any(
        argument.value.text in names
        for each in facts.calls_of_method("json", "send", "JSON", "respond", "Ok", "Encode", "jsonify")
        if call.span.end <= each.span.start < end
        for argument in each.arguments
    ):
        return True
    if any(
        call.span.end <= loop.span.start < end
        and {*re.findall(r"\w+", loop.over)} & names
        and any(each.method in _WRITES_ROW for each in facts.within(facts.calls, loop.body))
        for loop in facts.loops
    ):
        return True
    given = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b")
    if facts.language in ("rust", "kotlin") and given.search(
        facts.text(Span(max(call.span.end, end - 120), end))
    ):
        return True
    return any(
        step.kind == "return" and given.search(step.text)
        for step in facts.steps
        if call.span.end <= step.span.start < end
    )


# Spring Data: what a repository returns is declared beside it.

_DERIVED = lazy_regex(r"^(?:find|get|list|read|query)(?:All)?By(?!Id$|IdIn|\w*IdIn)\w+$")
_NARROW = lazy_regex(r"First|Top|Page|Slice|Limit|In$|Between|Distinct|One|Unique")


def listed_by_repository(facts: Facts) -> Iterator[Call]:
    """Yield derived queries that a handler answers with, declared here as a list without a page."""
    if facts.language not in ("java", "kotlin") or b"Repository" not in facts.syntax.source:
        return
    for call in facts.calls_with_method(_DERIVED.match):
        if _NARROW.search(call.method):
            continue
        route = facts.route_of(call)
        if route is None or route.route is None or route.route.method not in ("GET", "ANY"):
            continue
        name = re.escape(call.method)
        declared = re.search(
            rf"\bfun\s+{name}\(([^()]*)\)\s*:\s*(?:List|Collection)<|\b(?:List|Collection)<[^;{{}}]*>\s+{name}\(([^()]*)\)\s*;",
            facts.whole_text,
        )
        if declared is None or re.search(
            r"Pageable|Limit|PageRequest|Collection<|List<", declared[1] or declared[2] or ""
        ):
            continue
        things = f"{call.receiver} {call.method} {route.name}"
        if "OrderBy" in call.method or re.search(rf"(?i){_GROWS}", things):
            yield call
