"""Public helpers for people who write faults or test with them. Nothing else in the package imports this.

`faultkit.testing.strategies` has hypothesis strategies. It is not imported here, because it needs hypothesis.
"""

from __future__ import annotations

from faultkit.testing.streams import SAMPLE, check_stream_fault, open_filter, payload_of, run_filter
from faultkit.testing.virtual_loop import VirtualLoop, run_virtual

__all__ = [
    "SAMPLE",
    "VirtualLoop",
    "check_stream_fault",
    "open_filter",
    "payload_of",
    "run_filter",
    "run_virtual",
]
