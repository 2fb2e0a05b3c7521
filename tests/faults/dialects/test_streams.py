"""Recorded streams through the codecs: the same events and the same bytes, however the bytes are split."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.faults.dialects.dialect import AnswerReader
from faultkit.faults.dialects.llm_events import Chunk, Part
from tests.faults.dialects.recorded import STREAMS, Recorded

EACH = pytest.mark.parametrize("recorded", STREAMS.values(), ids=STREAMS)


def read(recorded: Recorded, *pieces: bytes) -> list[Chunk]:
    reader = AnswerReader(recorded.request, 200, recorded.content_type)
    chunks = [chunk for at, piece in enumerate(pieces) for chunk in reader.feed(piece, float(at))]
    return chunks + reader.end(float(len(pieces)))


def facts(chunks: list[Chunk]) -> list[tuple[str, bytes, tuple[Part, ...]]]:
    return [
        (chunk.name, chunk.payload, chunk.parts) for chunk in chunks if chunk.payload or chunk.raw.strip()
    ]


def joined(chunks: list[Chunk]) -> bytes:
    return b"".join(chunk.raw for chunk in chunks)


@EACH
def test_a_stream_gives_the_events_that_it_has(recorded: Recorded) -> None:
    chunks = read(recorded, recorded.answer)
    assert tuple(" ".join(part.kind for part in chunk.parts) for chunk in chunks) == recorded.kinds
    assert joined(chunks) == recorded.answer
    texts = [part.value for chunk in chunks for part in chunk.parts if part.kind == "text"]
    assert "".join(texts) == recorded.text
    finishes = [value for chunk in chunks for value in chunk.values("finish")]
    assert "".join(finishes) == recorded.finish
    models = {value for chunk in chunks for value in chunk.values("model")}
    assert models == {recorded.model}


@EACH
def test_calls_of_tools_come_with_their_names_and_arguments(recorded: Recorded) -> None:
    names: dict[str, str] = {}
    arguments: dict[str, str] = {}
    for chunk in read(recorded, recorded.answer):
        for part in chunk.parts:
            if part.kind == "call_name":
                names[part.channel] = part.value
            if part.kind == "arguments":
                is_text = isinstance(part.value, str)
                text = part.value if is_text else json.dumps(part.value, separators=(",", ":"))
                arguments[part.channel] = arguments.get(part.channel, "") + text
    assert tuple((name, arguments[channel]) for channel, name in names.items()) == recorded.calls


@EACH
def test_a_stream_cut_in_two_at_any_byte_gives_the_same_events_and_bytes(recorded: Recorded) -> None:
    whole = read(recorded, recorded.answer)
    for place in range(len(recorded.answer) + 1):
        chunks = read(recorded, recorded.answer[:place], recorded.answer[place:])
        assert joined(chunks) == recorded.answer
        assert facts(chunks) == facts(whole), place


@EACH
def test_a_stream_of_single_bytes_gives_the_same_events_and_bytes(recorded: Recorded) -> None:
    chunks = read(recorded, *(bytes([byte]) for byte in recorded.answer))
    assert joined(chunks) == recorded.answer
    assert facts(chunks) == facts(read(recorded, recorded.answer))


@EACH
def test_an_event_is_given_out_with_its_last_byte(recorded: Recorded) -> None:
    chunks = read(recorded, recorded.answer)
    size = 0
    for count, chunk in enumerate(chunks[:-1], 1):
        size += len(chunk.raw)
        reader = AnswerReader(recorded.request, 200, recorded.content_type)
        assert facts(reader.feed(recorded.answer[:size], 0.0)) == facts(chunks[:count])


@given(st.sampled_from(list(STREAMS.values())), st.data())
def test_any_bytes_pass_unchanged(recorded: Recorded, data: st.DataObject) -> None:
    """What is broken, cut or foreign passes byte for byte, too."""
    answer = bytearray(recorded.answer)
    for place in data.draw(st.lists(st.integers(0, len(answer) - 1), max_size=4)):
        answer[place] = data.draw(st.integers(0, 255))
    marks = sorted({0, len(answer), *data.draw(st.lists(st.integers(0, len(answer)), max_size=6))})
    pieces = [bytes(answer[a:b]) for a, b in pairwise(marks)]
    assert joined(read(recorded, *pieces)) == answer


@EACH
def test_a_member_is_changed_and_all_other_members_stay(recorded: Recorded) -> None:
    dialect = recorded.request.dialect
    for chunk in read(recorded, recorded.answer):
        for part in chunk.parts:
            if part.kind != "text":
                continue
            changed = dialect.with_changes(chunk, {part.path: "Zürich"})
            assert [each.value for each in changed.parts if each.path == part.path] == ["Zürich"]
            assert (changed.raw[: chunk.start], changed.name) == (chunk.raw[: chunk.start], chunk.name)
            assert changed.raw[changed.end :] == chunk.raw[chunk.end :]
            back = dialect.with_changes(changed, {part.path: part.value})
            assert json.loads(back.payload) == json.loads(chunk.payload)


def test_an_answer_that_is_no_stream_is_one_chunk() -> None:
    recorded = STREAMS["gemini-array"]
    error = b'{"error": {"code": 429, "message": "later", "status": "RESOURCE_EXHAUSTED"}}'
    reader = AnswerReader(recorded.request, 429, "application/json")
    assert (reader.is_stream, reader.feed(error, 0.0)) == (False, [])
    (chunk,) = reader.end(1.0)
    assert (chunk.is_whole, chunk.raw, [part.kind for part in chunk.parts]) == (True, error, ["error"])


def test_an_object_where_an_array_was_expected_passes() -> None:
    error = b'{"error": {"code": 500, "message": "oh"}}'
    chunks = read(STREAMS["gemini-array"], *(bytes([byte]) for byte in error))
    assert [(chunk.raw, [part.kind for part in chunk.parts]) for chunk in chunks] == [(error, ["error"])]


def test_html_in_place_of_a_stream_passes() -> None:
    page = b"<html>\r\n\r\n<body>Bad gateway</body></html>"
    for recorded in STREAMS.values():
        for content_type in ("text/html", recorded.content_type):
            chunks = read(replace(recorded, content_type=content_type), page)
            assert joined(chunks) == page
            assert not any(part.kind == "text" for chunk in chunks for part in chunk.parts)
