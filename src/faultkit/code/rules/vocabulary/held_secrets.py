"""Objects, forms, headers and answers that hold a secret among other parts, by what the code does with them.

A value of these that is written out whole shows the secret, whatever the name of the variable is.
"""

from __future__ import annotations

import re
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Place, Scope, is_within
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.personal_data import may_name_personal_data, personal_part
from faultkit.code.rules.vocabulary.telling_types import (
    is_about_secrets,
    is_other_item,
    is_secret_name,
    may_name_secret,
    telling_types,
    type_of,
)
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_DOTTED = frozenset({"javascript", "typescript", "tsx", "go", "rust"})
"""Languages in which an object that is logged shows its fields."""
_WRITTEN_OUT = frozenset({"typescript", "tsx"})
"""Languages in which a parameter may have a type without a name."""
_PARSED = TextPattern(
    r"(?:json\.loads?|JSON\.parse|JSON\.stringify|json\.dumps|Unmarshal|Marshal|readValue|readTree"
    r"|writeValueAsString|decodeFromString|encodeToString|Deserialize|Serialize|SerializeObject"
    r"|DeserializeObject|from_str|from_slice|to_string|fromJson|toJson|parse_qs|urlencode|JsonDocument\.Parse"
    r"|JObject\.Parse)\b"
)
_HIDDEN = lazy_regex(r"redact|mask|sanit|scrub|obfusc|omit|strip|without|filter|safe", re.IGNORECASE)
_KEYS = lazy_regex(r"[\"'`]([\w-]{3,40})[\"'`]\s*(?:\]\s*=|[:,]|to\b|=>)|[{,]\s*(\w{3,40})\s*:")
_TELLING = (
    r"(?:User)?(?:Log[io]n|Sign[Ii]n|Sign[Uu]p|Register|Registration|ChangePassword|ResetPassword|PasswordChange"
    r"|PasswordReset)(?:User)?(?:Request|Dto|DTO|Form|Command|Body|Payload|Input|Params|Model)"
    r"|(?:OAuth2?|Access)?Token(?:Response|Answer|Pair|Set|Result|Reply)"
    r"|(?:Credit|Payment|Debit|Bank)?Card(?:Details|Data|Info|Input|Payload)|(?:Credit|Debit)Card|BankAccountDetails"
)
_TELLING_NAME = lazy_regex(rf"^(?:{_TELLING}|\w*Credentials)$")
_SOME_TELLING_NAME = TextPattern(rf"{_TELLING}|Credentials")
_ERROR = lazy_regex(r"e|ex|err|error|exc|ok|\w+Err|\w+Error")
_SECRET_PARTS = lazy_regex(
    r"\b(?:access_token|refresh_token|client_secret|id_token|accessToken|refreshToken|clientSecret|AccessToken"
    r"|RefreshToken)\b"
)
_REQUEST_NAME = r"(?:\w*[rR]equest|\w*_req|\w*Req|req|config|cfg|init|options|opts)"
WHOLE_HEADERS = lazy_regex(
    rf"(?:^|\.){_REQUEST_NAME}\.(?:headers|Headers|Header|rawHeaders|META)$|(?:^|\.)DefaultRequestHeaders$"
)
"""All headers of a request. `config` is that of an interceptor."""
HEADERS_CALL = lazy_regex(rf"(?:^|\.){_REQUEST_NAME}(?:\(\))?\.(?:headers|getHeaders|headers_mut)$")
_ALL_HEADERS = lazy_regex(
    r"getHeaderNames|(?:[rR]equest|req|r)\.(?:headers|Headers|Header)\b(?!\s*[\[.(])|\.headers\(\)\.iter"
)


def held_secret(name: str, place: Placed, facts: Facts) -> str:
    """Return a secret that a variable or field holds among other parts; empty if none is known."""
    scope = facts.named_function_of(place) if _may_be_held(name, facts) else None
    if scope is None or _ERROR.fullmatch(name) or is_other_item(name, place, facts):
        return ""
    return _held(name, scope, facts) or _held_by_parsed(name, scope, place, facts)


