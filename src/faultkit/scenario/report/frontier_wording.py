"""The words of a search of two settings: its sentence, its map and its edges as tables, and a comparison with
an earlier one. One wording for all formats. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from faultkit.base.numbers import NO_NUMBER, percentage, shortest
from faultkit.base.text import and_list, counted
from faultkit.scenario.report.frontier_model import FrontierPair, FrontierReport, FrontierSetting
from faultkit.scenario.report.search_wording import Comparison, budget_text, wanted_text

PAIR_COLUMNS = ("Values", "Requests", "Good", "95% Bounds", "Asked For", "Decision")
_UNDECIDED, _NOT_MEASURED = "?", "·"
MAP_KEY = f"{_UNDECIDED}: measured and undecided; {_NOT_MEASURED}: not measured"


class Edge(NamedTuple):
    """What is shown along one setting, while the other has one value."""

    held: float | None
    """The most harmful value that is shown to hold,"""
    broken: float | None
    """and the least harmful that is shown to be broken."""


def frontier_sentence(frontier: FrontierReport) -> str:
    """Return the result in a few sentences."""
    first, second = frontier.first, frontier.second
    slo = "Your SLO" if len(frontier.objectives) < 2 else "One of your SLOs"
    match frontier.outcome:
        case "already_broken":
            return f"{slo} is already broken at {_pair(frontier, 0)}, both harmless ends."
        case "holds":
            slo = "Your SLO" if len(frontier.objectives) < 2 else "Each of your SLOs"
            return f"{slo} holds up to {_pair(frontier, -1)}, both harmful ends."
        case "inconclusive":
            slos = "your SLO breaks" if len(frontier.objectives) < 2 else "your SLOs break"
            words = [f"It is not known where {slos}.", frontier.reason, counts_sentence(frontier)]
            return " ".join(filter(None, [*words, wanted_text(frontier)]))
    along_first, along_second = next(frontier.columns()), next(frontier.rows())
    parts = (
        _breaks(first, edge_of([(pair.first, pair) for pair in along_first]), second),
        _breaks(second, edge_of([(pair.second, pair) for pair in along_second]), first),
    )
    words = [f"{slo} breaks {parts[0]}, and {parts[1]}.", counts_sentence(frontier), frontier.reason]
    return " ".join(filter(None, words))


def _breaks(along: FrontierSetting, edge: Edge, other: FrontierSetting) -> str:
    """Return where it breaks along one setting while the other is harmless."""
    name, last = setting_name(along), along.values[-1]
    other_at = f"while {setting_name(other)} is {_value(other, other.values[0])}"
    if edge.held is None:
        return f"before {_value(along, last)} of {name} {other_at}"
    if edge.broken is not None:
        return f"between {shortest(edge.held)} and {_value(along, edge.broken)} of {name} {other_at}"
    if edge.held == last:
        return f"nowhere up to {_value(along, last)} of {name}, the whole range, {other_at}"
    return f"beyond {_value(along, edge.held)} of {name}, if at all, {other_at}"


def edge_of(pairs: Sequence[tuple[float, FrontierPair]]) -> Edge:
    """Return what is shown along values, which are in ascending harm."""
    held = [value for value, pair in pairs if pair.decision == "held"]
    broken = [value for value, pair in pairs if pair.decision == "broken"]
    return Edge(held[-1] if held else None, broken[0] if broken else None)


def counts_sentence(frontier: FrontierReport) -> str:
    """Return how many pairs hold, are broken, and are undecided."""
    held, broken, undecided = (frontier.count(each) for each in ("held", "broken", "undecided"))
    words = [f"{held} {'holds' if held == 1 else 'hold'}", f"{broken} {_are(broken)} broken"]
    if undecided:
        words.append(f"{undecided} {_are(undecided)} undecided")
    return f"Of {counted(len(frontier.pairs), 'pair')} of values, {and_list(words)}."


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def setting_name(setting: FrontierSetting) -> str:
    """Return the name of a setting: `latency.mean`."""
    return setting.setting.removeprefix("faults.")


def axis_title(setting: FrontierSetting) -> str:
    """Return the name of an axis with its unit: `faults.latency.mean (ms)`."""
    return setting.setting + (f" ({setting.unit})" if setting.unit else "")


def _value(setting: FrontierSetting, value: float) -> str:
    return f"{shortest(value)} {setting.unit}".rstrip()


def pair_values(frontier: FrontierReport, pair: FrontierPair) -> str:
    """Return the values of a pair: `latency.mean 50 ms, packet_loss.rate 0.1`."""
    first = f"{setting_name(frontier.first)} {_value(frontier.first, pair.first)}"
    return f"{first}, {setting_name(frontier.second)} {_value(frontier.second, pair.second)}"


def _pair(frontier: FrontierReport, number: int) -> str:
    return pair_values(frontier, frontier.pairs[number]).replace(", ", " and ")


def frontier_facts(frontier: FrontierReport) -> Iterator[tuple[str, str]]:
    """Yield what was searched, and with which budget."""
    for setting in (frontier.first, frontier.second):
        how = " on a log scale" if setting.spacing == "log" else ""
        ends = f"{shortest(setting.values[0])} to {_value(setting, setting.values[-1])}"
        yield "Searched", f"{setting.setting} from {ends} in {len(setting.values)} values{how}"
    yield "Budget", budget_text(frontier)


def map_columns(frontier: FrontierReport) -> tuple[str, ...]:
    """Return the heads of the map as a table: the second setting downwards, the first one to the right."""
    return setting_name(frontier.second), *(_value(frontier.first, each) for each in frontier.first.values)


def map_rows(frontier: FrontierReport) -> tuple[tuple[str, ...], ...]:
    """Return the map as a table, with the harmful end of the second setting at the top, as the picture."""
    columns = list(zip(frontier.second.values, frontier.columns(), strict=True))
    return tuple(
        (_value(frontier.second, value), *(_word(pair) for pair in pairs)) for value, pairs in columns[::-1]
    )


def _word(pair: FrontierPair) -> str:
    if pair.decision != "undecided":
        return pair.decision
    return _UNDECIDED if pair.requests else _NOT_MEASURED


def edge_columns(frontier: FrontierReport) -> tuple[str, ...]:
    """Return the heads of the table of edges."""
    name = setting_name(frontier.second)
    return setting_name(frontier.first), f"{name} holds up to", f"{name} broken from"


def edge_rows(frontier: FrontierReport) -> Iterator[tuple[str, str, str]]:
    """Yield what is shown along the second setting, for each value of the first."""
    for value, pairs in zip(frontier.first.values, frontier.rows(), strict=True):
        edge = edge_of([(pair.second, pair) for pair in pairs])
        held, broken = (NO_NUMBER if each is None else _value(frontier.second, each) for each in edge)
        yield _value(frontier.first, value), held, broken


def pair_rows(frontier: FrontierReport) -> Iterator[tuple[str, ...]]:
    """Yield the pairs that were measured as cells of `PAIR_COLUMNS`."""
    for pair in frontier.pairs:
        if pair.requests:
            low, high, asked = (
                NO_NUMBER if each is None else percentage(each) for each in (pair.low, pair.high, pair.share)
            )
            yield (
                pair_values(frontier, pair),
                f"{pair.requests:,}",
                percentage(100 * pair.good / pair.requests),
                f"{low} to {high}",
                asked + (f" ({pair.objective})" if len(frontier.objectives) > 1 else ""),
                pair.decision,
            )


def compared_frontiers(before: FrontierReport, now: FrontierReport) -> Comparison:
    """Return whether a service stands more or less than before: a pair counts only if it was decided both
    times. It is worse if a pair is broken now that held, whatever became of others."""
    lost, won = _changed(before, now)
    return "worse" if lost else "better" if won else "no difference"


def _changed(before: FrontierReport, now: FrontierReport) -> tuple[list[FrontierPair], list[FrontierPair]]:
    """Return the pairs that held and are broken, and those that were broken and hold."""
    lost, won = [], []
    for old, new in zip(before.pairs, now.pairs, strict=True):
        if (old.decision, new.decision) == ("held", "broken"):
            lost.append(new)
        elif (old.decision, new.decision) == ("broken", "held"):
            won.append(new)
    return lost, won


def frontier_comparison(before: FrontierReport, now: FrontierReport) -> str:
    """Return the comparison with an earlier search in a sentence."""
    lost, won = _changed(before, now)
    if lost:
        held = f"{counted(len(lost), 'pair')} that held {_are(len(lost))} broken"
        return f"Worse than the baseline: {held}, the first at {pair_values(now, lost[0])}."
    if won:
        verbs = ("was", "holds") if len(won) == 1 else ("were", "hold")
        return (
            f"Better than the baseline: {counted(len(won), 'pair')} that {verbs[0]} broken {verbs[1]}, the "
            f"first at {pair_values(now, won[0])}."
        )
    return "No difference to the baseline is shown: no pair changed from held to broken or back."
