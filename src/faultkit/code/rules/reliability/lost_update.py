"""Finds values that are read, changed and written back while others may do the same."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Argument, Assignment, Call, Facts, Place, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.failures import handler_around
from faultkit.code.rules.vocabulary.held_otherwise import is_in_serial_work
from faultkit.code.rules.vocabulary.name_places import is_followed
from faultkit.code.rules.vocabulary.read_values import computed_names, field_computed, first_call, read_names
from faultkit.code.rules.vocabulary.refused_amounts import is_refused_by
from faultkit.code.rules.vocabulary.rewritten_documents import rewritten_documents
from faultkit.code.rules.vocabulary.row_guards import UPDATE_GUARDS
from faultkit.code.rules.vocabulary.service_clients import type_of_receiver
from faultkit.code.rules.vocabulary.sql_updates import documents_rewritten, written_back
from faultkit.code.rules.vocabulary.transactions import transactions

_LOADS = lazy_regex(
    r"\.objects\.(get|filter\(\)\.first|select_related\(\)\.get)$|get_object_or_404$"
    r"|(^|\.)[A-Z]\w*\.(findById|findOne|findByPk|findUnique|findOneBy|findOneOrFail)$"
    r"|\.(findById|findOne|findByPk|findUnique|findOneBy|findOneByOrFail|findOneOrFail|find_by_id)$"
    r"|[sS]ession\w*(\(\))?\.get$|\.query\(\)(\.\w+\(\))*\.(first|one|one_or_none|get)$"
    r"|\.query\.(get|get_or_404|filter_by\(\)\.(first|one))$"
)
_JPA_LOADS = lazy_regex(
    r"\.(findById|findBy\w+|getById|getReferenceById|find|getOne|selectById|selectByPrimaryKey|selectOne)\("
)
_COMPUTES = lazy_regex(r"\s*[+\-]|\.(add|subtract|plus|minus)\(")
_SAVES = frozenset(
    (
        "save",
        "Save",
        "Updates",
        "commit",
        "flush",
        "saveAndFlush",
        "update",
        "SaveChanges",
        "SaveChangesAsync",
    )
)
_AMOUNTS = lazy_regex(
    r"balance|stock|quantity|qty|count|credit|amount|points|inventory|seats|available|remaining|total|used|views|likes"
    r"|votes|score|counter|downloads|hits|attempts|usage|quota|left|taken|capacity|spent|budget|cents|sold|reserved|booked"
    r"|redeemed|redemptions|tokens|tickets|onhand|on_hand|copies|spots|places|miles|minutes|units|funds|holdings|uses\b",
    re.IGNORECASE,
)
_SESSION = lazy_regex(r"session|(^|\.)_?(db|em|\w*manager|orm)$", re.IGNORECASE)
_UPDATES = (
    "update", "updateOne", "update_one", "findByIdAndUpdate", "findOneAndUpdate", "find_one_and_update",
    "updateMany", "Update", "Updates", "UpdateColumn", "UpdateColumns", "UpdateOne", "set", "values", "Set",
)  # fmt: skip
_ENTITY_LOADS = lazy_regex(
    r"\.(findById|findBy[A-Z]\w*|getById|getReferenceById|find|findByIdOrNull|(First|FirstOrDefault|Single"
    r"|SingleOrDefault|Find|GetById)(Async)?)(\(\)\.\w+)*$"
)
_ARITHMETIC = lazy_regex(r"[+\-*/]")


_ACCEPTED = lazy_regex(r"(?:#|//)\s*(?:\w+:?\s+){0,2}race condition", re.IGNORECASE)
"""A comment that shows that the race is known."""


def _check(facts: Facts) -> Iterator[Hit]:
    seen = set[tuple[Scope, str]]()
    for each in facts.assignments:
        if each.scope is None or len(each.targets) != 1:
            continue
        name, dot, field = each.targets[0].partition(".")
        if not dot or "." in field or name in ("self", "this") or not _changes(each):
            continue
        if not _is_amount(field, each.scope, facts) or UPDATE_GUARDS.search(facts.text(each.scope.span)):
            continue
        if any(each.targets[0] in loop.over for loop in facts.loops_around(each)):
            continue  # It counts the rounds of this loop.
        if (each.scope, name) in seen or _ACCEPTED.search(facts.text(each.scope.body)):
            continue
        if _is_loaded(name, each, facts) and _is_saved(name, each.span.end, each.scope, facts):
            seen.add((each.scope, name))
            what = f"two requests at once read the same {each.targets[0]}, and one of the changes is lost"
            sure = handler_around(each, facts) or is_refused_by(each.targets[0], each, facts)
            yield Hit(each.span, what, LIKELY if sure else POSSIBLE)
    if facts.language == "java":
        yield from _by_setters(facts)
    yield from _by_options(facts)
    if facts.language in ("kotlin", "rust"):
        yield from _by_columns(facts)
    if facts.language == "rust" and facts.imports_any("diesel", "diesel_async"):
        yield from _by_diesel(facts)
    yield from _in_cache(facts)
    yield from _over_awaits(facts)
    yield from _by_sql(facts)
    yield from _by_documents(facts)
    for span, key in rewritten_documents(facts):
        what = f"two callers at once read the document of {key[:40]}, and one of the changes is lost"
        yield Hit(span, what, LIKELY)
    if facts.language in ("rust", "go"):
        yield from _by_atomics(facts)


def _is_amount(field: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a field is a number that runs out: by its name, or since this function compares it."""
    if _AMOUNTS.search(field):
        return True
    return is_followed(field, _COMPARED, facts.text(scope.body))


