"""Finds regular expressions that a client of the service may choose."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.rule import CSHARP, JAVA, JAVASCRIPT, KOTLIN, LIKELY, PYTHON, Hit, Rule

_COMPILES = frozenset(
    (
        "re.compile", "re.search", "re.match", "re.fullmatch", "re.findall", "re.finditer", "re.sub",
        "RegExp", "java.util.regex.Pattern.compile", "Pattern.compile", "java.util.regex.Pattern.matches",
        "Pattern.matches", "Regex", "System.Text.RegularExpressions.Regex", "Regex.IsMatch", "Regex.Match",
        "Regex.Replace", "kotlin.text.Regex",
    )
)  # fmt: skip
_SECOND = frozenset(("Regex.IsMatch", "Regex.Match", "Regex.Replace"))
_ESCAPED = re.compile(r"escape|quote|Escape|QUOTE|LITERAL", re.IGNORECASE)
_REQUEST = re.compile(
    r"\b(req|request|ctx|event|call)\b[\w.?!()]*(query|body|params|args|GET|POST|form|json|queryParameters|Query)",
)


def _check(facts: Facts) -> Iterator[Hit]:
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
    languages=(*PYTHON, *JAVASCRIPT, *JAVA, *KOTLIN, *CSHARP),
    check=_check,
    words=(b"re.", b"RegExp", b"Pattern", b"Regex"),
)
