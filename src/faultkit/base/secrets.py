"""What counts as a secret by its shape, and masking of secrets. Pure.

The only module that knows this: the audit log, reports, cassettes and prompts for models all ask here.
`base/secret_names.py` knows the names of secrets, `base/code_secrets.py` where secrets stand in source code.

    secret_variables      the variables of an environment that hold secrets
    hide_secrets          masks free text: an error message, the argument of a call
    mask_headers …        mask parts of reports
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias
from urllib.parse import unquote, unquote_plus

from faultkit.base.patterns import LinearPattern
from faultkit.base.secret_names import (
    CARRIERS,
    CODE_HARMLESS_ENDINGS,
    FIGURES,
    is_query_secret,
    is_secret_flag,
    is_secret_name,
    is_secret_parameter,
    last_word,
)

MASK = "xxxxxx"
"""In place of a secret in a report."""
REDACTED = "[redacted]"
"""In place of a secret in the audit log and in replies of the header tool."""

_HARMLESS_VARIABLES = ("PWD", "OLDPWD", "DESKTOP_SESSION")
_ADDRESS_ENDINGS = ("url", "uri", "dsn")


def secret_variables(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that hold a secret, by their name or by the shape of their value.

    An address such as DATABASE_URL counts only if there is a password in it."""
    return {name: value for name, value in env.items() if _is_secret_variable(name, value)}


def _is_secret_variable(name: str, value: str) -> bool:
    if name in _HARMLESS_VARIABLES:
        return False
    if is_secret_parameter(name) and not name.lower().endswith(_ADDRESS_ENDINGS):
        return True
    return hide_secrets(value) != value


def environment_without_secrets(env: Mapping[str, str], keep: Collection[str] = ()) -> dict[str, str]:
    """Return an environment for code that is not trusted: without the secrets, except those in `keep`."""
    secret = secret_variables(env)
    return {name: value for name, value in env.items() if name in keep or name not in secret}


def has_bearer_token(authorization: str, token: str) -> bool:
    """Return whether an Authorization header has this token (RFC 6750 §2.1), in constant time."""
    scheme, _, given = authorization.partition(" ")
    fits = hmac.compare_digest(given.strip().encode("utf-8", "replace"), token.encode())
    return fits and scheme.lower() == "bearer"


# --- shapes ---------------------------------------------------------------------------------------

SecretSpan: TypeAlias = tuple[int, int, str]
"""Begin and end of a secret in a text, and its kind."""
SECRET_KINDS = ("KEY", "TOKEN", "PASSWORD", "LOGIN")

_PREFIXES: tuple[tuple[str, str, str], ...] = (
    ("KEY", "sk", r"[-_][A-Za-z0-9_\-]{16,}"),
    ("KEY", "pk", r"[-_][A-Za-z0-9_\-]{16,}"),
    ("KEY", "rk", r"[-_][A-Za-z0-9_\-]{16,}"),
    ("KEY", "AKIA", r"[0-9A-Z]{16,}"),
    ("KEY", "ASIA", r"[0-9A-Z]{16,}"),
    ("KEY", "AIza", r"[A-Za-z0-9_\-]{30,}"),
    ("KEY", "AGE-SECRET-KEY-1", r"[A-Z0-9]{20,}"),
    ("KEY", "SG.", r"[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}"),
    # `fault keys create`.
    ("KEY", "fk_", r"[A-Za-z0-9_\-]{40,}"),
    # Twilio.
    ("KEY", "SK", r"[0-9a-f]{32}(?!\w)"),
    ("TOKEN", "gh", r"[pousr]_[A-Za-z0-9]{20,}"),
    ("TOKEN", "github_pat_", r"[A-Za-z0-9_]{20,}"),
    ("TOKEN", "glpat-", r"[A-Za-z0-9_\-]{16,}"),
    ("TOKEN", "xox", r"[a-z]-[A-Za-z0-9\-]{10,}"),
    ("TOKEN", "xapp-", r"[A-Za-z0-9\-]{10,}"),
    ("TOKEN", "hf_", r"[A-Za-z0-9]{20,}"),
    ("TOKEN", "npm_", r"[A-Za-z0-9]{20,}"),
    ("TOKEN", "dop_v1_", r"[A-Za-z0-9]{20,}"),
    ("TOKEN", "shp", r"(?:at|ss)_[A-Za-z0-9]{20,}"),
    ("TOKEN", "pypi-", r"[A-Za-z0-9_\-]{20,}"),
    ("TOKEN", "ya29.", r"[A-Za-z0-9_\-]{20,}"),
    ("TOKEN", "hvs.", r"[A-Za-z0-9_\-]{20,}"),
    ("KEY", "whsec_", r"[A-Za-z0-9+/=]{20,}"),
    # A JSON web token: two parts of base64 that begin with `{"`, and a signature.
    ("TOKEN", "eyJ", r"[A-Za-z0-9_\-]{8,}+\.eyJ[A-Za-z0-9_\-]{8,}+(?:\.[A-Za-z0-9_\-]*)?"),
)
"""Kinds of keys that have a fixed prefix: the kind, the prefix, a pattern of the rest."""

