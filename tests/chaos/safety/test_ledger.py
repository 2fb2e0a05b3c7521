"""Leases with real files, locks and processes that are killed."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.address import Endpoint
from faultkit.base.errors import RunError
from faultkit.chaos.safety.lease import Intent, Lease, parse_lease
from faultkit.chaos.safety.ledger import Ledger
from faultkit.chaos.safety.recovery import recover
from faultkit.chaos.safety.undo import Undo, UndoResult, undo_document
from faultkit.plan import Plan
from faultkit.proxy.control.control_client import ControlClient
from faultkit.proxy.control.control_server import ControlServer
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.plane import Plane

OWNER = """
import sys, time
from pathlib import Path
from faultkit.chaos.safety.ledger import Ledger
from faultkit.chaos.safety.undo import Undo, UndoResult
state, marks, lease_s, guarded = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]), sys.argv[4] == "1"
lease = Ledger(state).open("a test", lease_s, guarded=guarded)
for name in ("first", "second"):
    lease.intend(Undo("command", {"argv": ["sh", "-c", f"echo {name} >> {marks}"]}, f"mark {name}"))
print(lease.id, lease.guardian_pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def owners(tmp_path: Path) -> Iterator[Callable[..., tuple[subprocess.Popen[str], str, str]]]:
    """Yield a function that starts an owner, which intends two effects and then hangs."""
    running: list[subprocess.Popen[str]] = []

    def start(lease_s: float = 60.0, guarded: bool = True) -> tuple[subprocess.Popen[str], str, str]:
        argv = [
            sys.executable,
            "-c",
            OWNER,
            str(tmp_path),
            str(marks(tmp_path)),
            str(lease_s),
            str(int(guarded)),
        ]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout is not None
        lease, guardian = process.stdout.readline().split()
        return process, lease, guardian

    yield start
    for process in running:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def marks(tmp_path: Path) -> Path:
    return tmp_path / "marks"


def until(what: Callable[[], bool], within_s: float = 20.0) -> None:
    deadline = time.monotonic() + within_s
    while not what():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)


def undo_all(lease: Lease) -> list[UndoResult]:
    """Undo every effect of a lease, the last one first. Ids are numbers from 1."""
    return [lease.undo(str(number)) for number in range(len(lease.left), 0, -1)]


def command(script: str) -> Undo:
    return Undo("command", {"argv": ["sh", "-c", script]}, script)


def test_the_owner_undoes_last_first_and_leaves_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    lease = ledger.open("me", guarded=False)
    for name in ("one", "two", "three"):
        lease.intend(command(f"echo {name} >> {marks(tmp_path)}"))
    assert ledger.state_of(ledger.view(lease.id)) == "running"
    assert [result.ok for result in undo_all(lease)] == [True] * 3
    lease.end("held")
    assert marks(tmp_path).read_text() == "three\ntwo\none\n"
    assert ledger.state_of(ledger.view(lease.id)) == "over"
    assert recover(ledger) == []


