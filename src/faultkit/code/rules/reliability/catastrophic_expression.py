"""Finds regular expressions on which a backtracking engine can take exponential time.

Evidence that it matters: the text with the expression also uses it. What a constant only hands to other files
may never meet a text from outside, and in a browser it holds up one user: `POSSIBLE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts
from faultkit.code.facts.nesting import Nesting
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.ambiguity import ambiguous_text
from faultkit.code.rules.vocabulary.command_lines import is_for_browser
from faultkit.code.rules.vocabulary.constant_texts import constant_named, constant_text, pieces_of
from faultkit.code.rules.vocabulary.failures import handler_around
from faultkit.code.rules.vocabulary.name_places import ends_of_name

_PYTHON = frozenset(
    f"{module}.{name}"
    for module in ("re", "regex")
    for name in ("compile", "match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer")
)
_JAVA_METHODS = frozenset({"matches", "replaceAll", "replaceFirst", "split"})
_JAVA_ESCAPE = lazy_regex(r"\\(.)")
_LONGEST = 1000


@dataclass(frozen=True, slots=True)
class _Expression:
    """An expression in the code."""

    pattern: str
    flags: str
    whole: bool
    span: Span


_DIALECTS = {
    "python": "python",
    "java": "java",
    "csharp": "java",
    "kotlin": "java",
    "rust": "java",
    "go": "java",
}


def _check(facts: Facts) -> Iterator[Hit]:
    language = _DIALECTS.get(facts.language, "javascript")
    for each in _expressions(facts):
        if len(each.pattern) > _LONGEST:
            continue
        word = ambiguous_text(each.pattern, language, each.flags, each.whole)
        if word:
            what = f"repetitions of {word!r} in the text make this expression exponentially slow"
            place = _piece(each, language, facts) or each.span
            sure = POSSIBLE if is_for_browser(facts) or _is_only_exported(each, facts) else LIKELY
            yield Hit(place, what, sure, "high" if handler_around(each, facts) else None)


def _is_only_exported(expression: _Expression, facts: Facts) -> bool:
    """Return whether a constant of JavaScript holds it that this text uses nowhere else."""
    if facts.language not in JAVASCRIPT or facts.function_of(expression) is not None:
        return False
    held = _set_at_top(facts).around(expression.span)
    names = {name for each in held for name in each.targets if name.isidentifier()}
    return bool(names) and all(len([*ends_of_name(name, facts.whole_text)]) == 1 for name in names)


@lru_cache(maxsize=4)
def _set_at_top(facts: Facts) -> Nesting[Assignment]:
    return Nesting(each for each in facts.assignments if each.scope is None)


def _piece(expression: _Expression, language: str, facts: Facts) -> Span | None:
    """Return the place of the constant that makes an expression slow, if a call puts several together."""
    written = facts.text(expression.span)
    if "join" not in written.lower():
        return None
    pieces = pieces_of(written, expression, facts)
    slow = [value for text, value in pieces if ambiguous_text(text, language, expression.flags, False)]
    return slow[0].span if slow else None


_DECLARED = {
    "javascript": lazy_regex(
        r"\bpattern['\"]?:\s*(?P<quote>['\"])(?P<pattern>\^(?:\\.|(?!(?P=quote)).)*)(?P=quote)"
    ),
    "java": lazy_regex(r"@(?:\w+:)?Pattern\(\s*regexp\s*=\s*\"(?P<pattern>(?:\\.|[^\"\\])*)\""),
    "csharp": lazy_regex(
        r"\[\s*(?:RegularExpression|GeneratedRegex)\(\s*(?P<raw>@?)\"(?P<pattern>(?:\\.|[^\"\\])*)\""
        r"(?![^\]]*(?:NonBacktracking|,\s*\d+\s*\)))"
    ),
    "python": lazy_regex(
        r"\b(?:RegexValidator|Regexp|matches_re|re_path|RegexField|RegexConverter|extract)"
        r"\(\s*(?:regex=)?r['\"](?P<pattern>(?:\\.|[^'\"\\])*)['\"]"
    ),
}
_DECLARED["kotlin"] = _DECLARED["java"]
"""Expressions that validation takes: JSON Schema, Bean Validation, data annotations, Django."""
_DECLARING = {
    "javascript": ("pattern",),
    "java": ("Pattern(",),
    "kotlin": ("Pattern(",),
    "csharp": ("RegularExpression(", "GeneratedRegex("),
    "python": ("pattern", "RegexValidator", "Regexp", "matches_re", "re_path", "RegexField", "str.extract"),
}
"""Of which one stands in each text with such an expression; they are found faster."""


def _declared(facts: Facts) -> Iterator[_Expression]:
    text = facts.whole_text
    written = _DECLARED.get(facts.syntax.language.family)
    words = _DECLARING.get(facts.syntax.language.family, ())
    if written is None or not any(word in text for word in words):
        return
    for found in written.finditer(text):
        pattern = found["pattern"]
        is_raw = facts.language == "python" or (facts.language == "csharp" and found["raw"])
        pattern = pattern if is_raw else _JAVA_ESCAPE.sub(_java_letter, pattern)
        whole = facts.syntax.language.family != "javascript"
        yield _Expression(pattern, "", whole, facts.syntax.place_of(found, 0))


def _annotated(facts: Facts) -> Iterator[_Expression]:
    """Yield what annotations of validation are given by the name of a constant: `@Pattern(regexp = IBAN)`."""
    for call in facts.calls_of_method("Pattern", "RegularExpression"):
        given = call.argument("regexp", "pattern", place=0) if call.is_decorator else None
        if given is None or given.value.shape == "text":
            continue
        found = constant_text(given.value, call, facts)
        if found is not None:
            yield _Expression(found[0], "", True, found[1].span)


def _expressions(facts: Facts) -> Iterator[_Expression]:
    yield from _declared(facts)
    if facts.language in ("java", "kotlin", "csharp"):
        yield from _annotated(facts)
    if facts.language == "python":
        yield from _in_python(facts)
    elif facts.language == "java":
        yield from _in_java(facts)
    elif facts.language == "kotlin":
        yield from _in_kotlin(facts)
    elif facts.language == "csharp":
        yield from _in_csharp(facts)
    elif facts.language in _OTHER_ENGINES:
        yield from _in_other_engines(facts)
    else:
        yield from _in_javascript(facts)


def _in_python(facts: Facts) -> Iterator[_Expression]:
    if not facts.imports_any("re", "regex"):
        return
    for call in facts.calls_named(*_PYTHON):
        first = call.argument("pattern", place=0)
        found = None if first is None else constant_text(first.value, call, facts)
        if found is None:
            continue
        pattern, value = found
        given = " ".join(each.value.text for each in call.arguments[1:])
        named = re.findall(r"\b(?:re|regex)\.(IGNORECASE|DOTALL|VERBOSE|[ISX])\b", given)
        whole = call.method == "fullmatch" or _is_used_with(call, "fullmatch", facts)
        yield _Expression(pattern, "".join(_python_flag(each) for each in named), whole, value.span)


def _python_flag(name: str) -> str:
    return {"IGNORECASE": "i", "DOTALL": "s", "VERBOSE": "x"}.get(name, name.lower())


def _is_used_with(call: Call, method: str, facts: Facts) -> bool:
    """Return whether a compiled expression is used with a method that must reach the end of the text."""
    used = facts.calls_on(call)
    return bool(used) and all(each.method == method for each in used)


def _in_java(facts: Facts) -> Iterator[_Expression]:
    for call in facts.calls:
        compiles = call.name in ("Pattern.compile", "java.util.regex.Pattern.compile", "Pattern.matches")
        if not compiles and (call.method not in _JAVA_METHODS or not call.receiver_written):
            continue
        first = call.argument(place=0)
        found = None if first is None else constant_text(first.value, call, facts)
        if found is None:
            continue
        pattern, value = found
        flags = "".join(
            flag
            for word, flag in (("CASE_INSENSITIVE", "i"), ("DOTALL", "s"), ("COMMENTS", "x"))
            if word in facts.text(call.span)
        )
        whole = call.method == "matches" or any(each.method == "matches" for each in facts.calls_on(call))
        yield _Expression(pattern, flags, whole, value.span)


def _java_letter(found: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}.get(found[1], found[1])


def _in_kotlin(facts: Facts) -> Iterator[_Expression]:
    for found in _TO_REGEX.finditer(facts.whole_text) if "toRegex" in facts.whole_text else ():
        raw = found["raw"] is not None
        pattern = found["raw"] if raw else _JAVA_ESCAPE.sub(_java_letter, found["plain"])
        yield _Expression(pattern, "", False, facts.syntax.place_of(found))
    for call in facts.calls_of_method("toRegex"):
        named = constant_named(call.receiver_written, call, facts)
        if named is not None:
            yield _Expression(named[0], "", False, named[1].span)
    for call in facts.calls_named(
        "Regex", "kotlin.text.Regex", "java.util.regex.Pattern.compile", "Pattern.compile"
    ):
        first = call.argument("pattern", place=0)
        known = None if first is None else constant_text(first.value, call, facts)
        if known is not None:
            pattern, value = known
            flags = "i" if "IGNORE_CASE" in facts.text(call.span) else ""
            whole = any(each.method in ("matches", "matchEntire") for each in facts.calls_on(call))
            yield _Expression(pattern, flags, whole, value.span)


_TO_REGEX = lazy_regex(
    r"(?:\"\"\"(?P<raw>(?:(?!\"\"\").)*)\"\"\"|(?<!\")\"(?P<plain>(?:\\.|[^\"\\\n])*)\")\s*\.toRegex\(\s*\)",
    re.DOTALL,
)


def _in_csharp(facts: Facts) -> Iterator[_Expression]:
    """Yield the patterns of `new Regex(p)` and `Regex.IsMatch(text, p)` without a timeout."""
    for call in facts.calls:
        if call.name == "Regex" and call.constructs:
            first = call.argument("pattern", place=0)
        elif call.name in ("Regex.IsMatch", "Regex.Match", "Regex.Matches", "Regex.Replace", "Regex.Split"):
            first = call.argument("pattern", place=1)
        else:
            continue
        text = facts.text(call.span)
        found = None if first is None else constant_text(first.value, call, facts)
        if found is None or "TimeSpan" in text or "NonBacktracking" in text:
            continue
        pattern, value = found
        flags = "".join(
            flag
            for word, flag in (("IgnoreCase", "i"), ("Singleline", "s"), ("IgnorePatternWhitespace", "x"))
            if word in text
        )
        yield _Expression(pattern, flags, False, value.span)


def _in_javascript(facts: Facts) -> Iterator[_Expression]:
    source = facts.syntax.source
    # Only a group that is repeated takes exponential time; to look for the nodes takes long.
    has_repeated_group = any(mark in source for mark in (b")*", b")+", b"){"))
    for node in facts.syntax.nodes_of(["regex"]) if has_repeated_group else ():
        pattern, flags = node.child_by_field_name("pattern"), node.child_by_field_name("flags")
        if pattern is not None:
            named = "" if flags is None else facts.syntax.text(flags)
            kept = "".join(each for each in named if each in "is")
            yield _Expression(facts.syntax.text(pattern), kept, False, Span(node.start_byte, node.end_byte))
    for call in facts.calls_named("RegExp"):
        first, flags_given = call.argument(place=0), call.argument(place=1)
        found = None if first is None else constant_text(first.value, call, facts)
        if found is not None:
            named = "" if flags_given is None else flags_given.value.literal
            kept = "".join(each for each in named if each in "is")
            yield _Expression(found[0], kept, False, found[1].span)


_OTHER_ENGINES = {
    "rust": (
        "fancy_regex.Regex.new",
        "fancy_regex.RegexBuilder.new",
        "pcre2.bytes.Regex.new",
        "onig.Regex.new",
    ),
    "go": ("github.com/dlclark/regexp2.MustCompile", "github.com/dlclark/regexp2.Compile"),
}
"""The engines of Rust and Go take linear time; these do not."""


def _in_other_engines(facts: Facts) -> Iterator[_Expression]:
    for call in facts.calls_named(*_OTHER_ENGINES[facts.language]):
        first = call.argument(place=0)
        found = None if first is None else constant_text(first.value, call, facts)
        if found is not None and "MatchTimeout" not in facts.whole_text:
            yield _Expression(found[0], "", False, found[1].span)


RULE = Rule(
    id="FK-R044",
    slug="catastrophic-expression",
    title="Regular expression that can take for ever",
    why="The engine tries exponentially many ways before it gives up: one text of forty characters stops the "
    "thread, in Node the whole process.",
    fix="Make the repetitions exclusive, so that each text can be matched in one way only, or use RE2.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
