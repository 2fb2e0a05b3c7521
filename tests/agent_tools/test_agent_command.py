"""`fault agent`: flags, and errors in them before anything is served."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from faultkit.agent_tools.tool_catalog import AGENT_TOOLS
from faultkit.cli.agent import _chosen
from faultkit.cli.main import invoke


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove settings of the environment, and restore the loggers of libraries afterwards."""
    logs = [logging.getLogger(name) for name in ("mcp", "uvicorn", "asyncio")]
    before = [(log.handlers[:], log.level, log.propagate) for log in logs]
    for name in tuple(os.environ):
        if name.startswith("FAULT_") or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    yield
    for log, state in zip(logs, before, strict=True):
        log.handlers, log.level, log.propagate = state


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        ("agent --llm-client absent tool", 2, "error: --llm-client: expected auto, rules, or one of "),
        ("agent tool --llm-client absent", 2, "error: --llm-client: expected auto, rules, or one of "),
        ("agent --llm-client open-router tool", 2, "error: OPENROUTER_API_KEY: expected an API key"),
        ("agent tool --allow-target a..b", 2, "error: --allow-target: expected a host, host:port"),
        ("agent tool --allow-target http://a/", 2, "error: --allow-target: expected a host, host:port"),
        ("agent tool --only fault_scor_reliability", 2, "error: --only: expected some of fault_index_source"),
        ("agent tool --max-rps nan", 2, "error: --max-rps: expected a number, got nan"),
        ("agent tool --transport http --token=", 2, "error: --token: expected visible ASCII"),
        ("agent tool --max-duration soon", 2, "error: --max-duration: expected a duration such as"),
        ("agent tool --max-timeout 0s", 2, 'error: --max-timeout: expected more than 0, got "0s"'),
        ("agent tool --max-clients 0", 2, "error: Invalid value for '--max-clients'"),
        ("agent tool --transport smoke", 2, "error: Invalid value for '--transport'"),
        ("agent tool --transport http --host 0.0.0.0", 2, "error: --token: expected a token"),
        ("agent tool --transport http --token é", 2, "error: --token: expected visible ASCII"),
        ("agent nonsense", 2, "error: No such command 'nonsense'"),
    ],
)
def test_a_wrong_flag_is_one_line_and_an_exit_code(
    args: str, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(args.split()) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(said)
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        (
            ("fault_score_*", "chaos_status"),
            ["fault_score_performance", "fault_score_reliability", "chaos_status"],
        ),
        (("fault_extract_code_block",), ["fault_extract_code_block"]),
        ((), list(AGENT_TOOLS)),
    ],
)
def test_only_the_chosen_tools_are_served(patterns: tuple[str, ...], names: list[str]) -> None:
    assert list(_chosen(AGENT_TOOLS, patterns)) == names


def test_an_empty_key_counts_as_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    assert invoke(["agent", "--llm-client", "openai", "tool"]) == 2
    assert capsys.readouterr().err.startswith("error: OPENAI_API_KEY: expected an API key")


def test_a_port_in_use_is_an_error_at_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert invoke(["agent", "tool", "--transport", "http", "--port", str(port)]) == 3
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in capsys.readouterr().err


def test_flags_before_the_command_are_the_defaults_of_those_after_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = ["agent", "--llm-client", "ollama", "--llm-embed-model-dim", "1024"]
    assert invoke([*before, "install", "cursor", "--command", "fault", "--llm-client", "gemini"]) == 0
    out = capsys.readouterr().out
    words = [word.strip(' ,"') for word in out[out.index('"agent"') :].splitlines()]
    assert words[:6] == ["agent", "--llm-client", "gemini", "--llm-embed-model-dim", "1024", "tool"]


def test_the_help_names_every_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["agent", "tool", "--help"]) == 0
    shown = capsys.readouterr().out
    flags = ("transport", "host", "port", "token", "index-dir", "allow-target", "max-duration", "llm-client")
    assert [flag for flag in flags if f"--{flag} " not in shown] == []


def test_the_table_of_tools_is_light() -> None:
    heavy = (
        "{'mcp', 'anyio', 'pydantic', 'starlette', 'uvicorn', 'tree_sitter', 'numpy', 'httpx', 'jsonschema'}"
    )
    code = f"import sys, faultkit.agent_tools.tool_catalog; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_over_stdio_nothing_is_imported_that_only_tools_need() -> None:
    heavy = "{'tree_sitter', 'numpy', 'openai', 'wordllama', 'qdrant_edge', 'libcst'}"
    parts = ("faultkit.code", "faultkit.proxy", "faultkit.load", "faultkit.scenario")
    ours = f"{{name for name in sys.modules if name.startswith({parts})}}"
    code = (
        f"import sys, faultkit.agent_tools.stdio_server; print(sorted({heavy} & set(sys.modules) | {ours}))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
