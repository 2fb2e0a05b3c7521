"""Mappings of a suite, and the keys that mcptest knows there and we do not serve: these are named as such."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit

from faultkit.agents.parse.sheet import Sheet
from faultkit.base.documents.reading import Reading
from faultkit.base.documents.shape import joined, shown
from faultkit.base.documents.values import text
from faultkit.base.errors import InputError

T = TypeVar("T")

_PLAIN = ""
NOT_SERVED_IN_SUITES: dict[str, str] = {
    "auth": "a server's `headers` can carry a token",
    "budget": "each agent test has its own: max_turns, token_budget, max_tool_calls, time_budget …",
    "calibration": _PLAIN,
    "compliance": "`fault edge` probes a server",
    "compositions": _PLAIN,
    "conformance": "`fault edge` probes a server",
    "corpus": _PLAIN,
    "coverage": "`fault test coverage` shows it",
    "defaultTest": _PLAIN,
    "evals": _PLAIN,
    "fixtures": _PLAIN,
    "hooks": _PLAIN,
    "input_responder": _PLAIN,
    "mock_server": "a server is one by `mock:` (a file, or the same mapping)",
    "model_compat": _PLAIN,
    "model_compatibility": _PLAIN,
    "performance": _PLAIN,
    "prompts": _PLAIN,
    "resources": _PLAIN,
    "rubrics": "there are no judges here: say what must hold in `expect`",
    "run_options": "they are options of `fault test`",
    "scenarios": _PLAIN,
    "scorers": "there are no judges here: say what must hold in `expect`",
    "security": _PLAIN,
    "setup": _PLAIN,
    "setup_per_test": _PLAIN,
    "stepwise": _PLAIN,
    "target_versions": _PLAIN,
    "teardown": _PLAIN,
    "tool_quality": _PLAIN,
}
NOT_SERVED_IN_AGENTS: dict[str, str] = dict.fromkeys(
    (
        "context_rot_probe",
        "derivedMetrics",
        "discovery",
        "distractors",
        "equal_function_sets",
        "eval",
        "golden_path",
        "matrix_assert",
        "narrative",
        "stability",
        "threshold",
        "tool_edges",
        "tool_selection",
        "trajectory",
        "trajectory_axes",
        "turns",
    ),
    _PLAIN,
)
NOT_SERVED_IN_ORCHESTRATION: dict[str, str] = dict.fromkeys(
    ("discovery", "efficiency", "parameterization", "syntax"), _PLAIN
)
NOT_SERVED_IN_SERVERS: dict[str, str] = {"cassette": "`mock:` serves a recording of the gateway"}
NOT_SERVED_IN_EXPECT: dict[str, str] = dict.fromkeys(
    ("max_response_tokens", "response_headers", "response_headers_absent"), _PLAIN
)


def opened(
    value: object, keys: Sequence[str], path: str, sheet: Sheet, not_served: Mapping[str, str] | None = None
) -> Reading:
    """A mapping with these keys; all others are noted."""
    known = not_served or {}
    if isinstance(value, Mapping):
        for key in value:
            if key in known:
                sheet.note(joined(path, key), _not_served(known[key]))
        value = {key: each for key, each in value.items() if key not in known}
    return Reading(value, keys, path, sheet.problems)


def _not_served(instead: str) -> str:
    return f"mcptest knows this key, Faultkit does not serve it{f': {instead}' if instead else ''}"


def named(value: object, what: str, path: str, sheet: Sheet) -> list[tuple[str | None, object, str]]:
    """Entries that have names: a mapping of names to entries, or a list of entries with a `name` in each.
    The name, the entry and its path; the name is None where the entry itself has to say it."""
    if isinstance(value, Mapping):
        return [(key, each, joined(path, key)) for key, each in value.items()]
    if isinstance(value, list):
        return [(None, each, f"{path}[{index}]") for index, each in enumerate(value)]
    if value is not None:
        sheet.note(path, f"expected {what} by their names, got {shown(value)}")
    return []


def at_most_one(reading: Reading, *keys: str) -> str | None:
    """Which of these keys is there; a second one is noted."""
    found = [key for key in keys if key in reading.given]
    for key in found[1:]:
        reading.note(key, InputError("", f"expected only one of {', '.join(keys)}, got {found[0]} too"))
    return found[0] if found else None


def list_of(read: Callable[[object], T], what: str) -> Callable[[object], tuple[T, ...]]:
    """One, or a list of them."""

    def read_all(value: object) -> tuple[T, ...]:
        if not isinstance(value, list):
            return (read(value),)
        found: list[T] = []
        for index, each in enumerate(value):
            try:
                one = read(each)
            except InputError as error:
                raise error.within(f"[{index}]") from None
            if one in found:
                raise InputError(f"[{index}]", f"expected each {what} once, got {shown(each)} twice")
            found.append(one)
        return tuple(found)

    return read_all


def texts_by_name(value: object) -> dict[str, str]:
    """Such as an environment or headers; numbers and truth values are taken as they are written."""
    if not isinstance(value, Mapping):
        raise InputError("", f"expected a mapping of names to texts, got {shown(value)}")
    found: dict[str, str] = {}
    for name, each in value.items():
        if not isinstance(each, str | int | float):
            raise InputError(joined("", name), f"expected a text, got {shown(each)}")
        found[name] = each if isinstance(each, str) else shown(each)
    return found


def arguments(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError("", f"expected a mapping of names to values, got {shown(value)}")
    return dict(value)


def url(value: object) -> str:
    given = text(value)
    try:
        parts = urlsplit(given)
        is_sound = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_sound = False
    if not is_sound:
        raise InputError("", f"expected a URL such as http://localhost:8080/mcp, got {shown(value)}")
    return given