_COMPARED = lazy_regex(r"[\]\"')]*\s*(<|>)")


def _by_sql(facts: Facts) -> Iterator[Hit]:
    """Yield `UPDATE t SET n = ?` after `SELECT n FROM t`, also in a helper, if the new value is computed."""
    for write, table, column in written_back(facts):
        if not _AMOUNTS.search(table) and not _is_amount(column, write.scope, facts):
            continue
        if not UPDATE_GUARDS.search(facts.text(write.scope.span)):
            what = f"two callers at once read the same {column} of {table}, and one of the changes is lost"
            yield Hit(write.span, what, LIKELY)


def _by_documents(facts: Facts) -> Iterator[Hit]:
    """Yield a document in a column that is read, changed and written back as a whole."""
    for write, table, column in documents_rewritten(facts):
        if not UPDATE_GUARDS.search(facts.text(write.scope.span)):
            what = f"two callers at once read the same {column} of {table}, and one of the changes is lost"
            yield Hit(write.span, what, LIKELY)


def _by_atomics(facts: Facts) -> Iterator[Hit]:
    """Yield `x.store(n + 1)` with an `n` that was loaded before: two threads may load the same (Rust, Go)."""
    for write in facts.calls_of_method("store", "Store"):
        scope, value = facts.function_of(write), write.argument(place=0)
        if scope is None or value is None or not write.receiver_written:
            continue
        if re.search(r"compare_?exchange|CompareAndSwap|fetch_update|[lL]ock\(\)", facts.text(scope.body)):
            continue
        for read in facts.calls_of_method("load", "Load"):
            same = read.receiver_written == write.receiver_written and facts.function_of(read) is scope
            if same and read.span.start < write.span.start and _is_derived(value.value.text, read, facts):
                what = f"{write.receiver_written} may change between {read.written}() and {write.written}()"
                yield Hit(write.span, what, LIKELY)
                break


def _over_awaits(facts: Facts) -> Iterator[Hit]:
    """Yield shared variables that are read before an await and written after it."""
    for each in facts.assignments:
        scope = each.scope
        if scope is None or not scope.is_async or len(each.targets) != 1 or each.value is None:
            continue
        target, value = each.targets[0], each.value.text
        if not _is_shared(target, each, facts) or UPDATE_GUARDS.search(facts.text(scope.span)):
            continue
        if each.operator in ("+=", "-=") and re.match(r"\(?await\b", value):
            yield Hit(
                each.span, f"{target} is read before this waits, and others may change it meanwhile", LIKELY
            )
            continue
        for name in {*re.findall(r"[A-Za-z_]\w*", value)}:
            read = [
                one
                for one in facts.assignments
                if one.targets == (name,)
                and one.scope is scope
                and one.value is not None
                and one.value.text.replace("this.", "self.") == target
                and one.span.end < each.span.start
            ]
            if (
                read
                and _ARITHMETIC.search(value)
                and _waits_between(read[-1].span.end, each.span.start, scope, facts)
            ):
                what = f"{target} was read before an await, and others may have changed it meanwhile"
                yield Hit(each.span, what, LIKELY)
                break


