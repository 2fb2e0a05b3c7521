"""Code that looks like a fault and is meant so: handed on, chosen by a setting, done elsewhere."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_PY, _JS, _GO, _JAVA = "python", "javascript", "go", "java"
_HEAD = 'package m\nimport ("context"; "net"; "net/http"; "crypto/tls"; "os"; "log")\n'


def _bad_go(rule: str, code: str, *lines: int) -> Case:
    return bad(rule, _GO, _HEAD + code, *(line + 2 for line in lines))


def _good_go(rule: str, code: str) -> Case:
    return good(rule, _GO, _HEAD + code)


CASES = [
    # Owned by somebody else: a channel, the caller, a field, a child process; closed by `with`.
    _good_go(
        "connection-not-closed",
        "func f() { conn, err := net.Dial(n, a)\n if err != nil { return }\n events <- &event{conn: conn.(*net.TCPConn)} }",
    ),
    _good_go(
        "connection-not-closed",
        "func f() *net.TCPConn { conn, err := net.Dial(n, a)\n if err != nil { return nil }\n return conn.(*net.TCPConn) }",
    ),
    good(
        "connection-not-closed",
        _JAVA,
        "class A { Socket raw; void f() { raw = direct ? make() : new Socket(proxy); raw.setSoTimeout(3); } }",
    ),
    good(
        "file-not-closed",
        _JAVA,
        'class A { RandomAccessFile file; void f() { file = new RandomAccessFile(name, "rw"); } }',
    ),
    good(
        "connection-not-closed",
        _PY,
        "import ftplib\ndef f(tls):\n    ftp = ftplib.FTP('a') if tls else ftplib.FTP('b')\n    with ftp:\n        ftp.nlst()\n",
    ),
    good(
        "file-not-closed",
        _JS,
        "const fs = require('fs');\nfunction f() { const out = fs.openSync(p, 'a'); spawn(cmd, { stdio: ['ipc', out] }); }",
    ),
    _bad_go(
        "connection-not-closed",
        "func f() { conn, err := net.Dial(n, a)\n if err != nil { return }\n conn.Write(b) }",
        1,
    ),
    # Locks: returns of inner functions, a lock that is taken again, released by another method or at exit.
    _good_go("lock-not-released", "func f() { mu.Lock()\n each(func() int { return 1 })\n mu.Unlock() }"),
    _good_go(
        "lock-not-released",
        "func f() error { mu.Unlock()\n err := look()\n mu.Lock()\n if err != nil { return err }\n return nil }",
    ),
    _good_go(
        "lock-not-released",
        "func (p *Pool) CheckIn() { p.mu.Lock() }\nfunc (p *Pool) CheckOut() { p.mu.Unlock() }",
    ),
    good(
        "lock-not-released",
        _PY,
        "def take(path):\n    lock = Pidfile(path)\n    lock.acquire()\n    return lock\n",
    ),
    good(
        "lock-not-released", _PY, "def take(lock):\n    lock.acquire()\n    atexit.register(lock.release)\n"
    ),
    bad("lock-not-released", _PY, "def take():\n    lock.acquire()\n    go()\n", 2),
    # Loops whose condition does the work.
    good("busy-loop", _JAVA, "void f() { while (writeOneFrame()) { } }"),
    good("busy-loop", _JAVA, "void f() { while (queue.poll() != null) { } }"),
    bad("busy-loop", _JAVA, "void f() { while (!future.isDone()) { } }", 1),
    # A request that gets its context later.
    _good_go(
        "missing-cancellation",
        "func f(ctx context.Context) { req, err := http.NewRequest(m, u, nil)\n a.do(ctx, req) }",
    ),
    _good_go(
        "missing-cancellation",
        "func f(ctx context.Context) { req, err := http.NewRequest(m, u, nil)\n reqs = append(reqs, req.WithContext(ctx)) }",
    ),
    _good_go(
        "missing-cancellation",
        "func f(ctx context.Context) { own, cancel := context.WithCancel(context.Background())\n use(own, cancel) }",
    ),
    _bad_go(
        "missing-cancellation",
        "func f(ctx context.Context) { req, err := http.NewRequest(m, u, nil)\n client.Do(req)\n req, err = http.NewRequest(m, u, nil)\n client.Do(req.WithContext(ctx)) }",
        1,
    ),
    # The interrupt is kept, or ends a thread of one's own.
    good(
        "swallowed-cancellation",
        _JAVA,
        "class A { void f() { try { wait(); } catch (InterruptedException e) { interrupted = true; } } }",
    ),
    good(
        "swallowed-cancellation",
        _JAVA,
        'class A implements Runnable { public void run() { while (on) { try { wait(); } catch (InterruptedException e) { log.debug("x"); } } } }',
    ),
    # Functions that exist to end the process, and commands.
    _good_go("abrupt-exit", "func exitWithError(e error) { log.Print(e)\n os.Exit(1) }"),
    _good_go("abrupt-exit", "func (s *Server) handleSignals() { os.Exit(0) }"),
    good(
        "abrupt-exit", _GO, 'package m\nimport ("os"; "github.com/spf13/cobra")\nfunc list() { os.Exit(1) }'
    ),
    _bad_go("abrupt-exit", 'func load() { log.Fatalf("no %v", e) }', 1),
    # Servers that are closed here, or run beside the program.
    good(
        "no-graceful-shutdown",
        _JS,
        "const http = require('http');\nclass A { start() { this.server = http.createServer(h); this.server.listen(1); }\n stop() { this.server.close(); } }",
    ),
    _good_go(
        "no-graceful-shutdown", 'func f() { go func() { log.Print(http.ListenAndServe(":6060", nil)) }() }'
    ),
    # Settings that are tested, and verification that a setting turns off.
    good(
        "config-read-late",
        _JS,
        "const app = require('express')();\nif (process.env.KEY) { app.get('/', (req, res) => { res.send(process.env.KEY + 'x'); }); }",
    ),
    good(
        "config-read-late",
        _JS,
        "const app = require('express')();\napp.get('/', (req, res) => { res.send(process.env.KEY?.trim()); });",
    ),
    _good_go(
        "tls-not-verified", "func f() { if cfg.SkipVerify { c.TLS = &tls.Config{InsecureSkipVerify: true} } }"
    ),
    good(
        "tls-not-verified",
        _PY,
        "import ssl\ndef make_insecure_context():\n    c = ssl.create_default_context()\n    c.verify_mode = ssl.CERT_NONE\n    return c\n",
    ),
    _bad_go("tls-not-verified", "func f() { c.TLS = &tls.Config{InsecureSkipVerify: true} }", 1),
    # A socket of this machine; a function that its decorator starts.
    _good_go("socket-without-timeout", 'func f() { conn, err := net.Dial("unix", path)\n use(conn, err) }'),
    _good_go("socket-without-timeout", 'func f() { go http.ListenAndServe("localhost:6060", nil) }'),
    good("fire-and-forget", _PY, "@starts\nasync def go(): ...\nasync def f():\n    go()\n"),
    good(
        "subprocess-without-timeout",
        "python",
        """
        import asyncio
        async def convert(path):
            child = await asyncio.create_subprocess_exec("convert", path)
            try:
                return await asyncio.wait_for(child.wait(), 10)
            except TimeoutError:
                child.kill()
                await child.wait()
                raise
        """,
    ),
]
