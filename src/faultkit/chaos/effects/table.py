"""Every type of fault, and what it does: the seed's five, and the vocabulary at a proxy or gateway."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from faultkit.base.documents.shape import shown
from faultkit.base.errors import InputError
from faultkit.chaos.effects.instant import Instant, read_error, read_latency, read_timeout
from faultkit.chaos.effects.lasting import Startable
from faultkit.chaos.effects.partition import read_partition
from faultkit.chaos.effects.resources import read_exhaustion
from faultkit.chaos.effects.rules import read_rules
from faultkit.faults import FAULTS

INSTANT = {"latency": read_latency, "error": read_error, "timeout": read_timeout}
LASTING = {"resource_exhaustion": read_exhaustion, "network_partition": read_partition}
SEED_TYPES = (*INSTANT, *LASTING)
FAULT_TYPES = tuple(dict.fromkeys((*SEED_TYPES, *FAULTS)))


def read_effect(
    fault_type: str, duration_s: float, targets: tuple[str, ...], metadata: Mapping[str, object]
) -> Instant | Startable:
    """InputError names the field. `latency` and `timeout` befall the caller, unless `metadata.control` names
    a proxy: then they are the network faults of these names, as all others of the vocabulary are."""
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
    near = get_close_matches(fault_type, FAULT_TYPES, n=1)
    guess = f'; did you mean "{near[0]}"?' if near else ""
    expected = f"expected one of {', '.join(SEED_TYPES)}, or a fault of `fault faults`"
    raise InputError("fault_type", f"{expected}, got {shown(fault_type)}{guess}")
