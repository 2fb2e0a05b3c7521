"""Python snippets for the rules of reliability."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_PY = "python"

CASES = [
    # http-call-without-timeout
    bad("http-call-without-timeout", _PY, "import requests as r\nr.get(url)", 2),
    bad(
        "http-call-without-timeout",
        _PY,
        "import requests\ns = requests.Session()\ns.post(url, json={'timeout': 5})",
        3,
    ),
    bad("http-call-without-timeout", _PY, "from requests import get\nget(url)", 2),
    bad(
        "http-call-without-timeout",
        _PY,
        "import httpx\nasync def f():\n    async with httpx.AsyncClient() as c:\n        return await c.get(url)",
        4,
    ),
    bad("http-call-without-timeout", _PY, "    r = requests.get(url)\n    return r.json()", 1),
    bad("http-call-without-timeout", _PY, "from urllib.request import urlopen\nurlopen(url)", 2),
    bad(
        "http-call-without-timeout",
        _PY,
        "import requests\nclass A:\n    def __init__(self):\n        self.s = requests.Session()\n    def go(self):\n        return self.s.get(u)",
        6,
    ),
    good("http-call-without-timeout", _PY, "import requests\nrequests.get(url, timeout=3)"),
    good("http-call-without-timeout", _PY, "import requests\nrequests.get(url, **options)"),
    good("http-call-without-timeout", _PY, "import httpx\nc = httpx.Client(timeout=5)\nc.get(url)"),
    good("http-call-without-timeout", _PY, "import httpx\ndef f(c: httpx.Client):\n    return c.get(url)"),
    good(
        "http-call-without-timeout",
        _PY,
        "import httpx\ndef make():\n    return httpx.Client(timeout=5)\ndef f():\n    c = make()\n    return c.get(url)",
    ),
    good(
        "http-call-without-timeout",
        _PY,
        "import asyncio, aiohttp\nasync def f(s: aiohttp.ClientSession):\n    async with asyncio.timeout(3):\n        await s.get(url)",
    ),
    good("http-call-without-timeout", _PY, "cache.get(key)\nrequest.get('x')\nd = {}\nd.get(1)"),
    good(
        "http-call-without-timeout",
        _PY,
        "from fastapi import FastAPI\nrequests = FastAPI()\n@requests.get('/')\ndef f(): ...",
    ),
    good("http-call-without-timeout", _PY, "from urllib.request import urlopen\nurlopen(url, None, 3)"),
    # database-without-timeout
    bad("database-without-timeout", _PY, "import psycopg2\npsycopg2.connect(dsn)", 2),
    bad("database-without-timeout", _PY, "import redis\nr = redis.Redis(host='x')", 2),
    good("database-without-timeout", _PY, "import psycopg2\npsycopg2.connect(dsn, connect_timeout=3)"),
    good("database-without-timeout", _PY, "import redis\nr = redis.Redis(host='x', socket_timeout=2)"),
    good("database-without-timeout", _PY, "import psycopg2\npsycopg2.connect('host=x connect_timeout=3')"),
    # socket-without-timeout
    bad("socket-without-timeout", _PY, "import socket\ns = socket.create_connection(('h', 1))", 2),
    bad("socket-without-timeout", _PY, "import socket\ns = socket.socket()\ns.connect(('h', 1))", 3),
    good("socket-without-timeout", _PY, "import socket\ns = socket.create_connection(('h', 1), 3)"),
    good(
        "socket-without-timeout",
        _PY,
        "import socket\ns = socket.socket()\ns.settimeout(3)\ns.connect(('h', 1))",
    ),
    # subprocess-without-timeout
    bad("subprocess-without-timeout", _PY, "import subprocess\nsubprocess.run(['x'], check=True)", 2),
    bad("subprocess-without-timeout", _PY, "import subprocess\np = subprocess.Popen(['x'])\np.wait()", 3),
    good("subprocess-without-timeout", _PY, "import subprocess\nsubprocess.run(['x'], timeout=5)"),
    good(
        "subprocess-without-timeout", _PY, "import subprocess\np = subprocess.Popen(['x'])\np.wait(timeout=3)"
    ),
    # no-retry-on-idempotent-call
    bad("no-retry-on-idempotent-call", _PY, "import httpx\ndef f():\n    return httpx.get(u, timeout=3)", 3),
    good("no-retry-on-idempotent-call", _PY, "import httpx\nhttpx.post(u)"),
    good(
        "no-retry-on-idempotent-call",
        _PY,
        "import httpx\nfrom tenacity import retry\n@retry(stop=s, wait=w)\ndef f():\n    return httpx.get(u)",
    ),
    good(
        "no-retry-on-idempotent-call",
        _PY,
        """
        import time, requests
        def f():
            for attempt in range(3):
                try:
                    return requests.get(u, timeout=2)
                except requests.RequestException:
                    time.sleep(2 ** attempt)
    """,
    ),
    good(
        "no-retry-on-idempotent-call",
        _PY,
        """
        import requests
        from requests.adapters import HTTPAdapter
        s = requests.Session()
        s.mount("https://", HTTPAdapter(max_retries=3))
        s.get(u, timeout=3)
    """,
    ),
    good(
        "no-retry-on-idempotent-call",
        _PY,
        """
        import httpx
        from tenacity import retry
        def _once(): return httpx.get(u)
        @retry(stop=s, wait=w)
        def f(): return _once()
    """,
    ),
    # retry-without-backoff
    bad(
        "retry-without-backoff",
        _PY,
        """
        for attempt in range(3):
            try:
                return call()
            except IOError:
                pass
    """,
        1,
    ),
    bad(
        "retry-without-backoff",
        _PY,
        "from tenacity import retry, stop_after_attempt\n@retry(stop=stop_after_attempt(3))\ndef f(): go()",
        2,
    ),
    bad(
        "retry-without-backoff",
        _PY,
        """
        import time
        for attempt in range(6):
            try:
                return call()
            except IOError:
                time.sleep(1)
    """,
        2,
    ),
    good(
        "retry-without-backoff",
        _PY,
        """
        import time
        for attempt in range(3):
            try:
                return call()
            except IOError:
                time.sleep(2 ** attempt)
    """,
    ),
    good(
        "retry-without-backoff",
        _PY,
        """
        for item in items:
            try:
                handle(item)
            except ValueError:
                log.warning("skipped")
    """,
    ),
    good(
        "retry-without-backoff",
        _PY,
        """
        while True:
            try:
                handle(queue.get())
            except ValueError:
                log.exception("bad")
    """,
    ),
    good(
        "retry-without-backoff",
        _PY,
        "import backoff\n@backoff.on_exception(backoff.expo, E, max_tries=3)\ndef f(): go()",
    ),
    # retry-without-limit
    bad(
        "retry-without-limit",
        _PY,
        """
        import time
        while True:
            try:
                return call()
            except IOError:
                time.sleep(delay)
    """,
        2,
    ),
    bad("retry-without-limit", _PY, "from tenacity import retry\n@retry\ndef f(): go()", 2),
    bad(
        "retry-without-limit", _PY, "import backoff\n@backoff.on_exception(backoff.expo, E)\ndef f(): go()", 2
    ),
    good(
        "retry-without-limit",
        _PY,
        """
        attempts = 0
        while True:
            try:
                return call()
            except IOError:
                attempts += 1
                if attempts > 3:
                    raise
    """,
    ),
    good("retry-without-limit", _PY, "from tenacity import retry\n@retry(stop=s, wait=w)\ndef f(): go()"),
    # retry-of-non-idempotent-call
    bad(
        "retry-of-non-idempotent-call",
        _PY,
        "import requests\nfrom tenacity import retry\n@retry(stop=s, wait=w)\ndef pay():\n    requests.post(u, json=d, timeout=3)",
        5,
    ),
    good(
        "retry-of-non-idempotent-call",
        _PY,
        "import requests\nfrom tenacity import retry\n@retry(stop=s, wait=w)\ndef pay():\n    requests.post(u, json=d, timeout=3, headers={'Idempotency-Key': key})",
    ),
    good(
        "retry-of-non-idempotent-call",
        _PY,
        "import requests\nfrom tenacity import retry\n@retry(stop=s, wait=w)\ndef get():\n    requests.get(u, timeout=3)",
    ),
    good("retry-of-non-idempotent-call", _PY, "import requests\nrequests.post(u, json=d)"),
    # swallowed-error
    bad("swallowed-error", _PY, "try:\n    save()\nexcept Exception:\n    pass", 3),
    bad("swallowed-error", _PY, "try:\n    save()\nexcept DatabaseError:\n    ...", 3),
    bad("swallowed-error", _PY, "def f():\n    try:\n        save()\n    except:\n        return", 4),
    good("swallowed-error", _PY, "try:\n    x = d['a']\nexcept KeyError:\n    pass"),
    good("swallowed-error", _PY, "try:\n    save()\nexcept IOError as e:\n    log.error(e)"),
    good("swallowed-error", _PY, "try:\n    s.close()\nexcept Exception:\n    pass"),
    good("swallowed-error", _PY, "try:\n    save()\nexcept Conflict:\n    pass  # another writer was faster"),
    # broad-catch
    bad("broad-catch", _PY, "try:\n    go()\nexcept Exception:\n    x = None", 3),
    bad("broad-catch", _PY, "try:\n    go()\nexcept:\n    print('no')", 3),
    good("broad-catch", _PY, "try:\n    go()\nexcept Exception:\n    clean()\n    raise"),
    good("broad-catch", _PY, "try:\n    go()\nexcept ValueError:\n    x = None"),
    good("broad-catch", _PY, "try:\n    go()\nexcept Exception:\n    log.exception('no')"),
    good("broad-catch", _PY, "try:\n    go()\nexcept Exception as e:\n    raise HTTPException(500) from e"),
    # upstream-error-not-mapped
    bad(
        "upstream-error-not-mapped",
        _PY,
        "import httpx\nfrom fastapi import FastAPI\napp = FastAPI()\n@app.get('/')\ndef f():\n    return httpx.get(u).json()",
        6,
    ),
    bad(
        "upstream-error-not-mapped",
        _PY,
        "import httpx\nfrom flask import Flask\napp = Flask(__name__)\ndef load():\n    return httpx.get(u)\n@app.route('/')\ndef f():\n    return load()",
        5,
    ),
    good(
        "upstream-error-not-mapped",
        _PY,
        "import httpx\nfrom fastapi import FastAPI\napp = FastAPI()\n@app.get('/')\ndef f():\n    try:\n        return httpx.get(u).json()\n    except httpx.HTTPError:\n        raise HTTPException(502)",
    ),
    bad(
        "upstream-error-not-mapped",
        _PY,
        "import httpx\nfrom fastapi import FastAPI\napp = FastAPI()\ndef items():\n    yield httpx.get(u).text\n@app.get('/')\ndef f():\n    try:\n        return StreamingResponse(items())\n    except httpx.HTTPError:\n        raise HTTPException(502)",
        5,
    ),
    good(
        "upstream-error-not-mapped",
        _PY,
        "import httpx\nfrom fastapi import FastAPI\napp = FastAPI()\n@app.exception_handler(httpx.HTTPError)\ndef on_error(r, e): ...\n@app.get('/')\ndef f():\n    return httpx.get(u).json()",
    ),
    good("upstream-error-not-mapped", _PY, "import httpx\ndef f():\n    return httpx.get(u).json()"),
    # file-not-closed
    bad("file-not-closed", _PY, "def f():\n    return open(p).read()", 2),
    bad("file-not-closed", _PY, "def f():\n    h = open(p)\n    x = h.read()\n    return x", 2),
    good("file-not-closed", _PY, "with open(p) as h:\n    h.read()"),
    good("file-not-closed", _PY, "def f():\n    h = open(p)\n    return h"),
    good(
        "file-not-closed",
        _PY,
        "def f():\n    h = open(p)\n    try:\n        h.read()\n    finally:\n        h.close()",
    ),
    good("file-not-closed", _PY, "def f():\n    return json.load(open_it(p))"),
    # response-not-closed
    bad(
        "response-not-closed",
        _PY,
        "import requests\ndef f():\n    r = requests.get(u, stream=True)\n    for c in r.iter_content(1):\n        go(c)",
        3,
    ),
    good(
        "response-not-closed",
        _PY,
        "import requests\ndef f():\n    with requests.get(u, stream=True) as r:\n        go()",
    ),
    good("response-not-closed", _PY, "import requests\ndef f():\n    r = requests.get(u)\n    return r.text"),
    # client-not-closed
    bad(
        "client-not-closed",
        _PY,
        "import aiohttp\nasync def f():\n    s = aiohttp.ClientSession()\n    await s.get(u)",
        3,
    ),
    good(
        "client-not-closed",
        _PY,
        "import aiohttp\nasync def f():\n    async with aiohttp.ClientSession() as s:\n        await s.get(u)",
    ),
    good("client-not-closed", _PY, "import httpx\nclient = httpx.AsyncClient()"),
    good("client-not-closed", _PY, "import httpx\ndef make():\n    return httpx.AsyncClient()"),
    good(
        "client-not-closed",
        _PY,
        "import httpx\nclass A:\n    def __init__(self):\n        self.c = httpx.AsyncClient()",
    ),
    # connection-not-closed
    bad(
        "connection-not-closed",
        _PY,
        "import sqlite3\ndef f():\n    c = sqlite3.connect('x')\n    c.execute('select 1')",
        3,
    ),
    good(
        "connection-not-closed",
        _PY,
        "import sqlite3\nfrom contextlib import closing\ndef f():\n    with closing(sqlite3.connect('x')) as c:\n        c.execute('select 1')",
    ),
    good(
        "connection-not-closed",
        _PY,
        "import sqlite3\ndef f():\n    c = sqlite3.connect('x')\n    try:\n        c.execute('select 1')\n    finally:\n        c.close()",
    ),
    # writes-without-transaction
    bad(
        "writes-without-transaction",
        _PY,
        """
        def move(conn, a, b):
            conn.execute("UPDATE accounts SET n = n - 1 WHERE id = ?", (a,))
            conn.commit()
            conn.execute("UPDATE accounts SET n = n + 1 WHERE id = ?", (b,))
            conn.commit()
    """,
        4,
    ),
    good(
        "writes-without-transaction",
        _PY,
        """
        def move(conn, a, b):
            conn.execute("UPDATE accounts SET n = n - 1 WHERE id = ?", (a,))
            conn.execute("UPDATE accounts SET n = n + 1 WHERE id = ?", (b,))
            conn.commit()
    """,
    ),
    # missing-idempotency-key
    bad(
        "missing-idempotency-key",
        _PY,
        "import requests\ndef pay():\n    requests.post('https://x/payments', json=d)",
        3,
    ),
    bad("missing-idempotency-key", _PY, "import stripe\nstripe.Charge.create(amount=1)", 2),
    good(
        "missing-idempotency-key",
        _PY,
        "import requests\ndef pay():\n    requests.post('https://x/payments', json=d, headers={'Idempotency-Key': k})",
    ),
    good("missing-idempotency-key", _PY, "import requests\nrequests.post('https://x/search', json=d)"),
    # unbounded-queue
    bad("unbounded-queue", _PY, "import queue\nwork = queue.Queue()", 2),
    bad(
        "unbounded-queue",
        _PY,
        "import asyncio\nclass A:\n    def __init__(self):\n        self.q = asyncio.Queue(maxsize=0)",
        4,
    ),
    good("unbounded-queue", _PY, "import queue\nwork = queue.Queue(100)"),
    good("unbounded-queue", _PY, "import asyncio\nq = asyncio.Queue(maxsize=LIMIT)"),
    # unbounded-cache
    bad(
        "unbounded-cache",
        _PY,
        "_cache = {}\ndef get(k):\n    if k not in _cache:\n        _cache[k] = load(k)\n    return _cache[k]",
        1,
    ),
    bad(
        "unbounded-cache", _PY, "from functools import lru_cache\n@lru_cache(maxsize=None)\ndef f(x): ...", 2
    ),
    good("unbounded-cache", _PY, "from functools import lru_cache\n@lru_cache(maxsize=100)\ndef f(x): ..."),
    good("unbounded-cache", _PY, "from functools import cache\n@cache\ndef settings(): ..."),
    good(
        "unbounded-cache",
        _PY,
        "_cache = {}\ndef get(k):\n    if len(_cache) > 99:\n        _cache.clear()\n    _cache[k] = load(k)",
    ),
    # unbounded-recursion
    bad(
        "unbounded-recursion",
        _PY,
        "def fetch(u):\n    try:\n        return go(u)\n    except IOError:\n        return fetch(u)",
        5,
    ),
    bad("unbounded-recursion", _PY, "def f(x):\n    g()\n    f(x)", 3),
    good("unbounded-recursion", _PY, "def f(n):\n    if n == 0:\n        return 1\n    return n * f(n - 1)"),
    good("unbounded-recursion", _PY, "def walk(n):\n    for c in n.children:\n        walk(c)"),
    good("unbounded-recursion", _PY, "class A:\n    def get(self, k):\n        return self.inner.get(k)"),
    good("unbounded-recursion", _PY, "class A:\n    def close(self):\n        super().close()"),
    good("unbounded-recursion", _PY, "class A:\n    def open(self):\n        return open(self.path)"),
    # unbounded-fan-out
    bad(
        "unbounded-fan-out",
        _PY,
        "import asyncio\nasync def f(urls):\n    return await asyncio.gather(*[get(u) for u in urls])",
        3,
    ),
    bad(
        "unbounded-fan-out",
        _PY,
        "import threading\ndef f(items):\n    for i in items:\n        threading.Thread(target=go, args=(i,)).start()",
        4,
    ),
    good(
        "unbounded-fan-out", _PY, "import asyncio\nasync def f():\n    return await asyncio.gather(a(), b())"
    ),
    good(
        "unbounded-fan-out",
        _PY,
        "import asyncio\nsem = asyncio.Semaphore(5)\nasync def one(u):\n    async with sem:\n        return await get(u)\nasync def f(urls):\n    return await asyncio.gather(*[one(u) for u in urls])",
    ),
    good(
        "unbounded-fan-out",
        _PY,
        "import threading\nfor i in range(4):\n    threading.Thread(target=go).start()",
    ),
    # fire-and-forget
    bad("fire-and-forget", _PY, "import asyncio\nasync def f():\n    asyncio.create_task(go())", 3),
    bad("fire-and-forget", _PY, "async def go(): ...\nasync def f():\n    go()", 3),
    good(
        "fire-and-forget",
        _PY,
        "import asyncio\nasync def f():\n    t = asyncio.create_task(go())\n    await t",
    ),
    good("fire-and-forget", _PY, "async def go(): ...\nasync def f():\n    await go()"),
    good(
        "fire-and-forget",
        _PY,
        "import asyncio\nasync def f():\n    async with asyncio.TaskGroup() as tg:\n        tg.create_task(go())",
    ),
]
