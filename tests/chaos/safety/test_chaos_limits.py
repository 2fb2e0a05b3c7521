from __future__ import annotations

import pytest

from faultkit.base.errors import InputError
from faultkit.chaos.safety.chaos_limits import Limits


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
