"""Finds failures that become an empty list, a zero or a yes, on which the program then acts.

It is shown if the same function, or a caller in the file, deletes, permits or stores something that depends
on the value: it, or something made of it, is given to that call, iterated around it or asked before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Handler, Scope, Try, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.dependent_acts import Value
from faultkit.code.rules.vocabulary.dropped_failures import home_of
from faultkit.code.rules.vocabulary.empty_values import is_made_of_nothing
from faultkit.code.rules.vocabulary.ended_by_failure import breaks_on_failure, breaks_on_status
from faultkit.code.rules.vocabulary.local_memory import is_of_local
from faultkit.code.rules.vocabulary.service_clients import callers_by_type

_EMPTY = lazy_regex(
    r"^(\[\]|\{\}|\(\)|set\(\)|dict\(\)|list\(\)|nil"
    r"|new (Map|Set|List|Dictionary|HashSet|ArrayList|HashMap)\b.*"
    r"|Array\.Empty.*|Enumerable\.Empty.*|Collections\.empty\w+\(\)|(List|Set|Map)\.of\(\)"
    r"|empty\w+\(\)|\w+Of\(\)|\[\]\w.*\{\}|make\(.*\)|map\[.*\{\}|Vec::new\(\)|vec!\[\]|(Hash|BTree)(Map|Set)::new\(\)|Default::default\(\)|Vec::default\(\))$"
)
_NUMBER = lazy_regex(r"^(0|0\.0|0L|0m|BigDecimal\.ZERO|Decimal\(0\))$")
_NO = lazy_regex(r"^(false|False|Task\.FromResult\(false\))$")
_FORBIDS = lazy_regex(
    r"fraud|block|sanction|banned|revoked|suspend|expired|debt|duplicate|exists|used|taken|locked",
    re.IGNORECASE,
)
_YES = lazy_regex(r"^(true|True|Task\.FromResult\(true\))$")
_DESTROYS = lazy_regex(
    r"^_?(?i:delete|remove|deactivate|disable|revoke|cancel|expire|archive|purge|prune|drop|terminate|suspend|unlink"
    r"|evict|unassign|detach|lock|block|wipe|clear|close|deprovision|uninstall|destroy|reject)"
    r"(?=_|[A-Z]|$)"
)
_OF_MEMORY = lazy_regex(
    r"^(self\.)?(cache|map|list|set|items|results?|seen|known|pending|timers?|\w*[cC]ache|\w*[mM]ap|\w*[pP]arams|\w*[rR]efs?\.current|\w*[hH]eaders)$"
)
_ACTS = lazy_regex(
    r"^_?(?i:save|insert|update|create|approve|release|charge|pay|refund|transfer|submit|execute|grant|publish|ship"
    r"|send|book|place|issue|activate|disburse|delete|remove)(?=_|[A-Z]|$)"
)
_INACTIVE = lazy_regex(
    r"(^|\.)(is_?)?(active|enabled|valid|visible|available|present|deleted|disabled|archived)$", re.IGNORECASE
)
_PERMITS = lazy_regex(
    r"^_?(is|has|can|check|verify|validate|ensure|may|allow|authori[sz]e)_?\w*(allow|authori|permi|verif|valid|access|eligib"
    r"|trust|sanction|fraud|signature|token|approved|active|member|owner|clean|safe)",
    re.IGNORECASE,
)
_SOFT = lazy_regex(
    r"rate|limit|throttl|quota|feature|flag|online|health|cache|visible|format|email|phone|regex",
    re.IGNORECASE,
)


def _check(facts: Facts) -> Iterator[Hit]:
    yield from failures_acted_on(facts)
    for handler, asked in breaks_on_failure(facts):
        what = (
            f"if {asked.written}() fails, the loop ends as at the end of the data, and a part counts as all"
        )
        yield Hit(handler.span, what, LIKELY)
    for span in breaks_on_status(facts):
        yield Hit(span, "a bad status ends the loop as the last page does, and a part counts as all", LIKELY)


@lru_cache(maxsize=4)
def failures_acted_on(facts: Facts) -> tuple[Hit, ...]:
    """Return the answers to a failure on which the program acts; other rules need not report them again."""
    return (*_of_handlers(facts), *_of_defaults(facts))


def _of_handlers(facts: Facts) -> Iterator[Hit]:
    for each in facts.tries:
        asked = _asked(each, facts)
        scope = facts.named_function_of(each)
        if asked is None or scope is None:
            continue
        for handler in each.handlers:
            if handler.raises or _is_an_answer(handler, facts) or not catches_failures(handler, facts):
                continue
            found = list(_of_handler(handler, each, asked, scope, facts))
            yield from found
            if found:
                break


_FAILURES = lazy_regex(
    r"(^|\.)(Exception|Throwable|BaseException|RequestException|HTTPError|RequestError|ClientError|SQLException|IOException"
    r"|DatabaseError|SQLAlchemyError|OperationalError|HttpRequestException|SqlException|DbException|RestClientException"
    r"|DataAccessException|WebClientException|ConnectionError|URLError|RpcException|FeignException)$"
)


def catches_failures(handler: Handler, facts: Facts) -> bool:
    """Return whether a handler catches failures of calls, rather than one error that has a meaning."""
    if facts.language == "go":
        return handler.name == "err"
    return handler.is_broad or any(_FAILURES.search(each) for each in handler.types)


def _of_handler(handler: Handler, each: Try, asked: Call, scope: Scope, facts: Facts) -> Iterator[Hit]:
    given = [*_given(handler, facts)]
    for span, value in given if len({value for _, value in given}) == 1 else ():
        if _YES.match(value):
            if _PERMITS.search(scope.short_name) and not _SOFT.search(scope.short_name):
                yield Hit(span, f"if {asked.written}() fails, {scope.short_name}() says yes", LIKELY)
            continue
        is_zero = _NUMBER.match(value) or (_NO.match(value) and _FORBIDS.search(scope.short_name))
        is_empty = _EMPTY.match(value) is not None or is_made_of_nothing(value)
        pattern = _DESTROYS if is_empty else _ACTS if is_zero else None
        if pattern is None:
            if _NOTHING.match(value) and not _MAY_MISS.search(scope.name):
                yield from _approved(span, asked, scope, facts)
            continue
        for caller in _callers(scope, facts):
            outer = facts.named_function_of(caller)
            if outer is None or outer is scope:
                continue
            if is_empty and _ends_loop(caller, facts):
                what = (
                    f"if {asked.written}() fails, this looks like the end of the data to {outer.short_name}()"
                )
                yield Hit(span, what, LIKELY)
                break
            decides = _ACTS if _is_counted(caller, facts) else pattern
            rest = Span(caller.span.start, outer.body.end)
            value_of = Value({*caller.assigned}, caller.span, outer.body, facts)
            act = _acts(rest, decides, value_of, facts)
            if not act and is_empty:
                act = _removes_others(rest, value_of, facts)
            if act:
                what = f"if {asked.written}() fails, this counts as its answer, and {act} acts on it"
                yield Hit(span, what, LIKELY)
                break
    for one in facts.within(facts.assignments, handler.body):
        if one.value is None or len(one.targets) != 1 or not _EMPTY.match(one.value.text):
            continue
        rest = Span(each.span.end, scope.body.end)
        if act := _acts(rest, _DESTROYS, Value({one.targets[0]}, None, scope.body, facts), facts):
            what = f"if {asked.written}() fails, this counts as its answer, and {act} acts on it"
            yield Hit(one.span, what, LIKELY)


def _callers(scope: Scope, facts: Facts) -> Iterator[Call]:
    """Yield calls of a function, also on a member that is declared with the class of the method."""
    yield from dict.fromkeys((*facts.callers_of(scope), *callers_by_type(scope, facts)))


_NOTHING = lazy_regex(r"^(?:null|None|undefined)$")
_MAY_MISS = lazy_regex(r"cache|prefer|hint|suggest|optional|best_?effort", re.IGNORECASE)
_APPROVAL = lazy_regex(
    r"[\"'](?:approved?|accepted?|cleared|verified|released?|granted|passed|allowed|active|activated)[\"']|\w+\.(?:APPROVED|Approved"
    r"|ACCEPTED|Accepted|CLEARED|Cleared|VERIFIED|Verified|GRANTED|Granted|PASSED|Passed)",
    re.IGNORECASE,
)
_APPROVES = lazy_regex(
    r"^_?(?i:approve|release|charge|pay|transfer|grant|disburse|activate|accept|clear)(?=_|[A-Z]|$)"
)


def _approved(span: Span, asked: Call, scope: Scope, facts: Facts) -> Iterator[Hit]:
    """Yield a missing hit of a failed check, after which a caller approves what the hit would have stopped.

    `if (hit) { return review(); }  await accounts.setStatus(id, 'approved');`"""
    for caller in _callers(scope, facts):
        outer = facts.named_function_of(caller)
        if outer is None or outer is scope or len(caller.assigned) != 1:
            continue
        value = Value({*caller.assigned}, caller.span, outer.body, facts)
        for call in facts.within(facts.calls, Span(caller.span.end, outer.body.end)):
            if is_logging(call) or not call.receiver_written or call.constructs:
                continue
            states = any(_APPROVAL.fullmatch(each.value.text) for each in call.arguments)
            if not (states or _APPROVES.match(call.method)) or value.is_refused(call):
                continue
            if value.is_stopped_if_there(call):
                what = f"if {asked.written}() fails, nothing is found, and {call.written}() acts on that"
                yield Hit(span, what, LIKELY)
                return


_SQL_OF_OTHERS = lazy_regex(
    r"\b(?:delete\s+from|update)\b.*\bwhere\b.*(?:\bnot\s+in\b|<>\s*all\b|!=\s*all\b|\bnot\s*\(?\s*[\w.\"]+\s*=\s*any\b"
    r"|\bnot\s+exists\b)",
    re.IGNORECASE | re.DOTALL,
)
"""Statements that remove or change all rows that are not in a list."""


def _removes_others(span: Span, value: Value, facts: Facts) -> str:
    """Return the statement that changes all rows but those of a value; empty if there is none."""
    for call in facts.within(facts.calls, span):
        first = call.positional[0].value if len(call.positional) > 1 else None
        if first is None or not _SQL_OF_OTHERS.search(_statement(first.text, call, facts)):
            continue
        given = call.positional[1:]
        if any(value.is_in(each.value.span, each.value.text) for each in given) and not value.is_refused(
            call
        ):
            return f"{call.written}()"
    return ""


def _statement(text: str, call: Call, facts: Facts) -> str:
    """Return a statement as written, or that of a variable."""
    if not text.isidentifier():
        return text
    made = facts.assignments_to(text, call)
    return next((each.value.text for each in made if each.value is not None), "")


def _ends_loop(caller: Call, facts: Facts) -> bool:
    """Return whether a loop goes on for as long as a call finds something: it reads page after page."""
    loops = facts.loops_around(caller)
    if not loops or loops[-1].kind not in ("endless", "while") or not caller.assigned:
        return False
    loop, names = loops[-1], {name for name in caller.assigned if name.isidentifier()}
    inside = list(facts.within(facts.assignments, loop.body))
    # `cursor = page.next`
    names |= {
        target
        for each in inside
        if each.value is not None and _words(each.value.text) & names
        for target in each.targets
    }
    # The condition of `do … while` stands behind the body.
    conditions = [loop.over] if loop.kind == "while" else []
    conditions += [
        facts.text(Span(arm.fork.start, arm.span.start))
        for arm in facts.arms
        if arm.leaves == "loop"
        and is_within(arm.span, loop.body)
        and any(step.kind == "break" for step in facts.within(facts.steps, arm.span))
    ]
    return any(_words(each) & names for each in conditions)


def _words(text: str) -> set[str]:
    return {*re.findall(r"\w+", text)}


def _is_counted(caller: Call, facts: Facts) -> bool:
    """Return whether the caller asks whether there is anything: `len(matches()) > 0`."""
    around = facts.syntax.line_text(facts.line(caller))
    name = re.escape(caller.method)
    names = "|".join(re.escape(name) for name in caller.assigned if name.isidentifier())
    outer = facts.named_function_of(caller)
    if names and outer is not None:
        rest = facts.text(Span(caller.span.end, outer.body.end))
        counted = rf"\b(?:{names})\??\.(Count|length|size|isEmpty|is_empty|Length|Any)\b"
        asks = rf"{counted}|\blen\((?:{names})\)|\bnot (?:{names})\b"
        if re.search(asks, rest):
            return True
    return (
        re.search(
            rf"\blen\([^()]*{name}\(|{name}\([^()]*\)\)?\.(isEmpty|length|size|Count|Any|is_empty)", around
        )
        is not None
    )


def _is_an_answer(handler: Handler, facts: Facts) -> bool:
    """Return whether the error says that there is nothing: not found, no such key."""
    if facts.language == "go":
        # A handler does not name the kind of the error; one that matters is logged.
        return not any(is_logging(call) for call in facts.within(facts.calls, handler.body))
    return bool(handler.types) and all(
        re.search(
            r"NotFound|NoSuch|DoesNotExist|KeyError|NoResult|Missing|Empty|FileNotFound|StopIteration", each
        )
        for each in handler.types
    )


def _given(handler: Handler, facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield what a handler gives instead of an answer."""
    for step in facts.within(facts.steps, handler.body):
        if step.kind == "return":
            yield step.span, step.text.strip().rstrip(";").strip()
    if facts.language in ("kotlin", "rust"):
        text = facts.text(handler.body).rstrip("} \n\t")
        last = text.rpartition("\n")[2].strip()
        end = handler.body.start + len(text.encode())
        if last:
            yield Span(end - len(last.encode()), end), last


