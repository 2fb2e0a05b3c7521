"""The plain-language reading of a report: what broke, how much, the likely cause, what to try next.

Offline, and the same for the same report: the rules of `faultkit.report.rules` in their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from faultkit.report.figures import counted
from faultkit.report.finding import SEVERITIES, Finding, Review
from faultkit.report.model import Item, Report
from faultkit.report.numerals import flat
from faultkit.report.rules import remarks

_HEADS = {
    "broken": "🔴 Broken",
    "risk": "🟠 Risk",
    "doubt": "⚪ In doubt",
    "note": "🔵 Worth knowing",
    "good": "🟢 Works",
}


def review(report: Report) -> Review:
    found = list(_findings(report))
    found.sort(key=lambda finding: SEVERITIES.index(finding.remark.severity))
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
        said = "Nothing was run."
    else:
        verdicts = Counter(item.verdict for item in report.items)
        said = f"{counted(len(report.items), 'item')}: " + ", ".join(
            f"{count} {verdict}" for verdict, count in sorted(verdicts.items(), key=lambda pair: -pair[1])
        )
        broken = {finding.item for finding in found if finding.remark.severity == "broken"}
        said += f". Something broke in {len(broken)} of them." if broken else ". Nothing broke."
    return said if report.partial is None else f"{said} The run is partial: {report.partial.rstrip('.')}."


def render_review(review: Review) -> str:
    """As Markdown."""
    lines = ["# Review", "", _plain(review.summary), ""]
    for severity in SEVERITIES:
        found = [finding for finding in review.findings if finding.remark.severity == severity]
        if found:
            lines += [f"## {_HEADS[severity]}", ""]
            for finding in found:
                lines += _section(finding)
    return "\n".join(lines).rstrip() + "\n"


def _section(finding: Finding) -> list[str]:
    remark = finding.remark
    rows = (("How much", remark.much), ("Likely cause", remark.cause), ("Try next", remark.next))
    return [
        f"### {_plain(remark.what)}",
        "",
        f"Item {finding.item}, `{_code(finding.call)}` ({_plain(finding.scenario)})",
        "",
        *(f"- **{name}**: {_plain(text)}" for name, text in rows if text),
        "",
    ]


def _code(text: str) -> str:
    return flat(text.replace("`", "'"))


def _plain(text: str) -> str:
    """On one line, and without what Markdown, HTML or a terminal would take for its own."""
    for character in "\\`*_[]<>#|":
        text = text.replace(character, f"\\{character}")
    return flat(text)
