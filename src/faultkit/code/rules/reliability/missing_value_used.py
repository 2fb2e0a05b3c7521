"""Finds results of lookups that are used though they may not be there.

A write to a map that is never made is shown. Whether a record can be missing mostly shows elsewhere: in a key
that the database checks, or in code that ran before. So the others are counted only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Place, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CERTAIN, EVERY_LANGUAGE, JAVASCRIPT, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.remote_calls import chain_of, sql_calls
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_PYTHON = frozenset(
    (
        "first",
        "one_or_none",
        "scalar_one_or_none",
        "fetchone",
        "find_one",
        "scalars_first",
        "get_or_none",
        "fetchrow",
    )
)
_ORM = lazy_regex(
    r"^(findOne|findById|findByPk|findUnique|findFirst|findOneBy|findOneAndUpdate|findByIdAndUpdate)$"
)
_CSHARP = lazy_regex(
    r"^(FirstOrDefault|SingleOrDefault|Find|LastOrDefault|QueryFirstOrDefault|QuerySingleOrDefault)(Async)?$"
)
_JAVA_OPTIONAL = lazy_regex(r"^(find\w*|findFirst|findAny|max|min|reduce|getBy\w+|get\w*ById|load\w*)$")
_ALWAYS = lazy_regex(
    r"\b(count|sum|max|min|avg|exists|coalesce|nextval|version|last_insert_\w+|pg_\w+|currval|total)\s*\(|\bRETURNING\b"
    r"|\bINSERT\b|information_schema|LAST_INSERT_ID",
    re.IGNORECASE,
)
"""Statements that always have a row."""
_GO_KEYED = TextPattern(r"\b(\w+)\[\"[\w.-]+\"\]\.\((\w[\w.]*|\[\]\w+|map\[\w+\][\w{}]+)\)")
_GO_SPLIT = TextPattern(r"\bstrings\.(Split|SplitN|Fields)\(([^()\n]*(?:\([^()\n]*\))?[^()\n]*)\)\[([1-9])\]")
_OUTSIDE = lazy_regex(
    r"header|auth|token|cookie|bearer|body|payload|msg|message|line|input|query|param|addr", re.IGNORECASE
)
_CLAIMS = lazy_regex(r"claims$|^(payload|event|msg|message|body)$", re.IGNORECASE)
_GO_GUARDS = lazy_regex(r"strings\.(Contains|HasPrefix|Count|Index)\(|regexp")


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language == "go":
        yield from _go_maps(facts)
        yield from _go_input(facts)
    elif facts.language == "java":
        yield from _optionals(facts)
    elif facts.language == "kotlin":
        yield from _kotlin(facts)
    elif facts.language != "rust":
        yield from _rows(facts)


# Python, JavaScript, C#: a row that may be none.


def _rows(facts: Facts) -> Iterator[Hit]:
    always = {each.call for each in sql_calls(facts) if _ALWAYS.search(each.sql)}
    for call in facts.calls:
        if not _may_be_none(call, facts):
            continue
        if _has_row(call, always, facts):
            continue
        if not call.assigned:
            if _is_used_at_once(call, facts):
                yield Hit(
                    call.span, f"what {call.written}() finds is used, though it may find nothing", POSSIBLE
                )
            continue
        name, scope = call.assigned[0], facts.function_of(call)
        if scope is None or not name.isidentifier() or len(call.assigned) > 1:
            continue
        later = facts.text(Span(call.span.end, scope.body.end))
        use = re.search(rf"(?<![\w.\"'`]){name}(?=\.\w|\[)", later)
        if use is None or _is_checked(name, facts.text(scope.body), facts):
            continue
        if not _is_of_caller(call, name, later, facts):
            continue
        what = f"{name} is used, though {call.written}() may find nothing"
        yield Hit(facts.syntax.place_of(use, call.span.end), what, POSSIBLE)


_REQUIRED = lazy_regex(r"require\b|rejectOnEmpty|OrFail|orFail|OrThrow")


def _is_of_caller(call: Call, name: str, later: str, facts: Facts) -> bool:
    """Return whether a caller gives the key, so that it may be that of nothing.

    A lookup with an option such as `rejectOnEmpty` raises by itself. Bookshelf, whose rows are read by
    `row.get('id')`, has that option elsewhere.
    """
    text = " ".join(facts.text(each.span) for each in (call, *chain_of(call)))
    if _REQUIRED.search(text) or re.search(rf"\b{name}\.(get|related)\(", later):
        return False
    if facts.route_of(call) is not None or re.search(r"\b(req|request)\.", text):
        return True
    given = {each.name for scope in facts.functions_around(call) for each in scope.parameters}
    given -= {"self", "cls", "session", "db", "conn", "ctx", "ct", "options", "cancellationToken"}
    return any(re.search(rf"(?<![\w.\"'`]){re.escape(each)}\b", text) for each in given if each)


_OF_PAIRS = lazy_regex(r"\b(\w+)\s*=>\s*\1\.Key\b")
"""The pairs of a dictionary are values: an empty one, never null (C#)."""


def _may_be_none(call: Call, facts: Facts) -> bool:
    if facts.language == "python":
        is_row = call.method in _PYTHON and (call.method != "first" or "()" in call.name)
        return is_row and not call.is_returned
    if facts.language in JAVASCRIPT:
        return _ORM.match(call.method) is not None and call.is_awaited and not call.is_returned
    if call.method[:5] in ("First", "Singl", "LastO") and _OF_PAIRS.search(facts.text(call.span)):
        return False
    if facts.syntax.source[call.span.end : call.span.end + 120].lstrip(b") \r\n\t").startswith(b"??"):
        return False
    return (
        _CSHARP.match(call.method) is not None
        and (call.is_awaited or not call.method.startswith("Find"))
        and len(call.positional) > 0
        and (len(call.positional) == 1 or call.method.endswith("Async"))  # A second one is the default.
        and not call.is_returned
    )


def _has_row(call: Call, always: set[Call], facts: Facts) -> bool:
    """Return whether the statement before gives a row in any case: `SELECT count(*) …`."""
    if call.method not in ("fetchone", "fetchrow", "first"):
        return False
    scope = facts.function_of(call)
    return (
        call in always
        or any(facts.function_of(each) is scope for each in always)
        or (
            call.method == "fetchone"
            and scope is not None
            and not any(facts.function_of(each.call) is scope for each in sql_calls(facts))
        )
    )


def _is_used_at_once(call: Call, facts: Facts) -> bool:
    after = facts.syntax.source[call.span.end : call.span.end + 2]
    if facts.language == "python":
        return after[:1] in (b"[", b".") and not any(
            "AttributeError" in kind or "TypeError" in kind
            for each in facts.tries_around(call)
            for handler in each.handlers
            for kind in (*handler.types, *(["TypeError"] if handler.is_broad else []))
        )
    return False


def _is_checked(name: str, text: str, facts: Facts) -> bool:
    word = rf"(?<![\w.]){name}\b"
    patterns = [
        rf"!\s*{word}(?!\.)",
        rf"{word}\s*(===?|!==?|\?\?|\?\.|\|\||&&|\?\s|is\b|and\b|or\b|\?\[)",
        rf"\b(if|while|elif|and|or|not|assert|unless|&&|\|\|)\s*\(?\s*(not\s+)?{word}\s*([):&|]|and\b|or\b|else\b|$|\n)",
        rf"(===?|!==?)\s*{word}",
        rf"(assert|expect|require|check|ensure|invariant|NotNull|IsNull|ThrowIf|guard|authori[sz]e|bool|Boolean|Guard|Ensure|must)\w*\.?\w*"
        rf"\(\s*[^()\n]*{word}",
        rf"\bin {word}|\bfor\b[^\n]*\bof {word}",
    ]
    if facts.language == "python":
        patterns.append(r"except\s*\(?[^:\n]*(AttributeError|TypeError)")
    return any(re.search(each, text, re.MULTILINE) for each in patterns)


# Java and Kotlin.


def _optionals(facts: Facts) -> Iterator[Hit]:
    """Yield `repository.findById(id).get()`."""
    for call in facts.calls_of_method("get", "getAsInt", "getAsLong"):
        made = call.origin
        if (
            made is None
            or call.arguments
            or not _JAVA_OPTIONAL.match(made.method)
            or not call.name.endswith(f"{made.method}().get")
        ):
            continue
        scope = facts.function_of(call)
        if made.is_awaited or scope is None or "Future" in made.name or "Async" in made.method:
            continue
        is_optional = (
            made.method in ("findFirst", "findAny", "max", "min", "reduce") and "stream" in made.name
        )
        is_store = re.search(r"([rR]epo(sitory)?|[dD]ao|[sS]tore|[sS]ervice)$", made.receiver) is not None
        if not (is_optional or (is_store and made.method.startswith("find"))):
            continue
        text = facts.text(scope.body)
        if re.search(r"isPresent\(\)|isEmpty\(\)|ifPresent", text):
            continue
        yield Hit(call.span, f"{call.written}() throws when {made.method}() finds nothing", POSSIBLE)


_FINDS = lazy_regex(r"find\w*|\w+OrNull|getBy\w*")


def _kotlin(facts: Facts) -> Iterator[Hit]:
    """Yield `repository.findByIdOrNull(id)!!`."""
    yield from _optionals(facts)
    for call in facts.calls_with_method(_FINDS.match):
        end = facts.syntax.source[call.span.end : call.span.end + 2]
        if end == b"!!" and re.search(
            r"([rR]epo(sitory)?|[dD]ao|[sS]tore|[cC]lient|[sS]ervice)s?$", call.receiver
        ):
            yield Hit(call.span, f"{call.written}() may find nothing, and !! throws then", POSSIBLE)


# Go.


def _go_maps(facts: Facts) -> Iterator[Hit]:
    """Yield writes to maps that were never made."""
    written = {each.targets[0] for each in facts.assignments if each.targets}
    declared = [
        each
        for each in facts.assignments
        if each.type == "map" and each.value is None and f"{each.targets[0]}[]" in written
    ]
    if not declared:
        return
    made = {
        target
        for each in facts.assignments
        if each.value is not None or each.operator == ":="
        for target in each.targets
    }
    for each in declared:
        name = each.targets[0]
        field = name.removeprefix("self.")
        is_field = name.startswith("self.")
        if name in made or (is_field and any(one.endswith(f".{field}") for one in made)):
            continue
        if is_field and (not _is_made_here(each.owner, facts) or _is_in_literal(field, facts)):
            continue
        if not is_field and (each.scope is None or re.search(rf"&{name}\b", facts.text(each.scope.body))):
            continue
        for write in facts.assignments:
            if write.targets[:1] == (f"{name}[]",) and (is_field or write.scope is not None):
                if not is_field and each.scope not in (write.scope, *facts.functions_around(write)):
                    continue
                if re.search(rf"\b{field}\s*==\s*nil|json|yaml|Unmarshal|Decode", facts.whole_text):
                    break
                yield Hit(write.span, f"{field} is never made: writing to a nil map panics", CERTAIN)
                break


def _is_in_literal(field: str, facts: Facts) -> bool:
    """Return whether a literal of a struct, or another call, is given a value by this name."""
    source, word = facts.syntax.source, field.encode()
    # To read arguments takes long.
    inside = (call for call in facts.calls if source.find(word, *call.span) >= 0)
    return any(argument.name == field for call in inside for argument in call.arguments)


def _is_made_here(owner: str, facts: Facts) -> bool:
    """Return whether this text makes values of a struct, all of them by name."""
    made = [call for call in facts.calls if call.name == owner and call.constructs]
    return bool(made) and not any(call.positional for call in made)


def _go_input(facts: Facts) -> Iterator[Hit]:
    """Yield `m["id"].(string)` and `strings.Split(header, " ")[1]`, which panic on other input."""
    text, seen = facts.whole_text, set[Scope]()
    for found in _GO_KEYED.finditer(text) if '"].(' in text else ():
        line_start = text.rfind("\n", 0, found.start()) + 1
        before = text[line_start : found.start()]
        if re.search(r"\b\w+,\s*\w+\s*:?=\s*[\w.]*$|switch|//", before):
            continue
        span = facts.syntax.place_of(found)
        scope = facts.function_of(Place(span))
        if scope is None or scope in seen:
            continue
        read = re.search(rf"(Unmarshal|Decode|Bind\w*)\([^\n]*&{found[1]}\b", facts.text(scope.body))
        if read is None and not _CLAIMS.search(found[1]):
            continue
        seen.add(scope)
        what = f"{found[0]} panics when the value is missing or of another type"
        yield Hit(span, what, POSSIBLE)
    for found in _GO_SPLIT.finditer(text) if ")[" in text else ():
        span = facts.syntax.place_of(found)
        scope = facts.function_of(Place(span))
        if not _OUTSIDE.search(found[2]) or scope is None or _GO_GUARDS.search(facts.text(scope.body)):
            continue
        yield Hit(span, f"{found[0]} panics when the text has fewer parts", POSSIBLE)


RULE = Rule(
    id="FK-R138",
    slug="missing-value-used",
    title="Value used that may be missing",
    why="A record that was deleted, or an input without the field, ends the request with an error that says "
    "nothing, or ends the process.",
    fix="Check for the missing value and answer it: not found, bad request, or an error that names the key.",
    kind="reliability",
    severity="medium",
    languages=tuple(each for each in EVERY_LANGUAGE if each != "rust"),
    check=_check,
    words=(
        b"first", b"First", b"find", b"Find", b"fetch", b"one_or_none", b"OrNull", b"OrDefault", b"map[",
        b".(", b"Split", b"get_or_none", b".get()", b"Fields(",
    ),
)  # fmt: skip
