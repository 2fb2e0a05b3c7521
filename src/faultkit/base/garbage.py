"""When Python's garbage collector runs: not during imports, and rarely while bytes must not be late.

Python frees most objects at once, by counting references; the collector looks for circles among the others.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_RARE = (50_000, 50, 100)
"""Thresholds: pauses would make releases of bytes late, and circles are rare there."""

_MANY = 1_000_000
"""Objects that may be made between two collections by hand: more than the caches of a review hold, so that
it collects nothing unless it makes garbage."""

_FROZEN_BY_PYTHON = 1000
"""More objects than Python freezes at its start (3.12: some hundreds), and fewer than a program has."""


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
    """Keep the collector away from all present objects, and let it run rarely.

    A process that has frozen its objects before keeps them frozen: `gc.unfreeze` would thaw them, too. Those
    that it has made since are few, and are left to the rare collections."""
    thresholds = gc.get_threshold()
    is_first = gc.get_freeze_count() < _FROZEN_BY_PYTHON
    if is_first:
        gc.collect()
        gc.freeze()
    gc.set_threshold(*_RARE)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        if is_first:
            gc.unfreeze()


@contextmanager
def collected_between() -> Iterator[Callable[[], None]]:
    """Turn the collector off for a block of many tasks, and give the block a function to call after each.

    The function collects if many objects were made since the last time. Between two tasks few of them are
    alive; in the middle of one, the collector would look at all that the task has made so far."""
    with undisturbed(), without_garbage_collection():
        yield _collect_if_many


def _collect_if_many() -> None:
    if gc.get_count()[0] > _MANY:
        # What lives now is kept for long: only what is new is looked at.
        gc.collect(0)
