"""The table of verdicts: each defect from the least evidence that shows it, and what is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from faultkit.base.errors import InputError
from faultkit.faults import FAULTS
from faultkit.faults.dialects.dialect_table import DIALECTS
from faultkit.faults.llm_fault import LlmFault
from faultkit.llm.profile.cases import DIALECT_NAMES, Case, Traffic, battery, chosen
from faultkit.llm.profile.evidence import ClientRun, SeenRequest, new_lines, says_nothing_new, words_of
from faultkit.llm.profile.judging import RULES, control_problem, judge

WHOLE, HALF = "One two three four.", "One two"
FIRST = SeenRequest(100, "a", "openai_chat", True, status=200, text=WHOLE, ended_ms=110)
CONTROL = ClientRun((FIRST,), 0, f"{WHOLE}\n", "", 10)
CASES = {case.name: case for case in battery(15)}
BROKEN = replace(FIRST, is_hit=True, text=HALF)
REFUSED = replace(
    FIRST, is_hit=True, text="", status=429, reasons=("429", "rate_limit_exceeded", "Too many requests")
)


def run(*requests: SeenRequest, code: int | None = 0, out: str = "", err: str = "", **more: Any) -> ClientRun:
    return ClientRun(requests, code, out, err, more.pop("elapsed_ms", 10), **more)


def again(request: SeenRequest, at_ms: float, **changes: Any) -> SeenRequest:
    return replace(request, at_ms=at_ms, ended_ms=at_ms + 10, **changes)


def found(case: str, given: ClientRun) -> list[str]:
    return [defect.name for defect in judge(CASES[case], given, CONTROL).defects]


def test_every_fault_of_llm_apis_is_in_the_battery_and_fits_its_settings() -> None:
    kinds = [kind for kind, fault in FAULTS.items() if issubclass(fault, LlmFault)]
    assert {case.kind for case in CASES.values()} == set(kinds)
    for case in CASES.values():
        assert case.plan(0).rules[0].fault.kind == case.kind
    assert set(DIALECT_NAMES.values()) == set(DIALECTS)


def test_half_an_answer_with_exit_code_0_and_without_a_word_is_taken_for_a_whole_one() -> None:
    half = "took half an answer for a whole one"
    assert found("clean_end", run(BROKEN, out=HALF)) == [half]
    assert found("clean_end", run(BROKEN, out=f"{HALF} [incomplete]")) == []
    assert found("clean_end", run(BROKEN, out=HALF, err="warning: the answer has no end")) == []
    assert found("clean_end", run(BROKEN, code=1, out=HALF, err="no end")) == []
    recovered = again(FIRST, 500)
    assert found("clean_end", run(BROKEN, recovered, out=WHOLE)) == []
    assert found("dropped_delta", run(BROKEN, out=HALF)) == []
    event = replace(BROKEN, reasons=("The server had an error",))
    assert found("error_event", run(event, out=HALF)) == [half, "lost the error's reason"]


def test_a_client_that_prints_no_answers_is_judged_by_what_it_was_sent() -> None:
    control = replace(CONTROL, stdout="done\n")
    broken = run(BROKEN, out="done\n")
    assert judge(CASES["clean_end"], broken, control).defects[0].name == "took half an answer for a whole one"
    late = run(replace(FIRST, is_hit=True), out="done\n")
    assert judge(CASES["token_rate"], late, control).verdict == "coped"


def test_a_client_that_still_runs_at_the_limit_never_gave_up() -> None:
    open_one = replace(BROKEN, end="open")
    result = judge(CASES["llm_keep_alive_only"], run(open_one, code=None, elapsed_ms=15_000), CONTROL)
    assert [defect.name for defect in result.defects] == ["never gave up"]
    assert result.defects[0].evidence == "still running 15 s after its first request, waiting for an answer"


def test_a_retry_before_its_time_ignores_retry_after() -> None:
    refused = replace(REFUSED, retry_after_s=2.0)
    assert found("llm_rate_limit:once", run(refused, again(FIRST, 2000), out=WHOLE)) == [
        "ignored Retry-After"
    ]
    assert found("llm_rate_limit:once", run(refused, again(FIRST, 2065), out=WHOLE)) == []


def test_what_a_retry_cannot_help_must_not_be_retried() -> None:
    twice = run(REFUSED, again(REFUSED, 700), code=1, err="429 Too many requests")
    assert found("quota_exhausted", twice) == ["retried what must not be retried"]
    assert found("overloaded:always", twice) == []
    # The control run has the request twice as well.
    control = replace(CONTROL, requests=(FIRST, again(FIRST, 700)))
    assert judge(CASES["quota_exhausted"], twice, control).verdict == "coped"


def test_a_retry_after_output_goes_by_what_was_shown_when_it_came() -> None:
    shown = again(FIRST, 700, shown_before="One two")
    assert found("answer_cut:reset", run(BROKEN, shown, out=HALF + WHOLE)) == [
        "retried after output was shown"
    ]
    assert found("answer_cut:reset", run(BROKEN, again(FIRST, 700), out=WHOLE)) == []


def test_a_storm_is_many_attempts_or_some_within_a_second() -> None:
    def attempts(count: int, every_ms: float) -> ClientRun:
        requests = [again(REFUSED, 100 + every_ms * n) for n in range(count)]
        return run(*requests, code=1, err="429")

    assert found("overloaded:always", attempts(4, 300)) == ["storm"]
    assert found("overloaded:always", attempts(4, 400)) == []
    assert found("overloaded:always", attempts(10, 500)) == []
    assert found("overloaded:always", attempts(11, 500)) == ["storm"]


@pytest.mark.parametrize(
    ("err", "is_lost"),
    [
        ("Too many requests", False),
        ("status 429", False),
        ("code=rate_limit_exceeded", False),
        ("request 4290 failed", True),
        ("something went wrong", True),
        ("", True),
    ],
)
def test_the_reason_is_the_message_the_code_or_the_status(err: str, is_lost: bool) -> None:
    expected = ["lost the error's reason"] if is_lost else []
    assert found("overloaded:always", run(REFUSED, code=1, err=err)) == expected
    assert found("answer_cut:close", run(BROKEN, code=1, err=err)) == (expected if not err else [])


def test_abandoned_answers_that_stay_open_are_leaked() -> None:
    assert found("clean_end", run(BROKEN, code=1, err="no", left_open=1)) == ["leaked connections"]
    stays = replace(BROKEN, overlap_ms=1001)
    assert found("token_stall:never", run(stays, again(BROKEN, 900), code=1, err="no")) == [
        "leaked connections"
    ]


def test_a_fault_that_never_acted_is_not_exercised_and_output_that_varies_is_inconclusive() -> None:
    assert judge(CASES["auth"], CONTROL, CONTROL).verdict == "not exercised"
    varied = run(BROKEN, out="Seed abc: One two")
    assert judge(CASES["clean_end"], varied, CONTROL, is_comparable=False).verdict == "inconclusive"
    failed = run(BROKEN, code=1, err="no")
    assert judge(CASES["clean_end"], failed, CONTROL, is_comparable=False).verdict == "coped"


def test_a_control_run_must_end_well_and_ask_in_the_dialect() -> None:
    assert control_problem(CONTROL, "openai") == ""
    assert control_problem(CONTROL, "gemini") == "the client speaks openai, expected gemini"
    assert "never called a model" in control_problem(replace(CONTROL, requests=()))
    assert "exit code 3" in control_problem(replace(CONTROL, exit_code=3))
    assert "time limit" in control_problem(replace(CONTROL, exit_code=None))


def test_faults_fit_what_the_client_does() -> None:
    plain = Traffic(DIALECTS["openai_chat"], is_streamed=False, has_calls=False, has_usage=True)
    assert plain.meets(CASES["clean_end"])
    assert not plain.meets(CASES["error_event"])
    agent = Traffic(DIALECTS["gemini"], is_streamed=True, has_calls=True, has_usage=False)
    names = [case.name for case in CASES.values() if not agent.meets(case)]
    assert not Traffic(DIALECTS["ollama"], True, True, True).meets(CASES["content_filter:stop"])
    assert names == ["missing_event_name", "no_usage", "duplicate_call_id", "wrong_call_id"]


def test_cases_are_chosen_by_fault_or_by_name() -> None:
    def names(*only: str) -> list[str]:
        return [case.name for case in chosen(tuple(CASES.values()), only)]

    assert names("answer_cut", "auth") == ["auth", "answer_cut:close", "answer_cut:reset"]
    assert names("answer_cut:reset") == ["answer_cut:reset"]
    assert len(names()) == len(CASES)
    for wrong, why in (("cleanend", 'did you mean "clean_end"'), ("latency", "of level stream")):
        with pytest.raises(InputError, match=why):
            chosen(tuple(CASES.values()), [wrong])


def test_words_compare_without_numbers_and_in_order() -> None:
    assert words_of("It took 12.5 s") == ["It", "took", "0", ".", "0", "s"]
    assert says_nothing_new(["a", "c"], ["a", "b", "c"])
    assert not says_nothing_new(["c", "a"], ["a", "b", "c"])
    assert new_lines("12:01 start\nfailed\n", "11:58 start\n") == ["failed"]


def test_every_rule_is_in_the_docs_as_it_stands() -> None:
    from pathlib import Path

    page = (Path(__file__).parents[3] / "docs" / "llm-profile.md").read_text("utf-8")
    flowed = " ".join(page.split())
    for rule in RULES:
        assert f"| {rule.name} | {rule.when} |" in flowed


def test_a_case_names_its_fault() -> None:
    assert Case("answer_cut:reset", "incomplete").kind == "answer_cut"
