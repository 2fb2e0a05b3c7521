"""A successful call of each tool, and the results that every client must get."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from faultkit.agent_tools.tool_catalog import AGENT_TOOLS, TOOLS

DEMO_APP = Path(__file__).parents[1] / "seed_000" / "app" / "app.py"


def calls_of(folder: Path, url: str) -> dict[str, dict[str, Any]]:
    """Return arguments by tool; `url` is that of a running app."""
    file = folder / "app.py"
    shutil.copy(DEMO_APP, file)
    snippet = {"snippet": DEMO_APP.read_text(), "lang": "python"}
    code: dict[str, dict[str, Any]] = {
        "fault_index_source_code": {"source_dir": str(folder), "lang": "python"},
        "fault_list_function_names": {"file": str(file)},
        "fault_extract_code_block": {"file": str(file), "func": "index"},
        "fault_score_performance": snippet,
        "fault_score_reliability": snippet,
        "fault_suggest_better_function_performance": {**snippet, "score": 0.3, "target_score": "0.95"},
        "fault_suggest_better_function_reliability": {**snippet, "score": "0.3"},
        "fault_suggest_service_level_objectives_slo": snippet,
        "fault_make_reliability_and_perf_changes": {"file": str(file)},
        "fault_function_reliability_deep_analysis": {"file": str(file), "func": "index"},
        "fault_review_code": {"path": str(folder)},
    }
    short = {"url": url, "duration": "200ms", "rps": 10, "timeout": 1, "baseline": False}
    impact = {name: short for name in TOOLS if name.endswith("_impact_scenario")}
    search = {
        "url": url,
        "vary": "faults.latency.mean=0..1ms",
        "slos": ["50% < 10s"],
        "rps": 100,
        "budget": "250",
        "timeout": 10,
    }
    return {**code, **impact, "fault_find_breaking_point": search}


def check_listed(names: list[str]) -> None:
    assert names == list(AGENT_TOOLS)
    assert len(names) == 21


def check(name: str, text: str, structured: Any) -> None:
    """Check a result: `text` is its only content, `structured` the same as data."""
    Draft202012Validator(TOOLS[name].output).validate(structured)
    if name == "fault_index_source_code":
        assert (text, structured["status"], structured["files"]) == ("done", "done", 1)
    elif name == "fault_list_function_names":
        assert structured == {"names": ["index"], "language": "python"}
    elif name.startswith("fault_suggest_better"):
        assert text.startswith("```diff\n")
    elif name.endswith("_impact_scenario"):
        assert text == structured["markdown"]
        assert text.startswith("# Scenarios Report\n")
        assert structured["figures"]["requests"] == 2
    elif name == "fault_find_breaking_point":
        assert text == structured["markdown"]
        assert structured["search"]["outcome"] == "holds"
    else:
        assert text[0] in "{["
