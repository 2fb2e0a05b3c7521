"""Plan: rules and a seed, the one value that files, flags, HTTP, proxy and reports exchange.

Also its plain form (`dump_plan`) and its short id. Reading documents is `faultkit.plan.plan_keys`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import NoReturn

from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError
from faultkit.base.text import has_utf8
from faultkit.faults import LLM_FAULTS
from faultkit.faults.fault import Fault
from faultkit.faults.fault_data import dump_fault
from faultkit.plan.match import SUBJECTS, Match
from faultkit.plan.rule import Rule
from faultkit.plan.trigger import Trigger


@dataclass(frozen=True, slots=True)
class Plan:
    """Rules in the order in which they act, and the seed of their random numbers."""

    rules: tuple[Rule, ...] = ()
    seed: int | str = 0

    def __post_init__(self) -> None:
        if not _is_seed(self.seed):
            raise ValueError(f"seed: expected a whole number of at least 0 or a text, got {shown(self.seed)}")
        names: set[str] = set()
        for index, rule in enumerate(self.rules):
            if rule.name in names:
                raise ValueError(
                    f'rules[{index}].name: expected a name that no rule before it has, got "{rule.name}"'
                )
            names.add(rule.name)

    @property
    def digest(self) -> str:
        """A short id, equal on every machine for plans that do the same with the same names."""
        # The seed 7 and the seed "7" give the same random numbers, so they give the same id.
        document = {**dump_plan(self), "seed": str(self.seed)}
        canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
        return sha256(canonical.encode()).hexdigest()[:12]


def _is_seed(seed: int | str) -> bool:
    if isinstance(seed, str):
        # Random numbers are keyed by UTF-8.
        return seed != "" and has_utf8(seed)
    return not isinstance(seed, bool) and seed >= 0


def dump_plan(plan: Plan) -> dict[str, object]:
    """Return data for YAML or JSON without default values; `parse_plan` gives the plan back."""
    return {"seed": plan.seed, "rules": [dump_rule(rule) for rule in plan.rules]}


def dump_rule(rule: Rule) -> dict[str, object]:
    """Return the data of one rule without default values."""
    parts = {
        "with": dump_fault(rule.fault),
        "match": _dump_match(rule.match),
        "trigger": _dump_trigger(rule.trigger),
        "schedule": str(rule.schedule),
    }
    return {"name": rule.name, "fault": rule.fault.kind, **{key: part for key, part in parts.items() if part}}


_OF_MODELS = ("model", "streamed", "tool_use")


def _dump_match(match: Match) -> dict[str, object]:
    usual = Match()
    given: dict[str, object] = {
        key: getattr(match, key)
        for key in ("proxy", "side", "direction", "path", "flow", "message", "server", *SUBJECTS, *_OF_MODELS)
        if getattr(match, key) != getattr(usual, key)
    }
    if match.method is not None:
        given["method"] = match.method if isinstance(match.method, str) else list(match.method)
    if match.headers:
        given["headers"] = dict(match.headers)
    if match.status:
        given["status"] = list(match.status)
    return given


def _dump_trigger(trigger: Trigger) -> dict[str, object]:
    usual = Trigger()
    given: dict[str, object] = {
        key: getattr(trigger, key)
        for key in ("first", "after", "every", "burst")
        if getattr(trigger, key) != getattr(usual, key)
    }
    if trigger.probability != usual.probability:
        given["probability"] = float(trigger.probability)
    return given


# Proxies carry out faults of the network and of LLM APIs, mocks and gateways carry out faults of calls, mocks
# of LLM APIs carry out theirs: other rules are refused.


def acts_elsewhere(fault: type[Fault]) -> str:
    """Return where a fault acts, and what carries it out, for an error about a rule in another place."""
    if fault.level == "call":
        return f"acts on calls: use fault gateway or fault mock{llm_namesake(fault.kind)}"
    if fault.level == "llm":
        # Sampling of MCP asks the client for an answer of its model: no request to an API is in it.
        return (
            "acts on requests to LLM APIs, and MCP messages are none: use fault run llm in front of the API, "
            "or fault mock llm in its place"
        )
    return "acts on the network: use fault run"


def llm_namesake(kind: str) -> str:
    """Return a hint at the fault of LLM APIs that a name without llm_ may mean; nothing if there is none."""
    return f"; llm_{kind} is the one of LLM APIs" if f"llm_{kind}" in LLM_FAULTS else ""


def check_network_rule(rule: Rule) -> None:
    """Raise InputError for a rule that no proxy can carry out."""
    if rule.fault.level == "call":
        _refuse(rule, "the network")


def check_call_rule(rule: Rule) -> None:
    """Raise InputError for a rule that no mock and no gateway can carry out."""
    if rule.fault.level != "call":
        _refuse(rule, "calls")


def check_llm_rule(rule: Rule) -> None:
    """Raise InputError for a rule that no mock of LLM APIs can carry out."""
    if rule.fault.level != "llm":
        _refuse(rule, "LLM APIs")


def _refuse(rule: Rule, wanted: str) -> NoReturn:
    fault = type(rule.fault)
    raise InputError(
        "fault", f'expected a fault of {wanted}, got "{fault.kind}", which {acts_elsewhere(fault)}'
    )


def check_network_plan(plan: Plan) -> None:
    """Raise InputError for the first rule that no proxy can carry out."""
    _check_rules(plan, check_network_rule)


def check_call_plan(plan: Plan) -> None:
    """Raise InputError for the first rule that no mock and no gateway can carry out."""
    _check_rules(plan, check_call_rule)


def check_llm_plan(plan: Plan) -> None:
    """Raise InputError for the first rule that no mock of LLM APIs can carry out."""
    _check_rules(plan, check_llm_rule)


def _check_rules(plan: Plan, check: Callable[[Rule], None]) -> None:
    for index, rule in enumerate(plan.rules):
        try:
            check(rule)
        except InputError as error:
            raise error.within(f"rules[{index}]") from None
