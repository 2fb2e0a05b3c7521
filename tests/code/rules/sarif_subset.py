"""The subset of SARIF 2.1.0 that Faultkit writes, as JSON Schema.

Written by hand after the standard, where every object except property bags is closed.
"""

from __future__ import annotations

from typing import Any

_TEXT: dict[str, Any] = {"type": "string", "minLength": 1}


def _closed(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": properties,
    }


def _list(of: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": of, **more}


_LEVEL = {"enum": ["none", "note", "warning", "error"]}
_COUNT = {"type": "integer", "minimum": 1}
_MESSAGE = _closed(("text",), text=_TEXT, markdown=_TEXT)
_BAG = {"type": "object", "properties": {"tags": _list({"type": "string"}, uniqueItems=True)}}
_RULE = _closed(
    ("id",),
    id=_TEXT,
    name=_TEXT,
    shortDescription=_MESSAGE,
    fullDescription=_MESSAGE,
    help=_MESSAGE,
    helpUri={"type": "string", "format": "uri", "pattern": "^https://[^ ]+$"},
    defaultConfiguration=_closed((), level=_LEVEL),
    properties=_BAG,
)
_LOCATION = _closed(
    (),
    physicalLocation=_closed(
        (),
        artifactLocation=_closed(
            (),
            uri={"type": "string", "format": "uri-reference", "pattern": r"^[^\\ ]+$"},
            uriBaseId=_TEXT,
        ),
        region=_closed((), startLine=_COUNT, startColumn=_COUNT, endLine=_COUNT, endColumn=_COUNT),
    ),
    logicalLocations=_list(_closed((), fullyQualifiedName=_TEXT, kind=_TEXT), uniqueItems=True),
)
_RESULT = _closed(
    ("message",),
    ruleId=_TEXT,
    ruleIndex={"type": "integer", "minimum": -1},
    level=_LEVEL,
    message=_MESSAGE,
    locations=_list(_LOCATION),
    rank={"type": "number", "minimum": -1, "maximum": 100},
    baselineState={"enum": ["new", "unchanged", "updated", "absent"]},
    suppressions=_list(_closed(("kind",), kind={"enum": ["inSource", "external"]}, justification=_TEXT)),
    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
)
SARIF = _closed(
    ("version", "runs"),
    **{"$schema": {"type": "string", "format": "uri"}},
    version={"const": "2.1.0"},
    runs=_list(
        _closed(
            ("tool",),
            tool=_closed(
                ("driver",),
                driver=_closed(
                    ("name",), name=_TEXT, semanticVersion=_TEXT, rules=_list(_RULE, uniqueItems=True)
                ),
            ),
            originalUriBaseIds={
                "type": "object",
                "additionalProperties": _closed((), uri={"type": "string", "pattern": "^file:///([^ ]+/)?$"}),
            },
            columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
            results=_list(_RESULT),
        )
    ),
)
