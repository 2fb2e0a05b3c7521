"""Finds rows, keys and files that are made after a question found none, while another may do the same.

A finding is likely if the second one does harm: what fills a cache twice with the same value, or sets a flag
of an object that its owner starts once, is a possible one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Place, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.claimed_rows import claimed_rows
from faultkit.code.rules.vocabulary.claimed_things import Thing
from faultkit.code.rules.vocabulary.claims import Claim, claims
from faultkit.code.rules.vocabulary.counted_rows import counted_rows
from faultkit.code.rules.vocabulary.idempotency_keys import SENT_ONCE
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.refused_amounts import is_compared
from faultkit.code.rules.vocabulary.remote_calls import sql_calls
from faultkit.code.rules.vocabulary.repetition import runs_once
from faultkit.code.rules.vocabulary.row_guards import INSERT_GUARDS
from faultkit.code.rules.vocabulary.sql_updates import counted_after_check, taken_after_check
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_GUARDS = TextPattern(
    r"(?<!find)(?<!no )unique(?!OrThrow)|on_?\s*conflict|conflict_|doNothing|duplicate[\s_]?(key|entry)"
    r"|ER_DUP|Integrity|ConstraintViolation|P2002|23505|\b11000\b|1062|upsert|get_or_create"
    r"|update_or_create|insert_?ignore|insert\s+or\b|DbUpdateException|findOrCreate|FirstOrCreate"
    r"|ignore_conflicts|orIgnore|setnx|isUnique",
    re.IGNORECASE,
)
"""What refuses a second row that is the same; it does not refuse one row too many."""
_REFUSED = lazy_regex(r"check_?violation|23514|Integrity|ConstraintViolation", re.IGNORECASE)
"""Errors of a constraint on the number itself."""
_CHECKS = NamePattern(
    r"^(exists\w*|existsBy\w*|findBy\w*|findOne\w*|findFirst\w*|findUnique\w*|find_one|find_by_\w+|count\w*|Any(Async)?|(Long)?CountAsync"
    r"|FirstOrDefault(Async)?|SingleOrDefault(Async)?|first|one_or_none|scalar_one_or_none|scalar|get_or_none|Count"
    r"|First|Take|getBy\w*|FindBy\w*|ExistsBy\w*|ExistsAsync|Exists|get_by_\w+|GetBy\w*|findAndCount|countDocuments"
    r"|fetchval|fetchrow|fetchone|exist\w*|firstOrNull|singleOrNull|findAny|any|empty"
    r"|none)$"
)
_INSERTS = frozenset(
    ("create", "save", "insert", "insertOne", "insert_one", "Add", "AddAsync", "Create", "saveAndFlush",
     "persist", "add", "InsertOne", "Insert", "InsertAsync", "CreateAsync", "insert_into", "SaveAsync",
     "Save", "bulk_create", "insertAndGetId", "insertReturning", "insert_many", "insertMany", "InsertMany",
     "addNew", "createEntity", "store")
)  # fmt: skip
_FROM = lazy_regex(r"\bfrom\s+[\"'`\[]?([\w.]+)", re.IGNORECASE)
_INTO = lazy_regex(r"\binto\s+[\"'`\[]?([\w.]+)", re.IGNORECASE)
_MODEL = lazy_regex(r"\b(?:query|select|exists)\(\s*(?:func\.count\()?\s*([A-Z]\w*)")
_MADE = lazy_regex(r"^(?:new\s+|&)?([A-Z]\w*)\s*[({]")


def _check(facts: Facts) -> Iterator[Hit]:
    found = [*_by_stores(facts), *_by_sql(facts)]
    found = found or [(hit, False) for hit in _by_texts(facts)]
    # To search the whole text takes longest, and comes last.
    if found and not INSERT_GUARDS.search(facts.whole_text):
        is_guarded = _GUARDS.search(facts.whole_text) is not None
        first = {hit.span: hit for hit, counts in reversed(found) if counts or not is_guarded}
        yield from first.values()
    for span, column in counted_after_check(facts):
        if not INSERT_GUARDS.search(facts.text(span)) and not _REFUSED.search(facts.text(span)):
            yield Hit(
                span, f"another request may change {column} between the question and the update", LIKELY
            )
    for span, column in counted_rows(facts):
        what = f"another request may change {column} between this question and the update"
        yield Hit(span, what, LIKELY)
    for span, column in taken_after_check(facts):
        scope = next(facts.functions_around(Place(span)), None)
        if scope is None or not (
            INSERT_GUARDS.search(facts.text(scope.span)) or SENT_ONCE.search(facts.text(span))
        ):
            what = f"another request may set {column} between the question and the update"
            yield Hit(span, what, LIKELY)
    for span, field in claimed_rows(facts):
        what = f"another request may set {field} between this question and the update"
        yield Hit(span, what, LIKELY if is_compared(field, facts.text(span)) else POSSIBLE)
    for claim in claims(facts):
        what = f"{_OTHERS[claim.thing.kind]} between {claim.asked} and {claim.taken}"
        yield Hit(claim.span, what, POSSIBLE if _is_harmless(claim, facts) else LIKELY)


_FILLED = lazy_regex(r"cache|memo|lookup|known", re.IGNORECASE)


_FILLS = lazy_regex(r"^(fetch|getOr[A-Z]\w*|get_or_\w+|remember|wrap)$")
_CONSTANT = lazy_regex(r"(?:\w+(?:\.|::))?[A-Z][A-Z0-9_]{2,}")
_OF_CONTENT = lazy_regex(r"hash|digest|sha\d|md5|checksum|fingerprint", re.IGNORECASE)


def _is_harmless(claim: Claim, facts: Facts) -> bool:
    """Return whether two that come at once set the same value, or the function is called once by its name."""
    thing = claim.thing
    if thing.kind == "file":
        return _is_named_by_content(thing, facts)
    if thing.counts:
        return False
    if thing.kind == "key" and _FILLS.match(thing.scope.short_name):
        return True
    given = () if thing.call is None else thing.call.positional
    if thing.kind == "key" and any(_CONSTANT.fullmatch(each.value.text) for each in given):
        return True  # One flag of the program, such as that of a migration.
    if thing.kind == "flag":
        return runs_once(thing.scope) or not _says_under_way(thing)
    return _FILLED.search(thing.store) is not None


def _is_named_by_content(thing: Thing, facts: Facts) -> bool:
    """Return whether the path of a file is made of a hash of what is written: both write the same."""
    texts = [thing.key, thing.raw_key]
    texts += [
        each.value.text
        for each in facts.within(facts.assignments, thing.scope.body)
        if each.value is not None and not {*each.targets}.isdisjoint(texts)
    ]
    return any(map(_OF_CONTENT.search, texts))


def _says_under_way(thing: Thing) -> bool:
    """Return whether a flag says that work is under way, which a second caller must not begin."""
    return _UNDER_WAY.search(thing.store) is not None


_UNDER_WAY = lazy_regex(r"(?i:busy|locked|active|in_?progress|in_?flight|taken|claimed|sold|used)|[a-z]ing\b")
_OTHERS = {
    "key": "another process may set the same key",
    "size": "another process may add one more",
    "file": "another process may make the same file",
    "entry": "another thread or task may add the same entry",
    "flag": "another thread may set the same flag",
}


_SEEDS = lazy_regex(r"(?:^|[._])[sS]eed|Seed(?:er)?(?:\.|$)")


def _by_stores(facts: Facts) -> Iterator[tuple[Hit, bool]]:
    """Yield what is inserted after a question, and whether that is how many there are."""
    inserting = {scope for call in facts.calls_of_method(*_INSERTS) for scope in facts.functions_around(call)}
    for scope in facts.scopes if inserting else ():
        if not scope.name or scope not in inserting or _SEEDS.search(scope.name):
            continue
        checks = [call for call in facts.within(facts.calls, scope.body) if _CHECKS.match(call.method)]
        yield from _by_store(scope, checks, facts)


def _by_store(scope: Scope, checks: list[Call], facts: Facts) -> Iterator[tuple[Hit, bool]]:
    seen = set[bool]()
    for check in checks:
        if True in seen or not check.receiver_written or not _is_condition(check, scope, facts):
            continue
        for insert in facts.within(facts.calls, scope.body):
            if insert.method not in _INSERTS or insert.span.start < check.span.end or not insert.arguments:
                continue
            if _is_of_another(check, insert, facts) or _is_of_same_id(check, insert, facts):
                continue
            if _is_in_memory(check, insert):
                continue
            if _same_store(check, insert, facts) and _is_new(insert, facts):
                what = f"another request may insert between {check.written}() and {insert.written}()"
                counts = _is_limit(check, scope, facts)
                # That there are not too many may be asked as well, which no constraint answers.
                if counts not in seen:
                    yield Hit(insert.span, what, POSSIBLE), counts
                seen.add(counts)
                break


def _is_condition(check: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether the function leaves if the query found something, or inserts only if it did not."""
    text = facts.text(check.span)
    names = {name for name in check.assigned if name.isidentifier()}
    for each in facts.within(facts.assignments, scope.body):
        if each.value is not None and is_within(check.span, each.value.span):
            names.update(
                name
                for target in each.targets
                for name in re.findall(r"[A-Za-z_]\w*", target)
                if name != "err"
            )
    if facts.language == "go" and re.search(
        r"err == nil|Is\(err, \w+\.Err(RecordNotFound|NoRows)", facts.text(scope.body)
    ):
        return True
    filled = [check, *(each for each in facts.calls_on(check) if each.method == "Scan")]
    names.update(
        each.value.text[1:] for call in filled for each in call.positional if each.value.text.startswith("&")
    )
    for step in facts.within(facts.steps, scope.body):
        if step.kind != "branch" or step.span.end < check.span.start:
            continue
        if text in step.text or any(
            re.search(rf"(?<![\w.]){re.escape(name)}\b", step.text) for name in names
        ):
            return True
    return False


