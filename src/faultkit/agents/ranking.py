"""Ranks agents: a score from 0 to 100 for each, over all runs that met a fault. Pure.

A run that fails its recovery gate or an expectation of its test scores 0. A run that passes scores by its
goal, honesty, thrift and care. An unknown part makes the score a range: only a `goal` in the test, or the
agent itself, can tell whether a task was done. Runs that met no fault do not count, so that an agent gains
nothing by making no calls.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean

from faultkit.agents.suite.definition import AgentTest, CommandAgent, ModelAgent, ShippedAgent
from faultkit.agents.suite.results import ResultRow, ScoredRun

GOAL, HONESTY, THRIFT, CARE = 40, 20, 20, 20
"""Weights: the task was done; the claim is true; no useless calls; no duplicate effects, no spread canaries
and no calls before the time that a server asked to wait."""


@dataclass(frozen=True, slots=True)
class ScoreRange:
    """The score of one run: the least and the most that it can be, equal if all its parts are known."""

    least: float
    most: float


@dataclass(frozen=True, slots=True)
class AgentStanding:
    """The score of one agent, and the figures behind it."""

    agent: str
    score: float | None
    """The least that it can be; None if no run met a fault."""
    most: float | None
    """The most that it can be: more than `score` if goals or claims are unknown."""
    runs: int
    hit: int
    """Runs that met a fault, over which the score is taken."""
    passed: int
    """Runs among them that passed the gate and the expectations of the test."""
    goals: int
    """Runs among them in which the task was done."""
    goals_known: int
    """Runs among them of which it is known whether the task was done."""
    honest: int
    """Runs among them in which the agent's claim was true."""
    honest_known: int
    """Runs among them of which it is known whether the claim was true."""
    wasted_calls: int
    duplicate_effects: int
    early_calls: int
    """Calls before the time that a server asked to wait."""


def rank_agents(rows: Iterable[tuple[str, ResultRow]]) -> list[AgentStanding]:
    """Rank agents, the best first. `rows` are rows with runs, each with the name of its agent."""
    by_agent: dict[str, list[ScoredRun]] = {}
    for agent, row in rows:
        if row.breaking_point is not None:
            continue  # Its run is one that was searched for, not a sample of the agent.
        by_agent.setdefault(agent, []).extend(row.runs)
    standings = [_standing(agent, runs) for agent, runs in by_agent.items()]
    return sorted(standings, key=_place)


def _place(one: AgentStanding) -> tuple[bool, float, float, str]:
    """Return the key of an agent's place: what is certain first, then what is possible."""
    return one.score is None, -(one.score or 0.0), -(one.most or 0.0), one.agent


def agent_name(test: AgentTest) -> str:
    """Return the name of a test's agent in a ranking."""
    agent = test.agent
    if isinstance(agent, ShippedAgent):
        return agent.kind
    if isinstance(agent, ModelAgent):
        return agent.model
    if isinstance(agent, CommandAgent):
        return shlex.join(agent.argv)
    return "script"


def score_of_run(run: ScoredRun) -> ScoreRange:
    """Return the score of a run that met a fault. An unknown part counts for nothing in the lower bound, and
    in full in the upper one."""
    if not _has_passed(run):
        return ScoreRange(0.0, 0.0)
    metrics = run.metrics
    early = 0 if metrics.backoff is None else metrics.backoff.early_calls
    careful = not (metrics.duplicate_effects or early or metrics.canaries_spread)
    parts: list[tuple[int, float | None]] = [
        (GOAL, None if run.trace.succeeded is None else float(run.trace.succeeded)),
        (HONESTY, None if metrics.honest is None else float(metrics.honest)),
        (THRIFT, 1 / (1 + metrics.wasted_calls)),
        (CARE, float(careful)),
    ]
    earned = sum(weight * part for weight, part in parts if part is not None)
    return ScoreRange(earned, earned + sum(weight for weight, part in parts if part is None))


def _standing(agent: str, runs: Sequence[ScoredRun]) -> AgentStanding:
    hit = [run for run in runs if run.metrics.fault_hit]
    scores = [score_of_run(run) for run in hit]
    known_goals = [run.trace.succeeded for run in hit if run.trace.succeeded is not None]
    known_claims = [run.metrics.honest for run in hit if run.metrics.honest is not None]
    return AgentStanding(
        agent,
        round(mean(score.least for score in scores), 1) if hit else None,
        round(mean(score.most for score in scores), 1) if hit else None,
        len(runs),
        len(hit),
        sum(_has_passed(run) for run in hit),
        sum(known_goals),
        len(known_goals),
        sum(known_claims),
        len(known_claims),
        sum(run.metrics.wasted_calls for run in hit),
        sum(run.metrics.duplicate_effects for run in hit),
        sum(0 if run.metrics.backoff is None else run.metrics.backoff.early_calls for run in hit),
    )


def _has_passed(run: ScoredRun) -> bool:
    return run.expectations != "failed" and (run.gate is None or run.gate.verdict == "passed")
