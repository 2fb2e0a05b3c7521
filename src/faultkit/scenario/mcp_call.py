"""The keys of a call of an MCP tool: the server, the tool and its arguments. Nothing is started here."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import get_args

from faultkit.base.documents.checks import join_path, shown
from faultkit.base.documents.key_tables import Key, KeyTable, Schema, given, never_both
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import TEXT_SCHEMA, choice, text
from faultkit.base.errors import InputError
from faultkit.faults.call_fault import Era

COMMAND = "a program with its arguments, as a list of texts or as one text"
TOOL = "the name of a tool"
ERAS: tuple[str, ...] = get_args(Era)
_OF_COMMANDS = ("env", "cwd")


def read_command(value: object) -> tuple[str, ...]:
    """Read a program with its arguments; one text is split as a shell does, without running any."""
    if isinstance(value, str):
        try:
            words = shlex.split(value)
        except ValueError as error:
            raise InputError("", f"expected {COMMAND}, got {shown(value)}: {str(error).lower()}") from None
    elif isinstance(value, list) and all(isinstance(each, str) for each in value):
        words = value
    else:
        raise InputError("", f"expected {COMMAND}, got {shown(value)}")
    if not words or not words[0]:
        raise InputError("", f"expected {COMMAND}, got none")
    for word in words:
        if "\0" in word:
            raise InputError("", f"expected words without NUL, got {shown(word)}")
    return tuple(words)


def read_folder(value: object) -> str:
    """Read the folder in which a program runs."""
    folder = text(value)
    if "\0" in folder:
        raise InputError("", f"expected a folder without NUL in its name, got {shown(folder)}")
    return folder


def read_environment(value: object) -> tuple[tuple[str, str], ...]:
    """Read variables of the environment."""
    if not isinstance(value, Mapping):
        raise InputError("", f"expected a mapping of names to texts, got {shown(value)}")
    for name, each in value.items():
        if not isinstance(name, str) or not name or "=" in name or "\0" in name:
            raise InputError("", f"expected names of variables, got {shown(name)}")
        if not isinstance(each, str) or "\0" in each:
            raise InputError(join_path("", name), f"expected a text in quotes, got {shown(each)}")
    return tuple(value.items())


def read_arguments(value: object) -> str:
    """Read the arguments of a tool; return them as JSON."""
    if not isinstance(value, Mapping):
        raise InputError("", f"expected a mapping of names to values, got {shown(value)}")
    if not all(isinstance(name, str) for name in value):
        raise InputError("", "expected texts as the names of arguments, got others")
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        raise InputError("", "expected values that JSON has, got others (text needs quotes)") from None


def check_server(reader: MappingReader) -> None:
    """Report a server with neither a command nor a URL, with both, or with keys of the other kind."""
    if reader.at_most_one("command", "url") is None and reader.sound:
        reader.problems.append(InputError(reader.path, "expected a command or a url, got neither"))
    if "url" in reader.given:
        for key in _OF_COMMANDS:
            if key in reader.given:
                reader.note(key, InputError("", "expected it beside a command only, got it beside a url"))


def _one_of_both() -> Schema:
    return {"anyOf": [given("command"), given("url")], "allOf": [never_both("command", "url")]}


MCP = KeyTable(
    Key(
        "command",
        read_command,
        {"anyOf": [TEXT_SCHEMA, {"type": "array", "minItems": 1, "items": {"type": "string"}}]},
        (),
        "The program of a server over stdio. Each client starts one.",
    ),
    Key("url", schema=TEXT_SCHEMA, help="The endpoint of a server over streamable HTTP."),
    Key(
        "env",
        read_environment,
        {"type": "object", "additionalProperties": {"type": "string"}},
        (),
        "Variables for the program, besides those of this process.",
    ),
    Key(
        "cwd",
        read_folder,
        TEXT_SCHEMA,
        help="The folder in which the program runs; by default the present one.",
    ),
    Key(
        "era",
        choice(ERAS),
        {"enum": list(ERAS)},
        "legacy",
        "Legacy: sessions that initialize opens (up to 2025-11-25). Modern: without sessions (2026-07-28).",
    ),
    rules=_one_of_both,
)
