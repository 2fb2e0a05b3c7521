"""Writes reports to files, in the format of the extension, and reads results back."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from faultkit.base.documents.yaml_text import read_document
from faultkit.base.errors import InputError
from faultkit.base.files import check_output_path, write_output
from faultkit.scenario.report.report_model import Report
from faultkit.scenario.report.results_document import from_document, to_json, to_yaml
from faultkit.scenario.report.scenario_junit import render_junit
from faultkit.scenario.report.scenario_markdown import render_markdown
from faultkit.scenario.report.scenario_text import render_text


def _render_html(report: Report) -> str:
    # Imported here because it is by far the largest builder, and most runs do without it.
    from faultkit.scenario.report.scenario_page import render_html

    return render_html(report)


RENDERERS: dict[str, Callable[[Report], str]] = {
    ".md": render_markdown,
    ".html": _render_html,
    ".json": to_json,
    ".yaml": to_yaml,
    ".yml": to_yaml,
    ".xml": render_junit,
    ".txt": render_text,
}
RESULT_EXTENSIONS = (".json", ".yaml", ".yml")
"""The extensions that `read_report` can read."""


def render_report(report: Report, path: str | os.PathLike[str]) -> str:
    """Return the report in the format of the file's extension."""
    extension = Path(path).suffix.lower()
    if extension not in RENDERERS:
        check_output_path(path, RENDERERS)
    return RENDERERS[extension](report)


def write_report(report: Report, path: str | os.PathLike[str]) -> None:
    """Write the report in the format of the file's extension, whole or not at all."""
    write_output(path, render_report(report, path))


def read_report(path: str | os.PathLike[str]) -> Report:
    """Return the report of a results file, JSON or YAML; raises InputError if the file is not valid."""
    source = os.fspath(path)
    try:
        text = Path(source).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(source, f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError as error:
        raise InputError(source, f"expected UTF-8 text, got byte {error.object[error.start]:#04x}") from None
    document = read_document(text, source)
    try:
        return from_document(document)
    except InputError as error:
        place = f"{source}: {error.path}" if error.path else source
        raise error.at(place) from None
