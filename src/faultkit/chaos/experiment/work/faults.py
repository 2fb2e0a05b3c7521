"""`fault`: register, inject or remove a fault of the registry. What was registered is put back at the end.

The registry is this process's own, so what is done to it ends with the process. What a fault does to others
is written down by the fault itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from faultkit.base.documents.reading import Reading
from faultkit.base.documents.values import text
from faultkit.base.errors import InputError
from faultkit.chaos.experiment.plain import plain
from faultkit.chaos.experiment.threads import in_thread
from faultkit.chaos.experiment.work.work import Failed, Scene
from faultkit.chaos.faults import ChaosFault, parse_chaos_fault
from faultkit.chaos.registry import FaultRegistry

CHANGES = ("register", "inject", "remove")
SETTINGS = (
    "fault_type",
    "probability",
    "duration_seconds",
    "error_message",
    "seed",
    "targets",
    "metadata",
)
"""Of `register`, in the words of `chaos_inject_fault`."""


@dataclass(frozen=True, slots=True)
class FaultChange:
    change: str
    name: str
    fault: ChaosFault | None = None
    """What is registered."""
    kind: ClassVar[str] = "fault"
    usual_limit_s: ClassVar[float] = 60.0

    @property
    def says(self) -> str:
        return f"{self.change} fault {self.name}"

    def resolve(self, scene: Scene) -> None:
        if scene.registry is None:
            raise InputError(self.change, "expected a registry of faults, but this run has none")

    async def perform(self, scene: Scene) -> Any:
        return await self.act(scene)

    async def act(self, scene: Scene) -> Any:
        assert scene.registry is not None, "it was resolved"
        return await _ACTS[self.change](self, scene, scene.registry)

    def take_back(self, scene: Scene) -> None:
        """As a step of a rollback."""
        registry = scene.registry
        assert registry is not None, "it was resolved"
        scene.reversals.add(self.says, lambda: registry.remove(self.name))

    async def _register(self, scene: Scene, registry: FaultRegistry) -> Any:
        assert self.fault is not None, "parsing sees to that"
        before = registry.held(self.name)
        if before is None:
            scene.reversals.add(f"remove fault {self.name}", lambda: registry.remove(self.name))
        else:
            scene.reversals.add(f"register fault {self.name} as it was", lambda: registry.put_back(before))
        fault = self.fault
        if fault.seed is None and scene.seed is not None:
            fault = replace(fault, seed=scene.seed)
        registry.register(fault, ttl_s=scene.ttl_s())
        return {"registered": self.name}

    async def _inject(self, scene: Scene, registry: FaultRegistry) -> Any:
        if self.name not in registry:
            raise Failed(f'there is no fault named "{self.name}"')
        injection = await registry.ainject(self.name)
        if injection.began is not None:
            scene.reversals.add(f"end the effect of fault {self.name}", lambda: registry.end(injection))
        return {"was_triggered": injection.was_triggered, "effect": plain(injection.effect)}

    async def _remove(self, scene: Scene, registry: FaultRegistry) -> Any:
        before = registry.held(self.name)
        if before is not None:
            scene.reversals.add(f"register fault {self.name} again", lambda: registry.put_back(before))
        return {"removed": self.name, "existed": await in_thread(lambda: registry.remove(self.name))}


_ACTS = {
    "register": FaultChange._register,
    "inject": FaultChange._inject,
    "remove": FaultChange._remove,
}


def parse_fault(value: object, path: str, problems: list[InputError]) -> FaultChange | None:
    before = len(problems)
    registers = isinstance(value, Mapping) and "register" in value
    reading = Reading(value, (*CHANGES, *SETTINGS) if registers else CHANGES, path, problems)
    chosen = [key for key in CHANGES if key in reading.given]
    if reading.sound and len(chosen) != 1:
        got = " and ".join(chosen) or "none"
        problems.append(InputError(path, f"expected one of {', '.join(CHANGES)}, got {got}"))
    if len(chosen) != 1:
        return None
    name = reading.need(chosen[0], text, "", "the name of a fault")
    fault = None
    if registers and len(problems) == before:
        settings = {key: reading.given[key] for key in SETTINGS if key in reading.given}
        try:
            fault = parse_chaos_fault({"name": name, **settings})
        except InputError as error:
            problems.append(error.within(path))
    return FaultChange(chosen[0], name, fault) if len(problems) == before else None
