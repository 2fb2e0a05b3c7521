"""The resources of the server: the last reports, and the vocabulary of faults. Nothing here knows the SDK."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from faultkit.agent_tools.tool import IMPORT_LOCK
from faultkit.base.errors import InputError

if TYPE_CHECKING:
    from faultkit.agent_tools.tool import Services, StoredReport
    from faultkit.faults.fault import Fault

MARKDOWN, JSON = "text/markdown", "application/json"
FAULTS_URI, FAULTS_JSON_URI = "fault://faults", "fault://faults/json"
_REPORTS = "fault://reports/"
_LATEST = "latest"


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource as it is listed."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str
    size: int | None = None
    """Bytes, if they are known without building the content."""


@dataclass(frozen=True, slots=True)
class ResourceTemplate:
    """A family of resources as it is listed."""

    uri_template: str
    name: str
    title: str
    description: str
    mime_type: str


@dataclass(frozen=True, slots=True)
class ResourceText:
    """The content of a resource."""

    uri: str
    """The URI as the client wrote it."""
    mime_type: str
    text: str


TEMPLATES: tuple[ResourceTemplate, ...] = (
    ResourceTemplate(
        f"{_REPORTS}{{id}}",
        "report",
        "A report",
        'A report of an impact tool as Markdown. `id` is the number that the tool gave it, or "latest".',
        MARKDOWN,
    ),
    ResourceTemplate(
        f"{_REPORTS}{{id}}/json",
        "report_json",
        "A report as data",
        "The same report with all its figures, as `fault scenario run` writes them to results.json.",
        JSON,
    ),
)


def list_resources(services: Services) -> list[Resource]:
    """Return the resources that can be read now; reports the newest first."""
    return [*_FIXED, *(each for report in services.reports.all() for each in _of_report(report))]


def read_resource(services: Services, uri: str) -> ResourceText:
    """Return the content of a resource. Raises InputError, which lists the reports that exist."""
    make = _MAKERS.get(uri)
    if make is not None:
        with IMPORT_LOCK:
            mime_type, text = make()
        return ResourceText(uri, mime_type, text)
    report, as_json = _asked_for(services, uri)
    if as_json:
        return ResourceText(uri, JSON, _dumped(report.document))
    return ResourceText(uri, MARKDOWN, report.markdown)


def report_uri(id: str) -> str:
    """Return the URI of a report."""
    return f"{_REPORTS}{id}"


def _asked_for(services: Services, uri: str) -> tuple[StoredReport, bool]:
    there = services.reports.all()
    if not uri.startswith(_REPORTS):
        raise InputError(
            "uri", f'expected {FAULTS_URI}, {FAULTS_JSON_URI} or {_REPORTS}ID, got "{uri[:200]}"'
        )
    id, _, form = uri.removeprefix(_REPORTS).partition("/")
    found = there[0] if id == _LATEST and there else services.reports.get(id)
    if found is None or form not in ("", "json"):
        known = ", ".join(report_uri(each.id) for each in there)
        what = (
            f"one of {known}" if known else "a report, and none has been made yet: run an impact tool first"
        )
        raise InputError("uri", f'expected {what}, got "{uri[:200]}"')
    return found, form == "json"


def _of_report(report: StoredReport) -> tuple[Resource, Resource]:
    uri = report_uri(report.id)
    size = len(report.markdown.encode("utf-8", "replace"))
    about = "What a fault did to a service: figures, objectives, and the difference to a healthy run."
    return (
        Resource(uri, f"report-{report.id}", report.title, about, MARKDOWN, size),
        Resource(f"{uri}/json", f"report-{report.id}-json", f"{report.title} (JSON)", about, JSON),
    )


def _faults_page() -> str:
    from faultkit.faults import FAULTS

    parts = [
        "# Faults",
        "The level of a fault says where it acts: `call` on MCP calls (`fault mock`, `fault gateway`), `llm` "
        "on requests to models (`fault mock llm`), all others on the network between a client and a service, "
        "or between a service and what it depends on. The impact tools run the common network faults; "
        "`fault run` and scenario files run all faults of the network.",
    ]
    for fault in FAULTS.values():
        parts.append(f"## {fault.kind}\n\n{fault.summary} (level: {fault.level})")
        rows = [_row(name, each) for name, each in _settings(fault).items()]
        if rows:
            parts.append("\n".join(["| setting | type | default | meaning |", "|---|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def _row(name: str, setting: dict[str, Any]) -> str:
    kind = setting.get("type", "any")
    shown = " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind)
    if "enum" in setting:
        shown = " or ".join(f"`{each}`" for each in setting["enum"])
    default = json.dumps(setting["default"], ensure_ascii=False) if "default" in setting else ""
    cells = (f"`{name}`", shown, default, str(setting.get("description", "")))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _settings(fault: type[Fault]) -> dict[str, dict[str, Any]]:
    from faultkit.faults.fault_data import fault_schema

    schema: dict[str, Any] = fault_schema(fault)
    return dict(schema["properties"])


def _faults_document() -> str:
    from faultkit.faults import FAULTS

    return _dumped(
        [
            {"kind": fault.kind, "level": fault.level, "summary": fault.summary, "settings": _settings(fault)}
            for fault in FAULTS.values()
        ]
    )


def _dumped(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


_FIXED = (
    Resource(
        FAULTS_URI,
        "faults",
        "The faults there are",
        "Every fault that Faultkit can inject, with its settings, units and defaults.",
        MARKDOWN,
    ),
    Resource(
        FAULTS_JSON_URI,
        "faults-json",
        "The faults there are (JSON)",
        "The same with the JSON schema of each setting.",
        JSON,
    ),
)
_MAKERS: dict[str, Callable[[], tuple[str, str]]] = {
    FAULTS_URI: lambda: (MARKDOWN, _faults_page()),
    FAULTS_JSON_URI: lambda: (JSON, _faults_document()),
}
