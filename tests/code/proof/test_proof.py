"""What a proof says in the end, and the exit code that follows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from faultkit.cli.proof import ProofOutcome, print_proof
from faultkit.code.advice.selection import OpenQuestion
from faultkit.code.proof.exercised import START, ChangedPart
from faultkit.code.proof.proof import Proof
from faultkit.code.proof.prove import ProofSettings
from faultkit.code.proof.verdict import BLACKHOLE, Verdict, compare
from tests.code.proof.test_verdict import GOOD, HANDLED, HUNG, SLOW, figures

RAN = ChangedPart("after", (3, 4), "load", ("blackhole",), ())
PARTLY = replace(RAN, not_run=(4,))
NEVER = replace(RAN, exercised_by=(), not_run=(3, 4))
AT_START = ChangedPart("after", (1,), "", (START,), ())


def proof(verdicts: list[Verdict], *parts: ChangedPart) -> Proof:
    compared = tuple(
        replace(compare(f"fault {number}", GOOD, GOOD), verdict=verdict)
        for number, verdict in enumerate(verdicts)
    )
    return Proof("/", (), compared, parts)


@pytest.mark.parametrize(
    ("verdicts", "parts", "verdict", "code"),
    [
        (["better", "no difference"], (RAN, AT_START), "better", 0),
        (["better"], (), "better", 0),
        (["better"], (AT_START,), "better", 0),
        (["better"], (RAN, PARTLY), "better", 6),
        (["better"], (RAN, NEVER), "better", 6),
        (["better"], (NEVER, AT_START), "not shown", 6),
        (["worse", "better"], (NEVER,), "worse", 1),
        (["no difference"], (RAN,), "no difference", 6),
        (["better", "not shown"], (RAN,), "not shown", 6),
    ],
)
def test_only_a_change_that_is_better_and_ran_whole_passes(
    verdicts: list[Verdict], parts: tuple[ChangedPart, ...], verdict: Verdict, code: int
) -> None:
    found = proof(verdicts, *parts)
    assert found.verdict == verdict
    assert ProofOutcome(found, "").exit_code == code


def test_nothing_to_change_is_no_failure() -> None:
    outcome = ProofOutcome(None, "nothing was found")
    assert outcome.exit_code == 0
    assert outcome.document() == {"verdict": "nothing to change", "reason": "nothing was found"}


def test_a_proof_repeats_what_the_change_asks(capsys: pytest.CaptureFixture[str]) -> None:
    question = OpenQuestion(("FK-R001",), (7,), "Is this a stream?", "end calls", (), True)
    outcome = ProofOutcome(proof(["better"], RAN), "", (question,))
    assert outcome.document()["questions"] == [question.document()]
    print_proof(outcome)
    assert capsys.readouterr().out.endswith(
        "proof: better; better under: fault 0\n"
        "check, before you keep the change: FK-R001, line 7: Is this a stream?\n"
    )


def test_the_summary_names_faults_trade_offs_and_what_did_not_run() -> None:
    assert proof(["better", "no difference"], RAN).summary() == "better; better under: fault 0"
    assert proof(["better", "worse"], PARTLY).summary() == (
        "worse (a trade-off); worse under: fault 1; better under: fault 0; "
        "only for what ran: 1 of 1 parts of the change not exercised, or not all of it"
    )


def test_a_change_that_never_ran_is_told_in_the_summary() -> None:
    assert (
        proof(["not shown"], NEVER).summary() == "not shown; not shown under: fault 0; the change never ran"
    )
    assert proof(["better"], RAN, NEVER).unexercised() == ("lines 3-4 (load): not exercised",)


def test_lines_of_a_process_that_ended_are_not_called_unexercised() -> None:
    ended = compare("fault 0", GOOD, replace(GOOD, ended=True))
    found = Proof("/", (), (ended,), (NEVER,))
    assert found.unexercised() == ("lines 3-4 (load): not seen to run before the process ended",)
    assert found.summary() == "worse; worse under: fault 0; the change was not seen to run"


def test_a_limit_that_no_fault_reaches_is_told() -> None:
    limited, slow = figures({504: 40}, 5_000.0), compare("slow stream", SLOW, SLOW)
    black = compare(BLACKHOLE, HUNG, limited)
    assert Proof("/", (), (black, slow), ()).remarks == (
        "The new limit (5,000 ms under blackhole) is longer than any other answer took (2,000 ms): what "
        "happens to answers that take longer than the limit was not tried",
    )
    assert Proof("/", (), (compare(BLACKHOLE, HUNG, HANDLED), slow), ()).remarks == ()
    assert Proof("/", (), (compare(BLACKHOLE, figures({500: 40}, 5_000.0), limited), slow), ()).remarks == ()
    assert Proof("/", (), (black,), (), ("a note",)).remarks == ("a note",)


def test_the_document_has_the_verdict_the_figures_and_the_parts() -> None:
    document = proof(["better"], NEVER, RAN).document()
    assert (document["verdict"], document["trade_off"]) == ("better", False)
    assert document["not_exercised"] == ["3-4 (load)"]
    (fault,) = document["faults"]
    assert fault["before"]["succeeded"] == 40
    assert [each["name"] for each in fault["differences"]][:4] == ["succeeded", "handled", "answered", "time"]


@pytest.mark.parametrize(
    ("duration_s", "call_s", "expected"),
    [(3.0, 0.005, (3.0, 12.0)), (1.0, 0.005, (1.0, 30.0)), (3.0, 0.1, (6.0, 5.0)), (3.0, 2.0, (7.5, 4.0))],
)
def test_a_slow_service_gets_fewer_calls_a_second_for_longer(
    duration_s: float, call_s: float, expected: tuple[float, float]
) -> None:
    load = ProofSettings(duration_s=duration_s).load(call_s)
    assert (load.duration_s, load.rate_rps) == expected
