"""Sizes of pages that clients choose, as the types and schemas of a text declare them.

A field without a maximum counts if a request is read into its type. What limits it afterwards is asked of
`size_bounds`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Place, Scope
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.brackets import end_of_bracket
from faultkit.code.rules.vocabulary.size_bounds import has_upper_bound, is_compared
from faultkit.code.rules.vocabulary.stores import bound_names
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

SIZE = (
    r"(?:(?:page|row|item|result)_?limit|limit|page_?size|page_?length|(?:rows_?|items_?)?per_?page|max_?(?:results|items|rows"
    r"|records|hits|count)|num_?results|take|top|batch_?size)"
)
"""Names of sizes of pages, in any case."""
IS_SIZE = lazy_regex(rf"^(?:{SIZE}|size|count|first)$", re.IGNORECASE)
_NUMBER = lazy_regex(
    r"\b(?:int|Int|Integer|long|Long|short|Short|[iu](?:8|16|32|64)|usize|u?int(?:16|32|64)?|number|Number|float|NonNegativeInt"
    r"|PositiveInt|PositiveInteger)\b"
)
_REQUESTED = (
    r"(?:Quer|Param|Request|Req\b|Filter|Pag(?:e|ing|ination)|Search|Input|Args|Criteria|Dto|DTO|Form)"
)
_TYPE = TextPattern(
    # A word boundary at the start would be asked for at each character.
    r"(?:c(?<!\wc)lass|s(?<!\ws)truct|r(?<!\wr)ecord|t(?<!\wt)ype)"
    rf"\s+((?=[A-Za-z])\w*?{_REQUESTED}\w*)(?:<[^<>{{}}()\n]*>)?([^\n{{(;]*)([{{(:]?)"
)
"""The beginning of a type that holds what a request asks for, by its name."""
_FIELD = lazy_regex(rf"(?<![\w.])({SIZE}|size|count|first)\b", re.IGNORECASE)
_HAS_FIELD = TextPattern(_FIELD.pattern, re.IGNORECASE)


_READ_INTO = lazy_regex(
    r"\b(?:Deserialize\w*|InputObject|FromQuery|FromForm|IntoParams|SimpleObject)\b[^{}]*$"
)
_ABOVE = 400
"""Bytes before a type of Rust in which its attributes stand: a request is read only into some types."""


@dataclass(frozen=True, slots=True)
class SizeField:
    """A field of a declared type that holds the size of a page, and states no maximum."""

    owner: str
    name: str
    place: Span


def size_fields(facts: Facts) -> Iterator[SizeField]:
    """Yield fields for sizes without a maximum, of types that hold what a request asks for."""
    text = facts.whole_text
    for declared in _TYPE.finditer(text):
        if facts.language == "rust" and not _READ_INTO.search(text[: declared.start()][-_ABOVE:]):
            continue
        start, end = _body(declared, text, facts)
        # Most types have no such field, which is seen faster.
        for found in _FIELD.finditer(text, start, end) if _HAS_FIELD.is_in(text[start:end]) else ():
            line = _declaration(found, start, end, text, facts)
            if not line or has_upper_bound(line, facts):
                continue
            if not _is_limited_in_type(found[1], text[start:end], facts):
                yield SizeField(declared[1], found[1], facts.syntax.place_of(found))


def named_fields(facts: Facts) -> Iterator[tuple[SizeField, Scope]]:
    """Yield fields for sizes, each with every function that names its type: handlers, and what has a name."""
    fields = [*size_fields(facts)]
    owners = {field.owner for field in fields}
    naming: dict[str, list[Scope]] = {}
    for scope in facts.scopes if fields else ():
        if scope.is_anonymous and scope.route is None:
            continue
        for owner in owners.intersection(_WORD.findall(f"{facts.text(scope.head)} {facts.text(scope.body)}")):
            naming.setdefault(owner, []).append(scope)
    for field in fields:
        yield from ((field, scope) for scope in naming.get(field.owner, ()))


_WORD = lazy_regex(r"\w+")


def _body(declared: re.Match[str], text: str, facts: Facts) -> tuple[int, int]:
    """Return where the fields of a type begin and end, those of its constructor included."""
    if facts.language == "python":
        indent = len(text[text.rfind("\n", 0, declared.start()) + 1 : declared.start()])
        later = re.compile(rf"^[ \t]{{0,{indent}}}\S", re.MULTILINE).search(text, declared.end())
        return declared.end(), len(text) if later is None else later.start()
    opening = declared[3]
    if opening not in ("{", "("):
        found = re.compile(r"[{(;]").search(text, declared.end())
        if found is None or found[0] == ";" or found.start() - declared.end() > 200:
            return declared.end(), declared.end()
        opening, start = found[0], found.end()
    else:
        start = declared.end()
    end = end_of_bracket(text, start, "}" if opening == "{" else ")")
    if end is None:
        return start, start
    if opening == "(" and (block := re.compile(r"\)[^{};\n]*\{").match(text, end)):
        end = end_of_bracket(text, block.end(), "}") or end
    return start, end


def _declaration(found: re.Match[str], start: int, end: int, text: str, facts: Facts) -> str:
    """Return the declaration of a field with its annotations; empty if it declares no number."""
    name = re.escape(found[1])
    begin, after = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
    after = end if after < 0 else min(after, end)
    begin = max(begin, start)
    line = text[begin:after]
    # Fields on one line: `record Query(int page, int size)`.
    parts = re.split(r",(?![^()]*\))", line) if facts.language in ("java", "csharp", "kotlin") else [line]
    for part in parts:
        if re.search(rf"(?<![\w.]){name}\b", part):
            own = part
            break
    else:
        own = line
    if facts.language == "go":
        # Without a tag, no library reads a request into the field.
        pattern = rf"^\s*{name}\s+\*?u?int\w*\s+`"
    elif facts.language in ("java", "csharp"):
        pattern = rf"[\w?>\]]\s+{name}\s*(?:[;,=){{]|$)"
    else:
        pattern = rf"(?<![\w.]){name}[?!]?\s*[:=]"
    if not re.search(pattern, own):
        return ""
    if facts.language == "python" and own.count("(") > own.count(")"):
        closing = end_of_bracket(text, text.find("(", found.end()) + 1, ")")
        own = text[begin : closing or after]
    above = list[str]()
    for each in reversed(text[start:begin].splitlines()):
        bare = each.strip()
        if not bare.startswith(("@", "[", "#[", "//", "*", "/*")):
            break
        above.append(bare)
    return "\n".join((*reversed(above), own)) if _NUMBER.search(own) else ""


def _is_limited_in_type(name: str, body: str, facts: Facts) -> bool:
    """Return whether the type checks the field itself: in a setter, a validator or its constructor."""
    if is_compared(rf"\b{re.escape(name)}", body) or is_compared(r"\bvalue", body):
        return True
    if re.search(rf"valid\w*\(\s*[\"']{re.escape(name)}[\"']", facts.whole_text):
        return True
    rules = re.search(rf"RuleFor\([^\n]*\.{re.escape(name)}\)[^;]*", facts.whole_text)
    if rules is not None and has_upper_bound(rules[0], facts):
        return True
    lines = [line for line in body.splitlines() if re.search(rf"\b{re.escape(name)}\b|\bvalue\b", line)]
    return any(
        re.search(r"\b(?:min|Min|coerce\w+|clamp|Clamp)\(", re.sub(r"@(?:\w+:)?Min\(", "", line))
        for line in lines
    )


def holders_of(owner: str, scope: Scope, facts: Facts) -> tuple[str, ...]:
    """Return the names in a function that hold a value of a type: parameters, and variables of it."""
    head = facts.text(scope.head)
    names = [
        each
        for found in re.finditer(
            rf"(\w+)\s*\)?\s*:\s*[^,:=]*\b{owner}\b|\b{owner}\b[>\]?&*\s]*\s(\w+)\s*[,)=]", head
        )
        for each in found.groups()
        if each
    ]
    if facts.language == "go":
        names += re.findall(rf"(\w+)\s+\*?(?:\w+\.)?{owner}\b", head)
    for each in facts.within(facts.assignments, scope.body):
        if owner in (text := facts.text(each.span)) and re.search(rf"\b{owner}\b", text[:200]):
            names += bound_names(each)
    return tuple(dict.fromkeys(names))


def reads_of(field: SizeField, scope: Scope, facts: Facts) -> Iterator[tuple[str, Placed]]:
    """Yield expressions for the member that holds a size in a function, each with its first place."""
    names = holders_of(field.owner, scope, facts)
    if not names:
        return
    getter = f"get{field.name[:1].upper()}{field.name[1:]}"
    # `query.limit`, `query.0.limit`, `query.into_inner().limit`, `query.size()`, `query.getSize()`
    holder = "|".join(map(re.escape, names))
    word = (
        rf"(?<![\w.])(?:{holder})(?:\.0|\.into_inner\(\)|[?!])*[.](?:{re.escape(field.name)}|{getter})\b"
        r"(?:\(\))?"
    )
    found = re.search(word, facts.text(scope.body))
    if found is not None:
        yield word, Place(facts.syntax.place_of(found, scope.body.start))


# Schemas of JavaScript, and fields of marshmallow.

_SCHEMA_FIELD = {
    "javascript": TextPattern(
        rf"(?<![\w.])[\"']?({SIZE}|size|first)[\"']?\s*:\s*(?:(?:z|zod|Joi|joi|[yY]up|v|t|T|Type|S|vine|s)\.\w|\{{\s*type\s*:\s*['\"](?:integer|number)['\"])",
        re.IGNORECASE,
    ),
    "python": TextPattern(
        rf"(?<![\w.])[\"']?({SIZE}|size|first)[\"']?\s*[:=]\s*(?:\w+\.)?fields\.(?:Int|Integer)\(",
        re.IGNORECASE,
    ),
}
_IS_NUMBER = lazy_regex(r"[nN]umber|[iI]nt|coerce|Numeric|transform|Number")
_UNKNOWN = lazy_regex(
    r"\.(?:refine|superRefine|transform|pipe|custom|valid|oneOf|enum|length)\(|\benum\s*:|oneOf|\bliteral"
)
_FROM_QUERY = TextPattern(
    r"\.query\b|searchParams|query_?string|[qQ]uery[sS]chema|req\.query|\bquery\s*:|location=[\"']query|request\.args|query_args"
)
_TAKES = TextPattern(
    r"\.(?:limit|take|first|fetchSize|perPage|Limit)\(|\b(?:take|limit|first|pageSize|Limit|maxResults)\s*[:,]|\bLIMIT\b|\blimit\s+\$",
)


def schema_fields(facts: Facts) -> Iterator[tuple[str, Span]]:
    """Yield fields for sizes without a maximum, of schemas that a query of a request is read with."""
    pattern = _SCHEMA_FIELD.get(facts.syntax.language.family)
    if pattern is None:
        return
    text = facts.whole_text
    for found in pattern.finditer(text):
        declaration = _expression(text, found.end(1))
        if has_upper_bound(declaration, facts) or _UNKNOWN.search(declaration):
            continue
        if not _IS_NUMBER.search(declaration) or not _FROM_QUERY.search(text) or not _TAKES.search(text):
            continue
        if _is_documented(declaration, text) or _is_of_output(found, text):
            continue
        yield found[1], facts.syntax.place_of(found)


_VALIDATES = TextPattern(r"querystring|fastify|[aA]jv")
_OF_PAGE = lazy_regex(
    r"(?<![\w.])[\"']?(?:page|offset|skip|cursor|after|before|sort\w*|order\w*|q|query|search|filter\w*|from|start)[\"']?\s*:",
    re.IGNORECASE,
)
_OUTPUT = lazy_regex(r"\b(?:output|response|returns|result|reply)\w*[\"']?\s*[(:=]\s*", re.IGNORECASE)


def _is_documented(declaration: str, text: str) -> bool:
    """Return whether a schema in JSON only describes a parameter, and no library of the file reads it."""
    return re.match(r"[\"']?\s*:\s*\{", declaration) is not None and not _VALIDATES.search(text)


def _is_of_output(found: re.Match[str], text: str) -> bool:
    """Return whether a field describes what is answered, or is the size of one thing."""
    start = _opening(text, found.start())
    if found[1].lower() in ("size", "first", "top", "take"):
        end = end_of_bracket(text, start, "}") or found.end()
        if not _OF_PAGE.search(text[start:end]):
            return True
    before = start
    for _ in range(6):
        if before <= 0:
            return False
        line = text[text.rfind("\n", 0, before) + 1 : before]
        if _OUTPUT.search(line):
            return True
        before = _opening(text, before - 1)
    return False


def _opening(text: str, at: int) -> int:
    """Return the place behind the bracket that is open at a place; 0 if there is none."""
    depth = 0
    for place in range(at - 1, max(-1, at - 4000), -1):
        sign = text[place]
        depth += (sign in ")]}") - (sign in "([{")
        if depth < 0:
            return place + 1
    return 0


def _expression(text: str, start: int) -> str:
    """Return the text up to the comma, the bracket or the line that ends an expression."""
    depth = 0
    for at in range(start, min(len(text), start + 600)):
        sign = text[at]
        depth += (sign in "([{") - (sign in ")]}")
        if depth < 0 or (sign == "," and depth == 0) or (sign == ";" and depth == 0):
            return text[start:at]
    return text[start : start + 600]


# Classes of Django REST framework.

_PAGINATION = TextPattern(
    r"\bclass\s+\w+\((?:\w+\.)*(PageNumberPagination|LimitOffsetPagination|CursorPagination)\)\s*:"
)


def pagination_classes(facts: Facts) -> Iterator[tuple[str, Span]]:
    """Yield paginations of Django REST framework that let a client choose any size."""
    if facts.language != "python" or b"Pagination" not in facts.syntax.source:
        return
    text = facts.whole_text
    for found in _PAGINATION.finditer(text):
        start, end = _body(found, text, facts)
        body = text[start:end]
        if found[1] == "LimitOffsetPagination":
            word, most = re.search(r"\bdefault_limit\b", body), "max_limit"
        else:
            word, most = re.search(r"\bpage_size_query_param\s*=\s*[\"']", body), "max_page_size"
        if word is not None and not re.search(rf"\b{most}\s*=\s*(?!None)", body):
            at = len(text[:start].encode())
            yield word[0].partition("=")[0].strip(), facts.syntax.place_of(word, at)
