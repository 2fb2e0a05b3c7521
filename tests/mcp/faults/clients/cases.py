"""The faults that clients are tested with, and the action of the client: call a tool, list the tools,
subscribe."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from faultkit.faults.call_fault import CallFault
from faultkit.mcp.fault_specs import parse_spec
from tests.mcp.faults.call_places import EVERYWHERE, Place
from tests.mcp.faults.rows import WITH_AN_END_OF_THEIR_OWN

Deed = Literal["call", "call twice", "two calls", "list", "list twice", "listen"]


@dataclass(frozen=True)
class Case:
    spec: str
    deed: Deed = "call"
    stable: bool = True
    """True if the outcome does not depend on the speed of the machine."""

    @property
    def kind(self) -> str:
        return re.split("[:,@]", self.spec)[0]

    @property
    def hitting_once(self) -> str:
        """Return the spec limited to the first call, so that the next call shows whether the client still
        works."""
        if self.kind in WITH_AN_END_OF_THEIR_OWN or "first=" in self.spec:
            return self.spec
        fault, at, target = self.spec.partition("@")
        return f"{fault},first=1{at}{target}"

    def places(self) -> list[Place]:
        rule = parse_spec(self.spec)
        assert rule is not None
        assert isinstance(rule.fault, CallFault)
        return [place for place in EVERYWHERE if rule.fault.fits(place.transport, place.era)]


CASES = (
    Case("hang"),
    Case("wedged"),
    Case("frozen"),
    Case("slow:100"),
    Case("slow:2000"),
    Case("slow_drip:100"),
    Case("recover_after:1"),
    Case("fail_from:1,first=1"),
    Case("tool_error"),
    Case("protocol_error:-32050"),
    Case("flaky:1,seed=s"),
    Case("rate_limit:http"),
    Case("rate_limit:jsonrpc"),
    Case("rate_limit:tool_error"),
    Case("rate_limit:hidden"),
    Case("http_status:401"),
    Case("http_status:403"),
    Case("http_status:404"),
    Case("http_status:429,retry_after_s=1"),
    Case("http_status:503"),
    Case("http_status:503,as_error=true"),
    Case("malformed_json"),
    Case("wrong_id"),
    Case("mistyped_id"),
    Case("duplicate_reply"),
    Case("out_of_order", "two calls"),
    Case("reply_after_cancel:600"),
    Case("lost_reply"),
    Case("truncated_reply"),
    Case("stream_end"),
    Case("keep_alive_only:100"),
    Case("disconnect"),
    Case("tcp_reset"),
    Case("empty_result"),
    Case("oversized_result:500000"),
    Case("oversized_result:50000000", stable=False),
    Case("corrupt_value"),
    Case("stale_value", "call twice"),
    Case("prompt_injection"),
    Case("schema_drift", "list"),
    Case("vanished_tools", "list"),
    Case("notification_storm:100"),
    Case("notification_storm:20000", stable=False),
    Case("progress_storm:100"),
    Case("header_mismatch"),
    Case("unsupported_version"),
    Case("unknown_result_type"),
    Case("input_required_loop,first=11"),
    Case("stale_cache_hints@tools/list", "list twice"),
    Case("dead_subscription:2", "listen"),
)

ALL = [(case, place) for case in CASES for place in case.places()]
