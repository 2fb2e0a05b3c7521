"""Finds a round trip for every item of a list (the N+1 problem).

Evidence that it matters: the loop runs for each request or message, or a function returns what the loop has
read (a listing); and each round only reads. A loop that also writes or sends for each item is possible only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, is_within
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.applied_functions import Applied, given_functions
from faultkit.code.rules.vocabulary.collaborators import is_store_lookup
from faultkit.code.rules.vocabulary.data_sizes import base_name, is_given, is_in_steps, is_over_data
from faultkit.code.rules.vocabulary.item_functions import loop_of_closure, reads_by_methods
from faultkit.code.rules.vocabulary.listing_loops import asks_seldom, is_remembered, is_waited_for
from faultkit.code.rules.vocabulary.loaded_lists import is_loaded_whole
from faultkit.code.rules.vocabulary.loops_over_rows import is_loaded
from faultkit.code.rules.vocabulary.remote_calls import (
    IN_BROWSER,
    RemoteCall,
    chain_of,
    remote_calls,
    sql_calls,
)
from faultkit.code.rules.vocabulary.repetition import (
    counter_of,
    frequency_of,
    is_in_retry_loop,
    is_over_items,
    uses_item,
)
from faultkit.code.rules.vocabulary.same_source import asked_for_each_row, ends_with_write
from faultkit.code.rules.vocabulary.unsent_queries import (
    is_for_each_group,
    is_for_other_kind,
    is_in_memory,
    is_over_one,
    is_part_of_query,
)
from faultkit.code.rules.vocabulary.waits import waits_in

_TOGETHER = frozenset(
    (
        "gather",
        "wait",
        "as_completed",
        "all",
        "allSettled",
        "create_task",
        "submit",
        "ensure_future",
        "async",
        "launch",
    )
)
_GROUPS = lazy_regex(
    r"batch|chunk|page|bulk|shard|partition|region|retr|attempt|backoff|delay|mirror|replica|fallback",
    re.IGNORECASE,
)
_LISTS_OF_GROUPS = lazy_regex(
    r"(batch|chunk|page|bulk|shard|partition|region|mirror|replica|fallback)\w*(s|ed|\()|retr|attempt|backoff|delay",
    re.IGNORECASE,
)
"""Lists whose items are groups. The items of one page or batch are rows: `for order in batch`."""
_ONE_PAGE = lazy_regex(r"\b(?:find|get|load|fetch|list|read|query)_?\w*[pP]age\(")
"""A call whose answer is one page: its items are rows."""
_PAGES = lazy_regex(r"offset|cursor|skip|\bstart|\bsince\b|\bpart(s|_?num\w*)?\b", re.IGNORECASE)
_MESSAGES = lazy_regex(r"message|job|task|msgs|consumer|queue", re.IGNORECASE)
_FETCHES = lazy_regex(r"^_?(fetch|load|query|lookup|request|download|enrich)(_|[A-Z]|$)")
_LOOKS_UP = lazy_regex(r"^_?(get|find|resolve)(_|[A-Z]|$)")
"""Names that often mean a look-up in memory: they count only with a key among the arguments."""
_KEY = lazy_regex(r"(^|[._a-z])(ids?|Ids?|ID|uuid|slug|email|url|href|key)\b|_(id|key|url)\b|://")
_FEW = lazy_regex(
    r"(server|broker|host|node|master|responder|resolver|provider|plugin|backend|table|column|database|schema"
    r"|locale|language|listener|subscriber|handler|adapter|driver|tracker|cluster|data_?cent(er|re)|config"
    r"|environment|lookup|candidate)(_?ids?|s|es)?$",
    re.IGNORECASE,
)
"""Lists that grow with the installation and not with its data, and lists of which one is sought."""
_ONE_ROW = lazy_regex(
    r"^(findOne\w*|findBy(Id|Pk)|find_one|find_by_id|findFirst\w*|fetchrow|fetchval|scalar_one\w*)$"
)
_BY_KEY = lazy_regex(r"\bwhere\s+\S+\s*=\s*(\?|\$\d|:\w|%s|@\w)", re.IGNORECASE)
_REDIS = lazy_regex(r"redis|cache", re.IGNORECASE)
_PROPERTIES = lazy_regex(
    r"^[gG]et(Date|Time|Name|Type|Class|Table|Field|Column|Value|Path|Schema|Label|Title)s?$"
)
"""Methods of stores that map a row or describe a table."""
_CONSTANT = lazy_regex(
    r"_*[A-Z][A-Z0-9]*(_[A-Z0-9]+)*_(MAP|MAPPING|MAPPINGS|TYPES|NAMES|TABLE|BY_\w+|LOOKUP|DICT|CODES)"
)
_MAPS = lazy_regex(
    r"(dict|defaultdict|OrderedDict|Counter|new (Hash|Tree|Linked\w*)?Map|new Dictionary|mutableMapOf"
    r"|make\(map)\b"
)
_CHANGES = lazy_regex(
    r"^_?(update|save|delete|remove|insert|create|write|store)(_|[A-Z]|$)|^(Update|Save|Delete)"
)
"""Functions of this text that write, and may read to do so."""
_SHORT_LINES = 25
"""A function of this text is a look-up if it is short and reads only; a longer one is a piece of work."""


def _check(facts: Facts) -> Iterator[Hit]:
    seen: set[Call] = set()
    for remote in (*remote_calls(facts), *reads_by_methods(facts)):
        call = remote.call
        loop = _loop(call, facts) or _loop_of_closure(remote, facts)
        if loop is None or call in seen:
            continue
        seen.add(call)
        if _is_told_elsewhere(remote, loop, facts) or is_in_memory(remote, facts):
            continue
        if ends_with_write(call, facts):
            continue
        what = f"{call.written}() goes out once for every item of {_over(loop)}"
        if remote.through is not None:
            what += f" (it calls {remote.through.written}())"
        often = remote.is_read and frequency_of(loop, facts) in ("request", "message")
        # Other services seldom answer for many at once: only where a client waits it matters.
        waits = often or remote.kind != "http"
        is_sure = remote.is_read and waits and is_waited_for(loop, facts)
        is_sure = is_sure and (often or not _is_made_of_given(loop, facts) or is_loaded(loop, facts))
        if is_sure and (is_for_other_kind(remote, facts) or asks_seldom(call, loop, facts)):
            is_sure = False
        if is_sure and _is_together(call, loop, facts):
            # One wait, though many queries: only a list that nothing limits matters.
            is_sure = is_loaded_whole(loop.over, loop, facts)
        sure = LIKELY if is_sure else POSSIBLE
        yield Hit(call.span, what, sure, None if often else "medium")
    for call, applied in _in_given_functions(facts):
        if call not in seen:
            seen.add(call)
            what = f"{call.written}() goes out once for every item of {applied.over.strip()[:40]}"
            # Tasks that `Select` starts run together (C#).
            together = facts.language == "csharp" and applied.scope.is_async
            yield Hit(call.span, what, POSSIBLE if together else LIKELY, "medium")
    for call, loop in asked_for_each_row(facts):
        if call not in seen and not seen & {*chain_of(call)} and _loop(call, facts) is not None:
            seen.add(call)
            if not _is_together(call, loop, facts):
                what = f"{call.written}() goes out once for every item of {_over(loop)}"
                is_sure = is_waited_for(loop, facts) and not asks_seldom(call, loop, facts)
                yield Hit(call.span, what, LIKELY if is_sure else POSSIBLE, "medium")
    for call in facts.calls:
        if call in seen:
            continue
        # Arguments are asked for last: to read them takes long.
        if call.is_awaited and _seems_remote(call, facts):
            loop = _loop(call, facts) if call.arguments else None
            if loop is not None and not loop.is_async and not _is_together(call, loop, facts):
                what = f"{call.written}() is awaited once for every item of {_over(loop)}, one after another"
                yield Hit(call.span, what, POSSIBLE, "medium")
        elif is_store_lookup(call, facts):
            loop = _loop(call, facts) if call.arguments else None
            if loop is not None and not _is_together(call, loop, facts):
                what = f"{call.written}() goes out once for every item of {_over(loop)}"
                yield Hit(call.span, what, POSSIBLE, "medium")


def _in_given_functions(facts: Facts) -> Iterator[tuple[Call, Applied]]:
    """Yield reads of a database by a function that is given to `map` over what a query returned."""
    known = {each.call for each in remote_calls(facts) if each.through is None}
    reads = [
        each.call
        for each in remote_calls(facts)
        if each.is_read
        and each.kind == "database"
        and (each.through is None or _is_lookup(each.through, facts))
    ]
    for applied in given_functions(facts) if reads else ():
        if not _is_of_query(applied, known, facts):
            continue
        for call in reads:
            if not is_within(call.span, applied.scope.body):
                continue
            if re.search(rf"(?<![\w.]){re.escape(applied.item)}\b", facts.text(call.span)):
                yield call, applied


def _is_of_query(applied: Applied, known: set[Call], facts: Facts) -> bool:
    """Return whether the list comes from a query or a request."""
    if {*chain_of(applied.at)} & known:
        return True
    name = base_name(applied.over)
    made = facts.assignments_to(name, applied.at) if name else ()
    return any(
        each.call is not None and (each.call in known or {*chain_of(each.call)} & known) for each in made
    )


def _is_told_elsewhere(remote: RemoteCall, loop: Loop, facts: Facts) -> bool:
    """Return whether it is no look-up for each item: a write, a message, a piece of work, or all at once."""
    call, together = remote.call, _is_together(remote.call, loop, facts)
    if together and (remote.kind != "database" or not _is_query_by_key(remote, facts)):
        return True
    # Prisma joins those of one turn of the event loop into one query.
    if together and call.method.startswith("findUnique"):
        return True
    if not remote.is_read:
        # Writes row by row are FK-P019. Each message is a separate unit of work.
        if remote.kind == "database" or remote.through is not None:
            return True
        return _MESSAGES.search(loop.over) is not None
    if remote.through is None:
        return False
    return _CHANGES.match(call.method) is not None or not _is_lookup(remote.through, facts)


def _is_query_by_key(remote: RemoteCall, facts: Facts) -> bool:
    """Return whether it asks for rows by a key, itself or by a function of this text."""
    inner = remote.through
    if inner is None or (remote.is_read and _ONE_ROW.match(inner.method) is not None):
        return True
    return remote.is_read and any(sql.call is inner and _BY_KEY.search(sql.sql) for sql in sql_calls(facts))


def _is_lookup(inner: Call, facts: Facts) -> bool:
    scope = facts.named_function_of(inner)
    if scope is None or facts.text(scope.body).count("\n") > _SHORT_LINES:
        return False
    return all(
        each.is_read
        for each in remote_calls(facts)
        if each.through is None and is_within(each.call.span, scope.span)
    )


def _seems_remote(call: Call, facts: Facts) -> bool:
    """Return whether the name of an awaited function says that it fetches."""
    if call.receiver_written.partition(".")[0] in IN_BROWSER:
        return False
    if _FETCHES.match(call.method) or is_store_lookup(call, facts):
        return True
    if _LOOKS_UP.match(call.method) is None:
        return False
    return _KEY.search(" ".join(each.value.text for each in call.arguments)) is not None


def _loop(call: Call, facts: Facts) -> Loop | None:
    """Return the innermost loop over items, if each item makes another call."""
    if _is_of_memory(call, facts):
        return None
    around = facts.loops_around(call)
    if len(around) > 1 and not is_over_items(around[-1]) and is_in_retry_loop(call, facts):
        around = around[:-1]  # A retry loop inside a loop over items.
    elif around and is_in_retry_loop(call, facts):
        return None
    if not around or call.is_launched:
        return None
    loop = around[-1]
    if not is_over_items(loop):
        return loop if _is_for_each_number(call, loop, facts) else None
    if not _asks_for_each(call, loop, facts):
        return None
    if is_over_data(loop, facts) or is_loaded(loop, facts):
        return loop
    if _REDIS.search(call.receiver_written) and _last_word(loop.over).lower().endswith("keys"):
        return loop
    # Of other lists nothing shows that they can be long, unless a client or caller sends them.
    is_query = any(
        remote.call is call and remote.through is None and remote.is_read for remote in remote_calls(facts)
    )
    if is_query and is_given(loop, facts):
        return loop
    return loop if frequency_of(loop, facts) in ("request", "message") else None


def _is_of_memory(call: Call, facts: Facts) -> bool:
    """Return whether a call asks a map of this text or a constant, or maps a row that it is given."""
    owner = call.receiver_written
    if _PROPERTIES.match(call.method):
        return True
    if not owner.isidentifier():
        return False
    if _CONSTANT.fullmatch(owner) and not _REDIS.search(owner):
        return True
    return any(
        each.value is not None and (each.value.shape == "object" or _MAPS.match(each.value.text))
        for each in facts.assignments_to(owner, call)
    )


def _loop_of_closure(remote: RemoteCall, facts: Facts) -> Loop | None:
    """Return the loop over the rows of a query that gives each of them to the closure around a read."""
    if not remote.is_read or remote.kind != "database" or facts.loops_around(remote.call):
        return None
    loop = loop_of_closure(remote.call, facts)
    if loop is None or not is_loaded(loop, facts) or not _asks_for_each(remote.call, loop, facts):
        return None
    return loop


def _asks_for_each(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether each item of a loop makes another call, and the items are no groups of rows."""
    # The page that a query is given is no list of pages: `orders.findOpen(page)`.
    over = re.sub(r"\([^()]*\)", "()", loop.over) if facts.language in ("java", "kotlin") else loop.over
    over = _ONE_PAGE.sub("", over)
    if _LISTS_OF_GROUPS.search(over) or any(_GROUPS.search(name) for name in loop.targets):
        return False
    if (
        is_in_steps(loop, facts)
        or _FEW.search(_last_word(loop.over))
        or "config" in loop.over.lower()
        or loop.over.startswith("kwargs.")
        or any("candidate" in name for name in loop.targets)
        or _is_short_list(loop, facts)
        or _is_channel(loop, facts)
    ):
        return False
    if _is_last(call, loop, facts) or _ends_with_first(call, loop, facts) or is_remembered(call, loop, facts):
        return False
    if is_over_one(loop, facts) or is_part_of_query(call, facts) or is_for_each_group(call, loop, facts):
        return False
    return loop.kind == "count" or uses_item(call, loop, facts)


