"""Tokens of an issuer on loopback: which are accepted, which are refused, and when keys are fetched."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from faultkit.audit.access.identity import Identity
from faultkit.audit.access.oidc import (
    InvalidToken,
    IssuerUnavailable,
    OidcSettings,
    TokenVerifier,
    check_url,
    read_keys,
)
from faultkit.audit.access.oidc import Issuer as IssuerKeys
from faultkit.base.errors import InputError
from tests.audit.access.issuers import AUDIENCE, Issuer, ec_key, ed_key, issuer, listed, rsa_key

_DISCOVERY = "/.well-known/openid-configuration"


@pytest.fixture(scope="module")
def shared() -> Iterator[Issuer]:
    with issuer() as running:
        yield running


@pytest.fixture
def at(shared: Issuer) -> Issuer:
    """The issuer, reset to its initial state."""
    shared.keys = Issuer(shared.url).keys
    shared.named = shared.url
    shared.is_away = False
    shared.asked.clear()
    return shared


class Clock:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class Checked:
    """A verifier as a server has it, with a clock for the age of keys that the test sets."""

    def __init__(self, at: Issuer, **settings: Any) -> None:
        self.clock = Clock()
        self.said: list[str] = []
        jwks_url = settings.pop("jwks_url", None)
        self.issuer = IssuerKeys(at.url, jwks_url, self.said.append, self.clock)
        self.tokens = TokenVerifier(OidcSettings(at.url, (AUDIENCE,), jwks_url, **settings), self.issuer)
        self.waited = 0

    async def check(self, token: str) -> Identity:
        found = self.tokens.check(token)
        if isinstance(found, Identity):
            return found
        self.waited += 1
        return await found


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20):
            await test()

    asyncio.run(bounded())


def why_not(at: Issuer, token: str) -> str:
    said = ""

    async def test() -> None:
        nonlocal said
        checked = Checked(at)
        with pytest.raises(InvalidToken) as raised:
            await checked.check(token)
        said = str(raised.value)
        await checked.tokens.close()

    run(test)
    return said


def identity(at: Issuer, token: str, **settings: Any) -> Identity:
    found: list[Identity] = []

    async def test() -> None:
        found.append(await Checked(at, **settings).check(token))

    run(test)
    return found[0]


GOOD: dict[str, tuple[str, str, Callable[[], Any]]] = {
    "RS256": ("RS256", "one", rsa_key),
    "RS384": ("RS384", "one", rsa_key),
    "RS512": ("RS512", "one", rsa_key),
    "ES256": ("ES256", "ec", ec_key),
    "EdDSA": ("EdDSA", "ed", ed_key),
}


@pytest.mark.parametrize(("algorithm", "kid", "key"), GOOD.values(), ids=GOOD)
def test_each_listed_algorithm_is_accepted(
    at: Issuer, algorithm: str, kid: str, key: Callable[[], Any]
) -> None:
    assert identity(at, at.token(key(), algorithm, kid)).subject == "alice"


def test_a_token_that_names_no_key_is_tried_with_those_that_fit(at: Issuer) -> None:
    at.keys.insert(0, listed("other", rsa_key(1)))
    assert identity(at, at.token(kid=None)).subject == "alice"


def test_the_identity_comes_from_the_claims(at: Issuer) -> None:
    found = identity(at, at.token(email="a@example.org", name="Alice", aud=["x", AUDIENCE]))
    assert (found.subject, found.auth_type, found.email, found.name) == (
        "alice",
        "oidc",
        "a@example.org",
        "Alice",
    )
    assert found.claims["aud"] == ["x", AUDIENCE]
    odd = identity(at, at.token(email=5, name=["x"]))
    assert (odd.email, odd.name) == ("", "")


SCOPES: tuple[tuple[dict[str, Any], set[str]], ...] = (
    ({}, {"read", "call"}),
    ({"scope": "openid profile"}, {"read", "call"}),
    ({"scope": "openid faultkit:read"}, {"read"}),
    ({"scope": "faultkit:admin"}, {"read", "call", "admin"}),
    ({"scp": ["faultkit:call", 5, "x", ["faultkit:admin"]]}, {"call"}),
    # Scopes of another service.
    ({"scope": "openid admin"}, {"read", "call"}),
    ({"scope": "openid read"}, {"read", "call"}),
    ({"scp": ["shop:admin", "Faultkit:admin", "faultkit:"]}, {"read", "call"}),
    ({"scope": {"read": 1}}, {"read", "call"}),
)


@pytest.mark.parametrize(("claims", "scopes"), SCOPES, ids=range(len(SCOPES)))
def test_scopes_come_from_the_token_or_else_from_the_settings(
    at: Issuer, claims: dict[str, Any], scopes: set[str]
) -> None:
    assert identity(at, at.token(**claims)).scopes == scopes


def test_the_prefix_of_scopes_can_be_set(at: Issuer) -> None:
    assert identity(at, at.token(scope="openid read"), scope_prefix="").scopes == {"read"}
    assert identity(at, at.token(scope="fk.read faultkit:admin"), scope_prefix="fk.").scopes == {"read"}


def test_default_scopes_of_tokens_can_be_set(at: Issuer) -> None:
    assert identity(at, at.token(), scopes=frozenset({"read"})).scopes == {"read"}


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def by_hand(at: Issuer, header: dict[str, Any], sign: Callable[[bytes], bytes]) -> str:
    now_s = int(time.time())
    claims = {"iss": at.url, "aud": AUDIENCE, "sub": "mallory", "exp": now_s + 300}
    signed = f"{part(header)}.{part(claims)}"
    signature = base64.urlsafe_b64encode(sign(signed.encode())).rstrip(b"=").decode()
    return f"{signed}.{signature}"


def hmac_with_the_public_key(at: Issuer) -> str:
    """Algorithm confusion: the public key is used as the secret of an HMAC."""
    pem = (
        rsa_key()
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return by_hand(
        at, {"alg": "HS256", "kid": "one"}, lambda text: hmac.new(pem, text, hashlib.sha256).digest()
    )


def altered(at: Issuer) -> str:
    head, _, signature = at.token().split(".")
    claims = {"iss": at.url, "aud": AUDIENCE, "sub": "root", "exp": int(time.time()) + 300}
    return f"{head}.{part(claims)}.{signature}"


_LISTED = "expected a token signed with one of RS256, RS384, RS512, ES256, EdDSA"
_SIGNATURE = "the token's signature is wrong"
_LACKS = "the token lacks one of the claims iss, aud, exp, sub"
BAD: dict[str, tuple[Callable[[Issuer], str], str]] = {
    "forged": (lambda at: at.token(rsa_key(1)), _SIGNATURE),
    "altered": (altered, _SIGNATURE),
    "not signed": (lambda at: by_hand(at, {"alg": "none", "kid": "one"}, lambda text: b""), _LISTED),
    "nOnE": (lambda at: by_hand(at, {"alg": "nOnE"}, lambda text: b""), _LISTED),
    "by HMAC": (hmac_with_the_public_key, _LISTED),
    "without algorithm": (lambda at: by_hand(at, {"kid": "one"}, lambda text: b""), _LISTED),
    "PS256": (lambda at: at.token(algorithm="PS256"), _LISTED),
    "by a key of another kind": (
        lambda at: at.token(ec_key(), "ES256", kid="one"),
        "the token is signed with a key that its issuer does not list",
    ),
    "with a key of its own": (
        lambda at: by_hand(
            at, {"alg": "RS256", "kid": "one", "jwk": listed("one", rsa_key(1))}, lambda text: b"x"
        ),
        _SIGNATURE,
    ),
    "with extensions": (
        lambda at: by_hand(
            at, {"alg": "RS256", "kid": "one", "crit": ["b64"], "b64": True}, lambda text: b""
        ),
        "the token requires unknown extensions",
    ),
    "expired": (lambda at: at.token(exp=int(time.time()) - 60), "the token has expired"),
    "not valid yet": (lambda at: at.token(nbf=int(time.time()) + 120), "the token is not valid yet"),
    "from the future": (lambda at: at.token(iat=int(time.time()) + 120), "the token is not valid yet"),
    "of another issuer": (lambda at: at.token(iss=at.url + "/"), "the token is from another issuer"),
    "for others": (lambda at: at.token(aud="https://other.example"), "the token is for another audience"),
    "for a part of us": (lambda at: at.token(aud=AUDIENCE + "/x"), "the token is for another audience"),
    "without iss": (lambda at: at.token(iss=None), _LACKS),
    "without aud": (lambda at: at.token(aud=None), _LACKS),
    "without exp": (lambda at: at.token(exp=None), _LACKS),
    "without sub": (lambda at: at.token(sub=None), _LACKS),
    "for ever": (lambda at: at.token(exp=float("1e400")), "expected a JSON Web Token"),
    "no token": (lambda at: "eyJhbGciOiJSUzI1NiJ9", "expected a JSON Web Token"),
    "nonsense": (lambda at: "\xff.\xfe.\xfd", "expected a JSON Web Token"),
    "nested": (
        lambda at: f"{base64.urlsafe_b64encode(b'[' * 9000).decode()}.e30.x",
        "expected a JSON Web Token",
    ),
    "too long": (lambda at: "ey" + "A" * 20_000, "expected a token of at most 16384 characters"),
}


@pytest.mark.parametrize(("make", "why"), BAD.values(), ids=BAD)
def test_a_bad_token_is_refused(at: Issuer, make: Callable[[Issuer], str], why: str) -> None:
    assert why_not(at, make(at)) == why


def test_clocks_may_differ_a_little(at: Issuer) -> None:
    now_s = int(time.time())
    assert identity(at, at.token(exp=now_s - 5, nbf=now_s + 5)).subject == "alice"


def test_what_cannot_be_good_is_refused_without_asking_anybody(at: Issuer) -> None:
    for name in ("not signed", "by HMAC", "no token", "too long", "with extensions"):
        why_not(at, BAD[name][0](at))
    assert not at.asked


def test_the_issuer_is_asked_once_for_many_tokens(at: Issuer) -> None:
    async def test() -> None:
        checked = Checked(at)
        tokens = [at.token(sub=f"u{number}") for number in range(5)]
        found = await asyncio.gather(*(checked.check(token) for token in tokens))
        assert [each.subject for each in found] == [f"u{number}" for number in range(5)]
        assert checked.waited == 5
        for token in tokens:
            await checked.check(token)
        assert checked.waited == 5
        assert at.asked == {_DISCOVERY: 1, "/jwks": 1}

    run(test)


def test_the_place_of_the_keys_can_be_given(at: Issuer) -> None:
    assert identity(at, at.token(), jwks_url=f"{at.url}/jwks").subject == "alice"
    assert at.asked == {"/jwks": 1}


def test_keys_are_fetched_again_after_an_hour(at: Issuer) -> None:
    async def test() -> None:
        checked = Checked(at)
        token = at.token()
        await checked.check(token)
        checked.clock.now_s += 3599
        await checked.check(token)
        assert at.asked["/jwks"] == 1
        checked.clock.now_s += 2
        await checked.check(token)
        assert at.asked["/jwks"] == 2

    run(test)


def test_a_key_that_the_issuer_has_withdrawn_is_worth_nothing_after_an_hour(at: Issuer) -> None:
    async def test() -> None:
        checked = Checked(at)
        token = at.token()
        await checked.check(token)
        at.keys = [listed("two", rsa_key(1))]
        checked.clock.now_s += 3601
        with pytest.raises(InvalidToken, match="signed with a key that its issuer does not list"):
            await checked.check(token)

    run(test)


def test_a_new_key_is_fetched_when_a_token_names_it_but_not_too_often(at: Issuer) -> None:
    async def test() -> None:
        checked = Checked(at)
        await checked.check(at.token())
        at.keys.append(listed("two", rsa_key(1)))
        new = at.token(rsa_key(1), kid="two")
        with pytest.raises(InvalidToken, match="does not list"):
            await checked.check(new)
        assert at.asked["/jwks"] == 1
        checked.clock.now_s += 31
        assert (await checked.check(new)).subject == "alice"
        assert at.asked["/jwks"] == 2
        for number in range(5):
            with pytest.raises(InvalidToken, match="does not list"):
                await checked.check(at.token(kid=f"made up {number}"))
        assert at.asked["/jwks"] == 2

    run(test)


def test_while_the_issuer_is_unavailable_its_keys_stay_valid_for_five_minutes(at: Issuer) -> None:
    async def test() -> None:
        checked = Checked(at)
        token = at.token()
        await checked.check(token)
        at.is_away = True
        checked.clock.now_s += 3600 + 299
        assert (await checked.check(token)).subject == "alice"
        assert (await checked.check(at.token(sub="bob"))).subject == "bob"
        assert checked.said == [f"oidc: cannot fetch the keys of {at.url}: {at.url}{_DISCOVERY} answers 503"]
        checked.clock.now_s += 2
        with pytest.raises(IssuerUnavailable):
            await checked.check(token)
        at.is_away = False
        checked.clock.now_s += 30
        assert (await checked.check(token)).subject == "alice"
        assert checked.said[1:] == [f"oidc: {at.url} is back"]

    run(test)


def test_an_issuer_that_was_never_there_is_asked_again_after_a_while(at: Issuer) -> None:
    async def test() -> None:
        at.is_away = True
        checked = Checked(at)
        for _ in range(3):
            with pytest.raises(IssuerUnavailable):
                await checked.check(at.token())
        assert at.asked[_DISCOVERY] == 1
        at.is_away = False
        checked.clock.now_s += 31
        assert (await checked.check(at.token())).subject == "alice"

    run(test)


def test_a_cancelled_waiter_does_not_cancel_the_fetch_of_keys(at: Issuer) -> None:
    async def test() -> None:
        checked = Checked(at)
        token = at.token()
        first = asyncio.ensure_future(checked.check(token))
        second = asyncio.ensure_future(checked.check(token))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).subject == "alice"

    run(test)


DISHONEST: dict[str, Callable[[Issuer], None]] = {
    "names another issuer": lambda at: setattr(at, "named", "https://evil.example"),
    "has no keys": lambda at: setattr(at, "keys", []),
    "has no list of keys": lambda at: setattr(at, "keys", {"a": 1}),
    "has none that we could use": lambda at: setattr(at, "keys", [{"kty": "oct", "k": "AAAA", "kid": "one"}]),
}


@pytest.mark.parametrize("spoil", DISHONEST.values(), ids=DISHONEST)
def test_an_issuer_that_cannot_be_right_is_none(at: Issuer, spoil: Callable[[Issuer], None]) -> None:
    async def test() -> None:
        token = at.token()
        spoil(at)
        with pytest.raises(IssuerUnavailable):
            await Checked(at).check(token)

    run(test)


def test_keys_that_are_too_weak_or_for_something_else_are_left_out() -> None:
    weak = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    curve = ec.generate_private_key(ec.SECP384R1())
    found = read_keys(
        [
            listed("weak", weak),
            listed("curve", curve),
            listed("secret", rsa_key(), use="enc"),
            {"kty": "RSA", "n": "!", "e": "AQAB"},
            {"kty": "RSA"},
            {"kty": ["RSA"]},
            {"kty": "OKP", "crv": "X25519", "x": "AAAA"},
            None,
            listed("good", rsa_key(), alg="RS512"),
        ]
    )
    assert [(key.id, key.algorithm) for key in found] == [("good", "RS512")]


def test_a_key_that_names_its_algorithm_is_used_with_no_other(at: Issuer) -> None:
    at.keys = [listed("one", rsa_key(), alg="RS512")]
    assert identity(at, at.token(algorithm="RS512")).subject == "alice"
    assert why_not(at, at.token(algorithm="RS256")) == BAD["by a key of another kind"][1]


@pytest.mark.parametrize("url", ["https://a.example", "https://a.example:8443/x", "http://127.0.0.1:1/x"])
def test_an_issuer_may_use_https_or_loopback(url: str) -> None:
    assert check_url("--oidc-issuer", url) == url


@pytest.mark.parametrize(
    "url",
    ["http://a.example", "ftp://a.example", "a.example", "", "https://", "https://a:99999", "https://[::1"],
)
def test_an_issuer_with_another_url_is_refused(url: str) -> None:
    with pytest.raises(InputError, match=r"^--oidc-issuer: expected an https URL, or http on loopback, got"):
        check_url("--oidc-issuer", url)
