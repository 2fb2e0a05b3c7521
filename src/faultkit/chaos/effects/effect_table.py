"""Every type of registered fault and its effect: the five of seed 002, and the vocabulary at a proxy.

Latency, error and timeout are instant: a pause, an exception, or a pause and then an exception. They are
plain values here; `named_faults` waits and raises. `named_faults.chaos_fault` says why they are not
`Rule(fault, trigger)` values of the vocabulary.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass

from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError
from faultkit.base.text import did_you_mean
from faultkit.chaos.effects.exhaustion_effect import read_exhaustion
from faultkit.chaos.effects.lasting_effect import StartableEffect
from faultkit.chaos.effects.partition_effect import read_partition
from faultkit.chaos.effects.rule_effect import read_rules
from faultkit.faults import FAULTS


class InjectedFault(Exception):
    """The exception that an `error` fault raises. Its text is the fault's error_message."""


@dataclass(frozen=True, slots=True)
class InstantEffect:
    """An effect that is over when the affected call continues."""

    delay_s: float = 0.0
    raises: type[Exception] | None = None


def _read_latency(duration_s: float, metadata: Mapping[str, object]) -> InstantEffect:
    return InstantEffect(delay_s=duration_s)


def _read_error(duration_s: float, metadata: Mapping[str, object]) -> InstantEffect:
    """`raises` names a built-in exception to raise in place of InjectedFault, such as ConnectionError."""
    if "raises" not in metadata:
        return InstantEffect(raises=InjectedFault)
    name = metadata["raises"]
    found = getattr(builtins, name, None) if isinstance(name, str) else None
    if not isinstance(found, type) or not issubclass(found, Exception) or not _accepts_one_text(found):
        expected = "expected the name of a built-in exception such as ConnectionError"
        raise InputError("metadata.raises", f"{expected}, got {shown(name)}")
    return InstantEffect(raises=found)


def _accepts_one_text(kind: type[Exception]) -> bool:
    # UnicodeDecodeError, for example, takes five arguments.
    try:
        kind("text")
    except TypeError:
        return False
    return True


def _read_timeout(duration_s: float, metadata: Mapping[str, object]) -> InstantEffect:
    return InstantEffect(delay_s=duration_s, raises=TimeoutError)


INSTANT = {"latency": _read_latency, "error": _read_error, "timeout": _read_timeout}
LASTING = {"resource_exhaustion": read_exhaustion, "network_partition": read_partition}
SEED_TYPES = (*INSTANT, *LASTING)
"""The five types of seed 002."""
FAULT_TYPES = tuple(dict.fromkeys((*SEED_TYPES, *FAULTS)))


def read_effect(
    fault_type: str, duration_s: float, targets: tuple[str, ...], metadata: Mapping[str, object]
) -> InstantEffect | StartableEffect:
    """Return the effect of a fault type with these settings. Raises InputError that names the field.

    `latency` and `timeout` act on the caller, unless `metadata.control` names a proxy: then they are the
    network faults of the same names, like every other fault of the vocabulary.
    """
    if fault_type in LASTING:
        return LASTING[fault_type](targets, metadata)
    if fault_type in INSTANT and not (fault_type in FAULTS and "control" in metadata):
        if targets:
            raise InputError(
                "targets", f"expected none with {fault_type} unless metadata.control names a proxy"
            )
        return INSTANT[fault_type](duration_s, metadata)
    if fault_type in FAULTS:
        return read_rules(fault_type, targets, metadata)
    expected = f"expected one of {', '.join(SEED_TYPES)}, or a fault of `fault faults`"
    guess = did_you_mean(fault_type, FAULT_TYPES)
    raise InputError("fault_type", f"{expected}, got {shown(fault_type)}{guess}")
