"""Code that is wrong and was once passed by, each beside its right twin."""

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
    # A map of the class.
    _bad_java("unbounded-cache", "private static final Map<String, Session> SESSIONS = new HashMap<>();\nstatic void add(String id, Session s) { SESSIONS.put(id, s); }", 1),
    _good_java("unbounded-cache", "private static final Map<String, Session> SESSIONS = new HashMap<>();\nstatic void add(String id, Session s) { SESSIONS.put(id, s); }\nstatic void end(String id) { SESSIONS.remove(id); }"),
    _good_java("unbounded-cache", "private final Map<String, Integer> sessions = new HashMap<>();\nvoid add(String id) { sessions.put(id, 1); }"),
    # Opened among the arguments of what only reads it.
    bad("file-not-closed", _PY, "import json\ndef f(p):\n    return json.load(open(p))", 3),
    bad("file-not-closed", _PY, "import csv\ndef f(p):\n    return list(csv.reader(open(p)))", 3),
    bad("file-not-closed", _PY, "import json\ndef f(p, d):\n    json.dump(d, open(p, 'w'))", 3),
    good("file-not-closed", _PY, "import json\ndef f(p):\n    with open(p) as f:\n        return json.load(f)"),
    good("file-not-closed", _PY, "def f(p):\n    return Reader(open(p))"),
    good("file-not-closed", _PY, "from contextlib import closing\ndef f(p):\n    with closing(open(p)) as f:\n        return f.read()"),
    # Other protocols wait, too.
    bad("socket-without-timeout", _PY, "import smtplib\ndef send(m):\n    with smtplib.SMTP(host, 25) as s:\n        s.send_message(m)", 3),
    bad("socket-without-timeout", _PY, "import smtplib\ndef send(m):\n    with smtplib.SMTP_SSL(host) as s:\n        s.send_message(m)", 3),
    bad("socket-without-timeout", _PY, "import ftplib\ndef get():\n    with ftplib.FTP(host) as f:\n        f.nlst()", 3),
    good("socket-without-timeout", _PY, "import smtplib\ndef send(m):\n    with smtplib.SMTP(host, 25, timeout=10) as s:\n        s.send_message(m)"),
    good("socket-without-timeout", _PY, "import smtplib\ndef send(m):\n    with smtplib.SMTP(host, 25, me, 10) as s:\n        s.send_message(m)"),
    # Sent, and the outcome is not looked at.
    bad("unchecked-response-status", _PY, "import requests\ndef tell(u, e):\n    requests.post(u, json=e, timeout=3)", 3),
    bad("unchecked-response-status", _PY, "import httpx\nasync def tell(c: httpx.AsyncClient, e):\n    await c.post(u, json=e)", 3),
    bad("unchecked-response-status", _JS, "async function tell(e) { await fetch(u, {method: 'POST', body: e}); }", 1),
    good("unchecked-response-status", _PY, "import requests\ndef tell(u, e):\n    requests.post(u, json=e, timeout=3).raise_for_status()"),
    good("unchecked-response-status", _PY, "import requests\ndef warm(u):\n    requests.get(u, timeout=3)"),
    good("unchecked-response-status", _JS, "const axios = require('axios');\nasync function tell(e) { await axios.post(u, e); }"),
    # A query whose promise is dropped.
    bad("fire-and-forget", _JS, "async function save(pool, o) {\n  pool.query('INSERT INTO orders (id) VALUES ($1)', [o.id]);\n  return o;\n}", 2),
    bad("fire-and-forget", _TS, "async function save(o: Order) {\n  this.prisma.order.create({data: o});\n  return o;\n}", 2),
    good("fire-and-forget", _JS, "async function save(pool, o) {\n  await pool.query('INSERT INTO orders (id) VALUES ($1)', [o.id]);\n  return o;\n}"),
    good("fire-and-forget", _JS, "async function save(pool, o) {\n  pool.query('INSERT INTO orders (id) VALUES ($1)', [o.id]).catch(report);\n  return o;\n}"),
    good("fire-and-forget", _JS, "function save(pool, o, done) {\n  pool.query('INSERT INTO orders (id) VALUES ($1)', [o.id], done);\n}"),
    good("fire-and-forget", _JS, "function save(db, o) {\n  db.prepare('INSERT INTO orders (id) VALUES (?)').run(o.id);\n}"),
    # A client that is never ended.
    bad("connection-not-closed", _JS, "const { Client } = require('pg');\nasync function load() {\n  const c = new Client({host: 'x'});\n  await c.connect();\n  return (await c.query('SELECT 1')).rows;\n}", 3),
    bad("connection-not-closed", _TS, "import pg from 'pg';\nasync function load() {\n  const c = new pg.Client();\n  await c.connect();\n  return (await c.query('SELECT 1')).rows;\n}", 3),
    good("connection-not-closed", _JS, "const { Client } = require('pg');\nasync function load() {\n  const c = new Client({host: 'x'});\n  try { return await c.query('SELECT 1'); } finally { await c.end(); }\n}"),
    good("connection-not-closed", _JS, "const { Client } = require('pg');\nasync function open() {\n  const c = new Client({host: 'x'});\n  await c.connect();\n  return c;\n}"),
    # A goroutine for every connection, however many come.
    _bad_go("unbounded-fan-out", "func serve(l net.Listener) {\n for {\n  conn, err := l.Accept()\n  if err != nil { log.Print(err); continue }\n  go handle(conn)\n }\n}", 5),
    _bad_go("unbounded-fan-out", "func serve(l net.Listener) {\n for {\n  conn, err := l.Accept()\n  if err != nil { return }\n  go func() { handle(conn) }()\n }\n}", 5),
    _good_go("unbounded-fan-out", "func serve(l net.Listener) {\n slots := make(chan struct{}, 100)\n for {\n  conn, err := l.Accept()\n  if err != nil { return }\n  slots <- struct{}{}\n  go func() { defer func() { <-slots }(); handle(conn) }()\n }\n}"),
    _good_go("unbounded-fan-out", "func serve(l net.Listener) {\n l = netutil.LimitListener(l, 100)\n for {\n  conn, err := l.Accept()\n  if err != nil { return }\n  go handle(conn)\n }\n}"),
    # A server that waits for its clients as long as they like.
    _bad_go("socket-without-timeout", "func main() { log.Fatal(http.ListenAndServe(\":80\", nil)) }", 1),
    _bad_go("socket-without-timeout", "func main() {\n s := &http.Server{Addr: \":80\", Handler: h}\n log.Fatal(s.ListenAndServe())\n}", 2),
    _good_go("socket-without-timeout", "func main() {\n s := &http.Server{Addr: \":80\", ReadHeaderTimeout: 5 * time.Second}\n log.Fatal(s.ListenAndServe())\n}"),
    _good_go("socket-without-timeout", "func main() {\n s := &http.Server{Addr: \":80\"}\n s.ReadTimeout = 5 * time.Second\n log.Fatal(s.ListenAndServe())\n}"),
    # Printed to a console, where it is lost.
    _bad_java("swallowed-error", "void f() { try { go(); } catch (SQLException e) { e.printStackTrace(); } }", 1),
    _good_java("swallowed-error", "void f() { try { go(); } catch (SQLException e) { e.printStackTrace(); throw new IllegalStateException(e); } }"),
    _good_java("swallowed-error", "public static void main(String[] a) { try { go(); } catch (SQLException e) { e.printStackTrace(); } }"),
    # Durations by the wall clock.
    _bad_java("wall-clock-for-durations", "long began = System.currentTimeMillis();\nlong f() { return System.currentTimeMillis() - began; }", 2),
    _bad_java("wall-clock-for-durations", "void f() { long deadline = System.currentTimeMillis() + 5000;\n while (System.currentTimeMillis() < deadline) { go(); } }", 2),
    bad("wall-clock-for-durations", _PY, "import time\ndef f():\n    deadline = time.time() + 5\n    while time.time() < deadline:\n        go()", 4),
    good("wall-clock-for-durations", _JS, "function f() { const end = Date.now() + 5000;\n  while (Date.now() < end) { go(); } }"),
    _good_java("wall-clock-for-durations", "void f() { long deadline = System.nanoTime() + n;\n while (System.nanoTime() < deadline) { go(); } }"),
    good("wall-clock-for-durations", _PY, "import time\ndef f(row):\n    return time.time() < row.expires_at"),
    # Spring's client waits for ever unless it is told not to.
    _bad_java("http-call-without-timeout", "private final RestTemplate rest = new RestTemplate();\nString f() { return rest.getForObject(url, String.class); }", 1),
    _bad_java("http-call-without-timeout", "String f() { return new RestTemplate().getForObject(url, String.class); }", 1),
    _good_java("http-call-without-timeout", "private final RestTemplate rest = new RestTemplate(factory);\nString f() { return rest.getForObject(url, String.class); }"),
    _good_java("http-call-without-timeout", "private final RestTemplate rest;\nA(RestTemplate rest) { this.rest = rest; }\nString f() { return rest.getForObject(url, String.class); }"),
    _good_java("http-call-without-timeout", "String f() { RestTemplate rest = new RestTemplate(); rest.setRequestFactory(factory);\n return rest.getForObject(url, String.class); }"),
    # Sessions of SQLAlchemy, and what they connect to.
    bad("connection-not-closed", _PY, "from sqlalchemy.orm import sessionmaker\nSession = sessionmaker(engine)\ndef f():\n    s = Session()\n    return s.query(Order).all()", 4),
    bad("connection-not-closed", _PY, "from sqlalchemy import create_engine\nengine = create_engine(url)\ndef f():\n    c = engine.connect()\n    return c.execute(q).fetchall()", 4),
    good("connection-not-closed", _PY, "from sqlalchemy.orm import sessionmaker\nSession = sessionmaker(engine)\ndef f():\n    with Session() as s:\n        return s.query(Order).all()"),
    good("connection-not-closed", _PY, "from sqlalchemy.orm import sessionmaker\nSession = sessionmaker(engine)\ndef get_db():\n    db = Session()\n    try:\n        yield db\n    finally:\n        db.close()"),
    bad("database-without-timeout", _PY, "from sqlalchemy import create_engine\nengine = create_engine('postgresql://db/shop')", 2),
    good("database-without-timeout", _PY, "from sqlalchemy import create_engine\nengine = create_engine('postgresql://db/shop?connect_timeout=3')"),
    good("database-without-timeout", _PY, "from sqlalchemy import create_engine\nengine = create_engine(url, connect_args={'connect_timeout': 3})"),
    good("database-without-timeout", _PY, "from sqlalchemy import create_engine\nengine = create_engine('sqlite:///a.db')"),
    bad("secret-in-code", _PY, "DB = 'postgresql://app:hunter2hunter@db/shop'", 1),
    good("secret-in-code", _PY, "DB = 'postgresql://postgres:postgres@db/shop'"),
    good("secret-in-code", _PY, "DB = 'postgresql://app:%s@db/shop' % password"),
    # A row that was not read.
    bad("ignored-error", _GO, "package a\nimport \"database/sql\"\nfunc f(rows *sql.Rows) {\n for rows.Next() {\n  rows.Scan(&id, &name)\n }\n}", 5),
    good("ignored-error", _GO, "package a\nimport \"database/sql\"\nfunc f(rows *sql.Rows) error {\n for rows.Next() {\n  if err := rows.Scan(&id); err != nil { return err }\n }\n return rows.Err()\n}"),
    good("ignored-error", _GO, "package a\nimport (\"bufio\"; \"database/sql\")\nfunc f(s *bufio.Scanner) {\n s.Scan()\n}"),
    # A task that Celery runs again for ever.
    bad("retry-without-limit", _PY, "from celery import shared_task\n@shared_task(bind=True, max_retries=None)\ndef pay(self, order):\n    raise self.retry(countdown=60)", 2),
    good("retry-without-limit", _PY, "from celery import shared_task\n@shared_task(bind=True, max_retries=5)\ndef pay(self, order):\n    raise self.retry(countdown=60)"),
]  # fmt: skip
