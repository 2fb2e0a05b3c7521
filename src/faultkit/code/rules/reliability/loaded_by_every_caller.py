"""Finds values that are looked up, found missing, and then loaded by every caller that came meanwhile.

A finding is likely if the file shows that there are many callers: the value gets too old, it belongs to the
file, is static or in a cache, the map is one for threads, or the load runs for each request or message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Scope, Step, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.collaborators import is_store_call
from faultkit.code.rules.vocabulary.filled_maps import is_counted, is_filled, makes_value
from faultkit.code.rules.vocabulary.live_objects import is_live, makes_live
from faultkit.code.rules.vocabulary.lock_regions import lock_regions, regions_around
from faultkit.code.rules.vocabulary.name_places import has_word
from faultkit.code.rules.vocabulary.remote_calls import remote_calls
from faultkit.code.rules.vocabulary.repetition import frequency_of, is_for_screen
from faultkit.code.rules.vocabulary.singletons import singletons
from faultkit.code.rules.vocabulary.stores import ATOMIC, MapStore, Put, lookups, map_stores, puts_of, words
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_GUARDS = TextPattern(
    r"(?<![bcBC])lock|mutex|semaphore|synchroni[sz]ed|single_?flight|in_?flight|pending|deferred|\bonce\b|acquire|WaitAsync"
    r"|loading|refreshing|Lazy|AsyncCache|LoadingCache|(?-i:\w+Promise\b|\bpromise\b)|compareAndSet|\bnx\b|setnx|SetNX|setIfAbsent"
    r"|jitter|stale|lease|\bgroup\.Do\b|\bsf\.Do\b|coalesc|dedup|shared\(\)|\.shared\b|\bactor\b",
    re.IGNORECASE,
)
_LOCK_WORDS = lazy_regex(r"(?i:\b\w*(?:lock|mutex|mu|sem\w*|gate))\.(?:R?Lock|R?Unlock|read|write|lock)\(\)")
"""A lock by its use; whether it is held during the load is known by its regions."""
_ONE_OF_MANY = lazy_regex(
    r"user|member|customer|session|number|text|query|term|prefix|address|\bip\b|remote_?addr|email|mail|token|phone|search|url"
    r"|host|visitor|account|input|phrase|word|order|device|serial|plate|vin\b|isbn|\bcode\b|hash|postcode|zip",
    re.IGNORECASE,
)
"""Keys of which each is asked for by few callers at a time."""
_SHARE = frozenset(("Do", "DoChan", "runExclusive", "withLock", "computeIfAbsent", "singleflight", "compute"))
"""Methods that run a function that they are given for one caller at a time."""
_THREADED = ("threading", "flask", "django", "fastapi", "concurrent.futures", "celery", "starlette")
_SHARED = lazy_regex(r"\b(Concurrent\w*|DashMap|sync\.Map)\b")
_MISSING = lazy_regex(
    r"!|\bnot\b|null|None|nil|undefined|[<>]|[eE]xpir|ContainsKey|is_none|Before|After|isEmpty"
)
_TOKEN_LIKE = lazy_regex(
    r"token|jwks|key_?set|\bkeys\b|cache|cached|session|credential|config|rates|prices|settings|flags|catalog|list"
    r"|snapshot|secret|access|auth|discovery|metadata|client|conn|connection|channel|pool|db",
    re.IGNORECASE,
)
_AGE = lazy_regex(
    r"expir|\bage\b|max_?age|ttl|until|isBefore|isAfter|elapsed|time\.|Date\.now|now\(|Now\b|fresh|stale",
    re.IGNORECASE,
)
_STARTS = lazy_regex(
    r"^_?(init|setup|start|connect|open|load|reload|refresh|update|main|on_?startup|__aenter__|constructor)"
)
_CACHES = lazy_regex(r"(^|[._])\w*(redis|rdb|cache|memcache\w*)\w*(\.opsForValue\(\))?$", re.IGNORECASE)
_READS = frozenset(
    ("get", "Get", "hget", "StringGetAsync", "GetStringAsync", "GetAsync", "mget", "TryGetValue")
)
_STORES = frozenset(
    ("set", "setex", "Set", "setEx", "psetex", "StringSetAsync", "SetStringAsync", "SetAsync", "hset",
     "SetEX", "set_ex")
)  # fmt: skip


def loads_by_every_caller(facts: Facts) -> Iterator[Hit]:
    """Yield values that every caller loads until one of them has stored it, one for each function."""
    if is_for_screen(facts):
        return
    seen: set[Scope] = set()
    for store in map_stores(facts):
        for put in puts_of(store, facts):
            if put.scope in seen or put.method in ATOMIC:
                continue
            if (hit := _of_map(store, put, facts)) is not None:
                seen.add(put.scope)
                yield hit
    for each in facts.assignments:
        if each.scope is not None and each.scope not in seen and (hit := _of_member(each, facts)) is not None:
            seen.add(each.scope)
            yield hit
    for call in facts.calls_of_method(*_STORES):
        scope = facts.named_function_of(call)
        if scope and scope not in seen and (hit := _of_cache(call, scope, facts)) is not None:
            seen.add(scope)
            yield hit
    yield from _through_helpers(facts, seen)


def _of_map(store: MapStore, put: Put, facts: Facts) -> Hit | None:
    """Return `if key not in map: map[key] = await load(key)`, where nothing makes other callers wait."""
    if not put.key or _is_guarded_load(put.scope, facts):
        return None
    if _FOR_ONE_REQUEST.search(put.scope.owner) and not _SHARED.search(store.text):
        return None  # Each request has an object of its own.
    asked = next(lookups(store, put, facts), None)
    if asked is None or not _IS_TESTED.search(facts.text(Span(max(0, asked.start - 60), put.span.end))):
        return None  # Without a test, what is there is only compared with what is loaded.
    between = Span(asked.end, put.span.end)
    if _OR_ELSE.match(facts.text(Span(asked.end, min(asked.end + 16, put.span.end)))):
        return None  # What is there is compared with what is loaded in any case.
    if _SHARED.search(store.text) and is_counted(store, put, facts):
        what = f"{store.bare} is read and written back in two steps: changes in between are lost"
        return Hit(put.span, what, LIKELY)
    loaded = _loaded(put.span, put.value, between, put.scope, facts)
    if loaded is not None and not _is_one_of_many(put.key, put.scope, facts):
        what = f"until {store.bare} has the value, every caller loads it again"
        # A lock that is given back before the load may be a choice: it is not held over I/O.
        is_choice = _LOCK_WORDS.search(facts.text(put.scope.span)) is not None
        has_many = _is_asked_by_many(store, put, facts) or makes_live(loaded, facts, levels=1)
        return Hit(loaded, what, LIKELY if has_many and not is_choice else POSSIBLE)
    if _EVENTS.search(put.scope.short_name):
        return None  # Events of one thing come one after the other.
    if (
        _SHARED.search(store.text)
        and makes_value(put, between, facts)
        and facts.language != "rust"
        and is_filled(store, asked, put, facts)
    ):
        what = f"{store.bare} is asked and filled in two steps: several callers make the value, one is kept"
        return Hit(put.span, what, LIKELY if makes_live(between, facts) else POSSIBLE)
    return None


def _is_asked_by_many(store: MapStore, put: Put, facts: Facts) -> bool:
    """Return whether several callers come at once: all share the map, or it is filled for each request.

    A map that is filled once for each key matters less: one of a script needs values that get too old, and
    one of C# must be of a class of which there is one object."""
    if any(call.method.lower().startswith("schedule") for call in facts.calls_around(put)):
        return False
    if _is_frequent(put, facts):
        return True
    is_static = _is_static(store.bare, facts)
    if facts.language in JAVASCRIPT:
        return is_static and _AGE.search(facts.text(put.scope.span)) is not None
    if facts.language == "csharp" and not is_static:
        return put.scope.owner.rpartition(".")[2] in singletons(facts)
    return is_static or _SHARED.search(store.text) is not None


