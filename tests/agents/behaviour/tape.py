"""A recording that a test writes line by line."""

from __future__ import annotations

import json
from typing import Any

from faultkit.agents.behaviour.behaviour import Behaviour, judge
from faultkit.agents.behaviour.recorded_run import RecordedRun, read_recorded_run
from faultkit.faults.call_fault import Call, Frame, Send, Verdict
from faultkit.mcp.fault_specs import parse_spec
from faultkit.mcp.recorded_lines import frame_line, injection_line, rules_line
from faultkit.plan import Plan, Rule

WRITE = {"readOnlyHint": False}
READ = {"readOnlyHint": True}
REPEATABLE = {"readOnlyHint": False, "idempotentHint": True}


def rule(spec: str) -> Rule:
    parsed = parse_spec(spec)
    assert parsed is not None
    return parsed


class Tape:
    """The lines of a recording. `at_s` is the time of the next one."""

    def __init__(self, session: str = "stdio", **tools: dict[str, Any] | None) -> None:
        """`tools`: names with their annotations; None for a tool without any."""
        self.at_s = 0.0
        self.session = session
        self._lines: list[dict[str, Any]] = []
        self._id = 0
        self._called: dict[int, dict[str, Any]] = {}
        if tools:
            self.list_tools(**tools)

    # Lines

    def write(self, line: dict[str, Any]) -> None:
        self._lines.append({"t": self.at_s, **line})

    def declare(self, *specs: str) -> None:
        self.write(rules_line(Plan(tuple(rule(spec) for spec in specs))))

    def ask(self, method: str, params: dict[str, Any]) -> int:
        self._id += 1
        self._called[self._id] = params
        self.message("client", {"id": self._id, "method": method, "params": params})
        return self._id

    def message(self, side: str, message: dict[str, Any]) -> None:
        self.write({"session": self.session, "from": side, "message": {"jsonrpc": "2.0", **message}})

    def list_tools(self, **tools: dict[str, Any] | None) -> int:
        id = self.ask("tools/list", {})
        listed = [
            {"name": name, **({} if hints is None else {"annotations": hints})}
            for name, hints in tools.items()
        ]
        self.message("server", {"id": id, "result": {"tools": listed}})
        return id

    def call(self, tool: str, **arguments: Any) -> int:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def answer(self, id: int, text: str = "done") -> None:
        self.message("server", {"id": id, "result": {"content": [{"type": "text", "text": text}]}})

    def fail(self, id: int, code: int, **data: Any) -> None:
        self.message("server", {"id": id, "error": {"code": code, "message": f"no {id}", "data": data}})

    def cancel(self, id: int) -> None:
        self.message("client", {"method": "notifications/cancelled", "params": {"requestId": id}})

    def inject(self, id: int, spec: str, verdict: Verdict, method: str = "tools/call") -> None:
        params = self._called[id]
        call = Call(method, str(params.get("name", "")), params, id)
        self.write(injection_line(self.session, rule(spec), call, verdict))

    def sent(self, id: int, frame: Frame) -> None:
        self.write(frame_line(self.session, id, frame))

    # Whole calls, a second each

    def done(self, tool: str, text: str = "done", **arguments: Any) -> int:
        """Write a call that succeeds."""
        id = self.call(tool, **arguments)
        self.answer(id, text)
        self.at_s += 1
        return id

    def lost(self, tool: str, **arguments: Any) -> int:
        """Write a call whose answer is lost after the server has acted."""
        id = self.call(tool, **arguments)
        self.inject(id, "lost_reply", Verdict(frames=lambda reply: (), effect="lost_reply"))
        self.answer(id)
        self.at_s += 1
        return id

    def refused(self, tool: str, code: int = -32000, **arguments: Any) -> int:
        """Write a call that a fault answers with an error; the server does not get it."""
        id = self.call(tool, **arguments)
        self.inject(id, "error", Verdict(ask=False, frames=lambda reply: (), effect="protocol_error"))
        self.sent(id, Send({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "injected"}}))
        self.at_s += 1
        return id

    def changed(self, tool: str, **arguments: Any) -> int:
        """Write a call whose answer looks sound, with a value that a fault changed."""
        id = self.call(tool, **arguments)
        self.inject(id, "corrupt_value", Verdict(frames=lambda reply: (), effect="corrupt_value"))
        self.answer(id, "costs 12")
        content = [{"type": "text", "text": "costs 9931"}]
        self.sent(id, Send({"jsonrpc": "2.0", "id": id, "result": {"content": content}}))
        self.at_s += 1
        return id

    # Results

    @property
    def text(self) -> str:
        return "".join(f"{json.dumps(line)}\n" for line in self._lines)

    def run(self) -> RecordedRun:
        return read_recorded_run(self.text)

    def judge(self) -> Behaviour:
        return judge(self.run())
