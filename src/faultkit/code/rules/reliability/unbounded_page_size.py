"""Finds page sizes that a client may choose without a limit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Facts, Place, Scope
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, JAVASCRIPT, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_SIZE = r"(?:limit|page_?[sS]ize|per_?[pP]age|max_?[rR]esults|take|top|batch_?[sS]ize)"
_PARAMETER = re.compile(rf"^({_SIZE}|size|count)$", re.IGNORECASE)
_ASKED = re.compile(
    rf"(?:(?:req|request|ctx|c|r|context|call|event)\b[\w.()?!]*"
    rf"(?:query|Query|args|GET|params|QueryParam|queryParams|query_params|queryParameters|FormValue|queryStringParameters)"
    rf"[\w.()?!]*(?:\.get|\.Get|\.getlist)?\s*[.\[(]\??\s*[\"'`]?({_SIZE}|size|count)\b)",
    re.IGNORECASE,
)
_BOUNDED = TextPattern(
    r"\bmin\(|\bMin\(|\.min\(|[cC]lamp|coerceAtMost|coerceIn|minOf\(|\ble=|\blt=|@Max|@Range|\[Range|Range\(|MaxValue"
    r"|@IsInt|\.max\(|\bmax(imum)?:|MAX_|[mM]ax[A-Z_]\w*|_max\b|setMaxPageSize|bound|validate|Validate|schema|Schema|parse\("
)
"""Words of a limit; validation may stand elsewhere."""
_CAST = re.compile(r"^(int|Number|parseInt|Integer|strconv|toInt|Int)")


_OF_ARGS = re.compile(
    r"\b(?:args|input|params|pagination|paging)\??\.(first|last|limit|take|pageSize|perPage|page_size|per_page|size)\b"
)
"""Arguments of a resolver of GraphQL."""
_ARGS = frozenset(("args", "input", "pagination", "paging"))
_NEST = re.compile(rf"@Query\(\s*[\"']({_SIZE})[\"'][^)]*\)\s*(\w+)", re.IGNORECASE)
_BY_NAME = re.compile(
    rf"^(?:await )?(?:\w+\.)*(\w+)\([^()]*[\"']({_SIZE}|size|count)[\"'][^()]*\)$", re.IGNORECASE
)
"""A helper that is given the name of a parameter: `intArg("limit", 50)`."""


def _check(facts: Facts) -> Iterator[Hit]:
    told = set[Scope]()
    for scope, hit in _of_routes(facts):
        told.add(scope)
        yield hit
    if facts.language in JAVASCRIPT:
        yield from (hit for scope, hit in _of_resolvers(facts) if scope not in told)


def _of_resolvers(facts: Facts) -> Iterator[tuple[Scope, Hit]]:
    """Yield sizes that a resolver of GraphQL takes from its arguments (JavaScript)."""
    for each in facts.assignments:
        scope = each.scope
        if scope is None or each.value is None or len(each.value.text) > 200 or len(each.targets) != 1:
            continue
        found = _OF_ARGS.search(each.value.text)
        if found is None or not any(one.name in _ARGS for one in scope.parameters):
            continue
        text, name = facts.text(scope.span), each.targets[0]
        if not name.isidentifier() or _is_bounded(name, text, scope, facts) or _is_compared(name, text):
            continue
        returned = any(
            step.kind == "return" and re.search(rf"\b{re.escape(name)}\b", step.text)
            for step in facts.within(facts.steps, scope.body)
        )
        if returned or _is_used(name, each, scope, facts):
            yield scope, Hit(each.span, f"a client may ask for any {found[1]}: nothing limits it", LIKELY)


def _of_routes(facts: Facts) -> Iterator[tuple[Scope, Hit]]:
    for scope in facts.scopes:
        if scope.route is None or scope.route.method not in ("GET", "ANY", "POST"):
            continue
        text = facts.text(scope.span)
        for name, place in _sizes(scope, text, facts):
            if _is_bounded(name, text, scope, facts):
                continue
            if _is_compared(name, text) or _is_bounded_inside(name, scope, facts):
                continue
            if _is_used(name, place, scope, facts):
                what = f"a client may ask for any {name}: nothing limits it"
                yield scope, Hit(place.span, what, LIKELY)
                break


_OF_TEXTS = re.compile(r"\b[mM]ax_?[lL]en(?:gth)?\w*")
_COMPARISON = re.compile(
    r"([\w.]+(?:\([\w., ]*\))?)\s*[<>]=?\s*(?:\w+\.)*(?:MAX_|[mM]ax[A-Z_])\w*"
    r"|(?:\w+\.)*(?:MAX_|[mM]ax[A-Z_])\w*\s*[<>]=?\s*([\w.]+(?:\([\w., ]*\))?)"
)
_ANY_SIZE = re.compile(rf"{_SIZE}|size|count|first|last|\bn\b", re.IGNORECASE)


def _is_bounded(name: str, text: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a function has words of a limit that may be one of the size, and not of something else:
    of another parameter, or of the length of a text."""
    if not _BOUNDED.search(text):
        return False
    made = {
        target
        for each in facts.within(facts.assignments, scope.body)
        for target in each.targets
        if each.value is not None and re.search(rf"\b{re.escape(name)}\b", each.value.text)
    }
    of_size = {name, *made}

    def kept(found: re.Match[str]) -> str:
        other = found[1] or found[2] or ""
        words = {*re.findall(r"\w+", other)}
        return found[0] if words & of_size or _ANY_SIZE.search(other) else ""

    others = {each.name for each in scope.parameters} - {name}
    head = "".join(
        part
        for part in _parts(text[: len(facts.text(scope.head))])
        if name in (words := {*re.findall(r"\w+", part)}) or not words & others
    )
    body = text[len(facts.text(scope.head)) :]
    return _BOUNDED.search(_COMPARISON.sub(kept, _OF_TEXTS.sub("", f"{head}{body}"))) is not None