_EVENTS = lazy_regex(r"^on[A-Z]|[a-z](?:Added|Removed|Changed|Connected|Joined|Discovered)$")
_FOR_ONE_REQUEST = lazy_regex(r"(?:AuthorizationHandler|Controller|PageModel|ViewModel)$")
_IS_TESTED = lazy_regex(r"\b(?:if|when|match|while|switch)\b|\?|\|\||=>|->|\.or|\bunless\b")
_OR_ELSE = lazy_regex(r"\)?\s*(?:\?\?|\|\||\?:|,)\s*-?\d")


def _of_member(each: Assignment, facts: Facts) -> Hit | None:
    """Return `if (!this.token || expired) this.token = await fetchToken()`."""
    scope, target = each.scope, "" if not each.targets else each.targets[0]
    if scope is None or not target or each.operator not in ("=", ":="):
        return None
    is_member = target.startswith("self.") or (
        f"self.{target}" in facts.file_names and facts.language in ("java", "kotlin", "csharp")
    )
    is_global = target in facts.file_names and target.isidentifier()
    bare = target.removeprefix("self.")
    if not (is_member or is_global) or "[" in bare or each.value is None:
        return None
    named = facts.named_function_of(each) or scope
    if _STARTS.match(named.short_name) or not _may_wait(named, facts):
        return None
    tests = [
        step
        for step in facts.within(facts.steps, named.body)
        if step.kind == "branch" and step.span.start < each.span.start
    ]
    if not tests:
        return None
    own = [bare] + [
        other.targets[0]
        for other in facts.within(facts.assignments, named.body)
        if other.value is not None
        and len(other.targets) == 1
        and other.targets[0].isidentifier()
        and other.value.text.removeprefix("this.").removeprefix("self.") == bare
    ]
    tested = [
        step
        for step in tests
        if any(name in step.text and has_word(name, step.text) for name in own)
        and (_TOKEN_LIKE.search(bare) or _AGE.search(step.text))
        and _MISSING.search(step.text)
        and (is_within(each.span, step.span) or _returns_early(step, facts))
    ]
    if not tested or _is_guarded(named, facts):
        return None
    last = tested[-1].span
    begin = last.start if is_within(each.span, last) else last.end
    loaded = _loaded(each.span, each.value.text, Span(begin, each.span.end), named, facts)
    if loaded is None:
        return None
    what = f"while {bare} is missing or too old, every caller loads it again"
    has_many = (
        (any(_AGE.search(step.text) for step in tested) and not is_live(bare.lstrip("_").capitalize()))
        or (is_global and not is_member)
        or _is_static(bare, facts)
        or _is_frequent(each, facts)
    )
    return Hit(loaded, what, LIKELY if has_many and has_word(bare, tested[-1].text) else POSSIBLE)


