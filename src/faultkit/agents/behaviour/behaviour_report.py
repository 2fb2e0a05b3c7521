"""The judgement of a recording as plain data, as text, as Markdown and as an HTML page. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from faultkit import __version__
from faultkit.agents.behaviour.behaviour import ALL_CHECKS, Behaviour, CheckVerdict, Verdict
from faultkit.agents.behaviour.checks import CheckName
from faultkit.agents.behaviour.met_faults import MetFault
from faultkit.agents.behaviour.recorded_run import RecordedCall
from faultkit.base.numbers import NO_FIGURE, duration
from faultkit.base.text import and_list, counted, escaped_json, printable_line
from faultkit.report import markdown
from faultkit.report.html_page import badge_markup, render_page
from faultkit.report.page_model import (
    Badge,
    Block,
    Callout,
    Card,
    Overview,
    Page,
    Section,
    Table,
    VerdictClass,
)
from faultkit.report.text_table import text_table

MEANINGS: dict[CheckName, str] = {
    "loops": "the same calls again and again, with the same results",
    "repeated-writes": "a call with an effect, sent again after its answer was lost",
    "ignored-retry-after": "calls during a wait that an answer asked for",
    "calls-after-cancel": "a call with an effect, sent again after it was cancelled",
    "wasted-calls": "calls of tools that are gone, or that failed in the same way before",
    "canaries": "values that a fault planted, passed on in arguments",
}
_CHECK_HEADS = ("Check", "Result", "What it looks for")
_FAULT_HEADS = ("Call", "Fault", "Tool", "The agent got", "After", "Recovered after", "Calls", "By")
_FAULT_NUMERIC = (0, 4, 5, 6)
_MOST_SHOWN = 20
"""Findings and faults in a terminal; files have all of them."""
_WORDS: dict[CheckVerdict, str] = {"found": "found", "unknown": "unknown", "none": "none"}
_BADGES: dict[CheckVerdict, Badge] = {
    "found": Badge("failed", "✗", "found"),
    "unknown": Badge("inconclusive", "?", "unknown"),
    "none": Badge("passed", "✓", "none"),
}
_UNJUDGED = Badge("not-exercised", "–", "not exercised")
_NO_VERDICT = Badge("unfinished", "–", "no verdict")
_NOTHING_FAILED = Badge("not-exercised", "–", "nothing failed")
_CALL_HEADS = ("Call", "At", "Tool", "Took", "The agent got", "Fault")
_CLASSES: dict[Verdict, VerdictClass] = {
    "findings": "failed",
    "not_exercised": "not-exercised",
    "unknown": "inconclusive",
    "clean": "passed",
}
_FAULTS_TITLE = "Faults that were met"


@dataclass(frozen=True, slots=True)
class _Texts:
    """The parts that all formats for people share."""

    summary: str
    notes: tuple[str, ...]
    checks: Sequence[Sequence[str]]
    faults: Sequence[Sequence[str]]


def to_document(behaviour: Behaviour) -> dict[str, Any]:
    """Return the judgement as plain data."""
    run = behaviour.run
    return {
        "recording": run.source,
        "verdict": behaviour.verdict,
        "headline": behaviour.headline,
        "calls": len(run.calls),
        "sessions": run.sessions,
        "duration_ms": round(run.duration_ms, 3),
        "rules": [{"name": name, "fault": kind, "met": name in run.met} for name, kind in run.rules.items()],
        "checks": {
            check: {
                "verdict": behaviour.verdict_of(check),
                "exercised": behaviour.is_exercised(check),
                "findings": len(behaviour.of(check)),
            }
            for check in ALL_CHECKS
        },
        "findings": [
            {
                "check": finding.check,
                "certain": finding.is_certain,
                "text": finding.text,
                "calls": list(finding.calls),
            }
            for finding in behaviour.findings
        ],
        "faults": [_fault_document(fault) for fault in behaviour.faults],
        "trace": [
            {
                "call": call.number,
                "session": call.facts.session,
                "tool": call.traced.tool,
                "start_ms": round(call.traced.start_ms, 3),
                "end_ms": None if call.traced.end_ms is None else round(call.traced.end_ms, 3),
                "outcome": call.traced.outcome,
                "fault": call.traced.fault or None,
            }
            for call in run.calls
        ],
        "notes": list(_notes(behaviour)),
    }


def _fault_document(fault: MetFault) -> dict[str, Any]:
    fields = asdict(fault)
    fields["misleading"] = fields.pop("is_misleading")
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in fields.items()}


def to_json(behaviour: Behaviour) -> str:
    """Return the judgement as JSON."""
    return escaped_json(json.dumps(to_document(behaviour), indent=2, ensure_ascii=False)) + "\n"


def to_text(behaviour: Behaviour, width: int) -> str:
    """Return the judgement for a terminal of this width."""
    texts = _texts(behaviour)
    lines = [f"{printable_line(behaviour.run.source)}: {behaviour.headline}", texts.summary]
    lines += [f"note: {note}" for note in texts.notes]
    lines += ["", *text_table(_CHECK_HEADS, texts.checks, width)]
    for check in ALL_CHECKS:
        found = behaviour.of(check)
        if found:
            lines += ["", f"{check}:"]
            lines += [f"  {'✗' if one.is_certain else '?'} {one.text}" for one in found[:_MOST_SHOWN]]
            lines += _rest(len(found))
    if texts.faults:
        shown = texts.faults[:_MOST_SHOWN]
        lines += ["", f"{_FAULTS_TITLE}:", *text_table(_FAULT_HEADS, shown, width)]
        lines += _rest(len(texts.faults))
    return "\n".join(lines) + "\n"


def _rest(number: int) -> list[str]:
    """Return the line in place of what is not shown, if there is anything."""
    return [f"  … and {number - _MOST_SHOWN:,} more: --json has all"] if number > _MOST_SHOWN else []


def to_markdown(behaviour: Behaviour) -> str:
    """Return the judgement as Markdown."""
    texts = _texts(behaviour)
    lines = [
        f"# {_escaped(_sentence(behaviour.headline)[:-1])}",
        "",
        f"{markdown.code_span(behaviour.run.source)}. {_escaped(texts.summary)}",
        *(f"\n{_escaped(_sentence(note))}" for note in texts.notes),
        "",
        *_markdown_table(_CHECK_HEADS, texts.checks),
    ]
    for check in ALL_CHECKS:
        found = behaviour.of(check)
        if found:
            open_end = " (unknown)"
            told = (f"{_escaped(one.text)}{'' if one.is_certain else open_end}" for one in found)
            lines += ["", f"## {check}", "", *markdown.bullets(told)]
    if texts.faults:
        lines += ["", f"## {_FAULTS_TITLE}", ""]
        lines += _markdown_table(_FAULT_HEADS, texts.faults, _FAULT_NUMERIC)
    return "\n".join(lines) + "\n"


def _markdown_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[int] = ()
) -> list[str]:
    return markdown.table_lines(heads, [[_escaped(cell) for cell in row] for row in rows], numeric)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _escaped(text: str) -> str:
    return markdown.escape(text, "\\`*_[]|")


def to_html(behaviour: Behaviour) -> str:
    """Return the judgement as one HTML file."""
    return render_page(behaviour_page(behaviour))


def behaviour_page(behaviour: Behaviour) -> Page:
    """Return the page of a judgement."""
    texts = _texts(behaviour)
    rows = [(check, badge_markup(_badge(behaviour, check)), meaning) for check, meaning in MEANINGS.items()]
    return Page(
        kind="gateway report",
        title=printable_line(behaviour.run.source),
        headline=_sentence(behaviour.headline)[:-1],
        verdict_class=_CLASSES[behaviour.verdict],
        tool=f"faultkit {__version__}",
        footer="All sessions of the recording count as one agent. Calls are numbered by their start.",
        facts=[
            ("Calls", f"{len(behaviour.run.calls):,}"),
            ("Sessions", f"{behaviour.run.sessions:,}"),
            ("Took", duration(behaviour.run.duration_ms)),
        ],
        notes=[Callout("Note", [_sentence(printable_line(note))]) for note in texts.notes],
        overview=Overview(Table(_CHECK_HEADS, rows, "Overview of all checks", kind="overview"), "Checks"),
        sections=list(_sections(behaviour, texts)),
    )


def _sections(behaviour: Behaviour, texts: _Texts) -> Iterator[Section]:
    cards = []
    for check in ALL_CHECKS:
        found = behaviour.of(check)
        if found:
            rows = [
                (
                    _ranges(one.calls),
                    printable_line(one.text),
                    "" if one.is_certain else "unknown",
                )
                for one in found
            ]
            table: Block = Table(("Calls", "Finding", ""), rows, f"Findings of {check}")
            cards.append(Card(check, _badge(behaviour, check), [table]))
    yield Section("Findings", cards, if_empty="No check found anything.")
    if texts.faults:
        table = Table(_FAULT_HEADS, texts.faults, _FAULTS_TITLE, numeric=_FAULT_NUMERIC)
        yield Section(_FAULTS_TITLE, [Card("Recovery", _recovery_badge(behaviour), [table])])

    calls = Table(
        _CALL_HEADS, [_call_cells(call) for call in behaviour.run.calls], "All calls", numeric=(0, 1, 3)
    )
    yield Section("Calls", [Card("All calls", _NO_VERDICT, [calls], is_folded=True)])


def _badge(behaviour: Behaviour, check: CheckName) -> Badge:
    """Return the badge of a check. Nothing found proves nothing if there was no occasion for it."""
    verdict = behaviour.verdict_of(check)
    return _UNJUDGED if verdict == "none" and not behaviour.is_exercised(check) else _BADGES[verdict]


def _ranges(numbers: Sequence[int]) -> str:
    """Return numbers in order as text, with those in a row as a range: `1, 4–9`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ", ".join("–".join(map(str, part)) for part in parts)


