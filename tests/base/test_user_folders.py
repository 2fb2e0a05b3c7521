"""The folders of a user's state and caches."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.base.user_folders import cache_folder, state_folder


def test_a_variable_of_xdg_goes_first() -> None:
    env = {"HOME": "/home/a", "XDG_STATE_HOME": "/state", "XDG_CACHE_HOME": "/cache"}
    assert (state_folder(env), cache_folder(env)) == (Path("/state/faultkit"), Path("/cache/faultkit"))


@pytest.mark.parametrize(
    ("platform", "state", "cache"),
    [
        ("linux", "/home/a/.local/state/faultkit", "/home/a/.cache/faultkit"),
        ("darwin", "/home/a/Library/Application Support/faultkit", "/home/a/Library/Caches/faultkit"),
    ],
)
def test_without_one_it_is_the_usual_place_of_the_system(
    platform: str, state: str, cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    env = {"HOME": "/home/a", "XDG_STATE_HOME": "", "XDG_CACHE_HOME": "relative/cache"}
    assert (state_folder(env), cache_folder(env)) == (Path(state), Path(cache))


def test_without_a_home_in_the_environment_it_is_that_of_the_user() -> None:
    assert state_folder({}).is_relative_to(Path.home())
