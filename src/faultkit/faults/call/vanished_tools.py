"""Vanished tools: the list of tools no longer has them."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Verdict
from faultkit.faults.call_replies import changed_result, items
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class VanishedTools(CallFault):
    kind: ClassVar[str] = "vanished_tools"
    summary: ClassVar[str] = "Tools are missing from the list of tools."
    main: ClassVar[str] = "tools"
    methods: ClassVar[tuple[str, ...]] = ("tools/list",)
    only: ClassVar[tuple[str, ...]] = ("tools/list",)
    instead: ClassVar[str] = "its setting `tools` names the tools that are missing"

    tools: str = setting("*", "Which tools are missing: a name or a glob.")

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        def vanishes(tool: Any) -> bool:
            return isinstance(tool, dict) and fnmatchcase(str(tool.get("name")), self.tools)

        def without(result: dict[str, Any]) -> dict[str, Any]:
            return {**result, "tools": [tool for tool in items(result, "tools") if not vanishes(tool)]}

        return Verdict(frames=changed_result(without), effect=self.kind)