_OF_VALUES = frozenset(
    ("get", "split", "map", "filter", "items", "keys", "values", "strip", "lower", "upper", "replace",
     "slice", "startswith", "endswith", "startsWith", "endsWith", "join", "trim", "has", "forEach",
     "toString", "append", "push", "includes", "index", "find")
)  # fmt: skip
"""Methods of texts, lists and maps, which ask nothing outside."""


def _asked(each: Try, facts: Facts) -> Call | None:
    """Return a call in the body of a try that asks something outside of the function."""
    for call in facts.within(facts.calls, each.body):
        if is_logging(call) or call.constructs or not call.receiver_written:
            continue
        is_outside = (
            call.receiver_written.startswith("self.")
            or call.is_awaited
            or (_is_parameter(call, facts) and call.method not in _OF_VALUES)
        )
        is_outside = is_outside or call.name.startswith(("requests.", "httpx.", "urllib.", "net/http."))
        is_field = facts.language in ("java", "csharp", "kotlin") and call.receiver_written.isidentifier()
        if is_outside or (is_field and call.receiver_written in _fields(facts)):
            return call
    return None


@lru_cache(maxsize=4)
def _fields(facts: Facts) -> frozenset[str]:
    return frozenset(
        target.removeprefix("self.")
        for each in facts.assignments
        for target in each.targets
        if target.startswith("self.") and each.scope is None
    )


