"""What the mock answers: turns of a script, an echo, or filler text. Pure, but for reading the file.

The turn of a script is chosen by the conversation: a request with n answers of the model in its history gets
turn n + 1, and the last turn is repeated. So it does not depend on what other clients ask.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from faultkit.base.documents.checks import sequence, shown
from faultkit.base.documents.key_tables import Key, KeyTable
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import text
from faultkit.base.errors import InputError
from faultkit.base.files import read_text
from faultkit.base.rng import Rng
from faultkit.faults.dialects.dialect import LlmRequest
from faultkit.faults.dialects.turn import ToolCall, Turn, count_tokens, token_pieces

Mode: TypeAlias = Literal["script", "echo", "prompt", "lorem"]
"""`echo` gives back the last text of the user, `prompt` all texts that the model gets."""
_WORDS = [
    "lorem",
    "ipsum",
    "dolor",
    "sit",
    "amet",
    "consectetur",
    "adipiscing",
    "elit",
    "sed",
    "do",
    "eiusmod",
    "tempor",
    "incididunt",
    "ut",
    "labore",
    "et",
    "dolore",
    "magna",
    "aliqua",
    "enim",
    "ad",
    "minim",
    "veniam",
    "quis",
    "nostrud",
    "exercitation",
    "ullamco",
    "laboris",
    "nisi",
    "aliquip",
    "ex",
    "ea",
    "commodo",
]
_HISTORIES = ("messages", "input", "contents")
_OF_MODEL = ("assistant", "model")
CREATED_S, CREATED_AT = 1_767_225_600, "2026-01-01T00:00:00Z"
"""When every answer was made, so that equal requests get equal bytes."""

_CALL = KeyTable(
    Key("name", text, {"type": "string"}, help="The tool.", required="the name of a tool"),
    Key("arguments", schema={"type": "object"}, help="Its arguments."),
    has_nulls=False,
)
_TURN = KeyTable(
    Key("text", text, {"type": "string"}, "", "What the model says."),
    Key("calls", lambda value: sequence(value, "tool calls", ""), {"type": "array"}, (), "Its tool calls."),
    has_nulls=False,
)
_SCRIPT = KeyTable(
    Key("turns", lambda value: sequence(value, "turns", ""), {"type": "array"}, required="a list of turns"),
    has_nulls=False,
)


class AnswerSource(Protocol):
    """Makes answers, such as `MockAnswers`."""

    def turn_for(self, request: LlmRequest) -> Turn:
        """Return the answer to a request."""
        ...


@dataclass(frozen=True, slots=True)
class ScriptedTurn:
    """One turn of a script."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class MockAnswers:
    """How answers are made."""

    mode: Mode = "echo"
    turns: tuple[ScriptedTurn, ...] = ()
    words: int = 60
    """Length of the filler text."""
    seed: int | str = 0

    def turn_for(self, request: LlmRequest) -> Turn:
        """Return the answer to a request."""
        dialect = request.dialect
        asked = dialect.user_text(request.body)
        key = Rng.keyed(self.seed, dialect.name, request.model, asked, answers_before(request.body))
        said = ScriptedTurn(asked)
        if self.mode == "script":
            said = self.turns[min(answers_before(request.body), len(self.turns) - 1)]
        elif self.mode == "prompt":
            said = ScriptedTurn("\n".join(dialect.prompts(request.body).values()))
        elif self.mode == "lorem":
            words = [_WORDS[key.below(len(_WORDS))] for _ in range(self.words)]
            said = ScriptedTurn(" ".join(words).capitalize() + ".")
        answer_id = f"{key.uint64():016x}"
        calls = tuple(
            ToolCall(call.name, call.arguments, f"call_{answer_id}{number}")
            for number, call in enumerate(said.calls)
        )
        return Turn(
            request.model or "mock",
            answer_id,
            tuple(token_pieces(said.text)),
            calls,
            "tool_calls" if calls else "stop",
            sum(map(count_tokens, dialect.prompts(request.body).values())),
            CREATED_S,
            CREATED_AT,
        )


def answers_before(body: Mapping[str, Any]) -> int:
    """Return how many answers of the model a request has in its history."""
    history: list[Any] = next((body[name] for name in _HISTORIES if isinstance(body.get(name), list)), [])
    marks = [
        isinstance(each, dict) and (each.get("role") in _OF_MODEL or each.get("type") == "function_call")
        for each in history
    ]
    # Parts of one answer follow each other.
    return sum(mark and not (index and marks[index - 1]) for index, mark in enumerate(marks))


def load_script(path: str) -> tuple[ScriptedTurn, ...]:
    """Return the turns of a file. Raises InputError with file and line."""
    from faultkit.base.documents.yaml_text import placed, read_document

    written = read_text(path)
    document = read_document(written, path)
    try:
        return parse_script(document)
    except InputError as error:
        raise placed(error, written, path) from None


def parse_script(document: object) -> tuple[ScriptedTurn, ...]:
    """Return the turns of a document."""
    turns = MappingReader(document, _SCRIPT).take("turns")
    if not turns:
        raise InputError("turns", "expected at least one turn, got none")
    return tuple(_turn(each, f"turns[{index}]") for index, each in enumerate(turns))


def _turn(document: object, path: str) -> ScriptedTurn:
    reader = MappingReader(document, _TURN, path)
    calls = tuple(_call(each, f"{path}.calls[{index}]") for index, each in enumerate(reader.take("calls")))
    said = reader.take("text")
    if not said and not calls:
        raise InputError(path, "expected a text or calls, got neither")
    return ScriptedTurn(said, calls)


def _call(document: object, path: str) -> ToolCall:
    reader = MappingReader(document, _CALL, path)
    arguments = reader.given.get("arguments", {})
    if not isinstance(arguments, dict):
        raise InputError(f"{path}.arguments", f"expected a mapping, got {shown(arguments)}")
    return ToolCall(reader.take("name"), arguments)
