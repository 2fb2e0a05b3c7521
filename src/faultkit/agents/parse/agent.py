"""Who is tested: a model, one of the agents that ship with us, a script, or a program of others."""

from __future__ import annotations

from collections.abc import Sequence

from faultkit.agents.kinds.shipped import SHIPPED
from faultkit.agents.model import (
    AgentUnderTest,
    CommandAgent,
    ModelAgent,
    Provider,
    ScriptAgent,
    ShippedAgent,
)
from faultkit.agents.parse.keys import at_most_one, list_of, opened, texts_by_name
from faultkit.agents.parse.models import parse_model
from faultkit.agents.parse.script import parse_goal, parse_script
from faultkit.agents.parse.servers import Nearby, command
from faultkit.agents.parse.sheet import Sheet
from faultkit.base.documents.reading import Reading
from faultkit.base.documents.shape import advice, joined, shown
from faultkit.base.documents.values import text, whole
from faultkit.base.errors import InputError

AGENT_KEYS = ("kind", "goal", "script", "say", "say_on_failure", "command", "env", "cwd")
_OWN_KEYS = {
    "kind": ("goal",),
    "script": ("say", "say_on_failure"),
    "command": ("env", "cwd"),
}
"""What an agent is made of, and the keys that make sense beside it."""
USUAL_TOKENS = 1024
MOST_TOKENS = 10_000_000


def parse_agents(
    reading: Reading, sheet: Sheet, providers: Sequence[Provider], nearby: Nearby
) -> Sequence[tuple[str, AgentUnderTest]]:
    """Who is to take one test, each with what is added to the test's name: `models` are several."""
    how = at_most_one(reading, "model", "models", "agent")
    if how is None:
        if reading.sound:
            sheet.note(joined(reading.path, "agent"), "expected one of model, models, agent, got nothing")
        return ()
    if how == "agent":
        if "max_tokens" in reading.given:
            reading.note("max_tokens", InputError("", "expected only beside a model, got it beside agent"))
        agent = _agent(reading.given["agent"], joined(reading.path, "agent"), sheet, nearby)
        return () if agent is None else (("", agent),)

    return _models(reading, how, providers)


def _models(
    reading: Reading, how: str, providers: Sequence[Provider]
) -> Sequence[tuple[str, AgentUnderTest]]:
    max_tokens = reading.take("max_tokens", whole(1, MOST_TOKENS), USUAL_TOKENS)

    def one(value: object) -> ModelAgent:
        return parse_model(value, providers, max_tokens)

    if how == "model":
        found = reading.take("model", one, None)
        return () if found is None else (("", found),)
    if reading.given["models"] == []:
        reading.note("models", InputError("", "expected at least one model, got an empty list"))
    several = reading.take("models", list_of(one, "model"), ())
    return tuple((f" [{agent.model}]", agent) for agent in several)


def _agent(value: object, path: str, sheet: Sheet, nearby: Nearby) -> AgentUnderTest | None:
    if isinstance(value, str):
        kind = _shipped(value, path, sheet)
        return None if kind is None else ShippedAgent(kind)
    reading = opened(value, AGENT_KEYS, path, sheet)
    how = at_most_one(reading, *_OWN_KEYS)
    if how is None:
        if reading.sound:
            sheet.note(path, f"expected one of {', '.join(_OWN_KEYS)}, got none")
        return None
    for owner, keys in _OWN_KEYS.items():
        for key in keys:
            if key in reading.given and owner != how:
                reading.note(key, InputError("", f"expected only beside {owner}, got it beside {how}"))
    if how == "kind":
        return _of_kind(reading, sheet)
    if how == "script":
        script = parse_script(reading, sheet)
        return None if script is None else ScriptAgent(script)
    argv = reading.take("command", command, ())
    env = reading.take("env", texts_by_name, {})
    cwd = reading.take("cwd", lambda value: nearby.path_of(text(value)), None)
    return CommandAgent(argv, env, cwd) if argv else None


def _of_kind(reading: Reading, sheet: Sheet) -> ShippedAgent | None:
    kind = _shipped(reading.given["kind"], joined(reading.path, "kind"), sheet)
    if "goal" not in reading.given:
        return None if kind is None else ShippedAgent(kind)
    goal = parse_goal(reading.given["goal"], joined(reading.path, "goal"), sheet)
    return None if kind is None or goal is None else ShippedAgent(kind, goal)


def _shipped(value: object, path: str, sheet: Sheet) -> str | None:
    kind = value.replace("-", "_") if isinstance(value, str) else value
    if isinstance(kind, str) and kind in SHIPPED:
        return kind
    sheet.note(
        path, f"expected an agent that ships with us, got {shown(value)}; {advice(kind, tuple(SHIPPED))}"
    )
    return None
