"""Finds thread pools that a call makes and never shuts down."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Scope
from faultkit.code.rules.rule import JAVA, KOTLIN, LIKELY, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_POOLS = NamePattern(
    r"(^|\.)Executors\.new\w+$|^java\.util\.concurrent\.(ThreadPoolExecutor|ForkJoinPool|ScheduledThreadPoolExecutor)$"
    r"|^concurrent\.futures\.(ThreadPoolExecutor|ProcessPoolExecutor)$|^multiprocessing\.(pool\.)?(Thread)?Pool$"
    r"|^kotlinx\.coroutines\.new(FixedThreadPool|SingleThread)Context$|^java\.util\.Timer$"
)
_ENDS = frozenset(("shutdown", "shutdownNow", "close", "terminate", "join", "cancel", "use"))
_ONCE = lazy_regex(r"^(main|start|init|setup|configure|run)", re.IGNORECASE)
_MAKES = lazy_regex(r"^(create|build|open|new|make|get)", re.IGNORECASE)
"""Functions that make something once, unless they are given what to work on."""
_USES = ("runAsync", "supplyAsync", "thenApplyAsync", "run_in_executor", "withContext", "async", "launch")
_MADE_ONCE = frozenset(("Bean", "PostConstruct", "Provides", "Singleton", "BeforeAll", "Produces"))


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_with_name(_POOLS.search):
        scope = facts.named_function_of(call)
        if scope is None:
            continue
        wrapped = next(
            (each for each in facts.calls_on(call) if each.method == "asCoroutineDispatcher"), None
        )
        call = call if wrapped is None else wrapped
        if _is_kept(call, scope, facts):
            continue
        if scope.short_name in ("__init__", "<init>", scope.owner.rpartition(".")[2]):
            continue
        if any(each.method in _MADE_ONCE for each in scope.decorators):
            continue
        name = call.assigned[0] if call.assigned else ""
        if not name and not _is_used(call, facts):
            continue
        given = [each for each in scope.parameters if each.name != "self"]
        once = _ONCE.match(scope.short_name) or (_MAKES.match(scope.short_name) and not given)
        if once and not facts.loops_around(call):
            continue
        if not _ends(call, name, scope, facts):
            what = f"{scope.short_name}() makes a pool with every call and never shuts it down"
            yield Hit(call.span, what, LIKELY)


def _is_used(call: Call, facts: Facts) -> bool:
    return bool(facts.calls_on(call))


def _is_kept(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether other code has the pool: it is returned, stored, given away or managed."""
    if call.is_returned or call.is_managed or call.is_argument:
        return True
    if any("." in name or "[" in name for name in call.assigned):
        return True
    names = {*call.assigned}
    if any(_is_field(name, facts) for name in names):
        return True
    if any(
        argument.value.text in names
        for each in facts.within(facts.calls, scope.body)
        for argument in each.arguments
        if each.method not in _USES
    ):
        return True
    if any(each.written in names and each.is_managed for each, _ in facts.managed):
        return True
    return any(
        step.kind == "return" and step.text.strip(" ;") in names
        for step in facts.within(facts.steps, scope.body)
    ) or any(
        each.value is not None
        and each.value.text in names
        and each.targets
        and ("." in each.targets[0] or not _is_declared(each, facts))
        for each in facts.within(facts.assignments, scope.body)
    )


def _is_field(name: str, facts: Facts) -> bool:
    """Return whether a name is one of an object or of the file."""
    return name in facts.file_names or f"self.{name}" in facts.file_names


def _is_declared(each: Assignment, facts: Facts) -> bool:
    """Return whether an assignment declares its name; another one is to a field (Java, Kotlin)."""
    return facts.language == "python" or not facts.text(each.span).startswith(each.targets[0])


def _ends(call: Call, name: str, scope: Scope, facts: Facts) -> bool:
    if any(each.method in _ENDS for each in facts.calls_on(call)):
        return True
    return bool(name) and any(
        each.receiver_written == name and each.method in _ENDS
        for each in facts.within(facts.calls, scope.body)
    )


RULE = Rule(
    id="FK-R099",
    slug="pool-not-shut-down",
    title="Thread pool that is never shut down",
    why="Its threads live as long as the process: every call adds some, until no thread can be made.",
    fix="Keep one pool for the process, or shut it down in finally (Java: try-with-resources; Python: with).",
    kind="reliability",
    severity="high",
    languages=(*PYTHON, *JAVA, *KOTLIN),
    check=_check,
)
