"""Clients, and what is made for one of them, that a collection keeps after the client has gone.

self.clients = set()                         viewers := map[*Viewer]struct{}{}
async def handler(self, request):            h.viewers[v] = struct{}{}
    self.clients.add(ws)                     (nothing takes v out of it again)

What is kept counts, not the name of the collection: a connection, or a queue or channel that was made here
for one. A collection is known by what it is declared as, or by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Value
from faultkit.code.facts.groups import grouped
from faultkit.code.facts.nesting import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.connections import CLIENT_NAMES, is_client
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.removals import key_of, takes_away
from faultkit.code.rules.vocabulary.short_lives import Repeated, outlives, repeated_around
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_WORDS = (
    b"socket", b"emitter", b"event-stream", b"eventstream", b"upgrade", b"sse", b"subscri", b"listener",
    b"viewer", b"watch", b"stream",
)  # fmt: skip
"""One of them stands in each text that keeps something for clients which stay connected."""
_ADDS = (
    "add", "append", "insert", "push", "set", "put", "Add", "TryAdd", "putIfAbsent", "addLast", "AddLast",
    "Store", "entry", "offer",
)  # fmt: skip
_SUBSCRIBERS = NamePattern(
    r"(subscribers?|listeners?|observers?|clients?|connections?|queues|sinks|watchers?|viewers?|sockets|channels|streams)$",
    re.IGNORECASE,
)
_CLIENTS = NamePattern(
    r"^_?(ws|web_?socket|socket|sock|conn|connection|res|reply|emitter|viewer|peer|observer|session|this)$",
    re.IGNORECASE,
)
_MADE = NamePattern(
    r"(^|[.:])(WebSocketResponse|StreamResponse|SseEmitter|ResponseBodyEmitter|DeferredResult|AcceptWebSocketAsync|Upgrade"
    r"|accept|Accept|Queue|LifoQueue|SimpleQueue|channel|unbounded_channel|Channel|CreateBounded|CreateUnbounded"
    r"|LinkedBlockingQueue|ArrayBlockingQueue|PassThrough|MutableSharedFlow|create_memory_object_stream|make)(<.*>)?$"
)
"""Calls that make what there is one of for each client."""
_HOLDS_CLIENT = lazy_regex(
    r"(?<![\w.])(ws|web_?socket|socket|sock|conn|connection|res|reply|emitter|session)\b"
)
_LOCKED = lazy_regex(
    r"\.(lock|write|borrow_mut|unwrap|expect|await)(\(\))?(?=\.|$)|\.(entry|get|computeIfAbsent|GetOrAdd|setdefault|getOrPut)\(.*$"
)
"""The part of a path between a collection and what it is asked for."""
_STAYS_OPEN = lazy_regex(r"Upgrade\(|[wW]eb_?[sS]ocket|event-stream|StreamingResponse|Flusher")
_MAKERS = frozenset(("constructor", "__init__", "init", "new", "<init>", "__post_init__", "default"))


def kept_in_collections(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield where a client is put into a collection that nothing takes it out of, with what follows."""
    if not facts.syntax.has_any(*_WORDS):
        return
    for call in facts.calls_of_method(*_ADDS):
        if not call.receiver_written or call.is_returned or not call.positional or call.assigned:
            continue
        path, given = _LOCKED.sub("", call.receiver_written), call.positional[-1].value
        if given.shape not in ("name", "call", "other") and given.text != "this":
            continue
        if (run := _kept_by(path, given.text, call, facts)) is not None:
            yield call.callee, f"{call.written}() keeps {given.text} after the {run.of} has ended"
    for each in facts.assignments:
        target = "".join(each.targets[:1])
        if each.scope is None or len(each.targets) > 1:
            continue
        is_append = facts.language == "go" and target.startswith("self.")
        if "[" not in target and not is_append and (each.operator != "+=" or facts.language != "kotlin"):
            continue  # Asked first: to read a value takes longer.
        path, given_text = _put_by(each, target, facts)
        if path and (run := _kept_by(path, given_text, each, facts)) is not None:
            yield each.span, f"{path} keeps this after the {run.of} has ended"


