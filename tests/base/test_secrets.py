"""What counts as a secret, by name and by shape, and what does not; no report shows one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.secret_names import (
    ORIGINAL_SECRET_KEYS,
    is_original_secret_key,
    is_secret_argument,
    is_secret_name,
    is_secret_parameter,
    secret_keys,
)
from faultkit.base.secrets import (
    environment_without_secrets,
    hide_secrets,
    mask_headers,
    mask_rule,
    mask_url,
    may_hold_secret,
    secret_variables,
)
from faultkit.faults.http.http_error import HttpError
from faultkit.plan import Match, Rule, dump_rule


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "authorization",
        "Proxy-Authorization",
        "Cookie",
        "Set-Cookie",
        "X-Api-Key",
        "X-Auth-Token",
        "x-amz-security-token",
        "Client-Secret",
        "X-Password",
        "X-Session-Id",
    ],
)
def test_a_header_that_sounds_secret_is_masked(name: str) -> None:
    assert mask_headers({name: "s3cret"}) == {name: "xxxxxx"}


def test_other_headers_stay_and_pairs_are_as_good_as_a_mapping() -> None:
    pairs = (("Accept", "*/*"), ("Content-Type", "text/plain"), ("COOKIE", "a=b"))
    assert mask_headers(pairs) == {"Accept": "*/*", "Content-Type": "text/plain", "COOKIE": "xxxxxx"}


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("http://localhost:9090/a?b=c#d", "http://localhost:9090/a?b=c#d"),
        ("https://user:pw@host/a", "https://xxxxxx@host/a"),
        ("https://ghp_token@host", "https://xxxxxx@host"),
        ("https://a:p@ss@host/", "https://xxxxxx@host/"),
        ("https://host/?api_key=1&page=2", "https://host/?api_key=xxxxxx&page=2"),
        ("https://host/?page=2&Access_Token=a%20b#x", "https://host/?page=2&Access_Token=xxxxxx#x"),
        ("https://host/?to%6Ben=1", "https://host/?to%6Ben=xxxxxx"),
        ("https://host/?a=1;password=2", "https://host/?a=1;password=xxxxxx"),
        ("https://host/#access_token=abc&state=1", "https://host/#access_token=xxxxxx&state=1"),
        ("https://host/?token=", "https://host/?token="),
        ("https://host/?token=a=b", "https://host/?token=xxxxxx"),
        ("https://host/path@x?mail=a@b", "https://host/path@x?mail=a@b"),
        ("//user@host/", "//xxxxxx@host/"),
        ("https://host/?sig=abc&code=1&zip_code=8", "https://host/?sig=xxxxxx&code=xxxxxx&zip_code=8"),
        ("https://host/?next=https%3A%2F%2Fu%3Ap%40h%2F", "https://host/?next=xxxxxx"),
        ("https://host/?next=https%3A%2F%2Fh%2F", "https://host/?next=https%3A%2F%2Fh%2F"),
        ("", ""),
        ("/h?q=ghp_ABCDEFGHIJKLMNOPQRSTUVWXYZ012345", "/h?q=xxxxxx"),
        ("/h?q=AKIAIOSFODNN7EXAMPLE&page=2", "/h?q=xxxxxx&page=2"),
        ("/h?q=Bearer%20abcdefghijklmnop1234#top", "/h?q=xxxxxx#top"),
        ("/h?q=the+password+is+hunter2", "/h?q=xxxxxx"),
        ("/h?ghp_ABCDEFGHIJKLMNOPQRSTUVWXYZ012345", "/h?xxxxxx"),
        ("/p/ghp_ABCDEFGHIJKLMNOPQRSTUVWXYZ012345/x?a=b", "/p/xxxxxx/x?a=b"),
        ("/p/ghp%5FABCDEFGHIJKLMNOPQRSTUVWXYZ012345/x", "/p/xxxxxx/x"),
        ("/h;token=SEC4/b;v=1?c=d", "/h;token=xxxxxx/b;v=1?c=d"),
        ("https://u:p@h/ghp_ABCDEFGHIJKLMNOPQRSTUVWXYZ012345", "https://xxxxxx@h/xxxxxx"),
        ("/v1/keys/12?sort=key:asc", "/v1/keys/12?sort=key:asc"),
        ("/caf%C3%A9/a=b", "/caf%C3%A9/a=b"),
    ],
)
def test_a_url_keeps_all_but_its_secrets(url: str, masked: str) -> None:
    assert mask_url(url) == masked


def test_a_header_whose_value_is_a_credential_is_masked_whatever_its_name() -> None:
    assert mask_headers({"X-Up": "Bearer abc", "X-Down": "basic YTpi", "X-Note": "Bearers of news"}) == {
        "X-Up": "xxxxxx",
        "X-Down": "xxxxxx",
        "X-Note": "Bearers of news",
    }


@given(st.text())
def test_masking_twice_is_masking_once(text: str) -> None:
    assert mask_url(mask_url(text)) == mask_url(text)


@given(st.from_regex(r"S[A-Z0-9]{8}S", fullmatch=True), st.sampled_from(("token", "PASSWORD", "my_secret_1")))
def test_no_secret_of_a_query_is_left(secret: str, name: str) -> None:
    assert secret not in mask_url(f"http://u:{secret}@h/p?q=1&{name}={secret}&r=2#{name}={secret}")


def test_a_rule_keeps_all_but_the_values_of_secret_headers() -> None:
    match = Match(path="/a", headers=(("Authorization", "Bearer s3cret*"), ("Accept", "text/*")))
    plain = dump_rule(Rule("rule", HttpError(), match=match))
    masked = mask_rule(plain)
    assert masked == {
        "name": "rule",
        "fault": "http_error",
        "match": {"path": "/a", "headers": {"Authorization": "xxxxxx", "Accept": "text/*"}},
    }
    assert plain["match"]["headers"]["Authorization"] == "Bearer s3cret*"  # type: ignore[index]
    assert mask_rule({"name": "rule", "fault": "refuse"}) == {"name": "rule", "fault": "refuse"}


def test_the_texts_of_a_rules_settings_are_without_secrets() -> None:
    plain = dump_rule(
        Rule(
            "rule",
            HttpError(status=401, body="password=TOPSECRETD, try later"),
            match=Match(path="/a?pin=12"),
        )
    )
    assert mask_rule(plain) == {
        "name": "rule",
        "fault": "http_error",
        "with": {"status": 401, "body": "password=xxxxxx try later"},
        "match": {"path": "/a?pin=xxxxxx"},
    }


SECRET_NAMES = [
    *("pwd", "pw", "pass", "db_pass", "dbpass", "passphrase", "credential", "credentials", "creds", "auth"),
    *("auth_header", "authHeader", "access_key", "aws_access_key_id", "accessKeyId", "encryption_key"),
    *(
        "signing_key",
        "ssh_key",
        "master_key",
        "license_key",
        "signature",
        "sig",
        "x-amz-signature",
        "session",
    ),
    *(
        "dsn",
        "connection_string",
        "connectionString",
        "database_url",
        "DATABASE_URL",
        "otp",
        "pin",
        "pin_code",
    ),
    *(
        "X-Auth",
        "X-Credential",
        "X-Signature",
        "X-Hub-Signature",
        "X-Hub-Signature-256",
        "X-Pwd",
        "X-Session",
    ),
    *("X-Access-Key", "refreshToken", "JWTToken", "bearer", "Set-Cookie", "clientSecret", "oauth", "totp"),
    *ORIGINAL_SECRET_KEYS,
]
HARMLESS_NAMES = [
    *("author", "authors", "auth_type", "auth_url", "session_count", "sessions", "session_timeout", "pinned"),
    *(
        "pin_count",
        "pinging",
        "passed",
        "pass_rate",
        "bypass",
        "compass",
        "signature_version",
        "signal",
        "design",
    ),
    *(
        "key",
        "keys",
        "keyboard",
        "cache_key",
        "primary_key",
        "public_key",
        "idempotency_key",
        "monkey",
        "option",
    ),
    *(
        "connection",
        "database",
        "id",
        "name",
        "message",
        "content",
        "salt",
        "pepper",
        "",
        "1",
        "spin",
        "dsname",
    ),
]


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_the_value_under_such_a_name_is_a_secret(name: str) -> None:
    assert is_secret_name(name)
    # The cheap test before a search must not leave it out, in JSON or in a text.
    assert may_hold_secret(f'{{"{name}":"x"}}')
    assert may_hold_secret(f'"{{\\"{name}\\": 1}}"')
    assert hide_secrets(f"{name}=hunter2") == f"{name}=[redacted]"


@pytest.mark.parametrize("name", HARMLESS_NAMES)
def test_the_value_under_such_a_name_is_none(name: str) -> None:
    assert not is_secret_name(name)
    assert hide_secrets(f"{name}=hunter2 {name}: hunter2") == f"{name}=hunter2 {name}: hunter2"


def test_in_headers_and_queries_most_keys_are_secrets() -> None:
    assert is_secret_parameter("key")
    assert is_secret_parameter("X-Acme-Key")
    assert not is_secret_parameter("Idempotency-Key")
    assert not is_secret_parameter("keyboard")
    assert mask_url("https://host/?key=abc&keyboard=de") == "https://host/?key=xxxxxx&keyboard=de"


def test_the_header_tool_knows_the_names_of_its_original_alone() -> None:
    assert is_original_secret_key("X-Api-Key")
    assert not is_original_secret_key("X-Auth")


JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Authorization: Bearer abc", "Authorization: [redacted]"),
        ("sent 'authorization: Basic YTpi' to it", "sent 'authorization: [redacted]' to it"),
        ("Cookie: a=b; sid=1234\r\nHost: x", "Cookie: [redacted]\r\nHost: x"),
        ("with Bearer abcd1234efgh", "with Bearer [redacted]"),
        ("postgres://user:hunter2@db/x", "postgres://[redacted]@db/x"),
        ("GET https://h/?a=1&token=abc&b=2 failed", "GET https://h/?a=1&token=[redacted]&b=2 failed"),
        ("GET /?key=abc123&sig=def", "GET /?key=[redacted]&sig=[redacted]"),
        ("connect(password=hunter2)", "connect(password=[redacted]"),
        ("login failed: password=hunter2, retry", "login failed: password=[redacted] retry"),
        ("curl --api-key=hunter2 x", "curl --api-key=[redacted] x"),
        ("Server=db;Password=a$b;Database=x", "Server=db;Password=[redacted];Database=x"),
        ("user=me password=hunter2 host=x", "user=me password=[redacted] host=x"),
        ("password: hunter2", "password: [redacted]"),
        ("{password: 'two words'}", "{password: '[redacted]'}"),
        ("the password for staging is hunter2", "the password for staging is [redacted]"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG", "aws_secret_access_key = [redacted]"),
        ("[db]\npassword = letters\nhost = x", "[db]\npassword = [redacted]\nhost = x"),
        ("password : hunter2", "password : [redacted]"),
        ("DB_PASSWORD := hunter2", "DB_PASSWORD := [redacted]"),
        ("password => hunter2", "password => [redacted]"),
        ("password =hunter2 and more", "password =[redacted] and more"),
        ("curl --token abc123 https://h/", "curl --token [redacted] https://h/"),
        ("mysql --user bob --password 'two words' db", "mysql --user bob --password '[redacted]' db"),
        ("tool --client-secret p@ssword", "tool --client-secret [redacted]"),
        (
            "- name: DB_PASSWORD\n  value: hunter\n- name: A",
            "- name: DB_PASSWORD\n  value: [redacted]\n- name: A",
        ),
        ('key="api_key", value="hunter"', 'key="api_key", value="[redacted]"'),
        (
            'Authorization: Digest username="me", nonce="dcd98b", nc=0001, response="6629fae4"\r\nHost: x',
            "Authorization: [redacted]\r\nHost: x",
        ),
        ('sent Digest username=\\"me\\", response=\\"6629\\" to it', "sent Digest [redacted] to it"),
        ("hvs.CAESIJ1234567890abcdefghij", "[redacted]"),
        ("whsec_abcdefghijklmnopqrstuvwx", "[redacted]"),
        ("AKIAIOSFODNN7EXAMPLE is the key", "[redacted] is the key"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[redacted]"),
        ("sk-ant-api03-abcdefghijklmnop", "[redacted]"),
        ("fk_" + "aB3-_" * 8 + "xyz", "[redacted]"),
        ("SK0123456789abcdef0123456789abcdef", "[redacted]"),
        (
            "https://discord.com/api/webhooks/123456/" + "aB3_" * 17,
            "https://discord.com/api/webhooks/[redacted]",
        ),
        ("bot 1234567890:AA" + "a1B-" * 8 + "x", "bot 1234567890:[redacted]"),
        ("user: me\npassword: letters\nhost: db", "user: me\npassword: [redacted]\nhost: db"),
        ("- password: p@ss!word", "- password: [redacted]"),
        ("pin: 1234, name: x", "pin: [redacted], name: x"),
        ("the password: 12345678", "the password: [redacted]"),
        ("curl -u bob:hunter2 https://h/", "curl -u bob:[redacted] https://h/"),
        ("curl -sS --user 'bob:two words' h", "curl -sS --user 'bob:[redacted]' h"),
        ('$ /usr/bin/curl -ubob:letters -X GET "h"', '$ /usr/bin/curl -ubob:[redacted] -X GET "h"'),
        ("machine db.test login bob password letters", "machine db.test login bob password [redacted]"),
        (
            "machine a login b password c\nmachine d login e password f",
            "machine a login b password [redacted]\nmachine d login e password [redacted]",
        ),
        (
            "machine db.test\n  login bob\n  password a!b",
            "machine db.test\n  login bob\n  password [redacted]",
        ),
        ("<password>letters</password>", "<password>[redacted]</password>"),
        ('<a><apiKey id="1">two words</apiKey></a>', '<a><apiKey id="1">[redacted]</apiKey></a>'),
        ("root:let@ters@tcp(127.0.0.1:3306)/shop", "root:[redacted]@tcp(127.0.0.1:3306)/shop"),
        (f"got {JWT}.", "got [redacted]."),
        (PEM, "-----BEGIN RSA PRIVATE KEY-----[redacted]-----END RSA PRIVATE KEY-----"),
    ],
)
def test_a_secret_in_free_text_is_masked_by_its_shape(text: str, masked: str) -> None:
    assert hide_secrets(text) == masked
    assert hide_secrets(masked) == masked
    assert may_hold_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        "the password is wrong",
        "the password is required: 8 characters",
        "token: see the docs",
        'the "password" is no key',
        "Authorization is not supported",
        "basic responsibilities and bearer of good news",
        "https://example.org/a@b?page=2",
        "mail me@example.org about risk-averse-and-long-enough-words",
        "12 tests passed, 3 failed in session 4",
        "the connection to 10.0.0.1:8080 was refused",
        "ratio 16:AA, asia, design=flat, mapping=x",
        "2026-01-01T00:00:00Z key=value",
        "if password == other: the token = something else",
        "token = read_token(path)",
        "token_url = https://h/oauth2",
        "--token is missing, --password must be given, --token-file /run/t1 too",
        "use --password, --token or --api-key --verbose",
        "name: session_count\nvalue: 12345",
        "call(max_tokens=4096, token_count = 312)",
        "the digest of x=1 is known; sha-digest a",
        "password: required",
        "Fix these:\n- token: Missing.\n- password: see the docs",
        "class Login:\n    password: str\n    token: SecretStr",
        "tokens_used: 1234, token: 1024 bytes",
        "docker run -u 1000:1000 image; curl -u bob https://h:80/",
        "this machine has a login and a password prompt",
        "<author>bob</author> <password></password> <token>",
        "see <password> in the form",
        "bob@tcp(127.0.0.1:3306)/shop",
        "",
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert hide_secrets(text) == text


@given(st.text())
def test_hiding_twice_is_hiding_once(text: str) -> None:
    once = hide_secrets(text)
    assert hide_secrets(once) == once


def test_a_long_text_without_secrets_is_searched_in_time_that_grows_with_its_length() -> None:
    more = (
        "--token ",
        "name: pw ",
        "name: pw\n",
        "Digest a=",
        'digest a="b", ',
        "token = ",
        "pw =",
        '"name":"',
        "password: ",
        "<password>",
        "curl -u ",
        "machine a ",
        "a:@tcp(",
        "a:b@tcp",
    )
    for piece in (*more, "password", "a.", "token:", "://", "-", "is ", "eyJ", "Bearer ", "auth(", "\\"):
        text = piece * 20_000
        assert len(hide_secrets(text)) > 0


@pytest.mark.parametrize(
    ("mapping", "keys"),
    [
        ({"name": "DB_PASSWORD", "value": "x"}, {"value"}),
        ({"Key": "api_key", "Value": "x", "Type": "String"}, {"Value"}),
        ({"name": "password", "description": "x"}, set()),
        ({"name": "author", "value": "x"}, set()),
        ({"name": 1, "value": "x", "token": "y"}, {"token"}),
        ({"max_tokens": 4096, "tokenCount": 2.5, "password_length": 8, "has_password": True}, set()),
        ({"max_tokens": "4096", "pin": 1234, "session_token": 12}, {"max_tokens", "pin", "session_token"}),
    ],
)
def test_a_value_is_a_secret_by_the_name_beside_it(mapping: dict[str, object], keys: set[str]) -> None:
    assert secret_keys(mapping) == keys
    if "value" in keys:
        assert may_hold_secret(json.dumps(mapping))
        assert may_hold_secret(json.dumps(json.dumps(mapping)))


def test_an_argument_is_a_secret_by_the_flag_before_it() -> None:
    given = ["curl", "--token", "abc", "--password", "--verbose", "--token-file", "/run/t", "--pin", 1]
    assert [given[index] for index in range(len(given)) if is_secret_argument(given, index)] == ["abc"]
    assert may_hold_secret(json.dumps(given[:3]))


def test_the_login_of_curl_is_a_secret_and_the_user_of_other_programs_is_none() -> None:
    given = ["/usr/bin/curl", "-u", "bob:hunter", "-U", "bob", "http://h:80/"]
    assert [index for index in range(len(given)) if is_secret_argument(given, index)] == [2]
    assert may_hold_secret(json.dumps(given))
    assert not is_secret_argument(["docker", "-u", "1000:1000"], 2)


def test_variables_are_secret_by_name_or_by_what_is_in_them() -> None:
    env = {
        "PWD": "/home/me",
        "MY_SERVICE_KEY": "abc",
        "DB_PASSWORD": "x",
        "DATABASE_URL": "sqlite:///test.db",
        "REPLICA_URL": "postgres://me:hunter2@db/x",
        "SSH_AUTH_SOCK": "/run/agent",
        "NOTE": "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    }
    assert sorted(secret_variables(env)) == ["DB_PASSWORD", "MY_SERVICE_KEY", "NOTE", "REPLICA_URL"]
    assert sorted(environment_without_secrets(env, keep=["NOTE"])) == [
        "DATABASE_URL",
        "NOTE",
        "PWD",
        "SSH_AUTH_SOCK",
    ]