def _is_frequent(place: Placed, facts: Facts) -> bool:
    """Return whether code runs for each request or message; a loop over items is one caller."""
    return frequency_of(place, facts) in ("request", "message")


def _is_static(name: str, facts: Facts) -> bool:
    """Return whether a member belongs to its class and a variable to the file: all objects share it."""
    if name in facts.file_names:
        return True
    return TextPattern(rf"\bstatic\b[^;=(){{}}]*\b{re.escape(name)}\b").is_in(facts.whole_text)


_EXPIRES = lazy_regex(
    r"expir|valid|fresh|[sS]tale|\bage\b|max_?age|ttl|until|deadline|loaded|fetched|updated|refresh|[<>]",
    re.IGNORECASE,
)
_FETCHES = lazy_regex(
    r"^_?(load|reload|fetch|refresh|renew|request|download|get|retrieve|query|pull|acquire|obtain|authenticate|login|compute"
    r"|build|update)",
    re.IGNORECASE,
)


def _through_helpers(facts: Facts, seen: set[Scope]) -> Iterator[Hit]:
    """Yield calls of a helper that loads and stores what the caller has just found missing or too old."""
    for helper in facts.scopes:
        if not helper.name or helper.is_anonymous or not _FETCHES.match(helper.short_name):
            continue
        if any(_ONE_OF_MANY.search(each.name) for each in helper.parameters):
            continue
        kept = _kept_by(helper, facts)
        if not kept or helper in seen or _is_guarded(helper, facts, _load_in(helper, facts)):
            continue
        for call in facts.callers_of(helper):
            scope = facts.named_function_of(call)
            if scope is None or scope is helper or scope in seen or call.is_launched:
                continue
            if facts.loops_around(call):
                continue  # A loop is one caller.
            name = _asked_before(kept, call, scope, facts)
            if name and not _is_guarded(scope, facts, call):
                seen.add(scope)
                what = f"while {name} is missing or too old, every caller loads it again"
                before = facts.text(Span(scope.body.start, call.span.start))
                is_shared = _is_static(name, facts) or _CACHES.search(name)
                has_many = is_shared or _AGE.search(before) or _is_frequent(call, facts)
                yield Hit(call.span, what, LIKELY if has_many else POSSIBLE)
                break


def _kept_by(helper: Scope, facts: Facts) -> set[str]:
    """Return members that a function sets after it has waited for another service; `*` for a cache."""
    loads = _load_in(helper, facts)
    if loads is None:
        return set()
    has_bare = facts.language in ("java", "kotlin", "csharp")
    kept = {
        target.removeprefix("self.").removesuffix("[]")
        for each in facts.within(facts.assignments, helper.body)
        for target in each.targets
        if each.span.end > loads.span.end
        and (target.startswith("self.") or (has_bare and target.removesuffix("[]") in _members(facts)))
        and each.operator in ("=", ":=")
    }
    for call in facts.within(facts.calls_of_method(*_STORES, "put", "insert"), helper.body):
        bare = call.receiver_written.removeprefix("self.").removeprefix("this.")
        if call.span.start > loads.span.start and (bare in _members(facts) or _CACHES.search(bare)):
            kept.add(bare)
    kept = {name for name in kept if "." not in name and not _PROGRESS.search(name)}
    return set() if all(map(_TIMES.search, kept)) else kept


