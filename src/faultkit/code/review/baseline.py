"""A baseline: the findings that a project has decided to live with for now, in a JSON file.

A finding is known by its rule, file, function and message, and not by its line; one of a model, which uses
other words each time, not by its message. Of several that are the same, the file has the number. Paths are
relative to the folder of the baseline.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from faultkit.base.documents.checks import mapping, sequence, shown, whole_number
from faultkit.base.errors import InputError
from faultkit.base.files import read_text
from faultkit.base.patterns import lazy_regex
from faultkit.code.review.model_rules import lasting_message
from faultkit.code.review.outcome import Hiding, JudgedFinding
from faultkit.code.rules.rule import Finding

FORMAT = 1
_LINE_NUMBER = lazy_regex(r"\blines? \d+(?:(?:, | and )\d+)*")

Identity: TypeAlias = tuple[str, str, str, str]
"""Rule, file, function and message."""
_KEYS = ("rule", "file", "function", "message")
_THRESHOLDS: tuple[Hiding, ...] = ("severity", "confidence")
"""What hides findings that are found nevertheless."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """Known findings, and how many there are of each."""

    folder: str
    """The absolute folder that its paths are relative to."""
    known: Mapping[Identity, int]

    def identity(self, finding: Finding, path: str) -> Identity:
        """Return what a finding is known by; `path` is the absolute path of its file."""
        relative = _relative(path, self.folder)
        message = _LINE_NUMBER.sub("line", lasting_message(finding))
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


Reviewed: TypeAlias = Mapping[str, frozenset[str]]
"""What a review looked at: the ids of the rules whose findings count, by the absolute path of each file."""


def against(
    baseline: Baseline, findings: Sequence[JudgedFinding], reviewed: Reviewed
) -> tuple[list[JudgedFinding], dict[Identity, int]]:
    """Return the findings, those hidden that the baseline has, and what it has that was not found.

    What was not found is fixed if its file was reviewed with its rule, or is gone."""
    left = Counter(baseline.known)
    judged = []
    for each in findings:
        identity = baseline.identity(each.finding, each.path)
        is_known = each.hidden in ("", *_THRESHOLDS) and left[identity] > 0
        left[identity] -= is_known
        judged.append(replace(each, hidden="baseline") if is_known and not each.hidden else each)
    rules = _by_relative_path(reviewed, baseline)
    fixed = {
        identity: count
        for identity, count in left.items()
        if count > 0 and (_is_looked_at(identity, rules) or _is_gone(identity[1], baseline))
    }
    return judged, fixed


def _by_relative_path(reviewed: Reviewed, baseline: Baseline) -> Reviewed:
    return {_relative(path, baseline.folder): rules for path, rules in reviewed.items()}


def _is_looked_at(identity: Identity, rules: Reviewed) -> bool:
    """Return whether a finding would have been found. `rules` has relative paths."""
    return identity[0] in rules.get(identity[1], ())


def _relative(path: str, folder: str) -> str:
    return os.path.relpath(os.path.realpath(path), folder).replace(os.sep, "/")


def _is_gone(file: str, baseline: Baseline) -> bool:
    return not os.path.exists(os.path.join(baseline.folder, file))


def renewed(baseline: Baseline, findings: Sequence[JudgedFinding], reviewed: Reviewed) -> Baseline:
    """Return a new baseline: what is shown, and of the old one what the review did not look at, or found but
    did not show because of a threshold."""
    rules = _by_relative_path(reviewed, baseline)
    shown = _counted(baseline, findings, ("",))
    quiet = _counted(baseline, findings, _THRESHOLDS)
    kept = {
        identity: min(count - shown[identity], quiet[identity]) if _is_looked_at(identity, rules) else count
        for identity, count in baseline.known.items()
        if not _is_gone(identity[1], baseline)
    }
    # What has a count below 1 is left out of a sum of counters.
    return Baseline(baseline.folder, shown + Counter(kept))


def _counted(
    baseline: Baseline, findings: Iterable[JudgedFinding], hidden: Container[Hiding]
) -> Counter[Identity]:
    return Counter(baseline.identity(each.finding, each.path) for each in findings if each.hidden in hidden)


def baseline_text(baseline: Baseline) -> str:
    """Return a baseline as the text of its file."""
    entries = [
        dict(zip(_KEYS, identity, strict=True)) | ({"count": count} if count > 1 else {})
        for identity, count in sorted(baseline.known.items())
    ]
    return json.dumps({"version": FORMAT, "findings": entries}, indent=2, ensure_ascii=False) + "\n"