def _call_cells(call: RecordedCall) -> tuple[str, ...]:
    traced = call.traced
    return (
        str(call.number),
        duration(traced.start_ms),
        printable_line(traced.tool),
        "never" if traced.end_ms is None else duration(traced.end_ms - traced.start_ms),
        traced.outcome.replace("_", " "),
        printable_line(traced.fault),
    )


def _recovery_badge(behaviour: Behaviour) -> Badge:
    failures = [fault for fault in behaviour.faults if fault.needs_recovery]
    if not failures:
        return _NOTHING_FAILED
    open_ones = sum(fault.recovery_ms is None for fault in failures)
    if not open_ones:
        return Badge("passed", "✓", "all recovered")
    return Badge("inconclusive", "?", f"{open_ones} of {len(failures)} without a later success")


def _texts(behaviour: Behaviour) -> _Texts:
    run = behaviour.run
    faulted = len(behaviour.faults)
    summary = (
        f"{counted(len(run.calls), 'call')} in {counted(run.sessions, 'session')} over "
        f"{duration(run.duration_ms)}; {counted(faulted, 'call')} met a fault."
    )
    checks = [(check, _result(behaviour, check), meaning) for check, meaning in MEANINGS.items()]
    return _Texts(
        summary, tuple(_notes(behaviour)), checks, [_fault_cells(fault) for fault in behaviour.faults]
    )


