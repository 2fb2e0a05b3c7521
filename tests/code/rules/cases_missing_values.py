"""Values that may be missing, panics on input, and lost connections."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_MISSING, _PANIC, _LOST = "missing-value-used", "panic-on-failure", "connection-not-restored"
_GO_VALUES = 'package a\nimport "encoding/json"\nfunc f(b []byte) (string, error) {\n\tvar m map[string]any\n\tif err := json.Unmarshal(b, &m); err != nil { return "", err }\n'

CASES = [
    bad(
        _MISSING,
        "python",
        "def name(session, uid):\n    user = session.query(User).filter_by(id=uid).first()\n    return user.name",
        3,
    ),
    good(
        _MISSING,
        "python",
        "def name(session, uid):\n    user = session.query(User).filter_by(id=uid).first()\n    if user is None:\n        return ''\n    return user.name",
    ),
    good(
        _MISSING,
        "python",
        "def name(session, uid):\n    user = session.query(User).filter_by(id=uid).first()\n    return user.name if user else ''",
    ),
    bad(
        _MISSING,
        "python",
        "def balance(cur, key):\n    cur.execute('SELECT balance FROM a WHERE id = %s', (key,))\n    return cur.fetchone()[0]",
        3,
    ),
    good(
        _MISSING,
        "python",
        "def total(cur):\n    cur.execute('SELECT count(*) FROM a')\n    return cur.fetchone()[0]",
    ),
    bad(
        _MISSING,
        "javascript",
        "async function f(req, res) {\n const user = await User.findById(req.params.id);\n res.json({ name: user.name });\n}",
        3,
    ),
    good(
        _MISSING,
        "javascript",
        "async function f(req, res) {\n const user = await User.findById(req.params.id);\n if (!user) return res.status(404).end();\n res.json({ name: user.name });\n}",
    ),
    good(
        _MISSING,
        "javascript",
        "async function f(req, res) {\n const user = await User.findById(req.params.id);\n res.json({ name: user?.name });\n}",
    ),
    bad(
        _MISSING,
        "csharp",
        "class A { async Task<decimal> F(int id) { var a = await _db.Accounts.FirstOrDefaultAsync(x => x.Id == id);\n return a.Balance; } }",
        2,
    ),
    good(
        _MISSING,
        "csharp",
        "class A { async Task<decimal> F(int id) { var a = await _db.Accounts.FirstOrDefaultAsync(x => x.Id == id); if (a is null) throw new E(); return a.Balance; } }",
    ),
    bad(
        _MISSING,
        "java",
        "class A { AccountRepository accounts; B f(long id) {\n return accounts.findById(id).get().balance(); } }",
        2,
    ),
    good(
        _MISSING,
        "java",
        "class A { AccountRepository accounts; B f(long id) { return accounts.findById(id).orElseThrow().balance(); } }",
    ),
    good(
        _MISSING, "java", "class A { Map<String, B> byName; B f(String name) { return byName.get(name); } }"
    ),
    bad(
        _MISSING,
        "kotlin",
        "class A(private val accounts: AccountRepository) { fun f(id: Long): B {\n return accounts.findByIdOrNull(id)!!.balance } }",
        2,
    ),
    good(
        _MISSING,
        "kotlin",
        "class A(private val accounts: AccountRepository) { fun f(id: Long): B { return (accounts.findByIdOrNull(id) ?: throw NotFound(id)).balance } }",
    ),
    bad(
        _MISSING,
        "go",
        "package a\nfunc f(items []Item) map[string]int {\n\tvar n map[string]int\n\tfor _, each := range items {\n\t\tn[each.Kind]++\n\t}\n\treturn n\n}",
        5,
    ),
    good(
        _MISSING,
        "go",
        "package a\nfunc f(items []Item) map[string]int {\n\tn := make(map[string]int)\n\tfor _, each := range items {\n\t\tn[each.Kind]++\n\t}\n\treturn n\n}",
    ),
    bad(
        _MISSING,
        "go",
        "package a\ntype C struct { hits map[string]int }\nfunc New() *C { return &C{} }\nfunc (c *C) Hit(p string) {\n\tc.hits[p]++\n}",
        5,
    ),
    good(
        _MISSING,
        "go",
        "package a\ntype C struct { hits map[string]int }\nfunc New() *C { return &C{hits: map[string]int{}} }\nfunc (c *C) Hit(p string) {\n\tc.hits[p]++\n}",
    ),
    bad(_MISSING, "go", _GO_VALUES + '\treturn m["id"].(string), nil\n}', 6),
    good(
        _MISSING,
        "go",
        _GO_VALUES + '\tid, ok := m["id"].(string)\n\tif !ok { return "", errNoID }\n\treturn id, nil\n}',
    ),
    bad(
        _MISSING,
        "go",
        'package a\nimport "strings"\nfunc token(header string) string { return strings.Split(header, " ")[1] }',
        3,
    ),
    good(
        _MISSING,
        "go",
        'package a\nimport "strings"\nfunc first(header string) string { return strings.Split(header, " ")[0] }',
    ),
    bad(
        _PANIC,
        "rust",
        "use axum::extract::Path;\nasync fn get_item(Path(id): Path<String>) -> Json<Item> {\n let id: i64 = id.parse().unwrap();\n Json(load(id))\n}",
        3,
    ),
    bad(
        _PANIC,
        "rust",
        'use axum::http::HeaderMap;\nasync fn hook(headers: HeaderMap) -> R {\n let sig = headers.get("x-sig").unwrap();\n verify(sig)\n}',
        3,
    ),
    bad(
        _PANIC,
        "rust",
        'fn on_event(b: &[u8]) -> R {\n let v: Value = serde_json::from_slice(b)?;\n let id = v["id"].as_i64().unwrap();\n process(id)\n}',
        3,
    ),
    good(
        _PANIC,
        "rust",
        'fn parse(s: &str) -> R { let id: i64 = "42".parse().unwrap(); let g = LOCK.lock().unwrap(); Ok(id) }',
    ),
    good(
        _PANIC,
        "rust",
        "use axum::extract::Path;\nasync fn get_item(Path(id): Path<String>) -> R { let id: i64 = id.parse()?; let g = STATE.lock().unwrap(); Ok(Json(load(id))) }",
    ),
    bad(
        _LOST,
        "javascript",
        "const WebSocket = require('ws');\nfunction follow(url) {\n const ws = new WebSocket(url);\n ws.on('message', handle);\n ws.on('close', () => console.warn('closed'));\n}",
        3,
    ),
    good(
        _LOST,
        "javascript",
        "const WebSocket = require('ws');\nfunction follow(url) {\n const ws = new WebSocket(url);\n ws.on('message', handle);\n ws.on('close', () => setTimeout(() => follow(url), 1000));\n}",
    ),
    good(
        _LOST,
        "javascript",
        "const WebSocket = require('ws');\nfunction ask(url, done) {\n const ws = new WebSocket(url);\n ws.on('message', (m) => { done(m); ws.close(); });\n}",
    ),
    bad(
        _LOST,
        "typescript",
        "import amqp from 'amqplib';\nexport async function start(url: string) {\n const conn = await amqp.connect(url);\n const ch = await conn.createChannel();\n await ch.consume('q', handle);\n}",
        3,
    ),
    good(
        _LOST,
        "typescript",
        "import amqp from 'amqplib';\nexport async function start(url: string) {\n const conn = await amqp.connect(url);\n conn.on('close', () => process.exit(1));\n const ch = await conn.createChannel();\n await ch.consume('q', handle);\n}",
    ),
    bad(
        _LOST,
        "python",
        "import websockets\nasync def follow(url, queue):\n    async with websockets.connect(url) as ws:\n        async for message in ws:\n            await queue.put(message)",
        3,
    ),
    good(
        _LOST,
        "python",
        "import websockets\nasync def follow(url, queue):\n    while True:\n        async with websockets.connect(url) as ws:\n            async for message in ws:\n                await queue.put(message)",
    ),
    bad(
        _LOST,
        "go",
        'package a\nimport amqp "github.com/rabbitmq/amqp091-go"\nfunc run(ch *amqp.Channel) error {\n\tmsgs, err := ch.Consume("q", "", false, false, false, false, nil)\n\tif err != nil { return err }\n\tfor m := range msgs {\n\t\thandle(m)\n\t}\n\treturn nil\n}',
        6,
    ),
    bad(
        _LOST,
        "csharp",
        "class A { void F(string host) {\n var f = new ConnectionFactory { HostName = host, AutomaticRecoveryEnabled = false }; } }",
        2,
    ),
    bad(
        _MISSING,
        "kotlin",
        "class A(private val repo: AccountRepository) { fun f(id: Long) {\n val a = repo.findById(id).get()\n a.close() } }",
        2,
    ),
    bad(
        "wrong-time-unit", "typescript", "function soon(c: Claims) { return c.exp - Date.now() < 60_000; }", 1
    ),
]
