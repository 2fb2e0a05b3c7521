"""JavaScript, TypeScript and TSX snippets for the rules of reliability."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_JS, _TS = "javascript", "typescript"
_EXPRESS = "const app = require('express')();\n"

CASES = [
    bad("http-call-without-timeout", _JS, "async function f() { const r = await fetch(url); return r; }", 1),
    bad("http-call-without-timeout", _TS, "import axios from 'axios';\nexport const f = async (): Promise<any> => axios.get(url);", 2),
    bad("http-call-without-timeout", _JS, "const axios = require('axios');\nconst api = axios.create({baseURL: b});\napi.post('/x', {timeout: 5});", 3),
    bad("http-call-without-timeout", _JS, "const https = require('node:https');\nhttps.get(url, (res) => {});", 2),
    good("http-call-without-timeout", _JS, "await fetch(url, {signal: AbortSignal.timeout(3000)});"),
    good("http-call-without-timeout", _JS, "await fetch(url, options);"),
    good("http-call-without-timeout", _JS, "const axios = require('axios');\nconst api = axios.create({timeout: 3000});\napi.get('/x');"),
    good("http-call-without-timeout", _TS, "import axios from 'axios';\naxios.get(url, {timeout: 3});"),
    good("http-call-without-timeout", _JS, "await Promise.race([fetch(u), sleep(3)]);"),
    good("http-call-without-timeout", _JS, f"{_EXPRESS}app.get('/', (req, res) => res.send('x'));"),
    bad("database-without-timeout", _JS, "const { Pool } = require('pg');\nconst p = new Pool({host: 'x'});", 2),
    good("database-without-timeout", _JS, "const { Pool } = require('pg');\nconst p = new Pool({connectionTimeoutMillis: 3, query_timeout: 3});"),
    bad("subprocess-without-timeout", _JS, "const { execSync } = require('child_process');\nexecSync('ls');", 2),
    good("subprocess-without-timeout", _JS, "const { execSync } = require('child_process');\nexecSync('ls', {timeout: 3});"),
    bad("no-retry-on-idempotent-call", _JS, "async function f() { return fetch(url); }", 1),
    good("no-retry-on-idempotent-call", _JS, "import pRetry from 'p-retry';\nconst f = () => pRetry(() => fetch(url), {retries: 3});"),
    good("no-retry-on-idempotent-call", _JS, "async function f() { return fetch(url, {method: 'POST'}); }"),
    good("no-retry-on-idempotent-call", _JS, "const axios = require('axios');\nconst api = axios.create({});\naxiosRetry(api, {retries: 3});\napi.get('/x');"),
    bad("retry-without-backoff", _JS, """
        async function f() {
          for (let i = 0; i < 3; i++) {
            try { return await go(); } catch (e) { last = e; }
          }
        }
    """, 2),
    good("retry-without-backoff", _TS, """
        async function f() {
          for (let i = 0; i < 3; i++) {
            try { return await go(); } catch (e) { await sleep(2 ** i * 100); }
          }
        }
    """),
    bad("retry-without-limit", _JS, "async function f() { while (true) { try { return await go(); } catch (e) { await sleep(d); } } }", 1),
    good("retry-without-limit", _JS, "async function f() { for (let i = 0; i < 5; i++) { try { return await go(); } catch (e) { await sleep(d); } } }"),
    bad("retry-of-non-idempotent-call", _JS, "const f = () => pRetry(() => fetch(u, {method: 'POST', body}));", 1),
    good("retry-of-non-idempotent-call", _JS, "const f = () => pRetry(() => fetch(u, {method: 'POST', headers: {'Idempotency-Key': k}}));"),
    bad("swallowed-error", _JS, "try { go(); } catch (e) {}", 1),
    bad("swallowed-error", _JS, "go().catch(() => {});", 1),
    good("swallowed-error", _JS, "try { go(); } catch (e) { report(e); }"),
    good("swallowed-error", _JS, "go().catch((e) => { report(e); });\nconn.close().catch(() => {});"),
    bad("upstream-error-not-mapped", _JS, f"{_EXPRESS}app.get('/', async (req, res) => {{\n  const r = await fetch(u);\n  res.json(await r.json());\n}});", 3),
    good("upstream-error-not-mapped", _JS, f"{_EXPRESS}app.get('/', async (req, res, next) => {{\n  try {{ const r = await fetch(u); }} catch (e) {{ next(e); }}\n}});"),
    good("upstream-error-not-mapped", _JS, f"{_EXPRESS}app.get('/', (req, res, next) => {{\n  fetch(u).then(r => r.json()).catch(next);\n}});"),
    bad("file-not-closed", _JS, "const fs = require('fs');\nfunction f() { const d = fs.openSync(p); fs.readSync(d, b); }", 2),
    good("file-not-closed", _JS, "const fs = require('fs');\nfunction f() { const d = fs.openSync(p); try { go(d); } finally { fs.closeSync(d); } }"),
    bad("writes-without-transaction", _JS, """
        async function move(pool) {
          await pool.query('UPDATE a SET n = n - 1');
          await pool.query('UPDATE a SET n = n + 1');
        }
    """, 3),
    good("writes-without-transaction", _JS, """
        async function move(c) {
          await c.query('BEGIN');
          await c.query('UPDATE a SET n = n - 1');
          await c.query('UPDATE a SET n = n + 1');
          await c.query('COMMIT');
        }
    """),
    bad("missing-idempotency-key", _TS, "async function f() { await fetch(`${B}/charges`, {method: 'POST', body}); }", 1),
    bad("unbounded-cache", _JS, "const cache = new Map();\nfunction get(k) { cache.set(k, load(k)); return cache.get(k); }", 1),
    good("unbounded-cache", _JS, "const cache = new Map();\nfunction get(k) { if (cache.size > 9) cache.clear(); cache.set(k, load(k)); }"),
    bad("unbounded-recursion", _JS, "async function f() { try { return await go(); } catch (e) { return f(); } }", 1),
    good("unbounded-recursion", _JS, "async function f(attempt = 0) { try { return await go(); } catch (e) { if (attempt > 3) throw e; return f(attempt + 1); } }"),
    bad("unbounded-fan-out", _JS, "async function f(ids) { return Promise.all(ids.map(id => fetch(u + id))); }", 1),
    good("unbounded-fan-out", _JS, "const limit = pLimit(5);\nasync function f(ids) { return Promise.all(ids.map(id => limit(() => fetch(u + id)))); }"),
    good("unbounded-fan-out", _JS, "async function f() { return Promise.all([a(), b()]); }"),
    bad("fire-and-forget", _JS, "async function save() { await db.write(1); }\nasync function f() { save(); return 1; }", 2),
    bad("fire-and-forget", _JS, "function f() { fetch(u); }", 1),
    good("fire-and-forget", _JS, "async function save() { await db.write(1); }\nasync function f() { await save(); save().catch(report); }"),
    bad("unchecked-response-status", _JS, "async function f() { const r = await fetch(u); return r.json(); }", 1),
    bad("unchecked-response-status", _JS, "const f = () => fetch(u).then(r => r.json());", 1),
    good("unchecked-response-status", _JS, "async function f() { const r = await fetch(u); if (!r.ok) throw new Error('x'); return r.json(); }"),
    good("unchecked-response-status", _JS, "const f = () => fetch(u).then(r => { if (!r.ok) throw r; return r.json(); });"),
    good("unchecked-response-status", _JS, "const axios = require('axios');\nasync function f() { const r = await axios.get(u); return r.data; }"),
    bad("abrupt-exit", _JS, f"{_EXPRESS}app.get('/', (req, res) => {{ process.exit(1); }});", 2),
    good("abrupt-exit", _JS, "main().catch((e) => { console.error(e); process.exit(1); });"),
    bad("no-graceful-shutdown", _JS, "const express = require('express');\nconst app = express();\napp.listen(80);", 3),
    good("no-graceful-shutdown", _JS, "const express = require('express');\nconst app = express();\nconst s = app.listen(80);\nprocess.on('SIGTERM', () => s.close());"),
    bad("wall-clock-for-durations", _JS, "const t = Date.now();\ngo();\nconst spent = Date.now() - t;", 3),
    good("wall-clock-for-durations", _JS, "const t = performance.now();\nconst spent = performance.now() - t;"),
    bad("unguarded-parse", _JS, "ws.on('message', (event) => { const m = JSON.parse(event.data); });", 1),
    good("unguarded-parse", _JS, "ws.on('message', (event) => { try { const m = JSON.parse(event.data); } catch (e) { drop(e); } });"),
    bad("config-read-late", _JS, f"{_EXPRESS}app.get('/', (req, res) => {{ res.send(process.env.KEY); return process.env.KEY + 'x'; }});", 2),
    good("config-read-late", _JS, f"{_EXPRESS}const KEY = process.env.KEY;\napp.get('/', (req, res) => {{ res.send(KEY + (process.env.A ?? 'b')); }});"),
    bad("tls-not-verified", _JS, "const a = new https.Agent({rejectUnauthorized: false});", 1),
    bad("tls-not-verified", _JS, "process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';", 1),
    good("tls-not-verified", _JS, "const a = new https.Agent({rejectUnauthorized: true, ca});"),
    bad("secret-in-code", _TS, "const apiKey: string = 'b1946ac92492d2347c6235b4d2611184';", 1),
    bad("busy-loop", _JS, "function f() { while (!done) {} }", 1),
    good("busy-loop", _JS, "async function f() { while (true) { await sleep(5); } }"),
    bad("http-call-without-timeout", "tsx", "export function A() { useEffect(() => { fetch('/x').then(setX); }, []); return <p/>; }", 1),
]  # fmt: skip
