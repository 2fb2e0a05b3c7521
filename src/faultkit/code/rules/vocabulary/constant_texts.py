"""Texts that the code writes out in parts: literals and constants by name, joined or put into a template.

    WORD = r"[a-z]+"
    LIST = re.compile(rf"^({WORD},?)+$")            ^([a-z]+,?)+$
    Pattern.compile("^" + PART + "(\\\\." + PART + ")*$")

What is known only when the program runs, such as the result of a call, gives no text at all.
"""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts
from faultkit.code.facts.fact_values import Value
from faultkit.code.facts.facts import Placed

_LEVELS = 4
_LONGEST = 2000
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_ESCAPE = lazy_regex(r"\\(.)", re.DOTALL)
_NAME = lazy_regex(r"[A-Za-z_$][\w$]*(?:(?:\.|::)[A-Za-z_$][\w$]*)*")
_SPACE = lazy_regex(r"(?:\s|//[^\n]*|#[^\n]*)+")
_LITERAL = {
    "python": lazy_regex(
        r"(?P<prefix>[rRbBfFuU]{0,2})(?P<quote>\"\"\"|\'\'\'|\"|\')(?P<text>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)",
        re.DOTALL,
    ),
    "javascript": lazy_regex(
        r"(?P<prefix>String\.raw)?(?P<quote>[\"\'`])(?P<text>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)",
        re.DOTALL,
    ),
    "java": lazy_regex(
        r"(?P<prefix>)(?P<quote>\"\"\"|\")(?P<text>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)", re.DOTALL
    ),
    "kotlin": lazy_regex(
        r"(?P<prefix>)(?:(?P<quote>\"\"\")(?P<raw>(?:(?!\"\"\").)*)\"\"\"|\"(?P<text>(?:\\.|[^\"\\])*)\")",
        re.DOTALL,
    ),
    "csharp": lazy_regex(
        r"(?P<prefix>[@$]{0,2})(?:\"\"\"(?P<raw>.*?)\"\"\"|\"(?P<text>(?:\\.|\"\"|[^\"\\])*)\")", re.DOTALL
    ),
    "rust": lazy_regex(
        r"(?P<prefix>)(?:b?r(?P<quote>#*)\"(?P<raw>.*?)\"(?P=quote)|\"(?P<text>(?:\\.|[^\"\\])*)\")",
        re.DOTALL,
    ),
    "go": lazy_regex(r"(?P<prefix>)(?:`(?P<raw>[^`]*)`|\"(?P<text>(?:\\.|[^\"\\])*)\")", re.DOTALL),
}
_HOLES = {
    "python": lazy_regex(r"\{\{|\}\}|\{([\w.]+)\}|\{[^{}]*\}"),
    "javascript": lazy_regex(r"\$\{\s*([\w.$]+)\s*\}|\$\{[^{}]*\}"),
    "kotlin": lazy_regex(r"\$\{\s*([\w.]+)\s*\}|\$([A-Za-z_]\w*)|\$\{[^{}]*\}"),
    "csharp": lazy_regex(r"\{\{|\}\}|\{([\w.]+)\}|\{[^{}]*\}"),
}


def constant_text(value: Value, place: Placed, facts: Facts) -> tuple[str, Value] | None:
    """Return the text that an expression stands for, and the expression that writes it out; or None."""
    if facts.syntax.language.family not in _LITERAL:
        return None
    if value.shape == "name":
        return constant_named(value.text, place, facts)
    text = _text_of(value.text, place, facts, _LEVELS)
    return None if text is None else (text, value)


def constant_named(name: str, place: Placed, facts: Facts) -> tuple[str, Value] | None:
    """Return the text of the constant or variable of this name, and the expression that writes it out."""
    value = _assigned(name, place, facts)
    text = None if value is None else _text_of(value.text, place, facts, _LEVELS)
    return None if value is None or text is None else (text, value)


def _assigned(name: str, place: Placed, facts: Facts) -> Value | None:
    """Return the one value that a constant or variable of this name ever has."""
    last = name.replace("::", ".").rpartition(".")[2]
    made = facts.assignments_to(name, place) or facts.assignments_to(f"self.{last}", place)
    if not made and "." in name:
        made = facts.assignments_to(last, place)
    values = [each.value for each in made if each.value is not None]
    return values[0] if len(made) == 1 and len(values) == 1 else None


