"""Finds page sizes that a client may choose without a limit.

Evidence: the file also gives a size to a query or a page, as `.limit(n)`, `take: n` or `LIMIT` do. Without
it, the function that gets the size may limit it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Facts, Place, Scope
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.command_lines import is_command_line
from faultkit.code.rules.vocabulary.requested_sizes import (
    IS_SIZE,
    SIZE,
    named_fields,
    pagination_classes,
    reads_of,
    schema_fields,
)
from faultkit.code.rules.vocabulary.size_bounds import has_upper_bound, is_bounded, only_converts
from faultkit.code.rules.vocabulary.stores import bound_names, given_words, words
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_NAMED = lazy_regex(
    rf"[\"'`]({SIZE}|size|count|first)[\"'`]|(?<=\.)({SIZE})\b(?!\s*\()|[gG]et({SIZE})\(\)", re.IGNORECASE
)
"""A size as the name of a parameter of a request, or as a member of what a request brought."""
_MAY_ASK = TextPattern(
    rf"[\"'`.](?:{SIZE}|size|count|first)\b|[gG]et(?:{SIZE})\(|[{{[][^{{}}\n]*\b(?:{SIZE}|size|first)\b[^{{}}\n]*[\]}}]\s*=",
    re.IGNORECASE,
)
_NUMERIC = lazy_regex(r"\b(int|Int|Integer|long|Long|i32|i64|u32|u64|usize|int32|int64|number|Optional)\b")
_CAST = lazy_regex(
    r"^(int|Number|parseInt|Integer|strconv|toInt|Int|Atoi|parse|TryParse|max|Max|log|print|info|debug)"
)
_VALIDATED = TextPattern(
    r"[vV]alidat(?:e|ed|ion|or|ing)\b|[sS]chema\b|\.(?:safeParse|parse)(?:Async)?\(\s*(?:req|request|ctx|c|event|query|params|url)\b"
    r"|\bcelebrate\(|zValidator|checkSchema|validationResult|matchedData|\bvalid\("
)
"""Words of a check of the whole request, whose limits may stand elsewhere."""
_REQUESTS = lazy_regex(
    r"(^|[./])(Request|HttpContext|HttpRequest|HttpServletRequest|ServletRequest|ServerRequest|ServerWebExchange"
    r"|ServerHttpRequest|FastifyRequest|ApplicationCall|RoutingContext|ContainerRequestContext|IncomingMessage|Ctx"
    r"|HttpExchange|NextRequest|HttpRequestData)$|gin\.Context$|echo(/v\d)?\.Context$"
)


_OF_ARGS = lazy_regex(
    r"\b(?:args|input|params|pagination|paging)\??\.(first|last|limit|take|pageSize|perPage|page_size|per_page|size)\b"
)
"""Arguments of a resolver of GraphQL."""
_ARGS = frozenset(("args", "input", "pagination", "paging"))
_GRAPHQL = TextPattern(r"[gG]raph[qQ][lL]|[rR]esolver|gql|pothos|nexus")
_NEST = lazy_regex(rf"@Query\(\s*[\"']({SIZE}|size|count)[\"'][^)]*\)\s*(\w+)", re.IGNORECASE)
_BY_NAME = lazy_regex(
    rf"^(?:await )?(?:\w+\.)*(\w+)\([^()]*[\"']({SIZE}|size|count)[\"'][^()]*\)$", re.IGNORECASE
)
"""A helper that is given the name of a parameter: `intArg("limit", 50)`."""


_GIVES_SIZE = TextPattern(
    r"[._](?:limit|Limit|[sS]etLimit|take|Take|setMaxResults|maxResults|fetchSize|top|perPage|[pP]aginate|first|setPageSize|set_limit)\("
    r"|\b(?:take|limit|first|pageSize|perPage)\s*:\s*(?!(?:z|[jJ]oi|v|t|yup|number|[iI]nt|[iu](?:32|64)|usize|Option|Long|[sS]tring)\b)\w"
    r"|\bLIMIT\b|\blimit\s+(?:[$@%:]\w|\?[\"'`])|FETCH (?:FIRST|NEXT)|\bTOP\b"
    r"|[pP]ageable|PageRequest|[pP]aginat\w*[(:=,)]"
    r"|\[:\s*\w*limit|[:+]\s*limit\s*\]"
)
"""What gives a size to a query, or cuts a list by it."""
_REFUSED_BY_STORE = TextPattern(r"[eE]lasticsearch|[oO]pen[sS]earch|RestHighLevelClient")
"""Stores that refuse pages of more than ten thousand items themselves."""


def _check(facts: Facts) -> Iterator[Hit]:
    if is_command_line(facts):
        return  # The user of the program is its only client.
    text, hits = facts.whole_text, [*_hits(facts)]
    is_given = bool(hits) and _GIVES_SIZE.search(text) is not None
    is_refused = bool(hits) and _REFUSED_BY_STORE.search(text) is not None
    for hit, declared in hits:
        # A schema that nothing in the file reads says little: what reads it may set a limit.
        is_read = declared and re.search(rf"\b{re.escape(declared)}\b(?!\s*:)", text) is not None
        sure = (is_read or is_given) and not is_refused
        yield hit if sure else replace(hit, confidence=POSSIBLE)


def _hits(facts: Facts) -> Iterator[tuple[Hit, str]]:
    """Yield sizes, each with the name of the field of a schema that it is; empty if it is none."""
    seen = set[Scope]()
    of_types = [*_of_declared(facts)]
    owners = frozenset(owner for _, hit, owner in of_types if hit.confidence >= LIKELY)
    for scope, hit in _of_handlers(facts, owners):
        seen.add(scope)
        yield hit, ""
    if facts.language in JAVASCRIPT:
        yield from ((hit, "") for scope, hit in _of_resolvers(facts) if scope not in seen)
    declared = [(scope, hit) for scope, hit, _ in of_types if scope not in seen]
    yield from ((hit, "") for _, hit in declared)
    seen.update(scope for scope, _ in declared)
    if seen:
        return
    fields = [
        (name, span)
        for name, span in (*schema_fields(facts), *pagination_classes(facts))
        if not _is_limited_anywhere(name, facts)
    ]
    yield from ((_hit(name, Place(span)), name) for name, span in fields)
    for scope in facts.scopes if not fields else ():
        if scope.route is not None or _takes_request(scope, facts):
            yield from ((_hit(name, place), "") for name, place in _given_at_once(scope, facts))


def _hit(name: str, place: Placed, is_optional: bool = False) -> Hit:
    what = f"a client may ask for any {name}: nothing in this file limits it"
    return Hit(place.span, what, POSSIBLE if is_optional else LIKELY)


def _may_be_left_out(word: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a request without a size gets everything, so that a maximum alone changes nothing."""
    given = rf"(?:{word})(?:\.HasValue|\s+is\s+not\s+(?:None|null)|\s*!==?\s*(?:null|undefined|nil))?"
    cuts = r"[\w.]+\s*=\s*[\w.]+\.\w*(?:[lL]imit|[tT]ake)\("
    asked = (
        rf"\bif\s+let\s+Some\(\w+\)\s*=\s*&?(?:{word})\s*\{{"
        rf"|\bif\s*\(?\s*{given}\s*\)?\s*[:{{]?\s*{cuts}"
        rf"|(?:{word})\.HasValue|(?:{word})\.map\(\|"
    )
    return re.search(asked, facts.text(scope.body)) is not None


