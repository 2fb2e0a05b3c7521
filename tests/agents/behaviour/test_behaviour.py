"""The judgement of a whole recording: faults that were met, recovery, verdicts and exit codes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faultkit.agents.behaviour.behaviour import ALL_CHECKS, judge
from faultkit.agents.behaviour.recorded_run import read_recorded_run
from faultkit.faults.call_fault import Send, Verdict
from tests.agents.behaviour.tape import READ, WRITE, Tape


def test_each_fault_has_the_time_the_steps_and_the_path_until_its_tool_succeeded() -> None:
    tape = Tape(search=READ, book=WRITE)
    tape.refused("search", q=1)
    tape.done("other")
    tape.refused("search", q=1)
    tape.done("search", q=1)
    tape.refused("book")
    faults = [(each.call, each.recovery_ms, each.steps, each.path) for each in tape.judge().faults]
    assert faults == [(1, 3000.0, 3, "retry"), (3, 1000.0, 1, "retry"), (5, None, None, None)]


def test_a_fault_that_only_delays_needs_no_recovery() -> None:
    tape = Tape()
    id = tape.call("search")
    tape.inject(id, "slow:500", Verdict(delay_s=0.5, effect="delay_ms", amount=500))
    tape.at_s = 0.6
    tape.answer(id)
    (fault,) = tape.judge().faults
    assert (fault.outcome, fault.took_ms, fault.recovery_ms) == ("ok", 600.0, None)


def test_an_answer_with_changed_values_is_no_recovery() -> None:
    tape = Tape(price=READ)
    tape.changed("price", of="room")
    tape.changed("price", of="room")
    assert [fault.recovery_ms for fault in tape.judge().faults] == [None, None]
    tape.done("price", of="room")
    assert [fault.recovery_ms for fault in tape.judge().faults] == [2000.0, 1000.0]


def test_after_an_answer_that_looked_sound_other_arguments_are_no_recovery() -> None:
    tape = Tape(price=READ)
    tape.changed("price", of="room")
    tape.done("price", of="breakfast")
    tape.refused("price", of="parking")
    tape.done("price", of="taxi")
    assert [fault.path for fault in tape.judge().faults] == [None, "repaired_arguments"]


def test_another_write_does_not_recover_one_that_got_no_answer() -> None:
    write, read = Tape(book=WRITE, list=READ), Tape(book=READ)
    for tape in (write, read):
        tape.lost("book", room=1)
        tape.done("book", room=2)
    assert [fault.path for fault in write.judge().faults] == [None]
    assert [fault.path for fault in read.judge().faults] == ["repaired_arguments"]


def test_a_look_is_enough_if_the_write_took_effect() -> None:
    tape = Tape(book=WRITE, list=READ)
    tape.lost("book", room=1)
    tape.done("book", room=2)
    tape.done("list")
    (fault,) = tape.judge().faults
    assert (fault.recovery_ms, fault.steps, fault.path) == (2000.0, 2, "verified_first")


def test_a_call_of_the_same_turn_recovers_nothing() -> None:
    tape = Tape(search=READ)
    lost = tape.call("search", q=1)
    tape.inject(lost, "lost_reply", Verdict(frames=lambda reply: (), effect="lost_reply"))
    tape.at_s = 0.05
    tape.done("search", q=2)
    (fault,) = tape.judge().faults
    assert (fault.took_ms, fault.recovery_ms) == (None, None)
    tape.done("search", q=1)
    (fault,) = tape.judge().faults
    assert (fault.took_ms, fault.recovery_ms) == (1050.0, 1050.0)


def test_a_recording_in_which_no_fault_was_met_is_not_exercised() -> None:
    tape = Tape()
    tape.declare("hang@book")
    tape.done("search")
    behaviour = tape.judge()
    assert behaviour.verdict == "not_exercised"
    assert behaviour.headline == "not exercised: no call met an injected fault"
    assert behaviour.exit_code(()) == 6


def test_a_rule_that_no_call_met_leaves_the_recording_unexercised() -> None:
    tape = Tape()
    tape.declare("error@search", "hang@book")
    tape.refused("search")
    tape.done("search")
    behaviour = tape.judge()
    assert behaviour.unmet == ("hang",)
    assert behaviour.not_exercised == "not exercised: no call met hang"
    assert behaviour.exit_code(ALL_CHECKS) == 6


@pytest.mark.parametrize("is_changed", [True, False])
def test_a_fault_of_a_list_counts_as_met_if_it_changed_the_list(is_changed: bool) -> None:
    tape = Tape()
    tape.declare("vanished_tools:book")
    id = tape.ask("tools/list", {})
    tape.inject(id, "vanished_tools:book", Verdict(frames=lambda reply: (), effect="vanished"), "tools/list")
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "result": {"tools": [{"name": "book"}]}}
    tape.message("server", reply)
    tape.sent(id, Send({**reply, "result": {"tools": []}} if is_changed else reply))
    assert tape.judge().not_exercised == (
        "" if is_changed else "not exercised: no call met an injected fault"
    )


def test_a_reply_that_comes_late_was_met() -> None:
    tape = Tape()
    tape.declare("reply_after_cancel")
    id = tape.call("search")
    late = Verdict(frames=lambda reply: (), ignores_cancel=True, effect="reply_after_cancel")
    tape.inject(id, "reply_after_cancel", late)
    tape.answer(id)
    reply = json.loads(tape.text.splitlines()[-1])["message"]
    tape.sent(id, Send(reply, after_s=1.0))
    assert tape.judge().not_exercised == ""


def test_a_fault_of_a_call_that_the_recording_lacks_was_not_met() -> None:
    tape = Tape()
    tape.declare("hang")
    lost = Tape()
    lost.inject(lost.call("search"), "hang", Verdict(ask=False, frames=lambda reply: (), effect="hang"))
    injection = lost.text.splitlines()[1]
    behaviour = judge(read_recorded_run(f"{tape.text}{injection}\n"))
    assert behaviour.not_exercised == "not exercised: no call met an injected fault"


def test_an_agent_that_recovers_without_findings_is_clean() -> None:
    tape = Tape(search=READ)
    tape.declare("error@search")
    tape.refused("search")
    tape.done("search")
    behaviour = tape.judge()
    assert (behaviour.verdict, behaviour.headline) == ("clean", "no findings")
    assert behaviour.exit_code(ALL_CHECKS) == 0


def test_a_check_is_exercised_only_if_the_calls_give_occasion_to_it() -> None:
    always = {"loops", "wasted-calls"}

    def exercised(tape: Tape) -> set[str]:
        return {str(check) for check in ALL_CHECKS if tape.judge().is_exercised(check)} - always

    refused, lost, planted, cancelled = Tape(), Tape(book=WRITE), Tape(), Tape(book=WRITE)
    refused.done("search")
    assert not any(map(refused.judge().is_exercised, ALL_CHECKS))
    refused.refused("search")
    assert exercised(refused) == set()
    refused.fail(refused.call("search"), -32000, retryAfter=1)
    assert exercised(refused) == {"ignored-retry-after"}
    lost.lost("book")
    assert exercised(lost) == {"repeated-writes"}
    cancelled.cancel(cancelled.lost("book"))
    assert exercised(cancelled) == {"repeated-writes", "calls-after-cancel"}
    planted.changed("price")
    assert exercised(planted) == {"canaries"}


def test_only_the_checks_that_were_asked_for_fail() -> None:
    tape = Tape(book=WRITE)
    tape.lost("book")
    tape.done("book")
    behaviour = tape.judge()
    assert [behaviour.exit_code((check,)) for check in ALL_CHECKS] == [0, 1, 0, 0, 0, 0]
    assert behaviour.exit_code(()) == 0


def test_a_glob_that_matches_no_tool_of_the_recording_is_noted() -> None:
    tape = Tape(book=WRITE, search=READ)
    tape.refused("other")
    run = judge(tape.run(), reads=("sea*", "serch"), writes=("o*", "x*")).run
    tools = "(tools: book, other, search)"
    assert run.warnings == (
        f"--reads: no tool is named \"serch\"; did you mean 'search'? {tools}",
        f'--writes: no tool is named "x*" {tools}',
    )


def test_an_open_question_is_neither_a_pass_nor_a_failure() -> None:
    tape = Tape(book=None)
    tape.lost("book")
    tape.done("book")
    behaviour = tape.judge()
    assert behaviour.verdict == "unknown"
    assert behaviour.exit_code(["repeated-writes"]) == 6
    assert behaviour.exit_code(["loops"]) == 0
    assert judge(tape.run(), reads=("b*",)).exit_code(ALL_CHECKS) == 0
    assert judge(tape.run(), writes=("book",)).exit_code(ALL_CHECKS) == 1
