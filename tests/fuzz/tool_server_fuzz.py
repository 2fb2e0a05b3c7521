"""Fuzzes the MCP servers over stdio: mock, gateway, `fault agent tool` and `fault chaos serve`.

The runs of mock and gateway, over HTTP too, are those of `tests.mcp.fuzz`.
"""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any, TypeAlias

from tests.fuzz.document_mutator import mutated_value
from tests.fuzz.fuzz_budget import Budget
from tests.mcp.fuzz.fuzz_clients import Pipes
from tests.mcp.fuzz.fuzz_runs import RUNS
from tests.mcp.fuzz.fuzzed_process import FAULT, Broken, running
from tests.mcp.fuzz.message_mutator import initialize, mutated, request

Calls: TypeAlias = tuple[tuple[str, dict[str, Any]], ...]
"""Legal calls: the names of tools, and their arguments."""
_MESSAGES = 500
"""Mutated messages to one process, before the next one is started."""
_BATCH = 20
"""Lines before each ping."""


def fuzz_mock_and_gateway(budget: Budget) -> None:
    """Run all of `tests.mcp.fuzz`, again and again with other seeds."""
    while budget.is_left:
        for run in RUNS:
            run.go(_MESSAGES, f"{budget.seed}-{budget.inputs}")
            budget.inputs += _MESSAGES


def fuzz_agent_tools(budget: Budget) -> None:
    """Fuzz `fault agent tool` by calls of tools that only read."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        source = Path(folder) / "app.py"
        source.write_text("def get(url):\n    return httpx.get(url)\n")
        calls: Calls = (
            ("fault_list_function_names", {"file": str(source)}),
            ("fault_extract_code_block", {"file": str(source), "func": "get"}),
            ("fault_score_reliability", {"snippet": source.read_text(), "lang": "python"}),
        )
        command = (*FAULT, "agent", "--llm-client", "rules", "tool")
        _fuzz_tools(budget, command, calls)


def fuzz_chaos_tools(budget: Budget) -> None:
    """Fuzz `fault chaos serve` by its tools; faults that it injects do nothing but raise or wait."""
    calls: Calls = (
        ("chaos_status", {}),
        ("chaos_inject_fault", {"fault_name": "f", "action": "register", "fault_type": "error"}),
        ("chaos_inject_fault", {"fault_name": "f", "action": "inject", "probability": 0.5}),
        ("chaos_run_experiment", {"experiment_name": "x", "dry_run": True}),
    )
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        state = ("--experiments", folder, "--state", folder, "--store", f"{folder}/audit.db")
        _fuzz_tools(budget, (*FAULT, "chaos", "serve", *state), calls)


def _fuzz_tools(budget: Budget, command: tuple[str, ...], calls: Calls) -> None:
    with running(command, piped=True) as subject:
        pipes = Pipes(subject)
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        pipes.ask(_line(initialize("legal-init")) + _line(ready), "legal-init")
        while budget.is_left:
            lines = b"".join(_message(budget.rng, calls) + b"\n" for _ in range(_BATCH))
            budget.note(lines)
            id = f"legal-{budget.inputs}"
            answer = pipes.ask(lines + _line(request("ping", {}, id)), id)
            if "result" not in answer:
                raise Broken(f"a ping got {str(answer)[:500]}")
            subject.check()


def _line(message: object) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _message(rng: random.Random, calls: Calls) -> bytes:
    """Return one line: a call of a tool with wrong arguments, or any mutated message."""
    if rng.random() < 0.4:
        return mutated(rng).replace(b"\n", b" ")
    name, arguments = rng.choice(calls)
    params = {"name": name, "arguments": mutated_value(rng, arguments)}
    return json.dumps(request("tools/call", params, rng.randrange(50))).encode()
