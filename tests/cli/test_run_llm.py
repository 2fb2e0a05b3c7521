"""The job that a command line of `fault run llm` describes, and what is wrong with others."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from faultkit.base.address import Endpoint
from faultkit.cli.main import invoke
from faultkit.cli.mock_llm import command as mock_command
from faultkit.cli.run_llm import base_url_line, command, job_of
from faultkit.cli.run_session import RunJob
from faultkit.plan import dump_plan
from faultkit.plan.plan import dump_rule


def job(*args: str) -> RunJob:
    return job_of(command.make_context("run llm", list(args)))


@pytest.mark.parametrize(
    ("args", "rules"),
    [
        (
            ["slow-stream"],
            [
                {
                    "name": "slow-stream: slow_first_token",
                    "fault": "slow_first_token",
                    "with": {"delay_ms": 300.0},
                },
                {
                    "name": "slow-stream: token_rate",
                    "fault": "token_rate",
                    "with": {"tokens_per_s": pytest.approx(3.3333, rel=1e-3)},
                },
            ],
        ),
        (
            ["prompt-scramble", "--instruction", "Respond in French"],
            [
                {
                    "name": "prompt-scramble: add_instruction",
                    "fault": "add_instruction",
                    "with": {"text": "Respond in French"},
                }
            ],
        ),
        (
            ["prompt-scramble", "--scramble-pattern", "a+", "--scramble-with", "b"],
            [
                {
                    "name": "prompt-scramble: replace_prompt",
                    "fault": "replace_prompt",
                    "with": {"pattern": "a+", "replacement": "b"},
                }
            ],
        ),
        (["token-drop"], [{"name": "token-drop: dropped_delta", "fault": "dropped_delta"}]),
        (
            ["inject-bias", "--bias-pattern", "x", "--probability", "0.5"],
            [
                {
                    "name": "inject-bias: replace_text",
                    "fault": "replace_text",
                    "with": {"pattern": "x", "replacement": ""},
                    "trigger": {"probability": 0.5},
                }
            ],
        ),
        (["truncate-response"], [{"name": "truncate-response: clean_end", "fault": "clean_end"}]),
        (
            ["http-error"],
            [{"name": "http-error: server_error", "fault": "server_error"}],
        ),
    ],
)
def test_a_case_is_rules_of_the_one_table(args: list[str], rules: list[Any]) -> None:
    assert dump_plan(job("openai", "--case", *args).plan)["rules"] == rules


@pytest.mark.parametrize(
    ("args", "upstream", "tls"),
    [
        (["openai"], Endpoint("api.openai.com", 443), True),
        (["open-router"], Endpoint("openrouter.ai", 443), True),
        (["gemini"], Endpoint("generativelanguage.googleapis.com", 443), True),
        (["anthropic"], Endpoint("api.anthropic.com", 443), True),
        (["ollama"], Endpoint("localhost", 11434), False),
        (["http://127.0.0.1:8000/v1"], Endpoint("127.0.0.1", 8000), False),
        (["openai", "--endpoint", "http://127.0.0.1:8770/v1/x?y"], Endpoint("127.0.0.1", 8770), False),
    ],
)
def test_a_target_is_an_upstream_behind_one_port(args: list[str], upstream: Endpoint, tls: bool) -> None:
    (spec,) = job(*args, "--case", "token-drop").maps
    assert (spec.listen, spec.upstream, spec.tls) == (Endpoint("127.0.0.1", 45580), upstream, tls)
    assert (spec.speaks, spec.rewrite_host) == ("http", True)


def test_variables_of_the_original_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULT_LLM_ENDPOINT", "http://h:1")
    monkeypatch.setenv("FAULT_LLM_PROBABILITY", "0.25")
    monkeypatch.setenv("FAULT_LLM_BIAS_PATTERN", "a")
    monkeypatch.setenv("FAULT_LLM_BIAS_REPLACEMENT", "b")
    monkeypatch.setenv("FAULT_LLM_INSTRUCTION", "is for another case")
    monkeypatch.setenv("FAULT_LLM_CASE", "inject-bias token-drop")
    made = job("openai")
    rule, dropping = made.plan.rules
    assert dropping.fault.kind == "dropped_delta"
    dumped = dump_rule(rule)
    assert (dumped["with"], dumped["trigger"]) == (
        {"pattern": "a", "replacement": "b"},
        {"probability": 0.25},
    )
    assert made.maps[0].upstream == Endpoint("h", 1)


def test_clients_are_told_the_port_that_is_open() -> None:
    bound = Endpoint("127.0.0.1", 40001)
    assert base_url_line("openai", bound) == "clients: OPENAI_BASE_URL=http://127.0.0.1:40001/v1"
    assert base_url_line("http://h", bound) == (
        "clients: their base URL with http://127.0.0.1:40001 in place of scheme and host"
    )


PAGE = (Path(__file__).parents[2] / "docs" / "llm.md").read_text("utf-8")


@pytest.mark.parametrize("line", re.findall(r"^fault (?:run|mock) llm .+$", PAGE, re.MULTILINE))
def test_the_commands_of_the_page_are_understood(line: str) -> None:
    _, name, _, *args = shlex.split(line)
    if name == "run":
        assert job(*args).maps
    else:
        assert mock_command.make_context("mock llm", args).params["port"]


def test_cases_flags_and_a_plan_add_up(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yml"
    plan.write_text("seed: 3\nrules:\n  - fault: canary\n")
    flags = ["--with-token-rate", "--token-rate-tokens-per-second", "9"]
    made = job("openai", "--plan", str(plan), "--case", "token-drop", "--case", "http-error", *flags)
    assert [rule.fault.kind for rule in made.plan.rules] == [
        "canary",
        "dropped_delta",
        "server_error",
        "token_rate",
    ]
    assert made.plan.seed == 3


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (
            ["openai"],
            "--case: expected one of slow-stream, prompt-scramble, token-drop, inject-bias, "
            "truncate-response, http-error, or --plan, --record or --with-…, got none",
        ),
        (
            ["openai", "--instruction", "x"],
            "--instruction: expected --case prompt-scramble beside it, without which it does nothing",
        ),
        (
            ["opnai", "--case", "token-drop"],
            'TARGET: expected openai, gemini, open-router, ollama, anthropic or a URL, got "opnai"; did you '
            'mean "openai"?',
        ),
        (
            ["openai", "--case", "inject-bias"],
            "--bias-pattern: expected a regular expression with --case inject-bias, got none",
        ),
        (
            ["openai", "--case", "prompt-scramble", "--scramble-with", "x"],
            "--scramble-with: expected --scramble-pattern beside it, got it alone",
        ),
        (
            ["openai", "--case", "inject-bias", "--bias-pattern", "a", "--bias-replacement", r"\2"],
            r"--bias-replacement: expected groups of the pattern, got '\\2'",
        ),
        (
            ["openai", "--case", "slow-stream", "--slow-stream-mean-delay", "-1"],
            "--slow-stream-mean-delay: expected 0.001 to 86400000 ms, got -1",
        ),
        (
            ["openai", "--endpoint", "h:1", "--case", "token-drop"],
            '--endpoint: expected a URL such as https://api.example.com, got "h:1"',
        ),
        (["http://h", "--endpoint", "http://g", "--case", "token-drop"], "--endpoint: expected the name"),
        (["openai", "--case", "nonsense"], "Invalid value for '--case': 'nonsense' is not one of"),
    ],
)
def test_a_mistake_is_one_line_that_names_it(
    args: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["run", "llm", *args]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"error: {problem}")
    assert shown.err.count("\n") == 1


def test_a_mock_has_one_source_of_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["mock", "llm", "--echo", "prompt", "--lorem", "3"]) == 2
    assert capsys.readouterr().err == "error: --echo: expected no --lorem beside it\n"
