"""SARIF 2.1.0, for code scanning services, as plain data for `json`. The only module that builds it.

Lines and columns count from 1, columns in characters. Paths are relative to a folder: one that the log names,
or that in which the command ran.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from faultkit import __version__
from faultkit.report.annotations import fingerprint_of

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

ROOT = "SRCROOT"
"""The name of the folder that paths are relative to."""

SarifLevel: TypeAlias = Literal["note", "warning", "error"]


@dataclass(frozen=True, slots=True)
class SarifRule:
    """A `reportingDescriptor` (SARIF 3.49)."""

    id: str
    summary: str
    level: SarifLevel
    more: Mapping[str, Any] = field(default_factory=dict)
    """Other members of the descriptor, such as `help`."""


@dataclass(frozen=True, slots=True)
class SarifResult:
    """A `result` (SARIF 3.27) at one place of one file."""

    rule: str
    level: SarifLevel
    text: str
    file: str
    region: Mapping[str, int]
    """`startLine` and, where they are known, `startColumn`, `endLine`, `endColumn`."""
    inside: tuple[str, str] | None = None
    """The name and the kind of the enclosing code: `("load", "function")`."""
    identity: tuple[str, ...] = ()
    """Texts that are the same for the same result of another run; the fingerprint is computed from them. They
    should hold neither line numbers nor figures. Empty: no fingerprint."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Other members of the result, such as `rank`."""


def sarif_log(
    rules: Iterable[SarifRule],
    results: Iterable[SarifResult],
    invocation: Mapping[str, Any] | None = None,
    root: str | None = None,
) -> dict[str, Any]:
    """Return a SARIF log with one run.

    root: the absolute folder that the paths of files are relative to; None: it is not named"""
    listed = tuple(rules)
    places = {rule.id: place for place, rule in enumerate(listed)}
    seen: dict[str, int] = {}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "faultkit",
                        "semanticVersion": __version__,
                        "rules": [_rule(rule) for rule in listed],
                    }
                },
                **({"invocations": [dict(invocation)]} if invocation is not None else {}),
                **({} if root is None else {"originalUriBaseIds": {ROOT: {"uri": _folder_uri(root)}}}),
                "columnKind": "unicodeCodePoints",
                "results": [_result(each, places, seen, root is not None) for each in results],
            }
        ],
    }


def _rule(rule: SarifRule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.summary},
        "defaultConfiguration": {"level": rule.level},
        **rule.more,
    }


def _result(
    result: SarifResult, places: Mapping[str, int], seen: dict[str, int], has_root: bool
) -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": _artifact(result.file, has_root),
            "region": dict(result.region),
        }
    }
    if result.inside is not None:
        name, kind = result.inside
        location["logicalLocations"] = [{"fullyQualifiedName": name, "kind": kind}]
    return {
        "ruleId": result.rule,
        **({"ruleIndex": places[result.rule]} if result.rule in places else {}),
        "level": result.level,
        "message": {"text": result.text},
        "locations": [location],
        **(
            {"partialFingerprints": {"faultkit/v1": fingerprint_of(result.identity, seen)}}
            if result.identity
            else {}
        ),
        **result.more,
    }


def _artifact(file: str, has_root: bool) -> dict[str, str]:
    if has_root and file.startswith("/"):
        return {"uri": _folder_uri(file).rstrip("/")}
    return {"uri": _relative_uri(file), **({"uriBaseId": ROOT} if has_root else {})}


def _folder_uri(folder: str) -> str:
    path = quote(folder.replace("\\", "/").encode("utf-8", "replace"), safe="/:").rstrip("/")
    return f"file://{'' if path.startswith('/') or not path else '/'}{path}/"


def _relative_uri(file: str) -> str:
    path = file.replace("\\", "/").removeprefix("./")
    return quote(path.encode("utf-8", "replace"), safe="/")