def _is_shared(target: str, place: Assignment, facts: Facts) -> bool:
    """Return whether a variable is a field, or belongs to the file."""
    if target.startswith("self.") and target.count(".") == 1:
        return True
    if not target.isidentifier() or target not in facts.file_names:
        return False
    around = {*facts.functions_around(place)}
    return not any(
        target in one.targets and one.scope in around and one.operator != "+=" for one in facts.assignments
    )


def _waits_between(begin: int, end: int, scope: Scope, facts: Facts) -> bool:
    return any(
        step.kind == "await" and begin <= step.span.start < end
        for step in facts.within(facts.steps, scope.body)
    )


def _by_setters(facts: Facts) -> Iterator[Hit]:
    """Yield `a.setBalance(a.getBalance() - x)` of an entity that is loaded and saved here."""
    for call in facts.calls:
        field, name = call.method.removeprefix("set"), call.receiver_written
        if field == call.method or not name.isidentifier() or not _AMOUNTS.search(field):
            continue
        scope, given = facts.function_of(call), call.argument(place=0)
        if scope is None or given is None:
            continue
        texts = [given.value.text]
        if given.value.shape == "name":
            made = facts.assignments_to(given.value.text, call)
            texts += [each.value.text for each in made if each.value is not None]
        reads = (f"{name}.get{field}()", f"{name}.{field[:1].lower()}{field[1:]}()")
        if not any(
            _COMPUTES.match(text.partition(read)[2]) for text in texts for read in reads
        ) or UPDATE_GUARDS.search(facts.text(scope.span)):
            continue
        loaded = any(
            name in made.targets and made.value is not None and _JPA_LOADS.search(made.value.text)
            for made in facts.assignments_to(name, call)
        )
        if loaded and _is_saved(name, call.span.end, scope, facts):
            shown = field[:1].lower() + field[1:]
            what = f"two requests at once read the same {shown}, and one of the changes is lost"
            # A version in the entity, in another file, would make it fail instead.
            yield Hit(call.span, what, POSSIBLE, "medium")


def _by_options(facts: Facts) -> Iterator[Hit]:
    """Yield `update({data: {points: user.points + n}})` with a user that was read before, also through a
    variable: `const points = user.points + n`."""
    known: dict[Scope, tuple[dict[str, Call], dict[str, tuple[str, str]]]] = {}
    for call in facts.calls_of_method(*_UPDATES):
        scope = facts.function_of(call)
        if scope is None or not call.arguments:
            continue
        if scope not in known:
            read = read_names(scope, facts)
            if read and UPDATE_GUARDS.search(facts.text(scope.span)):
                read = {}
            known[scope] = read, computed_names(scope, read, facts) if read else {}
        read, computed = known[scope]
        if not read:
            continue
        for argument in call.arguments:
            found = computed.get(argument.value.text) or field_computed(argument.value.text, read)
            if found is None or argument.value.shape == "object":
                continue
            key = argument.name.rpartition(".")[2] or found[1]
            if not _is_written_back(call, argument, key, found, facts):
                continue
            shown = f"{found[0]}.{found[1]}" if found[1] else found[0]
            what = f"two requests at once read the same {shown}, and one of the changes is lost"
            sure = handler_around(call, facts) or is_refused_by(shown, call, facts)
            yield Hit(argument.value.span, what, LIKELY if sure else POSSIBLE)
            break


def _is_written_back(call: Call, argument: Argument, key: str, found: tuple[str, str], facts: Facts) -> bool:
    """Return whether the field of the row is set, with no condition on what was read."""
    # `.set({balance: left})` is of a builder of queries; of others, `set` may be anything.
    if call.method in ("set", "Set", "values") and (not argument.name or _is_store(call, facts)):
        return False
    scope = facts.function_of(call)
    is_amount = _AMOUNTS.search(f"{key} {found[0]}") or (
        scope is not None and found[1] and _is_amount(found[1], scope, facts)
    )
    if not is_amount or (argument.name and found[1] and not _same(key, found[1])):
        return False
    conditions = [
        each for each in call.arguments if each is not argument and each.name.rpartition(".")[2] == key
    ]
    if any(each.value.text != argument.value.text for each in conditions):
        return False
    # `.eq("balance", card.balance)`: only if it is still what was read.
    rest = facts.text(call.span).replace(argument.value.text, "")
    return not found[1] or re.search(rf"\b{found[0]}\b\W+{found[1]}\b", rest) is None


