"""Cassettes: the turns of a model, recorded once and replayed without it.

A turn is replayed only for the input that it was recorded with: the model, the prompts, the tools, and all
results of calls so far. Any difference makes the cassette stale, which is an error. A cassette has digests of
the input and the full output of the model. It never contains a key.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from faultkit.base.errors import InputError, RunError
from faultkit.base.files import write_output
from faultkit.llm.conversation import (
    ChatModel,
    Completion,
    CompletionEnd,
    Conversation,
    OfferedTool,
    ToolCall,
    Usage,
)

FORMAT = 1
FOLDER = "cassettes"
_ADVICE = "record it again with --record"
_ENDS: dict[str, CompletionEnd] = {"done": "done", "cut": "cut", "refused": "refused"}


class StaleCassette(InputError):
    """Raised if a cassette was recorded for another input."""


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """A completion, and the input that it belongs to."""

    input_digest: str
    """Digest of all that the model had been sent."""
    completion: Completion


@dataclass(frozen=True, slots=True)
class Cassette:
    """The recorded turns of one conversation."""

    agent: str
    model: str
    system_prompt: str
    prompt: str
    """The prompts are digests."""
    tools: Mapping[str, str]
    """Digest of each offered tool, by its name."""
    turns: tuple[RecordedTurn, ...]
    suite: str = ""
    """Name of the suite's file; empty if unknown."""


def cassette_path(suite_file: str, agent: str, others: Iterable[str] = ()) -> Path:
    """Return the path of an agent's cassette.

    It is named after the agent, and also after a digest or the suite if that name would collide with
    `others` of the suite or with another suite in the folder.
    """
    suite, name = Path(suite_file), _slug(agent)
    if any(other != agent and _slug(other).lower() == name.lower() for other in others):
        name = f"{name}-{hashlib.sha256(agent.encode()).hexdigest()[:8]}"
    folder = suite.parent / FOLDER
    with_suite = folder / f"{suite.stem}.{name}.json"
    without_suite = folder / f"{name}.json"
    is_taken = with_suite.exists() or _belongs_to_other_suite(without_suite, suite)
    return with_suite if is_taken else without_suite


def _slug(agent: str) -> str:
    return re.sub(r"[^\w.-]+", "-", agent).strip("-.") or "agent"


def _belongs_to_other_suite(path: Path, suite: Path) -> bool:
    """Return whether a cassette belongs to another suite that still exists; otherwise it was renamed."""
    try:
        owner = load_cassette(path).suite
    except InputError:
        return False
    return owner not in ("", suite.name) and (suite.parent / owner).exists()


# Chat models


class CassettePlayer:
    """A chat model that replays a cassette."""

    def __init__(self, path: Path, agent: str) -> None:
        """Read the cassette. Raises InputError."""
        self._path = path
        self._agent = agent
        self._cassette = load_cassette(path)

    async def complete(self, conversation: Conversation) -> Completion:
        """Return the recorded turn. Raises StaleCassette."""
        number = len(conversation.rounds)
        problem = _differences(self._cassette, conversation, self._agent) if number == 0 else ""
        turns = self._cassette.turns
        if not problem and number >= len(turns):
            problem = f"it ends after {len(turns)} turns, and the run goes on"
        if not problem and turns[number].input_digest != input_digest_of(conversation):
            problem = f"turn {number + 1}: what the tools had answered by then is not what was recorded"
        if problem:
            raise StaleCassette(str(self._path), f"the cassette is stale: {problem}; {_ADVICE}")
        return turns[number].completion

    async def close(self, *, is_whole: bool) -> None:
        """Do nothing: the file is closed already."""


class CassetteRecorder:
    """A chat model that records another one, and writes the cassette at the end of a whole conversation."""

    def __init__(
        self, chat: ChatModel, path: Path, agent: str, secrets: Mapping[str, str], suite: str = ""
    ) -> None:
        """Record `chat`. A cassette that contains one of `secrets`, by their variables, is not written."""
        self._chat = chat
        self._path = path
        self._agent = agent
        self._secrets = secrets
        self._suite = suite
        self._first: Conversation | None = None
        self._turns: list[RecordedTurn] = []

    async def complete(self, conversation: Conversation) -> Completion:
        """Return the next turn of the recorded model, and keep it. Raises ModelError."""
        if self._first is None:
            self._first = conversation
        input_digest = input_digest_of(conversation)
        completion = await self._chat.complete(conversation)
        self._turns.append(RecordedTurn(input_digest, completion))
        return completion

    async def close(self, *, is_whole: bool) -> None:
        """Close the recorded model, and write the cassette if the conversation is whole. Raises RunError."""
        await self._chat.close(is_whole=is_whole)
        if not is_whole or self._first is None:
            return
        text = dump_cassette(replace(cassette_of(self._agent, self._first, self._turns), suite=self._suite))
        for variable, value in self._secrets.items():
            if value and (value in text or json.dumps(value)[1:-1] in text):
                raise RunError(f"{self._path}: not written, since a turn of the model holds ${variable}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{self._path}: cannot be written: {error.strerror or error}") from None
        write_output(self._path, text)