def _is_parameter(call: Call, facts: Facts) -> bool:
    base = call.receiver_written.partition(".")[0]
    return any(each.name == base for scope in facts.functions_around(call) for each in scope.parameters)


_TELLS = lazy_regex(
    r"event_?hub|progress|metric|telemetry|(?<![a-z])audit|logger|notification\.|dialog|modal|toast|popup|menu|window\."
    r"|document\.|spinner|timer|timeout|interval|controller\.|abort",
    re.IGNORECASE,
)
"""Calls that only tell how far the work is, change a screen, or end a wait."""


def _acts(span: Span, pattern: re.Pattern[str], value: Value, facts: Facts) -> str:
    """Return what is done in a span to stored things because of a value; empty if nothing is."""
    for call in facts.within(facts.calls, span):
        if not pattern.match(call.method) or is_logging(call) or not call.receiver_written:
            continue
        if _TELLS.search(call.written):
            continue
        if _OF_MEMORY.match(call.receiver_written) or call.constructs or not call.arguments:
            continue
        if value.is_held_by(call.receiver_written) or is_of_local(call, facts):
            continue
        if facts.is_in_finally(call) or not value.decides(call) or value.is_refused(call):
            continue
        if pattern is _DESTROYS and value.is_idle_if_empty(call):
            continue
        return f"{call.written}()"
    for each in facts.within(facts.assignments, span) if pattern is _DESTROYS else ():
        is_off = each.value is not None and re.fullmatch(r"[fF]alse|[tT]rue|null|None", each.value.text)
        if not is_off or len(each.targets) != 1 or "." not in each.targets[0]:
            continue
        if _INACTIVE.search(each.targets[0]) and value.decides(each) and not value.is_refused(each):
            return each.targets[0]
    return ""


