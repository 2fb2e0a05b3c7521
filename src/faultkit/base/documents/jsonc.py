"""JSON with comments and trailing commas, as people keep it in configuration files: parse, set, remove. Pure.

A parsed value knows its place in the text, so an edit changes the bytes of one member only: comments, order,
indentation and line ends of everything else stay as they are. Each edit is parsed again and compared with the
expected data. Own code, because no maintained library edits JSONC and keeps the bytes around the edit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

BOM = "\ufeff"
_SKIPPED = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD = re.compile(r"[-+.\w]+")
_REST_OF_LINE = re.compile(r"(?:[ \t]+|/\*[^\n]*?\*/)*(?://[^\n\r]*)?")


@dataclass(frozen=True, slots=True)
class JsoncValue:
    """A value and its place in the text."""

    start: int
    end: int
    plain: Any
    """The value as `json.loads` would return it."""
    members: tuple[JsoncMember, ...] = ()
    """The members of an object, in the order of the text; empty for other values."""

    def get(self, key: str) -> JsoncValue | None:
        """Return the value of a key. If a key is given twice, the last one counts, as in `json.loads`."""
        return next((each.value for each in reversed(self.members) if each.key == key), None)


@dataclass(frozen=True, slots=True)
class JsoncMember:
    """One member of an object: its name, its value and the comma behind it."""

    start: int
    key: str
    value: JsoncValue
    comma: int | None
    """Offset of the comma behind the member; None if there is none."""


def read_jsonc(text: str) -> Any:
    """Return the data of a text. Raises ValueError with the line of the first mistake."""
    return parse_jsonc(text).plain


def parse_jsonc(text: str, *, once: bool = False) -> JsoncValue:
    """Parse a text into values with places. Raises ValueError with the line of the first mistake.

    An empty text is an empty object, so that members can be added to it. With `once`, a key that is given
    twice is a mistake too."""
    return _Parser(text if text.removeprefix(BOM).strip() else "{}", once).document()


def kind_of(plain: Any) -> str:
    """Return the JSON type of a value in words, for messages."""
    kinds = ((dict, "an object"), (list, "a list"), (str, "a text"), (bool, "true or false"))
    usual = "null" if plain is None else "a number"
    return next((name for kind, name in kinds if isinstance(plain, kind)), usual)


def set_member(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with this value at the path. Missing objects on the way are created.

    Raises ValueError if the text is not JSON, or if something on the path is not an object."""
    text = text if text.removeprefix(BOM).strip() else "{}\n"
    root = parse_jsonc(text)
    found, rest = _follow(root, path)
    if not rest:
        layout = _dumps(value, _indent_at(text, found.start), text)
        new = replace_spans(text, [(found.start, found.end, layout)])
    else:
        for key in reversed(rest[1:]):
            value = {key: value}
        new = _insert(text, found, rest[0], value)
    return _checked(new, _edited(root.plain, [*path[: len(path) - len(rest)], *rest[:1]], value))


def remove_member(text: str, path: Sequence[str]) -> str:
    """Return the text without the member at the path; the same text if there is none."""
    root = parse_jsonc(text)
    found, rest = _follow(root, path[:-1])
    own = [place for place, each in enumerate(found.members) if each.key == path[-1]]
    if rest or not own:
        return text
    return _checked(_remove(text, found, own[0]), _edited(root.plain, path, None, remove=True))


