"""The garbage collector is as before after each block."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from faultkit.base import garbage
from faultkit.base.garbage import collected_between, undisturbed, without_garbage_collection


@pytest.fixture(autouse=True)
def kept() -> Iterator[None]:
    was_enabled, thresholds = gc.isenabled(), gc.get_threshold()
    yield
    (gc.enable if was_enabled else gc.disable)()
    gc.set_threshold(*thresholds)


@pytest.mark.parametrize("enabled", [True, False])
def test_imports_are_not_interrupted(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    with pytest.raises(ImportError), without_garbage_collection():
        assert not gc.isenabled()
        raise ImportError
    assert gc.isenabled() == enabled


@pytest.fixture
def thawed() -> Iterator[None]:
    """Nothing is frozen, as in a process that has just started."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.mark.usefixtures("thawed")
def test_present_objects_are_left_alone_and_collections_are_rare() -> None:
    before = gc.get_threshold()
    with undisturbed():
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold() > before
    assert (gc.get_freeze_count(), gc.get_threshold()) == (0, before)


@pytest.mark.usefixtures("thawed")
def test_what_was_frozen_before_stays_frozen() -> None:
    before = gc.get_threshold()
    gc.freeze()
    frozen = gc.get_freeze_count()
    with undisturbed():
        assert gc.get_freeze_count() > 0.9 * frozen  # Some are freed meanwhile; `unfreeze` leaves none.
        assert gc.get_threshold() > before
    assert gc.get_freeze_count() > 0.9 * frozen
    assert gc.get_threshold() == before


def test_tasks_are_not_interrupted_and_circles_are_freed_between_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gc.enable()
    with collected_between() as after_task:
        assert not gc.isenabled()
        gc.collect()
        circle = list[object]()
        circle.append(circle)
        freed = list[int]()
        gone = weakref.finalize(_Marked(circle), freed.append, 1)
        del circle
        after_task()
        assert gone.alive
        monkeypatch.setattr(garbage, "_MANY", 0)
        after_task()
        assert freed == [1]
    assert gc.isenabled()


class _Marked:
    """A part of a circle, whose end can be seen."""

    def __init__(self, circle: list[object]) -> None:
        circle.append(self)
