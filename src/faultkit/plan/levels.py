"""Who carries a rule out: a proxy those of the network, a mock or a gateway those of calls.

A plan given to the wrong one is refused when it is set, with who would take it.
"""

from __future__ import annotations

from faultkit.base.errors import InputError
from faultkit.plan.plan import Plan
from faultkit.plan.rule import Rule


def check_network_rule(rule: Rule) -> None:
    """Raises InputError for a rule that no proxy can carry out."""
    if rule.fault.level == "call":
        raise InputError(
            "fault",
            f'expected a fault of the network, got "{rule.fault.kind}", which acts on calls: '
            "use fault gateway or fault mock",
        )


def check_call_rule(rule: Rule) -> None:
    """Raises InputError for a rule that no mock and no gateway can carry out."""
    if rule.fault.level != "call":
        raise InputError(
            "fault",
            f'expected a fault of calls, got "{rule.fault.kind}", which acts on the network: use fault run',
        )


def check_network_plan(plan: Plan) -> None:
    for index, rule in enumerate(plan.rules):
        try:
            check_network_rule(rule)
        except InputError as error:
            raise error.within(f"rules[{index}]") from None


def check_call_plan(plan: Plan) -> None:
    for index, rule in enumerate(plan.rules):
        try:
            check_call_rule(rule)
        except InputError as error:
            raise error.within(f"rules[{index}]") from None
