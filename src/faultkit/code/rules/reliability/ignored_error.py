"""Go: finds returned errors that are discarded.

It is shown if the file or the standard library shows that the call returns an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Argument, Call, Facts, Scope, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CERTAIN, GO, LIKELY, POSSIBLE, Hit, Rule, Severity
from faultkit.code.rules.vocabulary.answers import responder_of
from faultkit.code.rules.vocabulary.failures import is_clean_up
from faultkit.code.rules.vocabulary.http_requests import library_of
from faultkit.code.rules.vocabulary.lost_in_go import lost_by_deferred, pipes_without_error
from faultkit.code.rules.vocabulary.remote_calls import sql_calls

_WITH_ERROR = frozenset(
    {
        "encoding/json.Unmarshal",
        "encoding/json.Marshal",
        "encoding/json.NewDecoder().Decode",
        "os.Open",
        "os.Create",
        "os.ReadFile",
        "os.WriteFile",
        "os.Rename",
        "io.ReadAll",
        "io/ioutil.ReadAll",
        "io/ioutil.ReadFile",
        "io.Copy",
        "net.Dial",
        "net.Listen",
        "database/sql.Open",
        "net/http.NewRequest",
        "net/http.NewRequestWithContext",
        "strconv.Atoi",
        "strconv.ParseInt",
        "strconv.ParseBool",
        "strconv.ParseFloat",
        "time.Parse",
        "database/sql.Tx.Commit",
        "database/sql.DB.Begin().Commit",
        "database/sql.DB.BeginTx().Commit",
        "net/http.ListenAndServe",
        "os/exec.Command().Run",
        "os/exec.CommandContext().Run",
    }
)

_HARDLY_FAILS = frozenset({"encoding/json.Marshal", "strconv.ParseBool"})
"""Functions that fail only for values that the types of a program rule out."""
_LOSES = frozenset(
    {
        "database/sql.Tx.Commit",
        "database/sql.DB.Begin().Commit",
        "database/sql.DB.BeginTx().Commit",
        "os.Rename",
        "os.WriteFile",
    }
)
"""Functions whose error may not be left out even on purpose: what was to be done is not done."""
_PARSES = frozenset({"strconv.Atoi", "strconv.ParseInt", "strconv.ParseBool", "strconv.ParseFloat"})
_KEY = lazy_regex(r"(^|[a-z_])(id|ID|Id|key|Key)$")
"""Names of numbers for which 0 is no default: it may be the key of a row."""


_WRITES = lazy_regex(
    r"^(Save|Insert|Update|Delete|Create|Publish|Enqueue|Put|Store|Send|Mark|Record|Commit|Charge|Refund|Transfer|Append"
    r"|Persist|Upsert|Write|Push|Set|Add|Apply|Exec|Cancel|Reserve|Upload|Submit|Register|Book|Place|Deliver|Import|Ship|Pay"
    r"|Debit|Credit|Archive)([A-Z]\w*)?$"
)
_LOST = lazy_regex(
    r"^(Save|Insert|Update|Publish|Commit|Charge|Mark|Enqueue|Store|Create|Upsert|Persist|Refund)([A-Z]\w*)?$"
)
"""Writes whose error may not be left out even on purpose."""
_GORM = frozenset(("Save", "Create", "Updates", "Update", "Delete", "UpdateColumn", "Exec", "First", "Find"))
_FIRST = lazy_regex(r"^(ctx|c|r\.Context\(\)|req\.Context\(\)|context\.\w+\(\)|\w*[cC]tx)$")
_BESIDE = lazy_regex(
    r"metric|log|trace|span|cache|stat|audit|event|notif|tele|debug|header|analytic", re.IGNORECASE
)
_ANSWERS = lazy_regex(r"(Error|Response|Header|Cookie|Status)s?$")
"""Names of functions that write an answer, of which most return nothing."""
_BUFFERED = lazy_regex(
    r"^(bufio\.NewWriter(Size)?\(\)\.Flush|(compress/gzip|compress/zlib|archive/zip|archive/tar)\.NewWriter(Level)?\(\)\.(Close|Flush))$"
)
_ENDING = lazy_regex(r"(?i)^(close|stop|shut_?down|clean_?up|rollback|release|abort)")


def _check(facts: Facts) -> Iterator[Hit]:
    yield from _known(facts)
    yield from _shadowed(facts)
    for call in facts.calls_of_method("Close"):
        if _is_upload(call, facts):
            what = f"the error of {call.written}() is lost, and with it what was not written yet"
            yield Hit(call.span, what, LIKELY, "medium")
    for span, what in (*lost_by_deferred(facts), *pipes_without_error(facts)):
        yield Hit(span, what, LIKELY, "medium")
    yield from _overwritten(facts)
    for call in facts.calls_of_method("Commit"):
        if call.arguments or not _TX.search(f"{call.receiver_written} {call.name}"):
            continue
        if call.is_deferred:
            what = f"the error of {call.written}() is lost, and it commits also what is left after an error"
            yield Hit(call.span, what, LIKELY)
        elif call.is_discarded and call.name not in _WITH_ERROR:
            what = f"the error of {call.written}() is lost: the caller is told that the changes are kept"
            yield Hit(call.span, what, LIKELY)
    for call in facts.calls:
        # Of most calls the result is used. To ask for what stands around a call takes longer.
        is_used = not (call.is_discarded or call.is_deferred or _LOST.match(call.method))
        if is_used or call.is_launched or call.name in _WITH_ERROR or facts.is_deferred(call):
            continue
        if _BUFFERED.match(call.name):
            first = None if call.origin is None else call.origin.argument(place=0)
            if (call.is_discarded or call.is_deferred) and not _is_memory(first, call, facts):
                what = f"the error of {call.written}() is lost, and with it what was not written yet"
                yield Hit(call.span, what, LIKELY, "medium")
            continue
        if call.is_discarded and call.method in _GORM and "gorm.io/gorm.DB" in call.name:
            if not _is_ending(call, facts) and not facts.comment_at(call):
                yield Hit(call.span, f"the Error of {call.written}() is not checked", LIKELY)
            continue
        if _WRITES.match(call.method) is None or _BESIDE.search(call.written) or not call.receiver_written:
            continue
        meant = call.assigned == ("_",)
        if not (call.is_discarded or meant) or call.is_deferred or _is_ending(call, facts):
            continue
        if meant and _LOST.match(call.method) is None:
            continue
        first = call.argument(place=0)
        if first is None or facts.comment_at(call):
            continue
        scope = _failing(facts).get(call.method)
        known = scope is not None and call in facts.callers_of(scope)
        if not known and facts.functions_named(call.method) and call.method not in _failing(facts):
            continue  # It returns no error.
        if not known and (_ANSWERS.search(call.method) or _is_given_writer(call)):
            continue
        if known or (_is_context(first.value.text, call, facts) and len(call.arguments) > 1):
            is_likely = known or meant or _is_checked_elsewhere(call, facts)
            what = f"the error of {call.written}() is not checked"
            yield Hit(call.span, what, LIKELY if is_likely else POSSIBLE)


def _is_checked_elsewhere(call: Call, facts: Facts) -> bool:
    """Return whether this text shows that a method returns an error.

    An interface or another call shows it, and so does a request that it is given: `&api.SetRequest{…}`."""
    if any(re.match(r"&(?:\w+\.)?\w+Request\{", each.value.text) for each in call.positional):
        return True
    if any(each.assigned[-1:] == ("err",) or each.is_returned for each in facts.calls_of_method(call.method)):
        return True
    return (
        re.search(rf"(?m)^\s+{call.method}\([^\n]*\)\s*(?:\([^)\n]*\berror\)|error)\s*$", facts.whole_text)
        is not None
    )


def _is_given_writer(call: Call) -> bool:
    """Return whether a call is given what an answer is written to: `p.WriteToken(ctx, rw, token)`."""
    return any(each.value.text in ("w", "rw", "c.Writer") for each in call.positional)


def _is_upload(call: Call, facts: Facts) -> bool:
    """Return whether a deferred call ends an upload, which is done only then."""
    if call.method != "Close" or not call.is_deferred or call.origin is None:
        return False
    made = call.origin
    is_cloud = facts.imports_any("cloud.google.com/go/storage", "gocloud.dev/blob")
    if not is_cloud or made.method != "NewWriter":
        return False
    return all(each is call or each.method != "Close" for each in facts.calls_on(made))


_TX = lazy_regex(r"(?i)\b(?:tx|trx|txn|transaction)\b|\.Begin(?:Tx|x)?\(\)")


@lru_cache(maxsize=1)
def _failing(facts: Facts) -> dict[str, Scope]:
    """Return the functions of this text that may return an error, by name."""
    return {
        scope.short_name: scope
        for scope in facts.scopes
        if scope.name and _RETURNS.search(facts.text(scope.head)) and not _never_fails(scope, facts)
    }


def _shadowed(facts: Facts) -> Iterator[Hit]:
    """Yield `if err := f(); err != nil { break }` before a `return err`, which is another variable."""
    for each in facts.tries:
        for handler in each.handlers:
            if handler.name != "err" or not facts.loops_around(handler):
                continue
            declares = _DECLARES.match(facts.text(handler.span))
            scope = facts.function_of(handler)
            if declares is None or scope is None:
                continue
            inside = [step.kind for step in facts.within(facts.steps, handler.body)]
            if (
                "break" not in inside
                or "return" in inside
                or re.search(r"=[^=\n]*\berr\b", facts.text(handler.body))
            ):
                continue
            later = facts.text(Span(handler.span.end, scope.body.end))
            if re.search(r"\breturn\b[^\n]*\berr\b", later) and not re.search(r"\berr\s*:?=", later):
                what = "this err is declared for the if only: the one that is returned later is nil"
                yield Hit(handler.span, what, LIKELY)


def _overwritten(facts: Facts) -> Iterator[Hit]:
    """Yield `err := save(a)` right before `err = save(b)`: nothing has looked at the first."""
    last = None
    for each in facts.assignments:
        if each.targets[-1:] != ("err",) or each.call is None:
            last = None if "err" in each.targets else last
            continue
        if last is not None and last.scope is each.scope and last.call is not None:
            between = facts.text(Span(last.span.end, each.span.start))
            value = "" if each.value is None else each.value.text
            if not _LOOKS.search(between) and not re.search(r"\berr\b", value) and not each.call.is_launched:
                yield Hit(
                    last.span, f"the error of {last.call.written}() is overwritten by the next one", LIKELY
                )
        last = each


_LOOKS = lazy_regex(r"\berr\b|[{}]|\bcase\b|\breturn\b|\bdefault\s*:")
_DECLARES = lazy_regex(r"if\s[^{;]*\berr\s*:=[^{]*;")
_RETURNS = lazy_regex(r"\)\s*(?:\(.*\berror\)|error)\s*$", re.DOTALL)


_NIL = lazy_regex(r"return(?:\s[^\n]*,)?\s*nil\s*;?")


def _never_fails(scope: Scope, facts: Facts) -> bool:
    """Return whether a function returns `nil` as its error in every case, as an interface asks of it."""
    returns = [each for each in facts.own(facts.steps, scope) if each.kind == "return"]
    return bool(returns) and all(_NIL.fullmatch(facts.text(each.span)) for each in returns)


def _is_context(text: str, call: Call, facts: Facts) -> bool:
    """Return whether the first argument is a context; `c` may also be a client or a connection."""
    if text != "c":
        return _FIRST.match(text) is not None
    types = (
        one.type for scope in facts.functions_around(call) for one in scope.parameters if one.name == "c"
    )
    return next((each.endswith(("Context", "Ctx")) for each in types), False)


def _is_ending(call: Call, facts: Facts) -> bool:
    """Return whether it is clean-up, or handles another error."""
    around = facts.named_function_of(call)
    return is_clean_up(call, facts) or (around is not None and _ENDING.match(around.short_name) is not None)


def _known(facts: Facts) -> Iterator[Hit]:
    sql = {each.call for each in sql_calls(facts)} | _scans(facts)
    for call in facts.calls:
        if not (call.name in _WITH_ERROR or library_of(call, facts.language) is not None or call in sql):
            continue
        if call.is_deferred or call.is_launched or _is_own_helper(call, facts):
            continue
        is_meant = {*call.assigned} == {"_"}  # `_ = f()` says so.
        if call.name in _HARDLY_FAILS or (is_meant and (call.name not in _LOSES or _is_init(call, facts))):
            continue
        if _is_drained(call) or (call.assigned[-1:] == ("_",) and facts.comment_at(call)):
            continue
        if call.name in _READ_WHOLE and call.assigned[-1:] == ("_",) and _is_only_told(call, facts):
            continue
        if call.name == "time.Parse" and call.assigned[-1:] == ("_",) and _is_asked(call, facts):
            continue
        if call.name in _PARSES and call.assigned[-1:] == ("_",):
            if _KEY.search(call.assigned[0]) and not (_is_matched(call) or _is_asked(call, facts)):
                what = f"{call.written}() gives 0 for what it cannot read, and its error is thrown away"
                yield Hit(call.span, what, POSSIBLE, "medium")
        elif call.assigned[-1:] == ("_",) and not _row(call):
            sure = POSSIBLE if _is_little(call, facts) else LIKELY if is_meant else CERTAIN
            yield Hit(call.span, f"the error of {call.written}() is discarded", sure, _mild(call))
        elif call.is_discarded and not _row(call):
            sure = POSSIBLE if _is_to_peer(call, facts) or _is_little(call, facts) else LIKELY
            yield Hit(call.span, f"the error of {call.written}() is not checked", sure, _mild(call))


_PEER = lazy_regex(r"^(?:\w*[cC]onn|os\.Std(?:out|err)|(?:\w+\.)+(?:Writer|Out|Stdout|ErrWriter))$")
_MAKES_REQUEST = frozenset({"net/http.NewRequest", "net/http.NewRequestWithContext"})


def _is_own_helper(call: Call, facts: Facts) -> bool:
    """Return whether a call is a method of the package, of which this text does not say that it returns an
    error."""
    return bool(call.receiver_written) and call.method[:1].islower() and call.method not in _failing(facts)


_UNMARSHAL = "encoding/json.Unmarshal"
_READS_INPUT = lazy_regex(r"Unmarshal$|Decode\w*$|Parse\w*$")


def _is_little(call: Call, facts: Facts) -> bool:
    """Return whether an error can hardly be, is found by the next check, or comes after another one.

    A request fails only for an address or a method that is not valid; what was read in part cannot be parsed;
    what is undone or read for a message in the branch of an error is no part of the work."""
    if call.name in _MAKES_REQUEST or (call.name == "os.Rename" and call.assigned == ("_",)):
        return True
    if call.name in _READ_WHOLE and call.assigned[-1:] == ("_",):
        name = call.assigned[0]
    else:
        name = call.positional[1].value.text.lstrip("&") if call.name == _UNMARSHAL else ""
    if name and _is_parsed(name, call, facts):
        return True
    if call.name == "time.Parse":
        return any(".Format(" in each.value.text for each in call.positional)
    if call.name == "io.Copy" and "os.Pipe" in facts.text_with_values(call):
        return True
    if call.name in _READ_WHOLE or call.name in ("io.Copy", "os.Rename"):
        return any(handler.exits for handler in facts.handlers_around(call)) or _is_after_status(call, facts)
    return False


def _is_parsed(name: str, call: Call, facts: Facts) -> bool:
    """Return whether what was read is given to a parser whose error is checked."""
    scope = facts.function_of(call)
    return scope is not None and any(
        _READS_INPUT.search(each.method) and "err" in each.assigned
        for each in facts.within(facts.calls, Span(call.span.end, scope.body.end))
        if any(one.value.text == name for one in each.positional)
    )


_STATUS = lazy_regex(r"\bStatusCode\b|\bstatus\b", re.IGNORECASE)


def _is_after_status(call: Call, facts: Facts) -> bool:
    """Return whether a call stands in a branch for a bad status, which the function leaves."""
    scope = facts.function_of(call)
    return scope is not None and any(
        arm.leaves == "function"
        and is_within(call.span, arm.span)
        and _STATUS.search(facts.text(Span(arm.fork.start, arm.span.start)))
        for arm in facts.within(facts.arms, scope.body)
    )


_BUFFERS = lazy_regex(r"^(?:&|new\()?(?:bytes\.Buffer|strings\.Builder)|^bytes\.NewBuffer")


def _is_memory(argument: Argument | None, call: Call, facts: Facts) -> bool:
    """Return whether a writer writes to a buffer in memory: `&buf`, or a variable that was made as one."""
    text = "" if argument is None else argument.value.text
    return text[:1] == "&" or any(
        _BUFFERS.match(each.type) or (each.value is not None and _BUFFERS.match(each.value.text))
        for each in (facts.assignments_to(text, call) if text.isidentifier() else ())
    )


def _is_to_peer(call: Call, facts: Facts) -> bool:
    """Return whether a copy goes to a client that may have gone: then there is nothing left to do."""
    first = call.argument(place=0) if call.name == "io.Copy" else None
    scope = facts.function_of(call)
    if first is None or scope is None:
        return False
    return _PEER.match(first.value.text) is not None or first.value.text == responder_of(scope, facts)


def _is_init(call: Call, facts: Facts) -> bool:
    scope = facts.function_of(call)
    return scope is not None and scope.name == "init"


def _mild(call: Call) -> Severity | None:
    """Return a lower severity for what the next use reports."""
    return "medium" if call.name in ("io.Copy", "net/http.NewRequest", "time.Parse") else None


def _is_drained(call: Call) -> bool:
    """Return whether a body is only read to its end, so that its connection can be used again."""
    first = call.argument(place=0)
    return first is not None and first.value.text in ("io.Discard", "ioutil.Discard")


_READ_WHOLE = frozenset({"io.ReadAll", "io/ioutil.ReadAll", "os.ReadFile", "io/ioutil.ReadFile"})


def _is_only_told(call: Call, facts: Facts) -> bool:
    """Return whether what was read is only put into the text of an error: as much as came will do."""
    scope, name = facts.function_of(call), call.assigned[0]
    if scope is None or not name.isidentifier():
        return False
    rest = Span(call.span.end, scope.body.end)
    seen = [
        each.span
        for each in facts.within(facts.calls, rest)
        if each.name in ("fmt.Errorf", "errors.New") or is_logging(each) or each.method.endswith("Error")
    ]
    word = re.compile(rf"\b{re.escape(name)}\b".encode())
    uses = [Span(found.start(), found.end()) for found in word.finditer(facts.syntax.source, *rest)]
    return bool(uses) and all(any(is_within(use, each) for each in seen) for use in uses)


_OPTIONAL = lazy_regex(r"\.(?:Query\w*|FormValue|Get)\(")


def _is_asked(call: Call, facts: Facts) -> bool:
    """Return whether the code asks next whether there is a value, or the parameter may be left out."""
    scope, name = facts.function_of(call), re.escape(call.assigned[0])
    if any(_OPTIONAL.search(each.value.text) for each in call.positional):
        return True
    later = "" if scope is None else facts.text(Span(call.span.end, scope.body.end))
    return re.search(rf"\b{name}\s*(?:<=?|==|>|!=)\s*[01]\b|\b{name}\.IsZero\(", later) is not None


def _is_matched(call: Call) -> bool:
    """Return whether the number is a part that was cut out of a text, mostly by a pattern that checks it."""
    given = call.argument(place=0)
    return given is not None and re.search(r"\w\[[^\]]*\]$", given.value.text.strip()) is not None


def _scans(facts: Facts) -> set[Call]:
    """Return the calls `rows.Scan(&id, &name)`."""
    if not facts.imports_any("database/sql", "github.com/jackc/pgx"):
        return set()
    return {
        call
        for call in facts.calls_of_method("Scan")
        if call.positional and all(each.value.text.startswith("&") for each in call.positional)
    }


def _row(call: Call) -> bool:
    return call.method in ("QueryRow", "QueryRowContext")


RULE = Rule(
    id="FK-R012",
    slug="ignored-error",
    title="Returned error ignored",
    why="The code goes on with an empty result, and fails later in a place that has nothing to do "
    "with the cause.",
    fix="Check the error, and return it with what was being done.",
    kind="reliability",
    severity="high",
    languages=GO,
    check=_check,
)
