"""Maps that outlive a call: at the top of a file, static, or members, with what is put into them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.code.facts import Assignment, Call, Facts, Scope
from faultkit.code.languages.syntax import Span
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
_GUARD = re.compile(r"\.(read|write|lock|borrow_mut|unwrap|await|expect|get_mut)\b(\([^()]*\))?")


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

    @property
    def bare(self) -> str:
        return self.name.removeprefix("self.")

    @property
    def owner(self) -> str:
        return self.made.owner.rpartition(".")[2]

    @property
    def has_open_keys(self) -> bool:
        """Return whether keys are texts or numbers, or of a type that is not written."""
        found = _KEY_TYPE.search(self.text)
        return found is None or (found[1] or found[2] or found[3]) in _OPEN_TYPES


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
    for each in facts.assignments:
        if len(each.targets) != 1 or "[" in each.targets[0]:
            continue
        name = each.targets[0]
        is_member = name.startswith("self.")
        if each.scope is not None and (
            not is_member
            or each.scope.short_name not in ("__init__", "constructor", each.owner.rpartition(".")[2])
        ):
            continue
        if each.value is None and facts.language not in ("go", "rust"):
            continue
        line, text = facts.syntax.line_text(each.line), facts.text(each.span)
        text = text if text in line else f"{line} {text}"
        if facts.language in ("java", "csharp", "kotlin", "rust"):
            text = f"{line} {text}"
        if not any(word in text for word in _MAP_WORDS) and not _ends_with_empty_map(text):
            continue
        if not _MAP.search(text) or _BOUNDED.search(text) or (each.value is not None and _is_filled(each)):
            continue
        is_static = re.search(r"\bstatic\b", line) is not None
        found.append(MapStore(each, name, text, is_member, is_static or not is_member))
    return tuple(found)


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
    for each in facts.assignments:
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
        outer = facts.named_function_of(each) if inline else None
        if inline and value == "it":
            around = [one for one in facts.calls_around(each) if one.method in ("also", "let", "apply")]
            value = facts.text(around[-1].callee) if around else value
        yield Put(key.strip(), value, each.span, outer or each.scope, "", each.operator)
    for call in facts.calls_of_method(*PUTS):
        scope = facts.named_function_of(call) or facts.route_of(call)
        if scope is None or scope.short_name in made_in or len(call.positional) < 2 or not is_on(call, store):
            continue
        key, value = call.positional[0].value.text, call.positional[1].value.text
        yield Put(key, value.removeprefix("await "), call.span, scope, call.method)
    if facts.language == "rust":
        # `map.entry(key).or_insert(value)`
        for call in facts.calls_of_method("entry"):
            scope = facts.named_function_of(call)
            if scope is None or scope.short_name in made_in or len(call.positional) != 1:
                continue
            if is_on(call, store) or _is_guard(call, store, facts):
                yield Put(call.positional[0].value.text, "", call.span, scope, "entry")


def _is_guard(call: Call, store: MapStore, facts: Facts) -> bool:
    """Return whether a call is on a variable that keeps the lock of a map (Rust)."""
    if not call.receiver_written.isidentifier():
        return False
    taken = re.compile(rf"(self\.)?{re.escape(store.bare)}\.(lock|write)\(\)")
    made = facts.assignments_to(call.receiver_written, call)
    return any(each.value is not None and taken.match(each.value.text) for each in made)


def _is_of(target: str, store: MapStore) -> bool:
    return target in (store.name, store.bare, f"self.{store.bare}") or (
        store.is_static and target == f"{store.owner}.{store.bare}"
    )


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
    if facts.whole_text.count(store.bare) < 3 or facts.whole_text.count(plain) < 2:
        return  # It is only made, and put into.
    key = re.escape(plain)
    body = facts.text(put.scope.body)
    name = _named(store)
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

    helpers = {scope.short_name for scope in _readers(store, facts) if scope is not put.scope}
    for call in facts.within(facts.calls, put.scope.body):
        # `fresh(key)`, a function of this text that looks it up.
        asks = any(plain_key(put.key) == each.value.text for each in call.arguments)
        if asks and call.method in helpers and call.span.start < put.span.start:
            yield call.span


def _named(store: MapStore) -> str:
    """Return an expression for the name of a map. `#entries` of JavaScript does not begin with a letter."""
    return rf"(?<!\w){re.escape(store.bare)}\b"


@lru_cache(maxsize=64)
def _readers(store: MapStore, facts: Facts) -> tuple[Scope, ...]:
    """Return the functions of a text that look something up in a map."""
    looks = re.compile(rf"{_named(store)}{_GUARDED}\s*(\?|!!)?\s*(\.\s*(get|Load|TryGetValue)|\[)")
    found = []
    for scope in facts.scopes:
        text = facts.text(scope.body) if scope.name else ""
        if store.bare in text and looks.search(text) is not None:
            found.append(scope)
    return tuple(found)


def plain_key(key: str) -> str:
    """Return a key without copies: `id` for `id.to_string()`."""
    return re.sub(r"\.(to_string|to_owned|clone|into)\(\)$", "", key.strip().removeprefix("&"))
