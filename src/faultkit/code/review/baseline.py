"""A baseline: the findings that a project has decided to live with for now, in a JSON file.

A finding is known by its rule, file, function and message, and not by its line. Of several that are the same,
the file has the number. Paths are relative to the folder of the baseline.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from faultkit.base.documents.checks import mapping, sequence, shown, whole_number
from faultkit.base.errors import InputError
from faultkit.base.files import read_text
from faultkit.base.patterns import lazy_regex
from faultkit.code.review.outcome import JudgedFinding
from faultkit.code.rules.rule import Finding

FORMAT = 1
_LINE_NUMBER = lazy_regex(r"\blines? \d+(?:(?:, | and )\d+)*")

Identity: TypeAlias = tuple[str, str, str, str]
"""Rule, file, function and message."""
_KEYS = ("rule", "file", "function", "message")


@dataclass(frozen=True, slots=True)
class Baseline:
    """Known findings, and how many there are of each."""

    folder: str
    """The absolute folder that its paths are relative to."""
    known: Mapping[Identity, int]

    def identity(self, finding: Finding, path: str) -> Identity:
        """Return what a finding is known by; `path` is the absolute path of its file."""
        relative = _relative(path, self.folder)
        message = _LINE_NUMBER.sub("line", finding.message)
        return finding.rule.id, relative, finding.function, message


def read_baseline(path: str) -> Baseline:
    """Read a baseline. Raises InputError if it is none."""
    text = read_text(path)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(path, "expected a baseline that --write-baseline wrote, got no JSON") from None
    try:
        given = mapping(document, ("version", "findings"), "")
        if given.get("version") != FORMAT:
            raise InputError("version", f"expected {FORMAT}, got {shown(given.get('version'))}")
        known: Counter[Identity] = Counter()
        for place, each in enumerate(sequence(given.get("findings"), "findings", "findings")):
            known.update([_entry(each, f"findings[{place}]")] * _count(each, f"findings[{place}].count"))
    except InputError as error:
        raise InputError(f"{path}: {error.path}" if error.path else path, error.problem) from None
    return Baseline(_folder_of(path), known)


def _entry(value: object, path: str) -> Identity:
    given = mapping(value, (*_KEYS, "count"), path)
    for key in _KEYS:
        if not isinstance(given.get(key), str):
            raise InputError(f"{path}.{key}", f"expected a text, got {shown(given.get(key))}")
    rule, file, function, message = (str(given[key]) for key in _KEYS)
    return rule, file, function, message


def _count(value: object, path: str) -> int:
    count = value.get("count", 1) if isinstance(value, Mapping) else 1
    if whole_number(count, "a whole number above 0", path) < 1 or count > 100_000:
        raise InputError(path, f"expected a whole number above 0, got {shown(count)}")
    return int(count)


def empty_baseline(path: str) -> Baseline:
    """Return the baseline of a file that is not there yet."""
    return Baseline(_folder_of(path), {})


def _folder_of(path: str) -> str:
    return os.path.dirname(os.path.realpath(path))


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What a review looked at: the absolute paths of its files, and the ids of its rules."""

    paths: frozenset[str]
    rules: frozenset[str]


def against(
    baseline: Baseline, findings: Sequence[JudgedFinding], reviewed: Reviewed
) -> tuple[list[JudgedFinding], dict[Identity, int]]:
    """Return the findings, those hidden that the baseline has, and what it has that was not found.

    What was not found is fixed if its file was reviewed with its rule, or is gone."""
    left = Counter(baseline.known)
    judged = []
    for each in findings:
        identity = baseline.identity(each.finding, each.path)
        is_known = each.hidden in ("", "severity", "confidence") and left[identity] > 0
        left[identity] -= is_known
        judged.append(replace(each, hidden="baseline") if is_known and not each.hidden else each)
    files = {_relative(path, baseline.folder) for path in reviewed.paths}
    fixed = {
        identity: count
        for identity, count in left.items()
        if count > 0
        and ((identity[0] in reviewed.rules and identity[1] in files) or _is_gone(identity[1], baseline))
    }
    return judged, fixed


def _relative(path: str, folder: str) -> str:
    return os.path.relpath(os.path.realpath(path), folder).replace(os.sep, "/")


def _is_gone(file: str, baseline: Baseline) -> bool:
    return not os.path.exists(os.path.join(baseline.folder, file))


def baseline_text(baseline: Baseline, findings: Sequence[JudgedFinding], reviewed: Reviewed) -> str:
    """Return the text of a new baseline: what is shown, and what the old one has of files that were not
    reviewed and of rules that were not run."""
    files = {_relative(path, baseline.folder) for path in reviewed.paths}
    kept = Counter(
        {
            identity: count
            for identity, count in baseline.known.items()
            if not (identity[0] in reviewed.rules and identity[1] in files)
            and not _is_gone(identity[1], baseline)
        }
    )
    kept.update(baseline.identity(each.finding, each.path) for each in findings if not each.hidden)
    entries = [
        dict(zip(_KEYS, identity, strict=True)) | ({"count": count} if count > 1 else {})
        for identity, count in sorted(kept.items())
    ]
    return json.dumps({"version": FORMAT, "findings": entries}, indent=2, ensure_ascii=False) + "\n"
