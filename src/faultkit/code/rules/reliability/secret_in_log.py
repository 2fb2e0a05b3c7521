"""Finds passwords, tokens and whole headers that are written to a log.

It is shown if the value is a secret by its name, its type or what it is made of, and not empty, spent or the
name of one there. An object of a class of another file, and a token of which nothing says that it gives
access, are possible only. A secret in an address is counted only: the service may ask for it there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.connection_strings import is_connection_string
from faultkit.code.rules.vocabulary.failures import is_error_handler
from faultkit.code.rules.vocabulary.instrumented import instrumented_secrets
from faultkit.code.rules.vocabulary.logs import log_calls, may_show_secret, secret_in
from faultkit.code.rules.vocabulary.personal_data import is_personal_name
from faultkit.code.rules.vocabulary.shown_requests import access_logs, rejected_input
from faultkit.code.rules.vocabulary.spent_secrets import (
    is_no_secret,
    is_of_other_class,
    is_some_token,
    is_spent,
    is_text_of_error,
)
from faultkit.code.rules.vocabulary.telling_types import telling_types
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_COMMAND_LINE = lazy_regex(rb"^#!|\b(argparse|click|typer|commander|yargs|inquirer|getpass|cobra)\b")

_ERRORS = ("Error", "Exception")
_TRANSLATED = lazy_regex(r"\b(?:_|n?gettext(?:_lazy)?|pgettext|i18n\.t|translate|__)\(")


def _check(facts: Facts) -> Iterator[Hit]:
    seen = set[Scope | None]()
    may_tell = may_show_secret(facts)
    for call in log_calls(facts) if may_tell else ():
        what = secret_in(_arguments(call), facts)
        if what and not _is_shown(call, facts) and not _is_harmless(what, call, facts):
            seen.add(facts.named_function_of(call))
            yield Hit(call.span, f"{what} is written to the log", _confidence(what, call, facts))
    for call in _errors(facts) if may_tell else ():
        what = secret_in(_arguments(call), facts)
        # An error about an address that cannot be read often names it.
        named = what.rpartition(".")[2].removesuffix("()")
        if what and (_is_harmless(what, call, facts) or is_text_of_error(what, call)):
            continue
        if what and not is_connection_string(what, call, facts) and not is_personal_name(named):
            # A translated text is shown to the user, who may know the value.
            sure = POSSIBLE if _TRANSLATED.search(facts.text(call.span)) else _confidence(what, call, facts)
            yield Hit(call.span, f"{what} is a part of the error, which is logged or shown", sure)
    for span, what in instrumented_secrets(facts) if may_tell else ():
        yield Hit(span, what, LIKELY)
    yield from _with_traces(facts) if may_tell else ()
    for call in access_logs(facts):
        yield Hit(call.span, f"{call.written}() writes addresses to the log, with the secret in them", LIKELY)
    yield from _in_clients(facts)
    # An address that is logged is one finding.
    yield from (hit for hit in _in_addresses(facts) if facts.named_function_of(hit) not in seen)


def _with_traces(facts: Facts) -> Iterator[Hit]:
    """Yield lines with the trace of an error whose text quotes the input that was rejected (Python)."""
    for call in log_calls(facts) if facts.language == "python" and telling_types(facts) else ():
        shown = call.argument("exc_info")
        if call.method != "exception" and (shown is None or shown.value.shape != "true"):
            continue
        for handler in facts.handlers_around(call):
            if part := rejected_input(handler.name, call, facts):
                what = f"the error quotes the input with its {part}, and is written to the log"
                yield Hit(call.span, what, LIKELY)


_ALL_LOGGED = TextPattern(
    r"(?:\bLevel|HttpLoggingInterceptor\.Level)\.(?:BODY|HEADERS)\b|\bLogLevel\.(?:ALL|HEADERS)\b"
    r"|\.EnableSensitiveDataLogging\(\s*(?:true\s*)?\)"
)
_ONLY_HERE = TextPattern(r"DEBUG|IsDevelopment|isDebug|redactHeader|sanitizeHeader|\bdev\b", re.IGNORECASE)


def _in_clients(facts: Facts) -> Iterator[Hit]:
    """Yield clients whose log has all headers of a request, or all values of a query."""
    if facts.language not in ("java", "kotlin", "csharp"):
        return
    if not facts.imports_any("okhttp3", "io.ktor") and "EnableSensitiveDataLogging" not in facts.whole_text:
        return
    if _ONLY_HERE.search(facts.whole_text):
        return
    for found in _ALL_LOGGED.finditer(facts.whole_text):
        place = facts.syntax.place_of(found)
        line = facts.syntax.line_text(facts.syntax.line(place.start)).lstrip()
        if not line.startswith(("//", "*", "case", "import")) and not line.rstrip().endswith("->"):
            shown = "values of queries" if "Sensitive" in found[0] else "headers and bodies"
            what = f"{found[0].strip('.')} writes {shown} to the log, and the secrets in them"
            yield Hit(place, what, LIKELY)


_IN_ADDRESS = TextPattern(
    r"[?&](?:(?:access_token|api_?key|apikey|client_secret|password)=(?:\$\{|\{|\$(?=[a-z]))"
    r"|token=(?:\$\{|\{|\$)\s*(?:this\.|self\.)?(?:api_?|access_?|auth_?|bearer_?)token)(?!\{)\s*([\w.]*)",
    re.IGNORECASE,
)
_SECRETS = (b"token=", b"api_key=", b"apikey=", b"client_secret=", b"password=")
_LINK = lazy_regex(
    r"redirect|verify|reset|confirm|invite|link|href|mask|redact|withUrl\(|\bwss?:|WebSocket|EventSource",
    re.IGNORECASE,
)
"""Addresses that are given to users, and those of browsers' connections, which can have no headers."""


