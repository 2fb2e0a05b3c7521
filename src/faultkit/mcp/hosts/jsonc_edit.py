"""JSON as people keep it, with comments and trailing commas: one member of it is changed. Pure.

A change touches nothing else: comments, order, indentation and line ends of all other members stay as they
are. What a change made is read again, and it is an error if it is not what was asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from faultkit.base.documents.jsonc import BOM, Value, kind_of, parse_jsonc, read_jsonc

_REST_OF_LINE = re.compile(r"(?:[ \t]+|/\*[^\n]*?\*/)*(?://[^\n\r]*)?")


def with_member(text: str, path: Sequence[str], value: Any) -> str:
    """The same text in which the member at the path has this value. Objects on the way are made."""
    text = text if text.removeprefix(BOM).strip() else "{}\n"
    root = parse_jsonc(text)
    found, rest = _follow(root, path)
    if not rest:
        new = _spliced(text, found.start, found.end, _shown(value, _indent_at(text, found.start), text))
    else:
        for key in reversed(rest[1:]):
            value = {key: value}
        new = _inserted(text, found, rest[0], value)
    return _checked(new, _set(root.plain, [*path[: len(path) - len(rest)], *rest[:1]], value))


def without_member(text: str, path: Sequence[str]) -> str:
    """The same text without the member; as it is if there is none."""
    root = parse_jsonc(text)
    found, rest = _follow(root, path[:-1])
    own = [place for place, each in enumerate(found.members) if each.key == path[-1]]
    if rest or not own:
        return text
    return _checked(_removed(text, found, own[0]), _set(root.plain, path, None, remove=True))


def _follow(root: Value, path: Sequence[str]) -> tuple[Value, list[str]]:
    """As far as there is something on the path, and what is left of it."""
    at = root
    for place, key in enumerate(path):
        if not isinstance(at.plain, dict):
            named = ".".join(path[:place]) or "the whole of it"
            raise ValueError(f"expected {named} to be an object, got {kind_of(at.plain)}")
        same = [each.value for each in at.members if each.key == key]
        if len(same) > 1:
            raise ValueError(f'expected "{key}" once, got it {len(same)} times')
        if not same:
            return at, list(path[place:])
        at = same[0]
    return at, []


def _set(plain: Any, path: Sequence[str], value: Any, *, remove: bool = False) -> Any:
    """A copy in which it is so, to hold the changed text against."""
    copy = dict(plain)
    if len(path) > 1:
        copy[path[0]] = _set(copy[path[0]], path[1:], value, remove=remove)
    elif remove:
        del copy[path[0]]
    else:
        copy[path[0]] = value
    return copy


def _checked(new: str, wanted: Any) -> str:
    if read_jsonc(new) != wanted:
        raise ValueError("expected a text in which one member can be changed, got one that is laid out oddly")
    return new


def _inserted(text: str, at: Value, key: str, value: Any) -> str:
    """As the last member, laid out like the one before it."""
    name = json.dumps(key, ensure_ascii=False)
    own, newline = _indent_at(text, at.start), _newline(text)
    if not at.members:
        inner = own + _unit(text)
        # A comment may stand where no member does.
        inside = text[at.start + 1 : at.end - 1].rstrip()
        new = f"{newline}{inner}{name}: {_shown(value, inner, text)}{newline}{own}"
        return _spliced(text, at.start + 1, at.end - 1, inside + new)
    last = at.members[-1]
    behind = last.value.end if last.comma is None else last.comma + 1
    comma = "," if last.comma is None else ""
    if "\n" not in text[at.start : last.start]:
        compact = json.dumps(value, ensure_ascii=False)
        return _spliced(text, behind, behind, f"{comma} {name}: {compact}")
    inner = _indent_at(text, last.start)
    trailing = "" if last.comma is None else ","
    line_end = _end_of_line(text, behind)
    new = f"{newline}{inner}{name}: {_shown(value, inner, text)}{trailing}"
    return text[:behind] + comma + text[behind:line_end] + new + text[line_end:]


def _end_of_line(text: str, at: int) -> int:
    """Behind the comments that belong to what stands before them on the line."""
    found = _REST_OF_LINE.match(text, at)
    assert found is not None
    return at + len(found[0].rstrip())


def _removed(text: str, at: Value, place: int) -> str:
    member = at.members[place]
    start = len(text[: member.start].rstrip(" \t"))
    if text[:start].endswith("\n"):
        start -= 2 if text[:start].endswith("\r\n") else 1
    else:
        start = member.start
    end = member.value.end if member.comma is None else member.comma + 1
    before = at.members[place - 1] if place else None
    is_last = place == len(at.members) - 1
    if is_last and member.comma is None and before is not None and before.comma is not None:
        return text[: before.comma] + text[before.comma + 1 : start] + text[end:]
    return _spliced(text, start, end, "")


def _spliced(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def _shown(value: Any, indent: str, text: str) -> str:
    written = json.dumps(value, indent=_unit(text), ensure_ascii=False)
    return written.replace("\n", _newline(text) + indent)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at].removeprefix(BOM)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One step of indentation, as the text has it."""
    found = re.search(r"^([ \t]+)[\"\]}]", text, re.MULTILINE)
    return "  " if found is None else found[1]
