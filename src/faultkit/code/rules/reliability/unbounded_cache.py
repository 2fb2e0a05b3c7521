"""Finds caches that only grow.

Evidence: the map lives as long as the process, and a key comes from a request, is loaded from outside, or is
by its name something of which there is no end. Other keys may be few.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import attrgetter

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Scope
from faultkit.code.facts.groups import grouped
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, EVERY_LANGUAGE, KOTLIN, LIKELY, POSSIBLE, Hit, Rule, Severity
from faultkit.code.rules.vocabulary.client_keys import (
    has_addresses,
    is_asked_by_clients,
    is_memo_of_clients,
    removed_on_failure,
    without,
)
from faultkit.code.rules.vocabulary.endless_entries import endless_decorators, endless_entries
from faultkit.code.rules.vocabulary.long_lives import handles_events, is_long_lived
from faultkit.code.rules.vocabulary.name_places import is_followed, set_from
from faultkit.code.rules.vocabulary.open_keys import (
    CLIENTS_TEXT,
    OPEN_WORD,
    has_open_key,
    is_fetched,
    is_loaded,
    is_of_client,
    is_open_by_name,
)
from faultkit.code.rules.vocabulary.remote_calls import chain_of, remote_calls
from faultkit.code.rules.vocabulary.repetition import is_for_screen
from faultkit.code.rules.vocabulary.stores import (
    ATOMIC,
    MapStore,
    Put,
    given_words,
    has_size_check,
    lookups,
    map_stores,
    plain_key,
    puts_of,
    words,
)
from faultkit.code.rules.vocabulary.test_doubles import IS_FAKE
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_OF_OBJECTS = lazy_regex(r"cache|memo", re.IGNORECASE)
"""Names of members that are caches; other members often live too short to grow."""
_NAMED = lazy_regex(r"cache|memo|seen|sessions|registry_by|lookup", re.IGNORECASE)
_OF_PROGRAM = lazy_regex(
    r"class|type|regex|pattern|template|setting|config|adapter|instance|logger|wrapper|option|offset|schema"
    r"|module|plugin|import|method|handler|compiled|format|locale|namespace|caches$|int_?cache|ssl|tls_?c|callback"
    r"|director|jwks|proxy_?c|tracer|label",
    re.IGNORECASE,
)
"""Names of caches whose keys are parts of the program: they are few."""
_CLIENTS_OWN = lazy_regex(
    r"source|expression|expr|formula|script|text|content|term|q|search|phrase|keyword|markdown|markup|prompt",
    re.IGNORECASE,
)
"""Such texts that no program holds a list of, whatever the cache is called."""
_MARKS = lazy_regex(r"\bnow\b|Now\b|currentTimeMillis|monotonic|time\(\)|hrtime|\+ ?1\b", re.IGNORECASE)
"""Values that are kept about a client: when it came, and how often."""
_FEW_KEYS = lazy_regex(
    r"audience|realm|currenc|countr|locale|lang|region|zone|kind|type|mode|env|symbol", re.IGNORECASE
)
_UNIQUE = lazy_regex(r"uuid|nanoid|NewGuid|ulid|token_hex|token_urlsafe|randomBytes", re.IGNORECASE)
_SHARED = TextPattern(r"\b(Concurrent\w*|DashMap|sync\.Map|RwLock|Mutex|Arc)\b")
_TRIMS = (
    "remove|retain|clear|drain|delete|Delete|evict\\w*|pop|popitem|popleft|removeIf|Remove|TryRemove"
    "|computeIfPresent|Clear|LoadAndDelete|remove_if|shift_remove|RemoveWhere|discard|pollFirstEntry|invalidate\\w*"
)
_LIMITER = lazy_regex(r"limit|throttl", re.IGNORECASE)
_KEY = lazy_regex(r"\[\s*(\w+)\s*\]\s*$")
_STATIC = lazy_regex(r"^[^=]*\bstatic\b")
"""Java and TypeScript: static members, which live as long as the process."""
_MAPS = ("dict", "collections.defaultdict", "collections.OrderedDict", "Map", "java.util.HashMap", "map",
         "java.util.concurrent.ConcurrentHashMap", "set", "Set", "Dictionary", "ConcurrentDictionary",
         "mutableMapOf", "hashMapOf")  # fmt: skip
_SHRINKS = frozenset(
    (
        "pop", "popitem", "clear", "delete", "remove", "evict", "expire", "prune", "discard",
        "removeIf", "Remove", "TryRemove", "Clear",
    )
)  # fmt: skip


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language in (*CSHARP, *KOTLIN) and is_for_screen(facts):
        return  # Its keys are what one user opens.
    for call, what in endless_decorators(facts):
        yield Hit(call.span, what, POSSIBLE, "low")
    for call, what in endless_entries(facts):
        yield Hit(call.span, what, POSSIBLE)
    hits = list(_by_name(facts))
    found = {hit.span for hit in hits}
    yield from hits
    for store in map_stores(facts):
        if IS_FAKE.search(store.owner) or (
            not store.is_static and _is_scoped(store.owner, store.text, facts)
        ):
            continue
        if store.made.span in found or not store.has_open_keys(facts):
            continue
        if _fills_on_demand(store, facts) and not _is_trimmed(store, facts):
            what = f"{store.bare} grows with every new key and is never trimmed"
            # What has an age is kept from call to call: such an object outlives its entries.
            lasts = store.is_static or (_is_unswept(store, facts) and _is_loaded(store, facts))
            mild: Severity | None = None if lasts else "low"
            sure = lasts and _has_open_keys(store, facts)
            yield Hit(store.made.span, what, LIKELY if sure else POSSIBLE, mild)


def _has_open_keys(store: MapStore, facts: Facts) -> bool:
    return any(has_open_key(put, store, facts) for put in puts_of(store, facts))


def _is_loaded(store: MapStore, facts: Facts) -> bool:
    """Return whether entries with an age are loaded from outside, for keys that have no end by their name."""
    return any(
        _EXPIRES.search(put.value)
        and is_open_by_name(put, facts)
        and is_loaded(put, given_words(put.scope, facts), facts)
        for put in puts_of(store, facts)
    )


def _fills_on_demand(store: MapStore, facts: Facts) -> bool:
    """Return whether a function stores under keys of an open set that it is given, and looks them up."""
    shared = _SHARED.search(store.text) is not None or is_long_lived(store.owner, facts)
    shared = shared or store.is_closure or (facts.language == "go" and _has_lock(store, facts))
    of_cache = _OF_OBJECTS.search(store.owner) is not None
    named = of_cache or _OF_OBJECTS.search(store.name) is not None
    of_program = _OF_PROGRAM.search(store.name) is not None
    is_brief = _BRIEF.search(store.owner) is not None or _has_unit_of_work(store, facts)
    if is_memo_of_clients(store, facts) and any(puts_of(store, facts)):
        return True
    for put in puts_of(store, facts):
        given = given_words(put.scope, facts)
        by_clients = bool(given & words(put.key)) and is_asked_by_clients(put, facts)
        # What has an age, or was asked of another service, is kept from call to call; so is what a handler
        # of requests asks of an object.
        lives = shared or by_clients or _EXPIRES.search(put.value) is not None
        lives = lives or (not is_brief and is_fetched(put, given, facts))
        if not store.is_static and not lives and not handles_events(put.scope):
            continue
        made = [
            each.value.text
            for each in facts.within(facts.assignments, put.scope.body)
            if each.value is not None and put.key in each.targets
        ]
        from_client = by_clients or is_of_client(put, given) or has_addresses(store)
        if of_program and not is_of_client(put, given) and not _CLIENTS_OWN.fullmatch(plain_key(put.key)):
            continue
        if put.key and any(map(_UNIQUE.search, made)):
            return True  # Each call has a key of its own.
        if not put.key or not given & words(put.key) or _FEW_KEYS.search(put.key):
            continue
        if _is_of_known(put, store, facts):
            continue
        if not (named or from_client or is_fetched(put, given, facts)) and not any(
            OPEN_WORD.search(text) or CLIENTS_TEXT.fullmatch(plain_key(text)) for text in (put.key, *made)
        ):
            continue
        if from_client and _MARKS.search(put.value):
            return True
        if _is_of_connection(put, facts):
            return True
        counts = put.operator in ("+=", "++")
        if counts or put.method in ATOMIC or of_cache:
            return True
        asks = [*lookups(store, put, facts)]
        if asks and not any(_refuses(each, put, facts) for each in asks):
            return True
        touches = put.method in ("set", "put") and _TOUCHES.match(put.scope.short_name) is not None
        if touches and is_followed(store.bare, _ASKED, facts.whole_text):
            return True
    return False


_ASKED = lazy_regex(r"\??\.(get|has|TryGetValue|ContainsKey|containsKey)\(")


_OPENED = frozenset(("connection", "connect", "open", "connected"))


def _is_of_connection(put: Put, facts: Facts) -> bool:
    """Return whether a listener keeps something for each connection that is opened."""
    around = [
        each for each in facts.calls_around(put) if each.method in ("on", "addEventListener", "addListener")
    ]
    first = around[-1].argument(place=0) if around else None
    return first is not None and first.value.literal in _OPENED


_REFUSES = lazy_regex(
    r"[^}]{0,80}?(?:\braise\b|\bthrow\b|return\s+(?:\w+,\s*)?(?:fmt\.Errorf|errors\.New|[eE]rr\w*|Err\()|panic\()"
)


def _refuses(asked: Span, put: Put, facts: Facts) -> bool:
    """Return whether a key that is there already is refused: things are registered."""
    return _REFUSES.match(facts.text(Span(asked.end, put.span.start))) is not None


_BRIEF = lazy_regex(
    r"(Loader|Context|UnitOfWork|Import\w*|Builder|Visitor|Run|Job|Task|Command|Request|Transaction|Batch|Parser|Scraper"
    r"|Crawler|Migration|Migrator|Export\w*|Sync\w*|Scan\w*|Report\w*|Walker|Compiler|Converter)$"
)
"""Names of objects that live as long as one request or one piece of work."""
_UNIT = lazy_regex(r"^_?(session|tx|trx|transaction|request|req|uow|conn|connection|call)$", re.IGNORECASE)


def _has_unit_of_work(store: MapStore, facts: Facts) -> bool:
    """Return whether an object is made for a session, a transaction or a request."""
    makers = facts.functions_named("__init__", "constructor", store.owner)
    given = [one.name for each in makers if each.owner == store.made.owner for one in each.parameters]
    given += [
        each.targets[0].removeprefix("self.")
        for each in facts.assignments
        if facts.language == "kotlin" and each.value is None and each.owner == store.made.owner
    ]
    return any(map(_UNIT.match, given))


_SCOPED = lazy_regex(r"(Handler|Filter|Context|Validator|Query|Command|Authorizer)$")


def _is_scoped(owner: str, text: str, facts: Facts) -> bool:
    """Return whether an object is made for each request, by its name (C#); threads do not share its maps."""
    return facts.language == "csharp" and _SCOPED.search(owner) is not None and "Concurrent" not in text


_ASKS = r"(?:has|contains|containsKey|ContainsKey|Contains|includes|contains_key|get|indexOf)"


def _is_of_known(put: Put, store: MapStore, facts: Facts) -> bool:
    """Return whether keys are looked for in another collection first, and others are refused.

    That may be done by the function that stores, or by those that call it with the same key."""
    key = re.escape(plain_key(put.key))
    if not key:
        return False
    refused = re.compile(
        rf"(?:!\s*|\bnot\s+)(?P<of>[\w.#]+?)(?:\[\s*{key}\s*\]|\.{_ASKS}\(\s*&?{key}\b)[^\n]*"
        rf"|\b{key}\s+(?:not\s+in|!in)\s+(?P<in>[\w.]+)[^\n]*"
    )
    callers = (facts.named_function_of(each) for each in facts.callers_of(put.scope))
    for scope in {put.scope, *(each for each in callers if each is not None)}:
        text = facts.text(scope.body)
        for found in refused.finditer(text):
            known = (found["of"] or found["in"]).rpartition(".")[2]
            after = text[found.start() : found.end() + 120]
            if known != store.bare and re.search(r"\b(return|throw|raise|panic|abort)\b|\bErr\(", after):
                return True
    return False


_TOUCHES = lazy_regex(
    r"^_?(touch|seen|mark|note|hit|record|track|ping|heartbeat|remember|observe|report|count|on[A-Z]|handle)"
)
"""Functions that are called again and again, by many callers."""


def _has_lock(store: MapStore, facts: Facts) -> bool:
    """Return whether the map stands beside a mutex: goroutines share the object, which lives long (Go)."""
    return any(
        each.scope is None and each.owner == store.made.owner and "Mutex" in facts.syntax.line_text(each.line)
        for each in facts.assignments
    )


_EXPIRES = lazy_regex(
    r"expir|(?:\b|_)ttl|until|deadline|life_?time|max_?age|valid_?for"
    r"|(fetched|loaded|stored|cached|created|added|taken|read)_?at|stale",
    re.IGNORECASE,
)
_SWEEPS = (
    r"size|length|Count|forEach|entries|keys|values|clear|Clear|removeIf|retain|len|evict\w*|Keys|Values|Range"
    r"|RemoveAll|iter\w*|items|popitem|drain|entrySet|keySet|Where|filter\w*|count|expire|prune|truncate"
)


def _is_unswept(store: MapStore, facts: Facts) -> bool:
    """Return whether entries have an age, but only the one that is asked for is ever taken out."""
    if not any(_EXPIRES.search(put.value) and "=>" not in put.value for put in puts_of(store, facts)):
        return False
    if _is_swept(store.bare, facts.whole_text):
        return False
    set_ = facts.assignments_of(store.name)
    again = [each for each in set_ if store.name in each.targets and each.scope is not None]
    made_in = ("__init__", "constructor", store.owner)
    return all(each.scope is not None and each.scope.short_name in made_in for each in again)


@lru_cache(maxsize=256)
def _is_swept(bare: str, text: str) -> bool:
    """Return whether a text goes through all entries of a map, or asks for their number."""
    name = re.escape(bare)
    all_of_it = rf"(?<!\w){name}\b[\w().?!]*\.({_SWEEPS})\b|\blen\([\w.]*\b{name}\b"
    each_of_it = rf"\bfor\b[^\n]*\b(of|in|range)\s+[\w.(\[&*]*\b{name}\b|:\s*[\w.]*\b{name}\)"
    return TextPattern(all_of_it).is_in(text) or TextPattern(each_of_it).is_in(text)


def _is_trimmed(store: MapStore, facts: Facts) -> bool:
    """Return whether something takes keys out, looks at the size, or sets the map anew."""
    if _is_unswept(store, facts):
        return False
    failed = removed_on_failure(store, facts)
    if _shrinks(store.name, facts, store.made, failed):
        return True
    holders = {store.bare}
    for each in set_from(store.bare, facts):
        holders |= {target for target in each.targets if target.isidentifier()}
    text = without(facts.whole_text, failed, facts)
    return any(_trims(name, text) for name in holders)


@lru_cache(maxsize=256)
def _trims(name: str, text: str) -> bool:
    taken = (
        rf"(?<!\w){re.escape(name)}\b[^\n;{{}}=]*\.({_TRIMS})\b"
        rf"|\b(delete|clear)\([^)]*(?<!\w){re.escape(name)}\b"
    )
    return TextPattern(taken).is_in(text) or has_size_check(name, text)


def _by_name(facts: Facts) -> Iterator[Hit]:
    """Yield maps that are caches by their names, or by what a rate limiter or a fetching function stores."""
    for each in facts.assignments:
        if not _is_store(each):
            continue
        name = each.targets[0]
        is_static = _STATIC.match(facts.text(each.span)) or _STATIC.match(facts.syntax.line_text(each.line))
        of_an_object = name.startswith("self.") and not is_static
        named = _OF_OBJECTS if of_an_object else _NAMED
        if _OF_PROGRAM.search(name):
            continue
        if of_an_object and _is_scoped(each.owner, facts.text(each.span), facts):
            continue
        if not named.search(name) and not _is_cache(each, of_an_object, facts):
            continue
        if _grows(name, facts) and not _shrinks(name, facts):
            what = f"{name.removeprefix('self.')} grows with every new key and is never trimmed"
            # An object may end before its cache is large.
            mild: Severity | None = "low" if of_an_object else None
            store = next((one for one in map_stores(facts) if one.made is each), None)
            sure = not of_an_object and store is not None and _has_open_keys(store, facts)
            yield Hit(each.span, what, LIKELY if sure else POSSIBLE, mild)


def _is_cache(each: Assignment, of_an_object: bool, facts: Facts) -> bool:
    """Return whether a map is a cache by what is done with it, whatever its name is.

    A function looks up a key that it was given, and stores under that key what it has fetched; or the map
    is the member of a rate limiter, whose keys are clients."""
    name = each.targets[0]
    stores = list(_stores(name, facts))
    if of_an_object:
        is_limiter = _LIMITER.search(each.owner.rpartition(".")[2]) is not None
        return is_limiter and any(_is_given(key, scope) for key, _, scope in stores)
    fetched = {remote.call for remote in remote_calls(facts) if remote.is_read}
    for key, value, scope in stores:
        if not _is_given(key, scope) or not _looks_up(name, key, scope, facts):
            continue
        calls = [one.call for one in facts.own(facts.assignments, scope) if one.targets == (value,)]
        calls += [call for call in facts.own(facts.calls, scope) if facts.text(call.span) == value]
        if any(call is not None and (call in fetched or {*chain_of(call)} & fetched) for call in calls):
            return True
    return False


def _stores(name: str, facts: Facts) -> Iterator[tuple[str, str, Scope]]:
    """Yield the keys, values and functions of `name[key] = value` and `name.set(key, value)`."""
    bare = name.removeprefix("self.")
    for each in facts.assignments_of(f"{name}[]", f"{bare}[]"):
        if (
            each.scope is not None
            and each.value is not None
            and each.targets in ((f"{name}[]",), (f"{bare}[]",))
        ):
            found = _KEY.search(facts.text(each.span).partition("=")[0])
            yield ("" if found is None else found[1]), each.value.text.removeprefix("await "), each.scope
    for call in facts.calls_of_method("set", "put", "setdefault"):
        scope = facts.function_of(call)
        if scope is not None and call.receiver_written in (name, bare) and len(call.positional) == 2:
            key, value = call.positional
            yield key.value.text, value.value.text.removeprefix("await "), scope


def _is_given(key: str, scope: Scope) -> bool:
    return any(each.name == key for each in scope.parameters)


def _looks_up(name: str, key: str, scope: Scope, facts: Facts) -> bool:
    asked = rf"{re.escape(name.removeprefix('self.'))}(\.(get|has|containsKey)\(|\[)\s*{re.escape(key)}\b"
    return (
        re.search(rf"{asked}|\b{re.escape(key)} (not )?in {re.escape(name)}\b", facts.text(scope.body))
        is not None
    )


def _is_store(each: Assignment) -> bool:
    """Return whether a map outlives a call: at the top of a file, or as a member."""
    if len(each.targets) != 1 or (each.scope is not None and not each.targets[0].startswith("self.")):
        return False
    if each.value is None:
        return False
    empty = each.value.text.strip() in ("{}", "set()", "dict()")
    is_new_map = each.call is not None and each.call.name in _MAPS and not each.call.positional
    literal = each.value.shape == "object" and each.value.text.rstrip().endswith("{}")
    return empty or is_new_map or literal


def _grows(name: str, facts: Facts) -> bool:
    bare = name.removeprefix("self.")
    names = {name, bare, f"self.{bare}"}
    items = {f"{one}[]" for one in names}
    for each in facts.assignments_of(*items):
        if each.scope is not None and not items.isdisjoint(each.targets):
            return True
    return any(
        facts.function_of(call) is not None for one in names for call in _calls_on(_GROWS, facts).get(one, ())
    )


_GROWS = frozenset(
    (
        "set", "put", "add", "setdefault", "computeIfAbsent", "getOrPut", "GetOrAdd", "AddOrUpdate", "TryAdd",
        "Add",
    )
)  # fmt: skip


@lru_cache(maxsize=8)
def _calls_on(methods: frozenset[str], facts: Facts) -> dict[str, list[Call]]:
    """Return the calls of some methods, by what they are called on, as it is written."""
    return grouped(facts.calls_of_method(*methods), attrgetter("receiver_written"))


def _shrinks(name: str, facts: Facts, made: Assignment | None = None, failed: Sequence[Span] = ()) -> bool:
    bare = name.removeprefix("self.")
    # `#requests` of JavaScript does not begin with a letter.
    word = re.compile(rf"(?<!\w){re.escape(bare)}\b")
    on_it = _calls_on(_SHRINKS, facts)
    if any(call.span not in failed for one in (bare, f"self.{bare}") for call in on_it.get(one, ())):
        return True
    for call in facts.calls_named("delete"):
        if call.span not in failed and any(word.search(each.value.text) for each in call.positional):
            return True
    if _is_deleted_from(bare, facts.whole_text):
        return True
    again = [each for each in facts.assignments_of(name) if name in each.targets and each is not made]
    return any(
        each.scope is not None and each.scope.short_name not in ("__init__", "constructor", "new", "default")
        for each in again
    )


@lru_cache(maxsize=256)
def _is_deleted_from(bare: str, text: str) -> bool:
    """Return whether a text looks at the size of a map, or deletes a key."""
    deleted = rf"\bdel(ete)?\b[^\n]*(?<!\w){re.escape(bare)}\b"
    return has_size_check(bare, text) or TextPattern(deleted).is_in(text)


RULE = Rule(
    id="FK-R020",
    slug="unbounded-cache",
    title="Cache without a bound",
    why="Memory grows with the number of different keys, which clients choose, until the process is killed.",
    fix="Use a cache with a size and an age (lru_cache(maxsize=…), cachetools, lru-cache, Caffeine).",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
