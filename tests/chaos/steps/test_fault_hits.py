"""Hits: a fault that touched nothing makes a run *not exercised*."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from faultkit.base.address import Endpoint
from faultkit.base.errors import RunError
from faultkit.chaos.experiment.experiment_model import Journal, Outcome
from faultkit.chaos.named_faults.chaos_fault import ChaosFault
from faultkit.chaos.named_faults.fault_registry import FaultRegistry
from faultkit.chaos.report.experiment_formats import (
    render_chaos_html,
    render_chaos_markdown,
    render_chaos_text,
)
from faultkit.chaos.report.journal_report import chaos_report
from faultkit.chaos.steps.fault_hits import count_hits
from faultkit.chaos.steps.fault_settings import measured_text, settings_text
from faultkit.chaos.steps.step_work import FaultAtWork
from faultkit.proxy.control.control_client import ControlClient
from faultkit.proxy.plane import Plane
from tests.chaos.stage import Stage, experiment_of

Proxy = tuple[Endpoint, Endpoint, Plane]
SLOW = {"name": "slow", "fault": "latency", "with": {"mean_ms": 1}}


def through(address: Endpoint) -> dict[str, Any]:
    return {
        "tcp": {"address": str(address), "send": "hi"},
        "expect": {"target": "reply", "equals": "hi"},
        "limit": "500ms",
    }


def run(stage: Stage, steady: dict[str, Any], *method: dict[str, Any]) -> Journal:
    document = {"name": "x", "steady_state": [steady], "method": list(method)}
    return stage.run(experiment_of(document, stage.folder))


def change(control: Endpoint, **what: Any) -> dict[str, Any]:
    return {"proxy": {"control": str(control), "token": "secret", **what}}


def put_rule(control: Endpoint, rule: dict[str, Any]) -> None:
    """Put a rule in place for good, as an operator does."""
    assert ControlClient(f"http://{control}", "secret").send("PUT", "/plan", {"rules": [rule]}).status == 200


def hits(journal: Journal) -> dict[str, int | None]:
    return {each["name"]: each["hits"] for each in journal.document["faultkit"]["faults"]}


def test_a_rule_that_touches_nothing_proves_nothing(stage: Stage, echo: Endpoint, proxy: Proxy) -> None:
    _, control, _ = proxy
    journal = run(stage, through(echo), change(control, add=SLOW))  # Past the proxy.
    assert (journal.result.outcome, journal.result.exit_code) == (Outcome.NOT_EXERCISED, 6)
    assert journal.result.success, "the steady state itself held"
    assert journal.result.error == (
        f"Not exercised: slow (latency) at the proxy at {control} touched nothing"
    )
    assert journal.document["faultkit"]["faults"] == [
        {
            "name": "slow",
            "fault": "latency",
            "settings": {"with": {"mean_ms": 1.0}},
            "place": f"the proxy at {control}",
            "hits": 0,
            "why": "",
        }
    ]
    assert journal.document["status"] == "completed"


def test_a_rule_that_acted_is_counted(stage: Stage, proxy: Proxy) -> None:
    bound, control, _ = proxy
    journal = run(stage, through(bound), change(control, add=SLOW))
    assert journal.result.outcome is Outcome.HELD
    assert hits(journal) == {"slow": 1}
    assert journal.document["faultkit"]["warnings"] == []


def test_a_delay_of_zero_is_no_hit(stage: Stage, proxy: Proxy) -> None:
    bound, control, _ = proxy
    none = {"name": "none", "fault": "latency", "with": {"mean_ms": 0}}
    journal = run(stage, through(bound), change(control, add=none))
    assert (journal.result.outcome, hits(journal)) == (Outcome.NOT_EXERCISED, {"none": 0})


def test_an_injected_delay_of_zero_is_no_hit(stage: Stage, echo: Endpoint) -> None:
    stage.registry = FaultRegistry()
    none = {"fault": {"register": "none", "fault_type": "latency", "probability": 1}}
    journal = run(stage, through(echo), none, {"fault": {"inject": "none"}})
    assert (journal.result.outcome, hits(journal)) == (Outcome.NOT_EXERCISED, {"none": 0})
    error = {"fault": {"register": "err", "fault_type": "error", "probability": 1}}
    journal = run(stage, through(echo), error, {"fault": {"inject": "err"}})
    assert (journal.result.outcome, hits(journal)) == (Outcome.HELD, {"err": 1})


def test_a_plan_without_rules_changes_nothing_where_there_are_none(stage: Stage, proxy: Proxy) -> None:
    bound, control, _ = proxy
    empty = {"name": "clear", **change(control, plan={"rules": []})}
    journal = run(stage, through(bound), empty)
    assert (journal.result.outcome, journal.result.exit_code) == (Outcome.NOT_EXERCISED, 6)
    assert journal.result.error == (
        f"Not exercised: nothing was changed by: put a plan (no rules) at the proxy at {control}: "
        "there were none before"
    )
    # Beside an action that may have changed something, it is a way to be sure.
    journal = run(stage, through(bound), empty, {"process": ["/bin/true"]})
    assert journal.result.outcome is Outcome.HELD
    put_rule(control, SLOW)
    assert run(stage, through(bound), empty).result.outcome is Outcome.HELD


def test_a_fault_that_is_not_there_cannot_be_removed(stage: Stage, echo: Endpoint) -> None:
    stage.registry = FaultRegistry()
    journal = run(stage, through(echo), {"fault": {"remove": "nope"}})
    assert journal.result.outcome is Outcome.ABORTED
    assert journal.result.action_error == 'remove fault nope: there is no fault named "nope"'


def test_a_rule_that_the_method_added_is_removed_by_its_name(stage: Stage, proxy: Proxy) -> None:
    bound, control, plane = proxy
    put_rule(control, {"name": "slow", "fault": "jitter", "with": {"amplitude_ms": 1}})
    touched = {"name": "use it", **through(bound)}
    steps = (change(control, add=SLOW), touched, change(control, remove="slow"))
    kinds: list[str] = []
    stage.on_event = lambda event: kinds.extend(
        rule.fault.kind for rule in plane.plan.rules if event.kind == "phase_began"
    )
    journal = run(stage, through(bound), *steps)
    assert (journal.result.outcome, hits(journal)) == (Outcome.HELD, {"slow": 1})
    assert kinds == ["jitter", "jitter", "jitter"], "gate, method and recheck; nothing is left to roll back"
    assert [rule.fault.kind for rule in plane.plan.rules] == ["jitter"], "a rule of others was not touched"


def test_a_rollback_removes_the_rule_that_the_method_added_and_no_other(stage: Stage, proxy: Proxy) -> None:
    bound, control, plane = proxy
    put_rule(control, {"name": "slow", "fault": "jitter", "with": {"amplitude_ms": 1}})
    removal = change(control, remove="slow")
    document = {
        "name": "x",
        "steady_state": [through(bound)],
        "method": [change(control, add=SLOW)],
        "rollback": [removal],
    }
    journal = stage.run(experiment_of(document, stage.folder))
    assert journal.result.outcome is Outcome.HELD
    assert [rule.fault.kind for rule in plane.plan.rules] == ["jitter"]


def test_every_rule_must_act(stage: Stage, proxy: Proxy) -> None:
    bound, control, _ = proxy
    other = {"name": "other", "fault": "jitter", "match": {"proxy": "other"}}
    journal = run(stage, through(bound), change(control, add=SLOW), change(control, add=other))
    assert journal.result.outcome is Outcome.NOT_EXERCISED
    assert hits(journal) == {"slow": 1, "other": 0}


def test_hits_of_an_earlier_run_do_not_count(stage: Stage, echo: Endpoint, proxy: Proxy) -> None:
    bound, control, _ = proxy
    plan = change(control, plan={"rules": [SLOW]})
    assert hits(run(stage, through(bound), plan)) == {"slow": 1}
    assert hits(run(stage, through(echo), plan)) == {"slow": 0}


def test_a_rule_that_the_method_removes_again_keeps_its_hits(stage: Stage, proxy: Proxy) -> None:
    bound, control, _ = proxy
    touched = {"name": "use it", **through(bound)}
    steps = (change(control, plan={"rules": [SLOW]}), touched, change(control, remove="slow"))
    journal = run(stage, through(bound), *steps)
    assert (journal.result.outcome, hits(journal)) == (Outcome.HELD, {"slow": 1})


def test_a_deviation_stays_one_though_a_fault_touched_nothing(stage: Stage, proxy: Proxy) -> None:
    bound, control, _ = proxy
    cut = {"name": "cut", "fault": "refuse"}
    other = {"name": "other", "fault": "jitter", "match": {"proxy": "other"}}
    journal = run(stage, through(bound), change(control, add=cut), change(control, add=other))
    assert journal.result.outcome is Outcome.DEVIATED
    assert (
        f"other (jitter) at the proxy at {control} touched nothing"
        in (journal.document["faultkit"]["warnings"])
    )


CUT = {"name": "cut", "fault": "refuse"}


@pytest.mark.parametrize("how", [{"add": CUT}, {"plan": {"rules": [CUT]}}], ids=["add", "plan"])
def test_a_shut_port_that_nothing_is_known_to_use_proves_nothing(
    stage: Stage, echo: Endpoint, proxy: Proxy, how: dict[str, Any]
) -> None:
    _, control, _ = proxy
    for _ in range(2):  # The port that the first run shut is no use of it in the second.
        journal = run(stage, through(echo), change(control, **how))  # Past the proxy.
        assert (journal.result.outcome, journal.result.exit_code) == (Outcome.NOT_EXERCISED, 6)
        assert hits(journal) == {"cut": 0}
        assert journal.result.error is not None
        assert journal.result.error.startswith(
            f"Not exercised: cut (refuse) at the proxy at {control} is not known to have touched anything: "
        )


@pytest.mark.parametrize("fault_type", ["refuse", "network_partition"])
def test_a_registered_fault_that_shuts_an_unused_port_proves_nothing(
    stage: Stage, echo: Endpoint, proxy: Proxy, fault_type: str
) -> None:
    _, control, _ = proxy
    stage.registry = registry = FaultRegistry(seed=1)
    metadata = {"control": str(control), "token": "secret"}
    registry.register(ChaosFault("cut", fault_type, 1, 30, targets=(str(echo),), metadata=metadata))
    journal = run(stage, through(echo), {"fault": {"inject": "cut"}})
    assert (journal.result.outcome, hits(journal)) == (Outcome.NOT_EXERCISED, {"cut": 0})


def test_a_shut_port_does_not_say_whether_a_client_came(stage: Stage, echo: Endpoint, proxy: Proxy) -> None:
    bound, control, _ = proxy
    with socket.create_connection((bound.host, bound.port)) as client:  # Something uses the proxy.
        client.sendall(b"hi")
        assert client.recv(2, socket.MSG_WAITALL) == b"hi"
    journal = run(stage, through(echo), change(control, add=CUT))
    assert (journal.result.outcome, hits(journal)) == (Outcome.HELD, {"cut": 1})
    (warning,) = journal.document["faultkit"]["warnings"]
    assert warning.startswith(f"cut (refuse) at the proxy at {control} counts shut ports: ")


REGISTER = {"fault": {"register": "f", "fault_type": "error", "probability": 0}}


@pytest.mark.parametrize("method", [[REGISTER], [REGISTER, {"fault": {"inject": "f"}}]], ids=["no", "once"])
def test_a_registered_fault_that_was_never_triggered_proves_nothing(
    stage: Stage, method: list[dict[str, Any]]
) -> None:
    stage.registry = FaultRegistry(seed=1)
    journal = run(stage, {"process": "true"}, *method)
    assert journal.result.outcome is Outcome.NOT_EXERCISED
    assert journal.result.error == "Not exercised: f (error) at the runner touched nothing"


def test_a_registered_fault_at_a_proxy_counts_what_its_rule_touched(stage: Stage, proxy: Proxy) -> None:
    bound, control, _ = proxy
    stage.registry = registry = FaultRegistry(seed=1)
    metadata = {"control": str(control), "token": "secret", "with": {"mean_ms": 1}}
    registry.register(ChaosFault("slow", "latency", 1, 30, metadata=metadata))
    journal = run(stage, through(bound), {"fault": {"inject": "slow"}})
    assert (journal.result.outcome, hits(journal)) == (Outcome.HELD, {"slow": 1})
    (fault,) = journal.document["faultkit"]["faults"]
    assert fault["place"] == f"the control API {control}"
    assert "token" not in fault["settings"]


def test_a_counter_that_does_not_answer_is_not_a_proof() -> None:
    def fails() -> int:
        raise RunError("it is gone")

    (counted,) = asyncio.run(count_hits([FaultAtWork("cut", "blackhole", {}, "the proxy at p:1", fails)]))
    assert (counted.hits, counted.why) == (None, "it is gone")
    assert counted.says == "cut (blackhole) at the proxy at p:1 is not known to have acted: it is gone"


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ({"status": 200, "body": "secret", "elapsed_ms": 12.345}, "status 200, elapsed_ms 12.345"),
        ({"status": "open"}, "status open"),
        (True, "True"),
        (3.5, "3.5"),
        (None, ""),
        ([1, 2], "2 values"),
        ("x" * 61, "x" * 59 + "…"),
    ],
)
def test_reports_show_the_figures_of_a_check(output: object, text: str) -> None:
    assert measured_text(output) == text


def test_the_measured_values_of_checks_that_were_met_are_in_the_reports(stage: Stage, proxy: Proxy) -> None:
    bound, control, _ = proxy
    report = chaos_report("x", [run(stage, through(bound), change(control, add=SLOW)).document], "faultkit")
    assert all(check.measured.startswith("status open, elapsed_ms ") for check in report.runs[0].checks)
    for render in (render_chaos_markdown, render_chaos_html):
        text = render(report).replace("\\", "")
        assert "status open, elapsed_ms " in text
        assert "mean_ms 1" in text
        assert "acted 1 time" in text
    assert f"  fault     slow: latency, mean_ms 1, at the proxy at {control}: acted 1 time\n" in (
        render_chaos_text(report) + "\n"
    )


def test_settings_are_one_line() -> None:
    given = {
        "with": {"mean_ms": 300.0, "statuses": [500, 503]},
        "match": {"side": "client"},
        "schedule": "5s",
    }
    assert settings_text(given) == "mean_ms 300, statuses 500/503, match.side client, schedule 5s"