_TIMES = lazy_regex(r"(?:[a-z](?:After|Until|At|Time)|_(?:after|until|at|time))$")
"""Members that say when something was or may be done: they are no values that were loaded."""
_PROGRESS = lazy_regex(
    r"^_?(err(or)?|end|done|closed|started|state|next|page|cursor|offset|html|rows?|count)$|[eE]nd$"
)
"""Members that say how far something has come."""


@lru_cache(maxsize=4)
def _members(facts: Facts) -> frozenset[str]:
    return frozenset(name.removeprefix("self.") for name in facts.file_names if name.startswith("self."))


def _asked_before(kept: set[str], call: Call, scope: Scope, facts: Facts) -> str:
    """Return the member that a function looks at before it calls the helper, and leaves if it is there."""
    before = facts.text(Span(scope.body.start, call.span.start))
    looked = "|".join(map(re.escape, kept))
    asks = re.search(rf"(?<!\w)({looked})\b(?!\s*(?::?=)(?!=))", before)
    if asks is None:
        readers = {
            other.short_name
            for other in facts.scopes
            if other.name
            and other is not scope
            and re.search(rf"(?<!\w)({looked})\b", facts.text(other.body))
        }
        if not any(
            each.method in readers and each.span.end <= call.span.start
            for each in facts.within(facts.calls, scope.body)
        ):
            return ""
    around = [
        step
        for step in facts.within(facts.steps, scope.body)
        if step.kind == "branch" and step.span.start < call.span.start
    ]
    is_chosen = any(
        is_within(call.span, step.span) or _returns_early(step, facts) for step in around
    ) or re.search(r"\breturn\b|\?:\s*$", before)
    if not is_chosen or not (_EXPIRES.search(before) or _MISSING.search(before)):
        return ""
    if not _AGE.search(before) and not any(_TOKEN_LIKE.search(name) or _CACHES.search(name) for name in kept):
        return ""
    return asks[1] if asks is not None else sorted(kept)[0]


def _load_in(scope: Scope, facts: Facts) -> Call | None:
    """Return the first call of a function that waits for another service."""
    calls = facts.within(facts.calls, scope.body)
    if facts.language in ("python", *JAVASCRIPT, "csharp", "rust") and scope.is_async:
        awaited = (call for call in calls if call.is_awaited and not is_logging(call))
        return next((call for call in awaited if not _CACHES.search(call.receiver_written)), None)
    if facts.language == "python" and not facts.imports_any(*_THREADED):
        return None
    remote = _remote(facts)
    loads = (call for call in calls if call in remote or is_store_call(call, facts))
    return next((call for call in loads if not is_logging(call)), None)


@lru_cache(maxsize=4)
def _remote(facts: Facts) -> frozenset[Call]:
    return frozenset(each.call for each in remote_calls(facts) if each.kind != "cache")


def _returns_early(step: Step, facts: Facts) -> bool:
    return any(each.leaves == "function" for each in facts.arms if each.fork == step.span)


def _of_cache(stored: Call, scope: Scope, facts: Facts) -> Hit | None:
    """Return `redis.get(key)`, a load, and `redis.set(key, …)` in one function."""
    owner, key = stored.receiver_written, stored.argument(place=1 if _takes_context(stored) else 0)
    if key is None or not _CACHES.search(owner) or _is_guarded(scope, facts) or len(stored.arguments) < 2:
        return None
    if _is_one_of_many(key.value.text, scope, facts) or _is_of_several(key.value.text, scope, facts):
        return None
    asked = [
        call
        for call in facts.within(facts.calls, scope.body)
        if call.receiver_written == owner
        and call.method in _READS
        and call.span.end < stored.span.start
        and any(each.value.text == key.value.text for each in call.arguments)
    ]
    if not asked:
        return None
    remote = _remote(facts)
    inside = Span(asked[-1].span.end, stored.span.start)
    if not any(
        call in remote or (call.assigned and call.receiver_written != owner and is_store_call(call, facts))
        for call in facts.within(facts.calls, inside)
    ):
        return None
    what = f"when {key.value.text} expires, every caller loads the value again at once"
    return Hit(stored.span, what, POSSIBLE)


_VALUES = lazy_regex(r"\$?\{\w[^{}]*\}|%[sdvqx]|\{\}|\$[a-z]\w*|\+\s*[a-z]\w*")
"""Values in a key: of a template, of a format, or joined to a text."""


