"""Faults of streams: where they end, what is broken, missing, twice or in the wrong order."""

from __future__ import annotations

import json

import pytest

from faultkit.faults.dialects.dialect_table import DIALECTS
from faultkit.faults.dialects.llm_events import End
from faultkit.faults.llm.answer_cut import AnswerCut
from faultkit.faults.llm.clean_end import CleanEnd
from faultkit.faults.llm.done_without_end import DoneWithoutEnd
from faultkit.faults.llm.dropped_delta import DroppedDelta
from faultkit.faults.llm.duplicate_delta import DuplicateDelta
from faultkit.faults.llm.error_event import ErrorEvent
from faultkit.faults.llm.malformed_event import MalformedEvent
from faultkit.faults.llm.missing_event_name import MissingEventName
from faultkit.faults.llm.no_finish import NoFinish
from faultkit.faults.llm.no_usage import NoUsage
from faultkit.faults.llm.reordered_delta import ReorderedDelta
from tests.faults.llm.answers import answer_to, asked, through

EACH = pytest.mark.parametrize("name", DIALECTS)


@EACH
def test_a_stream_ends_in_good_order_in_its_middle(name: str) -> None:
    seen = through(CleanEnd(after_tokens=2), asked(name))
    assert (seen.text, seen.finish, seen.end.how) == ("One two", None, "end")
    assert not any(chunk.has("end") for chunk in seen.chunks)
    assert through(CleanEnd(after_events=1), asked(name)).text == "One"


@EACH
def test_a_whole_answer_ends_behind_a_token(name: str) -> None:
    seen = through(CleanEnd(after_tokens=2), asked(name, streamed=False))
    assert (seen.raw[-7:], seen.end) == (b"One two", End(1.0))


@pytest.mark.parametrize(("reset", "how"), [(False, "cut"), (True, "reset")])
def test_the_connection_ends_in_the_middle_of_an_event(reset: bool, how: str) -> None:
    request = asked("ollama")
    seen = through(AnswerCut(reset=reset, after_events=1, after_tokens=0), request)
    before = [event.raw for event in answer_to(request)[1:3] if hasattr(event, "raw")]
    assert seen.raw == before[0] + before[1][: len(before[1]) // 2]
    assert seen.end.how == how


@EACH
def test_an_error_comes_after_200(name: str) -> None:
    seen = through(ErrorEvent(error="overloaded", message="busy", after_tokens=1), asked(name))
    assert (seen.text, seen.end.how) == ("One", "end")
    assert seen.chunks[-1].has("error")
    assert b"busy (fault injected)" in seen.chunks[-1].payload


@EACH
def test_one_event_is_no_json_and_the_others_stay(name: str) -> None:
    seen = through(MalformedEvent(after_events=1), asked(name))
    broken = [
        chunk
        for chunk in seen.chunks
        if chunk.payload and chunk.payload != b"[DONE]" and not _is_json(chunk.payload)
    ]
    assert len(broken) == 1
    assert seen.text in ("One three four", "One")  # A reader of the array stops there.
    whole = through(MalformedEvent(), asked(name, streamed=False))
    assert not _is_json(whole.raw)


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("name", ["anthropic_messages", "openai_responses"])
def test_one_event_has_no_name(name: str) -> None:
    seen = through(MissingEventName(after_events=1), asked(name))
    (unnamed,) = (chunk for chunk in seen.chunks if not chunk.name)
    assert unnamed.raw.startswith(b"data: {")
    assert unnamed.values("text") == [" two"]


@EACH
def test_a_delta_comes_twice(name: str) -> None:
    seen = through(DuplicateDelta(after_events=1, count=2), asked(name))
    assert seen.text == "One two two three three four"


@EACH
def test_two_deltas_change_places(name: str) -> None:
    assert through(ReorderedDelta(after_events=1), asked(name)).text == "One three two four"


@EACH
def test_deltas_are_missing(name: str) -> None:
    seen = through(DroppedDelta(share=1, count=1, after_events=1), asked(name))
    assert (seen.text, seen.notes) == ("One three four", [("dropped", None)])
    whole = through(DroppedDelta(share=1, count=1, after_tokens=1), asked(name, streamed=False))
    assert whole.text == "One three four"


def test_what_is_dropped_depends_on_the_seed() -> None:
    pieces = tuple(f" {n}" for n in range(60))
    texts = [through(DroppedDelta(share=0.3), asked("ollama"), pieces, seed=seed).text for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    assert 20 < len(texts[0].split()) < 60


@EACH
@pytest.mark.parametrize("streamed", [False, True])
def test_usage_is_missing(name: str, streamed: bool) -> None:
    request = asked(name, streamed=streamed, stream_options={"include_usage": True})
    seen = through(NoUsage(), request)
    assert not any(chunk.has("usage") for chunk in seen.read)
    assert (seen.text, len(seen.notes)) == ("One two three four", 1)


@EACH
@pytest.mark.parametrize("streamed", [False, True])
def test_the_reason_of_the_end_is_missing(name: str, streamed: bool) -> None:
    seen = through(NoFinish(), asked(name, streamed=streamed))
    assert (seen.finish, len(seen.notes)) == (None, 1)
    # Where the reason stands in the last event, that one is missing with what else it says.
    assert seen.text == "One two three four"


@EACH
def test_the_connection_stays_open_behind_the_last_event(name: str) -> None:
    request = asked(name)
    before, seen = answer_to(request), through(DoneWithoutEnd(hold_s=30), request)
    assert seen.events[:-1] == before[:-1]
    assert seen.end == End(before[-1].at + 30)
    whole = asked(name, streamed=False)
    assert through(DoneWithoutEnd(), whole).events == answer_to(whole)
