"""Finds regular expressions that clients of the service may choose, or its users store."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, JAVA, JAVASCRIPT, KOTLIN, LIKELY, PYTHON, RUST, Hit, Rule

_COMPILES = frozenset(
    (
        "re.compile", "re.search", "re.match", "re.fullmatch", "re.findall", "re.finditer", "re.sub",
        "RegExp", "java.util.regex.Pattern.compile", "Pattern.compile", "java.util.regex.Pattern.matches",
        "Pattern.matches", "Regex", "System.Text.RegularExpressions.Regex", "Regex.IsMatch", "Regex.Match",
        "Regex.Replace", "kotlin.text.Regex", "Regex.Matches", "Regex.Split",
    )
)  # fmt: skip
_SECOND = frozenset(("Regex.IsMatch", "Regex.Match", "Regex.Replace", "Regex.Matches", "Regex.Split"))
_ESCAPED = lazy_regex(r"escape|quote|Escape|QUOTE|LITERAL", re.IGNORECASE)
_REQUEST = lazy_regex(
    r"\b(req|request|ctx|event|call)\b[\w.?!()]*(query|body|params|args|GET|POST|form|json|queryParameters|Query)",
)


_STORED = lazy_regex(
    r"(?<![\w.])(?P<item>[a-z]\w*)(?:\.|\[['\"])\w*(?:[pP]attern|[rR]egexp?|[eE]xpression)(?:['\"]\])?(?:\(\))?$"
)
_SETTINGS = lazy_regex(
    r"^(?:this|self|config\w*|cfg|opts?|options|settings|args|argv|env|props|schema|node)$", re.I
)
_OF_OTHERS = lazy_regex(
    r"\b\w*(?:tenant|customer|merchant|moderator|workspace|subscriber|organi[sz]ation_?id|account_?id|user_?id)",
    re.IGNORECASE,
)
"""Words of a text whose rows belong to many users."""
_WITHOUT_END = lazy_regex(r"(?:usize|u32|u64|isize)::MAX|[\d_]{9,}")


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language == "rust":
        # The engine of `regex` takes linear time; those that go back have a limit of their own.
        for call in facts.calls_of_method("backtrack_limit", "match_limit"):
            if call.positional and _WITHOUT_END.fullmatch(call.positional[0].value.text):
                what = f"{call.method}({call.positional[0].value.text}) lets a pattern take any time"
                yield Hit(Span(call.callee.end - len(call.method), call.span.end), what, LIKELY)
        return
    for call in facts.calls:
        if call.name not in _COMPILES:
            continue
        given = call.argument(place=1 if call.name in _SECOND else 0)
        if given is None or given.value.shape == "text" or _ESCAPED.search(given.value.text):
            continue
        if call.has("timeout", "matchTimeout") or (facts.language == "csharp" and _has_limit(call)):
            continue
        route = facts.route_of(call)
        if route is not None and _is_of_client(given.value.text, call, route, facts):
            yield Hit(call.span, f"{given.value.text} of a client is compiled as a pattern", LIKELY)
        elif route is None and _is_of_users(given.value.text, call, facts):
            what = f"{given.value.text}, which users write, is compiled as a pattern without a limit of time"
            yield Hit(call.span, what, LIKELY, "medium")


@lru_cache(maxsize=4)
def _has_others(facts: Facts) -> bool:
    return _OF_OTHERS.search(facts.whole_text) is not None


def _is_of_users(text: str, call: Call, facts: Facts) -> bool:
    """Return whether a pattern is a field of an item that users store: `rule.Pattern` of a tenant's rules."""
    found = _STORED.match(text)
    if found is None or _SETTINGS.match(found["item"]) or not _has_others(facts):
        return False
    names = {each.name for scope in facts.functions_around(call) for each in scope.parameters}
    scope = facts.named_function_of(call)
    loops = () if scope is None else facts.within(facts.loops, scope.body)
    names |= {word for loop in loops for each in loop.targets for word in re.findall(r"\w+", each)}
    return found["item"] in names


def _has_limit(call: Call) -> bool:
    return any(
        "TimeSpan" in each.value.text or "NonBacktracking" in each.value.text for each in call.positional
    )


def _is_of_client(text: str, call: Call, route: Scope, facts: Facts) -> bool:
    if _REQUEST.search(text):
        return True
    for name in re.findall(r"(?<![\w.\"'])[A-Za-z_]\w*(?![\w(])", text):
        if facts.language in ("python", "java", "kotlin", "csharp") and any(
            each.name == name and each.type.rpartition(".")[2] in ("str", "String", "string")
            for each in route.parameters
        ):
            return True
        for each in facts.within(facts.assignments, route.body):
            # `const { q } = req.query` has one target.
            value = "" if each.value is None else each.value.text
            named = any(name in re.findall(r"\w+", target) for target in each.targets)
            if named and _REQUEST.search(value) and not _ESCAPED.search(value):
                return True
    return False


RULE = Rule(
    id="FK-R136",
    slug="pattern-from-request",
    title="Regular expression chosen by a client",
    why="A pattern such as (a+)+$ takes hours on a short text: one request holds a thread or the event loop.",
    fix="Escape the text (re.escape, Pattern.quote), search for plain text, or use an engine like RE2.",
    kind="reliability",
    severity="high",
    languages=(*PYTHON, *JAVASCRIPT, *JAVA, *KOTLIN, *CSHARP, *RUST),
    check=_check,
    words=(b"re.", b"RegExp", b"Pattern", b"Regex", b"_limit"),
)
