"""Kinds of arguments: the schema that a model sees, and the reading of what it sends.

A model sends `null` for what it leaves out, lists as text, and paths as URIs: that is read. What cannot be
read is an InputError that names the argument, what was expected, what came, and an example. Nothing heavy is
imported before something is read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from faultkit.agent_tools.importing import IMPORTING
from faultkit.agent_tools.tool import REQUIRED, Argument, Tool
from faultkit.base.errors import FaultkitError, InputError

LANGUAGE_NAMES = (
    "python, javascript, typescript, tsx, go, rust, java, ruby, c, cpp, csharp, php, kotlin, swift, scala, "
    "bash"
)
"""Those of `faultkit.code.LANGUAGES`, which takes long to import; a test holds them together."""
LONGEST_TEXT = 2_000_000
_SHOWN = 60
_BLAMED = re.compile(r"([a-z_]+)(?:\[\d+\]|\.[^:]*)?: ")
"""How an error begins that names an argument, or an item or member of it."""


def text(
    name: str,
    description: str,
    *,
    default: Any = REQUIRED,
    example: str = "",
    longest: int = LONGEST_TEXT,
    may_be_blank: bool = False,
) -> Argument:
    def read(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f"expected a text, got {shown(value)}")
        if not may_be_blank and not value.strip():
            raise ValueError("expected a text, got nothing")
        if len(value) > longest:
            raise ValueError(f"expected at most {longest} characters, got {len(value)}")
        return value

    return argument(name, {"type": "string"}, description, read, default, example)


def file(name: str, description: str, *, default: Any = REQUIRED) -> Argument:
    """A path that is there and no folder."""
    return argument(name, {"type": "string"}, description, _read_file, default, '"/home/me/project/app.py"')


def folder(name: str, description: str, *, default: Any = REQUIRED) -> Argument:
    return argument(name, {"type": "string"}, description, _read_folder, default, '"/home/me/project"')


def language(name: str, description: str, *, default: Any = REQUIRED) -> Argument:
    """Read as a `faultkit.code.Language`."""
    said = f"{description} One of {LANGUAGE_NAMES}; usual aliases such as py, js, ts or golang work too."
    return argument(name, {"type": "string"}, said, _read_language, default, '"python"')


def flag(name: str, description: str, *, default: Any = REQUIRED) -> Argument:
    return argument(name, {"type": "boolean"}, description, _read_flag, default, "true")


def choice(
    name: str, description: str, choices: Sequence[str], *, default: Any = REQUIRED, example: str = ""
) -> Argument:
    """One of a few words, in upper or lower case."""
    by_lower = {each.lower(): each for each in choices}

    def read(value: Any) -> str:
        found = by_lower.get(value.strip().lower()) if isinstance(value, str) else None
        if found is None:
            raise ValueError(
                f"expected one of {', '.join(choices)}, got {shown(value)}{near(value, by_lower)}"
            )
        return found

    schema = {"type": "string", "enum": list(choices)}
    return argument(name, schema, description, read, default, example or json.dumps(choices[0]))


def several(
    name: str,
    description: str,
    of: Argument,
    *,
    default: Any = REQUIRED,
    most: int = 100,
    example: str = "",
) -> Argument:
    """A list, each item of it read as `of` is; read as a tuple."""

    def read(value: Any) -> tuple[Any, ...]:
        items = _unwrapped(value)
        if not isinstance(items, list):
            raise ValueError(f"expected a list, got {shown(value)}")
        if len(items) > most:
            raise ValueError(f"expected at most {most} items, got {len(items)}")
        return tuple(_read_item(of, index, item) for index, item in enumerate(items))

    schema = {"type": "array", "items": dict(of.schema), "maxItems": most}
    return argument(name, schema, description, read, default, example or f"[{of.example}]")


def argument(
    name: str,
    schema: Mapping[str, Any],
    description: str,
    read: Callable[[Any], Any],
    default: Any = REQUIRED,
    example: str = "",
) -> Argument:
    """The schema is told the description, and the default if it can be written as JSON."""
    full: dict[str, Any] = {**schema, "description": description}
    if default is not REQUIRED and default is not None:
        full["default"] = list(default) if isinstance(default, tuple) else default
    if example:
        full["examples"] = [json.loads(example)]
    return Argument(name, full, read, default, example)


def either(*types: str) -> dict[str, Any]:
    """One of several types, in the form that hosts understand which know no lists of types."""
    return {"anyOf": [{"type": each} for each in types]}


def input_schema(tool: Tool) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {each.name: dict(each.schema) for each in tool.arguments},
        "required": [each.name for each in tool.arguments if each.default is REQUIRED],
        "additionalProperties": False,
        **tool.rules,
    }


def read_arguments(tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
    """All of them, or an InputError that tells every mistake at once."""
    known = {each.name: each for each in tool.arguments}
    problems = [_unknown(name, known) for name in given if name not in known and name not in tool.ignored]
    values: dict[str, Any] = {}
    for each in tool.arguments:
        try:
            values[each.name] = _read(each, given.get(each.name))
        except (ValueError, InputError) as error:
            problems.append(f"{_path(each.name, error)}: {_problem(error)}{_example(each)}")
    if problems:
        raise InputError("", "\n".join(problems))
    return values


def told(tool: Tool, error: FaultkitError) -> str:
    """What a caller reads: with an example, if an argument is to blame and none is in the text yet."""
    text = str(error)
    blamed = _BLAMED.match(text)
    found = next((each for each in tool.arguments if blamed and each.name == blamed[1]), None)
    return text if found is None or found.example in text else f"{text}{_example(found)}"


def shown(value: Any) -> str:
    """What came, short and on one line, for an error."""
    try:
        written = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        written = type(value).__name__
    cut = written if len(written) <= _SHOWN else f"{written[: _SHOWN - 1]}…"
    return cut.encode("utf-8", "replace").decode()


def near(value: Any, known: Iterable[str]) -> str:
    found = get_close_matches(str(value)[:_SHOWN].lower(), list(known), n=1)
    return f'; did you mean "{found[0]}"?' if found else ""


def _read(each: Argument, value: Any) -> Any:
    # Models write null or an empty text for what they leave out.
    if each.default is not REQUIRED and (value is None or value == ""):
        return each.default
    if value is None:
        raise ValueError("is required, got nothing")
    return each.read(value)


def _unwrapped(value: Any) -> Any:
    """Some hosts send a list as the text of one."""
    if not isinstance(value, str) or not value.lstrip().startswith("["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _read_item(of: Argument, index: int, item: Any) -> Any:
    try:
        return of.read(item)
    except InputError as error:
        raise error.within(f"[{index}]") from None
    except ValueError as error:
        raise InputError(f"[{index}]", str(error)) from None


def _path(name: str, error: ValueError | InputError) -> str:
    """An item of a list is named by its place."""
    place = error.path if isinstance(error, InputError) and error.path.startswith("[") else ""
    return f"{name}{place}"


def _problem(error: ValueError | InputError) -> str:
    return error.problem if isinstance(error, InputError) else str(error)


def _example(each: Argument) -> str:
    return f" (for example {each.example})" if each.example else ""


def _unknown(name: str, known: Mapping[str, Argument]) -> str:
    listed = ", ".join(known) or "none"
    return f"{shown(name)}: expected no such argument, but some of {listed}{near(name, known)}"


def _read_file(value: Any) -> str:
    path = _absolute(value, "a file")
    if os.path.isdir(path):
        raise ValueError(f"expected a file, got the folder {shown(path)}")
    _check_there(path)
    return path


def _read_folder(value: Any) -> str:
    path = _absolute(value, "a folder")
    _check_there(path)
    if not os.path.isdir(path):
        raise ValueError(f"expected a folder, got the file {shown(path)}")
    return path


def _absolute(value: Any, what: str) -> str:
    with IMPORTING:
        from faultkit.code.file import local_path

    wanted = f"the absolute path of {what}"
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"expected {wanted}, got {shown(value)}")
    path = local_path(value.strip())
    if "\0" in path or not os.path.isabs(path):
        raise ValueError(f"expected {wanted}, got {shown(value)}")
    return path


def _check_there(path: str) -> None:
    try:
        os.stat(path)
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise ValueError(f"expected a path that is there, got {shown(path)}: {why}") from None


def _read_language(value: Any) -> Any:
    with IMPORTING:
        from faultkit.code.languages import language_named

    if not isinstance(value, str):
        raise ValueError(f"expected the name of a language, got {shown(value)}")
    return language_named(value)


def _read_flag(value: Any) -> bool:
    found = value.strip().lower() if isinstance(value, str) else value
    if found is True or found == "true":
        return True
    if found is False or found == "false":
        return False
    raise ValueError(f"expected true or false, got {shown(value)}")