_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    # A search for a fixed prefix is fast, so the lookbehind for a word character comes after it.
    *(
        (kind, re.compile(rf"(?P<secret>{re.escape(start)}(?<!\w{re.escape(start)}){rest})"))
        for kind, start, rest in _PREFIXES
    ),
    ("TOKEN", re.compile(r"hooks\.slack\.com/services/(?P<secret>[A-Za-z0-9/]{20,})")),
    ("TOKEN", re.compile(r"discord(?:app)?\.com/api/webhooks/(?P<secret>[0-9]{5,}/[A-Za-z0-9_\-]{20,})")),
    # A bot of Telegram: its number, and 35 characters that begin with AA.
    ("TOKEN", re.compile(r":(?P<secret>(?<=[0-9]{8}:)AA[A-Za-z0-9_\-]{30,})")),
    # A private key, complete or truncated.
    (
        "KEY",
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,20}PRIVATE KEY(?: BLOCK)?-----"
            r"(?P<secret>(?s:.{0,20000}?)(?=-----END)|[A-Za-z0-9+/=\s\\\"',:\-]*)"
        ),
    ),
    # A user and a password in a URL, unless they are filled in later.
    ("LOGIN", re.compile(r"://(?P<secret>[^\s/?#@\"'`<>{}$%]++)@")),
    ("LOGIN", re.compile(r"://[^\s/?#@\"'`:<>]{0,100}+:(?P<secret>[^\s/?#@\"'`<>{}$]{3,}+)@")),
    (
        "TOKEN",
        re.compile(
            r"(?i:bearer) {1,4}+(?P<secret>[A-Za-z0-9+/._~=\-]{16,}+|(?=[^\s\d]{0,99}+\d)[\w+/.~=\-]{8,}+)"
        ),
    ),
    # The parameters of Digest (RFC 7616 §3.4). Their quotes may be escaped.
    (
        "TOKEN",
        re.compile(
            r"(?i:digest) {1,4}+(?P<secret>[\w\-]{1,30}+=(?:\\{0,3}\"[^\"\\\r\n]*+\\{0,3}\"|[^\s,\"\\]++)"
            r"(?: ?, {0,4}+[\w\-]{1,30}+=(?:\\{0,3}\"[^\"\\\r\n]*+\\{0,3}\"|[^\s,\"\\]++))*+)"
        ),
    ),
    # `curl -u user:password`. Elsewhere -u may be a user and a group: `docker run -u 1000:1000`.
    (
        "LOGIN",
        re.compile(
            r"\bcurl(?:[ \t]{1,4}+(?![|;&])\S{1,300}+){0,30}?"
            r"[ \t]{1,4}+(?:-[uU][ \t]?|--(?:proxy-)?user[ \t=])"
            r"(?:\"[^\":\s]{0,100}+:(?P<quoted>[^\"\n]{1,200}+)\"|'[^':\s]{0,100}+:(?P<single>[^'\n]{1,200}+)'"
            r"|[^\s\"':]{0,100}+:(?P<secret>[^\s\"'`]{1,200}+))"
        ),
    ),
    # A line of a netrc file.
    (
        "PASSWORD",
        re.compile(
            r"\b(?:machine[ \t]{1,8}+\S{1,200}+|default)"
            r"(?:\s{1,40}+(?:login|account)[ \t]{1,8}+\S{1,200}+){1,2}"
            r"\s{1,40}+password[ \t]{1,8}+(?P<secret>\S{1,200}+)"
        ),
    ),
    # A data source of Go's database drivers: `user:password@tcp(host:3306)/db`.
    ("LOGIN", re.compile(r"(?<![\w.\-])[\w.\-]{1,60}+:(?P<secret>\S{1,200}?)@(?:tcp6?|unix|cloudsql)\(")),
    ("TOKEN", re.compile(r"(?i:basic) {1,4}+(?P<secret>(?=[^\s\d=]{0,99}+[\d=])[A-Za-z0-9+/]{8,}+={0,2})")),
)

