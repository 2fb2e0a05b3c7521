"""Any suite file is read, or rejected with the place of the mistake: no input breaks the parser."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faultkit.agents.suite_file import read_suite
from faultkit.base.errors import InputError
from tests.agents.parse.suite_files import write

WHOLE: dict[str, Any] = {
    "servers": {
        "shop": {"mock": "tools.yml"},
        "live": {"command": ["x"], "args": [1], "env": {"A": "b"}, "cwd": "x"},
        "far": {"url": "http://x/", "headers": {"a": "b"}},
    },
    "default_server": "shop",
    "seed": 3,
    "variables": {"n": 3},
    "providers": [{"name": "own", "type": "openai", "base_url": "http://x/", "api_key_env": "KEY"}],
    "faults": [
        {"name": "a", "target": {"tool": "search"}, "kind": "slow", "delay_ms": 3, "trigger": {"first": 1}},
        {"name": "b", "target": {"server": "shop"}, "kind": "schema_drift", "with": {"tools": "s*"}},
        {"name": "c", "spec": "hang@search"},
        "rate_limit%0.5@order",
    ],
    "agents": [
        {
            "name": "one",
            "models": ["claude-x", {"provider": "own", "id": "y"}],
            "prompt": "Do it.",
            "inject": ["a"],
            "recovery": {"max_detection_ms": 1, "max_recovery_ms": 2, "require_clean_timeout": True},
            "orchestration": {"error_recovery": 3},
            "max_turns": 3,
            "time_budget": "3s",
            "tags": ["x"],
            "expect": [{"target": "tool_calls[0].name", "anyOf": [{"exact": 1}, {"not": {"regex": "x"}}]}],
        },
        {
            "name": "two",
            "agent": {"kind": "verifying", "goal": {"tool": "search", "verify": {"tool": "order"}}},
        },
        {
            "name": "three",
            "agent": {
                "script": [{"call": "order", "retry": {"attempts": 2}, "fallback": {"call": "search"}}]
            },
        },
    ],
    "tools": [
        {"name": "four", "tool": "search", "args": {"q": 1}, "expect": [{"numeric": {"between": [1, 2]}}]}
    ],
}
ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "x", "${n}", "${NOSUCH}", "${a:-b}", "hang", "a\nb", "\ud800", " "]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["name", "kind", "tool", "x", "", "a b"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Yield each mapping and list of the document with each of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [pair for key in keys for pair in places(value[key])]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def test_the_document_is_good_as_it_is(folder: Path) -> None:
    assert read_suite(write(folder, json.dumps(WHOLE), "suite.json"), env={})[1] == []


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_value_in_any_place_is_read_or_refused_with_its_file(folder: Path, data: st.DataObject) -> None:
    document = copy.deepcopy(WHOLE)
    home, key = data.draw(st.sampled_from(places(document)))
    home[key] = data.draw(ODD)
    file = write(folder, json.dumps(document), "suite.json")
    suite, problems = read_suite(file, env={})
    assert (suite is None) is bool(problems)
    for problem in problems:
        assert type(problem) is InputError
        assert str(problem).startswith(str(file))
