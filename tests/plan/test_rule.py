"""Rule: that a fault and its conditions fit together."""

from __future__ import annotations

import pytest

from faultkit.faults.call.hang import Hang
from faultkit.faults.call.prompt_injection import PromptInjection
from faultkit.faults.call.rate_limit import RateLimit
from faultkit.faults.call.tool_error import ToolError
from faultkit.faults.call.vanished_tools import VanishedTools
from faultkit.faults.connection.refuse import Refuse
from faultkit.faults.fault import Fault
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.latency import Latency
from faultkit.plan.match import Match
from faultkit.plan.rule import Rule, fresh_name
from faultkit.plan.schedule import Schedule, parse_schedule
from faultkit.plan.trigger import Trigger


@pytest.mark.parametrize(
    ("fault", "match"),
    [
        (Latency(), Match(proxy="db", side="client", direction="both")),
        (HttpError(), Match(method="GET", path="/*", headers=(("a", "*"),))),
        (Refuse(), Match(proxy="db")),
        (Hang(), Match(server="db", tool="search*")),
        (Hang(), Match(method=("tools/*", "ping"))),
        (Hang(), Match(resource="file:*", method="resources/subscribe")),
        (PromptInjection(), Match(prompt="hello")),
    ],
)
def test_a_fault_takes_the_conditions_of_its_level(fault: Fault, match: Match) -> None:
    assert Rule("any", fault, match).match == match


@pytest.mark.parametrize(
    ("fault", "match", "problem"),
    [
        (
            Latency(),
            Match(method="GET"),
            "match.method: expected only with faults of level http or call or llm, "
            'got "latency", which is of level stream',
        ),
        (
            Latency(),
            Match(path="/"),
            "match.path: expected only with faults of level http or llm, "
            'got "latency", which is of level stream',
        ),
        (
            Refuse(),
            Match(headers=(("a", "*"),)),
            "match.headers: expected only with faults of level http or llm, "
            'got "refuse", which is of level connection',
        ),
        (
            Refuse(),
            Match(side="client"),
            'match.side: expected only with faults of level stream, got "refuse", '
            "which is of level connection",
        ),
        (
            HttpError(),
            Match(direction="both"),
            "match.direction: expected only with faults of level stream, "
            f'got "{HttpError.kind}", which is of level http',
        ),
        (
            HttpError(),
            Match(method="tools/call"),
            'match.method: expected an HTTP method such as GET, got "tools/call"',
        ),
        (
            Hang(),
            Match(method="GET"),
            'match.method: expected an MCP method such as tools/call, got "GET"',
        ),
        (
            Hang(),
            Match(proxy="db"),
            "match.proxy: expected only with faults of level stream or connection or name or tls or http "
            'or llm, got "hang", which is of level call',
        ),
        (
            Latency(),
            Match(tool="search"),
            'match.tool: expected only with faults of level call, got "latency", which is of level stream',
        ),
        (
            ToolError(),
            Match(method="tools/list"),
            "match.method: expected tool_error on tools/call, got tools/list "
            "(use protocol_error for methods other than tools/call)",
        ),
        (
            VanishedTools(),
            Match(tool="search"),
            "match.tool: expected vanished_tools on tools/list, got tools/call "
            "(its setting `tools` names the tools that are missing)",
        ),
        (
            RateLimit(form="hidden"),
            Match(resource="file:*"),
            "match.resource: expected rate_limit on tools/call, got resources/read "
            "(form jsonrpc fits everywhere, http only over HTTP, the other two only tools/call)",
        ),
    ],
)
def test_a_condition_that_the_fault_cannot_mind_is_refused(fault: Fault, match: Match, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        Rule("any", fault, match)
    assert str(caught.value) == problem


def test_only_faults_of_calls_come_in_bursts() -> None:
    assert Rule("any", Hang(), trigger=Trigger(burst=3)).trigger.burst == 3
    with pytest.raises(ValueError) as caught:
        Rule("any", Latency(), trigger=Trigger(burst=3))
    assert str(caught.value) == (
        'trigger.burst: expected only with faults of level call, got "latency", which is of level stream'
    )


@pytest.mark.parametrize("name", ["", " a", "a ", "a\nb"])
def test_a_name_that_cannot_be_shown_on_one_line_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name: expected printable text without blanks around it"):
        Rule(name, Latency())


def test_a_fresh_name_counts_up_from_two() -> None:
    assert fresh_name("latency", set()) == "latency"
    assert fresh_name("latency", {"latency"}) == "latency-2"
    assert fresh_name("latency", {"latency", "latency-2"}) == "latency-3"


@pytest.mark.parametrize(
    ("trigger", "schedule", "lasts"),
    [
        (Trigger(), Schedule(), True),
        (Trigger(after=3), parse_schedule("start:10s"), True),
        (Trigger(every=3, burst=3), Schedule(), True),
        (Trigger(first=1), Schedule(), False),
        (Trigger(every=2), Schedule(), False),
        (Trigger(probability=0.5), Schedule(), False),
        (Trigger(), parse_schedule("duration:10s"), False),
        (Trigger(), parse_schedule("duration:1s,every:10s"), False),
        (Trigger(), parse_schedule("duration:10s;start:60s"), True),
    ],
)
def test_a_rule_lasts_if_it_acts_to_the_end_once_it_has_acted(
    trigger: Trigger, schedule: Schedule, lasts: bool
) -> None:
    assert Rule("r", Hang(), trigger=trigger, schedule=schedule).lasts is lasts