def _of_defaults(facts: Facts) -> Iterator[Hit]:
    """Yield `fetch().await.unwrap_or_default()` and `fetch().catch(() => [])` before something is deleted."""
    for call in facts.calls_of_method(
        "unwrap_or_default", "unwrap_or", "unwrap_or_else", "catch", "getOrDefault", "getOrElse"
    ):
        scope, made = facts.named_function_of(call), call.origin
        if scope is None or made is None:
            continue
        if facts.language == "rust":
            is_asked = fails_at(call, facts)
        else:
            is_asked = call.method == "catch" or made.method == "runCatching"
        if not is_asked or not _EMPTY.match(_default_of(call, facts)):
            continue
        if call.is_returned:
            continue  # What is done behind it in the function around is not done with this answer.
        home = home_of(call, facts)
        rest = Span(call.span.end, scope.body.end if home is None else home.body.end)
        value = Value({*call.assigned}, call.span, scope.body, facts)
        if act := _acts(rest, _DESTROYS, value, facts):
            what = f"if {made.written}() fails, an empty answer counts as its answer, and {act} acts on it"
            yield Hit(call.span, what, LIKELY)


_PASSES_ON = frozenset(
    ("map", "map_err", "ok", "and_then", "or_else", "context", "with_context", "inspect_err")
)