def _put_by(each: Assignment, target: str, facts: Facts) -> tuple[str, str]:
    """Return the collection that an assignment puts something into, and what that is."""
    value = "" if each.value is None else each.value.text
    path, _, index = target.partition("[")
    if index and each.operator == "=":
        key = facts.text(each.span).partition("=")[0].rstrip().rstrip("]").rpartition("[")[2]
        # `viewers[v] = struct{}{}` keeps the key.
        return path, key if re.fullmatch(r"struct\{\}\{\}|true|True|1", value) else value
    if facts.language == "go" and each.call is not None and each.call.name == "append":
        given = [one.value.text for one in each.call.positional]
        return (target, given[1]) if len(given) == 2 and given[0] in (target, _written(target)) else ("", "")
    if facts.language == "kotlin" and each.operator == "+=" and value.isidentifier():
        return target, value
    return "", ""


def _written(target: str) -> str:
    return target.removeprefix("self.")


_OF_ONE_CLIENT = lazy_regex(r"(?:Session|Connection|Channel|Socket)(?:Context|Impl)?$")


def _kept_by(path: str, given: str, place: Assignment | Call, facts: Facts) -> Repeated | None:
    """Return the run for a client after which a collection still keeps what was made for it."""
    key = key_of(path)
    of_clients = _SUBSCRIBERS.search(key) is not None
    if not of_clients and not _may_be_client(given, place, facts):
        return None
    run = repeated_around(place, facts)
    if run is None or run.of == "message":
        return None
    if _OF_ONE_CLIENT.search(run.scope.owner) and re.search(r"[lL]istener|[cC]allback|[hH]andler", key):
        return None  # The object is the connection itself, and ends with its listeners.
    if not _is_of_client(given, place, run, facts):
        keyed = isinstance(place, Assignment) or len(place.positional) > 1
        if not of_clients or (not given.isidentifier() and not isinstance(place, Assignment)):
            return None
        if keyed and run.of == "request" and not _STAYS_OPEN.search(facts.text(run.scope.span)):
            return None  # What is kept for a key of a request is a cache.
    if not outlives(path, place, run, facts):
        return None
    is_known = _is_collection(key, facts)
    if not is_known and (not of_clients or facts.language == "go"):
        return None  # Other files of the package may take it out.
    return None if _takes_out(key, given, place, facts) else run


def _may_be_client(given: str, place: Placed, facts: Facts) -> bool:
    """Return whether a value may be one of a client, by its name or by what is assigned to it."""
    if _CLIENTS.match(given):
        return True
    name = re.match(r"&?(\w+)(?:\.clone\(\))?$", given)
    return name is not None and any(
        (each.call is not None and _MADE.search(each.call.name))
        or (each.value is not None and _HOLDS_CLIENT.search(each.value.text))
        for each in facts.assignments_to(name[1], place)
    )


def _is_of_client(given: str, place: Placed, run: Repeated, facts: Facts, levels: int = 2) -> bool:
    """Return whether a value is a client, or a queue, channel or object that was made for one here."""
    if given in ("this", "self"):
        return run.of == "connection" and facts.language == "kotlin"
    name = re.match(r"&?(?:mut )?(\w+)(?:\.clone\(\))?$", given)
    if name is None or levels == 0:
        return False
    around = [*facts.functions_around(place)]
    inside = around[around.index(run.scope) :] if run.scope in around else around
    for scope in inside:
        for one in scope.parameters:
            if one.name.lstrip("_") == name[1].lstrip("_"):
                return is_client(one.type) or _CLIENTS.match(one.name) is not None
    for each in facts.assignments:
        if each.scope not in inside or each.value is None:
            continue
        if not any(name[1] in re.findall(r"\w+", target) for target in each.targets if "." not in target):
            continue
        if each.call is not None and _MADE.search(each.call.name):
            return each.call.method != "make" or "chan " in each.value.text
        held = {*re.findall(r"(?<![\w.])\w+", each.value.text)} - {name[1]}
        return any(
            (one in CLIENT_NAMES or _CLIENTS.match(one)) and _is_of_client(one, each, run, facts, levels - 1)
            for one in held
        )
    return False


