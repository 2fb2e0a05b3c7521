"""Values that are named like a secret and are none: flags, names of stored secrets, spent tokens."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.facts.fact_values import Arm
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.telling_types import telling_types
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_CLUSTER = TextPattern(
    r"k8s\.io/|from\s+kubernetes|import\s+kubernetes|io\.fabric8|@kubernetes/|\bkube::|KubernetesClient|secretKeyRef"
    r"|secretRef|SecretRef|secretName"
)
"""Texts about Kubernetes, where a field `secret` is the name of an object."""
_STORED = lazy_regex(r"(?:^|[a-z_.])(?:secrets?|credentials)$", re.IGNORECASE)
_TAKES_NAME = (
    r"(?:get|read|load|fetch|find|lookup|resolve|delete|create|list)\w*(?:secret|credential)\w*"
    r"\([^()]*\b{0}\b"
)
_MISSING_STORED = lazy_regex(
    r"\b(?:secrets?|credentials?|api keys?)\s+['\"`(]*(?:%[sqv]|\{\w*\}|\$).{0,24}?"
    r"(?:not found|not exist|n't exist|already"
    r"|unknown|must not be (?:nil|empty|null))",
    re.IGNORECASE,
)
_FLAG_VALUES = ("true", "false")
_FLAG_TYPES = frozenset(("bool", "boolean", "Boolean", "int", "Int", "number", "Integer", "usize"))
_NO_MORE_VALID = lazy_regex(
    r"Expired|Invalid|BadSignature|BadData|NotFound|NoResult|DoesNotExist|Malformed|Revoked"
)
_REFUSED = lazy_regex(
    r"[\"'`][^\"'`]*\b(?:invalid|expired|unknown|revoked|unrecogni[sz]ed|malformed)\b", re.IGNORECASE
)
_SPENDS = lazy_regex(
    r"(?:^|[._])(?:remove|delete|destroy|revoke|consume|invalidate|burn|blacklist)\w*$", re.IGNORECASE
)
_TOKEN = lazy_regex(r"(?:^|[._])\w*token$", re.IGNORECASE)
_REFUSABLE = lazy_regex(r"(?:token|api_?key|authorization|jwt|signature)$", re.IGNORECASE)
"""Not a password, which is often a slip of the right one, and not a key of this service."""
_CHECKS = lazy_regex(
    r"^_?(?:verify|validate|authenticate|authorize|introspect|check|decode|is_?valid)|^parse\w*(?:Jw[st]|Token)",
    re.IGNORECASE,
)


_PATH = lazy_regex(
    r"\b(?:from|file|path|reading|loading|at)\b[\s:='\"`(]*(?:%[sqv]|\{|\$)|\b(?:file|path)\s+['\"`]?(?:%[sqv]|\{|\$)",
    re.IGNORECASE,
)
_KEY = lazy_regex(r"(?:key|secret|credentials|cert)$", re.IGNORECASE)


_DESCRIPTIONS = lazy_regex(
    r"(?:^|[._])(?:errors|\w*error_?messages?|messages|\w*error_?codes?|i18n|translations|labels|strings|reasons)"
    r"(?:\.\w+|\[[^\]]*\])$",
    re.IGNORECASE,
)
"""An entry of a table of errors or texts: `errors.wrongPassword`, `self.error_messages["secret"]`."""
_NAME_OF_SETTING = lazy_regex(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[Xx]-[\w-]+|[a-z]+(?:[._-][a-z]+)+")
_HIDING_TYPE = lazy_regex(
    r"(?:^|\W)(?:Secret(?:Str|String|Bytes|Box|Vec)|SecureString|Masked|Redacted|Sensitive)\b"
)
_TEXT_TYPES = frozenset(
    (
        "String", "Text", "Optional", "Option", "Any", "Object", "Cow", "CharSequence", "CharArray", "AnyStr",
        "Union", "Annotated", "Final", "Self", "T", "Json", "Form", "Query", "Path", "Map", "List",
        "Dictionary", "Record", "Vec", "HashMap", "Bundle", "JSONObject", "JsonNode", "JsonObject", "Arc",
        "Box", "Rc",
    )
)  # fmt: skip
"""Types that are texts, may hold one, or show all that they hold."""


def declared_type(name: str, call: Call, facts: Facts) -> str:
    """Return the type with which a parameter is declared, with its package; empty if it is not known."""
    for scope in reversed([*facts.functions_around(call)]):
        for each in scope.parameters:
            if each.name == name:
                return each.type.strip("?&* ").removeprefix("~")
    return ""


def is_of_other_class(name: str, call: Call, facts: Facts) -> bool:
    """Return whether a value is declared as an object of a class that this text does not have: what its text
    shows is not known."""
    kind = declared_type(name, call, facts).rpartition(".")[2].partition("<")[0]
    if not kind[:1].isupper() or kind in _TEXT_TYPES or kind in facts.classes:
        return False
    return kind not in telling_types(facts)


def is_no_secret(name: str, call: Call, facts: Facts) -> bool:
    """Return whether a value that is written out is a flag, the name of a stored secret, or empty there."""
    if _DESCRIPTIONS.search(name) or _HIDING_TYPE.search(declared_type(name, call, facts)):
        return True
    last = name.rpartition(".")[2]
    if not last.isidentifier():
        return False
    scope = facts.named_function_of(call) or facts.function_of(call)
    return (
        _is_flag(name, call, facts)
        or _is_name_of_setting(name, call, facts)
        or (_KEY.search(last) is not None and _PATH.search(facts.text(call.span)) is not None)
        or is_empty_here(name, call, facts)
        or (scope is not None and _is_reference(last, call, scope, facts))
    )


def _is_flag(name: str, call: Call, facts: Facts) -> bool:
    """Return whether a variable is only ever set to true or false, or is declared as a flag or a number."""
    if not name.isidentifier():
        last = re.escape(name.rpartition(".")[2])
        declared = rf"\b{last}\??\s*:?\s*bool(?:ean)?\b|\bbool(?:ean)?\??\s+{last}\b"
        return TextPattern(declared, re.IGNORECASE).is_in(facts.whole_text)
    for scope in facts.functions_around(call):
        kind = next((each.type for each in scope.parameters if each.name == name), None)
        if kind is not None:
            return kind.strip("?") in _FLAG_TYPES
    made = [each for each in facts.assignments_to(name, call) if name in each.targets]
    return bool(made) and all(each.value is not None and each.value.text in _FLAG_VALUES for each in made)


def _is_name_of_setting(name: str, call: Call, facts: Facts) -> bool:
    """Return whether a constant holds the name of a setting or a header: `ENV_TOKEN = "APP_TOKEN"`."""
    made = [each for each in facts.assignments_to(name, call) if each.targets == (name,)]
    return bool(made) and all(
        each.value is not None and _NAME_OF_SETTING.fullmatch(each.value.literal or "") for each in made
    )


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


_ABOUT_TOKENS = lazy_regex(
    r"token|secret|auth|bearer|session|jwt|credential|log_?in|sign_?in|password|invit|share", re.IGNORECASE
)


def is_some_token(name: str, call: Call, facts: Facts) -> bool:
    """Return whether a value is only named `token`, and neither the line nor the function that writes it say
    that it gives access: tokens are also identifiers."""
    if name.rpartition(".")[2] != "token":
        return False
    scope = facts.named_function_of(call)
    text = re.sub(rf"[,(+={{$]\s*{re.escape(name)}\b", "", facts.text(call.span))
    owner = name.rpartition(".")[0]
    return not any(map(_ABOUT_TOKENS.search, (text, owner, "" if scope is None else scope.name)))


def is_spent(name: str, call: Call, facts: Facts) -> bool:
    """Return whether a token or key was refused before, or its record was removed."""
    if _REFUSABLE.search(name) is None:
        return False
    if _REFUSED.search(facts.text(call.span)) or _failed_check(name, call, facts):
        return True
    if _TOKEN.search(name) is None:
        return False
    scope = facts.function_of(call)
    return scope is not None and any(
        each.span.end < call.span.start
        and (each.is_awaited or each.is_discarded)
        and _SPENDS.search(each.method)
        and "token" in each.written.lower()
        for each in facts.within(facts.calls, scope.body)
    )


def _failed_check(name: str, call: Call, facts: Facts) -> bool:
    """Return whether a place is reached only after a check of the value has failed."""
    for handler in facts.handlers_around(call):
        if handler.types and all(map(_NO_MORE_VALID.search, handler.types)):
            return True
        tried = next((each for each in facts.tries if handler in each.handlers), None)
        if tried is not None and any(
            _CHECKS.search(each.method) and any(one.value.text == name for one in each.positional)
            for each in facts.within(facts.calls, tried.body)
        ):
            return True
    scope = facts.function_of(call)
    refused = re.compile(
        rf"(?:!|\bnot\b)\s*(?:await\s+)?[\w.]+\([^()]*\b{re.escape(name)}\b|\b401\b|\bUnauthori[sz]ed\b"
    )
    return any(
        arm.place == 0 and is_within(call.span, arm.span) and refused.search(_head_of(arm, facts))
        for arm in facts.within(facts.arms, call.span if scope is None else scope.body)
    )


def _head_of(arm: Arm, facts: Facts) -> str:
    """Return the condition of a branch."""
    return facts.text(Span(arm.fork.start, arm.span.start))


def is_text_of_error(name: str, call: Call) -> bool:
    """Return whether a constant in capitals is all that an error is given: it is a message."""
    return name.isupper() and "_" in name and [each.value.text for each in call.positional] == [name]
