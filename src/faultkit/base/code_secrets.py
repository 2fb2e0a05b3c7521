"""Where secrets stand in source code of any language. Pure.

`base/secret_names.py` knows the names of secrets, `base/secrets.py` their shapes. This module knows where the
value of a name stands in a statement. It finds too much rather than too little: what it finds is taken out of
a text before that is sent, and put back into the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.quoted_values import FALLBACK, OpenQuotes, quoted_values
from faultkit.base.secret_names import is_secret_in_code, last_word
from faultkit.base.secrets import LONGEST_NAME, NAME, QUOTED, SAID, SecretSpan, find_shapes

_DIRECT = re.compile(
    rf"{NAME}"
    # In a file of variables, a connection string or a query.
    r"(?==(?P<raw>[^\s&;\"'`{}$<>()\[\],]{4,500}+)"
    # Assigned, compared or given as a default. A type may stand between: `password: str = "…"`.
    r"|[\"'`]?\s?\]?\s{0,4}+(?::\s{0,4}[\w.\[\] |?]{1,40}?\s{0,4}=|:=|=>|[!=]?==?|:|(?<=[\"'`]),)"
    # The value may be on the next line: indented, and behind a bracket or a backslash.
    r"(?:[ \t]{0,4}+[(\\]?[ \t]{0,4}+\r?\n[ \t]{0,80}+|\s{0,4}+)"
    rf"(?:[rbuRBU]{{1,2}}(?=[\"']))?{QUOTED})"
)
"""A name and, right behind it, its value."""
_LOGIN = re.compile(
    # `auth = ("user", "password")`, `login("user", "password")`, `HTTPBasicAuth("user", "password")`
    r"(?i:auth|log_?in|sign_?in|authenticate|credentials|creds)[\"']?\s{0,4}+[=:]?\s{0,4}+[(\[]\s{0,20}+"
    r"(?:\"[^\"\n]{1,100}+\"|'[^'\n]{1,100}+'|[\w.]{1,60}+)\s{0,20}+,\s{0,20}+[rbu]?"
    r"(?:\"(?P<double>[^\"\n]{3,}+)\"|'(?P<single>[^'\n]{3,}+)')"
)
_BLANKS = r"[ \t]{0,80}+"
_ASSIGNS = r"=(?![=>])"
_TYPE = r"(?:[\w.:&'?|* ]|<(?:[^<>\n]|<[^<>\n]{0,60}+>){0,60}+>|\[[^\[\]\n]{0,60}+\])"
_HEAD = re.compile(
    rf"{NAME}(?=(?P<head>"
    # `password: &'static str =`
    rf"[?!]?:\s{{0,4}}{_TYPE}{{1,80}}?{_ASSIGNS}"
    # `password string =`
    rf"|[ \t]{{1,80}}+[\w.*\[\]]{{1,60}}+{_BLANKS}{_ASSIGNS}"
    # `ApiKey { get; set; } =`
    rf"|\s{{0,80}}+\{{[^{{}}\n\"'`=]{{1,80}}+\}}\s{{0,4}}+{_ASSIGNS}"
    # `setPassword(`, `password::<T>(`
    r"|(?P<call>(?:(?:::)?<[^<>\n]{0,60}+>)?+!?\()"
    # `getenv("PASSWORD", `
    rf"|\\{{0,3}}[\"'`]{_BLANKS},(?:\s{{0,40}}+(?i:default\w{{0,20}}+|fallback|value)\s?{_ASSIGNS}"
    rf"|(?!\s{{0,40}}+\w{{1,60}}+\s?{_ASSIGNS}))"
    # `getenv("PASSWORD") or `, `env::var("PASSWORD").unwrap_or(`
    rf"|[\"'`][ \t]?[\])]{{1,3}}+\s{{0,40}}+(?:or\b|\|\||\?\?|\?:|(?P<chained>\.{FALLBACK}\())"
    # `password =`, `"password":`, `os.environ["PASSWORD"] =`, `process.env.PASSWORD ||`
    rf"|\\{{0,3}}[\"'`]?\s?\]?{_BLANKS}"
    r"(?::=|=>|[?|&+]{1,2}=|[!=]==?|=|[?!]?:(?!:)|\|\||\?\?|(?:not )?in\b|or\b)))"
)
"""A name and what stands between it and its value."""
_ONE_OF_SEVERAL = r"[A-Za-z_][\w.:?&* ]{0,60}+"
_SEVERAL = re.compile(
    r"(?m:^|;|\b(?:let|var|val|const|mut|for)\b)[ \t]{0,80}+[\[({]?[ \t]?"
    rf"(?P<names>{_ONE_OF_SEVERAL}(?:,[ \t]{{0,8}}+{_ONE_OF_SEVERAL}){{1,8}}+)"
    rf"[\])}}]?[ \t]{{0,80}}+(?:{_ASSIGNS}|(?<=[ )]in )|(?<=[ )]of )|in\b|of\b)"
)
"""`user, password = `, `[user, pass] = `."""
_FILLED_IN = re.compile(r"\$\{(?P<name>[A-Za-z_][\w.\-]{0,80}+):[\-=]?(?P<value>[^\s{}\"'`]{3,200}+)\}")
"""A setting with a default in a text: `${db.password:…}`, `${PASSWORD:-…}`."""
_KEYWORD_BEHIND = re.compile(r" (?:in|of) ?\Z")
_DECLARED = re.compile(r"\b(?:def|class|func|function|fun|fn|interface|struct)[ \t]{1,8}\Z")
_NO_SETTER = re.compile(
    r"(?i:tokeni[sz]\w*|\w*(?:error|exception|warning|failed|failure|invalid|expired|session|signature))"
)
"""Names of calls whose arguments are no secrets, though a part of the name means one."""
_LOGIN_WORDS = ("auth", "authentication", "oauth")
"""Last words of names whose value may be a user and a password."""
_INSIDE_TEXT = re.compile(r"[?&;\"'][\w.\-]*\Z|=[^\s,()]+ [\w.\-]*\Z")
_LINE_OF_ITS_OWN = re.compile(r"(?:^|\n)[ \t]*(?:export )?[\w.\-]*\Z")


def find_code_secrets(text: str) -> Iterator[SecretSpan]:
    """Yield the places of secrets in source code. They may overlap, and reach over lines."""
    yield from find_shapes(text)
    for found in _DIRECT.finditer(text):
        group = found.lastgroup or ""
        if is_secret_in_code(found["name"]) and (group != "raw" or _is_raw_secret(text, found)):
            yield (*found.span(group), "PASSWORD")
    for pattern in (_LOGIN, SAID):
        for found in pattern.finditer(text):
            yield (*found.span(found.lastgroup or 0), "PASSWORD")
    for found in _FILLED_IN.finditer(text):
        if is_secret_in_code(found["name"]):
            yield (*found.span("value"), "PASSWORD")
    for start, end in (*_values_of_names(text), *_values_of_lists(text)):
        yield start, end, "PASSWORD"


def _values_of_names(text: str) -> Iterator[tuple[int, int]]:
    """Yield the quoted values behind telling names, in the same statement."""
    seen = 0
    quotes = OpenQuotes(text)
    for found in _HEAD.finditer(text):
        # What was searched for one name is not searched again for a name inside: that keeps the time linear.
        if found.end("head") <= seen or not _is_telling(text, found):
            continue
        spans, seen = quoted_values(
            text,
            found.end("head"),
            inside=quotes.around(*found.span("name")),
            is_call=found["call"] is not None or found["chained"] is not None,
            is_login=last_word(found["name"]) in _LOGIN_WORDS,
        )
        yield from spans


def _values_of_lists(text: str) -> Iterator[tuple[int, int]]:
    """Yield the quoted values of assignments to several names, of which one is telling."""
    seen = 0
    quotes = OpenQuotes(text)
    for found in _SEVERAL.finditer(text):
        if found.end() > seen and _has_secret(found["names"]):
            inside = quotes.around(*found.span("names"))
            spans, seen = quoted_values(text, found.end(), inside=inside, is_list=True)
            yield from spans


def _has_secret(names: str) -> bool:
    """Return whether one of several names, with types or a keyword behind them, means a secret."""
    return any(is_secret_in_code(_KEYWORD_BEHIND.sub("", name).rstrip(" :")) for name in names.split(","))


def _is_telling(text: str, found: re.Match[str]) -> bool:
    """Return whether the value behind a name is a secret."""
    name = found["name"]
    if found["call"] is None:
        return is_secret_in_code(name)
    owner, _, called = name.rpartition(".")
    if re.fullmatch(FALLBACK, called):
        return is_secret_in_code(owner)
    if not is_secret_in_code(called) or _NO_SETTER.fullmatch(called):
        return False
    return _DECLARED.search(text, max(0, found.start() - LONGEST_NAME), found.start()) is None


def _is_raw_secret(text: str, found: re.Match[str]) -> bool:
    """Return whether the value of an unquoted `name=value` is a secret: in `f(token=token)` it is a name."""
    before = text[max(0, found.start() - LONGEST_NAME) : found.start()]
    value, end = found["raw"], found.end("raw")
    if _INSIDE_TEXT.search(before) or text[end : end + 1] in ('"', "'"):
        return True
    ends_line = end == len(text) or text[end] in "\r\n"
    return bool(ends_line and _LINE_OF_ITS_OWN.search(before) and re.search(r"\d", value) and len(value) >= 8)
