"""Finds passwords and keys in the source."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Facts
from faultkit.code.rules.rule import (
    CERTAIN,
    CSHARP,
    GO,
    JAVA,
    JAVASCRIPT,
    KOTLIN,
    POSSIBLE,
    PYTHON,
    RUST,
    Hit,
    Rule,
)

_NAMED = re.compile(
    r"(password|passwd|secret|api_?key|access_?key|private_?key|auth_?token|client_?secret)$", re.IGNORECASE
)
_KNOWN = re.compile(
    r"^(AKIA[0-9A-Z]{16}|sk_live_\w{16,}|ghp_\w{30,}|xox[abp]-[\w-]{20,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----(\s|\\n)*[\w+/=:, \n-]{40})"
)
_IN_ADDRESS = re.compile(r"^[a-z][\w+.-]*://[^\s:/@]+:([^\s/@]{8,})@", re.IGNORECASE)
_EXAMPLE = re.compile(
    r"example|sample|changeme|change_me|placeholder|dummy|test|fake|demo|your|xxx|<|\$\{|\{\{|todo|secret$|^password$|none",
    re.IGNORECASE,
)


_USUAL = re.compile(r"^(postgres|password\w*|root|admin|guest|mysql|mongo|redis|%|\{|\$)", re.IGNORECASE)


_PATH = re.compile(
    r"[A-Za-z]+([._/:-][A-Za-z]+)+|([A-Z][a-z]+)+|\W*|[A-Z]+(_[A-Z]+)*|[a-z]+([A-Z][a-z]+)*|[./~%$].*|.*[{}<>%].*"
)
"""The name of a setting, a field, a path or a variable: `proxy.password`, `DB_PASSWORD`, `apiKey`."""
_NAMES_A_KEY = re.compile(r"property_?name|^(PROPERTY|PROP|ENV|KEY|FIELD|PARAM|HEADER)_", re.IGNORECASE)
"""Names of constants that hold the name of a setting."""
_PUBLIC = re.compile(r"safe|public|not (?:a )?secret|no secret", re.IGNORECASE)


def _check(facts: Facts) -> Iterator[Hit]:
    for text in facts.texts:
        if _KNOWN.match(text.text):
            yield Hit(text.span, "this looks like a real key", CERTAIN, "high")
        inside = _IN_ADDRESS.match(text.text)
        if inside and not _EXAMPLE.search(inside[1]) and not _USUAL.match(inside[1]):
            yield Hit(text.span, "this address has a password in it", POSSIBLE)
    for each in facts.assignments:
        name = each.targets[0].rpartition(".")[2] if len(each.targets) == 1 else ""
        if each.value is None or each.value.shape != "text" or not _NAMED.search(name):
            continue
        value = each.value.literal
        if _NAMES_A_KEY.search(name) or _PATH.fullmatch(value) or _PUBLIC.search(facts.comment_at(each)):
            continue
        if len(value) >= 8 and " " not in value and not _EXAMPLE.search(value) and not _KNOWN.match(value):
            yield Hit(each.value.span, f"{name} is written in the source", POSSIBLE)


RULE = Rule(
    id="FK-R038",
    slug="secret-in-code",
    title="Secret in the source",
    why="It cannot be changed without a release, and all readers of the code have it.",
    fix="Read it from the environment or a secret store at the start.",
    kind="reliability",
    severity="low",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA, *RUST, *CSHARP, *KOTLIN),
    check=_check,
)
