"""The chaos tools through the SDK's client: examples and rules of their specification, hostile input."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from mcp.client.client import Client

from faultkit.agent_tools.argument_kinds import read_arguments
from faultkit.agent_tools.chaos_tools import (
    CHAOS_TOOLS,
    DURATION_S,
    FAULT_TYPES,
    LONGEST_S,
    MESSAGE,
    PROBABILITY,
)
from faultkit.agent_tools.listed_schemas import input_schema
from faultkit.agent_tools.tool import Services
from faultkit.agent_tools.tool_runner import ToolRunner
from faultkit.base.errors import InputError
from faultkit.chaos.named_faults.chaos_fault import LONGEST_S as LIBRARY_LONGEST_S
from faultkit.chaos.named_faults.chaos_fault import SPECIFIED_TYPES, ChaosFault
from faultkit.chaos.safety.chaos_limits import Limits
from faultkit.chaos.session import ChaosSettings
from tests.agent_tools.chaos_server import ERAS, FAIL, KILL, KILL_CACHE, UNDO, Server, inject, seed_examples
from tests.agent_tools.chaos_server import server as server
from tests.agent_tools.schema_values import junk

# --- the examples, as printed ---------------------------------------------------------------------


@pytest.mark.parametrize("mode", ERAS)
def test_every_example_of_the_specification_has_its_documented_result(server: Server, mode: str) -> None:
    server.mode = mode
    (register, inject, run, status) = seed_examples()
    assert server.ok(*register)["status"] == "registered"
    injected = server.ok(*inject)
    assert (injected["status"], injected["fault_name"], injected["fault_type"]) == (
        "injected",
        "slow-database",
        "latency",
    )
    assert injected["was_triggered"] is (injected["effect"] is not None)
    ran = server.ok(*run)
    assert {key: ran[key] for key in ("experiment_name", "success", "error")} == {
        "experiment_name": "kill-cache",
        "success": True,
        "error": None,
    }
    assert ran["steady_state_before"] is ran["steady_state_after"] is True
    assert ran["duration_seconds"] > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", ran["started_at"])
    told = server.ok(*status)
    [fault] = told["active_faults"]
    assert (fault["name"], fault["fault_type"], fault["probability"]) == ("slow-database", "latency", 0.3)
    assert (told["registered_experiments"], told["total_runs"], told["success_rate"]) == (1, 1, 1.0)
    assert [result["experiment_name"] for result in told["results"]] == ["kill-cache"]


def test_the_arguments_of_the_seed_are_the_arguments_and_their_defaults_hold() -> None:
    inject = input_schema(CHAOS_TOOLS["chaos_inject_fault"])
    names = ["fault_name", "action", "fault_type", "probability", "duration_seconds", "error_message"]
    assert list(inject["properties"])[:6] == names
    assert inject["required"] == ["fault_name", "action"]
    assert inject["properties"]["action"]["enum"] == ["register", "inject", "remove"]
    run, status = (input_schema(CHAOS_TOOLS[name]) for name in ("chaos_run_experiment", "chaos_status"))
    assert run["required"] == ["experiment_name"]
    assert run["properties"]["dry_run"]["default"] is False
    assert status["required"] == []
    assert list(status["properties"]) == ["include_results", "experiment_name"]
    usual = ChaosFault("x", "error")
    assert (usual.probability, usual.duration_s, usual.error_message) == (PROBABILITY, DURATION_S, MESSAGE)
    assert (FAULT_TYPES, LONGEST_S) == (SPECIFIED_TYPES, LIBRARY_LONGEST_S)


def test_annotations_tell_the_truth(server: Server) -> None:
    async def scene(client: Client) -> list[types.Tool]:
        return (await client.list_tools()).tools

    hints = {each.name: each.annotations for each in server.play(scene)}
    for name in ("chaos_inject_fault", "chaos_run_experiment"):
        assert (hints[name].read_only_hint, hints[name].destructive_hint) == (False, True)
        assert hints[name].idempotent_hint is False
    status = hints["chaos_status"]
    assert (status.read_only_hint, status.destructive_hint, status.idempotent_hint) == (True, False, True)


# --- error handling -------------------------------------------------------------------------------


def test_a_fault_that_is_not_there_cannot_be_injected(server: Server) -> None:
    assert 'there is no fault named "ghost"' in server.error(*inject("ghost", "inject"))
    result = server.call(*inject("ghost", "inject")).structured_content
    assert result is not None
    assert (result["fault_name"], result["fault_type"]) == ("ghost", None)


def test_a_fault_that_is_not_there_can_be_removed_unless_one_is_strict(server: Server) -> None:
    assert server.ok(*inject("ghost", "remove")) == {
        "status": "removed",
        "fault_name": "ghost",
        "fault_type": None,
        "existed": False,
    }
    assert "no fault named" in server.error(*inject("ghost", "remove", strict=True))


def test_register_wants_a_fault_type(server: Server) -> None:
    assert server.error(*inject("x", "register")).startswith("fault_type: is required")
    schema = input_schema(CHAOS_TOOLS["chaos_inject_fault"])
    assert not Draft202012Validator(schema).is_valid({"fault_name": "x", "action": "register"})
    assert Draft202012Validator(schema).is_valid({"fault_name": "x", "action": "inject"})


@pytest.mark.parametrize("wrong", [-0.1, 1.1, 2, 10**400, True, "0.5", [0.5]])
def test_a_probability_outside_of_0_to_1_is_an_error_and_so_is_what_is_no_number(
    server: Server, wrong: object
) -> None:
    error = server.error(*inject("x", "register", fault_type="error", probability=wrong))
    assert error.startswith("probability: expected a number from 0 to 1, got ")
    assert server.ok("chaos_status", {})["active_faults"] == []


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", ["probability", "duration_seconds", "ttl_seconds"])
def test_what_json_cannot_even_say_is_no_number(name: str, wrong: float) -> None:
    with pytest.raises(InputError, match=f"{name}: expected a number from 0"):
        read_arguments(
            CHAOS_TOOLS["chaos_inject_fault"], {"fault_name": "x", "action": "inject", name: wrong}
        )


@pytest.mark.parametrize("fine", [0, 1, 0.0, 1.0])
def test_the_ends_are_probabilities(server: Server, fine: float) -> None:
    server.ok(*inject("x", "register", fault_type="error", probability=fine))
    assert server.ok(*inject("x", "inject"))["was_triggered"] is bool(fine)


@pytest.mark.parametrize("wrong", [-1, False, "2", 1e9])
def test_a_duration_is_a_number_from_0(server: Server, wrong: object) -> None:
    error = server.error(*inject("x", "register", fault_type="latency", duration_seconds=wrong))
    assert error.startswith("duration_seconds: expected a number from 0 to 86400")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"action": "explode"}, "action: expected one of register, inject, remove"),
        ({"action": "register", "fault_type": "latncy"}, 'did you mean "latency"?'),
        ({"action": "register", "fault_type": "network_partition"}, "targets: expected at least one"),
        ({"action": "inject", "seed": 7}, "seed: expected it only with action register"),
        ({"action": "register", "fault_type": "error", "call_id": 7}, "call_id: expected it only with"),
        ({"action": "inject", "colour": "red"}, '"colour": expected no such argument'),
        ({"action": None}, "action: is required"),
    ],
)
def test_wrong_arguments_say_what_was_expected(server: Server, more: dict[str, Any], said: str) -> None:
    assert said in server.error("chaos_inject_fault", {"fault_name": "x", **more})


def test_an_unknown_experiment_is_an_error_of_the_tool(server: Server) -> None:
    error = server.error("chaos_run_experiment", {"experiment_name": "kill-cash"})
    assert error.startswith('experiment_name: unknown experiment "kill-cash"; did you mean "kill-cache"?')


def test_a_system_that_is_not_steady_is_left_alone(server: Server) -> None:
    (server.settings.experiments / "broken").touch()
    ran = server.ok("chaos_run_experiment", {"experiment_name": "kill-cache"})
    assert (ran["success"], ran["steady_state_before"], ran["outcome"]) == (False, False, "gate_not_met")
    assert ran["error"] == "System not in steady state before experiment"
    assert ran["warnings"] == ["steady_state_after is false because the steady state was not checked then"]
    assert not (server.settings.experiments / "killed").exists()


def test_a_failed_rollback_follows_a_semicolon_in_the_error(server: Server) -> None:
    server.write("a.yaml", KILL_CACHE.replace(UNDO, FAIL).replace("kill-cache", "a"))
    ran = server.ok("chaos_run_experiment", {"experiment_name": "a"})
    assert ran["error"].startswith("Action completed; Rollback failed: ")
    assert ran["error"].count("; Rollback failed: ") == 1
    assert (ran["success"], ran["rollback_ok"], ran["outcome"]) == (False, False, "rollback_failed")


def test_an_action_that_fails_comes_first_and_is_no_success(server: Server) -> None:
    text = KILL_CACHE.replace(UNDO, FAIL).replace(KILL, FAIL)
    server.write("a.yaml", text.replace("kill-cache", "a"))
    ran = server.ok("chaos_run_experiment", {"experiment_name": "a"})
    assert re.match(r"Action failed: kill: .*the cache laughs; Rollback failed: ", ran["error"])
    assert (ran["success"], ran["steady_state_after"]) == (False, True)
    assert "the cache laughs" in ran["action_error"]


def test_an_aborted_run_is_no_success(server: Server) -> None:
    server.write("a.yaml", KILL_CACHE.replace(KILL, FAIL).replace("kill-cache", "a"))
    ran = server.ok("chaos_run_experiment", {"experiment_name": "a"})
    assert (ran["success"], ran["outcome"]) == (False, "aborted")


def test_a_deviation_is_no_success_and_the_rollback_restores(server: Server) -> None:
    server.write("a.yaml", KILL_CACHE.replace(KILL, "process: [touch, broken]").replace("kill-cache", "a"))
    ran = server.ok("chaos_run_experiment", {"experiment_name": "a"})
    assert (ran["success"], ran["steady_state_before"], ran["steady_state_after"]) == (False, True, False)
    assert ran["error"] is None
    assert ran["reasons"][0].startswith("recheck: healthy")
    assert not (server.settings.experiments / "broken").exists()


def test_a_wrong_file_is_a_problem_and_does_not_hide_the_others(server: Server) -> None:
    server.write("b.yaml", "name: b\nsteady: []\n")
    told = server.ok("chaos_status", {})
    assert told["registered_experiments"] == 1
    assert "b.yaml" in told["problems"][0]
    assert "b.yaml" in server.error("chaos_run_experiment", {"experiment_name": "b"})


def test_without_anything_arrays_are_empty_and_results_come_only_if_asked_for(tmp_path: Path) -> None:
    settings = ChaosSettings(tmp_path / "state", str(tmp_path / "audit.db"), tmp_path / "nowhere")
    empty = Server(settings, Services(chaos=lambda: settings))
    told = empty.ok("chaos_status", {})
    assert "results" not in told
    assert (told["active_faults"], told["registered_experiments"], told["total_runs"]) == ([], 0, 0)
    assert (told["success_rate"], told["proven_runs"], told["success_percent"]) == (0.0, 0, None)
    assert empty.ok("chaos_status", {"include_results": True})["results"] == []
    empty.services.close()


# --- idempotency ----------------------------------------------------------------------------------


def test_to_register_again_overwrites(server: Server) -> None:
    server.ok(*inject("x", "register", fault_type="latency", probability=0.5))
    server.ok(*inject("x", "register", fault_type="error", probability=1))
    [fault] = server.ok("chaos_status", {})["active_faults"]
    assert (fault["fault_type"], fault["probability"]) == ("error", 1.0)


def test_to_inject_again_rolls_again_and_to_remove_again_does_no_harm(server: Server) -> None:
    server.ok(*inject("x", "register", fault_type="error", probability=0.5, seed=7))
    rolls = [server.ok(*inject("x", "inject"))["roll"] for _ in range(5)]
    assert len(set(rolls)) == 5
    assert [server.ok(*inject("x", "remove"))["existed"] for _ in range(2)] == [True, False]


def test_each_run_counts_and_status_changes_nothing(server: Server) -> None:
    for _ in range(2):
        server.ok("chaos_run_experiment", {"experiment_name": "kill-cache"})
    told = [server.ok("chaos_status", {"include_results": True}) for _ in range(2)]
    assert told[0] == told[1]
    assert told[0]["total_runs"] == 2


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

    @settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(arguments(name))
    def holds(given: dict[str, Any]) -> None:
        schema.validate(anyio.run(answer, given).structured)

    try:
        holds()
    finally:
        services.close()
