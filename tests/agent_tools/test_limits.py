"""Limits of the load that a model may request: duration, amount, and hosts."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.agent_tools.load_limits import LoadLimits, is_local, parse_target, system_resolve
from faultkit.base.errors import InputError, TargetError

NAMES = {
    "app.test": ("10.0.0.5",),
    "public.test": ("93.184.216.34",),
    "mixed.test": ("192.168.0.1", "93.184.216.34"),
    "both.test": ("127.0.0.1", "::1"),
    "api.staging.test": ("93.184.216.35",),
    "metadata.test": ("169.254.169.254",),
}


def resolve(host: str, port: int) -> Sequence[str]:
    """Return an address as it is, and the addresses of a name from the table above."""
    for address in (IPv4Address, IPv6Address):
        try:
            return (str(address(host)),)
        except ValueError:
            continue
    if host not in NAMES:
        raise OSError(-2, "Name or service not known")
    return NAMES[host]


def is_allowed(url: str, *targets: str) -> bool:
    try:
        LoadLimits(allow_targets=targets).check_target(url, resolve)
    except InputError:
        return False
    return True


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("127.0.0.1", True),
        ("127.255.0.9", True),
        ("::1", True),
        ("0.0.0.0", True),
        ("::", True),
        ("10.0.0.1", True),
        ("10.255.255.255", True),
        ("172.16.0.1", True),
        ("172.31.255.255", True),
        ("192.168.1.1", True),
        ("fd12::1", True),
        ("fc00::1", True),
        ("::ffff:10.0.0.1", True),
        ("fd12::1%eth0", True),
        ("172.15.255.255", False),
        ("172.32.0.0", False),
        ("11.0.0.0", False),
        ("192.169.0.0", False),
        ("0.0.0.1", False),
        ("8.8.8.8", False),
        ("100.64.0.1", False),
        ("169.254.169.254", False),
        ("fe80::1", False),
        ("fe80::1%eth0", False),
        ("fd00:ec2::254", False),
        ("fd20:ce::254", False),
        ("::ffff:8.8.8.8", False),
        ("::ffff:169.254.169.254", False),
        ("64:ff9b::a00:1", False),
        ("2002:a00:1::", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("2001:db8::1", False),
    ],
)
def test_loopback_and_private_addresses_are_local_and_no_others(address: str, local: bool) -> None:
    assert is_local(address) is local


@given(st.ip_addresses())
def test_no_address_that_the_internet_routes_is_local(address: IPv4Address | IPv6Address) -> None:
    if address.is_global:
        assert not is_local(str(address))


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_in_the_clothes_of_ipv6_is_what_it_is(address: IPv4Address) -> None:
    assert is_local(f"::ffff:{address}") is is_local(str(address))


@pytest.mark.parametrize(
    ("url", "targets", "allowed"),
    [
        ("http://127.0.0.1:9090/", (), True),
        ("http://[::1]:9090/", (), True),
        ("https://app.test/x?y", (), True),
        ("http://both.test/", (), True),
        ("http://public.test/", (), False),
        ("http://mixed.test/", (), False),
        ("http://metadata.test/", (), False),
        ("http://public.test/", ("public.test",), True),
        ("http://PUBLIC.test./", ("Public.Test",), True),
        ("http://public.test:8080/", ("public.test",), True),
        ("http://public.test:8080/", ("public.test:8080",), True),
        ("http://public.test/", ("public.test:8080",), False),
        ("http://public.test/", ("public.test:80",), True),
        ("https://public.test/", ("public.test:443",), True),
        ("http://public.test/", ("other.test", "93.184.216.0/24"), True),
        ("http://mixed.test/", ("93.184.216.34",), True),
        ("http://93.184.216.34/", ("public.test",), False),
        ("http://93.184.216.34/", ("93.184.216.34",), True),
        ("http://93.184.216.34/", ("93.184.216.34:80",), True),
        ("http://93.184.216.34/", ("93.184.216.34:81",), False),
        ("http://[2001:db8::7]/", ("2001:db8::/32",), True),
        ("http://[2001:db8::7]/", ("2001:db8::7",), True),
        ("http://[2001:db8::7]:81/", ("[2001:db8::7]:81",), True),
        ("http://[2001:db8::7]:82/", ("[2001:db8::7]:81",), False),
        ("http://api.staging.test/", ("*.staging.test",), True),
        ("http://api.staging.test/", ("*.test:80",), True),
        ("http://api.staging.test/", ("staging.test",), False),
        ("http://public.test/", ("*.public.test",), False),
        ("http://public.test/", ("*.lic.test",), False),
        ("http://metadata.test/", ("169.254.0.0/16",), True),
        ("http://public.test/", ("*",), True),
    ],
)
def test_the_load_goes_to_local_hosts_and_to_those_that_are_allowed(
    url: str, targets: tuple[str, ...], allowed: bool
) -> None:
    assert is_allowed(url, *targets) is allowed


def test_the_error_names_the_argument_what_came_and_the_way_out() -> None:
    with pytest.raises(InputError) as raised:
        LoadLimits().check_target("http://mixed.test:8080/path?token=secret", resolve)
    assert str(raised.value) == (
        "url: expected a host on this machine or in a private network, since a load may harm others, got "
        '"mixed.test" (93.184.216.34). This is a limit of the server; its operator raises it with '
        "`fault agent tool --allow-target mixed.test`"
    )


def test_a_name_without_an_address_cannot_be_reached() -> None:
    with pytest.raises(TargetError, match=r"^url: cannot reach absent.test: the name cannot be resolved"):
        LoadLimits().check_target("http://absent.test/", resolve)
    with pytest.raises(TargetError, match="it has no address"):
        LoadLimits().check_target("http://absent.test/", lambda host, port: ())


def test_the_systems_resolver_knows_this_machine() -> None:
    assert system_resolve("127.0.0.1", 80) == ("127.0.0.1",)
    assert all(is_local(address) for address in system_resolve("localhost", 80))


@pytest.mark.parametrize(
    "text", ["", "http://a.test", "a.test/x", "a..b", "a.test:", "a.test:0", "a.test:99999"]
)
def test_an_entry_that_means_nothing_is_refused_when_the_limits_are_made(text: str) -> None:
    with pytest.raises(ValueError, match=r"^allow_targets: expected "):
        LoadLimits(allow_targets=(text,))


@pytest.mark.parametrize("text", ["300.1.1.1", "10.0.0.0/33", "*.*.test", "a*.test", "[::1", "a b"])
def test_an_entry_that_is_nearly_right_is_refused_too(text: str) -> None:
    with pytest.raises(ValueError, match=r"^allow_targets: expected "):
        parse_target(text)


@given(st.text(max_size=30))
def test_any_text_is_a_host_or_a_network_or_wrong(text: str) -> None:
    with contextlib.suppress(ValueError):
        target = parse_target(text)
        assert (target.host is None) is (target.network is not None)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ((300.0, 100, 5.0, 60.0), None),
        ((301.0, 1, 1.0, 1.0), "duration: expected at most 5m, got 5m 1s."),
        ((1e30, 1, 1.0, 1.0), "duration: expected at most 5m, got 1e+30s."),
        ((10.0, 101, 1.0, 1.0), "num_clients: expected at most 100 clients, got 101."),
        (
            (10.0, 100, 5.5, 1.0),
            "rps: expected at most 500 requests a second of all clients together, got 550.",
        ),
        ((10.0, 1, 1.0, 61.0), "timeout: expected at most 1m, got 1m 1s."),
    ],
)
def test_every_amount_has_a_limit(asked: tuple[float, int, float, float], problem: str | None) -> None:
    if problem is None:
        LoadLimits().check_load(*asked)
        return
    with pytest.raises(InputError) as raised:
        LoadLimits().check_load(*asked)
    flag = {"duration": "duration", "num_clients": "clients", "rps": "rps", "timeout": "timeout"}[
        raised.value.path
    ]
    assert str(raised.value) == (
        f"{problem} This is a limit of the server; its operator raises it with "
        f"`fault agent tool --max-{flag}`"
    )


def test_a_name_is_resolved_as_it_is_dialled() -> None:
    asked: list[str] = []

    def told(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ("127.0.0.1",)

    LoadLimits().check_target("http://app.test.:8080/", told)
    assert asked == ["app.test."]
    LoadLimits(allow_targets=("app.test",)).check_target("http://app.test.:8080/", told)
    assert asked == ["app.test."]


@given(st.floats(0, 1e6), st.integers(1, 10**6), st.floats(0, 1e6, exclude_min=True), st.floats(0, 1e6))
def test_what_passes_is_within_all_limits(
    duration_s: float, clients: int, rps: float, timeout_s: float
) -> None:
    limits = LoadLimits(max_duration_s=1e5, max_clients=10**5, max_rps_total=1e5, max_timeout_s=1e5)
    within = duration_s <= 1e5 and clients <= 10**5 and clients * rps <= 1e5 and timeout_s <= 1e5
    try:
        limits.check_load(duration_s, clients, rps, timeout_s)
    except InputError:
        assert not within
    else:
        assert within
