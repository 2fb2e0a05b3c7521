"""Finds required settings that are read, and found missing, only during a request."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Access, Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import JAVASCRIPT, LIKELY, POSSIBLE, PYTHON, Hit, Rule


def _check(facts: Facts) -> Iterator[Hit]:
    source = facts.syntax.source
    if facts.language == "python":
        for access in facts.accesses.where(lambda _, end: source.startswith(b"[", end)):
            if access.name not in ("os.environ", "environ"):
                continue
            scope = facts.function_of(access)
            if _is_asked_before(access, facts):
                continue
            if scope is None or facts.tries_around(access) or _is_written(access.span.start, facts):
                continue
            if facts.route_of(access) is not None:
                what = "os.environ[…] raises KeyError in the middle of a request if it is not set"
                yield Hit(access.span, what, LIKELY)
        return
    for access in facts.accesses.where(lambda start, end: source.find(b"process", start, end) >= 0):
        if not access.written.startswith("process.env.") or facts.route_of(access) is None:
            continue
        rest = source[access.span.end : access.span.end + 6].lstrip()
        if _is_tested(access, facts):
            continue
        if not rest.startswith((b"||", b"??", b"!", b"=", b")", b"?.")):
            what = f"{access.written} is undefined in the middle of a request if it is not set"
            yield Hit(access.span, what, POSSIBLE)


def _is_tested(access: Access, facts: Facts) -> bool:
    """Return whether a condition of this text asks for the setting."""
    return any(
        access.written in step.text
        for step in facts.steps
        if step.kind == "branch" or (step.kind == "binary" and step.word in ("&&", "||", "??", "===", "!=="))
    )


def _is_asked_before(access: Access, facts: Facts) -> bool:
    """Return whether the text asks whether the setting is there: `if "NAME" in os.environ`."""
    end = facts.syntax.source.find(b"]", access.span.end)
    key = facts.text(Span(access.span.end, end)).strip("[ ")
    return end > 0 and f"{key} in os.environ" in facts.whole_text


def _is_written(start: int, facts: Facts) -> bool:
    return any(each.span.start == start and each.targets[0].endswith("[]") for each in facts.assignments)


RULE = Rule(
    id="FK-R036",
    slug="config-read-late",
    title="Required setting read during a request",
    why="A deployment without the setting looks healthy, and fails with the first request that needs it.",
    fix="Read all settings once at the start, with defaults or a clear error that names what is missing.",
    kind="reliability",
    severity="low",
    languages=(*PYTHON, *JAVASCRIPT),
    check=_check,
    words=(b"environ", b"process"),
)