def _is_made_of_given(loop: Loop, facts: Facts) -> bool:
    """Return whether a list is made of what the function is given: `for slug in slugs.split(",")`."""
    scope = facts.named_function_of(loop)
    given = set[str]() if scope is None else {each.name for each in scope.parameters}
    return not given.isdisjoint(re.findall(r"(?<![\w.])[A-Za-z_]\w*", loop.over))


def _last_word(over: str) -> str:
    """Return the name of a list: of `list(self.hosts.values())` hosts."""
    words = [
        word
        for word in re.findall(r"[A-Za-z_]\w*", re.sub(r"([\"'`]).*?\1", "", over))
        if word not in ("values", "entries", "list", "sorted", "Object", "length", "len", "i")
    ]
    return words[-1] if words else ""


def _is_short_list(loop: Loop, facts: Facts) -> bool:
    """Return whether the list is written out before: `hosts = ["a", "b"]`."""
    if not loop.over.isidentifier():
        return False
    values = [each.value for each in facts.assignments_to(loop.over, loop) if loop.over in each.targets]
    return bool(values) and all(
        value is not None and value.shape == "list" and re.search(r"\w|['\"]", value.text) is not None
        and not re.search(r"\bfor\b|\*|\.\.\.", value.text)
        for value in values
    )  # fmt: skip


