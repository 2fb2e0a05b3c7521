"""Finds TLS connections without verification of the certificate."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Scope, is_within
from faultkit.code.facts.facts import Placed
from faultkit.code.rules.rule import CERTAIN, EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_CHOSEN = lazy_regex(
    r"insecure|verif|skip|self_?signed|trust|unsafe|reject|strict|tls|ssl|\bis_?dev|develop|\bDEBUG\b|debug_assert",
    re.IGNORECASE,
)
_FLAG = lazy_regex(
    r"insecure|verif|unsafe|self_?signed|reject_?unauth|(?:skip|no|accept)_?(?:tls|ssl|cert|invalid)",
    re.IGNORECASE,
)
"""Settings that turn verification on or off, where other branches than those around a place are asked."""
_MEANT = lazy_regex(r"insecure|unverified|no_?verify|unsafe|skip_?verif|self_?signed|no_?op", re.IGNORECASE)

_SETTING = TextPattern(rb"rejectUnauthorized|strictSSL|InsecureSkipVerify|verify|ssl")
_ACCEPTS = ("danger_accept_invalid_certs", "danger_accept_invalid_hostnames")


def _check(facts: Facts) -> Iterator[Hit]:
    for hit in _turned_off(facts):
        if not _is_chosen(hit, facts):
            yield hit


def _is_chosen(hit: Hit, facts: Facts) -> bool:
    """Return whether a setting decides, the name of a function or variable states it, or only test builds
    have it."""
    if facts.language == "go" and _is_verified_otherwise(hit, facts):
        return True
    around = (facts.function_at(hit.span), *facts.functions_around(hit))
    if any(scope is not None and _MEANT.search(f"{scope.owner} {scope.short_name}") for scope in around):
        return True
    if any(
        _MEANT.search(each.targets[0])
        for each in facts.assignments
        if each.targets and each.value is not None and is_within(hit.span, each.value.span)
    ):
        return True
    return _is_in_branch(hit, facts) or _is_called_in_branch(hit, facts)


def _is_in_branch(place: Placed, facts: Facts, pattern: re.Pattern[str] = _CHOSEN) -> bool:
    """Return whether a setting of TLS chooses a place: by a branch around it, or one before that leaves."""
    for step in facts.steps_of("branch"):
        if step.span.start > place.span.start:
            break
        if is_within(place.span, step.span):
            if pattern.search(step.text):
                return True
            continue
        if not _FLAG.search(step.text):
            continue
        inside = [arm for arm in facts.arms if arm.fork == step.span]
        if any(facts.are_exclusive(arm, place) for arm in inside):
            return True
    return False


def _is_called_in_branch(place: Placed, facts: Facts) -> bool:
    """Return whether each call of the function around a place is chosen by a setting of TLS."""
    scope = facts.named_function_of(place)
    callers = () if scope is None else facts.callers_of(scope)
    return bool(callers) and all(_is_in_branch(each, facts, _FLAG) for each in callers)


_VERIFIES = ("VerifyPeerCertificate", "VerifyConnection")
_OWN_CHECK = lazy_regex(r"VerifyPeer|VerifyConn|SANs?$|Fingerprint|Pin")


def _is_verified_otherwise(hit: Hit, facts: Facts) -> bool:
    """Return whether the settings beside `InsecureSkipVerify` check the peer in another way (Go)."""
    beside = [each for each in facts.calls_around(hit) if each.has("InsecureSkipVerify")]
    names = {argument.name for each in beside for argument in each.arguments}
    later = {f"{name}.{each}" for one in beside for name in one.assigned for each in _VERIFIES}
    return any(_OWN_CHECK.search(name) for name in names) or not later.isdisjoint(facts.assigned_names)


def _turned_off(facts: Facts) -> Iterator[Hit]:
    places = [found.start() for found in _SETTING.finditer(facts.syntax.source)]
    for call in facts.calls:
        # The arguments of all calls are many, those that can name a setting are few.
        names_setting = bisect_left(places, call.span.start) < bisect_left(places, call.span.end)
        for argument in call.arguments if names_setting else ():
            off = argument.value.shape == "false"
            last = argument.name.rpartition(".")[2]
            if (last in ("rejectUnauthorized", "strictSSL") and off) or (
                last == "InsecureSkipVerify" and argument.value.shape == "true"
            ):
                yield Hit(
                    argument.value.span, f"{last} is {argument.value.text}: any certificate will do", CERTAIN
                )
            elif argument.name in ("verify", "verify_ssl", "ssl") and off and facts.language == "python":
                known = (
                    call.name.startswith(("requests", "httpx", "aiohttp", "urllib3"))
                    or argument.name != "verify"
                )
                what = f"{argument.name}=False lets {call.written}() take any certificate"
                yield Hit(argument.value.span, what, CERTAIN if known else LIKELY)
        if call.method in _ACCEPTS and any(each.value.shape == "true" for each in call.positional):
            yield Hit(call.span, f"{call.method}(true) takes any certificate", CERTAIN)
        if call.method in ("set_verify", "verify") and any(
            each.value.text.endswith("SslVerifyMode::NONE") for each in call.positional
        ):
            yield Hit(call.span, "SslVerifyMode::NONE takes any certificate", CERTAIN)
        if call.name == "ssl._create_unverified_context":
            yield Hit(call.span, f"{call.written}() turns verification off", LIKELY)
    if facts.language == "csharp":
        yield from _csharp(facts)
    if facts.language in ("java", "kotlin"):
        yield from _jvm(facts)
    for each in facts.assignments:
        target = each.targets[0] if each.targets else ""
        value = "" if each.value is None else each.value.text
        if target.endswith(".verify_mode") and value.endswith("CERT_NONE"):
            yield Hit(each.span, "verify_mode is CERT_NONE: any certificate will do", CERTAIN)
        elif "NODE_TLS_REJECT_UNAUTHORIZED" in facts.text(each.span) and value.strip("\"'") == "0":
            yield Hit(each.span, "NODE_TLS_REJECT_UNAUTHORIZED is 0: any certificate will do", CERTAIN)


_CALLBACK = lazy_regex(r"(ServerCertificate(Custom)?Validation|RemoteCertificateValidation)Callback$")
_ANY = lazy_regex(r"=>\s*true$|delegate\s*(\([^)]*\)\s*)?\{\s*return true;\s*\}$|DangerousAcceptAny\w+$")


_VERIFIERS = ("hostnameVerifier", "setHostnameVerifier", "setSSLHostnameVerifier", "HostnameVerifier",
              "setDefaultHostnameVerifier")  # fmt: skip
_ANY_NAME = lazy_regex(r"->\s*(true|\{\s*return true;\s*\})\s*\}?$|\bNoopHostnameVerifier\b")
_ANY_CHAIN = lazy_regex(r"\bTrustAllStrategy\b|\bInsecureTrustManagerFactory\b|\(\w+, \w+\) -> true$")


def _jvm(facts: Facts) -> Iterator[Hit]:
    """Yield trust managers and verifiers that accept everything."""
    for scope in facts.scopes:
        body = re.sub(r"//.*|/\*.*?\*/", "", facts.text(scope.body))
        body = body.strip("{}; \r\n\t")
        if scope.short_name == "checkServerTrusted" and body in ("", "Unit", "return"):
            yield Hit(scope.span, "checkServerTrusted() accepts any certificate", CERTAIN)
        elif (
            scope.short_name == "verify"
            and body in ("return true", "true", "= true")
            and _takes_session(scope)
        ):
            yield Hit(scope.span, "verify() accepts any name", CERTAIN)
    for call in facts.calls_of_method(*_VERIFIERS):
        given = call.argument(place=0)
        if given is not None and _ANY_NAME.search(given.value.text):
            yield Hit(call.span, f"{call.written}() accepts any name", CERTAIN)
    for call in facts.calls_of_method("loadTrustMaterial", "trustManager"):
        if any(_ANY_CHAIN.search(each.value.text) for each in call.positional):
            yield Hit(call.span, f"{call.written}() accepts any certificate", CERTAIN)


def _takes_session(scope: Scope) -> bool:
    return len(scope.parameters) == 2 and scope.parameters[1].type.endswith("SSLSession")


def _csharp(facts: Facts) -> Iterator[Hit]:
    """Yield callbacks that accept every certificate."""
    given = [(each.name, each.value) for call in facts.calls for each in call.arguments if each.name]
    given += [
        (each.targets[0].rpartition(".")[2], each.value)
        for each in facts.assignments
        if each.value is not None and each.targets
    ]
    for name, value in given:
        if _CALLBACK.search(name) and _ANY.search(value.text):
            yield Hit(value.span, f"{name} accepts any certificate", CERTAIN)


RULE = Rule(
    id="FK-R037",
    slug="tls-not-verified",
    title="TLS verification off",
    why="An attacker on the path can read and change the traffic, and a wrong endpoint goes unnoticed.",
    fix="Leave verification on, and give the client the certificate authority that signed the "
    "server's certificate.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(
        b"rejectUnauthorized",
        b"strictSSL",
        b"NODE_TLS_REJECT_UNAUTHORIZED",
        b"InsecureSkipVerify",
        b"verify",
        b"ssl",
        b"danger_accept_invalid",
        b"ValidationCallback",
        b"checkServerTrusted",
        b"ostnameVerifier",
        b"loadTrustMaterial",
        b"trustManager",
    ),
)
