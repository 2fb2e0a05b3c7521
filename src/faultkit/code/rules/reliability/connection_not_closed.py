"""Finds connections, result rows and sockets that are opened and not closed.

Evidence that it matters: a request, a message or an item opens another one each time, or a function with
parameters takes one from a pool and keeps only its statement. What a function opens that may run once is
`POSSIBLE`, and what a member of the object holds is not reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.rules.rule import (
    CSHARP,
    GO,
    JAVA,
    JAVASCRIPT,
    KOTLIN,
    LIKELY,
    POSSIBLE,
    PYTHON,
    Hit,
    Rule,
    Severity,
)
from faultkit.code.rules.vocabulary.repetition import frequency_of, runs_once
from faultkit.code.rules.vocabulary.resources import is_closed_or_passed_on
from faultkit.code.rules.vocabulary.taken_resources import OF_SOURCE

_OPENS = (
    "sqlite3.connect",
    "psycopg2.connect",
    "psycopg.connect",
    "pymysql.connect",
    "MySQLdb.connect",
    "asyncpg.connect",
    "socket.create_connection",
    "socket.socket",
    "smtplib.SMTP",
    "sqlalchemy.orm.sessionmaker()",
    "sqlalchemy.orm.Session",
    "sqlalchemy.ext.asyncio.async_sessionmaker()",
    "sqlalchemy.ext.asyncio.AsyncSession",
    "sqlalchemy.create_engine().connect",
    "ftplib.FTP",
    "java.sql.DriverManager.getConnection",
    "javax.sql.DataSource.getConnection",
    "DataSource.getConnection",
    "com.zaxxer.hikari.HikariDataSource.getConnection",
    "redis.clients.jedis.JedisPool.getResource",
    "OracleConnection",
    "SmtpClient",
    "System.Net.Mail.SmtpClient",
    "java.net.Socket",
    "SqlConnection",
    "NpgsqlConnection",
    "MySqlConnection",
    "SqliteConnection",
    "TcpClient",
    "net.Dial",
    "net.DialTimeout",
    "net.Listen",
    "pg.Pool.connect",
    "pg.Client",
    "mysql2/promise.createConnection",
    "mongodb.MongoClient",
)
_STATEMENTS = ("prepareStatement", "prepareCall", "createStatement")
_ROWS = ("Query", "QueryContext")


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_named(*_OPENS):
        scope = facts.named_function_of(call)
        if facts.function_of(call) is None or is_closed_or_passed_on(call, facts):
            continue
        if _is_returned_by_name(call, facts):
            continue
        if scope is not None and scope.owner.rpartition(".")[2].endswith("Command"):
            continue  # A command of Django runs once in its process.
        if facts.language == "csharp" and _is_of_dapper(call, facts):
            continue
        if (bound := call.argument("bind")) is not None and "connection" in bound.value.text.lower():
            continue  # The connection belongs to another session.
        # CPython closes a local connection of SQLite when its function returns.
        severity: Severity | None = "low" if call.name == "sqlite3.connect" else None
        yield Hit(call.span, f"what {call.written}() opens is not closed", _sure(call, facts), severity)
    if facts.language == "kotlin":
        for call in facts.calls_of_method(*_STATEMENTS):
            source = call.receiver_written
            if OF_SOURCE.search(source) and facts.function_of(call) and not _closes_of_statement(call, facts):
                yield Hit(call.span, f"the connection of {source} is not closed", _sure(call, facts))
    for call in _connected(facts):
        if call.written and not _is_member(call, facts):
            what = f"what {call.written}() makes is connected here and never closed"
            yield Hit(call.span, what, _sure(call, facts))
    if facts.language == "csharp":
        for call in facts.calls_of_method("ExecuteReader", "ExecuteReaderAsync"):
            if call.assigned and not is_closed_or_passed_on(call, facts):
                # Some drivers close a reader with its command.
                is_of_managed = call.origin is not None and call.origin.is_managed
                sure = POSSIBLE if is_of_managed else _sure(call, facts)
                yield Hit(call.span, f"the reader of {call.written}() is never closed", sure)
    if facts.language == "go" and facts.imports_any("database/sql"):
        for call in facts.calls_of_method(*_ROWS):
            if call.assigned and not is_closed_or_passed_on(call, facts):
                yield Hit(call.span, f"the rows of {call.written}() are never closed", LIKELY)


def _is_returned_by_name(call: Call, facts: Facts) -> bool:
    """Return whether a variable that gets the value of a choice is returned: `x = if (a) b else Socket()`."""
    scope = facts.function_of(call)
    if scope is None or call.assigned:
        return False
    names = {
        each.targets[0]
        for each in facts.own(facts.assignments, scope)
        if each.value is not None and is_within(call.span, each.value.span) and len(each.targets) == 1
    }
    return any(step.text in names for step in facts.own(facts.steps_of("return"), scope))


def _sure(call: Call, facts: Facts) -> float:
    is_repeated = _is_lost_by_statement(call, facts) or frequency_of(call, facts) is not None
    return LIKELY if is_repeated else POSSIBLE


def _is_lost_by_statement(call: Call, facts: Facts) -> bool:
    """Return whether a function with parameters keeps only the statement of a pooled connection:
    `dataSource.getConnection().prepareStatement(…)`."""
    scope = facts.named_function_of(call)
    if scope is None or not scope.parameters or runs_once(scope) or _closes_of_statement(call, facts):
        return False
    if call.method in _STATEMENTS:
        return OF_SOURCE.search(call.receiver_written) is not None
    is_pooled = call.name.endswith("DataSource.getConnection")
    return (
        is_pooled and not call.assigned and any(each.method in _STATEMENTS for each in facts.calls_on(call))
    )


_OF_STATEMENT = lazy_regex(r"\.(?:getConnection\(\)|connection)\??\.close\(|\bcloseQuietly\(")


def _closes_of_statement(call: Call, facts: Facts) -> bool:
    """Return whether a function closes the connection that a statement has: `s.getConnection().close()`."""
    scope = facts.named_function_of(call)
    return scope is not None and _OF_STATEMENT.search(facts.text(scope.body)) is not None


def _is_member(call: Call, facts: Facts) -> bool:
    """Return whether a property or field of the object holds it, by the names that C# gives them."""
    return facts.language == "csharp" and any(name[:1].isupper() or name[:1] == "_" for name in call.assigned)


