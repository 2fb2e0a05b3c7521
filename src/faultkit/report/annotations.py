"""Annotations of source lines for CI services: GitHub's workflow commands and GitLab's Code Quality issues,
and the fingerprints by which services recognise a result. The only module that builds them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Literal, TypeAlias

GitHubLevel: TypeAlias = Literal["notice", "warning", "error"]
GitLabSeverity: TypeAlias = Literal["info", "minor", "major", "critical", "blocker"]

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_MESSAGE_ESCAPES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY_ESCAPES = _MESSAGE_ESCAPES | {":": "%3A", ",": "%2C"}


def workflow_command(level: GitHubLevel, message: str, **properties: str | int) -> str:
    """Return a workflow command of GitHub: `::error file=suite.yml,line=3::text`."""
    written = ",".join(
        f"{name}={_escaped(str(value), _PROPERTY_ESCAPES)}" for name, value in properties.items()
    )
    return f"::{level} {written}::{_escaped(message, _MESSAGE_ESCAPES)}"


def _escaped(text: str, signs: dict[str, str]) -> str:
    return "".join(signs.get(char, char) for char in _CONTROL.sub(" ", text))


def quality_issue(
    severity: GitLabSeverity, rule: str, text: str, file: str, lines: tuple[int, int], fingerprint: str
) -> dict[str, Any]:
    """Return an issue of a Code Quality report of GitLab, as plain data for `json`.

    file: the path from the top of the repository, without `./`"""
    begin, end = lines
    return {
        "description": _CONTROL.sub(" ", text),
        "check_name": rule,
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {"path": _CONTROL.sub("\ufffd", file), "lines": {"begin": begin, "end": end}},
    }


def fingerprint_of(identity: Sequence[str], seen: dict[str, int]) -> str:
    """Return the fingerprint of a result: 32 hexadecimal digits.

    identity: texts that are the same for the same result of another run
    seen: how often each identity occurred; results with the same identity are numbered in their order"""
    key = "\0".join(identity)
    seen[key] = seen.get(key, 0) + 1
    return sha256(f"{key}\0{seen[key]}".encode("utf-8", "replace")).hexdigest()[:32]
