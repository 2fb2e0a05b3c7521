"""Names that mean a secret, and masking of what bears one: header values, parts of URLs, rules. Pure.

The only module that lists such names. It has several lists because callers differ in what a mistake costs:

    ORIGINAL_SECRET_KEYS  the twelve of the Go failure server: the header tool and the audit log hide these
    SOUNDS_SECRET         for reports, where one word masked too many is better than one key shown
    ENVIRONMENT_SECRET    variables whose values must not be written to a recording
    CODE_SECRET           names in source code, as a regular expression, before code is sent to a model
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Collection, Iterable, Mapping
from urllib.parse import unquote_plus

MASK = "xxxxxx"
"""In place of a secret in a report."""
REDACTED = "[redacted]"
"""In place of a secret in the audit log and in replies of the header tool."""

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
"""Parts of a name that mean a secret; `api_key` stands for `api-key` and `apikey`, too."""
SOUNDS_SECRET = (
    "auth",
    "token",
    "secret",
    "passw",
    "pwd",
    "key",
    "credential",
    "session",
    "signature",
    "jwt",
)
"""Parts of a name of a header or of a field that suggest a secret."""
COOKIE_HEADERS = ("cookie", "set-cookie")
"""Whole names of headers that carry a session."""
QUERY_SECRETS = ("sig", "code")
"""Whole names that mean a secret in a URL only: in signed links and in logins."""
ENVIRONMENT_SECRET = ("key", "token", "secret", "passw")
"""Parts of the name of an environment variable that holds a secret."""
CODE_SECRET = (
    r"(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_\-]?key|credential|auth(?!or(?!iz))|"
    r"(?:access|account|private|signing|encryption)[_\-]?key)"
)
"""A part of a name in source code that suggests a secret; `author` does not."""
CODE_HARMLESS_ENDINGS = (
    "url",
    "uri",
    "name",
    "type",
    "env",
    "file",
    "path",
    "header",
    "field",
    "endpoint",
    "scheme",
)
"""Endings of a name in source code that make it a place or a kind: `token_url`."""

_SCHEMES = re.compile(r"\s*(bearer|basic|digest|negotiate)\s", re.IGNORECASE)
_USERINFO = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]*:)?//[^/?#]*@")
_PAIR = re.compile(r"([^&;=?#]+)=([^&;#]*)")


def sounds_secret(name: str) -> bool:
    """Return whether a value of this name may be a secret. For reports: it errs on the side of masking."""
    lower = name.strip().lower()
    return lower in COOKIE_HEADERS or any(sound in lower for sound in SOUNDS_SECRET)


def is_secret_key(name: str) -> bool:
    """Return whether the name contains one of the twelve of the Go failure server, in any spelling."""
    plain = name.lower().replace("-", "_")
    return any(key in plain or key.replace("_", "") in plain for key in ORIGINAL_SECRET_KEYS)


def is_secret_variable(name: str) -> bool:
    """Return whether an environment variable of this name holds a secret."""
    lower = name.lower()
    return any(part in lower for part in ENVIRONMENT_SECRET)


def environment_without_secrets(env: Mapping[str, str], keep: Collection[str] = ()) -> dict[str, str]:
    """Return an environment for code that is not trusted: without the secrets, except those in `keep`."""
    return {name: value for name, value in env.items() if name in keep or not is_secret_variable(name)}


def has_bearer_token(authorization: str, token: str) -> bool:
    """Return whether an Authorization header has this token (RFC 6750 §2.1), in constant time."""
    scheme, _, given = authorization.partition(" ")
    fits = hmac.compare_digest(given.strip().encode("utf-8", "replace"), token.encode())
    return fits and scheme.lower() == "bearer"


def mask_headers(headers: Mapping[str, str] | Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return headers with the values masked that are secret by their name or by their scheme (`Bearer …`)."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return {name: MASK if sounds_secret(name) or _SCHEMES.match(value) else value for name, value in pairs}


def mask_url(url: str) -> str:
    """Return a URL with user, password, and the secrets in its query and fragment masked."""
    begin = re.search(r"[?#]", url)
    place = begin.start() if begin else len(url)
    before = _USERINFO.sub(lambda found: f"{found[1] or ''}//{MASK}@", url[:place])
    return before + _PAIR.sub(_masked_pair, url[place:])


def _masked_pair(found: re.Match[str]) -> str:
    name, value = found[1], found[2]
    plain = unquote_plus(name)
    if value and (sounds_secret(plain) or plain.strip().lower() in QUERY_SECRETS):
        return f"{name}={MASK}"
    inner = unquote_plus(value)
    # The value may be a URL that has secrets of its own.
    return f"{name}={MASK}" if "://" in inner and mask_url(inner) != inner else found[0]


def mask_rule(rule: Mapping[str, object]) -> dict[str, object]:
    """Return a rule, as a document holds it, with the secrets in its match masked: header values, a query."""
    match = rule.get("match")
    if not isinstance(match, Mapping):
        return dict(rule)
    masked = dict(match)
    if isinstance(headers := match.get("headers"), Mapping):
        masked["headers"] = mask_headers(headers)
    if isinstance(path := match.get("path"), str):
        masked["path"] = mask_url(path)
    return {**rule, "match": masked}
