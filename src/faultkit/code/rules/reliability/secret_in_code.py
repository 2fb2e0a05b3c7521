"""Finds passwords and keys in the source."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Facts
from faultkit.code.facts.fact_values import Value
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CERTAIN, EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_NAMED = NamePattern(
    r"(password|passwd|secret|api_?key|access_?key|private_?key|auth_?token|client_?secret)$", re.IGNORECASE
)
_KNOWN = lazy_regex(
    r"^(AKIA[0-9A-Z]{16}|sk_live_\w{16,}|ghp_\w{30,}|xox[abp]-[\w-]{20,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----(\s|\\n)*[\w+/=:, \n-]{40})"
)
_IN_ADDRESS = lazy_regex(r"^[a-z][\w+.-]*://[^\s:/@]+:([^\s/@]{8,})@", re.IGNORECASE)
_KEYS = (b"akia", b"sk_live_", b"ghp_", b"xoxa", b"xoxb", b"xoxp", b"private key-----")
_ADDRESSES = lazy_regex(rb"://[^\s:/@]+:[^\s/@]{8,}@")
_NAME_WORDS = (
    b"password", b"passwd", b"secret", b"apikey", b"api_key", b"accesskey", b"access_key", b"privatekey",
    b"private_key", b"authtoken", b"auth_token",
)  # fmt: skip
"""What stands in each text that the expressions above match; it is found faster."""
_EXAMPLE = lazy_regex(
    r"example|sample|changeme|change_me|placeholder|dummy|test|fake|demo|your|xxx|<|\$\{|\{\{|todo|secret$|^password$|none",
    re.IGNORECASE,
)


_USUAL = lazy_regex(r"^(postgres|password\w*|root|admin|guest|mysql|mongo|redis|%|\{|\$)", re.IGNORECASE)


_PATH = lazy_regex(
    r"[A-Za-z]+([._/:-][A-Za-z]+)+|([A-Z][a-z]+)+|\W*|[A-Z]+(_[A-Z]+)*|[a-z]+([A-Z][a-z]+)*|[./~%$].*|.*[{}<>%].*"
)
"""The name of a setting, a field, a path or a variable: `proxy.password`, `DB_PASSWORD`, `apiKey`."""
_NAMES_A_KEY = lazy_regex(r"property_?name|^(PROPERTY|PROP|ENV|KEY|FIELD|PARAM|HEADER)_", re.IGNORECASE)
"""Names of constants that hold the name of a setting."""
_SETTINGS = ("os.environ.get", "os.getenv", "environ.get", "getenv")
_READS_SETTING = lazy_regex(r"^(process\.env|import\.meta\.env|Deno\.env|os\.environ|os\.getenv)\b")
_PUBLIC = lazy_regex(r"safe|public|not (?:a )?secret|no secret", re.IGNORECASE)


_SLUG = lazy_regex(r"[a-z0-9]+(?:[-_.][a-z0-9]+){2,}")
_OF_SECRETS = lazy_regex(r"passw|secret|token|key|auth|credential")


def _is_slug(value: str) -> bool:
    """Return whether a text names a thing in words: `pm-270-form-for-password`, `password_hash_b64`."""
    return _SLUG.fullmatch(value) is not None and _OF_SECRETS.search(value) is not None


def _check(facts: Facts) -> Iterator[Hit]:
    source = facts.syntax.source
    has_keys = facts.syntax.has_any(*_KEYS) or _ADDRESSES.search(source) is not None
    for text in facts.texts if has_keys else ():
        if _KNOWN.match(text.text) and not _is_named_example(text.span, facts):
            yield Hit(text.span, "this looks like a real key", CERTAIN, "high")
        inside = _IN_ADDRESS.match(text.text)
        if inside and not _EXAMPLE.search(inside[1]) and not _USUAL.match(inside[1]):
            yield Hit(text.span, "this address has a password in it", POSSIBLE)
    for each in facts.assignments if facts.syntax.has_any(*_NAME_WORDS) else ():
        name = each.targets[0].rpartition(".")[2] if len(each.targets) == 1 else ""
        if each.value is None or not _NAMED.search(name):
            continue
        place, value = _literal(each, facts)
        if place is None:
            continue
        if _is_slug(value):
            continue
        if value.lower() == name.lower():
            continue  # The name of a setting.
        if _NAMES_A_KEY.search(name) or _PATH.fullmatch(value) or _PUBLIC.search(facts.comment_at(each)):
            continue
        if len(value) >= 8 and " " not in value and not _EXAMPLE.search(value) and not _KNOWN.match(value):
            what = f"{name} is written in the source"
            if place is not each.value:
                yield Hit(place.span, f"{what}: without a setting, this known value is in force", LIKELY)
            else:
                yield Hit(place.span, what, POSSIBLE)


def _is_named_example(span: Span, facts: Facts) -> bool:
    """Return whether the name that a text is assigned to says that it is no real key."""
    before = facts.syntax.source[max(0, span.start - 80) : span.start].rpartition(b"\n")[2]
    return re.search(rb"(?i)test|fake|dummy|example|sample|mock", before) is not None


def _literal(each: Assignment, facts: Facts) -> tuple[Value | None, str]:
    """Return the text that is assigned, or that stands in for a setting: `env.KEY ?? "…"`,
    `os.getenv("KEY", "…")`."""
    value = each.value
    if value is None or value.shape == "text":
        return value, "" if value is None else value.literal
    given = each.call
    if given is not None and given.name in _SETTINGS and given.span == value.span:
        default = given.argument("default", place=1)
        if default is not None and default.value.shape == "text":
            return default.value, default.value.literal
    for step in facts.within(facts.steps, value.span):
        if step.kind == "binary" and step.span == value.span and step.word in ("??", "||", "or"):
            left, right = step.sides
            if _READS_SETTING.search(left.text) and right.shape == "text":
                return right, right.literal
    return None, ""


RULE = Rule(
    id="FK-R038",
    slug="secret-in-code",
    title="Secret in the source",
    why="It cannot be changed without a release, and all readers of the code have it.",
    fix="Read it from the environment or a secret store at the start.",
    kind="reliability",
    severity="low",
    languages=EVERY_LANGUAGE,
    check=_check,
)
