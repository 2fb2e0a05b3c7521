"""Wedged: the same as hang to a client. The name records the intent: a backend in a deadlock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faultkit.faults.call.hang import Hang


@dataclass(frozen=True)
class Wedged(Hang):
    kind: ClassVar[str] = "wedged"
    summary: ClassVar[str] = (
        "The same as hang, under a name for a backend in a deadlock instead of a stalled network."
    )
