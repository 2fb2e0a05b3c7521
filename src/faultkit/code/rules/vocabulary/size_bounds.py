"""Limits from above of a number that a client sends: the smaller of two, a comparison, a declared maximum.

What is asked about is one number, so that a limit of something else in the same function does not count.
"""

from __future__ import annotations

import re
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Scope
from faultkit.code.rules.vocabulary.stores import bound_names

_MIN_CALLS = frozenset(
    (
        "min", "Min", "minOf", "clamp", "Clamp", "coerceAtMost", "coerceIn", "inRange", "clip", "lte",
        "bounded", "least",
    )
)  # fmt: skip
_UPPER = {
    "javascript": lazy_regex(
        r"(?<!Math)\.(?:max|lte?|between)\(|\bmax(?:imum)?\s*:|@(?:Max|Between)\(|maxValue\(|\bLEAST\("
        r"|(?<![.\w])min\(|(?:Math|_)\.(?:min|clamp)\(|[cC]lamp\w*\("
    ),
    "rust": lazy_regex(r"\bmax\s*=|\.min\(|\bmin\(|clamp\(|\bLEAST\("),
    "go": lazy_regex(r"\bmax=|\blte?=|\bmin\(|\bMin\(|[cC]lamp\w*\(|\bLEAST\("),
    "python": lazy_regex(r"\bl[et]\s*=|\bmax\w*\s*=|\bRange\(|\bconint\(|\bmin\(|[cC]lamp\w*\(|\bLEAST\("),
    "java": lazy_regex(
        r"@(?:\w+:)?(?:Max|Range|DecimalMax)\b(?!\(\s*(?:value\s*=\s*)?(?:Integer|Long|Int)\.MAX)|\bmin\(|minOf\("
        r"|coerceAtMost|coerceIn|[cC]lamp\("
    ),
    "csharp": lazy_regex(r"\bRange\((?![^)]*MaxValue)|InclusiveBetween|LessThan|Math\.Min\(|Clamp\(|\[Max\("),
}
_UPPER["kotlin"] = _UPPER["java"]
_NAMED_MAXIMUM = lazy_regex(
    r"\bMAX_\w+|\b[mM]ax(?:imum)?[A-Z_]\w*|\b\w+_MAX\b|\b\w+_max\b|\b\w+(?:Cap|_CAP|Ceiling)\b"
)
_NO_MAXIMUM = lazy_regex(
    r"\b(?:MAX_VALUE|MaxValue|MAX_SAFE_INTEGER|max_?[rR]esults|setMaxResults|SetMaxResults|max_?[lL]en(?:gth)?\w*)\b"
)
_COMPARISON = lazy_regex(r"[\w.]+(?:\([\w., ]*\))?\s*[<>]=?\s*[\w.]+(?:\([\w., ]*\))?")
_CHECKS = lazy_regex(
    r"valid|sanit|normali[sz]|restrict|ensure|check|bound|clamp|(?:^|[._])cap(?:[A-Z_]|$)|schema|paginat|^parse(?:$|_?(?:page|pag|limit))",
    re.IGNORECASE,
)
"""Names of functions that may set a limit."""
_OF_RESULTS = lazy_regex(
    r"len\b|length|[cC]ount\b|total|rows|items|results|offset|\bindex|min|MIN|^[01](?:\.\.)?$|^i$|size\(\)|nil|None|null"
)
_LONGEST = 240


def has_upper_bound(declaration: str, facts: Facts) -> bool:
    """Return whether the declaration of a field or parameter states a maximum."""
    pattern = _UPPER.get(facts.syntax.language.family)
    return pattern is not None and pattern.search(declaration) is not None


