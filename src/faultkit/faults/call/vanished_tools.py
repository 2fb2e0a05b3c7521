"""Vanished tools: the list of tools no longer has them."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, ClassVar

from faultkit.faults.call.call import Call, CallFault, Circumstances, Verdict
from faultkit.faults.call.reply import changed_result, items
from faultkit.faults.fault import setting


@dataclass(frozen=True)
class VanishedTools(CallFault):
    kind: ClassVar[str] = "vanished_tools"
    summary: ClassVar[str] = "Tools are missing from the list of tools."
    main: ClassVar[str] = "tools"
    methods: ClassVar[tuple[str, ...]] = ("tools/list",)
    only: ClassVar[tuple[str, ...]] = ("tools/list",)
    instead: ClassVar[str] = "its setting `tools` says which tools are missing"

    tools: str = setting("*", "Which tools are missing: a name or a glob.")

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        def without(result: dict[str, Any]) -> dict[str, Any]:
            left = [tool for tool in items(result, "tools") if not self._vanishes(tool)]
            return {**result, "tools": left}

        return Verdict(frames=changed_result(without), effect=self.kind)

    def _vanishes(self, tool: Any) -> bool:
        return isinstance(tool, dict) and fnmatchcase(str(tool.get("name")), self.tools)
