"""Maps that outlive a call: at the top of a file, static, or members, with what is put into them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Place, Scope, is_within
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.name_places import ends_of_name, is_followed
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_MAP = TextPattern(
    r"\b(HashMap|ConcurrentHashMap|LinkedHashMap|TreeMap|ConcurrentSkipListMap|mutableMapOf|hashMapOf|linkedMapOf"
    r"|Dictionary|ConcurrentDictionary|SortedDictionary|DashMap|BTreeMap|IndexMap)\b"
    r"|\bnew\s+Map\b|\bsync\.Map\b|\bmap\[|\b(collections\.)?(defaultdict|OrderedDict)\(|\bdict\(\)"
    r"|=\s*\{\s*\}\s*;?\s*$|Object\.create\(null\)"
)
_MAP_WORDS = ("Map", "map[", "Dict", "dict", "create(null)")
"""One of them is in each text that `_MAP` matches, unless it ends with `{}`; they are found faster."""
_BOUNDED = TextPattern(
    r"removeEldestEntry|maximumSize|LruCache|LRUCache|TTLCache|lru|moka|Caffeine|CacheBuilder|FIFO|WeakHashMap"
    r"|WeakMap|synchronizedMap\(new LinkedHashMap",
    re.IGNORECASE,
)
_KEY_TYPE = TextPattern(
    r"(?:Map|Dictionary|Record)\w*\s*<\s*&?(?:'\w+\s+)?([\w.]+)|map\[([\w.]+)\]|dict\[(\w+)"
)
_OPEN_TYPES = frozenset(
    (
        "string", "String", "str", "Long", "long", "Integer", "int", "Int", "UUID", "Guid", "Uuid", "number",
        "bigint", "int64", "int32", "uint64", "uint32", "i64", "u64", "i32", "u32", "object", "Any", "any",
        "tuple", "bytes", "K", "IpAddr", "Ipv4Addr", "Ipv6Addr", "SocketAddr", "InetAddress", "IPAddress",
        "netip.Addr",
    )
)  # fmt: skip
PUTS = frozenset(
    (
        "set", "put", "setdefault", "insert", "Store", "TryAdd", "Add", "AddOrUpdate", "GetOrAdd", "merge",
        "computeIfAbsent", "getOrPut", "putIfAbsent", "LoadOrStore", "compute", "getOrInsertWith",
    )
)  # fmt: skip
ATOMIC = frozenset(
    (
        "computeIfAbsent", "getOrPut", "GetOrAdd", "putIfAbsent", "LoadOrStore", "merge", "compute",
        "AddOrUpdate", "setdefault", "TryAdd", "entry",
    )
)  # fmt: skip
_GUARD = lazy_regex(r"\.(read|write|lock|borrow_mut|unwrap|await|expect|get_mut)\b(\([^()]*\))?")


_GUARDED = r"(\.(read|write|lock)\(\)(\.await|\.unwrap\(\))*)?"
"""A lock around a map, as an expression (Rust)."""


@dataclass(frozen=True, slots=True, eq=False)
class MapStore:
    """A map that outlives a call."""

    made: Assignment
    name: str
    """As in assignments: `cache`, `self.cache`."""
    text: str
    """The declaration as written."""
    is_member: bool
    is_static: bool
    is_closure: bool = False
    """Whether it is a variable of a function whose inner functions use it, and outlive the call."""

    @property
    def is_shared(self) -> bool:
        """Return whether a member is made to be used by others that have the object, by a pointer (Rust)."""
        return (
            self.is_member
            and re.search(r"\bArc\s*<|\b(?:Rw|Mutex)\w*\s*<|\bDashMap\b", self.text) is not None
        )

    @property
    def bare(self) -> str:
        return self.name.removeprefix("self.")

    @property
    def owner(self) -> str:
        return self.made.owner.rpartition(".")[2]

    def has_open_keys(self, facts: Facts) -> bool:
        """Return whether keys are texts, numbers or records of them, or of a type that is not written."""
        found = _KEY_TYPE.search(self.text)
        name = None if found is None else found[1] or found[2] or found[3]
        return name is None or name in _OPEN_TYPES or _is_record(name, facts)


def _is_record(name: str, facts: Facts) -> bool:
    """Return whether a text declares a type of several fields that may be a key: `record Key(String q)`."""
    if not any(each in facts.whole_text for each in ("record", "struct", "data class")):
        return False
    word = re.escape(name)
    found = re.search(
        rf"\b(?:record|struct|data class)\s+{word}\b|\btype\s+{word}\s+struct\b", facts.whole_text
    )
    return found is not None


@dataclass(frozen=True, slots=True, eq=False)
class Put:
    """A place that puts a value into a map."""

    key: str
    value: str
    span: Span
    scope: Scope
    method: str
    """The method; empty for `map[key] = value`."""
    operator: str = "="


@lru_cache(maxsize=4)
def map_stores(facts: Facts) -> tuple[MapStore, ...]:
    """Return the maps of a text that outlive a call and have no bound of their own."""
    found = []
    outer = {scope.outer for scope in facts.scopes}
    for each in facts.assignments:
        if len(each.targets) != 1 or "[" in each.targets[0]:
            continue
        name = each.targets[0]
        is_member = name.startswith("self.")
        if each.scope is not None and not is_member and each.scope not in outer:
            continue
        if each.scope is not None and (
            is_member
            and each.scope.short_name not in ("__init__", "constructor", each.owner.rpartition(".")[2])
        ):
            continue
        line, text = facts.syntax.line_text(each.line), facts.text(each.span)
        text = text if text in line else f"{line} {text}"
        if facts.language in ("java", "csharp", "kotlin", "rust"):
            text = f"{line} {text}"
        if not any(word in text for word in _MAP_WORDS) and not _ends_with_empty_map(text):
            continue
        if not _MAP.search(text) or _BOUNDED.search(text):
            continue
        if _is_filled(each) if each.value is not None else facts.language not in ("go", "rust"):
            continue
        is_closure = each.scope is not None and not is_member
        if is_closure and not _outlives_call(each, facts):
            continue
        is_static = re.search(r"\bstatic\b", line) is not None
        is_static = is_static or not (is_member or is_closure)
        found.append(MapStore(each, name, text, is_member, is_static, is_closure))
    return tuple(found)


_MAKES = lazy_regex(
    r"(?:Router|Routes|Server|App|Application|Middleware|Plugin|Handlers?|Service|Client|Store|Cache|Api|API|Gateway|Limiter"
    r"|Resolvers?|Repository|Controller|Provider|Guard|Lookup|Directory|Catalog|Registry|Endpoints?|Limit|Auth\w*|Proxy)$"
    r"|_(?:router|routes|server|app|middleware|plugin|handlers?|service|client|store|cache|api|gateway|limiter|resolvers?"
    r"|repository|controller|provider|guard|lookup|catalog|registry|endpoints?|proxy)$"
)
_FOR_SCREEN = lazy_regex(r"^use[A-Z]|^(?:render|describe|test|it)\b|^[A-Z]\w*(?:Page|View|Screen|Component)$")


def _outlives_call(each: Assignment, facts: Facts) -> bool:
    """Return whether functions inside keep a map after the function that makes it: it registers them as
    routes, or it makes a service by its name and returns them."""
    scope = each.scope
    if scope is None or scope.route is not None or _FOR_SCREEN.search(scope.short_name):
        return False
    if facts.loops_around(each):
        return False
    word = re.compile(rf"(?<![\w.]){re.escape(each.targets[0])}\b")
    inner = [one for one in facts.within(facts.scopes, scope.body) if one is not scope]
    users = [one for one in inner if word.search(facts.text(one.body))]
    if not users or facts.loops_around(users[0]):
        return False
    if any(one.route is not None for one in inner):
        return True
    if _is_made_at_start(scope, users, facts):
        return True
    if facts.language in ("rust", "java", "csharp"):
        return False
    if any(facts.route_of(call) is not None for call in facts.callers_of(scope)):
        return False
    return _MAKES.search(scope.short_name) is not None and any(
        step.kind == "return" and facts.function_of(step) is scope
        for step in facts.within(facts.steps, scope.body)
    )


def _is_made_at_start(scope: Scope, users: list[Scope], facts: Facts) -> bool:
    """Return whether a function returns another, and the file calls it when it is loaded: a memo."""
    if not any(facts.function_of(call) is None for call in facts.callers_of(scope)):
        return False
    return any(
        step.kind == "return" and facts.function_of(step) is scope and is_within(one.span, step.span)
        for step in facts.within(facts.steps, scope.body)
        for one in users
    )


def _ends_with_empty_map(text: str) -> bool:
    end = text.rstrip().removesuffix(";").rstrip()
    return end.endswith("}") and end[:-1].rstrip().endswith("{")


def _is_filled(each: Assignment) -> bool:
    """Return whether the map is made with its content: a table of constants."""
    value = each.value
    assert value is not None
    if value.shape == "object":
        return not value.text.rstrip().endswith("{}") and value.text.strip("{} \n") != ""
    if each.call is not None and each.call.positional and each.call.method in ("dict", "Map", "HashMap"):
        return each.call.positional[0].value.shape in ("list", "object", "name")
    return False


def puts_of(store: MapStore, facts: Facts) -> Iterator[Put]:
    """Yield the places in functions that put something into a map, those at its making left out."""
    made_in = {"__init__", "constructor", "init", "New", *([store.owner] if store.owner else [])}
    paths = (store.name, store.bare, f"self.{store.bare}", f"{store.owner}.{store.bare}")
    for each in facts.assignments_of(*(f"{path}[]" for path in paths)):
        if each.scope is None or each.value is None or each.scope.short_name in made_in:
            continue
        if not any(
            _is_of(target.removesuffix("[]"), store) for target in each.targets if target.endswith("[]")
        ):
            continue
        left = facts.text(each.span).partition("=")[0].rstrip("+-|?: ")
        key = left[left.find("[") + 1 : left.rfind("]")] if "[" in left else ""
        value = each.value.text.removeprefix("await ")
        # A lambda of Kotlin runs where it stands: `load(id).also { known[id] = it }`.
        inline = facts.language == "kotlin" and each.scope.is_anonymous
        outer = (_entered(each, store, facts) or facts.named_function_of(each)) if inline else None
        if inline and value == "it":
            around = [one for one in facts.calls_around(each) if one.method in ("also", "let", "apply")]
            value = facts.text(around[-1].callee) if around else value
        yield Put(key.strip(), value, each.span, outer or each.scope, "", each.operator)
    for call in facts.calls_of_method(*PUTS):
        if not is_on(call, store):
            continue
        scope = _entered(call, store, facts) or facts.named_function_of(call) or facts.route_of(call)
        if scope is None or scope.short_name in made_in or len(call.positional) < 2:
            continue
        if _is_shadowed(call, scope):
            continue
        key, value = call.positional[0].value.text, call.positional[1].value.text
        yield Put(key, value.removeprefix("await "), call.span, scope, call.method)
    if "defaultdict(" in store.text:
        yield from _made_by_reading(store, facts)
    if facts.language == "rust":
        # `map.entry(key).or_insert(value)`
        for call in facts.calls_of_method("entry"):
            scope = facts.named_function_of(call)
            if scope is None or scope.short_name in made_in or len(call.positional) != 1:
                continue
            if (is_on(call, store) or _is_guard(call, store, facts)) and not _is_shadowed(call, scope):
                yield Put(call.positional[0].value.text, "", call.span, scope, "entry")


def _made_by_reading(store: MapStore, facts: Facts) -> Iterator[Put]:
    """Yield reads that make a value for a key that is not there: `self.locks[key]` of a defaultdict."""
    read = re.compile(rf"(?<!\w){re.escape(store.name)}\[\s*([^\]\n]+?)\s*\](?!\s*=[^=])")
    for scope in facts.scopes:
        if scope.name and store.name in (text := facts.text(scope.body)):
            for found in read.finditer(text):
                place = facts.syntax.place_of(found, scope.body.start)
                if facts.function_of(Place(place)) is scope:
                    yield Put(found[1], "", place, scope, "setdefault")


def _entered(place: Placed, store: MapStore, facts: Facts) -> Scope | None:
    """Return the function around a place that is called from outside of the one that makes a map, or the
    route that is registered inside of another function."""
    around = [*facts.functions_around(place)]
    if store.is_closure and store.made.scope in around:
        inside = around[around.index(store.made.scope) + 1 :]
        return next((each for each in inside if each.parameters), None)
    route = facts.route_of(place)
    named = facts.named_function_of(place)
    return (
        route if route is not None and named is not None and route in around[around.index(named) :] else None
    )


def _is_shadowed(call: Call, scope: Scope) -> bool:
    """Return whether a parameter has the name of the map: it may be any other."""
    return any(each.name == call.receiver_written for each in scope.parameters)


def _is_guard(call: Call, store: MapStore, facts: Facts) -> bool:
    """Return whether a call is on a variable that keeps the lock of a map (Rust)."""
    if not call.receiver_written.isidentifier():
        return False
    taken = re.compile(rf"(self\.)?{re.escape(store.bare)}\.(lock|write)\(\)")
    made = facts.assignments_to(call.receiver_written, call)
    return any(each.value is not None and taken.match(each.value.text) for each in made)


def _is_of(target: str, store: MapStore) -> bool:
    if target in (store.name, store.bare, f"self.{store.bare}"):
        return True
    if store.is_static:
        return target == f"{store.owner}.{store.bare}"
    # `state.places`, where the parameter `state` is of the type that has the map
    return store.is_shared and target.rpartition(".")[2] == store.bare


def is_on(call: Call, store: MapStore) -> bool:
    """Return whether a call is on a map, also through a guard: `self.map.write().await.insert(…)`."""
    if _is_of(_GUARD.sub("", call.receiver_written), store):
        return True
    made = call.origin
    for _ in range(4):
        if made is None:
            return False
        if _is_of(_GUARD.sub("", made.receiver_written), store) and made.method in ("read", "write", "lock"):
            return True
        made = made.origin
    return False


def given_words(scope: Scope, facts: Facts) -> frozenset[str]:
    """Return the names in a function that hold what it was given, or something made of it."""
    names = {each.name for each in scope.parameters if each.name not in ("self", "cls", "ctx", "this")}
    if scope.route is not None:
        names |= {"request", "req", "params", "query", "body"}
    for each in facts.within(facts.assignments, scope.body):
        if each.value is not None and names & words(each.value.text):
            names |= bound_names(each)
    return frozenset(names - {"err", "ok", "_"})


def bound_names(each: Assignment) -> set[str]:
    """Return the variables that an assignment sets: `const { id, page } = req.query` sets two."""
    return {
        name
        for target in each.targets
        for name in (words(target) if target[:1] in "{[(" else (target,))
        if name.isidentifier()
    }


def words(text: str) -> set[str]:
    """Return the identifiers in a text."""
    return {*re.findall(r"[A-Za-z_]\w*", text)}


def lookups(store: MapStore, put: Put, facts: Facts) -> Iterator[Span]:
    """Yield the places before a put that look for the same key in the same function."""
    plain = plain_key(put.key)
    if _count(store.bare, facts.whole_text) < 3 or _count(plain, facts.whole_text) < 2:
        return  # It is only made, and put into.
    body = facts.text(put.scope.body)
    if _may_ask(store.bare, plain, body):
        yield from _asked_places(store, put, plain, body, facts)
    helpers = {scope.short_name for scope in _readers(store, facts) if scope is not put.scope}
    for call in facts.within(facts.calls, put.scope.body) if helpers else ():
        # `fresh(key)`, a function of this text that looks it up.
        is_before = call.method in helpers and call.span.start < put.span.start
        if is_before and any(plain == each.value.text for each in call.arguments):
            yield call.span


@lru_cache(maxsize=256)
def _count(part: str, text: str) -> int:
    return text.count(part)


_ASKED = lazy_regex(
    rf"{_GUARDED}\s*(?:\?|!!)?\s*(?:\.\s*(?:get|has|containsKey|ContainsKey|contains_key|TryGetValue|Load|contains"
    r"|getOrDefault|GetValueOrDefault|getIfPresent)\(\s*&?|(?P<item>\[)\s*)"
)
"""What stands between a map and the key that it is asked for."""
_NOT_SET = lazy_regex(r"[^\]]*\](?!\s*=[^=])")
_IN = lazy_regex(r"\s+(?:not\s+)?!?in\s")


def _may_ask(name: str, key: str, body: str) -> bool:
    """Return whether a function could ask a map for a key: to compile an expression for both takes long."""
    if key[:1] in ("", "&", " "):
        return True
    for end in ends_of_name(name, body):
        found = _ASKED.match(body, end)
        if found is None or not body.startswith(key, found.end()):
            continue
        if found["item"] is None or _NOT_SET.match(body, found.end() + len(key)) is not None:
            return True
    start = body.find(key)
    while start >= 0:
        if _IN.match(body, start + len(key)) is not None:
            return True
        start = body.find(key, start + 1)
    return False


def _asked_places(store: MapStore, put: Put, plain: str, body: str, facts: Facts) -> Iterator[Span]:
    key, name = re.escape(plain), _named(store)
    asked = re.compile(
        rf"{name}{_GUARDED}\s*(\?|!!)?\s*(\.\s*(get|has|containsKey|ContainsKey|contains_key|TryGetValue|Load|contains"
        rf"|getOrDefault|GetValueOrDefault|getIfPresent)\(\s*&?{key}\b|\[\s*{key}\b[^\]]*\](?!\s*=[^=]))"
        rf"|\b{key}\s+(not\s+)?in\s+(\w+\.)*{name}|\b{key}\s+!?in\s+{name}"
    )
    for found in asked.finditer(body):
        place = facts.syntax.place_of(found, put.scope.body.start)
        before = Span(put.span.start, place.start)
        # In `map[key] = (map[key] || 0) + 1` the value asks for it.
        if place.start < put.span.end and (place.start < put.span.start or facts.text(before).strip()):
            yield place


def _named(store: MapStore) -> str:
    """Return an expression for the name of a map. `#entries` of JavaScript does not begin with a letter."""
    return rf"(?<!\w){re.escape(store.bare)}\b"


@lru_cache(maxsize=64)
def _readers(store: MapStore, facts: Facts) -> tuple[Scope, ...]:
    """Return the functions of a text that look something up in a map."""
    return tuple(
        scope
        for scope in facts.scopes
        if scope.name and is_followed(store.bare, _LOOKS_UP, facts.text(scope.body))
    )


_LOOKS_UP = lazy_regex(rf"{_GUARDED}\s*(\?|!!)?\s*(\.\s*(get|Load|TryGetValue)|\[)")


def plain_key(key: str) -> str:
    """Return a key without copies: `id` for `id.to_string()`."""
    return re.sub(r"\.(to_string|to_owned|clone|into)\(\)$", "", key.strip().removeprefix("&"))


_SIZE = lazy_regex(r"(?:\.\w+\(\)|\??\.await|!!|\?)*\.(?:length|size|Count|len|count(?=\()|mappingCount)\b")
_BEFORE_SIZE = 44
"""Characters of `len(` and of what may stand between it and a name."""


def _is_measured(name: str, text: str) -> bool:
    """Return whether a text asks for the size of a collection: to compile an expression for it takes long."""
    return any(
        _SIZE.match(text, end) is not None
        or (text.startswith(")", end) and "len(" in text[max(0, end - len(name) - _BEFORE_SIZE) : end])
        for end in ends_of_name(name, text)
    )


def has_size_check(name: str, text: str) -> bool:
    """Return whether a text compares the size of a collection with something, or keeps it to do so.

    A size that is only shown, as in a metric, is no check."""
    if name.isidentifier() and not _is_measured(name, text):
        return False
    word = re.escape(name)
    size = (
        rf"(?:len\([^()\n]{{0,40}}(?<!\w){word}\)|(?<!\w){word}\b(?:\.\w+\(\)|\??\.await|!!|\?)*\.(?:length|size|Count|len|count(?=\()"
        r"|mappingCount)\b(?:\(\))?)"
    )
    if re.search(rf"{size}\)?\s*(?:[<>]=?|===?|!=|%)|[<>]=?\s*\(?(?:self\.|this\.)?{size}", text):
        return True
    kept = re.search(rf"\b(\w+)\s*:?=\s*(?:self\.|this\.|\w\.)?{size}", text)
    return kept is not None and re.search(rf"\b{kept[1]}\s*[<>]|[<>]=?\s*{kept[1]}\b", text) is not None


_DROPS_ITEMS = lazy_regex(
    r"slice|splice|shift|pop|del |RemoveRange|removeFirst|drop|truncate|return|throw|raise|clear|\[-|\[len"
    r"|:\]"
)


def drops_when_large(name: str, facts: Facts) -> bool:
    """Return whether a look at the length leads to less: items dropped or refused, not merely sent."""
    text, word = facts.whole_text, re.escape(name)
    if re.search(
        rf"\b{word}\b[^\n]{{0,80}}(\.slice\(-|\[-\w|\[-\d|\.splice\(|\.takeLast\(|\.TakeLast\()", text
    ):
        return True
    if re.search(rf"\b{word}\b\s*=[^\n]{{0,80}}\)\[-", text):
        return True
    size = (
        rf"(len\([^()\n]{{0,40}}\b{word}\)|\b{word}\b\.(length|size|Count|len)\b(\(\))?)"
        r"[^\n;{=]{0,40}?([<>]=?)([^\n]{0,120})"
    )
    for found in re.finditer(size, text):
        if re.match(r"\s*0\b", found[5]):
            continue
        if found[4].startswith("<"):
            return True  # `if (buffer.length < MAX) buffer.push(event)`
        after = text[found.end() : found.end() + 120]
        if _DROPS_ITEMS.search(found[5]) or _DROPS_ITEMS.search(after.partition("}")[0]):
            return True
    return False
