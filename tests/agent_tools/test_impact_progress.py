"""Progress of an impact run: it grows while the client waits, and ends at the total."""

from __future__ import annotations

from faultkit.agent_tools.impact.impact_run import progress_watch
from faultkit.load.load import Progress
from faultkit.scenario.impact import Impact, scenario_of
from faultkit.scenario.run_events import Event, ItemBegan, ItemEnded, LoadProgress, PhaseBegan
from tests.scenario.report.examples import LOAD, SLOW

(ITEM,) = scenario_of(Impact("http://localhost/", (SLOW,))).items


def loaded(elapsed_s: float) -> LoadProgress:
    return LoadProgress(Progress(elapsed_s, 3, 2, 1, 1, 0, p95_ms=12.3))


def told(*events: Event, seconds: float) -> list[tuple[float, float | None, str]]:
    found: list[tuple[float, float | None, str]] = []
    watch = progress_watch(lambda done, of, message: found.append((done, of, message)))
    for event in (ItemBegan(1, 1, "", ITEM, seconds), *events):
        watch(event)
    return found


def test_each_half_counts_its_traffic_and_then_the_wait_for_answers() -> None:
    half: list[Event] = [loaded(-0.1), loaded(5.0), loaded(10.0), loaded(11.0), loaded(19.0)]
    before: list[Event] = [PhaseBegan("baseline", 10.0), *half]
    after: list[Event] = [PhaseBegan("faults", 10.0), *half, ItemEnded(LOAD.items[0])]
    found = told(*before, *after, seconds=20.0)
    assert [done for done, _, _ in found] == [0, 0, 4.5, 9, 9.5, 9.9, 10, 10, 14.5, 19, 19.5, 19.9, 20]
    assert {of for _, of, _ in found} == {20.0}
    assert found[1][2] == "without the fault: 2 requests, 1 errors, p95 12 ms"
    assert found[-1][2] == "done: passed"


def test_a_wait_of_a_minute_is_heard_of_all_the_time() -> None:
    a_second = 5
    waits = [loaded(0.1 + tick / a_second) for tick in range(1, 300)]
    found = [done for done, _, _ in told(PhaseBegan("faults", 0.1), *waits, seconds=0.1)]
    assert all(now < later < 0.1 for now, later in zip(found, found[a_second:], strict=False))
