"""Small OpenAPI documents for the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from faultkit.scenario.openapi.openapi_document import DocumentSource, OpenApiDocument, ReferenceResolver
from faultkit.scenario.openapi.operations import Operation, operations_of
from faultkit.scenario.openapi.request_example import Examples

SPECS = Path(__file__).parent / "specs"


def spec_of(document: dict[str, Any], minor: int = 1, location: str = "spec.yaml") -> OpenApiDocument:
    return OpenApiDocument(
        DocumentSource(location, location.startswith("http")), {"openapi": f"3.{minor}.0", **document}, minor
    )


def example(schema: Any, minor: int = 1, **schemas: Any) -> Any:
    return Examples(ReferenceResolver(spec_of({"components": {"schemas": schemas}}, minor))).of(schema)


def operation(entry: dict[str, Any], path: str = "/", method: str = "get", **document: Any) -> Operation:
    """Return the only operation of a document."""
    (found,) = operations_of(spec_of({"paths": {path: {method: entry}}, **document}))
    return found
