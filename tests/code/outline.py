"""A list of functions as plain lines, so that the expectations of a fixture can stand in a text file."""

from __future__ import annotations

from faultkit.code.functions import list_functions
from faultkit.code.languages.syntax import Syntax


def outline(syntax: Syntax) -> list[str]:
    """Return lines of the form `lines kind name(parameters) | …`, in the order of the text."""
    lines = []
    for each in list_functions(syntax):
        head = f"{each.start_line}-{each.end_line} {each.kind} {each.qualified_name}"
        parts = [f"{head}({', '.join(each.parameters)})"]
        parts += ["async"] if each.is_async else []
        parts += [f"decorators: {' '.join(each.decorators)}"] if each.decorators else []
        parts += [f"doc: {' / '.join(each.doc.splitlines())}"] if each.doc else []
        body = syntax.text(each.body)
        parts.append(f"body: {body.splitlines()[0] if body else ''}")
        lines.append(" | ".join(parts))
        lines.append("    " + " ".join(each.signature.split()))
    return lines
