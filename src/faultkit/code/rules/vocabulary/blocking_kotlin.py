"""Kotlin: calls that keep the thread of a coroutine waiting, which other coroutines need."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.rules.rule import LIKELY, POSSIBLE, Hit, Severity
from faultkit.code.rules.vocabulary.blocking_clients import blocks_on_jvm
from faultkit.code.rules.vocabulary.blocking_java import blocking_on_loop
from faultkit.code.rules.vocabulary.call_paths import callers_through
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.served_code import is_served

_KOTLIN = NamePattern(
    r"^((java\.lang\.)?Thread\.sleep|kotlinx\.coroutines\.runBlocking|java\.net\.URL\.(readText|readBytes|openStream)"
    r"|okhttp3\.OkHttpClient\b.*\.newCall\(\)\.execute|java\.sql\.DriverManager\.getConnection"
    r"|(java\.lang\.)?ProcessBuilder\b.*\.waitFor"
    r"|.*\bRestTemplate\.\w+|java\.net\.http\.HttpClient\b.*\.send"
    r"|.*\bBCrypt\.(hashpw|checkpw)|.*\bBCryptPasswordEncoder(\(\))?\.(matches|encode)"
    r"|javax\.crypto\.SecretKeyFactory\b.*\.generateSecret|javax\.imageio\.ImageIO\.(read|write)"
    r"|java\.util\.concurrent\.(CountDownLatch|Future|CompletableFuture|LinkedBlockingQueue|ArrayBlockingQueue)\b.*"
    r"\.(await|get|join|take)|com\.mongodb\.client\.\w+\.find"
    r"|(jakarta|javax)\.mail\.Transport\.send|java\.net\.URL\b.*\.openConnection\(\)\.\w+)$"
)
_KOTLIN_TEMPLATES = lazy_regex(
    r".*\b(Named)?(Parameter)?JdbcTemplate\.(query\w*|update|batchUpdate|execute)"
    r"|org\.jetbrains\.exposed\.sql\.transactions\.transaction$"
)
_KOTLIN_FILES = lazy_regex(
    r"^java\.(io\.File|nio\.file\.Files)\b.*\.(readText|readBytes|readLines|writeText|writeBytes|appendText|copyTo"
    r"|readString|writeString|readAllBytes|readAllLines|copy|walk|deleteRecursively|inputStream|outputStream|forEachLine"
    r"|useLines|bufferedReader|newInputStream|newBufferedReader|lines)$"
)
_JDBC = frozenset(("executeQuery", "executeUpdate", "executeBatch", "executeLargeUpdate"))
_ON_SCREEN = lazy_regex(r"(^|\.)(viewModelScope|lifecycleScope)$")
"""Scopes of Android, whose coroutines run on the thread of the screen."""
_KOTLIN_INLINE = frozenset(
    (
        "let", "run", "apply", "also", "use", "with", "forEach", "map", "mapNotNull", "filter", "flatMap",
        "synchronized", "runCatching", "withLock", "repeat", "coroutineScope", "supervisorScope", "launch",
        "async", "withTimeout", "withTimeoutOrNull", "withContext", "onEach", "collect", "withPermit",
        "useLines",
    )
)  # fmt: skip
"""Functions that run a lambda where they stand, or as a coroutine."""


def blocking_in_kotlin(facts: Facts) -> Iterator[Hit]:
    """Yield such calls, and calls of functions of this text that make one."""
    yield from blocking_on_loop(facts)
    seen: set[tuple[Scope | None, str]] = set()
    for call in facts.calls:
        scope = facts.named_function_of(call)
        if scope is not None and _KOTLIN_FILES.match(call.name) and _stops_coroutine(call, facts):
            confidence = LIKELY if is_served(call, facts) else POSSIBLE
            what = f"{call.written}() waits for the disk on the thread of a coroutine"
            yield Hit(call.span, what, confidence, "low")
            continue
        mild: Severity | None = "low" if _KOTLIN_FILES.match(call.name) else None
        if scope is None or not (mild or _blocks_in_kotlin(call, facts)):
            continue
        if _stops_coroutine(call, facts):
            # A statement is prepared, sent and read: one finding for each function is enough.
            if (scope, "") not in seen:
                seen.add((scope, ""))
                yield Hit(
                    call.span, f"{call.written}() blocks the thread of a coroutine until it is done", LIKELY
                )
            continue
        if scope.is_async:
            continue
        for caller in callers_through(call, facts):
            around = facts.named_function_of(caller)
            if (around, caller.written) not in seen and _stops_coroutine(caller, facts):
                seen.add((around, caller.written))
                what = f"{caller.written}() blocks the thread of a coroutine (it calls {call.written}())"
                confidence = POSSIBLE if mild and not is_served(caller, facts) else LIKELY
                yield Hit(caller.span, what, confidence, mild)


def _blocks_in_kotlin(call: Call, facts: Facts) -> bool:
    if _KOTLIN.match(call.name) or _KOTLIN_TEMPLATES.match(call.name) or blocks_on_jvm(call):
        return True
    if call.method in _ENDS_ASYNC and not call.arguments and _ASYNC_RESULT.search(call.name):
        return True
    return call.method in _JDBC and facts.imports_any("java.sql", "javax.sql")


_ENDS_ASYNC = frozenset(("join", "get", "block", "blockFirst", "blockLast", "blockingGet", "blockingFirst"))
_ASYNC_RESULT = NamePattern(
    r"\w+Async\w*\.\w+\(\)\.(join|get)$|\b(sendAsync|supplyAsync|executeAsync)\(\)\.(join|get)$"
    r"|\b(bodyToMono|bodyToFlux|toEntity|toBodilessEntity|Mono\.\w+|Flux\.\w+)\(\)(\.\w+\(\))*\.block\w*$|\.blocking(Get|First)$"
)
"""Results that come later, and are waited for by a thread where a coroutine could await them."""


def _stops_coroutine(call: Call, facts: Facts) -> bool:
    """Return whether a coroutine runs a call on its own thread, which other coroutines need."""
    scope = facts.named_function_of(call)
    outer = facts.route_of(call) or scope
    if scope is None or outer is None:
        return False
    around = [
        each
        for each in facts.calls_around(call)
        if is_within(each.span, outer.body)
        and any(
            argument.value.shape == "function" and is_within(call.span, argument.value.span)
            for argument in each.arguments
        )
    ]
    on_screen = any(
        each.method in ("launch", "async") and _ON_SCREEN.search(each.receiver_written) for each in around
    )
    is_route = outer.route is not None and outer.route.framework == "ktor"
    if not scope.is_async and not on_screen and not is_route:
        return False
    on_pool = any("Dispatchers" in facts.text(each.callee) for each in around) or any(
        re.search(r"\bIO\b|[dD]ispatcher|Default|[eE]xecutor", argument.value.text.partition("{")[0])
        or (each.method == "withContext" and argument.value.shape != "function")
        for each in around
        for argument in each.arguments
        if argument.value.text != "NonCancellable"
    )
    if on_pool or not all(each.method in _KOTLIN_INLINE for each in around):
        return False
    return is_route or on_screen or not _is_run_on_pool(scope, facts)


def _is_run_on_pool(scope: Scope, facts: Facts, levels: int = 3) -> bool:
    """Return whether all callers in this text run a function on threads that may wait."""
    callers = [call for call in facts.callers_of(scope) if facts.named_function_of(call) is not scope]
    if not callers or levels == 0:
        return False
    return all(
        any(
            re.search(
                r"\bIO\b|[dD]ispatcher|[eE]xecutor",
                facts.text(each.callee) + argument.value.text.partition("{")[0],
            )
            for each in facts.calls_around(call)
            for argument in each.arguments
        )
        or (
            (outer := facts.named_function_of(call)) is not None and _is_run_on_pool(outer, facts, levels - 1)
        )
        for call in callers
    )
