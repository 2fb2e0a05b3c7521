"""Rollbacks while others change the same: runs on one proxy, the kill switch, faults registered before."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from faultkit.base.address import Endpoint
from faultkit.base.process_identity import birth_of
from faultkit.chaos.experiment.experiment_model import Outcome
from faultkit.chaos.named_faults.chaos_fault import ChaosFault
from faultkit.chaos.named_faults.fault_registry import FaultRegistry
from faultkit.chaos.steps.function_steps import PythonCall
from faultkit.chaos.steps.step_work import StepContext
from faultkit.plan import parse_plan
from faultkit.proxy.control.control_client import ControlClient
from faultkit.proxy.control.control_server import ControlServer
from faultkit.proxy.plane import Plane
from tests.chaos.stage import Stage, experiment_of

LASTING = {"name": "slow", "fault": "latency", "with": {"mean_ms": 1}}
THEIRS = {"name": "theirs", "fault": "refuse"}
OURS = {"seed": 9, "rules": [{"name": "ours", "fault": "blackhole"}]}


@pytest.fixture
def api() -> Iterator[ControlClient]:
    """Yield the client of a proxy that has one permanent rule."""
    with Plane(parse_plan({"rules": [LASTING]})) as plane:
        with ControlServer(plane, Endpoint("127.0.0.1", 0), "secret") as control:
            yield ControlClient(f"http://{control.bound}", "secret")


def rules(api: ControlClient) -> dict[str, bool]:
    """Return the names of the rules, and whether each is temporary."""
    return {name: ends is not None for name, ends in api.status()["expires_in_s"].items()}


def run(stage: Stage, step: dict[str, Any], when_done: Callable[[], object] = lambda: None) -> Any:
    """Run an experiment of one action; call `when_done` right after the action."""

    def on_event(event: Any) -> None:
        if event.kind == "action_ended":
            when_done()

    stage.on_event = on_event
    method = [{"name": "act", **step}]
    document = {"name": "x", "steady_state": [{"process": ["/bin/true"]}], "method": method}
    return stage.run(experiment_of(document, stage.folder))


def change(api: ControlClient, **what: Any) -> dict[str, Any]:
    return {"proxy": {"control": api.url, "token": "secret", **what}}


def test_a_plan_that_is_put_back_makes_no_rule_of_another_run_permanent(
    stage: Stage, api: ControlClient
) -> None:
    api.add_rule(THEIRS, 60)
    states: list[dict[str, bool]] = []
    result = run(stage, change(api, plan=OURS), lambda: states.append(rules(api))).result
    assert (result.outcome, result.rollback_ok) == (Outcome.NOT_EXERCISED, True)
    assert states == [{"ours": True}]
    assert rules(api) == {"slow": False}


def test_a_rule_that_another_run_adds_meanwhile_stays_for_its_time(stage: Stage, api: ControlClient) -> None:
    journal = run(stage, change(api, plan=OURS), lambda: api.add_rule(THEIRS, 60))
    assert journal.result.rollback_ok
    assert rules(api) == {"slow": False, "theirs": True}


def test_a_plan_over_a_temporary_one_loses_nothing_of_the_plan_below(
    stage: Stage, api: ControlClient
) -> None:
    base = api.plan()
    api.put_plan({"rules": [THEIRS]}, 600)
    states: list[dict[str, bool]] = []

    def the_other_ends() -> None:
        states.append(rules(api))
        api.put_plan(base, 0)

    assert run(stage, change(api, plan=OURS), the_other_ends).result.rollback_ok
    assert states == [{"ours": True}]
    assert rules(api) == {"slow": False}


def test_only_the_rule_that_was_removed_is_added_again(stage: Stage, api: ControlClient) -> None:
    api.add_rule(THEIRS, 60)
    journal = run(stage, change(api, remove="slow"), lambda: api.remove_rule("theirs"))
    assert journal.result.rollback_ok
    assert rules(api) == {"slow": False}


def test_a_rule_of_another_run_that_was_removed_is_not_made_permanent(
    stage: Stage, api: ControlClient
) -> None:
    api.add_rule(THEIRS, 60)
    journal = run(stage, change(api, remove="theirs"))
    assert (journal.result.outcome, journal.result.rollback_ok) == (Outcome.HELD, True)
    assert rules(api) == {"slow": False}


REGISTER = {"fault": {"register": "a", "fault_type": "error"}}


def test_a_fault_is_put_back_though_the_kill_switch_is_pulled(stage: Stage) -> None:
    stage.registry = FaultRegistry(seed=1, kill_switch=stage.kill_switch)
    before = ChaosFault("a", "latency", 0.5)
    stage.registry.register(before)
    result = run(stage, REGISTER, lambda: stage.kill_switch.pull("now")).result
    assert result.rollback_ok
    assert stage.registry.get("a") == before


@pytest.mark.parametrize("step", [REGISTER, {"fault": {"remove": "a"}}], ids=["register", "remove"])
def test_a_fault_that_was_there_keeps_its_end_and_its_counters(stage: Stage, step: dict[str, Any]) -> None:
    stage.registry = registry = FaultRegistry(seed=1)
    registry.register(ChaosFault("a", "error", 1.0), ttl_s=300)
    registry.inject("a")
    assert run(stage, step).result.rollback_ok
    (state,) = registry.states()
    assert (state.calls, state.times_triggered, state.fault.probability) == (1, 1, 1.0)
    assert state.expires_in_s is not None
    assert 290 < state.expires_in_s <= 300


@pytest.mark.parametrize("key", ["method", "rollback"])
def test_a_request_that_acts_goes_only_where_the_limits_allow(stage: Stage, key: str) -> None:
    document = {"name": "x", "steady_state": [{"process": ["/bin/true"]}], "method": []}
    post = {"http": {"url": "http://10.1.2.3/x", "method": "POST"}}
    result = stage.run(experiment_of({**document, key: [post]}, stage.folder)).result
    assert result.outcome is Outcome.INVALID
    assert str(result.error).startswith(f'{key}[0].http.url: "10.1.2.3:80" is not among the targets')


def test_an_undo_looks_for_its_function_where_its_step_does(stage: Stage) -> None:
    scene = StepContext(stage.folder, stage.limits, None, None, None, "", lambda: 0.0, 0.0)  # type: ignore[arg-type]
    path = PythonCall("a", "b").undo(scene, 1.0).data["path"]
    known = dict.fromkeys(folder or str(Path.cwd()) for folder in sys.path)
    assert path == [*known, str(stage.folder)]


def test_a_process_that_has_ended_is_not_lost_with_those_it_left_behind(stage: Stage) -> None:
    script = "sleep 60 & echo $! > pid; exit 0"
    document = {
        "name": "x",
        "steady_state": [{"process": ["/bin/true"]}],
        "method": [
            {"name": "web", "start": ["sh", "-c", script]},
            {"process": ["sh", "-c", "until test -s pid; do sleep 0.02; done"]},
        ],
    }
    assert stage.run(experiment_of(document, stage.folder)).result.rollback_ok
    assert birth_of(int((stage.folder / "pid").read_text())) is None
