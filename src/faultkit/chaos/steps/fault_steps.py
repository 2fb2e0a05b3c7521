"""Steps with faults: `fault` changes the registry, `proxy` and `gateway` the plan of a running program.

For each: its keys, its work, and its builder. The registry belongs to this process, so changes to it end with
the process and are not written down; lasting effects of its faults write down their own undo. Changes to a
plan have a time limit at the control API, so that they end even if every process here dies. They use the
asynchronous HTTP client instead of ControlClient, because a step that is out of time must be able to cancel
its request.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar
from urllib.parse import urlsplit

from faultkit.base.documents.key_tables import Key, KeyTable
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import TEXT_SCHEMA, text
from faultkit.base.errors import InputError
from faultkit.base.secret_names import is_secret_name
from faultkit.chaos.named_faults.chaos_fault import ChaosFault, InstantEffect, parse_chaos_fault
from faultkit.chaos.named_faults.fault_registry import FaultRegistry
from faultkit.chaos.named_faults.registered_fault import RegisteredFault
from faultkit.chaos.safety.undo import Undo
from faultkit.chaos.steps.fault_settings import rule_settings, rule_text
from faultkit.chaos.steps.network_steps import send_request
from faultkit.chaos.steps.step_work import (
    ANY_MAPPING_SCHEMA,
    USUAL_STEP_LIMIT_S,
    FaultAtWork,
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
from faultkit.proxy.control.control_client import ControlClient, hits_of, rule_path

_FAULT_CHANGES = ("register", "inject", "remove")
FAULT = KeyTable(
    Key("register", text, TEXT_SCHEMA, "", "Registers a fault under this name, with the keys below."),
    Key("inject", text, TEXT_SCHEMA, "", "Carries out the registered fault of this name."),
    Key("remove", text, TEXT_SCHEMA, "", "Removes the registered fault of this name."),
    Key("fault_type", schema=TEXT_SCHEMA, help="What the fault does; `register` requires it."),
    Key("probability", schema={"type": "number"}, default=0.1, help="Probability that a call triggers it."),
    Key("duration_seconds", schema={"type": "number"}, default=0, help="How long it delays or lasts."),
    Key("error_message", schema=TEXT_SCHEMA, help="The text of the exception that it raises."),
    Key("seed", schema={"type": ["integer", "string"]}, help="By default the seed of the experiment."),
    Key("targets", schema={"type": "array", "items": TEXT_SCHEMA}, help="HOST:PORT of each target."),
    Key("metadata", schema=ANY_MAPPING_SCHEMA, help="Settings of its type."),
)
"""Exactly one of the first three is given. The others belong to `register`, are named as in the tool
`chaos_inject_fault`, and are read by `parse_chaos_fault`."""


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
        if self.fault is not None:
            context.limits.capped("most_duration_s", self.fault.duration_s, "duration_seconds")
            effect = self.fault.effect()
            if not isinstance(effect, InstantEffect):
                effect.check(context.limits, targets_too=True)

    async def perform(self, context: StepContext) -> Any:
        return await self.act(context)

    async def act(self, context: StepContext) -> Any:
        assert context.registry is not None, "resolve() has checked it"
        return await _ACTS[self.change](self, context, context.registry)

    def intend_removal(self, context: StepContext) -> None:
        """Add the removal to the rollback, as a step of the rollback asks."""
        registry = context.registry
        assert registry is not None, "resolve() has checked it"
        context.rollback.add(self.says, lambda: registry.remove(self.name))

    async def _register(self, context: StepContext, registry: FaultRegistry) -> Any:
        assert self.fault is not None, "build_fault has set it"
        before = registry.registered(self.name)
        if before is None:
            context.rollback.add(f"remove fault {self.name}", lambda: registry.remove(self.name))
        else:
            context.rollback.add(f"register fault {self.name} as it was", lambda: registry.restore(before))
        fault = self.fault
        if fault.seed is None and context.seed is not None:
            fault = replace(fault, seed=context.seed)
        registry.register(fault, ttl_s=context.ttl_s())
        _add_at_work(context, registry.registered(self.name))
        return {"registered": self.name}

    async def _inject(self, context: StepContext, registry: FaultRegistry) -> Any:
        if self.name not in registry:
            raise StepFailed(f'there is no fault named "{self.name}"')
        _add_at_work(context, registry.registered(self.name))
        injection = await registry.ainject(self.name)
        if injection.lasting_effect is not None:
            context.rollback.add(f"end the effect of fault {self.name}", lambda: registry.end(injection))
        return {"was_triggered": injection.was_triggered, "effect": to_json(injection.effect)}

    async def _remove(self, context: StepContext, registry: FaultRegistry) -> Any:
        before = registry.registered(self.name)
        if before is None:
            raise StepFailed(f'there is no fault named "{self.name}"')
        context.rollback.add(f"register fault {self.name} again", lambda: registry.restore(before))
        return {"removed": self.name, "existed": await run_in_thread(lambda: registry.remove(self.name))}


def _add_at_work(context: StepContext, registered: RegisteredFault | None) -> None:
    """Add a registered fault to those whose hits are counted, once."""
    if registered is None or any(each.source is registered for each in context.faults):
        return
    fault, before = registered.fault, registered.hits()
    control = fault.metadata.get("control")
    context.faults.append(
        FaultAtWork(
            fault.name,
            fault.fault_type,
            _settings_of(fault),
            "the runner" if control is None else f"the control API {control}",
            lambda: registered.hits() - before,
            registered,
        )
    )


def _settings_of(fault: ChaosFault) -> dict[str, Any]:
    """Return the settings of a registered fault, without secrets."""
    metadata = {key: value for key, value in fault.metadata.items() if not is_secret_name(key)}
    given = {"duration_seconds": fault.duration_s, "targets": list(fault.targets), **metadata}
    return {"probability": fault.probability, **{key: value for key, value in given.items() if value}}


_ACTS = {
    "register": FaultChange._register,
    "inject": FaultChange._inject,
    "remove": FaultChange._remove,
}


def build_fault(reader: MappingReader) -> FaultChange | None:
    """Return the work of a step `fault`, or None if it does not say what to change."""
    change = reader.need_one(_FAULT_CHANGES)
    if change is None:
        return None
    before = len(reader.problems)
    name = reader.take(change)
    settings = {key: value for key, value in reader.given.items() if key != change}
    if change != "register":
        for key in settings:
            reader.note(key, InputError("", f"expected only with register, got it with {change}"))
        return FaultChange(change, name)
    fault = None
    if len(reader.problems) == before:
        try:
            fault = parse_chaos_fault({"name": name, **settings})
        except InputError as error:
            reader.problems.append(error.within(reader.path))
    return FaultChange(change, name, fault)


# --- plans of a proxy or gateway -------------------------------------------------------------------


CONTROL_FORM = "the address of a control API such as 127.0.0.1:7070"
_TOKEN_FORM = "the token of the control API, such as ${FAULT_CONTROL_TOKEN}"
_PLAN_CHANGES = ("add", "plan", "remove")


def read_control(value: object) -> str:
    """Return the URL of a control API. Raises InputError for anything else."""
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


PLAN_CHANGE = KeyTable(
    Key("control", read_control, TEXT_SCHEMA, "", "The address of the control API.", CONTROL_FORM),
    Key("token", text, TEXT_SCHEMA, "", "The token of the control API.", _TOKEN_FORM),
    Key("add", schema=ANY_MAPPING_SCHEMA, help="Adds this rule."),
    Key("plan", schema={"type": ["object", "string"]}, help="Replaces the plan: a plan, or its file."),
    Key(
        "remove",
        text,
        TEXT_SCHEMA,
        help="Removes the rule of this name: one that the method added, or else the proxy's.",
    ),
)
"""Exactly one of `add`, `plan` and `remove` is given."""


class _ChangeRefused(StepFailed):
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
            return f"add rule {self.add.name} ({rule_text(dump_rule(self.add))}) to the {self._place}"
        if self.remove is not None:
            return f"remove rule {self.remove} from the {self._place}"
        if isinstance(self.plan, Plan):
            rules = [f"{rule.name}: {rule_text(dump_rule(rule))}" for rule in self.plan.rules]
            texts = "; ".join(rules) or "no rules"
        else:
            texts = str(self.plan)
        return f"put a plan ({texts}) at the {self._place}"

    def resolve(self, context: StepContext) -> None:
        parts = urlsplit(self.control)
        context.limits.check_target(parts.hostname or "", parts.port, "control")
        self._plan(context)

    async def perform(self, context: StepContext) -> Any:
        return await self.act(context)

    async def act(self, context: StepContext) -> Any:
        if self.add is not None:
            rule = replace(self.add, name=context.own_rule_name(self.add.name))
            data = {**self._access, "rule": rule.name}
            says = f"remove rule {rule.name} from the {self._place}"
            entry = context.rollback.intend(Undo("rule", data, says))
            # The lease renews it. If every process here dies, it ends within the time of one lease.
            path = f"/rules?ttl={context.lease_s:.3f}"
            reply = await self._change(context, entry, "POST", path, dump_rule(rule))
            context.faults.append(self._at_work(self.add.name, rule, 0))
            context.own_rules[self.control, self.add.name] = entry
            return reply
        if (self.control, self.remove) in context.own_rules:
            return await self._remove_own(context, str(self.remove))
        current = await self._send("GET", "/plan", None)
        status = await self._send("GET", "/status", None)
        ends = status["expires_in_s"]
        # Temporary rules belong to others. The rollback must not restore them, because they would stay for
        # ever.
        lasting = [rule for rule in current["rules"] if ends.get(rule["name"]) is None]
        if self.remove is not None:
            return await self._remove(context, self.remove, lasting)
        plan = self._plan(context)
        assert plan is not None
        before = {
            **self._access,
            "plan": {**current, "rules": lasting},
            "ours": [rule.name for rule in plan.rules],
            "covered": bool(current["rules"]) and not lasting,
        }
        says = f"put back the plan of the {self._place}"
        entry = context.rollback.intend(Undo("plan", before, says))
        await self._count_for_good(context, None)
        path = f"/plan?ttl={context.ttl_s():.3f}"
        reply = await self._change(context, entry, "PUT", path, dump_plan(plan))
        context.faults += [self._at_work(rule.name, rule, hits_of(status, rule)) for rule in plan.rules]
        if not plan.rules and not current["rules"]:
            context.unchanged.append(f"{self.says}: there were none before")
        return reply

    def _at_work(self, name: str, rule: Rule, before: int) -> FaultAtWork:
        """Return a rule as a fault at work; `name` is its name in the file, `rule` as the control API has it,
        `before` its hits there when it began."""
        api = ControlClient(self.control, self.token)
        return FaultAtWork(
            name,
            rule.fault.kind,
            rule_settings(dump_rule(rule)),
            f"the {self._place}",
            lambda: hits_of(api.status(), rule) - before,
            (self.control, rule.name),
        )

    async def _count_for_good(self, context: StepContext, name: str | None) -> None:
        """Count a rule of this run, or all at this control API, that another step is about to remove."""
        for index, fault in enumerate(context.faults):
            if fault.source == (self.control, name) or (name is None and self._is_here(fault)):
                hits = await run_in_thread(fault.count)
                context.faults[index] = replace(fault, count=partial(int, hits))

    def _is_here(self, fault: FaultAtWork) -> bool:
        return isinstance(fault.source, tuple) and fault.source[0] == self.control

    async def _remove_own(self, context: StepContext, name: str) -> Any:
        rule_name = context.own_rule_name(name)
        await self._count_for_good(context, rule_name)
        reply = await self._send("DELETE", rule_path(rule_name), None)
        context.rollback.forget(context.own_rules.pop((self.control, name)), "the method has removed it")
        return reply

    async def _remove(self, context: StepContext, name: str, lasting: list[dict[str, Any]]) -> Any:
        await self._count_for_good(context, name)
        path = rule_path(name)
        rule = next((rule for rule in lasting if rule["name"] == name), None)
        if rule is None:
            return await self._send("DELETE", path, None)
        says = f"add rule {name} to the {self._place} again"
        entry = context.rollback.intend(Undo("removed_rule", {**self._access, "rule": rule}, says))
        return await self._change(context, entry, "DELETE", path, None)

    def undo(self, context: StepContext, limit_s: float) -> Undo:
        if self.remove is not None:
            is_own = (self.control, self.remove) in context.added_rules
            name = context.own_rule_name(self.remove) if is_own else self.remove
            return Undo("rule", {**self._access, "rule": name}, self.says, limit_s)
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
            return await self._send(method, path, body)
        except _ChangeRefused as refused:
            context.rollback.forget(entry, f"nothing was changed: {refused}")
            raise

    async def _send(self, method: str, path: str, body: object) -> Any:
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        content = None if body is None else json.dumps(body)
        response = await send_request(method, self.control + path, headers, content)
        if response["status"] >= 300:
            error = response["body"]
            problem = error.get("error", {}).get("problem") if isinstance(error, dict) else error
            raise _ChangeRefused(f"{self.control} answered {response['status']}: {problem}")
        return response["body"]


_CHECK_RULE = {"proxy": check_network_rule, "gateway": check_call_rule}
_CHECK_PLAN = {"proxy": check_network_plan, "gateway": check_call_plan}


def build_plan_change(reader: MappingReader, of: str) -> PlanChange:
    """Return the work of a step `proxy` or `gateway`, as `of` says."""
    control, token = reader.take("control"), reader.take("token")
    reader.need_one(_PLAN_CHANGES)

    def read_rule(given: object) -> Rule:
        rule = parse_rule(given)
        _CHECK_RULE[of](rule)
        return rule

    def read_plan(given: object) -> Plan | str:
        if isinstance(given, str):
            return text(given)
        plan = parse_plan(given)
        _CHECK_PLAN[of](plan)
        return plan

    add, plan = reader.take("add", read_rule, None), reader.take("plan", read_plan, None)
    return PlanChange(of, control, token, add, plan, reader.take("remove"))
