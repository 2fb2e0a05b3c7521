"""What the control plane may ask of a data plane, wherever that runs: in a thread, a process, or several."""

from __future__ import annotations

from typing import Protocol, TypeVar

from faultkit.base.address import Endpoint
from faultkit.plan import Plan, Rule
from faultkit.proxy.happenings import Happening
from faultkit.proxy.snapshot import Snapshot
from faultkit.proxy.spec import ProxySpec

Self = TypeVar("Self")


class DataPlane(Protocol):
    """Any thread may call. After `close`, all but `happenings` and `close` raise RunError."""

    observed: bool
    """Whether every single connection and injection is told; counters are always kept."""

    def __enter__(self: Self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...

    def start(self) -> None: ...

    def close(self) -> None:
        """End every connection and give every port back."""

    def open_proxy(self, spec: ProxySpec, enabled: bool = True) -> Endpoint:
        """Listen; returns where. A port that cannot be had is a TargetError, and nothing is left."""

    def close_proxy(self, name: str) -> None: ...

    def set_enabled(self, name: str, enabled: bool) -> None:
        """A disabled proxy refuses new connections and has dropped the old ones."""

    @property
    def plan(self) -> Plan: ...

    def check_rule(self, rule: Rule) -> None:
        """Raises InputError for a rule that no plan for this plane may have."""

    def set_plan(self, plan: Plan, total_s: float | None = None, origin: float | None = None) -> None:
        """Put another plan to work, at once and on live connections too. Rules that stay keep their state;
        schedules of those that come count from `origin`. A plan that is refused has changed nothing."""

    def snapshot(self) -> Snapshot: ...

    def happenings(self) -> list[Happening]:
        """What has happened since the last call, in order."""
