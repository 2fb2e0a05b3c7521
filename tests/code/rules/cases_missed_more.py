"""More code that is wrong and was once passed by, each beside its right twin."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_PY, _JS, _TS, _GO, _JAVA = "python", "javascript", "typescript", "go", "java"
_HEAD = 'package main\nimport ("log"; "net"; "net/http"; "time")\n'
"""Two lines."""


def _bad_go(rule: str, code: str, *lines: int) -> Case:
    return bad(rule, _GO, _HEAD + code, *(line + 2 for line in lines))


def _good_go(rule: str, code: str) -> Case:
    return good(rule, _GO, _HEAD + code)


def _bad_java(rule: str, code: str, *lines: int) -> Case:
    return bad(rule, _JAVA, f"class A {{\n{code}\n}}", *(line + 1 for line in lines))


def _good_java(rule: str, code: str) -> Case:
    return good(rule, _JAVA, f"class A {{\n{code}\n}}")


CASES = [
    # A file that is handed to what reads it stays open.
    bad(
        "file-not-closed",
        _PY,
        "import csv\ndef load(p):\n    f = open(p)\n    return list(csv.DictReader(f))",
        3,
    ),
    good("file-not-closed", _PY, "import csv\ndef load(p):\n    f = open(p)\n    return csv.DictReader(f)"),
    _bad_java(
        "file-not-closed",
        "void load(File f) throws IOException {\n Properties p = new Properties();\n FileInputStream in = new FileInputStream(f);\n p.load(in);\n}",
        3,
    ),
    _good_java(
        "file-not-closed",
        "void load(File f) throws IOException {\n Properties p = new Properties();\n try (FileInputStream in = new FileInputStream(f)) { p.load(in); }\n}",
    ),
    # Messages that listeners are given.
    bad(
        "unguarded-parse",
        _JS,
        "ws.on('message', (data) => {\n  const order = JSON.parse(data);\n  handle(order);\n});",
        2,
    ),
    bad(
        "unguarded-parse",
        _JS,
        "subscriber.subscribe('orders', (message) => {\n  handle(JSON.parse(message));\n});",
        2,
    ),
    bad(
        "unguarded-parse",
        _PY,
        "import json\nasync def feed(websocket):\n    async for message in websocket:\n        use(json.loads(message))",
        4,
    ),
    bad(
        "unguarded-parse",
        _PY,
        "import json\ndef on_message(client, userdata, msg):\n    use(json.loads(msg.payload))",
        3,
    ),
    good(
        "unguarded-parse",
        _JS,
        "ws.on('message', (data) => {\n  try { handle(JSON.parse(data)); } catch (e) { ws.close(1003); }\n});",
    ),
    good("unguarded-parse", _JS, "worker.on('exit', (code) => { handle(JSON.parse(message)); });"),
    # Retries of a client that repeat everything.
    bad(
        "retry-of-non-idempotent-call",
        _PY,
        "import requests\nfrom requests.adapters import HTTPAdapter\nfrom urllib3.util.retry import Retry\ns = requests.Session()\ns.mount('https://', HTTPAdapter(max_retries=Retry(total=3, allowed_methods=None)))\ndef pay(o):\n    return s.post(URL, json=o, timeout=3)",
        5,
    ),
    good(
        "retry-of-non-idempotent-call",
        _PY,
        "import requests\nfrom requests.adapters import HTTPAdapter\nfrom urllib3.util.retry import Retry\ns = requests.Session()\ns.mount('https://', HTTPAdapter(max_retries=Retry(total=3)))\ndef pay(o):\n    return s.post(URL, json=o, timeout=3)",
    ),
    good(
        "retry-of-non-idempotent-call",
        _PY,
        "import requests\nfrom requests.adapters import HTTPAdapter\nfrom urllib3.util.retry import Retry\ns = requests.Session()\ns.mount('https://', HTTPAdapter(max_retries=Retry(total=3, allowed_methods=None)))\ndef load():\n    return s.get(URL, timeout=3)",
    ),
    bad(
        "retry-of-non-idempotent-call",
        _JS,
        "const axios = require('axios');\nconst axiosRetry = require('axios-retry');\naxiosRetry(axios, { retries: 3, retryCondition: () => true });\nconst pay = (o) => axios.post(URL, o, { timeout: 3000 });",
        3,
    ),
    bad(
        "retry-of-non-idempotent-call",
        _JS,
        """
        const axios = require('axios');
        const axiosRetry = require('axios-retry');
        const isTransient = (error) => !error.response || error.response.status >= 500;
        axiosRetry(axios, { retries: 3, retryCondition: isTransient });
        const pay = (o) => axios.post(URL, o, { timeout: 3000 });
        """,
        4,
    ),
    good(
        "retry-of-non-idempotent-call",
        _JS,
        """
        const axios = require('axios');
        const axiosRetry = require('axios-retry');
        const isTransient = (error) => error.config.method === 'get' && error.response.status >= 500;
        axiosRetry(axios, { retries: 3, retryCondition: isTransient });
        const pay = (o) => axios.post(URL, o, { timeout: 3000 });
        """,
    ),
    # Loops that ask and never wait.
    _bad_go(
        "busy-loop",
        "func f(in chan int) {\n for {\n  select {\n  case n := <-in:\n   use(n)\n  default:\n  }\n }\n}",
        6,
    ),
    _good_go(
        "busy-loop",
        "func f(in chan int) {\n for {\n  select {\n  case n := <-in:\n   use(n)\n  default:\n   time.Sleep(d)\n  }\n }\n}",
    ),
    _good_go(
        "busy-loop",
        "func f(quit chan int) {\n for {\n  select {\n  case <-quit:\n   return\n  default:\n  }\n  work()\n }\n}",
    ),
    bad(
        "busy-loop",
        _PY,
        "import queue\ndef run(q):\n    while True:\n        try:\n            item = q.get_nowait()\n        except queue.Empty:\n            continue\n        work(item)",
        5,
    ),
    good(
        "busy-loop",
        _PY,
        "import queue, time\ndef run(q):\n    while True:\n        try:\n            item = q.get_nowait()\n        except queue.Empty:\n            time.sleep(0.1)\n            continue\n        work(item)",
    ),
    good(
        "busy-loop",
        _PY,
        "import queue\ndef drain(q):\n    while True:\n        try:\n            work(q.get_nowait())\n        except queue.Empty:\n            break",
    ),
    _good_java(
        "busy-loop",
        "void read(BufferedReader r) throws IOException {\n String line;\n while ((line = r.readLine()) != null) {\n  if (line.isEmpty()) continue;\n  use(line);\n }\n}",
    ),
    _good_go(
        "busy-loop",
        "func f(out chan int) {\n for {\n  select {\n  case out <- 1:\n   return\n  default:\n   select {\n   case <-out:\n   default:\n   }\n  }\n }\n}",
    ),
    good(
        "busy-loop",
        _JS,
        "function copy(to, from) { let i = 0, j = 0; while ((to[i++] = from[j++])) { /* all */ } }",
    ),
    # Fields of an object that all requests share.
    bad(
        "shared-mutable-state",
        _JAVA,
        '@RestController\nclass Carts {\n  private final Map<String, Cart> carts = new HashMap<>();\n  @PostMapping("/carts")\n  void add(@RequestBody Cart c) { carts.put(c.id(), c); }\n}',
        5,
    ),
    good(
        "shared-mutable-state",
        _JAVA,
        '@RestController\nclass Carts {\n  private final Map<String, Cart> carts = new ConcurrentHashMap<>();\n  @PostMapping("/carts")\n  void add(@RequestBody Cart c) { carts.put(c.id(), c); }\n}',
    ),
    good(
        "shared-mutable-state",
        _JAVA,
        '@Service\nclass Rates {\n  private final Map<String, Rate> rates = new HashMap<>();\n  @PostConstruct\n  void load() { rates.put("a", A); }\n  Rates() { rates.put("b", B); }\n  Rate get(String k) { Map<String, Rate> own = new HashMap<>(); own.put(k, A); return rates.get(k); }\n}',
    ),
    good(
        "shared-mutable-state",
        _JAVA,
        "class Cart {\n  private final List<Item> items = new ArrayList<>();\n  void add(Item i) { items.add(i); }\n}",
    ),
]
