"""Plans from YAML text and files. The only module of the package that reads a file.

`faultkit.base.documents.yaml_text` turns text into data, `faultkit.plan.plan_keys` turns data into a plan.
The first is imported when a text is read, because most runs have no plan file and YAML takes long to import.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from faultkit.base.errors import InputError
from faultkit.base.files import read_text
from faultkit.plan.plan import Plan
from faultkit.plan.plan_keys import parse_plan


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A plan and its text, for errors that are found later."""

    plan: Plan
    text: str
    source: str

    def placed(self, error: InputError) -> InputError:
        """Return the same error with file and line; its path is one of the plan."""
        from faultkit.base.documents.yaml_text import placed

        return placed(error, self.text, self.source)


def load_plan(path: str | os.PathLike[str]) -> Plan:
    """Return the plan of a file."""
    return load_plan_file(path).plan


def load_plan_file(path: str | os.PathLike[str]) -> PlanFile:
    """Return the plan of a file, with its text."""
    source = os.fspath(path)
    text = read_text(source)
    return PlanFile(read_plan(text, source, os.path.dirname(source) or "."), text, source)


def read_plan(text: str, source: str = "plan", folder: str | None = None) -> Plan:
    """Return the plan of a YAML or JSON text; errors begin with `source`.

    Files that its rules name are read from `folder`; without one they are refused."""
    from faultkit.base.documents.yaml_text import placed, read_document

    document = read_document(text, source)
    try:
        return parse_plan(document if folder is None else _with_samples(document, folder))
    except InputError as error:
        raise placed(error, text, source) from None


def _with_samples(document: object, folder: str) -> object:
    if not isinstance(document, Mapping) or not isinstance(document.get("rules"), list):
        return document
    rules = []
    for index, rule in enumerate(document["rules"]):
        try:
            rules.append(with_read_samples(rule, folder))
        except InputError as error:
            raise error.within(f"rules[{index}]") from None
    return {**document, "rules": rules}


def with_read_samples(rule: object, folder: str) -> object:
    """Return the document of a rule, with percentiles in place of a file of samples in `folder`."""
    if not isinstance(rule, Mapping) or "samples" not in (rule.get("with") or ()):
        return rule
    # Imported here, because most plans have no such file.
    from faultkit.plan.delay_samples import with_percentiles

    return with_percentiles(rule, lambda name: read_text(os.path.join(folder, name)))
