"""The public names of faultkit.chaos."""

from __future__ import annotations

import inspect

import pytest

import faultkit.chaos


@pytest.mark.parametrize("name", faultkit.chaos.__all__)
def test_every_public_name_is_there_and_says_what_it_is(name: str) -> None:
    found = getattr(faultkit.chaos, name)
    assert found.__name__ == {"Lever": "KillSwitch"}.get(name, name)  # Its former name.
    assert not inspect.ismodule(found)
    assert name in dir(faultkit.chaos)


def test_another_name_is_not() -> None:
    with pytest.raises(AttributeError, match=r"^module 'faultkit\.chaos' has no attribute 'nobody'$"):
        faultkit.chaos.nobody  # noqa: B018
