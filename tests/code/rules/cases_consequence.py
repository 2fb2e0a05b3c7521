"""Code without the consequence that a rule is about: shown figures, quick programs, defaults of lookups."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_PY, _JS, _GO, _JAVA = "python", "javascript", "go", "java"
_CLOCK, _FAN, _BROAD, _RUN = (
    "wall-clock-for-durations",
    "unbounded-fan-out",
    "broad-catch",
    "subprocess-without-timeout",
)


def _go(code: str) -> str:
    return 'package m\nimport ("os"; "os/exec")\n' + code


def _bad_go(rule: str, code: str, *lines: int) -> Case:
    return bad(rule, _GO, _go(code), *(line + 2 for line in lines))


CASES = [
    # A duration for a log line, a metric or a text.
    good(_CLOCK, _PY, "import time\nstart = time.time()\ngo()\nprint(time.time() - start)"),
    good(
        _CLOCK,
        _PY,
        "import time\ndef f():\n    start = time.time()\n    go()\n    spent = time.time() - start\n    log.info('took %s', spent)\n",
    ),
    good(_CLOCK, _JS, "const t = Date.now();\ngo();\nlogger.info(`took ${Date.now() - t} ms`);"),
    good(
        _CLOCK,
        _JS,
        "function f() { const t = Date.now(); go(); metrics.observe({ value: Date.now() - t }); }",
    ),
    good(_CLOCK, _JS, "function f() { const t = Date.now(); go(); if (Date.now() - t > 5000) stop(); }"),
    bad(
        _CLOCK,
        _PY,
        "import time\ndef f():\n    start = time.time()\n    go()\n    spent = time.time() - start\n    log.info('took %s', spent)\n    if spent > 3:\n        stop()\n",
        5,
    ),
    # Tasks that run already, clean-up, work in memory, members.
    good(_FAN, _JS, "async function stop(xs) { await Promise.all(xs.map((x) => x.close())); }"),
    good(_FAN, _JS, "async function wait(tasks) { await Promise.allSettled(tasks.map((t) => t.promise)); }"),
    good(_FAN, _JS, "async function f(rows) { return Promise.all(rows.map(async (r) => parseType(r))); }"),
    good(_FAN, _PY, "import asyncio\nasync def f(tasks):\n    await asyncio.gather(*tasks)\n"),
    good(_FAN, _GO, "package m\nfunc (s *S) Run() { for _, r := range s.rules { go r.cache.Run() } }"),
    bad(
        _FAN,
        _PY,
        "import asyncio, httpx\nasync def load(u):\n    return await client.get(u)\nasync def f(urls):\n    tasks = [fetch_page(u) for u in urls]\n    await asyncio.gather(*tasks)\n",
        6,
    ),
    # A default for a lookup, a reason, another way; what hides an outage stays.
    good(
        _BROAD,
        _PY,
        "def f(text):\n    try:\n        n = int(text)\n    except Exception:\n        n = 0\n    return n\n",
    ),
    good(
        _BROAD,
        _PY,
        "def f(job):\n    try:\n        job()\n    except Exception:\n        # Plugins may raise anything.\n        failed = True\n",
    ),
    good(_BROAD, _PY, "try:\n    import ujson as json\nexcept:\n    import json\n"),
    good(
        _BROAD, _PY, "def f():\n    try:\n        ping()\n    except Exception:\n        self.reconnect()\n"
    ),
    good(_BROAD, _JAVA, "void f() { try { find(); } catch (Exception ignored) { x = 1; } }"),
    bad(
        _BROAD,
        _PY,
        "def f(ids):\n    try:\n        found = job.extend(ids)\n    except Exception:\n        found = {}\n    return found\n",
        4,
    ),
    bad(
        _BROAD,
        _PY,
        "def f():\n    try:\n        stats.close_spider()\n    except Exception:\n        log.error('failed')\n",
        4,
    ),
    # Programs that end by themselves, of command lines, with the terminal of the user.
    good(_RUN, _GO, _go('func f() { exec.Command("ps", "-p", pid).Output() }')),
    good(_RUN, _GO, _go("func f() { c := exec.Command(editor, file)\n c.Stdin = os.Stdin\n c.Run() }")),
    good(_RUN, _PY, "import argparse, subprocess\nsubprocess.run(['make'], check=True)"),
    good(
        _RUN,
        _PY,
        "import subprocess\ndef stop(p):\n    p = subprocess.Popen(['x'], stdout=f)\n    p.kill()\n    p.wait()\n",
    ),
    good(
        _RUN,
        _JS,
        "const { execSync } = require('child_process');\nexecSync('npm install', { stdio: 'inherit' });",
    ),
    _bad_go(_RUN, 'func f() { exec.Command("convert", a, b).Run() }', 1),
    bad(_RUN, _PY, "import subprocess\ndef f(p):\n    return subprocess.check_output(['pdftotext', p])\n", 3),
    # Queues of what is idle or answered, caches of parts of the program.
    good("unbounded-queue", _JAVA, "class A { Deque<Conn> idleConnections = new LinkedBlockingDeque<>(); }"),
    good(
        "unbounded-queue",
        _PY,
        "import queue\nclass A:\n    def __init__(self):\n        self.results = queue.Queue()\n",
    ),
    good(
        "unbounded-cache",
        _JS,
        "const templateCache = new Map();\nfunction get(k) { templateCache.set(k, load(k)); return templateCache.get(k); }",
    ),
    good(
        "unbounded-cache",
        _PY,
        "_class_cache = {}\ndef get(k):\n    _class_cache[k] = load(k)\n    return _class_cache[k]",
    ),
]
