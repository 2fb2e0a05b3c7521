"""By which name a reporter is asked for, how it renders, and how its file should end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from faultkit.agents.report.github import render_github
from faultkit.agents.report.json import render_json
from faultkit.agents.report.junit import render_junit
from faultkit.agents.report.markdown import render_markdown
from faultkit.agents.report.pretty import render_pretty, render_quiet
from faultkit.agents.report.sarif import render_sarif
from faultkit.agents.report.tap import render_tap
from faultkit.agents.result import Results


class Reporter(NamedTuple):
    render: Callable[[Results], str]
    suffix: str


def _html(results: Results) -> str:
    # By far the largest renderer, and most runs do without it.
    from faultkit.agents.report.html import render_html

    return render_html(results)


REPORTERS: Mapping[str, Reporter] = {
    "pretty": Reporter(render_pretty, ".txt"),
    "quiet": Reporter(render_quiet, ".txt"),
    "json": Reporter(render_json, ".json"),
    "junit": Reporter(render_junit, ".xml"),
    "markdown": Reporter(render_markdown, ".md"),
    "html": Reporter(_html, ".html"),
    "sarif": Reporter(render_sarif, ".sarif"),
    "tap": Reporter(render_tap, ".tap"),
    "github": Reporter(render_github, ".txt"),
}
