"""Code that looks like a fault and is none, each beside the fault that it looks like."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_PY, _JS, _TS, _GO, _JAVA = "python", "javascript", "typescript", "go", "java"
_SECRET, _ERROR, _RELEASED, _CACHE = (
    "default-for-secret",
    "ignored-error",
    "released-on-success-only",
    "unbounded-cache",
)
_LOGGED, _OUTCOME, _INTERVAL = "secret-in-log", "outcome-ignored", "interval-leak"

CASES = [
    # A call that sets a variable has no default.
    good(_SECRET, _GO, 'package a\nimport "os"\nfunc f() {\n os.Setenv("AWS_SECRET_ACCESS_KEY", "foobar")\n}'),
    good(_SECRET, _TS, "vi.stubEnv('LIVEKIT_API_SECRET', 'long-secret');"),
    good(_SECRET, _PY, "def f(monkeypatch):\n    monkeypatch.setenv('API_SECRET', 'abc')\n    set_env('API_SECRET', 'abc')\n    put_config('API_SECRET', 'abc')"),
    bad(_SECRET, _GO, 'package a\nfunc f() string {\n return getEnv("JWT_SECRET", "foobar")\n}', 3),
    bad(_SECRET, _PY, "import os\nKEY = os.environ.get('API_SECRET', 'abc')\nOTHER = app_config('API_SECRET', default='abc')", 2, 3),
    # The error is always nil, or the first argument is no context.
    good(_ERROR, _GO, "package a\ntype S struct { mu sync.Mutex; n int }\nfunc (s *S) Make(o O) O {\n s.AddConsumer(o)\n return o\n}\nfunc (s *S) AddConsumer(o O) error {\n s.mu.Lock()\n s.n++\n s.mu.Unlock()\n return nil\n}"),
    bad(_ERROR, _GO, "package a\ntype S struct { n int }\nfunc (s *S) Make(o O) O {\n s.AddConsumer(o)\n return o\n}\nfunc (s *S) AddConsumer(o O) error {\n if s.n > 9 { return errFull }\n s.n++\n return nil\n}", 4),
    good(_ERROR, _GO, 'package a\nimport "runtime"\nfunc track(c *client) {\n runtime.SetFinalizer(c, func(c *client) { gone <- c })\n}'),
    bad(_ERROR, _GO, 'package a\nimport "github.com/gin-gonic/gin"\nfunc (h *H) post(c *gin.Context) {\n h.orders.SaveOrder(c, order)\n}', 4),
    # Nothing was taken on the way to this return.
    good(_RELEASED, _PY, "def f(path):\n    if exists(path):\n        f = open(path)\n        last = f.read()\n        f.close()\n    else:\n        return first()\n    return find(last)"),
    bad(_RELEASED, _PY, "def f(path):\n    f = open(path)\n    if skip(path):\n        return first()\n    last = f.read()\n    f.close()\n    return find(last)", 2),
    # The end of the block closes the connection, and with it the transaction.
    good(_RELEASED, _JAVA, "class D { void f() { try (Connection c = source.getConnection()) { c.setAutoCommit(false); save(c); c.commit(); } } }"),
    bad(_RELEASED, _JAVA, "class D { void f() { try (Statement s = c.createStatement()) { c.setAutoCommit(false); save(s); c.commit(); } } }", 1),
    # A private member of JavaScript is taken out of by its name with the sign.
    good(_CACHE, _TS, """
        class Client {
          #requests: { [id: string]: Pending } = {};
          onMessage(msg: Message) { const found = this.#requests[msg.requestId]; delete this.#requests[msg.requestId]; found.resolve(msg); }
          async send(method: string) { const requestId = shortuuid(); this.#requests[requestId] = new Pending(); return await this.#requests[requestId].promise; }
        }
    """),
    # The token is a part of another answer, and is set later rather than read.
    good(_LOGGED, _GO, """
        package a
        func (n *N) notify(ctx context.Context) error {
         resp, err := n.client.Get(n.url)
         if err != nil { return err }
         var found token
         if err := json.NewDecoder(resp.Body).Decode(&found); err != nil { return err }
         n.held = found.AccessToken
         resp, err = n.client.Post(n.other, n.held)
         body, err := io.ReadAll(resp.Body)
         if err != nil { return err }
         n.logger.Debug(string(body), "key", key)
         n.accessToken = ""
         return nil
        }
    """),
    bad(_LOGGED, _PY, "import requests\ndef f(log):\n    resp = requests.post(url, timeout=3)\n    log.info(resp.text)\n    return resp.json()['access_token']", 4),
    # Nothing uses the buffer: its name is a word of a message.
    good(_OUTCOME, _GO, 'package a\nfunc f(conn net.Conn) {\n info := make([]byte, 512)\n _, err := conn.Read(info)\n if err != nil {\n  fail("expected an info message", err)\n }\n}'),
    bad(_OUTCOME, _GO, 'package a\nfunc f(conn net.Conn) {\n info := make([]byte, 512)\n _, err := conn.Read(info)\n if err != nil {\n  fail("expected a message", err)\n }\n use(info)\n}', 4),
    # What connects again has not ended.
    good(_INTERVAL, _JS, "class T {\n  constructor() { this.worker = setInterval(() => this.flush(), 5000); }\n  connect() { this.ws = open(); }\n  disconnect() { this.ws.close(); this.ws = null; }\n}"),
    bad(_INTERVAL, _JS, "class T {\n  constructor() { this.worker = setInterval(() => this.flush(), 5000); }\n  connect() { this.ws = open(); }\n  close() { this.ws.close(); this.ws = null; }\n}", 2),
    bad(_INTERVAL, _JS, "class T {\n  connect() { this.ws = open(); this.worker = setInterval(() => this.flush(), 5000); }\n  disconnect() { this.ws.close(); this.ws = null; }\n}", 2),
]  # fmt: skip