def captures_client(given: Value, place: Placed, run: Repeated, facts: Facts) -> bool:
    """Return whether a function that is written in place works on the client of a run."""
    if given.shape != "function":
        return False
    words = {word for word in re.findall(r"(?<![\w.])\w+", given.text) if _CLIENTS.match(word)} - {"this"}
    return any(_is_of_client(word, place, run, facts) for word in words)


_COLLECTION = (
    r"\b{0}\b[^\n;=]*[:=<][^\n;]*?(?:Set|Map|List|Dictionary|Bag|Vec|VecDeque|Slab|Array|Deque)\b(?:<|\(|\s|::|\.|;|$)"
    r"|\b(?:\w*(?:Set|Map|List|Dictionary|Bag|Deque))<[^\n;=]*\b{0}\b|\b{0}\s+(?:map\[|\[\]|sync\.Map)"
    r"|\b{0}\b[^=\n]*=\s*(?:\[\]|\{{\}}|set\(|dict\(|list\(|defaultdict\(|make\(map|map\[)"
)


def _is_collection(key: str, facts: Facts) -> bool:
    """Return whether the text declares something as a collection that keeps its items alive."""
    found = re.search(_COLLECTION.format(re.escape(key)), facts.whole_text)
    return found is not None and "Weak" not in found[0]


_TAKEN = (
    r"\b{0}\b(?:[^\n;]|\n\s*[.?])*?\.\s*(?:remove|discard|pop|delete|clear|retain|drain|take|Remove|TryRemove|Clear|shift"
    r"|splice|extract_if|Delete|Range|invalidate|evict)\w*\b"
    r"|\bdelete\(\s*[\w.]*\b{0}\s*[,\[]|\bdel\s+[\w.]*\b{0}\[|\bdelete\s+[\w.]*\b{0}\s*[\[.]|\b{0}\s*-="
)


def _takes_out(key: str, given: str, place: Placed, facts: Facts) -> bool:
    """Return whether the text takes anything out of a collection, or hands what was put in to what may."""
    if TextPattern(_TAKEN.format(re.escape(key))).is_in(facts.whole_text):
        return True
    for each in _set_by_key(facts).get(key, ()):
        if each.value is None or each.span == place.span:
            continue
        if "[" in each.targets[0] or each.operator not in ("=", ":="):
            continue
        if _is_set_anew(each, key):
            return True
    return given in _taken_away(facts)


@lru_cache(maxsize=4)
def _set_by_key(facts: Facts) -> dict[str, list[Assignment]]:
    """Return assignments by the last names of their first targets."""
    return grouped(facts.assignments, lambda each: key_of("".join(each.targets[:1])))


@lru_cache(maxsize=4)
def _taken_away(facts: Facts) -> frozenset[str]:
    """Return the texts of what is given to calls that remove or end something."""
    calls = facts.calls_with_method(takes_away)
    return frozenset(one.value.text for call in calls for one in call.positional)


def _is_set_anew(each: Assignment, key: str) -> bool:
    """Return whether an assignment leaves less in a collection: not where it is first made, nor by adding."""
    value = "" if each.value is None else each.value.text
    if re.search(rf"\b{re.escape(key)}\b", value):
        added = re.match(
            rf"append\(\s*[\w.]*\b{re.escape(key)}\s*,|\[\s*\.\.\.|[\w.]*\b{re.escape(key)}\s*\+", value
        )
        return added is None
    if each.scope is None:
        return False
    name = each.scope.short_name
    makes = name in _MAKERS or name == each.scope.owner.rpartition(".")[2] or name.lower().startswith("new")
    return not makes and ("." in each.targets[0] or each.operator != ":=") and not _declares(each)


def _declares(each: Assignment) -> bool:
    """Return whether a local variable is declared, which another function uses as its collection."""
    return each.is_constant or each.targets[0].isidentifier()
