"""The JSON of results: each figure in a field, and only declared fields differ between two runs."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf, nan
from typing import Any

from faultkit import __version__
from faultkit.agents.recovery.trace import Trace, TracedCall
from faultkit.agents.report.ci_formats import render_junit
from faultkit.agents.report.suite_json import json_text, render_json
from faultkit.agents.report.suite_page import suite_page
from faultkit.agents.suite.results import SuiteResult, SuiteResults
from tests.agents.report.declared_times import without_times
from tests.agents.report.samples import (
    ALL,
    CALM,
    CUT_SHORT,
    ENEMY,
    FAILED,
    FALLING_BACK,
    FILE,
    GOOD,
    HOSTILE_TEXT,
    PASSED,
    REPEATED,
    SKIPPED,
    TOOL_FAILED,
    results,
    run_of,
    trace,
)


def document(made: SuiteResults) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(render_json(made))
    return read


def test_a_tool_test_that_fails_is_told_in_full() -> None:
    assert document(results(TOOL_FAILED)) == {
        "schema_version": "1.0",
        "run_id": "d018971f9f90199a",
        "faultkit_version": __version__,
        "generated_at": None,
        "declared_time_fields": [".generated_at", ".summary.duration_ms", ".tests[].duration_ms"],
        "metadata": {
            "seed": 7,
            "clock": "virtual",
            "interrupted": False,
            "bailed": False,
            "suites": [{"file": FILE, "tests": 1, "problem": None}],
        },
        "summary": {
            "ok": False,
            "total": 1,
            "passed": 0,
            "failed": 1,
            "not_exercised": 0,
            "inconclusive": 0,
            "error": 0,
            "skipped": 0,
            "failing": 1,
            "duration_ms": None,
        },
        "tests": [
            {
                "name": "finds ports",
                "status": "failed",
                "file": FILE,
                "line": 120,
                "rule_id": None,
                "tags": ["smoke", "tools"],
                "duration_ms": 4,
                "message": 'result.content[0].text: expected to contain "8080", got "none"',
                "failure": {
                    "type": "failed",
                    "message": 'result.content[0].text: expected to contain "8080", got "none"',
                    "limit": "result.content[0].text",
                    "diff": "- 8080\n+ none",
                },
                "skipped": None,
                "stub": False,
                "recovery": None,
                "passed_share": None,
                "runs": [],
                "details": {},
            }
        ],
    }


def test_a_recovery_has_its_figures_in_fields_of_their_own() -> None:
    (test,) = document(results(FAILED))["tests"]
    assert test["rule_id"] == "EDGE-006"
    assert test["failure"]["limit"] == "max_recovery_ms"
    assert test["recovery"] == {
        "verdict": "failed",
        "limit": "max_recovery_ms",
        "max_detection_ms": 3000,
        "max_recovery_ms": 5000,
        "detections": 2,
        "time_to_detection_ms": 3000,
        "time_to_recovery_ms": 6040,
        "clean_timeout": True,
        "path": "retry",
        "retries": 2,
        "other_tool": None,
        "calls": 3,
        "ending": "reply",
        "error_recovery": 100,
    }


def test_a_run_has_metrics_misuse_calls_and_last_word() -> None:
    (run,) = document(results(PASSED))["tests"][0]["runs"]
    assert set(run) == {
        "seed",
        "clock",
        "recovery",
        "metrics",
        "tool_misuse",
        "calls",
        "reply",
        "ending",
        "succeeded",
        "overruns",
    }
    assert run["metrics"]["same_goal_ms"] == 3040
    assert run["metrics"]["backoff"]["waits_ms"] == [0]
    assert run["tool_misuse"] == {
        "task_success": True,
        "invalid_call_rate": 0,
        "policy_violations": 0,
        "recovery_success": True,
        "time_to_recovery": 1,
        "tool_calls_used": 2,
        "catastrophic_failure": False,
    }
    assert run["calls"] == [
        {
            "tool": "search",
            "server": "files",
            "arguments": {"q": "ports"},
            "outcome": "timeout",
            "start_ms": 0,
            "end_ms": 3000,
            "fault": "stuck",
        },
        {
            "tool": "search",
            "server": "files",
            "arguments": {"q": "ports"},
            "outcome": "ok",
            "start_ms": 3000,
            "end_ms": 3040,
        },
    ]
    assert run["reply"] == {"text": "Done.", "at_ms": 3040, "claims_success": True}


def test_the_tool_that_stood_in_is_named() -> None:
    (test,) = document(results(FALLING_BACK))["tests"]
    assert (test["recovery"]["path"], test["recovery"]["other_tool"]) == ("other_tool", "grep")


def test_repeated_runs_give_a_share_with_its_interval_and_pass_hat_k() -> None:
    (test,) = document(results(REPEATED))["tests"]
    share = test["passed_share"]
    assert (share["hits"], share["total"]) == (2, 3)
    assert share["low"] < share["value"] < share["high"]
    assert share["pass_hat_k"] == {"1": 2 / 3, "2": 1 / 3, "3": 0}
    assert [run["recovery"]["verdict"] for run in test["runs"]] == ["passed", "failed", "passed"]
    assert test["recovery"]["verdict"] == "failed"


def test_what_was_left_out_has_a_reason_and_no_verdict() -> None:
    (test,) = document(results(SKIPPED))["tests"]
    assert (test["status"], test["skipped"], test["failure"]) == ("skipped", "needs a paid key", None)


def test_the_sum_counts_every_verdict_once() -> None:
    summary = document(ALL)["summary"]
    assert summary == {
        "ok": False,
        "total": 11,
        "passed": 3,
        "failed": 4,
        "not_exercised": 1,
        "inconclusive": 1,
        "error": 1,
        "skipped": 1,
        "failing": 7,
        "duration_ms": 321,
    }


def test_a_run_that_was_cut_short_says_so_and_names_what_could_not_be_run() -> None:
    read = document(CUT_SHORT)
    assert read["summary"]["ok"] is False
    assert read["metadata"]["interrupted"] is True
    assert read["metadata"]["suites"][1] == {
        "file": "suites/none.yml",
        "tests": 0,
        "problem": "server files: no such program",
    }


def slower(made: SuiteResults) -> SuiteResults:
    """Return the same results a day later, on a busier machine."""
    suites = tuple(
        SuiteResult(
            suite.file,
            tuple(replace(row, duration_ms=row.duration_ms * 3 + 1) for row in suite.rows),
            suite.problem,
        )
        for suite in made.suites
    )
    return replace(made, suites=suites, started_at="2026-02-04T00:00:00Z", duration_ms=999.0)


def test_two_runs_differ_in_declared_time_fields_only() -> None:
    one, other = document(ALL), document(slower(ALL))
    assert one != other
    assert json_text(without_times(one)) == json_text(without_times(other))


def test_what_is_left_without_times_still_tells_two_verdicts_apart() -> None:
    one, other = document(results(PASSED)), document(results(FAILED))
    assert without_times(one)["tests"] != without_times(other)["tests"]
    assert "duration_ms" not in without_times(one)["tests"][0]
    assert "recovery" in without_times(one)["tests"][0]


def test_times_of_a_real_clock_are_declared_too() -> None:
    late = Trace(
        tuple(
            replace(call, start_ms=call.start_ms + 3, end_ms=(call.end_ms or 0) + 4) for call in CALM.calls
        ),
        replace(CALM.reply, at_ms=9.5) if CALM.reply else None,
        succeeded=True,
    )
    made = [results(replace(PASSED, runs=(replace(run_of(each), clock="real"),))) for each in (CALM, late)]
    one, other = map(document, made)
    assert ".tests[].runs[].calls[].start_ms" in one["declared_time_fields"]
    assert one != other
    assert without_times(one) == without_times(other)


def test_reports_name_the_clocks_that_the_runs_had() -> None:
    """An agent that is a program runs in real time, whatever clock was asked for."""
    program = replace(PASSED, runs=(replace(run_of(CALM), clock="real"),))
    for made, clocks in ((results(program), "real"), (results(program, PASSED), "real and virtual")):
        assert document(made)["metadata"]["clock"] == clocks
        assert ("Clock", clocks) in suite_page(made).facts
        assert f'<property name="clock" value="{clocks}" />' in render_junit(made)
    assert document(results(TOOL_FAILED))["metadata"]["clock"] == "virtual"


def test_a_message_that_tells_how_long_a_call_took_is_declared() -> None:
    row = replace(TOOL_FAILED, limit="max_duration_ms", message="max_duration_ms is 5: it took 7 ms")
    assert ".tests[].message" in document(results(row))["declared_time_fields"]
    assert ".tests[].message" not in document(results(TOOL_FAILED))["declared_time_fields"]


def test_the_id_of_a_run_is_of_what_was_run() -> None:
    ids = [document(made)["run_id"] for made in (GOOD, slower(GOOD), replace(GOOD, seed=8), ALL)]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3


def test_arguments_of_any_kind_can_be_written() -> None:
    deep: Any = "end"
    for _ in range(500):
        deep = [deep]
    arguments = {"deep": deep, "inf": inf, "nan": nan, "big": 1e300, "what": {1}, 5: b"x"}
    call = TracedCall("t", 0, None, "lost", arguments)  # type: ignore[arg-type]
    (read,) = document(results(replace(PASSED, runs=(run_of(trace(call), None),))))["tests"][0]["runs"][0][
        "calls"
    ]
    assert read["arguments"] | {"deep": None} == {
        "deep": None,
        "inf": None,
        "nan": None,
        "big": None,
        "what": "{1}",
        "5": "b'x'",
    }
    assert read["end_ms"] is None


def test_arguments_that_sound_like_secrets_are_masked() -> None:
    call = TracedCall("t", 0, 1, "ok", {"q": "a", "login": [{"api_key": "k-1", "user": "u"}], "token": "t-1"})
    made = results(replace(PASSED, runs=(run_of(trace(call, at_ms=1), None),)))
    (read,) = document(made)["tests"][0]["runs"][0]["calls"]
    assert read["arguments"] == {"q": "a", "login": [{"api_key": "xxxxxx", "user": "u"}], "token": "xxxxxx"}


def test_hostile_text_is_read_back_as_it_was_and_steers_no_terminal() -> None:
    written = render_json(ENEMY)
    assert not {char for char in written if not char.isprintable()} - {"\n"}
    written.encode("utf-8")
    (first, _) = json.loads(written)["tests"]
    assert first["message"] == HOSTILE_TEXT
    assert first["runs"][0]["reply"]["text"] == HOSTILE_TEXT
