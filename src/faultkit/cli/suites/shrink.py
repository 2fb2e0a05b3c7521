"""`fault test shrink`: the least that still makes a test fail, written as a regression."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from faultkit.base.errors import InputError, RunError

if TYPE_CHECKING:
    from faultkit.agents.model import AgentTest, Suite
    from faultkit.plan import Rule

_KEPT = ("imports", "variables", "server", "servers", "default_server", "providers", "seed")
"""What a test needs of its file, whatever it injects."""


@click.command(
    epilog="""\b
Example:
  fault test shrink suites/mine.suite.yml --filter 'hung search'
"""
)
@click.argument("path", metavar="PATH")
@click.option("--filter", "name", metavar="TEXT", default="", help="Part of the test's name, or re:REGEX.")
@click.option("--seed", metavar="SEED", help="In place of the suite's own.")
@click.option("--out", metavar="FILE", help="What to write; a new file beside the suite if not given.")
def command(path: str, name: str, seed: str | None, out: str | None) -> None:
    """Reduce what a failing test injects to the least that still fails in the same way.

    Faults are left out, triggers, schedules and settings are put back to their defaults, counts made smaller,
    as long as the same limits are broken. All of it in virtual time.
    """
    from faultkit.agents.execute.options import Options, given_seed
    from faultkit.agents.model import AgentTest, CommandAgent, ModelAgent
    from faultkit.agents.run import run_to_end
    from faultkit.agents.select import Chosen, Selection, select
    from faultkit.agents.shrink import shrunk
    from faultkit.cli.suites.running import find_suites, load_all

    chosen = select(load_all(find_suites([path]), {}), Selection((name,) if name else ()))
    found = [(each.suite, test) for each in chosen for test in each.tests if isinstance(test, AgentTest)]
    options = Options(seed=given_seed(seed))

    def broken(suite: Suite, test: AgentTest) -> frozenset[tuple[str, str, str]]:
        ended = run_to_end([Chosen(suite, (test,))], options)
        if ended.signal is not None:
            raise click.exceptions.Exit(128 + ended.signal)
        return frozenset((row.name, row.verdict, row.limit) for row in ended.results.rows if row.fails)

    failing = [(suite, test, why) for suite, test in found if test.inject and (why := broken(suite, test))]
    if len(failing) != 1:
        names = ", ".join(f'"{test.name}"' for _, test, _ in failing) or "none"
        raise InputError("--filter", f"expected one test of an agent that fails with a fault, got {names}")
    suite, test, why = failing[0]
    if isinstance(test.agent, ModelAgent | CommandAgent):
        raise InputError(test.name, "expected a scripted agent: what others do in a second run is not known")
    smaller, least = shrunk(suite, test, lambda one, other: broken(one, other) == why)
    file = Path(out) if out else _beside(Path(test.place.file), test.name)
    _write(file, test, least, [fault.rule for fault in smaller.faults])
    for fault in smaller.faults:
        click.echo(f"needed: {_said(_document(fault.rule))}")
    again = f" --seed {shlex.quote(seed)}" if seed is not None else ""
    click.echo(f"repro: fault test {shlex.quote(str(file))}{again}")


def _beside(suite: Path, name: str) -> Path:
    return suite.parent / f"{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-') or 'test'}.suite.yml"


def _write(file: Path, test: AgentTest, least: AgentTest, rules: list[Rule]) -> None:
    """The file that the test stands in, with nothing but this test and what it needs."""
    import yaml

    if file.parent.resolve() != Path(test.place.file).parent.resolve():
        raise InputError(
            "--out", f"expected a file beside {test.place.file}, whose paths it keeps, got {file}"
        )
    document = yaml.safe_load(Path(test.place.file).read_text("utf-8"))
    written = next((each for each in document.get("agents", ()) if each.get("name") == test.name), None)
    if written is None:
        raise InputError(test.name, "expected a test that is written out, got one of several `models`")
    kept = {key: value for key, value in document.items() if key in _KEPT}
    one = {**written, "inject": list(least.inject)}
    if least.runs != test.runs:
        one.pop("runs", None)
    one.pop("only", None)
    kept |= {"faults": [_document(rule) for rule in rules], "agents": [one]}
    head = f"# The least of {Path(test.place.file).name} that still fails, by `fault test shrink`.\n"
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(head + yaml.safe_dump(kept, sort_keys=False, allow_unicode=True))
    except FileExistsError:
        raise InputError("--out", f"expected a new file, got {file}, which is there") from None
    except OSError as error:
        raise RunError(f"{file}: cannot be written: {error.strerror}") from None


def _document(rule: Rule) -> dict[str, Any]:
    """A fault as suites write it: what is as usual is left out."""
    from dataclasses import MISSING, asdict, fields

    from faultkit.agents.parse.faults import NEEDED, TARGET_KEYS
    from faultkit.plan import Schedule, Trigger

    match = asdict(rule.match)
    target = {key: match[key] for key in TARGET_KEYS if match[key] is not None}
    settings = {
        field.name: getattr(rule.fault, field.name)
        for field in fields(rule.fault)
        if field.default is MISSING
        or getattr(rule.fault, field.name) != field.default
        or NEEDED.get(rule.fault.kind) == field.name
    }
    trigger = {key: value for key, value in asdict(rule.trigger).items() if value != getattr(Trigger(), key)}
    found: dict[str, Any] = {"name": rule.name, "target": target or {"tool": "*"}, "kind": rule.fault.kind}
    if settings:
        found["with"] = settings
    if trigger:
        found["trigger"] = trigger
    if rule.schedule != Schedule():
        found["schedule"] = str(rule.schedule)
    return found


def _said(document: dict[str, Any]) -> str:
    rest = {key: value for key, value in document.items() if key not in ("name", "kind")}
    return f"{document['kind']} {', '.join(f'{key} {json.dumps(value)}' for key, value in rest.items())}"