def _may_be_held(name: str, facts: Facts) -> bool:
    """Return whether a text has a word of secrets, or may hold one without: in headers, or in a type that is
    written out beside a parameter."""
    return (
        is_about_secrets(facts)
        or may_name_personal_data(facts)
        or facts.language in _WRITTEN_OUT
        or name.lower().endswith("headers")
        or b"DumpRequest" in facts.syntax.source
    )


def _held_by_parsed(name: str, scope: Scope, place: Placed, facts: Facts) -> str:
    """Return the secret in what is parsed from a text, or of what it is the text.

    A text that code logs before it leaves was refused or could not be parsed: it may hold nothing."""
    text = facts.text(scope.body)
    part = next(
        filter(None, (_shown_part(each, scope, facts) for each in _aliases(name, text, scope, facts))), ""
    )
    return "" if part and _is_left(place, facts) else part


def _is_left(place: Placed, facts: Facts) -> bool:
    """Return whether a place is in a branch that leaves its function."""
    scope = facts.function_of(place)
    return scope is not None and any(
        arm.leaves and is_within(place.span, arm.span) and facts.function_of(arm) is scope
        for arm in facts.within(facts.arms, scope.body)
    )


def _shown_part(name: str, scope: Scope, facts: Facts) -> str:
    """Return the secret part of a variable by its type, or by what its function reads from it."""
    types = telling_types(facts)
    place = Place(Span(scope.body.end - 1, scope.body.end))
    kind = type_of(name, place, facts) if types else ""
    return types.get(kind, "") or _part_of(name, facts.text(scope.body), facts)


@lru_cache(maxsize=256)
def _held(name: str, scope: Scope, facts: Facts) -> str:
    made = [each for each in facts.assignments_of(name) if each.scope is scope and name in each.targets]
    if any(each.value is not None and _HIDDEN.search(each.value.text) for each in made):
        return ""
    text = facts.text(scope.body)
    if part := _shown_part(name, scope, facts) or _written_out(name, scope, facts):
        return part
    for each in made:
        if each.call is not None and each.call.name.startswith("net/http/httputil.DumpRequest"):
            return "" if _has_other_headers(each.call, text) else "headers"
        if each.value is not None and (part := _literal_part(each.value.text, facts)):
            return part
    return _header_part(name, text)


def _has_other_headers(dump: Call, text: str) -> bool:
    """Return whether the request that is dumped was given headers for that, or lost some (Go)."""
    name = dump.positional[0].value.text if dump.positional else ""
    return any(f"{name}.Header{sign}" in text for sign in (" = ", ".Del("))


def _written_out(name: str, scope: Scope, facts: Facts) -> str:
    """Return the secret in the type of a parameter that is written out beside it (TypeScript)."""
    if facts.language not in _WRITTEN_OUT or not any(each.name == name for each in scope.parameters):
        return ""
    found = re.search(rf"\b{re.escape(name)}\??\s*:\s*\{{([^{{}}]*)\}}", facts.text(scope.head))
    parts = [] if found is None else re.findall(r"(\w+)\??\s*:", found[1])
    return next((each for each in parts if is_secret_name(each, facts)), "") or personal_part(name, parts)


def _aliases(name: str, text: str, scope: Scope, facts: Facts) -> list[str]:
    """Return variables that are parsed from this one, or of which it is the text."""
    if not _PARSED.is_in(text):
        return []
    found = list[str]()
    for each in facts.assignments:
        if each.scope is not scope or each.value is None or _PARSED.search(each.value.text) is None:
            continue
        value = each.value.text
        if name in each.targets:
            found += re.findall(r"[(&,]\s*&?(\w+)\s*[,)]", value)
        elif re.search(rf"[(,&]\s*&?{re.escape(name)}\b", value):
            found += each.targets
    # Go: `json.Unmarshal(body, &answer)`
    found += re.findall(rf"Unmarshal\(\s*{re.escape(name)}\s*,\s*&(\w+)", text)
    return [each for each in found if each != name and each.isidentifier() and not _ERROR.fullmatch(each)]


