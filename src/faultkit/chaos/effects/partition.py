"""network_partition as a value: which targets, and how they are cut off.

With `control`, a running proxy does it; else `effects.wall` does, to the connections of this process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from faultkit.base.address import Endpoint
from faultkit.base.errors import InputError
from faultkit.chaos.effects.lasting import Lasting, Lease
from faultkit.chaos.effects.rules import Rules, partition_at_proxy
from faultkit.chaos.effects.settings import choice, endpoints, known_only
from faultkit.chaos.limits import Limits

MODES = ("refuse", "blackhole")


@dataclass(frozen=True, slots=True)
class Partition:
    mode: str
    targets: tuple[Endpoint, ...]

    def check(self, limits: Limits, *, targets_too: bool) -> None:
        for index, target in enumerate(self.targets if targets_too else ()):
            limits.check_target(target.host, target.port, f"targets[{index}]")

    def begin(self, name: str, lasts_s: float, lease: Lease | None) -> Lasting:
        """There is nothing to write down: it ends with this process, by whatever death."""
        from faultkit.chaos.effects.wall import raise_wall

        return raise_wall(self.targets, blackhole=self.mode == "blackhole")


def read_partition(targets: tuple[str, ...], metadata: Mapping[str, object]) -> Partition | Rules:
    """`mode`; `control` and `token` if a proxy is to carry it out."""
    known_only(metadata, ("mode", "control", "token"))
    mode = choice(metadata, "mode", "refuse", MODES)
    if not targets:
        raise InputError("targets", "expected at least one HOST:PORT to cut off, got none")
    found = endpoints(targets)
    return partition_at_proxy(mode, found, metadata) if "control" in metadata else Partition(mode, found)
