"""What the signs, methods and functions of a condition mean. Pure.

Values are those of JSON. What is asked of the wrong kind of value cannot be told (`UNTOLD`): nothing here is
lenient, so that a mistake in a condition does not look like an answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Value: TypeAlias = Callable[[Mapping[str, Any]], Any]
"""A part of a condition, asked with the names that it may use, such as `args`."""


class Missing(Exception):
    """The arguments do not have what the condition asks about."""


UNTOLD = (Missing, TypeError, ValueError, ArithmeticError, RecursionError)
"""What keeps a condition from being told; it does not hold then."""


def item(value: Value, key: Value) -> Value:
    def found(names: Mapping[str, Any]) -> Any:
        holder, name = value(names), key(names)
        if isinstance(holder, Mapping) and isinstance(name, str) and name in holder:
            return holder[name]
        if isinstance(holder, list) and type(name) is int and 0 <= name < len(holder):
            return holder[name]
        raise Missing

    return found


def is_there(value: Value, names: Mapping[str, Any]) -> bool:
    try:
        value(names)
    except Missing:
        return False
    return True


def truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("expected true or false")
    return value


def _and(left: Value, right: Value) -> Value:
    return lambda names: truth(left(names)) and truth(right(names))


def _or(left: Value, right: Value) -> Value:
    def either(names: Mapping[str, Any]) -> bool:
        # As in CEL, one side that holds is enough, even if the other cannot be told.
        try:
            if truth(left(names)):
                return True
        except UNTOLD:
            pass
        return truth(right(names))

    return either


def _pairwise(act: Callable[[Any, Any], Any]) -> Callable[[Value, Value], Value]:
    return lambda left, right: lambda names: act(left(names), right(names))


def _numeric(act: Callable[[Any, Any], Any]) -> Callable[[Value, Value], Value]:
    """Of numbers only: a text times a number could fill the memory."""
    return lambda left, right: lambda names: act(number(left(names)), number(right(names)))


def number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("expected a number")
    return value


def _same(left: Any, right: Any) -> bool:
    # To Python true is 1; to whoever writes JSON it is not.
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _is_in(value: Any, holder: Any) -> bool:
    if isinstance(holder, list):
        return any(_same(value, each) for each in holder)
    if isinstance(holder, Mapping | str) and isinstance(value, str):
        return value in holder
    raise TypeError("expected a list, a mapping or a text")


def _sum(left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        return left + right
    return number(left) + number(right)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _of_texts(act: Callable[[str, str], bool]) -> Callable[[Any, Any], bool]:
    def asked(text: Any, part: Any) -> bool:
        if not isinstance(text, str) or not isinstance(part, str):
            raise TypeError("expected a text")
        return act(text, part)

    return asked


def compiled(pattern: str) -> Any:
    """ValueError if it is no pattern. As in CEL it is one of RE2, whose time grows with the text and no
    faster: no pattern and no text can stop the server."""
    # Few manifests have patterns, and each client on pipes waits for what is imported.
    import re2

    quiet = re2.Options()
    quiet.log_errors = False
    try:
        return re2.compile(pattern, quiet)
    except re2.error as error:
        why = error.args[0]
        raise ValueError(why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)) from None


LEVELS = (("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%"))
OPERATORS: dict[str, Callable[[Value, Value], Value]] = {
    "||": _or,
    "&&": _and,
    "==": _pairwise(_same),
    "!=": _pairwise(lambda a, b: not _same(a, b)),
    "<": _pairwise(lambda a, b: a < b),
    "<=": _pairwise(lambda a, b: a <= b),
    ">": _pairwise(lambda a, b: a > b),
    ">=": _pairwise(lambda a, b: a >= b),
    "in": _pairwise(_is_in),
    "+": _pairwise(_sum),
    "-": _numeric(lambda a, b: a - b),
    "*": _numeric(lambda a, b: a * b),
    "/": _numeric(lambda a, b: a / b),
    "%": _numeric(lambda a, b: a % b),
}
METHODS: dict[str, Callable[[Any, Any], bool]] = {
    "contains": lambda holder, part: _is_in(part, holder),
    "startsWith": _of_texts(lambda text, part: text.startswith(part)),
    "endsWith": _of_texts(lambda text, part: text.endswith(part)),
    "matches": _of_texts(lambda text, pattern: compiled(pattern).search(text) is not None),
}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {"size": len, "string": _text, "int": int}