def _part_of(name: str, text: str, facts: Facts) -> str:
    """Return the secret that a function reads from a variable: `form["password"]`, `body.password`."""
    # To compile expressions for every variable that is logged takes long.
    if not any(f"{name}{sign}" in text for sign in ".[!?") or not may_name_secret(text):
        return ""
    known = re.escape(name)
    keyed = (
        rf"\b{known}(?:\.json\(\)|\.data|\.RootElement)?!{{0,2}}\??(?:\.\w*(?:[gG]et|put|set|add|Add|[gG]etProperty)"
        r"(?:String|Value|AsString)?\(|\[)\s*[\"'`]([\w-]+)[\"'`]"
    )
    found = re.findall(keyed, text)
    if facts.language in _DOTTED:
        found += re.findall(rf"(?<![\w.!]){known}\??\.(\w+)\b(?!\s*\()", text)
    elif facts.language == "java":
        # The accessors of a record are named like its parts.
        found += re.findall(rf"(?<![\w.]){known}\.(?!get[A-Z])(\w+)\(\)", text)
    return next((each for each in found if each != "token" and is_secret_name(each, facts)), "")


def _literal_part(text: str, facts: Facts) -> str:
    """Return the secret key of an object, map or form that is written out: `{"client_secret": secret}`."""
    if not re.match(
        r"[{\[]|new\b|\w*[mM]ap(?:Of)?\b|Map\.of|dict\(|url\.Values|URLSearchParams|vec!|&?\[", text
    ):
        return ""
    keys = [one or other for one, other in _KEYS.findall(text)]
    return next((each for each in keys if each != "token" and is_secret_name(each, facts)), "")


def _header_part(name: str, text: str) -> str:
    """Return what a variable holds that was filled with all headers of a request."""
    if not name.lower().endswith("headers"):
        return ""
    filled = re.findall(rf"\b{re.escape(name)}(?:\.\w+\(|\s*:?=|\s*\[)([^;\n]*)", text)
    for each in filled:
        if _ALL_HEADERS.search(each) and not re.search(r"\bif\b|filter|redact", each):
            return "authorization"
    fills = any(f"{name}.{method}(" in text for method in ("put", "add", "set"))
    return "authorization" if fills and lists_headers(text) else ""


def lists_headers(text: str) -> bool:
    """Return whether code reads all headers of a request, and leaves none out (Java)."""
    return "getHeaderNames" in text and _PICKS.search(text) is None


_PICKS = lazy_regex(r"equals|contains|mask|filter|redact", re.IGNORECASE)


def telling_name(name: str, place: Placed, facts: Facts) -> str:
    """Return the type of a variable if its name says that it holds a secret: `LoginRequest`."""
    kind = type_of(name, place, facts) if _has_telling_name(facts) else ""
    return kind if is_telling_name(kind) else ""


@lru_cache(maxsize=4)
def _has_telling_name(facts: Facts) -> bool:
    return _SOME_TELLING_NAME.is_in(facts.whole_text)


def is_telling_name(kind: str) -> bool:
    """Return whether the name of a type says that its values hold a secret."""
    return _TELLING_NAME.match(kind) is not None


def shows_parts(text: str) -> bool:
    """Return whether an expression that lists the parts of an object leaves none of them out."""
    return _HIDDEN.search(text) is None


def is_secret_answer(place: Placed, facts: Facts) -> bool:
    """Return whether the raw answer of a call that is used here holds a token, since the function reads it.

    The answer of a call that failed holds none: code that leaves with the failure is left alone."""
    scope = facts.named_function_of(place)
    if scope is None:
        return False
    # What is read before the answer was there is a part of another one.
    root = re.match(r"\w*", facts.text(place.span))
    made = [
        each.span.start
        for each in facts.within(facts.assignments, scope.body)
        if root is not None and root[0] in each.targets and each.span.start < place.span.start
    ]
    text = facts.text(Span(max(made, default=scope.body.start), scope.body.end))
    if not any(_reads(text, each.start(), each.end()) for each in _SECRET_PARTS.finditer(text)):
        return False
    return not _is_left(place, facts)


def _reads(text: str, start: int, end: int) -> bool:
    """Return whether a name of a secret is read there, rather than sent: `answer["access_token"]`."""
    before, after = text[max(0, start - 24) : start], text[end : end + 6]
    if re.search(r"[.>?]$", before) and not re.match(r"\s*(?:[:,}]|=[^=])", after):
        return True
    return re.search(r"(?:\[|[gG]et\w*\(|path\(|at\()\s*[\"']$", before) is not None and not re.match(
        r"[\"']\]\s*=[^=]", after
    )
