"""Recordings as runs: earlier formats, frozen sessions, connections that were closed, and broken files."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.agents.behaviour.recorded_run import load_recorded_run, read_recorded_run
from faultkit.base.errors import InputError
from faultkit.faults.call_fault import Verdict
from tests.agents.behaviour.tape import Tape


def outcomes(tape: Tape) -> list[tuple[str, str, float | None]]:
    calls = (call.traced for call in tape.run().calls)
    return [(call.fault, call.outcome, call.end_ms) for call in calls]


def test_a_recording_of_an_earlier_version_names_no_rules_and_no_ids_of_frames() -> None:
    tape = Tape()
    id = tape.call("search")
    about = {"session": "stdio", "inject": "cut", "fault": "disconnect", "method": "tools/call", "id": id}
    tape.write({**about, "effect": "disconnect"})
    tape.at_s = 1
    tape.write({"session": "stdio", "from": "gateway", "frame": "Disconnect"})
    assert outcomes(tape) == [("cut", "lost", 1000.0)]
    run = tape.run()
    assert dict(run.rules) == {"cut": "disconnect"}
    assert run.met == frozenset({"cut"})


def test_calls_of_a_session_that_is_frozen_meet_the_fault_until_the_server_answers_again() -> None:
    tape = Tape()
    first = tape.call("search")
    verdict = Verdict(ask=False, frames=lambda reply: (), freezes_session=True, effect="frozen")
    tape.inject(first, "frozen", verdict)
    tape.at_s = 1
    tape.call("search")
    tape.at_s = 2
    tape.done("search")
    assert outcomes(tape) == [
        ("frozen", "timeout", 1000.0),
        ("frozen", "timeout", 2000.0),
        ("", "ok", 2000.0),
    ]


@pytest.mark.parametrize(("session", "outcome"), [("modern", "cancelled"), ("5f2c", "timeout")])
def test_a_connection_that_the_client_closed_ends_its_call(session: str, outcome: str) -> None:
    tape = Tape(session)
    id = tape.call("search")
    tape.at_s = 3
    tape.write({"session": session, "from": "client", "closed": id})
    assert outcomes(tape) == [("", outcome, 3000.0)]


def test_calls_of_a_batch_are_calls() -> None:
    tape = Tape()
    params = {"name": "search", "arguments": {}}
    batch = [{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params} for id in (1, 2)]
    tape.write({"session": "stdio", "from": "client", "message": batch})
    assert len(tape.run().calls) == 2


def test_a_last_line_that_is_cut_off_is_left_out_with_a_warning() -> None:
    tape = Tape()
    tape.done("search")
    run = read_recorded_run(tape.text + '{"t": 1, "from"', "calls.jsonl")
    assert run.warnings == ("calls.jsonl: line 3, the last one, is cut off, and left out",)
    assert len(run.calls) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected a recording of `fault gateway --record`, got an empty file"),
        ('{"t": 1}\n', "line 1: expected from: client, server, gateway, got nothing"),
    ],
)
def test_a_file_that_is_no_recording_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    file.write_text(text)
    with pytest.raises(InputError) as refused:
        load_recorded_run(str(file))
    assert str(refused.value) == f"{file}: {problem}"


def test_a_gateway_without_any_traffic_has_a_recording_without_calls() -> None:
    run = read_recorded_run("")
    assert (run.calls, run.sessions, run.duration_ms) == ((), 0, 0.0)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match=r"nowhere\.jsonl: cannot be read: no such file"):
        load_recorded_run("nowhere.jsonl")
