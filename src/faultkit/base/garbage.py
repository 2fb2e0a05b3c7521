"""When Python's garbage collector runs: not during imports, and rarely while bytes must not be late.

Python frees most objects at once, by counting references; the collector looks for circles among the others.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_RARE = (50_000, 50, 100)
"""Thresholds: pauses would make releases of bytes late, and circles are rare there."""


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Turn the collector off for a block of imports.

    Imports make many objects and no garbage: collections would take a tenth of their time and more."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def undisturbed() -> Iterator[None]:
    """Keep the collector away from all present objects, and let it run rarely."""
    thresholds = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_RARE)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
