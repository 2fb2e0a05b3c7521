"""Answers of models inside HTTP answers: bytes, lengths and times on their way through a chain of faults."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from typing import Any

import pytest

from faultkit.base.rng import Rng
from faultkit.faults import llm_answer_filter
from faultkit.faults.dialects.dialect_table import read_request
from faultkit.faults.dialects.event_template import texts_between
from faultkit.faults.fault import FOREVER
from faultkit.faults.http_fault import AnswerHead, AnswerPiece, Broken, Content, Finished
from faultkit.faults.llm import llm_keep_alive_only
from faultkit.faults.llm_answer_filter import LlmAnswerFilter
from faultkit.faults.llm_fault import LlmChain, LlmCircumstances, LlmFault, LlmFilter
from faultkit.plan import parse_rule
from tests.faults.dialects.recorded import STREAMS, Recorded
from tests.faults.llm.answers import answer_to, asked

JSON = (("Content-Type", "application/json"),)
EVENTS = (("Content-Type", "text/event-stream"),)


class Answer:
    """One answer on its way through faults."""

    def __init__(self, name: str, *faults: dict[str, Any], streamed: bool = True, seed: int = 0) -> None:
        self.notes: list[str] = []
        self.untouched: list[str] = []
        self.acting = [True] * len(faults)
        request = asked(name, streamed=streamed)
        given = LlmCircumstances(0.0, Rng.keyed(seed), {}, lambda effect, amount: self.notes.append(effect))
        filters: list[LlmFilter] = []
        for document in faults:
            fault = parse_rule(document).fault
            assert isinstance(fault, LlmFault)
            verdict = fault.judge(request, given)
            assert verdict.filter is not None
            filters.append(verdict.filter)
        chain = LlmChain(filters, is_array=request.framing == "array")
        self.filter = LlmAnswerFilter(request, chain, lambda n: self.acting[n], self.untouched.append)

    def feed(self, *pieces: AnswerPiece) -> list[AnswerPiece]:
        return [out for piece in pieces for out in self.filter.feed(piece)]


def body(pieces: Iterable[AnswerPiece]) -> bytes:
    return b"".join(piece.payload for piece in pieces if isinstance(piece, Content))


STREAM = [
    *(
        b'data: {"choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n' % word
        for word in (b"a", b" b", b" c")
    ),
    b"data: [DONE]\n\n",
]
WHOLE = b'{"model": "m", "choices": [{"index": 0, "message": {"content": "one good day"}}]}'


def passed(recorded: Recorded, *parts: bytes) -> list[AnswerPiece]:
    """Return what comes of a recorded answer, in these parts, through a fault that never acts."""
    fault = parse_rule({"fault": "token_stall", "with": {"after_tokens": 10_000}}).fault
    assert isinstance(fault, LlmFault)
    request = read_request(recorded.target, json.dumps(recorded.body).encode())
    assert request is not None
    given = LlmCircumstances(0.0, Rng.keyed(0), {}, lambda effect, amount: None)
    verdict = fault.judge(request, given)
    assert verdict.filter is not None
    chain = LlmChain([verdict.filter], is_array=request.framing == "array")
    filter = LlmAnswerFilter(request, chain, lambda n: True, pytest.fail)
    head = AnswerHead(0.0, 200, (("Content-Type", recorded.content_type),))
    pieces: list[AnswerPiece] = [head, *(Content(float(at), part) for at, part in enumerate(parts, 1))]
    out = [out for piece in (*pieces, Finished(9999.0)) for out in filter.feed(piece)]
    assert (out[0], out[-1]) == (head, Finished(9999.0))
    assert [piece.at for piece in out] == sorted(piece.at for piece in out)
    return out


EACH_STREAM = pytest.mark.parametrize("recorded", STREAMS.values(), ids=STREAMS)


@EACH_STREAM
def test_a_recorded_stream_passes_byte_for_byte_however_it_comes(recorded: Recorded) -> None:
    answer = recorded.answer
    assert body(passed(recorded, answer)) == answer
    assert body(passed(recorded, *(answer[n : n + 1] for n in range(len(answer))))) == answer
    for place in range(0, len(answer) + 1, 29):
        assert body(passed(recorded, answer[:place], answer[place:])) == answer


@pytest.mark.thorough
@EACH_STREAM
def test_a_recorded_stream_passes_byte_for_byte_wherever_it_is_cut(recorded: Recorded) -> None:
    answer = recorded.answer
    for place in range(len(answer) + 1):
        assert body(passed(recorded, answer[:place], answer[place:])) == answer


def test_a_stream_is_late_by_what_its_fault_says_and_never_early() -> None:
    answer = Answer("openai_chat", {"fault": "slow_first_token", "with": {"delay_ms": 500}})
    head = AnswerHead(0.0, 200, EVENTS)
    out = answer.feed(head, *(Content(float(n), unit) for n, unit in enumerate(STREAM)), Finished(3.0))
    assert out == [head, *(Content(n + 0.5, unit) for n, unit in enumerate(STREAM)), Finished(3.5)]


def test_a_stream_ends_early_and_what_follows_is_dropped() -> None:
    answer = Answer("openai_chat", {"fault": "clean_end", "with": {"after_tokens": 1}})
    head = AnswerHead(0.0, 200, EVENTS, length=400)
    out = answer.feed(head, Content(1.0, b"".join(STREAM)), Finished(2.0))
    assert out == [AnswerHead(0.0, 200, EVENTS, None), Content(1.0, STREAM[0]), Finished(1.0)]


BIASED = b'{"model":"m","choices":[{"index":0,"message":{"content":"one very bad day"}}]}'


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (
            {"fault": "replace_text", "with": {"pattern": "good", "replacement": "very bad"}},
            [
                AnswerHead(0.0, 200, JSON, len(BIASED)),
                Content(2.0, BIASED),
                Finished(2.0),
            ],
        ),
        (
            {"fault": "answer_cut", "with": {"after_tokens": 1, "reset": True}},
            [
                AnswerHead(0.0, 200, JSON, len(WHOLE)),
                Content(2.0, WHOLE[: WHOLE.index(b" good")]),
                Broken(2.0, "reset"),
            ],
        ),
        (
            {"fault": "replace_text", "with": {"pattern": "nothing"}},
            [AnswerHead(0.0, 200, JSON, len(WHOLE)), Content(2.0, WHOLE), Finished(2.0)],
        ),
    ],
)
def test_a_whole_answer_has_the_length_that_it_gets(
    fault: dict[str, Any], expected: list[AnswerPiece]
) -> None:
    answer = Answer("openai_chat", fault, streamed=False)
    head = AnswerHead(0.0, 200, JSON, len(WHOLE))
    out = answer.feed(head, Content(1.0, WHOLE[:20]), Content(2.0, WHOLE[20:]), Finished(2.0))
    assert out == expected


def test_keep_alives_are_made_when_they_are_due() -> None:
    answer = Answer(
        "openai_chat", {"fault": "llm_keep_alive_only", "with": {"every_ms": 10, "limit_s": 86_400}}
    )
    out = answer.feed(AnswerHead(0.0, 200, EVENTS), Content(1.0, STREAM[0]))
    assert len(out) < 200
    taken = len(out)
    wakes = 0
    while answer.filter.wake_at < 11.0:
        out += answer.filter.wake(answer.filter.wake_at)
        wakes += 1
    times = [piece.at for piece in out[1:]]
    assert times == pytest.approx([1.0 + 0.01 * n for n in range(1, len(times) + 1)])
    assert (10.9 < times[-1] < 13, wakes < 20, taken < len(out)) == (True, True, True)
    assert answer.feed(Content(11.0, STREAM[1])) == []
    assert answer.filter.wake_at < FOREVER


HELD = {"fault": "llm_keep_alive_only", "with": {"every_ms": 10, "after_tokens": 1}}


def test_the_rest_is_held_behind_keep_alives_and_comes_when_the_rule_ends() -> None:
    answer = Answer("openai_chat", HELD)
    out = answer.feed(AnswerHead(0.0, 200, EVENTS), Content(1.0, b"".join(STREAM[:3])))
    assert body(out).partition(b": keep")[0] == STREAM[0]
    assert answer.feed(Content(2.0, STREAM[3])) == []
    answer.acting[0] = False
    assert answer.filter.let_go(3.0) == [Content(3.0, b"".join(STREAM[1:]))]
    assert answer.filter.wake_at == FOREVER
    assert answer.feed(Finished(4.0)) == [Finished(4.0)]


def test_an_answer_that_has_ended_behind_keep_alives_ends_when_the_rule_does() -> None:
    answer = Answer("openai_chat", HELD)
    answer.feed(AnswerHead(0.0, 200, EVENTS), Content(1.0, b"".join(STREAM)), Finished(1.0))
    answer.acting[0] = False
    assert answer.filter.let_go(3.0) == [Content(3.0, b"".join(STREAM[1:])), Finished(3.0)]


def test_keep_alives_go_on_when_another_rule_ends() -> None:
    answer = Answer("openai_chat", HELD, {"fault": "token_rate"})
    answer.feed(AnswerHead(0.0, 200, EVENTS), Content(1.0, b"".join(STREAM)))
    wake_at = answer.filter.wake_at
    answer.acting[1] = False
    assert (answer.filter.let_go(1.5), answer.filter.wake_at) == ([], wake_at)
    assert b": keep-alive" in body(answer.filter.wake(wake_at))


def test_a_rest_that_is_too_long_to_hold_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm_keep_alive_only, "MOST_HELD_BYTES", 100)
    answer = Answer("openai_chat", HELD)
    answer.feed(AnswerHead(0.0, 200, EVENTS), Content(1.0, b"".join(STREAM)), Finished(1.0))
    answer.acting[0] = False
    assert answer.filter.let_go(3.0) == [Broken(3.0, "close")]


def test_a_whole_answer_that_only_keeps_its_connection_alive_has_no_length() -> None:
    fault = {"fault": "llm_keep_alive_only", "with": {"every_ms": 1000, "limit_s": 2}}
    answer = Answer("openai_chat", fault, streamed=False)
    out = answer.feed(AnswerHead(0.0, 200, JSON, len(WHOLE)), Content(1.0, WHOLE), Finished(1.0))
    out += answer.filter.wake(answer.filter.wake_at)
    assert out == [
        AnswerHead(0.0, 200, JSON, None),
        Content(2.0, b" "),
        Content(3.0, b" "),
        Broken(3.0, "close"),
    ]


def test_a_whole_answer_comes_behind_its_blanks_when_the_rule_ends() -> None:
    answer = Answer("openai_chat", {"fault": "llm_keep_alive_only"}, streamed=False)
    out = answer.feed(AnswerHead(0.0, 200, JSON, len(WHOLE)), Content(1.0, WHOLE), Finished(1.0))
    answer.acting[0] = False
    out += answer.filter.let_go(9.0)
    assert out[-2:] == [Content(9.0, WHOLE), Finished(9.0)]
    assert body(out).strip() == WHOLE


def test_many_events_in_the_future_are_no_endless_answer() -> None:
    answer = Answer("openai_chat", {"fault": "token_rate", "with": {"tokens_per_s": 1}})
    out = answer.feed(AnswerHead(0.0, 200, EVENTS), Content(0.0, STREAM[1] * 300))
    assert (len(out), answer.filter.wake_at) == (301, FOREVER)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ((("Content-Type", "text/html"),), "an answer of type text/html"),
        ((*EVENTS, ("Content-Encoding", "gzip")), "an answer with Content-Encoding: gzip"),
        ((("Content-Type", "application/json; charset=latin-1"),), "an answer in latin-1"),
    ],
)
def test_what_cannot_be_read_passes_untouched(fields: Any, why: str) -> None:
    answer = Answer("openai_chat", {"fault": "clean_end"})
    pieces: list[AnswerPiece] = [AnswerHead(0.0, 200, fields, 2), Content(1.0, b"\xff\x00"), Finished(2.0)]
    assert answer.feed(*pieces) == pieces
    assert (answer.untouched, answer.notes) == ([why], [])


def test_a_body_that_is_no_json_passes_untouched() -> None:
    answer = Answer("openai_chat", {"fault": "replace_text"}, streamed=False)
    head = AnswerHead(0.0, 200, JSON, 9)
    assert answer.feed(head, Content(1.0, b"\xe9 no json"), Finished(2.0)) == [
        head,
        Content(2.0, b"\xe9 no json"),
        Finished(2.0),
    ]
    assert answer.untouched == ["an answer that is none of OpenAI Chat Completions"]


def test_an_answer_that_is_too_long_to_hold_passes_untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm_answer_filter, "MOST_HELD_BYTES", 10)
    answer = Answer("openai_chat", {"fault": "replace_text"}, streamed=False)
    head = AnswerHead(0.0, 200, JSON, len(WHOLE))
    out = answer.feed(head, Content(1.0, WHOLE[:5]), Content(2.0, WHOLE[5:20]), Content(3.0, WHOLE[20:]))
    assert out == [
        AnswerHead(2.0, 200, JSON, len(WHOLE)),
        Content(2.0, WHOLE[:20]),
        Content(3.0, WHOLE[20:]),
    ]
    assert answer.untouched == ["an answer that is too long"]


@pytest.mark.parametrize("streamed", [True, False])
def test_an_upstream_that_is_gone_leaves_what_has_come_of_its_answer(streamed: bool) -> None:
    answer = Answer("openai_chat", {"fault": "replace_text"}, streamed=streamed)
    head = AnswerHead(0.0, 200, EVENTS if streamed else JSON, None if streamed else 99)
    out = answer.feed(head, Content(1.0, b'data: {"cho'))
    out += answer.filter.cut_short(2.0)
    assert (out[0], body(out)) == (head, b'data: {"cho')


def test_a_rule_that_acts_no_more_lets_go_what_it_holds_and_the_others_stay() -> None:
    answer = Answer(
        "openai_chat",
        {"fault": "replace_text", "with": {"pattern": "zzz", "replacement": ""}},
        {"fault": "token_stall", "with": {"after_tokens": 9}},
    )
    out = answer.feed(AnswerHead(0.0, 200, EVENTS), Content(1.0, STREAM[0]))
    assert body(out) == b""
    answer.acting[0] = False
    assert list(answer.filter.let_go(2.0)) == [Content(2.0, STREAM[0])]
    assert answer.feed(Content(3.0, STREAM[1])) == [Content(3.0, STREAM[1])]


def test_the_same_seed_gives_the_same_events_and_another_does_not() -> None:
    def events(seed: int) -> list[AnswerPiece]:
        fault = {"fault": "dropped_delta", "with": {"share": 0.5}}
        answer = Answer("openai_chat", fault, {"fault": "token_rate", "with": {"jitter": 0.5}}, seed=seed)
        units = islice(answer_to(asked("openai_chat"), tuple(f" {n}" for n in range(30))), 1, None)
        pieces = [Content(unit.at, unit.raw) for unit in units if hasattr(unit, "raw")]
        return answer.feed(AnswerHead(0.0, 200, EVENTS), *pieces, Finished(99.0))

    assert events(1) == events(1)
    assert body(events(1)) != body(events(2))


@pytest.mark.parametrize("after", range(9))
@pytest.mark.parametrize("unit", ["after_tokens", "after_events"])
@pytest.mark.parametrize("together", [1, 2, 3])
def test_what_is_skipped_is_what_would_pass(unit: str, after: int, together: int) -> None:
    """A rule acts on the same event, whether those before it are read by their texts or parsed."""
    event = b'data: {"choices":[{"index":0,"delta":{"content":"%b"}}]}\n\n'
    events = [event % text for text in (b"a", b" b c", b"", b" d, e", b" f", b" g\\n", b" h i", b" j")]
    parts = [b"".join(events[n : n + together]) for n in range(0, len(events), together)]
    head = AnswerHead(0.0, 200, EVENTS)
    rule = {"fault": "token_stall", "with": {unit: after, "stall_ms": 100_000}}
    fed, skipping = Answer("openai_chat", rule), Answer("openai_chat", rule)
    expected = fed.feed(head, *(Content(float(at), part) for at, part in enumerate(parts, 1)))
    out, skipped = skipping.feed(head), 0
    for at, part in enumerate(parts, 1):
        skip = skipping.filter.skipping(float(at))
        texts = None if skip is None else texts_between(part, skip.before, skip.behind)
        if skip is not None and texts and all(texts) and skip.takes(texts):
            skipped += 1
            out.append(Content(float(at), part))
        else:
            out += skipping.feed(Content(float(at), part))
    assert (out, skipping.notes) == (expected, fed.notes)
    assert together > 1 or after < 8 or skipped > 2


def test_an_event_that_no_fault_can_read_is_counted_once() -> None:
    answer = Answer("openai_chat", {"fault": "dropped_delta"})
    odd = b'data: {"choices":[{"index":0,"delta":{"content":"f\xf6x"}}]}\n\n'
    head = AnswerHead(0.0, 200, EVENTS)
    answer.feed(head, Content(1.0, STREAM[0]), Content(2.0, odd), Content(3.0, odd), Finished(4.0))
    assert answer.untouched == ["an event that is no JSON"]


def test_a_stream_of_another_kind_is_counted() -> None:
    answer = Answer("openai_chat", {"fault": "dropped_delta"})
    page = b"<html>\n<p>Bad gateway</p>\n\n</html>\n"
    out = answer.feed(AnswerHead(0.0, 200, EVENTS), Content(1.0, page), Finished(2.0))
    assert body(out) == page
    assert answer.untouched == ["an answer that is none of OpenAI Chat Completions"]


def test_copies_of_a_text_say_what_the_deltas_have_said() -> None:
    answer = Answer("openai_responses", {"fault": "dropped_delta", "with": {"after_tokens": 1, "share": 1}})
    delta = b'data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"%b"}\n\n'
    done = (
        b'data: {"type":"response.output_text.done","output_index":0,"content_index":0,"text":"one two"}\n\n'
    )
    head = AnswerHead(0.0, 200, EVENTS)
    parts = (delta % b"one", delta % b" two", done)
    out = answer.feed(head, *(Content(float(at), part) for at, part in enumerate(parts, 1)), Finished(9.0))
    assert body(out) == parts[0] + done.replace(b"one two", b"one")
    assert answer.notes == ["dropped"]