NAME = r"(?<!\w)(?<!\w[.\-])(?P<name>(?:[A-Za-z_][\w\-]{0,40}+\.){0,8}+[A-Za-z_][\w\-]{0,60}+)"
QUOTED = (
    r"(?:\"(?P<double>(?:[^\"\\\n]|\\.){3,}+)\"|'(?P<single>(?:[^'\\\n]|\\.){3,}+)'|`(?P<back>[^`\n$]{3,}+)`)"
)
SAID = re.compile(
    # "the password for staging is hunter2"; a value of letters alone is a word: "the password is wrong".
    r"(?i:passw(?:or)?d|passphrase|pwd|secret|token|api[ _\-]?key|\bpin)(?: [\w\-]{1,20}+){0,3}?"
    r" (?i:is|was)[ :]{1,2}+(?P<said>(?=[^\s\"'`\d]{0,99}+\d)[^\s\"'`]{4,}+)"
)
_SPACED = r"[^\s&;\"'`<>(){}\[\],=!]{3,500}+"
_NAMED_IN_TEXT = re.compile(
    rf"{NAME}"
    r"(?==(?P<raw>[^\s&;\"'`<>]{3,500}+)"
    # After a colon, a value of letters alone is a word: `token: see the docs`.
    r"|[ \t]{0,2}+:[ \t]{0,4}+"
    r"(?:(?P<said>(?=[^\s\d]{0,99}+\d)(?=[^\sA-Za-z]{0,99}+[A-Za-z])[^\s&;,\"'`<>{}\[\]]{5,500}+)"
    # Digits alone are a figure if a word follows: `token: 1024 bytes`.
    r"|(?P<digits>\d{4,40}+)(?=[ \t]{0,8}+(?:[\r\n,;)}\]]|\Z))"
    r"|(?P<line>[^\s&;,\"'`<>{}\[\]]{4,500}+)(?=[ \t]{0,8}+(?:[\r\n]|\Z)))"
    # With blanks around the sign, as in a file of settings. Within a line, letters alone are a word.
    rf"|[ \t]{{0,4}}+(?:=>|:=|=)[ \t]{{0,4}}+(?P<spaced>(?=[A-Za-z.]{{0,99}}+[^\sA-Za-z.]){_SPACED}(?!\()"
    rf"|{_SPACED}(?=[ \t]*+(?:[\r\n]|\Z)))"
    rf"|[\"'`]?\s?\]?\s{{0,4}}+(?:=>|:=|[!=]?==?|:)\s{{0,4}}+{QUOTED})"
)
_FLAG = re.compile(
    # `--token abc123` on a command line; in a sentence about the flag, a word follows.
    r"(?<![\w\-])--(?P<name>[A-Za-z][\w\-]{1,60}+)[ \t]{1,4}+"
    rf"(?:{QUOTED}|(?P<word>(?![\-\[])(?=[A-Za-z.,:;\-]{{0,99}}+[^\sA-Za-z.,:;\-'\"`)\]])[^\s\"'`]{{3,500}}+))"
)
_LINE_BEGINS = re.compile(r"(?:^|\n)[ \t]{0,40}(?:- )?\Z")
_STATES = (
    *("absent", "accepted", "boolean", "bytes", "changed", "created", "default", "deleted", "denied"),
    *("disabled", "empty", "enabled", "expired", "failed", "false", "hidden", "incorrect", "integer"),
    *("invalid", "masked", "missing", "none", "null", "number", "object", "optional", "present"),
    *("redacted", "rejected", "required", "revoked", "secretstr", "string", "true", "unknown", "unset"),
    *("updated", "valid", "wrong"),
)
"""What may be said of a secret in a line of its own: `password: required`."""
_ELEMENT = re.compile(
    r"<(?P<name>[A-Za-z_][\w.:\-]{0,60}+)(?:\s[^<>]{0,200}+)?>(?P<secret>[^<>]{1,500}+)</(?P=name)\s{0,4}>"
)
"""An element of XML."""
_PAIR_IN_TEXT = re.compile(
    # `name: DB_PASSWORD`, and `value: …` in the next line or after a comma.
    r"(?<!\w)(?i:name|key)[\\\"']{0,4}+[ \t]?[:=][ \t\\\"']{0,8}+(?P<name>[A-Za-z_][\w.\-]{1,80}+)"
    r"[\\\"']{0,4}+[,;]?\s{1,40}+[\\\"']{0,4}+(?i:value)[\\\"']{0,4}+[ \t]?[:=][ \t\\\"']{0,8}+"
    r"(?P<value>[^\s\\\"',;{}\[\]]{3,500}+)"
)
_CREDENTIAL_HEADER = re.compile(
    # Quotes or escapes may stand around the name and the value.
    r"(?i:(?:proxy-)?authorization|(?:set-)?cookie)[\\\"']{0,4}+\s{0,4}+:[\s\\\"']{0,6}+"
    r"(?P<secret>(?:(?i:bearer|basic|digest|negotiate|token|apikey) {1,4}+)?+[^\s\\\"'<>;]{3,}+"
    r"(?:; ?[^\s\\\"'<>;]++)*+)"
)
LONGEST_NAME = 80

