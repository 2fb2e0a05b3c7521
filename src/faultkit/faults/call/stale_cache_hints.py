"""Stale cache hints: the result allows caches to keep it for too long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Era, Verdict
from faultkit.faults.call_replies import changed_result
from faultkit.faults.fault import setting

_CACHED = ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read")


@dataclass(frozen=True)
class StaleCacheHints(CallFault):
    kind: ClassVar[str] = "stale_cache_hints"
    summary: ClassVar[str] = "Lists and resources may be cached for far too long, by their hints."
    main: ClassVar[str] = "ttl_ms"
    methods: ClassVar[tuple[str, ...]] = _CACHED
    only: ClassVar[tuple[str, ...]] = _CACHED
    eras: ClassVar[tuple[Era, ...]] = ("modern",)
    instead: ClassVar[str] = "only lists and resources/read of the modern era have hints; use stale_value"

    ttl_ms: int = setting(
        86_400_000, "How long the result may be cached, by its hint.", unit="ms", minimum=0, maximum=2**53 - 1
    )
    scope: Literal["public", "private"] = setting(
        "public", "Which caches may keep it, by its hint.", choices=("public", "private")
    )

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        hints = {"ttlMs": self.ttl_ms, "cacheScope": self.scope}
        return Verdict(
            frames=changed_result(lambda result: {**result, **hints}),
            effect=self.kind,
            amount=float(self.ttl_ms),
        )
