"""Reads of files that are a part of the program, and reads whose result is kept: neither takes long."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts

_FILE_NAME = lazy_regex(r"[\"'`/][\w.-]*\w\.[A-Za-z]\w{1,7}[\"'`]")
_SETTINGS = lazy_regex(r"^&?(?:\w+\.)*(?:cfg|conf|config|settings|options|opts)\.\w", re.IGNORECASE)


def is_fixed_file(call: Call, facts: Facts) -> bool:
    """Return whether a file is named in the code or by the settings: a page, a template, a certificate."""
    given = call.argument(place=0)
    if given is None:
        return False
    texts = [given.value.text]
    if given.value.shape == "name" or texts[0].startswith("&"):
        name = texts[0].lstrip("&")
        texts += [
            each.value.text for each in facts.assignments_to(name, call) if each.value and name.isidentifier()
        ]
    return any(_FILE_NAME.search(text) or _SETTINGS.match(text) for text in texts)


def is_kept_first(call: Call, facts: Facts) -> bool:
    """Return whether a variable that outlives the function keeps the result, and is asked for it before."""
    scope = facts.function_of(call)
    kept = [name for name in call.assigned if name.startswith(("self.", "this.")) or name in facts.file_names]
    if scope is None or not kept:
        return False
    asked = [
        step.text
        for step in facts.own(facts.steps, scope)
        if step.kind == "branch" and step.span.start < call.span.start
    ]
    return any(name.rpartition(".")[2] in text for name in kept for text in asked)
