"""The injector: which rule acts on which call, whatever their order and timing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.errors import InputError
from faultkit.faults.call.hang import Hang
from faultkit.faults.call.tool_error import ToolError
from faultkit.faults.call_fault import Call, Era, Send, Transport, Verdict
from faultkit.faults.stream.latency import Latency
from faultkit.mcp.injector import Injector, RuleCount, check_plan
from faultkit.mcp.run_log import misfit_text
from faultkit.mcp.targets import METHODS, Inventory
from faultkit.plan import Match, Plan, Rule, Trigger, parse_schedule
from tests.mcp.specs import parse_specs

BOTH: tuple[Era, ...] = ("legacy", "modern")
DB = Inventory("db", ("search", "fetch"), ("db://a", "db://b"), (), METHODS)


def call(name: str = "search", method: str = "tools/call", **fields: Any) -> Call:
    return Call(method, name, {}, fields.pop("id", 1), **fields)


def plan(*specs: str, seed: int | str = 7) -> Plan:
    return Plan(parse_specs(specs), seed)


def hit(injector: Injector, *names: str, now_s: float = 0.0) -> list[bool]:
    return [injector.decide(call(name), now_s) is not None for name in names]


def test_without_rules_nothing_happens() -> None:
    assert Injector(Plan()).decide(call(), 0.0) is None


def test_the_first_rule_that_acts_has_the_call() -> None:
    injector = Injector(plan("recover-after:1@search", "tool_error", "hang"))
    decided = [injector.decide(call(name), 0.0) for name in ("search", "search", "fetch")]
    assert [each and each[0].name for each in decided] == ["recover_after", "tool_error", "tool_error"]


def test_the_verdict_is_that_of_the_fault() -> None:
    decided = Injector(plan("slow:500")).decide(call(), 0.0)
    assert decided is not None
    assert decided[1] == Verdict(delay_s=0.5, effect="delay_ms", amount=500.0)


def test_only_calls_of_tools_are_touched_unless_asked_otherwise() -> None:
    injector = Injector(plan("hang"))
    for method in ("initialize", "ping", "tools/list", "resources/read", "prompts/get"):
        assert injector.decide(call("", method), 0.0) is None
    assert injector.decide(call(), 0.0) is not None
    assert Injector(plan("hang@tools/list")).decide(call("", "tools/list"), 0.0) is not None


def test_recovery_is_that_of_the_server_whatever_the_tool() -> None:
    injector = Injector(plan("recover-after:2"))
    assert hit(injector, "search", "fetch", "search", "other") == [True, True, False, False]


def test_a_rule_of_one_tool_counts_that_tool_only() -> None:
    injector = Injector(plan("fail-from:2@search"))
    assert hit(injector, "search", "fetch", "fetch", "search") == [False, False, False, True]


def test_counts_say_what_was_covered_and_what_was_injected() -> None:
    noted: list[tuple[str, str, int]] = []
    injector = Injector(
        plan("tool_error,first=1", "hang@search"),
        note=lambda rule, call, verdict: noted.append((rule.name, verdict.effect, call.nth)),
    )
    hit(injector, "search", "fetch", "search")
    assert injector.counts == {"tool_error": RuleCount(3, 1), "hang": RuleCount(2, 1)}
    assert noted == [("tool_error", "tool_error", 0), ("hang", "hang", 1)]


def test_what_only_looks_at_a_reply_is_no_injection() -> None:
    injector = Injector(plan("stale_value"))
    first, second = injector.decide(call(), 0.0), injector.decide(call(), 0.0)
    assert first is not None
    assert second is not None
    assert (first[1].effect, second[1].effect) == ("", "stale_value")
    answer(first[1], "one")
    assert injector.counts == {"stale_value": RuleCount(2, 0)}
    answer(second[1], "two")
    assert injector.counts == {"stale_value": RuleCount(2, 1)}


def answer(verdict: Verdict, text: str = "done", **members: Any) -> None:
    """Give the reply of the server to a verdict."""
    assert verdict.frames is not None
    result = {"content": [{"type": "text", "text": text}]} if text else {"content": []}
    verdict.frames({"jsonrpc": "2.0", "id": 1, **(members or {"result": result})})


@pytest.mark.parametrize(
    ("spec", "method", "text", "members"),
    [
        *(
            (kind, "tools/call", "", {"error": {"code": -32000, "message": "no"}})
            for kind in ("corrupt_value", "empty_result", "prompt_injection", "oversized_result")
        ),
        ("corrupt_value", "tools/call", "", {}),
        ("empty_result", "tools/call", "", {}),
        ("vanished_tools,tools=zzz", "tools/list", "", {"result": {"tools": [{"name": "a"}]}}),
        ("schema_drift,tools=zzz", "tools/list", "", {"result": {"tools": [{"name": "a"}]}}),
    ],
)
def test_a_reply_in_which_there_is_nothing_to_change_is_no_injection(
    spec: str, method: str, text: str, members: dict[str, Any]
) -> None:
    noted: list[str] = []
    injector = Injector(plan(spec), note=lambda rule, call, verdict: noted.append(rule.name))
    decided = injector.decide(call("", method), 0.0)
    assert decided is not None
    answer(decided[1], text, **members)
    assert [each.injected for each in injector.counts.values()] == [0]
    assert noted == []


def test_an_injection_is_counted_once_when_the_reply_comes() -> None:
    noted: list[str] = []
    injector = Injector(plan("corrupt_value"), note=lambda rule, call, verdict: noted.append(rule.name))
    decided = injector.decide(call(), 0.0)
    assert decided is not None
    assert decided[1].frames is not None
    assert decided[1].frames(None) == ()
    assert injector.counts == {"corrupt_value": RuleCount(1, 0)}
    for _ in range(2):
        answer(decided[1])
    assert injector.counts == {"corrupt_value": RuleCount(1, 1)}
    assert noted == ["corrupt_value"]


def test_an_injection_into_a_call_that_outlives_its_rule_is_counted() -> None:
    injector = Injector(plan("corrupt_value"))
    decided = injector.decide(call(), 0.0)
    assert decided is not None
    injector.set_plan(Plan())
    answer(decided[1])
    assert injector.total_counts == {"corrupt_value": RuleCount(1, 1)}


SPECS = ("flaky:0.4,seed=abc@a*", "slow:5%0.3", "corrupt_value%0.5", "tool_error%0.2@c")


def outcomes_by_call(injector: Injector, order: list[str]) -> dict[tuple[str, int], object]:
    """Return the outcome of each call by its name and number."""
    seen: dict[str, int] = {}
    found: dict[tuple[str, int], object] = {}
    for name in order:
        number = seen[name] = seen.get(name, -1) + 1
        decided = injector.decide(call(name), 0.0)
        found[name, number] = decided and (decided[0].name, replace(decided[1], frames=None))
    return found


@given(st.permutations(["a"] * 8 + ["ab"] * 8 + ["c"] * 8))
def test_the_same_calls_are_hit_in_any_interleaving_of_different_names(order: list[str]) -> None:
    usual = outcomes_by_call(Injector(plan(*SPECS)), sorted(order))
    assert outcomes_by_call(Injector(plan(*SPECS)), order) == usual
    assert None in usual.values()
    assert len({str(value) for value in usual.values()}) > 4


def test_another_seed_rule_or_server_has_other_luck() -> None:
    def luck(seed: int, server: str, name: str) -> list[bool]:
        rules = (Rule(name, Hang(), trigger=Trigger(probability=0.5)),)
        return hit(Injector(Plan(rules, seed), server), *["search"] * 40)

    usual = luck(7, "db", "rule")
    assert usual == luck(7, "db", "rule")
    assert 5 < sum(usual) < 35
    assert (
        len(
            {
                tuple(each)
                for each in (usual, luck(8, "db", "rule"), luck(7, "web", "rule"), luck(7, "db", "other"))
            }
        )
        == 4
    )


def test_a_burst_hits_calls_in_a_row_over_the_whole_server() -> None:
    rule = Rule("episode", Hang(), trigger=Trigger(after=1, every=4, burst=2))
    injector = Injector(Plan((rule,)))
    assert hit(injector, *"abcdefgh") == [False, False, False, False, True, True, False, False]


def test_episodes_begin_at_the_calls_that_the_seed_promises() -> None:
    rule = Rule("r", Hang(), trigger=Trigger(probability=0.2, burst=3))
    hits = hit(Injector(Plan((rule,), 7)), *"a" * 40)
    assert [place for place, is_hit in enumerate(hits) if is_hit] == [5, 6, 7, 13, 14, 15, 16, 17, 33, 34, 35]


def test_a_burst_of_one_tool_minds_no_other() -> None:
    rule = Rule("episode", Hang(), Match(tool="a"), Trigger(first=1, burst=2))
    assert hit(Injector(Plan((rule,))), *"bbabaa") == [False, False, True, False, True, False]


def test_a_rule_acts_and_counts_while_its_schedule_holds() -> None:
    rule = Rule(
        "late", ToolError(), trigger=Trigger(first=1), schedule=parse_schedule("start:10s,duration:5s")
    )
    injector = Injector(Plan((rule,)), now_s=100.0)
    assert [injector.decide(call(), now_s) is not None for now_s in (100, 109.9, 110, 111, 115)] == [
        False,
        False,
        True,
        False,
        False,
    ]
    assert injector.counts == {"late": RuleCount(2, 1)}


def test_a_plan_may_change_while_it_is_at_work() -> None:
    injector = Injector(plan("recover-after:2@search"))
    hit(injector, "search")
    injector.set_plan(plan("recover-after:2@search", "hang@fetch"))
    assert hit(injector, "search", "search", "fetch") == [True, False, True]
    assert list(injector.counts) == ["recover_after", "hang"]
    injector.set_plan(Plan())
    assert hit(injector, "search", "fetch") == [False, False]


def test_a_rule_that_has_changed_begins_anew() -> None:
    injector = Injector(plan("recover-after:1"))
    hit(injector, "search", "search")
    injector.set_plan(plan("recover-after:2"))
    assert hit(injector, "search", "search", "search") == [True, True, False]


def test_the_schedule_of_a_rule_that_comes_later_counts_from_its_coming() -> None:
    injector = Injector(Plan())
    rule = Rule("late", Hang(), schedule=parse_schedule("start:10s"))
    injector.set_plan(Plan((rule,)), now_s=50.0)
    assert [injector.decide(call(), now_s) is not None for now_s in (20, 59, 60)] == [False, False, True]


def test_a_plan_that_is_refused_changes_nothing() -> None:
    injector = Injector(plan("hang"))
    for bad, problem in (
        (Plan((Rule("x", Latency()),)), 'rules[0].fault: expected a fault of calls, got "latency"'),
        (
            Plan((Rule("x", Hang(), schedule=parse_schedule("start:50%")),)),
            'rules[0].schedule: expected durations such as "10s", got a share of the whole: "start:50%"',
        ),
    ):
        with pytest.raises(InputError) as caught:
            injector.set_plan(bad)
        assert str(caught.value).startswith(problem)
    assert injector.plan == plan("hang")
    assert hit(injector, "search") == [True]


def test_a_fault_of_one_era_passes_over_calls_of_the_other_and_says_so_once() -> None:
    injector = Injector(plan("unknown_result_type"))
    told: list[str] = []
    injector.on_misfit = lambda rule, call: told.append(misfit_text(rule, call))
    assert injector.decide(call(era="legacy"), 0.0) is None
    assert injector.decide(call(era="legacy"), 0.0) is None
    decided = injector.decide(call(era="modern"), 0.0)
    assert decided is not None
    answer(decided[1])
    assert injector.counts == {"unknown_result_type": RuleCount(1, 1, 2)}
    assert told == [
        'rule "unknown_result_type" injects nothing: unknown_result_type is for stdio in the modern era or '
        "http in the modern era, and this client uses stdio in the legacy era"
    ]


def test_the_counters_of_removed_rules_are_kept_for_the_end() -> None:
    injector = Injector(plan("hang"))
    injector.decide(call(), 0.0)
    injector.set_plan(plan("slow:5"))
    injector.decide(call(), 0.0)
    injector.set_plan(plan("hang"))
    injector.decide(call(), 0.0)
    assert injector.total_counts == {"hang": RuleCount(2, 2), "slow": RuleCount(1, 1)}
    assert injector.counts == {"hang": RuleCount(1, 1)}


def test_a_method_that_a_glob_covers_but_the_fault_does_not_know_is_passed_over() -> None:
    injector = Injector(Plan((Rule("x", ToolError(), Match(method="tools/*")),)))
    assert injector.decide(call("", "tools/list"), 0.0) is None
    assert injector.decide(call(), 0.0) is not None


def test_what_a_tool_says_of_its_results_is_minded() -> None:
    injector = Injector(plan("corrupt_value"))
    injector.learn_tools(
        [{"name": "search", "outputSchema": {"properties": {"v": {"enum": ["on", "off"]}}}}, {"name": "x"}, 5]
    )
    decided = injector.decide(call(), 0.0)
    assert decided is not None
    assert decided[1].frames is not None
    reply = {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "structuredContent": {"v": "on"}}}
    (frame,) = decided[1].frames(reply)
    assert isinstance(frame, Send)
    assert isinstance(frame.message, dict)
    assert frame.message["result"]["structuredContent"] == {"v": "off"}


def test_a_client_that_makes_up_names_without_end_fills_no_memory() -> None:
    injector = Injector(plan("hang,first=1"))
    for number in range(10_050):
        injector.decide(call(f"tool-{number}"), 0.0)
    assert injector.counts == {"hang": RuleCount(10_050, 1)}


@pytest.mark.parametrize(
    ("spec", "transport", "eras", "problem"),
    [
        (
            "keep_alive_only",
            "stdio",
            BOTH,
            "rules[0].fault: expected one that fits stdio in the legacy or modern era, got "
            '"keep_alive_only", which is for http in the legacy era, http in the modern era: '
            "use hang, or progress_storm to keep the client waiting",
        ),
        (
            "header_mismatch",
            "http",
            ("legacy",),
            'rules[0].fault: expected one that fits http in the legacy era, got "header_mismatch", which is '
            "for http in the modern era: use http_status (400) in the legacy era, protocol_error over stdio",
        ),
        (
            "reply_after_cancel",
            "http",
            ("modern",),
            'rules[0].fault: expected one that fits http in the modern era, got "reply_after_cancel", which '
            "is for stdio in the legacy era, stdio in the modern era, http in the legacy era: "
            "use slow: over HTTP in the modern era, a client cancels by closing the stream",
        ),
        (
            "rate_limit:http",
            "stdio",
            BOTH,
            'rules[0].fault: expected one that fits stdio in the legacy or modern era, got "rate_limit", '
            "which is for http in the legacy era, http in the modern era: form jsonrpc fits everywhere, "
            "http only over HTTP, the other two only tools/call",
        ),
    ],
)
def test_a_fault_that_makes_no_sense_there_is_refused_with_what_would_fit(
    spec: str, transport: Transport, eras: tuple[Era, ...], problem: str
) -> None:
    with pytest.raises(InputError) as caught:
        check_plan(plan(spec), transport, eras)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (
            "hang@serch",
            "rules[0].match.tool: no tool is named \"serch\"; did you mean 'search'? (tools: fetch, search)",
        ),
        ("hang@x*", 'rules[0].match.tool: no tool is named "x*" (tools: fetch, search)'),
        ("vanished_tools:x", 'rules[0].with.tools: no tool is named "x" (tools: fetch, search)'),
        ("hang@server:web", 'rules[0].match.server: expected "db" or a glob of it, got "web"'),
        (
            "hang@resource:db://c",
            "rules[0].match.resource: no resource is named \"db://c\"; did you mean 'db://b'? "
            "(resources: db://a, db://b)",
        ),
        ("hang@prompt:zzz", 'rules[0].match.prompt: no prompt is named "zzz" (prompts: none)'),
        (
            "hang@method:tols/call",
            "rules[0].match.method: no method is named \"tols/call\"; did you mean 'tools/call'? "
            f"(methods: {', '.join(sorted(METHODS))})",
        ),
    ],
)
def test_a_target_that_is_not_there_is_refused(spec: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        check_plan(plan(spec), "stdio", BOTH, DB)
    assert str(caught.value) == problem


def test_of_several_methods_the_one_that_is_not_there_is_named() -> None:
    rule = Rule("r", Hang(), Match(method=("tools/call", "ping", "pong")))
    with pytest.raises(InputError, match=r'^rules\[0\]\.match\.method\[2\]: no method is named "pong"'):
        check_plan(Plan((rule,)), "stdio", BOTH, DB)


def test_a_rule_for_a_server_is_refused_where_the_server_has_no_name() -> None:
    with pytest.raises(InputError) as caught:
        check_plan(plan("hang@server:web"), "stdio", BOTH, Inventory(server=""))
    problem = 'rules[0].match.server: expected a server that has a name (--name), got "web"'
    assert str(caught.value) == problem
    check_plan(plan("hang@server:*"), "stdio", BOTH, Inventory(server=""))


def test_a_share_of_the_whole_is_refused_since_serving_has_no_end() -> None:
    shares = Plan((Rule("r", Hang(), schedule=parse_schedule("start:10%")),))
    problem = (
        r'^rules\[0\]\.schedule: expected durations such as "10s", got a share of the whole: "start:10%"$'
    )
    with pytest.raises(InputError, match=problem):
        check_plan(shares, "stdio", BOTH)
    with pytest.raises(InputError, match=problem):
        Injector(shares)


def test_a_plan_that_fits_is_taken() -> None:
    fitting = plan(
        *("hang@se*", "unknown_result_type", "vanished_tools:fetch", "schema_drift", "hang@server:d*"),
        *("hang@resource:db://*", "slow:5@method:prompts/*", "hang@tools/list", "hang@method:*"),
    )
    check_plan(fitting, "http", BOTH, DB)
    check_plan(plan("hang@anything"), "stdio", ("legacy",))
