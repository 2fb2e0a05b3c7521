"""A gateway at work, as its control API sees it: what may be looked at and changed meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from faultkit.base.errors import InputError
from faultkit.faults.call.call import ERAS, Call, Transport, Verdict
from faultkit.mcp.injector import Injector, check_plan
from faultkit.mcp.targets import Inventory
from faultkit.plan import Plan, Rule


class Running:
    def __init__(self, plan: Plan, server: str, front: Transport) -> None:
        self._elapsed = stopwatch()
        self._server = server
        self._front: Transport = front
        self.on_injection: Callable[[Rule, Call, Verdict], None] = _nobody
        self.injector = Injector(plan, server, self._injected)

    @property
    def elapsed_s(self) -> float:
        """The clock of all who go by its plan: it says when the schedule of a new rule begins."""
        return self._elapsed()

    def check(self, plan: Plan) -> None:
        """InputError if a fault of it cannot act here."""
        check_plan(plan, self._front, ERAS, Inventory(self._server))

    def check_rule(self, rule: Rule) -> None:
        try:
            self.check(Plan((rule,)))
        except InputError as error:
            raise InputError(error.path.removeprefix("rules[0]").lstrip("."), error.problem) from None

    def set_plan(self, plan: Plan) -> None:
        """InputError if a fault of it cannot act here; nothing has changed then."""
        self.check(plan)
        self.injector.set_plan(plan, self.elapsed_s)

    def _injected(self, rule: Rule, call: Call, verdict: Verdict) -> None:
        self.on_injection(rule, call, verdict)


def stopwatch() -> Callable[[], float]:
    """Seconds from now on."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    return lambda: loop.time() - began_s


def _nobody(rule: Rule, call: Call, verdict: Verdict) -> None:
    pass
