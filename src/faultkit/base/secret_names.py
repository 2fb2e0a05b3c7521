"""What counts as a secret by its name. Pure.

The only module that knows this; `base/secrets.py` knows the shapes of secrets, and masks both.

    is_secret_name        the key of a value: in JSON, in a file, the argument of a call
    is_secret_parameter   a name in a flat list: a header, a query parameter
    secret_keys           the keys of a mapping that hold secrets, also as a pair of a name and a value
    is_secret_flag        a flag on a command line, by its name
    is_secret_argument    an item of a list, by the flag before it
    is_secret_in_code     a name in source code

A part of a name that is hardly ever anything else (`password`, `token`) counts wherever it stands. A short or
common word counts only as the last word of a name, or before one such as `header`: `auth` and `auth_header`
are secrets; `author`, `auth_type`, `session_count`, `pinned` and `signature_version` are not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

ORIGINAL_SECRET_KEYS = (
    "password",
    "token",
    "secret",
    "authorization",
    "api_key",
    "credentials",
    "bearer",
    "cookie",
    "jwt",
    "session_id",
    "private_key",
    "passwd",
)
"""The names of the Go failure server, whose header tool hides these alone; `api_key` stands for `api-key` and
`apikey`, too."""
_ANYWHERE = (
    *(key.replace("_", "") for key in ORIGINAL_SECRET_KEYS),
    *("passw", "passphrase", "passcode", "credential", "accesskey", "accountkey", "authkey"),
    *("deploykey", "encryptionkey", "hmackey", "licencekey", "licensekey", "masterkey"),
    *("sessionkey", "sharedkey", "signingkey", "sshkey", "storagekey", "subscriptionkey"),
    *("connectionstring", "connstr", "databaseurl", "recoverycode"),
)
"""Parts of a name, without separators, that mean a secret wherever they stand."""
_LAST_WORDS = (
    *("auth", "authentication", "oauth", "cred", "creds", "cvc", "cvv", "dsn", "otp", "totp"),
    *("pass", "pin", "pw", "pwd", "session", "sig", "signature"),
)
"""Words that mean a secret at the end of a name."""
CARRIERS = ("code", "data", "header", "hex", "raw", "string", "text", "value")
"""Words after which the one before counts as the last: `auth_header`."""
_USER_PASS = re.compile(r"(?:admin|db|ftp|mail|mysql|pg|redis|root|smtp|user)pass$")
_HARMLESS_KEYS = (
    *("cache", "foreign", "group", "idempotency", "index", "object", "partition", "primary"),
    *("public", "row", "routing", "sort"),
)
"""Words before `key` that make it the name of something."""
_QUERY_SECRETS = ("sig", "code")
"""Whole names that mean a secret in a URL only: in signed links and in logins."""
FIGURES = ("tokens", "count", "limit", "length", "size", "age", "ttl")
"""Last words of names under which a number is no secret."""
_PAIR_NAMES, _PAIR_VALUES = ("name", "key", "Name", "Key"), ("value", "Value")
"""Keys that hold a name, and the keys beside them that hold its value."""
_CURL_LOGINS = ("-u", "--user", "-U", "--proxy-user")
"""Flags of curl whose argument is a user and a password."""
_CODE_WORDS = ("licence", "license", "pepper", "salt")
"""Words that mean a secret at the end of a name in source code only: data are about food, too."""
CODE_HARMLESS_ENDINGS = (
    *("url", "uri", "name", "type", "env", "file", "path", "header", "field", "endpoint", "scheme"),
)
"""Endings of a name in source code that make it a place or a kind: `token_url`."""
_LONGEST_REMEMBERED = 64
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SEPARATORS = re.compile(r"[^a-z]+")


def is_secret_name(name: str) -> bool:
    """Return whether the value under this key is a secret. Cached, since data repeat the same few names."""
    return _remembered(name) if len(name) <= _LONGEST_REMEMBERED else _is_secret_name(name)


def _is_secret_name(name: str) -> bool:
    plain = _SEPARATORS.sub("", name.lower())
    for part in _ANYWHERE:
        if part in plain:
            return True
    return last_word(name) in _LAST_WORDS or _USER_PASS.search(plain) is not None


_remembered = lru_cache(maxsize=4096)(_is_secret_name)


def last_word(name: str) -> str:
    """Return the last word of a name that is not a carrier, in lower case: `auth` of `X-Auth-Header`."""
    words = _WORD.findall(name[-_LONGEST_REMEMBERED:])
    if len(words) > 1 and words[-1].lower() in CARRIERS:
        del words[-1]
    return words[-1].lower() if words else ""


def is_secret_parameter(name: str) -> bool:
    """Return whether a header or a query parameter of this name is a secret: most that end with `key` are."""
    if is_secret_name(name):
        return True
    words = [word.lower() for word in _WORD.findall(name[-_LONGEST_REMEMBERED:])]
    return words[-1:] == ["key"] and (len(words) == 1 or words[-2] not in _HARMLESS_KEYS)


def is_original_secret_key(name: str) -> bool:
    """Return whether the name contains one of the twelve of the Go failure server, in any spelling."""
    plain = name.lower().replace("-", "_")
    return any(key in plain or key.replace("_", "") in plain for key in ORIGINAL_SECRET_KEYS)


def secret_keys(mapping: Mapping[str, object]) -> set[str]:
    """Return the keys of a mapping whose values are secrets: by their own names, or because another key holds
    the name, as in `{"name": "DB_PASSWORD", "value": …}`."""
    found = {key for key, value in mapping.items() if is_secret_name(key) and not _is_figure(key, value)}
    for value in _PAIR_VALUES:
        if value in mapping:
            names = (mapping.get(key) for key in _PAIR_NAMES)
            if any(isinstance(name, str) and is_secret_name(name) for name in names):
                found.add(value)
    return found


def _is_figure(name: str, value: object) -> bool:
    """Return whether a value is a figure about secrets: `max_tokens: 100`, `has_token: true`."""
    if isinstance(value, bool):
        return True
    return isinstance(value, int | float) and last_word(name) in FIGURES


def is_query_secret(name: str) -> bool:
    """Return whether a parameter of a URL is a secret."""
    return is_secret_parameter(name) or name.strip().lower() in _QUERY_SECRETS


def is_secret_flag(name: str) -> bool:
    """Return whether the argument after a flag of this name is a secret: that of `--token-file` is none."""
    return is_secret_name(name) and not name.lower().endswith(CODE_HARMLESS_ENDINGS)


def is_secret_argument(arguments: Sequence[object], index: int) -> bool:
    """Return whether an item of a list is the argument of a secret flag before it: `["--token", "abc"]`."""
    flag, given = arguments[index - 1] if index else None, arguments[index]
    if not (isinstance(flag, str) and isinstance(given, str)):
        return False
    if flag in _CURL_LOGINS and _is_curl(arguments[0]):
        return ":" in given
    if not flag.startswith("--"):
        return False
    return is_secret_flag(flag[2:]) and not given.startswith("-")


def _is_curl(program: object) -> bool:
    return isinstance(program, str) and program.rpartition("/")[2] == "curl"


def is_secret_in_code(name: str) -> bool:
    """Return whether a name in source code means a secret."""
    if name.lower().endswith(CODE_HARMLESS_ENDINGS):
        return False
    return is_secret_name(name) or last_word(name) in _CODE_WORDS