_WORDS = (
    "pass|pwd|token|secret|auth|key|cred|bearer|cookie|jwt|session|database|recovery|signature|conn|pin|sig|otp"
    "|dsn|pw|cvc|cvv"
)
"""Parts of names that may mean a secret."""
_KEYED = (
    r"(?i:(?:(?:pass|pwd|token|secret|auth|key|cred|bearer|cookie|jwt|session|database|recovery|signature"
    r"|conn(?:ection)?[^a-z]{0,4}str)[^\"\\:=]*"
    # A short word counts only if no other word begins with it.
    rf"|(?:pin|sig|otp|dsn|pw|cvc|cvv|code)(?:[_\-]?(?:{'|'.join(CARRIERS)}))?(?:[^a-z\"\\:=][^\"\\:=]*)?)"
    # What may stand between a name and its value: quotes, escapes.
    r"(?:[\s\"'`\\\]]*[:=]| (?:is|was)[ :]))"
    # A flag before its value, in a text or a list; the name of a pair in JSON.
    rf"|--[A-Za-z\d_\-]*(?i:{_WORDS})[A-Za-z\d_\-]*(?:[ \t]+[^\s\-]|\\*\"\s*,)"
    # An element of XML.
    rf"|<[\w.:\-]*(?i:{_WORDS})[\w.:\-]*(?:\s[^<>]*)?>[^<>]"
    rf"|(?i:(?:name|key)\\*\"\s*:\s*\\*\"[^\"\\]*(?:{_WORDS}))"
)
"""Of a name that means a secret, and a value after it."""
_SHAPED = (
    r"[spr]k[-_][A-Za-z0-9_\-]{16}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[A-Za-z0-9_\-]{30}|AGE-SECRET-KEY-1"
    r"|SG\.[A-Za-z0-9_\-]{16}|SK[0-9a-f]{32}|fk_[A-Za-z0-9_\-]{40}|gh[pousr]_[A-Za-z0-9]{20}|github_pat_|glpat-|xox[a-z]-|xapp-"
    r"|(?:hf|npm|dop_v1|shpat|shpss)_[A-Za-z0-9]{20}|pypi-[A-Za-z0-9_\-]{20}|ya29\.|eyJ[A-Za-z0-9_\-]{8,}\.eyJ"
    r"|hooks\.slack|api/webhooks/|[0-9]{8}:AA|PRIVATE KEY|://[^\s/?#@\"'`<>]+@|(?i:bearer|basic) +\S{8}"
    r"|curl[^\n]*-(?:[uU]|-user|-proxy-user)|machine[ \t]+\S+\s|default\s+login|@(?:tcp6?|unix|cloudsql)\("
    r"|hvs\.[A-Za-z0-9_\-]{20}|whsec_[A-Za-z0-9+/=]{20}|(?i:digest) +[A-Za-z\-]+="
)
"""Of a secret that has a shape."""
_ANY = f"{_KEYED}|{_SHAPED}"


