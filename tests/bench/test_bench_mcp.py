"""Verdicts on MCP servers, their section of the document, and the checks of the raw client."""

from __future__ import annotations

import json
import os
import threading

import pytest
from bench.load import LoadError
from bench.machine import Machine
from bench.mcp import CELLS, HEADING, TARGETS, Result, figure_table, medians, section, verdict_table
from bench.mcp_cells import GATEWAY
from bench.mcp_client import ECHO, TEXT, StdioClient, call_template
from bench.mcp_servers import MOCK, SDK
from bench.options import with_section


def _result(ours: float, sdk: float, added_ms: float) -> Result:
    result = Result(Machine(2, "Linux 6.1", "3.11.7", 1024), rounds=3)
    result.figures = {
        "stdio-50": {
            name: {"per_s": value, "cpu_us": 1.0, "client_us": 1.0}
            for name, value in ((MOCK, ours), (SDK, sdk))
        },
        "added-stdio": {MOCK: {"direct_ms": 0.1, "through_ms": 0.1 + added_ms, "added_ms": added_ms}},
        "idle": {GATEWAY: {"sessions": 1000, "answering": 999, "kb": 9.0}},
    }
    return result


def test_more_calls_are_better_and_less_added_time_is() -> None:
    words = {target.label: word for target, _, word in _result(10_000, 1000, 0.3).verdicts()}
    assert words["calls/s over stdio, 50 in flight, × SDK"] == "PASS"
    assert words["added to a stdio call, mock behind, ms"] == "PASS"
    assert words["idle sessions of the gateway that answer"] == "MISS"
    assert words["calls/s over HTTP, 50 in flight, × SDK"] == "not measured"
    words = {target.label: word for target, _, word in _result(9_990, 1000, 0.31).verdicts()}
    assert words["calls/s over stdio, 50 in flight, × SDK"] == "MISS"
    assert words["added to a stdio call, mock behind, ms"] == "MISS"


def test_every_target_names_a_cell_a_subject_and_a_metric_that_exist() -> None:
    cells = {cell.name: cell for cell in CELLS}
    for target in TARGETS:
        cell = cells[target.cell]
        assert target.subject in cell.subjects
        assert target.peer is None or target.peer in cell.subjects
        assert target.metric in {metric for metric, _ in cell.columns}


def test_a_speed_is_shown_with_how_many_times_the_peers_it_is() -> None:
    cell = next(cell for cell in CELLS if cell.name == "stdio-50")
    head, rows = figure_table(_result(30_000, 1000, 0.1), cell)
    assert head[-1] == "×"
    assert [(row[0], row[1], row[-1]) for row in rows] == [(MOCK, "30,000", "30.0"), (SDK, "1,000", "1.00")]


def test_the_verdict_table_says_on_which_side_of_its_limit_a_figure_must_be() -> None:
    _, rows = verdict_table(_result(30_000, 1000, 0.1))
    assert list(rows[0]) == ["calls/s over stdio, 50 in flight, × SDK", "≥ 10", "30.0", "PASS"]
    assert list(rows[3]) == ["added to a stdio call, mock behind, ms", "≤ 0.3", "0.100", "PASS"]


def test_medians_are_taken_over_rounds_and_skip_what_was_never_measured() -> None:
    rounds = [{"x": 1.0}, {"x": 9.0}, {"x": 3.0}]
    assert medians({"idle": {MOCK: rounds, SDK: []}}) == {"idle": {MOCK: {"x": 3.0}}}


def test_the_section_is_renewed_without_touching_those_beside_it() -> None:
    new = section(_result(30_000, 1000, 0.1))
    document = f"# B\n\n{HEADING}\n\nold\n\n## HTTP load engines\n\nkept\n"
    assert with_section(document, new) == f"# B\n\n## HTTP load engines\n\nkept\n\n{new}\n"


def _client_of(replies: list[dict[str, object]]) -> StdioClient:
    """A server that welcomes, and then gives these replies, whatever it is asked."""
    to_server, from_client = os.pipe()[::-1]
    from_server, to_client = os.pipe()

    def serve() -> None:
        with os.fdopen(from_client, "rb") as asked, os.fdopen(to_client, "wb", 0) as out:
            asked.readline()
            out.write(b'{"jsonrpc":"2.0","id":"init","result":{}}\n')
            asked.readline()
            for reply in replies:
                asked.readline()
                out.write(json.dumps(reply).encode() + b"\n")

    threading.Thread(target=serve, daemon=True).start()
    return StdioClient(to_server, from_server)


def _reply(id: int, text: str = TEXT) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}}


def test_the_raw_client_counts_only_replies_that_are_right() -> None:
    client = _client_of([_reply(0), _reply(7), _reply(1, "else")])
    assert client.call() > 0
    with pytest.raises(LoadError, match="call 1 got"):
        client.call()
    with pytest.raises(LoadError, match="call 1 got"):
        client.call()


def test_each_call_says_something_of_its_own_if_it_is_to_be_echoed() -> None:
    call = json.loads(call_template("legacy", ECHO) % (7, 7))
    assert call["params"] == {"name": "echo", "arguments": {"message": "call 7"}}
    assert ECHO.answer(7) == '{"message":"call 7"}'
    same = json.loads(call_template("modern") % 7)
    assert (same["id"], same["params"]["arguments"]) == (7, {"text": "Ahoy"})
    assert "_meta" in same["params"]
