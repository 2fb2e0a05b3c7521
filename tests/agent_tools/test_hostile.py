"""Random and hostile arguments for the tools about code: always a result, never a crash."""

from __future__ import annotations

import os
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faultkit.agent_tools.code_tools import CODE_TOOLS
from faultkit.agent_tools.tool import Services, Tool, ToolResult
from faultkit.agent_tools.tool_runner import ToolFailure, ToolRunner
from faultkit.code import local_path

ODD: tuple[Any, ...] = (
    *("", " ", "/", "/etc/passwd", "/dev/zero", "file:///", "file://\0", "../..", "/" + "a" * 5000, "\ud800"),
    *(None, True, -1, 0, 10**400, 1e308, float("nan"), [], {}, [[]], {"a": {"b": []}}, "0.5", "python"),
)
CODE = (
    "def f(:\n",
    "@" * 3000,
    "(" * 3000,
    "import httpx\nasync def f():\n    while True:\n        httpx.get(x)\n",
    "func main() { http.Get(url) }",
    "class A { void m() { } }",
    "\x00\x01",
    "```\n--- a\n+++ b\n```",
)


def values_of(tool: Tool) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy of arguments that fit, nearly fit, or do not fit at all."""
    usual = {
        "lang": st.sampled_from(["python", "go", "java", "tsx", "c", "klingon"]),
        "snippet": st.sampled_from(CODE) | st.text(max_size=200),
        "file": st.just(__file__),
        "func": st.sampled_from(["values_of", "absent", "f:3", ":", "a" * 999]),
        "score": st.floats() | st.just("0.3"),
        "target_score": st.floats() | st.just("1"),
        "concerns": st.lists(st.sampled_from(["threat", "reliability", "x"]), max_size=3),
    }
    hostile = st.sampled_from(ODD) | st.text(max_size=40)
    known = {
        each.name: st.one_of(hostile, *([usual[each.name]] * 4 if each.name in usual else []))
        for each in tool.arguments
    }
    extra = st.dictionaries(st.text(max_size=10), hostile, max_size=1)
    return st.tuples(st.fixed_dictionaries({}, optional=known), extra).map(
        lambda both: {**both[1], **both[0]}
    )


def leads_nowhere(values: dict[str, Any]) -> bool:
    """Skip calls that would index the whole machine, which is allowed but takes long."""
    place = values.get("source_dir")
    return not (isinstance(place, str) and "\0" not in place and os.path.isdir(local_path(place.strip())))


async def silent(done: float, of: float | None, message: str) -> None:
    pass


@pytest.mark.parametrize("tool", CODE_TOOLS, ids=lambda tool: tool.name)
def test_whatever_a_model_sends_there_is_an_answer(tool: Tool, tmp_path_factory: Any) -> None:
    services = Services(index_dir=str(tmp_path_factory.mktemp("index")))

    @settings(max_examples=20, suppress_health_check=list(HealthCheck))
    @given(values_of(tool).filter(leads_nowhere))
    def check(values: dict[str, Any]) -> None:
        outcome = anyio.run(ToolRunner(services).run, tool, values, silent)
        assert isinstance(outcome, (ToolResult, ToolFailure))
        assert outcome.text.encode()
        crashed = isinstance(outcome, ToolFailure) and outcome.text.startswith("unexpected ")
        assert not crashed, outcome.text

    check()