@lru_cache(maxsize=16)
def _is_limited_anywhere(name: str, facts: Facts) -> bool:
    """Return whether a function of the text limits what has this name."""
    word = rf"(?<![\w\"']){re.escape(name)}\b(?!\s*:)"
    return any(is_bounded(word, each, facts) for each in facts.scopes if each.outer is None)


def _of_resolvers(facts: Facts) -> Iterator[tuple[Scope, Hit]]:
    """Yield sizes that a resolver of GraphQL takes from its arguments (JavaScript)."""
    if not _GRAPHQL.search(facts.whole_text):
        return
    for each in facts.assignments:
        scope = each.scope
        if scope is None or each.value is None or len(each.value.text) > 200 or len(each.targets) != 1:
            continue
        found = _OF_ARGS.search(each.value.text)
        if found is None or not any(one.name in _ARGS for one in scope.parameters):
            continue
        name = each.targets[0]
        if not name.isidentifier() or _is_checked(name, each, scope, facts):
            continue
        if _is_returned(name, scope, facts) or _is_used(_word(name), each, scope, facts):
            yield scope, _hit(found[1], each)


def _of_declared(facts: Facts) -> Iterator[tuple[Scope, Hit, str]]:
    """Yield sizes in fields of what a request is read into, if they have no maximum, each with that type."""
    for field, scope in named_fields(facts):
        for word, place in reads_of(field, scope, facts):
            if is_bounded(word, scope, facts) or _is_bounded_inside(word, scope, facts):
                break
            if _is_used(word, None, scope, facts) or _is_returned(word, scope, facts):
                is_unsure = _may_be_left_out(word, scope, facts) or not _is_of_request(scope, facts)
                yield scope, _hit(field.name, place, is_unsure), field.owner


