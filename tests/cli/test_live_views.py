"""The live views of `fault run` and `fault scenario run`, rendered as text."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from io import StringIO
from types import SimpleNamespace

import pytest
from rich.console import Console

from faultkit.base.address import Endpoint
from faultkit.cli.run_output import StartedRun
from faultkit.cli.run_view import Rates, RunView, schedule_bar, screen, sparkline, wrapped_rows
from faultkit.cli.scenario_run import LineWatcher, SilentWatcher
from faultkit.cli.scenario_view import ScenarioView
from faultkit.load.load import Progress
from faultkit.load.search.frontier import Grid, PairBlock
from faultkit.load.search.search_values import Block
from faultkit.load.search.share_evidence import Decision
from faultkit.plan import Plan, read_plan
from faultkit.proxy.data_plane import LatenessSummary, ProxyCounts, ProxySpec, Snapshot
from faultkit.scenario.run_events import (
    CallProgress,
    FrontierProgress,
    ItemBegan,
    ItemEnded,
    LoadProgress,
    PhaseBegan,
    RunEvent,
    SearchProgress,
)
from faultkit.scenario.scenario_model import HttpCall, ScenarioItem
from tests.scenario.report.examples import EXAMPLES
from tests.terminals import on_terminal

HERE, THERE = Endpoint("127.0.0.1", 9000), Endpoint("db", 5432)
PLAN = read_plan("seed: 7\nrules: [{fault: latency, schedule: 'start:50%,duration:25%'}, {fault: jitter}]")


def snapshot(up: int = 0, down: int = 0) -> Snapshot:
    counts = ProxyCounts("9000", HERE, THERE, 3, 2, up, down, 0, 7, 1)
    return Snapshot((counts,), ("jitter",), {"latency": 0, "jitter": 7}, LatenessSummary(), 0, 0)


def drawn(plan: Plan, now: float) -> list[str]:
    run = StartedRun(PLAN, ((ProxySpec("9000", HERE, THERE), HERE),), began=100.0, duration_s=100.0)
    windows = {rule.name: rule.schedule.resolve(100.0) for rule in PLAN.rules}
    console = Console(file=StringIO(), width=100, color_system=None)
    console.print(screen(run, plan, snapshot(), windows, Rates(), now))
    assert isinstance(console.file, StringIO)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines()]


def test_the_screen_has_proxies_faults_and_the_clock() -> None:
    lines = drawn(PLAN, now=110.0)
    assert "127.0.0.1:9000 → db:5432 2 3 – 0 B 0 B 7 1" in lines
    assert f"○ latency as usual on server ingress {'░' * 12}{'█' * 6}{'░' * 6} 0" in lines
    assert "● jitter as usual on server ingress always 7" in lines
    assert lines[-1] == "seed 7 10s of 1m 40s q or Ctrl-C ends it"


def rows_of(width: int, height: int, trouble: str = "") -> list[str]:
    """Return the rows of the whole view on a terminal of this size."""
    spec = ProxySpec("9000", HERE, Endpoint("a-rather-long-name.example.com", 5432), tls=True)
    run = StartedRun(PLAN, ((spec, HERE),), began=100.0, duration_s=100.0)
    windows = {rule.name: rule.schedule.resolve(100.0) for rule in PLAN.rules}
    rates = Rates()
    rates.seconds.extend(range(60))
    console = Console(file=StringIO(), width=width, height=height, color_system=None)
    console.print(screen(run, PLAN, snapshot(), windows, rates, 110.0, trouble, width))
    assert isinstance(console.file, StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_on_a_narrow_terminal_nothing_is_lost() -> None:
    rows = rows_of(60, 24, "9000: cannot reach db")
    assert max(map(len, rows)) <= 60
    assert rows[:2] == [
        "127.0.0.1:9000 → a-rather-long-name.example.com:5432 (TLS)",
        "  live 2  total 3  requests –  up 0 B  down 0 B  injected 7",
    ]
    assert f"○ latency  injected 0  {'░' * 12}{'█' * 6}{'░' * 6}" in rows
    assert rows[-2:] == ["seed 7   10s of 1m 40s   q or Ctrl-C ends it", "warning: 9000: cannot reach db"]
    assert len([row for row in rows if "▇" in row]) == 1


def test_on_a_low_terminal_the_figures_are_cut_and_the_time_stays() -> None:
    rows = rows_of(60, 7, "9000: cannot reach db")
    assert len(rows) == 7
    assert rows[1] == "…"
    assert rows[-2:] == ["seed 7   10s of 1m 40s   q or Ctrl-C ends it", "warning: 9000: cannot reach db"]


def test_a_narrower_terminal_shows_old_lines_on_more_rows() -> None:
    assert wrapped_rows([100, 40, 0, 81], 100) == 0
    assert wrapped_rows([100, 40, 0, 81], 40) == 2 + 0 + 0 + 2
    assert wrapped_rows([], 40) == 0


def test_a_view_that_became_narrower_erases_all_its_old_rows() -> None:
    console = Console(file=StringIO(), width=100, height=24, force_terminal=True, color_system=None)
    view = RunView(console)
    view.started(StartedRun(PLAN, ((ProxySpec("9000", HERE, THERE), HERE),), 100.0, 100.0))
    plane = SimpleNamespace(snapshot=snapshot, plan=PLAN)
    view.tick(plane, 110.0)
    assert isinstance(console.file, StringIO)
    wide = console.file.getvalue()
    console.width = 50
    view.tick(plane, 111.0)
    narrow = console.file.getvalue()[len(wide) :]
    view.close()
    lines = wide.count("\n") + 1
    assert narrow.count("\x1b[1A") == lines - 1 + wrapped_rows(_lengths(wide), 50)


def _lengths(text: str) -> list[int]:
    return [len(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).strip("\r")) for line in text.split("\n")]


def test_the_key_q_ends_a_run_on_a_terminal() -> None:
    spawn = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
    run = [sys.executable, "-m", "faultkit", "run", "--disable-http-proxy", "--no-check", "--proxy", "0=h:1"]
    done = subprocess.run([sys.executable, "-c", spawn, *run], input=b"q", capture_output=True, timeout=60)
    assert done.returncode == 0, done
    assert b"ended (quit) after " in done.stdout


RUN = [sys.executable, "-m", "faultkit", "run", "--disable-http-proxy", "--no-check", "--proxy", "0=h:1"]


@pytest.mark.parametrize(
    ("args", "shown"), [((), b"seed"), (("--no-ui",), b"replays"), (("--tail",), b"replays")]
)
def test_a_run_ends_well_if_its_terminal_goes_away(args: tuple[str, ...], shown: bytes) -> None:
    with on_terminal([*RUN, *args]) as terminal:
        terminal.read_until(shown)
        assert terminal.hang_up() == 0


def test_rules_that_came_later_are_shown_without_a_place_on_the_time_line() -> None:
    other = read_plan("rules: [{name: jitter, fault: reset, with: {after_ms: 5}}]")
    assert "● jitter after_ms=5.0 on server ingress on 7" in drawn(other, now=110.0)
    assert "no faults: everything passes" in drawn(Plan(), now=110.0)


def test_without_a_known_end_a_schedule_shows_its_next_change() -> None:
    (rule,) = read_plan("rules: [{fault: latency, schedule: 'start:10s,duration:5s'}]").rules
    windows = rule.schedule.resolve(None)
    assert [str(schedule_bar(rule, windows, t, None)) for t in (4.0, 12.0, 20.0)] == [
        "off, changes in 6 s",
        "on, changes in 3 s",
        "off",
    ]


def test_rates_are_of_the_last_look_and_the_line_has_whole_seconds() -> None:
    rates = Rates()
    for now, up, down in ((0.0, 0, 0), (0.5, 100, 0), (1.0, 200, 50), (2.0, 200, 250)):
        rates.record(snapshot(up, down), now)
    assert rates.now_bps == (0.0, 200.0)
    assert list(rates.seconds) == [250.0, 200.0]


def test_a_sparkline_reaches_from_nothing_to_the_top() -> None:
    assert sparkline((0.0, 50.0, 100.0)) == "▁▅█"
    assert sparkline((0.0, 0.0)) == "▁▁"
    assert sparkline(()) == ""


ITEM = ScenarioItem(HttpCall("GET", "http://127.0.0.1/x"))
ENDED = next(item for report in EXAMPLES.values() for item in report.items if item.verdict == "passed")
BEGAN = ItemBegan(2, 3, "Slow", ITEM, 20.0)
PROGRESS = Progress(3.0, started=30, done=28, errors=1, in_flight=2, dropped=0, p50_ms=12.34, p95_ms=56.78)


def drawn_scenario(*events: RunEvent) -> tuple[str, str]:
    """Return the lines above the live part, and the live part after the last event."""
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
    assert drawn_scenario()[1].strip() == ""


def test_a_load_shows_its_phase_the_time_left_and_its_figures() -> None:
    _, screen = drawn_scenario(BEGAN, PhaseBegan("faults", 10.0), LoadProgress(PROGRESS))
    lines = [line.rstrip() for line in screen.splitlines()]
    assert lines[0] == "[2/3] Slow"
    assert lines[1] == "GET http://127.0.0.1/x"
    assert lines[2].startswith("with the faults")
    assert lines[2].endswith("6s left")
    assert lines[3] == "28 done, 1 errors, 2 under way, 0 dropped, p50 12.3 ms, p95 56.8 ms"


def test_calls_show_how_many_are_done() -> None:
    _, screen = drawn_scenario(BEGAN, PhaseBegan("calls", 0.0), CallProgress(1, 2))
    assert "calling" in screen
    assert "left" not in screen


def test_a_new_phase_forgets_the_figures_of_the_last() -> None:
    _, screen = drawn_scenario(
        BEGAN, PhaseBegan("baseline", 10.0), LoadProgress(PROGRESS), PhaseBegan("faults", 10.0)
    )
    assert "28 done" not in screen


def test_an_item_that_ended_stays_above() -> None:
    printed, _ = drawn_scenario(BEGAN, ItemEnded(ENDED))
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


def test_a_search_shows_its_bracket_what_it_spent_and_the_time_left() -> None:
    console = Console(file=StringIO(), width=160, color_system=None)
    view = ScenarioView(console)
    item = ScenarioItem(HttpCall("GET", "http://localhost/"))
    view.watch(ItemBegan(1, 1, "A search", item, 300.0))
    view.watch(PhaseBegan("search", 300.0))
    began = view._began
    view.watch(SearchProgress(Block(0.0, 150, "gates"), "ms", 0, 0.0))
    console.print(view.screen(began + 10))
    view.watch(SearchProgress(Block(250.0, 150, "bracket", 100.0, 500.0, 0.25), "ms", 1200, 60.0))
    console.print(view.screen(began + 60))
    assert isinstance(console.file, StringIO)
    shown = console.file.getvalue()
    assert "nothing is known yet; now 150 requests at 0 ms (gates)" in shown
    assert "holds up to 100 ms, broken from 500 ms; now 150 requests at 250 ms (bracket)" in shown
    assert "1,200 requests spent, 25 % of the budget" in shown
    assert "4m left" in shown


def test_a_log_has_a_line_for_each_step_of_a_search(capsys: pytest.CaptureFixture[str]) -> None:
    watcher = LineWatcher()
    for held, broken in ((None, None), (0.0, None), (0.0, None), (0.0, 500.0)):
        watcher.watch(SearchProgress(Block(1.0, 5, "gates", held, broken), "ms", 5, 1.0))
    lines = capsys.readouterr().err.split("\n")
    assert [line.strip() for line in lines if line] == [
        "holds up to 0 ms",
        "holds up to 0 ms, broken from 500 ms",
    ]


MAP = Grid((0.0, 100.0, 200.0), (0.0, 0.5))
NOTHING_KNOWN: tuple[tuple[Decision, ...], ...] = (("undecided", "undecided"),) * 3
SOME_KNOWN: tuple[tuple[Decision, ...], ...] = (("held", "held"), ("held", "undecided"), ("broken", "broken"))


def test_a_search_of_two_settings_shows_a_map_that_fills() -> None:
    console = Console(file=StringIO(), width=160, color_system=None)
    view = ScenarioView(console)
    view.watch(ItemBegan(1, 1, "A search", ScenarioItem(HttpCall("GET", "http://localhost/")), 300.0))
    view.watch(PhaseBegan("search", 300.0))
    began = view._began
    first = PairBlock((0.0, 0.0), 150, (0, 0), NOTHING_KNOWN, 0.0)
    view.watch(FrontierProgress(first, MAP, ("ms", ""), 0, 0.0))
    console.print(view.screen(began + 10))
    later = PairBlock((100.0, 0.5), 150, (1, 1), SOME_KNOWN, 0.25)
    view.watch(FrontierProgress(later, MAP, ("ms", ""), 1200, 60.0))
    console.print(view.screen(began + 60))
    assert isinstance(console.file, StringIO)
    shown = console.file.getvalue()
    assert "nothing is known yet; now 150 requests at 0 ms and 0;" in shown
    assert re.findall(r"^ *(0\.5|0) +((?:[✓✕·]  ?)+)", shown, re.MULTILINE)[-2:] == [
        ("0.5", "✓  ·  ✕  "),
        ("0", "✓  ✓  ✕  "),
    ]
    assert "0 to 200 ms" in shown
    assert "3 of 6 pairs hold, 2 are broken; now 150 requests at 100 ms and 0.5; 1,200 requests" in shown
    assert "4m left" in shown


def test_a_log_has_a_line_for_each_pair_that_is_decided(capsys: pytest.CaptureFixture[str]) -> None:
    watcher = LineWatcher()
    for known in (NOTHING_KNOWN, SOME_KNOWN, SOME_KNOWN):
        watcher.watch(FrontierProgress(PairBlock((0.0, 0.0), 5, (0, 0), known, 0.0), MAP, ("ms", ""), 5, 1.0))
    assert capsys.readouterr().err.strip() == "3 of 6 pairs hold, 2 are broken"
