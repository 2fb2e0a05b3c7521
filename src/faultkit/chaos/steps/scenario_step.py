"""The steps `slo` and `scenario`: a load scenario, as a check of its objectives or as an action.

The scenario is a file, or written inline. It runs like `fault scenario run`. Here are the keys of the step,
its work, and its builder; `faultkit.scenario` owns the rest.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from faultkit.base.documents.checks import shown
from faultkit.base.documents.key_tables import Key, KeyTable
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import SWITCH_SCHEMA, TEXT_SCHEMA, switch, text
from faultkit.base.errors import InputError
from faultkit.chaos.steps.step_work import ANY_MAPPING_SCHEMA, StepContext, StepFailed, run_in_thread
from faultkit.scenario.report import report_model as report
from faultkit.scenario.scenario_file import load_scenarios
from faultkit.scenario.scenario_keys import parse_scenario
from faultkit.scenario.scenario_model import Scenario

SCENARIO_STEP = KeyTable(
    Key("file", text, TEXT_SCHEMA, help="The file. A text in place of the mapping is the file, too."),
    Key("inline", schema=ANY_MAPPING_SCHEMA, help="The scenario itself, in place of `file`."),
    Key("baseline", switch, SWITCH_SCHEMA, False, "Whether each load also runs without the faults."),
)
_ENDING_S = 10.0
"""Seconds for a cancelled run to end its processes."""


@dataclass(frozen=True, slots=True)
class ScenarioRun:
    """A load scenario to run."""

    file: str | None
    inline: Scenario | None = None
    baseline: bool = False
    """True: each load also runs without the faults of its scenario."""
    kind: ClassVar[str] = "scenario"
    usual_limit_s: ClassVar[float] = 600.0

    @property
    def says(self) -> str:
        return f"run scenario {self.file or (self.inline.title if self.inline else '')}"

    def resolve(self, context: StepContext) -> None:
        self._scenarios(context.folder)

    async def perform(self, context: StepContext) -> Any:
        """Run the scenario; return `status` (passed if every item did) and `items` with verdicts and
        figures."""
        from faultkit.scenario.scenario_run import RunSettings, run_scenarios

        scenarios = self._scenarios(context.folder)
        stop = threading.Event()
        settings = RunSettings(seed=0 if context.seed is None else context.seed, baseline=self.baseline)
        running = asyncio.ensure_future(run_in_thread(lambda: run_scenarios(scenarios, settings, stop=stop)))
        try:
            outcome = await asyncio.shield(running)
        except asyncio.CancelledError:
            stop.set()
            await asyncio.wait({running}, timeout=_ENDING_S)
            raise
        if outcome.trouble is not None:
            raise StepFailed(str(outcome.trouble))
        items = [_item_output(item) for each in outcome.report.scenarios for item in each.items]
        failing = [item["verdict"] for item in items if item["verdict"] != "passed"]
        return {"status": failing[0] if failing else "passed", "items": items}

    async def act(self, context: StepContext) -> Any:
        """Run the scenario. Its verdicts do not fail the action: checks judge them."""
        return await self.perform(context)

    def _scenarios(self, folder: Path) -> list[Scenario]:
        return [self.inline] if self.inline is not None else load_scenarios(folder / (self.file or ""))


class SloCheck(ScenarioRun):
    """A scenario as a check: every item must have objectives, because others would prove nothing."""

    __slots__ = ()
    kind: ClassVar[str] = "slo"

    def resolve(self, context: StepContext) -> None:
        for scenario in self._scenarios(context.folder):
            for index, item in enumerate(scenario.items):
                if not item.slos or item.expect.all_slo_are_valid is not True:
                    raise InputError(
                        f'items[{index}] of "{scenario.title}"',
                        "expected objectives under context.slo, and expect.all_slo_are_valid: true",
                    )


def _item_output(item: report.ItemReport) -> dict[str, Any]:
    return {
        "url": item.call.url,
        "verdict": item.verdict,
        "reasons": list(item.reasons),
        "requests": item.run.requests,
        "slos": [
            {"title": each.slo.title, "passed": each.passed, "measured": each.measured} for each in item.slos
        ],
    }


def build_scenario(reader: MappingReader, of: type[ScenarioRun] = ScenarioRun) -> ScenarioRun:
    """Return the work of a step `scenario`, or of `slo` with its class."""
    if reader.sound and ("file" in reader.given) == ("inline" in reader.given):
        both = "both" if "file" in reader.given else "neither"
        problem = f"expected a scenario by file or inline, got {both}"
        reader.problems.append(InputError(reader.path, problem))
    file, baseline = reader.take("file"), reader.take("baseline")
    inline = None
    if "inline" in reader.given:
        written = reader.given["inline"]
        problems: list[InputError] = []
        if not isinstance(written, Mapping):
            problems.append(InputError("", f"expected a scenario, got {shown(written)}"))
        else:
            inline = parse_scenario(written, problems)
        for problem_inside in problems:
            reader.note("inline", problem_inside)
    return of(file, inline, baseline)
