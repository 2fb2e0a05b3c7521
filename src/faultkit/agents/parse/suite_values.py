"""Values that several mappings of a suite share: their readers and JSON Schemas, and unsupported keys.

mcptest, whose suites Faultkit reads, has keys that Faultkit does not support. They are reported as such, not
as unknown keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

from faultkit.agents.parse.suite_source import SuiteSource
from faultkit.base.documents.checks import join_path, shown
from faultkit.base.documents.key_tables import Schema
from faultkit.base.documents.values import TEXT_SCHEMA, text
from faultkit.base.errors import InputError

T = TypeVar("T")

TEXTS_SCHEMA: Schema = {"anyOf": [TEXT_SCHEMA, {"type": "array", "items": TEXT_SCHEMA, "uniqueItems": True}]}
WORDS_SCHEMA: Schema = {"type": "array", "items": {"type": ["string", "number"]}}
COMMAND_SCHEMA: Schema = {"anyOf": [TEXT_SCHEMA, {**WORDS_SCHEMA, "minItems": 1}]}
BY_NAME_SCHEMA: Schema = {
    "type": "object",
    "additionalProperties": {"type": ["string", "number", "boolean"]},
}
ARGUMENTS_SCHEMA: Schema = {"type": "object", "description": "The arguments of the call."}
URL_SCHEMA: Schema = {"type": "string", "pattern": r"^https?://[^/]|\$\{"}

_NO_HINT = ""
_HINTS_IN_SUITES: dict[str, str] = {
    "auth": "each server with a URL has its own: `auth: {bearer_token_env: NAME}`",
    "calibration": _NO_HINT,
    "compositions": _NO_HINT,
    "corpus": _NO_HINT,
    "defaultTest": _NO_HINT,
    "evals": _NO_HINT,
    "fixtures": _NO_HINT,
    "hooks": _NO_HINT,
    "input_responder": _NO_HINT,
    "mock_server": "a server with `mock:` (a file, or the same mapping) is one",
    "prompts": _NO_HINT,
    "resources": _NO_HINT,
    "rubrics": "no language model judges here: state what must hold in `expect`",
    "run_options": "use the options of `fault test`",
    "scorers": "no language model judges here: state what must hold in `expect`",
    "setup": _NO_HINT,
    "setup_per_test": _NO_HINT,
    "stepwise": _NO_HINT,
    "target_versions": _NO_HINT,
    "teardown": _NO_HINT,
    "tool_quality": _NO_HINT,
}
LANES: dict[str, str] = {
    "compliance": "`fault edge` probes a server",
    "security": "nothing here scans the texts of tools",
    "conformance": "`fault edge` probes a server",
    "scenarios": "a test of an agent with a `goal` judges what it did",
    "model_compat": "`fault test rank --vary` compares models",
    "model_compatibility": "`models` of a test runs it with each of them",
    "coverage": "`fault test coverage` shows it, with --threshold",
    "performance": "`max_duration_ms` limits a call, `fault scenario` measures a load",
}
"""Parts of mcptest's suites that are loaded and not run, each with what Faultkit has for its purpose."""
_HINTS_IN_AGENTS: dict[str, str] = dict.fromkeys(
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
    _NO_HINT,
)
_HINTS_IN_ORCHESTRATION: dict[str, str] = dict.fromkeys(
    ("discovery", "efficiency", "parameterization", "syntax"), _NO_HINT
)
_NO_LOGIN = "Faultkit does not log in: put a token into a variable, and name that by bearer_token_env"
_HINTS_IN_AUTH: dict[str, str] = dict.fromkeys(
    ("basic", "client_credentials", "oauth", "oauth2", "token", "type"), _NO_LOGIN
)
_HINTS_IN_SERVERS: dict[str, str] = {"cassette": "`mock:` serves a recording of the gateway"}
_HINTS_IN_EXPECT: dict[str, str] = dict.fromkeys(("response_headers", "response_headers_absent"), _NO_HINT)


def _unsupported(hints: Mapping[str, str]) -> dict[str, str]:
    """Return the error message for each key."""
    problem = "a key of mcptest that Faultkit does not support"
    return {key: f"{problem}: {hint}" if hint else problem for key, hint in hints.items()}


UNSUPPORTED_IN_SUITES = _unsupported(_HINTS_IN_SUITES)
UNSUPPORTED_IN_AGENTS = _unsupported(_HINTS_IN_AGENTS)
UNSUPPORTED_IN_ORCHESTRATION = _unsupported(_HINTS_IN_ORCHESTRATION)
UNSUPPORTED_IN_SERVERS = _unsupported(_HINTS_IN_SERVERS)
UNSUPPORTED_IN_AUTH = _unsupported(_HINTS_IN_AUTH)
UNSUPPORTED_IN_EXPECT = _unsupported(_HINTS_IN_EXPECT)


def named_entries(
    value: object, what: str, path: str, source: SuiteSource
) -> list[tuple[str | None, object, str]]:
    """Return the name, the value and the path of each entry of a mapping by names, or of a list.

    The name is None in a list, where each entry has a key `name`.
    """
    if isinstance(value, Mapping):
        return [(key, each, join_path(path, key)) for key, each in value.items()]
    if isinstance(value, list):
        return [(None, each, f"{path}[{index}]") for index, each in enumerate(value)]
    if value is not None:
        source.note(path, f"expected {what} by their names, got {shown(value)}")
    return []


def list_of(read: Callable[[object], T], what: str) -> Callable[[object], tuple[T, ...]]:
    """Return a reader of one value or of a list of different values."""

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
    """Return the texts of an environment or of headers, by name. Numbers and booleans become texts."""
    if not isinstance(value, Mapping):
        raise InputError("", f"expected a mapping of names to texts, got {shown(value)}")
    found: dict[str, str] = {}
    for name, each in value.items():
        if not isinstance(each, str | int | float):
            raise InputError(join_path("", name), f"expected a text, got {shown(each)}")
        found[name] = each if isinstance(each, str) else shown(each)
    return found


def arguments(value: object) -> dict[str, Any]:
    """Return the arguments of a call."""
    if not isinstance(value, Mapping):
        raise InputError("", f"expected a mapping of names to values, got {shown(value)}")
    return dict(value)


def url(value: object) -> str:
    """Return the URL of a server."""
    address = text(value)
    try:
        parts = urlsplit(address)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_url = False
    if not is_url:
        raise InputError("", f"expected a URL such as http://localhost:8080/mcp, got {shown(value)}")
    return address
