"""The words of a search for a breaking point: its sentence, its levels, and a comparison with an earlier one.
One wording for all formats. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from faultkit.base.numbers import percentage, shortest
from faultkit.base.text import counted
from faultkit.base.units import format_duration
from faultkit.scenario.report.frontier_model import FrontierReport
from faultkit.scenario.report.search_model import SearchLevel, SearchReport

Comparison: TypeAlias = Literal["better", "worse", "no difference"]
LEVEL_COLUMNS = ("Value", "Requests", "Good", "95% Bounds", "Asked For", "Decision")


def search_sentence(search: SearchReport, subject: str = "", trial: str = "request") -> str:
    """Return the result in one or two sentences. `subject`: what breaks, if not an SLO; `trial`: what the
    budget counts."""
    slo = subject or _slo(search)
    match search.outcome:
        case "already_broken":
            at = _value(search, search.harmless)
            return f"{slo} is already broken at {at}, the harmless end of the range."
        case "holds":
            return f"{slo} holds up to {_value(search, search.harmful)}, the whole range."
        case "inconclusive":
            words = [
                f"It is not known where {slo[0].lower()}{slo[1:]} breaks.",
                search.reason,
                _bracket(search),
            ]
            return " ".join(filter(None, [*words, wanted_text(search, trial)]))
    if search.estimate is None:
        between = f"{slo} breaks between {_plain(search.held)} and {_value(search, search.broken)}"
        how = ", at once: a cliff" if search.is_cliff else ""
        return f"{between}{how}. {_bracket(search)} {search.reason}".rstrip()
    interval = f"95 % interval {_plain(search.low)}–{_plain(search.high)}"
    return f"{slo} breaks at about {_value(search, search.estimate)} ({interval}). {_bracket(search)}"


def _slo(search: SearchReport) -> str:
    if len(search.objectives) < 2:
        return "Your SLO"
    if search.broken_objective is None or search.outcome in ("holds", "inconclusive"):
        return "Your SLOs" if search.outcome != "holds" else "Each of your SLOs"
    return f'Your SLO "{search.broken_objective}"'


def _bracket(search: SearchReport) -> str:
    parts = []
    if search.held is not None:
        parts.append(f"shown to hold up to {_value(search, search.held)}")
    if search.broken is not None:
        parts.append(f"shown to be broken from {_value(search, search.broken)}")
    text = ", ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def wanted_text(search: SearchReport | FrontierReport, trial: str = "request") -> str:
    """Return which budget may decide what this one could not; empty if that is not known."""
    if search.wanted_requests is None:
        return ""
    if search.budget_s is None or search.wanted_s is None:
        return f"A budget of about {counted(search.wanted_requests, trial)} may decide it."
    return f"A budget of about {format_duration(round(search.wanted_s))} may decide it."


def _plain(value: float | None) -> str:
    return shortest(value)


def _value(search: SearchReport, value: float | None) -> str:
    return setting_value(search, value)


def setting_value(search: SearchReport, value: float | None) -> str:
    """Return a value of the searched setting: `182 ms`, `a rate of 0.05`."""
    if search.unit:
        return f"{shortest(value)} {search.unit}"
    return f"a {search.setting.rpartition('.')[2]} of {shortest(value)}"


def search_facts(search: SearchReport) -> Iterator[tuple[str, str]]:
    """Yield what was searched, and with which budget."""
    how = " on a log scale" if search.spacing == "log" else ""
    ends = f"{shortest(search.harmless)} to {shortest(search.harmful)} {search.unit}".rstrip()
    yield "Searched", f"{search.setting} from {ends}{how}"
    yield "Budget", budget_text(search)
    if search.breaks_above is not None:
        yield "Expected", f"to hold up to {_value(search, search.breaks_above)}"


def budget_text(search: SearchReport | FrontierReport) -> str:
    """Return what a search took of its budget."""
    budget = (
        counted(search.budget_requests, "request")
        if search.budget_s is None
        else format_duration(search.budget_s)
    )
    return f"{counted(search.requests, 'request')} in {format_duration(round(search.spent_s))} of {budget}"


def level_row(search: SearchReport, level: SearchLevel) -> tuple[str, ...]:
    """Return one level as cells of `LEVEL_COLUMNS`."""
    asked = percentage(level.share)
    if len(search.objectives) > 1:
        asked += f" ({level.objective})"
    return (
        f"{shortest(level.value)} {search.unit}".rstrip(),
        f"{level.requests:,}",
        percentage(100 * level.good / level.requests) if level.requests else "–",
        f"{percentage(level.low)} to {percentage(level.high)}",
        asked,
        level.decision,
    )


def compared(before: SearchReport, now: SearchReport) -> Comparison:
    """Return whether a service stands more or less than before: a difference counts only if the brackets, or
    the intervals of the estimates, do not overlap."""
    old, new = _ranges(before), _ranges(now)
    for earlier, later in zip(old, new, strict=True):
        if earlier is None or later is None:
            continue
        if later[1] <= earlier[0] and later != earlier:
            return "worse"
        if later[0] >= earlier[1] and later != earlier:
            return "better"
    return "no difference"


def _ranges(search: SearchReport) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
    """Return the bracket and the interval of the estimate, as distances from the harmless end."""
    held = float("-inf") if search.held is None else search.harm(search.held)
    broken = float("inf") if search.broken is None else search.harm(search.broken)
    if search.estimate is None or search.low is None or search.high is None:
        return (held, broken), None
    low, high = sorted((search.harm(search.low), search.harm(search.high)))
    return (held, broken), (low, high)


def comparison_sentence(before: SearchReport, now: SearchReport) -> str:
    """Return the comparison with an earlier search in a sentence."""
    earlier = _short(before)
    match compared(before, now):
        case "worse":
            return f"Worse than the baseline, which {earlier}."
        case "better":
            return f"Better than the baseline, which {earlier}."
    return f"No difference to the baseline is shown, which {earlier}."


def _short(search: SearchReport) -> str:
    match search.outcome:
        case "already_broken":
            return f"was broken at {_value(search, search.harmless)} already"
        case "holds":
            return f"held up to {_value(search, search.harmful)}"
        case "inconclusive":
            return "was inconclusive"
    if search.estimate is not None:
        return f"broke at about {_value(search, search.estimate)}"
    return f"broke between {_plain(search.held)} and {_value(search, search.broken)}"
