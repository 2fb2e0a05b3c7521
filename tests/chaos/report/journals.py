"""Journals as runs write them, in plain JSON, for tests of the renderers."""

from __future__ import annotations

from typing import Any

from faultkit.chaos.report.journal_report import ChaosReport, chaos_report


def journal(name: str, outcome: str = "held", **more: Any) -> dict[str, Any]:
    met = outcome == "held"
    events: list[dict[str, Any]] = [
        {"kind": "run_began", "at_s": 0.0, "experiment": name, "dry_run": False},
        {"kind": "phase_began", "at_s": 0.0, "phase": "gate"},
        _check("gate", "the shop answers", 0.1, True, None),
        {"kind": "phase_ended", "at_s": 0.1, "phase": "gate", "met": True},
        {"kind": "phase_began", "at_s": 0.1, "phase": "method"},
        {"kind": "action_began", "at_s": 0.1, "name": "cut", "says": "add rule cut"},
        {"kind": "action_ended", "at_s": 0.2, "name": "cut", "ok": True, "why": None, "duration_s": 0.1},
        {"kind": "pause_began", "at_s": 0.2, "seconds": 2.0},
        {"kind": "phase_ended", "at_s": 2.2, "phase": "method", "met": True},
        {"kind": "phase_began", "at_s": 2.2, "phase": "recheck"},
        _check("recheck", "the shop answers", 2.4, met, None if met else "expected 200, got 503"),
        {"kind": "phase_ended", "at_s": 2.4, "phase": "recheck", "met": met},
        {"kind": "phase_began", "at_s": 2.4, "phase": "rollback"},
        {"kind": "rolled_back", "at_s": 2.5, "says": "remove rule cut", "ok": True, "message": "done"},
        {"kind": "phase_ended", "at_s": 2.5, "phase": "rollback", "met": True},
        {"kind": "run_ended", "at_s": 2.5, "outcome": outcome, "error": None},
    ]
    ours = {
        "experiment_name": name,
        "success": met,
        "steady_state_before": True,
        "steady_state_after": met,
        "duration_seconds": 2.5,
        "error": None,
        "started_at": "2026-02-05T10:00:00.000000Z",
        "outcome": outcome,
        "rollback_ok": True,
        "dry_run": False,
        "file": f"chaos/{name}.yaml",
        "seed": 7,
        "reasons": [] if met else ["recheck: the shop answers: expected 200, got 503"],
        "events": events,
    }
    return {"experiment": {"description": "The shop answers."}, "faultkit": {**ours, **more}}


def _check(phase: str, name: str, at_s: float, met: bool, why: str | None) -> dict[str, Any]:
    event = {"kind": "check_ended", "at_s": at_s, "phase": phase, "name": name}
    return {**event, "met": met, "why": why, "duration_s": 0.1}


def invalid(name: str) -> dict[str, Any]:
    """Return the journal of an experiment that could not start: it has only the result."""
    keys = ("success", "steady_state_before", "steady_state_after", "dry_run")
    result: dict[str, Any] = dict.fromkeys(keys, False)
    result |= {"experiment_name": name, "outcome": "invalid", "rollback_ok": True, "duration_seconds": 0.0}
    return {"faultkit": {**result, "error": "method: expected a list", "started_at": "2026-02-05T10:00:00Z"}}


BROKEN = journal(
    "<b>a|b</b>\n*x*",
    "rollback_failed",
    rollback_ok=False,
    error="Action completed; Rollback failed: `rm` & <script>alert(1)</script>",
    warnings=["not kept in the history"],
)
DAY: ChaosReport = chaos_report(
    "Black Friday",
    [journal("plain", "deviated"), journal("with fallback"), invalid("odd"), BROKEN],
    "faultkit 1.2.3",
    ["plain", "with fallback", "odd", BROKEN["faultkit"]["experiment_name"], "last"],
)
ONE: ChaosReport = chaos_report("plain", [journal("plain", "deviated")], "faultkit 1.2.3")
