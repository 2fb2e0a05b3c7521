"""The same mistake in other forms: through a helper, a factory, an options object, another library."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_PY, _JS, _TS = "python", "javascript", "typescript"

_RUNNER = """
async function move(source, order) {
  const runner = source.createQueryRunner();
  await runner.startTransaction();
  await runner.manager.save(order);
  await runner.commitTransaction();
  %s
}
"""
_POP = """
def work(self):
    while self.alive:
        job = self.store.%s
        if not job:
            continue
        self.do(job)
"""
_BEAT = """
function beat(socket) {
  %s
}
server.on('connection', (socket) => {
  beat(socket);
});
"""
_ENGINE = """
from fastapi import Depends, FastAPI
from sqlalchemy import create_engine
app = FastAPI()
%s
def get_db():
    engine = create_engine(URL)
    with engine.connect() as conn:
        yield conn
@app.get("/rows")
def rows(conn=%s):
    return conn.execute(ROWS)
"""
_FACTORY = """
const { Pool } = require('pg');
let pool;
function open() {
  %s
}
app.get('/rows', async (req, res) => {
  const found = await open().query(ROWS);
  res.json(found.rows);
});
"""
_KWARGS = """
import requests
class Api:
    def __init__(self):
        self.http = requests.Session()
    def _ask(self, path, **kwargs):
        %s
        return self.http.get(path, **kwargs)
    def users(self):
        return self._ask("/users"%s)
"""
_ACK = """
def done(msg):
    queue.delete_message(ReceiptHandle=msg["ReceiptHandle"])
def work(messages):
    for msg in messages:
        %s
"""
_ROWS = """
class Page {
  async rows(ids: string[]) {
    const rows = await this.rowRepository.find({ take: 50 });
    return Promise.all(rows.map((row) => this.withOwner(row)));
  }
  private async withOwner(row: Row) {
    const owner = await this.ownerRepository.%s;
    return { ...row, owner };
  }
}
"""
_POOL = """
from psycopg_pool import ConnectionPool
pool = ConnectionPool(DSN, kwargs={"autocommit": %s})
def move(a, b):
    with pool.connection() as c%s:
        c.execute("UPDATE a SET n = n - 1 WHERE id = %%s", (a,))
        c.execute("UPDATE a SET n = n + 1 WHERE id = %%s", (b,))
"""
_KNOWN = """
import requests
known = %s
def of(key):
    found = known.get(key)
    if found is None:
        found = %s
        known[key] = found
    return found
