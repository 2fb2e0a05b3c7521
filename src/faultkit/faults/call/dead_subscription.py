"""Dead subscription: the server acknowledges a subscription and then never sends a notification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Era, Message, Send, Verdict
from faultkit.faults.call_replies import LIMIT_S, always, result_of
from faultkit.faults.fault import setting

_ID_KEY = "io.modelcontextprotocol/subscriptionId"


@dataclass(frozen=True)
class DeadSubscription(CallFault):
    kind: ClassVar[str] = "dead_subscription"
    summary: ClassVar[str] = "A subscription is acknowledged, but no notification follows."
    main: ClassVar[str] = "limit_s"
    methods: ClassVar[tuple[str, ...]] = ("subscriptions/listen",)
    only: ClassVar[tuple[str, ...]] = ("subscriptions/listen",)
    eras: ClassVar[tuple[Era, ...]] = ("modern",)
    instead: ClassVar[str] = "in the legacy era, use hang with method resources/subscribe"

    limit_s: float = setting(
        LIMIT_S, "After so long the subscription ends in good order.", unit="s", minimum=0, maximum=86_400
    )

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        meta: dict[str, Any] = {_ID_KEY: call.id}
        requested = call.params.get("notifications")
        agreed = {"_meta": meta, "notifications": requested if isinstance(requested, dict) else {}}
        acknowledged: Message = {
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": agreed,
        }
        end = Send(result_of(call, {"_meta": meta}), after_s=self.limit_s)
        return Verdict(ask=False, frames=always(Send(acknowledged), end), effect=self.kind)