_GIVEN_OUT = lazy_regex(r"\s*return\s+\$?f?[\"'`]")
"""An address that a function gives out, mostly for a page."""


def _in_addresses(facts: Facts) -> Iterator[Hit]:
    """Yield secrets in the query of an address: servers, proxies and clients log addresses."""
    for found in _IN_ADDRESS.finditer(facts.whole_text) if facts.syntax.has_any(*_SECRETS) else ():
        place = facts.syntax.place_of(found)
        line = facts.syntax.line_text(facts.syntax.line(place.start))
        if not line.lstrip().startswith(("#", "//", "*")) and _LINK.search(line) is None:
            above = facts.syntax.line_text(facts.syntax.line(place.start) - 1)
            if _LINK.search(above) or _GIVEN_OUT.match(line):
                continue
            what = "a secret in an address may be logged by each client, proxy and server that handles it"
            yield Hit(place, what, POSSIBLE, "low")


def _errors(facts: Facts) -> Iterator[Call]:
    """Yield the calls that make the errors which this text raises."""
    if facts.language in ("go", "rust"):
        yield from facts.calls_named("fmt.Errorf", "anyhow.anyhow", "anyhow", "bail", "anyhow.bail")
        return
    raised = facts.steps_of("raise")
    for call in facts.calls_with_method(lambda name: name.endswith(_ERRORS)) if raised else ():
        if any(is_within(call.span, step.span) for step in raised):
            yield call


def _confidence(what: str, call: Call, facts: Facts) -> float:
    """Return how sure it is that the value is a secret that still counts."""
    name = re.split(", a | with its ", what)[0]
    if is_spent(name, call, facts) or is_some_token(name, call, facts):
        return POSSIBLE
    if not what.endswith(" with its headers") and is_of_other_class(name, call, facts):
        return POSSIBLE
    if what.endswith(" of every request"):
        # What reaches a handler of errors are few requests, and often none with a secret.
        around = facts.functions_around(call)
        return POSSIBLE if any(map(is_error_handler, around)) else LIKELY
    return LIKELY


_HERE = lazy_regex(r"isDevelopment|is_?dev\b|\bDebug\b|\bdebug\b|DEBUG|[\"']development[\"']")
_OF_PACKAGE = lazy_regex(r"([a-z]\w*)\.[A-Z]\w*")


def _is_harmless(what: str, call: Call, facts: Facts) -> bool:
    """Return whether the value is missing here, a constant or a type, or shown to developers only."""
    name, _, part = what.partition(" with its ")
    if not part and is_no_secret(name, call, facts):
        return True
    found = _OF_PACKAGE.fullmatch(name) if facts.language == "go" else None
    if found is not None and re.search(rf"[/\"]{found[1]}\"", facts.whole_text):
        return True  # A constant of another package.
    scope = facts.function_of(call)
    heads = [
        facts.text(Span(arm.fork.start, arm.span.start))
        for arm in facts.within(facts.arms, call.span if scope is None else scope.body)
        if is_within(call.span, arm.span) and arm.place == 0
    ]
    word = re.escape((part or name).rpartition(".")[2])
    missing = re.compile(
        rf"\bnot\s+[\w.]*\b{word}\b|[\"']{word}[\"']\s+not\s+in|!\s*[\w.]*\b{word}\b|\b{word}\s+is\s+None"
        rf"|\b{word}\s*===?\s*(?:null|undefined|nil|\"\")|[eE]mpty\(\s*{word}\b|\bnot\s+isinstance\(\s*{word}\b"
        rf"|\bnot\s+all\(.*{word}|\b{word}\s*==\s*\"\"",
        re.IGNORECASE,
    )
    return any(_HERE.search(head) or missing.search(head) for head in heads) or _is_only_type(
        name, call, facts
    )


_GO_VERB = lazy_regex(r"%[-+# 0]*[\d.*]*(?:\[\d+\])?([a-zA-Z%])")


def _is_only_type(name: str, call: Call, facts: Facts) -> bool:
    """Return whether only the type of a value is written: `log.Errorf("not a %T", session)` (Go)."""
    if facts.language != "go" or "%T" not in facts.text(call.span):
        return False
    given = [each.value for each in call.positional]
    start = next((at for at, each in enumerate(given) if each.shape == "text"), len(given))
    verbs = [verb for verb in _GO_VERB.findall(given[start].text) if verb != "%"] if given[start:] else []
    return any(
        verb == "T" and value.text == name for verb, value in zip(verbs, given[start + 1 :], strict=False)
    )


def _is_shown(call: Call, facts: Facts) -> bool:
    """Return whether a call writes to the console in a command, which may be there to show what it made."""
    on_console = call.written.startswith(("console.", "print", "log.Print", "fmt.Print"))
    return on_console and _has_command_line(facts)


@lru_cache(maxsize=4)
def _has_command_line(facts: Facts) -> bool:
    return _COMMAND_LINE.search(facts.syntax.source) is not None


def _arguments(call: Call) -> Span:
    return Span(call.callee.end, call.span.end)


RULE = Rule(
    id="FK-R043",
    slug="secret-in-log",
    title="Secret written to a log",
    why="Logs are copied to other systems, kept for months and read by many: all of them have the secret.",
    fix="Leave it out or mask it; of headers and settings, log only those that are needed.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
