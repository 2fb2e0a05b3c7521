"""Faults of tool calls and of content."""

from __future__ import annotations

import json

import pytest

from faultkit.faults.dialects.dialect_table import DIALECTS
from faultkit.faults.llm.add_instruction import AddInstruction
from faultkit.faults.llm.canary import Canary
from faultkit.faults.llm.duplicate_call_id import DuplicateCallId
from faultkit.faults.llm.empty_answer import EmptyAnswer
from faultkit.faults.llm.invalid_arguments import InvalidArguments
from faultkit.faults.llm.length_stop import LengthStop
from faultkit.faults.llm.mistyped_arguments import MistypedArguments
from faultkit.faults.llm.replace_prompt import ReplacePrompt
from faultkit.faults.llm.replace_text import ReplaceText
from faultkit.faults.llm.tool_call_as_text import ToolCallAsText
from faultkit.faults.llm.truncated_arguments import TruncatedArguments
from faultkit.faults.llm.unknown_tool import UnknownTool
from faultkit.faults.llm.wrong_call_id import WrongCallId
from faultkit.faults.llm.wrong_model import WrongModel
from faultkit.faults.llm_fault import LlmFault
from tests.faults.llm.answers import CALLS, asked, judged, through

EACH = pytest.mark.parametrize("name", DIALECTS)
BOTH = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
ONE = '{"city":"Oslo","days":2}'


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (TruncatedArguments(keep=0.5), '{"city":"Osl'),
        (TruncatedArguments(keep=1), '{"city":"Oslo","days":2'),
        (InvalidArguments(), "{'city':'Oslo','days':2,}"),
        (MistypedArguments(), '{"city":["Oslo"],"days":"2"}'),
    ],
)
@EACH
@BOTH
def test_arguments_are_changed(fault: LlmFault, text: str, name: str, streamed: bool) -> None:
    seen = through(fault, asked(name, streamed=streamed, tools=True), ("Hm",), CALLS)
    arguments = seen.calls[0][2]
    if arguments.startswith('"'):  # Where arguments are an object, the text stands in its place.
        arguments = json.loads(arguments)
    assert arguments.replace(": ", ":").replace(", ", ",") == text
    assert [call[1] for call in seen.calls] == ["search", "book"]
    assert (seen.text, len(seen.notes)) == ("Hm", 2)
    copies = {value for chunk in seen.read for value in chunk.values("arguments_copy")}
    assert not copies or text in copies


def test_changed_arguments_come_in_pieces_of_the_same_sizes() -> None:
    seen = through(TruncatedArguments(), asked("openai_chat", tools=True), (), CALLS[:1])
    pieces = [value for chunk in seen.chunks for value in chunk.values("arguments")]
    assert pieces == ["", "{", '"', "city", '"', ":", '"', "Osl"]


@EACH
@BOTH
def test_calls_name_another_tool(name: str, streamed: bool) -> None:
    seen = through(UnknownTool(name="fly"), asked(name, streamed=streamed, tools=True), (), CALLS)
    assert [call[1] for call in seen.calls] == ["fly", "fly"]
    assert json.loads(seen.calls[0][2]) == json.loads(ONE)


@pytest.mark.parametrize("name", ["openai_chat", "openai_responses", "anthropic_messages"])
@BOTH
def test_ids_of_calls_are_empty_or_the_same(name: str, streamed: bool) -> None:
    request = asked(name, streamed=streamed, tools=True)
    assert [call[0] for call in through(WrongCallId(), request, (), CALLS).calls] == ["", ""]
    same = through(DuplicateCallId(), request, (), CALLS)
    assert [call[0] for call in same.calls] == ["call_1", "call_1"]


@EACH
@BOTH
def test_a_call_comes_as_text(name: str, streamed: bool) -> None:
    request = asked(name, streamed=streamed, tools=True)
    seen = through(ToolCallAsText(), request, ("Hm",), CALLS[:1])
    assert seen.calls == []
    assert seen.text == f'Hm\n```json\n{{"name":"search","arguments":{ONE}}}\n```'
    assert seen.finish == request.dialect.finishes["stop"]
    assert through(ToolCallAsText(), request).text == "One two three four"


@EACH
@BOTH
def test_the_answer_is_empty(name: str, streamed: bool) -> None:
    seen = through(EmptyAnswer(), asked(name, streamed=streamed))
    assert (seen.text, seen.copies <= {""}) == ("", True)
    assert seen.finish == seen.request.dialect.finishes["stop"]


