"""Values that may be missing, panics on input, and lost connections."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_MISSING, _PANIC, _LOST = "missing-value-used", "panic-on-failure", "connection-not-restored"
_GO_VALUES = 'package a\nimport "encoding/json"\nfunc f(b []byte) (string, error) {\n\tvar m map[string]any\n\tif err := json.Unmarshal(b, &m); err != nil { return "", err }\n'

CASES = [
    bad(
        _MISSING,
        "python",
        """
        def name(session, uid):
            user = session.query(User).filter_by(id=uid).first()
            return user.name
        """,
        3,
    ),
    good(
        _MISSING,
        "python",
        """
        def name(session, uid):
            user = session.query(User).filter_by(id=uid).first()
            if user is None:
                return ''
            return user.name
        """,
    ),
    good(
        _MISSING,
        "python",
        """
        def name(session, uid):
            user = session.query(User).filter_by(id=uid).first()
            return user.name if user else ''
        """,
    ),
    bad(
        _MISSING,
        "python",
        """
        def balance(cur, key):
            cur.execute('SELECT balance FROM a WHERE id = %s', (key,))
            return cur.fetchone()[0]
        """,
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
        """
        async function f(req, res) {
         const user = await User.findById(req.params.id);
         res.json({ name: user.name });
        }
        """,
        3,
    ),
    good(
        _MISSING,
        "javascript",
        """
        async function f(req, res) {
         const user = await User.findById(req.params.id);
         if (!user) return res.status(404).end();
         res.json({ name: user.name });
        }
        """,
    ),
    good(
        _MISSING,
        "javascript",
        """
        async function f(req, res) {
         const user = await User.findById(req.params.id);
         res.json({ name: user?.name });
        }
        """,
    ),
    bad(
        _MISSING,
        "csharp",
        """
        class A { async Task<decimal> F(int id) { var a = await _db.Accounts.FirstOrDefaultAsync(x => x.Id == id);
         return a.Balance; } }
        """,
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
        """
        class A { AccountRepository accounts; B f(long id) {
         return accounts.findById(id).get().balance(); } }
        """,
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
        """
        class A(private val accounts: AccountRepository) { fun f(id: Long): B {
         return accounts.findByIdOrNull(id)!!.balance } }
        """,
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
        """
        package a
        func f(items []Item) map[string]int {
        	var n map[string]int
        	for _, each := range items {
        		n[each.Kind]++
        	}
        	return n
        }
        """,
        5,
    ),
    good(
        _MISSING,
        "go",
        """
        package a
        func f(items []Item) map[string]int {
        	n := make(map[string]int)
        	for _, each := range items {
        		n[each.Kind]++
        	}
        	return n
        }
        """,
    ),
    bad(
        _MISSING,
        "go",
        """
        package a
        type C struct { hits map[string]int }
        func New() *C { return &C{} }
        func (c *C) Hit(p string) {
        	c.hits[p]++
        }
        """,
        5,
    ),
    good(
        _MISSING,
        "go",
        """
        package a
        type C struct { hits map[string]int }
        func New() *C { return &C{hits: map[string]int{}} }
        func (c *C) Hit(p string) {
        	c.hits[p]++
        }
        """,
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
        """
        package a
        import "strings"
        func token(header string) string { return strings.Split(header, " ")[1] }
        """,
        3,
    ),
    good(
        _MISSING,
        "go",
        """
        package a
        import "strings"
        func first(header string) string { return strings.Split(header, " ")[0] }
        """,
    ),
    bad(
        _PANIC,
        "rust",
        """
        use axum::extract::Path;
        async fn get_item(Path(id): Path<String>) -> Json<Item> {
         let id: i64 = id.parse().unwrap();
         Json(load(id))
        }
        """,
        3,
    ),
    bad(
        _PANIC,
        "rust",
        """
        use axum::http::HeaderMap;
        async fn hook(headers: HeaderMap) -> R {
         let sig = headers.get("x-sig").unwrap();
         verify(sig)
        }
        """,
        3,
    ),
    bad(
        _PANIC,
        "rust",
        """
        fn on_event(b: &[u8]) -> R {
         let v: Value = serde_json::from_slice(b)?;
         let id = v["id"].as_i64().unwrap();
         process(id)
        }
        """,
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
        """
        use axum::extract::Path;
        async fn get_item(Path(id): Path<String>) -> R { let id: i64 = id.parse()?; let g = STATE.lock().unwrap(); Ok(Json(load(id))) }
        """,
    ),
    bad(
        _LOST,
        "javascript",
        """
        const WebSocket = require('ws');
        function follow(url) {
         const ws = new WebSocket(url);
         ws.on('message', handle);
         ws.on('close', () => console.warn('closed'));
        }
        """,
        3,
    ),
    good(
        _LOST,
        "javascript",
        """
        const WebSocket = require('ws');
        function follow(url) {
         const ws = new WebSocket(url);
         ws.on('message', handle);
         ws.on('close', () => setTimeout(() => follow(url), 1000));
        }
        """,
    ),
    good(
        _LOST,
        "javascript",
        """
        const WebSocket = require('ws');
        function ask(url, done) {
         const ws = new WebSocket(url);
         ws.on('message', (m) => { done(m); ws.close(); });
        }
        """,
    ),
    bad(
        _LOST,
        "typescript",
        """
        import amqp from 'amqplib';
        export async function start(url: string) {
         const conn = await amqp.connect(url);
         const ch = await conn.createChannel();
         await ch.consume('q', handle);
        }
        """,
        3,
    ),
    good(
        _LOST,
        "typescript",
        """
        import amqp from 'amqplib';
        export async function start(url: string) {
         const conn = await amqp.connect(url);
         conn.on('close', () => process.exit(1));
         const ch = await conn.createChannel();
         await ch.consume('q', handle);
        }
        """,
    ),
    bad(
        _LOST,
        "python",
        """
        import websockets
        async def follow(url, queue):
            async with websockets.connect(url) as ws:
                async for message in ws:
                    await queue.put(message)
        """,
        3,
    ),
    good(
        _LOST,
        "python",
        """
        import websockets
        async def follow(url, queue):
            while True:
                async with websockets.connect(url) as ws:
                    async for message in ws:
                        await queue.put(message)
        """,
    ),
    bad(
        _LOST,
        "go",
        """
        package a
        import amqp "github.com/rabbitmq/amqp091-go"
        func run(ch *amqp.Channel) error {
        	msgs, err := ch.Consume("q", "", false, false, false, false, nil)
        	if err != nil { return err }
        	for m := range msgs {
        		handle(m)
        	}
        	return nil
        }
        """,
        6,
    ),
    bad(
        _LOST,
        "csharp",
        """
        class A { void F(string host) {
         var f = new ConnectionFactory { HostName = host, AutomaticRecoveryEnabled = false }; } }
        """,
        2,
    ),
    bad(
        _MISSING,
        "kotlin",
        """
        class A(private val repo: AccountRepository) { fun f(id: Long) {
         val a = repo.findById(id).get()
         a.close() } }
        """,
        2,
    ),
    bad(
        "wrong-time-unit", "typescript", "function soon(c: Claims) { return c.exp - Date.now() < 60_000; }", 1
    ),
]
