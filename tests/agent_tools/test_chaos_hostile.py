"""Whatever arguments come, a chaos tool answers with what its schema says, and breaks nothing for long."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from faultkit.agent_tools.chaos.chaos_tools import CHAOS_TOOLS
from faultkit.agent_tools.framework.tool import Services
from faultkit.agent_tools.framework.tool_runner import ToolRunner
from faultkit.chaos.safety.chaos_limits import Limits
from faultkit.chaos.session import ChaosSettings
from tests.agent_tools.schema_values import junk

FAIR: dict[str, st.SearchStrategy[Any]] = {
    "fault_name": st.sampled_from(["a", "b", "a b"]),
    "action": st.sampled_from(["register", "inject", "remove", "INJECT"]),
    "fault_type": st.sampled_from(["latency", "error", "timeout", "network_partition", "blackhole"]),
    "probability": st.floats(0, 1),
    "duration_seconds": st.floats(0, 0.01),
    "error_message": st.text(max_size=5),
    "seed": st.integers() | st.text(max_size=3),
    "call_id": st.integers() | st.text(max_size=3),
    "ttl_seconds": st.floats(0, 100),
    "targets": st.lists(st.sampled_from(["127.0.0.1:9", "example.com:1", "x"]), max_size=2),
    "metadata": st.dictionaries(st.sampled_from(["mode", "control", "raises"]), junk(), max_size=2),
    "strict": st.booleans(),
    "experiment_name": st.sampled_from(["one", "two"]),
    "dry_run": st.booleans(),
    "include_results": st.booleans(),
}


def arguments(name: str) -> st.SearchStrategy[dict[str, Any]]:
    names = [each.name for each in CHAOS_TOOLS[name].arguments]
    needed = {each: FAIR[each] for each in names[:2] if name == "chaos_inject_fault"}
    fair = st.fixed_dictionaries(needed, optional={each: FAIR[each] for each in names if each not in needed})
    odd = st.dictionaries(st.sampled_from(names) | st.text(max_size=5), junk(), max_size=2)
    return st.tuples(fair, st.just({}) | odd).map(lambda both: {**both[0], **both[1]})


@pytest.mark.parametrize("name", CHAOS_TOOLS)
def test_there_is_always_an_answer_that_keeps_its_schema(name: str, tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("name: one\nsteady_state: [{tcp: '127.0.0.1:9'}]\nmethod: []\n")
    limits = Limits(most_duration_s=0.01)
    place = ChaosSettings(tmp_path / "state", str(tmp_path / "audit.db"), tmp_path, limits)
    services = Services(chaos=lambda: place)
    tool, schema = CHAOS_TOOLS[name], Draft202012Validator(CHAOS_TOOLS[name].output)

    async def silent(done: float, of: float | None, message: str) -> None:
        pass

    async def answer(given: dict[str, Any]) -> Any:
        with anyio.fail_after(30):
            return await ToolRunner(services).run(tool, given, silent)

    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(arguments(name))
    def holds(given: dict[str, Any]) -> None:
        schema.validate(anyio.run(answer, given).structured)

    try:
        holds()
    finally:
        services.close()
