"""What is seen while scenarios run: on a terminal, and without one."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from faultkit.cli.scenario_run import LineWatcher, SilentWatcher
from faultkit.cli.scenario_view import ScenarioView
from faultkit.load.load import Progress
from faultkit.scenario.run_events import CallProgress, Event, ItemBegan, ItemEnded, LoadProgress, PhaseBegan
from faultkit.scenario.scenario_model import Call, Item
from tests.scenario.report.examples import EXAMPLES

ITEM = Item(Call("GET", "http://127.0.0.1/x"))
ENDED = next(item for report in EXAMPLES.values() for item in report.items if item.verdict == "passed")
BEGAN = ItemBegan(2, 3, "Slow", ITEM, 20.0)
PROGRESS = Progress(3.0, started=30, done=28, errors=1, in_flight=2, dropped=0, p50_ms=12.34, p95_ms=56.78)


def drawn(*events: Event) -> tuple[str, str]:
    """What was printed above the live part, and the live part at the end."""
    console = Console(file=io.StringIO(), width=100, force_terminal=False)
    with ScenarioView(console) as view:
        for event in events:
            view.watch(event)
        screen = view.screen(view._began + 4.0)
    printed = console.file
    assert isinstance(printed, io.StringIO)
    picture = Console(file=io.StringIO(), width=100)
    picture.print(screen)
    assert isinstance(picture.file, io.StringIO)
    return printed.getvalue(), picture.file.getvalue()


def test_before_the_first_item_there_is_nothing_to_see() -> None:
    assert drawn()[1].strip() == ""


def test_a_load_shows_its_phase_the_time_left_and_its_figures() -> None:
    _, screen = drawn(BEGAN, PhaseBegan("faults", 10.0), LoadProgress(PROGRESS))
    lines = [line.rstrip() for line in screen.splitlines()]
    assert lines[0] == "[2/3] Slow"
    assert lines[1] == "GET http://127.0.0.1/x"
    assert lines[2].startswith("with the faults")
    assert lines[2].endswith("6s left")
    assert lines[3] == "28 done, 1 errors, 2 under way, 0 dropped, p50 12.3 ms, p95 56.8 ms"


def test_calls_show_how_many_are_done() -> None:
    _, screen = drawn(BEGAN, PhaseBegan("calls", 0.0), CallProgress(1, 2))
    assert "calling" in screen
    assert "left" not in screen


def test_a_new_phase_forgets_the_figures_of_the_last() -> None:
    _, screen = drawn(BEGAN, PhaseBegan("baseline", 10.0), LoadProgress(PROGRESS), PhaseBegan("faults", 10.0))
    assert "28 done" not in screen


def test_an_item_that_ended_stays_above() -> None:
    printed, _ = drawn(BEGAN, ItemEnded(ENDED))
    assert "Passed" in printed


def test_without_a_terminal_there_is_a_line_for_each_beginning_and_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with LineWatcher() as lines:
        for event in (BEGAN, PhaseBegan("faults", 10.0), LoadProgress(PROGRESS), ItemEnded(ENDED)):
            lines.watch(event)
    out, err = capsys.readouterr()
    assert out == ""
    first, second = err.splitlines()
    assert first == "[2/3] Slow: GET http://127.0.0.1/x, 20s"
    assert second.startswith("      Passed ")


def test_silence_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    with SilentWatcher() as silent:
        silent.watch(BEGAN)
    assert capsys.readouterr() == ("", "")
