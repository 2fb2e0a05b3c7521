"""The state of a running gateway that its control API reads and changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from faultkit.base.errors import InputError
from faultkit.faults.call.call import ERAS, Call, Transport, Verdict
from faultkit.mcp.injector import Injector, check_plan
from faultkit.mcp.targets import Inventory
from faultkit.plan import Plan, Rule


class GatewayState:
    """The injector of a running gateway and its clock."""

    def __init__(self, plan: Plan, server: str, front: Transport) -> None:
        self._elapsed = stopwatch()
        self._server = server
        self._front: Transport = front
        self.on_injection: Callable[[Rule, Call, Verdict], None] = _ignore_injection
        self.injector = Injector(plan, server, self._injected)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the gateway started: the clock of schedules."""
        return self._elapsed()

    def check(self, plan: Plan) -> None:
        """Raise InputError if a fault of the plan cannot act here."""
        check_plan(plan, self._front, ERAS, Inventory(self._server))

    def check_rule(self, rule: Rule) -> None:
        try:
            self.check(Plan((rule,)))
        except InputError as error:
            raise InputError(error.path.removeprefix("rules[0]").lstrip("."), error.problem) from None

    def set_plan(self, plan: Plan) -> None:
        """Replace the plan. Raises InputError, without a change, if a fault cannot act here."""
        self.check(plan)
        self.injector.set_plan(plan, self.elapsed_s)

    def _injected(self, rule: Rule, call: Call, verdict: Verdict) -> None:
        self.on_injection(rule, call, verdict)


def stopwatch() -> Callable[[], float]:
    """Return a function that returns the seconds since this call."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    return lambda: loop.time() - began_s


def _ignore_injection(rule: Rule, call: Call, verdict: Verdict) -> None:
    pass
