"""Errors of iterations, temporary files, `finally` blocks that return, and units of time."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

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
        """
        package a
        import (
        	"bufio"
        	"strings"
        )
        func f(s string) (n int) {
        	sc := bufio.NewScanner(strings.NewReader(s))
        	for sc.Scan() {
        		n++
        	}
        	return n
        }
        """,
    ),
    good(
        _ROWS,
        "go",
        "package a\nfunc f(it *Iterator) (n int) {\n\tfor it.Next() {\n\t\tn++\n\t}\n\treturn n\n}",
    ),
    bad(
        _ROWS,
        "go",
        """
        package a
        import "database/sql"
        func f(rows *sql.Rows) (n int) {
        	for rows.Next() {
        		n++
        	}
        	return n
        }
        """,
        4,
    ),
    bad(
        _TEMPORARY,
        "python",
        """
        import tempfile
        def f(html):
            t = tempfile.NamedTemporaryFile(delete=False)
            t.write(html)
            render(t.name)
        """,
        3,
    ),
    good(
        _TEMPORARY,
        "python",
        """
        import tempfile
        def f(html):
            with tempfile.NamedTemporaryFile() as t:
                t.write(html)
                render(t.name)
        """,
    ),
    good(
        _TEMPORARY,
        "python",
        """
        import tempfile
        def f(html):
            t = tempfile.NamedTemporaryFile(delete=False)
            t.write(html)
            return t.name
        """,
    ),
    bad(
        _TEMPORARY,
        "python",
        """
        import shutil, tempfile
        def f(url):
            work = tempfile.mkdtemp()
            clone(url, work)
            shutil.rmtree(work)
        """,
        3,
    ),
    good(
        _TEMPORARY,
        "python",
        """
        import shutil, tempfile
        def f(url):
            work = tempfile.mkdtemp()
            try:
                clone(url, work)
            finally:
                shutil.rmtree(work)
        """,
    ),
    bad(
        _TEMPORARY,
        "go",
        """
        package a
        import "os"
        func f(b []byte) error {
        	t, err := os.CreateTemp("", "x")
        	if err != nil { return err }
        	defer t.Close()
        	return run(t.Name())
        }
        """,
        4,
    ),
    good(
        _TEMPORARY,
        "go",
        """
        package a
        import "os"
        func f(b []byte) error {
        	t, err := os.CreateTemp("", "x")
        	if err != nil { return err }
        	defer os.Remove(t.Name())
        	return run(t.Name())
        }
        """,
    ),
    good(
        _TEMPORARY,
        "go",
        """
        package a
        import "os"
        func f() (string, error) {
        	dir, err := os.MkdirTemp("", "x")
        	return dir, err
        }
        """,
    ),
    bad(
        _TEMPORARY,
        "java",
        """
        import java.nio.file.*;
        class A { byte[] f(byte[] in) throws Exception {
         Path t = Files.createTempFile("a", "b");
         Files.write(t, in);
         return convert(t); } }
        """,
        3,
    ),
    good(
        _TEMPORARY,
        "java",
        """
        import java.nio.file.*;
        class A { byte[] f(byte[] in) throws Exception { Path t = Files.createTempFile("a", "b"); try { return convert(t); } finally { Files.deleteIfExists(t); } } }
        """,
    ),
    bad(
        _TEMPORARY,
        "typescript",
        """
        import os from 'os';
        import fs from 'fs/promises';
        async function f(html: string) {
         const p = os.tmpdir() + '/x.html';
         await fs.writeFile(p, html);
         return render(p);
        }
        """,
        4,
    ),
    good(
        _TEMPORARY,
        "typescript",
        """
        import os from 'os';
        import fs from 'fs/promises';
        async function f(html: string) {
         const p = os.tmpdir() + '/x.html';
         try { await fs.writeFile(p, html); return await render(p); } finally { await fs.rm(p); }
        }
        """,
    ),
    bad(
        _TEMPORARY,
        "csharp",
        """
        class A { async Task<byte[]> F(Stream s) {
         var t = Path.GetTempFileName();
         return await _tool.Run(t); } }
        """,
        2,
    ),
    bad(
        _TEMPORARY,
        "kotlin",
        """
        import java.io.File
        fun f(b: ByteArray): List<String> {
         val t = File.createTempFile("a", "b")
         t.writeBytes(b)
         return entries(t)
        }
        """,
        3,
    ),
    bad(
        _TEMPORARY,
        "rust",
        """
        fn f(html: &str) -> std::io::Result<Vec<u8>> {
         let p = std::env::temp_dir().join("x.html");
         std::fs::write(&p, html)?;
         run(&p)
        }
        """,
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
        """
        def f(xs):
            for x in xs:
                try:
                    g(x)
                finally:
                    continue
        """,
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
        """
        package a
        import (
        	"net/http"
        	"time"
        )
        func f(timeoutSeconds int) *http.Client {
        	return &http.Client{Timeout: time.Duration(timeoutSeconds)}
        }
        """,
        7,
    ),
    good(
        _UNIT,
        "go",
        """
        package a
        import "time"
        func f(secs int) { time.Sleep(500 * time.Millisecond); time.Sleep(time.Duration(secs) * time.Second); time.Sleep(0) }
        """,
    ),
    bad(_UNIT, "python", "import requests\ndef f(u):\n    return requests.get(u, timeout=5000)", 3),
    bad(_UNIT, "python", "import time\ndef f(delay_ms):\n    time.sleep(delay_ms)", 3),
    good(
        _UNIT,
        "python",
        """
        import time
        import requests
        def f(u, delay_ms, wait_seconds):
            time.sleep(delay_ms / 1000)
            time.sleep(wait_seconds)
            time.sleep(3600)
            return requests.get(u, timeout=120)
        """,
    ),
    bad(
        _UNIT,
        "typescript",
        """
        import axios from 'axios';
        const TIMEOUT_SECONDS = 5;
        export const api = axios.create({ timeout: TIMEOUT_SECONDS });
        """,
        3,
    ),
    bad(_UNIT, "typescript", "function isOld(p: Payload) { return p.exp < Date.now(); }", 1),
    good(
        _UNIT,
        "typescript",
        """
        import axios from 'axios';
        export const api = axios.create({ timeout: 5000 });
        function isOld(p: Payload) { return p.exp * 1000 < Date.now(); }
        """,
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
        """
        package a
        import (
        	"context"
        	"github.com/jackc/pgx/v5/pgxpool"
        )
        func f(ctx context.Context, pool *pgxpool.Pool) error {
        	_, err := pool.Query(ctx, "SELECT 1 FROM t")
        	return err
        }
        """,
    ),
]
