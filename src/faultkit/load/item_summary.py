"""The summaries of event streams, MCP calls and answers of models, beside that of their requests. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from faultkit.base.histogram import Histogram
from faultkit.base.sample_statistics import percentiles
from faultkit.load.item_figures import FigureSlot, ItemFigures
from faultkit.load.response import LEVELS, Failure


@dataclass(frozen=True, slots=True)
class Spread:
    """How times are spread. All zero when `count` is 0."""

    count: int
    min_ms: float
    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float


@dataclass(frozen=True, slots=True)
class StreamSummary:
    """The figures of event streams."""

    streams: int
    """Streams that began: their head was a success, and an event stream."""
    events: int
    events_per_s: float
    """Of all streams together, over the whole run."""
    early_ends: int
    """Streams that had begun and ended before they were complete, in good order or not."""
    first_event: Spread
    """Times from the intended start to the first event."""
    gaps: Spread
    """Times between two events of a stream."""


@dataclass(frozen=True, slots=True)
class McpSummary:
    """The figures of MCP calls."""

    sessions: int
    """Sessions that were opened, those that replace a lost one included."""
    restarts: int
    """Those that replace a lost one."""
    levels: dict[str, int]
    """Errors by level: `transport` (no reply), `protocol` (a JSON-RPC error, or no JSON-RPC), `tool`
    (`isError`)."""


@dataclass(frozen=True, slots=True)
class LlmSummary:
    """The figures of answers of models."""

    answers: int
    """Answers that began: their head was a success."""
    tokens: int
    """A token is a word or a mark."""
    tokens_per_s: float
    """Of all answers together, over the whole run."""
    early_ends: int
    """Answers that had begun and ended before they were complete."""
    refusals: int
    """Requests that the provider answered with a status from 400 to 599."""
    first_token: Spread
    """Times from the intended start to the first token."""
    gaps: Spread
    """Times between two events with content of an answer."""
    rate_p50: float
    """Tokens per second of one answer: half of the answers are at least so fast."""
    rate_p5: float
    """95 % of the answers are at least so fast."""
    rate_min: float


def llm_summary(figures: ItemFigures, total_s: float) -> LlmSummary | None:
    """Return the summary of answers of models; None if these are none."""
    if figures.kind != "llm":
        return None
    whole = figures.total()
    token_times = _spread(whole.token_time)
    return LlmSummary(
        answers=whole.begun,
        tokens=figures.tokens,
        tokens_per_s=figures.tokens / total_s if total_s > 0 else 0.0,
        early_ends=whole.early_ends,
        refusals=whole.refusals,
        first_token=_spread(whole.first_event),
        gaps=_spread(whole.gaps),
        rate_p50=_rate(token_times.p50_ms),
        rate_p5=_rate(token_times.p95_ms),
        rate_min=_rate(token_times.max_ms),
    )


def _rate(token_ms: float) -> float:
    # Tokens that come in one read take no time that can be measured: at most a million a second are claimed.
    return 1000 / max(token_ms, 0.001)


def stream_summary(figures: ItemFigures, total_s: float) -> StreamSummary | None:
    """Return the summary of event streams; None if these are no streams."""
    if figures.kind != "stream":
        return None
    whole = figures.total()
    return StreamSummary(
        streams=whole.begun,
        events=figures.events,
        events_per_s=figures.events / total_s if total_s > 0 else 0.0,
        early_ends=whole.early_ends,
        first_event=_spread(whole.first_event),
        gaps=_spread(whole.gaps),
    )


def mcp_summary(figures: ItemFigures) -> McpSummary | None:
    """Return the summary of MCP calls; None if these are none."""
    if figures.kind != "mcp":
        return None
    levels: dict[str, int] = dict.fromkeys(LEVELS, 0)
    for number, count in figures.total().failures.items():
        if number:
            levels[Failure(number).level] += count
    return McpSummary(figures.sessions, figures.restarts, levels)


def _spread(times: Histogram) -> Spread:
    ordered = times.ordered()
    if not ordered:
        return Spread(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    found = percentiles(ordered, (50, 95, 99))
    middle, high, highest = (1000 * each for each in found)
    mean = 1000 * times.sum_s / len(ordered)
    return Spread(len(ordered), 1000 * ordered[0], mean, middle, high, highest, 1000 * ordered[-1])


JudgedTimes: TypeAlias = tuple[Sequence[float], Sequence[float], float]
"""What an objective judges: the times of all, ascending; of those that were good; and the sum of all."""


def figure_window(kind: str, slot: FigureSlot) -> JudgedTimes:
    """Return what an objective of this kind judges in one window: times to the first event or token, gaps,
    times of a token, or outcomes, whose times do not matter: of streams that began, of calls that the tool
    answered, and of requests to models."""
    if kind == "tokens_per_second":
        times = slot.token_time.ordered()
        return times, times, slot.token_time.sum_s
    if kind == "refusal":
        total = slot.failures.total()
        return range(total), range(total - slot.refusals), 0.0
    if kind in ("gap", "token_gap"):
        gaps = slot.gaps.ordered()
        return gaps, gaps, slot.gaps.sum_s
    if kind in ("first_event", "time_to_first_token"):
        both = Histogram()
        both.merge(slot.first_event)
        both.merge(slot.no_event)
        return both.ordered(), slot.first_event.ordered(), both.sum_s
    if kind == "early_end":
        return range(slot.begun), range(slot.begun - slot.early_ends), 0.0
    good, bad = slot.failures[Failure.NONE], slot.failures[Failure.TOOL_ERROR]
    return range(good + bad), range(good), 0.0