def _same(one: str, other: str) -> bool:
    return one.replace("_", "").lower() == other.replace("_", "").lower()


def _by_columns(facts: Facts) -> Iterator[Hit]:
    """Yield `it[Wallets.balance] = balance - x` of Exposed, and `active.stock = Set(left)` of SeaORM."""
    for each in facts.assignments:
        if each.scope is None or len(each.targets) != 1 or each.value is None:
            continue
        target, value = each.targets[0], each.value.text
        if facts.language == "kotlin" and target.startswith("it["):
            column = facts.text(each.span).partition("]")[0].rpartition(".")[2]
        elif facts.language == "rust" and (set_to := re.fullmatch(r"(?:\w+::)*Set\((.*)\)", value)):
            column, value = target.rpartition(".")[2], set_to[1]
        else:
            continue
        scope = next(iter(facts.functions_around(each)), None)
        if scope is None or not _AMOUNTS.search(column) or UPDATE_GUARDS.search(facts.text(scope.span)):
            continue
        read = read_names(scope, facts)
        if computed_names(scope, read, facts).get(value) or field_computed(value, read):
            yield Hit(
                each.span,
                f"two requests at once read the same {column}, and one of the changes is lost",
                LIKELY,
            )


_DIESEL = lazy_regex(r"\(?(?:\w+::)*(\w+)\.eq\((.+)\)\)?$", re.DOTALL)


def _by_diesel(facts: Facts) -> Iterator[Hit]:
    """Yield `.set(stock.eq(item.stock - count))`."""
    for call in facts.calls_of_method("set"):
        scope = facts.named_function_of(call)
        found = _DIESEL.match(call.positional[0].value.text) if len(call.positional) == 1 else None
        if found is None or scope is None or UPDATE_GUARDS.search(facts.text(scope.span)):
            continue
        read = read_names(scope, facts)
        made = computed_names(scope, read, facts).get(found[2]) or field_computed(found[2], read)
        if made is not None and _is_amount(found[1], scope, facts):
            what = f"two requests at once read the same {found[1]}, and one of the changes is lost"
            yield Hit(call.positional[0].value.span, what, LIKELY)


def _changes(each: Assignment) -> bool:
    if each.operator in ("+=", "-=", "++", "--"):
        return True
    value = "" if each.value is None else each.value.text
    return each.targets[0] in value and _ARITHMETIC.search(value.replace(each.targets[0], "")) is not None


def _is_loaded(name: str, each: Assignment, facts: Facts) -> bool:
    """Return whether this function has read the object from a database."""
    if facts.language == "go":
        return any(
            call.method in ("First", "Take", "Find", "Last") and facts.function_of(call) is each.scope
            for call in facts.calls_of_method("First", "Take", "Find", "Last")
            if any(one.value.text == f"&{name}" for one in call.arguments)
        )
    return _comes_of_load(name, each, facts, 2)


_LOADING = lazy_regex(
    r"^(find|get|load|fetch|first|single|one|scalar|query|select|lookup|require|read|First|Single|Find|Get|Load|Fetch|Query)"
)
_LOADERS = lazy_regex(
    r"repo(sitory)?|session|\bdb\b|_db\b|\bem\b|manager|objects|context|\bdao\b|store|prisma|query|[a-z]s$|^[A-Z]\w+$",
    re.IGNORECASE,
)


def _comes_of_load(name: str, place: Assignment, facts: Facts, levels: int) -> bool:
    """Return whether a variable holds what was loaded, at once or through another variable."""
    for made in facts.assignments_to(name, place):
        if name not in made.targets or made.scope is not place.scope or made.span.start >= place.span.start:
            continue
        call = made.call or first_call(made, facts)
        if call is not None and not call.constructs:
            loads = _ENTITY_LOADS if facts.language in ("kotlin", "csharp", "java") else _LOADS
            if loads.search(call.name):
                return True
        if made.value is None:
            continue
        for inner in facts.within(facts.calls, made.value.span):
            if _LOADING.match(inner.method) and _LOADERS.search(inner.receiver_written) and inner.arguments:
                return True
        if levels > 1 and any(
            _comes_of_load(word, made, facts, levels - 1)
            for word in {*re.findall(r"(?<![\w.])[a-z_]\w*", made.value.text)} - {name}
        ):
            return True
    return False


