"""The card of one test on the HTML page: its verdict and why, its figures, and each run as it went."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from faultkit.agents.report.numbers import decisive, plain, recovery_numbers
from faultkit.agents.report.pretty import SIGNS
from faultkit.agents.report.timeline import timeline
from faultkit.agents.report.words import MEANINGS, WORDS, Shown, shown, told, visible, where
from faultkit.agents.result import Row, Run
from faultkit.base.figures import NOTHING, duration
from faultkit.base.numerals import flat
from faultkit.report.markup import Markup, element
from faultkit.report.tables import table

KINDS: dict[Shown, str] = {
    "passed": "passed",
    "failed": "failed",
    "not_exercised": "not-exercised",
    "inconclusive": "inconclusive",
    "error": "failed",
    "skipped": "unfinished",
}
"""The classes of the style sheet."""

CARD_STYLE = """
.diff {
  margin: 0; padding: 10px 14px; border-radius: 8px; background: var(--soft); font-size: 13px;
  overflow-x: auto;
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
.more > summary { cursor: pointer; color: var(--mute); font-size: 13.5px; }
.more[open] > summary { margin-bottom: 10px; }
.last-word {
  margin: 0; padding: 2px 0 2px 14px; border-left: 3px solid var(--line); overflow-wrap: anywhere;
  white-space: pre-line;
}
.last-word cite { display: block; font-style: normal; font-size: 12.5px; color: var(--mute); }
.tiles dd { overflow-wrap: anywhere; }
.tiles .word { font-size: 17px; line-height: 1.35; padding-top: 4px; }
.facts dt { overflow-wrap: anywhere; }
.run { display: grid; grid-template-columns: minmax(0, 1fr); gap: 18px; }
"""
_LONGEST_REPLY = 600


def badge(verdict: Shown) -> Markup:
    """A sign beside the word: colour alone tells some readers nothing."""
    return element(
        "span",
        element("span", SIGNS[verdict], class_="sign", aria_hidden="true"),
        WORDS[verdict],
        class_=f"badge {KINDS[verdict]}",
    )


def card(number: int, row: Row, *, folded: bool) -> Markup:
    verdict = shown(row)
    return element(
        "details",
        element("summary", element("h3", flat(row.name)), badge(verdict)),
        element("div", *_inside(row), class_="inside"),
        class_=f"card {KINDS[verdict]}",
        id=f"test-{number}",
        open=not folded,
    )


def facts(pairs: Sequence[tuple[str, str]]) -> Markup:
    return element(
        "dl",
        *(element("div", element("dt", name), element("dd", value)) for name, value in pairs),
        class_="facts",
    )


def _inside(row: Row) -> Iterator[Markup | None]:
    message = told(row) or MEANINGS[shown(row)]
    yield element("p", message, class_="callout reasons")
    if row.diff:
        yield element("pre", visible(row.diff), class_="diff", tabindex="0")
    run = decisive(row)
    if run is not None:
        yield _run(run)
        yield from (_other_run(row.runs.index(each) + 1, each) for each in row.runs if each is not run)
    yield facts(list(_about(row)))


def _about(row: Row) -> Iterator[tuple[str, str]]:
    yield "At", where(row)
    if row.limit:
        yield "Limit", flat(row.limit)
    if row.rule:
        yield "Rule", row.rule
    if row.tags:
        yield "Tags", flat(", ".join(row.tags))
    share = row.passed_share
    if share is not None:
        low, high = (plain(round(100 * bound, 1)) for bound in share.interval)
        yield "Runs passed", f"{share.hits} of {share.total} (95 % confidence: {low} % to {high} %)"
    for name, value in row.details:
        yield flat(name), flat(plain(value))


def _run(run: Run) -> Markup:
    return element("div", _tiles(run), timeline(run), _last_word(run), _all_figures(run), class_="run")


def _other_run(number: int, run: Run) -> Markup:
    verdict = "" if run.gate is None else f", {WORDS[run.gate.verdict]}"
    return element(
        "details",
        element("summary", f"Run {number}, seed {flat(str(run.seed))}{verdict}"),
        _run(run),
        class_="more",
    )


def _tiles(run: Run) -> Markup:
    found = recovery_numbers(run)
    limit = found["limit"]
    tiles = (
        ("Detection", _time(found["time_to_detection_ms"]), limit == "require_clean_timeout"),
        ("Recovery", _time(found["time_to_recovery_ms"]), limit in ("max_recovery_ms", "recovered")),
        ("Detections", str(found["detections"]), False),
        ("Retries", str(found["retries"]), False),
        ("Calls", str(found["calls"]), False),
        ("Path", found["path"].replace("_", " "), False),
    )
    return element(
        "dl",
        *(
            element(
                "div",
                element("dt", name),
                element("dd", value, class_="word" if name == "Path" else None),
                class_="bad" if is_bad else None,
            )
            for name, value, is_bad in tiles
        ),
        class_="tiles",
    )


def _time(ms: float | None) -> str:
    return NOTHING if ms is None else duration(ms)


def _last_word(run: Run) -> Markup | None:
    text = visible(run.trace.reply.text.strip()) if run.trace.reply is not None else ""
    if not text:
        return None
    cut = text if len(text) <= _LONGEST_REPLY else f"{text[:_LONGEST_REPLY]}…"
    return element("blockquote", element("cite", "Last word"), cut, class_="last-word")


def _all_figures(run: Run) -> Markup:
    """Under the names that the JSON has, too."""
    groups: dict[str, dict[str, Any]] = {
        "recovery": recovery_numbers(run),
        "metrics": asdict(run.metrics),
        "tool_misuse": asdict(run.misuse),
    }
    rows = [
        (element("code", f"{group}.{name}"), _figure(value))
        for group, values in groups.items()
        for name, value in values.items()
    ]
    return element(
        "details",
        element("summary", "All figures"),
        table(("Figure", "Value"), rows, "All figures", kind="figures"),
        class_="more",
    )


def _figure(value: Any) -> str:
    return plain(value) or NOTHING
