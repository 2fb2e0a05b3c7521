"""JavaScript that runs later: promises, listeners, timers, streams."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_JS, _TS = "javascript", "typescript"
_REJECTED, _FORGET = "rejection-in-handler", "fire-and-forget"

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
]
