"""The reporters of `fault test`, by their names on the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from faultkit.agents.report.ci_formats import render_github, render_junit, render_sarif, render_tap
from faultkit.agents.report.suite_json import render_json
from faultkit.agents.report.suite_text import render_markdown, render_pretty, render_quiet
from faultkit.agents.suite.results import SuiteResults


class Reporter(NamedTuple):
    """A renderer of results, and the extension of its files."""

    render: Callable[[SuiteResults], str]
    suffix: str


def _render_html(results: SuiteResults) -> str:
    # Imported here because it is by far the largest renderer, and most runs do not need it.
    from faultkit.agents.report.suite_page import render_html

    return render_html(results)


REPORTERS: Mapping[str, Reporter] = {
    "pretty": Reporter(render_pretty, ".txt"),
    "quiet": Reporter(render_quiet, ".txt"),
    "json": Reporter(render_json, ".json"),
    "junit": Reporter(render_junit, ".xml"),
    "markdown": Reporter(render_markdown, ".md"),
    "html": Reporter(_render_html, ".html"),
    "sarif": Reporter(render_sarif, ".sarif"),
    "tap": Reporter(render_tap, ".tap"),
    "github": Reporter(render_github, ".txt"),
}