def replace_spans(text: str, spans: Iterable[tuple[int, int, str]]) -> str:
    """Return the text with each (start, end, new text) replaced. Spans must not overlap."""
    # From the back, so that the offsets of the spans before stay right.
    for start, end, new in sorted(spans, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def dumps_like(value: Any, text: str, start: int, sample: str) -> str:
    """Return JSON for `value` at the offset `start`, laid out like `sample`: on one line, or indented."""
    if "\n" not in sample:
        return json.dumps(value, ensure_ascii=False)
    line = text[text.rfind("\n", 0, start) + 1 : start]
    base = line[: len(line) - len(line.lstrip())]
    inner = re.search(r"\n([ \t]*)\S", sample)
    step = inner[1].removeprefix(base) if inner is not None and inner[1] != base else "  "
    return json.dumps(value, ensure_ascii=False, indent=step or "  ").replace("\n", "\n" + base)


class _Parser:
    def __init__(self, text: str, once: bool) -> None:
        self._text = text
        self._once = once
        self._at = 1 if text.startswith(BOM) else 0

    def document(self) -> JsoncValue:
        try:
            value = self._value()
        except RecursionError:
            raise ValueError("expected JSON, got too many levels of it") from None
        if self._next():
            self._fail("nothing more")
        return value

    def _next(self) -> str:
        """Skip blanks and comments. Return the next character, or an empty text at the end."""
        found = _SKIPPED.match(self._text, self._at)
        assert found is not None
        self._at = found.end()
        return self._text[self._at : self._at + 1]

    def _value(self) -> JsoncValue:
        sign, start = self._next(), self._at
        if sign == "{":
            return self._object()
        if sign == "[":
            return self._list()
        if sign == '"':
            text = self._string()
            return JsoncValue(start, self._at, text)
        found = _WORD.match(self._text, self._at)
        if found is None:
            self._fail("a value")
        try:
            plain = json.loads(found[0], parse_constant=refuse_constant)
        except ValueError:
            self._fail("a value")
        self._at = found.end()
        return JsoncValue(start, self._at, plain)

    def _string(self) -> str:
        found = _STRING.match(self._text, self._at)
        if found is None:
            self._fail("a text in quotes that ends on its line")
        try:
            plain: str = json.loads(found[0])
        except ValueError:
            self._fail("a text with escapes that JSON knows")
        self._at = found.end()
        return plain

    def _object(self) -> JsoncValue:
        start = self._at
        self._at += 1
        members: list[JsoncMember] = []
        while self._next() != "}":
            if members and members[-1].comma is None:
                self._fail("a comma or a closing brace")
            begin = self._at
            if self._next() != '"':
                self._fail("a name in quotes or a closing brace")
            key = self._string()
            if self._once and any(each.key == key for each in members):
                raise ValueError(f"line {self._line()}: key {json.dumps(key)} is given twice")
            if self._next() != ":":
                self._fail("a colon")
            self._at += 1
            value = self._value()
            members.append(JsoncMember(begin, key, value, self._comma()))
        self._at += 1
        return JsoncValue(start, self._at, {each.key: each.value.plain for each in members}, tuple(members))

    def _list(self) -> JsoncValue:
        start = self._at
        self._at += 1
        items: list[Any] = []
        has_comma = True
        while self._next() != "]":
            if not has_comma:
                self._fail("a comma or a closing bracket")
            items.append(self._value().plain)
            has_comma = self._comma() is not None
        self._at += 1
        return JsoncValue(start, self._at, items)

    def _comma(self) -> int | None:
        if self._next() != ",":
            return None
        self._at += 1
        return self._at - 1

    def _line(self) -> int:
        return self._text.count("\n", 0, self._at) + 1

    def _fail(self, expected: str) -> NoReturn:
        rest = self._text[self._at : self._at + 20].splitlines()
        got = repr(rest[0]) if rest else "the end of the text"
        raise ValueError(f"line {self._line()}: expected {expected}, got {got}") from None


class NoJsonConstant(ValueError):
    """NaN or Infinity, which Python's parser accepts and JSON does not have (RFC 8259, section 6)."""


def refuse_constant(name: str) -> NoReturn:
    """Raise NoJsonConstant: the `parse_constant` of every decoder of JSON from outside."""
    raise NoJsonConstant(f"{name} is no JSON")


def _follow(root: JsoncValue, path: Sequence[str]) -> tuple[JsoncValue, list[str]]:
    """Return the deepest value that exists on the path, and the rest of the path."""
    value = root
    for place, key in enumerate(path):
        if not isinstance(value.plain, dict):
            named = ".".join(path[:place]) or "the whole of it"
            raise ValueError(f"expected {named} to be an object, got {kind_of(value.plain)}")
        same = [each.value for each in value.members if each.key == key]
        if len(same) > 1:
            raise ValueError(f'expected "{key}" once, got it {len(same)} times')
        if not same:
            return value, list(path[place:])
        value = same[0]
    return value, []


def _edited(plain: Any, path: Sequence[str], value: Any, *, remove: bool = False) -> Any:
    """Return a copy of the data with the edit made, to compare the edited text with."""
    copy = dict(plain)
    if len(path) > 1:
        copy[path[0]] = _edited(copy[path[0]], path[1:], value, remove=remove)
    elif remove:
        del copy[path[0]]
    else:
        copy[path[0]] = value
    return copy


def _checked(new: str, expected: Any) -> str:
    if read_jsonc(new) != expected:
        raise ValueError("expected a text in which one member can be changed, got one that is laid out oddly")
    return new


def _insert(text: str, parent: JsoncValue, key: str, value: Any) -> str:
    """Insert a member behind the last one, laid out like it."""
    name = json.dumps(key, ensure_ascii=False)
    own, newline = _indent_at(text, parent.start), _newline(text)
    if not parent.members:
        inner = own + _indent_unit(text)
        # An object without members may still hold comments: they stay in front.
        inside = text[parent.start + 1 : parent.end - 1].rstrip()
        new = f"{inside}{newline}{inner}{name}: {_dumps(value, inner, text)}{newline}{own}"
        return replace_spans(text, [(parent.start + 1, parent.end - 1, new)])
    last = parent.members[-1]
    behind = last.value.end if last.comma is None else last.comma + 1
    comma = "," if last.comma is None else ""
    if "\n" not in text[parent.start : last.start]:
        compact = json.dumps(value, ensure_ascii=False)
        return replace_spans(text, [(behind, behind, f"{comma} {name}: {compact}")])
    inner = _indent_at(text, last.start)
    trailing = "" if last.comma is None else ","
    # Comments behind the last member on its line belong to it: the new member goes behind them.
    rest = _REST_OF_LINE.match(text, behind)
    assert rest is not None
    line_end = behind + len(rest[0].rstrip())
    new = f"{newline}{inner}{name}: {_dumps(value, inner, text)}{trailing}"
    return text[:behind] + comma + text[behind:line_end] + new + text[line_end:]


def _remove(text: str, parent: JsoncValue, place: int) -> str:
    member = parent.members[place]
    start = len(text[: member.start].rstrip(" \t"))
    if text[:start].endswith("\n"):
        start -= 2 if text[:start].endswith("\r\n") else 1
    else:
        start = member.start
    end = member.value.end if member.comma is None else member.comma + 1
    before = parent.members[place - 1] if place else None
    is_last = place == len(parent.members) - 1
    if is_last and member.comma is None and before is not None and before.comma is not None:
        # The member before becomes the last one: its comma goes too, unless trailing commas are the style.
        return text[: before.comma] + text[before.comma + 1 : start] + text[end:]
    return replace_spans(text, [(start, end, "")])


def _dumps(value: Any, indent: str, text: str) -> str:
    layout = json.dumps(value, indent=_indent_unit(text), ensure_ascii=False)
    return layout.replace("\n", _newline(text) + indent)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent_at(text: str, start: int) -> str:
    line = text[text.rfind("\n", 0, start) + 1 : start].removeprefix(BOM)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_unit(text: str) -> str:
    """Return one step of indentation, as the text has it."""
    found = re.search(r"^([ \t]+)[\"\]}]", text, re.MULTILINE)
    return "  " if found is None else found[1]
