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
_USERINFO = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]*:)?//[^/?#]*@")
_PAIR = re.compile(r"([^&;=?#]+)=([^&;#]*)")


def is_secret(name: str) -> bool:
    """Whether something of this name may be nobody's business."""
    lower = name.strip().lower()
    return lower in _NAMES or any(sound in lower for sound in _SOUNDS)


def mask_headers(headers: Mapping[str, str] | Iterable[tuple[str, str]]) -> dict[str, str]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return {name: MASK if is_secret(name) else value for name, value in pairs}


def mask_url(url: str) -> str:
    """The same URL without user, password, and the values of secrets in its query and fragment."""
    begin = re.search(r"[?#]", url)
    place = begin.start() if begin else len(url)
    return _USERINFO.sub(_masked_user, url[:place]) + _PAIR.sub(_masked_pair, url[place:])


def _masked_user(found: re.Match[str]) -> str:
    return f"{found[1] or ''}//{MASK}@"


def _masked_pair(found: re.Match[str]) -> str:
    name, value = found[1], found[2]
    return f"{name}={MASK if value and is_secret(unquote_plus(name)) else value}"


def mask_rule(rule: Mapping[str, object]) -> dict[str, object]:
    """The plain form of a rule, with the values of secret headers in its match masked."""
    match = rule.get("match")
    headers = match.get("headers") if isinstance(match, Mapping) else None
    if not isinstance(match, Mapping) or not isinstance(headers, Mapping):
        return dict(rule)
    return {**rule, "match": {**match, "headers": mask_headers(headers)}}