def _is_channel(loop: Loop, facts: Facts) -> bool:
    """Return whether a Go loop takes from a channel, as one of several workers."""
    if facts.language != "go" or not loop.over.isidentifier():
        return False
    word = re.compile(rf"\b{loop.over}\b[^,)\n]*\bchan\b")
    return any(word.search(facts.text(scope.span)) for scope in facts.functions_around(loop))


def _is_for_each_number(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether a counting loop calls for each number: `for i in range(n): get(f"/items/{i}")`.

    Loops that wait, or that may end early, poll, search or try again. Pages must be read in turn."""
    counter = counter_of(loop, facts)
    if not re.fullmatch(r"[A-Za-z]\w*", counter) or waits_in(loop, facts):
        return False
    if any(step.kind in ("return", "break") for step in facts.within(facts.steps, loop.body)):
        return False
    text = facts.text(call.span)
    if any(_GROUPS.search(each) or _PAGES.search(each) for each in (loop.over, counter, text)):
        return False
    names = {counter}
    for each in facts.within(facts.assignments, loop.body):
        if re.search(rf"\b{counter}\b", facts.text(each.span)):
            names.update(target for target in each.targets if target.isidentifier())
    return any(re.search(rf"(?<![\w.]){name}\b", text) for name in names)


def _is_last(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether the round of a call is the last one: `if item.key == key: return load(item)`."""
    scope = facts.function_of(loop)
    return facts.function_of(call) is scope and any(
        step.kind == "return" and is_within(call.span, step.span)
        for step in facts.within(facts.steps, loop.body)
    )


def _ends_with_first(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether the loop searches the first that works: `for url in mirrors: try: return get(url)`,
    or `if tag: return tag`."""
    for each in facts.within(facts.tries, loop.body):
        steps = facts.within(facts.steps, each.body)
        if facts.language != "go" and any(step.kind == "return" for step in steps):
            return True
    names = [name for name in call.assigned if re.fullmatch(r"(?!\w*[eE]rr)\w+", name)]
    word = "|".join(names) or "ok"
    works = re.compile(
        rf"\(*\s*(?:{word})(?:\.ok|\?)?\s*\)*(?:\s*(?:!==?|is not)\s*(?:null|undefined|None|nil))?\)*"
        rf"|\w*[eE]rr\s*==\s*nil\b.*|(?:{word})\.\w*[sS]tatus\w*(?:\(\))?\s*===?\s*\S+"
    )
    return any(
        step.kind == "branch"
        and step.span.start > call.span.start
        and works.fullmatch(step.text.strip())
        and any(inner.kind in ("return", "break") for inner in facts.within(facts.steps, step.span))
        for step in facts.within(facts.steps, loop.body)
    )


def _is_together(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether all run at the same time: `Promise.all(xs.map(…))`, `gather(*(f(x) for x in xs))`."""
    around = [each for each in facts.calls_around(call) if each.method in _TOGETHER]
    if around:
        return True
    if loop.kind != "comprehension" or facts.language in ("java", "kotlin", "rust"):
        return False
    if facts.language == "python":
        return not call.is_awaited and facts.imports_any("asyncio", "anyio") and facts.is_in_async(call)
    # `const all = xs.map(async …)` starts all of them; they are awaited elsewhere.
    return True


def _over(loop: Loop) -> str:
    return loop.over if loop.kind != "count" and len(loop.over) < 40 else "the loop"


RULE = Rule(
    id="FK-P004",
    slug="call-per-item",
    title="A round trip for every item",
    why="A list of a hundred items waits a hundred times for the network; it is fast in tests and slow with "
    "real data.",
    fix="Ask for all items in one query or batch request, or run a bounded number of requests at a time.",
    kind="performance",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
)
