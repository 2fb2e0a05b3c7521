"""Go: finds returned errors that are discarded."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import CERTAIN, GO, LIKELY, POSSIBLE, Hit, Rule, Severity
from faultkit.code.rules.vocabulary.http_requests import library_of
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
_KEY = re.compile(r"(^|[a-z_])(id|ID|Id|key|Key)$")
"""Names of numbers for which 0 is no default: it may be the key of a row."""


def _check(facts: Facts) -> Iterator[Hit]:
    sql = {each.call for each in sql_calls(facts)} | _scans(facts)
    for call in facts.calls:
        if not (call.name in _WITH_ERROR or library_of(call, facts.language) is not None or call in sql):
            continue
        if call.is_deferred or call.is_launched:
            continue
        is_meant = {*call.assigned} == {"_"}  # `_ = f()` says so.
        if call.name in _HARDLY_FAILS or (is_meant and call.name not in _LOSES):
            continue
        if _is_drained(call) or (call.assigned[-1:] == ("_",) and facts.comment_at(call)):
            continue
        if call.name in _PARSES and call.assigned[-1:] == ("_",):
            if _KEY.search(call.assigned[0]) and not _is_matched(call):
                what = f"{call.written}() gives 0 for what it cannot read, and its error is thrown away"
                yield Hit(call.span, what, POSSIBLE, "medium")
        elif call.assigned[-1:] == ("_",) and not _row(call):
            sure = LIKELY if is_meant else CERTAIN
            yield Hit(call.span, f"the error of {call.written}() is discarded", sure, _mild(call))
        elif call.is_discarded and not _row(call):
            yield Hit(call.span, f"the error of {call.written}() is not checked", LIKELY, _mild(call))


def _mild(call: Call) -> Severity | None:
    """Return a lower severity for what the next use reports."""
    return "medium" if call.name in ("io.Copy", "net/http.NewRequest", "time.Parse") else None


def _is_drained(call: Call) -> bool:
    """Return whether a body is only read to its end, so that its connection can be used again."""
    first = call.argument(place=0)
    return first is not None and first.value.text in ("io.Discard", "ioutil.Discard")


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
