"""Constants that name keys, texts that are known, and errors that are left out on purpose."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_PY, _JS, _GO, _JAVA = "python", "javascript", "go", "java"
_SECRET, _ERROR, _PARSE = "secret-in-code", "ignored-error", "unguarded-parse"
_HEAD = 'package m\nimport ("database/sql"; "encoding/json"; "io"; "os"; "strconv"; "time")\n'


def _good_go(code: str) -> Case:
    return good(_ERROR, _GO, _HEAD + code)


def _bad_go(code: str, *lines: int) -> Case:
    return bad(_ERROR, _GO, _HEAD + code, *(line + 2 for line in lines))


CASES = [
    good(_SECRET, _JAVA, 'class A { static final String PASSWORD = "storage.search.password"; }'),
    good(_SECRET, _JAVA, 'class A { static final String PROPERTYNAME_PASSWORD = "a1.proxy.pw2"; }'),
    good(
        _SECRET,
        _PY,
        "PASSWORD = 'wb-password-field'\nAPI_KEY = 'SERVICE_API_KEY'\nSECRET = 'clientSecretName'",
    ),
    good(_SECRET, _PY, "private_key = '/etc/ssl/private/a1.key'\npassword = '${DB_PASSWORD_1}'"),
    good(_SECRET, _JAVA, 'class A { void f() { out.append("-----BEGIN PRIVATE KEY-----\\n"); } }'),
    good(
        _SECRET,
        _GO,
        'package m\n// This value is safe to be embedded.\nvar clientSecret = "34ddeff2b558a23d38fb"',
    ),
    bad(_SECRET, _JAVA, 'class A { static final String PASSWORD = "Tr0ub4dor&3x"; }', 1),
    bad(
        _SECRET,
        _PY,
        "KEY = '''-----BEGIN PRIVATE KEY-----\nMIICXQIBAAKBgQC9Twh0V5qR1Q8NYCNM4lj9AXeZL0gYowoK1ht2ZLCDU9vN5\n'''",
        1,
    ),
    # Go: `_ =` says that it is meant, unless work is lost; marshalling of own types does not fail.
    _good_go("func f() { _, _ = io.Copy(io.Discard, body) }"),
    _good_go("func f() { io.Copy(io.Discard, body) }"),
    _good_go("func f() { b, _ := json.Marshal(info)\n send(b) }"),
    _good_go("func f() { _ = json.Unmarshal(b, &v) }"),
    _good_go("func f() {\n // The pattern has checked it.\n t, _ := time.Parse(layout, text)\n use(t) }"),
    _good_go("func f(m []string) { id, _ := strconv.Atoi(m[1])\n load(id) }"),
    _bad_go("func f(tx *sql.Tx) { _ = tx.Commit() }", 1),
    _bad_go("func f() { body, _ := io.ReadAll(r)\n use(body) }", 1),
    _bad_go("func f() { os.Rename(a, b) }", 1),
    # The text is known where it is parsed.
    good(
        _PARSE,
        _JS,
        "function f(a) { if (a.value === 'true' || a.value === 'false') { a.value = JSON.parse(a.value); } }",
    ),
    good(
        _PARSE, _JS, "function f(a) {\n  // safe to parse: validated above\n  return JSON.parse(a.body);\n}"
    ),
    bad(_PARSE, _JS, "function f(a) { if (a.value) { a.value = JSON.parse(a.value); } }", 1),
]
