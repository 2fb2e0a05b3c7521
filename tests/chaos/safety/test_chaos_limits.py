"""What keeps chaos within bounds: limits, and the kill switch."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.base.errors import InputError, RunError
from faultkit.chaos.safety.chaos_limits import Limits
from faultkit.chaos.safety.kill_switch import KillSwitch, StopOrder


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.8.7", "::1"])
def test_loopback_is_allowed_as_usual(host: str) -> None:
    Limits().check_target(host, 5432)


@pytest.mark.parametrize("host", ["127.0.0.1.evil.example", "127.a.b.c", "10.0.0.1", "evil.example"])
def test_a_name_that_only_begins_like_an_address_is_none(host: str) -> None:
    with pytest.raises(InputError, match="is not among the targets"):
        Limits().check_target(host, 80)


def test_patterns_of_names_and_ports_fit_names() -> None:
    limits = Limits(targets=("*.staging.example:5432", "10.0.*:80", "*.7.example"))
    limits.check_target("db.staging.example", 5432)
    limits.check_target("10.0.3.4", 80)
    limits.check_target("db.7.example", 1)
    for host, port in (("db.staging.example", 80), ("10.0.evil.example", 80), ("10.0.3.4", 81)):
        with pytest.raises(InputError):
            limits.check_target(host, port)


def test_the_kill_switch_is_pulled_by_us_or_by_any_file_of_that_name(tmp_path: Path) -> None:
    kill_switch = KillSwitch(tmp_path)
    assert kill_switch.pulled() is None
    stop = kill_switch.pull("a customer called")
    assert kill_switch.pulled() == stop
    assert (kill_switch.release(), kill_switch.release(), kill_switch.pulled()) == (True, False, None)
    kill_switch.path.write_text("hands off\n")
    assert kill_switch.pulled() == StopOrder("hands off", "")
    kill_switch.path.write_text("")
    assert kill_switch.pulled() == StopOrder("the file was made by hand", "")
    kill_switch.release()
    kill_switch.path.mkdir()
    assert kill_switch.pull("now") == kill_switch.pulled() == StopOrder("STOP: Is a directory", "")
    (kill_switch.path / "file").touch()
    with pytest.raises(RunError, match="Directory not empty: the kill switch could not be released"):
        kill_switch.release()
    (kill_switch.path / "file").unlink()
    assert (kill_switch.release(), kill_switch.pulled()) == (True, None)
