"""Kinds of arguments: the schema that a model sees, and how its value is read.

Models send `null` for arguments that they leave out, lists as text, and paths as URIs: all of that is
accepted. Any other value raises an InputError that names the argument, what was expected, what was sent, and
an example. Slow modules are imported only when an argument is read.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from faultkit.agent_tools.tool import IMPORT_LOCK, REQUIRED, Argument, Tool
from faultkit.base.errors import FaultkitError, InputError
from faultkit.base.files import path_within
from faultkit.base.text import did_you_mean, shortened

LANGUAGE_NAMES = (
    "python, javascript, typescript, tsx, go, rust, java, ruby, c, cpp, csharp, php, kotlin, swift, scala, "
    "bash"
)
"""The names of `faultkit.code.LANGUAGES`, repeated because that takes long to import; a test compares
them."""
RULE_LANGUAGES = "python, javascript, typescript, tsx, go, java, rust, csharp, kotlin"
"""The languages of `faultkit.code.facts.build.GRAMMARS`, which the offline rules know; repeated likewise."""
LONGEST_TEXT = 2_000_000
_SHOWN = 60
_BLAMED = re.compile(r"([a-z_]+)(?:\[\d+\]|\.[^:]*)?: ")
"""The beginning of an error that names an argument, or an item or member of it."""


def text(
    name: str,
    description: str,
    *,
    default: Any = REQUIRED,
    example: str = "",
    longest: int = LONGEST_TEXT,
    may_be_blank: bool = False,
) -> Argument:
    """Return an argument that accepts a text of bounded length."""

    def read(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f"expected a text, got {brief_json(value)}")
        if not may_be_blank and not value.strip():
            raise ValueError("expected a text, got nothing")
        if len(value) > longest:
            raise ValueError(f"expected at most {longest} characters, got {len(value)}")
        return value

    return argument(name, {"type": "string"}, description, read, default, example)


def file(name: str, description: str, *, default: Any = REQUIRED) -> Argument:
    """Return an argument for the path of an existing file."""
    found = argument(name, {"type": "string"}, description, _read_file, default, '"/home/me/project/app.py"')
    return replace(found, path_of="a file")


def folder(name: str, description: str, *, default: Any = REQUIRED) -> Argument:
    """Return an argument for the path of an existing folder."""
    found = argument(name, {"type": "string"}, description, _read_folder, default, '"/home/me/project"')
    return replace(found, path_of="a folder")


def file_or_folder(name: str, description: str, *, default: Any = REQUIRED) -> Argument:
    """Return an argument for the path of an existing file or folder."""
    found = argument(name, {"type": "string"}, description, _read_path, default, '"/home/me/project"')
    return replace(found, path_of="a file or folder")


def language(name: str, description: str, *, default: Any = REQUIRED) -> Argument:
    """Return an argument for a language, read as a `faultkit.code.Language`.

    The names are in the instructions of the server, and in the error for any other name."""
    return argument(name, {"type": "string"}, description, _read_language, default, '"python"')


def flag(name: str, description: str, *, default: Any = REQUIRED) -> Argument:
    """Return an argument for true or false."""
    return argument(name, {"type": "boolean"}, description, _read_flag, default, "true")


def choice(
    name: str, description: str, choices: Sequence[str], *, default: Any = REQUIRED, example: str = ""
) -> Argument:
    """Return an argument for one of a few words, in upper or lower case."""
    by_lower = {each.lower(): each for each in choices}

    def read(value: Any) -> str:
        found = by_lower.get(value.strip().lower()) if isinstance(value, str) else None
        if found is None:
            raise ValueError(
                f"expected one of {', '.join(choices)}, got {brief_json(value)}{suggestion(value, by_lower)}"
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
    """Return an argument for a list whose items are read like `of`; the result is a tuple."""

    def read(value: Any) -> tuple[Any, ...]:
        items = _unwrapped(value)
        if not isinstance(items, list):
            raise ValueError(f"expected a list, got {brief_json(value)}")
        if len(items) > most:
            raise ValueError(f"expected at most {most} items, got {len(items)}")
        return tuple(_read_item(of, index, item) for index, item in enumerate(items))

    items = {key: value for key, value in of.schema.items() if key not in ("description", "examples")}
    schema = {"type": "array", "items": items, "maxItems": most}
    return argument(name, schema, description, read, default, example or f"[{of.example}]")


def argument(
    name: str,
    schema: Mapping[str, Any],
    description: str,
    read: Callable[[Any], Any],
    default: Any = REQUIRED,
    example: str = "",
) -> Argument:
    """Return an argument whose schema includes the description, and the default or else the example.

    A default shows the form of a value as well, as do choices. An empty default is not listed."""
    full: dict[str, Any] = {**schema, "description": description}
    if default is not REQUIRED and default not in (None, "", ()):
        full["default"] = list(default) if isinstance(default, tuple) else default
    elif example and "enum" not in full:
        full["examples"] = [json.loads(example)]
    return Argument(name, full, read, default, example)


def either(*types: str) -> dict[str, Any]:
    """Return a schema of one of several types. Some hosts do not support a list under `type`."""
    return {"anyOf": [{"type": each} for each in types]}


def read_arguments(tool: Tool, given: Mapping[str, Any], root: str | None = None) -> dict[str, Any]:
    """Return all arguments. Raises one InputError with every mistake.

    root: the folder in which paths must be; None: they may be anywhere"""
    known = {each.name: each for each in tool.arguments}
    problems = [_unknown(name, known) for name in given if name not in known and name not in tool.ignored]
    values: dict[str, Any] = {}
    for each in tool.arguments:
        try:
            values[each.name] = _read(each, given.get(each.name), root)
        except InputError as error:
            # An error in a list begins with the index of the wrong item.
            place = error.path if error.path.startswith("[") else ""
            problems.append(f"{each.name}{place}: {error.problem}{_example(each)}")
        except ValueError as error:
            problems.append(f"{each.name}: {error}{_example(each)}")
    if problems:
        raise InputError("", "\n".join(problems))
    return values


def message_with_example(tool: Tool, error: FaultkitError) -> str:
    """Return the text of an error, with an example if it names an argument and has none yet."""
    text = str(error)
    blamed = _BLAMED.match(text)
    found = next((each for each in tool.arguments if blamed and each.name == blamed[1]), None)
    return text if found is None or found.example in text else f"{text}{_example(found)}"


def brief_json(value: Any) -> str:
    """Return a value as JSON on one short line, for an error."""
    try:
        written = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        written = type(value).__name__
    return shortened(written, _SHOWN).encode("utf-8", "replace").decode()


def suggestion(value: Any, known: Iterable[str]) -> str:
    """Return `; did you mean "…"?`, or an empty text."""
    return did_you_mean(str(value)[:_SHOWN].lower(), known)


def _read(each: Argument, value: Any, root: str | None) -> Any:
    # Models send null or an empty text for arguments that they leave out.
    if each.default is not REQUIRED and (value is None or value == ""):
        return each.default
    if value is None:
        raise ValueError("is required, got nothing")
    if each.path_of and root is not None:
        # Checked before anything else looks at the path. What follows uses it with its links resolved.
        value = within_root(_absolute(value, each.path_of), root)
    return each.read(value)


def within_root(path: str, root: str) -> str:
    """Return the path with its links resolved; raise ValueError if it is not in the server's root folder."""
    try:
        return path_within(path, root)
    except ValueError as error:
        raise ValueError(
            f"{error}, the root folder of this server (--root), got {brief_json(path)}"
        ) from None