def is_bounded(number: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a function limits a number from above, or may give it to something that does.

    `number` is an expression for the variable or the member that holds it."""
    word = _holders(number, scope, facts)
    for call in facts.within(facts.calls, scope.body):
        if call.method in _MIN_CALLS:
            if word.search(facts.text(call.span)[:_LONGEST]) and not _is_schema_minimum(call.written, facts):
                return True
        elif _CHECKS.search(call.method) and call.arguments:
            given = " ".join(each.value.text[:_LONGEST] for each in call.arguments)
            if word.search(given) and _may_limit(call.method, facts):
                return True
    body = facts.text(scope.body)
    if is_compared(word.pattern, body):
        return True
    for line in body.splitlines():
        if word.search(line) and _NAMED_MAXIMUM.search(line):
            rest = _COMPARISON.sub(lambda found: found[0] if word.search(found[0]) else "", line)
            if _NAMED_MAXIMUM.search(_NO_MAXIMUM.sub("", rest)):
                return True
    return False


def _is_schema_minimum(written: str, facts: Facts) -> bool:
    """Return whether `.min(1)` is a limit from below, as in the schemas of zod and Joi."""
    is_script = facts.syntax.language.family == "javascript"
    return is_script and written.endswith(".min") and not written.startswith(("Math.", "_.", "R."))


@lru_cache(maxsize=64)
def _may_limit(name: str, facts: Facts) -> bool:
    """Return whether a function sets a limit: one of another file may."""
    own = facts.functions_named(name)
    upper = _UPPER.get(facts.syntax.language.family)
    return not own or any(
        upper is None or upper.search(text := facts.text(each.span)) or re.search(r"[<>]", text)
        for each in own
    )


_CONVERTS = lazy_regex(
    r"^(?:int|Number|parseInt|parseFloat|Integer|Long|valueOf|Atoi|ParseInt|ParseUint|Itoa|max|Max|maxOf|get\w*|Get\w*|query\w*|Query\w*"
    r"|DefaultQuery|param\w*|Param\w*|FormValue|default\w*|orElse\w*|unwrap\w*|to_?[iI]nt\w*|toInteger|toLong\w*|intValue|coerceAtLeast"
    r"|String|str|trim|strip|parse|ok|and_then|map|Parse|TryParse|[pP]arse_?(?:Int|int|Num|Pos|Nat)\w*|abs|floor|trunc|ceil|Math|as_deref"
    r"|first|firstOrNull|filter|takeIf|let|into|try_into|from|clone|FirstOrDefault|ToString|ValueOf|into_inner|or|or_else|if|int32|int64|uint"
    r"|BigInt|isNaN|safeInt|\w*[iI]nt(?:eger)?|\w*_int|optInt\w*)$"
)
_CALLED = lazy_regex(r"([A-Za-z_]\w*)\s*(?:<[^<>()]*>)?\(")


def only_converts(text: str) -> bool:
    """Return whether an expression is a number or a text that is read and converted, and nothing else."""
    return "await" not in text and all(_CONVERTS.match(name) for name in _CALLED.findall(text))


def _holders(number: str, scope: Scope, facts: Facts) -> re.Pattern[str]:
    """Return an expression for the number and the variables that are made of it."""
    names, word = [number], re.compile(number)
    for each in facts.within(facts.assignments, scope.body):
        value = "" if each.value is None else each.value.text
        if not value or len(value) > _LONGEST or not word.search(value):
            continue
        if not only_converts(value) and not any(each in value for each in _MIN_CALLS):
            continue
        more = [rf"(?<![\w.]){re.escape(name)}\b" for name in bound_names(each) - {"err", "ok", "_"}]
        if each.value is not None and each.value.shape != "function" and more:
            names += more
            word = re.compile("|".join(names))
    return word


_PATTERN = lazy_regex(r"(?<![=-])[<>]=?\s*([\w.:]+)")


def is_compared(word: str, text: str) -> bool:
    """Return whether a text compares a number with a limit, and not with zero or with what was found."""
    for found in re.finditer(
        rf"(?:{word})\)?!?\s*(?:[<>]=?)\s*([\w.:]+(?:\(\))?)|([\w.:]+(?:\(\))?)\s*(?:[<>]=?)\s*\(?(?:{word})",
        text,
    ):
        other = next((each for each in found.groups() if each), "")
        if other and not _OF_RESULTS.search(other):
            return True
    # C#: `limit is > 0 and <= 100`; `limit is > 0` is a limit from below.
    for found in re.finditer(rf"(?:{word})\s+is\b([^\n]{{0,60}})", text):
        if any(not _OF_RESULTS.search(other) for other in _PATTERN.findall(found[1])):
            return True
    return (
        re.search(
            rf"(?:contains|includes|has|Contains|ContainsKey)\(\s*&?(?:{word})"
            rf"|(?:{word})\s+(?:not\s+in|in|!in)\b"
            rf"|\b(?:switch|match)\b\s*\(?\s*(?:{word})",
            text,
        )
        is not None
    )
