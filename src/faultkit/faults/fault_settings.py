"""One setting of a fault: what users need to know of it, and which values it takes.

The facts are declared once, at the field. Checks and schemas are derived here, flags and variables in
`flag_names`; complete faults are parsed in `fault_data`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from types import NoneType
from typing import Any, TypeAlias, get_args

from faultkit.base.text import has_utf8

Texts: TypeAlias = tuple[tuple[str, str], ...]
"""A mapping of names to texts: written as a mapping, kept as pairs, so that a fault stays hashable."""
Numbers: TypeAlias = tuple[tuple[str, float], ...]
"""The same with numbers."""
MAPPINGS: tuple[object, ...] = (Texts, Numbers)

_MOST_WHOLE = 2**1023
"""The largest power of two that a float can hold."""
_TYPES: dict[object, tuple[str, str]] = {
    float: ("number", "a number"),
    int: ("integer", "a whole number"),
    bool: ("boolean", "true or false"),
    str: ("string", "a text"),
}
"""For each type a field may have: its name in JSON Schema and in our messages."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The facts of one field of a fault, from which YAML, flags, schemas and help are derived."""

    help: str
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    choices: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    """Some of its values, where it does not take every text."""
    flag: str | None = None
    """Command-line name, if it is not the field's name without its unit."""
    flag_sets: str | None = None
    """The value that the flag sets, if the flag is a switch."""
    env: str | None = None
    """Environment variable, if it is not FAULT_<FAULT>_<FLAG>."""


def setting(default: Any = MISSING, /, help: str = "", **facts: Any) -> Any:
    """Return a field of a fault, with what users need to know of it."""
    return field(default=default, metadata={"setting": Setting(help, **facts)})


def checked(name: str, type_: object, fact: Setting, value: object) -> object:
    """Return the value as the field keeps it. Raises ValueError with what was expected and given."""
    if type_ in MAPPINGS:
        return _checked_pairs(name, type_, value)
    base, optional = _base(type_)
    if optional and value is None:
        return None
    if base is float and type(value) is int and abs(value) <= _MOST_WHOLE:
        value = float(value)
    # Not isinstance: True is an int to Python, but never a number to a user.
    if type(value) is base and _allowed(fact, value):
        return value
    expected = "a text in UTF-8" if base is str and _is_half_text(value) else _expected(base, fact)
    raise ValueError(f"{name}: expected {expected}, got {_shown(value)}")


def _checked_pairs(name: str, type_: object, value: object) -> tuple[tuple[str, object], ...]:
    what = "numbers" if type_ == Numbers else "texts"
    if not isinstance(value, (Mapping, tuple)):
        raise ValueError(f"{name}: expected a mapping of names to {what}, got {_shown(value)}")
    pairs: list[tuple[str, object]] = []
    for key, each in value.items() if isinstance(value, Mapping) else value:
        if type(key) is not str or not has_utf8(key) or key in dict(pairs):
            raise ValueError(f"{name}: expected each name once, as a text, got {_shown(key)}")
        is_number = type(each) in (int, float) and math.isfinite(each)
        if type_ == Numbers and is_number and abs(each) <= _MOST_WHOLE:
            pairs.append((key, float(each)))
        elif type_ == Texts and is_number:
            pairs.append((key, str(each)))  # In YAML, `Retry-After: 5` is a number.
        elif type_ == Texts and type(each) is str and has_utf8(each):
            pairs.append((key, each))
        else:
            raise ValueError(f"{name}: expected a {what[:-1]} for {key}, got {_shown(each)}")
    return tuple(pairs)


def plain(value: object) -> object:
    """Return the value of a setting as it is written in YAML and JSON: pairs as a mapping."""
    return dict(value) if isinstance(value, tuple) else value


def pairs_of(type_: object, texts: tuple[str, ...]) -> object:
    """Return the mapping of a flag that may be repeated: `NAME: TEXT` each, or `NAME=NUMBER,NAME=NUMBER`.

    What is not written like that is returned as a text, which `checked` refuses."""
    mark = "=" if type_ == Numbers else ":"
    parts = [part for text in texts for part in (text.split(",") if type_ == Numbers else (text,))]
    mapping: dict[str, object] = {}
    for part in parts:
        name, found, value = (each.strip() for each in part.partition(mark))
        if not found or name in mapping:
            return part.strip()
        try:
            mapping[name] = float(value) if type_ == Numbers else value
        except ValueError:
            mapping[name] = value
    return mapping


def _is_half_text(value: object) -> bool:
    return isinstance(value, str) and not has_utf8(value)


def schema_of(type_: object, fact: Setting, default: object) -> dict[str, object]:
    """Return the JSON Schema of one field."""
    if type_ in MAPPINGS:
        each: list[str] | str = "number" if type_ == Numbers else ["string", "number"]
        return {
            "type": "object",
            "description": fact.help,
            "additionalProperties": {"type": each},
            "default": plain(default),
        }
    base, optional = _base(type_)
    name = _TYPES[base][0]
    schema: dict[str, object] = {
        "type": [name, "null"] if optional else name,
        "description": f"{fact.help} [{fact.unit}]" if fact.unit else fact.help,
    }
    limits = {"minimum": fact.minimum, "maximum": fact.maximum, "exclusiveMinimum": fact.above}
    schema.update({key: limit for key, limit in limits.items() if limit is not None})
    if fact.choices:
        schema["enum"] = list(fact.choices)
    if default is not MISSING:
        schema["default"] = default
    return schema


def _base(type_: object) -> tuple[type, bool]:
    """Return the type below `Literal[...]` and `... | None`, and whether None is a value."""
    if isinstance(type_, type):
        return type_, False
    arguments = get_args(type_)
    plain = [argument for argument in arguments if argument is not NoneType]
    base = plain[0] if isinstance(plain[0], type) else type(plain[0])
    return base, len(plain) < len(arguments)


def _allowed(fact: Setting, value: object) -> bool:
    if fact.choices:
        return value in fact.choices
    if isinstance(value, str):
        return not _is_half_text(value)
    if not isinstance(value, (int, float)):
        return True
    return (
        (type(value) is int or math.isfinite(value))
        and (fact.minimum is None or value >= fact.minimum)
        and (fact.maximum is None or value <= fact.maximum)
        and (fact.above is None or value > fact.above)
    )


def _expected(base: type, fact: Setting) -> str:
    if fact.choices:
        return "one of " + ", ".join(fact.choices)
    text = _TYPES[base][1]
    if fact.minimum is not None and fact.maximum is not None:
        return f"{text} from {fact.minimum:g} to {fact.maximum:g}"
    if fact.minimum is not None:
        return f"{text} of at least {fact.minimum:g}"
    if fact.above is not None:
        return f"{text} above {fact.above:g}"
    return text


def _shown(value: object) -> str:
    """Return a value as users write it in YAML or JSON."""
    if value is None:
        return "nothing"
    return str(value).lower() if isinstance(value, bool) else repr(value)