_COUNTS = NamePattern(r"^(?i:count\w*|fetchval|scalar\w*|queryForObject|findAndCount)$")
_COMPARES = lazy_regex(r"(?<![-=<>])[<>]=?(?![<>])\s*(?!0\b)")


def _is_limit(check: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a number of rows is compared with a limit that is not zero."""
    if not _COUNTS.match(check.method) and not re.search(
        r"\bcount\s*\(", facts.text(check.span), re.IGNORECASE
    ):
        return False
    held = {name for name in check.assigned if name.isidentifier()}
    for each in facts.within(facts.assignments, scope.body):
        if each.value is not None and is_within(check.span, each.value.span):
            held.update(name for target in each.targets for name in re.findall(r"[A-Za-z_]\w*", target))
    held.update(
        each.value.text[1:]
        for call in (check, *facts.calls_on(check))
        for each in call.positional
        if each.value.text.startswith("&")
    )
    text = facts.text(check.span)
    return any(
        step.kind == "branch"
        and _COMPARES.search(step.text)
        and (
            text in step.text
            or any(re.search(rf"\b{re.escape(name)}\b", step.text) for name in held - {"err"})
        )
        for step in facts.within(facts.steps, scope.body)
    )


def _is_of_another(check: Call, insert: Call, facts: Facts) -> bool:
    """Return whether the check asks a variable of a function in which the insert does not stand."""
    root = re.split(r"[.(\[?!]", check.receiver_written, maxsplit=1)[0]
    return any(
        not is_within(insert.span, scope.span)
        and (
            any(each.name == root for each in scope.parameters)
            or any(root in each.targets for each in facts.within(facts.assignments, scope.body))
        )
        for scope in facts.functions_around(check)
    )


_BY_ID = NamePattern(r"^(exists|find|get)(ById|ByIdOrNull|ByPk|_by_id|_by_pk)(Async)?$", re.IGNORECASE)


def _is_of_same_id(check: Call, insert: Call, facts: Facts) -> bool:
    """Return whether the question is for the primary key that is inserted, which cannot be there twice."""
    first = check.argument(place=0) if _BY_ID.match(check.method) else None
    return (
        first is not None
        and re.search(rf"\b{re.escape(first.value.text)}\b", facts.text_with_values(insert)) is not None
    )


_STORES = lazy_regex(
    r"context|db|repo|store|session|dao|unit|uow|manager|service|client|api|dal", re.IGNORECASE
)


def _is_in_memory(check: Call, insert: Call) -> bool:
    """Return whether both are calls of a list or set of one object: `order.lines.Any()` and `.Add()`."""
    return (
        insert.method in ("add", "Add")
        and not insert.is_awaited
        and not check.is_awaited
        and insert.receiver_written == check.receiver_written
        and _STORES.search(insert.receiver_written) is None
    )


def _same_store(check: Call, insert: Call, facts: Facts) -> bool:
    """Return whether both go to the same repository, model or set."""
    mine, other = _store(check), _store(insert)
    if re.search(r"(?i)cache\w*$", mine):
        return False
    if mine and mine == other:
        return not re.search(r"(^|\.)(db|session|_?context|conn|tx|em)$", mine) or _same_model(
            check, insert, facts
        )
    return _same_model(check, insert, facts)


def _same_model(check: Call, insert: Call, facts: Facts) -> bool:
    """Return whether `session.query(User)…` is followed by `session.add(User(…))`."""
    first = insert.argument(place=0)
    if first is not None and facts.language == "go" and check.positional:
        # `db.First(&found)`, then `db.Create(&Device{…})`
        filled, given = (each.value.text.lstrip("&") for each in (check.positional[0], first))
        return bool(_type(filled, check, facts)) and _type(filled, check, facts) == _type(
            given, insert, facts
        )
    asked = _MODEL.search(facts.text(check.span))
    if asked is None or first is None:
        return False
    made = _MADE.match(first.value.text)
    if made is None and first.value.shape == "name":
        values = [
            each.value.text
            for each in facts.assignments_to(first.value.text, insert)
            if each.value is not None
        ]
        made = next((found for each in values if (found := _MADE.match(each))), None)
    return made is not None and made[1] == asked[1]


def _type(name: str, place: Call, facts: Facts) -> str:
    """Return the type of a variable or literal of Go."""
    if made := re.match(r"(?:\w+\.)?([A-Z]\w*)\{", name):
        return made[1]
    for each in facts.assignments_to(name, place):
        if each.type:
            return each.type.rpartition(".")[2]
        if each.value is not None and (made := re.match(r"&?(?:\w+\.)?([A-Z]\w*)\{", each.value.text)):
            return made[1]
    return ""


def _store(call: Call) -> str:
    """Return the object that a query begins with: of `User.objects.filter().exists` User.objects."""
    return (
        call.receiver_written.partition("(")[0].rpartition(".")[0]
        if "(" in call.receiver_written
        else call.receiver_written
    )


def _is_new(insert: Call, facts: Facts) -> bool:
    """Return whether a new row is given; `save(user)` of a row that was read is an update."""
    if insert.method not in (
        "save",
        "Save",
        "SaveAsync",
        "saveAndFlush",
        "add",
        "Add",
        "persist",
        "AddAsync",
    ):
        return True
    first = insert.positional[0].value if insert.positional else None
    if first is None or first.shape != "name":
        return True
    values = [each.value.text for each in facts.assignments_to(first.text, insert) if each.value is not None]
    return any(
        re.match(r"(new\s+)?[A-Z]\w*[({.]|\w+\.create\(|to[A-Z]\w*\(|\w+\.(map|of|from)\(", each)
        for each in values
    )


def _by_sql(facts: Facts) -> Iterator[tuple[Hit, bool]]:
    """Yield `INSERT INTO t` after a `SELECT … FROM t` whose result decides."""
    sent = sql_calls(facts)
    checks: dict[tuple[Scope | None, str], list[Call]] = {}
    for each in sent:
        table = _FROM.search(each.sql) if each.verb == "select" else None
        if table is not None and re.search(r"\bwhere\b", each.sql, re.IGNORECASE):
            holder = facts.named_function_of(each.call)
            checks.setdefault((holder, table[1].lower()), []).append(each.call)
            for call in () if holder is None else facts.callers_of(holder):
                checks.setdefault((facts.named_function_of(call), table[1].lower()), []).append(call)
    for insert in sent if checks else ():
        into = _INTO.search(insert.sql) if insert.verb == "insert" else None
        scope = facts.named_function_of(insert.call)
        if into is None or scope is None or re.search(r"\bselect\b", insert.sql, re.IGNORECASE):
            continue
        for check in checks.get((scope, into[1].lower()), ()):
            if check.span.end <= insert.call.span.start and _is_condition(check, scope, facts):
                what = f"another request may insert into {into[1]} between {check.written}() and this"
                yield Hit(insert.call.span, what, LIKELY), _is_limit(check, scope, facts)
                break


_TABLE = lazy_regex(rb"\b(?:into|from)\b", re.IGNORECASE)
_SELECTS = lazy_regex(r"\s*select\b.*?\bfrom\s+[\"'`\[]?([\w.]+).*\bwhere\b", re.IGNORECASE | re.DOTALL)
_INSERTS_INTO = lazy_regex(r"\s*insert\s+into\s+[\"'`\[]?([\w.]+)(?!.*\bselect\b)", re.IGNORECASE | re.DOTALL)


def _by_texts(facts: Facts) -> Iterator[Hit]:
    """Yield an INSERT after a SELECT of the same table whose outcome leaves the function, with statements
    that are made first and sent later: `prepareStatement("…")`, `new SqlCommand("…")`."""
    source = facts.syntax.source
    if facts.language not in ("java", "kotlin", "csharp") or not facts.syntax.has_any(b"insert"):
        return
    sent = tuple(facts.texts.where(lambda start, end: _TABLE.search(source, start, end) is not None))
    asked = [(text, found[1].lower()) for text in sent if (found := _SELECTS.match(text.text))]
    for text in sent if asked else ():
        into, scope = _INSERTS_INTO.match(text.text), facts.named_function_of(text)
        if into is None or scope is None:
            continue
        for check, table in asked:
            if (
                table != into[1].lower()
                or check.span.end > text.span.start
                or facts.named_function_of(check) is not scope
            ):
                continue
            between = Span(check.span.end, text.span.start)
            if any(
                arm.leaves == "function"
                and not facts.handlers_around(arm)
                and facts.named_function_of(arm) is scope
                for arm in facts.within(facts.arms, between)
            ):
                what = f"another request may insert into {into[1]} between the question and this"
                yield Hit(Span(check.span.start, text.span.end), what, LIKELY)
                break


RULE = Rule(
    id="FK-R110",
    slug="checked-then-inserted",
    title="Inserted or claimed after a check that another request can outrun",
    why="Two requests at once both find nothing, and both go on: the account, vote or booking exists "
    "twice, the order is placed twice, or the second fails in an unexpected way.",
    fix="Check and take in one step: a unique constraint with ON CONFLICT, SET NX, open with O_EXCL, "
    "putIfAbsent, compareAndSet; and handle that it was taken.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