def _unwrapped(value: Any) -> Any:
    """Parse a list that was sent as text, which some hosts do."""
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


def _example(each: Argument) -> str:
    return f" (for example {each.example})" if each.example else ""


def _unknown(name: str, known: Mapping[str, Argument]) -> str:
    listed = ", ".join(known) or "none"
    return f"{brief_json(name)}: expected no such argument, but some of {listed}{suggestion(name, known)}"


def _read_file(value: Any) -> str:
    path = _absolute(value, "a file")
    if os.path.isdir(path):
        raise ValueError(f"expected a file, got the folder {brief_json(path)}")
    _check_there(path)
    return path


def _read_folder(value: Any) -> str:
    path = _absolute(value, "a folder")
    _check_there(path)
    if not os.path.isdir(path):
        raise ValueError(f"expected a folder, got the file {brief_json(path)}")
    return path


def _read_path(value: Any) -> str:
    path = _absolute(value, "a file or folder")
    _check_there(path)
    return path


def _absolute(value: Any, what: str) -> str:
    with IMPORT_LOCK:
        from faultkit.code.source_files import local_path

    wanted = f"the absolute path of {what}"
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"expected {wanted}, got {brief_json(value)}")
    path = local_path(value.strip())
    if "\0" in path or not os.path.isabs(path):
        raise ValueError(f"expected {wanted}, got {brief_json(value)}")
    return path


