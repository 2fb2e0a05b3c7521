"""Small results of every kind, from traces that are scored as those of real runs."""

from __future__ import annotations

from faultkit.agents.recovery.metrics import error_recovery, metrics_of, tool_misuse_of
from faultkit.agents.recovery.score import share_of
from faultkit.agents.recovery.trace import FinalReply, RunEnding, Trace, TracedCall
from faultkit.agents.suite.definition import SourcePlace
from faultkit.agents.suite.gate import RecoveryGate, gate_recovery
from faultkit.agents.suite.results import EDGE_RULE, ResultRow, ScoredRun, SuiteResult, SuiteResults

FILE = "suites/search.yml"
GATE = RecoveryGate(max_detection_ms=3000, max_recovery_ms=5000)
HOSTILE_TEXT = (
    "</script><img src=x onerror=alert(1)>]]>&amp; \x00\x07\x1b[31m\x9b1m\ud800 | `a` **b** "
    "%0A::error::x\r\n::error::y\n  ...\n---\nnot ok 9 - z # SKIP \u2028\u202e @all \\"
)


def hang(start_ms: float, tool: str = "search", *, fault: str = "stuck") -> TracedCall:
    return TracedCall(tool, start_ms, start_ms + 3000, "timeout", {"q": "ports"}, "files", fault=fault)


def fine(start_ms: float, tool: str = "search", *, took_ms: float = 0.0, goal: str = "") -> TracedCall:
    return TracedCall(tool, start_ms, start_ms + took_ms, "ok", {"q": "ports"}, "files", goal=goal)


def trace(
    *calls: TracedCall, at_ms: float | None = None, ending: RunEnding = "reply", text: str = "Done."
) -> Trace:
    reply = None if at_ms is None else FinalReply(text, at_ms, claims_success=True)
    return Trace(calls, reply, ending, succeeded=reply is not None)


RETRIED = trace(hang(0), fine(3000, took_ms=40), at_ms=3040)
RETRIED_LATE = trace(hang(0), hang(3000), fine(6000, took_ms=40), at_ms=6040)
FELL_BACK = trace(fine(0, "list"), hang(0), fine(3000, "grep", took_ms=120), at_ms=3120)
LOOPED = trace(*(hang(3000 * turn) for turn in range(30)), ending="turns")
CALM = trace(fine(0), at_ms=0)


def run_of(made: Trace, gate: RecoveryGate | None = GATE, seed: int | str = 7) -> ScoredRun:
    return ScoredRun(
        made,
        metrics_of(made, CALM),
        tool_misuse_of(made),
        None if gate is None else gate_recovery(gate, made),
        error_recovery(made),
        "virtual",
        seed,
        gate,
    )


def recovery_row(name: str, line: int, *runs: ScoredRun) -> ResultRow:
    """Return a row as the runner makes it: the worst of its runs decides."""
    gates = [run.gate for run in runs if run.gate is not None]
    worst = next((gate for gate in gates if gate.verdict != "passed"), gates[0])
    return ResultRow(
        f"{name} (recovery)",
        worst.verdict,
        worst.message,
        SourcePlace(FILE, line),
        1.25,
        rule=EDGE_RULE,
        limit=worst.limit,
        runs=runs,
        passed_share=share_of([gate.verdict == "passed" for gate in gates]) if len(gates) > 1 else None,
    )


PASSED = recovery_row("retrying", 20, run_of(RETRIED))
FAILED = recovery_row("slow to recover", 30, run_of(RETRIED_LATE))
LOOPING = recovery_row("looping", 40, run_of(LOOPED))
FALLING_BACK = recovery_row("falling back", 50, run_of(FELL_BACK))
NOT_EXERCISED = recovery_row("never calls", 60, run_of(CALM))
REPEATED = recovery_row("flaky", 70, run_of(RETRIED), run_of(RETRIED_LATE, seed="7#1"), run_of(RETRIED))
INCONCLUSIVE = ResultRow(
    "a stub (recovery)",
    "inconclusive",
    "a canned reply shows nothing",
    SourcePlace(FILE, 80),
    0.5,
    rule=EDGE_RULE,
    stub=True,
)
ERROR = ResultRow("dies at start", "error", "server files: it ended with code 3", SourcePlace(FILE, 90), 12.0)
SKIPPED = ResultRow("left out", "passed", "", SourcePlace(FILE, 100), 0.0, skipped="needs a paid key")
TOOL_PASSED = ResultRow("lists files", "passed", "", SourcePlace(FILE, 110), 3.0, tags=("smoke",))
TOOL_FAILED = ResultRow(
    "finds ports",
    "failed",
    'result.content[0].text: expected to contain "8080", got "none"',
    SourcePlace(FILE, 120),
    4.0,
    tags=("smoke", "tools"),
    limit="result.content[0].text",
    diff="- 8080\n+ none",
)
HOSTILE = ResultRow(
    f"hostile {HOSTILE_TEXT}",
    "failed",
    HOSTILE_TEXT,
    SourcePlace(f"a,b:c%/{HOSTILE_TEXT}.yml", 1),
    1.0,
    tags=(HOSTILE_TEXT,),
    limit=HOSTILE_TEXT,
    diff=f"```\n{HOSTILE_TEXT}",
    runs=(
        run_of(
            trace(
                TracedCall(
                    HOSTILE_TEXT, 0, 9, "tool_error", {HOSTILE_TEXT: HOSTILE_TEXT}, fault=HOSTILE_TEXT
                ),
                at_ms=9,
                text=HOSTILE_TEXT,
            ),
            seed=HOSTILE_TEXT,
        ),
    ),
    details=((HOSTILE_TEXT, HOSTILE_TEXT),),
)

EVERY_VERDICT = (
    TOOL_PASSED,
    PASSED,
    FAILED,
    LOOPING,
    FALLING_BACK,
    NOT_EXERCISED,
    REPEATED,
    INCONCLUSIVE,
    ERROR,
    SKIPPED,
    TOOL_FAILED,
)


def results(*rows: ResultRow) -> SuiteResults:
    return SuiteResults((SuiteResult(FILE, rows),), 7, "virtual")


GOOD = results(TOOL_PASSED, PASSED)
ALL = SuiteResults(
    (SuiteResult(FILE, EVERY_VERDICT),), 7, "virtual", False, "2026-02-03T04:05:06.789Z", 321.0
)
EMPTY = SuiteResults((), 0, "virtual")
CUT_SHORT = SuiteResults(
    (SuiteResult(FILE, (PASSED,)), SuiteResult("suites/none.yml", (), "server files: no such program")),
    7,
    "virtual",
    interrupted=True,
)
ENEMY = SuiteResults(
    (SuiteResult(HOSTILE.place.file, (HOSTILE, PASSED), HOSTILE_TEXT),), HOSTILE_TEXT, "virtual", True
)
SAMPLES = {"good": GOOD, "all": ALL, "empty": EMPTY, "cut short": CUT_SHORT, "enemy": ENEMY}
