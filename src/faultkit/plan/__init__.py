"""Where and when faults act: match, trigger, schedule, rule, plan. Values and pure functions.

Only `faultkit.plan.plan_file` reads a file. Nothing here knows sockets, clocks or event loops.
"""

from faultkit.plan.match import Direction, Flow, Match, Side, escape_glob, flows
from faultkit.plan.plan import (
    Plan,
    acts_elsewhere,
    check_call_plan,
    check_call_rule,
    check_llm_plan,
    check_llm_rule,
    check_network_plan,
    check_network_rule,
    dump_plan,
    dump_rule,
    llm_namesake,
)
from faultkit.plan.plan_file import PlanFile, load_plan, load_plan_file, read_plan
from faultkit.plan.plan_keys import parse_plan, parse_rule, plan_schema
from faultkit.plan.rule import Rule, fresh_name
from faultkit.plan.schedule import Percent, Period, Schedule, Seconds, Windows, parse_schedule
from faultkit.plan.trigger import Trigger

__all__ = [
    "Direction",
    "Flow",
    "Match",
    "Percent",
    "Period",
    "Plan",
    "PlanFile",
    "Rule",
    "Schedule",
    "Seconds",
    "Side",
    "Trigger",
    "Windows",
    "acts_elsewhere",
    "check_call_plan",
    "check_call_rule",
    "check_llm_plan",
    "check_llm_rule",
    "check_network_plan",
    "check_network_rule",
    "dump_plan",
    "dump_rule",
    "escape_glob",
    "flows",
    "fresh_name",
    "llm_namesake",
    "load_plan",
    "load_plan_file",
    "parse_plan",
    "parse_rule",
    "parse_schedule",
    "plan_schema",
    "read_plan",
]
