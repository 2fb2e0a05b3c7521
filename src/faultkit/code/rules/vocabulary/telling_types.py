"""Names of secrets, and types of a text whose values show a secret when they are written out."""

from __future__ import annotations

import re
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Facts, Scope, is_within
from faultkit.code.facts.facts import Placed
from faultkit.code.rules.vocabulary.personal_data import (
    is_personal_name,
    may_name_personal_data,
    personal_part,
)
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

# Secrets, by the names of variables, fields, headers and settings.

_WORD = lazy_regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET_WORDS = frozenset(
    (
        "password",
        "passwd",
        "pwd",
        "passphrase",
        "secret",
        "apikey",
        "authorization",
        "credentials",
        "jwt",
        "cvv",
    )
)
_SECRET_PAIRS = frozenset(
    (
        "api key", "client secret", "secret key", "private key", "access token", "refresh token",
        "auth token", "bearer token", "session token", "id token", "api token", "secret access key",
        "signing key", "encryption key", "auth header", "authorization header", "reset token", "jwt token",
        "card number",
        "user token", "bot token", "service token", "connection string", "webhook secret", "card cvc",
    )
)  # fmt: skip
_SOME_WORDS = ("token", "secret", "passw", "pwd", "passphrase", "authorization", "credentials", "jwt", "cvv")
_SOME_BYTES = tuple(word.encode() for word in _SOME_WORDS)
_SOME_PAIR = TextPattern(
    r"(?:api|private|signing|encryption|access)[^a-z0-9]*key|auth[^a-z0-9]*header"
    r"|card[^a-z0-9]*(?:number|cvc)|connection[^a-z0-9]*string"
)
_BEFORE_KEY = ("api", "private", "signing", "encryption", "access")
_PAIRS = (("auth", "header"), ("card", "number"), ("card", "cvc"), ("connection", "string"))
_HARMLESS_BEFORE = frozenset(
    ("no", "has", "have", "is", "with", "without", "use", "need", "needs", "show", "hide", "hidden", "public",
     "missing", "invalid", "masked", "redacted", "hashed", "encrypted", "safe", "forgot", "change", "valid",
     "action", "path", "template", "permission", "event", "truncated", "msg", "fmt", "err", "scope", "should",
     "can", "must", "will", "was", "did", "return", "returns", "allow", "allows", "allowed", "enable",
     "enabled", "disable", "disabled", "require", "requires", "include", "includes", "supports", "skip",
     "fallback", "wants", "expired", "wrong", "incorrect", "bad", "weak", "unknown", "empty")
)  # fmt: skip
_VERBS = frozenset(
    (
        "delete",
        "create",
        "update",
        "read",
        "write",
        "add",
        "remove",
        "manage",
        "edit",
        "list",
        "view",
        "reset",
    )
)
_ABOUT_ACCESS = lazy_regex(
    rb"\bjwt\b|bearer|oauth|authoriz|access_?token|api_?token|auth_?token|authenticat|\blogin", re.IGNORECASE
)
ABOUT_SYNTAX = lazy_regex(
    rb"tokeniz|lexer|\bparser?\b|\btokens\[|cancellation|csrf|page_?token", re.IGNORECASE
)


def may_name_secret(text: str) -> bool:
    """Return whether a text has a word of secrets: only then can it have a name of one."""
    small = text.lower()
    if any(word in small for word in _SOME_WORDS):
        return True
    # The expression takes long, and most texts have neither word of a pair.
    may_be_pair = ("key" in small and any(word in small for word in _BEFORE_KEY)) or any(
        one in small and other in small for one, other in _PAIRS
    )
    return may_be_pair and _SOME_PAIR.search(small) is not None


@lru_cache(maxsize=4)
def is_about_secrets(facts: Facts) -> bool:
    """Return whether a whole text has a word of secrets."""
    syntax = facts.syntax
    if not syntax.source.isascii():
        return may_name_secret(facts.whole_text)
    if syntax.has_any(*_SOME_BYTES):
        return True
    may_be_pair = syntax.has_any(b"key", b"header", b"card", b"string")
    return may_be_pair and may_name_secret(facts.whole_text)


