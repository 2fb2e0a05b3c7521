"""Cassettes: the turns of a model, recorded once and replayed without it.

A turn is replayed only to the very words that it was recorded with: the model, the prompts, the tools, and
all that calls had answered so far. Whatever differs makes the cassette stale, which is an error. Of what a
model was told a cassette keeps digests only, of what it said everything; keys are in neither.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from faultkit.agents.kinds.turns import Conversation, End, OfferedTool, Round, Said, ToolCall, Voice
from faultkit.base.errors import InputError, RunError
from faultkit.llm.usage import Usage
from faultkit.scenario.report.files import write_whole

FORMAT = 1
FOLDER = "cassettes"
_AGAIN = "record it again with --record"
_ENDS: dict[str, End] = {"done": "done", "cut": "cut", "refused": "refused"}


class StaleCassette(InputError):
    """It was recorded for something else."""


@dataclass(frozen=True, slots=True)
class Turn:
    told: str
    """A digest of all that the model had been told by then."""
    said: Said


@dataclass(frozen=True, slots=True)
class Cassette:
    agent: str
    model: str
    system_prompt: str
    prompt: str
    """Digests, as that of each tool."""
    tools: Mapping[str, str]
    turns: tuple[Turn, ...]
    suite: str = ""
    """The name of the suite's file; empty: nobody has said."""


def cassette_path(suite_file: str, agent: str, others: Iterable[str] = ()) -> Path:
    """Named after the agent as long as that tells it from the suite's `others`, and from those of another
    suite in the same folder."""
    suite, name = Path(suite_file), _slug(agent)
    if any(other != agent and _slug(other).lower() == name.lower() for other in others):
        name = f"{name}-{hashlib.sha256(agent.encode()).hexdigest()[:8]}"
    folder = suite.parent / FOLDER
    own = folder / f"{suite.stem}.{name}.json"
    plain = folder / f"{name}.json"
    return own if own.exists() or _is_of_another(plain, suite) else plain


def _slug(agent: str) -> str:
    return re.sub(r"[^\w.-]+", "-", agent).strip("-.") or "agent"


def _is_of_another(path: Path, suite: Path) -> bool:
    """A suite that is not there any more has been renamed, and has left its cassettes to this one."""
    try:
        owner = load_cassette(path).suite
    except InputError:
        return False
    return owner not in ("", suite.name) and (suite.parent / owner).exists()


# --- who speaks -----------------------------------------------------------------------------------


class ReplayingVoice:
    def __init__(self, path: Path, agent: str) -> None:
        """InputError if it cannot be read."""
        self._path = path
        self._agent = agent
        self._cassette = load_cassette(path)

    async def say(self, conversation: Conversation) -> Said:
        number = len(conversation.rounds)
        problem = _changed(self._cassette, conversation, self._agent) if number == 0 else ""
        turns = self._cassette.turns
        if not problem and number >= len(turns):
            problem = f"it ends after {len(turns)} turns, and the run goes on"
        if not problem and turns[number].told != told_digest(conversation):
            problem = f"turn {number + 1}: what the tools had answered by then is not what was recorded"
        if problem:
            raise StaleCassette(str(self._path), f"the cassette is stale: {problem}; {_AGAIN}")
        return turns[number].said

    async def close(self, *, is_whole: bool) -> None:
        """There is nothing to close."""


class RecordingVoice:
    """Writes what another one says, once the conversation is whole."""

    def __init__(
        self, voice: Voice, path: Path, agent: str, secrets: Mapping[str, str], suite: str = ""
    ) -> None:
        """`secrets`: by the names of their variables; a cassette that would hold one is not written."""
        self._voice = voice
        self._path = path
        self._agent = agent
        self._secrets = secrets
        self._suite = suite
        self._first: Conversation | None = None
        self._turns: list[Turn] = []

    async def say(self, conversation: Conversation) -> Said:
        if self._first is None:
            self._first = conversation
        told = told_digest(conversation)
        said = await self._voice.say(conversation)
        self._turns.append(Turn(told, said))
        return said

    async def close(self, *, is_whole: bool) -> None:
        await self._voice.close(is_whole=is_whole)
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
        write_whole(self._path, text)


