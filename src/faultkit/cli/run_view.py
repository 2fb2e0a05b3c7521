"""The live view of a run on a terminal.

It is drawn only a few times a second, because the data plane runs in the same interpreter.
"""

from __future__ import annotations

from collections import deque

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from faultkit.base.units import format_duration
from faultkit.cli.run_output import RunEnding, StartedRun, Warnings, end_lines, human_bytes, target_text
from faultkit.faults.fault_data import dump_fault
from faultkit.plan import Plan, Rule, Windows
from faultkit.proxy.data_plane import DataPlane, Snapshot
from faultkit.proxy.plane_events import PlaneEvent

_BAR = 24
_BLOCKS = "▁▂▃▄▅▆▇█"
_MINUTE = 60


class RunView:
    """An output (see `faultkit.cli.run_output`) that redraws a table of proxies, faults and counters."""

    every_s = 0.25
    observes = False

    def __init__(self, console: Console | None = None) -> None:
        self._live = Live(console=console or Console(), auto_refresh=False, transient=True)
        self._rates = Rates()
        self._trouble = ""
        self._warnings = Warnings()
        self._run: StartedRun | None = None
        self._windows: dict[str, Windows] = {}

    def started(self, run: StartedRun) -> None:
        self._run = run
        self._windows = {rule.name: rule.schedule.resolve(run.duration_s) for rule in run.plan.rules}
        self._live.start()

    def happened(self, events: list[PlaneEvent]) -> None:
        for text in self._warnings.new(events):
            self._trouble = text

    def tick(self, plane: DataPlane, now: float) -> None:
        assert self._run is not None
        snapshot = plane.snapshot()
        self._rates.record(snapshot, now)
        self._live.update(
            screen(self._run, plane.plan, snapshot, self._windows, self._rates, now, self._trouble),
            refresh=True,
        )

    def ended(self, ending: RunEnding) -> None:
        self._live.stop()
        for line in end_lines(ending):
            self._live.console.print(line, highlight=False, markup=False)

    def close(self) -> None:
        self._live.stop()


class Rates:
    """Bytes a second, now and over the last minute."""

    def __init__(self) -> None:
        self.now_bps = (0.0, 0.0)
        """To the upstream and to the client."""
        self.seconds: deque[float] = deque(maxlen=_MINUTE)
        """Bytes of both directions in each of the last seconds."""
        self._last: tuple[float, int, int] | None = None
        self._mark: tuple[float, int] | None = None

    def record(self, snapshot: Snapshot, now: float) -> None:
        up = sum(proxy.to_upstream_bytes for proxy in snapshot.proxies)
        down = sum(proxy.to_client_bytes for proxy in snapshot.proxies)
        if self._last is not None and now > self._last[0]:
            elapsed = now - self._last[0]
            self.now_bps = ((up - self._last[1]) / elapsed, (down - self._last[2]) / elapsed)
        self._last = (now, up, down)
        if self._mark is None:
            self._mark = (now, up + down)
        elif now - self._mark[0] >= 1:
            self.seconds.append((up + down - self._mark[1]) / (now - self._mark[0]))
            self._mark = (now, up + down)


def screen(
    run: StartedRun,
    plan: Plan,
    snapshot: Snapshot,
    windows: dict[str, Windows],
    rates: Rates,
    now: float,
    trouble: str = "",
) -> RenderableType:
    """Return the whole view. `plan` is the current one, which the control API may have changed."""
    elapsed_s = now - run.began
    parts: list[RenderableType] = [
        _proxies(run, snapshot),
        _rules(run, plan, snapshot, windows, elapsed_s),
        _counters(snapshot, rates),
        _clock(run, elapsed_s),
    ]
    if trouble:
        parts.append(Text(f"warning: {trouble}", style="yellow"))
    return Group(*parts)