def is_secret_name(name: str, facts: Facts) -> bool:
    """Return whether a variable, field, header or setting of this name holds a secret itself."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or (len(words) > 1 and words[0] in _HARMLESS_BEFORE):
        return False
    if len(words) > 1 and (
        words[0] in _VERBS if name.isupper() else (words[0], words[-1]) == ("header", "authorization")
    ):
        return False  # The name of a permission, an action or a header.
    if (
        words[-1] in _SECRET_WORDS
        or " ".join(words[-2:]) in _SECRET_PAIRS
        or " ".join(words[-3:]) in _SECRET_PAIRS
    ):
        return True
    return words == ["token"] and is_about_access(facts)


@lru_cache(maxsize=4)
def is_about_access(facts: Facts) -> bool:
    """Return whether tokens in this text give access, rather than being parts of a language."""
    source = facts.syntax.source
    return _ABOUT_ACCESS.search(source) is not None and ABOUT_SYNTAX.search(source) is None


# Types whose text shows all their parts.

_WITH_LIST = TextPattern(
    r"\b(?:record|data\s+class)\s+(\w+)[^({;]*\(([^{};]*?)\)\s*(?=[{:;\n]|implements\b|$)"
)
"""Records (Java, C#), data classes (Kotlin)."""
_WITH_BODY = {
    "rust": lazy_regex(
        r"#\[derive\([^)]*\bDebug\b[^)]*\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?"
        r"(?:struct|enum)\s+(\w+)[^{;(]*\{((?:[^{}]|\{[^{}]*\})*)\}"
    ),
    "go": lazy_regex(r"\btype\s+(\w+)\s+struct\s*\{([^}]*)\}"),
    "python": lazy_regex(
        r"(?:@(?:dataclasses\.)?dataclass(?:\([^)]*\))?\s*\n\s*class\s+(\w+)[^\n]*:"
        r"|class\s+(\w+)\([\w., ]*Base(?:Model|Settings)\):)"
        r"((?:\n[ \t]+[^\n]*|\n)*)"
    ),
    "typescript": lazy_regex(r"\b(?:interface|class|type)\s+(\w+)[^{;(]*\{([^{}]*)\}"),
}  # fmt: skip
_PART = {
    "java": lazy_regex(r"(\w+)\s*(?:,|$)"),
    "csharp": lazy_regex(r"(\w+)\s*(?:,|$)"),
    "kotlin": lazy_regex(r"\bva[lr]\s+(\w+)\s*:"),
    "rust": lazy_regex(r"(?:^|[,{]|\n)\s*(?:pub(?:\([^)]*\))?\s+)?(\w+)\s*:\s*(?:String|Option<String>|&)"),
    "go": lazy_regex(r"(?:^|\n)\s*(\w+)\s+\*?string\b"),
    "python": lazy_regex(r"(?:^|\n)[ \t]+(\w+)\s*:\s*(?:str|Optional\[str\]|str \| None)\b"),
    "typescript": lazy_regex(
        r"(?:^|[\n;,])\s*(?:(?:public|private|readonly|@\w+\([^)]*\))\s+)*(\w+)[?!]?\s*:\s*string"
    ),
}  # fmt: skip
_OWN_TEXT = frozenset(
    ("toString", "ToString", "String", "GoString", "LogValue", "__repr__", "__str__", "fmt", "toJSON")
)


@lru_cache(maxsize=4)
def telling_types(facts: Facts) -> dict[str, str]:
    """Return types of this text whose text shows a secret, each with the name of that part."""
    language = "typescript" if facts.language == "tsx" else facts.language
    parts, pattern = _PART.get(language), _WITH_BODY.get(language, _WITH_LIST)
    may_be_personal = may_name_personal_data(facts)
    if parts is None or not (may_be_personal or is_about_secrets(facts)):
        return {}
    own_text = {scope.owner.rpartition(".")[2] for scope in facts.functions_named(*_OWN_TEXT)}
    found = dict[str, str]()
    bodies = {
        next(group for group in each.groups() if group): each[each.lastindex or 0]
        for each in pattern.finditer(_declarations(facts))
    }
    if facts.language == "java":
        bodies.update(_lombok_types(facts))
    if facts.language == "csharp":
        for each in _CSHARP_RECORD.finditer(facts.whole_text):
            bodies.setdefault(each[1], "\n".join(f"{part}," for part in _CSHARP_PROPERTY.findall(each[2])))
    shown = {
        name: body
        for name, body in bodies.items()
        if name not in own_text and f"Debug for {name}" not in facts.whole_text
    }
    found.update(_shown_by_own_text(facts))
    for name, body in shown.items():
        named = parts.findall(body)
        secret = next((part for part in named if is_secret_name(part, facts)), "")
        if secret or (may_be_personal and (secret := personal_part(name, named))):
            found[name] = secret
    inner = dict(found)
    for name, body in shown.items():
        # A part of such a type is written out with the whole: `smtp: SmtpConfig`.
        held = next((each for each in inner if re.search(rf"[:\s]{each}\b", body)), "")
        if held and name != held:
            found.setdefault(name, inner[held])
    if facts.language in ("kotlin", "java"):
        for name, parent in _SUBTYPE.findall(facts.whole_text):
            if name in found:
                found.setdefault(parent, found[name])
    return found


_HIDES_PART = lazy_regex(r"mask|redact|\*{2,}|hidden|obfusc|length|\blen\b|hash", re.IGNORECASE)


def _shown_by_own_text(facts: Facts) -> dict[str, str]:
    """Return types that write their own text, and put a secret into it, each with that part."""
    found = dict[str, str]()
    for scope in facts.functions_named("toString", "ToString", "String", "__repr__", "__str__", "fmt"):
        owner, text = scope.owner.rpartition(".")[2], facts.text(scope.body)
        if not owner or _HIDES_PART.search(text):
            continue
        names = re.findall(r"(?:\b(?:self|this|it)\.|[+{$(,]\s*)(\w+)\b(?!\s*\()", text)
        part = next((name for name in names if is_secret_name(name, facts) or is_personal_name(name)), "")
        if part:
            found[owner] = part
    return found


_SUBTYPE = TextPattern(
    r"\b(?:data\s+class|record)\s+(\w+)\s*\([^(){}]*\)\s*(?::|implements)\s*(\w+)(?!\s*\.)"
)
"""What is declared as the parent may hold such a value: of a sealed type."""
_STRINGS = lazy_regex(r"\"(?:[^\"\\\n]|\\.)*\"")
_ANNOTATIONS = lazy_regex(
    r"@(?!interface)[\w.:]+(?:\((?:[^()]|\([^()]*\))*\))?|\[\w+:\s*\w+(?:\([^()]*\))?\]"
)
_LOMBOK = lazy_regex(
    r"@(?:Data|Value|ToString)\b(?:\([^)]*\))?(?:\s*@\w+(?:\([^)]*\))?)*\s*(?:public\s+|final\s+|static\s+)*class\s+(\w+)"
    r"[^{]*\{((?:[^{}]|\{[^{}]*\})*)\}"
)
_LOMBOK_FIELD = lazy_regex(
    r"(@ToString\.Exclude\s+(?:@[\w.]+\s+)*)?(?:private|protected)\s+(?:final\s+)?\w+\s+(\w+)\s*[;=]"
)


def _declarations(facts: Facts) -> str:
    """Return the text without annotations and what they are given: `@Size(max = 4) String cvc`."""
    if facts.language not in ("java", "kotlin", "csharp"):
        return facts.whole_text
    return _ANNOTATIONS.sub("", _STRINGS.sub('""', facts.whole_text))


def _lombok_types(facts: Facts) -> dict[str, str]:
    """Return classes for which Lombok writes a text of all fields, with those fields."""
    return {
        each[1]: "\n".join(f"{name}," for excluded, name in _LOMBOK_FIELD.findall(each[2]) if not excluded)
        for each in _LOMBOK.finditer(facts.whole_text)
    }


_BOUND = lazy_regex(r"\w(?:::)?<(?:[\w.]+\.)?(\w+)\??>\(|\b(\w+)(?:::class(?:\.java)?|\.class)\b")
"""`section.Get<Settings>()`, `call.receive<Login>()`, `from_str::<Login>(…)`, `readValue(text, A.class)`."""
_LONGEST_VALUE = 400


def _bound_type(made: tuple[Assignment, ...], facts: Facts) -> str:
    """Return the type of this text that the value of a variable was read into, if that shows a secret."""
    known = {**telling_types(facts), **telling_classes(facts)}
    value = made[-1].value if known else None
    found = [] if value is None else _BOUND.findall(value.text[:_LONGEST_VALUE])
    last = next((one or other for one, other in reversed(found)), "")
    return last if last in known else ""


_CSHARP_RECORD = lazy_regex(r"\brecord\s+(?:class\s+|struct\s+)?(\w+)[^{;(]*\{((?:[^{}]|\{[^{}]*\})*)\}")
"""A record whose parts are properties; its text has them all."""
_CSHARP_CLASS = lazy_regex(r"\bclass\s+(\w+)[^{;]*\{((?:[^{}]|\{[^{}]*\})*)\}")
_CSHARP_PROPERTY = lazy_regex(r"\bstring\??\s+(\w+)\s*\{")


@lru_cache(maxsize=4)
def telling_classes(facts: Facts) -> dict[str, str]:
    """Return classes of C# with a secret among their properties, which `{@Name}` in a log line shows."""
    found = dict[str, str]()
    if facts.language != "csharp" or not facts.syntax.has_any(b"{@", b"serialize"):
        return found
    for each in _CSHARP_CLASS.finditer(facts.whole_text):
        parts = _CSHARP_PROPERTY.findall(each[2])
        secret = next((part for part in parts if is_secret_name(part, facts)), "")
        if secret := secret or personal_part(each[1], parts):
            found[each[1]] = secret
    return found


def is_other_item(name: str, place: Placed, facts: Facts) -> bool:
    """Return whether a variable is an item of a loop around a place, and another value outside of it."""
    loops = [each for each in facts.loops_around(place, across=True) if name in each.targets]
    return bool(loops) and any(
        name in each.targets and not is_within(each.span, loops[-1].span)
        for each in facts.assignments_to(name, place)
    )


def type_of(name: str, place: Placed, facts: Facts) -> str:
    """Return the declared type of a parameter or variable, without its package; empty if it is not known."""
    for scope in reversed([*facts.functions_around(place)]):
        for each in scope.parameters:
            if each.name == name:
                kind = each.type.rpartition(".")[2].removeprefix("~")
                return _extracted(name, scope, facts) or kind if kind in _EXTRACTORS else kind
    if is_other_item(name, place, facts):
        return ""
    # What a part of it is set to says nothing of its type.
    made = tuple(each for each in facts.assignments_to(name, place) if name in each.targets)
    types = [each.type or (each.call.name if each.call and each.call.constructs else "") for each in made]
    # The second of two results is another value: `config, err := load()`.
    is_first = bool(made) and made[-1].targets[0] == name
    if is_first and not types[-1] and (bound := _bound_type(made, facts)):
        return bound
    if types and types[-1] == "Self":
        types = [scope.owner for scope in facts.functions_around(place)]
    if types and types[-1]:
        return types[-1].rpartition(".")[2].removeprefix("~")
    if is_first and (known := _returned_type(made, facts)):
        return known
    is_local = bool(made) and name.isidentifier() and not name.startswith("_")
    return "" if is_local else _type_of_field(name.rpartition(".")[2], facts)


_DECLARES = {
    "kotlin": r"\b({0})\s*:\s*({1})\b",
    "typescript": r"\b({0})[?!]?\s*:\s*({1})\b",
    "python": r"\b({0})\s*:\s*(?:Optional\[)?({1})\b",
    "rust": r"\b({0})\s*:\s*(?:&\s*(?:'\w+\s+)?(?:mut\s+)?)?(?:Option<|Arc<|Box<|Json<)*({1})\b",
    "go": r"\n\s+({0})\s+\*?({1})\b",
}
_DECLARES_AFTER = {
    "java": r"\b({1})(?:<[^<>]*>)?\s+({0})\s*[;=,)]",
    "csharp": r"\b({1})\??\s+({0})\s*[;=,){{]",
}
"""Declarations of a field or parameter; those where the type comes first."""


@lru_cache(maxsize=4)
def telling_fields(facts: Facts) -> dict[str, str]:
    """Return fields and parameters whose declared type shows a secret in its text, with that part.

    Those that are declared with another type as well are left out."""
    types = telling_types(facts)
    language = "typescript" if facts.language == "tsx" else facts.language
    after = _DECLARES_AFTER.get(language, "")
    pattern = after or _DECLARES.get(language, "")
    if not types or not pattern:
        return {}
    text, found = _declarations(facts), dict[str, str]()
    seen = re.findall(pattern.format(r"\w+", "|".join(map(re.escape, types))), text)
    for one, other in dict.fromkeys(seen):
        field, kind = (other, one) if after else (one, other)
        declared = re.findall(pattern.format(re.escape(field), r"\w+"), text)
        if all((each[0] if after else each[1]) in (*types, "return", "new") for each in declared):
            found.setdefault(field, types[kind])
    return found


def telling_items(name: str, place: Placed, facts: Facts) -> str:
    """Return the secret in the items of a list, an option or another container; empty if there is none."""
    types = telling_types(facts)
    scope = facts.named_function_of(place) if types else None
    if scope is None or not any(each.name == name for each in scope.parameters):
        return ""
    known, inner = re.escape(name), "|".join(map(re.escape, types))
    if facts.language in _DECLARES_AFTER:
        written = rf"<[^<>()]*?\b({inner})\b[^<>()]*>\s+{known}\b|\b({inner})\[\]\s+{known}\b"
    elif facts.language == "go":
        written = rf"\b{known}\s+(?:\[\]|map\[\w+\])\*?({inner})\b"
    else:
        generic = rf"\b{known}\s*:\s*(?:&\s*)?(?:[\w.]+\s*[<\[]|\[)[^)]*?\b({inner})\b"
        written = rf"{generic}|\b{known}\s*:\s*({inner})\[\]"
    found = re.search(written, facts.text(scope.head))
    return "" if found is None else types[next(each for each in found.groups() if each)]


def telling_path(path: str, facts: Facts) -> str:
    """Return the secret that `error.request` shows, by the type with which its last part is declared."""
    owner, _, last = path.rpartition(".")
    return telling_fields(facts).get(last, "") if owner and owner not in ("self", "this") else ""


_EXTRACTORS = frozenset(("Json", "Form", "Query", "Path", "web"))
"""Types of axum and actix-web that hold what was read from a request."""


def _extracted(name: str, scope: Scope, facts: Facts) -> str:
    found = re.search(rf"\b{re.escape(name)}\)?\s*:\s*[\w:]*<\s*(?:\w+::)*(\w+)", facts.text(scope.head))
    return "" if found is None else found[1]


_RETURNS = {
    "kotlin": r"\bfun\s+(?:[\w.<>]+\.)?{}\s*\([^)]*\)\s*:\s*(\w+)",
    "java": r"\b(\w+)\s+{}\s*\([^;{{]*\)\s*(?:throws[\w\s,]*)?[{{;]",
    "csharp": r"\b(\w+)>?\s+{}\s*\([^;{{]*\)\s*(?:[{{;]|=>)",
    "typescript": r"\b{}\s*\([^)]*\)\s*:\s*(?:Promise<)?(\w+)",
    "python": r"\bdef\s+{}\s*\([^)]*\)\s*->\s*(\w+)",
    "go": r"\bfunc\s*(?:\([^)]*\)\s*)?{}\s*\([^)]*\)\s*\(?\*?(\w+)",
    "rust": r"\bfn\s+{}\s*\([^)]*\)\s*->\s*(?:\w+::)*(?:Result<|Option<)?(\w+)",
}


def _returned_type(made: tuple[Assignment, ...], facts: Facts) -> str:
    """Return the type of a variable by the function of this text that makes its value."""
    pattern = _RETURNS.get("typescript" if facts.language == "tsx" else facts.language, "")
    if not pattern or not telling_types(facts):
        return ""
    value = made[-1].value
    names = [] if value is None else re.findall(r"(\w+)\(", value.text[:400])
    known = _known_returns(facts)
    for name in names:
        if name not in known:
            known[name] = _declared_return(name, pattern, facts)
        if known[name]:
            return known[name]
    return ""


@lru_cache(maxsize=4)
def _known_returns(facts: Facts) -> dict[str, str]:
    """Return what `_declared_return` has found so far: the same functions are called again and again."""
    return {}


def _declared_return(name: str, pattern: str, facts: Facts) -> str:
    """Return the type that a function returns, if it shows a secret; empty for another."""
    found = TextPattern(pattern.format(re.escape(name))).search(facts.whole_text)
    return "" if found is None or found[1] not in telling_types(facts) else found[1]


_FIELD_TYPE = {
    "kotlin": r"\bva[lr]\s+{}\s*:\s*(\w+)",
    "typescript": r"\b(?:private|public|readonly|protected)\s+{}\s*:\s*(\w+)",
    "java": r"\b(?:private|protected|public|final)\s+(\w+)\s+{}\s*[;=]",
    "csharp": r"\b(?:private|protected|public|readonly)\s+(\w+)\s+{}\s*[;={{]",
    "go": r"\n\t{}\s+\*?(\w+)\s*\n",
    "rust": r"\n\s+(?:pub\s+)?{}\s*:\s*(?:Arc<)?(\w+)",
}


def _type_of_field(name: str, facts: Facts) -> str:
    pattern = _FIELD_TYPE.get("typescript" if facts.language == "tsx" else facts.language, "")
    found = (
        re.search(pattern.format(re.escape(name)), facts.whole_text)
        if pattern and (telling_types(facts) or telling_classes(facts))
        else None
    )
    return "" if found is None else found[1]
