"""Under which names a control API answers; its leases are in test_leases.py."""

from __future__ import annotations

import pytest

from faultkit.proxy.control.control_core import Problem, check_caller, own_hosts

NAMES = ("proxy.test", "*.faults.test", "10.0.0.1", "fe80::1")


def is_welcome(host: str, port: int) -> bool:
    hosts = own_hosts("0.0.0.0", port, NAMES)
    try:
        check_caller("/plan", host, [], "Bearer t", hosts=hosts, token="t", scheme="https")
    except Problem as problem:
        return problem.status != 403
    return True


@pytest.mark.parametrize("host", ["proxy.test", "a.faults.test", "10.0.0.1", "[fe80::1]"])
def test_a_name_of_the_certificate_needs_the_port_unless_it_is_the_usual_one(host: str) -> None:
    assert is_welcome(f"{host}:7900", 7900)
    assert is_welcome(f"{host}:443", 443)
    assert is_welcome(host, 443)
    assert not is_welcome(host, 7900)
    assert not is_welcome(f"{host}:7901", 7900)


@pytest.mark.parametrize(
    "host", ["other.test:7900", "*.faults.test.evil:7900", "faults.test:7900", ".faults.test:1"]
)
def test_other_names_are_foreign(host: str) -> None:
    assert not is_welcome(host, 7900)
