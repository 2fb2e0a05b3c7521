"""`slo` and `scenario`: a scenario of load, as a check of its objectives or as an action that makes traffic.

The scenario is a file, or written in place as a file would have it. It runs as `fault scenario run` does.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from faultkit.base.documents.reading import Reading
from faultkit.base.documents.shape import shown
from faultkit.base.documents.values import switch, text
from faultkit.base.errors import InputError
from faultkit.chaos.experiment.threads import in_thread
from faultkit.chaos.experiment.work.work import Failed, Scene
from faultkit.scenario.file import load_scenarios
from faultkit.scenario.model import Scenario
from faultkit.scenario.parse import parse_scenario
from faultkit.scenario.report import model as report

KEYS = ("file", "inline", "baseline")
_ENDING_S = 10.0
"""A run that is told to stop ends its processes first."""


@dataclass(frozen=True, slots=True)
class Load:
    file: str | None
    inline: Scenario | None = None
    baseline: bool = False
    """Whether each load runs once more without the faults of its scenario."""
    kind: ClassVar[str] = "scenario"
    usual_limit_s: ClassVar[float] = 600.0

    @property
    def says(self) -> str:
        return f"run scenario {self.file or (self.inline.title if self.inline else '')}"

    def resolve(self, scene: Scene) -> None:
        self._scenarios(scene.folder)

    async def perform(self, scene: Scene) -> Any:
        """`status`: passed if all of it did; `items` with verdicts, reasons, objectives and figures."""
        from faultkit.scenario.run import Settings, run_scenarios

        scenarios = self._scenarios(scene.folder)
        stop = threading.Event()
        settings = Settings(seed=0 if scene.seed is None else scene.seed, baseline=self.baseline)
        running = asyncio.ensure_future(
            in_thread(lambda: run_scenarios(scenarios, settings, watch=lambda event: None, stop=stop))
        )
        try:
            outcome = await asyncio.shield(running)
        except asyncio.CancelledError:
            stop.set()
            await asyncio.wait({running}, timeout=_ENDING_S)
            raise
        if outcome.trouble is not None:
            raise Failed(str(outcome.trouble))
        items = [_item(item) for each in outcome.report.scenarios for item in each.items]
        failing = [item["verdict"] for item in items if item["verdict"] != "passed"]
        return {"status": failing[0] if failing else "passed", "items": items}

    async def act(self, scene: Scene) -> Any:
        """What came of the load is for checks to judge."""
        return await self.perform(scene)

    def _scenarios(self, folder: Path) -> list[Scenario]:
        return [self.inline] if self.inline is not None else load_scenarios(folder / (self.file or ""))


class SloCheck(Load):
    """The same, where an item without an objective would prove nothing."""

    __slots__ = ()
    kind: ClassVar[str] = "slo"

    def resolve(self, scene: Scene) -> None:
        for scenario in self._scenarios(scene.folder):
            for index, item in enumerate(scenario.items):
                if not item.slos or item.expect.all_slo_are_valid is not True:
                    raise InputError(
                        f'items[{index}] of "{scenario.title}"',
                        "expected objectives under context.slo, and expect.all_slo_are_valid: true",
                    )


def _item(item: report.Item) -> dict[str, Any]:
    run = item.run
    return {
        "url": item.call.url,
        "verdict": item.verdict,
        "reasons": list(item.reasons),
        "requests": run.requests,
        "slos": [
            {"title": each.slo.title, "passed": each.passed, "measured": each.measured} for each in item.slos
        ],
    }


def parse_load(value: object, path: str, problems: list[InputError], of: type[Load] = Load) -> Load | None:
    before = len(problems)
    reading = Reading({"file": value} if isinstance(value, str) else value, KEYS, path, problems)
    if reading.sound and ("file" in reading.given) == ("inline" in reading.given):
        both = "both" if "file" in reading.given else "neither"
        problems.append(InputError(path, f"expected a scenario by file or inline, got {both}"))
    file = reading.take("file", text, None)
    baseline = reading.take("baseline", switch, False)
    inline = None
    if "inline" in reading.given:
        written = reading.given["inline"]
        found: list[InputError] = []
        if not isinstance(written, Mapping):
            found.append(InputError("", f"expected a scenario, got {shown(written)}"))
        else:
            inline = parse_scenario(written, found)
        problems.extend(error.within(f"{path}.inline") for error in found)
    return of(file, inline, baseline) if len(problems) == before else None


def parse_slo(value: object, path: str, problems: list[InputError]) -> Load | None:
    return parse_load(value, path, problems, SloCheck)