def _is_of_request(scope: Scope, facts: Facts) -> bool:
    """Return whether a function, or another one of the text, is given what a request brings.

    A type alone says little: options, settings and events have sizes, too."""
    if scope.route is not None or _takes_request(scope, facts):
        return True
    return any(facts.routes()) or _REQUESTED.search(facts.whole_text) is not None


_REQUESTED = TextPattern(
    r"@(?:Query|Args|Body|Get|Post|Resolver|Controller|RestController|RequestMapping|GetMapping|PostMapping|QueryMapping"
    r"|GET|Path|QueryParam|ModelAttribute)\b|\breq(?:uest)?\.(?:query|body)\b|[gG]raph[qQ][lL]"
    r"|\[(?:Http(?:Get|Post)|FromQuery|ApiController)\b|\bMap(?:Get|Post)\(|\b(?:Query|Json|Form)<|http\.Request\b"
    r"|gin\.Context|echo\.Context|fiber\.Ctx|\brequest\.(?:args|GET|query_params)\b|\bDepends\("
)


def _of_handlers(facts: Facts, owners: frozenset[str]) -> Iterator[tuple[Scope, Hit]]:
    """Yield sizes that functions take from a request themselves.

    `owners` are types with a size that is reported where it is read."""
    for scope in facts.scopes:
        is_route = scope.route is not None and scope.route.method in ("GET", "ANY", "POST")
        if not is_route and not _takes_request(scope, facts):
            continue
        for name, place in _sizes(scope, facts):
            if _is_checked(name, place, scope, facts) or _is_bounded_inside(_word(name), scope, facts):
                continue
            if owners and _is_kept_in(owners, name, scope, facts):
                continue
            if _is_used(_word(name), place, scope, facts) or (
                not is_route and _is_returned(name, scope, facts) and not _is_limited_by_callers(scope, facts)
            ):
                span = _up_to_use(name, place, scope, facts)
                is_optional = _may_be_left_out(_word(name), scope, facts) or ".map(|" in facts.text(
                    place.span
                )
                yield scope, _hit(name, Place(span), is_optional)
                break