def _check_there(path: str) -> None:
    try:
        os.stat(path)
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise ValueError(f"expected a path that is there, got {brief_json(path)}: {why}") from None


def _read_language(value: Any) -> Any:
    with IMPORT_LOCK:
        from faultkit.code.languages import language_named

    if not isinstance(value, str):
        raise ValueError(f"expected the name of a language, got {brief_json(value)}")
    return language_named(value)


def _read_flag(value: Any) -> bool:
    found = value.strip().lower() if isinstance(value, str) else value
    if found is True or found == "true":
        return True
    if found is False or found == "false":
        return False
    raise ValueError(f"expected true or false, got {brief_json(value)}")


# --- numbers ---------------------------------------------------------------------------------------


def number(
    name: str,
    description: str,
    *,
    default: Any = REQUIRED,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
    example: str = "",
) -> Argument:
    """Return an argument for a finite number. `minimum` and `maximum` are inclusive, `above` is not."""
    schema = {"type": "number", **_bounds(minimum, maximum, above)}
    wanted = f"a number{_range(minimum, maximum, above)}"

    def read(value: Any) -> float:
        found = _number(value)
        if found is None or not _is_within(found, minimum, maximum, above):
            raise ValueError(f"expected {wanted}, got {brief_json(value)}")
        return float(found)

    return argument(name, schema, description, read, default, example)


def whole(
    name: str,
    description: str,
    *,
    default: Any = REQUIRED,
    minimum: int | None = None,
    maximum: int | None = None,
    example: str = "",
) -> Argument:
    """Return an argument that accepts a whole number in a range."""
    schema = {"type": "integer", **_bounds(minimum, maximum, None)}
    wanted = f"a whole number{_range(minimum, maximum, None)}"

    def read(value: Any) -> int:
        found = _number(value)
        if found is None or found != int(found) or not _is_within(found, minimum, maximum, None):
            raise ValueError(f"expected {wanted}, got {brief_json(value)}")
        return int(found)

    return argument(name, schema, description, read, default, example)


def _number(value: Any) -> float | int | None:
    if isinstance(value, str):
        try:
            value = float(value.strip())
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:
        return None


def _is_within(found: float, minimum: float | None, maximum: float | None, above: float | None) -> bool:
    return (
        (minimum is None or found >= minimum)
        and (maximum is None or found <= maximum)
        and (above is None or found > above)
    )


def _bounds(minimum: float | None, maximum: float | None, above: float | None) -> dict[str, float]:
    bounds = {"minimum": minimum, "maximum": maximum, "exclusiveMinimum": above}
    return {name: value for name, value in bounds.items() if value is not None}


def _range(minimum: float | None, maximum: float | None, above: float | None) -> str:
    if above is not None:
        return f" above {above:g}" + (f" and at most {maximum:g}" if maximum is not None else "")
    if minimum is not None and maximum is not None:
        return f" from {minimum:g} to {maximum:g}"
    if minimum is not None:
        return f" of at least {minimum:g}"
    return f" of at most {maximum:g}" if maximum is not None else ""
