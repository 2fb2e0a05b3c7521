"""Limits of programs that begin only when all output has been read, which is when the program has ended.

output = process.stdout.read()              This waits for as long as the program runs,
process.wait(timeout=30)                    so that nothing is left to limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.call_paths import is_bounded_on_all_paths
from faultkit.code.rules.vocabulary.cancellation_limits import is_limited

_WAITS = ("wait", "waitFor", "WaitForExit", "WaitForExitAsync")
_READS = {
    "python": ("read", "readlines", "readline"),
    "java": ("getInputStream", "inputReader", "getErrorStream"),
    "kotlin": (
        "getInputStream",
        "inputReader",
        "readText",
        "readBytes",
        "readLines",
        "bufferedReader",
        "readAllBytes",
        "forEachLine",
    ),
    "csharp": ("ReadToEnd", "ReadToEndAsync", "ReadLine"),
}
_OUTPUT = lazy_regex(
    r"\b(?:stdout|stderr|StandardOutput|StandardError|inputStream|errorStream|getInputStream|inputReader|getErrorStream)\b"
)
_ELSEWHERE = lazy_regex(
    r"redirectOutput\(|\.kill\(\)\s*(?:\)|,)|destroyForcibly\(\)\s*\)|Timer\(|\bselect\b|BeginOutputReadLine"
)
_WORDS = (b"Popen", b"ProcessBuilder", b"getRuntime", b"Process", b"create_subprocess")


def late_limits(facts: Facts) -> Iterator[tuple[Call, Span, str]]:
    """Yield each limited wait for a program after its output was read, from there, and what is wrong."""
    reads = _READS.get(facts.language)
    if reads is None or not any(word in facts.syntax.source for word in _WORDS):
        return
    for wait in facts.calls_of_method(*_WAITS):
        scope = facts.function_of(wait)
        if scope is None or not _is_limited(wait, facts) or not _is_process(wait, scope, facts):
            continue
        if _ELSEWHERE.search(facts.text(scope.body)):
            continue
        read = _read_before(wait, reads, scope, facts)
        if read is not None:
            what = f"the output is read to its end before {wait.written}() limits the time of the program"
            yield wait, Span(read.start, wait.span.end), what


def _is_limited(wait: Call, facts: Facts) -> bool:
    return bool(wait.arguments) or is_bounded_on_all_paths(wait, facts)


def _is_process(wait: Call, scope: Scope, facts: Facts) -> bool:
    owner = wait.receiver_written
    return bool(owner) and re.search(rf"\b{re.escape(owner)}\b\s*\??\.", facts.text(scope.body)) is not None


def _read_before(wait: Call, reads: tuple[str, ...], scope: Scope, facts: Facts) -> Span | None:
    """Return the place where the same function reads the output of a program to its end, before a wait."""
    owner = wait.receiver_written
    for call in facts.own(facts.calls_of_method(*reads), scope):
        if call.span.end > wait.span.start or is_bounded_on_all_paths(call, facts):
            continue
        if facts.language == "csharp" and is_limited(call, facts):
            continue
        if not call.written.startswith(f"{owner}.") or not _OUTPUT.search(call.written):
            continue
        if call.method in ("readline", "ReadLine") and not facts.loops_around(call):
            continue
        if call.method == "ReadToEndAsync" and not call.is_awaited:
            continue
        return call.span
    for loop in facts.loops:
        is_over = loop.over.startswith((f"{owner}.stdout", f"iter({owner}.stdout"))
        if is_over and loop.span.end <= wait.span.start and facts.function_of(loop) is scope:
            return loop.head
    return None
