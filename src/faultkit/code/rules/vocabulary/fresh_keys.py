"""Keys against repetition that every try makes anew: the other side takes a repetition for a new request.

    for attempt in range(4):                          key = str(uuid.uuid4())
        send(order, key=str(uuid.uuid4()))            for attempt in range(4):
                                                          send(order, key=key)

A key is followed from what makes it, through variables, parameters and functions of the same text, to a
header, field or argument that is named like one. Whether it is made in every try is asked of the places that
lead there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, Place, Scope, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.call_paths import callers_of_function
from faultkit.code.rules.vocabulary.idempotency_keys import KEY, KEY_NAME, KEY_WORDS
from faultkit.code.rules.vocabulary.repetition import retries
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_SEPARATOR = r"[\w\-]*[\"'`\])]*\s*(?:=>|:=|[:=,(])\s*"
_BEFORE = lazy_regex(rf"{KEY}{_SEPARATOR}[^;,\n]*(?:\n\s*[^;,\n=:]*)?$", re.IGNORECASE)
"""The text before a value that is a key."""
_SET_KEY = TextPattern(rf"{KEY}{_SEPARATOR}", re.IGNORECASE)
_NEW = frozenset(
    (
        "uuid4", "uuid1", "uuid7", "uuid6", "randomUUID", "random_uuid", "NewString", "NewRandom", "NewV4",
        "NewV7", "NewUUID", "NewGuid", "CreateVersion7", "new_v4", "now_v7", "new_v7", "nanoid", "uuidv4",
        "uuidv7", "v4", "v7", "cuid", "createId", "token_hex", "token_urlsafe", "randomBytes", "NewULID",
        "time_ns", "UnixNano", "UnixMilli", "currentTimeMillis", "nanoTime", "ulid", "randomHex",
    )
)  # fmt: skip
"""Functions that return another value in every call."""
_NEW_OF_TYPE = lazy_regex(
    r"(^|[./])(uuid|ulid|xid|ksuid|Ulid|ULID|Uuid|UlidCreator|Ksuid|KSUID|TSID|Date|time)"
    r"\.(New|Make|new|random|nextULID|fast|now|time|generate|getUlid|getMonotonicUlid)$"
)
_KEPT = frozenset(
    (
        "computeIfAbsent", "getOrPut", "setdefault", "unwrap_or_else", "get_or_insert_with", "or_insert_with",
        "orElseGet", "GetOrAdd", "getOrElse", "get_or_create", "getOrSet", "useMemo", "useRef", "useState",
        "uuid5", "NewSHA1", "nameUUIDFromBytes", "lazy", "map_or_else", "requireNonNullElseGet",
    )
)  # fmt: skip
"""Calls around a new value that is kept for the next time, or made only where there is none yet."""
_OTHERWISE = lazy_regex(r"\bor\s+[\w.(]*$|\?\?=?\s*[\w.(]*$|\|\|=?\s*[\w.(]*$|\?:\s*[\w.(]*$")
_TRIES = lazy_regex(r"attempt|retr(y|ies)|\btr(y|ies)\b", re.IGNORECASE)
_JOBS = frozenset(
    (
        "actor", "KafkaListener", "RabbitListener", "SqsListener", "JmsListener", "AutomaticRetry",
        "Activity", "ActivityMethod", "Incoming", "Retryable", "Retry",
    )
)  # fmt: skip
"""Decorators of functions that run again after a failure."""
_TEMPORAL = ("temporalio.activity.defn", "activity.defn")
_LEVELS = 3
_REACH = 200


@dataclass(frozen=True, slots=True)
class FreshKey:
    """A key that is made in every try."""

    span: Span
    scopes: tuple[Scope, ...]
    """The functions through which it is passed on."""
    is_counted: bool = False
    """Whether it differs by the number of the try, and not by chance."""


def fresh_keys(facts: Facts) -> Iterator[FreshKey]:
    """Yield the keys that every try makes anew."""
    if not facts.syntax.has_any(*KEY_WORDS):
        return
    shown = set[int]()
    for call in _new_values(facts):
        line = facts.line(call)
        scopes = None if line in shown else _key_scopes(call, facts)
        if scopes is not None and is_in_every_try(call, facts) and not _is_kept(call, facts):
            shown.add(line)
            yield FreshKey(call.span, scopes)
    for loop in facts.loops:
        for span in _counted(loop, facts):
            if facts.syntax.line(span.start) not in shown:
                yield FreshKey(span, (), is_counted=True)


def _new_values(facts: Facts) -> Iterator[Call]:
    """Yield calls that return a new value: of libraries, and of functions of this text that return one."""
    made = [
        call
        for call in facts.calls
        if call.method in _NEW or (_NEW_OF_TYPE.search(call.name) is not None and len(call.arguments) < 2)
    ]
    yield from made
    for call in made:
        scope = facts.named_function_of(call)
        if scope is not None and not scope.parameters and facts.text(scope.body).count("\n") < 4:
            yield from facts.callers_of(scope)


def _is_kept(call: Call, facts: Facts) -> bool:
    """Return whether a new value is made only where there is none yet."""
    if any(each.method in _KEPT for each in facts.calls_around(call)):
        return True
    if _OTHERWISE.search(_before(call, facts)):
        return True
    names = _targets(call, facts)
    return any(
        arm.fork.start < call.span.start
        and any(
            re.search(rf"(?<![\w.]){re.escape(name)}\b", facts.text(Span(arm.fork.start, arm.span.start)))
            for name in names
        )
        for arm in facts.within(facts.arms, _around(call, facts))
        if names and is_within(call.span, arm.span)
    )


def _around(place: Placed, facts: Facts) -> Span:
    scope = facts.named_function_of(place)
    return Span(0, len(facts.syntax.source)) if scope is None else scope.span


def _before(call: Call, facts: Facts) -> str:
    return facts.text(Span(max(0, call.span.start - _REACH), call.span.start))


def _names(call: Call, facts: Facts) -> set[str]:
    """Return the variables that hold a value, or a text made with it."""
    return {name for name in _targets(call, facts) if name.isidentifier()}


def _targets(call: Call, facts: Facts) -> set[str]:
    found = {name.rpartition(" ")[2] for name in call.assigned}
    for each in facts.within(facts.assignments, _around(call, facts)):
        if (
            each.value is not None
            and is_within(call.span, each.value.span)
            and each.value.shape != "function"
        ):
            found.update(each.targets)
    return found


def _key_scopes(call: Call, facts: Facts) -> tuple[Scope, ...] | None:
    """Return the functions that pass a value on until it is a key; None if it becomes none."""
    if _BEFORE.search(_before(call, facts)):
        return ()
    names = _names(call, facts)
    around = facts.named_function_of(call)
    span = _around(call, facts)
    if any(KEY_NAME.search(name) or _is_key(name, Span(call.span.end, span.end), facts) for name in names):
        return ()
    seen = set[Scope]() if around is None else {around}
    for given in facts.within(facts.calls, span):
        if given.constructs and _is_key_field(given, names, call, facts):
            return ()
        if (found := _given(given, names, call, seen, facts, _LEVELS)) is not None:
            return found
    return None


def _is_key(name: str, span: Span, facts: Facts) -> bool:
    """Return whether a variable is what a key is set to: `"Idempotency-Key": key`."""
    text = facts.text(span)
    if not _SET_KEY.is_in(text):
        return False
    used = re.compile(rf"{KEY}{_SEPARATOR}[^;,\n]{{0,60}}?(?<![\w.]){re.escape(name)}\b", re.IGNORECASE)
    return used.search(text) is not None


def _is_key_field(made: Call, names: set[str], call: Call, facts: Facts) -> bool:
    """Return whether a value becomes the key among the fields of a record or data class of this text."""
    for place, argument in enumerate(made.arguments):
        if is_within(call.span, argument.value.span) or argument.value.text in names:
            declared = rf"\b(?:record|class)\s+{re.escape(made.method)}\s*\(([^)]*)\)"
            found = re.search(declared, facts.whole_text)
            fields = [] if found is None else found[1].split(",")
            return place < len(fields) and KEY_NAME.search(fields[place]) is not None
    return False


def _given(
    call: Call, names: set[str], made: Call | None, seen: set[Scope], facts: Facts, levels: int
) -> tuple[Scope, ...] | None:
    """Return the functions that pass a value on, from a call that is given it."""
    own = [scope for scope in facts.functions_named(call.method) if scope not in seen] if levels else []
    if len(own) != 1 or not call.arguments:
        return None
    scope = own[0]
    parameters = [each.name for each in scope.parameters if each.name not in ("self", "cls", "this")]
    for place, argument in enumerate(call.arguments):
        holds = made is not None and is_within(made.span, argument.value.span)
        if not holds and argument.value.text not in names:
            continue
        name = argument.name or (parameters[place] if place < len(parameters) else "")
        if not name:
            continue
        if KEY_NAME.search(name) or _is_key(name, scope.body, facts):
            return (scope,)
        for each in facts.within(facts.calls, scope.body):
            if (found := _given(each, {name}, None, {*seen, scope}, facts, levels - 1)) is not None:
                return (scope, *found)
    return None


def is_in_every_try(place: Placed, facts: Facts, levels: int = _LEVELS) -> bool:
    """Return whether code runs again in every try, itself or as a part of a function that does."""
    for each in retries(facts):
        whole = each.body if each.loop is None else each.loop.body
        if is_within(place.span, whole):
            return True
    if any(_counts_tries(loop, facts) for loop in facts.loops_around(place, across=True)):
        return True
    if _is_in_interceptor(place, facts):
        return True
    scope = facts.named_function_of(place)
    if scope is None:
        return False
    if _runs_again(scope, facts):
        return True
    if levels == 0:
        return False
    return any(
        is_in_every_try(caller, facts, levels - 1)
        for caller in callers_of_function(scope, facts)
        if facts.named_function_of(caller) is not scope
    )


def _counts_tries(loop: Loop, facts: Facts) -> bool:
    if loop.kind == "comprehension":
        return False
    if loop.kind == "each":
        # `for payment in retry_queue` has an item in every round.
        return _TRIES.search(" ".join(loop.targets)) is not None
    return _TRIES.search(f"{loop.over} {facts.text(loop.head)[:120]}") is not None


def _runs_again(scope: Scope, facts: Facts) -> bool:
    """Return whether a queue runs a function again after a failure, or a helper is given it to try."""
    for each in scope.decorators:
        if each.method in _JOBS or each.name in _TEMPORAL or each.has("autoretry_for", "retries"):
            limit = each.argument("max_retries", "retries")
            return limit is None or limit.value.text != "0"
        if each.method in ("task", "shared_task") and "self.retry(" in facts.text(scope.body):
            return True
    name = scope.short_name
    if not name or not facts.syntax.has_any(b"retr"):
        return False
    return any(
        any(each.value.text.rpartition(".")[2] == name for each in call.arguments)
        for call in facts.calls
        if _TRIES.search(call.written)
    )


def _is_in_interceptor(place: Placed, facts: Facts) -> bool:
    """Return whether code runs for each request that a client sends, those that it repeats included."""
    if facts.syntax.has_any(b"axiosretry", b"axios-retry"):
        return any(
            call.method == "use" and call.receiver_written.endswith("interceptors.request")
            for call in facts.calls_around(place)
        )
    scope = facts.named_function_of(place)
    if facts.language != "csharp" or scope is None:
        return False
    if not any(base.endswith("DelegatingHandler") for base in facts.classes.get(scope.owner, ())):
        return False
    # What is registered first is outermost.
    text = facts.whole_text
    first = re.search(
        r"\.Add(?:PolicyHandler|StandardResilienceHandler|ResilienceHandler|Transient\w+)\b", text
    )
    mine = re.search(rf"AddHttpMessageHandler<{re.escape(scope.owner.rpartition('.')[2])}>", text)
    return first is not None and mine is not None and first.start() < mine.start()


def _counted(loop: Loop, facts: Facts) -> Iterator[Span]:
    """Yield keys that hold the number of the try: `f"{order.id}-{attempt}"`."""
    if not _counts_tries(loop, facts):
        return
    head = facts.text(loop.head)
    names = {*loop.targets, *re.findall(r"\b(\w*(?:attempt|retry|tries)\w*)\b", head, re.IGNORECASE)}
    names = {name for name in names if name.isidentifier() and name != "_" and not name.isupper()}
    for name in names:
        used = re.compile(
            rf"{KEY}{_SEPARATOR}[^;,\n]{{0,80}}?(?<![\w.\"'])(?<![^\W\d_]){re.escape(name)}\b(?!\s*[=(])",
            re.IGNORECASE,
        )
        for found in used.finditer(facts.text(loop.body)):
            place = facts.syntax.place_of(found, loop.body.start)
            around = facts.calls_around(Place(place))
            if not any(is_logging(call) or call.method.endswith(("Error", "Exception")) for call in around):
                yield place
                return
