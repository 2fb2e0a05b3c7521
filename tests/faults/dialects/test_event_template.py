"""Events that are read by their likeness to an earlier one are read as they would be parsed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.faults.dialects.dialect import CONTENT_TYPES, AnswerReader, LlmRequest
from faultkit.faults.dialects.dialect_table import DIALECTS
from faultkit.faults.dialects.event_template import texts_between
from faultkit.faults.dialects.llm_events import Chunk
from faultkit.faults.dialects.turn import ToolCall, Turn
from tests.faults.dialects.recorded import STREAMS, Recorded
from tests.faults.dialects.test_turns import request

EVENT = 'data: {"id":"%s","choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n'
TEXTS = st.text(st.sampled_from('ab" \\\n\t\x7fé🌍\u2028/{}') | st.characters(codec="utf-8"), max_size=8)


def new_reader(asked: LlmRequest) -> AnswerReader:
    return AnswerReader(asked, 200, CONTENT_TYPES[asked.framing])


def texts_in(reader: AnswerReader, data: bytes) -> list[str] | None:
    template = reader.template()
    return None if template is None else texts_between(data, template.before, template.behind)


def parsed(asked: LlmRequest, unit: bytes, at: float) -> list[Chunk]:
    """Return the chunks of one unit, without any before it that it could resemble."""
    return new_reader(asked).feed(unit, at)


@given(
    st.sampled_from([name for name in DIALECTS if name != "gemini"]),
    st.lists(TEXTS, min_size=2, max_size=6),
    st.booleans(),
)
def test_each_event_has_the_parts_that_a_parser_finds(name: str, texts: list[str], calls: bool) -> None:
    asked = request(name, streamed=True)
    made = (ToolCall("search", {"city": "Łódź", "note": "".join(texts)}, "call_1"),) if calls else ()
    units = asked.dialect.stream_of(Turn("m", "1", tuple(texts), made), asked)
    reader = new_reader(asked)
    for at, unit in enumerate(units):
        assert reader.feed(unit, float(at)) == parsed(asked, unit, float(at))


@pytest.mark.parametrize("recorded", STREAMS.values(), ids=STREAMS)
def test_recorded_events_twice_in_one_read_have_the_parts_of_each(recorded: Recorded) -> None:
    whole = AnswerReader(recorded.request, 200, recorded.content_type)
    chunks = whole.feed(recorded.answer, 0.0)
    for chunk in chunks if recorded.request.framing != "array" else ():
        reader = AnswerReader(recorded.request, 200, recorded.content_type)
        assert [reader.feed(chunk.raw, 0.0), reader.feed(chunk.raw * 2, 0.0)] == [[chunk], [chunk, chunk]]


def test_only_the_text_is_read_where_all_else_is_the_same() -> None:
    reader = new_reader(request("openai_chat", streamed=True))
    first, second, third = ((EVENT % ("c", text)).encode() for text in ("One", " zwei, drei", " Äpfel 🌍"))
    assert texts_in(reader, first) is None
    reader.feed(first, 0.0)
    assert texts_in(reader, second + third) == [" zwei, drei", " Äpfel 🌍"]
    for other in (
        EVENT % ("d", "One"),
        EVENT % ("c", "a\\nb"),
        EVENT % ("c", 'a"b'),
        EVENT % ("c", "tab\t"),
        EVENT % ("c", "One") + "data: [DONE]\n\n",
        (EVENT % ("c", "One"))[:-1],
        (EVENT % ("c", "")).replace('""', '"'),
        EVENT % ("c", "One") + EVENT % ("d", "One"),
        EVENT % ("c", "One") + "\n" + EVENT % ("c", "One"),
    ):
        assert texts_in(reader, other.encode()) is None, other
    assert texts_in(reader, b"".join((second[:60], b"\xff", second[60:]))) is None
    reader.feed(second[:9], 1.0)
    assert texts_in(reader, second) is None, "an event has begun"


def test_a_text_that_stands_elsewhere_too_is_found_in_its_place() -> None:
    asked = request("openai_chat", streamed=True)
    reader = new_reader(asked)
    reader.feed((EVENT % ("one", "one")).encode(), 0.0)
    assert texts_in(reader, (EVENT % ("one", "two")).encode()) == ["two"]
    assert texts_in(reader, (EVENT % ("two", "one")).encode()) is None


def test_events_that_always_differ_are_parsed_and_cost_no_more_trials() -> None:
    asked = request("openai_chat", streamed=True)
    reader = new_reader(asked)
    for number in range(40):
        unit = (EVENT % (number, f" {number}")).encode()
        (chunk,) = reader.feed(unit, 1.0)
        assert (chunk.raw, chunk.values("text")) == (unit, [f" {number}"])
        assert json.loads(chunk.payload)["id"] == str(number)
    last, same = ((EVENT % (number, " x")).encode() for number in (39, 15))
    assert (texts_in(reader, last), texts_in(reader, same)) == (None, [" x"]), "the sixteenth is the last"
