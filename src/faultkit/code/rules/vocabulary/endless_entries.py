"""Entries of caches of libraries and of Redis that neither an age nor a size ends.

Maps of a program are in `stores`. A cache is made without a bound, or each entry is put without one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.rules.vocabulary.service_clients import type_of_receiver

_BUILDERS = lazy_regex(
    r"(^|\.)(Caffeine\.newBuilder|CacheBuilder\.newBuilder|Cache\.builder|moka\.\w+\.Cache\.builder)\(\)"
    r"|cache4k\.Cache\.Builder\b"
)
_BOUNDS = lazy_regex(
    r"maximum|expire|weak|soft|max_capacity|time_to|weigher|eviction|\bspec",
    re.IGNORECASE,
)
_MADE = lazy_regex(
    r"^(node-cache|NodeCache|node-cache\.default|cachetools\.Cache|org\.springframework\.cache\.concurrent"
    r"\.ConcurrentMapCache(Manager)?)$"
)
_LOADERS = ("dataloader", "DataLoader", "dataloader.default", "strawberry.dataloader.DataLoader",
            "aiodataloader.DataLoader", "promise.dataloader.DataLoader")  # fmt: skip
_UNBOUND = ("cached.UnboundCache.new", "cached.UnboundCache.with_capacity", "cached.stores.UnboundCache.new")
_TTL_CACHE = lazy_regex(r"^github\.com/(jellydator/ttlcache/v\d|ReneKroon/ttlcache(/v\d)?)\.New(Cache)?$")
_MEMOIZERS = lazy_regex(
    r"^(lodash(/memoize)?|lodash\.memoize|_|memoizee|memoizee/.*|mem|p-memoize|moize|fast-memoize|nano-memoize|memoize)"
    r"(\.memoize|\.default)?$"
)
_MEMO_BOUNDS = lazy_regex(r"max|ttl|expire|cache|primitive\s*:|resolver", re.IGNORECASE)
_ENDS = lazy_regex(r"ttl|max_?keys|maxsize|expir", re.IGNORECASE)

_SETS = frozenset(("set", "Set", "StringSet", "StringSetAsync", "setAsync", "CreateEntry"))
_GETS = frozenset(
    ("get", "Get", "StringGet", "StringGetAsync", "getAsync", "TryGetValue", "getBuffer", "get_async")
)
_REDIS = lazy_regex(
    r"redis|jedis|lettuce|opsForValue\(\)|StackExchange|valkey|(^|\.)_?rdb$|ValueOperations|ConnectionManager",
    re.IGNORECASE,
)
_STORE_WORDS = (
    b"redis", b"jedis", b"lettuce", b"opsforvalue", b"stackexchange", b"valkey", b"valueoperations",
    b"connectionmanager", b"memorycache",
)  # fmt: skip
"""To look for `_REDIS` in a whole text takes long."""
_MEMORY_CACHE = lazy_regex(r"(^|\.)I?MemoryCache$")
_LIVES = lazy_regex(
    r"\bex\b|\bpx\b|\bEX\b|\bPX\b|keepttl|expir|ttl|Duration|TimeSpan|time\.\w+|SetOptions|SetArgs|SetParams|timeout"
    r"|EntryOptions|\bnx\b|\bNX\b|_age|Age\b|MemoryCacheEntryOptions|When\.",
    re.IGNORECASE,
)
_ENDED = lazy_regex(
    r"\b(p?expire|Expire\w*|expireAt|KeyExpire\w*|setex|SetSlidingExpiration)\(", re.IGNORECASE
)
_OPEN = lazy_regex(r"[$%+{]|\bformat|\bf[\"']|Sprintf|key|Key|id\b|Id\b")
"""Keys with a part that varies."""


def endless_entries(facts: Facts) -> Iterator[tuple[Call, str]]:
    """Yield calls that make a cache without a bound, or keep an entry in one for ever."""
    if facts.syntax.language.family == "javascript" and b"mem" in facts.syntax.source:
        yield from _memoized(facts)
    if facts.syntax.has_any(b"cache", b"dataloader"):
        yield from _made_without_bound(facts)
    if facts.syntax.has_any(*_STORE_WORDS):
        yield from _kept_for_ever(facts)


def _made_without_bound(facts: Facts) -> Iterator[tuple[Call, str]]:
    is_script = facts.syntax.language.family == "javascript"
    for call in facts.calls_of_method("build", "buildAsync"):
        if _BUILDERS.search(call.name) and not _BOUNDS.search(facts.text(call.span)):
            yield call, f"{call.written}() makes a cache without a size and an age"
    for call in facts.calls_named("github.com/patrickmn/go-cache.New"):
        first = call.argument(place=0)
        if first is not None and first.value.text.endswith("NoExpiration"):
            yield call, f"{call.written}() makes a cache without a size and an age"
    for call in facts.calls_of_method("GetOrCreate", "GetOrCreateAsync"):
        key = call.argument(place=0)
        if key is None or not any(_MEMORY_CACHE.search(each) for each in _names_of(call, facts)):
            continue
        text = facts.text(call.span)
        is_ended = _LIVES.search(text) is not None or re.search(r"Size\s*=", text) is not None
        if len(call.positional) == 2 and not is_ended and _varies(key.value.text, call, facts):
            yield call, f"{call.written}() keeps each entry for ever"
    for call in facts.calls_of_method("New", "NewCache") if facts.language == "go" else ():
        if _TTL_CACHE.match(call.name) and not re.search(r"TTL|Capacity", facts.text(call.span)):
            yield call, f"{call.written}() makes a cache without a size and an age"
    for call in facts.calls_of_method("LRUCache", "LRU") if is_script else ():
        # Without a size, what is too old stays until it is asked for again.
        ends = call.has("max", "maxSize", "ttlAutopurge") or call.spreads
        if call.constructs and call.has("ttl", "maxAge") and not ends:
            yield call, f"{call.written}() has an age but no size: it keeps what is never asked for again"
    for call in facts.calls_named(*_LOADERS):
        of_file = any(
            each.call is call and each.scope is None and not each.owner for each in facts.assignments
        )
        if of_file and not call.has("cache", "cacheMap", "cache_map"):
            yield call, f"{call.written}() of the whole program keeps each result for ever"
    for call in facts.calls_named(*_UNBOUND) if facts.language == "rust" else ():
        yield call, f"{call.written}() makes a cache without a size and an age"
    for call in facts.calls_with_name(_MADE.match):
        if call.constructs and not _ENDS.search(facts.text(call.span)):
            yield call, f"{call.written}() makes a cache without a size and an age"


def _memoized(facts: Facts) -> Iterator[tuple[Call, str]]:
    """Yield async functions with arguments of which each result is kept: `memoize(async (id) => …)`."""
    for call in facts.calls_with_name(_MEMOIZERS.match):
        if call.method == "_" or len(call.positional) != 1:
            continue
        given = call.positional[0].value
        scope = facts.function_at(given.span)
        found = [scope] if scope is not None else [*facts.functions_named(given.text.rpartition(".")[2])]
        is_one = len(found) == 1 and found[0] is not None and found[0].is_async and found[0].parameters
        if is_one and not _MEMO_BOUNDS.search(facts.text(call.span).replace(given.text, "")):
            yield call, f"{call.written}() keeps each result for ever"


def _kept_for_ever(facts: Facts) -> Iterator[tuple[Call, str]]:
    """Yield what a function that looks up a key, and loads what is missing, puts there without an age."""
    for call in facts.calls_of_method(*_SETS):
        scope = facts.named_function_of(call)
        if scope is None or not _is_cache(call, facts):
            continue
        given = [each.value.text for each in call.arguments]
        if facts.language == "go" and len(given) == 4 and given[3] in ("0", "redis.KeepTTL"):
            key = given[1]
        elif facts.language != "go" and len(call.positional) == 2 and len(given) == 2:
            key = given[0]
        else:
            continue
        body = facts.text(scope.body)
        if _LIVES.search(facts.text(call.span)) or _ENDED.search(body) or not _varies(key, call, facts):
            continue
        in_memory = any(_MEMORY_CACHE.search(each) for each in _names_of(call, facts))
        asked = [
            each
            for each in facts.calls_of_method(*_GETS)
            if each.receiver_written == call.receiver_written
            and (
                in_memory
                or (
                    is_within(each.span, scope.body)
                    and each.span.start < call.span.start
                    and any(_same(argument.value.text, key) for argument in each.arguments)
                )
            )
        ]
        if asked and _is_loaded(given[-1 if facts.language != "go" else 2], asked[0], facts):
            yield call, f"{call.written}() keeps each entry for ever"


def _is_cache(call: Call, facts: Facts) -> bool:
    names = _names_of(call, facts)
    if any(_MEMORY_CACHE.search(each) or _REDIS.search(each) for each in names):
        return True
    made = facts.assignments_to(call.receiver_written, call)
    return any(each.value is not None and _REDIS.search(each.value.text) for each in made)


def _names_of(call: Call, facts: Facts) -> tuple[str, ...]:
    return call.receiver_written, call.receiver, type_of_receiver(call, facts)


def _same(one: str, other: str) -> bool:
    return one.strip("&").removesuffix(".clone()") == other.strip("&").removesuffix(".clone()")


def _varies(key: str, call: Call, facts: Facts) -> bool:
    if key[:1] in "\"'`" and not re.search(r"[${+]", key):
        return False
    if key.isupper():
        return False
    scope = facts.named_function_of(call)
    if scope is not None and any(each.name == key for each in scope.parameters):
        return True
    made = [
        each.value.text
        for each in facts.assignments_to(key, call)
        if each.value is not None and each.scope is not None
    ]
    return any(map(_OPEN.search, (key, *made)))


def _is_loaded(value: str, asked: Call, facts: Facts) -> bool:
    """Return whether the value is no change of what was read: a counter or a state has no age."""
    read = {
        name
        for each in facts.assignments
        if is_within(asked.span, each.span)
        for name in each.targets
        if name.isidentifier() and name != "err"
    }
    return not read & {*re.findall(r"[A-Za-z_]\w*", value)}


def endless_decorators(facts: Facts) -> Iterator[tuple[Call, str]]:
    """Yield decorators and attributes that keep each result of a function with arguments."""
    for scope in facts.scopes:
        if not scope.decorators or not any(each.name not in ("self", "cls") for each in scope.parameters):
            continue
        for each in scope.decorators:
            if _is_endless(each, facts):
                yield each, f"{scope.short_name} keeps every result that it ever gave"


def _is_endless(each: Call, facts: Facts) -> bool:
    if each.name in ("functools.cache", "cache"):
        return True
    if each.name in ("functools.lru_cache", "lru_cache"):
        size = each.argument("maxsize", place=0)
        return size is not None and size.value.shape == "none"
    return _is_endless_decorator(each) or _is_endless_attribute(each, facts)


def _is_endless_attribute(call: Call, facts: Facts) -> bool:
    """Return whether an attribute of the crates cached and memoize keeps each result (Rust)."""
    if facts.language != "rust" or call.method not in ("cached", "memoize"):
        return False
    return not re.search(r"size|time|ttl|[cC]apacity|TimeToLive|\bty\b|create", facts.text(call.span))


def _is_endless_decorator(call: Call) -> bool:
    """Return whether a decorator of a library keeps each result: no time, no size, or a plain dict."""
    if call.name == "async_lru.alru_cache":
        size = call.argument("maxsize", place=0)
        return size is not None and size.value.shape == "none" and not call.has("ttl")
    if call.name == "aiocache.cached":
        return not call.has("ttl", "cache", "alias") and not call.spreads
    kept = call.argument("cache", place=0)
    is_plain = kept is not None and kept.value.text.strip() in ("{}", "dict()")
    return call.name in ("cachetools.cached", "cachetools.cachedmethod", "asyncache.cached") and is_plain
