"""Go: finds returned errors that are discarded."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import CERTAIN, GO, LIKELY, POSSIBLE, Hit, Rule
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
        "os.MkdirAll",
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

_PARSES = frozenset({"strconv.Atoi", "strconv.ParseInt", "strconv.ParseBool", "strconv.ParseFloat"})
_OPTIONAL = re.compile(r"\.Get\(|FormValue\(|Getenv\(|Query\w*\(|Param\w*\(")
"""Sources of optional input: a missing number is zero, as intended."""
_KEY = re.compile(r"(^|[a-z_])(id|ID|Id|key|Key)$")


def _check(facts: Facts) -> Iterator[Hit]:
    sql = {each.call for each in sql_calls(facts)} | _scans(facts)
    for call in facts.calls:
        if not (call.name in _WITH_ERROR or library_of(call, facts.language) is not None or call in sql):
            continue
        if call.is_deferred or call.is_launched:
            continue
        if call.name in _PARSES and call.assigned[-1:] == ("_",):
            if not _is_optional(call, facts):
                what = f"{call.written}() gives 0 for what it cannot read, and its error is thrown away"
                yield Hit(call.span, what, POSSIBLE, "medium")
        elif call.assigned[-1:] == ("_",) and not _row(call):
            yield Hit(call.span, f"the error of {call.written}() is discarded", CERTAIN)
        elif call.is_discarded and not _row(call):
            yield Hit(call.span, f"the error of {call.written}() is not checked", LIKELY)


def _scans(facts: Facts) -> set[Call]:
    """Return the calls `rows.Scan(&id, &name)`."""
    if not facts.imports_any("database/sql", "github.com/jackc/pgx"):
        return set()
    return {
        call
        for call in facts.calls_of_method("Scan")
        if call.positional and all(each.value.text.startswith("&") for each in call.positional)
    }


def _is_optional(call: Call, facts: Facts) -> bool:
    """Return whether zero is a valid default, or is checked later.

    As a key it is not: 0 may be the key of a row.
    """
    name = call.assigned[0]
    if _KEY.search(name):
        return False
    if _OPTIONAL.search(facts.text(call.span)):
        return True
    scope = facts.function_of(call)
    compared = re.compile(rf"(?<![\w.]){re.escape(name)}\s*(==|!=|<=?|>=?)")
    return scope is not None and any(
        step.kind == "branch" and compared.search(step.text) for step in facts.within(facts.steps, scope.span)
    )


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
