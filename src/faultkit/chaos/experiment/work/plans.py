"""`proxy` and `gateway`: change the plan of one that runs, by its control API, for as long as we live.

The change carries a time limit of its own, so that it ends though everybody has died.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from urllib.parse import quote, urlsplit

from faultkit.base.documents.reading import Reading
from faultkit.base.documents.values import text
from faultkit.base.errors import InputError
from faultkit.chaos.experiment.reversals import Reversal
from faultkit.chaos.experiment.work.http import ask
from faultkit.chaos.experiment.work.work import USUAL_LIMIT_S, Failed, Scene
from faultkit.chaos.undo import Undo
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

KEYS = ("control", "token", "add", "plan", "remove")
CONTROL_FORM = "the address of a control API such as 127.0.0.1:7070"
CHANGES = ("add", "plan", "remove")


class _Refused(Failed):
    """It was there, and changed nothing."""


@dataclass(frozen=True, slots=True)
class PlanChange:
    of: str
    """proxy or gateway."""
    control: str
    """The URL of its control API."""
    token: str
    add: Rule | None = None
    plan: Plan | str | None = None
    """A plan, or the file of one."""
    remove: str | None = None
    kind: ClassVar[str] = "plan"
    usual_limit_s: ClassVar[float] = USUAL_LIMIT_S

    @property
    def says(self) -> str:
        if self.add is not None:
            return f"add rule {self.add.name} to the {self._place}"
        if self.remove is not None:
            return f"remove rule {self.remove} from the {self._place}"
        return f"change the plan of the {self._place}"

    def resolve(self, scene: Scene) -> None:
        parts = urlsplit(self.control)
        scene.limits.check_target(parts.hostname or "", parts.port, "control")
        self._plan(scene)

    async def perform(self, scene: Scene) -> Any:
        return await self.act(scene)

    async def act(self, scene: Scene) -> Any:
        if self.add is not None:
            # A name like no other: what is undone must be ours.
            rule = replace(self.add, name=f"{self.add.name}-{scene.run_id}")
            data = {**self._access, "rule": rule.name}
            says = f"remove rule {rule.name} from the {self._place}"
            reversal = scene.reversals.intend(Undo("rule", data, says))
            # The lease renews it: within one lease it is gone, though everybody has died.
            path = f"/rules?ttl={scene.lease_s:.3f}"
            return await self._change(scene, reversal, "POST", path, dump_rule(rule))
        held = await self._ask("GET", "/plan", None)
        ends = (await self._ask("GET", "/status", None))["expires_in_s"]
        # What ends by itself is somebody else's, for a while: put back, it would have no end any more.
        lasting = [rule for rule in held["rules"] if ends.get(rule["name"]) is None]
        if self.remove is not None:
            return await self._remove(scene, self.remove, lasting)
        plan = self._plan(scene)
        assert plan is not None
        before = {
            **self._access,
            "plan": {**held, "rules": lasting},
            "ours": [rule.name for rule in plan.rules],
            "covered": bool(held["rules"]) and not lasting,
        }
        says = f"put back the plan of the {self._place}"
        reversal = scene.reversals.intend(Undo("plan", before, says))
        return await self._change(scene, reversal, "PUT", f"/plan?ttl={scene.ttl_s():.3f}", dump_plan(plan))

    async def _remove(self, scene: Scene, name: str, lasting: list[dict[str, Any]]) -> Any:
        path = f"/rules/{quote(name, safe='')}"
        rule = next((rule for rule in lasting if rule["name"] == name), None)
        if rule is None:
            return await self._ask("DELETE", path, None)
        says = f"add rule {name} to the {self._place} again"
        reversal = scene.reversals.intend(Undo("removed_rule", {**self._access, "rule": rule}, says))
        return await self._change(scene, reversal, "DELETE", path, None)

    def undo(self, scene: Scene, limit_s: float) -> Undo:
        if self.remove is not None:
            return Undo("rule", {**self._access, "rule": self.remove}, self.says, limit_s)
        plan = self._plan(scene)
        assert plan is not None, "parsing allows nothing else in a rollback"
        return Undo("plan", {**self._access, "plan": dump_plan(plan)}, self.says, limit_s)

    @property
    def _place(self) -> str:
        return f"{self.of} at {urlsplit(self.control).netloc}"

    @property
    def _access(self) -> dict[str, Any]:
        return {"control": self.control, "token": self.token}

    def _plan(self, scene: Scene) -> Plan | None:
        if not isinstance(self.plan, str):
            return self.plan
        plan = load_plan(scene.folder / self.plan)
        _CHECK_PLAN[self.of](plan)
        return plan

    async def _change(self, scene: Scene, reversal: Reversal, method: str, path: str, body: object) -> Any:
        try:
            return await self._ask(method, path, body)
        except _Refused as refused:
            scene.reversals.forget(reversal, f"nothing was changed: {refused}")
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
    return _parse("proxy", value, path, problems)


def parse_gateway(value: object, path: str, problems: list[InputError]) -> PlanChange | None:
    return _parse("gateway", value, path, problems)


def _parse(of: str, value: object, path: str, problems: list[InputError]) -> PlanChange | None:
    before = len(problems)
    reading = Reading(value, KEYS, path, problems)
    control = reading.need("control", _control, "", CONTROL_FORM)
    token = reading.need("token", text, "", "the token of the control API, such as ${FAULT_CONTROL_TOKEN}")
    chosen = [key for key in CHANGES if key in reading.given]
    if reading.sound and len(chosen) != 1:
        got = " and ".join(chosen) or "none"
        problems.append(InputError(path, f"expected one of {', '.join(CHANGES)}, got {got}"))

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
