"""docs/llm-client-behaviour.md is what its generator writes from the data file."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

from faultkit.llm.profile.judging import RULES

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_is_written_from_the_data_and_has_the_silent_failures() -> None:
    generator: dict[str, Any] = runpy.run_path(str(DOCS / "generate_llm_clients.py"))
    data = json.loads((DOCS / "llm-client-behaviour.json").read_text("utf-8"))
    page = (DOCS / "llm-client-behaviour.md").read_text("utf-8")
    assert generator["page_of"](data) == page, "run `python docs/generate_llm_clients.py`"
    assert set(data) == {client.program for client in generator["CLIENTS"]}
    known = {"coped", *(rule.name for rule in RULES)}
    for entry in data.values():
        assert set(entry) == {"title", "runtime", "versions", "columns"}
        for cells in entry["columns"].values():
            assert {name for cell in cells.values() for name in cell["verdict"].split(", ")} <= known
    for program in ("python_openai.py", "python_anthropic.py"):
        columns = data[program]["columns"]
        assert columns["streamed, defaults"]["clean_end"]["verdict"] == "took half an answer for a whole one"
        with_timeout = columns["streamed, timeout of 2 s"]
        assert with_timeout["llm_keep_alive_only"]["verdict"] == "never gave up"
        assert with_timeout["token_stall:never"]["verdict"] == "coped"