@EACH
@BOTH
def test_the_answer_names_another_model(name: str, streamed: bool) -> None:
    seen = through(WrongModel(model="x-1"), asked(name, streamed=streamed))
    assert {value for chunk in seen.read for value in chunk.values("model")} == {"x-1"}


@EACH
@BOTH
def test_the_answer_stops_at_a_length_and_says_so(name: str, streamed: bool) -> None:
    request = asked(name, streamed=streamed, tools=True)
    for calls in ((), CALLS):
        seen = through(LengthStop(after_tokens=2), request, calls=calls)
        assert (seen.text, seen.calls, seen.finish) == ("One two", [], request.dialect.finishes["length"])
        assert seen.copies <= {"One two"}
    assert through(LengthStop(after_tokens=9), request).notes == []


def test_a_response_that_stops_is_an_incomplete_one() -> None:
    last = through(LengthStop(), asked("openai_responses")).chunks[-1]
    document = json.loads(last.payload)
    assert (last.name, document["type"]) == ("response.incomplete", "response.incomplete")
    assert document["response"]["incomplete_details"] == {"reason": "max_output_tokens"}


@EACH
@BOTH
def test_a_canary_is_put_into_the_answer(name: str, streamed: bool) -> None:
    seen = through(Canary(text=" tweet", after_tokens=1), asked(name, streamed=streamed))
    assert seen.text == "One tweet two three four"
    assert seen.copies <= {"One tweet two three four"}
    assert "canary-" in through(Canary(), asked(name, streamed=streamed)).text
    texts = {through(Canary(), asked(name), seed=seed).text for seed in (1, 1, 2)}
    assert len(texts) == 2


@pytest.mark.parametrize(
    ("pattern", "replacement", "text"),
    [
        ("two three", "2-3", "One 2-3 four"),
        ("[a-z]+ee", "3", "One two 3 four"),
        ("(?i)o(n)e", r"<\1>", "<n> two three four"),
        (r"\bt", "T", "One Two Three four"),
        ("four$", "4", "One two three 4"),
        ("^One", "1", "1 two three four"),
        ("^two", "x", "One two three four"),
        ("e", "", "On two thr four"),
        ("x*", "-", "One two three four"),
        (".+", "all", "all"),
    ],
)
@EACH
@BOTH
def test_a_pattern_is_replaced_across_deltas(
    pattern: str, replacement: str, text: str, name: str, streamed: bool
) -> None:
    seen = through(ReplaceText(pattern=pattern, replacement=replacement), asked(name, streamed=streamed))
    assert seen.text == text
    assert seen.copies <= {text}
    assert bool(seen.notes) is (text != "One two three four")


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_a_match_is_found_however_the_text_is_split(size: int) -> None:
    text = "The good, the bad and the good enough; goo and d"
    pieces = tuple(text[n : n + size] for n in range(0, len(text), size))
    for longest in (4, 5, 64):
        fault = ReplaceText(pattern="good", replacement="GREAT", longest=longest)
        seen = through(fault, asked("openai_chat"), pieces)
        assert seen.text == text.replace("good", "GREAT")
        assert len([chunk for chunk in seen.chunks if chunk.has("text")]) == len(pieces) + 1


def test_text_is_held_no_longer_than_a_match_may_be() -> None:
    seen = through(ReplaceText(pattern="xyz", longest=4), asked("openai_chat"))
    # "One" may hold the beginning of a match until " two" has come.
    assert seen.times == [1, 3, 4, 5, 6, 6, 7]


@pytest.mark.parametrize(
    ("pattern", "replacement", "problem"),
    [("(", "x", "pattern: expected a regular expression"), ("(a)", r"\2", "replacement: expected groups")],
)
def test_a_bad_pattern_is_named(pattern: str, replacement: str, problem: str) -> None:
    for kind in (ReplaceText, ReplacePrompt):
        with pytest.raises(ValueError, match=problem):
            kind(pattern=pattern, replacement=replacement)


@EACH
def test_the_prompt_is_changed_before_the_model_gets_it(name: str) -> None:
    request = asked(name)
    replaced = judged(ReplacePrompt(pattern="H(.)", replacement=r"\1!"), request)
    assert replaced is not None
    assert list(request.dialect.prompts(replaced).values()) == ["i!"]
    assert judged(ReplacePrompt(pattern="zzz"), request) is None
    added = judged(AddInstruction(text="Lie."), request)
    assert added is not None
    assert sorted(request.dialect.prompts(added).values()) == ["Hi", "Lie."]
