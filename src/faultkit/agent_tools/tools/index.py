"""Making a project searchable."""

from __future__ import annotations

from dataclasses import asdict

from faultkit.agent_tools.tool import ToolCall, ToolResult
from faultkit.base.errors import RunError
from faultkit.code.advice.embedding import embedder_of
from faultkit.code.index import Progress, index_project, open_store
from faultkit.code.walk import folder_of

_MOST_SKIPPED = 100
_SCANNED = 0.1
"""What a folder's scan counts, which has no end that is known: less than the first file indexed."""


def index_source_code(call: ToolCall) -> ToolResult:
    root = folder_of(call.values["source_dir"])

    def watch(step: Progress) -> None:
        # Raised out of the indexer, this leaves the index as a run that was cut off does: in good order.
        if call.cancelled.is_set():
            raise RunError(f"stopped before {root} was indexed: the call was cancelled")
        if step.phase == "scan":
            call.progress(_SCANNED * (1 - 1 / (1 + step.done)), None, f"{step.done} source files found")
        else:
            call.progress(step.done, step.of, f"{step.done} of {step.of} files indexed")

    call.progress(0, None, f"looking for source files in {root}")
    with open_store(root, write=True, index_dir=call.services.index_dir) as store:
        summary = index_project(root, call.values["lang"], store, embedder_of(call.services.model()), watch)
    call.services.indexed = str(root)
    document = asdict(summary)
    del document["embedded"], document["seconds"], document["size_bytes"]
    document["skipped"] = document["skipped"][:_MOST_SKIPPED]
    return ToolResult("done", {"status": "done", **document})
