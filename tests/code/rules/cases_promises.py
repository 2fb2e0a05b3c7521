"""JavaScript that runs later: promises, listeners, timers, streams."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_JS, _TS = "javascript", "typescript"
_REJECTED, _FORGET = "rejection-in-handler", "fire-and-forget"
_LISTENER, _INTERVAL = "listener-leak", "interval-leak"
_CALLBACK, _FUTURE = "rejection-in-callback", "dropped-future"
_PIPE, _SURVIVED = "pipe-without-error-handler", "uncaught-exception-survived"

CASES = [
    # An Express handler that awaits with nothing around it.
    bad(
        _REJECTED,
        _JS,
        "const app = require('express')();\napp.get('/a', async (req, res) => {\n  const rows = await db.list();\n  res.json(rows);\n});".replace(
            "\\\n", "\n"
        ),
        3,
    ),
    bad(
        _REJECTED,
        _TS,
        """
        import { Router } from 'express';
        const router = Router();
        router.post('/orders', async (req, res) => {
          try { check(req.body); } catch (e) { return res.sendStatus(400); }
          const order = await this.orders.create(req.body);
          res.json(order);
        });
    """,
        5,
    ),
    bad(
        _REJECTED,
        _JS,
        """
        const express = require('express');
        const router = express.Router();
        async function show(req, res) {
          res.json(await Item.findById(req.params.id));
        }
        router.get('/items/:id', show);
    """,
        4,
    ),
    bad(
        _REJECTED,
        _JS,
        """
        const app = require('express')();
        app.get('/a', (req, res) => {
          store.list().then(rows => res.json(rows));
        });
    """,
        3,
    ),
    good(
        _REJECTED,
        _JS,
        """
        const app = require('express')();
        app.get('/a', async (req, res, next) => {
          try { res.json(await db.list()); } catch (e) { next(e); }
        });
        app.get('/b', asyncHandler(async (req, res) => { res.json(await db.list()); }));
        app.get('/c', async (req, res) => { const rows = await db.list().catch(() => []); res.json(rows); });
        app.get('/d', (req, res, next) => { db.list().then(rows => res.json(rows)).catch(next); });
        app.get('/e', (req, res, next) => { db.list().then(rows => res.json(rows), next); });
        app.get('/f', async (req, res) => { await sleep(10); res.end(); });
    """,
    ),
    good(
        _REJECTED,
        _JS,
        """
        require('express-async-errors');
        const app = require('express')();
        app.get('/a', async (req, res) => { res.json(await db.list()); });
    """,
    ),
    good(
        _REJECTED,
        _JS,
        """
        const fastify = require('fastify')();
        fastify.get('/a', async (req, reply) => { return await db.list(); });
    """,
    ),
    good(
        _REJECTED,
        _JS,
        """
        const express = require('express');
        const Koa = require('koa');
        async function main() { await start(); }
    """,
    ),
    # Functions that are called once for each item, and whose promise is dropped.
    bad(
        _FORGET,
        _JS,
        "async function all(items) {\n  items.forEach(async (item) => {\n    await save(item);\n  });\n}".replace(
            "\\\n", "\n"
        ),
        2,
    ),
    bad(_FORGET, _TS, "const live = users.filter(async (user) => await isActive(user));", 1),
    good(_FORGET, _JS, "async function all(items) { for (const item of items) { await save(item); } }"),
    good(
        _FORGET,
        _JS,
        "async function all(items) { await Promise.all(items.map(async (item) => { await save(item); })); }",
    ),
    good(
        _FORGET,
        _JS,
        "function all(items) { items.forEach(async (item) => { try { await save(item); } catch (e) { report(e); } }); }",
    ),
    good(_FORGET, _JS, "async function all(items) { items.forEach((item) => { queue.push(item); }); }"),
    good(
        _FORGET,
        _JS,
        "async function all(cursor) { await cursor.forEach(async (row) => { await save(row); }); }",
    ),
    # Listeners.
    bad(
        _LISTENER,
        _JS,
        "const bus = new EventEmitter();\napp.get('/events', (req, res) => {\n  bus.on('change', (e) => res.write(e));\n});",
        3,
    ),
    bad(
        _LISTENER, _JS, "export function handle(req, res) {\n  process.on('SIGTERM', () => res.end());\n}", 2
    ),
    bad(
        _LISTENER,
        "tsx",
        "function Size() {\n  useEffect(() => {\n    window.addEventListener('resize', update);\n  }, []);\n  return <b/>;\n}",
        3,
    ),
    good(
        _LISTENER,
        _JS,
        "const bus = new EventEmitter();\napp.get('/events', (req, res) => {\n  const send = (e) => res.write(e);\n  bus.on('change', send);\n  req.on('close', () => bus.off('change', send));\n});",
    ),
    good(
        _LISTENER,
        _JS,
        "app.post('/x', (req, res) => {\n  let body = '';\n  req.on('data', (c) => { body += c; });\n  req.on('end', () => res.end(body));\n});",
    ),
    good(
        _LISTENER,
        _JS,
        "const bus = new EventEmitter();\napp.get('/once', (req, res) => {\n  bus.once('change', (e) => res.json(e));\n});",
    ),
    good(
        _LISTENER,
        _JS,
        "const bus = new EventEmitter();\nbus.on('change', (e) => log(e));\nfunction start() { process.on('SIGTERM', stop); }",
    ),
    good(
        _LISTENER,
        "tsx",
        "function Size() {\n  useEffect(() => {\n    window.addEventListener('resize', update);\n    return () => window.removeEventListener('resize', update);\n  }, []);\n  return <b/>;\n}",
    ),
    good(
        _LISTENER,
        _JS,
        "app.get('/run', (req, res) => {\n  const child = spawn('ls', []);\n  child.on('exit', (code) => res.json({ code }));\n});",
    ),
    # Intervals.
    bad(
        _INTERVAL,
        _JS,
        "app.get('/live', (req, res) => {\n  setInterval(() => res.write('ping'), 1000);\n});",
        2,
    ),
    bad(
        _INTERVAL,
        "tsx",
        "function Clock() {\n  useEffect(() => {\n    setInterval(() => tick(), 1000);\n  }, []);\n  return <b/>;\n}",
        3,
    ),
    good(
        _INTERVAL,
        _JS,
        "app.get('/live', (req, res) => {\n  const timer = setInterval(() => res.write('ping'), 1000);\n  req.on('close', () => clearInterval(timer));\n});",
    ),
    good(_INTERVAL, _JS, "setInterval(sweep, 60000);\nfunction start() { setInterval(sweep, 1000); }"),
    good(
        _INTERVAL,
        "tsx",
        "function Clock() {\n  useEffect(() => {\n    const t = setInterval(tick, 1000);\n    return () => clearInterval(t);\n  }, []);\n  return <b/>;\n}",
    ),
    # Streams.
    bad(
        _PIPE,
        _JS,
        "const fs = require('fs');\napp.get('/file', (req, res) => {\n  fs.createReadStream(path(req)).pipe(res);\n});",
        3,
    ),
    bad(
        _PIPE,
        _TS,
        "import * as fs from 'fs';\nimport * as zlib from 'zlib';\nfunction pack(p: string, out: Writable) {\n  const input = fs.createReadStream(p);\n  input.pipe(zlib.createGzip()).pipe(out);\n}",
        5,
    ),
    good(
        _PIPE,
        _JS,
        "const fs = require('fs');\nconst { pipeline } = require('stream');\napp.get('/file', (req, res) => {\n  pipeline(fs.createReadStream(path(req)), res, (err) => { if (err) res.destroy(err); });\n});",
    ),
    good(
        _PIPE,
        _JS,
        "const fs = require('fs');\napp.get('/file', (req, res) => {\n  const file = fs.createReadStream(path(req)).on('error', () => res.sendStatus(404));\n  req.on('close', () => file.destroy());\n  file.pipe(res);\n});",
    ),
    good(
        _PIPE,
        _JS,
        "const fs = require('fs');\nfunction copy(p, out, next) {\n  const input = fs.createReadStream(p);\n  input.on('error', next);\n  input.pipe(out);\n}",
    ),
    good(_PIPE, _TS, "const rows$ = source.pipe(map(x => x + 1));"),
    # Uncaught exceptions.
    bad(
        _SURVIVED,
        _JS,
        "process.on('uncaughtException', (err) => {\n  console.error('uncaught', err);\n});",
        1,
    ),
    bad(
        _SURVIVED,
        _JS,
        "const report = (err) => { logger.error(err); };\nprocess.on('uncaughtException', report);",
        2,
    ),
    good(
        _SURVIVED,
        _JS,
        "process.on('uncaughtException', (err) => {\n  logger.fatal(err);\n  process.exit(1);\n});",
    ),
    good(
        _SURVIVED,
        _JS,
        "function leave(code) { server.close(() => process.exit(code)); }\nprocess.on('uncaughtException', (err) => { logger.error(err); leave(1); });",
    ),
    good(
        _SURVIVED,
        _JS,
        "process.on('uncaughtException', require('./report'));\nprocess.on('exit', () => { console.log('bye'); });",
    ),
    good(
        _SURVIVED,
        _JS,
        "function register(callback) { process.on('uncaughtException', (err) => { console.error(err); callback(err); }); }",
    ),
    good(_LISTENER, _JS, "class Room {\n  onMessage(type, f) { return this.messages.on(type, f); }\n}"),
    good(
        _LISTENER,
        _JS,
        "class Copy {\n  run() { return new Promise((resolve) => { this.stream.on('end', resolve); }); }\n}",
    ),
    # Callers that ignore promises.
    bad(_CALLBACK, _JS, "setInterval(async () => {\n  await refresh();\n}, 60000);", 1),
    bad(
        _CALLBACK,
        _JS,
        "function load() {\n  return new Promise(async (resolve) => {\n    const rows = await query();\n    resolve(rows);\n  });\n}",
        2,
    ),
    bad(_CALLBACK, _TS, "socket.on('message', async (raw) => {\n  await handle(raw);\n});", 1),
    bad(
        _CALLBACK,
        _JS,
        "const cron = require('node-cron');\ncron.schedule('0 * * * *', async () => {\n  await report();\n});",
        2,
    ),
    good(
        _CALLBACK,
        _JS,
        "setInterval(async () => {\n  try { await refresh(); } catch (e) { log(e); }\n}, 60000);",
    ),
    good(
        _CALLBACK,
        _JS,
        "setInterval(async () => {\n  await refresh().catch(log);\n}, 60000);\nsetTimeout(() => tick(), 10);",
    ),
    good(
        _CALLBACK,
        _JS,
        "const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));\napp.on('x', async () => { await y(); });",
    ),
    good(
        _CALLBACK,
        _TS,
        "socket.on('message', async (raw) => {\n  try { await handle(raw); } catch (e) { socket.close(); }\n});",
    ),
    good(
        _CALLBACK,
        "tsx",
        "window.addEventListener('x', f);\nsocket.on('message', async (raw) => { await handle(raw); });",
    ),
    # Tasks in Java.
    bad(
        _FUTURE,
        "java",
        "class A {\n  void f(Order o) {\n    CompletableFuture.runAsync(() -> mailer.send(o));\n  }\n}",
        3,
    ),
    bad(
        _FUTURE,
        "java",
        "class A {\n  void f(Order o) {\n    executor.submit(() -> { index.add(o); });\n  }\n}",
        3,
    ),
    good(
        _FUTURE,
        "java",
        'class A {\n  void f(Order o) {\n    CompletableFuture.runAsync(() -> mailer.send(o)).exceptionally(e -> { log.error("mail", e); return null; });\n    executor.execute(() -> index.add(o));\n    Future<?> done = executor.submit(() -> index.add(o));\n    executor.submit(() -> { try { index.add(o); } catch (Exception e) { log.error("index", e); } });\n  }\n}',
    ),
    good(
        _CALLBACK,
        _JS,
        "class Flags {\n  async refresh() { try { this.flags = await load(); } catch (e) { log(e); } }\n  start() { setInterval(async () => { await this.refresh(); }, 1000); }\n}",
    ),
    good(
        _CALLBACK,
        _JS,
        "page.evaluate(() => { setInterval(async () => { await window.refresh(); }, 1000); });",
    ),
    bad(
        _CALLBACK,
        _JS,
        "class Flags {\n  async refresh() { this.flags = await load(); }\n  start() { setInterval(async () => { await this.refresh(); }, 1000); }\n}",
        3,
    ),
]