def _is_of_dapper(call: Call, facts: Facts) -> bool:
    """Return whether only methods of Dapper use a connection: they open and close it for each query (C#)."""
    used = facts.calls_on(call)
    return bool(used) and all(each.method.startswith(("Query", "Execute")) for each in used)


def _connected(facts: Facts) -> Iterator[Call]:
    """Yield what makes a client that the same function connects: `const sub = redis.duplicate()`."""
    for connect in facts.calls_of_method("connect", "Connect", "ConnectAsync", "OpenAsync"):
        made, scope = connect.origin, facts.function_of(connect)
        if made is None or scope is None or made.name in _OPENS or not connect.is_discarded:
            continue
        if facts.function_of(made) is not scope or made.assigned[:1] != (connect.receiver_written,):
            continue
        if runs_once(scope) and not scope.parameters:
            continue
        # In JavaScript, what is not awaited tells by events how it went, and when it has ended.
        waits = connect.is_awaited or (made.constructs and facts.language not in JAVASCRIPT)
        if waits and not is_closed_or_passed_on(made, facts):
            yield made


RULE = Rule(
    id="FK-R016",
    slug="connection-not-closed",
    title="Connection not closed",
    why="The database or peer runs out of connections long before this process runs out of anything.",
    fix="Close it in a with or finally block (Go: defer Close), or take it from a pool that does.",
    kind="reliability",
    severity="high",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA, *CSHARP, *KOTLIN),
    check=_check,
)
