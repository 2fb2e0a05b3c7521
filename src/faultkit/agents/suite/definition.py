"""A suite as its files define it: servers, faults, agents, scripts and tests.

Values only, checked by the parsers that build them: nothing here reads a file or runs a test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from faultkit.agents.suite.agent_interface import PlannedCall as PlannedCall
from faultkit.agents.suite.agent_interface import RunBudget
from faultkit.agents.suite.gate import RecoveryGate
from faultkit.base.errors import TargetError
from faultkit.llm.mock.mock_answers import ScriptedTurn
from faultkit.llm.providers import CustomProvider as CustomProvider
from faultkit.mcp.mock.mock_model import Manifest
from faultkit.plan import Plan, Rule

if TYPE_CHECKING:
    from faultkit.mcp.mock.mock_recording import Recording
    from faultkit.scenario.trial_search import TrialSearch


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """File and line of a definition."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class CommandServer:
    """A server that is started as a program, over stdio."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None


@dataclass(frozen=True, slots=True)
class SecretHeader:
    """A header whose value an environment variable holds, which is read when the server is connected."""

    name: str
    variable: str
    key: str
    """The key of the server that names the variable: `auth.bearer_token_env`."""
    scheme: str = ""
    """What stands before the value: `Bearer `."""


@dataclass(frozen=True, slots=True)
class UrlServer:
    """A server that is reached over HTTP."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    secret_headers: tuple[SecretHeader, ...] = ()
    request_s: float | None = None
    """Longest time of one request; None: only the limits of the test apply."""
    connect_s: float | None = None
    """Longest time until the session is open; None: the usual one."""
    ready_s: float | None = None
    """How long a server that cannot be reached is tried again; None: it must be there."""
    ready_url: str = ""
    """URL that must answer with 2xx before the server is connected; empty: none."""

    def all_headers(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return the headers of each request. Raises TargetError for a variable that is not set."""
        found = dict(self.headers)
        for header in self.secret_headers:
            value = env.get(header.variable, "")
            if not value:
                raise TargetError(
                    f"{self.url}: expected the variable {header.variable}, "
                    f"which {header.key} names, to be set"
                )
            found[header.name] = f"{header.scheme}{value}"
        return found


@dataclass(frozen=True, slots=True)
class MockServer:
    """A manifest or a recording that Faultkit serves."""

    tools_from: str
    """The manifest's file: the suite's own if the manifest is inline."""
    source: Manifest | Recording | None = field(default=None, repr=False)
    """Contents of the file; None if it was not read yet."""


Serving: TypeAlias = CommandServer | UrlServer | MockServer


@dataclass(frozen=True, slots=True)
class SuiteServer:
    """A server under the name that tests use."""

    name: str
    serving: Serving
    place: SourcePlace


@dataclass(frozen=True, slots=True)
class SuiteFault:
    """A rule under the name by which tests inject it."""

    name: str
    rule: Rule
    place: SourcePlace

    @property
    def is_of_model(self) -> bool:
        """True if it acts on requests to the agent's model, not on calls."""
        return self.rule.fault.level == "llm"


# Agents under test


@dataclass(frozen=True, slots=True)
class ModelAgent:
    """A model in a loop with the tools."""

    model: str
    """The name in the file: `claude-sonnet-4-5`, `ollama/gemma3:4b`."""
    provider: str = ""
    """One of the suite's `providers`, or a well-known one; empty: it is found by the model's name."""
    max_tokens: int = 1024


@dataclass(frozen=True, slots=True)
class ShippedAgent:
    """A script that ships with Faultkit."""

    kind: str
    """A key of SHIPPED_AGENTS."""
    goal: AgentGoal | None = None
    """None: call the first tool that an injected fault targets, with arguments made from its schema."""


@dataclass(frozen=True, slots=True)
class ScriptAgent:
    """A script that the suite defines."""

    script: Script


@dataclass(frozen=True, slots=True)
class CommandAgent:
    """An external program. Its servers run behind gateways that inject the faults."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None


AgentUnderTest: TypeAlias = ModelAgent | ShippedAgent | ScriptAgent | CommandAgent


# Tests


@dataclass(frozen=True, slots=True)
class SuiteExpectation:
    """A matcher that the value of a target must satisfy."""

    target: str
    """`final_response`, `tool_calls[0].name`, `result.content[0].text` …"""
    matcher: str
    """A row of MATCHERS."""
    wanted: Any
    place: SourcePlace
    message: str = ""
    """What a failure means, by the author of the suite."""
    is_empty: bool = False
    """The matcher holds for every value, so nothing is asserted: `contains: ""`."""

    @property
    def is_of_answer(self) -> bool:
        """True if the target is a part of the answer of a call, not the duration of the call."""
        return self.target.startswith(("result", "error"))

    @property
    def judges_agent(self) -> bool:
        """True if it is about what an agent said or did, and could fail. Numbers and outcomes of calls show
        nothing of what the agent made of an answer."""
        root, _, rest = self.target.replace("[", ".").partition(".")
        if self.is_empty or root not in ("final_response", "tool_calls", "tool_names", "effects"):
            return False
        return ".args" in self.target or rest.rpartition(".")[2] not in _NUMBERS_AND_OUTCOMES


_NUMBERS_AND_OUTCOMES = ("length", "outcome", "fault", "server", "start_ms", "end_ms")


@dataclass(frozen=True, slots=True)
class TaskGoal:
    """What shows that a task was done, and what the agent claims."""

    expect: tuple[SuiteExpectation, ...]
    """They all hold if the task was done."""
    claim: tuple[SuiteExpectation, ...] = ()
    """They all hold if the agent claims that it did the task; empty: only the agent itself can say so."""

    @property
    def is_empty(self) -> bool:
        """True if it holds for every run, so it does not show whether the task was done."""
        return all(expectation.is_empty for expectation in self.expect)

    @property
    def tells_claim(self) -> bool:
        """True if it is about what the agent claims."""
        return not all(expectation.is_empty for expectation in self.claim)


@dataclass(frozen=True, slots=True)
class AgentTest:
    """A test of an agent."""

    name: str
    agent: AgentUnderTest
    servers: tuple[str, ...]
    place: SourcePlace
    prompt: str = ""
    system_prompt: str = ""
    inject: tuple[str, ...] = ()
    recovery: RecoveryGate | None = None
    goal: TaskGoal | None = None
    """How to tell whether the task was done; None: only scripts know."""
    expect: tuple[SuiteExpectation, ...] = ()
    error_recovery: int | None = None
    """`orchestration.error_recovery`: least percentage of failed calls that recovered later."""
    budget: RunBudget = field(default_factory=RunBudget)
    mock_model: tuple[ScriptedTurn, ...] = ()
    """Turns of a mock that answers in place of the model; empty: there is none."""
    breakpoint: TrialSearch | None = None
    """The setting of an injected fault that is searched for where the test breaks; its place is that in
    `inject`."""
    allow_unhit: bool = False
    """A run that met no fault may pass."""
    runs: int = 1
    min_pass_rate: int | None = None
    """Percentage of runs that must pass, with 95 % confidence; None: every run must pass."""
    tags: tuple[str, ...] = ()
    skip: str = ""
    """Why the test is skipped; empty if it runs."""
    only: bool = False
    """If a test has this, only such tests are run."""

    @property
    def server_names(self) -> tuple[str, ...]:
        """The servers that the test uses."""
        return self.servers

    @property
    def asserts_nothing(self) -> bool:
        """True if the test injects nothing, and expects nothing that could fail."""
        return (
            not self.inject
            and self.error_recovery is None
            and all(expectation.is_empty for expectation in self.expect)
        )

    @property
    def judges_agent(self) -> bool:
        """True if its goal or its expectations show whether a changed answer misled the agent."""
        of_goal = () if self.goal is None else self.goal.expect
        return any(expectation.judges_agent for expectation in (*of_goal, *self.expect))


@dataclass(frozen=True, slots=True)
class TokenLimit:
    """A limit of the estimated tokens of a result."""

    most: int
    is_remark: bool = False
    """A larger result is remarked on, and does not fail the test."""


REQUESTED_METHODS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
"""Methods that a test may have as its `tool`, as suites of mcptest do."""


@dataclass(frozen=True, slots=True)
class ToolTest:
    """A test of one call of a tool, or of one request of a list."""

    name: str
    server: str
    tool: str
    place: SourcePlace
    arguments: Mapping[str, Any] = field(default_factory=dict)
    expect: tuple[SuiteExpectation, ...] = ()
    inject: tuple[str, ...] = ()
    max_duration_ms: float | None = None
    max_response_tokens: TokenLimit | None = None
    allow_unhit: bool = False
    tags: tuple[str, ...] = ()
    skip: str = ""
    only: bool = False

    @property
    def server_names(self) -> tuple[str, ...]:
        """The server that the test uses."""
        return (self.server,)

    @property
    def method(self) -> str:
        """The method that the test requests in place of a call of a tool; empty for a call."""
        return self.tool if self.tool in REQUESTED_METHODS else ""

    @property
    def asserts_nothing(self) -> bool:
        """True if the test has expectations, and none of them could fail."""
        return bool(self.expect) and all(expectation.is_empty for expectation in self.expect)


SuiteTest: TypeAlias = AgentTest | ToolTest


@dataclass(frozen=True, slots=True)
class UnrunLane:
    """A part of a suite that another program runs and Faultkit does not."""

    name: str
    reason: str
    place: SourcePlace


@dataclass(frozen=True, slots=True)
class Suite:
    """All that one suite file defines, with its imports."""

    file: str
    servers: tuple[SuiteServer, ...] = ()
    faults: tuple[SuiteFault, ...] = ()
    agents: tuple[AgentTest, ...] = ()
    tools: tuple[ToolTest, ...] = ()
    providers: tuple[CustomProvider, ...] = ()
    seed: int | str = 0
    files: tuple[str, ...] = ()
    """Every file that was read: the suite, its imports, its mocks' manifests."""
    variables: frozenset[str] = frozenset()
    """Names of the variables that the files refer to."""
    unrun_lanes: tuple[UnrunLane, ...] = ()
    most_usd: float | None = None
    """The most that all runs of the suite may cost, in US dollars."""

    @property
    def tests(self) -> tuple[SuiteTest, ...]:
        """All tests."""
        return (*self.tools, *self.agents)

    def plan(self, faults: Sequence[str], seed: int | str) -> Plan:
        """Return a plan with the rules of these faults of calls, by their names."""
        return Plan(tuple(self._rules(faults, of_model=False)), seed)

    def model_plan(self, faults: Sequence[str], seed: int | str) -> Plan:
        """Return a plan with the rules of these faults of the agent's model, by their names."""
        return Plan(tuple(self._rules(faults, of_model=True)), seed)

    def _rules(self, names: Sequence[str], *, of_model: bool) -> Iterator[Rule]:
        faults = {fault.name: fault for fault in self.faults}
        return (faults[name].rule for name in names if faults[name].is_of_model == of_model)


# Scripts


@dataclass(frozen=True, slots=True)
class ScriptRetry:
    """How often a failed call is repeated, and the waits in between."""

    attempts: int = 3
    """Attempts in all, with the first one; 0 means no limit."""
    wait_ms: float = 0.0
    """Wait before the second attempt."""
    factor: float = 2.0
    """Growth of the wait from one attempt to the next."""
    jitter: float = 0.0
    """Share of a wait by which it may be shorter or longer."""
    obeys: bool = False
    """Wait as long as the server asks (`retryAfter`) if that is longer."""


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """A call, and the ways around its failure in the order in which they are tried."""

    call: PlannedCall
    retry: ScriptRetry = ScriptRetry(attempts=1)
    verify: PlannedCall | None = None
    """Made before each repeated attempt: if its result contains `verified`, the call is not repeated."""
    verified: str = ""
    """Text that shows that the call had been done."""
    fallback: PlannedCall | None = None
    """Made if all attempts failed."""
    goes_on: bool = False
    """Continue with the next step after a failure."""


@dataclass(frozen=True, slots=True)
class Script:
    """The steps of a scripted agent, and its answer."""

    steps: tuple[ScriptStep, ...]
    say: str = ""
    """Answer if all steps succeeded; empty: the text of the last call."""
    say_on_failure: str = "I could not do it: {error}"


@dataclass(frozen=True, slots=True)
class AgentGoal:
    """The task of a shipped agent: a call, and the ways around its failure."""

    call: PlannedCall
    fallback: PlannedCall | None = None
    verify: PlannedCall | None = None
    verified: str = ""
