"""Results of cases on their way from a worker: as plain data and back, and as lines of text.

They keep every value as it is, so that the merged report is that of one machine, to the byte.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from faultkit.agents.shards.suite_plan import SuitePart, SuitePlan, cases_of, suite_plan_of
from faultkit.agents.suite_runner import PieceOutcome
from faultkit.load.part_lines import PartReader, PartWriter, WorkerLost
from faultkit.load.work import Work


def outcome_to_json(outcome: PieceOutcome) -> str:
    """Return what came of a case as JSON. Values of arguments that JSON does not have become texts, as in
    reports."""
    return json.dumps(_plain(outcome), separators=(",", ":"), default=_other)


def _other(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)


def outcome_from_json(text: str) -> PieceOutcome:
    """Return the outcome of JSON. Raises an error of Python's own for data of another form."""
    found: PieceOutcome = _read(PieceOutcome, json.loads(text))
    return found


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _read(type_: Any, value: Any) -> Any:
    origin, arguments = get_origin(type_), get_args(type_)
    if is_dataclass(type_):
        types = _field_types(cast("Any", type_))
        return type_(**{name: _read(types[name], each) for name, each in value.items()})  # type: ignore[operator]
    if isinstance(type_, type) and issubclass(type_, tuple):  # One with names, as `Interval`.
        return type_(*value)
    if origin is tuple:
        kinds = arguments[:1] * len(value) if arguments[-1] is Ellipsis else arguments
        return tuple(_read(kind, each) for kind, each in zip(kinds, value, strict=True))
    if origin in (Union, UnionType) and value is not None:
        kinds = tuple(kind for kind in arguments if kind is not NoneType)
        return _read(kinds[0], value) if len(kinds) == 1 else value
    return value


@cache
def _field_types(cls: Any) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


@dataclass(frozen=True, slots=True)
class CaseFold:
    """The cases of a worker that have ended since its last fold."""

    outcomes: Mapping[int, str]
    """What came of each as JSON, by its number."""
    problems: Mapping[int, str]
    """Why the tests of a suite could not be run at all, by the place of the suite."""


class CaseFolder:
    """Gathers what the process of a worker reports."""

    def __init__(self, plan: SuitePlan) -> None:
        self._outcomes: dict[int, str] = {}
        self._problems: dict[int, str] = {}

    def add(self, outcomes: Mapping[int, str], problems: Mapping[int, str]) -> None:
        """Add a report."""
        self._outcomes.update(outcomes)
        self._problems.update(problems)

    def take(self) -> CaseFold:
        """Return what was added since the last call."""
        taken = CaseFold(self._outcomes, self._problems)
        self._outcomes, self._problems = {}, {}
        return taken


class CaseWriter(PartWriter[CaseFold]):
    """Writes the messages of one worker."""

    counted = "cases"

    def _document(self, message: CaseFold) -> dict[str, Any]:
        return {"outcomes": list(message.outcomes.items()), "problems": list(message.problems.items())}

    def _count(self, message: CaseFold) -> int:
        return len(message.outcomes)


class CaseReader(PartReader[CaseFold]):
    """Reads the messages of one worker, and accepts each of its cases once."""

    counted = "cases"

    def __init__(self, part: SuitePart) -> None:
        super().__init__(part)
        self._left = set(cases_of(part))

    def _message(self, document: Mapping[str, Any]) -> CaseFold:
        outcomes: dict[int, str] = {}
        for number, text in document["outcomes"]:
            if number not in self._left:
                raise WorkerLost(f"it sent a result of case {number + 1}, which it has not or had sent")
            self._left.discard(number)
            outcome_from_json(text)
            outcomes[number] = text
        return CaseFold(outcomes, {int(suite): str(problem) for suite, problem in document["problems"]})

    def _count(self, message: CaseFold) -> int:
        return len(message.outcomes)


SUITE: Work[SuitePlan, CaseFold] = Work(
    "suite worker",
    "faultkit.agents.shards.case_runner:CaseRunner",
    suite_plan_of,
    CaseFolder,
    CaseWriter,
    CaseReader,
)
"""The work of suites."""
