"""The fidelity card as SVG: one strip for each check, drawn from plain values.

On a strip the band is the allowed range, the dashed line the setting, the dot the measured value, the whisker
the spread of single values. It follows the reader's light or dark scheme.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from bench.checks import Check
from bench.tables import figure

_WIDTH = 980
_MARGIN = 32
_HEAD = 104
_GROUP = 38
_ROW = 34
_FOOT = 52

_LABEL_X = _MARGIN + 12
_ASKED_X = 318
_MEASURED_X = 448
_STRIP_X, _STRIP_WIDTH = 618, 180
_VALUE_X = 884
_PILL_X, _PILL_WIDTH = 896, 52

# Classes instead of CSS variables, because many SVG viewers support only classes.
_STYLE = """
  text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
  text, .ink { fill: #1b2430 }
  .paper { fill: #ffffff; stroke: #e3e8ee }
  .rule { stroke: #e3e8ee }
  .lane { fill: #f0f3f6 }
  .band { fill: #cdebdd }
  .asked { stroke: #5d6b7a; stroke-dasharray: 2 2 }
  .dot { fill: #2557d6 }
  .whisker { stroke: #2557d6; stroke-width: 2 }
  .dot.bad { fill: #c0392b }
  .whisker.bad { stroke: #c0392b }
  .pill { fill: #d4efe3 }
  .pill.bad { fill: #f9dcd7 }
  .title { font-size: 23px; font-weight: 650 }
  .sub { font-size: 12.5px; fill: #5d6b7a }
  .group { font-size: 13px; font-weight: 620 }
  .cell { font-size: 12px; font-variant-numeric: tabular-nums }
  .head { font-size: 10.5px; fill: #5d6b7a; letter-spacing: .04em }
  .end { text-anchor: end }
  .word { font-size: 10.5px; font-weight: 700; text-anchor: middle; letter-spacing: .05em; fill: #12704f }
  .word.bad { fill: #a93226 }
  @media (prefers-color-scheme: dark) {
    text, .ink { fill: #e6ebf1 }
    .paper { fill: #12171e; stroke: #28313c }
    .rule { stroke: #28313c }
    .lane { fill: #1c242d }
    .band { fill: #17402f }
    .asked { stroke: #95a3b3 }
    .dot { fill: #86a9ff }
    .whisker { stroke: #86a9ff }
    .dot.bad { fill: #ff8a7a }
    .whisker.bad { stroke: #ff8a7a }
    .pill { fill: #17402f }
    .pill.bad { fill: #4d211c }
    .sub, .head { fill: #95a3b3 }
    .word { fill: #4cc79b }
    .word.bad { fill: #ff8a7a }
  }
"""


@dataclass(frozen=True, slots=True)
class Scale:
    """Map values of a check to points on the strip; values outside are drawn at the edge."""

    low: float
    high: float

    def x(self, value: float) -> float:
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(_STRIP_X + share * _STRIP_WIDTH, 1)


def scale_of(check: Check) -> Scale:
    """Return a range with the bounds, the ideal and the value. A long whisker may be cut, a bound may not."""
    points = [bound for bound in (*check.allowed, check.wanted, check.value) if bound is not None]
    low, high = min(points), max(points)
    pad = (high - low) * 0.25 or abs(high) * 0.25 or 1.0
    return Scale(low - pad, high + pad)


def draw_card(title: str, subtitle: str, checks: Sequence[Check]) -> str:
    body: list[str] = []
    y = float(_HEAD)
    for group, rows in groupby(checks, key=lambda check: check.group):
        body.append(_text(_MARGIN, y + 24, "group", group))
        y += _GROUP
        for check in rows:
            body += _draw_row(check, y)
            y += _ROW
    height = y + _FOOT
    judged = [check for check in checks if check.judged]
    met = sum(check.inside for check in judged)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height:g}" '
            f'viewBox="0 0 {_WIDTH} {height:g}" role="img" aria-label="{escape(title)}">',
            f"<style>{_STYLE}</style>",
            f'<rect x=".5" y=".5" width="{_WIDTH - 1}" height="{height - 1:g}" rx="14" class="paper"/>',
            _text(_MARGIN, 44, "title", title),
            _text(_MARGIN, 66, "sub", subtitle),
            _text(_WIDTH - _MARGIN, 44, "title end", f"{met}/{len(judged)}"),
            _text(_WIDTH - _MARGIN, 66, "sub end", "targets met"),
            *_draw_headings(),
            *body,
            *_draw_legend(y + 30),
            "</svg>",
            "",
        ]
    )


def _draw_headings() -> list[str]:
    y = _HEAD - 8
    return [
        _text(_LABEL_X, y, "head", "CHECK"),
        _text(_ASKED_X, y, "head", "REQUESTED"),
        _text(_MEASURED_X, y, "head", "MEASURED"),
        _text(_STRIP_X, y, "head", "AGAINST WHAT IS ALLOWED"),
        _line(_MARGIN, y + 8, _WIDTH - _MARGIN, y + 8, "rule"),
    ]


def _draw_row(check: Check, y: float) -> list[str]:
    base = y + 21
    value = f"{figure(check.value)} {check.unit}".rstrip()
    return [
        _text(_LABEL_X, base, "cell", check.label),
        _text(_ASKED_X, base, "cell", check.requested),
        _text(_MEASURED_X, base, "cell", check.measured),
        *_draw_strip(check, y + 17),
        _text(_VALUE_X, base, "cell end", value),
        *_draw_pill(check, y + 7),
    ]


def _draw_strip(check: Check, middle: float) -> list[str]:
    if check.wanted is None and check.allowed == (None, None):
        return []
    scale = scale_of(check)
    parts = [_bar(_STRIP_X, middle - 7, _STRIP_WIDTH, 14, "lane")]
    low, high = check.allowed
    if low is not None or high is not None:
        left = scale.x(scale.low if low is None else low)
        right = scale.x(scale.high if high is None else high)
        parts.append(_bar(left, middle - 7, right - left, 14, "band"))
    if check.wanted is not None:
        x = scale.x(check.wanted)
        parts.append(_line(x, middle - 10, x, middle + 10, "asked"))
    bad = "" if check.inside else " bad"
    if check.spread is not None:
        left, right = (scale.x(end) for end in check.spread)
        parts.append(_line(left, middle, right, middle, f"whisker{bad}"))
        parts += [
            _line(x, middle - 4, x, middle + 4, f"whisker{bad}")
            for x, end in zip((left, right), check.spread, strict=True)
            # No cap if the whisker extends beyond the strip.
            if scale.low <= end <= scale.high
        ]
    parts.append(f'<circle cx="{scale.x(check.value)}" cy="{middle}" r="4.5" class="dot{bad}"/>')
    return parts


def _draw_pill(check: Check, top: float) -> list[str]:
    if not check.judged:
        return []
    bad = "" if check.inside else " bad"
    return [
        _bar(_PILL_X, top, _PILL_WIDTH, 20, f"pill{bad}", radius=10),
        _text(_PILL_X + _PILL_WIDTH / 2, top + 14, f"word{bad}", check.word),
    ]


def _draw_legend(y: float) -> list[str]:
    return [
        _bar(_MARGIN, y - 9, 22, 11, "band"),
        _text(_MARGIN + 30, y, "sub", "allowed"),
        _line(126, y - 11, 126, y + 3, "asked"),
        _text(136, y, "sub", "requested"),
        f'<circle cx="218" cy="{y - 4:g}" r="4.5" class="dot"/>',
        _text(230, y, "sub", "measured"),
        _line(306, y - 4, 330, y - 4, "whisker"),
        _text(338, y, "sub", "1st to 99th percentile of single messages"),
        _text(_WIDTH - _MARGIN, y, "sub end", "rows without a mark are told, not judged"),
    ]


def _text(x: float, y: float, css: str, content: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{css}">{escape(content)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, css: str) -> str:
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class="{css}"/>'


def _bar(x: float, y: float, width: float, height: float, css: str, radius: float = 4) -> str:
    size = f'width="{width:g}" height="{height:g}" rx="{radius:g}"'
    return f'<rect x="{x:g}" y="{y:g}" {size} class="{css}"/>'