@lru_cache
def _linear(pattern: str) -> LinearPattern:
    # RE2 searches for all of these at once, in a fraction of the time that `re` takes.
    return LinearPattern(pattern)


def may_hold_secret(text: str) -> bool:
    """Return False if a text certainly contains no secret. It is cheap, since it is called for each call."""
    return not _is_short_word(text) and _linear(_ANY).found_in(text)


def may_hold_secret_utf8(text: bytes) -> bool:
    """Return False if an encoded text certainly contains no secret."""
    return _linear(_ANY).found_in_utf8(text)


def _is_short_word(text: str) -> bool:
    """Return whether a text is too short for a secret that has a shape or a name before it."""
    return len(text) < 14 and not (":" in text or "=" in text or "@" in text or "</" in text or "s " in text)


def hide_secrets(text: str, mask: str = REDACTED) -> str:
    """Return free text with `mask` in place of each secret that has a known shape, or a name before it."""
    spans: list[SecretSpan] = []
    if _is_short_word(text):
        return text
    if _linear(_SHAPED).found_in(text):
        spans += find_shapes(text)
    if _linear(_KEYED).found_in(text):
        spans += _find_named(text)
    return _with_mask(text, spans, mask)


def _with_mask(text: str, spans: list[SecretSpan], mask: str) -> str:
    parts: list[str] = []
    at = 0
    for start, end, _ in merge_spans(spans):
        parts += (text[at:start], mask)
        at = end
    return "".join(parts) + text[at:]


def merge_spans(spans: list[SecretSpan]) -> list[SecretSpan]:
    """Return spans in order, with overlapping ones merged."""
    joined: list[SecretSpan] = []
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if joined and start < joined[-1][1]:
            first, last, earlier = joined[-1]
            joined[-1] = (first, max(last, end), earlier)
        elif end > start:
            joined.append((start, end, kind))
    return joined


def find_shapes(text: str) -> Iterator[SecretSpan]:
    """Yield the places of secrets that have a known shape."""
    for kind, pattern in _SHAPES:
        for found in pattern.finditer(text):
            yield (*found.span(found.lastgroup or 0), kind)


def _find_named(text: str) -> Iterator[SecretSpan]:
    for found in _NAMED_IN_TEXT.finditer(text):
        name = found["name"]
        in_query = found.start() > 0 and text[found.start() - 1] in "?&"
        if found.lastgroup == "spaced" and name.lower().endswith(CODE_HARMLESS_ENDINGS):
            continue
        if last_word(name) in FIGURES and found[found.lastgroup or 0].rstrip(",)").isdecimal():
            continue
        if found.lastgroup == "digits" and "tokens" in name.lower():
            continue
        if found.lastgroup == "line" and not _is_setting(text, found):
            continue
        if is_secret_name(name) or (in_query and is_query_secret(name)):
            yield (*found.span(found.lastgroup or 0), "PASSWORD")
    for found in _ELEMENT.finditer(text):
        if is_secret_name(found["name"]) and found["secret"].strip():
            yield (*found.span("secret"), "PASSWORD")
    for found in _FLAG.finditer(text):
        if is_secret_flag(found["name"]):
            yield (*found.span(found.lastgroup or 0), "PASSWORD")
    for found in _PAIR_IN_TEXT.finditer(text):
        if is_secret_name(found["name"]):
            yield (*found.span("value"), "PASSWORD")
    for found in _CREDENTIAL_HEADER.finditer(text):
        yield (*found.span("secret"), "TOKEN")
    for found in SAID.finditer(text):
        yield (*found.span("said"), "PASSWORD")


