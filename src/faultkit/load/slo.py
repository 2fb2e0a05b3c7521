"""Service level objectives: what was promised, and whether a run kept it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import ceil, inf, isfinite, isinf
from typing import Literal, TypeAlias, get_args

from faultkit.base.sample_statistics import percentile
from faultkit.base.units import format_duration, parse_duration
from faultkit.load.item_figures import ItemFigures
from faultkit.load.item_summary import figure_window
from faultkit.load.load import Load, instants
from faultkit.load.samples import HAIR_S, Window, WindowCase, grained, window_count
from faultkit.load.tally import Tally

SloKind: TypeAlias = Literal[
    "latency",
    "error",
    "availability",
    "first_event",
    "gap",
    "early_end",
    "tool_error",
    "time_to_first_token",
    "token_gap",
    "tokens_per_second",
    "refusal",
]
KINDS: tuple[SloKind, ...] = get_args(SloKind)
TIME_KINDS: tuple[SloKind, ...] = ("latency", "first_event", "gap", "time_to_first_token", "token_gap")
"""Kinds whose threshold is a time that the objective's percentile must keep."""
SHARE_KINDS: tuple[SloKind, ...] = ("error", "early_end", "tool_error", "refusal")
"""Kinds whose threshold is a share of bad requests."""
STREAM_KINDS: tuple[SloKind, ...] = ("first_event", "gap", "early_end")
"""Kinds that only event streams have; answers of models have early ends, too."""
LLM_KINDS: tuple[SloKind, ...] = ("time_to_first_token", "token_gap", "tokens_per_second", "refusal")
"""Kinds that only requests to models have."""
RATE_KINDS: tuple[SloKind, ...] = ("tokens_per_second",)
"""Kinds whose threshold is a rate that the objective's share of answers must reach."""
_GAP_KINDS: tuple[SloKind, ...] = ("gap", "token_gap")
MCP_KINDS: tuple[SloKind, ...] = ("tool_error",)
"""Kinds that only calls of MCP tools have."""

SLO_FORM = (
    "latency:OBJECTIVE:TIME, error:OBJECTIVE:PERCENT or availability:OBJECTIVE[:TIME], each with @WINDOW "
    'if wanted, such as "latency:95:200ms", "error:99:1%" or "availability:99.9:500ms@5s"; for event streams '
    "also first_event and gap (as latency) and early_end (as error), for MCP tools tool_error (as error), "
    "for models time_to_first_token and token_gap (as latency), tokens_per_second:OBJECTIVE:TOKENS, "
    "early_end and refusal (as error)"
)

_BEYOND_WANTED = 10
"""Requests beyond a percentile that make it reliable."""


