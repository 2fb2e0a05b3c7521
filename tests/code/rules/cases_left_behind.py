"""Errors of iterations, temporary files, `finally` blocks that return, and units of time."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_ROWS, _TEMPORARY, _FINALLY, _UNIT, _CONTEXT = (
    "iteration-error-ignored",
    "temporary-file-left",
    "return-in-finally",
    "wrong-time-unit",
    "missing-cancellation",
)
_QUERY = 'package a\nimport "database/sql"\nfunc f(db *sql.DB) (int, error) {\n\trows, err := db.Query("SELECT id FROM t")\n\tif err != nil { return 0, err }\n\tdefer rows.Close()\n\tn := 0\n\tfor rows.Next() {\n\t\tn++\n\t}\n'
_LINES = 'package a\nimport (\n\t"bufio"\n\t"io"\n)\nfunc f(r io.Reader) (n int, err error) {\n\tsc := bufio.NewScanner(r)\n\tfor sc.Scan() {\n\t\tn++\n\t}\n'

CASES = [
    bad(_ROWS, "go", _QUERY + "\treturn n, nil\n}", 8),
    good(_ROWS, "go", _QUERY + "\treturn n, rows.Err()\n}"),
    bad(_ROWS, "go", _LINES + "\treturn n, nil\n}", 8),
    good(_ROWS, "go", _LINES + "\treturn n, sc.Err()\n}"),
    good(
        _ROWS,
        "go",
        'package a\nimport (\n\t"bufio"\n\t"strings"\n)\nfunc f(s string) (n int) {\n\tsc := bufio.NewScanner(strings.NewReader(s))\n\tfor sc.Scan() {\n\t\tn++\n\t}\n\treturn n\n}',
    ),
    good(
        _ROWS,
        "go",
        "package a\nfunc f(it *Iterator) (n int) {\n\tfor it.Next() {\n\t\tn++\n\t}\n\treturn n\n}",
    ),
    bad(
        _ROWS,
        "go",
        'package a\nimport "database/sql"\nfunc f(rows *sql.Rows) (n int) {\n\tfor rows.Next() {\n\t\tn++\n\t}\n\treturn n\n}',
        4,
    ),
    bad(
        _TEMPORARY,
        "python",
        "import tempfile\ndef f(html):\n    t = tempfile.NamedTemporaryFile(delete=False)\n    t.write(html)\n    render(t.name)",
        3,
    ),
    good(
        _TEMPORARY,
        "python",
        "import tempfile\ndef f(html):\n    with tempfile.NamedTemporaryFile() as t:\n        t.write(html)\n        render(t.name)",
    ),
    good(
        _TEMPORARY,
        "python",
        "import tempfile\ndef f(html):\n    t = tempfile.NamedTemporaryFile(delete=False)\n    t.write(html)\n    return t.name",
    ),
    bad(
        _TEMPORARY,
        "python",
        "import shutil, tempfile\ndef f(url):\n    work = tempfile.mkdtemp()\n    clone(url, work)\n    shutil.rmtree(work)",
        3,
    ),
    good(
        _TEMPORARY,
        "python",
        "import shutil, tempfile\ndef f(url):\n    work = tempfile.mkdtemp()\n    try:\n        clone(url, work)\n    finally:\n        shutil.rmtree(work)",
    ),
    bad(
        _TEMPORARY,
        "go",
        'package a\nimport "os"\nfunc f(b []byte) error {\n\tt, err := os.CreateTemp("", "x")\n\tif err != nil { return err }\n\tdefer t.Close()\n\treturn run(t.Name())\n}',
        4,
    ),
    good(
        _TEMPORARY,
        "go",
        'package a\nimport "os"\nfunc f(b []byte) error {\n\tt, err := os.CreateTemp("", "x")\n\tif err != nil { return err }\n\tdefer os.Remove(t.Name())\n\treturn run(t.Name())\n}',
    ),
    good(
        _TEMPORARY,
        "go",
        'package a\nimport "os"\nfunc f() (string, error) {\n\tdir, err := os.MkdirTemp("", "x")\n\treturn dir, err\n}',
    ),
    bad(
        _TEMPORARY,
        "java",
        'import java.nio.file.*;\nclass A { byte[] f(byte[] in) throws Exception {\n Path t = Files.createTempFile("a", "b");\n Files.write(t, in);\n return convert(t); } }',
        3,
    ),
    good(
        _TEMPORARY,
        "java",
        'import java.nio.file.*;\nclass A { byte[] f(byte[] in) throws Exception { Path t = Files.createTempFile("a", "b"); try { return convert(t); } finally { Files.deleteIfExists(t); } } }',
    ),
    bad(
        _TEMPORARY,
        "typescript",
        "import os from 'os';\nimport fs from 'fs/promises';\nasync function f(html: string) {\n const p = os.tmpdir() + '/x.html';\n await fs.writeFile(p, html);\n return render(p);\n}",
        4,
    ),
    good(
        _TEMPORARY,
        "typescript",
        "import os from 'os';\nimport fs from 'fs/promises';\nasync function f(html: string) {\n const p = os.tmpdir() + '/x.html';\n try { await fs.writeFile(p, html); return await render(p); } finally { await fs.rm(p); }\n}",
    ),
    bad(
        _TEMPORARY,
        "csharp",
        "class A { async Task<byte[]> F(Stream s) {\n var t = Path.GetTempFileName();\n return await _tool.Run(t); } }",
        2,
    ),
    bad(
        _TEMPORARY,
        "kotlin",
        'import java.io.File\nfun f(b: ByteArray): List<String> {\n val t = File.createTempFile("a", "b")\n t.writeBytes(b)\n return entries(t)\n}',
        3,
    ),
    bad(
        _TEMPORARY,
        "rust",
        'fn f(html: &str) -> std::io::Result<Vec<u8>> {\n let p = std::env::temp_dir().join("x.html");\n std::fs::write(&p, html)?;\n run(&p)\n}',
        2,
    ),
    good(
        _TEMPORARY,
        "rust",
        'fn f(html: &str) -> std::io::Result<Vec<u8>> { let p = std::env::temp_dir().join("x.html"); std::fs::write(&p, html)?; let out = run(&p); let _ = std::fs::remove_file(&p); out }',
    ),
    bad(_FINALLY, "python", "def f(x):\n    try:\n        g(x)\n    finally:\n        return 1", 5),
    good(_FINALLY, "python", "def f(x):\n    try:\n        g(x)\n    finally:\n        h()\n    return 1"),
    bad(
        _FINALLY,
        "python",
        "def f(xs):\n    for x in xs:\n        try:\n            g(x)\n        finally:\n            continue",
        6,
    ),
    good(
        _FINALLY,
        "python",
        "def f(xs):\n    try:\n        g(xs)\n    finally:\n        for x in xs:\n            if x: break",
    ),
    bad(_FINALLY, "java", "class A { boolean f() { try { g(); } finally {\n return true; } } }", 2),
    bad(_FINALLY, "javascript", "async function f() { try { await g(); } finally {\n return 1; } }", 2),
    good(
        _FINALLY,
        "javascript",
        "async function f() { try { await g(); } finally { items.forEach((x) => { return x.close(); }); } }",
    ),
    bad(_UNIT, "go", 'package a\nimport "time"\nfunc f() { time.Sleep(500) }', 3),
    bad(
        _UNIT,
        "go",
        'package a\nimport (\n\t"net/http"\n\t"time"\n)\nfunc f(timeoutSeconds int) *http.Client {\n\treturn &http.Client{Timeout: time.Duration(timeoutSeconds)}\n}',
        7,
    ),
    good(
        _UNIT,
        "go",
        'package a\nimport "time"\nfunc f(secs int) { time.Sleep(500 * time.Millisecond); time.Sleep(time.Duration(secs) * time.Second); time.Sleep(0) }',
    ),
    bad(_UNIT, "python", "import requests\ndef f(u):\n    return requests.get(u, timeout=5000)", 3),
    bad(_UNIT, "python", "import time\ndef f(delay_ms):\n    time.sleep(delay_ms)", 3),
    good(
        _UNIT,
        "python",
        "import time\nimport requests\ndef f(u, delay_ms, wait_seconds):\n    time.sleep(delay_ms / 1000)\n    time.sleep(wait_seconds)\n    time.sleep(3600)\n    return requests.get(u, timeout=120)",
    ),
    bad(
        _UNIT,
        "typescript",
        "import axios from 'axios';\nconst TIMEOUT_SECONDS = 5;\nexport const api = axios.create({ timeout: TIMEOUT_SECONDS });",
        3,
    ),
    bad(_UNIT, "typescript", "function isOld(p: Payload) { return p.exp < Date.now(); }", 1),
    good(
        _UNIT,
        "typescript",
        "import axios from 'axios';\nexport const api = axios.create({ timeout: 5000 });\nfunction isOld(p: Payload) { return p.exp * 1000 < Date.now(); }",
    ),
    bad(
        _UNIT,
        "java",
        "class A { void f(int waitSeconds) throws Exception { Thread.sleep(waitSeconds); } }",
        1,
    ),
    bad(_UNIT, "java", "class A { static final long MONTH = 30 * 24 * 60 * 60 * 1000; }", 1),
    good(
        _UNIT,
        "java",
        "class A { static final long MONTH = 30L * 24 * 60 * 60 * 1000; static final int DAY = 24 * 60 * 60 * 1000; void f(long waitMillis) throws Exception { Thread.sleep(waitMillis); } }",
    ),
    bad(_UNIT, "csharp", "class A { async Task F(int delaySeconds) { await Task.Delay(delaySeconds); } }", 1),
    good(
        _UNIT,
        "csharp",
        "class A { async Task F(int delaySeconds) { await Task.Delay(TimeSpan.FromSeconds(delaySeconds)); } }",
    ),
    bad(_UNIT, "rust", "fn f(timeout_ms: u64) -> Duration { Duration::from_secs(timeout_ms) }", 1),
    good(_UNIT, "rust", "fn f(timeout_ms: u64) -> Duration { Duration::from_millis(timeout_ms) }"),
    bad(_UNIT, "kotlin", "suspend fun f(pauseSeconds: Long) { delay(pauseSeconds) }", 1),
    good(
        _CONTEXT,
        "go",
        'package a\nimport (\n\t"context"\n\t"github.com/jackc/pgx/v5/pgxpool"\n)\nfunc f(ctx context.Context, pool *pgxpool.Pool) error {\n\t_, err := pool.Query(ctx, "SELECT 1 FROM t")\n\treturn err\n}',
    ),
]
