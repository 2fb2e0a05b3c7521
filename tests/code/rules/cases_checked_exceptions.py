"""Checked exceptions that leave a transaction, which is committed all the same; each beside its right twin."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE, _JAVA, _KT = "checked-exception-commits", "java", "kotlin"
_HEAD = "import org.springframework.transaction.annotation.Transactional;\nclass A {\n static class TooLittle extends Exception {}\n static class Wrong extends RuntimeException {}\n static class None extends TooLittle {}\n"
_KT_HEAD = "import org.springframework.transaction.annotation.Transactional\nclass TooLittle(text: String) : Exception(text)\nclass A(private val rows: RowRepository) {\n"

CASES = [
    bad(_RULE, _JAVA, _HEAD + " @Transactional\n public void f(Row row) throws TooLittle {\n  rows.save(row);\n  if (row.n < 0) { throw new TooLittle(); }\n }\n}", 9),
    bad(_RULE, _JAVA, _HEAD + " @Transactional(timeout = 5)\n public void f(Row row) throws TooLittle {\n  rows.save(row);\n  if (row.n < 0) { throw new None(); }\n }\n}", 9),
    good(_RULE, _JAVA, _HEAD + " @Transactional(rollbackFor = Exception.class)\n public void f(Row row) throws TooLittle {\n  rows.save(row);\n  if (row.n < 0) { throw new TooLittle(); }\n }\n}"),
    good(_RULE, _JAVA, _HEAD + " @Transactional\n public void f(Row row) {\n  rows.save(row);\n  if (row.n < 0) { throw new Wrong(); }\n }\n}"),
    # Nothing is written before it, or it does not leave.
    good(_RULE, _JAVA, _HEAD + " @Transactional\n public void f(Row row) throws TooLittle {\n  if (row.n < 0) { throw new TooLittle(); }\n  rows.save(row);\n }\n}"),
    good(_RULE, _JAVA, _HEAD + " @Transactional\n public void f(Row row) throws TooLittle {\n  if (row.n < 0) { throw new TooLittle(); } else { rows.save(row); }\n }\n}"),
    good(_RULE, _JAVA, _HEAD + " @Transactional\n public void f(Row row) {\n  rows.save(row);\n  try { if (row.n < 0) { throw new TooLittle(); } } catch (TooLittle e) { throw new Wrong(); }\n }\n}"),
    # A function of the file throws it.
    bad(_RULE, _JAVA, _HEAD + " @Transactional\n public void f(Row row) throws TooLittle {\n  rows.save(row);\n  settle(row);\n }\n private void settle(Row row) throws TooLittle { if (row.n < 0) { throw new TooLittle(); } }\n}", 9),
    good(_RULE, _JAVA, _HEAD + " @Transactional\n public void f(Row row) throws TooLittle {\n  settle(row);\n  rows.save(row);\n }\n private void settle(Row row) throws TooLittle { if (row.n < 0) { throw new TooLittle(); } }\n}"),
    # Without a transaction.
    good(_RULE, _JAVA, _HEAD + " public void f(Row row) throws TooLittle {\n  rows.save(row);\n  if (row.n < 0) { throw new TooLittle(); }\n }\n}"),
    bad(_RULE, _KT, _KT_HEAD + "    @Transactional\n    fun f(row: Row) {\n        rows.save(row)\n        if (row.n < 0) throw TooLittle(\"n\")\n    }\n}", 7),
    good(_RULE, _KT, _KT_HEAD + "    @Transactional(rollbackFor = [TooLittle::class])\n    fun f(row: Row) {\n        rows.save(row)\n        if (row.n < 0) throw TooLittle(\"n\")\n    }\n}"),
]  # fmt: skip
