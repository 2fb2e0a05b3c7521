"""The garbage collector is as before after each block."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from faultkit.base.garbage import undisturbed, without_garbage_collection


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
        assert gc.get_freeze_count() == frozen
        assert gc.get_threshold() > before
    assert (gc.get_freeze_count(), gc.get_threshold()) == (frozen, before)