def _is_setting(text: str, found: re.Match[str]) -> bool:
    """Return whether a line that is `name: value` sets a value, and does not say something of it."""
    before = text[max(0, found.start() - LONGEST_NAME) : found.start()]
    return _LINE_BEGINS.search(before) is not None and found["line"].lower().rstrip(".!") not in _STATES


# --- masks of reports -----------------------------------------------------------------------------

_SCHEMES = re.compile(r"\s*(bearer|basic|digest|negotiate)\s", re.IGNORECASE)
_USERINFO = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]*:)?//[^/?#]*@")
_PAIR = re.compile(r"([^&;=?#]+)=([^&;#]*)")
_PATH_PART = re.compile(r"[^/;]+")


def mask_headers(headers: Mapping[str, str] | Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return headers with the values masked that are secret by their name, scheme (`Bearer …`) or shape."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return {name: MASK if _is_secret_header(name, value) else value for name, value in pairs}


def _is_secret_header(name: str, value: str) -> bool:
    return is_secret_parameter(name) or bool(_SCHEMES.match(value)) or hide_secrets(value) != value


def mask_url(url: str) -> str:
    """Return a URL with user and password masked, and the secrets in its path, query and fragment, by the
    names of parameters or by shape, percent-encoded or not."""
    begin = re.search(r"[?#]", url)
    place = begin.start() if begin else len(url)
    path = _USERINFO.sub(lambda found: f"{found[1] or ''}//{MASK}@", url[:place])
    rest = url[place:]
    if "=" in path or may_hold_secret(unquote(path)):
        path = _PATH_PART.sub(_masked_part, path)
    if rest:
        rest = _PAIR.sub(_masked_pair, rest)
    # By shape only: a name before a value would mask all that follows.
    masked = path + rest
    return (
        _with_mask(masked, list(find_shapes(masked)), MASK) if _linear(_SHAPED).found_in(masked) else masked
    )


def _masked_part(found: re.Match[str]) -> str:
    """Mask a part of a path: a segment, or a parameter after a semicolon."""
    name, _, value = found[0].partition("=")
    if value and is_query_secret(unquote(name)):
        return f"{name}={MASK}"
    return MASK if "%" in found[0] and _hides(unquote(found[0])) else found[0]


def _masked_pair(found: re.Match[str]) -> str:
    name, value = found[1], found[2]
    if value and is_query_secret(unquote_plus(name)):
        return f"{name}={MASK}"
    inner = unquote_plus(value)
    # The value may be a URL that has secrets of its own.
    is_secret = _hides(inner) or ("://" in inner and mask_url(inner) != inner)
    return f"{name}={MASK}" if is_secret else found[0]


def _hides(text: str) -> bool:
    return hide_secrets(text) != text


def mask_rule(rule: Mapping[str, object]) -> dict[str, object]:
    """Return a rule, as a document holds it, with the secrets masked: in the header values and the path that
    it matches, and in the texts of its settings, such as the body of an answer."""
    masked = dict(rule)
    if isinstance(settings := rule.get("with"), Mapping):
        masked["with"] = {
            name: hide_secrets(value, MASK) if isinstance(value, str) else value
            for name, value in settings.items()
        }
    if isinstance(match := rule.get("match"), Mapping):
        masked["match"] = matched = dict(match)
        if isinstance(headers := match.get("headers"), Mapping):
            matched["headers"] = mask_headers(headers)
        if isinstance(path := match.get("path"), str):
            matched["path"] = mask_url(path)
    return masked
