"""Failures answered as not found or as nothing, constants for secrets, clocks and durations of different units."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_GONE, _DEFAULT, _UNIT = "failure-answered-as-not-found", "default-for-secret", "wrong-time-unit"
_STATUS, _EMPTY, _SUCCESS = "unchecked-response-status", "failure-looks-empty", "error-answered-as-success"
_LOGGED, _RELEASED, _PANIC = "failure-only-logged", "released-on-success-only", "panic-on-failure"
_GET = """
    package a
    import "net/http"
    func (h *H) get(w http.ResponseWriter, r *http.Request) {{
    	user, err := h.users.Load(r.Context(), r.PathValue("id"))
    	{}if err != nil {{
    		http.Error(w, "no", http.StatusNotFound)
    		return
    	}}
    	h.show(w, user)
    }}
    """
_HEALTH = """
    from flask import Flask, jsonify
    app = Flask(__name__)
    @app.get("/ready")
    def ready():
        state = "ok"
        try:
            ping()
        except Exception:
            state = "down"
        return jsonify(state=state){}
    """
_BEGIN = """
    class A {{ async move(client) {{
      await client.query('BEGIN');
      await client.query('UPDATE a SET b = 1');
      await client.query('COMMIT');
    }} {} }}
    """

CASES = [
    bad(_GONE, "go", _GET.format(""), 5),
    good(_GONE, "go", _GET.format("if errors.Is(err, ErrGone) {\n\t\treturn\n\t}\n\t")),
    bad(
        _GONE,
        "python",
        "from fastapi import FastAPI, HTTPException\napp = FastAPI()\n@app.get('/a/{key}')\nasync def get(key):\n    try:\n        return await store.load(key)\n    except Exception:\n        raise HTTPException(404)",
        7,
    ),
    good(
        _GONE,
        "python",
        "from fastapi import FastAPI, HTTPException\napp = FastAPI()\n@app.get('/a/{key}')\nasync def get(key):\n    try:\n        return await store.load(key)\n    except KeyError:\n        raise HTTPException(404)",
    ),
    bad(
        _GONE,
        "javascript",
        "async function get(req, res) { try { res.json(await db.users.load(req.params.id)); } catch (err) { res.status(404).end(); } }",
        1,
    ),
    bad(
        _GONE,
        "rust",
        "async fn get(id: i64) -> Result<Json<A>, StatusCode> { let a = store.load(id).await.map_err(|_| StatusCode::NOT_FOUND)?; Ok(Json(a)) }",
        1,
    ),
    bad(_DEFAULT, "python", "import os\nKEY = os.environ.get('JWT_SECRET', 'change-me')", 2),
    good(
        _DEFAULT,
        "python",
        "import os\nKEY = os.environ.get('JWT_SECRET', '')\nNAME = os.getenv('NAME', 'shop')",
    ),
    bad(_DEFAULT, "javascript", "const key = process.env.SESSION_SECRET || 'keyboard cat';", 1),
    good(_DEFAULT, "javascript", "const port = process.env.PORT || '3000';"),
    bad(_DEFAULT, "java", 'class A { @Value("${jwt.secret:s3cret}") String key; }', 1),
    good(_DEFAULT, "java", 'class A { @Value("${jwt.secret}") String key; }'),
    bad(
        _DEFAULT,
        "rust",
        'fn f() -> String { env::var("API_KEY").unwrap_or_else(|_| "abc123".to_string()) }',
        1,
    ),
    bad(
        _DEFAULT,
        "csharp",
        'class A { string K() => Environment.GetEnvironmentVariable("API_KEY") ?? "abc123"; }',
        1,
    ),
    bad(_UNIT, "javascript", "class T { f({ expires_in }) { this.until = Date.now() + expires_in; } }", 1),
    good(
        _UNIT, "javascript", "class T { f({ expires_in }) { this.until = Date.now() + expires_in * 1000; } }"
    ),
    good(_UNIT, "javascript", "class T { f(ttlMs) { this.until = Date.now() + ttlMs; } }"),
    bad(
        _UNIT,
        "java",
        "class T { long f(long ttlSeconds) { return System.currentTimeMillis() + ttlSeconds; } }",
        1,
    ),
    bad(
        _UNIT,
        "python",
        "import httpx\nWAIT_MS = 3000\nclass A:\n    def __init__(self, client: httpx.Client):\n        self.client = client\n    def f(self):\n        return self.client.get('/a', timeout=WAIT_MS).raise_for_status()",
        7,
    ),
    bad(
        _STATUS,
        "python",
        "import httpx\nclass A:\n    def __init__(self, client: httpx.Client):\n        self.client = client\n    def f(self, a):\n        self.client.put('/a', json=a, timeout=3)\n        self.mark(a)",
        6,
    ),
    good(
        _STATUS,
        "python",
        "import httpx\nclass A:\n    def __init__(self, client: httpx.Client):\n        self.client = client\n    def f(self, a):\n        self.client.put('/a', json=a, timeout=3).raise_for_status()\n        self.mark(a)",
    ),
    bad(
        _STATUS,
        "kotlin",
        "import retrofit2.Response\nclass A(private val api: Api) { suspend fun f(): Int { val r = api.points()\n return r.body()?.points ?: 0 } }",
        3,
    ),
    good(
        _STATUS,
        "kotlin",
        "import retrofit2.Response\nclass A(private val api: Api) { suspend fun f(): Int { val r = api.points()\n if (!r.isSuccessful) throw E()\n return r.body()?.points ?: 0 } }",
    ),
    bad(
        _STATUS,
        "rust",
        'use reqwest::Client;\nstruct A { http: Client }\nimpl A { async fn f(&self) -> Result<()> {\n self.http.put("https://a").json(&1).send().await.context("calling")?;\n Ok(()) } }',
        4,
    ),
    bad(
        _EMPTY,
        "java",
        "class A { CompletableFuture<List<X>> all(C client) { return client.fetch(1).exceptionally(e -> List.of()); } }",
        1,
    ),
    good(
        _EMPTY,
        "java",
        "class A { CompletableFuture<List<X>> all(C client) { return client.fetch(1).exceptionally(e -> { throw new E(e); }); } }",
    ),
    bad(_SUCCESS, "python", _HEALTH.format(""), 8),
    good(_SUCCESS, "python", _HEALTH.format(", 200 if state == 'ok' else 503")),
    bad(
        _LOGGED,
        "javascript",
        "app.delete('/a', async (req, res) => { await store.cancel(req.params.id).catch((err) => log.error(err)); res.status(204).end(); });",
        1,
    ),
    good(
        _LOGGED,
        "javascript",
        "app.delete('/a', async (req, res) => { await metrics.record(req.params.id).catch((err) => log.error(err)); res.status(204).end(); });",
    ),
    bad(_RELEASED, "javascript", _BEGIN.format(""), 2),
    good(_RELEASED, "javascript", _BEGIN.format("").replace("'COMMIT'", "ok ? 'COMMIT' : 'ROLLBACK'")),
    bad(
        _PANIC,
        "rust",
        'use axum::body::Bytes;\nasync fn hook(body: Bytes) -> StatusCode { let e: E = serde_json::from_slice(&body).expect("e"); use_it(e) }',
        2,
    ),
]
