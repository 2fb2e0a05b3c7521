"""The options of TLS towards clients and of interception."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.base.address import UpstreamSet
from faultkit.base.errors import InputError
from faultkit.cli.run import command, hints, job_of
from faultkit.cli.run_output import StartedRun, start_lines
from faultkit.cli.run_session import RunJob
from faultkit.proxy.data_plane import ListenerTls
from tests.proxy.control.certificates import Certificates

ERROR = "--with-http-response"
HTTPS = ("--proxy", "https:34000=api.example.com")


def job(*args: str) -> RunJob:
    return job_of(command.make_context("run", list(args)))


def test_a_map_that_speaks_tls_to_clients_names_itself_and_its_upstream() -> None:
    (spec,) = job(*HTTPS).maps
    names = ("localhost", "127.0.0.1", "::1", "api.example.com")
    assert (spec.client_tls, spec.tls) == (ListenerTls(names=names), True)
    (spec,) = job("--proxy", "https://0.0.0.0:34000=http://10.0.0.7:80").maps
    assert spec.client_tls == ListenerTls(names=("localhost", "127.0.0.1", "::1", "10.0.0.7"))
    assert not spec.tls


def test_hosts_to_intercept_are_hosts_to_break() -> None:
    made = job("--intercept", "a.example,*.b.example", "-u", "c.example", ERROR)
    assert made.forward is not None
    assert made.forward.intercept == UpstreamSet.parse(["a.example", "*.b.example"])
    assert made.forward.broken == UpstreamSet.parse(["c.example", "a.example", "*.b.example"])
    assert made.forward.client_tls == ListenerTls()
    assert hints(made) == []
    assert not job(*HTTPS, "--intercept", "a.example").forward_optional


def test_certificates_reach_maps_and_the_authority_stays_for_tunnels(tmp_path: Path) -> None:
    files = Certificates(tmp_path)
    cert, key = files.issue("localhost")
    made = job(
        *(*HTTPS, "--proxy", "80=h:1", "--intercept", "a.example"),
        *("--tls-cert", cert, "--tls-key", key, "--tls-client-ca", files.ca),
        *("--upstream-cert", cert, "--upstream-key", key),
    )
    secured, plain = made.maps
    assert secured.client_tls is not None
    assert (secured.client_tls.cert, secured.client_tls.key, secured.client_tls.client_ca) == (
        cert,
        key,
        files.ca,
    )
    assert plain.client_tls is None
    assert made.forward is not None
    assert made.forward.client_tls == ListenerTls(client_ca=files.ca)
    assert {spec.identity for spec in (*made.maps, made.forward)} == {(cert, key)}


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["--tls-cert", "cert.pem"], "--tls-cert: expected --tls-key beside it, got none"),
        (["--tls-key", "key.pem"], "--tls-key: expected --tls-cert beside it, got none"),
        (["--upstream-key", "key.pem"], "--upstream-key: expected --upstream-cert beside it, got none"),
        (
            ["--tls-cert", "cert.pem", "--tls-key", "key.pem"],
            "--tls-cert: expected a map that speaks TLS to clients, such as "
            '"https:34000=http://localhost:8000"',
        ),
        (
            ["--intercept", "a.example", "--tls-cert", "cert.pem", "--tls-key", "key.pem"],
            "--tls-cert: expected a map that speaks TLS to clients, such as "
            '"https:34000=http://localhost:8000"',
        ),
        (
            [*HTTPS, "--tls-cert", "none.pem", "--tls-key", "key.pem"],
            '--tls-cert: expected a PEM file of certificates, got "none.pem": No such file or directory',
        ),
        (
            [*HTTPS, "--tls-cert", "cert.pem", "--tls-key", "other.pem"],
            '--tls-key: expected a PEM file with a private key, got "other.pem": '
            "it belongs to another certificate",
        ),
        (
            [*HTTPS, "--tls-client-ca", "key.pem"],
            '--tls-client-ca: expected a PEM file of certificates, got "key.pem": no certificate in it',
        ),
        (["--intercept", "a b"], '--intercept: expected a host name or an IP address, got "a b" in "a b"'),
        (["--intercept", ""], '--intercept: expected a host, got ""'),
        (
            ["--intercept", "a.example", "--disable-http-proxy"],
            "--intercept: expected the forward proxy, got --disable-http-proxy beside it",
        ),
    ],
)
def test_wrong_options_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], problem: str
) -> None:
    files = Certificates(tmp_path)
    for name, place in (("localhost", "cert.pem"), ("other", "unused.pem")):
        cert, key = files.issue(name)
        Path(cert).rename(tmp_path / place)
        Path(key).rename(tmp_path / ("key.pem" if name == "localhost" else "other.pem"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        job(*args)
    assert str(caught.value) == problem


def test_a_tls_fault_without_tls_towards_clients_is_named() -> None:
    made = job("--proxy", "80=https://h", "--with-tls-bad-certificate")
    assert hints(made) == [
        "tls_bad_certificate touches nothing: it needs a map that speaks TLS to clients (https:PORT=…), "
        "or --intercept"
    ]
    assert hints(job("--proxy", "https:80=h", "--with-tls-bad-certificate")) == []


def test_the_first_lines_show_clients_what_to_do() -> None:
    made = job(*HTTPS, "--intercept", "a.example", "--seed", "7")
    assert made.forward is not None
    proxies = tuple((spec, spec.listen) for spec in (*made.maps, made.forward))
    assert start_lines(StartedRun(made.plan, proxies, 0.0)) == [
        "34000: 127.0.0.1:34000 (TLS) → api.example.com:443 (TLS)",
        "http: 127.0.0.1:3180 → any host (HTTP proxy; faults act on a.example; HTTPS of a.example is "
        "intercepted)",
        'clients of 127.0.0.1:34000: eval "$(fault ca env --no-proxy)"',
        'clients: eval "$(fault ca env --proxy 127.0.0.1:3180)"',
        "faults: none",
        "seed: 7 (--seed 7 replays this run)",
    ]
