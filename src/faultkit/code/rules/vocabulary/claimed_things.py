"""What code asks for and sets: keys of Redis and its like, files, entries of shared collections, flags.

A thing is known by the object that holds it and by its key, as written; a key that was put into a variable is
known by what that variable holds. Helpers of the same text that only ask or only set count at their callers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, Step
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.service_clients import type_of_receiver
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

ThingKind: TypeAlias = Literal["key", "size", "file", "entry", "flag"]


class Thing(NamedTuple):
    """Something that is asked for or set at a place."""

    kind: ThingKind
    store: str
    key: str
    scope: Scope
    place: Span
    call: Call | None
    raw_key: str = ""
    """The key as written, where a variable holds it."""
    counts: bool = False
    """Whether it is made one more or less, so that the question is how many there are."""
    is_down: bool = False
    """Whether it is made one less, so that the question is whether any are left."""

    def is_same(self, other: Thing) -> bool:
        """Return whether both are the same key of the same store, in the same function."""
        return (self.kind, self.store, self.key, self.scope) == (
            other.kind,
            other.store,
            other.key,
            other.scope,
        )


# Stores with keys, outside of the process or shared by it.
_KEY_STORE = NamePattern(
    r"redis|jedis|lettuce|\brdb\b|valkey|keydb|memcache|dragonfly|StackExchange|IDatabase|IDistributedCache"
    r"|IMemoryCache|ConnectionMultiplexer|opsFor(?:Value|Hash|Set)|hazelcast",
    re.IGNORECASE,
)
_CACHE = NamePattern(r"(?:^|[._])(?:kv|kvs|\w*cache)$", re.IGNORECASE)
"""Stores by their name only, which may be a map: what waits for them shows that they are none."""
_KEYS_ASKED = frozenset(
    (
        "exists", "Exists", "hasKey", "KeyExists", "KeyExistsAsync", "sismember", "sIsMember", "SIsMember",
        "isMember", "SetContains", "SetContainsAsync", "hexists", "hExists", "HExists", "HashExists",
        "HashExistsAsync", "has", "containsKey", "get", "Get", "StringGet", "StringGetAsync", "GetString",
        "GetStringAsync", "GetAsync", "hget", "hGet", "HGet", "TryGetValue", "getBucket", "has_key",
    )
)  # fmt: skip
_KEYS_SET = frozenset(
    (
        "set", "Set", "setex", "setEx", "SetEx", "set_ex", "psetex", "pSetEx", "StringSet", "StringSetAsync",
        "SetString", "SetStringAsync", "SetAsync", "sadd", "sAdd", "SAdd", "SetAdd", "SetAddAsync", "hset",
        "hSet", "HSet", "HashSet", "HashSetAsync", "put", "add",
    )
)  # fmt: skip
_KEYS_COUNTED = frozenset(
    (
        "incr", "Incr", "incrby", "incrBy", "IncrBy", "increment", "StringIncrement", "StringIncrementAsync",
        "hincrby", "hIncrBy", "HIncrBy", "decr", "Decr", "decrBy", "DecrBy", "decrement", "StringDecrement",
        "StringDecrementAsync", "decrby", "HashDecrement", "HashDecrementAsync", "decr_by", "incr_by",
    )
)  # fmt: skip
_SIZES_ASKED = frozenset(
    (
        "scard", "sCard", "SCard", "zcard", "zCard", "ZCard", "llen", "lLen", "LLen", "hlen", "hLen", "HLen",
        "zcount", "zCount", "ZCount", "SetLength", "SetLengthAsync", "SortedSetLength",
        "SortedSetLengthAsync", "ListLength", "ListLengthAsync", "HashLength", "HashLengthAsync", "size",
    )
)  # fmt: skip
"""How many members a set, list or hash has."""
_SIZES_SET = frozenset(
    (
        "sadd", "sAdd", "SAdd", "zadd", "zAdd", "ZAdd", "lpush", "lPush", "LPush", "rpush", "rPush", "RPush",
        "hset", "hSet", "HSet", "SetAdd", "SetAddAsync", "SortedSetAdd", "SortedSetAddAsync",
        "ListLeftPush", "ListLeftPushAsync", "ListRightPush", "ListRightPushAsync", "HashSet",
        "HashSetAsync", "leftPush", "rightPush", "add",
    )
)  # fmt: skip
_ROWS_ASKED = frozenset(("get_item", "getItem", "GetItem", "GetItemAsync"))
_ROWS_SET = frozenset(("put_item", "putItem", "PutItem", "PutItemAsync"))
_COMMAND = lazy_regex(r"^new\s+(Get|Put)(?:Item)?Command\(")
_OF_MEMBERS = NamePattern(r"(?i)^(s_?is_?member|ismember|setcontains\w*|s_?add|setadd\w*|h\w+|hash\w+)$")
_SPRING = lazy_regex(
    r"\.?(opsFor(?:Value|Hash|Set)|boundValueOps|sync|async|getDatabase|GetDatabase)(?:\(\))?"
)
_PIPELINE = NamePattern(r"(?i)pipeline|multi$")
_CONTEXT = lazy_regex(r"^(?:\w*[cC]tx|context\.\w+\(\)|\w+\.Context\(\)|&mut \w+|cancellationToken|ct)$")
_COPY = lazy_regex(r"\.(?:to_string|to_owned|clone|as_str|into|as_ref|as_path|toString|ToString)\(\)$")

# Files.
_FILES_ASKED = frozenset(
    (
        "os.path.exists", "os.path.isfile", "os.path.lexists", "fs.existsSync", "fs-extra.pathExists",
        "fs-extra.existsSync", "os.Stat", "os.Lstat", "java.nio.file.Files.exists",
        "java.nio.file.Files.notExists", "java.nio.file.Files.isRegularFile", "File.Exists",
        "System.IO.File.Exists", "tokio.fs.try_exists", "std.fs.exists", "std.fs.metadata",
        "tokio.fs.metadata", "fs.access", "fs/promises.access", "fs.promises.access", "fs/promises.stat",
        "fs.promises.stat", "Files.exists",
    )
)  # fmt: skip
_PATH_ASKED = frozenset(("exists", "is_file", "isFile", "try_exists"))
_FILES_SET = frozenset(
    (
        "fs.writeFile", "fs.writeFileSync", "fs/promises.writeFile", "fs.promises.writeFile", "os.WriteFile",
        "io/ioutil.WriteFile", "os.Create", "java.nio.file.Files.write", "java.nio.file.Files.writeString",
        "java.io.FileWriter", "java.io.FileOutputStream", "java.nio.file.Files.newBufferedWriter",
        "java.nio.file.Files.newOutputStream", "std.fs.write", "tokio.fs.write", "std.fs.File.create",
        "tokio.fs.File.create", "File.WriteAllText", "File.WriteAllTextAsync", "File.WriteAllBytes",
        "File.WriteAllBytesAsync", "File.Create", "fs.createWriteStream", "open", "io.open",
    )
)  # fmt: skip
_PATH_SET = frozenset(("write_text", "write_bytes", "writeText", "writeBytes", "touch"))
_FILE_METHODS = frozenset(name.rpartition(".")[2] for name in _FILES_SET) | _PATH_SET
_TAKEN_FILE = TextPattern(
    r"lock_?(?:file|path)|\.lock\b[\"'`]|\bpid|lease|claim|reserv|already|taken|duplicate|conflict|upload|marker|exists[\"'`]|\b409\b",
    re.IGNORECASE,
)
_TAKEN_BY_NAME = NamePattern(r"lock|pid|lease|claim|acquire", re.IGNORECASE)
"""Words in a function that keeps a file for others to see; others write files for their user."""

# Collections that threads or tasks share, and flags.
_SHARED = TextPattern(
    r"ConcurrentHashMap\.newKeySet|newKeySet\(|ConcurrentSkipListSet|CopyOnWriteArray(?:Set|List)|synchronized(?:Set|List)\("
    r"|\bsync\.Map\b|\bDash(?:Map|Set)\b|(?:RwLock|Mutex)\w*<\s*(?:\w+::)*(?:Hash|BTree)(?:Map|Set)|ConcurrentBag"
)
_PLAIN = TextPattern(r"\bnew\s+(?:Map|Set)\b|=\s*\{\}|=\s*set\(\)|=\s*dict\(\)|\bset\[|\bdict\[")
_SHARED_WORDS = (
    b"newkeyset", b"concurrentskiplistset", b"copyonwritearray", b"synchronizedset", b"synchronizedlist",
    b"sync.map", b"dashmap", b"dashset", b"rwlock", b"mutex", b"concurrentbag", b"atomic", b"volatile",
)  # fmt: skip
"""One of them is in each text that `_SHARED` or `_FLAG` matches."""
_ENTRIES_ASKED = frozenset(
    ("contains", "containsKey", "ContainsKey", "contains_key", "Load", "has", "Contains", "get", "Any")
)
_ENTRIES_SET = frozenset(("add", "put", "insert", "Store", "set", "Add"))
_FLAG = lazy_regex(
    r"\bAtomic(?:Boolean|Bool|Integer|Long|U?size|[UI]\d+)\b|\batomic\.(?:Bool|U?[iI]nt\d+)\b|\bvolatile\b|@Volatile\b"
)
_FLAGS_ASKED = frozenset(("get", "load", "Load", "is_set", "isSet"))
_FLAGS_SET = frozenset(("set", "store", "Store", "lazySet"))
_COUNTED = frozenset(("incrementAndGet", "getAndIncrement", "fetch_add", "Add", "addAndGet", "getAndAdd"))
_TRUE = lazy_regex(r"^(?:true|True|1)$")


_SETS = tuple(
    {
        *_KEYS_SET,
        *_KEYS_COUNTED,
        *_SIZES_SET,
        *_ROWS_SET,
        "send",
        *_FILE_METHODS,
        *_ENTRIES_SET,
        *_FLAGS_SET,
        *_COUNTED,
    }
)


@lru_cache(maxsize=4)
def set_things(facts: Facts) -> tuple[Thing, ...]:
    """Return what functions of a text set, whether or not it is there."""
    direct = [thing for call in facts.calls_of_method(*_SETS) if (thing := _set_by(call, facts)) is not None]
    grown = [thing for call in facts.calls_of_method(*_SIZES_SET) if (thing := _grown_by(call, facts))]
    return (
        *_assigned_flags(facts),
        *_assigned_entries(facts),
        *direct,
        *grown,
        *_through_helpers(direct, facts),
    )


@lru_cache(maxsize=4)
def asked_things(facts: Facts) -> tuple[Thing, ...]:
    """Return what functions of a text ask for, of the kinds that it sets, too."""
    kinds = {thing.kind for thing in set_things(facts)}
    methods = [
        *((*_KEYS_ASKED, *_ROWS_ASKED, "send") if "key" in kinds else ()),
        *(_SIZES_ASKED if "size" in kinds else ()),
        *(_ENTRIES_ASKED if "entry" in kinds else ()),
        *(_FLAGS_ASKED if "flag" in kinds else ()),
    ]
    if "file" in kinds:
        methods += [*(name.rpartition(".")[2] for name in _FILES_ASKED), *_PATH_ASKED]
    direct = [
        thing
        for call in facts.calls_of_method(*dict.fromkeys(methods))
        if (thing := _asked_by(call, kinds, facts)) is not None
    ]
    direct += _asked_by_word(kinds, facts)
    return (*direct, *_through_helpers(direct, facts))


def _set_by(call: Call, facts: Facts) -> Thing | None:
    scope = facts.named_function_of(call)
    if scope is None:
        return None
    if (path := _written_path(call, facts)) and (
        _TAKEN_BY_NAME.search(scope.name) or _TAKEN_FILE.search(facts.text(scope.body))
    ):
        return _thing("file", "", path, scope, call, facts)
    if call.method in _KEYS_SET and len(call.positional) > 1 and _is_key_store(call, facts):
        return _thing("key", _store(call), _key_of(call), scope, call, facts)
    if call.method in _KEYS_COUNTED and call.positional and _is_key_store(call, facts):
        thing = _thing("key", _store(call), _key_of(call), scope, call, facts)
        is_less = call.method.lower().removeprefix("hash").removeprefix("string").startswith("decr")
        less = is_less or call.positional[-1].value.text.startswith("-")
        return thing._replace(counts=True, is_down=less)
    if _is_row(call, "Put", _ROWS_SET, facts):
        return _thing("key", _store(call), "row", scope, call, facts)
    kind = _kind_of_member(call, facts)
    if kind == "entry" and call.method in _ENTRIES_SET and call.positional:
        return _thing("entry", _member(call), call.positional[0].value.text, scope, call, facts)
    if kind != "flag":
        return None
    if call.method in _FLAGS_SET and call.positional and _TRUE.match(call.positional[0].value.text):
        return _thing("flag", _member(call), "", scope, call, facts)
    if call.method in _COUNTED:
        return _thing("flag", _member(call), "", scope, call, facts)._replace(counts=True)
    return None


def _grown_by(call: Call, facts: Facts) -> Thing | None:
    """Return the set, list or hash of a store that a call makes one larger."""
    scope = facts.named_function_of(call)
    if scope is None or len(call.positional) < 2 or not _is_key_store(call, facts):
        return None
    return _thing("size", _store(call), _first_key(call), scope, call, facts)._replace(counts=True)


def _first_key(call: Call) -> str:
    given = [each.value.text for each in call.positional if not _CONTEXT.match(each.value.text)]
    return given[0] if given else ""


def _is_row(call: Call, verb: str, methods: frozenset[str], facts: Facts) -> bool:
    """Return whether a row of DynamoDB or a document of Firestore is read or written."""
    if call.method in methods:
        return bool(call.arguments)
    if call.method == "send":
        found = _COMMAND.match(call.positional[0].value.text) if call.positional else None
        return found is not None and found[1] == verb
    if call.method != ("get" if verb == "Get" else "set") or not call.is_awaited:
        return False
    return bool(call.positional) == (verb == "Put") and b"irestore" in facts.syntax.source


def _assigned_flags(facts: Facts) -> Iterator[Thing]:
    """Yield `running = true` of a volatile field (Java, Kotlin, C#)."""
    if facts.language not in ("java", "kotlin", "csharp") or b"olatile" not in facts.syntax.source:
        return
    members = _members(facts)
    for each in facts.assignments:
        name = each.targets[0].removeprefix("self.") if each.targets else ""
        if each.scope is None or members.get(name) != "flag" or each.value is None:
            continue
        scope = facts.named_function_of(each)
        is_given_back = any(
            one.targets == each.targets
            and one.scope is each.scope
            and one.value
            and one.value.text == "false"
            for one in facts.assignments
        )
        if scope is not None and is_given_back and _TRUE.match(each.value.text):
            yield Thing("flag", name, "", scope, each.span, None)


def _assigned_entries(facts: Facts) -> Iterator[Thing]:
    """Yield `self.held[key] = …` of a dict that tasks share (Python)."""
    if facts.language != "python" or b"await" not in facts.syntax.source:
        return
    members = _members(facts)
    for each in facts.assignments if members else ():
        name = each.targets[0].removeprefix("self.") if each.targets else ""
        scope = facts.named_function_of(each) if members.get(name.removesuffix("[]")) == "entry" else None
        if scope is None or not scope.is_async or not name.endswith("[]") or each.operator != "=":
            continue
        key = facts.text(each.span).partition("=")[0].rstrip().removesuffix("]").partition("[")[2]
        yield Thing("entry", name[:-2], _plain(key, scope, facts), scope, each.span, None, key)


def _asked_by(call: Call, kinds: set[ThingKind], facts: Facts) -> Thing | None:
    scope = facts.named_function_of(call)
    if scope is None:
        return None
    if "file" in kinds and (path := _asked_path(call)):
        return _thing("file", "", path, scope, call, facts)
    if "key" in kinds and call.method in _KEYS_ASKED and call.positional and _is_key_store(call, facts):
        return _thing("key", _store(call), _key_of(call), scope, call, facts)
    if "size" in kinds and call.method in _SIZES_ASKED and call.positional and _is_key_store(call, facts):
        return _thing("size", _store(call), _first_key(call), scope, call, facts)
    if "key" in kinds and _is_row(call, "Get", _ROWS_ASKED, facts):
        return _thing("key", _store(call), "row", scope, call, facts)
    kind = _kind_of_member(call, facts) if kinds & {"entry", "flag"} else ""
    if kind == "entry" and call.method in _ENTRIES_ASKED and call.positional:
        return _thing("entry", _member(call), call.positional[0].value.text, scope, call, facts)
    if kind == "flag" and call.method in _FLAGS_ASKED:
        return _thing("flag", _member(call), "", scope, call, facts)
    return None


_BARE = lazy_regex(r"^[\s(]*!?\s*(?:this\.)?(\w+)[\s)]*$")
_IN = lazy_regex(r"(?:not\s+)?([\w.\[\]\"']+)\s+(?:not\s+)?!?in\s+((?:self\.|this\.)?\w+)\b")


def _asked_by_word(kinds: set[ThingKind], facts: Facts) -> list[Thing]:
    """Return what is asked with `key in self.seen` (Python, Kotlin), and volatile flags."""
    found: list[Thing] = []
    by_word = "entry" in kinds and facts.language in ("python", "kotlin")
    by_name = "flag" in kinds and facts.language in ("java", "kotlin", "csharp")
    members = _members(facts) if by_word or by_name else {}
    for step in facts.steps_of("branch") if members else ():
        scope = facts.named_function_of(step)
        if scope is None:
            continue
        if by_word and (asked := _IN.search(step.text)) is not None:
            store, key = asked[2].removeprefix("this.").removeprefix("self."), asked[1]
            if members.get(store) == "entry":
                place = _place_in(step, asked[0], facts)
                found.append(Thing("entry", store, _plain(key, scope, facts), scope, place, None))
        elif by_name and (named := _BARE.match(step.text)) is not None and members.get(named[1]) == "flag":
            found.append(Thing("flag", named[1], "", scope, _place_in(step, named[1], facts), None))
    return found


def _place_in(step: Step, text: str, facts: Facts) -> Span:
    at = step.span.start + max(0, facts.text(step.span).find(text))
    return Span(at, at + len(text.encode()))


def _thing(kind: ThingKind, store: str, key: str, scope: Scope, call: Call, facts: Facts) -> Thing:
    return Thing(kind, store, _plain(key, scope, facts), scope, call.span, call, key)


def _plain(key: str, scope: Scope, facts: Facts) -> str:
    """Return a key without copies; one that is in a variable as what that variable holds."""
    text = key.strip().lstrip("&*").removeprefix("mut ").strip()
    while (shorter := _COPY.sub("", text)) != text:
        text = shorter
    if not text.isidentifier():
        return re.sub(r"\s+", "", text)
    values = [
        each.value.text
        for each in facts.within(facts.assignments, scope.body)
        if each.value is not None and each.targets == (text,)
    ]
    return re.sub(r"\s+", "", values[0].lstrip("&")) if len(values) == 1 else text


def _store(call: Call) -> str:
    made = call.origin
    if made is not None and _PIPELINE.search(made.method):
        return _store(made)
    return _SPRING.sub("", call.receiver_written).removeprefix("this.").removeprefix("self.").rstrip("!?")


def _member(call: Call) -> str:
    """Return the field that a call is on, also through the guard of its lock (Rust)."""
    text = call.receiver_written.removeprefix("this.").removeprefix("self.")
    return re.split(r"\.(?:read|write|lock|borrow\w*|unwrap)\b", text)[0].rstrip("!?")


def _key_of(call: Call) -> str:
    """Return the key that is asked or set, with the member for sets and hashes."""
    given = [each.value.text for each in call.positional if not _CONTEXT.match(each.value.text)]
    return ",".join(given[: 2 if _OF_MEMBERS.match(call.method) else 1])


def _is_key_store(call: Call, facts: Facts) -> bool:
    owner = call.receiver_written
    if not owner:
        return False
    if _KEY_STORE.search(owner) or _KEY_STORE.search(call.receiver):
        return True
    if _KEY_STORE.search(type_of_receiver(call, facts)) or (call.is_awaited and _CACHE.search(owner)):
        return True
    if facts.language == "rust":
        is_line = re.search(r"(?:^|[._])(?:conn?|connection|c)$", owner) is not None
        return is_line and b"redis" in facts.syntax.source
    return call.origin is not None and _KEY_STORE.search(call.origin.name) is not None


def _asked_path(call: Call) -> str:
    if call.name in _FILES_ASKED:
        return call.positional[0].value.text if call.positional else ""
    if call.method in _PATH_ASKED and not call.positional and call.receiver_written:
        return call.receiver_written
    return ""


def _written_path(call: Call, facts: Facts) -> str:
    """Return the path of a file that a call makes or overwrites."""
    if call.method in _PATH_SET and call.receiver_written:
        return call.receiver_written
    if call.method == "open" and facts.language == "python":
        is_path = call.name not in ("open", "io.open")
        mode = call.argument("mode", place=0 if is_path else 1)
        if mode is None or "w" not in mode.value.literal or call.receiver_written == "os":
            return ""
        return (
            call.receiver_written if is_path else (call.positional[0].value.text if call.positional else "")
        )
    return call.positional[0].value.text if call.name in _FILES_SET and call.positional else ""


def _kind_of_member(call: Call, facts: Facts) -> ThingKind | Literal[""]:
    return _members(facts).get(_member(call), "") if call.receiver_written else ""


@lru_cache(maxsize=4)
def _members(facts: Facts) -> dict[str, ThingKind]:
    """Return collections and flags that threads or tasks share, by name."""
    found: dict[str, ThingKind] = {}
    by_tasks = facts.language in ("python", "javascript", "typescript", "tsx")
    if not by_tasks and not facts.syntax.has_any(*_SHARED_WORDS):
        return found
    for each in facts.assignments:
        if not each.targets or (
            each.scope is not None
            and not (
                each.targets[0].startswith("self.") and each.scope.short_name in ("__init__", "constructor")
            )
        ):
            continue
        text = f"{facts.text(each.span)} {facts.syntax.line_text(each.line)}"
        name = each.targets[0].removeprefix("self.")
        if _SHARED.search(text) or (by_tasks and _PLAIN.search(text)):
            found[name] = "entry"
        elif _FLAG.search(text):
            found[name] = "flag"
    return found


def _through_helpers(direct: list[Thing], facts: Facts) -> Iterator[Thing]:
    """Yield what callers of a helper ask or set by it, with the key in words of the caller."""
    holders: dict[Scope, list[Thing]] = {}
    for thing in direct:
        holders.setdefault(thing.scope, []).append(thing)
    for scope, things in holders.items():
        if len(things) != 1 or things[0].kind not in ("key", "file"):
            continue
        for call in facts.callers_of(scope):
            outer = facts.named_function_of(call)
            if outer is None or outer is scope:
                continue
            key = _in_words_of_caller(things[0].key, scope, call)
            yield things[0]._replace(scope=outer, place=call.span, call=call, key=key)


def _in_words_of_caller(key: str, scope: Scope, call: Call) -> str:
    names = [each.name for each in scope.parameters if each.name not in ("self", "cls", "this")]
    given = dict(zip(names, (each.value.text for each in call.positional), strict=False))
    return re.sub(r"[A-Za-z_]\w*", lambda found: given.get(found[0], found[0]), key)
