"""What `fault test` keeps of its runs in a folder: the tests that failed, and the faults that calls met."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from faultkit.agents.coverage import KnownRun, MetFaults, met_faults
from faultkit.agents.report.suite_json import results_document
from faultkit.agents.suite.definition import Suite
from faultkit.agents.suite.results import RECOVERY_SUFFIX, SuiteResults
from faultkit.base.errors import InputError

T = TypeVar("T")
FOLDER = Path(".fault_cache")
_FAILED = "last-failed.json"
_MET = "last-met.json"


def store_run(suites: Sequence[Suite], results: SuiteResults) -> None:
    """Keep what `--last-failed` and `coverage` need; an error in writing it is ignored."""
    names = {suite.file: {test.name for test in suite.tests} for suite in suites}
    failed, ran = [], set()
    for result in results.suites:
        for row in result.rows:
            name = row.name if row.name in names[result.file] else row.name.removesuffix(RECOVERY_SUFFIX)
            ran.add(f"{result.file}::{name}")
            if row.fails:
                failed.append(f"{result.file}::{name}")
    try:
        # A test that was not run, by --bail or --filter, has not been mended.
        kept = (key.rpartition("::") for key in last_failed() - ran)
        failed += [f"{file}::{name}" for file, _, name in kept if name in names.get(file, {name})]
    except InputError:
        pass
    try:
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / ".gitignore").write_text("*\n")
        _write(_FAILED, sorted(set(failed)))
        _store_met(results)
    except OSError:
        pass


def last_failed() -> frozenset[str]:
    """Return the tests that failed in the last run. Raises InputError if there was none."""
    try:
        names = json.loads((FOLDER / _FAILED).read_text("utf-8"))
        return frozenset(map(str, names))
    except FileNotFoundError:
        raise InputError("--last-failed", "there was no run in this folder before") from None
    except (OSError, ValueError, TypeError) as error:
        raise InputError(str(FOLDER / _FAILED), f"cannot be read: {error}; remove it") from None


def last_met() -> MetFaults | None:
    """Return what calls met when each test was run last in this folder; None if no run is known."""
    try:
        stored = json.loads((FOLDER / _MET).read_text("utf-8"))
        # An entry of an earlier version does not say what was injected, so it is unknown what was met.
        return {
            (file, test): KnownRun(dict(injected[0]), frozenset((a, b, c) for a, b, c in met))
            for file, test, met, *injected in stored
            if injected
        }
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise InputError(str(FOLDER / _MET), f"cannot be read: {error}; remove it") from None


def read_report(flag: str, file: str, read: Callable[[Any], T]) -> T:
    """Return what `read` finds in a JSON report of `fault test`. Raises InputError that names the flag."""
    try:
        return read(json.loads(Path(file).read_text("utf-8")))
    except OSError as error:
        raise InputError(flag, f"{file} cannot be read: {(error.strerror or '').lower()}") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise InputError(
            flag, f"expected a report of `fault test --reporter json=FILE`, got {file}"
        ) from None


def _store_met(results: SuiteResults) -> None:
    """Keep what calls met in this run, beside what those of tests that it did not run met before."""
    try:
        before = last_met() or {}
    except InputError:
        before = {}
    known = {**before, **met_faults(results_document(results))}
    _write(
        _MET, [[*where, sorted(run.met), run.injected] for where, run in sorted(known.items(), key=_place)]
    )


def _place(known: tuple[tuple[str, str], KnownRun]) -> tuple[str, str]:
    return known[0]


def _write(name: str, value: object) -> None:
    (FOLDER / name).write_text(json.dumps(value, indent=1) + "\n", "utf-8")
