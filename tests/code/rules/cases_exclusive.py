"""Right code of which only one alternative runs, each beside its wrong twin."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_WRITES = "writes-without-transaction"

CASES = [
    good(
        _WRITES,
        "go",
        'package m\nfunc f(db *sql.DB, on bool) {\n if on {\n  db.Exec("UPDATE t SET n = n + 1")\n } else {\n  db.Exec("UPDATE t SET n = n - 1")\n }\n}',
    ),
    good(
        _WRITES,
        "go",
        'package m\nfunc f(db *sql.DB, on bool) error {\n if on {\n  _, err := db.Exec("UPDATE t SET n = n + 1")\n  return err\n }\n _, err := db.Exec("UPDATE t SET n = n - 1")\n return err\n}',
    ),
    good(
        _WRITES,
        "javascript",
        'async function f(db, kind) {\n switch (kind) {\n  case "a": await db.query("UPDATE a SET n = 1"); break;\n  default: await db.query("UPDATE b SET n = 1");\n }\n}',
    ),
    good(
        _WRITES,
        "java",
        'class A { void f(Statement s) { try { s.executeUpdate("INSERT INTO t VALUES (1)"); } catch (SQLException e) { s.executeUpdate("UPDATE t SET n = 1"); } } }',
    ),
    bad(
        _WRITES,
        "go",
        'package m\nfunc f(db *sql.DB, on bool) {\n if on {\n  db.Exec("UPDATE t SET n = n + 1")\n } else {\n  db.Exec("UPDATE t SET n = n - 1")\n }\n db.Exec("INSERT INTO log VALUES (1)")\n}',
        8,
    ),
]
