"""The chaos tools where their specification contradicts itself; their safety; and long runs."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import anyio
import pytest
from mcp.client.client import Client

from faultkit.audit.store_factory import open_store
from faultkit.chaos.safety.chaos_limits import Limits
from faultkit.chaos.safety.kill_switch import KillSwitch
from tests.agent_tools.chaos_server import ERAS, KILL_CACHE, Server, inject
from tests.agent_tools.chaos_server import server as server

# --- contradictions of the specification ----------------------------------------------------------


def test_an_error_fault_returns_its_exception_and_the_server_keeps_running(server: Server) -> None:
    server.ok(*inject("db", "register", fault_type="error", probability=1, error_message="DB unavailable"))
    effect = server.ok(*inject("db", "inject"))["effect"]
    assert (effect["raised"], effect["message"]) == ("InjectedFault", "DB unavailable")
    settings: dict[str, Any] = {"probability": 1, "duration_seconds": 0.01}
    server.ok(*inject("db", "register", fault_type="timeout", **settings))
    effect = server.ok(*inject("db", "inject"))["effect"]
    assert effect["raised"] == "TimeoutError"
    assert effect["slept_seconds"] >= 0.01


def test_only_inject_returns_was_triggered(server: Server) -> None:
    assert "was_triggered" not in server.ok(*inject("x", "register", fault_type="error"))
    assert "was_triggered" in server.ok(*inject("x", "inject"))
    assert "was_triggered" not in server.ok(*inject("x", "remove"))


def test_the_same_seed_gives_the_same_sequence_and_a_call_id_picks_one_of_it(server: Server) -> None:
    def sequence() -> list[float]:
        server.ok(*inject("x", "register", fault_type="error", probability=0.5, seed="s"))
        return [server.ok(*inject("x", "inject"))["roll"] for _ in range(3)]

    first = sequence()
    assert sequence() == first
    assert server.ok(*inject("x", "inject", call_id=1))["roll"] == first[1]


def test_a_dry_run_checks_once_and_is_neither_kept_nor_counted(server: Server) -> None:
    ran = server.ok("chaos_run_experiment", {"experiment_name": "kill-cache", "dry_run": True})
    assert (ran["dry_run"], ran["success"]) == (True, True)
    assert ran["steady_state_before"] is ran["steady_state_after"] is True
    assert [step["phase"] for step in ran["plan"]] == ["gate", "method", "recheck"]
    assert not (server.settings.experiments / "killed").exists()
    assert server.ok("chaos_status", {})["total_runs"] == 0


def test_status_of_one_experiment_counts_only_that_one(server: Server) -> None:
    server.write("a.yaml", KILL_CACHE.replace("kill-cache", "a"))
    server.ok("chaos_run_experiment", {"experiment_name": "a"})
    (server.settings.experiments / "broken").touch()
    server.ok("chaos_run_experiment", {"experiment_name": "kill-cache"})
    told = server.ok("chaos_status", {"experiment_name": "a", "include_results": True})
    assert (told["total_runs"], told["success_rate"], told["registered_experiments"]) == (1, 1.0, 1)
    assert [each["experiment_name"] for each in told["results"]] == ["a"]
    both = server.ok("chaos_status", {})
    assert (both["total_runs"], both["proven_runs"]) == (2, 1), "the other was not steady to begin with"
    assert (both["success_rate"], both["success_percent"]) == (1.0, 100.0)
    absent = server.ok("chaos_status", {"experiment_name": "absent", "include_results": True})
    assert (absent["total_runs"], absent["registered_experiments"], absent["results"]) == (0, 0, [])
    near = server.ok("chaos_status", {"experiment_name": "kill-cahce"})
    assert near["warnings"] == ['there is no experiment named "kill-cahce"; did you mean "kill-cache"?']
    assert "warnings" not in told


def test_history_outlives_the_server(server: Server) -> None:
    server.ok("chaos_run_experiment", {"experiment_name": "kill-cache"})
    server.ok(*inject("x", "register", fault_type="error"))
    server.restart()
    told = server.ok("chaos_status", {"include_results": True})
    assert (told["total_runs"], len(told["results"]), told["active_faults"]) == (1, 1, [])


def test_an_experiment_that_is_out_of_time_is_rolled_back(server: Server) -> None:
    text = KILL_CACHE.replace("kill-cache", "a") + "  - pause: 10s\nlimits: {max_duration: 300ms}\n"
    server.write("a.yaml", text)
    ran = server.ok("chaos_run_experiment", {"experiment_name": "a"})
    assert (ran["outcome"], ran["rollback_ok"]) == ("aborted", True)
    assert not (server.settings.experiments / "killed").exists()


# --- safety ---------------------------------------------------------------------------------------


def test_nothing_begins_while_the_kill_switch_is_pulled(server: Server) -> None:
    server.ok(*inject("x", "register", fault_type="error", probability=1))
    KillSwitch(server.settings.state_dir).pull("it is Friday")
    for call in (
        inject("y", "register", fault_type="error"),
        inject("x", "inject"),
        ("chaos_run_experiment", {"experiment_name": "kill-cache"}),
    ):
        assert "the kill switch is pulled: nothing new begins (it is Friday)" in server.error(*call)
    assert server.ok("chaos_status", {})["stopped"] == "it is Friday"
    assert server.ok(*inject("x", "remove"))["existed"] is True


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"fault_type": "latency", "duration_seconds": 601}, "duration_seconds: expected at most 600"),
        ({"fault_type": "error", "ttl_seconds": 3601}, "ttl_seconds: expected a number from 0 to 3600"),
        ({"fault_type": "network_partition", "targets": ["example.com:443"]}, "targets[0]"),
        (
            {"fault_type": "resource_exhaustion", "metadata": {"resource": "memory", "amount": 2048}},
            "metadata.amount: expected at most 1024 MiB",
        ),
    ],
)
def test_no_argument_raises_a_limit(server: Server, more: dict[str, Any], said: str) -> None:
    assert said in server.error(*inject("x", "register", **more))


def test_in_production_nothing_is_broken(server: Server) -> None:
    settings = replace(server.settings, limits=Limits(environment="production"))
    server.services.chaos = lambda: settings
    assert "production" in server.error(*inject("x", "register", fault_type="error"))
    assert "production" in server.error("chaos_run_experiment", {"experiment_name": "kill-cache"})
    assert server.ok("chaos_status", {})["total_runs"] == 0


def test_a_fault_with_a_ttl_is_gone_after_it(server: Server) -> None:
    server.ok(*inject("x", "register", fault_type="error", ttl_seconds=0))
    assert server.ok("chaos_status", {})["active_faults"] == []


def test_everything_is_an_audit_row_and_no_secret_is_in_it(server: Server) -> None:
    hidden = {"control": "127.0.0.1:9", "token": "hush"}
    settings: dict[str, Any] = {"fault_type": "blackhole", "metadata": hidden}
    server.ok(*inject("x", "register", **settings))
    server.error(*inject("ghost", "inject"))
    server.ok(*inject("x", "remove"))
    server.ok("chaos_run_experiment", {"experiment_name": "kill-cache"})
    server.services.close()
    with open_store(server.settings.store) as store:
        rows = list(store.all())
    assert [(row.tool_name, row.success) for row in rows] == [
        ("chaos.register", True),
        ("chaos.inject", False),
        ("chaos.remove", True),
        ("chaos.run", True),
        ("chaos.undo", True),
    ]
    assert not any("hush" in (row.parameters or "") for row in rows)
    assert {row.tool_group for row in rows} == {"chaos"}
    assert rows[-1].source == "owner"


# --- long runs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ERAS)
def test_a_run_reports_progress(server: Server, mode: str) -> None:
    server.mode = mode
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async def scene(client: Client) -> None:
        arguments = {"experiment_name": "kill-cache"}
        await client.call_tool("chaos_run_experiment", arguments, progress_callback=hear)

    server.play(scene)
    values = [done for done, _, _ in heard]
    assert values == sorted(set(values))
    assert heard[-1] == (3.0, 3.0, "done: held")


@pytest.mark.parametrize("mode", ERAS)
def test_to_cancel_a_run_rolls_it_back(server: Server, mode: str) -> None:
    server.mode = mode
    text = (
        KILL_CACHE.replace("kill-cache", "a")
        + '  - {name: hang, process: [sh, -c, "touch hanging; sleep 30"]}\n'
    )
    server.write("a.yaml", text)
    folder = server.settings.experiments
    ended = threading.Event()

    async def scene(client: Client) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "chaos_run_experiment", {"experiment_name": "a"})
            while not (folder / "hanging").exists():  # noqa: ASYNC110
                await anyio.sleep(0.01)
            assert (folder / "killed").exists()
            group.cancel_scope.cancel()
        while (folder / "killed").exists():  # noqa: ASYNC110
            await anyio.sleep(0.01)
        ended.set()

    server.play(scene)
    assert ended.is_set()
    results = server.ok("chaos_status", {"include_results": True})["results"]
    assert [(each["outcome"], each["rollback_ok"]) for each in results] == [("aborted", True)]


def test_to_cancel_an_injection_lets_it_go(server: Server) -> None:
    server.ok(*inject("x", "register", fault_type="latency", probability=1, duration_seconds=600))

    async def scene(client: Client) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, *inject("x", "inject"))
            while True:
                told = (await client.call_tool("chaos_status", {})).structured_content
                assert told is not None
                if told["active_faults"][0]["active"]:
                    break
            group.cancel_scope.cancel()
        while True:
            told = (await client.call_tool("chaos_status", {})).structured_content
            assert told is not None
            if not told["active_faults"][0]["active"]:
                return

    server.play(scene)
