"""A plain-language review of a report: what broke, how much, the likely cause, what to try next.

It works offline and gives the same text for the same report: the rules of the two tables TRUST and FIGURES in
their order. A rule looks at one item and returns a remark or None. It sees figures and not the service, so it
names likely causes. Texts are for engineers: plain and short.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from faultkit.base.text import counted, printable_line
from faultkit.report import markdown
from faultkit.scenario.report.delay_rules import (
    delay_hidden,
    delay_multiplied,
    delay_passed_on,
    no_difference,
    tail_only,
)
from faultkit.scenario.report.failure_rules import (
    amplified,
    client_gave_up,
    error_classes,
    no_recovery,
    recovers,
    retries_work,
    timeouts,
)
from faultkit.scenario.report.objective_rules import (
    baseline_misses_slo,
    breaking_point,
    expectation_missed,
    slo_margin_small,
    slo_missed,
)
from faultkit.scenario.report.report_model import ItemReport, Report
from faultkit.scenario.report.review_model import SEVERITIES, Remark, Review, ReviewFinding
from faultkit.scenario.report.trust_rules import (
    baseline_fails,
    inconclusive,
    late_starts,
    not_exercised,
    not_trusted,
    too_few_samples,
    unfinished,
    wrong_page,
)

ReviewRule: TypeAlias = Callable[[ItemReport], Remark | None]

TRUST: tuple[tuple[str, ReviewRule], ...] = (
    ("baseline-fails", baseline_fails),
    ("not-trusted", not_trusted),
    ("baseline-misses-slo", baseline_misses_slo),
    ("unfinished", unfinished),
    ("not-exercised", not_exercised),
    ("inconclusive", inconclusive),
    ("wrong-page", wrong_page),
    ("too-few-samples", too_few_samples),
    ("late-starts", late_starts),
)
"""Rules about whether the figures can be trusted; they look at every item."""

FIGURES: tuple[tuple[str, ReviewRule], ...] = (
    ("breaking-point", breaking_point),
    ("slo-missed", slo_missed),
    ("expectation-missed", expectation_missed),
    ("client-gave-up", client_gave_up),
    ("timeouts", timeouts),
    ("error-classes", error_classes),
    ("amplified", amplified),
    ("no-recovery", no_recovery),
    ("slo-margin-small", slo_margin_small),
    ("delay-multiplied", delay_multiplied),
    ("tail-only", tail_only),
    ("recovers", recovers),
    ("delay-passed-on", delay_passed_on),
    ("delay-hidden", delay_hidden),
    ("retries-work", retries_work),
    ("no-difference", no_difference),
)
"""Rules about the figures; they look only at items whose figures decide something."""


DECIDED = ("passed", "failed")
"""Verdicts of items whose figures decide something."""

SEARCHES = ("not-trusted", "unfinished", "not-exercised")
"""Rules that hold for a search, too."""

FIRST = ("baseline-fails", "not-trusted", "baseline-misses-slo")
"""Rules about the service without faults: their findings come first among those of the same severity."""


def remarks(item: ItemReport) -> Iterator[tuple[str, Remark]]:
    """Yield the remarks of all rules about an item, each with the name of its rule."""
    rules = (*TRUST, *FIGURES) if item.verdict in DECIDED else TRUST
    if item.strategy.mode == "search":
        # Its requests are of many values: their figures together mean nothing.
        rules = tuple(pair for pair in TRUST if pair[0] in SEARCHES)
    for name, rule in rules:
        remark = rule(item)
        if remark is not None:
            yield name, remark


_HEADS = {
    "broken": "🔴 Broken",
    "risk": "🟠 Risk",
    "doubt": "⚪ In doubt",
    "note": "🔵 Worth knowing",
    "good": "🟢 Works",
}

_NAMED = 3
"""Where one remark holds for many calls or scenarios, this many are named and the others counted."""


def review_report(report: Report) -> Review:
    """Return the findings of all rules, the gravest first."""
    found = list(_findings(report))
    found.sort(key=lambda finding: (SEVERITIES.index(finding.remark.severity), finding.rule not in FIRST))
    return Review(_summary(report, found), tuple(found))


def _findings(report: Report) -> Iterator[ReviewFinding]:
    number = 0
    for scenario in report.scenarios:
        for item in scenario.items:
            number += 1
            for name, remark in remarks(item):
                call = f"{item.call.method} {item.call.url}"
                yield ReviewFinding(name, scenario.title, number, call, remark)


def _summary(report: Report, found: list[ReviewFinding]) -> str:
    if not report.items:
        summary = "Nothing was run."
    else:
        verdicts = Counter(item.verdict for item in report.items)
        summary = f"{counted(len(report.items), 'item')}: " + ", ".join(
            f"{count} {verdict}" for verdict, count in sorted(verdicts.items(), key=lambda pair: -pair[1])
        )
        summary += f". {_broken_sentence(report, found)}"
    return (
        summary if report.partial is None else f"{summary} The run is partial: {report.partial.rstrip('.')}."
    )


def _broken_sentence(report: Report, found: list[ReviewFinding]) -> str:
    """Return a sentence on whether something broke; items that decide nothing are not counted."""
    broken = {finding.item for finding in found if finding.remark.severity == "broken"}
    ill = {finding.item for finding in found if finding.rule in FIRST}
    before = f"Without any fault, something is wrong in {len(ill)} of them. " if ill else ""
    if broken:
        return f"{before}Something broke in {len(broken)} of them."
    decided = sum(item.verdict in DECIDED for item in report.items)
    if decided == len(report.items):
        return before.strip() or "Nothing broke."
    if not decided:
        return f"{before}None of them decides anything."
    return f"{before}Nothing broke in the {counted(decided, 'item')} that can tell."


def render_review(review_report: Review) -> str:
    """Return a review as Markdown."""
    lines = ["# Review", "", _escaped(review_report.summary), ""]
    for severity in SEVERITIES:
        found = [finding for finding in review_report.findings if finding.remark.severity == severity]
        if found:
            lines += [f"## {_HEADS[severity]}", ""]
            for group in _groups(found):
                lines += _section(group)
    return "\n".join(lines).rstrip() + "\n"


def _groups(found: Sequence[ReviewFinding]) -> Iterable[list[ReviewFinding]]:
    """Group findings that differ only in their figures."""
    groups: dict[tuple[str, Remark], list[ReviewFinding]] = {}
    for finding in found:
        groups.setdefault((finding.rule, replace(finding.remark, much="")), []).append(finding)
    return groups.values()


def _section(group: Sequence[ReviewFinding]) -> list[str]:
    remark = group[0].remark
    rows = (("How much", _amounts(group)), ("Likely cause", remark.cause), ("Try next", remark.next))
    return [
        f"### {_escaped(remark.what)}",
        "",
        _where(group),
        "",
        *(f"- **{name}**: {_escaped(text)}" for name, text in rows if text),
        "",
    ]


def _where(group: Sequence[ReviewFinding]) -> str:
    calls = list(
        dict.fromkeys("`" + printable_line(finding.call.replace("`", "'")) + "`" for finding in group)
    )
    titles = list(dict.fromkeys(_escaped(finding.scenario) for finding in group))
    return f"{_capitalized(_items(group))}, {_first_few(calls)} ({_first_few(titles)})"


def _amounts(group: Sequence[ReviewFinding]) -> str:
    by_text: dict[str, list[ReviewFinding]] = {}
    for finding in group:
        by_text.setdefault(finding.remark.much, []).append(finding)
    if len(by_text) == 1:
        return next(iter(by_text))
    return " ".join(f"{_capitalized(_items(found))}: {text}" for text, found in by_text.items())


def _items(group: Sequence[ReviewFinding]) -> str:
    """Return the items of a group: `item 3`, `items 1 to 4, 7`."""
    numbers = sorted({finding.item for finding in group})
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown = [f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return f"{'item' if len(numbers) == 1 else 'items'} {', '.join(shown)}"


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _first_few(texts: Sequence[str]) -> str:
    rest = len(texts) - _NAMED
    return ", ".join([*texts[:_NAMED], *([f"{rest} more"] if rest > 0 else [])])


def _escaped(text: str) -> str:
    return markdown.escape(text, "\\`*_[]<>#|", "")
