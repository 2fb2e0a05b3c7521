"""What clients may choose without a limit: page sizes, patterns, labels of metrics."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_PAGE, _PATTERN, _LABEL = "unbounded-page-size", "pattern-from-request", "unbounded-labels"
_FAST = "from fastapi import FastAPI, Query\napp = FastAPI()\n"

CASES = [
    bad(
        _PAGE, "python", _FAST + "@app.get('/o')\ndef orders(limit: int = 50):\n    return db.page(limit)", 4
    ),
    good(
        _PAGE,
        "python",
        _FAST + "@app.get('/o')\ndef orders(limit: int = Query(50, le=200)):\n    return db.page(limit)",
    ),
    good(
        _PAGE,
        "python",
        _FAST
        + "@app.get('/o')\ndef orders(limit: int = 50):\n    if limit > 100:\n        limit = 100\n    return db.page(limit)",
    ),
    good(_PAGE, "python", "def orders(limit: int = 50):\n    return db.page(limit)"),
    bad(
        _PAGE,
        "javascript",
        """
        app.get('/o', async (req, res) => {
         const limit = Number(req.query.limit) || 50;
         res.json(await db.page(limit));
        });
        """,
        2,
    ),
    good(
        _PAGE,
        "javascript",
        """
        app.get('/o', async (req, res) => {
         const limit = Math.min(Number(req.query.limit) || 50, 100);
         res.json(await db.page(limit));
        });
        """,
    ),
    bad(
        _PAGE,
        "go",
        """
        package a
        import (
        	"net/http"
        	"strconv"
        )
        func list(w http.ResponseWriter, r *http.Request) {
        	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
        	use(err, store.Orders(r.Context(), limit))
        }
        """,
        7,
    ),
    good(
        _PAGE,
        "go",
        """
        package a
        import (
        	"net/http"
        	"strconv"
        )
        func list(w http.ResponseWriter, r *http.Request) {
        	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
        	if limit > 100 { limit = 100 }
        	use(err, store.Orders(r.Context(), limit))
        }
        """,
    ),
    bad(
        _PAGE,
        "java",
        """
        class A { @GetMapping("/o")
         List<O> list(@RequestParam int size) { return repo.findAll(PageRequest.of(0, size)).getContent(); } }
        """,
        2,
    ),
    good(
        _PAGE,
        "java",
        'class A { @GetMapping("/o") List<O> list(@RequestParam @Max(100) int size) { return repo.findAll(PageRequest.of(0, size)).getContent(); } }',
    ),
    bad(
        _PAGE,
        "csharp",
        """
        class A : ControllerBase { [HttpGet("o")]
         public async Task<X> List([FromQuery] int pageSize = 20) { return await _db.Orders.Take(pageSize).ToListAsync(); } }
        """,
        2,
    ),
    bad(
        _PAGE,
        "rust",
        """
        use axum::extract::Query;
        async fn list(Query(q): Query<Page>) -> Json<V> {
         let limit = q.limit.unwrap_or(50);
         Json(repo().orders(limit).await)
        }
        """,
        3,
    ),
    good(
        _PAGE,
        "rust",
        """
        use axum::extract::Query;
        async fn list(Query(q): Query<Page>) -> Json<V> { let limit = q.limit.unwrap_or(50).min(100); Json(repo().orders(limit).await) }
        """,
    ),
    bad(
        _PATTERN,
        "python",
        """
        import re
        from flask import Flask, request
        app = Flask(__name__)
        @app.get('/g')
        def grep():
            return find(re.compile(request.args['p']))
        """,
        6,
    ),
    good(
        _PATTERN,
        "python",
        """
        import re
        from flask import Flask, request
        app = Flask(__name__)
        @app.get('/g')
        def grep():
            return find(re.compile(re.escape(request.args['p'])))
        """,
    ),
    good(_PATTERN, "python", "import re\ndef grep(pattern):\n    return re.compile(pattern)"),
    bad(
        _PATTERN,
        "typescript",
        """
        app.get('/s', (req, res) => {
         const { q } = req.query;
         res.json(find(new RegExp(q as string, 'i')));
        });
        """,
        3,
    ),
    good(
        _PATTERN,
        "typescript",
        "app.get('/s', (req, res) => {\n res.json(find(new RegExp('^a+$', 'i'), req.query.q));\n});",
    ),
    bad(
        _PATTERN,
        "java",
        """
        class A { @GetMapping("/g") List<String> g(@RequestParam String pattern) {
         return find(Pattern.compile(pattern)); } }
        """,
        2,
    ),
    bad(
        _PATTERN,
        "csharp",
        """
        class A : ControllerBase { [HttpGet("s")] public IActionResult S([FromQuery] string q) {
         var re = new Regex(q);
         return Ok(Find(re)); } }
        """,
        2,
    ),
    good(
        _PATTERN,
        "csharp",
        'class A : ControllerBase { [HttpGet("s")] public IActionResult S([FromQuery] string q) { var re = new Regex(q, RegexOptions.None, TimeSpan.FromSeconds(1)); return Ok(Find(re)); } }',
    ),
    bad(
        _LABEL,
        "python",
        """
        from prometheus_client import Counter
        N = Counter('n', 'n', ['path'])
        def count(request):
            N.labels(request.url.path).inc()
        """,
        4,
    ),
    good(
        _LABEL,
        "python",
        """
        from prometheus_client import Counter
        N = Counter('n', 'n', ['method'])
        def count(request):
            N.labels(request.method).inc()
        """,
    ),
    bad(
        _LABEL,
        "go",
        """
        package a
        import "github.com/prometheus/client_golang/prometheus"
        var n = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "n"}, []string{"user"})
        func count(userID string) { n.WithLabelValues(userID).Inc() }
        """,
        4,
    ),
    good(
        _LABEL,
        "go",
        """
        package a
        import "github.com/prometheus/client_golang/prometheus"
        var n = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "n"}, []string{"state"})
        func count(state string) { n.WithLabelValues(state).Inc() }
        """,
    ),
    bad(
        _LABEL,
        "java",
        """
        class M { MeterRegistry registry; void paid(String orderId) {
         registry.counter("paid", "order", orderId).increment(); } }
        """,
        2,
    ),
    good(
        _LABEL,
        "java",
        'class M { MeterRegistry registry; void paid(String method) { registry.counter("paid", "method", method).increment(); } }',
    ),
    bad(
        _LABEL,
        "javascript",
        """
        const client = require('prom-client');
        const n = new client.Counter({ name: 'n', labelNames: ['user'] });
        function f(user) {
         n.inc({ user: user.email });
        }
        """,
        4,
    ),
    bad(
        _LABEL,
        "csharp",
        """
        class M { static readonly Counter Orders = Metrics.CreateCounter("o", "o", "c"); void F(string customerId) {
         Orders.WithLabels(customerId).Inc(); } }
        """,
        2,
    ),
    bad(
        _LABEL,
        "rust",
        """
        use prometheus::IntCounterVec;
        fn f(hits: &IntCounterVec, user_id: &str) {
         hits.with_label_values(&[user_id]).inc();
        }
        """,
        3,
    ),
    bad(
        _LABEL,
        "kotlin",
        """
        class M(private val registry: MeterRegistry) { fun f(orderId: String) {
         registry.counter("p", "order", orderId).increment() } }
        """,
        2,
    ),
    good(
        _LABEL,
        "python",
        """
        import logging
        log = logging.getLogger(__name__)
        def f(user_id):
            metrics = {}
            log.info('x', extra={'user': user_id})
        """,
    ),
]