def _is_of_several(key: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a key is made of several values: their combinations share the callers among them."""
    made = [
        each.value.text
        for each in facts.within(facts.assignments, scope.body)
        if each.value is not None and key in each.targets
    ]
    return any(len(_VALUES.findall(text)) > 1 for text in (key, *made) if re.search("[\"'`]", text))


def _is_one_of_many(key: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a key, or what it is made of, stands for one of many things."""
    made = [
        each.value.text
        for each in facts.within(facts.assignments, scope.body)
        if each.value is not None and key in each.targets
    ]
    # `key = KeyOf(basket)`: a key that is a hash of all that was asked for
    called = {found for text in made for found in re.findall(r"^(?:await )?(?:self\.|this\.)?(\w+)\(", text)}
    made += [facts.text(each.body) for each in facts.functions_named(*called)]
    return any(map(_ONE_OF_MANY.search, (key, *made)))


def _takes_context(call: Call) -> bool:
    return bool(call.positional) and re.fullmatch(r"\w*[cC]tx", call.positional[0].value.text) is not None


_EXCLUSIVE = lazy_regex(r"\(\s*&(?:'\w+\s+)?mut\s+self\b")


@lru_cache(maxsize=4)
def _guarded_loads(facts: Facts) -> dict[Scope, bool]:
    """Return a place for answers of `_is_guarded_load`."""
    return {}


def _is_guarded_load(scope: Scope, facts: Facts) -> bool:
    """Return whether others wait for the first load of a function: asked once for all that it stores."""
    known = _guarded_loads(facts)
    if scope not in known:
        known[scope] = _is_guarded(scope, facts, _load_in(scope, facts))
    return known[scope]


def _is_guarded(scope: Scope, facts: Facts, load: Call | None = None) -> bool:
    """Return whether a function makes other callers wait, or one of them load for all.

    A lock that is given back before the load does neither (Go, Java, Python)."""
    text = facts.text(scope.span)
    if facts.language == "rust" and _EXCLUSIVE.search(facts.text(scope.head)):
        return True  # One caller at a time can have it.
    if load is not None and any(each.method in _SHARE for each in facts.calls_around(load)):
        return True
    if load is not None and facts.language in ("go", "java", "python"):
        if regions_around(load, lock_regions(facts)):
            return True
        text = _LOCK_WORDS.sub("", text)
    regions = lock_regions(facts)
    callers = facts.callers_of(scope) if regions and scope.name else ()
    if callers and all(regions_around(each, regions) for each in callers):
        return True  # All callers hold a lock.
    if _GUARDS.is_in(text):
        return True
    return scope.outer is not None and bool(scope.outer.name) and _GUARDS.is_in(facts.text(scope.outer.span))


def _loaded(stored: Span, value: str, between: Span, scope: Scope, facts: Facts) -> Span | None:
    """Return from where a value is loaded to where it is stored: at once, or in a variable before."""
    if _waits(stored, scope, facts):
        return stored
    used = words(value)
    for each in facts.within(facts.assignments, between):
        if not used.isdisjoint(each.targets) and _waits(each.span, scope, facts):
            return Span(each.span.start, stored.end)
    return None


@lru_cache(maxsize=64)
def _may_wait(scope: Scope, facts: Facts) -> bool:
    """Return whether a function waits anywhere: that is asked once for all that it sets."""
    return _waits(scope.body, scope, facts)


def _waits(span: Span, scope: Scope, facts: Facts) -> bool:
    """Return whether a load in between gives other callers the time to come: an await, or a remote call."""
    calls = facts.within(facts.calls, span)
    if facts.language in ("python", *JAVASCRIPT, "csharp", "rust"):
        return scope.is_async and any(call.is_awaited and not is_logging(call) for call in calls)
    remote = {each.call for each in remote_calls(facts)}
    own = set[str]()
    if facts.language == "kotlin" and scope.is_async:
        own = {each.short_name for each in facts.scopes if each.is_async}
    return any(
        (call in remote or call.method in own or is_store_call(call, facts)) and not is_logging(call)
        for call in calls
    )


RULE = Rule(
    id="FK-R092",
    slug="loaded-by-every-caller",
    title="Missing value loaded by every caller at once",
    why="When a value is missing or has expired, all requests that come meanwhile load it: one key becomes "
    "a burst of the same request, and what was made twice is lost or leaks.",
    fix="Share one load: keep its promise or task, use computeIfAbsent, singleflight or a lock per key, and "
    "look again inside it.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=loads_by_every_caller,
)