@dataclass(frozen=True, slots=True)
class Slo:
    """A service level objective."""

    kind: SloKind
    title: str
    objective: float
    """Percent, more than 0 and less than 100."""
    threshold: float | None
    """Of a time: ms. Of a share: percent of requests. Of a rate: tokens per second. availability: ms within
    which an answer counts, or None."""
    window_s: float | None = None
    """With a window, every window of this length must keep the objective; the worst is reported."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f'kind: expected one of {", ".join(KINDS)}, got "{self.kind}"')
        if not 0 < self.objective < 100:
            raise ValueError(
                f"objective: expected more than 0 and less than 100 percent, got {self.objective:g}"
            )
        if self.threshold is None and self.kind != "availability":
            unit = "percent" if self.is_share else "tokens per second" if self.is_rate else "ms"
            raise ValueError(f"threshold: expected a number of {unit} for {self.kind}, got nothing")
        if self.threshold is not None and not (self.threshold > 0 and isfinite(self.threshold)):
            raise ValueError(f"threshold: expected more than 0, got {self.threshold:g}")
        if self.is_share and self.threshold is not None and self.threshold > 100:
            raise ValueError(f"threshold: expected at most 100 percent, got {self.threshold:g}")
        if self.window_s is not None and not (self.window_s > 0 and isfinite(self.window_s)):
            raise ValueError(f"window_s: expected more than 0 seconds, got {self.window_s:g}")

    @property
    def is_time(self) -> bool:
        """Whether its threshold is a time that a percentile must keep."""
        return self.kind in TIME_KINDS

    @property
    def is_share(self) -> bool:
        """Whether its threshold is a share of bad requests."""
        return self.kind in SHARE_KINDS

    @property
    def is_rate(self) -> bool:
        """Whether its threshold is a rate that answers must reach."""
        return self.kind in RATE_KINDS


@dataclass(frozen=True, slots=True)
class SloResult:
    """Whether a run met an objective, and by how much."""

    slo: Slo
    passed: bool | None
    """None: there was nothing to judge, or the result depends on arrivals that were dropped or lost."""
    measured: float | None
    """A time: the objective's percentile in ms, None if so many failed that there is no answer at it;
    a share, availability: percent."""
    margin: float | None
    """Distance to the threshold, negative if it is missed: ms for a time, else percentage points."""
    over: int
    """Requests on the wrong side of the threshold; those that failed are, whatever time they took."""
    total: int
    """Requests that were judged; with a window, as all figures here, those of the worst one."""
    warning: str | None = None
    """Why the figure is weak: too few samples for such a percentile, for example."""
    window_start_s: float | None = None
    """Start of the worst window, for an objective with a window."""


def judge(slo: Slo, tally: Tally, run_s: float, load: Load | None = None) -> SloResult:
    """Return whether a run meets an objective.

    `run_s` is how long requests were sent: the end of the last window. The schedule of `load` shows in which
    windows arrivals were dropped or lost."""
    return judge_all((slo,), tally, run_s, load)[0]


def judge_all(
    slos: Iterable[Slo], tally: Tally, run_s: float, load: Load | None = None
) -> tuple[SloResult, ...]:
    """Judge several objectives; the run is cut and sorted once for all that have the same window."""
    windows: dict[tuple[float | None, SloKind | None], list[_Window]] = {}
    results = []
    for slo in slos:
        own_kind = slo.kind if slo.kind in (*STREAM_KINDS, *MCP_KINDS, *LLM_KINDS) else None
        key = slo.window_s, own_kind
        grain_s = tally.grain_s if own_kind is None else figures_grain_s(tally)
        if key not in windows:
            windows[key] = _windows(tally, slo.window_s, run_s, load, own_kind, grain_s)
        judged = _judged(slo, windows[key], grain_s)
        results.append(undecided(judged, _UNKNOWN) if tally.lost is None else judged)
    return tuple(results)


def figures_grain_s(tally: Tally) -> float:
    """Return the length in multiples of which windows of events and of outcomes are known, in seconds."""
    return max(tally.grain_s, 1.0 if tally.figures is None else tally.figures.slot_s)


def undecided(result: SloResult, why: str) -> SloResult:
    """Return the result of an objective that cannot be judged, with the reason: a sentence."""
    return replace(result, passed=None, warning=" ".join(filter(None, (why, result.warning))))


_UNKNOWN = "A worker was lost, and it is not known how many requests it would have sent."


@dataclass(frozen=True, slots=True)
class _Window:
    seen: Window
    dropped: int
    """Arrivals of which no outcome is known: they were dropped, or their worker was lost."""
    has_lost: bool
    """Whether some were lost, so that they may have been sent."""


def _windows(
    tally: Tally,
    window_s: float | None,
    run_s: float,
    load: Load | None,
    own_kind: SloKind | None,
    grain_s: float,
) -> list[_Window]:
    """Return the windows that had arrivals, whether or not any was sent; for a kind of its own, with what it
    judges in place of the response times."""
    width_s = grained(window_s, grain_s) if window_s else max(run_s, 1.0)
    count = window_count(run_s, width_s) if window_s else 1
    seen = tally.windows(width_s, count)
    dropped = _dropped(tally, seen, width_s, run_s, load)
    if own_kind is not None:
        figures = tally.figures or ItemFigures("stream")
        judged = [figure_window(own_kind, slot) for slot in figures.grouped(width_s, count)]
        if own_kind in _GAP_KINDS:
            # A stream that was never sent would have had about as many gaps as those that were.
            gaps = ceil(sum(len(each[0]) for each in judged) / max(tally.requests, 1)) or 1
            dropped = [each * gaps for each in dropped]
        seen = [Window(each.start_s, *found) for each, found in zip(seen, judged, strict=True)]
    windows = [_Window(*pair, bool(tally.lost)) for pair in zip(seen, dropped, strict=True)]
    return [window for window in windows if window.seen.response or window.dropped]


def _dropped(tally: Tally, seen: list[Window], width_s: float, run_s: float, load: Load | None) -> list[int]:
    """Return how many arrivals of each window have no known outcome.

    The schedule of an open load gives how many there should have been. Otherwise those that were dropped are
    taken as evenly spread, and all that were lost with a worker may have been of any one window."""
    lost = tally.lost or 0
    if not tally.dropped + lost or len(seen) == 1:
        return [tally.dropped + lost] * len(seen)
    if load is not None and load.model == "open":
        last = len(seen) - 1
        planned = Counter(min(int((at + HAIR_S) / width_s), last) for at in instants(load) if at < run_s)
        return [max(planned[number] - len(window.response), 0) for number, window in enumerate(seen)]
    return [ceil(tally.dropped * len(window.response) / max(tally.requests, 1)) + lost for window in seen]


def _judged(slo: Slo, windows: list[_Window], grain_s: float) -> SloResult:
    if not windows:
        return SloResult(slo, None, None, None, 0, 0, f"There were no {_judged_things(slo)} to judge.")
    results = [_judge_window(slo, window, grain_s) for window in windows]
    return min(results, key=_goodness)


def _judged_things(slo: Slo) -> str:
    if slo.kind in STREAM_KINDS:
        return "streams"
    if slo.kind in LLM_KINDS:
        return "answers of a model"
    return "calls that the tool answered" if slo.kind in MCP_KINDS else "requests"


def _goodness(result: SloResult) -> tuple[int, float, float]:
    margin = -inf if result.margin is None else result.margin
    return _FROM_THE_WORST.index(result.passed), margin, -result.over / max(result.total, 1)


def _judge_window(slo: Slo, window: _Window, grain_s: float) -> SloResult:
    """Judge one window. The outcome of dropped arrivals is unknown, so a verdict counts only if it is the
    same whether they had all been good or all been bad."""
    judge_one, seen, dropped = _JUDGES[slo.kind], window.seen, window.dropped
    best, worst = (
        judge_one(slo, WindowCase(seen, good=dropped)),
        judge_one(slo, WindowCase(seen, bad=dropped)),
    )
    passed = best.passed if best.passed is worst.passed else None
    start_s = None if slo.window_s is None else seen.start_s
    total = len(seen.response)
    if not total:
        return SloResult(slo, passed, None, None, 0, 0, _unsure(slo, window), start_s)
    found = judge_one(slo, WindowCase(seen))
    lost = isinf(found.measured)
    texts = (
        _unsure(slo, window) if passed is None else None,
        f"{seen.errors} of {total} requests failed: at {slo.objective:g}% there is no "
        f"{_AWAITED.get(slo.kind, 'answer')}."
        if lost
        else None,
        *_weaknesses(slo, total, grain_s),
    )
    return SloResult(
        slo,
        passed,
        None if lost else found.measured,
        None if lost else found.margin,
        found.over,
        total,
        " ".join(filter(None, texts)) or None,
        start_s,
    )


_AWAITED: dict[SloKind, str] = {"first_event": "event", "time_to_first_token": "token"}


@dataclass(frozen=True, slots=True)
class _Judgement:
    passed: bool
    measured: float
    margin: float
    over: int


def _judge_time(slo: Slo, case: WindowCase) -> _Judgement:
    assert slo.threshold is not None
    measured = percentile(case.waits(), slo.objective) * 1000
    margin = slo.threshold - measured
    return _Judgement(margin >= 0, measured, margin, case.total - case.within(slo.threshold))


def _judge_share(slo: Slo, case: WindowCase) -> _Judgement:
    assert slo.threshold is not None
    good, total = case.within(None), case.total
    measured, answered = 100 * (total - good) / total, 100 * good / total
    passed = measured < slo.threshold and answered >= slo.objective
    margin = min(slo.threshold - measured, answered - slo.objective)
    return _Judgement(passed, measured, margin, total - good)


def _judge_availability(slo: Slo, case: WindowCase) -> _Judgement:
    good, total = case.within(slo.threshold), case.total
    measured = 100 * good / total
    return _Judgement(measured >= slo.objective, measured, measured - slo.objective, total - good)


def _judge_rate(slo: Slo, case: WindowCase) -> _Judgement:
    """Judge times of a token: an answer is good if its tokens come at least as fast as the threshold."""
    assert slo.threshold is not None
    good, total = case.within(1000 / slo.threshold + _ROUNDING_MS), case.total
    measured = 100 * good / total
    return _Judgement(measured >= slo.objective, measured, measured - slo.objective, total - good)


_ROUNDING_MS = 1e-9
_JUDGES: dict[SloKind, Callable[[Slo, WindowCase], _Judgement]] = {
    "availability": _judge_availability,
    **dict.fromkeys(TIME_KINDS, _judge_time),
    **dict.fromkeys(SHARE_KINDS, _judge_share),
    **dict.fromkeys(RATE_KINDS, _judge_rate),
}
_FROM_THE_WORST = (False, None, True)


def _unsure(slo: Slo, window: _Window) -> str:
    total = len(window.seen.response) + window.dropped
    missing = "have no result" if window.has_lost else "were never sent"
    if slo.kind in _GAP_KINDS:
        return f"Some streams {missing}: about {window.dropped} of {total} gaps are unknown, and decide this."
    return f"{window.dropped} of {total} arrivals {missing}: what would have become of them decides this."


def _weaknesses(slo: Slo, total: int, grain_s: float) -> Iterator[str]:
    if total < (needed := requests_wanted(slo)):
        noun = "gap" if slo.kind in _GAP_KINDS else "request"
        few = f"1 {noun} is few" if total == 1 else f"{total} {noun}s are few"
        yield f"{few} for an objective of {slo.objective:g}%: it wants {needed}."
    if slo.window_s is not None and grained(slo.window_s, grain_s) != slo.window_s:
        width = format_duration(grained(slo.window_s, grain_s))
        why = (
            "there were too many requests to keep each"
            if slo.kind in _KEPT_KINDS
            else "events are counted so"
        )
        yield f"Windows are {width} long: {why}."


_KEPT_KINDS: tuple[SloKind, ...] = ("latency", "error", "availability")


def requests_wanted(slo: Slo) -> int:
    """Return how many requests an objective needs to be judged well, in each of its windows."""
    beyond = _BEYOND_WANTED if slo.is_time else 1
    return ceil(round(beyond * 100 / (100 - slo.objective), 6))


def parse_slo(text: str) -> Slo:
    """Return the objective of a flag, in the form `SLO_FORM`. Raises ValueError that names the field."""
    body, has_window, window = text.strip().partition("@")
    fields = [each.strip() for each in body.split(":")]
    kind = next((each for each in KINDS if each == fields[0]), None)
    if kind is None:
        raise ValueError(f'kind: expected {SLO_FORM}, got "{text}"')
    if len(fields) > 3:
        raise ValueError(f'slo: expected {SLO_FORM}, got "{text}"')
    objective = _percent("objective", fields[1] if len(fields) > 1 else "")
    threshold = None
    if len(fields) == 3:
        threshold = _threshold(kind, fields[2])
    window_s = _seconds("window", window) if has_window else None
    return Slo(kind, _title(kind, objective, threshold, window_s), objective, threshold, window_s)


def _threshold(kind: SloKind, text: str) -> float:
    if kind in SHARE_KINDS:
        return _percent("threshold", text)
    if kind in RATE_KINDS:
        try:
            return float(text)
        except ValueError:
            expected = "expected a number of tokens per second such as 30"
            raise ValueError(f'threshold: {expected}, got "{text}"') from None
    return 1000 * _seconds("threshold", text)


def _percent(field: str, text: str) -> float:
    try:
        return float(text.removesuffix("%"))
    except ValueError:
        raise ValueError(f'{field}: expected a percentage such as 95 or 99.9%, got "{text}"') from None


def _seconds(field: str, text: str) -> float:
    # A bare number would mean seconds here and milliseconds in a scenario file: better to ask.
    if text.strip()[-1:].isalpha():
        try:
            return parse_duration(text)
        except ValueError:
            pass
    raise ValueError(f'{field}: expected a duration with its unit, such as 200ms or 5s, got "{text}"')


def _title(kind: SloKind, objective: float, threshold: float | None, window_s: float | None) -> str:
    limit = {
        "latency": f" @ {threshold or 0:g}ms",
        "first_event": f" first event @ {threshold or 0:g}ms",
        "gap": f" of gaps @ {threshold or 0:g}ms",
        "error": f" without error (< {threshold or 0:g}%)",
        "early_end": f" without early end (< {threshold or 0:g}%)",
        "time_to_first_token": f" first token @ {threshold or 0:g}ms",
        "token_gap": f" of token gaps @ {threshold or 0:g}ms",
        "tokens_per_second": f" at {threshold or 0:g} tokens/s",
        "refusal": f" without refusal (< {threshold or 0:g}%)",
        "tool_error": f" without tool error (< {threshold or 0:g}%)",
        "availability": " available" if threshold is None else f" available within {threshold:g}ms",
    }[kind]
    return f"{objective:g}%{limit}" + (f" in every {format_duration(window_s)}" if window_s else "")
