"""Profiles of a small client program in its own process: evidence of both sides, limits and exit codes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from pathlib import Path

import click
import pytest

from faultkit.base.errors import InputError, TargetError
from faultkit.cli.profile_llm import command
from faultkit.llm.profile import profile_run
from faultkit.llm.profile.client_environment import KEY, environment_for
from faultkit.llm.profile.evidence import ClientRun
from faultkit.llm.profile.profile_run import LlmProfile, LlmProfileJob, check_job, profile_llm_client
from faultkit.plan import Plan
from tests.llm.profile.test_judging import CONTROL

STUB = (sys.executable, "-I", "-S", str(Path(__file__).parent / "stub_client.py"))


def profiled(habit: str, *only: str, limit_s: float = 10.0, dialect: str = "") -> LlmProfile:
    job = LlmProfileJob((*STUB, habit), dialect, only, limit_s=limit_s)
    return asyncio.run(profile_llm_client(job, jobs=4))


def found(profile: LlmProfile) -> dict[str, list[str]]:
    return {row.case: [defect.name for defect in row.defects] for row in profile.rows}


def test_the_two_silent_failures_are_seen() -> None:
    credulous = profiled("credulous", "clean_end", "auth")
    assert found(credulous) == {"auth": [], "clean_end": ["took half an answer for a whole one"]}
    assert (credulous.dialect, credulous.is_streamed, credulous.has_defects) == ("openai", True, True)
    patient = profiled("patient", "llm_keep_alive_only", limit_s=2.0)
    assert found(patient) == {"llm_keep_alive_only": ["never gave up"]}
    assert patient.rows[0].exit_code is None


def test_a_good_client_copes_and_waits_as_long_as_it_is_asked_to() -> None:
    profile = profiled("good", "clean_end", "overloaded:once", "quota_exhausted", "answer_cut:reset")
    assert list(found(profile).values()) == [[], [], [], []]
    assert [row.requests for row in profile.rows] == [2, 1, 1, 1]
    assert (profile.has_defects, profile.is_conclusive) == (False, True)
    assert "insufficient_quota" in profile.rows[1].why


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("habit", "case", "defects"),
    [
        ("impatient", "llm_rate_limit:once", ["ignored Retry-After"]),
        ("stubborn", "auth", ["retried what must not be retried"]),
        ("hasty", "answer_cut:reset", ["retried after output was shown"]),
        ("storming", "overloaded:always", ["storm"]),
        ("mute", "context_length", ["lost the error's reason"]),
        ("leaking", "token_stall:never", ["leaked connections"]),
    ],
)
def test_each_bad_habit_has_its_verdict(habit: str, case: str, defects: list[str]) -> None:
    assert found(profiled(habit, case)) == {case: defects}


def test_a_fault_that_cannot_act_and_a_client_of_another_dialect_are_no_pass() -> None:
    profile = profiled("good", "unknown_tool")
    assert (profile.rows[0].verdict, profile.is_conclusive) == ("not exercised", False)
    other = profiled("good", "auth", dialect="gemini")
    assert other.problem == "the client speaks openai, expected gemini"
    assert (other.rows[0].verdict, other.is_conclusive) == ("inconclusive", False)


def test_keys_of_the_user_do_not_reach_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "real")
    env = environment_for("http://127.0.0.1:9")
    assert (env["OPENAI_API_KEY"], env["OPENAI_BASE_URL"]) == (KEY, "http://127.0.0.1:9/v1")
    assert "ANTHROPIC_AUTH_TOKEN" not in env


def test_a_client_that_never_calls_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    code = command.main(["--", sys.executable, "-ISc", ""], standalone_mode=False)
    shown = capsys.readouterr()
    assert (code, shown.err) == (4, "")
    assert shown.out == (
        "No case was judged: the client never called a model: does it use the URL from its environment, or "
        "{url}?\n"
    )


def test_an_interrupted_profile_has_what_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asyncio.Event()

    async def run_client(job: LlmProfileJob, plan: Plan) -> ClientRun:
        if plan.rules and plan.rules[0].fault.kind == "clean_end":
            asked.set()
            await asyncio.Event().wait()
        return CONTROL

    async def interrupted() -> LlmProfile:
        seen: list[LlmProfile] = []
        job = LlmProfileJob(STUB, only=("auth", "clean_end"))
        work = asyncio.ensure_future(profile_llm_client(job, jobs=1, on_interrupt=seen.append))
        await asked.wait()
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work
        return seen[0]

    monkeypatch.setattr(profile_run, "run_client", run_client)
    profile = asyncio.run(interrupted())
    assert ([row.case for row in profile.rows], profile.is_conclusive) == (["auth"], False)
    assert profile.notes == ("interrupted: 1 of 2 cases finished",)


def test_wrong_jobs_are_refused_before_anything_runs() -> None:
    with pytest.raises(InputError, match="expected the command of the client"):
        check_job(LlmProfileJob(()))
    with pytest.raises(InputError, match="expected a fault of level llm"):
        check_job(LlmProfileJob(STUB, only=("cut",)))
    with pytest.raises(TargetError, match="no such program"):
        check_job(LlmProfileJob(("no-such-program",)))


def test_the_command_exits_with_1_for_a_defect_and_writes_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "profile.xml"
    flags = ["--only", "clean_end", "--json", "--report", str(report), "--"]
    code = command.main([*flags, *STUB, "credulous"], standalone_mode=False)
    document = json.loads(capsys.readouterr().out)
    assert (code, document["summary"]["defect"]) == (1, 1)
    assert 'failures="1"' in report.read_text("utf-8")
    with pytest.raises(InputError, match="expected a file that ends in"):
        command.main(["--report", str(tmp_path / "a.pdf"), "--", *STUB], standalone_mode=False)
    with pytest.raises(click.BadParameter, match="openai-responses"):
        command.main(["--dialect", "mistral", "--", *STUB], standalone_mode=False)
