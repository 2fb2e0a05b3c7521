"""How far an impact run has come: from the events of a scenario to seconds of traffic done, of all. Pure."""

from __future__ import annotations

from collections.abc import Callable

from faultkit.scenario.progress import Event, ItemBegan, ItemEnded, Loaded, PhaseBegan, Watch

_PHASES = {"baseline": "without the fault", "faults": "with the fault"}
_SENDING = 0.9
"""The share of a phase that its traffic counts. The rest is for the answers still to come: a client that
hears nothing for long gives up on the call."""


def progress_watch(tell: Callable[[float, float | None, str], None]) -> Watch:
    """`tell` gets done, of how much, and a few words."""
    total_s = before_s = phase_s = 0.0
    phase = ""

    def watch(event: Event) -> None:
        nonlocal total_s, before_s, phase_s, phase
        match event:
            case ItemBegan():
                total_s = event.seconds
            case PhaseBegan():
                phase, phase_s = _PHASES.get(event.phase, event.phase), event.seconds
                # The faults come last, whether or not a baseline went before.
                before_s = total_s - phase_s if event.phase == "faults" else 0.0
                tell(before_s, total_s, f"{phase}: begins")
            case Loaded(progress=now):
                counts = f"{now.done} requests, {now.errors} errors"
                done_s = before_s + phase_s * _share(now.elapsed_s, phase_s)
                tell(round(done_s, 6), total_s, f"{phase}: {counts}, p95 {now.p95_ms:.0f} ms")
            case ItemEnded():
                tell(total_s, total_s, f"done: {event.report.verdict}")
            case _:
                pass

    return watch


def _share(elapsed_s: float, phase_s: float) -> float:
    """Of a phase that is done: it grows as long as time goes by, and never gets to the whole."""
    if elapsed_s <= phase_s:
        return _SENDING * max(elapsed_s, 0.0) / phase_s
    return 1 - (1 - _SENDING) / (1 + elapsed_s - phase_s)
