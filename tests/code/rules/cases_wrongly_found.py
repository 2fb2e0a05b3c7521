"""Code that is right and was once found fault with, each beside its wrong twin where there is one."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_PY, _JS, _TS, _GO = "python", "javascript", "typescript", "go"
_HEAD = 'package main\nimport ("io"; "net/http"; "os"; "strconv"; "time")\n'
"""Two lines."""


def _bad_go(rule: str, code: str, *lines: int) -> Case:
    return bad(rule, _GO, _HEAD + code, *(line + 2 for line in lines))


def _good_go(rule: str, code: str) -> Case:
    return good(rule, _GO, _HEAD + code)


CASES = [
    # A counter in the clause of a Go loop, whether its condition stands there or in the body.
    _good_go("retry-without-limit", "func f() error {\n for i := 0; ; i++ {\n  err := call()\n  if err == nil { return nil }\n  if i == 3 { return err }\n  time.Sleep(d)\n }\n}"),
    _good_go("retry-without-limit", "func f() error {\n for i := 0; ; i++ {\n  resp, err := http.Get(u)\n  if err == nil && resp.StatusCode < 500 { return nil }\n  if i >= 3 { break }\n  time.Sleep(d)\n }\n return last\n}"),
    good("retry-without-limit", _JS, "async function f() { for (let i = 0; ; i++) { try { return await go(); } catch (e) { if (i > 3) throw e; await sleep(d); } } }"),
    _bad_go("retry-without-limit", "func f() error {\n for i := 0; ; i++ {\n  err := call()\n  if err == nil { return nil }\n  time.Sleep(d)\n }\n}", 2),
    # An idempotency key that comes through a variable.
    good("retry-of-non-idempotent-call", _PY, """
        import requests
        def pay(order):
            headers = {"Idempotency-Key": order.key}
            for attempt in range(3):
                try:
                    return requests.post(url, json=order.body, headers=headers, timeout=3)
                except requests.ConnectionError:
                    time.sleep(2 ** attempt)
    """),
    good("retry-of-non-idempotent-call", _PY, """
        import httpx
        def pay(client: httpx.Client, order):
            key = str(uuid4())
            headers = dict(base)
            headers["Idempotency-Key"] = key
            for attempt in range(3):
                try:
                    return client.post(url, headers=headers)
                except httpx.TransportError:
                    time.sleep(2 ** attempt)
    """),
    good("retry-of-non-idempotent-call", _TS, """
        async function pay(order: Order) {
          const headers = { 'Idempotency-Key': order.key };
          for (let attempt = 0; attempt < 3; attempt++) {
            try { return await fetch(url, { method: 'POST', headers, body }); } catch (e) { await sleep(2 ** attempt); }
          }
        }
    """),
    good("retry-of-non-idempotent-call", _TS, """
        async function pay(order: Order) {
          const headers = new Headers({ 'Idempotency-Key': order.key });
          const options = { method: 'POST', headers };
          return pRetry(() => fetch(url, options));
        }
    """),
    bad("retry-of-non-idempotent-call", _TS, """
        async function pay(order: Order) {
          const headers = { 'Content-Type': 'application/json' };
          for (let attempt = 0; attempt < 3; attempt++) {
            try { return await fetch(url, { method: 'POST', headers, body }); } catch (e) { await sleep(2 ** attempt); }
          }
        }
    """, 4),
    # The method of a request whose options stand in a variable, or cannot be told.
    good("no-retry-on-idempotent-call", _JS, "async function f() { const options = {method: 'POST', body}; return fetch(url, options); }"),
    good("no-retry-on-idempotent-call", _JS, "async function f(options) { return fetch(url, options); }"),
    good("no-retry-on-idempotent-call", _JS, "async function f() { const o = {}; o.method = 'POST'; return fetch(url, o); }"),
    bad("no-retry-on-idempotent-call", _JS, "async function f() { const options = {headers: {a: 1}}; return fetch(url, options); }", 1),
    bad("retry-of-non-idempotent-call", _JS, "const options = {method: 'POST', body};\nconst f = () => pRetry(() => fetch(u, options));", 2),
    # `fetch` is a function of browsers and of Node, and not of Python.
    good("no-retry-on-idempotent-call", _PY, "from .store import *\ndef f(key):\n    return fetch(key)"),
    good("http-call-without-timeout", _PY, "async def f(key):\n    return await fetch(key)"),
    good("unchecked-response-status", _PY, "async def f(key):\n    r = await fetch(key)\n    return r.text"),
    # A word that SQL begins with is no SQL.
    good("writes-without-transaction", _PY, "def f(attr):\n    a = attr.get('Replace', 1)\n    b = attr.get('Update', 2)\n    attr.update('Delete me')"),
    good("writes-without-transaction", _JS, "function f(form) { form.get('Replace all'); form.get('update'); form.get('Delete it'); }"),
    bad("writes-without-transaction", _JS, "async function f(c) { await c.query('UPDATE a SET n = 1');\n await c.query('delete from b where n = 1'); }", 2),
    # A number that is zero if it is none is what is wanted of an optional one.
    _good_go("ignored-error", "func h(w http.ResponseWriter, r *http.Request) {\n after, _ := strconv.Atoi(r.URL.Query().Get(\"after\"))\n list(after)\n}"),
    _good_go("ignored-error", "func h(w http.ResponseWriter, r *http.Request) {\n n, _ := strconv.Atoi(r.FormValue(\"n\"))\n if n <= 0 { n = 10 }\n list(n)\n}"),
    _good_go("ignored-error", "func f(s string) {\n n, _ := strconv.Atoi(s)\n if n == 0 { n = 10 }\n list(n)\n}"),
    _bad_go("ignored-error", "func f(s string) {\n id, _ := strconv.Atoi(s)\n remove(id)\n}", 2),
    # Opened and closed at once, and closed by the test's runner.
    good("file-not-closed", _PY, "def touch(p):\n    open(p, 'w').close()"),
    good("file-not-closed", _PY, "class T(TestCase):\n    def test_a(self):\n        f = open(p)\n        self.addCleanup(f.close)\n        f.read()"),
    good("file-not-closed", _PY, "def f(stack):\n    h = open(p)\n    stack.callback(h.close)\n    h.read()"),
    bad("file-not-closed", _PY, "def f():\n    return open(p).read()", 2),
    # To read all of a file is not to take it over.
    _bad_go("file-not-closed", "func f(p string) ([]byte, error) {\n h, err := os.Open(p)\n if err != nil { return nil, err }\n return io.ReadAll(h)\n}", 2),
    _bad_go("file-not-closed", "func f(p string) error {\n h, err := os.Open(p)\n if err != nil { return err }\n _, err = io.Copy(os.Stdout, h)\n return err\n}", 2),
    _good_go("file-not-closed", "func f(p string) ([]byte, error) {\n h, err := os.Open(p)\n if err != nil { return nil, err }\n defer h.Close()\n return io.ReadAll(h)\n}"),
    _good_go("file-not-closed", "func f(p string) (*Log, error) {\n h, err := os.Open(p)\n if err != nil { return nil, err }\n return newLog(h), nil\n}"),
    # To wait until a socket is ready is no retry, nor is what an error is turned into another one by.
    good("retry-without-backoff", _PY, """
        async def take(sock):
            while True:
                try:
                    data = sock.recvfrom(4096)
                except BlockingIOError:
                    await ready(sock)
                except OSError as error:
                    raise_closed(error)
                else:
                    return data
    """),
    good("retry-without-limit", _PY, """
        async def take(sock):
            while True:
                try:
                    data = await sock.recvmsg(4096)
                except OSError as error:
                    convert_error(error)
                if not data:
                    raise EOFError
                return data
    """),
    good("retry-without-backoff", _PY, """
        def snapshot(things):
            tries = 0
            while True:
                try:
                    return list(things)
                except RuntimeError:
                    tries += 1
                    if tries > 100:
                        raise
    """),
    bad("retry-without-backoff", _PY, """
        def load():
            while True:
                try:
                    data = fetch_page()
                except OSError as error:
                    note(error)
                else:
                    return data
    """, 2),
    # Told in full, or asked as a question.
    good("broad-catch", _PY, "def run(job):\n    try:\n        job()\n    except BaseException as error:\n        log.error('job', exc_info=error)\n        answer(500)"),
    good("broad-catch", _PY, "def run(job):\n    try:\n        job()\n    except BaseException:\n        log.critical('job', exc_info=True)"),
    good("broad-catch", _PY, "def run(job):\n    try:\n        job()\n    except (SystemExit, KeyboardInterrupt):\n        raise\n    except BaseException:\n        self.show_traceback()"),
    good("broad-catch", _PY, "def parse(text):\n    try:\n        found = read(text)\n    except Exception:\n        warn_of_bug()\n        found = []\n    return found"),
    good("broad-catch", _PY, "def is_terminal(stream):\n    try:\n        return stream.isatty()\n    except Exception:\n        return False"),
    good("broad-catch", _PY, "def is_binary(stream, default):\n    try:\n        return isinstance(stream.read(0), bytes)\n    except Exception:\n        return default"),
    bad("broad-catch", _PY, "def run(job):\n    try:\n        job()\n    except BaseException:\n        answer(500)", 4),
    bad("broad-catch", _PY, "def price(sku):\n    try:\n        return store.read(sku)\n    except Exception:\n        return None", 4),
    bad("broad-catch", _PY, "def run(job):\n    try:\n        job()\n    except BaseException as error:\n        log.error('a job has failed')", 4),
    # An answer that is already there, a loop that does not run, an object that goes away.
    good("swallowed-error", _PY, "def done(future):\n    try:\n        future.set_result(True)\n    except asyncio.InvalidStateError:\n        pass"),
    good("swallowed-error", _PY, "def running():\n    try:\n        asyncio.get_running_loop()\n    except RuntimeError:\n        pass\n    else:\n        raise TypeError('in a loop')"),
    good("swallowed-error", _PY, "def find(folders):\n    for each in folders:\n        try:\n            return os.stat(each)\n        except (FileNotFoundError, NotADirectoryError):\n            continue"),
    good("swallowed-error", _PY, "class A:\n    def __del__(self):\n        try:\n            self.detach()\n        except Exception:\n            pass"),
    good("swallowed-error", _PY, "def tell(stream, item):\n    try:\n        stream.send_nowait(item)\n    except anyio.ClosedResourceError:\n        pass"),
    bad("swallowed-error", _PY, "def save(row):\n    try:\n        store(row)\n    except StoreError:\n        pass", 4),
    bad("swallowed-error", _PY, "def save(row):\n    try:\n        store(row)\n    except RuntimeError:\n        pass", 4),
    # What an assert says to the reader of a function of one's own.
    good("assert-for-validation", _PY, "def _send(pid):\n    assert pid > 0\n    os.kill(pid, 9)"),
    good("assert-for-validation", _PY, "class App:\n    async def __call__(self, scope, receive, send):\n        assert scope['type'] == 'http'\n        await self.go(scope)"),
    bad("assert-for-validation", _PY, "def send(pid):\n    assert pid > 0\n    os.kill(pid, 9)", 2),
    # A connection that is made later, with its own timeout.
    good("socket-without-timeout", _PY, "import ftplib\ndef open_it(host):\n    f = ftplib.FTP()\n    f.connect(host, 21, 5)\n    return f"),
    # Not by a list, but by a text.
    good("list-membership-in-loop", _PY, "def known(agent, names):\n    agent = agent.split('/')[0].lower()\n    for name in names:\n        if name in agent:\n            return True\n    return False"),
    bad("list-membership-in-loop", _PY, "def known(text, names):\n    words = text.split('/')\n    return [name for name in names if name in words]", 3),
    # Once in a loop is enough to say, and bytearrays grow in place.
    bad("text-built-in-loop", _PY, "def f(rows):\n    out = b''\n    for row in rows:\n        out += row.a\n        out += row.b\n    return out", 4),
    good("text-built-in-loop", _PY, "def f(rows):\n    out = bytearray(b'x')\n    for row in rows:\n        out += row.a + b'y'\n    return out"),
    # Only once: the loop ends with it.
    good("front-of-list-in-loop", _PY, "def f(state):\n    for each in state.rest:\n        if each == '--':\n            state.rest.insert(0, each)\n            return"),
    bad("front-of-list-in-loop", _PY, "def f(rows):\n    out = []\n    for row in rows:\n        out.insert(0, row)\n    return out", 4),
    # A decoder is flushed, and no file.
    good("disk-wait-in-loop", _PY, "def end(decoders):\n    data = b''\n    for each in decoders:\n        data = each.decode(data) + each.flush()\n    return data"),
    bad("disk-wait-in-loop", _PY, "def save(rows, out):\n    for row in rows:\n        out.write(row)\n        out.flush()", 4),
    # A search: each round tries another name, path or version.
    good("retry-without-limit", _PY, """
        def make(folder):
            while True:
                name = free_name()
                try:
                    os.mkdir(join(folder, name))
                except FileExistsError:
                    continue
                return name
    """),
    good("retry-without-backoff", _PY, """
        def nearest(path):
            while True:
                try:
                    return path.resolve(strict=True)
                except OSError:
                    if path == path.parent:
                        raise
                    path = path.parent
    """),
    good("retry-without-backoff", _PY, """
        def ask(self):
            for attempt in range(3):
                try:
                    return self.send()
                except OSError as error:
                    self._sleep_before(attempt)
    """),
    # Whole, whatever the level.
    good("broad-catch", _PY, "def note(span):\n    try:\n        span.set(a())\n    except Exception:\n        log.debug('span', exc_info=True)"),
    good("broad-catch", _PY, "def call(state, f):\n    try:\n        f()\n    except BaseException:\n        state.set_exception(sys.exc_info())"),
    good("broad-catch", _PY, "def serve(f):\n    try:\n        message = f()\n    except Exception:\n        message = ('failed', format_exc())\n    return message"),
    # A socket of this machine, and the branch that was told to wait.
    good("socket-without-timeout", _PY, "import socket\ndef f(path):\n    s = socket.socket(socket.AF_UNIX)\n    s.connect(path)"),
    good("socket-without-timeout", _PY, "import socket\ndef f(a, timeout):\n    if timeout is not None:\n        return socket.create_connection(a, timeout)\n    return socket.create_connection(a)"),
    bad("socket-without-timeout", _PY, "import socket\ndef f(a):\n    s = socket.socket(socket.AF_INET)\n    s.connect(a)", 4),
    # Names that mean something else here.
    good("file-not-closed", _PY, "def open(url, new=0):\n    go(url)\ndef main(url):\n    open(url)"),
    good("http-call-without-timeout", _PY, "def f(rows):\n    requests: dict[str, int] = {}\n    for row in rows:\n        requests.setdefault(row, 1)\n    return requests.get(rows[0])"),
    good("http-call-without-timeout", _PY, "def f(requests, key):\n    return requests.get(key)"),
    bad("http-call-without-timeout", _PY, "def f(key):\n    return requests.get(key)", 2),
    # The file belongs to another owner, or is returned among others.
    good("file-not-closed", _PY, "import zipfile\ndef f(p):\n    with open(p, 'rb') as raw:\n        z = zipfile.ZipFile(raw)\n        return z.namelist()"),
    good("file-not-closed", _PY, "def f(paths):\n    return [open(p) for p in paths]"),
    bad("file-not-closed", _PY, "import zipfile\ndef f(p):\n    z = zipfile.ZipFile(p)\n    return z.namelist()", 3),
    good("swallowed-error", _PY, "def stop(batch):\n    try:\n        batch.commit.abort()\n    except Exception:\n        pass"),
    good("http-client-per-call", _PY, "def f(rows):\n    requests: dict[str, int] = {}\n    for row in rows:\n        requests.get(row)"),
    # What was opened has another owner.
    good("file-not-closed", _PY, "import threading\ndef f(p):\n    f = open(p)\n    threading.Thread(target=work, args=(f,)).start()"),
    good("connection-not-closed", _PY, "import sqlite3\ndef f(p):\n    db = sqlite3.connect(p)\n    return db.execute('x')"),
    bad("connection-not-closed", _PY, "import sqlite3\ndef f(p):\n    db = sqlite3.connect(p)\n    return db.execute('x').fetchall()", 3),
    _good_go("file-not-closed", "func f(p string) error {\n f, err := os.Open(p)\n if err != nil { return err }\n go func() { io.Copy(out, f) }()\n return nil\n}"),
    # A status that is an answer.
    good("exit-status-ignored", _PY, "import subprocess\ndef f(word):\n    subprocess.run(['grep', word, 'a.log'], timeout=5)"),
    good("exit-status-ignored", _PY, "import subprocess\ndef f():\n    subprocess.run('/usr/bin/diff a b', shell=True, timeout=5)"),
    bad("exit-status-ignored", _PY, "import subprocess\ndef f():\n    subprocess.run(['tar', 'xf', 'diff'], timeout=5)", 3),
    # A websocket has no status, and a thread that is waited for is a part of its handler.
    good("upstream-error-not-mapped", _PY, "import requests\nfrom fastapi import FastAPI\napp = FastAPI()\n@app.websocket('/')\nasync def feed(socket):\n    await socket.send_text(requests.get('http://a').text)"),
    good("upstream-error-not-mapped", _PY, "import asyncio, requests\nfrom fastapi import FastAPI\napp = FastAPI()\n@app.get('/')\nasync def index():\n    try:\n        return (await asyncio.to_thread(lambda: requests.get('http://a'))).json()\n    except requests.RequestException:\n        return {}"),
    bad("upstream-error-not-mapped", _PY, "import asyncio, requests\nfrom fastapi import FastAPI\napp = FastAPI()\n@app.get('/')\nasync def index():\n    return (await asyncio.to_thread(lambda: requests.get('http://a'))).json()", 6),
    # What limits has a name of its own, and is made outside of the function.
    good("unbounded-fan-out", _PY, "import asyncio\nslots = asyncio.Semaphore(9)\nasync def load(u):\n    async with slots:\n        return await fetch(u)\nasync def f(urls):\n    return await asyncio.gather(*[load(u) for u in urls])"),
    good("unbounded-fan-out", _JS, "import pLimit from 'p-limit';\nconst run = pLimit(9);\nconst all = (urls) => Promise.all(urls.map((u) => run(() => fetch(u))));"),
    bad("unbounded-fan-out", _PY, "import asyncio\nslots = asyncio.Semaphore(9)\nasync def load(u):\n    return await fetch(u)\nasync def f(urls):\n    return await asyncio.gather(*[load(u) for u in urls])", 6),
]  # fmt: skip
