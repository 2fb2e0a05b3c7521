"""Reports as plain data and back: the content of `results.json` and of its YAML form (docs/results.md).

The shape is derived from the dataclasses of the model, so that the two cannot differ. A figure that is not a
finite number is written as null, because JSON has no other form for it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from math import isfinite, nan
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import yaml

from faultkit.base.documents.checks import field_error, join_path, mapping, sequence, shown
from faultkit.base.errors import InputError
from faultkit.base.text import escaped_json, with_utf8
from faultkit.scenario.report.report_model import VERSION, Report

T = TypeVar("T")

# Typed as Any: the two dumpers have no base in common, and the C one may be missing.
_FastDumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

_WORDS: dict[object, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    NoneType: "nothing",
}


def to_document(report: Report) -> dict[str, object]:
    """Return the report as plain data, which `from_document` turns back into a report."""
    return cast("dict[str, object]", _plain(report))


def _plain(value: object) -> object:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        # Keys of JSON are texts.
        return {with_utf8(str(key)): _plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, str):
        return with_utf8(value)
    return None if isinstance(value, float) and not isfinite(value) else value


def to_json(report: Report) -> str:
    """Return the report as JSON."""
    return escaped_json(json.dumps(to_document(report), ensure_ascii=False, allow_nan=False, indent=2)) + "\n"


def to_yaml(report: Report) -> str:
    """Return the report as YAML."""
    text: str = yaml.dump(to_document(report), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
    return text


class _Dumper(_FastDumper):  # type: ignore[misc]
    """A SafeDumper that quotes texts with unusual line ends such as U+0085, which plain YAML scalars lose."""


def _text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if text.isprintable() else '"')


_Dumper.add_representer(str, _text_node)


def from_document(document: object) -> Report:
    """Return the report of plain data. Raises InputError with the path of the first invalid value."""
    if not isinstance(document, Mapping) or "version" not in document:
        got = "a mapping without it" if isinstance(document, Mapping) else shown(document)
        raise InputError("version", f"expected {VERSION} (is this a results file of faultkit?), got {got}")
    version = document["version"]
    if version != VERSION or isinstance(version, bool):
        newer = isinstance(version, int) and version > VERSION
        advice = "; a newer faultkit wrote it" if newer else ""
        raise InputError("version", f"expected {VERSION}, got {shown(version)}{advice}")
    return _read_dataclass(Report, document, "")


def _read_dataclass(cls: type[T], document: object, path: str) -> T:
    types = _field_types(cast("Any", cls))
    given = mapping(document, types, path)
    needed = [f.name for f in fields(cls) if f.default is MISSING]  # type: ignore[arg-type]
    for name in needed:
        if name not in given:
            raise InputError(join_path(path, name), "expected a value, got nothing")
    values = {name: _read(types[name], value, join_path(path, name)) for name, value in given.items()}
    try:
        return cls(**values)
    except ValueError as error:
        raise field_error(path, error) from None


@cache
def _field_types(cls: Any) -> dict[str, Any]:
    """Return the field types of a dataclass; cached, because annotations are texts and slow to evaluate."""
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


def _read(type_: Any, value: object, path: str) -> object:
    origin, arguments = get_origin(type_), get_args(type_)
    if is_dataclass(type_):
        return _read_dataclass(cast("type[object]", type_), value, path)
    if origin is tuple:
        return _read_tuple(arguments, value, path)
    if origin is dict:
        return _read_dict(arguments, value, path)
    if origin is Literal:
        return _require(value in arguments and not isinstance(value, bool), type_, value, path)
    if origin in (Union, UnionType):
        return _read_union(arguments, type_, value, path)
    return _read_plain(type_, value, path)


def _read_tuple(arguments: tuple[Any, ...], value: object, path: str) -> object:
    given = sequence(value, "values", path)
    if arguments[-1] is Ellipsis:
        kinds = arguments[:1] * len(given)
    else:
        kinds = arguments
        if len(given) != len(kinds):
            raise InputError(path, f"expected {len(kinds)} values, got {len(given)}")
    return tuple(
        _read(kind, each, f"{path}[{index}]")
        for index, (kind, each) in enumerate(zip(kinds, given, strict=True))
    )


def _read_dict(arguments: tuple[Any, ...], value: object, path: str) -> object:
    if not isinstance(value, Mapping):
        raise InputError(path, f"expected a mapping, got {shown(value)}")
    kind, inner = arguments
    return {_key(kind, key, path): _read(inner, each, join_path(path, key)) for key, each in value.items()}


def _key(kind: Any, key: object, path: str) -> object:
    if kind is int and isinstance(key, str) and key.isascii() and key.isdigit():
        return int(key)
    # YAML reads a key of digits as a number already.
    if type(key) is kind:
        return key
    raise InputError(path, f"expected {_WORDS[kind]} as key, got {shown(key)}")


def _read_union(arguments: tuple[Any, ...], type_: Any, value: object, path: str) -> object:
    if value is None and NoneType in arguments:
        return None
    kinds = [kind for kind in arguments if kind is not NoneType]
    if len(kinds) == 1:
        return _read(kinds[0], value, path)
    return _require(type(value) in kinds, type_, value, path)


def _read_plain(type_: Any, value: object, path: str) -> object:
    if type_ is object:
        return value
    if type_ is float:
        # Written as null because it was not a finite number.
        if value is None:
            return nan
        _require(isinstance(value, int | float) and not isinstance(value, bool), type_, value, path)
        number = cast("float", value)
        # A whole number of JSON can be too large for a float.
        _require(isinstance(value, float) or abs(number) <= sys.float_info.max, type_, value, path)
        return float(number)
    # Not isinstance, because True is an int in Python.
    return _require(type(value) is type_, type_, value, path)


def _require(fits: bool, type_: Any, value: object, path: str) -> object:
    if fits:
        return value
    if get_origin(type_) is Literal:
        wanted = "one of " + ", ".join(map(str, get_args(type_)))
    else:
        wanted = " or ".join(_WORDS[kind] for kind in get_args(type_) or (type_,))
    raise InputError(path, f"expected {wanted}, got {shown(value)}")
