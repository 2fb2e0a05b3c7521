"""Plans for calls from the command line: the short forms of `--fault`, a file, or both."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase

from faultkit.errors import InputError
from faultkit.mcp.specs import parse_specs
from faultkit.plan import Plan, fresh_name, load_plan


def call_plan(specs: tuple[str, ...], plan_file: str | None, seed: str | None) -> Plan:
    """The rules of `--fault` go before those of the file."""
    try:
        rules = list(parse_specs(specs))
    except InputError as error:
        raise InputError(f"--fault {error.path}", error.problem) from None
    known: int | str = 0 if seed is None else int(seed) if seed.isdecimal() else seed
    if plan_file is not None:
        plan = load_plan(plan_file)
        known = plan.seed if seed is None else known
        taken = {rule.name for rule in plan.rules}
        named = []
        for rule in rules:
            name = fresh_name(rule.name, taken)
            taken.add(name)
            named.append(rule if name == rule.name else replace(rule, name=name))
        rules = [*named, *plan.rules]
    return Plan(tuple(rules), known)


def for_server(plan: Plan, name: str) -> Plan:
    """Without the rules that name other servers."""
    globs = [(rule, rule.match.server) for rule in plan.rules]
    kept = tuple(rule for rule, glob in globs if glob is None or fnmatchcase(name, glob))
    return Plan(kept, plan.seed)


def header_pairs(texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """`Name: value` as pairs."""
    pairs = []
    for text in texts:
        name, colon, value = text.partition(":")
        if not colon or not name.strip() or "\n" in text or "\r" in text:
            raise InputError("--header", f'expected "Name: value", got "{text}"')
        pairs.append((name.strip(), value.strip()))
    return tuple(pairs)
