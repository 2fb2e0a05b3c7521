"""From paths to verdicts: finds suites, runs what is wanted of them, and remembers what failed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import sleep

import click

from faultkit.agents.execute.options import Options
from faultkit.agents.file import files_of_suite, read_suite
from faultkit.agents.model import Suite
from faultkit.agents.result import Results
from faultkit.agents.run import run_to_end
from faultkit.agents.select import Selection, key_of, select, tests_of
from faultkit.base.errors import FaultkitError, InputError
from faultkit.cli.suites.reporting import Reports

NOT_MET, NO_TESTS = 1, 7
_BY_SIGNAL = 128
LOOK_S = 0.5
"""How often a watched file is looked at."""
USUAL_NAMES = ("mcptest.yml", "mcptest.yaml", "*.suite.yml", "*.suite.yaml")
REMEMBERED = Path(".fault_cache") / "last-failed.json"
_OF_RECOVERY = " (recovery)"


@dataclass(frozen=True, slots=True)
class Wanted:
    paths: tuple[str, ...]
    selection: Selection
    variables: Mapping[str, str]
    last_failed: bool = False
    collect_only: bool = False
    may_be_empty: bool = False


def watch_wanted(wanted: Wanted, options: Options, reports: Reports) -> int:
    """Again and again, whenever a file of the suites has changed; until somebody ends it."""
    known: dict[Path, None] = {}
    while True:
        found = [file for path in find_suites(wanted.paths) for file in _files_of(path, wanted)]
        # What a suite was read from when it was right is watched on: somebody is about to mend it.
        known |= dict.fromkeys(found)
        files = list(known)
        before = _stamps(files)
        try:
            code = run_wanted(wanted, options, reports)
        except FaultkitError as error:
            for mistake in str(error).splitlines():
                click.echo(f"error: {mistake}", err=True)
            code = error.exit_code
        if code > _BY_SIGNAL:
            return code
        many = "1 file" if len(files) == 1 else f"{len(files)} files"
        click.echo(f"watching {many}; Ctrl-C ends it", err=True)
        while _stamps(files) == before:
            sleep(LOOK_S)


def _files_of(path: Path, wanted: Wanted) -> list[Path]:
    return [Path(file) for file in files_of_suite(path, variables=wanted.variables)]


def _stamps(files: Sequence[Path]) -> list[tuple[int, int] | None]:
    stamps: list[tuple[int, int] | None] = []
    for file in files:
        try:
            found = file.stat()
            stamps.append((found.st_mtime_ns, found.st_size))
        except OSError:
            stamps.append(None)
    return stamps


def run_wanted(wanted: Wanted, options: Options, reports: Reports) -> int:
    """The exit code. InputError: a suite is wrong, or is not there."""
    suites = load_all(find_suites(wanted.paths), wanted.variables)
    reports.check_beside([Path(file) for suite in suites for file in suite.files])
    selection = wanted.selection
    if wanted.last_failed:
        selection = replace(selection, names=_remembered())
    chosen = select(suites, selection)
    if wanted.collect_only:
        for each in chosen:
            for test in each.tests:
                click.echo(key_of(each.suite, test.name))
    if not chosen:
        click.echo("no test was selected", err=True)
        return 0 if wanted.may_be_empty else NO_TESTS
    if wanted.collect_only:
        return 0
    ended = run_to_end(chosen, options, reports.row)
    reports.end(ended.results)
    _remember(suites, ended.results)
    if ended.signal is not None:
        return 128 + ended.signal
    if any(suite.problem for suite in ended.results.suites):
        return InputError.exit_code
    return 0 if ended.results.ok else NOT_MET


def find_suites(paths: Sequence[str]) -> list[Path]:
    """InputError for one that is not there, or if there is none at all."""
    found: list[Path] = []
    for text in paths or (".",):
        path = Path(text)
        if path.is_dir():
            inside = sorted({file for name in USUAL_NAMES for file in path.rglob(name)})
            if not inside:
                raise InputError(
                    text, f"expected a suite, got a folder without any ({', '.join(USUAL_NAMES)})"
                )
            found += inside
        elif path.exists():
            found.append(path)
        else:
            raise InputError(text, "there is no such suite")
    return list(dict.fromkeys(found))


def load_all(files: Sequence[Path], variables: Mapping[str, str], flag: str = "--var") -> list[Suite]:
    """One InputError with all that is wrong in all of them, or for a variable that none of them has. `flag`
    is where the variables are from."""
    suites: list[Suite] = []
    problems: list[InputError] = []
    for file in files:
        suite, wrong = read_suite(file, variables=variables)
        problems += wrong
        if suite is not None:
            suites.append(suite)
    if problems:
        raise InputError("", "\n".join(map(str, problems)))
    used = {name for suite in suites for name in suite.variables}
    for name in variables:
        if name not in used:
            raise InputError(
                flag, f"expected a variable of the suites, got {name}: none of them has ${{{name}}}"
            )
    return suites


def _remembered() -> frozenset[str]:
    try:
        names = json.loads(REMEMBERED.read_text("utf-8"))
        return frozenset(str(name) for name in names)
    except FileNotFoundError:
        raise InputError("--last-failed", "there was no run in this folder before") from None
    except (OSError, ValueError, TypeError) as error:
        raise InputError(str(REMEMBERED), f"cannot be read: {error}; remove it") from None


def _remember(suites: Sequence[Suite], results: Results) -> None:
    """What did not pass, for `--last-failed`. That it cannot be kept is no reason to fail."""
    names = {suite.file: {test.name for test in tests_of(suite)} for suite in suites}
    failed = []
    for result in results.suites:
        for row in result.rows:
            name = row.name if row.name in names[result.file] else row.name.removesuffix(_OF_RECOVERY)
            if row.fails:
                failed.append(f"{result.file}::{name}")
    try:
        REMEMBERED.parent.mkdir(exist_ok=True)
        (REMEMBERED.parent / ".gitignore").write_text("*\n")
        REMEMBERED.write_text(json.dumps(sorted(set(failed)), indent=1) + "\n", "utf-8")
    except OSError:
        pass
