"""Finds locks in Redis that never expire, and locks that are deleted without a look at their owner."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.service_clients import type_of_receiver

_REDIS = lazy_regex(r"redis|jedis|rdb|ioredis|lettuce|opsForValue|StackExchange|IDatabase", re.IGNORECASE)
_WORDS = (
    b"edis", b"EDIS", b"rdb", b"Rdb", b"RDB", b"ettuce", b"LETTUCE", b"psForValue", b"tackExchange",
    b"IDatabase", b"setnx", b"nx=True",
)  # fmt: skip
_LOCKS = lazy_regex(
    r"lock|mutex|lease|leader|semaphore|single_?flight|exclusive|running|in_?progress|run_?once",
    re.IGNORECASE,
)
_EXPIRES = lazy_regex(r"\b(ex|px|exat|pxat|EX|PX|EXAT|PXAT|expire\w*|Expire\w*|pexpire|KEEPTTL|ttl|TTL)\b")
_CHECKS = lazy_regex(
    r"\beval\w*\(|\bEval\w*\(|register_script|[sS]cript|redis\.call|\.lock\(|LockRelease|\bwatch\(|compare|Redlock"
    r"|cad\b|getdel",
)
_METHODS = frozenset(
    ("setnx", "set_nx", "setifabsent", "query_async", "exec_async", "query", "set", "stringsetasync",
     "stringset", "lock")
)  # fmt: skip
"""Methods that may take a lock, in small letters."""
_SETS = lazy_regex(r"\bsetnx\b|\bnx=True\b")
"""Commands that only Redis has."""
_DELETES = frozenset(("delete", "del", "Del", "unlink", "KeyDelete", "KeyDeleteAsync", "Unlink"))
_NEW_KEY = lazy_regex(r"^redis::cmd\(\"SET\"\).*\.arg\(\"NX\"\)", re.DOTALL)
_PYTHON_LOCK = lazy_regex(r"^redis\.(.*\.)?lock$|(^|[._])redis\w*\.lock$")
_GIVES_BACK = lazy_regex(r"lock|release|leave|free", re.IGNORECASE)
_ZERO = lazy_regex(r"^(0|time\.Duration\(0\)|null|nil|None|redis\.KeepTTL)$")


def _check(facts: Facts) -> Iterator[Hit]:
    for call in _taken(facts):
        if _is_lock(call, facts) and not _has_expiry(call, facts):
            what = f"{call.written}() takes a lock that never expires: a process that dies keeps it for ever"
            yield Hit(call.span, what, LIKELY)


@lru_cache(maxsize=4)
def _taken(facts: Facts) -> tuple[Call, ...]:
    """Return calls that set a key of Redis only if it does not exist."""
    found = tuple(_takes([call for call in facts.calls if call.method.lower() in _METHODS], facts))
    # The text is searched last: that takes longer than to look at all calls.
    is_redis = found and (_REDIS.search(facts.whole_text) or _SETS.search(facts.whole_text))
    return found if is_redis else ()


def _takes(calls: list[Call], facts: Facts) -> Iterator[Call]:
    for call in calls:
        method = call.method
        if method.lower() in ("setnx", "set_nx", "setifabsent") and call.arguments:
            if method == "setnx" or _is_on_redis(call, facts):
                yield call
        elif method in ("query_async", "exec_async", "query") and _NEW_KEY.search(facts.text(call.span)):
            yield call
        elif method == "set" and (call.has("nx") or _is_on_redis(call, facts)):
            joined = " ".join(f"{each.value.text} {each.name}=" for each in call.arguments)
            if re.search(r"\bnx\s*=|\bNX\b|\.nx\(|SetOption|IfAbsent|ifNotExists", joined):
                yield call
        elif method in ("StringSetAsync", "StringSet"):
            if any("When.NotExists" in each.value.text for each in call.arguments):
                yield call
        elif facts.language == "python" and call.arguments and _PYTHON_LOCK.search(call.name):
            yield call


def _is_on_redis(call: Call, facts: Facts) -> bool:
    names = " ".join((call.name, call.receiver_written, type_of_receiver(call, facts)))
    is_named = _REDIS.search(names) is not None
    libraries = ("redis", "ioredis", "github.com/redis", "github.com/go-redis", "redis.clients", "fred")
    return is_named or facts.imports_any(*libraries)


def _is_lock(call: Call, facts: Facts) -> bool:
    """Return whether the key is that of a lock, by the words of the function and its class."""
    scope = facts.named_function_of(call)
    around = "" if scope is None else f"{scope.name} {facts.text(scope.span)}"
    return _LOCKS.search(f"{facts.text(call.span)} {around}") is not None


def _has_expiry(call: Call, facts: Facts) -> bool:
    scope = facts.named_function_of(call)
    text = facts.text(call.span if scope is None else scope.span)
    if call.method == "lock":
        return call.has("timeout") or len(call.positional) > 1 or call.spreads
    if call.method in ("query_async", "exec_async", "query"):
        return re.search(r"\"(EX|PX)\"", facts.text(call.span)) is not None
    if call.method == "SetNX":
        last = call.positional[-1].value.text if call.positional else ""
        return len(call.positional) < 4 or not _ZERO.match(last) or ".Expire(" in text
    if call.method in ("StringSetAsync", "StringSet"):
        third = call.argument("expiry", place=2)
        given = third is not None and not third.value.text.startswith("When.")
        return given and third is not None and third.value.text != "null"
    if call.method == "setIfAbsent":
        return len(call.positional) > 2 or ".expire(" in text
    if call.method == "set" and facts.language not in ("java", "kotlin"):
        names = " ".join(f"{each.name} {each.value.text}" for each in call.arguments[2:])
        return (
            call.spreads
            or _EXPIRES.search(names) is not None
            or re.search(r"\.p?expire\w*\(", text) is not None
        )
    if call.method == "set":
        return re.search(r"\.(ex|px|exAt|expire\w*)\(|EX\b|PX\b", text) is not None
    return re.search(r"\.p?[eE]xpire\w*\(", text) is not None


def _released(facts: Facts) -> Iterator[Hit]:
    taken = [call for call in _taken(facts) if _is_lock(call, facts) and call.method != "lock"]
    if not taken or _CHECKS.search(facts.whole_text):
        return
    receivers = {lock.receiver_written for lock in taken}
    for call in facts.calls_of_method(*_DELETES):
        if not call.arguments or not (call.receiver_written in receivers or _is_on_redis(call, facts)):
            continue
        scope = facts.named_function_of(call)
        if scope is None or _compares(call, facts):
            continue
        keys = {each.value.text for each in call.arguments}
        for lock in taken:
            is_near = facts.named_function_of(lock) is scope or _GIVES_BACK.search(scope.short_name)
            if is_near and {each.value.text for each in lock.arguments[:2]} & keys:
                what = f"{call.written}() deletes the lock even if it belongs to another by now"
                yield Hit(call.span, what, LIKELY)
                break


def _compares(call: Call, facts: Facts) -> bool:
    """Return whether the value of the key is read before it is deleted."""
    scope = facts.named_function_of(call)
    return scope is not None and any(
        each.method in ("get", "Get", "StringGetAsync", "StringGet") and each.span.start < call.span.start
        for each in facts.within(facts.calls, scope.span)
    )


RULE = Rule(
    id="FK-R083",
    slug="lock-without-expiry",
    title="Lock in Redis without an expiry",
    why="A process that is killed while it holds the lock never gives it back: the work stops until the key "
    "is deleted by hand.",
    fix="Set the key and its expiry in one command: SET key owner NX PX 30000.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=_WORDS,
)

RELEASE = Rule(
    id="FK-R084",
    slug="lock-of-another-released",
    title="Lock released without a look at its owner",
    why="If the work took longer than the expiry, the key belongs to another process by now: deleting it "
    "lets a third one in, and two work at once.",
    fix="Delete the key only if it still holds your own value, in one step: with a Lua script, or the "
    "lock of the library.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_released,
    words=_WORDS,
)
