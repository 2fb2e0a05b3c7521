"""A plain-language review of a report: what broke, how much, the likely cause, what to try next.

It works offline and gives the same text for the same report: the rules of `review_rules` in their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from faultkit.base.text import counted, printable_line
from faultkit.report import markdown
from faultkit.scenario.report.report_model import Item, Report
from faultkit.scenario.report.review_model import SEVERITIES, Finding, Remark, Review
from faultkit.scenario.report.review_rules import DECIDED, FIRST, remarks

_HEADS = {
    "broken": "🔴 Broken",
    "risk": "🟠 Risk",
    "doubt": "⚪ In doubt",
    "note": "🔵 Worth knowing",
    "good": "🟢 Works",
}

_NAMED = 3
"""Where one remark holds for many calls or scenarios, this many are named and the others counted."""


def review(report: Report) -> Review:
    """Return the findings of all rules, the gravest first."""
    found = list(_findings(report))
    found.sort(key=lambda finding: (SEVERITIES.index(finding.remark.severity), finding.rule not in FIRST))
    return Review(_summary(report, found), tuple(found))


def _findings(report: Report) -> Iterator[Finding]:
    number = 0
    for scenario in report.scenarios:
        for item in scenario.items:
            number += 1
            for name, remark in remarks(item):
                yield Finding(name, scenario.title, number, _call(item), remark)


def _call(item: Item) -> str:
    return f"{item.call.method} {item.call.url}"


def _summary(report: Report, found: list[Finding]) -> str:
    if not report.items:
        summary = "Nothing was run."
    else:
        verdicts = Counter(item.verdict for item in report.items)
        summary = f"{counted(len(report.items), 'item')}: " + ", ".join(
            f"{count} {verdict}" for verdict, count in sorted(verdicts.items(), key=lambda pair: -pair[1])
        )
        summary += f". {_broken(report, found)}"
    return (
        summary if report.partial is None else f"{summary} The run is partial: {report.partial.rstrip('.')}."
    )


def _broken(report: Report, found: list[Finding]) -> str:
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


def render_review(review: Review) -> str:
    """Return a review as Markdown."""
    lines = ["# Review", "", _escaped(review.summary), ""]
    for severity in SEVERITIES:
        found = [finding for finding in review.findings if finding.remark.severity == severity]
        if found:
            lines += [f"## {_HEADS[severity]}", ""]
            for group in _groups(found):
                lines += _section(group)
    return "\n".join(lines).rstrip() + "\n"


def _groups(found: Sequence[Finding]) -> Iterable[list[Finding]]:
    """Group findings that differ only in their figures."""
    groups: dict[tuple[str, Remark], list[Finding]] = {}
    for finding in found:
        groups.setdefault((finding.rule, replace(finding.remark, much="")), []).append(finding)
    return groups.values()


def _section(group: Sequence[Finding]) -> list[str]:
    remark = group[0].remark
    rows = (("How much", _much(group)), ("Likely cause", remark.cause), ("Try next", remark.next))
    return [
        f"### {_escaped(remark.what)}",
        "",
        _where(group),
        "",
        *(f"- **{name}**: {_escaped(text)}" for name, text in rows if text),
        "",
    ]


def _where(group: Sequence[Finding]) -> str:
    calls = list(
        dict.fromkeys("`" + printable_line(finding.call.replace("`", "'")) + "`" for finding in group)
    )
    titles = list(dict.fromkeys(_escaped(finding.scenario) for finding in group))
    return f"{_capital(_items(group))}, {_few(calls)} ({_few(titles)})"


def _much(group: Sequence[Finding]) -> str:
    by_text: dict[str, list[Finding]] = {}
    for finding in group:
        by_text.setdefault(finding.remark.much, []).append(finding)
    if len(by_text) == 1:
        return next(iter(by_text))
    return " ".join(f"{_capital(_items(found))}: {text}" for text, found in by_text.items())


def _items(group: Sequence[Finding]) -> str:
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


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _few(texts: Sequence[str]) -> str:
    rest = len(texts) - _NAMED
    return ", ".join([*texts[:_NAMED], *([f"{rest} more"] if rest > 0 else [])])


def _escaped(text: str) -> str:
    return markdown.escape(text, "\\`*_[]<>#|", "")