def fails_at(default: Call, facts: Facts) -> bool:
    """Return whether a default (Rust) is given for a failed call, rather than for None of one that worked.

    `find().await?.unwrap_or_default()` gives the error up before."""
    source = default.origin
    while source is not None and not source.is_awaited and source.method in _PASSES_ON:
        source = source.origin
    if source is None or not source.is_awaited or source.span.end > default.span.end:
        return False
    # The object of a variable is made in another statement: `let row = find().await?; row.unwrap_or(0)`.
    start = source.span.end if is_within(source.span, default.span) else -1
    if start < 0:
        line = facts.text(Span(source.span.end, min(default.span.start, source.span.end + 200)))
        return "?" not in line.partition(";")[0]
    return "?" not in facts.text(Span(start, default.span.end)).partition(default.method)[0]


def _default_of(call: Call, facts: Facts) -> str:
    """Return what a call gives in place of an answer: the value, or what the given function returns."""
    given = call.positional[0].value.text if call.positional else ""
    if facts.language == "rust":
        return re.sub(r"^\|_?\w*\|\s*", "", given) or "vec![]"
    if call.method != "catch":
        return given.strip("{} \n")
    returned = re.sub(r"^\(?\w*\)?\s*=>\s*", "", given)
    # `() => {}` gives nothing, and `() => ({})` an object.
    return {"{}": "", "({})": "{}"}.get(returned, returned)


RULE = Rule(
    id="FK-R112",
    slug="failure-taken-for-data",
    title="Failure taken for an empty answer",
    why="A service that is down for a minute looks like one that has nothing, and the program deletes, "
    "releases or permits what it must not.",
    fix="Let the error go up, and do nothing until there is an answer.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(b"except", b"catch", b"nil", b"Err(", b"unwrap_or", b"getOr", b"break"),
)
