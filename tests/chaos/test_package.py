"""The public names of faultkit.chaos."""

from __future__ import annotations

import inspect

import pytest

import faultkit.chaos


@pytest.mark.parametrize("name", faultkit.chaos.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    found = getattr(faultkit.chaos, name)
    assert found.__name__ == name
    assert not inspect.ismodule(found)
    assert name in dir(faultkit.chaos)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'faultkit\.chaos' has no attribute 'absent'$"):
        faultkit.chaos.absent  # noqa: B018
