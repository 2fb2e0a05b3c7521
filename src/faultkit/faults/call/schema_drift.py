"""Schema drift: the list of tools describes arguments that differ from those the tools take."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, ClassVar, Literal

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Verdict
from faultkit.faults.call_replies import changed_result, items
from faultkit.faults.fault import setting

ADDED = "faultkit_required"
_OTHER_TYPE = {"string": "integer", "integer": "string", "number": "string", "boolean": "string"}


@dataclass(frozen=True)
class SchemaDrift(CallFault):
    kind: ClassVar[str] = "schema_drift"
    summary: ClassVar[str] = "The list of tools describes other arguments than before."
    main: ClassVar[str] = "change"
    methods: ClassVar[tuple[str, ...]] = ("tools/list",)
    only: ClassVar[tuple[str, ...]] = ("tools/list",)
    instead: ClassVar[str] = "its setting `tools` names the tools that drift"

    change: Literal["rename", "require", "retype", "drop"] = setting(
        "rename",
        "The first argument gets another name, one more is required, the first has another type, or is gone.",
        choices=("rename", "require", "retype", "drop"),
    )
    tools: str = setting("*", "Which tools drift: a name or a glob.")

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        def drifted(result: dict[str, Any]) -> dict[str, Any]:
            return {**result, "tools": [self._tool(tool) for tool in items(result, "tools")]}

        return Verdict(frames=changed_result(drifted), effect=self.kind)

    def _tool(self, tool: Any) -> Any:
        if not isinstance(tool, dict) or not fnmatchcase(str(tool.get("name")), self.tools):
            return tool
        schema = tool.get("inputSchema")
        return {**tool, "inputSchema": drift(schema if isinstance(schema, dict) else {}, self.change)}


def drift(schema: dict[str, Any], change: str) -> dict[str, Any]:
    """Return a schema of arguments after the change. Where there is no argument to change, one is added."""
    found = schema.get("properties")
    properties: dict[str, Any] = found if isinstance(found, dict) else {}
    required = items(schema, "required")
    first = next(iter(properties), None)
    if first is None or change == "require":
        added = {**properties, ADDED: {"type": "string"}}
        return {**schema, "type": "object", "properties": added, "required": [*required, ADDED]}
    if change == "retype":
        return {**schema, "properties": {**properties, first: _retyped(properties[first])}}
    names = {name: f"{name}_v2" if name == first and change == "rename" else name for name in properties}
    if change == "drop":
        del names[first]
    renamed = {names[name]: properties[name] for name in names}
    drifted = {**schema, "properties": renamed}
    if required:
        drifted["required"] = [names.get(name, name) for name in required if name != first or first in names]
    return drifted


def _retyped(schema: Any) -> dict[str, Any]:
    type_ = schema.get("type") if isinstance(schema, dict) else None
    return {"type": _OTHER_TYPE.get(type_, "string") if isinstance(type_, str) else "string"}
