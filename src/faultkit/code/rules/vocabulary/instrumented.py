"""Functions whose arguments are written out by what stands around them: `#[instrument]`, decorators."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Scope
from faultkit.code.facts.fact_values import Parameter
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.brackets import end_of_bracket
from faultkit.code.rules.vocabulary.held_secrets import is_telling_name
from faultkit.code.rules.vocabulary.personal_data import personal_part
from faultkit.code.rules.vocabulary.telling_types import is_secret_name, telling_types

_ATTRIBUTE = lazy_regex(r"#\[\s*(?:tracing::)?instrument\b\s*(?P<open>\()?")
_SKIPPED = lazy_regex(r"\bskip\(([^()]*)\)")
_TYPE = lazy_regex(r"(?:[\w]+::)*(\w+)")
_WRAPPED = frozenset(("Option", "Vec", "Arc", "Box", "Json", "Form", "Query", "Path", "State", "Cow", "Rc"))
_TEXTS = frozenset(("String", "str", "SmolStr"))
_HIDES = lazy_regex(r"Secret|Redact|Mask|Sensitive|Protected|Zeroizing")
"""Types whose text does not show what they hold."""


def instrumented_secrets(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield the place of each attribute or decorator that records a secret, and what that is."""
    if facts.language == "rust" and b"instrument" in facts.syntax.source:
        yield from _rust(facts)
    elif facts.language == "python" and facts.syntax.has_any(b"kwargs"):
        yield from _python(facts)


def _rust(facts: Facts) -> Iterator[tuple[Span, str]]:
    named = sorted((scope for scope in facts.scopes if scope.name), key=lambda scope: scope.body.start)
    for found in _ATTRIBUTE.finditer(facts.whole_text):
        end = end_of_bracket(facts.whole_text, found.end(), ")") if found["open"] else None
        given = "" if end is None else facts.whole_text[found.end() : end]
        place = facts.syntax.place_of(found)
        scope = next((each for each in named if each.body.start > place.end), None)
        line = facts.syntax.line_text(facts.syntax.line(place.start)).lstrip()
        if scope is None or "skip_all" in given or line.startswith("//"):
            continue
        skipped = {name.strip() for each in _SKIPPED.findall(given) for name in each.split(",")}
        if part := _recorded(scope, skipped, facts):
            yield place, f"instrument records the argument {part}, which all traces and logs then have"


def _recorded(scope: Scope, skipped: set[str], facts: Facts) -> str:
    head = facts.text(scope.head)
    for each in scope.parameters:
        if each.name in skipped or each.name == "self":
            continue
        written = re.search(rf"\b{re.escape(each.name)}\)?\s*:\s*([^,()]+(?:\([^()]*\))?)", head)
        type_text = each.type if written is None else written[1]
        if _HIDES.search(type_text):
            continue
        types = [name for name in _TYPE.findall(type_text) if name not in _WRAPPED]
        for kind in types:
            if part := telling_types(facts).get(kind):
                return f"{each.name} with its {part}"
            if is_telling_name(kind) and f"struct {kind}" not in facts.whole_text:
                return f"{each.name}, a {kind}"
        is_text = bool(_TEXTS.intersection(types))
        if is_text and (is_secret_name(each.name, facts) or personal_part(scope.short_name, [each.name])):
            return each.name
    return ""


# Python: a decorator that logs what the decorated function is given.

_ALL = lazy_regex(r"\b(?:args|kwargs)\b")
_LOGS = lazy_regex(r"(?:^|\.)_?(?:log|logger|logging)\.(?:debug|info|warning|error|exception|log)$")


def _python(facts: Facts) -> Iterator[tuple[Span, str]]:
    for call in facts.calls_of_method("debug", "info", "warning", "error", "exception", "log"):
        if not _LOGS.search(call.written):
            continue
        given = " ".join(each.value.text for each in call.arguments if each.value.shape != "text")
        found = _ALL.search(given)
        if found is None or re.search(r"mask|redact|sanit|scrub|filter|len\(", given):
            continue
        around = [scope.short_name for scope in facts.functions_around(call) if scope.short_name]
        if len(around) < 2:
            continue
        for scope in facts.scopes:
            if not any(each.method in around for each in scope.decorators):
                continue
            part = next((each.name for each in scope.parameters if _is_secret_parameter(each, facts)), "")
            part = part or personal_part(scope.short_name, [each.name for each in scope.parameters])
            if part:
                what = f"{found[0]} of {scope.short_name}() with its {part} is written to the log"
                yield call.span, what
                break


def _is_secret_parameter(parameter: Parameter, facts: Facts) -> bool:
    kind = parameter.type.rpartition(".")[2].removeprefix("~")
    return is_secret_name(parameter.name, facts) or kind in telling_types(facts)
