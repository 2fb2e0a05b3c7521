"""Finds secrets and databases that a constant stands in for when their setting is missing.

It is shown for keys and secrets that sign or encrypt. The password of a database or a mail server is checked
by that server, so that a default is mostly one for developers: it is counted only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.telling_types import is_about_secrets, is_secret_name
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_TEXT = r"[\"'`]([^\"'`\n$]{0,80})[\"'`]"
_SETS = (
    r"(?:set|put|stub|mock|with|override|replace|patch|write|save|update|export|add|define|unset|delete|bind|must"
    r"|register|alias|require)"
)
_LOOKUPS = (
    # getenv("NAME", "default"), config("NAME", default="default"), getEnv("NAME", "default"),
    # getOrDefault("NAME", "default"); not setenv("NAME", "value")
    lazy_regex(
        rf"(?<!\w)(?!(?i:{_SETS})(?:_|[A-Z]|env|config))"
        rf"(?:environ\.get|\w*config|getOrDefault|\w*[eE]nv\w*|\w*config\w*\.get(?:String)?|GetValue<string>)\(\s*"
        rf"[\"'`]([\w.:-]{{3,60}})[\"'`]\s*,\s*(?:default\s*=\s*)?{_TEXT}\s*\)"
    ),
    # process.env.NAME || 'default'
    lazy_regex(rf"process\.env(?:\.|\[[\"'])(\w{{3,60}})(?:[\"']\])?\s*(?:\|\||\?\?)\s*{_TEXT}"),
    # getenv("NAME") or "default", GetEnvironmentVariable("NAME") ?? "default", getenv("NAME") ?: "default"
    lazy_regex(
        rf"(?:getenv|environ\.get|GetEnvironmentVariable|[cC]onfig\w*\.get|[cC]onfiguration|[cC]onfig)[(\[]\s*"
        rf"[\"']([\w.:-]{{3,60}})[\"']\s*[)\]]\s*(?:or|\?\?|\?:|\|\|)\s*{_TEXT}"
    ),
    # Optional.ofNullable(System.getenv("NAME")).orElse("default"), env::var("NAME").unwrap_or("default")
    lazy_regex(
        rf"(?:getenv|env::var|var)\(\s*[\"'](\w{{3,60}})[\"']\s*\)\)?\s*"
        rf"\.(?:orElse|unwrap_or|unwrap_or_else)\(\s*(?:\|\w*\|\s*)?"
        rf"(?:String::from\(\s*)?{_TEXT}"
    ),
    # @Value("${name:default}")
    lazy_regex(r"@Value\(\s*\"\\?\$\{([\w.-]{3,60}):()?([^}\"\n]{1,80})\}\"\s*\)"),
)
_GIVEN = TextPattern(r"[(\[]\s*[\"'`][\w.:-]{3,60}[\"'`]\s*[,)\]]")
"""What stands in all of these but two, which begin with a word; it is found faster than their beginnings."""
_READS = ("nv", "onfig", "Default", "GetValue", "var")
"""Of which one stands before it."""
_WHOLE = 400
"""Characters of a look-up, at most."""
_NO_SECRET = lazy_regex(
    r"^$|^(?:none|null|undefined|false|true|\d+|x+|\*+)$|^/|\.(?:pem|key|json|crt|txt|yml)$"
    r"|^(?:omit|include|same-origin|required|optional|basic|bearer|header|env|file|vault|auto|disabled|enabled)$"
    r"|^(?-i:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)$",
    re.IGNORECASE,
)
"""Values that are empty, a path, a mode (`credentials: 'omit'`), or the name of another setting."""
_DATABASE = lazy_regex(
    r"(?:^|_)(?:DATABASE|DB|MONGO\w*|POSTGRES\w*|SQLALCHEMY\w*)_?(?:URL|URI|DSN)$|^datasource\.url$",
    re.IGNORECASE,
)
_MEMORY = lazy_regex(r"sqlite|:memory:|h2:mem|hsqldb:mem", re.IGNORECASE)
_MEMORIES = (b"sqlite", b":memory:", b"h2:mem", b"hsqldb:mem")
_GUARDED = lazy_regex(r"\btest|\bdev(?:elopment)?\b|\blocal\b|example|demo", re.IGNORECASE)


def _check(facts: Facts) -> Iterator[Hit]:
    text = facts.whole_text
    if not is_about_secrets(facts) and not facts.syntax.has_any(*_MEMORIES):
        return
    seen = set[int]()
    given = list(_GIVEN.finditer(text))
    for pattern in _LOOKUPS:
        for found in _found(pattern, text, given):
            name, default = found[1], found[found.lastindex or 1]
            span = facts.syntax.place_of(found)
            start = span.start
            line = facts.syntax.line_text(facts.syntax.line(start))
            if start in seen or line.lstrip().startswith(("#", "//", "*")):
                continue
            if _DATABASE.search(name) and _MEMORY.search(default):
                seen.add(start)
                yield Hit(span, f"without {name}, the data goes to {default}, and nothing says so", LIKELY)
            elif (
                is_secret_name(name, facts)
                and not _NO_SECRET.search(default)
                and not _GUARDED.search(name)
                and not _is_refused(default, text)
            ):
                seen.add(start)
                sure = POSSIBLE if _PASSWORD.search(name) else LIKELY
                yield Hit(span, f"without {name}, the secret is a constant of the code", sure)


_PASSWORD = lazy_regex(r"pass(?:word|wd|phrase)?$|pwd$", re.IGNORECASE)


def _is_refused(default: str, text: str) -> bool:
    """Return whether the code compares a value with the constant: it may refuse to start with it."""
    return (
        re.search(rf"(?:[=!]=|\bin\b\s*[(\[{{]|equals\()[^\n]{{0,40}}[\"'`]{re.escape(default)}[\"'`]", text)
        is not None
    )


def _found(pattern: re.Pattern[str], text: str, names: list[re.Match[str]]) -> Iterator[re.Match[str]]:
    """Yield what an expression matches, looking only at lines that have a name in parentheses."""
    if pattern.pattern.startswith(("process", "@")):
        yield from pattern.finditer(text)
        return
    done = 0
    for given in names:
        start = max(done, text.rfind("\n", 0, given.start()) + 1)
        before = text[start : given.start()]
        if not any(word in before for word in _READS):
            continue
        for found in pattern.finditer(text, start, given.end() + _WHOLE):
            if found.start() > given.start():
                break
            yield found
            done = found.end()


RULE = Rule(
    id="FK-R164",
    slug="default-for-secret",
    title="Constant in place of a missing secret",
    why="A deployment that lacks the setting starts all the same, and signs, encrypts or stores with a value "
    "that all readers of the code know.",
    fix="Read the setting without a default, and end the start if it is missing.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
    by_default=False,
    words=(b"env", b"Env", b"onfig", b"@Value"),
)
