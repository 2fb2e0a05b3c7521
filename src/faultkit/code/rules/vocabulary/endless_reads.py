"""Reads from a connection without a limit, which wait for as long as the other side is silent.

A limit of connecting is none of the reads that follow it. Where a connection is opened, it may be kept in a
field or given to another function: reads are found by what the object is, wherever they stand in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.vocabulary.call_paths import is_bounded_on_all_paths
from faultkit.code.rules.vocabulary.endless_reads_csharp import reads_in_csharp
from faultkit.code.rules.vocabulary.endless_reads_go import reads_in_go
from faultkit.code.rules.vocabulary.endless_reads_jvm import reads_on_jvm
from faultkit.code.rules.vocabulary.endless_reads_rust import reads_in_rust

_PYTHON_READS = frozenset(("read", "readline", "readexactly", "readuntil"))
_KEPT_ALIVE = (b"SO_KEEPALIVE", b"TCP_KEEP", b"USER_TIMEOUT")
"""The system itself ends a connection whose other side is gone."""


def endless_reads(facts: Facts) -> Iterator[Call]:
    """Yield the first read without a limit in each function that reads from a connection."""
    find = _READERS.get(facts.language)
    seen: set[Scope | None] = set()
    for call in () if find is None else find(facts):
        scope = facts.named_function_of(call)
        if scope not in seen:
            seen.add(scope)
            yield call


def _python(facts: Facts) -> Iterator[Call]:
    """Yield reads of streams of asyncio that this text opens within a limit, or serves."""
    opened = [
        made for made in facts.calls_named("asyncio.open_connection") if is_bounded_on_all_paths(made, facts)
    ]
    served = _served_in_python(facts)
    if not (opened or served) or any(word in facts.syntax.source for word in _KEPT_ALIVE):
        return
    held = {name for made in opened for name in _reader_of(made, facts)}
    for call in facts.calls_of_method(*_PYTHON_READS):
        scope = facts.function_of(call)
        if scope is None or not call.is_awaited:
            continue
        owner = call.receiver_written
        is_reader = (
            owner in held
            or any(each.name == owner and each.type.endswith("StreamReader") for each in scope.parameters)
            or (scope.short_name in served and owner in _first_parameter(scope))
            or _is_given(owner, scope, held, facts)
        )
        if is_reader and not is_bounded_on_all_paths(call, facts):
            yield call


def _is_given(name: str, scope: Scope, held: set[str], facts: Facts) -> bool:
    """Return whether a function gets the reader of a connection from a caller."""
    names = [each.name for each in scope.parameters if each.name not in ("self", "cls")]
    given = [
        each.argument(name, place=names.index(name)) for each in facts.callers_of(scope) if name in names
    ]
    return any(each is not None and each.value.text in held for each in given)


def _served_in_python(facts: Facts) -> set[str]:
    """Return the names of the functions that serve connections."""
    return {
        argument.value.text.rpartition(".")[2]
        for call in facts.calls_named("asyncio.start_server")
        for argument in call.positional[:1]
    }


def _first_parameter(scope: Scope) -> list[str]:
    return [each.name for each in scope.parameters if each.name not in ("self", "cls")][:1]


def _reader_of(made: Call, facts: Facts) -> Iterator[str]:
    """Yield the name that holds the reader of a connection: a variable or a field."""
    names = [*made.assigned, *(name for each in facts.calls_around(made) for name in each.assigned)]
    for found in re.findall(r"[\w.]+", names[0])[:1] if names else ():
        yield found
        # self._reader = reader
        for each in facts.assignments:
            given = "" if each.value is None else each.value.text.partition(",")[0]
            if given == found and each.targets[0].startswith("self."):
                yield each.targets[0]


_READERS = {
    "python": _python,
    "rust": reads_in_rust,
    "go": reads_in_go,
    "java": reads_on_jvm,
    "kotlin": reads_on_jvm,
    "csharp": reads_in_csharp,
}
