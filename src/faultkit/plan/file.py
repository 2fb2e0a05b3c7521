"""Plans from YAML text and files. The only part of the package that reads a file.

How text becomes data is `faultkit.base.documents.yaml_text`, how data become a plan is `faultkit.plan.parse`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from faultkit.base.documents.yaml_text import placed, read_document
from faultkit.base.errors import InputError
from faultkit.plan.parse import parse_plan
from faultkit.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A plan, and the text that it was read from, for errors that are found later."""

    plan: Plan
    text: str
    source: str

    def placed(self, error: InputError) -> InputError:
        """The same error, whose path is one of the plan, with file and line."""
        return placed(error, self.text, self.source)


def load_plan(path: str | os.PathLike[str]) -> Plan:
    return load_plan_file(path).plan


def load_plan_file(path: str | os.PathLike[str]) -> PlanFile:
    source = os.fspath(path)
    text = read_text(source)
    return PlanFile(read_plan(text, source), text, source)


def read_text(path: str | os.PathLike[str]) -> str:
    """What a file says, with or without a mark of its byte order."""
    source = os.fspath(path)
    try:
        return Path(source).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(source, f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError as error:
        raise InputError(source, f"expected UTF-8 text, got byte {error.object[error.start]:#04x}") from None


def read_plan(text: str, source: str = "plan") -> Plan:
    """A plan from YAML (or JSON) text; errors begin with `source`."""
    document = read_document(text, source)
    try:
        return parse_plan(document)
    except InputError as error:
        raise placed(error, text, source) from None