def _is_saved(name: str, after: int, scope: Scope, facts: Facts) -> bool:
    for call in facts.within(facts.calls, scope.body):
        if call.span.start < after or call.method not in _SAVES:
            continue
        if call.receiver_written == name or any(one.value.text.lstrip("&") == name for one in call.arguments):
            return True
        if call.method in ("commit", "flush") and _SESSION.search(call.receiver_written):
            return True
        if call.method in ("SaveChanges", "SaveChangesAsync"):
            return True
    if facts.language == "python" and any(
        re.search(r"(^|\.)(Async)?Session$", each.type) for each in scope.parameters
    ):
        return True  # Who gave the session to this function commits it.
    place = Place(Span(after, after))
    if facts.language == "python":
        # `with sessions.begin() as session` commits at its end.
        return any(
            each.method in ("begin", "begin_nested") and is_within(each.span, scope.span)
            for each in facts.managed_around(place)
        )
    # A transaction of JPA or of Exposed stores what has changed.
    return facts.language in ("java", "kotlin") and any(
        is_within(place.span, each.span) for each in transactions(facts)
    )


def _in_cache(facts: Facts) -> Iterator[Hit]:
    """Yield `n = cache.get(key)` that is followed by `cache.set(key, n + 1)`."""
    for write in facts.calls_of_method(
        "set", "Set", "StringSetAsync", "StringSet", "set_ex", "setex", "setEx"
    ):
        # In Go the context comes first.
        place = 1 if write.method == "Set" else 0
        key, value = write.argument(place=place), write.argument(place=place + 1)
        scope = facts.function_of(write)
        is_redis = facts.language == "rust" and facts.imports_any("redis", "deadpool_redis", "fred")
        if key is None or value is None or scope is None or not (_is_store(write, facts) or is_redis):
            continue
        if write.method == "setex":
            value = write.argument(place=2) or value
        for read in facts.calls_of_method("get", "Get", "StringGetAsync", "StringGet"):
            first = read.argument(place=place)
            if first is None or first.value.text != key.value.text or facts.function_of(read) is not scope:
                continue
            if read.receiver_written != write.receiver_written or read.span.start > write.span.start:
                continue
            if is_in_serial_work(write, facts):
                continue
            waits = read.is_awaited or _waits_between(read.span.start, write.span.start, scope, facts)
            if facts.language in JAVASCRIPT and not waits:
                continue  # A cache of this process: nothing else runs in between.
            if _is_derived(value.value.text, read, facts) and not UPDATE_GUARDS.search(
                facts.text(scope.span)
            ):
                calls = f"{read.written}() and {write.written}()"
                what = f"another process may change {key.value.text[:30]} between {calls}"
                yield Hit(write.span, what, LIKELY)
                break


def _is_store(call: Call, facts: Facts) -> bool:
    names = f"{call.receiver_written} {call.receiver} {type_of_receiver(call, facts)}"
    return re.search(r"redis|cache|\brdb\b|memcache|\bkv\b", names, re.IGNORECASE) is not None


def _is_derived(text: str, read: Call, facts: Facts) -> bool:
    """Return whether a value is computed from what was read, at once or through one variable."""
    holders = [
        each.targets[0]
        for each in facts.assignments
        if each.value is not None and is_within(read.span, each.value.span)
    ]
    if text in holders:
        return any(
            each.targets == (text,) and each.operator in ("+=", "-=", "++") for each in facts.assignments
        )
    if re.search(r"[+\-]\s*\w", text) is None:
        return False
    return facts.text(read.span) in text or any(
        re.search(rf"\b{re.escape(name)}\b", text) for name in holders
    )


RULE = Rule(
    id="FK-R058",
    slug="lost-update",
    title="Read, changed and written back without a lock",
    why="Two requests at once read the same value, and the second write undoes the first: money, stock and "
    "counters drift.",
    fix="Let the database do it (F(), $inc, INCR, SET x = x + 1), or lock the row (SELECT … FOR UPDATE).",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
)
