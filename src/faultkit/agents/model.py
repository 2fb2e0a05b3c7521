"""A suite as it was written, checked: servers, faults, tests. Values only; nothing here runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from faultkit.agents.execute.budget import Budget
from faultkit.agents.gate import RecoveryGate
from faultkit.agents.kinds.shipped import Goal
from faultkit.agents.kinds.step import Script
from faultkit.mcp.mock.model import Manifest
from faultkit.plan import Rule

if TYPE_CHECKING:
    from faultkit.mcp.mock.recording import Recording


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was written."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class CommandServer:
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None


@dataclass(frozen=True, slots=True)
class UrlServer:
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MockServer:
    """A manifest or a recording, served by us."""

    tools_from: str
    """The file that it stands in: the suite itself, if that has the manifest."""
    source: Manifest | Recording | None = field(default=None, repr=False)
    """What the file holds; None: nobody has read it yet."""


Serving: TypeAlias = CommandServer | UrlServer | MockServer


@dataclass(frozen=True, slots=True)
class SuiteServer:
    name: str
    serving: Serving
    place: Place


@dataclass(frozen=True, slots=True)
class SuiteFault:
    """A rule of the one vocabulary, under the name by which tests inject it."""

    name: str
    rule: Rule
    place: Place


# --- who is tested --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelAgent:
    """A model in a loop with the tools."""

    model: str
    """As it was written: `claude-sonnet-4-5`, `ollama/gemma3:4b`."""
    provider: str = ""
    """One of the suite's `providers`, or one that is known by its name; by the model's name if empty."""
    max_tokens: int = 1024


@dataclass(frozen=True, slots=True)
class ShippedAgent:
    kind: str
    """A row of SHIPPED."""
    goal: Goal | None = None
    """None: the first tool that an injected fault is aimed at, with arguments made from its schema."""


@dataclass(frozen=True, slots=True)
class ScriptAgent:
    script: Script


@dataclass(frozen=True, slots=True)
class CommandAgent:
    """A program of others, whose servers stand behind the gateway."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None


AgentUnderTest: TypeAlias = ModelAgent | ShippedAgent | ScriptAgent | CommandAgent


@dataclass(frozen=True, slots=True)
class Provider:
    """An endpoint that speaks as OpenAI's does."""

    name: str
    base_url: str
    api_key_env: str = ""
    organization: str = ""


# --- what is wanted -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expectation:
    """Something that must hold of what a target names."""

    target: str
    """`final_response`, `tool_calls[0].name`, `result.content[0].text` …"""
    matcher: str
    """A row of MATCHERS."""
    wanted: Any
    place: Place


@dataclass(frozen=True, slots=True)
class AgentTest:
    name: str
    agent: AgentUnderTest
    servers: tuple[str, ...]
    place: Place
    prompt: str = ""
    system_prompt: str = ""
    inject: tuple[str, ...] = ()
    recovery: RecoveryGate | None = None
    expect: tuple[Expectation, ...] = ()
    error_recovery: int | None = None
    """`orchestration.error_recovery`: the least share, in percent, of errored calls that recovered later."""
    budget: Budget = field(default_factory=Budget)
    allow_unhit: bool = False
    runs: int = 1
    min_pass_rate: int | None = None
    """The share of runs, in percent, that has to pass, beyond chance; None: all of these runs."""
    tags: tuple[str, ...] = ()
    skip: str = ""
    """Why it is left out."""
    only: bool = False


@dataclass(frozen=True, slots=True)
class ToolTest:
    name: str
    server: str
    tool: str
    place: Place
    arguments: Mapping[str, Any] = field(default_factory=dict)
    expect: tuple[Expectation, ...] = ()
    inject: tuple[str, ...] = ()
    max_duration_ms: float | None = None
    allow_unhit: bool = False
    tags: tuple[str, ...] = ()
    skip: str = ""
    only: bool = False


@dataclass(frozen=True, slots=True)
class Suite:
    file: str
    servers: tuple[SuiteServer, ...] = ()
    faults: tuple[SuiteFault, ...] = ()
    agents: tuple[AgentTest, ...] = ()
    tools: tuple[ToolTest, ...] = ()
    providers: tuple[Provider, ...] = ()
    seed: int | str = 0
    files: tuple[str, ...] = ()
    """All that it was read from: itself, what it imports, and what its mocks serve."""
    variables: frozenset[str] = frozenset()
    """The names of those that its files make use of."""