# The input of a turn


def cassette_of(agent: str, first: Conversation, turns: Sequence[RecordedTurn]) -> Cassette:
    """Return the cassette of a conversation that began with `first`."""
    tools = {tool.name: _digest(_tool(tool)) for tool in first.tools}
    return Cassette(
        agent, first.model, _digest(first.system_prompt), _digest(first.prompt), tools, tuple(turns)
    )


def input_digest_of(conversation: Conversation) -> str:
    """Return the digest of a conversation. Ids of calls are random, so they are left out."""
    head = [
        conversation.model,
        conversation.system_prompt,
        conversation.prompt,
        [_tool(tool) for tool in conversation.tools],
    ]
    rounds = [
        [
            round.completion.text,
            [[call.name, call.arguments, call.problem] for call in round.completion.calls],
            [[result.text, result.is_error] for result in round.results],
        ]
        for round in conversation.rounds
    ]
    return _digest([head, rounds])


def _differences(cassette: Cassette, conversation: Conversation, agent: str) -> str:
    """Return what differs from the recording; empty if nothing does."""
    wanted = cassette_of(agent, conversation, ())
    tools = _tool_differences(cassette.tools, wanted.tools)
    found = [
        difference
        for difference, recorded, current in (
            (f"it was recorded for the agent {cassette.agent!r}", cassette.agent, wanted.agent),
            (f"the model changed from {cassette.model!r} to {wanted.model!r}", cassette.model, wanted.model),
            ("the system prompt changed", cassette.system_prompt, wanted.system_prompt),
            ("the prompt changed", cassette.prompt, wanted.prompt),
            (f"the tools changed ({tools})", [*cassette.tools.items()], [*wanted.tools.items()]),
        )
        if recorded != current
    ]
    return ", ".join(found)


def _tool_differences(recorded: Mapping[str, str], current: Mapping[str, str]) -> str:
    parts = [
        *(f"new: {name}" for name in current if name not in recorded),
        *(f"gone: {name}" for name in recorded if name not in current),
        *(f"changed: {name}" for name in current if recorded.get(name, current[name]) != current[name]),
    ]
    return ", ".join(parts) or "their order"


def _tool(tool: OfferedTool) -> list[Any]:
    return [tool.name, tool.description, tool.input_schema]


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, default=dict)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


# The file


def dump_cassette(cassette: Cassette) -> str:
    """Return a cassette as JSON."""
    document = {
        "cassette": FORMAT,
        **({"suite": cassette.suite} if cassette.suite else {}),
        "agent": cassette.agent,
        "model": cassette.model,
        "asked": {
            "system_prompt": cassette.system_prompt,
            "prompt": cassette.prompt,
            "tools": dict(cassette.tools),
        },
        "turns": [_dump_turn(turn) for turn in cassette.turns],
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _dump_turn(turn: RecordedTurn) -> dict[str, Any]:
    completion = turn.completion
    calls = [
        {"tool": call.name, "arguments": dict(call.arguments)}
        | ({"problem": call.problem} if call.problem else {})
        for call in completion.calls
    ]
    return {
        "told": turn.input_digest,
        "says": completion.text,
        "calls": calls,
        "end": completion.end,
        "prompt_tokens": completion.usage.prompt_tokens,
        "answer_tokens": completion.usage.answer_tokens,
    }


def load_cassette(path: Path) -> Cassette:
    """Read a cassette. Raises InputError."""
    try:
        document = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(str(path), f"expected a cassette in JSON, got something else ({error})") from None
    if not isinstance(document, dict) or document.get("cassette") != FORMAT:
        found = document.get("cassette") if isinstance(document, dict) else None
        raise InputError(str(path), f"expected a cassette of format {FORMAT}, got {found!r}; {_ADVICE}")
    try:
        asked = document["asked"]
        return Cassette(
            str(document["agent"]),
            str(document["model"]),
            str(asked["system_prompt"]),
            str(asked["prompt"]),
            {str(name): str(digest) for name, digest in asked["tools"].items()},
            tuple(_load_turn(turn) for turn in document["turns"]),
            str(document.get("suite", "")),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        problem = f"expected a cassette as --record writes it, got one that lacks {error}; {_ADVICE}"
        raise InputError(str(path), problem) from None


def _load_turn(turn: Mapping[str, Any]) -> RecordedTurn:
    calls = tuple(
        ToolCall(f"call_{number}", str(call["tool"]), dict(call["arguments"]), str(call.get("problem", "")))
        for number, call in enumerate(turn["calls"], 1)
    )
    usage = Usage(int(turn["prompt_tokens"]), int(turn["answer_tokens"]), 1)
    return RecordedTurn(str(turn["told"]), Completion(str(turn["says"]), calls, usage, _ENDS[turn["end"]]))