def _proxies(run: StartedRun, snapshot: Snapshot) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("proxy", overflow="fold")
    for title in ("live", "total", "requests", "up", "down", "errors"):
        table.add_column(title, justify="right", no_wrap=True)
    counts = {proxy.name: proxy for proxy in snapshot.proxies}
    for spec, bound in run.proxies:
        seen = counts[spec.name]
        table.add_row(
            Text.assemble((str(bound), "bold"), f" → {target_text(spec)}"),
            str(seen.live),
            str(seen.accepted),
            str(seen.requests) if seen.requests else "–",
            human_bytes(seen.to_upstream_bytes),
            human_bytes(seen.to_client_bytes),
            str(seen.dial_failures),
        )
    return table


def _rules(
    run: StartedRun, plan: Plan, snapshot: Snapshot, windows: dict[str, Windows], elapsed_s: float
) -> RenderableType:
    if not plan.rules:
        return Text("\nno faults: everything passes", style="dim")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("fault", no_wrap=True)
    table.add_column("settings", overflow="fold")
    table.add_column("when", no_wrap=True)
    table.add_column("injected", justify="right")
    for rule in plan.rules:
        acting = rule.name in snapshot.acting
        when = Text("on" if acting else "off")
        # The schedule of a rule that was added later does not count from the start of the run.
        if rule in run.plan.rules:
            when = schedule_bar(rule, windows[rule.name], elapsed_s, run.duration_s)
        name = Text(("● " if acting else "○ ") + rule.name, "green" if acting else "dim")
        table.add_row(name, Text(_settings(rule)), when, str(snapshot.injected.get(rule.name, 0)))
    return table


def _settings(rule: Rule) -> str:
    given = ", ".join(f"{key}={value}" for key, value in dump_fault(rule.fault).items())
    where = f" on {rule.match.side} {rule.match.direction}" if rule.fault.level == "stream" else ""
    chance = f" p={rule.trigger.probability:g}" if rule.trigger.probability != 1 else ""
    return f"{given or 'as usual'}{where}{chance}"


def schedule_bar(rule: Rule, windows: Windows, elapsed_s: float, total_s: float | None) -> Text:
    """Return a bar of the run: a full block where the rule acts, and the current one highlighted."""
    if not rule.schedule.periods:
        return Text("always")
    if total_s is None:
        change_s = windows.next_change(elapsed_s)
        state = "on" if windows.active(elapsed_s) else "off"
        rest = "" if change_s == float("inf") else f", changes in {change_s - elapsed_s:.0f} s"
        return Text(f"{state}{rest}")
    bar = Text()
    here = min(_BAR - 1, int(elapsed_s / total_s * _BAR))
    for cell in range(_BAR):
        on = windows.active((cell + 0.5) / _BAR * total_s)
        bar.append("█" if on else "░", "bold cyan" if cell == here else "")
    return bar


def _counters(snapshot: Snapshot, rates: Rates) -> Text:
    late = snapshot.lateness
    up_bps, down_bps = rates.now_bps
    line = Text("\n")
    line.append(f"↑ {human_bytes(up_bps)}/s  ↓ {human_bytes(down_bps)}/s  ")
    line.append(sparkline(tuple(rates.seconds)), "cyan")
    line.append(f"\ninjected {sum(snapshot.injected.values())}")
    if late.count:
        line.append(f"   lateness p50 {late.p50_us:.0f} µs, p99 {late.p99_us:.0f} µs", "dim")
    return line


def sparkline(values: tuple[float, ...]) -> str:
    """Return one block per value, as high as its share of the largest value."""
    top = max(values, default=0.0)
    if top <= 0:
        return _BLOCKS[0] * len(values)
    return "".join(_BLOCKS[min(len(_BLOCKS) - 1, int(value / top * len(_BLOCKS)))] for value in values)


def _clock(run: StartedRun, elapsed_s: float) -> Text:
    text = f"seed {run.plan.seed}   {format_duration(int(max(0.0, elapsed_s)))}"
    if run.duration_s is not None:
        text += f" of {format_duration(run.duration_s)}"
    if run.control is not None:
        text += f"   control http://{run.control}"
    return Text(f"{text}   Ctrl-C ends it", style="dim")
