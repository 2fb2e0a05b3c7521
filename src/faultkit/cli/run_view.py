"""The live view of a run on a terminal.

It is drawn only a few times a second, because the data plane runs in the same interpreter. Keys are read at
the same instants.
"""

from __future__ import annotations

from collections import deque

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.control import Control
from rich.segment import ControlType, Segment
from rich.table import Table
from rich.text import Text

from faultkit.base.units import format_duration
from faultkit.cli.keys_pressed import Keys
from faultkit.cli.live_view import LiveView
from faultkit.cli.run_output import RunEnding, StartedRun, Warnings, end_lines, human_bytes, target_text
from faultkit.faults.fault_data import dump_fault
from faultkit.plan import Plan, Rule, Windows
from faultkit.proxy.data_plane import DataPlane, ProxyCounts, Snapshot
from faultkit.proxy.plane_events import PlaneEvent

_BAR = 24
_BLOCKS = "▁▂▃▄▅▆▇█"
_MINUTE = 60
_WIDE = 80
"""Columns from which a proxy or a rule has one row; with fewer it has two lines."""


class RunView:
    """An output (see `faultkit.cli.run_output`) that redraws a table of proxies, faults and counters."""

    every_s = 0.25
    observes = False

    def __init__(self, console: Console | None = None, keys: Keys | None = None) -> None:
        self._keys = keys or Keys()
        self._live = LiveView(console or Console(), self._keys)
        self._widths: list[int] = []
        """Width of each line that is on the terminal."""
        self._rates = Rates()
        self._trouble = ""
        self._warnings = Warnings()
        self._run: StartedRun | None = None
        self._windows: dict[str, Windows] = {}

    def started(self, run: StartedRun) -> None:
        self._run = run
        self._windows = {rule.name: rule.schedule.resolve(run.duration_s) for rule in run.plan.rules}
        self._live.start()

    @property
    def wants_end(self) -> bool:
        """Whether the user has pressed `q`."""
        return "q" in self._keys.pressed().lower()

    def happened(self, events: list[PlaneEvent]) -> None:
        for text in self._warnings.new(events):
            self._trouble = text

    def tick(self, plane: DataPlane, now: float) -> None:
        assert self._run is not None
        snapshot = plane.snapshot()
        self._rates.record(snapshot, now)
        console = self._live.console
        view = screen(
            self._run, plane.plan, snapshot, self._windows, self._rates, now, self._trouble, console.width
        )
        if extra := wrapped_rows(self._widths, console.width):
            # The terminal has become narrower: it shows the old lines on more rows than the library knows of.
            up = (ControlType.CURSOR_UP, 1), (ControlType.ERASE_IN_LINE, 2)
            console.control(Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2), *up * extra))
        self._widths = [Segment.get_line_length(line) for line in console.render_lines(view, pad=False)]
        self._live.update(view, refresh=True)

    def ended(self, ending: RunEnding) -> None:
        self.close()
        for line in end_lines(ending):
            self._live.console.print(line, highlight=False, markup=False)

    def close(self) -> None:
        self._live.stop()


def wrapped_rows(widths: list[int], width: int) -> int:
    """Return how many rows more than lines there are of these widths, on a terminal of `width` columns."""
    return sum((length - 1) // width for length in widths if length) if width else 0


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
    width: int = 100,
) -> RenderableType:
    """Return the whole view, for a terminal of `width` columns. `plan` is the current one, which the control
    API may have changed."""
    elapsed_s = now - run.began
    body = Group(_proxies(run, snapshot, width), _rules(run, plan, snapshot, windows, elapsed_s, width))
    footer: list[RenderableType] = [_counters(snapshot, rates, width), _clock(run, elapsed_s)]
    if trouble:
        footer.append(Text(f"warning: {trouble}", style="yellow"))
    return _Fitted(body, Group(*footer))


class _Fitted:
    """A body and a footer. If the terminal is too low for both, the body is cut."""

    def __init__(self, body: RenderableType, footer: RenderableType) -> None:
        self._body = body
        self._footer = footer

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        free = options.update(height=None)
        footer = console.render_lines(self._footer, free, pad=False)
        body = console.render_lines(self._body, free, pad=False)
        room = max(0, options.max_height - len(footer))
        if len(body) > room:
            body = [*body[: max(0, room - 1)], [Segment("…")]][:room]
        for line in (*body, *footer):
            yield from line
            yield Segment.line()


_FIGURES = ("live", "total", "requests", "up", "down", "injected", "unreached")


def _proxies(run: StartedRun, snapshot: Snapshot, width: int) -> RenderableType:
    """Return the figures of each proxy; `unreached` are connections whose upstream could not be reached."""
    counts = {proxy.name: proxy for proxy in snapshot.proxies}
    rows = [
        (Text.assemble((str(bound), "bold"), f" → {target_text(spec)}"), _figures(counts[spec.name]))
        for spec, bound in run.proxies
    ]
    if width < _WIDE:
        lines: list[Text] = []
        for name, figures in rows:
            named = zip(_FIGURES, figures, strict=True)
            lines += [name, Text("  " + "  ".join(f"{title} {value}" for title, value in named))]
        return Group(*lines)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("proxy", overflow="fold")
    for title in _FIGURES:
        table.add_column(title, justify="right", no_wrap=True)
    for name, figures in rows:
        table.add_row(name, *figures)
    return table


def _figures(seen: ProxyCounts) -> tuple[str, ...]:
    return (
        str(seen.live),
        str(seen.accepted),
        str(seen.requests) if seen.requests else "–",
        human_bytes(seen.to_upstream_bytes),
        human_bytes(seen.to_client_bytes),
        str(seen.injected),
        str(seen.dial_failures),
    )


def _rules(
    run: StartedRun,
    plan: Plan,
    snapshot: Snapshot,
    windows: dict[str, Windows],
    elapsed_s: float,
    width: int,
) -> RenderableType:
    if not plan.rules:
        return Text("\nno faults: everything passes", style="dim")
    lines: list[Text] = []
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
        settings, injected = Text(_settings(rule)), str(snapshot.injected.get(rule.name, 0))
        table.add_row(name, settings, when, injected)
        lines += [Text.assemble(name, f"  injected {injected}  ", when), Text.assemble("  ", settings)]
    return Group(*lines) if width < _WIDE else table


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


def _counters(snapshot: Snapshot, rates: Rates, width: int) -> Text:
    late = snapshot.lateness
    up_bps, down_bps = rates.now_bps
    line = Text("\n")
    line.append(f"↑ {human_bytes(up_bps)}/s  ↓ {human_bytes(down_bps)}/s  ")
    # As many seconds as fit behind the rates.
    line.append(sparkline(tuple(rates.seconds)[-max(1, width - len(line.plain)) :]), "cyan")
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
    if run.control_url is not None:
        text += f"   control {run.control_url}"
    return Text(f"{text}   q or Ctrl-C ends it", style="dim")
