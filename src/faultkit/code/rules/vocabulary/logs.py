"""Calls that write to a log, and expressions that hold secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Access, Assignment, Call, Facts, Place, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.connection_strings import is_connection_string, may_name_connection_string
from faultkit.code.rules.vocabulary.failures import handler_around, node_at
from faultkit.code.rules.vocabulary.held_secrets import (
    HEADERS_CALL,
    WHOLE_HEADERS,
    held_secret,
    is_secret_answer,
    lists_headers,
    shows_parts,
    telling_name,
)
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.personal_data import (
    is_personal_name,
    may_name_personal_data,
    personal_part,
)
from faultkit.code.rules.vocabulary.returned_values import own_function, returned_values
from faultkit.code.rules.vocabulary.sent_secrets import sent_secret
from faultkit.code.rules.vocabulary.shown_requests import (
    body_of_any_request,
    error_as_whole,
    is_secret_address,
    is_secret_address_call,
    read_by_schema,
    rejected_input,
    rejected_objects,
    request_of_answer,
    request_of_error,
    secret_in_failed_address,
    shown_headers,
)
from faultkit.code.rules.vocabulary.shown_values import ITEMS, is_shown
from faultkit.code.rules.vocabulary.telling_types import (
    ABOUT_SYNTAX,
    is_about_secrets,
    is_secret_name,
    telling_classes,
    telling_items,
    telling_path,
    telling_types,
    type_of,
)

_LEVELS = frozenset(
    (
        "debug", "info", "warning", "warn", "error", "exception", "critical", "log", "trace", "fatal",
        "verbose", "silly", "notice", "fine", "severe",
        "Print", "Printf", "Println", "Debug", "Debugf", "Debugw", "Info", "Infof", "Infow", "Infoln", "Warn",
        "Warnf", "Warnw", "Warningf", "Error", "Errorf", "Errorw", "Errorln", "Fatal", "Fatalf", "Log",
        "Logf", "DebugContext", "InfoContext", "WarnContext", "ErrorContext", "Trace", "Tracef",
        "LogTrace", "LogDebug", "LogInformation", "LogWarning", "LogError", "LogCritical", "Information",
        "Warning", "d", "i", "w", "e", "v",
    )
)  # fmt: skip
_FIELDS = frozenset({"WithFields", "WithField", "With", "bind", "child", "BeginScope"})
"""Calls that give a logger fields, which all its lines have."""
_FLUENT = frozenset({"addKeyValue", "addArgument"})
"""Calls that give fields to one line of SLF4J."""
_FLUENT_LINE = NamePattern(r"\bat(?:Trace|Debug|Info|Warn|Error|Level)\b|\bLoggingEventBuilder\b")
"""What makes such a line, in the name of a call on it."""
_OWNER = NamePattern(
    r"(^|[._])_*(log|logs|logger|logging|console|slog|logrus|zap|zlog|glog|klog|sugar|LOG|LOGGER|pino|winston"
    r"|bunyan|log4js|tracing|loguru|structlog|timber|Timber)$|Log(ger)?$"
)
_RECORDS = frozenset(
    (
        "set_attribute", "setAttribute", "SetAttributes", "SetAttribute", "SetTag", "setTag", "set_tag",
        "set_context", "setContext", "setExtra", "set_extra", "captureMessage", "capture_message", "put",
        "PushProperty", "record", "set_attributes", "setAttributes",
    )
)  # fmt: skip
_RECORDERS = NamePattern(
    r"(^|[._])([sS]pan|sentry_sdk|Sentry|MDC|ThreadContext|LogContext|[aA]ctivity|\w+Span)(\(\))?$"
)
"""What lines of a log, traces and reports of errors are given besides their text."""
_PRINTS = frozenset(
    ("print", "pprint.pprint", "fmt.Print", "fmt.Printf", "fmt.Println", "System.out.println",
     "System.out.printf", "System.out.print", "System.err.println", "Console.WriteLine", "println",
     "eprintln")
)  # fmt: skip
_CHANGES_NAME = lazy_regex(r"\(\)|\[\]")


def log_calls(facts: Facts) -> Iterator[Call]:
    """Yield the calls that write to a log. Prints count in code that answers requests."""
    for call in facts.calls:
        if call.method in _LEVELS or call.method in _FIELDS:
            owner = _CHANGES_NAME.sub("", call.receiver_written)
            # `info!(…)` of Rust has no object: its module is that of the log.
            if _OWNER.search(owner) or (not owner and _OWNER.search(call.receiver)):
                yield call
                continue
        if call.method in _FLUENT and _FLUENT_LINE.search(call.name):
            yield call
            continue
        if call.method in _RECORDS and _RECORDERS.search(call.receiver_written):
            yield call
            continue
        prints = call.name in _PRINTS or call.written in _PRINTS
        if prints and handler_around(call, facts) is not None:
            yield call


# Expressions that hold secrets.

_LOOKUP = lazy_regex(
    r"""(?:headers?|Headers?|environ|env|getenv|Getenv|META|cookies|getHeader|get|Get|LookupEnv|HEADERS)"""
    r"""(?:\.get|\.Get)?\s*[\[(]\s*["'`]([\w-]+)["'`]"""
)
_WHOLE_LOOKUP = lazy_regex(
    r"[\w.?!]+(\.(get|Get))?[\[(]\s*[\"'`][\w-]+[\"'`][^()\[\]]*[\])](\s*(\|\||\?\?|or)\s*[\"']{2})?"
)
_KEY = lazy_regex(r"\[\s*[\"']([\w-]+)[\"']\s*\]$")
_WHOLE = lazy_regex(
    r"^(?:self\.|this\.)?(?:req|request|ctx\.req|ctx\.request|event)\.(?:headers|rawHeaders|META)$"
    r"|^(?:r|req|c\.Request)\.Header$"
    r"|^(?:\w+\.)?(?:r|res|resp|response|e|ex|exc|err|error)\.request\.(?:headers|Headers)$"
    r"|^(?:process\.env|os\.environ|import\.meta\.env)$"
)
_BODY = lazy_regex(r"^(?:req|request|ctx\.request)\.(?:body|data|json|POST|form)$")
_ACCOUNT = lazy_regex(
    r"log_?in|sign_?(in|up)|register|passw|auth(?!ors?(?![a-z]*i[sz]))|token|credential|payment|checkout",
    re.IGNORECASE,
)
_PLACES = lazy_regex(r"(^|[._])(file|path|url|dir|key|name)s?\.\w+$", re.IGNORECASE)
"""`files.credentials` is the name of a file."""
_ENUM = lazy_regex(r"^[A-Z]\w*\.[A-Z_]+$")
_SETTINGS = lazy_regex(r"^(config|settings|env|conf)\b", re.IGNORECASE)


def _is_own_token(written: str, facts: Facts) -> bool:
    """Return whether it is the token of a client: `self.token`."""
    return written == "self.token" and ABOUT_SYNTAX.search(facts.syntax.source) is None


_SHOW_SECRETS = (
    b"header", b"meta", b"environ", b"process.env", b"getenv", b"axios", b"dumprequest", b"regist", b"log_in",
    b"login", b"logon", b"sign_in", b"signin", b"sign_up", b"signup", b"auth", b"credential", b"payment",
    b"checkout", b"metadata", b"interceptors", b"queryparam", b"params={",
    b"getargs", b"unaryhandler", b"seterrorhandler",
)  # fmt: skip
"""What stands, if no word of secrets does, in each text that shows one: all headers, all settings, what a
client sends to log in or to pay."""


def may_show_secret(facts: Facts) -> bool:
    """Return whether a text has a word without which `secret_in` finds nothing; that takes longer."""
    return (
        facts.syntax.has_any(*_SHOW_SECRETS)
        or is_about_secrets(facts)
        or may_name_connection_string(facts)
        or may_name_personal_data(facts)
    )


def secret_in(span: Span, facts: Facts, deep: bool = True) -> str:
    """Return the first expression in a span whose value is a secret and is written out; empty if none is."""
    for access in facts.within(facts.accesses, span):
        if (item := _item_of(access, facts)) is not None:
            text = facts.text(item)
            key = _KEY.search(text)
            is_secret = _is_secret_lookup(text, facts) or (key is not None and is_secret_name(key[1], facts))
            if is_secret and is_shown(item, span, facts):
                return text
            continue
        if is_shown(access.span, span, facts) and (name := _secret_access(access, facts, deep)):
            return name
    for call in facts.within(facts.calls, span):
        if is_shown(call.span, span, facts) and (
            name := _secret_call(call, facts) or (_made_by(own_function(call, facts), facts) if deep else "")
        ):
            return name
    return _secret_hole(span, facts, deep)


def _made_by(scope: Scope | None, facts: Facts) -> str:
    """Return the secret in what a function of this text returns: `log.warn(describe(request))`."""
    if scope is None or _HIDES.search(scope.name):
        return ""
    if lists_headers(facts.text(scope.body)):
        return "headers"
    return next(filter(None, (secret_in(each, facts, False) for each in returned_values(scope, facts))), "")


_HIDES = lazy_regex(r"redact|mask|sanit|scrub|obfusc|safe|clean", re.IGNORECASE)
_HOLES = {
    "kotlin": lazy_regex(r"\$([A-Za-z_]\w*)"),
    "rust": lazy_regex(r"(?:\{|[(,=]\s*[?%])([a-z_][\w.]*)(?=[:},)])"),
}
"""Names that no syntax tree shows: inside of texts, and `?config` of tracing."""


_HEADERS_SHOWN = lazy_regex(r"[?,]\s*((?:req|request|parts)\.headers(?:\(\))?)\s*[,)]")
_PATHS_SHOWN = lazy_regex(r",\s*&?([a-z_]\w*(?:\.[a-z_]\w*)+)\s*(?=[,)])")
_CALLS_SHOWN = lazy_regex(r"[,=?%]\s*(?:self\.|Self::)?([a-z_]\w*)\(")
"""Macros of Rust hold no syntax tree."""


def _secret_hole(span: Span, facts: Facts, deep: bool) -> str:
    pattern = _HOLES.get(facts.language)
    if pattern is None:
        return ""
    for found in pattern.finditer(facts.text(span)):
        name = found[1]
        if part := telling_path(name, facts):
            return f"{name} with its {part}"
        if is_secret_name(name.rpartition(".")[2], facts) or is_connection_string(name, Place(span), facts):
            return name
        place = Place(span)
        part = (
            telling_types(facts).get(type_of(name, place, facts))
            or held_secret(name, place, facts)
            or telling_items(name, place, facts)
        )
        if part:
            return f"{name} with its {part}"
    if facts.language != "rust":
        return ""
    for path in _PATHS_SHOWN.findall(facts.text(span)):
        if part := telling_path(path, facts):
            return f"{path} with its {part}"
        if is_secret_name(path.rpartition(".")[2], facts):
            return str(path)
    for name in _CALLS_SHOWN.findall(facts.text(span)) if deep else ():
        own = facts.functions_named(name)
        if len(own) == 1 and (part := _made_by(own[0], facts)):
            return part
    headers = _HEADERS_SHOWN.search(facts.text(span))
    return "" if headers is None else headers[1]


def _names_a_secret(written: str, access: Access, facts: Facts) -> bool:
    """Return whether a variable is the key of another: `secretKey` of a function that has `secret`, too."""
    if not written.endswith(("_key", "Key")):
        return False
    base = re.sub(r"(_key|Key)$", "", written)
    scope = facts.named_function_of(access)
    return scope is not None and any(each.name == base for each in scope.parameters)


def _secret_access(access: Access, facts: Facts, deep: bool) -> str:
    written = access.written.replace("?", "")
    last = written.rpartition(".")[2]
    if _ENUM.match(written) and not _SETTINGS.match(written):
        return ""
    if _WHOLE.match(written) or WHOLE_HEADERS.search(written):
        return written
    if _names_a_secret(written, access, facts):
        return ""
    if _is_own_token(written, facts) or (is_secret_name(last, facts) and not _PLACES.search(written)):
        return written
    if is_connection_string(written, access, facts):
        return written
    if "." in written and is_personal_name(last):
        return written
    types = telling_types(facts)
    if types and _NAME.fullmatch(written) and (part := types.get(type_of(written, access, facts))):
        return f"{written} with its {part}"
    if facts.language == "python" and b"vars(" in facts.syntax.source:
        around = facts.calls_around(access)
        shows = bool(around) and around[-1].name == "vars"
        if shows and (part := _attribute_of(written, access, facts)):
            return f"{written} with its {part}"
    if written.endswith(".__dict__") and (part := _attribute_of(written[:-9], access, facts)):
        return f"{written} with its {part}"
    if "." in written:
        if request_of_error(written, facts) or request_of_answer(written, facts):
            return f"{written} with its headers"
        if part := telling_path(written, facts):
            return f"{written} with its {part}"
    elif part := _part_of_whole(written, access, facts):
        return f"{written} with its {part}"
    if is_secret_address(written, facts):
        return f"{written} with the secret in it"
    if body_of_any_request(written, access, facts):
        return f"{written} of every request"
    if _NAME.fullmatch(written) and (classes := telling_classes(facts)):
        around = facts.calls_around(access)
        part = classes.get(type_of(written, access, facts))
        if part and around and ("{@" in facts.text(around[-1].span) or "Serialize" in around[-1].method):
            return f"{written} with its {part}"
    if written.isidentifier() and (part := telling_items(written, access, facts)):
        return f"{written} with its {part}"
    if _NAME.fullmatch(written):
        if kind := telling_name(written, access, facts):
            return f"{written}, a {kind},"
        if part := held_secret(written, access, facts):
            return f"{written} with its {part}"
    if part := read_by_schema(written, access, facts) or sent_secret(written, access, facts):
        return f"{written} with its {part}"
    if _RAW.search(written) and is_secret_answer(access, facts):
        return f"{written} with its token"
    if _BODY.match(written):
        route = handler_around(access, facts)
        path = "" if route is None or route.route is None else route.route.path
        if route is not None and _ACCOUNT.search(f"{path} {route.name}"):
            return "" if _has_known_parts(written, route, facts) else written
    if deep and written.isidentifier() and _is_given_secret(written, access, facts):
        return written
    if deep and _FIELD.fullmatch(written):
        for each in _variables(facts).get(written, ()):
            if (
                each.value is not None
                and each.value.shape == "object"
                and secret_in(each.value.span, facts, False)
            ):
                return written
    if deep and written.isidentifier():
        for each in _variables(facts).get(written, ()):
            if each.value is None or each.scope is None:
                continue
            value = each.value
            made = each.call
            own = None if made is None or made.span != value.span else own_function(made, facts)
            if own is not None and each.scope in facts.functions_around(access) and _made_by(own, facts):
                return written
            if each.scope is not facts.function_of(access):
                continue
            is_dump = made is not None and made.span == value.span and made.method in _DUMPS
            if made is not None and is_dump and _secret_call(made, facts):
                return written
            shows = value.shape in ("name", "other", "object", "list") or _MAPS.match(value.text) is not None
            if _is_secret_lookup(value.text, facts) or (shows and secret_in(value.span, facts, deep=False)):
                return written
    return ""


def _has_known_parts(body: str, route: Scope, facts: Facts) -> bool:
    """Return whether a function takes a body apart, and none of the parts is a secret (JavaScript)."""
    found = re.search(rf"\{{([^{{}}]*)\}}\s*=\s*(?:await\s+)?{re.escape(body)}\b", facts.text(route.body))
    if found is None or "..." in found[1]:
        return False
    return not any(is_secret_name(name, facts) for name in re.findall(r"\w+", found[1]))


_NAME = lazy_regex(r"(?:(?:self|this)\.)?\w+")
_RAW = lazy_regex(r"(?:^|\.)(?:text|content|body|data|Body|Content|raw)$")
"""What an answer holds, before it is parsed."""
_RAW_CALLS = frozenset(("json", "text", "body", "string", "ReadAsStringAsync", "getBody", "bodyAsText"))
_FIELD = lazy_regex(r"self\.\w*(headers?|Headers?|config|Config|options|credentials|auth)")
_MAPS = lazy_regex(r"(mapOf|mutableMapOf|hashMapOf|Map\.of|dict)\(")
"""Calls whose result shows all that they are given."""


def _is_given_secret(name: str, access: Access, facts: Facts) -> bool:
    """Return whether headers of this name were given a secret: `headers.setBearerAuth(key)`."""
    scope = facts.function_of(access)
    if scope is None or "eader" not in name:
        return False
    for call in facts.within(facts.calls, scope.body):
        if call.receiver_written != name:
            continue
        first = call.argument(place=0)
        sets = call.method in _SETS and first is not None and is_secret_name(first.value.literal, facts)
        if sets or call.method in ("setBearerAuth", "setBasicAuth"):
            return True
    return False


_SETS = frozenset(
    ("set", "add", "put", "append", "Set", "Add", "TryAddWithoutValidation", "insert", "header")
)


def _attribute_of(owner: str, access: Access, facts: Facts) -> str:
    """Return the secret among the attributes that the class of an object sets (Python)."""
    scope = facts.function_of(access)
    kind = scope.owner if owner == "self" and scope is not None else type_of(owner, access, facts)
    names = [
        each.targets[0][5:]
        for each in facts.assignments
        if kind and each.owner.rpartition(".")[2] == kind and each.targets[0].startswith("self.")
    ]
    return next((name for name in names if is_secret_name(name, facts)), "") or personal_part(kind, names)


def _part_of_whole(name: str, access: Access, facts: Facts) -> str:
    """Return what a request, or the error of one, shows when it is written out whole."""
    part = (
        shown_headers(name, access, facts)
        or rejected_input(name, access, facts)
        or rejected_objects(name, access, facts)
        or secret_in_failed_address(name, access, facts)
    )
    if part or facts.syntax.language.family != "javascript":
        return part
    around = facts.calls_around(access)
    if around and around[-1].method in ("stringify", "inspect"):
        return error_as_whole(name, access, facts)
    return ""


@lru_cache(maxsize=4)
def _variables(facts: Facts) -> dict[str, list[Assignment]]:
    """Return the assignments to single variables, by name."""
    found: dict[str, list[Assignment]] = {}
    for each in facts.assignments:
        if len(each.targets) == 1:
            found.setdefault(each.targets[0], []).append(each)
    return found


def _item_of(access: Access, facts: Facts) -> Span | None:
    """Return the span of `a["b"]`, of which the access is the `a`."""
    node = node_at(access.span, facts)
    parent = None if node is None else node.parent
    if node is None or parent is None or parent.type not in ITEMS or parent.start_byte != node.start_byte:
        return None
    return Span(parent.start_byte, parent.end_byte)


_COOKIE = lazy_regex(r"[\w.?!]*\bheaders\??\.(?:cookie|authorization)", re.IGNORECASE)


def _is_secret_lookup(text: str, facts: Facts) -> bool:
    """Return whether an expression is nothing but the lookup of a secret header or setting."""
    if _COOKIE.fullmatch(text):
        return True
    found = _LOOKUP.search(text) if _WHOLE_LOOKUP.fullmatch(text) else None
    return found is not None and is_secret_name(found[1], facts)


def _secret_call(call: Call, facts: Facts) -> str:
    text = facts.text(call.span)
    if _is_secret_lookup(text, facts):
        return text
    if HEADERS_CALL.search(call.written) and not call.arguments:
        return text
    if call.method in _RAW_CALLS and not call.arguments and is_secret_answer(call, facts):
        return f"{text} with its token"
    owner = call.receiver_written
    if not call.arguments and is_connection_string(call.written, call, facts):
        return text
    if not call.arguments and request_of_answer(call.written, facts):
        return f"{text} with its headers"
    if call.method in _DUMPS and shows_parts(text):
        if WHOLE_HEADERS.search(owner.removesuffix("()")):
            return owner
        known = telling_types(facts).get(type_of(owner, call, facts)) if _NAME.fullmatch(owner) else None
        if part := known or (held_secret(owner, call, facts) if owner.isidentifier() else ""):
            return f"{owner} with its {part}"
    if call.method == "toJSON" and (
        ("AxiosError" in text and facts.imports_any("axios", "@nestjs/axios"))
        or error_as_whole(owner, call, facts)
    ):
        return f"{text} with its headers"
    quotes = call.method in _QUOTES and owner.isidentifier()
    if quotes and (part := rejected_input(owner, call, facts)):
        return f"{text} with its {part}"
    if (call.name == "locals" or call.method == "getArgs") and (part := _given_to(call, facts)):
        return f"{text} with its {part}"
    if call.method == "GetDebugView" and facts.language == "csharp":
        return f"{text} with all settings"
    if is_secret_address_call(call, facts):
        return f"{text} with the secret in it"
    if not call.arguments and "." in call.written and facts.language in ("java", "kotlin"):
        getter = call.method.removeprefix("get")
        if part := telling_path(f"{owner}.{getter[:1].lower()}{getter[1:]}", facts):
            return f"{text} with its {part}"
    getter = call.method.removeprefix("get")
    if facts.language == "java" and not call.arguments and call.receiver_written:
        if is_personal_name(f"{getter[:1].lower()}{getter[1:]}"):
            return text
        if call.method.startswith("get"):
            return text if is_secret_name(getter, facts) else ""
    return text if call.name in ("os.Environ", "System.getenv") and not call.arguments else ""


def _given_to(call: Call, facts: Facts) -> str:
    """Return the secret among the arguments of a function, or of all that an aspect stands around (Java)."""
    scope = facts.named_function_of(call)
    if scope is None:
        return ""
    if call.method == "getArgs":
        kinds = {each.type.rpartition(".")[2] for each in scope.parameters}
        return "arguments" if kinds & {"ProceedingJoinPoint", "JoinPoint"} else ""
    return next((each.name for each in scope.parameters if is_secret_name(each.name, facts)), "")


_QUOTES = frozenset(("errors", "json", "getMessage", "getAllErrors"))
"""Methods of an error of validation that give the input."""
_DUMPS = frozenset(
    ("model_dump", "model_dump_json", "dict", "json", "to_dict", "asdict", "toString", "ToString",
     "toJSON", "items", "entries", "Select", "joinToString", "map", "toMultimap", "toMap",
     "toSingleValueMap", "asMap", "entrySet", "forEach")
)  # fmt: skip
"""Methods that write out all parts of an object."""
