"""By which extension of a file a report of experiments is rendered how."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from faultkit.chaos.report.junit import render_chaos_junit
from faultkit.chaos.report.markdown import render_chaos_markdown
from faultkit.chaos.report.model import ChaosReport
from faultkit.chaos.report.text import render_chaos_text


def _html(report: ChaosReport) -> str:
    # By far the largest renderer, and most runs do without it.
    from faultkit.chaos.report.html import render_chaos_html

    return render_chaos_html(report)


RENDERERS: Mapping[str, Callable[[ChaosReport], str]] = {
    ".md": render_chaos_markdown,
    ".html": _html,
    ".xml": render_chaos_junit,
    ".txt": lambda report: render_chaos_text(report) + "\n",
}
EXTENSIONS = (*RENDERERS, ".json")


def journal_json(report: ChaosReport, journals: Sequence[Mapping[str, Any]]) -> str:
    """The journal of one experiment as it is; those of a game day under their title."""
    if len(journals) == 1 and not report.not_run:
        document: Mapping[str, Any] = journals[0]
    else:
        document = {
            "gameday": report.title,
            "held": report.held,
            "not_run": list(report.not_run),
            "journals": list(journals),
        }
    return json.dumps(document, ensure_ascii=False, indent=2, default=repr) + "\n"
