"""Flaky: each call fails with a given probability, by a draw that can be computed beforehand.

With a seed, the k-th call of a name (counted from 0) draws the number of `seed|k`, equal to the bit to the
one that the public mcp-test server draws for its tool of this name. It is the only fault with a rate of its
own, because that draw is its purpose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from faultkit.base.rng import Rng
from faultkit.faults.call_fault import Call, CallFault, Circumstances, Send, Verdict
from faultkit.faults.call_replies import INTERNAL_ERROR, always, error_of, failure_of
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class Flaky(CallFault):
    kind: ClassVar[str] = "flaky"
    summary: ClassVar[str] = "Each call fails with a given probability, by a seeded draw."
    main: ClassVar[str] = "fail_rate"

    fail_rate: float = setting(0.5, "Probability that a call fails.", minimum=0, maximum=1)
    seed: str = setting("", "Seed of the draws; derived from the seed of the plan if not given.")
    form: Literal["protocol_error", "tool_error"] = setting(
        "protocol_error",
        "How a call fails: a JSON-RPC error with the drawn number in its data, or a tool's own error.",
        choices=("protocol_error", "tool_error"),
    )

    def roll(self, call: Call, rng: Rng) -> float:
        """Return the number that decides about a call; below `fail_rate` it fails."""
        return (Rng.keyed(self.seed, call.nth) if self.seed else rng).uniform()

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        roll = self.roll(call, given.rng)
        if roll >= self.fail_rate:
            return Verdict()
        text = f"flaky failure (roll={roll:.4f} < rate={self.fail_rate:.4f})"
        data = {"failed": True, "roll": roll, "fail_rate": self.fail_rate}
        reply = (
            failure_of(call, text)
            if self.form == "tool_error"
            else error_of(call, INTERNAL_ERROR, text, data)
        )
        return Verdict(ask=False, frames=always(Send(reply)), effect=self.kind, amount=roll)