def _text_of(written: str, place: Placed, facts: Facts, levels: int) -> str | None:
    """Return the text of literals and names that are joined by `+`, or only stand side by side."""
    literal, at, parts = _LITERAL[facts.syntax.language.family], 0, list[str]()
    written = written.strip()
    if ("join" in written or "Join" in written) and (joins := _JOINS.get(facts.syntax.language.family)):
        if (joined := joins.fullmatch(written)) is None or levels == 0:
            return None
        between = _text_of(joined["between"], place, facts, levels - 1)
        items = [_text_of(each, place, facts, levels - 1) for each in _items(joined["items"], literal)]
        if between is None or not items or None in items:
            return None
        return between.join(each for each in items if each is not None)
    while at < len(written):
        if (space := _SPACE.match(written, at)) is not None:
            at = space.end()
        elif written[at] in "+()" and not (written[at] == "(" and at and written[at - 1].isalnum()):
            at += 1
        elif (found := literal.match(written, at)) is not None:
            text = _content(found, place, facts, levels)
            if text is None:
                return None
            parts.append(text)
            at = found.end()
        elif levels and (named := _NAME.match(written, at)) is not None:
            value = _assigned(named[0].removesuffix(".source"), place, facts)
            if value is None or value.span == place.span:
                return None
            text = (
                _regex_of(value.text)
                if named[0].endswith(".source")
                else _text_of(value.text, place, facts, levels - 1)
            )
            if text is None:
                return None
            parts.append(text)
            at = named.end()
        else:
            return None
        if sum(map(len, parts)) > _LONGEST:
            return None
    return "".join(parts) if parts else None


_BETWEEN = r"(?P<between>(?:String\.raw|[rb])?(?:\"[^\"\n]*\"|\'[^\'\n]*\'|``))"
_JOINS = {
    "python": lazy_regex(rf"{_BETWEEN}\.join\(\s*[\[(](?P<items>.*)[\])]\s*,?\s*\)", re.DOTALL),
    "javascript": lazy_regex(rf"\[(?P<items>.*)\]\s*\.join\(\s*{_BETWEEN}\s*\)", re.DOTALL),
    "java": lazy_regex(rf"String\.join\(\s*{_BETWEEN}\s*,(?P<items>.*)\)", re.DOTALL),
    "csharp": lazy_regex(rf"[sS]tring\.(?:Join|Concat)\(\s*{_BETWEEN}\s*,(?P<items>.*)\)", re.DOTALL),
    "kotlin": lazy_regex(rf"listOf\((?P<items>.*)\)\.joinToString\(\s*{_BETWEEN}\s*\)", re.DOTALL),
}
"""Calls that put the items of a list together, with a text between them."""


def _items(written: str, literal: re.Pattern[str]) -> list[str]:
    """Return the literals and names of a list as written; an empty list if it has other items."""
    items, at = list[str](), 0
    while at < len(written):
        if (found := _SPACE.match(written, at)) is not None:
            at = found.end()
        elif written[at] == ",":
            at += 1
        elif (found := literal.match(written, at) or _NAME.match(written, at)) is not None:
            items.append(found[0])
            at = found.end()
        else:
            return []
    return items


def pieces_of(written: str, place: Placed, facts: Facts) -> list[tuple[str, Value]]:
    """Return the constants that a call puts together, each with the expression that writes it out."""
    joins, family = _JOINS.get(facts.syntax.language.family), facts.syntax.language.family
    joined = None if joins is None else joins.fullmatch(written.strip())
    if joined is None:
        return []
    named = [constant_named(each, place, facts) for each in _items(joined["items"], _LITERAL[family])]
    return [each for each in named if each is not None]


def _regex_of(written: str) -> str | None:
    """Return what stands between the slashes of an expression of JavaScript."""
    found = re.fullmatch(r"/(.*)/[a-z]*", written, re.DOTALL)
    return None if found is None else found[1]


def _content(found: re.Match[str], place: Placed, facts: Facts, levels: int) -> str | None:
    """Return what a literal holds, with the constants that are put into it."""
    family, prefix = facts.syntax.language.family, found["prefix"] or ""
    groups = found.groupdict()
    raw = groups.get("raw")
    text = raw if raw is not None else found["text"] or ""
    is_raw = raw is not None or "r" in prefix.lower() or "@" in prefix
    has_holes = (
        (family == "python" and "f" in prefix.lower())
        or (family == "javascript" and groups.get("quote") == "`")
        or family == "kotlin"
        or (family == "csharp" and "$" in prefix)
    )
    pieces, at = list[str](), 0
    for hole in _HOLES[family].finditer(text) if has_holes else ():
        pieces.append(_plain(text[at : hole.start()], is_raw, prefix))
        at = hole.end()
        if hole[0] in ("{{", "}}"):
            pieces.append(hole[0][0])
            continue
        if hole[0] == "${'$'}":
            pieces.append("$")
            continue
        name = next((group for group in hole.groups() if group), "")
        inner = _text_of(name, place, facts, levels - 1) if name and levels else None
        if inner is None:
            return None
        pieces.append(inner)
    pieces.append(_plain(text[at:], is_raw, prefix))
    return "".join(pieces)


def _plain(text: str, is_raw: bool, prefix: str) -> str:
    if is_raw:
        return text.replace('""', '"') if "@" in prefix else text
    return _ESCAPE.sub(_letter, text)


def _letter(found: re.Match[str]) -> str:
    # What is no escape of the language is left to the expression: Python keeps `"\\d"` as it is.
    if found[1] in _LETTERS:
        return _LETTERS[found[1]]
    return found[1] if found[1] in "\\\"'`$/" else found[0]
