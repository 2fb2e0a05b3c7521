"""Blocking calls in async code on clients that the code is given."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "blocking-call-in-async-code"

CASES = [
    bad(
        _RULE,
        "python",
        """
        import redis
        class Limits:
            def __init__(self, store):
                self._store = store
            def _taken(self, key):
                return self._store.incr(key)
            async def allow(self, key):
                return self._taken(key) < 5
        limits = Limits(redis.Redis(host="x", socket_timeout=1))
    """,
        8,
    ),
    bad(
        _RULE,
        "python",
        """
        class Publisher:
            def __init__(self, s3, bucket):
                self._s3 = s3
            async def publish(self, key, data):
                self._s3.put_object(Bucket="b", Key=key, Body=data)
    """,
        5,
    ),
    good(
        _RULE,
        "python",
        """
        class Publisher:
            def __init__(self, s3, bucket):
                self._s3 = s3
            async def publish(self, key, data):
                await self._s3.put_object(Bucket="b", Key=key, Body=data)
            async def other(self, key, data):
                await asyncio.to_thread(self._s3.put_object, Bucket="b", Key=key, Body=data)
    """,
    ),
    bad(
        _RULE,
        "python",
        "import psycopg\nasync def load(conn: psycopg.Connection, key):\n    return conn.execute('select 1', (key,)).fetchone()",
        3,
    ),
    bad(
        _RULE,
        "python",
        "import dns.resolver\nasync def mx(domain):\n    return dns.resolver.resolve(domain, 'MX')",
        3,
    ),
    good(
        _RULE,
        "python",
        """
        import redis.asyncio
        class Limits:
            def __init__(self, store):
                self._store = store
            async def allow(self, key):
                return await self._store.incr(key) < 5
        limits = Limits(redis.asyncio.Redis(host="x", socket_timeout=1))
    """,
    ),
    # JavaScript: through helpers, and whole files in servers.
    bad(
        _RULE,
        "typescript",
        "import crypto from 'node:crypto';\nclass A {\n  private hash(p: string) { return crypto.pbkdf2Sync(p, 's', 100000, 64, 'sha512'); }\n  async login(p: string) { return this.hash(p); }\n}",
        4,
    ),
    bad(
        _RULE,
        "typescript",
        "import fs from 'fs';\nimport { Injectable } from '@nestjs/common';\n@Injectable()\nexport class A {\n  async mail(id: string) {\n    const text = fs.readFileSync(`/t/${id}.html`, 'utf8');\n    await this.mailer.send(text);\n  }\n}",
        6,
    ),
    good(
        _RULE,
        "typescript",
        "import fs from 'fs';\nexport async function build(dir: string) {\n  const text = fs.readFileSync(`${dir}/a.json`, 'utf8');\n  await run(text);\n}",
    ),
    bad(
        _RULE,
        "javascript",
        "const XLSX = require('xlsx');\nasync function load(path) { return XLSX.readFile(path); }",
        2,
    ),
    # C#
    bad(
        _RULE,
        "csharp",
        'using Dapper;\nclass A {\n  Order Load(int id) { using var c = Open(); return c.QuerySingle<Order>("select 1", new { id }); }\n  async Task<Order> Get(int id) { var o = Load(id); await Audit(o); return o; }\n}',
        4,
    ),
    good(
        _RULE,
        "csharp",
        'using Dapper;\nclass A {\n  async Task<Order> Get(int id) { using var c = await OpenAsync(); return await c.QuerySingleAsync<Order>("select 1", new { id }); }\n}',
    ),
    bad(_RULE, "csharp", "class A {\n  async Task F(Task t) { t.Wait(); await Task.Yield(); }\n}", 2),
    bad(
        _RULE,
        "java",
        "import reactor.core.publisher.Mono;\nimport java.util.concurrent.CompletableFuture;\nclass A {\n  Mono<String> f(CompletableFuture<String> f) { return Mono.just(f.join()); }\n}",
        4,
    ),
    # Expressions that a constant, an attribute or a text holds.
    bad(
        "catastrophic-expression", "python", "import re\nNAME = r'^(\\w+\\s?)*$'\nname = re.compile(NAME)", 2
    ),
    good("catastrophic-expression", "python", "import re\nNAME = r'^\\w+$'\nname = re.compile(NAME)"),
    bad(
        "catastrophic-expression",
        "java",
        'class A {\n  private static final String NAME = "^(\\\\w+\\\\s?)*$";\n  boolean f(String s) { return s.matches(NAME); }\n}',
        2,
    ),
    bad(
        "catastrophic-expression", "kotlin", 'fun f(s: String) = s.matches("^(\\\\w+\\\\s?)*$".toRegex())', 1
    ),
    bad(
        "catastrophic-expression",
        "csharp",
        'partial class A {\n  [GeneratedRegex(@"^(\\w+\\s?)*$")]\n  private static partial Regex Name();\n}',
        2,
    ),
    good(
        "catastrophic-expression",
        "csharp",
        'partial class A {\n  [GeneratedRegex(@"^(\\w+\\s?)*$", RegexOptions.NonBacktracking)]\n  private static partial Regex Name();\n}',
    ),
]
