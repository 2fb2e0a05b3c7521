"""Where and when faults act: match, trigger, schedule, rule, plan. Values and pure functions.

Only `faultkit.plan.file` reads a file. Nothing here knows sockets, clocks or event loops.
"""

from faultkit.base.documents.yaml_text import read_document
from faultkit.plan.file import PlanFile, load_plan, load_plan_file, read_plan
from faultkit.plan.flow import Direction, Flow, Side, flows
from faultkit.plan.levels import check_call_plan, check_call_rule, check_network_plan, check_network_rule
from faultkit.plan.match import Match, escape_glob
from faultkit.plan.parse import parse_plan, parse_rule
from faultkit.plan.plan import Plan, dump_plan, dump_rule
from faultkit.plan.rule import Rule, fresh_name
from faultkit.plan.schedule import Percent, Period, Schedule, Seconds, parse_schedule
from faultkit.plan.schema import plan_schema
from faultkit.plan.trigger import Trigger
from faultkit.plan.windows import Windows

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
    "check_call_plan",
    "check_call_rule",
    "check_network_plan",
    "check_network_rule",
    "dump_plan",
    "dump_rule",
    "escape_glob",
    "flows",
    "fresh_name",
    "load_plan",
    "load_plan_file",
    "parse_plan",
    "parse_rule",
    "parse_schedule",
    "plan_schema",
    "read_document",
    "read_plan",
]
