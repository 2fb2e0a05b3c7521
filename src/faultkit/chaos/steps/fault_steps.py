"""Steps with faults: `fault` changes the registry, `proxy` and `gateway` the plan of a running one.

The registry belongs to this process, so changes to it end with the process and are not written down; lasting
effects of its faults write down their own undo. Changes to a plan have a time limit at the control API, so
that they end even if every process here dies. They use the asynchronous HTTP client instead of ControlClient,
because a step that is out of time must be able to cancel its request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from urllib.parse import quote, urlsplit

from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import text
from faultkit.base.errors import InputError
from faultkit.chaos.named_faults.chaos_fault import ChaosFault, parse_chaos_fault
from faultkit.chaos.named_faults.fault_registry import FaultRegistry
from faultkit.chaos.safety.undo import Undo
from faultkit.chaos.steps.network_steps import ask
from faultkit.chaos.steps.step_work import (
    USUAL_STEP_LIMIT_S,
    RollbackEntry,
    StepContext,
    StepFailed,
    run_in_thread,
    to_json,
)
from faultkit.plan import (
    Plan,
    Rule,
    check_call_plan,
    check_call_rule,
    check_network_plan,
    check_network_rule,
    dump_plan,
    dump_rule,
    load_plan,
    parse_plan,
    parse_rule,
)

FAULT_CHANGES = ("register", "inject", "remove")
SETTINGS = (
    "fault_type",
    "probability",
    "duration_seconds",
    "error_message",
    "seed",
    "targets",
    "metadata",
)
"""Keys of `register`, named as in the tool `chaos_inject_fault`."""


@dataclass(frozen=True, slots=True)
class FaultChange:
    """A change of the fault registry."""

    change: str
    name: str
    fault: ChaosFault | None = None
    """The fault to register."""
    kind: ClassVar[str] = "fault"
    usual_limit_s: ClassVar[float] = 60.0

    @property
    def says(self) -> str:
        return f"{self.change} fault {self.name}"

    def resolve(self, context: StepContext) -> None:
        if context.registry is None:
            raise InputError(self.change, "expected a registry of faults, but this run has none")

    async def perform(self, context: StepContext) -> Any:
        return await self.act(context)

    async def act(self, context: StepContext) -> Any:
        assert context.registry is not None, "it was resolved"
        return await _ACTS[self.change](self, context, context.registry)

    def intend_removal(self, context: StepContext) -> None:
        """Add the removal to the rollback, as a step of the rollback asks."""
        registry = context.registry
        assert registry is not None, "it was resolved"
        context.rollback.add(self.says, lambda: registry.remove(self.name))

    async def _register(self, context: StepContext, registry: FaultRegistry) -> Any:
        assert self.fault is not None, "parsing sees to that"
        before = registry.held(self.name)
        if before is None:
            context.rollback.add(f"remove fault {self.name}", lambda: registry.remove(self.name))
        else:
            context.rollback.add(f"register fault {self.name} as it was", lambda: registry.put_back(before))
        fault = self.fault
        if fault.seed is None and context.seed is not None:
            fault = replace(fault, seed=context.seed)
        registry.register(fault, ttl_s=context.ttl_s())
        return {"registered": self.name}

    async def _inject(self, context: StepContext, registry: FaultRegistry) -> Any:
        if self.name not in registry:
            raise StepFailed(f'there is no fault named "{self.name}"')
        injection = await registry.ainject(self.name)
        if injection.began is not None:
            context.rollback.add(f"end the effect of fault {self.name}", lambda: registry.end(injection))
        return {"was_triggered": injection.was_triggered, "effect": to_json(injection.effect)}

    async def _remove(self, context: StepContext, registry: FaultRegistry) -> Any:
        before = registry.held(self.name)
        if before is not None:
            context.rollback.add(f"register fault {self.name} again", lambda: registry.put_back(before))
        return {"removed": self.name, "existed": await run_in_thread(lambda: registry.remove(self.name))}


_ACTS = {
    "register": FaultChange._register,
    "inject": FaultChange._inject,
    "remove": FaultChange._remove,
}


def parse_fault(value: object, path: str, problems: list[InputError]) -> FaultChange | None:
    """Return the step below `fault`, or None after adding its mistakes to `problems`."""
    before = len(problems)
    registers = isinstance(value, Mapping) and "register" in value
    reading = MappingReader(
        value, (*FAULT_CHANGES, *SETTINGS) if registers else FAULT_CHANGES, path, problems
    )
    chosen = [key for key in FAULT_CHANGES if key in reading.given]
    if reading.sound and len(chosen) != 1:
        got = " and ".join(chosen) or "none"
        problems.append(InputError(path, f"expected one of {', '.join(FAULT_CHANGES)}, got {got}"))
    if len(chosen) != 1:
        return None
    name = reading.need(chosen[0], text, "", "the name of a fault")
    fault = None
    if registers and len(problems) == before:
        settings = {key: reading.given[key] for key in SETTINGS if key in reading.given}
        try:
            fault = parse_chaos_fault({"name": name, **settings})
        except InputError as error:
            problems.append(error.within(path))
    return FaultChange(chosen[0], name, fault) if len(problems) == before else None


# --- plans of a proxy or gateway -------------------------------------------------------------------


PLAN_KEYS = ("control", "token", "add", "plan", "remove")
CONTROL_FORM = "the address of a control API such as 127.0.0.1:7070"
PLAN_CHANGES = ("add", "plan", "remove")


class _Refused(StepFailed):
    """The control API answered, and changed nothing."""


@dataclass(frozen=True, slots=True)
class PlanChange:
    """A change of the plan of a proxy or gateway."""

    of: str
    """`proxy` or `gateway`."""
    control: str
    """URL of its control API."""
    token: str
    add: Rule | None = None
    plan: Plan | str | None = None
    """A plan, or the path of one."""
    remove: str | None = None
    kind: ClassVar[str] = "plan"
    usual_limit_s: ClassVar[float] = USUAL_STEP_LIMIT_S

    @property
    def says(self) -> str:
        if self.add is not None:
            return f"add rule {self.add.name} to the {self._place}"
        if self.remove is not None:
            return f"remove rule {self.remove} from the {self._place}"
        return f"change the plan of the {self._place}"

    def resolve(self, context: StepContext) -> None:
        parts = urlsplit(self.control)
        context.limits.check_target(parts.hostname or "", parts.port, "control")
        self._plan(context)

    async def perform(self, context: StepContext) -> Any:
        return await self.act(context)

    async def act(self, context: StepContext) -> Any:
        if self.add is not None:
            # A unique name, so that the rollback removes this rule and no other.
            rule = replace(self.add, name=f"{self.add.name}-{context.run_id}")
            data = {**self._access, "rule": rule.name}
            says = f"remove rule {rule.name} from the {self._place}"
            entry = context.rollback.intend(Undo("rule", data, says))
            # The lease renews it. If every process here dies, it ends within the time of one lease.
            path = f"/rules?ttl={context.lease_s:.3f}"
            return await self._change(context, entry, "POST", path, dump_rule(rule))
        held = await self._ask("GET", "/plan", None)
        ends = (await self._ask("GET", "/status", None))["expires_in_s"]
        # Temporary rules belong to others. The rollback must not restore them, because they would stay for
        # ever.
        lasting = [rule for rule in held["rules"] if ends.get(rule["name"]) is None]
        if self.remove is not None:
            return await self._remove(context, self.remove, lasting)
        plan = self._plan(context)
        assert plan is not None
        before = {
            **self._access,
            "plan": {**held, "rules": lasting},
            "ours": [rule.name for rule in plan.rules],
            "covered": bool(held["rules"]) and not lasting,
        }
        says = f"put back the plan of the {self._place}"
        entry = context.rollback.intend(Undo("plan", before, says))
        return await self._change(context, entry, "PUT", f"/plan?ttl={context.ttl_s():.3f}", dump_plan(plan))

    async def _remove(self, context: StepContext, name: str, lasting: list[dict[str, Any]]) -> Any:
        path = f"/rules/{quote(name, safe='')}"
        rule = next((rule for rule in lasting if rule["name"] == name), None)
        if rule is None:
            return await self._ask("DELETE", path, None)
        says = f"add rule {name} to the {self._place} again"
        entry = context.rollback.intend(Undo("removed_rule", {**self._access, "rule": rule}, says))
        return await self._change(context, entry, "DELETE", path, None)

    def undo(self, context: StepContext, limit_s: float) -> Undo:
        if self.remove is not None:
            return Undo("rule", {**self._access, "rule": self.remove}, self.says, limit_s)
        plan = self._plan(context)
        assert plan is not None, "parsing allows nothing else in a rollback"
        return Undo("plan", {**self._access, "plan": dump_plan(plan)}, self.says, limit_s)

    @property
    def _place(self) -> str:
        return f"{self.of} at {urlsplit(self.control).netloc}"

    @property
    def _access(self) -> dict[str, Any]:
        return {"control": self.control, "token": self.token}

    def _plan(self, context: StepContext) -> Plan | None:
        if not isinstance(self.plan, str):
            return self.plan
        plan = load_plan(context.folder / self.plan)
        _CHECK_PLAN[self.of](plan)
        return plan

    async def _change(
        self, context: StepContext, entry: RollbackEntry, method: str, path: str, body: object
    ) -> Any:
        try:
            return await self._ask(method, path, body)
        except _Refused as refused:
            context.rollback.forget(entry, f"nothing was changed: {refused}")
            raise

    async def _ask(self, method: str, path: str, body: object) -> Any:
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        answer = await ask(method, self.control + path, headers, None if body is None else json.dumps(body))
        if answer["status"] >= 300:
            said = answer["body"]
            problem = said.get("error", {}).get("problem") if isinstance(said, dict) else said
            raise _Refused(f"{self.control} answered {answer['status']}: {problem}")
        return answer["body"]


_CHECK_RULE = {"proxy": check_network_rule, "gateway": check_call_rule}
_CHECK_PLAN = {"proxy": check_network_plan, "gateway": check_call_plan}


def parse_proxy(value: object, path: str, problems: list[InputError]) -> PlanChange | None:
    """Return the step below `proxy`, or None after adding its mistakes to `problems`."""
    return _parse("proxy", value, path, problems)


def parse_gateway(value: object, path: str, problems: list[InputError]) -> PlanChange | None:
    """Return the step below `gateway`, or None after adding its mistakes to `problems`."""
    return _parse("gateway", value, path, problems)


def _parse(of: str, value: object, path: str, problems: list[InputError]) -> PlanChange | None:
    before = len(problems)
    reading = MappingReader(value, PLAN_KEYS, path, problems)
    control = reading.need("control", _control, "", CONTROL_FORM)
    token = reading.need("token", text, "", "the token of the control API, such as ${FAULT_CONTROL_TOKEN}")
    chosen = [key for key in PLAN_CHANGES if key in reading.given]
    if reading.sound and len(chosen) != 1:
        got = " and ".join(chosen) or "none"
        problems.append(InputError(path, f"expected one of {', '.join(PLAN_CHANGES)}, got {got}"))

    def rule(given: object) -> Rule:
        found = parse_rule(given)
        _CHECK_RULE[of](found)
        return found

    def plan(given: object) -> Plan | str:
        if isinstance(given, str):
            return text(given)
        found = parse_plan(given)
        _CHECK_PLAN[of](found)
        return found

    added = reading.take("add", rule, None)
    put = reading.take("plan", plan, None)
    removed = reading.take("remove", text, None)
    return PlanChange(of, control, token, added, put, removed) if len(problems) == before else None


def _control(value: object) -> str:
    given = text(value)
    url = given if "://" in given else f"http://{given}"
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and bool(parts.port)
    except ValueError:
        fits = False
    if not fits or parts.path.strip("/") or parts.query:
        raise InputError("", f'expected {CONTROL_FORM}, got "{given}"')
    return url.rstrip("/")
