"""What limits how many tasks run at a time: semaphores, pools, batches, and sizes of what is loaded."""

from __future__ import annotations

import re

from faultkit.code.facts import Call, Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.message_loops import words_of

_STRONG = re.compile(
    r"semaphore|SetLimit|max_connections\s*=\s*(?!None)\w|p-?limit\b|p-map|bulkhead|buffer_?unordered"
    r"|limitedParallelism|for_each_concurrent|chan struct\{\}, |MaxDegreeOfParallelism|CapacityLimiter"
    r"|throttl|rate_?limit|pool\.submit",
    re.IGNORECASE,
)
"""Words that show a limit wherever they stand in the function."""
_LIMITS = re.compile(
    r"semaphore|limit|pool|\bsem\b|worker|concurren(cy|t)|chunk|batch|throttl|SetLimit|p-map|<-\s*\w*(sem|slots)"
    r"|\brate|\bslots?\b|\bgate\b|\bpages?\b|\.slice\(|\.take\(|\.Take\(|\bislice\(|\[[^\]\[]*:[^\]\[]*\]",
    re.IGNORECASE,
)
_LIMITS_INSIDE = re.compile(
    r"semaphore|\blimit(er|ed)?\w*(?<!Reader)\s*[.(]|with \w*limit|pool|\bsem\b|throttl|\bslots?\b|\bgate\b",
    re.IGNORECASE,
)
"""Words that show a limit in a function that is started for each item."""
_LIMITS_MADE = re.compile(r"semaphore|limit|[pP]ool|throttl|queue|(^|\.)bulkhead", re.IGNORECASE)
"""Names of calls that make a limit."""
_UNLIMITED = re.compile(
    r"\"[^\"\n]*\"|'[^'\n]*'|//[^\n]*|#[^\n]*|\b\w*limits?\w*\s*[=:]\s*(0|None|null)\b"
    r"|\b\w*pool\.(fetch|query|execute|acquire|connect|getConnection|begin|Query|Exec)\w*"
    r"|\(\s*&?(mut\s+)?[\w.*]*pool\s*\)",
    re.IGNORECASE,
)
"""Texts, comments, options that take a limit away, and queries by a pool of connections."""


def is_limited(call: Call, spans: tuple[Span, ...], source: str, facts: Facts) -> bool:
    """Return whether something limits how many run at a time, or how many items there are."""
    scope = next(facts.functions_around(call), None)
    whole = facts.whole_text if scope is None else facts.text(scope.span)
    if _STRONG.search(whole):
        return True
    around = [text for loop in facts.loops_around(call) for text in (loop.over, *loop.targets)]
    sizes = [
        facts.text(each.span)
        for name in re.findall(r"[A-Za-z_]\w*", source)
        for each in facts.assignments_to(name, call)
        if each.scope is not None
    ]
    if _is_whole(source, call, facts):
        around, sizes = [], [text.replace(source, "") for text in sizes]
        source = ""
    large = _large_numbers(facts)
    sizes = [large.sub("", text) for text in sizes] if large is not None else sizes
    own = [source, *around, *sizes, *(_without_executor(span, call, facts) for span in spans)]
    if call.method == "push" and f"{call.receiver_written}.len()" in whole:
        return True
    if any(_LIMITS.search(_UNLIMITED.sub("", text)) for text in own):
        return True
    # The limit may be in a called function.
    words = {word for span in spans for word in words_of(facts.text(span))}
    called = [
        facts.text(other.span)
        for other in facts.scopes
        if other.short_name in words and other is not facts.named_function_of(call)
    ]
    if any(_LIMITS_INSIDE.search(_UNLIMITED.sub("", text)) for text in called):
        return True
    limits = _names_of_limits(facts)
    return bool(limits) and any(limits & words_of(text) for text in (*own, *called))


def _large_numbers(facts: Facts) -> re.Pattern[str] | None:
    """Return the constants of a text that are too large to limit what runs at a time: `BATCH = 50_000`."""
    names = [
        name
        for each in facts.assignments
        if each.scope is None
        and each.value is not None
        and each.value.shape == "number"
        and len(re.sub(r"\D", "", each.value.text.partition(".")[0])) > 3
        for name in each.targets
        if name.isidentifier()
    ]
    return re.compile(rf"\b(?:{'|'.join(names)})\b") if names else None


def _is_whole(source: str, call: Call, facts: Facts) -> bool:
    """Return whether `batch` is all that a request sent, not one of several parts of something."""
    scope = facts.named_function_of(call)
    if scope is None or not re.fullmatch(r"\w*(batch|chunk|page)\w*", source, re.IGNORECASE):
        return False
    if scope.route is None and not any(each.type.endswith("http.Request") for each in scope.parameters):
        return False
    given = {each.name for each in scope.parameters}
    return source not in given and not any(source in loop.targets for loop in facts.loops)


def _without_executor(span: Span, call: Call, facts: Facts) -> str:
    """Return a text without the name of an executor that has a thread for every task."""
    text = facts.text(span)
    if facts.language == "java" and call.method in ("runAsync", "supplyAsync") and len(call.positional) > 1:
        return re.sub(rf"\b{re.escape(call.positional[1].value.text)}\b", "", text)
    return text


def _names_of_limits(facts: Facts) -> set[str]:
    """Return names of what this text makes to limit something: `slots = asyncio.Semaphore(10)`."""
    made = (
        each
        for each in facts.assignments
        if each.call is not None
        and _LIMITS_MADE.search(each.call.name)
        and not each.call.name.startswith(("~", "self."))
    )
    return {target.rpartition(".")[2] for each in made for target in each.targets}
