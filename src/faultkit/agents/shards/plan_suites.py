"""The plan of selected tests: reads every file that decides them, and refuses what cannot be split."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from math import ceil
from urllib.parse import urlsplit

from faultkit.agents.execute.expectations import Snapshots
from faultkit.agents.kinds.agent_choice import cassette_of
from faultkit.agents.shards.suite_plan import NeededProgram, PlannedTest, ShardOptions, SuitePlan
from faultkit.agents.suite.definition import (
    AgentTest,
    CommandAgent,
    CommandServer,
    ModelAgent,
    Suite,
    SuiteServer,
    SuiteTest,
    UrlServer,
)
from faultkit.agents.suite.run_options import RunOptions, SelectedTests
from faultkit.agents.suite_runner import PROGRAM_GRACE_S
from faultkit.base.address import stays_here
from faultkit.base.errors import InputError
from faultkit.base.text import count_of
from faultkit.llm.providers import endpoint_of, variables_of

MOST_BYTES = 32 * 2**20
"""Of all files of the suites together: every worker gets them, and keeps them in memory."""
_READY_S = 60.0
"""The longest wait for a server that answers at a URL first."""


def plan_suites(
    chosen: Sequence[SelectedTests], options: RunOptions, variables: Mapping[str, str]
) -> SuitePlan:
    """Return the plan of a run. Raises InputError if the tests cannot be split among workers.

    variables: those of the command line"""
    for each in chosen:
        _check_money(each)
    suites = [each.suite for each in chosen]
    env, exported = _environment(chosen, options.env)
    return SuitePlan(
        cwd=os.getcwd(),
        suites=tuple(suite.file for suite in suites),
        tests=tuple(
            PlannedTest(place, test.name, _runs_of(test, options))
            for place, each in enumerate(chosen)
            for test in each.tests
        ),
        files=_contents(_files(chosen)),
        variables=dict(variables),
        env=env,
        exported=exported,
        programs=tuple(_programs(chosen)),
        local_urls=tuple(dict.fromkeys(url for url in _urls(chosen, options.env) if _is_local(url))),
        options=ShardOptions(**{field.name: getattr(options, field.name) for field in fields(ShardOptions)}),
        seed=suites[0].seed if options.seed is None else options.seed,
        longest_s=sum(_longest_s(each, options) for each in chosen),
    )


def check_parts(plan: SuitePlan, parts: int, place: str) -> None:
    """Raise InputError if there are more workers than cases. place: as --on names it"""
    if parts > plan.most_parts:
        cases = count_of(plan.most_parts, "case")
        raise InputError(
            "--on",
            f"expected at most a worker for each case (a test, or one of its runs), got {place} for {cases}",
        )


def _runs_of(test: SuiteTest, options: RunOptions) -> int:
    """Return the number of runs that are cases of their own; 0 for none.

    With retries, a test is repeated as a whole."""
    if not isinstance(test, AgentTest) or test.skip or test.breakpoint is not None or options.retries:
        return 0
    runs = options.repeat or test.runs
    return runs if runs > 1 else 0


def _check_money(chosen: SelectedTests) -> None:
    """Raise InputError for a limit of what all runs may cost: workers could not hold it together."""
    if chosen.suite.most_usd is not None and list(_models(chosen)):
        raise InputError(
            "--on",
            f"expected a suite without budget.per_suite_usd_cents, got one in {chosen.suite.file}: "
            "workers do not know what the others spend",
        )


def _running(chosen: SelectedTests) -> Iterator[AgentTest]:
    return (test for test in chosen.tests if isinstance(test, AgentTest) and not test.skip)


def _models(chosen: SelectedTests) -> Iterator[tuple[AgentTest, ModelAgent]]:
    return ((test, test.agent) for test in _running(chosen) if isinstance(test.agent, ModelAgent))


def _servers(chosen: SelectedTests) -> Iterator[SuiteServer]:
    used = {name for test in chosen.tests if not test.skip for name in test.server_names}
    return (server for server in chosen.suite.servers if server.name in used)


# Files


def _files(chosen: Sequence[SelectedTests]) -> Iterator[str]:
    for each in chosen:
        yield from each.suite.files
        yield from _if_there(os.fspath(Snapshots(each.suite.file).path))
        for test, _ in _models(each):
            yield from _if_there(os.fspath(cassette_of(each.suite, test)))


def _if_there(file: str) -> list[str]:
    return [file] if os.path.isfile(file) else []


def _contents(files: Iterable[str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for file in files:
        path = os.path.abspath(file)
        if path in found:
            continue
        try:
            with open(path, "rb") as opened:
                found[path] = opened.read()
        except OSError as error:
            raise InputError(file, f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    total = sum(map(len, found.values()))
    if total > MOST_BYTES:
        largest = max(found, key=lambda path: len(found[path]))
        got = f"{total / 2**20:.0f} MiB; the largest is {largest}"
        raise InputError("--on", f"expected suites of at most {MOST_BYTES // 2**20} MiB in all, got {got}")
    return found


# What else the tests need


def _environment(
    chosen: Sequence[SelectedTests], env: Mapping[str, str]
) -> tuple[dict[str, str | None], tuple[str, ...]]:
    """Return the variables that the suites name, and which of them are read when the tests run."""
    exported: dict[str, None] = {}
    for each in chosen:
        for server in _servers(each):
            if isinstance(server.serving, UrlServer):
                exported |= {header.variable: None for header in server.serving.secret_headers}
        for _, model in _models(each):
            exported |= dict.fromkeys(variables_of(model, each.suite.providers))
    named = {*exported, *(name for each in chosen for name in each.suite.variables)}
    return {name: env.get(name) for name in sorted(named)}, tuple(exported)


def _programs(chosen: Sequence[SelectedTests]) -> Iterator[NeededProgram]:
    for each in chosen:
        file = each.suite.file
        for server in _servers(each):
            if isinstance(server.serving, CommandServer):
                yield _needed(f'{file}: server "{server.name}"', server.serving)
        for test in _running(each):
            if isinstance(test.agent, CommandAgent):
                yield _needed(f'{file}: agent of "{test.name}"', test.agent)


def _needed(owner: str, started: CommandServer | CommandAgent) -> NeededProgram:
    """Return what of a command is there: a worker must have that, too."""
    cwd = started.cwd or ""
    program = started.argv[0] if is_there(started.argv[0], cwd) else ""
    files = [arg for arg in started.argv[1:] if os.path.isfile(os.path.join(cwd, arg))]
    return NeededProgram(owner, program, cwd if os.path.isdir(cwd) else "", tuple(files))


def is_there(program: str, cwd: str) -> bool:
    """Return whether a program can be started in a folder."""
    if os.sep in program:
        return os.access(os.path.join(cwd, program), os.X_OK)
    return shutil.which(program) is not None


def _urls(chosen: Sequence[SelectedTests], env: Mapping[str, str]) -> Iterator[str]:
    for each in chosen:
        for server in _servers(each):
            if isinstance(server.serving, UrlServer):
                yield server.serving.url
                yield server.serving.ready_url
        for test, model in _models(each):
            if not os.path.exists(cassette_of(each.suite, test)):
                yield _model_url(each.suite, model, env)


def _model_url(suite: Suite, model: ModelAgent, env: Mapping[str, str]) -> str:
    try:
        return endpoint_of(model, suite.providers, env).base_url
    except InputError:
        return ""  # The test is an error then, wherever it is run.


def _is_local(url: str) -> bool:
    return stays_here(urlsplit(url).hostname or "")


def _longest_s(chosen: SelectedTests, options: RunOptions) -> float:
    """Return the longest time that the tests of a suite can take on one worker."""
    ready_s = [
        server.serving.ready_s or _READY_S
        for server in _servers(chosen)
        if isinstance(server.serving, UrlServer)
    ]
    one_s = (options.timeout_s + PROGRAM_GRACE_S) * (options.retries + 1)
    cases = sum(_runs_of(test, options) or 1 for test in chosen.tests)
    rounds = ceil(cases / options.parallel)
    return max(ready_s, default=0.0) + options.timeout_s + rounds * one_s
