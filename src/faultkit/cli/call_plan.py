"""Plans for MCP calls from the command line: the short forms of `--fault`, a plan file, or both."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from faultkit.base.documents.values import SEED_FORM, seed_of_text
from faultkit.base.errors import InputError
from faultkit.mcp.fault_specs import parse_spec
from faultkit.plan import Plan, PlanFile, Rule, load_plan_file

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_RULE_PATH = re.compile(r"rules\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class WrittenPlan:
    """A plan, with the flag or the place in a file that each rule comes from, for error messages."""

    plan: Plan
    specs: Mapping[str, str]
    """Values of `--fault`, by the names of their rules."""
    file: PlanFile | None = None

    def for_server(self, name: str) -> WrittenPlan:
        """Return the plan without the rules that name other servers."""
        globs = [(rule, rule.match.server) for rule in self.plan.rules]
        kept = tuple(rule for rule, glob in globs if glob is None or fnmatchcase(name, glob))
        return replace(self, plan=Plan(kept, self.plan.seed))

    @contextmanager
    def naming_places(self) -> Iterator[None]:
        """Make an InputError about a rule name the flag or the line that the rule comes from."""
        try:
            yield
        except InputError as error:
            raise self.placed(error) from None

    def placed(self, error: InputError) -> InputError:
        """Return the error with the place of its rule as its path."""
        match = _RULE_PATH.match(error.path)
        if match is None:
            return error
        name = self.plan.rules[int(match[1])].name
        if name in self.specs:
            return error.at(f'--fault "{self.specs[name]}"')
        assert self.file is not None
        index = [rule.name for rule in self.file.plan.rules].index(name)
        return self.file.placed(error.at(f"rules[{index}]{error.path[match.end() :]}"))


def call_plan(specs: tuple[str, ...], plan_file: str | None, seed: str | None) -> WrittenPlan:
    """Return the plan of --fault, --plan and --seed; the rules of --fault come first."""
    file = None if plan_file is None else load_plan_file(plan_file)
    plan = Plan() if file is None else file.plan
    taken = {rule.name for rule in plan.rules}
    spec_of_rule: dict[str, str] = {}
    rules: list[Rule] = []
    for spec in specs:
        try:
            rule = parse_spec(spec, taken)
        except InputError as error:
            raise error.at(f"--fault {error.path}") from None
        if rule is not None:
            taken.add(rule.name)
            spec_of_rule[rule.name] = spec
            rules.append(rule)
    if seed == "":
        raise InputError("--seed", f'expected {SEED_FORM}, got ""')
    plan_seed = plan.seed if seed is None else seed_of_text(seed)
    return WrittenPlan(Plan((*rules, *plan.rules), plan_seed), spec_of_rule, file)


def header_pairs(texts: Iterable[str], path: str = "--header") -> tuple[tuple[str, str], ...]:
    """Return headers that are written as `Name: value`.

    path: the flag or the variable that holds them, for errors"""
    pairs = []
    for text in texts:
        name, colon, value = text.partition(":")
        if not colon or _HEADER_NAME.fullmatch(name.strip()) is None or not value.strip().isprintable():
            raise InputError(path, f'expected "Name: value", got "{text}"')
        pairs.append((name.strip(), value.strip()))
    return tuple(pairs)
