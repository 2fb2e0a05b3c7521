"""What the user of a gateway or a mock is told while it runs: lines of text, or JSON events, one a line.

    {"event": "started", "t": 0.01, "url": "http://127.0.0.1:8766/mcp"}
    {"event": "injected", "t": 1.2, "rule": "slow", "fault": "slow", "method": "tools/call", …}
    {"event": "note", "t": 1.3, "text": "…"}
    {"event": "ended", "t": 9.8, "reason": "end of input", "rules": [{"name": "slow", …}]}

It knows rules and calls, but no transport and no file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from faultkit.base.text import counted
from faultkit.faults.call_fault import Call, Verdict
from faultkit.mcp.injector import Injector, RuleCount, places_of
from faultkit.plan import Plan, Rule

Say = Callable[[str], None]
"""Writes a line for the user."""


class RunLog:
    """The lines of one run."""

    def __init__(self, say: Say, elapsed: Callable[[], float], *, as_json: bool = False) -> None:
        self._say = say
        self._elapsed = elapsed
        self._as_json = as_json

    def note(self, text: str) -> None:
        """Write a sentence."""
        self._say(self._event("note", {"text": text}) if self._as_json else text)

    def caveats(self, plan: Plan) -> None:
        """Write a warning for each rule whose settings do something that is hardly meant."""
        for rule in plan.rules:
            if rule.caveat is not None:
                self.note(f"warning: {rule.caveat}")

    def started(self, text: str, **fields: object) -> None:
        """Write that the server listens."""
        self._say(self._event("started", fields) if self._as_json else text)

    def injected(self, rule: Rule, call: Call, verdict: Verdict) -> None:
        """Write an injection as an event; as text, the end sums them up."""
        if self._as_json:
            self._say(self._event("injected", injection_fields(rule, call, verdict)))

    def misfit(self, rule: Rule, call: Call) -> None:
        """Write that a rule cannot act on this client's calls."""
        self.note(f"warning: {misfit_text(rule, call)}")

    def ended(self, reason: str, injector: Injector) -> None:
        """Write what the rules of the run did."""
        counts = injector.total_counts
        if self._as_json:
            rules = [
                {"name": name, "covered": each.covered, "injected": each.injected}
                for name, each in counts.items()
            ]
            self._say(self._event("ended", {"reason": reason, "rules": rules}))
            return
        for name, each in counts.items():
            self._say(summary_line(name, each))

    def _event(self, event: str, fields: Mapping[str, object]) -> str:
        return json.dumps({"event": event, "t": round(self._elapsed(), 6), **fields})


def injection_fields(rule: Rule, call: Call, verdict: Verdict) -> dict[str, Any]:
    """Return an injection as plain data."""
    return {
        "rule": rule.name,
        "fault": rule.fault.kind,
        "n": call.ordinal,
        "effect": verdict.effect,
        "value": verdict.amount,
        "method": call.method,
        "name": call.name,
        "id": call.id,
    }


def misfit_text(rule: Rule, call: Call) -> str:
    """Return why a rule injects nothing into the calls of this client."""
    return (
        f'rule "{rule.name}" injects nothing: {rule.fault.kind} is for {" or ".join(places_of(rule))}, '
        f"and this client uses {call.transport} in the {call.era} era"
    )


def summary_line(name: str, count: RuleCount) -> str:
    """Return what a rule did in a run."""
    calls = counted(count.covered, "call")
    if count.injected:
        return f'rule "{name}" acted on {count.injected:,} of {calls}'
    if count.covered:
        return f'rule "{name}" acted on none of {calls}'
    why = "it does not fit this client" if count.misfits else "none matched it"
    return f'warning: rule "{name}" acted on no call: {why}'
