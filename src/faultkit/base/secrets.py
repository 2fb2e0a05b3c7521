"""Secrets, taken out of what a report shows: header values, parts of URLs. Pure.

Better a word too many than a key too few: a name that merely sounds like a secret is masked, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote_plus

MASK = "xxxxxx"
_NAMES = ("cookie", "set-cookie")
_SOUNDS = ("auth", "token", "secret", "passw", "pwd", "key", "credential", "session", "signature", "jwt")
_IN_QUERIES = ("sig", "code")
"""Short names that mean a secret in a URL only: of signed links, of logins."""
_SCHEMES = re.compile(r"\s*(bearer|basic|digest|negotiate)\s", re.IGNORECASE)
_USERINFO = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]*:)?//[^/?#]*@")
_PAIR = re.compile(r"([^&;=?#]+)=([^&;#]*)")


def is_secret(name: str) -> bool:
    """Whether something of this name may be nobody's business."""
    lower = name.strip().lower()
    return lower in _NAMES or any(sound in lower for sound in _SOUNDS)


def mask_headers(headers: Mapping[str, str] | Iterable[tuple[str, str]]) -> dict[str, str]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return {name: MASK if is_secret(name) or _SCHEMES.match(value) else value for name, value in pairs}


def mask_url(url: str) -> str:
    """The same URL without user, password, and the values of secrets in its query and fragment."""
    begin = re.search(r"[?#]", url)
    place = begin.start() if begin else len(url)
    return _USERINFO.sub(_masked_user, url[:place]) + _PAIR.sub(_masked_pair, url[place:])


def _masked_user(found: re.Match[str]) -> str:
    return f"{found[1] or ''}//{MASK}@"


def _masked_pair(found: re.Match[str]) -> str:
    name, value = found[1], found[2]
    plain = unquote_plus(name)
    if value and (is_secret(plain) or plain.strip().lower() in _IN_QUERIES):
        return f"{name}={MASK}"
    inner = unquote_plus(value)
    # A link inside a link may hold what the outer one hides.
    return f"{name}={MASK}" if "://" in inner and mask_url(inner) != inner else found[0]


def mask_rule(rule: Mapping[str, object]) -> dict[str, object]:
    """The plain form of a rule, with secrets in its match masked: values of headers, and of a query."""
    match = rule.get("match")
    if not isinstance(match, Mapping):
        return dict(rule)
    masked = dict(match)
    if isinstance(headers := match.get("headers"), Mapping):
        masked["headers"] = mask_headers(headers)
    if isinstance(path := match.get("path"), str):
        masked["path"] = mask_url(path)
    return {**rule, "match": masked}
