"""Values that are named like a secret and are none: flags, names of stored secrets, spent tokens."""

from __future__ import annotations

import re

from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_CLUSTER = TextPattern(
    r"k8s\.io/|from\s+kubernetes|import\s+kubernetes|io\.fabric8|@kubernetes/|\bkube::|KubernetesClient|secretKeyRef"
    r"|secretRef|SecretRef|secretName"
)
"""Texts about Kubernetes, where a field `secret` is the name of an object."""
_STORED = re.compile(r"(?:^|[a-z_.])(?:secrets?|credentials)$", re.IGNORECASE)
_TAKES_NAME = (
    r"(?:get|read|load|fetch|find|lookup|resolve|delete|create|list)\w*(?:secret|credential)\w*"
    r"\([^()]*\b{0}\b"
)
_MISSING_STORED = re.compile(
    r"\b(?:secrets?|credentials?|api keys?)\s+['\"`(]*(?:%[sqv]|\{\w*\}|\$).{0,24}?"
    r"(?:not found|not exist|n't exist|already"
    r"|unknown|must not be (?:nil|empty|null))",
    re.IGNORECASE,
)
_FLAG_VALUES = ("true", "false")
_FLAG_TYPES = frozenset(("bool", "boolean", "Boolean", "int", "Int", "number", "Integer", "usize"))
_NO_MORE_VALID = re.compile(r"Expired|Invalid|BadSignature|BadData|NotFound|DoesNotExist|Malformed|Revoked")
_SPENDS = re.compile(
    r"(?:^|[._])(?:remove|delete|destroy|revoke|consume|invalidate|burn|blacklist)\w*$", re.IGNORECASE
)
_TOKEN = re.compile(r"(?:^|[._])\w*token$", re.IGNORECASE)


_PATH = re.compile(
    r"\b(?:from|file|path|reading|loading|at)\b[\s:='\"`(]*(?:%[sqv]|\{|\$)|\b(?:file|path)\s+['\"`]?(?:%[sqv]|\{|\$)",
    re.IGNORECASE,
)
_KEY = re.compile(r"(?:key|secret|credentials|cert)$", re.IGNORECASE)


def is_no_secret(name: str, call: Call, facts: Facts) -> bool:
    """Return whether a value that is written out is a flag, the name of a stored secret, or empty there."""
    last = name.rpartition(".")[2]
    if not last.isidentifier():
        return False
    scope = facts.named_function_of(call) or facts.function_of(call)
    return (
        _is_flag(name, call, facts)
        or (_KEY.search(last) is not None and _PATH.search(facts.text(call.span)) is not None)
        or is_empty_here(name, call, facts)
        or (scope is not None and _is_reference(last, call, scope, facts))
    )


def _is_flag(name: str, call: Call, facts: Facts) -> bool:
    """Return whether a variable is only ever set to true or false, or is declared as a flag or a number."""
    if not name.isidentifier():
        return False
    for scope in facts.functions_around(call):
        kind = next((each.type for each in scope.parameters if each.name == name), None)
        if kind is not None:
            return kind.strip("?") in _FLAG_TYPES
    made = [each for each in facts.assignments_to(name, call) if name in each.targets]
    return bool(made) and all(each.value is not None and each.value.text in _FLAG_VALUES for each in made)


def _is_reference(last: str, call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a value names a secret that is kept elsewhere: it is looked up, split or a key."""
    text, word = facts.text(scope.body), re.escape(last)
    if re.search(rf"\w\[\s*(?:\w+\.)?{word}\s*\]", text):
        return True
    if _STORED.search(last) is None:
        return False
    return (
        _CLUSTER.is_in(facts.whole_text)
        or _MISSING_STORED.search(facts.text(call.span)) is not None
        or re.search(_TAKES_NAME.format(word), text, re.IGNORECASE) is not None
        or re.search(rf"[sS]plit\w*\(\s*[\w.]*{word}\s*,\s*\"/\"|{word}\.split\(\s*[\"']/", text) is not None
    )


def is_empty_here(name: str, call: Call, facts: Facts) -> bool:
    """Return whether a place is the other branch of `if (token)`, so that the value is empty there."""
    scope = facts.function_of(call)
    arms = [
        arm
        for arm in facts.within(facts.arms, call.span if scope is None else scope.body)
        if arm.place == 1 and is_within(call.span, arm.span)
    ]
    for arm in arms:
        head = facts.text(Span(arm.fork.start, min(arm.fork.end, arm.fork.start + 200)))
        found = re.match(
            rf"(?:if|when)\b\s*\(?\s*{re.escape(name)}\s*"
            r"(?:(?:!=|!==|is not)\s*(?:null|undefined|None|nil|\"\"|''))?\s*[){:]",
            head,
        )
        if found is not None:
            return True
    return False


def is_spent(name: str, call: Call, facts: Facts) -> bool:
    """Return whether a token was refused as invalid or expired, or its record was removed before."""
    if _TOKEN.search(name) is None:
        return False
    for handler in facts.handlers_around(call):
        if handler.types and all(map(_NO_MORE_VALID.search, handler.types)):
            return True
    scope = facts.function_of(call)
    return scope is not None and any(
        each.span.end < call.span.start
        and (each.is_awaited or each.is_discarded)
        and _SPENDS.search(each.method)
        and "token" in each.written.lower()
        for each in facts.within(facts.calls, scope.body)
    )
