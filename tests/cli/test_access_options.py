"""The options that restrict access to `fault serve`: the rules that they make, and wrong combinations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from faultkit.audit.access.access import Access
from faultkit.audit.access.api_keys import KeyStore
from faultkit.audit.access.rate_limits import Rate
from faultkit.audit.store import Store
from faultkit.audit.store_factory import open_store
from faultkit.base.errors import InputError
from faultkit.cli.main import invoke
from faultkit.cli.serve_access import access_options, access_rules, build_access


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "audit.db") as opened:
        yield opened


def options_of(*args: str) -> dict[str, Any]:
    @click.command()
    @access_options
    def command(**options: Any) -> dict[str, Any]:
        return options

    found = command.main(list(args), standalone_mode=False)
    assert isinstance(found, dict)
    return found


def made(*args: str, host: str = "127.0.0.1", transport: str = "http", store: Store | None = None) -> Access:
    where = None if store is None else store.name
    return build_access(access_rules(options_of(*args), transport=transport, host=host, store=where), store)


def test_by_default_this_machine_may_do_everything() -> None:
    settings = made().settings
    assert settings.anonymous
    assert settings.hosts == ("localhost", "127.0.0.1", "::1")
    assert (settings.origins, settings.rate, settings.issuer, settings.public_url) == ((), None, "", "")
    assert settings.limits.body_bytes == 4 << 20


def test_each_option_comes_to_something(store: Store) -> None:
    settings = made(
        "--require-key",
        *("--rate", "600/m"),
        *("--allow-host", "Tools.Example.org"),
        *("--allow-origin", "https://a.example:8443"),
        *("--most-body", "5000"),
        *("--public-url", "https://tools.example.org/x/"),
        store=store,
    ).settings
    assert not settings.anonymous
    assert settings.rate == Rate(600, 60)
    assert settings.hosts == ("localhost", "127.0.0.1", "::1", "tools.example.org")
    assert settings.origins == ("https://a.example:8443",)
    assert settings.limits.body_bytes == 5000
    assert settings.public_url == "https://tools.example.org/x"


def test_with_an_issuer_a_token_or_a_key_is_required() -> None:
    settings = made("--oidc-issuer", "https://issuer.example", "--oidc-audience", "me").settings
    assert not settings.anonymous
    assert settings.issuer == "https://issuer.example"


def test_beyond_loopback_any_host_will_do_unless_some_are_named(store: Store) -> None:
    assert made("--require-key", host="0.0.0.0", store=store).settings.hosts is None
    named = made("--require-key", "--allow-host", "a.example", host="0.0.0.0", store=store).settings.hosts
    assert named == ("localhost", "127.0.0.1", "::1", "a.example")
    own = made("--require-key", "--allow-host", "a.example", host="10.0.0.1", store=store).settings.hosts
    assert own == ("localhost", "127.0.0.1", "::1", "10.0.0.1", "a.example")


def test_a_server_without_keys_prints_how_to_create_one(store: Store) -> None:
    said: list[str] = []

    def start() -> None:
        rules = access_rules(options_of("--require-key"), transport="http", host="::1", store=store.name)
        build_access(rules, store, say=said.append)

    start()
    assert said == [f"there is no key yet: create one with `fault keys create NAME --store {store.name}`"]
    KeyStore(store).create("ci", ("call",))
    start()
    assert len(said) == 1


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "beyond loopback": ("", {"host": "0.0.0.0"}, "--host: others can reach 0.0.0.0: expected --require-key"),
    "everywhere": ("", {"host": "::"}, "--host: others can reach ::"),
    "no audience": ("--oidc-issuer https://a.example", {}, "--oidc-audience: expected one"),
    "audience alone": ("--oidc-audience a", {}, "--oidc-audience: expected --oidc-issuer with it"),
    "keys alone": ("--oidc-jwks https://a.example", {}, "--oidc-jwks: expected --oidc-issuer with it"),
    "scope alone": ("--oidc-scope read", {}, "--oidc-scope: expected --oidc-issuer with it"),
    "prefix alone": ("--oidc-scope-prefix a:", {}, "--oidc-scope-prefix: expected --oidc-issuer with it"),
    "prefix with a quote": (
        '--oidc-issuer https://a.example --oidc-audience a --oidc-scope-prefix a"',
        {},
        "--oidc-scope-prefix: expected visible ASCII characters",
    ),
    "plain issuer": (
        "--oidc-issuer http://a.example --oidc-audience a",
        {},
        "--oidc-issuer: expected an https URL, or http on loopback",
    ),
    "plain keys": (
        "--oidc-issuer https://a.example --oidc-audience a --oidc-jwks http://a.example",
        {},
        "--oidc-jwks: expected an https URL, or http on loopback",
    ),
    "rate": ("--rate fast", {}, "--rate: expected a rate such as"),
    "host": ("--allow-host http://a", {}, "--allow-host: expected a name such as"),
    "origin with a path": (
        "--allow-origin https://a.example/",
        {},
        "--allow-origin: expected an origin such as",
    ),
    "any origin": ("--allow-origin *", {}, "--allow-origin: expected an origin such as"),
    "public URL": ("--public-url a.example", {}, "--public-url: expected a URL such as"),
    "no store": ("--require-key", {}, "--require-key: expected no --no-audit"),
    "stdio": ("--rate 5/s", {"transport": "stdio"}, "--rate: expected --transport http"),
    "stdio with keys": ("--require-key", {"transport": "stdio"}, "--require-key: expected --transport http"),
}


@pytest.mark.parametrize(("args", "place", "why"), WRONG.values(), ids=WRONG)
def test_contradicting_options_are_errors(args: str, place: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError) as raised:
        made(*args.split(), **place)
    assert str(raised.value).startswith(why)


def test_keys_in_memory_are_refused() -> None:
    with (
        open_store("memory:") as store,
        pytest.raises(InputError, match="expected a --store other than memory:"),
    ):
        made("--require-key", store=store)


def test_a_server_that_others_could_reach_does_not_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--store", str(tmp_path / "audit.db")]
    assert invoke(["serve", "--transport", "http", "--host", "0.0.0.0", "--port", "0", *store]) == 2
    err = capsys.readouterr().err
    # A server that cannot start creates no file.
    assert list(tmp_path.iterdir()) == []
    assert "rows written" not in err
    assert "error: --host: others can reach 0.0.0.0: expected --require-key, with a key that" in err
    assert "`fault keys create NAME` makes, or --oidc-issuer" in err
