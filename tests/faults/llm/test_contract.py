"""Laws that every fault of LLM APIs keeps, on every dialect, streamed and whole, with text and with calls."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from faultkit.faults import LLM_FAULTS
from faultkit.faults.dialects.dialect_table import DIALECTS
from faultkit.faults.dialects.llm_events import Chunk, End, Head
from faultkit.faults.dialects.turn import ToolCall
from faultkit.faults.llm_fault import LlmChain, LlmFault
from tests.faults.llm.answers import CALLS, PIECES, answer_to, asked, through

FORMS: list[tuple[bool, tuple[str, ...], tuple[ToolCall, ...]]] = [
    (True, PIECES, ()),
    (True, PIECES, CALLS),
    (True, (), CALLS),
    (True, (), ()),
    (False, PIECES, ()),
    (False, PIECES, CALLS),
    (False, (), ()),
]


@pytest.mark.parametrize("kind", LLM_FAULTS)
@pytest.mark.parametrize("name", DIALECTS)
def test_an_answer_has_one_head_and_one_end_and_time_goes_on(kind: str, name: str) -> None:
    for streamed, pieces, calls in FORMS:
        request = asked(name, streamed=streamed, tools=True)
        seen = through(LLM_FAULTS[kind](), request, pieces, calls)
        again = through(LLM_FAULTS[kind](), request, pieces, calls)
        assert seen.events == again.events
        assert isinstance(seen.events[0], Head)
        assert isinstance(seen.events[-1], End)
        assert {type(event) for event in seen.events[1:-1]} <= {Chunk}
        assert all(before.at <= after.at for before, after in pairwise(seen.events))


@pytest.mark.parametrize("kind", LLM_FAULTS)
@pytest.mark.parametrize("name", DIALECTS)
def test_a_fault_that_does_not_act_leaves_every_byte(kind: str, name: str) -> None:
    for streamed, pieces, calls in FORMS:
        request = asked(name, streamed=streamed)
        seen = through(LLM_FAULTS[kind](), request, pieces, calls)
        if not seen.notes:
            before = answer_to(request, pieces, calls)
            assert seen.raw == b"".join(event.raw for event in before if isinstance(event, Chunk))


@pytest.mark.parametrize("kind", LLM_FAULTS)
def test_every_fault_acts_on_a_stream_of_every_dialect_that_can_have_it(kind: str) -> None:
    settings: dict[str, Any] = {"replace_text": {"pattern": "three"}, "replace_prompt": {"pattern": "H"}}
    fault: LlmFault = LLM_FAULTS[kind](**settings.get(kind, {}))
    acted = {
        name
        for name in DIALECTS
        if through(
            fault, asked(name, tools=True, stream_options={"include_usage": True}), PIECES, CALLS
        ).notes
    }
    without = {
        "missing_event_name": {"openai_chat", "gemini", "ollama"},
        "wrong_call_id": {"gemini", "ollama"},
        "duplicate_call_id": {"gemini", "ollama"},
    }
    assert acted == set(DIALECTS) - without.get(kind, set())


def test_a_chain_without_filters_changes_nothing() -> None:
    for name in DIALECTS:
        events = answer_to(asked(name))
        chain = LlmChain([], is_array=name == "gemini")
        assert [out for event in events for out in chain.feed(event)] == events
