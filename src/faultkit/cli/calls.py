"""Plans for calls from the command line: the short forms of `--fault`, a file, or both."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from faultkit.base.errors import InputError
from faultkit.mcp.specs import parse_spec
from faultkit.plan import Plan, PlanFile, Rule, load_plan_file

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OF_RULE = re.compile(r"rules\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class WrittenPlan:
    """A plan, and where its rules were written, for whatever is found to be wrong with them later."""

    plan: Plan
    specs: Mapping[str, str]
    """Those of `--fault`, by the names of their rules."""
    file: PlanFile | None = None

    def for_server(self, name: str) -> WrittenPlan:
        """Without the rules that name other servers."""
        globs = [(rule, rule.match.server) for rule in self.plan.rules]
        kept = tuple(rule for rule, glob in globs if glob is None or fnmatchcase(name, glob))
        return replace(self, plan=Plan(kept, self.plan.seed))

    @contextmanager
    def naming_places(self) -> Iterator[None]:
        """Errors about the plan say where the rule was written."""
        try:
            yield
        except InputError as error:
            raise self.placed(error) from None

    def placed(self, error: InputError) -> InputError:
        found = _OF_RULE.match(error.path)
        if found is None:
            return error
        name = self.plan.rules[int(found[1])].name
        if name in self.specs:
            return InputError(f'--fault "{self.specs[name]}"', error.problem)
        assert self.file is not None
        index = [rule.name for rule in self.file.plan.rules].index(name)
        return self.file.placed(InputError(f"rules[{index}]{error.path[found.end() :]}", error.problem))


def call_plan(specs: tuple[str, ...], plan_file: str | None, seed: str | None) -> WrittenPlan:
    """The rules of `--fault` go before those of the file."""
    file = None if plan_file is None else load_plan_file(plan_file)
    plan = Plan() if file is None else file.plan
    taken = {rule.name for rule in plan.rules}
    written: dict[str, str] = {}
    rules: list[Rule] = []
    for spec in specs:
        try:
            rule = parse_spec(spec, taken)
        except InputError as error:
            raise InputError(f"--fault {error.path}", error.problem) from None
        if rule is not None:
            taken.add(rule.name)
            written[rule.name] = spec
            rules.append(rule)
    return WrittenPlan(Plan((*rules, *plan.rules), _seed(seed, plan)), written, file)


def _seed(text: str | None, plan: Plan) -> int | str:
    if text is None:
        return plan.seed
    if not text:
        raise InputError("--seed", 'expected a whole number of at least 0 or a text, got ""')
    return int(text) if text.isascii() and text.isdigit() else text


def header_pairs(texts: Iterable[str], path: str = "--header") -> tuple[tuple[str, str], ...]:
    """`Name: value` as pairs. `path`: where they were written."""
    pairs = []
    for text in texts:
        name, colon, value = text.partition(":")
        if not colon or _HEADER_NAME.fullmatch(name.strip()) is None or not value.strip().isprintable():
            raise InputError(path, f'expected "Name: value", got "{text}"')
        pairs.append((name.strip(), value.strip()))
    return tuple(pairs)
