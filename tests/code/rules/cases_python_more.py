"""More Python snippets for the rules of reliability: state, status, time, and the rest."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_PY = "python"
_APP = "from flask import Flask\napp = Flask(__name__)\n"

CASES = [
    # shared-mutable-state
    bad("shared-mutable-state", _PY, f"{_APP}users = {{}}\n@app.post('/u')\ndef add():\n    users[1] = 2", 6),
    bad(
        "shared-mutable-state",
        _PY,
        f"{_APP}count = 0\n@app.get('/')\ndef f():\n    global count\n    count += 1",
        7,
    ),
    good("shared-mutable-state", _PY, f"{_APP}users = {{}}\n@app.get('/u')\ndef get():\n    return users[1]"),
    good(
        "shared-mutable-state",
        _PY,
        f"{_APP}users = {{}}\n@app.post('/u')\ndef add():\n    with lock:\n        users[1] = 2",
    ),
    good("shared-mutable-state", _PY, "users = {}\ndef add():\n    users[1] = 2"),
    good(
        "shared-mutable-state",
        _PY,
        f"{_APP}users = {{}}\n@app.post('/u')\ndef add():\n    users = {{}}\n    users[1] = 2",
    ),
    # mutable-default-argument
    bad("mutable-default-argument", _PY, "def f(x, into=[]):\n    into.append(x)\n    return into", 1),
    bad("mutable-default-argument", _PY, "def f(x, *, o={}):\n    return o", 1),
    good("mutable-default-argument", _PY, "def f(x=None, y=(), z=1): ..."),
    # unchecked-response-status
    bad(
        "unchecked-response-status",
        _PY,
        "import asyncio\nimport requests\nasync def f(u):\n    await asyncio.to_thread(lambda: requests.post(u, timeout=3))",
        4,
    ),
    bad(
        "unchecked-response-status",
        _PY,
        "import asyncio\nimport requests\nasync def f(u):\n    await asyncio.to_thread(requests.post, u, timeout=3)",
        4,
    ),
    bad(
        "unchecked-response-status",
        _PY,
        "import asyncio\nimport requests\nasync def f(u):\n    await asyncio.get_running_loop().run_in_executor(None, lambda: requests.post(u, timeout=3))",
        4,
    ),
    bad(
        "unchecked-response-status",
        _PY,
        "import asyncio\nimport requests\nasync def f(u):\n    r = await asyncio.to_thread(requests.get, u, timeout=3)\n    return r.json()['a']",
        4,
    ),
    good(
        "unchecked-response-status",
        _PY,
        "import asyncio\nimport requests\nasync def f(u):\n    r = await asyncio.to_thread(requests.get, u, timeout=3)\n    r.raise_for_status()\n    return r.json()['a']",
    ),
    good(
        "unchecked-response-status",
        _PY,
        "import asyncio\nimport requests\nasync def f(u):\n    (await asyncio.to_thread(lambda: requests.post(u, timeout=3))).raise_for_status()",
    ),
    good(
        "unchecked-response-status",
        _PY,
        "import asyncio\nimport requests\nasync def f(u):\n    await asyncio.to_thread(lambda: check(requests.post(u, timeout=3)))",
    ),
    good(
        "unchecked-response-status",
        _PY,
        "import asyncio\nimport requests\nasync def f(u):\n    return await asyncio.to_thread(requests.post, u, timeout=3)",
    ),
    bad(
        "unchecked-response-status",
        _PY,
        "import requests\ndef f():\n    return requests.get(u, timeout=1).json()",
        3,
    ),
    bad(
        "unchecked-response-status",
        _PY,
        "import requests\ndef f():\n    r = requests.get(u, timeout=1)\n    return r.json()",
        3,
    ),
    bad(
        "unchecked-response-status",
        _PY,
        "import aiohttp\nasync def f(s: aiohttp.ClientSession):\n    async with s.get(u) as r:\n        return await r.json()",
        3,
    ),
    good(
        "unchecked-response-status",
        _PY,
        "import requests\ndef f():\n    r = requests.get(u, timeout=1)\n    r.raise_for_status()\n    return r.json()",
    ),
    good(
        "unchecked-response-status",
        _PY,
        "import requests\ndef f():\n    r = requests.get(u, timeout=1)\n    if r.status_code != 200:\n        return None\n    return r.json()",
    ),
    good(
        "unchecked-response-status",
        _PY,
        "import requests\ndef f():\n    r = requests.get(u, timeout=1)\n    return r",
    ),
    good(
        "unchecked-response-status",
        _PY,
        "import requests\ndef f():\n    r = requests.get(u, timeout=1)\n    check(r)\n    return r.json()",
    ),
    good(
        "unchecked-response-status",
        _PY,
        "import httpx\ndef f():\n    return httpx.get(u).raise_for_status().json()",
    ),
    # swallowed-cancellation
    bad(
        "swallowed-cancellation",
        _PY,
        "import asyncio\nasync def f():\n    while True:\n        try:\n            await go()\n        except asyncio.CancelledError:\n            log.info('no')",
        6,
    ),
    bad(
        "swallowed-cancellation",
        _PY,
        "async def f():\n    try:\n        await go()\n    except:\n        log.info('no')",
        4,
    ),
    good(
        "swallowed-cancellation",
        _PY,
        "import asyncio\nasync def f():\n    try:\n        await go()\n    except asyncio.CancelledError:\n        clean()\n        raise",
    ),
    good(
        "swallowed-cancellation",
        _PY,
        "import asyncio\nasync def stop(task):\n    task.cancel()\n    try:\n        await task\n    except asyncio.CancelledError:\n        pass",
    ),
    good(
        "swallowed-cancellation",
        _PY,
        "async def f():\n    try:\n        await go()\n    except Exception:\n        log.info('no')",
    ),
    # abrupt-exit
    bad("abrupt-exit", _PY, f"import sys\n{_APP}@app.get('/')\ndef f():\n    sys.exit(1)", 6),
    bad("abrupt-exit", _PY, "import os\ndef f():\n    os._exit(1)", 3),
    good("abrupt-exit", _PY, "import sys\ndef main():\n    sys.exit(run())"),
    good("abrupt-exit", _PY, "import os\nif os.fork() == 0:\n    os._exit(0)"),
    # daemon-thread-cut-off
    bad(
        "daemon-thread-cut-off",
        _PY,
        "import threading\nthreading.Thread(target=write_rows, daemon=True).start()",
        2,
    ),
    good("daemon-thread-cut-off", _PY, "import threading\nthreading.Thread(target=write_rows).start()"),
    good(
        "daemon-thread-cut-off",
        _PY,
        "import threading\nthreading.Thread(target=heartbeat, daemon=True).start()",
    ),
    # wall-clock-for-durations
    bad(
        "wall-clock-for-durations",
        _PY,
        "import time\nstart = time.time()\ngo()\nis_slow = time.time() - start > 5",
        4,
    ),
    bad(
        "wall-clock-for-durations",
        _PY,
        "from datetime import datetime\nt = datetime.now()\ngo()\nspent = datetime.now() - t",
        4,
    ),
    good(
        "wall-clock-for-durations",
        _PY,
        "import time\nstart = time.monotonic()\ngo()\nprint(time.monotonic() - start)",
    ),
    good("wall-clock-for-durations", _PY, "import time\nexpires = time.time() + 60"),
    good("wall-clock-for-durations", _PY, "import time\nage = time.time() - os.path.getmtime(p)"),
    # naive-time
    bad("naive-time", _PY, "from datetime import datetime\nx = datetime.utcnow()", 2),
    bad(
        "naive-time",
        _PY,
        "from datetime import datetime, timedelta\ndue = datetime.now() + timedelta(days=1)",
        2,
    ),
    good("naive-time", _PY, "from datetime import datetime, timezone\nx = datetime.now(timezone.utc) + d"),
    good("naive-time", _PY, "from datetime import datetime\nprint(datetime.now().strftime('%H'))"),
    # exit-status-ignored
    bad("exit-status-ignored", _PY, "import subprocess\nsubprocess.run(['x'], timeout=3)", 2),
    bad("exit-status-ignored", _PY, "import os\nos.system('x')", 2),
    bad(
        "exit-status-ignored",
        _PY,
        "import subprocess\ndef f():\n    r = subprocess.run(['x'], capture_output=True)\n    return r.stdout",
        3,
    ),
    good("exit-status-ignored", _PY, "import subprocess\nsubprocess.run(['x'], check=True)"),
    good("exit-status-ignored", _PY, "import subprocess\nsubprocess.run(['x'], check=False)"),
    good(
        "exit-status-ignored", _PY, "import subprocess\nr = subprocess.run(['x'])\nif r.returncode: raise E"
    ),
    # unguarded-parse
    bad("unguarded-parse", _PY, "import json\ndef on(message):\n    return json.loads(message.data)", 3),
    good(
        "unguarded-parse",
        _PY,
        "import json\ndef on(message):\n    try:\n        return json.loads(message.data)\n    except ValueError:\n        return None",
    ),
    good("unguarded-parse", _PY, "import json\nx = json.loads('{}')\ny = json.loads(path.read_text())"),
    # config-read-late
    bad(
        "config-read-late", _PY, f"import os\n{_APP}@app.get('/')\ndef f():\n    return os.environ['KEY']", 6
    ),
    good(
        "config-read-late",
        _PY,
        f"import os\n{_APP}KEY = os.environ['KEY']\n@app.get('/')\ndef f():\n    return KEY",
    ),
    good(
        "config-read-late",
        _PY,
        f"import os\n{_APP}@app.get('/')\ndef f():\n    return os.environ.get('KEY', '')",
    ),
    # tls-not-verified
    bad("tls-not-verified", _PY, "import requests\nrequests.get(u, verify=False, timeout=1)", 2),
    bad(
        "tls-not-verified",
        _PY,
        "import ssl\nc = ssl.create_default_context()\nc.verify_mode = ssl.CERT_NONE",
        3,
    ),
    good("tls-not-verified", _PY, "import requests\nrequests.get(u, verify='/ca.pem', timeout=1)"),
    # secret-in-code
    bad("secret-in-code", _PY, "API_KEY = 'b1946ac92492d2347c6235b4d2611184'", 1),
    good(
        "secret-in-code", _PY, "API_KEY = os.environ['API_KEY']\npassword = ''\nsecret = 'your-secret-here'"
    ),
    # assert-for-validation
    bad("assert-for-validation", _PY, f"{_APP}@app.get('/')\ndef f(n):\n    assert n > 0", 5),
    bad("assert-for-validation", _PY, "def pay(amount):\n    assert amount > 0\n    go(amount)", 2),
    good("assert-for-validation", _PY, "import pytest\ndef test_x(n):\n    assert n > 0"),
    good("assert-for-validation", _PY, "def f(n):\n    assert n is not None\n    assert isinstance(n, int)"),
    # busy-loop
    bad("busy-loop", _PY, "while True:\n    pass", 1),
    bad("busy-loop", _PY, "def f():\n    while not done:\n        pass", 2),
    bad("busy-loop", _PY, "while True:\n    if q.empty():\n        print('none')", 1),
    good("busy-loop", _PY, "while True:\n    time.sleep(1)"),
    good("busy-loop", _PY, "while True:\n    handle(q.get())"),
    good("busy-loop", _PY, "while True:\n    x += 1\n    if x > 3:\n        break"),
    # lock-not-released
    bad("lock-not-released", _PY, "def f():\n    lock.acquire()\n    go()\n    lock.release()", 2),
    good("lock-not-released", _PY, "def f():\n    with lock:\n        go()"),
    good(
        "lock-not-released",
        _PY,
        "def f():\n    lock.acquire()\n    try:\n        go()\n    finally:\n        lock.release()",
    ),
]
