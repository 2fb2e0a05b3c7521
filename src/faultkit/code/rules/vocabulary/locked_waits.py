"""Calls that wait for another process while a lock is held, beyond requests over HTTP and SQL texts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.lock_regions import LOCK_WORDS, Region, lock_regions, regions_around
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.remote_calls import remote_calls, sql_calls
from faultkit.code.rules.vocabulary.service_clients import callers_by_type, type_of_receiver

_LEVELS = 3
"""Levels of functions of a text that are followed from a call to one that waits."""
_CONNECTS = (
    "smtplib.SMTP", "smtplib.SMTP_SSL", "ftplib.FTP", "ftplib.FTP_TLS", "socket.create_connection",
    "urllib.request.urlopen",
)  # fmt: skip
_AWS = ("boto3.client().", "boto3.resource().", "boto3.Session().client().")
_RESTY = NamePattern(r"/resty(/v\d+)?\..*\.(Get|Post|Put|Patch|Delete|Head|Send|Execute)$")
_STORE_TYPE = NamePattern(
    r"(^|[./])I?(?!(Object|Json|JSON|Xml|XML|Yaml|Csv|Cbor|Model|Bean|Row|Param|Set)Mapper$)[A-Z]\w*"
    r"(Repository|Dao|DAO|Mapper)$"
)
"""Mappers of MyBatis; those of texts and objects ask no database."""
_LOCAL_METHOD = NamePattern(r"^(get(Class|Name)|toString|hashCode|equals|flush|clear)$")
_SENDS = NamePattern(
    r"^(Write|Send|Publish|Post|Put|Set|Save|Store|Upload|Insert|Update|Upsert|Delete|Exec|Push|Emit|Flush|Call|Do|Produce"
    r"|Persist|Record|Notify|Deliver|Export|Commit|Append|Remove|Index|Bulk|Sync|Refresh|Reload)([A-Z]\w*)?$"
)


def waits_in_locks(facts: Facts) -> Iterator[Call]:
    """Yield calls of clients that rules about requests do not know, in texts that take locks."""
    if not any(word in facts.syntax.source for word in LOCK_WORDS):
        return
    if facts.language == "go":
        yield from facts.calls_with_name(_RESTY.search)
    elif facts.language == "python":
        yield from facts.calls_named(*_CONNECTS)
        if facts.imports_any("boto3"):
            yield from (call for call in facts.calls if call.name.startswith(_AWS))
        yield from (
            each.call for each in remote_calls(facts) if each.kind == "cache" and each.through is None
        )
        yield from (each.call for each in sql_calls(facts) if _is_opened_in_lock(each.call, facts))
    elif facts.language in ("java", "kotlin", "csharp"):
        for call in facts.calls:
            if not call.receiver_written or call.constructs or _LOCAL_METHOD.match(call.method):
                continue
            if _STORE_TYPE.search(type_of_receiver(call, facts)):
                yield call
        if facts.language == "csharp":
            yield from (call for call in facts.calls_of_method(*_ADO_CALLS) if _ADO.search(call.name))
        if facts.language == "csharp" and facts.imports_any("Microsoft.EntityFrameworkCore"):
            yield from (call for call in facts.calls if call.is_awaited and call.method in _OF_CONTEXT)


_ADO_CALLS = ("Open", "ExecuteReader", "ExecuteScalar", "ExecuteNonQuery")
_ADO = NamePattern(r"(^|\.)(Sql|Npgsql|MySql|Oracle|Odbc|Db)(Connection|Command)\.\w+$")


_OF_CONTEXT = frozenset(
    (
        "SaveChangesAsync", "ExecuteUpdateAsync", "ExecuteDeleteAsync", "ToListAsync", "FirstOrDefaultAsync",
        "SingleOrDefaultAsync", "FirstAsync", "SingleAsync", "AnyAsync", "CountAsync", "ToDictionaryAsync",
        "FindAsync",
    )
)  # fmt: skip


def _is_opened_in_lock(call: Call, facts: Facts) -> bool:
    """Return whether the connection of a query is taken while the lock is held.

    A connection that the lock belongs to can do one thing at a time anyway."""
    root = call.receiver_written.partition(".")[0]
    for region in regions_around(call, lock_regions(facts)):
        if any(root in each.assigned for each in facts.within(facts.calls, region.span)):
            return True
    return False


_GIVES_BACK = lazy_regex(r"\.(?:R?Unlock|unlock|release|Release)\(\)")
"""A function that gives back a lock which its caller holds, or takes one of its own."""


def through_functions(waits: set[Call], facts: Facts) -> set[Call]:
    """Return the calls of functions of this text that come to one of the calls that wait."""
    found: set[Call] = set()
    newest = waits
    for _ in range(_LEVELS):
        holders = {facts.named_function_of(call) for call in newest} - {None}
        newest = {
            call
            for scope in holders
            if scope is not None and not _GIVES_BACK.search(facts.text(scope.body))
            for call in (*facts.callers_of(scope), *_of_items(scope, facts), *_of_bound(scope, facts))
            if not call.is_launched
            and facts.named_function_of(call) is not scope
        } - found - waits  # fmt: skip
        if not newest:
            break
        found |= newest
    return found


def is_left_running(call: Call, facts: Facts) -> bool:
    """Return whether an async function of this text is called and its result dropped: `_ = Poll(invoice)`."""
    dropped = not call.is_awaited and (call.is_discarded or call.assigned == ("_",))
    return dropped and any(scope.is_async for scope in facts.functions_named(call.method))


def _of_items(scope: Scope, facts: Facts) -> Iterator[Call]:
    """Yield calls of a method on a variable of unknown type, if no other type of the text has such a method:
    `for _, e := range r.entries { e.poll(ctx) }`."""
    yield from callers_by_type(scope, facts)
    if not scope.is_method or len(facts.functions_named(scope.short_name)) != 1:
        return
    for call in facts.calls_of_method(scope.short_name):
        if not call.receiver_written.isidentifier() or call.receiver in ("self", "Self", "cls"):
            continue
        loops = facts.loops_around(call)
        own = facts.named_function_of(call)
        is_item = any(call.receiver_written in loop.targets for loop in loops)
        given = [each for each in scope.parameters if each.name not in ("self", "cls")]
        if is_item and own is not None and own.owner and len(call.arguments) == len(given):
            yield call


def _of_bound(scope: Scope, facts: Facts) -> Iterator[Call]:
    """Yield calls of a variable that holds a function with some of its arguments: `send = partial(mail, to)`,
    `const send = mail.bind(null, to)`."""
    for made in facts.calls_of_method("partial", "bind") if scope.short_name else ():
        bound = made.receiver_written
        if made.method == "partial":
            bound = made.positional[0].value.text if made.positional else ""
        name = made.assigned[0] if len(made.assigned) == 1 else ""
        if bound.rpartition(".")[2] == scope.short_name and name.isidentifier():
            yield from (call for call in facts.calls_on(made) if call.written == name)


def sends_by_name(method: str) -> bool:
    """Return whether a method that is given a context and only returns an error sends something (Go)."""
    return _SENDS.match(method) is not None


def is_blocking_in_rust(call: Call, facts: Facts) -> bool:
    """Return whether a request stops its thread until the answer is there (Rust)."""
    return not call.is_awaited and any(
        word in facts.syntax.source for word in (b"reqwest::blocking", b"ureq", b"postgres::Client")
    )


_QUICK = NamePattern(
    r"^(put|get|wait|notify\w*|acquire|release|set|join|sleep|lock|unlock|Wait\w*|Release|Delay|Yield|send|recv|tick|clear)$"
)
_OF_MEMBER = NamePattern(r"^(?:(?:self|this)\.#?\w+|_\w+)\.\w+$")


def awaited_in_short_locks(facts: Facts) -> Iterator[tuple[Call, str]]:
    """Yield calls of another object that are awaited in a lock which other functions hold for short.

    What awaits while it has the lock makes all others wait as long, who only look something up."""
    regions = lock_regions(facts)
    for region in regions if len(regions) > 1 else ():
        if region.is_shared or not is_held_for_short(region, regions, facts):
            continue
        for call in facts.within(facts.calls, region.span):
            if not call.is_awaited or _QUICK.match(call.method) or not _OF_MEMBER.match(call.written):
                continue
            inside = facts.function_of(call)
            is_own = inside is facts.function_of(region) or (
                inside is not None
                and is_within(inside.span, region.span)
                and "runExclusive" in facts.text(Span(region.span.start, inside.span.start))
            )
            if is_own and region.lock not in call.written:
                yield call, region.lock
                break


def is_held_for_short(region: Region, regions: list[Region], facts: Facts) -> bool:
    """Return whether another function takes the same lock, and awaits nothing while it has it."""
    scope, name = facts.named_function_of(region), region.lock.rpartition(".")[2]
    return not _lets_several_in(name, facts) and any(
        other.lock.rpartition(".")[2] == name
        and facts.named_function_of(other) is not scope
        and not any(
            each.is_awaited for each in facts.within(facts.calls, other.span) if each.span != other.span
        )
        and not any(loop.is_async for loop in facts.within(facts.loops, other.span))
        for other in regions
    )


def _lets_several_in(name: str, facts: Facts) -> bool:
    """Return whether a lock is a semaphore that more than one may hold."""
    if "Semaphore" not in facts.whole_text:
        return False
    made = re.search(rf"\b{re.escape(name)}\b[^\n]*=[^\n]*", facts.whole_text)
    return made is not None and "Semaphore" in made[0] and not re.search(r"\(\s*1\b", made[0])


def is_short_elsewhere(taken: Call, facts: Facts) -> bool:
    """Return whether another function takes the same lock and awaits nothing but that (Rust)."""
    name, scope = taken.receiver_written.rpartition(".")[2], facts.named_function_of(taken)
    for other in facts.calls_of_method("lock", "write", "read"):
        around = facts.named_function_of(other)
        if other.receiver_written.rpartition(".")[2] != name or around is scope or around is None:
            continue
        if ".await" not in _LOCKING.sub("", facts.text(around.body)):
            return True
    return False


_LOCKING = lazy_regex(r"\.(lock|write|read)\(\)\s*\.await")


def gate_that_others_need(call: Call, facts: Facts) -> str | None:
    """Return a semaphore for one that is held at a call, if other code holds it for short (C#)."""
    regions = lock_regions(facts)
    for region in regions_around(call, regions):
        name = re.escape(region.lock.rpartition(".")[2])
        made = re.search(rf"\b{name}\s*=\s*new\b[^;]*", facts.whole_text)
        if made is None or not re.search(r"\(\s*1\b", made[0]):
            continue
        scope = facts.named_function_of(call)
        for other in regions:
            if other.lock != region.lock or facts.named_function_of(other) is scope:
                continue
            if not any(each.is_awaited for each in facts.within(facts.calls, other.span)):
                return region.lock
        if _fills_before(region, call, facts):
            return region.lock
    return None


_FILLS = ("Add", "Enqueue", "Push", "AddLast", "AddRange", "Append")


def _fills_before(region: Region, call: Call, facts: Facts) -> bool:
    """Return whether most that take the lock only put something into a list, and one of them sends that."""
    for each in facts.within(facts.calls_of_method(*_FILLS), Span(region.span.start, call.span.start)):
        owner = each.receiver_written.removeprefix("this.")
        if f"self.{owner}" not in facts.file_names:
            continue
        size = re.compile(rf"\b{re.escape(owner)}\??\.(?:Count|Length)\b")
        if any(
            step.kind == "branch" and size.search(step.text)
            for step in facts.within(facts.steps, Span(each.span.end, region.span.end))
        ):
            return True
    return False
