"""The live view as text, without a terminal."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from faultkit.base.address import Endpoint
from faultkit.cli.run_output import StartedRun
from faultkit.cli.run_view import Rates, schedule_bar, screen, sparkline
from faultkit.plan import Plan, read_plan
from faultkit.proxy.data_plane import LatenessSummary, ProxyCounts, ProxySpec, Snapshot

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
    assert "127.0.0.1:9000 → db:5432 2 3 – 0 B 0 B 1" in lines
    assert f"○ latency as usual on server ingress {'░' * 12}{'█' * 6}{'░' * 6} 0" in lines
    assert "● jitter as usual on server ingress always 7" in lines
    assert lines[-1] == "seed 7 10s of 1m 40s Ctrl-C ends it"


def test_rules_that_came_later_are_shown_without_a_place_on_the_time_line() -> None:
    other = read_plan("rules: [{name: jitter, fault: reset, with: {after_ms: 5}}]")
    assert "● jitter after_ms=5.0 on server ingress on 7" in drawn(other, now=110.0)
    assert "no faults: everything passes" in drawn(Plan(), now=110.0)


def test_without_a_known_end_a_schedule_says_when_it_changes() -> None:
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