def test_a_failing_undo_does_not_stop_the_others_and_is_left_for_recover(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    lease = ledger.open("me", guarded=False)
    lease.intend(command(f"echo done >> {marks(tmp_path)}"))
    lease.intend(command(f"test -e {tmp_path / 'mended'}"))
    assert [result.ok for result in undo_all(lease)] == [False, True]
    lease.end("rollback_failed")
    assert ledger.state_of(ledger.view(lease.id)) == "left"
    (before,) = recover(ledger)
    assert (before.found, before.ok) == ("left", False)
    (tmp_path / "mended").touch()
    (after,) = recover(ledger)
    assert (after.found, after.ok, len(after.undone)) == ("left", True, 1)
    assert recover(ledger) == []
    assert marks(tmp_path).read_text() == "done\n"


def test_a_lease_that_recover_cannot_undo_does_not_say_that_it_did(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    lease = ledger.open("me", guarded=False)
    lease.intend(command("false"))
    (recovered,) = recover(ledger, also_running=True)
    assert not recovered.ok
    assert ledger.view(lease.id).ended == "not undone by recover"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_when_the_owner_dies_the_guardian_undoes_last_first(
    tmp_path: Path, owners: Callable[..., tuple[subprocess.Popen[str], str, str]], number: signal.Signals
) -> None:
    process, id, _ = owners()
    process.send_signal(number)
    process.wait()
    ledger = Ledger(tmp_path)
    until(lambda: ledger.view(id).ended is not None)
    assert ledger.view(id).ended == "undone by the guardian: its owner is gone"
    assert marks(tmp_path).read_text() == "second\nfirst\n"
    assert {intent.by for intent in ledger.view(id).intents} == {"guardian"}
    assert recover(ledger) == []


def test_a_lease_that_its_hung_owner_does_not_renew_is_undone(
    tmp_path: Path, owners: Callable[..., tuple[subprocess.Popen[str], str, str]]
) -> None:
    process, id, _ = owners(lease_s=1.0)
    ledger = Ledger(tmp_path)
    until(lambda: ledger.view(id).ended is not None)
    assert process.poll() is None
    assert ledger.view(id).ended == "undone by the guardian: the lease lapsed"
    assert marks(tmp_path).read_text() == "second\nfirst\n"


def test_when_owner_and_guardian_are_both_killed_recover_undoes_and_reports(
    tmp_path: Path, owners: Callable[..., tuple[subprocess.Popen[str], str, str]]
) -> None:
    process, id, guardian = owners()
    os.kill(int(guardian), signal.SIGKILL)
    process.kill()
    process.wait()
    ledger = Ledger(tmp_path)
    assert ledger.state_of(ledger.view(id)) == "orphaned"
    (found,) = recover(ledger)
    assert (found.lease.id, found.found, found.ok) == (id, "orphaned", True)
    assert [undo.says for undo, _ in found.undone] == ["mark second", "mark first"]
    assert marks(tmp_path).read_text() == "second\nfirst\n"
    assert recover(ledger) == []


def test_recover_reports_a_running_lease_and_does_not_touch_it(
    tmp_path: Path, owners: Callable[..., tuple[subprocess.Popen[str], str, str]]
) -> None:
    _, id, _ = owners()
    (found,) = recover(Ledger(tmp_path))
    assert (found.lease.id, found.found, found.undone) == (id, "running", ())
    assert not marks(tmp_path).exists()


def test_a_killed_guardian_is_replaced(tmp_path: Path) -> None:
    lease = Ledger(tmp_path).open("me")
    try:
        first = lease.guardian_pid
        assert first is not None
        os.kill(first, signal.SIGKILL)

        def is_replaced() -> bool:
            lease.replace_dead_guardian()
            return lease.guardian_pid != first

        until(is_replaced)
    finally:
        lease.end("held")


def test_a_lease_that_others_ended_is_not_renewed_and_nothing_begins_under_it(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    lease = ledger.open("me", guarded=False)
    assert lease.renew() is True
    (found,) = recover(ledger, also_running=True)
    assert found.found == "running"
    assert lease.renew() is False
    lease.end("aborted")
    with pytest.raises(RunError, match="the lease of me is over"):
        lease.intend(command("true"))


def test_where_an_intent_cannot_be_written_the_effect_must_not_be_but_earlier_ones_are_undone(
    tmp_path: Path,
) -> None:
    ledger = Ledger(tmp_path)
    lease = ledger.open("me", guarded=False)
    lease.intend(command(f"echo undone >> {marks(tmp_path)}"))
    full = (tmp_path / "leases" / f"{lease.id}.jsonl").stat().st_size + 10
    with _no_file_longer_than(full):
        with pytest.raises(RunError, match="cannot be written down"):
            lease.intend(command(f"echo never >> {marks(tmp_path)}"))
    assert [result.ok for result in undo_all(lease)] == [True]
    lease.end("aborted")
    assert marks(tmp_path).read_text() == "undone\n"
    view = ledger.view(lease.id)
    assert (len(view.intents), view.is_over) == (1, True)


def full_at(path: Path) -> _no_file_longer_than:
    return _no_file_longer_than(path.stat().st_size + 10)


def test_a_full_disk_stops_no_undo_and_unwritten_results_are_reported(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    lease = ledger.open("me", guarded=False)
    for name in ("one", "two"):
        lease.intend(command(f"mkdir {tmp_path / name}"))
    with full_at(tmp_path / "leases" / f"{lease.id}.jsonl"):
        (found,) = recover(ledger, also_running=True)
    assert (found.ok, found.unwritten) == (True, "File too large")
    unwritten = [result.message.startswith("done (not written down: ") for _, result in found.undone]
    assert unwritten == [True, True]
    assert (tmp_path / "one").exists()
    # Once there is space, the result is written, and the undo is not repeated: mkdir would fail.
    assert [result for _, result in ledger.undo_left(lease.id, "me")] == [UndoResult(True, "done")] * 2
    assert ledger.view(lease.id).left == ()
    lease.end("aborted")


def test_a_run_that_cannot_write_its_end_is_not_found_as_a_crash(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    lease = ledger.open("me", guarded=False)
    lease.intend(command("true"))
    with full_at(tmp_path / "leases" / f"{lease.id}.jsonl"):
        assert [result.ok for result in undo_all(lease)] == [True]
        lease.end("held")
    assert recover(ledger) == []


def test_a_lease_whose_first_line_cannot_be_written_leaves_nothing_to_find(tmp_path: Path) -> None:
    with _no_file_longer_than(10), pytest.raises(RunError, match="cannot be written down"):
        Ledger(tmp_path).open("me")
    assert recover(Ledger(tmp_path)) == []


def test_a_folder_that_is_removed_costs_neither_the_renewal_nor_the_undo(tmp_path: Path) -> None:
    lease = Ledger(tmp_path / "state").open("me", guarded=False)
    lease.intend(command(f"echo undone >> {marks(tmp_path)}"))
    shutil.rmtree(tmp_path / "state")
    assert lease.renew() is True
    assert lease.trouble == f"{lease.id}.jsonl: the file was removed"
    with pytest.raises(RunError, match="the file was removed"):
        lease.intend(command("true"))
    assert [result.ok for result in undo_all(lease)] == [True]
    lease.end("aborted")
    assert marks(tmp_path).read_text() == "undone\n"


def test_a_guardian_undoes_though_the_folder_was_removed_and_the_owner_killed(
    tmp_path: Path, owners: Callable[..., tuple[subprocess.Popen[str], str, str]]
) -> None:
    process, id, guardian = owners()
    lease_file = str(tmp_path / "leases" / f"{id}.jsonl")
    until(lambda: lease_file in _open_files(int(guardian)))
    shutil.rmtree(tmp_path / "leases")
    process.kill()
    process.wait()
    until(lambda: marks(tmp_path).exists() and marks(tmp_path).read_text() == "second\nfirst\n")


def _open_files(pid: int) -> list[str]:
    found = []
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            found.append(os.readlink(each))
    return found


class _no_file_longer_than:
    """Make a write fail in the middle, as on a full disk."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __enter__(self) -> None:
        self._before = resource.getrlimit(resource.RLIMIT_FSIZE)
        self._handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._size, self._before[1]))

    def __exit__(self, *exc: object) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self._before)
        signal.signal(signal.SIGXFSZ, self._handler)


def test_a_rule_that_ends_by_itself_is_kept_as_long_as_its_lease_is_renewed(
    tmp_path: Path, echo: Endpoint
) -> None:
    clock = [1000.0]
    token, rule = "for-tests-only", {"name": "cut", "fault": "blackhole"}
    lease = Ledger(tmp_path).open("me", lease_s=60.0, guarded=False)
    with Plane(Plan()) as plane:
        plane.open_proxy(ProxySpec("db", Endpoint("127.0.0.1", 0), echo))
        with ControlServer(plane, Endpoint("127.0.0.1", 0), token, lambda: clock[0]) as control:
            api = ControlClient(f"http://{control.bound}", token)
            lease.intend(Undo("rule", {"control": api.url, "token": token, "rule": "cut"}))
            api.add_rule(rule, lease.lease_s)
            clock[0] += 59
            assert lease.renew()
            until(lambda: api.status()["expires_in_s"]["cut"] == 60.0)
            # It is not renewed any more, so it ends without an undo.
            clock[0] += 60
            assert api.plan()["rules"] == []
    lease.end("held")


def test_only_its_owner_can_read_the_folder_and_its_files(tmp_path: Path) -> None:
    lease: Lease = Ledger(tmp_path / "state").open("me", guarded=False)
    leases = tmp_path / "state" / "leases"
    assert leases.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in leases.iterdir()} == {0o600}
    lease.end("held")


def test_a_folder_that_cannot_be_written_lets_nothing_begin(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="nothing was started"):
        Ledger(tmp_path / "file").open("me")


# --- the lines of a lease file ---------------------------------------------------------------------


FIRST, SECOND = Undo("rule", {"rule": "a"}, "remove a"), Undo("http", {"url": "u"}, "send u", 3.0)
OPENED = {
    "event": "opened",
    "at": "2026-02-05T10:00:00Z",
    "owner": "an experiment",
    "pid": 7,
    "birth": "99",
    "boot": "b",
    "lease_s": 60.0,
    "until_s": 160.0,
}


def lines(*events: dict[str, Any]) -> list[str]:
    return [json.dumps(event) for event in events]


def intended(id: str, undo: Undo) -> dict[str, Any]:
    return {"event": "intended", "intent": id, "undo": undo_document(undo)}


def undone(id: str, *, ok: bool, by: str = "owner") -> dict[str, Any]:
    return {"event": "undone", "intent": id, "ok": ok, "message": "m", "by": by}


def test_effects_that_are_not_undone_are_left_last_first() -> None:
    view = parse_lease("x", lines(OPENED, intended("1", FIRST), intended("2", SECOND)))
    assert view.left == (Intent("2", SECOND), Intent("1", FIRST))
    assert (view.owner, view.pid, view.until_s, view.ended) == ("an experiment", 7, 160.0, None)


def test_effects_that_could_not_be_undone_are_left_after_the_lease_has_ended() -> None:
    ended = {"event": "ended", "outcome": "held"}
    view = parse_lease(
        "x",
        lines(
            OPENED,
            intended("1", FIRST),
            intended("2", SECOND),
            undone("2", ok=False),
            undone("1", ok=True),
            ended,
        ),
    )
    assert [intent.id for intent in view.left] == ["2"]
    assert view.ended == "held"
    assert not view.is_over


def test_a_later_attempt_that_succeeds_ends_it() -> None:
    view = parse_lease(
        "x",
        lines(
            OPENED,
            intended("1", FIRST),
            undone("1", ok=False),
            undone("1", ok=True, by="recover"),
            {"event": "ended", "outcome": "o"},
        ),
    )
    assert view.intents == (Intent("1", FIRST, UndoResult(True, "m"), "recover"),)
    assert view.is_over


def test_a_renewal_moves_the_end() -> None:
    assert parse_lease("x", lines(OPENED, {"event": "renewed", "until_s": 200.0})).until_s == 200.0


def test_what_else_happened_is_kept_as_notes() -> None:
    note = {"event": "gate", "met": True}
    assert parse_lease("x", lines(OPENED, note)).notes == (note,)


@given(st.integers(min_value=0))
def test_wherever_a_crash_tears_the_file_the_complete_lines_count(cut: int) -> None:
    whole = lines(OPENED, intended("1", FIRST), intended("2", SECOND), undone("2", ok=True))
    text = "\n".join(whole) + "\n"
    torn = text[: cut % (len(text) + 1)]
    kept = len(torn.split("\n")) - 1
    view = parse_lease("x", torn.split("\n"))
    # A last line that lacks only its newline is complete.
    assert view in (parse_lease("x", whole[:kept]), parse_lease("x", whole[: kept + 1]))