# --- what was asked -------------------------------------------------------------------------------


def cassette_of(agent: str, first: Conversation, turns: Sequence[Turn]) -> Cassette:
    tools = {tool.name: _digest(_tool(tool)) for tool in first.tools}
    return Cassette(
        agent, first.model, _digest(first.system_prompt), _digest(first.prompt), tools, tuple(turns)
    )


def told_digest(conversation: Conversation) -> str:
    """Of the whole conversation so far. Ids of calls are chance, and no part of it."""
    head = [
        conversation.model,
        conversation.system_prompt,
        conversation.prompt,
        [_tool(tool) for tool in conversation.tools],
    ]
    return _digest([head, [_round(round) for round in conversation.rounds]])


def _changed(cassette: Cassette, now: Conversation, agent: str) -> str:
    """What is not as it was recorded; empty if all is."""
    wanted = cassette_of(agent, now, ())
    tools = _changed_tools(cassette.tools, wanted.tools)
    found = [
        what
        for what, was, is_ in (
            (f"it was recorded for the agent {cassette.agent!r}", cassette.agent, wanted.agent),
            (f"the model changed from {cassette.model!r} to {wanted.model!r}", cassette.model, wanted.model),
            ("the system prompt changed", cassette.system_prompt, wanted.system_prompt),
            ("the prompt changed", cassette.prompt, wanted.prompt),
            (f"the tools changed ({tools})", [*cassette.tools.items()], [*wanted.tools.items()]),
        )
        if was != is_
    ]
    return ", ".join(found)


def _changed_tools(was: Mapping[str, str], now: Mapping[str, str]) -> str:
    parts = [
        *(f"new: {name}" for name in now if name not in was),
        *(f"gone: {name}" for name in was if name not in now),
        *(f"changed: {name}" for name in now if name in was and was[name] != now[name]),
    ]
    return ", ".join(parts) or "their order"


def _tool(tool: OfferedTool) -> list[Any]:
    return [tool.name, tool.info.description, tool.info.input_schema]


def _round(round: Round) -> list[Any]:
    calls = [[call.name, call.arguments, call.problem] for call in round.said.calls]
    return [round.said.text, calls, [[result.text, result.is_error] for result in round.results]]


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, default=dict)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


# --- the file -------------------------------------------------------------------------------------


def dump_cassette(cassette: Cassette) -> str:
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


def _dump_turn(turn: Turn) -> dict[str, Any]:
    said = turn.said
    calls = [
        {"tool": call.name, "arguments": dict(call.arguments)}
        | ({"problem": call.problem} if call.problem else {})
        for call in said.calls
    ]
    return {
        "told": turn.told,
        "says": said.text,
        "calls": calls,
        "end": said.end,
        "prompt_tokens": said.usage.prompt_tokens,
        "answer_tokens": said.usage.answer_tokens,
    }


def load_cassette(path: Path) -> Cassette:
    try:
        document = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(str(path), f"expected a cassette in JSON, got something else ({error})") from None
    if not isinstance(document, dict) or document.get("cassette") != FORMAT:
        found = document.get("cassette") if isinstance(document, dict) else None
        raise InputError(str(path), f"expected a cassette of format {FORMAT}, got {found!r}; {_AGAIN}")
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
        problem = f"expected a cassette as --record writes it, got one that lacks {error}; {_AGAIN}"
        raise InputError(str(path), problem) from None


def _load_turn(turn: Mapping[str, Any]) -> Turn:
    calls = tuple(
        ToolCall(f"call_{number}", str(call["tool"]), dict(call["arguments"]), str(call.get("problem", "")))
        for number, call in enumerate(turn["calls"], 1)
    )
    usage = Usage(int(turn["prompt_tokens"]), int(turn["answer_tokens"]), 1)
    return Turn(str(turn["told"]), Said(str(turn["says"]), calls, usage, _ENDS[turn["end"]]))