"""
_LIMITER = """
class RateLimiter {
  constructor() {
    this.used = new Map();
  }
  allow(key) {
    const used = (this.used.get(key) ?? 0) + 1;
    this.used.set(key, used);
    return used < 10;
  }
  %s
}
"""
_TERM = """
const app = require('express')();
const server = app.listen(80);
process.on('SIGTERM', end);
function end() {
  console.log('end');
  %s
}
"""
_INSIDE = """
async function save(this: Shop, order, item) {
  await this.prisma.$transaction(async (tx) => {
    await tx.order.create({ data: order });
    %s
  });
}
"""
_EACH = """
await consumer.run({ eachMessage: async ({ message }) => {
  try {
    %s
  } catch (err) {
    %s
  }
} });
"""
_LISTENER = """
class A {
  @KafkaListener(topics = "orders")
  void take(Order order) {
    try {
      bookings.book(order);
    }
    catch (Exception e) {
      log.error("not booked", e); %s
    }
  }
}
"""

CASES = [
    # Released on success only: query runners, sessions.
    bad("released-on-success-only", _JS, _RUNNER % "await runner.release();", 2),
    bad(
        "released-on-success-only",
        _TS,
        "async function pay(c: Connection) {\n  const s = await c.startSession();\n  await book(s);\n  await s.endSession();\n}",
        2,
    ),
    good(
        "released-on-success-only",
        _TS,
        "async function pay(c: Connection) {\n  const s = await c.startSession();\n  try {\n    await book(s);\n  } finally {\n    await s.endSession();\n  }\n}",
    ),
    # A queue in Redis that is asked without waiting.
    bad("busy-loop", _PY, _POP % 'lpop("jobs")', 3),
    good("busy-loop", _PY, _POP % 'blpop("jobs", 5)'),
    bad(
        "busy-loop",
        _JS,
        "async function work() {\n  while (running) {\n    const id = await client.rpoplpush('todo', 'doing');\n    if (id === null) continue;\n    await run(id);\n  }\n}",
        3,
    ),
    # A method of the text that happens to have the name of a file's.
    good(
        "whole-file-loaded",
        _PY,
        "class Log:\n    def __iter__(self):\n        for _, line in self.readlines():\n            yield line\n    def readlines(self):\n        yield 0, 'a'",
    ),
    # Objects of S3 that are held as a whole and split into lines.
    bad(
        "whole-file-loaded",
        _PY,
        "import boto3\ns3 = boto3.client('s3')\ndef rows(key):\n    got = s3.get_object(Bucket=B, Key=key)\n    text = got['Body'].read().decode()\n    return [parse(row) for row in text.split('\\n')]",
        5,
    ),
    good(
        "whole-file-loaded",
        _PY,
        "import boto3\ns3 = boto3.client('s3')\ndef rows(key):\n    got = s3.get_object(Bucket=B, Key=key)\n    return [parse(row) for row in got['Body'].iter_lines()]",
    ),
    good(
        "whole-file-loaded",
        _PY,
        "import boto3\ns3 = boto3.client('s3')\ndef thumb(key):\n    got = s3.get_object(Bucket=B, Key=key)\n    return Image.open(BytesIO(got['Body'].read()))",
    ),
    # Intervals that a function starts for each connection.
    bad("interval-leak", _JS, _BEAT % "setInterval(() => socket.ping(), 1000);", 2),
    good(
        "interval-leak",
        _JS,
        _BEAT
        % "const t = setInterval(() => socket.ping(), 1000); socket.on('close', () => clearInterval(t));",
    ),
    good("interval-leak", _JS, "function poll() {\n  setInterval(() => read(), 1000);\n}\npoll();"),
    # Secrets that stand in for a setting.
    bad("secret-in-code", _JS, "const SESSION_SECRET = process.env.SESSION_SECRET || 'p7Qz-41mm-x9';", 1),
    bad(
        "secret-in-code",
        _PY,
        "import os\nSIGNING_SECRET = os.environ.get('SIGNING_SECRET', 'p7Qz-41mm-x9')",
        2,
    ),
    bad("secret-in-code", _PY, "import os\napi_key = os.getenv('API_KEY') or 'p7Qz-41mm-x9'", 2),
    good("secret-in-code", _JS, "const SESSION_SECRET = process.env.SESSION_SECRET ?? '';"),
    good("secret-in-code", _JS, "const apiKey = options.apiKey || 'p7Qz-41mm-x9';"),
    good("secret-in-code", _PY, "import os\nDB_PASSWORD = os.getenv('DB_PASSWORD', 'password')"),
    # Connections that a dependency or a factory makes for each request.
    bad("connection-per-call", _PY, _ENGINE % ("", "Depends(get_db)"), 6),
    good("connection-per-call", _PY, _ENGINE % ("@lru_cache", "Depends(get_db)")),
    good("connection-per-call", _PY, _ENGINE % ("", "Depends(other)")),
    bad("connection-per-call", _JS, _FACTORY % "return new Pool({ max: 4 });", 7),
    good("connection-per-call", _JS, _FACTORY % "return pool ?? (pool = new Pool({ max: 4 }));"),
    good("connection-per-call", _JS, _FACTORY % "if (!pool) pool = new Pool();\n  return pool;"),
    good(
        "connection-per-call",
        _JS,
        "const { Pool } = require('pg');\nfunction open() {\n  return new Pool();\n}\nconst pool = open();\napp.get('/', async (req, res) => { res.json(await pool.query(Q)); });",
    ),
    # Limits that are switched off, or that no caller of a private function gives.
    bad(
        "http-call-without-timeout",
        _PY,
        "import httpx\nasync def f():\n    async with httpx.AsyncClient(timeout=None) as c:\n        return await c.get(U)",
        3,
    ),
    bad(
        "http-call-without-timeout",
        _PY,
        "import httpx\nOPTIONS = {'http2': True, 'timeout': None}\nclient = httpx.Client(**OPTIONS)",
        2,
    ),
    bad("http-call-without-timeout", _PY, "import httpx\ndef f():\n    return httpx.get(U, timeout=None)", 3),
    good(
        "http-call-without-timeout",
        _PY,
        "import httpx\nOPTIONS = {'http2': True, 'timeout': 5}\nclient = httpx.Client(**OPTIONS)",
    ),
    good(
        "http-call-without-timeout",
        _PY,
        "import httpx\n# Long polls: the server ends them after an hour.\nclient = httpx.Client(timeout=None)",
    ),
    bad("http-call-without-timeout", _PY, _KWARGS % ("pass", ""), 7),
    good("http-call-without-timeout", _PY, _KWARGS % ("kwargs.setdefault('timeout', 5)", "")),
    good("http-call-without-timeout", _PY, _KWARGS % ("pass", ", timeout=5")),
    # Messages that a function acknowledges.
    bad("acknowledged-before-work", _PY, _ACK % ("done(msg)\n        resize(msg)"), 5),
    good("acknowledged-before-work", _PY, _ACK % ("resize(msg)\n        done(msg)")),
    # A query for each item, in a function that runs for all at the same time.
    bad("call-per-item", _TS, _ROWS % "findOneBy({ id: row.ownerId })", 4),
    good("call-per-item", _TS, _ROWS % "format(row.ownerId)"),
    # Writes on a pool whose connections commit each statement.
    bad("writes-without-transaction", _PY, _POOL % ("True", ""), 6),
    good("writes-without-transaction", _PY, _POOL % ("False", "")),
    good("writes-without-transaction", _PY, _POOL % ("True", ", c.transaction()")),
    # Caches by what is done with them.
    bad("unbounded-cache", _PY, _KNOWN % ("{}", "requests.get(f'{U}/{key}', timeout=5).json()"), 2),
    bad(
        "unbounded-cache",
        _JS,
        "const people = new Map();\nasync function person(id) {\n  if (people.has(id)) return people.get(id);\n  const found = await db.users.findOne({ id });\n  people.set(id, found);\n  return found;\n}",
        1,
    ),
    good(
        "unbounded-cache", _PY, _KNOWN % ("TTLCache(100, 60)", "requests.get(f'{U}/{key}', timeout=5).json()")
    ),
    good("unbounded-cache", _PY, _KNOWN % ("{}", "Codec(key)")),
    bad("unbounded-cache", _JS, _LIMITER % "", 3),
    good("unbounded-cache", _JS, _LIMITER % "forget(key) { this.used.delete(key); }"),
    # SIGTERM that ends the process at once.
    bad("no-graceful-shutdown", _JS, _TERM % "process.exit(0);", 6),
    good("no-graceful-shutdown", _JS, _TERM % "server.close(() => process.exit(0));"),
    # Writes beside the transaction around them.
    bad("query-outside-transaction", _TS, _INSIDE % "await this.prisma.item.create({ data: item });", 4),
    good("query-outside-transaction", _TS, _INSIDE % "await tx.item.create({ data: item });"),
    good("query-outside-transaction", _TS, _INSIDE % "await this.prisma.item.findUnique({ where: { id } });"),
    bad(
        "query-outside-transaction",
        _JS,
        "await db.transaction(async (t) => {\n  await t('a').insert(a);\n  await db('b').insert(b);\n});",
        3,
    ),
    good(
        "query-outside-transaction",
        _JS,
        "await db.transaction(async (t) => {\n  await t('a').insert(a);\n  await db('b').transacting(t).insert(b);\n});",
    ),
    good(
        "query-outside-transaction",
        _JS,
        "await db.transaction(async (t) => {\n  await db('a').insert(a);\n  await db('b').insert(b);\n});",
    ),
    # Messages whose failure is only logged.
    bad("failed-message-dropped", _TS, _EACH % ("await book(message);", "log.error(err);"), 4),
    good(
        "failed-message-dropped",
        _TS,
        _EACH % ("await book(message);", "log.error(err); await dead.send(message);"),
    ),
    good("failed-message-dropped", _TS, _EACH % ("await book(message);", "log.error(err); throw err;")),
    good("failed-message-dropped", _TS, _EACH % ("event = JSON.parse(message.value);", "log.error(err);")),
    bad(
        "failed-message-dropped",
        _JS,
        "consumer.run({ eachMessage: handle });\nasync function handle({ message }) {\n  try {\n    await book(message);\n  } catch (err) {\n    console.error(err);\n  }\n}",
        5,
    ),
    bad("failed-message-dropped", "java", _LISTENER % "", 7),
    good("failed-message-dropped", "java", _LISTENER % "throw e;"),
]