def _is_kept_in(owners: frozenset[str], name: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a size only goes into an object of one of these types: `new RowQuery(city, limit)`."""
    given = [
        call.constructs and call.method in owners
        for call in facts.within(facts.calls, scope.body)
        if any(each.value.text == name for each in call.arguments)
    ]
    return bool(given) and all(given)


_NEAR = 400
"""Bytes between a size and its first use that are shown with it."""


_FROM_BELOW = r"\s*(?:is\s+)?(?:<=?|>=?)\s*[01]\b"
"""A check from below: it is no use."""


def _up_to_use(name: str, place: Placed, scope: Scope, facts: Facts) -> Span:
    """Return the place of a size together with its first use, if that is near: there a limit belongs."""
    start, after = place.span.start, max(place.span.end, scope.body.start)
    rest = facts.text(Span(after, min(scope.body.end, after + _NEAR)))
    used = re.search(rf"{_word(name)}(?!{_FROM_BELOW})", rest) or re.search(_word(name), rest)
    if used is None or not facts.text(place.span).strip():
        return place.span
    end = rest.find("\n", used.end())
    return Span(start, after + len(rest[: used.end() if end < 0 else end].encode()))


_TAKES = lazy_regex(
    r"^(?:limit|Limit|SetLimit|take|Take|top|Top|setMaxResults|maxResults|first|First|fetchSize)$"
)


def _given_at_once(scope: Scope, facts: Facts) -> Iterator[tuple[str, Placed]]:
    """Yield sizes of a request that no variable holds: `query.limit(toInt(request.query["size"]))`."""
    if not _NAMED.search(facts.text(scope.body)):
        return
    given = {"request", "req", "call", "ctx", "query", "params", "r", "c"}
    for call in facts.within(facts.calls, scope.body):
        if facts.function_of(call) is not scope or _CAST.match(call.method):
            continue
        for each in call.arguments:
            text = each.value.text
            if not (IS_SIZE.match(each.name) or (not each.name and _TAKES.match(call.method))):
                continue
            if len(text) > 200 or not (found := _NAMED.search(text)) or not given & words(text):
                continue
            # A field of what a request was read into may have been checked there.
            is_raw = found[1] is not None or re.search(r"\breq(?:uest)?\.query\.", text) is not None
            if is_raw and only_converts(text) and not has_upper_bound(text, facts):
                name = next(one for one in (each.name, *found.groups()) if one)
                if not _is_limited_anywhere(name, facts) and not _VALIDATED.search(facts.text(scope.body)):
                    yield name, Place(each.value.span)
                    return


def _takes_request(scope: Scope, facts: Facts) -> bool:
    """Return whether a function that is no route reads a request: a parameter, or the one of Flask."""
    if any(_REQUESTS.search(each.type) for each in scope.parameters):
        return True
    if facts.language == "kotlin" and scope.name.startswith("ApplicationCall."):
        return True  # An extension of a call of Ktor.
    is_flask = facts.language == "python" and "flask.request" in facts.imports.names.values()
    return is_flask and bool(scope.name) and "request." in facts.text(scope.body)


def _is_limited_by_callers(scope: Scope, facts: Facts) -> bool:
    """Return whether a function that gets a size from this one limits it."""
    for call in facts.callers_of(scope):
        caller = facts.function_of(call)
        if caller is None:
            continue
        names = {word for name in call.assigned for word in words(name)} - {"err", "_", "const", "let", "var"}
        if any(is_bounded(_word(name), caller, facts) for name in names):
            return True
    return False


def _word(name: str) -> str:
    return rf"(?<![\w.\"'@]){re.escape(name)}\b"


def _is_checked(name: str, place: Placed, scope: Scope, facts: Facts) -> bool:
    """Return whether the head of a function, its body, or a check of the whole request limits a size."""
    text = facts.text(scope.span)
    head, body = text[: len(facts.text(scope.head))], text[len(facts.text(scope.head)) :]
    others = {each.name for each in scope.parameters} - {name}
    own = "".join(part for part in _parts(head) if name in (found := words(part)) or not found & others)
    if has_upper_bound(own, facts) or is_bounded(_word(name), scope, facts):
        return True
    if isinstance(place, Assignment) and has_upper_bound(facts.text(place.span)[:240], facts):
        return True
    around = facts.calls_around(scope)
    given = " ".join(each.value.text for each in around[-1].positional[1:-1]) if around else ""
    return _VALIDATED.search(f"{body} {given}") is not None


def _parts(head: str) -> Iterator[str]:
    """Yield the head of a function cut at the commas between its parameters."""
    depth, start = 0, 0
    for at, sign in enumerate(head):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 1:
            yield head[start:at]
            start = at
    yield head[start:]


_LEVELS = 3
"""Functions of a text through which a size is followed."""


def _is_bounded_inside(word: str, scope: Scope, facts: Facts, levels: int = _LEVELS) -> bool:
    """Return whether a function of this text that is given the size sets a limit."""
    pattern = re.compile(word)
    for call in facts.within(facts.calls, scope.body):
        given = [at for at, each in enumerate(call.arguments) if pattern.search(each.value.text)]
        if not given:
            continue
        for each in facts.functions_named(call.method):
            names = [one.name for one in each.parameters if one.name not in ("self", "cls")]
            if each is not scope and any(
                is_bounded(inner := _word(names[at]), each, facts)
                or (levels > 1 and _is_bounded_inside(inner, each, facts, levels - 1))
                for at in given
                if at < len(names)
            ):
                return True
    return False


def _sizes(scope: Scope, facts: Facts) -> Iterator[tuple[str, Placed]]:
    text = facts.text(scope.span)
    if scope.route is not None:
        yield from _of_parameters(scope, text, facts)
    for decorated in _NEST.finditer(text) if facts.language in JAVASCRIPT else ():
        yield decorated[2], Place(facts.syntax.place_of(decorated, scope.span.start))
    if not _MAY_ASK.search(text):
        return  # What follows reads the values of all variables.
    given = given_words(scope, facts) | {
        each.name for each in scope.parameters if _REQUESTS.search(each.type)
    }
    if "flask.request" in facts.imports.names.values():
        given |= {"request"}
    for found in facts.own(facts.assignments, scope):
        value = "" if found.value is None else found.value.text
        if not value or len(value) > 200 or not found.targets:
            continue
        if found.targets[0][:1] in "{[" and given & words(value):
            # `const { limit = 50, cursor } = req.query`
            if _OF_UPLOAD.search(value):
                continue
            for name in sorted(bound_names(found)):
                if IS_SIZE.match(name) and name != "count":
                    yield name, found
        elif _is_of_foreign(value, scope, facts):
            continue
        elif found.targets[0].isidentifier() and _is_asked(value, given, facts):
            yield found.targets[0], found


_OF_UPLOAD = lazy_regex(
    r"\b(?:files?|upload\w*|headers|attachment|image|blob|stats?)\b(?!\s*\()", re.IGNORECASE
)
"""What has a size of its own: `const { buffer, size } = req.file`."""
_FIELD = lazy_regex(r"(?<![\w.])(\w+)\.\w+")
_MAPS = lazy_regex(r"\w*(Map|Dictionary|Value|Params|Query|QueryCollection|String|str)$")


def _is_of_foreign(value: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a size is a field of a type of another file, which may have a limit there (Rust, C#)."""
    found = _FIELD.search(value) if facts.language in ("rust", "csharp") else None
    if found is None or "unwrap_or(" in value:
        return False
    owner, head = re.escape(found[1]), facts.text(scope.head)
    form = (
        rf"\b{owner}\)?\s*:\s*&?(?:\w+<\s*)*(\w+)"
        if facts.language == "rust"
        else rf"([\w.]+)\??\s+{owner}\b"
    )
    kind = re.search(form, head)
    if kind is None or _REQUESTS.search(kind[1]) or _MAPS.fullmatch(kind[1]):
        return False
    return (
        re.search(rf"\b(?:struct|class|record|interface)\s+{re.escape(kind[1])}\b", facts.whole_text) is None
    )


def _of_parameters(scope: Scope, text: str, facts: Facts) -> Iterator[tuple[str, Placed]]:
    head = text[: len(facts.text(scope.head))] or text
    for each in scope.parameters:
        if not IS_SIZE.match(each.name):
            continue
        part = next((part for part in _parts(head) if each.name in words(part)), "")
        if not _NUMERIC.search(each.type) and not re.search(
            rf"\b{re.escape(each.name)}\s*:\s*[\w\[. ]*\b(?:int|number)\b", part
        ):
            continue
        at = re.search(rf"\b{re.escape(each.name)}\b", head)
        start = scope.span.start
        plain = Span(start, start + len(each.name.encode()))
        yield each.name, Place(facts.syntax.place_of(at, start) if at else plain)


def _is_asked(value: str, given: frozenset[str] | set[str], facts: Facts) -> bool:
    """Return whether a value is what a request gives for a size, itself or by a function of this text."""
    found = _BY_NAME.match(value)
    helpers = () if found is None else facts.functions_named(found[1])
    if helpers:
        names = [each.name for each in helpers[0].parameters]
        text = facts.text(helpers[0].span)
        return (
            not has_upper_bound(text, facts)
            and not re.search(r"\w\s*(>|>=|<=)\s*[\w.]", text)
            and bool(names)
        )
    if "app_data" in value or "app_state" in value:
        return False  # A setting of the server.
    # `{"size": response.size}` states a size.
    if value.startswith("{") or not _NAMED.search(value) or not given & words(value):
        return False
    if _OF_UPLOAD.search(value):
        return False
    own = [each for each in facts.functions_named(*_CALLED.findall(value)) if each.parameters]
    if any(has_upper_bound(facts.text(each.span), facts) for each in own):
        return False
    return only_converts(value) or bool(own)


_CALLED = lazy_regex(r"\b([a-zA-Z_]\w*)\(")


def _is_returned(name: str, scope: Scope, facts: Facts) -> bool:
    pattern = re.compile(name if name.startswith("(?<") else rf"\b{re.escape(name)}\b")
    return any(
        step.kind == "return" and pattern.search(step.text) for step in facts.within(facts.steps, scope.body)
    )


def _is_used(word: str, place: Placed | None, scope: Scope, facts: Facts) -> bool:
    """Return whether the size, or a number made of it, is given to another call."""
    names, pattern = [word], re.compile(word)
    for each in facts.within(facts.assignments, scope.body):
        value = "" if each.value is None else each.value.text
        if 0 < len(value) < 160 and pattern.search(value) and only_converts(value):
            names += [_word(name) for name in bound_names(each) - {"err", "ok", "_"}]
            pattern = re.compile("|".join(names))
    for call in facts.within(facts.calls, scope.body):
        if _CAST.match(call.method):
            continue
        if place is not None and call.span.start <= place.span.start < call.span.end:
            continue
        if any(pattern.search(each.value.text) and each.value.shape != "text" for each in call.arguments):
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
        b"PerPage",
        b"take",
        b"Take",
        b"top",
        b"count",
        b"first",
        b"last",
        b"max_results",
        b"maxResults",
        b"MaxResults",
    ),
)
