"""ChaosSession: the lease of lasting effects, the kill switch, the audit log."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from faultkit.audit.filter import Filter
from faultkit.audit.store_factory import open_store
from faultkit.base.errors import FaultkitError, RunError
from faultkit.chaos.experiment.experiment_file import load_experiment
from faultkit.chaos.experiment.experiment_model import Outcome
from faultkit.chaos.named_faults.chaos_fault import ChaosFault
from faultkit.chaos.safety.lease import Lease
from faultkit.chaos.safety.ledger import Ledger
from faultkit.chaos.safety.undo import Undo
from faultkit.chaos.session import ChaosSession, ChaosSettings
from tests.chaos.waiting import until

HOG = ChaosFault("hog", "resource_exhaustion", 1, metadata={"resource": "descriptors", "amount": 8})


@pytest.fixture
def settings(tmp_path: Path) -> ChaosSettings:
    return ChaosSettings(tmp_path / "state", str(tmp_path / "audit.db"), tmp_path / "chaos", lease_s=5.0)


@pytest.fixture
def session(settings: ChaosSettings) -> Iterator[ChaosSession]:
    with ChaosSession(settings) as opened:
        yield opened


def states(ledger: Ledger) -> list[str]:
    return [ledger.state_of(view) for view in ledger.views()]


def test_a_lease_is_there_as_long_as_an_effect_lasts(session: ChaosSession) -> None:
    session.register(HOG)
    assert states(session.ledger) == []
    assert asyncio.run(session.inject("hog")).was_triggered
    assert states(session.ledger) == ["running"]
    session.remove("hog")
    assert states(session.ledger) == ["over"]
    asyncio.run(_injected_again(session))
    assert states(session.ledger) == ["over", "running"]
    session.close()
    assert states(session.ledger) == ["over", "over"]


async def _injected_again(session: ChaosSession) -> None:
    session.register(HOG)
    await session.inject("hog")


def test_the_kill_switch_ends_what_lasts(session: ChaosSession) -> None:
    asyncio.run(_injected_again(session))
    session.kill_switch.pull("enough")
    until(lambda: states(session.ledger) == ["over"])
    assert session.registry.states() == []
    with pytest.raises(RunError, match="the kill switch is pulled"):
        session.register(HOG)


def test_the_kill_switch_lets_delayed_callers_continue(session: ChaosSession) -> None:
    session.register(ChaosFault("slow", "latency", 1, duration_s=600))

    def pull() -> None:
        until(session.registry.active)
        session.kill_switch.pull("enough")

    pulling = threading.Thread(target=pull)
    pulling.start()
    with pytest.raises(RunError, match="the kill switch is pulled"):
        asyncio.run(session.inject("slow"))
    pulling.join()
    assert session.registry.active() == []


def test_a_lease_that_others_have_ended_takes_the_effects_with_it(session: ChaosSession) -> None:
    asyncio.run(_injected_again(session))
    [view] = session.ledger.views()
    session.ledger.undo_left(view.id, by="recover")
    session.ledger.end(view.id, "undone by recover")
    until(lambda: session.registry.states() == [])


def test_an_experiment_does_not_run_twice_at_once(session: ChaosSession, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(
        "name: a\nsteady_state: [{process: ['true']}]\nmethod: [{pause: 200ms}, {process: ['true']}]\n"
    )
    experiment = load_experiment(file)

    async def both() -> tuple[object, ...]:
        return tuple(
            await asyncio.gather(session.run(experiment), session.run(experiment), return_exceptions=True)
        )

    first, second = asyncio.run(both())
    assert getattr(first, "result", None) is not None
    assert isinstance(second, RunError)
    assert "running already" in str(second)
    assert asyncio.run(session.run(experiment)).result.outcome is Outcome.HELD


def test_two_processes_that_run_one_experiment_at_once_are_warned(
    session: ChaosSession, tmp_path: Path
) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("name: a\nsteady_state: [{process: ['true']}]\nmethod: []\n")
    other = session.ledger.open("experiment a", guarded=False)
    journal = asyncio.run(session.run(load_experiment(file)))
    other.end("held")
    assert journal.document["faultkit"]["warnings"] == [
        "another process ran this experiment at the same time: each met the faults of the other"
    ]
    assert asyncio.run(session.run(load_experiment(file))).document["faultkit"]["warnings"] == []


@pytest.mark.parametrize("left", [False, True])
def test_a_defect_of_the_runner_is_a_result_that_says_what_is_left(
    session: ChaosSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: bool
) -> None:
    async def fails(experiment: object, *, lease: Lease, **more: object) -> None:
        if left:
            lease.intend(Undo("command", {"argv": ["true"]}, "mend it"))
        raise KeyError("a defect")

    file = tmp_path / "a.yaml"
    file.write_text("name: a\nsteady_state: [{process: ['true']}]\nmethod: []\n")
    monkeypatch.setattr("faultkit.chaos.session.run_experiment", fails)
    result = asyncio.run(session.run(load_experiment(file))).result
    assert (result.outcome, result.rollback_ok) == (
        (Outcome.ROLLBACK_FAILED, False) if left else (Outcome.ABORTED, True)
    )
    assert str(result.error).startswith("Stopped: unexpected KeyError: 'a defect'")
    assert ("mend it" in str(result.error)) is left
    assert [each.result for each in session.history.results()] == [result]


@pytest.mark.parametrize(("act", "ok"), [("true", True), ("false", False)])
def test_a_run_that_was_aborted_is_an_error_in_the_audit_log(
    session: ChaosSession, tmp_path: Path, act: str, ok: bool
) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(f"name: a\nsteady_state: [{{process: ['true']}}]\nmethod: [{{process: ['{act}']}}]\n")
    asyncio.run(session.run(load_experiment(file)))
    (row,) = session._store.events(Filter(tool="chaos.run")).rows
    assert row.success is ok


def test_what_cannot_be_run_is_not_kept(session: ChaosSession, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("name: a\nenvironment: moon\nsteady_state: [{process: ['true']}]\nmethod: []\n")
    journal = asyncio.run(session.run(load_experiment(file)))
    assert journal.result.outcome is Outcome.INVALID
    assert session.history.totals().runs == 0


def test_a_history_that_cannot_be_written_costs_no_result(
    session: ChaosSession, settings: ChaosSettings, tmp_path: Path
) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("name: a\nsteady_state: [{process: ['true']}]\nmethod: [{process: ['true']}]\n")
    Path(settings.store).unlink()
    Path(settings.store).mkdir()
    journal = asyncio.run(session.run(load_experiment(file)))
    assert journal.result.outcome is Outcome.HELD
    warnings = journal.document["faultkit"]["warnings"]
    assert [each.partition(":")[0] for each in warnings] == [
        "not kept in the history",
        "not everything is in the audit log",
    ]


def test_without_a_store_nothing_begins(settings: ChaosSettings, tmp_path: Path) -> None:
    (tmp_path / "audit.db").write_text("this is no database, and never was one")
    with pytest.raises(FaultkitError, match=r"audit\.db"):
        ChaosSession(settings)


def test_what_others_undid_is_in_the_log_once(settings: ChaosSettings) -> None:
    ledger = Ledger(settings.state_dir)
    lease = ledger.open("a run that dies", guarded=False)
    lease.intend(Undo("command", {"argv": ["true"]}, "say so"))
    ledger.undo_left(lease.id, by="guardian")
    lease.end("undone")
    for _ in range(2):
        ChaosSession(settings).close()
    with open_store(settings.store) as store:
        [row] = store.all()
    assert (row.tool_name, row.success, row.source) == ("chaos.undo", True, "guardian")
    assert '"say so"' in (row.parameters or "")
