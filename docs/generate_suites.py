"""Writes the ranking of the shipped agents into suites.md: `python docs/generate_suites.py`."""

from __future__ import annotations

import re
from pathlib import Path

from faultkit.agents.kinds.scripted import SHIPPED_AGENTS
from faultkit.agents.ranking import AgentStanding, rank_agents
from faultkit.agents.suite.run_options import RunOptions, Selection, select
from faultkit.agents.suite_file import load_suite
from faultkit.agents.suite_runner import run_suites_blocking

DOCS = Path(__file__).parent
PAGE = DOCS / "suites.md"
BATTERY = DOCS.parent / "examples" / "suites" / "battery.yml"
_BETWEEN = re.compile(r"(<!-- ranking: [^\n]*-->\n).*?(<!-- end of ranking -->)", re.DOTALL)
_HEAD = """\
| agent | score | gate | goal | honest | wasted | twice | early |
|---|---:|---:|---:|---:|---:|---:|---:|
"""


def suites_page() -> str:
    """Return the page with the current ranking."""
    table = _HEAD + "".join(map(_row, standings()))
    return _BETWEEN.sub(lambda found: found[1] + table + found[2], PAGE.read_text("utf-8"))


def standings() -> list[AgentStanding]:
    rows = []
    for kind in SHIPPED_AGENTS:
        chosen = select([load_suite(BATTERY, variables={"agent": kind})], Selection())
        rows += [(kind, row) for row in run_suites_blocking(chosen, RunOptions()).results.rows]
    return rank_agents(rows)


def _row(one: AgentStanding) -> str:
    figures = (one.passed, one.goals, one.honest, one.wasted_calls, one.duplicate_effects, one.early_calls)
    return f"| `{one.agent}` | {one.score:.1f} | {' | '.join(map(str, figures))} |\n"


if __name__ == "__main__":
    PAGE.write_text(suites_page(), "utf-8")
