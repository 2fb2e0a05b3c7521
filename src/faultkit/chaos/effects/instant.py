"""Latency, error and timeout: a pause, an exception, or one after the other. Only values: others wait."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass

from faultkit.base.documents.shape import shown
from faultkit.base.errors import InputError


class InjectedFault(Exception):
    """What an `error` fault raises. Its text is the fault's error_message."""


@dataclass(frozen=True, slots=True)
class Instant:
    delay_s: float = 0.0
    raises: type[Exception] | None = None


def read_latency(duration_s: float, metadata: Mapping[str, object]) -> Instant:
    return Instant(delay_s=duration_s)


def read_error(duration_s: float, metadata: Mapping[str, object]) -> Instant:
    """`raises` names a built-in exception to raise in place of InjectedFault, such as ConnectionError."""
    if "raises" not in metadata:
        return Instant(raises=InjectedFault)
    name = metadata["raises"]
    found = getattr(builtins, name, None) if isinstance(name, str) else None
    if not isinstance(found, type) or not issubclass(found, Exception) or not _takes_a_text(found):
        expected = "expected the name of a built-in exception such as ConnectionError"
        raise InputError("metadata.raises", f"{expected}, got {shown(name)}")
    return Instant(raises=found)


def read_timeout(duration_s: float, metadata: Mapping[str, object]) -> Instant:
    return Instant(delay_s=duration_s, raises=TimeoutError)


def _takes_a_text(kind: type[Exception]) -> bool:
    try:
        kind("text")
    except TypeError:
        return False
    return True