def _parts(head: str) -> Iterator[str]:
    """Yield the head of a function cut at the commas between its parameters."""
    depth, start = 0, 0
    for at, sign in enumerate(head):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 1:
            yield head[start:at]
            start = at
    yield head[start:]


def _is_bounded_inside(name: str, scope: Scope, facts: Facts) -> bool:
    """Return whether the function of this text that is given the size sets a limit."""
    word = re.compile(rf"(?<![\w.\"']){re.escape(name)}\b")
    methods = {
        call.method
        for call in facts.within(facts.calls, scope.body)
        if any(word.search(each.value.text) for each in call.arguments)
    }
    return any(
        each is not scope and _BOUNDED.search(facts.text(each.body))
        for each in facts.functions_named(*methods)
    )


def _sizes(scope: Scope, text: str, facts: Facts) -> Iterator[tuple[str, Placed]]:
    for each in scope.parameters:
        numeric = re.fullmatch(
            r"int|Int|Integer|long|Long|i32|i64|u32|usize|int32|int64|number|Optional", each.type
        )
        if numeric and _PARAMETER.match(each.name) and scope.route is not None:
            at = re.search(
                rf"\b{re.escape(each.name)}\b", text[: max(0, scope.body.start - scope.span.start)] or text
            )
            start = scope.span.start
            plain = Span(start, start + len(each.name.encode()))
            yield each.name, Place(facts.syntax.place_of(at, start) if at else plain)
    for decorated in _NEST.finditer(text) if facts.language in JAVASCRIPT else ():
        yield decorated[2], Place(facts.syntax.place_of(decorated, scope.span.start))
    for found in facts.own(facts.assignments, scope):
        value = "" if found.value is None else found.value.text
        if len(value) > 200 or not found.targets or not found.targets[0].isidentifier():
            continue
        if (
            _is_helped(value, facts)
            or _ASKED.search(value)
            or (facts.language == "rust" and _is_rust_size(value))
        ):
            yield found.targets[0], found


def _is_helped(value: str, facts: Facts) -> bool:
    """Return whether a function of this text that sets no limit reads the parameter."""
    found = _BY_NAME.match(value)
    helpers = () if found is None else facts.functions_named(found[1])
    if not helpers:
        return False
    text = facts.text(helpers[0].span)
    return not _BOUNDED.search(text) and not re.search(r"\w\s*(>|>=|<=)\s*[\w.]", text)


def _is_rust_size(value: str) -> bool:
    return re.match(rf"\w+(\.0)?\.{_SIZE}(\.unwrap_or(_default)?\(\w*\))?$", value) is not None


def _is_compared(name: str, text: str) -> bool:
    word = re.escape(name)
    return (
        re.search(
            # A comparison with 0 or 1 is a limit from below.
            rf"\b{word}\s*(>=?|<=)\s*(?![01]\b)[\w.]|(?<![\w.])(?![01]\b)[\w.]+\s*<=?\s*{word}\b"
            r"|\bin 1\.\.|is in\b",
            text,
        )
        is not None
    )


def _is_used(name: str, place: Placed, scope: Scope, facts: Facts) -> bool:
    """Return whether the size is given to another call."""
    word = re.compile(rf"(?<![\w.\"']){re.escape(name)}\b")
    for call in facts.within(facts.calls, scope.body):
        if call.span.start <= place.span.start < call.span.end or _CAST.match(call.method):
            continue
        if any(word.search(each.value.text) and each.value.shape != "text" for each in call.arguments):
            return True
    return False


RULE = Rule(
    id="FK-R135",
    slug="unbounded-page-size",
    title="Page size without a limit",
    why="One request for ten million rows takes the memory of the service and the time of its database.",
    fix="Take the smaller of what is asked for and a maximum, or refuse larger ones.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(
        b"imit",
        b"ize",
        b"per_page",
        b"perPage",
        b"take",
        b"top",
        b"count",
        b"first",
        b"last",
        b"max_results",
        b"maxResults",
    ),
)