def _result(behaviour: Behaviour, check: CheckName) -> str:
    verdict = behaviour.verdict_of(check)
    count = len(behaviour.of(check))
    if verdict == "none" and not behaviour.is_exercised(check):
        return _UNJUDGED.label
    return f"{count:,} {_WORDS[verdict]}" if count else _WORDS[verdict]


def _notes(behaviour: Behaviour) -> Iterator[str]:
    yield from behaviour.run.warnings
    if behaviour.not_exercised and behaviour.headline != behaviour.not_exercised:
        yield behaviour.not_exercised
    elsewhere = sorted(behaviour.run.met - {fault.rule for fault in behaviour.faults})
    if elsewhere:
        yield f"{and_list(elsewhere)} acted on requests that are no calls of tools"


def _fault_cells(fault: MetFault) -> tuple[str, ...]:
    got = fault.outcome.replace("_", " ")
    if fault.outcome == "ok" and fault.is_misleading:
        got = "ok, with changed values"
    recovered = "never" if fault.needs_recovery else NO_FIGURE
    if fault.recovery_ms is not None:
        recovered = duration(fault.recovery_ms)
    return (
        str(fault.call),
        printable_line(fault.rule),
        printable_line(fault.tool),
        got,
        "never" if fault.took_ms is None else duration(fault.took_ms),
        recovered,
        NO_FIGURE if fault.steps is None else str(fault.steps),
        NO_FIGURE if fault.path is None else fault.path.replace("_", " "),
    )


WRITERS: Mapping[str, Callable[[Behaviour], str]] = {
    ".html": to_html,
    ".md": to_markdown,
    ".json": to_json,
}
"""Writers by the suffix of the file."""
